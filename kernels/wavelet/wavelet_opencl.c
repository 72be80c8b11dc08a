/* The OpenCL backend of the wavelet transforms: levels and axes as in the CUDA backend, sums of rows added up on the host. */
#include <stdlib.h>

#include "backend/opencl_sums.h"
#include "wavelet_backend.h"

extern const char vf_text_wavelet[];

/* As in wavelet.cl. */
typedef struct field {
    int64_t row, plane, has_coarse, coarse_row, coarse_plane, shift[3], limits[3];
} field;
typedef struct step_f64 {
    int64_t counts[3], axis, inverse, soft;
    double scale, level, low[WAVELET_MOST_TAPS], high[WAVELET_MOST_TAPS];
} step_f64;
typedef struct step_f32 {
    int64_t counts[3], axis, inverse, soft;
    float scale, level, low[WAVELET_MOST_TAPS], high[WAVELET_MOST_TAPS];
} step_f32;
typedef struct support {
    int64_t counts[3], padded[3], shift[3], split[3], taps;
} support;

/* A field and its memory. */
typedef struct place {
    field field;
    void *data, *coarse;
} place;

typedef struct opencl_state {
    vf_array between;       /* [numbers]: between the axes of a level */
    vf_array sums, numbers; /* [rows] partial sums and counts */
} opencl_state;

static void destroy(vf_wavelet *plan)
{
    opencl_state *s = plan->state;
    vf_array_free(&s->between);
    vf_array_free(&s->sums);
    vf_array_free(&s->numbers);
    free(s);
    plan->state = NULL;
}

static vf_status create(vf_wavelet *plan, const char *variant)
{
    opencl_state *s = calloc(1, sizeof *s);
    (void)variant;
    if (!s)
        return vf_fail(vf_device_context(plan->device), VF_ERR_MEMORY, "wavelet: not enough memory for a plan");
    plan->state = s;
    vf_status status = vf_array_create(plan->device, VF_SPACE_DEVICE, plan->type, plan->numbers, &s->between);
    VF_TRY(status, vf_array_create(plan->device, VF_SPACE_DEVICE, VF_U8, plan->rows * VF_OPENCL_SUM_BYTES, &s->sums));
    VF_TRY(status, vf_array_create(plan->device, VF_SPACE_DEVICE, VF_I64, plan->rows, &s->numbers));
    return status;
}

static vf_opencl_kernel kernel_for(const vf_wavelet *plan, const char *name, int64_t threads)
{
    static const char *const texts[] = {vf_text_opencl_words, vf_text_opencl_sums, vf_text_wavelet, NULL};
    return (vf_opencl_kernel){texts, name, plan->precision, .words = "-DTAPS=8", .threads = {threads}};
}
_Static_assert(WAVELET_MOST_TAPS == 8, "the word above");

/* ---- levels: where numbers lie ---- */

static place plain(void *data, const int64_t counts[3])
{
    return (place){.field = {.row = counts[0], .plane = counts[0] * counts[1]}, .data = data};
}

/* The padded array, shifted, with level 1; before level l > 1, the coarse part after level l - 1. */
static place image(const vf_wavelet *plan, const vf_wavelet_box *box, int level, const void *v, const int64_t shift[3])
{
    place p = plain(level > 1 ? vf_wavelet_band(plan, level - 1) : (void *)v, box->counts);
    for (int a = 0; a < 3 && level <= 1; a++)
        p.field.shift[a] = shift[a];
    return p;
}

/* The bands in c. The coarse part lies there after the last level, in the plan before. */
static place bands(const vf_wavelet *plan, const vf_wavelet_box *box, int level, int levels, const void *c)
{
    const vf_wavelet_box next = vf_wavelet_box_of(plan, level + 1);
    place p = plain((void *)c, plan->padded);
    p.coarse = level < levels ? vf_wavelet_band(plan, level) : p.data;
    p.field.has_coarse = 1;
    p.field.coarse_row = level < levels ? next.counts[0] : p.field.row;
    p.field.coarse_plane = level < levels ? next.counts[0] * next.counts[1] : p.field.plane;
    for (int a = 0; a < 3; a++)
        p.field.limits[a] = box->counts[a] / (box->split[a] ? 2 : 1);
    return p;
}

/* The same memory without bands and shift. */
static place bare(const place *p)
{
    return (place){.field = {.row = p->field.row, .plane = p->field.plane}, .data = p->data};
}

static vf_status launch(const vf_wavelet *plan, vf_queue *queue, const step_f64 *s, const place *from, const place *to)
{
    const int64_t numbers = s->counts[0] * s->counts[1] * s->counts[2];
    const vf_opencl_kernel kernel = kernel_for(plan, "transform", s->axis < 0 ? numbers : numbers / 2);
    step_f32 once = {{s->counts[0], s->counts[1], s->counts[2]},
                     s->axis,
                     s->inverse,
                     s->soft,
                     (float)s->scale,
                     (float)s->level,
                     {0},
                     {0}};
    for (int k = 0; k < WAVELET_MOST_TAPS; k++) {
        once.low[k] = (float)s->low[k];
        once.high[k] = (float)s->high[k];
    }
    vf_opencl_argument step = VF_CL_VALUE(*s);
    if (plan->precision != VF_F64)
        step = (vf_opencl_argument)VF_CL_VALUE(once);
    return VF_OPENCL_LAUNCH(queue, &kernel, step, VF_CL_INT(2 * plan->moments), VF_CL_VALUE(from->field),
                            VF_CL_VALUE(to->field), VF_CL_ARRAY(from->data), VF_CL_ARRAY(from->coarse),
                            VF_CL_ARRAY(to->data), VF_CL_ARRAY(to->coarse));
}

/* One level, axis after axis. The target itself holds the result of the first of three axes. */
static vf_status do_level(const vf_wavelet *plan, vf_queue *queue, const vf_wavelet_box *box, bool inverse, place from,
                          place to, const vf_wavelet_soft *soft)
{
    const opencl_state *state = plan->state;
    step_f64 s = {{box->counts[0], box->counts[1], box->counts[2]}, -1, inverse, 0, 0, 0, {0}, {0}};
    int left = box->split[0] + box->split[1] + box->split[2];
    for (int k = 0; k < 2 * plan->moments; k++) {
        s.low[k] = plan->low[k];
        s.high[k] = plan->high[k];
    }
    if (left == 0)
        return launch(plan, queue, &s, &from, &to);
    vf_status status = VF_OK;
    for (int i = 0; i < 3 && status == VF_OK; i++) {
        s.axis = inverse ? 2 - i : i;
        if (!box->split[s.axis])
            continue;
        left--;
        const place target = left == 0 ? to : left == 1 ? plain(state->between.data, box->counts) : bare(&to);
        s.soft = soft && left == 0;
        s.scale = soft ? soft->scale : 0;
        s.level = soft ? soft->level : 0;
        status = launch(plan, queue, &s, &from, &target);
        from = bare(&target);
    }
    return status;
}

static vf_status forward(vf_wavelet *plan, vf_queue *queue, const int64_t shift[3], int levels,
                         const vf_wavelet_soft *soft, const void *v, void *c)
{
    vf_status status = VF_OK;
    for (int l = levels > 0; status == VF_OK && l <= levels; l++) {
        const vf_wavelet_box box = vf_wavelet_box_of(plan, l);
        status =
            do_level(plan, queue, &box, false, image(plan, &box, l, v, shift), bands(plan, &box, l, levels, c), soft);
    }
    return status;
}

static vf_status adjoint(vf_wavelet *plan, vf_queue *queue, const int64_t shift[3], const void *c, void *v)
{
    vf_status status = VF_OK;
    for (int l = plan->levels; status == VF_OK && l >= (plan->levels > 0); l--) {
        const vf_wavelet_box box = vf_wavelet_box_of(plan, l);
        status = do_level(plan, queue, &box, true, bands(plan, &box, l, plan->levels, c),
                          image(plan, &box, l, v, shift), NULL);
    }
    return status;
}

/* ---- sums ---- */

static vf_status magnitudes(vf_wavelet *plan, vf_queue *queue, const void *c)
{
    const opencl_state *s = plan->state;
    const vf_opencl_kernel kernel = kernel_for(plan, "add_magnitudes", plan->rows);
    return VF_OPENCL_LAUNCH(queue, &kernel, VF_CL_INT(plan->padded[0]), VF_CL_INT(plan->padded[1]),
                            VF_CL_INT(plan->rows), VF_CL_INT(plan->coarse[0]), VF_CL_INT(plan->coarse[1]),
                            VF_CL_INT(plan->coarse[2]), VF_CL_ARRAY(c), VF_CL_ARRAY(s->sums.data));
}

static vf_status finest(vf_wavelet *plan, vf_queue *queue, const int64_t shift[3], const void *c, const void *weights)
{
    const opencl_state *s = plan->state;
    const vf_wavelet_support all = vf_wavelet_support_of(plan, shift);
    const vf_opencl_kernel kernel = kernel_for(plan, "add_finest", plan->rows);
    support of = {.taps = all.taps};
    for (int a = 0; a < 3; a++) {
        of.counts[a] = all.counts[a];
        of.padded[a] = all.padded[a];
        of.shift[a] = all.shift[a];
        of.split[a] = all.split[a];
    }
    return VF_OPENCL_LAUNCH(queue, &kernel, VF_CL_VALUE(of), VF_CL_ARRAY(weights), VF_CL_ARRAY(c),
                            VF_CL_ARRAY(s->sums.data), VF_CL_ARRAY(s->numbers.data));
}

static vf_status total(const vf_wavelet *plan, vf_queue *queue, int64_t first, double *sum)
{
    const opencl_state *s = plan->state;
    const vf_array *from = first > 0 ? &s->numbers : &s->sums;
    const size_t bytes = (size_t)from->count * vf_dtype_bytes(from->type);
    void *host = malloc(bytes + 1);
    vf_status status =
        host ? VF_OK
             : vf_fail(vf_device_context(plan->device), VF_ERR_MEMORY, "wavelet: not enough memory for sums of rows");
    VF_TRY(status, vf_queue_copy(queue, host, from->data, bytes));
    VF_TRY(status, vf_queue_sync(queue));
    *sum = 0;
    if (status == VF_OK && first == 0)
        *sum = vf_opencl_total(plan->precision, host, plan->rows, 1);
    for (int64_t row = 0; status == VF_OK && first > 0 && row < plan->rows; row++)
        *sum += (double)((const int64_t *)host)[row];
    free(host);
    return status;
}

const vf_wavelet_backend vf_wavelet_opencl = {VF_DEVICE_OPENCL, create, forward, adjoint,
                                              magnitudes,       finest, destroy, total};
