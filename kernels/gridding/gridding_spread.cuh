/* CUDA kernels of the adjoint NUFFT: samples to grid. Not installed.
 *
 * Where there is no better kernel (gridding_columns.cuh, gridding_tensor_spread.cuh), as in single precision in two
 * dimensions, a thread block takes a run of a tile's samples and keeps the tile's padded tile in shared memory
 * (gridding_bins.h). Each warp owns some of its planes, and adds to them what every sample has there; the lanes lie along
 * x, and on as many rows as a warp has room for. So no two threads add to the same point, all add in the samples' order,
 * and the same input gives the same bits, without atomics. In two dimensions, where a plane is one row, a block has
 * several copies of the padded tile, which take turns with the samples.
 *
 * The padded tiles go to scratch memory. A second kernel adds the runs of tiles that have several, a third gathers the
 * grid: each point adds, in a fixed order, the padded tiles that reach it.
 */
#ifndef VOXFIELD_GRIDDING_SPREAD_CUH
#define VOXFIELD_GRIDDING_SPREAD_CUH

#include "gridding_cuda.cuh"

namespace
{

template <typename T>
struct spread_task {
    kernel_table<T> table;
    const typename precision<T>::sample *samples;
    const typename precision<T>::complex *values, *factor; /* caller's order; sorted, or NULL */
    typename precision<T>::complex *scratch, *grid;
    const int32_t *tile_run; /* [tiles] */
    gridding_padded padded;
    bool tensor_cores;          /* see gridding_tensor.cuh */
    int grid_size[3], tiles[3]; /* along the padded tile's axes, as are the two below */
    int64_t grid_step[3];
    int tile_step[3];
};

enum { MOST_SPREAD_THREADS = 128, ADD_AT_A_TIME = 8 };

/* A thread that gathers points of a tile has one in each plane, or, if planes are rows, in some. */
enum { GATHER_THREADS = GRIDDING_TILE_X * GRIDDING_TILE_Y, GATHER_PLANES = GRIDDING_TILE_Z };

/* The sizes of a padded tile: constants for kernels of W points in two dimensions; W = 0 is for all others. */
template <int W>
struct spread_shape {
    enum { LANE_ROWS = W == 0 ? 1 : WARP / (W == 0 ? 1 : W) }; /* that a warp takes at a time */
    enum { KEPT_ROWS = 4 };                                    /* of a kernel, whose weights a lane keeps at a time */
    const gridding_padded &padded;

    static bool fits(const gridding_padded &padded, int degree)
    {
        return padded.axis[2] == 1 && padded.width[0] == W && padded.width[1] == 1 && padded.width[2] == W &&
               degree <= kernel_points<W>::DEGREE;
    }
    __device__ int width(int along) const
    {
        return W == 0 ? padded.width[along] : along == 1 ? 1 : W;
    }
    __device__ int pitch() const
    {
        return W == 0 ? padded.pitch : GRIDDING_TILE_X + W;
    }
    __device__ int plane() const
    {
        return W == 0 ? padded.plane : pitch();
    }
    __device__ int numbers() const /* of a sample's kernels along all axes; constant ones are left out */
    {
        return W == 0 ? padded.width[0] + padded.width[1] + padded.width[2] : 2 * W;
    }
    __device__ int copies() const
    {
        return W == 0 ? padded.copies : GRIDDING_FLAT_COPIES;
    }
    __device__ int copy_warps() const
    {
        return W == 0 ? padded.copy_warps : 1;
    }
    __device__ int lane_rows() const
    {
        return WARP / width(0);
    }
    __device__ int lane_planes() const
    {
        return lane_rows() > width(1) ? lane_rows() / width(1) : 1;
    }
};

template <typename T>
struct alignas(16) spread_sample {
    typename precision<T>::complex value;
    int at, plane; /* the kernel's first point in a plane, and its first plane */
};

template <typename T>
struct spread_batch {
    spread_sample<T> sample[GRIDDING_BATCH];
    T z[3 * GRIDDING_BATCH]; /* the kernel polynomials' variable, for each sample along its axes */
};

static_assert(sizeof(spread_batch<double>) <= 2 << 10, "gridding_pad_tile counts on it");

/* Sample `n` of the run becomes number `i` of the batch. */
template <typename T, int W>
__device__ void prepare_sample(const spread_task<T> &task, const int begin[3], uint32_t n, int i,
                               spread_batch<T> &batch)
{
    const bool flat = W > 0 || task.padded.axis[2] == 1;
    const int axes = W > 0 ? 2 : 3;
    const spread_shape<W> shape = {task.padded};
    const typename precision<T>::sample s = task.samples[n];
    typename precision<T>::complex value = task.values[s.index];
    if (task.factor)
        value = times(value, task.factor[n]);
    T *z = batch.z + axes * i;
    z[0] = 2 * s.offset[0] - 1;
    if (axes == 3)
        z[1] = 2 * (flat ? s.offset[2] : s.offset[1]) - 1;
    z[axes - 1] = 2 * (flat ? s.offset[1] : s.offset[2]) - 1;
    const int row = (flat ? s.start[2] : s.start[1]) - begin[1];
    batch.sample[i].value = value;
    batch.sample[i].at = row * shape.pitch() + s.start[0] - begin[0];
    batch.sample[i].plane = (flat ? s.start[1] : s.start[2]) - begin[2];
}

/* What a thread evaluates: the kernel's polynomial of one point. */
template <typename T, int W>
struct spread_polynomial {
    enum { LANES = kernel_points<W>::LANES };
    point_polynomial<T, W> polynomial;

    __device__ void load(const kernel_table<T> &table)
    {
        polynomial.load(table, min((int)(threadIdx.x % LANES), table.width - 1));
    }

    /* The kernels of the batch, for each sample the values along its axes. */
    __device__ void evaluate(int samples, const spread_batch<T> &batch, T *kernels) const
    {
        const int point = threadIdx.x % LANES;
        for (int i = threadIdx.x / LANES; i < samples * 2; i += blockDim.x / LANES) {
            const T value = polynomial.value(batch.z[i]);
            if (point < W)
                kernels[i * W + point] = value;
        }
    }
};

/* The same for any width. */
template <typename T>
struct spread_polynomial<T, 0> {
    const kernel_table<T> *table;
    const gridding_padded *padded;

    __device__ void evaluate(int samples, const spread_batch<T> &batch, T *kernels) const
    {
        const int *width = padded->width, numbers = width[0] + width[1] + width[2];
        for (int n = threadIdx.x; n < samples * numbers; n += blockDim.x) {
            const int i = n / numbers, j = n % numbers;
            const int a = j < width[0] ? 0 : j < width[0] + width[1] ? 1 : 2;
            const int point = j - (a > 0 ? width[0] : 0) - (a > 1 ? width[1] : 0);
            kernels[n] = horner(*table, polynomials_of(*table, padded->axis[a]) + point, batch.z[3 * i + a]);
        }
    }
};

/* The same number, in a register: the compiler would compute it again for each sample. */
__device__ inline int keep(int number)
{
    return __shfl_sync(0xffffffffu, number, threadIdx.x % WARP);
}

/* A lane's part in adding: points along x of rows that are lane_rows() apart, in planes. */
template <typename T, int W>
struct spread_lane {
    typedef typename precision<T>::complex C;
    enum { ROWS = spread_shape<W>::KEPT_ROWS };
    const spread_shape<W> shape;
    int x, row; /* row: width(1) and more for lanes without work */
    int point;  /* the first one in plane 0 */
    int ahead;  /* planes after the warp's first */
    int warp, copy;
    int low, high; /* the block's planes */

    __device__ spread_lane(const gridding_padded &padded, int part) : shape{padded}
    {
        const int of_lane = threadIdx.x % WARP / shape.width(0), planes = shape.lane_planes();
        const bool idle = of_lane >= (planes > 1 ? planes * shape.width(1) : shape.lane_rows());
        x = keep(threadIdx.x % WARP % shape.width(0));
        row = keep(idle ? shape.width(1) : planes > 1 ? of_lane % shape.width(1) : of_lane);
        ahead = keep(planes > 1 ? of_lane / shape.width(1) * shape.copy_warps() : 0);
        warp = keep(threadIdx.x / WARP % shape.copy_warps());
        copy = keep(threadIdx.x / WARP / shape.copy_warps());
        low = keep(part * padded.part_planes);
        high = keep(min(low + padded.part_planes, padded.planes));
        point = keep((copy * padded.part_planes - low + ahead) * shape.plane() + row * shape.pitch() + x);
    }

    __device__ bool has(int r, int k) const
    {
        return r + k * shape.lane_rows() < shape.width(1);
    }

    /* Adds a value, with weights from ky, along rows from r, and kz, for `planes` planes and more, to points from `to`. */
    __device__ void add_rows(int r, C value, const T *ky, const T *kz, int planes, C *to) const
    {
        const int rows = shape.lane_rows(), step = shape.lane_planes() * shape.copy_warps();
        C weight[ROWS];
#pragma unroll
        for (int k = 0; k < ROWS; k++) {
            const T y = has(r, k) ? ky[k * rows] : T(0);
            weight[k].x = y * value.x;
            weight[k].y = y * value.y;
        }
#pragma unroll 1
        for (; planes > 0; planes -= step, kz += step, to += step * shape.plane()) {
            const T z = *kz;
            C sum[ROWS];
#pragma unroll
            for (int k = 0; k < ROWS; k++)
                if (has(r, k))
                    sum[k] = to[k * rows * shape.pitch()];
#pragma unroll
            for (int k = 0; k < ROWS; k++)
                if (has(r, k)) {
                    sum[k].x = fma(weight[k].x, z, sum[k].x);
                    sum[k].y = fma(weight[k].y, z, sum[k].y);
                    to[k * rows * shape.pitch()] = sum[k];
                }
        }
    }

    /* The same in two dimensions: all rows, which are the planes, are loaded before the first is stored. `to`: in the
     * kernel's first row; `plane`: that row. */
    __device__ void add_flat(C value, const T *kz, int plane, C *to) const
    {
        enum { LANE_ROWS = spread_shape<W>::LANE_ROWS, ALL_ROWS = (W + LANE_ROWS - 1) / LANE_ROWS };
        C sum[ALL_ROWS];
        bool mine[ALL_ROWS];
#pragma unroll
        for (int k = 0; k < ALL_ROWS; k++) {
            const int at = ahead + k * LANE_ROWS;
            mine[k] = row == 0 && at < W && plane + at >= low && plane + at < high;
            if (mine[k])
                sum[k] = to[k * LANE_ROWS * shape.plane()];
        }
#pragma unroll
        for (int k = 0; k < ALL_ROWS; k++)
            if (mine[k]) {
                const T z = kz[k * LANE_ROWS];
                sum[k].x = fma(value.x, z, sum[k].x);
                sum[k].y = fma(value.y, z, sum[k].y);
                to[k * LANE_ROWS * shape.plane()] = sum[k];
            }
    }

    /* Adds the copy's samples of the batch to the planes that the warp has. */
    __device__ void add(const spread_batch<T> &batch, const T *kernels, int samples, C *points) const
    {
        const int all_warps = 32 * shape.copy_warps(); /* a multiple, larger than any plane's number */
        const T *kx = kernels + copy * shape.numbers() + x, *ky = kx - x + shape.width(0) + row,
                *kz = ky - row + (W > 0 ? 0 : shape.width(1)) + ahead;
        points += point;
        for (int i = copy; i < samples; i += shape.copies()) {
            const spread_sample<T> s = batch.sample[i];
            const int from = max(s.plane, low), end = min(s.plane + shape.width(2), high);
            const int first = from + (unsigned)(warp + all_warps - from) % (unsigned)shape.copy_warps();
            const T at_x = *kx;
            C value;
            value.x = s.value.x * at_x;
            value.y = s.value.y * at_x;
            if constexpr (W > 0) {
                add_flat(value, kz, s.plane, points + (s.plane * shape.plane() + s.at));
            } else if (first < end) {
                C *to = points + (first * shape.plane() + s.at);
                const T *from_z = kz + (first - s.plane);
                for (int r = row; r < shape.width(1); r += ROWS * shape.lane_rows())
                    add_rows(r, value, ky + (r - row), from_z, end - first - ahead, to + (r - row) * shape.pitch());
            }
            kx += shape.copies() * shape.numbers();
            ky += shape.copies() * shape.numbers();
            kz += shape.copies() * shape.numbers();
            __syncwarp();
        }
    }
};

template <typename T, int W>
__device__ spread_polynomial<T, W> polynomial_of(const spread_task<T> &task)
{
    spread_polynomial<T, W> polynomial;
    if constexpr (W == 0)
        polynomial = {&task.table, &task.padded};
    else
        polynomial.load(task.table);
    return polynomial;
}

/* Moves the sum of the copies to the run's slot, or adds it to what is there, and clears them. */
template <typename T>
__device__ void flush_points(const gridding_padded &padded, int points, bool again,
                             typename precision<T>::complex *from, typename precision<T>::complex *to)
{
    typedef typename precision<T>::complex C;
    const int copy = padded.part_planes * padded.plane;
    __syncthreads();
    for (int i = threadIdx.x; i < points; i += blockDim.x) {
        C sum = from[i];
        for (int c = 1; c < padded.copies; c++) {
            sum.x += from[c * copy + i].x;
            sum.y += from[c * copy + i].y;
        }
        if (again) {
            sum.x += to[i].x;
            sum.y += to[i].y;
        }
        to[i] = sum;
        for (int c = 0; c < padded.copies; c++)
            from[c * copy + i].x = from[c * copy + i].y = 0;
    }
}

/* One block per run and part of its padded tile. */
template <typename T, int W>
__global__ void __launch_bounds__(MOST_SPREAD_THREADS) spread_runs(const spread_task<T> task, const gridding_run *runs)
{
    typedef typename precision<T>::complex C;
    extern __shared__ uint4 dynamic[]; /* the batch; the copies of the padded tile; the batch's kernels */
    const gridding_padded &padded = task.padded;
    spread_batch<T> &batch = *reinterpret_cast<spread_batch<T> *>(dynamic);
    C *points = reinterpret_cast<C *>(&batch + 1);
    const int copy_points = padded.part_planes * padded.plane, all_points = padded.copies * copy_points;
    T *kernels = reinterpret_cast<T *>(points + all_points);
    const gridding_run run = runs[blockIdx.x];
    int begin[3];
#pragma unroll
    for (int a = 0; a < 3; a++)
        begin[a] = (int)(run.tile / task.tile_step[a] % task.tiles[a]) * padded.size[a];
    const spread_lane<T, W> lane(padded, blockIdx.y);
    const int own_points = (lane.high - lane.low) * padded.plane;
    C *to = task.scratch + (int64_t)run.slot * padded.points + lane.low * padded.plane;
    for (int i = threadIdx.x; i < all_points; i += blockDim.x)
        points[i].x = points[i].y = 0;
    for (uint32_t n = run.first; n < run.last; n += GRIDDING_BATCH) {
        const int samples = min((int)(run.last - n), (int)GRIDDING_BATCH);
        if ((n - run.first) % GRIDDING_PIECE == 0 && n > run.first)
            flush_points<T>(padded, own_points, n > run.first + GRIDDING_PIECE, points, to);
        __syncthreads();
        if ((int)threadIdx.x < samples)
            prepare_sample<T, W>(task, begin, n + threadIdx.x, threadIdx.x, batch);
        __syncthreads();
        polynomial_of<T, W>(task).evaluate(samples, batch, kernels);
        __syncthreads();
        lane.add(batch, kernels, samples, points);
    }
    flush_points<T>(padded, own_points, run.last > run.first + GRIDDING_PIECE, points, to);
}

/* Adds the runs of split tiles into the slot of the first. Blocks: `blocks` for each split tile. */
template <typename T>
__global__ void add_runs(const spread_task<T> task, const gridding_split *splits, int blocks, int first_slot)
{
    typedef typename precision<T>::complex C;
    const gridding_split split = splits[blockIdx.x / blocks];
    const int i = blockIdx.x % blocks * blockDim.x + threadIdx.x, first = split.first_run - first_slot,
              runs = split.runs;
    if (i >= task.padded.points)
        return;
    C *to = task.scratch + (int64_t)first * task.padded.points + i, sum = *to;
    for (int r = 1; r < runs; r += ADD_AT_A_TIME) {
        C next[ADD_AT_A_TIME];
#pragma unroll
        for (int k = 0; k < ADD_AT_A_TIME; k++)
            if (r + k < runs)
                next[k] = to[(int64_t)(r + k) * task.padded.points];
#pragma unroll
        for (int k = 0; k < ADD_AT_A_TIME; k++)
            if (r + k < runs) {
                sum.x += next[k].x;
                sum.y += next[k].y;
            }
    }
    *to = sum;
}

/* The tiles along one axis whose padded tiles reach a tile: itself, and those before it. The last tile may be smaller than
 * others; before the first one comes the last. */
struct reaching_tiles {
    enum { MOST = 16 };
    int tile[MOST], ahead[MOST]; /* points from the reaching tile's first to the tile's */
    int count;
};

__device__ inline void find_reaching(int tile, int tiles, int size, int width, int grid, reaching_tiles &out)
{
    out.count = 0;
    for (int ahead = 0; ahead < size + width - 1 && out.count < reaching_tiles::MOST;) {
        out.tile[out.count] = tile;
        out.ahead[out.count++] = ahead;
        ahead += tile > 0 ? size : grid - (tiles - 1) * size;
        tile = tile > 0 ? tile - 1 : tiles - 1;
    }
}

/* Grid points from the padded tiles of a chunk: sets them, or adds to them. A block for each tile, of layers along the
 * last axis from `layer`. Its threads lie along x, rows and perhaps planes; each has up to GATHER_PLANES points. */
template <typename T>
__global__ void __launch_bounds__(GATHER_THREADS)
    gather_tiles(const spread_task<T> task, int first_run, unsigned runs, int layer, bool add)
{
    typedef typename precision<T>::complex C;
    __shared__ reaching_tiles reaching[3];
    const gridding_padded &padded = task.padded;
    const int *size = padded.size, in_layer = task.tiles[0] * task.tiles[1], block = blockIdx.x % in_layer;
    const int tile[3] = {block % task.tiles[0], block / task.tiles[0],
                         (layer + (int)blockIdx.x / in_layer) % task.tiles[2]};
#pragma unroll
    for (int a = 0; a < 3; a++)
        if (threadIdx.x == WARP * a)
            find_reaching(tile[a], task.tiles[a], size[a], padded.width[a], task.grid_size[a], reaching[a]);
    __syncthreads();
    const int points = size[0] * size[1], step = GATHER_THREADS / points;
    const int x = threadIdx.x % size[0], y = threadIdx.x % points / size[0], z = threadIdx.x / points;
    C sum[GATHER_PLANES];
#pragma unroll
    for (int k = 0; k < GATHER_PLANES; k++)
        sum[k].x = sum[k].y = 0;
    bool reached = false;
    for (int ez = 0; ez < reaching[2].count; ez++)
        for (int ey = 0; ey < reaching[1].count; ey++)
            for (int ex = 0; ex < reaching[0].count; ex++) {
                const unsigned slot =
                    (unsigned)(task.tile_run[reaching[0].tile[ex] + reaching[1].tile[ey] * task.tile_step[1] +
                                             reaching[2].tile[ez] * task.tile_step[2]] -
                               first_run);
                if (slot >= runs) /* of another chunk, or none */
                    continue;
                const int at_x = x + reaching[0].ahead[ex], at_y = y + reaching[1].ahead[ey],
                          at_z = z + reaching[2].ahead[ez];
                if (at_x >= size[0] + padded.width[0] - 1 || at_y >= padded.rows)
                    continue;
                reached = true;
                const C *from =
                    task.scratch + (int64_t)slot * padded.points + at_z * padded.plane + at_y * padded.pitch + at_x;
#pragma unroll
                for (int k = 0; k < GATHER_PLANES; k++)
                    if (z + k * step < size[2] && at_z + k * step < padded.planes) {
                        const C value = from[k * step * padded.plane];
                        sum[k].x += value.x;
                        sum[k].y += value.y;
                    }
            }
    const int grid_x = tile[0] * size[0] + x, grid_y = tile[1] * size[1] + y;
    if (grid_x >= task.grid_size[0] || grid_y >= task.grid_size[1] || (add && !reached))
        return;
#pragma unroll
    for (int k = 0; k < GATHER_PLANES; k++) {
        const int in_tile = z + k * step, grid_z = tile[2] * size[2] + in_tile;
        if (in_tile >= size[2] || grid_z >= task.grid_size[2])
            continue;
        C *to = task.grid + grid_x * task.grid_step[0] + grid_y * task.grid_step[1] + grid_z * task.grid_step[2];
        if (add) {
            sum[k].x += to->x;
            sum[k].y += to->y;
        }
        *to = sum[k];
    }
}

} // namespace

#endif
