/* Solutions with penalties: the system of equations as an operator of the image of even noise, its preconditioner, and
 * the solver. */
#include "equations.h"
#include "voxfield/solver.h"
#include "voxfield/vector.h"

/* Steps of the power iteration for the largest eigenvalue, which FISTA and the primal-dual method need, and what the
 * estimate, which is a lower bound, is multiplied by. */
enum { POWER_STEPS = 30 };
static const double POWER_MARGIN = 1.05;
static const double POWER_CHANGE = 1e-3;
static const uint64_t POWER_SEED = 1;

/* ---- the preconditioner: of each set ---- */

typedef struct each_set {
    vf_circulant *plan;
    vf_dtype type;
    int64_t voxels, count;
} each_set;

static vf_status apply_inverse(void *state, vf_queue *queue, const void *r, void *z)
{
    const each_set *s = state;
    vf_device *device = vf_queue_device(queue);
    vf_status status = VF_OK;
    for (int64_t at = 0; at < s->count && status == VF_OK; at += s->voxels)
        status = vf_circulant_apply(s->plan, queue, 0, 1, vf_offset(device, r, s->type, at), 0,
                                    vf_offset(device, z, s->type, at));
    return status;
}

/* ---- the operators ---- */

/* E A E, E the diagonal matrix `even`. */
typedef struct balanced {
    vf_operator *a;
    const void *even;
    vf_array room;
} balanced;

static vf_status apply_balanced(void *state, vf_queue *queue, const void *x, void *y)
{
    const balanced *s = state;
    const vf_array *r = &s->room;
    vf_status status = vf_vector_scale_by(queue, r->type, r->count, s->even, x, r->data);
    if (status == VF_OK)
        status = vf_operator_forward(s->a, queue, r->data, y);
    return status == VF_OK ? vf_vector_scale_by(queue, r->type, r->count, s->even, y, y) : status;
}

typedef struct operators {
    vf_operator *system;
    vf_operator *normal; /* of the image of even noise */
    vf_operator *inverse;
    balanced even;
    each_set sets;
} operators;

static vf_status make_operators(system_matrix *system, const sparse_problem *problem, vf_vector_space space,
                                operators *out)
{
    static const vf_operator_methods inverse = {.name = "preconditioner", .forward = apply_inverse},
                                     normal = {.name = "F^H W F for an image of even noise", .forward = apply_balanced};
    vf_device *device = vf_queue_device(system->part[0].queue);
    const int64_t *n = system->prior->counts;
    out->sets = (each_set){problem->inverse, space.type, n[0] * n[1] * n[2], space.count};
    vf_status status = system_operator_create(system, space.type, space.count, &out->system);
    if (status == VF_OK)
        status = vf_array_create(device, VF_SPACE_DEVICE, space.type, space.count, &out->even.room);
    out->even.a = out->system;
    out->even.even = problem->even.data;
    if (status == VF_OK && out->even.even)
        status = vf_operator_create(device, &normal, VF_OPERATOR_SELF_ADJOINT, space, space, &out->even, &out->normal);
    return status == VF_OK
               ? vf_operator_create(device, &inverse, VF_OPERATOR_SELF_ADJOINT, space, space, &out->sets, &out->inverse)
               : status;
}

static void free_operators(operators *made)
{
    vf_operator_free(made->inverse);
    vf_operator_free(made->normal);
    vf_operator_free(made->system);
    vf_array_free(&made->even.room);
}

/* ---- solving ---- */

typedef struct telling {
    void (*tell)(void *user, int iteration, double residual);
    void *user;
} telling;

static bool tell_caller(void *user, int iteration, double residual)
{
    const telling *t = user;
    if (t->tell)
        t->tell(t->user, iteration, residual);
    return false;
}

static vf_status run(const sparse_problem *problem, const vf_convex_problem *convex, vf_queue *queue,
                     vf_convex_options *options, void *x, vf_convex_result *found)
{
    if (problem->solver == SPARSE_ADMM)
        return vf_admm(convex, queue, options, x, found);
    int used = 0;
    vf_status status =
        vf_largest_eigenvalue(convex->normal, queue, POWER_STEPS, POWER_CHANGE, POWER_SEED, &options->largest, &used);
    options->largest *= POWER_MARGIN;
    options->largest_transform = vf_penalties_largest(problem->penalties);
    if (status == VF_OK)
        status = problem->solver == SPARSE_FISTA ? vf_fista(convex, queue, options, x, found)
                                                 : vf_primal_dual(convex, queue, options, x, found);
    found->applications += used;
    return status;
}

vf_status solve_sparse(vf_context *ctx, const solve_options *options, const system_matrix *system,
                       const sparse_problem *problem, vf_array *b, vf_array *x,
                       void (*tell)(void *user, int iteration, double residual), void *user, solve_result *result)
{
    vf_queue *queue = system->part[0].queue;
    const vf_vector_space space = {x->type, x->count};
    system_matrix whole = *system;
    telling t = {tell, user};
    operators made = {0};
    vf_convex_result found = {0};
    vf_status status = make_operators(&whole, problem, space, &made);
    const void *even = problem->even.data;
    if (status == VF_OK && even)
        status = vf_vector_scale_by(queue, x->type, x->count, even, b->data, b->data);
    vf_convex_options how = {.iterations = options->iterations,
                             .tolerance = options->tolerance,
                             .preconditioner = made.inverse,
                             .tell = tell_caller,
                             .user = &t};
    vf_convex_problem convex = {.normal = made.normal ? made.normal : made.system, .b = b->data};
    convex.penalty = vf_penalties_list(problem->penalties, &convex.penalties);
    if (status == VF_OK)
        status = run(problem, &convex, queue, &how, x->data, &found);
    if (status == VF_OK && found.end == VF_SOLVER_OVERFLOW)
        status = solve_overflow(ctx, options);
    if (status == VF_OK && even)
        status = vf_vector_scale_by(queue, x->type, x->count, even, x->data, x->data);
    *result = (solve_result){.iterations = found.iterations,
                             .residual = found.primal > found.dual ? found.primal : found.dual,
                             .converged = found.end == VF_SOLVER_CONVERGED,
                             .applications = found.applications,
                             .objective = found.data};
    for (int i = 0; i < VF_MOST_PRIORS; i++) {
        result->penalty[i] = vf_penalties_value(problem->penalties, i, found.penalty);
        result->objective += result->penalty[i];
    }
    free_operators(&made);
    return status;
}
