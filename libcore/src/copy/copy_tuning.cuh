/* Launch shapes of copies on a GPU, by compute capability and size of a word or an element. They are kept apart from
 * the algorithm; tuning.cuh explains the rows. Not installed. */
#ifndef VOXFIELD_COPY_TUNING_CUH
#define VOXFIELD_COPY_TUNING_CUH

#include "backend/tuning.cuh"

/* clang-format off */
/* arch, bytes, nWarps, nWork; no kernel is persistent */
constexpr vf_tuning vf_copy_tunings[] = { /* words moved as they are */
    {0, 4, 8, 8, 0},
    {0, 16, 8, 4, 0},
    {90, 4, 4, 4, 0}, /* NVIDIA H200 */
    {90, 16, 4, 1, 0},
};
constexpr vf_tuning vf_shifted_tunings[] = { /* words of 4 bytes, each combined from two */
    {0, 4, 8, 8, 0},
};
constexpr vf_tuning vf_fill_tunings[] = {
    {0, 16, 8, 4, 0},
};
constexpr vf_tuning vf_element_tunings[] = { /* elements of a gather, a scatter and a box */
    {0, 16, 8, 4, 0},
};
/* clang-format on */

template <int bytes>
struct vf_copy_tuning {
    static constexpr vf_tuning at(int arch)
    {
        return vf_find_tuning(vf_copy_tunings, arch, bytes);
    }
};

struct vf_shifted_tuning {
    static constexpr vf_tuning at(int arch)
    {
        return vf_find_tuning(vf_shifted_tunings, arch, 4);
    }
};

struct vf_fill_tuning {
    static constexpr vf_tuning at(int arch)
    {
        return vf_find_tuning(vf_fill_tunings, arch, 16);
    }
};

template <int bytes>
struct vf_element_tuning {
    static constexpr vf_tuning at(int arch)
    {
        return vf_find_tuning(vf_element_tunings, arch, bytes);
    }
};

#endif
