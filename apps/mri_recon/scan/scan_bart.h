/* Scans in BART's files. */
#ifndef SCAN_BART_H
#define SCAN_BART_H

#include "mri_scan.h"

/* Reads k-space of BART (docs/scans.md). settings->input is its .cfl or .hdr, settings->trajectory that of its
 * trajectory, or NULL. Data are multiplied by sqrt(voxels), because BART's transforms are unitary; so images have
 * BART's scale. Also uses the settings units and matrix. `map_matrix`: [3] that of the coil maps, which a scan with a
 * trajectory then has; NULL: there are none. Errors: as read_scan; VF_ERR_ARGUMENT. */
VF_MUST_CHECK vf_status read_bart_scan(vf_context *ctx, const recon_settings *settings, const int64_t *map_matrix,
                                       mri_scan *out);

#endif
