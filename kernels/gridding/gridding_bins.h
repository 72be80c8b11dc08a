/* The tables that a GPU plan makes from the samples' positions, on the GPU; not installed. */
#ifndef VOXFIELD_GRIDDING_BINS_H
#define VOXFIELD_GRIDDING_BINS_H

#include "gridding_internal.h"

#ifdef __cplusplus
extern "C" {
#endif

/* At most so many samples are summed in the plan's precision before their sum is added to a larger one. */
enum { GRIDDING_PIECE = 512 };

/* A tile of a grid in three dimensions, and its first two axes in two. */
enum { GRIDDING_TILE_X = 16, GRIDDING_TILE_Y = 8, GRIDDING_TILE_Z = 8 };

/* How a block of threads spreads. It prepares a batch of samples at a time. In two dimensions it has several copies of the
 * padded tile, with a warp for each. In three it has one; its warps share the planes, best two of a sample each. */
enum { GRIDDING_BATCH = 32, GRIDDING_FLAT_COPIES = 4 };
#define GRIDDING_COPY_WARPS(width, flat) ((flat) ? 1 : (width) <= 4 ? 2 : (width) <= 6 ? 3 : 4)

/* A sorted sample: where its kernel lies (gridding_locate), and its index in the caller's order. Kernels read it in words of
 * 8 bytes, so all its bytes are set. */
typedef struct gridding_sample_f32 {
    float offset[3];
    int16_t start[3], zero;
    uint32_t index;
} gridding_sample_f32;

typedef struct gridding_sample_f64 {
    double offset[3];
    int16_t start[3], zero;
    uint32_t index, zero_too;
} gridding_sample_f64;

/* The samples, sorted by tile, x fastest, as by gridding_sort; within a tile, in three dimensions, by the first plane of
 * their kernels, then by the first x; then in the caller's order. */
typedef struct gridding_bins {
    vf_array samples; /* bytes: [samples] records of the plan's precision */
    vf_array first;   /* uint32 [tiles + 1]: where each tile begins */
} gridding_bins;

/* A padded tile: the points that the kernels of a tile's samples reach, its own and width - 1 behind them along each axis,
 * also beyond the end of the grid. Its axes are numbered as they lie in memory: along a row, between rows, between
 * planes. In two dimensions every plane is one row. The pitch is such that a warp which takes several rows of a kernel
 * meets different banks of shared memory. */
typedef struct gridding_padded {
    int axis[3];              /* of the grid */
    int size[3], width[3];    /* the tile's points, and the kernel's */
    int rows, planes;         /* of the padded tile; rows in each plane */
    int pitch, plane, points; /* from row to row, from plane to plane, of the whole; in points */
    int part_planes, parts;   /* a block has that many planes, and several share a padded tile that is too large */
    int copies, copy_warps;   /* a block has copies of its part, which are added at the end, and warps for each */
} gridding_padded;

/* Samples [first, last) of a tile, summed by one block into padded tile `slot` of the scratch memory. */
typedef struct gridding_run {
    uint32_t tile, first, last;
    int32_t slot;
} gridding_run;

/* A tile with several runs, which follow each other. */
typedef struct gridding_split {
    int32_t first_run, runs;
} gridding_split;

/* Runs whose padded tiles are in the scratch memory at the same time: those of tiles [first_tile, end_tile). */
typedef struct gridding_chunk {
    int64_t first_tile, end_tile, first_run, end_run, first_split, end_split;
} gridding_chunk;

/* How the tiles' samples are cut into runs. In a chunk the fullest come first, so that no block works alone at the end;
 * equal ones are in the order of the samples. */
typedef struct gridding_runs {
    vf_array runs;     /* bytes: [runs] gridding_run */
    vf_array tile_run; /* int32 [tiles]: each tile's first run in the order of the samples; -1 without samples */
    vf_array splits;   /* bytes: [splits] gridding_split, in the order of tiles */
    gridding_chunk *chunks;
    int chunk_count;
    int64_t slots; /* of the fullest chunk */
} gridding_runs;

/* The tiles of the plan's grid. Errors: VF_ERR_UNSUPPORTED (too many). */
VF_MUST_CHECK vf_status gridding_bin_tiles(const vf_nufft *plan, gridding_tiles *tiles);

void gridding_pad_tile(const vf_nufft *plan, const gridding_tiles *tiles, gridding_padded *out);

/* Both functions wait for the queue. The caller frees `out`, also after an error, when all work on it is done. Binning
 * needs 36 bytes of GPU memory per sample in addition to `out`, 48 with positions in double precision. A chunk has at most `most_slots` runs, or one tile. Errors:
 * VF_ERR_ARGUMENT (a position that is not finite), VF_ERR_DEVICE, VF_ERR_DEVICE_MEMORY, VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status gridding_bin_samples(const vf_nufft *plan, vf_queue *queue, const vf_nufft_samples *samples,
                                             const gridding_tiles *tiles, gridding_bins *out);
VF_MUST_CHECK vf_status gridding_cut_runs(const vf_nufft *plan, vf_queue *queue, const gridding_tiles *tiles,
                                          const uint32_t *first, int64_t most_slots, gridding_runs *out);
void gridding_bins_free(gridding_bins *bins);
void gridding_runs_free(gridding_runs *runs);

#ifdef __cplusplus
}
#endif
#endif
