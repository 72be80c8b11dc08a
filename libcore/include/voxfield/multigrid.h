/* Voxfield - multigrid for the stencil of stencil.h with variable coefficients: an approximate inverse, for conjugate
 * gradients.
 *
 * One V-cycle from 0 (Brandt, Math. Comp. 31 (1977) 333): a level has every second point of the one before along each
 * axis that has four points or more; a point between others takes half of each of its neighbours (trilinear
 * interpolation P), and residuals go back by P^T / 2 an axis. A coarse face is halfway between the harmonic and the
 * arithmetic mean of the two fine ones along it, and 1/4, 1/2, 1/4 of those across; reactions are averaged with these
 * weights. The smoother is that of Gauss and Seidel, red points and then black ones, and after the coarser levels in
 * reverse. So the cycle is self-adjoint and positive, as conjugate gradients need, whatever the coefficients.
 *
 * Periodic axes, each or none. One is halved while its number of points is even, so take counts that are small odd
 * numbers times powers of two (vf_multigrid_periodic_count). On a level with an odd one, where two neighbours have one colour, two damped steps of
 * Jacobi's method take the place of a sweep. If all axes are periodic and nothing reacts, A x of a constant is 0: the sum
 * of b must be 0 to rounding, and x is known but for a constant.
 *
 * For the CPU and CUDA. Values have the same bits on both, for any number of threads; sums, and
 * so solutions, are rounded in other orders. Not yet run on a GPU: what a GPU computes has been tested on a CPU, point
 * by point (validation/unit/libcore/stencil/test_multigrid_points.c), the launches have only been compiled.
 */
#ifndef VOXFIELD_MULTIGRID_H
#define VOXFIELD_MULTIGRID_H

#include "voxfield/solver.h"
#include "voxfield/stencil.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { VF_MULTIGRID_MOST_SWEEPS = 8 };

typedef struct vf_multigrid vf_multigrid;

/* Makes the levels below `finest`, whose faces and reaction (>= 0; on a GPU, complete in its memory) must outlive the
 * plan. sweeps: of the smoother before and after the coarser levels, 1 to VF_MULTIGRID_MOST_SWEEPS; 0: 1. Coarser
 * levels have one more, which costs little. Blocking, with the context's threads. The variant is an instruction set of
 * the CPU; on a GPU there is one only. Errors: as vf_stencil_create; VF_ERR_ARGUMENT (constant coefficients, sweeps),
 * VF_ERR_UNSUPPORTED (the device); on a GPU VF_ERR_DEVICE and VF_ERR_DEVICE_MEMORY, as below. */
VF_MUST_CHECK vf_status vf_multigrid_create(vf_device *device, const vf_stencil_options *finest, int sweeps,
                                            vf_multigrid **out);
void vf_multigrid_destroy(vf_multigrid *plan); /* NULL is allowed */

/* The number of points nearest to `wanted` (>= 1) that suits a periodic axis: up to 15 times a power of two. A number suits if it is its own
 * nearest. */
int64_t vf_multigrid_periodic_count(double wanted);

int vf_multigrid_levels(const vf_multigrid *plan);
int64_t vf_multigrid_bytes(const vf_multigrid *plan); /* of memory, without the finest coefficients */

/* The cycle as a self-adjoint operator, from residuals to corrections, for vf_cg_options.preconditioner. The plan must
 * outlive it; one queue at a time may use it. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status vf_multigrid_operator_create(vf_multigrid *plan, vf_operator **out);

/* Solves A x = b from x = 0 by conjugate gradients and a cycle an iteration, blocking; A is the finest level's. b and x
 * are double, VF_SPACE_DEVICE memory; b becomes b - A x, and result->residual is its norm over b's. Iterations are in
 * the plan's precision. Where that is single, b - A x is computed anew in double precision whenever it has fallen by
 * 1e-3 and at the end, with the coefficients as they are (reliable updates: Sleijpen and van der Vorst, Computing 56
 * (1996) 141). So the tolerance holds for x itself. Takes four vectors of the plan's type beside b and x. The bits do
 * not depend on the number of threads. Errors: VF_ERR_ARGUMENT (options with `warm`, a preconditioner or a tolerance of
 * 0; vectors missing), VF_ERR_MEMORY, VF_ERR_CANCELLED. */
VF_MUST_CHECK vf_status vf_multigrid_solve(vf_multigrid *plan, vf_queue *queue, const vf_cg_options *options, double *b,
                                           double *x, vf_cg_result *result);

#ifdef __cplusplus
}
#endif
#endif
