/* What the reconstruction reports of its frames. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "summary.h"

/* Warn if the residual is larger than this multiple of the tolerance. */
static const double WORTH_A_WARNING = 10;
/* The default for a fixed lambda; with fewer iterations, the user asked for fewer. */
enum { ENOUGH_ITERATIONS = 60 };

void summary_add(recon_summary *summary, const solve_result *result, bool first)
{
    summary->iterations += result->iterations;
    summary->applications += result->applications;
    summary->last.objective = (first ? 0 : summary->last.objective) + result->objective;
    for (int k = 0; k < VF_MOST_PRIORS; k++)
        summary->last.penalty[k] = (first ? 0 : summary->last.penalty[k]) + result->penalty[k];
    summary->residual = fmax(summary->residual, result->residual);
    summary->converged &= result->converged;
}

void effort_add(const recon_job *j, const scan_frame *frame, const solve_result *result, bool first)
{
    if (!j->effort || frame->replica)
        return;
    frame_effort *effort = &j->effort[frame - j->scan->frame];
    if (first)
        *effort = (frame_effort){.converged = true};
    effort->iterations += result->iterations;
    effort->applications += result->applications;
    effort->residual = fmax(effort->residual, result->residual);
    effort->converged &= result->converged;
}

/* If a fixed lambda is too small for the noise, more iterations make the image
 * worse; if the user asked for few, they make it better. */
void summary_judge(vf_context *ctx, const solve_settings *settings, const recon_summary *summary)
{
    char advice[160] = "use more --iterations";
    if (settings->method != RECON_CG || summary->converged || !(settings->tolerance > 0) ||
        !(summary->residual > WORTH_A_WARNING * settings->tolerance))
        return;
    if (settings->lambda_auto && settings->lambda < 1)
        snprintf(advice, sizeof advice, "use --lambda auto without the factor %g, or more --iterations",
                 settings->lambda);
    else if (!settings->lambda_auto && settings->sparse) /* a large lambda of theirs is slow, too */
        snprintf(advice, sizeof advice, "use --lambda auto, or more --iterations");
    else if (!settings->lambda_auto && settings->iterations >= ENOUGH_ITERATIONS)
        snprintf(advice, sizeof advice,
                 "lambda is small for this scan; use --lambda auto or a larger number (more --iterations would amplify "
                 "noise)");
    vf_warn(ctx, "the solver stopped after %d iteration%s at a residual of %.2g, far above the tolerance of %g: %s",
            settings->iterations, vf_plural(settings->iterations), summary->residual, settings->tolerance, advice);
}
