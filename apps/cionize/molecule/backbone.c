#include "backbone.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "residue_kinds.h"
#include "residues.h"

/* Longest links, angstrom: of atoms that are bonded, and of those for which residues are known alone. */
static const double BONDED = 2.5, LINK_CA = 4.5, LINK_C4 = 8;

/* The atoms of a residue that matter. */
enum { AT_N, AT_CA, AT_C, AT_O, AT_P, AT_O3, AT_C4, AT_C1, AT_N1, AT_N3, AT_N9, ATS };
static const struct {
    const char *name;
    int at;
} g_names[] = {{"N", AT_N},    {"CA", AT_CA},  {"C", AT_C},    {"O", AT_O},    {"OT1", AT_O},  {"O1", AT_O},
               {"OC1", AT_O},  {"P", AT_P},    {"O3'", AT_O3}, {"O3*", AT_O3}, {"C4'", AT_C4}, {"C4*", AT_C4},
               {"C1'", AT_C1}, {"C1*", AT_C1}, {"N1", AT_N1},  {"N3", AT_N3},  {"N9", AT_N9}};

typedef struct residue_atoms {
    int64_t at[ATS]; /* -1: none */
    bool ends_chain;
} residue_atoms;

typedef struct finder {
    const molecule *m;
    int64_t count;
    residue_atoms *atoms;
    peptide *peptides;
    backbone_residue *at;
} finder;

static void place_of(const molecule *m, int64_t atom, double out[3])
{
    out[0] = m->x[atom];
    out[1] = m->y[atom];
    out[2] = m->z[atom];
}

static double apart(const molecule *m, int64_t a, int64_t b)
{
    double p[3], q[3];
    place_of(m, a, p);
    place_of(m, b, q);
    return sqrt((p[0] - q[0]) * (p[0] - q[0]) + (p[1] - q[1]) * (p[1] - q[1]) + (p[2] - q[2]) * (p[2] - q[2]));
}

/* ---- vectors ---- */

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void cross(const double a[3], const double b[3], double out[3])
{
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

/* False: it has no direction. */
static bool normalise(double v[3])
{
    const double size = sqrt(dot(v, v));
    for (int a = 0; a < 3 && size > 1e-6; a++)
        v[a] /= size;
    return size > 1e-6;
}

/* ---- residues ---- */

static bool is_amino(const residue_atoms *r, const char *name)
{
    return r->at[AT_CA] >= 0 && ((r->at[AT_N] >= 0 && r->at[AT_C] >= 0) || residue_is_protein(name));
}

static bool is_nucleotide(const residue_atoms *r, const char *name)
{
    return r->at[AT_C4] >= 0 && r->at[AT_C1] >= 0 && (r->at[AT_O3] >= 0 || residue_is_nucleic(name));
}

/* Amino acids and nucleotides, in order. */
static void list_residues(finder *f, const int64_t *residue)
{
    const molecule *m = f->m;
    for (int64_t first = 0, behind; first < m->atoms; first = behind) {
        residue_atoms r;
        for (int k = 0; k < ATS; k++)
            r.at[k] = -1;
        for (behind = first; behind < m->atoms && residue[behind] == residue[first]; behind++)
            for (size_t n = 0; n < sizeof g_names / sizeof *g_names; n++)
                if (r.at[g_names[n].at] < 0 && strcmp(m->labels[behind].name, g_names[n].name) == 0)
                    r.at[g_names[n].at] = behind;
        const bool amino = is_amino(&r, m->labels[first].residue);
        if (!amino && !is_nucleotide(&r, m->labels[first].residue))
            continue;
        r.ends_chain = m->labels[behind - 1].ends_chain;
        f->atoms[f->count] = r;
        f->at[f->count++] = (backbone_residue){.atom = r.at[amino ? AT_CA : AT_C4],
                                               .tip = amino ? -1 : r.at[r.at[AT_N9] >= 0 ? AT_N1 : AT_N3],
                                               .kind = amino ? BACKBONE_COIL : BACKBONE_NUCLEIC};
    }
}

/* Whether residue i continues the one before. */
static bool is_linked(const finder *f, int64_t i)
{
    const backbone_residue *before = &f->at[i - 1], *r = &f->at[i];
    const bool nucleic = r->kind == BACKBONE_NUCLEIC;
    const int64_t from = f->atoms[i - 1].at[nucleic ? AT_O3 : AT_C], to = f->atoms[i].at[nucleic ? AT_P : AT_N];
    if (before->kind != r->kind || !same_chain(&f->m->labels[before->atom], &f->m->labels[r->atom]) ||
        f->atoms[i - 1].ends_chain)
        return false;
    if (from >= 0 && to >= 0)
        return apart(f->m, from, to) <= BONDED;
    return apart(f->m, before->atom, r->atom) <= (nucleic ? LINK_C4 : LINK_CA);
}

static void link_residues(finder *f)
{
    for (int64_t i = 0; i < f->count; i++) {
        f->at[i].begins = i == 0 || !is_linked(f, i);
        place_of(f->m, f->at[i].atom, f->at[i].place);
    }
    int64_t kept = 0; /* a residue alone has no direction */
    for (int64_t i = 0; i < f->count; i++) {
        if (f->at[i].begins && (i + 1 == f->count || f->at[i + 1].begins))
            continue;
        f->atoms[kept] = f->atoms[i];
        f->at[kept++] = f->at[i];
    }
    f->count = kept;
}

/* PRO, and AMBER's NPRO and CPRO. */
static bool is_proline(const char *name)
{
    const size_t length = strlen(name);
    return length >= 3 && strcmp(name + length - 3, "PRO") == 0;
}

static vf_status assign(vf_context *ctx, finder *f)
{
    for (int64_t i = 0; i < f->count; i++) {
        const int64_t *at = f->atoms[i].at;
        peptide *p = &f->peptides[i];
        *p = (peptide){.complete = f->at[i].kind != BACKBONE_NUCLEIC && at[AT_N] >= 0 && at[AT_C] >= 0 && at[AT_O] >= 0,
                       .proline = is_proline(f->m->labels[f->at[i].atom].residue),
                       .linked = !f->at[i].begins};
        if (!p->complete)
            continue;
        place_of(f->m, at[AT_N], p->n);
        place_of(f->m, at[AT_CA], p->ca);
        place_of(f->m, at[AT_C], p->c);
        place_of(f->m, at[AT_O], p->o);
    }
    const vf_status status = assign_secondary_structure(ctx, f->count, f->peptides);
    for (int64_t i = 0; i < f->count && status == VF_OK; i++)
        if (f->at[i].kind != BACKBONE_NUCLEIC)
            f->at[i].kind = f->peptides[i].kind;
    return status;
}

/* ---- sides ---- */

/* Neighbours in the chain; an end is its own. */
static int64_t before_of(const finder *f, int64_t i)
{
    return f->at[i].begins ? i : i - 1;
}

static int64_t behind_of(const finder *f, int64_t i)
{
    return i + 1 == f->count || f->at[i + 1].begins ? i : i + 1;
}

/* Where the ribbon of residue i is wide: not yet at right angles to the curve. */
static void direct(const finder *f, int64_t i, const double along[3], double out[3])
{
    const int64_t *at = f->atoms[i].at, a = before_of(f, i), b = behind_of(f, i);
    const int64_t middle = a == i ? b : b == i ? a : i; /* an end bends as its neighbour */
    double from[3], to[3];
    if (f->at[i].kind == BACKBONE_NUCLEIC) {
        place_of(f->m, at[AT_C1], to);
        for (int k = 0; k < 3; k++)
            to[k] -= f->at[i].place[k];
        cross(along, to, out);
    } else if (at[AT_C] >= 0 && at[AT_O] >= 0) {
        place_of(f->m, at[AT_C], from);
        place_of(f->m, at[AT_O], to);
        for (int k = 0; k < 3; k++)
            out[k] = to[k] - from[k];
    } else {
        const double *p = f->at[before_of(f, middle)].place, *q = f->at[middle].place;
        const double *r = f->at[behind_of(f, middle)].place;
        for (int k = 0; k < 3; k++)
            to[k] = p[k] - 2 * q[k] + r[k];
        cross(along, to, out);
    }
}

static void set_sides(finder *f)
{
    for (int64_t i = 0; i < f->count; i++) {
        const int64_t a = before_of(f, i), b = behind_of(f, i);
        double along[3], *side = f->at[i].side;
        for (int k = 0; k < 3; k++)
            along[k] = f->at[b].place[k] - f->at[a].place[k];
        (void)normalise(along);
        direct(f, i, along, side);
        double part = dot(side, along);
        for (int k = 0; k < 3; k++)
            side[k] -= part * along[k];
        if (!normalise(side)) { /* on a straight line: any */
            const double any[3] = {fabs(along[0]) < 0.7, fabs(along[0]) >= 0.7, 0};
            cross(along, any, side);
            (void)normalise(side);
        }
        if (a != i && dot(side, f->at[a].side) < 0)
            for (int k = 0; k < 3; k++)
                side[k] = -side[k];
    }
}

static void flatten_strands(finder *f)
{
    double last_place[3] = {0}, last_side[3] = {0}; /* of the residue before, as they were */
    for (int64_t i = 0; i < f->count; i++) {
        backbone_residue *r = &f->at[i];
        const backbone_residue *next = &f->at[behind_of(f, i)];
        const bool ends = before_of(f, i) == i || next == r;
        double place[3], side[3];
        memcpy(place, r->place, sizeof place);
        memcpy(side, r->side, sizeof side);
        for (int k = 0; k < 3 && r->kind == BACKBONE_STRAND && !ends; k++) {
            r->place[k] = (last_place[k] + 2 * place[k] + next->place[k]) / 4;
            r->side[k] = last_side[k] + 2 * side[k] + next->side[k];
        }
        (void)normalise(r->side);
        memcpy(last_place, place, sizeof place);
        memcpy(last_side, side, sizeof side);
    }
}

vf_status backbone_find(vf_context *ctx, const molecule *m, backbone *out)
{
    finder f = {.m = m};
    int64_t *residue = malloc((size_t)m->atoms * sizeof *residue + 1), residues = 0;
    *out = (backbone){0};
    vf_status status = residue ? find_residues(ctx, m, residue, &residues)
                               : vf_fail(ctx, VF_ERR_MEMORY, "no memory for the molecule's backbone");
    f.atoms = malloc((size_t)residues * sizeof *f.atoms + 1);
    f.at = malloc((size_t)residues * sizeof *f.at + 1);
    f.peptides = malloc((size_t)residues * sizeof *f.peptides + 1);
    if (status == VF_OK && !(f.atoms && f.at && f.peptides))
        status = vf_fail(ctx, VF_ERR_MEMORY, "no memory for the molecule's backbone");
    if (status == VF_OK) {
        list_residues(&f, residue);
        link_residues(&f);
    }
    VF_TRY(status, assign(ctx, &f));
    if (status == VF_OK) {
        set_sides(&f);
        flatten_strands(&f);
    }
    free(residue);
    free(f.atoms);
    free(f.peptides);
    *out = (backbone){f.count, f.at};
    return status;
}

void backbone_free(backbone *b)
{
    free(b->at);
    *b = (backbone){0};
}
