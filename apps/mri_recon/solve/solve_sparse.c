/* Solutions with penalties: the system of equations as an operator of the image of even noise, its preconditioner, and
 * the solver. */
#include "equations.h"
#include "voxfield/copy.h"
#include "voxfield/solver.h"
#include "voxfield/vector.h"

/* Steps of the power iteration for the largest eigenvalue, which FISTA and the primal-dual method need, and what the
 * estimate, which is a lower bound, is multiplied by. */
enum { POWER_STEPS = 30 };
/* ADMM's inner steps for frames together. Of low ranks their preconditioner knows nothing, so that the first step alone
 * does not say how far the others are. */
enum { SERIES_STEPS = 2 };
static const double POWER_MARGIN = 1.05;
static const double POWER_CHANGE = 1e-3;
static const uint64_t POWER_SEED = 1;

/* ---- the preconditioner: of each image, and of each component of the penalties' fields ---- */

typedef struct each_image {
    const sparse_problem *problem;
    vf_vector_space space; /* of images and fields */
    int images;
    vf_array room; /* with problem->seen: images and fields */
} each_image;

/* z = M r. */
static vf_status apply_matrices(const each_image *s, vf_queue *queue, const void *r, void *z)
{
    const sparse_problem *p = s->problem;
    const vf_dtype type = s->space.type;
    const int chained = p->chain ? 1 : 0, apart = p->chain || p->mirrored;
    vf_device *device = vf_queue_device(queue);
    vf_status status = chained ? vf_circulant_chain_apply(p->chain, queue, r, z) : VF_OK;
    for (int i = chained * s->images; i * p->voxels < s->space.count && status == VF_OK; i++) {
        const int part = i / s->images;
        const void *from = vf_offset(device, r, type, i * p->voxels);
        void *to = vf_offset(device, z, type, i * p->voxels);
        status = part == 0 && p->mirrored ? vf_cosine_apply(p->mirrored, queue, from, to)
                                          : vf_circulant_apply(p->inverse, queue, part - apart, 1, from, 0, to);
    }
    return status;
}

/* z = (D M D + G) r; D is 1 and G is 0 for fields. */
static vf_status apply_inverse(void *state, vf_queue *queue, const void *r, void *z)
{
    const each_image *s = state;
    const sparse_problem *p = s->problem;
    const vf_dtype type = s->space.type;
    const int64_t images = s->images * p->voxels;
    void *room = s->room.data;
    if (!room)
        return apply_matrices(s, queue, r, z);
    vf_device *device = vf_queue_device(queue);
    vf_status status = vf_vector_scale_by(queue, type, images, p->seen.data, r, room);
    if (status == VF_OK && s->space.count > images)
        status = vf_copy(queue, type, s->space.count - images, vf_offset(device, r, type, images),
                         vf_array_at(&s->room, images));
    VF_TRY(status, apply_matrices(s, queue, room, z));
    VF_TRY(status, vf_vector_scale_by(queue, type, images, p->seen.data, z, z));
    VF_TRY(status, vf_vector_scale_by(queue, type, images, p->dark.data, r, room));
    return status == VF_OK ? vf_vector_axpby(queue, type, images, 1, room, 1, z) : status;
}

/* ---- the operators ---- */

/* E A E + U + K of images: E and U the diagonal matrices `even` and `unseen`, K the circulant matrix `held`. Voxels that
 * no coil sees, and frequencies that no sample reaches, would be determined by the penalties alone: slowly, and wrongly
 * where these are the corners of k-space (docs/image_accuracy.md). U and K hold them near 0, and F^H W F is as circulant
 * as with even coils. */
typedef struct balanced {
    vf_operator *a;
    const sparse_problem *problem;
    vf_array room; /* with E */
} balanced;

static vf_status apply_balanced(void *state, vf_queue *queue, const void *x, void *y)
{
    const balanced *s = state;
    const sparse_problem *p = s->problem;
    const vf_vector_space space = vf_operator_domain(s->a);
    const vf_array *r = &s->room;
    const void *even = p->even.data;
    vf_device *device = vf_queue_device(queue);
    vf_status status = even ? vf_vector_scale_by(queue, r->type, r->count, even, x, r->data) : VF_OK;
    VF_TRY(status, vf_operator_forward(s->a, queue, even ? r->data : x, y));
    if (status == VF_OK && even)
        status = vf_vector_scale_by(queue, r->type, r->count, even, y, y);
    if (status == VF_OK && even)
        status = vf_vector_scale_by(queue, r->type, r->count, p->unseen.data, x, r->data);
    if (status == VF_OK && even)
        status = vf_vector_axpby(queue, r->type, r->count, 1, r->data, 1, y);
    for (int64_t i = 0; p->held && i < space.count && status == VF_OK; i += p->voxels)
        status = vf_circulant_apply(p->held, queue, 0, 1, vf_offset(device, x, space.type, i), 1,
                                    vf_offset(device, y, space.type, i));
    return status;
}

/* A of the images, 0 of the fields. */
typedef struct extended {
    vf_operator *a;
    vf_vector_space images, fields;
} extended;

static vf_status apply_extended(void *state, vf_queue *queue, const void *x, void *y)
{
    const extended *s = state;
    const vf_status status = vf_operator_forward(s->a, queue, x, y);
    void *rest = vf_offset(vf_queue_device(queue), y, s->images.type, s->images.count);
    return status == VF_OK ? vf_fill(queue, s->fields.type, s->fields.count, (const double[2]){0}, rest) : status;
}

/* The operators of the convex problem, and its vectors if these are more than the images. */
typedef struct operators {
    vf_operator *balanced, *extended; /* NULL: not needed */
    vf_operator *normal;              /* the last of system, balanced, extended */
    vf_operator *inverse;
    balanced even;
    extended all;
    each_image images;
    vf_array b, x;
} operators;

static vf_status make_balanced(vf_operator *system, const sparse_problem *problem, operators *out)
{
    static const vf_operator_methods normal = {.name = "F^H W F + U + K of images of even noise",
                                               .forward = apply_balanced};
    const vf_vector_space space = vf_operator_domain(system);
    vf_status status = VF_OK;
    out->even = (balanced){.a = system, .problem = problem};
    if (problem->even.data)
        status = vf_array_create(vf_operator_device(system), VF_SPACE_DEVICE, space.type, space.count, &out->even.room);
    VF_TRY(status, vf_operator_create(vf_operator_device(system), &normal, VF_OPERATOR_SELF_ADJOINT, space, space,
                                      &out->even, &out->balanced));
    out->normal = out->balanced;
    return status;
}

static vf_status make_extended(int extra, operators *out)
{
    static const vf_operator_methods normal = {.name = "F^H W F of images and fields", .forward = apply_extended};
    vf_device *device = vf_operator_device(out->normal);
    const vf_vector_space images = vf_operator_domain(out->normal);
    const vf_vector_space fields = {images.type, extra * images.count};
    const vf_vector_space all = {images.type, images.count + fields.count};
    out->all = (extended){out->normal, images, fields};
    vf_status status = vf_array_create(device, VF_SPACE_DEVICE, all.type, all.count, &out->b);
    VF_TRY(status, vf_array_create(device, VF_SPACE_DEVICE, all.type, all.count, &out->x));
    VF_TRY(status, vf_operator_create(device, &normal, VF_OPERATOR_SELF_ADJOINT, all, all, &out->all, &out->extended));
    out->normal = out->extended;
    return status;
}

static vf_status make_operators(vf_operator *system, const sparse_problem *problem, operators *out)
{
    static const vf_operator_methods inverse = {.name = "preconditioner", .forward = apply_inverse};
    const int extra = vf_penalties_extra(problem->penalties);
    out->normal = system;
    vf_status status = problem->even.data || problem->held ? make_balanced(system, problem, out) : VF_OK;
    if (status == VF_OK && extra > 0)
        status = make_extended(extra, out);
    if (status != VF_OK)
        return status;
    const vf_vector_space space = vf_operator_domain(out->normal);
    out->images = (each_image){
        .problem = problem, .space = space, .images = (int)(vf_operator_domain(system).count / problem->voxels)};
    if (problem->seen.data)
        status =
            vf_array_create(vf_operator_device(system), VF_SPACE_DEVICE, space.type, space.count, &out->images.room);
    if (status != VF_OK)
        return status;
    return vf_operator_create(vf_operator_device(system), &inverse, VF_OPERATOR_SELF_ADJOINT, space, space,
                              &out->images, &out->inverse);
}

static void free_operators(operators *made)
{
    vf_operator_free(made->inverse);
    vf_operator_free(made->extended);
    vf_operator_free(made->balanced);
    vf_array_free(&made->even.room);
    vf_array_free(&made->images.room);
    vf_array_free(&made->b);
    vf_array_free(&made->x);
}

/* Images with zeros for the fields. */
static vf_status extend(const operators *made, vf_queue *queue, const vf_array *images, const vf_array *to)
{
    const vf_vector_space fields = made->all.fields;
    vf_status status = vf_copy(queue, fields.type, images->count, images->data, to->data);
    return status == VF_OK
               ? vf_fill(queue, fields.type, fields.count, (const double[2]){0}, vf_array_at(to, images->count))
               : status;
}

/* ---- solving ---- */

static vf_status run(const sparse_problem *problem, const vf_convex_problem *convex, vf_queue *queue,
                     vf_convex_options *options, void *x, vf_convex_result *found)
{
    if (problem->solver == RECON_ADMM)
        return vf_admm(convex, queue, options, x, found);
    if (problem->solver == RECON_FISTA && convex->penalty->transform)
        return vf_fail(vf_device_context(vf_queue_device(queue)), VF_ERR_ARGUMENT,
                       "--solver fista needs a matrix that wavelets do not have to pad, such as multiples of 16; use "
                       "--solver admm or primal-dual");
    int used = 0;
    vf_status status =
        vf_largest_eigenvalue(convex->normal, queue, POWER_STEPS, POWER_CHANGE, POWER_SEED, &options->largest, &used);
    options->largest *= POWER_MARGIN;
    options->largest_transform = vf_penalties_largest(problem->penalties);
    VF_TRY(status, problem->solver == RECON_FISTA ? vf_fista(convex, queue, options, x, found)
                                                  : vf_primal_dual(convex, queue, options, x, found));
    found->applications += used;
    return status;
}

vf_status solve_sparse(const solve_options *options, vf_operator *system, const sparse_problem *problem,
                       vf_queue *queue, vf_array *b, vf_array *x, solve_result *result)
{
    operators made = {0};
    vf_convex_result found = {0};
    const void *even = problem->even.data;
    vf_status status = make_operators(system, problem, &made);
    if (status == VF_OK && even)
        status = vf_vector_scale_by(queue, x->type, x->count, even, b->data, b->data);
    vf_convex_options how = {.iterations = options->iterations,
                             .tolerance = options->tolerance,
                             .inner = problem->chain ? SERIES_STEPS : 0,
                             .reduction = problem->reduction,
                             .warm = options->warm && problem->solver == RECON_ADMM,
                             .preconditioner = made.inverse,
                             .tell = options->tell,
                             .user = options->user};
    if (status == VF_OK && made.extended)
        status = extend(&made, queue, b, &made.b);
    if (status == VF_OK && how.warm && even)
        status = vf_vector_scale_by(queue, x->type, x->count, problem->uneven.data, x->data, x->data);
    if (status == VF_OK && how.warm && made.extended)
        status = extend(&made, queue, x, &made.x);
    void *found_x = made.extended ? made.x.data : x->data;
    vf_convex_problem convex = {.normal = made.normal, .b = made.extended ? made.b.data : b->data};
    convex.penalty = vf_penalties_list(problem->penalties, &convex.penalties);
    VF_TRY(status, run(problem, &convex, queue, &how, found_x, &found));
    if (status == VF_OK && found.end == VF_SOLVER_OVERFLOW)
        status = solve_overflow(queue, options);
    if (status == VF_OK && even)
        status = vf_vector_scale_by(queue, x->type, x->count, even, found_x, x->data);
    else if (status == VF_OK && made.extended)
        status = vf_copy(queue, x->type, x->count, found_x, x->data);
    *result = (solve_result){.iterations = found.iterations,
                             .residual = found.primal > found.dual ? found.primal : found.dual,
                             .converged = found.end == VF_SOLVER_CONVERGED,
                             .applications = found.applications,
                             .objective = found.data,
                             .data = found.data};
    for (int i = 0; i < VF_MOST_PRIORS; i++) {
        result->penalty[i] = vf_penalties_value(problem->penalties, i, found.penalty);
        result->objective += result->penalty[i];
    }
    free_operators(&made);
    return status;
}
