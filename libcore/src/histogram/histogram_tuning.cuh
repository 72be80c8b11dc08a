/* Launch shapes of histograms on a GPU, by compute capability and size of an element. They are kept apart from the
 * algorithm; tuning.cuh explains the rows. Not installed. */
#ifndef VOXFIELD_HISTOGRAM_TUNING_CUH
#define VOXFIELD_HISTOGRAM_TUNING_CUH

#include "backend/tuning.cuh"

/* clang-format off */
/* arch, bytes, nWarps, nWork, thread blocks a multiprocessor, if there is room */
constexpr vf_tuning vf_count_tunings[] = { /* by edges, and of integers */
    {0, 4, 16, 16, 2},
    {0, 8, 16, 8, 2},
    {90, 4, 32, 8, 2}, /* NVIDIA H200 */
    {90, 8, 32, 4, 2},
};
constexpr vf_tuning vf_bytes_tunings[] = {
    {0, 1, 16, 64, 2},
    {90, 1, 32, 64, 1}, /* NVIDIA H200 */
};
/* clang-format on */

template <int bytes>
struct vf_count_tuning {
    static constexpr vf_tuning at(int arch)
    {
        return vf_find_tuning(vf_count_tunings, arch, bytes);
    }
};

struct vf_bytes_tuning {
    static constexpr vf_tuning at(int arch)
    {
        return vf_find_tuning(vf_bytes_tunings, arch, 1);
    }
};

/* Words of TRISH's loop, 31 as the thesis recommends, and the most thread blocks a multiprocessor. */
enum { VF_TRISH_WORDS = 31, VF_TRISH_BLOCKS = 16 };

/* Prepares launches with launch->shared_bytes of dynamic shared memory, in as many thread blocks as run at a time. A kernel's
 * limit is that of the device: plans with different amounts use the same kernel. */
template <typename Tuning, typename Kernel>
cudaError_t vf_find_resident(Kernel *kernel, vf_launch *launch)
{
    int device = 0, most = 0;
    cudaFuncAttributes attributes;
    cudaError_t error = cudaFuncGetAttributes(&attributes, kernel);
    if (error == cudaSuccess)
        error = cudaGetDevice(&device);
    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    if (error == cudaSuccess)
        error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     most - (int)attributes.sharedSizeBytes);
    if (error == cudaSuccess)
        error = cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                     cudaSharedmemCarveoutMaxShared);
    return error == cudaSuccess ? vf_find_launch<Tuning>(kernel, true, launch) : error;
}

#endif
