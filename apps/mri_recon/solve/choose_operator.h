/* Chooses the operator that computes F. */
#ifndef CHOOSE_OPERATOR_H
#define CHOOSE_OPERATOR_H

#include "encoding.h"
#include "scan/mri_scan.h"
#include "solve_settings.h"

/* Returns VF_ENCODE_DIRECT, _NUFFT or _CARTESIAN: the choice for this trajectory under the settings
 * (vf_encoding_choose). With --save-q or --load-q, AUTO never chooses the FFT of the grid. */
vf_encode_by encoding_choose_for(const solve_settings *settings, const mri_scan *raw, const scan_trajectory *at);

/* The options for vf_encoding_create, from the settings, for one vector at a time; `by` is encoding_choose_for's. */
vf_encoding_options encoding_options(const solve_settings *settings, const mri_scan *raw, const scan_trajectory *at);

/* Rejects --operator cartesian for a scan that is not on a grid; the message names the first sample off the grid.
 * Prints a note if only --save-q or --load-q prevents the FFT. Errors: VF_ERR_INPUT. */
VF_MUST_CHECK vf_status encoding_check(vf_context *ctx, const solve_settings *settings, const mri_scan *raw);

#endif
