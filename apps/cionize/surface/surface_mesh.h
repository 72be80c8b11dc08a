/* The surface of a molecule as a mesh, and the potential at it. */
#ifndef CIONIZE_SURFACE_MESH_H
#define CIONIZE_SURFACE_MESH_H

#include "analysis/map_layers.h"
#include "molecular_surface.h"
#include "molecule/molecule.h"
#include "voxfield/mesh.h"

/* ---- surface_mesh.c ---- */

/* The grid on which a surface is found: its spacing is the molecule's longest side over 160, at most 0.35 angstrom, but as large as it
 * takes for SURFACE_MOST_POINTS points. */
enum { SURFACE_MOST_POINTS = 60000000, SURFACE_MOST_TRIANGLES = 4000000 };
vf_grid surface_grid(const molecule *m, vf_surface_kind kind, double probe);

/* Bytes that surface_make takes, without the mesh. */
double surface_bytes(const vf_grid *grid);

/* The mesh of the molecule's surface, in angstrom, normals outwards; value: room for the potential, 0. A mesh of more than
 * SURFACE_MOST_TRIANGLES triangles is reduced to that. probe: of kind VF_SURFACE_VAN_DER_WAALS it is ignored. Errors: those of
 * vf_surface_create, vf_surface_levels, vf_isosurface_layers, vf_mesh_reduce; VF_ERR_UNSUPPORTED (atoms so far apart that the grid
 * misses them). */
VF_MUST_CHECK vf_status surface_make(vf_context *ctx, const molecule *m, vf_surface_kind kind, double probe,
                                     const vf_grid *grid, vf_mesh *out);

/* ---- surface_values.c: the map at the vertices, as its layers pass ---- */

/* Zero-initialise; free with surface_values_free. */
typedef struct surface_values {
    vf_context *ctx;
    vf_grid grid; /* of the map; a cell, if it has one, is orthorhombic */
    vf_mesh
        *mesh; /* gets the values: linear between the grid's points; NaN outside of the grid, unless that is periodic */
    double offset;
    int slow;         /* the axis of the map's layers */
    int64_t *begin;   /* [layers + 1] places in `vertex` of the vertices above a layer and not above the next */
    uint32_t *vertex; /* [vertices inside] */
    int64_t outside;  /* vertices */
} surface_values;

/* Before the first layer. offset: how far outside of the surface, along the normals, the values are taken, angstrom. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status surface_values_begin(vf_context *ctx, const vf_grid *grid, map_order order, double offset,
                                             vf_mesh *mesh, surface_values *out);

/* Each layer once, in order. */
void surface_values_take(surface_values *v, const map_layers *layers);
void surface_values_free(surface_values *v);

/* What the values are: of those that are not NaN. */
typedef struct surface_figures {
    double least, most, mean, typical; /* mean: over the area; typical: 98 % of magnitudes at vertices are not larger */
} surface_figures;
VF_MUST_CHECK vf_status surface_figures_find(vf_context *ctx, const vf_mesh *mesh, surface_figures *out);

#endif
