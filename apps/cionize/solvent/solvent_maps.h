/* cionize: maps of what a solution is made of (--solvent-map). */
#ifndef CIONIZE_SOLVENT_MAPS_H
#define CIONIZE_SOLVENT_MAPS_H

#include "dissolve.h"

/* The name before the colon, and the quantity that the map's file states. */
typedef struct solvent_map_kind {
    const char *name, *quantity;
} solvent_map_kind;
extern const solvent_map_kind solvent_map_kinds[]; /* up to a name of NULL */

/* Reads WHAT:FILE. Errors: VF_ERR_ARGUMENT (no such kind; a file without the extension of a map). */
VF_MUST_CHECK vf_status solvent_map_parse(vf_context *ctx, const char *option, const char *text, solvent_map *out);

/* values: [z][y][x] of the grid. Errors: those of vf_surface_create. */
VF_MUST_CHECK vf_status solvent_map_values(vf_context *ctx, int kind, const vf_solvent *plan, const vf_grid *grid,
                                           const vf_coulomb_atoms *charges, const double *radius,
                                           const vf_solvent_options *options, float *values);

#endif
