/* CUDA kernels of the forward NUFFT: grid to samples. Not installed.
 *
 * Where samples are dense, a thread block takes a run of a tile's samples and copies the tile's padded tile to shared
 * memory (gridding_bins.h), of several vectors in two dimensions. A group of lanes computes one sample: they lie along x
 * and on as many rows as shared memory serves at a time without conflicts of banks. They take these rows plane by plane.
 *
 * Where samples are sparse, or the padded tile is too large, lanes lie along x and read the grid through the caches.
 */
#ifndef VOXFIELD_GRIDDING_INTERPOLATE_CUH
#define VOXFIELD_GRIDDING_INTERPOLATE_CUH

#include "backend/launch_blocks.h"
#include "gridding_cuda.cuh"

namespace
{

/* How the grids' samples are computed, for vectors [vectors] of grids and of samples. */
template <typename T>
struct interpolate_task {
    typedef typename precision<T>::complex complex;
    kernel_table<T> table;
    const typename precision<T>::sample *samples;
    const complex *factor, *grid; /* factor: sorted, or NULL */
    complex *out;                 /* [vectors][count], the caller's order */
    int64_t count, grid_points;
    int grid_size[3], width[3], tiles[3];
    int vectors, together; /* together: whose tiles a block has at a time */
    bool add;              /* to what `out` has */
};

/* Writes or adds the value of sorted sample `n`. */
template <typename T>
__device__ void put_value(const interpolate_task<T> &task, int vector, int64_t n, uint32_t index,
                          typename precision<T>::complex value)
{
    typename precision<T>::complex *to = task.out + vector * task.count + index;
    if (task.factor) {
        typename precision<T>::complex factor = task.factor[n];
        factor.y = -factor.y;
        value = times(value, factor);
    }
    if (task.add) {
        value.x += to->x;
        value.y += to->y;
    }
    *to = value;
}

/* ---- dense samples ---- */

/* With two columns, a lane has two points along x, and fewer lanes exchange kernels and sums. That is worth it where a
 * sample has few rows. */
template <typename T, int W, bool FLAT>
struct interpolate_shape {
    enum {
        AT_A_TIME = 128 / (2 * sizeof(T)), /* points that shared memory serves in one cycle */
        COLUMNS = FLAT && kernel_points<W>::LANES > AT_A_TIME ? 2 : 1,
        LANES_X = kernel_points<W>::LANES / COLUMNS,
        LANES_Y = FLAT || LANES_X >= AT_A_TIME ? 1 : AT_A_TIME / LANES_X,
        LANES = LANES_X * LANES_Y,
        ROWS = (W + LANES_Y - 1) / LANES_Y, /* of a lane in each plane */
        TILE_ROW = GRIDDING_TILE_X + W - 1,
        TILE_ROWS = GRIDDING_TILE_Y + W - 1,
        PLANES = FLAT ? 1 : GRIDDING_TILE_Z + W - 1,
        /* Rows that are read together lie in different banks. */
        PITCH = LANES_Y == 1 ? TILE_ROW : TILE_ROW + (LANES_X + AT_A_TIME - TILE_ROW % AT_A_TIME) % AT_A_TIME,
        PLANE = PITCH * TILE_ROWS,
        POINTS = PLANE * PLANES,
        MOST_THREADS = FLAT ? 256 : 512
    };
};

__device__ inline int wrapped(int i, int size)
{
    while (i >= size)
        i -= size;
    return i;
}

/* Copies the padded tile that begins at `begin`, a warp for each row. */
template <typename T, int W, bool FLAT>
__device__ void fetch_tile(const interpolate_task<T> &task, const int begin[3],
                           const typename precision<T>::complex *grid, typename precision<T>::complex *points)
{
    typedef interpolate_shape<T, W, FLAT> shape;
    static_assert(shape::TILE_ROW <= WARP, "a lane for each point of a row");
    const int lane = threadIdx.x % WARP, x = wrapped(begin[0] + lane, task.grid_size[0]);
    if (lane >= shape::TILE_ROW)
        return;
#pragma unroll 4
    for (int r = threadIdx.x / WARP; r < shape::TILE_ROWS * shape::PLANES; r += blockDim.x / WARP) {
        const int y = r % shape::TILE_ROWS, z = r / shape::TILE_ROWS, grid_y = wrapped(begin[1] + y, task.grid_size[1]),
                  grid_z = FLAT ? 0 : wrapped(begin[2] + z, task.grid_size[2]);
        points[z * shape::PLANE + y * shape::PITCH + lane] =
            __ldg(grid + ((int64_t)grid_z * task.grid_size[1] + grid_y) * task.grid_size[0] + x);
    }
}

/* What the lanes of a group do for their sample: kernels along all axes, and sums over a padded tile. */
template <typename T, int W, bool FLAT>
struct interpolate_lane {
    typedef typename precision<T>::complex C;
    typedef interpolate_shape<T, W, FLAT> shape;
    enum { ALL = 0xffffffffu, COLUMNS = shape::COLUMNS };
    int point[COLUMNS]; /* along x and of the polynomial */
    int row, last;      /* the first row in a plane; from there to where the last is */
    bool has_x[COLUMNS], has_last;
    point_polynomial<T, W> polynomial[COLUMNS];
    T kx[COLUMNS], kz, ky[shape::ROWS];

    __device__ explicit interpolate_lane(const kernel_table<T> &table)
    {
        const int x = threadIdx.x % shape::LANES_X;
        row = threadIdx.x % shape::LANES / shape::LANES_X;
        const int wanted = row + (shape::ROWS - 1) * shape::LANES_Y;
        has_last = wanted < W;
        last = (min(wanted, W - 1) - row) * shape::PITCH;
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) {
            point[c] = min(x + c * shape::LANES_X, W - 1);
            has_x[c] = x + c * shape::LANES_X < W;
            polynomial[c].load(table, point[c]);
        }
    }

    template <typename Sample>
    __device__ void set_kernels(const Sample &s)
    {
        T along_y[COLUMNS];
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) {
            along_y[c] = polynomial[c].value(2 * s.offset[1] - 1);
            kx[c] = has_x[c] ? polynomial[c].value(2 * s.offset[0] - 1) : T(0);
        }
        if (!FLAT)
            kz = polynomial[0].value(2 * s.offset[2] - 1);
#pragma unroll
        for (int k = 0; k < shape::ROWS; k++) {
            const int c = COLUMNS > 1 ? k / shape::LANES_X : 0, before = c * shape::LANES_X;
            const T value = __shfl_sync(ALL, along_y[c], min(row + k * shape::LANES_Y, W - 1) - before, shape::LANES_X);
            ky[k] = k < shape::ROWS - 1 || has_last ? value : T(0);
        }
    }

    /* The lane's part of the sample's value. `from`: the kernel's first point in the padded tile. */
    __device__ C own_sum(const C *from) const
    {
        C all[COLUMNS] = {}, sum = {};
        from += row * shape::PITCH;
#pragma unroll 2
        for (int dz = 0; dz < (FLAT ? 1 : W); dz++, from += shape::PLANE) {
            C plane[COLUMNS] = {};
#pragma unroll
            for (int k = 0; k < shape::ROWS; k++)
#pragma unroll
                for (int c = 0; c < COLUMNS; c++) {
                    const C value = from[point[c] + (k < shape::ROWS - 1 ? k * shape::LANES_Y * shape::PITCH : last)];
                    plane[c].x = fma(ky[k], value.x, plane[c].x);
                    plane[c].y = fma(ky[k], value.y, plane[c].y);
                }
            const T weight = FLAT ? T(1) : __shfl_sync(ALL, kz, dz, shape::LANES_X);
#pragma unroll
            for (int c = 0; c < COLUMNS; c++) {
                all[c].x = fma(weight, plane[c].x, all[c].x);
                all[c].y = fma(weight, plane[c].y, all[c].y);
            }
        }
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) {
            sum.x = fma(kx[c], all[c].x, sum.x);
            sum.y = fma(kx[c], all[c].y, sum.y);
        }
        return sum;
    }

    /* The sample's value, the same in all lanes of the group. */
    __device__ C sum(const C *from) const
    {
        C all = own_sum(from);
        for (int distance = shape::LANES / 2; distance > 0; distance /= 2) {
            all.x += __shfl_xor_sync(ALL, all.x, distance);
            all.y += __shfl_xor_sync(ALL, all.y, distance);
        }
        return all;
    }
};

/* One block per run and `together` vectors. */
template <typename T, int W, bool FLAT>
__global__ void __launch_bounds__(interpolate_shape<T, W, FLAT>::MOST_THREADS)
    interpolate_runs(const interpolate_task<T> task, const gridding_run *runs)
{
    typedef typename precision<T>::complex C;
    typedef interpolate_shape<T, W, FLAT> shape;
    extern __shared__ uint4 dynamic[]; /* the padded tiles */
    C *points = reinterpret_cast<C *>(dynamic);
    const gridding_run run = runs[blockIdx.x];
    const int count = (int)(run.last - run.first), tile = (int)run.tile, first_vector = blockIdx.y * task.together,
              vectors = min(task.together, task.vectors - first_vector);
    const int begin[3] = {tile % task.tiles[0] * GRIDDING_TILE_X,
                          tile / task.tiles[0] % task.tiles[1] * GRIDDING_TILE_Y,
                          tile / task.tiles[0] / task.tiles[1] * GRIDDING_TILE_Z};
    for (int v = 0; v < vectors; v++)
        fetch_tile<T, W, FLAT>(task, begin, task.grid + (first_vector + v) * task.grid_points,
                               points + v * shape::POINTS);
    __syncthreads();
    interpolate_lane<T, W, FLAT> lane(task.table);
    const typename precision<T>::sample *samples = task.samples + run.first;
    const int groups = blockDim.x / shape::LANES, group = threadIdx.x / shape::LANES,
              of_group = threadIdx.x % shape::LANES;
    typename precision<T>::sample next = load_sample(samples + min(group, count - 1));
    for (int from = 0; from < count; from += groups) { /* all lanes take part in the exchanges */
        const typename precision<T>::sample s = next;
        const int i = from + group;
        next = load_sample(samples + min(i + groups, count - 1));
        lane.set_kernels(s);
        const C *at = points + (FLAT ? 0 : (s.start[2] - begin[2]) * shape::PLANE) +
                      (s.start[1] - begin[1]) * shape::PITCH + (s.start[0] - begin[0]);
        C own;
        own.x = own.y = 0;
        for (int v = 0; v < vectors; v++) {
            const C sum = lane.sum(at + v * shape::POINTS);
            own = v == of_group ? sum : own;
        }
        if (of_group < vectors && i < count)
            put_value(task, first_vector + of_group, run.first + (int64_t)i, s.index, own);
    }
}

/* ---- sparse samples ---- */

enum { SAMPLE_WARPS = 8 };

/* LANES: lanes of a group, along x; a power of two and at least the kernel's width. */
template <typename T, int LANES>
__global__ void __launch_bounds__(WARP *SAMPLE_WARPS) interpolate_samples(const interpolate_task<T> task)
{
    typedef typename precision<T>::complex C;
    const unsigned all = 0xffffffffu;
    const int along = threadIdx.x % LANES;
    const int64_t wanted = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / LANES;
    const int64_t n = wanted < task.count ? wanted : task.count - 1; /* all lanes take part in the exchanges */
    const C *grid = task.grid + blockIdx.y * task.grid_points;
    const typename precision<T>::sample s = task.samples[n];
    const int j = min(along, task.table.width - 1);
    const T kx =
        along < task.width[0] ? horner(task.table, polynomials_of(task.table, 0) + j, 2 * s.offset[0] - 1) : T(0);
    const T ky = horner(task.table, polynomials_of(task.table, 1) + j, 2 * s.offset[1] - 1);
    const T kz = horner(task.table, polynomials_of(task.table, 2) + j, 2 * s.offset[2] - 1);
    int x = s.start[0] + (along < task.width[0] ? along : 0);
    x = x >= task.grid_size[0] ? x - task.grid_size[0] : x;
    T re = 0, im = 0;
    for (int dz = 0; dz < task.width[2]; dz++) {
        const T wz = __shfl_sync(all, kz, dz, LANES);
        int z = s.start[2] + dz;
        z = z >= task.grid_size[2] ? z - task.grid_size[2] : z;
        const C *plane = grid + (int64_t)z * task.grid_size[1] * task.grid_size[0] + x;
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
    if (along != 0 || wanted >= task.count)
        return;
    C value;
    value.x = re;
    value.y = im;
    put_value(task, blockIdx.y, n, s.index, value);
}

/* ---- launches ---- */

/* The runs of all samples, and the shared memory that a block may have. */
struct interpolate_runs_of {
    const gridding_run *runs;
    int64_t count;
    int most_shared;
};

/* With tiles, if there is a kernel for the width, if its tile fits, and if its points are used twice and more. */
template <typename T, int W, bool FLAT>
bool launch_tiles(interpolate_task<T> task, const interpolate_runs_of &of, cudaStream_t stream, cudaError_t *error)
{
    typedef interpolate_shape<T, W, FLAT> shape;
    const int LITTLE = 32 << 10, LARGE = 100 << 10; /* of shared memory; with LARGE ones, few blocks run together */
    const int tile = shape::POINTS * 2 * (int)sizeof(T), least = tile < LITTLE ? LITTLE / tile : 1,
              most = task.vectors < shape::LANES ? task.vectors : (int)shape::LANES;
    if (task.width[0] != W || task.width[1] != W || task.width[2] != (FLAT ? 1 : W) || tile > of.most_shared ||
        task.table.degree > kernel_points<W>::DEGREE ||
        (double)of.count * shape::POINTS > 0.5 * (double)task.count * W * W * (FLAT ? 1 : W))
        return false;
    task.together = least < most ? least : most;
    const int shared = task.together * tile, threads = shared > LARGE ? (int)shape::MOST_THREADS : 256;
    const dim3 blocks(vf_blocks_for(of.count, 1), (unsigned)((task.vectors + task.together - 1) / task.together));
    *error = cudaFuncSetAttribute(interpolate_runs<T, W, FLAT>, cudaFuncAttributeMaxDynamicSharedMemorySize, shared);
    if (*error == cudaSuccess) {
        interpolate_runs<T, W, FLAT><<<blocks, threads, shared, stream>>>(task, of.runs);
        *error = cudaGetLastError();
    }
    return true;
}

template <typename T, int LEAST, int MOST>
bool launch_any_tiles(const interpolate_task<T> &task, const interpolate_runs_of &of, cudaStream_t stream,
                      cudaError_t *error)
{
    if constexpr (LEAST > MOST)
        return false;
    else
        return launch_tiles<T, LEAST, true>(task, of, stream, error) ||
               launch_tiles<T, LEAST, false>(task, of, stream, error) ||
               launch_any_tiles<T, LEAST + 1, MOST>(task, of, stream, error);
}

template <typename T, int LANES>
void launch_samples(const interpolate_task<T> &task, cudaStream_t stream)
{
    const int threads = WARP * SAMPLE_WARPS;
    const dim3 blocks(vf_blocks_for(task.count, threads / LANES), (unsigned)task.vectors);
    interpolate_samples<T, LANES><<<blocks, threads, 0, stream>>>(task);
}

template <typename T>
cudaError_t launch_interpolate(const interpolate_task<T> &task, const interpolate_runs_of &of, cudaStream_t stream)
{
    const int width = task.table.width;
    cudaError_t error = cudaSuccess;
    if (task.count == 0 ||
        launch_any_tiles<T, precision<T>::LEAST_WIDTH, precision<T>::MOST_WIDTH>(task, of, stream, &error))
        return error;
    if (width <= 4)
        launch_samples<T, 4>(task, stream);
    else if (width <= 8)
        launch_samples<T, 8>(task, stream);
    else if (width <= 16)
        launch_samples<T, 16>(task, stream);
    else
        launch_samples<T, 32>(task, stream);
    return cudaGetLastError();
}

} // namespace

#endif
