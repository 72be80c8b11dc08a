/* CUDA kernels of the NUFFT: between samples and grid, and between grid and voxels. Not installed.
 *
 * Adjoint. A thread block owns a tile of grid points in shared memory; each thread owns one row of the tile along x.
 * The block visits the samples of the tile's walk (gridding_walk.cuh). No two threads add to the same point and there
 * are no atomics, so the same input gives the same bits. Every tile that a sample's kernel reaches visits the sample
 * (about 5 tiles for width 8), but each of the width^3 terms is computed once. Where samples are dense (the centre of a
 * radial scan), several blocks share a walk: it is cut into pieces of GRIDDING_PIECE visits, and a second kernel adds
 * the pieces' tiles in order. Shared memory limits the speed: width^3 complex reads and writes per sample.
 *
 * Forward. One warp computes one sample. Its lanes run along x, and it takes several rows at a time. Grid points come
 * through the L2 cache, because neighbouring warps have neighbouring samples.
 */
#ifndef VOXFIELD_GRIDDING_CUDA_CUH
#define VOXFIELD_GRIDDING_CUDA_CUH

#include <cuda_runtime.h>

#include "gridding_bins.h"
#include "gridding_walk.cuh"

namespace
{

enum {
    TILE_ROWS = TILE_Y * TILE_Z, /* threads per spreading block */
    TILE_PITCH = TILE_X + 1,     /* odd: rows begin in different banks */
    TILE_POINTS = TILE_X * TILE_ROWS,
    WARP = 32,
    SAMPLE_WARPS = 8,
    POINT_THREADS = 256
};

template <typename T>
struct precision;
template <>
struct precision<float> {
    enum { VISITS = 64 }; /* prepared at a time; limited by shared memory */
    typedef float2 complex;
    typedef gridding_sample_f32 sample;
};
template <>
struct precision<double> {
    enum { VISITS = 32 };
    typedef double2 complex;
    typedef gridding_sample_f64 sample;
};

template <typename T>
struct spread_task {
    const typename precision<T>::sample *samples;
    const uint32_t *first;                                 /* [tiles + 1] */
    const T *table;                                        /* [axis][degree + 1][width], highest power first */
    const typename precision<T>::complex *values, *factor; /* caller's order; sorted, or NULL */
    typename precision<T>::complex *grid, *scratch;
    int grid_size[3], tiles[3], width[3];
    int kernel_width, degree, kernel_pitch; /* pitch: odd, so that visits begin in different banks */
};

template <typename T>
__device__ T horner(const T *table, int degree, int width, int j, T z)
{
    T sum = table[j];
    for (int p = 1; p <= degree; p++)
        sum = fma(sum, z, table[p * width + j]);
    return sum;
}

template <typename C>
__device__ C times(C a, C b)
{
    C p;
    p.x = a.x * b.x - a.y * b.y;
    p.y = a.x * b.y + a.y * b.x;
    return p;
}

/* The samples that a block is visiting. */
template <typename T>
struct visit_batch {
    typename precision<T>::complex value[precision<T>::VISITS];
    int start[precision<T>::VISITS][3]; /* relative to the tile */
    T *kernel;                          /* [visit][kernel_pitch]: values along x, y, z; dynamic shared memory */
};

/* Each thread prepares one visit. */
template <typename T>
__device__ void prepare_visit(const spread_task<T> &task, const visit_range *ranges, int count, uint32_t visit,
                              visit_batch<T> &batch)
{
    int low = 0, high = count - 1;
    while (low < high) { /* find the first range that ends after the visit */
        const int middle = (low + high) / 2;
        if (ranges[middle].end > visit)
            high = middle;
        else
            low = middle + 1;
    }
    const visit_range &r = ranges[low];
    const uint32_t n = r.first + visit - (low > 0 ? ranges[low - 1].end : 0);
    const typename precision<T>::sample s = task.samples[n];
    typename precision<T>::complex value = task.values[s.index];
    if (task.factor)
        value = times(value, task.factor[n]);
    batch.value[threadIdx.x] = value;
    T *kernel = batch.kernel + threadIdx.x * task.kernel_pitch;
    for (int a = 0; a < 3; a++) {
        batch.start[threadIdx.x][a] = s.start[a] + r.shift[a];
        const T *table = task.table + a * (task.degree + 1) * task.kernel_width;
        for (int j = 0; j < task.width[a]; j++)
            kernel[a * task.kernel_width + j] = horner(table, task.degree, task.kernel_width, j, 2 * s.offset[a] - 1);
    }
}

/* Adds the visits to the thread's row. */
template <typename T>
__device__ void add_visits(const spread_task<T> &task, const visit_batch<T> &batch, int visits,
                           typename precision<T>::complex *row)
{
    const int y = threadIdx.x % TILE_Y, z = threadIdx.x / TILE_Y;
    for (int v = 0; v < visits; v++) {
        const int dy = y - batch.start[v][1], dz = z - batch.start[v][2], x = batch.start[v][0];
        if (dy < 0 || dy >= task.width[1] || dz < 0 || dz >= task.width[2])
            continue;
        const T *kernel = batch.kernel + v * task.kernel_pitch;
        const T weight = kernel[task.kernel_width + dy] * kernel[2 * task.kernel_width + dz];
        typename precision<T>::complex value = batch.value[v];
        value.x *= weight;
        value.y *= weight;
        const int from = x < 0 ? 0 : x, to = min(x + task.width[0], (int)TILE_X);
        for (int i = from; i < to; i++) {
            const T k = kernel[i - x];
            typename precision<T>::complex sum = row[i];
            sum.x = fma(value.x, k, sum.x);
            sum.y = fma(value.y, k, sum.y);
            row[i] = sum;
        }
    }
}

template <typename T>
__global__ void __launch_bounds__(TILE_ROWS) spread_tiles(const spread_task<T> task, const gridding_piece *pieces)
{
    typedef typename precision<T>::complex C;
    __shared__ C tile[TILE_ROWS * TILE_PITCH];
    __shared__ visit_batch<T> batch;
    __shared__ visit_range ranges[MOST_RANGES];
    extern __shared__ double kernel_values[];
    const gridding_piece piece = pieces[blockIdx.x];
    const tile_walk walk = walk_of(task.grid_size, task.tiles, task.width, (int)piece.tile);
    const int count = walk_ranges(walk);
    C *row = tile + threadIdx.x * TILE_PITCH;
    if (threadIdx.x == 0)
        batch.kernel = reinterpret_cast<T *>(kernel_values);
    for (int i = 0; i < TILE_X; i++)
        row[i].x = row[i].y = 0;
    if (piece.last_visit > piece.first_visit) { /* the same for the whole block */
        for (int n = threadIdx.x; n < count; n += TILE_ROWS)
            ranges[n] = walk_range(walk, task.grid_size, task.tiles, task.first, n);
        __syncthreads();
        if (threadIdx.x == 0)
            for (int n = 1; n < count; n++)
                ranges[n].end += ranges[n - 1].end;
        for (uint32_t v = piece.first_visit; v < piece.last_visit; v += precision<T>::VISITS) {
            __syncthreads();
            const int visits = min((int)(piece.last_visit - v), (int)precision<T>::VISITS);
            if ((int)threadIdx.x < visits)
                prepare_visit(task, ranges, count, v + threadIdx.x, batch);
            __syncthreads();
            add_visits(task, batch, visits, row);
        }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < TILE_POINTS; i += TILE_ROWS) {
        const C value = tile[i / TILE_X * TILE_PITCH + i % TILE_X];
        const int x = walk.begin[0] + i % TILE_X, y = walk.begin[1] + i / TILE_X % TILE_Y,
                  z = walk.begin[2] + i / TILE_X / TILE_Y;
        if (piece.slot >= 0)
            task.scratch[(int64_t)piece.slot * TILE_POINTS + i] = value;
        else if (x < task.grid_size[0] && y < task.grid_size[1] && z < task.grid_size[2])
            task.grid[((int64_t)z * task.grid_size[1] + y) * task.grid_size[0] + x] = value;
    }
}

template <typename T>
__global__ void add_pieces(const spread_task<T> task, const gridding_split *splits)
{
    typedef typename precision<T>::complex C;
    const gridding_split split = splits[blockIdx.x];
    const tile_walk walk = walk_of(task.grid_size, task.tiles, task.width, (int)split.tile);
    for (int i = threadIdx.x; i < TILE_POINTS; i += blockDim.x) {
        const int x = walk.begin[0] + i % TILE_X, y = walk.begin[1] + i / TILE_X % TILE_Y,
                  z = walk.begin[2] + i / TILE_X / TILE_Y;
        C sum;
        sum.x = sum.y = 0;
        for (int p = 0; p < split.pieces; p++) {
            const C value = task.scratch[(int64_t)(split.slot + p) * TILE_POINTS + i];
            sum.x += value.x;
            sum.y += value.y;
        }
        if (x < task.grid_size[0] && y < task.grid_size[1] && z < task.grid_size[2])
            task.grid[((int64_t)z * task.grid_size[1] + y) * task.grid_size[0] + x] = sum;
    }
}

/* ---- forward ---- */

/* LANES: lanes along x, a power of two and at least the kernel's width. */
template <typename T, int LANES>
__global__ void __launch_bounds__(WARP *SAMPLE_WARPS)
    interpolate_samples(const spread_task<T> task, typename precision<T>::complex *out, int64_t samples, bool add)
{
    typedef typename precision<T>::complex C;
    const int lane = threadIdx.x % WARP;
    const int64_t n = (int64_t)blockIdx.x * SAMPLE_WARPS + threadIdx.x / WARP;
    if (n >= samples) /* the same for the whole warp */
        return;
    const typename precision<T>::sample s = task.samples[n];
    const int stride = (task.degree + 1) * task.kernel_width, along = lane % LANES;
    const int last = task.kernel_width - 1, jx = min(along, last), j = min(lane, last);
    const T *table = task.table;
    T kx = horner(table, task.degree, task.kernel_width, jx, 2 * s.offset[0] - 1);
    const T ky = horner(table + stride, task.degree, task.kernel_width, j, 2 * s.offset[1] - 1);
    const T kz = horner(table + 2 * stride, task.degree, task.kernel_width, j, 2 * s.offset[2] - 1);
    const bool inside = along < task.width[0];
    int x = s.start[0] + (inside ? along : 0);
    x = x >= task.grid_size[0] ? x - task.grid_size[0] : x;
    kx = inside ? kx : 0;
    T re = 0, im = 0;
    const int rows = task.width[1] * task.width[2];
    for (int first = 0; first < rows; first += WARP / LANES) {
        const int row = first + lane / LANES, dy = row % task.width[1], dz = row / task.width[1];
        const bool valid = row < rows;
        const T wy = __shfl_sync(0xffffffffu, ky, dy), wz = __shfl_sync(0xffffffffu, kz, valid ? dz : 0);
        int y = s.start[1] + dy, z = s.start[2] + (valid ? dz : 0);
        y = y >= task.grid_size[1] ? y - task.grid_size[1] : y;
        z = z >= task.grid_size[2] ? z - task.grid_size[2] : z;
        if (valid && inside) {
            const C value = task.grid[((int64_t)z * task.grid_size[1] + y) * task.grid_size[0] + x];
            const T weight = wy * wz;
            re = fma(weight, value.x, re);
            im = fma(weight, value.y, im);
        }
    }
    re *= kx;
    im *= kx;
    for (int distance = WARP / 2; distance > 0; distance /= 2) {
        re += __shfl_xor_sync(0xffffffffu, re, distance);
        im += __shfl_xor_sync(0xffffffffu, im, distance);
    }
    if (lane != 0)
        return;
    C value;
    value.x = re;
    value.y = im;
    if (task.factor) {
        C factor = task.factor[n];
        factor.y = -factor.y;
        value = times(value, factor);
    }
    if (add) {
        value.x += out[s.index].x;
        value.y += out[s.index].y;
    }
    out[s.index] = value;
}

/* ---- between grid and voxels ---- */

template <typename T>
struct crop_task {
    int64_t voxels[3], grid[3];
    const T *scale[3];
    const float *field; /* or NULL */
    double time;        /* s, with the sign of the phase */
    bool add;
};

/* exp(i 2 pi turns), turns being time x field. Whole turns are removed in double precision, so that many turns cost no
 * digits. */
__device__ inline float2 phase_of(double turns, float)
{
    float2 e;
    sincospif(2 * (float)(turns - rint(turns)), &e.y, &e.x);
    return e;
}

__device__ inline double2 phase_of(double turns, double)
{
    double2 e;
    sincospi(2 * (turns - rint(turns)), &e.y, &e.x);
    return e;
}

/* The grid index of voxel n's frequency, n - N / 2, along one axis. */
__device__ inline int64_t frequency_index(int64_t n, int64_t voxels, int64_t grid)
{
    const int64_t frequency = n - voxels / 2;
    return frequency < 0 ? frequency + grid : frequency;
}

template <typename T>
__global__ void crop_grid(const crop_task<T> task, const typename precision<T>::complex *grid,
                          typename precision<T>::complex *image)
{
    const int64_t n = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (n >= task.voxels[0] * task.voxels[1] * task.voxels[2])
        return;
    const int64_t x = n % task.voxels[0], y = n / task.voxels[0] % task.voxels[1],
                  z = n / task.voxels[0] / task.voxels[1];
    const int64_t at = (frequency_index(z, task.voxels[2], task.grid[2]) * task.grid[1] +
                        frequency_index(y, task.voxels[1], task.grid[1])) *
                           task.grid[0] +
                       frequency_index(x, task.voxels[0], task.grid[0]);
    typename precision<T>::complex value = grid[at];
    const T scale = task.scale[0][x] * task.scale[1][y] * task.scale[2][z];
    value.x *= scale;
    value.y *= scale;
    if (task.field)
        value = times(value, phase_of(task.time * (double)task.field[n], T(0)));
    if (task.add) {
        value.x += image[n].x;
        value.y += image[n].y;
    }
    image[n] = value;
}

/* The voxel whose frequency is at grid index i, or -1 if there is none. */
__device__ inline int64_t voxel_index(int64_t i, int64_t voxels, int64_t grid)
{
    const int64_t frequency = i < voxels - voxels / 2 ? i : i - grid;
    return frequency >= -(voxels / 2) ? frequency + voxels / 2 : -1;
}

template <typename T>
__global__ void pad_image(const crop_task<T> task, const typename precision<T>::complex *image,
                          typename precision<T>::complex *grid)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= task.grid[0] * task.grid[1] * task.grid[2])
        return;
    const int64_t x = voxel_index(i % task.grid[0], task.voxels[0], task.grid[0]),
                  y = voxel_index(i / task.grid[0] % task.grid[1], task.voxels[1], task.grid[1]),
                  z = voxel_index(i / task.grid[0] / task.grid[1], task.voxels[2], task.grid[2]);
    typename precision<T>::complex value;
    value.x = value.y = 0;
    if (x >= 0 && y >= 0 && z >= 0) {
        const int64_t n = (z * task.voxels[1] + y) * task.voxels[0] + x;
        const T scale = task.scale[0][x] * task.scale[1][y] * task.scale[2][z];
        value = image[n];
        value.x *= scale;
        value.y *= scale;
        if (task.field)
            value = times(value, phase_of(task.time * (double)task.field[n], T(0)));
    }
    grid[i] = value;
}

} // namespace

#endif
