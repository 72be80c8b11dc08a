/* Voxfield - reductions of arrays in device memory: sums, dot products, norms, minimum and maximum with their index.
 *
 * All arrays are VF_SPACE_DEVICE memory of the queue's device, aligned at least to their elements. Lengths are 64-bit;
 * 0 is allowed. On one device, the same input always gives the same bits, for any number of threads: the order in which
 * elements are combined depends only on n. The reductions here commute, so they use the fastest order. The internal
 * templates (vf_reduce_rows in libcore/src/reduce/reduce.cuh, vf_reduce_in_chunks in reduce_internal.h) take any
 * associative operator with an identity, commutative or not: they regroup elements and never reorder them.
 *
 * Sums of floating-point numbers are accumulated in double precision, of integers in 64 bits (they wrap). NaN is never
 * lost: a sum with a NaN is NaN, and the minimum and maximum of values with a NaN are the first NaN. Of equal extremes
 * the first counts. -0 equals 0.
 *
 * Source: Sengupta, Harris and Garland, NVIDIA Technical Report NVR-2008-003 (grouping); Brown, PhD thesis, University
 * of North Carolina (2015) (data access skeletons; see libcore/src/backend/access.cuh).
 */
#ifndef VOXFIELD_REDUCE_H
#define VOXFIELD_REDUCE_H

#include <stdint.h>

#include "voxfield/device.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum vf_reduction {
    VF_REDUCE_SUM,     /* sum x_i */
    VF_REDUCE_DOT,     /* sum conj(x_i) y_i */
    VF_REDUCE_SQUARES, /* sum |x_i|^2 */
    VF_REDUCE_MIN,     /* the minimum x_i and its index; real types and integers */
    VF_REDUCE_MAX      /* the maximum */
} vf_reduction;

/* A result. Fields that do not apply are 0. For an empty array, sums are 0 and index is -1. */
typedef struct vf_reduced {
    double re, im;   /* sums of floating-point numbers (im: of complex ones, VF_REDUCE_DOT); extremes of them */
    int64_t integer; /* sums and extremes of integers */
    int64_t index;   /* of an extreme */
} vf_reduced;

typedef struct vf_reduce vf_reduce;

/* Makes a plan with the scratch memory for arrays of up to `most` elements (INT64_MAX: any length). Types: all of
 * vf_dtype, except complex ones for MIN and MAX, and integers for DOT and SQUARES. Errors: VF_ERR_ARGUMENT (invalid
 * reduction or type; a length that is negative or exceeds any memory), VF_ERR_MEMORY, VF_ERR_DEVICE_MEMORY. */
VF_MUST_CHECK vf_status vf_reduce_create(vf_device *device, vf_reduction reduction, vf_dtype type, int64_t most,
                                         vf_reduce **out);
void vf_reduce_destroy(vf_reduce *plan); /* NULL is allowed; work in queues must be done */

/* Puts the reduction of x [n] (DOT: and y [n]; else y is NULL) into the queue. `result`: VF_SPACE_DEVICE memory; later
 * work in the queue may read it. One queue at a time may use a plan. Errors: VF_ERR_ARGUMENT (n > most, a
 * pointer is NULL). */
VF_MUST_CHECK vf_status vf_reduce_execute(const vf_reduce *plan, vf_queue *queue, int64_t n, const void *x,
                                          const void *y, vf_reduced *result);

/* The same, but waits; the result is in host memory. */
VF_MUST_CHECK vf_status vf_reduce_now(const vf_reduce *plan, vf_queue *queue, int64_t n, const void *x, const void *y,
                                      vf_reduced *result);

#ifdef __cplusplus
}
#endif
#endif
