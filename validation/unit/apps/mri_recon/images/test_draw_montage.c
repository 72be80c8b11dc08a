/* The picture of an image. The test reads it back, finds its panels by their grey frames on white paper, and checks
 * on which side of them the parts of the patient are. */
#include "image_test.h"

#include <signal.h>
#include <sys/resource.h>

#include "libcore/picture/read_png.h"

/* The brightness of a pixel. */
static int brightness(const png_picture *p, int x, int y)
{
    const vf_color c = png_picture_at(p, x, y);
    return c.a ? c.g : 255;
}

typedef struct rectangle {
    int x, y, width, height;
} rectangle;

/* The panels in reading order, inside frames of 2 pixels, and at least `least` wide and high; at most `most` panels.
 * No letter has edges that long. */
static int find_panels(const png_picture *p, int least, rectangle *out, int most)
{
    enum { GREY = 150, LINE = 2 };
    int found = 0;
    for (int y = 0; y < p->height; y++)
        for (int x = 0; x < p->width; x++) {
            if (brightness(p, x, y) != GREY || brightness(p, x - 1, y) != 255 || brightness(p, x, y - 1) != 255)
                continue;
            rectangle r = {x + LINE, y + LINE, -2 * LINE, -2 * LINE};
            while (brightness(p, x + r.width + 2 * LINE, y) == GREY)
                r.width++;
            while (brightness(p, x, y + r.height + 2 * LINE) == GREY)
                r.height++;
            if (r.width < least || r.height < least)
                continue;
            if (found < most)
                out[found] = r;
            found++;
        }
    return found;
}

static void draw(const recon_image *image, png_picture *picture)
{
    char path[PATH_SIZE];
    need(draw_montage(ctx, image, path_of("image.png", path)));
    assert_true(png_picture_read(path, picture));
    unlink(path);
    assert_int_equal(files_left(), 0);
}

/* ---- orientation ---- */

static bool is_bright(const png_picture *p, const rectangle *r, double across, double down)
{
    return brightness(p, r->x + (int)(across * r->width), r->y + (int)(down * r->height)) > 128;
}

/* All 48 ways in which an image's axes can lie along the patient's. One corner of the body is bright: in the
 * radiological view it must be at the top right. The edges of the volume stay dark. */
static void every_orientation(void **state)
{
    (void)state;
    enum { N = 24 };
    static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    /* by the patient's axis across the slices: the signs (LPS) of the corner at the top right; 0: any */
    static const double corner[3][3] = {{0, 1, 1}, {1, 0, 1}, {1, -1, 0}};
    for (int o = 0; o < 6; o++)
        for (int signs = 0; signs < 8; signs++) {
            recon_image image = plain_image(1, N, N, 1);
            image.geometry = (scan_geometry){.known = true};
            for (int a = 0; a < 3; a++)
                for (int row = 0; row < 3; row++)
                    image.geometry.direction[a][row] = row != orders[o][a] ? 0 : signs >> a & 1 ? -1 : 1;
            const double *sides = corner[orders[o][2]];
            for (int i = 0; i < N * N; i++) {
                const int at[2] = {i % N, i / N};
                double place[3] = {0};
                for (int a = 0; a < 2; a++)
                    for (int row = 0; row < 3; row++)
                        place[row] += (at[a] - (N - 1) / 2.0) * image.geometry.direction[a][row];
                bool bright = true;
                for (int row = 0; row < 3; row++)
                    bright =
                        bright && (sides[row] == 0 || (place[row] * sides[row] > 1 && fabs(place[row]) < N / 2.0 - 2));
                image.data[i] = bright ? 1 : 0;
            }
            png_picture picture;
            rectangle panel;
            draw(&image, &picture);
            assert_int_equal(find_panels(&picture, 100, &panel, 1), 1);
            if (!is_bright(&picture, &panel, 0.7, 0.3) || is_bright(&picture, &panel, 0.3, 0.3) ||
                is_bright(&picture, &panel, 0.3, 0.7) || is_bright(&picture, &panel, 0.7, 0.7))
                fail_msg("axes %d %d %d, signs %d: the bright corner is not at the top right", orders[o][0],
                         orders[o][1], orders[o][2], signs);
            png_picture_free(&picture);
            recon_image_free(&image);
        }
}

/* Without a known orientation, the picture follows memory: x to the right, y down. */
static void unknown_orientation(void **state)
{
    (void)state;
    recon_image image = plain_image(1, 24, 24, 1);
    png_picture picture;
    rectangle panel;
    for (int i = 0; i < 24 * 24; i++)
        image.data[i] = i % 24 > 13 && i % 24 < 22 && i / 24 > 2 && i / 24 < 11 ? complex_of(0, -3) : 0;
    draw(&image, &picture);
    assert_int_equal(find_panels(&picture, 100, &panel, 1), 1);
    assert_true(is_bright(&picture, &panel, 0.75, 0.3));
    assert_false(is_bright(&picture, &panel, 0.3, 0.3) || is_bright(&picture, &panel, 0.75, 0.75));
    png_picture_free(&picture);
    recon_image_free(&image);
}

/* ---- which panels ---- */

/* A volume with a bright square in slices `first` to `last`, brighter from slice to slice. */
static recon_image squares(int frames, int64_t nz, int64_t first, int64_t last)
{
    recon_image image = plain_image(frames, 20, 20, nz);
    for (int64_t i = 0; i < frames * nz * 400; i++) {
        const int64_t slice = i / 400, x = i % 20, y = i / 20 % 20;
        const bool bright = slice >= first && slice <= last && x > 5 && x < 14 && y > 5 && y < 14;
        image.data[i] = bright ? (float)(1 + 0.1 * (double)slice / (double)(frames * nz)) : 0;
    }
    return image;
}

/* The number of panels; checks that each has its square. */
static int count_panels(const recon_image *image)
{
    png_picture picture;
    rectangle panels[32];
    draw(image, &picture);
    const int count = find_panels(&picture, 60, panels, 32);
    for (int p = 0; p < count && p < 32; p++) {
        assert_true(is_bright(&picture, &panels[p], 0.5, 0.5));
        assert_false(is_bright(&picture, &panels[p], 0.1, 0.1));
        assert_int_equal(panels[p].width, panels[0].width);
        assert_int_equal(panels[p].height, panels[0].height);
        assert_true(panels[p].x + panels[p].width < picture.width);
    }
    png_picture_free(&picture);
    return count;
}

static void slices_and_frames(void **state)
{
    (void)state;
    static const struct {
        int frames;
        int64_t nz, first, last;
        int expected;
    } cases[] = {
        {1, 1, 0, 0, 1}, {1, 12, 0, 11, 12}, {1, 40, 3, 9, 7}, {1, 100, 10, 89, 20}, {1, 100, 40, 45, 6},
        {5, 1, 0, 4, 5}, {50, 1, 0, 49, 20}, {3, 28, 2, 4, 3}, {1, 30, 7, 7, 1},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        recon_image image = squares(cases[c].frames, cases[c].nz, cases[c].first, cases[c].last);
        const int found = count_panels(&image);
        if (found != cases[c].expected)
            fail_msg("case %zu: %d panels, not %d", c, found, cases[c].expected);
        recon_image_free(&image);
    }
}

/* If all slices fit, all are shown, bright or not; white to their edges, they end at their frames. */
static void all_that_fit(void **state)
{
    (void)state;
    rectangle panels[32];
    png_picture picture;
    recon_image image = squares(1, 20, 3, 9), tiny = plain_image(1, 1, 1, 5);
    draw(&image, &picture);
    assert_int_equal(find_panels(&picture, 60, panels, 32), 20);
    for (int p = 0; p < 20; p++)
        assert_true(is_bright(&picture, &panels[p], 0.5, 0.5) == (p >= 3 && p <= 9));
    png_picture_free(&picture);
    for (int i = 0; i < 5; i++)
        tiny.data[i] = i < 4 ? 10 : 1;
    draw(&tiny, &picture);
    assert_int_equal(find_panels(&picture, 60, panels, 32), 5);
    for (int y = 0; y < panels[0].height; y++)
        for (int x = 0; x < panels[0].width; x++)
            assert_int_equal(brightness(&picture, panels[0].x + x, panels[0].y + y), 255);
    assert_false(is_bright(&picture, &panels[4], 0.5, 0.5));
    png_picture_free(&picture);
    recon_image_free(&image);
    recon_image_free(&tiny);
}

/* One nonzero voxel among rounding errors: its slice is shown, and the rest is black. */
static void one_voxel(void **state)
{
    (void)state;
    rectangle panel;
    png_picture picture;
    recon_image image = plain_image(1, 24, 24, 200);
    for (int64_t i = 0; i < image_volume(&image); i++)
        image.data[i] *= 1e-7f;
    image.data[(77 * 24 + 12) * 24 + 12] = 1;
    draw(&image, &picture);
    assert_int_equal(find_panels(&picture, 60, &panel, 1), 1);
    assert_true(is_bright(&picture, &panel, 12.5 / 24, 12.5 / 24));
    for (int i = 0; i < 24; i++)
        assert_true(i == 12 || brightness(&picture, panel.x + (int)((i + 0.5) / 24 * panel.width),
                                          panel.y + panel.height * 25 / 48) < 10);
    png_picture_free(&picture);
    recon_image_free(&image);
}

/* The number of differing pixels in the rows [first, last). */
static int differing(const png_picture *a, const png_picture *b, int first, int last)
{
    int count = 0;
    for (int y = first; y < last; y++)
        for (int x = 0; x < a->width; x++)
            count += brightness(a, x, y) != brightness(b, x, y);
    return count;
}

/* Slabs at different places: the slices, or frames, of the first one, and the text above them says so. */
static void first_slab(void **state)
{
    (void)state;
    const scan_geometry places[2] = {{.direction = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}},
                                     {.direction = {{0, 1, 0}, {0, 0, 1}, {1, 0, 0}}}};
    rectangle panels[32];
    png_picture picture, other;
    recon_image image = squares(2, 6, 1, 4), frames = squares(6, 1, 0, 5);
    image.places = frames.places = 2;
    image.place_geometry = frames.place_geometry = places;
    draw(&image, &picture);
    assert_int_equal(find_panels(&picture, 60, panels, 32), 6);
    image.place_geometry = NULL;
    for (image.frames = 1; image.frames <= 2; image.frames++) { /* no text about volumes or frames */
        draw(&image, &other);
        assert_true(picture.width == other.width && picture.height == other.height);
        assert_true(differing(&picture, &other, 0, panels[0].y) > 100);
        assert_int_equal(differing(&picture, &other, panels[0].y, picture.height), 0);
        png_picture_free(&other);
    }
    png_picture_free(&picture);
    for (int i = 0; i < 6 * 400; i++) /* the other slab is bright all over */
        frames.data[i] = i / 400 % 2 ? 1 : frames.data[i];
    assert_int_equal(count_panels(&frames), 3);
    recon_image_free(&image);
    recon_image_free(&frames);
}

/* Lengths in the picture are as in the patient: voxels of 1 x 3 mm. */
static void aspect(void **state)
{
    (void)state;
    png_picture picture;
    rectangle panel;
    recon_image image = squares(1, 1, 0, 0);
    image.voxel[1] = 3;
    draw(&image, &picture);
    assert_int_equal(find_panels(&picture, 60, &panel, 1), 1);
    assert_true(fabs((double)panel.height / panel.width - 3) < 0.02);
    png_picture_free(&picture);
    recon_image_free(&image);
}

/* White is the window's upper end, at any scale of the numbers. Half of that value has half of the lightness. */
static void scale_of_the_numbers(void **state)
{
    (void)state;
    static const float scales[] = {1e-30f, 1e-7f, 1, 3e4f, 1e30f};
    for (size_t s = 0; s < sizeof scales / sizeof *scales; s++) {
        png_picture picture;
        rectangle panel;
        recon_image image = squares(1, 1, 0, 0);
        for (int i = 0; i < 400; i++)
            image.data[i] *= scales[s] * (i % 20 > 9 ? 1 : 0.5f);
        draw(&image, &picture);
        assert_int_equal(find_panels(&picture, 60, &panel, 1), 1);
        const int y = panel.y + panel.height / 2;
        assert_true(brightness(&picture, panel.x + panel.width * 6 / 10, y) > 250);
        const int half = brightness(&picture, panel.x + panel.width * 4 / 10, y); /* L* 50 is 119 */
        assert_true(half > 115 && half < 123);
        png_picture_free(&picture);
        recon_image_free(&image);
    }
}

/* Odd shapes, an all-zero image, long texts and missing texts give a picture of moderate size. */
static void odd_images(void **state)
{
    (void)state;
    static const int64_t counts[][3] = {{1, 1, 1}, {2000, 1, 1}, {1, 2000, 1}, {1, 1, 300}, {3, 2, 25}};
    char text[2001] = "";
    memset(text, 'x', 2000);
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
        for (int kind = 0; kind < 3; kind++) {
            png_picture picture;
            recon_image image = plain_image(2, counts[c][0], counts[c][1], counts[c][2]);
            image.method = kind == 1 ? text : NULL;
            image.input = image.program = image.created = kind == 1 ? text : NULL;
            image.geometry.known = kind == 2;
            if (kind == 0)
                memset(image.data, 0, (size_t)(2 * image_volume(&image)) * sizeof *image.data);
            draw(&image, &picture);
            assert_true(picture.width <= 2400 && picture.height <= 2400);
            png_picture_free(&picture);
            recon_image_free(&image);
        }
}

static void no_room(void **state)
{
    (void)state;
    char path[PATH_SIZE];
    struct rlimit before;
    recon_image image = squares(1, 12, 0, 11);
    getrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit small = {.rlim_cur = 2000, .rlim_max = before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
    vf_status status = draw_montage(ctx, &image, path_of("image.png", path));
    setrlimit(RLIMIT_FSIZE, &before);
    expect_file_error(status, VF_ERR_OUTPUT, path, "File too large");
    assert_int_equal(files_left(), 0);
    recon_image_free(&image);
}

TEST_MAIN(set_up, close_folder, cmocka_unit_test(every_orientation), cmocka_unit_test(unknown_orientation),
          cmocka_unit_test(slices_and_frames), cmocka_unit_test(all_that_fit), cmocka_unit_test(one_voxel),
          cmocka_unit_test(first_slab), cmocka_unit_test(aspect), cmocka_unit_test(scale_of_the_numbers),
          cmocka_unit_test(odd_images), cmocka_unit_test(no_room))
