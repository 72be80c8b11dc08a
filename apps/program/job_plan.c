/* How long a job of many ranks takes: a simulation of how rank 0 hands out pieces, fed by the plan's measured speed. */
#include <math.h>
#include <stdlib.h>

#include "job.h"
#include "program.h"
#include "voxfield/timer.h"

/* Rank 0 looks for requests at least every millisecond, and so do the others for answers; half of each on average, and a
 * network's microseconds. It answers one request after the other. */
static const double answer_seconds = 1e-3, service_seconds = 2e-5;
/* Rank 0 reads all pieces and writes the output, if they are not in it; a modest parallel file system. */
static const double file_bytes_a_second = 1e9;

double job_seconds(int ranks, int64_t pieces, const double *cost)
{
    double *free_at = calloc((size_t)ranks, sizeof *free_at), served = 0, end = 0;
    for (int64_t n = 0; free_at && n < pieces; n++) {
        int next = 0;
        for (int k = 1; k < ranks; k++)
            next = free_at[k] < free_at[next] ? k : next;
        served = fmax(served, free_at[next]) + service_seconds;
        free_at[next] = (next > 0 ? served + answer_seconds : free_at[next]) + cost[n];
        end = fmax(end, free_at[next]);
    }
    const bool known = free_at;
    free(free_at);
    return known ? end : NAN;
}

void job_say_plan(vf_context *ctx, const pieces_settings *asked, double again, int64_t pieces, const double *cost,
                  double bytes, bool in_place)
{
    char text[32], text2[32], text3[32];
    double whole = 0;
    for (int64_t n = 0; n < pieces; n++)
        whole += cost[n];
    if (asked->ranks_planned == 0 || !(whole > 0))
        return;
    const double shared = job_seconds(asked->ranks_planned, pieces, cost),
                 files = (in_place ? 1 : 2) * bytes / file_bytes_a_second;
    const double ranks = asked->ranks_planned, seconds = again + shared;
    vf_note(ctx, "ranks      %d: about %s, of which %s each rank does again; %lld piece%s, efficiency %.3f",
            asked->ranks_planned, vf_format_seconds(seconds, text, sizeof text),
            vf_format_seconds(again, text2, sizeof text2), (long long)pieces, vf_plural(pieces),
            (again + whole) / (ranks * seconds));
    vf_note(ctx, "           then rank 0 reads%s the result: %s at 1 GB/s", in_place ? "" : " and writes",
            vf_format_seconds(files, text3, sizeof text3));
}
