/* Sessions, Ctrl-C, and arrays on their way to a device and back. */
#include "binding.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "binding_session.h"
#include "voxfield/version.h"

/* ---- SIGINT ---- */

/* The context of the main thread's call, and the handler that was there before. A call that a callback makes has its turn first. */
static _Atomic(vf_context *) watched;
static struct sigaction former;

static void on_interrupt(int number, siginfo_t *info, void *state)
{
    vf_context *ctx = atomic_load(&watched);
    if (ctx)
        vf_context_cancel(ctx);
    if (former.sa_flags & SA_SIGINFO)
        former.sa_sigaction(number, info, state);
    else
        former.sa_handler(number);
}

binding_watch binding_begin(binding_session *session)
{
    binding_watch watch = {.ctx = session->ctx};
    struct sigaction now;
    vf_context_clear_error(session->ctx);
    /* Python takes signals in its main thread. A program that ignores SIGINT, or dies of it, is left alone. */
    if (syscall(SYS_gettid) != getpid() || sigaction(SIGINT, NULL, &now) != 0)
        return watch;
    if (!(now.sa_flags & SA_SIGINFO) && (now.sa_handler == SIG_DFL || now.sa_handler == SIG_IGN))
        return watch;
    watch.outer = atomic_exchange(&watched, session->ctx);
    watch.nested = (now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_interrupt;
    if (!watch.nested) {
        former = now;
        now.sa_flags |= SA_SIGINFO;
        now.sa_sigaction = on_interrupt;
        (void)sigaction(SIGINT, &now, NULL);
    }
    watch.active = true;
    return watch;
}

int binding_end(binding_session *session, const binding_watch *watch, vf_status status)
{
    if (watch->active) {
        struct sigaction now;
        atomic_store(&watched, watch->outer);
        /* A callback may have set another handler, which stays. */
        if (!watch->nested && sigaction(SIGINT, NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) &&
            now.sa_sigaction == on_interrupt)
            (void)sigaction(SIGINT, &former, NULL);
    }
    vf_context_resume(session->ctx);
    if (status != VF_OK) {
        const char *text = vf_context_message(session->ctx);
        snprintf(session->message, sizeof session->message, "%s", text[0] ? text : vf_status_text(status));
        vf_context_clear_error(session->ctx);
    }
    return (int)status;
}

/* ---- sessions ---- */

int binding_open(const char *devices, int threads, binding_session **out, char *message)
{
    *out = NULL;
    binding_session *session = calloc(1, sizeof *session);
    vf_status status = session ? vf_context_create(&session->ctx) : VF_ERR_MEMORY;
    VF_TRY(status, vf_context_set_threads(session->ctx, threads));
    if (devices)
        VF_TRY(status, vf_context_set_devices(session->ctx, devices));
    if (status == VF_OK && devices) {
        session->device = vf_context_device(session->ctx, 0);
        status = vf_queue_create(session->device, &session->queue);
    }
    if (status == VF_OK) {
        *out = session;
        return VF_OK;
    }
    const char *text = session && session->ctx ? vf_context_message(session->ctx) : "";
    snprintf(message, BINDING_MESSAGE, "%s", text[0] ? text : vf_status_text(status));
    binding_close(session);
    return (int)status;
}

void binding_close(binding_session *session)
{
    if (!session)
        return;
    vf_queue_destroy(session->queue);
    vf_context_destroy(session->ctx);
    free(session);
}

const char *binding_message(const binding_session *session)
{
    return session->message;
}

void binding_cancel(binding_session *session)
{
    vf_context_cancel(session->ctx);
}

const char *binding_status_name(int status)
{
    return vf_status_name((vf_status)status);
}

const char *binding_device_name(const binding_session *session)
{
    return vf_device_name(session->device);
}

int binding_threads(const binding_session *session)
{
    return vf_context_threads(session->ctx);
}

int binding_has_cuda(void)
{
    return vf_built_with_cuda();
}

const char *binding_version(void)
{
    return VF_VERSION;
}

/* ---- arrays on their way ---- */

vf_status binding_stage(binding_session *session, const binding_place *place, vf_dtype type, int64_t in_count,
                        const void *in, int64_t out_count, void *out, binding_staged *staged)
{
    *staged = (binding_staged){.in = in, .out = out, .host_out = out};
    vf_status status = VF_OK;
    if (place->on_device && place->stream) {
        vf_queue *caller = NULL;
        status =
            vf_queue_of_stream(session->device, (void *)place->stream, &caller); /* NOLINT: an address by definition */
        VF_TRY(status, vf_queue_after(session->queue, caller));
        staged->caller = caller;
    }
    if (place->on_device || vf_device_is_host(session->device))
        return status;
    VF_TRY(status, vf_array_create(session->device, VF_SPACE_DEVICE, type, in_count, &staged->device_in));
    VF_TRY(status, vf_array_create(session->device, VF_SPACE_DEVICE, type, out_count, &staged->device_out));
    VF_TRY(status, vf_queue_copy(session->queue, staged->device_in.data, in, (size_t)in_count * vf_dtype_bytes(type)));
    staged->in = staged->device_in.data;
    staged->out = staged->device_out.data;
    return status;
}

vf_status binding_unstage(binding_session *session, binding_staged *staged, vf_status status)
{
    if (staged->caller) {
        VF_TRY(status, vf_queue_after(staged->caller, session->queue));
    } else {
        if (staged->device_out.data)
            VF_TRY(status, vf_queue_copy(session->queue, staged->host_out, staged->device_out.data,
                                         (size_t)staged->device_out.count * vf_dtype_bytes(staged->device_out.type)));
        const vf_status synced = vf_queue_sync(session->queue); /* after an error, too: memory is freed */
        status = status == VF_OK ? synced : status;
    }
    vf_queue_destroy(staged->caller);
    vf_array_free(&staged->device_in);
    vf_array_free(&staged->device_out);
    return status;
}
