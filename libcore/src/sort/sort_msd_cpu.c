/* A sort on the CPU by digits from the highest bit down that differs, until few keys are left: these are sorted by
 * insertion (Knuth, The Art of Computer Programming 3, section 5.2.5). All threads share the first pass. Its buckets are
 * finished by one thread each, in its caches; those of many keys are shared again. */
#include <omp.h>
#include <stdlib.h>

#include "sort_team.h"
#include "voxfield/team_size.h"

static uint64_t differing_bits(const vf_sort *plan, const sort_bucket *b)
{
    const sort_team *team = plan->state;
    const int64_t work = sort_team_work(plan, b->end - b->at);
    const int threads = vf_threads_of_plan(vf_device_context(plan->device), team->threads, work);
    enum { CHUNK = 1 << 16 };
    uint64_t bits = 0;
#pragma omp parallel for num_threads(threads) reduction(| : bits)
    for (int64_t at = b->at; at < b->end; at += CHUNK) {
        /* a chunk begins with the last key of the previous one */
        const sort_run run = {
            at > b->at ? at - 1 : at, b->end - at < CHUNK ? b->end : at + CHUNK, b->from.keys, NULL, plan->order, 0, 0};
        bits |= team->pieces->differing(&run, (uint64_t)1 << (b->high - 1));
    }
    return bits & b->mask;
}

static void *scratch_of(const sort_team *team, int thread)
{
    return team->scratch + (size_t)thread * SORT_INNER_KEYS * team->pieces->pair_bytes;
}

/* Finishes a bucket by all threads. */
static void share(const vf_sort *plan, const sort_bucket *b)
{
    const sort_team *team = plan->state;
    const int64_t n = b->end - b->at;
    const uint64_t bits = differing_bits(plan, b);
    const int most = sort_outer_bits(n, sort_team_uses_lines(plan, n, b->other) ? SORT_MOST_BITS : SORT_OUTER_BITS),
              high = bits ? 64 - __builtin_clzll(bits) : b->low + 1,
              width = high - b->low < most ? high - b->low : most, low = high - width;
    const bool is_last = low == b->low, straight = b->in_other || b->back.keys != b->from.keys;
    int64_t ends[SORT_MOST_DIGITS];
    sort_team_pass(plan, b->at, b->end, low, width, b->from, is_last && straight && !b->in_other ? b->back : b->other,
                   ends);
    if (is_last) {
        if (!straight)
            team->pieces->copy(&b->other, &b->back, b->at, b->end);
        return;
    }
    const int threads = vf_threads_of_plan(vf_device_context(plan->device), team->threads, sort_team_work(plan, n));
    const int64_t alone = SORT_INNER_KEYS, part_of = threads > 1 ? n / (2 * threads) : n,
                  many = part_of > alone ? part_of : alone; /* more are too many for one thread */
    const sort_bucket rest = {b->other, b->back, b->other, !b->in_other, b->at, b->end,
                              b->order, b->mask, b->low,   low,          NULL};
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (int d = 0; d < 1 << width; d++) {
        sort_bucket part = rest;
        part.at = d > 0 ? ends[d - 1] : b->at;
        part.end = ends[d];
        part.scratch = scratch_of(team, omp_get_thread_num());
        if (part.end > part.at && part.end - part.at <= many)
            team->pieces->finish(&part);
    }
    for (int d = 0; d < 1 << width; d++) {
        sort_bucket part = rest;
        part.at = d > 0 ? ends[d - 1] : b->at;
        part.end = ends[d];
        if (part.end - part.at > many)
            share(plan, &part);
    }
}

static vf_status create(vf_sort *plan)
{
    vf_status status = sort_team_create(plan, true);
    if (status != VF_OK)
        return status;
    sort_team *team = plan->state;
    team->scratch = malloc((size_t)team->threads * SORT_INNER_KEYS * team->pieces->pair_bytes);
    return team->scratch ? VF_OK
                         : vf_fail(vf_device_context(plan->device), VF_ERR_MEMORY, "not enough memory for a sort");
}

static vf_status execute(const vf_sort *plan, vf_queue *queue, int64_t n, const void *keys, const void *values,
                         void *keys_out, void *values_out)
{
    (void)queue;
    const sort_team *team = plan->state;
    const sort_arrays between = {team->keys.data, team->values.data}, out = {keys_out, values_out},
                      in = sort_arrays_read(keys, values);
    const uint64_t mask = ~(uint64_t)0 << plan->low & ~(uint64_t)0 >> (64 - plan->high);
    const sort_bucket all = {in, between, out, false, 0, n, plan->order, mask, plan->low, plan->high, team->scratch};
    if (n <= SORT_INNER_KEYS)
        team->pieces->finish(&all);
    else
        share(plan, &all);
    return VF_OK;
}

static const char *const names[] = {"msd", NULL};

const vf_sort_ops vf_sort_ops_msd = {{VF_DEVICE_CPU, names}, create, sort_team_destroy, execute};
