/* The backend-independent part: checks, the copies of samples and voxels, and the choice of the backend. */
#include "fourier_sum.h"

#include <math.h>
#include <stdlib.h>

#include "backend/registry.h"
#include "fourier_sum_backend.h"

static const vf_backend backends[] = {
    {&vf_fourier_cpu.variants, &vf_fourier_cpu},
    {&vf_fourier_ref.variants, &vf_fourier_ref},
    {&vf_fourier_cuda.variants, &vf_fourier_cuda},
    {&vf_fourier_opencl.variants, &vf_fourier_opencl},
    {0},
};

/* The largest |t f|, in turns, that single precision can tell from the nearest integer. */
#define MAX_OFF_RESONANCE 0x1p21

const char *vf_fourier_variant_name(vf_device_kind kind, int index)
{
    return vf_backend_variant(backends, kind, index);
}

static vf_status check_grid(vf_context *ctx, const vf_grid *grid)
{
    if (!vf_grid_valid(grid))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "Fourier sum: the grid's counts or spacing are not positive and finite");
    for (int a = 0; a < 3; a++)
        if (!(fabs(grid->origin[a]) <= VF_FOURIER_MAX_R) ||
            !(fabs(grid->origin[a] + grid->spacing[a] * (double)grid->counts[a]) <= VF_FOURIER_MAX_R))
            return vf_fail(ctx, VF_ERR_ARGUMENT, "Fourier sum: the grid reaches beyond +-%g fields of view",
                           VF_FOURIER_MAX_R);
    return VF_OK;
}

/* Rejects input that would make the sums meaningless; the limits are in the header. */
static vf_status check(vf_context *ctx, const vf_fourier_samples *samples, const vf_fourier_voxels *voxels,
                       int most_batch, const vf_fourier_options *options)
{
    vf_status status = voxels->grid ? check_grid(ctx, voxels->grid) : VF_OK;
    if (status != VF_OK)
        return status;
    if (samples->count < 0 || (samples->count > 0 && !samples->k))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "Fourier sum: %lld samples, or no k", (long long)samples->count);
    if (!voxels->grid && (voxels->count < 0 || (voxels->count > 0 && !voxels->positions)))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "Fourier sum: %lld voxels, or no positions", (long long)voxels->count);
    if (most_batch < 1)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "Fourier sum: batches of %d; at least 1 is needed", most_batch);
    if (options->precision != VF_F32 && options->precision != VF_F64)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "Fourier sum: the precision must be VF_F32 or VF_F64");
    for (int64_t m = 0; m < samples->count; m++) {
        const float *k = samples->k + 3 * m;
        if (!(fabsf(k[0]) <= (float)VF_FOURIER_MAX_K) || !(fabsf(k[1]) <= (float)VF_FOURIER_MAX_K) ||
            !(fabsf(k[2]) <= (float)VF_FOURIER_MAX_K))
            return vf_fail(ctx, VF_ERR_ARGUMENT,
                           "Fourier sum: sample %lld at k = (%g, %g, %g) is out of range (+-%g cycles per field of "
                           "view)",
                           (long long)m + 1, (double)k[0], (double)k[1], (double)k[2], VF_FOURIER_MAX_K);
    }
    for (int64_t n = 0; !voxels->grid && n < voxels->count; n++) {
        const double *r = voxels->positions + 3 * n;
        if (!(fabs(r[0]) <= VF_FOURIER_MAX_R) || !(fabs(r[1]) <= VF_FOURIER_MAX_R) || !(fabs(r[2]) <= VF_FOURIER_MAX_R))
            return vf_fail(ctx, VF_ERR_ARGUMENT,
                           "Fourier sum: voxel %lld at (%g, %g, %g) is out of range (+-%g fields of view)",
                           (long long)n + 1, r[0], r[1], r[2], VF_FOURIER_MAX_R);
    }
    return VF_OK;
}

/* The largest magnitude of `count` numbers; NaN if one is not finite. */
static double largest(const float *values, int64_t count)
{
    double most = 0;
    for (int64_t i = 0; i < count; i++) {
        double size = fabs((double)values[i]);
        if (!isfinite(size))
            return NAN;
        most = size > most ? size : most;
    }
    return most;
}

/* Fails if t f is out of range. */
static vf_status check_off_resonance(const vf_fourier *plan, const float *time, const float *field)
{
    double t = largest(time, plan->samples), f = largest(field, plan->voxels);
    if (!(t * f <= MAX_OFF_RESONANCE))
        return vf_fail(
            vf_device_context(plan->device), VF_ERR_ARGUMENT,
            "Fourier sum: times of up to %g s and a field map of up to %g Hz are out of range (their product "
            "may be %g at most)",
            t, f, MAX_OFF_RESONANCE);
    return VF_OK;
}

static double *allocate(const vf_fourier *plan, int64_t count, int rows)
{
    double *block =
        (uint64_t)count <= SIZE_MAX / 64 ? malloc((size_t)(count ? count : 1) * (size_t)rows * sizeof *block) : NULL;
    if (!block)
        (void)vf_fail(vf_device_context(plan->device), VF_ERR_MEMORY, "not enough memory for %lld samples or voxels",
                      (long long)count);
    return block;
}

static vf_status copy_samples(vf_fourier *plan, const vf_fourier_samples *samples)
{
    int64_t n = plan->samples;
    double *block = plan->sample_block = allocate(plan, n, 4);
    if (!block)
        return VF_ERR_MEMORY;
    for (int64_t m = 0; m < n; m++) {
        for (int a = 0; a < 3; a++)
            block[a * n + m] = (double)samples->k[3 * m + a];
        block[3 * n + m] = plan->has_field ? (double)samples->time[m] : 0;
    }
    plan->k = (vf_fourier_points){block, block + n, block + 2 * n, plan->has_field ? block + 3 * n : NULL};
    return VF_OK;
}

static vf_status copy_voxels(vf_fourier *plan, const vf_fourier_voxels *voxels)
{
    int64_t n = plan->voxels;
    if (plan->has_grid && !plan->has_field)
        return VF_OK;
    int rows = plan->has_grid ? 0 : 3;
    double *block = plan->voxel_block = allocate(plan, n, rows + plan->has_field);
    if (!block)
        return VF_ERR_MEMORY;
    for (int64_t v = 0; v < n; v++) {
        for (int a = 0; a < rows; a++)
            block[a * n + v] = voxels->positions[3 * v + a];
        if (plan->has_field)
            block[rows * n + v] = (double)voxels->field[v];
    }
    if (!plan->has_grid)
        plan->r = (vf_fourier_points){block, block + n, block + 2 * n, NULL};
    plan->r.w = plan->has_field ? block + rows * n : NULL;
    return VF_OK;
}

vf_status vf_fourier_create(vf_device *device, const vf_fourier_samples *samples, const vf_fourier_voxels *voxels,
                            int most_batch, const vf_fourier_options *options, vf_fourier **out)
{
    vf_context *ctx = vf_device_context(device);
    *out = NULL;
    vf_status status = check(ctx, samples, voxels, most_batch, options);
    if (status != VF_OK)
        return status;
    vf_fourier *plan = calloc(1, sizeof *plan);
    if (!plan)
        return vf_fail(ctx, VF_ERR_MEMORY, "not enough memory for a plan");
    plan->device = device;
    plan->options = *options;
    plan->most_batch = most_batch;
    plan->samples = samples->count;
    plan->has_grid = voxels->grid != NULL;
    if (plan->has_grid)
        plan->grid = *voxels->grid;
    plan->voxels = plan->has_grid ? vf_grid_points(&plan->grid) : voxels->count;
    plan->has_field = voxels->field && samples->time;
    const void *backend;
    status = vf_backend_choose(backends, "the direct Fourier sum", device, options->variant, &backend, &plan->variant);
    plan->backend = backend;
    plan->options.variant = NULL; /* the caller's string may not outlive this call */
    if (status == VF_OK && plan->has_field)
        status = check_off_resonance(plan, samples->time, voxels->field);
    VF_TRY(status, copy_samples(plan, samples));
    VF_TRY(status, copy_voxels(plan, voxels));
    VF_TRY(status, plan->backend->create(plan));
    if (status == VF_OK)
        *out = plan;
    else
        vf_fourier_destroy(plan);
    return status;
}

/* Whether a call's arguments fit the plan. */
static vf_status check_call(const vf_fourier *plan, const vf_queue *queue, int batch)
{
    if (batch < 1 || batch > plan->most_batch || vf_queue_device(queue) != plan->device)
        return vf_fail(vf_device_context(plan->device), VF_ERR_ARGUMENT,
                       "Fourier sum: a batch of %d (the plan is for 1 to %d), or the queue belongs to another device",
                       batch, plan->most_batch);
    return VF_OK;
}

vf_status vf_fourier_adjoint(const vf_fourier *plan, vf_queue *queue, int batch, const void *c, int64_t first,
                             int64_t count, void *y)
{
    vf_status status = check_call(plan, queue, batch);
    if (status != VF_OK)
        return status;
    if (first < 0 || count < 0 || first > plan->voxels - count)
        return vf_fail(vf_device_context(plan->device), VF_ERR_ARGUMENT,
                       "Fourier sum: voxels %lld to %lld are not all among the plan's %lld", (long long)first,
                       (long long)(first + count), (long long)plan->voxels);
    return count == 0 ? VF_OK : plan->backend->adjoint(plan, queue, batch, c, first, count, y);
}

vf_status vf_fourier_forward(const vf_fourier *plan, vf_queue *queue, int batch, const void *x, void *c)
{
    vf_status status = check_call(plan, queue, batch);
    return status != VF_OK || plan->samples == 0 ? status : plan->backend->forward(plan, queue, batch, x, c);
}

void vf_fourier_destroy(vf_fourier *plan)
{
    if (!plan)
        return;
    if (plan->state)
        plan->backend->destroy(plan);
    free(plan->sample_block);
    free(plan->voxel_block);
    free(plan);
}

const char *vf_fourier_variant(const vf_fourier *plan)
{
    return plan->variant;
}
