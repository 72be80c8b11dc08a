/* From Q to the factors by which the CPU backend multiplies spectra: the real part of Q's transform, in the order of
 * the passes. */
#include <string.h>

#include "toeplitz_cpu.h"
#include "voxfield/team_size.h"

char *toeplitz_cpu_kernel(const vf_toeplitz *plan, int segment, int64_t plane, int half)
{
    const cpu_state *s = plan->state;
    int64_t number = (segment * s->planes + plane) * s->halves[0] + half;
    return (char *)s->kernels.data + (size_t)(number * s->half_plane) * vf_dtype_bytes(plan->precision);
}

/* Sets Q to zero where an index along a doubled axis is 0, which is r = -1. No two voxels differ by this, so the value
 * should not matter. But an arbitrary value would have no counterpart at r = +1. Q would not be Hermitian, and dropping
 * the imaginary part of its transform would change the result. */
static void clear_unused(const cpu_state *s, char *q)
{
    int64_t points = 1, stride = 1;
    for (int a = 0; a < 3; a++)
        points *= s->halves[a] * s->n[a];
    for (int a = 0; a < 3; a++) {
        size_t run = (size_t)stride * s->element;
        stride *= s->halves[a] * s->n[a];
        for (int64_t n = 0; s->halves[a] == 2 && n < points; n += stride)
            memset(q + (size_t)n * s->element, 0, run);
    }
}

/* The locations of Q's points and the kernel's numbers. */
typedef struct source {
    const vf_toeplitz *plan;
    const cpu_state *s;
    int64_t size[3]; /* of the doubled grid, in the plan's order of axes */
    int segment;
    char *q;
} source;

/* Transforms lines along z, in place: up to TILE neighbours along x, at one y. */
static void along_z(const source *f, int64_t number, char *work)
{
    const cpu_state *s = f->s;
    const int64_t tiles = (f->size[0] + TILE - 1) / TILE, x = number % tiles * TILE;
    const toeplitz_tile tile = {f->size[2], smaller(TILE, f->size[0] - x), f->size[0] * f->size[1], NULL};
    char *lines = f->q + (size_t)(number / tiles * f->size[0] + x) * s->element;
    s->simd->split(&tile, lines, work, NULL);
    vf_fft_rows_execute(s->doubled[2], VF_FFT_FORWARD, work);
    s->simd->merge(&tile, work, NULL, lines);
}

/* Transforms the rows along x of a plane, in place. */
static void along_x(const source *f, char *plane, char *work)
{
    const size_t row_bytes = (size_t)f->size[0] * f->s->element;
    for (int64_t y = 0; y < f->size[1]; y += TILE) {
        const size_t bytes = (size_t)smaller(TILE, f->size[1] - y) * row_bytes;
        memcpy(work, plane + (size_t)y * row_bytes, bytes);
        vf_fft_rows_execute(f->s->doubled[0], VF_FFT_FORWARD, work);
        memcpy(plane + (size_t)y * row_bytes, work, bytes);
    }
}

/* Moves a line of the transform along y, at x, to the kernel. */
static void take_line(const source *f, int64_t plane, int64_t x, const char *line)
{
    const cpu_state *s = f->s;
    const int64_t kx = x / s->halves[0], x_half = x % s->halves[0];
    char *kernel = toeplitz_cpu_kernel(f->plan, f->segment, plane, (int)x_half);
    for (int64_t y = 0; y < f->size[1]; y++) {
        const int64_t ky = y / s->halves[1], y_half = y % s->halves[1];
        const int64_t to = ((kx / s->width * s->halves[1] + y_half) * s->width + kx % s->width) * s->n[1] + ky;
        /* Q begins at r = -1, N points before r = 0: a factor (-1)^k along each doubled axis. */
        const double sign = (x_half + y_half + plane / s->n[2]) % 2 ? -1 : 1;
        const double scale = sign / (double)(f->size[0] * f->size[1] * f->size[2]);
        if (s->type == VF_C128)
            ((double *)kernel)[to] = scale * ((const double *)line)[2 * y];
        else
            ((float *)kernel)[to] = (float)scale * ((const float *)line)[2 * y];
    }
}

/* Transforms the other two axes of a plane that is transformed along z, and moves it to the kernel. */
static void take_plane(const source *f, int64_t plane, char *work)
{
    const cpu_state *s = f->s;
    const size_t line_bytes = (size_t)f->size[1] * s->element;
    const int64_t z = s->halves[2] * (plane % s->n[2]) + plane / s->n[2];
    char *points = f->q + (size_t)(z * f->size[0] * f->size[1]) * s->element;
    if (s->doubled[0])
        along_x(f, points, work);
    for (int64_t x = 0; x < f->size[0]; x += TILE) {
        const toeplitz_tile tile = {f->size[1], smaller(TILE, f->size[0] - x), f->size[0], NULL};
        s->simd->split(&tile, points + (size_t)x * s->element, work, NULL);
        if (s->doubled[1])
            vf_fft_rows_execute(s->doubled[1], VF_FFT_FORWARD, work);
        for (int64_t i = 0; i < tile.lines; i++)
            take_line(f, plane, x + i, work + (size_t)i * line_bytes);
    }
}

/* ---- a circulant matrix ---- */

static double factor_at(const vf_toeplitz *plan, const void *factors, int64_t n)
{
    return plan->precision == VF_F64 ? ((const double *)factors)[n] : (double)((const float *)factors)[n];
}

/* Whether all factors equal those at index 0 of the axis; NaN differs from everything. */
static bool is_constant(const vf_toeplitz *plan, const cpu_state *s, int axis, const void *factors)
{
    int64_t stride = 1;
    for (int a = 0; a < axis; a++)
        stride *= s->n[a];
    if (s->n[axis] == 1)
        return false;
    for (int64_t n = 0; n < plan->voxels; n++) {
        const int64_t first = n - n / stride % s->n[axis] * stride;
        if (!(factor_at(plan, factors, n) == factor_at(plan, factors, first)))
            return false;
    }
    return true;
}

/* Puts the factors in the order of the passes. Leaving out a transform and its inverse is a factor N. */
static void set_circulant(vf_toeplitz *plan, const void *factors)
{
    cpu_state *s = plan->state;
    double scale = 1;
    for (int a = 0; a < 3; a++) {
        s->skipped[a] = is_constant(plan, s, a, factors);
        scale *= s->skipped[a] ? (double)s->n[a] : 1;
    }
    const int64_t lines = toeplitz_cpu_lines_alone(s) ? smaller(TILE, s->n[0]) : 0;
    for (int64_t i = 0; i < lines * s->n[2]; i++) {
        const double factor = scale * factor_at(plan, factors, i % s->n[2] * s->n[0]);
        if (s->type == VF_C128)
            ((double *)s->kernels.data)[i] = factor;
        else
            ((float *)s->kernels.data)[i] = (float)factor;
    }
    for (int64_t n = 0; lines == 0 && n < plan->voxels; n++) {
        const int64_t x = n % s->n[0], y = n / s->n[0] % s->n[1];
        char *kernel = toeplitz_cpu_kernel(plan, 0, n / s->n[0] / s->n[1], 0);
        const int64_t to = x * s->n[1] + y;
        if (s->type == VF_C128)
            ((double *)kernel)[to] = scale * factor_at(plan, factors, n);
        else
            ((float *)kernel)[to] = (float)(scale * factor_at(plan, factors, n));
    }
}

vf_status toeplitz_cpu_set(vf_toeplitz *plan, vf_queue *queue, int segment, void *q)
{
    (void)queue;
    const cpu_state *s = plan->state;
    vf_context *ctx = vf_device_context(plan->device);
    source f = {.plan = plan, .s = s, .segment = segment, .q = q};
    if (plan->circulant) {
        set_circulant(plan, q);
        return VF_OK;
    }
    for (int a = 0; a < 3; a++)
        f.size[a] = s->halves[a] * s->n[a];
    const int64_t tiles = s->doubled[2] ? (f.size[0] + TILE - 1) / TILE * f.size[1] : 0;
    const int threads = vf_threads_of_plan(ctx, s->threads, 10 * f.size[0] * f.size[1] * f.size[2]);
    clear_unused(s, q);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < tiles; i++)
        if (!vf_cancelled(ctx))
            along_z(&f, i, toeplitz_cpu_work(s));
            /* The transform of a Hermitian Q is real. Its imaginary part comes only from rounding, which leaves Q not
             * quite Hermitian. Dropping it replaces Q by its Hermitian part (Q(r) + conj(Q(-r))) / 2. This is nearer to
             * the exact Q, and keeps the matrix Hermitian, as conjugate gradients require. */
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t plane = 0; plane < s->planes; plane++)
        if (!vf_cancelled(ctx))
            take_plane(&f, plane, toeplitz_cpu_work(s));
    return vf_cancelled(ctx) ? vf_fail(ctx, VF_ERR_CANCELLED, "interrupted") : VF_OK;
}
