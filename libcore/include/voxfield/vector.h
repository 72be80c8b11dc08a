/* Voxfield - vectors of real or complex numbers in device memory, for iterative solvers.
 *
 * Elements are real, `type` VF_F32 or VF_F64, or complex, interleaved {re, im}, VF_C64 or VF_C128; `n` counts elements.
 * All vectors of an operation have that type, unless stated otherwise. All pointers are VF_SPACE_DEVICE memory of the
 * queue's device. Operations are asynchronous on a GPU; on the CPU they run at once with the context's threads.
 * Operations that return a number are blocking. Sums are accumulated in double precision, in an order that depends only
 * on n and the type, so the same input gives the same bits, for any number of threads. Errors: VF_ERR_ARGUMENT
 * (unsupported type, negative length, NULL pointer).
 */
#ifndef VOXFIELD_VECTOR_H
#define VOXFIELD_VECTOR_H

#include <stdint.h>

#include "voxfield/device.h"

#ifdef __cplusplus
extern "C" {
#endif
VF_API_BEGIN

/* y_i = a x_i + b y_i, a and b real; x may be y. With b = 0, y is not read. */
VF_MUST_CHECK vf_status vf_vector_axpby(vf_queue *queue, vf_dtype type, int64_t n, double a, const void *x, double b,
                                        void *y);

/* z_i += conj(x_i) y_i; z is neither x nor y. The conjugate of a real number is the number itself. */
VF_MUST_CHECK vf_status vf_vector_multiply_add(vf_queue *queue, vf_dtype type, int64_t n, const void *x, const void *y,
                                               void *z);

/* y_i = conj(x_i), exact; y is not x. Real vectors are copied. In complex vectors, infinite parts become NaN. */
VF_MUST_CHECK vf_status vf_vector_conjugate(vf_queue *queue, vf_dtype type, int64_t n, const void *x, void *y);

/* y_i = x_i w_i; w is real, of the type's precision; y may be x. */
VF_MUST_CHECK vf_status vf_vector_scale_by(vf_queue *queue, vf_dtype type, int64_t n, const void *w, const void *x,
                                           void *y);

/* result = sum_i conj(x_i) y_i as {re, im}, im = 0 for real vectors; blocking. */
VF_MUST_CHECK vf_status vf_vector_dot(vf_queue *queue, vf_dtype type, int64_t n, const void *x, const void *y,
                                      double result[2]);

/* A step of conjugate gradients: x += a p, r -= a q, then *squares = sum |r_i|^2. The four vectors are distinct.
 * Blocking. */
VF_MUST_CHECK vf_status vf_vector_cg_step(vf_queue *queue, vf_dtype type, int64_t n, double a, const void *p,
                                          const void *q, void *x, void *r, double *squares);

VF_API_END
#ifdef __cplusplus
}
#endif
#endif
