/* What a plan holds: cartesian.c (plans and the sums), cartesian_normal.c (F^H W F); not installed. */
#ifndef VOXFIELD_CARTESIAN_INTERNAL_H
#define VOXFIELD_CARTESIAN_INTERNAL_H

#include "cartesian.h"
#include "toeplitz.h"
#include "voxfield/fft.h"

struct vf_cartesian {
    vf_device *device;
    vf_dtype precision, type; /* real, complex */
    int64_t matrix[3];        /* x, y, z */
    int64_t voxels, samples;
    bool normal; /* which of the two */
    vf_fft *fft;
    vf_array grid;          /* [voxels] complex */
    vf_array point;         /* of the sums: [samples] a sample's grid point */
    vf_array slot;          /* [voxels] where `sums` has a grid point; its last where that holds no sample */
    vf_array sums;          /* [slots + 1] complex, the last is 0 */
    vf_array list;          /* [samples]: layer after layer, the l-th sample of the first layer[l] slots */
    vf_array spare;         /* [layer[1]] complex */
    int64_t slots;          /* grid points that hold samples */
    int64_t layers;         /* samples that share a grid point, at most */
    int64_t *layer;         /* [layers] slots with more than l samples; host memory, as begin */
    int64_t *begin;         /* [layers] of a layer in `list` */
    vf_toeplitz *circulant; /* of the normal operator, which has nothing of the above */
};

/* The grid point of a sample, k folded modulo N; k rounds to integers. */
uint32_t vf_cartesian_point(const int64_t matrix[3], const float k[3]);

/* The normal operator's own part of a plan. */
VF_MUST_CHECK vf_status vf_cartesian_make_normal(vf_cartesian *plan, const vf_cartesian_samples *samples);

/* `count` elements in the device's memory, filled from host memory where `from` is not NULL. */
VF_MUST_CHECK vf_status vf_cartesian_put(vf_device *device, vf_dtype type, int64_t count, const void *from,
                                         vf_array *out);

#endif
