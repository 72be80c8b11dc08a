/* mri_recon: the coils of a scan, decorrelated and fewer. */
#ifndef COIL_STAGES_H
#define COIL_STAGES_H

#include "scan/mri_scan.h"

/* Decorrelates the coils' noise by the inverse Cholesky factor of its covariance, in data and maps, and frees the
 * covariance. Does nothing without one. A covariance that is singular (a dead coil) is VF_ERR_INPUT, naming the coil.
 */
VF_MUST_CHECK vf_status prewhiten(vf_context *ctx, mri_scan *scan);

/* Keeps the `keep` < coils principal components of the data over all frames (Buehrer et al., Magn. Reson. Med. 57
 * (2007) 1131; Huang et al., Magn. Reson. Imaging 26 (2008) 133), in data and maps. `kept` gets their share of the
 * energy. */
VF_MUST_CHECK vf_status compress_coils(vf_context *ctx, mri_scan *scan, int keep, double *kept);

#endif
