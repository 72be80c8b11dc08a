/* Stencils on the CPU: threads take blocks of rows, plane by plane, so that the rows of three planes stay in a core's
 * cache. */
#include <stdlib.h>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "stencil_rows.h"
#include "voxfield/team_size.h"

/* A block: at most LONGEST points of a row, about ROWS_BYTES of a plane (an array of those that a block reads), DEEPEST
 * planes. STREAM_FROM: bytes of the smallest result that is written past the caches, so that its lines are not read
 * before they are written (copy_cpu.c). */
enum { LONGEST = 8192, ROWS_BYTES = 32 << 10, DEEPEST = 64, STREAM_FROM = 32 << 20 };

typedef struct cpu_state {
    vf_stencil_row_function row;
    void *zeros; /* a row outside the grid */
} cpu_state;

static vf_status create(vf_stencil *plan, const char *variant)
{
    vf_context *ctx = vf_device_context(plan->device);
    cpu_state *state = calloc(1, sizeof *state);
    vf_isa isa;
    plan->state = state;
    if (state)
        state->zeros = calloc((size_t)plan->counts[0] + 1, vf_dtype_bytes(plan->type));
    if (!state || !state->zeros)
        return vf_fail(ctx, VF_ERR_MEMORY, "a stencil: not enough memory for a row of %lld points",
                       (long long)plan->counts[0]);
    const vf_status status = vf_variant_isa(plan->device, "a stencil", &variant, &isa);
    if (status == VF_OK)
        state->row = (isa == VF_ISA_AVX512 ? vf_stencil_rows_avx512
                      : isa == VF_ISA_AVX2 ? vf_stencil_rows_avx2
                                           : vf_stencil_rows_baseline)[plan->type == VF_F64];
    return status;
}

static void destroy(vf_stencil *plan)
{
    cpu_state *state = plan->state;
    if (!state)
        return;
    free(state->zeros);
    free(state);
}

static const void *element(const vf_stencil *plan, const void *array, int64_t i)
{
    return array ? (const char *)array + i * (int64_t)vf_dtype_bytes(plan->type) : NULL;
}

/* Row j of plane k, points [from, to). */
static void run_row(const vf_stencil *plan, const vf_stencil_pass *pass, int64_t from, int64_t to, int64_t j, int64_t k)
{
    const bool past_caches = plan->points * (int64_t)vf_dtype_bytes(plan->type) >= STREAM_FROM;
    const cpu_state *state = plan->state;
    const int64_t nx = plan->counts[0], ny = plan->counts[1], index[3] = {0, j, k}, stride[3] = {1, nx, nx * ny};
    const int64_t first = j * nx + k * nx * ny, y_faces = vf_stencil_faces(ny, plan->periodic[1]);
    vf_stencil_row row = {.plan = plan, .from = from, .to = to, .omega = pass->omega, .past_caches = past_caches};
    row.x = element(plan, pass->x, first);
    row.b = element(plan, pass->b, first);
    row.y = (void *)element(plan, pass->y, first);
    row.reaction = element(plan, plan->reaction, first);
    for (int a = 1; a < 3; a++) {
        const vf_stencil_steps s = vf_stencil_steps_of(index[a], plan->counts[a], plan->periodic[a]);
        const int64_t face = a == 1 ? (k * y_faces + j) * nx : first;
        row.low[a] = s.has_low ? element(plan, pass->x, first + s.low * stride[a]) : state->zeros;
        row.high[a] = s.has_high ? element(plan, pass->x, first + s.high * stride[a]) : state->zeros;
        row.c_low[a] = element(plan, plan->faces[a], face);
        row.c_high[a] = element(plan, plan->faces[a], face + (s.has_high ? s.high : 1) * stride[a]);
    }
    row.c_low[0] = element(plan, plan->faces[0], (k * ny + j) * vf_stencil_faces(nx, plan->periodic[0]));
    state->row(&row);
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void run_block(const vf_stencil *plan, const vf_stencil_pass *pass, const int64_t first[3],
                      const int64_t size[3])
{
    int64_t last[3];
    for (int a = 0; a < 3; a++)
        last[a] = least(first[a] + size[a], plan->counts[a]);
    for (int64_t k = first[2]; k < last[2]; k++)
        for (int64_t j = first[1]; j < last[1]; j++)
            run_row(plan, pass, first[0], last[0], j, k);
}

static vf_status run(const vf_stencil *plan, vf_queue *queue, const vf_stencil_pass *pass)
{
    const int64_t length = least(plan->counts[0], LONGEST);
    const int64_t fitting = ROWS_BYTES / (length * (int64_t)vf_dtype_bytes(plan->type));
    const int64_t size[3] = {length, fitting < 4 ? 4 : fitting, least(plan->counts[2], DEEPEST)};
    int64_t blocks[3];
    for (int a = 0; a < 3; a++)
        blocks[a] = (plan->counts[a] + size[a] - 1) / size[a];
    (void)queue;
#pragma omp parallel num_threads(vf_threads_for(vf_device_context(plan->device), plan->points))
    {
#pragma omp for schedule(static) nowait
        for (int64_t b = 0; b < blocks[0] * blocks[1] * blocks[2]; b++) {
            const int64_t first[3] = {b % blocks[0] * size[0], b / blocks[0] % blocks[1] * size[1],
                                      b / blocks[0] / blocks[1] * size[2]};
            run_block(plan, pass, first, size);
        }
#if defined(__SSE2__)
        _mm_sfence(); /* orders stores past the caches with others; a barrier of threads does not */
#endif
    }
    return VF_OK;
}

const vf_stencil_ops vf_stencil_ops_cpu = {{VF_DEVICE_CPU, vf_isa_variants}, create, destroy, run};
