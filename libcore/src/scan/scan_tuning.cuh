/* Launch shapes of scans, kept apart from the algorithm. `bytes`: the size of an element of x or y, whichever is
 * larger, plus a flag if there are segments. The rows for arch 0 serve all GPUs without rows of their own. */
#ifndef VOXFIELD_SCAN_TUNING_CUH
#define VOXFIELD_SCAN_TUNING_CUH

#include "backend/tuning.cuh"

/* clang-format off */
/* arch, bytes, nWarps, nWork, blocks per multiprocessor */
constexpr vf_tuning vf_scan_tile_tunings[] = { /* single-pass (scan_tiles.cuh) */
    { 0,  4,  8, 16, 1},
    { 0,  8,  8,  8, 1},
    { 0, 64,  8,  4, 1},
    {90,  4, 24, 16, 1}, /* NVIDIA H200 */
    {90,  8, 24,  8, 1},
    {90, 64,  8,  8, 1},
};
constexpr vf_tuning vf_scan_run_tunings[] = { /* three-kernel (scan_runs.cuh) */
    { 0,  4, 8, 16, 3},
    { 0,  8, 8,  8, 3},
    { 0, 64, 8,  4, 2},
    {90,  4, 8, 16, 4}, /* NVIDIA H200 */
    {90,  8, 8,  8, 4},
    {90, 64, 8,  4, 2},
};
/* clang-format on */

template <int bytes>
struct vf_scan_tile_tuning {
    static constexpr vf_tuning at(int arch)
    {
        return vf_find_tuning(vf_scan_tile_tunings, arch, bytes);
    }
};

template <int bytes>
struct vf_scan_run_tuning {
    static constexpr vf_tuning at(int arch)
    {
        return vf_find_tuning(vf_scan_run_tunings, arch, bytes);
    }
};

#endif
