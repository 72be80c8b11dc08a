/* The interface of the backends of the Toeplitz multiplication, and the contents of a plan; not installed. */
#ifndef VOXFIELD_TOEPLITZ_BACKEND_H
#define VOXFIELD_TOEPLITZ_BACKEND_H

#include "toeplitz.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vf_toeplitz_backend {
    vf_device_kind kind;
    const char *variant;
    /* Makes plan->state from the rest of the plan, and adds its device memory to plan->bytes. If it fails and
     * plan->state is set, `destroy` is called. */
    vf_status (*create)(vf_toeplitz *plan);
    vf_status (*set)(vf_toeplitz *plan, vf_queue *queue, int segment, void *q);
    vf_status (*apply)(vf_toeplitz *plan, vf_queue *queue, int coils, const void *maps, const void *x, void *y);
    void (*destroy)(vf_toeplitz *plan);
} vf_toeplitz_backend;

struct vf_toeplitz {
    const vf_toeplitz_backend *backend;
    vf_device *device;
    vf_dtype precision;
    int64_t matrix[3], doubled[3]; /* x, y, z */
    int64_t voxels;
    int segments;
    bool circulant; /* not supported by the reference */
    bool cosine;    /* circulant, too; supported by the CPU alone */
    double *time;   /* [segments] or NULL */
    vf_array field; /* [voxels] VF_F32, VF_SPACE_DEVICE; empty if `time` is NULL */
    int64_t bytes;
    const char *design; /* static: how `apply` works, for benchmarks; NULL if the backend has one way only */
    void *state;        /* the backend's own */
};

extern const vf_toeplitz_backend vf_toeplitz_ref, vf_toeplitz_cpu, vf_toeplitz_cuda, vf_toeplitz_opencl;

#ifdef __cplusplus
}
#endif
#endif
