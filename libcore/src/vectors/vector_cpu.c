/* Vectors on the CPU: threads take chunks of a fixed length; sums are those of reduce_internal.h. All is bound by
 * memory bandwidth, so the compiler's own vectors do. */
#include <string.h>

#include "reduce/reduce_internal.h"
#include "vector_internal.h"

enum { CHUNK = 16384, BLOCK = 2048 };

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

static vf_status dot(vf_queue *queue, vf_dtype type, int64_t n, const void *x, const void *y, double result[2])
{
    vf_reduced sum;
    vf_reduce_on_cpu(queue, VF_REDUCE_DOT, type, n, x, y, &sum);
    result[0] = sum.re;
    result[1] = sum.im;
    return VF_OK;
}

typedef struct step {
    vf_dtype type;
    double a;
    const char *p, *q;
    char *x, *r;
    vf_reduce_chunk squares;
} step;

/* In blocks, whose squares are added up while the cache has them. */
static void step_chunk(const void *user, int64_t at, int64_t count, void *state)
{
    const step *s = user;
    const size_t size = vf_dtype_bytes(s->type);
    double sum = 0;
    for (int64_t i = at; i < at + count; i += BLOCK) {
        const int64_t here = at + count - i < BLOCK ? at + count - i : BLOCK;
        const size_t from = (size_t)i * size;
        vf_reduced squares;
        if (s->type == VF_C128)
            cg_step_f64(here, s->a, (const double *)(s->p + from), (const double *)(s->q + from),
                        (double *)(s->x + from), (double *)(s->r + from));
        else
            cg_step_f32(here, (float)s->a, (const float *)(s->p + from), (const float *)(s->q + from),
                        (float *)(s->x + from), (float *)(s->r + from));
        s->squares(here, s->r + from, NULL, &squares);
        sum += squares.re;
    }
    memcpy(state, &sum, sizeof sum);
}

static void add(void *state, const void *next)
{
    *(double *)state += *(const double *)next;
}

static vf_status cg_step(vf_queue *queue, vf_dtype type, int64_t n, double a, const void *p, const void *q, void *x,
                         void *r, double *squares)
{
    const step s = {type, a, p, q, x, r, vf_reduce_chunk_of(VF_REDUCE_SQUARES, type)};
    const vf_chunked what = {&s, step_chunk, add};
    vf_reduce_in_chunks(queue, n, &what, squares);
    return VF_OK;
}

const vf_vector_ops vf_vector_cpu = {axpby, multiply_add, scale_by, dot, cg_step};
