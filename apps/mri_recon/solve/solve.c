/* Conjugate gradients, all of it on the device; two numbers an iteration come back to the host. Where several devices
 * share the coils, the vectors are on the first, which sends the direction to the others and adds up what they make of
 * it. */
#include <math.h>

#include "equations.h"
#include "voxfield/copy.h"
#include "voxfield/vector.h"

/* A residual below this is what single precision leaves. */
static const double ONLY_ROUNDING = 1e-5;

/* y += what the other parts make of x, in their order. */
static vf_status add_parts(const system_matrix *system, vf_array *y)
{
    vf_queue *queue = system->part[0].queue;
    vf_status status = VF_OK;
    for (int d = 1; d < system->parts && status == VF_OK; d++) {
        status = vf_queue_sync(system->part[d].queue);
        if (status == VF_OK)
            status = vf_vector_axpby(queue, y->type, y->count, 1, system->part[d].arrived.data, 1, y->data);
    }
    return status;
}

static vf_status apply_part(const system_part *p, const vf_array *x, vf_array *y)
{
    return p->sets > 1
               ? map_sets_apply(p, x, y)
               : normal_matrix_apply(p->normal, p->queue, p->coils, p->maps ? p->maps->data : NULL, x->data, y->data);
}

/* Everything is put into the queues before any is waited for, so that GPUs work at the same time. */
static vf_status apply(const system_matrix *system, const vf_array *x, vf_array *y)
{
    vf_queue *queue = system->part[0].queue;
    vf_status status =
        system->parts > 1 ? vf_queue_sync(queue) : VF_OK; /* x, and what was added up before, are there */
    for (int d = 1; d < system->parts && status == VF_OK; d++) {
        const system_part *p = &system->part[d];
        vf_array copy = p->x, result = p->y, arrived = p->arrived;
        copy.count = result.count = arrived.count = x->count;
        status = vf_array_copy(p->queue, &copy, x, x->count);
        if (status == VF_OK)
            status = apply_part(p, &copy, &result);
        if (status == VF_OK)
            status = vf_array_copy(p->queue, &arrived, &result, x->count);
    }
    if (status == VF_OK)
        status = apply_part(&system->part[0], x, y);
    if (status == VF_OK)
        status = add_parts(system, y);
    for (int d = 1; d < system->parts && status != VF_OK; d++) {
        const vf_status ended = vf_queue_sync(system->part[d].queue); /* it uses x */
        (void)ended;
    }
    return status == VF_OK ? prior_add(system->prior, queue, x, y) : status;
}

vf_status grow_array(vf_device *device, vf_space space, vf_dtype type, int64_t count, vf_array *array)
{
    if (array->data && array->count >= count)
        return VF_OK;
    vf_array_free(array);
    return vf_array_create(device, space, type, count, array);
}

vf_status system_part_create(const system_part *first, vf_dtype type, int64_t voxels, system_part *out)
{
    vf_device *device = vf_queue_device(out->queue), *at = vf_queue_device(first->queue);
    const int sets = out->sets > 1 ? out->sets : 1;
    const int64_t vector = first == out ? 0 : sets * voxels;
    vf_status status = VF_OK;
    if (vector > 0)
        status = grow_array(device, VF_SPACE_DEVICE, type, vector, &out->x);
    if (status == VF_OK && vector > 0)
        status = grow_array(device, VF_SPACE_DEVICE, type, vector, &out->y);
    if (status == VF_OK && vector > 0)
        status = grow_array(at, VF_SPACE_DEVICE, type, vector, &out->arrived);
    if (status == VF_OK && sets > 1)
        status = grow_array(device, VF_SPACE_DEVICE, type, map_sets_room(sets, voxels), &out->room);
    return status;
}

void system_part_free(system_part *part)
{
    vf_array_free(&part->x);
    vf_array_free(&part->y);
    vf_array_free(&part->arrived);
    vf_array_free(&part->room);
}

/* Data are finite where they are read; squares of their sums need not be. */
static vf_status overflow(vf_context *ctx, const recon_settings *settings)
{
    return vf_fail(ctx, VF_ERR_INPUT, "%s: the data or coil maps are too large for %s precision; scale them down%s",
                   settings->input, settings->precision == VF_F64 ? "double" : "single",
                   settings->precision == VF_F64 ? "" : ", or use --precision double");
}

/* z = M r, M near the inverse of A, and *product = <r, z>; without a preconditioner z is not used. */
static vf_status precondition(const system_matrix *system, const vf_array *r, vf_array *z, double *product)
{
    vf_queue *queue = system->part[0].queue;
    double result[2] = {*product};
    vf_status status = VF_OK;
    if (!system->prior->preconditioned)
        return VF_OK;
    status = prior_precondition(system->prior, queue, r, z);
    if (status == VF_OK)
        status = vf_vector_dot(queue, r->type, r->count, r->data, z->data, result);
    *product = result[0];
    return status;
}

/* The loop, with its vectors at hand: p the direction, q = A p, z = M r or r itself. */
static vf_status iterate(vf_context *ctx, const recon_settings *settings, const system_matrix *system, vf_array *r,
                         vf_array *p, vf_array *q, vf_array *z, vf_array *x,
                         void (*tell)(void *user, int iteration, double residual), void *user, solve_result *result)
{
    vf_queue *queue = system->part[0].queue;
    const vf_dtype type = x->type;
    const int64_t n = x->count;
    double squares[2], curvature[2], next, product;
    vf_status status = vf_vector_dot(queue, type, n, r->data, r->data, squares);
    const double begin = squares[0];
    double now = begin; /* <r, z> */
    if (status == VF_OK && !isfinite(begin))
        status = overflow(ctx, settings);
    if (status == VF_OK)
        status = vf_fill(queue, type, n, (const double[2]){0}, x->data);
    if (status == VF_OK)
        status = precondition(system, r, z, &now);
    if (status == VF_OK)
        status = vf_copy(queue, type, n, z->data, p->data);
    *result = (solve_result){.residual = begin > 0, .converged = !(begin > 0)};
    while (status == VF_OK && !result->converged && result->iterations < settings->iterations) {
        if (vf_cancelled(ctx))
            return vf_fail(ctx, VF_ERR_CANCELLED, "interrupted");
        status = apply(system, p, q);
        if (status == VF_OK)
            status = vf_vector_dot(queue, type, n, p->data, q->data, curvature);
        if (status != VF_OK)
            return status;
        if (!isfinite(curvature[0]))
            return overflow(ctx, settings);
        if (!(curvature[0] > 0)) {
            if (result->residual > ONLY_ROUNDING)
                vf_warn(ctx,
                        "conjugate gradients stopped in iteration %d at residual %.2g: the matrix is not positive "
                        "definite to the accuracy at hand; use a finer --accuracy, %s, or --precision double",
                        result->iterations + 1, result->residual,
                        settings->lambda_auto ? "a larger factor (--lambda auto:10)"
                                              : "--lambda auto or a larger number");
            break;
        }
        status = vf_vector_cg_step(queue, type, n, now / curvature[0], p->data, q->data, x->data, r->data, &next);
        if (status == VF_OK && !isfinite(next))
            status = overflow(ctx, settings);
        product = next;
        if (status == VF_OK)
            status = precondition(system, r, z, &product);
        if (status == VF_OK)
            status = vf_vector_axpby(queue, type, n, 1, z->data, product / now, p->data);
        now = product;
        result->iterations++;
        result->residual = sqrt(next / begin);
        result->converged = result->residual <= settings->tolerance;
        if (tell && status == VF_OK)
            tell(user, result->iterations, result->residual);
    }
    return status;
}

vf_status solve(vf_context *ctx, const recon_settings *settings, const system_matrix *system, vf_array *b, vf_array *x,
                void (*tell)(void *user, int iteration, double residual), void *user, solve_result *result)
{
    vf_device *device = vf_queue_device(system->part[0].queue);
    vf_array p = {0}, q = {0}, z = {0};
    vf_status status = vf_array_create(device, VF_SPACE_DEVICE, x->type, x->count, &p);
    if (status == VF_OK)
        status = vf_array_create(device, VF_SPACE_DEVICE, x->type, x->count, &q);
    if (status == VF_OK && system->prior->preconditioned)
        status = vf_array_create(device, VF_SPACE_DEVICE, x->type, x->count, &z);
    if (status == VF_OK)
        status =
            iterate(ctx, settings, system, b, &p, &q, system->prior->preconditioned ? &z : b, x, tell, user, result);
    vf_array_free(&z);
    vf_array_free(&p);
    vf_array_free(&q);
    return status;
}
