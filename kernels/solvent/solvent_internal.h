/* The contents of a plan; not installed. */
#ifndef VOXFIELD_SOLVENT_INTERNAL_H
#define VOXFIELD_SOLVENT_INTERNAL_H

#include "solvent.h"

struct vf_solvent {
    vf_device *device;
    vf_context *ctx;
    vf_grid grid;
    vf_solvent_options options;
    int64_t points;
    uint8_t *inside;
    vf_array faces[3], reaction, unknown;
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

#endif
