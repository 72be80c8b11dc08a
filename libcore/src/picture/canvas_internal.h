/* Shared by canvas.c, canvas_image.c and canvas_png.c. */
#ifndef VOXFIELD_CANVAS_INTERNAL_H
#define VOXFIELD_CANVAS_INTERNAL_H

#include "voxfield/canvas.h"

struct vf_canvas {
    int width, height;
    uint8_t *rgb;      /* [height][width][3] */
    uint8_t *coverage; /* [height][width]: of the strokes since the last vf_canvas_stroke_end; otherwise 0 */
    int lo[2], hi[2];  /* x, y: the range of pixels where `coverage` may be nonzero */
};

/* Blends `color` over a pixel inside the canvas, with `coverage` / 255. */
void vf_canvas_blend(vf_canvas *canvas, int x, int y, vf_color color, unsigned coverage);

/* Strokes: segments collect the largest coverage of each pixel, so that lines are not darker where they meet.
 * vf_canvas_stroke_end colours all at once. */
void vf_canvas_stroke_segment(vf_canvas *canvas, double x0, double y0, double x1, double y1, double width);
void vf_canvas_stroke_end(vf_canvas *canvas, vf_color color);

/* The canvas as the bytes of a PNG file, for the file `path`: free(*png). Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status vf_canvas_make_png(vf_context *ctx, const vf_canvas *canvas, const char *path, void **png,
                                           size_t *bytes);

#endif
