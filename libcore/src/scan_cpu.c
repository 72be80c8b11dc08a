/* Scans on the CPU: threads take chunks twice, first for their sums, then for the results with what comes before each.
 * So that a chunk is still in the cache the second time, that is done for a few chunks a thread at a time. Runs and
 * chunks have fixed lengths, and the runs' sums are added up in their order: threads do not change the bits. */
#include <stdlib.h>

#include "scan_plan.h"

/* Elements of a run; runs of a chunk; chunks of a thread between two passes, and of all at most. */
enum { RUN = 1024, RUNS = 8, CHUNK = RUN * RUNS, OF_A_THREAD = 4, MOST_CHUNKS = 1024, COLUMNS = 8 };

/* The sum of a run, and whether there is a head in it; then what comes before the run. */
typedef struct scan_sum {
    union {
        double real;
        uint64_t integer;
    };
    bool flag;
} scan_sum;

#define IN float
#define SUM double
#define OUT float
#define NAME_OF_SUM real
#define NAME(x) x##_f32
#include "scan_chunk.inc"
#undef IN
#undef OUT
#undef NAME

#define IN double
#define OUT double
#define NAME(x) x##_f64
#include "scan_chunk.inc"
#undef IN
#undef SUM
#undef OUT
#undef NAME_OF_SUM
#undef NAME

#define IN int32_t
#define SUM uint64_t
#define OUT int32_t
#define NAME_OF_SUM integer
#define NAME(x) x##_i32
#include "scan_chunk.inc"
#undef IN
#undef OUT
#undef NAME

#define IN int64_t
#define OUT int64_t
#define NAME(x) x##_i64
#include "scan_chunk.inc"
#undef IN
#undef NAME

#define IN uint8_t
#define NAME(x) x##_u8
#include "scan_chunk.inc"
#undef IN
#undef OUT
#undef NAME

typedef struct chunk_functions {
    void (*sum)(int64_t at, int64_t count, const void *x, const uint8_t *head, scan_sum *sums);
    void (*scan)(int64_t at, int64_t count, const void *x, const uint8_t *head, void *y, const scan_sum *before,
                 bool exclusive);
} chunk_functions;

static const chunk_functions functions_of[] = {
    [VF_F32] = {sum_chunk_f32, scan_chunk_f32}, [VF_F64] = {sum_chunk_f64, scan_chunk_f64},
    [VF_I32] = {sum_chunk_i32, scan_chunk_i32}, [VF_I64] = {sum_chunk_i64, scan_chunk_i64},
    [VF_U8] = {sum_chunk_u8, scan_chunk_u8},
};

static const char *const names[] = {"chunks", NULL};

static vf_status create(vf_scan *plan)
{
    plan->state = calloc((size_t)MOST_CHUNKS * RUNS, sizeof(scan_sum));
    return plan->state ? VF_OK
                       : vf_fail(vf_device_context(plan->device), VF_ERR_MEMORY, "no memory for the plan of a scan");
}

static void destroy(vf_scan *plan)
{
    free(plan->state);
}

/* Puts in place of each sum what comes before it; *carry goes from one group of chunks to the next. */
static void scan_sums(int64_t runs, scan_sum *sums, bool real, scan_sum *carry)
{
    for (int64_t r = 0; r < runs; r++) {
        const scan_sum sum = sums[r];
        sums[r] = *carry;
        if (real)
            carry->real = sum.flag ? sum.real : carry->real + sum.real;
        else
            carry->integer = sum.flag ? sum.integer : carry->integer + sum.integer;
    }
}

static vf_status execute(const vf_scan *plan, vf_queue *queue, int64_t n, const void *x, const uint8_t *head, void *y)
{
    const chunk_functions *f = &functions_of[plan->options.type];
    const bool real = plan->options.type == VF_F32 || plan->options.type == VF_F64;
    const int64_t chunks = (n + CHUNK - 1) / CHUNK;
    scan_sum *sums = plan->state, carry = {.flag = false};
    int threads = vf_context_threads(vf_device_context(vf_queue_device(queue)));
    if (threads > chunks)
        threads = (int)chunks;
    const int64_t group = (int64_t)OF_A_THREAD * threads < MOST_CHUNKS ? (int64_t)OF_A_THREAD * threads : MOST_CHUNKS;
#pragma omp parallel num_threads(threads) if (threads > 1)
    for (int64_t first = 0; first < chunks; first += group) {
        const int64_t here = chunks - first < group ? chunks - first : group;
#pragma omp for schedule(static)
        for (int64_t c = 0; c < here; c++) {
            const int64_t at = (first + c) * CHUNK;
            f->sum(at, n - at < CHUNK ? n - at : CHUNK, x, head, sums + c * RUNS);
        }
#pragma omp single
        scan_sums(here * RUNS, sums, real, &carry);
#pragma omp for schedule(static)
        for (int64_t c = 0; c < here; c++) {
            const int64_t at = (first + c) * CHUNK;
            f->scan(at, n - at < CHUNK ? n - at : CHUNK, x, head, y, sums + c * RUNS, plan->options.exclusive);
        }
    }
    return VF_OK;
}

const vf_scan_ops vf_scan_ops_cpu = {{VF_DEVICE_CPU, names}, create, destroy, execute};
