/* Voxfield - circulant matrices on a grid: multiplication by a real function of frequency.
 *
 *     y(n) = 1/N sum_k m(k) exp(+i 2 pi k.n / N) sum_n' x(n') exp(-i 2 pi k.n' / N)
 *
 * N is the number of voxels along each axis; in the factor 1/N it is the number of all voxels. m are the eigenvalues of
 * the matrix. Examples are the regularisation by an image's spectrum, and the preconditioner of a Toeplitz matrix
 * (Chan, SIAM J. Sci. Stat. Comput. 9 (1988) 766). Vectors are complex, interleaved, [z][y][x]. It uses libcore's
 * transforms, so it runs on every device that has them.
 */
#ifndef VOXFIELD_CIRCULANT_H
#define VOXFIELD_CIRCULANT_H

#include "voxfield/device.h"

#ifdef __cplusplus
extern "C" {
#endif
VF_API_BEGIN

typedef struct vf_circulant vf_circulant;

/* Makes a plan for `count` >= 1 matrices on `matrix` voxels along x, y, z; all matrices are 0 at first. Vectors are
 * complex, of `precision` (VF_F32, VF_F64). The plan holds one vector, and half of one for each matrix. Errors:
 * VF_ERR_ARGUMENT, VF_ERR_MEMORY, VF_ERR_DEVICE_MEMORY, VF_ERR_DEVICE, VF_ERR_UNSUPPORTED (no cuFFT); *out is NULL
 * then. */
VF_MUST_CHECK vf_status vf_circulant_create(vf_device *device, const int64_t matrix[3], vf_dtype precision, int count,
                                            vf_circulant **out);
void vf_circulant_destroy(vf_circulant *plan); /* NULL is allowed; work in the queue must be done */

/* Sets matrix number `which`. `m`: [z][y][x] in host memory; index n of an axis is frequency k = n - N/2 (integer
 * division). Blocking. Errors: VF_ERR_ARGUMENT (invalid index; a value that is NaN, infinite or too large for the
 * precision), VF_ERR_MEMORY, VF_ERR_DEVICE. */
VF_MUST_CHECK vf_status vf_circulant_set(vf_circulant *plan, vf_queue *queue, int which, const double *m);

/* y = a M x + b y with real a and b. `x` and `y`: VF_SPACE_DEVICE. If b = 0, y is not read, and may be x. Asynchronous
 * on a GPU, blocking on the CPU with the context's threads. One queue at a time may use a plan. The same input gives
 * the same bits. Errors: VF_ERR_ARGUMENT, VF_ERR_DEVICE, VF_ERR_CANCELLED (CPU only). */
VF_MUST_CHECK vf_status vf_circulant_apply(vf_circulant *plan, vf_queue *queue, int which, double a, const void *x,
                                           double b, void *y);

VF_API_END
#ifdef __cplusplus
}
#endif
#endif
