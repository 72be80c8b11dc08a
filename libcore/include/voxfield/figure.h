/* Voxfield - the parts of a scientific figure: axes around an image, a colour bar, a scale bar, running text.
 *
 * All in the canvas's small font and in dark grey; lengths in pixels (canvas.h).
 */
#ifndef VOXFIELD_FIGURE_H
#define VOXFIELD_FIGURE_H

#include <stdbool.h>

#include "voxfield/canvas.h"
#include "voxfield/ticks.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An axis of an image: the coordinates of the image's two edges, lo < hi, the tick marks, and the label. An axis too
 * short for a round value gets its middle as its only tick, with at most `decimals` digits after the point. */
typedef struct vf_axis {
    double lo, hi;
    vf_ticks ticks;
    int decimals;
    char label[32];
} vf_axis;

/* A good distance between ticks. Smaller distances work: numbers that would touch are left out. */
enum { VF_AXIS_TICK_STEP = 95 };

/* The space for frame, numbers and label: left of an image, below it, and on the other sides. */
int vf_axes_left(const vf_axis *up);
int vf_axes_below(void);
enum { VF_AXES_FRAME = 2 };

/* A frame around the image at (x, y), with `across` below it and `up` to its left. */
void vf_canvas_axes(vf_canvas *canvas, int x, int y, int width, int height, const vf_axis *across, const vf_axis *up);

/* A horizontal colour bar; (x, y) is its top left corner, below the title and above the numbers. An end is pointed if
 * values lie beyond it; the point is outside the `width` pixels. */
typedef struct vf_colorbar {
    const vf_colormap *map;
    double low, high; /* the values that have the map's colours at 0 and 1 */
    vf_ticks ticks;
    bool below, above; /* whether there are values beyond */
    const char *title;
} vf_colorbar;
enum { VF_COLORBAR_HEIGHT = 30, VF_COLORBAR_POINT = 26 };
void vf_canvas_colorbar(vf_canvas *canvas, int x, int y, int width, const vf_colorbar *bar);

/* A scale bar, its top left corner at (x, y): the longest round length of at most `most` pixels, where one `unit` is
 * `scale` pixels. The length is written below. */
void vf_canvas_scale_bar(vf_canvas *canvas, int x, int y, double scale, double most, const char *unit);

/* A legend of lines and areas: those `shown`, one below another from row y on, ending at column `right`. */
typedef struct vf_key {
    bool shown;
    const char *text;
    double line; /* line width; 0: an area */
    vf_color color;
} vf_key;
void vf_canvas_keys(vf_canvas *canvas, int right, int y, const vf_key *keys, int count);

/* Writes the parts one after another, separated by " · ". A part that would exceed `width` starts a new line; a part
 * longer than a line is shortened. (x, y) is the first line's left end. Returns the height of all lines; with a NULL
 * canvas it only measures. */
int vf_canvas_paragraph(vf_canvas *canvas, int x, int y, int width, const char *const *parts, int count,
                        vf_color color);

/* The height of one line of the small font. */
int vf_line_height(void);

#ifdef __cplusplus
}
#endif
#endif
