/* The estimation of gradient delays, on analytic signals of objects that are not on a grid. */
#include <complex.h>
#include <math.h>

#include "context_fixture.h"
#include "delays.h"
#include "free_all.h"
#include "mri_phantom.h"
#include "random_fixture.h"
#include "voxfield/team_size.h"

/* A simulated scan with `oversample` samples per cycle of the field of view. */
typedef struct made {
    int dimensions, coils;
    int64_t spokes, length;
    double s[3][3];
    double *start, *step;
    float *k;
    float complex *data;
} made;

/* Symmetric, with delays of up to `most` cycles per field of view along the axes, and a smaller coupling. */
static void make_delays(made *m, double most, double oversample)
{
    for (int a = 0; a < m->dimensions; a++)
        for (int b = 0; b <= a; b++)
            m->s[a][b] = m->s[b][a] =
                oversample * (a == b ? uniform_between(-most, most) : uniform_between(-0.2, 0.2) * most);
}

/* Golden angles in 2D, golden means in 3D, with a random start. */
static void direct(const made *m, int64_t spoke, double begin, double n[3])
{
    const double turn = begin + 0.6823278038280193 * (double)spoke, z = begin + 0.4655712318767680 * (double)spoke;
    const double angle = M_PI * (begin + 0.6180339887498949 * (double)spoke);
    const double height = m->dimensions == 3 ? 2 * (z - floor(z)) - 1 : 0, flat = sqrt(1 - height * height);
    n[0] = flat * cos(m->dimensions == 3 ? 2 * M_PI * turn : angle);
    n[1] = flat * sin(m->dimensions == 3 ? 2 * M_PI * turn : angle);
    n[2] = height;
}

static made make(int dimensions, int coils, int64_t spokes, double oversample, double most, double noise)
{
    made m = {.dimensions = dimensions, .coils = coils, .spokes = spokes, .length = 32};
    const int64_t samples = spokes * m.length, matrix[3] = {32, 32, dimensions == 3 ? 32 : 1};
    const double begin = uniform();
    phantom object;
    phantom_coils maps;
    phantom_field field = {{0}};
    make_delays(&m, most, oversample);
    m.start = calloc((size_t)(3 * spokes), sizeof *m.start);
    m.step = calloc((size_t)(3 * spokes), sizeof *m.step);
    m.k = calloc((size_t)(3 * samples), sizeof *m.k);
    m.data = calloc((size_t)(coils * samples), sizeof *m.data);
    float *seconds = calloc((size_t)samples, sizeof *seconds);
    assert_true(m.start && m.step && m.k && m.data && seconds);
    for (int64_t i = 0; i < spokes; i++) {
        double n[3];
        direct(&m, i, begin, n);
        for (int a = 0; a < 3; a++) {
            m.step[3 * i + a] = n[a] / oversample;
            m.start[3 * i + a] = -(double)(m.length / 2) * m.step[3 * i + a];
        }
        for (int64_t j = 0; j < m.length; j++)
            for (int a = 0; a < 3; a++) {
                double k = m.start[3 * i + a] + (double)j * m.step[3 * i + a];
                for (int b = 0; b < 3; b++)
                    k -= m.s[a][b] * m.step[3 * i + b];
                m.k[3 * (i * m.length + j) + a] = (float)k;
            }
    }
    phantom_make(PHANTOM_ELLIPSOIDS, dimensions, (uint64_t)(1e9 * uniform()), &object);
    need(coils_make(ctx, coils, dimensions, 1, &maps));
    const phantom_trajectory t = {
        .sets = 1, .readouts = spokes, .length = m.length, .samples = samples, .k = m.k, .time = seconds};
    need(phantom_signal(ctx, &object, &maps, &field, &t, 0, matrix, m.data));
    if (noise > 0)
        need(phantom_noise(ctx, noise * complex_rms(m.data, coils * samples), 0, (uint64_t)(1e9 * uniform()), 1, coils,
                           samples, m.data));
    coils_free(&maps);
    free(seconds);
    return m;
}

static void destroy(made *m)
{
    FREE_ALL(m->start, m->step, m->k, m->data);
}

static vf_spokes spokes_of(const made *m)
{
    return (vf_spokes){m->spokes, m->length, m->start, m->step, m->coils, (const float *)m->data};
}

/* Checks that S is correct within 6 times its stated standard errors, which a normal number exceeds once in 10^9.
 * lambda adds a bias of 1e-4 of the signal. In an object of radius 0.3 the signal changes by 2 pi x 0.3 of itself per
 * cycle, so the bias is 5e-5 cycles; 20 times that is allowed. */
static void check_found(const made *m, const vf_delays *d, double oversample)
{
    const double bias = 1e-3 * oversample;
    if (!d->found)
        fail_msg("%dD, %d coils, %lld spokes: no delays, S is %g %g %g, misfit %g", m->dimensions, m->coils,
                 (long long)m->spokes, m->s[0][0], m->s[1][1], m->s[0][1], d->misfit_before);
    for (int a = 0; a < m->dimensions; a++)
        for (int b = 0; b < m->dimensions; b++) {
            const double error = fabs(d->s[a][b] - m->s[a][b]);
            if (!(error <= 6 * d->error[a][b] + bias) || !(d->error[a][b] < 0.1))
                fail_msg("%dD, %d coils, %lld spokes: S[%d][%d] is %g instead of %g, stated error %g, misfit %g -> %g",
                         m->dimensions, m->coils, (long long)m->spokes, a, b, d->s[a][b], m->s[a][b], d->error[a][b],
                         d->misfit_before, d->misfit);
        }
    assert_true(d->misfit <= d->misfit_before);
}

static vf_delays estimate(const made *m)
{
    const vf_spokes s = spokes_of(m);
    vf_delays d;
    need(vf_delays_estimate(ctx, m->dimensions, 1, &s, 0, &d));
    return d;
}

/* Delays are looked for only where the spokes disagree by the share that is asked for. */
static void check_least(const made *m, const vf_delays *d)
{
    const vf_spokes s = spokes_of(m);
    for (int n = 0; n < 2; n++) {
        vf_delays other;
        need(vf_delays_estimate(ctx, m->dimensions, 1, &s, d->misfit_before * (n ? 1.01 : 0.99), &other));
        assert_int_equal(other.found, n == 0);
        assert_true(other.misfit_before == d->misfit_before && other.samples == d->samples);
        assert_true(other.misfit == (n ? d->misfit_before : d->misfit));
    }
}

/* Golden-angle scans of 13 to 96 spokes, 1 to 12 coils, noise of up to 2 % of the data's rms. */
static void test_2d(void **state)
{
    (void)state;
    const int64_t spokes[] = {13, 21, 34, 55, 96};
    for (int n = 0; n < 5; n++) {
        made m = make(2, 1 + (int)(12 * uniform()), spokes[n], 2, 0.5, n % 2 ? 0.02 * uniform() : 0.02);
        const vf_delays d = estimate(&m);
        check_found(&m, &d, 2);
        check_least(&m, &d);
        destroy(&m);
    }
}

static void test_3d(void **state)
{
    (void)state;
    const int64_t spokes[] = {60, 150};
    for (int n = 0; n < 2; n++) {
        made m = make(3, 1 + (int)(5 * uniform()), spokes[n], 2, 0.4, 0.01);
        const vf_delays d = estimate(&m);
        check_found(&m, &d, 2);
        destroy(&m);
    }
}

/* The stated errors are correct: over REPEATS scans of 3 elements, the mean square of error / stated error is 1, with
 * a standard deviation of sqrt(2 / 36) = 0.24 (more if the elements are correlated). Noise of 5 % keeps lambda's bias
 * below the errors. */
static void test_errors(void **state)
{
    (void)state;
    enum { REPEATS = 12 };
    double sum = 0;
    for (int n = 0; n < REPEATS; n++) {
        made m = make(2, 1, 21, 2, 0.3, 0.05);
        const vf_delays d = estimate(&m);
        assert_true(d.found);
        for (int e = 0; e < 3; e++) {
            const int a = e == 1, b = e > 0;
            sum += pow((d.s[a][b] - m.s[a][b]) / d.error[a][b], 2);
        }
        destroy(&m);
    }
    if (!(sum > 0.2 * 3 * REPEATS && sum < 4 * 3 * REPEATS))
        fail_msg("errors are %g of those stated", sqrt(sum / (3 * REPEATS)));
}

/* Several images with the same delays: three times as many samples, so errors are smaller by a factor of about
 * sqrt(3). */
static void test_images(void **state)
{
    (void)state;
    made m[3];
    vf_spokes s[3];
    vf_delays one, all;
    const uint64_t begin = random_state;
    for (int i = 0; i < 3; i++) {
        random_state = begin;
        m[i] = make(2, 3, 21, 2, 0.5, 0.01 * (1 + i)); /* noise differs */
        s[i] = spokes_of(&m[i]);
    }
    need(vf_delays_estimate(ctx, 2, 1, s + 1, 0, &one));
    need(vf_delays_estimate(ctx, 2, 3, s, 0, &all));
    check_found(&m[1], &one, 2);
    check_found(&m[1], &all, 2);
    assert_int_equal(all.samples, 3 * one.samples);
    assert_true(all.error[0][0] < one.error[0][0]);
    for (int i = 0; i < 3; i++)
        destroy(&m[i]);
}

/* Without delays, the estimate is 0 within its errors, or there is none. So it never does harm. */
static void test_no_delays(void **state)
{
    (void)state;
    for (int n = 0; n < 4; n++) {
        made m = make(n == 3 ? 3 : 2, 4, n == 3 ? 100 : 13 + 20 * n, 2, 0, 0.02);
        const vf_delays d = estimate(&m);
        for (int a = 0; a < 3; a++)
            for (int b = 0; b < 3; b++)
                assert_true(fabs(d.s[a][b]) <= (d.found ? 6 * d.error[a][b] + 2e-3 : 0));
        assert_true(d.samples > 0 && d.misfit <= d.misfit_before);
        destroy(&m);
    }
}

static void check_none(const made *m)
{
    const vf_delays d = estimate(m);
    if (d.found)
        fail_msg("%lld spokes: S is %g %g %g, errors %g, misfit %g -> %g", (long long)m->spokes, d.s[0][0], d.s[1][1],
                 d.s[0][1], d.error[0][0], d.misfit_before, d.misfit);
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++)
            assert_true(d.s[a][b] == 0);
}

/* There is no estimate from noise alone, zeros, too few spokes, or parallel spokes. */
static void test_undetermined(void **state)
{
    (void)state;
    made m = make(2, 2, 34, 2, 0.5, 0);
    const int64_t count = m.coils * m.spokes * m.length;
    memset(m.data, 0, (size_t)count * sizeof *m.data);
    check_none(&m);
    need(phantom_noise(ctx, 1, 0, (uint64_t)(1e9 * uniform()), 1, m.coils, m.spokes * m.length, m.data));
    check_none(&m);
    destroy(&m);
    m = make(2, 2, 8, 2, 0.5, 0);
    check_none(&m);
    destroy(&m);
    m = make(2, 2, 20, 2, 0.5, 0.01);
    for (int64_t i = 1; i < m.spokes; i++) {
        memcpy(m.start + 3 * i, m.start, 3 * sizeof *m.start);
        memcpy(m.step + 3 * i, m.step, 3 * sizeof *m.step);
        for (int c = 0; c < m.coils; c++)
            memcpy(m.data + (c * m.spokes + i) * m.length, m.data + c * m.spokes * m.length,
                   (size_t)m.length * sizeof *m.data);
    }
    check_none(&m);
    destroy(&m);
}

/* More coils than the estimate uses: it takes the strongest. The bits do not depend on the number of threads. */
static void test_coils_and_threads(void **state)
{
    (void)state;
    made m = make(2, 24, 34, 2, 0.5, 0.005);
    vf_delays d[2];
    for (int n = 0; n < 2; n++) {
        need(vf_context_set_threads(ctx, 1 + 2 * n));
        memset(&d[n], 0, sizeof d[n]);
        d[n] = estimate(&m);
    }
    need(vf_context_set_threads(ctx, 0));
    check_found(&m, &d[0], 2);
    assert_memory_equal(d[0].s, d[1].s, sizeof d[0].s);
    assert_memory_equal(d[0].error, d[1].error, sizeof d[0].error);
    assert_true(d[0].misfit == d[1].misfit);
    destroy(&m);
}

int main(void)
{
    seed_random();
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_2d),
                                       cmocka_unit_test(test_3d),
                                       cmocka_unit_test(test_images),
                                       cmocka_unit_test(test_errors),
                                       cmocka_unit_test(test_no_delays),
                                       cmocka_unit_test(test_undetermined),
                                       cmocka_unit_test(test_coils_and_threads)};
    if (vf_context_create(&ctx) != VF_OK)
        return 1;
    vf_context_set_team_work(ctx, 1000); /* small arrays have teams, too */
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    vf_context_destroy(ctx);
    return failed;
}
