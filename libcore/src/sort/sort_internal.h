/* The interface of histograms and sorts on a kind of device; not installed. */
#ifndef VOXFIELD_SORT_INTERNAL_H
#define VOXFIELD_SORT_INTERNAL_H

#include "voxfield/sort.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The operations of sort.h after the checks. */
typedef struct vf_sort_ops {
    vf_status (*histogram_create)(vf_histogram *plan); /* makes plan->state */
    vf_status (*histogram_execute)(const vf_histogram *plan, vf_queue *queue, int64_t n, const void *x,
                                   uint64_t *counts);
    void (*histogram_destroy)(vf_histogram *plan);
    vf_status (*sort_create)(vf_sort *plan);
    vf_status (*sort_execute)(const vf_sort *plan, vf_queue *queue, int64_t n, const uint32_t *keys,
                              const uint32_t *values, uint32_t *keys_out, uint32_t *values_out);
    void (*sort_destroy)(vf_sort *plan);
} vf_sort_ops;

extern const vf_sort_ops vf_sort_cpu, vf_sort_cuda;

struct vf_histogram {
    const vf_sort_ops *ops;
    vf_device *device;
    vf_dtype type;
    int bins;
    /* [bins + 1]; the last one is the next number after the requested edge, so that all bins are half open; NULL for
     * VF_U8 */
    double *edges;
    int64_t most;
    void *state;
};

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
