#include "sort_team.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "backend/thread_shares.h"
#include "voxfield/team_size.h"

static bool on_line(const void *p)
{
    return (uintptr_t)p % SORT_LINE_BYTES == 0;
}

static bool is_long(const vf_sort *plan, int64_t n)
{
    return sort_is_long(n * (plan->key_bytes + plan->value_bytes));
}

bool sort_team_uses_lines(const vf_sort *plan, int64_t n, sort_arrays out)
{
    return is_long(plan, n) && on_line(out.keys) && on_line(out.values);
}

int64_t sort_team_work(const vf_sort *plan, int64_t n)
{
    const sort_team *team = plan->state;
    return vf_parts_of(team->threads, n) > 1 ? n : 0;
}

/* Where each part's elements of each digit go: by digit, then by part. */
static void begins_from_counts(int parts, uint32_t digits, int64_t at, int64_t *counts)
{
    for (uint32_t d = 0; d < digits; d++)
        for (int t = 0; t < parts; t++) {
            int64_t *begin = counts + t * SORT_MOST_DIGITS + d;
            const int64_t count = *begin;
            *begin = at;
            at += count;
        }
}

void sort_team_pass(const vf_sort *plan, int64_t at, int64_t end, int low, int width, sort_arrays from, sort_arrays out,
                    int64_t *ends)
{
    const sort_team *team = plan->state;
    const sort_pieces *pieces = team->pieces;
    vf_context *ctx = vf_device_context(plan->device);
    const int64_t work = sort_team_work(plan, end - at);
    const int parts = vf_parts_of(team->threads, end - at);
    const uint32_t mask = (1u << width) - 1;
    const bool lines = sort_team_uses_lines(plan, end - at, out);
    for (int t = 0; t < parts; t++)
        memset(team->counts + t * SORT_MOST_DIGITS, 0, (mask + 1) * sizeof *team->counts);
#pragma omp parallel num_threads(vf_threads_of_plan(ctx, team->threads, work))
    {
        const vf_share s = vf_share_of(end - at, parts);
        const sort_run mine = {at + s.at, at + s.end, from.keys, from.values, plan->order, low, mask};
        int64_t *counts = team->counts + omp_get_thread_num() * SORT_MOST_DIGITS;
        if (s.at < s.end)
            pieces->count(&mine, counts);
#pragma omp barrier
#pragma omp single
        begins_from_counts(parts, mask + 1, at, team->counts);
        if (lines && s.at < s.end)
            pieces->scatter_lines(&mine, out, counts,
                                  team->lines + (size_t)omp_get_thread_num() * SORT_MOST_DIGITS * pieces->line_bytes);
        else if (s.at < s.end)
            pieces->scatter(&mine, out, counts);
    }
    if (ends) /* a digit of the last part ends where the next digit begins */
        memcpy(ends, team->counts + (parts - 1) * SORT_MOST_DIGITS, (mask + 1) * sizeof *ends);
}

vf_status sort_team_create(vf_sort *plan, bool between)
{
    sort_team *team = plan->state = calloc(1, sizeof *team);
    const bool lines = is_long(plan, plan->most);
    if (team) {
        team->pieces = sort_pieces_for(plan);
        team->threads = vf_context_threads(vf_device_context(plan->device));
        team->counts = malloc((size_t)team->threads * SORT_MOST_DIGITS * sizeof *team->counts);
        if (lines)
            team->lines =
                aligned_alloc(SORT_LINE_BYTES, (size_t)team->threads * SORT_MOST_DIGITS * team->pieces->line_bytes);
    }
    if (!team || !team->counts || (lines && !team->lines))
        return vf_fail(vf_device_context(plan->device), VF_ERR_MEMORY, "not enough memory for a sort");
    if (!between)
        return VF_OK;
    vf_status status = vf_array_create(plan->device, VF_SPACE_DEVICE, VF_U8, plan->most * plan->key_bytes, &team->keys);
    if (status == VF_OK)
        status = vf_array_create(plan->device, VF_SPACE_DEVICE, VF_U8, plan->most * plan->value_bytes, &team->values);
    return status;
}

void sort_team_destroy(vf_sort *plan)
{
    sort_team *team = plan->state;
    if (!team)
        return;
    vf_array_free(&team->keys);
    vf_array_free(&team->values);
    free(team->counts);
    free(team->lines);
    free(team->scratch);
    free(team);
}
