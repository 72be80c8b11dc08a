/* Virtual coils of their own at each position along complete Cartesian lines (geometric_coils.c). */
#ifndef GEOMETRIC_COILS_H
#define GEOMETRIC_COILS_H

#include "coil_covariance.h"
#include "scan/whole_lines.h"

/* "Position" n is the voxel n - length along the axis from the middle one, modulo the length. */
typedef struct geometric_coils {
    int coils;
    whole_lines lines;
    int64_t count;             /* lines in all frames */
    double complex *component; /* [position][component][coil]: orthonormal, the strongest first */
    double *values;    /* [component] the energy of each in all positions: of sums as coil_covariance.h has them */
    int64_t strongest; /* the position with the most signal */
    int keep;          /* of geometric_align */
    double complex *mixture; /* [position][keep][coil] */
    struct vf_fft_rows *rows;
} geometric_coils;

/* Finds the axis whose lines are complete in all trajectories, the first if there are several. *there: there is one, and
 * `count` is set; else `out` needs no freeing. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status geometric_find(vf_context *ctx, const mri_scan *raw, geometric_coils *out, bool *there);
/* Measures the components, after coil_covariance_make, which also checks for NaN. Bits do not depend on the number of
 * threads. Errors: VF_ERR_MEMORY, VF_ERR_CANCELLED. */
VF_MUST_CHECK vf_status geometric_measure(vf_context *ctx, mri_scan *raw, geometric_coils *g);
/* Turns the first `keep` components of each position so that they change as little as possible from one to the next. */
VF_MUST_CHECK vf_status geometric_align(vf_context *ctx, int keep, geometric_coils *g);
/* Replaces the coils by the `keep` components: of a frame's data, whose first `keep` rows they get, and of a set of maps
 * [coil][z][y][x], likewise. Errors: VF_ERR_MEMORY, VF_ERR_CANCELLED. */
VF_MUST_CHECK vf_status geometric_mix_frame(vf_context *ctx, const geometric_coils *g, const mri_scan *raw,
                                            const scan_frame *frame);
VF_MUST_CHECK vf_status geometric_mix_map(vf_context *ctx, const geometric_coils *g, const mri_scan *raw,
                                          float complex *map);
void geometric_free(geometric_coils *g);

#endif
