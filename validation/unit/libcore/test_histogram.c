/* Histograms on the CPU or a GPU, against loops. */
#include <float.h>
#include <math.h>

#include "libcore/copy/copy_fixture.h"
#include "refusal_fixture.h"
#include "voxfield/histogram.h"

/* Lengths near a warp, near the data blocks of all kernels, near the start of another CPU thread. */
static const int64_t lengths[] = {0,     1,     2,     3,     4,      7,      31,           32,   33,
                                  255,   1000,  4097,  7935,  7937,   8191,   8192,         8193, 16389,
                                  24577, 32767, 32768, 65537, 131072, 300007, (1 << 20) + 3};
enum { LENGTHS = sizeof lengths / sizeof *lengths, GUARD = 64 };

static const char *variant_name(int v)
{
    return vf_histogram_variant_name(vf_device_get_kind(device), v);
}

/* Counts `values` [n] and compares with `expected` [bins]. Arrays begin at any element. */
static void check_plan(const vf_histogram *plan, int bins, int64_t n, const void *values, size_t size,
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

/* The same for all variants that count this type. */
static void check_counts(vf_histogram_options options, int64_t n, const void *values, const uint64_t *expected,
                         const char *what)
{
    const int bins = options.type == VF_U8 ? 256 : options.bins;
    for (int v = 0; (options.variant = variant_name(v)); v++) {
        char name[160];
        vf_histogram *plan;
        if (options.type != VF_U8 && strcmp(options.variant, "trish") == 0)
            continue;
        snprintf(name, sizeof name, "%s: %s", options.variant, what);
        assert_int_equal(vf_histogram_create(device, &options, n + integer_between(0, 5), &plan), VF_OK);
        check_plan(plan, bins, n, values, vf_dtype_bytes(options.type), expected, name);
        vf_histogram_destroy(plan);
    }
}

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

/* ---- by edges ---- */

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

/* Adds 1 to the bin of v, by the definition. */
static void count_value(int bins, const double *edges, double v, uint64_t *counts)
{
    int b = 0, end = bins; /* the last b whose edge is not above v, if there is one, is in [b, end) */
    while (end - b > 1)
        *(v >= edges[(b + end) / 2] ? &b : &end) = (b + end) / 2;
    counts[b] += v >= edges[b] && (v < edges[b + 1] || (b == bins - 1 && v == edges[bins]));
}

static void check_edges(vf_dtype type, int64_t n, int bins, const double *edges)
{
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
        count_value(bins, edges, v, expected);
    }
    check_counts((vf_histogram_options){.type = type, .bins = bins, .edges = edges}, n, values, expected, what);
    free(expected);
    free(values);
}

enum { EVEN, UNEVEN, POWERS, BOTH_SIGNS, CROWDED, EDGE_KINDS };

/* Powers of 2, by parts; negative for negative i. */
static double power(int i, int least)
{
    const int of = abs(i);
    return of == 0 ? 0 : copysign(ldexp(1 + (of & 3) / 4.0, of / 4 + least), i);
}

/* Even; of random widths; powers of 2 from tiny to huge, of one sign or both; most within a billionth. */
static void make_edges(int kind, int bins, double *edges)
{
    edges[0] = kind == EVEN         ? -8
               : kind == POWERS     ? 0
               : kind == BOTH_SIGNS ? power(-bins / 2, -bins / 16)
                                    : 10 * uniform() - 20;
    for (int b = 1; b <= bins; b++)
        edges[b] = kind == EVEN         ? -8 + 0.25 * b
                   : kind == UNEVEN     ? edges[b - 1] + 1e-3 + uniform()
                   : kind == POWERS     ? power(b, -bins / 8)
                   : kind == BOTH_SIGNS ? power(b - bins / 2, -bins / 16)
                   : b == bins / 2      ? edges[b - 1] + 5
                                        : edges[b - 1] + 1e-12 * (1 + uniform());
}

static void test_edges(void **state)
{
    (void)state;
    static const int many_bins[] = {1, 2, 3, 7, 100, 255, 256, 257, 1000};
    for (int l = 0; l < LENGTHS; l++)
        for (int m = 0; m < 9 && (lengths[l] < 10000 || m % 4 == l % 4); m++)
            for (int t = 0; t < 2; t++) {
                double edges[1001];
                make_edges((int)integer_between(0, EDGE_KINDS - 1), many_bins[m], edges);
                check_edges(t ? VF_F64 : VF_F32, lengths[l], many_bins[m], edges);
            }
}

/* Bins that exceed the shared memory of a GPU, at first with the tables of their edges. */
static void test_many_bins(void **state)
{
    (void)state;
    static const int many_bins[] = {2049, 8193, 16000, 30000, 50000, 60000, 65536};
    double *edges = malloc(65537 * sizeof *edges);
    assert_non_null(edges);
    for (int m = 0; m < 7; m++)
        for (int kind = EVEN; kind <= UNEVEN; kind++) {
            make_edges(kind, many_bins[m], edges);
            check_edges(VF_F32, 100003, many_bins[m], edges);
            check_edges(VF_F64, 100003, many_bins[m], edges);
        }
    free(edges);
}

/* All values in one bin of many, and values that are all in none. */
static void test_one_bin(void **state)
{
    (void)state;
    enum { N = 100003, MOST = 65536 };
    static const int many_bins[] = {1, 300, MOST};
    double *edges = malloc((MOST + 1) * sizeof *edges);
    float *values = malloc(N * sizeof *values);
    uint64_t *expected = calloc(MOST, sizeof *expected);
    assert_true(edges && values && expected);
    for (int b = 0; b <= MOST; b++)
        edges[b] = b;
    for (int m = 0; m < 3; m++)
        for (int inside = 0; inside < 2; inside++) {
            for (int i = 0; i < N; i++)
                values[i] = inside ? (float)many_bins[m] - 0.5f : -1;
            expected[many_bins[m] - 1] = inside ? N : 0;
            check_counts((vf_histogram_options){.type = VF_F32, .bins = many_bins[m], .edges = edges}, N, values,
                         expected, inside ? "all in one bin" : "all in no bin");
            expected[many_bins[m] - 1] = 0;
        }
    free(edges);
    free(values);
    free(expected);
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
    check_edges(VF_F64, 5000, 3, all);
    check_edges(VF_F32, 5000, 2, floats);
    check_edges(VF_F64, 50000, 65536, many); /* also more edges than numbers */
    check_edges(VF_F32, 10, 65536, many);
    for (int b = 0; b <= 65536; b++)
        many[b] = (double)(b - 3000) * DBL_TRUE_MIN;
    check_edges(VF_F64, 50000, 6000, many);
    check_edges(VF_F32, 1000, 6000, many); /* all edges but one round to the same number */
    for (int b = 0; b <= 65536; b++)
        many[b] = (double)(b - 3000) * (double)FLT_TRUE_MIN;
    check_edges(VF_F32, 50000, 6000, many);
    const double beyond[4] = {-DBL_MAX, -1e300, 1e300, DBL_MAX};
    check_edges(VF_F32, 5000, 3, beyond);
    check_edges(VF_F32, 5000, 1, beyond + 2); /* no float is there */
    free(many);
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
            cmocka_unit_test(test_long), cmocka_unit_test(test_beyond_32_bits), cmocka_unit_test(test_edges),
            cmocka_unit_test(test_many_bins), cmocka_unit_test(test_one_bin), cmocka_unit_test(test_extreme_edges),
            cmocka_unit_test(test_integers), cmocka_unit_test(test_more_threads_than_planned),
            cmocka_unit_test(test_refused_histograms), cmocka_unit_test(test_variants))
