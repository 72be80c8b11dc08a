/* The kernels' backends for the CPU, the first of a computation being its default; and the list of lists. */
#include "coulomb_sum_backend.h"
#include "first_differences_backend.h"
#include "fourier_sum_backend.h"
#include "gridding_internal.h"
#include "ion_search_internal.h"
#include "kernel_backends.h"
#include "toeplitz_backend.h"

vf_backend_lists vf_kernel_backends = {vf_kernel_backends_cpu, vf_kernel_backends_cuda, NULL};

static const vf_variants toeplitz_fft = {VF_DEVICE_CPU, (const char *const[]){"fft", NULL}};
static const vf_variants toeplitz_ref = {VF_DEVICE_CPU, (const char *const[]){"ref", NULL}};

const vf_backend vf_kernel_backends_cpu[] = {
    {"the direct Coulomb sum", &vf_coulomb_cpu.variants, &vf_coulomb_cpu},
    {"the direct Coulomb sum", &vf_coulomb_ref.variants, &vf_coulomb_ref},
    {"the direct Fourier sum", &vf_fourier_cpu.variants, &vf_fourier_cpu},
    {"the direct Fourier sum", &vf_fourier_ref.variants, &vf_fourier_ref},
    {"the search for ions", &vf_ion_search_cells.variants, &vf_ion_search_cells},
    {"the search for ions", &vf_ion_search_ref.variants, &vf_ion_search_ref},
    {"NUFFT", &vf_cpu_only, &gridding_cpu},
    {"Toeplitz", &toeplitz_fft, &vf_toeplitz_cpu},
    {"Toeplitz", &toeplitz_ref, &vf_toeplitz_ref},
    {"first differences", &vf_cpu_only, &vf_differences_cpu},
    {0},
};
