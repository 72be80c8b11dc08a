/* The inside of scans: the plan, and the interface of backends; not installed. */
#ifndef VOXFIELD_SCAN_PLAN_H
#define VOXFIELD_SCAN_PLAN_H

#include "backend/variants.h"
#include "voxfield/scan.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { VF_SCAN_OPERATORS = VF_SCAN_OR + 1 };

typedef struct vf_scan_ops {
    vf_variants variants;
    vf_status (*create)(vf_scan *plan); /* sets plan->state */
    void (*destroy)(vf_scan *plan);
    /* n > 0; the front end has checked the arguments. */
    vf_status (*execute)(const vf_scan *plan, vf_queue *queue, int64_t n, const void *x, const uint8_t *head, void *y);
} vf_scan_ops;

struct vf_scan {
    vf_device *device;
    const vf_scan_ops *ops;
    vf_scan_options options; /* the variant is not NULL */
    int64_t most;
    void *state; /* the backend's own */
};

/* The type of y. */
vf_dtype vf_scan_result(const vf_scan_options *options);

extern const vf_scan_ops vf_scan_ops_cpu, vf_scan_ops_ref, vf_scan_ops_cuda, vf_scan_ops_opencl;

#ifdef __cplusplus
}
#endif
#endif
