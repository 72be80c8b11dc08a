/* What the reconstruction reports of its frames. */
#include <math.h>
#include <string.h>

#include "frame_group.h"

void summary_add(recon_summary *summary, const solve_result *result, bool first)
{
    summary->iterations += result->iterations;
    summary->applications += result->applications;
    summary->objective = (first ? 0 : summary->objective) + result->objective;
    for (int k = 0; k < VF_MOST_PRIORS; k++)
        summary->penalty[k] = (first ? 0 : summary->penalty[k]) + result->penalty[k];
    summary->residual = fmax(summary->residual, result->residual);
    summary->converged &= result->converged;
}

void effort_add(const recon_job *j, const scan_frame *frame, const solve_result *result, bool first)
{
    if (!j->effort || frame->replica || j->noise_begun || j->choosing)
        return;
    frame_effort *effort = &j->effort[frame - j->scan->frame];
    if (first)
        *effort = (frame_effort){.converged = true};
    effort->iterations += result->iterations;
    effort->applications += result->applications;
    effort->residual = fmax(effort->residual, result->residual);
    effort->converged &= result->converged;
}

void summary_take_last(recon_summary *summary, const recon_summary *from)
{
    summary->diagonal = from->diagonal;
    summary->lambda = from->lambda;
    summary->noise_unit = from->noise_unit;
    summary->objective = from->objective;
    memcpy(summary->sparse_lambda, from->sparse_lambda, sizeof summary->sparse_lambda);
    memcpy(summary->penalty, from->penalty, sizeof summary->penalty);
    summary->expected_signal = from->expected_signal;
    summary->expected_noise = from->expected_noise;
    summary->expected_bias = from->expected_bias;
    memcpy(summary->encoding, from->encoding, sizeof summary->encoding);
    memcpy(summary->normal, from->normal, sizeof summary->normal);
    memcpy(summary->phase, from->phase, sizeof summary->phase);
}
