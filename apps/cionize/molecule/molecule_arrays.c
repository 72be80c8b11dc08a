#include "molecule_arrays.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "residues.h"

static bool resize(void *array, int64_t count, size_t bytes)
{
    void **at = array, *moved = realloc(*at, (size_t)count * bytes);
    if (moved)
        *at = moved;
    return moved != NULL;
}

bool molecule_resize(molecule *m, int64_t capacity)
{
    double **arrays[] = {&m->x, &m->y, &m->z, &m->charge, &m->radius};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        if (!resize(arrays[i], capacity, sizeof **arrays[i]))
            return false;
    return resize(&m->labels, capacity, sizeof *m->labels);
}

void molecule_free(molecule *m)
{
    free(m->x);
    free(m->y);
    free(m->z);
    free(m->charge);
    free(m->radius);
    free(m->labels);
    free(m->records.lines);
    free(m->records.bond);
    symmetry_free(&m->symmetry);
    free(m->of_whole);
    memset(m, 0, sizeof *m);
}

void molecule_place(molecule *m, int64_t i, const double xyz[3])
{
    double *const axis[3] = {m->x, m->y, m->z};
    for (int a = 0; a < 3; a++) {
        axis[a][i] = xyz[a];
        m->lo[a] = i == 0 || xyz[a] < m->lo[a] ? xyz[a] : m->lo[a];
        m->hi[a] = i == 0 || xyz[a] > m->hi[a] ? xyz[a] : m->hi[a];
    }
}

void molecule_add_charge(molecule *m, double charge, double *rest)
{
    double sum = m->total_charge + charge;
    bool larger = fabs(m->total_charge) >= fabs(charge);
    *rest += larger ? m->total_charge - sum + charge : charge - sum + m->total_charge;
    m->total_charge = sum;
}

/* ---- part of the atoms ---- */

/* place[i]: where atom i goes; -1: it is left out. Bonds to such atoms go. */
static void keep_bonds(molecule_records *records, const int64_t *place)
{
    int64_t kept = 0;
    for (int64_t b = 0; b < records->bonds; b++) {
        const int64_t from = place[records->bond[b][0]], to = place[records->bond[b][1]];
        if (from < 0 || to < 0)
            continue;
        records->bond[kept][0] = from;
        records->bond[kept++][1] = to;
    }
    records->bonds = kept;
}

bool molecule_keep(molecule *m, const bool *keep)
{
    int64_t *place = malloc((size_t)m->atoms * sizeof *place), kept = 0;
    double rest = 0;
    if (!place)
        return false;
    m->total_charge = 0;
    for (int64_t i = 0; i < m->atoms; i++) {
        place[i] = keep[i] ? kept : -1;
        if (!keep[i] && m->labels[i].ends_chain && kept > 0 && same_chain(&m->labels[i], &m->labels[kept - 1]))
            m->labels[kept - 1].ends_chain = true;
        if (!keep[i])
            continue;
        const double xyz[3] = {m->x[i], m->y[i], m->z[i]};
        molecule_place(m, kept, xyz);
        m->charge[kept] = m->charge[i];
        m->radius[kept] = m->radius[i];
        m->labels[kept++] = m->labels[i];
        molecule_add_charge(m, m->charge[i], &rest);
    }
    m->total_charge += rest;
    m->atoms = kept;
    keep_bonds(&m->records, place);
    free(place);
    return true;
}

static bool copy_array(void *to, const void *from, int64_t count, size_t bytes)
{
    void *copy = calloc((size_t)count + 1, bytes), **at = to;
    *at = copy;
    if (copy && count > 0 && from)
        memcpy(copy, from, (size_t)count * bytes);
    return copy != NULL;
}

static bool copy_molecule(const molecule *from, molecule *out)
{
    const int64_t n = from->atoms;
    bool enough = copy_array(&out->x, from->x, n, sizeof *out->x) && copy_array(&out->y, from->y, n, sizeof *out->y) &&
                  copy_array(&out->z, from->z, n, sizeof *out->z) &&
                  copy_array(&out->charge, from->charge, n, sizeof *out->charge) &&
                  copy_array(&out->radius, from->radius, n, sizeof *out->radius) &&
                  copy_array(&out->labels, from->labels, n, sizeof *out->labels);
    if (from->records.lines)
        enough =
            enough && copy_array(&out->records.lines, from->records.lines, (int64_t)strlen(from->records.lines) + 1, 1);
    if (from->records.bond)
        enough =
            enough && copy_array(&out->records.bond, from->records.bond, out->records.bonds, sizeof *out->records.bond);
    return enough;
}

bool molecule_part(const molecule *from, const bool *keep, molecule *out)
{
    int64_t kept = 0;
    *out = *from;
    out->x = out->y = out->z = out->charge = out->radius = NULL;
    out->labels = NULL;
    out->records.lines = NULL;
    out->records.bond = NULL;
    out->records.bonds = from->records.bond ? from->records.bonds : 0;
    out->symmetry = (listed_symmetry){0}; /* this, and what follows, is of the whole alone */
    out->of_whole = NULL;
    out->whole_atoms = 0;
    out->whole_charge = 0;
    for (int64_t i = 0; i < from->atoms; i++)
        kept += keep[i];
    const bool enough = copy_molecule(from, out) && (kept == 0 || molecule_keep(out, keep));
    if (!enough)
        molecule_free(out);
    else if (kept == 0) {
        out->atoms = out->records.bonds = 0;
        out->total_charge = 0;
    }
    return enough;
}

/* ---- labels ---- */

text_piece label_trim(text_piece text)
{
    while (text.size > 0 && text_all_blank((text_piece){text.at, 1}))
        text.at++, text.size--;
    while (text.size > 0 && text_all_blank((text_piece){text.at + text.size - 1, 1}))
        text.size--;
    return text;
}

bool label_copy(text_piece text, char out[LABEL_SIZE])
{
    text = label_trim(text);
    size_t n = text.size < LABEL_SIZE - 1 ? text.size : LABEL_SIZE - 1;
    for (size_t i = 0; i < n; i++)
        out[i] = text.at[i] >= ' ' && text.at[i] <= '~' ? text.at[i] : '?';
    out[n] = '\0';
    return n < text.size;
}

void warn_of_cut_names(vf_context *ctx, const char *name, const molecule *m)
{
    int64_t cut = 0, first = 0;
    for (int64_t i = m->atoms - 1; i >= 0; i--)
        if (m->labels[i].cut) {
            cut++;
            first = i;
        }
    const atom_label *label = &m->labels[first];
    if (cut > 0)
        vf_warn(
            ctx,
            "%s: %lld atom%s a name, residue, chain or segment of more than eight characters, of which the first eight "
            "are kept, so that chains may look the same (first: atom %lld, %s %s%s%s)",
            name, (long long)cut, cut == 1 ? " has" : "s have", (long long)first + 1, label->name, label->residue,
            *label->chain ? " " : "", label->chain);
}

void label_element(text_piece text, char out[3])
{
    const char to_small = 'a' - 'A';
    text = label_trim(text);
    out[0] = '\0';
    if (text.size < 1 || text.size > 2 || !text_is_letter(text.at[0]) || !text_is_letter(text.at[text.size - 1]))
        return;
    out[0] = (char)(text.at[0] >= 'a' ? text.at[0] - to_small : text.at[0]);
    out[1] = (char)(text.size < 2 ? '\0' : text.at[1] <= 'Z' ? text.at[1] + to_small : text.at[1]);
    out[2] = '\0';
}

/* Hybrid-36 continues where four digits end: A000 to ZZZZ, then a000 to zzzz. */
static bool hybrid_36(text_piece text, int32_t *out)
{
    enum { WIDTH = 4, BLOCK = 26 * 36 * 36 * 36, FIRST = 10000 };
    if (text.size != WIDTH || !text_is_letter(*text.at))
        return false;
    char a = *text.at >= 'a' ? 'a' : 'A';
    int32_t value = *text.at - a;
    for (size_t i = 1; i < WIDTH; i++) {
        char c = text.at[i];
        if (!text_is_digit(c) && (c < a || c > a + 25))
            return false;
        value = value * 36 + (text_is_digit(c) ? c - '0' : c - a + 10);
    }
    *out = FIRST + value + (a == 'a' ? BLOCK : 0);
    return true;
}

bool label_number(text_piece text, int32_t *out)
{
    const char *p = text.at, *end = text.at + text.size;
    bool negative = p < end && *p == '-';
    int64_t value = 0;
    p += p < end && (*p == '-' || *p == '+');
    if (p == end)
        return false;
    for (; p < end; p++) {
        if (!text_is_digit(*p))
            return hybrid_36(text, out);
        value = value * 10 + (*p - '0');
        if (value > INT32_MAX)
            return false;
    }
    *out = (int32_t)(negative ? -value : value);
    return true;
}

bool label_number_and_code(text_piece text, int32_t *number, char *code)
{
    *code = '\0';
    if (label_number(text, number))
        return true;
    if (text.size < 2 || !text_is_letter(text.at[text.size - 1]))
        return false;
    if (!label_number((text_piece){text.at, text.size - 1}, number))
        return false;
    *code = text.at[text.size - 1];
    return true;
}
