/* The interface of the backends of the first differences; not installed. */
#ifndef VOXFIELD_FIRST_DIFFERENCES_BACKEND_H
#define VOXFIELD_FIRST_DIFFERENCES_BACKEND_H

#include "first_differences.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The arguments are those of vf_first_differences_add, checked. */
typedef struct vf_differences_backend {
    vf_device_kind kind;
    vf_status (*add)(vf_queue *queue, vf_dtype type, const int64_t counts[3], double scale, const void *weights,
                     const void *x, void *y);
} vf_differences_backend;

extern const vf_differences_backend vf_differences_cpu, vf_differences_cuda, vf_differences_opencl;

#ifdef __cplusplus
}
#endif
#endif
