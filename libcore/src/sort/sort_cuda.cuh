/* What the two sorts on a GPU share: types of keys and values, digits. Not installed. */
#ifndef VOXFIELD_SORT_CUDA_CUH
#define VOXFIELD_SORT_CUDA_CUH

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

/* Entry<K, V>::get() for the types of a plan. */
template <template <typename, typename> class Entry, typename K>
auto vf_sort_entry_of(const vf_sort *plan)
{
    return plan->value_bytes == 0   ? Entry<K, vf_no_value>::get()
           : plan->value_bytes == 4 ? Entry<K, uint32_t>::get()
                                    : Entry<K, uint64_t>::get();
}
template <template <typename, typename> class Entry>
auto vf_sort_entry(const vf_sort *plan)
{
    return plan->key_bytes == 1   ? vf_sort_entry_of<Entry, uint8_t>(plan)
           : plan->key_bytes == 2 ? vf_sort_entry_of<Entry, uint16_t>(plan)
           : plan->key_bytes == 4 ? vf_sort_entry_of<Entry, uint32_t>(plan)
                                  : vf_sort_entry_of<Entry, uint64_t>(plan);
}

#endif
