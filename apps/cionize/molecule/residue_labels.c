/* What a residue's label says depends on its neighbours. Programs count on where four digits end:
 *
 *   hexadecimal:  9999 2710 2711 ... 2719 271a      (2710 is 10,000)
 *   hybrid-36:    9999 A000 A001 ...                (A000 is 10,000, a000 is 1,223,056)
 *   five digits:  9999 10000                        (the last one in the column of the insertion code)
 *
 * A label that starts with a digit and has a letter is hexadecimal. One of digits alone is, too, if it continues a
 * hexadecimal count, or if 9999 or nearly so comes before it in its chain. One that starts with a letter continues the
 * count before it, if there is one; otherwise capitals are hybrid-36, and small letters hexadecimal, since hybrid-36 has
 * them only beyond 1,223,055 residues. Digits before the first label with a letter are settled backwards. */
#include "residue_labels.h"

#include <string.h>

#include "molecule_arrays.h"
#include "residues.h"

enum { COLUMNS = 4, FIRST_HEX = 10000, GAP = 10 }; /* GAP: residues that may be missing in a count */
static const int64_t none = INT64_MIN;

typedef enum count_kind { DECIMAL, HEXADECIMAL, HYBRID } count_kind;

/* What a label may mean; `none` if it cannot. */
typedef struct meanings {
    int64_t decimal, hexadecimal, hybrid;
    char code, decimal_code; /* decimal_code: of the decimal number */
    bool small;              /* it has small letters */
} meanings;

static int hex_digit(char c)
{
    return text_is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Four digits, or five in a word. */
static int64_t read_hexadecimal(text_piece text, bool word)
{
    int64_t value = 0;
    if (text.size != COLUMNS && !(word && text.size == COLUMNS + 1))
        return none;
    for (size_t i = 0; i < text.size; i++) {
        const int digit = hex_digit(text.at[i]);
        if (digit < 0)
            return none;
        value = value * 16 + digit;
    }
    return value >= FIRST_HEX ? value : none;
}

static bool all_digits(text_piece text)
{
    for (size_t i = 0; i < text.size; i++)
        if (!text_is_digit(text.at[i]))
            return false;
    return text.size > 0;
}

static meanings read_meanings(text_piece text, char code, bool word)
{
    meanings m = {none, none, none, code, code, false};
    int32_t number;
    char own_code = '\0';
    for (size_t i = 0; i < text.size; i++)
        m.small |= text.at[i] >= 'a' && text.at[i] <= 'z';
    if (text_is_digit(code)) {
        if (all_digits(text) && label_number(text, &number) && number < INT32_MAX / 10 - 1)
            m.decimal = 10 * (int64_t)number + (code - '0');
        m.code = m.decimal_code = '\0';
        return m;
    }
    if (code && !text_is_letter(code))
        return m;
    m.hexadecimal = read_hexadecimal(text, word);
    const bool letter = text.size > 0 && text_is_letter(*text.at), plain = label_number(text, &number);
    if (plain && letter)
        m.hybrid = number;
    else if (plain || (word && !code && !letter && label_number_and_code(text, &number, &own_code)))
        m.decimal = number;
    if (!plain && m.decimal != none)
        m.decimal_code = own_code;
    return m;
}

/* ---- the count so far ---- */

typedef struct count_state {
    count_kind kind;
    int64_t last; /* of the residue before; none: there is none */
} count_state;

static bool follows(int64_t value, int64_t last, int64_t gap)
{
    return value != none && last != none && value >= last && value - last <= gap;
}

static count_kind choose(const meanings *m, const count_state *before, bool same_chain)
{
    const int64_t gap = same_chain ? GAP : 1;
    if (m->decimal != none && m->hexadecimal != none) {
        const bool counts_on =
            before->kind == HEXADECIMAL && (follows(m->hexadecimal, before->last, gap) || (same_chain && !m->small));
        const bool passes = before->kind == DECIMAL && same_chain && before->last >= FIRST_HEX - GAP &&
                            before->last < FIRST_HEX && follows(m->hexadecimal, before->last, GAP);
        return counts_on || passes ? HEXADECIMAL : DECIMAL;
    }
    if (m->decimal != none)
        return DECIMAL;
    if (m->hybrid == none || m->hexadecimal == none)
        return m->hybrid != none ? HYBRID : HEXADECIMAL;
    if (before->kind != HEXADECIMAL && follows(m->hybrid, before->last, gap))
        return HYBRID;
    if (before->kind != HYBRID && follows(m->hexadecimal, before->last, gap))
        return HEXADECIMAL;
    if (before->kind != DECIMAL && same_chain)
        return before->kind;
    return m->small ? HEXADECIMAL : HYBRID;
}

static int64_t meaning(const meanings *m, count_kind kind)
{
    const int64_t all[] = {[DECIMAL] = m->decimal, [HEXADECIMAL] = m->hexadecimal, [HYBRID] = m->hybrid};
    return all[kind];
}

static bool in_one_chain(const atom_label *a, const atom_label *b)
{
    return same_chain(a, b) && !a->ends_chain;
}

/* ---- labels ---- */

void label_keep_number(text_piece number, char code, atom_label *label)
{
    number = label_trim(number);
    label->residue_number = 0;
    label->insertion = (char)(code == ' ' ? '\0' : code);
    label->number_text[0] = '\0';
    if (number.size < sizeof label->number_text)
        label_copy(number, label->number_text);
    else if (!label_number_and_code(number, &label->residue_number, &label->insertion))
        label->residue_number = 0;
}

bool label_is_plausible(text_piece word)
{
    const meanings m = read_meanings(word, '\0', true);
    size_t stars = 0;
    while (stars < word.size && word.at[stars] == '*')
        stars++;
    return m.decimal != none || m.hexadecimal != none || m.hybrid != none || (word.size > 0 && stars == word.size);
}

static text_piece text_of(const atom_label *label)
{
    return (text_piece){label->number_text, strlen(label->number_text)};
}

/* Whether two atoms have the same label before it is resolved. */
static bool same_text(const atom_label *a, const atom_label *b)
{
    return a->insertion == b->insertion && strcmp(a->number_text, b->number_text) == 0 &&
           (*a->number_text || a->residue_number == b->residue_number);
}

/* Stores a meaning. A text without any stays, with what stands in the column of the insertion code. */
static void settle(atom_label *label, const meanings *m, count_kind kind)
{
    const int64_t value = meaning(m, kind);
    const size_t size = strlen(label->number_text);
    if (value == none || value > INT32_MAX) {
        if (label->insertion && !text_is_letter(label->insertion) && size + 1 < sizeof label->number_text) {
            label->number_text[size] = label->insertion;
            label->number_text[size + 1] = '\0';
            label->insertion = '\0';
        }
        return;
    }
    label->residue_number = (int32_t)value;
    label->insertion = kind == DECIMAL ? m->decimal_code : m->code;
    label->number_text[0] = '\0';
}

/* Labels of digits right before `at`, whose atom has the hexadecimal number `value`: they are hexadecimal if they count up
 * to it. first: where the chain begins. */
static void settle_backwards(atom_label *labels, int64_t first, int64_t at, int64_t value)
{
    for (int64_t i = at - 1; i >= first && in_one_chain(&labels[i], &labels[i + 1]); i--) {
        atom_label *label = &labels[i];
        int64_t as_hexadecimal = 0, rest = label->residue_number;
        if (*label->number_text || label->insertion || rest < 1000 || rest > 9999)
            return;
        for (int64_t place = 1; rest > 0; place *= 16, rest /= 10)
            as_hexadecimal += rest % 10 * place;
        if (as_hexadecimal < FIRST_HEX || !follows(value, as_hexadecimal, 1))
            return;
        label->residue_number = (int32_t)as_hexadecimal;
        value = as_hexadecimal;
    }
}

bool label_resolve_numbers(atom_label *labels, int64_t atoms, bool words)
{
    count_state state = {DECIMAL, none};
    atom_label before = {0}; /* the atom before, as it was */
    int64_t chain_begins = 0;
    bool plain = true;
    for (int64_t i = 0; i < atoms; i++) {
        atom_label *label = &labels[i];
        const atom_label raw = *label;
        const bool same_chain = i > 0 && in_one_chain(&labels[i - 1], label);
        if (!same_chain)
            chain_begins = i;
        if (same_chain && same_text(&before, &raw)) { /* of the same residue */
            label->residue_number = labels[i - 1].residue_number;
            label->insertion = labels[i - 1].insertion;
            memcpy(label->number_text, labels[i - 1].number_text, sizeof label->number_text);
        } else if (*label->number_text) {
            const meanings m = read_meanings(text_of(label), label->insertion, words);
            const count_kind kind = choose(&m, &state, same_chain);
            const int64_t value = meaning(&m, kind);
            settle(label, &m, kind);
            plain &= kind == DECIMAL && value != none && !(same_chain && state.last != none && value < state.last);
            if (kind == HEXADECIMAL && state.kind != HEXADECIMAL && value != none)
                settle_backwards(labels, chain_begins, i, value);
            if (value != none)
                state = (count_state){kind, value};
        } else {
            state = (count_state){DECIMAL, label->residue_number};
        }
        before = raw;
    }
    return plain;
}
