#include "voxfield/workpool.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "context_internal.h"

typedef enum slot_state {
    EMPTY,
    AT_WORK,
    AGAIN, /* the item must be produced again, by another device */
    READY, /* holds a finished item that is not yet consumed */
} slot_state;

typedef struct pool_run {
    vf_context *ctx;
    const vf_workpool *pool;
    pthread_mutex_t lock;   /* guards all members below */
    pthread_cond_t changed; /* an item became ready, must be produced again, or was consumed; or the run stops */
    int64_t next;           /* the first item not yet started: items are counted here from 0, */
    int64_t *number;        /* [slots] and have these numbers outside */
    int64_t items;          /* pool->items, or fewer once pool->next has said that there are no more */
    bool asking;            /* a worker is in pool->next */
    int64_t made, consumed; /* numbers of items */
    int again;              /* number of AGAIN slots */
    slot_state *slots;      /* [slots] */
    bool *dismissed;        /* [workers] the worker's device was given up */
    vf_status status;       /* the first failure; nothing new starts then */
    vf_caught error;        /* its message */
} pool_run;

typedef struct worker {
    pool_run *run;
    int number;
    pthread_t thread;
} worker;

/* Call with the lock held. The status may come first from a worker that stopped without an error message of its own. */
static void stop_held(pool_run *r, vf_status status, const vf_caught *error)
{
    if (r->status == VF_OK)
        r->status = status;
    if (r->error.status == VF_OK)
        r->error = *error;
    pthread_cond_broadcast(&r->changed);
}

static void stop(pool_run *r, vf_status status, const vf_caught *error)
{
    pthread_mutex_lock(&r->lock);
    stop_held(r, status, error);
    pthread_mutex_unlock(&r->lock);
}

static vf_status cancelled(vf_context *ctx)
{
    return vf_cancelled(ctx) ? vf_fail(ctx, VF_ERR_CANCELLED, "interrupted") : VF_OK;
}

/* Waits for a change, but not for long, because cancelling signals nothing. Call with the lock held. */
static void wait_for_change(pool_run *r)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 50 * 1000 * 1000;
    if (until.tv_nsec >= 1000 * 1000 * 1000) {
        until.tv_nsec -= 1000 * 1000 * 1000;
        until.tv_sec++;
    }
    pthread_cond_timedwait(&r->changed, &r->lock, &until);
    if (r->status == VF_OK && vf_cancelled(r->ctx)) {
        vf_caught error;
        vf_caught *before = vf_catch(r->ctx, &error);
        const vf_status status = cancelled(r->ctx);
        vf_catch_end(before);
        stop_held(r, status, &error);
    }
}

/* Starts the next item; -1: none now. Call with the lock held; it is released while pool->next runs. */
static int64_t start_next(pool_run *r)
{
    int64_t number = r->next;
    if (r->asking || r->next >= r->items || r->next >= r->consumed + r->pool->slots)
        return -1;
    if (r->pool->next) {
        r->asking = true;
        pthread_mutex_unlock(&r->lock);
        number = r->pool->next(r->pool->user);
        pthread_mutex_lock(&r->lock);
        r->asking = false;
        if (number == VF_NEXT_NONE)
            r->items = r->next;
        if (number != VF_NEXT_LATER)
            pthread_cond_broadcast(&r->changed);
    }
    if (number < 0 || r->status != VF_OK)
        return -1;
    r->number[r->next % r->pool->slots] = number;
    return r->next++;
}

/* The item to start now: the first that must be produced again, else the next if its slot is free; -1: none. Call with
 * the lock held. */
static int64_t choose(pool_run *r)
{
    const int slots = r->pool->slots;
    for (int64_t item = r->consumed; r->again > 0 && item < r->next; item++)
        if (r->slots[item % slots] == AGAIN) {
            r->again--;
            return item;
        }
    return start_next(r);
}

/* Takes an item; returns false if there will be none for this worker. A worker stays until all items are made, because
 * one may have to be made again. */
static bool take(pool_run *r, const worker *w, int64_t *item)
{
    *item = -1;
    pthread_mutex_lock(&r->lock);
    while (r->status == VF_OK && !r->dismissed[w->number] && r->made < r->items && (*item = choose(r)) < 0)
        if (r->made < r->items)
            wait_for_change(r);
    if (*item >= 0)
        r->slots[*item % r->pool->slots] = AT_WORK;
    pthread_mutex_unlock(&r->lock);
    return *item >= 0;
}

static int device_of(const vf_workpool *pool, int number)
{
    return pool->devices ? pool->devices[number] : 0;
}

/* Dismisses all workers of a device; returns whether any was still active. Call with the lock held. */
static bool dismiss(pool_run *r, int device)
{
    bool news = false;
    for (int w = 0; w < r->pool->workers; w++)
        if (device_of(r->pool, w) == device && !r->dismissed[w])
            r->dismissed[w] = news = true;
    return news;
}

static bool others_left(const pool_run *r, int device)
{
    for (int w = 0; w < r->pool->workers; w++)
        if (device_of(r->pool, w) != device && !r->dismissed[w])
            return true;
    return false;
}

/* Handles an item that failed: passes it to another device, or stops the run. */
static void fail_item(pool_run *r, const worker *w, int64_t item, vf_status status, const vf_caught *error)
{
    const int device = device_of(r->pool, w->number);
    bool news = false;
    pthread_mutex_lock(&r->lock);
    if (vf_is_device_error(status) && others_left(r, device)) {
        news = dismiss(r, device);
        r->slots[item % r->pool->slots] = AGAIN;
        r->again++;
        pthread_cond_broadcast(&r->changed);
    } else {
        stop_held(r, status, error);
    }
    pthread_mutex_unlock(&r->lock);
    if (news && r->pool->give_up)
        r->pool->give_up(r->pool->user, device, error->text);
}

static void *work(void *argument)
{
    worker *w = argument;
    pool_run *r = w->run;
    int64_t item;
    while (take(r, w, &item)) {
        const int slot = (int)(item % r->pool->slots);
        vf_caught error;
        vf_caught *before = vf_catch(r->ctx, &error);
        vf_status status = cancelled(r->ctx);
        VF_TRY(status, r->pool->produce(r->pool->user, w->number, slot, r->number[slot]));
        vf_catch_end(before);
        if (status != VF_OK) {
            fail_item(r, w, item, status, &error);
            break;
        }
        pthread_mutex_lock(&r->lock);
        r->slots[slot] = READY;
        r->made++;
        pthread_cond_broadcast(&r->changed);
        pthread_mutex_unlock(&r->lock);
    }
    return NULL;
}

static void consume_all(pool_run *r)
{
    vf_caught error;
    for (int64_t item = 0;; item++) {
        int slot = (int)(item % r->pool->slots);
        pthread_mutex_lock(&r->lock);
        while (r->status == VF_OK && item < r->items && r->slots[slot] != READY)
            wait_for_change(r);
        bool stopped = r->status != VF_OK || item >= r->items;
        pthread_mutex_unlock(&r->lock);
        if (stopped)
            return;
        vf_caught *before = vf_catch(r->ctx, &error);
        vf_status status = r->pool->consume(r->pool->user, slot, r->number[slot]);
        vf_catch_end(before);
        if (status != VF_OK) {
            stop(r, status, &error);
            return;
        }
        pthread_mutex_lock(&r->lock);
        r->slots[slot] = EMPTY;
        r->consumed++;
        pthread_cond_broadcast(&r->changed);
        pthread_mutex_unlock(&r->lock);
    }
}

/* Starts the workers, consumes all items, and joins the workers. */
static void run_all(pool_run *r, worker *workers)
{
    int started = 0;
    for (; started < r->pool->workers; started++) {
        workers[started] = (worker){.run = r, .number = started};
        int error = pthread_create(&workers[started].thread, NULL, work, &workers[started]);
        if (error) {
            vf_caught caught;
            vf_caught *before = vf_catch(r->ctx, &caught);
            vf_status status = vf_fail(r->ctx, VF_ERR_MEMORY, "cannot start a thread: %s", strerror(error));
            vf_catch_end(before);
            stop(r, status, &caught);
            break;
        }
    }
    consume_all(r);
    for (int i = 0; i < started; i++)
        pthread_join(workers[i].thread, NULL);
    if (r->error.status != VF_OK)
        vf_fail(r->ctx, r->error.status, "%s", r->error.text);
}

vf_status vf_workpool_run(vf_context *ctx, const vf_workpool *pool)
{
    pool_run r = {.ctx = ctx, .pool = pool, .items = pool->items};
    if (pool->items < 0 || pool->workers < 1 || pool->slots < pool->workers)
        return vf_fail(ctx, VF_ERR_INTERNAL, "work pool: %lld items, %d workers, %d slots", (long long)pool->items,
                       pool->workers, pool->slots);
    worker *workers = calloc((size_t)pool->workers, sizeof *workers);
    r.slots = calloc((size_t)pool->slots, sizeof *r.slots);
    r.number = calloc((size_t)pool->slots, sizeof *r.number);
    r.dismissed = calloc((size_t)pool->workers, sizeof *r.dismissed);
    if (!workers || !r.slots || !r.number || !r.dismissed) {
        r.status = vf_fail(ctx, VF_ERR_MEMORY, "not enough memory for %d workers", pool->workers);
        goto done;
    }
    pthread_mutex_init(&r.lock, NULL);
    pthread_cond_init(&r.changed, NULL);
    run_all(&r, workers);
    pthread_cond_destroy(&r.changed);
    pthread_mutex_destroy(&r.lock);
done:
    free(workers);
    free(r.slots);
    free(r.number);
    free(r.dismissed);
    return r.status;
}
