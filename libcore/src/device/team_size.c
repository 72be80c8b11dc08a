#include "voxfield/team_size.h"

#ifdef _OPENMP
#include <omp.h>
#endif

/* Threads that wait for work begin and end a region in a few microseconds. If they sleep, because they have waited long or
 * the machine is busy, it takes 10 and more. From twice that on a team is worth it, whichever it is. */
enum { WORTH_A_TEAM = 20000 };

int vf_team_size(int all, int64_t work)
{
    return work < WORTH_A_TEAM ? 1 : all;
}

int vf_threads_for(const vf_context *ctx, int64_t work)
{
    return vf_team_size(vf_context_threads(ctx), work);
}

int vf_threads_of_plan(const vf_context *ctx, int made_for, int64_t work)
{
    const int threads = vf_context_threads(ctx);
    return vf_team_size(threads < made_for ? threads : made_for, work);
}

int64_t vf_room_of(int64_t rooms, int64_t pieces, int64_t piece)
{
    if (pieces <= rooms)
        return piece;
#ifdef _OPENMP
    return omp_get_thread_num();
#else
    return 0;
#endif
}
