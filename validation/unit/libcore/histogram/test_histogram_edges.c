/* Histograms by edges, on the CPU or a GPU, against a search for each value. */
#include <float.h>
#include <math.h>

#include "histogram_fixture.h"

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
    static const int many_bins[] = {2049, 8193, 16000, 30001, 50003, 60000, 65536};
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

/* Plans that need different amounts of a GPU's shared memory, the later ones less. */
static void test_two_plans(void **state)
{
    (void)state;
    enum { N = 5000, MOST = 14000 };
    static const int many_bins[3] = {MOST, 700, 3};
    double *edges = malloc((MOST + 1) * sizeof *edges), values[N];
    uint64_t *expected = calloc(3 * MOST, sizeof *expected);
    vf_histogram *plans[3];
    assert_true(edges && expected);
    for (int b = 0; b <= MOST; b++)
        edges[b] = b;
    for (int p = 0; p < 3; p++) {
        const vf_histogram_options options = {.type = VF_F64, .bins = many_bins[p], .edges = edges};
        assert_int_equal(vf_histogram_create(device, &options, N, &plans[p]), VF_OK);
    }
    for (int i = 0; i < N; i++)
        values[i] = integer_between(0, 1) ? 4 * uniform() : MOST * uniform();
    for (int p = 0; p < 3; p++) {
        for (int i = 0; i < N; i++)
            count_value(many_bins[p], edges, values[i], expected + p * MOST);
        check_plan(plans[p], many_bins[p], N, values, sizeof *values, expected + p * MOST, "plans side by side");
    }
    for (int p = 0; p < 3; p++)
        vf_histogram_destroy(plans[p]);
    free(edges);
    free(expected);
}

DEVICE_MAIN(make_queue, drop_queue, cmocka_unit_test(test_edges), cmocka_unit_test(test_many_bins),
            cmocka_unit_test(test_one_bin), cmocka_unit_test(test_extreme_edges), cmocka_unit_test(test_two_plans))
