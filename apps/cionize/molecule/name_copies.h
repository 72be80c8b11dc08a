/* Names of chains and segments for the copies of atoms that a crystal's symmetry makes. Private to expand_crystal.c. */
#ifndef CIONIZE_NAME_COPIES_H
#define CIONIZE_NAME_COPIES_H

#include "molecule.h"

/* Fills labels[atoms] to labels[count - 1] with those of their sources, in whose place chain and segment have other names
 * in each copy: a chain the next free letter or digit, then two; a longer name, and a segment, a number at its end.
 * copy[n]: 0 for the atoms of the file, which keep theirs. The last atom of each copy ends its chain if atoms of the file do.
 * Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status name_copies(vf_context *ctx, const char *path, atom_label *labels, int64_t atoms, int copies,
                                    const int64_t *source, const int *copy, int64_t count);

#endif
