/* The walk of a tile: all samples whose kernels reach the tile, in a fixed order. These samples start in the tile
 * itself or in tiles before it. Not installed.
 *
 * Samples are sorted by tile, x fastest, so the samples of a row of tiles are one range. A visit is one sample of a
 * walk.
 */
#ifndef VOXFIELD_GRIDDING_WALK_CUH
#define VOXFIELD_GRIDDING_WALK_CUH

#include <stdint.h>

#include <cuda_runtime.h>

namespace
{

enum { TILE_X = 16, TILE_Y = 8, TILE_Z = 8, MOST_RANGES = 96 };

/* Along one axis: the `count` tiles in which kernels start that reach a given tile. Tiles before the grid's beginning
 * wrap around to its end, `-grid` away; they come first. */
struct reach {
    int wrapped, wrapped_first, direct_first, count;
};

__host__ __device__ inline reach tiles_that_reach(int tile, int size, int width, int grid, int tiles)
{
    const int low = tile * size - (width - 1);
    reach r;
    r.wrapped_first = low < 0 ? (low + grid) / size : 0;
    r.wrapped = low < 0 ? tiles - r.wrapped_first : 0;
    r.direct_first = low < 0 ? 0 : low / size;
    r.count = r.wrapped + tile - r.direct_first + 1;
    return r;
}

__device__ inline int reach_tile(const reach &r, int entry)
{
    return entry < r.wrapped ? r.wrapped_first + entry : r.direct_first + entry - r.wrapped;
}

/* The samples of one row of tiles along x (or of its wrapped part). */
struct visit_range {
    uint32_t first, end; /* first sample; number of visits up to the end of this range */
    int shift[3];        /* added to a sample's start, makes it relative to the tile */
};

/* A tile's walk, as walk_ranges() ranges. */
struct tile_walk {
    reach x, y, z;
    int begin[3], segments; /* segments along x: 1, or 2 if the walk wraps */
};

__device__ inline tile_walk walk_of(const int grid[3], const int tiles[3], const int width[3], int tile)
{
    tile_walk w;
    const int tx = tile % tiles[0], ty = tile / tiles[0] % tiles[1], tz = tile / tiles[0] / tiles[1];
    w.x = tiles_that_reach(tx, TILE_X, width[0], grid[0], tiles[0]);
    w.y = tiles_that_reach(ty, TILE_Y, width[1], grid[1], tiles[1]);
    w.z = tiles_that_reach(tz, TILE_Z, width[2], grid[2], tiles[2]);
    w.begin[0] = tx * TILE_X;
    w.begin[1] = ty * TILE_Y;
    w.begin[2] = tz * TILE_Z;
    w.segments = w.x.wrapped > 0 ? 2 : 1;
    return w;
}

__device__ inline int walk_ranges(const tile_walk &w)
{
    return w.segments * w.y.count * w.z.count;
}

/* Range n of the walk. `end` is the number of visits in this range alone; the caller accumulates. */
__device__ inline visit_range walk_range(const tile_walk &w, const int grid[3], const int tiles[3],
                                         const uint32_t *first, int n)
{
    const int segment = n % w.segments, ey = n / w.segments % w.y.count, ez = n / w.segments / w.y.count;
    const bool wrapped = w.segments == 2 && segment == 0;
    const int row = (reach_tile(w.z, ez) * tiles[1] + reach_tile(w.y, ey)) * tiles[0];
    const int low = wrapped ? w.x.wrapped_first : w.x.direct_first;
    const int high = wrapped ? tiles[0] : w.x.direct_first + w.x.count - w.x.wrapped;
    visit_range r;
    r.first = first[row + low];
    r.end = first[row + high] - r.first;
    r.shift[0] = -w.begin[0] - (wrapped ? grid[0] : 0);
    r.shift[1] = -w.begin[1] - (ey < w.y.wrapped ? grid[1] : 0);
    r.shift[2] = -w.begin[2] - (ez < w.z.wrapped ? grid[2] : 0);
    return r;
}

} // namespace

#endif
