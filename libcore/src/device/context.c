#include "voxfield/context.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cgroup_limits.h"
#include "context_internal.h"
#include "team_choice.h"
#include "voxfield/team_size.h"
#include "warm_up.h"

enum { MAX_THREADS = 4096 };

struct vf_context {
    pthread_mutex_t lock; /* guards status, message and calls of log */
    vf_status status;
    char message[VF_MESSAGE_SIZE];
    vf_log_fn log;
    void *log_user;
    vf_progress_fn progress;
    void *progress_user;
    atomic_bool cancelled;
    int threads, cores; /* cores: those that the process may use */
    int64_t team_work;  /* nanoseconds from which on a region has all threads */
    bool team_work_is_set;
    struct vf_team_memory team_memory;
    vf_device *devices;
    int device_count;
    vf_device host;
    vf_warm_up warm_up;
};

static int cores_of_process(void)
{
    cpu_set_t set;
    const int bound = sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0 ? CPU_COUNT(&set) : 1;
    const int quota = vf_cgroup_cores("/proc/self/cgroup", "/proc/self/mountinfo");
    return quota < bound ? quota : bound;
}

static int usable_cores(const vf_context *ctx)
{
    const int cores = ctx->cores;
    /* Clusters set it to limit a job's threads. If it is a list, the first number counts. */
    const char *text = getenv("OMP_NUM_THREADS");
    const long wanted = text ? strtol(text, NULL, 10) : 0;
    return wanted > 0 && wanted < cores ? (int)wanted : cores;
}

/* Threads that wait for work begin and end a region in a few microseconds. If they sleep, because they have waited long or the
 * machine is busy, it takes 10 and more. From twice that on a team is worth it, whichever it is. If there are more threads than
 * cores they do sleep, and each takes as long to wake. */
static void set_threads(vf_context *ctx, int threads)
{
    static const int64_t few = 20000, each = 10000;
    ctx->threads = threads;
    if (!ctx->team_work_is_set)
        ctx->team_work = threads > ctx->cores ? few + each * threads : few;
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
    vf_warm_up_init(&ctx->warm_up);
    ctx->cores = cores_of_process();
    set_threads(ctx, usable_cores(ctx));
    cpu->ctx = ctx;
    vf_device_init_cpu(cpu, -1);
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
    vf_warm_up_end(&ctx->warm_up);
    vf_device_forget(ctx->devices, ctx->device_count);
    free(ctx->devices);
    pthread_mutex_destroy(&ctx->lock);
    free(ctx);
}

static _Thread_local vf_caught *catcher;

vf_caught *vf_catch(vf_context *ctx, vf_caught *caught)
{
    vf_caught *before = catcher;
    caught->ctx = ctx;
    caught->status = VF_OK;
    caught->text[0] = '\0';
    catcher = caught;
    return before;
}

void vf_catch_end(vf_caught *before)
{
    catcher = before;
}

vf_status(vf_fail)(vf_context *ctx, vf_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (catcher && catcher->ctx == ctx) {
        if (catcher->status == VF_OK) {
            vsnprintf(catcher->text, sizeof catcher->text, format, args);
            catcher->status = status;
        }
    } else {
        pthread_mutex_lock(&ctx->lock);
        if (ctx->status == VF_OK) {
            vsnprintf(ctx->message, sizeof ctx->message, format, args);
            ctx->status = status;
        }
        pthread_mutex_unlock(&ctx->lock);
    }
    va_end(args);
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
    char text[VF_MESSAGE_SIZE], *whole = NULL; /* of a longer text */
    va_list again;
    va_copy(again, args);
    if (vsnprintf(text, sizeof text, format, args) >= (int)sizeof text && vasprintf(&whole, format, again) < 0)
        whole = NULL;
    va_end(again);
    pthread_mutex_lock(&ctx->lock);
    if (ctx->log)
        ctx->log(ctx->log_user, level, whole ? whole : text);
    pthread_mutex_unlock(&ctx->lock);
    free(whole);
}

void vf_context_set_progress(vf_context *ctx, vf_progress_fn progress, void *user)
{
    pthread_mutex_lock(&ctx->lock);
    ctx->progress = progress;
    ctx->progress_user = user;
    pthread_mutex_unlock(&ctx->lock);
}

void vf_progress_tell(vf_context *ctx, const char *stage, double share)
{
    pthread_mutex_lock(&ctx->lock);
    if (ctx->progress)
        ctx->progress(ctx->progress_user, stage, share < 0 || share > 1 ? share < 0 ? -1 : 1 : share);
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

void vf_context_resume(vf_context *ctx)
{
    atomic_store(&ctx->cancelled, false);
}

static _Atomic(vf_context *) signal_context;

static void on_signal(int number)
{
    (void)number;
    vf_context *ctx = atomic_load(&signal_context);
    if (ctx)
        vf_context_cancel(ctx);
}

static const int stop_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1}; /* USR1: Slurm's --signal, before a time limit */
enum { STOP_SIGNALS = sizeof stop_signals / sizeof *stop_signals };
static atomic_bool watched[STOP_SIGNALS];

void vf_context_cancel_on_signals(vf_context *ctx)
{
    atomic_store(&signal_context, ctx);
    struct sigaction action = {.sa_handler = ctx ? on_signal : SIG_DFL, .sa_flags = (int)(SA_RESETHAND | SA_RESTART)};
    sigemptyset(&action.sa_mask);
    for (int i = 0; i < STOP_SIGNALS; i++) {
        struct sigaction old;
        /* nohup and background jobs of shells ignore some of them on purpose; keep those ignored. */
        atomic_store(&watched[i], sigaction(stop_signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN &&
                                      sigaction(stop_signals[i], &action, NULL) == 0 && ctx);
    }
}

void vf_context_keep_signals(void)
{
    vf_context *ctx = atomic_load(&signal_context);
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)(SA_RESETHAND | SA_RESTART)}, now;
    sigemptyset(&action.sa_mask);
    for (int i = 0; ctx && !vf_cancelled(ctx) && i < STOP_SIGNALS; i++)
        if (atomic_load(&watched[i]) && sigaction(stop_signals[i], NULL, &now) == 0 && now.sa_handler != on_signal)
            (void)sigaction(stop_signals[i], &action, NULL);
}

vf_status vf_context_set_threads(vf_context *ctx, int threads)
{
    if (threads < 0 || threads > MAX_THREADS)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "threads: %d is not between 0 (one per core) and %d", threads,
                       MAX_THREADS);
    set_threads(ctx, threads ? threads : usable_cores(ctx));
    return VF_OK;
}

int vf_context_threads(const vf_context *ctx)
{
    return ctx->threads;
}

int vf_context_cores(const vf_context *ctx)
{
    return ctx->cores;
}

int64_t vf_context_team_work(const vf_context *ctx)
{
    return ctx->team_work;
}

struct vf_team_memory *vf_context_team_memory(vf_context *ctx)
{
    return &ctx->team_memory;
}

void vf_context_set_team_work(vf_context *ctx, int64_t work)
{
    ctx->team_work = work;
    ctx->team_work_is_set = true;
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

vf_warm_up *vf_context_warm_up(vf_context *ctx)
{
    return &ctx->warm_up;
}

/* A parsed list of devices. "cpu" has number -1; "cuda" means "cuda:0". */
typedef struct device_list {
    int count;
    struct {
        vf_device_kind kind;
        int number;
    } of[VF_MAX_DEVICES];
} device_list;

static const char *const kind_names[VF_DEVICE_KINDS] = {"cpu", "cuda", "opencl"};

/* Adds a device; returns false if it is there, or if there is no room. */
static bool add_device(device_list *list, vf_device_kind kind, int number)
{
    for (int i = 0; i < list->count; i++)
        if (list->of[i].kind == kind && list->of[i].number == number)
            return false;
    if (list->count == VF_MAX_DEVICES)
        return false;
    list->of[list->count].kind = kind;
    list->of[list->count++].number = number;
    return true;
}

/* Reads a number at *spec, up to a comma or the end; -1 if there is none. */
static int read_number(const char **spec)
{
    char *end;
    if (**spec < '0' || **spec > '9')
        return -1;
    const long value = strtol(*spec, &end, 10);
    *spec = end;
    return (*end == ',' || *end == '\0') && value <= 1023 ? (int)value : -1;
}

/* Reads "cpu", "cpu:0,1", "cuda", "cuda:0,2", "opencl:1" and lists of them: "cpu,opencl:0". Returns false for anything else, or if
 * it repeats a device. A number without a name is of the kind before it. */
static bool parse_devices(const char *spec, device_list *list)
{
    int kind = VF_DEVICE_KINDS;
    *list = (device_list){0};
    for (bool more = true; more; more = *spec++ == ',') {
        int named = VF_DEVICE_KINDS, number = -1;
        for (int k = 0; k < VF_DEVICE_KINDS; k++)
            if (strncmp(spec, kind_names[k], strlen(kind_names[k])) == 0)
                named = k;
        if (named < VF_DEVICE_KINDS) {
            kind = named;
            spec += strlen(kind_names[kind]);
        }
        if (named < VF_DEVICE_KINDS && *spec != ':')
            number = kind == VF_DEVICE_CPU ? -1 : 0;
        else if (spec += named < VF_DEVICE_KINDS, kind == VF_DEVICE_KINDS || (number = read_number(&spec)) < 0)
            return false;
        if ((*spec != ',' && *spec != '\0') || !add_device(list, (vf_device_kind)kind, number))
            return false;
    }
    return true;
}

int vf_parse_cuda_spec(const char *spec, int *ordinals)
{
    device_list list;
    int count = 0;
    if (!parse_devices(spec, &list))
        return 0;
    for (int i = 0; i < list.count; i++)
        if (list.of[i].kind == VF_DEVICE_CUDA)
            ordinals[count++] = list.of[i].number;
    return count;
}

static vf_status init_device(vf_device *device, vf_device_kind kind, int number)
{
    if (kind == VF_DEVICE_CPU)
        vf_device_init_cpu(device, number);
    return kind == VF_DEVICE_CUDA     ? vf_device_init_cuda(device, number)
           : kind == VF_DEVICE_OPENCL ? vf_device_init_opencl(device, number)
                                      : VF_OK;
}

vf_status vf_context_set_devices(vf_context *ctx, const char *spec)
{
    device_list list;
    int ordinals[VF_MAX_DEVICES];
    vf_status status = VF_OK;
    if (!spec || !parse_devices(spec, &list))
        return vf_fail(
            ctx, VF_ERR_ARGUMENT,
            "device '%s': expected cpu, cuda, opencl, or a list of them with numbers, each once (cuda:0,1 or "
            "cpu,opencl:0)",
            spec ? spec : "NULL");
    vf_warm_up_wait(&ctx->warm_up, ordinals, vf_parse_cuda_spec(spec, ordinals));
    vf_device *devices = calloc((size_t)list.count, sizeof *devices);
    if (!devices)
        return vf_fail(ctx, VF_ERR_MEMORY, "not enough memory for %d devices", list.count);
    for (int i = 0; status == VF_OK && i < list.count; i++) {
        devices[i].ctx = ctx;
        status = init_device(&devices[i], list.of[i].kind, list.of[i].number);
    }
    if (status != VF_OK) {
        free(devices);
        return status;
    }
    vf_device_forget(ctx->devices, ctx->device_count);
    free(ctx->devices);
    ctx->devices = devices;
    ctx->device_count = list.count;
    return VF_OK;
}
