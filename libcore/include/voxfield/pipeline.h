/* Voxfield - work in pieces that pass through the devices, with copying beside computing, and results in order.
 *
 * For maps that leave the devices slab by slab, and samples that go to them batch by batch. Each device has a few
 * stages: a thread with a queue and memory on the device. A stage takes the next piece as soon as it is free, fills a
 * buffer of pinned host memory (load), has it copied in, puts work into its queue (compute), and has the result copied
 * out into the same buffer, which the calling thread gets in the order of the pieces (store). While one stage computes,
 * another loads and copies; the fastest device does the most. On the CPU nothing is copied: pieces are computed on in
 * the buffer itself, one at a time with all the context's threads.
 *
 * A device that fails (VF_ERR_DEVICE, VF_ERR_DEVICE_MEMORY) while others are left is given up: a warning says so
 * (vf_device_give_up), and the stages of the others take over its pieces, those among them whose results had not
 * reached the host, which are loaded and computed anew. Results do not depend on it.
 *
 * Made of a work pool (workpool.h), queues and arrays (device.h); which see for work that needs neither.
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
typedef struct vf_piece {
    int64_t number;
    int device;          /* the device's index in the context; store: -1 */
    vf_queue *queue;     /* for compute; else NULL */
    void *host, *memory; /* the buffer, and the device's memory; the same on the CPU; store: the buffer */
    void *scratch;       /* the stage's own memory on the device; store: NULL */
} vf_piece;

typedef struct vf_pipeline_options {
    int devices;    /* >= 1: so many of the context's devices work */
    int stages;     /* >= 1: of each GPU. 2 overlap copies with computing; a CPU has 1, whatever is asked for */
    int buffers;    /* pieces in host memory at a time, those at work among them; at least one a stage */
    bool ordered;   /* compute is called for one piece after the other, in their order, and what it puts into its queue
                     * runs after what it put into those of the pieces before: it may use memory that all pieces share.
                     * One device only. */
    size_t bytes;   /* of a piece, at most */
    size_t scratch; /* bytes of device memory that each stage has beside */
    bool spare;     /* a device whose stages cannot be made is given up, too, while others are left; else an error */
    int first;      /* of the devices that work, its index in the context */
} vf_pipeline_options;

typedef struct vf_pipeline vf_pipeline;

/* Starts queues and allocates all memory: `buffers` pieces on the host, one for each stage on the GPUs, and scratch;
 * nothing on devices that have been given up. Errors: VF_ERR_ARGUMENT (also for a malformed VOXFIELD_SIMULATE_FAILURE:
 * docs/architecture.md), VF_ERR_MEMORY, VF_ERR_DEVICE_MEMORY, VF_ERR_DEVICE. */
VF_MUST_CHECK vf_status vf_pipeline_create(vf_context *ctx, const vf_pipeline_options *options, vf_pipeline **out);
void vf_pipeline_destroy(vf_pipeline *pipeline); /* NULL is allowed */

/* How many stages there are on all devices that were not given up: as many threads, but for one without `store`, whose
 * work the caller's thread does. */
int vf_pipeline_stages(const vf_pipeline *pipeline);

/* How many pieces a device, by its index in the context, has done in the last run: all that came to the host. */
int64_t vf_pipeline_done(const vf_pipeline *pipeline, int device);

typedef struct vf_pipeline_work {
    int64_t pieces; /* >= 0 */
    void *user;
    /* Fills piece->host and says how many bytes of it are to be copied in; on a stage's thread. NULL: nothing is. */
    vf_status (*load)(void *user, const vf_piece *piece, size_t *bytes);
    /* Puts work on piece->memory into piece->queue, for which it may wait, and says how many bytes of piece->memory are
     * to be copied out; on a stage's thread. Not NULL. */
    vf_status (*compute)(void *user, const vf_piece *piece, size_t *bytes);
    /* Takes piece->host, pieces in order; on the calling thread. NULL: nothing is copied out. */
    vf_status (*store)(void *user, const vf_piece *piece);
} vf_pipeline_work;

/* Takes all pieces through, until one of the functions fails or the context is cancelled. All work is done when it
 * returns, and no thread is left. Pieces behind one that failed are not stored; no function is called twice for a
 * piece, but load and compute for one whose device failed. One run at a time. Blocking. Errors: those of the functions,
 * the first one, a device's if no other device is left; VF_ERR_CANCELLED; VF_ERR_INTERNAL (more bytes than a piece
 * has); VF_ERR_MEMORY, VF_ERR_DEVICE. */
VF_MUST_CHECK vf_status vf_pipeline_run(vf_pipeline *pipeline, const vf_pipeline_work *work);

VF_API_END
#ifdef __cplusplus
}
#endif
#endif
