/* The canvas and what stands on it: colour maps, ticks, figures, PNG files. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>
#include <dirent.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "read_png.h"
#include "voxfield/canvas.h"
#include "voxfield/figure.h"

static const vf_color WHITE = {255, 255, 255, 255}, BLACK = {0, 0, 0, 255}, HALF_BLACK = {0, 0, 0, 128};

typedef struct fixture {
    vf_context *ctx;
    char directory[64];
    char path[96];
} fixture;

static int setup(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    assert_int_equal(vf_context_create(&f->ctx), VF_OK);
    strcpy(f->directory, "/tmp/test_canvas.XXXXXX");
    assert_non_null(mkdtemp(f->directory));
    (void)snprintf(f->path, sizeof f->path, "%s/out.png", f->directory);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    fixture *f = *state;
    (void)unlink(f->path);
    assert_int_equal(rmdir(f->directory), 0); /* fails if anything was left behind */
    vf_context_destroy(f->ctx);
    free(f);
    return 0;
}

static vf_canvas *new_canvas(fixture *f, int width, int height)
{
    vf_canvas *canvas = NULL;
    assert_int_equal(vf_canvas_create(f->ctx, width, height, WHITE, &canvas), VF_OK);
    return canvas;
}

static bool same(vf_color a, vf_color b)
{
    return a.r == b.r && a.g == b.g && a.b == b.b;
}

static void assert_color(vf_color actual, vf_color expected)
{
    assert_int_equal(actual.r, expected.r);
    assert_int_equal(actual.g, expected.g);
    assert_int_equal(actual.b, expected.b);
}

/* How many pixels' worth of black there is on a white canvas. */
static double ink_on(const vf_canvas *canvas)
{
    double ink = 0;
    for (int y = 0; y < vf_canvas_height(canvas); y++)
        for (int x = 0; x < vf_canvas_width(canvas); x++)
            ink += (255 - vf_canvas_pixel(canvas, x, y).r) / 255.0;
    return ink;
}

/* Whether all that is drawn lies in columns [x0, x1) and rows [y0, y1). */
static bool ink_inside(const vf_canvas *canvas, int x0, int y0, int x1, int y1)
{
    for (int y = 0; y < vf_canvas_height(canvas); y++)
        for (int x = 0; x < vf_canvas_width(canvas); x++)
            if (!same(vf_canvas_pixel(canvas, x, y), WHITE) && (x < x0 || x >= x1 || y < y0 || y >= y1))
                return false;
    return true;
}

static bool equal_canvases(const vf_canvas *a, const vf_canvas *b)
{
    for (int y = 0; y < vf_canvas_height(a); y++)
        for (int x = 0; x < vf_canvas_width(a); x++)
            if (!same(vf_canvas_pixel(a, x, y), vf_canvas_pixel(b, x, y)))
                return false;
    return true;
}

/* ---- shapes ---- */

static void test_create_refuses_impossible_sizes(void **state)
{
    fixture *f = *state;
    const int sizes[][2] = {{0, 5}, {5, 0}, {-1, 5}, {VF_CANVAS_MAX_SIDE + 1, 5}, {5, VF_CANVAS_MAX_SIDE + 1}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        vf_canvas *canvas = NULL;
        vf_context_clear_error(f->ctx);
        assert_int_equal(vf_canvas_create(f->ctx, sizes[i][0], sizes[i][1], WHITE, &canvas), VF_ERR_ARGUMENT);
        assert_null(canvas);
        assert_non_null(strstr(vf_context_message(f->ctx), "pixels"));
    }
    vf_canvas_destroy(NULL);
}

static void test_fill_is_cut_at_the_edges(void **state)
{
    vf_canvas *canvas = new_canvas(*state, 20, 10);
    vf_canvas_fill(canvas, -5, -5, 8, 8, BLACK);
    vf_canvas_fill(canvas, 18, 8, INT32_MAX, INT32_MAX, BLACK);
    vf_canvas_fill(canvas, 5, 5, 0, 3, BLACK);
    vf_canvas_fill(canvas, 5, 5, -3, 3, BLACK);
    assert_true(ink_on(canvas) == 3 * 3 + 2 * 2);
    assert_color(vf_canvas_pixel(canvas, 2, 2), BLACK);
    assert_color(vf_canvas_pixel(canvas, 3, 2), WHITE);
    assert_color(vf_canvas_pixel(canvas, 19, 9), BLACK);
    assert_int_equal(vf_canvas_pixel(canvas, 20, 9).a, 0);
    vf_canvas_destroy(canvas);
}

static void test_opacity(void **state)
{
    vf_canvas *canvas = new_canvas(*state, 4, 4);
    vf_canvas_fill(canvas, 0, 0, 4, 4, HALF_BLACK);
    assert_int_equal(vf_canvas_pixel(canvas, 1, 1).r, 127); /* 255 * (1 - 128/255) */
    vf_canvas_destroy(canvas);
}

static void test_frame_surrounds_its_inside(void **state)
{
    vf_canvas *canvas = new_canvas(*state, 30, 30);
    vf_canvas_frame(canvas, 10, 12, 8, 6, 2, BLACK);
    assert_true(ink_on(canvas) == 12 * 10 - 8 * 6);
    assert_true(ink_inside(canvas, 8, 10, 20, 20));
    assert_color(vf_canvas_pixel(canvas, 10, 12), WHITE);
    vf_canvas_destroy(canvas);
}

static void test_axis_parallel_line_is_sharp(void **state)
{
    vf_canvas *canvas = new_canvas(*state, 40, 20);
    vf_canvas_line(canvas, 5, 10, 35, 10, 2, BLACK); /* covers rows 9 and 10 exactly */
    for (int x = 6; x < 34; x++) {
        assert_color(vf_canvas_pixel(canvas, x, 9), BLACK);
        assert_color(vf_canvas_pixel(canvas, x, 10), BLACK);
        assert_color(vf_canvas_pixel(canvas, x, 8), WHITE);
        assert_color(vf_canvas_pixel(canvas, x, 11), WHITE);
    }
    vf_canvas_destroy(canvas);
}

/* A line's ink is its area: length x width, and a disc for the two round ends. A ramp one pixel wide across each edge
 * has the area of the sharp edge; the pixels sample it, for 60 pixels of length to well within 2 %. */
static void test_slanted_line_has_its_area(void **state)
{
    const double pi = acos(-1.0);
    for (int degrees = 0; degrees < 180; degrees += 17) {
        const double c = cos(degrees * pi / 180), s = sin(degrees * pi / 180), width = 3;
        vf_canvas *canvas = new_canvas(*state, 100, 100);
        vf_canvas_line(canvas, 50.3 - 30 * c, 49.6 - 30 * s, 50.3 + 30 * c, 49.6 + 30 * s, width, BLACK);
        const double area = 60 * width + pi * width * width / 4;
        assert_true(fabs(ink_on(canvas) - area) <= 0.02 * area);
        vf_canvas_destroy(canvas);
    }
}

static void test_polyline_is_not_darker_where_it_meets_itself(void **state)
{
    vf_canvas *canvas = new_canvas(*state, 40, 40);
    vf_canvas_polyline(canvas, (double[]){5, 20, 20, 20, 35, 20, 5, 20, 20, 5, 20, 35}, 6, 4, HALF_BLACK);
    int darkest = 255;
    for (int y = 0; y < 40; y++)
        for (int x = 0; x < 40; x++)
            darkest = vf_canvas_pixel(canvas, x, y).r < darkest ? vf_canvas_pixel(canvas, x, y).r : darkest;
    assert_int_equal(darkest, 127);
    vf_canvas_destroy(canvas);
}

static void test_thin_line_is_pale(void **state)
{
    vf_canvas *canvas = new_canvas(*state, 40, 20);
    vf_canvas_line(canvas, 5, 10.5, 35, 10.5, 0.4, BLACK);        /* through the middle of row 10 */
    assert_in_range(vf_canvas_pixel(canvas, 20, 10).r, 152, 154); /* 255 * 0.6 */
    vf_canvas_destroy(canvas);
}

static void test_a_stroke_leaves_no_trace_in_the_next(void **state)
{
    vf_canvas *canvas = new_canvas(*state, 40, 40);
    vf_canvas_line(canvas, 5, 10, 35, 10, 2, BLACK);
    vf_canvas_line(canvas, 5, 35, 35, 5, 2, HALF_BLACK); /* its bounds contain the first line */
    vf_canvas_line(canvas, 5, 5, 35, 35, 2, WHITE);
    assert_color(vf_canvas_pixel(canvas, 20, 10), BLACK);
    assert_int_equal(vf_canvas_pixel(canvas, 25, 14).r, vf_canvas_pixel(canvas, 26, 13).r);
    vf_canvas_destroy(canvas);
}

static void test_lines_from_and_to_nowhere(void **state)
{
    vf_canvas *canvas = new_canvas(*state, 20, 20);
    vf_canvas_line(canvas, NAN, 5, 10, 5, 2, BLACK);
    vf_canvas_line(canvas, 5, 5, INFINITY, 5, 2, BLACK);
    vf_canvas_line(canvas, 5, 5, 10, 5, NAN, BLACK);
    vf_canvas_line(canvas, 500, 500, 600, 700, 2, BLACK);
    vf_canvas_polyline(canvas, NULL, 0, 2, BLACK);
    vf_canvas_polygon(canvas, NULL, 0, BLACK);
    assert_true(ink_on(canvas) == 0);
    vf_canvas_line(canvas, -1e9, 10, 1e9, 10, 2, BLACK);
    assert_true(ink_on(canvas) == 40);
    vf_canvas_destroy(canvas);
}

static void test_polygon_has_its_area(void **state)
{
    const double triangle[] = {10.3, 8.1, 50.7, 20.4, 22.2, 55.9}, back[] = {22.2, 55.9, 50.7, 20.4, 10.3, 8.1};
    const double area = 0.5 * ((50.7 - 10.3) * (55.9 - 8.1) - (22.2 - 10.3) * (20.4 - 8.1));
    vf_canvas *canvas = new_canvas(*state, 64, 64), *other = new_canvas(*state, 64, 64);
    vf_canvas_polygon(canvas, triangle, 3, BLACK);
    vf_canvas_polygon(other, back, 3, BLACK);
    /* As for lines, less a corner's deficit of under a pixel each. */
    assert_true(fabs(ink_on(canvas) - area) <= 3);
    assert_true(equal_canvases(canvas, other));
    vf_canvas_destroy(canvas);
    vf_canvas_destroy(other);
}

/* ---- text ---- */

static void test_text_stays_within_its_bounds(void **state)
{
    static const char *const texts[] = {
        "The quick (brown) fox, jumps; over [the] lazy {dog}?",
        "0123456789 +-*/=<>|\\\"'`~!@#$%^&_.:", "12.3 Å ± 4 × 10 · 5° −7 µm … ÄÖÜäöüß éèçñ ÿ"};
    for (int font = 0; font < 2; font++) {
        const vf_font_size size = vf_font_get_size((vf_font)font);
        assert_true(size.capital > 0 && size.ascent >= size.capital && size.descent > 0);
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
            const int width = vf_text_width((vf_font)font, texts[i]);
            vf_canvas *canvas = new_canvas(*state, width + 40, 100);
            vf_canvas_text(canvas, 20, 50, (vf_font)font, VF_ALIGN_LEFT, texts[i], BLACK);
            assert_true(ink_on(canvas) > 5 * (double)strlen(texts[i]));
            /* A glyph may reach a pixel beyond its advance; accents on capitals a few above the ascent. */
            assert_true(ink_inside(canvas, 19, 50 - size.ascent - 4, width + 21, 50 + size.descent + 1));
            vf_canvas_destroy(canvas);
        }
    }
}

/* The ink of each size as FreeType renders the font (Pillow, the sum of the glyphs' masks), which the 16 levels of
 * coverage keep: their rounding is even-handed, so that over some 3000 edge pixels it stays far below half a percent.
 */
static void test_glyphs_have_the_fonts_ink(void **state)
{
    const char *text = "Sphinx of black quartz, judge my vow 0123456789";
    const double expected[2] = {3336.66, 6616.56};
    for (int font = 0; font < 2; font++) {
        vf_canvas *canvas = new_canvas(*state, 1100, 80);
        vf_canvas_text(canvas, 20, 50, (vf_font)font, VF_ALIGN_LEFT, text, BLACK);
        assert_true(fabs(ink_on(canvas) - expected[font]) <= 0.005 * expected[font]);
        vf_canvas_destroy(canvas);
    }
}

static void test_alignment(void **state)
{
    const char *text = "Align";
    const int width = vf_text_width(VF_FONT_SMALL, text);
    vf_canvas *left = new_canvas(*state, 200, 60), *center = new_canvas(*state, 200, 60),
              *right = new_canvas(*state, 200, 60);
    vf_canvas_text(left, 30, 40, VF_FONT_SMALL, VF_ALIGN_LEFT, text, BLACK);
    vf_canvas_text(center, 30 + width / 2, 40, VF_FONT_SMALL, VF_ALIGN_CENTER, text, BLACK);
    vf_canvas_text(right, 30 + width, 40, VF_FONT_SMALL, VF_ALIGN_RIGHT, text, BLACK);
    assert_true(ink_on(left) > 0);
    assert_true(equal_canvases(left, center));
    assert_true(equal_canvases(left, right));
    vf_canvas_destroy(left);
    vf_canvas_destroy(center);
    vf_canvas_destroy(right);
}

/* Pixel (x, y) of a text becomes (y, H - 1 - x) of the same text upwards, when turned about the corner. */
static void test_upwards_is_a_quarter_turn(void **state)
{
    enum { SIDE = 200 };
    vf_canvas *flat = new_canvas(*state, SIDE, SIDE), *up = new_canvas(*state, SIDE, SIDE);
    vf_canvas_text(flat, 100, 80, VF_FONT_LARGE, VF_ALIGN_CENTER, "z (Å)", BLACK);
    vf_canvas_text_upwards(up, 80, SIDE - 100, VF_FONT_LARGE, VF_ALIGN_CENTER, "z (Å)", BLACK);
    assert_true(ink_on(flat) > 0);
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++)
            assert_true(same(vf_canvas_pixel(flat, x, y), vf_canvas_pixel(up, y, SIDE - 1 - x)));
    vf_canvas_destroy(flat);
    vf_canvas_destroy(up);
}

static void test_unknown_characters_become_question_marks(void **state)
{
    /* A letter of another script, four-byte UTF-8, a control character, bytes that are no UTF-8, a cut sequence. */
    static const char *const unknown[] = {"a日b", "a\xF0\x9F\x98\x80z", "a\nb", "a\377b", "a\xE6", "\xE1\x81z"};
    static const char *const shown[] = {"a?b", "a?z", "a?b", "a?b", "a?", "??z"};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        vf_canvas *a = new_canvas(*state, 100, 50), *b = new_canvas(*state, 100, 50);
        vf_canvas_text(a, 5, 40, VF_FONT_SMALL, VF_ALIGN_LEFT, unknown[i], BLACK);
        vf_canvas_text(b, 5, 40, VF_FONT_SMALL, VF_ALIGN_LEFT, shown[i], BLACK);
        assert_true(ink_on(a) > 0);
        assert_true(equal_canvases(a, b));
        vf_canvas_destroy(a);
        vf_canvas_destroy(b);
    }
}

static void test_text_off_the_canvas(void **state)
{
    vf_canvas *canvas = new_canvas(*state, 30, 20);
    for (int y = -60; y < 90; y += 7)
        for (int x = -60; x < 90; x += 7) {
            vf_canvas_text(canvas, x, y, VF_FONT_LARGE, VF_ALIGN_LEFT, "Wj", BLACK);
            vf_canvas_text_upwards(canvas, x, y, VF_FONT_LARGE, VF_ALIGN_RIGHT, "Wj", BLACK);
        }
    vf_canvas_destroy(canvas); /* the sanitizers say whether it stayed inside */
}

static void test_shorten(void **state)
{
    (void)state;
    char out[64], tiny[4];
    vf_text_shorten(VF_FONT_SMALL, "short.pqr", 1000, out, sizeof out);
    assert_string_equal(out, "short.pqr");
    const char *name = "a_very_long_name_of_a_file_ÅÅÅÅÅÅÅÅ_in_a_deep_tree.pqr";
    for (int width = -5; width < vf_text_width(VF_FONT_SMALL, name); width += 13) {
        vf_text_shorten(VF_FONT_SMALL, name, width, out, sizeof out);
        assert_non_null(strstr(out, "…"));
        if (width > 200) {
            assert_true(vf_text_width(VF_FONT_SMALL, out) <= width);
            assert_true(strncmp(out, "a_v", 3) == 0);
            assert_string_equal(out + strlen(out) - 4, ".pqr");
        }
        for (const char *c = out; *c; c++) /* no character was cut in two: an A-ring is C3 85 */
            assert_true((*c == '\xC3') == (c[1] == '\x85'));
    }
    vf_text_shorten(VF_FONT_SMALL, name, 1000000, out, 20); /* the buffer is the limit */
    assert_true(strlen(out) < 20);
    assert_non_null(strstr(out, "…"));
    vf_text_shorten(VF_FONT_SMALL, name, 1000, tiny, sizeof tiny);
    assert_string_equal(tiny, "…");
    /* Digits are equally wide, and an ellipsis as wide as one and a half: no more is cut than must be. */
    vf_text_shorten(VF_FONT_SMALL, "1234567890", vf_text_width(VF_FONT_SMALL, "1234567890") - 1, out, sizeof out);
    assert_string_equal(out, "1234…7890");
    vf_text_shorten(VF_FONT_SMALL, "", -1, out, sizeof out);
    assert_string_equal(out, "");
}

/* ---- colour maps ---- */

static void test_diverging_map(void **state)
{
    (void)state;
    vf_colormap map;
    vf_colormap_make(VF_COLORMAP_DIVERGING, &map);
    const vf_color low = vf_colormap_at(&map, 0), high = vf_colormap_at(&map, 1);
    assert_color(vf_colormap_at(&map, 0.5), WHITE);
    assert_true(low.r > low.g + 100 && low.r > low.b + 100);
    assert_true(high.b > high.r + 100 && high.b > high.g + 50);
    assert_color(vf_colormap_at(&map, -1e30), low);
    assert_color(vf_colormap_at(&map, INFINITY), high);
    assert_color(vf_colormap_at(&map, NAN), map.missing);
    for (int i = 0; i < VF_COLORMAP_STEPS; i++)
        assert_false(same(map.step[i], map.missing));
    /* Green follows lightness: it falls on either side, without a jump. */
    const int middle = VF_COLORMAP_STEPS / 2;
    for (int i = 0; i < middle; i++) {
        assert_in_range(map.step[middle + i].g - map.step[middle + i + 1].g, 0, 3);
        assert_in_range(map.step[middle - i].g - map.step[middle - i - 1].g, 0, 3);
    }
}

/* Relative luminance (IEC 61966-2-1). */
static double luminance(vf_color color)
{
    const double channel[3] = {color.r / 255.0, color.g / 255.0, color.b / 255.0};
    const double share[3] = {0.2126, 0.7152, 0.0722};
    double sum = 0;
    for (int i = 0; i < 3; i++)
        sum += share[i] * (channel[i] <= 0.04045 ? channel[i] / 12.92 : pow((channel[i] + 0.055) / 1.055, 2.4));
    return sum;
}

/* Neither sign looks stronger. A channel rounded to 8 bits is off by 1/510, which changes a luminance by up to 2.3
 * times that. */
static void test_both_signs_are_equally_dark(void **state)
{
    (void)state;
    vf_colormap map;
    vf_colormap_make(VF_COLORMAP_DIVERGING, &map);
    for (int i = 0; i < VF_COLORMAP_STEPS; i++)
        assert_true(fabs(luminance(map.step[i]) - luminance(map.step[VF_COLORMAP_STEPS - 1 - i])) <= 2 * 2.3 / 510);
}

static void test_gray_map(void **state)
{
    (void)state;
    vf_colormap map;
    vf_colormap_make(VF_COLORMAP_GRAY, &map);
    assert_color(vf_colormap_at(&map, 0), BLACK);
    assert_color(vf_colormap_at(&map, 1), WHITE);
    /* L* = 50 is sRGB 119: published tables of CIELAB greys (118.9). */
    assert_in_range(vf_colormap_at(&map, 0.5).g, 118, 120);
    assert_false(same(vf_colormap_at(&map, NAN), vf_colormap_at(&map, 0.5)));
}

/* ---- images and contours ---- */

static void test_resampling_at_one_to_one_is_exact(void **state)
{
    (void)state;
    const float values[6] = {1, -2, 3, NAN, 5, INFINITY};
    float out[6];
    for (int filter = 0; filter < 2; filter++) {
        vf_resample(values, 3, 2, (vf_filter)filter, 3, 2, out);
        assert_memory_equal(out, values, sizeof values); /* neither NaN nor infinity spreads */
    }
}

static void test_enlarging(void **state)
{
    (void)state;
    const float values[2] = {0, 10};
    float out[8];
    vf_resample(values, 2, 1, VF_FILTER_NEAREST, 8, 1, out);
    for (int i = 0; i < 8; i++)
        assert_true(out[i] == (i < 4 ? 0.0f : 10.0f));
    /* Pixel i is at (i + 0.5) / 4 - 0.5 cells: 1/8, 3/8, 5/8, 7/8 between the two centres, the value itself beyond. */
    vf_resample(values, 2, 1, VF_FILTER_BILINEAR, 8, 1, out);
    const float expected[8] = {0, 0, 1.25f, 3.75f, 6.25f, 8.75f, 10, 10};
    for (int i = 0; i < 8; i++)
        assert_true(fabsf(out[i] - expected[i]) <= 1e-5f);
}

/* Averages keep a constant and a linear function (away from the edges, where the weight is cut); every value counts. */
static void test_reducing(void **state)
{
    (void)state;
    enum { N = 60, M = 13 };
    float values[N * N], out[M * M];
    for (int j = 0; j < N; j++)
        for (int i = 0; i < N; i++)
            values[j * N + i] = (float)(3 * i - 2 * j);
    vf_resample(values, N, N, VF_FILTER_BILINEAR, M, M, out);
    for (int j = 2; j < M - 2; j++)
        for (int i = 2; i < M - 2; i++) {
            const double x = (i + 0.5) * N / M - 0.5, y = (j + 0.5) * N / M - 0.5;
            /* The triangle is sampled at 2 N/M points; its first moment is off by well under a cell's tenth. */
            assert_true(fabs((double)out[j * M + i] - (3 * x - 2 * y)) <= 0.5);
        }
    memset(values, 0, sizeof values);
    values[31 * N + 17] = 1; /* a single point must be seen by someone */
    vf_resample(values, N, N, VF_FILTER_BILINEAR, M, M, out);
    double sum = 0;
    for (int i = 0; i < M * M; i++)
        sum += (double)out[i];
    /* Weights of one cell over all pixels sum to the ratio of areas. */
    assert_true(fabs(sum - (double)(M * M) / (N * N)) <= 0.1 * (M * M) / (N * N));
}

static void test_nan_spoils_its_neighbours_only(void **state)
{
    (void)state;
    float values[5 * 5] = {0}, out[20 * 20];
    values[12] = NAN;
    vf_resample(values, 5, 5, VF_FILTER_BILINEAR, 20, 20, out);
    for (int j = 0; j < 20; j++)
        for (int i = 0; i < 20; i++) {
            const double x = (i + 0.5) / 4 - 0.5, y = (j + 0.5) / 4 - 0.5;
            assert_int_equal(isnan(out[j * 20 + i]), fabs(x - 2) < 1 && fabs(y - 2) < 1);
        }
}

/* An odd enlargement has pixels at the very centres of cells: these show their own cell only, whatever rounding does
 * (3 cells on 147 pixels: the middle one is found at 1 - 2e-16).
 */
static void test_neighbours_do_not_reach_a_cells_centre(void **state)
{
    (void)state;
    float values[9], out[9 * 59];
    for (int n = 3; n <= 9; n++)
        for (int factor = 3; factor <= 59; factor += 2)
            for (int c = 0; c < n; c++) {
                for (int i = 0; i < n; i++)
                    values[i] = i == c ? 7 : NAN;
                vf_resample(values, n, 1, VF_FILTER_BILINEAR, n * factor, 1, out);
                assert_true(out[c * factor + factor / 2] == 7);
            }
}

static void test_image_has_the_maps_colours(void **state)
{
    vf_canvas *canvas = new_canvas(*state, 10, 10);
    vf_colormap map;
    vf_colormap_make(VF_COLORMAP_DIVERGING, &map);
    const float values[6] = {-2, 0, 2, NAN, 1, 9};
    vf_canvas_image(canvas, 4, 5, 3, 2, values, &map, -2, 2);
    for (int i = 0; i < 6; i++)
        assert_color(vf_canvas_pixel(canvas, 4 + i % 3, 5 + i / 3), vf_colormap_at(&map, ((double)values[i] + 2) / 4));
    assert_true(ink_inside(canvas, 4, 5, 7, 7));
    vf_canvas_image(canvas, -1, -1, 3, 2, values, &map, -2, 2); /* cut off */
    vf_canvas_image(canvas, 8, 9, 3, 2, values, &map, -2, 2);
    assert_color(vf_canvas_pixel(canvas, 0, 0), vf_colormap_at(&map, 0.75));
    vf_canvas_destroy(canvas);
}

static void test_contour_of_a_circle(void **state)
{
    enum { N = 101 };
    const double pi = acos(-1.0), radius = 37.3, line = 2;
    static float values[N * N];
    vf_canvas *canvas = new_canvas(*state, 120, 120);
    for (int j = 0; j < N; j++)
        for (int i = 0; i < N; i++)
            values[j * N + i] = (float)(hypot(i - 50, j - 50) - radius);
    assert_true(vf_canvas_contour(canvas, 10, 10, N, N, values, 0, line, BLACK));
    const double area = 2 * pi * radius * line;
    assert_true(fabs(ink_on(canvas) - area) <= 0.02 * area); /* as for slanted lines */
    for (int degrees = 0; degrees < 360; degrees += 5) {
        const double c = cos(degrees * pi / 180), s = sin(degrees * pi / 180);
        const double at[3] = {radius - 3, radius, radius + 3}; /* 3 > line / 2 + a pixel's diagonal */
        for (int k = 0; k < 3; k++) {
            const vf_color color = vf_canvas_pixel(canvas, (int)(60.5 + at[k] * c), (int)(60.5 + at[k] * s));
            assert_true(k == 1 ? color.r < 200 : same(color, WHITE));
        }
    }
    vf_canvas_destroy(canvas);
}

static void test_contour_at_a_saddle(void **state)
{
    /* One cell, high at two opposite corners. Below its mean, 1/2, the level's lines cut off the two low corners, as
     * the high ones are joined through the middle; above it, the high ones. The corners cut off are nearer to a line,
     * so darker. */
    const float cell[4] = {1, 0, 0, 1};
    for (int joined = 0; joined < 2; joined++) {
        vf_canvas *canvas = new_canvas(*state, 2, 2);
        assert_true(vf_canvas_contour(canvas, 0, 0, 2, 2, cell, joined ? 0.49 : 0.51, 1, BLACK));
        const int high = vf_canvas_pixel(canvas, 0, 0).r, low = vf_canvas_pixel(canvas, 1, 0).r;
        assert_true(joined ? low < high : high < low);
        assert_int_equal(vf_canvas_pixel(canvas, 1, 1).r, high);
        assert_int_equal(vf_canvas_pixel(canvas, 0, 1).r, low);
        vf_canvas_destroy(canvas);
    }
}

static void test_contour_where_there_is_none(void **state)
{
    vf_canvas *canvas = new_canvas(*state, 20, 20);
    float values[9] = {0};
    assert_false(vf_canvas_contour(canvas, 5, 5, 3, 3, values, 0, 2, BLACK)); /* flat at the level itself */
    assert_false(vf_canvas_contour(canvas, 5, 5, 3, 3, values, 1, 2, BLACK));
    values[4] = NAN; /* all four cells touch it */
    values[0] = 5;
    assert_false(vf_canvas_contour(canvas, 5, 5, 3, 3, values, 1, 2, BLACK));
    assert_false(vf_canvas_contour(canvas, 5, 5, 1, 1, values, 1, 2, BLACK));
    assert_true(ink_on(canvas) == 0);
    values[0] = 0;
    values[4] = INFINITY; /* the line is drawn around the finite values' side of it */
    assert_true(vf_canvas_contour(canvas, 5, 5, 3, 3, values, 1, 1, BLACK));
    assert_true(ink_on(canvas) > 1);
    assert_true(ink_inside(canvas, 5, 5, 8, 8));
    vf_canvas_destroy(canvas);
}

/* ---- ticks and figures ---- */

static void assert_ticks(double lo, double hi, double step, const char *first, const char *last, int count)
{
    char text[VF_LABEL_TEXT];
    const vf_ticks ticks = vf_ticks_make(lo, hi, step);
    assert_int_equal(ticks.last - ticks.first + 1, count);
    if (count > 0) {
        assert_string_equal(vf_tick_text(&ticks, ticks.first, text), first);
        assert_string_equal(vf_tick_text(&ticks, ticks.last, text), last);
        assert_true(vf_tick_value(&ticks, ticks.first) >= lo - 1e-6 * vf_tick_step(&ticks));
        assert_true(vf_tick_value(&ticks, ticks.last) <= hi + 1e-6 * vf_tick_step(&ticks));
        assert_true(vf_tick_step(&ticks) >= step * (1 - 1e-8));
    }
}

static void test_ticks(void **state)
{
    (void)state;
    assert_ticks(-23.4, 31.9, 7, "−20", "30", 6);
    assert_ticks(0, 1, 0.2, "0", "1.0", 6);
    assert_ticks(-0.3, 0.3, 0.1, "−0.3", "0.3", 7); /* the ends are ticks in spite of rounding */
    assert_ticks(0.011, 0.049, 0.011, "0.02", "0.04", 2);
    assert_ticks(-4e7, 4e7, 1e7, "−4e7", "4e7", 9);
    assert_ticks(0, 1e-6, 2e-7, "0", "1e-6", 6);
    assert_ticks(0, 250000, 50000, "0", "250000", 6);
    assert_ticks(3.1, 3.9, 1, NULL, NULL, 0);
    assert_ticks(1e18, 1e18 + 4096, 1, NULL, NULL, 0); /* a double cannot tell these ticks apart */
    assert_ticks(NAN, 1, 1, NULL, NULL, 0);
    assert_ticks(0, 1, NAN, NULL, NULL, 0);
    assert_ticks(0, 1, 0, NULL, NULL, 0);
    assert_ticks(0, 1, -1, NULL, NULL, 0);
    assert_ticks(1, 0, 1, NULL, NULL, 0);
    assert_ticks(0, INFINITY, 1, NULL, NULL, 0);
    const vf_ticks tenths = vf_ticks_make(0, 1, 0.1);
    assert_true(vf_tick_value(&tenths, 3) == 0.3);
}

static void test_numbers(void **state)
{
    (void)state;
    char text[VF_LABEL_TEXT];
    assert_string_equal(vf_label_text(12.3, 3, VF_LABEL_TRIM, text), "12.3");
    assert_string_equal(vf_label_text(12.3, 3, 0, text), "12.300");
    assert_string_equal(vf_label_text(-0.0625, 4, 0, text), "−0.0625");
    assert_string_equal(vf_label_text(-0.0001, 3, VF_LABEL_TRIM, text), "0");
    assert_string_equal(vf_label_text(0.001, 9, 0, text), "0.001000000");
    assert_string_equal(vf_label_text(4, 3, VF_LABEL_TRIM | VF_LABEL_SIGN, text), "+4");
    assert_string_equal(vf_label_text(0, 3, VF_LABEL_TRIM | VF_LABEL_SIGN, text), "0");
    assert_string_equal(vf_label_text(100, 0, VF_LABEL_TRIM, text), "100");
    assert_string_equal(vf_label_text(-123456789.5, 1, 0, text), "−123456789.5");
    assert_string_equal(vf_label_text(3e300, 2, 0, text), "3e+300");
    assert_string_equal(vf_label_text(INFINITY, 2, 0, text), "inf");
    assert_non_null(strstr(vf_label_text(NAN, 2, 0, text), "nan"));
}

static vf_axis axis_of(double lo, double hi, double step)
{
    return (vf_axis){.lo = lo, .hi = hi, .ticks = vf_ticks_make(lo, hi, step), .decimals = 2, .label = "x (Å)"};
}

static void test_axes_stay_in_the_space_they_ask_for(void **state)
{
    enum { X = 300, Y = 100, W = 300, H = 200 };
    const vf_axis axes[] = {axis_of(-31, 27.5, 10), axis_of(1234.5, 1234.7, 0.01), axis_of(0.1, 0.9, 1)};
    for (size_t i = 0; i < sizeof axes / sizeof *axes; i++) {
        vf_canvas *canvas = new_canvas(*state, 700, 500);
        vf_canvas_axes(canvas, X, Y, W, H, &axes[i], &axes[i]);
        assert_color(vf_canvas_pixel(canvas, X, Y), WHITE); /* the image's corners are free */
        assert_color(vf_canvas_pixel(canvas, X + W - 1, Y + H - 1), WHITE);
        assert_false(same(vf_canvas_pixel(canvas, X - 1, Y - 1), WHITE));
        assert_false(same(vf_canvas_pixel(canvas, X + W, Y + H), WHITE));
        /* Numbers at the ends may stand out by half their width, or height. */
        assert_true(ink_inside(canvas, X - vf_axes_left(&axes[i]), Y - 20, X + W + 60, Y + H + vf_axes_below()));
        vf_canvas_destroy(canvas);
    }
}

/* Numbers too wide for their ticks' distance are thinned out: there are gaps between those that are left. */
static void test_numbers_do_not_touch(void **state)
{
    const vf_axis across = axis_of(0, 0.01, 0.001), up = axis_of(0, 1, 1);
    vf_canvas *canvas = new_canvas(*state, 700, 300);
    vf_canvas_axes(canvas, 200, 50, 400, 100, &across, &up); /* ticks 40 pixels apart, numbers of 5 digits */
    int blank = 0, gaps = 0;
    for (int x = 150; x < 650; x++) {
        bool ink = false;
        for (int y = 50 + 100 + 14; y < 50 + 100 + 45; y++)
            ink |= !same(vf_canvas_pixel(canvas, x, y), WHITE);
        gaps += ink && blank >= 15;
        blank = ink ? 0 : blank + 1;
    }
    assert_in_range(gaps, 3, 6); /* including that before the first */
    vf_canvas_destroy(canvas);
}

static void test_paragraph(void **state)
{
    const char *parts[] = {"one part of it", "another part", "a part that is too long to fit even a line of its own",
                           "end"};
    /* The first two fit one line together, the third needs one of its own and is shortened to it, so the last gets
     * another. */
    const int width = vf_text_width(VF_FONT_SMALL, "one part of it  ·  another part") + 10;
    vf_canvas *canvas = new_canvas(*state, width + 40, 300);
    const int measured = vf_canvas_paragraph(NULL, 0, 0, width, parts, 4, BLACK);
    assert_int_equal(vf_canvas_paragraph(canvas, 20, 30, width, parts, 4, BLACK), measured);
    assert_true(ink_inside(canvas, 20, 30, 20 + width, 30 + measured));
    assert_true(measured >= 3 * vf_line_height());
    assert_int_equal(vf_canvas_paragraph(NULL, 0, 0, 5000, parts, 4, BLACK), measured / 3);
    vf_canvas_destroy(canvas);
}

static void test_colorbar_and_scale_bar(void **state)
{
    vf_colormap map;
    vf_colormap_make(VF_COLORMAP_DIVERGING, &map);
    for (int pointed = 0; pointed < 2; pointed++) {
        const vf_colorbar bar = {&map, -2, 2, vf_ticks_make(-2, 2, 1), pointed, pointed, "quantity (unit)"};
        vf_canvas *canvas = new_canvas(*state, 600, 200);
        vf_canvas_colorbar(canvas, 100, 100, 400, &bar);
        assert_color(vf_canvas_pixel(canvas, 100, 115), vf_colormap_at(&map, 0.5 / 400));
        assert_color(vf_canvas_pixel(canvas, 499, 115), vf_colormap_at(&map, 399.5 / 400));
        assert_color(vf_canvas_pixel(canvas, 99 - VF_COLORBAR_POINT / 3, 115),
                     pointed ? vf_colormap_at(&map, 0) : WHITE);
        assert_color(vf_canvas_pixel(canvas, 500 + VF_COLORBAR_POINT / 3, 115),
                     pointed ? vf_colormap_at(&map, 1) : WHITE);
        vf_canvas_destroy(canvas);
    }
    vf_canvas *canvas = new_canvas(*state, 300, 100);
    vf_canvas_scale_bar(canvas, 20, 30, 7.3, 240, "Å"); /* 240 / 7.3 = 32.9: 20 Å, 146 pixels */
    int length = 0;
    for (int x = 0; x < 300; x++)
        length += !same(vf_canvas_pixel(canvas, x, 33), WHITE);
    assert_int_equal(length, 146);
    vf_canvas_destroy(canvas);
}

/* ---- PNG files ---- */

static void test_png_round_trip(void **state)
{
    fixture *f = *state;
    const vf_png_text texts[] = {{"Title", "electrostatic potential, Å"}, {"Comment", ""}};
    vf_canvas *canvas = new_canvas(f, 37, 23);
    png_picture picture;
    for (int y = 0; y < 23; y++)
        for (int x = 0; x < 37; x++)
            vf_canvas_fill(canvas, x, y, 1, 1, (vf_color){(uint8_t)(x * 7), (uint8_t)(y * 11), (uint8_t)(x * y), 255});
    assert_int_equal(vf_canvas_write_png(f->ctx, canvas, f->path, texts, 2), VF_OK);
    assert_true(png_picture_read(f->path, &picture));
    assert_int_equal(picture.width, 37);
    assert_int_equal(picture.height, 23);
    assert_int_equal(picture.pixels_per_meter, 11811);
    for (int y = 0; y < 23; y++)
        for (int x = 0; x < 37; x++)
            assert_color(png_picture_at(&picture, x, y), vf_canvas_pixel(canvas, x, y));
    assert_string_equal(png_picture_text(&picture, "Title"), "electrostatic potential, Å");
    png_textp stored = NULL;
    assert_true(png_get_text(picture.png, picture.info, &stored, NULL) >= 1);
    assert_int_equal(stored[0].compression, PNG_ITXT_COMPRESSION_NONE); /* the kind that is UTF-8 */
    png_picture_free(&picture);
    vf_canvas_destroy(canvas);
}

static int files_in(const char *directory)
{
    DIR *dir = opendir(directory);
    int files = 0;
    for (struct dirent *entry; (entry = readdir(dir));)
        files += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(dir);
    return files;
}

/* A canvas that does not compress to less than the stream's buffer: the error comes while libpng writes. */
static vf_canvas *noise(fixture *f)
{
    vf_canvas *canvas = new_canvas(f, 1200, 800);
    uint32_t random = 1;
    for (int y = 0; y < 800; y++)
        for (int x = 0; x < 1200; x++) {
            random = random * 1664525u + 1013904223u;
            vf_canvas_fill(canvas, x, y, 1, 1,
                           (vf_color){(uint8_t)(random >> 24), (uint8_t)(random >> 16), (uint8_t)(random >> 8), 255});
        }
    return canvas;
}

static void test_full_disk_leaves_nothing(void **state)
{
    fixture *f = *state;
    vf_canvas *large = noise(f), *small = new_canvas(f, 300, 300);
    struct rlimit before, limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_IGN);
    limit = (struct rlimit){100, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    const vf_status while_writing = vf_canvas_write_png(f->ctx, large, f->path, NULL, 0);
    char message[256];
    (void)snprintf(message, sizeof message, "%s", vf_context_message(f->ctx));
    vf_context_clear_error(f->ctx);
    const vf_status at_the_end = vf_canvas_write_png(f->ctx, small, f->path, NULL, 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_DFL);
    assert_int_equal(while_writing, VF_ERR_OUTPUT);
    assert_int_equal(at_the_end, VF_ERR_OUTPUT);
    assert_non_null(strstr(message, f->path));
    assert_non_null(strstr(message, "File too large"));
    assert_null(strstr(message, "libpng")); /* the cause, not its consequence */
    assert_non_null(strstr(vf_context_message(f->ctx), "File too large"));
    assert_int_equal(files_in(f->directory), 0);
    vf_canvas_destroy(large);
    vf_canvas_destroy(small);
}

static void test_failure_keeps_the_old_file(void **state)
{
    fixture *f = *state;
    const vf_png_text nameless = {"", "text"}; /* no keyword: libpng refuses by longjmp */
    vf_canvas *canvas = new_canvas(f, 10, 10);
    FILE *old = fopen(f->path, "w");
    assert_non_null(old);
    fputs("old", old);
    fclose(old);
    assert_int_equal(vf_canvas_write_png(f->ctx, canvas, f->path, &nameless, 1), VF_ERR_OUTPUT);
    assert_non_null(strstr(vf_context_message(f->ctx), "libpng"));
    assert_int_equal(files_in(f->directory), 1);
    char text[8] = "";
    old = fopen(f->path, "r");
    assert_non_null(fgets(text, sizeof text, old));
    fclose(old);
    assert_string_equal(text, "old");
    vf_canvas_destroy(canvas);
}

static void test_no_such_directory(void **state)
{
    fixture *f = *state;
    char path[128];
    vf_canvas *canvas = new_canvas(f, 10, 10);
    (void)snprintf(path, sizeof path, "%s/none/out.png", f->directory);
    assert_int_equal(vf_canvas_write_png(f->ctx, canvas, path, NULL, 0), VF_ERR_OUTPUT);
    assert_non_null(strstr(vf_context_message(f->ctx), path));
    vf_canvas_destroy(canvas);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_create_refuses_impossible_sizes),
        TEST(test_fill_is_cut_at_the_edges),
        TEST(test_opacity),
        TEST(test_frame_surrounds_its_inside),
        TEST(test_axis_parallel_line_is_sharp),
        TEST(test_slanted_line_has_its_area),
        TEST(test_polyline_is_not_darker_where_it_meets_itself),
        TEST(test_thin_line_is_pale),
        TEST(test_a_stroke_leaves_no_trace_in_the_next),
        TEST(test_lines_from_and_to_nowhere),
        TEST(test_polygon_has_its_area),
        TEST(test_text_stays_within_its_bounds),
        TEST(test_glyphs_have_the_fonts_ink),
        TEST(test_alignment),
        TEST(test_upwards_is_a_quarter_turn),
        TEST(test_unknown_characters_become_question_marks),
        TEST(test_text_off_the_canvas),
        TEST(test_shorten),
        TEST(test_diverging_map),
        TEST(test_both_signs_are_equally_dark),
        TEST(test_gray_map),
        TEST(test_resampling_at_one_to_one_is_exact),
        TEST(test_enlarging),
        TEST(test_reducing),
        TEST(test_nan_spoils_its_neighbours_only),
        TEST(test_neighbours_do_not_reach_a_cells_centre),
        TEST(test_image_has_the_maps_colours),
        TEST(test_contour_of_a_circle),
        TEST(test_contour_at_a_saddle),
        TEST(test_contour_where_there_is_none),
        TEST(test_ticks),
        TEST(test_numbers),
        TEST(test_axes_stay_in_the_space_they_ask_for),
        TEST(test_numbers_do_not_touch),
        TEST(test_paragraph),
        TEST(test_colorbar_and_scale_bar),
        TEST(test_png_round_trip),
        TEST(test_full_disk_leaves_nothing),
        TEST(test_failure_keeps_the_old_file),
        TEST(test_no_such_directory),
    };
    return cmocka_run_group_tests_name("canvas", tests, NULL, NULL);
}
