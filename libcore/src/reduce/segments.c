#include <stdlib.h>

#include "backend/registry.h"
#include "device/arguments.h"
#include "segments_internal.h"

bool vf_reduce_segments_exist(vf_reduction reduction, vf_dtype type)
{
    return (reduction == VF_REDUCE_SUM || reduction == VF_REDUCE_PRODUCT || reduction == VF_REDUCE_MIN ||
            reduction == VF_REDUCE_MAX) &&
           (type == VF_F32 || type == VF_F64 || type == VF_I32 || type == VF_I64);
}

static const vf_backend backends[] = {
    {&vf_cpu_only, &vf_reduce_segments_cpu},
    {&vf_cuda_only, &vf_reduce_segments_cuda},
    {0},
};

vf_status vf_reduce_segments_create(vf_device *device, vf_reduction reduction, vf_dtype type, int64_t most,
                                    vf_reduce_segments **out)
{
    vf_context *ctx = vf_device_context(device);
    *out = NULL;
    vf_status status = vf_check_length(ctx, "the plan of a reduction of segments", type, most);
    if (status == VF_OK && !vf_reduce_segments_exist(reduction, type))
        status = vf_fail(ctx, VF_ERR_ARGUMENT, "a reduction of segments: reduction %d of %s elements is not defined",
                         (int)reduction, vf_dtype_name(type));
    if (status != VF_OK)
        return status;
    const void *ops;
    status = vf_backend_choose(backends, "a reduction of segments", device, NULL, &ops, NULL);
    if (status != VF_OK)
        return status;
    vf_reduce_segments *plan = calloc(1, sizeof *plan);
    if (!plan)
        return vf_fail(ctx, VF_ERR_MEMORY, "not enough memory for the plan of a reduction of segments");
    *plan = (vf_reduce_segments){.device = device, .ops = ops, .reduction = reduction, .type = type, .most = most};
    status = plan->ops->create(plan);
    if (status != VF_OK) {
        free(plan);
        return status;
    }
    *out = plan;
    return VF_OK;
}

void vf_reduce_segments_destroy(vf_reduce_segments *plan)
{
    if (!plan)
        return;
    plan->ops->destroy(plan);
    free(plan);
}

vf_status vf_reduce_segments_execute(const vf_reduce_segments *plan, vf_queue *queue, int64_t n, const void *x,
                                     int64_t segments, const int64_t *offsets, vf_reduced *results)
{
    static const char what[] = "a reduction of segments";
    vf_context *ctx = vf_device_context(plan->device);
    if (vf_queue_device(queue) != plan->device)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "%s: the plan is for %s, the queue of %s", what,
                       vf_device_spec(plan->device), vf_device_spec(vf_queue_device(queue)));
    if (n < 0 || n > plan->most)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "%s: %lld elements; the plan is for 0 to %lld", what, (long long)n,
                       (long long)plan->most);
    if (segments < 0 || (segments == 0 && n > 0))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "%s: %lld segments of %lld elements", what, (long long)segments,
                       (long long)n);
    if (segments == 0)
        return VF_OK;
    vf_status status = vf_check_length(ctx, what, VF_I64, segments);
    VF_TRY(status, VF_CHECK_POINTERS(ctx, what, {"offsets", offsets}, {"results", results}));
    VF_TRY(status, VF_CHECK_ARRAYS(ctx, what, plan->type, n, {"x", x}));
    return status == VF_OK ? plan->ops->execute(plan, queue, n, x, segments, offsets, results) : status;
}
