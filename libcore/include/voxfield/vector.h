/* Voxfield - vectors of real or complex numbers in device memory, for iterative solvers.
 *
 * Elements are of `type` VF_F32 or VF_F64, or complex, interleaved {re, im}, of VF_C64 or VF_C128; `n` counts elements.
 * All vectors of an operation are of that type, unless it says otherwise. All pointers are VF_SPACE_DEVICE memory of
 * the queue's device. Operations go into the queue (asynchronous on a GPU, at once with the context's threads on the
 * CPU) except those that return a number, which wait for it. Sums are accumulated in double precision in an order that
 * depends on n and the type alone, so the same input gives the same bits, whatever the number of threads. Errors:
 * VF_ERR_ARGUMENT (another type, a negative length, a pointer that is NULL).
 */
#ifndef VOXFIELD_VECTOR_H
#define VOXFIELD_VECTOR_H

#include <stdint.h>

#include "voxfield/device.h"

#ifdef __cplusplus
extern "C" {
#endif
VF_API_BEGIN

/* y_i = a x_i + b y_i, a and b real; x may be y; b = 0 does not read y. */
VF_MUST_CHECK vf_status vf_vector_axpby(vf_queue *queue, vf_dtype type, int64_t n, double a, const void *x, double b,
                                        void *y);

/* z_i += conj(x_i) y_i; z is neither x nor y. The conjugate of a real number is the number itself. */
VF_MUST_CHECK vf_status vf_vector_multiply_add(vf_queue *queue, vf_dtype type, int64_t n, const void *x, const void *y,
                                               void *z);

/* y_i = conj(x_i), rounded nowhere; y is not x. Of real vectors a copy; of complex ones infinite parts become NaN. */
VF_MUST_CHECK vf_status vf_vector_conjugate(vf_queue *queue, vf_dtype type, int64_t n, const void *x, void *y);

/* y_i = x_i w_i, w real of the type's precision; y may be x. */
VF_MUST_CHECK vf_status vf_vector_scale_by(vf_queue *queue, vf_dtype type, int64_t n, const void *w, const void *x,
                                           void *y);

/* result = sum_i conj(x_i) y_i as {re, im}, im = 0 for real vectors; blocking. */
VF_MUST_CHECK vf_status vf_vector_dot(vf_queue *queue, vf_dtype type, int64_t n, const void *x, const void *y,
                                      double result[2]);

/* A step of conjugate gradients: x += a p, r -= a q, and *squares = sum |r_i|^2 afterwards; the four are distinct.
 * Blocking. */
VF_MUST_CHECK vf_status vf_vector_cg_step(vf_queue *queue, vf_dtype type, int64_t n, double a, const void *p,
                                          const void *q, void *x, void *r, double *squares);

VF_API_END
#ifdef __cplusplus
}
#endif
#endif
