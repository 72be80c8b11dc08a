/* cionize: radii of atoms whose file has none. */
#ifndef CIONIZE_ATOM_RADII_H
#define CIONIZE_ATOM_RADII_H

#include "molecule.h"

/* Gives atoms of radius 0 the van der Waals radius of their element: Bondi, J. Phys. Chem. 68 (1964) 441, and for elements of the main
 * groups that he lacks Mantina, Chamberlin, Valero, Cramer and Truhlar, J. Phys. Chem. A 113 (2009) 5806. *given: how many. Errors:
 * VF_ERR_INPUT (an atom whose element is not known, or has no radius there; `path` is the molecule's file). */
VF_MUST_CHECK vf_status molecule_give_radii(vf_context *ctx, const char *path, molecule *m, int64_t *given);

/* Whether an atom has a radius: then the molecule has a surface. */
bool molecule_has_radii(const molecule *m);

/* Warns of radii that are all smaller than those of atoms. `path` is for the message. */
void molecule_warn_of_small_radii(vf_context *ctx, const char *path, const molecule *m);

/* VF_ERR_INPUT, with advice, if none has. `path` is for the message. */
VF_MUST_CHECK vf_status molecule_check_radii(vf_context *ctx, const char *path, const molecule *m);

#endif
