/* Voxfield - singular value thresholds in blocks of an image series: the part of low-rank priors.
 *
 * A block of voxels is a matrix M [voxels of the block][frames]. With M = U diag(s) V^H, the nuclear norm is sum_i s_i
 * and its proximal map (Cai, Candes and Shen, SIAM J. Optim. 20 (2010) 1956) is
 *
 *     U diag(max(0, s_i - t)) V^H = M V diag(max(0, 1 - t / s_i)) V^H,
 *
 * which minimises t sum_i s_i(Z) + |Z - M|^2 / 2. Blocks of the size of the grid give the global prior, small ones the
 * locally low-rank prior (Trzasko and Manduca, Proc. ISMRM 19 (2011) 4371).
 *
 * V and s come from the Gram matrix of the shorter side (frames, or voxels if they are fewer), in double precision.
 * With U = 2^-53, S the Frobenius norm of the block and c the longer side plus 100 times the shorter one, the result is
 * off by at most about c U S^2 / (2 t) in that norm, besides rounding to the type. Singular values below about 1e-8 S
 * are lost in rounding.
 *
 * Blocks: along each axis, block j holds the positions j B to min((j + 1) B, N) - 1, where position p is voxel (p +
 * shift) mod N. So all blocks but the last one of an axis have B voxels, the last one has the rest, and blocks wrap
 * around the faces. Random shifts from iteration to iteration avoid visible edges of blocks.
 */
#ifndef VOXFIELD_LOW_RANK_H
#define VOXFIELD_LOW_RANK_H

#include "voxfield/device.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vf_low_rank vf_low_rank;

/* Limit for the smaller of frames and voxels of a block. */
enum { VF_LOW_RANK_MOST_SIDE = 1024 };

/* Makes a plan with all scratch memory. `type`: VF_C64 or VF_C128. `counts`: voxels along x, y, z, and frames. `block`:
 * voxels of a block along x, y, z, at least 1; more than the grid has counts as the grid. `variant`: NULL for the
 * fastest; on the CPU "simd", "baseline", "avx2", "avx512", "ref". The plan runs with at most the threads that the
 * context has now. Errors: VF_ERR_ARGUMENT, VF_ERR_UNSUPPORTED, VF_ERR_MEMORY, VF_ERR_DEVICE_MEMORY. */
VF_MUST_CHECK vf_status vf_low_rank_create(vf_device *device, vf_dtype type, const int64_t counts[4],
                                           const int64_t block[3], const char *variant, vf_low_rank **out);
void vf_low_rank_destroy(vf_low_rank *plan); /* NULL is allowed; work in queues must be done */

/* Bytes of scratch memory on the device. */
int64_t vf_low_rank_bytes(const vf_low_rank *plan);

/* z = v with thresholded singular values in each block. `v`, `z`: [frame][z][y][x], VF_SPACE_DEVICE memory; z may be v.
 * `shift`: any integers. threshold >= 0. A block with NaN or infinite values becomes NaN; squares must be within the
 * range of double precision. One queue at a time may use a plan. The bits do not depend on the number of threads.
 *
 * Asynchronous on a GPU if no block has a shorter side of more than 64; otherwise it waits, because the host computes
 * the eigenvalues. Errors: VF_ERR_ARGUMENT, VF_ERR_CANCELLED (`z` is partly written then). */
VF_MUST_CHECK vf_status vf_low_rank_threshold(vf_low_rank *plan, vf_queue *queue, const int64_t shift[3],
                                              double threshold, const void *v, void *z);

/* *sum = the sum of all singular values of all blocks, in host memory. Waits for the queue. Errors: as above. */
VF_MUST_CHECK vf_status vf_low_rank_norm(vf_low_rank *plan, vf_queue *queue, const int64_t shift[3], const void *v,
                                         double *sum);

#ifdef __cplusplus
}
#endif
#endif
