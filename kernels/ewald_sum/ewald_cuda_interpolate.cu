/* From a mesh to the points of another lattice, by its window, along z, y and x in turn. A block computes a tile of
 * targets: what it has interpolated along z, and then along y, stays in shared memory. A target's arithmetic depends on
 * the target alone, so its bits depend neither on the box nor on the tile. */
#include "ewald_cuda.cuh"

namespace vf_ewald_gpu
{
namespace
{

using namespace vf_bin_order;

enum { MOST_TILE_X = 32, MOST_TILE_Y = 8, MOST_TILE_Z = 8, AT_A_TIME = 4, MOST_SHARED = 47 * 1024 };

template <typename T, typename U>
struct interpolation {
    const T *mesh;
    int32_t mesh_n[3];
    bool periodic, skewed, add;
    int width;
    double first[3], step[3][3];
    vf_prolate_powers window;
    int64_t lo[3]; /* the box's first target */
    int32_t count[3], tile[3], tiles[3];
    int32_t extent[3]; /* mesh points that a tile's windows cover along each axis, with some to spare */
    U *out;
    int64_t row, plane;
};

/* A block's shared memory. Windows along z and y are those of up to 8 targets at each point of the extent, 0 where they
 * do not reach, so that a thread reads a point once for all targets; along y, and bases, those of each z if coordinates
 * depend on other axes. */
template <typename T>
struct shared_parts {
    T *along_z, *along_y; /* [tile z][extent y][extent x], [tile z][tile y][extent x] */
    T *wz, *wy, *wx;      /* [extent z][8], [z or 1][extent y][8], [width][tile x] */
    int64_t *planes;      /* [extent z + 1] where planes of the mesh begin; the compiler reads one ahead */
    int *xs;              /* [tile x] the first point of each window */
    int *base_y, *base_x; /* [z or 1] mesh coordinates of point 0 of the extents */
};

/* How many sets of windows along y there are. */
__host__ __device__ inline int sets_y(const int32_t *tile, bool skewed)
{
    return skewed ? tile[2] : 1;
}

template <typename T>
__host__ __device__ inline size_t shared_bytes(const int32_t *tile, const int32_t *extent, int width, bool skewed)
{
    const size_t numbers = (size_t)MOST_TILE_Z * extent[2] + (size_t)sets_y(tile, skewed) * MOST_TILE_Y * extent[1] +
                           (size_t)tile[2] * extent[1] * extent[0] + (size_t)tile[2] * tile[1] * extent[0] +
                           (size_t)tile[0] * width;
    return numbers * sizeof(T) + (size_t)(extent[2] + 1) * sizeof(int64_t) +
           (size_t)(tile[0] + 2 * tile[2]) * sizeof(int);
}

template <typename T>
__device__ inline shared_parts<T> divide_shared(void *memory, const int32_t *tile, const int32_t *extent, int width,
                                                bool skewed)
{
    shared_parts<T> s; /* the most aligned first */
    s.wz = static_cast<T *>(memory);
    s.wy = s.wz + MOST_TILE_Z * extent[2];
    s.planes = reinterpret_cast<int64_t *>(s.wy + sets_y(tile, skewed) * MOST_TILE_Y * extent[1]);
    s.along_z = reinterpret_cast<T *>(s.planes + extent[2] + 1);
    s.along_y = s.along_z + tile[2] * extent[1] * extent[0];
    s.wx = s.along_y + tile[2] * tile[1] * extent[0];
    s.xs = reinterpret_cast<int *>(s.wx + tile[0] * width);
    s.base_y = s.xs + tile[0];
    s.base_x = s.base_y + tile[2];
    return s;
}

/* The mesh point of coordinate n: continued periodically in cells. Elsewhere only points that no window has are beyond
 * the mesh. */
__device__ inline int mesh_point(int n, int count, bool periodic)
{
    if (periodic)
        return (int)ewald_wrapped(n, count);
    return n < 0 ? 0 : n >= count ? count - 1 : n;
}

/* The first mesh point of the window of target `at` of the box; and its offset. */
template <typename T, typename U>
__device__ inline int window_start(const interpolation<T, U> &task, int axis, int x, int y, int z, double *offset)
{
    const int64_t at[3] = {task.lo[0] + x, task.lo[1] + y, task.lo[2] + z};
    return (int)ewald_start(task.width, ewald_coordinate(task.first, task.step, axis, at), offset);
}

/* Point 0 of an extent: one before the first window of the tile's row z, so that rounding cannot matter. `at`: the tile's
 * first target. */
template <typename T, typename U>
__device__ inline int extent_base(const interpolation<T, U> &task, int axis, const int *at, int z)
{
    double offset;
    const int one = window_start(task, axis, at[0], at[1], at[2] + z, &offset);
    if (axis > 0 || !task.skewed)
        return one - 1;
    const int other = window_start(task, axis, at[0], at[1] + task.tile[1] - 1, at[2] + z, &offset);
    return (one < other ? one : other) - 1;
}

template <typename T, typename U>
__device__ inline void make_windows(const interpolation<T, U> &task, const int *at, const shared_parts<T> &s)
{
    const int width = task.width, sets = sets_y(task.tile, task.skewed), of_y = sets * task.tile[1];
    const int items = (task.tile[2] + of_y + (task.skewed ? 0 : task.tile[0])) * width;
    double offset;
    for (int i = threadIdx.x; i < MOST_TILE_Z * task.extent[2]; i += blockDim.x)
        s.wz[i] = 0;
    for (int i = threadIdx.x; i < sets * MOST_TILE_Y * task.extent[1]; i += blockDim.x)
        s.wy[i] = 0;
    const int base_z = extent_base(task, 2, at, 0);
    for (int i = threadIdx.x; i <= task.extent[2]; i += blockDim.x)
        s.planes[i] = (int64_t)mesh_point(base_z + i, task.mesh_n[2], task.periodic) * task.mesh_n[1] * task.mesh_n[0];
    for (int z = threadIdx.x; z < sets; z += blockDim.x) {
        s.base_x[z] = extent_base(task, 0, at, z);
        s.base_y[z] = extent_base(task, 1, at, z);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < items; i += blockDim.x) {
        const int p = i % width, n = i / width;
        if (n < task.tile[2]) {
            const int start = window_start(task, 2, at[0], at[1], at[2] + n, &offset) - base_z;
            s.wz[(start + p) * MOST_TILE_Z + n] = (T)ewald_window_value(&task.window, width, p, offset);
        } else if (n < task.tile[2] + of_y) {
            const int y = (n - task.tile[2]) % task.tile[1], z = (n - task.tile[2]) / task.tile[1];
            const int start = window_start(task, 1, at[0], at[1] + y, at[2] + z, &offset) - s.base_y[z];
            s.wy[(z * task.extent[1] + start + p) * MOST_TILE_Y + y] =
                (T)ewald_window_value(&task.window, width, p, offset);
        } else {
            const int x = n - task.tile[2] - of_y;
            s.xs[x] = window_start(task, 0, at[0] + x, at[1], at[2], &offset);
            s.wx[p * task.tile[0] + x] = (T)ewald_window_value(&task.window, width, p, offset);
        }
    }
}

/* A column of the mesh, for all z of the tile; in skewed cells, whose columns begin elsewhere at each z, for one. */
template <typename T, typename U>
__device__ inline void go_along_z(const interpolation<T, U> &task, const shared_parts<T> &s)
{
    const int ex = task.extent[0], ey = task.extent[1], sets = sets_y(task.tile, task.skewed);
    for (int i = threadIdx.x; i < sets * ey * ex; i += blockDim.x) {
        const int x = i % ex, y = i / ex % ey, z = i / ex / ey;
        const T *from = task.mesh +
                        (int64_t)mesh_point(s.base_y[z] + y, task.mesh_n[1], task.periodic) * task.mesh_n[0] +
                        mesh_point(s.base_x[z] + x, task.mesh_n[0], task.periodic);
        T sums[MOST_TILE_Z] = {};
#pragma unroll 4
        for (int p = 0; p < task.extent[2]; p++) {
            const T value = from[s.planes[p]];
#pragma unroll
            for (int k = 0; k < MOST_TILE_Z; k++)
                sums[k] += s.wz[p * MOST_TILE_Z + k] * value;
        }
#pragma unroll
        for (int k = 0; k < MOST_TILE_Z; k++)
            if (task.skewed ? k == z : k < task.tile[2])
                s.along_z[(k * ey + y) * ex + x] = sums[k];
    }
}

template <typename T, typename U>
__device__ inline void go_along_y(const interpolation<T, U> &task, const shared_parts<T> &s)
{
    const int ex = task.extent[0], ey = task.extent[1], ty = task.tile[1];
    for (int i = threadIdx.x; i < task.tile[2] * ex; i += blockDim.x) {
        const int x = i % ex, z = i / ex;
        const T *from = s.along_z + z * ey * ex + x, *weights = s.wy + (task.skewed ? z : 0) * ey * MOST_TILE_Y;
        T sums[MOST_TILE_Y] = {};
#pragma unroll 4
        for (int p = 0; p < ey; p++) {
            const T value = from[p * ex];
#pragma unroll
            for (int k = 0; k < MOST_TILE_Y; k++)
                sums[k] += weights[p * MOST_TILE_Y + k] * value;
        }
#pragma unroll
        for (int k = 0; k < MOST_TILE_Y; k++)
            if (k < ty)
                s.along_y[(z * ty + k) * ex + x] = sums[k];
    }
}

/* Row r of the tile, [z][y], point x, if it is in the box. */
template <typename T, typename U>
__device__ inline void put(const interpolation<T, U> &task, const int *at, int x, int r, T value)
{
    const int y = at[1] + r % task.tile[1], z = at[2] + r / task.tile[1];
    if (at[0] + x >= task.count[0] || y >= task.count[1] || z >= task.count[2])
        return;
    U *to = task.out + z * task.plane + y * task.row + at[0] + x;
    *to = (U)(value + (task.add ? (T)*to : (T)0));
}

template <typename T, typename U>
__device__ inline void go_along_x(const interpolation<T, U> &task, const int *at, const shared_parts<T> &s)
{
    const int tx = task.tile[0], x = threadIdx.x % tx, rows = task.tile[1] * task.tile[2], ex = task.extent[0];
    const int step = blockDim.x / tx; /* rows that the block's threads compute together */
    const T *from = s.along_y + s.xs[x] - s.base_x[0];
    for (int r = threadIdx.x / tx; r < rows; r += AT_A_TIME * step) {
        T sums[AT_A_TIME] = {};
        for (int p = 0; p < task.width; p++) {
            const T weight = s.wx[p * tx + x];
#pragma unroll
            for (int k = 0; k < AT_A_TIME; k++)
                sums[k] += weight * from[(r + k * step < rows ? r + k * step : r) * ex + p];
        }
#pragma unroll
        for (int k = 0; k < AT_A_TIME; k++)
            if (r + k * step < rows)
                put(task, at, x, r + k * step, sums[k]);
    }
}

/* Each target has a window of its own. */
template <typename T, typename U>
__device__ inline void go_along_skewed_x(const interpolation<T, U> &task, const int *at, const shared_parts<T> &s)
{
    for (int i = threadIdx.x; i < task.tile[0] * task.tile[1] * task.tile[2]; i += blockDim.x) {
        const int x = i % task.tile[0], r = i / task.tile[0], z = r / task.tile[1];
        double offset;
        const int start = window_start(task, 0, at[0] + x, at[1] + r % task.tile[1], at[2] + z, &offset);
        const T *from = s.along_y + r * task.extent[0] + start - s.base_x[z];
        T sum = 0;
        for (int p = 0; p < task.width; p++)
            sum += (T)ewald_window_value(&task.window, task.width, p, offset) * from[p];
        put(task, at, x, r, sum);
    }
}

template <typename T, typename U>
__global__ void __launch_bounds__(THREADS) interpolate_tiles(const interpolation<T, U> task)
{
    extern __shared__ __align__(16) unsigned char memory[];
    const shared_parts<T> s = divide_shared<T>(memory, task.tile, task.extent, task.width, task.skewed);
    const int block = blockIdx.x;
    const int at[3] = {block % task.tiles[0] * task.tile[0], block / task.tiles[0] % task.tiles[1] * task.tile[1],
                       block / task.tiles[0] / task.tiles[1] * task.tile[2]};
    make_windows(task, at, s);
    __syncthreads();
    go_along_z(task, s);
    __syncthreads();
    go_along_y(task, s);
    __syncthreads();
    if (task.skewed)
        go_along_skewed_x(task, at, s);
    else
        go_along_x(task, at, s);
}

/* ---- copies ---- */

template <typename T, typename U>
__global__ void copy_rows(const T *mesh, int64_t mesh_row, int64_t mesh_plane, int64_t width, int64_t height,
                          int64_t points, int64_t row, int64_t plane, U *out)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= points)
        return;
    const int64_t x = i % width, y = i / width % height, z = i / width / height;
    out[z * plane + y * row + x] = (U)mesh[z * mesh_plane + y * mesh_row + x];
}

struct slope_task {
    double slope[3], origin[3], spacing[3];
    int64_t lo[3], width, height, points, row, plane;
};

template <typename U>
__global__ void add_slopes(const slope_task task, U *out)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= task.points)
        return;
    const int64_t at[3] = {i % task.width, i / task.width % task.height, i / task.width / task.height};
    double sum = 0;
    for (int a = 0; a < 3; a++)
        sum += task.slope[a] * (task.origin[a] + task.spacing[a] * (double)(task.lo[a] + at[a]));
    out[at[2] * task.plane + at[1] * task.row + at[0]] += (U)sum;
}

/* ---- host side ---- */

/* The largest tile that fits into shared memory. */
template <typename T, typename U>
size_t choose_tile(interpolation<T, U> *task)
{
    task->tile[0] = MOST_TILE_X;
    task->tile[1] = MOST_TILE_Y;
    task->tile[2] = MOST_TILE_Z;
    for (;;) {
        const double across =
                         fabs(task->step[0][0]) * (task->tile[0] - 1) + fabs(task->step[0][1]) * (task->tile[1] - 1),
                     down = fabs(task->step[1][1]) * (task->tile[1] - 1),
                     along = fabs(task->step[2][2]) * (task->tile[2] - 1);
        const double bytes = (across + task->width) * (down + task->width) * task->tile[2] * (double)sizeof(T);
        if (bytes < MOST_SHARED && along < MOST_SHARED) {
            const int more = task->width + (task->skewed ? 4 : 3);
            task->extent[0] = (int32_t)ceil(across) + more;
            task->extent[1] = (int32_t)ceil(down) + more;
            task->extent[2] = (int32_t)ceil(along) + more;
            const size_t shared = shared_bytes<T>(task->tile, task->extent, task->width, task->skewed);
            if (shared <= MOST_SHARED)
                return shared;
        }
        const int axis = task->tile[2] > 2   ? 2
                         : task->tile[1] > 2 ? 1
                         : task->tile[0] > 1 ? 0
                         : task->tile[2] > 1 ? 2
                                             : 1;
        task->tile[axis] /= 2;
    }
}

template <typename T, typename U>
vf_status interpolate_in(const ewald_level &level, const ewald_targets &targets, vf_queue *queue, const vf_box &box,
                         const output &out)
{
    interpolation<T, U> task = {};
    task.mesh = data_of<T>(level.mesh);
    task.periodic = level.at.periodic;
    task.skewed = targets.skewed;
    task.add = out.add;
    task.width = level.at.width;
    task.window = level.window_powers;
    for (int a = 0; a < 3; a++) {
        task.mesh_n[a] = (int32_t)level.at.mesh[a];
        task.first[a] = targets.first[a];
        for (int b = 0; b < 3; b++)
            task.step[a][b] = targets.step[a][b];
        task.lo[a] = box.lo[a];
        task.count[a] = (int32_t)(box.hi[a] - box.lo[a]);
    }
    const size_t shared = choose_tile(&task);
    int64_t tiles = 1;
    for (int a = 0; a < 3; a++) {
        task.tiles[a] = (task.count[a] + task.tile[a] - 1) / task.tile[a];
        tiles *= task.tiles[a];
    }
    task.out = static_cast<U *>(out.values);
    task.row = out.row;
    task.plane = out.plane;
    interpolate_tiles<<<vf_blocks_for(tiles, 1), THREADS, shared, stream_of(queue)>>>(task);
    return vf_cuda_check(vf_queue_device(queue), cudaGetLastError(), "interpolating");
}

template <typename T, typename U>
vf_status copy_in(const ewald_level &level, vf_queue *queue, const int64_t first[3], const vf_box &box,
                  const output &out)
{
    const int64_t row = level.at.mesh[0], plane = row * level.at.mesh[1], points = vf_box_points(&box);
    copy_rows<<<vf_blocks_for(points, THREADS), THREADS, 0, stream_of(queue)>>>(
        data_of<T>(level.mesh) + first[2] * plane + first[1] * row + first[0], row, plane, vf_box_extent(&box, 0),
        vf_box_extent(&box, 1), points, out.row, out.plane, static_cast<U *>(out.values));
    return vf_cuda_check(vf_queue_device(queue), cudaGetLastError(), "reading a mesh");
}

} // namespace

vf_status interpolate(const ewald_level &level, const ewald_targets &targets, vf_queue *queue, const vf_box &box,
                      const output &out)
{
    if (out.precision == VF_F64)
        return interpolate_in<double, double>(level, targets, queue, box, out);
    return level.precision == VF_F64 ? interpolate_in<double, float>(level, targets, queue, box, out)
                                     : interpolate_in<float, float>(level, targets, queue, box, out);
}

vf_status copy_box(const ewald_level &level, vf_queue *queue, const int64_t first[3], const vf_box &box,
                   const output &out)
{
    if (out.precision == VF_F64)
        return copy_in<double, double>(level, queue, first, box, out);
    return level.precision == VF_F64 ? copy_in<double, float>(level, queue, first, box, out)
                                     : copy_in<float, float>(level, queue, first, box, out);
}

vf_status add_slope(const vf_ewald *plan, vf_queue *queue, const vf_box &box, const output &out)
{
    slope_task task = {};
    for (int a = 0; a < 3; a++) {
        task.slope[a] = plan->slope[a];
        task.origin[a] = plan->grid.origin[a];
        task.spacing[a] = plan->grid.spacing[a];
        task.lo[a] = box.lo[a];
    }
    task.width = vf_box_extent(&box, 0);
    task.height = vf_box_extent(&box, 1);
    task.points = vf_box_points(&box);
    task.row = out.row;
    task.plane = out.plane;
    const unsigned blocks = vf_blocks_for(task.points, THREADS);
    if (out.precision == VF_F64)
        add_slopes<<<blocks, THREADS, 0, stream_of(queue)>>>(task, static_cast<double *>(out.values));
    else
        add_slopes<<<blocks, THREADS, 0, stream_of(queue)>>>(task, static_cast<float *>(out.values));
    return vf_cuda_check(vf_queue_device(queue), cudaGetLastError(), "adding a slope");
}

} // namespace vf_ewald_gpu
