/* Voxfield - a 7-point stencil on a regular grid: y = A x, and sweeps of Jacobi's method, on a device.
 *
 * Vectors are [counts[2]][counts[1]][counts[0]] (z, y, x), real. p is a point, e_a the step to the next point along
 * axis a; axes 0, 1, 2 are x, y, z. A is one of two:
 *
 * Constant coefficients, without `faces`:
 *
 *     y_p = centre x_p + sum_a axis_a (x_(p - e_a) + x_(p + e_a))
 *
 * Variable coefficients: finite volumes for -div(c grad x) + r x, with c on the faces between points:
 *
 *     y_p = sum_a [ c_a(p) (x_p - x_(p - e_a)) + c_a(p + e_a) (x_p - x_(p + e_a)) ] / spacing_a^2 + r_p x_p
 *
 * Boundaries. Along a periodic axis the first and the last point are neighbours. Along other axes x is 0 outside the
 * grid (a homogeneous Dirichlet boundary, one step beyond the last point). For other boundary values, add
 * c value / spacing_a^2 of the boundary's faces to the right side. For a boundary without flux, set its faces to 0.
 *
 * Faces. c_a(p) is the face between p - e_a and p. faces[a] has the grid's shape, with one more face along its own axis,
 * unless that axis is periodic: the last face is then the first. So faces[0] is [nz][ny][nx + 1], faces[1] is
 * [nz][ny + 1][nx], faces[2] is [nz + 1][ny][nx], or [nz][ny][nx] if periodic.
 *
 * A is symmetric. With variable coefficients, without r and with periodic boundaries, A x of a constant x is 0 exactly.
 *
 * Rounding. Coefficients are rounded to the type, 1 / spacing_a^2 once. Each difference, product and sum is rounded,
 * without fused multiply-add, in this order: an axis's low face first; axes x, y, z; then r x. With constant
 * coefficients: the centre, then the axes. So all variants on all devices give the same bits, except "ref", which
 * computes in long double.
 *
 * Variants on the CPU: "simd" (the default), "baseline", "avx2", "avx512", and "ref" (one thread). On a GPU: "tuned"
 * (the default: a thread computes several points of a column, in registers), "naive" (a thread a point, all from global
 * memory), "tiled" (a tile of a plane and its border in shared memory; a thread marches along z, with the points above
 * and below in registers: Micikevicius, Proc. GPGPU-2 (2009) 79) and "unrolled" (the same with several points of a tile
 * a thread).
 */
#ifndef VOXFIELD_STENCIL_H
#define VOXFIELD_STENCIL_H

#include <stdint.h>

#include "voxfield/operator.h"

#ifdef __cplusplus
extern "C" {
#endif
VF_API_BEGIN

typedef struct vf_stencil_options {
    vf_dtype type;        /* VF_F32 or VF_F64: of x, y and all coefficients */
    int64_t counts[3];    /* points along x, y, z; 0 is allowed */
    bool periodic[3];     /* along x, y, z */
    double centre;        /* constant coefficients; not used with faces */
    double axis[3];       /* constant coefficients; not used with faces */
    const void *faces[3]; /* VF_SPACE_DEVICE memory of the device, which must outlive the plan; all NULL: constant */
    const void *reaction; /* r [nz][ny][nx], likewise; NULL: 0. Only with faces. */
    double spacing[3];    /* along x, y, z, > 0; only with faces */
    const char *variant;  /* NULL: the device's default */
} vf_stencil_options;

typedef struct vf_stencil vf_stencil;

/* Errors: VF_ERR_ARGUMENT (type, counts, a coefficient or spacing that is not finite in the type, some faces but not
 * all, a reaction without faces, an unknown variant), VF_ERR_MEMORY, VF_ERR_DEVICE. */
VF_MUST_CHECK vf_status vf_stencil_create(vf_device *device, const vf_stencil_options *options, vf_stencil **out);
void vf_stencil_destroy(vf_stencil *plan); /* NULL is allowed; work in queues must be done */

/* The calls below go into a queue of the plan's device: asynchronous on a GPU, complete on return on the CPU. Several
 * queues may use a plan. All vectors are VF_SPACE_DEVICE memory and must not overlap (not checked). Errors:
 * VF_ERR_ARGUMENT (a pointer is NULL, a queue of another device). */

/* y = A x */
VF_MUST_CHECK vf_status vf_stencil_apply(const vf_stencil *plan, vf_queue *queue, const void *x, void *y);

/* Sweeps of the weighted Jacobi method for A x = b, each from one of two vectors to the other:
 *
 *     x'_p = x_p + omega (b_p - (A x)_p) / A_pp
 *
 * The first sweep reads x and writes `other`, the second reads `other` and writes x, and so on. So the result is in x
 * after an even number of sweeps, and in `other` after an odd number. A_pp must not be 0. Along a periodic axis of one
 * point, where a point is its own neighbour, A_pp is still the element of A. Errors also: VF_ERR_ARGUMENT
 * (sweeps < 0), VF_ERR_CANCELLED (checked between sweeps). */
VF_MUST_CHECK vf_status vf_stencil_jacobi(const vf_stencil *plan, vf_queue *queue, int sweeps, double omega,
                                          const void *b, void *x, void *other);

/* A as a self-adjoint operator, for the solvers of solver.h. The plan must outlive it. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status vf_stencil_operator_create(const vf_stencil *plan, vf_operator **out);

/* The names of a device kind's variants, the default first; NULL beyond the last. */
const char *vf_stencil_variant_name(vf_device_kind kind, int index);

VF_API_END
#ifdef __cplusplus
}
#endif
#endif
