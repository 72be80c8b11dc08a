/* Applies selections to molecules. */
#include "select_atoms.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "atom_element.h"
#include "near_places.h"
#include "residue_kinds.h"
#include "residues.h"
#include "selection_tree.h"
#include "voxfield/team_size.h"
#include "voxfield/timer.h"

enum { IS_PROTEIN = 1, IS_NUCLEIC = 2, IS_WATER = 4, IS_ION = 8 };

typedef struct application {
    vf_context *ctx;
    const atom_selection *s;
    const molecule *m;
    const vf_cell *cell;
    int64_t *residue; /* [atoms] number of the atom's residue, from 0; NULL: not needed yet */
    uint8_t *kind;    /* [residues] */
    int64_t residues;
} application;

static vf_status no_memory(const application *a)
{
    return vf_fail(a->ctx, VF_ERR_MEMORY, "%s: no memory to select among %lld atoms", a->s->where,
                   (long long)a->m->atoms);
}

/* ---- residues ---- */

static bool has_atoms(const atom_label *label, int64_t atoms, const char *const *names, int count)
{
    for (int n = 0; n < count; n++) {
        bool found = false;
        for (int64_t i = 0; i < atoms && !found; i++)
            found = strcmp(label[i].name, names[n]) == 0;
        if (!found)
            return false;
    }
    return true;
}

static uint8_t kind_of(const atom_label *label, int64_t atoms)
{
    static const char *const backbone[] = {"N", "CA", "C", "O"};
    const char *name = label->residue;
    if (residue_is_water(name))
        return IS_WATER;
    if (residue_is_protein(name) || has_atoms(label, atoms, backbone, 4))
        return IS_PROTEIN;
    if (atoms == 1 && residue_is_ion(name))
        return IS_ION;
    return residue_is_nucleic(name) ? IS_NUCLEIC : 0;
}

static vf_status number_residues(application *a)
{
    const int64_t atoms = a->m->atoms;
    if (a->residue)
        return VF_OK;
    a->residue = malloc((size_t)atoms * sizeof *a->residue);
    a->kind = malloc((size_t)atoms * sizeof *a->kind);
    if (!a->residue || !a->kind)
        return no_memory(a);
    const vf_status status = find_residues(a->ctx, a->m, a->residue, &a->residues);
    for (int64_t first = 0, i; status == VF_OK && first < atoms; first = i) {
        for (i = first; i < atoms && a->residue[i] == a->residue[first];)
            i++;
        a->kind[a->residue[first]] = kind_of(&a->m->labels[first], i - first);
    }
    return status;
}

/* ---- words ---- */

/* As in VMD: heavy atoms of the chain, with the oxygens at its end. */
static bool is_backbone(const char *name, uint8_t kind)
{
    static const char *const protein[] = {"N", "CA", "C", "O", "OXT", "OT1", "OT2", "OC1", "OC2", "O1", "O2"};
    static const char *const nucleic[] = {"P",   "O1P", "O2P", "OP1", "OP2", "O5'", "C5'", "C4'",
                                          "C3'", "O3'", "O5*", "C5*", "C4*", "C3*", "O3*"};
    const size_t protein_names = sizeof protein / sizeof *protein, nucleic_names = sizeof nucleic / sizeof *nucleic;
    for (size_t n = 0; kind == IS_PROTEIN && n < protein_names; n++)
        if (strcmp(name, protein[n]) == 0)
            return true;
    for (size_t n = 0; kind == IS_NUCLEIC && n < nucleic_names; n++)
        if (strcmp(name, nucleic[n]) == 0)
            return true;
    return false;
}

static bool has_word(const application *a, selection_word word, int64_t i)
{
    const atom_label *label = &a->m->labels[i];
    const uint8_t kind = a->kind[a->residue[i]];
    switch (word) {
    case WORD_ALL:
        return true;
    case WORD_NONE:
        return false;
    case WORD_PROTEIN:
        return kind == IS_PROTEIN;
    case WORD_NUCLEIC:
        return kind == IS_NUCLEIC;
    case WORD_WATER:
        return kind == IS_WATER;
    case WORD_IONS:
        return kind == IS_ION;
    case WORD_HYDROGEN:
        return atom_is_hydrogen(label->name, label->residue, label->element);
    case WORD_HEAVY:
        return !atom_is_hydrogen(label->name, label->residue, label->element);
    case WORD_BACKBONE:
        return is_backbone(label->name, kind);
    case WORD_SIDECHAIN:
        return (kind == IS_PROTEIN || kind == IS_NUCLEIC) && !is_backbone(label->name, kind);
    case WORD_HETERO:
        return label->hetero;
    }
    return false;
}

/* ---- fields ---- */

/* Of a PSF file, `chain` has the segment. */
static const char *segment(const atom_label *label)
{
    return label->segment[0] ? label->segment : label->chain;
}

static char lower(char c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
}

/* * is any text, ? any character. Works in two passes over the text at most: of several stars, only the last one tried moves. */
static bool matches(const char *pattern, const char *text, bool literal, bool any_case)
{
    const char *star = NULL, *from = NULL;
    while (*text) {
        const bool equal = any_case ? lower(*pattern) == lower(*text) : *pattern == *text;
        if (!literal && *pattern == '*') {
            star = pattern++;
            from = text;
        } else if (*pattern && (equal || (!literal && *pattern == '?'))) {
            pattern++;
            text++;
        } else if (star) {
            pattern = star + 1;
            text = ++from;
        } else {
            return false;
        }
    }
    while (!literal && *pattern == '*')
        pattern++;
    return *pattern == '\0';
}

/* Chains and segments a and A differ. */
static bool has_text(const molecule *m, selection_field field, const selection_value *v, int64_t i)
{
    const atom_label *label = &m->labels[i];
    char symbol[3];
    switch (field) {
    case FIELD_NAME:
        return matches(v->text, label->name, v->literal, true);
    case FIELD_RESNAME:
        return matches(v->text, label->residue, v->literal, true);
    case FIELD_CHAIN:
        return matches(v->text, label->chain, v->literal, false);
    case FIELD_SEGMENT:
        return matches(v->text, segment(label), v->literal, false);
    default:
        atom_element(label->name, label->residue, label->element, symbol);
        return matches(v->text, symbol, v->literal, true);
    }
}

static double number_of(const molecule *m, selection_field field, int64_t i)
{
    switch (field) {
    case FIELD_RESID:
        return m->labels[i].number_text[0] ? NAN : m->labels[i].residue_number;
    case FIELD_INDEX:
        return (double)i;
    case FIELD_SERIAL:
        return (double)i + 1;
    case FIELD_CHARGE:
        return m->charge[i];
    case FIELD_RADIUS:
        return m->radius[i];
    case FIELD_OCCUPANCY:
        return (double)m->labels[i].occupancy;
    case FIELD_X:
        return m->x[i];
    case FIELD_Y:
        return m->y[i];
    default:
        return m->z[i];
    }
}

static bool has_number(const molecule *m, selection_field field, const selection_value *v, int64_t i)
{
    const atom_label *label = &m->labels[i];
    if (v->text)
        return strcmp(v->text, label->number_text) == 0;
    const double number = number_of(m, field, i);
    return (number > v->lo || (number == v->lo && !v->above)) && (number < v->hi || (number == v->hi && !v->below)) &&
           (!v->code || v->code == label->insertion);
}

static void apply_field(const application *a, const selection_node *node, bool *chosen)
{
    const atom_selection *s = a->s;
    bool none = true;
    memset(chosen, 0, (size_t)a->m->atoms * sizeof *chosen);
    for (int v = node->first; v < node->first + node->values; v++) {
        bool found = false;
        for (int64_t i = 0; i < a->m->atoms; i++) {
            const bool has = node->field < FIELD_RESID ? has_text(a->m, node->field, &s->value[v], i)
                                                       : has_number(a->m, node->field, &s->value[v], i);
            found = found || has;
            chosen[i] = chosen[i] || has;
        }
        none = none && !found;
    }
    if (none && !isinf(s->value[node->first].lo) && !isinf(s->value[node->first].hi)) {
        size_t end = node->end;
        while (end > node->begin && strchr(" \t\n\r", s->text[end - 1]))
            end--;
        vf_warn(a->ctx, "%s: no atom has '%.*s'", s->where, (int)(end - node->begin), s->text + node->begin);
    }
    for (int64_t i = 0; node->unequal && i < a->m->atoms; i++)
        chosen[i] = !chosen[i];
}

/* ---- same KEY as ---- */

static const char *key_of(const atom_label *label, selection_field field)
{
    return field == FIELD_CHAIN     ? label->chain
           : field == FIELD_SEGMENT ? segment(label)
           : field == FIELD_RESNAME ? label->residue
                                    : label->name;
}

static int by_text(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static vf_status same_text(const application *a, selection_field field, bool *chosen)
{
    const atom_label *label = a->m->labels;
    const char **key = malloc((size_t)a->m->atoms * sizeof *key);
    size_t keys = 0;
    if (!key)
        return no_memory(a);
    for (int64_t i = 0; i < a->m->atoms; i++)
        if (chosen[i] && (keys == 0 || strcmp(key[keys - 1], key_of(&label[i], field)) != 0))
            key[keys++] = key_of(&label[i], field);
    qsort(key, keys, sizeof *key, by_text);
    for (int64_t i = 0; i < a->m->atoms; i++) {
        const char *own = key_of(&label[i], field);
        chosen[i] = keys > 0 && bsearch(&own, key, keys, sizeof *key, by_text);
    }
    free(key);
    return VF_OK;
}

static vf_status same_residues(const application *a, bool *chosen)
{
    bool *has = calloc((size_t)a->residues, sizeof *has);
    if (!has)
        return no_memory(a);
    for (int64_t i = 0; i < a->m->atoms; i++)
        has[a->residue[i]] |= chosen[i];
    for (int64_t i = 0; i < a->m->atoms; i++)
        chosen[i] = has[a->residue[i]];
    free(has);
    return VF_OK;
}

/* ---- the tree ---- */

static vf_status apply(application *a, int at, bool *chosen);

/* Sets near[i] to whether an atom of `of`, or a periodic image of one, is at most `distance` from atom i. */
static vf_status find_near(const application *a, double distance, const bool *of, bool *near)
{
    const molecule *m = a->m;
    const double reach = fmax(distance * (1 + 1e-10), 1e-10); /* atoms exactly as far away as asked count; also for 0 */
    near_places *places = NULL;
    double *xyz = malloc(4 * (size_t)m->atoms * sizeof *xyz), *limit = xyz ? xyz + 3 * m->atoms : NULL;
    int64_t n = 0;
    for (int64_t i = 0; xyz && i < m->atoms; i++)
        if (of[i]) {
            xyz[n] = m->x[i];
            xyz[m->atoms + n] = m->y[i];
            xyz[2 * m->atoms + n] = m->z[i];
            limit[n++] = reach;
        }
    vf_status status =
        xyz ? near_places_create(a->ctx, a->cell, n, xyz, xyz + m->atoms, xyz + 2 * m->atoms, reach, &places)
            : no_memory(a);
    if (status == VF_OK) {
#pragma omp parallel for schedule(dynamic, 256) num_threads(vf_threads_for(a->ctx, 200 * m->atoms))
        for (int64_t i = 0; i < m->atoms; i++) {
            const double at[3] = {m->x[i], m->y[i], m->z[i]};
            near[i] = near_places_any(places, at, limit);
        }
    }
    near_places_destroy(places);
    free(xyz);
    return status;
}

static vf_status apply_within(application *a, const selection_node *node, bool *chosen)
{
    const int64_t atoms = a->m->atoms;
    bool *of = malloc((size_t)atoms * sizeof *of);
    vf_status status = of ? apply(a, node->left, of) : no_memory(a);
    VF_TRY(status, find_near(a, node->distance, of, chosen));
    for (int64_t i = 0; status == VF_OK && node->excludes && i < atoms; i++)
        chosen[i] = chosen[i] && !of[i];
    free(of);
    return status;
}

static vf_status apply_pair(application *a, const selection_node *node, bool *chosen)
{
    const int64_t atoms = a->m->atoms;
    vf_status status = apply(a, node->left, chosen);
    bool *other = status == VF_OK ? malloc((size_t)atoms * sizeof *other) : NULL;
    VF_TRY(status, other ? apply(a, node->right, other) : no_memory(a));
    for (int64_t i = 0; status == VF_OK && i < atoms; i++)
        chosen[i] = node->kind == NODE_AND ? chosen[i] && other[i] : chosen[i] || other[i];
    free(other);
    return status;
}

static vf_status apply(application *a, int at,
                       bool *chosen) /* NOLINT(misc-no-recursion): the parser bounds the depth */
{
    const selection_node *node = &a->s->node[at];
    const int64_t atoms = a->m->atoms;
    vf_status status = VF_OK;
    switch (node->kind) {
    case NODE_WORD:
        status = number_residues(a);
        for (int64_t i = 0; status == VF_OK && i < atoms; i++)
            chosen[i] = has_word(a, node->word, i);
        return status;
    case NODE_FIELD:
        apply_field(a, node, chosen);
        return VF_OK;
    case NODE_NOT:
        status = apply(a, node->left, chosen);
        for (int64_t i = 0; status == VF_OK && i < atoms; i++)
            chosen[i] = !chosen[i];
        return status;
    case NODE_AND:
    case NODE_OR:
        return apply_pair(a, node, chosen);
    case NODE_WITHIN:
        return apply_within(a, node, chosen);
    case NODE_SAME:
        status = apply(a, node->left, chosen);
        if (status == VF_OK && node->field == FIELD_RESIDUE)
            status = number_residues(a);
        VF_TRY(status, node->field == FIELD_RESIDUE ? same_residues(a, chosen) : same_text(a, node->field, chosen));
        return status;
    }
    return status;
}

vf_status selection_apply(vf_context *ctx, const atom_selection *s, const molecule *m, const vf_cell *cell,
                          bool *chosen)
{
    application a = {.ctx = ctx, .s = s, .m = m, .cell = cell};
    vf_status status = apply(&a, s->root, chosen);
    bool any = false;
    for (int64_t i = 0; status == VF_OK && i < m->atoms && !any; i++)
        any = chosen[i];
    if (status == VF_OK && !any)
        status = vf_fail(ctx, VF_ERR_ARGUMENT, "%s '%.200s' selects none of the molecule's %lld atom%s", s->where,
                         s->text, (long long)m->atoms, vf_plural(m->atoms));
    free(a.residue);
    free(a.kind);
    return status;
}
