#include "chain_letters.h"

#include <string.h>

#include "molecule_arrays.h"

enum { FIRST = 3, SECOND = 4, WIDTH = 3, CHARACTERS = 128 };

void chain_columns_take(text_piece text, chain_columns *out)
{
    memset(out->text, ' ', sizeof out->text);
    for (size_t i = 0; i < sizeof out->text && i < text.size; i++)
        out->text[i] = text.at[i];
}

static bool is_in(const char *list, text_piece name)
{
    char padded[WIDTH + 3] = " ";
    memcpy(padded + 1, name.at, name.size);
    padded[name.size + 1] = ' ';
    padded[name.size + 2] = '\0';
    return name.size > 0 && strstr(list, padded);
}

static text_piece name_of(const chain_columns *c)
{
    return label_trim((text_piece){c->text, WIDTH});
}

static bool is_standard(const chain_columns *c)
{
    return is_in(
        " ALA ARG ASN ASP CYS GLN GLU GLY HIS ILE LEU LYS MET PHE PRO SER THR TRP TYR VAL MSE A C G U I T DA DC "
        "DG DT DU HOH DOD ",
        name_of(c));
}

/* A pair of letters in columns 21 and 22. */
static bool has_pair(const chain_columns *c)
{
    const char a = c->text[FIRST], b = c->text[SECOND];
    return a > ' ' && a <= '~' && b > ' ' && b <= '~';
}

static bool same_pair(const chain_columns *a, const chain_columns *b)
{
    return a->text[FIRST] == b->text[FIRST] && a->text[SECOND] == b->text[SECOND];
}

/* Whether the atoms before and after `at` - 1 and `at` may be of one chain whose name is in column 22 alone. */
static bool joined(const atom_label *labels, const chain_columns *columns, int64_t at, int64_t atoms)
{
    return at > 0 && at < atoms && !labels[at - 1].ends_chain &&
           columns[at - 1].text[SECOND] == columns[at].text[SECOND];
}

/* Whether the stretch [first, end) with one pair is a chain of two letters. */
static bool is_chain(const atom_label *labels, const chain_columns *columns, int64_t first, int64_t end, int64_t atoms)
{
    bool standard = false, water = true, several = false;
    for (int64_t i = first; i < end; i++) {
        standard |= is_standard(&columns[i]);
        water &= is_in(" HOH DOD ", name_of(&columns[i]));
        several |= memcmp(columns[i].text, columns[first].text, WIDTH) != 0;
    }
    return standard && (several || water) && !joined(labels, columns, first, atoms) &&
           !joined(labels, columns, end, atoms);
}

void split_chain_letters(atom_label *labels, const chain_columns *columns, int64_t atoms)
{
    bool known[CHARACTERS][CHARACTERS] = {{false}}, any = false;
    for (int64_t i = 0, end; i < atoms; i = end) {
        end = i + 1;
        while (end < atoms && same_pair(&columns[i], &columns[end]) && !labels[end - 1].ends_chain)
            end++;
        if (!has_pair(&columns[i]) || !is_chain(labels, columns, i, end, atoms))
            continue;
        known[(unsigned char)columns[i].text[FIRST]][(unsigned char)columns[i].text[SECOND]] = any = true;
    }
    for (int64_t i = 0; any && i < atoms; i++) {
        const chain_columns *c = &columns[i];
        if (!has_pair(c) || !known[(unsigned char)c->text[FIRST]][(unsigned char)c->text[SECOND]] ||
            name_of(c).size == 0)
            continue;
        label_copy(name_of(c), labels[i].residue);
        label_copy((text_piece){c->text + FIRST, 2}, labels[i].chain);
    }
}
