/* Time segments against exp(i 2 pi t f) itself, for every tolerance of the NUFFT.
 *
 * usage: test_time_segments [cpu [TEST...]]
 *
 * The residual (root mean square over the field's values, maximum over the samples' times) must be at most the
 * tolerance plus rounding. The latter is 2 L 2^-53 for coefficients of size up to 2 in a sum of L terms, and 2 pi
 * 100 2^-53 for phases of up to 100 turns, together below 2e-13.
 */
#include "gridding_fixture.h"

UNWATCHED static double complex turn(double t, double f)
{
    return cexp(2 * M_PI * I * t * f);
}

/* The root mean square of exp(i 2 pi t f) - sum_l b_l exp(i 2 pi t_l f) over the field's values or, if `symmetric`,
 * over all differences of two; the maximum over samples. `left` [voxels] and `segment` [count][voxels]: the
 * exponentials of the values; those of a difference are products of two. */
UNWATCHED static double worst_residual(const vf_segments *s, int64_t samples, const float *t, int64_t voxels,
                                       const float *f, bool symmetric)
{
    double complex *segment = malloc((size_t)(s->count + 1) * (size_t)voxels * sizeof *segment);
    double complex *left = segment + (size_t)s->count * (size_t)voxels;
    double worst = 0;
    for (int l = 0; l < s->count; l++)
        for (int64_t n = 0; n < voxels; n++)
            segment[l * voxels + n] = turn(s->time[l], (double)f[n]);
    for (int64_t m = 0; m < samples; m++) {
        double sum = 0;
        for (int64_t n = 0; n < voxels; n++)
            left[n] = turn((double)t[m], (double)f[n]);
        for (int64_t other = 0; other < (symmetric ? voxels : 1); other++)
            for (int64_t n = 0; n < voxels; n++) {
                double complex e = symmetric ? left[n] * conj(left[other]) : left[n];
                double re = creal(e), im = cimag(e);
                for (int l = 0; l < s->count; l++) {
                    const double *b = s->coefficient + 2 * (l * samples + m);
                    const double complex *one = segment + l * voxels;
                    const double complex v = symmetric ? one[n] * conj(one[other]) : one[n];
                    re -= b[0] * creal(v) - b[1] * cimag(v);
                    im -= b[0] * cimag(v) + b[1] * creal(v);
                }
                sum += re * re + im * im;
            }
        worst = fmax(worst, sqrt(sum / (double)(symmetric ? voxels * voxels : voxels)));
        if (isnan(sum)) {
            worst = NAN;
            break;
        }
    }
    free(segment);
    return worst;
}

/* The largest possible sum of a sample's |b_l|^2, for frequencies of +-`most` about their centre. The library keeps
 * |residual|^2 + (0.3 tolerance)^2 sum |b_l|^2 at most tolerance^2, at 2 N + 1 times that are equally spaced in the
 * angle of Chebyshev's polynomials (table_create in time_segments.c). Over half the times a phase turns by a = pi
 * most times, and in a square by 2 a. That is a polynomial of degree d = 2 a + 3 (2 a)^(1/3), beyond which its
 * coefficients, Bessel's J_n(2 a), are below 1e-2. Between the times it may rise to 1 / cos(pi d / (4 N)) of its
 * largest value there, and no further (Ehlich and Zeller, Math. Z. 86 (1964), 41). */
static double most_power(double most, double times)
{
    double a = M_PI * most * times, d = 2 * a + 3 * cbrt(2 * a), n = a + 12 * cbrt(a) + 23;
    return 1 / (0.3 * 0.3) / cos(M_PI * d / (4 * n));
}

/* The largest sum of a sample's |b_l|^2. It weighs the roundings of the segments' transforms. */
static double largest_power(const vf_segments *s, int64_t samples)
{
    double largest = 0;
    for (int64_t m = 0; m < samples; m++) {
        double sum = 0;
        for (int l = 0; l < s->count; l++) {
            const double *b = s->coefficient + 2 * (l * samples + m);
            sum += b[0] * b[0] + b[1] * b[1];
        }
        largest = fmax(largest, sum);
    }
    return largest;
}

static vf_segments make(int64_t samples, const float *t, int64_t voxels, const float *f, bool symmetric,
                        double tolerance)
{
    vf_segments s;
    if (vf_segments_create(ctx, samples, t, voxels, f, symmetric, tolerance, &s) != VF_OK)
        fail_msg("%s", vf_context_message(ctx));
    return s;
}

enum { SAMPLES = 40, VOXELS = 600, FEW_VOXELS = 200 };

/* Points represent the field, evenly spread over each of 64 bins. So the residual over its values is as near to the
 * tolerance as the points are to the values. With 600 values in 64 bins: a tenth. Differences lie in bins of twice
 * the width, more of them in the middle. With 16 segments e^2 has a period of 8 bins, and the difference of the
 * spreads' variances, (2 pi / 8)^2 / 12, is a twentieth of e^2. Only 200 values are used, so that all pairs can be
 * computed: together a fifth. */
static void check_field(const float *t, const float *f, double range)
{
    for (int symmetric = 0; symmetric < 2; symmetric++) {
        const int64_t voxels = symmetric ? FEW_VOXELS : VOXELS;
        int before = 0;
        for (int digits = 1; digits <= 12; digits++) {
            double tolerance = pow(10, -digits);
            vf_segments s = make(SAMPLES, t, voxels, f, symmetric, tolerance);
            double residual = worst_residual(&s, SAMPLES, t, voxels, f, symmetric);
            if (!(residual <= (symmetric ? 1.2 : 1.1) * tolerance + 2e-13))
                fail_msg("%d segments, symmetric %d: residual %g, tolerance %g", s.count, symmetric, residual,
                         tolerance);
            assert_true(largest_power(&s, SAMPLES) <= most_power(symmetric ? range : 0.5 * range, 0.01));
            assert_true(s.count >= before);
            before = s.count;
            for (int64_t i = 0; symmetric && i < s.count * SAMPLES; i++)
                assert_true(s.coefficient[2 * i + 1] == 0);
            vf_segments_free(&s);
        }
    }
}

static void random_times(float *t)
{
    for (int m = 0; m < SAMPLES; m++)
        t[m] = (float)(0.003 + 0.01 * uniform());
    t[1] = t[0];
}

static void test_smooth_field(void **state)
{
    (void)state;
    float t[SAMPLES], f[VOXELS];
    random_times(t);
    for (int n = 0; n < VOXELS; n++)
        f[n] = (float)(30 + 80 * sin(0.01 * n) + 20 * (uniform() - 0.5));
    check_field(t, f, 180);
}

/* Water and fat, each with some spread: two narrow groups, with no frequencies in between. */
static void test_two_groups(void **state)
{
    (void)state;
    float t[SAMPLES], f[VOXELS];
    random_times(t);
    for (int n = 0; n < VOXELS; n++)
        f[n] = (float)((n % 3 ? 0 : -440) + 0.5 * (uniform() - 0.5));
    check_field(t, f, 440.5);
}

/* Many turns: 600 Hz over 50 ms are 30. */
static void test_many_turns(void **state)
{
    (void)state;
    float t[SAMPLES], f[VOXELS];
    for (int m = 0; m < SAMPLES; m++)
        t[m] = (float)(0.05 * uniform());
    for (int n = 0; n < VOXELS; n++)
        f[n] = (float)(600 * (uniform() - 0.5));
    vf_segments s = make(SAMPLES, t, VOXELS, f, false, 1e-5);
    assert_true(worst_residual(&s, SAMPLES, t, VOXELS, f, false) <= 1.1e-5);
    /* At least the number of turns, and not many more. */
    assert_in_range(s.count, 25, 50);
    vf_segments_free(&s);
    /* For all differences, 60: with the least number of segments, coefficients would reach 10^6. */
    s = make(SAMPLES, t, FEW_VOXELS, f, true, 1e-5);
    assert_true(worst_residual(&s, SAMPLES, t, FEW_VOXELS, f, true) <= 1.2e-5);
    assert_true(largest_power(&s, SAMPLES) <= most_power(600, 0.05));
    assert_in_range(s.count, 50, 95);
    vf_segments_free(&s);
}

/* The longest valid scan: 5 s of 50 Hz are 250 turns; with `symmetric`, half as much. At least the number of turns,
 * and, as above, not many more. Beyond 256 there is an immediate error, before anything grows with the number, whose
 * message names both ranges; the tolerance does not help. */
static void test_most_segments(void **state)
{
    (void)state;
    float t[2] = {1, 6}, f[2] = {-20, 30};
    for (int symmetric = 0; symmetric < 2; symmetric++) {
        vf_segments s;
        t[1] = symmetric ? 3.5f : 6;
        s = make(2, t, 2, f, symmetric, 0.1);
        assert_in_range(s.count, 250, 256);
        vf_segments_free(&s);
        t[1] = symmetric ? 4.5f : 8;
        assert_int_equal(vf_segments_create(ctx, 2, t, 2, f, symmetric, 0.1, &s), VF_ERR_ARGUMENT);
        assert_null(s.time);
        const char *expected = symmetric
                                   ? "times over 3.5 s and a field over 50 Hz need more than 256 segments: is the "
                                     "time in seconds and the field in Hz?"
                                   : "times over 7 s and a field over 50 Hz need more than 256 segments: is the "
                                     "time in seconds and the field in Hz?";
        assert_string_equal(vf_context_message(ctx), expected);
        vf_context_clear_error(ctx);
    }
    /* Milliseconds mistaken for seconds: rejected without counting up to a million. */
    t[0] = 0;
    t[1] = 1e6f;
    vf_segments s;
    assert_int_equal(vf_segments_create(ctx, 2, t, 2, f, false, 1e-3, &s), VF_ERR_ARGUMENT);
    vf_context_clear_error(ctx);
}

/* 256 are too few for the tolerance, although there are fewer turns. */
static void test_too_few(void **state)
{
    (void)state;
    float t[SAMPLES], f[VOXELS];
    for (int m = 0; m < SAMPLES; m++)
        t[m] = (float)(5.1 * m / (SAMPLES - 1));
    for (int n = 0; n < VOXELS; n++)
        f[n] = (float)(50.0 * n / (VOXELS - 1));
    vf_segments s;
    assert_int_equal(vf_segments_create(ctx, SAMPLES, t, VOXELS, f, false, 1e-12, &s), VF_ERR_ARGUMENT);
    assert_non_null(strstr(vf_context_message(ctx), "more than 256 segments"));
    assert_null(s.time);
    vf_context_clear_error(ctx);
}

static void test_cancelled(void **state)
{
    (void)state;
    vf_context *cancelled = NULL;
    float t[2] = {0, 1}, f[2] = {0, 1};
    vf_segments s;
    assert_int_equal(vf_context_create(&cancelled), VF_OK);
    vf_context_cancel(cancelled);
    assert_int_equal(vf_segments_create(cancelled, 2, t, 2, f, false, 1e-3, &s), VF_ERR_CANCELLED);
    assert_int_equal(s.count, 0);
    assert_null(s.time);
    vf_context_destroy(cancelled);
}

/* Without anything to interpolate, one segment is exact. */
static void test_one_segment(void **state)
{
    (void)state;
    float t[SAMPLES], f[VOXELS], same[SAMPLES];
    random_times(t);
    for (int m = 0; m < SAMPLES; m++)
        same[m] = 0.017f;
    for (int n = 0; n < VOXELS; n++)
        f[n] = -35.25f;
    vf_segments s = make(SAMPLES, t, VOXELS, f, false, 1e-12);
    assert_int_equal(s.count, 1);
    assert_true(worst_residual(&s, SAMPLES, t, VOXELS, f, false) <= 2e-13);
    vf_segments_free(&s);
    s = make(SAMPLES, t, VOXELS, f, true, 1e-12);
    assert_int_equal(s.count, 1);
    assert_true(worst_residual(&s, SAMPLES, t, VOXELS, f, true) <= 2e-13);
    vf_segments_free(&s);
    for (int n = 0; n < VOXELS; n++)
        f[n] = (float)n;
    s = make(SAMPLES, same, VOXELS, f, false, 1e-12);
    assert_int_equal(s.count, 1);
    assert_true(worst_residual(&s, SAMPLES, same, VOXELS, f, false) <= 2e-13);
    vf_segments_free(&s);
    s = make(0, NULL, 0, NULL, false, 1e-6);
    assert_int_equal(s.count, 1);
    vf_segments_free(&s);
    assert_int_equal(s.count, 0);
    assert_null(s.time);
}

static void test_refusals(void **state)
{
    (void)state;
    float t[2] = {0, 1}, f[2] = {0, 1};
    vf_segments s = {.count = 5};
    assert_int_equal(vf_segments_create(ctx, 2, t, 2, f, false, 0, &s), VF_ERR_ARGUMENT);
    assert_int_equal(s.count, 0);
    assert_int_equal(vf_segments_create(ctx, 2, t, 2, f, false, NAN, &s), VF_ERR_ARGUMENT);
    for (int i = 0; i < 3; i++) {
        f[1] = i == 0 ? NAN : i == 1 ? INFINITY : -INFINITY;
        vf_context_clear_error(ctx);
        assert_int_equal(vf_segments_create(ctx, 2, t, 2, f, false, 1e-3, &s), VF_ERR_ARGUMENT);
        assert_non_null(strstr(vf_context_message(ctx), "the field map is"));
        assert_non_null(strstr(vf_context_message(ctx), "at voxel 2"));
    }
    f[1] = 1e9f;
    assert_int_equal(vf_segments_create(ctx, 2, t, 2, f, false, 1e-3, &s), VF_ERR_ARGUMENT);
    f[1] = 1;
    t[0] = INFINITY;
    vf_context_clear_error(ctx);
    assert_int_equal(vf_segments_create(ctx, 2, t, 2, f, false, 1e-3, &s), VF_ERR_ARGUMENT);
    assert_non_null(strstr(vf_context_message(ctx), "the time of sample 1 is inf"));
    assert_null(s.time);
    vf_context_clear_error(ctx);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_smooth_field), cmocka_unit_test(test_two_groups), cmocka_unit_test(test_many_turns),
    cmocka_unit_test(test_one_segment),  cmocka_unit_test(test_refusals),   cmocka_unit_test(test_most_segments),
    cmocka_unit_test(test_too_few),      cmocka_unit_test(test_cancelled),
};

int main(int argc, char **argv)
{
    return run_on_device(argc, argv, tests, NULL, NULL);
}
