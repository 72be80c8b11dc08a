/* Combinations of operators. */
#include <math.h>
#include <stdlib.h>

#include "operator_internal.h"
#include "voxfield/copy.h"
#include "voxfield/vector.h"

typedef struct combined {
    int count;
    double factor;
    vf_operator **part; /* [count] */
    vf_array *room;     /* [rooms] intermediate vectors */
    int rooms;
} combined;

static void free_combined(void *state)
{
    combined *c = state;
    for (int i = 0; c->part && i < c->count; i++)
        vf_operator_free(c->part[i]);
    for (int i = 0; c->room && i < c->rooms; i++)
        vf_array_free(&c->room[i]);
    free(c->part);
    free(c->room);
    free(c);
}

/* Checks that all parts are of one device and that their spaces fit. The message names the first two that do not. */
static vf_status check_parts(const char *name, int count, vf_operator *const *a,
                             bool (*fits)(const vf_operator *first, const vf_operator *before, const vf_operator *a))
{
    if (count < 1)
        return VF_ERR_ARGUMENT; /* without a device there is no context for a message */
    vf_context *ctx = vf_device_context(vf_operator_device(a[0]));
    for (int i = 1; i < count; i++) {
        if (vf_operator_device(a[i]) != vf_operator_device(a[0]))
            return vf_fail(ctx, VF_ERR_ARGUMENT, "operator %s: %s and %s are of two devices", name,
                           vf_operator_name(a[0]), vf_operator_name(a[i]));
        if (!fits(a[0], a[i - 1], a[i])) {
            const vf_vector_space from = vf_operator_codomain(a[i - 1]), to = vf_operator_domain(a[i]);
            return vf_fail(ctx, VF_ERR_ARGUMENT,
                           "operator %s: %s (to %lld %s) and %s (from %lld %s) do not fit together", name,
                           vf_operator_name(a[i - 1]), (long long)from.count, vf_dtype_name(from.type),
                           vf_operator_name(a[i]), (long long)to.count, vf_dtype_name(to.type));
        }
    }
    return VF_OK;
}

static bool same(vf_vector_space a, vf_vector_space b)
{
    return a.type == b.type && a.count == b.count;
}

/* Allocates the state with references to the parts and `rooms` empty vectors. */
static vf_status begin(int count, vf_operator *const *a, int rooms, combined **out)
{
    vf_context *ctx = vf_device_context(vf_operator_device(a[0]));
    combined *c = *out = calloc(1, sizeof *c);
    if (c) {
        c->part = calloc((size_t)count, sizeof *c->part);
        c->room = calloc((size_t)rooms + 1, sizeof *c->room);
    }
    if (!c || !c->part || !c->room) {
        if (c)
            free_combined(c);
        *out = NULL;
        return vf_fail(ctx, VF_ERR_MEMORY, "not enough memory for an operator of %d operators", count);
    }
    c->rooms = rooms;
    for (; c->count < count; c->count++) {
        c->part[c->count] = a[c->count];
        vf_operator_keep(a[c->count]);
    }
    return VF_OK;
}

/* Makes the operator if `status` is VF_OK; after an error frees the state. */
static vf_status finish(vf_status status, const vf_operator_methods *methods, unsigned properties,
                        vf_vector_space domain, vf_vector_space codomain, combined *c, vf_operator **out)
{
    VF_TRY(status, vf_operator_create(vf_operator_device(c->part[0]), methods, properties, domain, codomain, c, out));
    if (status != VF_OK && c)
        free_combined(c);
    return status;
}

static vf_status make_room(combined *c, int room, vf_vector_space space)
{
    return vf_array_create(vf_operator_device(c->part[0]), VF_SPACE_DEVICE, space.type, space.count, &c->room[room]);
}

/* A combination is real-linear if any part is. It can be self-adjoint only if all parts are. */
static unsigned common_properties(int count, vf_operator *const *a)
{
    unsigned all = ~0U, any = 0;
    for (int i = 0; i < count; i++) {
        all &= vf_operator_properties(a[i]);
        any |= vf_operator_properties(a[i]);
    }
    return (all & VF_OPERATOR_SELF_ADJOINT) | (any & VF_OPERATOR_REAL_LINEAR);
}

/* ---- chain ---- */

static vf_status chain_forward(void *state, vf_queue *queue, const void *x, void *y)
{
    combined *c = state;
    vf_status status = VF_OK;
    for (int i = 0; i < c->count && status == VF_OK; i++)
        status = vf_operator_forward(c->part[i], queue, i > 0 ? c->room[i - 1].data : x,
                                     i + 1 < c->count ? c->room[i].data : y);
    return status;
}

static vf_status chain_adjoint(void *state, vf_queue *queue, const void *y, void *x)
{
    combined *c = state;
    vf_status status = VF_OK;
    for (int i = c->count - 1; i >= 0 && status == VF_OK; i--)
        status = vf_operator_adjoint(c->part[i], queue, i + 1 < c->count ? c->room[i].data : y,
                                     i > 0 ? c->room[i - 1].data : x);
    return status;
}

/* A_0^H ... (A_n^H A_n) ... A_0, which uses the last part's own `normal`. */
static vf_status chain_normal(void *state, vf_queue *queue, const void *x, void *z)
{
    combined *c = state;
    const int last = c->count - 1;
    vf_status status = VF_OK;
    if (last == 0)
        return vf_operator_normal(c->part[0], queue, x, z);
    for (int i = 0; i < last && status == VF_OK; i++)
        status = vf_operator_forward(c->part[i], queue, i > 0 ? c->room[i - 1].data : x, c->room[i].data);
    VF_TRY(status, vf_operator_normal(c->part[last], queue, c->room[last - 1].data, c->room[last].data));
    for (int i = last - 1; i >= 0 && status == VF_OK; i--)
        status = vf_operator_adjoint(c->part[i], queue, i == last - 1 ? c->room[last].data : c->room[i].data,
                                     i > 0 ? c->room[i - 1].data : z);
    return status;
}

static bool follows(const vf_operator *first, const vf_operator *before, const vf_operator *a)
{
    (void)first;
    return same(vf_operator_codomain(before), vf_operator_domain(a));
}

vf_status vf_operator_chain(int count, vf_operator *const *a, vf_operator **out)
{
    static const vf_operator_methods methods = {.name = "chain",
                                                .forward = chain_forward,
                                                .adjoint = chain_adjoint,
                                                .normal = chain_normal,
                                                .free = free_combined};
    combined *c = NULL;
    *out = NULL;
    vf_status status = check_parts("chain", count, a, follows);
    VF_TRY(status, begin(count, a, count, &c));
    /* Room i holds the output of part i. The last room, for `normal`, is a vector of the last part's domain. */
    for (int i = 0; i < count && count > 1 && status == VF_OK; i++)
        status = make_room(c, i, i + 1 < count ? vf_operator_codomain(a[i]) : vf_operator_domain(a[i]));
    if (status != VF_OK)
        return finish(status, &methods, 0, (vf_vector_space){0}, (vf_vector_space){0}, c, out);
    return finish(status, &methods, common_properties(count, a) & VF_OPERATOR_REAL_LINEAR, vf_operator_domain(a[0]),
                  vf_operator_codomain(a[count - 1]), c, out);
}

/* ---- sum ---- */

static vf_status add_up(combined *c, vf_queue *queue, vf_vector_space space, bool adjoint, const void *from, void *to)
{
    vf_status status = VF_OK;
    for (int i = 0; i < c->count && status == VF_OK; i++) {
        void *part = i > 0 ? c->room[adjoint].data : to;
        status = (adjoint ? vf_operator_adjoint : vf_operator_forward)(c->part[i], queue, from, part);
        if (status == VF_OK && i > 0)
            status = vf_vector_axpby(queue, space.type, space.count, 1, part, 1, to);
    }
    return status;
}

static vf_status sum_forward(void *state, vf_queue *queue, const void *x, void *y)
{
    combined *c = state;
    return add_up(c, queue, vf_operator_codomain(c->part[0]), false, x, y);
}

static vf_status sum_adjoint(void *state, vf_queue *queue, const void *y, void *x)
{
    combined *c = state;
    return add_up(c, queue, vf_operator_domain(c->part[0]), true, y, x);
}

static bool is_alike(const vf_operator *first, const vf_operator *before, const vf_operator *a)
{
    (void)before;
    return same(vf_operator_domain(first), vf_operator_domain(a)) &&
           same(vf_operator_codomain(first), vf_operator_codomain(a));
}

vf_status vf_operator_sum(int count, vf_operator *const *a, vf_operator **out)
{
    static const vf_operator_methods methods = {
        .name = "sum", .forward = sum_forward, .adjoint = sum_adjoint, .free = free_combined};
    combined *c = NULL;
    *out = NULL;
    vf_status status = check_parts("sum", count, a, is_alike);
    VF_TRY(status, begin(count, a, 2, &c));
    if (status != VF_OK)
        return status;
    const unsigned properties = common_properties(count, a);
    if (count > 1)
        status = make_room(c, 0, vf_operator_codomain(a[0]));
    if (status == VF_OK && count > 1 && !(properties & VF_OPERATOR_SELF_ADJOINT))
        status = make_room(c, 1, vf_operator_domain(a[0]));
    return finish(status, &methods, properties, vf_operator_domain(a[0]), vf_operator_codomain(a[0]), c, out);
}

/* ---- stack ---- */

static vf_status stack_forward(void *state, vf_queue *queue, const void *x, void *y)
{
    const combined *c = state;
    vf_status status = VF_OK;
    int64_t at = 0;
    for (int i = 0; i < c->count && status == VF_OK; i++) {
        const vf_vector_space to = vf_operator_codomain(c->part[i]);
        status = vf_operator_forward(c->part[i], queue, x, vf_offset(vf_queue_device(queue), y, to.type, at));
        at += to.count;
    }
    return status;
}

static vf_status stack_adjoint(void *state, vf_queue *queue, const void *y, void *x)
{
    const combined *c = state;
    const vf_vector_space domain = vf_operator_domain(c->part[0]);
    vf_status status = VF_OK;
    int64_t at = 0;
    for (int i = 0; i < c->count && status == VF_OK; i++) {
        const vf_vector_space from = vf_operator_codomain(c->part[i]);
        void *part = i > 0 ? c->room[0].data : x;
        status = vf_operator_adjoint(c->part[i], queue, vf_offset(vf_queue_device(queue), y, from.type, at), part);
        if (status == VF_OK && i > 0)
            status = vf_vector_axpby(queue, domain.type, domain.count, 1, part, 1, x);
        at += from.count;
    }
    return status;
}

/* The sum of the parts' `normal`. */
static vf_status stack_normal(void *state, vf_queue *queue, const void *x, void *z)
{
    const combined *c = state;
    const vf_vector_space domain = vf_operator_domain(c->part[0]);
    vf_status status = VF_OK;
    for (int i = 0; i < c->count && status == VF_OK; i++) {
        void *part = i > 0 ? c->room[0].data : z;
        status = vf_operator_normal(c->part[i], queue, x, part);
        if (status == VF_OK && i > 0)
            status = vf_vector_axpby(queue, domain.type, domain.count, 1, part, 1, z);
    }
    return status;
}

static bool is_beside(const vf_operator *first, const vf_operator *before, const vf_operator *a)
{
    (void)before;
    return same(vf_operator_domain(first), vf_operator_domain(a)) &&
           vf_operator_codomain(first).type == vf_operator_codomain(a).type;
}

vf_status vf_operator_stack(int count, vf_operator *const *a, vf_operator **out)
{
    static const vf_operator_methods methods = {.name = "stack",
                                                .forward = stack_forward,
                                                .adjoint = stack_adjoint,
                                                .normal = stack_normal,
                                                .free = free_combined};
    combined *c = NULL;
    *out = NULL;
    vf_status status = check_parts("stack", count, a, is_beside);
    VF_TRY(status, begin(count, a, 1, &c));
    if (status != VF_OK)
        return status;
    vf_vector_space codomain = {vf_operator_codomain(a[0]).type, 0};
    for (int i = 0; i < count; i++)
        codomain.count += vf_operator_codomain(a[i]).count;
    if (count > 1)
        status = make_room(c, 0, vf_operator_domain(a[0]));
    return finish(status, &methods, common_properties(count, a) & VF_OPERATOR_REAL_LINEAR, vf_operator_domain(a[0]),
                  codomain, c, out);
}

/* ---- of one operator ---- */

static vf_status scale(vf_queue *queue, vf_vector_space space, double factor, void *x)
{
    return vf_vector_axpby(queue, space.type, space.count, factor, x, 0, x);
}

static vf_status scale_forward(void *state, vf_queue *queue, const void *x, void *y)
{
    const combined *c = state;
    const vf_status status = vf_operator_forward(c->part[0], queue, x, y);
    return status == VF_OK ? scale(queue, vf_operator_codomain(c->part[0]), c->factor, y) : status;
}

static vf_status scale_adjoint(void *state, vf_queue *queue, const void *y, void *x)
{
    const combined *c = state;
    const vf_status status = vf_operator_adjoint(c->part[0], queue, y, x);
    return status == VF_OK ? scale(queue, vf_operator_domain(c->part[0]), c->factor, x) : status;
}

static vf_status scale_normal(void *state, vf_queue *queue, const void *x, void *z)
{
    const combined *c = state;
    const vf_status status = vf_operator_normal(c->part[0], queue, x, z);
    return status == VF_OK ? scale(queue, vf_operator_domain(c->part[0]), c->factor * c->factor, z) : status;
}

static vf_status make_of_one(const vf_operator_methods *methods, unsigned properties, vf_operator *a, double factor,
                             vf_vector_space domain, vf_vector_space codomain, vf_operator **out)
{
    combined *c = NULL;
    *out = NULL;
    const vf_status status = begin(1, &a, 0, &c);
    if (status != VF_OK)
        return status;
    c->factor = factor;
    return finish(status, methods, properties, domain, codomain, c, out);
}

vf_status vf_operator_scale(double factor, vf_operator *a, vf_operator **out)
{
    static const vf_operator_methods methods = {.name = "multiple",
                                                .forward = scale_forward,
                                                .adjoint = scale_adjoint,
                                                .normal = scale_normal,
                                                .free = free_combined};
    *out = NULL;
    if (!isfinite(factor))
        return vf_fail(vf_device_context(vf_operator_device(a)), VF_ERR_ARGUMENT,
                       "operator multiple: the factor of %s is %g", vf_operator_name(a), factor);
    return make_of_one(&methods, vf_operator_properties(a), a, factor, vf_operator_domain(a), vf_operator_codomain(a),
                       out);
}

static vf_status normal_forward(void *state, vf_queue *queue, const void *x, void *y)
{
    const combined *c = state;
    return vf_operator_normal(c->part[0], queue, x, y);
}

vf_status vf_operator_normal_of(vf_operator *a, vf_operator **out)
{
    static const vf_operator_methods methods = {.name = "normal", .forward = normal_forward, .free = free_combined};
    return make_of_one(&methods, vf_operator_properties(a) | VF_OPERATOR_SELF_ADJOINT, a, 1, vf_operator_domain(a),
                       vf_operator_domain(a), out);
}

static vf_status adjoint_forward(void *state, vf_queue *queue, const void *x, void *y)
{
    const combined *c = state;
    return vf_operator_adjoint(c->part[0], queue, x, y);
}

static vf_status adjoint_adjoint(void *state, vf_queue *queue, const void *y, void *x)
{
    const combined *c = state;
    return vf_operator_forward(c->part[0], queue, y, x);
}

vf_status vf_operator_adjoint_of(vf_operator *a, vf_operator **out)
{
    static const vf_operator_methods methods = {
        .name = "adjoint", .forward = adjoint_forward, .adjoint = adjoint_adjoint, .free = free_combined};
    return make_of_one(&methods, vf_operator_properties(a), a, 1, vf_operator_codomain(a), vf_operator_domain(a), out);
}
