#include "coil_ranks.h"
#include "frames/frame_images.h"
#include "solve/transfer.h"
#include "solve_group.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "voxfield/copy.h"
#include "voxfield/ranks.h"
#include "voxfield/timer.h"
#include "voxfield/vector.h"

/* Voxels times coils. With fewer, sharing saves seconds at most, and the image keeps the bits of one process. */
enum { WORTH_SHARING = 1 << 21 };
/* What sharing must save to be worth its while, by a measurement that is not exact. */
static const double LEAST_GAIN = 1.1;
static const char text_coils[] = "coils\n"; /* to the other ranks, in place of ranges of frames */

typedef enum command_kind { TAKE_MAPS, APPLY, STOP } command_kind;

typedef enum outcome { NOT_MADE, MADE, INTERRUPTED } outcome; /* of the frame */

typedef struct command {
    int32_t kind, sets;
    int64_t coils; /* STOP: an outcome */
} command;

typedef struct reply {
    int32_t status;
    char text[252];
} reply;

/* Vectors on their way, in host memory. */
typedef struct buffers {
    int64_t bytes; /* of each */
    char *out, *in;
} buffers;

struct coil_ranks {
    vf_ranks *ranks;
    int count;      /* other ranks that take part */
    int *rank;      /* [count] their numbers */
    int64_t *first; /* [count + 2] where each rank's coils begin, rank 0's first */
    bool decided, shared, lost;
    int place;     /* of the maps that they have; -1: none */
    int64_t asked; /* bytes of the last vector */
    buffers host;
    vf_array arrived;
};

static const char *reason_not_to(const recon_job *j)
{
    const recon_share share = j->coils->share;
    return share == RECON_SHARE_NO        ? "--share-coils no"
           : j->solve->method != RECON_CG ? "only the solver's work is shared"
           : j->scan->coils == 1          ? "there is one coil"
           : !j->has_maps                 ? "without coil maps there is no sum over coils"
           : share == RECON_SHARE_AUTO && j->voxels * j->scan->coils < WORTH_SHARING ? "it is small"
                                                                                     : NULL;
}

bool coil_ranks_possible(recon_job *j)
{
    vf_ranks *ranks = j->ranks;
    const bool alone = !ranks || vf_ranks_size(ranks) == 1, asked = j->coils->share == RECON_SHARE_YES;
    if (asked && (alone || j->scan->frames > 1))
        snprintf(j->shared, sizeof j->shared, "the coils are not shared: %s",
                 alone ? "there is one rank; mpirun or srun starts several" : "ranks share the frames instead");
    if (alone || j->scan->frames > 1)
        return false;
    const char *reason = reason_not_to(j);
    if (reason)
        snprintf(j->shared, sizeof j->shared, "one rank makes the frame: %s", reason);
    return !reason;
}

static vf_status make_buffers(buffers *o, vf_context *ctx, int64_t bytes)
{
    if (bytes <= o->bytes)
        return VF_OK;
    free(o->out);
    free(o->in);
    o->out = malloc((size_t)bytes);
    o->in = malloc((size_t)bytes);
    o->bytes = o->out && o->in ? bytes : 0;
    return o->bytes ? VF_OK : vf_fail(ctx, VF_ERR_MEMORY, "no memory for an image of %lld bytes", (long long)bytes);
}

/* ---- rank 0 ---- */

/* Goes on without the n-th of the other ranks. */
static void lose(crew *c, int n, const char *why)
{
    coil_ranks *o = c->others;
    vf_warn(c->job->ctx, "rank %d cannot help with its coils, and the others do its work: %s", o->rank[n], why);
    vf_context_clear_error(c->job->ctx);
    memmove(o->rank + n, o->rank + n + 1, (size_t)(o->count - n - 1) * sizeof *o->rank);
    o->count--;
    o->lost = true;
    o->place = -1;
}

static vf_status say(crew *c, int n, command_kind kind, int sets, int64_t coils)
{
    const command what = {.kind = kind, .sets = sets, .coils = coils};
    return vf_ranks_send(c->others->ranks, c->others->rank[n], &what, sizeof what);
}

static vf_status hear(crew *c, int n)
{
    reply got;
    vf_status status = vf_ranks_receive(c->others->ranks, c->others->rank[n], &got, sizeof got);
    return status == VF_OK && got.status != VF_OK
               ? vf_fail(c->job->ctx, (vf_status)got.status, "%.*s", (int)sizeof got.text - 1, got.text)
               : status;
}

/* Whether to go on without a rank after its error: not if this one is interrupted. */
static bool survives(crew *c, int n, vf_status status)
{
    if (status == VF_OK || vf_cancelled(c->job->ctx))
        return false;
    char why[256];
    (void)snprintf(why, sizeof why, "%s", vf_context_message(c->job->ctx));
    lose(c, n, why);
    return true;
}

static vf_status give_maps(crew *c, int n, const host_maps *maps)
{
    coil_ranks *o = c->others;
    const int64_t first = o->first[n + 1], coils = o->first[n + 2] - first;
    vf_status status = say(c, n, TAKE_MAPS, maps->sets, coils);
    VF_TRY(status, hear(c, n));
    for (int s = 0; s < maps->sets && status == VF_OK; s++)
        status = vf_ranks_send(o->ranks, o->rank[n], maps->data + (s * maps->coils + first) * maps->voxels,
                               coils * maps->voxels * (int64_t)sizeof *maps->data);
    return status == VF_OK ? hear(c, n) : status;
}

/* Cuts the coils among all ranks, and gives each its maps. */
static vf_status give_all(crew *c, const host_maps *maps)
{
    coil_ranks *o = c->others;
    vf_status status = VF_OK;
    bool again = true;
    while (again && o->count > 0) {
        o->count = o->count < maps->coils ? o->count : (int)maps->coils - 1;
        for (int n = 0; n <= o->count + 1; n++)
            o->first[n] = team_cut(maps->coils, 1, o->count + 1, n);
        again = false;
        for (int n = 0; n < o->count && !again; n++) {
            status = give_maps(c, n, maps);
            again = survives(c, n, status);
            if (status != VF_OK && !again)
                return status;
        }
    }
    return VF_OK;
}

/* The image to all ranks. */
static vf_status begin_sum(crew *c, vf_queue *queue, const void *x, int64_t bytes)
{
    coil_ranks *o = c->others;
    vf_status status = vf_queue_copy(queue, o->host.out, x, (size_t)bytes);
    VF_TRY(status, vf_queue_sync(queue));
    o->asked = bytes;
    for (int n = 0; n < o->count && status == VF_OK;) {
        vf_status sent = say(c, n, APPLY, 0, 0);
        if (sent == VF_OK)
            sent = vf_ranks_send(o->ranks, o->rank[n], o->host.out, bytes);
        if (sent == VF_OK)
            n++;
        else if (!survives(c, n, sent)) /* the next one has its number now */
            status = sent;
    }
    return status;
}

static vf_status add_answer(crew *c, int n, vf_queue *queue, void *y)
{
    coil_ranks *o = c->others;
    const vf_dtype type = c->job->type;
    vf_status status = vf_ranks_receive(o->ranks, o->rank[n], o->host.in, o->asked);
    if (status != VF_OK || !y)
        return status;
    status = vf_queue_copy(queue, o->arrived.data, o->host.in, (size_t)o->asked);
    VF_TRY(status, vf_vector_axpby(queue, type, o->asked / (int64_t)vf_dtype_bytes(type), 1, o->arrived.data, 1, y));
    return status == VF_OK ? vf_queue_sync(queue) : status; /* the buffer is free again */
}

/* y += what the other ranks found; y NULL: only ends what has begun. All answers are heard, also those that are of no use any more: who sends one waits. */
static vf_status end_sum(crew *c, vf_queue *queue, void *y)
{
    coil_ranks *o = c->others;
    vf_status status = VF_OK;
    for (int n = 0; n < o->count;) {
        const vf_status heard = hear(c, n);
        if (heard == VF_OK) {
            const vf_status added = add_answer(c, n++, queue, status == VF_OK ? y : NULL);
            status = status == VF_OK ? added : status;
        } else if (!survives(c, n, heard)) {
            status = status == VF_OK ? heard : status;
            n++;
        }
    }
    return status == VF_OK && o->lost ? vf_fail(c->job->ctx, VF_ERR_INTERNAL, "a rank was lost") : status;
}

/* F^H W F of all coils: `own` is that of this rank's. */
typedef struct over_ranks {
    crew *c;
    vf_operator *own;
} over_ranks;

static vf_status apply_all(void *state, vf_queue *queue, const void *x, void *y)
{
    const over_ranks *s = state;
    const vf_vector_space space = vf_operator_domain(s->own);
    vf_status status = begin_sum(s->c, queue, x, space.count * (int64_t)vf_dtype_bytes(space.type));
    if (status != VF_OK)
        return status;
    status = vf_operator_forward(s->own, queue, x, y);
    const vf_status ended = end_sum(s->c, queue, status == VF_OK ? y : NULL);
    return status == VF_OK ? ended : status;
}

static vf_status make_over_ranks(crew *c, vf_operator *own, vf_operator **out)
{
    static const vf_operator_methods methods = {.name = "F^H W F over ranks", .forward = apply_all, .free = free};
    over_ranks *s = malloc(sizeof *s);
    if (!s)
        return vf_fail(c->job->ctx, VF_ERR_MEMORY, "no memory");
    *s = (over_ranks){c, own};
    const vf_vector_space space = vf_operator_domain(own);
    const vf_status status =
        vf_operator_create(vf_operator_device(own), &methods, VF_OPERATOR_SELF_ADJOINT, space, space, s, out);
    if (status != VF_OK)
        free(s);
    return status;
}

vf_status coil_ranks_operator(crew *c, vf_operator *own, vf_operator **out)
{
    *out = NULL;
    return c->others && c->others->shared && c->others->count > 0 ? make_over_ranks(c, own, out) : VF_OK;
}

bool coil_ranks_lost(const crew *c)
{
    return c->others && c->others->lost;
}

vf_status coil_ranks_begin(crew *c)
{
    vf_ranks *ranks = c->job->ranks;
    const int size = vf_ranks_size(ranks);
    char *none = NULL;
    coil_ranks *o = c->others = calloc(1, sizeof *o);
    if (!o)
        return vf_fail(c->job->ctx, VF_ERR_MEMORY, "no memory");
    *o = (coil_ranks){.ranks = ranks,
                      .count = size - 1,
                      .rank = calloc((size_t)size, sizeof *o->rank),
                      .first = calloc((size_t)size + 1, sizeof *o->first),
                      .place = -1};
    if (!o->rank || !o->first)
        return vf_fail(c->job->ctx, VF_ERR_MEMORY, "no memory");
    for (int n = 0; n + 1 < size; n++)
        o->rank[n] = n + 1;
    const vf_status status = vf_ranks_offer(ranks, 1, NULL);
    return status == VF_OK ? vf_ranks_share(ranks, 1, text_coils, &none) : status;
}

/* Seconds of an application of F^H W F to 0 by this rank's devices, with or without the others: the second of two. */
static vf_status measure(crew *c, bool together, double *seconds)
{
    device_solver *s = c->solver;
    vf_operator *all = NULL;
    vf_status status = together ? make_over_ranks(c, s->normal, &all) : VF_OK;
    for (int run = 0; run < 2 && status == VF_OK; run++) {
        const double begin = vf_now();
        status = vf_fill(s->queue, c->job->type, c->sets * c->job->voxels, (const double[2]){0}, s->x.data);
        VF_TRY(status, vf_operator_forward(all ? all : s->normal, s->queue, s->x.data, s->b.data));
        VF_TRY(status, vf_queue_sync(s->queue));
        *seconds = vf_now() - begin;
    }
    vf_operator_free(all);
    return status;
}

static vf_status decide(crew *c, int64_t coils)
{
    coil_ranks *o = c->others;
    double own = 0, together = 0;
    vf_status status = measure(c, false, &own);
    VF_TRY(status, measure(c, true, &together));
    if (status != VF_OK)
        return status;
    const double alone = own * (double)coils / (double)o->first[1];
    const bool pays = alone > LEAST_GAIN * together;
    char *text = c->job->shared;
    const size_t size = sizeof c->job->shared;
    o->decided = true;
    o->shared = pays || c->job->coils->share == RECON_SHARE_YES;
    if (o->shared)
        snprintf(text, size, "%d ranks share the coils: an application of F^H W F takes %.3g s; one rank: about %.3g s",
                 o->count + 1, together, alone);
    else
        snprintf(
            text, size,
            "rank 0 has all coils: an application of F^H W F takes about %.3g s, and %.3g s if %d ranks share them",
            alone, together, o->count + 1);
    return VF_OK;
}

static vf_status share(crew *c, const host_maps *maps)
{
    const recon_job *j = c->job;
    coil_ranks *o = c->others;
    const int64_t count = maps->sets * j->voxels;
    vf_status status = make_buffers(&o->host, j->ctx, count * (int64_t)vf_dtype_bytes(j->type));
    VF_TRY(status, grow_array(vf_queue_device(c->team.queue[0]), VF_SPACE_DEVICE, j->type, count, &o->arrived));
    if (status == VF_OK && o->place != maps->place)
        status = give_all(c, maps);
    o->place = maps->place;
    o->lost = false; /* the coils are cut anew */
    o->shared = o->count > 0;
    return status == VF_OK ? crew_put_coils(c, maps, 0, o->shared ? o->first[1] : maps->coils) : status;
}

vf_status coil_ranks_give(crew *c, const scan_frame *frame)
{
    coil_ranks *o = c->others;
    const host_maps maps = frame_maps(c->job, frame);
    vf_status status;
    do {
        if (o->lost)
            vf_context_clear_error(c->job->ctx);
        o->lost = false;
        status = VF_OK;
        if (o->count > 0 && (o->shared || !o->decided))
            status = share(c, &maps);
        if (status == VF_OK && o->shared && !o->decided)
            status = decide(c, maps.coils);
    } while (status != VF_OK && o->lost && !vf_cancelled(c->job->ctx));
    o->shared = o->shared && o->count > 0;
    return status == VF_OK && !o->shared ? crew_put_coils(c, &maps, 0, maps.coils) : status;
}

void coil_ranks_end(crew *c, bool made)
{
    coil_ranks *o = c->others;
    if (!o)
        return;
    const command stop = {.kind = STOP, .coils = made ? MADE : vf_cancelled(c->job->ctx) ? INTERRUPTED : NOT_MADE};
    for (int rank = 1; rank < vf_ranks_size(o->ranks); rank++)
        if (vf_ranks_send(o->ranks, rank, &stop, sizeof stop) != VF_OK && made)
            vf_context_clear_error(c->job->ctx); /* it has ended */
    free(o->rank);
    free(o->first);
    free(o->host.out);
    free(o->host.in);
    vf_array_free(&o->arrived);
    free(o);
    c->others = NULL;
}

/* ---- the others: what happens to them is told to rank 0, and they stay until it ends ---- */

typedef struct helper {
    crew *crew;
    vf_ranks *ranks;
    buffers host;
    vf_status able; /* not VF_OK: it helps no more */
    char why[252];
} helper;

/* Keeps the first error. */
static void note(helper *h, vf_status status)
{
    vf_context *ctx = h->crew->job->ctx;
    if (status == VF_OK && vf_cancelled(ctx))
        status = vf_fail(ctx, VF_ERR_CANCELLED, "interrupted");
    if (status == VF_OK || h->able != VF_OK)
        return;
    h->able = status;
    (void)snprintf(h->why, sizeof h->why, "%s", vf_context_message(ctx));
    vf_context_clear_error(ctx);
}

static vf_status answer(helper *h)
{
    reply r = {.status = h->able};
    memcpy(r.text, h->why, sizeof r.text);
    return vf_ranks_send(h->ranks, 0, &r, sizeof r);
}

/* `number`: of these maps. */
static vf_status take_maps(helper *h, const command *what, int number)
{
    const recon_job *j = h->crew->job;
    const int64_t of_set = what->coils * j->voxels;
    float complex *data = malloc((size_t)(what->sets * of_set) * sizeof *data + 1);
    note(h, data ? make_buffers(&h->host, j->ctx, what->sets * j->voxels * (int64_t)vf_dtype_bytes(j->type))
                 : vf_fail(j->ctx, VF_ERR_MEMORY, "no memory for the maps of %lld coils", (long long)what->coils));
    vf_status status = answer(h);
    const bool comes = h->able == VF_OK;
    for (int s = 0; s < what->sets && comes && status == VF_OK; s++)
        status = vf_ranks_receive(h->ranks, 0, data + s * of_set, of_set * (int64_t)sizeof *data);
    if (comes && status == VF_OK) {
        const host_maps maps = {
            .place = number, .sets = what->sets, .coils = what->coils, .voxels = j->voxels, .data = data};
        note(h, crew_put_coils(h->crew, &maps, 0, what->coils));
        status = answer(h);
    }
    free(data);
    return status;
}

static vf_status apply(helper *h, int64_t bytes)
{
    const device_solver *s = h->crew->solver;
    vf_status status = vf_queue_copy(s->queue, s->x.data, h->host.in, (size_t)bytes);
    VF_TRY(status, vf_operator_forward(s->normal, s->queue, s->x.data, s->b.data));
    VF_TRY(status, vf_queue_copy(s->queue, h->host.out, s->b.data, (size_t)bytes));
    return status == VF_OK ? vf_queue_sync(s->queue) : status;
}

static vf_status take_image(helper *h)
{
    const int64_t bytes = h->crew->sets * h->crew->job->voxels * (int64_t)vf_dtype_bytes(h->crew->job->type);
    vf_status status = vf_ranks_receive(h->ranks, 0, h->host.in, bytes);
    if (status == VF_OK && h->able == VF_OK)
        note(h, apply(h, bytes));
    VF_TRY(status, answer(h));
    return status == VF_OK && h->able == VF_OK ? vf_ranks_send(h->ranks, 0, h->host.out, bytes) : status;
}

static vf_status serve(helper *h, bool *made)
{
    vf_status status = VF_OK;
    note(h, crew_prepare(h->crew, 0));
    for (int number = 0; status == VF_OK; number++) {
        command what;
        status = vf_ranks_receive(h->ranks, 0, &what, sizeof what);
        if (status == VF_OK && what.kind == STOP) {
            *made = what.coils == MADE;
            if (what.coils == INTERRUPTED)
                return vf_fail(h->crew->job->ctx, VF_ERR_CANCELLED, "rank 0 was interrupted");
            break;
        }
        VF_TRY(status, what.kind == TAKE_MAPS ? take_maps(h, &what, number) : take_image(h));
    }
    return status == VF_OK ? vf_context_status(h->crew->job->ctx) : status;
}

vf_status coil_ranks_serve(crew *c, bool *made)
{
    helper h = {.crew = c, .ranks = c->job->ranks};
    char *text = NULL;
    *made = false;
    vf_status status = vf_ranks_share(h.ranks, 1, NULL, &text);
    if (status == VF_OK && strcmp(text, text_coils) != 0)
        status = vf_fail(c->job->ctx, VF_ERR_INTERNAL, "rank 0 shares no coils: do all ranks have the same options?");
    free(text);
    VF_TRY(status, serve(&h, made));
    free(h.host.out);
    free(h.host.in);
    return status;
}
