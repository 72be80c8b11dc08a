/* The cells of the search for ions' places, between ion_search_cells.c (which of them to look at) and
 * ion_search_bounds.c (what one of them holds); not installed. */
#ifndef VOXFIELD_ION_SEARCH_CELLS_H
#define VOXFIELD_ION_SEARCH_CELLS_H

#include <math.h>

#include "ion_search_internal.h"

typedef struct cell {
    double *values;  /* [z][y][x] of its box, in double precision; NULL: not looked at yet */
    bool summed;     /* the values are good to EXACT_ERROR, not only to the map's */
    int64_t applied; /* ions that are in `values` */
    int64_t seen;    /* ions when the bounds were made exact; -1: never */
} cell;

/* Over a cell's free points. Without any low = INFINITY, high = -INFINITY. */
typedef struct bounds {
    /* Of the potential without what follows: low <= the least <= low_top, high_bottom <= the greatest <= high. */
    double low, low_top, high, high_bottom;
    /* Ions' since then: at the middle, its gradient, and how far the rest can be off. */
    double middle, gradient[3], rest;
    double magnitude; /* bound of C sum |q|/r over atoms and ions */
} bounds;

typedef struct cell_state {
    bool begun; /* the bounds are there */
    ion_cells grid;
    cell *cells;
    bounds *bounds;   /* [count] */
    double largest;   /* of magnitude */
    double map_error; /* relative to magnitude */
    vf_coulomb *sums; /* the atoms', in double precision, on the CPU */
    vf_queue *queue;
    int64_t *heap; /* [count] cells that wait, the one of the least bound first */
} cell_state;

/* Loops over fewer cells than this stay on one thread. */
enum { PARALLEL_FROM = 4096 };

/* ---- ion_search_bounds.c ---- */

/* The first point of row (j, k) of a box in the grid's order, j and k counted from the box's first. */
int64_t ion_row_start(const vf_grid *grid, const vf_box *box, int64_t j, int64_t k);

/* What must be known of all cells before the first ion, when all is excluded that atoms exclude. Errors: VF_ERR_MEMORY.
 */
VF_MUST_CHECK vf_status ion_cells_begin(vf_ion_search *search, cell_state *state);

/* Moves the bounds of all cells for the last ion. */
void ion_cells_add(vf_ion_search *search, cell_state *state);

/* Looks at a cell: its bounds become exact, or, the first time, good to the map's error. */
VF_MUST_CHECK vf_status ion_cell_visit(const vf_ion_search *search, cell_state *state, int64_t number);

/* How far ions' potential can be from that at the middle. */
static inline double spread(const cell_state *state, const bounds *b)
{
    const double *half = state->grid.half;
    return fabs(b->gradient[0]) * half[0] + fabs(b->gradient[1]) * half[1] + fabs(b->gradient[2]) * half[2] + b->rest;
}

/* The least energy that a cell can have, and one that it has or undercuts. */
static inline double lower_bound(const cell_state *state, int64_t n, double charge)
{
    const bounds *b = &state->bounds[n];
    if (b->low > b->high)
        return INFINITY;
    return charge * (b->middle + (charge > 0 ? b->low - spread(state, b) : b->high + spread(state, b)));
}
static inline double upper_bound(const cell_state *state, int64_t n, double charge)
{
    const bounds *b = &state->bounds[n];
    if (b->low > b->high)
        return INFINITY;
    return charge * (b->middle + (charge > 0 ? b->low_top + spread(state, b) : b->high_bottom - spread(state, b)));
}

#endif
