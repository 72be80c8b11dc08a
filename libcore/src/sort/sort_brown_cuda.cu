/* The sort by three kernels a pass on a GPU: the host's part. */
#include <stdlib.h>

#include "sort_runs.cuh"

namespace
{

struct brown_entry {
    cudaError_t (*find)(vf_launch *launch);
    cudaError_t (*launch)(const vf_sort *plan, cudaStream_t stream, int64_t n, const void *keys, const void *values,
                          void *const keys_to[2], void *const values_to[2], unsigned *counts);
};

struct brown_state {
    const brown_entry *entry;
    vf_launch launch;
};

const brown_state *state_of(const vf_sort *plan)
{
    return static_cast<const brown_state *>(plan->state);
}

template <typename K, typename V>
struct brown {
    typedef vf_sort_run_tuning<sizeof(K) + vf_has_value<V>::bytes> Tuning;

    static cudaError_t find(vf_launch *launch)
    {
        const cudaError_t error = vf_find_launch<Tuning>(vf_distribute_keys<K, V, Tuning>, true, launch);
        if (launch->most_blocks > VF_MOST_RUNS)
            launch->most_blocks = VF_MOST_RUNS;
        return error;
    }

    static cudaError_t launch(const vf_sort *plan, cudaStream_t stream, int64_t n, const void *keys, const void *values,
                              void *const keys_to[2], void *const values_to[2], unsigned *counts)
    {
        const vf_launch &shape = state_of(plan)->launch;
        const int passes = vf_passes_of(plan, VF_NIBBLE_BITS);
        const K *from = static_cast<const K *>(keys);
        const V *values_from = static_cast<const V *>(values);
        for (int p = 0; p < passes; p++) {
            const vf_digit digit = vf_digit_of(plan->low, plan->high, VF_NIBBLE_BITS, p);
            const vf_range range = vf_range_at(from, n);
            const unsigned runs = vf_count_thread_blocks(shape, range);
            const int to = (passes - 1 - p) % 2 == 0; /* the last pass goes to the output */
            K *keys_out = static_cast<K *>(keys_to[to]);
            V *values_out = static_cast<V *>(values_to[to]);
            vf_count_keys<K, Tuning><<<runs, shape.threads, 0, stream>>>(range, from, plan->order, digit, counts);
            vf_scan_run_counts<<<1, VF_NIBBLES * VF_NIBBLES, 0, stream>>>((int)runs, counts);
            vf_distribute_keys<K, V, Tuning><<<runs, shape.threads, 0, stream>>>(
                range, from, values_from, keys_out, values_out, plan->order, digit, counts);
            from = keys_out;
            values_from = values_out;
        }
        return cudaGetLastError();
    }

    static const brown_entry *get()
    {
        static const brown_entry entry = {find, launch};
        return &entry;
    }
};

void destroy(vf_sort *plan)
{
    free(plan->state);
}

vf_status create(vf_sort *plan)
{
    brown_state *state = static_cast<brown_state *>(calloc(1, sizeof *state));
    plan->state = state;
    if (!state)
        return vf_fail(vf_device_context(plan->device), VF_ERR_MEMORY, "not enough memory for a sort");
    state->entry = vf_sort_entry<brown>(plan);
    const vf_status status = vf_cuda_use(plan->device);
    return status == VF_OK ? VF_CUDA(plan->device, state->entry->find(&state->launch)) : status;
}

vf_status execute(const vf_sort *plan, vf_queue *queue, int64_t n, const void *keys, const void *values, void *keys_out,
                  void *values_out)
{
    const bool between = vf_passes_of(plan, VF_NIBBLE_BITS) > 1;
    vf_stream_memory memory;
    vf_array counts = {}, key_scratch = {}, value_scratch = {};
    vf_status status = vf_stream_memory_begin(queue, &memory);
    if (status == VF_OK)
        status = vf_stream_memory_take(&memory, VF_I32, VF_MOST_RUNS * VF_NIBBLES, &counts);
    if (status == VF_OK)
        status = vf_stream_memory_take(&memory, VF_U8, between ? n * plan->key_bytes : 0, &key_scratch);
    if (status == VF_OK)
        status = vf_stream_memory_take(&memory, VF_U8, between ? n * plan->value_bytes : 0, &value_scratch);
    void *const keys_to[2] = {key_scratch.data, keys_out}, *const values_to[2] = {value_scratch.data, values_out};
    if (status == VF_OK)
        status = vf_cuda_check(plan->device,
                               state_of(plan)->entry->launch(plan, vf_stream_of(queue), n, keys, values, keys_to,
                                                             values_to, static_cast<unsigned *>(counts.data)),
                               "a sort");
    vf_stream_memory_free(&memory);
    return status;
}

const char *const names[] = {"brown", NULL};

} // namespace

extern "C" const vf_sort_ops vf_sort_ops_brown = {{VF_DEVICE_CUDA, names}, create, destroy, execute};
