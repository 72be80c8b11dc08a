/* The CUDA backend. Charges are sorted into bins on the GPU. A warp computes a tile of grid points, four in each lane:
 * it reads the charges of the bins within reach, 32 at a time, keeps those within the cutoff of its tile in shared
 * memory, and adds their terms in the order of the bins. So a point's sum depends neither on its box nor on the
 * schedule of warps: charges that a tile leaves out would have added 0 to each of its points. */
#include <stdlib.h>

#include "coulomb_sum_backend.h"
#include "cutoff_sum_cuda.cuh"

namespace
{

using namespace vf_bin_order;
using namespace vf_cutoff_gpu;

/* In points. A warp's tile, that of the block of warps, and a bin. */
enum {
    WARP_X = 8,
    WARP_Y = 4,
    WARP_Z = 4,
    BLOCK_X = 16,
    BLOCK_Y = 8,
    BLOCK_Z = 8,
    BIN = 8,
    LANES = 32,
    WARPS = BLOCK_X * BLOCK_Y * BLOCK_Z / (WARP_X * WARP_Y * WARP_Z)
};
#define ALL_LANES 0xffffffffu

/* A charge with the point relative to a tile, as the inner loop reads it. */
template <typename T>
struct __align__(16) near_charge
{
    T at[3], charge, offset[3], unused;
};

struct cuda_state {
    binned charges;   /* charge_at<T> */
    int64_t bins[3];  /* their number */
    int64_t reach[3]; /* the cutoff, in points, rounded up */
    vf_prolate_powers law;
};

/* A charge at grid point `at` plus `offset`, which is at most half a spacing: so differences from near points are
 * accurate in single precision. */
template <typename T>
struct __align__(16) charge_at
{
    int32_t at[3];
    T charge, offset[3];
};

struct place_task {
    double origin[3], spacing[3], lo[3], hi[3]; /* lo and hi: of the grid's box and the cutoff around it */
    int64_t counts[3], bins[3];
    const double *data; /* x, y, z, charge, each [count] */
    int64_t count;
    double scale;
};

template <typename T>
__global__ void place_charges(const place_task task, charge_at<T> *charges, uint32_t *keys, uint32_t *numbers)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= task.count)
        return;
    charge_at<T> c;
    int64_t bin = 0;
    bool inside = true;
    for (int a = 2; a >= 0; a--) {
        const double x = task.data[a * task.count + i];
        inside = inside && x > task.lo[a] && x < task.hi[a];
        const double nearest = floor((x - task.origin[a]) / task.spacing[a] + 0.5);
        c.at[a] = (int32_t)nearest;
        c.offset[a] = (T)(x - __dadd_rn(task.origin[a], __dmul_rn(task.spacing[a], nearest)));
        const int64_t last = task.counts[a] - 1, n = c.at[a] < 0 ? 0 : c.at[a] > last ? last : c.at[a];
        bin = bin * task.bins[a] + n / BIN; /* charges beyond the grid are in the outermost bins */
    }
    c.charge = (T)(task.scale * task.data[3 * task.count + i]);
    charges[i] = c;
    keys[i] = (uint32_t)(inside ? bin : task.bins[0] * task.bins[1] * task.bins[2]);
    numbers[i] = (uint32_t)i;
}

/* ---- sums ---- */

template <typename T>
struct near_task {
    const charge_at<T> *charges;
    const uint32_t *first; /* [bins + 1] */
    int32_t counts[3], bins[3], reach[3];
    int32_t lo[3], hi[3];      /* the box */
    int32_t tile[3], tiles[3]; /* the blocks' tiles that it touches, on a lattice fixed to the grid */
    T spacing[3];
    pair_law<T> law;
    bool add;
};

/* A warp's place in the charges of some rows of bins, one row in each lane. */
struct rows_of_bins {
    uint32_t begin, count, end; /* the row's first charge, their number, and that up to this row */
};

__device__ inline int clamp_to(int n, int low, int high)
{
    return n < low ? low : n > high ? high : n;
}

template <typename T>
__device__ inline rows_of_bins load_rows(const near_task<T> &task, const int *lo, const int *hi, int row, int rows,
                                         int lane)
{
    rows_of_bins r = {};
    if (row + lane < rows) {
        const int across = hi[1] - lo[1] + 1, y = lo[1] + (row + lane) % across, z = lo[2] + (row + lane) / across;
        const int64_t at = ((int64_t)z * task.bins[1] + y) * task.bins[0], begin = at + lo[0], end = at + hi[0] + 1;
        r.begin = task.first[begin];
        r.count = task.first[end] - r.begin;
    }
    r.end = r.count;
    for (int step = 1; step < LANES; step *= 2) {
        const uint32_t before = __shfl_up_sync(ALL_LANES, r.end, step);
        r.end += lane >= step ? before : 0;
    }
    return r;
}

/* The index of charge i of the rows, which differs between lanes. */
__device__ inline uint32_t find_charge(const rows_of_bins &rows, uint32_t i)
{
    int row = 0;
    for (int step = LANES / 2; step > 0; step /= 2)
        row += __shfl_sync(ALL_LANES, rows.end, row + step - 1) <= i ? step : 0;
    return __shfl_sync(ALL_LANES, rows.begin, row) + i - __shfl_sync(ALL_LANES, rows.end - rows.count, row);
}

/* sums += the terms of a charge at a lane's four points; `point`: the first of them, relative to the tile. */
template <typename T, int LAW>
__device__ inline void add_charge(const near_task<T> &task, const near_charge<T> &c, const T *point, T *sums)
{
    const T dx = (point[0] - c.at[0]) * task.spacing[0] - c.offset[0],
            dy = (point[1] - c.at[1]) * task.spacing[1] - c.offset[1], xy = dx * dx + dy * dy, z = point[2] - c.at[2];
#pragma unroll
    for (int k = 0; k < WARP_Z; k++) {
        const T dz = (z + (T)k) * task.spacing[2] - c.offset[2], s = dz * dz + xy;
        const T value = pair_value<T, LAW>(task.law, s);
        sums[k] += c.charge * (s < task.law.cutoff_squared ? value : (T)0);
    }
}

/* Whether a charge is within the cutoff of the tile's points, from 0 to the last; and its place relative to it. Its
 * rounding errors are covered by a larger cutoff. */
template <typename T>
__device__ inline bool is_near(const near_task<T> &task, const charge_at<T> &c, const int *tile, near_charge<T> *out)
{
    const int last[3] = {WARP_X - 1, WARP_Y - 1, WARP_Z - 1};
    T squared = 0;
    for (int a = 0; a < 3; a++) {
        out->at[a] = (T)(c.at[a] - tile[a]);
        out->offset[a] = c.offset[a];
        const T x = out->at[a] * task.spacing[a] + c.offset[a], beyond = x - (T)last[a] * task.spacing[a];
        const T outside = x < 0 ? -x : beyond > 0 ? beyond : (T)0;
        squared += outside * outside;
    }
    out->charge = c.charge;
    out->unused = 0;
    return squared < task.law.cutoff_squared * (T)1.0001;
}

template <typename T, int LAW>
__global__ void __launch_bounds__(WARPS *LANES) sum_near(const near_task<T> task, T *out)
{
    __shared__ near_charge<T> near_tile[WARPS][LANES];
    const int lane = threadIdx.x % LANES, warp = threadIdx.x / LANES;
    const int64_t block = blockIdx.x;
    const int at[3] = {(int)(block % task.tiles[0]), (int)(block / task.tiles[0] % task.tiles[1]),
                       (int)(block / task.tiles[0] / task.tiles[1])};
    const int sizes[3] = {WARP_X, WARP_Y, WARP_Z}, across[3] = {BLOCK_X / WARP_X, BLOCK_Y / WARP_Y, BLOCK_Z / WARP_Z};
    const int in_block[3] = {warp % across[0], warp / across[0] % across[1], warp / across[0] / across[1]};
    int tile[3], lo[3], hi[3];
    for (int a = 0; a < 3; a++) {
        tile[a] = ((task.tile[a] + at[a]) * across[a] + in_block[a]) * sizes[a];
        if (tile[a] >= task.hi[a] || tile[a] + sizes[a] <= task.lo[a])
            return;
        lo[a] = clamp_to(tile[a] - task.reach[a], 0, task.counts[a] - 1) / BIN;
        hi[a] = clamp_to(tile[a] + sizes[a] - 1 + task.reach[a], 0, task.counts[a] - 1) / BIN;
    }
    const T point[3] = {(T)(lane % WARP_X), (T)(lane / WARP_X), 0};
    T sums[WARP_Z] = {};
    const int rows = (hi[1] - lo[1] + 1) * (hi[2] - lo[2] + 1);
    for (int row = 0; row < rows; row += LANES) {
        const rows_of_bins some = load_rows(task, lo, hi, row, rows, lane);
        const uint32_t total = __shfl_sync(ALL_LANES, some.end, LANES - 1);
        for (uint32_t base = 0; base < total; base += LANES) {
            const uint32_t from = find_charge(some, base + lane);
            near_charge<T> c;
            const bool wanted = base + lane < total && is_near(task, task.charges[from], tile, &c);
            const unsigned kept = __ballot_sync(ALL_LANES, wanted);
            if (wanted)
                near_tile[warp][__popc(kept & ((1u << lane) - 1))] = c;
            __syncwarp();
            for (int n = 0; n < __popc(kept); n++)
                add_charge<T, LAW>(task, near_tile[warp][n], point, sums);
            __syncwarp();
        }
    }
    const int x = tile[0] + lane % WARP_X, y = tile[1] + lane / WARP_X;
    if (x < task.lo[0] || x >= task.hi[0] || y < task.lo[1] || y >= task.hi[1])
        return;
    const int64_t width = task.hi[0] - task.lo[0], height = task.hi[1] - task.lo[1];
#pragma unroll
    for (int k = 0; k < WARP_Z; k++) {
        const int z = tile[2] + k;
        if (z < task.lo[2] || z >= task.hi[2])
            continue;
        T *to = out + ((z - task.lo[2]) * height + y - task.lo[1]) * width + x - task.lo[0];
        *to = sums[k] + (task.add ? *to : (T)0);
    }
}

/* ---- host side ---- */

template <typename T>
near_task<T> task_for(const vf_cutoff *plan, const vf_box *box, bool add)
{
    const cuda_state *s = static_cast<const cuda_state *>(plan->state);
    const int sizes[3] = {BLOCK_X, BLOCK_Y, BLOCK_Z};
    near_task<T> task = {};
    task.charges = data_of<charge_at<T>>(s->charges.items);
    task.first = data_of<uint32_t>(s->charges.first);
    for (int a = 0; a < 3; a++) {
        task.counts[a] = (int32_t)plan->grid.counts[a];
        task.bins[a] = (int32_t)s->bins[a];
        task.reach[a] = (int32_t)s->reach[a];
        task.lo[a] = (int32_t)box->lo[a];
        task.hi[a] = (int32_t)box->hi[a];
        task.tile[a] = task.lo[a] / sizes[a];
        task.tiles[a] = (task.hi[a] - 1) / sizes[a] - task.tile[a] + 1;
        task.spacing[a] = (T)plan->grid.spacing[a];
    }
    task.law = make_law<T>(plan, s->law);
    task.add = add;
    return task;
}

/* The kernel for a law, or for at least its degree: coefficients above a law's degree are 0. */
typedef void (*near_kernel_f32)(near_task<float>, float *);
typedef void (*near_kernel_f64)(near_task<double>, double *);

near_kernel_f32 kernel_for(const near_task<float> &task)
{
    const int degree = task.law.degree;
    return task.law.windowed ? sum_near<float, LAW_WINDOWED>
           : degree == 0     ? sum_near<float, 0>
           : degree <= 8     ? sum_near<float, 8>
           : degree <= 9     ? sum_near<float, 9>
           : degree <= 10    ? sum_near<float, 10>
           : degree <= 11    ? sum_near<float, 11>
           : degree <= 12    ? sum_near<float, 12>
           : degree <= 14    ? sum_near<float, 14>
           : degree <= 16    ? sum_near<float, 16>
           : degree <= 20    ? sum_near<float, 20>
                             : sum_near<float, LAW_ANY>;
}

near_kernel_f64 kernel_for(const near_task<double> &task)
{
    const int degree = task.law.degree;
    return task.law.windowed ? sum_near<double, LAW_WINDOWED>
           : degree == 0     ? sum_near<double, 0>
           : degree <= 16    ? sum_near<double, 16>
           : degree <= 20    ? sum_near<double, 20>
           : degree <= 24    ? sum_near<double, 24>
                             : sum_near<double, LAW_ANY>;
}

template <typename T>
vf_status execute_in(const vf_cutoff *plan, cudaStream_t stream, const vf_box *box, bool add, void *out)
{
    const near_task<T> task = task_for<T>(plan, box, add);
    const int64_t tiles = (int64_t)task.tiles[0] * task.tiles[1] * task.tiles[2];
    kernel_for(task)<<<vf_blocks_for(tiles, 1), WARPS * LANES, 0, stream>>>(task, static_cast<T *>(out));
    return vf_cuda_check(plan->device, cudaGetLastError(), "the cutoff sum");
}

vf_status execute(const vf_cutoff *plan, vf_queue *queue, const vf_box *box, bool add, void *out)
{
    const vf_status status = VF_CUDA(plan->device, cudaSetDevice(vf_device_ordinal(plan->device)));
    if (status != VF_OK)
        return status;
    return plan->options.precision == VF_F64 ? execute_in<double>(plan, stream_of(queue), box, add, out)
                                             : execute_in<float>(plan, stream_of(queue), box, add, out);
}

template <typename T>
vf_status sort_charges(cuda_state *s, vf_stream_memory *memory, const place_task &task)
{
    return sort_into_bins<charge_at<T>>(
        memory, task.count, s->bins[0] * s->bins[1] * s->bins[2], true,
        [&](charge_at<T> *charges, uint32_t *keys, uint32_t *numbers) {
            place_charges<<<vf_blocks_for(task.count, THREADS), THREADS, 0, stream_of(memory->queue)>>>(task, charges,
                                                                                                        keys, numbers);
        },
        &s->charges);
}

vf_status sort_on(vf_cutoff *plan, vf_queue *queue)
{
    cuda_state *s = static_cast<cuda_state *>(plan->state);
    const vf_grid &grid = plan->grid;
    vf_stream_memory memory;
    vf_array data = {};
    place_task task = {};
    vf_status status = vf_stream_memory_begin(queue, &memory);
    if (status == VF_OK && !plan->loaded)
        status = vf_stream_memory_take(&memory, VF_F64, 4 * plan->count, &data);
    if (status == VF_OK && !plan->loaded && plan->count > 0)
        status = vf_queue_copy(queue, data.data, plan->x, (size_t)data.count * sizeof(double));
    task.data = plan->loaded ? plan->loaded : data_of<double>(data);
    task.count = plan->count;
    task.scale = plan->loaded ? plan->options.scale : 1;
    for (int a = 0; a < 3; a++) {
        task.origin[a] = grid.origin[a];
        task.spacing[a] = grid.spacing[a];
        task.counts[a] = grid.counts[a];
        task.bins[a] = s->bins[a];
        task.lo[a] = vf_coulomb_position(&grid, a, 0) - plan->options.cutoff;
        task.hi[a] = vf_coulomb_position(&grid, a, grid.counts[a] - 1) + plan->options.cutoff;
    }
    if (status == VF_OK)
        status = plan->options.precision == VF_F64 ? sort_charges<double>(s, &memory, task)
                                                   : sort_charges<float>(s, &memory, task);
    vf_stream_memory_free(&memory);
    return status;
}

vf_status create(vf_cutoff *plan)
{
    cuda_state *s = static_cast<cuda_state *>(calloc(1, sizeof *s));
    vf_context *ctx = vf_device_context(plan->device);
    if (!s)
        return vf_fail(ctx, VF_ERR_MEMORY, "not enough memory for a plan");
    plan->state = s;
    vf_cutoff_fit(plan, plan->options.precision == VF_F64 ? 0x1p-53 : 0x1p-25, &s->law);
    double bins = 1;
    for (int a = 0; a < 3; a++) {
        s->reach[a] = (int64_t)ceil(plan->options.cutoff / plan->grid.spacing[a]) + 1;
        s->bins[a] = (plan->grid.counts[a] + BIN - 1) / BIN;
        bins *= (double)s->bins[a];
    }
    vf_status status = plan->source ? vf_cutoff_copy_charges(plan) : VF_OK;
    if (status != VF_OK)
        return status;
    if (!(bins < INT32_MAX) || plan->count > INT32_MAX)
        return vf_fail(ctx, VF_ERR_UNSUPPORTED, "cutoff sum: the grid or the number of charges is too large for a GPU");
    vf_queue *own = NULL;
    status = VF_CUDA(plan->device, cudaSetDevice(vf_device_ordinal(plan->device)));
    if (status == VF_OK && !plan->queue)
        status = vf_queue_create(plan->device, &own);
    if (status == VF_OK)
        status = sort_on(plan, own ? own : plan->queue);
    if (own)
        status = finish(own, status);
    vf_queue_destroy(own);
    free(plan->x); /* sorted copies replace them */
    plan->bytes = (uint64_t)s->charges.items.count + (uint64_t)s->charges.first.count * sizeof(uint32_t);
    plan->x = plan->y = plan->z = plan->charge = NULL;
    return status;
}

void destroy(vf_cutoff *plan)
{
    cuda_state *s = static_cast<cuda_state *>(plan->state);
    free_binned(&s->charges);
    free(s);
}

const char *const variants[] = {"bins", NULL};

} // namespace

extern "C" const vf_cutoff_backend vf_cutoff_cuda = {{VF_DEVICE_CUDA, variants}, create, execute, destroy};
