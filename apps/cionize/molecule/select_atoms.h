/* UNTIL THE MERGE: the interface of --select's language, which replaces this file and select_atoms_until_merge.c. */
#ifndef CIONIZE_SELECT_ATOMS_H
#define CIONIZE_SELECT_ATOMS_H

#include "molecule.h"
#include "voxfield/grid.h"

typedef struct atom_selection atom_selection;
VF_MUST_CHECK vf_status selection_parse(vf_context *ctx, const char *where, const char *text, atom_selection **out);
VF_MUST_CHECK vf_status selection_apply(vf_context *ctx, const atom_selection *s, const molecule *m,
                                        const vf_cell *cell, bool *chosen);
void selection_free(atom_selection *s); /* NULL is allowed */

#endif
