/* The CUDA backend: each thread has a voxel and reads its neighbours through the caches. Memory bandwidth is the limit:
 * x, y and the weights are read once, and y is written once. */
#include <stdint.h>

#include "backend/cuda_check.cuh"
#include "backend/launch_blocks.h"
#include "first_differences_backend.h"

namespace
{

enum { THREADS = 256 };

template <typename T>
struct __align__(2 * sizeof(T)) number
{
    T re, im;
};

struct extents {
    int64_t counts[3], voxels;
};

template <typename T>
__device__ void add_neighbour(number<T> *sum, T w, number<T> here, number<T> there)
{
    sum->re += w * (here.re - there.re);
    sum->im += w * (here.im - there.im);
}

template <typename T>
__global__ void __launch_bounds__(THREADS) add_differences(extents e, T scale, const T *__restrict__ weights,
                                                           const number<T> *__restrict__ x, number<T> *__restrict__ y)
{
    const int64_t n = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (n >= e.voxels)
        return;
    const number<T> here = x[n];
    number<T> sum = {0, 0};
    int64_t step = 1;
#pragma unroll
    for (int a = 0; a < 3; a++) {
        const int64_t at = n / step % e.counts[a];
        const T *w = weights ? weights + a * e.voxels : nullptr;
        if (at > 0)
            add_neighbour(&sum, w ? w[n] : (T)1, here, x[n - step]);
        if (at < e.counts[a] - 1)
            add_neighbour(&sum, w ? w[n + step] : (T)1, here, x[n + step]);
        step *= e.counts[a];
    }
    const number<T> before = y[n];
    y[n] = {before.re + scale * sum.re, before.im + scale * sum.im};
}

template <typename T>
void launch(cudaStream_t stream, const extents &e, double scale, const void *weights, const void *x, void *y)
{
    const unsigned blocks = vf_blocks_for(e.voxels, THREADS);
    add_differences<T><<<blocks, THREADS, 0, stream>>>(e, (T)scale, static_cast<const T *>(weights),
                                                       static_cast<const number<T> *>(x), static_cast<number<T> *>(y));
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
        launch<double>(stream, e, scale, weights, x, y);
    else
        launch<float>(stream, e, scale, weights, x, y);
    return VF_CUDA(device, cudaGetLastError());
}

} // namespace

const vf_differences_backend vf_differences_cuda = {VF_DEVICE_CUDA, add};
