/* Charges onto the mesh, sorted into bins by where their windows begin. A block computes a tile of the mesh, a row
 * along z in each thread: it reads the charges whose windows may reach the tile, some at a time, and keeps their
 * windows on the tile's rows in shared memory. So each point adds its terms in the order of the bins, and nothing is
 * added by atomics. */
#include "ewald_cuda.cuh"

namespace vf_ewald_gpu
{
namespace
{

using namespace vf_bin_order;

/* Tiles of the mesh, which are also the bins; charges whose windows are in shared memory at a time. */
enum { TILE_X = 16, TILE_Y = 8, TILE_Z = 8, ROWS = TILE_X * TILE_Y, CHUNK = 32, LANES = 32 };
static_assert(TILE_X + TILE_Y + TILE_Z == LANES, "a warp computes a charge's windows, a point in each lane");

template <typename T>
struct __align__(16) mesh_charge
{
    int32_t start[3];
    T charge, offset[3];
};

struct place_task {
    ewald_layout at;
    int64_t bins[3];
    const double *data; /* x, y, z, charge, each [count] */
    int64_t count;
    double scale;
};

template <typename T>
__global__ void place_charges(const place_task task, mesh_charge<T> *charges, uint32_t *keys, uint32_t *numbers)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= task.count)
        return;
    const double r[3] = {task.data[i], task.data[task.count + i], task.data[2 * task.count + i]};
    int64_t start[3];
    double offset[3];
    mesh_charge<T> c;
    ewald_locate(&task.at, r, start, offset);
    for (int a = 0; a < 3; a++) {
        c.start[a] = (int32_t)start[a];
        c.offset[a] = (T)offset[a];
    }
    c.charge = (T)(task.scale * task.data[3 * task.count + i]);
    charges[i] = c;
    keys[i] = (uint32_t)((start[2] / TILE_Z * task.bins[1] + start[1] / TILE_Y) * task.bins[0] + start[0] / TILE_X);
    numbers[i] = (uint32_t)i;
}

template <typename T>
struct spread_task {
    const mesh_charge<T> *charges;
    const uint32_t *first; /* [bins + 1] */
    int32_t mesh[3], bins[3];
    int64_t pitch, plane; /* numbers between rows and planes of the spectrum */
    bool periodic;
    int width, degree;
    T coefficient[VF_PROLATE_POWERS]; /* the window */
};

/* Bins with windows that reach a tile, and what is added to their starts. */
struct segment {
    int first, last, shift;
};

/* The segments of an axis: with periodic images, at most two, for a mesh has at least as many points as a window. */
__device__ inline int find_segments(int lo, int size, int mesh, int width, bool periodic, segment *out)
{
    const int first = lo - (width - 1), last = (lo + size < mesh ? lo + size : mesh) - 1;
    out[0] = {(first > 0 ? first : 0) / size, last / size, 0};
    if (!periodic || first >= 0)
        return 1;
    out[1] = {(first + mesh > 0 ? first + mesh : 0) / size, (mesh - 1) / size, -mesh};
    return 2;
}

/* The window of a charge at point p. */
template <typename T>
__device__ inline T window_at(const spread_task<T> &task, int p, T offset)
{
    const T half = (T)0.5 * (T)task.width, x = ((T)p - half + offset) / half, t = 2 * x * x - 1;
    T sum = task.coefficient[task.degree];
    for (int k = task.degree - 1; k >= 0; k--)
        sum = sum * t + task.coefficient[k];
    return p >= 0 && p < task.width ? sum : (T)0;
}

/* A charge's windows on the tile's rows along each axis; the first times the charge. */
template <typename T>
struct __align__(16) windows
{
    T z[TILE_Z], y[TILE_Y], x[TILE_X];
};

template <typename T>
__device__ inline void make_windows(const spread_task<T> &task, const mesh_charge<T> &c, const int *lo,
                                    const int *shift, int lane, windows<T> *out)
{
    const int axis = lane < TILE_X ? 0 : lane < TILE_X + TILE_Y ? 1 : 2;
    const int point = lane - (axis == 0 ? 0 : axis == 1 ? (int)TILE_X : TILE_X + TILE_Y);
    const int start = axis == 0 ? c.start[0] + shift[0] : axis == 1 ? c.start[1] + shift[1] : c.start[2] + shift[2];
    const T offset = axis == 0 ? c.offset[0] : axis == 1 ? c.offset[1] : c.offset[2];
    const T value = window_at(task, (axis == 0 ? lo[0] : axis == 1 ? lo[1] : lo[2]) + point - start, offset);
    if (axis == 0)
        out->x[point] = value * c.charge;
    else if (axis == 1)
        out->y[point] = value;
    else
        out->z[point] = value;
}

/* Adds charges begin <= i < end to the thread's row. */
template <typename T>
__device__ inline void spread_range(const spread_task<T> &task, uint32_t begin, uint32_t end, const int *lo,
                                    const int *shift, windows<T> *shared, T *sums)
{
    const int x = threadIdx.x % TILE_X, y = threadIdx.x / TILE_X;
    for (uint32_t base = begin; base < end; base += CHUNK) {
        const int some = end - base < CHUNK ? (int)(end - base) : (int)CHUNK;
        __syncthreads();
        for (int n = threadIdx.x / LANES; n < some; n += ROWS / LANES)
            make_windows(task, task.charges[base + n], lo, shift, threadIdx.x % LANES, &shared[n]);
        __syncthreads();
        for (int n = 0; n < some; n++) {
            const T xy = shared[n].x[x] * shared[n].y[y];
#pragma unroll
            for (int z = 0; z < TILE_Z; z++)
                sums[z] += xy * shared[n].z[z];
        }
    }
}

template <typename T>
__global__ void __launch_bounds__(ROWS) spread_tiles(const spread_task<T> task, pair<T> *mesh)
{
    __shared__ windows<T> shared[CHUNK];
    const int block = blockIdx.x, sizes[3] = {TILE_X, TILE_Y, TILE_Z};
    const int lo[3] = {block % task.bins[0] * TILE_X, block / task.bins[0] % task.bins[1] * TILE_Y,
                       block / task.bins[0] / task.bins[1] * TILE_Z};
    segment segments[3][2];
    int count[3];
    for (int a = 0; a < 3; a++)
        count[a] = find_segments(lo[a], sizes[a], task.mesh[a], task.width, task.periodic, segments[a]);
    T sums[TILE_Z] = {};
    for (int n = 0; n < count[0] * count[1] * count[2]; n++) {
        const segment sx = segments[0][n % count[0]], sy = segments[1][n / count[0] % count[1]],
                      sz = segments[2][n / count[0] / count[1]];
        const int shift[3] = {sx.shift, sy.shift, sz.shift};
        for (int z = sz.first; z <= sz.last; z++)
            for (int y = sy.first; y <= sy.last; y++) {
                const int64_t row = ((int64_t)z * task.bins[1] + y) * task.bins[0];
                spread_range(task, task.first[row + sx.first], task.first[row + sx.last + 1], lo, shift, shared, sums);
            }
    }
    const int x = lo[0] + (int)threadIdx.x % TILE_X, y = lo[1] + (int)threadIdx.x / TILE_X;
    if (x >= task.mesh[0] || y >= task.mesh[1])
        return;
#pragma unroll
    for (int z = 0; z < TILE_Z; z++)
        if (lo[2] + z < task.mesh[2])
            mesh[(lo[2] + z) * task.plane + y * task.pitch + x].re = sums[z];
}

/* ---- host side ---- */

template <typename T>
vf_status spread_in(const spectrum &mesh, vf_stream_memory *memory, const place_task &place)
{
    binned charges;
    vf_queue *queue = memory->queue;
    const ewald_level &level = *mesh.level;
    vf_status status = sort_into_bins<mesh_charge<T>>(
        memory, place.count, place.bins[0] * place.bins[1] * place.bins[2], false,
        [&](mesh_charge<T> *to, uint32_t *keys, uint32_t *numbers) {
            place_charges<<<vf_blocks_for(place.count, THREADS), THREADS, 0, stream_of(queue)>>>(place, to, keys,
                                                                                                 numbers);
        },
        &charges);
    spread_task<T> task = {};
    task.charges = data_of<mesh_charge<T>>(charges.items);
    task.first = data_of<uint32_t>(charges.first);
    for (int a = 0; a < 3; a++) {
        task.mesh[a] = (int32_t)level.at.mesh[a];
        task.bins[a] = (int32_t)place.bins[a];
    }
    task.pitch = level.at.length[0];
    task.plane = level.at.length[0] * level.at.length[1];
    task.periodic = level.at.periodic;
    task.width = level.at.width;
    task.degree = level.window_powers.degree;
    for (int k = 0; k < VF_PROLATE_POWERS; k++)
        task.coefficient[k] = (T)level.window_powers.coefficient[k];
    if (status == VF_OK) {
        spread_tiles<<<vf_blocks_for(place.bins[0] * place.bins[1] * place.bins[2], 1), ROWS, 0, stream_of(queue)>>>(
            task, data_of<pair<T>>(mesh.data));
        status = vf_cuda_check(vf_queue_device(queue), cudaGetLastError(), "spreading charges");
    }
    return status;
}

} // namespace

vf_status spread(const spectrum &mesh, vf_stream_memory *memory, const vf_array &charges, double scale)
{
    const ewald_level &level = *mesh.level;
    const int sizes[3] = {TILE_X, TILE_Y, TILE_Z};
    place_task place = {level.at, {}, data_of<double>(charges), charges.count / 4, scale};
    for (int a = 0; a < 3; a++)
        place.bins[a] = (level.at.mesh[a] + sizes[a] - 1) / sizes[a];
    return level.precision == VF_F64 ? spread_in<double>(mesh, memory, place) : spread_in<float>(mesh, memory, place);
}

} // namespace vf_ewald_gpu
