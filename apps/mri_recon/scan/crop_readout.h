/* Removes readout oversampling before the computation. */
#ifndef CROP_READOUT_H
#define CROP_READOUT_H

#include "mri_scan.h"

/* Crops voxels that the image does not keep out of the data, along axes on which all lines of all trajectories are
 * complete (whole_lines.h): `matrix`, `fov`, samples, weights, maps and references become those of the kept field of view.
 * The image stays the same up to rounding. Nothing is cropped of incomplete lines (asymmetric echo) and ramp sampling. The
 * digest remains that of the file. Only where may_crop_readout (recon_choices.h) allows it. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status crop_readout(vf_context *ctx, mri_scan *raw);

#endif
