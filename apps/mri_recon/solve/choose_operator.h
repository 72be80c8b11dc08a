/* Which operator F is computed by. */
#ifndef CHOOSE_OPERATOR_H
#define CHOOSE_OPERATOR_H

#include "mri_recon.h"

/* RECON_DIRECT, RECON_NUFFT or RECON_CARTESIAN: what the settings lead to. RECON_AUTO takes the FFT where all samples
 * lie on a grid (vf_cartesian_fits), off-resonance does not make them differ and no Q is to be kept or loaded; else the
 * direct sum for few pairs of samples and voxels. */
recon_operator encoding_choose(const recon_settings *settings, const int64_t matrix[3], int64_t samples, const float *k,
                               bool off_resonance);
/* The same, of a trajectory of a scan. */
recon_operator encoding_choose_for(const recon_settings *settings, const scan *raw, const scan_trajectory *at);

/* Refuses --operator cartesian for a scan that is not on a grid, naming the first sample; notes where the FFT could be
 * used but for --save-q and --load-q. Errors: VF_ERR_INPUT. */
VF_MUST_CHECK vf_status encoding_check(vf_context *ctx, const recon_settings *settings, const scan *raw);

#endif
