/* Voxfield - work in pieces on one or more devices, with copies overlapping computation, and results in order.
 *
 * For maps that leave the devices slab by slab, and samples that go to them batch by batch. Each device has a few
 * stages: a thread with a queue and memory on the device. A free stage takes the next piece and
 *   load      fills a buffer of (pinned) host memory, which is then copied in,
 *   compute   puts work into its queue; the result is copied out into the same buffer,
 *   store     passes the buffer to the calling thread, in the order of the pieces.
 * While one stage computes, another loads and copies; the fastest device does the most. On the CPU nothing is copied:
 * pieces are computed in the buffer itself, one at a time with all the context's threads.
 *
 * A device that fails (VF_ERR_DEVICE, VF_ERR_DEVICE_MEMORY) while others are left is dropped with a warning
 * (vf_device_give_up). The stages of the other devices load and compute its unfinished pieces again. Results do not
 * change.
 *
 * It consists of a work pool (workpool.h), queues and arrays (device.h), which can also be used alone.
 */
#ifndef VOXFIELD_PIPELINE_H
#define VOXFIELD_PIPELINE_H

#include <stdint.h>

#include "voxfield/device.h"

#ifdef __cplusplus
extern "C" {
#endif
VF_API_BEGIN

/* One piece on its way. */
typedef struct vf_pipeline_piece {
    int64_t number;
    int device;          /* the device's index in the context; store: -1 */
    vf_queue *queue;     /* for compute; else NULL */
    void *host, *memory; /* the buffer, and the device's memory (on the CPU the same); store: only the buffer */
    void *scratch;       /* the stage's own memory on the device; store: NULL */
} vf_pipeline_piece;

typedef struct vf_pipeline_options {
    int devices; /* >= 1: how many of the context's devices to use */
    int stages;  /* >= 1: per GPU; 2 overlap copies with computing. A CPU always has 1 */
    int buffers; /* pieces in host memory at a time, including those being processed; at least one per stage */
    /* compute is called for one piece after the other, in order. Its work in a queue runs after the work of earlier
     * pieces, so it may use memory that all pieces share. One device only. */
    bool ordered;
    size_t bytes;   /* the largest size of a piece */
    size_t scratch; /* additional bytes of device memory for each stage */
    bool spare;     /* true: a device whose stages cannot be made is dropped, while others are left; false: an error */
    int first;      /* the first device to use, as an index in the context */
    /* true: buffers are ordinary host memory, which takes less time to get than pinned memory; but copies to and from GPUs occupy
     * the stage's thread. For a few pieces */
    bool ordinary;
} vf_pipeline_options;

typedef struct vf_pipeline vf_pipeline;

/* Starts queues and allocates all memory: `buffers` pieces on the host, one for each stage on the GPUs, and scratch;
 * nothing on dropped devices. Errors: VF_ERR_ARGUMENT (also for a malformed VOXFIELD_SIMULATE_FAILURE:
 * docs/division.md), VF_ERR_MEMORY, VF_ERR_DEVICE_MEMORY, VF_ERR_DEVICE. */
VF_MUST_CHECK vf_status vf_pipeline_create(vf_context *ctx, const vf_pipeline_options *options, vf_pipeline **out);
void vf_pipeline_destroy(vf_pipeline *pipeline); /* NULL is allowed */

/* The number of stages on all devices that were not given up. Each runs on its own thread, except that a single stage
 * without `store` runs on the calling thread. */
int vf_pipeline_stages(const vf_pipeline *pipeline);

/* The number of pieces whose results a device, by its index in the context, brought to the host in the last run. */
int64_t vf_pipeline_done(const vf_pipeline *pipeline, int device);

typedef struct vf_pipeline_work {
    int64_t pieces; /* >= 0; with `next`: at most so many */
    void *user;
    /* Fills piece->host and sets the number of bytes to copy in; on a stage's thread. NULL: nothing to copy. */
    vf_status (*load)(void *user, const vf_pipeline_piece *piece, size_t *bytes);
    /* Puts work on piece->memory into piece->queue (and may wait for it), and sets the number of bytes of piece->memory
     * to copy out; on a stage's thread. Not NULL. */
    vf_status (*compute)(void *user, const vf_pipeline_piece *piece, size_t *bytes);
    /* Uses piece->host; called in the order of the pieces, on the calling thread. NULL: nothing is copied out. */
    vf_status (*store)(void *user, const vf_pipeline_piece *piece);
    /* The number of the next piece, for runs that share the pieces of one list; see vf_workpool. Not if `ordered`.
     * NULL: 0, 1, 2, ... */
    int64_t (*next)(void *user);
} vf_pipeline_work;

/* Processes all pieces, until one of the functions fails or the context is cancelled. When it returns, all work is done
 * and all threads have ended. Pieces after a failed one are not stored. No function is called twice for a piece, except
 * load and compute if the device failed. One run at a time. Blocking. Errors: the first error of the functions (a
 * device's if no other device is left); VF_ERR_CANCELLED; VF_ERR_INTERNAL (more bytes than a piece has); VF_ERR_MEMORY,
 * VF_ERR_DEVICE. */
VF_MUST_CHECK vf_status vf_pipeline_run(vf_pipeline *pipeline, const vf_pipeline_work *work);

VF_API_END
#ifdef __cplusplus
}
#endif
#endif
