/* Voxfield - a work pool: several workers take numbered items, one consumer gets the results in order.
 *
 * For maps computed slab by slab: workers are queues on devices, the consumer writes the file. A worker takes the next
 * item as soon as it is free, so that the fastest device does the most, and nobody waits for the slowest. Results wait
 * in `slots` buffers, so the memory is bounded: item n uses slot n % slots, and is not begun before item n - slots was
 * consumed.
 *
 * Workers may belong to several devices. One whose produce returns VF_ERR_DEVICE or VF_ERR_DEVICE_MEMORY gives its
 * device up: none of that device's workers begins anything any more, and items that they fail to produce are produced
 * anew by those of other devices, before any other item. While there is another device, that is no error of the run.
 */
#ifndef VOXFIELD_WORKPOOL_H
#define VOXFIELD_WORKPOOL_H

#include <stdint.h>

#include "voxfield/context.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vf_workpool {
    int64_t items; /* >= 0 */
    int workers;   /* >= 1; each is a thread */
    int slots;     /* >= workers; one more lets the consumer work beside them */
    void *user;
    vf_status (*produce)(void *user, int worker, int slot, int64_t item); /* on a worker's thread */
    vf_status (*consume)(void *user, int slot, int64_t item);             /* on the calling thread, items in order */
    const int *devices; /* [workers] which device each belongs to; NULL: all to one */
    void (*give_up)(void *user, int device, const char *error); /* once a device, on a worker's thread; may be NULL */
} vf_workpool;

/* Runs until all items are consumed, one of the functions fails (a device's failure counts if no other is left), or the
 * context is cancelled (VF_ERR_CANCELLED). When it returns, all threads have ended, and the context has the first error
 * of those functions, if any. Blocking. */
VF_MUST_CHECK vf_status vf_workpool_run(vf_context *ctx, const vf_workpool *pool);

#ifdef __cplusplus
}
#endif
#endif
