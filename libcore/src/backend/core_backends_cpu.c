/* libcore's backends for the CPU. The first of a computation is its default. */
#include "copy/copy_internal.h"
#include "fft/fft_internal.h"
#include "reduce/reduce_internal.h"
#include "registry.h"
#include "scan/scan_plan.h"
#include "sort/sort_internal.h"
#include "vectors/vector_internal.h"

const vf_backend vf_core_backends_cpu[] = {
    {"a copy", &vf_cpu_only, &vf_copy_cpu},
    {"a reduction", &vf_cpu_only, &vf_reduce_ops_cpu},
    {"the scan", &vf_scan_ops_cpu.variants, &vf_scan_ops_cpu},
    {"the scan", &vf_scan_ops_ref.variants, &vf_scan_ops_ref},
    {"a sort", &vf_cpu_only, &vf_sort_cpu},
    {"a vector", &vf_cpu_only, &vf_vector_cpu},
    {"FFT", &vf_cpu_only, &vf_fft_cpu},
    {0},
};
