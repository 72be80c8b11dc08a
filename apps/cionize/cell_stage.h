/* cionize: the cell of a run, its symmetry, and molecules that its faces cut. */
#ifndef CIONIZE_CELL_STAGE_H
#define CIONIZE_CELL_STAGE_H

#include "cionize_state.h"

/* ---- symmetry_stage.c ---- */

/* After the cell of the run is known, if there is one: expands the molecule of a crystal by its space group, if the settings ask for it.
 * Errors: VF_ERR_INPUT (a space group without --symmetry, or --symmetry expand in another cell; the message says
 * what to do), VF_ERR_ARGUMENT, those of symmetry_expand. */
VF_MUST_CHECK vf_status take_symmetry(cionize_state *r);

/* From here on, the settings have the cell, and the molecule is that of the cell. *follows: as in choose_cell. Errors: those of
 * choose_cell and take_symmetry. */
VF_MUST_CHECK vf_status take_cell(cionize_state *r, bool *follows);

/* ---- cut_molecules_stage.c ---- */

/* Warns where faces of the file's cell cut molecules that must be whole, and of free space in place of a box of water. Needs the atoms that act. Errors: those of trajectory_read. */
VF_MUST_CHECK vf_status warn_of_cut_molecules(cionize_state *r);

#endif
