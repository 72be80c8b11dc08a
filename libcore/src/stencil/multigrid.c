#include "voxfield/multigrid.h"

#include <math.h>
#include <stdlib.h>

#include "backend/variants.h"
#include "multigrid_plan.h"
#include "stencil_plan.h"

/* An axis of fewer points is not halved, and neither is a periodic one of an odd number of points. So without periodic axes the coarsest
 * level has at most 3^3. */
enum { LEAST = 4 };

typedef vf_multigrid_level level;

static bool is_halved(const vf_stencil_options *o, int axis)
{
    return o->counts[axis] >= LEAST && !(o->periodic[axis] && o->counts[axis] % 2);
}

/* Of a level, or of its faces along an axis. */
static int64_t points_of(const vf_stencil_options *o, int axis)
{
    int64_t points = 1;
    for (int a = 0; a < 3; a++)
        points *= a == axis ? vf_stencil_faces(o->counts[a], o->periodic[a]) : o->counts[a];
    return points;
}

static vf_status create_coefficients(vf_multigrid *plan, level *l)
{
    const vf_dtype type = l->options.type;
    vf_status status = VF_OK;
    for (int a = 0; a < 3; a++) {
        VF_TRY(status, vf_array_create(plan->device, VF_SPACE_DEVICE, type, points_of(&l->options, a), &l->faces[a]));
        l->options.faces[a] = l->faces[a].data;
    }
    if (l->options.reaction) {
        VF_TRY(status, vf_array_create(plan->device, VF_SPACE_DEVICE, type, points_of(&l->options, -1), &l->reaction));
        l->options.reaction = l->reaction.data;
    }
    VF_TRY(status, vf_array_create(plan->device, VF_SPACE_DEVICE, type, points_of(&l->options, -1), &l->b));
    VF_TRY(status, vf_array_create(plan->device, VF_SPACE_DEVICE, type, points_of(&l->options, -1), &l->x));
    return status;
}

/* The level below plan->level[n]. */
static vf_status create_coarser(vf_multigrid *plan, int n)
{
    level *fine = &plan->level[n], *coarse = fine + 1;
    vf_levels_pair *pair = &fine->to_coarse;
    coarse->options = fine->options;
    for (int a = 0; a < 3; a++) {
        pair->fine[a] = fine->options.counts[a];
        pair->halved[a] = is_halved(&fine->options, a);
        pair->periodic[a] = fine->options.periodic[a];
        coarse->options.counts[a] = pair->coarse[a] = pair->halved[a] ? pair->fine[a] / 2 : pair->fine[a];
        coarse->options.spacing[a] *= pair->halved[a] ? 2 : 1;
    }
    vf_status status = create_coefficients(plan, coarse);
    VF_TRY(status, plan->ops->coarsen(plan, n));
    return status;
}

static vf_status create_rooms(vf_multigrid *plan, const vf_stencil_options *finest, size_t *stride)
{
    vf_context *ctx = vf_device_context(plan->device);
    const size_t bytes = vf_dtype_bytes(finest->type), x = (size_t)finest->counts[0], y = (size_t)finest->counts[1];
    *stride = (2 * x + 2 * (x * y / (is_halved(finest, 1) ? 2 : 1) / (is_halved(finest, 0) ? 2 : 1) + 1) + 1) * bytes /
                  64 * 64 +
              64;
    plan->rows = malloc((size_t)vf_context_threads(ctx) * *stride);
    plan->zeros = calloc(x + 1, bytes);
    plan->sums = malloc(y * (size_t)finest->counts[2] * sizeof *plan->sums);
    return plan->rows && plan->zeros && plan->sums
               ? VF_OK
               : vf_fail(ctx, VF_ERR_MEMORY, "multigrid: not enough memory for rows");
}

static bool is_coarsest(const level *l)
{
    return !is_halved(&l->options, 0) && !is_halved(&l->options, 1) && !is_halved(&l->options, 2);
}

/* What the CPU has beside the levels, whose first gets it. */
static vf_status create_rows(vf_multigrid *plan, const vf_stencil_options *finest)
{
    vf_context *ctx = vf_device_context(plan->device);
    const char *variant;
    vf_isa isa;
    size_t stride = 0;
    variant = finest->variant ? finest->variant : vf_isa_variants[0];
    vf_status status = vf_variant_isa(plan->device, "multigrid", &variant, &isa);
    VF_TRY(status, create_rooms(plan, finest, &stride));
    if (status != VF_OK)
        return status;
    plan->moves = &(isa == VF_ISA_AVX512 ? vf_multigrid_moves_avx512
                    : isa == VF_ISA_AVX2 ? vf_multigrid_moves_avx2
                                         : vf_multigrid_moves_baseline)[finest->type == VF_F64];
    for (int n = 0; n < VF_MULTIGRID_MOST_LEVELS; n++) {
        level *l = &plan->level[n];
        l->zeros = plan->zeros;
        l->sums = plan->sums;
        l->rows = &(isa == VF_ISA_AVX512 ? vf_multigrid_rows_avx512
                    : isa == VF_ISA_AVX2 ? vf_multigrid_rows_avx2
                                         : vf_multigrid_rows_baseline)[finest->type == VF_F64];
        l->to_coarse =
            (vf_levels_pair){.ctx = ctx, .threads = vf_context_threads(ctx), .stride = stride, .rows = plan->rows};
    }
    return VF_OK;
}

static vf_status create_levels(vf_multigrid *plan, const vf_stencil_options *finest)
{
    vf_status status = vf_device_is_host(plan->device) ? create_rows(plan, finest)
                                                       : vf_array_create(plan->device, VF_SPACE_DEVICE, finest->type,
                                                                         points_of(finest, -1), &plan->scratch);
    plan->level[0].options = *finest;
    for (int n = 0; status == VF_OK && n < VF_MULTIGRID_MOST_LEVELS; n++) {
        level *l = &plan->level[n];
        plan->levels = n + 1;
        l->ctx = vf_device_context(plan->device);
        l->points = points_of(&l->options, -1);
        l->bytes = (int64_t)vf_dtype_bytes(finest->type);
        for (int a = 0; a < 3; a++) {
            const bool periodic = l->options.periodic[a], alone = periodic && l->options.counts[a] == 1;
            l->weight[a] = alone ? 0 : 1 / (l->options.spacing[a] * l->options.spacing[a]);
            l->jacobi = l->jacobi || (periodic && !alone && l->options.counts[a] % 2);
        }
        if (l->jacobi && vf_device_is_host(plan->device))
            VF_TRY(status, vf_array_create(plan->device, VF_SPACE_DEVICE, finest->type, l->points, &l->other));
        if (status == VF_OK && is_coarsest(l))
            break;
        VF_TRY(status, create_coarser(plan, n));
    }
    return status;
}

static const vf_multigrid_ops *ops_for(const vf_device *device)
{
    const bool cuda = vf_device_get_kind(device) == VF_DEVICE_CUDA && vf_multigrid_ops_cuda.cycle;
    return vf_device_is_host(device) ? &vf_multigrid_ops_cpu : cuda ? &vf_multigrid_ops_cuda : NULL;
}

static vf_status check(vf_device *device, const vf_stencil_options *o, int sweeps)
{
    vf_context *ctx = vf_device_context(device);
    if (!ops_for(device))
        return vf_fail(ctx, VF_ERR_UNSUPPORTED, "multigrid is for the CPU and for CUDA, not for %s",
                       vf_device_spec(device));
    if (!o->faces[0] || o->counts[0] < 1 || o->counts[1] < 1 || o->counts[2] < 1 || sweeps < 0 ||
        sweeps > VF_MULTIGRID_MOST_SWEEPS)
        return vf_fail(ctx, VF_ERR_ARGUMENT,
                       "multigrid needs coefficients on faces, points, and at most %d sweeps, not %d",
                       VF_MULTIGRID_MOST_SWEEPS, sweeps);
    return VF_OK;
}

vf_status vf_multigrid_create(vf_device *device, const vf_stencil_options *finest, int sweeps, vf_multigrid **out)
{
    *out = NULL;
    vf_status status = check(device, finest, sweeps);
    vf_multigrid *plan = status == VF_OK ? calloc(1, sizeof *plan) : NULL;
    if (status == VF_OK && !plan)
        status = vf_fail(vf_device_context(device), VF_ERR_MEMORY, "multigrid: not enough memory for a plan");
    if (status != VF_OK)
        return status;
    plan->device = device;
    plan->ops = ops_for(device);
    plan->sweeps = sweeps ? sweeps : 1;
    vf_stencil *checked; /* the coefficients' errors are the stencil's */
    status = vf_stencil_create(device, finest, &checked);
    vf_stencil_destroy(checked);
    VF_TRY(status, create_levels(plan, finest));
    if (status != VF_OK) {
        vf_multigrid_destroy(plan);
        return status;
    }
    *out = plan;
    return VF_OK;
}

void vf_multigrid_destroy(vf_multigrid *plan)
{
    if (!plan)
        return;
    for (int n = 0; n < plan->levels + (plan->levels < VF_MULTIGRID_MOST_LEVELS);
         n++) { /* one more may be incomplete */
        level *l = &plan->level[n];
        vf_array *const arrays[] = {&l->faces[0], &l->faces[1], &l->faces[2], &l->reaction, &l->b, &l->x, &l->other};
        for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
            vf_array_free(arrays[i]);
    }
    vf_array_free(&plan->scratch);
    free(plan->rows);
    free(plan->zeros);
    free(plan->sums);
    free(plan);
}

int64_t vf_multigrid_periodic_count(double wanted)
{
    const double most = 15.5; /* what Jacobi's method smooths on the coarsest level (test_multigrid) */
    double step = 1;
    while (wanted / step > most)
        step *= 2;
    return (int64_t)(fmax(round(wanted / step), 1) * step);
}

int vf_multigrid_levels(const vf_multigrid *plan)
{
    return plan->levels;
}

int64_t vf_multigrid_bytes(const vf_multigrid *plan)
{
    int64_t bytes = plan->scratch.count * (int64_t)vf_dtype_bytes(plan->level[0].options.type);
    for (int n = 0; n < plan->levels; n++) {
        const level *l = &plan->level[n];
        const vf_array *const arrays[] = {&l->faces[0], &l->faces[1], &l->faces[2], &l->reaction,
                                          &l->b,        &l->x,        &l->other};
        for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
            bytes += arrays[i]->count * (int64_t)vf_dtype_bytes(arrays[i]->type);
    }
    return bytes;
}

static vf_status forward(void *state, vf_queue *queue, const void *x, void *y)
{
    vf_multigrid *plan = state;
    return plan->ops->cycle(plan, queue, x, y, NULL);
}

vf_status vf_multigrid_operator_create(vf_multigrid *plan, vf_operator **out)
{
    static const vf_operator_methods methods = {.name = "multigrid", .forward = forward};
    const vf_vector_space space = {plan->level[0].options.type, plan->level[0].points};
    return vf_operator_create(plan->device, &methods, VF_OPERATOR_SELF_ADJOINT, space, space, plan, out);
}
