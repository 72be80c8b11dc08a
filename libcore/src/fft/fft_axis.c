#include "voxfield/fft_axis.h"

#include <stdlib.h>
#include <string.h>

#ifdef _OPENMP
#include <omp.h>
#endif

#include "device/arguments.h"

struct vf_fft_axis {
    vf_context *ctx;
    vf_dtype type;
    int64_t n;
    vf_fft_rows *plan;
    int threads;
    size_t row_bytes, thread_bytes;
    char *rows; /* [threads][VF_FFT_LINES][n], each thread's part 64-byte aligned */
};

/* BLOCK: points moved at a time. In complex single precision they fill a cache line of a row. */
enum { BLOCK = 8, ALIGNMENT = 64, THREAD_GAP = 256 };

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
    axis->row_bytes = (size_t)n * (type == VF_C128 ? 2 * sizeof(double) : 2 * sizeof(float));
    /* The gap makes the threads' rows begin at different offsets in a page. */
    axis->thread_bytes = (axis->row_bytes * VF_FFT_LINES + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT + THREAD_GAP;
    status = vf_fft_rows_create(ctx, type, n, VF_FFT_LINES, &axis->plan);
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
    vf_fft_rows_destroy(axis->plan);
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

#define REAL float
#define NAME(x) x##_c64
#include "fft_axis_move.inc"
#undef REAL
#undef NAME

#define REAL double
#define NAME(x) x##_c128
#include "fft_axis_move.inc"
#undef REAL
#undef NAME

void vf_fft_axis_gather(const vf_fft_axis *axis, int lines, const vf_fft_lines *src, void *rows)
{
    index_run runs[2];
    int count = span_runs(src->span, axis->n, runs);
    size_t element = axis->row_bytes / (size_t)axis->n;
    int64_t end = runs[count - 1].row + runs[count - 1].count, begin = count == 2 ? runs[0].row : 0;
    /* Zero the points outside the span: before and after a single run, or between two runs. */
    for (int l = 0; l < lines && src->span.count < axis->n; l++) {
        char *row = (char *)rows + (size_t)l * axis->row_bytes;
        if (count == 1) {
            memset(row, 0, (size_t)runs[0].row * element);
            begin = axis->n;
        }
        memset(row + (size_t)end * element, 0, (size_t)(begin - end) * element);
    }
    for (int r = 0; r < count; r++)
        if (axis->type == VF_C128)
            gather_c128(axis->n, lines, src, &runs[r], rows);
        else
            gather_c64(axis->n, lines, src, &runs[r], rows);
}

void vf_fft_axis_transform(const vf_fft_axis *axis, vf_fft_direction direction, void *rows)
{
    vf_fft_rows_execute(axis->plan, direction, rows);
}

void vf_fft_axis_scatter(const vf_fft_axis *axis, int lines, const void *rows, const vf_fft_lines *dst)
{
    index_run runs[2];
    int count = span_runs(dst->span, axis->n, runs);
    for (int r = 0; r < count; r++)
        if (axis->type == VF_C128)
            scatter_c128(axis->n, lines, rows, dst, &runs[r]);
        else
            scatter_c64(axis->n, lines, rows, dst, &runs[r]);
}

static void *at(const vf_fft_axis *axis, const void *data, int64_t elements)
{
    return (char *)data + elements * (int64_t)(axis->row_bytes / (size_t)axis->n);
}

void vf_fft_axis_lines(const vf_fft_axis *axis, vf_fft_direction direction, int64_t lines, const vf_fft_lines *src,
                       const vf_fft_lines *dst, void *rows)
{
    for (int64_t l = 0; l < lines; l += VF_FFT_LINES) {
        int count = lines - l < VF_FFT_LINES ? (int)(lines - l) : VF_FFT_LINES;
        vf_fft_lines from = *src, to = *dst;
        from.data = at(axis, src->data, l * src->line);
        to.data = at(axis, dst->data, l * dst->line);
        vf_fft_axis_gather(axis, count, &from, rows);
        /* Unused rows hold zeros or an earlier group; these are finite and as fast to transform as others. */
        vf_fft_axis_transform(axis, direction, rows);
        vf_fft_axis_scatter(axis, count, rows, &to);
    }
}

vf_status vf_fft_axis_pass(const vf_fft_axis *axis, vf_fft_direction direction, int64_t lines, int64_t outer,
                           const vf_fft_lines *src, int64_t src_outer, const vf_fft_lines *dst, int64_t dst_outer)
{
    int64_t groups = (lines + VF_FFT_LINES - 1) / VF_FFT_LINES, total = groups * outer;
    /* Wake only as many threads as the work is worth. */
    int64_t worth = total * VF_FFT_LINES * axis->n / 8192 + 1;
    int threads = vf_context_threads(axis->ctx) < axis->threads ? vf_context_threads(axis->ctx) : axis->threads;
    threads = worth < threads ? (int)worth : threads;
#pragma omp parallel for schedule(dynamic, 4) num_threads(threads) if (threads > 1)
    for (int64_t g = 0; g < total; g++) {
        if (vf_cancelled(axis->ctx))
            continue;
        int thread = 0;
#ifdef _OPENMP
        thread = omp_get_thread_num();
#endif
        int64_t first = g % groups * VF_FFT_LINES, o = g / groups;
        int64_t count = lines - first < VF_FFT_LINES ? lines - first : VF_FFT_LINES;
        vf_fft_lines from = *src, to = *dst;
        from.data = at(axis, src->data, o * src_outer + first * src->line);
        to.data = at(axis, dst->data, o * dst_outer + first * dst->line);
        vf_fft_axis_lines(axis, direction, count, &from, &to, vf_fft_axis_rows(axis, thread));
    }
    return vf_cancelled(axis->ctx) ? vf_fail(axis->ctx, VF_ERR_CANCELLED, "interrupted") : VF_OK;
}
