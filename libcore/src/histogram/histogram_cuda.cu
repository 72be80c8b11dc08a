/* Histograms on a GPU, by CUB from the CUDA Toolkit. */
#include <stdlib.h>

#include <cub/device/device_histogram.cuh>

#include "backend/cuda_check.cuh"
#include "histogram_internal.h"

namespace
{

struct cuda_state {
    vf_array scratch; /* bytes */
    vf_array edges;   /* empty for bytes */
};

/* CUB's counters have the type that GPU atomics add. */
typedef unsigned long long counter;
static_assert(sizeof(counter) == sizeof(uint64_t), "counts are 64-bit");

/* With `scratch` NULL, only sets the number of bytes it needs. A plan has scratch memory for its longest array. Bins are
 * half-open, as the plan's edges define them. */
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

vf_status create(vf_histogram *plan)
{
    cuda_state *state = static_cast<cuda_state *>(calloc(1, sizeof *state));
    plan->state = state;
    if (!state)
        return vf_fail(vf_device_context(plan->device), VF_ERR_MEMORY, "no memory for a histogram");
    size_t bytes = 0;
    vf_status status = vf_cuda_use(plan->device);
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

vf_status execute(const vf_histogram *plan, vf_queue *queue, int64_t n, const void *x, uint64_t *counts)
{
    const cuda_state *state = static_cast<const cuda_state *>(plan->state);
    size_t bytes = (size_t)state->scratch.count;
    vf_status status = vf_cuda_use(plan->device);
    if (status == VF_OK && n == 0)
        return VF_CUDA(plan->device,
                       cudaMemsetAsync(counts, 0, (size_t)plan->bins * sizeof *counts, vf_stream_of(queue)));
    if (status == VF_OK)
        status = vf_cuda_check(
            plan->device, count(plan, state->scratch.data, &bytes, n, x, counts, vf_stream_of(queue)), "a histogram");
    return status;
}

void destroy(vf_histogram *plan)
{
    cuda_state *state = static_cast<cuda_state *>(plan->state);
    if (!state)
        return;
    vf_array_free(&state->scratch);
    vf_array_free(&state->edges);
    free(state);
}

} // namespace

extern "C" const vf_histogram_ops vf_histogram_cuda = {create, execute, destroy};
