/* What a plan on a GPU makes of the samples' positions, all of it on the GPU; not installed. */
#ifndef VOXFIELD_GRIDDING_BINS_H
#define VOXFIELD_GRIDDING_BINS_H

#include "gridding_internal.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Visits of a piece: see gridding_walk.cuh. */
enum { GRIDDING_PIECE = 512 };

/* The samples sorted as gridding_sort does it, bit for bit but for the padding of records. */
typedef struct gridding_bins {
    vf_array samples; /* bytes: [samples] records of the plan's precision */
    vf_array first;   /* uint32 [tiles + 1]: where each tile begins */
    vf_array index;   /* uint32 [samples]: the records' indices once more */
} gridding_bins;

/* A piece of a tile's walk. `slot` < 0: the whole of it, straight into the grid; else into that scratch tile. */
typedef struct gridding_piece {
    uint32_t tile, first_visit, last_visit;
    int32_t slot;
} gridding_piece;

/* A tile whose pieces, scratch tiles [slot, slot + pieces), are to be added. */
typedef struct gridding_split {
    uint32_t tile;
    int32_t slot, pieces;
} gridding_split;

/* How the tiles' walks are cut: every tile is written by one piece at least, be it empty, since the grid is not zeroed.
 * The fullest pieces come first, so that no block is left alone at the end; else by tile and visit. */
typedef struct gridding_pieces {
    vf_array pieces, splits; /* bytes: [piece_count] gridding_piece, [split_count] gridding_split, by tile */
    int64_t piece_count, split_count, slots;
} gridding_pieces;

/* The tiles of the plan's grid. Errors: VF_ERR_UNSUPPORTED (too many). */
VF_MUST_CHECK vf_status gridding_bin_tiles(const vf_nufft *plan, gridding_tiles *tiles);

/* Both wait for the queue. All arrays in `out` are to be freed by the caller, whatever is returned. Binning takes 36
 * bytes of the GPU's memory a sample for sorting, and then 16 beside `out`. Errors: VF_ERR_DEVICE,
 * VF_ERR_DEVICE_MEMORY, VF_ERR_MEMORY; VF_ERR_UNSUPPORTED (too many samples at one place). */
VF_MUST_CHECK vf_status gridding_bin_samples(const vf_nufft *plan, vf_queue *queue, const vf_nufft_samples *samples,
                                             const gridding_tiles *tiles, gridding_bins *out);
VF_MUST_CHECK vf_status gridding_cut_walks(const vf_nufft *plan, vf_queue *queue, const gridding_tiles *tiles,
                                           const uint32_t *first, gridding_pieces *out);

#ifdef __cplusplus
}
#endif
#endif
