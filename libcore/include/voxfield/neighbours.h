/* Voxfield - nearest neighbours of points in 2 to 4 dimensions, in single precision.
 *
 * A plan holds n points, sorted for searches. There are four searches: the nearest point of each query, the nearest
 * other point of each point, and the same for the k nearest. A neighbour is given by its index, from 0, in the order of
 * the caller's points, and by its squared distance. The k neighbours are sorted by distance.
 *
 * Distance: d^2 = ((q_0 - p_0)^2 + (q_1 - p_1)^2) + (q_2 - p_2)^2 + ..., in this order. Each difference, square and sum
 * is rounded to single precision; there is no fused multiply-add. So results have the same bits on all devices, for all
 * variants and any number of threads.
 *
 * Equal distances: the smaller index is nearer. "Other" points exclude the point itself by its index: a duplicate of
 * the point is a neighbour at distance 0. If there are fewer than k neighbours, the rest have index -1 and distance
 * infinity, as do all if n is 0.
 *
 * Coordinates must be numbers of magnitude at most VF_NEIGHBOURS_MOST, so that d^2 cannot overflow. A point with NaN or a
 * larger coordinate is an error. Queries are in device memory, where the host may not look, so such a query is no error:
 * it has no neighbours, index -1 and distance NaN.
 *
 * Variants on the CPU: "buckets" (the default: a k-d tree of buckets of points, split where the points spread most),
 * "kd-tree" (the left-balanced tree of Brown, PhD thesis, University of North Carolina (2015), chapter 7), "bins"
 * (cubic cells; fast only if points are spread evenly) and "ref" (all distances, one thread). On a GPU: "kd-tree".
 * Plans are always built on the CPU.
 */
#ifndef VOXFIELD_NEIGHBOURS_H
#define VOXFIELD_NEIGHBOURS_H

#include <stdint.h>

#include "voxfield/device.h"

#ifdef __cplusplus
extern "C" {
#endif
VF_API_BEGIN

#define VF_NEIGHBOURS_MOST 0x1p60f /* coordinates */
enum { VF_NEIGHBOURS_MOST_K = 32 };

typedef struct vf_neighbours_options {
    int dimensions;      /* 2 to 4 */
    const char *variant; /* NULL: the device's default */
} vf_neighbours_options;

typedef struct vf_neighbours vf_neighbours;

/* Makes a plan for searches among `points` [n][dimensions], host memory, n at most 2^30. The points are copied. Errors:
 * VF_ERR_ARGUMENT (dimensions, n, an unknown variant, a coordinate that is NaN or too large), VF_ERR_MEMORY,
 * VF_ERR_DEVICE_MEMORY. */
VF_MUST_CHECK vf_status vf_neighbours_create(vf_device *device, const vf_neighbours_options *options, int64_t n,
                                             const float *points, vf_neighbours **out);
void vf_neighbours_destroy(vf_neighbours *plan); /* NULL is allowed; work in queues must be done */

/* The searches go into a queue of the plan's device; several queues may use a plan. `queries` [m][dimensions], m at most
 * 2^35; `index` and `squared` [m] or [m][k], with n instead of m for the points themselves. All are VF_SPACE_DEVICE
 * memory; the outputs must not overlap another array. k is 1 to VF_NEIGHBOURS_MOST_K, and may exceed n. Errors:
 * VF_ERR_ARGUMENT (m, k, a pointer is NULL, a queue of another device), VF_ERR_CANCELLED (on the CPU). On the CPU, many
 * queries are sorted first, in temporary memory of 10 bytes a query if there is as much. */

/* The nearest point of each query. */
VF_MUST_CHECK vf_status vf_neighbours_nearest(const vf_neighbours *plan, vf_queue *queue, int64_t m,
                                              const float *queries, int32_t *index, float *squared);

/* The nearest other point of each point. */
VF_MUST_CHECK vf_status vf_neighbours_nearest_other(const vf_neighbours *plan, vf_queue *queue, int32_t *index,
                                                    float *squared);

/* The k nearest points of each query. */
VF_MUST_CHECK vf_status vf_neighbours_k_nearest(const vf_neighbours *plan, vf_queue *queue, int k, int64_t m,
                                                const float *queries, int32_t *index, float *squared);

/* The k nearest other points of each point. */
VF_MUST_CHECK vf_status vf_neighbours_k_nearest_others(const vf_neighbours *plan, vf_queue *queue, int k,
                                                       int32_t *index, float *squared);

/* The names of a device kind's variants, the default first; NULL beyond the last. */
const char *vf_neighbours_variant_name(vf_device_kind kind, int index);

VF_API_END
#ifdef __cplusplus
}
#endif
#endif
