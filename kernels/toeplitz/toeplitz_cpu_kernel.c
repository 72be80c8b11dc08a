/* From Q to the factors by which the CPU backend multiplies spectra: the real part of Q's transform, in the order of
 * the passes. */
#include <string.h>

#include "toeplitz_cpu.h"
#include "voxfield/fft.h"
#include "voxfield/team_size.h"

int64_t toeplitz_cpu_kernel_at(const cpu_state *s, int segment, int64_t plane, const int half[2], const int64_t at[2])
{
    const int64_t lanes = s->lanes, tiles = (s->n[1] + lanes - 1) / lanes, row = s->halves[0] * s->n[0] * lanes;
    switch (s->order) {
    case ORDER_LINES:
        return plane;
    case ORDER_COLUMNS:
        return plane * s->n[1] + at[0];
    case ORDER_PLANES: {
        const int64_t tile = segment * ((s->planes + lanes - 1) / lanes) + plane / lanes;
        return tile * row + (half[1] * s->n[0] + at[1]) * lanes + plane % lanes;
    }
    default: {
        const int64_t sheet = (segment * s->planes + plane) * s->halves[1] + half[0];
        return (sheet * tiles + at[0] / lanes) * row + (half[1] * s->n[0] + at[1]) * lanes + at[0] % lanes;
    }
    }
}

int64_t toeplitz_cpu_kernel_count(const cpu_state *s, int segments)
{
    const int64_t rows =
        s->n[1] > 1 ? s->planes * s->halves[1] * round_up(s->n[1], s->lanes) : round_up(s->planes, s->lanes);
    return segments * rows * s->halves[0] * s->n[0];
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

/* Where the factors come from: Q's transform, complex, or the factors of a circulant matrix, real. */
typedef struct source {
    const vf_toeplitz *plan;
    const cpu_state *s;
    int64_t size[3]; /* of the grid that they are on, in the plan's order of axes */
    int segment;
    double scale;
    const void *numbers;
} source;

/* What an axis adds to a factor. Leaving out a transform and its inverse is a factor N; of cosine transforms, with their weights
 * (fft_lanes.h), it is 1. */
static double axis_scale(const source *f, int axis, int64_t k)
{
    const int64_t n = f->s->n[axis];
    if (!f->plan->cosine)
        return f->s->skipped[axis] ? (double)n : 1;
    return f->s->skipped[axis] ? 1 : 1 / (double)(k == 0 || 2 * k == n ? n : 2 * n);
}

/* The factor at half h and place p of each axis. */
static double factor_of(const source *f, const int half[3], const int64_t place[3])
{
    const cpu_state *s = f->s;
    int64_t k[3];
    /* Q begins at r = -1, N points before r = 0: a factor (-1)^k along each doubled axis. */
    double scale = (half[0] + half[1] + half[2]) % 2 ? -f->scale : f->scale;
    for (int a = 0; a < 3; a++) {
        k[a] = s->halves[a] * (s->skipped[a] ? place[a] : s->fft[a]->order[place[a]]) + half[a];
        scale *= axis_scale(f, a, k[a]);
    }
    const int64_t at = ((k[2] * f->size[1] + k[1]) * f->size[0] + k[0]) * (f->plan->circulant ? 1 : 2);
    const double number =
        f->plan->precision == VF_F64 ? ((const double *)f->numbers)[at] : (double)((const float *)f->numbers)[at];
    return scale * number;
}

static void fill_row(const source *f, int half_z, int64_t z, int half_y, int64_t y)
{
    const cpu_state *s = f->s;
    const int64_t plane = half_z * s->n[2] + z;
    const bool once = s->order == ORDER_COLUMNS || s->order == ORDER_LINES;
    for (int h = 0; h < s->halves[0]; h++)
        for (int64_t x = 0; x < (once ? 1 : s->n[0]); x++) {
            const double factor = factor_of(f, (int[3]){h, half_y, half_z}, (int64_t[3]){x, y, z});
            const int64_t to = toeplitz_cpu_kernel_at(s, f->segment, plane, (int[2]){half_y, h}, (int64_t[2]){y, x});
            if (f->plan->precision == VF_F64)
                ((double *)s->kernels.data)[to] = factor;
            else
                ((float *)s->kernels.data)[to] = (float)factor;
        }
}

static vf_status fill(const source *f)
{
    const cpu_state *s = f->s;
    vf_context *ctx = vf_device_context(f->plan->device);
#pragma omp parallel for schedule(static)                                                                              \
    num_threads(vf_threads_of_plan(ctx, s->threads, 10 * f->size[0] * f->size[1] * f->size[2]))
    for (int64_t plane = 0; plane < s->planes; plane++)
        for (int h = 0; h < s->halves[1] && !vf_cancelled(ctx); h++)
            for (int64_t y = 0; y < s->n[1]; y++)
                fill_row(f, (int)(plane / s->n[2]), plane % s->n[2], h, y);
    return vf_cancelled(ctx) ? vf_fail(ctx, VF_ERR_CANCELLED, "interrupted") : VF_OK;
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

/* Which axes are left out, and so the order. */
static void choose_order(const vf_toeplitz *plan, cpu_state *s, const void *factors)
{
    for (int a = 0; a < 3; a++)
        s->skipped[a] = is_constant(plan, s, a, factors);
    s->order = s->n[1] > 1 ? ORDER_SHEETS : ORDER_PLANES;
    if (s->skipped[0] && s->n[1] > 1)
        s->order = ORDER_COLUMNS;
    else if (s->skipped[0] && s->n[2] > 1 && !s->skipped[2])
        s->order = ORDER_LINES;
}

/* Transforms Q in place. The transform of a Hermitian Q is real. Its imaginary part comes only from rounding, which leaves Q not
 * quite Hermitian. Dropping it replaces Q by its Hermitian part (Q(r) + conj(Q(-r))) / 2. This is nearer to the exact Q, and
 * keeps the matrix Hermitian, as conjugate gradients require. */
static vf_status transform_q(const source *f, vf_queue *queue, void *q)
{
    const int64_t dims[3] = {f->size[2], f->size[1], f->size[0]};
    vf_fft *fft = NULL;
    clear_unused(f->s, q);
    vf_status status = vf_fft_create(f->plan->device, f->s->type, 3, dims, 1, &fft);
    VF_TRY(status, vf_fft_execute(fft, queue, VF_FFT_FORWARD, q));
    vf_fft_destroy(fft);
    return status;
}

vf_status toeplitz_cpu_set(vf_toeplitz *plan, vf_queue *queue, int segment, void *q)
{
    cpu_state *s = plan->state;
    source f = {.plan = plan, .s = s, .segment = segment, .scale = 1, .numbers = q};
    for (int a = 0; a < 3; a++)
        f.size[a] = s->halves[a] * s->n[a];
    vf_status status = VF_OK;
    if (plan->circulant)
        choose_order(plan, s, q);
    else {
        f.scale = 1 / (double)(f.size[0] * f.size[1] * f.size[2]);
        status = transform_q(&f, queue, q);
    }
    return status == VF_OK ? fill(&f) : status;
}
