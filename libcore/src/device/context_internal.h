/* What libcore's own files know of a context and a device; not installed. */
#ifndef VOXFIELD_CONTEXT_INTERNAL_H
#define VOXFIELD_CONTEXT_INTERNAL_H

#include <pthread.h>

#include "voxfield/context.h"
#include "voxfield/device.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { VF_MAX_DEVICES = 64, VF_MESSAGE_SIZE = 1024 };

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
    /* The same between `device` and another of its kind, `peer`, either way; NULL: `copy` does that too. */
    vf_status (*copy_peer)(vf_device *device, void *native, void *dst, const void *src, size_t bytes, vf_device *peer,
                           bool to_peer);
} vf_device_ops;

struct vf_device {
    vf_context *ctx;
    const vf_device_ops *ops;
    vf_device_kind kind;
    int ordinal;
    bool watched;
    char spec[24];
    char name[256];
    /* vf_offset on this device; NULL: its memory has addresses, of bytes. */
    void *(*offset)(const vf_device *device, const void *data, size_t bytes);
    char *failure; /* why it was given up; NULL: it was not. Written once, and atomically */
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

/* Reads "cuda" or "cuda:0,2" into ordinals [VF_MAX_DEVICES]; returns how many, or 0 if it is neither or names one
 * twice.
 */
int vf_parse_cuda_spec(const char *spec, int *ordinals);

typedef struct vf_warm_up vf_warm_up; /* warm_up.h */
vf_warm_up *vf_context_warm_up(vf_context *ctx);

/* Starts a GPU for this process, if that can be done: loads the driver and makes the device's context. From any thread;
 * reports nothing. */
bool vf_cuda_start(int ordinal);

/* The first error of a thread, held back from the context: what another device may yet make good. Between vf_catch,
 * which returns what was in force before, and vf_catch_end, which is given that, the calling thread's vf_fail with
 * `ctx` puts it here. */
typedef struct vf_caught {
    vf_context *ctx;
    vf_status status; /* VF_OK: there was none */
    char text[VF_MESSAGE_SIZE];
} vf_caught;
vf_caught *vf_catch(vf_context *ctx, vf_caught *caught);
void vf_catch_end(vf_caught *before);

/* Forgets why devices were given up. */
void vf_device_forget(vf_device *devices, int count);

/* What the environment variable VOXFIELD_SIMULATE_FAILURE says (docs/architecture.md): at[d] becomes the piece of the
 * context's device d that is to fail, counted from 1; 0: the device cannot be started; -1: nothing. Errors:
 * VF_ERR_ARGUMENT. */
VF_MUST_CHECK vf_status vf_simulation_read(vf_context *ctx, int devices, int64_t *at);

/* Fills `device` (ctx already set). A CPU that is one of several has a number, else -1. */
void vf_device_init_cpu(vf_device *device, int number);
VF_MUST_CHECK vf_status vf_device_init_cuda(vf_device *device, int ordinal);

#ifdef __cplusplus
}
#endif
#endif
