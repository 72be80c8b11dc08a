/* Voxfield - how many threads a parallel region has: all threads of the run, or one.
 *
 * OpenMP (libgomp) ends and begins threads whenever a team has another size than the one before, which takes longer than
 * most regions of a small image. So every region takes its number from here. A region with fewer pieces of work than
 * threads leaves threads idle.
 */
#ifndef VOXFIELD_TEAM_SIZE_H
#define VOXFIELD_TEAM_SIZE_H

#include <stdint.h>

#include "voxfield/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The context's threads if the region's work is worth a team, else 1. `work`: about the nanoseconds that one thread takes. */
int vf_threads_for(const vf_context *ctx, int64_t work);

/* The same for a plan that has memory for `made_for` threads: those of the context when it was made. */
int vf_threads_of_plan(const vf_context *ctx, int made_for, int64_t work);

/* Which of `rooms` pieces of memory a thread of such a region uses for piece number `piece` of `pieces`, if there is one for
 * each piece, or one for each thread. */
int64_t vf_room_of(int64_t rooms, int64_t pieces, int64_t piece);

/* For tests with small arrays: sets the work from which on regions have a team, for any number of threads. */
void vf_context_set_team_work(vf_context *ctx, int64_t work);

#ifdef __cplusplus
}
#endif
#endif
