#include "voxfield/team_size.h"

#include <omp.h>

#include "context_internal.h"
#include "voxfield/timer.h"

static _Thread_local struct {
    const vf_context *ctx;
    int64_t below; /* nanoseconds of work */
    double until;  /* 0: for good */
} alone;

void vf_team_alone(const vf_context *ctx, int64_t below, double until)
{
    alone.ctx = ctx;
    alone.below = below;
    alone.until = until;
}

static bool is_alone(const vf_context *ctx, int64_t work)
{
    return work < alone.below && alone.ctx == ctx && (alone.until == 0 || vf_now() < alone.until);
}

int vf_threads_for(const vf_context *ctx, int64_t work)
{
    return work < vf_context_team_work(ctx) || is_alone(ctx, work) ? 1 : vf_context_threads(ctx);
}

int vf_threads_of_plan(const vf_context *ctx, int made_for, int64_t work)
{
    const int threads = vf_threads_for(ctx, work);
    return threads < made_for ? threads : made_for;
}

int64_t vf_room_of(int64_t rooms, int64_t pieces, int64_t piece)
{
    if (pieces <= rooms)
        return piece;
    return omp_get_thread_num();
}
