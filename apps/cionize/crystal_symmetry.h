/* cionize: the space group of a molecule's crystal, for runs and for molecules that are only read (symmetry_stage.c). */
#ifndef CIONIZE_CRYSTAL_SYMMETRY_H
#define CIONIZE_CRYSTAL_SYMMETRY_H

#include "molecule/molecule.h"
#include "molecule/space_group.h"

/* Names of files, for messages: that of the atoms, and that of the cell with its space group. */
typedef struct crystal_files {
    const char *molecule, *cell;
    bool quiet;
} crystal_files;

/* The space group of a crystal whose cell has more copies than the asymmetric unit, or words that stand for it; "": it has one. */
const char *symmetry_name(const unit_cell *cell, const listed_symmetry *listed);

/* Expands a molecule by the space group of its cell; *copies is the number of operators. Warns if no group is stated. Errors:
 * VF_ERR_INPUT, those of symmetry_operators and molecule_expand. */
VF_MUST_CHECK vf_status symmetry_expand(vf_context *ctx, const crystal_files *files, const unit_cell *cell,
                                        const listed_symmetry *listed, molecule *m, int *copies);

#endif
