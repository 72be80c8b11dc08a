/* Voxfield - the preconditioner of a series of images whose neighbours are tied to each other: near the inverse of
 *
 *     (A z)_f = C_f z_f + coupling sum over the neighbours g = f - 1, f + 1 of (z_f - z_g)
 *
 * with a circulant matrix C_f for each image (circulant.h) with eigenvalues c_f > 0, and coupling >= 0. In spatial
 * frequencies A is a tridiagonal matrix over the images for each frequency, T = L D L^T with the pivots
 *
 *     d_0 = a_0,    d_f = a_f - coupling^2 / d_(f - 1),    a_f = c_f + coupling times the number of neighbours
 *
 * All d_f > 0, so this is A's inverse, self-adjoint and positive, to rounding. It costs two transforms of an image and
 * four operations on vectors per image. Vectors are complex, interleaved, [image][z][y][x].
 */
#ifndef VOXFIELD_CIRCULANT_CHAIN_H
#define VOXFIELD_CIRCULANT_CHAIN_H

#include "voxfield/device.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vf_circulant_chain vf_circulant_chain;

/* Makes a plan for `images` >= 1 images of `matrix` voxels along x, y, z. Vectors are complex, of `precision` (VF_F32,
 * VF_F64). The plan holds a vector of an image, and half of one for each image. Errors: as vf_circulant_create. */
VF_MUST_CHECK vf_status vf_circulant_chain_create(vf_device *device, const int64_t matrix[3], vf_dtype precision,
                                                  int images, vf_circulant_chain **out);
void vf_circulant_chain_destroy(vf_circulant_chain *plan); /* NULL is allowed; work in the queue must be done */

/* Sets the coupling. The images' matrices must be set after it. Errors: VF_ERR_ARGUMENT (negative, NaN or infinite). */
VF_MUST_CHECK vf_status vf_circulant_chain_couple(vf_circulant_chain *plan, double coupling);
/* Sets the matrix of the next image, from image 0 on. `c` > 0: as in vf_circulant_set. Blocking. Errors:
 * VF_ERR_ARGUMENT (all images are set; a value that is not positive, or 1 / d_f that is NaN, infinite or too large for
 * the precision), VF_ERR_MEMORY, VF_ERR_DEVICE. */
VF_MUST_CHECK vf_status vf_circulant_chain_add(vf_circulant_chain *plan, vf_queue *queue, const double *c);

/* z = A^-1 r. `r` and `z`: VF_SPACE_DEVICE, 64-byte aligned; z is not r. Asynchronous on a GPU, blocking on the CPU with
 * the context's threads. One queue at a time may use a plan. The same input gives the same bits, for any number of
 * threads. Errors: VF_ERR_ARGUMENT (an image without a matrix; missing or identical vectors), VF_ERR_DEVICE,
 * VF_ERR_CANCELLED (CPU only). */
VF_MUST_CHECK vf_status vf_circulant_chain_apply(vf_circulant_chain *plan, vf_queue *queue, const void *r, void *z);

#ifdef __cplusplus
}
#endif
#endif
