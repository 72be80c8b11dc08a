/* The mean of an image over the voxels of another grid (resample.c). */
#ifndef RESAMPLE_H
#define RESAMPLE_H

#include <stdint.h>

#include "voxfield/context.h"

/* The centre of voxel (i, j, k) is at affine[.][0..2] . (i, j, k) + affine[.][3], in mm; its volume is a parallelepiped of one
 * step along each axis about it. */
typedef struct image_grid {
    int64_t counts[3]; /* along x, y, z */
    double affine[3][4];
} image_grid;

/* Sets each voxel of `out` [z][y][x] of the grid `to` to the mean of `values` of the grid `from` over the voxel's volume, so that
 * a finer image is not aliased, and `inside` to the share of that volume that lies inside the other grid's voxels. The mean is
 * over that part; 0 if there is none.
 *
 * Where axes are parallel, in whatever order and direction, it is exact: of boxes along axes on which `from` is as fine or
 * finer, else of linear interpolation at the voxel's centre. So an image on its own grid stays as it is, bit by bit. Otherwise it
 * is the mean of trilinear interpolation at points that are at most half a voxel of `from` apart (of at most 8 along an axis). The
 * result has the same bits for any number of threads. Errors: VF_ERR_ARGUMENT (an affine whose axes lie in a plane),
 * VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status resample_mean(vf_context *ctx, const image_grid *from, const float *values,
                                      const image_grid *to, float *out, float *inside);

#endif
