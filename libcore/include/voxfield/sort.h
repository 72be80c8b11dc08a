/* Voxfield - a stable sort of pairs of keys and values in device memory.
 *
 * Memory, lengths and queues as in reduce.h. GPUs use CUB (CUDA Toolkit), the CPU a counting sort of some bits per
 * pass with the context's threads. The order is exact, so results are the same on all devices.
 */
#ifndef VOXFIELD_SORT_H
#define VOXFIELD_SORT_H

#include <stdint.h>

#include "voxfield/device.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vf_sort vf_sort;

/* Makes a plan for up to `most` <= 2^32 pairs with keys below 2^bits, bits in [1, 32]. If any key is larger, the order
 * of all pairs is undefined. Errors: VF_ERR_ARGUMENT, VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status vf_sort_create(vf_device *device, int bits, int64_t most, vf_sort **out);
void vf_sort_destroy(vf_sort *plan); /* NULL is allowed; work in queues must be done */

/* Sorts by key, ascending; values of equal keys keep their order. `keys_out`, `values_out` [n] must not overlap the
 * inputs or each other. Errors: VF_ERR_ARGUMENT (n > most, overlapping arrays, a pointer is NULL), VF_ERR_DEVICE_MEMORY
 * (of a GPU, whose working memory is taken in the queue). */
VF_MUST_CHECK vf_status vf_sort_execute(const vf_sort *plan, vf_queue *queue, int64_t n, const uint32_t *keys,
                                        const uint32_t *values, uint32_t *keys_out, uint32_t *values_out);

#ifdef __cplusplus
}
#endif
#endif
