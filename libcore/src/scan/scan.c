#include <stdlib.h>

#include "backend/registry.h"
#include "device/arguments.h"
#include "scan_plan.h"

static const vf_backend backends[] = {
    {&vf_scan_ops_cpu.variants, &vf_scan_ops_cpu},
    {&vf_scan_ops_ref.variants, &vf_scan_ops_ref},
    {&vf_scan_ops_cuda.variants, &vf_scan_ops_cuda},
    {&vf_scan_ops_opencl.variants, &vf_scan_ops_opencl},
    {0},
};

const char *vf_scan_variant_name(vf_device_kind kind, int index)
{
    return vf_backend_variant(backends, kind, index);
}

vf_dtype vf_scan_result(const vf_scan_options *options)
{
    return options->type == VF_U8 || options->wide ? VF_I64 : options->type;
}

/* Refuses combinations of type, operator and `wide` that are not defined; the type exists. */
static vf_status check_options(vf_context *ctx, const vf_scan_options *o)
{
    static const char *const names[VF_SCAN_OPERATORS] = {"sum", "product", "minimum", "maximum", "and", "or"};
    const bool real = o->type == VF_F32 || o->type == VF_F64, integers = o->type == VF_I32 || o->type == VF_I64;
    if ((unsigned)o->op >= VF_SCAN_OPERATORS)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "a scan: invalid operator %d", (int)o->op);
    const bool is_sum = o->op == VF_SCAN_SUM, bits = o->op == VF_SCAN_AND || o->op == VF_SCAN_OR;
    if (!integers && !(real && !bits) && !(o->type == VF_U8 && is_sum))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "a scan of %s elements is not defined (operator: %s)",
                       vf_dtype_name(o->type), names[o->op]);
    if (o->wide && !(is_sum && o->type == VF_I32))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "a scan: wide is for sums of VF_I32, not for the %s of %s", names[o->op],
                       vf_dtype_name(o->type));
    return VF_OK;
}

vf_status vf_scan_create(vf_device *device, const vf_scan_options *options, int64_t most, vf_scan **out)
{
    vf_context *ctx = vf_device_context(device);
    const void *ops;
    const char *variant;
    *out = NULL;
    vf_status status = vf_check_length(ctx, "the plan of a scan", vf_scan_result(options), most);
    VF_TRY(status, vf_check_type(ctx, "the plan of a scan", options->type));
    VF_TRY(status, check_options(ctx, options));
    VF_TRY(status, vf_backend_choose(backends, "the scan", device, options->variant, &ops, &variant));
    if (status != VF_OK)
        return status;
    vf_scan *plan = calloc(1, sizeof *plan);
    if (!plan)
        return vf_fail(ctx, VF_ERR_MEMORY, "not enough memory for the plan of a scan");
    *plan = (vf_scan){.device = device, .ops = ops, .options = *options, .most = most};
    plan->options.variant = variant;
    status = plan->ops->create(plan);
    if (status != VF_OK) {
        free(plan);
        return status;
    }
    *out = plan;
    return VF_OK;
}

void vf_scan_destroy(vf_scan *plan)
{
    if (!plan)
        return;
    plan->ops->destroy(plan);
    free(plan);
}

vf_status vf_scan_execute(const vf_scan *plan, vf_queue *queue, int64_t n, const void *x, const uint8_t *head, void *y)
{
    vf_context *ctx = vf_device_context(plan->device);
    if (vf_queue_device(queue) != plan->device)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "a scan: the plan is for %s, the queue of %s",
                       vf_device_spec(plan->device), vf_device_spec(vf_queue_device(queue)));
    if (n < 0 || n > plan->most)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "a scan of %lld elements; the plan is for 0 to %lld", (long long)n,
                       (long long)plan->most);
    vf_status status = VF_CHECK_ARRAYS(ctx, "a scan", plan->options.type, n, {"x", x}, {"y", y});
    if (status != VF_OK || n == 0)
        return status;
    if (plan->options.segmented != (head != NULL))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "a scan needs head if and only if it is segmented: head is %sNULL",
                       head ? "not " : "");
    return plan->ops->execute(plan, queue, n, x, head, y);
}
