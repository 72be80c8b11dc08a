/* Voxfield - a work pool: several workers process numbered items; one consumer gets the results in order.
 *
 * For maps computed slab by slab: workers are queues on devices, the consumer writes the file. A free worker takes the
 * next item, so the fastest device does the most, and nobody waits for the slowest. Results wait in `slots` buffers, so
 * memory is bounded: item n uses slot n % slots, and does not start before item n - slots is consumed.
 *
 * Workers may belong to several devices. If produce returns VF_ERR_DEVICE or VF_ERR_DEVICE_MEMORY, the worker's device
 * is dropped: its workers start nothing more, and workers of other devices produce its failed items again, before any
 * other item. This is not an error of the run while another device is left.
 */
#ifndef VOXFIELD_WORKPOOL_H
#define VOXFIELD_WORKPOOL_H

#include <stdint.h>

#include "voxfield/context.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { VF_NEXT_NONE = -1 /* there are no more for this pool */, VF_NEXT_LATER = -2 /* none now; ask again */ };

typedef struct vf_workpool {
    int64_t items; /* >= 0; with `next`: at most so many */
    int workers;   /* >= 1; each is a thread */
    int slots;     /* >= workers; one more lets the consumer work at the same time */
    void *user;
    vf_status (*produce)(void *user, int worker, int slot, int64_t item); /* on a worker's thread */
    vf_status (*consume)(void *user, int slot, int64_t item);             /* on the calling thread, items in order */
    /* The number of the item to start next, for pools that share the items of one list: larger than those before, or
     * one of the two below. On a worker's thread, one call at a time. NULL: 0, 1, 2, ... */
    int64_t (*next)(void *user);
    const int *devices; /* [workers] the device of each worker; NULL: all on one */
    void (*give_up)(void *user, int device, const char *error); /* once per device, on a worker's thread; may be NULL */
} vf_workpool;

/* Runs until all items are consumed, one of the functions fails (a device's failure counts only if no other is left),
 * or the context is cancelled (VF_ERR_CANCELLED). When it returns, all threads have ended, and the context has the
 * first error of the functions, if any. Blocking. */
VF_MUST_CHECK vf_status vf_workpool_run(vf_context *ctx, const vf_workpool *pool);

/* Tries to start as many threads as `teams` teams of the context's threads have besides the caller: one for each
 * computing thread, and one for the caller. OpenMP ends the process if it cannot start a thread. Errors:
 * VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status vf_check_threads(vf_context *ctx, int teams);

#ifdef __cplusplus
}
#endif
#endif
