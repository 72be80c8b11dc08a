/* Transforms of lines side by side, against explicit sums: every radix, chirps, all lanes, both ways. */
#include <complex.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backend/fft_lanes.h"
#include "free_all.h"
#include "random_fixture.h"
#include "voxfield/device.h"

/* 1 to 40; each radix beside others; primes and their products, which take a chirp; and every count of eights and fours. */
static const int64_t longer[] = {49,  59,  64,  77,  90,  96,  97,  100, 104, 110, 118,  121,  127,  128,
                                 143, 160, 169, 192, 251, 256, 289, 360, 385, 512, 1001, 1021, 1024, 2048};

typedef struct lines {
    vf_dtype precision;
    int64_t n;
    int lanes;
    void *data;        /* [room][re, im][lanes] */
    double complex *x; /* [lanes][n]: the same numbers */
} lines;

static double number_at(const lines *l, int64_t p, int part, int lane)
{
    const int64_t i = (2 * p + part) * l->lanes + lane;
    return l->precision == VF_F64 ? ((double *)l->data)[i] : (double)((float *)l->data)[i];
}

static double complex at(const lines *l, int64_t p, int lane)
{
    return number_at(l, p, 0, lane) + number_at(l, p, 1, lane) * I;
}

static lines random_lines(const fft_lanes *plan, vf_dtype precision)
{
    lines l = {.precision = precision, .n = plan->n, .lanes = plan->simd->lanes};
    const size_t numbers = 2 * (size_t)plan->room * (size_t)l.lanes;
    l.data = aligned_alloc(64, (numbers * vf_dtype_bytes(precision) + 63) / 64 * 64);
    l.x = malloc((size_t)(l.lanes * l.n) * sizeof *l.x);
    assert_non_null(l.data);
    assert_non_null(l.x);
    for (size_t i = 0; i < numbers; i++) { /* what lies beyond n must not matter */
        const double value = i < 2 * (size_t)(l.n * l.lanes) ? 2 * uniform() - 1 : NAN;
        if (precision == VF_F64)
            ((double *)l.data)[i] = value;
        else
            ((float *)l.data)[i] = (float)value;
    }
    for (int lane = 0; lane < l.lanes; lane++)
        for (int64_t p = 0; p < l.n; p++)
            l.x[lane * l.n + p] = at(&l, p, lane);
    return l;
}

/* |a - b| <= bound; a NaN fails. */
static void assert_near(double complex a, double complex b, double bound, const lines *l, int64_t k)
{
    if (!(cabs(a - b) <= bound))
        fail_msg("length %lld, %s precision, %lld: (%g, %g), not (%g, %g) within %g", (long long)l->n,
                 l->precision == VF_F64 ? "double" : "single", (long long)k, creal(a), cimag(a), creal(b), cimag(b),
                 bound);
}

static void transform_case(vf_context *ctx, vf_dtype precision, int64_t n)
{
    fft_lanes *plan = NULL;
    assert_int_equal(fft_lanes_create(ctx, precision, n, &plan), VF_OK);
    lines l = random_lines(plan, precision);
    double complex *power = malloc((size_t)n * sizeof *power);
    bool *seen = calloc((size_t)n, sizeof *seen);
    assert_non_null(power);
    assert_non_null(seen);
    for (int64_t i = 0; i < n; i++)
        power[i] = cexp(-2 * M_PI * I * (double)i / (double)n);
    /* Rounding of a fast transform grows as log2(n) eps times the rms of the result, here sqrt(n 2/3); the factor 10 covers 8
     * sigma and the constant of poor radices (Gentleman and Sande). A chirp takes three transforms of up to four times the
     * length, with numbers as large: three times as much. The way back is a second transform, of numbers sqrt(n) times as
     * large. */
    const double eps = precision == VF_F64 ? 0x1p-53 : 0x1p-24;
    const double bound = (plan->inner ? 30 : 10) * (log2((double)plan->room) + 1) * eps * sqrt((double)n);
    fft_lanes_forward(plan, l.data);
    const int lanes[3] = {0, l.lanes / 2, l.lanes - 1};
    for (int64_t p = 0; p < n; p++) {
        const int64_t k = plan->order[p];
        assert_in_range(k, 0, n - 1);
        assert_false(seen[k]);
        seen[k] = true;
        for (int i = 0; i < 3; i++) {
            double complex sum = 0;
            for (int64_t j = 0; j < n; j++)
                sum += l.x[lanes[i] * n + j] * power[j * k % n];
            assert_near(at(&l, p, lanes[i]), sum, bound, &l, k);
        }
    }
    fft_lanes_backward(plan, l.data);
    for (int lane = 0; lane < l.lanes; lane++)
        for (int64_t p = 0; p < n; p++)
            assert_near(at(&l, p, lane) / (double)n, l.x[lane * n + p], 2 * bound / sqrt((double)n), &l, p);
    FREE_ALL(l.data, l.x, power, seen);
    fft_lanes_destroy(plan);
}

/* X(k) = a_k sum_n x(n) cos(pi k (n + 1/2) / n), and back with the weights of the header. */
static void cosine_case(vf_context *ctx, vf_dtype precision, int64_t n)
{
    fft_lanes *plan = NULL;
    assert_int_equal(fft_lanes_create_cosine(ctx, precision, n, &plan), VF_OK);
    lines l = random_lines(plan, precision);
    const int lane = l.lanes - 1;
    /* As above: modes are up to twice as large as frequencies. */
    const double eps = precision == VF_F64 ? 0x1p-53 : 0x1p-24;
    const double bound = (plan->inner ? 60 : 20) * (log2((double)plan->room) + 1) * eps * sqrt((double)n);
    fft_lanes_forward(plan, l.data);
    for (int64_t p = 0; p < n; p++) {
        const int64_t k = plan->order[p];
        const double factor = k == 0 ? 1 : 2 * k == n ? sqrt(2) : 2;
        double complex sum = 0;
        for (int64_t j = 0; j < n; j++)
            sum += l.x[lane * n + j] * cos(M_PI * (double)(k * (2 * j + 1) % (4 * n)) / (double)(2 * n));
        assert_near(at(&l, p, lane), factor * sum, bound, &l, k);
        for (int64_t i = 2 * p * l.lanes; i < 2 * (p + 1) * l.lanes; i++) {
            const double weight = 1 / (double)(k == 0 || 2 * k == n ? n : 2 * n);
            if (precision == VF_F64)
                ((double *)l.data)[i] *= weight;
            else
                ((float *)l.data)[i] *= (float)weight;
        }
    }
    fft_lanes_backward(plan, l.data);
    for (int i = 0; i < l.lanes; i++)
        for (int64_t p = 0; p < n; p++)
            assert_near(at(&l, p, i), l.x[i * n + p], 2 * bound / sqrt((double)n), &l, p);
    FREE_ALL(l.data, l.x);
    fft_lanes_destroy(plan);
}

static void test_transforms(void **state)
{
    (void)state;
    vf_context *ctx = NULL;
    assert_int_equal(vf_context_create(&ctx), VF_OK);
    for (int precision = 0; precision < 2; precision++) {
        const vf_dtype type = precision ? VF_F64 : VF_F32;
        for (int64_t n = 1; n <= 40; n++) {
            transform_case(ctx, type, n);
            cosine_case(ctx, type, n);
        }
        for (size_t i = 0; i < sizeof longer / sizeof *longer; i++) {
            transform_case(ctx, type, longer[i]);
            cosine_case(ctx, type, longer[i]);
        }
    }
    vf_context_destroy(ctx);
}

/* What backward alone does: one frequency gives its exponential. */
static void test_one_frequency(void **state)
{
    (void)state;
    static const int64_t lengths[] = {24, 37, 65, 128};
    vf_context *ctx = NULL;
    assert_int_equal(vf_context_create(&ctx), VF_OK);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        const int64_t n = lengths[i], p = n / 3;
        fft_lanes *plan = NULL;
        assert_int_equal(fft_lanes_create(ctx, VF_F64, n, &plan), VF_OK);
        lines l = random_lines(plan, VF_F64);
        for (int64_t j = 0; j < 2 * n * l.lanes; j++)
            ((double *)l.data)[j] = j == 2 * p * l.lanes;
        fft_lanes_backward(plan, l.data);
        for (int64_t j = 0; j < n; j++) /* a transform of numbers 1, as above */
            assert_near(at(&l, j, 0), cexp(2 * M_PI * I * (double)(j * plan->order[p] % n) / (double)n), 300 * 0x1p-53,
                        &l, j);
        FREE_ALL(l.data, l.x);
        fft_lanes_destroy(plan);
    }
    vf_context_destroy(ctx);
}

static void test_refusals(void **state)
{
    (void)state;
    vf_context *ctx = NULL;
    fft_lanes *plan = NULL;
    assert_int_equal(vf_context_create(&ctx), VF_OK);
    assert_int_equal(fft_lanes_create(ctx, VF_F32, 0, &plan), VF_ERR_ARGUMENT);
    assert_int_equal(fft_lanes_create(ctx, VF_F32, (1 << 29) + 1, &plan), VF_ERR_ARGUMENT);
    assert_null(plan);
    fft_lanes_destroy(NULL);
    vf_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_transforms), cmocka_unit_test(test_one_frequency),
                                       cmocka_unit_test(test_refusals)};
    seed_random();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
