/* Contexts and devices inside libcore; not installed. */
#ifndef VOXFIELD_CONTEXT_INTERNAL_H
#define VOXFIELD_CONTEXT_INTERNAL_H

#include <pthread.h>

#include "voxfield/context.h"
#include "voxfield/device.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { VF_MAX_DEVICES = 64, VF_MESSAGE_SIZE = 1024 };

/* The functions of a device: one table per kind of device. Memory sizes are in bytes. */
typedef struct vf_device_ops {
    vf_status (*memory)(vf_device *device, uint64_t *free_bytes, uint64_t *total_bytes);
    vf_status (*allocate)(vf_device *device, vf_space space, size_t bytes, void **out);
    void (*release)(vf_device *device, vf_space space, void *data);
    vf_status (*queue_create)(vf_device *device, void **native);
    void (*queue_destroy)(vf_device *device, void *native);
    vf_status (*queue_sync)(vf_device *device, void *native);
    vf_status (*queue_after)(vf_device *device, void *native, void *before);
    vf_status (*copy)(vf_device *device, void *native, void *dst, const void *src, size_t bytes);
    /* A copy between `device` and another device of its kind, `peer`, in either direction; NULL: `copy` can do it. */
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
    char traits[128]; /* of a GPU: vf_device_traits */
    /* vf_offset on this device; NULL: its pointers are byte addresses. */
    void *(*offset)(const vf_device *device, const void *data, size_t bytes);
    char *failure; /* why it was given up, or NULL. Written once, atomically */
};

struct vf_queue {
    vf_device *device;
    void *native;
    bool borrowed; /* native is the caller's */
    /* For vector sums on a GPU: made by the first sum, freed with the queue. */
    struct {
        pthread_mutex_t lock; /* held during a sum */
        void *data;
        void (*release)(void *data);
    } sums;
};

/* Reads "cuda" or "cuda:0,2" into ordinals [VF_MAX_DEVICES]. Returns their number; 0 for any other text, or if it
 * repeats a GPU.
 */
int vf_parse_cuda_spec(const char *spec, int *ordinals);

typedef struct vf_warm_up vf_warm_up; /* warm_up.h */
vf_warm_up *vf_context_warm_up(vf_context *ctx);

/* Nanoseconds of work from which on a region has all threads. */
int64_t vf_context_team_work(const vf_context *ctx);

/* From now on, the calling thread's regions for the context of less than `below` nanoseconds of work have one thread: until it
 * is called again, or until a time of vf_now, if that is not 0. */
void vf_team_alone(const vf_context *ctx, int64_t below, double until);

/* What a solver has found out about teams, for the next one (team_choice.h). */
struct vf_team_memory *vf_context_team_memory(vf_context *ctx);

/* Starts a GPU for this process, if possible: loads the driver and makes the device's context. Returns whether it is
 * ready, and reports no errors. Any thread may call it. */
bool vf_cuda_start(int ordinal);

/* The first error of a thread, kept back from the context because another device may still succeed. Between vf_catch
 * and vf_catch_end, vf_fail on the calling thread with `ctx` records errors here. vf_catch returns the previous target;
 * pass it to vf_catch_end. */
typedef struct vf_caught {
    vf_context *ctx;
    vf_status status; /* VF_OK: no error */
    char text[VF_MESSAGE_SIZE];
} vf_caught;
vf_caught *vf_catch(vf_context *ctx, vf_caught *caught);
void vf_catch_end(vf_caught *before);

/* Takes back the signals of vf_context_cancel_on_signals if a library that was called has taken them, as LLVM does in drivers of
 * OpenCL, which MPI may load, too. Not after the first signal: the second ends the program. */
void vf_context_keep_signals(void);

/* Forgets why devices were given up. */
void vf_device_forget(vf_device *devices, int count);

/* Reads the environment variable VOXFIELD_SIMULATE_FAILURE (docs/division.md). at[d] is set to the piece, counted
 * from 1, at which the context's device d fails; 0: it cannot be started; -1: it does not fail. Errors:
 * VF_ERR_ARGUMENT. */
VF_MUST_CHECK vf_status vf_simulation_read(vf_context *ctx, int devices, int64_t *at);

/* Fills `device` (ctx already set). `number`: of one of several CPU devices, else -1. */
void vf_device_init_cpu(vf_device *device, int number);
VF_MUST_CHECK vf_status vf_device_init_cuda(vf_device *device, int ordinal);
VF_MUST_CHECK vf_status vf_device_init_opencl(vf_device *device, int ordinal);

#ifdef __cplusplus
}
#endif
#endif
