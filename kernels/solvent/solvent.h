/* Voxfield - the electrostatic potential of a molecule in a solvent: the Poisson-Boltzmann equation on a grid, linear or not.
 *
 *     -div(eps grad phi) + eps_s kappa^2 a f(phi) = 4 pi rho
 *
 * eps is eps_m in the molecule and eps_s in the solvent, which surfaces of molecular_surface.h part; a is 1 where the centre of an ion
 * can be and 0 elsewhere. Potentials are in charges over lengths (Gaussian units): multiply by the Coulomb constant.
 *
 * The linear equation has f(phi) = phi. The non-linear one has ions of charges z_i and concentrations c_i that follow Boltzmann's law,
 *
 *     f(phi) = -1/l sum_i c_i z_i exp(-z_i l phi) / sum_i c_i z_i^2,    kappa^2 = 4 pi l sum_i c_i z_i^2 / eps_s
 *
 * where l is the Bjerrum length of vacuum, e^2 / (4 pi eps_0 k T), in the grid's unit: l phi is the potential in k T / e.
 *
 * The unknown is u = phi - G in the molecule and phi in the solvent, where G is the Coulomb potential of the charges over eps_m, exact.
 * So the charges' poles and their energy on the grid are never there, and nothing large cancels (the regularisation of Zhou,
 * Payne, Vasquez, Kuhn and Levitt, J. Comput. Chem. 17 (1996) 1344). Finite differences of seven points; a face that the surface
 * cuts has the harmonic mean, 1 / (f / eps_m + (1 - f) / eps_s), f the part of it in the molecule (vf_surface_cuts), so the matrix
 * stays symmetric and the order is two (LeVeque and Li, SIAM J. Numer. Anal. 31 (1994) 1019, discuss alternatives). Beyond the grid phi is the sum of
 * screened charges q exp(-kappa (r - R)) / (eps_s (1 + kappa R) r), R an atom's radius and the ion's. Solved by conjugate
 * gradients with a cycle of multigrid.h. The non-linear equation is solved by Newton's method from the linear solution: inexact and
 * damped by a search along each step for a smaller residual (Holst and Saied, J. Comput. Chem. 16 (1995) 337). In the solvent u is phi,
 * so the exponentials are of u itself. The boundary stays that of the linear equation: keep it where the potential is below k T / e;
 * from 4 k T / e on the grid is refused.
 *
 * In a grid with a cell, which it covers once, all of this is periodic: charges, surface, ions. G is the periodic Coulomb
 * potential of ewald_sum.h over eps_m, whose mean is 0 and which has a uniform background that neutralises a net charge Q. Which phi has one?
 *   - Without ions (kappa 0, or no place for them), the equation has no solution for a net charge, so phi has the background, too. The mean
 *     of phi over the cell is 0, as that of G. Then sum q phi / 2 is the energy of charges and background together, which no constant changes.
 *   - With ions there is no background: they neutralise the charge themselves, int rho_ions = -Q, in the linear equation, too. phi is that
 *     relative to the reservoir of salt.
 * So the energies below are those of a periodic system, next to the same charges with a background in a medium of eps_m. Of a lattice of ions
 * of charge Q and radius R in a cube of edge L without salt, it is that in free space plus the corrections of Hummer, Pratt and Garcia
 * (J. Chem. Phys. 107 (1997) 9275): Q^2 / 2 (1 / eps_s - 1 / eps_m) (1 / R - 2.837297 / L + 4 pi R^2 / (3 L^3) - 16 pi^2 R^5 / (45 L^6)).
 * The number of points along an axis should be a small odd number times a power of two (multigrid.h).
 *
 * A triclinic cell has vectors (a, 0, 0), (b_x, b, 0), (c_x, c_y, c), so a box of edges a, b, c covers it once, too, and the grid covers
 * that: with axes of right angles and the same seven points. What the shear changes is which points are neighbours across the box's sides: those
 * that images of it share. So b_x, c_x and c_y must be whole spacings (vf_grid_shear), and there are no cross terms; the matrix stays symmetric and positive.
 * Conjugate gradients have a Fourier preconditioner there, on the host only, some 40 to 60 iterations at eps_s / eps_m = 39; numbers of points with
 * factors of 2, 3 and 5 are best.
 *
 * VF_SURFACE_SMOOTH smooths the permittivity across the solvent-excluded surface (without a probe: the van der Waals surface), as APBS's
 * srfm smol does: a face is in the molecule if its centre is, then gets the harmonic mean of itself and the eight faces 1 / sqrt(2)
 * spacings away (Bruccoleri, Novotny, Davis and Sharp, J. Comput. Chem. 18 (1997) 268). As there, the layer is as thick as a spacing,
 * so the energy tends to that of the sharp surface. Otherwise than there, faces within the molecule that touch a corner of a charge's
 * cell keep eps_m: G has the charges' poles over eps_m, so at a charge in another permittivity u would have a pole, too. For APBS such
 * charges have energies that depend on their place between grid points.
 */
#ifndef VOXFIELD_SOLVENT_H
#define VOXFIELD_SOLVENT_H

#include "coulomb_sum.h"
#include "molecular_surface.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { VF_SOLVENT_MOST_IONS = 10 };

/* A kind of ion: its charge in e, not 0, and its concentration far from the molecule, >= 0. */
typedef struct vf_solvent_ion {
    double charge, concentration;
} vf_solvent_ion;

typedef struct vf_solvent_options {
    double molecule_dielectric, solvent_dielectric; /* >= 1 */
    double kappa;                                   /* >= 0: 1 over the Debye length, in 1 over the grid's unit */
    double stern;            /* >= 0: the radius of ions, by which they keep from the atoms' spheres */
    vf_surface_kind surface; /* of the molecule, or VF_SURFACE_SMOOTH (above) */
    double probe;            /* as in vf_surface_options; smooth: 0 for the atoms' spheres */
    double tolerance;        /* of the residual, relative; > 0 */
    int iterations;          /* at most, of a linear solution; > 0 */
    bool non_linear;
    /* Of the non-linear equation only: the kinds of ions, neutral together, of which only ratios of concentrations count, since kappa
     * says how much; l of above; and the most steps of Newton's method, > 0. vf_solvent_set_salt sets kappa, ions and l. */
    int ions;
    vf_solvent_ion ion[VF_SOLVENT_MOST_IONS];
    double bjerrum;
    int steps;
    /* Called before each step with its number and the residual, relative; returning true stops with VF_ERR_CANCELLED. May be NULL. */
    bool (*tell)(void *user, int step, double residual);
    void *user;
} vf_solvent_options;

/* vf_solvent_options of water at 298.15 K with 0.15 mol/L of salt 1:1, for lengths in angstrom. */
vf_solvent_options vf_solvent_defaults(void);

/* kappa in 1/angstrom of a 1:1 salt of `strength` mol/L at temperature T in kelvin:
 * kappa^2 = 8 pi l_B N_A strength, l_B = e^2 / (4 pi eps_0 eps_s k T). */
double vf_solvent_kappa(double strength, double solvent_dielectric, double temperature);

/* e^2 / (4 pi eps_0 k T) in angstrom: 560.46 at 298.15 K. A potential of this header, in e/angstrom, times this is in k T / e; an energy,
 * in e^2/angstrom, times this is in k T. */
double vf_solvent_bjerrum(double temperature);

/* Sets options->ions, ion, kappa and bjerrum for a salt of any kinds of ions, concentrations in mol/L, lengths in angstrom, with
 * options->solvent_dielectric. Errors: VF_ERR_ARGUMENT (no ions or too many; a charge of 0; a negative concentration, or all 0; a sum of
 * charges that is not 0 to 1e-6 of the sum of their magnitudes; a temperature that is not positive). */
VF_MUST_CHECK vf_status vf_solvent_set_salt(vf_context *ctx, int ions, const vf_solvent_ion *ion, double temperature,
                                            vf_solvent_options *options);

typedef struct vf_solvent vf_solvent;

typedef struct vf_solvent_result {
    int iterations; /* of conjugate gradients, all together */
    int steps;      /* of Newton's method; 0 for the linear equation */
    double residual;
    double
        edge; /* of the non-linear equation: the largest potential at the edge of the grid, in k T / e; 1 or less is good; 0 in a cell */
    int64_t cut; /* faces that the surface cuts */
} vf_solvent_result;

/* Makes the equation and solves it, blocking, with the threads of the device's context. On a CUDA device only linear systems are solved, of
 * copies there: VF_SOLVENT_DEVICE_BYTES a point of its memory, beside what vf_solvent_bytes says; further errors are VF_ERR_DEVICE and
 * VF_ERR_DEVICE_MEMORY then. Charges and radii: [charges->count], host memory; an atom of radius 0 has no sphere. Errors: VF_ERR_ARGUMENT (options; NaN; a cell that
 * the grid does not cover once; a molecule that comes within a spacing of the
 * grid's rim; a charge without a point of the molecule at a corner of its cell of the grid, atoms counted from 1; a potential of
 * 4 k T / e at the rim, if non-linear), VF_ERR_UNSUPPORTED (the device: multigrid.h), VF_ERR_MEMORY,
 * VF_ERR_CANCELLED, VF_ERR_INTERNAL (no convergence; a potential with an exponent beyond 40, which no salt can have). *out is NULL
 * then. */
enum { VF_SOLVENT_DEVICE_BYTES = 56 };
VF_MUST_CHECK vf_status vf_solvent_create(vf_device *device, const vf_grid *grid, const vf_coulomb_atoms *charges,
                                          const double *radius, const vf_solvent_options *options, vf_solvent **out);
void vf_solvent_destroy(vf_solvent *plan); /* NULL is allowed */
/* About the memory that vf_solvent_create takes at its peak on the host, beside the charges: 54 bytes a point (67 in a triclinic cell) (faces and reaction in single precision,
 * u and the right side in double precision, four vectors of the solver and the coarse levels), 82 for the non-linear equation, and what
 * lies at the surface. A solved plan keeps 25 bytes a point of it. */
int64_t vf_solvent_bytes(const vf_grid *grid, int64_t atoms, const vf_solvent_options *options);

vf_solvent_result vf_solvent_outcome(const vf_solvent *plan);

/* u at the points of the grid, [z][y][x], and whether each is in the molecule, [z][y][x]: phi = u + inside G. Both belong to the
 * plan. */
const double *vf_solvent_unknown(const vf_solvent *plan);
const uint8_t *vf_solvent_inside(const vf_solvent *plan);

/* What a plan is made of, [z][y][x], host memory: the relative permittivity, the mean of a point's six faces; and the part of a point's
 * voxel where ions can be, 0 to 1 (0 everywhere without salt). */
typedef enum vf_solvent_part { VF_SOLVENT_DIELECTRIC, VF_SOLVENT_ACCESSIBLE } vf_solvent_part;
void vf_solvent_describe(const vf_solvent *plan, vf_solvent_part part, float *values);

/* Adds phi to the Coulomb potential, in place. `values`: those of the box, host memory, [z][y][x], or [x][y][z] if z is fastest, VF_F32
 * or VF_F64: before, `constant` times G, the potential of the charges over molecule_dielectric; after, `constant` times phi, which
 * is u + G in the molecule and u outside. Errors: VF_ERR_ARGUMENT (the box). */
VF_MUST_CHECK vf_status vf_solvent_add(const vf_solvent *plan, const vf_box *box, bool z_fastest, vf_dtype type,
                                       double constant, void *values);

/* The reaction potential phi - G at the atoms, [count]; the energy of solvation relative to a medium of molecule_dielectric everywhere is
 * sum q values / 2. Cubic interpolation along each axis among points in the molecule; beyond its surface u is continued as the
 * equation does. At places without a point of the molecule at a corner of their cell: phi, linear. Errors: none but a point outside the
 * grid: VF_ERR_ARGUMENT. */
VF_MUST_CHECK vf_status vf_solvent_reaction(const vf_solvent *plan, int64_t count, const double *x, const double *y,
                                            const double *z, double *values);

/* Adds phi to the Coulomb potential at points, [count][3], in place, as vf_solvent_add does: before, `constant` times G or a part of it;
 * after, `constant` times phi, or less what is missing. `field`, [count][3] or NULL, likewise: minus the gradients.
 *
 * Values continue those of the point's own side of the surface, which is where trilinear levels are 0: cubic where the 64 points around
 * are of this side (Keys, IEEE Trans. Acoust. Speech Signal Process. 29 (1981) 1153), elsewhere trilinear, where a corner of the
 * other side has instead of its value the one to which the equation continues this side. So this is second order up to the surface, and
 * the gradient first. `charges`: the points are charges of the molecule, in it if they have a point of it at a corner of their cell, and
 * their potential is that of vf_solvent_reaction. Host memory. Errors: a point outside of the grid, counted from 1, before any work:
 * VF_ERR_ARGUMENT. */
VF_MUST_CHECK vf_status vf_solvent_add_at(const vf_solvent *plan, int64_t count, const double *points, bool charges,
                                          double constant, double *potential, double *field);

/* The field at points of the grid, in place. `field`: [z][y][x][3] of the box, host memory: before, at points in the molecule (vf_solvent_inside),
 * `constant` times that of the charges over molecule_dielectric, and elsewhere anything; after, minus `constant` times grad phi.
 *
 * The gradient of u is of second order in the spacing: along each axis central differences, or where the next point is on the other side of the
 * surface, or beyond a grid without a cell, those of the point and the next two of its own side, (-3 u_0 + 4 u_1 - u_2) / 2. Where a side is
 * only two points thick, the difference of both; where one, the mean of the flows through its faces over its dielectric: first order.
 * Errors: VF_ERR_ARGUMENT (the box). */
VF_MUST_CHECK vf_status vf_solvent_add_field(const vf_solvent *plan, const vf_box *box, double constant, double *field);

/* The free energy of solvation, relative to a medium of molecule_dielectric everywhere, without salt, and its parts, in charges^2 over
 * lengths. It is that of the functional whose stationary point is the equation (Sharp and Honig, J. Phys. Chem. 94 (1990) 7684; Micu,
 * Bagheri, Gilson, Eisenberg and Amzel, J. Comput. Phys. 136 (1997) 263; the manual of APBS):
 *
 *     G = int [ rho phi - eps |grad phi|^2 / (8 pi) - pi_o ],    pi_o = k T sum_i c_i (exp(-z_i phi / k T) - 1)
 *
 * With the equation, int eps |grad phi|^2 / (4 pi) = int (rho + rho_ions) phi, rho_ions = sum_i c_i z_i exp(-z_i phi / k T) where ions
 * can be. So with u at the charges, and less the same for G everywhere, all parts are finite:
 *
 *     fixed = sum q u,  stress = -(sum q u + int rho_ions phi) / 2,  osmotic = -int pi_o,  total = fixed + stress + osmotic
 *
 * Of the linear equation pi_o = eps_s kappa^2 a phi^2 / (8 pi), and total = sum q u / 2. The integrals are sums over the grid. What lies
 * beyond it is missing from stress and osmotic, but of order phi^3 in the total. ions is int rho_ions: minus the molecule's charge, if
 * the grid holds the whole cloud. The contribution of an atom is q u / 2; the sum over atoms is the total of the linear equation. */
typedef struct vf_solvent_energy {
    double total, fixed, stress, osmotic, ions;
} vf_solvent_energy;

/* charges: those of the plan; atoms: [charges->count], host memory, or NULL. Errors: VF_ERR_MEMORY; as vf_solvent_reaction. */
VF_MUST_CHECK vf_status vf_solvent_energies(const vf_solvent *plan, const vf_coulomb_atoms *charges,
                                            vf_solvent_energy *energy, double *atoms);

#ifdef __cplusplus
}
#endif
#endif
