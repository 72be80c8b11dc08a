/* What canvas.c, canvas_image.c and canvas_png.c share. */
#ifndef VOXFIELD_CANVAS_INTERNAL_H
#define VOXFIELD_CANVAS_INTERNAL_H

#include "voxfield/canvas.h"

struct vf_canvas {
    int width, height;
    uint8_t *rgb;      /* [height][width][3] */
    uint8_t *coverage; /* [height][width]: of the strokes since the last vf_canvas_stroke_end; all zero in between */
    int lo[2], hi[2];  /* x, y: the pixels in which `coverage` may not be zero */
};

/* Lays `color` over a pixel inside the canvas, `coverage` of 255 of it. */
void vf_canvas_blend(vf_canvas *canvas, int x, int y, vf_color color, unsigned coverage);

/* Strokes: segments are collected as the largest coverage in each pixel, so that lines do not get darker where they
 * meet, and are then coloured at once. */
void vf_canvas_stroke_segment(vf_canvas *canvas, double x0, double y0, double x1, double y1, double width);
void vf_canvas_stroke_end(vf_canvas *canvas, vf_color color);

#endif
