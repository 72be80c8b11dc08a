/* Launches kernels that transform lines in shared memory. Not installed. */
#ifndef VOXFIELD_TOEPLITZ_LINES_CUH
#define VOXFIELD_TOEPLITZ_LINES_CUH

#include "backend/launch_blocks.h"
#include "toeplitz_passes.cuh"

namespace vf_toeplitz_gpu
{

enum { MOST_THREADS = 512 }; /* of a thread block */

/* The most threads of a block, and the blocks of a multiprocessor that the compiler leaves registers for. Lines of these
 * lengths take at most 256 threads in single precision; one or two such blocks would wait for memory most of the time. */
template <typename T, int LENGTH>
struct block_limits {
    enum { SHORT = sizeof(T) == 4 && (LENGTH == 64 || LENGTH == 128 || LENGTH == 256) };
    enum { THREADS = SHORT ? 256 : MOST_THREADS, BLOCKS = SHORT ? 3 : LENGTH > 256 && sizeof(T) == 4 ? 2 : 1 };
};

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

/* Half of the memory is enough for up to two passes that end in the port, or one if the line stays in shared memory
 * between two transforms; see line_place. */
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
