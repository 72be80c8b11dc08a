#include <stdlib.h>

#include "backend/registry.h"
#include "device/arguments.h"
#include "reduce_internal.h"

static bool is_complex(vf_dtype type)
{
    return type == VF_C64 || type == VF_C128;
}

static bool is_integer(vf_dtype type)
{
    return type == VF_I32 || type == VF_I64 || type == VF_U8;
}

bool vf_reduce_exists(vf_reduction reduction, vf_dtype type)
{
    if ((unsigned)reduction >= VF_REDUCTION_COUNT || (unsigned)type >= VF_DTYPE_COUNT)
        return false;
    if (reduction == VF_REDUCE_MIN || reduction == VF_REDUCE_MAX)
        return !is_complex(type);
    if (reduction == VF_REDUCE_AND || reduction == VF_REDUCE_OR)
        return is_integer(type);
    return reduction == VF_REDUCE_SUM || reduction == VF_REDUCE_PRODUCT || !is_integer(type);
}

static vf_status check_exists(vf_context *ctx, vf_reduction reduction, vf_dtype type)
{
    static const char *const names[VF_REDUCTION_COUNT] = {"VF_REDUCE_SUM", "VF_REDUCE_DOT", "VF_REDUCE_SQUARES",
                                                          "VF_REDUCE_MIN", "VF_REDUCE_MAX", "VF_REDUCE_PRODUCT",
                                                          "VF_REDUCE_AND", "VF_REDUCE_OR"};
    if (vf_reduce_exists(reduction, type))
        return VF_OK;
    if ((unsigned)reduction >= VF_REDUCTION_COUNT)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "invalid reduction %d", (int)reduction);
    return vf_fail(ctx, VF_ERR_ARGUMENT, "%s of %s elements is not defined", names[reduction], vf_dtype_name(type));
}

static const vf_backend backends[] = {
    {&vf_cpu_only, &vf_reduce_ops_cpu},
    {&vf_cuda_only, &vf_reduce_ops_cuda},
    {&vf_opencl_only, &vf_reduce_ops_opencl},
    {0},
};

static const vf_reduce_ops *ops_for(const vf_device *device)
{
    return vf_backend_table(backends, device);
}

vf_status vf_reduce_create(vf_device *device, vf_reduction reduction, vf_dtype type, int64_t most, vf_reduce **out)
{
    vf_context *ctx = vf_device_context(device);
    *out = NULL;
    vf_status status = vf_check_length(ctx, "the plan of a reduction", type, most == INT64_MAX ? 0 : most);
    VF_TRY(status, check_exists(ctx, reduction, type));
    if (status != VF_OK)
        return status;
    vf_reduce *plan = calloc(1, sizeof *plan);
    if (!plan)
        return vf_fail(ctx, VF_ERR_MEMORY, "not enough memory for the plan of a reduction");
    *plan = (vf_reduce){.device = device, .ops = ops_for(device), .reduction = reduction, .type = type, .most = most};
    status = plan->ops->create(plan);
    if (status != VF_OK) {
        free(plan);
        return status;
    }
    *out = plan;
    return VF_OK;
}

void vf_reduce_destroy(vf_reduce *plan)
{
    if (!plan)
        return;
    plan->ops->destroy(plan);
    free(plan);
}

static vf_status check(const vf_reduce *plan, const vf_queue *queue, int64_t n, const void *x, const void *y,
                       const vf_reduced *result)
{
    vf_context *ctx = vf_device_context(plan->device);
    vf_status status = VF_CHECK_POINTERS(ctx, "a reduction", {"result", result});
    if (status != VF_OK)
        return status;
    if (vf_queue_device(queue) != plan->device)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "a reduction: the plan is for %s, the queue of %s",
                       vf_device_spec(plan->device), vf_device_spec(vf_queue_device(queue)));
    if (n < 0 || n > plan->most)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "a reduction of %lld elements; the plan is for 0 to %lld", (long long)n,
                       (long long)plan->most);
    if (n > 0 && plan->reduction != VF_REDUCE_DOT && y)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "a reduction: y is not NULL; only the dot product takes two arrays");
    return VF_CHECK_ARRAYS(ctx, "a reduction", plan->type, n, {"x", x},
                           {"y", plan->reduction == VF_REDUCE_DOT ? y : x});
}

vf_status vf_reduce_execute(const vf_reduce *plan, vf_queue *queue, int64_t n, const void *x, const void *y,
                            vf_reduced *result)
{
    vf_status status = check(plan, queue, n, x, y, result);
    return status == VF_OK ? plan->ops->execute(plan, queue, n, x, y, result) : status;
}

vf_status vf_reduce_now(const vf_reduce *plan, vf_queue *queue, int64_t n, const void *x, const void *y,
                        vf_reduced *result)
{
    vf_status status = check(plan, queue, n, x, y, result);
    if (result)
        *result = (vf_reduced){0};
    return status == VF_OK ? plan->ops->now(plan, queue, n, x, y, result) : status;
}
