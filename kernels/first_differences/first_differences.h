/* Voxfield - weighted first differences D on a grid, as the matrix D^H D of a quadratic form.
 *
 *     (D^H D x)(n) = sum_axes  w_a(n) (x(n) - x(n - e_a)) - w_a(n + e_a) (x(n + e_a) - x(n))
 *
 * where w_a(n) >= 0 weighs the difference between voxel n and the previous one along axis a. Differences across the
 * grid's faces are left out. With w = 1 this is the discrete Laplacian with reflecting faces. Weights that are small
 * across the edges of a reference image keep those edges: Haldar, Hernando, Song and Liang, Magn. Reson. Med. 59 (2008)
 * 810. The case study has a prior W of this purpose, but prints no weights (Stone et al., J. Parallel Distrib. Comput. 68
 * (2008) 1307).
 */
#ifndef VOXFIELD_FIRST_DIFFERENCES_H
#define VOXFIELD_FIRST_DIFFERENCES_H

#include "voxfield/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Puts y += scale D^H D x into the queue. `counts`: voxels along x, y, z. `x`, `y`: [z][y][x], complex of `type`
 * (VF_C64 or VF_C128), distinct. `weights`: [3][z][y][x], real of the same precision, axes in the order x, y, z; NULL:
 * 1. All are VF_SPACE_DEVICE memory of the queue's device. Asynchronous on a GPU, blocking on the CPU. */
VF_MUST_CHECK vf_status vf_first_differences_add(vf_queue *queue, vf_dtype type, const int64_t counts[3], double scale,
                                                 const void *weights, const void *x, void *y);

/* Computes weights from reference images in host memory: w_a(n) = 1 / (1 + sum_r (d_ra(n) / (sharpness h_r))^2). d_ra
 * is the difference of image r between voxel n and the previous one along axis a; h_r is the root mean square of all
 * differences of image r. `references`: [images][z][y][x]; `weights`: [3][z][y][x]. Weights across the grid's faces are
 * 0. `known` [z][y][x]: where the images say something; a difference from or to a voxel where it is 0 has the weight 1, and is
 * not in h_r. NULL: everywhere. The result has the same bits for any number of threads. Errors: VF_ERR_ARGUMENT (NaN or
 * infinite values, sharpness not positive), VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status vf_first_differences_weights(vf_context *ctx, const int64_t counts[3], int images,
                                                     const float *references, const unsigned char *known,
                                                     double sharpness, float *weights);

#ifdef __cplusplus
}
#endif
#endif
