/* Bins of a fixed capacity: every bin has as many places, so a charge's place needs no list of where bins begin. What
 * does not fit overflows, and the CPU sums it while the GPU works. Design: Rodrigues, Hardy, Stone, Schulten and Hwu,
 * "GPU acceleration of cutoff pair potentials for molecular modeling applications", CF '08. */
#include <stdlib.h>

#include "cutoff_sum_cuda.cuh"

namespace vf_cutoff_gpu
{
namespace
{

using namespace vf_bin_order;

/* Capacities are multiples of STEP. At most a charge in SHARE may overflow, unless the places would be more than MOST
 * for each bin and charge. */
enum { STEP = 8, SHARE = 64, MOST = 16 };

/* An empty place has a charge of 0 far from every point. */
template <typename T>
__global__ void fill_places(const charge_at<T> *sorted, const uint32_t *first, int64_t places, int64_t capacity,
                            charge_at<T> *out)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= places)
        return;
    const int64_t bin = i / capacity, from = first[bin] + i % capacity;
    const charge_at<T> empty = {{INT32_MIN / 4, INT32_MIN / 4, INT32_MIN / 4}, 0, {0, 0, 0}};
    out[i] = from < first[bin + 1] ? sorted[from] : empty;
}

/* to[bin]: where a bin's overflow begins. */
template <typename T>
__global__ void take_overflow(const charge_at<T> *sorted, const uint32_t *first, const uint32_t *to, int64_t bins,
                              int64_t capacity, charge_at<T> *out)
{
    const int64_t bin = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (bin >= bins)
        return;
    for (int64_t from = first[bin] + capacity, n = 0; from < first[bin + 1]; from++, n++)
        out[to[bin] + n] = sorted[from];
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

/* Charges beyond `capacity` of each bin, of which the first begin at first[bin]; to[bin]: of those before it. */
int64_t count_overflow(const uint32_t *first, int64_t bins, int64_t capacity, uint32_t *to)
{
    int64_t count = 0;
    for (int64_t b = 0; b < bins; b++) {
        const int64_t here = (int64_t)first[b + 1] - first[b];
        if (to)
            to[b] = (uint32_t)count;
        count += here > capacity ? here - capacity : 0;
    }
    return count;
}

int64_t choose_capacity(const uint32_t *first, int64_t bins)
{
    const int64_t charges = first[bins];
    int64_t capacity = STEP;
    while (count_overflow(first, bins, capacity, NULL) > charges / SHARE &&
           (capacity + STEP) * bins <= MOST * (bins + charges))
        capacity += STEP;
    return capacity;
}

/* The overflow as charges in space: a plan on the CPU. */
template <typename T>
vf_status give_to_cpu(vf_cutoff *plan, const charge_at<T> *charges, int64_t count)
{
    cuda_state *s = static_cast<cuda_state *>(plan->state);
    vf_context *ctx = vf_device_context(plan->device);
    double *data = static_cast<double *>(malloc(4 * (size_t)count * sizeof(double)));
    if (!data)
        return vf_fail(ctx, VF_ERR_MEMORY, "not enough memory for %lld charges", (long long)count);
    const vf_coulomb_atoms atoms = {count, data, data + count, data + 2 * count, data + 3 * count};
    vf_grid grid = plan->grid;
    grid.cell = {}; /* images are charges of their own here */
    for (int64_t i = 0; i < count; i++) {
        for (int a = 0; a < 3; a++) {
            const int64_t at = charges[i].at[a], most = grid.counts[a], reach = s->reach[a];
            data[a * count + i] = grid.origin[a] + grid.spacing[a] * (double)at + (double)charges[i].offset[a];
            const int64_t lo = at - reach < 0 ? 0 : at - reach, hi = at + reach + 1 > most ? most : at + reach + 1;
            s->overflow_near.lo[a] = i == 0 || lo < s->overflow_near.lo[a] ? lo : s->overflow_near.lo[a];
            s->overflow_near.hi[a] = i == 0 || hi > s->overflow_near.hi[a] ? hi : s->overflow_near.hi[a];
        }
        data[3 * count + i] = (double)charges[i].charge;
    }
    vf_cutoff_options options = plan->options;
    options.scale = 1; /* it is in the charges */
    options.variant = NULL;
    const vf_status status = vf_cutoff_create(vf_context_host(ctx), &grid, &atoms, &options, &s->overflow);
    free(data);
    return status;
}

template <typename T>
vf_status move_overflow(vf_cutoff *plan, vf_queue *queue, const binned &sorted, const uint32_t *first, int64_t bins)
{
    cuda_state *s = static_cast<cuda_state *>(plan->state);
    vf_context *ctx = vf_device_context(plan->device);
    uint32_t *to = static_cast<uint32_t *>(malloc((size_t)bins * sizeof *to));
    if (!to)
        return vf_fail(ctx, VF_ERR_MEMORY, "not enough memory for %lld bins", (long long)bins);
    const int64_t count = plan->overflow = count_overflow(first, bins, s->capacity, to);
    charge_at<T> *host = static_cast<charge_at<T> *>(malloc((size_t)(count + 1) * sizeof *host));
    vf_stream_memory memory;
    vf_array there = {}, taken = {};
    vf_status status = vf_stream_memory_begin(queue, &memory);
    if (status == VF_OK && !host)
        status = vf_fail(ctx, VF_ERR_MEMORY, "not enough memory for %lld charges", (long long)count);
    if (status == VF_OK)
        status = vf_stream_memory_take(&memory, VF_I32, bins, &there);
    if (status == VF_OK)
        status = vf_stream_memory_take(&memory, VF_U8, count * (int64_t)sizeof *host, &taken);
    if (status == VF_OK && count > 0)
        status = vf_queue_copy(queue, there.data, to, (size_t)bins * sizeof *to);
    if (status == VF_OK && count > 0) {
        take_overflow<<<vf_blocks_for(bins, THREADS), THREADS, 0, stream_of(queue)>>>(
            data_of<charge_at<T>>(sorted.items), data_of<uint32_t>(sorted.first), data_of<uint32_t>(there), bins,
            s->capacity, data_of<charge_at<T>>(taken));
        status = vf_cuda_check(plan->device, cudaGetLastError(), "charges beyond the capacity of bins");
    }
    if (status == VF_OK && count > 0)
        status = vf_queue_copy(queue, host, taken.data, (size_t)count * sizeof *host);
    vf_stream_memory_free(&memory);
    status = finish(queue, status);
    if (status == VF_OK && count > 0)
        status = give_to_cpu(plan, host, count);
    free(host);
    free(to);
    return status;
}

template <typename T>
vf_status limit(vf_cutoff *plan, vf_queue *queue, const binned &sorted, const uint32_t *first, int64_t bins)
{
    cuda_state *s = static_cast<cuda_state *>(plan->state);
    s->capacity = choose_capacity(first, bins);
    const int64_t places = bins * s->capacity;
    if (places > UINT32_MAX)
        return vf_fail(vf_device_context(plan->device), VF_ERR_UNSUPPORTED,
                       "cutoff sum: %lld bins of %lld charges are too many; use the variant bins", (long long)bins,
                       (long long)s->capacity);
    vf_status status = vf_lasting_create(queue, VF_U8, places * (int64_t)sizeof(charge_at<T>), &s->charges.items);
    if (status == VF_OK) {
        fill_places<<<vf_blocks_for(places, THREADS), THREADS, 0, stream_of(queue)>>>(
            data_of<charge_at<T>>(sorted.items), data_of<uint32_t>(sorted.first), places, s->capacity,
            data_of<charge_at<T>>(s->charges.items));
        status = vf_cuda_check(plan->device, cudaGetLastError(), "putting charges into bins");
    }
    return status == VF_OK ? move_overflow<T>(plan, queue, sorted, first, bins) : status;
}

template <typename T>
vf_status add_part(const vf_cutoff *plan, vf_queue *queue, vf_queue *host_queue, const vf_box &part, const vf_box &box,
                   const vf_array &staged, T *values, T *out)
{
    const cuda_state *s = static_cast<const cuda_state *>(plan->state);
    const int64_t points = vf_box_points(&part);
    vf_status status = vf_cutoff_execute(s->overflow, host_queue, &part, false, values);
    if (status == VF_OK)
        status = vf_queue_copy(queue, staged.data, values, (size_t)points * sizeof(T));
    if (status != VF_OK)
        return status;
    add_values<<<vf_blocks_for(points, THREADS), THREADS, 0, stream_of(queue)>>>(data_of<T>(staged), part, box, out);
    return vf_cuda_check(plan->device, cudaGetLastError(), "adding the overflow's sum");
}

/* Slab by slab, of 4 million values or one plane. */
template <typename T>
vf_status add_slabs(const vf_cutoff *plan, vf_queue *queue, const vf_box &part, const vf_box &box, T *out)
{
    vf_context *ctx = vf_device_context(plan->device);
    const int64_t plane = vf_box_extent(&part, 0) * vf_box_extent(&part, 1), extent = vf_box_extent(&part, 2);
    const int64_t some = ((int64_t)4 << 20) / plane, planes = some < 1 ? 1 : some < extent ? some : extent;
    T *values = static_cast<T *>(malloc((size_t)(plane * planes) * sizeof(T)));
    vf_queue *host_queue = NULL;
    vf_stream_memory memory;
    vf_array staged = {};
    vf_status status = vf_stream_memory_begin(queue, &memory);
    if (status == VF_OK && !values)
        status = vf_fail(ctx, VF_ERR_MEMORY, "not enough memory for %lld values", (long long)(plane * planes));
    if (status == VF_OK)
        status = vf_queue_create(vf_context_host(ctx), &host_queue);
    if (status == VF_OK)
        status = vf_stream_memory_take(&memory, plan->options.precision, plane * planes, &staged);
    for (int64_t z = part.lo[2]; z < part.hi[2] && status == VF_OK; z += planes) {
        vf_box slab = part;
        slab.lo[2] = z;
        slab.hi[2] = z + planes < part.hi[2] ? z + planes : part.hi[2];
        status = add_part(plan, queue, host_queue, slab, box, staged, values, out);
    }
    vf_stream_memory_free(&memory);
    vf_queue_destroy(host_queue);
    free(values);
    return status;
}

} // namespace

vf_status limit_bins(vf_cutoff *plan, vf_queue *queue, const binned &sorted)
{
    const cuda_state *s = static_cast<const cuda_state *>(plan->state);
    const int64_t bins = s->bins[0] * s->bins[1] * s->bins[2];
    uint32_t *first = static_cast<uint32_t *>(malloc((size_t)(bins + 1) * sizeof *first));
    if (!first)
        return vf_fail(vf_device_context(plan->device), VF_ERR_MEMORY, "not enough memory for %lld bins",
                       (long long)bins);
    vf_status status = vf_queue_copy(queue, first, sorted.first.data, (size_t)(bins + 1) * sizeof *first);
    status = finish(queue, status);
    if (status == VF_OK)
        status = plan->options.precision == VF_F64 ? limit<double>(plan, queue, sorted, first, bins)
                                                   : limit<float>(plan, queue, sorted, first, bins);
    free(first);
    return finish(queue, status);
}

vf_status add_overflow(const vf_cutoff *plan, vf_queue *queue, const vf_box *box, void *out)
{
    const cuda_state *s = static_cast<const cuda_state *>(plan->state);
    vf_box part = *box;
    if (!s->overflow)
        return VF_OK;
    for (int a = 0; a < 3; a++) {
        part.lo[a] = s->overflow_near.lo[a] > box->lo[a] ? s->overflow_near.lo[a] : box->lo[a];
        part.hi[a] = s->overflow_near.hi[a] < box->hi[a] ? s->overflow_near.hi[a] : box->hi[a];
        if (part.lo[a] >= part.hi[a])
            return VF_OK;
    }
    return plan->options.precision == VF_F64 ? add_slabs(plan, queue, part, *box, static_cast<double *>(out))
                                             : add_slabs(plan, queue, part, *box, static_cast<float *>(out));
}

} // namespace vf_cutoff_gpu
