/* The contents of a plan; not installed. */
#ifndef VOXFIELD_SOLVENT_INTERNAL_H
#define VOXFIELD_SOLVENT_INTERNAL_H

#include "solvent.h"
#include "voxfield/solver.h"

/* The points at both ends of cut faces, ascending, and the charges' potential G there. */
typedef struct solvent_ends {
    int64_t count;
    int64_t *point;
    double *value;
} solvent_ends;

/* Levels of the molecule's surface at the points near it, and only there; elsewhere they are reach. */
typedef struct solvent_shell {
    int64_t count, *point; /* [count] numbers of grid points, ascending */
    float *level;          /* [count] */
    float reach;
} solvent_shell;

struct vf_solvent {
    vf_device *device; /* the host, whose memory holds everything here */
    vf_device *solver; /* solves the linear systems; NULL: `device` */
    vf_context *ctx;
    vf_grid grid;
    int64_t shear[3]; /* of the grid in its cell (vf_grid_shear); 0 if that has right angles, or there is none */
    vf_solvent_options options;
    int64_t points;
    uint8_t *inside;
    solvent_shell shell;
    vf_array faces[3], reaction; /* VF_F32, as in vf_stencil_options */
    vf_array unknown;            /* VF_F64 */
    bool salted;                 /* there are ions somewhere */
    solvent_ends ends;
    vf_solvent_result outcome;
};

/* Fills inside, faces and reaction. Errors: those of vf_surface_create, VF_ERR_ARGUMENT (the molecule touches the rim), VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status solvent_matrix(vf_solvent *plan, const vf_spheres *spheres);

/* Keeps those of the levels [z][y][x] that are not cut off. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status solvent_keep_levels(vf_solvent *plan, const float *level);

/* The same for faces that hold the cuts: a smooth surface. Errors: VF_ERR_MEMORY. Then, faces between points of the molecule get its
 * permittivity if one of both is a corner of a charge's cell: u is regular only where that of the charges is theirs. */
VF_MUST_CHECK vf_status solvent_smooth(vf_solvent *plan);
void solvent_keep_charges(vf_solvent *plan, const vf_coulomb_atoms *charges);

/* The right side, [z][y][x]: of the faces that the surface cuts, and of the boundary or, in a cell, of the background. Fills ends, and counts the cut faces. Errors: VF_ERR_MEMORY,
 * VF_ERR_CANCELLED, those of vf_point_sum. */
VF_MUST_CHECK vf_status solvent_right_side(vf_solvent *plan, const vf_coulomb_atoms *charges, const double *radius,
                                           double *b);

/* Adds the boundary's part of it: eps_s phi / spacing^2 at the points next to a side, phi the screened potential of all atoms, to 1e-5 of
 * sum |q| e^(kappa a) / ((1 + kappa a) eps_s z), z an atom's distance from the side. Errors: VF_ERR_MEMORY, VF_ERR_CANCELLED. */
VF_MUST_CHECK vf_status solvent_boundary(const vf_solvent *plan, const vf_coulomb_atoms *charges, const double *radius,
                                         double *b);

/* In a cell without salt: adds to u what makes the mean of phi over the cell 0. Errors: those of vf_ewald_create. */
VF_MUST_CHECK vf_status solvent_remove_mean(vf_solvent *plan, const vf_coulomb_atoms *charges);

/* Whether the grid has each charge in the molecule. Errors: VF_ERR_ARGUMENT. */
VF_MUST_CHECK vf_status solvent_check_charges(const vf_solvent *plan, const vf_coulomb_atoms *charges);

/* Solves (A + D) x = b from x = 0, where A is the matrix of the plan's faces and D a diagonal: `reaction` [z][y][x], >= 0, or the plan's
 * reaction if that is NULL. To `tolerance` of |b - (A + D) x| / |b|, which double precision computes (vf_multigrid_solve); b becomes
 * that residual. Errors: VF_ERR_MEMORY, VF_ERR_CANCELLED, VF_ERR_INTERNAL (no convergence; x is the last iterate). */
VF_MUST_CHECK vf_status solvent_solve_system(const vf_solvent *plan, const float *reaction, double tolerance,
                                             int iterations, double *b, double *x, vf_cg_result *result);

/* The same in a sheared cell, on the host, by Fourier transforms for multigrid (solvent_sheared.c). *result says how it ended. */
VF_MUST_CHECK vf_status solvent_solve_sheared(const vf_solvent *plan, vf_queue *queue, const float *reaction,
                                              const vf_cg_options *options, double *b, double *x, vf_cg_result *result);

/* b -= (A + D) x, in double precision. */
void solvent_subtract_product(const vf_solvent *plan, const float *reaction, const double *x, double *b);

/* G at a point that is an end of a cut face. */
double solvent_end_value(const vf_solvent *plan, int64_t point);

/* The non-linear equation, into plan->unknown. Errors: as above; VF_ERR_ARGUMENT (the edge). */
VF_MUST_CHECK vf_status solvent_nonlinear(vf_solvent *plan, const double *b);

/* ---- what ions do ---- */

/* Errors: VF_ERR_ARGUMENT, of ions, l and steps. */
VF_MUST_CHECK vf_status solvent_check_salt(vf_context *ctx, const vf_solvent_options *o);

/* Beyond this, exponentials go on as straight lines: the function stays convex, and Newton's method comes back in one step. No
 * solution has such an exponent: at 20 already, ions of 0.1 mol/L are denser than matter. */
#define SOLVENT_MOST_EXPONENT 40.0

/* f of solvent.h with weights c_i / sum_j c_j z_j^2; without ions (the linear equation) f is the potential itself. */
typedef struct solvent_response {
    int ions;
    double bjerrum, charge[VF_SOLVENT_MOST_IONS], weight[VF_SOLVENT_MOST_IONS];
} solvent_response;

solvent_response solvent_response_of(const vf_solvent_options *o);

/* f and its derivative (not NULL). exp - 1 for exp: f(0) is 0 then, and the salt neutral, to the last bit. */
double solvent_respond(const solvent_response *r, double u, double *slope);

/* The integral of f from 0 to u: pi_o of solvent.h, times 4 pi / (eps_s kappa^2). */
double solvent_osmotic(const solvent_response *r, double u);

#endif
