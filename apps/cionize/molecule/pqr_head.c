/* The words before the numbers of a PQR record: they show where the numbers begin, and have the atom's names. */
#include "pqr_head.h"

#include <string.h>

#include "molecule_arrays.h"
#include "pqr_lines.h"
#include "residue_labels.h"

static size_t trailing_digits(text_piece text)
{
    size_t n = 0;
    while (n < text.size && text_is_digit(text.at[text.size - 1 - n]))
        n++;
    return n;
}

bool pqr_is_integer(text_piece text)
{
    size_t sign = text.size > 0 && (*text.at == '-' || *text.at == '+');
    return text.size > sign && trailing_digits(text) == text.size - sign;
}

bool pqr_is_residue_number(text_piece text)
{
    if (text.size > 1 && text_is_letter(text.at[text.size - 1]))
        text.size--;
    return pqr_is_integer(text);
}

/* Chain and residue number without a blank between: "A1001", "A-12". */
static bool is_chain_and_number(text_piece text)
{
    return text.size > 1 && !strchr("+-.*", *text.at) &&
           pqr_is_residue_number((text_piece){text.at + 1, text.size - 1});
}

bool pqr_is_overflowed_number(text_piece text)
{
    size_t digits = 0, stars = 0;
    for (size_t i = 0; i < text.size; i++) {
        digits += text_is_digit(text.at[i]);
        stars += text.at[i] == '*';
        if (!text_is_digit(text.at[i]) && !text_is_letter(text.at[i]) && text.at[i] != '*')
            return false;
    }
    return text.size == 4 && (stars == 4 || (stars == 0 && digits > 0));
}

/* If names touch, or the residue number is doubtful, the decimal points of the coordinates must confirm where these
 * begin: all must have the same number of decimals. */
static bool plain_coordinates(const text_number *xyz)
{
    return xyz[0].point && xyz[1].point && xyz[2].point && xyz[0].decimals == xyz[1].decimals &&
           xyz[0].decimals == xyz[2].decimals;
}

/* Coordinates without a decimal point may be a shifted residue number. */
static pqr_head check_whole_coordinates(const text_number *xyz, const text_piece *coordinates, bool chain_is_number,
                                        bool chain)
{
    int points = xyz[0].point + xyz[1].point + xyz[2].point;
    if (points == 3)
        return PQR_HEAD_OK;
    for (int i = 0; i < 3; i++)
        if (points > 0 && !xyz[i].point && coordinates[i].size >= 7)
            return PQR_HEAD_CUT;
    if (!xyz[0].point && (chain ? chain_is_number : points > 0))
        return PQR_HEAD_SHIFTED;
    return PQR_HEAD_OK;
}

pqr_head pqr_check_head(const text_piece *word, int count, const text_number *xyz, locale_t c_locale, pqr_atom *out)
{
    bool glued = pqr_record_name(word[0]) < word[0].size; /* the serial number touches the record's name */
    int first = glued ? 1 : 2;
    text_number number;
    const text_piece *coordinates = word + count;
    if (count <= first)
        return PQR_HEAD_COUNT;
    for (int i = 1; i < count; i++)
        if (memchr(word[i].at, '.', word[i].size) && text_read_number(word[i], c_locale, &number))
            return PQR_HEAD_NUMBER;
    out->name = word[first];

    int names = count - first; /* name, resName, [chain], resSeq, [iCode] */
    if (names > 2 && word[count - 1].size == 1 && text_is_letter(*word[count - 1].at) &&
        pqr_is_integer(word[count - 2]))
        names--, count--;
    text_piece residue = word[count - 1];
    size_t digits = trailing_digits(residue);
    bool plain = plain_coordinates(xyz);
    if (names > 4)
        return PQR_HEAD_COUNT;
    if (names >= 3) {
        out->reading = glued ? PQR_GLUED_NAMES : PQR_SEPARATED;
        if (pqr_is_residue_number(residue))
            return check_whole_coordinates(xyz, coordinates, pqr_is_integer(word[count - 2]), names == 4);
        if (pqr_is_overflowed_number(residue) && plain)
            return PQR_HEAD_OK;
        out->reading = PQR_GLUED_NAMES;
        return is_chain_and_number(residue) && plain && names == 3 ? PQR_HEAD_OK : PQR_HEAD_RESIDUE;
    }
    out->reading = PQR_GLUED_NAMES;
    if (digits == 0 && !pqr_is_residue_number(residue))
        return PQR_HEAD_RESIDUE;
    /* A name touches the residue name only if it fills its four columns. A residue number touches the chain only if it
     * fills its own columns. */
    bool names_touch = word[first].size >= 5;
    bool number_touches = digits >= 4 || (digits == 3 && residue.size > 4 && residue.at[residue.size - 4] == '-');
    if (names == 2 && plain && names_touch && (pqr_is_residue_number(residue) || is_chain_and_number(residue)))
        return PQR_HEAD_OK;
    if (names == 2 && plain && number_touches && residue.size >= 6)
        return PQR_HEAD_OK;
    return names == 1 && plain && number_touches && residue.size >= 13 ? PQR_HEAD_OK : PQR_HEAD_COUNT;
}

/* ---- labels ---- */

/* Removes up to `size` characters from the front of a text and returns them. */
static text_piece take_front(text_piece *text, size_t size)
{
    text_piece front = {text->at, text->size < size ? text->size : size};
    text->at += front.size;
    text->size -= front.size;
    return front;
}

static text_piece take_back(text_piece *text, size_t size)
{
    size_t rest = text->size < size ? 0 : text->size - size;
    text_piece back = {text->at + rest, text->size - rest};
    text->size = rest;
    return back;
}

/* The columns of PDB files, from 0, and their widths. */
enum { NAME = 12, RESIDUE = 16, NAME_WIDTH = 4, RESIDUE_WIDTH = 4, NUMBER_WIDTH = 4 };

/* Splits off a name that touches the residue name: " HB1NLEU" by its columns, otherwise the first four characters. */
static text_piece take_name(text_piece line, text_piece *word)
{
    size_t begin = (size_t)(word->at - line.at);
    return take_front(word, begin >= NAME && begin < RESIDUE ? RESIDUE - begin : NAME_WIDTH);
}

/* Whether the chain follows the residue name without a blank in the columns of gmx editconf -mead (chain 21, number
 * 22-25) or PDB (chain 22, number 23-26). Otherwise a longer word is only a residue name. */
static bool chain_touches(text_piece line, text_piece residue, text_piece number)
{
    size_t begin = (size_t)(residue.at - line.at), end = begin + residue.size;
    size_t number_end = (size_t)(number.at - line.at) + number.size;
    if (text_is_letter(number.at[number.size - 1]) && !pqr_is_overflowed_number(number))
        number_end--; /* an insertion code */
    return residue.size > 1 && begin >= RESIDUE && begin <= RESIDUE + 1 && (end == 21 || end == 22) &&
           number_end == end + NUMBER_WIDTH;
}

void pqr_label_words(text_piece line, const text_piece *word, int count, atom_label *out)
{
    const text_piece *names = word + (pqr_record_name(word[0]) < word[0].size ? 1 : 2);
    int n = count - (int)(names - word);
    char code = '\0';
    *out = (atom_label){.hetero = *word[0].at == 'H' || *word[0].at == 'h', .occupancy = 1};
    if (n > 2 && names[n - 1].size == 1 && text_is_letter(*names[n - 1].at) && pqr_is_integer(names[n - 2]))
        code = *names[--n].at;

    text_piece name = names[0], residue = {0}, chain = {0}, number = names[n - 1];
    bool plain = pqr_is_residue_number(number), with_chain = is_chain_and_number(number);
    if (n == 1) {
        name = take_name(line, &number);
        residue = take_front(&number, RESIDUE_WIDTH);
        chain = take_front(&number, 1);
    } else if (n == 2 && name.size > NAME_WIDTH && (plain || with_chain)) {
        text_piece rest = name;
        name = take_name(line, &rest);
        residue = take_front(&rest, RESIDUE_WIDTH);
        chain = plain ? rest : take_front(&number, 1);
    } else if (n == 2) {
        residue = number;
        number = take_back(&residue, NUMBER_WIDTH);
        chain = take_back(&residue, 1);
    } else if (n == 3 && name.size > NAME_WIDTH && names[1].size == 1 && name.at + name.size > line.at + RESIDUE) {
        residue = name;
        name = take_name(line, &residue);
        chain = names[1];
    } else {
        residue = names[1];
        if (n == 4)
            chain = names[2];
        else if (!plain && !pqr_is_overflowed_number(number))
            chain = take_front(&number, 1);
        else if (chain_touches(line, residue, number))
            chain = take_back(&residue, 1);
    }
    out->cut = label_copy(name, out->name);
    out->cut |= label_copy(residue, out->residue);
    out->cut |= label_copy(chain, out->chain);
    label_keep_number(number, code, out);
    if (residue.size == RESIDUE_WIDTH && residue.at == line.at + RESIDUE) /* until pqr_settle_alternates */
        out->alternate = *residue.at;
}

void pqr_label_columns(text_piece line, size_t name, size_t number, size_t code, atom_label *out)
{
    const char *record = line.at, *first = line.at + name;
    size_t residue = name + NAME_WIDTH;
    record = text_next_word(&record, line.at + line.size).at;
    *out = (atom_label){.hetero = *record == 'H' || *record == 'h', .occupancy = 1};
    label_copy(text_next_word(&first, line.at + residue), out->name);
    label_copy((text_piece){line.at + residue, number - 1 - residue}, out->residue);
    label_copy((text_piece){line.at + number - 1, 1}, out->chain);
    label_keep_number((text_piece){line.at + number, code - number}, line.at[code], out);
}
