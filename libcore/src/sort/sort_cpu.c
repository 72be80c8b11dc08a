/* Sorts on the CPU. A sort is a counting sort of a few bits per pass, from the lowest up: Knuth, The Art of Computer
 * Programming 3, section 5.2.5. Long sorts collect the pairs of each digit in two cache lines, keys and values, and write
 * whole lines with streaming stores (Satish et al., SIGMOD 2010, 351). So whole lines of the output are written once, and
 * never read. */
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "backend/thread_shares.h"
#include "sort_internal.h"
#include "voxfield/team_size.h"

/* A pass sorts by up to WIDE bits, or up to NARROW of few pairs. LINE: keys in a cache line. STREAM_FROM: bytes of
 * output that do not fit in the caches. */
enum { NARROW = 8, WIDE = 11, DIGITS = 1 << WIDE, LINE = 16, STREAM_FROM = 16 << 20 };

/* Pairs in a pass. */
typedef struct pairs {
    uint32_t *keys, *values;
} pairs;

/* The latest pairs of a digit: pair n of the output is at n % LINE. */
typedef struct line {
    _Alignas(64) uint32_t keys[LINE], values[LINE];
} line;

/* [most] keys and values between two passes, and for each thread counts and, if needed, lines of each digit. */
typedef struct sort_state {
    int threads;
    vf_array scratch;
    int64_t *counts;
    line *lines;
} sort_state;

/* Where each part's elements of each digit begin: by digit, then by part. */
static void begins_from_counts(int parts, uint32_t digits, int64_t *counts)
{
    int64_t sum = 0;
    for (uint32_t d = 0; d < digits; d++)
        for (int t = 0; t < parts; t++) {
            const int64_t count = counts[t * DIGITS + d];
            counts[t * DIGITS + d] = sum;
            sum += count;
        }
}

/* Some consecutive pairs of a pass, and what they are sorted by. */
typedef struct run {
    int64_t at, end;
    const uint32_t *keys, *values;
    int low;
    uint32_t mask;
} run;

/* Puts each pair where the next one of its digit belongs. */
static void scatter(run r, pairs out, int64_t *next)
{
    for (int64_t i = r.at; i < r.end; i++) {
        const int64_t to = next[r.keys[i] >> r.low & r.mask]++;
        out.keys[to] = r.keys[i];
        out.values[to] = r.values[i];
    }
}

#if defined(__SSE2__)
static void stream(uint32_t *to, const uint32_t *from)
{
    for (int i = 0; i < LINE; i += 4)
        _mm_stream_si128((void *)(to + i), _mm_load_si128((const void *)(from + i)));
}

/* Writes the line's pairs [begin, end). The line starts with a multiple of LINE. */
static void write_part(const line *l, int64_t begin, int64_t end, pairs out)
{
    const size_t bytes = (size_t)(end - begin) * sizeof(uint32_t);
    memcpy(out.keys + begin, l->keys + begin % LINE, bytes);
    memcpy(out.values + begin, l->values + begin % LINE, bytes);
}

/* The same as scatter, through lines. Other runs' pairs may be in the first and the last line of each digit. */
static void scatter_lines(run r, pairs out, int64_t *next, line *lines)
{
    int64_t begin[DIGITS];
    memcpy(begin, next, (r.mask + 1) * sizeof *begin);
    for (int64_t i = r.at; i < r.end; i++) {
        const uint32_t key = r.keys[i], d = key >> r.low & r.mask;
        const int64_t to = next[d]++, first = to - (LINE - 1);
        line *l = lines + d;
        l->keys[to % LINE] = key;
        l->values[to % LINE] = r.values[i];
        if (to % LINE != LINE - 1)
            continue;
        if (first >= begin[d]) {
            stream(out.keys + first, l->keys);
            stream(out.values + first, l->values);
        } else {
            write_part(l, begin[d], to + 1, out);
        }
    }
    for (uint32_t d = 0; d <= r.mask; d++) {
        const int64_t first = next[d] / LINE * LINE;
        write_part(lines + d, first > begin[d] ? first : begin[d], next[d], out);
    }
    _mm_sfence(); /* orders streaming stores with others, which a barrier of threads does not */
}

static bool is_long(int64_t n)
{
    return n >= STREAM_FROM / (int64_t)(2 * sizeof(uint32_t));
}
#else
static void scatter_lines(run r, pairs out, int64_t *next, line *lines)
{
    (void)lines;
    scatter(r, out, next);
}

/* Without streaming stores, lines only cost time. */
static bool is_long(int64_t n)
{
    (void)n;
    return false;
}
#endif

static bool on_line(const void *p)
{
    return (uintptr_t)p % sizeof(uint32_t[LINE]) == 0;
}

/* Sorts by `width` bits, starting at bit `low`. */
static void pass(const vf_sort *plan, int parts, int low, int width, int64_t n, const uint32_t *keys,
                 const uint32_t *values, pairs out)
{
    const sort_state *state = plan->state;
    const uint32_t mask = (1u << width) - 1;
    const bool lines = is_long(n) && on_line(out.keys) && on_line(out.values);
    for (int t = 0; t < parts; t++)
        memset(state->counts + t * DIGITS, 0, (mask + 1) * sizeof *state->counts);
#pragma omp parallel num_threads(vf_threads_of_plan(vf_device_context(plan->device), state->threads, parts > 1 ? n : 0))
    {
        const vf_share s = vf_share_of(n, parts);
        const run mine = {s.at, s.end, keys, values, low, mask};
        int64_t *counts = state->counts + omp_get_thread_num() * DIGITS;
        for (int64_t i = mine.at; i < mine.end; i++)
            counts[keys[i] >> low & mask]++;
#pragma omp barrier
#pragma omp single
        begins_from_counts(parts, mask + 1, state->counts);
        if (lines && s.at < s.end)
            scatter_lines(mine, out, counts, state->lines + omp_get_thread_num() * DIGITS);
        else
            scatter(mine, out, counts);
    }
}

static vf_status create(vf_sort *plan)
{
    sort_state *state = plan->state = calloc(1, sizeof *state);
    const bool lines = is_long(plan->most);
    if (state) {
        state->threads = vf_context_threads(vf_device_context(plan->device));
        state->counts = malloc((size_t)state->threads * DIGITS * sizeof *state->counts);
        if (lines)
            state->lines = aligned_alloc(_Alignof(line), (size_t)state->threads * DIGITS * sizeof *state->lines);
    }
    if (!state || !state->counts || (lines && !state->lines))
        return vf_fail(vf_device_context(plan->device), VF_ERR_MEMORY, "not enough memory for a sort");
    return plan->bits <= NARROW
               ? VF_OK
               : vf_array_create(plan->device, VF_SPACE_DEVICE, VF_I32, 2 * (plan->most + LINE), &state->scratch);
}

static void destroy(vf_sort *plan)
{
    sort_state *state = plan->state;
    if (!state)
        return;
    vf_array_free(&state->scratch);
    free(state->counts);
    free(state->lines);
    free(state);
}

static vf_status execute(const vf_sort *plan, vf_queue *queue, int64_t n, const uint32_t *keys, const uint32_t *values,
                         uint32_t *keys_out, uint32_t *values_out)
{
    (void)queue;
    const sort_state *state = plan->state;
    uint32_t *scratch = state->scratch.data;
    const pairs out = {keys_out, values_out},
                between = {scratch, scratch ? scratch + (n + LINE - 1) / LINE * LINE : NULL};
    const int parts = vf_parts_of(state->threads, n);
    /* More bits save passes. But without lines more digits are more than the caches take, unless one pass is left. One
     * thread adds up the counts of all digits and parts: they must be few beside a part's pairs. */
    const bool lines = is_long(n) && on_line(keys_out) && on_line(values_out),
               wide = (lines || plan->bits <= WIDE) && n / parts >= (int64_t)2 * DIGITS * parts;
    const int widest = wide ? WIDE : NARROW;
    const int passes = (plan->bits + widest - 1) / widest, width = (plan->bits + passes - 1) / passes;
    for (int p = 0; p < passes; p++) {
        const pairs to = (passes - p) % 2 ? out : between; /* the last pass goes to `out` */
        pass(plan, parts, p * width, width, n, keys, values, to);
        keys = to.keys;
        values = to.values;
    }
    return VF_OK;
}

const vf_sort_ops vf_sort_cpu = {create, execute, destroy};
