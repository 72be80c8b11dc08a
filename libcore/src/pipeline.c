#include "voxfield/pipeline.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "voxfield/workpool.h"

/* What one thread works with. */
typedef struct stage {
    int device; /* index */
    vf_queue *queue;
    vf_array memory; /* empty on the CPU: pieces are computed on in their buffers */
    vf_array scratch;
} stage;

struct vf_pipeline {
    vf_context *ctx;
    vf_pipeline_options options;
    int count;
    stage *stages;     /* [count] */
    vf_array *buffers; /* [options.buffers] */
    vf_queue *order;   /* holds no work, but waits for that of the pieces before; NULL: none is needed */
};

typedef struct run {
    const vf_pipeline *pipeline;
    const vf_pipeline_work *work;
    bool ordered;           /* and by more than one thread */
    pthread_mutex_t lock;   /* guards all below; only used if ordered */
    pthread_cond_t changed; /* it is another piece's turn, or the run stops */
    int64_t turn;           /* the piece that may compute */
    vf_status status;       /* of the first piece that failed: no other gets its turn */
} run;

/* ---- memory and queues ---- */

static vf_status check_options(vf_context *ctx, const vf_pipeline_options *o)
{
    const int devices = vf_context_device_count(ctx);
    if (o->devices < 1 || o->devices > devices || o->stages < 1 || (o->ordered && o->devices > 1))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "pipeline: %d stages on each of %d devices of %d%s", o->stages, o->devices,
                       devices, o->ordered ? ", in order" : "");
    return VF_OK;
}

static vf_status make_stage(vf_pipeline *p, stage *s, int device)
{
    vf_device *where = vf_context_device(p->ctx, device);
    s->device = device;
    vf_status status = vf_queue_create(where, &s->queue);
    if (status == VF_OK && !vf_device_is_host(where))
        status = vf_array_create(where, VF_SPACE_DEVICE, VF_U8, (int64_t)p->options.bytes, &s->memory);
    if (status == VF_OK)
        status = vf_array_create(where, VF_SPACE_DEVICE, VF_U8, (int64_t)p->options.scratch, &s->scratch);
    return status;
}

static vf_status make_all(vf_pipeline *p)
{
    const vf_pipeline_options *o = &p->options;
    vf_device *first = vf_context_device(p->ctx, 0);
    p->count = vf_device_is_host(first) ? 1 : o->devices * o->stages;
    if (o->buffers < p->count || o->bytes > INT64_MAX || o->scratch > INT64_MAX)
        return vf_fail(p->ctx, VF_ERR_ARGUMENT, "pipeline: %d buffers of %zu bytes for %d stages", o->buffers, o->bytes,
                       p->count);
    p->stages = calloc((size_t)p->count, sizeof *p->stages);
    p->buffers = calloc((size_t)o->buffers, sizeof *p->buffers);
    vf_status status =
        p->stages && p->buffers ? VF_OK : vf_fail(p->ctx, VF_ERR_MEMORY, "no memory for %d stages", p->count);
    for (int s = 0; s < p->count && status == VF_OK; s++)
        status = make_stage(p, &p->stages[s], s % o->devices);
    for (int b = 0; b < o->buffers && status == VF_OK; b++)
        status = vf_array_create(first, VF_SPACE_PINNED, VF_U8, (int64_t)o->bytes, &p->buffers[b]);
    if (status == VF_OK && o->ordered && p->count > 1)
        status = vf_queue_create(first, &p->order);
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
        return vf_fail(ctx, VF_ERR_MEMORY, "no memory for a pipeline");
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
    for (int s = 0; p->stages && s < p->count; s++) {
        vf_queue_destroy(p->stages[s].queue);
        vf_array_free(&p->stages[s].memory);
        vf_array_free(&p->stages[s].scratch);
    }
    for (int b = 0; p->buffers && b < p->options.buffers; b++)
        vf_array_free(&p->buffers[b]);
    free(p->stages);
    free(p->buffers);
    free(p);
}

int vf_pipeline_stages(const vf_pipeline *p)
{
    return p->count;
}

/* ---- whose turn it is to compute ---- */

/* Waits until all pieces before have computed. The work pool hands pieces out in order, so another thread has each of
 * them, or had, unless the run was cancelled in between, of which no signal comes. */
static vf_status wait_for_turn(run *r, int64_t piece)
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

/* Passes the turn on, or stops those who wait for it. */
static void pass_turn(run *r, int64_t piece, vf_status status)
{
    pthread_mutex_lock(&r->lock);
    if (status == VF_OK)
        r->turn = piece + 1;
    else if (r->status == VF_OK)
        r->status = status;
    pthread_cond_broadcast(&r->changed);
    pthread_mutex_unlock(&r->lock);
}

static vf_status compute_in_turn(run *r, const vf_piece *piece, size_t *bytes)
{
    vf_queue *order = r->pipeline->order;
    vf_status status = wait_for_turn(r, piece->number);
    if (status == VF_OK)
        status = vf_queue_after(piece->queue, order);
    if (status == VF_OK)
        status = r->work->compute(r->work->user, piece, bytes);
    if (status == VF_OK)
        status = vf_queue_after(order, piece->queue);
    pass_turn(r, piece->number, status);
    return status;
}

/* ---- one piece ---- */

static vf_status copy(const vf_pipeline *p, const vf_piece *piece, void *to, const void *from, size_t bytes)
{
    if (bytes > p->options.bytes)
        return vf_fail(p->ctx, VF_ERR_INTERNAL, "pipeline: piece %lld has %zu bytes, more than %zu",
                       (long long)piece->number, bytes, p->options.bytes);
    return to == from ? VF_OK : vf_queue_copy(piece->queue, to, from, bytes);
}

/* All but storing it, on a stage's thread. */
static vf_status produce(void *user, int number, int slot, int64_t item)
{
    run *r = user;
    const vf_pipeline *p = r->pipeline;
    const vf_pipeline_work *w = r->work;
    const stage *s = &p->stages[number];
    void *host = p->buffers[slot].data;
    const vf_piece piece = {.number = item,
                            .device = s->device,
                            .queue = s->queue,
                            .host = host,
                            .memory = s->memory.data ? s->memory.data : host,
                            .scratch = s->scratch.data};
    size_t in = 0, out = 0;
    vf_status status = w->load ? w->load(w->user, &piece, &in) : VF_OK;
    if (status == VF_OK)
        status = copy(p, &piece, piece.memory, host, in);
    if (status != VF_OK && r->ordered)
        pass_turn(r, item, status);
    else if (status == VF_OK)
        status = r->ordered ? compute_in_turn(r, &piece, &out) : w->compute(w->user, &piece, &out);
    if (status == VF_OK && w->store)
        status = copy(p, &piece, host, piece.memory, out);
    /* Also after a failure: what is in the queue must not outlast the run. */
    const vf_status ended = vf_queue_sync(s->queue);
    return status == VF_OK ? ended : status;
}

static vf_status consume(void *user, int slot, int64_t item)
{
    const run *r = user;
    const vf_pipeline_work *w = r->work;
    void *host = r->pipeline->buffers[slot].data;
    const vf_piece piece = {.number = item, .device = -1, .host = host, .memory = host};
    return w->store ? w->store(w->user, &piece) : VF_OK;
}

/* One piece after the other on the caller's thread: a thread would do nothing that this one could not. */
static vf_status run_here(run *r)
{
    vf_context *ctx = r->pipeline->ctx;
    vf_status status = VF_OK;
    for (int64_t item = 0; item < r->work->pieces && status == VF_OK; item++)
        status = vf_cancelled(ctx) ? vf_fail(ctx, VF_ERR_CANCELLED, "interrupted") : produce(r, 0, 0, item);
    return status;
}

vf_status vf_pipeline_run(vf_pipeline *p, const vf_pipeline_work *work)
{
    run r = {.pipeline = p, .work = work, .ordered = p->order != NULL};
    if (work->pieces < 0 || !work->compute)
        return vf_fail(p->ctx, VF_ERR_INTERNAL, "pipeline: %lld pieces", (long long)work->pieces);
    if (p->count == 1 && !work->store)
        return run_here(&r);
    const vf_workpool pool = {.items = work->pieces,
                              .workers = p->count,
                              .slots = p->options.buffers,
                              .user = &r,
                              .produce = produce,
                              .consume = consume};
    pthread_mutex_init(&r.lock, NULL);
    pthread_cond_init(&r.changed, NULL);
    vf_status status = vf_workpool_run(p->ctx, &pool);
    pthread_cond_destroy(&r.changed);
    pthread_mutex_destroy(&r.lock);
    return status;
}
