/* Stage times for the report, and the progress line. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "watch.h"

/* One lock for all watches: several threads add to one watch, and the teams' watches add to `whole`. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* A thread that redraws the line while a stage reports nothing. */
struct watch_pulse {
    pthread_t thread;
    pthread_cond_t ended_now;
    bool ended;
};
enum { PULSE_MS = 250 };

static void *beat(void *user)
{
    recon_watch *watch = user;
    struct watch_pulse *pulse = watch->pulse;
    pthread_mutex_lock(&lock);
    while (!pulse->ended) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += PULSE_MS * 1000000L;
        until.tv_sec += until.tv_nsec / 1000000000L;
        until.tv_nsec %= 1000000000L;
        pthread_cond_timedwait(&pulse->ended_now, &lock, &until);
        vf_progress_tick(&watch->progress);
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}

/* The caller holds the lock. Without the pulse thread, the line is redrawn only when progress is added. */
static void start_pulse(recon_watch *watch)
{
    struct watch_pulse *pulse = calloc(1, sizeof *pulse);
    if (!pulse)
        return;
    watch->pulse = pulse;
    if (pthread_cond_init(&pulse->ended_now, NULL) == 0) {
        if (pthread_create(&pulse->thread, NULL, beat, watch) == 0)
            return;
        pthread_cond_destroy(&pulse->ended_now);
    }
    watch->pulse = NULL;
    free(pulse);
}

void watch_end(recon_watch *watch)
{
    struct watch_pulse *pulse = watch->pulse;
    watch_hush(watch);
    if (!pulse)
        return;
    pthread_mutex_lock(&lock);
    pulse->ended = true;
    pthread_cond_signal(&pulse->ended_now);
    pthread_mutex_unlock(&lock);
    pthread_join(pulse->thread, NULL);
    pthread_cond_destroy(&pulse->ended_now);
    watch->pulse = NULL;
    free(pulse);
}

/* What the context's progress function gets. It is called without the lock: it may wait for something of its own. */
typedef struct news {
    vf_context *ctx; /* NULL: nothing */
    char title[160];
    double share;
} news;

/* The caller holds the lock. News of the same stage come a few times a second. */
static news take_news(recon_watch *watch, bool new_stage)
{
    static const double OFTEN = 0.05; /* seconds */
    recon_watch *of = watch->whole ? watch->whole : watch;
    news n = {.ctx = of->ctx};
    const double now = n.ctx ? vf_now() : 0;
    if (!n.ctx || (!new_stage && now - of->told_at < OFTEN))
        return (news){0};
    of->told_at = now;
    memcpy(n.title, of->title, sizeof n.title);
    n.share = of->progress.total > 0 ? of->progress.done / of->progress.total : -1;
    return n;
}

static void tell_news(const news *n)
{
    if (n->ctx)
        vf_progress_tell(n->ctx, n->title, n->share);
}

void watch_stage(recon_watch *watch, const char *name, double work)
{
    pthread_mutex_lock(&lock);
    vf_stage_begin(&watch->stages, name);
    vf_progress_end(&watch->progress);
    snprintf(watch->title, sizeof watch->title, "%s%s", watch->which, name);
    vf_progress_begin(&watch->progress, stderr, watch->mode, watch->title, work, 1, NULL);
    if (watch->progress.stream && !watch->pulse)
        start_pulse(watch);
    const news now = take_news(watch, !watch->whole);
    pthread_mutex_unlock(&lock);
    tell_news(&now);
}

void watch_hush(recon_watch *watch)
{
    pthread_mutex_lock(&lock);
    vf_progress_end(&watch->progress);
    pthread_mutex_unlock(&lock);
}

/* The caller holds the lock. */
static void tell_whole(recon_watch *watch, double frames)
{
    vf_progress_add(&watch->whole->progress, frames);
    watch->told += frames;
}

void watch_add(recon_watch *watch, double more)
{
    pthread_mutex_lock(&lock);
    vf_progress_add(&watch->progress, more);
    if (watch->whole && watch->progress.total > 0)
        tell_whole(watch, watch->frames * more / watch->progress.total);
    const news now = take_news(watch, false);
    pthread_mutex_unlock(&lock);
    tell_news(&now);
}

void watch_part(recon_watch *watch, double frames)
{
    watch->frames = frames;
}

void watch_part_ends(recon_watch *watch, double frames)
{
    if (!watch->whole)
        return;
    pthread_mutex_lock(&lock);
    tell_whole(watch, frames - watch->told);
    watch->told = watch->frames = 0;
    pthread_mutex_unlock(&lock);
}

void watch_title(recon_watch *watch, const char *text)
{
    pthread_mutex_lock(&lock);
    snprintf(watch->title, sizeof watch->title, "%s%s", watch->which, text);
    pthread_mutex_unlock(&lock);
}

void watch_tell(void *watch, double more)
{
    watch_add(watch, more);
}
