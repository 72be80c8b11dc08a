/* What a residue is, by its name in the force fields and in the PDB. */
#ifndef CIONIZE_RESIDUE_KINDS_H
#define CIONIZE_RESIDUE_KINDS_H

#include <stdbool.h>

/* Whether residues of this name are water molecules, in any case: names of the PDB (HOH, DOD), CHARMM (TIP3), AMBER (WAT, OPC),
 * GROMACS (SOL), OPLS and Tinker, for models of three to five points. */
bool residue_is_water(const char *name);

#endif
