/* Stage times for the report, and the progress line. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
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

void watch_stage(recon_watch *watch, const char *name, double work)
{
    pthread_mutex_lock(&lock);
    vf_stage_begin(&watch->stages, name);
    vf_progress_end(&watch->progress);
    snprintf(watch->title, sizeof watch->title, "%s%s", watch->which, name);
    vf_progress_begin(&watch->progress, stderr, watch->mode, watch->title, work, 1, NULL);
    if (watch->progress.stream && !watch->pulse)
        start_pulse(watch);
    pthread_mutex_unlock(&lock);
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
    pthread_mutex_unlock(&lock);
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
