/* The inside of reductions of segments: the plan, and the interface of devices; not installed. */
#ifndef VOXFIELD_SEGMENTS_INTERNAL_H
#define VOXFIELD_SEGMENTS_INTERNAL_H

#include "voxfield/reduce.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vf_reduce_segments_ops {
    vf_status (*create)(vf_reduce_segments *plan); /* sets plan->state */
    void (*destroy)(vf_reduce_segments *plan);
    vf_status (*execute)(const vf_reduce_segments *plan, vf_queue *queue, int64_t n, const void *x, int64_t segments,
                         const int64_t *offsets, vf_reduced *results);
} vf_reduce_segments_ops;

struct vf_reduce_segments {
    vf_device *device;
    const vf_reduce_segments_ops *ops;
    vf_reduction reduction;
    vf_dtype type;
    int64_t most;
    void *state; /* the backend's own */
};

extern const vf_reduce_segments_ops vf_reduce_segments_cpu, vf_reduce_segments_cuda;

/* Whether the reduction of segments supports the type. */
bool vf_reduce_segments_exist(vf_reduction reduction, vf_dtype type);

/* The last of the segments [low, high] that begins at `i` or before, the first one does: the one with element i, as the
 * empty segments before it do not count. */
#ifdef __CUDACC__
__device__
#endif
    static inline int64_t
    vf_segment_with(const int64_t *offsets, int64_t i, int64_t low, int64_t high)
{
    while (low < high) {
        const int64_t middle = low + (high - low + 1) / 2;
        if (offsets[middle] <= i)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

#ifdef __cplusplus
}
#endif
#endif
