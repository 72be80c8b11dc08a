/* The parts of a sum at scattered points; not installed. */
#ifndef VOXFIELD_POINT_SUM_INTERNAL_H
#define VOXFIELD_POINT_SUM_INTERNAL_H

#include "point_sum.h"
#include "point_sum_simd.h"

/* ---- point_sum_near.c: charges in bins ---- */

typedef struct point_near {
    point_law law[2];
    int laws;
    double reach, lo[3], edge; /* of the bins, and the largest cutoff */
    int64_t bins[3], count;    /* charges and images */
    int64_t *first;            /* [bins + 1] */
    double *data;              /* x, y, z and charge, each [count + POINT_PADDING] */
    const point_simd *simd;
} point_near;

/* Sorts the charges, and images, within reach of the box lo to hi. The laws are to be set before. point_near_free is
 * always allowed. */
VF_MUST_CHECK vf_status point_near_make(vf_context *ctx, const vf_cell *cell, const vf_coulomb_atoms *charges,
                                        const double lo[3], const double hi[3], point_near *near);
void point_near_free(point_near *near);

/* Adds V, and the field, of the near charges at a point of the box. */
void point_near_add(const point_near *near, const double at[3], bool fields, double out[4]);

/* ---- point_sum_fast.c ---- */

typedef struct point_fast point_fast;

/* *out is NULL if the direct sum is cheaper. Errors: as vf_point_sum_create. */
VF_MUST_CHECK vf_status point_fast_create(vf_context *ctx, const vf_coulomb_atoms *charges,
                                          const vf_point_options *options, const vf_point_list *typical,
                                          double expected, point_fast **out);
void point_fast_destroy(point_fast *fast);
void point_fast_info(const point_fast *fast, vf_point_info *info);

/* out = V, and the field. False: the point is outside. */
bool point_fast_at(const point_fast *fast, const double r[3], bool fields, double out[4]);

/* ---- point_sum.c ---- */

/* The exact sums without exclusions. fields may be NULL. */
VF_MUST_CHECK vf_status point_sum_exactly(vf_context *ctx, const vf_coulomb_atoms *charges,
                                          const vf_point_options *options, int64_t count, const double *points,
                                          double *values, double *fields);

/* Takes the excluded charges of point n away. */
void point_sum_exclude(const vf_coulomb_atoms *charges, const vf_point_options *options, const vf_point_list *list,
                       int64_t n, double *value, double *field);

#endif
