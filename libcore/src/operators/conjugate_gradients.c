/* Conjugate gradients on the device; only two or three numbers per iteration are copied to the host. */
#include <math.h>

#include "device/team_choice.h"
#include "voxfield/copy.h"
#include "voxfield/solver.h"
#include "voxfield/vector.h"

/* The vectors of the loop: p the direction, q = A p, z = M r or r itself. */
typedef struct cg {
    vf_operator *a;
    vf_queue *queue;
    const vf_cg_options *options;
    vf_dtype type;
    int64_t n;
    void *r, *x, *p, *q, *z;
    vf_cg_result *result;
    vf_team_choice *choice;
} cg;

static vf_status check(vf_operator *a, const vf_queue *queue, const vf_cg_options *o, const void *b, const void *x)
{
    vf_context *ctx = vf_device_context(vf_operator_device(a));
    const vf_vector_space from = vf_operator_domain(a), to = vf_operator_codomain(a);
    if (from.type != to.type || from.count != to.count)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "conjugate gradients: operator %s is between two spaces",
                       vf_operator_name(a));
    if (!(o->iterations >= 0) || !(o->tolerance >= 0) || !(o->energy >= 0))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "conjugate gradients: %d iterations, tolerance %g, energy %g",
                       o->iterations, o->tolerance, o->energy);
    if (!b || !x || b == x || vf_queue_device(queue) != vf_operator_device(a))
        return vf_fail(ctx, VF_ERR_ARGUMENT,
                       "conjugate gradients: a vector is missing, b is x, or the queue belongs to another device");
    if (o->preconditioner && (vf_operator_device(o->preconditioner) != vf_operator_device(a) ||
                              vf_operator_domain(o->preconditioner).count != from.count ||
                              vf_operator_domain(o->preconditioner).type != from.type ||
                              vf_operator_codomain(o->preconditioner).count != from.count ||
                              vf_operator_codomain(o->preconditioner).type != from.type))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "conjugate gradients: preconditioner %s is of another space than %s",
                       vf_operator_name(o->preconditioner), vf_operator_name(a));
    return VF_OK;
}

/* z = M r and *product = <r, z>; without a preconditioner *product stays <r, r>. */
static vf_status precondition(const cg *s, double *product)
{
    double result[2] = {*product};
    vf_status status = VF_OK;
    if (s->options->preconditioner) {
        status = vf_operator_forward(s->options->preconditioner, s->queue, s->r, s->z);
        VF_TRY(status, vf_vector_dot(s->queue, s->type, s->n, s->r, s->z, result));
    }
    *product = result[0];
    return status;
}

/* r = b - A x for the initial x. */
static vf_status begin(const cg *s)
{
    const double zero[2] = {0};
    if (!s->options->warm)
        return vf_fill(s->queue, s->type, s->n, zero, s->x);
    const vf_status status = vf_operator_forward(s->a, s->queue, s->x, s->q);
    return status == VF_OK ? vf_vector_axpby(s->queue, s->type, s->n, -1, s->q, 1, s->r) : status;
}

/* Whether the residual and <r, z> are small enough. */
static bool is_small(const vf_cg_options *o, double residual, double product)
{
    return residual <= o->tolerance || (o->preconditioner && o->energy > 0 && product <= o->energy);
}

static vf_status iterate(const cg *s)
{
    vf_context *ctx = vf_device_context(vf_queue_device(s->queue));
    const vf_cg_options *o = s->options;
    vf_cg_result *result = s->result;
    double squares[2], curvature[2], next, product;
    vf_status status = vf_vector_dot(s->queue, s->type, s->n, s->r, s->r, squares);
    const double size = squares[0]; /* |b|^2 */
    *result = (vf_cg_result){.residual = size > 0, .end = VF_SOLVER_ITERATIONS};
    if (status == VF_OK && !isfinite(size)) {
        result->end = VF_SOLVER_OVERFLOW;
        return VF_OK;
    }
    VF_TRY(status, begin(s));
    if (status == VF_OK && o->warm)
        status = vf_vector_dot(s->queue, s->type, s->n, s->r, s->r, squares);
    double now = squares[0]; /* <r, z> */
    if (o->warm && size > 0)
        result->residual = sqrt(now / size);
    VF_TRY(status, precondition(s, &now));
    VF_TRY(status, vf_copy(s->queue, s->type, s->n, s->z, s->p));
    if (!(size > 0) || !(squares[0] > 0) || (o->warm && is_small(o, result->residual, now)))
        result->end = VF_SOLVER_CONVERGED;
    while (status == VF_OK && result->end == VF_SOLVER_ITERATIONS && result->iterations < o->iterations) {
        if (vf_cancelled(ctx))
            return vf_fail(ctx, VF_ERR_CANCELLED, "interrupted");
        vf_iteration_begins(s->choice);
        status = vf_operator_forward(s->a, s->queue, s->p, s->q);
        VF_TRY(status, vf_vector_dot(s->queue, s->type, s->n, s->p, s->q, curvature));
        if (status != VF_OK)
            return status;
        if (!isfinite(curvature[0]) || !(curvature[0] > 0)) {
            result->end = isfinite(curvature[0]) ? VF_SOLVER_NOT_POSITIVE : VF_SOLVER_OVERFLOW;
            break;
        }
        status = vf_vector_cg_step(s->queue, s->type, s->n, now / curvature[0], s->p, s->q, s->x, s->r, &next);
        if (status == VF_OK && !isfinite(next)) {
            result->end = VF_SOLVER_OVERFLOW;
            break;
        }
        product = next;
        VF_TRY(status, precondition(s, &product));
        VF_TRY(status, vf_vector_axpby(s->queue, s->type, s->n, 1, s->z, product / now, s->p));
        vf_iteration_ends(s->choice, 0);
        now = product;
        result->iterations++;
        result->residual = sqrt(next / size);
        if (is_small(o, result->residual, now))
            result->end = VF_SOLVER_CONVERGED;
        if (status == VF_OK && o->tell && o->tell(o->user, result->iterations, result->residual) &&
            result->end == VF_SOLVER_ITERATIONS)
            result->end = VF_SOLVER_STOPPED;
    }
    return status;
}

vf_status vf_cg(vf_operator *a, vf_queue *queue, const vf_cg_options *options, void *b, void *x, vf_cg_result *result)
{
    vf_device *device = vf_operator_device(a);
    const vf_vector_space space = vf_operator_domain(a);
    vf_array p = {0}, q = {0}, z = {0};
    vf_team_choice choice;
    *result = (vf_cg_result){.end = VF_SOLVER_ITERATIONS};
    vf_status status = check(a, queue, options, b, x);
    VF_TRY(status, vf_array_create(device, VF_SPACE_DEVICE, space.type, space.count, &p));
    VF_TRY(status, vf_array_create(device, VF_SPACE_DEVICE, space.type, space.count, &q));
    if (status == VF_OK && options->preconditioner)
        status = vf_array_create(device, VF_SPACE_DEVICE, space.type, space.count, &z);
    const cg s = {.a = a,
                  .queue = queue,
                  .options = options,
                  .type = space.type,
                  .n = space.count,
                  .r = b,
                  .x = x,
                  .p = p.data,
                  .q = q.data,
                  .z = options->preconditioner ? z.data : b,
                  .result = result,
                  .choice = &choice};
    vf_team_choice_begin(&choice, device, space.count);
    VF_TRY(status, iterate(&s));
    vf_team_choice_end(&choice);
    vf_array_free(&z);
    vf_array_free(&p);
    vf_array_free(&q);
    return status;
}
