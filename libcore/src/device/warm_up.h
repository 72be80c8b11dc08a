/* What libcore's own files, and tests, know of devices that are started ahead; not installed. */
#ifndef VOXFIELD_WARM_UP_H
#define VOXFIELD_WARM_UP_H

#include <pthread.h>
#include <stdatomic.h>

#include "context_internal.h"

/* How devices are started, on the thread: CUDA's, or a test's. Neither reports errors. */
typedef struct vf_starter {
    int (*count)(void *user);               /* how many there are; loads the driver */
    bool (*start)(void *user, int ordinal); /* whether this one is ready now */
    void *user;
} vf_starter;

struct vf_warm_up {
    pthread_mutex_t lock; /* guards what the thread does not write; never taken by it */
    bool begun, joinable;
    pthread_t thread;
    double since, waited; /* when it was begun; seconds that a join took */
    vf_starter starter;
    int count, ordinals[VF_MAX_DEVICES];
    atomic_bool unwanted; /* begin no further device */
    atomic_bool ended;    /* what is below will not change any more */
    int started;
    double seconds;
};

void vf_warm_up_init(vf_warm_up *w);

/* Starts the thread, unless one was started before or cannot be. */
void vf_warm_up_begin(vf_warm_up *w, const vf_starter *starter, const int *ordinals, int count);

/* Waits until the thread has ended, if there is one. May be called again, and from several threads. */
void vf_warm_up_join(vf_warm_up *w);

/* Asks the thread to stop at the next device, waits for it, and frees what vf_warm_up_init made. */
void vf_warm_up_end(vf_warm_up *w);

vf_warm_up_state vf_warm_up_get(vf_warm_up *w);

/* Seconds that are left of starting a GPU. What has taken longer than it should is expected to take as much again as it
 * is late. */
double vf_warm_up_left(const vf_warm_up_state *state);

#endif
