/* The published primitives, measured again (Brown, PhD thesis, University of North Carolina (2015)): throughput of one
 * large array, with bytes counted as the thesis does, and on a GPU as a share of the theoretical peak of its memory, which
 * is read from the device. The baseline, on a GPU, is the same kernel with one warp a thread block and one item a thread.
 *
 * usage: bench_published DEVICE [REPORT.json [LOG]]     (2^LOG elements; 28 on a GPU, 26 on a CPU)
 *
 * Numbers are small integers, so that every result is exact in any order. It is compared for equality before it is timed.
 * Bytes per element: fill and reductions 4, copy and the scan of a single pass 8, gather and scatter (with the index) and the
 * scan of three kernels, which reads twice, 12. The indices are a permutation that puts neighbours far apart. Segments: one of
 * half of all elements, then segments of one; offsets and results count, 40 bytes each. */
#include <math.h>

#include "bench_device.h"
#include "bench_peers.h"
#include "bench_published.h"
#include "bench_truth.h"
#include "voxfield/reduce.h"
#include "voxfield/scan.h"

enum { BATCHES = 9, MOST_IN_BATCH = 50, SEGMENT_LOG = 20 };

static bench_truth truth;
static int64_t n, segments, in_segments;
static vf_array x, y, index_array, offsets, results, small, host;
static vf_reduce *sum, *least, *greatest;
static vf_scan *scan, *scan_three, *scan_wide;
static vf_reduce_segments *of_segments;
static vf_array scratch[BASELINES];

static bool on_gpu(void)
{
    return !vf_device_is_host(device);
}

/* i times an odd number, modulo a power of two: each index once. */
static uint32_t index_of(int64_t i)
{
    return (uint32_t)((uint64_t)i * 2654435761U & (uint64_t)(n - 1));
}

static const void *fetch(const vf_array *from, int64_t bytes)
{
    need(vf_queue_copy(queue, host.data, from->data, (size_t)bytes));
    need(vf_queue_sync(queue));
    return host.data;
}

/* ---- the operations ---- */

static void run_copy(void)
{
    need(vf_copy(queue, VF_F32, n, x.data, y.data));
}

static void run_fill(void)
{
    const float value = 0.25F;
    need(vf_fill(queue, VF_F32, n, &value, y.data));
}

static void run_gather(void)
{
    need(vf_gather(queue, VF_F32, n, index_array.data, x.data, y.data));
}

static void run_scatter(void)
{
    need(vf_scatter(queue, VF_F32, n, index_array.data, x.data, y.data));
}

static void run_sum(void)
{
    need(vf_reduce_execute(sum, queue, n, x.data, NULL, small.data));
}

static void run_least(void)
{
    need(vf_reduce_execute(least, queue, n, x.data, NULL, small.data));
}

static void run_greatest(void)
{
    need(vf_reduce_execute(greatest, queue, n, x.data, NULL, small.data));
}

static void run_scan(void)
{
    need(vf_scan_execute(scan, queue, n, x.data, NULL, y.data));
}

static void run_three(void)
{
    need(vf_scan_execute(scan_three, queue, n, x.data, NULL, y.data));
}

static void run_wide(void)
{
    need(vf_scan_execute(scan_wide, queue, n / 2, index_array.data, NULL, y.data));
}

static void run_segments(void)
{
    need(vf_reduce_segments_execute(of_segments, queue, in_segments, x.data, segments, offsets.data, results.data));
}

static void run_baseline(bench_baseline kernel, const vf_array *out)
{
    if (!bench_baseline_run(kernel, vf_queue_native(queue), scratch[kernel].data, n, x.data, out->data))
        need(vf_fail(ctx, VF_ERR_DEVICE, "a kernel of one warp and one item failed"));
}

static void run_base_copy(void)
{
    run_baseline(BASELINE_COPY, &y);
}

static void run_base_sum(void)
{
    run_baseline(BASELINE_SUM, &small);
}

static void run_base_scan(void)
{
    run_baseline(BASELINE_SCAN, &y);
}

/* ---- their results ---- */

static bool copy_right(void)
{
    return truth_is_copy(&truth, n, fetch(&y, 4 * n));
}

static bool fill_right(void)
{
    return truth_is_filled(&truth, n, fetch(&y, 4 * n), 0.25F);
}

static bool gather_right(void)
{
    const float *got = fetch(&y, 4 * n);
    bool right = true;
#pragma omp parallel for schedule(static) reduction(&& : right)
    for (int64_t i = 0; i < n; i++)
        right = right && got[i] == truth.x[index_of(i)];
    return right;
}

static bool scatter_right(void)
{
    const float *got = fetch(&y, 4 * n);
    bool right = true;
#pragma omp parallel for schedule(static) reduction(&& : right)
    for (int64_t i = 0; i < n; i++)
        right = right && got[index_of(i)] == truth.x[i];
    return right;
}

static bool sum_right(void)
{
    return ((const vf_reduced *)fetch(&small, sizeof(vf_reduced)))->re == truth_sum(&truth, n);
}

/* Numbers are from -8 to 8, and the first of each counts. */
static bool extreme_right(float value)
{
    const vf_reduced *got = fetch(&small, sizeof *got);
    int64_t first = 0;
    while (first < n && truth.x[first] != value)
        first++;
    return got->re == (double)value && got->index == first;
}

static bool least_right(void)
{
    return extreme_right(-8);
}

static bool greatest_right(void)
{
    return extreme_right(8);
}

static bool scan_right(void)
{
    return truth_is_scan(&truth, n, fetch(&y, 4 * n));
}

static bool wide_right(void)
{
    const int64_t *got = fetch(&y, 4 * n);
    int64_t all = 0;
    bool right = true;
    for (int64_t i = 0; i < n / 2; i++) {
        all += (int32_t)index_of(i);
        right = right && got[i] == all;
    }
    return right;
}

static bool segments_right(void)
{
    const vf_reduced *got = fetch(&results, segments * (int64_t)sizeof *got);
    bool right = got[0].re == truth_sum(&truth, n / 2);
    for (int64_t s = 1; s < segments; s++)
        right = right && got[s].re == (double)truth.x[n / 2 + s - 1];
    return right;
}

static const struct {
    const char *name;
    double bytes; /* per element */
    void (*run)(void);
    bool (*right)(void);
    enum { EVERYWHERE, GPUS } where;
} ops[] = {
    {"copy", 8, run_copy, copy_right, EVERYWHERE},
    {"fill", 4, run_fill, fill_right, EVERYWHERE},
    {"gather", 12, run_gather, gather_right, EVERYWHERE},
    {"scatter", 12, run_scatter, scatter_right, EVERYWHERE},
    {"sum", 4, run_sum, sum_right, EVERYWHERE},
    {"min", 4, run_least, least_right, EVERYWHERE},
    {"max", 4, run_greatest, greatest_right, EVERYWHERE},
    {"inclusive scan", 8, run_scan, scan_right, EVERYWHERE},
    {"inclusive scan, three kernels", 12, run_three, scan_right, GPUS},
    {"scan of 32 bits to 64", 6, run_wide, wide_right, EVERYWHERE}, /* half as many elements, of 12 bytes */
    {"sums of segments", 0, run_segments, segments_right, EVERYWHERE},
    {"copy <1,1>", 8, run_base_copy, copy_right, GPUS},
    {"sum <1,1>", 4, run_base_sum, sum_right, GPUS},
    {"inclusive scan, three kernels <1,1>", 12, run_base_scan, scan_right, GPUS},
};
enum { OPS = sizeof ops / sizeof *ops };

/* ---- time ---- */

typedef struct batch {
    void (*run)(void);
    int count;
} batch;

static void put_batch(void *user)
{
    const batch *b = user;
    for (int i = 0; i < b->count; i++)
        b->run();
}

static double time_batch(batch *b)
{
    if (on_gpu()) {
        const double seconds = bench_gpu_seconds(vf_queue_native(queue), put_batch, b);
        if (!(seconds > 0))
            need(vf_fail(ctx, VF_ERR_DEVICE, "a batch could not be timed"));
        return seconds / b->count;
    }
    const double began = vf_now();
    put_batch(b);
    return (vf_now() - began) / b->count;
}

/* The median of the batches' seconds per execution; a batch takes about 10 ms. */
static double time_op(int o)
{
    double seconds[BATCHES];
    batch b = {ops[o].run, 1};
    (void)time_batch(&b);
    const double count = 1e-2 / time_batch(&b);
    b.count = count < 1 ? 1 : count > MOST_IN_BATCH ? MOST_IN_BATCH : (int)count;
    for (int i = 0; i < BATCHES; i++)
        seconds[i] = time_batch(&b);
    return median(seconds, BATCHES);
}

static void measure(int o, double peak)
{
    static const uint8_t wrong = 0x81;
    const double bytes =
        ops[o].bytes > 0 ? ops[o].bytes * (double)n : 4.0 * (double)in_segments + 40.0 * (double)segments;
    need(vf_fill(queue, VF_U8, 4 * n, &wrong, y.data));
    need(vf_fill(queue, VF_U8, small.count, &wrong, small.data));
    ops[o].run();
    if (!ops[o].right()) {
        printf("%s: WRONG\n", ops[o].name);
        failures++;
        return;
    }
    const double rate = bytes / time_op(o);
    printf("%-36s %8.1f GB/s", ops[o].name, 1e-9 * rate);
    if (peak > 0)
        printf("  %.3f of the peak", rate / peak);
    printf("\n");
    vf_report_begin(report, ops[o].name);
    vf_report_number(report, "bytes_per_second", rate);
    vf_report_number(report, "bytes_per_element", ops[o].bytes);
    if (peak > 0)
        vf_report_number(report, "share_of_peak", rate / peak);
    vf_report_end(report);
}

/* ---- data ---- */

static void make_array(vf_array *to, vf_dtype type, int64_t count, const void *from)
{
    need(vf_array_create(device, VF_SPACE_DEVICE, type, count, to));
    if (from)
        need(vf_queue_copy(queue, to->data, from, (size_t)count * vf_dtype_bytes(type)));
    need(vf_queue_sync(queue));
}

static void make_data(int log)
{
    n = (int64_t)1 << log;
    segments = ((int64_t)1 << (log - 1 < SEGMENT_LOG ? log - 1 : SEGMENT_LOG)) + 1;
    in_segments = n / 2 + segments - 1;
    if (!truth_make(&truth, log, vf_context_threads(ctx)))
        need(vf_fail(ctx, VF_ERR_MEMORY, "no memory for %lld numbers, or sums that are not exact", (long long)n));
    need(vf_array_create(device, on_gpu() ? VF_SPACE_PINNED : VF_SPACE_DEVICE, VF_F32,
                         n > 16 * segments ? n : 16 * segments, &host));
    make_array(&x, VF_F32, n, truth.x);
    make_array(&y, VF_F32, n, NULL);
    uint32_t *index = host.data;
    for (int64_t i = 0; i < n; i++)
        index[i] = index_of(i);
    make_array(&index_array, VF_I32, n, index);
    int64_t *begins = host.data;
    for (int64_t s = 0; s <= segments; s++)
        begins[s] = s == 0 ? 0 : n / 2 + s - 1;
    make_array(&offsets, VF_I64, segments + 1, begins);
    make_array(&results, VF_I64, 4 * segments, NULL);
    make_array(&small, VF_U8, sizeof(vf_reduced), NULL);
}

static void make_plans(void)
{
    const vf_scan_options single = {.type = VF_F32}, three = {.type = VF_F32, .variant = "three-kernel"},
                          wide = {.type = VF_I32, .wide = true};
    static const uint8_t zero = 0;
    need(vf_reduce_create(device, VF_REDUCE_SUM, VF_F32, n, &sum));
    need(vf_reduce_create(device, VF_REDUCE_MIN, VF_F32, n, &least));
    need(vf_reduce_create(device, VF_REDUCE_MAX, VF_F32, n, &greatest));
    need(vf_scan_create(device, &single, n, &scan));
    need(vf_scan_create(device, &wide, n, &scan_wide));
    need(vf_reduce_segments_create(device, VF_REDUCE_SUM, VF_F32, n, &of_segments));
    if (!on_gpu())
        return;
    need(vf_scan_create(device, &three, n, &scan_three));
    for (int b = 0; b < BASELINES; b++) {
        const size_t bytes = bench_baseline_scratch((bench_baseline)b);
        if (bytes == 0)
            need(vf_fail(ctx, VF_ERR_DEVICE, "a kernel of one warp and one item cannot be launched"));
        make_array(&scratch[b], VF_U8, (int64_t)bytes, NULL);
        need(vf_fill(queue, VF_U8, (int64_t)bytes, &zero, scratch[b].data));
    }
    for (const double began = vf_now(); vf_now() - began < 0.3; need(vf_queue_sync(queue)))
        run_copy(); /* raises the clock */
}

static void free_all(void)
{
    vf_reduce_destroy(sum);
    vf_reduce_destroy(least);
    vf_reduce_destroy(greatest);
    vf_scan_destroy(scan);
    vf_scan_destroy(scan_three);
    vf_scan_destroy(scan_wide);
    vf_reduce_segments_destroy(of_segments);
    vf_array *const arrays[] = {&x, &y, &index_array, &offsets, &results, &small, &host};
    for (size_t a = 0; a < sizeof arrays / sizeof *arrays; a++)
        vf_array_free(arrays[a]);
    for (int b = 0; b < BASELINES; b++)
        vf_array_free(&scratch[b]);
    truth_free(&truth);
}

int main(int argc, char **argv)
{
    int ended = begin("bench_published", argc > 1 ? argv[1] : "cpu", argc > 2 ? argv[2] : NULL);
    if (ended >= 0)
        return ended;
    const int log = argc > 3 ? (int)whole_number(argv[3], 30) : on_gpu() ? 28 : 26;
    if (log < 4)
        need(vf_fail(ctx, VF_ERR_ARGUMENT, "LOG is a number from 4 to 30"));
    make_data(log);
    make_plans();
    const double peak = on_gpu() ? bench_peak() : 0;
    printf("%s, 2^%d elements", vf_device_name(device), log);
    if (peak > 0)
        printf("; peak %.1f GB/s", 1e-9 * peak);
    printf("\n");
    vf_report_integer(report, "elements", n);
    if (peak > 0)
        vf_report_number(report, "peak_bytes_per_second", peak);
    else
        vf_report_integer(report, "threads", vf_context_threads(ctx));
    vf_report_begin(report, "cases");
    for (int o = 0; o < OPS; o++)
        if (ops[o].where == EVERYWHERE || on_gpu())
            measure(o, peak);
    vf_report_end(report);
    free_all();
    return end();
}
