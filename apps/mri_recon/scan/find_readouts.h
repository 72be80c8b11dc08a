/* Where readouts begin in trajectories that do not say so. */
#ifndef FIND_READOUTS_H
#define FIND_READOUTS_H

#include "mri_scan.h"

/* Marks readouts of `length` samples each; the trajectory has a multiple of it. `path` is for messages. Errors:
 * VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status scan_even_readouts(vf_context *ctx, const char *path, int64_t length, scan_trajectory *t);
/* Finds the readouts of trajectories that do not know them: of settings->readout_samples each; else one begins where
 * the sample times start again, where straight lines of one length bend, or where k jumps at equal distances. `option`
 * needs them, for messages. Errors: VF_ERR_ARGUMENT (readout_samples does not fit, or the file knows its readouts),
 * VF_ERR_INPUT (no readouts to be seen), VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status find_readouts(vf_context *ctx, const scan_settings *settings, const char *option,
                                      mri_scan *raw);

#endif
