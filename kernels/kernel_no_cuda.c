/* Replaces the kernels' .cu files in a build without CUDA: empty tables of backends. */
#include "cosine_backend.h"
#include "coulomb_sum_backend.h"
#include "cutoff_sum_backend.h"
#include "differences_backend.h"
#include "ewald_backend.h"
#include "first_differences_backend.h"
#include "fourier_sum_backend.h"
#include "gridding_internal.h"
#include "ion_search_internal.h"
#include "low_rank_backend.h"
#include "toeplitz_backend.h"
#include "wavelet_backend.h"

const vf_cosine_backend vf_cosine_cuda = {0};
const vf_coulomb_backend vf_coulomb_cuda = {0};
const vf_coulomb_backend vf_coulomb_dcs = {0};
const vf_cutoff_backend vf_cutoff_cuda = {0};
const vf_cutoff_backend vf_cutoff_published = {0};
const vf_differences_backend vf_differences_cuda = {0};
const vf_ewald_backend vf_ewald_cuda = {0};
const vf_gradient_backend vf_gradient_cuda = {0};
const vf_fourier_backend vf_fourier_cuda = {0};
const gridding_backend gridding_cuda = {0};
const vf_ion_search_backend vf_ion_search_cuda = {0};
const vf_low_rank_backend vf_low_rank_cuda = {0};
const vf_toeplitz_backend vf_toeplitz_cuda = {0};
const vf_wavelet_backend vf_wavelet_cuda = {0};
