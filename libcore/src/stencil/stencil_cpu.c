/* Stencils on the CPU: threads take blocks of rows, plane by plane, so that the rows of three planes stay in a core's
 * cache. */
#include <stdlib.h>

#include "stencil_rows.h"
#include "voxfield/team_size.h"

/* A block: at most LONGEST points of a row, about ROWS_BYTES of a plane (an array of those that a block reads), DEEPEST
 * planes. */
enum { LONGEST = 8192, ROWS_BYTES = 32 << 10, DEEPEST = 64 };

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
    const cpu_state *state = plan->state;
    const int64_t nx = plan->counts[0], ny = plan->counts[1], index[3] = {0, j, k}, stride[3] = {1, nx, nx * ny};
    const int64_t first = j * nx + k * nx * ny, y_faces = vf_stencil_faces(ny, plan->periodic[1]);
    vf_stencil_row row = {.plan = plan, .from = from, .to = to, .omega = pass->omega};
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

static vf_status run(const vf_stencil *plan, vf_queue *queue, const vf_stencil_pass *pass)
{
    const int64_t nx = plan->counts[0], ny = plan->counts[1], nz = plan->counts[2];
    const int64_t length = least(nx, LONGEST), fitting = ROWS_BYTES / (length * (int64_t)vf_dtype_bytes(plan->type));
    const int64_t rows = fitting < 4 ? 4 : fitting, planes = least(nz, DEEPEST);
    const int64_t across = (nx + length - 1) / length, along = (ny + rows - 1) / rows,
                  deep = (nz + planes - 1) / planes;
    (void)queue;
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(vf_device_context(plan->device), plan->points))
    for (int64_t block = 0; block < across * along * deep; block++) {
        const int64_t i = block % across * length, j = block / across % along * rows,
                      k = block / across / along * planes;
        for (int64_t plane = k; plane < least(k + planes, nz); plane++)
            for (int64_t row = j; row < least(j + rows, ny); row++)
                run_row(plan, pass, i, least(i + length, nx), row, plane);
    }
    return VF_OK;
}

const vf_stencil_ops vf_stencil_ops_cpu = {{VF_DEVICE_CPU, vf_isa_variants}, create, destroy, run};
