/* What a residue is, by its name in the force fields and in the PDB. */
#ifndef CIONIZE_RESIDUE_KINDS_H
#define CIONIZE_RESIDUE_KINDS_H

#include <stdbool.h>

/* Whether residues of this name are water molecules, in any case: names of the PDB (HOH, DOD), CHARMM (TIP3), AMBER (WAT, OPC),
 * GROMACS (SOL), OPLS and Tinker, for models of three to five points. */
bool residue_is_water(const char *name);

/* Amino acids and what caps their chains, in any case: names of the PDB with the usual modified residues (MSE, SEP), and those
 * of CHARMM (HSD), AMBER (HID, CYX, and NALA and CALA at the ends) and GROMACS (HISE, LYSH) for other protonation states. */
bool residue_is_protein(const char *name);

/* Which of the twenty amino acids a residue of this name is, whatever its protonation and place in the chain: "HIS" for HSD and
 * NHIE. NULL: none, or a modified one. */
const char *residue_amino_acid(const char *name);

/* Nucleotides, in any case: PDB (A, DA, PSU), CHARMM (ADE), AMBER (RA5, DA3, A5), GROMACS (RA, DAN). */
bool residue_is_nucleic(const char *name);

/* Ions of one atom, in any case: PDB (NA, ZN), CHARMM (SOD, CLA), AMBER (Na+, MG2), GROMACS (NA, CL-). Some names are also
 * those of molecules (CAD): the residue must have one atom. */
bool residue_is_ion(const char *name);

#endif
