/* cionize: whether any of many places is near a point, with periodic images. Lengths in angstrom. */
#ifndef CIONIZE_NEAR_PLACES_H
#define CIONIZE_NEAR_PLACES_H

#include "voxfield/context.h"
#include "voxfield/grid.h"

typedef struct near_places near_places;

/* Sorts the places x, y, z [count] into bins. Only distances up to `reach` are asked for later. A cell (kind none: free
 * space) may be of any shape, and smaller than the reach. The arrays are copied. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status near_places_create(vf_context *ctx, const vf_cell *cell, int64_t count, const double *x,
                                           const double *y, const double *z, double reach, near_places **out);
void near_places_destroy(near_places *p); /* NULL is allowed */

/* Whether place i or one of its images is nearer to `at` than distance[i] (<= reach), for any i. */
bool near_places_any(const near_places *p, const double at[3], const double *distance);

#endif
