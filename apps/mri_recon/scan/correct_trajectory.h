/* Corrections of a scan's trajectory, in this order: a measured one (--trajectory), the gradients' impulse response
 * (--girf), gradient delays (--delays), the patient's motion (--motion). docs/reconstruction.md. */
#ifndef CORRECT_TRAJECTORY_H
#define CORRECT_TRAJECTORY_H

#include "mri_scan.h"

/* Corrects all frames of a scan that has just been read, as the settings say; calibration frames stay. Then checks the
 * trajectory against the matrix again, as the reader does, and describes the changes in raw->corrections and
 * raw->digest. Samples that the file's own trajectory placed beyond the matrix keep their weight 0. Errors, each naming
 * the file: VF_ERR_INPUT, VF_ERR_ARGUMENT (a correction that the scan does not allow), VF_ERR_MEMORY,
 * VF_ERR_CANCELLED. */
VF_MUST_CHECK vf_status correct_trajectory(vf_context *ctx, const scan_settings *settings, mri_scan *raw);

/* shift_fov.c: moves the field of view of all frames, as --fov-shift says, or warns that it may be needed. Errors:
 * VF_ERR_INPUT. */
VF_MUST_CHECK vf_status shift_fov(vf_context *ctx, const scan_settings *settings, mri_scan *raw);

/* select_slices.c: keeps the slices that --slices names, of each stack. Errors: VF_ERR_ARGUMENT, VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status select_slices(vf_context *ctx, const scan_settings *settings, mri_scan *raw);

#endif
