/* What programs that time shapes of kernels on a GPU share: errors, memory, times between events. */
#ifndef TUNE_GPU_CUH
#define TUNE_GPU_CUH

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include <cuda_runtime.h>

inline cudaStream_t stream;
inline cudaEvent_t began, ended;

inline void need(cudaError_t error)
{
    if (error == cudaSuccess)
        return;
    std::printf("%s\n", cudaGetErrorString(error));
    std::exit(1);
}

inline void tune_begin()
{
    need(cudaStreamCreate(&stream));
    need(cudaEventCreate(&began));
    need(cudaEventCreate(&ended));
}

inline void *allocate(size_t bytes)
{
    void *p = nullptr;
    need(cudaMalloc(&p, bytes + 8));
    return p;
}

/* The least seconds of some runs, after one that does not count. */
template <typename Run>
double time_of(int runs, const Run &run)
{
    double least = 1e9;
    for (int r = -1; r < runs; r++) {
        float milliseconds = 0;
        need(cudaEventRecord(began, stream));
        run();
        need(cudaEventRecord(ended, stream));
        need(cudaEventSynchronize(ended));
        need(cudaEventElapsedTime(&milliseconds, began, ended));
        if (r >= 0 && 1e-3 * milliseconds < least)
            least = 1e-3 * milliseconds;
    }
    return least;
}

/* Random bits, different for each i (splitmix64). */
__device__ inline uint64_t random_bits_of(int64_t i)
{
    uint64_t z = (uint64_t)(i + 1) * 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

#endif
