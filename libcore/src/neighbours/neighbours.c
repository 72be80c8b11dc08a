#include "voxfield/neighbours.h"

#include <math.h>
#include <stdlib.h>

#include "backend/registry.h"
#include "device/arguments.h"
#include "neighbours_plan.h"

/* So that node numbers fit 32 bits, and the blocks of a launch 31. */
static const int64_t most_points = INT64_C(1) << 30, most_queries = INT64_C(1) << 35;

static const vf_backend backends[] = {
    {&vf_neighbours_ops_buckets.variants, &vf_neighbours_ops_buckets},
    {&vf_neighbours_ops_kd_tree.variants, &vf_neighbours_ops_kd_tree},
    {&vf_neighbours_ops_bins.variants, &vf_neighbours_ops_bins},
    {&vf_neighbours_ops_ref.variants, &vf_neighbours_ops_ref},
    {&vf_neighbours_ops_cuda.variants, &vf_neighbours_ops_cuda},
    {0},
};

const char *vf_neighbours_variant_name(vf_device_kind kind, int index)
{
    return vf_backend_variant(backends, kind, index);
}

static vf_status check_points(vf_context *ctx, const vf_neighbours_options *options, int64_t n, const float *points)
{
    const int d = options->dimensions;
    if (d < 2 || d > VF_MOST_DIMENSIONS)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "nearest neighbours in %d dimensions; 2 to %d are supported", d,
                       VF_MOST_DIMENSIONS);
    if (n < 0 || n > most_points)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "nearest neighbours among %lld points; 0 to %lld are supported",
                       (long long)n, (long long)most_points);
    const vf_status status = VF_CHECK_ARRAYS(ctx, "nearest neighbours", VF_F32, n * d, {"points", points});
    for (int64_t i = 0; status == VF_OK && i < n * d; i++)
        if (!(fabsf(points[i]) <= VF_NEIGHBOURS_MOST))
            return vf_fail(ctx, VF_ERR_ARGUMENT,
                           "nearest neighbours: coordinate %d of point %lld is %g; the magnitude must be at most %g",
                           (int)(i % d), (long long)(i / d), (double)points[i], (double)VF_NEIGHBOURS_MOST);
    return status;
}

vf_status vf_neighbours_create(vf_device *device, const vf_neighbours_options *options, int64_t n, const float *points,
                               vf_neighbours **out)
{
    vf_context *ctx = vf_device_context(device);
    const void *ops;
    *out = NULL;
    vf_status status = check_points(ctx, options, n, points);
    VF_TRY(status, vf_backend_choose(backends, "the search for neighbours", device, options->variant, &ops, NULL));
    if (status != VF_OK)
        return status;
    vf_neighbours *plan = calloc(1, sizeof *plan);
    if (!plan)
        return vf_fail(ctx, VF_ERR_MEMORY, "not enough memory for a search for neighbours");
    *plan = (vf_neighbours){.device = device, .ops = ops, .dimensions = options->dimensions, .n = n};
    status = plan->ops->create(plan, points);
    if (status != VF_OK) {
        vf_neighbours_destroy(plan);
        return status;
    }
    *out = plan;
    return VF_OK;
}

void vf_neighbours_destroy(vf_neighbours *plan)
{
    if (!plan)
        return;
    plan->ops->destroy(plan);
    free(plan);
}

static vf_status search(const vf_neighbours *plan, vf_queue *queue, vf_neighbour_search s)
{
    static const char what[] = "a search for neighbours";
    vf_context *ctx = vf_device_context(plan->device);
    if (vf_queue_device(queue) != plan->device)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "%s: the plan is for %s, the queue of %s", what,
                       vf_device_spec(plan->device), vf_device_spec(vf_queue_device(queue)));
    if (s.k < 1 || s.k > VF_NEIGHBOURS_MOST_K)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "%s: k is %d; it must be 1 to %d", what, s.k, VF_NEIGHBOURS_MOST_K);
    const vf_status status =
        VF_CHECK_ARRAYS(ctx, what, VF_F32, s.count * s.k, {"index", s.index}, {"squared", s.squared});
    return status == VF_OK && s.count > 0 ? plan->ops->search(plan, queue, &s) : status;
}

static vf_status search_queries(const vf_neighbours *plan, vf_queue *queue, vf_neighbour_search s)
{
    vf_context *ctx = vf_device_context(plan->device);
    if (s.count < 0 || s.count > most_queries)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "a search for neighbours of %lld queries; 0 to %lld are supported",
                       (long long)s.count, (long long)most_queries);
    const vf_status status = VF_CHECK_ARRAYS(ctx, "a search for neighbours", VF_F32, s.count, {"queries", s.queries});
    return status == VF_OK ? search(plan, queue, s) : status;
}

vf_status vf_neighbours_nearest(const vf_neighbours *plan, vf_queue *queue, int64_t m, const float *queries,
                                int32_t *index, float *squared)
{
    return search_queries(plan, queue, (vf_neighbour_search){m, queries, 1, index, squared});
}

vf_status vf_neighbours_nearest_other(const vf_neighbours *plan, vf_queue *queue, int32_t *index, float *squared)
{
    return search(plan, queue, (vf_neighbour_search){plan->n, NULL, 1, index, squared});
}

vf_status vf_neighbours_k_nearest(const vf_neighbours *plan, vf_queue *queue, int k, int64_t m, const float *queries,
                                  int32_t *index, float *squared)
{
    return search_queries(plan, queue, (vf_neighbour_search){m, queries, k, index, squared});
}

vf_status vf_neighbours_k_nearest_others(const vf_neighbours *plan, vf_queue *queue, int k, int32_t *index,
                                         float *squared)
{
    return search(plan, queue, (vf_neighbour_search){plan->n, NULL, k, index, squared});
}
