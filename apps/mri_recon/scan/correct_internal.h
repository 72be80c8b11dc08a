/* What the corrections of a trajectory share. */
#ifndef CORRECT_INTERNAL_H
#define CORRECT_INTERNAL_H

#include "correct_trajectory.h"

/* ---- find_readouts.c ---- */

/* The samples of a readout: as the file says; else from one restart of the sample times to the next; else straight
 * lines with even steps. 0: all samples are not readouts of one length. */
int64_t find_readout(const scan_trajectory *t);
/* The same for all frames: fails if a frame's readouts are unknown, and says what `option` needs. */
VF_MUST_CHECK vf_status find_readouts(vf_context *ctx, const char *path, const char *option, mri_scan *raw);

/* ---- correct_trajectory.c ---- */

/* Gives each frame a trajectory of its own. */
VF_MUST_CHECK vf_status separate_trajectories(vf_context *ctx, const char *path, mri_scan *raw);
/* Adds to raw->corrections. */
void note_correction(mri_scan *raw, const char *format, ...) VF_PRINTF(2, 3);

/* ---- the corrections ---- */

VF_MUST_CHECK vf_status take_measured(vf_context *ctx, const recon_settings *settings, mri_scan *raw);
VF_MUST_CHECK vf_status correct_girf(vf_context *ctx, const recon_settings *settings, mri_scan *raw);
VF_MUST_CHECK vf_status correct_delays(vf_context *ctx, const recon_settings *settings, mri_scan *raw);
VF_MUST_CHECK vf_status correct_motion(vf_context *ctx, const recon_settings *settings, mri_scan *raw);

#endif
