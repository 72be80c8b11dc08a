/* The backend-independent part: checks, copies of a plan's options, and the choice of the backend. */
#include "toeplitz.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backend/registry.h"
#include "toeplitz_backend.h"

static const vf_variants cpu_fft = {VF_DEVICE_CPU, (const char *const[]){"fft", NULL}};
static const vf_variants cpu_ref = {VF_DEVICE_CPU, (const char *const[]){"ref", NULL}};
static const vf_variants cuda_fft = {VF_DEVICE_CUDA, (const char *const[]){"fft", NULL}};
static const vf_variants opencl_fft = {VF_DEVICE_OPENCL, (const char *const[]){"fft", NULL}};
static const vf_backend backends[] = {
    {&cpu_fft, &vf_toeplitz_cpu},
    {&cpu_ref, &vf_toeplitz_ref},
    {&cuda_fft, &vf_toeplitz_cuda},
    {&opencl_fft, &vf_toeplitz_opencl},
    {0},
};

/* Limit for all segments together. It keeps the size in bytes of the doubled grids below 63 bits, far beyond any
 * machine. */
#define MOST_VOXELS ((int64_t)1 << 50)
/* The product of these limits is far below 2^51 turns, beyond which the fraction of a turn is lost. */
#define MOST_SECONDS 1e5
#define MOST_HERTZ 1e7f

static vf_status check(vf_context *ctx, const int64_t matrix[3], const vf_toeplitz_options *options)
{
    if (options->segments < 1 || (options->precision != VF_F32 && options->precision != VF_F64))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "Toeplitz: %d segments, or an unsupported precision", options->segments);
    int64_t voxels = 1;
    for (int a = 0; a < 3; a++) {
        if (!(matrix[a] >= 1 && matrix[a] <= INT32_MAX / 2 && matrix[a] <= MOST_VOXELS / options->segments / voxels))
            return vf_fail(ctx, VF_ERR_ARGUMENT, "Toeplitz: a grid of %lld x %lld x %lld voxels is not supported",
                           (long long)matrix[0], (long long)matrix[1], (long long)matrix[2]);
        voxels *= matrix[a];
    }
    if (options->cosine && !options->circulant)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "Toeplitz: a cosine matrix is a kind of circulant one");
    if (options->circulant && (options->segments > 1 || options->time || options->field))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "Toeplitz: a circulant matrix has one segment and no field");
    if (options->segments > 1 && (!options->time || !options->field))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "Toeplitz: %d segments need times and a field", options->segments);
    for (int l = 0; options->time && l < options->segments; l++)
        if (!(fabs(options->time[l]) <= MOST_SECONDS))
            return vf_fail(ctx, VF_ERR_ARGUMENT, "Toeplitz: segment %d is at %g s, beyond +-%g s", l, options->time[l],
                           MOST_SECONDS);
    for (int64_t n = 0; options->field && n < voxels; n++)
        if (!(fabsf(options->field[n]) <= MOST_HERTZ))
            return vf_fail(ctx, VF_ERR_ARGUMENT, "Toeplitz: the field at voxel %lld is %g Hz, beyond +-%g Hz",
                           (long long)n, (double)options->field[n], (double)MOST_HERTZ);
    return VF_OK;
}

static vf_status choose_backend(vf_toeplitz *plan, const char *variant)
{
    const void *backend;
    vf_status status = vf_backend_choose(backends, "Toeplitz", plan->device, variant, &backend, NULL);
    plan->backend = backend;
    if (status == VF_OK && plan->circulant && plan->backend == &vf_toeplitz_ref)
        return vf_fail(vf_device_context(plan->device), VF_ERR_UNSUPPORTED,
                       "Toeplitz: variant '%s' does not support circulant matrices", variant);
    if (status == VF_OK && plan->cosine && plan->backend != &vf_toeplitz_cpu)
        return vf_fail(vf_device_context(plan->device), VF_ERR_UNSUPPORTED,
                       "Toeplitz: only the CPU supports cosine transforms");
    return status;
}

/* Copies the times to host memory and the field to the device. */
static vf_status copy_options(vf_toeplitz *plan, const vf_toeplitz_options *options)
{
    vf_queue *queue = NULL;
    vf_array field = {.data = (void *)options->field, .count = plan->voxels, .type = VF_F32};
    if (!options->time || !options->field)
        return VF_OK;
    plan->time = malloc((size_t)plan->segments * sizeof *plan->time);
    if (!plan->time)
        return vf_fail(vf_device_context(plan->device), VF_ERR_MEMORY, "Toeplitz: not enough memory for %d times",
                       plan->segments);
    memcpy(plan->time, options->time, (size_t)plan->segments * sizeof *plan->time);
    vf_status status = vf_array_create(plan->device, VF_SPACE_DEVICE, VF_F32, plan->voxels, &plan->field);
    VF_TRY(status, vf_queue_create(plan->device, &queue));
    VF_TRY(status, vf_array_copy(queue, &plan->field, &field, plan->voxels));
    VF_TRY(status, vf_queue_sync(queue));
    vf_queue_destroy(queue);
    plan->bytes = plan->voxels * (int64_t)sizeof(float);
    return status;
}

vf_status vf_toeplitz_create(vf_device *device, const int64_t matrix[3], const vf_toeplitz_options *options,
                             vf_toeplitz **out)
{
    vf_context *ctx = vf_device_context(device);
    *out = NULL;
    vf_status status = check(ctx, matrix, options);
    if (status != VF_OK)
        return status;
    vf_toeplitz *plan = calloc(1, sizeof *plan);
    if (!plan)
        return vf_fail(ctx, VF_ERR_MEMORY, "Toeplitz: not enough memory for a plan");
    plan->device = device;
    plan->precision = options->precision;
    plan->segments = options->segments;
    plan->circulant = options->circulant;
    plan->cosine = options->cosine;
    plan->voxels = 1;
    for (int a = 0; a < 3; a++) {
        plan->matrix[a] = matrix[a];
        plan->doubled[a] = matrix[a] > 1 && !plan->circulant ? 2 * matrix[a] : matrix[a];
        plan->voxels *= matrix[a];
    }
    status = choose_backend(plan, options->variant);
    VF_TRY(status, copy_options(plan, options));
    VF_TRY(status, plan->backend->create(plan));
    if (status == VF_OK)
        *out = plan;
    else
        vf_toeplitz_destroy(plan);
    return status;
}

void vf_toeplitz_destroy(vf_toeplitz *plan)
{
    if (!plan)
        return;
    if (plan->state)
        plan->backend->destroy(plan);
    vf_array_free(&plan->field);
    free(plan->time);
    free(plan);
}

void vf_toeplitz_doubled(const vf_toeplitz *plan, int64_t doubled[3])
{
    memcpy(doubled, plan->doubled, sizeof plan->doubled);
}

int64_t vf_toeplitz_bytes(const vf_toeplitz *plan)
{
    return plan->bytes;
}

vf_status vf_toeplitz_set(vf_toeplitz *plan, vf_queue *queue, int segment, void *q)
{
    if (segment < 0 || segment >= plan->segments || !q || vf_queue_device(queue) != plan->device)
        return vf_fail(vf_device_context(plan->device), VF_ERR_ARGUMENT,
                       "Toeplitz: no segment %d of %d, no Q, or the queue belongs to another device", segment,
                       plan->segments);
    return plan->backend->set(plan, queue, segment, q);
}

vf_status vf_toeplitz_apply(vf_toeplitz *plan, vf_queue *queue, int coils, const void *maps, const void *x, void *y)
{
    if (coils < 1 || (!maps && coils != 1) || !x || !y || (x == y && !plan->cosine) ||
        vf_queue_device(queue) != plan->device)
        return vf_fail(vf_device_context(plan->device), VF_ERR_ARGUMENT,
                       "Toeplitz: %d coils%s, missing or identical vectors, or the queue belongs to another device",
                       coils, maps ? "" : " without maps");
    return plan->backend->apply(plan, queue, coils, maps, x, y);
}
