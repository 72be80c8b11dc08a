/* Times the shapes of the tuned sort's passes on a GPU, beside CUB, and checks that both agree. Not a benchmark: its result
 * goes into libcore/src/sort/sort_tuning.cuh.
 *
 * usage: tune_sort [LOG2 OF KEYS]     (27)
 *
 * Random keys. A time is the least of several sorts, between events. */
#include <cub/device/device_radix_sort.cuh>

#include "sort/sort_launch.cuh"
#include "tune_gpu.cuh"

namespace
{

enum { RUNS = 5 };
int64_t n;

__global__ void make_random(uint64_t *x, int64_t words)
{
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < words; i += (int64_t)gridDim.x * blockDim.x)
        x[i] = random_bits_of(i);
}

__global__ void compare(const uint64_t *a, const uint64_t *b, int64_t words, unsigned long long *different)
{
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < words; i += (int64_t)gridDim.x * blockDim.x)
        if (a[i] != b[i])
            atomicAdd(different, 1ull);
}

template <typename K, typename V>
struct arrays {
    static constexpr size_t value_bytes = vf_has_value<V>::bytes;
    K *keys, *out, *expected, *between;
    void *values, *values_out, *values_expected, *values_between;
    unsigned long long *different;

    arrays()
    {
        const size_t bytes = (size_t)n * sizeof(K), more = (size_t)n * value_bytes;
        K **of_keys[] = {&keys, &out, &expected, &between};
        void **of_values[] = {&values, &values_out, &values_expected, &values_between};
        for (int i = 0; i < 4; i++) {
            *of_keys[i] = static_cast<K *>(allocate(bytes));
            *of_values[i] = allocate(more);
        }
        different = static_cast<unsigned long long *>(allocate(8));
        make_random<<<1024, 256, 0, stream>>>(reinterpret_cast<uint64_t *>(keys), (int64_t)(bytes / 8));
        make_random<<<1024, 256, 0, stream>>>(static_cast<uint64_t *>(values), (int64_t)(more / 8));
        need(cudaGetLastError());
    }
    ~arrays()
    {
        void *all[] = {keys, out, expected, between, values, values_out, values_expected, values_between, different};
        for (void *p : all)
            cudaFree(p);
    }

    cudaError_t cub(void *scratch, size_t *bytes) const
    {
        if constexpr (vf_has_value<V>::yes)
            return cub::DeviceRadixSort::SortPairs(scratch, *bytes, keys, expected, static_cast<const V *>(values),
                                                   static_cast<V *>(values_expected), n, 0, 8 * (int)sizeof(K), stream);
        else
            return cub::DeviceRadixSort::SortKeys(scratch, *bytes, keys, expected, n, 0, 8 * (int)sizeof(K), stream);
    }

    double time_cub() const
    {
        size_t bytes = 0;
        need(cub(nullptr, &bytes));
        void *scratch = allocate(bytes);
        const double seconds = time_of(RUNS, [&] { need(cub(scratch, &bytes)); });
        cudaFree(scratch);
        std::printf("keys of %zu, values of %zu bytes: CUB %.2f G/s\n", sizeof(K), value_bytes,
                    1e-9 * (double)n / seconds);
        return seconds;
    }

    unsigned long long count_different() const
    {
        unsigned long long here = 0;
        need(cudaMemsetAsync(different, 0, 8, stream));
        compare<<<1024, 256, 0, stream>>>(reinterpret_cast<const uint64_t *>(out),
                                          reinterpret_cast<const uint64_t *>(expected), n * (int64_t)sizeof(K) / 8,
                                          different);
        compare<<<1024, 256, 0, stream>>>(static_cast<const uint64_t *>(values_out),
                                          static_cast<const uint64_t *>(values_expected), n * (int64_t)value_bytes / 8,
                                          different);
        need(cudaMemcpyAsync(&here, different, 8, cudaMemcpyDeviceToHost, stream));
        need(cudaStreamSynchronize(stream));
        return here;
    }
};

template <typename K, typename V, int nWarps, int nWork, int nBlocks>
void try_shape(const arrays<K, V> &a, double beside)
{
    typedef vf_tuned_sort<K, V, vf_fixed_tuning<nWarps, nWork, nBlocks>> Sort;
    vf_tuned_launches launches = {};
    vf_sort plan = {};
    plan.key_bytes = sizeof(K);
    plan.value_bytes = (int)a.value_bytes;
    plan.high = 8 * (int)sizeof(K);
    need(Sort::find(&launches));
    const size_t bytes = Sort::scratch_bytes(&plan, launches, n);
    unsigned char *scratch = static_cast<unsigned char *>(allocate(bytes));
    void *const keys_to[2] = {a.between, a.out}, *const values_to[2] = {a.values_between, a.values_out};
    need(cudaMemsetAsync(a.out, 0x81, (size_t)n * sizeof(K), stream));
    const double seconds = time_of(
        RUNS, [&] { need(Sort::launch(&plan, &launches, stream, n, a.keys, a.values, keys_to, values_to, scratch)); });
    const unsigned long long different = a.count_different();
    std::printf("  <%d, %d, %d>: %.2f G/s, %.3f of CUB%s\n", nWarps, nWork, nBlocks, 1e-9 * (double)n / seconds,
                beside / seconds, different ? "  WRONG" : "");
    std::fflush(stdout);
    cudaFree(scratch);
}

template <typename K, typename V, int... shape>
struct shapes;
template <typename K, typename V>
struct shapes<K, V> {
    static void run(const arrays<K, V> &, double)
    {
    }
};
template <typename K, typename V, int nWarps, int nWork, int nBlocks, int... rest>
struct shapes<K, V, nWarps, nWork, nBlocks, rest...> {
    static void run(const arrays<K, V> &a, double beside)
    {
        try_shape<K, V, nWarps, nWork, nBlocks>(a, beside);
        shapes<K, V, rest...>::run(a, beside);
    }
};

template <typename K, typename V, int... shape>
void search()
{
    const arrays<K, V> a;
    const double beside = a.time_cub();
    shapes<K, V, shape...>::run(a, beside);
}

/* The counting kernel alone. */
template <typename K, int... shape>
struct counts;
template <typename K>
struct counts<K> {
    static void run(const K *, unsigned long long *)
    {
    }
};
template <typename K, int nWarps, int nWork, int nBlocks, int... rest>
struct counts<K, nWarps, nWork, nBlocks, rest...> {
    static void run(const K *keys, unsigned long long *all)
    {
        typedef vf_fixed_tuning<nWarps, nWork, nBlocks> Tuning;
        vf_launch launch = {};
        need(vf_find_launch<Tuning>(vf_sort_count<K, Tuning>, false, &launch));
        const vf_range range = vf_range_at(keys, n);
        const double seconds = time_of(RUNS, [&] {
            vf_sort_count<K, Tuning><<<vf_count_thread_blocks(launch, range), launch.threads, 0, stream>>>(
                range, keys, {}, 0, 8 * (int)sizeof(K), all);
        });
        std::printf("  count <%d, %d, %d>: %.3f ms\n", nWarps, nWork, nBlocks, 1e3 * seconds);
        counts<K, rest...>::run(keys, all);
    }
};

template <typename K, int... shape>
void time_counts()
{
    const arrays<K, vf_no_value> a;
    unsigned long long *all = static_cast<unsigned long long *>(allocate(8 * sizeof(K) * VF_BYTE_DIGITS));
    std::printf("counts of keys of %zu bytes\n", sizeof(K));
    counts<K, shape...>::run(a.keys, all);
    cudaFree(all);
}

} // namespace

int main(int argc, char **argv)
{
    n = (int64_t)1 << (argc > 1 ? std::atoi(argv[1]) : 27);
    tune_begin();
    search<uint32_t, uint32_t, 12, 20, 3, 12, 23, 2, 16, 17, 2, 16, 18, 2, 16, 20, 2>();
    search<uint32_t, vf_no_value, 12, 20, 3, 12, 22, 3, 12, 23, 2, 16, 20, 2>();
    search<uint64_t, vf_no_value, 12, 20, 2, 16, 16, 2, 16, 18, 2>();
    search<uint64_t, uint64_t, 12, 14, 2, 12, 18, 2, 16, 14, 2>();
    search<uint32_t, uint64_t, 12, 20, 2, 12, 22, 2, 16, 16, 2>();
    search<uint64_t, uint32_t, 12, 20, 2, 12, 22, 2, 16, 16, 2>();
    search<uint16_t, vf_no_value, 12, 20, 3, 12, 22, 3, 16, 20, 2>();
    search<uint8_t, vf_no_value, 12, 22, 3, 16, 32, 2>();
    time_counts<uint32_t, 8, 16, 6, 8, 16, 8, 4, 16, 12>();
    time_counts<uint64_t, 8, 8, 6, 8, 16, 6, 4, 8, 12>();
    return 0;
}
