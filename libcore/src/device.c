#include "voxfield/device.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "context_internal.h"

size_t vf_dtype_bytes(vf_dtype type)
{
    static const size_t bytes[] = {
        [VF_F32] = 4, [VF_F64] = 8, [VF_C64] = 8, [VF_C128] = 16, [VF_I32] = 4, [VF_I64] = 8, [VF_U8] = 1};
    return bytes[type];
}

vf_device_kind vf_device_get_kind(const vf_device *device)
{
    return device->kind;
}

vf_context *vf_device_context(const vf_device *device)
{
    return device->ctx;
}

const char *vf_device_spec(const vf_device *device)
{
    return device->spec;
}

const char *vf_device_name(const vf_device *device)
{
    return device->name;
}

int vf_device_ordinal(const vf_device *device)
{
    return device->ordinal;
}

bool vf_device_is_host(const vf_device *device)
{
    return device->kind == VF_DEVICE_CPU;
}

vf_status vf_device_memory(vf_device *device, uint64_t *free_bytes, uint64_t *total_bytes)
{
    return device->ops->memory(device, free_bytes, total_bytes);
}

vf_status vf_queue_create(vf_device *device, vf_queue **out)
{
    *out = NULL;
    vf_queue *queue = calloc(1, sizeof *queue);
    if (!queue)
        return vf_fail(device->ctx, VF_ERR_MEMORY, "no memory for a queue");
    queue->device = device;
    vf_status status = device->ops->queue_create(device, &queue->native);
    if (status != VF_OK) {
        free(queue);
        return status;
    }
    pthread_mutex_init(&queue->sums.lock, NULL);
    *out = queue;
    return VF_OK;
}

void vf_queue_destroy(vf_queue *queue)
{
    if (!queue)
        return;
    queue->device->ops->queue_destroy(queue->device, queue->native);
    if (queue->sums.data)
        queue->sums.release(queue->sums.data);
    pthread_mutex_destroy(&queue->sums.lock);
    free(queue);
}

vf_device *vf_queue_device(const vf_queue *queue)
{
    return queue->device;
}

void *vf_queue_native(const vf_queue *queue)
{
    return queue->native;
}

vf_status vf_queue_sync(vf_queue *queue)
{
    return queue->device->ops->queue_sync(queue->device, queue->native);
}

vf_status vf_queue_after(vf_queue *queue, vf_queue *before)
{
    vf_device *device = queue->device;
    if (before->device != device)
        return vf_fail(device->ctx, VF_ERR_INTERNAL, "queues of %s and %s cannot be put in order", device->spec,
                       before->device->spec);
    return device->ops->queue_after(device, queue->native, before->native);
}

vf_status vf_array_create(vf_device *device, vf_space space, vf_dtype type, int64_t count, vf_array *out)
{
    size_t bytes;
    *out = (vf_array){0};
    if (count < 0 || __builtin_mul_overflow((size_t)count, vf_dtype_bytes(type), &bytes))
        return vf_fail(device->ctx, VF_ERR_ARGUMENT, "an array of %lld elements is not possible", (long long)count);
    void *data = NULL;
    if (bytes > 0) {
        vf_status status = device->ops->allocate(device, space, bytes, &data);
        if (status != VF_OK)
            return status;
    }
    *out = (vf_array){.data = data, .count = count, .type = type, .space = space, .device = device};
    return VF_OK;
}

void vf_array_free(vf_array *array)
{
    if (array->data)
        array->device->ops->release(array->device, array->space, array->data);
    *array = (vf_array){0};
}

vf_status vf_array_copy(vf_queue *queue, vf_array *dst, const vf_array *src, int64_t count)
{
    vf_device *device = queue->device;
    if (dst->type != src->type || count < 0 || count > dst->count || count > src->count)
        return vf_fail(device->ctx, VF_ERR_INTERNAL, "array copy: types or sizes do not fit (%lld of %lld to %lld)",
                       (long long)count, (long long)src->count, (long long)dst->count);
    if (count == 0)
        return VF_OK;
    return device->ops->copy(device, queue->native, dst->data, src->data, (size_t)count * vf_dtype_bytes(src->type));
}

vf_status vf_queue_copy(vf_queue *queue, void *dst, const void *src, size_t bytes)
{
    return bytes ? queue->device->ops->copy(queue->device, queue->native, dst, src, bytes) : VF_OK;
}

vf_status vf_device_choose(vf_context *ctx, double cpu_seconds, double gpu_seconds, char *why, size_t why_size)
{
    vf_status status = vf_context_set_devices(ctx, "cpu");
    if (status != VF_OK)
        return status;
    if (!vf_built_with_cuda()) {
        snprintf(why, why_size, "this binary was built without CUDA");
        return VF_OK;
    }
    if (cpu_seconds <= gpu_seconds + VF_CUDA_START_SECONDS) {
        snprintf(why, why_size, "about %.2g s of work on the CPU, less than the %.1f s it takes to start a GPU",
                 cpu_seconds, VF_CUDA_START_SECONDS);
        return VF_OK;
    }
    const char *reason = NULL;
    int count = vf_cuda_device_count(&reason);
    if (count == 0) {
        snprintf(why, why_size, "no GPU: %s", reason);
        return VF_OK;
    }
    /* Each further GPU takes as long to start as the first: worth it while each has at least that much to do. */
    double worth = ceil(gpu_seconds / VF_CUDA_START_SECONDS);
    if (worth < count)
        count = worth > 1 ? (int)worth : 1;
    char spec[8 + 5 * VF_MAX_DEVICES] = "cuda:0";
    size_t used = strlen(spec);
    for (int i = 1; i < count && i < VF_MAX_DEVICES; i++)
        used += (size_t)snprintf(spec + used, sizeof spec - used, ",%d", i);
    status = vf_context_set_devices(ctx, spec);
    snprintf(why, why_size, "about %.2g s of work on the CPU, %.2g s on a GPU after %.1f s to start it", cpu_seconds,
             gpu_seconds / count, VF_CUDA_START_SECONDS);
    return status;
}

#ifndef VF_HAVE_CUDA
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

vf_status vf_device_init_cuda(vf_device *device, int ordinal)
{
    return vf_fail(
        device->ctx, VF_ERR_UNSUPPORTED,
        "cuda:%d: this binary was built without CUDA; use --device cpu, or build with the CUDA Toolkit installed",
        ordinal);
}
#endif
