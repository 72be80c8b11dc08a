/* Random k-space samples and images for the Fourier sum, plans run with guards around their output, every variant of a
 * device in turn, and the error bound.
 *
 * The error bound, from the arithmetic. u is the unit roundoff (2^-24 or 2^-53), S = sum |c| over the terms.
 *   phase    rounded to the precision once it is within 1/2 turn: 2^-2 u turns = 1.6 u in angle. On a GPU in single
 *            precision the phase of a grid is a whole number of 2^-32 turns: three steps of at most half the grid,
 *            each off by 2^-33, for up to 512 points along an axis 2^-23.4 turns together, 10 u. For arbitrary points
 *            it is a sum of ten terms within 3/2 turns, rounded to 2^-24 turns at most: 2^-22.4 turns together, 19 u.
 *            For voxels in groups (fourier_sum_groups.cu), it is within 8 turns after each of four sums, 2^-22 turns
 *            each, 100 u; distances from the group's centre are rounded to 2^-24 of what makes 8 turns, 25 u; and the
 *            phase there is off by 2^-24, 7 u. Hardware trigonometry truncates a product of all, 2^-20 turns, 100 u.
 *   trig     cosine and sine within 2.5 u each (fourier_sum_simd_ops.h; CUDA C++ Programming Guide: sincospif 2 ulp
 *            at most), 3.6 u as a complex number. Hardware: 2^-21.2 each (same guide, __sinf, __cosf), 10 u
 *            together.
 *   factors  an exponential is a product of up to 4, and of c: 4 products at 2.3 u, 4 factors at 3.6 + 1.6 u: 30 u.
 *     On tensor cores each factor is split into two numbers of 11 bits: 2^-22 each, 8 u, less than the rest.
 *   sum      a term, half of the real or imaginary part, passes through two additions for each of n terms, one
 *            rounding each: 2 n u S. n is CHUNK below; for the steps of a GPU, which add in the plan's precision,
 *            all terms. Tensor cores truncate sums, 2 u, 12 times in 32 samples, and 256 such sums are added: less.
 *   result   rounded once: u S.
 * Together (2 n + 48) u S, with hardware trigonometry 16 more, and 7 for phases of a grid, then rounded to 2^-24
 * turns. The published steps do not reduce the phase 2 pi (kx x + ky y + kz z). With A = |kx x| + |ky y| + |kz z|, at
 * most the phase in turns below, six roundings of at most u A turns each (position, product, two sums, 2 pi, and its
 * product) make 12 pi u A in angle. Hardware trigonometry turns it back into turns: two more for a truncated product,
 * one for 1 / (2 pi), 18 pi u A together. For the phase's own sum in double precision, which the reference shares, add 2 pi 2^-50 times the largest
 * phase in turns. Second-order terms: 1 %. This is for the worst signs. For random terms the root mean square
 * applies: test_large_k.
 */
#ifndef FOURIER_FIXTURE_H
#define FOURIER_FIXTURE_H

#include <math.h>

#include "device_fixture.h"
#include "fourier_sum.h"
#include "free_all.h"

enum { CHUNK = 512, SENTINEL = 64 };
#define PI 3.14159265358979323846264338327950288L

static vf_context *reference_ctx; /* of the CPU */

/* A problem: samples, voxels, and a vector of each kind for every coil. */
typedef struct problem {
    vf_grid grid;
    bool on_grid;
    int64_t samples, voxels;
    int batch;
    float *k, *time, *field; /* time and field: NULL without off-resonance */
    double *positions;
    double *c, *x; /* [batch][samples][2], [batch][voxels][2]; exact in single precision */
    double turns;  /* the most of any pair */
} problem;

static inline double *random_vector(int64_t count)
{
    double *v = calloc((size_t)count + 1, sizeof *v);
    assert_non_null(v);
    for (int64_t i = 0; i < count; i++)
        v[i] = (double)(float)(2 * uniform() - 1);
    return v;
}

enum { ON_GRID = 0, AT_POSITIONS = 1, OFF_RESONANCE = 2 };

/* k up to `k_max` along each axis. The grid spans a field of view, with 0 at voxel N/2. `kind`: see the enum above. */
static inline problem random_problem(int64_t samples, int64_t nx, int64_t ny, int64_t nz, int batch, double k_max,
                                     int kind)
{
    problem p = {.samples = samples, .voxels = nx * ny * nz, .batch = batch, .on_grid = !(kind & AT_POSITIONS)};
    int64_t counts[3] = {nx, ny, nz};
    for (int a = 0; a < 3; a++) {
        p.grid.counts[a] = counts[a];
        p.grid.spacing[a] = 1.0 / (double)counts[a];
        p.grid.origin[a] = -p.grid.spacing[a] * (double)(counts[a] / 2);
    }
    p.k = calloc((size_t)samples * 3 + 1, sizeof *p.k);
    assert_non_null(p.k);
    for (int64_t i = 0; i < 3 * samples; i++)
        p.k[i] = (float)(k_max * (2 * uniform() - 1));
    p.turns = 3 * k_max;
    if (kind & AT_POSITIONS) {
        p.positions = random_vector(3 * p.voxels);
        for (int64_t i = 0; i < 3 * p.voxels; i++)
            p.positions[i] += 1e-9 * uniform(); /* not exact in single precision */
    }
    if (kind & OFF_RESONANCE) {
        p.time = calloc((size_t)samples + 1, sizeof *p.time);
        p.field = calloc((size_t)p.voxels, sizeof *p.field);
        assert_true(p.time && p.field);
        for (int64_t i = 0; i < samples; i++)
            p.time[i] = (float)(0.1 * uniform());
        for (int64_t i = 0; i < p.voxels; i++)
            p.field[i] = (float)(1000 * uniform() - 500);
        p.turns += 50;
    }
    p.c = random_vector(2 * batch * samples);
    p.x = random_vector(2 * batch * p.voxels);
    return p;
}

static inline void free_problem(problem *p)
{
    FREE_ALL(p->k, p->time, p->field, p->positions, p->c, p->x);
}

static inline vf_fourier *make_plan(vf_device *on, const problem *p, const vf_fourier_options *o)
{
    vf_fourier *plan = NULL;
    vf_fourier_samples samples = {p->samples, p->k, p->time};
    vf_fourier_voxels voxels = {p->on_grid ? &p->grid : NULL, p->voxels, p->positions, p->field};
    if (vf_fourier_create(on, &samples, &voxels, p->batch, o, &plan) != VF_OK)
        fail_msg("%s", vf_context_message(vf_device_context(on)));
    return plan;
}

static inline void to_precision(vf_dtype type, const double *from, int64_t count, void *to)
{
    for (int64_t i = 0; i < count; i++)
        if (type == VF_F64)
            ((double *)to)[i] = from[i];
        else
            ((float *)to)[i] = (float)from[i];
}

static inline double value_at(vf_dtype type, const void *values, int64_t n)
{
    return type == VF_F64 ? ((const double *)values)[n] : (double)((const float *)values)[n];
}

/* Runs a direction of the problem's plan: the adjoint for voxels [first, first + count), or the forward sum. `out`:
 * the result in the plan's precision. Checks the guards around the output, which starts as NaN. */
static inline void execute(vf_device *on, vf_fourier *plan, const problem *p, vf_dtype type, bool forward,
                           const double *in, int64_t first, int64_t count, void *out)
{
    vf_queue *queue = NULL;
    vf_array source = {0}, result = {0}, host = {0};
    const int batch = p->batch;
    int64_t ins = 2 * batch * (forward ? p->voxels : p->samples), outs = 2 * batch * (forward ? p->samples : count);
    int64_t padded = outs + 2 * SENTINEL, most = padded > ins ? padded : ins;
    if (vf_queue_create(on, &queue) != VF_OK || vf_array_create(on, VF_SPACE_DEVICE, type, ins, &source) != VF_OK ||
        vf_array_create(on, VF_SPACE_DEVICE, type, padded, &result) != VF_OK ||
        vf_array_create(on, VF_SPACE_PINNED, type, most, &host) != VF_OK)
        fail_msg("%s", vf_context_message(vf_device_context(on)));
    size_t bytes = vf_dtype_bytes(type);
    to_precision(type, in, ins, host.data);
    assert_int_equal(vf_array_copy(queue, &source, &host, ins), VF_OK);
    assert_int_equal(vf_queue_sync(queue), VF_OK);
    memset(host.data, 0xff, (size_t)padded * bytes);
    assert_int_equal(vf_array_copy(queue, &result, &host, padded), VF_OK);
    void *at = (char *)result.data + SENTINEL * bytes;
    vf_status status = forward ? vf_fourier_forward(plan, queue, batch, source.data, at)
                               : vf_fourier_adjoint(plan, queue, batch, source.data, first, count, at);
    if (status != VF_OK || vf_array_copy(queue, &host, &result, padded) != VF_OK || vf_queue_sync(queue) != VF_OK)
        fail_msg("%s", vf_context_message(vf_device_context(on)));
    const unsigned char *all = host.data;
    for (size_t i = 0; i < SENTINEL * bytes; i++)
        assert_true(all[i] == 0xff && all[(size_t)padded * bytes - 1 - i] == 0xff);
    memcpy(out, all + SENTINEL * bytes, (size_t)outs * bytes);
    vf_array_free(&source);
    vf_array_free(&result);
    vf_array_free(&host);
    vf_queue_destroy(queue);
}

/* The same with its own plan. */
static inline void run(vf_device *on, const problem *p, const vf_fourier_options *o, bool forward, int64_t first,
                       int64_t count, void *out)
{
    vf_fourier *plan = make_plan(on, p, o);
    execute(on, plan, p, o->precision, forward, forward ? p->x : p->c, first, count, out);
    vf_fourier_destroy(plan);
}

static inline double *reference(const problem *p, bool forward)
{
    vf_fourier_options o = {.precision = VF_F64, .variant = "ref"};
    double *out = calloc((size_t)(2 * p->batch * (forward ? p->samples : p->voxels)) + 1, sizeof *out);
    assert_non_null(out);
    run(vf_context_device(reference_ctx, 0), p, &o, forward, 0, p->voxels, out);
    return out;
}

/* Returns one combination of variant, precision and trigonometry that this machine can run on the device per call,
 * and false after the last. Start with index 0. */
static inline bool next_options(int *index, vf_fourier_options *o)
{
    for (;;) {
        bool gpu = vf_device_get_kind(device) == VF_DEVICE_CUDA;
        int kind = *index % 3;
        const char *variant = vf_fourier_variant_name(vf_device_get_kind(device), (*index)++ / 3);
        if (!variant)
            return false;
        if ((!gpu && kind == 2) || (kind == 1 && !has_precision(VF_F64)) || !can_run(variant))
            continue;
        *o = (vf_fourier_options){.precision = kind == 1 ? VF_F64 : VF_F32,
                                  .trig = kind == 2 ? VF_TRIG_HARDWARE : VF_TRIG_ACCURATE,
                                  .variant = variant};
        return true;
    }
}

static inline const char *describe(const vf_fourier_options *o)
{
    static char text[80];
    snprintf(text, sizeof text, "%s %s%s", o->variant, o->precision == VF_F64 ? "double" : "single",
             o->trig == VF_TRIG_HARDWARE ? ", hardware trigonometry" : "");
    return text;
}

static inline double unit(const vf_fourier_options *o)
{
    return o->precision == VF_F64 ? 0x1p-53 : 0x1p-24;
}

/* A step of the adjoint on a GPU, published or ours; its forward sum is that of the default kernel. */
static inline bool is_step(const vf_fourier_options *o)
{
    return vf_device_get_kind(device) == VF_DEVICE_CUDA && strcmp(o->variant, "tuned") != 0 &&
           strcmp(o->variant, "products") != 0 && strcmp(o->variant, "phasors") != 0 &&
           strcmp(o->variant, "pairs") != 0;
}

static inline bool is_published(const vf_fourier_options *o)
{
    return is_step(o) && strcmp(o->variant, "bank") != 0 && strcmp(o->variant, "bank-4") != 0;
}

/* The error of a phase of `turns` in angle, if it is not reduced before it is rounded; see the head of the file. */
static inline double phase_error(const vf_fourier_options *o, double turns)
{
    return (o->trig == VF_TRIG_HARDWARE ? 18 : 12) * (double)PI * turns * unit(o);
}

/* The same for the problem's largest phase: 0 if the phase is reduced. "pairs" replaces the published steps if there is
 * off-resonance. */
static inline double plain_phase_error(const vf_fourier_options *o, const problem *p, bool forward)
{
    return is_published(o) && !forward && !p->field ? phase_error(o, p->turns) : 0;
}

/* The most additions in the plan's precision that a term passes through. */
static inline double additions(const vf_fourier_options *o, int64_t terms, bool forward)
{
    return 2 * (is_step(o) && !forward ? (double)terms : fmin((double)terms, CHUNK));
}

/* Whether a GPU may process voxels in groups of 128: it needs at least two groups. */
static inline bool may_have_groups(const vf_fourier_options *o, const problem *p)
{
    return vf_device_get_kind(device) == VF_DEVICE_CUDA && !is_step(o) && strcmp(o->variant, "pairs") != 0 &&
           o->precision == VF_F32 && (!p->on_grid || p->field) && p->voxels >= 256;
}

/* See the head of the file. */
static inline double bound(const vf_fourier_options *o, const problem *p, int64_t terms, double size, bool forward)
{
    double trig = o->trig == VF_TRIG_HARDWARE ? 23 : 0, phase = 0;
    if (may_have_groups(o, p))
        phase = o->trig == VF_TRIG_HARDWARE ? 232 : 132;
    return 1.01 * size *
           ((additions(o, terms, forward) + 48 + phase + trig) * unit(o) + plain_phase_error(o, p, forward) +
            2 * (double)PI * 0x1p-50 * p->turns);
}

static inline int set_up(void **state)
{
    (void)state;
    return vf_context_create(&reference_ctx) != VF_OK;
}

static inline int tear_down(void **state)
{
    (void)state;
    vf_context_destroy(reference_ctx);
    return 0;
}

#endif
