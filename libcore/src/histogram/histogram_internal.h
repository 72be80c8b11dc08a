/* The interface of histograms on a kind of device; not installed. */
#ifndef VOXFIELD_HISTOGRAM_INTERNAL_H
#define VOXFIELD_HISTOGRAM_INTERNAL_H

#include "voxfield/histogram.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The operations of histogram.h after the checks. */
typedef struct vf_histogram_ops {
    vf_status (*create)(vf_histogram *plan); /* makes plan->state */
    vf_status (*execute)(const vf_histogram *plan, vf_queue *queue, int64_t n, const void *x, uint64_t *counts);
    void (*destroy)(vf_histogram *plan);
} vf_histogram_ops;

extern const vf_histogram_ops vf_histogram_cpu, vf_histogram_cuda;

struct vf_histogram {
    const vf_histogram_ops *ops;
    vf_device *device;
    vf_dtype type;
    int bins;
    /* [bins + 1]; the last one is the next number after the requested edge, so that all bins are half open; NULL for
     * VF_U8 */
    double *edges;
    int64_t most;
    void *state;
};

#ifdef __cplusplus
}
#endif
#endif
