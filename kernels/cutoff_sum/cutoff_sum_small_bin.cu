/* The published kernels small-bin and small-bin-overlap (cutoff_sum_published.cu). */
#include <stdlib.h>
#include <string.h>

#include "cutoff_sum_published.cuh"

namespace vf_cutoff_gpu
{
namespace
{

struct bin_layout {
    int edge[3], layers[3]; /* edge: of a bin, in blocks of points */
    int64_t bins[3];
    int capacity, offsets;
};

template <typename T, int LAW>
__global__ void __launch_bounds__(POINTS)
    small_bin(const sum_task<T> task, const bin_layout b, const atom<T> *places, const int32_t *around, T *out)
{
    __shared__ atom<T> near[POINTS];
    const int thread = threadIdx.x;
    const int in_block[3] = {thread % SIDE, thread / SIDE % SIDE, thread / SIDE / SIDE};
    int64_t block = blockIdx.x, home = 0, at[3];
    for (int a = 0; a < 3; a++) {
        const int64_t here = task.from[a] + block % task.n[a];
        block /= task.n[a];
        at[a] = here * SIDE + in_block[a];
    }
    for (int a = 2; a >= 0; a--)
        home = home * b.bins[a] + at[a] / SIDE / b.edge[a] + b.layers[a];
    const T x = (T)at[0] * task.spacing[0], y = (T)at[1] * task.spacing[1], z = (T)at[2] * task.spacing[2];
    const int total = b.offsets * b.capacity;
    T sum = 0;
    for (int base = 0; base < total; base += POINTS) {
        const int place = base + thread, loaded = total - base < POINTS ? total - base : POINTS;
        if (thread < loaded)
            near[thread] = places[(home + around[place / b.capacity]) * b.capacity + place % b.capacity];
        __syncthreads();
        for (int n = 0; n < loaded; n++)
            sum += term<T, LAW>(task.law, near[n], x, y, z);
        __syncthreads();
    }
    for (int a = 0; a < 3; a++)
        if (at[a] < task.lo[a] || at[a] >= task.hi[a])
            return;
    put(task, at, sum, out);
}

template <typename T>
__global__ void add_values(const T *from, vf_box part, vf_box box, T *out)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    const int64_t nx = part.hi[0] - part.lo[0], ny = part.hi[1] - part.lo[1], nz = part.hi[2] - part.lo[2];
    if (i >= nx * ny * nz)
        return;
    const int64_t x = part.lo[0] + i % nx - box.lo[0], y = part.lo[1] + i / nx % ny - box.lo[1],
                  z = part.lo[2] + i / nx / ny - box.lo[2];
    out[(z * (box.hi[1] - box.lo[1]) + y) * (box.hi[0] - box.lo[0]) + x] += from[i];
}

/* ---- bins ---- */

enum {
    STEP = 4,             /* capacities are multiples of it: bins are aligned */
    SHARE = 64,           /* at most one charge in so many may overflow, */
    MOST_PLACES = 16,     /* unless there were more places than this for each bin and charge */
    SLAB_POINTS = 4 << 20 /* of the host's sums at a time */
};

int64_t count_overflow(const int64_t *count, int64_t bins, int64_t capacity)
{
    int64_t sum = 0;
    for (int64_t b = 0; b < bins; b++)
        sum += count[b] > capacity ? count[b] - capacity : 0;
    return sum;
}

int64_t choose_capacity(const vf_cutoff *plan, const int64_t *count, int64_t bins)
{
    int64_t capacity = STEP;
    while (count_overflow(count, bins, capacity) > plan->count / SHARE &&
           (capacity + STEP) * bins <= MOST_PLACES * (bins + plan->count))
        capacity += STEP;
    return capacity;
}

/* The bins that can be near a point of a bin, as differences of numbers. out: [729] */
int list_around(const vf_cutoff *plan, int32_t *out)
{
    const published_state *s = static_cast<const published_state *>(plan->state);
    const double rc = plan->options.cutoff;
    int count = 0;
    int64_t at[3];
    for (at[2] = -s->layers[2]; at[2] <= s->layers[2]; at[2]++)
        for (at[1] = -s->layers[1]; at[1] <= s->layers[1]; at[1]++)
            for (at[0] = -s->layers[0]; at[0] <= s->layers[0]; at[0]++) {
                double squared = 0;
                for (int a = 0; a < 3; a++) {
                    const double between = fmax(fabs((double)at[a]) - 1, 0); /* bins */
                    squared += pow(between * (double)s->edge[a] * plan->grid.spacing[a], 2);
                }
                if (squared < 1.0001 * rc * rc)
                    out[count++] = (int32_t)((at[2] * s->bins[1] + at[1]) * s->bins[0] + at[0]);
            }
    return count;
}

/* The overflow list: charges in space, and the points that they reach. */
struct overflow_list {
    int64_t count;
    double *x, *y, *z, *charge;
};

void add_overflow(vf_cutoff *plan, int64_t i, overflow_list *list)
{
    published_state *s = static_cast<published_state *>(plan->state);
    const double p[3] = {plan->x[i], plan->y[i], plan->z[i]}, rc = plan->options.cutoff;
    for (int a = 0; a < 3; a++) {
        const double origin = plan->grid.origin[a], h = plan->grid.spacing[a], most = (double)plan->grid.counts[a];
        const int64_t lo = (int64_t)fmin(fmax(floor((p[a] - rc - origin) / h), 0), most),
                      hi = (int64_t)fmin(fmax(ceil((p[a] + rc - origin) / h) + 1, 0), most);
        int64_t *const near_lo = &s->overflow_near.lo[a], *const near_hi = &s->overflow_near.hi[a];
        *near_lo = list->count == 0 || lo < *near_lo ? lo : *near_lo;
        *near_hi = list->count == 0 || hi > *near_hi ? hi : *near_hi;
    }
    const int64_t n = list->count++;
    list->x[n] = p[0];
    list->y[n] = p[1];
    list->z[n] = p[2];
    list->charge[n] = plan->charge[i];
}

/* Puts charges into bins, in their order, as far as there is room. The other places have charges of 0. */
template <typename T>
void fill_places(vf_cutoff *plan, int64_t *used, atom<T> *places, overflow_list *list)
{
    const published_state *s = static_cast<const published_state *>(plan->state);
    for (int64_t i = 0; i < plan->count; i++) {
        const int64_t bin = published_bin(plan, i);
        if (used[bin] < s->capacity)
            places[bin * s->capacity + used[bin]++] = atom_of<T>(plan, i);
        else
            add_overflow(plan, i, list);
    }
}

vf_status plan_overflow(vf_cutoff *plan, const overflow_list *list)
{
    published_state *s = static_cast<published_state *>(plan->state);
    const vf_coulomb_atoms atoms = {list->count, list->x, list->y, list->z, list->charge};
    vf_grid grid = plan->grid;
    vf_cutoff_options options = plan->options;
    grid.cell = {};    /* images are charges of their own here */
    options.scale = 1; /* it is in the charges */
    options.variant = "scatter";
    plan->overflow = list->count;
    return list->count > 0 ? vf_cutoff_create(vf_context_host(vf_device_context(plan->device)), &grid, &atoms, &options,
                                              &s->overflow)
                           : VF_OK;
}

template <typename T>
vf_status make_bins(vf_cutoff *plan, vf_queue *queue, int64_t *count, int64_t bins)
{
    published_state *s = static_cast<published_state *>(plan->state);
    vf_context *ctx = vf_device_context(plan->device);
    s->capacity = choose_capacity(plan, count, bins);
    const int64_t places = bins * s->capacity, beyond = count_overflow(count, bins, s->capacity);
    int32_t around[(2 * MOST_LAYERS + 1) * (2 * MOST_LAYERS + 1) * (2 * MOST_LAYERS + 1)];
    s->offsets = list_around(plan, around);
    atom<T> *host = static_cast<atom<T> *>(calloc((size_t)places, sizeof *host));
    double *room = static_cast<double *>(malloc(4 * (size_t)(beyond + 1) * sizeof *room));
    overflow_list list = {0, room, room + beyond, room + 2 * beyond, room + 3 * beyond};
    vf_status status = VF_OK;
    if (!host || !room)
        status = vf_fail(ctx, VF_ERR_MEMORY, "not enough memory for %lld bins of %lld charges", (long long)bins,
                         (long long)s->capacity);
    memset(count, 0, (size_t)bins * sizeof *count);
    if (status == VF_OK)
        fill_places(plan, count, host, &list);
    if (status == VF_OK)
        status = vf_lasting_create(queue, VF_U8, places * (int64_t)sizeof *host, &s->places);
    if (status == VF_OK)
        status = vf_lasting_create(queue, VF_I32, s->offsets, &s->around);
    if (status == VF_OK)
        status = vf_queue_copy(queue, s->places.data, host, (size_t)places * sizeof *host);
    if (status == VF_OK)
        status = vf_queue_copy(queue, s->around.data, around, (size_t)s->offsets * sizeof *around);
    status = finish(queue, status);
    if (status == VF_OK)
        status = plan_overflow(plan, &list);
    plan->bytes = (uint64_t)places * sizeof *host + (uint64_t)s->offsets * sizeof *around;
    free(host);
    free(room);
    return status;
}

/* ---- sums ---- */

/* The slabs of an execution: whole layers of blocks, on a lattice fixed to the grid. */
struct slabs {
    int64_t thickness, first, count;
};

slabs cut(const vf_box &box)
{
    const int64_t plane = vf_box_extent(&box, 0) * vf_box_extent(&box, 1), some = SLAB_POINTS / plane / SIDE * SIDE,
                  thickness = some < SIDE ? (int64_t)SIDE : some;
    return {thickness, box.lo[2] / thickness, (box.hi[2] - 1) / thickness - box.lo[2] / thickness + 1};
}

vf_box slab_of(const slabs &s, const vf_box &box, int64_t n)
{
    vf_box slab = box;
    const int64_t lo = (s.first + n) * s.thickness, hi = lo + s.thickness;
    slab.lo[2] = lo > box.lo[2] ? lo : box.lo[2];
    slab.hi[2] = hi < box.hi[2] ? hi : box.hi[2];
    return slab;
}

/* The kernel for the points of a slab of the box. */
template <typename T>
vf_status launch(const vf_cutoff *plan, cudaStream_t stream, sum_task<T> task, const vf_box &slab, T *out)
{
    const published_state *s = static_cast<const published_state *>(plan->state);
    const atom<T> *places = data_of<atom<T>>(s->places);
    const int32_t *around = data_of<int32_t>(s->around);
    bin_layout b = {};
    for (int a = 0; a < 3; a++) {
        b.edge[a] = (int)(s->edge[a] / SIDE);
        b.layers[a] = (int)s->layers[a];
        b.bins[a] = s->bins[a];
        task.from[a] = slab.lo[a] / SIDE;
        task.n[a] = (slab.hi[a] - 1) / SIDE - task.from[a] + 1;
    }
    b.capacity = (int)s->capacity;
    b.offsets = s->offsets;
    const unsigned blocks = vf_blocks_for(task.n[0] * task.n[1] * task.n[2], 1);
    if (task.law.windowed)
        small_bin<T, LAW_WINDOWED><<<blocks, POINTS, 0, stream>>>(task, b, places, around, out);
    else if (task.law.degree > 0)
        small_bin<T, LAW_ANY><<<blocks, POINTS, 0, stream>>>(task, b, places, around, out);
    else if (task.law.coefficient[0] != 0)
        small_bin<T, 0><<<blocks, POINTS, 0, stream>>>(task, b, places, around, out);
    else
        small_bin<T, LAW_PLAIN><<<blocks, POINTS, 0, stream>>>(task, b, places, around, out);
    return vf_cuda_check(plan->device, cudaGetLastError(), "the cutoff sum over small bins");
}

/* What the host needs to add its sums: two buffers in turn, so that one is copied while the other is filled. */
template <typename T>
struct host_part {
    vf_queue *queue; /* of the CPU */
    vf_stream_memory memory;
    vf_array values[2], staged[2]; /* pinned; on the GPU */
    cudaEvent_t copied[2];
    int turn;
};

template <typename T>
vf_status begin_host(const vf_cutoff *plan, vf_queue *queue, int64_t points, host_part<T> *h)
{
    vf_status status = vf_stream_memory_begin(queue, &h->memory);
    if (status == VF_OK)
        status = vf_queue_create(vf_context_host(vf_device_context(plan->device)), &h->queue);
    for (int n = 0; n < 2 && status == VF_OK; n++) {
        status = vf_array_create(plan->device, VF_SPACE_PINNED, plan->options.precision, points, &h->values[n]);
        if (status == VF_OK)
            status = vf_stream_memory_take(&h->memory, plan->options.precision, points, &h->staged[n]);
        if (status == VF_OK)
            status = VF_CUDA(plan->device, cudaEventCreateWithFlags(&h->copied[n], cudaEventDisableTiming));
    }
    return status;
}

template <typename T>
vf_status end_host(vf_queue *queue, vf_status status, host_part<T> *h)
{
    vf_stream_memory_free(&h->memory);
    status = finish(queue, status); /* before its buffers go */
    for (int n = 0; n < 2; n++) {
        vf_array_free(&h->values[n]);
        if (h->copied[n])
            (void)cudaEventDestroy(h->copied[n]);
    }
    vf_queue_destroy(h->queue);
    return status;
}

/* out += the overflow's sum over a slab of the box. */
template <typename T>
vf_status add_host_sums(const vf_cutoff *plan, vf_queue *queue, const vf_box &slab, const vf_box &box, host_part<T> *h,
                        T *out)
{
    const published_state *s = static_cast<const published_state *>(plan->state);
    vf_box part = slab;
    for (int a = 0; a < 3; a++) {
        part.lo[a] = s->overflow_near.lo[a] > part.lo[a] ? s->overflow_near.lo[a] : part.lo[a];
        part.hi[a] = s->overflow_near.hi[a] < part.hi[a] ? s->overflow_near.hi[a] : part.hi[a];
        if (part.lo[a] >= part.hi[a])
            return VF_OK;
    }
    const int n = h->turn++ % 2;
    const int64_t points = vf_box_points(&part);
    vf_status status = VF_CUDA(plan->device, cudaEventSynchronize(h->copied[n]));
    if (status == VF_OK)
        status = vf_cutoff_execute(s->overflow, h->queue, &part, false, h->values[n].data);
    if (status == VF_OK)
        status = vf_queue_copy(queue, h->staged[n].data, h->values[n].data, (size_t)points * sizeof(T));
    if (status == VF_OK)
        status = VF_CUDA(plan->device, cudaEventRecord(h->copied[n], stream_of(queue)));
    if (status != VF_OK)
        return status;
    add_values<<<vf_blocks_for(points, THREADS), THREADS, 0, stream_of(queue)>>>(data_of<T>(h->staged[n]), part, box,
                                                                                 out);
    return vf_cuda_check(plan->device, cudaGetLastError(), "adding the overflow's sum");
}

template <typename T>
vf_status execute_small(const vf_cutoff *plan, vf_queue *queue, const vf_box &box, const sum_task<T> &task, T *out)
{
    const published_state *s = static_cast<const published_state *>(plan->state);
    const cudaStream_t stream = stream_of(queue);
    const slabs cuts = cut(box);
    if (!s->overflow)
        return launch(plan, stream, task, box, out);
    int64_t points = 0;
    for (int64_t n = 0; n < cuts.count; n++) {
        const vf_box slab = slab_of(cuts, box, n);
        points = vf_box_points(&slab) > points ? vf_box_points(&slab) : points;
    }
    host_part<T> h = {};
    vf_status status = begin_host(plan, queue, points, &h);
    if (status == VF_OK)
        status = launch(plan, stream, task, s->overlapped ? slab_of(cuts, box, 0) : box, out);
    if (!s->overlapped)
        status = finish(queue, status); /* the host begins when the GPU is done */
    for (int64_t n = 0; n < cuts.count && status == VF_OK; n++) {
        if (s->overlapped && n + 1 < cuts.count)
            status = launch(plan, stream, task, slab_of(cuts, box, n + 1), out);
        if (status == VF_OK)
            status = add_host_sums(plan, queue, slab_of(cuts, box, n), box, &h, out);
    }
    return end_host(queue, status, &h);
}

} // namespace

vf_status small_create(vf_cutoff *plan, vf_queue *queue, int64_t bins)
{
    int64_t *first = published_count(plan, bins);
    if (!first)
        return vf_fail(vf_device_context(plan->device), VF_ERR_MEMORY, "not enough memory for %lld bins",
                       (long long)bins);
    const vf_status status = plan->options.precision == VF_F64 ? make_bins<double>(plan, queue, first + 1, bins)
                                                               : make_bins<float>(plan, queue, first + 1, bins);
    free(first);
    return status;
}

vf_status small_execute(const vf_cutoff *plan, vf_queue *queue, const vf_box *box, bool add, void *out)
{
    return plan->options.precision == VF_F64
               ? execute_small(plan, queue, *box, make_task<double>(plan, box, add), static_cast<double *>(out))
               : execute_small(plan, queue, *box, make_task<float>(plan, box, add), static_cast<float *>(out));
}

void small_destroy(vf_cutoff *plan)
{
    published_state *s = static_cast<published_state *>(plan->state);
    vf_lasting_free(NULL, &s->places);
    vf_lasting_free(NULL, &s->around);
    vf_cutoff_destroy(s->overflow);
}

} // namespace vf_cutoff_gpu
