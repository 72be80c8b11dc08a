/* Voxfield - triangle meshes: isosurfaces of fields on grids, their reduction, area and volume.
 *
 * Lengths are in the grid's unit. All arrays are in host memory. Results have the same bits for any number of threads.
 */
#ifndef VOXFIELD_MESH_H
#define VOXFIELD_MESH_H

#include <stdbool.h>
#include <stdint.h>

#include "voxfield/context.h"
#include "voxfield/grid.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Zero-initialise, and free with vf_mesh_free. */
typedef struct vf_mesh {
    int64_t vertices, triangles; /* < 2^32 - 1 */
    float (*vertex)[3];          /* [vertices]: x, y, z */
    float (*normal)[3];          /* [vertices]: of length 1 */
    float *value;                /* [vertices]: of a second field; NULL: none */
    uint32_t (*triangle)[3];     /* [triangles]: vertices, counterclockwise as seen from where the normals point */
} vf_mesh;

void vf_mesh_free(vf_mesh *mesh); /* NULL is allowed; leaves an empty mesh */

/* ---- isosurfaces ---- */

/* The surface where a field that is linear along the grid's edges has the value `level`, by marching cubes (Lorensen and Cline, SIGGRAPH
 * 1987). Normals point to where the field is larger, and are those of its gradient. Where a face of a cube is ambiguous, corners
 * below the level are separated, whatever the cube; so the mesh has no holes: its edges have two triangles each, except at the grid's
 * border, and the triangles around a vertex are one fan. (Lorensen and Cline's own table has holes: Duerst, Computer Graphics 22(2)
 * (1988) 72.) Vertices are shared, in the order of the lower points of their edges, then of axes; triangles in the order of cubes.
 * A point whose value is the level counts as above it: triangles there may have no area.
 *
 * The field comes in layers along z, so it need not be in memory: a plan has four layers, and the mesh. */
typedef struct vf_isosurface vf_isosurface;

/* values: whether layers of a second field come, too, whose values at the vertices are interpolated along the edges. Errors:
 * VF_ERR_ARGUMENT (an invalid grid, a level that is not finite), VF_ERR_MEMORY. *out is NULL then. */
VF_MUST_CHECK vf_status vf_isosurface_create(vf_context *ctx, const vf_grid *grid, double level, bool values,
                                             vf_isosurface **out);
void vf_isosurface_destroy(vf_isosurface *plan); /* NULL is allowed */

/* The next `count` layers: field and values [count][y][x]; values are NULL if the plan has none. Errors: VF_ERR_ARGUMENT (more layers
 * than the grid has; field values that are not finite), VF_ERR_MEMORY (also for 2^32 - 1 vertices), VF_ERR_CANCELLED. */
VF_MUST_CHECK vf_status vf_isosurface_layers(vf_isosurface *plan, int64_t count, const float *field,
                                             const float *values);

/* After all layers: the mesh, which is the caller's. Errors: VF_ERR_ARGUMENT (layers are missing), those of vf_isosurface_layers. */
VF_MUST_CHECK vf_status vf_isosurface_finish(vf_isosurface *plan, vf_mesh *out);

/* Bytes of a plan without the mesh. */
int64_t vf_isosurface_bytes(const vf_grid *grid, bool values);

/* ---- figures and reduction ---- */

double vf_mesh_area(const vf_mesh *mesh);

/* The enclosed volume, by Gauss's theorem; positive if normals point outwards. Of closed meshes. */
double vf_mesh_volume(const vf_mesh *mesh);

/* Makes `mesh` have at most `most` triangles, if it has more, by vertex clustering (Rossignac and Borrel, 1993): all vertices in
 * a cube of a lattice become one, their mean in position, normal and value; triangles with two corners in one cube vanish. The cubes'
 * side begins at half the side of squares with the area of two triangles of `most`, and grows by 10 % until the bound is kept; *side is
 * what it came to (0: nothing was done). The result has no holes, but need not be a manifold. Errors: VF_ERR_ARGUMENT (most < 1),
 * VF_ERR_MEMORY; the mesh is unchanged then. */
VF_MUST_CHECK vf_status vf_mesh_reduce(vf_context *ctx, vf_mesh *mesh, int64_t most, double *side);

#ifdef __cplusplus
}
#endif
#endif
