/* mri_recon: noise whitening and coil compression. */
#ifndef COIL_STAGES_H
#define COIL_STAGES_H

#include "scan/mri_scan.h"

/* Whitens the coils' noise: multiplies data and maps by the inverse Cholesky factor of the noise covariance, and frees
 * the covariance. Does nothing if the scan has none. Errors: VF_ERR_INPUT, naming the coil, for a singular covariance
 * (a dead coil). */
VF_MUST_CHECK vf_status prewhiten(vf_context *ctx, mri_scan *scan);

/* Replaces the coils by the first `keep` < coils principal components of the data over all frames (Buehrer et al.,
 * Magn. Reson. Med. 57 (2007) 1131; Huang et al., Magn. Reson. Imaging 26 (2008) 133), in data and maps. *kept gets
 * their share of the energy. */
VF_MUST_CHECK vf_status compress_coils(vf_context *ctx, mri_scan *scan, int keep, double *kept);

#endif
