/* Atoms near other atoms. Private to select_atoms.c. */
#ifndef CIONIZE_ATOMS_WITHIN_H
#define CIONIZE_ATOMS_WITHIN_H

#include "molecule.h"
#include "voxfield/grid.h"

/* Sets near[i] to whether an atom with of[] set, or a periodic image of one, is at most `distance` angstrom from atom i (itself
 * included). near and of may not overlap. False if memory is not enough. */
VF_MUST_CHECK bool atoms_within(const vf_context *ctx, const molecule *m, const vf_cell *cell, double distance,
                                const bool *of, bool *near);

#endif
