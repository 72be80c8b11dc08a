/* What the corrections of a trajectory share. */
#ifndef CORRECT_INTERNAL_H
#define CORRECT_INTERNAL_H

#include "correct_trajectory.h"

/* ---- correct_trajectory.c ---- */

/* Gives each frame a trajectory of its own. */
VF_MUST_CHECK vf_status separate_trajectories(vf_context *ctx, const char *path, mri_scan *raw);
/* Adds to raw->corrections. */
void note_correction(mri_scan *raw, const char *format, ...) VF_PRINTF(2, 3);

/* ---- the corrections ---- */

VF_MUST_CHECK vf_status take_measured(vf_context *ctx, const scan_settings *settings, mri_scan *raw);
VF_MUST_CHECK vf_status correct_girf(vf_context *ctx, const scan_settings *settings, mri_scan *raw);
VF_MUST_CHECK vf_status correct_delays(vf_context *ctx, const scan_settings *settings, mri_scan *raw);
/* Warns of delays that blur the image, without a correction. Does nothing if the trajectory is not radial. */
VF_MUST_CHECK vf_status warn_of_delays(vf_context *ctx, const scan_settings *settings, const mri_scan *raw);
VF_MUST_CHECK vf_status correct_motion(vf_context *ctx, const scan_settings *settings, mri_scan *raw);

#endif
