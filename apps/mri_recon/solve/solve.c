/* The solution by conjugate gradients. */
#include "equations.h"
#include "voxfield/solver.h"

/* Residuals below this are rounding errors of single precision. */
static const double ONLY_ROUNDING = 1e-5;

/* The reader checked that data are finite, but the squares of their sums may overflow. */
vf_status solve_overflow(vf_queue *queue, const solve_options *options)
{
    return vf_fail(vf_device_context(vf_queue_device(queue)), VF_ERR_INPUT,
                   "%s: the data or coil maps are too large for %s precision; scale them down%s", options->input,
                   options->precision == VF_F64 ? "double" : "single",
                   options->precision == VF_F64 ? "" : ", or use --precision double");
}

/* The error or warning if the solver ended early. */
static vf_status judge(vf_queue *queue, const solve_options *options, const vf_cg_result *found)
{
    if (found->end == VF_SOLVER_OVERFLOW)
        return solve_overflow(queue, options);
    if (found->end == VF_SOLVER_NOT_POSITIVE && found->residual > ONLY_ROUNDING)
        vf_warn(
            vf_device_context(vf_queue_device(queue)),
            "conjugate gradients stopped in iteration %d at residual %.2g: the matrix is not positive definite at this "
            "accuracy; use a finer --accuracy, %s, or --precision double",
            found->iterations + 1, found->residual,
            options->lambda_auto ? "a larger factor (--lambda auto:10)" : "--lambda auto or a larger number");
    return VF_OK;
}

vf_status solve(const solve_options *options, vf_operator *normal, const vf_prior *prior, vf_queue *queue, vf_array *b,
                vf_array *x, solve_result *result)
{
    vf_cg_options how = {.iterations = options->iterations,
                         .tolerance = options->tolerance,
                         .energy = options->energy,
                         .warm = options->warm,
                         .tell = options->tell,
                         .user = options->user};
    vf_cg_result found = {0};
    vf_operator *system = NULL, *inverse = NULL;
    vf_status status = vf_regularized_operator(normal, prior, &system);
    if (status == VF_OK && prior->preconditioned)
        status = vf_prior_inverse_operator(prior, vf_queue_device(queue), options->precision,
                                           (int)(x->count / (prior->counts[0] * prior->counts[1] * prior->counts[2])),
                                           &inverse);
    how.preconditioner = inverse;
    VF_TRY(status, vf_cg(system, queue, &how, b->data, x->data, &found));
    VF_TRY(status, judge(queue, options, &found));
    *result = (solve_result){
        .iterations = found.iterations, .residual = found.residual, .converged = found.end == VF_SOLVER_CONVERGED};
    vf_operator_free(system);
    vf_operator_free(inverse);
    return status;
}
