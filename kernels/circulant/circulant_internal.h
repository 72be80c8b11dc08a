/* What the plans of circulant matrices share. */
#ifndef VOXFIELD_CIRCULANT_INTERNAL_H
#define VOXFIELD_CIRCULANT_INTERNAL_H

#include "voxfield/device.h"

/* Puts eigenvalues m[z][y][x], divided by the number of voxels, into the transform's order in device memory, rounded to
 * `real` (VF_F32, VF_F64). Blocking. Errors: VF_ERR_ARGUMENT (a value that is NaN, infinite or too large),
 * VF_ERR_MEMORY, VF_ERR_DEVICE. */
VF_MUST_CHECK vf_status vf_circulant_put(vf_context *ctx, vf_queue *queue, const int64_t matrix[3], vf_dtype real,
                                         const double *m, void *to);

#endif
