/* The Coulomb sum of coulomb_sum.h at single points instead of grids, in double precision on the CPU: for the ions of a
 * search, and to measure the error of maps. Not installed. */
#ifndef VOXFIELD_COULOMB_POINTS_H
#define VOXFIELD_COULOMB_POINTS_H

#include "coulomb_sum.h"

/* sum_i q_i / max(r, r_min), or with `square` sum_i q_i / max(r, r_min)^2, r the distance of atom i from `at`. The bits
 * depend on the CPU's instruction set, not on `threads`. */
double vf_coulomb_point(const vf_coulomb_atoms *atoms, const double at[3], double r_min, bool square, int threads);

/* values[n] = C times the same at points[n], [count][3], by the context's threads. The options' precision and variant
 * do not matter. Errors: VF_ERR_CANCELLED. */
VF_MUST_CHECK vf_status vf_coulomb_points(vf_context *ctx, const vf_coulomb_atoms *atoms,
                                          const vf_coulomb_options *options, int64_t count, const double *points,
                                          double *values);

/* ---- for one instruction set: atoms [first, first + count) ---- */

typedef double coulomb_point_sum(const vf_coulomb_atoms *atoms, int64_t first, int64_t count, const double at[3],
                                 double r_min, bool square);
extern coulomb_point_sum coulomb_point_baseline, coulomb_point_avx2, coulomb_point_avx512;

#endif
