/* Voxfield - the electrostatic potential of a molecule in a solvent: the linear Poisson-Boltzmann equation on a grid.
 *
 *     -div(eps grad phi) + eps_s kappa^2 a phi = 4 pi rho
 *
 * eps is eps_m in the molecule and eps_s in the solvent, which surfaces of molecular_surface.h part; a is 1 where the centre of an ion
 * can be and 0 elsewhere. Potentials are in charges over lengths (Gaussian units): multiply by the Coulomb constant.
 *
 * The unknown is u = phi - G in the molecule and phi in the solvent, where G is the Coulomb potential of the charges over eps_m, exact.
 * So the charges' poles and their energy on the grid are never there, and nothing large cancels (the regularisation of Zhou,
 * Payne, Vasquez, Kuhn and Levitt, J. Comput. Chem. 17 (1996) 1344). Finite differences of seven points; a face that the surface
 * cuts has the harmonic mean, 1 / (f / eps_m + (1 - f) / eps_s), f the part of it in the molecule, so the matrix stays symmetric and
 * the order is two (LeVeque and Li, SIAM J. Numer. Anal. 31 (1994) 1019, discuss alternatives). Beyond the grid phi is the sum of
 * screened charges q exp(-kappa (r - R)) / (eps_s (1 + kappa R) r), R an atom's radius and the ion's. Solved by conjugate
 * gradients with a cycle of multigrid.h.
 */
#ifndef VOXFIELD_SOLVENT_H
#define VOXFIELD_SOLVENT_H

#include "coulomb_sum.h"
#include "molecular_surface.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vf_solvent_options {
    double molecule_dielectric, solvent_dielectric; /* >= 1 */
    double kappa;                                   /* >= 0: 1 over the Debye length, in 1 over the grid's unit */
    double stern;            /* >= 0: the radius of ions, by which they keep from the atoms' spheres */
    vf_surface_kind surface; /* of the molecule */
    double probe;            /* as in vf_surface_options */
    double tolerance;        /* of the residual, relative; > 0 */
    int iterations;          /* at most; > 0 */
} vf_solvent_options;

/* vf_solvent_options of water at 298.15 K with 0.15 mol/L of salt 1:1, for lengths in angstrom. */
vf_solvent_options vf_solvent_defaults(void);

/* kappa in 1/angstrom of a 1:1 salt of `strength` mol/L at temperature T in kelvin:
 * kappa^2 = 8 pi l_B N_A strength, l_B = e^2 / (4 pi eps_0 eps_s k T). */
double vf_solvent_kappa(double strength, double solvent_dielectric, double temperature);

typedef struct vf_solvent vf_solvent;

typedef struct vf_solvent_result {
    int iterations;
    double residual;
    int64_t cut; /* faces that the surface cuts */
} vf_solvent_result;

/* Makes the equation and solves it, blocking, with the threads of the device's context. Charges and radii: [charges->count], host
 * memory; an atom of radius 0 has no sphere. Errors: VF_ERR_ARGUMENT (options; NaN; a molecule that comes within a spacing of the
 * grid's rim; a charge without a point of the molecule at a corner of its cell of the grid, atoms counted from 1), VF_ERR_UNSUPPORTED (the
 * device: multigrid.h; a grid with a cell), VF_ERR_MEMORY, VF_ERR_CANCELLED, VF_ERR_INTERNAL (no convergence). *out is NULL
 * then. */
VF_MUST_CHECK vf_status vf_solvent_create(vf_device *device, const vf_grid *grid, const vf_coulomb_atoms *charges,
                                          const double *radius, const vf_solvent_options *options, vf_solvent **out);
void vf_solvent_destroy(vf_solvent *plan); /* NULL is allowed */
vf_solvent_result vf_solvent_outcome(const vf_solvent *plan);

/* u at the points of the grid, [z][y][x], and whether each is in the molecule, [z][y][x]: phi = u + inside G. Both belong to the
 * plan. */
const double *vf_solvent_unknown(const vf_solvent *plan);
const uint8_t *vf_solvent_inside(const vf_solvent *plan);

/* Adds phi to the Coulomb potential, in place. `values`: those of the box, host memory, [z][y][x], or [x][y][z] if z is fastest, VF_F32
 * or VF_F64: before, `constant` times G, the potential of the charges over molecule_dielectric; after, `constant` times phi, which
 * is u + G in the molecule and u outside. Errors: VF_ERR_ARGUMENT (the box). */
VF_MUST_CHECK vf_status vf_solvent_add(const vf_solvent *plan, const vf_box *box, bool z_fastest, vf_dtype type,
                                       double constant, void *values);

/* The reaction potential at the atoms, [count], by trilinear interpolation; the energy of solvation relative to a medium of
 * molecule_dielectric everywhere is sum q values / 2. Errors: none but a point outside the grid: VF_ERR_ARGUMENT. */
VF_MUST_CHECK vf_status vf_solvent_reaction(const vf_solvent *plan, int64_t count, const double *x, const double *y,
                                            const double *z, double *values);

#ifdef __cplusplus
}
#endif
#endif
