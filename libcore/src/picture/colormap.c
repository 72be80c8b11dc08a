#include "voxfield/colormap.h"

#include <math.h>

/* Colours are mixed in CIELAB (CIE 15), where equal distances look about equal. Each half of the diverging map is a
 * quadratic Bezier curve there: from white, towards a light and then a dark red or blue. Lightness falls evenly from
 * 100 to 37 on either side, so that neither sign stands out, and equal steps in t are equal steps in CIELAB to 15 %.
 * These are Moreland's criteria for a diverging map ("Diverging Color Maps for Scientific Visualization", ISVC 2009).
 * His own map is light grey in the middle, for shaded surfaces; with white there, it would turn cyan and yellow. So the
 * control points here are this project's own, chosen to stay within sRGB. */
typedef struct lab {
    double l, a, b;
} lab;
static const lab white = {100, 0, 0};
static const lab light_red = {68.5, 31, 30}, red = {37, 57, 34};
static const lab light_blue = {68.5, -12, -36}, blue = {37, 16, -52};

/* CIE 1931 coordinates of the D65 white, and of linear sRGB's primaries (IEC 61966-2-1). */
static const double white_xyz[3] = {0.95047, 1.0, 1.08883};
static const double rgb_of_xyz[3][3] = {
    {3.2404542, -1.5371385, -0.4985314}, {-0.9692660, 1.8760108, 0.0415560}, {0.0556434, -0.2040259, 1.0572252}};

double vf_srgb_of_light(double c)
{
    return c <= 0.0031308 ? 12.92 * c : 1.055 * pow(c, 1 / 2.4) - 0.055;
}

double vf_light_of_srgb(double c)
{
    return c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4);
}

static double lab_curve_inverse(double f)
{
    return f > 6.0 / 29 ? f * f * f : (116 * f - 16) * 27 / 24389;
}

static uint8_t byte_of(double c)
{
    return (uint8_t)lrint(255 * fmin(fmax(c, 0), 1));
}

static vf_color color_of_lab(lab c)
{
    const double fy = (c.l + 16) / 116;
    const double x = white_xyz[0] * lab_curve_inverse(fy + c.a / 500);
    const double y = white_xyz[1] * lab_curve_inverse(fy);
    const double z = white_xyz[2] * lab_curve_inverse(fy - c.b / 200);
    uint8_t rgb[3];
    for (int i = 0; i < 3; i++)
        rgb[i] = byte_of(vf_srgb_of_light(rgb_of_xyz[i][0] * x + rgb_of_xyz[i][1] * y + rgb_of_xyz[i][2] * z));
    return (vf_color){rgb[0], rgb[1], rgb[2], 255};
}

static lab bezier(lab p, lab q, lab r, double t)
{
    const double wp = (1 - t) * (1 - t), wq = 2 * t * (1 - t), wr = t * t;
    return (lab){wp * p.l + wq * q.l + wr * r.l, wp * p.a + wq * q.a + wr * r.a, wp * p.b + wq * q.b + wr * r.b};
}

static void make_diverging(vf_colormap *out)
{
    const int middle = VF_COLORMAP_STEPS / 2;
    for (int i = 0; i <= middle; i++) {
        out->step[middle - i] = color_of_lab(bezier(white, light_red, red, (double)i / middle));
        out->step[middle + i] = color_of_lab(bezier(white, light_blue, blue, (double)i / middle));
    }
    out->missing = (vf_color){128, 128, 128, 255};
}

static void make_gray(vf_colormap *out)
{
    for (int i = 0; i < VF_COLORMAP_STEPS; i++)
        out->step[i] = color_of_lab((lab){100.0 * i / (VF_COLORMAP_STEPS - 1), 0, 0});
    out->missing = (vf_color){255, 0, 255, 255};
}

void vf_colormap_make(vf_colormap_kind kind, vf_colormap *out)
{
    if (kind == VF_COLORMAP_GRAY)
        make_gray(out);
    else
        make_diverging(out);
}

vf_color vf_colormap_at(const vf_colormap *map, double t)
{
    if (isnan(t))
        return map->missing;
    return map->step[lrint(fmin(fmax(t, 0), 1) * (VF_COLORMAP_STEPS - 1))];
}
