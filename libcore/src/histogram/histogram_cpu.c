/* Histograms on the CPU. Each thread counts in tables of its own, several if bins are few: consecutive elements, often
 * equal ones, take different tables, because a counter is slow to read again right after a write. */
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "backend/thread_shares.h"
#include "histogram_internal.h"
#include "voxfield/team_size.h"

/* Tables a thread; the most bins for which it has them all; elements whose counts fit 32 bits. */
enum { TABLES = 8, FEW_BINS = 2048, PIECE = 1 << 30 };

static const char *const names[] = {"tables", NULL};

/* The cells of bins by edges, and tables for as many threads as the context has when the plan is made. A table has a place
 * for what is in no bin, then the bins. */
typedef struct thread_tables {
    vf_bin_cells cells;
    int threads, tables;
    int64_t length; /* of a table */
    uint32_t of[];  /* [threads][tables][length] */
} thread_tables;

static void count_bytes(const vf_histogram *plan, int64_t at, int64_t end, const void *data, uint32_t *to)
{
    enum { LENGTH = 257 };
    const uint8_t *x = data;
    (void)plan;
    for (; at + 8 <= end; at += 8) {
        uint64_t word;
        memcpy(&word, x + at, sizeof word);
        for (int i = 0; i < TABLES; i++)
            to[i * LENGTH + 1 + (int)(word >> 8 * i & 0xff)]++;
    }
    for (; at < end; at++)
        to[1 + x[at]]++;
}
_Static_assert(TABLES == sizeof(uint64_t), "a table for each byte of a word");

/* BIN: the bin of x[i]; VF_NO_BIN is the place before the bins. */
#define DEFINE_COUNT(name, type, BIN)                                                                                  \
    static void name(const vf_histogram *plan, int64_t at, int64_t end, const void *data, uint32_t *to)                \
    {                                                                                                                  \
        const type *x = data;                                                                                          \
        const thread_tables *state = plan->state;                                                                      \
        const int64_t length = state->length, mask = state->tables - 1;                                                \
        for (int64_t i = at; i < end; i++)                                                                             \
            to[(i & mask) * length + 1 + BIN]++;                                                                       \
    }
DEFINE_COUNT(count_f32_by_keys, float, vf_bin_f32(&state->cells.f32, true, x[i]))
DEFINE_COUNT(count_f64_by_keys, double, vf_bin_f64(&state->cells.f64, true, x[i]))
DEFINE_COUNT(count_f32_by_width, float, vf_bin_f32(&state->cells.f32, false, x[i]))
DEFINE_COUNT(count_f64_by_width, double, vf_bin_f64(&state->cells.f64, false, x[i]))
DEFINE_COUNT(count_i32, int32_t, vf_equal_bin(&plan->equal, x[i]))
DEFINE_COUNT(count_i64, int64_t, vf_equal_bin(&plan->equal, x[i]))
#undef DEFINE_COUNT

typedef void (*counter)(const vf_histogram *plan, int64_t at, int64_t end, const void *data, uint32_t *to);

static counter counter_of(const vf_histogram *plan)
{
    const thread_tables *state = plan->state;
    switch (plan->type) {
    case VF_F32:
        return state->cells.by_keys ? count_f32_by_keys : count_f32_by_width;
    case VF_F64:
        return state->cells.by_keys ? count_f64_by_keys : count_f64_by_width;
    case VF_I32:
        return count_i32;
    case VF_I64:
        return count_i64;
    default:
        return count_bytes;
    }
}

static vf_status create(vf_histogram *plan)
{
    vf_context *ctx = vf_device_context(plan->device);
    const int threads = vf_context_threads(ctx), tables = plan->bins > FEW_BINS ? 1 : TABLES;
    const int64_t length = plan->bins + 1;
    thread_tables *state =
        malloc(sizeof *state + (size_t)threads * (size_t)tables * (size_t)length * sizeof *state->of);
    plan->state = state;
    if (!state)
        return vf_fail(ctx, VF_ERR_MEMORY, "not enough memory for a histogram of %d bins", plan->bins);
    *state = (thread_tables){.threads = threads, .tables = tables, .length = length};
    return plan->edges ? vf_bin_cells_create(ctx, plan->type, plan->bins, plan->edges, true, &state->cells) : VF_OK;
}

static void destroy(vf_histogram *plan)
{
    thread_tables *state = plan->state;
    if (!state)
        return;
    vf_bin_cells_free(&state->cells);
    free(state);
}

/* Adds to counts what PIECE elements at most have left in all tables. */
static void add_tables(const thread_tables *state, int parts, int bins, uint64_t *counts)
{
    for (int t = 0; t < parts * state->tables; t++)
        for (int b = 0; b < bins; b++)
            counts[b] += state->of[t * state->length + 1 + b];
}

static vf_status execute(const vf_histogram *plan, vf_queue *queue, int64_t n, const void *x, uint64_t *counts)
{
    (void)queue;
    thread_tables *state = plan->state;
    const counter count = counter_of(plan);
    const size_t element = vf_dtype_bytes(plan->type);
    const int64_t own = state->tables * state->length;
    memset(counts, 0, (size_t)plan->bins * sizeof *counts);
    for (int64_t begin = 0; begin < n; begin += PIECE) {
        const int64_t here = n - begin < PIECE ? n - begin : PIECE;
        const int parts = vf_parts_of(state->threads, here);
        memset(state->of, 0, (size_t)(parts * own) * sizeof *state->of);
        const char *from = (const char *)x + begin * (int64_t)element;
#pragma omp parallel num_threads(vf_threads_of_plan(vf_device_context(plan->device), state->threads, parts > 1 ? n : 0))
        {
            const vf_share s = vf_share_of(here, parts);
            count(plan, s.at, s.end, from, state->of + omp_get_thread_num() * own);
        }
        add_tables(state, parts, plan->bins, counts);
    }
    return VF_OK;
}

const vf_histogram_ops vf_histogram_ops_cpu = {{VF_DEVICE_CPU, names}, create, destroy, execute};
