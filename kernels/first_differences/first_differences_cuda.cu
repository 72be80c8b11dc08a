/* The CUDA backend: each thread has a voxel and reads its neighbours through the caches. Memory bandwidth is the limit:
 * x, y and the weights are read once, and y is written once. */
#include <stdint.h>

#include "backend/cuda_check.cuh"
#include "backend/kernel_words.cuh"
#include "backend/launch_blocks.h"
#include "first_differences_backend.h"

namespace
{

enum { THREADS = 256 };

struct extents {
    int64_t counts[3], voxels;
};

#include "first_differences_voxel.cuh"

template <typename T, typename T2>
__global__ void __launch_bounds__(THREADS)
    add_differences(extents e, T scale, const T *__restrict__ weights, const T2 *__restrict__ x, T2 *__restrict__ y)
{
    const int64_t n = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (n < e.voxels)
        add_differences_of_voxel(n, e.counts, e.voxels, scale, weights, x, y);
}

template <typename T, typename T2>
void launch(cudaStream_t stream, const extents &e, double scale, const void *weights, const void *x, void *y)
{
    const unsigned blocks = vf_blocks_for(e.voxels, THREADS);
    add_differences<T, T2><<<blocks, THREADS, 0, stream>>>(e, (T)scale, static_cast<const T *>(weights),
                                                           static_cast<const T2 *>(x), static_cast<T2 *>(y));
}

vf_status add(vf_queue *queue, vf_dtype type, const int64_t counts[3], double scale, const void *weights, const void *x,
              void *y)
{
    vf_device *device = vf_queue_device(queue);
    cudaStream_t stream = static_cast<cudaStream_t>(vf_queue_native(queue));
    const extents e = {{counts[0], counts[1], counts[2]}, counts[0] * counts[1] * counts[2]};
    if (e.voxels > (int64_t)INT32_MAX * THREADS)
        return vf_fail(vf_device_context(device), VF_ERR_ARGUMENT,
                       "first differences: %lld voxels are too many for one launch", (long long)e.voxels);
    vf_status status = VF_CUDA(device, cudaSetDevice(vf_device_ordinal(device)));
    if (status != VF_OK)
        return status;
    if (type == VF_C128)
        launch<double, double2>(stream, e, scale, weights, x, y);
    else
        launch<float, float2>(stream, e, scale, weights, x, y);
    return VF_CUDA(device, cudaGetLastError());
}

} // namespace

const vf_differences_backend vf_differences_cuda = {VF_DEVICE_CUDA, add};
