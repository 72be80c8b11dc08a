/* Readout oversampling, removed before anything is computed. */
#ifndef CROP_READOUT_H
#define CROP_READOUT_H

#include "mri_scan.h"

/* Crops the voxels that the image does not keep out of the data, along axes on which all lines of all trajectories are
 * complete: `matrix`, `fov`, samples, weights, maps and references become those of the kept field of view, and the
 * image stays the same, to rounding. Lines are runs of as many samples as the matrix has voxels, which hold every whole
 * k once, with one weight, without phi. Anything else is left as it is: incomplete lines (asymmetric echo), ramp
 * sampling, off-resonance; --keep-oversampling, --save-q and --load-q, --voxel box, --operator nufft or direct, the
 * bilinear method; and priors of differences, which couple voxels across the border, and so would change the image
 * there. The digest stays that of the file. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status crop_readout(vf_context *ctx, const recon_settings *settings, scan *raw);

#endif
