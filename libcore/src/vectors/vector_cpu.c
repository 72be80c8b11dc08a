/* Vectors on the CPU. Threads take chunks of a fixed length; sums use reduce_internal.h. Memory bandwidth is the limit,
 * so the compiler's vectorization is enough. */
#include <string.h>

#include "reduce/reduce_internal.h"
#include "vector_internal.h"
#include "voxfield/team_size.h"

enum { CHUNK = 16384, BLOCK = 2048 };

#define PARTS 1
#define REAL float
#define NAME(x) x##_f32
#include "vector_cpu.inc"
#undef REAL
#undef NAME

#define REAL double
#define NAME(x) x##_f64
#include "vector_cpu.inc"
#undef REAL
#undef NAME
#undef PARTS

#define PARTS 2
#define REAL float
#define NAME(x) x##_c64
#include "vector_cpu.inc"
#undef REAL
#undef NAME

#define REAL double
#define NAME(x) x##_c128
#include "vector_cpu.inc"

/* Calls what##_f32 etc. for the type. Pointers are void *; numbers are rounded to the type's precision. */
#define BY_TYPE(type, what, ...)                                                                                       \
    do {                                                                                                               \
        if ((type) == VF_F32)                                                                                          \
            what##_f32(__VA_ARGS__);                                                                                   \
        else if ((type) == VF_F64)                                                                                     \
            what##_f64(__VA_ARGS__);                                                                                   \
        else if ((type) == VF_C64)                                                                                     \
            what##_c64(__VA_ARGS__);                                                                                   \
        else                                                                                                           \
            what##_c128(__VA_ARGS__);                                                                                  \
    } while (0)

/* Element i of a vector. */
static const void *in(const void *vector, vf_dtype type, int64_t i)
{
    return (const char *)vector + (size_t)i * vf_dtype_bytes(type);
}

static void *to(void *vector, vf_dtype type, int64_t i)
{
    return (char *)vector + (size_t)i * vf_dtype_bytes(type);
}

/* Runs `body` for chunks of n elements. In it, `at` is the first element, `here` the number of elements, `chunk` the
 * chunk's number. */
#define FOR_CHUNKS(queue, n, body)                                                                                     \
    do {                                                                                                               \
        const int64_t chunks_ = ((n) + CHUNK - 1) / CHUNK;                                                             \
        const int threads_ = vf_threads_for(vf_device_context(vf_queue_device(queue)), (n));                           \
        _Pragma("omp parallel for schedule(static) num_threads(threads_)") for (int64_t chunk = 0; chunk < chunks_;    \
                                                                                chunk++)                               \
        {                                                                                                              \
            const int64_t at = chunk * CHUNK, here = (n)-at < CHUNK ? (n)-at : CHUNK;                                  \
            body;                                                                                                      \
        }                                                                                                              \
    } while (0)

static vf_status axpby(vf_queue *queue, vf_dtype type, int64_t n, double a, const void *x, double b, void *y)
{
    FOR_CHUNKS(queue, n, BY_TYPE(type, axpby, here, a, in(x, type, at), b, to(y, type, at)));
    return VF_OK;
}

static vf_status multiply_add(vf_queue *queue, vf_dtype type, int64_t n, const void *x, const void *y, void *z)
{
    FOR_CHUNKS(queue, n, BY_TYPE(type, multiply_add, here, in(x, type, at), in(y, type, at), to(z, type, at)));
    return VF_OK;
}

static vf_status scale_by(vf_queue *queue, vf_dtype type, int64_t n, const void *w, const void *x, void *y)
{
    const vf_dtype real = vf_dtype_real(type);
    FOR_CHUNKS(queue, n, BY_TYPE(type, scale_by, here, in(w, real, at), in(x, type, at), to(y, type, at)));
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
    const void *p, *q;
    void *x, *r;
    vf_reduce_chunk squares;
} step;

/* Works in blocks, so that the squares are added up while the data are in cache. */
static void step_chunk(const void *user, int64_t at, int64_t count, void *state)
{
    const step *s = user;
    double sum = 0;
    for (int64_t i = at; i < at + count; i += BLOCK) {
        const int64_t here = at + count - i < BLOCK ? at + count - i : BLOCK;
        vf_reduced squares;
        BY_TYPE(s->type, cg_step, here, s->a, in(s->p, s->type, i), in(s->q, s->type, i), to(s->x, s->type, i),
                to(s->r, s->type, i));
        s->squares(here, in(s->r, s->type, i), NULL, &squares);
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
