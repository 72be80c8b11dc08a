/* What the solvers of convex problems share. */
#include <math.h>

#include "convex_internal.h"
#include "voxfield/copy.h"
#include "voxfield/vector.h"

static bool fits(const vf_operator *a, vf_vector_space space)
{
    const vf_vector_space from = vf_operator_domain(a), to = vf_operator_codomain(a);
    return from.type == space.type && from.count == space.count && to.type == space.type && to.count == space.count;
}

static vf_status check(const char *solver, const vf_convex_problem *p, const vf_queue *queue,
                       const vf_convex_options *o, const void *x)
{
    vf_device *device = vf_operator_device(p->normal);
    vf_context *ctx = vf_device_context(device);
    const vf_vector_space space = vf_operator_domain(p->normal);
    if (!fits(p->normal, space))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "%s: operator %s is between two spaces", solver,
                       vf_operator_name(p->normal));
    if (!(o->iterations >= 0) || !(o->tolerance >= 0) || o->inner < 0 || !(o->reduction >= 0 && o->reduction <= 1) ||
        !(o->relaxation >= 0 && o->relaxation < 2) || p->penalties < 1 || p->penalties > VF_MOST_PENALTIES)
        return vf_fail(ctx, VF_ERR_ARGUMENT,
                       "%s: %d iterations, tolerance %g, %d inner steps, reduction %g, relaxation %g, %d penalties",
                       solver, o->iterations, o->tolerance, o->inner, o->reduction, o->relaxation, p->penalties);
    if (!p->b || !x || p->b == x || vf_queue_device(queue) != device)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "%s: a vector is missing, b is x, or the queue belongs to another device",
                       solver);
    if (o->preconditioner && (vf_operator_device(o->preconditioner) != device || !fits(o->preconditioner, space)))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "%s: preconditioner %s is of another space than %s", solver,
                       vf_operator_name(o->preconditioner), vf_operator_name(p->normal));
    for (int i = 0; i < p->penalties; i++) {
        const vf_operator *t = p->penalty[i].transform;
        if (t && (vf_operator_domain(t).type != space.type || vf_operator_domain(t).count != space.count ||
                  vf_operator_codomain(t).type != space.type || vf_operator_device(t) != device))
            return vf_fail(ctx, VF_ERR_ARGUMENT, "%s: transform %s is of another space than %s", solver,
                           vf_operator_name(t), vf_operator_name(p->normal));
        if (!p->penalty[i].function)
            return vf_fail(ctx, VF_ERR_ARGUMENT, "%s: penalty %d has no function", solver, i);
    }
    return VF_OK;
}

int64_t convex_count(const convex *c, int penalty)
{
    const vf_operator *t = c->problem->penalty[penalty].transform;
    return t ? vf_operator_codomain(t).count : c->n;
}

static vf_status allocate(convex *c, int64_t count, void **data)
{
    const double zero[2] = {0};
    vf_array *array = &c->array[c->arrays];
    vf_status status = vf_array_create(vf_queue_device(c->queue), VF_SPACE_DEVICE, c->type, count, array);
    if (status == VF_OK) {
        c->arrays++;
        *data = array->data;
        status = vf_fill(c->queue, c->type, count, zero, *data);
    }
    return status;
}

vf_status convex_squares(const convex *c, int64_t n, const void *v, double *squares)
{
    double product[2] = {0};
    const vf_status status = vf_vector_dot(c->queue, c->type, n, v, v, product);
    *squares = product[0];
    return status;
}

vf_status convex_begin(const char *solver, const vf_convex_problem *problem, vf_queue *queue,
                       const vf_convex_options *options, void *x, int vectors, vf_convex_result *result, convex *out)
{
    const double zero[2] = {0};
    *result = (vf_convex_result){.end = VF_SOLVER_ITERATIONS};
    *out = (convex){.problem = problem, .options = options, .queue = queue, .x = x, .result = result};
    vf_status status = check(solver, problem, queue, options, x);
    if (status != VF_OK)
        return status;
    out->type = vf_operator_domain(problem->normal).type;
    out->n = out->most = vf_operator_domain(problem->normal).count;
    for (int i = 0; i < vectors && status == VF_OK; i++)
        status = allocate(out, out->n, &out->vector[i]);
    for (int i = 0; i < problem->penalties && status == VF_OK; i++) {
        const int64_t count = convex_count(out, i);
        out->most = count > out->most ? count : out->most;
        status = allocate(out, count, &out->own[i]);
    }
    for (int i = 0; i < 2 && status == VF_OK; i++)
        status = allocate(out, out->most, &out->room[i]);
    if (status == VF_OK && !options->warm)
        status = vf_fill(queue, out->type, out->n, zero, x);
    vf_team_choice_begin(&out->choice, vf_queue_device(queue), out->n);
    double squares = 0;
    VF_TRY(status, convex_squares(out, out->n, problem->b, &squares));
    out->size = sqrt(squares);
    if (status == VF_OK && !isfinite(squares))
        result->end = VF_SOLVER_OVERFLOW;
    else if (status == VF_OK && squares == 0) {
        result->end = VF_SOLVER_CONVERGED; /* at x = 0, where all g_i are least */
        status = vf_fill(queue, out->type, out->n, zero, x);
    }
    return status;
}

void convex_free(convex *c)
{
    for (int i = 0; i < c->arrays; i++)
        vf_array_free(&c->array[i]);
    c->arrays = 0;
    vf_team_choice_end(&c->choice);
}

vf_status convex_transform(convex *c, int penalty, const void *x, const void **tx)
{
    vf_operator *t = c->problem->penalty[penalty].transform;
    *tx = t ? c->room[0] : x;
    return t ? vf_operator_forward(t, c->queue, x, c->room[0]) : VF_OK;
}

vf_status convex_add_adjoint(convex *c, int penalty, double factor, const void *v, void *scratch, void *to)
{
    vf_operator *t = c->problem->penalty[penalty].transform;
    vf_status status = t ? vf_operator_adjoint(t, c->queue, v, scratch) : VF_OK;
    return status == VF_OK ? vf_vector_axpby(c->queue, c->type, c->n, factor, t ? scratch : v, 1, to) : status;
}

vf_status convex_descent(convex *c, const void *ax, const void *forces, void *out)
{
    vf_status status = vf_copy(c->queue, c->type, c->n, c->problem->b, out);
    VF_TRY(status, vf_vector_axpby(c->queue, c->type, c->n, -1, ax, 1, out));
    return status == VF_OK ? vf_vector_axpby(c->queue, c->type, c->n, -1, forces, 1, out) : status;
}

vf_status convex_apply(convex *c, const void *x, void *y)
{
    c->result->applications++;
    return vf_operator_forward(c->problem->normal, c->queue, x, y);
}

void convex_next(convex *c)
{
    c->before = c->result->applications;
    vf_iteration_begins(&c->choice);
}

void convex_judge(convex *c, double gap, double size, double gradient)
{
    vf_convex_result *r = c->result;
    const vf_convex_options *o = c->options;
    vf_iteration_ends(&c->choice, r->applications - c->before);
    c->largest = fmax(c->largest, size);
    r->iterations++;
    r->primal = gap > 0 ? sqrt(gap / (c->largest > 0 ? c->largest : gap)) : gap;
    r->dual = sqrt(gradient) / c->size;
    if (!isfinite(r->primal) || !isfinite(r->dual))
        r->end = VF_SOLVER_OVERFLOW;
    else if (r->primal <= o->tolerance && r->dual <= o->tolerance)
        r->end = VF_SOLVER_CONVERGED;
    if (o->tell && o->tell(o->user, r->iterations, fmax(r->primal, r->dual)) && r->end == VF_SOLVER_ITERATIONS)
        r->end = VF_SOLVER_STOPPED;
}

void convex_break(convex *c, double product)
{
    c->result->end = isfinite(product) ? VF_SOLVER_NOT_POSITIVE : VF_SOLVER_OVERFLOW;
}

vf_status convex_finish(convex *c, const void *ax)
{
    const vf_convex_problem *p = c->problem;
    double quadratic[2] = {0}, linear[2] = {0};
    vf_status status = vf_vector_dot(c->queue, c->type, c->n, c->x, ax, quadratic);
    VF_TRY(status, vf_vector_dot(c->queue, c->type, c->n, c->x, p->b, linear));
    c->result->data = quadratic[0] / 2 - linear[0];
    if (status == VF_OK && !isfinite(c->result->data))
        c->result->end = VF_SOLVER_OVERFLOW;
    for (int i = 0; i < p->penalties && status == VF_OK; i++) {
        const vf_proximal *g = p->penalty[i].function;
        const void *tx;
        status = convex_transform(c, i, c->x, &tx);
        VF_TRY(status, g->value(g->state, c->queue, tx, &c->result->penalty[i]));
    }
    return status;
}
