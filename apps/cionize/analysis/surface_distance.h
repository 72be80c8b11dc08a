/* Distances of points from a molecule's surface: that of the nearest atom's centre, less its radius. */
#ifndef CIONIZE_SURFACE_DISTANCE_H
#define CIONIZE_SURFACE_DISTANCE_H

#include "molecule/molecule.h"
#include "voxfield/grid.h"

typedef struct surface_tree surface_tree;

/* Atoms, and with a cell all their images. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status surface_create(vf_context *ctx, const molecule *m, const vf_cell *cell, surface_tree **out);
void surface_destroy(surface_tree *t); /* NULL is allowed */

/* The least of |r - r_i| - radius_i over all atoms and images; negative inside of an atom. *hint: any number at first; later the atom
 * that was nearest to a point beside this one, which saves time. Several threads may call it, with hints of their own. */
double surface_distance(const surface_tree *t, const double r[3], int64_t *hint);

/* The largest radius. */
double surface_largest_radius(const surface_tree *t);

#endif
