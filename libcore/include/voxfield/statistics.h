/* Voxfield - figures of arrays in host memory: reductions and quantiles.
 *
 * They are taken on the CPU with the context's threads, whatever the context's devices are.
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

/* The value that the share `q`, 0 to 1, of x [n] lies at or below: of the values in ascending order the one with index
 * floor(q (n - 1)), exactly; 0 if there are none. The values stay as they are. Errors: VF_ERR_ARGUMENT (`q` is
 * beyond 0 and 1 or NaN, one of the values is not finite), VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status vf_host_quantile(vf_context *ctx, int64_t n, const float *x, double q, float *value);

#ifdef __cplusplus
}
#endif
#endif
