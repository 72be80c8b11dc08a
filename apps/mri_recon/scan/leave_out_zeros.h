/* Samples that were not measured, but are in the file as 0. */
#ifndef LEAVE_OUT_ZEROS_H
#define LEAVE_OUT_ZEROS_H

#include "mri_scan.h"

/* Gives samples that are exactly 0 in all channels the weight 0 where they cannot be signal (docs/scans.md), and notes how many
 * there are. Frames whose samples differ in that get trajectories of their own. Updates raw->digest. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status leave_out_zeros(vf_context *ctx, const char *path, mri_scan *raw);

#endif
