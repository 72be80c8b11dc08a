/* The estimation of gradient delays, on analytic signals of objects that no grid represents. */
#include <complex.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "delays.h"
#include "mri_phantom.h"
#include "random_fixture.h"

static vf_context *ctx;

static void need(vf_status status)
{
    if (status != VF_OK)
        fail_msg("%s", vf_context_message(ctx));
}

static double between(double least, double most)
{
    return least + (most - least) * uniform();
}

/* A made scan: `oversample` samples per cycle of the field of view. */
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
            m->s[a][b] = m->s[b][a] = oversample * (a == b ? between(-most, most) : between(-0.2, 0.2) * most);
}

/* Golden angles in 2D, golden means in 3D, with a random beginning. */
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
    free(m->start);
    free(m->step);
    free(m->k);
    free(m->data);
}

static vf_spokes spokes_of(const made *m)
{
    return (vf_spokes){m->spokes, m->length, m->start, m->step, m->coils, (const float *)m->data};
}

/* The largest error of an element of S, in cycles per field of view. */
static double worst(const made *m, const vf_delays *d, double oversample)
{
    double most = 0;
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++) {
            const double error = fabs(d->s[a][b] - m->s[a][b]) / oversample;
            most = error <= most ? most : error; /* NaN stays */
        }
    return most;
}

static void explore(void **state)
{
    (void)state;
    for (int dims = 2; dims <= 3; dims++)
        for (int coils = 1; coils <= 8; coils *= 8)
            for (int n = 0; n < 5; n++) {
                const int64_t list[2][5] = {{9, 13, 21, 34, 96}, {30, 60, 120, 200, 400}};
                for (int noise = 0; noise < 2; noise++)
                    for (int r = 0; r < 4; r++) {
                        made m = make(dims, coils, list[dims - 2][n], 2, 1, noise ? 0.02 : 0);
                        vf_spokes s = spokes_of(&m);
                        vf_delays d;
                        double t = (double)clock();
                        need(vf_delays_estimate(ctx, dims, 1, &s, &d));
                        printf("%dD coils %d spokes %4d noise %d: found %d worst %.4f cycles (stated %.4f) misfit %.4f "
                               "-> %.4f radius %.2f samples %d, %.2f s\n",
                               dims, coils, (int)m.spokes, noise, d.found, worst(&m, &d, 2), d.error[0][0] / 2,
                               d.misfit_before, d.misfit, d.radius, (int)d.samples,
                               ((double)clock() - t) / CLOCKS_PER_SEC);
                        destroy(&m);
                    }
            }
}

int main(void)
{
    const char *given = getenv("VOXFIELD_TEST_SEED");
    random_state = given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
    print_message("seed %llu (VOXFIELD_TEST_SEED repeats it)\n", (unsigned long long)random_state);
    const struct CMUnitTest tests[] = {cmocka_unit_test(explore)};
    if (vf_context_create(&ctx) != VF_OK)
        return 1;
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    vf_context_destroy(ctx);
    return failed;
}
