/* Histograms and sorts on the CPU or a GPU, against loops and the C library's sort. */
#include <float.h>
#include <math.h>

#include "libcore/copy/copy_fixture.h"
#include "refusal_fixture.h"
#include "voxfield/sort.h"

/* Lengths near a warp, near the start of another CPU thread, and lengths that CUB's data blocks do not divide. */
static const int64_t lengths[] = {0, 1, 2, 31, 32, 33, 255, 1000, 4097, 32767, 32768, 65537, 300007, (1 << 20) + 3};
enum { LENGTHS = sizeof lengths / sizeof *lengths, GUARD = 64 };

/* ---- histograms ---- */

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

/* ---- sorting ---- */

/* A key, and below it the place of its pair: so equal keys keep their order. */
static uint64_t key_and_place(uint32_t key, int64_t place)
{
    return (uint64_t)key << 32 | (uint64_t)place;
}

static int by_number(const void *a, const void *b)
{
    const uint64_t p = *(const uint64_t *)a, q = *(const uint64_t *)b;
    return (p > q) - (p < q);
}

typedef enum keys { RANDOM, FEW, EQUAL, SORTED, REVERSED, GREATEST, KEYS } keys;

static uint32_t key_at(keys kind, int bits, int64_t i, int64_t n)
{
    const uint32_t most = (uint32_t)(((uint64_t)1 << bits) - 1);
    switch (kind) {
    case RANDOM:
        return (uint32_t)random_bits() & most;
    case FEW:
        return (uint32_t)integer_between(0, 2) & most;
    case EQUAL:
        return most / 2;
    case SORTED:
        return (uint32_t)((double)most * (double)i / (double)n);
    case REVERSED:
        return most - (uint32_t)((double)most * (double)i / (double)n);
    default:
        return most - (uint32_t)integer_between(0, most > 1);
    }
}

/* Values are random: with consecutive values, a sort that only moved positions would pass. One time in two, outputs begin
 * on a cache line, where the CPU writes long ones differently. */
static void check_sort(const vf_sort *plan, keys kind, int bits, int64_t n)
{
    const bool on_line = integer_between(0, 1);
    const int64_t offset[4] = {4 * integer_between(0, 15), 4 * integer_between(0, 15),
                               on_line ? 64 : 4 * integer_between(1, 15), on_line ? 64 : 4 * integer_between(1, 15)};
    memory m[4];
    char what[96];
    uint64_t *pairs = malloc(((size_t)n + 1) * sizeof *pairs);
    assert_non_null(pairs);
    snprintf(what, sizeof what, "%lld pairs of %d bits, keys of kind %d", (long long)n, bits, (int)kind);
    for (int i = 0; i < 4; i++)
        m[i] = make_memory(offset[i] + 4 * n + (i < 2 ? 0 : GUARD));
    for (int64_t i = 0; i < n; i++) {
        const uint32_t key = key_at(kind, bits, i, n); /* the values are what make_memory has drawn */
        pairs[i] = key_and_place(key, i);
        memcpy(m[0].host + offset[0] + 4 * i, &key, 4);
    }
    upload(&m[0]);
    assert_int_equal(vf_sort_execute(plan, queue, n, at(&m[0], offset[0]), at(&m[1], offset[1]), at(&m[2], offset[2]),
                                     at(&m[3], offset[3])),
                     VF_OK);
    qsort(pairs, (size_t)n, sizeof *pairs, by_number);
    for (int64_t i = 0; i < n; i++) {
        const uint32_t key = (uint32_t)(pairs[i] >> 32), place = (uint32_t)pairs[i];
        memcpy(m[2].host + offset[2] + 4 * i, &key, 4);
        memcpy(m[3].host + offset[3] + 4 * i, m[1].host + offset[1] + 4 * (int64_t)place, 4);
    }
    for (int i = 0; i < 4; i++) { /* the inputs are unchanged */
        check_memory(&m[i], what);
        free_memory(&m[i]);
    }
    free(pairs);
}

static void check_sorts(int bits, int64_t n, keys kind)
{
    vf_sort *plan;
    assert_int_equal(vf_sort_create(device, bits, n + integer_between(0, 100), &plan), VF_OK);
    check_sort(plan, kind, bits, n);
    check_sort(plan, RANDOM, bits, integer_between(0, n)); /* a shorter one with the same plan */
    vf_sort_destroy(plan);
}

static void test_every_number_of_bits(void **state)
{
    (void)state;
    for (int bits = 1; bits <= 32; bits++)
        for (int kind = 0; kind < KEYS; kind++) {
            check_sorts(bits, 1000, (keys)kind);
            check_sorts(bits, 40000 + integer_between(0, 30000), (keys)kind);
        }
}

static void test_lengths(void **state)
{
    (void)state;
    static const int bits[] = {1, 8, 9, 16, 21, 32};
    for (int l = 0; l < LENGTHS; l++)
        for (int b = 0; b < 6 && (lengths[l] < 100000 || b % 3 == 1); b++)
            check_sorts(bits[b], lengths[l], integer_between(0, 1) ? RANDOM : FEW);
}

/* Lengths that the CPU writes in whole lines (STREAM_FROM in sort_cpu.c), with threads that meet inside lines. */
static void test_long_sorts(void **state)
{
    (void)state;
    static const int bits[] = {11, 20, 32};
    const int threads = vf_context_threads(ctx);
    for (int b = 0; b < 3; b++)
        for (int other = 0; other < 2; other++) {
            const int64_t n = (1 << 21) + integer_between(0, 100);
            vf_sort *plan;
            assert_int_equal(vf_context_set_threads(ctx, integer_between(1, 3)), VF_OK);
            assert_int_equal(vf_sort_create(device, bits[b], n, &plan), VF_OK);
            check_sort(plan, other ? (keys)integer_between(FEW, GREATEST) : RANDOM, bits[b], n);
            vf_sort_destroy(plan);
        }
    assert_int_equal(vf_context_set_threads(ctx, threads), VF_OK);
}

/* A plan's memory is for the number of threads at its creation. */
static void test_more_threads_than_planned(void **state)
{
    (void)state;
    enum { N = 400000 };
    vf_sort *sort;
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
    assert_int_equal(vf_sort_create(device, 20, N, &sort), VF_OK);
    assert_int_equal(vf_histogram_create(device, &bins, N, &histogram), VF_OK);
    for (int t = 1; t <= 7; t += 3) {
        assert_int_equal(vf_context_set_threads(ctx, t), VF_OK);
        check_sort(sort, RANDOM, 20, N);
        check_counts(histogram, 2, N, values, sizeof *values, expected, "with more threads");
        check_sorts(20, N, RANDOM);
        check_byte_histogram(N, 0, 255);
    }
    assert_int_equal(vf_context_set_threads(ctx, threads), VF_OK);
    vf_sort_destroy(sort);
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

/* Outputs that begin where an input does, end in one, or are the same. */
static void test_refused_sorts(void **state)
{
    (void)state;
    enum { N = 10 };
    vf_sort *sort;
    memory m = make_memory(4 * 4 * N);
    uint32_t *at_of[4], *a[4];
    for (int i = 0; i < 4; i++)
        at_of[i] = at(&m, (int64_t)4 * N * i);
    assert_refused(ctx, vf_sort_create(device, 0, N, &sort), "a sort", "0 bits");
    assert_refused(ctx, vf_sort_create(device, 33, N, &sort), "a sort", "33 bits");
    assert_refused(ctx, vf_sort_create(device, 8, -1, &sort), "a sort", "-1 pairs");
    assert_refused(ctx, vf_sort_create(device, 8, ((int64_t)1 << 32) + 1, &sort), "a sort", "4294967297 pairs");
    assert_int_equal(vf_sort_create(device, 8, N, &sort), VF_OK);
    assert_refused(ctx, vf_sort_execute(sort, queue, N + 1, at_of[0], at_of[1], at_of[2], at_of[3]), "a sort",
                   "11 pairs");
    assert_refused(ctx, vf_sort_execute(sort, queue, -1, at_of[0], at_of[1], at_of[2], at_of[3]), "a sort", "-1 pairs");
    static const char *const names[4] = {"keys is", "values is", "keys_out is", "values_out is"};
    for (int one = 0; one < 4; one++) {
        for (int i = 0; i < 4; i++)
            a[i] = i == one ? NULL : at_of[i];
        assert_refused(ctx, vf_sort_execute(sort, queue, N, a[0], a[1], a[2], a[3]), "a sort", names[one]);
        for (int other = 0; other < 4 && one >= 2; other++)
            for (int shift = 1 - N; shift < N && other != one; shift++) {
                a[one] = at_of[other] + shift;
                if (a[one] < at_of[0] || a[one] > at_of[3])
                    continue;
                assert_refused(ctx, vf_sort_execute(sort, queue, N, a[0], a[1], a[2], a[3]), "a sort", "overlap");
            }
    }
    check_memory(&m, "refused sorts");
    assert_int_equal(vf_sort_execute(sort, queue, N, at_of[0], at_of[0], at_of[2], at_of[3]), VF_OK); /* inputs may */
    assert_int_equal(vf_sort_execute(sort, queue, 0, NULL, NULL, NULL, NULL), VF_OK);
    assert_int_equal(vf_queue_sync(queue), VF_OK);
    free_memory(&m);
    vf_sort_destroy(sort);
    vf_sort_destroy(NULL);
}

DEVICE_MAIN(make_queue, drop_queue, cmocka_unit_test(test_byte_histograms), cmocka_unit_test(test_histograms),
            cmocka_unit_test(test_extreme_edges), cmocka_unit_test(test_every_number_of_bits),
            cmocka_unit_test(test_lengths), cmocka_unit_test(test_long_sorts),
            cmocka_unit_test(test_more_threads_than_planned), cmocka_unit_test(test_refused_histograms),
            cmocka_unit_test(test_refused_sorts))
