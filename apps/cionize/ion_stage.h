/* cionize: ions, and the water that they replace. */
#ifndef CIONIZE_ION_STAGE_H
#define CIONIZE_ION_STAGE_H

#include "cionize_state.h"

/* ---- ion_stage.c ---- */

/* After planning: allocates the map that ions are placed on, if they need one. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status ions_make_store(cionize_state *r);

/* Lists the ions to place and their settings, from options or the script. Needs the molecule and the grid. */
VF_MUST_CHECK vf_status ions_prepare(cionize_state *r);

/* Places all requested ions on r->stored and writes the files that options or the script name. */
VF_MUST_CHECK vf_status ions_place(cionize_state *r);

/* Whether options or a script place ions. If so, the map stays in memory. */
bool ions_asked(const cionize_state *r);

/* ---- water_stage.c ---- */

/* When the cell is known: if ions are placed in water, takes the water out of r->molecule. Errors: VF_ERR_ARGUMENT (options that
 * water excludes, or that need water), VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status water_prepare(cionize_state *r);

/* After the placement: takes the replaced water out of water.whole. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status water_replace(cionize_state *r);

/* All atoms for the files: the solute, and the water that is left. */
const molecule *whole_molecule(const cionize_state *r);
void water_free(water_state *water);

/* The water that is solvent, and what became of it. */
void water_facts(facts *f, const cionize_state *r);

/* ---- ion_facts.c ---- */

/* Ions that are placed, in `seconds`, or still to place. */
void ion_facts(facts *f, const cionize_state *r, double seconds);

#endif
