/* How kernels that transform lines in shared memory are launched; not installed. */
#ifndef VOXFIELD_TOEPLITZ_LINES_CUH
#define VOXFIELD_TOEPLITZ_LINES_CUH

#include "backend/launch_blocks.h"
#include "toeplitz_passes.cuh"

namespace vf_toeplitz_gpu
{

enum { MOST_THREADS = 512 }; /* of a block */

/* Blocks that a multiprocessor's registers are to have room for: two, where they have so many threads. */
template <typename T, int LENGTH>
constexpr int least_blocks()
{
    return LENGTH > 256 && sizeof(T) == 4 ? 2 : 1;
}

__host__ __device__ inline int row_pitch(int length)
{
    return length + length / 16 + 1;
}

template <typename T>
__device__ number<T> *shared_memory()
{
    extern __shared__ __align__(16) unsigned char memory[];
    return reinterpret_cast<number<T> *>(memory);
}

/* A half is enough where a transform of up to two passes ends in its port; see line_place. */
inline int bytes_for(const axis_shape *shape, bool stays)
{
    return shape->plan.passes + stays <= 2 ? shape->bytes / 2 : shape->bytes;
}

template <typename Kernel, typename... Arguments>
cudaError_t launch(Kernel kernel, int64_t blocks, const axis_shape &shape, bool stays, cudaStream_t stream,
                   Arguments... arguments)
{
    const int bytes = bytes_for(&shape, stays);
    const cudaError_t error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (error != cudaSuccess)
        return error;
    kernel<<<vf_blocks_for(blocks, 1), (unsigned)(shape.lines * shape.threads), (size_t)bytes, stream>>>(arguments...);
    return cudaGetLastError();
}

} // namespace vf_toeplitz_gpu

#endif
