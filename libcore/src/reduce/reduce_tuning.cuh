/* Launch shapes of reductions in columns, kept apart from the algorithm. `bytes`: what is read per element, from all
 * arrays together. The rows for arch 0 serve all GPUs without rows of their own: 64 bytes in flight per thread, and no
 * more registers than eight blocks of 256 threads leave. */
#ifndef VOXFIELD_REDUCE_TUNING_CUH
#define VOXFIELD_REDUCE_TUNING_CUH

#include "backend/tuning.cuh"

/* clang-format off */
constexpr vf_tuning vf_reduce_tunings[] = {
    /* arch, bytes, nWarps, nWork, blocks per multiprocessor */
    {0,  1, 8, 32, 8},
    {0,  4, 8, 16, 8},
    {0,  8, 8,  8, 8},
    {0, 16, 8,  4, 8},
    {0, 32, 8,  2, 8},
    {0, 64, 8,  1, 8},
    {90,  1, 16, 64, 4}, /* NVIDIA H200 */
    {90,  4, 16, 16, 3},
    {90,  8, 16,  4, 8},
    {90, 16, 16,  4, 8},
    {90, 32, 16,  2, 8},
    {90, 64, 16,  1, 8},
};
/* clang-format on */

template <int bytes>
struct vf_reduce_tuning {
    static constexpr vf_tuning at(int arch)
    {
        return vf_find_tuning(vf_reduce_tunings, arch, bytes);
    }
};

#endif
