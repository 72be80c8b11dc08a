/* Replaces libcore's .cu files in a build without CUDA: no GPU, and empty tables. */
#include "context_internal.h"
#include "copy/copy_internal.h"
#include "fft/fft_internal.h"
#include "histogram/histogram_internal.h"
#include "matrix_product/matrix_product_plan.h"
#include "neighbours/neighbours_plan.h"
#include "reduce/reduce_internal.h"
#include "reduce/segments_internal.h"
#include "scan/scan_plan.h"
#include "sort/sort_plan.h"
#include "stencil/multigrid_plan.h"
#include "stencil/stencil_plan.h"
#include "vectors/vector_internal.h"

const vf_copy_ops vf_copy_cuda = {0};
const vf_histogram_ops vf_histogram_ops_cuda = {0};
const vf_matrix_product_ops vf_matrix_product_ops_cuda = {0};
const vf_multigrid_ops vf_multigrid_ops_cuda = {0};
const vf_neighbours_ops vf_neighbours_ops_cuda = {0};
const vf_reduce_ops vf_reduce_ops_cuda = {0};
const vf_scan_ops vf_scan_ops_cuda = {0};
const vf_reduce_segments_ops vf_reduce_segments_cuda = {0};
const vf_sort_ops vf_sort_ops_tuned = {0}, vf_sort_ops_brown = {0};
const vf_stencil_ops vf_stencil_ops_cuda = {0};
const vf_vector_ops vf_vector_cuda = {0};

bool vf_built_with_cuda(void)
{
    return false;
}

int vf_cuda_device_count(const char **reason)
{
    if (reason)
        *reason = "this binary was built without CUDA";
    return 0;
}

bool vf_cuda_start(int ordinal)
{
    (void)ordinal;
    return false;
}

vf_status vf_device_init_cuda(vf_device *device, int ordinal)
{
    return vf_fail(
        device->ctx, VF_ERR_UNSUPPORTED,
        "cuda:%d: this binary was built without CUDA; use --device cpu, or build with the CUDA Toolkit installed",
        ordinal);
}

/* Never called: there is no such device. */
vf_status vf_fft_cuda_create(vf_fft *plan)
{
    return vf_fail(vf_device_context(plan->device), VF_ERR_UNSUPPORTED, "FFT: this binary was built without CUDA");
}

vf_status vf_fft_cuda_lend(vf_fft *plan, void *memory)
{
    (void)memory;
    return vf_fft_cuda_create(plan);
}

void vf_fft_cuda_destroy(vf_fft *plan)
{
    (void)plan;
}

vf_status vf_fft_cuda_execute(vf_fft *plan, vf_queue *queue, vf_fft_direction direction, void *data)
{
    (void)queue;
    (void)direction;
    (void)data;
    return vf_fft_cuda_create(plan);
}
