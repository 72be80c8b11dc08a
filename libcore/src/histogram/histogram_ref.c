/* Histograms by their definition: each element is compared with the edges themselves. One thread. */
#include <string.h>

#include "histogram_internal.h"

static const char *const names[] = {"ref", NULL};

static vf_status create(vf_histogram *plan)
{
    (void)plan;
    return VF_OK;
}

static void destroy(vf_histogram *plan)
{
    (void)plan;
}

/* The bin of x, or VF_NO_BIN: the last bin whose lower edge is not above x. */
static int bin_by_edges(const vf_histogram *plan, double x)
{
    const double *edges = plan->edges;
    int bin = 0, end = plan->bins;
    if (!(x >= edges[0] && x <= edges[plan->bins]))
        return VF_NO_BIN;
    while (end - bin > 1) {
        const int middle = (bin + end) / 2;
        if (x >= edges[middle])
            bin = middle;
        else
            end = middle;
    }
    return bin;
}

static int bin_of_integer(const vf_histogram *plan, int64_t x)
{
    const vf_equal_bins *bins = &plan->equal;
    const uint64_t above = (uint64_t)x - (uint64_t)bins->first;
    return x >= bins->first && above <= bins->last ? (int)(above / bins->width) : VF_NO_BIN;
}

static vf_status execute(const vf_histogram *plan, vf_queue *queue, int64_t n, const void *x, uint64_t *counts)
{
    (void)queue;
    memset(counts, 0, (size_t)plan->bins * sizeof *counts);
    for (int64_t i = 0; i < n; i++) {
        const int bin = plan->type == VF_U8    ? ((const uint8_t *)x)[i]
                        : plan->type == VF_F32 ? bin_by_edges(plan, (double)((const float *)x)[i])
                        : plan->type == VF_F64 ? bin_by_edges(plan, ((const double *)x)[i])
                        : plan->type == VF_I32 ? bin_of_integer(plan, ((const int32_t *)x)[i])
                                               : bin_of_integer(plan, ((const int64_t *)x)[i]);
        if (bin != VF_NO_BIN)
            counts[bin]++;
    }
    return VF_OK;
}

const vf_histogram_ops vf_histogram_ops_ref = {{VF_DEVICE_CPU, names}, create, destroy, execute};
