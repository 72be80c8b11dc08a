/* Images of values: resampling, colouring, contours. */
#include <math.h>

#include "canvas_internal.h"

/* The cells that contribute to a pixel along one axis: [first, last], weighted by a triangle of half-width `reach`
 * around `center`, all in cells. */
typedef struct footprint {
    int64_t first, last;
    double center, reach;
} footprint;

static footprint footprint_of(int pixel, int pixels, int64_t cells, vf_filter filter)
{
    const double scale = (double)cells / pixels, center = (pixel + 0.5) * scale - 0.5;
    const double reach = filter == VF_FILTER_NEAREST ? 0 : fmax(scale, 1);
    footprint f = {(int64_t)floor(center - reach) + 1, (int64_t)ceil(center + reach) - 1, center, reach};
    if (filter == VF_FILTER_NEAREST)
        f.first = f.last = (int64_t)floor(center + 0.5);
    if (f.first < 0)
        f.first = 0;
    if (f.last > cells - 1)
        f.last = cells - 1;
    return f;
}

static double weight(const footprint *f, int64_t cell)
{
    return f->reach > 0 ? 1 - fabs((double)cell - f->center) / f->reach : 1;
}

/* The weighted mean over a pixel's footprint. Skips weights that rounding made zero or negative, so that a NaN or
 * infinity in a neighbouring cell does not spread. */
static float sample(const float *values, int64_t columns, const footprint *fx, const footprint *fy)
{
    double sum = 0, weights = 0;
    for (int64_t j = fy->first; j <= fy->last; j++) {
        for (int64_t i = fx->first; i <= fx->last; i++) {
            const double w = weight(fx, i) * weight(fy, j);
            if (w > 1e-9) {
                sum += w * (double)values[j * columns + i];
                weights += w;
            }
        }
    }
    return (float)(sum / weights);
}

void vf_resample(const float *values, int64_t columns, int64_t rows, vf_filter filter, int width, int height,
                 float *out)
{
    for (int j = 0; j < height; j++) {
        const footprint fy = footprint_of(j, height, rows, filter);
        for (int i = 0; i < width; i++) {
            const footprint fx = footprint_of(i, width, columns, filter);
            out[(size_t)j * (size_t)width + (size_t)i] = sample(values, columns, &fx, &fy);
        }
    }
}

void vf_canvas_image(vf_canvas *canvas, int x, int y, int width, int height, const float *values,
                     const vf_colormap *map, double low, double high)
{
    for (int j = 0; j < height; j++) {
        for (int i = 0; i < width; i++) {
            const double value = (double)values[(size_t)j * (size_t)width + (size_t)i];
            if (x + i >= 0 && y + j >= 0 && x + i < canvas->width && y + j < canvas->height)
                vf_canvas_blend(canvas, x + i, y + j, vf_colormap_at(map, (value - low) / (high - low)), 255);
        }
    }
}

/* ---- contours ---- */

/* A cell's corners, counter-clockwise from its first value, and their positions in the cell. Edge e joins corners e and
 * e + 1. */
static const int corner_x[4] = {0, 1, 1, 0}, corner_y[4] = {0, 0, 1, 1};

/* Where the contour crosses edge e, in the cell. With an infinite value, it is beside the finite one. */
static void crossing(const double v[4], double level, int e, double out[2])
{
    const int a = e, b = (e + 1) % 4;
    double t = (level - v[a]) / (v[b] - v[a]);
    if (isnan(t))
        t = isinf(v[a]) ? 1 : 0;
    out[0] = corner_x[a] + t * (corner_x[b] - corner_x[a]);
    out[1] = corner_y[a] + t * (corner_y[b] - corner_y[a]);
}

/* Strokes the contour in one cell, whose first value is at (x, y). Returns whether there is one. */
static bool contour_cell(vf_canvas *canvas, double x, double y, const double v[4], double level, double line)
{
    double at[4][2];
    int crossed = 0;
    for (int e = 0; e < 4; e++) {
        if ((v[e] > level) == (v[(e + 1) % 4] > level))
            continue;
        crossing(v, level, e, at[crossed++]);
    }
    if (crossed == 0)
        return false;
    /* Four crossings: a saddle. The mean decides whether the corners above the level are joined through the middle. If
     * so, the lines cut off the corners below. Corner e lies between crossings e - 1 and e. */
    int first = 0;
    if (crossed == 4) {
        const bool joined = v[0] + v[1] + v[2] + v[3] > 4 * level;
        first = (v[0] > level) == joined ? 0 : 1;
    }
    for (int k = 0; k < crossed; k += 2) {
        const double *a = at[(first + k) % crossed], *b = at[(first + k + 1) % crossed];
        vf_canvas_stroke_segment(canvas, x + a[0], y + a[1], x + b[0], y + b[1], line);
    }
    return true;
}

bool vf_canvas_contour(vf_canvas *canvas, int x, int y, int width, int height, const float *values, double level,
                       double line, vf_color color)
{
    bool any = false;
    for (int j = 0; j + 1 < height; j++) {
        for (int i = 0; i + 1 < width; i++) {
            const float *row = values + (size_t)j * (size_t)width + (size_t)i, *next = row + width;
            const double v[4] = {(double)row[0], (double)row[1], (double)next[1], (double)next[0]};
            if (!isnan(v[0] + v[2]) && !isnan(v[1] + v[3]))
                any |= contour_cell(canvas, x + i + 0.5, y + j + 0.5, v, level, line);
        }
    }
    vf_canvas_stroke_end(canvas, color);
    return any;
}
