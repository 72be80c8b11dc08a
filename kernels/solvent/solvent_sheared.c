/* The solution of (A + D) x = b in a triclinic cell, by conjugate gradients, whose preconditioner is the inverse of the same differences with
 * one permittivity and one reaction, the means of the faces' and points'. That is exact in Fourier space, where the cell's shear is but a
 * phase: coarse grids of multigrid would not fit it.
 *
 *     x_(i, j + ny, k) = x_(i - s0, j, k),  x_(i, j, k + nz) = x_(i - s1, j - s2, k)
 *
 * has the waves exp(2 pi i (f i + g j + h k)), f = l / nx, g = (m - f s0) / ny, h = (n - f s1 - g s2) / nz for integers l, m, n. So
 * after transforms along x, a row has the phase exp(2 pi i f s0 j / ny) before those along y, and then exp(2 pi i (f s1 + g s2) k / nz)
 * before those along z. Between two permittivities and their mean the eigenvalues gather in three places (those two and their arithmetic
 * mean, as for the Neumann-Poincare operator), so the number of iterations is moderate, and does not depend on the spacing.
 *
 * The transforms are of single precision, which the preconditioner has room for; all else is of double precision. */
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "solvent_places.h"
#include "voxfield/copy.h"
#include "voxfield/fft.h"
#include "voxfield/team_size.h"
#include "voxfield/vector.h"

#define TWO_PI 6.28318530717958647692

/* Rows that are transformed together. */
enum { ROWS = 8 };

typedef struct wave {
    float re, im;
} wave;

typedef struct sheared {
    const vf_solvent *plan;
    const float *reaction;
    vf_fft_rows *fft[3];
    vf_array waves, rooms; /* VF_C64: the transform; a room a thread */
    int64_t room;          /* elements of one */
    int threads;
    double eps, react; /* the means */
} sheared;

typedef struct turn {
    double re, im;
} turn;

static turn turn_of(double turns)
{
    const double angle = TWO_PI * (turns - floor(turns));
    return (turn){cos(angle), sin(angle)};
}

static turn times(turn a, turn b)
{
    return (turn){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

static wave turned(wave a, turn b)
{
    return (wave){(float)((double)a.re * b.re - (double)a.im * b.im),
                  (float)((double)a.re * b.im + (double)a.im * b.re)};
}

/* Of a wave: f and g in turns a point, and the phase in turns a layer. */
static void turns_of(const vf_solvent *plan, int64_t l, int64_t m, double *f, double *g, double *layer)
{
    const int64_t *n = plan->grid.counts, *s = plan->shear;
    *f = (double)l / (double)n[0];
    *g = ((double)m - *f * (double)s[0]) / (double)n[1];
    *layer = (*f * (double)s[1] + *g * (double)s[2]) / (double)n[2];
}

/* ---- the three axes ---- */

/* Rows [row, row + count) of r, transformed along x; or, backward, of the transform into z. */
static void along_x(const sheared *s, vf_fft_direction direction, int64_t row, int64_t count, wave *work,
                    const double *r, double *z)
{
    const int64_t nx = s->plan->grid.counts[0];
    wave *const waves = (wave *)s->waves.data + row * nx;
    if (direction == VF_FFT_FORWARD)
        for (int64_t i = 0; i < count * nx; i++)
            work[i] = (wave){(float)r[row * nx + i], 0};
    else
        memcpy(work, waves, (size_t)(count * nx) * sizeof *work);
    memset(work + count * nx, 0, (size_t)((ROWS - count) * nx) * sizeof *work);
    vf_fft_rows_execute(s->fft[0], direction, work);
    if (direction == VF_FFT_FORWARD)
        memcpy(waves, work, (size_t)(count * nx) * sizeof *work);
    for (int64_t i = 0; direction == VF_FFT_BACKWARD && i < count * nx; i++)
        z[row * nx + i] = (double)work[i].re;
}

/* Columns [l, l + count) of layer k. */
static void along_y(const sheared *s, vf_fft_direction direction, int64_t k, int64_t l, int64_t count, wave *work)
{
    const int64_t nx = s->plan->grid.counts[0], ny = s->plan->grid.counts[1];
    wave *const waves = (wave *)s->waves.data + k * nx * ny + l;
    for (int back = 0; back < 2; back++) {
        for (int64_t c = 0; c < count; c++) {
            const double by = (double)(l + c) / (double)nx * (double)s->plan->shear[0] / (double)ny;
            const bool phase = (direction == VF_FFT_FORWARD) != back;
            const turn step = turn_of(back ? -by : by);
            turn now = {1, 0};
            for (int64_t j = 0; j < ny; j++, now = times(now, step)) {
                wave *const from = back ? work + c * ny + j : waves + j * nx + c, *const to = back ? waves + j * nx + c
                                                                                                   : work + c * ny + j;
                *to = phase ? turned(*from, now) : *from;
            }
        }
        if (!back)
            vf_fft_rows_execute(s->fft[1], direction, work);
    }
}

/* A column along z: divided by its waves' eigenvalues, but for the constant, if nothing reacts. */
static void divide(const sheared *s, int64_t l, int64_t m, wave *column)
{
    const double *d = s->plan->grid.spacing, points = (double)s->plan->points;
    const int64_t nz = s->plan->grid.counts[2];
    double f, g, layer;
    turns_of(s->plan, l, m, &f, &g, &layer);
    const double here =
        s->react + s->eps * (2 - 2 * turn_of(f).re) / (d[0] * d[0]) + s->eps * (2 - 2 * turn_of(g).re) / (d[1] * d[1]);
    const double least = 1e-12 * s->eps / (d[2] * d[2]); /* of rounding; others are 1e-9 or more */
    const turn step = turn_of(1 / (double)nz);
    turn now = turn_of(-layer);
    for (int64_t k = 0; k < nz; k++, now = times(now, step)) {
        const double value = here + s->eps * (2 - 2 * now.re) / (d[2] * d[2]);
        const float factor = value > least ? (float)(1 / (value * points)) : 0;
        column[k] = (wave){factor * column[k].re, factor * column[k].im};
    }
}

/* Columns [first, first + count) of layers: to z's waves, divided, and back. */
static void along_z(const sheared *s, int64_t first, int64_t count, wave *work)
{
    const int64_t nx = s->plan->grid.counts[0], nz = s->plan->grid.counts[2], layer = nx * s->plan->grid.counts[1];
    wave *const waves = (wave *)s->waves.data + first;
    for (int back = 0; back < 2; back++) {
        for (int64_t c = 0; c < count; c++) {
            double f, g, phase;
            turns_of(s->plan, (first + c) % nx, (first + c) / nx, &f, &g, &phase);
            const turn step = turn_of(back ? -phase : phase);
            turn now = {1, 0};
            for (int64_t k = 0; k < nz; k++, now = times(now, step))
                if (back)
                    waves[k * layer + c] = turned(work[c * nz + k], now);
                else
                    work[c * nz + k] = turned(waves[k * layer + c], now);
        }
        if (back)
            break;
        vf_fft_rows_execute(s->fft[2], VF_FFT_FORWARD, work);
        for (int64_t c = 0; c < count; c++)
            divide(s, (first + c) % nx, (first + c) / nx, work + c * nz);
        vf_fft_rows_execute(s->fft[2], VF_FFT_BACKWARD, work);
    }
}

static int64_t least_of(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* ---- the operators ---- */

/* z = M r */
static vf_status precondition(void *state, vf_queue *queue, const void *r, void *z)
{
    sheared *s = state;
    const int64_t *n = s->plan->grid.counts, rows = n[1] * n[2], tiles = (n[0] + ROWS - 1) / ROWS, layer = n[0] * n[1];
    (void)queue;
#pragma omp parallel num_threads(vf_threads_of_plan(s->plan->ctx, s->threads, 50 * s->plan->points))
    {
        wave *const work = (wave *)s->rooms.data + omp_get_thread_num() * s->room;
#pragma omp for schedule(static)
        for (int64_t row = 0; row < rows; row += ROWS)
            along_x(s, VF_FFT_FORWARD, row, least_of(ROWS, rows - row), work, r, NULL);
#pragma omp for schedule(static)
        for (int64_t t = 0; t < tiles * n[2]; t++)
            along_y(s, VF_FFT_FORWARD, t / tiles, t % tiles * ROWS, least_of(ROWS, n[0] - t % tiles * ROWS), work);
#pragma omp for schedule(static)
        for (int64_t c = 0; c < layer; c += ROWS)
            along_z(s, c, least_of(ROWS, layer - c), work);
#pragma omp for schedule(static)
        for (int64_t t = 0; t < tiles * n[2]; t++)
            along_y(s, VF_FFT_BACKWARD, t / tiles, t % tiles * ROWS, least_of(ROWS, n[0] - t % tiles * ROWS), work);
#pragma omp for schedule(static)
        for (int64_t row = 0; row < rows; row += ROWS)
            along_x(s, VF_FFT_BACKWARD, row, least_of(ROWS, rows - row), work, NULL, z);
    }
    return VF_OK;
}

/* y = (A + D) x */
static vf_status multiply(void *state, vf_queue *queue, const void *x, void *y)
{
    const sheared *s = state;
    const double zero[2] = {0};
    const vf_status status = vf_fill(queue, VF_F64, s->plan->points, zero, y);
    if (status != VF_OK)
        return status;
    solvent_subtract_product(s->plan, s->reaction, x, y);
    return vf_vector_axpby(queue, VF_F64, s->plan->points, -1, y, 0, y);
}

static double mean_of(const vf_solvent *plan, const float *values)
{
    double sum = 0;
    for (int64_t i = 0; i < plan->points; i++)
        sum += (double)values[i];
    return sum / (double)plan->points;
}

static vf_status make(sheared *s)
{
    const vf_solvent *plan = s->plan;
    const int64_t *n = plan->grid.counts;
    vf_status status = VF_OK;
    for (int a = 0; a < 3; a++) {
        s->room = n[a] > s->room ? n[a] : s->room;
        s->eps += mean_of(plan, plan->faces[a].data) / 3;
        VF_TRY(status, vf_fft_rows_create(plan->ctx, VF_C64, n[a], ROWS, &s->fft[a]));
    }
    s->room *= ROWS; /* 64 bytes a point */
    s->react = mean_of(plan, s->reaction);
    s->threads = vf_context_threads(plan->ctx);
    VF_TRY(status, vf_array_create(plan->device, VF_SPACE_DEVICE, VF_C64, plan->points, &s->waves));
    VF_TRY(status, vf_array_create(plan->device, VF_SPACE_DEVICE, VF_C64, s->threads * s->room, &s->rooms));
    if (status == VF_OK)
        memset(s->rooms.data, 0, (size_t)(s->threads * s->room) * sizeof(wave));
    return status;
}

vf_status solvent_solve_sheared(const vf_solvent *plan, vf_queue *queue, const float *reaction,
                                const vf_cg_options *options, double *b, double *x, vf_cg_result *result)
{
    static const vf_operator_methods of_a = {.name = "a solvent in a cell", .forward = multiply},
                                     of_m = {.name = "its Fourier preconditioner", .forward = precondition};
    const vf_vector_space space = {VF_F64, plan->points};
    sheared s = {.plan = plan, .reaction = reaction};
    vf_cg_options with = *options;
    vf_operator *a = NULL, *m = NULL;
    vf_status status = make(&s);
    VF_TRY(status, vf_operator_create(plan->device, &of_a, VF_OPERATOR_SELF_ADJOINT, space, space, &s, &a));
    VF_TRY(status, vf_operator_create(plan->device, &of_m, VF_OPERATOR_SELF_ADJOINT, space, space, &s, &m));
    with.preconditioner = m;
    VF_TRY(status, vf_cg(a, queue, &with, b, x, result));
    vf_operator_free(a);
    vf_operator_free(m);
    for (int axis = 0; axis < 3; axis++)
        vf_fft_rows_destroy(s.fft[axis]);
    vf_array_free(&s.waves);
    vf_array_free(&s.rooms);
    return status;
}
