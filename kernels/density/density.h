/* Voxfield - density compensation: weights for samples of any trajectory, such that F^H applied to the weighted samples
 * makes an image of the object's values. The method is described in density.c.
 */
#ifndef VOXFIELD_DENSITY_H
#define VOXFIELD_DENSITY_H

#include "encoding.h"

#ifdef __cplusplus
extern "C" {
#endif

/* `weights` [samples], host memory: 1 / voxels for the samples of a Cartesian grid. `k` [samples][3] in cycles per
 * field of view, of an image of `matrix` voxels. `used` [samples]: samples where it is 0 get 0 and do not count; NULL:
 * all do. Solved on the queue's device, in single precision. `tell` (may be NULL) is told 1 in all. Blocking. Errors:
 * as vf_encoding_create; VF_ERR_CANCELLED. */
VF_MUST_CHECK vf_status vf_density_weights(vf_queue *queue, const int64_t matrix[3], int64_t samples, const float *k,
                                           const float *used, vf_encoding_tell *tell, void *user, float *weights);

#ifdef __cplusplus
}
#endif
#endif
