/* cionize: which atoms are of one residue. A residue is a run of neighbours in the file with equal labels; TER ends it. */
#ifndef CIONIZE_RESIDUES_H
#define CIONIZE_RESIDUES_H

#include "molecule.h"

/* Whether two atoms have the same chain and segment. */
bool same_chain(const atom_label *a, const atom_label *b);

/* The same, with the same number and insertion code: conformers of a residue may differ in its name. */
bool same_number(const atom_label *a, const atom_label *b);

/* Whether `after`, the neighbour behind `before`, may be of its residue: chain, segment, number and name are the same, and no TER
 * stands between them. Molecules that share a number are alike in all this: find_residues tells them apart. */
bool same_residue(const atom_label *before, const atom_label *after);

/* Whether the name of atom `at` occurs among the atoms [first, at), in the same alternate location or where one of the two has
 * none: then the names start again. Looks back at most 64 atoms: no molecule of water, nor an ion, has more. */
bool name_comes_again(const atom_label *labels, int64_t first, int64_t at);

/* Sets residue[i] to the number of the atom's residue, from 0, and *residues to their number. Water molecules and ions that share
 * a number are residues of their own: molecules are those of find_water, and otherwise begin where the names start again. (Of other
 * residues, names may repeat: some programs call all carbon atoms C.) Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status find_residues(vf_context *ctx, const molecule *m, int64_t *residue, int64_t *residues);

#endif
