/* What settings and scan lead to (recon_choices.c). */
#ifndef RECON_CHOICES_H
#define RECON_CHOICES_H

#include "scan/mri_scan.h"
#include "solve_settings.h"

/* How devices share a scan. The choice does not depend on measured speeds, so the result's bits do not either. */
typedef struct recon_sharing {
    int teams, each; /* `teams` frames, or windows of a series, are made at the same time, each by `each` devices */
    bool by_voxels;  /* a team shares direct sums by voxels; F^H W F of a series by frames; all other work by coils */
} recon_sharing;

/* Whether the prior's weight comes from noise and spectrum. */
bool regularise_by_noise(const solve_settings *settings);

/* Whether the prior is made of the scan's anatomical images. */
bool uses_reference(const solve_settings *settings);

/* Whether it stands beside the spectrum, and its strength is found: --lambda auto. */
bool finds_reference_strength(const solve_settings *settings);

/* The kernels' prior for the quadratic one. */
vf_prior_kind reference_prior_kind(const solve_settings *settings);

/* Whether frames are solved together: a sparse prior couples them. */
bool solves_series(const solve_settings *settings);

/* Whether readout oversampling can be removed (crop_readout.h): the image stays the same, and the user did not choose an operator,
 * whose bits must not change. Not for off-resonance; --keep-oversampling, --save-q and --load-q, --voxel box, --operator nufft or
 * direct, the bilinear method; priors of differences, which couple voxels across the border and would change the image there. */
bool may_crop_readout(const scan_settings *scan, const solve_settings *solve, const mri_scan *raw);

#endif
