/* The system of equations as an operator, and its solution by conjugate gradients. If several devices share the coils,
 * the vectors are on the first device: it sends the search direction to the others and adds up their results. */
#include "equations.h"
#include "voxfield/solver.h"
#include "voxfield/vector.h"

/* Residuals below this are rounding errors of single precision. */
static const double ONLY_ROUNDING = 1e-5;

/* y += the other parts' results, in order. */
static vf_status add_parts(const system_matrix *system, vf_array *y)
{
    vf_queue *queue = system->part[0].queue;
    vf_status status = VF_OK;
    for (int d = 1; d < system->parts && status == VF_OK; d++) {
        status = vf_queue_sync(system->part[d].queue);
        VF_TRY(status, vf_vector_axpby(queue, y->type, y->count, 1, system->part[d].arrived.data, 1, y->data));
    }
    return status;
}

static vf_status apply_part(const system_part *p, const vf_array *x, vf_array *y)
{
    return p->sets > 1
               ? map_sets_apply(p, x, y)
               : vf_normal_apply(p->normal, p->queue, p->coils, p->maps ? p->maps->data : NULL, x->data, y->data);
}

/* Fills all queues before it waits for any, so that the GPUs work at the same time. */
static vf_status apply(const system_matrix *system, const vf_array *x, vf_array *y)
{
    vf_queue *queue = system->part[0].queue;
    const remote_sum *remote = system->remote;
    vf_status status =
        system->parts > 1 ? vf_queue_sync(queue) : VF_OK; /* x is complete, and `arrived` is free again */
    if (status == VF_OK && remote)
        status = remote->begin(remote->user, queue, x);
    const bool begun = status == VF_OK && remote;
    for (int d = 1; d < system->parts && status == VF_OK; d++) {
        const system_part *p = &system->part[d];
        vf_array copy = p->x, result = p->y, arrived = p->arrived;
        copy.count = result.count = arrived.count = x->count;
        status = vf_array_copy(p->queue, &copy, x, x->count);
        VF_TRY(status, apply_part(p, &copy, &result));
        VF_TRY(status, vf_array_copy(p->queue, &arrived, &result, x->count));
    }
    VF_TRY(status, apply_part(&system->part[0], x, y));
    VF_TRY(status, add_parts(system, y));
    if (begun) {
        const vf_status ended = remote->end(remote->user, queue, status == VF_OK ? y : NULL);
        status = status == VF_OK ? ended : status;
    }
    for (int d = 1; d < system->parts && status != VF_OK; d++) {
        const vf_status ended = vf_queue_sync(system->part[d].queue); /* it may still read x */
        (void)ended;
    }
    return status == VF_OK ? vf_prior_add(system->prior, queue, x, y) : status;
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

/* The reader checked that data are finite, but the squares of their sums may overflow. */
vf_status solve_overflow(vf_context *ctx, const solve_options *options)
{
    return vf_fail(ctx, VF_ERR_INPUT, "%s: the data or coil maps are too large for %s precision; scale them down%s",
                   options->input, options->precision == VF_F64 ? "double" : "single",
                   options->precision == VF_F64 ? "" : ", or use --precision double");
}

/* ---- the system and its preconditioner as operators ---- */

static vf_array view(const system_matrix *system, int64_t count, const void *data)
{
    vf_queue *queue = system->part[0].queue;
    return (vf_array){.data = (void *)data,
                      .count = count,
                      .type = system->type,
                      .space = VF_SPACE_DEVICE,
                      .device = vf_queue_device(queue)};
}

static vf_status apply_system(void *state, vf_queue *queue, const void *x, void *y)
{
    const system_matrix *system = state;
    const vf_array from = view(system, system->count, x);
    vf_array to = view(system, system->count, y);
    (void)queue; /* the first part's queue */
    return apply(system, &from, &to);
}

vf_status system_operator_create(system_matrix *system, vf_dtype type, int64_t count, vf_operator **out)
{
    static const vf_operator_methods methods = {.name = "F^H W F + lambda P", .forward = apply_system};
    const vf_vector_space space = {type, count};
    const unsigned properties = VF_OPERATOR_SELF_ADJOINT | (system->prior->imaginary > 0 ? VF_OPERATOR_REAL_LINEAR : 0);
    system->type = type;
    system->count = count;
    return vf_operator_create(vf_queue_device(system->part[0].queue), &methods, properties, space, space, system, out);
}

/* The error or warning if the solver ended early. */
static vf_status judge(vf_context *ctx, const solve_options *options, const vf_cg_result *found)
{
    if (found->end == VF_SOLVER_OVERFLOW)
        return solve_overflow(ctx, options);
    if (found->end == VF_SOLVER_NOT_POSITIVE && found->residual > ONLY_ROUNDING)
        vf_warn(
            ctx,
            "conjugate gradients stopped in iteration %d at residual %.2g: the matrix is not positive definite at this "
            "accuracy; use a finer --accuracy, %s, or --precision double",
            found->iterations + 1, found->residual,
            options->lambda_auto ? "a larger factor (--lambda auto:10)" : "--lambda auto or a larger number");
    return VF_OK;
}

vf_status solve(vf_context *ctx, const solve_options *options, const system_matrix *system, vf_array *b, vf_array *x,
                bool (*tell)(void *user, int iteration, double residual), void *user, solve_result *result)
{
    const vf_prior *known = system->prior;
    vf_device *device = vf_queue_device(system->part[0].queue);
    system_matrix whole = *system;
    vf_cg_options how = {
        .iterations = options->iterations, .tolerance = options->tolerance, .tell = tell, .user = user};
    vf_cg_result found = {0};
    vf_operator *a = NULL, *m = NULL;
    vf_status status = system_operator_create(&whole, x->type, x->count, &a);
    if (status == VF_OK && known->preconditioned)
        status =
            vf_prior_inverse_operator(known, device, options->precision,
                                      (int)(x->count / (known->counts[0] * known->counts[1] * known->counts[2])), &m);
    how.preconditioner = m;
    VF_TRY(status, vf_cg(a, system->part[0].queue, &how, b->data, x->data, &found));
    VF_TRY(status, judge(ctx, options, &found));
    *result = (solve_result){
        .iterations = found.iterations, .residual = found.residual, .converged = found.end == VF_SOLVER_CONVERGED};
    vf_operator_free(a);
    vf_operator_free(m);
    return status;
}
