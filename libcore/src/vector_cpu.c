/* Vectors on the CPU: threads take chunks of a fixed length; partial sums are added in the order of the chunks. All is
 * bound by memory bandwidth, so the compiler's own vectors do. */
#include <stdlib.h>
#include <string.h>

#include "vector_internal.h"

enum { CHUNK = 16384, COLUMNS = 8 };

#define REAL float
#define NAME(x) x##_f32
#include "vector_cpu.inc"
#undef REAL
#undef NAME

#define REAL double
#define NAME(x) x##_f64
#include "vector_cpu.inc"

static int threads_for(vf_queue *queue, int64_t chunks)
{
    int threads = vf_context_threads(vf_device_context(vf_queue_device(queue)));
    return chunks < threads ? (int)chunks : threads;
}

/* Runs `body` for chunks of n elements: `at` the first, `here` how many, `chunk` the number. */
#define FOR_CHUNKS(queue, n, body)                                                                                     \
    do {                                                                                                               \
        const int64_t chunks_ = ((n) + CHUNK - 1) / CHUNK;                                                             \
        const int threads_ = threads_for(queue, chunks_);                                                              \
        _Pragma("omp parallel for schedule(static) num_threads(threads_) if (threads_ > 1)") for (int64_t chunk = 0;   \
                                                                                                  chunk < chunks_;     \
                                                                                                  chunk++)             \
        {                                                                                                              \
            const int64_t at = chunk * CHUNK, here = (n)-at < CHUNK ? (n)-at : CHUNK;                                  \
            body;                                                                                                      \
        }                                                                                                              \
    } while (0)

static vf_status zero(vf_queue *queue, vf_dtype type, int64_t n, void *x)
{
    const size_t size = vf_dtype_bytes(type);
    FOR_CHUNKS(queue, n, memset((char *)x + (size_t)at * size, 0, (size_t)here * size));
    return VF_OK;
}

static vf_status axpby(vf_queue *queue, vf_dtype type, int64_t n, double a, const void *x, double b, void *y)
{
    if (type == VF_C128)
        FOR_CHUNKS(queue, n, axpby_f64(here, a, (const double *)x + 2 * at, b, (double *)y + 2 * at));
    else
        FOR_CHUNKS(queue, n, axpby_f32(here, (float)a, (const float *)x + 2 * at, (float)b, (float *)y + 2 * at));
    return VF_OK;
}

static vf_status multiply_add(vf_queue *queue, vf_dtype type, int64_t n, const void *x, const void *y, void *z)
{
    if (type == VF_C128)
        FOR_CHUNKS(
            queue, n,
            multiply_add_f64(here, (const double *)x + 2 * at, (const double *)y + 2 * at, (double *)z + 2 * at));
    else
        FOR_CHUNKS(queue, n,
                   multiply_add_f32(here, (const float *)x + 2 * at, (const float *)y + 2 * at, (float *)z + 2 * at));
    return VF_OK;
}

static vf_status scale_by(vf_queue *queue, vf_dtype type, int64_t n, const void *w, const void *x, void *y)
{
    if (type == VF_C128)
        FOR_CHUNKS(queue, n,
                   scale_by_f64(here, (const double *)w + at, (const double *)x + 2 * at, (double *)y + 2 * at));
    else
        FOR_CHUNKS(queue, n, scale_by_f32(here, (const float *)w + at, (const float *)x + 2 * at, (float *)y + 2 * at));
    return VF_OK;
}

static vf_status place(vf_queue *queue, vf_dtype type, const int64_t counts[3], const void *x, const int64_t whole[3],
                       const int64_t at[3], void *y)
{
    const size_t size = vf_dtype_bytes(type), row = (size_t)counts[0] * size;
    const int64_t rows = counts[1] * counts[2];
    const int threads = threads_for(queue, rows * counts[0] / CHUNK + 1);
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (int64_t r = 0; r < rows; r++) {
        const int64_t to = ((at[2] + r / counts[1]) * whole[1] + at[1] + r % counts[1]) * whole[0] + at[0];
        memcpy((char *)y + (size_t)to * size, (const char *)x + (size_t)r * row, row);
    }
    return VF_OK;
}

/* Room for a pair of sums a chunk. */
static double *partial_sums(vf_queue *queue, int64_t n)
{
    double *sums = calloc((size_t)((n + CHUNK - 1) / CHUNK + 1), 2 * sizeof *sums);
    if (!sums)
        (void)vf_fail(vf_device_context(vf_queue_device(queue)), VF_ERR_MEMORY, "no memory for partial sums");
    return sums;
}

static vf_status dot(vf_queue *queue, vf_dtype type, int64_t n, const void *x, const void *y, double result[2])
{
    double *sums = partial_sums(queue, n);
    if (!sums)
        return VF_ERR_MEMORY;
    if (type == VF_C128)
        FOR_CHUNKS(queue, n, dot_f64(here, (const double *)x + 2 * at, (const double *)y + 2 * at, sums + 2 * chunk));
    else
        FOR_CHUNKS(queue, n, dot_f32(here, (const float *)x + 2 * at, (const float *)y + 2 * at, sums + 2 * chunk));
    for (int64_t c = 0; c * CHUNK < n; c++) {
        result[0] += sums[2 * c];
        result[1] += sums[2 * c + 1];
    }
    free(sums);
    return VF_OK;
}

static vf_status cg_step(vf_queue *queue, vf_dtype type, int64_t n, double a, const void *p, const void *q, void *x,
                         void *r, double *squares)
{
    double *sums = partial_sums(queue, n);
    if (!sums)
        return VF_ERR_MEMORY;
    if (type == VF_C128)
        FOR_CHUNKS(queue, n,
                   sums[chunk] = cg_step_f64(here, a, (const double *)p + 2 * at, (const double *)q + 2 * at,
                                             (double *)x + 2 * at, (double *)r + 2 * at));
    else
        FOR_CHUNKS(queue, n,
                   sums[chunk] = cg_step_f32(here, (float)a, (const float *)p + 2 * at, (const float *)q + 2 * at,
                                             (float *)x + 2 * at, (float *)r + 2 * at));
    for (int64_t c = 0; c * CHUNK < n; c++)
        *squares += sums[c];
    free(sums);
    return VF_OK;
}

const vf_vector_ops vf_vector_cpu = {zero, axpby, multiply_add, scale_by, dot, place, cg_step};
