/* The GPU's histogram of bytes. Not installed.
 *
 * A thread block has a counter for each value and each lane of a warp, [value][lane], in shared memory. A lane's counters
 * are all in one bank, and no other lane of the warp uses it. So an atomic addition without a result for each byte never
 * meets a conflict inside its warp, whatever the data. Warps of the thread block share the counters: atomics allow it, and
 * without it there would be room for few warps. */
#ifndef VOXFIELD_HISTOGRAM_BYTES_CUH
#define VOXFIELD_HISTOGRAM_BYTES_CUH

#include "histogram_tuning.cuh"

enum { VF_BYTE_BINS = 256, VF_BYTE_COUNTERS = VF_BYTE_BINS * VF_WARP };

template <typename Shape>
struct vf_bytes_body {
    static constexpr int V = VF_VECTOR; /* bytes of a load */
    typedef vf_pack<uint32_t, V / 4> Words;
    const uint8_t *x;
    const vf_range range;
    char *column; /* the lane's counter of value 0 */

    /* `shifted`: the value times 128, the distance of two values' counters in bytes, and other bits. */
    __device__ void add(uint32_t shifted) const
    {
        atomicAdd(reinterpret_cast<unsigned *>(column + (shifted & 0xff * VF_LINE)), 1u);
    }

    __device__ Words load(int64_t i) const
    {
        return vf_load_once<V / 4, true>(reinterpret_cast<const uint32_t *>(x + i));
    }

    __device__ void count(const Words &words) const
    {
#pragma unroll
        for (int i = 0; i < V / 4; i++) {
            add(words.of[i] << 7);
            add(words.of[i] >> 1);
            add(words.of[i] >> 9);
            add(words.of[i] >> 17);
        }
    }

    __device__ void middle(int64_t first) const
    {
        Words words[Shape::steps(V)];
#pragma unroll
        for (int k = 0; k < Shape::steps(V); k++)
            words[k] = load(Shape::at(first, k, V));
#pragma unroll
        for (int k = 0; k < Shape::steps(V); k++)
            count(words[k]);
    }

    __device__ void edge(int64_t first) const
    {
        for (int k = 0; k < Shape::steps(V); k++) {
            const int64_t i = Shape::at(first, k, V);
            if (range.has(i) && range.has(i + V - 1))
                count(load(i));
            else
                for (int j = 0; j < V; j++)
                    if (range.has(i + j))
                        add((uint32_t)x[i + j] * VF_LINE);
        }
    }
};

/* Adds the counts of x to `result` [256]. The shared memory is dynamic: VF_BYTE_COUNTERS numbers. */
template <typename Tuning>
__global__ void __launch_bounds__(VF_TUNED_THREADS(Tuning), vf_tuned_blocks<Tuning>::count)
    vf_count_bytes(const uint8_t *x, const vf_range range, unsigned long long *result)
{
    typedef vf_shape_of<Tuning> Shape;
    extern __shared__ __align__(16) unsigned char room[];
    unsigned *counters = reinterpret_cast<unsigned *>(room);
    const int lane = (int)threadIdx.x % VF_WARP;
    for (int i = (int)threadIdx.x; i < VF_BYTE_COUNTERS; i += Shape::threads)
        counters[i] = 0;
    __syncthreads();
    vf_bytes_body<Shape> body = {x, range, reinterpret_cast<char *>(counters + lane)};
    vf_skeleton_column<Shape>(range, body);
    __syncthreads();
    for (int value = (int)threadIdx.x; value < VF_BYTE_BINS; value += Shape::threads) {
        unsigned sum = 0;
        for (int i = 0; i < VF_WARP; i++) /* each lane begins in another bank */
            sum += counters[value * VF_WARP + (lane + i) % VF_WARP];
        if (sum > 0)
            atomicAdd(result + value, (unsigned long long)sum);
    }
}

#endif
