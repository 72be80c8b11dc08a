#include "voxfield/matrix_product.h"

#include <stdlib.h>

#include "backend/registry.h"
#include "device/arguments.h"
#include "matrix_product_plan.h"

static const char what[] = "a matrix product";

static const vf_backend backends[] = {
    {&vf_matrix_product_ops_cpu.variants, &vf_matrix_product_ops_cpu},
    {&vf_matrix_product_ops_ref.variants, &vf_matrix_product_ops_ref},
    {&vf_matrix_product_ops_cuda.variants, &vf_matrix_product_ops_cuda},
    {0},
};

const char *vf_matrix_product_variant_name(vf_device_kind kind, int index)
{
    return vf_backend_variant(backends, kind, index);
}

vf_status vf_matrix_product_create(vf_device *device, vf_dtype type, const char *variant, vf_matrix_product **out)
{
    vf_context *ctx = vf_device_context(device);
    const void *ops;
    *out = NULL;
    if (type != VF_F32 && type != VF_F64)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "%s: the elements must be VF_F32 or VF_F64, not %s", what,
                       vf_dtype_name(type));
    vf_status status = vf_backend_choose(backends, what, device, variant, &ops, &variant);
    if (status != VF_OK)
        return status;
    vf_matrix_product *plan = calloc(1, sizeof *plan);
    if (!plan)
        return vf_fail(ctx, VF_ERR_MEMORY, "%s: not enough memory", what);
    *plan = (vf_matrix_product){.device = device, .ops = ops, .type = type};
    status = plan->ops->create(plan, variant);
    if (status != VF_OK) {
        vf_matrix_product_destroy(plan);
        return status;
    }
    *out = plan;
    return VF_OK;
}

void vf_matrix_product_destroy(vf_matrix_product *plan)
{
    if (!plan)
        return;
    plan->ops->destroy(plan);
    free(plan);
}

static vf_status check_matrix(vf_context *ctx, vf_dtype type, const char *name, int64_t rows, int64_t columns,
                              const void *data)
{
    int64_t count;
    if (rows < 0 || columns < 0)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "%s: %s is %lld x %lld; a size must be at least 0", what, name,
                       (long long)rows, (long long)columns);
    if (__builtin_mul_overflow(rows, columns, &count) || count > VF_MOST_BYTES / (int64_t)vf_dtype_bytes(type))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "%s: %s of %lld x %lld elements exceeds any memory", what, name,
                       (long long)rows, (long long)columns);
    return count == 0 ? VF_OK : VF_CHECK_POINTERS(ctx, what, {name, data});
}

vf_status vf_matrix_product_execute(const vf_matrix_product *plan, vf_queue *queue, int64_t rows, int64_t columns,
                                    int64_t inner, const void *a, const void *b, void *c)
{
    vf_context *ctx = vf_device_context(plan->device);
    const vf_matrices m = {rows, columns, inner, a, b, c};
    if (vf_queue_device(queue) != plan->device)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "%s: the plan is for %s, the queue of %s", what,
                       vf_device_spec(plan->device), vf_device_spec(vf_queue_device(queue)));
    vf_status status = check_matrix(ctx, plan->type, "A", rows, inner, a);
    VF_TRY(status, check_matrix(ctx, plan->type, "B", inner, columns, b));
    VF_TRY(status, check_matrix(ctx, plan->type, "C", rows, columns, c));
    return status == VF_OK && rows > 0 && columns > 0 ? plan->ops->execute(plan, queue, &m) : status;
}
