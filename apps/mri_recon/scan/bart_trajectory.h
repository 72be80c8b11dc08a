/* Trajectories in BART's files: [3][samples][spokes], of a scan of BART or in place of another scan's. */
#ifndef BART_TRAJECTORY_H
#define BART_TRAJECTORY_H

#include "bart/cfl.h"

/* Whether the file has the shape of a trajectory. Errors: VF_ERR_INPUT. */
VF_MUST_CHECK vf_status bart_check_trajectory(vf_context *ctx, const cfl_file *file);
/* Reads samples [first, first + samples) into k [sample][3]. Errors: VF_ERR_INPUT (also: an imaginary part),
 * VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status bart_read_k(vf_context *ctx, cfl_file *file, int64_t first, int64_t samples, float *k);

#endif
