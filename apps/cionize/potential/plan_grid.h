/* cionize: the grid of a map, and the units of its values. */
#ifndef CIONIZE_PLAN_GRID_H
#define CIONIZE_PLAN_GRID_H

#include "cionize_settings.h"
#include "molecule/molecule.h"

/* The grid the settings ask for, around the molecule. Without --origin, the origin is a whole multiple of the spacing,
 * so that formats which keep it as whole grid steps keep it exactly. Errors: VF_ERR_ARGUMENT (absurd: says how large it
 * would be). */
VF_MUST_CHECK vf_status plan_grid(vf_context *ctx, const cionize_settings *settings, const molecule *mol, vf_grid *out);

/* About how many atoms a molecule has whose file has so many bytes, and points its map, before the file is read. */
void expected_size(const cionize_settings *settings, double file_bytes, double *atoms, double *points);

/* C in V = C sum q/r for a unit, in that unit times angstrom / e, from CODATA 2022; without the dielectric. 0: no such
 * unit. */
double potential_constant(const char *unit, double temperature);
extern const char *const potential_units; /* "kT/e, V, kcal/mol/e, e/A" */

#endif
