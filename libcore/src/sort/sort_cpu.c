/* Histograms and sorts on the CPU. Each thread counts in its own bins. A sort is a counting sort of a few bits per
 * pass, from the lowest up: Knuth, The Art of Computer Programming 3, section 5.2.5. */
#include <stdlib.h>
#include <string.h>

#ifdef _OPENMP
#include <omp.h>
#endif

#include "sort_internal.h"

enum { DIGIT_BITS = 8, DIGITS = 1 << DIGIT_BITS, FEW = 32768 }; /* FEW: elements that are worth another thread */

static int team(vf_device *device)
{
    return vf_context_threads(vf_device_context(device));
}

static int threads_for(int most, int64_t n)
{
    const int64_t worth = n / FEW + 1;
    return worth < most ? (int)worth : most;
}

static int thread_number(void)
{
#ifdef _OPENMP
    return omp_get_thread_num();
#else
    return 0;
#endif
}

static int thread_count(void)
{
#ifdef _OPENMP
    return omp_get_num_threads();
#else
    return 1;
#endif
}

/* ---- histograms ---- */

/* Four tables, because a counter is slow to read again right after a write. */
static void count_bytes(int64_t at, int64_t end, const uint8_t *x, uint64_t *counts)
{
    uint64_t table[4][DIGITS] = {{0}};
    for (; at + 4 <= end; at += 4)
        for (int i = 0; i < 4; i++)
            table[i][x[at + i]]++;
    for (; at < end; at++)
        table[0][x[at]]++;
    for (int b = 0; b < DIGITS; b++)
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

static vf_status histogram_create(vf_histogram *plan)
{
    const int threads = team(plan->device);
    thread_counts *state = malloc(sizeof *state + (size_t)threads * (size_t)plan->bins * sizeof *state->counts);
    plan->state = state;
    if (!state)
        return vf_fail(vf_device_context(plan->device), VF_ERR_MEMORY, "not enough memory for a histogram of %d bins",
                       plan->bins);
    state->threads = threads;
    return VF_OK;
}

static void histogram_destroy(vf_histogram *plan)
{
    free(plan->state);
}

static vf_status histogram_execute(const vf_histogram *plan, vf_queue *queue, int64_t n, const void *x,
                                   uint64_t *counts)
{
    (void)queue;
    thread_counts *state = plan->state;
    uint64_t *all = state->counts;
    const int bins = plan->bins, threads = threads_for(state->threads, n);
    memset(all, 0, (size_t)threads * (size_t)bins * sizeof *all);
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
        const int64_t t = thread_number(), of = thread_count(), at = n / of * t + (t < n % of ? t : n % of),
                      end = at + n / of + (t < n % of);
        uint64_t *mine = all + t * bins;
        if (plan->type == VF_U8)
            count_bytes(at, end, x, mine);
        else if (plan->type == VF_F32)
            count_f32(at, end, x, bins, plan->edges, mine);
        else
            count_f64(at, end, x, bins, plan->edges, mine);
    }
    memset(counts, 0, (size_t)bins * sizeof *counts);
    for (int t = 0; t < threads; t++)
        for (int b = 0; b < bins; b++)
            counts[b] += all[(int64_t)t * bins + b];
    return VF_OK;
}

/* ---- sorting ---- */

/* Pairs in a pass. */
typedef struct pairs {
    uint32_t *keys, *values;
} pairs;

/* Where each thread's elements of each digit begin: by digit, then by thread. */
static void begins_from_counts(int threads, int64_t *counts)
{
    int64_t sum = 0;
    for (int d = 0; d < DIGITS; d++)
        for (int t = 0; t < threads; t++) {
            const int64_t count = counts[t * DIGITS + d];
            counts[t * DIGITS + d] = sum;
            sum += count;
        }
}

/* Sorts by `width` bits, starting at bit `low`. */
static void pass(int threads, int low, int width, int64_t n, const uint32_t *keys, const uint32_t *values, pairs out,
                 int64_t *counts)
{
    const uint32_t mask = (1u << width) - 1;
    memset(counts, 0, (size_t)threads * DIGITS * sizeof *counts);
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
        const int64_t t = thread_number(), of = thread_count(), at = n / of * t + (t < n % of ? t : n % of),
                      end = at + n / of + (t < n % of);
        int64_t *mine = counts + t * DIGITS;
        for (int64_t i = at; i < end; i++)
            mine[keys[i] >> low & mask]++;
#pragma omp barrier
#pragma omp single
        begins_from_counts(threads, counts);
        for (int64_t i = at; i < end; i++) {
            const int64_t to = mine[keys[i] >> low & mask]++;
            out.keys[to] = keys[i];
            out.values[to] = values[i];
        }
    }
}

/* [most] keys and values between two passes, and the threads' counts. */
typedef struct sort_state {
    int threads;
    vf_array scratch;
    int64_t *counts;
} sort_state;

static vf_status sort_create(vf_sort *plan)
{
    sort_state *state = plan->state = calloc(1, sizeof *state);
    if (state) {
        state->threads = team(plan->device);
        state->counts = malloc((size_t)state->threads * DIGITS * sizeof *state->counts);
    }
    if (!state || !state->counts)
        return vf_fail(vf_device_context(plan->device), VF_ERR_MEMORY, "not enough memory for a sort");
    return plan->bits <= DIGIT_BITS
               ? VF_OK
               : vf_array_create(plan->device, VF_SPACE_DEVICE, VF_I32, 2 * plan->most, &state->scratch);
}

static void sort_destroy(vf_sort *plan)
{
    sort_state *state = plan->state;
    if (!state)
        return;
    vf_array_free(&state->scratch);
    free(state->counts);
    free(state);
}

static vf_status sort_execute(const vf_sort *plan, vf_queue *queue, int64_t n, const uint32_t *keys,
                              const uint32_t *values, uint32_t *keys_out, uint32_t *values_out)
{
    (void)queue;
    const sort_state *state = plan->state;
    uint32_t *scratch = state->scratch.data;
    const pairs out = {keys_out, values_out}, between = {scratch, scratch ? scratch + n : NULL};
    const int passes = (plan->bits + DIGIT_BITS - 1) / DIGIT_BITS, width = (plan->bits + passes - 1) / passes;
    const int threads = threads_for(state->threads, n);
    for (int p = 0; p < passes; p++) {
        const pairs to = (passes - p) % 2 ? out : between; /* the last pass goes to `out` */
        pass(threads, p * width, width, n, keys, values, to, state->counts);
        keys = to.keys;
        values = to.values;
    }
    return VF_OK;
}

const vf_sort_ops vf_sort_cpu = {histogram_create, histogram_execute, histogram_destroy,
                                 sort_create,      sort_execute,      sort_destroy};
