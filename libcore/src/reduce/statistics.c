#include "voxfield/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "device/arguments.h"
#include "voxfield/histogram.h"

vf_status vf_host_reduce(vf_context *ctx, vf_reduction reduction, vf_dtype type, int64_t n, const void *x,
                         const void *y, vf_reduced *result)
{
    vf_device *host = vf_context_host(ctx);
    vf_queue *queue = NULL;
    vf_reduce *plan = NULL;
    vf_status status = VF_CHECK_POINTERS(ctx, "a reduction", {"result", result});
    if (status != VF_OK)
        return status;
    *result = (vf_reduced){0};
    status = vf_queue_create(host, &queue);
    VF_TRY(status, vf_reduce_create(host, reduction, type, n, &plan));
    VF_TRY(status, vf_reduce_now(plan, queue, n, x, y, result));
    vf_reduce_destroy(plan);
    vf_queue_destroy(queue);
    return status;
}

/* ---- quantiles ---- */

/* A histogram narrows down the bin with the wanted value, and the next histogram subdivides that bin. Bins are equal
 * steps in the order of all floats, not in their size. So at most three histograms reach a single number, and outliers
 * do not make the bins coarser. */
enum { BINS = 2048 };
_Static_assert(INT64_C(1) * BINS * BINS * BINS >= INT64_C(1) << 32, "three histograms tell all floats apart");

/* Maps floats to keys in ascending order; keys of neighbours differ by 1; 0 and -0 have the key 0. */
static int64_t key_of(float x)
{
    int32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits >= 0 ? bits : -(int64_t)(bits & INT32_MAX);
}

/* The float of a key. Infinity becomes 2^128, the next number if floats continued, because an edge must be finite. */
static double value_of(int64_t key)
{
    const int32_t bits = (int32_t)(key < 0 ? -key : key);
    float x;
    memcpy(&x, &bits, sizeof x);
    return copysign(fmin((double)x, 0x1p128), (double)key);
}

/* Keys [low, end), more than one. */
typedef struct key_range {
    int64_t low, end;
} key_range;

/* Reduces `range` to the bin that contains the value with index *rank within the range, and makes *rank relative to the
 * bin. */
static vf_status narrow(vf_queue *queue, int64_t n, const float *x, key_range *range, uint64_t *rank)
{
    vf_device *host = vf_queue_device(queue);
    double edges[BINS + 1];
    uint64_t counts[BINS] = {0};
    vf_histogram *plan = NULL;
    const int64_t keys = range->end - range->low, width = (keys + BINS - 1) / BINS;
    const int bins = (int)((keys + width - 1) / width);
    for (int b = 0; b < bins; b++)
        edges[b] = value_of(range->low + b * width);
    /* The last bin includes this value. It is taken only after all others, so that does not matter. */
    edges[bins] = value_of(range->end);
    vf_status status =
        vf_histogram_create(host, &(vf_histogram_options){.type = VF_F32, .bins = bins, .edges = edges}, n, &plan);
    VF_TRY(status, vf_histogram_execute(plan, queue, n, x, counts));
    vf_histogram_destroy(plan);
    int bin = 0;
    while (bin < bins - 1 && *rank >= counts[bin])
        *rank -= counts[bin++];
    range->low += bin * width;
    if (bin < bins - 1)
        range->end = range->low + width;
    return status;
}

/* The minimum and maximum; an error if a value is not finite. */
static vf_status find_range(vf_context *ctx, int64_t n, const float *x, vf_reduced *least, vf_reduced *greatest)
{
    vf_status status = vf_host_reduce(ctx, VF_REDUCE_MIN, VF_F32, n, x, NULL, least);
    VF_TRY(status, vf_host_reduce(ctx, VF_REDUCE_MAX, VF_F32, n, x, NULL, greatest));
    if (status == VF_OK && isnan(least->re))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "a quantile: the value at index %lld is NaN", (long long)least->index);
    if (status == VF_OK && !(isfinite(least->re) && isfinite(greatest->re)))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "a quantile of values from %g to %g; all must be finite", least->re,
                       greatest->re);
    return status;
}

vf_status vf_host_quantile(vf_context *ctx, int64_t n, const float *x, double q, float *value)
{
    vf_queue *queue = NULL;
    vf_reduced least, greatest;
    vf_status status = VF_CHECK_POINTERS(ctx, "a quantile", {"value", value});
    if (status != VF_OK)
        return status;
    *value = 0;
    if (!(q >= 0 && q <= 1))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "a quantile: the share %g is not between 0 and 1", q);
    status = VF_CHECK_ARRAYS(ctx, "a quantile", VF_F32, n, {"x", x});
    if (status != VF_OK || n == 0)
        return status;
    status = find_range(ctx, n, x, &least, &greatest);
    VF_TRY(status, vf_queue_create(vf_context_host(ctx), &queue));
    if (status != VF_OK)
        return status;
    key_range range = {key_of((float)least.re), key_of((float)greatest.re) + 1};
    uint64_t rank = (uint64_t)(q * (double)(n - 1));
    while (status == VF_OK && range.end - range.low > 1)
        status = narrow(queue, n, x, &range, &rank);
    *value = (float)value_of(range.low);
    vf_queue_destroy(queue);
    return status;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void vf_host_sort(int64_t n, double *x)
{
    qsort(x, (size_t)n, sizeof *x, ascending);
}

/* Moves values of x[low .. high] that are below `pivot` before those above it. Afterwards those up to *left are at most
 * the pivot, those from *right on at least, and the ones between are equal to it. */
static void part(double *x, int64_t low, int64_t high, double pivot, int64_t *left, int64_t *right)
{
    int64_t i = low, j = high;
    while (i <= j) {
        while (x[i] < pivot)
            i++;
        while (x[j] > pivot)
            j--;
        if (i > j)
            break;
        const double other = x[i];
        x[i++] = x[j];
        x[j--] = other;
    }
    *left = j;
    *right = i;
}

/* Quickselect (Hoare, Commun. ACM 4 (1961) 321) with the median of three. Orders that make it slow end in a sort. */
double vf_host_select(int64_t n, double *x, int64_t rank)
{
    enum { FEW = 16, ROUNDS = 64 };
    int64_t low = 0, high = n - 1, left, right;
    for (int round = 0; round < ROUNDS && high - low >= FEW; round++) {
        const double a = x[low], b = x[low + (high - low) / 2], c = x[high];
        part(x, low, high, a < b ? (b < c ? b : a < c ? c : a) : (a < c ? a : b < c ? c : b), &left, &right);
        if (rank > left && rank < right)
            return x[rank];
        low = rank >= right ? right : low;
        high = rank <= left ? left : high;
    }
    vf_host_sort(high - low + 1, x + low);
    return x[rank];
}
