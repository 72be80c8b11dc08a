/* Conjugate gradients, all of it on the device; two numbers an iteration come back to the host. */
#include <math.h>

#include "mri_recon.h"
#include "voxfield/copy.h"
#include "voxfield/vector.h"

/* A residual below this is what single precision leaves. */
static const double ONLY_ROUNDING = 1e-5;

static vf_status apply(const system_matrix *system, vf_queue *queue, const vf_array *x, vf_array *y)
{
    vf_status status = vf_toeplitz_apply(system->normal->toeplitz, queue, system->coils,
                                         system->maps ? system->maps->data : NULL, x->data, y->data);
    return status == VF_OK ? prior_add(system->prior, queue, x, y) : status;
}

/* Data are finite where they are read; squares of their sums need not be. */
static vf_status overflow(vf_context *ctx, const recon_settings *settings)
{
    return vf_fail(ctx, VF_ERR_INPUT, "%s: the data or coil maps are too large for %s precision; scale them down%s",
                   settings->input, settings->precision == VF_F64 ? "double" : "single",
                   settings->precision == VF_F64 ? "" : ", or use --precision double");
}

/* The loop, with its vectors at hand: p the direction, q = A p. */
static vf_status iterate(vf_context *ctx, const recon_settings *settings, const system_matrix *system, vf_queue *queue,
                         vf_array *r, vf_array *p, vf_array *q, vf_array *x,
                         void (*tell)(void *user, int iteration, double residual), void *user, solve_result *result)
{
    const vf_dtype type = x->type;
    const int64_t n = x->count;
    double squares[2], curvature[2], next;
    vf_status status = vf_vector_dot(queue, type, n, r->data, r->data, squares);
    const double begin = squares[0];
    double now = begin;
    if (status == VF_OK && !isfinite(begin))
        status = overflow(ctx, settings);
    if (status == VF_OK)
        status = vf_fill(queue, type, n, (const double[2]){0}, x->data);
    if (status == VF_OK)
        status = vf_copy(queue, type, n, r->data, p->data);
    *result = (solve_result){.residual = begin > 0, .converged = !(begin > 0)};
    while (status == VF_OK && !result->converged && result->iterations < settings->iterations) {
        if (vf_cancelled(ctx))
            return vf_fail(ctx, VF_ERR_CANCELLED, "interrupted");
        status = apply(system, queue, p, q);
        if (status == VF_OK)
            status = vf_vector_dot(queue, type, n, p->data, q->data, curvature);
        if (status != VF_OK)
            return status;
        if (!isfinite(curvature[0]))
            return overflow(ctx, settings);
        if (!(curvature[0] > 0)) {
            if (result->residual > ONLY_ROUNDING)
                vf_warn(
                    ctx,
                    "conjugate gradients stopped in iteration %d at residual %.2g: the matrix is not positive "
                    "definite to the accuracy at hand; use a finer --accuracy, a larger --lambda or --precision double",
                    result->iterations + 1, result->residual);
            break;
        }
        status = vf_vector_cg_step(queue, type, n, now / curvature[0], p->data, q->data, x->data, r->data, &next);
        if (status == VF_OK && !isfinite(next))
            status = overflow(ctx, settings);
        if (status == VF_OK)
            status = vf_vector_axpby(queue, type, n, 1, r->data, next / now, p->data);
        now = next;
        result->iterations++;
        result->residual = sqrt(now / begin);
        result->converged = result->residual <= settings->tolerance;
        if (tell && status == VF_OK)
            tell(user, result->iterations, result->residual);
    }
    return status;
}

vf_status solve(vf_context *ctx, const recon_settings *settings, const system_matrix *system, vf_queue *queue,
                vf_array *b, vf_array *x, void (*tell)(void *user, int iteration, double residual), void *user,
                solve_result *result)
{
    vf_device *device = vf_context_device(ctx, 0);
    vf_array p = {0}, q = {0};
    vf_status status = vf_array_create(device, VF_SPACE_DEVICE, x->type, x->count, &p);
    if (status == VF_OK)
        status = vf_array_create(device, VF_SPACE_DEVICE, x->type, x->count, &q);
    if (status == VF_OK)
        status = iterate(ctx, settings, system, queue, b, &p, &q, x, tell, user, result);
    vf_array_free(&p);
    vf_array_free(&q);
    return status;
}
