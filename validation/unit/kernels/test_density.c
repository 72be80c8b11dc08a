/* Density weights, against the same steps as sums over all pairs of samples in double precision, and where they are
 * known: on a grid, for repeated and for unused samples.
 *
 * The tolerance. A step takes two NUFFTs, each off by at most 1e-3 as rms relative to the result (density.c: ACCURACY).
 * w <- w / (C w)^p carries a relative error d of the weights on as d - p C d, with a matrix C whose rows sum to about 1 and
 * whose eigenvalues lie between 0 and 1: it grows by p - 1 at most. So of the errors sqrt(2) p 1e-3 of the four steps, with p =
 * 1, 1.2, 1.8 and 3.4, the first three grow 2.4 times in the last step. They are independent and add up as squares: 9.4e-3,
 * as rms over the samples. Some weights are off by more: up to 3 times that, for no more than some hundred samples.
 *
 * usage: test_density DEVICE [TEST...]     (cpu, cuda; exit 77 if there is no such device) */
#include <complex.h>
#include <math.h>

#include "density.h"
#include "device_fixture.h"

enum { MOST = 1200, STEPS = 4 };
static const double power[STEPS] = {1, 1.2, 1.8, 3.4}, RMS = 9.4e-3;

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

/* `powers`: [steps] */
static void reference(const samples *s, int steps, const double *powers, double *w)
{
    static double next[MOST];
    double energy = 1, seen = 0;
    for (int m = 0; m < s->count; m++)
        w[m] = (double)s->used[m];
    for (int i = 0; i < steps; i++) {
        for (int m = 0; m < s->count; m++) {
            double sum = 0;
            for (int other = 0; other < s->count; other++)
                sum += w[other] * kernel(s, m, other);
            next[m] = w[m] > 0 ? w[m] / pow(sum, powers[i]) : 0;
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
    printf("%s: off by %.2g as rms, %.2g at most\n", what, rms, most);
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
        reference(&s, STEPS, power, expected);
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

/* The transform of the matrix at a sample, one axis: out[voxel]. */
static void waves(const samples *s, int m, int a, double complex *out)
{
    const double n = (double)s->matrix[a];
    for (int64_t i = 0; i < s->matrix[a]; i++)
        out[i] = n > 1 ? cexp(-2 * M_PI * I * (double)s->k[m][a] * (double)(i - s->matrix[a] / 2) / n) : 1;
}

/* An ellipsoid with two others in it. */
static double object(const samples *s, const int64_t at[3])
{
    static const double part[3][7] = {{1, 0, 0, 0, 0.36, 0.42, 0.4},
                                      {-0.6, 0.12, 0.05, 0, 0.1, 0.16, 0.2},
                                      {0.8, -0.14, -0.1, 0.05, 0.08, 0.1, 0.15}};
    double value = 0;
    for (int p = 0; p < 3; p++) {
        double squares = 0;
        for (int a = 0; a < 3; a++) {
            const double n = (double)s->matrix[a],
                         x = n > 1 ? ((double)(at[a] - s->matrix[a] / 2) / n - part[p][1 + a]) / part[p][4 + a] : 0;
            squares += x * x;
        }
        value += squares < 1 ? part[p][0] : 0;
    }
    return value;
}

/* |F^H w F x - x| / |x| for the object. */
static double image_error(const samples *s, const double *w)
{
    enum { MOST_VOXELS = 1024 };
    static double complex image[MOST_VOXELS], wave[3][MOST_VOXELS];
    static double x[MOST_VOXELS];
    const int64_t *n = s->matrix, voxels = n[0] * n[1] * n[2];
    double off = 0, all = 0;
    assert_true(voxels <= MOST_VOXELS);
    for (int64_t v = 0; v < voxels; v++) {
        x[v] = object(s, (const int64_t[]){v % n[0], v / n[0] % n[1], v / n[0] / n[1]});
        image[v] = 0;
    }
    for (int m = 0; m < s->count; m++) {
        double complex sum = 0;
        for (int a = 0; a < 3; a++)
            waves(s, m, a, wave[a]);
        for (int64_t v = 0; v < voxels; v++)
            sum += x[v] * wave[0][v % n[0]] * wave[1][v / n[0] % n[1]] * wave[2][v / n[0] / n[1]];
        for (int64_t v = 0; v < voxels; v++)
            image[v] += w[m] * sum * conj(wave[0][v % n[0]] * wave[1][v / n[0] % n[1]] * wave[2][v / n[0] / n[1]]);
    }
    for (int64_t v = 0; v < voxels; v++) {
        off += creal((image[v] - x[v]) * conj(image[v] - x[v]));
        all += x[v] * x[v];
    }
    return sqrt(off / all);
}

static void spiral(samples *s)
{
    enum { ARMS = 10, STEPS_OF_ARM = 120 };
    *s = (samples){.matrix = {24, 24, 1}};
    const double turn = uniform();
    for (int m = 0; m < ARMS * STEPS_OF_ARM; m++) {
        const double way = (m / ARMS + 0.5) / STEPS_OF_ARM, angle = 2 * M_PI * ((m % ARMS + turn) / ARMS + 1.4 * way);
        add(s, 12 * way * cos(angle), 12 * way * sin(angle), 0);
    }
}

static void koosh_ball(samples *s)
{
    enum { SPOKES = 120 };
    *s = (samples){.matrix = {10, 10, 10}};
    const double turn = uniform();
    for (int spoke = 0; spoke < SPOKES; spoke++)
        for (int i = 0; i < 10; i++) {
            const double z = (spoke + turn) / SPOKES, r = i - 5, away = r * sqrt(1 - z * z),
                         angle = 2.399963229728653 * (spoke + turn); /* golden angle */
            add(s, away * cos(angle), away * sin(angle), r * z);
        }
}

/* The images are as good as with eight steps of power 1, Pipe and Menon's. At x, an eigenvalue as in density.c, eight steps
 * leave (1 - x)^8 of what equal weights are off by, and the four (1 - x) (1 - 1.2 x) (1 - 1.8 x) (1 - 3.4 x). These differ by
 * 0.062 at most, at x = 0.29. Equal weights are off by 1 or so, and at most half of an image's error comes from the weights of
 * such x: the bound is 0.031. Four steps of power 1, which leave up to 0.4 more, fail by it. */
static void test_images(void **state)
{
    (void)state;
    enum { PLAIN = 8 };
    static const double plain[PLAIN] = {1, 1, 1, 1, 1, 1, 1, 1};
    static samples s;
    static float found[MOST];
    static double w[MOST];
    for (int kind = 0; kind < 4; kind++) {
        const char *const name = ((const char *[]){"radial", "spiral", "koosh ball", "random"})[kind];
        s = (samples){.matrix = {18, 18, 1}};
        void (*const make[])(samples *) = {radial, spiral, koosh_ball};
        if (kind < 3)
            make[kind](&s);
        while (kind == 3 && s.count < MOST)
            add(&s, (uniform() - 0.5) * 18, (uniform() - 0.5) * 18, 0);
        weights_of(&s, true, found);
        for (int m = 0; m < s.count; m++)
            w[m] = (double)found[m];
        const double ours = image_error(&s, w);
        reference(&s, PLAIN, plain, w);
        const double theirs = image_error(&s, w);
        printf("%s: image off by %.4f, with eight plain steps by %.4f\n", name, ours, theirs);
        if (!(ours <= 1.031 * theirs))
            fail_msg("%s: the image is off by %g, with eight plain steps by %g", name, ours, theirs);
    }
}

DEVICE_MAIN(NULL, NULL, cmocka_unit_test(test_against_pairs), cmocka_unit_test(test_grid),
            cmocka_unit_test(test_images))
