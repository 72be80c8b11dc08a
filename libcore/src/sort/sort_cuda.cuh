/* What the two sorts on a GPU share: types of keys and values, digits, plans. Not installed. */
#ifndef VOXFIELD_SORT_CUDA_CUH
#define VOXFIELD_SORT_CUDA_CUH

#include <stdlib.h>

#include "backend/cuda_check.cuh"
#include "backend/stream_memory.cuh"
#include "sort_plan.h"
#include "sort_tuning.cuh"

/* The type of values of sorts of keys only; no memory holds any. */
struct vf_no_value {
};
template <typename V>
struct vf_has_value {
    static constexpr bool yes = true;
    static constexpr int bytes = sizeof(V);
};
template <>
struct vf_has_value<vf_no_value> {
    static constexpr bool yes = false;
    static constexpr int bytes = 0;
};

/* Keys in an order of unsigned numbers (sort_plan.h). */
#define VF_DEFINE_ORDERED(K, bits)                                                                                     \
    __device__ inline K vf_ordered(K key, const vf_key_order &o)                                                       \
    {                                                                                                                  \
        return vf_ordered_u##bits(key, o);                                                                             \
    }                                                                                                                  \
    __device__ inline K vf_disordered(K key, const vf_key_order &o)                                                    \
    {                                                                                                                  \
        return vf_disordered_u##bits(key, o);                                                                          \
    }
VF_DEFINE_ORDERED(uint8_t, 8)
VF_DEFINE_ORDERED(uint16_t, 16)
VF_DEFINE_ORDERED(uint32_t, 32)
VF_DEFINE_ORDERED(uint64_t, 64)
#undef VF_DEFINE_ORDERED

/* Bits of an ordered key. */
struct vf_digit {
    int low, width;
    unsigned mask;

    template <typename K>
    __device__ unsigned of(K key) const
    {
        return (unsigned)(key >> low) & mask;
    }

    /* The same in other words: the compiler does not notice, and so does not keep what of() returned in a register. */
    template <typename K>
    __device__ unsigned again(K key) const
    {
        if constexpr (sizeof(K) <= 4)
            return (unsigned)key << (32 - width - low) >> (32 - width);
        else
            return of(key);
    }
};

/* The digit of pass p, of passes of up to `width` bits. */
__host__ __device__ inline vf_digit vf_digit_of(int low, int high, int width, int p)
{
    const int at = low + p * width, bits = high - at < width ? high - at : width;
    return {at, bits, (1u << bits) - 1};
}

inline int vf_passes_of(const vf_sort *plan, int width)
{
    return (plan->high - plan->low + width - 1) / width;
}

/* ---- plans, and memory in the queue ---- */

/* The host's part of a sort for a plan's types, which Kernels<K, V> has as static functions. Launches: what `find` has found
 * out about the kernels. keys_to, values_to: a scratch array, the output. */
template <typename Launches>
struct vf_sort_kernels {
    cudaError_t (*find)(Launches *launches);
    size_t (*scratch_bytes)(const vf_sort *plan, const Launches &launches, int64_t n);
    cudaError_t (*launch)(const vf_sort *plan, const Launches *launches, cudaStream_t stream, int64_t n,
                          const void *keys, const void *values, void *const keys_to[2], void *const values_to[2],
                          unsigned char *scratch);
};

template <typename Launches, template <typename, typename> class Kernels, typename K>
vf_sort_kernels<Launches> vf_sort_kernels_of(const vf_sort *plan)
{
#define VF_KERNELS(V)                                                                                                  \
    {                                                                                                                  \
        Kernels<K, V>::find, Kernels<K, V>::scratch_bytes, Kernels<K, V>::launch                                       \
    }
    static const vf_sort_kernels<Launches> all[3] = {VF_KERNELS(vf_no_value), VF_KERNELS(uint32_t),
                                                     VF_KERNELS(uint64_t)};
#undef VF_KERNELS
    return all[plan->value_bytes / 4];
}

/* The backend of a sort by `width` bits a pass. */
template <typename Launches, template <typename, typename> class Kernels, int width>
struct vf_cuda_sort {
    struct state {
        vf_sort_kernels<Launches> kernels;
        Launches launches;
    };

    static void destroy(vf_sort *plan)
    {
        free(plan->state);
    }

    static vf_status create(vf_sort *plan)
    {
        state *s = static_cast<state *>(calloc(1, sizeof(state)));
        plan->state = s;
        if (!s)
            return vf_fail(vf_device_context(plan->device), VF_ERR_MEMORY, "not enough memory for a sort");
        s->kernels = plan->key_bytes == 1   ? vf_sort_kernels_of<Launches, Kernels, uint8_t>(plan)
                     : plan->key_bytes == 2 ? vf_sort_kernels_of<Launches, Kernels, uint16_t>(plan)
                     : plan->key_bytes == 4 ? vf_sort_kernels_of<Launches, Kernels, uint32_t>(plan)
                                            : vf_sort_kernels_of<Launches, Kernels, uint64_t>(plan);
        const vf_status status = vf_cuda_use(plan->device);
        return status == VF_OK ? VF_CUDA(plan->device, s->kernels.find(&s->launches)) : status;
    }

    static vf_status execute(const vf_sort *plan, vf_queue *queue, int64_t n, const void *keys, const void *values,
                             void *keys_out, void *values_out)
    {
        const state *s = static_cast<const state *>(plan->state);
        const int64_t between = vf_passes_of(plan, width) > 1 ? n : 0,
                      bytes = (int64_t)s->kernels.scratch_bytes(plan, s->launches, n);
        vf_stream_memory memory;
        vf_array scratch = {}, key_scratch = {}, value_scratch = {};
        vf_status status = vf_stream_memory_begin(queue, &memory);
        VF_TRY(status, vf_stream_memory_take(&memory, VF_U8, bytes, &scratch));
        VF_TRY(status, vf_stream_memory_take(&memory, VF_U8, between * plan->key_bytes, &key_scratch));
        VF_TRY(status, vf_stream_memory_take(&memory, VF_U8, between * plan->value_bytes, &value_scratch));
        void *const keys_to[2] = {key_scratch.data, keys_out}, *const values_to[2] = {value_scratch.data, values_out};
        VF_TRY(status, vf_cuda_check(plan->device,
                                     s->kernels.launch(plan, &s->launches, vf_stream_of(queue), n, keys, values,
                                                       keys_to, values_to, static_cast<unsigned char *>(scratch.data)),
                                     "a sort"));
        vf_stream_memory_free(&memory);
        return status;
    }
};

#endif
