/* Voxfield - linear operators between vectors in the memory of a device.
 *
 *     forward   y = A x        x of the domain, y of the codomain
 *     adjoint   x = A^H y      <A x, y> = <x, A^H y>
 *     normal    z = A^H A x
 *
 * Whoever has a linear map fills in a table of methods and gets an operator; whoever needs one (solver.h) takes any.
 * Operators are combined into others: chains, sums, multiples, stacks. A space of vectors is an element type, real
 * (VF_F32, VF_F64) or complex (VF_C64, VF_C128), and a number of elements. All elements lie in VF_SPACE_DEVICE memory
 * of one device, without gaps. Input is kept, output is overwritten; the two must not overlap.
 *
 * Real-linear operators between complex vectors (those that conjugate) are adjoint with respect to Re <., .>. So are
 * operators between a real and a complex space, which are real-linear and nothing more: taking the real part, whose
 * adjoint is to append imaginary parts of 0. Between real spaces all operators are real-linear; they need not say so.
 * Nothing converts elements by itself: where operators meet in a combination or a solver, the types are the same.
 *
 * Operations go into a queue: asynchronous on a GPU, blocking on the CPU. One queue at a time may use an operator. The
 * same input gives the same bits, whatever the number of threads.
 */
#ifndef VOXFIELD_OPERATOR_H
#define VOXFIELD_OPERATOR_H

#include "voxfield/device.h"

#ifdef __cplusplus
extern "C" {
#endif
VF_API_BEGIN

typedef struct vf_vector_space {
    vf_dtype type;
    int64_t count; /* elements, >= 0 */
} vf_vector_space;

/* What an operator does, given its state. */
typedef struct vf_operator_methods {
    const char *name; /* in messages: "NUFFT" */
    vf_status (*forward)(void *state, vf_queue *queue, const void *x, void *y);
    vf_status (*adjoint)(void *state, vf_queue *queue, const void *y, void *x); /* not used of a self-adjoint one */
    vf_status (*normal)(void *state, vf_queue *queue, const void *x, void *z);  /* NULL: forward, then adjoint */
    void (*free)(void *state);                                                  /* NULL: nothing is to be freed */
} vf_operator_methods;

/* Properties that the maker vouches for. An operator between a real and a complex space must be real-linear. */
enum { VF_OPERATOR_SELF_ADJOINT = 1, VF_OPERATOR_REAL_LINEAR = 2 };

typedef struct vf_operator vf_operator;

/* Makes an operator of `state`, which it takes over: vf_operator_free frees it by methods->free. If it fails, `state`
 * stays the caller's. `methods` must outlive the operator. Errors: VF_ERR_ARGUMENT (a missing method; a space of
 * another type; a self-adjoint operator between two spaces; one between a real and a complex space that is not
 * real-linear), VF_ERR_MEMORY; *out is NULL then. */
VF_MUST_CHECK vf_status vf_operator_create(vf_device *device, const vf_operator_methods *methods, unsigned properties,
                                           vf_vector_space domain, vf_vector_space codomain, void *state,
                                           vf_operator **out);

/* The caller needs it no more; combinations of which it is a part keep it until they are freed themselves. From one
 * thread at a time for all operators that are combined. Work in the queue must be done. NULL is allowed. */
void vf_operator_free(vf_operator *a);

vf_device *vf_operator_device(const vf_operator *a);
vf_vector_space vf_operator_domain(const vf_operator *a);
vf_vector_space vf_operator_codomain(const vf_operator *a);
const char *vf_operator_name(const vf_operator *a);
unsigned vf_operator_properties(const vf_operator *a);

/* Errors: VF_ERR_ARGUMENT (a missing vector, input that is the output, another device's queue); those of the methods.
 * The first `normal` of an operator without a method for it allocates a vector of the codomain. */
VF_MUST_CHECK vf_status vf_operator_forward(vf_operator *a, vf_queue *queue, const void *x, void *y);
VF_MUST_CHECK vf_status vf_operator_adjoint(vf_operator *a, vf_queue *queue, const void *y, void *x);
VF_MUST_CHECK vf_status vf_operator_normal(vf_operator *a, vf_queue *queue, const void *x, void *z);

/* ---- operators of operators: all of one device, at least one. Errors: VF_ERR_ARGUMENT (spaces that do not fit; it
 * names the operators), VF_ERR_MEMORY, VF_ERR_DEVICE_MEMORY. *out is NULL then. ---- */

/* y = A_last ... A_1 A_0 x */
VF_MUST_CHECK vf_status vf_operator_chain(int count, vf_operator *const *a, vf_operator **out);

/* y = sum_i A_i x; self-adjoint where all are. */
VF_MUST_CHECK vf_status vf_operator_sum(int count, vf_operator *const *a, vf_operator **out);

/* y = (A_0 x, A_1 x, ...), one after the other; codomains of one type. */
VF_MUST_CHECK vf_status vf_operator_stack(int count, vf_operator *const *a, vf_operator **out);

/* y = factor A x, with a finite real factor; self-adjoint where A is. */
VF_MUST_CHECK vf_status vf_operator_scale(double factor, vf_operator *a, vf_operator **out);

/* y = A^H A x, self-adjoint: its forward is A's normal. */
VF_MUST_CHECK vf_status vf_operator_normal_of(vf_operator *a, vf_operator **out);

/* y = A^H x */
VF_MUST_CHECK vf_status vf_operator_adjoint_of(vf_operator *a, vf_operator **out);

/* ---- operators of one number an element, self-adjoint ---- */

VF_MUST_CHECK vf_status vf_operator_identity(vf_device *device, vf_vector_space space, vf_operator **out);

/* y_i = w_i x_i; `w` [count] real of the space's precision, VF_SPACE_DEVICE memory that must outlive the operator. */
VF_MUST_CHECK vf_status vf_operator_weights(vf_device *device, vf_vector_space space, const void *w, vf_operator **out);

VF_API_END

#ifdef __cplusplus
}
#endif
#endif
