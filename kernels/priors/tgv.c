/* The operators of total generalised variation: gradients of an image series and of a vector field in one vector. */
#include "tgv.h"

#include <math.h>
#include <stdlib.h>

#include "differences.h"
#include "voxfield/copy.h"
#include "voxfield/vector.h"

typedef struct tgv_state {
    vf_dtype type;
    int64_t counts[4], n; /* n: numbers of the image series */
    unsigned axes;
    int fields, components; /* of w and of E w */
    vf_array room;          /* E w, of the second operator */
    vf_operator *of;        /* of the image operator */
} tgv_state;

/* Image number i of a vector [image][n]. */
static void *image(const tgv_state *s, vf_queue *queue, const void *v, int i)
{
    return vf_offset(vf_queue_device(queue), v, s->type, i * s->n);
}

static vf_status zero(const tgv_state *s, vf_queue *queue, int64_t n, void *v)
{
    return vf_fill(queue, s->type, n, (const double[2]){0}, v);
}

static void free_state(void *state)
{
    tgv_state *s = state;
    vf_array_free(&s->room);
    free(s);
}

/* ---- D x - w ---- */

static vf_status first_forward(void *state, vf_queue *queue, const void *x, void *y)
{
    const tgv_state *s = state;
    const vf_status status = vf_differences_forward(queue, s->type, s->counts, s->axes, x, y);
    return status == VF_OK ? vf_vector_axpby(queue, s->type, s->fields * s->n, -1, image(s, queue, x, 1), 1, y)
                           : status;
}

static vf_status first_adjoint(void *state, vf_queue *queue, const void *y, void *x)
{
    const tgv_state *s = state;
    const vf_status status = vf_differences_adjoint(queue, s->type, s->counts, s->axes, y, x);
    return status == VF_OK ? vf_vector_axpby(queue, s->type, s->fields * s->n, -1, y, 0, image(s, queue, x, 1))
                           : status;
}

/* w - D x in the field's part, then D^H of that with the other sign. */
static vf_status first_normal(void *state, vf_queue *queue, const void *x, void *z)
{
    const tgv_state *s = state;
    void *field = image(s, queue, z, 1);
    vf_status status = vf_differences_forward(queue, s->type, s->counts, s->axes, x, field);
    VF_TRY(status, vf_vector_axpby(queue, s->type, s->fields * s->n, 1, image(s, queue, x, 1), -1, field));
    VF_TRY(status, vf_differences_adjoint(queue, s->type, s->counts, s->axes, field, z));
    return status == VF_OK ? vf_vector_axpby(queue, s->type, s->n, -1, z, 0, z) : status;
}

/* ---- E w ---- */

/* Multiplies the components off the diagonal. */
static vf_status scale_rest(const tgv_state *s, vf_queue *queue, double factor, void *y)
{
    void *rest = image(s, queue, y, s->fields);
    return s->components > s->fields
               ? vf_vector_axpby(queue, s->type, (s->components - s->fields) * s->n, factor, rest, 0, rest)
               : VF_OK;
}

static vf_status second_forward(void *state, vf_queue *queue, const void *x, void *y)
{
    const tgv_state *s = state;
    const vf_status status =
        vf_symmetric_gradient_forward(queue, s->type, s->counts, s->axes, image(s, queue, x, 1), y);
    return status == VF_OK ? scale_rest(s, queue, M_SQRT2, y) : status;
}

/* x = (0, E^H of the room with its components off the diagonal times `factor`) */
static vf_status from_room(const tgv_state *s, vf_queue *queue, double factor, void *x)
{
    vf_status status = scale_rest(s, queue, factor, s->room.data);
    VF_TRY(status, zero(s, queue, s->n, x));
    return status == VF_OK
               ? vf_symmetric_gradient_adjoint(queue, s->type, s->counts, s->axes, s->room.data, image(s, queue, x, 1))
               : status;
}

static vf_status second_adjoint(void *state, vf_queue *queue, const void *y, void *x)
{
    const tgv_state *s = state;
    const vf_status status = vf_copy(queue, s->type, s->components * s->n, y, s->room.data);
    return status == VF_OK ? from_room(s, queue, M_SQRT2, x) : status;
}

static vf_status second_normal(void *state, vf_queue *queue, const void *x, void *z)
{
    const tgv_state *s = state;
    const vf_status status =
        vf_symmetric_gradient_forward(queue, s->type, s->counts, s->axes, image(s, queue, x, 1), s->room.data);
    return status == VF_OK ? from_room(s, queue, 2, z) : status;
}

/* ---- T x ---- */

static vf_status image_forward(void *state, vf_queue *queue, const void *x, void *y)
{
    const tgv_state *s = state;
    return s->of ? vf_operator_forward(s->of, queue, x, y) : vf_copy(queue, s->type, s->n, x, y);
}

static vf_status image_adjoint(void *state, vf_queue *queue, const void *y, void *x)
{
    const tgv_state *s = state;
    const vf_status status = s->of ? vf_operator_adjoint(s->of, queue, y, x) : vf_copy(queue, s->type, s->n, y, x);
    return status == VF_OK ? zero(s, queue, s->fields * s->n, image(s, queue, x, 1)) : status;
}

static vf_status image_normal(void *state, vf_queue *queue, const void *x, void *z)
{
    const tgv_state *s = state;
    const vf_status status = s->of ? vf_operator_normal(s->of, queue, x, z) : vf_copy(queue, s->type, s->n, x, z);
    return status == VF_OK ? zero(s, queue, s->fields * s->n, image(s, queue, z, 1)) : status;
}

/* ---- making them ---- */

static vf_status create(vf_device *device, const vf_operator_methods *methods, const tgv_state *state, bool has_room,
                        int64_t codomain, vf_operator **out)
{
    *out = NULL;
    tgv_state *s = malloc(sizeof *s);
    if (!s)
        return vf_fail(vf_device_context(device), VF_ERR_MEMORY, "operator %s: not enough memory", methods->name);
    *s = *state;
    vf_status status =
        has_room ? vf_array_create(device, VF_SPACE_DEVICE, s->type, s->components * s->n, &s->room) : VF_OK;
    const vf_vector_space from = {s->type, (1 + s->fields) * s->n}, to = {s->type, codomain};
    VF_TRY(status, vf_operator_create(device, methods, 0, from, to, s, out));
    if (status != VF_OK)
        free_state(s);
    return status;
}

static tgv_state of_gradient(vf_dtype precision, const int64_t counts[4], unsigned axes)
{
    return (tgv_state){.type = vf_dtype_complex(precision),
                       .counts = {counts[0], counts[1], counts[2], counts[3]},
                       .n = counts[0] * counts[1] * counts[2] * counts[3],
                       .axes = axes,
                       .fields = vf_differences_components(axes),
                       .components = vf_symmetric_gradient_components(axes)};
}

vf_status vf_tgv_first_operator(vf_device *device, vf_dtype precision, const int64_t counts[4], unsigned axes,
                                vf_operator **out)
{
    static const vf_operator_methods methods = {.name = "gradient less a field",
                                                .forward = first_forward,
                                                .adjoint = first_adjoint,
                                                .normal = first_normal,
                                                .free = free_state};
    const tgv_state s = of_gradient(precision, counts, axes);
    return create(device, &methods, &s, false, s.fields * s.n, out);
}

vf_status vf_tgv_second_operator(vf_device *device, vf_dtype precision, const int64_t counts[4], unsigned axes,
                                 vf_operator **out)
{
    static const vf_operator_methods methods = {.name = "symmetrised gradient of a field",
                                                .forward = second_forward,
                                                .adjoint = second_adjoint,
                                                .normal = second_normal,
                                                .free = free_state};
    const tgv_state s = of_gradient(precision, counts, axes);
    return create(device, &methods, &s, true, s.components * s.n, out);
}

vf_status vf_tgv_image_operator(vf_device *device, vf_vector_space series, int fields, vf_operator *of,
                                vf_operator **out)
{
    static const vf_operator_methods methods = {.name = "operator of the image alone",
                                                .forward = image_forward,
                                                .adjoint = image_adjoint,
                                                .normal = image_normal,
                                                .free = free_state};
    const tgv_state s = {.type = series.type, .n = series.count, .fields = fields, .of = of};
    return create(device, &methods, &s, false, of ? vf_operator_codomain(of).count : s.n, out);
}
