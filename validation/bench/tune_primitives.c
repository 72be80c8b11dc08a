/* Searches for the shapes, nWarps x nWork and thread blocks per multiprocessor, with the fastest copies, reductions
 * and scans on this GPU. Prints them as the rows of {copy,reduce,scan}_tuning.cuh.
 *
 * usage: tune_primitives [DEVICE [REPORT.json]]     (DEVICE: cuda; exit 77 without a GPU)
 *
 * All compiled shapes (tune_primitives.cu) are tried REPEATS times each. The order is shuffled for every repeat, so
 * drift (clock, temperature) affects all alike. The least median is chosen. Arrays are so large that caches do not
 * matter. A shape counts only if its result is right: it is compared once, with numbers whose sums are exact
 * (bench_truth.h). If a choice is less than 1 % better than the table's shape, the table's shape stays.
 */
#include <math.h>

#include "bench_device.h"
#include "bench_peers.h"
#include "bench_truth.h"
#include "tune_primitives.h"
#include "voxfield/copy.h"
#include "voxfield/reduce.h"

enum { LOG = 27, REPEATS = 9, MOST_SHAPES = 32, IN_BATCH = 4, SHOWN = 6 };
#define WORTH 1.01
#define COUNT ((int64_t)1 << LOG) /* floats; half as many doubles, from the first half of the floats */

typedef struct trial {
    int shape;
    void *scratch;
    vf_array memory;
    double seconds[REPEATS], median;
} trial;

static const struct {
    const char *name, *table;
    int bytes;      /* of the row */
    int64_t passes; /* bytes read and written for each byte of x */
    bool wide;      /* of doubles */
} kernels[TUNED_KERNELS] = {
    [TUNE_COPY_4] = {"copy, words of 4 bytes", "vf_copy_tunings", 4, 2, false},
    [TUNE_COPY_16] = {"copy, words of 16 bytes", "vf_copy_tunings", 16, 2, false},
    [TUNE_SUM_1] = {"sum of bytes", "vf_reduce_tunings", 1, 1, false},
    [TUNE_SUM_4] = {"sum, float", "vf_reduce_tunings", 4, 1, false},
    [TUNE_DOT_8] = {"dot, float", "vf_reduce_tunings", 8, 2, false},
    [TUNE_DOT_16] = {"dot, double", "vf_reduce_tunings", 16, 2, true},
    [TUNE_DOT_32] = {"dot, complex double", "vf_reduce_tunings", 32, 2, true},
    [TUNE_SCAN_4] = {"scan, float", "vf_scan_tile_tunings", 4, 2, false},
    [TUNE_SCAN_8] = {"scan, double", "vf_scan_tile_tunings", 8, 2, true},
    [TUNE_THREE_4] = {"scan of three kernels, float", "vf_scan_run_tunings", 4, 2, false},
    [TUNE_THREE_8] = {"scan of three kernels, double", "vf_scan_run_tunings", 8, 2, true},
};

static bench_truth truth;
static vf_array narrow[2], wide[2], out, small, host;
static int64_t sum_of_bytes;

/* ---- the data, and the expected results ---- */

static void upload(vf_array *to, vf_dtype type, int64_t count, const void *from)
{
    need(vf_array_create(device, VF_SPACE_DEVICE, type, count, to));
    need(vf_queue_copy(queue, to->data, from, (size_t)count * vf_dtype_bytes(type)));
    need(vf_queue_sync(queue));
}

static void make_data(void)
{
    if (!truth_make(&truth, LOG, vf_context_threads(ctx)))
        need(vf_fail(ctx, VF_ERR_MEMORY, "no memory for the numbers"));
    need(vf_array_create(device, VF_SPACE_PINNED, VF_F32, COUNT, &host));
    for (int a = 0; a < 2; a++) {
        const float *from = a == 0 ? truth.x : truth.y;
        double *doubles = host.data;
        upload(&narrow[a], VF_F32, COUNT, from);
        for (int64_t i = 0; i < COUNT / 2; i++)
            doubles[i] = (double)from[i];
        upload(&wide[a], VF_F64, COUNT / 2, doubles);
    }
    const uint8_t *bytes = (const uint8_t *)truth.x;
    for (int64_t i = 0; i < 4 * COUNT; i++)
        sum_of_bytes += bytes[i];
    need(vf_array_create(device, VF_SPACE_DEVICE, VF_F32, COUNT, &out));
    need(vf_array_create(device, VF_SPACE_DEVICE, VF_U8, sizeof(vf_reduced), &small));
}

static bool is_sum(tuned_kernel k)
{
    return k >= TUNE_SUM_1 && k <= TUNE_DOT_32;
}

static const void *fetch(const vf_array *from)
{
    need(vf_queue_copy(queue, host.data, from->data, (size_t)from->count * vf_dtype_bytes(from->type)));
    need(vf_queue_sync(queue));
    return host.data;
}

/* The scan of doubles equals that of the floats, which is exact. */
static bool scan_is_right(const double *got)
{
    double sum = 0;
    bool right = true;
    for (int64_t i = 0; i < COUNT / 2; i++) {
        sum += (double)truth.x[i];
        right = right && got[i] == sum;
    }
    return right;
}

static bool is_right(tuned_kernel k)
{
    const int64_t n = kernels[k].wide ? COUNT / 2 : COUNT;
    const void *got = fetch(is_sum(k) ? &small : &out);
    const vf_reduced *sum = got;
    if (k == TUNE_SUM_1)
        return sum->integer == sum_of_bytes;
    if (k == TUNE_SUM_4)
        return sum->re == truth_sum(&truth, n);
    if (is_sum(k)) /* for complex numbers, the real part of sum conj(x) y is the sum of products of the parts */
        return sum->re == truth_dot(&truth, n);
    if (k <= TUNE_COPY_16)
        return truth_is_copy(&truth, n, got);
    return kernels[k].wide ? scan_is_right(got) : truth_is_scan(&truth, n, got);
}

static void poison(void)
{
    static const uint8_t wrong = 0x81;
    need(vf_fill(queue, VF_U8, 4 * COUNT, &wrong, out.data));
    need(vf_fill(queue, VF_U8, small.count, &wrong, small.data));
}

/* ---- the search ---- */

typedef struct batch {
    tuned_kernel kernel;
    const trial *t;
    int count;
} batch;

static void put(void *user)
{
    const batch *b = user;
    const vf_array *const *in = kernels[b->kernel].wide ? (const vf_array *const[]){&wide[0], &wide[1]}
                                                        : (const vf_array *const[]){&narrow[0], &narrow[1]};
    for (int i = 0; i < b->count; i++)
        if (tune_launch(b->kernel, b->t->shape, vf_queue_native(queue), b->t->scratch, 4 * COUNT, in[0]->data,
                        in[1]->data, is_sum(b->kernel) ? small.data : out.data))
            need(vf_fail(ctx, VF_ERR_DEVICE, "%s could not be launched", kernels[b->kernel].name));
}

/* Seconds of one execution. */
static double time_trial(tuned_kernel k, const trial *t)
{
    batch b = {k, t, IN_BATCH};
    const double seconds = bench_gpu_seconds(vf_queue_native(queue), put, &b) / IN_BATCH;
    if (!(seconds > 0))
        need(vf_fail(ctx, VF_ERR_DEVICE, "%s could not be timed", kernels[k].name));
    return seconds;
}

static bool same(tuned_shape a, tuned_shape b)
{
    return a.warps == b.warps && a.work == b.work && (a.blocks == b.blocks || a.blocks == 0);
}

/* Allocates scratch memory for a shape; returns whether it can be launched and gives the right result. */
static bool begin_trial(tuned_kernel k, int shape, trial *t)
{
    static const uint8_t zero = 0;
    *t = (trial){.shape = shape};
    const size_t bytes = tune_scratch(k, shape, k == TUNE_SUM_1 ? 4 * COUNT : COUNT);
    if (bytes == SIZE_MAX)
        return false;
    need(vf_array_create(device, VF_SPACE_DEVICE, VF_U8, (int64_t)bytes, &t->memory));
    t->scratch = t->memory.data;
    need(vf_fill(queue, VF_U8, (int64_t)bytes, &zero, t->scratch));
    poison();
    batch b = {k, t, 1};
    put(&b);
    if (is_right(k))
        return true;
    const tuned_shape s = tune_shape(k, shape);
    printf("%s, %d x %d, %d blocks: WRONG\n", kernels[k].name, s.warps, s.work, s.blocks);
    failures++;
    vf_array_free(&t->memory);
    return false;
}

static void shuffle(trial *trials, int count)
{
    for (int i = count - 1; i > 0; i--) {
        const int j = (int)integer_below(i + 1);
        const trial swapped = trials[i];
        trials[i] = trials[j];
        trials[j] = swapped;
    }
}

static int by_median(const void *a, const void *b)
{
    return by_size(&((const trial *)a)->median, &((const trial *)b)->median);
}

static double rate_of(tuned_kernel k, const trial *t)
{
    return (double)(kernels[k].passes * 4 * COUNT) / t->median;
}

static void report_trials(tuned_kernel k, const trial *trials, int count, tuned_shape chosen)
{
    int64_t shape[3][MOST_SHAPES];
    double rate[MOST_SHAPES];
    for (int i = 0; i < count; i++) {
        const tuned_shape s = tune_shape(k, trials[i].shape);
        shape[0][i] = s.warps;
        shape[1][i] = s.work;
        shape[2][i] = s.blocks;
        rate[i] = rate_of(k, &trials[i]);
    }
    vf_report_begin(report, kernels[k].name);
    vf_report_integers(report, "warps", shape[0], count);
    vf_report_integers(report, "work", shape[1], count);
    vf_report_integers(report, "blocks", shape[2], count);
    vf_report_numbers(report, "bytes_per_second", rate, count);
    vf_report_integers(report, "chosen", (const int64_t[]){chosen.warps, chosen.work, chosen.blocks}, 3);
    vf_report_end(report);
}

/* Tries all shapes of a kernel; returns the chosen one. */
static tuned_shape search(tuned_kernel k)
{
    trial trials[MOST_SHAPES];
    int count = 0, arch;
    const tuned_shape table = tune_table(k, &arch);
    for (int s = 0; s < tune_shapes(k) && count < MOST_SHAPES; s++)
        count += begin_trial(k, s, &trials[count]);
    for (int r = 0; r < REPEATS; r++) {
        shuffle(trials, count);
        for (int i = 0; i < count; i++)
            trials[i].seconds[r] = time_trial(k, &trials[i]);
    }
    for (int i = 0; i < count; i++)
        trials[i].median = median(trials[i].seconds, REPEATS); /* sorts them */
    qsort(trials, (size_t)count, sizeof *trials, by_median);
    tuned_shape chosen = count > 0 ? tune_shape(k, trials[0].shape) : table;
    printf("\n%s\n  warps   work  blocks       GB/s\n", kernels[k].name);
    for (int i = 0; i < count; i++) {
        const tuned_shape s = tune_shape(k, trials[i].shape);
        const bool in_table = same(s, table);
        if (in_table && trials[i].median < WORTH * trials[0].median)
            chosen = table;
        if (i < SHOWN || in_table)
            printf("  %5d %6d %7d %10.1f%s\n", s.warps, s.work, s.blocks, 1e-9 * rate_of(k, &trials[i]),
                   in_table ? "   in the table now" : "");
        vf_array_free(&trials[i].memory);
    }
    report_trials(k, trials, count, chosen);
    return chosen;
}

int main(int argc, char **argv)
{
    const char *spec = argc > 1 ? argv[1] : "cuda";
    const double began = vf_now();
    if (strncmp(spec, "cuda", 4) != 0) {
        printf("SKIP: there is nothing to tune on %s\n", spec);
        return 77;
    }
    const int ended = begin("tune_primitives", spec, argc > 2 ? argv[2] : NULL);
    if (ended >= 0)
        return ended;
    make_data();
    tuned_shape chosen[TUNED_KERNELS];
    int arch;
    for (int k = 0; k < TUNED_KERNELS; k++)
        chosen[k] = search((tuned_kernel)k);
    (void)tune_table(TUNE_COPY_4, &arch);
    printf("\nRows for %s\n", vf_device_name(device));
    for (int k = 0; k < TUNED_KERNELS; k++) {
        if (k == 0 || strcmp(kernels[k].table, kernels[k - 1].table) != 0)
            printf("%s\n", kernels[k].table);
        printf("    {%d, %d, %d, %d, %d},\n", arch, kernels[k].bytes, chosen[k].warps, chosen[k].work,
               chosen[k].blocks);
    }
    vf_report_integer(report, "arch", arch);
    vf_report_number(report, "seconds", vf_now() - began);
    printf("%.1f s\n", vf_now() - began);
    vf_array *const arrays[] = {&narrow[0], &narrow[1], &wide[0], &wide[1], &out, &small, &host};
    for (size_t a = 0; a < sizeof arrays / sizeof *arrays; a++)
        vf_array_free(arrays[a]);
    truth_free(&truth);
    return end();
}
