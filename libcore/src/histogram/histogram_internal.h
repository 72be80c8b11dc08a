/* The inside of histograms: the plan, and the interface of backends; not installed. */
#ifndef VOXFIELD_HISTOGRAM_INTERNAL_H
#define VOXFIELD_HISTOGRAM_INTERNAL_H

#include "backend/variants.h"
#include "histogram_bins.h"
#include "voxfield/histogram.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vf_histogram_ops {
    vf_variants variants;
    vf_status (*create)(vf_histogram *plan); /* makes plan->state */
    void (*destroy)(vf_histogram *plan);
    /* The front end has checked the arguments; n may be 0. */
    vf_status (*execute)(const vf_histogram *plan, vf_queue *queue, int64_t n, const void *x, uint64_t *counts);
} vf_histogram_ops;

extern const vf_histogram_ops vf_histogram_ops_cpu, vf_histogram_ops_ref, vf_histogram_ops_cuda;

struct vf_histogram {
    vf_device *device;
    const vf_histogram_ops *ops;
    vf_dtype type;
    const char *variant; /* not NULL */
    int bins;
    int64_t most;
    double *edges;       /* [bins + 1], as the caller gave them; VF_F32, VF_F64 */
    vf_equal_bins equal; /* VF_I32, VF_I64 */
    void *state;         /* the backend's own */
};

#ifdef __cplusplus
}
#endif
#endif
