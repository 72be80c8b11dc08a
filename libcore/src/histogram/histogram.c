#include "voxfield/histogram.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backend/registry.h"
#include "device/arguments.h"
#include "histogram_internal.h"

enum { MOST_BINS = 65536, BYTE_BINS = 256 };

static const vf_backend backends[] = {
    {&vf_cpu_only, &vf_histogram_cpu},
    {&vf_cuda_only, &vf_histogram_cuda},
    {0},
};

static const vf_histogram_ops *ops_for(const vf_device *device)
{
    return vf_backend_table(backends, device);
}

static vf_status check_bins(vf_context *ctx, const vf_histogram_bins *bins, int64_t most)
{
    vf_status status = vf_check_length(ctx, "the plan of a histogram", bins->type, most);
    if (status != VF_OK)
        return status;
    if (bins->type == VF_U8 && bins->edges)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "a histogram of bytes takes no edges");
    if (bins->type == VF_U8)
        return bins->bins == 0 || bins->bins == BYTE_BINS
                   ? VF_OK
                   : vf_fail(ctx, VF_ERR_ARGUMENT, "a histogram of bytes needs %d bins (or 0 for the same), not %d",
                             BYTE_BINS, bins->bins);
    if (bins->type != VF_F32 && bins->type != VF_F64)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "a histogram needs bytes or real floating-point numbers, not %s",
                       vf_dtype_name(bins->type));
    if (!bins->edges || bins->bins < 1 || bins->bins > MOST_BINS)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "a histogram of %d bins (1 to %d are supported), or without edges",
                       bins->bins, MOST_BINS);
    for (int b = 0; b <= bins->bins; b++)
        if (!isfinite(bins->edges[b]) || (b > 0 && !(bins->edges[b - 1] < bins->edges[b])))
            return vf_fail(ctx, VF_ERR_ARGUMENT,
                           "the edges of a histogram's bins must be finite and ascending: edge %d is %g", b,
                           bins->edges[b]);
    return VF_OK;
}

vf_status vf_histogram_create(vf_device *device, const vf_histogram_bins *bins, int64_t most, vf_histogram **out)
{
    vf_context *ctx = vf_device_context(device);
    *out = NULL;
    vf_status status = check_bins(ctx, bins, most);
    if (status != VF_OK)
        return status;
    vf_histogram *plan = calloc(1, sizeof *plan);
    if (!plan)
        return vf_fail(ctx, VF_ERR_MEMORY, "not enough memory for a histogram");
    *plan = (vf_histogram){.ops = ops_for(device),
                           .device = device,
                           .type = bins->type,
                           .bins = bins->type == VF_U8 ? BYTE_BINS : bins->bins,
                           .most = most};
    if (bins->type != VF_U8) {
        const size_t count = (size_t)bins->bins + 1;
        plan->edges = malloc(count * sizeof *plan->edges);
        if (plan->edges) {
            memcpy(plan->edges, bins->edges, count * sizeof *plan->edges);
            plan->edges[count - 1] = nextafter(plan->edges[count - 1], INFINITY);
        } else {
            status = vf_fail(ctx, VF_ERR_MEMORY, "not enough memory for the edges of %d bins", bins->bins);
        }
    }
    VF_TRY(status, plan->ops->create(plan));
    if (status != VF_OK) {
        vf_histogram_destroy(plan);
        return status;
    }
    *out = plan;
    return VF_OK;
}

void vf_histogram_destroy(vf_histogram *plan)
{
    if (!plan)
        return;
    plan->ops->destroy(plan);
    free(plan->edges);
    free(plan);
}

vf_status vf_histogram_execute(const vf_histogram *plan, vf_queue *queue, int64_t n, const void *x, uint64_t *counts)
{
    if (n < 0 || n > plan->most)
        return vf_fail(vf_device_context(plan->device), VF_ERR_ARGUMENT,
                       "a histogram of %lld elements; the plan is for 0 to %lld", (long long)n, (long long)plan->most);
    vf_context *ctx = vf_device_context(plan->device);
    vf_status status = VF_CHECK_POINTERS(ctx, "a histogram", {"counts", counts});
    if (status == VF_OK)
        status = VF_CHECK_ARRAYS(ctx, "a histogram", plan->type, n, {"x", x});
    return status == VF_OK ? plan->ops->execute(plan, queue, n, x, counts) : status;
}
