/* Voxfield - iterative solvers for any linear operator (operator.h), with all vectors on the device.
 *
 * Vectors are VF_SPACE_DEVICE memory of the operator's device, real or complex as its space is. Some numbers an
 * iteration come back to the host.
 */
#ifndef VOXFIELD_SOLVER_H
#define VOXFIELD_SOLVER_H

#include "voxfield/operator.h"

#ifdef __cplusplus
extern "C" {
#endif
VF_API_BEGIN

/* Why a solver ended. */
typedef enum vf_solver_end {
    VF_SOLVER_CONVERGED,    /* to the tolerance, or b = 0 */
    VF_SOLVER_ITERATIONS,   /* all that were allowed are done */
    VF_SOLVER_STOPPED,      /* options->tell asked for it */
    VF_SOLVER_NOT_POSITIVE, /* <p, A p> <= 0: A is not positive definite, at least not to the accuracy at hand */
    VF_SOLVER_OVERFLOW,     /* a product of vectors is not finite */
} vf_solver_end;

typedef struct vf_cg_options {
    int iterations;              /* at most, >= 0 */
    double tolerance;            /* of |b - A x| / |b|, >= 0; 0: all iterations */
    vf_operator *preconditioner; /* z = M r, M self-adjoint, positive, near the inverse of A; NULL: none */
    bool warm;                   /* x is a first guess; else it begins as 0 */
    /* After each iteration; true ends the solver. May be NULL. */
    bool (*tell)(void *user, int iteration, double residual);
    void *user;
} vf_cg_options;

typedef struct vf_cg_result {
    int iterations;
    double residual; /* |b - A x| / |b| by the recurrence, which falls on where rounding no longer lets the true one */
    vf_solver_end end;
} vf_cg_result;

/* Solves A x = b by conjugate gradients (Hestenes and Stiefel, J. Res. Natl. Bur. Stand. 49 (1952) 409). A:
 * self-adjoint (only its forward is used) and positive definite, also on a subspace that b and x lie in. `b` is used
 * up: it ends as the residual. Between complex vectors only the real parts of products are looked at, so A may be
 * real-linear. Takes memory for two vectors, and a third with a preconditioner. Errors: VF_ERR_ARGUMENT (A or M between
 * other spaces, options out of range), VF_ERR_DEVICE_MEMORY, VF_ERR_CANCELLED (the context was, between iterations),
 * those of the operators. However it ends, x is the last iterate, and *result says what has come of it. */
VF_MUST_CHECK vf_status vf_cg(vf_operator *a, vf_queue *queue, const vf_cg_options *options, void *b, void *x,
                              vf_cg_result *result);

/* The largest eigenvalue of a self-adjoint positive operator by power iteration from a random vector: until it changes
 * by less than `tolerance` of it in an iteration, `iterations` at most (>= 1). For the largest singular value of F: the
 * root of that of vf_operator_normal_of(F). An eigenvalue is approached from below. *used (may be NULL) gets the number
 * of iterations. Errors: as vf_cg; VF_ERR_ARGUMENT where a product is not finite. */
VF_MUST_CHECK vf_status vf_largest_eigenvalue(vf_operator *a, vf_queue *queue, int iterations, double tolerance,
                                              uint64_t seed, double *eigenvalue, int *used);

VF_API_END

#ifdef __cplusplus
}
#endif
#endif
