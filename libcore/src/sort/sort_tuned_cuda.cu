/* The tuned sort on a GPU: plans, and memory in the queue. */
#include <stdlib.h>

#include "sort_launch.cuh"

namespace
{

struct tuned_entry {
    cudaError_t (*find)(vf_tuned_launches *launches);
    cudaError_t (*launch)(const vf_sort *plan, const vf_tuned_launches *launches, cudaStream_t stream, int64_t n,
                          const void *keys, const void *values, void *const keys_to[2], void *const values_to[2],
                          unsigned char *scratch);
};

struct tuned_state {
    const tuned_entry *entry;
    vf_tuned_launches launches;
};

template <typename K, typename V>
struct tuned {
    static const tuned_entry *get()
    {
        typedef vf_tuned_sort<K, V, vf_sort_tile_tuning<sizeof(K) + vf_has_value<V>::bytes>> Sort;
        static const tuned_entry entry = {Sort::find, Sort::launch};
        return &entry;
    }
};

void destroy(vf_sort *plan)
{
    free(plan->state);
}

vf_status create(vf_sort *plan)
{
    tuned_state *state = static_cast<tuned_state *>(calloc(1, sizeof *state));
    plan->state = state;
    if (!state)
        return vf_fail(vf_device_context(plan->device), VF_ERR_MEMORY, "not enough memory for a sort");
    state->entry = vf_sort_entry<tuned>(plan);
    const vf_status status = vf_cuda_use(plan->device);
    return status == VF_OK ? VF_CUDA(plan->device, state->entry->find(&state->launches)) : status;
}

vf_status execute(const vf_sort *plan, vf_queue *queue, int64_t n, const void *keys, const void *values, void *keys_out,
                  void *values_out)
{
    const tuned_state *state = static_cast<const tuned_state *>(plan->state);
    const bool between = vf_passes_of(plan, VF_BYTE_BITS) > 1;
    vf_stream_memory memory;
    vf_array scratch = {}, key_scratch = {}, value_scratch = {};
    vf_status status = vf_stream_memory_begin(queue, &memory);
    if (status == VF_OK)
        status = vf_stream_memory_take(&memory, VF_U8, (int64_t)vf_sort_scratch_of(plan, state->launches, n).bytes,
                                       &scratch);
    if (status == VF_OK)
        status = vf_stream_memory_take(&memory, VF_U8, between ? n * plan->key_bytes : 0, &key_scratch);
    if (status == VF_OK)
        status = vf_stream_memory_take(&memory, VF_U8, between ? n * plan->value_bytes : 0, &value_scratch);
    void *const keys_to[2] = {key_scratch.data, keys_out}, *const values_to[2] = {value_scratch.data, values_out};
    if (status == VF_OK)
        status = vf_cuda_check(plan->device,
                               state->entry->launch(plan, &state->launches, vf_stream_of(queue), n, keys, values,
                                                    keys_to, values_to, static_cast<unsigned char *>(scratch.data)),
                               "a sort");
    vf_stream_memory_free(&memory);
    return status;
}

const char *const names[] = {"tuned", NULL};

} // namespace

extern "C" const vf_sort_ops vf_sort_ops_tuned = {{VF_DEVICE_CUDA, names}, create, destroy, execute};
