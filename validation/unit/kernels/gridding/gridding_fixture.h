/* Random k-space samples and images for the NUFFT, their direct sum, and one run of a plan. */
#ifndef GRIDDING_FIXTURE_H
#define GRIDDING_FIXTURE_H

#include <complex.h>
#include <math.h>

#include "device_fixture.h"
#include "free_all.h"
#include "gridding.h"

/* A problem: samples, and vectors of samples and of voxels, in double precision. In a small problem, a few voxels at
 * the edge may dominate the error: with sigma 1.25, two of 63 x 48 once had two thirds of it, and twice the usual error.
 * Several vectors bring it near its root mean square. */
typedef struct problem {
    int64_t matrix[3], voxels, samples;
    int vectors; /* in c and in x */
    float *k, *time, *field;
    double *exact; /* positions in place of k, or NULL */
    double complex *c, *x;
} problem;

static inline void *allocate(size_t count, size_t size)
{
    void *p = calloc(count + 1, size);
    assert_non_null(p);
    return p;
}

/* Positions over twice the range of k, some of them on the edges, on grid points, or repeated. Values are exact in
 * single precision, so both precisions sum the same problem. */
static inline problem random_problem(int64_t nx, int64_t ny, int64_t nz, int64_t samples, bool off_resonance)
{
    problem p = {.matrix = {nx, ny, nz}, .voxels = nx * ny * nz, .samples = samples, .vectors = samples < 1000 ? 8 : 1};
    p.k = allocate((size_t)samples * 3, sizeof *p.k);
    p.c = allocate((size_t)(p.vectors * samples), sizeof *p.c);
    p.x = allocate((size_t)(p.vectors * p.voxels), sizeof *p.x);
    for (int64_t m = 0; m < samples; m++)
        for (int a = 0; a < 3; a++) {
            double n = (double)p.matrix[a], k = (2 * uniform() - 1) * n;
            k = m % 11 == 3 ? floor(k) : m % 11 == 5 ? (uniform() < 0.5 ? -0.5 : 0.5) * n : k;
            p.k[3 * m + a] = m % 11 == 7 ? p.k[3 * (m - 1) + a] : (float)k;
        }
    for (int64_t m = 0; m < p.vectors * samples; m++)
        p.c[m] = (float)(2 * uniform() - 1) + I * (float)(2 * uniform() - 1);
    for (int64_t n = 0; n < p.vectors * p.voxels; n++)
        p.x[n] = (float)(2 * uniform() - 1) + I * (float)(2 * uniform() - 1);
    if (!off_resonance)
        return p;
    p.time = allocate((size_t)samples, sizeof *p.time);
    p.field = allocate((size_t)p.voxels, sizeof *p.field);
    for (int64_t m = 0; m < samples; m++)
        p.time[m] = (float)(0.002 + 0.012 * uniform());
    for (int64_t n = 0; n < p.voxels; n++)
        p.field[n] = (float)(40 + 120 * (uniform() - 0.5));
    return p;
}

static inline void problem_free(problem *p)
{
    FREE_ALL(p->k, p->exact, p->time, p->field, p->c, p->x);
}

/* exp(i 2 pi n k / N) for all n of an axis. */
UNWATCHED static inline void phases(int64_t voxels, double k, double complex *out)
{
    for (int64_t i = 0; i < voxels; i++) {
        double turns = voxels > 1 ? k * (double)(i - voxels / 2) / (double)voxels : 0;
        turns -= floor(turns);
        out[i] = cexp(2 * M_PI * I * turns);
    }
}

/* The formulas of the header, term by term; either output may be NULL. */
UNWATCHED static inline void direct_sum(const problem *p, double complex *y, double complex *c)
{
    double complex *e[3];
    for (int a = 0; a < 3; a++)
        e[a] = allocate((size_t)p->matrix[a], sizeof **e);
    for (int64_t m = 0; m < p->samples; m++) {
        double complex sum[8] = {0};
        for (int a = 0; a < 3; a++)
            phases(p->matrix[a], p->exact ? p->exact[3 * m + a] : (double)p->k[3 * m + a], e[a]);
        int64_t n = 0;
        for (int64_t iz = 0; iz < p->matrix[2]; iz++)
            for (int64_t iy = 0; iy < p->matrix[1]; iy++)
                for (int64_t ix = 0; ix < p->matrix[0]; ix++, n++) {
                    double complex phase = e[0][ix] * e[1][iy] * e[2][iz];
                    if (p->field)
                        phase *= cexp(2 * M_PI * I * (double)p->time[m] * (double)p->field[n]);
                    for (int v = 0; v < p->vectors && y; v++)
                        y[v * p->voxels + n] += p->c[v * p->samples + m] * phase;
                    for (int v = 0; v < p->vectors && c; v++)
                        sum[v] += p->x[v * p->voxels + n] * conj(phase);
                }
        for (int v = 0; c && v < p->vectors; v++)
            c[v * p->samples + m] = sum[v];
    }
    for (int a = 0; a < 3; a++)
        free(e[a]);
}

/* ---- the code under test ---- */

static inline vf_nufft *make_plan(const problem *p, const vf_nufft_options *options, int batch)
{
    vf_nufft *plan = NULL;
    vf_nufft_options o = *options;
    o.field = p->field;
    vf_nufft_samples samples = {.count = p->samples, .k = p->k, .time = p->time, .exact = p->exact};
    if (vf_nufft_create(device, p->matrix, &samples, batch, &o, &plan) != VF_OK)
        fail_msg("%s", vf_context_message(ctx));
    return plan;
}

static inline void convert(const void *from, vf_dtype from_type, void *to, vf_dtype to_type, int64_t reals)
{
    for (int64_t i = 0; i < reals; i++) {
        double v = from_type == VF_C128 ? ((const double *)from)[i] : (double)((const float *)from)[i];
        if (to_type == VF_C128)
            ((double *)to)[i] = v;
        else
            ((float *)to)[i] = (float)v;
    }
}

/* Runs one direction on vectors of double precision in host memory. Unwritten values are NaN. */
static inline void apply(vf_nufft *plan, vf_dtype real, bool adjoint, int batch, const double complex *in, int64_t n_in,
                         double complex *out, int64_t n_out)
{
    vf_dtype type = vf_dtype_complex(real);
    vf_queue *queue = NULL;
    vf_array host_in = {0}, host_out = {0}, device_in = {0}, device_out = {0};
    if (vf_queue_create(device, &queue) != VF_OK ||
        vf_array_create(device, VF_SPACE_PINNED, type, n_in * batch, &host_in) != VF_OK ||
        vf_array_create(device, VF_SPACE_PINNED, type, n_out * batch, &host_out) != VF_OK ||
        vf_array_create(device, VF_SPACE_DEVICE, type, n_in * batch, &device_in) != VF_OK ||
        vf_array_create(device, VF_SPACE_DEVICE, type, n_out * batch, &device_out) != VF_OK)
        fail_msg("%s", vf_context_message(ctx));
    convert(in, VF_C128, host_in.data, type, 2 * n_in * batch);
    memset(host_out.data ? host_out.data : &real, 0xff,
           host_out.data ? (size_t)(n_out * batch) * vf_dtype_bytes(type) : 0);
    if (vf_array_copy(queue, &device_in, &host_in, n_in * batch) != VF_OK ||
        vf_array_copy(queue, &device_out, &host_out, n_out * batch) != VF_OK ||
        (adjoint ? vf_nufft_adjoint(plan, queue, batch, device_in.data, device_out.data)
                 : vf_nufft_forward(plan, queue, batch, device_in.data, device_out.data)) != VF_OK ||
        vf_array_copy(queue, &host_out, &device_out, n_out * batch) != VF_OK || vf_queue_sync(queue) != VF_OK)
        fail_msg("%s", vf_context_message(ctx));
    convert(host_out.data, type, out, VF_C128, 2 * n_out * batch);
    vf_array_free(&host_in);
    vf_array_free(&host_out);
    vf_array_free(&device_in);
    vf_array_free(&device_out);
    vf_queue_destroy(queue);
}

static inline double square(double complex a)
{
    return creal(a) * creal(a) + cimag(a) * cimag(a);
}

static inline double norm(const double complex *a, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += square(a[i]);
    return sqrt(sum);
}

/* Relative in the l2 norm, or to `least` if b is smaller; NaN if any value is NaN. */
static inline double difference(const double complex *a, const double complex *b, int64_t n, double least)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += square(a[i] - b[i]);
    return sum == 0 ? 0 : sqrt(sum) / fmax(norm(b, n), least);
}

#endif
