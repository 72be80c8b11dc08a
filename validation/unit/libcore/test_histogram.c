/* Histograms on the CPU or a GPU, against loops. */
#include <float.h>
#include <math.h>

#include "libcore/copy/copy_fixture.h"
#include "refusal_fixture.h"
#include "voxfield/histogram.h"

/* Lengths near a warp, near the start of another CPU thread, and lengths that CUB's data blocks do not divide. */
static const int64_t lengths[] = {0, 1, 2, 31, 32, 33, 255, 1000, 4097, 32767, 32768, 65537, 300007, (1 << 20) + 3};
enum { LENGTHS = sizeof lengths / sizeof *lengths, GUARD = 64 };

/* Counts `values` [n] and compares with `expected` [bins]. */
static void check_counts(const vf_histogram *plan, int bins, int64_t n, const void *values, size_t size,
                         const uint64_t *expected, const char *what)
{
    const int64_t x_at = (int64_t)size * integer_between(0, 15), counts_at = 8 * integer_between(1, 8);
    memory x = make_memory(x_at + n * (int64_t)size), counts = make_memory(counts_at + 8 * (int64_t)bins + GUARD);
    memcpy(x.host + x_at, values, (size_t)n * size);
    upload(&x);
    for (int repeat = 0; repeat < 2; repeat++)
        assert_int_equal(vf_histogram_execute(plan, queue, n, at(&x, x_at), at(&counts, counts_at)), VF_OK);
    memcpy(counts.host + counts_at, expected, (size_t)bins * sizeof *expected);
    check_memory(&counts, what);
    free_memory(&x);
    free_memory(&counts);
}

static void check_byte_histogram(int64_t n, int least, int most)
{
    vf_histogram *plan;
    uint64_t expected[256] = {0};
    char what[64];
    uint8_t *values = malloc((size_t)n + 1);
    assert_non_null(values);
    snprintf(what, sizeof what, "%lld bytes", (long long)n);
    for (int64_t i = 0; i < n; i++)
        expected[values[i] = (uint8_t)integer_between(least, most)]++;
    assert_int_equal(vf_histogram_create(device, &(vf_histogram_bins){.type = VF_U8}, n, &plan), VF_OK);
    check_counts(plan, 256, n, values, 1, expected, what);
    vf_histogram_destroy(plan);
    free(values);
}

static void test_byte_histograms(void **state)
{
    (void)state;
    for (int l = 0; l < LENGTHS; l++) {
        check_byte_histogram(lengths[l], 0, 255);
        check_byte_histogram(lengths[l], 200, 203);
        check_byte_histogram(lengths[l], 255, 255);
    }
}

/* Some values are special: an edge, next to an edge, NaN, infinite, outside, zero of either sign. */
static double random_value(int bins, const double *edges, vf_dtype type)
{
    const double edge = edges[integer_between(0, bins)], width = edges[bins] - edges[0];
    switch (integer_between(0, 19)) {
    case 0:
        return edge;
    case 1:
        return type == VF_F32 ? (double)nextafterf((float)edge, INFINITY) : nextafter(edge, INFINITY);
    case 2:
        return type == VF_F32 ? (double)nextafterf((float)edge, -INFINITY) : nextafter(edge, -INFINITY);
    case 3:
        return NAN;
    case 4:
        return integer_between(0, 1) ? INFINITY : -INFINITY;
    case 5:
        return edges[0] - width * uniform();
    case 6:
        return edges[bins] + width * uniform();
    case 7:
        return integer_between(0, 1) ? 0.0 : -0.0;
    case 8:
        return edges[bins];
    default:
        return edges[0] + width * uniform();
    }
}

static void check_histogram(vf_dtype type, int64_t n, int bins, const double *edges)
{
    vf_histogram *plan;
    char what[96];
    const size_t size = vf_dtype_bytes(type);
    uint64_t *expected = calloc((size_t)bins, sizeof *expected);
    char *values = malloc((size_t)n * size + 1);
    assert_true(expected && values);
    snprintf(what, sizeof what, "%lld numbers of %zu bytes in %d bins", (long long)n, size, bins);
    for (int64_t i = 0; i < n; i++) {
        double v = random_value(bins, edges, type);
        const float single = (float)v;
        if (type == VF_F32)
            v = (double)single;
        memcpy(values + (size_t)i * size, type == VF_F32 ? (const void *)&single : &v, size);
        int b = 0, end = bins; /* the last b whose edge is not above v, if there is one, is in [b, end) */
        while (end - b > 1)
            *(v >= edges[(b + end) / 2] ? &b : &end) = (b + end) / 2;
        expected[b] += v >= edges[b] && (v < edges[b + 1] || (b == bins - 1 && v == edges[bins]));
    }
    assert_int_equal(
        vf_histogram_create(device, &(vf_histogram_bins){.type = type, .bins = bins, .edges = edges}, n + 5, &plan),
        VF_OK);
    check_counts(plan, bins, n, values, size, expected, what);
    vf_histogram_destroy(plan);
    free(expected);
    free(values);
}

static void test_histograms(void **state)
{
    (void)state;
    static const int most_bins[] = {1, 2, 3, 7, 100, 255, 256, 257, 1000};
    for (int l = 0; l < LENGTHS; l++)
        for (int m = 0; m < 9 && (lengths[l] < 100000 || m % 4 == 0); m++)
            for (int t = 0; t < 2; t++) {
                double edges[1001];
                const bool even = integer_between(0, 1);
                edges[0] = 10 * uniform() - 20;
                for (int b = 1; b <= most_bins[m]; b++)
                    edges[b] = even ? -8 + 0.25 * b : edges[b - 1] + 1e-3 + uniform();
                edges[0] = even ? -8 : edges[0];
                check_histogram(t ? VF_F64 : VF_F32, lengths[l], most_bins[m], edges);
            }
}

/* All extremes: the largest numbers as edges, and the most bins. */
static void test_extreme_edges(void **state)
{
    (void)state;
    const double all[4] = {-DBL_MAX, -0.0, DBL_TRUE_MIN, DBL_MAX}, floats[3] = {-FLT_MAX, 0, FLT_MAX};
    double *many = malloc(65537 * sizeof *many);
    assert_non_null(many);
    for (int b = 0; b <= 65536; b++)
        many[b] = b;
    check_histogram(VF_F64, 5000, 3, all);
    check_histogram(VF_F32, 5000, 2, floats);
    check_histogram(VF_F64, 50000, 65536, many); /* also more edges than numbers */
    check_histogram(VF_F32, 10, 65536, many);
    free(many);
}

/* A plan's memory is for the number of threads at its creation. */
static void test_more_threads_than_planned(void **state)
{
    (void)state;
    enum { N = 400000 };
    vf_histogram *histogram;
    const int threads = vf_context_threads(ctx);
    const double edges[3] = {0, 1, 2};
    const uint64_t expected[2] = {N / 4, N / 2};
    float *values = malloc(N * sizeof *values);
    assert_non_null(values);
    for (int i = 0; i < N; i++)
        values[i] = (const float[]){0.5f, 1.5f, 2, 2.5f}[i % 4];
    const vf_histogram_bins bins = {.type = VF_F32, .bins = 2, .edges = edges};
    assert_int_equal(vf_context_set_threads(ctx, 1), VF_OK);
    assert_int_equal(vf_histogram_create(device, &bins, N, &histogram), VF_OK);
    for (int t = 1; t <= 7; t += 3) {
        assert_int_equal(vf_context_set_threads(ctx, t), VF_OK);
        check_counts(histogram, 2, N, values, sizeof *values, expected, "with more threads");
        check_byte_histogram(N, 0, 255);
    }
    assert_int_equal(vf_context_set_threads(ctx, threads), VF_OK);
    vf_histogram_destroy(histogram);
    free(values);
}

static void refused_bins(vf_dtype type, int bins, const double *edges, const char *why)
{
    vf_histogram *plan = (vf_histogram *)&plan;
    assert_refused(
        ctx, vf_histogram_create(device, &(vf_histogram_bins){.type = type, .bins = bins, .edges = edges}, 10, &plan),
        "", why);
    assert_null(plan);
}

static void test_refused_histograms(void **state)
{
    (void)state;
    const double edges[3] = {0, 1, 2}, equal[3] = {0, 0, 1}, nan[3] = {0, NAN, 1}, infinite[3] = {0, 1, INFINITY};
    refused_bins(VF_C64, 2, edges, "VF_C64");
    refused_bins(VF_I32, 2, edges, "VF_I32");
    refused_bins((vf_dtype)99, 2, edges, "invalid element type 99");
    refused_bins(VF_U8, 256, edges, "edges");
    refused_bins(VF_U8, 16, NULL, "not 16");
    refused_bins(VF_U8, 257, NULL, "not 257");
    refused_bins(VF_U8, -1, NULL, "not -1");
    refused_bins(VF_F32, 2, NULL, "without edges");
    refused_bins(VF_F32, 0, edges, "0 bins");
    refused_bins(VF_F32, 65537, edges, "65537 bins");
    refused_bins(VF_F64, 2, equal, "edge 1");
    refused_bins(VF_F64, 2, nan, "edge 1");
    refused_bins(VF_F64, 2, infinite, "edge 2");
    const vf_histogram_bins bytes = {.type = VF_U8}, all = {.type = VF_U8, .bins = 256};
    vf_histogram *plan;
    memory m = make_memory(2048 + 8);
    uint64_t *counts = at(&m, 0);
    assert_refused(ctx, vf_histogram_create(device, &bytes, -1, &plan), "the plan of a histogram", "-1");
    assert_refused(ctx, vf_histogram_create(device, &bytes, INT64_MAX, &plan), "the plan of a histogram", "memory");
    assert_int_equal(vf_histogram_create(device, &all, 10, &plan), VF_OK);
    assert_refused(ctx, vf_histogram_execute(plan, queue, 11, at(&m, 2048), counts), "a histogram", "11");
    assert_refused(ctx, vf_histogram_execute(plan, queue, -1, at(&m, 2048), counts), "a histogram", "-1");
    assert_refused(ctx, vf_histogram_execute(plan, queue, 8, NULL, counts), "a histogram", "x is NULL");
    assert_refused(ctx, vf_histogram_execute(plan, queue, 0, NULL, NULL), "a histogram",
                   "counts is NULL"); /* zeros go there */
    check_memory(&m, "refused histograms");
    assert_int_equal(vf_histogram_execute(plan, queue, 0, NULL, counts), VF_OK);
    memset(m.host, 0, 2048);
    check_memory(&m, "a histogram of nothing");
    free_memory(&m);
    vf_histogram_destroy(plan);
    vf_histogram_destroy(NULL);
}

DEVICE_MAIN(make_queue, drop_queue, cmocka_unit_test(test_byte_histograms), cmocka_unit_test(test_histograms),
            cmocka_unit_test(test_extreme_edges), cmocka_unit_test(test_more_threads_than_planned),
            cmocka_unit_test(test_refused_histograms))
