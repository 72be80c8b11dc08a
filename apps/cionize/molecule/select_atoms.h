/* cionize: a small language that chooses atoms of a molecule, for --select and other options. docs/molecules.md describes it for
 * users. In short:
 *
 *   selection = and-part {"or" and-part}             and-part = part {"and" part}     part = "not" part | one
 *   one = "(" selection ")" | word | FIELD values | "within" R "of" part | "exwithin" R "of" part | "same" KEY "as" part
 *   word = "all", "none", "protein", "nucleic", "water", "ions", "hydrogen", "heavy", "backbone", "sidechain", "hetero"
 *   FIELD values = "name", "resname", "chain", "segment", "element" with texts (* and ? are wild cards), or
 *                  "resid", "index", "serial", "charge", "radius", "occupancy", "x", "y", "z" with numbers, ranges, or "< 5"
 *   KEY = "residue", "chain", "segment", "resname", "name" */
#ifndef CIONIZE_SELECT_ATOMS_H
#define CIONIZE_SELECT_ATOMS_H

#include "molecule.h"
#include "voxfield/grid.h"

typedef struct atom_selection atom_selection;

/* Reads a selection. `where` names its source in messages ("--select"). Errors: VF_ERR_ARGUMENT (one sentence with the place in the
 * text and what was expected there), VF_ERR_MEMORY; *out is then NULL. */
VF_MUST_CHECK vf_status selection_parse(vf_context *ctx, const char *where, const char *text, atom_selection **out);

/* Sets chosen[atoms] to whether each atom is selected. `within` uses the molecule's positions, and their periodic images unless the
 * cell is of kind none. Lengths in angstrom. Warns of names and numbers in the selection that no atom has. Errors:
 * VF_ERR_ARGUMENT (no atom is selected), VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status selection_apply(vf_context *ctx, const atom_selection *s, const molecule *m,
                                        const vf_cell *cell, bool *chosen);

void selection_free(atom_selection *s); /* NULL is allowed */

#endif
