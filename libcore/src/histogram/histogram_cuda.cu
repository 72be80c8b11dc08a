/* Histograms on a GPU: the plans, and which kernel counts. Bins that exceed a thread block's shared memory are divided into
 * groups, and the array is read once for each. */
#include <stdlib.h>
#include <string.h>

#include "backend/cuda_check.cuh"
#include "histogram_bytes.cuh"
#include "histogram_counts.cuh"
#include "histogram_internal.h"
#include "histogram_trish.cuh"

namespace
{

/* Elements of a launch, so that a thread block's counts fit 32 bits. */
const int64_t PIECE = INT64_C(1) << 31;
/* Counts are copied for the lanes as long as all fit here. */
const size_t COPIES_BYTES = 32 << 10;

typedef unsigned long long counter; /* the type that GPU atomics add */
static_assert(sizeof(counter) == sizeof(uint64_t), "counts are 64-bit");

struct group;
struct kernel {
    cudaError_t (*prepare)(group *g);
    /* Adds to `counts`, of the group's bins. n > 0. */
    cudaError_t (*launch)(const group *g, cudaStream_t stream, int64_t n, const void *x, counter *counts);
};

/* Consecutive bins that are counted by a launch. */
struct group {
    kernel use;
    bool empty; /* no value can be in these bins */
    int first, bins, copies_log;
    vf_launch launch;
    vf_bin_cells cells;     /* by edges */
    vf_equal_bins equal;    /* integers */
    vf_array inner, bounds; /* the cells' tables on the device */
    vf_array partials;      /* TRISH: the thread blocks' counts */
};

struct cuda_state {
    int shared_bytes; /* the most of a thread block */
    int groups;
    group *of;
};

/* ---- by edges, and integers ---- */

template <bool BY_KEYS>
vf_edge_bins<float, BY_KEYS> bins_of(const group *g, const vf_edge_bins<float, BY_KEYS> *)
{
    return {g->cells.f32, g->bins};
}

template <bool BY_KEYS>
vf_edge_bins<double, BY_KEYS> bins_of(const group *g, const vf_edge_bins<double, BY_KEYS> *)
{
    return {g->cells.f64, g->bins};
}

template <typename T>
vf_integer_bins<T> bins_of(const group *g, const vf_integer_bins<T> *)
{
    return {g->equal};
}

template <typename Bins>
using tuning_of = vf_count_tuning<sizeof(typename Bins::Element)>;

template <typename Bins>
cudaError_t prepare_count(group *g)
{
    const size_t counts = (size_t)g->bins * sizeof(unsigned),
                 tables = bins_of(g, static_cast<const Bins *>(NULL)).shared_bytes();
    for (g->copies_log = 0; g->copies_log < 5 && counts << (g->copies_log + 1) <= COPIES_BYTES;)
        g->copies_log++;
    g->launch.shared_bytes = tables + (counts << g->copies_log);
    return vf_find_resident<tuning_of<Bins>>(vf_count<tuning_of<Bins>, Bins>, &g->launch);
}

template <typename Bins>
cudaError_t launch_count(const group *g, cudaStream_t stream, int64_t n, const void *x, counter *counts)
{
    const typename Bins::Element *from = static_cast<const typename Bins::Element *>(x);
    const vf_range range = vf_range_at(from, n);
    vf_count<tuning_of<Bins>, Bins>
        <<<vf_count_thread_blocks(g->launch, range), g->launch.threads, g->launch.shared_bytes, stream>>>(
            bins_of(g, static_cast<const Bins *>(NULL)), from, range, g->bins, g->copies_log, counts);
    return cudaGetLastError();
}

template <typename Bins>
constexpr kernel counting()
{
    return {prepare_count<Bins>, launch_count<Bins>};
}

/* The bytes of shared memory that bins take: one copy of counts and, by edges, the tables. */
size_t bytes_of(const vf_histogram *plan, int bins)
{
    const size_t counts = (size_t)bins * sizeof(unsigned);
    return plan->edges
               ? counts + (size_t)bins * vf_dtype_bytes(plan->type) + (size_t)vf_cells_for(bins) * sizeof(uint32_t)
               : counts;
}

/* Divides the bins into groups that fit, with room for the copies of counts. */
cudaError_t divide_bins(const vf_histogram *plan, cuda_state *state)
{
    int device = 0, most = plan->bins;
    cudaError_t error = cudaGetDevice(&device);
    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&state->shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    while (most > 1 && bytes_of(plan, most) > (size_t)state->shared_bytes - COPIES_BYTES)
        most = (most + 1) / 2;
    state->groups = (plan->bins + most - 1) / most;
    return error;
}

vf_status upload(vf_device *device, vf_dtype type, int64_t count, const void *from, vf_array *to)
{
    const vf_status status = vf_array_create(device, VF_SPACE_DEVICE, type, count, to);
    return status == VF_OK ? VF_CUDA(device, vf_cuda_upload(to->data, from, (size_t)count * vf_dtype_bytes(type)))
                           : status;
}

vf_status make_tables(const vf_histogram *plan, group *g)
{
    vf_bin_cells *cells = &g->cells;
    vf_status status = vf_bin_cells_create(vf_device_context(plan->device), plan->type, g->bins, plan->edges + g->first,
                                           g->first + g->bins == plan->bins, cells);
    if (status == VF_OK)
        status = upload(plan->device, plan->type, g->bins, cells->inner, &g->inner);
    if (status == VF_OK)
        status = upload(plan->device, VF_I32, cells->cells, cells->bounds, &g->bounds);
    cells->f32.inner = static_cast<const float *>(g->inner.data);
    cells->f64.inner = static_cast<const double *>(g->inner.data);
    cells->f32.bounds = cells->f64.bounds = static_cast<const uint32_t *>(g->bounds.data);
    return status;
}

void set_equal_bins(const vf_histogram *plan, group *g)
{
    const uint64_t before = (uint64_t)g->first * plan->equal.width;
    g->equal = plan->equal;
    g->equal.first = (int64_t)((uint64_t)plan->equal.first + before);
    g->equal.last = (uint64_t)g->bins * plan->equal.width - 1;
    g->empty = before > (uint64_t)INT64_MAX - (uint64_t)plan->equal.first; /* beyond the greatest integer */
}

/* ---- bytes ---- */

cudaError_t prepare_bytes(group *g)
{
    g->launch.shared_bytes = VF_BYTE_COUNTERS * sizeof(unsigned);
    return vf_find_resident<vf_bytes_tuning>(vf_count_bytes<vf_bytes_tuning>, &g->launch);
}

cudaError_t launch_bytes(const group *g, cudaStream_t stream, int64_t n, const void *x, counter *counts)
{
    const uint8_t *from = static_cast<const uint8_t *>(x);
    const vf_range range = vf_range_at(from, n);
    vf_count_bytes<vf_bytes_tuning>
        <<<vf_count_thread_blocks(g->launch, range), g->launch.threads, g->launch.shared_bytes, stream>>>(from, range,
                                                                                                          counts);
    return cudaGetLastError();
}

struct trish_tuning {
    static constexpr vf_tuning at(int)
    {
        return {0, 0, VF_TRISH_THREADS / VF_WARP, VF_TRISH_WORDS, VF_TRISH_BLOCKS};
    }
};

cudaError_t prepare_trish(group *g)
{
    return vf_find_resident<trish_tuning>(vf_trish<VF_TRISH_WORDS>, &g->launch);
}

cudaError_t launch_trish(const group *g, cudaStream_t stream, int64_t n, const void *x, counter *counts)
{
    const uint8_t *bytes = static_cast<const uint8_t *>(x);
    const int64_t lead = (int64_t)(-(uintptr_t)bytes % sizeof(uint32_t)), before = lead < n ? lead : n,
                  words = (n - before) / (int64_t)sizeof(uint32_t);
    const uint8_t *after = bytes + before + words * (int64_t)sizeof(uint32_t);
    const vf_odd_bytes odd = {bytes, after, (int)before, (int)(bytes + n - after)};
    const uint32_t *from = reinterpret_cast<const uint32_t *>(bytes + before);
    const vf_range range = vf_range_at(from, words);
    const unsigned blocks = vf_count_thread_blocks(g->launch, range);
    uint4 *partials = static_cast<uint4 *>(g->partials.data);
    vf_trish<VF_TRISH_WORDS><<<blocks, g->launch.threads, 0, stream>>>(from, range, partials);
    vf_trish_total<<<VF_BYTE_BINS / VF_WARP, dim3(VF_WARP, VF_WARP), 0, stream>>>(
        reinterpret_cast<const uint32_t *>(partials), (int)blocks, odd, counts);
    return cudaGetLastError();
}

/* ---- plans ---- */

bool is_trish(const vf_histogram *plan)
{
    return strcmp(plan->variant, "trish") == 0;
}

kernel kernel_of(const vf_histogram *plan, bool by_keys)
{
    switch (plan->type) {
    case VF_F32:
        return by_keys ? counting<vf_edge_bins<float, true>>() : counting<vf_edge_bins<float, false>>();
    case VF_F64:
        return by_keys ? counting<vf_edge_bins<double, true>>() : counting<vf_edge_bins<double, false>>();
    case VF_I32:
        return counting<vf_integer_bins<int32_t>>();
    case VF_I64:
        return counting<vf_integer_bins<int64_t>>();
    default:
        return is_trish(plan) ? kernel{prepare_trish, launch_trish} : kernel{prepare_bytes, launch_bytes};
    }
}

vf_status make_group(const vf_histogram *plan, const cuda_state *state, int number)
{
    group *g = state->of + number;
    vf_status status = VF_OK;
    g->first = (int)((int64_t)plan->bins * number / state->groups);
    g->bins = (int)((int64_t)plan->bins * (number + 1) / state->groups) - g->first;
    if (plan->edges)
        status = make_tables(plan, g);
    else if (plan->type != VF_U8)
        set_equal_bins(plan, g);
    g->use = kernel_of(plan, g->cells.by_keys);
    if (status == VF_OK)
        status = vf_cuda_check(plan->device, g->use.prepare(g), "planning a histogram");
    return status == VF_OK && is_trish(plan)
               ? vf_array_create(plan->device, VF_SPACE_DEVICE, VF_I32, (int64_t)g->launch.most_blocks * VF_BYTE_BINS,
                                 &g->partials)
               : status;
}

vf_status create(vf_histogram *plan)
{
    vf_context *ctx = vf_device_context(plan->device);
    if (is_trish(plan) && plan->type != VF_U8)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "a histogram: trish counts only bytes, not %s elements",
                       vf_dtype_name(plan->type));
    cuda_state *state = static_cast<cuda_state *>(calloc(1, sizeof *state));
    plan->state = state;
    vf_status status = vf_cuda_use(plan->device);
    if (status == VF_OK && state)
        status = VF_CUDA(plan->device, divide_bins(plan, state));
    if (status == VF_OK && state)
        state->of = static_cast<group *>(calloc((size_t)state->groups, sizeof *state->of));
    if (status == VF_OK && (!state || !state->of))
        return vf_fail(ctx, VF_ERR_MEMORY, "no memory for a histogram");
    for (int g = 0; status == VF_OK && g < state->groups; g++)
        status = make_group(plan, state, g);
    return status;
}

void destroy(vf_histogram *plan)
{
    cuda_state *state = static_cast<cuda_state *>(plan->state);
    if (!state)
        return;
    for (int i = 0; state->of && i < state->groups; i++) {
        group *g = state->of + i;
        vf_bin_cells_free(&g->cells);
        vf_array_free(&g->inner);
        vf_array_free(&g->bounds);
        vf_array_free(&g->partials);
    }
    free(state->of);
    free(state);
}

vf_status execute(const vf_histogram *plan, vf_queue *queue, int64_t n, const void *x, uint64_t *counts)
{
    const cuda_state *state = static_cast<const cuda_state *>(plan->state);
    const int64_t element = (int64_t)vf_dtype_bytes(plan->type);
    counter *to = reinterpret_cast<counter *>(counts);
    cudaStream_t stream = vf_stream_of(queue);
    vf_status status = vf_cuda_use(plan->device);
    if (status == VF_OK)
        status = VF_CUDA(plan->device, cudaMemsetAsync(counts, 0, (size_t)plan->bins * sizeof *counts, stream));
    for (int64_t at = 0; at < n; at += PIECE)
        for (const group *g = state->of; status == VF_OK && g < state->of + state->groups; g++)
            if (!g->empty)
                status = vf_cuda_check(plan->device,
                                       g->use.launch(g, stream, n - at < PIECE ? n - at : PIECE,
                                                     static_cast<const char *>(x) + at * element, to + g->first),
                                       "a histogram");
    return status;
}

const char *const names[] = {"tuned", "trish", NULL};

} // namespace

extern "C" const vf_histogram_ops vf_histogram_ops_cuda = {{VF_DEVICE_CUDA, names}, create, destroy, execute};
