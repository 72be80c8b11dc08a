/* Parts of a molecule: the atoms that act, and those that count. */
#ifndef CIONIZE_MOLECULE_PART_H
#define CIONIZE_MOLECULE_PART_H

#include "molecule.h"

/* Makes a molecule of the atoms with weight[atoms] other than 0, whose charges are those of `whole` times the weight. It has
 * positions, charges, radii, bounds and total charge, but no labels and records. Free it with molecule_free. At least one weight
 * must not be 0. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status molecule_weigh(vf_context *ctx, const molecule *whole, const double *weight, molecule *out);

/* molecule_keep, for a molecule whose trajectory has all atoms: afterwards, of_whole tells which of them are left. Errors:
 * VF_ERR_MEMORY; the molecule is then unchanged. */
VF_MUST_CHECK vf_status molecule_reduce(vf_context *ctx, molecule *m, const bool *keep);

/* The atoms of the whole, and their charge. */
int64_t molecule_whole_atoms(const molecule *m);
double molecule_whole_charge(const molecule *m);

/* Of positions of the whole, [whole atoms] each, those of the part move to the front. Nothing to do for a whole. */
void molecule_gather(const molecule *m, double *x, double *y, double *z);

#endif
