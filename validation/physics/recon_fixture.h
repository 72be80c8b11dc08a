/* A small random scan that uses every feature, and its dense matrices; for test_recon_algebra.c and
 * devices_fixture.h. */
#ifndef RECON_FIXTURE_H
#define RECON_FIXTURE_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "free_all.h"
#include "random_fixture.h"
#include "schedule/reconstruct.h"
#include "solve/equations.h"
#include "voxfield/team_size.h"

static const char *device_spec;

static float complex random_complex(void)
{
    float re = (float)(2 * uniform() - 1);
    return re + (float)(2 * uniform() - 1) * I;
}

/* A small random scan that uses every feature. */
typedef struct problem {
    vf_context *ctx;
    vf_queue *queue;
    recon_settings settings;
    mri_scan scan;
    scan_trajectory trajectory;
    scan_frame *frames;
    int64_t voxels;
} problem;

enum { SAMPLES = 700 };

static void *allocate(size_t n, size_t size)
{
    void *p = calloc(n + 1, size);
    assert_non_null(p);
    return p;
}

static inline problem open_problem(const int64_t matrix[3], int coils, int frames, bool field, vf_dtype precision,
                                   vf_encode_by encode_by)
{
    problem p = {.settings = {.solve = {.encode_by = encode_by,
                                        .precision = precision,
                                        .iterations = 400,
                                        .tolerance = precision == VF_F64 ? 1e-12 : 1e-6,
                                        .lambda = 0.05,
                                        .accuracy = precision == VF_F64 ? 1e-10 : 1e-6},
                              .quiet = true,
                              .schedule.device = device_spec}};
    assert_int_equal(vf_context_create(&p.ctx), VF_OK);
    vf_context_set_team_work(p.ctx, 1000); /* small arrays have teams, too */
    assert_int_equal(vf_context_set_devices(p.ctx, device_spec), VF_OK);
    assert_int_equal(vf_queue_create(vf_context_device(p.ctx, 0), &p.queue), VF_OK);
    p.voxels = matrix[0] * matrix[1] * matrix[2];
    p.trajectory = (scan_trajectory){.samples = SAMPLES,
                                     .k = allocate(3 * SAMPLES, sizeof(float)),
                                     .weights = allocate(SAMPLES, sizeof(float)),
                                     .time = allocate(SAMPLES, sizeof(float)),
                                     .phi = allocate(SAMPLES, sizeof(float complex))};
    for (int m = 0; m < SAMPLES; m++) {
        for (int a = 0; a < 3; a++)
            p.trajectory.k[3 * m + a] = matrix[a] > 1 ? (float)((uniform() - 0.5) * (double)matrix[a]) : 0;
        for (int a = 0; a < 3 && encode_by == VF_ENCODE_CARTESIAN; a++)
            p.trajectory.k[3 * m + a] = m > 0 ? rintf(p.trajectory.k[3 * m + a]) : 0; /* otherwise nothing determines
                                                                                       * the mean */
        p.trajectory.weights[m] = (float)(0.2 + uniform());
        p.trajectory.time[m] = (float)(0.01 * uniform());
        p.trajectory.phi[m] = 1 + 0.2f * random_complex();
    }
    p.frames = allocate((size_t)frames, sizeof *p.frames);
    for (int f = 0; f < frames; f++) {
        p.frames[f] = (scan_frame){.volume = f, .data = allocate((size_t)(coils * SAMPLES), sizeof(float complex))};
        for (int i = 0; i < coils * SAMPLES; i++)
            p.frames[f].data[i] = random_complex();
    }
    p.scan = (mri_scan){.path = "test",
                        .matrix = {matrix[0], matrix[1], matrix[2]},
                        .crop = {matrix[0], matrix[1], matrix[2]},
                        .coils = coils,
                        .volumes = frames,
                        .slices = 1,
                        .places = 1,
                        .trajectories = 1,
                        .frames = frames,
                        .frame = p.frames};
    if (coils > 1) {
        p.scan.sensitivity = allocate((size_t)(coils * p.voxels), sizeof(float complex));
        for (int64_t i = 0; i < coils * p.voxels; i++)
            p.scan.sensitivity[i] = random_complex();
    }
    if (field) {
        p.scan.field_map = allocate((size_t)p.voxels, sizeof(float));
        for (int64_t i = 0; i < p.voxels; i++)
            p.scan.field_map[i] = (float)(120 * (uniform() - 0.5)); /* up to 0.6 turns in 10 ms */
    }
    return p;
}

static inline void close_problem(problem *p)
{
    FREE_ALL(p->trajectory.k, p->trajectory.weights, p->trajectory.time, p->trajectory.phi);
    for (int f = 0; f < p->scan.frames; f++)
        free(p->frames[f].data);
    FREE_ALL(p->frames, p->scan.sensitivity, p->scan.field_map, p->scan.reference);
    vf_queue_destroy(p->queue);
    vf_context_destroy(p->ctx);
}

static inline vf_array device_array(problem *p, int64_t n)
{
    vf_array a;
    assert_int_equal(vf_array_create(vf_context_device(p->ctx, 0), VF_SPACE_DEVICE,
                                     vf_dtype_complex(p->settings.solve.precision), n, &a),
                     VF_OK);
    return a;
}

/* Element (m, n) of F without phi. */
static double complex element(const problem *p, int64_t m, int64_t n)
{
    const int64_t *N = p->scan.matrix;
    const int64_t at[3] = {n % N[0], n / N[0] % N[1], n / N[0] / N[1]};
    double phase = 0;
    for (int a = 0; a < 3; a++)
        phase += N[a] > 1 ? (double)p->trajectory.k[3 * m + a] * (double)(at[a] - N[a] / 2) / (double)N[a] : 0;
    if (p->scan.field_map)
        phase += (double)p->trajectory.time[m] * (double)p->scan.field_map[n];
    return cexp(-2 * M_PI * I * phase);
}

/* A = sum_c S_c^H F^H W F S_c + lambda P of the scan, dense, with P = 1 or the Laplacian with reflecting faces. */
static inline double complex *dense_system(const problem *p, double lambda, const double complex *b, bool differences,
                                           double *diagonal)
{
    const int64_t n = p->voxels;
    double complex *a = allocate((size_t)(n * n), sizeof *a);
    const float complex *maps = p->scan.sensitivity;
    double complex *row = allocate((size_t)n, sizeof *row);
    for (int m = 0; m < SAMPLES; m++) {
        double weight = p->trajectory.weights[m] * pow(cabs(p->trajectory.phi[m]), 2);
        for (int64_t i = 0; i < n; i++)
            row[i] = element(p, m, i);
        for (int64_t i = 0; i < n; i++) {
            const double re = weight * creal(row[i]), im = -weight * cimag(row[i]);
            for (int64_t j = 0; j <= i; j++)
                a[i * n + j] += re * creal(row[j]) - im * cimag(row[j]) + I * (re * cimag(row[j]) + im * creal(row[j]));
        }
    }
    free(row);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < i; j++)
            a[j * n + i] = conj(a[i * n + j]);
    for (int64_t i = 0; i < n && maps; i++)
        for (int64_t j = 0; j < n; j++) {
            double complex both = 0;
            for (int c = 0; c < p->scan.coils; c++)
                both += conj(maps[c * n + i]) * maps[c * n + j];
            a[i * n + j] *= both;
        }
    /* The diagonal within the object. */
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += creal(a[i * n + i]) * pow(cabs(b[i]), 2);
        squares += pow(cabs(b[i]), 2);
    }
    *diagonal = sum / squares;
    lambda *= *diagonal;
    const int64_t *N = p->scan.matrix, step[3] = {1, N[0], N[0] * N[1]};
    for (int64_t i = 0; i < n; i++) {
        const int64_t at[3] = {i % N[0], i / N[0] % N[1], i / N[0] / N[1]};
        if (!differences)
            a[i * n + i] += lambda;
        for (int axis = 0; axis < 3 && differences; axis++)
            if (at[axis] > 0) {
                int64_t j = i - step[axis];
                a[i * n + i] += lambda;
                a[j * n + j] += lambda;
                a[i * n + j] -= lambda;
                a[j * n + i] -= lambda;
            }
    }
    return a;
}

/* S^H F^H W conj(phi)... of one frame. */
static inline double complex *dense_right_side(const problem *p, int frame)
{
    const int64_t n = p->voxels;
    double complex *b = allocate((size_t)n, sizeof *b);
    for (int64_t i = 0; i < n; i++)
        for (int c = 0; c < p->scan.coils; c++) {
            double complex sum = 0;
            for (int m = 0; m < SAMPLES; m++)
                sum += conj(element(p, m, i)) * p->trajectory.weights[m] * conj(p->trajectory.phi[m]) *
                       p->frames[frame].data[c * SAMPLES + m];
            b[i] += (p->scan.sensitivity ? conj(p->scan.sensitivity[c * n + i]) : 1) * sum;
        }
    return b;
}

/* Cholesky: A = L L^H in place, then b = A^-1 b. */
static inline void dense_solve(int64_t n, double complex *a, double complex *b)
{
    for (int64_t j = 0; j < n; j++) {
        for (int64_t k = 0; k < j; k++)
            a[j * n + j] -= a[j * n + k] * conj(a[j * n + k]);
        a[j * n + j] = sqrt(creal(a[j * n + j]));
        for (int64_t i = j + 1; i < n; i++) {
            for (int64_t k = 0; k < j; k++)
                a[i * n + j] -= a[i * n + k] * conj(a[j * n + k]);
            a[i * n + j] /= a[j * n + j];
        }
    }
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = 0; k < i; k++)
            b[i] -= a[i * n + k] * b[k];
        b[i] /= a[i * n + i];
    }
    for (int64_t i = n - 1; i >= 0; i--) {
        for (int64_t k = i + 1; k < n; k++)
            b[i] -= conj(a[k * n + i]) * b[k];
        b[i] /= a[i * n + i];
    }
}

/* Reads DEVICE from the command line. Returns false if there is no such device; the test is then skipped. */
static inline bool begin_tests(int argc, char **argv)
{
    const char *reason = "";
    device_spec = argc > 1 ? argv[1] : "cpu";
    if (strncmp(device_spec, "cuda", 4) != 0 || vf_cuda_device_count(&reason) > 0)
        return true;
    printf("SKIP: no GPU: %s\n", reason);
    return false;
}

#endif
