#include "voxfield/figure.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    TICK = 9,          /* length of a tick mark */
    NUMBER_GAP = 7,    /* between mark and number */
    NUMBER_SPACE = 20, /* least space between numbers */
    LABEL_GAP = 4,     /* between numbers and label */
    SIDE_GAP = 14,     /* the same for an upright axis */
    LINE_GAP = 6,      /* between lines of running text */
};

static const vf_color ink = {45, 45, 45, 255};

static int larger(int a, int b)
{
    return a > b ? a : b;
}

int vf_line_height(void)
{
    const vf_font_size size = vf_font_get_size(VF_FONT_SMALL);
    return size.ascent + size.descent;
}

/* ---- axes ---- */

static bool has_ticks(const vf_axis *axis)
{
    return axis->ticks.first <= axis->ticks.last;
}

static int tick_count(const vf_axis *axis)
{
    return has_ticks(axis) ? (int)(axis->ticks.last - axis->ticks.first + 1) : 1;
}

/* The text of tick number i of an axis. Returns its position, from 0 at `lo` to 1 at `hi`. */
static double tick_at(const vf_axis *axis, int i, char text[VF_LABEL_TEXT])
{
    const int64_t n = axis->ticks.first + i;
    if (has_ticks(axis))
        vf_tick_text(&axis->ticks, n, text);
    else
        vf_label_text((axis->lo + axis->hi) / 2, axis->decimals, VF_LABEL_TRIM, text);
    return has_ticks(axis) ? (vf_tick_value(&axis->ticks, n) - axis->lo) / (axis->hi - axis->lo) : 0.5;
}

static int numbers_width(const vf_axis *axis)
{
    int widest = 0;
    for (int i = 0; i < tick_count(axis); i++) {
        char text[VF_LABEL_TEXT];
        (void)tick_at(axis, i, text);
        widest = larger(widest, vf_text_width(VF_FONT_SMALL, text));
    }
    return widest;
}

/* The number of ticks from one number to the next, so that numbers fit on an axis of `pixels`. */
static int64_t number_stride(const vf_axis *axis, int pixels)
{
    const double step = vf_tick_step(&axis->ticks) / (axis->hi - axis->lo) * pixels;
    const double stride = ceil((numbers_width(axis) + NUMBER_SPACE) / step);
    return has_ticks(axis) && stride > 1 ? (int64_t)stride : 1;
}

int vf_axes_left(const vf_axis *up)
{
    return VF_AXES_FRAME + TICK + NUMBER_GAP + numbers_width(up) + SIDE_GAP + vf_line_height();
}

int vf_axes_below(void)
{
    return VF_AXES_FRAME + TICK + NUMBER_GAP + 2 * vf_line_height() + LABEL_GAP;
}

/* The marks and numbers of an axis `width` pixels long, whose line ends at row `y`. */
static void draw_ticks_below(vf_canvas *canvas, int x, int y, int width, const vf_axis *axis)
{
    const int64_t stride = number_stride(axis, width);
    for (int i = 0; i < tick_count(axis); i++) {
        char text[VF_LABEL_TEXT];
        const int at = x + (int)lrint(tick_at(axis, i, text) * width);
        vf_canvas_fill(canvas, at - VF_AXES_FRAME / 2, y, VF_AXES_FRAME, TICK, ink);
        if (!has_ticks(axis) || (axis->ticks.first + i) % stride == 0)
            vf_canvas_text(canvas, at, y + TICK + NUMBER_GAP + vf_font_get_size(VF_FONT_SMALL).capital, VF_FONT_SMALL,
                           VF_ALIGN_CENTER, text, ink);
    }
}

void vf_canvas_axes(vf_canvas *canvas, int x, int y, int width, int height, const vf_axis *across, const vf_axis *up)
{
    const vf_font_size size = vf_font_get_size(VF_FONT_SMALL);
    const int bottom = y + height + VF_AXES_FRAME, left = x - VF_AXES_FRAME, half = VF_AXES_FRAME / 2;
    const int label = bottom + vf_axes_below() - VF_AXES_FRAME;
    char text[VF_LABEL_TEXT];
    vf_canvas_frame(canvas, x, y, width, height, VF_AXES_FRAME, ink);
    draw_ticks_below(canvas, x, bottom, width, across);
    for (int i = 0; i < tick_count(up); i++) {
        const int at = y + height - (int)lrint(tick_at(up, i, text) * height);
        vf_canvas_fill(canvas, left - TICK, at - half, TICK, VF_AXES_FRAME, ink);
        vf_canvas_text(canvas, left - TICK - NUMBER_GAP, at + size.capital / 2, VF_FONT_SMALL, VF_ALIGN_RIGHT, text,
                       ink);
    }
    vf_canvas_text(canvas, x + width / 2, label - size.descent, VF_FONT_SMALL, VF_ALIGN_CENTER, across->label, ink);
    vf_canvas_text_upwards(canvas, x - vf_axes_left(up) + size.ascent, y + height / 2, VF_FONT_SMALL, VF_ALIGN_CENTER,
                           up->label, ink);
}

/* ---- bars ---- */

void vf_canvas_colorbar(vf_canvas *canvas, int x, int y, int width, const vf_colorbar *bar)
{
    const vf_font_size size = vf_font_get_size(VF_FONT_SMALL);
    const int bottom = y + VF_COLORBAR_HEIGHT, right = x + width;
    const int first = bar->below ? x - VF_COLORBAR_POINT : x, last = bar->above ? right + VF_COLORBAR_POINT : right;
    const double middle = y + VF_COLORBAR_HEIGHT / 2.0, half = VF_AXES_FRAME / 2.0;
    /* Around the colours, so that the line does not cover the colours of the ends. */
    const double lo_x = bar->below ? x : x - half, hi_x = bar->above ? right : right + half;
    const double edge[7][2] = {{lo_x, y - half},      {hi_x, y - half},      {last + half, middle},
                               {hi_x, bottom + half}, {lo_x, bottom + half}, {first - half, middle},
                               {lo_x, y - half}};
    vf_canvas_polygon(canvas, (double[6]){x, y, first, middle, x, bottom}, 3, vf_colormap_at(bar->map, 0));
    vf_canvas_polygon(canvas, (double[6]){right, y, last, middle, right, bottom}, 3, vf_colormap_at(bar->map, 1));
    for (int i = 0; i < width; i++)
        vf_canvas_fill(canvas, x + i, y, 1, VF_COLORBAR_HEIGHT, vf_colormap_at(bar->map, (i + 0.5) / width));
    vf_canvas_polyline(canvas, edge[0], 7, VF_AXES_FRAME, ink);
    draw_ticks_below(canvas, x, bottom + VF_AXES_FRAME, width, &(vf_axis){bar->low, bar->high, bar->ticks, 0, {0}});
    vf_canvas_text(canvas, x + width / 2, y - size.descent - LABEL_GAP, VF_FONT_SMALL, VF_ALIGN_CENTER, bar->title,
                   ink);
}

/* The longest round length that is at most `most`. */
static vf_ticks round_length(double most)
{
    static const int units[] = {1, 2, 5};
    vf_ticks longest = {.first = 1, .last = 1, .unit = 1, .exponent = (int)floor(log10(most))};
    for (int i = 0; i < 3; i++) {
        const vf_ticks longer = {.unit = units[i], .exponent = longest.exponent};
        if (vf_tick_step(&longer) <= most)
            longest.unit = units[i];
    }
    return longest;
}

void vf_canvas_scale_bar(vf_canvas *canvas, int x, int y, double scale, double most, const char *unit)
{
    enum { THICKNESS = 8, TEXT_GAP = 12 };
    const vf_ticks bar = round_length(most / scale);
    const int baseline = y + THICKNESS + TEXT_GAP + vf_font_get_size(VF_FONT_SMALL).capital;
    const int length = (int)lrint(vf_tick_step(&bar) * scale);
    char number[VF_LABEL_TEXT], text[VF_LABEL_TEXT + 16];
    (void)snprintf(text, sizeof text, "%s %s", vf_tick_text(&bar, 1, number), unit);
    const int middle = x + larger(vf_text_width(VF_FONT_SMALL, text), length) / 2;
    vf_canvas_fill(canvas, middle - length / 2, y, length, THICKNESS, ink);
    vf_canvas_text(canvas, middle, baseline, VF_FONT_SMALL, VF_ALIGN_CENTER, text, ink);
}

void vf_canvas_keys(vf_canvas *canvas, int right, int y, const vf_key *keys, int count)
{
    enum { SAMPLE = 44, SAMPLE_GAP = 14 };
    const int capital = vf_font_get_size(VF_FONT_SMALL).capital;
    int widest = 0;
    for (int i = 0; i < count; i++)
        if (keys[i].shown)
            widest = larger(widest, vf_text_width(VF_FONT_SMALL, keys[i].text));
    const int text = right - widest, sample = text - SAMPLE_GAP - SAMPLE;
    for (int i = 0; i < count; i++) {
        if (!keys[i].shown)
            continue;
        const double middle = y + capital / 2.0;
        if (keys[i].line > 0)
            vf_canvas_line(canvas, sample, middle, sample + SAMPLE, middle, keys[i].line, keys[i].color);
        else
            vf_canvas_fill(canvas, sample, y, SAMPLE, capital, keys[i].color);
        vf_canvas_text(canvas, text, y + capital, VF_FONT_SMALL, VF_ALIGN_LEFT, keys[i].text, ink);
        y += vf_line_height() + LINE_GAP;
    }
}

/* ---- running text ---- */

int vf_canvas_paragraph(vf_canvas *canvas, int x, int y, int width, const char *const *parts, int count, vf_color color)
{
    static const char separator[] = "  \xC2\xB7  ";
    const int line = vf_line_height() + LINE_GAP, ascent = vf_font_get_size(VF_FONT_SMALL).ascent;
    const int between = vf_text_width(VF_FONT_SMALL, separator);
    int at = 0, height = 0;
    for (int i = 0; i < count; i++) {
        char text[512];
        vf_text_shorten(VF_FONT_SMALL, parts[i], width, text, sizeof text);
        const int needed = vf_text_width(VF_FONT_SMALL, text);
        const bool fits = at > 0 && at + between + needed <= width;
        if (fits && canvas)
            vf_canvas_text(canvas, x + at, y + height - line + ascent, VF_FONT_SMALL, VF_ALIGN_LEFT, separator, color);
        at = fits ? at + between : 0;
        height += fits ? 0 : line;
        if (canvas)
            vf_canvas_text(canvas, x + at, y + height - line + ascent, VF_FONT_SMALL, VF_ALIGN_LEFT, text, color);
        at += needed;
    }
    return height;
}
