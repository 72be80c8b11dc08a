#include "secondary_structure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double FAR = 9;         /* angstrom, between alpha carbons of residues that may have a bond */
static const double LEAST = 0.5;     /* angstrom, between atoms of a bond */
static const double STRENGTH = 27.9; /* kcal/mol angstrom: 0.42 e x 0.20 e x 332 */
static const double BOND = -0.5;     /* kcal/mol: a bond is below */
static const double STRONGEST = -9.9;

enum { BONDS = 2 };

/* The best bonds of a donor. */
typedef struct donor {
    int64_t to[BONDS];
    double energy[BONDS];
} donor;

typedef struct pair {
    int64_t i, j; /* i < j */
} pair;

typedef struct ladder {
    bool parallel, merged;
    int64_t i[2], j[2]; /* first and last of both strands */
} ladder;

typedef struct chains {
    vf_context *ctx;
    int64_t count, pairs, ladders, room;
    const peptide *at;
    char *shape;    /* as in DSSP's files: H, G, I, E; '-' */
    int64_t *piece; /* of the chain, without gaps */
    donor *bonds;
    pair *near;
    ladder *of; /* sorted by i[0] */
} chains;

static double distance(const double a[3], const double b[3])
{
    return sqrt((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]) + (a[2] - b[2]) * (a[2] - b[2]));
}

static vf_status no_memory(vf_context *ctx)
{
    return vf_fail(ctx, VF_ERR_MEMORY, "no memory for the molecule's helices and strands");
}

/* ---- neighbours ---- */

typedef struct along_x {
    double x;
    int64_t index;
} along_x;

static int by_x(const void *a, const void *b)
{
    const along_x *p = a, *q = b;
    return p->x != q->x ? (p->x > q->x) - (p->x < q->x) : (p->index > q->index) - (p->index < q->index);
}

static int by_residue(const void *a, const void *b)
{
    const pair *p = a, *q = b;
    return p->i != q->i ? (p->i > q->i) - (p->i < q->i) : (p->j > q->j) - (p->j < q->j);
}

static vf_status add_pair(chains *c, int64_t a, int64_t b)
{
    if (c->pairs == c->room) {
        c->room = c->room ? 2 * c->room : 1024;
        pair *more = realloc(c->near, (size_t)c->room * sizeof *more);
        if (!more)
            return no_memory(c->ctx);
        c->near = more;
    }
    c->near[c->pairs++] = (pair){a < b ? a : b, a < b ? b : a};
    return VF_OK;
}

/* Pairs of residues that may have a bond, sorted. */
static vf_status find_pairs(chains *c)
{
    along_x *order = malloc((size_t)c->count * sizeof *order + 1);
    vf_status status = order ? VF_OK : no_memory(c->ctx);
    int64_t complete = 0;
    for (int64_t i = 0; order && i < c->count; i++)
        if (c->at[i].complete)
            order[complete++] = (along_x){c->at[i].ca[0], i};
    if (complete > 1)
        qsort(order, (size_t)complete, sizeof *order, by_x);
    for (int64_t a = 0; a < complete; a++)
        for (int64_t b = a + 1; b < complete && order[b].x - order[a].x < FAR && status == VF_OK; b++)
            if (distance(c->at[order[a].index].ca, c->at[order[b].index].ca) < FAR)
                status = add_pair(c, order[a].index, order[b].index);
    free(order);
    if (c->pairs > 1)
        qsort(c->near, (size_t)c->pairs, sizeof *c->near, by_residue);
    return status;
}

/* ---- hydrogen bonds ---- */

/* N-H of d to O=C of a. */
static void try_bond(chains *c, int64_t d, int64_t a)
{
    const peptide *from = &c->at[d], *to = &c->at[a], *before = from - 1;
    double h[3];
    if (from->proline || d == 0 || c->piece[d - 1] != c->piece[d])
        return;
    const double length = distance(before->c, before->o);
    for (int k = 0; k < 3; k++)
        h[k] = from->n[k] + (before->c[k] - before->o[k]) / length;
    const double ho = distance(h, to->o), hc = distance(h, to->c), nc = distance(from->n, to->c),
                 no = distance(from->n, to->o);
    const bool close = fmin(fmin(ho, hc), fmin(nc, no)) < LEAST;
    double energy = close ? STRONGEST : round(-STRENGTH * (1 / ho - 1 / hc + 1 / nc - 1 / no) * 1000) / 1000;
    int64_t other = a;
    donor *best = &c->bonds[d];
    for (int k = 0; k < BONDS; k++)
        if (energy < best->energy[k]) {
            const double weaker = best->energy[k];
            const int64_t last = best->to[k];
            best->energy[k] = energy;
            best->to[k] = other;
            energy = weaker;
            other = last;
        }
}

static bool has_bond(const chains *c, int64_t d, int64_t a)
{
    const donor *best = &c->bonds[d];
    return (best->to[0] == a && best->energy[0] < BOND) || (best->to[1] == a && best->energy[1] < BOND);
}

static bool without_gap(const chains *c, int64_t first, int64_t last)
{
    return first >= 0 && last < c->count && c->piece[first] == c->piece[last];
}

/* ---- strands ---- */

typedef enum bridge { BRIDGE_NONE, BRIDGE_PARALLEL, BRIDGE_ANTIPARALLEL } bridge;

static bridge bridge_of(const chains *c, int64_t i, int64_t j)
{
    if (j < i + 3 || !without_gap(c, i - 1, i + 1) || !without_gap(c, j - 1, j + 1))
        return BRIDGE_NONE;
    if ((has_bond(c, i + 1, j) && has_bond(c, j, i - 1)) || (has_bond(c, j + 1, i) && has_bond(c, i, j - 1)))
        return BRIDGE_PARALLEL;
    if ((has_bond(c, i + 1, j - 1) && has_bond(c, j + 1, i - 1)) || (has_bond(c, j, i) && has_bond(c, i, j)))
        return BRIDGE_ANTIPARALLEL;
    return BRIDGE_NONE;
}

/* Bridges that follow each other make a ladder. *open: ladders before have ended. */
static void add_bridge(chains *c, bridge kind, const pair *p, int64_t *open)
{
    const bool parallel = kind == BRIDGE_PARALLEL;
    while (*open < c->ladders && c->of[*open].i[1] < p->i - 1)
        ++*open;
    for (int64_t n = *open; n < c->ladders; n++) {
        ladder *l = &c->of[n];
        const int64_t next = parallel ? l->j[1] + 1 : l->j[0] - 1;
        if (l->parallel == parallel && l->i[1] == p->i - 1 && next == p->j) {
            l->i[1] = p->i;
            l->j[parallel ? 1 : 0] = p->j;
            return;
        }
    }
    c->of[c->ladders++] = (ladder){parallel, false, {p->i, p->i}, {p->j, p->j}};
}

/* A bulge: between two ladders, at most one more residue on one strand and four on the other. */
static bool is_bulge(const chains *c, const ladder *a, const ladder *b)
{
    if (a->parallel != b->parallel || b->i[0] - a->i[1] >= 6 || !without_gap(c, a->i[0], b->i[1]) ||
        !without_gap(c, a->j[0] < b->j[0] ? a->j[0] : b->j[0], a->j[1] > b->j[1] ? a->j[1] : b->j[1]) ||
        (b->i[0] <= a->i[1] && a->i[0] <= b->i[1]))
        return false;
    const int64_t gap = a->parallel ? b->j[0] - a->j[1] : a->j[0] - b->j[1];
    return gap >= 0 && ((gap < 6 && b->i[0] - a->i[1] < 3) || gap < 3);
}

static void merge_bulges(chains *c)
{
    for (int64_t m = 0; m < c->ladders; m++) {
        ladder *a = &c->of[m];
        for (int64_t n = m + 1; n < c->ladders && c->of[n].i[0] - a->i[1] < 6; n++) {
            ladder *b = &c->of[n];
            if (a->merged || b->merged || !is_bulge(c, a, b))
                continue;
            a->i[1] = b->i[1];
            a->j[a->parallel ? 1 : 0] = b->j[a->parallel ? 1 : 0];
            b->merged = true;
        }
    }
}

static vf_status find_strands(chains *c)
{
    int64_t open = 0;
    c->of = malloc((size_t)c->pairs * sizeof *c->of + 1);
    if (!c->of)
        return no_memory(c->ctx);
    for (int64_t n = 0; n < c->pairs; n++) {
        const bridge kind = bridge_of(c, c->near[n].i, c->near[n].j);
        if (kind != BRIDGE_NONE)
            add_bridge(c, kind, &c->near[n], &open);
    }
    merge_bulges(c);
    for (int64_t n = 0; n < c->ladders; n++) {
        const ladder *l = &c->of[n];
        if (l->merged || l->i[1] == l->i[0])
            continue; /* single bridges are no strands */
        for (int64_t i = l->i[0]; i <= l->i[1]; i++)
            c->shape[i] = 'E';
        for (int64_t j = l->j[0]; j <= l->j[1]; j++)
            c->shape[j] = 'E';
    }
    return VF_OK;
}

/* ---- helices ---- */

/* Two turns of `turn` residues, one after another, of which none is one of another shape than those listed. */
static void find_helices(chains *c, int turn, char shape, const char *replaces)
{
    for (int64_t i = 1; i + turn < c->count; i++) {
        bool found = without_gap(c, i - 1, i + turn) && has_bond(c, i - 1 + turn, i - 1) && has_bond(c, i + turn, i);
        for (int64_t k = i; k < i + turn && found; k++)
            found = strchr(replaces, c->shape[k]) != NULL;
        if (found)
            memset(c->shape + i, shape, (size_t)turn);
    }
}

vf_status assign_secondary_structure(vf_context *ctx, int64_t count, peptide *at)
{
    chains c = {.ctx = ctx, .count = count, .at = at};
    c.piece = malloc((size_t)count * sizeof *c.piece + 1);
    c.bonds = malloc((size_t)count * sizeof *c.bonds + 1);
    c.shape = malloc((size_t)count + 1);
    vf_status status = c.piece && c.bonds && c.shape ? VF_OK : no_memory(ctx);
    for (int64_t i = 0; status == VF_OK && i < count; i++) {
        const bool follows = i > 0 && at[i].linked && at[i].complete && at[i - 1].complete;
        c.shape[i] = '-';
        c.piece[i] = i == 0 ? 0 : c.piece[i - 1] + (follows ? 0 : 1);
        c.bonds[i] = (donor){{-1, -1}, {0, 0}};
    }
    VF_TRY(status, find_pairs(&c));
    for (int64_t n = 0; status == VF_OK && n < c.pairs; n++) {
        try_bond(&c, c.near[n].i, c.near[n].j);
        if (c.near[n].j != c.near[n].i + 1)
            try_bond(&c, c.near[n].j, c.near[n].i);
    }
    VF_TRY(status, find_strands(&c));
    if (status == VF_OK) {
        find_helices(&c, 4, 'H', "-EH");
        find_helices(&c, 3, 'G', "-G");
        find_helices(&c, 5, 'I', "-HI"); /* version 2 and later */
        for (int64_t i = 0; i < count; i++)
            at[i].kind = c.shape[i] == 'E' ? BACKBONE_STRAND : c.shape[i] == '-' ? BACKBONE_COIL : BACKBONE_HELIX;
    }
    free(c.shape);
    free(c.piece);
    free(c.bonds);
    free(c.near);
    free(c.of);
    return status;
}
