/* Scans on the CPU: threads take chunks in order. A thread sums its chunk, which loads it into the cache. It gets the
 * sum before its chunk from the thread with the previous chunk, and passes on the sum before the next one. Then it
 * scans its chunk, and meanwhile prefetches the chunk that it takes next. So memory is read once and written once. Runs
 * and chunks have fixed lengths, and the runs' sums are added in order, so the bits do not depend on the threads. */
#include <sched.h>
#include <stdatomic.h>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "scan_chunks.h"
#include "scan_plan.h"
#include "voxfield/team_size.h"

/* Results of at least STREAM_FROM bytes are written with streaming stores; last-level caches hold some tens of MiB. */
enum { STREAM_FROM = 32 << 20, POLLS = 2000 };

static const char *const names[] = {"chunks", NULL};

static vf_status create(vf_scan *plan)
{
    (void)plan;
    return VF_OK;
}

static void destroy(vf_scan *plan)
{
    (void)plan;
}

static const vf_scan_chunk *chunk_functions(const vf_scan_options *o)
{
    const int row = o->wide ? (int)VF_SCAN_WIDE : (int)o->type;
    if (o->op != VF_SCAN_SUM)
        return &vf_scan_operator_chunks[o->op][o->type];
    switch (vf_cpu_isa()) {
    case VF_ISA_AVX512:
        return &vf_scan_chunks_avx512[row];
    case VF_ISA_AVX2:
        return &vf_scan_chunks_avx2[row];
    default:
        return &vf_scan_chunks_baseline[row];
    }
}

/* Shared by the threads: the next chunk to take, the chunk whose turn it is to add its sums, and the sum before that
 * chunk. Each is on its own cache line. */
typedef struct line {
    _Alignas(64) atomic_llong taken;
    _Alignas(64) atomic_llong turn;
    vf_scan_sum carry;
} line;

static void wait_for_turn(line *shared, int64_t chunk)
{
    for (int poll = 0; atomic_load_explicit(&shared->turn, memory_order_acquire) != chunk; poll++)
        if (poll >= POLLS)
            sched_yield(); /* there may be more threads than cores */
#if defined(__SSE2__)
        else
            _mm_pause();
#endif
}

/* Replaces each sum by the sum before it. */
static void add_up(int64_t runs, vf_scan_sum *sums, vf_scan_append append, vf_scan_sum *carry)
{
    for (int64_t r = 0; r < runs; r++) {
        const vf_scan_sum sum = sums[r];
        sums[r] = *carry;
        append(carry, &sum);
    }
}

static void do_chunks(const vf_scan *plan, int64_t n, vf_scan_piece piece, line *shared)
{
    const vf_scan_chunk *chunk = chunk_functions(&plan->options);
    const vf_scan_append append = vf_scan_append_of(plan->options.op, plan->options.type);
    const size_t size = vf_dtype_bytes(plan->options.type);
    vf_scan_sum sums[VF_SCAN_RUNS] = {{.flag = false}};
    int64_t c = atomic_fetch_add(&shared->taken, 1);
    while (c * VF_SCAN_CHUNK < n) {
        piece.at = c * VF_SCAN_CHUNK;
        piece.count = n - piece.at < VF_SCAN_CHUNK ? n - piece.at : VF_SCAN_CHUNK;
        chunk->sum(&piece, sums);
        wait_for_turn(shared, c);
        add_up((piece.count + VF_SCAN_RUN - 1) / VF_SCAN_RUN, sums, append, &shared->carry);
        atomic_store_explicit(&shared->turn, c + 1, memory_order_release);
        c = atomic_fetch_add(&shared->taken, 1);
        const int64_t next = (c + 1) * VF_SCAN_CHUNK <= n ? c * VF_SCAN_CHUNK : piece.at;
        piece.ahead = (const char *)piece.x + (size_t)next * size;
        chunk->scan(&piece, sums);
    }
#if defined(__SSE2__)
    if (piece.past)
        _mm_sfence(); /* orders streaming stores with others, which a barrier of threads does not */
#endif
}

static vf_status execute(const vf_scan *plan, vf_queue *queue, int64_t n, const void *x, const uint8_t *head, void *y)
{
    const size_t size = vf_dtype_bytes(vf_scan_result(&plan->options));
    const bool past = (size_t)n * size >= STREAM_FROM && x != y && ((uintptr_t)y & 63) == 0;
    const vf_scan_piece piece = {.x = x, .head = head, .y = y, .exclusive = plan->options.exclusive, .past = past};
    line shared = {0};
    shared.carry = vf_scan_identity(plan->options.op, plan->options.type);
#pragma omp parallel num_threads(vf_threads_for(vf_device_context(vf_queue_device(queue)), n))
    do_chunks(plan, n, piece, &shared);
    return VF_OK;
}

const vf_scan_ops vf_scan_ops_cpu = {{VF_DEVICE_CPU, names}, create, destroy, execute};
