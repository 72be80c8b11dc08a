/* The picture of a molecule's surface. */
#ifndef CIONIZE_DRAW_SURFACE_H
#define CIONIZE_DRAW_SURFACE_H

#include "maps/map_format.h"
#include "voxfield/mesh.h"
#include "voxfield/ticks.h"

typedef struct surface_drawing {
    const vf_mesh *mesh;
    const map_info *info; /* of the map */
    const char *words;    /* "solvent-excluded surface, probe 1.4 A" */
    double range;         /* of the colours: -range to range */
    vf_ticks levels;      /* of the colour bar */
    bool below, above;    /* whether there are values beyond */
    bool missing;         /* whether a part has no value */
} surface_drawing;

/* Draws both sides of the surface, and writes the picture (PNG), atomically. Errors: those of vf_canvas_mesh and
 * vf_canvas_write_png. */
VF_MUST_CHECK vf_status surface_draw(vf_context *ctx, const surface_drawing *s, const char *path);

/* Bytes that it takes. */
double surface_draw_bytes(const vf_context *ctx, int64_t vertices);

#endif
