/* The cells of the search for ions' places, shared by ion_search_cells.c (which cells to visit) and ion_search_bounds.c
 * (their contents); not installed. */
#ifndef VOXFIELD_ION_SEARCH_CELLS_H
#define VOXFIELD_ION_SEARCH_CELLS_H

#include <math.h>

#include "ion_search_internal.h"

typedef struct cell {
    double *values; /* [z][y][x] of its box, in double precision; NULL: not visited yet */
    bool summed;    /* the values are accurate to EXACT_ERROR, not only to the map's error */
} cell;

/* A cell, or a group of neighbouring cells: bounds over their free points. */
typedef struct node {
    /* Bounds of the potential without the terms below. If no point is free: low = INFINITY, high = -INFINITY. */
    double low, high;
    /* The potential of later ions: at the middle, its gradient, and a bound of the rest. */
    double middle, gradient[3], rest;
    double magnitude; /* of a cell: a bound of C sum |q|/r over atoms and ions */
    int64_t settled;  /* ions in `low` and `high`: in a cell's values, or known to the parts of a node */
    int64_t known;    /* ions in the bounds */
} node;

/* Nodes of one size. Those of level 0 are the cells; the last level is one node. */
typedef struct level {
    int64_t along[3], first; /* first: the number of the level's first node */
    int64_t shape[3];        /* points */
    double half[3];          /* of a node's edges, from point to point */
    double radius;           /* half its diagonal */
} level;

enum { MOST_LEVELS = 64 };

/* A waiting node, with a lower bound of its energy. */
typedef struct waiting {
    double bound;
    int64_t number;
} waiting;

typedef struct cell_state {
    vf_isa isa;
    bool begun; /* the bounds are set */
    ion_cells grid;
    cell *cells;
    int levels;
    level level[MOST_LEVELS];
    int64_t count;    /* number of nodes */
    node *nodes;      /* [count], level after level */
    double map_error; /* relative to magnitude */
    vf_coulomb *sums; /* of the atoms, in double precision, on the CPU */
    vf_queue *queue;
    waiting *heap; /* [count] the lowest bound first; the visited cells fill it from the end */
    int64_t waits, visited;
} cell_state;

/* ---- ion_search_bounds_isa.inc ---- */

/* Adds ions [first, ions->count) to the bounds of a node of level l with its middle at `at`. `square`: 1/r^2. */
typedef void ion_bound_ions(const ion_sources *ions, int64_t first, const level *l, const double at[3], double r_min,
                            bool square, node *b);
extern ion_bound_ions ion_bound_ions_baseline, ion_bound_ions_avx2, ion_bound_ions_avx512;

/* ---- ion_search_bounds.c ---- */

/* The index in the grid of the first point of row (j, k) of a box; j and k count from the box's first row. */
int64_t ion_row_start(const vf_grid *grid, const vf_box *box, int64_t j, int64_t k);

/* Makes the levels over a grid's cells. Returns the number of nodes. */
int64_t ion_cells_levels(const vf_grid *grid, cell_state *state);

/* Prepares all cells for the first search. Call it after atoms have excluded their points. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status ion_cells_begin(vf_ion_search *search, cell_state *state);

/* Adds the ions that a node does not know to its bounds. */
void ion_node_update(const vf_ion_search *search, cell_state *state, int64_t number);

/* Updates the parts of a node, and computes its bounds from theirs. Not for cells. */
void ion_node_open(const vf_ion_search *search, cell_state *state, int64_t number);

/* The parts of a node, as a box of nodes in the level below, *below. */
vf_box ion_node_parts(const cell_state *state, int64_t number, const level **below);
static inline int64_t ion_node_number(const level *l, int64_t i, int64_t j, int64_t k)
{
    return l->first + (k * l->along[1] + j) * l->along[0] + i;
}

/* Visits a cell: its bounds become accurate to the map's error, or, if `exactly`, exact. The node must know all
 * ions. */
VF_MUST_CHECK vf_status ion_cell_visit(const vf_ion_search *search, cell_state *state, int64_t number, bool exactly);

/* The error of the values of a visited cell. */
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
