/* Voxfield - gradients of image series and soft thresholds of vector fields: the parts of total variation priors.
 *
 * TV (Rudin, Osher and Fatemi, Physica D 60 (1992) 259) penalises sum_i |(D x)(i)|, second-order TGV (Bredies, Kunisch
 * and Pock, SIAM J. Imaging Sci. 3 (2010) 492) penalises a1 sum_i |(D x - v)(i)| + a0 sum_i |(E v)(i)|, with the
 * gradient D and the symmetrised gradient E below. Solvers need D, E, their adjoints, the norm, and its proximal map.
 *
 * Arrays are complex, VF_C64 or VF_C128, in VF_SPACE_DEVICE memory of the queue's device. An image series is
 * [frame][z][y][x]; counts[4] are its extents along x, y, z, frame, each at least 1. `axes` has a bit for each axis to
 * differentiate along, at least one; d is their number and a_1 < ... < a_d are the axes. A vector field is
 * [d][frame][z][y][x]. Inputs and outputs are distinct unless stated otherwise. Work is asynchronous on a GPU, blocking
 * on the CPU. Errors of all functions: VF_ERR_ARGUMENT.
 */
#ifndef VOXFIELD_DIFFERENCES_H
#define VOXFIELD_DIFFERENCES_H

#include "voxfield/device.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { VF_ALONG_X = 1, VF_ALONG_Y = 2, VF_ALONG_Z = 4, VF_ALONG_FRAMES = 8 };

/* The number of components of D x and of E v, d and d (d + 1) / 2; 0 for a mask that is not supported. */
int vf_differences_components(unsigned axes);
int vf_symmetric_gradient_components(unsigned axes);

/* y = D x: y_k(n) = x(n + e) - x(n) with e one step along axis a_k; 0 where n + e is outside. */
VF_MUST_CHECK vf_status vf_differences_forward(vf_queue *queue, vf_dtype type, const int64_t counts[4], unsigned axes,
                                               const void *x, void *y);

/* x = D^H y. */
VF_MUST_CHECK vf_status vf_differences_adjoint(vf_queue *queue, vf_dtype type, const int64_t counts[4], unsigned axes,
                                               const void *y, void *x);

/* w = E v with backward differences (B_k u)(n) = u(n) - u(n - e), 0 where n - e is outside. The components of w are
 *
 *     B_k v_k                     for k = 1 ... d, and then
 *     (B_l v_k + B_k v_l) / 2     for all k < l, in the order (1,2), (1,3), ..., (1,d), (2,3), ...
 *
 * w is a symmetric matrix at each point, so the last d (d - 1) / 2 components count twice in its norm: the weights of
 * vf_group_norm are 1 for the first d components and 2 for the others. */
VF_MUST_CHECK vf_status vf_symmetric_gradient_forward(vf_queue *queue, vf_dtype type, const int64_t counts[4],
                                                      unsigned axes, const void *v, void *w);

/* v = E^H w, with respect to the plain inner products of the stored components: sum conj(w) (E v) = sum conj(E^H w) v,
 * without weights. */
VF_MUST_CHECK vf_status vf_symmetric_gradient_adjoint(vf_queue *queue, vf_dtype type, const int64_t counts[4],
                                                      unsigned axes, const void *w, void *v);

enum { VF_MOST_GROUPS = 16 };

/* z_g(i) = v_g(i) max(0, 1 - threshold / r(i)), r(i) = sqrt(sum_g w_g |v_g(i)|^2); 0 where r(i) = 0. `v`, `z`:
 * [groups][n], 1 to VF_MOST_GROUPS groups, n >= 0; z may be v. `weights`: [groups] in host memory, positive; NULL: 1.
 * threshold >= 0. r and the factor are in double precision (single on OpenCL
 * devices without it, on numbers scaled to about 1); squares must be within its range.
 *
 * For any positive weights, z minimises
 *     threshold sum_i r_z(i) + 1/2 sum_i sum_g w_g |z_g(i) - v_g(i)|^2:
 * it is the proximal map of the norm in the inner product that has the same weights. Without weights this is the plain
 * inner product. One group: the complex soft threshold. A NaN makes all groups NaN at that i. */
VF_MUST_CHECK vf_status vf_group_soft(vf_queue *queue, vf_dtype type, int groups, int64_t n, const double *weights,
                                      double threshold, const void *v, void *z);

/* *sum = sum_i r(i), in host memory. Waits for the queue. The sum is in double precision, with the same bits for any
 * number of threads. Further errors: VF_ERR_MEMORY, VF_ERR_DEVICE_MEMORY. */
VF_MUST_CHECK vf_status vf_group_norm(vf_queue *queue, vf_dtype type, int groups, int64_t n, const double *weights,
                                      const void *v, double *sum);

#ifdef __cplusplus
}
#endif
#endif
