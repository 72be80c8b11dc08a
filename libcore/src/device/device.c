#include "voxfield/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arguments.h"
#include "context_internal.h"

static const struct {
    const char *name;
    size_t bytes;
} types[] = {[VF_F32] = {"VF_F32", 4}, [VF_F64] = {"VF_F64", 8}, [VF_C64] = {"VF_C64", 8}, [VF_C128] = {"VF_C128", 16},
             [VF_I32] = {"VF_I32", 4}, [VF_I64] = {"VF_I64", 8}, [VF_U8] = {"VF_U8", 1}};

static bool known_type(vf_dtype type)
{
    return (unsigned)type < sizeof types / sizeof *types;
}

size_t vf_dtype_bytes(vf_dtype type)
{
    return known_type(type) ? types[type].bytes : 0;
}

const char *vf_dtype_name(vf_dtype type)
{
    return known_type(type) ? types[type].name : "VF_UNKNOWN";
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

bool vf_device_watched(const vf_device *device)
{
    return device->watched;
}

const char *vf_device_name(const vf_device *device)
{
    return device->name;
}

const char *vf_device_traits(const vf_device *device)
{
    return device->traits;
}

int vf_device_ordinal(const vf_device *device)
{
    return device->ordinal;
}

bool vf_device_is_host(const vf_device *device)
{
    return device->kind == VF_DEVICE_CPU;
}

static char no_memory[] = "not enough memory for the reason";

void vf_device_give_up(vf_device *device, const char *why)
{
    char *reason = strdup(why), *none = NULL;
    if (!reason)
        reason = no_memory;
    if (__atomic_compare_exchange_n(&device->failure, &none, reason, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        vf_warn(device->ctx, "%s is dropped; the other devices take over: %s", device->spec, why);
    else if (reason != no_memory)
        free(reason);
}

void vf_device_forget(vf_device *devices, int count)
{
    for (int d = 0; d < count; d++)
        if (devices[d].failure != no_memory)
            free(devices[d].failure);
}

const char *vf_device_failure(const vf_device *device)
{
    return __atomic_load_n(&device->failure, __ATOMIC_ACQUIRE);
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
        return vf_fail(device->ctx, VF_ERR_MEMORY, "not enough memory for a queue");
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

vf_status vf_queue_of_stream(vf_device *device, void *stream, vf_queue **out)
{
    *out = NULL;
    if (device->kind != VF_DEVICE_CUDA)
        return vf_fail(device->ctx, VF_ERR_UNSUPPORTED, "%s: only CUDA devices take work of a caller's stream",
                       device->spec);
    vf_queue *queue = calloc(1, sizeof *queue);
    if (!queue)
        return vf_fail(device->ctx, VF_ERR_MEMORY, "not enough memory for a queue");
    queue->device = device;
    queue->native = stream;
    queue->borrowed = true;
    pthread_mutex_init(&queue->sums.lock, NULL);
    *out = queue;
    return VF_OK;
}

void vf_queue_destroy(vf_queue *queue)
{
    if (!queue)
        return;
    if (!queue->borrowed)
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
        return vf_fail(device->ctx, VF_ERR_INTERNAL, "queues of different devices (%s, %s) cannot be ordered",
                       device->spec, before->device->spec);
    return device->ops->queue_after(device, queue->native, before->native);
}

vf_status vf_array_create(vf_device *device, vf_space space, vf_dtype type, int64_t count, vf_array *out)
{
    *out = (vf_array){0};
    vf_status status = vf_check_length(device->ctx, "an array", type, count);
    void *data = NULL;
    if (status == VF_OK && count > 0)
        status = device->ops->allocate(device, space, (size_t)count * vf_dtype_bytes(type), &data);
    if (status != VF_OK)
        return status;
    *out = (vf_array){.data = data, .count = count, .type = type, .space = space, .device = device};
    return VF_OK;
}

void vf_array_free(vf_array *array)
{
    if (array->data)
        array->device->ops->release(array->device, array->space, array->data);
    *array = (vf_array){0};
}

void *vf_offset(const vf_device *device, const void *data, vf_dtype type, int64_t first)
{
    const size_t bytes = (size_t)first * vf_dtype_bytes(type);
    if (!data)
        return NULL;
    return device->offset ? device->offset(device, data, bytes) : (char *)data + bytes;
}

void *vf_array_at(const vf_array *array, int64_t first)
{
    if (array->space == VF_SPACE_DEVICE)
        return vf_offset(array->device, array->data, array->type, first);
    return array->data ? (char *)array->data + (size_t)first * vf_dtype_bytes(array->type) : NULL;
}

/* A copy between host memory and a device in a queue of that device, and waits; `queue` serves if it is one. */
static vf_status copy_and_wait(vf_queue *queue, vf_device *device, void *dst, const void *src, size_t bytes)
{
    vf_queue *own = NULL;
    vf_status status = device == queue->device ? VF_OK : vf_queue_create(device, &own);
    VF_TRY(status, vf_queue_copy(own ? own : queue, dst, src, bytes));
    VF_TRY(status, vf_queue_sync(own ? own : queue));
    vf_queue_destroy(own);
    return status;
}

/* Between devices of different kinds, through host memory: no kind can address another's. Blocking. */
static vf_status copy_between_kinds(vf_queue *queue, vf_array *dst, const vf_array *src, size_t bytes)
{
    if (vf_device_is_host(dst->device))
        return copy_and_wait(queue, src->device, dst->data, src->data, bytes);
    if (vf_device_is_host(src->device))
        return copy_and_wait(queue, dst->device, dst->data, src->data, bytes);
    void *between = malloc(bytes);
    vf_status status =
        between ? VF_OK : vf_fail(queue->device->ctx, VF_ERR_MEMORY, "no memory for a copy of %zu bytes", bytes);
    VF_TRY(status, copy_and_wait(queue, src->device, between, src->data, bytes));
    VF_TRY(status, copy_and_wait(queue, dst->device, dst->data, between, bytes));
    free(between);
    return status;
}

vf_status vf_array_copy(vf_queue *queue, vf_array *dst, const vf_array *src, int64_t count)
{
    vf_device *device = queue->device;
    if (dst->type != src->type || count < 0 || count > dst->count || count > src->count)
        return vf_fail(device->ctx, VF_ERR_INTERNAL, "array copy: types or sizes do not match (%lld of %lld to %lld)",
                       (long long)count, (long long)src->count, (long long)dst->count);
    if (count == 0)
        return VF_OK;
    const size_t bytes = (size_t)count * vf_dtype_bytes(src->type);
    if (src->space == VF_SPACE_DEVICE && dst->space == VF_SPACE_DEVICE && src->device && dst->device &&
        src->device->kind != dst->device->kind)
        return copy_between_kinds(queue, dst, src, bytes);
    const bool to_peer = src->device == device;
    vf_device *peer = to_peer ? dst->device : src->device;
    if (src->space == VF_SPACE_DEVICE && dst->space == VF_SPACE_DEVICE && peer && peer != device &&
        peer->kind == device->kind && device->ops->copy_peer)
        return device->ops->copy_peer(device, queue->native, dst->data, src->data, bytes, peer, to_peer);
    return device->ops->copy(device, queue->native, dst->data, src->data, bytes);
}

vf_status vf_queue_copy(vf_queue *queue, void *dst, const void *src, size_t bytes)
{
    return bytes ? queue->device->ops->copy(queue->device, queue->native, dst, src, bytes) : VF_OK;
}
