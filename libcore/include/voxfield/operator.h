/* Voxfield - linear operators between vectors in the memory of a device.
 *
 *     forward   y = A x        x of the domain, y of the codomain
 *     adjoint   x = A^H y      <A x, y> = <x, A^H y>
 *     normal    z = A^H A x
 *
 * To make an operator, fill in a table of methods. Functions that need one (solver.h) take any. Operators can be
 * combined: chains, sums, multiples, stacks. A vector space is an element type, real (VF_F32, VF_F64) or complex
 * (VF_C64, VF_C128), and a number of elements. All elements are in VF_SPACE_DEVICE memory of one device, without gaps.
 * The input is kept, the output is overwritten; the two must not overlap.
 *
 * For real-linear operators between complex vectors (operators that conjugate), the adjoint is with respect to
 * Re <., .>. The same holds for operators between a real and a complex space, which can only be real-linear. Example:
 * taking the real part, whose adjoint appends imaginary parts of 0. Between real spaces all operators are real-linear,
 * and the flag is not needed. Element types are never converted: in a combination or a solver, the types must be equal.
 *
 * Operations go into a queue: asynchronous on a GPU, blocking on the CPU. One queue at a time may use an operator. The
 * same input gives the same bits, for any number of threads.
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

/* An operator's methods; each gets the operator's state. */
typedef struct vf_operator_methods {
    const char *name; /* in messages: "NUFFT" */
    vf_status (*forward)(void *state, vf_queue *queue, const void *x, void *y);
    vf_status (*adjoint)(void *state, vf_queue *queue, const void *y,
                         void *x);                                             /* not used for self-adjoint operators */
    vf_status (*normal)(void *state, vf_queue *queue, const void *x, void *z); /* NULL: forward, then adjoint */
    void (*free)(void *state);                                                 /* NULL: nothing to free */
} vf_operator_methods;

/* Properties that the caller guarantees. An operator between a real and a complex space must be real-linear. */
enum { VF_OPERATOR_SELF_ADJOINT = 1, VF_OPERATOR_REAL_LINEAR = 2 };

typedef struct vf_operator vf_operator;

/* Makes an operator and takes ownership of `state`: vf_operator_free calls methods->free. After an error, the caller
 * still owns `state`. `methods` must outlive the operator. Errors: VF_ERR_ARGUMENT (a missing method; a space of
 * another type or of negative length; a self-adjoint operator between different spaces; an operator between a real and
 * a complex space that is not real-linear), VF_ERR_MEMORY; *out is NULL then. */
VF_MUST_CHECK vf_status vf_operator_create(vf_device *device, const vf_operator_methods *methods, unsigned properties,
                                           vf_vector_space domain, vf_vector_space codomain, void *state,
                                           vf_operator **out);

/* Releases the caller's reference. Combinations that contain the operator keep it until they are freed themselves.
 * Operators that are combined must be freed from one thread at a time. Work in the queue must be done. NULL is
 * allowed. */
void vf_operator_free(vf_operator *a);

vf_device *vf_operator_device(const vf_operator *a);
vf_vector_space vf_operator_domain(const vf_operator *a);
vf_vector_space vf_operator_codomain(const vf_operator *a);
const char *vf_operator_name(const vf_operator *a);
unsigned vf_operator_properties(const vf_operator *a);

/* Errors: VF_ERR_ARGUMENT (a missing vector, input equal to output, another device's queue); those of the methods. If
 * an operator has no method `normal`, the first call of vf_operator_normal allocates a vector of the codomain. */
VF_MUST_CHECK vf_status vf_operator_forward(vf_operator *a, vf_queue *queue, const void *x, void *y);
VF_MUST_CHECK vf_status vf_operator_adjoint(vf_operator *a, vf_queue *queue, const void *y, void *x);
VF_MUST_CHECK vf_status vf_operator_normal(vf_operator *a, vf_queue *queue, const void *x, void *z);

/* ---- combinations of operators: at least one, all of one device. Errors: VF_ERR_ARGUMENT (spaces that do not fit; the
 * message names the operators), VF_ERR_MEMORY, VF_ERR_DEVICE_MEMORY. *out is NULL then. ---- */

/* y = A_last ... A_1 A_0 x */
VF_MUST_CHECK vf_status vf_operator_chain(int count, vf_operator *const *a, vf_operator **out);

/* y = sum_i A_i x; self-adjoint if all A_i are. */
VF_MUST_CHECK vf_status vf_operator_sum(int count, vf_operator *const *a, vf_operator **out);

/* y = (A_0 x, A_1 x, ...), concatenated; the codomains have one type. */
VF_MUST_CHECK vf_status vf_operator_stack(int count, vf_operator *const *a, vf_operator **out);

/* y = factor A x, with a finite real factor; self-adjoint if A is. */
VF_MUST_CHECK vf_status vf_operator_scale(double factor, vf_operator *a, vf_operator **out);

/* y = A^H A x, self-adjoint: its forward is A's normal. */
VF_MUST_CHECK vf_status vf_operator_normal_of(vf_operator *a, vf_operator **out);

/* y = A^H x */
VF_MUST_CHECK vf_status vf_operator_adjoint_of(vf_operator *a, vf_operator **out);

/* ---- operators of several devices. Their vectors are on the first part's device. Each part with a queue of its own has
 * copies of its vectors on its own device, and works at the same time as the others. The results are put together in order.
 * Self-adjoint if all parts are. Errors: as of combinations; those of vf_array_copy. ---- */

typedef struct vf_operator_part {
    vf_operator *a;
    vf_queue
        *queue; /* on a's device; must outlive the operator. NULL: a is on the first part's device, and works in the
                      * caller's queue */
} vf_operator_part;

/* y = sum_i A_i x. The first part has no queue of its own, the others have. */
VF_MUST_CHECK vf_status vf_operator_sum_of_devices(int count, const vf_operator_part *part, vf_operator **out);

/* y = (A_0 x_0, A_1 x_1, ...), block-diagonal: x and y are the parts' vectors, concatenated. */
VF_MUST_CHECK vf_status vf_operator_blocks(int count, const vf_operator_part *part, vf_operator **out);

/* ---- diagonal operators, self-adjoint ---- */

VF_MUST_CHECK vf_status vf_operator_identity(vf_device *device, vf_vector_space space, vf_operator **out);

/* y_i = w_i x_i; `w` [count] real of the space's precision, VF_SPACE_DEVICE memory that must outlive the operator. */
VF_MUST_CHECK vf_status vf_operator_weights(vf_device *device, vf_vector_space space, const void *w, vf_operator **out);

VF_API_END

#ifdef __cplusplus
}
#endif
#endif
