/* The published grid of the Fourier sum, 128^3 voxels in single precision, with random samples: what bench_fourier_steps
 * and tune_fourier_sum share. */
#ifndef BENCH_FOURIER_CASE_H
#define BENCH_FOURIER_CASE_H

#include <math.h>

#include "bench_device.h"
#include "fourier_sum_backend.h"
#include "free_all.h"

enum { MATRIX = 128, VOXELS = MATRIX * MATRIX * MATRIX };

static vf_grid grid;
static int64_t samples;
static float *k, *c;                          /* [samples][3], [samples][2] */
static vf_array values, result, host, poison; /* c on the device; [VOXELS][2]; the same, pinned; NaN, pinned */

static inline void make_samples(int64_t count)
{
    FREE_ALL(k, c);
    vf_array_free(&values);
    samples = count;
    k = room((size_t)count * 3, sizeof *k);
    c = room((size_t)count * 2, sizeof *c);
    for (int64_t i = 0; i < 3 * count; i++)
        k[i] = (float)(MATRIX * (uniform() - 0.5));
    for (int64_t i = 0; i < 2 * count; i++)
        c[i] = (float)(2 * uniform() - 1);
    need(vf_array_create(device, VF_SPACE_DEVICE, VF_F32, 2 * count, &values));
    need(vf_queue_copy(queue, values.data, c, (size_t)count * 2 * sizeof *c));
    need(vf_queue_sync(queue));
}

static inline void make_grid(void)
{
    for (int a = 0; a < 3; a++) {
        grid.counts[a] = MATRIX;
        grid.spacing[a] = 1.0 / MATRIX;
        grid.origin[a] = -0.5;
    }
    need(vf_array_create(device, VF_SPACE_DEVICE, VF_F32, 2 * (int64_t)VOXELS, &result));
    need(vf_array_create(device, VF_SPACE_PINNED, VF_F32, 2 * (int64_t)VOXELS, &host));
    need(vf_array_create(device, VF_SPACE_PINNED, VF_F32, 2 * (int64_t)VOXELS, &poison));
    memset(poison.data, 0xff, (size_t)2 * VOXELS * sizeof(float)); /* NaN */
}

static inline void free_case(void)
{
    FREE_ALL(k, c);
    vf_array_free(&values);
    vf_array_free(&result);
    vf_array_free(&host);
    vf_array_free(&poison);
}

static inline vf_fourier *make_plan(const char *variant, vf_dtype precision, vf_trig trig)
{
    const vf_fourier_samples points = {samples, k, NULL};
    const vf_fourier_voxels voxels = {.grid = &grid};
    const vf_fourier_options options = {.precision = precision, .trig = trig, .variant = variant};
    vf_fourier *plan = NULL;
    need(vf_fourier_create(device, &points, &voxels, 1, &options, &plan));
    return plan;
}

/* Seconds of one execution for the first `count` voxels. */
static inline double execute(const vf_fourier *plan, int64_t count)
{
    const double began = vf_now();
    need(vf_fourier_adjoint(plan, queue, 1, values.data, 0, count, result.data));
    need(vf_queue_sync(queue));
    return vf_now() - began;
}

/* The same for all voxels, into NaN; the result is in `host` then. */
static inline double execute_anew(const vf_fourier *plan)
{
    need(vf_array_copy(queue, &result, &poison, 2 * (int64_t)VOXELS));
    need(vf_queue_sync(queue));
    const double seconds = execute(plan, VOXELS);
    need(vf_array_copy(queue, &host, &result, 2 * (int64_t)VOXELS));
    need(vf_queue_sync(queue));
    return seconds;
}

/* The sum at a voxel, by the formula; returns the root of the terms' sum of squares. */
static inline double sum_formula(int64_t n, double out[2])
{
    const double at[3] = {(double)(n % MATRIX), (double)(n / MATRIX % MATRIX), (double)(n / MATRIX / MATRIX)};
    double size = 0;
    out[0] = out[1] = 0;
    for (int64_t m = 0; m < samples; m++) {
        double turns = 0;
        for (int a = 0; a < 3; a++)
            turns += (double)k[3 * m + a] * (grid.origin[a] + grid.spacing[a] * at[a]);
        const double cosine = cos(2 * M_PI * (turns - rint(turns))), sine = sin(2 * M_PI * (turns - rint(turns)));
        const double p = (double)c[2 * m], q = (double)c[2 * m + 1];
        out[0] += p * cosine - q * sine;
        out[1] += p * sine + q * cosine;
        size += p * p + q * q;
    }
    return sqrt(size);
}

/* Relative errors of the sum that add up as squares, in u^2: test_large_k of
 * validation/unit/kernels/fourier_sum/test_fourier_sum.c. Phases that are not reduced are off by six roundings of u A at
 * most, A = sum |k_a r_a| turns, with hardware trigonometry by three more (fourier_fixture.h). Spread evenly, the six
 * are (2 pi A)^2 6 / 3 together; the three have one sign, 3^2. Here A has a root mean square of 27. */
static inline double expected_squares(bool hardware, bool plain_phases)
{
    return 43 + (hardware ? 46 : 0) + 2 * (double)samples / 6 +
           (plain_phases ? pow(2 * M_PI * 27, 2) * (hardware ? 11 : 2) : 0);
}

#endif
