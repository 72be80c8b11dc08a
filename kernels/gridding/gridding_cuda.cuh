/* CUDA kernels of the NUFFT: between samples and grid, and between grid and voxels. Not installed.
 *
 * Adjoint. A thread block owns a tile of grid points; each thread owns one row of the tile along x, in registers. The
 * block visits the samples of the tile's walk (gridding_walk.cuh): their kernels along x lie in shared memory, with zeros
 * where they do not reach, and are the same for all rows. In two dimensions a tile has TILE_Z copies: each takes every
 * TILE_Z-th visit, and they are added at the end, in order. No two threads add to the same point and there are no
 * atomics, so the same input gives the same bits. Every tile that a sample's kernel reaches visits the sample (about 5
 * tiles for width 8), but each of the width^3 terms is computed once. Where samples are dense (the centre of a radial
 * scan), several blocks share a walk: it is cut into pieces of GRIDDING_PIECE visits, and a second kernel adds the
 * pieces' tiles in order.
 *
 * Forward. A group of lanes computes one sample; they run along x, and take one row after the other. Grid points come
 * through the L2 cache, because neighbouring groups have neighbouring samples.
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
    HALF = TILE_X / 2,
    TILE_POINTS = TILE_X * TILE_ROWS,
    WARP = 32,
    SAMPLE_WARPS = 8,
    POINT_THREADS = 256
};

template <typename T>
struct precision;
template <>
struct precision<float> {
    enum { VISITS = TILE_ROWS }; /* prepared at a time, one by each thread */
    typedef float2 complex;
    typedef gridding_sample_f32 sample;
};
template <>
struct precision<double> {
    enum { VISITS = TILE_ROWS };
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
    int kernel_width, degree, kernel_pitch; /* pitch: see kernel_pitch_of */
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

/* Numbers that are read together. */
template <typename T>
struct alignas(16) quad {
    enum { COUNT = 16 / sizeof(T) };
    T value[COUNT];
};

/* A visit's kernels: the tile's points along x, then the kernel's along y and z. Visits begin at multiples of 16 bytes,
 * odd ones, so that they begin in different banks. */
template <typename T>
int kernel_pitch_of(int width)
{
    const int numbers = TILE_X + 2 * width, quads = (numbers + quad<T>::COUNT - 1) / quad<T>::COUNT;
    return (quads | 1) * quad<T>::COUNT;
}

/* The samples that a block is visiting. */
template <typename T>
struct visit_batch {
    typename precision<T>::complex value[precision<T>::VISITS];
    int start[precision<T>::VISITS][3]; /* relative to the tile */
};

/* Each thread prepares one visit. */
template <typename T>
__device__ void prepare_visit(const spread_task<T> &task, const visit_range *ranges, int count, uint32_t visit,
                              visit_batch<T> &batch, T *kernels)
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
    T *kernel = kernels + threadIdx.x * task.kernel_pitch;
    for (int i = 0; i < TILE_X; i++)
        kernel[i] = 0;
    for (int a = 0; a < 3; a++) {
        const int start = s.start[a] + r.shift[a];
        const T *table = task.table + a * (task.degree + 1) * task.kernel_width;
        batch.start[threadIdx.x][a] = start;
        for (int j = 0; j < task.width[a]; j++) {
            const int at = a == 0 ? start + j : TILE_X + (a - 1) * task.kernel_width + j;
            if (a > 0 || (at >= 0 && at < TILE_X))
                kernel[at] = horner(table, task.degree, task.kernel_width, j, 2 * s.offset[a] - 1);
        }
    }
}

/* A thread's row of the tile. */
template <typename T>
struct tile_row {
    T re[TILE_X], im[TILE_X];
};

/* Adds a visit to one half of the row. */
template <typename T>
__device__ void add_half(const T *kernel, typename precision<T>::complex value, int first, tile_row<T> &row)
{
    const quad<T> *from = reinterpret_cast<const quad<T> *>(kernel + first);
#pragma unroll
    for (int q = 0; q < HALF / quad<T>::COUNT; q++) {
        const quad<T> k = from[q];
#pragma unroll
        for (int i = 0; i < quad<T>::COUNT; i++) {
            const int at = first + q * quad<T>::COUNT + i;
            row.re[at] = fma(value.x, k.value[i], row.re[at]);
            row.im[at] = fma(value.y, k.value[i], row.im[at]);
        }
    }
}

/* Adds the visits to the thread's row; in two dimensions, those of its copy of the tile. */
template <typename T>
__device__ void add_visits(const spread_task<T> &task, const visit_batch<T> &batch, const T *kernels, int visits,
                           tile_row<T> &row)
{
    const bool flat = task.grid_size[2] == 1;
    const int y = threadIdx.x % TILE_Y, z = threadIdx.x / TILE_Y;
    for (int v = flat ? z : 0; v < visits; v += flat ? (int)TILE_Z : 1) {
        const int dy = y - batch.start[v][1], dz = flat ? 0 : z - batch.start[v][2], x = batch.start[v][0];
        if (dy < 0 || dy >= task.width[1] || dz < 0 || dz >= task.width[2])
            continue;
        const T *kernel = kernels + v * task.kernel_pitch;
        const T weight = kernel[TILE_X + dy] * kernel[TILE_X + task.kernel_width + dz];
        typename precision<T>::complex value = batch.value[v];
        value.x *= weight;
        value.y *= weight;
        if (x < HALF)
            add_half<T>(kernel, value, 0, row);
        if (x + task.width[0] > HALF)
            add_half<T>(kernel, value, HALF, row);
    }
}

template <typename T>
__global__ void __launch_bounds__(TILE_ROWS) spread_tiles(const spread_task<T> task, const gridding_piece *pieces)
{
    typedef typename precision<T>::complex C;
    __shared__ visit_batch<T> batch;
    __shared__ visit_range ranges[MOST_RANGES];
    extern __shared__ uint4 dynamic[]; /* the visits' kernels; at the end, the tile */
    T *kernels = reinterpret_cast<T *>(dynamic);
    C *tile = reinterpret_cast<C *>(dynamic);
    const gridding_piece piece = pieces[blockIdx.x];
    const tile_walk walk = walk_of(task.grid_size, task.tiles, task.width, (int)piece.tile);
    const int count = walk_ranges(walk);
    tile_row<T> row;
#pragma unroll
    for (int i = 0; i < TILE_X; i++)
        row.re[i] = row.im[i] = 0;
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
                prepare_visit(task, ranges, count, v + threadIdx.x, batch, kernels);
            __syncthreads();
            add_visits(task, batch, kernels, visits, row);
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < TILE_X; i++) {
        tile[threadIdx.x * TILE_PITCH + i].x = row.re[i];
        tile[threadIdx.x * TILE_PITCH + i].y = row.im[i];
    }
    __syncthreads();
    const int copies = task.grid_size[2] == 1 ? (int)TILE_Z : 1, points = TILE_POINTS / copies;
    for (int i = threadIdx.x; i < points; i += TILE_ROWS) {
        C value = tile[i / TILE_X * TILE_PITCH + i % TILE_X];
        for (int c = 1; c < copies; c++) {
            const C other = tile[(i / TILE_X + c * TILE_Y) * TILE_PITCH + i % TILE_X];
            value.x += other.x;
            value.y += other.y;
        }
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
        if (x >= task.grid_size[0] || y >= task.grid_size[1] || z >= task.grid_size[2])
            continue;
        for (int p = 0; p < split.pieces; p++) {
            const C value = task.scratch[(int64_t)(split.slot + p) * TILE_POINTS + i];
            sum.x += value.x;
            sum.y += value.y;
        }
        task.grid[((int64_t)z * task.grid_size[1] + y) * task.grid_size[0] + x] = sum;
    }
}

/* ---- forward ---- */

/* LANES: lanes of a group, along x; a power of two and at least the kernel's width. */
template <typename T, int LANES>
__global__ void __launch_bounds__(WARP *SAMPLE_WARPS)
    interpolate_samples(const spread_task<T> task, typename precision<T>::complex *out, int64_t samples, bool add)
{
    typedef typename precision<T>::complex C;
    const unsigned all = 0xffffffffu;
    const int along = threadIdx.x % LANES;
    const int64_t wanted = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / LANES;
    const int64_t n = wanted < samples ? wanted : samples - 1; /* all lanes take part in the exchanges */
    const typename precision<T>::sample s = task.samples[n];
    const int stride = (task.degree + 1) * task.kernel_width, j = min(along, task.kernel_width - 1);
    const T *table = task.table;
    const T kx = along < task.width[0] ? horner(table, task.degree, task.kernel_width, j, 2 * s.offset[0] - 1) : T(0);
    const T ky = horner(table + stride, task.degree, task.kernel_width, j, 2 * s.offset[1] - 1);
    const T kz = horner(table + 2 * stride, task.degree, task.kernel_width, j, 2 * s.offset[2] - 1);
    int x = s.start[0] + (along < task.width[0] ? along : 0);
    x = x >= task.grid_size[0] ? x - task.grid_size[0] : x;
    T re = 0, im = 0;
    for (int dz = 0; dz < task.width[2]; dz++) {
        const T wz = __shfl_sync(all, kz, dz, LANES);
        int z = s.start[2] + dz;
        z = z >= task.grid_size[2] ? z - task.grid_size[2] : z;
        const C *plane = task.grid + (int64_t)z * task.grid_size[1] * task.grid_size[0] + x;
#pragma unroll 4
        for (int dy = 0; dy < task.width[1]; dy++) {
            const T weight = wz * __shfl_sync(all, ky, dy, LANES);
            int y = s.start[1] + dy;
            y = y >= task.grid_size[1] ? y - task.grid_size[1] : y;
            const C value = plane[(int64_t)y * task.grid_size[0]];
            re = fma(weight, value.x, re);
            im = fma(weight, value.y, im);
        }
    }
    re *= kx;
    im *= kx;
    for (int distance = LANES / 2; distance > 0; distance /= 2) {
        re += __shfl_xor_sync(all, re, distance);
        im += __shfl_xor_sync(all, im, distance);
    }
    if (along != 0 || wanted >= samples)
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
