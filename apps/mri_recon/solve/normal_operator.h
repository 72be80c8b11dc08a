/* F^H W F of frames that are solved for together (normal_operator.c). */
#ifndef NORMAL_OPERATOR_H
#define NORMAL_OPERATOR_H

#include "normal.h"
#include "team.h"
#include "voxfield/operator.h"

/* A device's share: of one frame, some of its coils; of a series, all coils of some of its frames. */
typedef struct normal_share {
    vf_queue *queue;
    int first, frames;    /* of a series: its frames [first, first + frames); else 0 and 1 */
    const vf_normal **of; /* [frames] F^H W F of each frame's trajectory, on this device */
    double *weight;       /* [frames] of each frame's data beside those of the others */
    vf_normal *made;      /* [trajectories] those that the share owns */
    int trajectories;
} normal_share;

/* F^H W F of frames as an operator on the first device, seen through `maps`, of all sets (NULL: one coil of s = 1). Of one
 * frame it is the sum over the devices, and its vectors are [set][voxels]. Of a series it is block-diagonal, its vectors are
 * [frame][voxels], and each frame is computed by one device, so that the bits do not depend on their number. The shares and
 * the maps must outlive it. Errors: as vf_operator_sum_of_devices. */
VF_MUST_CHECK vf_status normal_operator_create(int devices, const normal_share *share, bool series, vf_dtype precision,
                                               int64_t voxels, const device_maps *maps, vf_operator **out);

#endif
