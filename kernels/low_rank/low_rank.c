/* The backend-independent part: checks, the division into blocks and batches, and the choice of the backend. */
#include "low_rank.h"

#include <math.h>
#include <stdlib.h>

#include "backend/registry.h"
#include "low_rank_backend.h"

static const vf_variants cpu_simd = {VF_DEVICE_CPU, vf_isa_variants};
static const vf_variants cpu_ref = {VF_DEVICE_CPU, (const char *const[]){"ref", NULL}};
static const vf_backend backends[] = {
    {&cpu_simd, &vf_low_rank_cpu},
    {&cpu_ref, &vf_low_rank_ref},
    {&vf_cuda_only, &vf_low_rank_cuda},
    {&vf_opencl_only, &vf_low_rank_opencl},
    {0},
};

/* Bytes for the Gram matrices of a batch, if one block does not need more. */
#define BATCH_BYTES ((int64_t)1 << 26)
/* Elements of the longer side that make a segment worth while. */
enum { LEAST_SEGMENT = 2048, SEGMENT_UNIT = 64 };

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static vf_status fill_grid(vf_context *ctx, const int64_t counts[4], const int64_t block[3], low_rank_grid *g)
{
    bool good = counts[3] >= 1 && counts[3] <= INT32_MAX;
    g->voxels = g->all_blocks = 1;
    g->frames = counts[3];
    for (int a = 0; good && a < 3; a++) {
        good = block[a] >= 1 && counts[a] >= 1 && counts[a] <= INT32_MAX &&
               counts[a] <= ((int64_t)1 << 50) / counts[3] / g->voxels;
        if (!good)
            break;
        g->counts[a] = counts[a];
        g->block[a] = smaller(block[a], counts[a]);
        g->blocks[a] = (counts[a] + g->block[a] - 1) / g->block[a];
        g->voxels *= counts[a];
        g->all_blocks *= g->blocks[a];
    }
    return good ? VF_OK
                : vf_fail(ctx, VF_ERR_ARGUMENT,
                          "low rank: %lld x %lld x %lld voxels and %lld frames in blocks of %lld x %lld x %lld voxels "
                          "are not supported",
                          (long long)counts[0], (long long)counts[1], (long long)counts[2], (long long)counts[3],
                          (long long)block[0], (long long)block[1], (long long)block[2]);
}

static vf_status divide(vf_low_rank *plan)
{
    const low_rank_grid *g = &plan->grid;
    const int64_t voxels = g->block[0] * g->block[1] * g->block[2];
    const int64_t shorter = smaller(voxels, g->frames), longer = larger(voxels, g->frames);
    if (shorter > VF_LOW_RANK_MOST_SIDE)
        return vf_fail(vf_device_context(plan->device), VF_ERR_ARGUMENT,
                       "low rank: blocks of %lld voxels and %lld frames; one of the two must be %d or less",
                       (long long)voxels, (long long)g->frames, VF_LOW_RANK_MOST_SIDE);
    const int64_t padded = (shorter + 7) / 8 * 8, fit = BATCH_BYTES / (16 * padded * padded);
    const int64_t segments = larger(1, smaller(longer / LEAST_SEGMENT, fit));
    const int64_t units = (longer + SEGMENT_UNIT - 1) / SEGMENT_UNIT;
    plan->side = (int)shorter;
    plan->segment = (units + segments - 1) / segments * SEGMENT_UNIT;
    plan->segments = (int)((longer + plan->segment - 1) / plan->segment);
    plan->batch = (int)larger(1, smaller(g->all_blocks, fit / plan->segments));
    return VF_OK;
}

vf_status vf_low_rank_create(vf_device *device, vf_dtype type, const int64_t counts[4], const int64_t block[3],
                             const char *variant, vf_low_rank **out)
{
    vf_context *ctx = vf_device_context(device);
    const void *table = NULL;
    *out = NULL;
    if (type != VF_C64 && type != VF_C128)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "low rank: %s is not a complex type", vf_dtype_name(type));
    vf_low_rank *plan = calloc(1, sizeof *plan);
    if (!plan)
        return vf_fail(ctx, VF_ERR_MEMORY, "low rank: not enough memory for a plan");
    plan->device = device;
    plan->type = type;
    vf_status status = fill_grid(ctx, counts, block, &plan->grid);
    VF_TRY(status, divide(plan));
    VF_TRY(status, vf_backend_choose(backends, "low rank", device, variant, &table, &plan->variant));
    plan->backend = table;
    VF_TRY(status, plan->backend->create(plan));
    if (status == VF_OK)
        *out = plan;
    else
        vf_low_rank_destroy(plan);
    return status;
}

void vf_low_rank_destroy(vf_low_rank *plan)
{
    if (plan && plan->state)
        plan->backend->destroy(plan);
    free(plan);
}

int64_t vf_low_rank_bytes(const vf_low_rank *plan)
{
    return plan->bytes;
}

static vf_status execute(vf_low_rank *plan, vf_queue *queue, const int64_t shift[3], low_rank_task *task)
{
    task->grid = plan->grid;
    for (int a = 0; a < 3; a++) {
        const int64_t n = plan->grid.counts[a], rest = shift[a] % n;
        task->grid.shift[a] = rest < 0 ? rest + n : rest;
    }
    return plan->backend->execute(plan, queue, task);
}

vf_status vf_low_rank_threshold(vf_low_rank *plan, vf_queue *queue, const int64_t shift[3], double threshold,
                                const void *v, void *z)
{
    if (!(threshold >= 0) || !isfinite(threshold) || !v || !z)
        return vf_fail(vf_device_context(plan->device), VF_ERR_ARGUMENT,
                       "low rank: a threshold of %g, which must be >= 0, or missing arrays", threshold);
    low_rank_task task = {.threshold = threshold, .v = v, .z = z};
    return execute(plan, queue, shift, &task);
}

vf_status vf_low_rank_norm(vf_low_rank *plan, vf_queue *queue, const int64_t shift[3], const void *v, double *sum)
{
    *sum = 0;
    if (!v)
        return vf_fail(vf_device_context(plan->device), VF_ERR_ARGUMENT, "low rank: the array is missing");
    low_rank_task task = {.v = v, .sum = sum};
    return execute(plan, queue, shift, &task);
}
