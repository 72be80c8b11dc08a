/* Voxfield - density compensation: weights for the samples of any trajectory, such that F^H of the weighted samples is
 * an image with the object's values. density.c describes the method.
 */
#ifndef VOXFIELD_DENSITY_H
#define VOXFIELD_DENSITY_H

#include "encoding.h"

#ifdef __cplusplus
extern "C" {
#endif

/* `weights` [samples], host memory; for a Cartesian grid they are 1 / voxels. `k` [samples][3] in cycles per field of
 * view, for an image of `matrix` voxels. `used` [samples]: samples where it is 0 get the weight 0 and do not count;
 * NULL: all count. Computed on the queue's device in single precision. `tell` (may be NULL) gets progress of 1 in all.
 * Blocking. Errors: as vf_encoding_create; VF_ERR_CANCELLED. */
VF_MUST_CHECK vf_status vf_density_weights(vf_queue *queue, const int64_t matrix[3], int64_t samples, const float *k,
                                           const float *used, vf_encoding_tell *tell, void *user, float *weights);

#ifdef __cplusplus
}
#endif
#endif
