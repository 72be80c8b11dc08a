/* Starts GPUs ahead: a thread loads the driver and makes the devices' contexts while the caller reads its input. */
#include "warm_up.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "context_internal.h"
#include "voxfield/timer.h"

/* ---- the thread ---- */

/* Touches neither the context's error nor its devices. Errors appear when the device is used. */
static void *start_devices(void *argument)
{
    vf_warm_up *w = argument;
    const double began = vf_now();
    const int there = w->starter.count(w->starter.user);
    for (int i = 0; i < w->count && !atomic_load(&w->unwanted); i++) {
        if (w->ordinals[i] < there && w->starter.start(w->starter.user, w->ordinals[i]))
            w->started++;
        atomic_store(&w->tried, i + 1);
    }
    w->seconds = vf_now() - began;
    atomic_store(&w->ended, true);
    return NULL;
}

void vf_warm_up_init(vf_warm_up *w)
{
    memset(w, 0, sizeof *w);
    pthread_mutex_init(&w->lock, NULL);
}

void vf_warm_up_begin(vf_warm_up *w, const vf_starter *starter, const int *ordinals, int count)
{
    pthread_mutex_lock(&w->lock);
    if (!w->begun && count > 0) {
        w->starter = *starter;
        w->count = count < VF_MAX_DEVICES ? count : VF_MAX_DEVICES;
        memcpy(w->ordinals, ordinals, (size_t)w->count * sizeof *ordinals);
        w->since = vf_now();
        w->begun = w->joinable = pthread_create(&w->thread, NULL, start_devices, w) == 0;
    }
    pthread_mutex_unlock(&w->lock);
}

void vf_warm_up_join(vf_warm_up *w)
{
    pthread_mutex_lock(&w->lock);
    if (w->joinable) {
        const double began = vf_now();
        pthread_join(w->thread, NULL);
        w->waited += vf_now() - began;
        w->joinable = false;
    }
    pthread_mutex_unlock(&w->lock);
}

/* Devices start in tenths of a second and in order, so this polls. */
void vf_warm_up_wait(vf_warm_up *w, const int *ordinals, int count)
{
    int last = 0;
    for (int i = 0; i < w->count; i++)
        for (int k = 0; k < count; k++)
            last = w->ordinals[i] == ordinals[k] ? i + 1 : last;
    pthread_mutex_lock(&w->lock);
    const double began = vf_now();
    while (w->joinable && !atomic_load(&w->ended) && atomic_load(&w->tried) < last)
        (void)usleep(200);
    w->waited += w->joinable ? vf_now() - began : 0;
    pthread_mutex_unlock(&w->lock);
}

void vf_warm_up_stop(vf_warm_up *w)
{
    atomic_store(&w->unwanted, true);
}

void vf_warm_up_end(vf_warm_up *w)
{
    vf_warm_up_stop(w);
    vf_warm_up_join(w);
    pthread_mutex_destroy(&w->lock);
}

vf_warm_up_state vf_warm_up_get(vf_warm_up *w)
{
    vf_warm_up_state state = {0};
    pthread_mutex_lock(&w->lock);
    state.begun = w->begun;
    state.ended = w->begun && atomic_load(&w->ended);
    if (state.ended) {
        state.started = w->started;
        state.seconds = w->seconds;
        state.waited = w->waited;
    } else if (state.begun) {
        state.seconds = vf_now() - w->since;
    }
    pthread_mutex_unlock(&w->lock);
    return state;
}

/* ---- for a context ---- */

static int count_gpus(void *user)
{
    (void)user;
    return vf_cuda_device_count(NULL);
}

static bool start_gpu(void *user, int ordinal)
{
    (void)user;
    return vf_cuda_start(ordinal);
}

void vf_device_warm_up(vf_context *ctx, const char *spec)
{
    static const vf_starter cuda = {.count = count_gpus, .start = start_gpu};
    int ordinals[VF_MAX_DEVICES] = {0};
    const int count = strcmp(spec, "auto") == 0 ? 1 : vf_parse_cuda_spec(spec, ordinals);
    if (vf_built_with_cuda())
        vf_warm_up_begin(vf_context_warm_up(ctx), &cuda, ordinals, count);
}

vf_warm_up_state vf_device_warm_up_state(vf_context *ctx)
{
    return vf_warm_up_get(vf_context_warm_up(ctx));
}
