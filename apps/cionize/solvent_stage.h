/* cionize: the molecule in a solvent, its energies, and the spacing that they need. */
#ifndef CIONIZE_SOLVENT_STAGE_H
#define CIONIZE_SOLVENT_STAGE_H

#include "cionize_state.h"

/* ---- solvent_stage.c: --solvent; without it, these do nothing ---- */

/* Before the selections: reduces r->molecule to the solute, that is, to --solute or what is not water. Errors: those of
 * selection_apply; VF_ERR_INPUT (nothing is left), VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status solvent_take_molecule(cionize_state *r);

/* Before any work. Errors: VF_ERR_INPUT (no radii), VF_ERR_ARGUMENT (the name of the file of energies). */
VF_MUST_CHECK vf_status solvent_prepare(cionize_state *r);

/* When the grid is planned. Warns of a coarse one. Errors: VF_ERR_MEMORY (a solution would not fit; the message has a spacing that does). */
VF_MUST_CHECK vf_status solvent_check_grid(cionize_state *r);

/* What the map's file says: sets quantity, method and the picture's range. */
void solvent_describe(cionize_state *r);

/* Whether the run solves the equation on its grid: not for frames, each of which has a grid of its own. */
bool solvent_on_grid(const cionize_state *r);

/* Before the layers: solves the equation. Errors: those of vf_solvent_create. */
VF_MUST_CHECK vf_status solvent_solve(cionize_state *r);

/* Layers of the Coulomb potential become those of the solution, in memory of the state, which *values points to. Errors:
 * VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status solvent_layers(cionize_state *r, int64_t first, int64_t count, const void **values);

/* Writes the maps of --solvent-map, and says so. Errors: those of solvent_solve, solvent_map_values and write_stored_map. */
VF_MUST_CHECK vf_status solvent_write_maps(cionize_state *r);

/* Before ions are placed: how they act through the solvent, by the solution of Debye and Hueckel for an ion whose contact distance is
 * the radius of the salt's: q exp(-kappa (r - a)) / (eps_s (1 + kappa a) r), in a cell with images. It does not know the molecule's
 * dielectric. The solution is freed: the map has it. Errors: those of vf_screened_images_create. */
VF_MUST_CHECK vf_status solvent_for_ions(cionize_state *r);

void solvent_facts(facts *f, const cionize_state *r);
void solvent_free(cionize_state *r);

/* ---- energy_stage.c ---- */

bool energies_asked(const cionize_state *r);

/* The atoms of r->molecule with the charges that act. */
vf_coulomb_atoms acting_atoms(const cionize_state *r);

/* After the selections, before the grid: the partners of --ligand or --complex. Errors: those of selection_apply and
 * read_molecule_choosing; VF_ERR_ARGUMENT. */
VF_MUST_CHECK vf_status energies_prepare(cionize_state *r);

/* Sums and writes them, and says so. Errors: those of vf_solvent_create, trajectory_read, energies_write; VF_ERR_INPUT (a frame in
 * which a periodic cell cuts the molecule). */
VF_MUST_CHECK vf_status energies_run(cionize_state *r);

void energy_facts(facts *f, const cionize_state *r);

/* ---- spacing_stage.c ---- */

/* Before the grid: with --accuracy-energy, sets the spacing, from two coarse solutions. Errors: those of vf_solvent_create. */
VF_MUST_CHECK vf_status spacing_choose(cionize_state *r);

/* After the energies, with --energy-error: solves once more, on a coarser grid. Errors: as above. */
VF_MUST_CHECK vf_status spacing_estimate_error(cionize_state *r);

/* Of the plan, and of the energies. */
void spacing_facts(facts *f, const cionize_state *r);
void spacing_error_facts(facts *f, const cionize_state *r);

#endif
