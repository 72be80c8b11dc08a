/* libcore's backends for GPUs; built where there is CUDA, else core_backends_no_cuda.c is. */
#include "copy/copy_internal.h"
#include "fft/fft_internal.h"
#include "reduce/reduce_internal.h"
#include "registry.h"
#include "scan/scan_plan.h"
#include "sort/sort_internal.h"
#include "vectors/vector_internal.h"

static const vf_fft_ops vf_fft_cuda = {vf_fft_cuda_create, vf_fft_cuda_destroy, vf_fft_cuda_execute};

const vf_backend vf_core_backends_cuda[] = {
    {"a copy", &vf_cuda_only, &vf_copy_cuda},
    {"a reduction", &vf_cuda_only, &vf_reduce_ops_cuda},
    {"the scan", &vf_scan_ops_cuda.variants, &vf_scan_ops_cuda},
    {"a sort", &vf_cuda_only, &vf_sort_cuda},
    {"a vector", &vf_cuda_only, &vf_vector_cuda},
    {"FFT", &vf_cuda_only, &vf_fft_cuda},
    {0},
};
