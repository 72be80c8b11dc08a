/* Shared by the CUDA files of the ion search: the field's layout, and what a search keeps on the GPU; not installed.
 *
 * The field holds the potential of each point in double precision, cell after cell of the grid. It is NaN at excluded
 * points and beyond the grid. A warp handles a cell, and each lane a column of its points along z.
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
    POINTS = CELL_POINTS / LANES, /* of a lane, along z */
    THREADS = 256,                /* of a block; each of its warps takes a cell */
    MOST_SUMS = 4096,             /* cells summed at a time */
    SUM_BLOCKS = 2048             /* blocks that fill a GPU when few cells are summed */
};
static_assert(CELL_X * CELL_Y == LANES, "a warp has a cell's layer");

/* A source of potential. The charge is multiplied by C. Points nearer than `distance` are excluded. */
struct __align__(8) source
{
    double x, y, z, charge, distance;
};

/* The field, as kernels take it. */
struct field {
    vf_grid grid;
    int64_t along[3], cells;
    double r_min;
    double *value;      /* [cells][CELL_Z][CELL_Y][CELL_X] */
    double *low, *high; /* [cells] bounds of the values; INFINITY, -INFINITY: no point is free */
    float *magnitude;   /* [cells] times error_factor: the error of the values; 0: summed exactly */
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

/* The grid point of a cell's element `at`. Returns false if it is beyond the grid. */
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

/* Sets the bounds of a cell from the values of a warp. fmin and fmax ignore NaN. */
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
    vf_array sources[ION_SOURCES]; /* elements: source */
    int64_t there[ION_SOURCES];    /* number of sources on the device */
    vf_array found, host;          /* findings, on the device and in pinned host memory */
    vf_array list;                 /* [MOST_SUMS] cells to sum */
    vf_array partial;              /* [SUM_BLOCKS + MOST_SUMS][CELL_POINTS] sums of parts of the sources */
    vf_reduce *least, *greatest;
    double error_factor;
    double magnitude_sum;   /* bound of C sum |q|/r at free points; an exact map counts as its largest |value| */
    int64_t magnitude_ions; /* number of ions in it */
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

/* Copies the sources of a kind that are not yet on the device. Grows the array if needed. */
vf_status upload_sources(vf_ion_search *search, int kind);

/* ---- ion_search_exclude.cu ---- */

/* Excludes the points too near to atoms, for vf_ion_search_backend. */
vf_status exclude_near_atoms(vf_ion_search *search);

/* ---- ion_search_field.cu ---- */

/* Makes the field and finds the bound of the atoms' sum. Call it after atoms have excluded their points. On success it
 * sets `begun`. */
vf_status begin_field(vf_ion_search *search);

/* Adds an ion to the field. */
vf_status add_to_field(vf_ion_search *search, const source &ion);

/* ---- ion_search_sums.cu ---- */

/* Replaces the values of the first `cells` <= MOST_SUMS cells of the list by exact sums over atoms and ions. */
vf_status sum_cells(vf_ion_search *search, int cells);

} // namespace vf_ion_gpu

#endif
