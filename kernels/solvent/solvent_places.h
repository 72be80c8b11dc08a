/* Points, faces and cells of a plan's grid, whose axes are periodic if it has a cell; not installed. */
#ifndef VOXFIELD_SOLVENT_PLACES_H
#define VOXFIELD_SOLVENT_PLACES_H

#include <math.h>

#include "solvent_internal.h"

static inline bool solvent_is_periodic(const vf_solvent *plan)
{
    return plan->grid.cell.kind != VF_CELL_NONE;
}

/* How many faces there are along an axis (stencil.h). */
static inline int64_t solvent_faces(const vf_solvent *plan, int axis)
{
    return plan->grid.counts[axis] + (solvent_is_periodic(plan) ? 0 : 1);
}

/* An index along an axis, from -n to 2 n - 1, as one from 0 to n - 1; -1: outside. */
static inline int64_t solvent_wrap(const vf_solvent *plan, int axis, int64_t index)
{
    const int64_t n = plan->grid.counts[axis];
    if (index >= 0 && index < n)
        return index;
    return !solvent_is_periodic(plan) ? -1 : index < 0 ? index + n : index - n;
}

static inline int64_t solvent_number(const vf_solvent *plan, const int64_t index[3])
{
    return (index[2] * plan->grid.counts[1] + index[1]) * plan->grid.counts[0] + index[0];
}

static inline void solvent_index(const vf_solvent *plan, int64_t n, int64_t index[3])
{
    index[0] = n % plan->grid.counts[0];
    index[1] = n / plan->grid.counts[0] % plan->grid.counts[1];
    index[2] = n / plan->grid.counts[0] / plan->grid.counts[1];
}

/* The number of the neighbour along an axis, -1: outside. */
static inline int64_t solvent_beside(const vf_solvent *plan, const int64_t index[3], int axis, bool up)
{
    int64_t next[3] = {index[0], index[1], index[2]};
    next[axis] = solvent_wrap(plan, axis, index[axis] + (up ? 1 : -1));
    return next[axis] < 0 ? -1 : solvent_number(plan, next);
}

/* The number of a point's face along an axis, in plan->faces[axis]. */
static inline int64_t solvent_face(const vf_solvent *plan, const int64_t index[3], int axis, bool up)
{
    int64_t m[3] = {plan->grid.counts[0], plan->grid.counts[1], plan->grid.counts[2]},
            at[3] = {index[0], index[1], index[2]};
    m[axis] = solvent_faces(plan, axis);
    at[axis] += up;
    at[axis] = at[axis] < m[axis] ? at[axis] : 0;
    return (at[2] * m[1] + at[1]) * m[0] + at[0];
}

/* The cell of the grid that a place lies in, by its first corner, and where in it, 0 to 1. Returns false outside of the grid. */
static inline bool solvent_find(const vf_solvent *plan, const double at[3], int64_t low[3], double part[3])
{
    for (int a = 0; a < 3; a++) {
        const int64_t n = plan->grid.counts[a], cells = n - (solvent_is_periodic(plan) ? 0 : 1);
        double place = (at[a] - plan->grid.origin[a]) / plan->grid.spacing[a];
        if (solvent_is_periodic(plan))
            place -= (double)n * floor(place / (double)n);
        if (!(place >= 0 && place <= (double)cells) || cells < 1)
            return false;
        low[a] = (int64_t)place < cells ? (int64_t)place : cells - 1;
        part[a] = place - (double)low[a];
    }
    return true;
}

/* A corner of a cell, of which bit a says whether it is the upper one along axis a. */
static inline void solvent_corner(const vf_solvent *plan, const int64_t low[3], int corner, int64_t index[3])
{
    for (int a = 0; a < 3; a++)
        index[a] = solvent_wrap(plan, a, low[a] + (corner >> a & 1));
}

#endif
