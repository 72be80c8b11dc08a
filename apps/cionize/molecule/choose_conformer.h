/* One of several alternate locations of a residue's atoms. Private to the readers of molecules. */
#ifndef CIONIZE_CHOOSE_CONFORMER_H
#define CIONIZE_CHOOSE_CONFORMER_H

#include "molecule.h"

/* Keeps one conformer of each residue that has several, by the labels' `alternate` and `occupancy`:
 *
 * - A residue is what has the same chain, segment, number and insertion code. It has several conformers if a name occurs
 *   at two letters, or if the letters have different residue names.
 *   Water molecules that share one label are told apart by the order of their atoms.
 * - By occupancy: the letter whose atoms have the largest mean occupancy; of equal ones the first of the alphabet.
 *   CONFORMER_FIRST: the letter that comes first in the file. CONFORMER_LETTER: that letter, or else by occupancy.
 * - Atoms without a letter belong to all conformers. But one whose name also occurs with a letter is a conformer of its own.
 * - An atom that the conformer lacks is taken from the next best, unless it is a hydrogen (another tautomer has other
 *   ones) or of another residue name.
 *
 * Each residue chooses for itself: neighbours whose letters belong together do not know of each other, but have the same
 * occupancies in most files. The letters of residues that had a choice are removed. A warning says what was chosen. The
 * bonds, bounds and the total charge follow (molecule_keep). Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status choose_conformers(vf_context *ctx, const char *name, conformer_choice choice, molecule *m);

#endif
