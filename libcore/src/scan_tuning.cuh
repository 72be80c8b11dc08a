/* Launch shapes of scans: data, apart from the algorithm. `bytes` are those of an element of x or of y, whichever is
 * larger, and of a flag if there are segments. The rows for arch 0 are for all GPUs that have none of their own. */
#ifndef VOXFIELD_SCAN_TUNING_CUH
#define VOXFIELD_SCAN_TUNING_CUH

#include "tuning.cuh"

/* clang-format off */
constexpr vf_tuning vf_scan_tunings[] = {
    /* arch, bytes, nWarps, nWork, blocks a multiprocessor */
    {0,  4, 8, 16, 3},
    {0,  8, 8,  8, 4},
    {0, 64, 8,  8, 3},
};
/* clang-format on */

template <int bytes>
struct vf_scan_tuning {
    static constexpr vf_tuning at(int arch)
    {
        return vf_find_tuning(vf_scan_tunings, arch, bytes);
    }
};

#endif
