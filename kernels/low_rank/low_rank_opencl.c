/* The OpenCL backend: the CPU's, on a copy of the series. Gram matrices need double precision, and their eigenproblems are the
 * host's work on any device, so little is left to gain. */
#include <stdlib.h>

#include "low_rank_backend.h"

static vf_status create(vf_low_rank *plan)
{
    const char *name = plan->variant;
    plan->variant = "simd";
    const vf_status status = vf_low_rank_cpu.create(plan);
    plan->variant = name;
    return status;
}

static vf_status execute(vf_low_rank *plan, vf_queue *queue, const low_rank_task *task)
{
    const size_t bytes = (size_t)(task->grid.voxels * task->grid.frames) * vf_dtype_bytes(plan->type);
    void *series = malloc(bytes);
    low_rank_task here = *task;
    here.v = series;
    here.z = task->z ? series : NULL;
    vf_status status = series ? VF_OK
                              : vf_fail(vf_device_context(plan->device), VF_ERR_MEMORY,
                                        "low rank: not enough memory for a copy of the series");
    VF_TRY(status, vf_queue_copy(queue, series, task->v, bytes));
    VF_TRY(status, vf_queue_sync(queue));
    VF_TRY(status, vf_low_rank_cpu.execute(plan, queue, &here));
    if (task->z) {
        VF_TRY(status, vf_queue_copy(queue, task->z, series, bytes));
        VF_TRY(status, vf_queue_sync(queue));
    }
    free(series);
    return status;
}

static void destroy(vf_low_rank *plan)
{
    vf_low_rank_cpu.destroy(plan);
}

const vf_low_rank_backend vf_low_rank_opencl = {
    .kind = VF_DEVICE_OPENCL, .create = create, .execute = execute, .destroy = destroy};
