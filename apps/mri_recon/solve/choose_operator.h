/* Which operator F is computed by. */
#ifndef CHOOSE_OPERATOR_H
#define CHOOSE_OPERATOR_H

#include "encoding.h"
#include "scan/mri_scan.h"
#include "settings.h"

/* VF_ENCODE_DIRECT, _NUFFT or _CARTESIAN: what the settings lead to for a trajectory of a scan (vf_encoding_choose); no
 * FFT of the grid where a Q is to be kept or loaded. */
vf_encode_by encoding_choose_for(const recon_settings *settings, const mri_scan *raw, const scan_trajectory *at);

/* The options of vf_encoding_create, as the settings have them, for one vector at a time; `by` as encoding_choose_for. */
vf_encoding_options encoding_options(const recon_settings *settings, const mri_scan *raw, const scan_trajectory *at);

/* Refuses --operator cartesian for a scan that is not on a grid, naming the first sample; notes where the FFT could be
 * used but for --save-q and --load-q. Errors: VF_ERR_INPUT. */
VF_MUST_CHECK vf_status encoding_check(vf_context *ctx, const recon_settings *settings, const mri_scan *raw);

#endif
