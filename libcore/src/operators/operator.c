/* Operators, and the diagonal ones. */
#include "voxfield/operator.h"

#include <stdlib.h>
#include <string.h>

#include "device/arguments.h"
#include "operator_internal.h"
#include "voxfield/copy.h"
#include "voxfield/vector.h"

struct vf_operator {
    const vf_operator_methods *methods;
    vf_device *device;
    unsigned properties;
    vf_vector_space domain, codomain;
    void *state;
    int users;        /* reference count: the caller, and combinations */
    vf_array between; /* a vector of the codomain, for `normal`; allocated on first use */
};

static bool same_space(vf_vector_space a, vf_vector_space b)
{
    return a.type == b.type && a.count == b.count;
}

static bool is_real(vf_vector_space space)
{
    return space.type == vf_dtype_real(space.type);
}

vf_status vf_operator_create(vf_device *device, const vf_operator_methods *methods, unsigned properties,
                             vf_vector_space domain, vf_vector_space codomain, void *state, vf_operator **out)
{
    vf_context *ctx = vf_device_context(device);
    const bool self = properties & VF_OPERATOR_SELF_ADJOINT;
    *out = NULL;
    vf_status status = vf_check_floating(ctx, methods->name, domain.type);
    VF_TRY(status, vf_check_floating(ctx, methods->name, codomain.type));
    if (status != VF_OK)
        return status;
    if (!methods->forward || !(methods->adjoint || self) || domain.count < 0 || codomain.count < 0 ||
        (self && !same_space(domain, codomain)))
        return vf_fail(ctx, VF_ERR_ARGUMENT,
                       "operator %s: a missing method, a space of a negative length, or a self-adjoint operator "
                       "between two spaces",
                       methods->name);
    if (is_real(domain) != is_real(codomain) && !(properties & VF_OPERATOR_REAL_LINEAR))
        return vf_fail(ctx, VF_ERR_ARGUMENT,
                       "operator %s: between a real space (%s) and a complex one (%s) only real-linear operators exist",
                       methods->name, vf_dtype_name(is_real(domain) ? domain.type : codomain.type),
                       vf_dtype_name(is_real(domain) ? codomain.type : domain.type));
    vf_operator *a = calloc(1, sizeof *a);
    if (!a)
        return vf_fail(ctx, VF_ERR_MEMORY, "operator %s: no memory", methods->name);
    *a = (vf_operator){.methods = methods,
                       .device = device,
                       .properties = properties,
                       .domain = domain,
                       .codomain = codomain,
                       .state = state,
                       .users = 1};
    *out = a;
    return VF_OK;
}

void vf_operator_keep(vf_operator *a)
{
    a->users++;
}

void vf_operator_free(vf_operator *a)
{
    if (!a || --a->users > 0)
        return;
    if (a->methods->free)
        a->methods->free(a->state);
    vf_array_free(&a->between);
    free(a);
}

vf_device *vf_operator_device(const vf_operator *a)
{
    return a->device;
}

vf_vector_space vf_operator_domain(const vf_operator *a)
{
    return a->domain;
}

vf_vector_space vf_operator_codomain(const vf_operator *a)
{
    return a->codomain;
}

const char *vf_operator_name(const vf_operator *a)
{
    return a->methods->name;
}

unsigned vf_operator_properties(const vf_operator *a)
{
    return a->properties;
}

static vf_status check(const vf_operator *a, const vf_queue *queue, const void *in, const void *out)
{
    if (in && out && in != out && vf_queue_device(queue) == a->device)
        return VF_OK;
    return vf_fail(vf_device_context(a->device), VF_ERR_ARGUMENT,
                   "operator %s: a vector is missing, the input is the output, or the queue belongs to another device",
                   a->methods->name);
}

vf_status vf_operator_forward(vf_operator *a, vf_queue *queue, const void *x, void *y)
{
    const vf_status status = check(a, queue, x, y);
    return status == VF_OK ? a->methods->forward(a->state, queue, x, y) : status;
}

vf_status vf_operator_adjoint(vf_operator *a, vf_queue *queue, const void *y, void *x)
{
    const vf_status status = check(a, queue, y, x);
    if (status != VF_OK)
        return status;
    const bool self = a->properties & VF_OPERATOR_SELF_ADJOINT;
    return (self ? a->methods->forward : a->methods->adjoint)(a->state, queue, y, x);
}

vf_status vf_operator_normal(vf_operator *a, vf_queue *queue, const void *x, void *z)
{
    vf_status status = check(a, queue, x, z);
    if (status != VF_OK)
        return status;
    if (a->methods->normal)
        return a->methods->normal(a->state, queue, x, z);
    if (!a->between.data)
        status = vf_array_create(a->device, VF_SPACE_DEVICE, a->codomain.type, a->codomain.count, &a->between);
    VF_TRY(status, vf_operator_forward(a, queue, x, a->between.data));
    return status == VF_OK ? vf_operator_adjoint(a, queue, a->between.data, z) : status;
}

/* ---- diagonal operators ---- */

typedef struct weights {
    vf_vector_space space;
    const void *w; /* NULL: 1 */
} weights;

static vf_status apply_weights(void *state, vf_queue *queue, const void *x, void *y)
{
    const weights *s = state;
    return s->w ? vf_vector_scale_by(queue, s->space.type, s->space.count, s->w, x, y)
                : vf_copy(queue, s->space.type, s->space.count, x, y);
}

static vf_status make_weights(vf_device *device, const vf_operator_methods *methods, vf_vector_space space,
                              const void *w, vf_operator **out)
{
    *out = NULL;
    weights *s = malloc(sizeof *s);
    if (!s)
        return vf_fail(vf_device_context(device), VF_ERR_MEMORY, "operator %s: no memory", methods->name);
    *s = (weights){space, w};
    const vf_status status = vf_operator_create(device, methods, VF_OPERATOR_SELF_ADJOINT, space, space, s, out);
    if (status != VF_OK)
        free(s);
    return status;
}

vf_status vf_operator_identity(vf_device *device, vf_vector_space space, vf_operator **out)
{
    static const vf_operator_methods methods = {.name = "identity", .forward = apply_weights, .free = free};
    return make_weights(device, &methods, space, NULL, out);
}

vf_status vf_operator_weights(vf_device *device, vf_vector_space space, const void *w, vf_operator **out)
{
    static const vf_operator_methods methods = {.name = "weights", .forward = apply_weights, .free = free};
    *out = NULL;
    if (!w && space.count > 0)
        return vf_fail(vf_device_context(device), VF_ERR_ARGUMENT, "operator weights: the weights are missing");
    return make_weights(device, &methods, space, w, out);
}
