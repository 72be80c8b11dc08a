/* Voxfield - reductions of arrays in device memory: sums, products, dot products, norms, minimum and maximum with
 * their index, bitwise and and or.
 *
 * All arrays are VF_SPACE_DEVICE memory of the queue's device, aligned at least to their elements. Lengths are 64-bit;
 * 0 is allowed. On one device, the same input always gives the same bits, for any number of threads: the order in which
 * elements are combined depends only on n. The reductions of vf_reduction commute, so they use the fastest order. Other
 * associative operators with an identity: vf_reduce_by.
 *
 * Sums and products of floating-point numbers are accumulated in double precision, of integers in 64 bits (they wrap).
 * NaN is never lost: a sum or product with a NaN is NaN, and the minimum and maximum of values with a NaN are the first
 * NaN. Of equal extremes the first counts. -0 equals 0. A product is that of the products of groups of elements; if one
 * of these leaves the range of double precision, so may the result (0, infinity or NaN). Complex numbers are multiplied
 * as (a + bi)(c + di) = (ac - bd) + (ad + bc)i; with an infinite factor the product is not finite.
 *
 * The result for an empty array is the identity: 0 for sums, 1 for products, all bits set (of the type) for and, 0 for
 * or, and index -1 for extremes.
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
VF_API_BEGIN

typedef enum vf_reduction {
    VF_REDUCE_SUM,     /* sum x_i */
    VF_REDUCE_DOT,     /* sum conj(x_i) y_i */
    VF_REDUCE_SQUARES, /* sum |x_i|^2 */
    VF_REDUCE_MIN,     /* the minimum x_i and its index; real types and integers */
    VF_REDUCE_MAX,     /* the maximum */
    VF_REDUCE_PRODUCT, /* product x_i */
    VF_REDUCE_AND,     /* the bits set in all x_i; integers */
    VF_REDUCE_OR       /* the bits set in any x_i; integers */
} vf_reduction;

/* A result. Fields that do not apply are 0. */
typedef struct vf_reduced {
    double re, im;   /* sums and products of floating-point numbers (im: of complex ones); extremes of them */
    int64_t integer; /* of integers; VF_U8 is extended by zeros, VF_I32 by its sign */
    int64_t index;   /* of an extreme */
} vf_reduced;

typedef struct vf_reduce vf_reduce;

/* Makes a plan with the scratch memory for arrays of up to `most` elements (INT64_MAX: any length). Types: all of
 * vf_dtype, except complex ones for MIN and MAX, integers for DOT and SQUARES, and all but integers for AND and OR. Errors: VF_ERR_ARGUMENT (invalid
 * reduction or type; a length that is negative or exceeds any memory), VF_ERR_MEMORY, VF_ERR_DEVICE_MEMORY. */
VF_MUST_CHECK vf_status vf_reduce_create(vf_device *device, vf_reduction reduction, vf_dtype type, int64_t most,
                                         vf_reduce **out);
void vf_reduce_destroy(vf_reduce *plan); /* NULL is allowed; work in queues must be done */

/* Puts the reduction of x [n] (DOT: and y [n]; else y is NULL) into the queue; an OpenCL device waits for the result.
 * `result`: VF_SPACE_DEVICE memory; later work in the queue may read it. One queue at a time may use a plan. Errors: VF_ERR_ARGUMENT (n > most, a
 * pointer is NULL). */
VF_MUST_CHECK vf_status vf_reduce_execute(const vf_reduce *plan, vf_queue *queue, int64_t n, const void *x,
                                          const void *y, vf_reduced *result);

/* The same, but waits; the result is in host memory. */
VF_MUST_CHECK vf_status vf_reduce_now(const vf_reduce *plan, vf_queue *queue, int64_t n, const void *x, const void *y,
                                      vf_reduced *result);

/* ---- segments ---- */

/* Reductions of consecutive parts of an array: segment s is [offsets[s], offsets[s + 1]). Segments may have any lengths: the
 * work is divided by elements, so a long one beside many short ones is as fast as equal ones. Bits depend only on n and
 * the offsets, and differ from those of vf_reduce_execute. */
typedef struct vf_reduce_segments vf_reduce_segments;

/* A plan for arrays of up to `most` elements. Reductions: SUM, PRODUCT, MIN and MAX, of VF_F32, VF_F64, VF_I32 and VF_I64.
 * Errors as vf_reduce_create; any length is not possible. */
VF_MUST_CHECK vf_status vf_reduce_segments_create(vf_device *device, vf_reduction reduction, vf_dtype type,
                                                  int64_t most, vf_reduce_segments **out);
void vf_reduce_segments_destroy(vf_reduce_segments *plan); /* NULL is allowed; work in queues must be done */

/* Puts the reductions of the segments of x [n] into the queue. offsets [segments + 1] ascend from 0 to n (not checked);
 * an empty segment has the identity; the index of an extreme counts from the start of x. x, offsets and results
 * [segments] are VF_SPACE_DEVICE memory. One queue at a time may use a plan. Errors: VF_ERR_ARGUMENT (n > most, segments
 * negative or 0 for n > 0, a pointer is NULL). */
VF_MUST_CHECK vf_status vf_reduce_segments_execute(const vf_reduce_segments *plan, vf_queue *queue, int64_t n,
                                                   const void *x, int64_t segments, const int64_t *offsets,
                                                   vf_reduced *results);

/* ---- operators of the caller's own, on a CPU ---- */

enum { VF_MOST_STATE = 64 };

/* An associative operator with an identity, as C functions; it need not commute. Elements become states, which are plain
 * bytes; the functions get them aligned to 16 bytes, elements as they are in x. Several threads call the functions at once;
 * `user` is passed on. */
typedef struct vf_monoid {
    size_t element_bytes; /* at least 1 */
    size_t state_bytes;   /* 1 to VF_MOST_STATE */
    void (*identity)(const void *user, void *state);
    void (*start)(const void *user, const void *element, void *state); /* *state = that of an element */
    void (*combine)(const void *user, void *state, const void *next);  /* *state = *state, then *next */
    const void *user;
} vf_monoid;

/* *state = the elements of x [n], combined in order; the identity if n is 0. Elements are regrouped, never reordered, in a
 * way that depends only on n: the same bits for any number of threads. x and state are memory of the host, which is the
 * queue's device. Done when the call returns. For GPUs there are internal templates (vf_reduce_rows in
 * libcore/src/reduce/reduce.cuh). Errors: VF_ERR_ARGUMENT (a size, n, NULL), VF_ERR_UNSUPPORTED (a GPU's queue). */
VF_MUST_CHECK vf_status vf_reduce_by(vf_queue *queue, const vf_monoid *op, int64_t n, const void *x, void *state);

VF_API_END
#ifdef __cplusplus
}
#endif
#endif
