#include "voxfield/histogram.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backend/registry.h"
#include "device/arguments.h"
#include "histogram_internal.h"

enum { MOST_BINS = 65536, BYTE_BINS = 256 };

static const vf_backend backends[] = {
    {&vf_histogram_ops_cpu.variants, &vf_histogram_ops_cpu},
    {&vf_histogram_ops_ref.variants, &vf_histogram_ops_ref},
    {&vf_histogram_ops_cuda.variants, &vf_histogram_ops_cuda},
    {0},
};

const char *vf_histogram_variant_name(vf_device_kind kind, int index)
{
    return vf_backend_variant(backends, kind, index);
}

static bool has_edges(vf_dtype type)
{
    return type == VF_F32 || type == VF_F64;
}

static bool is_integer(vf_dtype type)
{
    return type == VF_I32 || type == VF_I64;
}

static vf_status check_edges(vf_context *ctx, const vf_histogram_options *options)
{
    const double *edges = options->edges;
    for (int b = 0; b <= options->bins; b++)
        if (!isfinite(edges[b]) || (b > 0 && !(edges[b - 1] < edges[b])))
            return vf_fail(ctx, VF_ERR_ARGUMENT,
                           "the edges of a histogram's bins must be finite and ascending: edge %d is %g", b, edges[b]);
    return VF_OK;
}

static vf_status check_options(vf_context *ctx, const vf_histogram_options *options, int64_t most)
{
    const vf_dtype type = options->type;
    const int bins = options->bins;
    const vf_status status = vf_check_length(ctx, "the plan of a histogram", type, most);
    if (status != VF_OK)
        return status;
    if (type != VF_U8 && !has_edges(type) && !is_integer(type))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "a histogram of %s elements is not defined", vf_dtype_name(type));
    if (!has_edges(type) && options->edges)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "a histogram of %s takes no edges", type == VF_U8 ? "bytes" : "integers");
    if (!is_integer(type) && (options->first || options->width))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "a histogram of %s elements takes no first value and width",
                       vf_dtype_name(type));
    if (type == VF_U8)
        return bins == 0 || bins == BYTE_BINS
                   ? VF_OK
                   : vf_fail(ctx, VF_ERR_ARGUMENT, "a histogram of bytes needs %d bins (or 0 for the same), not %d",
                             BYTE_BINS, bins);
    if (bins < 1 || bins > MOST_BINS || (has_edges(type) && !options->edges))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "a histogram of %d bins (1 to %d are supported), or without edges", bins,
                       MOST_BINS);
    if (is_integer(type) && (options->width < 1 || (uint64_t)options->width > UINT64_MAX / (uint64_t)bins))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "a histogram of %d bins of width %lld; the width must be 1 to 2^64 / bins",
                       bins, (long long)options->width);
    return has_edges(type) ? check_edges(ctx, options) : VF_OK;
}

static vf_equal_bins equal_bins(int bins, int64_t first, int64_t width)
{
    const uint64_t each = (uint64_t)width;
    return (vf_equal_bins){first, each, (uint64_t)bins * each - 1, UINT64_MAX / each};
}

static vf_status copy_edges(vf_histogram *plan, const double *edges)
{
    vf_context *ctx = vf_device_context(plan->device);
    const size_t bytes = ((size_t)plan->bins + 1) * sizeof *edges;
    plan->edges = malloc(bytes);
    if (!plan->edges)
        return vf_fail(ctx, VF_ERR_MEMORY, "not enough memory for the edges of %d bins", plan->bins);
    memcpy(plan->edges, edges, bytes);
    return VF_OK;
}

vf_status vf_histogram_create(vf_device *device, const vf_histogram_options *options, int64_t most, vf_histogram **out)
{
    vf_context *ctx = vf_device_context(device);
    const void *ops;
    const char *variant;
    *out = NULL;
    vf_status status = check_options(ctx, options, most);
    VF_TRY(status, vf_backend_choose(backends, "the histogram", device, options->variant, &ops, &variant));
    if (status != VF_OK)
        return status;
    vf_histogram *plan = calloc(1, sizeof *plan);
    if (!plan)
        return vf_fail(ctx, VF_ERR_MEMORY, "not enough memory for a histogram");
    *plan = (vf_histogram){.device = device,
                           .ops = ops,
                           .type = options->type,
                           .variant = variant,
                           .bins = options->type == VF_U8 ? BYTE_BINS : options->bins,
                           .most = most};
    if (is_integer(options->type))
        plan->equal = equal_bins(options->bins, options->first, options->width);
    if (has_edges(options->type))
        status = copy_edges(plan, options->edges);
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
    vf_context *ctx = vf_device_context(plan->device);
    if (n < 0 || n > plan->most)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "a histogram of %lld elements; the plan is for 0 to %lld", (long long)n,
                       (long long)plan->most);
    vf_status status = VF_CHECK_POINTERS(ctx, "a histogram", {"counts", counts});
    VF_TRY(status, VF_CHECK_ARRAYS(ctx, "a histogram", plan->type, n, {"x", x}));
    return status == VF_OK ? plan->ops->execute(plan, queue, n, x, counts) : status;
}
