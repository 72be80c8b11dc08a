#include "voxfield/stencil.h"

#include <math.h>
#include <stdlib.h>

#include "backend/registry.h"
#include "device/arguments.h"
#include "stencil_plan.h"

static const char what[] = "a stencil";

static const vf_backend backends[] = {
    {&vf_stencil_ops_cpu.variants, &vf_stencil_ops_cpu},
    {&vf_stencil_ops_ref.variants, &vf_stencil_ops_ref},
    {&vf_stencil_ops_cuda.variants, &vf_stencil_ops_cuda},
    {0},
};

const char *vf_stencil_variant_name(vf_device_kind kind, int index)
{
    return vf_backend_variant(backends, kind, index);
}

/* Sets plan->points. The largest array has one face more along one axis. */
static vf_status check_counts(vf_context *ctx, const int64_t counts[3], vf_stencil *plan)
{
    int64_t points = 1, most = 1;
    for (int a = 0; a < 3; a++) {
        int64_t faces;
        if (counts[a] < 0)
            return vf_fail(ctx, VF_ERR_ARGUMENT, "%s: the counts {%lld, %lld, %lld}; a count must be at least 0", what,
                           (long long)counts[0], (long long)counts[1], (long long)counts[2]);
        if (__builtin_add_overflow(counts[a], 1, &faces) || __builtin_mul_overflow(most, faces, &most) ||
            most > VF_MOST_BYTES / (int64_t)sizeof(double))
            return vf_fail(ctx, VF_ERR_ARGUMENT, "%s: %lld x %lld x %lld points exceed any memory", what,
                           (long long)counts[2], (long long)counts[1], (long long)counts[0]);
        plan->counts[a] = counts[a];
        points *= counts[a];
    }
    plan->points = points;
    return VF_OK;
}

/* Coefficients are rounded to the type before anything is computed of them. */
static double rounded(vf_dtype type, double value)
{
    return type == VF_F32 ? (double)(float)value : value;
}

static vf_status check_constant(vf_context *ctx, const vf_stencil_options *options, vf_stencil *plan)
{
    plan->centre = plan->diagonal = rounded(options->type, options->centre);
    bool finite = isfinite(plan->centre);
    for (int a = 0; a < 3; a++) {
        plan->axis[a] = rounded(options->type, options->axis[a]);
        finite = finite && isfinite(plan->axis[a]);
        if (options->periodic[a] && options->counts[a] == 1)
            plan->diagonal += 2 * plan->axis[a]; /* a point is its own neighbour */
    }
    if (!finite)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "%s: the coefficients %g and {%g, %g, %g}; they must be finite", what,
                       options->centre, options->axis[0], options->axis[1], options->axis[2]);
    if (options->reaction)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "%s: a reaction needs faces; add a constant one to the centre", what);
    return VF_OK;
}

static vf_status check_variable(vf_context *ctx, const vf_stencil_options *options, vf_stencil *plan)
{
    plan->variable = true;
    plan->reaction = options->reaction;
    for (int a = 0; a < 3; a++) {
        const double h = options->spacing[a], weight = rounded(options->type, 1 / (h * h));
        plan->faces[a] = options->faces[a];
        plan->weights[a] = options->periodic[a] && options->counts[a] == 1 ? 0 : weight;
        if (!(h > 0 && isfinite(weight) && weight > 0))
            return vf_fail(
                ctx, VF_ERR_ARGUMENT,
                "%s: the spacing {%g, %g, %g}; it must be above 0, and 1 / spacing^2 a positive number of the type",
                what, options->spacing[0], options->spacing[1], options->spacing[2]);
    }
    if (plan->points == 0)
        return VF_OK;
    return VF_CHECK_POINTERS(ctx, what, {"faces[0]", plan->faces[0]}, {"faces[1]", plan->faces[1]},
                             {"faces[2]", plan->faces[2]});
}

static vf_status check_options(vf_context *ctx, const vf_stencil_options *options, vf_stencil *plan)
{
    const bool variable = options->faces[0] || options->faces[1] || options->faces[2];
    if (options->type != VF_F32 && options->type != VF_F64)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "%s: the elements must be VF_F32 or VF_F64, not %s", what,
                       vf_dtype_name(options->type));
    plan->type = options->type;
    for (int a = 0; a < 3; a++)
        plan->periodic[a] = options->periodic[a];
    vf_status status = check_counts(ctx, options->counts, plan);
    VF_TRY(status, variable ? check_variable(ctx, options, plan) : check_constant(ctx, options, plan));
    return status;
}

vf_status vf_stencil_create(vf_device *device, const vf_stencil_options *options, vf_stencil **out)
{
    vf_context *ctx = vf_device_context(device);
    vf_stencil made = {.device = device};
    const void *ops;
    const char *variant;
    *out = NULL;
    vf_status status = check_options(ctx, options, &made);
    VF_TRY(status, vf_backend_choose(backends, what, device, options->variant, &ops, &variant));
    if (status != VF_OK)
        return status;
    vf_stencil *plan = malloc(sizeof *plan);
    if (!plan)
        return vf_fail(ctx, VF_ERR_MEMORY, "%s: not enough memory", what);
    made.ops = ops;
    *plan = made;
    status = plan->ops->create(plan, variant);
    if (status != VF_OK) {
        vf_stencil_destroy(plan);
        return status;
    }
    *out = plan;
    return VF_OK;
}

void vf_stencil_destroy(vf_stencil *plan)
{
    if (!plan)
        return;
    plan->ops->destroy(plan);
    free(plan);
}

static vf_status check_queue(const vf_stencil *plan, const vf_queue *queue)
{
    if (vf_queue_device(queue) == plan->device)
        return VF_OK;
    return vf_fail(vf_device_context(plan->device), VF_ERR_ARGUMENT, "%s: the plan is for %s, the queue of %s", what,
                   vf_device_spec(plan->device), vf_device_spec(vf_queue_device(queue)));
}

vf_status vf_stencil_apply(const vf_stencil *plan, vf_queue *queue, const void *x, void *y)
{
    const vf_stencil_pass pass = {.x = x, .y = y};
    vf_status status = check_queue(plan, queue);
    VF_TRY(status,
           VF_CHECK_ARRAYS(vf_device_context(plan->device), what, plan->type, plan->points, {"x", x}, {"y", y}));
    return status == VF_OK && plan->points > 0 ? plan->ops->run(plan, queue, &pass) : status;
}

vf_status vf_stencil_jacobi(const vf_stencil *plan, vf_queue *queue, int sweeps, double omega, const void *b, void *x,
                            void *other)
{
    vf_context *ctx = vf_device_context(plan->device);
    vf_status status = check_queue(plan, queue);
    VF_TRY(status,
           VF_CHECK_ARRAYS(ctx, what, plan->type, plan->points, {"b", b}, {"x", x}, {"the other vector", other}));
    if (status == VF_OK && sweeps < 0)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "%s: %d sweeps; the number must be at least 0", what, sweeps);
    for (int s = 0; s < sweeps && plan->points > 0; s++) {
        const vf_stencil_pass pass = {s % 2 ? other : x, b, s % 2 ? x : other, rounded(plan->type, omega)};
        if (vf_cancelled(ctx))
            return vf_fail(ctx, VF_ERR_CANCELLED, "interrupted");
        VF_TRY(status, plan->ops->run(plan, queue, &pass));
    }
    return status;
}

/* ---- the operator ---- */

typedef struct operator_state {
    const vf_stencil *plan;
} operator_state;

static vf_status forward(void *state, vf_queue *queue, const void *x, void *y)
{
    return vf_stencil_apply(((const operator_state *)state)->plan, queue, x, y);
}

vf_status vf_stencil_operator_create(const vf_stencil *plan, vf_operator **out)
{
    static const vf_operator_methods methods = {.name = "stencil", .forward = forward, .free = free};
    const vf_vector_space space = {plan->type, plan->points};
    operator_state *state = malloc(sizeof *state);
    *out = NULL;
    if (!state)
        return vf_fail(vf_device_context(plan->device), VF_ERR_MEMORY, "%s: not enough memory", what);
    *state = (operator_state){plan};
    const vf_status status =
        vf_operator_create(plan->device, &methods, VF_OPERATOR_SELF_ADJOINT, space, space, state, out);
    if (status != VF_OK)
        free(state);
    return status;
}
