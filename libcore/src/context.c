#include "voxfield/context.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "context_internal.h"

enum { MESSAGE_SIZE = 1024, MAX_THREADS = 4096 };

struct vf_context {
    pthread_mutex_t lock; /* guards status, message and calls of log */
    vf_status status;
    char message[MESSAGE_SIZE];
    vf_log_fn log;
    void *log_user;
    atomic_bool cancelled;
    int threads;
    vf_device *devices;
    int device_count;
    vf_device host;
};

static int usable_cores(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
        return CPU_COUNT(&set);
    return 1;
}

vf_status vf_context_create(vf_context **out)
{
    *out = NULL;
    vf_context *ctx = calloc(1, sizeof *ctx);
    vf_device *cpu = calloc(1, sizeof *cpu);
    if (!ctx || !cpu || pthread_mutex_init(&ctx->lock, NULL) != 0) {
        free(ctx);
        free(cpu);
        return VF_ERR_MEMORY;
    }
    ctx->threads = usable_cores();
    cpu->ctx = ctx;
    vf_device_init_cpu(cpu);
    ctx->host = *cpu;
    ctx->devices = cpu;
    ctx->device_count = 1;
    *out = ctx;
    return VF_OK;
}

void vf_context_destroy(vf_context *ctx)
{
    if (!ctx)
        return;
    free(ctx->devices);
    pthread_mutex_destroy(&ctx->lock);
    free(ctx);
}

vf_status(vf_fail)(vf_context *ctx, vf_status status, const char *format, ...)
{
    pthread_mutex_lock(&ctx->lock);
    if (ctx->status == VF_OK) {
        va_list args;
        va_start(args, format);
        vsnprintf(ctx->message, sizeof ctx->message, format, args);
        va_end(args);
        ctx->status = status;
    }
    pthread_mutex_unlock(&ctx->lock);
    return status;
}

vf_status vf_context_status(const vf_context *ctx)
{
    pthread_mutex_lock((pthread_mutex_t *)&ctx->lock);
    vf_status status = ctx->status;
    pthread_mutex_unlock((pthread_mutex_t *)&ctx->lock);
    return status;
}

const char *vf_context_message(const vf_context *ctx)
{
    return vf_context_status(ctx) == VF_OK ? "" : ctx->message;
}

void vf_context_clear_error(vf_context *ctx)
{
    pthread_mutex_lock(&ctx->lock);
    ctx->status = VF_OK;
    ctx->message[0] = '\0';
    pthread_mutex_unlock(&ctx->lock);
}

void vf_context_set_log(vf_context *ctx, vf_log_fn log, void *user)
{
    pthread_mutex_lock(&ctx->lock);
    ctx->log = log;
    ctx->log_user = user;
    pthread_mutex_unlock(&ctx->lock);
}

static void VF_PRINTF(3, 0) log_text(vf_context *ctx, vf_log_level level, const char *format, va_list args)
{
    char text[MESSAGE_SIZE];
    vsnprintf(text, sizeof text, format, args);
    pthread_mutex_lock(&ctx->lock);
    if (ctx->log)
        ctx->log(ctx->log_user, level, text);
    pthread_mutex_unlock(&ctx->lock);
}

void vf_note(vf_context *ctx, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    log_text(ctx, VF_LOG_NOTE, format, args);
    va_end(args);
}

void vf_warn(vf_context *ctx, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    log_text(ctx, VF_LOG_WARNING, format, args);
    va_end(args);
}

void vf_context_cancel(vf_context *ctx)
{
    atomic_store(&ctx->cancelled, true);
}

bool vf_cancelled(const vf_context *ctx)
{
    return atomic_load(&ctx->cancelled);
}

static _Atomic(vf_context *) signal_context;

static void on_signal(int number)
{
    (void)number;
    vf_context *ctx = atomic_load(&signal_context);
    if (ctx)
        vf_context_cancel(ctx);
}

void vf_context_cancel_on_signals(vf_context *ctx)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    atomic_store(&signal_context, ctx);
    struct sigaction action = {.sa_handler = ctx ? on_signal : SIG_DFL, .sa_flags = (int)(SA_RESETHAND | SA_RESTART)};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct sigaction old;
        /* nohup and shells' background jobs ignore some of them on purpose: leave those ignored. */
        if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(numbers[i], &action, NULL);
    }
}

vf_status vf_context_set_threads(vf_context *ctx, int threads)
{
    if (threads < 0 || threads > MAX_THREADS)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "threads: %d is not between 0 (one per core) and %d", threads,
                       MAX_THREADS);
    ctx->threads = threads ? threads : usable_cores();
    return VF_OK;
}

int vf_context_threads(const vf_context *ctx)
{
    return ctx->threads;
}

int vf_context_device_count(const vf_context *ctx)
{
    return ctx->device_count;
}

vf_device *vf_context_device(const vf_context *ctx, int index)
{
    return index >= 0 && index < ctx->device_count ? &ctx->devices[index] : NULL;
}

vf_device *vf_context_host(vf_context *ctx)
{
    return &ctx->host;
}

/* Reads "cuda" or "cuda:0,2" into ordinals; returns how many, or 0 if it is neither or names one twice. */
static int parse_cuda_spec(const char *spec, int *ordinals)
{
    if (strncmp(spec, "cuda", 4) != 0)
        return 0;
    spec += 4;
    if (*spec == '\0') {
        ordinals[0] = 0;
        return 1;
    }
    if (*spec != ':')
        return 0;
    int n = 0;
    do {
        char *end;
        if (spec[1] < '0' || spec[1] > '9' || n == VF_MAX_DEVICES)
            return 0;
        long value = strtol(spec + 1, &end, 10);
        if ((*end != ',' && *end != '\0') || value > 1023)
            return 0;
        for (int i = 0; i < n; i++)
            if (ordinals[i] == value)
                return 0;
        ordinals[n++] = (int)value;
        spec = end;
    } while (*spec == ',');
    return n;
}

vf_status vf_context_set_devices(vf_context *ctx, const char *spec)
{
    int ordinals[VF_MAX_DEVICES];
    int cuda = parse_cuda_spec(spec, ordinals);
    int count = cuda ? cuda : 1;
    if (!cuda && strcmp(spec, "cpu") != 0)
        return vf_fail(ctx, VF_ERR_ARGUMENT,
                       "device '%s': expected cpu, cuda, or cuda: with GPU numbers (cuda:0,1), each once", spec);

    vf_device *devices = calloc((size_t)count, sizeof *devices);
    if (!devices)
        return vf_fail(ctx, VF_ERR_MEMORY, "no memory for %d devices", count);
    for (int i = 0; i < count; i++) {
        devices[i].ctx = ctx;
        if (!cuda) {
            vf_device_init_cpu(&devices[i]);
            continue;
        }
        vf_status status = vf_device_init_cuda(&devices[i], ordinals[i]);
        if (status != VF_OK) {
            free(devices);
            return status;
        }
    }
    free(ctx->devices);
    ctx->devices = devices;
    ctx->device_count = count;
    return VF_OK;
}
