/* The interface of sorts on a kind of device; not installed. */
#ifndef VOXFIELD_SORT_INTERNAL_H
#define VOXFIELD_SORT_INTERNAL_H

#include "voxfield/sort.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The operations of sort.h after the checks. */
typedef struct vf_sort_ops {
    vf_status (*create)(vf_sort *plan); /* makes plan->state */
    vf_status (*execute)(const vf_sort *plan, vf_queue *queue, int64_t n, const uint32_t *keys, const uint32_t *values,
                         uint32_t *keys_out, uint32_t *values_out);
    void (*destroy)(vf_sort *plan);
} vf_sort_ops;

extern const vf_sort_ops vf_sort_cpu, vf_sort_cuda;

struct vf_sort {
    const vf_sort_ops *ops;
    vf_device *device;
    int bits;
    int64_t most;
    void *state;
};

#ifdef __cplusplus
}
#endif
#endif
