/* The CPU backend's state, shared by its files; not installed. */
#ifndef VOXFIELD_GRIDDING_CPU_H
#define VOXFIELD_GRIDDING_CPU_H

#include "gridding_simd.h"
#include "voxfield/fft_axis.h"

typedef struct gridding_cpu_state {
    const gridding_simd *simd;
    vf_array samples, table, grid; /* bytes as VF_F32 */
    vf_array exact;                /* VF_F64 [samples][3] sorted, if the samples' positions are in double precision */
    int64_t pitch, plane;          /* complex elements */
    gridding_tiles tiles;
    int64_t *first;                   /* [tiles + 1] samples */
    int64_t *order;                   /* [tiles] by colour; tiles of one colour touch no common point */
    int64_t colour[9];                /* colour c: order[colour[c]] to order[colour[c + 1] - 1], the fullest first */
    int64_t together[8];              /* of these, all threads spread each of the tiles before order[together[c]] */
    int64_t local[3];                 /* points of a tile and its kernels' reach: x, y, z */
    vf_array locals;                  /* [local_count][local z][local y][local x] complex, for dense tiles */
    int local_count;                  /* threads that have one */
    unsigned char *used;              /* [grid z][grid y] whether a kernel reaches the row */
    vf_fft_axis *fft[3];              /* axes of equal length share one */
    vf_array scale[3], factor, field; /* factor: [segments][samples] complex; of the plan's precision */
} gridding_cpu_state;

/* The most samples that are summed together. Where many samples lie close, as in the centre of a radial scan, thousands
 * of terms of the same sign would all round the same way. So each piece of a dense tile is summed separately, and the
 * sums are added.
 */
enum { GRIDDING_PIECE = 512 };

/* ---- gridding_cpu_spread.c: `segment` 0 without a field map; values [samples], complex ---- */

/* grid = sum of the values times the kernel around each sample (times the segment's factors). */
VF_MUST_CHECK vf_status gridding_cpu_spread(const vf_nufft *plan, int segment, const void *values);

/* values = (segment 0) or += the integral of the grid under each sample's kernel (times the conjugate factors). */
VF_MUST_CHECK vf_status gridding_cpu_interpolate(const vf_nufft *plan, int segment, void *values);

/* ---- gridding_cpu_fft.c: from the grid to voxels and back, in place up to the last pass ---- */

/* image [z][y][x] = the cropped and scaled backward transform of the grid. If `image` is NULL, it stays in the grid,
 * with voxel (x, y, z) at element x + y pitch + z plane. */
VF_MUST_CHECK vf_status gridding_cpu_to_image(const vf_nufft *plan, void *image);

/* The grid = the forward transform of the scaled image. If `image` is NULL, the image is in the grid as above. Rows
 * that no kernel reaches are undefined afterwards. */
VF_MUST_CHECK vf_status gridding_cpu_from_image(const vf_nufft *plan, const void *image);

/* Complex element `at` of the grid. */
static inline void *gridding_cpu_point(const vf_nufft *plan, int64_t at)
{
    const gridding_cpu_state *state = (const gridding_cpu_state *)plan->state;
    return (char *)state->grid.data + at * (int64_t)vf_dtype_bytes(plan->complex_type);
}

#endif
