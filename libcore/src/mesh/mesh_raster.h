/* Which triangle of a mesh is in front at each sample of a picture. */
#ifndef MESH_RASTER_H
#define MESH_RASTER_H

#include <math.h>

#include "voxfield/mesh_picture.h"

/* Samples [row][column] of rows [first, first + rows), at whole coordinates. */
typedef struct mesh_raster {
    int columns, first, rows;
    float *depth;       /* of what is in front: the largest; -INFINITY: nothing */
    uint32_t *triangle; /* which it is; NULL: not wanted */
} mesh_raster;

enum { NO_TRIANGLE = -1 }; /* as uint32_t */

/* The weights of a triangle's corners at a point; they sum to 1. inverse_area: 1 / mesh_doubled_area. */
typedef struct mesh_weights {
    double at[3];
} mesh_weights;

/* Twice the area of a triangle of projected points, positive if it is counterclockwise. */
static inline double mesh_doubled_area(const float *a, const float *b, const float *c)
{
    return ((double)b[0] - (double)a[0]) * ((double)c[1] - (double)a[1]) -
           ((double)b[1] - (double)a[1]) * ((double)c[0] - (double)a[0]);
}

static inline mesh_weights mesh_weights_at(const float *const corner[3], double inverse_area, double x, double y)
{
    mesh_weights w;
    for (int k = 0; k < 2; k++) {
        const float *b = corner[k + 1], *c = corner[(k + 2) % 3];
        w.at[k] = (((double)b[0] - x) * ((double)c[1] - y) - ((double)b[1] - y) * ((double)c[0] - x)) * inverse_area;
    }
    w.at[2] = 1 - w.at[0] - w.at[1];
    return w;
}

/* place: [vertices] column, row and depth. Draws all triangles, or only those that are clockwise; of equal depths, the first one's
 * stays. */
void mesh_raster_draw(const mesh_raster *r, const vf_mesh *mesh, const float (*place)[3], bool clockwise);

/* Towards the lamp, in the view's axes: right, up, towards the viewer. Of length 1. */
extern const double mesh_lamp[3];

/* lamp: [vertices] how much of the lamp each vertex sees, 0 to 1. Errors: VF_ERR_MEMORY, VF_ERR_CANCELLED. */
VF_MUST_CHECK vf_status mesh_find_lamp(vf_context *ctx, const vf_mesh *mesh, const vf_mesh_view *view, float *lamp);
int64_t mesh_light_bytes(const vf_context *ctx, int64_t vertices);

#endif
