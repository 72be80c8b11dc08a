/* The contents of a plan; not installed. */
#ifndef VOXFIELD_SOLVENT_INTERNAL_H
#define VOXFIELD_SOLVENT_INTERNAL_H

#include "solvent.h"
#include "voxfield/solver.h"

struct vf_solvent {
    vf_device *device;
    vf_context *ctx;
    vf_grid grid;
    vf_solvent_options options;
    int64_t points;
    uint8_t *inside;
    vf_array faces[3], reaction; /* VF_F32, as in vf_stencil_options */
    vf_array unknown;            /* VF_F64 */
    vf_solvent_result outcome;
};

/* Fills inside, faces and reaction. Errors: those of vf_surface_create, VF_ERR_ARGUMENT (the molecule touches the rim), VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status solvent_matrix(vf_solvent *plan, const vf_spheres *spheres);

/* The right side, [z][y][x]: of the faces that the surface cuts, and of the boundary. Counts the cut faces. Errors: VF_ERR_MEMORY,
 * VF_ERR_CANCELLED, those of vf_point_sum. */
VF_MUST_CHECK vf_status solvent_right_side(vf_solvent *plan, const vf_coulomb_atoms *charges, const double *radius,
                                           double *b);

/* Whether the grid has each charge in the molecule. Errors: VF_ERR_ARGUMENT. */
VF_MUST_CHECK vf_status solvent_check_charges(const vf_solvent *plan, const vf_coulomb_atoms *charges);

/* Solves (A + D) x = b from x = 0, where A is the matrix of the plan's faces and D a diagonal: `reaction` [z][y][x], >= 0, or the plan's
 * reaction if that is NULL. To `tolerance` of |b - (A + D) x| / |b|, which double precision computes (vf_multigrid_solve); b becomes
 * that residual. Errors: VF_ERR_MEMORY, VF_ERR_CANCELLED, VF_ERR_INTERNAL (no convergence; x is the last iterate). */
VF_MUST_CHECK vf_status solvent_solve_system(const vf_solvent *plan, const float *reaction, double tolerance,
                                             int iterations, double *b, double *x, vf_cg_result *result);

/* b -= (A + D) x, in double precision. */
void solvent_subtract_product(const vf_solvent *plan, const float *reaction, const double *x, double *b);

#endif
