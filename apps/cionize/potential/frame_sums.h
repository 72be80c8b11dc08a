/* cionize: sums over the frames of a trajectory, in blocks.
 *
 * The selected frames are cut into blocks of consecutive ones. A block has, for each point, a mean m and a sum S of squared
 * deviations from it, in double precision, from its frames one after another (Welford, Technometrics 4 (1962) 419):
 *
 *   d = V_k - m;  m += d (1/k);  S += d (V_k - m)        k = 1, 2, ..., length of the block
 *
 * Blocks are joined one after another (Chan, Golub and LeVeque, Am. Stat. 37 (1983) 242, (2.1)): with k frames joined and
 * n in the next block, whose mean and sum are m' and S',
 *
 *   d = m' - m;  m += d n/(k + n);  S += S' + d d k n/(k + n)
 *
 * The blocks follow from the numbers of frames and points alone. So processes can make blocks apart from each other, and
 * the bits do not depend on how many there are.
 *
 * How many: kept blocks take 16 bytes a point, so there are at most FRAME_BLOCKS_MOST, which together take 32 GiB at most.
 * A block has 36 frames at least, so that it takes far longer to compute than to keep: for the fast method on two
 * cores, 50 ns for a point of a frame, 1.8 us a point; 16 bytes take 16 ns at 1 GB/s. */
#ifndef CIONIZE_FRAME_SUMS_H
#define CIONIZE_FRAME_SUMS_H

#include "voxfield/device.h"

enum { FRAME_BLOCKS_MOST = 64, FRAME_BLOCK_LEAST = 36, FRAME_BLOCK_MULTIPLE = 12 };

typedef struct frame_blocks {
    int64_t frames, count;
    int64_t
        length; /* frames of a block, a multiple of FRAME_BLOCK_MULTIPLE if there are several; the last may have fewer */
} frame_blocks;

frame_blocks frame_blocks_of(int64_t frames, int64_t points);

/* The frames of a block: [block * length, ...). */
int64_t frame_block_frames(const frame_blocks *blocks, int64_t block);

/* Adds frames k + 1, ..., k + frames of a block; values: [frames][points], host memory. k = 0 begins a block. */
void frame_sums_take(const vf_context *ctx, vf_dtype type, int64_t points, int64_t frames, int64_t k,
                     const void *values, double *mean, double *squares);

/* Joins a block of `frames` frames, [points] each, to the k earlier ones. k = 0 begins. block_squares and squares may both
 * be NULL. */
void frame_sums_join(const vf_context *ctx, int64_t points, int64_t frames, int64_t k, const double *block_mean,
                     const double *block_squares, double *mean, double *squares);

/* The two maps, from the sums of all `frames` frames. squares and deviation may both be NULL. */
void frame_sums_finish(const vf_context *ctx, vf_dtype type, int64_t points, int64_t frames, const double *mean,
                       const double *squares, void *mean_out, void *deviation_out);

#endif
