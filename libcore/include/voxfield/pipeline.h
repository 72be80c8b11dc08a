/* Voxfield - data between host and device in pieces, with computing beside the copies.
 *
 * A pipeline has a few stages of pinned host memory and of device memory, each with a queue, and takes pieces through
 * them in turn: while one is computed on, the next is copied in and the one before copied out. On the CPU there is
 * nothing to copy: pieces are computed on where they lie.
 *
 * For slabs of maps that leave a GPU as they are made, and chunks of samples that go to it.
 */
#ifndef VOXFIELD_PIPELINE_H
#define VOXFIELD_PIPELINE_H

#include <stdint.h>

#include "voxfield/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One piece on its way. `host` and `device` are the stage's memory (the same on the CPU), of `bytes` at most. */
typedef struct vf_piece {
    int64_t number;
    vf_queue *queue; /* what is put into it runs after the copy in and before the copy out */
    void *host, *device;
} vf_piece;

typedef struct vf_pipeline {
    vf_device *device;
    int64_t pieces; /* >= 0 */
    int stages;     /* 2 or 3 */
    size_t bytes;   /* of a stage */
    void *user;
    /* Fills piece->host with what is to be copied in and says how many bytes of it; NULL: nothing is. */
    vf_status (*load)(void *user, const vf_piece *piece, size_t *bytes);
    /* Puts work into piece->queue and says how many bytes of piece->device are to be copied out; not NULL. */
    vf_status (*compute)(void *user, const vf_piece *piece, size_t *bytes);
    /* Takes piece->host, pieces in order; NULL: nothing is copied out. */
    vf_status (*store)(void *user, const vf_piece *piece);
} vf_pipeline;

/* Takes all pieces through, until one of the functions fails or the context is cancelled (VF_ERR_CANCELLED). Functions
 * run on the calling thread. All work is done when it returns. Blocking. Errors: theirs; VF_ERR_MEMORY,
 * VF_ERR_DEVICE_MEMORY, VF_ERR_DEVICE. */
VF_MUST_CHECK vf_status vf_pipeline_run(const vf_pipeline *pipeline);

#ifdef __cplusplus
}
#endif
#endif
