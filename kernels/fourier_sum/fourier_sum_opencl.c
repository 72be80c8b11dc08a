/* The OpenCL backend of the Fourier sum: points as factors of phases, and launches of bounded length. */
#include <math.h>
#include <stdlib.h>

#include "fourier_sum_backend.h"
#include "turns_opencl.h"

extern const char vf_text_fourier_sum[];

/* As in fourier_sum.cl. */
typedef struct points {
    int64_t count, step[3], extent[3], table[3], field;
} points;

typedef struct opencl_state {
    points samples, voxels;
    vf_array k, r; /* VF_I64: factors */
} opencl_state;

/* |k| <= 2^16, |r| <= 2^6: both keep all bits that matter. */
enum { K_EXPONENT = 40, R_EXPONENT = 56, COILS = 4 };

static void destroy(vf_fourier *plan)
{
    opencl_state *s = plan->state;
    vf_array_free(&s->k);
    vf_array_free(&s->r);
    free(s);
    plan->state = NULL;
}

static double largest(const double *values, int64_t count)
{
    double most = 0;
    for (int64_t i = 0; values && i < count; i++)
        most = fmax(most, fabs(values[i]));
    return most;
}

/* One point of an axis: of a list, or of the grid. */
static double position(const vf_fourier *plan, const vf_fourier_points *list, int axis, int64_t i)
{
    if (list->x)
        return (axis == 0 ? list->x : axis == 1 ? list->y : list->z)[i];
    return plan->grid.origin[axis] + plan->grid.spacing[axis] * (double)i;
}

/* The factors of samples or voxels; list->x is NULL for a grid. */
static vf_status make_points(const vf_fourier *plan, const vf_fourier_points *list, int64_t count, int exponent,
                             int field_exponent, points *p, vf_array *out)
{
    const vf_dtype real = plan->options.precision;
    int64_t total = 0, step = 1;
    *p = (points){.count = count, .field = -1};
    for (int a = 0; a < 3; a++) {
        p->extent[a] = list->x ? (count > 0 ? count : 1) : plan->grid.counts[a];
        p->step[a] = step;
        p->table[a] = total;
        step *= list->x ? 1 : p->extent[a];
        total += p->extent[a];
    }
    if (plan->has_field) {
        p->field = total;
        total += count;
    }
    int64_t *host = calloc((size_t)total, sizeof *host);
    if (!host)
        return vf_fail(vf_device_context(plan->device), VF_ERR_MEMORY, "not enough memory for %lld samples or voxels",
                       (long long)count);
    for (int a = 0; a < 3; a++)
        for (int64_t i = 0; count > 0 && i < p->extent[a]; i++)
            host[p->table[a] + i] = vf_turn_factor(real, position(plan, list, a, i), exponent);
    for (int64_t i = 0; plan->has_field && i < count; i++)
        host[p->field + i] = vf_turn_factor(real, list->w[i], field_exponent);
    const vf_status status = vf_opencl_array_of(plan->device, VF_I64, total, host, out);
    free(host);
    return status;
}

static vf_status create(vf_fourier *plan)
{
    opencl_state *s = calloc(1, sizeof *s);
    if (!s)
        return vf_fail(vf_device_context(plan->device), VF_ERR_MEMORY, "no memory for a plan");
    plan->state = s;
    const vf_turn_exponents e = vf_turn_exponents_for(plan->has_field ? largest(plan->k.w, plan->samples) : 1);
    vf_status status = make_points(plan, &plan->k, plan->samples, K_EXPONENT, e.first, &s->samples, &s->k);
    VF_TRY(status, make_points(plan, &plan->r, plan->voxels, R_EXPONENT, e.second, &s->voxels, &s->r));
    return status;
}

/* The sum at points [first, first + count) of `to`, for one or COILS vectors. A launch has at most MOST_PAIRS pairs, so that a
 * display's watchdog does not end it. */
static vf_status sum_vectors(const vf_fourier *plan, vf_queue *queue, bool forward, bool several, const void *in,
                             int64_t first, int64_t count, void *out)
{
    static const char *const texts[] = {vf_text_opencl_words, vf_text_turns, vf_text_fourier_sum, NULL};
    const int64_t MOST_PAIRS = (int64_t)1 << 32;
    const opencl_state *s = plan->state;
    const points *to = forward ? &s->samples : &s->voxels, *from = forward ? &s->voxels : &s->samples;
    const vf_array *to_table = forward ? &s->k : &s->r, *from_table = forward ? &s->r : &s->k;
    const int64_t fit = MOST_PAIRS / (from->count > 0 ? from->count : 1), most = fit < 4096 ? 4096 : fit;
    vf_status status = VF_OK;
    for (int64_t begin = first; begin < first + count && status == VF_OK; begin += most) {
        const int64_t end = begin + most < first + count ? begin + most : first + count;
        const vf_opencl_kernel kernel = {texts, "fourier_sum", plan->options.precision,
                                         .words = several ? "-DCOILS=4 -DCHUNK=64" : "-DCOILS=1 -DCHUNK=64",
                                         .threads = {end - begin}};
        status = VF_OPENCL_LAUNCH(queue, &kernel, VF_CL_VALUE(*to), VF_CL_VALUE(*from), VF_CL_INT(begin),
                                  VF_CL_INT(end), VF_CL_INT(first), VF_CL_INT(count), VF_CL_REAL(forward ? -1 : 1),
                                  VF_CL_ARRAY(to_table->data), VF_CL_ARRAY(from_table->data), VF_CL_ARRAY(in),
                                  VF_CL_ARRAY(out));
    }
    return status;
}

static vf_status sum_batch(const vf_fourier *plan, vf_queue *queue, bool forward, int batch, const void *in,
                           int64_t first, int64_t count, void *out)
{
    const vf_dtype type = vf_dtype_complex(plan->options.precision);
    const int64_t each = forward ? plan->voxels : plan->samples;
    vf_status status = VF_OK;
    for (int b = 0, some = 0; b < batch && status == VF_OK; b += some) {
        some = batch - b >= COILS ? COILS : 1;
        status = sum_vectors(plan, queue, forward, some > 1, vf_offset(plan->device, in, type, b * each), first, count,
                             vf_offset(plan->device, out, type, b * count));
    }
    return status;
}

static vf_status adjoint(const vf_fourier *plan, vf_queue *queue, int batch, const void *c, int64_t first,
                         int64_t count, void *y)
{
    return sum_batch(plan, queue, false, batch, c, first, count, y);
}

static vf_status forward(const vf_fourier *plan, vf_queue *queue, int batch, const void *x, void *c)
{
    return sum_batch(plan, queue, true, batch, x, 0, plan->samples, c);
}

static const char *const variants[] = {"pairs", NULL};
const vf_fourier_backend vf_fourier_opencl = {.variants = {VF_DEVICE_OPENCL, variants},
                                              .create = create,
                                              .adjoint = adjoint,
                                              .forward = forward,
                                              .destroy = destroy};
