/* What a run is at, for the report and for people. */
#include <pthread.h>
#include <stdio.h>

#include "mri_recon.h"

/* Of all watches: several threads add to one, and watches of parts to that of the whole. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void watch_stage(recon_watch *watch, const char *name, double work)
{
    vf_stage_begin(&watch->stages, name);
    vf_progress_end(&watch->progress);
    snprintf(watch->title, sizeof watch->title, "%s%s", watch->which, name);
    vf_progress_begin(&watch->progress, stderr, watch->mode, watch->title, work, 1, NULL);
}

/* The lock is held. */
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
