/* Histograms and sorts on a GPU, by CUB from the CUDA Toolkit. */
#include <stdlib.h>

#include <cub/device/device_histogram.cuh>
#include <cub/device/device_radix_sort.cuh>

#include "backend/cuda_check.cuh"
#include "backend/stream_memory.cuh"
#include "sort_internal.h"

namespace
{

struct cuda_state {
    vf_array scratch;     /* bytes; of histograms */
    vf_array edges;       /* empty for bytes and sorts */
    size_t scratch_bytes; /* of sorts, which take them for the time of an execution */
};

/* CUB's counters have the type that GPU atomics add. */
typedef unsigned long long counter;
static_assert(sizeof(counter) == sizeof(uint64_t), "counts are 64-bit");

cudaStream_t stream_of(vf_queue *queue)
{
    return static_cast<cudaStream_t>(vf_queue_native(queue));
}

vf_status use(vf_device *device)
{
    return VF_CUDA(device, cudaSetDevice(vf_device_ordinal(device)));
}

/* With `scratch` NULL, count() and order() only set the number of bytes they need. A plan has scratch memory for its
 * longest array. Bins are half-open, as the plan's edges define them. */
cudaError_t count(const vf_histogram *plan, void *scratch, size_t *bytes, int64_t n, const void *x, uint64_t *counts,
                  cudaStream_t stream)
{
    const cuda_state *state = static_cast<const cuda_state *>(plan->state);
    const double *edges = static_cast<const double *>(state->edges.data);
    counter *to = reinterpret_cast<counter *>(counts);
    if (plan->type == VF_U8)
        return cub::DeviceHistogram::HistogramEven(scratch, *bytes, static_cast<const uint8_t *>(x), to, plan->bins + 1,
                                                   0, plan->bins, n, stream);
    if (plan->type == VF_F32)
        return cub::DeviceHistogram::HistogramRange(scratch, *bytes, static_cast<const float *>(x), to, plan->bins + 1,
                                                    edges, n, stream);
    return cub::DeviceHistogram::HistogramRange(scratch, *bytes, static_cast<const double *>(x), to, plan->bins + 1,
                                                edges, n, stream);
}

cudaError_t order(const vf_sort *plan, void *scratch, size_t *bytes, int64_t n, const uint32_t *keys,
                  const uint32_t *values, uint32_t *keys_out, uint32_t *values_out, cudaStream_t stream)
{
    return cub::DeviceRadixSort::SortPairs(scratch, *bytes, keys, keys_out, values, values_out, n, 0, plan->bits,
                                           stream);
}

void free_state(void *pointer)
{
    cuda_state *state = static_cast<cuda_state *>(pointer);
    if (!state)
        return;
    vf_array_free(&state->scratch);
    vf_array_free(&state->edges);
    free(state);
}

vf_status histogram_create(vf_histogram *plan)
{
    cuda_state *state = static_cast<cuda_state *>(calloc(1, sizeof *state));
    plan->state = state;
    if (!state)
        return vf_fail(vf_device_context(plan->device), VF_ERR_MEMORY, "no memory for a histogram");
    size_t bytes = 0;
    vf_status status = use(plan->device);
    if (status == VF_OK && plan->edges)
        status = vf_array_create(plan->device, VF_SPACE_DEVICE, VF_F64, plan->bins + 1, &state->edges);
    if (status == VF_OK && plan->edges)
        status = VF_CUDA(plan->device, vf_cuda_upload(state->edges.data, plan->edges,
                                                      ((size_t)plan->bins + 1) * sizeof *plan->edges));
    if (status == VF_OK)
        status = vf_cuda_check(plan->device, count(plan, NULL, &bytes, plan->most, NULL, NULL, NULL),
                               "planning a histogram");
    /* At least a byte: NULL would query the size again. */
    return status == VF_OK
               ? vf_array_create(plan->device, VF_SPACE_DEVICE, VF_U8, bytes > 0 ? (int64_t)bytes : 1, &state->scratch)
               : status;
}

vf_status histogram_execute(const vf_histogram *plan, vf_queue *queue, int64_t n, const void *x, uint64_t *counts)
{
    const cuda_state *state = static_cast<const cuda_state *>(plan->state);
    size_t bytes = (size_t)state->scratch.count;
    vf_status status = use(plan->device);
    if (status == VF_OK && n == 0)
        return VF_CUDA(plan->device, cudaMemsetAsync(counts, 0, (size_t)plan->bins * sizeof *counts, stream_of(queue)));
    if (status == VF_OK)
        status = vf_cuda_check(plan->device, count(plan, state->scratch.data, &bytes, n, x, counts, stream_of(queue)),
                               "a histogram");
    return status;
}

void histogram_destroy(vf_histogram *plan)
{
    free_state(plan->state);
}

vf_status sort_create(vf_sort *plan)
{
    cuda_state *state = static_cast<cuda_state *>(calloc(1, sizeof *state));
    plan->state = state;
    if (!state)
        return vf_fail(vf_device_context(plan->device), VF_ERR_MEMORY, "no memory for a sort");
    const vf_status status = use(plan->device);
    return status == VF_OK
               ? vf_cuda_check(plan->device,
                               order(plan, NULL, &state->scratch_bytes, plan->most, NULL, NULL, NULL, NULL, NULL),
                               "planning a sort")
               : status;
}

vf_status sort_execute(const vf_sort *plan, vf_queue *queue, int64_t n, const uint32_t *keys, const uint32_t *values,
                       uint32_t *keys_out, uint32_t *values_out)
{
    const cuda_state *state = static_cast<const cuda_state *>(plan->state);
    size_t bytes = state->scratch_bytes;
    vf_stream_memory memory;
    vf_array scratch = {};
    vf_status status = vf_stream_memory_begin(queue, &memory);
    if (status == VF_OK) /* at least a byte: NULL would query the size again */
        status = vf_stream_memory_take(&memory, VF_U8, bytes > 0 ? (int64_t)bytes : 1, &scratch);
    if (status == VF_OK)
        status = vf_cuda_check(
            plan->device, order(plan, scratch.data, &bytes, n, keys, values, keys_out, values_out, stream_of(queue)),
            "a sort");
    vf_stream_memory_free(&memory);
    return status;
}

void sort_destroy(vf_sort *plan)
{
    free_state(plan->state);
}

} // namespace

extern "C" const vf_sort_ops vf_sort_cuda = {histogram_create, histogram_execute, histogram_destroy,
                                             sort_create,      sort_execute,      sort_destroy};
