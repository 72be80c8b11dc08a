/* What makes groups of voxels and what sums over them share; not installed. See fourier_sum_groups.cu. */
#ifndef VOXFIELD_FOURIER_SUM_GROUPS_CUH
#define VOXFIELD_FOURIER_SUM_GROUPS_CUH

#include "fourier_sum_cuda.cuh"

namespace vf_fourier_gpu
{

enum { GROUP = 128 }; /* voxels: a warp's in the adjoint, a stage of the forward sum */

/* Where a group is, and which voxels it has. */
struct voxel_group {
    list_points<float>::place centre;
    unsigned first, last; /* the least and the greatest voxel */
    unsigned unused[2];
};

/* Axis 3: off-resonance. */
__device__ inline double voxel_coordinate(const point_source &s, int64_t n, int axis)
{
    int64_t at[3];
    if (axis == 3)
        return s.r[3] ? s.r[3][n] : 0;
    grid_point(s, n, at);
    return coordinate(s, at, n, axis);
}

} // namespace vf_fourier_gpu

#endif
