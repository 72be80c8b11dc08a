/* The primal-dual method of Condat and Vu: with steps tau and sigma, tau (L / 2 + sigma M) <= 1 for the largest
 * eigenvalues L of A and M of sum T^H T,
 *
 *     x'  = x - tau (A x - b + sum_i T_i^H y_i)
 *     y_i = the proximal map of sigma g_i^* at v_i = y_i + sigma T_i (2 x' - x), which is v_i - sigma z_i with z_i the
 *           proximal map of g_i / sigma at v_i / sigma (Moreau)
 */
#include <math.h>

#include "convex_internal.h"
#include "voxfield/copy.h"
#include "voxfield/vector.h"

enum { AX, FORCES, AHEAD, SCRATCH, VECTORS };

typedef struct primal_dual {
    convex c;
    double tau, sigma;
} primal_dual;

/* x' = x - tau (A x - b + forces); AHEAD = 2 x' - x. */
static vf_status move_x(primal_dual *s)
{
    convex *c = &s->c;
    void *step = c->vector[SCRATCH];
    vf_status status = convex_descent(c, c->vector[AX], c->vector[FORCES], step);
    VF_TRY(status, vf_vector_axpby(c->queue, c->type, c->n, s->tau, step, 1, c->x));
    VF_TRY(status, vf_copy(c->queue, c->type, c->n, c->x, c->vector[AHEAD]));
    return status == VF_OK ? vf_vector_axpby(c->queue, c->type, c->n, s->tau, step, 1, c->vector[AHEAD]) : status;
}

/* *gap += |T x - z|^2, *size += |T x|^2, where z is the point at which y is a subgradient. */
static vf_status move_dual(primal_dual *s, int i, double *gap, double *size)
{
    convex *c = &s->c;
    const vf_proximal *g = c->problem->penalty[i].function;
    const int64_t count = convex_count(c, i);
    void *y = c->own[i], *z = c->room[1];
    const void *tx = NULL;
    double part[2] = {0};
    vf_status status = convex_transform(c, i, c->vector[AHEAD], &tx);
    if (status == VF_OK) /* v / sigma */
        status = vf_vector_axpby(c->queue, c->type, count, 1, tx, 1 / s->sigma, y);
    VF_TRY(status, g->map(g->state, c->queue, 1 / s->sigma, y, z));
    VF_TRY(status, vf_vector_axpby(c->queue, c->type, count, -s->sigma, z, s->sigma, y));
    VF_TRY(status, convex_add_adjoint(c, i, 1, y, c->vector[SCRATCH], c->vector[FORCES]));
    VF_TRY(status, convex_transform(c, i, c->x, &tx));
    VF_TRY(status, convex_squares(c, count, tx, &part[1]));
    VF_TRY(status, vf_vector_axpby(c->queue, c->type, count, -1, tx, 1, z));
    VF_TRY(status, convex_squares(c, count, z, &part[0]));
    *gap += part[0];
    *size += part[1];
    return status;
}

static vf_status iterate(primal_dual *s)
{
    convex *c = &s->c;
    vf_context *ctx = vf_device_context(vf_queue_device(c->queue));
    const double zero[2] = {0};
    vf_status status = c->options->warm ? convex_apply(c, c->x, c->vector[AX]) : VF_OK;
    while (status == VF_OK && c->result->end == VF_SOLVER_ITERATIONS &&
           c->result->iterations < c->options->iterations) {
        double gap = 0, size = 0, squares = 0;
        if (vf_cancelled(ctx))
            return vf_fail(ctx, VF_ERR_CANCELLED, "interrupted");
        convex_next(c);
        status = move_x(s);
        VF_TRY(status, vf_fill(c->queue, c->type, c->n, zero, c->vector[FORCES]));
        for (int i = 0; i < c->problem->penalties && status == VF_OK; i++)
            status = move_dual(s, i, &gap, &size);
        VF_TRY(status, convex_apply(c, c->x, c->vector[AX]));
        void *gradient = c->vector[SCRATCH]; /* of the new x and y */
        VF_TRY(status, convex_descent(c, c->vector[AX], c->vector[FORCES], gradient));
        VF_TRY(status, convex_squares(c, c->n, gradient, &squares));
        if (status == VF_OK)
            convex_judge(c, gap, size, squares);
    }
    return status == VF_OK ? convex_finish(c, c->vector[AX]) : status;
}

vf_status vf_primal_dual(const vf_convex_problem *problem, vf_queue *queue, const vf_convex_options *options, void *x,
                         vf_convex_result *result)
{
    primal_dual s = {0};
    const double largest = options->largest, transforms = options->largest_transform;
    vf_context *ctx = vf_device_context(vf_operator_device(problem->normal));
    *result = (vf_convex_result){.end = VF_SOLVER_ITERATIONS};
    if (!(largest > 0 && transforms > 0) || !isfinite(largest) || !isfinite(transforms))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "primal-dual method: largest eigenvalues %g and %g", largest, transforms);
    /* The terms of the bound are made equal. */
    s.tau = 1 / largest;
    s.sigma = largest / (2 * transforms);
    vf_status status = convex_begin("primal-dual method", problem, queue, options, x, VECTORS, result, &s.c);
    if (status == VF_OK && result->end == VF_SOLVER_ITERATIONS)
        status = iterate(&s);
    convex_free(&s.c);
    return status;
}
