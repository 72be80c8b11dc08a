/* Density weights, against the same iteration as sums over all pairs of samples in double precision, and where they are
 * known: on a grid, for repeated and for unused samples.
 *
 * The tolerance. An iteration takes two NUFFTs, each off by at most 1e-3 as rms relative to the result (density.c:
 * ACCURACY). w <- w / (C w) carries a relative error d of the weights on as d - C d, with a matrix C whose rows sum to
 * about 1 and whose eigenvalues lie between 0 and 1: it does not grow. The errors of the 16 transforms are independent
 * and add up as squares, with that of the last scale: sqrt(17) 1e-3 = 4.1e-3, as rms over the samples. Some weights are
 * off by more: up to 3 times that, for no more than some hundred samples.
 *
 * usage: test_density DEVICE [TEST...]     (cpu, cuda; exit 77 if there is no such device) */
#include <complex.h>
#include <math.h>

#include "density.h"
#include "device_fixture.h"

enum { MOST = 1200, ITERATIONS = 8 };
static const double RMS = 4.1e-3;

/* A trajectory: `used` is 1 or 0. */
typedef struct samples {
    int64_t matrix[3];
    int count;
    float k[MOST][3], used[MOST];
} samples;

static void add(samples *s, double x, double y, double z)
{
    assert_true(s->count < MOST);
    const double at[3] = {x, y, z};
    for (int a = 0; a < 3; a++)
        s->k[s->count][a] = (float)at[a];
    s->used[s->count++] = 1;
}

static void weights_of(const samples *s, bool all_used, float *weights)
{
    vf_queue *queue;
    if (vf_queue_create(device, &queue) != VF_OK ||
        vf_density_weights(queue, s->matrix, s->count, s->k[0], all_used ? NULL : s->used, NULL, NULL, weights) !=
            VF_OK)
        fail_msg("%s", vf_context_message(ctx));
    vf_queue_destroy(queue);
}

/* The transform of a triangle over twice the field of view, sampled at the voxels: Fejer's kernel. */
static double kernel(const samples *s, int m, int other)
{
    double product = 1;
    for (int a = 0; a < 3; a++) {
        const double n = (double)s->matrix[a], off = M_PI * ((double)s->k[m][a] - (double)s->k[other][a]),
                     below = n * sin(off / n);
        if (n > 1 && fabs(below) > 1e-9)
            product *= sin(off) * sin(off) / (below * below);
    }
    return product;
}

/* |F x|^2 at a sample, for x a product of raised cosines. */
static double energy_at(const samples *s, int m)
{
    double product = 1;
    for (int a = 0; a < 3; a++) {
        double complex sum = 0;
        const double n = (double)s->matrix[a];
        for (int64_t i = 0; i < s->matrix[a]; i++) {
            const double x = n > 1 ? 0.5 - 0.5 * cos(2 * M_PI * ((double)i + 0.5) / n) : 1,
                         turns = (double)s->k[m][a] * (double)(i - s->matrix[a] / 2) / n;
            sum += x * cexp(-2 * M_PI * I * (n > 1 ? turns : 0));
        }
        product *= creal(sum * conj(sum));
    }
    return product;
}

static void reference(const samples *s, double *w)
{
    static double next[MOST];
    double energy = 1, seen = 0;
    for (int m = 0; m < s->count; m++)
        w[m] = (double)s->used[m];
    for (int i = 0; i < ITERATIONS; i++) {
        for (int m = 0; m < s->count; m++) {
            double sum = 0;
            for (int other = 0; other < s->count; other++)
                sum += w[other] * kernel(s, m, other);
            next[m] = w[m] > 0 ? w[m] / sum : 0;
        }
        memcpy(w, next, sizeof *w * (size_t)s->count);
    }
    for (int a = 0; a < 3; a++) /* sum of x^2: 3/8 a voxel */
        energy *= s->matrix[a] > 1 ? 0.375 * (double)s->matrix[a] : 1;
    for (int m = 0; m < s->count; m++)
        seen += w[m] * energy_at(s, m);
    for (int m = 0; m < s->count; m++)
        w[m] *= energy / seen;
}

static void compare(const char *what, const samples *s, const float *found, const double *expected)
{
    double squares = 0, most = 0;
    int counted = 0;
    for (int m = 0; m < s->count; m++) {
        if (s->used[m] == 0) {
            assert_true(found[m] == 0);
            continue;
        }
        const double off = fabs((double)found[m] / expected[m] - 1);
        squares += off * off;
        most = !(off <= most) ? off : most;
        counted++;
    }
    const double rms = sqrt(squares / counted);
    if (!(rms <= RMS) || !(most <= 3 * RMS))
        fail_msg("%s: weights are off by %.3g as rms, %.3g at most", what, rms, most);
}

/* 40 spokes of 24 samples, from -N/2 on: dense in the centre, with gaps between their ends. */
static void radial(samples *s)
{
    *s = (samples){.matrix = {24, 24, 1}};
    const double turn = uniform();
    for (int spoke = 0; spoke < 40; spoke++)
        for (int i = 0; i < 24; i++)
            add(s, (i - 12) * cos(M_PI * (spoke + turn) / 40), (i - 12) * sin(M_PI * (spoke + turn) / 40), 0.3);
}

static void test_against_pairs(void **state)
{
    (void)state;
    static samples s;
    static float found[MOST];
    static double expected[MOST];
    for (int kind = 0; kind < 4; kind++) {
        static const int64_t matrix[4][3] = {{24, 24, 1}, {24, 24, 1}, {8, 9, 6}, {1, 30, 1}};
        if (kind < 2)
            radial(&s);
        else
            s = (samples){.matrix = {matrix[kind][0], matrix[kind][1], matrix[kind][2]}};
        while (s.count < (kind < 2 ? 0 : 500))
            add(&s, (uniform() - 0.5) * (double)s.matrix[0], (uniform() - 0.5) * (double)s.matrix[1],
                (uniform() - 0.5) * (double)s.matrix[2]);
        for (int m = 0; kind == 1 && m < s.count; m++)
            s.used[m] = m / 24 % 5 != 2; /* without a fifth of the spokes */
        weights_of(&s, kind != 1, found);
        reference(&s, expected);
        compare((const char *[]){"radial", "unused spokes", "random in 3D", "random in 1D"}[kind], &s, found, expected);
    }
}

/* Samples of a grid do not see each other: 1 / voxels. Measured twice, each has half of it. */
static void test_grid(void **state)
{
    (void)state;
    static samples s;
    static float found[MOST];
    static double expected[MOST];
    for (int times = 1; times <= 2; times++) {
        s = (samples){.matrix = {12, 1, 9}};
        for (int i = 0; i < 12 * 9 * times; i++)
            add(&s, i % 12 - 6, 0, i / 12 % 9 - 4);
        for (int m = 0; m < s.count; m++)
            expected[m] = 1 / (12.0 * 9 * times);
        weights_of(&s, true, found);
        compare("grid", &s, found, expected);
    }
}

DEVICE_MAIN(NULL, NULL, cmocka_unit_test(test_against_pairs), cmocka_unit_test(test_grid))
