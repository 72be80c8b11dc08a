/* Groups of frames, and ranges of them for ranks (group_list.c, frame_ranges.c). */
#ifndef GROUP_LIST_H
#define GROUP_LIST_H

#include "frames/recon_job.h"
#include "schedule_settings.h"
#include "voxfield/ranks.h"

typedef struct group_list {
    frame_group *group; /* [count] */
    int count, most;    /* `most`: frames of the largest group */
} group_list;

/* Cuts the job's frames into groups for so many teams. A group has as many frames as the memory of `slots` groups allows,
 * but at most a team's fair share: large groups need fewer plans. Frames that are solved together make windows
 * (windows.c). free() list->group. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status group_list_make(const recon_job *job, const schedule_settings *schedule, int teams, int slots,
                                        group_list *list);

/* Leaves out frames that job->wanted does not have. To be called once all that depends on all frames is known. Errors:
 * VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status group_list_leave_out(const recon_job *job, group_list *list);
/* The order in which frames are made: `order` [frames] gets their numbers. Errors: VF_ERR_MEMORY, VF_ERR_INTERNAL. */
VF_MUST_CHECK vf_status frame_order(vf_context *ctx, const solve_settings *solve, const mri_scan *raw, int *order);

bool frame_is_wanted(const recon_job *job, const scan_frame *frame);

/* ---- frame_ranges.c ---- */

/* Some of the job's frames: [first, behind), in the order in which they are put into groups. */
typedef struct frame_range {
    int first, behind;
} frame_range;

/* Into how many ranges a rank's share is cut. */
int frame_ranges_a_rank(const solve_settings *solve);

/* Rank 0 of an MPI job: cuts the wanted frames into ranges, and offers them to all ranks. Others get the list. free() *out.
 * Errors: those of vf_ranks_offer and vf_ranks_share. */
VF_MUST_CHECK vf_status frame_ranges_share(const recon_job *job, vf_ranks *ranks, frame_range **out, int *count);

#endif
