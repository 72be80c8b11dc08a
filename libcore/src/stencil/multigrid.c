#include "voxfield/multigrid.h"

#include <math.h>
#include <stdlib.h>

#include "multigrid_levels.h"
#include "voxfield/copy.h"

/* An axis of fewer points is not halved. The coarsest level has at most 3^3 points, for which SWEEPS of Jacobi's method are a
 * solution: the least eigenvalue of D^-1 A is 1 - cos(pi / 4), so they leave (1 - 6/7 0.29)^30 = 2e-4. */
enum { LEAST = 4, MOST_LEVELS = 32, SWEEPS = 30 };
static const double weight_of_one = 6.0 / 7;

typedef struct level {
    vf_stencil_options options; /* faces and reaction: the level's own, or the caller's on the finest */
    vf_stencil *stencil;
    vf_levels_pair to_coarse;
    vf_array faces[3], reaction, b, x, other; /* the finest has only `other` */
} level;

struct vf_multigrid {
    vf_device *device;
    const vf_multigrid_moves *moves;
    int sweeps, levels;
    double weights[VF_MULTIGRID_MOST_SWEEPS]; /* of the smoother before; in reverse after */
    level level[MOST_LEVELS];
    char *rows;
};

/* The reciprocals of the roots of Chebyshev's polynomial on [1/3, 2], the eigenvalues of D^-1 A that a coarser level cannot see in
 * three dimensions. */
static void set_weights(vf_multigrid *plan)
{
    for (int i = 0; i < plan->sweeps; i++)
        plan->weights[i] = 1 / (7.0 / 6 + 5.0 / 6 * cos((2 * i + 1) * 3.14159265358979323846 / (2 * plan->sweeps)));
}

static int64_t points_of(const int64_t counts[3], int axis)
{
    int64_t points = 1;
    for (int a = 0; a < 3; a++)
        points *= counts[a] + (a == axis);
    return points;
}

static vf_status create_coefficients(vf_multigrid *plan, level *l)
{
    const vf_dtype type = l->options.type;
    vf_status status = VF_OK;
    for (int a = 0; a < 3; a++) {
        VF_TRY(status,
               vf_array_create(plan->device, VF_SPACE_DEVICE, type, points_of(l->options.counts, a), &l->faces[a]));
        l->options.faces[a] = l->faces[a].data;
    }
    if (l->options.reaction) {
        VF_TRY(status,
               vf_array_create(plan->device, VF_SPACE_DEVICE, type, points_of(l->options.counts, -1), &l->reaction));
        l->options.reaction = l->reaction.data;
    }
    VF_TRY(status, vf_array_create(plan->device, VF_SPACE_DEVICE, type, points_of(l->options.counts, -1), &l->b));
    VF_TRY(status, vf_array_create(plan->device, VF_SPACE_DEVICE, type, points_of(l->options.counts, -1), &l->x));
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
        pair->halved[a] = pair->fine[a] >= LEAST;
        coarse->options.counts[a] = pair->coarse[a] = pair->halved[a] ? pair->fine[a] / 2 : pair->fine[a];
        coarse->options.spacing[a] *= pair->halved[a] ? 2 : 1;
    }
    vf_status status = create_coefficients(plan, coarse);
    for (int a = 0; a < 3 && status == VF_OK; a++)
        plan->moves->faces(pair, a, fine->options.faces[a], coarse->faces[a].data);
    if (status == VF_OK && fine->options.reaction)
        plan->moves->reaction(pair, fine->options.reaction, coarse->reaction.data);
    return status;
}

static bool is_coarsest(const level *l)
{
    const int64_t *n = l->options.counts;
    return n[0] < LEAST && n[1] < LEAST && n[2] < LEAST;
}

static vf_status create_levels(vf_multigrid *plan, const vf_stencil_options *finest)
{
    vf_context *ctx = vf_device_context(plan->device);
    const int threads = vf_context_threads(ctx);
    const size_t stride = ((size_t)finest->counts[0] + 1) * vf_dtype_bytes(finest->type) / 64 * 64 + 64;
    vf_status status = VF_OK;
    plan->rows = calloc((size_t)threads, stride);
    if (!plan->rows)
        return vf_fail(ctx, VF_ERR_MEMORY, "multigrid: not enough memory for rows");
    plan->level[0].options = *finest;
    for (int n = 0; status == VF_OK && n < MOST_LEVELS; n++) {
        level *l = &plan->level[n];
        plan->levels = n + 1;
        l->to_coarse = (vf_levels_pair){.ctx = ctx, .threads = threads, .stride = stride, .rows = plan->rows};
        status = vf_stencil_create(plan->device, &l->options, &l->stencil);
        VF_TRY(status, vf_array_create(plan->device, VF_SPACE_DEVICE, finest->type, points_of(l->options.counts, -1),
                                       &l->other));
        if (is_coarsest(l))
            break;
        VF_TRY(status, create_coarser(plan, n));
    }
    return status;
}

static vf_status check(vf_device *device, const vf_stencil_options *o, int sweeps)
{
    vf_context *ctx = vf_device_context(device);
    if (!vf_device_is_host(device) || o->periodic[0] || o->periodic[1] || o->periodic[2])
        return vf_fail(ctx, VF_ERR_UNSUPPORTED,
                       "multigrid is for the CPU and for grids that are not periodic, not for %s",
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
    plan->moves = finest->type == VF_F64 ? &vf_multigrid_moves_f64 : &vf_multigrid_moves_f32;
    plan->sweeps = sweeps ? sweeps : 1;
    set_weights(plan);
    status = create_levels(plan, finest);
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
    for (int n = 0; n < plan->levels + (plan->levels < MOST_LEVELS); n++) { /* one more may be incomplete */
        level *l = &plan->level[n];
        vf_stencil_destroy(l->stencil);
        vf_array *const arrays[] = {&l->faces[0], &l->faces[1], &l->faces[2], &l->reaction, &l->b, &l->x, &l->other};
        for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
            vf_array_free(arrays[i]);
    }
    free(plan->rows);
    free(plan);
}

int vf_multigrid_levels(const vf_multigrid *plan)
{
    return plan->levels;
}

int64_t vf_multigrid_bytes(const vf_multigrid *plan)
{
    int64_t bytes = 0;
    for (int n = 0; n < plan->levels; n++) {
        const level *l = &plan->level[n];
        const vf_array *const arrays[] = {&l->faces[0], &l->faces[1], &l->faces[2], &l->reaction,
                                          &l->b,        &l->x,        &l->other};
        for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
            bytes += arrays[i]->count * (int64_t)vf_dtype_bytes(arrays[i]->type);
    }
    return bytes;
}

/* ---- the cycle ---- */

/* Sweeps with the weights in this order or in reverse, from *x to *x, which changes places with *other for an odd number. */
static vf_status smooth(const vf_multigrid *plan, const level *l, vf_queue *queue, bool reverse, const void *b,
                        void **x, void **other)
{
    vf_status status = VF_OK;
    for (int i = 0; i < plan->sweeps && status == VF_OK; i++) {
        status =
            vf_stencil_jacobi(l->stencil, queue, 1, plan->weights[reverse ? plan->sweeps - 1 - i : i], b, *x, *other);
        void *const result = *other;
        *other = *x;
        *x = result;
    }
    return status;
}

/* An even number of sweeps in all, so that the result is in x. */
static vf_status cycle(vf_multigrid *plan, vf_queue *queue, int n, const void *b, void *x)
{
    level *l = &plan->level[n], *coarse = l + 1;
    void *here = x, *other = l->other.data;
    const double zero[2] = {0};
    vf_status status = vf_fill(queue, l->options.type, points_of(l->options.counts, -1), zero, x);
    if (n == plan->levels - 1) {
        VF_TRY(status, vf_stencil_jacobi(l->stencil, queue, SWEEPS, weight_of_one, b, x, other));
        return status;
    }
    VF_TRY(status, smooth(plan, l, queue, false, b, &here, &other));
    VF_TRY(status, vf_stencil_apply(l->stencil, queue, here, other));
    if (status == VF_OK)
        plan->moves->restrict_residual(&l->to_coarse, b, other, coarse->b.data);
    VF_TRY(status, cycle(plan, queue, n + 1, coarse->b.data, coarse->x.data));
    if (status == VF_OK)
        plan->moves->add_correction(&l->to_coarse, coarse->x.data, here);
    VF_TRY(status, smooth(plan, l, queue, true, b, &here, &other));
    return status;
}

static vf_status forward(void *state, vf_queue *queue, const void *x, void *y)
{
    return cycle(state, queue, 0, x, y);
}

vf_status vf_multigrid_operator_create(vf_multigrid *plan, vf_operator **out)
{
    static const vf_operator_methods methods = {.name = "multigrid", .forward = forward};
    const vf_vector_space space = {plan->level[0].options.type, points_of(plan->level[0].options.counts, -1)};
    return vf_operator_create(plan->device, &methods, VF_OPERATOR_SELF_ADJOINT, space, space, plan, out);
}
