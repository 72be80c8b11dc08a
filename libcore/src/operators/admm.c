/* The alternating direction method of multipliers. With scaled multipliers u_i = y_i / rho_i an iteration is
 *
 *     x    near the solution of (A + sum_i rho_i T_i^H T_i) x = b + sum_i rho_i T_i^H (z_i - u_i)
 *     v_i  = relaxation T_i x + (1 - relaxation) z_i + u_i
 *     z_i  = the proximal map of g_i / rho_i at v_i,    u_i = v_i - z_i
 *
 * What v_i needs of z_i and u_i is kept in one vector, w_i = (1 - relaxation) z_i + u_i = v_i - relaxation z_i. Two sums
 * over the penalties are kept in the domain: `pulls` = sum_i rho_i T_i^H (z_i - T_i x) and `forces` = sum_i rho_i T_i^H
 * u_i. The residual of the equations for x is b - A x - forces + pulls, that of the dual condition b - A x - forces. A x
 * follows the steps, so that an iteration costs as many applications of A as steps; it is made anew now and then.
 *
 * The matrix of the equations for x is the same in all iterations, and their right sides differ little. So the last
 * directions of the steps are kept, with their products, and each iteration first goes along these, which costs no
 * application of A. New directions are conjugate to those that are kept: conjugate gradients, continued from iteration to
 * iteration. */
#include <math.h>

#include "convex_internal.h"
#include "voxfield/copy.h"
#include "voxfield/vector.h"

/* Most steps per iteration, and iterations between new products A x, against rounding errors. */
enum { INNER = 10, REFRESH = 32 };
/* Unless numbers are given, the steps end when the residual, in the preconditioner's norm, has fallen to this share
 * of what it was at the iteration's begin: with a good preconditioner after one or two steps. */
static const double INNER_REDUCTION = 0.6;
/* They end in any case at this share, where only rounding errors are left. Directions of rounding errors must not be kept. */
static const double INNER_EXHAUSTED = 1e-16;
static const double RELAXATION = 1.6;

/* Directions that are kept. One kept direction saves a fifth of the applications of A, three save a third, and thirty
 * little more. */
enum { KEPT = 3 };

/* From DIRECTIONS on: three vectors each. */
enum { AX, RESIDUAL, FORCES, SCRATCH, PRECONDITIONED, DIRECTIONS };

/* A direction p with its products by A and by A + penalties, and <p, (A + penalties) p>. */
typedef struct direction {
    void *p, *ap, *whole;
    double curvature;
} direction;

typedef struct admm {
    convex c;
    double relaxation, reduction;
    int inner;
    bool keeps;   /* directions, from iteration to iteration */
    int most;     /* directions there is room for */
    double begin; /* <r, z> at the iteration's begin */
    direction direction[KEPT];
    int kept, next; /* directions that are kept; the one that the next new one replaces */
} admm;

/* y += sum rho T^H T p. */
static vf_status add_penalties(admm *s, const void *p, void *y)
{
    convex *c = &s->c;
    const vf_convex_problem *problem = c->problem;
    double identity = 0;
    for (int i = 0; i < problem->penalties; i++)
        identity += problem->penalty[i].transform ? 0 : problem->penalty[i].weight;
    vf_status status = identity > 0 ? vf_vector_axpby(c->queue, c->type, c->n, identity, p, 1, y) : VF_OK;
    for (int i = 0; i < problem->penalties && status == VF_OK; i++) {
        vf_operator *t = problem->penalty[i].transform;
        if (!t)
            continue;
        status = vf_operator_normal(t, c->queue, p, c->room[0]);
        VF_TRY(status, vf_vector_axpby(c->queue, c->type, c->n, problem->penalty[i].weight, c->room[0], 1, y));
    }
    return status;
}

/* Whether the iteration goes on. */
static bool goes_on(const admm *s)
{
    return s->c.result->end == VF_SOLVER_ITERATIONS;
}

/* Goes along a direction as far as it leads downhill. */
static vf_status move_along(admm *s, const direction *d)
{
    convex *c = &s->c;
    double slope[2] = {0};
    vf_status status = vf_vector_dot(c->queue, c->type, c->n, d->p, c->vector[RESIDUAL], slope);
    const double length = slope[0] / d->curvature;
    if (status == VF_OK && !isfinite(length))
        convex_break(c, NAN);
    if (status != VF_OK || !goes_on(s))
        return status;
    status = vf_vector_axpby(c->queue, c->type, c->n, length, d->p, 1, c->x);
    VF_TRY(status, vf_vector_axpby(c->queue, c->type, c->n, length, d->ap, 1, c->vector[AX]));
    return status == VF_OK ? vf_vector_axpby(c->queue, c->type, c->n, -length, d->whole, 1, c->vector[RESIDUAL])
                           : status;
}

/* d->p = z, conjugate to the directions that are kept. */
static vf_status make_conjugate(const admm *s, const void *z, const direction *d)
{
    const convex *c = &s->c;
    vf_status status = VF_OK;
    double share[KEPT][2] = {{0}};
    for (int i = 0; i < s->kept && status == VF_OK; i++) /* before d->p, which may be one of them, changes */
        status = vf_vector_dot(c->queue, c->type, c->n, s->direction[i].whole, z, share[i]);
    const int replaced = (int)(d - s->direction);
    if (status == VF_OK)
        status = vf_vector_axpby(c->queue, c->type, c->n, 1, z,
                                 replaced < s->kept ? -share[replaced][0] / d->curvature : 0, d->p);
    for (int i = 0; i < s->kept && status == VF_OK; i++)
        if (i != replaced)
            status = vf_vector_axpby(c->queue, c->type, c->n, -share[i][0] / s->direction[i].curvature,
                                     s->direction[i].p, 1, d->p);
    return status;
}

/* Moves along a new direction, from z = M r; *more: there is something to gain, and not enough is gained. */
static vf_status next_direction(admm *s, int step, bool *more)
{
    convex *c = &s->c;
    vf_operator *m = c->options->preconditioner;
    direction *d = &s->direction[s->next];
    void *r = c->vector[RESIDUAL], *z = m ? c->vector[PRECONDITIONED] : r;
    double now[2] = {0}, curvature[2] = {0};
    *more = false;
    vf_status status = m ? vf_operator_forward(m, c->queue, r, z) : VF_OK;
    VF_TRY(status, vf_vector_dot(c->queue, c->type, c->n, r, z, now));
    if (status == VF_OK && !(now[0] >= 0 && isfinite(now[0])))
        convex_break(c, now[0]);
    if (status != VF_OK || !(now[0] > 0) || !goes_on(s))
        return status;
    if (step == 0 && s->kept == 0)
        s->begin = now[0];
    else if (step > 0 && now[0] <= s->reduction * s->reduction * s->begin)
        return VF_OK;
    status = make_conjugate(s, z, d);
    VF_TRY(status, convex_apply(c, d->p, d->ap));
    VF_TRY(status, vf_copy(c->queue, c->type, c->n, d->ap, d->whole));
    VF_TRY(status, add_penalties(s, d->p, d->whole));
    VF_TRY(status, vf_vector_dot(c->queue, c->type, c->n, d->p, d->whole, curvature));
    if (status == VF_OK && !(curvature[0] >= 0 && isfinite(curvature[0])))
        convex_break(c, curvature[0]);
    if (status != VF_OK || !(curvature[0] > 0) || !goes_on(s))
        return status;
    d->curvature = curvature[0];
    s->next = (s->next + 1) % s->most;
    s->kept = s->kept < s->most ? s->kept + 1 : s->most;
    *more = true;
    return move_along(s, d);
}

/* Goes along the directions that are kept. The share that new ones must reach is of the residual before, so that they do not
 * make an iteration less exact. With a given number of steps nothing says how exact it is, and none are kept. */
static vf_status move_along_kept(admm *s)
{
    convex *c = &s->c;
    vf_operator *m = c->options->preconditioner;
    void *r = c->vector[RESIDUAL], *z = m ? c->vector[PRECONDITIONED] : r;
    double now[2] = {0};
    if (!s->keeps)
        s->kept = 0;
    vf_status status = s->kept > 0 && m ? vf_operator_forward(m, c->queue, r, z) : VF_OK;
    if (status == VF_OK && s->kept > 0)
        status = vf_vector_dot(c->queue, c->type, c->n, r, z, now);
    if (status == VF_OK && !(now[0] >= 0 && isfinite(now[0])))
        convex_break(c, now[0]);
    s->begin = now[0];
    for (int i = 0; i < s->kept && status == VF_OK && goes_on(s); i++)
        status = move_along(s, &s->direction[i]);
    return status;
}

/* Steps of conjugate gradients for x; the residual is overwritten. */
static vf_status improve(admm *s)
{
    convex *c = &s->c;
    bool more = true;
    vf_status status = move_along_kept(s);
    for (int step = 0; step < s->inner && more && status == VF_OK && goes_on(s); step++)
        status = next_direction(s, step, &more);
    if (status == VF_OK && (c->result->iterations + 1) % REFRESH == 0)
        status = convex_apply(c, c->x, c->vector[AX]);
    return status;
}

/* v, z and w of a penalty, and its part of the sums. squares[0] += |T x - z|^2, squares[1] += |T x|^2. */
static vf_status move_penalty(admm *s, int i, double squares[2])
{
    convex *c = &s->c;
    const vf_penalty *penalty = &c->problem->penalty[i];
    const int64_t count = convex_count(c, i);
    const double alpha = s->relaxation, rho = penalty->weight;
    void *w = c->own[i], *z = c->room[1], *scratch = c->vector[SCRATCH], *forces = c->vector[FORCES];
    const void *tx = NULL;
    double part[2] = {0};
    vf_status status = convex_transform(c, i, c->x, &tx);
    if (status == VF_OK) /* w becomes v */
        status = vf_vector_axpby(c->queue, c->type, count, alpha, tx, 1, w);
    VF_TRY(status, penalty->function->map(penalty->function->state, c->queue, 1 / rho, w, z));
    if (status == VF_OK)
        status = vf_vector_axpby(c->queue, c->type, count, -1, z, 1, w); /* u */
    VF_TRY(status, convex_add_adjoint(c, i, rho, w, scratch, forces));
    VF_TRY(status, vf_vector_axpby(c->queue, c->type, count, 1 - alpha, z, 1, w));
    VF_TRY(status, convex_squares(c, count, tx, &part[1]));
    if (status == VF_OK)
        status = vf_vector_axpby(c->queue, c->type, count, -1, tx, 1, z); /* z - T x */
    VF_TRY(status, convex_squares(c, count, z, &part[0]));
    squares[0] += part[0];
    squares[1] += part[1];
    return status == VF_OK ? convex_add_adjoint(c, i, rho, z, scratch, c->vector[RESIDUAL]) : status;
}

/* The penalties' part of the residual, and the forces; squares as above. */
static vf_status move_penalties(admm *s, double squares[2])
{
    convex *c = &s->c;
    const double zero[2] = {0};
    vf_status status = vf_fill(c->queue, c->type, c->n, zero, c->vector[FORCES]);
    VF_TRY(status, vf_fill(c->queue, c->type, c->n, zero, c->vector[RESIDUAL]));
    for (int i = 0; i < c->problem->penalties && status == VF_OK; i++)
        status = move_penalty(s, i, squares);
    return status;
}

/* Adds b - A x - forces to the residual; *squares is its norm, that of the dual condition, squared. */
static vf_status add_data(admm *s, double *squares)
{
    convex *c = &s->c;
    void *gradient = c->vector[SCRATCH];
    vf_status status = convex_descent(c, c->vector[AX], c->vector[FORCES], gradient);
    VF_TRY(status, convex_squares(c, c->n, gradient, squares));
    return status == VF_OK ? vf_vector_axpby(c->queue, c->type, c->n, 1, gradient, 1, c->vector[RESIDUAL]) : status;
}

/* The parts of the start: u_i = T_i (b - A x) / sum_j rho_j, as far as rho_i u_i is a subgradient of g_i anywhere, and w_i. With
 * transforms that keep lengths, as wavelets do, these multipliers meet the dual condition: at the solution, exactly. `gradient`
 * is b - A x. */
static vf_status begin_penalty(admm *s, int i, double rho_of_all, const void *gradient)
{
    convex *c = &s->c;
    const vf_penalty *penalty = &c->problem->penalty[i];
    const int64_t count = convex_count(c, i);
    void *w = c->own[i], *z = c->room[1];
    const void *tx = NULL;
    vf_status status = convex_transform(c, i, gradient, &tx);
    VF_TRY(status, vf_vector_axpby(c->queue, c->type, count, 1 / rho_of_all, tx, 0, w));
    VF_TRY(status, penalty->function->map(penalty->function->state, c->queue, 1 / penalty->weight, w, z));
    VF_TRY(status, vf_vector_axpby(c->queue, c->type, count, -1, z, 1, w)); /* Moreau: what the map takes away */
    VF_TRY(status, convex_transform(c, i, c->x, &tx));
    return status == VF_OK ? vf_vector_axpby(c->queue, c->type, count, 1 - s->relaxation, tx, 1, w) : status;
}

/* Multipliers for the x to start from, and an iteration's end with them. */
static vf_status begin_warm(admm *s)
{
    convex *c = &s->c;
    void *gradient = c->vector[PRECONDITIONED];
    double rho = 0, squares[2] = {0};
    vf_status status = convex_apply(c, c->x, c->vector[AX]);
    VF_TRY(status, convex_descent(c, c->vector[AX], c->vector[FORCES], gradient)); /* the forces are 0 */
    for (int i = 0; i < c->problem->penalties; i++)
        rho += c->problem->penalty[i].weight;
    for (int i = 0; i < c->problem->penalties && status == VF_OK; i++)
        status = begin_penalty(s, i, rho, gradient);
    return status == VF_OK ? move_penalties(s, squares) : status;
}

static vf_status iterate(admm *s)
{
    convex *c = &s->c;
    vf_context *ctx = vf_device_context(vf_queue_device(c->queue));
    double gradient = 0;
    vf_status status = c->options->warm ? begin_warm(s) : VF_OK;
    VF_TRY(status, add_data(s, &gradient));
    while (status == VF_OK && c->result->end == VF_SOLVER_ITERATIONS &&
           c->result->iterations < c->options->iterations) {
        if (vf_cancelled(ctx))
            return vf_fail(ctx, VF_ERR_CANCELLED, "interrupted");
        double squares[2] = {0};
        convex_next(c);
        status = improve(s);
        if (status != VF_OK || !goes_on(s))
            break;
        status = move_penalties(s, squares);
        VF_TRY(status, add_data(s, &gradient));
        if (status == VF_OK)
            convex_judge(c, squares[0], squares[1], gradient);
    }
    return status == VF_OK ? convex_finish(c, c->vector[AX]) : status;
}

vf_status vf_admm(const vf_convex_problem *problem, vf_queue *queue, const vf_convex_options *options, void *x,
                  vf_convex_result *result)
{
    vf_context *ctx = vf_device_context(vf_operator_device(problem->normal));
    admm s = {.keeps = options->inner == 0,
              .most = options->inner == 0 ? KEPT : 1,
              .relaxation = options->relaxation > 0 ? options->relaxation : RELAXATION,
              .reduction = options->inner > 0       ? INNER_EXHAUSTED
                           : options->reduction > 0 ? options->reduction
                                                    : INNER_REDUCTION,
              .inner = options->inner > 0 ? options->inner : INNER};
    vf_status status = convex_begin("ADMM", problem, queue, options, x, DIRECTIONS + 3 * s.most, result, &s.c);
    for (int i = 0; i < s.most; i++) {
        void *const *of = &s.c.vector[DIRECTIONS + 3 * i];
        s.direction[i] = (direction){.p = of[0], .ap = of[1], .whole = of[2]};
    }
    for (int i = 0; i < problem->penalties && status == VF_OK; i++)
        if (!(problem->penalty[i].weight > 0) || !isfinite(problem->penalty[i].weight))
            status = vf_fail(ctx, VF_ERR_ARGUMENT, "ADMM: penalty %d has the weight %g", i, problem->penalty[i].weight);
    if (status == VF_OK && result->end == VF_SOLVER_ITERATIONS)
        status = iterate(&s);
    convex_free(&s.c);
    return status;
}
