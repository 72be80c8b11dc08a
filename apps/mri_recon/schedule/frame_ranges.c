/* The frames of an MPI job, in ranges that rank 0 hands out. */
#include <stdio.h>
#include <stdlib.h>

#include "group_list.h"

/* Windows that overlap cost one more window a range, so there is one range a rank then; otherwise a few, because ranks may
 * differ in speed. */
enum { RANGES_A_RANK = 4 };

int frame_ranges_a_rank(const solve_settings *solve)
{
    return solves_series(solve) ? 1 : RANGES_A_RANK;
}

vf_status frame_ranges_share(const recon_job *j, vf_ranks *ranks, frame_range **out, int *count)
{
    const bool first = vf_ranks_rank(ranks) == 0;
    char *text = NULL, *got = NULL;
    size_t size = 0;
    int wanted = 0;
    *count = 0;
    frame_range *range = *out = calloc((size_t)j->frame_count + 1, sizeof *range);
    double *cost = calloc((size_t)j->frame_count + 1, sizeof *cost);
    FILE *to = range && cost ? open_memstream(&text, &size) : NULL;
    for (int f = 0; f < j->frame_count; f++)
        wanted += frame_is_wanted(j, j->frames[f]);
    const int share = vf_ranks_size(ranks) * frame_ranges_a_rank(j->solve);
    const int most = (wanted + share - 1) / share;
    for (int f = 0, room = 0; to && first && f < j->frame_count; f++) {
        if (!frame_is_wanted(j, j->frames[f]))
            continue;
        if (room == 0 || range[*count - 1].behind < f) {
            range[(*count)++].first = f;
            room = most;
        }
        range[*count - 1].behind = f + 1;
        cost[*count - 1]++;
        room--;
    }
    for (int n = 0; to && n < *count; n++)
        fprintf(to, "%d %d\n", range[n].first, range[n].behind);
    vf_status status = to && fclose(to) == 0 ? VF_OK : vf_fail(j->ctx, VF_ERR_MEMORY, "no memory for ranges of frames");
    if (status == VF_OK && first)
        status = vf_ranks_offer(ranks, *count, cost);
    VF_TRY(status, vf_ranks_share(ranks, 1, text, &got));
    for (char *at = got; at && *at && *count < j->frame_count; at++, ++*count) {
        range[*count].first = (int)strtol(at, &at, 10);
        range[*count].behind = (int)strtol(at, &at, 10);
    }
    free(text);
    free(got);
    free(cost);
    return status;
}
