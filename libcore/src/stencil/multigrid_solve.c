/* Conjugate gradients in the precision of a plan, whose residual is computed anew in double precision now and then. */
#include <math.h>

#include "multigrid_plan.h"
#include "voxfield/copy.h"
#include "voxfield/vector.h"

/* The residual falls by this before it is computed anew: single precision's own error in it is then some 1e-7 of what it was, so a
 * ten-thousandth of what it is. */
static const double renew_at = 1e-3;

typedef struct solution {
    vf_multigrid *plan;
    vf_queue *queue;
    vf_dtype type;
    int64_t n;
    vf_array r, p, q, part; /* `part` is what x lacks; q: A p, then M r */
    double *b, *x;
} solution;

/* b -= A part, x += part, part = 0, r = b. */
static vf_status renew(const solution *s, double *squares)
{
    const double zero[2] = {0};
    vf_multigrid *const plan = s->plan;
    vf_status status = plan->ops->correct(plan, s->queue, s->part.data, s->b, s->x, s->r.data, squares);
    VF_TRY(status, vf_fill(s->queue, s->type, s->n, zero, s->part.data));
    return status;
}

static vf_status iterate(solution *s, const vf_cg_options *o, vf_cg_result *result)
{
    vf_context *ctx = vf_device_context(s->plan->device);
    const double zero[2] = {0};
    double now = 0, product = 0, curvature = 0, next = 0, size = 0, since;
    vf_status status = vf_fill(s->queue, VF_F64, s->n, zero, s->x);
    VF_TRY(status, vf_fill(s->queue, s->type, s->n, zero, s->part.data));
    VF_TRY(status, vf_fill(s->queue, s->type, s->n, zero, s->p.data));
    VF_TRY(status, renew(s, &size));
    since = size;
    *result = (vf_cg_result){.residual = size > 0, .end = size > 0 ? VF_SOLVER_ITERATIONS : VF_SOLVER_CONVERGED};
    if (status == VF_OK && !isfinite(size))
        result->end = VF_SOLVER_OVERFLOW;
    while (status == VF_OK && result->end == VF_SOLVER_ITERATIONS && result->iterations < o->iterations) {
        if (vf_cancelled(ctx))
            return vf_fail(ctx, VF_ERR_CANCELLED, "interrupted");
        VF_TRY(status, s->plan->ops->cycle(s->plan, s->queue, s->r.data, s->q.data, &product));
        VF_TRY(status, vf_vector_axpby(s->queue, s->type, s->n, 1, s->q.data, now > 0 ? product / now : 0, s->p.data));
        now = product;
        VF_TRY(status, s->plan->ops->apply(s->plan, s->queue, s->p.data, s->q.data, &curvature));
        if (status != VF_OK)
            break;
        if (!isfinite(curvature) || !(curvature > 0)) {
            result->end = isfinite(curvature) ? VF_SOLVER_NOT_POSITIVE : VF_SOLVER_OVERFLOW;
            break;
        }
        VF_TRY(status, vf_vector_cg_step(s->queue, s->type, s->n, now / curvature, s->p.data, s->q.data, s->part.data,
                                         s->r.data, &next));
        result->iterations++;
        if (status == VF_OK && (sqrt(next / size) <= o->tolerance || next <= renew_at * renew_at * since ||
                                result->iterations == o->iterations)) {
            status = renew(s, &next);
            since = next;
            if (sqrt(next / size) <= o->tolerance)
                result->end = VF_SOLVER_CONVERGED;
        }
        result->residual = sqrt(next / size);
        if (status == VF_OK && !isfinite(next))
            result->end = VF_SOLVER_OVERFLOW;
        if (status == VF_OK && o->tell && o->tell(o->user, result->iterations, result->residual) &&
            result->end == VF_SOLVER_ITERATIONS) {
            result->end = VF_SOLVER_STOPPED;
            status = renew(s, &next);
            result->residual = sqrt(next / size);
        }
    }
    return status;
}

vf_status vf_multigrid_solve(vf_multigrid *plan, vf_queue *queue, const vf_cg_options *options, double *b, double *x,
                             vf_cg_result *result)
{
    vf_context *ctx = vf_device_context(plan->device);
    solution s = {
        .plan = plan, .queue = queue, .type = plan->level[0].options.type, .n = plan->level[0].points, .b = b, .x = x};
    vf_array *const arrays[] = {&s.r, &s.p, &s.q, &s.part};
    *result = (vf_cg_result){.end = VF_SOLVER_ITERATIONS};
    if (!b || !x || b == x || options->preconditioner || options->warm || !(options->iterations >= 0) ||
        !(options->tolerance > 0) || vf_queue_device(queue) != plan->device)
        return vf_fail(ctx, VF_ERR_ARGUMENT,
                       "multigrid: a vector is missing, b is x, the queue belongs to another device, or %d iterations "
                       "to a tolerance of %g are not possible",
                       options->iterations, options->tolerance);
    vf_status status = VF_OK;
    for (int i = 0; i < 4; i++)
        VF_TRY(status, vf_array_create(plan->device, VF_SPACE_DEVICE, s.type, s.n, arrays[i]));
    VF_TRY(status, iterate(&s, options, result));
    VF_TRY(status, vf_queue_sync(queue));
    for (int i = 0; i < 4; i++)
        vf_array_free(arrays[i]);
    return status;
}
