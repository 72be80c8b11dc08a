/* Voxfield - matrices that are diagonal in cosine transforms on a grid (DCT-II).
 *
 *     y(n) = sum_k d_k(n) m(k) sum_n' d_k(n') x(n'),    d_k(n) = prod_a sqrt((1 + [k_a > 0]) / N_a) cos(pi k_a (n_a + 1/2) / N_a)
 *
 * As preconditioners of Toeplitz matrices they suit symbols that vary much (Chan and Ng, SIAM Review 38 (1996) 427): a
 * circulant matrix joins opposite faces of the image, a cosine one mirrors the image at its faces, where it has no jumps. The
 * transforms are fast ones on the CPU and by CUDA, and on OpenCL devices products with dense matrices, 8 N_a real operations per
 * element and axis. Vectors are complex, interleaved, [z][y][x].
 */
#ifndef VOXFIELD_COSINE_H
#define VOXFIELD_COSINE_H

#include "voxfield/device.h"

typedef struct vf_cosine vf_cosine;

/* Makes a plan for a matrix on `counts` voxels along x, y, z, which is 0 at first. Vectors are complex, of `precision` (VF_F32,
 * VF_F64). The plan holds a vector and a half, and on the CPU room for each thread, by CUDA the working memory of a Fourier transform (fft.h);
 * by OpenCL two vectors and a half, and two dense matrices of N_a^2 numbers for each axis. Errors:
 * VF_ERR_ARGUMENT, VF_ERR_MEMORY, VF_ERR_DEVICE_MEMORY, VF_ERR_DEVICE, VF_ERR_UNSUPPORTED (by CUDA: no cuFFT library here);
 * *out is NULL then. */
VF_MUST_CHECK vf_status vf_cosine_create(vf_device *device, const int64_t counts[3], vf_dtype precision,
                                         vf_cosine **out);
void vf_cosine_destroy(vf_cosine *plan); /* NULL is allowed; work in the queue must be done */

/* Sets the matrix. `m`: [z][y][x] in host memory; index k of an axis is a frequency of k / 2 cycles over the axis. Blocking.
 * Errors: VF_ERR_ARGUMENT (a value that is NaN, infinite or too large for the precision), VF_ERR_MEMORY, VF_ERR_DEVICE. */
VF_MUST_CHECK vf_status vf_cosine_set(vf_cosine *plan, vf_queue *queue, const double *m);

/* From eigenvalues of a Toeplitz or circulant matrix at frequencies n - N_a / 2, [z][y][x], to those of a cosine matrix near it,
 * in place: mode k gets the mean of the frequencies k / 2 and -k / 2, and a frequency between two of them has their mean.
 * With the context's threads. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status vf_cosine_spectrum(vf_context *ctx, const int64_t counts[3], double *m);

/* y = M x; `x` and `y`: VF_SPACE_DEVICE, and may be the same. Asynchronous on a GPU, blocking on the CPU with the context's
 * threads. One queue at a time may use a plan. The same input gives the same bits. Errors: VF_ERR_ARGUMENT, VF_ERR_DEVICE,
 * VF_ERR_CANCELLED (CPU only). */
VF_MUST_CHECK vf_status vf_cosine_apply(vf_cosine *plan, vf_queue *queue, const void *x, void *y);

#endif
