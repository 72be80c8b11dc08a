/* Histograms on the CPU. Each thread counts in its own bins. */
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "backend/thread_shares.h"
#include "histogram_internal.h"
#include "voxfield/team_size.h"

/* Four tables, because a counter is slow to read again right after a write. */
static void count_bytes(int64_t at, int64_t end, const uint8_t *x, uint64_t *counts)
{
    enum { BYTES = 256 };
    uint64_t table[4][BYTES] = {{0}};
    for (; at + 4 <= end; at += 4)
        for (int i = 0; i < 4; i++)
            table[i][x[at + i]]++;
    for (; at < end; at++)
        table[0][x[at]]++;
    for (int b = 0; b < BYTES; b++)
        counts[b] += table[0][b] + table[1][b] + table[2][b] + table[3][b];
}

/* Counts x if it lies between the first and the last edge. Its bin is the last one whose edge is not above x. The
 * binary search takes the same steps for every x. NaN is in no bin. */
#define DEFINE_COUNT(name, type)                                                                                       \
    static void name(int64_t at, int64_t end, const type *x, int bins, const double *edges, uint64_t *counts)          \
    {                                                                                                                  \
        for (; at < end; at++) {                                                                                       \
            const double v = (double)x[at];                                                                            \
            if (!(v >= edges[0] && v < edges[bins]))                                                                   \
                continue;                                                                                              \
            int bin = 0;                                                                                               \
            for (int left = bins; left > 1; left -= left / 2)                                                          \
                bin += v >= edges[bin + left / 2] ? left / 2 : 0;                                                      \
            counts[bin]++;                                                                                             \
        }                                                                                                              \
    }
DEFINE_COUNT(count_f32, float)
DEFINE_COUNT(count_f64, double)
#undef DEFINE_COUNT

/* Counts for as many threads as the context has when the plan is made. */
typedef struct thread_counts {
    int threads;
    uint64_t counts[];
} thread_counts;

static vf_status create(vf_histogram *plan)
{
    const int threads = vf_context_threads(vf_device_context(plan->device));
    thread_counts *state = malloc(sizeof *state + (size_t)threads * (size_t)plan->bins * sizeof *state->counts);
    plan->state = state;
    if (!state)
        return vf_fail(vf_device_context(plan->device), VF_ERR_MEMORY, "not enough memory for a histogram of %d bins",
                       plan->bins);
    state->threads = threads;
    return VF_OK;
}

static void destroy(vf_histogram *plan)
{
    free(plan->state);
}

static vf_status execute(const vf_histogram *plan, vf_queue *queue, int64_t n, const void *x, uint64_t *counts)
{
    (void)queue;
    thread_counts *state = plan->state;
    uint64_t *all = state->counts;
    const int bins = plan->bins, parts = vf_parts_of(state->threads, n);
    memset(all, 0, (size_t)parts * (size_t)bins * sizeof *all);
#pragma omp parallel num_threads(vf_threads_of_plan(vf_device_context(plan->device), state->threads, parts > 1 ? n : 0))
    {
        const vf_share s = vf_share_of(n, parts);
        uint64_t *mine = all + omp_get_thread_num() * bins;
        if (plan->type == VF_U8)
            count_bytes(s.at, s.end, x, mine);
        else if (plan->type == VF_F32)
            count_f32(s.at, s.end, x, bins, plan->edges, mine);
        else
            count_f64(s.at, s.end, x, bins, plan->edges, mine);
    }
    memset(counts, 0, (size_t)bins * sizeof *counts);
    for (int t = 0; t < parts; t++)
        for (int b = 0; b < bins; b++)
            counts[b] += all[(int64_t)t * bins + b];
    return VF_OK;
}

const vf_histogram_ops vf_histogram_cpu = {create, execute, destroy};
