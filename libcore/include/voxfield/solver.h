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
    VF_SOLVER_CONVERGED,    /* to the tolerance, or b = 0 */
    VF_SOLVER_ITERATIONS,   /* the limit of iterations was reached */
    VF_SOLVER_STOPPED,      /* options->tell returned true */
    VF_SOLVER_NOT_POSITIVE, /* <p, A p> <= 0: A is not positive definite, at least within rounding errors */
    VF_SOLVER_OVERFLOW,     /* an inner product is not finite */
} vf_solver_end;

typedef struct vf_cg_options {
    int iterations;              /* at most, >= 0 */
    double tolerance;            /* of |b - A x| / |b|, >= 0; 0: all iterations */
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

VF_API_END

#ifdef __cplusplus
}
#endif
#endif
