/* Voxfield - pictures of meshes: views, light and shadow, on a canvas, without a display.
 *
 * The light is a bright sky, of which each place sees what the mesh leaves free (ambient occlusion), and a lamp at the upper left,
 * whose shadows are soft. All is computed with the mesh itself, not with the picture's depths, so what is hidden casts shadows, too.
 * The same mesh gives the same bits for any number of threads.
 */
#ifndef VOXFIELD_MESH_PICTURE_H
#define VOXFIELD_MESH_PICTURE_H

#include "voxfield/canvas.h"
#include "voxfield/mesh.h"

#ifdef __cplusplus
extern "C" {
#endif

/* From where a mesh is seen: right-handed unit vectors to the right, up and towards the viewer, and the mesh's bounds along them,
 * relative to the centre. The projection is parallel. */
typedef struct vf_mesh_view {
    double center[3], axis[3][3];
    double low[3], high[3];
} vf_mesh_view;

/* The view along the principal axes of the surface: the longest across, the next upwards. Of the two directions of an axis, that to
 * which the surface reaches farther in sparse parts: where the third moment is positive. A mesh without triangles is seen along z. */
void vf_mesh_principal_view(const vf_mesh *mesh, vf_mesh_view *out);

/* The same from the other side: turned by half a turn about the upward axis. */
vf_mesh_view vf_mesh_view_behind(const vf_mesh_view *view);

/* The colours: by the mesh's value. */
typedef struct vf_mesh_paint {
    const vf_colormap *map;
    double low, high; /* the values that have the map's colours at 0 and 1 */
} vf_mesh_paint;

/* sky: [vertices] how much of a sky that is brighter towards `up` (a unit vector) each vertex sees, weighted by the cosine to its normal;
 * about 1 if nothing is in the way. For all views with this axis upwards. Errors: VF_ERR_MEMORY, VF_ERR_CANCELLED. */
VF_MUST_CHECK vf_status vf_mesh_find_sky(vf_context *ctx, const vf_mesh *mesh, const double up[3], float *sky);

/* Draws the mesh, with its sky, on columns [x, x + width), rows [y, y + height), its centre in their middle, with `scale` pixels per unit of length.
 * Pixels that it does not cover stay as they are; at its edges the paper is taken to be white. Errors: VF_ERR_MEMORY,
 * VF_ERR_CANCELLED. */
VF_MUST_CHECK vf_status vf_canvas_mesh(vf_context *ctx, vf_canvas *canvas, int x, int y, int width, int height,
                                       const vf_mesh *mesh, const float *sky, const vf_mesh_view *view, double scale,
                                       const vf_mesh_paint *paint);

/* Bytes that vf_canvas_mesh takes, or vf_mesh_find_sky. */
int64_t vf_canvas_mesh_bytes(const vf_context *ctx, int width, int height, int64_t vertices);

#ifdef __cplusplus
}
#endif
#endif
