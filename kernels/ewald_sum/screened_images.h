/* Voxfield - the potential of a screened charge and its images in a cell:
 *
 *     g(d) = sum over images n of exp(-kappa |d + n|) / |d + n|,    kappa > 0
 *
 * By Ewald's split for such charges (Salin and Caillol, J. Chem. Phys. 113 (2000) 10459):
 *
 *     sum over n of [exp(-kappa r) erfc(alpha r - kappa / (2 alpha)) + exp(kappa r) erfc(alpha r + kappa / (2 alpha))] / (2 r),  r = |d + n|
 *     + 4 pi / V sum over k of exp(-(k^2 + kappa^2) / (4 alpha^2)) cos(k d) / (k^2 + kappa^2)
 *
 * Without a background: the ions of the salt that screens neutralise the charge. What the sums leave out is below 1e-11 of 1 over the edge of a
 * cube of the cell's volume. A value takes some microseconds, whatever kappa is.
 */
#ifndef VOXFIELD_SCREENED_IMAGES_H
#define VOXFIELD_SCREENED_IMAGES_H

#include "voxfield/context.h"
#include "voxfield/grid.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vf_screened_images vf_screened_images;

/* Within r_min (> 0) of an image, its potential is that at r_min, as everywhere (potential.h). Errors: VF_ERR_ARGUMENT (a cell that is not
 * valid, or of kind none; kappa or r_min that is not positive), VF_ERR_MEMORY. *out is NULL then. */
VF_MUST_CHECK vf_status vf_screened_images_create(vf_context *ctx, const vf_cell *cell, double kappa, double r_min,
                                                  vf_screened_images **out);
void vf_screened_images_destroy(vf_screened_images *plan); /* NULL is allowed */

/* g(d), as vf_pair_potential.value: `state` is a plan. */
double vf_screened_images_value(const void *state, const double d[3]);

#ifdef __cplusplus
}
#endif
#endif
