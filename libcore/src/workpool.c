#include "voxfield/workpool.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct run {
    vf_context *ctx;
    const vf_workpool *pool;
    pthread_mutex_t lock;   /* guards all below */
    pthread_cond_t changed; /* an item became ready, was consumed, or the run stops */
    int64_t next, consumed; /* the first item not yet begun; how many are consumed */
    bool *ready;            /* [slots] the slot holds a finished item that is not consumed yet */
    vf_status status;       /* the first failure: nothing new is begun */
} run;

typedef struct worker {
    run *run;
    int number;
    pthread_t thread;
} worker;

static void stop(run *r, vf_status status)
{
    pthread_mutex_lock(&r->lock);
    if (r->status == VF_OK)
        r->status = status;
    pthread_cond_broadcast(&r->changed);
    pthread_mutex_unlock(&r->lock);
}

/* Waits for news, but not for long: a cancelled context sends none. Called with the lock held. */
static void wait_for_change(run *r)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 50 * 1000 * 1000;
    if (until.tv_nsec >= 1000 * 1000 * 1000) {
        until.tv_nsec -= 1000 * 1000 * 1000;
        until.tv_sec++;
    }
    pthread_cond_timedwait(&r->changed, &r->lock, &until);
    if (r->status == VF_OK && vf_cancelled(r->ctx))
        r->status = vf_fail(r->ctx, VF_ERR_CANCELLED, "interrupted");
}

/* Takes the next item once its slot is free; false if there is none or the run stops. */
static bool take(run *r, int64_t *item)
{
    bool taken = false;
    pthread_mutex_lock(&r->lock);
    while (r->status == VF_OK && r->next < r->pool->items && r->next >= r->consumed + r->pool->slots)
        wait_for_change(r);
    if (r->status == VF_OK && r->next < r->pool->items) {
        *item = r->next++;
        taken = true;
    }
    pthread_mutex_unlock(&r->lock);
    return taken;
}

static void *work(void *argument)
{
    worker *w = argument;
    run *r = w->run;
    int64_t item;
    while (take(r, &item)) {
        int slot = (int)(item % r->pool->slots);
        vf_status status = vf_cancelled(r->ctx) ? vf_fail(r->ctx, VF_ERR_CANCELLED, "interrupted")
                                                : r->pool->produce(r->pool->user, w->number, slot, item);
        if (status != VF_OK) {
            stop(r, status);
            break;
        }
        pthread_mutex_lock(&r->lock);
        r->ready[slot] = true;
        pthread_cond_broadcast(&r->changed);
        pthread_mutex_unlock(&r->lock);
    }
    return NULL;
}

static void consume_all(run *r)
{
    for (int64_t item = 0; item < r->pool->items; item++) {
        int slot = (int)(item % r->pool->slots);
        pthread_mutex_lock(&r->lock);
        while (r->status == VF_OK && !r->ready[slot])
            wait_for_change(r);
        bool stopped = r->status != VF_OK;
        pthread_mutex_unlock(&r->lock);
        if (stopped)
            return;
        vf_status status = r->pool->consume(r->pool->user, slot, item);
        if (status != VF_OK) {
            stop(r, status);
            return;
        }
        pthread_mutex_lock(&r->lock);
        r->ready[slot] = false;
        r->consumed++;
        pthread_cond_broadcast(&r->changed);
        pthread_mutex_unlock(&r->lock);
    }
}

vf_status vf_workpool_run(vf_context *ctx, const vf_workpool *pool)
{
    run r = {.ctx = ctx, .pool = pool};
    if (pool->items < 0 || pool->workers < 1 || pool->slots < pool->workers)
        return vf_fail(ctx, VF_ERR_INTERNAL, "work pool: %lld items, %d workers, %d slots", (long long)pool->items,
                       pool->workers, pool->slots);
    worker *workers = calloc((size_t)pool->workers, sizeof *workers);
    r.ready = calloc((size_t)pool->slots, sizeof *r.ready);
    if (!workers || !r.ready) {
        free(workers);
        free(r.ready);
        return vf_fail(ctx, VF_ERR_MEMORY, "no memory for %d workers", pool->workers);
    }
    pthread_mutex_init(&r.lock, NULL);
    pthread_cond_init(&r.changed, NULL);
    int started = 0;
    for (; started < pool->workers; started++) {
        workers[started] = (worker){.run = &r, .number = started};
        int error = pthread_create(&workers[started].thread, NULL, work, &workers[started]);
        if (error) {
            stop(&r, vf_fail(ctx, VF_ERR_MEMORY, "cannot start a thread: %s", strerror(error)));
            break;
        }
    }
    consume_all(&r);
    for (int i = 0; i < started; i++)
        pthread_join(workers[i].thread, NULL);
    pthread_cond_destroy(&r.changed);
    pthread_mutex_destroy(&r.lock);
    free(workers);
    free(r.ready);
    return r.status;
}
