/* The interface of the backends of the singular value thresholds, the contents of a plan, and where blocks lie; not
 * installed. */
#ifndef VOXFIELD_LOW_RANK_BACKEND_H
#define VOXFIELD_LOW_RANK_BACKEND_H

#include "low_rank.h"

#ifdef __CUDACC__
#define LOW_RANK_HOST_DEVICE __host__ __device__
#else
#define LOW_RANK_HOST_DEVICE
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define LONG int64_t
#define DEVICE_FUNCTION LOW_RANK_HOST_DEVICE static inline
#include "low_rank_blocks.cuh"
#undef LONG
#undef DEVICE_FUNCTION

/* A task for a backend: the threshold, or the norm if z is NULL. */
typedef struct low_rank_task {
    low_rank_grid grid;
    double threshold;
    const void *v;
    void *z;
    double *sum; /* of the norm, 0 on entry */
} low_rank_task;

typedef struct vf_low_rank_backend {
    vf_device_kind kind;
    /* Makes plan->state from the rest of the plan, and sets plan->bytes. If it fails and plan->state is set, `destroy`
     * is called. */
    vf_status (*create)(vf_low_rank *plan);
    vf_status (*execute)(vf_low_rank *plan, vf_queue *queue, const low_rank_task *task);
    void (*destroy)(vf_low_rank *plan);
} vf_low_rank_backend;

struct vf_low_rank {
    const vf_low_rank_backend *backend;
    const char *variant;
    vf_device *device;
    vf_dtype type;
    low_rank_grid grid; /* with shift 0 */
    int side;           /* the largest shorter side of a block */
    /* A Gram matrix is the sum of those of `segments` pieces of at most `segment` elements of the longer side, so that
     * few large blocks still give work to all threads. Both depend on the grid alone, and so do the bits. */
    int segments;
    int64_t segment;
    int batch; /* blocks whose matrices are in memory at a time */
    int64_t bytes;
    void *state; /* the backend's own */
};

extern const vf_low_rank_backend vf_low_rank_ref, vf_low_rank_cpu, vf_low_rank_cuda, vf_low_rank_opencl;

/* From the Gram matrix to P = V diag(max(0, 1 - t / s_i)) V^H, in place: gram[k][k], double complex, Hermitian.
 * `vectors`: [k][k], double complex, and `values`: [k] are scratch. */
void low_rank_weigh(int k, double threshold, void *gram, void *vectors, double *values);

/* The sum of the singular values; overwrites gram. NaN if the matrix is not finite. */
double low_rank_sum(int k, void *gram, void *vectors, double *values);

#ifdef __cplusplus
}
#endif
#endif
