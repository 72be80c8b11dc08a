/* What libcore's own files know of a context and a device; not installed. */
#ifndef VOXFIELD_CONTEXT_INTERNAL_H
#define VOXFIELD_CONTEXT_INTERNAL_H

#include <pthread.h>

#include "voxfield/context.h"
#include "voxfield/device.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { VF_MAX_DEVICES = 64 };

/* What a device must be able to do. One table a kind of device. Memory sizes in bytes. */
typedef struct vf_device_ops {
    vf_status (*memory)(vf_device *device, uint64_t *free_bytes, uint64_t *total_bytes);
    vf_status (*allocate)(vf_device *device, vf_space space, size_t bytes, void **out);
    void (*release)(vf_device *device, vf_space space, void *data);
    vf_status (*queue_create)(vf_device *device, void **native);
    void (*queue_destroy)(vf_device *device, void *native);
    vf_status (*queue_sync)(vf_device *device, void *native);
    vf_status (*queue_after)(vf_device *device, void *native, void *before);
    vf_status (*copy)(vf_device *device, void *native, void *dst, const void *src, size_t bytes);
} vf_device_ops;

struct vf_device {
    vf_context *ctx;
    const vf_device_ops *ops;
    vf_device_kind kind;
    int ordinal;
    char spec[24];
    char name[256];
};

struct vf_queue {
    vf_device *device;
    void *native;
    /* What the sums of vectors on a GPU keep here: made by the first, freed with the queue. */
    struct {
        pthread_mutex_t lock; /* held while a sum is on its way */
        void *data;
        void (*release)(void *data);
    } sums;
};

/* Fills `device` (ctx already set). */
void vf_device_init_cpu(vf_device *device);
VF_MUST_CHECK vf_status vf_device_init_cuda(vf_device *device, int ordinal);

#ifdef __cplusplus
}
#endif
#endif
