/* What the tuned sort on a GPU does before its passes: counts the digits of all passes in one reading of the keys, and
 * decides which passes run. Not installed.
 *
 * A pass whose digit is the same for all keys changes nothing. The host does not know of it, because it does not wait:
 * the thread blocks of such a pass end at once, and each pass finds its arrays in its route. */
#ifndef VOXFIELD_SORT_COUNTS_CUH
#define VOXFIELD_SORT_COUNTS_CUH

#include "sort_cuda.cuh"

enum { VF_BYTE_DIGITS = 256, VF_BYTE_BITS = 8 };

/* Where a pass reads and writes: 0 the input, 1 the scratch array, 2 the output. */
struct vf_sort_route {
    unsigned runs, from, to;
    unsigned odd; /* of the passes that run, this one is the second, fourth, ... */
};

/* Counts in shared memory. Equal digits of neighbouring keys are added at once: additions to one word wait for each other.
 */
template <typename K, typename Tuning>
struct vf_sort_counting {
    typedef vf_shape_of<Tuning> Shape;
    static constexpr int most_passes = sizeof(K), V = vf_vector_of<K>(Shape::work), GROUP = V < 4 ? V : 4;
    vf_range range;
    const K *keys;
    vf_key_order order;
    int low, high;
    unsigned (*counts)[VF_BYTE_DIGITS]; /* [passes], shared */

    template <int n>
    __device__ void add(const K *key) const
    {
#pragma unroll
        for (int p = 0; p < most_passes; p++) {
            if (low + p * VF_BYTE_BITS >= high)
                break;
            const vf_digit digit = vf_digit_of(low, high, VF_BYTE_BITS, p);
#pragma unroll
            for (int j = 0; j < n; j++)
                atomicAdd(&counts[p][digit.of(key[j])], 1u);
        }
    }

    __device__ void middle(int64_t first) const
    {
        vf_pack<K, V> pack[Shape::steps(V)];
#pragma unroll
        for (int k = 0; k < Shape::steps(V); k++)
            pack[k] = vf_load_once<V, true>(keys + Shape::at(first, k, V));
#pragma unroll
        for (int k = 0; k < Shape::steps(V); k++)
#pragma unroll
            for (int g = 0; g < V; g += GROUP) {
                K group[GROUP];
#pragma unroll
                for (int j = 0; j < GROUP; j++)
                    group[j] = vf_ordered(pack[k].of[g + j], order);
                add<GROUP>(group);
            }
    }

    __device__ void edge(int64_t first) const
    {
        for (int k = 0; k < Shape::work; k++) {
            const int64_t i = Shape::at(first, k, 1);
            if (range.has(i)) {
                const K key = vf_ordered(keys[i], order);
                add<1>(&key);
            }
        }
    }
};

/* all [passes][VF_BYTE_DIGITS] += the numbers of keys with each digit. A thread block has fewer than 2^32 keys, unless
 * it is the only one; but then n is small. */
template <typename K, typename Tuning>
__global__ void __launch_bounds__(VF_TUNED_THREADS(Tuning))
    vf_sort_count(vf_range range, const K *keys, vf_key_order order, int low, int high, unsigned long long *all)
{
    __shared__ unsigned counts[sizeof(K)][VF_BYTE_DIGITS];
    unsigned *flat = counts[0];
    for (unsigned i = threadIdx.x; i < sizeof(K) * VF_BYTE_DIGITS; i += blockDim.x)
        flat[i] = 0;
    __syncthreads();
    vf_sort_counting<K, Tuning> body = {range, keys, order, low, high, counts};
    vf_skeleton_column<vf_shape_of<Tuning>>(range, body);
    __syncthreads();
    for (unsigned i = threadIdx.x; i < sizeof(K) * VF_BYTE_DIGITS; i += blockDim.x)
        if (flat[i] > 0)
            atomicAdd(all + i, (unsigned long long)flat[i]);
}

/* The sum over the warp, in all lanes. */
__device__ inline unsigned vf_warp_sum(unsigned x)
{
#if __CUDA_ARCH__ >= 800
    return __reduce_add_sync(~0u, x);
#else
    for (int step = VF_WARP / 2; step > 0; step /= 2)
        x += __shfl_xor_sync(~0u, x, step);
    return x;
#endif
}

/* The exclusive sum of x over the first VF_BYTE_DIGITS threads of the block, which all call it. `sums`: shared, one a
 * warp of these threads. */
__device__ inline unsigned vf_sum_before_digit(unsigned x, unsigned *sums)
{
    const unsigned t = threadIdx.x, lane = t % VF_WARP, warp = t / VF_WARP;
    unsigned sum = x;
#pragma unroll
    for (int step = 1; step < VF_WARP; step *= 2) {
        const unsigned other = __shfl_up_sync(~0u, sum, step);
        sum += lane >= step ? other : 0;
    }
    if (lane == VF_WARP - 1 && t < VF_BYTE_DIGITS)
        sums[warp] = sum;
    __syncthreads();
    if (t >= VF_BYTE_DIGITS)
        return 0;
    return vf_warp_sum(lane < warp ? sums[lane] : 0) + sum - x;
}

/* One block of VF_BYTE_DIGITS threads. starts [passes][stride]: where each digit begins, modulo 2^32, in the first
 * VF_BYTE_DIGITS words of a pass. If no pass would run, the last one does, and copies. */
static __global__ void __launch_bounds__(VF_BYTE_DIGITS)
    vf_sort_plan_passes(int passes, int64_t n, const unsigned long long *counts, int64_t stride, unsigned *starts,
                        vf_sort_route *routes)
{
    __shared__ unsigned sums[VF_BYTE_DIGITS / VF_WARP];
    unsigned runs = 0; /* a bit for each pass */
    for (int p = 0; p < passes; p++) {
        const unsigned long long count = counts[p * VF_BYTE_DIGITS + threadIdx.x];
        starts[p * stride + threadIdx.x] = vf_sum_before_digit((unsigned)count, sums);
        if (!__syncthreads_or(count == (unsigned long long)n)) /* also before `sums` is used again */
            runs |= 1u << p;
    }
    if (runs == 0)
        runs = 1u << (passes - 1);
    if (threadIdx.x != 0)
        return;
    const int total = __popc(runs);
    for (int p = 0, j = 0; p < passes; p++) {
        const bool run = runs >> p & 1;
        const unsigned to = (total - 1 - j) % 2 == 0 ? 2 : 1;
        routes[p] = {run, j == 0 ? 0 : 3 - to, to, (unsigned)j % 2};
        j += run;
    }
}

#endif
