/* Stein's unbiased risk estimate, and the search for its minimum. */
#include "sure.h"

#include <math.h>

#include "voxfield/copy.h"
#include "voxfield/vector.h"

enum { VERTICES = 2 };
/* A vertex this close to a factor that was tried, in log factor, is not worth two estimates. */
static const double CLOSE = 0.1;

/* ---- one factor ---- */

/* `shifted`, `x` and `moved` are scratch. */
static vf_status measure(vf_queue *queue, const vf_sure_problem *p, double factor, vf_array *shifted, vf_array *x,
                         vf_array *moved, vf_sure_point *out)
{
    const double step = VF_SURE_STEP * sqrt(p->variance);
    double data = 0, unused = 0, slope[2] = {0};
    vf_status status = p->estimate(p->user, factor, false, p->b, x->data, &data);
    VF_TRY(status, vf_copy(queue, p->type, p->count, p->b, shifted->data));
    VF_TRY(status, vf_vector_axpby(queue, p->type, p->count, step, p->probe, 1, shifted->data));
    VF_TRY(status, p->estimate(p->user, factor, true, shifted->data, moved->data, &unused));
    VF_TRY(status, vf_vector_axpby(queue, p->type, p->count, -1, x->data, 1, moved->data));
    VF_TRY(status, vf_vector_dot(queue, p->type, p->count, moved->data, p->probe, slope));
    const double freedom = slope[0] / step;
    *out = (vf_sure_point){.factor = factor, .risk = 2 * data / p->variance + 2 * freedom, .freedom = freedom};
    return status;
}

vf_status vf_sure_risk(vf_queue *queue, const vf_sure_problem *p, double factor, vf_sure_point *out)
{
    vf_device *device = vf_queue_device(queue);
    vf_context *ctx = vf_device_context(device);
    vf_array scratch[3] = {0};
    vf_status status = VF_OK;
    if (!(p->variance > 0 && isfinite(p->variance)))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "SURE needs noise of a finite variance above 0, not %g", p->variance);
    for (int i = 0; i < 3 && status == VF_OK; i++)
        status = vf_array_create(device, VF_SPACE_DEVICE, p->type, p->count, &scratch[i]);
    VF_TRY(status, measure(queue, p, factor, &scratch[0], &scratch[1], &scratch[2], out));
    if (status == VF_OK && !isfinite(out->risk))
        status = vf_fail(ctx, VF_ERR_ARGUMENT, "SURE: the risk at %g times lambda is not finite", factor);
    for (int i = 0; i < 3; i++)
        vf_array_free(&scratch[i]);
    return status;
}

/* ---- the least risk ---- */

static vf_status try_factor(vf_queue *queue, const vf_sure_problem *p, double factor, vf_sure_result *r)
{
    const vf_status status = vf_sure_risk(queue, p, factor, &r->point[r->tried]);
    if (status == VF_OK && r->point[r->tried].risk < r->point[r->best].risk)
        r->best = r->tried;
    r->tried += status == VF_OK;
    return status;
}

/* The tried factor next to the best one, above (direction 1) or below it (-1); NULL: the best one is at the end. */
static const vf_sure_point *next_to_best(const vf_sure_result *r, int direction)
{
    const double best = r->point[r->best].factor;
    const vf_sure_point *next = NULL;
    for (int i = 0; i < r->tried; i++) {
        const vf_sure_point *point = &r->point[i];
        if (direction * (point->factor - best) > 0 && (!next || direction * (point->factor - next->factor) < 0))
            next = point;
    }
    return next;
}

/* The vertex of the parabola through the best point and its neighbours; 0: there is none, or it is too close. */
static double vertex_of(const vf_sure_result *r)
{
    const vf_sure_point *best = &r->point[r->best], *low = next_to_best(r, -1), *high = next_to_best(r, 1);
    if (!low || !high)
        return 0;
    const double left = log(low->factor / best->factor), right = log(high->factor / best->factor);
    const double below = (low->risk - best->risk) / left, above = (high->risk - best->risk) / right;
    const double curvature = (above - below) / (right - left); /* risk = slope t + curvature t^2 */
    const double vertex = best->factor * exp(-(below - curvature * left) / (2 * curvature));
    if (!(curvature > 0))
        return 0;
    for (int i = 0; i < r->tried; i++)
        if (fabs(log(vertex / r->point[i].factor)) < CLOSE)
            return 0;
    return vertex;
}

vf_status vf_sure_search(vf_queue *queue, const vf_sure_problem *p, double widest, vf_sure_result *r)
{
    static const double first[] = {1, 2, 0.5};
    vf_status status = VF_OK;
    *r = (vf_sure_result){0};
    for (int i = 0; i < 3 && status == VF_OK; i++)
        status = try_factor(queue, p, first[i], r);
    while (status == VF_OK && r->tried < VF_SURE_MOST - VERTICES) {
        const double best = r->point[r->best].factor;
        const double next = !next_to_best(r, 1) ? 2 * best : !next_to_best(r, -1) ? best / 2 : 0;
        if (!(next > 0) || next > widest || next < 1 / widest)
            break;
        status = try_factor(queue, p, next, r);
    }
    for (int i = 0; i < VERTICES && status == VF_OK; i++) {
        const double vertex = vertex_of(r);
        if (!(vertex > 0))
            break;
        status = try_factor(queue, p, vertex, r);
    }
    return status;
}
