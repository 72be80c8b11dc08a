/* The cells of the search for ions' places, between ion_search_cells.c (which of them to look at) and
 * ion_search_bounds.c (what they hold); not installed. */
#ifndef VOXFIELD_ION_SEARCH_CELLS_H
#define VOXFIELD_ION_SEARCH_CELLS_H

#include <math.h>

#include "ion_search_internal.h"

typedef struct cell {
    double *values; /* [z][y][x] of its box, in double precision; NULL: not looked at yet */
    bool summed;    /* the values are good to EXACT_ERROR, not only to the map's */
} cell;

/* A cell, or cells that lie together: bounds over their free points. */
typedef struct node {
    /* Of the potential without what follows. No point is free: low = INFINITY, high = -INFINITY. */
    double low, high;
    /* Ions' since then: at the middle, its gradient, and how far the rest can be off. */
    double middle, gradient[3], rest;
    double magnitude; /* of a cell: bound of C sum |q|/r over atoms and ions */
    int64_t settled;  /* ions in `low` and `high`: in a cell's values, and known to the nodes that a node consists of */
    int64_t known;    /* ions that the bounds are about */
} node;

/* Nodes of one size. Those of level 0 are the cells; the last level is one node. */
typedef struct level {
    int64_t along[3], first; /* first: number of its first node */
    int64_t shape[3];        /* points */
    double half[3];          /* of a node's edges, from point to point */
    double radius;           /* half its diagonal */
} level;

enum { MOST_LEVELS = 64 };

/* A node that waits, with the least energy that it can have. */
typedef struct waiting {
    double bound;
    int64_t number;
} waiting;

typedef struct cell_state {
    vf_isa isa;
    bool begun; /* the bounds are there */
    ion_cells grid;
    cell *cells;
    int levels;
    level level[MOST_LEVELS];
    int64_t count;    /* of nodes */
    node *nodes;      /* [count] level after level */
    double map_error; /* relative to magnitude */
    vf_coulomb *sums; /* the atoms', in double precision, on the CPU */
    vf_queue *queue;
    waiting *heap; /* [count] the one of the least bound first; from the end backwards, the cells looked at */
    int64_t waits, visited;
} cell_state;

/* ---- ion_search_bounds_ISA.c ---- */

/* Adds ions [first, ions->count) to the bounds of a node of level l whose middle is at `at`. `square`: 1/r^2. */
typedef void ion_bound_ions(const ion_sources *ions, int64_t first, const level *l, const double at[3], double r_min,
                            bool square, node *b);
extern ion_bound_ions ion_bound_ions_baseline, ion_bound_ions_avx2, ion_bound_ions_avx512;

/* ---- ion_search_bounds.c ---- */

/* The first point of row (j, k) of a box in the grid's order, j and k counted from the box's first. */
int64_t ion_row_start(const vf_grid *grid, const vf_box *box, int64_t j, int64_t k);

/* The levels over a grid's cells; returns how many nodes they have. */
int64_t ion_cells_levels(const vf_grid *grid, cell_state *state);

/* What must be known of all cells before anything is looked for, when all is excluded that atoms exclude. Errors:
 * VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status ion_cells_begin(vf_ion_search *search, cell_state *state);

/* Moves a node's bounds for the ions that it does not know. */
void ion_node_update(const vf_ion_search *search, cell_state *state, int64_t number);

/* Updates the nodes that a node consists of, and makes its bounds theirs. Not for cells. */
void ion_node_open(const vf_ion_search *search, cell_state *state, int64_t number);

/* The nodes that a node consists of, as a box in the level below, *below. */
vf_box ion_node_parts(const cell_state *state, int64_t number, const level **below);
static inline int64_t ion_node_number(const level *l, int64_t i, int64_t j, int64_t k)
{
    return l->first + (k * l->along[1] + j) * l->along[0] + i;
}

/* Looks at a cell: its bounds become good to the map's error, or, if `exactly`, exact. Its ions must be known. */
VF_MUST_CHECK vf_status ion_cell_visit(const vf_ion_search *search, cell_state *state, int64_t number, bool exactly);

/* What the values of a cell that was looked at are good to. */
static inline double ion_cell_error(const cell_state *state, int64_t number)
{
    return (state->cells[number].summed ? EXACT_ERROR : state->map_error) * state->nodes[number].magnitude;
}

/* Bounds of the potential. */
static inline double ion_node_low(const level *l, const node *n)
{
    const double *g = n->gradient, *half = l->half;
    return n->low + n->middle - (fabs(g[0]) * half[0] + fabs(g[1]) * half[1] + fabs(g[2]) * half[2] + n->rest);
}
static inline double ion_node_high(const level *l, const node *n)
{
    const double *g = n->gradient, *half = l->half;
    return n->high + n->middle + (fabs(g[0]) * half[0] + fabs(g[1]) * half[1] + fabs(g[2]) * half[2] + n->rest);
}

#endif
