/* What the CUDA files of the search for ions' places share: how the field lies, and what a search keeps on the GPU; not
 * installed.
 *
 * The field is every point's potential, in double precision, cell after cell of the grid; NaN where a point is
 * excluded, and beyond the grid. A warp has a cell, a lane the points of it that are one above the other.
 */
#ifndef VOXFIELD_ION_SEARCH_CUDA_CUH
#define VOXFIELD_ION_SEARCH_CUDA_CUH

#include "backend/cuda_check.cuh"
#include "backend/launch_blocks.h"
#include "coulomb_sum_tiles.cuh"
#include "ion_search_internal.h"
#include "voxfield/copy.h"
#include "voxfield/reduce.h"

namespace vf_ion_gpu
{

using vf_coulomb_gpu::inverse;
using vf_coulomb_gpu::larger;
using vf_coulomb_gpu::position;

enum {
    LANES = 32,
    POINTS = CELL_POINTS / LANES, /* of a lane: one above the other */
    THREADS = 256,                /* of a block whose warps take a cell each */
    MOST_SUMS = 4096,             /* cells that are summed at a time */
    SUM_BLOCKS = 2048             /* that sum parts of cells, where these are few: they fill a GPU */
};
static_assert(CELL_X * CELL_Y == LANES, "a warp has a cell's layer");

/* A source of potential, C in its charge; `distance`: within which it excludes points. */
struct __align__(8) source
{
    double x, y, z, charge, distance;
};

/* What all kernels take. */
struct field {
    vf_grid grid;
    int64_t along[3], cells;
    double r_min;
    double *value;      /* [cells][CELL_Z][CELL_Y][CELL_X] */
    double *low, *high; /* [cells] below the least value, above the greatest; INFINITY, -INFINITY: nothing is free */
    float *magnitude;   /* [cells] times error_factor: how far the values may be off; 0: summed */
    double error_factor;
};

/* ---- cells, on the device ---- */

__device__ inline int64_t cell_point(const field &f, int64_t cell, int axis)
{
    const int64_t n = axis == 0   ? cell % f.along[0]
                      : axis == 1 ? cell / f.along[0] % f.along[1]
                                  : cell / f.along[0] / f.along[1];
    return n * (axis == 0 ? CELL_X : axis == 1 ? CELL_Y : CELL_Z);
}

/* The grid point of a cell's element `at`; false: beyond the grid. */
__device__ inline bool grid_point(const field &f, int64_t cell, int at, int64_t p[3])
{
    p[0] = cell_point(f, cell, 0) + at % CELL_X;
    p[1] = cell_point(f, cell, 1) + at / CELL_X % CELL_Y;
    p[2] = cell_point(f, cell, 2) + at / (CELL_X * CELL_Y);
    return p[0] < f.grid.counts[0] && p[1] < f.grid.counts[1] && p[2] < f.grid.counts[2];
}

__device__ inline int64_t warp_cell()
{
    return (int64_t)blockIdx.x * (THREADS / LANES) + threadIdx.x / LANES;
}

/* The extremes of a cell whose points a warp has; fmin and fmax pass NaN over. */
__device__ inline void set_bounds(const field &f, int64_t cell, const double (&v)[POINTS])
{
    double low = INFINITY, high = -INFINITY;
#pragma unroll
    for (int p = 0; p < POINTS; p++) {
        low = fmin(low, v[p]);
        high = fmax(high, v[p]);
    }
#pragma unroll
    for (int step = LANES / 2; step > 0; step /= 2) {
        low = fmin(low, __shfl_xor_sync(0xffffffffu, low, step));
        high = fmax(high, __shfl_xor_sync(0xffffffffu, high, step));
    }
    if (threadIdx.x % LANES != 0)
        return;
    const double error = f.error_factor * (double)f.magnitude[cell];
    f.low[cell] = low - error;
    f.high[cell] = high + error;
}

/* ---- host side ---- */

struct cuda_state {
    bool begun;
    ion_cells cells;
    vf_queue *queue;
    vf_array value, low, high, magnitude;
    vf_array sources[ION_SOURCES]; /* of source */
    int64_t there[ION_SOURCES];    /* how many of them are on the device */
    vf_array found, host;          /* findings; the host's are pinned */
    vf_array list;                 /* [MOST_SUMS] cells to be summed */
    vf_array partial;              /* [SUM_BLOCKS + MOST_SUMS][CELL_POINTS] sums of parts of the sources */
    vf_reduce *least, *greatest;
    double error_factor;
    double magnitude_sum;   /* the most that atoms and ions add up to at a free point, C sum |q|/r */
    int64_t magnitude_ions; /* how many ions it has */
};

static inline cuda_state *state_of(const vf_ion_search *search)
{
    return static_cast<cuda_state *>(search->state);
}

static inline cudaStream_t stream_of(const cuda_state *s)
{
    return static_cast<cudaStream_t>(vf_queue_native(s->queue));
}

static inline vf_status use_device(const vf_ion_search *search)
{
    return VF_CUDA(search->device, cudaSetDevice(vf_device_ordinal(search->device)));
}

/* ---- ion_search_cuda.cu ---- */

field field_of(const vf_ion_search *search);

/* Copies the sources of a kind that the device lacks, into room for more where there is none. */
vf_status upload_sources(vf_ion_search *search, int kind);

/* ---- ion_search_exclude.cu ---- */

/* Excludes what is too near to atoms: vf_ion_search_backend's. */
vf_status exclude_near_atoms(vf_ion_search *search);

/* ---- ion_search_field.cu ---- */

/* Makes the field, when all is excluded that atoms exclude, and finds what atoms add up to; then the state has begun.
 */
vf_status begin_field(vf_ion_search *search);

/* Adds an ion to the field. */
vf_status add_to_field(vf_ion_search *search, const source &ion);

/* ---- ion_search_sums.cu ---- */

/* Puts exact sums of atoms and ions in place of the values of the first `cells` <= MOST_SUMS cells of the list. */
vf_status sum_cells(vf_ion_search *search, int cells);

} // namespace vf_ion_gpu

#endif
