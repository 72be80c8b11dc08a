/* How fast nearest neighbours are found among random points in three dimensions, by each variant, beside nanoflann with
 * one thread. Both get the queries in the same random order.
 *
 * usage: bench_neighbours DEVICE [REPORT.json [POINTS]]     (none; 100,000 and then 1,000,000)
 *
 * There are as many queries as points. On the CPU our searches also have one thread, and times are processor time, so
 * that other programs disturb them less. All variants must have the results of the first, bit for bit. Its distances
 * must be nanoflann's, whose compiler may contract products and sums: to 4 roundings. The variant "ref" is left out.
 */
#include <math.h>
#include <time.h>

#include "bench_device.h"
#include "bench_nanoflann.h"
#include "voxfield/neighbours.h"

enum { MOST_K = VF_NEIGHBOURS_MOST_K, ROUNDS = 3, KINDS = 6 };
static const double bar = 1; /* of nanoflann's speed, for the default variant */

/* The four searches: of queries or of the points themselves, for one or k neighbours. */
typedef struct kind {
    const char *name;
    bool others;
    int k;
} kind;
static const kind kinds[KINDS] = {{"nearest", false, 1},     {"nearest other", true, 1},
                                  {"8 nearest", false, 8},   {"8 nearest others", true, 8},
                                  {"32 nearest", false, 32}, {"32 nearest others", true, 32}};

static int64_t n;
static float *points, *queries;
static vf_array there, index_of, squared; /* on the device: queries and results */
static int32_t *first_index, *index_here;
static float *first_squared, *squared_here;

static double seconds(void)
{
    struct timespec t;
    clock_gettime(vf_device_is_host(device) ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double time_search(const vf_neighbours *plan, const kind *s)
{
    const double began = seconds();
    if (s->others)
        need(vf_neighbours_k_nearest_others(plan, queue, s->k, index_of.data, squared.data));
    else
        need(vf_neighbours_k_nearest(plan, queue, s->k, n, there.data, index_of.data, squared.data));
    need(vf_queue_sync(queue));
    return seconds() - began;
}

static double time_nanoflann(const bench_nanoflann *tree, const kind *s)
{
    struct timespec from, to;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
    if (s->others) /* it finds the point itself, too */
        bench_nanoflann_search(tree, n, points, s->k + 1, index_here, squared_here);
    else
        bench_nanoflann_search(tree, n, queries, s->k, index_here, squared_here);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
    return (double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec);
}

static void wrong(const char *what, const kind *s, int64_t i)
{
    printf("%s, %lld points, %s: query %lld: WRONG\n", what, (long long)n, s->name, (long long)(i / s->k));
    failures++;
}

static void fetch(const kind *s, int32_t *index, float *distance)
{
    need(vf_queue_copy(queue, index, index_of.data, (size_t)(n * s->k) * sizeof *index));
    need(vf_queue_copy(queue, distance, squared.data, (size_t)(n * s->k) * sizeof *distance));
    need(vf_queue_sync(queue));
}

static void check(const char *variant, const kind *s)
{
    fetch(s, index_here, squared_here);
    for (int64_t i = 0; i < n * s->k; i++)
        if (index_here[i] != first_index[i] || squared_here[i] != first_squared[i]) {
            wrong(variant, s, i);
            return;
        }
}

static void check_nanoflann(const kind *s)
{
    for (int64_t i = 0; i < n * s->k; i++) {
        const float distance = s->others ? squared_here[i + i / s->k + 1] : squared_here[i];
        if (!(fabsf(distance - first_squared[i]) <= 4 * 0x1p-24F * first_squared[i])) {
            wrong("nanoflann", s, i);
            return;
        }
    }
}

static void report_search(const char *variant, const kind *s, double ours, double theirs, bool is_default)
{
    char key[96];
    snprintf(key, sizeof key, "%s, %s, %lld points", variant, s->name, (long long)n);
    printf("  %-8s %-18s %8.3f us a query", variant, s->name, 1e6 * ours / (double)n);
    vf_report_begin(report, key);
    vf_report_number(report, "seconds", ours);
    if (theirs > 0) {
        printf("  %6.2f times nanoflann's speed", theirs / ours);
        vf_report_number(report, "nanoflann_seconds", theirs);
        vf_report_number(report, "share", theirs / ours);
        if (is_default)
            printf(": %s (%.1f)", theirs / ours >= bar ? "met" : "MISSED", bar);
    }
    printf("\n");
    vf_report_end(report);
}

/* The other variants, then the first again, each beside nanoflann. */
static void measure(const kind *s, int variants, vf_neighbours *const *plan, const char *const *variant,
                    const bench_nanoflann *tree)
{
    double times[8][ROUNDS], theirs[ROUNDS] = {0};
    for (int v = 0; v < variants; v++) {
        (void)time_search(plan[v], s);
        if (v == 0)
            fetch(s, first_index, first_squared);
        check(variant[v], s);
    }
    for (int r = 0; r < ROUNDS; r++) {
        for (int v = 0; v < variants; v++)
            times[v][r] = time_search(plan[v], s);
        theirs[r] = tree ? time_nanoflann(tree, s) : 0;
    }
    if (tree)
        check_nanoflann(s);
    const double beside = median(theirs, ROUNDS);
    for (int v = 0; v < variants; v++)
        report_search(variant[v], s, median(times[v], ROUNDS), beside, v == 0);
}

static void run(int64_t count)
{
    vf_neighbours *plan[8];
    const char *variant[8];
    bench_nanoflann *tree = NULL;
    int variants = 0;
    n = count;
    for (int64_t i = 0; i < 3 * n; i++) {
        points[i] = (float)uniform();
        queries[i] = (float)uniform();
    }
    need(vf_queue_copy(queue, there.data, queries, (size_t)(3 * n) * sizeof *queries));
    printf("%lld points\n", (long long)n);
    for (int v = 0; v < 8 && (variant[variants] = vf_neighbours_variant_name(vf_device_get_kind(device), v)); v++) {
        if (strcmp(variant[variants], "ref") == 0)
            continue;
        const vf_neighbours_options options = {.dimensions = 3, .variant = variant[variants]};
        const double began = seconds();
        need(vf_neighbours_create(device, &options, n, points, &plan[variants]));
        printf("  %-8s made in %.3f s\n", variant[variants], seconds() - began);
        variants++;
    }
    if (bench_has_nanoflann()) {
        const double began = seconds();
        tree = bench_nanoflann_create(n, points);
        printf("  nanoflann made in %.3f s\n", seconds() - began);
    }
    for (int s = 0; s < KINDS; s++)
        measure(&kinds[s], variants, plan, variant, tree);
    for (int v = 0; v < variants; v++)
        vf_neighbours_destroy(plan[v]);
    bench_nanoflann_free(tree);
}

int main(int argc, char **argv)
{
    static const int64_t sizes[] = {100000, 1000000};
    const int64_t given = argc > 3 ? whole_number(argv[3], 100000000) : 0, most = given ? given : sizes[1];
    const int ended = begin("bench_neighbours", argc > 1 ? argv[1] : "cpu", argc > 2 ? argv[2] : NULL);
    if (ended >= 0)
        return ended;
    if (argc > 3 && !given)
        need(vf_fail(ctx, VF_ERR_ARGUMENT, "POINTS '%s': expected a whole number from 1 to 100000000", argv[3]));
    need(vf_context_set_threads(ctx, 1));
    if (!bench_has_nanoflann())
        printf("built without nanoflann (libnanoflann-dev, and a C++ compiler): no comparison\n");
    points = room((size_t)(3 * most), sizeof *points);
    queries = room((size_t)(3 * most), sizeof *queries);
    first_index = room((size_t)(MOST_K * most), sizeof *first_index);
    index_here = room((size_t)((MOST_K + 1) * most), sizeof *index_here);
    first_squared = room((size_t)(MOST_K * most), sizeof *first_squared);
    squared_here = room((size_t)((MOST_K + 1) * most), sizeof *squared_here);
    need(vf_array_create(device, VF_SPACE_DEVICE, VF_F32, 3 * most, &there));
    need(vf_array_create(device, VF_SPACE_DEVICE, VF_I32, MOST_K * most, &index_of));
    need(vf_array_create(device, VF_SPACE_DEVICE, VF_F32, MOST_K * most, &squared));
    if (given)
        run(given);
    for (int i = 0; !given && i < 2; i++)
        run(sizes[i]);
    void *const memory[] = {points, queries, first_index, index_here, first_squared, squared_here};
    for (int i = 0; i < 6; i++)
        free(memory[i]);
    vf_array_free(&there);
    vf_array_free(&index_of);
    vf_array_free(&squared);
    return end();
}
