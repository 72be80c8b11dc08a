/* PQR has no standard. Programs that write it agree only on the order of the fields. Some keep the columns of PDB
 * files, so neighbouring fields touch if they fill their columns. There are three ways to read a record: words
 * between blanks; splitting numbers that run together; pdb2pqr's columns. The first that gives a consistent record
 * is used. Inconsistent records are errors.
 *
 * Only the five numbers are used. The words before them matter because they show where the numbers begin: if a field
 * is missing, the residue number must not become x. */
#include "pqr_fields.h"

#include <stdio.h>
#include <string.h>

#include "molecule_arrays.h"
#include "pqr_head.h"
#include "pqr_lines.h"
#include "voxfield/timer.h"

static const char *const value_names[PQR_VALUES] = {"x", "y", "z", "charge", "radius"};

static const char record_form[] = "ATOM serial name resName [chain] resSeq x y z charge radius";

bool pqr_ends_like_atom(text_piece line, locale_t c_locale)
{
    text_words words;
    text_number number;
    int points = 0;
    text_split(line, &words);
    if (words.more || words.count <= PQR_VALUES)
        return false;
    for (int i = words.count - PQR_VALUES; i < words.count; i++) {
        if (!text_read_number(words.word[i], c_locale, &number))
            return false;
        points += number.point;
    }
    return points >= 3;
}

/* ---- the three ways to read a record ---- */

/* The words of a record without a trailing comment. `element`: the word after the radius looks like an element
 * symbol. */
typedef struct record {
    text_piece line;
    text_words words;
    bool element;
    locale_t c_locale;
} record;

/* Where only numbers are possible, a word that begins with # or % starts a comment. Before that, it can be a chain. */
static void split_record(text_piece line, locale_t c_locale, record *out)
{
    out->line = line;
    text_split(line, &out->words);
    out->c_locale = c_locale;
    out->element = false;
    for (int i = 7; i < out->words.count; i++)
        if (*out->words.word[i].at == '#' || *out->words.word[i].at == '%') {
            out->words.count = i;
            out->words.more = false;
        }
    text_words *words = &out->words;
    if (words->count == 0)
        return;
    text_piece last = words->word[words->count - 1];
    out->element = !words->more && words->count > 7 && last.size <= 2 && text_is_letter(last.at[0]) &&
                   text_is_letter(last.at[last.size - 1]);
    words->count -= out->element;
}

/* The serial number: the second word, or what touches ATOM or HETATM. */
static text_piece serial_of(const text_piece *word)
{
    const size_t name = pqr_record_name(word[0]);
    return name < word[0].size ? (text_piece){word[0].at + name, word[0].size - name} : word[1];
}

static void take_values(const text_number *number, const record *from, pqr_atom *out)
{
    for (int i = 0; i < PQR_VALUES; i++) {
        out->value[i] = number[i].value;
        out->decimals[i] = number[i].decimals;
    }
    out->serial = serial_of(from->words.word);
    out->element = from->element;
    if (from->element)
        label_element(from->words.word[from->words.count], out->label.element);
}

static bool read_five(const text_piece *word, locale_t c_locale, text_number *number)
{
    for (int i = 0; i < PQR_VALUES; i++)
        if (!text_read_number(word[i], c_locale, &number[i]))
            return false;
    return true;
}

/* pdb2pqr cuts coordinates to eight columns. Cut ones have fewer than three decimals. */
enum { COORDINATE_WIDTH = 8, COORDINATE_DECIMALS = 3 };

static bool is_cut(const text_piece *coordinates, const text_number *xyz)
{
    bool full = false, cut = false;
    for (int i = 0; i < 3; i++) {
        full |= xyz[i].decimals == COORDINATE_DECIMALS;
        cut |= xyz[i].decimals < COORDINATE_DECIMALS && coordinates[i].size == COORDINATE_WIDTH;
    }
    return full && cut;
}

static bool read_separated(const record *from, pqr_head *trouble, pqr_atom *out)
{
    const text_words *words = &from->words;
    text_number number[PQR_VALUES];
    int names = words->count - PQR_VALUES;
    *trouble = PQR_HEAD_COUNT;
    if (names < 1 || words->more || !read_five(words->word + names, from->c_locale, number))
        return false;
    *trouble = pqr_check_head(words->word, names, number, from->c_locale, out);
    if (*trouble != PQR_HEAD_OK)
        return false;
    pqr_label_words(from->line, words->word, names, &out->label);
    take_values(number, from, out);
    out->cut = is_cut(words->word + names, number);
    return true;
}

/* Reads a record whose numbers run together. Only coordinates may be split by their decimals; then all three must have
 * three decimals. (pqr_check_head rejects splits among the names, because they have decimal points.) */
static bool read_run_together(const record *from, pqr_atom *out)
{
    text_piece word[TEXT_MAX_WORDS];
    text_number number[PQR_VALUES];
    int count = 0, last_by_decimals = -1;
    if (from->words.more)
        return false;
    for (int i = 0; i < from->words.count; i++) {
        bool by_decimals = false;
        int pieces = text_take_apart(from->words.word[i], word + count, TEXT_MAX_WORDS - count, &by_decimals);
        if (pieces <= 1) {
            if (count == TEXT_MAX_WORDS)
                return false;
            word[count] = from->words.word[i];
            pieces = 1;
        }
        count += pieces;
        if (by_decimals && pieces > 1)
            last_by_decimals = count - 1;
    }
    int names = count - PQR_VALUES;
    if (names < 1 || last_by_decimals > names + PQR_Z)
        return false;
    if (!read_five(word + names, from->c_locale, number))
        return false;
    for (int i = 0; i < 3; i++)
        if (!number[i].point || (last_by_decimals >= 0 && number[i].decimals != COORDINATE_DECIMALS))
            return false;
    if (pqr_check_head(word, names, number, from->c_locale, out) != PQR_HEAD_OK)
        return false;
    pqr_label_words(from->line, word, names, &out->label);
    take_values(number, from, out);
    out->reading = PQR_GLUED_NUMBERS;
    out->cut = is_cut(word + names, number);
    return true;
}

/* The columns of pdb2pqr, by default and with --whitespace, from 0. */
typedef struct layout {
    size_t name, residue, code, xyz[3], charge, radius, end;
} layout;
static const layout default_layout = {12, 22, 26, {30, 38, 46}, 54, 62, 69};
static const layout whitespace_layout = {13, 24, 28, {32, 41, 50}, 58, 66, 73};

/* A right-aligned number with `decimals` decimals, or fewer if it fills its columns and was cut. */
static bool read_column(text_piece line, size_t begin, size_t end, int decimals, locale_t c_locale, text_number *out)
{
    if (line.size < end)
        return false;
    text_piece text = {line.at + begin, end - begin};
    while (text.size > 0 && *text.at == ' ')
        text.at++, text.size--;
    return text_read_number(text, c_locale, out) && out->point &&
           (out->decimals == decimals || (out->decimals < decimals && text.size == end - begin));
}

static bool read_coordinate_columns(text_piece line, const layout *at, locale_t c_locale, text_number *xyz)
{
    size_t free_from = at->code + 1;
    for (int i = 0; i < 3; i++) {
        size_t end = at->xyz[i] + COORDINATE_WIDTH;
        if (!read_column(line, at->xyz[i], end, COORDINATE_DECIMALS, c_locale, &xyz[i]) ||
            !text_all_blank((text_piece){line.at + free_from, at->xyz[i] - free_from}))
            return false;
        free_from = end;
    }
    return true;
}

static bool read_columns(text_piece line, const layout *at, const record *from, pqr_atom *out)
{
    enum { DECIMALS = 4 };
    text_number number[PQR_VALUES];
    if (!read_coordinate_columns(line, at, from->c_locale, number) ||
        !read_column(line, at->charge, at->radius, DECIMALS, from->c_locale, &number[PQR_CHARGE]) ||
        !read_column(line, at->radius, at->end, DECIMALS, from->c_locale, &number[PQR_RADIUS]))
        return false;
    text_piece residue = {line.at + at->residue, at->code - at->residue};
    while (residue.size > 0 && *residue.at == ' ')
        residue.at++, residue.size--;
    if (!pqr_is_residue_number(residue) && !pqr_is_overflowed_number(residue))
        return false;
    if (!text_all_blank((text_piece){line.at + at->end, line.size - at->end}))
        return false;
    const char *name = line.at + at->name;
    pqr_label_columns(line, at->name, at->residue, at->code, &out->label);
    take_values(number, from, out);
    out->name = text_next_word(&name, name + 4);
    out->reading = PQR_COLUMNS;
    out->cut = false;
    for (int i = 0; i < 3; i++)
        out->cut |= number[i].decimals < COORDINATE_DECIMALS;
    return true;
}

/* ---- what is wrong with a record ---- */

/* Whether the record has occupancy and B-factor in the columns of PDB files; copies their texts to `found`. */
static bool has_pdb_columns(text_piece line, locale_t c_locale, text_piece found[2])
{
    enum { OCCUPANCY = 54, B_FACTOR = 60, END = 66, DECIMALS = 2 };
    text_number number[3];
    if (!read_coordinate_columns(line, &default_layout, c_locale, number) ||
        !read_column(line, OCCUPANCY, B_FACTOR, DECIMALS, c_locale, &number[0]) ||
        !read_column(line, B_FACTOR, END, DECIMALS, c_locale, &number[1]))
        return false;
    if (number[0].decimals != DECIMALS || number[1].decimals != DECIMALS)
        return false;
    found[0] = (text_piece){line.at + OCCUPANCY, B_FACTOR - OCCUPANCY};
    found[1] = (text_piece){line.at + B_FACTOR, END - B_FACTOR};
    for (int i = 0; i < 2; i++)
        while (*found[i].at == ' ')
            found[i].at++, found[i].size--;
    return true;
}

static void explain_head(const text_words *words, pqr_head trouble, char *why)
{
    char quoted[TEXT_QUOTE_SIZE];
    int x = words->count - PQR_VALUES; /* the word that is read as x */
    switch (trouble) {
    case PQR_HEAD_RESIDUE:
        snprintf(why, PQR_WHY_SIZE,
                 "field %d (residue number): '%s' is not a number: a field is missing, or the columns are shifted; "
                 "a record is: %s",
                 x, text_quote(words->word[x - 1], quoted), record_form);
        break;
    case PQR_HEAD_NUMBER:
        snprintf(why, PQR_WHY_SIZE, "%d fields: a number with a decimal point is among the names; a record is: %s",
                 words->count, record_form);
        break;
    case PQR_HEAD_SHIFTED:
        snprintf(why, PQR_WHY_SIZE,
                 "field %d (x): '%s' may be x or, if a field is missing or extra, a residue number; "
                 "write coordinates with a decimal point",
                 x + 1, text_quote(words->word[x], quoted));
        break;
    case PQR_HEAD_CUT:
        snprintf(why, PQR_WHY_SIZE,
                 "fields %d to %d (x y z): a coordinate was cut to the width of its column and lost its decimal point; "
                 "move the molecule closer to the origin and write the file again",
                 x + 1, x + 3);
        break;
    default:
        snprintf(why, PQR_WHY_SIZE, "%d fields that do not form a consistent record; a record is: %s", words->count,
                 record_form);
    }
}

/* Finds the first word that should be one of the five numbers but is not, or else the first word made of several
 * numbers. Counts from the right, because names may be missing or glued. */
static bool explain_number(const record *from, char *why)
{
    const text_words *words = &from->words;
    char quoted[TEXT_QUOTE_SIZE];
    text_piece piece[TEXT_MAX_WORDS];
    text_number number;
    int wrong = -1, wrong_value = 0, several = -1;
    for (int i = words->count - 1, value = PQR_RADIUS; i >= 2 && value >= 0; i--) {
        bool by_decimals = false;
        int pieces = 1;
        if (!text_read_number(words->word[i], from->c_locale, &number))
            pieces = text_take_apart(words->word[i], piece, TEXT_MAX_WORDS, &by_decimals);
        if (pieces == 0) {
            wrong = i;
            wrong_value = value;
        } else if (pieces > 1) {
            several = i;
        }
        value -= pieces ? pieces : 1;
    }
    if (wrong >= 0)
        snprintf(why, PQR_WHY_SIZE, "field %d (%s): '%s' %s; a record is: %s", wrong + 1, value_names[wrong_value],
                 text_quote(words->word[wrong], quoted), text_number_trouble(words->word[wrong]), record_form);
    else if (several >= 0)
        snprintf(why, PQR_WHY_SIZE, "field %d: '%s' %s", several + 1, text_quote(words->word[several], quoted),
                 text_number_trouble(words->word[several]));
    return wrong >= 0 || several >= 0;
}

/* Whether the supposed element symbol is really an invalid radius. Then the supposed x is the residue number. */
static bool blames_radius(const record *from, char *why)
{
    const text_words *words = &from->words;
    char quoted[TEXT_QUOTE_SIZE];
    if (!from->element || !pqr_is_integer(words->word[words->count - PQR_VALUES]))
        return false;
    snprintf(why, PQR_WHY_SIZE, "field %d (radius): '%s' is not a number; a record is: %s", words->count + 1,
             text_quote(words->word[words->count], quoted), record_form);
    return true;
}

/* Explains why a record could not be read. Counts fields as users count words. */
static void explain(text_piece line, const record *from, pqr_head trouble, char *why)
{
    const text_words *words = &from->words;
    char occupancy[TEXT_QUOTE_SIZE], b_factor[TEXT_QUOTE_SIZE];
    text_piece found[2];
    if (has_pdb_columns(line, from->c_locale, found))
        snprintf(why, PQR_WHY_SIZE,
                 "this is a record of a PDB file: it has occupancy %s and B-factor %s instead of charge and radius; "
                 "give the charges (--charges molecule.psf, or .prmtop), or make a PQR file with pdb2pqr (pdb2pqr "
                 "--ff=AMBER "
                 "in.pdb out.pqr)",
                 text_quote(found[0], occupancy), text_quote(found[1], b_factor));
    else if (words->more)
        snprintf(why, PQR_WHY_SIZE, "more than %d fields; a record is: %s", words->count, record_form);
    else if (words->count < PQR_VALUES + 2)
        snprintf(why, PQR_WHY_SIZE, "only %d field%s; a record is: %s", words->count, vf_plural(words->count),
                 record_form);
    else if (!explain_number(from, why) && !blames_radius(from, why))
        explain_head(words, trouble, why);
}

/* Values beyond any molecule's would overflow sums and grids. */
static bool check_values(const pqr_atom *atom, const record *from, char *why)
{
    const double limit = 1e9;
    char quoted[TEXT_QUOTE_SIZE] = "";
    int radius = from->words.count - PQR_VALUES + PQR_RADIUS;
    if (atom->reading <= PQR_GLUED_NAMES)
        snprintf(quoted, sizeof quoted, "field %d ", radius + 1);
    if (atom->value[PQR_RADIUS] < 0) {
        snprintf(why, PQR_WHY_SIZE,
                 "%s(radius): %g is negative; if the file has the radius before the charge, as DelPhi and GRASP do, "
                 "exchange the two columns",
                 quoted, atom->value[PQR_RADIUS]);
        return false;
    }
    for (int i = 0; i < PQR_VALUES; i++)
        if (!(atom->value[i] >= -limit && atom->value[i] <= limit)) {
            snprintf(why, PQR_WHY_SIZE,
                     "(%s): %g is beyond +-%g; lengths are in angstrom, charges in elementary charges", value_names[i],
                     atom->value[i], limit);
            return false;
        }
    return true;
}

/* Whether coordinates that were split by their decimals differ from the ones in the columns. */
static bool columns_disagree(text_piece line, locale_t c_locale, const pqr_atom *atom, char *why)
{
    text_number xyz[3];
    if (!read_coordinate_columns(line, &default_layout, c_locale, xyz))
        return false;
    if (xyz[0].value == atom->value[0] && xyz[1].value == atom->value[1] && xyz[2].value == atom->value[2])
        return false;
    snprintf(why, PQR_WHY_SIZE,
             "fields x y z run together: they may be %.10g %.10g %.10g or, by columns, %.10g %.10g %.10g; "
             "put blanks between them",
             atom->value[0], atom->value[1], atom->value[2], xyz[0].value, xyz[1].value, xyz[2].value);
    return true;
}

bool pqr_read_atom(text_piece line, locale_t c_locale, pqr_atom *out, char why[PQR_WHY_SIZE])
{
    record from;
    pqr_head trouble;
    split_record(line, c_locale, &from);
    if (read_separated(&from, &trouble, out))
        return check_values(out, &from, why);
    if (read_run_together(&from, out))
        return !columns_disagree(line, c_locale, out, why) && check_values(out, &from, why);
    if (read_columns(line, &default_layout, &from, out) || read_columns(line, &whitespace_layout, &from, out))
        return check_values(out, &from, why);
    explain(line, &from, trouble, why);
    return false;
}
