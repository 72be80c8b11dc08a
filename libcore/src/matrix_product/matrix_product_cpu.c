/* Matrix products on the CPU: threads take blocks of C, which do not depend on each other. */
#include <stdlib.h>
#include <string.h>

#include "matrix_blocks.h"
#include "voxfield/team_size.h"

typedef struct cpu_state {
    vf_matrix_block_function block;
    int threads;
    size_t room; /* bytes of scratch memory a thread */
    char *scratch;
} cpu_state;

static vf_status create(vf_matrix_product *plan, const char *variant)
{
    vf_context *ctx = vf_device_context(plan->device);
    cpu_state *state = calloc(1, sizeof *state);
    vf_isa isa;
    plan->state = state;
    if (state) {
        state->threads = vf_context_threads(ctx);
        state->room = VF_BLOCK_SCRATCH * vf_dtype_bytes(plan->type);
        state->scratch = aligned_alloc(64, state->room * (size_t)state->threads);
    }
    if (!state || !state->scratch)
        return vf_fail(ctx, VF_ERR_MEMORY, "a matrix product: not enough memory");
    const vf_status status = vf_variant_isa(plan->device, "a matrix product", &variant, &isa);
    if (status == VF_OK)
        state->block = (isa == VF_ISA_AVX512 ? vf_matrix_blocks_avx512
                        : isa == VF_ISA_AVX2 ? vf_matrix_blocks_avx2
                                             : vf_matrix_blocks_baseline)[plan->type == VF_F64];
    return status;
}

static void destroy(vf_matrix_product *plan)
{
    cpu_state *state = plan->state;
    if (!state)
        return;
    free(state->scratch);
    free(state);
}

static vf_status execute(const vf_matrix_product *plan, vf_queue *queue, const vf_matrices *m)
{
    const cpu_state *state = plan->state;
    vf_context *ctx = vf_device_context(plan->device);
    const int64_t down = (m->rows + VF_BLOCK_ROWS - 1) / VF_BLOCK_ROWS,
                  across = (m->columns + VF_BLOCK_COLUMNS - 1) / VF_BLOCK_COLUMNS;
    const double operations = (double)m->rows * (double)m->columns * (double)m->inner;
    const int64_t work = operations < 1e15 ? (int64_t)(operations / 16) : INT64_MAX;
    (void)queue;
    if (m->inner == 0) {
        memset(m->c, 0, (size_t)(m->rows * m->columns) * vf_dtype_bytes(plan->type));
        return VF_OK;
    }
#pragma omp parallel for schedule(dynamic) num_threads(vf_threads_of_plan(ctx, state->threads, work))
    for (int64_t block = 0; block < down * across; block++)
        if (!vf_cancelled(ctx))
            state->block(m, block / across * VF_BLOCK_ROWS, block % across * VF_BLOCK_COLUMNS,
                         state->scratch + state->room * (size_t)vf_room_of(state->threads, down * across, block));
    return vf_cancelled(ctx) ? vf_fail(ctx, VF_ERR_CANCELLED, "interrupted") : VF_OK;
}

const vf_matrix_product_ops vf_matrix_product_ops_cpu = {{VF_DEVICE_CPU, vf_isa_variants}, create, destroy, execute};
