/* Histograms of bytes and integers, and plans of histograms, on the CPU or a GPU, against loops. */
#include <math.h>

#include "histogram_fixture.h"
#include "refusal_fixture.h"

/* ---- bytes ---- */

typedef enum contents { RANDOM, FOUR_VALUES, ONE_VALUE, IMAGE, ASCENDING, CONTENTS } contents;

/* The image: a smooth background with noise, and empty surroundings. */
static uint8_t byte_of(contents kind, int64_t i, uint8_t value)
{
    const int64_t row = i / 200, column = i % 200;
    switch (kind) {
    case RANDOM:
        return (uint8_t)random_bits();
    case FOUR_VALUES:
        return (uint8_t)integer_between(200, 203);
    case ONE_VALUE:
        return value;
    case IMAGE:
        return row % 100 < 20 || column < 30 ? 0 : (uint8_t)(row % 100 + column / 2 + integer_between(0, 5));
    default:
        return (uint8_t)i;
    }
}

static void check_bytes(int64_t n, contents kind, uint8_t value)
{
    uint64_t expected[256] = {0};
    char what[64];
    uint8_t *values = malloc((size_t)n + 1);
    assert_non_null(values);
    snprintf(what, sizeof what, "%lld bytes of kind %d", (long long)n, (int)kind);
    for (int64_t i = 0; i < n; i++)
        expected[values[i] = byte_of(kind, i, value)]++;
    check_counts((vf_histogram_options){.type = VF_U8}, n, values, expected, what);
    free(values);
}

static void test_bytes(void **state)
{
    (void)state;
    for (int l = 0; l < LENGTHS; l++)
        for (int kind = 0; kind < CONTENTS; kind++)
            check_bytes(lengths[l], (contents)kind, (uint8_t)random_bits());
}

static void test_every_value(void **state)
{
    (void)state;
    for (int value = 0; value < 256; value++)
        check_bytes(8192 + 8 * value, ONE_VALUE, (uint8_t)value);
}

/* So long that a thread block of a GPU takes several data blocks, and that the counters of TRISH would overflow. */
static void test_long(void **state)
{
    (void)state;
    const int64_t n = SANITIZED ? 1000003 : vf_device_is_host(device) ? 5000003 : 64000003;
    check_bytes(n, ONE_VALUE, 255);
    check_bytes(n, IMAGE, 0);
}

/* More than 2^32 bytes of one value: zeros, but for random bytes at the beginning, at 2^31 and at the end. On the CPU zeros
 * that nobody has written take no memory. */
static void test_beyond_32_bits(void **state)
{
    (void)state;
    enum { RANDOM_BYTES = 100003 };
    const int64_t n = (INT64_C(1) << 32) + (1 << 20) + 3, places[3] = {0, (INT64_C(1) << 31) - 50000, n - RANDOM_BYTES};
    const bool host = vf_device_is_host(device);
    const uint8_t zero = 0;
    uint64_t expected[256] = {(uint64_t)n - 3 * RANDOM_BYTES}, free_bytes = 0, total = 0;
    vf_array x = {0};
    assert_int_equal(vf_device_memory(device, &free_bytes, &total), VF_OK);
    if (SANITIZED || free_bytes < (uint64_t)n + (UINT64_C(1) << 30))
        skip();
    if (host)
        x.data = calloc((size_t)n, 1);
    else
        assert_int_equal(vf_array_create(device, VF_SPACE_DEVICE, VF_U8, n, &x), VF_OK);
    assert_non_null(x.data);
    if (!host)
        assert_int_equal(vf_fill(queue, VF_U8, n, &zero, x.data), VF_OK);
    for (int p = 0; p < 3; p++) {
        uint8_t bytes[RANDOM_BYTES];
        for (int i = 0; i < RANDOM_BYTES; i++)
            expected[bytes[i] = (uint8_t)random_bits()]++;
        assert_int_equal(vf_queue_copy(queue, (char *)x.data + places[p], bytes, sizeof bytes), VF_OK);
        assert_int_equal(vf_queue_sync(queue), VF_OK);
    }
    for (int v = 0; v < (host ? 1 : 2); v++) {
        vf_histogram *plan;
        memory counts = make_memory(256 * 8);
        assert_int_equal(
            vf_histogram_create(device, &(vf_histogram_options){.type = VF_U8, .variant = variant_name(v)}, n, &plan),
            VF_OK);
        assert_int_equal(vf_histogram_execute(plan, queue, n, x.data, at(&counts, 0)), VF_OK);
        memcpy(counts.host, expected, sizeof expected);
        check_memory(&counts, variant_name(v));
        free_memory(&counts);
        vf_histogram_destroy(plan);
    }
    if (host)
        free(x.data);
    else
        vf_array_free(&x);
}

/* ---- integers ---- */

/* Some values are special: at both ends of a bin, of all bins, and of the type. */
static int64_t random_integer(const vf_histogram_options *o)
{
    const int64_t bin = integer_between(0, o->bins), least = o->type == VF_I32 ? INT32_MIN : INT64_MIN;
    const uint64_t edge = (uint64_t)o->first + (uint64_t)bin * (uint64_t)o->width; /* may wrap: then it is anywhere */
    int64_t x = (int64_t)edge;
    switch (integer_between(0, 9)) {
    case 0:
        break;
    case 1:
        x = (int64_t)(edge - 1);
        break;
    case 2:
        x = integer_between(0, 1) ? least : -(least + 1);
        break;
    case 3:
        x = (int64_t)random_bits();
        break;
    default:
        x = (int64_t)(edge + random_bits() % (uint64_t)o->width);
    }
    return o->type == VF_I32 && (x < INT32_MIN || x > INT32_MAX) ? (int32_t)random_bits() : x;
}

static void check_integers(vf_histogram_options o, int64_t n)
{
    char what[96];
    const size_t size = vf_dtype_bytes(o.type);
    uint64_t *expected = calloc((size_t)o.bins, sizeof *expected);
    char *values = malloc((size_t)n * size + 1);
    assert_true(expected && values);
    snprintf(what, sizeof what, "%lld integers of %zu bytes in %d bins of %lld from %lld", (long long)n, size, o.bins,
             (long long)o.width, (long long)o.first);
    for (int64_t i = 0; i < n; i++) {
        const int64_t x = random_integer(&o);
        const int32_t small = (int32_t)x;
        memcpy(values + (size_t)i * size, o.type == VF_I32 ? (const void *)&small : &x, size);
        const uint64_t above = (uint64_t)x - (uint64_t)o.first;
        if (x >= o.first && above / (uint64_t)o.width < (uint64_t)o.bins)
            expected[above / (uint64_t)o.width]++;
    }
    check_counts(o, n, values, expected, what);
    free(expected);
    free(values);
}

static void test_integers(void **state)
{
    (void)state;
    static const int64_t widths[] = {1, 2, 3, 7, 64, 1000003, INT32_MAX, INT64_C(1) << 40, INT64_C(1) << 47};
    static const int many_bins[] = {1, 10, 256, 1000, 65536};
    for (int w = 0; w < 9; w++)
        for (int m = 0; m < 5; m++)
            for (int t = 0; t < 2; t++) {
                const vf_dtype type = t ? VF_I64 : VF_I32;
                const int64_t firsts[] = {0, INT32_MIN, -5, 123456789, t ? INT64_MIN : -1, t ? INT64_MAX - 100 : 1};
                const int64_t first = firsts[integer_between(0, 5)];
                check_integers((vf_histogram_options){type, many_bins[m], NULL, first, widths[w], NULL},
                               lengths[integer_between(0, LENGTHS - 2)]);
            }
    /* All numbers: 2^64 of them, less the rest of a division. */
    check_integers((vf_histogram_options){VF_I64, 3, NULL, INT64_MIN, INT64_C(0x5555555555555555), NULL}, 5000);
    check_integers((vf_histogram_options){VF_I64, 2, NULL, INT64_MIN, INT64_MAX, NULL}, 5000);
    check_integers((vf_histogram_options){VF_I64, 1, NULL, -1, INT64_MAX, NULL}, 5000);
}

/* ---- plans ---- */

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
    const vf_histogram_options bins = {.type = VF_F32, .bins = 2, .edges = edges};
    assert_int_equal(vf_context_set_threads(ctx, 1), VF_OK);
    assert_int_equal(vf_histogram_create(device, &bins, N, &histogram), VF_OK);
    for (int t = 1; t <= 7; t += 3) {
        assert_int_equal(vf_context_set_threads(ctx, t), VF_OK);
        check_plan(histogram, 2, N, values, sizeof *values, expected, "with more threads");
        check_bytes(N, RANDOM, 0);
    }
    assert_int_equal(vf_context_set_threads(ctx, threads), VF_OK);
    vf_histogram_destroy(histogram);
    free(values);
}

static void refused_options(const vf_histogram_options *options, const char *why)
{
    vf_histogram *plan = (vf_histogram *)&plan;
    assert_refused(ctx, vf_histogram_create(device, options, 10, &plan), "", why);
    assert_null(plan);
}

static void refused_bins(vf_dtype type, int bins, const double *edges, const char *why)
{
    refused_options(&(vf_histogram_options){.type = type, .bins = bins, .edges = edges}, why);
}

static void test_refused_histograms(void **state)
{
    (void)state;
    const double edges[3] = {0, 1, 2}, equal[3] = {0, 0, 1}, nan[3] = {0, NAN, 1}, infinite[3] = {0, 1, INFINITY};
    refused_bins(VF_C64, 2, edges, "VF_C64");
    refused_bins(VF_I32, 2, edges, "edges");
    refused_bins(VF_I64, 2, NULL, "width 0");
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
    refused_options(&(vf_histogram_options){VF_I32, 2, NULL, 0, -1, NULL}, "width -1");
    refused_options(&(vf_histogram_options){VF_I64, 4, NULL, 0, INT64_MAX, NULL}, "2^64 / bins");
    refused_options(&(vf_histogram_options){VF_I32, 0, NULL, 0, 1, NULL}, "0 bins");
    refused_options(&(vf_histogram_options){VF_U8, 0, NULL, 0, 1, NULL}, "no first value");
    refused_options(&(vf_histogram_options){VF_F32, 2, edges, 1, 0, NULL}, "no first value");
    refused_options(&(vf_histogram_options){VF_F32, 2, edges, 0, 0, "fastest"}, "no variant 'fastest'");
    if (!vf_device_is_host(device))
        refused_options(&(vf_histogram_options){VF_F32, 2, edges, 0, 0, "trish"}, "only bytes");
    const vf_histogram_options bytes = {.type = VF_U8}, all = {.type = VF_U8, .bins = 256};
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

static void test_variants(void **state)
{
    (void)state;
    const char *const expected[2] = {vf_device_is_host(device) ? "tables" : "tuned",
                                     vf_device_is_host(device) ? "ref" : "trish"};
    assert_string_equal(variant_name(0), expected[0]);
    assert_string_equal(variant_name(1), expected[1]);
    assert_null(variant_name(2));
}

DEVICE_MAIN(make_queue, drop_queue, cmocka_unit_test(test_bytes), cmocka_unit_test(test_every_value),
            cmocka_unit_test(test_long), cmocka_unit_test(test_beyond_32_bits), cmocka_unit_test(test_integers),
            cmocka_unit_test(test_more_threads_than_planned), cmocka_unit_test(test_refused_histograms),
            cmocka_unit_test(test_variants))
