/* Operators whose parts are on several devices. Vectors are on the first part's device. All queues are filled before any is
 * waited for, so that GPUs work at the same time; results are put together in order, so that the bits are always the
 * same. */
#include <stdlib.h>

#include "operator_internal.h"
#include "voxfield/vector.h"

/* One part with its vectors. One that works in the caller's queue has none: it takes the caller's. */
typedef struct away {
    vf_operator *a;
    vf_queue *queue;           /* NULL: the caller's */
    int64_t first[2];          /* of blocks: where its part of the domain and of the codomain begin */
    vf_array domain, codomain; /* vectors on its own device */
    vf_array arrived[2]; /* of sums: its result on the first device, of the codomain, or for adjoints of the domain */
} away;

typedef struct devices {
    int count;
    bool blocks; /* else a sum */
    away *part;  /* [count] */
} devices;

static void free_devices(void *state)
{
    devices *s = state;
    for (int i = 0; s->part && i < s->count; i++) {
        vf_array_free(&s->part[i].domain);
        vf_array_free(&s->part[i].codomain);
        vf_array_free(&s->part[i].arrived[0]);
        vf_array_free(&s->part[i].arrived[1]);
        vf_operator_free(s->part[i].a);
    }
    free(s->part);
    free(s);
}

/* A vector on the first device, from element `first` on. */
static vf_array view(const devices *s, vf_vector_space space, const void *data, int64_t first)
{
    vf_device *device = vf_operator_device(s->part->a);
    return (vf_array){.data = vf_offset(device, data, space.type, first),
                      .count = space.count,
                      .type = space.type,
                      .space = VF_SPACE_DEVICE,
                      .device = device};
}

static vf_status apply_one(vf_operator *a, vf_queue *queue, bool adjoint, const void *from, void *to)
{
    return (adjoint ? vf_operator_adjoint : vf_operator_forward)(a, queue, from, to);
}

/* Puts all work of a part that is away into its queue. */
static vf_status send_away(const devices *s, away *p, bool adjoint, const void *from, const void *to)
{
    const vf_vector_space in = adjoint ? vf_operator_codomain(p->a) : vf_operator_domain(p->a);
    const vf_vector_space out = adjoint ? vf_operator_domain(p->a) : vf_operator_codomain(p->a);
    vf_array *here = adjoint ? &p->codomain : &p->domain, *made = adjoint ? &p->domain : &p->codomain;
    const vf_array source = view(s, in, from, s->blocks ? p->first[adjoint] : 0);
    vf_array target = s->blocks ? view(s, out, to, p->first[!adjoint]) : p->arrived[adjoint];
    vf_status status = vf_array_copy(p->queue, here, &source, in.count);
    VF_TRY(status, apply_one(p->a, p->queue, adjoint, here->data, made->data));
    VF_TRY(status, vf_array_copy(p->queue, &target, made, out.count));
    return status;
}

static vf_status apply(devices *s, vf_queue *queue, bool adjoint, const void *from, void *to)
{
    bool any = false;
    for (int i = 0; i < s->count; i++)
        any |= s->part[i].queue != NULL;
    vf_status status = any ? vf_queue_sync(queue) : VF_OK; /* `from` is complete, and nobody uses `to` and `arrived` */
    for (int i = 0; i < s->count && status == VF_OK; i++)
        if (s->part[i].queue)
            status = send_away(s, &s->part[i], adjoint, from, to);
    for (int i = 0; i < s->count && status == VF_OK; i++) {
        const away *p = &s->part[i];
        const vf_vector_space in = adjoint ? vf_operator_codomain(p->a) : vf_operator_domain(p->a);
        const vf_vector_space out = adjoint ? vf_operator_domain(p->a) : vf_operator_codomain(p->a);
        if (!p->queue)
            status = apply_one(p->a, queue, adjoint, view(s, in, from, s->blocks ? p->first[adjoint] : 0).data,
                               view(s, out, to, s->blocks ? p->first[!adjoint] : 0).data);
    }
    for (int i = 0; i < s->count; i++) { /* after an error, too: they may still use the vectors */
        const away *p = &s->part[i];
        const vf_status ended = p->queue ? vf_queue_sync(p->queue) : VF_OK;
        status = status == VF_OK ? ended : status;
        if (status == VF_OK && p->queue && !s->blocks)
            status = vf_vector_axpby(queue, p->arrived[adjoint].type, p->arrived[adjoint].count, 1,
                                     p->arrived[adjoint].data, 1, to);
    }
    return status;
}

static vf_status forward(void *state, vf_queue *queue, const void *x, void *y)
{
    return apply(state, queue, false, x, y);
}

static vf_status adjoint(void *state, vf_queue *queue, const void *y, void *x)
{
    return apply(state, queue, true, y, x);
}

/* The vectors of a part that is away. */
static vf_status make_vectors(const devices *s, away *p, bool self_adjoint)
{
    vf_device *own = vf_operator_device(p->a), *first = vf_operator_device(s->part->a);
    const vf_vector_space domain = vf_operator_domain(p->a), codomain = vf_operator_codomain(p->a);
    vf_status status = vf_array_create(own, VF_SPACE_DEVICE, domain.type, domain.count, &p->domain);
    VF_TRY(status, vf_array_create(own, VF_SPACE_DEVICE, codomain.type, codomain.count, &p->codomain));
    if (status == VF_OK && !s->blocks)
        status = vf_array_create(first, VF_SPACE_DEVICE, codomain.type, codomain.count, &p->arrived[0]);
    if (status == VF_OK && !s->blocks && !self_adjoint)
        status = vf_array_create(first, VF_SPACE_DEVICE, domain.type, domain.count, &p->arrived[1]);
    return status;
}

static bool same(vf_vector_space a, vf_vector_space b)
{
    return a.type == b.type && a.count == b.count;
}

static vf_status check(const vf_operator_methods *methods, bool blocks, int count, const vf_operator_part *part)
{
    if (count < 1)
        return VF_ERR_ARGUMENT; /* without a device there is no context for a message */
    vf_device *first = vf_operator_device(part->a);
    const vf_vector_space from = vf_operator_domain(part->a), to = vf_operator_codomain(part->a);
    for (int i = 0; i < count; i++) {
        const vf_operator *a = part[i].a;
        const vf_vector_space domain = vf_operator_domain(a), codomain = vf_operator_codomain(a);
        const bool fits = blocks ? domain.type == from.type && codomain.type == to.type
                                 : same(domain, from) && same(codomain, to) && (i == 0) == !part[i].queue;
        if (!fits || vf_operator_device(a) != (part[i].queue ? vf_queue_device(part[i].queue) : first))
            return vf_fail(vf_device_context(first), VF_ERR_ARGUMENT,
                           "operator %s: part %d, %s, has spaces that do not fit to the first part's, or the queue of "
                           "another device",
                           methods->name, i, vf_operator_name(a));
    }
    return VF_OK;
}

static vf_status create(const vf_operator_methods *methods, bool blocks, int count, const vf_operator_part *part,
                        vf_operator **out)
{
    *out = NULL;
    vf_status status = check(methods, blocks, count, part);
    if (status != VF_OK)
        return status;
    vf_device *device = vf_operator_device(part->a);
    devices *s = calloc(1, sizeof *s);
    away *parts = calloc((size_t)count, sizeof *parts);
    if (!s || !parts) {
        free(s);
        free(parts);
        return vf_fail(vf_device_context(device), VF_ERR_MEMORY, "operator %s: not enough memory", methods->name);
    }
    *s = (devices){.blocks = blocks, .part = parts};
    vf_vector_space domain = {vf_operator_domain(part->a).type, 0}, codomain = {vf_operator_codomain(part->a).type, 0};
    unsigned all = ~0U, any = 0;
    for (; s->count < count; s->count++) {
        vf_operator *a = part[s->count].a;
        parts[s->count] = (away){.a = a, .queue = part[s->count].queue, .first = {domain.count, codomain.count}};
        vf_operator_keep(a);
        domain.count = (blocks ? domain.count : 0) + vf_operator_domain(a).count;
        codomain.count = (blocks ? codomain.count : 0) + vf_operator_codomain(a).count;
        all &= vf_operator_properties(a);
        any |= vf_operator_properties(a);
    }
    for (int i = 0; i < count && status == VF_OK; i++)
        if (parts[i].queue)
            status = make_vectors(s, &parts[i], all & VF_OPERATOR_SELF_ADJOINT);
    VF_TRY(status,
           vf_operator_create(device, methods, (all & VF_OPERATOR_SELF_ADJOINT) | (any & VF_OPERATOR_REAL_LINEAR),
                              domain, codomain, s, out));
    if (status != VF_OK)
        free_devices(s);
    return status;
}

vf_status vf_operator_sum_of_devices(int count, const vf_operator_part *part, vf_operator **out)
{
    static const vf_operator_methods methods = {
        .name = "sum of devices", .forward = forward, .adjoint = adjoint, .free = free_devices};
    return create(&methods, false, count, part, out);
}

vf_status vf_operator_blocks(int count, const vf_operator_part *part, vf_operator **out)
{
    static const vf_operator_methods methods = {
        .name = "blocks", .forward = forward, .adjoint = adjoint, .free = free_devices};
    return create(&methods, true, count, part, out);
}
