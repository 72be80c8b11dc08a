/* The non-linear equation by Newton's method: r = b - A u - D f(u), and steps s of (A + D f'(u)) s = r, D the reaction.
 *
 * A step's equation needs no smaller residual than the step is good for (Dembo, Eisenstat and Steihaug, SIAM J. Numer. Anal. 19 (1982)
 * 400): at most a tenth, and near the end |r| / |b|, which keeps the order 2.
 */
#include <math.h>

#include "solvent_places.h"
#include "voxfield/copy.h"
#include "voxfield/team_size.h"
#include "voxfield/vector.h"

/* Of a step's residual, relative, at most and at least (rounding leaves more than nothing); and of that of the linear solution, which is
 * only a start. */
static const double most_forcing = 0.1, least_forcing = 1e-8, start_tolerance = 0.01;
enum { MOST_HALVINGS = 12, MOST_AT_EDGE = 4 };

typedef struct newton {
    vf_solvent *plan;
    solvent_response response;
    vf_queue *queue;
    vf_array trial, residual, step, slope;
    const double *b;
    double *u, *next; /* plan->unknown and trial, in turn */
} newton;

/* r and D f' of a potential, and |r|. */
static vf_status evaluate(newton *s, const double *u, double *norm)
{
    const float *reaction = s->plan->reaction.data;
    float *slope = s->slope.data;
    double *r = s->residual.data, square[2] = {0};
    vf_status status = vf_copy(s->queue, VF_F64, s->plan->points, s->b, r);
    if (status != VF_OK)
        return status;
    solvent_subtract_product(s->plan, NULL, u, r);
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(s->plan->ctx, 20 * s->plan->points))
    for (int64_t i = 0; i < s->plan->points; i++) {
        double steep = 0;
        if (reaction[i] > 0)
            r[i] += reaction[i] * (u[i] - solvent_respond(&s->response, u[i], &steep));
        slope[i] = (float)(reaction[i] * steep);
    }
    status = vf_vector_dot(s->queue, VF_F64, s->plan->points, r, r, square);
    *norm = sqrt(square[0]);
    return status;
}

/* u + t step for t = 1, 1/2, ..., until |r| falls. */
static vf_status search(newton *s, double *norm)
{
    const double before = *norm, *step = s->step.data;
    double t = 1;
    for (int n = 0; n <= MOST_HALVINGS; n++) {
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(s->plan->ctx, s->plan->points))
        for (int64_t i = 0; i < s->plan->points; i++)
            s->next[i] = s->u[i] + t * step[i];
        const vf_status status = evaluate(s, s->next, norm);
        if (status != VF_OK)
            return status;
        if (*norm <= (1 - 1e-4 * t) * before) {
            double *const old = s->u;
            s->u = s->next;
            s->next = old;
            return VF_OK;
        }
        t /= 2;
    }
    return vf_fail(
        s->plan->ctx, VF_ERR_INTERNAL,
        "the non-linear equation of the solvent stopped at a residual of %.2g after %d steps: no part of the next "
        "step makes it smaller",
        s->plan->outcome.residual, s->plan->outcome.steps);
}

static vf_status tell(const newton *s)
{
    const vf_solvent_options *o = &s->plan->options;
    if (vf_cancelled(s->plan->ctx) || (o->tell && o->tell(o->user, s->plan->outcome.steps, s->plan->outcome.residual)))
        return vf_fail(s->plan->ctx, VF_ERR_CANCELLED, "interrupted");
    return VF_OK;
}

/* (A + reaction) x = r. */
static vf_status solve_step(newton *s, const float *reaction, double tolerance, double *x)
{
    vf_cg_result result;
    const vf_status status =
        solvent_solve_system(s->plan, reaction, tolerance, s->plan->options.iterations, s->residual.data, x, &result);
    s->plan->outcome.iterations += result.iterations;
    return status;
}

/* From s->u to the solution; size: |b|. */
static vf_status iterate(newton *s, double size)
{
    const vf_solvent_options *o = &s->plan->options;
    vf_solvent_result *outcome = &s->plan->outcome;
    double norm;
    vf_status status = evaluate(s, s->u, &norm);
    while (status == VF_OK) {
        outcome->residual = norm / size;
        status = tell(s);
        if (status != VF_OK || outcome->residual <= o->tolerance)
            return status;
        if (outcome->steps == o->steps)
            return vf_fail(s->plan->ctx, VF_ERR_INTERNAL,
                           "the non-linear equation of the solvent did not converge in %d steps: a residual of %.2g",
                           o->steps, outcome->residual);
        const double left = outcome->residual, enough = fmin(0.5 * o->tolerance / left, 0.5);
        const double forcing = fmax(fmax(fmin(most_forcing, left), enough), least_forcing);
        status = solve_step(s, s->slope.data, forcing, s->step.data);
        VF_TRY(status, search(s, &norm));
        outcome->steps += status == VF_OK;
    }
    return status;
}

/* Whether a solution is one: no exponential is replaced by its line. */
static vf_status check_exponents(const newton *s)
{
    const float *reaction = s->plan->reaction.data;
    const double most = SOLVENT_MOST_EXPONENT / s->response.bjerrum;
    double least = 0, largest = 0;
    for (int i = 0; i < s->response.ions; i++) {
        least = fmin(least, s->response.charge[i]);
        largest = fmax(largest, s->response.charge[i]);
    }
    for (int64_t i = 0; i < s->plan->points; i++)
        if (reaction[i] > 0 && !(-largest * s->u[i] <= most && -least * s->u[i] <= most))
            return vf_fail(
                s->plan->ctx, VF_ERR_INTERNAL,
                "a potential of %g k T / e where ions can be: the non-linear equation does not hold there; check "
                "charges, radii and the ions' radius",
                s->u[i] * s->response.bjerrum);
    return VF_OK;
}

/* The boundary is that of the linear equation. From 1 k T / e there it costs 0.5 % of what salt adds to the energy, from 4 already 3 %
 * (a sphere of 20 e), and beyond that ions gather at the edge of the grid. */
static vf_status check_edge(newton *s)
{
    const int64_t nx = s->plan->grid.counts[0], ny = s->plan->grid.counts[1], nz = s->plan->grid.counts[2];
    double most = 0;
    for (int64_t row = 0; row < ny * nz; row++) {
        const int64_t j = row % ny, k = row / ny;
        const bool whole = j == 0 || k == 0 || j == ny - 1 || k == nz - 1;
        for (int64_t i = 0; i < nx; i += whole || nx == 1 ? 1 : nx - 1)
            most = fmax(most, fabs(s->u[row * nx + i]));
    }
    s->plan->outcome.edge = most * s->response.bjerrum;
    if (s->plan->outcome.edge > MOST_AT_EDGE)
        return vf_fail(s->plan->ctx, VF_ERR_ARGUMENT,
                       "a potential of %.2g k T / e at the edge of the grid: the non-linear equation needs less than "
                       "%d there; use "
                       "a larger border",
                       s->plan->outcome.edge, MOST_AT_EDGE);
    return VF_OK;
}

/* What Gouy and Chapman's plane makes of a potential of the linear equation, in place: z phi = 2 asinh(z phi_linear / 2), z the largest
 * charge of the ions that it attracts. */
static void compress(newton *s)
{
    const float *reaction = s->plan->reaction.data;
    const double l = s->response.bjerrum;
    double most[2] = {0};
    for (int i = 0; i < s->response.ions; i++) {
        double *z = &most[s->response.charge[i] > 0];
        if (s->response.weight[i] > 0)
            *z = fmax(*z, fabs(s->response.charge[i]));
    }
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(s->plan->ctx, 20 * s->plan->points))
    for (int64_t i = 0; i < s->plan->points; i++)
        if (reaction[i] > 0) {
            const double z = most[s->u[i] < 0];
            s->u[i] = 2 * asinh(z * l * s->u[i] / 2) / (z * l);
        }
}

static vf_status start(newton *s, const double *b, double *size)
{
    vf_solvent *plan = s->plan;
    vf_array *const arrays[] = {&s->slope, &s->trial, &s->residual, &s->step};
    double square[2] = {0};
    vf_status status = vf_queue_create(plan->device, &s->queue);
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        VF_TRY(status,
               vf_array_create(plan->device, VF_SPACE_DEVICE, i == 0 ? VF_F32 : VF_F64, plan->points, arrays[i]));
    VF_TRY(status, vf_vector_dot(s->queue, VF_F64, plan->points, b, b, square));
    VF_TRY(status, vf_copy(s->queue, VF_F64, plan->points, b, s->residual.data));
    s->b = b;
    s->u = plan->unknown.data;
    s->next = s->trial.data;
    *size = sqrt(square[0]);
    VF_TRY(status, solve_step(s, NULL, fmax(start_tolerance, plan->options.tolerance), s->u));
    if (!solvent_is_periodic(plan))
        VF_TRY(status, check_edge(s));
    if (status == VF_OK)
        compress(s);
    return status;
}

vf_status solvent_nonlinear(vf_solvent *plan, const double *b)
{
    newton s = {.plan = plan, .response = solvent_response_of(&plan->options)};
    double size = 0;
    vf_status status = start(&s, b, &size);
    if (status == VF_OK && size > 0)
        status = iterate(&s, size);
    VF_TRY(status, check_exponents(&s));
    if (status == VF_OK && s.u != plan->unknown.data)
        status = vf_copy(s.queue, VF_F64, plan->points, s.u, plan->unknown.data);
    vf_array *const arrays[] = {&s.trial, &s.residual, &s.step, &s.slope};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        vf_array_free(arrays[i]);
    vf_queue_destroy(s.queue);
    return status;
}
