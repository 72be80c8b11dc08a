/* The job: requests of ranks, and the thread of rank 0 that answers them. Only rank 0 answers, and others only ask, so no two
 * wait for each other. docs/division.md. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "device/context_internal.h"
#include "ranks_internal.h"
#include "voxfield/timer.h"

static const double patience = 10; /* of rank 0, after the program was asked to end */

/* ---- messages ---- */

static void ranks_pause(double ms)
{
    const struct timespec pause = {.tv_nsec = (long)(ms * 1e6)};
    (void)nanosleep(&pause, NULL);
}

static vf_status ranks_check(vf_ranks *r, int error)
{
    if (error == 0)
        return VF_OK;
    r->failed = true;
    return vf_fail(r->ctx, VF_ERR_INTERNAL, "MPI: error %d", error);
}

static vf_status send(vf_ranks *r, int to, message_kind kind, int64_t number, const char *text)
{
    const size_t length = text ? strlen(text) + 1 : 0;
    message *m = calloc(1, sizeof *m + length);
    if (!m || length > INT32_MAX / 2) {
        free(m);
        return vf_fail(r->ctx, VF_ERR_MEMORY, "no memory for a message of %zu bytes", length);
    }
    *m = (message){.number = number, .kind = kind, .length = (int32_t)length};
    if (length > 0)
        memcpy(m->text, text, length);
    pthread_mutex_lock(&r->mpi);
    const int error = r->plugin->send(to, m, (int)(sizeof *m + length));
    pthread_mutex_unlock(&r->mpi);
    free(m);
    return ranks_check(r, error);
}

/* Receives a message, if one is there: *out is NULL otherwise; free() it. */
static vf_status receive(vf_ranks *r, int *from, message **out)
{
    int bytes = 0;
    *out = NULL;
    pthread_mutex_lock(&r->mpi);
    int error = r->plugin->poll(from, &bytes);
    if (!error && *from >= 0) {
        *out = calloc(1, (size_t)bytes + 1);
        if (*out)
            error = r->plugin->receive(*from, *out, bytes);
    }
    pthread_mutex_unlock(&r->mpi);
    if (!error && *from >= 0 && !*out)
        return vf_fail(r->ctx, VF_ERR_MEMORY, "no memory for a message of %d bytes", bytes);
    return ranks_check(r, error);
}

/* Asks rank 0 and waits for its answer: first often, then every millisecond. free() *out. */
static vf_status ask(vf_ranks *r, message_kind kind, int64_t number, const char *text, message **out)
{
    double ms = 0.02;
    int from;
    *out = NULL;
    vf_status status = send(r, 0, kind, number, text);
    while (status == VF_OK && (status = receive(r, &from, out)) == VF_OK && !*out) {
        ranks_pause(ms);
        ms = ms < 1 ? ms * 1.5 : 1;
    }
    return status;
}

/* ---- rank 0: answers ---- */

static int64_t next_held(vf_ranks *r, int rank)
{
    return r->has_verdict ? VF_NEXT_NONE : hand_out_take(&r->list, rank);
}

/* Not before there are items: what a rank finds wrong with the input, rank 0 finds, too. The others may be interrupted as
 * well. */
static void say_failure(vf_ranks *r, int rank)
{
    const rank_state *of = &r->of[rank];
    if (!r->has_verdict && of->status != VF_OK && of->status != VF_ERR_CANCELLED)
        vf_warn(r->ctx, "rank %d on %s failed, and the others do its work: %s", rank, of->host ? of->host : "?",
                of->error ? of->error : "?");
}

/* A rank that ends with an error before all is done gives its items back. Call with the lock held. */
static void end_rank(vf_ranks *r, int rank, const message *m)
{
    rank_state *of = &r->of[rank];
    of->ended = true;
    of->status = (vf_status)m->number;
    (void)hand_out_give_back(&r->list, rank);
    if (of->status == VF_OK)
        return;
    of->error = strdup(m->length > 0 ? m->text : "?");
    if (r->offered)
        say_failure(r, rank);
}

static void take_failure(vf_ranks *r, int64_t code)
{
    r->failures++;
    r->worst = code > r->worst ? code : r->worst;
}

static vf_status answer(vf_ranks *r, int from, const message *m)
{
    rank_state *of = &r->of[from];
    int64_t item = -1;
    pthread_mutex_lock(&r->lock);
    switch ((message_kind)m->kind) {
    case HELLO:
        of->waits = (int)m->number + 1;
        if (!of->host)
            of->host = strdup(m->text);
        break;
    case NEXT:
        item = next_held(r, from);
        break;
    case DONE:
        of->done += hand_out_done(&r->list, from, m->number);
        break;
    case FAILED:
        take_failure(r, m->number);
        break;
    case END:
        end_rank(r, from, m);
        break;
    default:
        break;
    }
    pthread_mutex_unlock(&r->lock);
    return m->kind == NEXT ? send(r, from, ITEM, item, NULL) : VF_OK;
}

/* Answers that had to wait: the text, and the verdict. Returns whether all ranks have the verdict. */
static bool answer_waiting(vf_ranks *r, vf_status *status)
{
    bool all_told = true;
    for (int k = 1; k < r->place.size && *status == VF_OK; k++) {
        rank_state *of = &r->of[k];
        pthread_mutex_lock(&r->lock);
        const char *text = of->waits > 0 ? r->text[of->waits - 1] : NULL;
        const bool answers = text || (of->waits > 0 && r->has_verdict),
                   verdict = of->ended && r->has_verdict && !of->told;
        of->waits = answers ? 0 : of->waits;
        of->told |= verdict;
        all_told &= of->told;
        pthread_mutex_unlock(&r->lock);
        if (answers)
            *status = send(r, k, TEXT, !text, text);
        if (verdict && *status == VF_OK)
            *status = send(r, k, VERDICT, r->verdict, r->said);
    }
    return all_told;
}

static void *serve(void *argument)
{
    vf_ranks *r = argument;
    double ms = 0.02;
    vf_status status = VF_OK;
    bool all_told = false;
    while (status == VF_OK && !all_told) {
        int from;
        message *m;
        status = receive(r, &from, &m);
        if (status == VF_OK && m)
            status = answer(r, from, m);
        all_told = answer_waiting(r, &status);
        ms = m ? 0.02 : ms < 1 ? ms * 1.5 : 1;
        free(m);
        if (!all_told)
            ranks_pause(ms);
    }
    if (status != VF_OK)
        r->failed = true; /* nobody waits for answers then */
    return NULL;
}

/* ---- the job ---- */

vf_status vf_ranks_start(vf_context *ctx, const vf_ranks_launch *launch, vf_ranks **out)
{
    const ranks_plugin *plugin;
    *out = NULL;
    if (launch->library == VF_RANKS_NO)
        return VF_OK;
    vf_status status = ranks_load(ctx, launch->library, &plugin);
    if (status != VF_OK)
        return status;
    vf_ranks *r = calloc(1, sizeof *r);
    if (!r)
        return vf_fail(ctx, VF_ERR_MEMORY, "no memory");
    r->ctx = ctx;
    r->plugin = plugin;
    pthread_mutex_init(&r->mpi, NULL);
    pthread_mutex_init(&r->lock, NULL);
    const int error = plugin->start(&r->place);
    vf_context_keep_signals();
    if (error)
        status = vf_fail(ctx, VF_ERR_INTERNAL, "MPI cannot start: error %d", error);
    else if (launch->size > 0 && r->place.size != launch->size)
        status = vf_fail(ctx, VF_ERR_UNSUPPORTED,
                         "the launcher started %d ranks, but %s knows of %d; the launcher belongs to another MPI: see "
                         "--mpi",
                         launch->size, r->place.library, r->place.size);
    r->of = calloc((size_t)r->place.size + 1, sizeof *r->of);
    if (status == VF_OK && !r->of)
        status = vf_fail(ctx, VF_ERR_MEMORY, "no memory");
    if (status == VF_OK && r->place.rank == 0) {
        r->of[0].host = strdup(r->place.host);
        r->running = pthread_create(&r->thread, NULL, serve, r) == 0;
        if (!r->running)
            status = vf_fail(ctx, VF_ERR_MEMORY, "cannot start a thread");
    }
    if (status == VF_OK) {
        *out = r;
        return VF_OK;
    }
    free(r->of);
    free(r);
    return status;
}

int vf_ranks_rank(const vf_ranks *r)
{
    return r->place.rank;
}

int vf_ranks_size(const vf_ranks *r)
{
    return r->place.size;
}

void vf_ranks_on_node(const vf_ranks *r, int *rank, int *size)
{
    *rank = r->place.node_rank;
    *size = r->place.node_size;
}

const char *vf_ranks_library_name(const vf_ranks *r)
{
    return r->place.library;
}

vf_status vf_ranks_offer(vf_ranks *r, int64_t items, const double *cost)
{
    hand_out list;
    const vf_status status = hand_out_create(r->ctx, items, cost, &list);
    pthread_mutex_lock(&r->lock);
    r->list = list;
    r->offered = status == VF_OK;
    for (int k = 1; k < r->place.size && r->offered; k++)
        if (r->of[k].ended)
            say_failure(r, k);
    pthread_mutex_unlock(&r->lock);
    return status;
}

vf_status vf_ranks_share(vf_ranks *r, int number, const char *text, char **out)
{
    *out = NULL;
    if (r->place.rank == 0) {
        char *copy = strdup(text);
        pthread_mutex_lock(&r->lock);
        r->text[number] = copy;
        pthread_mutex_unlock(&r->lock);
        return copy ? VF_OK : vf_fail(r->ctx, VF_ERR_MEMORY, "no memory");
    }
    message *m;
    vf_status status = ask(r, HELLO, number, r->place.host, &m);
    if (status == VF_OK && m->number != 0)
        status = vf_fail(r->ctx, VF_ERR_CANCELLED, "rank 0 has ended");
    if (status == VF_OK && !(*out = strdup(m->length > 0 ? m->text : "")))
        status = vf_fail(r->ctx, VF_ERR_MEMORY, "no memory");
    free(m);
    return status;
}

int64_t vf_ranks_next(vf_ranks *r)
{
    message *m = NULL;
    int64_t item = VF_NEXT_LATER; /* also if the run is cancelled, which the pool sees for itself */
    if (r->place.rank == 0) {
        pthread_mutex_lock(&r->lock);
        item = next_held(r, 0);
        pthread_mutex_unlock(&r->lock);
        return item;
    }
    if (ask(r, NEXT, 0, NULL, &m) == VF_OK)
        item = m->number;
    else
        vf_context_cancel(r->ctx);
    free(m);
    return item;
}

void vf_ranks_done(vf_ranks *r, int64_t item)
{
    if (r->place.rank == 0) {
        pthread_mutex_lock(&r->lock);
        r->of[0].done += hand_out_done(&r->list, 0, item);
        pthread_mutex_unlock(&r->lock);
    } else if (send(r, 0, DONE, item, NULL) != VF_OK) {
        vf_context_cancel(r->ctx);
    }
}

void vf_ranks_failed(vf_ranks *r, int64_t code)
{
    if (r->place.rank == 0) {
        pthread_mutex_lock(&r->lock);
        take_failure(r, code);
        pthread_mutex_unlock(&r->lock);
    } else if (send(r, 0, FAILED, code, NULL) != VF_OK) {
        vf_context_cancel(r->ctx);
    }
}

int64_t vf_ranks_worst(const vf_ranks *r, int64_t *count)
{
    *count = r->failures;
    return r->worst;
}

bool vf_ranks_offered(vf_ranks *r)
{
    pthread_mutex_lock(&r->lock);
    const bool offered = r->offered;
    pthread_mutex_unlock(&r->lock);
    return offered;
}

double vf_ranks_part(vf_ranks *r)
{
    pthread_mutex_lock(&r->lock);
    const double part = r->list.all > 0 ? r->list.done / r->list.all : 1;
    pthread_mutex_unlock(&r->lock);
    return part;
}

static int count_ended(vf_ranks *r, int64_t *left)
{
    int ended = 0;
    pthread_mutex_lock(&r->lock);
    for (int k = 1; k < r->place.size; k++)
        ended += r->of[k].ended;
    *left = r->list.left;
    pthread_mutex_unlock(&r->lock);
    return ended;
}

vf_status vf_ranks_collect(vf_ranks *r, vf_status status)
{
    int64_t left = 0;
    if (r->place.rank > 0 || status == VF_ERR_CANCELLED || !r->offered)
        return status;
    if (status != VF_OK) {
        vf_warn(r->ctx, "rank 0 on %s failed, and the others do its work: %s", r->place.host,
                vf_context_message(r->ctx));
        r->of[0].error = strdup(vf_context_message(r->ctx));
        pthread_mutex_lock(&r->lock);
        (void)hand_out_give_back(&r->list, 0);
        pthread_mutex_unlock(&r->lock);
    }
    while (count_ended(r, &left) < r->place.size - 1 && !r->failed && !vf_cancelled(r->ctx))
        ranks_pause(1);
    for (int k = 1; k < r->place.size && left == 0; k++)
        if (r->of[k].status == VF_ERR_CANCELLED)
            vf_warn(r->ctx, "rank %d on %s was interrupted, and the others did its work", k,
                    r->of[k].host ? r->of[k].host : "?");
    if (left == 0 && !r->failed) {
        vf_context_clear_error(r->ctx);
        return VF_OK;
    }
    if (vf_cancelled(r->ctx) && status == VF_OK)
        return vf_fail(r->ctx, VF_ERR_CANCELLED, "interrupted");
    for (int k = 1; k < r->place.size && status == VF_OK; k++)
        if (r->of[k].status != VF_OK)
            status = vf_fail(r->ctx, r->of[k].status, "rank %d: %s", k, r->of[k].error ? r->of[k].error : "?");
    return status == VF_OK ? vf_fail(r->ctx, VF_ERR_INTERNAL, "%lld items were not made", (long long)left) : status;
}

static void free_ranks(vf_ranks *r)
{
    hand_out_free(&r->list);
    for (int k = 0; k < r->place.size; k++) {
        free(r->of[k].host);
        free(r->of[k].error);
    }
    free(r->of);
    for (int n = 0; n < VF_RANKS_TEXTS; n++)
        free(r->text[n]);
    pthread_mutex_destroy(&r->mpi);
    pthread_mutex_destroy(&r->lock);
    free(r);
}

/* Rank 0. False: not all ranks have ended, or MPI has failed. */
static bool tell_all(vf_ranks *r, vf_status status)
{
    int64_t left;
    pthread_mutex_lock(&r->lock);
    r->verdict = status;
    (void)snprintf(r->said, sizeof r->said, "%s", status == VF_OK ? "" : vf_context_message(r->ctx));
    r->has_verdict = true;
    pthread_mutex_unlock(&r->lock);
    const double until = vf_now() + patience;
    while (count_ended(r, &left) < r->place.size - 1 && !r->failed && !(vf_cancelled(r->ctx) && vf_now() > until))
        ranks_pause(1);
    if (r->failed || count_ended(r, &left) < r->place.size - 1)
        return false;
    pthread_join(r->thread, NULL);
    return true;
}

static vf_status hear_verdict(vf_ranks *r, vf_status status)
{
    message *m = NULL;
    const vf_status asked = ask(r, END, status, status == VF_OK ? NULL : vf_context_message(r->ctx), &m);
    if (asked == VF_OK) {
        vf_context_clear_error(r->ctx);
        status = (vf_status)m->number;
        if (status != VF_OK)
            status = vf_fail(r->ctx, status, "%s", m->length > 0 ? m->text : "rank 0 has failed");
    }
    free(m);
    return asked == VF_OK ? status : asked;
}

vf_status vf_ranks_end(vf_ranks **ranks, vf_status status)
{
    vf_ranks *r = *ranks;
    *ranks = NULL;
    if (!r)
        return status;
    if (r->place.rank > 0) {
        status = hear_verdict(r, status);
    } else if (!tell_all(r, status)) {
        return status; /* the thread may still be in MPI: the end of the process ends both */
    }
    const int error = r->failed ? 0 : r->plugin->stop();
    if (error)
        vf_warn(r->ctx, "MPI did not end well: error %d", error);
    free_ranks(r);
    return status;
}

void vf_ranks_about(const vf_ranks *r, int rank, const char **host, int64_t *done, const char **error)
{
    const rank_state *of = &r->of[rank];
    *host = of->host ? of->host : "?";
    *done = of->done;
    *error = of->error;
}
