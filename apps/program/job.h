/* A run as one of the processes of an MPI job (voxfield/ranks.h): what changes for the process. */
#ifndef PROGRAM_JOB_H
#define PROGRAM_JOB_H

#include "kept_pieces.h"

struct program;

/* Starts MPI if a launcher started the process, and sets asked->ranks. Ranks of one machine divide its cores, unless --threads
 * or the launcher says how many each has, and its GPUs. Rank 0 alone speaks and writes outputs; errors of others reach it.
 * A dry run does not start MPI: *idle is true on all ranks but the first, which then have nothing to do. Errors: those of
 * vf_ranks_find and vf_ranks_start; VF_ERR_ARGUMENT (--part or --join with several ranks). */
VF_MUST_CHECK vf_status job_begin(vf_context *ctx, struct program *program, pieces_settings *asked, bool *idle);

/* Ends the job with the run's status, and returns that of the job: rank 0's. Prints rank 0's error first, because the launcher
 * may end rank 0 as soon as another rank has ended with a failure. */
VF_MUST_CHECK vf_status job_end(vf_context *ctx, struct program *program, pieces_settings *asked, vf_status status);

/* Tells MPICH's launcher that this process fails before MPI is started; otherwise the others would wait for it for ever. */
void job_give_up(int exit_code);
bool job_is_told(void); /* whether there is such a launcher; others say themselves which rank failed */

/* Whether this process is a rank other than 0. */
bool job_is_other(const pieces_settings *asked);

/* ---- job_plan.c ---- */

/* The time until the last of `pieces` is done, each of which takes cost[n] seconds on any rank and is handed out in this order.
 * NaN: no memory. */
double job_seconds(int ranks, int64_t pieces, const double *cost);

/* --dry-run --ranks: the time of such a job. `again`: seconds that each rank needs before its first piece; `bytes`: of the
 * result; `in_place`: that ranks write to its place (kept_places). Nothing without --ranks. */
void job_say_plan(vf_context *ctx, const pieces_settings *asked, double again, int64_t pieces, const double *cost,
                  double bytes, bool in_place);

/* The ranks, with a line about them. Nothing if there is one process. */
void job_facts(facts *f, int line, const pieces_settings *asked);

#endif
