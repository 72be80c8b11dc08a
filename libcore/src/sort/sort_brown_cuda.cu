/* The sort by three kernels a pass on a GPU: the host's part. */
#include "sort_runs.cuh"

namespace
{

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

    static size_t scratch_bytes(const vf_sort *, const vf_launch &, int64_t)
    {
        return VF_MOST_RUNS * VF_NIBBLES * sizeof(unsigned);
    }

    static cudaError_t launch(const vf_sort *plan, const vf_launch *shape, cudaStream_t stream, int64_t n,
                              const void *keys, const void *values, void *const keys_to[2], void *const values_to[2],
                              unsigned char *scratch)
    {
        unsigned *counts = reinterpret_cast<unsigned *>(scratch);
        const int passes = vf_passes_of(plan, VF_NIBBLE_BITS);
        const K *from = static_cast<const K *>(keys);
        const V *values_from = static_cast<const V *>(values);
        for (int p = 0; p < passes; p++) {
            const vf_digit digit = vf_digit_of(plan->low, plan->high, VF_NIBBLE_BITS, p);
            const vf_range range = vf_range_at(from, n);
            const unsigned runs = vf_count_thread_blocks(*shape, range);
            const int to = (passes - 1 - p) % 2 == 0; /* the last pass goes to the output */
            K *keys_out = static_cast<K *>(keys_to[to]);
            V *values_out = static_cast<V *>(values_to[to]);
            vf_count_keys<K, Tuning><<<runs, shape->threads, 0, stream>>>(range, from, plan->order, digit, counts);
            vf_scan_run_counts<<<1, VF_NIBBLES * VF_NIBBLES, 0, stream>>>((int)runs, counts);
            vf_distribute_keys<K, V, Tuning><<<runs, shape->threads, 0, stream>>>(
                range, from, values_from, keys_out, values_out, plan->order, digit, counts);
            from = keys_out;
            values_from = values_out;
        }
        return cudaGetLastError();
    }
};

typedef vf_cuda_sort<vf_launch, brown, VF_NIBBLE_BITS> backend;

const char *const names[] = {"brown", NULL};

} // namespace

extern "C" const vf_sort_ops vf_sort_ops_brown = {
    {VF_DEVICE_CUDA, names}, backend::create, backend::destroy, backend::execute};
