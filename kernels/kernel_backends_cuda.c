/* The kernels' backends for GPUs; built where there is CUDA, else kernel_backends_no_cuda.c is. */
#include "coulomb_sum_backend.h"
#include "first_differences_backend.h"
#include "fourier_sum_backend.h"
#include "gridding_internal.h"
#include "ion_search_internal.h"
#include "kernel_backends.h"
#include "toeplitz_backend.h"

static const vf_variants toeplitz_fft = {VF_DEVICE_CUDA, (const char *const[]){"fft", NULL}};

const vf_backend vf_kernel_backends_cuda[] = {
    {"the direct Coulomb sum", &vf_coulomb_cuda.variants, &vf_coulomb_cuda},
    {"the direct Fourier sum", &vf_fourier_cuda.variants, &vf_fourier_cuda},
    {"the search for ions", &vf_ion_search_cuda.variants, &vf_ion_search_cuda},
    {"NUFFT", &vf_cuda_only, &gridding_cuda},
    {"Toeplitz", &toeplitz_fft, &vf_toeplitz_cuda},
    {"first differences", &vf_cuda_only, &vf_differences_cuda},
    {0},
};
