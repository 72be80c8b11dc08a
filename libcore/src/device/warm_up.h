/* The warm-up of devices, for libcore and tests; not installed. */
#ifndef VOXFIELD_WARM_UP_H
#define VOXFIELD_WARM_UP_H

#include <pthread.h>
#include <stdatomic.h>

#include "context_internal.h"

/* How the thread starts devices: with CUDA, or as a test wants. Neither function reports errors. */
typedef struct vf_starter {
    int (*count)(void *user);               /* the number of devices; loads the driver */
    bool (*start)(void *user, int ordinal); /* whether this device is ready now */
    void *user;
} vf_starter;

struct vf_warm_up {
    pthread_mutex_t lock; /* guards what the thread does not write; the thread never takes it */
    bool begun, joinable;
    pthread_t thread;
    double since, waited; /* start time; seconds spent waiting in joins */
    vf_starter starter;
    int count, ordinals[VF_MAX_DEVICES];
    atomic_bool unwanted; /* start no further device */
    atomic_int tried;     /* devices that are ready, or cannot be started */
    atomic_bool ended;    /* the members below are final */
    int started;
    double seconds;
};

void vf_warm_up_init(vf_warm_up *w);

/* Starts the thread. Does nothing if one was started before, or cannot be started. */
void vf_warm_up_begin(vf_warm_up *w, const vf_starter *starter, const int *ordinals, int count);

/* Waits for the end of the thread, if there is one. May be called again, and from several threads. */
void vf_warm_up_join(vf_warm_up *w);

/* Waits for the thread to have started these devices, as far as it will. */
void vf_warm_up_wait(vf_warm_up *w, const int *ordinals, int count);

/* Asks the thread to stop before the next device. */
void vf_warm_up_stop(vf_warm_up *w);

/* Asks the thread to stop before the next device, waits for it, and frees what vf_warm_up_init allocated. */
void vf_warm_up_end(vf_warm_up *w);

vf_warm_up_state vf_warm_up_get(vf_warm_up *w);

/* Expected seconds until a GPU is started. If a start is late by t seconds, it is expected to take another t. */
double vf_warm_up_left(const vf_warm_up_state *state);

#endif
