/* FISTA, restarted: gradient steps of length 1 / L at a point `a` ahead of x, then the proximal map. Its result x has
 * the subgradient y = L (a - x) - A a + b of g, so A x - b + y = (L - A) (a - x), and that is at most L |a - x|. */
#include <math.h>

#include "convex_internal.h"
#include "voxfield/copy.h"
#include "voxfield/vector.h"

enum { AX, AHEAD, BEFORE, SCRATCH, VECTORS };

/* x = the map at AHEAD - (A AHEAD - b) / L, BEFORE = x less the former x. *squares = |AHEAD - x|^2, *uphill: the momentum
 * points uphill. */
static vf_status step(convex *c, double *squares, bool *uphill)
{
    const vf_proximal *g = c->problem->penalty[0].function;
    const double largest = c->options->largest;
    void *to = c->vector[SCRATCH], *ahead = c->vector[AHEAD];
    double product[2] = {0};
    vf_status status = vf_copy(c->queue, c->type, c->n, c->x, c->vector[BEFORE]);
    VF_TRY(status, convex_apply(c, ahead, c->vector[AX]));
    VF_TRY(status, vf_vector_axpby(c->queue, c->type, c->n, 1 / largest, c->problem->b, 0, to));
    VF_TRY(status, vf_vector_axpby(c->queue, c->type, c->n, -1 / largest, c->vector[AX], 1, to));
    VF_TRY(status, vf_vector_axpby(c->queue, c->type, c->n, 1, ahead, 1, to));
    VF_TRY(status, g->map(g->state, c->queue, 1 / largest, to, c->x));
    /* <ahead - x, x - before> > 0: the last step goes against the momentum */
    VF_TRY(status, vf_vector_axpby(c->queue, c->type, c->n, -1, c->x, 1, ahead));
    if (status == VF_OK)
        status = vf_vector_axpby(c->queue, c->type, c->n, 1, c->x, -1, c->vector[BEFORE]); /* x - before */
    VF_TRY(status, vf_vector_dot(c->queue, c->type, c->n, ahead, c->vector[BEFORE], product));
    VF_TRY(status, convex_squares(c, c->n, ahead, squares));
    *uphill = product[0] > 0;
    return status;
}

static vf_status iterate(convex *c)
{
    vf_context *ctx = vf_device_context(vf_queue_device(c->queue));
    const double largest = c->options->largest;
    double t = 1;
    vf_status status = vf_copy(c->queue, c->type, c->n, c->x, c->vector[AHEAD]);
    while (status == VF_OK && c->result->end == VF_SOLVER_ITERATIONS &&
           c->result->iterations < c->options->iterations) {
        double squares = 0;
        bool uphill = false;
        if (vf_cancelled(ctx))
            return vf_fail(ctx, VF_ERR_CANCELLED, "interrupted");
        convex_next(c);
        status = step(c, &squares, &uphill);
        const double next = uphill ? 1 : (1 + sqrt(1 + 4 * t * t)) / 2;
        VF_TRY(status, vf_copy(c->queue, c->type, c->n, c->x, c->vector[AHEAD]));
        if (status == VF_OK && !uphill)
            status = vf_vector_axpby(c->queue, c->type, c->n, (t - 1) / next, c->vector[BEFORE], 1, c->vector[AHEAD]);
        t = next;
        if (status == VF_OK)
            convex_judge(c, 0, 0, largest * largest * squares);
    }
    VF_TRY(status, convex_apply(c, c->x, c->vector[AX]));
    return status == VF_OK ? convex_finish(c, c->vector[AX]) : status;
}

vf_status vf_fista(const vf_convex_problem *problem, vf_queue *queue, const vf_convex_options *options, void *x,
                   vf_convex_result *result)
{
    vf_context *ctx = vf_device_context(vf_operator_device(problem->normal));
    convex c = {0};
    *result = (vf_convex_result){.end = VF_SOLVER_ITERATIONS};
    if (problem->penalties != 1 || problem->penalty[0].transform || !(options->largest > 0) ||
        !isfinite(options->largest))
        return vf_fail(ctx, VF_ERR_ARGUMENT,
                       "FISTA: %d penalties, the largest eigenvalue %g; it needs one penalty without a transform",
                       problem->penalties, options->largest);
    vf_status status = convex_begin("FISTA", problem, queue, options, x, VECTORS, result, &c);
    if (status == VF_OK && result->end == VF_SOLVER_ITERATIONS)
        status = iterate(&c);
    convex_free(&c);
    return status;
}
