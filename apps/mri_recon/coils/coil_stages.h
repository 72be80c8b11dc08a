/* mri_recon: choice of channels, noise whitening and coil compression. */
#ifndef COIL_STAGES_H
#define COIL_STAGES_H

#include "coil_settings.h"
#include "scan/mri_scan.h"

/* Leaves out channels of the scan, its noise and its maps, and says which and why: those of `list` (numbers from 0 and
 * ranges first:last, separated by commas; NULL: none), and, unless the list is "none", channels that are dead or have
 * only noise. raw->left_out says which they were. Errors: VF_ERR_ARGUMENT (a list that does not fit), VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status drop_coils(vf_context *ctx, const char *list, mri_scan *raw);
/* Removes rows of data [rows][count], or of each of `sets` sets of maps [rows][voxels]. */
void remove_rows(int rows, const bool *left_out, int64_t count, float complex *data);
void remove_map_rows(int sets, int rows, const bool *left_out, int64_t voxels, float complex *maps);

/* Whitens the coils' noise: multiplies data and maps by the inverse Cholesky factor of the noise covariance, and frees
 * the covariance. Does nothing if the scan has none. Errors: VF_ERR_INPUT, naming the coil, for a singular covariance
 * (a dead coil). */
VF_MUST_CHECK vf_status prewhiten(vf_context *ctx, mri_scan *scan);

/* What compress_coils did. */
typedef struct coil_choice {
    int from, to;      /* coils before and after */
    const char *along; /* "x", "y" or "z": the axis of geometric compression, a constant; NULL: another */
    double kept;       /* the share of the energy that is kept; 1 if nothing was left out */
    double loss;       /* signal that was left out, relative to the noise (virtual_coils.h); -1: not measured */
    char text[256];    /* for the plan; "" if there was nothing to choose */
} coil_choice;

/* Replaces the coils by `keep` < coils virtual ones, in data and maps. COMPRESS_AUTO keeps as many as leave out less signal
 * than a tenth of the noise (virtual_coils.c), and all of fewer than COMPRESS_FROM coils.
 *
 * COMPRESS_PRINCIPAL: the principal components of the data over all frames (Buehrer et al., Magn. Reson. Med. 57 (2007) 1131;
 * Huang et al., Magn. Reson. Imaging 26 (2008) 133). Each acquired cell of k-space counts once (coil_covariance.h).
 * COMPRESS_GEOMETRIC: components of their own at each position along complete Cartesian lines (geometric_coils.c).
 * COMPRESS_BEST: principal components if the number is given; else geometric ones if they are at least a quarter fewer, and
 * there are enough lines to know them.
 *
 * Errors: VF_ERR_ARGUMENT (also if there are no such lines), VF_ERR_INPUT (NaN), VF_ERR_MEMORY, VF_ERR_CANCELLED. */
VF_MUST_CHECK vf_status compress_coils(vf_context *ctx, mri_scan *scan, int keep, compress_method by, coil_choice *out);

#endif
