/* The final checks of a scan of any format, and its digest. */
#ifndef SCAN_FINISH_H
#define SCAN_FINISH_H

#include "mri_scan.h"

/* Computes s->digest. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status scan_digest(vf_context *ctx, const char *path, mri_scan *s);

/* Final checks of a scan: samples beyond the matrix, all-zero data and coil maps. Computes the digest. */
VF_MUST_CHECK vf_status scan_finish(vf_context *ctx, const char *path, mri_scan *s);

/* The part of it that depends on trajectories, for those that change later: samples beyond the matrix, the digest. */
VF_MUST_CHECK vf_status scan_finish_trajectories(vf_context *ctx, const char *path, mri_scan *s);

/* Gives samples that lie more than `slack` cycles beyond what the matrix resolves the weight 0; t->weights is there.
 * Returns how many. */
int64_t scan_drop_beyond(const int64_t matrix[3], double slack, scan_trajectory *t);

#endif
