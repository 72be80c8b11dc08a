/* The inside of nearest neighbours: the plan, and the interface of backends; not installed. */
#ifndef VOXFIELD_NEIGHBOURS_PLAN_H
#define VOXFIELD_NEIGHBOURS_PLAN_H

#include "backend/variants.h"
#include "voxfield/neighbours.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { VF_MOST_DIMENSIONS = 4 };

/* One of the four searches, after the checks; count > 0. */
typedef struct vf_neighbour_search {
    int64_t count;        /* of queries */
    const float *queries; /* [count][dimensions]; NULL: other points of the plan's points */
    int k;
    int32_t *index; /* [count][k] */
    float *squared; /* [count][k] */
} vf_neighbour_search;

typedef struct vf_neighbours_ops {
    vf_variants variants;
    vf_status (*create)(vf_neighbours *plan, const float *points); /* sets plan->state, also for n = 0 */
    void (*destroy)(vf_neighbours *plan);                          /* also after a create that failed */
    vf_status (*search)(const vf_neighbours *plan, vf_queue *queue, const vf_neighbour_search *search);
} vf_neighbours_ops;

struct vf_neighbours {
    vf_device *device;
    const vf_neighbours_ops *ops;
    int dimensions;
    int64_t n;
    void *state; /* the backend's own */
};

extern const vf_neighbours_ops vf_neighbours_ops_buckets, vf_neighbours_ops_kd_tree, vf_neighbours_ops_bins,
    vf_neighbours_ops_ref, vf_neighbours_ops_cuda;

#ifdef __cplusplus
}
#endif
#endif
