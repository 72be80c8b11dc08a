/* Sorts on a GPU, by CUB from the CUDA Toolkit. */
#include <stdlib.h>

#include <cub/device/device_radix_sort.cuh>

#include "backend/cuda_check.cuh"
#include "backend/stream_memory.cuh"
#include "sort_internal.h"

namespace
{

struct cuda_state {
    size_t scratch_bytes; /* taken for the time of an execution */
};

/* With `scratch` NULL, only sets the number of bytes it needs. */
cudaError_t order(const vf_sort *plan, void *scratch, size_t *bytes, int64_t n, const uint32_t *keys,
                  const uint32_t *values, uint32_t *keys_out, uint32_t *values_out, cudaStream_t stream)
{
    return cub::DeviceRadixSort::SortPairs(scratch, *bytes, keys, keys_out, values, values_out, n, 0, plan->bits,
                                           stream);
}

vf_status create(vf_sort *plan)
{
    cuda_state *state = static_cast<cuda_state *>(calloc(1, sizeof *state));
    plan->state = state;
    if (!state)
        return vf_fail(vf_device_context(plan->device), VF_ERR_MEMORY, "no memory for a sort");
    const vf_status status = vf_cuda_use(plan->device);
    return status == VF_OK
               ? vf_cuda_check(plan->device,
                               order(plan, NULL, &state->scratch_bytes, plan->most, NULL, NULL, NULL, NULL, NULL),
                               "planning a sort")
               : status;
}

vf_status execute(const vf_sort *plan, vf_queue *queue, int64_t n, const uint32_t *keys, const uint32_t *values,
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
            plan->device, order(plan, scratch.data, &bytes, n, keys, values, keys_out, values_out, vf_stream_of(queue)),
            "a sort");
    vf_stream_memory_free(&memory);
    return status;
}

void destroy(vf_sort *plan)
{
    free(plan->state);
}

} // namespace

extern "C" const vf_sort_ops vf_sort_cuda = {create, execute, destroy};
