#include "voxfield/fft_axis.h"

#include <omp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "backend/fft_lanes.h"
#include "device/arguments.h"
#include "fft_internal.h"
#include "fft_move.h"
#include "voxfield/team_size.h"

/* FFTW's plan. Axes with lanes make it when they first get few lines, which most never do. It takes FFTW tens of microseconds,
 * a twentieth of planning a NUFFT of 256^2 with 1e5 samples. */
typedef struct lazy_rows {
    pthread_mutex_t guard; /* of making it */
    _Atomic(vf_fft_rows *) plan;
} lazy_rows;

struct vf_fft_axis {
    vf_context *ctx;
    vf_dtype type;
    int64_t n;
    lazy_rows *lazy;
    fft_lanes *lanes;  /* NULL: rows are faster for this length */
    int32_t *place[2]; /* of points and of frequencies, in lines side by side */
    void (*gather)(const fft_move *move);
    void (*scatter)(const fft_move *move);
    void (*raise)(const fft_lane_move *move);
    void (*lower)(const fft_lane_move *move);
    int threads;
    size_t element, half_bytes, thread_bytes;
    char *rows; /* [threads][before, after the transform][VF_FFT_LINES][n], each half 64-byte aligned */
};

/* MOST_LANES: points of the longest lines that are transformed side by side; beyond, they do not stay in the second-level cache.
 * With fewer lines than a share of the lanes, rows are faster, too. */
enum { ALIGNMENT = 64, THREAD_GAP = 256, MOST_LANES = 1024, SHARE = 4 };

static const fft_moves *moves_here(void)
{
    static const fft_moves *const sets[VF_ISA_COUNT] = {
        &fft_moves_baseline,
#if defined(__x86_64__)
        &fft_moves_avx2,
        &fft_moves_avx512,
#endif
    };
    return sets[vf_cpu_isa()];
}

/* Lines side by side, unless they are long, or of a length that takes a chirp. */
static vf_status make_lanes(vf_fft_axis *axis)
{
    const size_t count = (size_t)axis->n;
    if (axis->n > MOST_LANES)
        return VF_OK;
    vf_status status = fft_lanes_create(axis->ctx, vf_dtype_real(axis->type), axis->n, &axis->lanes);
    if (status == VF_OK && axis->lanes->inner) {
        fft_lanes_destroy(axis->lanes);
        axis->lanes = NULL;
    }
    if (status != VF_OK || !axis->lanes)
        return status;
    for (int i = 0; i < 2; i++) {
        axis->place[i] = malloc(count * sizeof *axis->place[i]);
        if (!axis->place[i])
            return vf_fail(axis->ctx, VF_ERR_MEMORY, "FFT: not enough memory for a plan");
        for (size_t p = 0; p < count; p++)
            axis->place[i][i ? (size_t)axis->lanes->order[p] : p] = (int32_t)p;
    }
    return VF_OK;
}

/* FFTW's plan, made now if it is the first time; NULL without memory. */
static vf_fft_rows *rows_of(const vf_fft_axis *axis)
{
    lazy_rows *lazy = axis->lazy;
    vf_fft_rows *plan = atomic_load_explicit(&lazy->plan, memory_order_acquire);
    if (plan)
        return plan;
    pthread_mutex_lock(&lazy->guard);
    plan = atomic_load_explicit(&lazy->plan, memory_order_relaxed);
    if (!plan) {
        plan = vf_fft_rows_make_apart(axis->type, (int)axis->n, VF_FFT_LINES);
        atomic_store_explicit(&lazy->plan, plan, memory_order_release);
    }
    pthread_mutex_unlock(&lazy->guard);
    return plan;
}

static vf_status make_lazy(vf_fft_axis *axis)
{
    axis->lazy = calloc(1, sizeof *axis->lazy);
    if (axis->lazy && pthread_mutex_init(&axis->lazy->guard, NULL) != 0) {
        free(axis->lazy);
        axis->lazy = NULL;
    }
    if (!axis->lazy)
        return vf_fail(axis->ctx, VF_ERR_MEMORY, "FFT: not enough memory for a plan");
    return axis->lanes || rows_of(axis)
               ? VF_OK
               : vf_fail(axis->ctx, VF_ERR_MEMORY, "FFT: not enough memory, or FFTW cannot make a plan");
}

vf_status vf_fft_axis_create(vf_context *ctx, vf_dtype type, int64_t n, vf_fft_axis **out)
{
    *out = NULL;
    vf_status status = vf_check_complex(ctx, "FFT", type);
    if (status != VF_OK)
        return status;
    if (n < 1 || n > INT32_MAX)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "FFT: lines of length %lld are not supported", (long long)n);
    vf_fft_axis *axis = calloc(1, sizeof *axis);
    if (!axis)
        return vf_fail(ctx, VF_ERR_MEMORY, "FFT: not enough memory for a plan");
    axis->ctx = ctx;
    axis->type = type;
    axis->n = n;
    axis->threads = vf_context_threads(ctx);
    axis->gather = moves_here()->gather[type == VF_C128];
    axis->scatter = moves_here()->scatter[type == VF_C128];
    axis->raise = moves_here()->raise[type == VF_C128];
    axis->lower = moves_here()->lower[type == VF_C128];
    axis->element = vf_dtype_bytes(type);
    /* The gap makes the threads' rows begin at different offsets in a page. */
    axis->half_bytes = ((size_t)n * VF_FFT_LINES * axis->element + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    axis->thread_bytes = 2 * axis->half_bytes + THREAD_GAP;
    status = make_lanes(axis);
    VF_TRY(status, make_lazy(axis));
    if (status == VF_OK) {
        axis->rows = aligned_alloc(ALIGNMENT, axis->thread_bytes * (size_t)axis->threads);
        if (!axis->rows)
            status = vf_fail(ctx, VF_ERR_MEMORY, "FFT: not enough memory for %d lines of length %lld", VF_FFT_LINES,
                             (long long)n);
        else
            memset(axis->rows, 0, axis->thread_bytes * (size_t)axis->threads);
    }
    if (status != VF_OK) {
        vf_fft_axis_destroy(axis);
        return status;
    }
    *out = axis;
    return VF_OK;
}

void vf_fft_axis_destroy(vf_fft_axis *axis)
{
    if (!axis)
        return;
    if (axis->lazy) {
        vf_fft_rows_destroy(atomic_load_explicit(&axis->lazy->plan, memory_order_relaxed));
        pthread_mutex_destroy(&axis->lazy->guard);
        free(axis->lazy);
    }
    fft_lanes_destroy(axis->lanes);
    free(axis->place[0]);
    free(axis->place[1]);
    free(axis->rows);
    free(axis);
}

int64_t vf_fft_axis_bytes(const vf_fft_axis *axis)
{
    return (int64_t)(axis->thread_bytes * (size_t)axis->threads);
}

int vf_fft_axis_threads(const vf_fft_axis *axis)
{
    return axis->threads;
}

void *vf_fft_axis_rows(const vf_fft_axis *axis, int thread)
{
    return axis->rows + axis->thread_bytes * (size_t)thread;
}

/* A span as at most two runs of rising indices: `count` points, starting at index `row` in the row and `memory` in the
 * span. */
typedef struct index_run {
    int64_t row, memory, count;
} index_run;

static int span_runs(vf_fft_span span, int64_t n, index_run runs[2])
{
    int64_t first = span.first < 0 ? span.first + n : span.first, head = n - first;
    if (head > span.count)
        head = span.count;
    runs[0] = (index_run){first, 0, head};
    runs[1] = (index_run){0, head, span.count - head};
    return runs[1].count > 0 ? 2 : 1;
}

/* The move of the points of one run: points r->memory ... of the lines, r->row ... of the rows. */
static fft_move move_of(const vf_fft_axis *axis, int lines, const vf_fft_lines *at, const index_run *r, void *rows)
{
    const size_t real = axis->element / 2;
    return (fft_move){.data = (char *)at->data + r->memory * at->point * (int64_t)axis->element,
                      .point = at->point,
                      .line = at->line,
                      .scale = at->scale ? (const char *)at->scale + (size_t)r->memory * real : NULL,
                      .rows = (char *)rows + (size_t)r->row * axis->element,
                      .row = axis->n,
                      .points = r->count,
                      .lines = lines};
}

/* Fills complete rows, with zeros outside the span: before and after a single run, or between two runs. */
static void gather(const vf_fft_axis *axis, int lines, const vf_fft_lines *src, void *rows)
{
    index_run runs[2];
    const int count = span_runs(src->span, axis->n, runs);
    const int64_t end = runs[count - 1].row + runs[count - 1].count, begin = count == 2 ? runs[0].row : axis->n;
    for (int l = 0; l < lines && src->span.count < axis->n; l++) {
        char *row = (char *)rows + (size_t)(l * axis->n) * axis->element;
        if (count == 1)
            memset(row, 0, (size_t)runs[0].row * axis->element);
        memset(row + (size_t)end * axis->element, 0, (size_t)(begin - end) * axis->element);
    }
    for (int r = 0; r < count; r++) {
        const fft_move move = move_of(axis, lines, src, &runs[r], rows);
        axis->gather(&move);
    }
}

static void scatter(const vf_fft_axis *axis, int lines, void *rows, const vf_fft_lines *dst)
{
    index_run runs[2];
    const int count = span_runs(dst->span, axis->n, runs);
    for (int r = 0; r < count; r++) {
        const fft_move move = move_of(axis, lines, dst, &runs[r], rows);
        axis->scatter(&move);
    }
}

static void *at(const vf_fft_axis *axis, const void *data, int64_t elements)
{
    return (char *)data + elements * (int64_t)axis->element;
}

/* The move of the points of one run. */
static fft_lane_move lane_move_of(const vf_fft_axis *axis, int lines, const vf_fft_lines *at, const index_run *r,
                                  const int32_t *place, void *side)
{
    const size_t real = axis->element / 2;
    return (fft_lane_move){.data = (char *)at->data + r->memory * at->point * (int64_t)axis->element,
                           .point = at->point,
                           .line = at->line,
                           .scale = at->scale ? (const char *)at->scale + (size_t)r->memory * real : NULL,
                           .side = side,
                           .place = place + r->row,
                           .points = r->count,
                           .lines = lines};
}

/* Lines side by side, with zeros outside the span: before and after a single run, or between two runs. */
static void raise_lines(const vf_fft_axis *axis, int lines, const vf_fft_lines *src, const int32_t *place, void *side)
{
    index_run runs[2];
    const int count = span_runs(src->span, axis->n, runs);
    const int64_t end = runs[count - 1].row + runs[count - 1].count, begin = count == 2 ? runs[0].row : axis->n;
    const fft_lane_move before = {.side = side, .place = place, .points = count == 1 ? runs[0].row : 0};
    const fft_lane_move after = {.side = side, .place = place + end, .points = begin - end};
    axis->raise(&before);
    axis->raise(&after);
    for (int r = 0; r < count; r++) {
        const fft_lane_move move = lane_move_of(axis, lines, src, &runs[r], place, side);
        axis->raise(&move);
    }
}

static void lower_lines(const vf_fft_axis *axis, int lines, void *side, const int32_t *place, const vf_fft_lines *dst)
{
    index_run runs[2];
    const int count = span_runs(dst->span, axis->n, runs);
    for (int r = 0; r < count; r++) {
        const fft_lane_move move = lane_move_of(axis, lines, dst, &runs[r], place, side);
        axis->lower(&move);
    }
}

/* Transforms lines side by side. */
static void do_lanes(const vf_fft_axis *axis, vf_fft_direction direction, int64_t lines, const vf_fft_lines *src,
                     const vf_fft_lines *dst, void *side)
{
    const int most = axis->lanes->simd->lanes;
    const bool back = direction == VF_FFT_BACKWARD;
    for (int64_t l = 0; l < lines; l += most) {
        const int count = lines - l < most ? (int)(lines - l) : most;
        vf_fft_lines from = *src, to = *dst;
        from.data = at(axis, src->data, l * src->line);
        to.data = at(axis, dst->data, l * dst->line);
        raise_lines(axis, count, &from, axis->place[back], side);
        (back ? fft_lanes_backward : fft_lanes_forward)(axis->lanes, side);
        lower_lines(axis, count, side, axis->place[!back], &to);
    }
}

void vf_fft_axis_lines(const vf_fft_axis *axis, vf_fft_direction direction, int64_t lines, const vf_fft_lines *src,
                       const vf_fft_lines *dst, void *rows)
{
    const bool few = !axis->lanes || (lines > 0 && lines * SHARE < axis->lanes->simd->lanes);
    const vf_fft_rows *const plan = few ? rows_of(axis) : NULL;
    if (!plan) { /* or without memory for it */
        do_lanes(axis, direction, lines, src, dst, rows);
        return;
    }
    void *after = (char *)rows + axis->half_bytes;
    for (int64_t l = 0; l < lines; l += VF_FFT_LINES) {
        int count = lines - l < VF_FFT_LINES ? (int)(lines - l) : VF_FFT_LINES;
        vf_fft_lines from = *src, to = *dst;
        from.data = at(axis, src->data, l * src->line);
        to.data = at(axis, dst->data, l * dst->line);
        gather(axis, count, &from, rows);
        /* Unused rows hold zeros or an earlier group; these are finite and as fast to transform as others. */
        vf_fft_rows_execute_apart(plan, direction, rows, after);
        scatter(axis, count, after, &to);
    }
}

vf_status vf_fft_axis_pass(const vf_fft_axis *axis, vf_fft_direction direction, int64_t lines, int64_t outer,
                           const vf_fft_lines *src, int64_t src_outer, const vf_fft_lines *dst, int64_t dst_outer)
{
    int64_t groups = (lines + VF_FFT_LINES - 1) / VF_FFT_LINES, total = groups * outer;
    const int threads = vf_threads_of_plan(axis->ctx, axis->threads, 2 * lines * outer * axis->n);
    /* Neighbours together, if there are enough of them. */
    const int some = total < 8 * threads ? 1 : 4;
#pragma omp parallel for schedule(dynamic, some) num_threads(threads)
    for (int64_t g = 0; g < total; g++) {
        if (vf_cancelled(axis->ctx))
            continue;
        const int thread = omp_get_thread_num();
        int64_t first = g % groups * VF_FFT_LINES, o = g / groups;
        int64_t count = lines - first < VF_FFT_LINES ? lines - first : VF_FFT_LINES;
        vf_fft_lines from = *src, to = *dst;
        from.data = at(axis, src->data, o * src_outer + first * src->line);
        to.data = at(axis, dst->data, o * dst_outer + first * dst->line);
        vf_fft_axis_lines(axis, direction, count, &from, &to, vf_fft_axis_rows(axis, thread));
    }
    return vf_cancelled(axis->ctx) ? vf_fail(axis->ctx, VF_ERR_CANCELLED, "interrupted") : VF_OK;
}
