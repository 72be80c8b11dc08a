/* Checks of atoms' positions, the same for all files. Private to the readers of molecules. */
#ifndef CIONIZE_CHECK_POSITIONS_H
#define CIONIZE_CHECK_POSITIONS_H

#include "molecule.h"

/* Refuses atoms that have no position, although their file has numbers in its place:
 *
 * - 0 0 0 with a negative occupancy: psfgen could not build the atom;
 * - 0 0 0 of several atoms: no two atoms are at one point, and other programs write this, too;
 * - three equal coordinates of 9999 or beyond: CHARMM's mark for undefined ones is 9999.0.
 *
 * The message names the first few and their number. Warns of other atoms that share a position, and of atoms as close to
 * each other as if their coordinates were in nm. `line`: [atoms] of each
 * atom, for messages; NULL: unknown. Errors: VF_ERR_INPUT, VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status check_positions(vf_context *ctx, const char *name, const molecule *m, const int64_t *line);

#endif
