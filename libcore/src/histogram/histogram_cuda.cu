/* Histograms on a GPU: the plans, and which kernel counts. */
#include <stdlib.h>
#include <string.h>

#include "backend/cuda_check.cuh"
#include "histogram_bytes.cuh"
#include "histogram_counts.cuh"
#include "histogram_internal.h"
#include "histogram_trish.cuh"

namespace
{

/* Elements of a launch: a thread block's counts fit 32 bits, those of a warp's products 31. */
const int64_t PIECE = INT64_C(1) << 30;
/* Counts are copied for the lanes as long as all fit here. */
const size_t COPIES_BYTES = 32 << 10;

typedef unsigned long long counter; /* the type that GPU atomics add */
static_assert(sizeof(counter) == sizeof(uint64_t), "counts are 64-bit");

struct cuda_state;
struct kernel {
    cudaError_t (*prepare)(const vf_histogram *plan, cuda_state *state);
    /* Adds to `counts`. n > 0. */
    cudaError_t (*launch)(const vf_histogram *plan, cudaStream_t stream, int64_t n, const void *x, counter *counts);
};

struct cuda_state {
    const kernel *kernels;
    vf_launch launch;
    int copies_log;         /* of counts in shared memory */
    vf_array inner, bounds; /* by edges: the tables of histogram_bins.h */
    vf_array partials;      /* TRISH: the thread blocks' counts */
};

const cuda_state *state_of(const vf_histogram *plan)
{
    return static_cast<const cuda_state *>(plan->state);
}

/* ---- by edges, and integers ---- */

template <typename T, bool SHARED>
vf_edge_bins<T, SHARED> bins_of(const vf_histogram *plan, const vf_edge_bins<T, SHARED> *)
{
    vf_edge_bins<T, SHARED> bins;
    if constexpr (sizeof(T) == sizeof(float))
        bins.cells = plan->cells.f32;
    else
        bins.cells = plan->cells.f64;
    bins.cells.inner = static_cast<const T *>(state_of(plan)->inner.data);
    bins.cells.bounds = static_cast<const uint32_t *>(state_of(plan)->bounds.data);
    bins.by_keys = plan->cells.by_keys;
    bins.bins = plan->bins;
    return bins;
}

template <typename T>
vf_integer_bins<T> bins_of(const vf_histogram *plan, const vf_integer_bins<T> *)
{
    return {plan->equal};
}

template <typename Bins>
using tuning_of = vf_count_tuning<sizeof(typename Bins::Element)>;

template <typename Bins>
cudaError_t prepare_shared(const vf_histogram *plan, cuda_state *state)
{
    const size_t counts = (size_t)plan->bins * sizeof(unsigned);
    while (state->copies_log < 5 && counts << (state->copies_log + 1) <= COPIES_BYTES)
        state->copies_log++;
    state->launch.shared_bytes =
        bins_of(plan, static_cast<const Bins *>(NULL)).shared_bytes() + (counts << state->copies_log);
    return vf_find_resident<tuning_of<Bins>>(vf_count_shared<tuning_of<Bins>, Bins>, &state->launch);
}

template <typename Bins>
cudaError_t launch_shared(const vf_histogram *plan, cudaStream_t stream, int64_t n, const void *x, counter *counts)
{
    const vf_launch &shape = state_of(plan)->launch;
    const typename Bins::Element *from = static_cast<const typename Bins::Element *>(x);
    const vf_range range = vf_range_at(from, n);
    vf_count_shared<tuning_of<Bins>, Bins>
        <<<vf_count_thread_blocks(shape, range), shape.threads, shape.shared_bytes, stream>>>(
            bins_of(plan, static_cast<const Bins *>(NULL)), from, range, plan->bins, state_of(plan)->copies_log,
            counts);
    return cudaGetLastError();
}

template <typename Bins>
cudaError_t prepare_global(const vf_histogram *, cuda_state *state)
{
    return vf_find_resident<tuning_of<Bins>>(vf_count_global<tuning_of<Bins>, Bins>, &state->launch);
}

template <typename Bins>
cudaError_t launch_global(const vf_histogram *plan, cudaStream_t stream, int64_t n, const void *x, counter *counts)
{
    const vf_launch &shape = state_of(plan)->launch;
    const typename Bins::Element *from = static_cast<const typename Bins::Element *>(x);
    const vf_range range = vf_range_at(from, n);
    vf_count_global<tuning_of<Bins>, Bins><<<vf_count_thread_blocks(shape, range), shape.threads, 0, stream>>>(
        bins_of(plan, static_cast<const Bins *>(NULL)), from, range, counts);
    return cudaGetLastError();
}

/* Where tables of edges and counts are. */
enum place { ALL_SHARED, COUNTS_SHARED, ALL_GLOBAL, PLACES };
const kernel kernels_f32[PLACES] = {
    {prepare_shared<vf_edge_bins<float, true>>, launch_shared<vf_edge_bins<float, true>>},
    {prepare_shared<vf_edge_bins<float, false>>, launch_shared<vf_edge_bins<float, false>>},
    {prepare_global<vf_edge_bins<float, false>>, launch_global<vf_edge_bins<float, false>>},
};
const kernel kernels_f64[PLACES] = {
    {prepare_shared<vf_edge_bins<double, true>>, launch_shared<vf_edge_bins<double, true>>},
    {prepare_shared<vf_edge_bins<double, false>>, launch_shared<vf_edge_bins<double, false>>},
    {prepare_global<vf_edge_bins<double, false>>, launch_global<vf_edge_bins<double, false>>},
};
const kernel kernels_i32[PLACES] = {
    {prepare_shared<vf_integer_bins<int32_t>>, launch_shared<vf_integer_bins<int32_t>>},
    {prepare_shared<vf_integer_bins<int32_t>>, launch_shared<vf_integer_bins<int32_t>>},
    {prepare_global<vf_integer_bins<int32_t>>, launch_global<vf_integer_bins<int32_t>>},
};
const kernel kernels_i64[PLACES] = {
    {prepare_shared<vf_integer_bins<int64_t>>, launch_shared<vf_integer_bins<int64_t>>},
    {prepare_shared<vf_integer_bins<int64_t>>, launch_shared<vf_integer_bins<int64_t>>},
    {prepare_global<vf_integer_bins<int64_t>>, launch_global<vf_integer_bins<int64_t>>},
};

cudaError_t choose_place(const vf_histogram *plan, place *chosen)
{
    int device = 0, most = 0;
    const bool edges = plan->type == VF_F32 || plan->type == VF_F64;
    const size_t counts = (size_t)plan->bins * sizeof(unsigned),
                 tables = edges ? (size_t)plan->bins * vf_dtype_bytes(plan->type) +
                                      (size_t)plan->cells.cells * sizeof(uint32_t)
                                : 0;
    cudaError_t error = cudaGetDevice(&device);
    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    *chosen = tables + counts <= (size_t)most ? ALL_SHARED : counts <= (size_t)most ? COUNTS_SHARED : ALL_GLOBAL;
    return error;
}

/* ---- bytes ---- */

cudaError_t prepare_bytes(const vf_histogram *, cuda_state *state)
{
    return vf_prepare_bytes(&state->launch);
}

cudaError_t launch_bytes(const vf_histogram *plan, cudaStream_t stream, int64_t n, const void *x, counter *counts)
{
    const vf_launch &shape = state_of(plan)->launch;
    const uint8_t *from = static_cast<const uint8_t *>(x);
    const vf_range range = vf_range_at(from, n);
    vf_count_bytes<vf_bytes_tuning>
        <<<vf_count_thread_blocks(shape, range), shape.threads, shape.shared_bytes, stream>>>(from, range, counts);
    return cudaGetLastError();
}

struct trish_tuning {
    static constexpr vf_tuning at(int)
    {
        return {0, 0, VF_TRISH_THREADS / VF_WARP, VF_TRISH_WORDS, VF_TRISH_BLOCKS};
    }
};

cudaError_t prepare_trish(const vf_histogram *, cuda_state *state)
{
    return vf_find_resident<trish_tuning>(vf_trish<VF_TRISH_WORDS>, &state->launch);
}

cudaError_t launch_trish(const vf_histogram *plan, cudaStream_t stream, int64_t n, const void *x, counter *counts)
{
    const vf_launch &shape = state_of(plan)->launch;
    const uint8_t *bytes = static_cast<const uint8_t *>(x);
    vf_odd_bytes odd = {};
    odd.before = bytes;
    odd.many_before = (int)(-(uintptr_t)bytes % sizeof(uint32_t));
    if (odd.many_before > n)
        odd.many_before = (int)n;
    const int64_t many = (n - odd.many_before) / (int64_t)sizeof(uint32_t);
    odd.after = bytes + odd.many_before + many * (int64_t)sizeof(uint32_t);
    odd.many_after = (int)(bytes + n - odd.after);
    const uint32_t *words = reinterpret_cast<const uint32_t *>(bytes + odd.many_before);
    uint32_t *partials = static_cast<uint32_t *>(state_of(plan)->partials.data);
    const vf_range range = vf_range_at(words, many);
    const unsigned blocks = vf_count_thread_blocks(shape, range);
    vf_trish<VF_TRISH_WORDS><<<blocks, shape.threads, 0, stream>>>(words, range, reinterpret_cast<uint4 *>(partials));
    vf_trish_total<<<VF_BYTE_BINS / 32, dim3(32, 32), 0, stream>>>(partials, (int)blocks, odd, counts);
    return cudaGetLastError();
}

const kernel kernels_bytes = {prepare_bytes, launch_bytes}, kernels_trish = {prepare_trish, launch_trish};

/* ---- plans ---- */

vf_status upload(vf_device *device, vf_dtype type, int64_t count, const void *from, vf_array *to)
{
    const vf_status status = vf_array_create(device, VF_SPACE_DEVICE, type, count, to);
    return status == VF_OK ? VF_CUDA(device, vf_cuda_upload(to->data, from, (size_t)count * vf_dtype_bytes(type)))
                           : status;
}

vf_status prepare_bins(const vf_histogram *plan, cuda_state *state)
{
    place where = ALL_GLOBAL;
    vf_status status = VF_CUDA(plan->device, choose_place(plan, &where));
    if (status == VF_OK && plan->edges)
        status = upload(plan->device, plan->type, plan->bins, plan->cells.inner, &state->inner);
    if (status == VF_OK && plan->edges)
        status = upload(plan->device, VF_I32, plan->cells.cells, plan->cells.bounds, &state->bounds);
    state->kernels = (plan->type == VF_F32   ? kernels_f32
                      : plan->type == VF_F64 ? kernels_f64
                      : plan->type == VF_I32 ? kernels_i32
                                             : kernels_i64) +
                     where;
    return status;
}

vf_status create(vf_histogram *plan)
{
    vf_context *ctx = vf_device_context(plan->device);
    const bool trish = strcmp(plan->variant, "trish") == 0;
    if (trish && plan->type != VF_U8)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "a histogram: trish counts only bytes, not %s elements",
                       vf_dtype_name(plan->type));
    cuda_state *state = static_cast<cuda_state *>(calloc(1, sizeof *state));
    plan->state = state;
    if (!state)
        return vf_fail(ctx, VF_ERR_MEMORY, "no memory for a histogram");
    state->kernels = trish ? &kernels_trish : &kernels_bytes;
    vf_status status = vf_cuda_use(plan->device);
    if (status == VF_OK && plan->type != VF_U8)
        status = prepare_bins(plan, state);
    if (status == VF_OK)
        status = vf_cuda_check(plan->device, state->kernels->prepare(plan, state), "planning a histogram");
    return status == VF_OK && trish
               ? vf_array_create(plan->device, VF_SPACE_DEVICE, VF_I32,
                                 (int64_t)state->launch.most_blocks * VF_BYTE_BINS, &state->partials)
               : status;
}

void destroy(vf_histogram *plan)
{
    cuda_state *state = static_cast<cuda_state *>(plan->state);
    if (!state)
        return;
    vf_array_free(&state->inner);
    vf_array_free(&state->bounds);
    vf_array_free(&state->partials);
    free(state);
}

vf_status execute(const vf_histogram *plan, vf_queue *queue, int64_t n, const void *x, uint64_t *counts)
{
    const size_t element = vf_dtype_bytes(plan->type);
    cudaStream_t stream = vf_stream_of(queue);
    vf_status status = vf_cuda_use(plan->device);
    if (status == VF_OK)
        status = VF_CUDA(plan->device, cudaMemsetAsync(counts, 0, (size_t)plan->bins * sizeof *counts, stream));
    for (int64_t at = 0; status == VF_OK && at < n; at += PIECE)
        status = vf_cuda_check(plan->device,
                               state_of(plan)->kernels->launch(plan, stream, n - at < PIECE ? n - at : PIECE,
                                                               static_cast<const char *>(x) + (size_t)at * element,
                                                               reinterpret_cast<counter *>(counts)),
                               "a histogram");
    return status;
}

const char *const names[] = {"tuned", "trish", NULL};

} // namespace

extern "C" const vf_histogram_ops vf_histogram_ops_cuda = {{VF_DEVICE_CUDA, names}, create, destroy, execute};
