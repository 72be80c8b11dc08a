/* Voxfield - stable sorts of keys, or of pairs of keys and values, in device memory.
 *
 * Sorts by key, ascending. Pairs with equal keys keep their order. Memory, lengths and queues as in reduce.h. The order
 * is exact, so results have the same bits on all devices, for all variants and any number of threads.
 *
 * Order of keys. Unsigned and signed integers: by value, or, if `low` and `high` are given, unsigned ones by their bits
 * [low, high) alone. Floating-point numbers: the total order of IEEE 754-2019, section 5.10, so -0 is before +0. NaNs are
 * sorted by their bits: those with the sign bit before -infinity, the others after +infinity.
 *
 * Variants on a GPU: "tuned" (the default: 8 bits a pass, each pass a single kernel with decoupled look-back; Adinets and
 * Merrill, Onesweep, arXiv 2206.01784) and "brown" (4 bits a pass, three kernels a pass; Brown, PhD thesis, University
 * of North Carolina (2015), chapter 9). On the CPU: "msd" (the default: by digits from the highest bit down that differs,
 * then insertion), "lsd" (a counting sort of some bits a pass, from the lowest up) and "ref" (a merge sort, one thread).
 */
#ifndef VOXFIELD_SORT_H
#define VOXFIELD_SORT_H

#include <stdint.h>

#include "voxfield/device.h"

#ifdef __cplusplus
extern "C" {
#endif
VF_API_BEGIN

typedef enum vf_sort_key {
    VF_SORT_U8,
    VF_SORT_U16,
    VF_SORT_U32,
    VF_SORT_U64,
    VF_SORT_I8,
    VF_SORT_I16,
    VF_SORT_I32,
    VF_SORT_I64,
    VF_SORT_F32,
    VF_SORT_F64,
    VF_SORT_KEYS /* the number of types */
} vf_sort_key;

typedef struct vf_sort_options {
    vf_sort_key key;
    int value_bytes;     /* 0: keys only; 4 or 8 */
    int low, high;       /* unsigned keys: sort by bits [low, high), from the lowest, 0; both 0: all bits */
    const char *variant; /* NULL: the device's default */
} vf_sort_options;

typedef struct vf_sort vf_sort;

/* Makes a plan for up to `most` <= 2^32 keys. Errors: VF_ERR_ARGUMENT (an unsupported type or size, bits that the keys do
 * not have or of keys that are not unsigned, an unknown variant), VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status vf_sort_create(vf_device *device, const vf_sort_options *options, int64_t most, vf_sort **out);
void vf_sort_destroy(vf_sort *plan); /* NULL is allowed; work in queues must be done, but on a GPU it may still run */

/* Sorts keys [n] and values [n] into `keys_out` and `values_out` [n], which must not overlap the inputs or each other.
 * Without values, both pointers to values must be NULL. Several queues may use a plan on a GPU, one at a time on the CPU.
 * Errors: VF_ERR_ARGUMENT (n > most, overlapping arrays, a pointer is NULL, values without or instead of NULL),
 * VF_ERR_DEVICE_MEMORY (of a GPU, whose working memory is taken in the queue), VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status vf_sort_execute(const vf_sort *plan, vf_queue *queue, int64_t n, const void *keys,
                                        const void *values, void *keys_out, void *values_out);

/* The names of a device kind's variants, the default first; NULL beyond the last. */
const char *vf_sort_variant_name(vf_device_kind kind, int index);

VF_API_END
#ifdef __cplusplus
}
#endif
#endif
