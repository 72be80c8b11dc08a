/* Launch shapes of sorts, kept apart from the algorithms. `bytes`: of a key and its value. The rows for arch 0 serve all
 * GPUs without rows of their own. */
#ifndef VOXFIELD_SORT_TUNING_CUH
#define VOXFIELD_SORT_TUNING_CUH

#include "backend/tuning.cuh"

/* clang-format off */
/* arch, bytes, nWarps, nWork, blocks per multiprocessor */
constexpr vf_tuning vf_sort_tile_tunings[] = { /* a pass of the tuned sort (sort_tiles.cuh) */
    { 0,  4,  8, 16, 2},
    { 0,  8,  8, 16, 2}, /* 32 KiB of shared memory */
    { 0, 64,  8,  8, 2},
    {90,  4, 12, 22, 3}, /* NVIDIA H200 */
    {90,  8, 16, 18, 2},
    {90, 12, 12, 20, 2},
    {90, 64, 12, 18, 2},
};
constexpr vf_tuning vf_sort_count_tunings[] = { /* its histograms (sort_counts.cuh) */
    { 0,  4,  8, 16, 6},
    { 0, 64,  8,  8, 6},
};
constexpr vf_tuning vf_sort_run_tunings[] = { /* the three kernels (sort_runs.cuh) */
    { 0, 64,  4,  8, 7},
};
/* clang-format on */

#define VF_DEFINE_SORT_TUNING(name, table)                                                                             \
    template <int bytes>                                                                                               \
    struct name {                                                                                                      \
        static constexpr vf_tuning at(int arch)                                                                        \
        {                                                                                                              \
            return vf_find_tuning(table, arch, bytes);                                                                 \
        }                                                                                                              \
    };
VF_DEFINE_SORT_TUNING(vf_sort_tile_tuning, vf_sort_tile_tunings)
VF_DEFINE_SORT_TUNING(vf_sort_count_tuning, vf_sort_count_tunings)
VF_DEFINE_SORT_TUNING(vf_sort_run_tuning, vf_sort_run_tunings)
#undef VF_DEFINE_SORT_TUNING

#endif
