/* The tables that a GPU plan makes from the samples' positions, on the GPU; not installed. */
#ifndef VOXFIELD_GRIDDING_BINS_H
#define VOXFIELD_GRIDDING_BINS_H

#include "gridding_internal.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Most visits in a piece: see gridding_walk.cuh. */
enum { GRIDDING_PIECE = 512 };

/* The sorted samples: the same bits as gridding_sort makes, except for the padding of records. */
typedef struct gridding_bins {
    vf_array samples; /* bytes: [samples] records of the plan's precision */
    vf_array first;   /* uint32 [tiles + 1]: where each tile begins */
    vf_array index;   /* uint32 [samples]: the indices of the records, repeated */
} gridding_bins;

/* A piece of a tile's walk. If `slot` < 0, it is the whole walk and writes to the grid; otherwise it writes to that
 * scratch tile. */
typedef struct gridding_piece {
    uint32_t tile, first_visit, last_visit;
    int32_t slot;
} gridding_piece;

/* A tile with several pieces: the sum of scratch tiles [slot, slot + pieces). */
typedef struct gridding_split {
    uint32_t tile;
    int32_t slot, pieces;
} gridding_split;

/* How the tiles' walks are cut. At least one piece, possibly empty, writes each tile, because the grid is not zeroed.
 * The fullest pieces come first, so that no block works alone at the end; equal ones are in the order of tile and
 * visit. */
typedef struct gridding_pieces {
    vf_array pieces, splits; /* bytes: [piece_count] gridding_piece, [split_count] gridding_split, by tile */
    int64_t piece_count, split_count, slots;
} gridding_pieces;

/* The tiles of the plan's grid. Errors: VF_ERR_UNSUPPORTED (too many). */
VF_MUST_CHECK vf_status gridding_bin_tiles(const vf_nufft *plan, gridding_tiles *tiles);

/* Both functions wait for the queue. The caller frees all arrays in `out`, also after an error. Binning needs 36 bytes
 * of GPU memory per sample for sorting, then 16 in addition to `out`. Errors: VF_ERR_DEVICE, VF_ERR_DEVICE_MEMORY,
 * VF_ERR_MEMORY; VF_ERR_UNSUPPORTED (too many samples at one place). */
VF_MUST_CHECK vf_status gridding_bin_samples(const vf_nufft *plan, vf_queue *queue, const vf_nufft_samples *samples,
                                             const gridding_tiles *tiles, gridding_bins *out);
VF_MUST_CHECK vf_status gridding_cut_walks(const vf_nufft *plan, vf_queue *queue, const gridding_tiles *tiles,
                                           const uint32_t *first, gridding_pieces *out);

#ifdef __cplusplus
}
#endif
#endif
