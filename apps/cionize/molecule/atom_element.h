/* cionize: elements of atoms from their names, for files of ions and of maps. */
#ifndef CIONIZE_ATOM_ELEMENT_H
#define CIONIZE_ATOM_ELEMENT_H

#include <stdbool.h>

/* The element of an atom: `element`, from its file, unless it is empty; or else from its name and residue; "X" if
 * neither tells. Returns false if the element is unknown or doubtful (docs/formats.md, XYZ and PDB). */
bool atom_element(const char *name, const char *residue, const char *element, char symbol[3]);

/* Whether an atom is hydrogen or deuterium, by the same rules. Deuterium is known by names like D, D1, DG and DB2, but not by those of
 * Drude particles: DC, DCA, DOH2. */
bool atom_is_hydrogen(const char *name, const char *residue, const char *element);

/* 1 for "H", in any case, and "D"; 0 for what is no element's symbol. */
int atomic_number(const char *symbol);

#endif
