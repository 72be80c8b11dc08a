/* The contents of a plan, shared by cartesian.c (plans and the sums) and cartesian_normal.c (F^H W F); not
 * installed. */
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
    bool normal; /* a plan for F^H W F, not for the sums */
    vf_fft *fft;
    vf_array grid;          /* [voxels] complex */
    vf_array point;         /* for the sums: [samples] the grid point of each sample */
    vf_array slot;          /* [voxels] the index of a grid point in `sums`; the last one if it has no sample */
    vf_array sums;          /* [slots + 1] complex, the last is 0 */
    vf_array list;          /* [samples] layer after layer: layer l lists sample number l of the first layer[l] slots */
    vf_array spare;         /* [layer[1]] complex */
    int64_t slots;          /* grid points that hold samples */
    int64_t layers;         /* the most samples on one grid point */
    int64_t *layer;         /* [layers] slots with more than l samples; host memory, like `begin` */
    int64_t *begin;         /* [layers] where each layer begins in `list` */
    vf_toeplitz *circulant; /* the normal operator; the members for the sums are empty then */
};

/* The grid point of a sample: k rounded to an integer and folded modulo N. */
uint32_t vf_cartesian_point(const int64_t matrix[3], const float k[3]);

/* Makes the normal operator of a plan. */
VF_MUST_CHECK vf_status vf_cartesian_make_normal(vf_cartesian *plan, const vf_cartesian_samples *samples);

/* Allocates `count` elements of device memory, and copies them from host memory `from` unless it is NULL. */
VF_MUST_CHECK vf_status vf_cartesian_put(vf_device *device, vf_dtype type, int64_t count, const void *from,
                                         vf_array *out);

#endif
