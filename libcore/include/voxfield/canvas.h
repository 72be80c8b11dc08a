/* Voxfield - a canvas: pictures with lines, text and images of values, written as PNG.
 *
 * Lengths are in pixels. x grows to the right and y downwards; pixel (i, j) covers [i, i+1) x [j, j+1), so its centre
 * is at (i + 0.5, j + 0.5). Anything outside the canvas is cut off. Texts are UTF-8; characters missing from the font
 * become '?'. Drawing cannot fail: all memory is allocated with the canvas. One thread at a time per canvas.
 */
#ifndef VOXFIELD_CANVAS_H
#define VOXFIELD_CANVAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "voxfield/colormap.h"
#include "voxfield/context.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vf_canvas vf_canvas;
enum { VF_CANVAS_MAX_SIDE = 32767 };

/* Makes a canvas of one colour. Errors: VF_ERR_ARGUMENT unless both sides lie in [1, VF_CANVAS_MAX_SIDE];
 * VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status vf_canvas_create(vf_context *ctx, int width, int height, vf_color background, vf_canvas **out);
void vf_canvas_destroy(vf_canvas *canvas); /* NULL is allowed */
int vf_canvas_width(const vf_canvas *canvas);
int vf_canvas_height(const vf_canvas *canvas);
vf_color vf_canvas_pixel(const vf_canvas *canvas, int x, int y); /* all zero outside */

/* ---- shapes ---- */

/* Fills whole pixels: columns [x, x + width), rows [y, y + height). */
void vf_canvas_fill(vf_canvas *canvas, int x, int y, int width, int height, vf_color color);

/* A frame of `line` whole pixels around those pixels, outside them. */
void vf_canvas_frame(vf_canvas *canvas, int x, int y, int width, int height, int line, vf_color color);

/* Fills a convex polygon, with smooth edges. `xy` holds x and y of each of `corners` points, in either direction. */
void vf_canvas_polygon(vf_canvas *canvas, const double *xy, int corners, vf_color color);

/* Lines of `width` pixels with smooth edges and round ends, through `points` points. Overlaps are not darker. */
void vf_canvas_line(vf_canvas *canvas, double x0, double y0, double x1, double y1, double width, vf_color color);
void vf_canvas_polyline(vf_canvas *canvas, const double *xy, int points, double width, vf_color color);

/* ---- text ---- */

typedef enum vf_font { VF_FONT_SMALL, VF_FONT_LARGE } vf_font; /* 26 and 36 pixels per em */
typedef enum vf_align { VF_ALIGN_LEFT, VF_ALIGN_CENTER, VF_ALIGN_RIGHT } vf_align;

/* Height of a capital above the baseline, of the highest glyph above it, and of the lowest below it. */
typedef struct vf_font_size {
    int capital, ascent, descent;
} vf_font_size;
vf_font_size vf_font_get_size(vf_font font);
int vf_text_width(vf_font font, const char *text);

/* Writes `text` with its baseline at y, and its left end, middle or right end at x. */
void vf_canvas_text(vf_canvas *canvas, int x, int y, vf_font font, vf_align align, const char *text, vf_color color);

/* The same, turned to read upwards: the baseline at x; its lower end, middle or upper end at y. */
void vf_canvas_text_upwards(vf_canvas *canvas, int x, int y, vf_font font, vf_align align, const char *text,
                            vf_color color);

/* Copies `text` to `out` (`size` >= 4 bytes). Shortens it to `max_width` pixels, if necessary, by an ellipsis in the
 * middle. */
void vf_text_shorten(vf_font font, const char *text, int max_width, char *out, size_t size);

/* ---- images of values ---- */

/* VF_FILTER_NEAREST takes the value of the cell that contains the pixel's centre. VF_FILTER_BILINEAR interpolates if
 * pixels are smaller than cells. If they are larger, it averages with a triangular weight, so every value counts. */
typedef enum vf_filter { VF_FILTER_NEAREST, VF_FILTER_BILINEAR } vf_filter;

/* Resamples values[rows][columns] to out[height][width]. Values are at the centres of cells that share the same area. A
 * pixel to which a NaN contributes is NaN. All counts >= 1; the two arrays must not overlap. */
void vf_resample(const float *values, int64_t columns, int64_t rows, vf_filter filter, int width, int height,
                 float *out);

/* Draws values[height][width], a pixel each, row 0 at the top, its first pixel at (x, y). `low` gets the map's colour
 * at 0, `high` the colour at 1. */
void vf_canvas_image(vf_canvas *canvas, int x, int y, int width, int height, const float *values,
                     const vf_colormap *map, double low, double high);

/* Draws the contour lines of `level` (marching squares), with values at the pixels' centres. Skips cells of four values
 * that include a NaN. Returns whether there was any line. */
bool vf_canvas_contour(vf_canvas *canvas, int x, int y, int width, int height, const float *values, double level,
                       double line, vf_color color);

/* ---- files ---- */

/* A comment in the file: keyword (1 to 79 Latin-1 characters; "Title", "Software", "Comment", ... in the PNG standard)
 * and text. */
typedef struct vf_png_text {
    const char *keyword, *text;
} vf_png_text;

/* Writes the canvas as an 8-bit RGB PNG of 300 pixels per inch, atomically (output.h). Errors: VF_ERR_OUTPUT,
 * VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status vf_canvas_write_png(vf_context *ctx, const vf_canvas *canvas, const char *path,
                                            const vf_png_text *texts, int count);

#ifdef __cplusplus
}
#endif
#endif
