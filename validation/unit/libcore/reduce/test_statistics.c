/* Reductions and quantiles of arrays in host memory. Quantiles are exact: they are compared with the C library's
 * sort, bit for bit. */
#include <float.h>
#include <math.h>

#include "context_fixture.h"
#include "random_fixture.h"
#include "refusal_fixture.h"
#include "voxfield/statistics.h"
#include "voxfield/team_size.h"

static int make_context(void **state)
{
    if (open_context(state) != 0)
        return 1;
    vf_context_set_team_work(ctx, 1000); /* small arrays have teams, too */
    return 0;
}

static float float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static int compare_floats(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* ---- reductions ---- */

static void reductions(void **state)
{
    (void)state;
    const float x[6] = {3, -1, 4, 1, -5, 9}, y[6] = {2, 7, 1, 8, 2, 8};
    vf_reduced r;
    assert_int_equal(vf_host_reduce(ctx, VF_REDUCE_SUM, VF_F32, 6, x, NULL, &r), VF_OK);
    assert_true(r.re == 11 && r.im == 0);
    assert_int_equal(vf_host_reduce(ctx, VF_REDUCE_DOT, VF_F32, 6, x, y, &r), VF_OK);
    assert_true(r.re == 73);
    assert_int_equal(vf_host_reduce(ctx, VF_REDUCE_SQUARES, VF_C64, 3, x, NULL, &r), VF_OK);
    assert_true(r.re == 133);
    assert_int_equal(vf_host_reduce(ctx, VF_REDUCE_MIN, VF_F32, 6, x, NULL, &r), VF_OK);
    assert_true(r.re == -5 && r.index == 4);
    assert_int_equal(vf_host_reduce(ctx, VF_REDUCE_MAX, VF_F32, 6, x, NULL, &r), VF_OK);
    assert_true(r.re == 9 && r.index == 5);
    assert_int_equal(vf_host_reduce(ctx, VF_REDUCE_MAX, VF_F32, 0, NULL, NULL, &r), VF_OK);
    assert_int_equal(r.index, -1);
    assert_refused(ctx, vf_host_reduce(ctx, VF_REDUCE_MAX, VF_C64, 3, x, NULL, &r), "VF_REDUCE_MAX of VF_C64", "");
    assert_refused(ctx, vf_host_reduce(ctx, (vf_reduction)99, VF_F32, 3, x, NULL, &r), "invalid reduction 99", "");
    assert_refused(ctx, vf_host_reduce(ctx, VF_REDUCE_SUM, (vf_dtype)99, 3, x, NULL, &r), "the plan of a reduction",
                   "invalid element type 99");
    assert_refused(ctx, vf_host_reduce(ctx, VF_REDUCE_SUM, VF_F32, -5, x, NULL, &r), "the plan of a reduction",
                   "-5 elements");
    assert_refused(ctx, vf_host_reduce(ctx, VF_REDUCE_SUM, VF_F32, 3, NULL, NULL, &r), "a reduction", "x is NULL");
    assert_refused(ctx, vf_host_reduce(ctx, VF_REDUCE_DOT, VF_F32, 3, x, NULL, &r), "a reduction", "y is NULL");
    assert_refused(ctx, vf_host_reduce(ctx, VF_REDUCE_SUM, VF_F32, 3, x, y, &r), "a reduction", "y is not NULL");
    assert_refused(ctx, vf_host_reduce(ctx, VF_REDUCE_SUM, VF_F32, 3, x, NULL, NULL), "a reduction", "result is NULL");
}

/* ---- quantiles ---- */

static void check_quantile(int64_t n, const float *x, const float *sorted, double q)
{
    const float expected = sorted[(int64_t)(q * (double)(n - 1))];
    float value = NAN;
    assert_int_equal(vf_host_quantile(ctx, n, x, q, &value), VF_OK);
    if (!(value == expected))
        fail_msg("quantile %g of %lld values: %.9g, not %.9g", q, (long long)n, (double)value, (double)expected);
}

static void check_quantiles(int64_t n, const float *x)
{
    static const double shares[] = {0, 0.001, 0.25, 0.5, 0.98, 0.995, 0.999, 1};
    float *sorted = malloc((size_t)n * sizeof *sorted), *before = malloc((size_t)n * sizeof *before);
    assert_true(sorted && before);
    memcpy(before, x, (size_t)n * sizeof *before);
    memcpy(sorted, x, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, compare_floats);
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++)
        check_quantile(n, x, sorted, shares[i]);
    assert_memory_equal(before, x, (size_t)n * sizeof *before);
    free(sorted);
    free(before);
}

/* Any finite float, of all sizes and both signs, so that the range is as wide as possible. */
static void any_floats(float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        do
            x[i] = float_of((uint32_t)random_bits());
        while (!isfinite(x[i]));
}

static void quantiles(void **state)
{
    (void)state;
    static const int64_t lengths[] = {1, 2, 3, 31, 1000, 2049, 100003};
    for (int threads = 1; threads <= 3; threads++) {
        assert_int_equal(vf_context_set_threads(ctx, threads), VF_OK);
        for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
            const int64_t n = lengths[l];
            float *x = malloc((size_t)n * sizeof *x);
            assert_non_null(x);
            any_floats(x, n);
            check_quantiles(n, x);
            for (int64_t i = 0; i < n; i++) /* adjacent values, many of them equal: bins of one number */
                x[i] = float_of((uint32_t)(0x3f800000 + integer_below(3000)));
            check_quantiles(n, x);
            for (int64_t i = 0; i < n; i++) /* about zero: subnormal, and both zeros */
                x[i] = float_of(((uint32_t)random_bits() & 0x80000000) + (uint32_t)integer_below(3));
            check_quantiles(n, x);
            for (int64_t i = 0; i < n; i++) /* constant */
                x[i] = -7.25f;
            check_quantiles(n, x);
            memset(x, 0, (size_t)n * sizeof *x);
            check_quantiles(n, x);
            x[n / 2] = FLT_MAX; /* one value far above all others */
            check_quantiles(n, x);
            x[0] = -FLT_MAX;
            check_quantiles(n, x);
            free(x);
        }
    }
    assert_int_equal(vf_context_set_threads(ctx, 0), VF_OK);
}

/* Ranges of keys with as many numbers as bins, one fewer, and one more. */
static void ranges_about_the_bins(void **state)
{
    (void)state;
    static const int counts[] = {2, 2047, 2048, 2049, 4095, 4096, 4097};
    float x[4097], value;
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        for (int i = 0; i < counts[c]; i++)
            x[i] = float_of(0x42000000 + (uint32_t)(i * 11 % counts[c])); /* none is a multiple of 11: each once */
        for (int i = 0; i < counts[c]; i++) {
            assert_int_equal(vf_host_quantile(ctx, counts[c], x, fmin((i + 0.5) / (counts[c] - 1), 1), &value), VF_OK);
            const uint32_t rank = (uint32_t)(i < counts[c] - 1 ? i : counts[c] - 1);
            assert_true(value == float_of(0x42000000 + rank));
        }
    }
}

static void unusual_arguments(void **state)
{
    (void)state;
    const float x[3] = {2, 1, 3};
    float value = 5;
    assert_int_equal(vf_host_quantile(ctx, 0, NULL, 0.5, &value), VF_OK);
    assert_true(value == 0);
    const double beyond[] = {-1e-9, -1, 1 + 1e-9, 2, NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < sizeof beyond / sizeof *beyond; i++)
        assert_refused(ctx, vf_host_quantile(ctx, 3, x, beyond[i], &value), "a quantile", "share");
    assert_refused(ctx, vf_host_quantile(ctx, -5, x, 0.5, &value), "a quantile", "-5 elements");
    assert_refused(ctx, vf_host_quantile(ctx, 3, NULL, 0.5, &value), "a quantile", "x is NULL");
    assert_refused(ctx, vf_host_quantile(ctx, 3, x, 0.5, NULL), "a quantile", "value is NULL");
    const float bad[] = {NAN, INFINITY, -INFINITY};
    static const char *const why[] = {"the value at index 1 is NaN", "to inf", "from -inf"};
    for (int i = 0; i < 3; i++) {
        const float y[3] = {1, bad[i], 2};
        assert_refused(ctx, vf_host_quantile(ctx, 3, y, 0.5, &value), "a quantile", why[i]);
    }
}

static void sorted(void **state)
{
    (void)state;
    double x[] = {3, -INFINITY, 0x1p-1074, 3, -2, INFINITY, 0}, nothing = 1;
    static const double expected[] = {-INFINITY, -2, 0, 0x1p-1074, 3, 3, INFINITY};
    vf_host_sort(sizeof x / sizeof *x, x);
    assert_memory_equal(x, expected, sizeof x);
    vf_host_sort(0, &nothing);
    assert_true(nothing == 1);
}

/* Each rank of values in any order, with many that are equal, ascending, descending; of one, and of many. */
static void selected(void **state)
{
    (void)state;
    enum { MOST = 300 };
    double x[MOST], expected[MOST];
    for (int kind = 0; kind < 4; kind++)
        for (int64_t n = 1; n <= MOST; n += n < 40 ? 1 : 130)
            for (int64_t rank = 0; rank < n; rank++) {
                for (int i = 0; i < n; i++)
                    x[i] = kind == 0   ? uniform_between(-1, 1)
                           : kind == 1 ? (double)integer_below(4)
                           : kind == 2 ? i
                                       : -i;
                memcpy(expected, x, (size_t)n * sizeof *x);
                vf_host_sort(n, expected);
                const double found = vf_host_select(n, x, rank);
                if (found != expected[rank])
                    fail_msg("kind %d, %d values: %g instead of %g", kind, (int)n, found, expected[rank]);
                vf_host_sort(n, x);
                assert_memory_equal(x, expected, (size_t)n * sizeof *x);
            }
}

TEST_MAIN(make_context, close_context, cmocka_unit_test(reductions), cmocka_unit_test(quantiles),
          cmocka_unit_test(ranges_about_the_bins), cmocka_unit_test(unusual_arguments), cmocka_unit_test(sorted),
          cmocka_unit_test(selected))
