/* Voxfield - iterative solvers for any linear operator (operator.h), with all vectors on the device.
 *
 * Vectors are in VF_SPACE_DEVICE memory of the operator's device, real or complex like its space. Only a few numbers
 * per iteration are copied to the host.
 */
#ifndef VOXFIELD_SOLVER_H
#define VOXFIELD_SOLVER_H

#include "voxfield/operator.h"

#ifdef __cplusplus
extern "C" {
#endif
VF_API_BEGIN

/* Why a solver stopped. */
typedef enum vf_solver_end {
    VF_SOLVER_CONVERGED,    /* to the tolerance or the energy, or b = 0 */
    VF_SOLVER_ITERATIONS,   /* the limit of iterations was reached */
    VF_SOLVER_STOPPED,      /* options->tell returned true */
    VF_SOLVER_NOT_POSITIVE, /* <p, A p> <= 0: A is not positive definite, at least within rounding errors */
    VF_SOLVER_OVERFLOW,     /* an inner product is not finite */
} vf_solver_end;

typedef struct vf_cg_options {
    int iterations;   /* at most, >= 0 */
    double tolerance; /* of |b - A x| / |b|, >= 0; 0: all iterations */
    double energy;    /* >= 0; 0: unused. With a preconditioner, stop at <r, M r> <= energy, too, for r = b - A x. This
                                  * is near <e, A e> for the error e of x, the misfit that solving has left in least squares */
    vf_operator *preconditioner; /* z = M r, M self-adjoint, positive, near the inverse of A; NULL: none */
    bool warm;                   /* start from x; else from 0 */
    /* Called after each iteration; returning true stops the solver. May be NULL. */
    bool (*tell)(void *user, int iteration, double residual);
    void *user;
} vf_cg_options;

typedef struct vf_cg_result {
    int iterations;
    double residual; /* |b - A x| / |b| by the recurrence; it keeps falling when rounding limits the true residual */
    vf_solver_end end;
} vf_cg_result;

/* Solves A x = b by conjugate gradients (Hestenes and Stiefel, J. Res. Natl. Bur. Stand. 49 (1952) 409). A must be
 * self-adjoint (only its forward is used) and positive definite, at least on a subspace that contains b and x. `b` is
 * overwritten by the residual. For complex vectors only the real parts of inner products are used, so A may be
 * real-linear. Allocates two vectors, and a third with a preconditioner. However it stops, x is the last iterate, and
 * *result has the outcome. Errors: VF_ERR_ARGUMENT (spaces of A or M that do not fit, options out of range),
 * VF_ERR_DEVICE_MEMORY, VF_ERR_CANCELLED (checked between iterations), those of the operators. */
VF_MUST_CHECK vf_status vf_cg(vf_operator *a, vf_queue *queue, const vf_cg_options *options, void *b, void *x,
                              vf_cg_result *result);

/* The largest eigenvalue of a self-adjoint positive operator, by power iteration from a random vector. Stops when the
 * relative change in an iteration is at most `tolerance`, or after `iterations` (>= 1). The estimates approach the
 * eigenvalue from below. The largest singular value of F is the root of the largest eigenvalue of
 * vf_operator_normal_of(F). *used (may be NULL) gets the number of iterations. Errors: as vf_cg; VF_ERR_ARGUMENT if a
 * product is not finite. */
VF_MUST_CHECK vf_status vf_largest_eigenvalue(vf_operator *a, vf_queue *queue, int iterations, double tolerance,
                                              uint64_t seed, double *eigenvalue, int *used);

/* ---- convex problems with penalties ----
 *
 *     minimise  <x, A x> / 2 - Re <b, x> + sum_i g_i(T_i x)
 *
 * A is self-adjoint and positive semidefinite; with A = F^H W F and b = F^H W d the first terms are |W^1/2 (F x - d)|^2
 * / 2 without a constant. T_i are linear, and the g_i are convex functions that are least at 0 and known by their
 * proximal maps: weights of wavelet coefficients, total variation, nuclear norms. */

/* A convex function g of vectors of one space. */
typedef struct vf_proximal {
    const char *name; /* in messages: "wavelet" */
    /* z = the minimum of step g(z) + |z - v|^2 / 2; z may be v. NaN in v must give NaN in z. */
    vf_status (*map)(void *state, vf_queue *queue, double step, const void *v, void *z);
    /* *value = g(v). Blocking. */
    vf_status (*value)(void *state, vf_queue *queue, const void *v, double *value);
    void *state;
} vf_proximal;

typedef struct vf_penalty {
    vf_operator *transform; /* T; NULL: the identity */
    const vf_proximal *function;
    double weight; /* rho > 0 of vf_admm: how strongly z is tied to T x; no influence on the solution */
} vf_penalty;

enum { VF_MOST_PENALTIES = 64 };

typedef struct vf_convex_problem {
    vf_operator *normal; /* A */
    const void *b;       /* kept */
    int penalties;       /* 1 to VF_MOST_PENALTIES */
    const vf_penalty *penalty;
} vf_convex_problem;

typedef struct vf_convex_options {
    int iterations; /* at most, >= 0 */
    bool warm;      /* start from x; else from 0. vf_admm takes the multipliers that x asks for if the T_i keep lengths;
                       * else it leaves even a solution before it returns to it. So does vf_primal_dual, which starts with
                       * multipliers of 0 */
    double tolerance; /* of both residuals, >= 0; 0: all iterations, unless both become 0 */
    /* vf_admm: near the inverse of A + sum_i weight_i T_i^H T_i, self-adjoint and positive; NULL: none. */
    vf_operator *preconditioner;
    int inner; /* vf_admm: steps of conjugate gradients per iteration, >= 1; 0: as many as needed, so that they */
    double reduction;  /* reduce the residual, in the preconditioner's norm, to this share, in (0, 1]; 0: 0.6 */
    double relaxation; /* vf_admm: over-relaxation, in (0, 2); 0: 1.6 */
    /* vf_primal_dual: upper bounds of the largest eigenvalues of A and of sum_i T_i^H T_i, > 0 */
    double largest, largest_transform;
    /* Called after each iteration; returning true stops the solver. May be NULL. */
    bool (*tell)(void *user, int iteration, double residual);
    void *user;
} vf_convex_options;

typedef struct vf_convex_result {
    int iterations, applications; /* applications of A */
    /* Relative residuals of the conditions of a minimum: T_i x = z_i, and A x - b + sum_i T_i^H y_i = 0 with y_i a
     * subgradient of g_i at z_i. The first is relative to the largest |T x| of all iterations, because the solution
     * may have T x = 0, the second to |b|. 0 without iterations. */
    double primal, dual;
    double data;                       /* <x, A x> / 2 - Re <b, x> at the end */
    double penalty[VF_MOST_PENALTIES]; /* g_i(T_i x) at the end */
    /* VF_SOLVER_CONVERGED: both residuals are at most the tolerance, or b = 0. VF_SOLVER_NOT_POSITIVE: only by vf_admm */
    vf_solver_end end;
} vf_convex_result;

/* The alternating direction method of multipliers (Boyd et al., Found. Trends Mach. Learn. 3 (2011) 1), with a few
 * steps of preconditioned conjugate gradients for x in each iteration. Unless options->inner is given, these go on from the
 * directions of the iterations before. It allocates 14 vectors of the domain (8 with options->inner), for each penalty a
 * vector of T_i's codomain, and 2 of the largest space. However it stops, x is the last iterate, and *result has the outcome.
 * Errors: VF_ERR_ARGUMENT (spaces that do not fit, options out of range), VF_ERR_DEVICE_MEMORY, VF_ERR_CANCELLED (checked
 * between iterations), those of the operators and maps. */
VF_MUST_CHECK vf_status vf_admm(const vf_convex_problem *problem, vf_queue *queue, const vf_convex_options *options,
                                void *x, vf_convex_result *result);

/* The primal-dual method of Condat (J. Optim. Theory Appl. 158 (2013) 460) and Vu: needs no inner solver, but many more
 * applications of A. A check of vf_admm. Arguments and errors as there. */
VF_MUST_CHECK vf_status vf_primal_dual(const vf_convex_problem *problem, vf_queue *queue,
                                       const vf_convex_options *options, void *x, vf_convex_result *result);

/* FISTA (Beck and Teboulle, SIAM J. Imaging Sci. 2 (2009) 183), restarted when the momentum points uphill (O'Donoghue
 * and Candes, Found. Comput. Math. 15 (2015) 715). For one penalty without a transform; needs options->largest.
 * result->primal is 0, and result->dual an upper bound of that residual. Otherwise as vf_admm; with another kind of
 * problem VF_ERR_ARGUMENT. */
VF_MUST_CHECK vf_status vf_fista(const vf_convex_problem *problem, vf_queue *queue, const vf_convex_options *options,
                                 void *x, vf_convex_result *result);

VF_API_END

#ifdef __cplusplus
}
#endif
#endif
