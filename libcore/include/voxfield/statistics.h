/* Voxfield - statistics of arrays in host memory: reductions, quantiles, sorting.
 *
 * Computed on the CPU with the context's threads, whatever the context's devices.
 */
#ifndef VOXFIELD_STATISTICS_H
#define VOXFIELD_STATISTICS_H

#include <stdint.h>

#include "voxfield/reduce.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A reduction of reduce.h, of x [n] and, for VF_REDUCE_DOT, y [n]; else y is NULL. Errors: VF_ERR_ARGUMENT,
 * VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status vf_host_reduce(vf_context *ctx, vf_reduction reduction, vf_dtype type, int64_t n, const void *x,
                                       const void *y, vf_reduced *result);

/* The exact quantile `q` in [0, 1] of x [n]: the value with index floor(q (n - 1)) in ascending order; 0 if n is 0.
 * Does not change x. Errors: VF_ERR_ARGUMENT (`q` outside [0, 1] or NaN; a NaN or infinite value), VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status vf_host_quantile(vf_context *ctx, int64_t n, const float *x, double q, float *value);

/* Sorts x [n] in ascending order. No value may be NaN. */
void vf_host_sort(int64_t n, double *x);

/* x[rank] of x [n] in ascending order, 0 <= rank < n; changes the order of x. In a time that grows as n. No value may be
 * NaN. */
double vf_host_select(int64_t n, double *x, int64_t rank);

#ifdef __cplusplus
}
#endif
#endif
