/* F^H W F of the coils of a team's devices as an operator, and the solution by conjugate gradients. */
#include <stdlib.h>

#include "equations.h"
#include "kernel_operators.h"
#include "voxfield/solver.h"

/* Residuals below this are rounding errors of single precision. */
static const double ONLY_ROUNDING = 1e-5;

/* The reader checked that data are finite, but the squares of their sums may overflow. */
vf_status solve_overflow(vf_context *ctx, const solve_options *options)
{
    return vf_fail(ctx, VF_ERR_INPUT, "%s: the data or coil maps are too large for %s precision; scale them down%s",
                   options->input, options->precision == VF_F64 ? "double" : "single",
                   options->precision == VF_F64 ? "" : ", or use --precision double");
}

/* ---- F^H W F as an operator ---- */

/* Of the coils that one device has. */
static vf_status of_device(const device_team *team, vf_dtype precision, const vf_normal *normal,
                           const device_maps *maps, int d, vf_operator **out)
{
    vf_device *device = vf_queue_device(team->queue[d]);
    const team_share *share = &maps->share[d];
    const void *data = maps->array[d].data;
    return maps->sets > 1
               ? vf_normal_sets_operator(device, precision, share->voxels, &normal[d], maps->sets, (int)share->coils,
                                         data, out)
               : vf_normal_operator(device, precision, share->voxels, &normal[d], (int)share->coils, data, out);
}

vf_status system_create(const device_team *team, vf_dtype precision, const vf_normal *normal, const device_maps *maps,
                        vf_operator **out)
{
    vf_operator_part *part = calloc((size_t)maps->parts, sizeof *part);
    vf_status status = part ? VF_OK : vf_fail(team->ctx, VF_ERR_MEMORY, "no memory");
    *out = NULL;
    for (int d = 0; d < maps->parts && status == VF_OK; d++) {
        part[d].queue = d > 0 ? team->queue[d] : NULL;
        status = of_device(team, precision, normal, maps, d, &part[d].a);
    }
    VF_TRY(status, vf_operator_sum_of_devices(maps->parts, part, out));
    for (int d = 0; part && d < maps->parts; d++)
        vf_operator_free(part[d].a); /* the sum keeps it */
    free(part);
    return status;
}

/* ---- solving ---- */

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

vf_status solve(vf_context *ctx, const solve_options *options, vf_operator *normal, const vf_prior *prior,
                vf_queue *queue, vf_array *b, vf_array *x, bool (*tell)(void *user, int iteration, double residual),
                void *user, solve_result *result)
{
    vf_cg_options how = {
        .iterations = options->iterations, .tolerance = options->tolerance, .tell = tell, .user = user};
    vf_cg_result found = {0};
    vf_operator *system = NULL, *inverse = NULL;
    vf_status status = vf_regularized_operator(normal, prior, &system);
    if (status == VF_OK && prior->preconditioned)
        status = vf_prior_inverse_operator(prior, vf_queue_device(queue), options->precision,
                                           (int)(x->count / (prior->counts[0] * prior->counts[1] * prior->counts[2])),
                                           &inverse);
    how.preconditioner = inverse;
    VF_TRY(status, vf_cg(system, queue, &how, b->data, x->data, &found));
    VF_TRY(status, judge(ctx, options, &found));
    *result = (solve_result){
        .iterations = found.iterations, .residual = found.residual, .converged = found.end == VF_SOLVER_CONVERGED};
    vf_operator_free(system);
    vf_operator_free(inverse);
    return status;
}
