/* The summaries of crews (summary.c). */
#ifndef SUMMARY_H
#define SUMMARY_H

#include "recon_job.h"
#include "solve/equations.h"

/* Warns if the solver stopped early. */
void summary_judge(vf_context *ctx, const solve_settings *settings, const recon_summary *summary);

/* Adds a channel's result to a summary. */
void summary_add(recon_summary *summary, const solve_result *result, bool first);

/* Adds an image's share to the effort of a frame; `first`: of the frame's images. */
void effort_add(const recon_job *job, const scan_frame *frame, const solve_result *result, bool first);

#endif
