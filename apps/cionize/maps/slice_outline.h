/* cionize: where a plane of a picture cuts the molecule. */
#ifndef CIONIZE_SLICE_OUTLINE_H
#define CIONIZE_SLICE_OUTLINE_H

#include "map_format.h"

/* A plane of pixels. Row 0 is at the upper edge, where v is largest. */
typedef struct slice_plane {
    int normal, u, v;       /* axis normal to the plane; axes across and up */
    double position;        /* along the normal, angstrom */
    double lo[2], pixel[2]; /* left and lower edge, and the sides of a pixel, along u and v, angstrom */
    int width, height;
} slice_plane;

/* distance: [height][width] from the molecule's outline, angstrom, negative inside, clipped to a few pixels. The outline is that of
 * the union of the atoms' spheres; in a solvent (info->surface), of the surface. Errors: those of vf_surface_create. */
VF_MUST_CHECK vf_status slice_outline(vf_context *ctx, const map_info *info, const slice_plane *plane, float *distance);

#endif
