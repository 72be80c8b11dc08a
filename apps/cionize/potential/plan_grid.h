/* cionize: the grid of a map, and the units of its values. */
#ifndef CIONIZE_PLAN_GRID_H
#define CIONIZE_PLAN_GRID_H

#include "cionize_settings.h"
#include "molecule/molecule.h"

/* The grid that the settings ask for, around the molecule. Without --origin, the origin is a whole multiple of the
 * spacing, so formats that store the origin in grid steps keep it exactly. Errors: VF_ERR_ARGUMENT (too large; the
 * message has the size). */
VF_MUST_CHECK vf_status plan_grid(vf_context *ctx, const cionize_settings *settings, const molecule *mol, vf_grid *out);

/* The grid of a solvent must go on at points beyond its cell (vf_grid_shear): rounds what is oblique of the cell's vectors to whole spacings. Returns by
 * how much at most, in angstrom. plan_grid does so, with numbers of points that leave little to round. */
double cell_to_points(vf_grid *grid);

/* Estimates, before reading, the number of atoms in a file of this size and the points of its map. */
void expected_size(const cionize_settings *settings, double file_bytes, double *atoms, double *points);

/* C in V = C sum q/r, in the unit times angstrom / e, from CODATA 2022, without the dielectric. 0: unknown unit. */
double potential_constant(const char *unit, double temperature);
extern const char *const potential_units; /* "kT/e, V, kcal/mol/e, e/A" */

#endif
