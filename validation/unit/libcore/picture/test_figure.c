/* The elements of a picture: colour maps, images, contours, ticks, figures. */
#include <math.h>

#include "canvas_fixture.h"
#include "voxfield/figure.h"

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
    /* Green follows lightness: it decreases on both sides, without a jump. */
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

/* Both signs look equally strong. A channel rounded to 8 bits is off by 1/510, which changes a luminance by up to
 * 2.3 times that. */
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
        assert_memory_equal(out, values, sizeof values); /* NaN and infinity do not spread */
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
    /* Pixel i is at (i + 0.5) / 4 - 0.5 cells: 1/8, 3/8, 5/8, 7/8 between the two centres; outside, the value
     * itself. */
    vf_resample(values, 2, 1, VF_FILTER_BILINEAR, 8, 1, out);
    const float expected[8] = {0, 0, 1.25f, 3.75f, 6.25f, 8.75f, 10, 10};
    for (int i = 0; i < 8; i++)
        assert_true(fabsf(out[i] - expected[i]) <= 1e-5f);
}

/* Averages preserve a constant and a linear function (away from the edges, where the weight is truncated); every
 * value counts. */
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
            /* The triangle is sampled at 2 N/M points; the error of its first moment is well under a tenth of a
             * cell. */
            assert_true(fabs((double)out[j * M + i] - (3 * x - 2 * y)) <= 0.5);
        }
    memset(values, 0, sizeof values);
    values[31 * N + 17] = 1; /* every single point must be visible */
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

/* An odd enlargement has pixels exactly at the centres of cells. These show only their own cell, despite rounding (3
 * cells on 147 pixels: the middle one is found at 1 - 2e-16).
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
    /* One cell, high at two opposite corners. Below its mean, 1/2, the level's lines cut off the two low corners,
     * and the high ones are connected through the middle; above the mean, the lines cut off the high ones. The cut
     * corners are nearer to a line, so darker. */
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
    values[4] = INFINITY; /* the line runs on the finite values' side */
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
    assert_ticks(-0.3, 0.3, 0.1, "−0.3", "0.3", 7); /* the ends are ticks despite rounding */
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
        assert_color(vf_canvas_pixel(canvas, X, Y), WHITE); /* the image's corners are visible */
        assert_color(vf_canvas_pixel(canvas, X + W - 1, Y + H - 1), WHITE);
        assert_false(same(vf_canvas_pixel(canvas, X - 1, Y - 1), WHITE));
        assert_false(same(vf_canvas_pixel(canvas, X + W, Y + H), WHITE));
        /* Numbers at the ends may extend by half their width, or height. */
        assert_true(ink_inside(canvas, X - vf_axes_left(&axes[i]), Y - 20, X + W + 60, Y + H + vf_axes_below()));
        vf_canvas_destroy(canvas);
    }
}

/* Numbers too wide for the distance of their ticks are thinned out, with gaps between the remaining ones. */
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
    assert_in_range(gaps, 3, 6); /* including the gap before the first */
    vf_canvas_destroy(canvas);
}

static void test_paragraph(void **state)
{
    const char *parts[] = {"one part of it", "another part", "a part that is too long to fit even a line of its own",
                           "end"};
    /* The first two fit on one line. The third needs its own line and is shortened to it, so the last gets another
     * line. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(test_diverging_map),
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
                                       TEST(test_colorbar_and_scale_bar)};
    return cmocka_run_group_tests_name("figure", tests, NULL, NULL);
}
