/* The inside of sorts: the plan, the order of keys, and the interface of backends; not installed. */
#ifndef VOXFIELD_SORT_PLAN_H
#define VOXFIELD_SORT_PLAN_H

#include "backend/variants.h"
#include "voxfield/sort.h"

#ifdef __CUDACC__
#define VF_KEY_FUNCTION __host__ __device__ static inline
#else
#define VF_KEY_FUNCTION static inline
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Keys of every type are sorted as unsigned numbers. Signed ones: the sign bit is flipped. Floating-point ones: of a
 * negative number all bits are flipped, of others the sign bit. `sign` is the sign bit, `rest` the other bits that are
 * flipped if it is set; both 0 for unsigned keys. */
typedef struct vf_key_order {
    uint64_t sign, rest;
} vf_key_order;

#define VF_DEFINE_KEY_ORDER(bits)                                                                                      \
    VF_KEY_FUNCTION uint##bits##_t vf_ordered_u##bits(uint##bits##_t key, vf_key_order o)                              \
    {                                                                                                                  \
        const uint64_t is_set = 0 - (uint64_t)(key >> (bits - 1)); /* all bits, without a branch */                    \
        return (uint##bits##_t)(key ^ o.sign ^ (is_set & o.rest));                                                     \
    }                                                                                                                  \
    VF_KEY_FUNCTION uint##bits##_t vf_disordered_u##bits(uint##bits##_t u, vf_key_order o)                             \
    {                                                                                                                  \
        const uint64_t is_set = 0 - (uint64_t)(u >> (bits - 1));                                                       \
        return (uint##bits##_t)(u ^ o.sign ^ (~is_set & o.rest));                                                      \
    }
VF_DEFINE_KEY_ORDER(8)
VF_DEFINE_KEY_ORDER(16)
VF_DEFINE_KEY_ORDER(32)
VF_DEFINE_KEY_ORDER(64)
#undef VF_DEFINE_KEY_ORDER

typedef struct vf_sort_ops {
    vf_variants variants;
    vf_status (*create)(vf_sort *plan); /* sets plan->state */
    void (*destroy)(vf_sort *plan);     /* also after create has failed */
    /* n > 0; the front end has checked the arguments. Values are NULL if there are none. */
    vf_status (*execute)(const vf_sort *plan, vf_queue *queue, int64_t n, const void *keys, const void *values,
                         void *keys_out, void *values_out);
} vf_sort_ops;

struct vf_sort {
    const vf_sort_ops *ops;
    vf_device *device;
    int key_bytes, value_bytes, low, high; /* sorts by bits [low, high) */
    vf_key_order order;
    int64_t most;
    void *state; /* the backend's own */
};

extern const vf_sort_ops vf_sort_ops_msd, vf_sort_ops_lsd, vf_sort_ops_ref, vf_sort_ops_tuned, vf_sort_ops_brown;

#ifdef __cplusplus
}
#endif
#endif
