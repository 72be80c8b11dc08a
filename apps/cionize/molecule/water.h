/* cionize: the water molecules of a molecule's file. */
#ifndef CIONIZE_WATER_H
#define CIONIZE_WATER_H

#include "molecule.h"

/* Consecutive atoms. */
typedef struct water_molecule {
    int64_t first, atoms;
    int64_t oxygen; /* index of the oxygen */
} water_molecule;

typedef struct water_list {
    int64_t count;
    water_molecule *at; /* [count] in the order of the file */
} water_list;

/* Finds the water molecules: residues with a name of water (residue_kinds.h) whose atoms are an oxygen, two hydrogens
 * (or none, as in crystals), and at most four massless sites (M, LP, EP; Drude's DOH2). Atoms of a residue are
 * consecutive. Consecutive residues with the same number and name are told apart by their oxygens. A residue with a
 * name of water and other atoms is not water: with `notes`, a note names the first. Free `out` with water_list_free, also after an
 * error. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status find_water(vf_context *ctx, const molecule *m, bool notes, water_list *out);
void water_list_free(water_list *list);

/* Numbers the residues of each chain from 1, without gaps; insertion letters go. A water molecule is a residue. Errors:
 * VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status renumber_residues(vf_context *ctx, molecule *m);

#endif
