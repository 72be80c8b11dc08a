/* Interference: samples that no object can have. */
#ifndef REMOVE_SPIKES_H
#define REMOVE_SPIKES_H

#include "mri_scan.h"

/* Finds impossible samples in all frames, sets them and their weights to 0, and warns which they are. A frame with such
 * samples gets a trajectory of its own. Updates raw->digest. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status remove_spikes(vf_context *ctx, const char *path, mri_scan *raw);

#endif
