/* The summary of the charges, for the choice of a shape; not installed. */
#ifndef VOXFIELD_EWALD_CHARGES_H
#define VOXFIELD_EWALD_CHARGES_H

#include "ewald_common.h"

/* By the backend, if it summarises. `loaded`: if it loads. Errors: as vf_coulomb_create. */
VF_MUST_CHECK vf_status ewald_summarise(vf_device *device, const vf_ewald_backend *backend, const vf_grid *grid,
                                        const vf_coulomb_atoms *charges, ewald_loaded *loaded,
                                        const vf_ewald_options *options, ewald_summary *out);

/* In a cell: about the rms potential, without the scale, from .count, .squares and .volume. */
double ewald_rms_in_cell(const vf_cell *cell, const vf_coulomb_atoms *charges, double sigma, const ewald_summary *s);

/* The inverse of a triangular cell or mesh, vectors in rows: mesh coordinates u_i = inverse[i] . r. */
void ewald_invert(const double edge[3][3], double inverse[3][3]);

#endif
