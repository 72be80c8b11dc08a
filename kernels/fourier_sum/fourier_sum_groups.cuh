/* Groups of voxels, for the files that make them and sum over them; not installed. See fourier_sum_groups.cu. */
#ifndef VOXFIELD_FOURIER_SUM_GROUPS_CUH
#define VOXFIELD_FOURIER_SUM_GROUPS_CUH

#include "fourier_sum_cuda.cuh"

namespace vf_fourier_gpu
{

enum { GROUP = 128 }; /* voxels: of a warp in the adjoint, of a stage in the forward sum */

/* A group's centre and range of voxels. */
struct voxel_group {
    list_points<float>::place centre;
    unsigned first, last; /* the lowest and highest voxel index */
    unsigned unused[2];
};

/* A voxel's position along an axis; axis 3 is off-resonance. */
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
