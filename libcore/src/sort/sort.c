#include "voxfield/sort.h"

#include <stdlib.h>

#include "backend/registry.h"
#include "device/arguments.h"
#include "sort_internal.h"

static const vf_backend backends[] = {
    {&vf_cpu_only, &vf_sort_cpu},
    {&vf_cuda_only, &vf_sort_cuda},
    {0},
};

static const vf_sort_ops *ops_for(const vf_device *device)
{
    return vf_backend_table(backends, device);
}

vf_status vf_sort_create(vf_device *device, int bits, int64_t most, vf_sort **out)
{
    vf_context *ctx = vf_device_context(device);
    *out = NULL;
    if (bits < 1 || bits > 32 || most < 0 || most > (int64_t)1 << 32)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "a sort of %lld pairs by keys of %d bits is not supported",
                       (long long)most, bits);
    vf_sort *plan = calloc(1, sizeof *plan);
    if (!plan)
        return vf_fail(ctx, VF_ERR_MEMORY, "not enough memory for a sort");
    *plan = (vf_sort){.ops = ops_for(device), .device = device, .bits = bits, .most = most};
    vf_status status = plan->ops->create(plan);
    if (status != VF_OK) {
        vf_sort_destroy(plan);
        return status;
    }
    *out = plan;
    return VF_OK;
}

void vf_sort_destroy(vf_sort *plan)
{
    if (!plan)
        return;
    plan->ops->destroy(plan);
    free(plan);
}

vf_status vf_sort_execute(const vf_sort *plan, vf_queue *queue, int64_t n, const uint32_t *keys, const uint32_t *values,
                          uint32_t *keys_out, uint32_t *values_out)
{
    if (n < 0 || n > plan->most)
        return vf_fail(vf_device_context(plan->device), VF_ERR_ARGUMENT,
                       "a sort of %lld pairs; the plan is for 0 to %lld", (long long)n, (long long)plan->most);
    vf_context *ctx = vf_device_context(plan->device);
    vf_status status = VF_CHECK_ARRAYS(ctx, "a sort", VF_I32, n, {"keys", keys}, {"values", values},
                                       {"keys_out", keys_out}, {"values_out", values_out});
    if (status != VF_OK || n == 0)
        return status;
    const void *const in[] = {keys, values}, *const out[] = {keys_out, values_out};
    bool overlap = vf_overlap(plan->device, VF_I32, n, keys_out, values_out);
    for (int i = 0; i < 4; i++)
        overlap = overlap || vf_overlap(plan->device, VF_I32, n, in[i / 2], out[i % 2]);
    if (overlap)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "a sort: an output overlaps an input, or the other output");
    return plan->ops->execute(plan, queue, n, keys, values, keys_out, values_out);
}
