/* Reductions on the CPU: threads take chunks whose length depends only on n. The chunks' results are combined in
 * order. */
#include <string.h>

#include "reduce_internal.h"
#include "voxfield/team_size.h"

/* LEAST: elements of a chunk, at least; chunks are multiples of STEP. */
enum { LEAST = 16384, STEP = 64 };

int64_t vf_reduce_chunk_length(int64_t n)
{
    const int64_t length = (n / VF_MOST_CHUNKS / STEP + 1) * STEP; /* a multiple of every vector length */
    return length < LEAST ? LEAST : length;
}

void vf_reduce_in_chunks(vf_queue *queue, int64_t n, const vf_chunked *what, void *state)
{
    /* One cache line each, to avoid false sharing. */
    _Alignas(64) unsigned char states[VF_MOST_CHUNKS][VF_STATE_BYTES];
    const int64_t length = vf_reduce_chunk_length(n);
    const int chunks = (int)((n + length - 1) / length);
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(vf_device_context(vf_queue_device(queue)), n))
    for (int c = 0; c < chunks; c++) {
        const int64_t at = c * length;
        what->chunk(what->user, at, n - at < length ? n - at : length, states[c]);
    }
    for (int c = 0; c < chunks; c++)
        what->combine(state, states[c]);
}

static void add(void *state, const void *next)
{
    vf_reduced *s = state;
    const vf_reduced *t = next;
    s->re += t->re;
    s->im += t->im;
    s->integer = (int64_t)((uint64_t)s->integer + (uint64_t)t->integer);
}

static void multiply(void *state, const void *next)
{
    vf_reduced *s = state;
    const vf_reduced *t = next;
    s->re *= t->re;
    s->integer = (int64_t)((uint64_t)s->integer * (uint64_t)t->integer);
}

static void multiply_complex(void *state, const void *next)
{
    vf_reduced *s = state;
    const vf_reduced *t = next;
    const double re = s->re;
    s->re = re * t->re - s->im * t->im;
    s->im = re * t->im + s->im * t->re;
}

static void keep_common(void *state, const void *next)
{
    ((vf_reduced *)state)->integer &= ((const vf_reduced *)next)->integer;
}

static void keep_any(void *state, const void *next)
{
    ((vf_reduced *)state)->integer |= ((const vf_reduced *)next)->integer;
}

/* Keeps the first of two extremes, unless the second is better. Either `re` or `integer` is used; the other is 0. */
static void keep_least(void *state, const void *next)
{
    vf_reduced *s = state;
    const vf_reduced *t = next;
    if (s->index < 0 || t->integer < s->integer || (!(s->re <= t->re) && s->re == s->re))
        *s = *t;
}

static void keep_greatest(void *state, const void *next)
{
    vf_reduced *s = state;
    const vf_reduced *t = next;
    if (s->index < 0 || t->integer > s->integer || (!(s->re >= t->re) && s->re == s->re))
        *s = *t;
}

vf_reduce_append vf_reduce_append_of(vf_reduction reduction, vf_dtype type)
{
    switch (reduction) {
    case VF_REDUCE_MIN:
        return keep_least;
    case VF_REDUCE_MAX:
        return keep_greatest;
    case VF_REDUCE_PRODUCT:
        return type == VF_C64 || type == VF_C128 ? multiply_complex : multiply;
    case VF_REDUCE_AND:
        return keep_common;
    case VF_REDUCE_OR:
        return keep_any;
    default:
        return add;
    }
}

typedef struct arrays {
    const char *x, *y;
    size_t size;
    vf_reduce_chunk chunk;
} arrays;

static void reduce_chunk(const void *user, int64_t at, int64_t count, void *state)
{
    const arrays *a = user;
    vf_reduced reduced = {0};
    a->chunk(count, a->x + (size_t)at * a->size, a->y ? a->y + (size_t)at * a->size : NULL, &reduced);
    reduced.index += at;
    memcpy(state, &reduced, sizeof reduced);
}

vf_reduce_chunk vf_reduce_chunk_of(vf_reduction reduction, vf_dtype type)
{
    switch (vf_cpu_isa()) {
    case VF_ISA_AVX512:
        return vf_reduce_chunks_avx512[reduction][type];
    case VF_ISA_AVX2:
        return vf_reduce_chunks_avx2[reduction][type];
    default:
        return vf_reduce_chunks_baseline[reduction][type];
    }
}

void vf_reduce_on_cpu(vf_queue *queue, vf_reduction reduction, vf_dtype type, int64_t n, const void *x, const void *y,
                      vf_reduced *result)
{
    const bool extreme = reduction == VF_REDUCE_MIN || reduction == VF_REDUCE_MAX;
    const arrays a = {x, y, vf_dtype_bytes(type), vf_reduce_chunk_of(reduction, type)};
    const vf_chunked what = {&a, reduce_chunk, vf_reduce_append_of(reduction, type)};
    vf_reduced all = vf_reduce_identity(reduction, type);
    vf_reduce_in_chunks(queue, n, &what, &all);
    if (!extreme)
        all.index = 0;
    *result = all;
}

static vf_status create(vf_reduce *plan)
{
    (void)plan;
    return VF_OK;
}

static void destroy(vf_reduce *plan)
{
    (void)plan;
}

static vf_status execute(const vf_reduce *plan, vf_queue *queue, int64_t n, const void *x, const void *y,
                         vf_reduced *result)
{
    vf_reduce_on_cpu(queue, plan->reduction, plan->type, n, x, y, result);
    return VF_OK;
}

const vf_reduce_ops vf_reduce_ops_cpu = {create, destroy, execute, execute};
