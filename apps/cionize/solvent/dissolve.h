/* cionize: the equation of a molecule in a solvent, from the settings, and its energies. */
#ifndef CIONIZE_DISSOLVE_H
#define CIONIZE_DISSOLVE_H

#include "cionize_settings.h"
#include "solvent.h"

/* kJ in kcal */
#define DISSOLVE_CALORIE 4.184

/* Energies of a molecule, kJ/mol. */
typedef struct solvent_energy {
    double reaction; /* vf_solvent_energy.total: next to the molecule's dielectric everywhere, without salt */
    double
        coulomb; /* of the charges among each other in that dielectric; in a cell, with their images and a background */
    double fixed, stress, osmotic; /* the parts of `reaction`: vf_solvent_energy */
} solvent_energy;

/* The same of atoms, which have half of what they share with others. */
typedef struct atom_energies {
    double *reaction, *coulomb; /* [atoms] */
} atom_energies;

/* Errors: those of vf_solvent_set_salt. */
VF_MUST_CHECK vf_status dissolve_options(const cionize_settings *settings, vf_context *ctx, vf_solvent_options *out);

/* Solves for charges and radii [charges->count]: on the first CUDA device of the context if its memory has room, or on the host; if the
 * device fails, again on the host. Errors: those of vf_solvent_create on the host. */
VF_MUST_CHECK vf_status dissolve(vf_context *ctx, const vf_grid *grid, const vf_coulomb_atoms *charges,
                                 const double *radius, const vf_solvent_options *options, vf_solvent **out);

/* Energies of a solved plan, or of a uniform medium without salt (NULL), which has no reaction. `atoms` (NULL: not wanted): its arrays get
 * the parts. Errors: those of vf_solvent_reaction and
 * vf_point_sum_create. */
VF_MUST_CHECK vf_status dissolve_energies(const cionize_settings *settings, vf_context *ctx, const vf_solvent *plan,
                                          const vf_coulomb_atoms *charges, const atom_energies *atoms,
                                          solvent_energy *out);

/* Solves for charges and radii [charges->count], sums, and forgets the solution. Errors: those of dissolve. */
VF_MUST_CHECK vf_status dissolve_once(const cionize_settings *settings, vf_context *ctx, const vf_grid *grid,
                                      const vf_coulomb_atoms *charges, const double *radius, solvent_energy *out);

/* A partner of a complex: some of its atoms, at their places, or a molecule of its own. */
typedef struct bound_part {
    int64_t atoms;
    int64_t *of;                         /* [atoms] numbers in the complex; NULL: its own positions */
    double *x, *y, *z, *charge, *radius; /* [atoms] each, in one block of memory that begins with x */
} bound_part;

/* The atoms of the complex with chosen[i] == which. Free with bound_part_free, also after an error. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status bound_part_make(vf_context *ctx, const vf_coulomb_atoms *all, const double *radius,
                                        const bool *chosen, bool which, bound_part *out);
/* Takes the positions of a frame of the complex. */
void bound_part_move(bound_part *part, const double *x, const double *y, const double *z);
void bound_part_free(bound_part *part);
vf_coulomb_atoms bound_part_charges(const bound_part *part);

#endif
