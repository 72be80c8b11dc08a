/* Samples of an object that fills a third of the field of view, seen by coils that are known: trigonometric polynomials of degree 1
 * per axis, so patches have exact linear relations. */
#ifndef ESPIRIT_FIXTURE_H
#define ESPIRIT_FIXTURE_H

#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "coil_fixture.h"
#include "espirit_internal.h"
#include "free_all.h"
#include "test_main.h"
#include "voxfield/team_size.h"

enum { N = 40, BLOCK = 20, COILS = 4 };

typedef struct sample {
    float complex *truth; /* [coil][y][x], sum |s|^2 = 1 */
    float *object;        /* [y][x] */
    float complex *data;  /* [coil][ky][kx] */
} sample;

static double complex turn(int k, int n)
{
    return cexp(2 * M_PI * I * k * (n - N / 2) / N);
}

static void make_maps(sample *s)
{
    double complex factor[COILS][3][3];
    for (int c = 0; c < COILS; c++)
        for (int i = 0; i < 9; i++)
            factor[c][i / 3][i % 3] = 0.3 * random_complex() + (i == 4);
    for (int n = 0; n < N * N; n++) {
        double power = 0;
        for (int c = 0; c < COILS; c++) {
            double complex sum = 0;
            for (int i = 0; i < 9; i++)
                sum += factor[c][i / 3][i % 3] * turn(i % 3 - 1, n % N) * turn(i / 3 - 1, n / N);
            s->truth[c * N * N + n] = (float complex)sum;
            power += square(sum);
        }
        const double x = (n % N - N / 2) / 12.0, y = (n / N - N / 2) / 9.0;
        s->object[n] = x * x + y * y <= 1 ? 1 + 0.5f * (float)uniform_between(-1, 1) : 0;
        s->object[n] *= (float)sqrt(power); /* the image for maps whose squares add up to 1 */
        for (int c = 0; c < COILS; c++)
            s->truth[c * N * N + n] /= (float)sqrt(power);
    }
}

/* Samples of the object, with noise of root mean square `sigma`. */
static void acquire(sample *s, double sigma)
{
    for (int c = 0; c < COILS; c++)
        for (int k = 0; k < BLOCK * BLOCK; k++) {
            double complex sum = sigma * sqrt(1.5) * random_complex(); /* uniform: variance 1/3 a component */
            for (int n = 0; n < N * N; n++)
                if (s->object[n] > 0)
                    sum += s->object[n] * s->truth[c * N * N + n] *
                           conj(turn(k % BLOCK - BLOCK / 2, n % N) * turn(k / BLOCK - BLOCK / 2, n / N));
            s->data[c * BLOCK * BLOCK + k] = (float complex)sum;
        }
}

static sample make(double sigma)
{
    sample s = {allocate(COILS * N * N * sizeof *s.truth), allocate(N * N * sizeof *s.object),
                allocate(COILS * BLOCK * BLOCK * sizeof *s.data)};
    make_maps(&s);
    acquire(&s, sigma);
    return s;
}

static inline vf_espirit_task task_of(const sample *s, double truncation)
{
    return (vf_espirit_task){.matrix = {N, N, 1},
                             .block = {BLOCK, BLOCK, 1},
                             .coils = COILS,
                             .data = s->data,
                             .truncation = truncation,
                             .sets = 1};
}

static void drop(sample *s)
{
    FREE_ALL(s->truth, s->object, s->data);
}

static int set_up(void **state)
{
    if (vf_context_create((vf_context **)state) != VF_OK)
        return 1;
    vf_context_set_team_work(*state, 1000); /* small arrays have teams, too */
    return 0;
}

static int tear_down(void **state)
{
    vf_context_destroy(*state);
    return 0;
}

/* Each of these tests has its own start. */
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#endif
