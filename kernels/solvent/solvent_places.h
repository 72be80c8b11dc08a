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

/* Brings an index into the grid. Returns false if it is outside, and there is no cell. */
static inline bool solvent_wrap(const vf_solvent *plan, int64_t index[3])
{
    const int64_t *n = plan->grid.counts;
    if (index[0] >= 0 && index[1] >= 0 && index[2] >= 0 && index[0] < n[0] && index[1] < n[1] && index[2] < n[2])
        return true;
    if (solvent_is_periodic(plan))
        vf_grid_wrap(n, plan->shear, index);
    return solvent_is_periodic(plan);
}

static inline bool solvent_is_sheared(const vf_solvent *plan)
{
    return plan->grid.cell.kind == VF_CELL_TRICLINIC;
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
    next[axis] += up ? 1 : -1;
    return solvent_wrap(plan, next) ? solvent_number(plan, next) : -1;
}

/* The number of a point's face along an axis, in plan->faces[axis]. */
static inline int64_t solvent_face(const vf_solvent *plan, const int64_t index[3], int axis, bool up)
{
    int64_t m[3] = {plan->grid.counts[0], plan->grid.counts[1], plan->grid.counts[2]},
            at[3] = {index[0], index[1], index[2]};
    m[axis] = solvent_faces(plan, axis);
    at[axis] += up;
    if (at[axis] == m[axis])
        (void)solvent_wrap(plan, at);
    return (at[2] * m[1] + at[1]) * m[0] + at[0];
}

/* The cell of the grid that a place lies in, by its first corner, and where in it, 0 to 1. Returns false outside of the grid. */
static inline bool solvent_find(const vf_solvent *plan, const double at[3], int64_t low[3], double part[3])
{
    for (int a = 0; a < 3; a++) {
        const double place = (at[a] - plan->grid.origin[a]) / plan->grid.spacing[a], most = 0x1p52;
        const double last = (double)(plan->grid.counts[a] - 1);
        const bool periodic = solvent_is_periodic(plan);
        if (periodic ? !(fabs(place) < most) : !(place >= 0 && place <= last && last >= 1))
            return false;
        low[a] = (int64_t)(periodic ? floor(place) : fmin(floor(place), last - 1));
        part[a] = place - (double)low[a];
    }
    return solvent_is_periodic(plan) ? solvent_wrap(plan, low) : true;
}

/* A corner of a cell, of which bit a says whether it is the upper one along axis a. */
static inline void solvent_corner(const vf_solvent *plan, const int64_t low[3], int corner, int64_t index[3])
{
    for (int a = 0; a < 3; a++)
        index[a] = low[a] + (corner >> a & 1);
    (void)solvent_wrap(plan, index);
}

#endif
