/* Data between rank 0 and another rank. The thread of rank 0 that answers requests must not be shut out of MPI meanwhile, so
 * nobody waits inside it. */
#include <sched.h>

#include "ranks_internal.h"

enum { SMALL = 4096, MOST_AT_ONCE = 1 << 26 }; /* bytes */

static int locked_begin(vf_ranks *r, int rank, void *data, int bytes, bool sends)
{
    pthread_mutex_lock(&r->mpi);
    const int error = r->plugin->data_begin(rank, data, bytes, sends);
    pthread_mutex_unlock(&r->mpi);
    return error;
}

static int locked_test(vf_ranks *r, int *done)
{
    pthread_mutex_lock(&r->mpi);
    const int error = r->plugin->data_test(done);
    pthread_mutex_unlock(&r->mpi);
    return error;
}

/* Of rank 0: that the other rank has ended. Others cannot see whether rank 0 has; it tells them what to do until it ends. */
static bool has_ended(vf_ranks *r, int rank)
{
    if (r->place.rank > 0)
        return false;
    pthread_mutex_lock(&r->lock);
    const bool ended = r->of[rank].ended;
    pthread_mutex_unlock(&r->lock);
    return ended;
}

static vf_status give_up(vf_ranks *r, int rank, bool sends)
{
    pthread_mutex_lock(&r->mpi);
    const int error = r->plugin->data_give_up();
    pthread_mutex_unlock(&r->mpi);
    r->data_left = r->data_left || sends;
    return error ? ranks_check(r, error) : vf_fail(r->ctx, VF_ERR_INTERNAL, "rank %d has ended", rank);
}

/* Small messages are waited for, others are on their way. */
static vf_status move(vf_ranks *r, int rank, void *data, int bytes, bool sends)
{
    double ms = 0.02;
    int done = 0;
    vf_status status = ranks_check(r, locked_begin(r, rank, data, bytes, sends));
    while (status == VF_OK && (status = ranks_check(r, locked_test(r, &done))) == VF_OK && !done) {
        if (has_ended(r, rank))
            return give_up(r, rank, sends);
        if (bytes > SMALL) {
            (void)sched_yield();
            continue;
        }
        ranks_pause(ms);
        ms = ms < 1 ? ms * 1.2 : 1;
    }
    return status;
}

static vf_status move_all(vf_ranks *r, int rank, char *data, int64_t bytes, bool sends)
{
    vf_status status = VF_OK;
    for (int64_t at = 0; at < bytes && status == VF_OK; at += MOST_AT_ONCE)
        status = move(r, rank, data + at, (int)(bytes - at < MOST_AT_ONCE ? bytes - at : MOST_AT_ONCE), sends);
    return status;
}

vf_status vf_ranks_send(vf_ranks *r, int to, const void *data, int64_t bytes)
{
    return move_all(r, to, (char *)data, bytes, true);
}

vf_status vf_ranks_receive(vf_ranks *r, int from, void *data, int64_t bytes)
{
    return move_all(r, from, data, bytes, false);
}
