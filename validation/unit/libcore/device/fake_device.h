/* A device that works asynchronously, like a GPU, on any machine. It replaces the context's CPU, and has its own
 * kind of memory and threads as queues. Each job first waits for a random time. It can only copy. Errors that a GPU
 * shows by chance, such as reading a buffer that was refilled too early, happen here often. It can also fail at its
 * n-th allocation, queue or copy, and stay failed: then it copies nothing, and waiting for it is an error. */
#ifndef FAKE_DEVICE_H
#define FAKE_DEVICE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device/context_internal.h"
#include "random_fixture.h"

typedef struct fake_event {
    bool reached;
    int users;
} fake_event;

typedef struct fake_job {
    struct fake_job *next;
    void *to; /* copy, if not NULL */
    const void *from;
    size_t bytes;
    fake_event *signal, *wait;
} fake_job;

typedef struct fake_queue {
    pthread_t thread;
    fake_job *first, *last; /* a running job stays first in the queue */
    bool ends;
    vf_device *device;
} fake_queue;

static pthread_mutex_t fake_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t fake_changed = PTHREAD_COND_INITIALIZER;
static atomic_int fake_calls, fake_fails_at, fake_sleep; /* calls that can fail; the failing call; microseconds */
static atomic_int fake_held;                             /* allocations and queues that are not yet freed */
static vf_device real_device;
static atomic_bool fake_stays; /* a failed device stays failed: */
static _Atomic(vf_device *) fake_failed[2];

static inline bool fake_has_failed(vf_device *d)
{
    return fake_failed[0] == d || fake_failed[1] == d;
}

static inline vf_status fake_may_fail(vf_device *d, vf_status status)
{
    const bool now = atomic_fetch_add(&fake_calls, 1) + 1 == fake_fails_at;
    if (now && fake_stays)
        fake_failed[fake_failed[0] != NULL] = d;
    return now || fake_has_failed(d) ? vf_fail(d->ctx, status, "made to fail") : VF_OK;
}

static inline void fake_leave(fake_event *event)
{
    if (event && --event->users == 0)
        free(event);
}

static void *fake_work(void *argument)
{
    fake_queue *q = argument;
    uint64_t random = (uintptr_t)q;
    pthread_mutex_lock(&fake_lock);
    for (;;) {
        while (!q->first && !q->ends)
            pthread_cond_wait(&fake_changed, &fake_lock);
        fake_job *job = q->first;
        if (!job)
            break;
        while (job->wait && !job->wait->reached)
            pthread_cond_wait(&fake_changed, &fake_lock);
        pthread_mutex_unlock(&fake_lock);
        if (fake_sleep)
            usleep((unsigned)(splitmix(&random) % (unsigned)fake_sleep));
        if (job->to && !fake_has_failed(q->device))
            memcpy(job->to, job->from, job->bytes);
        pthread_mutex_lock(&fake_lock);
        if (job->signal)
            job->signal->reached = true;
        fake_leave(job->signal);
        fake_leave(job->wait);
        q->first = job->next;
        free(job);
        pthread_cond_broadcast(&fake_changed);
    }
    pthread_mutex_unlock(&fake_lock);
    return NULL;
}

static inline vf_status fake_put(vf_device *d, fake_queue *q, fake_job job)
{
    fake_job *copy = malloc(sizeof *copy);
    if (!copy)
        return vf_fail(d->ctx, VF_ERR_MEMORY, "no memory for a job");
    *copy = job;
    pthread_mutex_lock(&fake_lock);
    if (q->first)
        q->last->next = copy;
    else
        q->first = copy;
    q->last = copy;
    pthread_cond_broadcast(&fake_changed);
    pthread_mutex_unlock(&fake_lock);
    return VF_OK;
}

static vf_status fake_memory(vf_device *d, uint64_t *free_bytes, uint64_t *total_bytes)
{
    (void)d;
    *free_bytes = *total_bytes = 1 << 30;
    return VF_OK;
}

static vf_status fake_allocate(vf_device *d, vf_space space, size_t bytes, void **out)
{
    vf_status status = fake_may_fail(d, space == VF_SPACE_DEVICE ? VF_ERR_DEVICE_MEMORY : VF_ERR_MEMORY);
    *out = status == VF_OK ? malloc(bytes) : NULL;
    if (status == VF_OK && !*out)
        status = vf_fail(d->ctx, VF_ERR_MEMORY, "no memory");
    fake_held += status == VF_OK;
    return status;
}

static void fake_release(vf_device *d, vf_space space, void *data)
{
    (void)d;
    (void)space;
    fake_held--;
    free(data);
}

static vf_status fake_queue_create(vf_device *d, void **native)
{
    fake_queue *q = NULL;
    vf_status status = fake_may_fail(d, VF_ERR_DEVICE);
    if (status == VF_OK && (q = calloc(1, sizeof *q)))
        q->device = d;
    if (status == VF_OK && (!q || pthread_create(&q->thread, NULL, fake_work, q)))
        status = vf_fail(d->ctx, VF_ERR_MEMORY, "no memory");
    fake_held += status == VF_OK;
    *native = q;
    return status;
}

static vf_status fake_queue_sync(vf_device *d, void *native)
{
    const fake_queue *q = native;
    pthread_mutex_lock(&fake_lock);
    while (q->first)
        pthread_cond_wait(&fake_changed, &fake_lock);
    pthread_mutex_unlock(&fake_lock);
    return fake_has_failed(d) ? vf_fail(d->ctx, VF_ERR_DEVICE, "made to fail") : VF_OK;
}

static void fake_queue_destroy(vf_device *d, void *native)
{
    fake_queue *q = native;
    (void)d;
    pthread_mutex_lock(&fake_lock);
    q->ends = true;
    pthread_cond_broadcast(&fake_changed);
    pthread_mutex_unlock(&fake_lock);
    pthread_join(q->thread, NULL);
    free(q);
    fake_held--;
}

static vf_status fake_queue_after(vf_device *d, void *native, void *before)
{
    vf_status status = fake_may_fail(d, VF_ERR_DEVICE);
    fake_event *event = status == VF_OK ? calloc(1, sizeof *event) : NULL;
    if (status != VF_OK)
        return status;
    if (!event)
        return vf_fail(d->ctx, VF_ERR_MEMORY, "no memory");
    event->users = 2;
    status = fake_put(d, before, (fake_job){.signal = event});
    return status == VF_OK ? fake_put(d, native, (fake_job){.wait = event}) : status;
}

static vf_status fake_copy(vf_device *d, void *native, void *to, const void *from, size_t bytes)
{
    vf_status status = fake_may_fail(d, VF_ERR_DEVICE);
    return status == VF_OK ? fake_put(d, native, (fake_job){.to = to, .from = from, .bytes = bytes}) : status;
}

static const vf_device_ops fake_ops = {
    .memory = fake_memory,
    .allocate = fake_allocate,
    .release = fake_release,
    .queue_create = fake_queue_create,
    .queue_destroy = fake_queue_destroy,
    .queue_sync = fake_queue_sync,
    .queue_after = fake_queue_after,
    .copy = fake_copy,
};

/* Whether the device is the CPU, and the only device. */
static inline bool fake_device_fits(const vf_device *d)
{
    return vf_device_is_host(d) && vf_context_device_count(d->ctx) == 1;
}

/* Replaces the CPU by the fake device, with jobs that wait up to `sleep` microseconds and a failure at call
 * `fails_at` (0: none); and restores it. */
static inline void fake_device_begin(vf_device *d, int sleep, int fails_at)
{
    real_device = *d;
    d->ops = &fake_ops;
    d->kind = VF_DEVICE_CUDA;
    fake_calls = 0;
    fake_fails_at = fails_at;
    fake_sleep = sleep;
    fake_stays = false;
    fake_failed[0] = fake_failed[1] = NULL;
}

static inline void fake_device_end(vf_device *d)
{
    *d = real_device;
}

#endif
