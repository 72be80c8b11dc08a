/* What the solvers of convex problems share: checks, vectors, and the figures of the end; not installed. */
#ifndef VOXFIELD_CONVEX_INTERNAL_H
#define VOXFIELD_CONVEX_INTERNAL_H

#include "device/team_choice.h"
#include "voxfield/solver.h"

enum { CONVEX_VECTORS = 14 };

/* A problem with its vectors. Types of the domain and of all codomains are the same. */
typedef struct convex {
    const vf_convex_problem *problem;
    const vf_convex_options *options;
    vf_queue *queue;
    vf_dtype type;
    int64_t n, most; /* elements of the domain; of the largest codomain */
    void *x, *vector[CONVEX_VECTORS];
    void *own[VF_MOST_PENALTIES]; /* a vector of the codomain for each penalty */
    void *room[2];                /* of the largest codomain */
    vf_array array[CONVEX_VECTORS + VF_MOST_PENALTIES + 2];
    int arrays;
    double size;    /* |b| */
    double largest; /* sum_i |T_i x|^2 of the iteration where it is largest */
    vf_convex_result *result;
    vf_team_choice choice;
    int before; /* applications before the iteration */
} convex;

/* Checks the problem, allocates `vectors` of the domain and the others above, zeroes own, sets x to 0 unless it is
 * warm, and finds |b|. b = 0 or one that is not finite ends the solver: result->end is not VF_SOLVER_ITERATIONS then.
 * Call convex_free afterwards in any case. */
VF_MUST_CHECK vf_status convex_begin(const char *solver, const vf_convex_problem *problem, vf_queue *queue,
                                     const vf_convex_options *options, void *x, int vectors, vf_convex_result *result,
                                     convex *out);
void convex_free(convex *c);

/* Elements of a penalty's codomain. */
int64_t convex_count(const convex *c, int penalty);
/* T x in c->room[0], or x itself for the identity. */
VF_MUST_CHECK vf_status convex_transform(convex *c, int penalty, const void *x, const void **tx);
/* to += factor T^H v. `scratch` is a vector of the domain. */
VF_MUST_CHECK vf_status convex_add_adjoint(convex *c, int penalty, double factor, const void *v, void *scratch,
                                           void *to);
/* out = b - ax - forces: minus the gradient, for forces = sum_i T_i^H y_i. */
VF_MUST_CHECK vf_status convex_descent(convex *c, const void *ax, const void *forces, void *out);
VF_MUST_CHECK vf_status convex_squares(const convex *c, int64_t n, const void *v, double *squares);
VF_MUST_CHECK vf_status convex_apply(convex *c, const void *x, void *y); /* y = A x, and counts it */

/* Begins an iteration, which convex_judge ends. */
void convex_next(convex *c);

/* Judges an iteration: sets the residuals and result->end, and calls options->tell. gap = sum_i |T_i x - z_i|^2, size =
 * sum_i |T_i x|^2, gradient = |A x - b + sum_i T_i^H y_i|^2. */
void convex_judge(convex *c, double gap, double size, double gradient);

/* Ends the solver because of an inner product that is negative or not finite. */
void convex_break(convex *c, double product);

/* The terms of the objective; ax = A x. If it is not finite, the end is VF_SOLVER_OVERFLOW. */
VF_MUST_CHECK vf_status convex_finish(convex *c, const void *ax);

#endif
