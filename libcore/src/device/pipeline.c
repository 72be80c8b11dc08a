#include "voxfield/pipeline.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "backend/simulation.h"
#include "context_internal.h"
#include "voxfield/workpool.h"

/* The resources of one thread. */
typedef struct stage {
    int device; /* index */
    vf_queue *queue;
    vf_array memory; /* empty on the CPU, which computes in the buffers */
    vf_array scratch;
    int64_t pieces; /* processed in this vf_pipeline_run */
} stage;

struct vf_pipeline {
    vf_context *ctx;
    vf_pipeline_options options;
    int count;         /* stages whose devices have not failed */
    stage *stages;     /* [count] */
    int *devices;      /* [count] device of each stage */
    int64_t *fail_at;  /* [device] the piece at which a failure is simulated; -1: none */
    int64_t *done;     /* [device] pieces in the last vf_pipeline_run */
    vf_array *buffers; /* [options.buffers] */
    vf_queue *order;   /* has no work of its own, but waits for that of earlier pieces; NULL: not needed */
};

typedef struct pipeline_run {
    const vf_pipeline *pipeline;
    const vf_pipeline_work *work;
    atomic_llong *begun;    /* [devices] pieces begun */
    bool ordered;           /* ordered, with more than one thread */
    pthread_mutex_t lock;   /* guards all members below; used only if ordered */
    pthread_cond_t changed; /* the turn has changed, or the run stops */
    int64_t turn;           /* the piece that may compute */
    vf_status status;       /* of the first piece that failed; no other piece gets its turn then */
} pipeline_run;

/* ---- memory and queues ---- */

/* The index after the last device. */
static int behind_last(const vf_pipeline *p)
{
    return p->options.first + p->options.devices;
}

static vf_status check_options(vf_context *ctx, const vf_pipeline_options *o)
{
    const int devices = vf_context_device_count(ctx);
    if (o->first < 0 || o->devices < 1 || o->devices > devices - o->first || o->stages < 1 ||
        (o->ordered && o->devices > 1))
        return vf_fail(ctx, VF_ERR_ARGUMENT,
                       "pipeline: cannot run %d stages on each of %d devices from number %d of %d%s", o->stages,
                       o->devices, o->first, devices, o->ordered ? ", in order" : "");
    return VF_OK;
}

static vf_status make_stage(vf_pipeline *p, stage *s, int device)
{
    vf_device *where = vf_context_device(p->ctx, device);
    s->device = device;
    vf_status status = p->fail_at[device] == 0 ? vf_simulation_fail(where) : VF_OK;
    VF_TRY(status, vf_queue_create(where, &s->queue));
    if (status == VF_OK && !vf_device_is_host(where))
        status = vf_array_create(where, VF_SPACE_DEVICE, VF_U8, (int64_t)p->options.bytes, &s->memory);
    VF_TRY(status, vf_array_create(where, VF_SPACE_DEVICE, VF_U8, (int64_t)p->options.scratch, &s->scratch));
    return status;
}

static void free_stage(stage *s)
{
    vf_queue_destroy(s->queue);
    vf_array_free(&s->memory);
    vf_array_free(&s->scratch);
    *s = (stage){0};
}

/* Frees the stages of devices that were given up, and closes the gaps. */
static void drop_failed(vf_pipeline *p)
{
    int kept = 0;
    for (int s = 0; s < p->count; s++) {
        if (vf_device_failure(vf_context_device(p->ctx, p->stages[s].device))) {
            free_stage(&p->stages[s]);
            continue;
        }
        p->devices[kept] = p->stages[s].device;
        p->stages[kept++] = p->stages[s];
    }
    p->count = kept;
}

static bool another_left(const vf_pipeline *p, int device)
{
    for (int d = p->options.first; d < behind_last(p); d++)
        if (d != device && !vf_device_failure(vf_context_device(p->ctx, d)))
            return true;
    return false;
}

/* The stages of a device: the CPU needs no second one to copy. */
static int stages_of(const vf_pipeline *p, int device)
{
    return vf_device_is_host(vf_context_device(p->ctx, device)) ? 1 : p->options.stages;
}

static vf_status make_stages(vf_pipeline *p)
{
    for (int n = 0; n < p->options.stages * p->options.devices; n++) {
        const int device = p->options.first + n % p->options.devices;
        vf_device *where = vf_context_device(p->ctx, device);
        if (vf_device_failure(where) || n / p->options.devices >= stages_of(p, device))
            continue;
        vf_caught error;
        vf_caught *before = vf_catch(p->ctx, &error);
        const vf_status status = make_stage(p, &p->stages[p->count++], device);
        vf_catch_end(before);
        if (p->options.spare && vf_is_device_error(status) && another_left(p, device))
            vf_device_give_up(where, error.text);
        else if (status != VF_OK)
            return vf_fail(p->ctx, status, "%s", error.text);
    }
    drop_failed(p);
    return VF_OK;
}

static vf_status no_device(const vf_pipeline *p)
{
    return vf_fail(p->ctx, VF_ERR_DEVICE, "every device has failed; the first one: %s",
                   vf_device_failure(vf_context_device(p->ctx, p->options.first)));
}

static vf_status make_all(vf_pipeline *p)
{
    const vf_pipeline_options *o = &p->options;
    int stages = 0;
    for (int d = o->first; d < behind_last(p); d++)
        stages += stages_of(p, d);
    if (o->buffers < stages || o->bytes > INT64_MAX || o->scratch > INT64_MAX)
        return vf_fail(p->ctx, VF_ERR_ARGUMENT, "pipeline: %d buffers of %zu bytes for %d stages", o->buffers, o->bytes,
                       stages);
    p->stages = calloc((size_t)stages, sizeof *p->stages);
    p->devices = calloc((size_t)stages, sizeof *p->devices);
    p->fail_at = calloc((size_t)behind_last(p), sizeof *p->fail_at);
    p->done = calloc((size_t)behind_last(p), sizeof *p->done);
    p->buffers = calloc((size_t)o->buffers, sizeof *p->buffers);
    if (!p->stages || !p->devices || !p->fail_at || !p->done || !p->buffers)
        return vf_fail(p->ctx, VF_ERR_MEMORY, "not enough memory for %d stages", stages);
    vf_status status = vf_simulation_read(p->ctx, behind_last(p), p->fail_at);
    VF_TRY(status, make_stages(p));
    if (status == VF_OK && p->count == 0)
        status = no_device(p);
    for (int b = 0; b < o->buffers && status == VF_OK; b++)
        status =
            vf_array_create(o->ordinary ? vf_context_host(p->ctx) : vf_context_device(p->ctx, p->devices[0]),
                            o->ordinary ? VF_SPACE_HOST : VF_SPACE_PINNED, VF_U8, (int64_t)o->bytes, &p->buffers[b]);
    if (status == VF_OK && o->ordered && p->count > 1)
        status = vf_queue_create(vf_context_device(p->ctx, o->first), &p->order);
    return status;
}

vf_status vf_pipeline_create(vf_context *ctx, const vf_pipeline_options *options, vf_pipeline **out)
{
    *out = NULL;
    vf_status status = check_options(ctx, options);
    if (status != VF_OK)
        return status;
    vf_pipeline *p = calloc(1, sizeof *p);
    if (!p)
        return vf_fail(ctx, VF_ERR_MEMORY, "not enough memory for a pipeline");
    p->ctx = ctx;
    p->options = *options;
    status = make_all(p);
    if (status == VF_OK)
        *out = p;
    else
        vf_pipeline_destroy(p);
    return status;
}

void vf_pipeline_destroy(vf_pipeline *p)
{
    if (!p)
        return;
    vf_queue_destroy(p->order);
    for (int s = 0; p->stages && s < p->count; s++)
        free_stage(&p->stages[s]);
    for (int b = 0; p->buffers && b < p->options.buffers; b++)
        vf_array_free(&p->buffers[b]);
    free(p->stages);
    free(p->devices);
    free(p->fail_at);
    free(p->done);
    free(p->buffers);
    free(p);
}

int vf_pipeline_stages(const vf_pipeline *p)
{
    return p->count;
}

int64_t vf_pipeline_done(const vf_pipeline *p, int device)
{
    return p->done[device];
}

/* ---- the order of computing ---- */

/* Waits until all earlier pieces have computed. The work pool hands out pieces in order, so every earlier piece has
 * reached a thread, unless the run was cancelled in between. Nothing signals a cancellation, so this polls. */
static vf_status wait_for_turn(pipeline_run *r, int64_t piece)
{
    vf_context *ctx = r->pipeline->ctx;
    pthread_mutex_lock(&r->lock);
    while (r->status == VF_OK && r->turn != piece) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 50 * 1000 * 1000;
        if (until.tv_nsec >= 1000 * 1000 * 1000) {
            until.tv_nsec -= 1000 * 1000 * 1000;
            until.tv_sec++;
        }
        pthread_cond_timedwait(&r->changed, &r->lock, &until);
        if (r->status == VF_OK && r->turn != piece && vf_cancelled(ctx))
            r->status = vf_fail(ctx, VF_ERR_CANCELLED, "interrupted");
    }
    vf_status status = r->status;
    pthread_mutex_unlock(&r->lock);
    return status;
}

/* Passes the turn on, or stops the waiting threads. */
static void pass_turn(pipeline_run *r, int64_t piece, vf_status status)
{
    pthread_mutex_lock(&r->lock);
    if (status == VF_OK)
        r->turn = piece + 1;
    else if (r->status == VF_OK)
        r->status = status;
    pthread_cond_broadcast(&r->changed);
    pthread_mutex_unlock(&r->lock);
}

static vf_status compute_in_turn(pipeline_run *r, const vf_pipeline_piece *piece, size_t *bytes)
{
    vf_queue *order = r->pipeline->order;
    vf_status status = wait_for_turn(r, piece->number);
    VF_TRY(status, vf_queue_after(piece->queue, order));
    VF_TRY(status, r->work->compute(r->work->user, piece, bytes));
    VF_TRY(status, vf_queue_after(order, piece->queue));
    pass_turn(r, piece->number, status);
    return status;
}

/* ---- one piece ---- */

static vf_status copy(const vf_pipeline *p, const vf_pipeline_piece *piece, void *to, const void *from, size_t bytes)
{
    if (bytes > p->options.bytes)
        return vf_fail(p->ctx, VF_ERR_INTERNAL, "pipeline: piece %lld has %zu bytes, more than %zu",
                       (long long)piece->number, bytes, p->options.bytes);
    return to == from ? VF_OK : vf_queue_copy(piece->queue, to, from, bytes);
}

/* Everything except storing a piece, on a stage's thread. */
static vf_status produce(void *user, int number, int slot, int64_t item)
{
    pipeline_run *r = user;
    const vf_pipeline *p = r->pipeline;
    const vf_pipeline_work *w = r->work;
    stage *s = &p->stages[number];
    void *host = p->buffers[slot].data;
    const vf_pipeline_piece piece = {.number = item,
                                     .device = s->device,
                                     .queue = s->queue,
                                     .host = host,
                                     .memory = s->memory.data ? s->memory.data : host,
                                     .scratch = s->scratch.data};
    const int64_t begun = atomic_fetch_add(&r->begun[s->device], 1) + 1, fail_at = p->fail_at[s->device];
    size_t in = 0, out = 0;
    vf_status status = w->load ? w->load(w->user, &piece, &in) : VF_OK;
    VF_TRY(status, copy(p, &piece, piece.memory, host, in));
    if (status != VF_OK && r->ordered)
        pass_turn(r, item, status);
    else if (status == VF_OK)
        status = r->ordered ? compute_in_turn(r, &piece, &out) : w->compute(w->user, &piece, &out);
    if (status == VF_OK && fail_at > 0 && begun >= fail_at)
        status = vf_simulation_fail(vf_queue_device(s->queue));
    if (status == VF_OK && w->store)
        status = copy(p, &piece, host, piece.memory, out);
    /* Also after a failure: work in the queue must not outlast the run. */
    const vf_status ended = vf_queue_sync(s->queue);
    VF_TRY(status, ended);
    s->pieces += status == VF_OK;
    return status;
}

static void give_up(void *user, int device, const char *error)
{
    const pipeline_run *r = user;
    vf_device_give_up(vf_context_device(r->pipeline->ctx, device), error);
}

static vf_status consume(void *user, int slot, int64_t item)
{
    const pipeline_run *r = user;
    const vf_pipeline_work *w = r->work;
    void *host = r->pipeline->buffers[slot].data;
    const vf_pipeline_piece piece = {.number = item, .device = -1, .host = host, .memory = host};
    return w->store ? w->store(w->user, &piece) : VF_OK;
}

static int64_t next(void *user)
{
    const pipeline_run *r = user;
    return r->work->next(r->work->user);
}

/* Processes one piece after the other on the calling thread; another thread would gain nothing. */
static vf_status run_here(pipeline_run *r)
{
    vf_context *ctx = r->pipeline->ctx;
    vf_status status = VF_OK;
    for (int64_t item = 0; item < r->work->pieces && status == VF_OK; item++)
        status = vf_cancelled(ctx) ? vf_fail(ctx, VF_ERR_CANCELLED, "interrupted") : produce(r, 0, 0, item);
    return status;
}

static vf_status run_threads(pipeline_run *r)
{
    const vf_pipeline *p = r->pipeline;
    const vf_workpool pool = {.items = r->work->pieces,
                              .workers = p->count,
                              .slots = p->options.buffers,
                              .user = r,
                              .produce = produce,
                              .consume = consume,
                              .next = r->work->next ? next : NULL,
                              .devices = p->devices,
                              .give_up = give_up};
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->changed, NULL);
    vf_status status = vf_workpool_run(p->ctx, &pool);
    pthread_cond_destroy(&r->changed);
    pthread_mutex_destroy(&r->lock);
    return status;
}

vf_status vf_pipeline_run(vf_pipeline *p, const vf_pipeline_work *work)
{
    pipeline_run r = {.pipeline = p, .work = work, .ordered = p->order != NULL};
    if (work->pieces < 0 || !work->compute || (work->next && r.ordered))
        return vf_fail(p->ctx, VF_ERR_INTERNAL, "pipeline: %lld pieces, no compute function, or an order of its own",
                       (long long)work->pieces);
    drop_failed(p);
    if (p->count == 0)
        return no_device(p);
    r.begun = calloc((size_t)behind_last(p), sizeof *r.begun);
    if (!r.begun)
        return vf_fail(p->ctx, VF_ERR_MEMORY, "not enough memory for %d devices", p->options.devices);
    for (int s = 0; s < p->count; s++)
        p->stages[s].pieces = 0;
    vf_status status = p->count == 1 && !work->store && !work->next ? run_here(&r) : run_threads(&r);
    for (int d = 0; d < behind_last(p); d++)
        p->done[d] = 0;
    for (int s = 0; s < p->count; s++)
        p->done[p->stages[s].device] += p->stages[s].pieces;
    free(r.begun);
    return status;
}
