#include "voxfield/canvas.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "canvas_internal.h"

vf_status vf_canvas_create(vf_context *ctx, int width, int height, vf_color background, vf_canvas **out)
{
    *out = NULL;
    if (width < 1 || height < 1 || width > VF_CANVAS_MAX_SIDE || height > VF_CANVAS_MAX_SIDE)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "a picture of %d x %d pixels: each side must lie between 1 and %d", width,
                       height, VF_CANVAS_MAX_SIDE);
    size_t pixels = (size_t)width * (size_t)height;
    vf_canvas *canvas = calloc(1, sizeof *canvas);
    if (canvas) {
        canvas->rgb = malloc(pixels * 3);
        canvas->coverage = calloc(pixels, 1);
    }
    if (!canvas || !canvas->rgb || !canvas->coverage) {
        vf_canvas_destroy(canvas);
        return vf_fail(ctx, VF_ERR_MEMORY, "a picture of %d x %d pixels: not enough memory for its %zu bytes", width,
                       height, pixels * 4);
    }
    canvas->width = canvas->lo[0] = width;
    canvas->height = canvas->lo[1] = height;
    for (size_t i = 0; i < pixels; i++)
        memcpy(canvas->rgb + 3 * i, (uint8_t[3]){background.r, background.g, background.b}, 3);
    *out = canvas;
    return VF_OK;
}

void vf_canvas_destroy(vf_canvas *canvas)
{
    if (!canvas)
        return;
    free(canvas->rgb);
    free(canvas->coverage);
    free(canvas);
}

int vf_canvas_width(const vf_canvas *canvas)
{
    return canvas->width;
}

int vf_canvas_height(const vf_canvas *canvas)
{
    return canvas->height;
}

static uint8_t *pixel_at(const vf_canvas *canvas, int x, int y)
{
    return canvas->rgb + 3 * ((size_t)y * (size_t)canvas->width + (size_t)x);
}

vf_color vf_canvas_pixel(const vf_canvas *canvas, int x, int y)
{
    if (x < 0 || y < 0 || x >= canvas->width || y >= canvas->height)
        return (vf_color){0};
    const uint8_t *rgb = pixel_at(canvas, x, y);
    return (vf_color){rgb[0], rgb[1], rgb[2], 255};
}

void vf_canvas_blend(vf_canvas *canvas, int x, int y, vf_color color, unsigned coverage)
{
    const unsigned over = coverage * color.a, full = 255 * 255;
    uint8_t *rgb = pixel_at(canvas, x, y);
    rgb[0] = (uint8_t)((rgb[0] * (full - over) + color.r * over + full / 2) / full);
    rgb[1] = (uint8_t)((rgb[1] * (full - over) + color.g * over + full / 2) / full);
    rgb[2] = (uint8_t)((rgb[2] * (full - over) + color.b * over + full / 2) / full);
}

/* ---- shapes ---- */

/* The integer at or below v, clamped to [0, limit]; 0 for NaN. */
static int pixel_within(double v, int limit)
{
    return v >= limit ? limit : v >= 0 ? (int)v : 0;
}

/* `a + b` clamped to [0, limit], for any a and b. */
static int sum_within(int a, int b, int limit)
{
    return pixel_within((double)a + b, limit);
}

void vf_canvas_fill(vf_canvas *canvas, int x, int y, int width, int height, vf_color color)
{
    const int right = sum_within(x, width, canvas->width), bottom = sum_within(y, height, canvas->height);
    for (int j = y < 0 ? 0 : y; j < bottom; j++)
        for (int i = x < 0 ? 0 : x; i < right; i++)
            vf_canvas_blend(canvas, i, j, color, 255);
}

void vf_canvas_frame(vf_canvas *canvas, int x, int y, int width, int height, int line, vf_color color)
{
    vf_canvas_fill(canvas, x - line, y - line, width + 2 * line, line, color);
    vf_canvas_fill(canvas, x - line, y + height, width + 2 * line, line, color);
    vf_canvas_fill(canvas, x - line, y, line, height, color);
    vf_canvas_fill(canvas, x + width, y, line, height, color);
}

/* How far (px, py) lies on the inner side of the line from a to b (`turn`: +1 or -1, the polygon's direction).
 */
static double inside_edge(const double *a, const double *b, double turn, double px, double py)
{
    const double dx = b[0] - a[0], dy = b[1] - a[1], length = hypot(dx, dy);
    return length > 0 ? turn * (dx * (py - a[1]) - dy * (px - a[0])) / length : HUGE_VAL;
}

void vf_canvas_polygon(vf_canvas *canvas, const double *xy, int corners, vf_color color)
{
    double area = 0, lo[2] = {HUGE_VAL, HUGE_VAL}, hi[2] = {-HUGE_VAL, -HUGE_VAL};
    for (int c = 0; c < corners; c++) {
        const double *a = xy + 2 * c, *b = xy + 2 * ((c + 1) % corners);
        area += a[0] * b[1] - a[1] * b[0];
        for (int d = 0; d < 2; d++) {
            lo[d] = fmin(lo[d], a[d]);
            hi[d] = fmax(hi[d], a[d]);
        }
    }
    const double turn = area < 0 ? -1 : 1;
    const int right = pixel_within(hi[0] + 2, canvas->width), bottom = pixel_within(hi[1] + 2, canvas->height);
    for (int j = pixel_within(lo[1] - 1, canvas->height); j < bottom; j++) {
        for (int i = pixel_within(lo[0] - 1, canvas->width); i < right; i++) {
            double inside = HUGE_VAL;
            for (int c = 0; c < corners; c++)
                inside = fmin(inside, inside_edge(xy + 2 * c, xy + 2 * ((c + 1) % corners), turn, i + 0.5, j + 0.5));
            const double coverage = fmin(fmax(inside + 0.5, 0), 1);
            vf_canvas_blend(canvas, i, j, color, (unsigned)(255 * coverage + 0.5));
        }
    }
}

static double segment_distance(double px, double py, double x0, double y0, double dx, double dy, double square)
{
    double t = square > 0 ? ((px - x0) * dx + (py - y0) * dy) / square : 0;
    t = fmin(fmax(t, 0), 1);
    return hypot(px - x0 - t * dx, py - y0 - t * dy);
}

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

static int larger(int a, int b)
{
    return a > b ? a : b;
}

void vf_canvas_stroke_segment(vf_canvas *canvas, double x0, double y0, double x1, double y1, double width)
{
    if (!isfinite(x0) || !isfinite(y0) || !isfinite(x1) || !isfinite(y1) || !(width > 0))
        return;
    const double reach = width / 2 + 0.5, dx = x1 - x0, dy = y1 - y0, square = dx * dx + dy * dy;
    const double most = fmin(width, 1); /* a line thinner than a pixel is paler, not thinner */
    const int left = pixel_within(fmin(x0, x1) - reach, canvas->width);
    const int right = pixel_within(fmax(x0, x1) + reach + 1, canvas->width);
    const int top = pixel_within(fmin(y0, y1) - reach, canvas->height);
    const int bottom = pixel_within(fmax(y0, y1) + reach + 1, canvas->height);
    for (int j = top; j < bottom; j++) {
        uint8_t *row = canvas->coverage + (size_t)j * (size_t)canvas->width;
        for (int i = left; i < right; i++) {
            const double distance = segment_distance(i + 0.5, j + 0.5, x0, y0, dx, dy, square);
            const double coverage = fmin(fmax(reach - distance, 0), most);
            row[i] = (uint8_t)larger(row[i], (int)(255 * coverage + 0.5));
        }
    }
    canvas->lo[0] = smaller(canvas->lo[0], left);
    canvas->lo[1] = smaller(canvas->lo[1], top);
    canvas->hi[0] = larger(canvas->hi[0], right);
    canvas->hi[1] = larger(canvas->hi[1], bottom);
}

void vf_canvas_stroke_end(vf_canvas *canvas, vf_color color)
{
    for (int j = canvas->lo[1]; j < canvas->hi[1]; j++) {
        uint8_t *row = canvas->coverage + (size_t)j * (size_t)canvas->width;
        for (int i = canvas->lo[0]; i < canvas->hi[0]; i++) {
            if (row[i])
                vf_canvas_blend(canvas, i, j, color, row[i]);
            row[i] = 0;
        }
    }
    canvas->lo[0] = canvas->width;
    canvas->lo[1] = canvas->height;
    canvas->hi[0] = canvas->hi[1] = 0;
}

void vf_canvas_polyline(vf_canvas *canvas, const double *xy, int points, double width, vf_color color)
{
    for (int i = 0; i + 1 < points; i++)
        vf_canvas_stroke_segment(canvas, xy[2 * i], xy[2 * i + 1], xy[2 * i + 2], xy[2 * i + 3], width);
    vf_canvas_stroke_end(canvas, color);
}

void vf_canvas_line(vf_canvas *canvas, double x0, double y0, double x1, double y1, double width, vf_color color)
{
    vf_canvas_polyline(canvas, (double[4]){x0, y0, x1, y1}, 2, width, color);
}

/* ---- text ---- */

typedef struct glyph {
    uint16_t code;   /* Unicode */
    int16_t advance; /* to the next glyph's origin */
    int16_t left, top, width, height;
    const char *runs; /* see make_canvas_font.py */
} glyph;

#include "canvas_font.inc"

static const struct {
    const glyph *glyphs; /* by code */
    int count;
    vf_font_size size;
} fonts[] = {
    {small_glyphs, sizeof small_glyphs / sizeof *small_glyphs, {SMALL_CAPITAL, SMALL_ASCENT, SMALL_DESCENT}},
    {large_glyphs, sizeof large_glyphs / sizeof *large_glyphs, {LARGE_CAPITAL, LARGE_ASCENT, LARGE_DESCENT}},
};

vf_font_size vf_font_get_size(vf_font font)
{
    return fonts[font].size;
}

/* The next character of UTF-8 text. Invalid bytes count as one character each, which no font has. */
static uint32_t next_character(const char **text)
{
    const unsigned char *s = (const unsigned char *)*text;
    const int extra = s[0] < 0x80 ? 0 : s[0] >= 0xC2 && s[0] < 0xE0 ? 1 : s[0] >= 0xE0 && s[0] < 0xF0 ? 2 : 3;
    uint32_t code = extra == 0 ? s[0] : s[0] & (0x3Fu >> extra);
    int i = 1;
    while (i <= extra && (s[i] & 0xC0) == 0x80)
        code = code << 6 | (s[i++] & 0x3F);
    if (i <= extra || s[0] >= 0xF5 || (s[0] >= 0x80 && s[0] < 0xC2)) {
        *text += 1;
        return 0xFFFD;
    }
    *text += i;
    return code;
}

static int compare_code(const void *key, const void *element)
{
    const uint32_t code = *(const uint32_t *)key, other = ((const glyph *)element)->code;
    return code < other ? -1 : code > other;
}

static const glyph *next_glyph(vf_font font, const char **text)
{
    const glyph *table = fonts[font].glyphs;
    const uint32_t code = next_character(text);
    const glyph *found = bsearch(&code, table, (size_t)fonts[font].count, sizeof *table, compare_code);
    return found ? found : &table['?' - ' '];
}

int vf_text_width(vf_font font, const char *text)
{
    int width = 0;
    while (*text)
        width += next_glyph(font, &text)->advance;
    return width;
}

/* The level, 0 to 15, and length of a run. */
static int decode_run(char c, int *length)
{
    int symbol = c - '#';
    symbol -= (c > '?') + (c > '\\'); /* the two unused characters */
    *length = symbol < 38 ? symbol + 1 : symbol < 76 ? symbol - 37 : 1;
    return symbol < 38 ? 0 : symbol < 76 ? 15 : symbol - 75;
}

/* Draws a glyph with its origin at (x, y); `upwards`: turned by 90 degrees. */
static void draw_glyph(vf_canvas *canvas, const glyph *g, int x, int y, bool upwards, vf_color color)
{
    int position = 0, length;
    for (const char *run = g->runs; *run; run++) {
        const int level = decode_run(*run, &length);
        for (int end = position + length; position < end; position++) {
            const int right = g->left + position % g->width, down = position / g->width - g->top;
            const int i = upwards ? x + down : x + right, j = upwards ? y - right - 1 : y + down;
            if (level && i >= 0 && j >= 0 && i < canvas->width && j < canvas->height)
                vf_canvas_blend(canvas, i, j, color, (unsigned)level * 17);
        }
    }
}

static int aligned(int position, int width, vf_align align)
{
    return align == VF_ALIGN_LEFT ? position : align == VF_ALIGN_RIGHT ? position - width : position - width / 2;
}

void vf_canvas_text(vf_canvas *canvas, int x, int y, vf_font font, vf_align align, const char *text, vf_color color)
{
    x = aligned(x, vf_text_width(font, text), align);
    while (*text) {
        const glyph *g = next_glyph(font, &text);
        draw_glyph(canvas, g, x, y, false, color);
        x += g->advance;
    }
}

void vf_canvas_text_upwards(vf_canvas *canvas, int x, int y, vf_font font, vf_align align, const char *text,
                            vf_color color)
{
    y = -aligned(-y, vf_text_width(font, text), align);
    while (*text) {
        const glyph *g = next_glyph(font, &text);
        draw_glyph(canvas, g, x, y, true, color);
        y -= g->advance;
    }
}

/* Writes `keep` characters of `text`, with an ellipsis in the middle, to `out`. */
static void elide(const char *text, int characters, int keep, char *out, size_t size)
{
    static const char ellipsis[] = "\xE2\x80\xA6";
    const int head = (keep + 1) / 2, tail = keep - head;
    size_t used = 0;
    for (int n = 0; n < characters; n++) {
        const char *begin = text;
        (void)next_character(&text);
        const char *part = begin;
        size_t bytes = (size_t)(text - begin);
        if (n == head) {
            part = ellipsis;
            bytes = sizeof ellipsis - 1;
        } else if (n > head && n < characters - tail) {
            continue;
        }
        if (used + bytes >= size)
            break;
        memcpy(out + used, part, bytes);
        used += bytes;
    }
    out[used] = '\0';
}

void vf_text_shorten(vf_font font, const char *text, int max_width, char *out, size_t size)
{
    int characters = 0;
    for (const char *s = text; *s; characters++)
        (void)next_character(&s);
    const size_t bytes = strlen(text);
    if (bytes < size) {
        memcpy(out, text, bytes + 1);
        if (vf_text_width(font, text) <= max_width)
            return;
    }
    /* A UTF-8 character has at most four bytes. */
    int keep = smaller(characters - 1, (int)((size - 4) / 4));
    do
        elide(text, characters, larger(keep, 0), out, size);
    while (--keep >= 0 && vf_text_width(font, out) > max_width);
}
