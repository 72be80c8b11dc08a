/* Scans in BART's files. */
#ifndef SCAN_BART_H
#define SCAN_BART_H

#include "mri_scan.h"

/* Reads k-space of BART (docs/scans.md). settings->input is its .cfl or .hdr, settings->trajectory that of its
 * trajectory, or NULL. Data are multiplied by sqrt(voxels), because BART's transforms are unitary; so images have
 * BART's scale. Also uses the settings units, matrix and maps (the maps' matrix). Errors: as read_scan;
 * VF_ERR_ARGUMENT. */
VF_MUST_CHECK vf_status read_bart_scan(vf_context *ctx, const recon_settings *settings, mri_scan *out);

#endif
