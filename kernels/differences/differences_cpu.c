/* The CPU backend. Gradients: OpenMP threads take rows along x; term after term of the stencil is added while the row
 * is in the cache. Thresholds and norms: threads take chunks of fixed size, so their number does not change bits. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "differences_backend.h"
#include "voxfield/team_size.h"

/* ---- gradients ---- */

#define DEFINE_ADD_SCALED(name, real)                                                                                  \
    static void name(int64_t n, real scale, const real *restrict x, real *restrict y)                                  \
    {                                                                                                                  \
        for (int64_t i = 0; i < n; i++)                                                                                \
            y[i] += scale * x[i];                                                                                      \
    }
DEFINE_ADD_SCALED(add_scaled_f32, float)
DEFINE_ADD_SCALED(add_scaled_f64, double)
#undef DEFINE_ADD_SCALED

typedef struct job {
    vf_dtype type;
    const stencil *s;
    const char *in;
    char *out;
} job;

/* Adds a term to the row of an output that begins at voxel `at`. */
static void add_term_to_row(const job *j, int output, const stencil_term *t, int64_t at)
{
    const stencil *s = j->s;
    int64_t step = 1;
    for (int a = 0; a < t->axis; a++)
        step *= s->counts[a];
    const int64_t extent = s->counts[t->axis], place = at / step % extent + t->inside;
    int64_t n = s->counts[0];
    if (t->axis == 0) { /* all of the row but its first or last voxel */
        at += t->inside < 0;
        n--;
    } else if (place < 0 || place >= extent) {
        return;
    }
    const int64_t from = 2 * (t->input * s->voxels + at + t->shift * step), to = 2 * (output * s->voxels + at);
    if (j->type == VF_C128)
        add_scaled_f64(2 * n, (double)t->scale, (const double *)j->in + from, (double *)j->out + to);
    else
        add_scaled_f32(2 * n, t->scale, (const float *)j->in + from, (float *)j->out + to);
}

static vf_status apply(vf_queue *queue, vf_dtype type, const stencil *s, const void *in, void *out)
{
    vf_context *ctx = vf_device_context(vf_queue_device(queue));
    const int64_t rows = s->voxels / s->counts[0];
    const size_t element = vf_dtype_bytes(type);
    const job j = {.type = type, .s = s, .in = in, .out = out};
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(ctx, 2 * s->outputs * s->voxels))
    for (int64_t r = 0; r < rows; r++)
        for (int o = 0; o < s->outputs; o++) {
            const int64_t at = r * s->counts[0];
            memset(j.out + (size_t)(o * s->voxels + at) * element, 0, (size_t)s->counts[0] * element);
            for (int t = 0; t < s->terms[o]; t++)
                add_term_to_row(&j, o, &s->term[o][t], at);
        }
    return VF_OK;
}

/* ---- thresholds and norms ---- */

enum { CHUNK = 1024 };

/* r(i) for i in [at, at + n), and z = v max(0, 1 - threshold / r) there. */
#define DEFINE_GROUPS(lengths, shrink, real)                                                                           \
    static void lengths(const group_field *f, int64_t at, int64_t n, const real *v, double *restrict r)                \
    {                                                                                                                  \
        for (int64_t i = 0; i < n; i++)                                                                                \
            r[i] = 0;                                                                                                  \
        for (int g = 0; g < f->groups; g++) {                                                                          \
            const real *x = v + 2 * (g * f->n + at);                                                                   \
            const double w = f->weights[g];                                                                            \
            for (int64_t i = 0; i < n; i++) {                                                                          \
                const double re = (double)x[2 * i], im = (double)x[2 * i + 1];                                         \
                r[i] += w * (re * re + im * im);                                                                       \
            }                                                                                                          \
        }                                                                                                              \
        for (int64_t i = 0; i < n; i++)                                                                                \
            r[i] = sqrt(r[i]);                                                                                         \
    }                                                                                                                  \
    static void shrink(const group_field *f, int64_t at, int64_t n, const double *restrict factor, const real *v,      \
                       real *z)                                                                                        \
    {                                                                                                                  \
        for (int g = 0; g < f->groups; g++) {                                                                          \
            const real *x = v + 2 * (g * f->n + at);                                                                   \
            real *y = z + 2 * (g * f->n + at);                                                                         \
            for (int64_t i = 0; i < n; i++) {                                                                          \
                y[2 * i] = (real)(factor[i] * (double)x[2 * i]);                                                       \
                y[2 * i + 1] = (real)(factor[i] * (double)x[2 * i + 1]);                                               \
            }                                                                                                          \
        }                                                                                                              \
    }
DEFINE_GROUPS(lengths_f32, shrink_f32, float)
DEFINE_GROUPS(lengths_f64, shrink_f64, double)
#undef DEFINE_GROUPS

static int64_t chunk_lengths(const group_field *f, vf_dtype type, int64_t chunk, const void *v, double *r)
{
    const int64_t at = chunk * CHUNK, n = f->n - at < CHUNK ? f->n - at : CHUNK;
    if (type == VF_C128)
        lengths_f64(f, at, n, v, r);
    else
        lengths_f32(f, at, n, v, r);
    return n;
}

static void soft_chunk(const group_field *f, vf_dtype type, int64_t chunk, double threshold, const void *v, void *z)
{
    double r[CHUNK];
    const int64_t n = chunk_lengths(f, type, chunk, v, r);
    for (int64_t i = 0; i < n; i++) /* a NaN stays: no comparison with it is true */
        r[i] = r[i] <= threshold ? 0 : 1 - threshold / r[i];
    if (type == VF_C128)
        shrink_f64(f, chunk * CHUNK, n, r, v, z);
    else
        shrink_f32(f, chunk * CHUNK, n, r, v, z);
}

static vf_status soft(vf_queue *queue, vf_dtype type, const group_field *f, double threshold, const void *v, void *z)
{
    const vf_context *ctx = vf_device_context(vf_queue_device(queue));
    const int64_t chunks = (f->n + CHUNK - 1) / CHUNK;
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(ctx, 2 * f->groups * f->n))
    for (int64_t c = 0; c < chunks; c++)
        soft_chunk(f, type, c, threshold, v, z);
    return VF_OK;
}

static vf_status norm(vf_queue *queue, vf_dtype type, const group_field *f, const void *v, double *sum)
{
    vf_context *ctx = vf_device_context(vf_queue_device(queue));
    const int64_t chunks = (f->n + CHUNK - 1) / CHUNK;
    double *of_chunk = calloc((size_t)chunks, sizeof *of_chunk);
    if (!of_chunk)
        return vf_fail(ctx, VF_ERR_MEMORY, "group norm: not enough memory");
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(ctx, 2 * f->groups * f->n))
    for (int64_t c = 0; c < chunks; c++) {
        double r[CHUNK];
        const int64_t n = chunk_lengths(f, type, c, v, r);
        for (int64_t i = 0; i < n; i++)
            of_chunk[c] += r[i];
    }
    for (int64_t c = 0; c < chunks; c++)
        *sum += of_chunk[c];
    free(of_chunk);
    return VF_OK;
}

const vf_gradient_backend vf_gradient_cpu = {.kind = VF_DEVICE_CPU, .apply = apply, .soft = soft, .norm = norm};
