/* The canvas: shapes, text, PNG files. */
#include <dirent.h>
#include <math.h>
#include <signal.h>
#include <sys/resource.h>

#include "canvas_fixture.h"
#include "random_fixture.h"
#include "read_png.h"

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

/* A line's ink is its area: length x width, plus a disc for the two round ends. The ramp of one pixel across each
 * edge keeps the area of the sharp edge. Sampling by pixels is accurate to well within 2 % for 60 pixels of length. */
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
    /* As for lines, less a deficit of under a pixel per corner. */
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
            /* A glyph may reach a pixel beyond its advance, and accents on capitals a few above the ascent. */
            assert_true(ink_inside(canvas, 19, 50 - size.ascent - 4, width + 21, 50 + size.descent + 1));
            vf_canvas_destroy(canvas);
        }
    }
}

/* The ink of each size as FreeType renders the font (Pillow, the sum of the glyphs' masks). The 16 levels of
 * coverage keep it: their rounding is unbiased, so over about 3000 edge pixels the difference stays far below half a
 * percent.
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

/* If turned about the corner, pixel (x, y) of a text becomes (y, H - 1 - x) of the same text upwards. */
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
    /* A letter of another script, four-byte UTF-8, a control character, invalid UTF-8, a truncated sequence. */
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
    vf_canvas_destroy(canvas); /* sanitizers detect writes outside */
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
        for (const char *c = out; *c; c++) /* no character is truncated: an A-ring is C3 85 */
            assert_true((*c == '\xC3') == (c[1] == '\x85'));
    }
    vf_text_shorten(VF_FONT_SMALL, name, 1000000, out, 20); /* the buffer is the limit */
    assert_true(strlen(out) < 20);
    assert_non_null(strstr(out, "…"));
    vf_text_shorten(VF_FONT_SMALL, name, 1000, tiny, sizeof tiny);
    assert_string_equal(tiny, "…");
    /* Digits have equal widths, and an ellipsis is as wide as one and a half, so no more is cut than necessary. */
    vf_text_shorten(VF_FONT_SMALL, "1234567890", vf_text_width(VF_FONT_SMALL, "1234567890") - 1, out, sizeof out);
    assert_string_equal(out, "1234…7890");
    vf_text_shorten(VF_FONT_SMALL, "", -1, out, sizeof out);
    assert_string_equal(out, "");
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
    assert_int_equal(stored[0].compression, PNG_ITXT_COMPRESSION_NONE); /* the chunk type for UTF-8 */
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

/* A canvas that does not compress to less than the stream's buffer: the error occurs while libpng writes. */
static vf_canvas *noise(fixture *f)
{
    vf_canvas *canvas = new_canvas(f, 1200, 800);
    for (int y = 0; y < 800; y++)
        for (int x = 0; x < 1200; x++) {
            const uint64_t random = random_bits();
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
    const vf_png_text nameless = {"", "text"}; /* no keyword: libpng rejects it by longjmp */
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

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(test_create_refuses_impossible_sizes),
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
                                       TEST(test_png_round_trip),
                                       TEST(test_full_disk_leaves_nothing),
                                       TEST(test_failure_keeps_the_old_file),
                                       TEST(test_no_such_directory)};
    return cmocka_run_group_tests_name("canvas", tests, NULL, NULL);
}
