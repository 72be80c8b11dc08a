/* Events for warps of a thread block that have different roles and wait for each other. A warp that arrives goes on; a
 * warp that waits goes on when all expected warps have arrived. Not installed.
 *
 * An event happens repeatedly, in phases 0, 1, ... A waiting warp says only whether its phase is even or odd, so a
 * phase must not end before all warps have seen the one before it. What was written before arriving is visible after
 * waiting. From compute capability 8.0 on, events are the mbarrier objects of the PTX ISA; before, counters in shared
 * memory. */
#ifndef VOXFIELD_BLOCK_EVENTS_CUH
#define VOXFIELD_BLOCK_EVENTS_CUH

#include "access.cuh"

struct alignas(8) vf_event {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
    unsigned long long barrier;
#else
    unsigned expected, arrived, phase;
#endif

    /* Called by one thread, before a __syncthreads. `warps`: how many arrive in each phase. */
    __device__ void init(unsigned warps);
    /* Called by a whole warp. */
    __device__ void arrive();
    __device__ void wait(bool odd);
};

#ifdef __CUDA_ARCH__
#if __CUDA_ARCH__ >= 800
__device__ inline void vf_event::init(unsigned warps)
{
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"((unsigned)__cvta_generic_to_shared(&barrier)), "r"(warps)
                 : "memory");
}

__device__ inline void vf_event::arrive()
{
    __syncwarp();
    if (threadIdx.x % VF_WARP == 0)
        asm volatile("{\n\t.reg .b64 state;\n\tmbarrier.arrive.shared.b64 state, [%0];\n\t}" ::"r"(
                         (unsigned)__cvta_generic_to_shared(&barrier))
                     : "memory");
}

__device__ inline void vf_event::wait(bool odd)
{
    const unsigned address = (unsigned)__cvta_generic_to_shared(&barrier);
    unsigned is_over;
    do
        asm volatile("{\n\t"
                     ".reg .pred over;\n\t"
#if __CUDA_ARCH__ >= 900
                     "mbarrier.try_wait.parity.shared.b64 over, [%1], %2;\n\t"
#else
                     "mbarrier.test_wait.parity.shared.b64 over, [%1], %2;\n\t"
#endif
                     "selp.u32 %0, 1, 0, over;\n\t"
                     "}"
                     : "=r"(is_over)
                     : "r"(address), "r"((unsigned)odd)
                     : "memory");
    while (!is_over);
    __syncwarp();
}
#else
__device__ inline void vf_event::init(unsigned warps)
{
    expected = warps;
    arrived = phase = 0;
}

__device__ inline void vf_event::arrive()
{
    __syncwarp();
    if (threadIdx.x % VF_WARP == 0) {
        __threadfence_block();
        if (atomicAdd(&arrived, 1) + 1 == expected) {
            arrived = 0;
            __threadfence_block();
            atomicAdd(&phase, 1);
        }
    }
}

__device__ inline void vf_event::wait(bool odd)
{
    while ((*(volatile unsigned *)&phase & 1) == (unsigned)odd)
        ;
    __threadfence_block();
    __syncwarp();
}
#endif
#endif

#endif
