/* The Coulomb sum of coulomb_sum.h at single points instead of grids, in double precision on the CPU: for the ions of a
 * search, to measure the error of maps, and for the sums of point_sum.h. Not installed. */
#ifndef VOXFIELD_COULOMB_POINTS_H
#define VOXFIELD_COULOMB_POINTS_H

#include "coulomb_sum.h"

/* sum_i q_i / max(r, r_min), or with `square` sum_i q_i / max(r, r_min)^2, r the distance of atom i from `at`. The bits
 * depend on the CPU's instruction set, not on the number of threads. */
double vf_coulomb_point(const vf_context *ctx, const vf_coulomb_atoms *atoms, const double at[3], double r_min,
                        bool square);

/* values[n] = C times the same at points[n], [count][3], by the context's threads; and the electric field -grad V,
 * electric [count][3], NULL: not wanted. The field of a charge is 0 within r_min of it. The options' precision and
 * variant do not matter. A point's value does not depend on the other points, nor on the threads. Errors:
 * VF_ERR_CANCELLED. */
VF_MUST_CHECK vf_status vf_coulomb_points(vf_context *ctx, const vf_coulomb_atoms *atoms,
                                          const vf_coulomb_options *options, int64_t count, const double *points,
                                          double *values, double *electric);

/* ---- for one instruction set: atoms [first, first + count) ---- */

typedef double coulomb_point_sum(const vf_coulomb_atoms *atoms, int64_t first, int64_t count, const double at[3],
                                 double r_min, bool square);
extern coulomb_point_sum coulomb_point_baseline, coulomb_point_avx2, coulomb_point_avx512;

/* At a group of points: x of all, y of all, z of all. Adds to the sums: the potentials of all, then the fields along x,
 * y and z if `fields`. */
enum { COULOMB_POINTS_GROUP = 16 };
typedef void coulomb_group_sum(const vf_coulomb_atoms *atoms, int64_t first, int64_t count, double r_min, bool square,
                               bool fields, const double *points, double *sums);
extern coulomb_group_sum coulomb_group_baseline, coulomb_group_avx2, coulomb_group_avx512;

#endif
