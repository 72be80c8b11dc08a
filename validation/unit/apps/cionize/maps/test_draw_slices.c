/* The picture of a map. The test reads it back, finds its three panels by their frames, and looks up pixels by the
 * position in angstrom that they show. */
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

#include "libcore/picture/read_png.h"
#include "maps/draw_slices.h"
#include "maps/picture_words.h"

typedef struct fixture {
    vf_context *ctx;
    char directory[64], path[96];
    vf_grid grid;
    molecule mol;
    map_info info;
    double x[8], y[8], z[8], charge[8], radius[8];
    vf_colormap map;
} fixture;

/* The value at a grid point. */
typedef double (*field)(const vf_grid *grid, const double r[3]);

static int setup(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    assert_int_equal(vf_context_create(&f->ctx), VF_OK);
    strcpy(f->directory, "/tmp/test_draw_slices.XXXXXX");
    assert_non_null(mkdtemp(f->directory));
    (void)snprintf(f->path, sizeof f->path, "%s/map.png", f->directory);
    f->grid = (vf_grid){.origin = {-5, -5, -5}, .spacing = {0.5, 0.5, 0.5}, .counts = {21, 21, 21}};
    f->mol = (molecule){.atoms = 1, .x = f->x, .y = f->y, .z = f->z, .charge = f->charge, .radius = f->radius};
    f->info = (map_info){.type = VF_F32,
                         .quantity = "electrostatic potential",
                         .unit = "kT/e",
                         .program = "cionize (Voxfield) test",
                         .command = "cionize --picture map.png",
                         .created = "2024-01-02T03:04:05Z",
                         .method = "exact:ref",
                         .input = "some/where/molecule.pqr",
                         .dielectric = 1,
                         .molecule = &f->mol};
    vf_colormap_make(VF_COLORMAP_DIVERGING, &f->map);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    fixture *f = *state;
    (void)unlink(f->path);
    assert_int_equal(rmdir(f->directory), 0); /* fails if any file is left */
    vf_context_destroy(f->ctx);
    free(f);
    return 0;
}

/* Passes a map on in layers, `thickness` at a time. */
static void hand_over(slices *planes, const vf_grid *grid, field value, map_order order, vf_dtype type,
                      int64_t thickness)
{
    const int slow = order == MAP_X_FASTEST ? 2 : 0, fast = 2 - slow;
    const int64_t *n = grid->counts;
    void *values = malloc((size_t)(thickness * n[1] * n[fast]) * vf_dtype_bytes(type));
    assert_non_null(values);
    for (int64_t first = 0; first < n[slow]; first += thickness) {
        const int64_t count = n[slow] - first < thickness ? n[slow] - first : thickness;
        int64_t at = 0;
        for (int64_t k = first; k < first + count; k++)
            for (int64_t j = 0; j < n[1]; j++)
                for (int64_t i = 0; i < n[fast]; i++, at++) {
                    double r[3];
                    r[slow] = grid->origin[slow] + grid->spacing[slow] * (double)k;
                    r[1] = grid->origin[1] + grid->spacing[1] * (double)j;
                    r[fast] = grid->origin[fast] + grid->spacing[fast] * (double)i;
                    if (type == VF_F64)
                        ((double *)values)[at] = value(grid, r);
                    else
                        ((float *)values)[at] = (float)value(grid, r);
                }
        slices_take(planes, order, type, first, count, values);
    }
    free(values);
}

static void draw(fixture *f, field value, map_order order, vf_dtype type, int64_t thickness)
{
    slices *planes = NULL;
    f->info.grid = f->grid;
    f->info.type = type;
    assert_int_equal(slices_create(f->ctx, &f->grid, &planes), VF_OK);
    if (value)
        hand_over(planes, &f->grid, value, order, type, thickness);
    assert_int_equal(slices_draw(planes, &f->info, f->path), VF_OK);
    assert_string_equal(vf_context_message(f->ctx), "");
    slices_destroy(planes);
}

/* ---- reading the picture ---- */

typedef struct panels {
    png_picture picture;
    struct {
        int x, y, width, height; /* inside the frames */
    } panel[3];
} panels;

static bool is_frame(const png_picture *p, int x, int y)
{
    const vf_color c = png_picture_at(p, x, y);
    return c.a && c.r == 45 && c.g == 45 && c.b == 45;
}

/* The frames of a picture of three equal squares in a row: the first row with three long lines has the upper edges. */
static void find_panels(fixture *f, panels *out)
{
    enum { LONG = 300, FRAME = 2 };
    assert_true(png_picture_read(f->path, &out->picture));
    const png_picture *p = &out->picture;
    for (int y = 0; y < p->height; y++) {
        int found = 0;
        for (int x = 0, run = 0; x < p->width && found < 3; x++) {
            run = is_frame(p, x, y) ? run + 1 : 0;
            if (run < LONG || is_frame(p, x + 1, y))
                continue;
            out->panel[found].x = x + 1 - run + FRAME;
            out->panel[found].width = run - 2 * FRAME;
            out->panel[found].y = y + FRAME;
            int height = 0;
            while (!is_frame(p, x - run / 2, y + FRAME + height))
                height++;
            out->panel[found++].height = height;
        }
        if (found == 3)
            return;
    }
    fail_msg("no three panels in %s", f->path);
}

/* The pixel of panel `k` that shows (u, v), in angstrom: y, z for panel 0; x, z for 1; x, y for 2. */
static void pixel_of(const fixture *f, const panels *all, int k, double u, double v, int out[2])
{
    const int across = k == 0 ? 1 : 0, up = k == 2 ? 1 : 2;
    const vf_grid *g = &f->grid;
    const double s =
        (u - g->origin[across] + g->spacing[across] / 2) / (g->spacing[across] * (double)g->counts[across]);
    const double t = (v - g->origin[up] + g->spacing[up] / 2) / (g->spacing[up] * (double)g->counts[up]);
    out[0] = all->panel[k].x + (int)floor(s * all->panel[k].width);
    out[1] = all->panel[k].y + (int)floor((1 - t) * all->panel[k].height);
}

static vf_color color_at(const fixture *f, const panels *all, int k, double u, double v)
{
    int at[2];
    pixel_of(f, all, k, u, v, at);
    return png_picture_at(&all->picture, at[0], at[1]);
}

static void assert_color(vf_color actual, vf_color expected)
{
    assert_int_equal(actual.r, expected.r);
    assert_int_equal(actual.g, expected.g);
    assert_int_equal(actual.b, expected.b);
}

/* The darkest pixel within two pixels of (u, v), which detects a thin dark line. */
static int darkest_near(const fixture *f, const panels *all, int k, double u, double v)
{
    int at[2], darkest = 255;
    pixel_of(f, all, k, u, v, at);
    for (int dy = -2; dy <= 2; dy++)
        for (int dx = -2; dx <= 2; dx++) {
            const vf_color c = png_picture_at(&all->picture, at[0] + dx, at[1] + dy);
            darkest = c.g < darkest ? c.g : darkest;
        }
    return darkest;
}

/* ---- fields ---- */

static double zero(const vf_grid *grid, const double r[3])
{
    (void)grid;
    (void)r;
    return 0;
}

/* Every axis has its own value: -1 to 1 in steps that identify the axes and their directions. */
static double steps(const vf_grid *grid, const double r[3])
{
    (void)grid;
    const int sx = (r[0] > 0.1) - (r[0] < -0.1), sy = (r[1] > 0.1) - (r[1] < -0.1), sz = (r[2] > 0.1) - (r[2] < -0.1);
    return (9 * sx + 3 * sy + sz) / 13.0;
}

static double ramp(const vf_grid *grid, const double r[3])
{
    (void)grid;
    return r[0] + 0.25 * r[1] * r[2] - 0.5 * r[2];
}

static double coulomb(const vf_grid *grid, const double r[3])
{
    (void)grid;
    return 560 / fmax(sqrt(r[0] * r[0] + r[1] * r[1] + r[2] * r[2]), 1e-6);
}

static double half_missing(const vf_grid *grid, const double r[3])
{
    (void)grid;
    return r[0] > 0 ? NAN : r[0] < -3 ? -INFINITY : 1;
}

/* Half within 1 angstrom of the middle, 1 elsewhere, except for one point of 1000. */
static double spike(const vf_grid *grid, const double r[3])
{
    (void)grid;
    if (fabs(r[0] - 3) < 0.1 && fabs(r[1] - 3) < 0.1)
        return 1000;
    return r[0] * r[0] + r[1] * r[1] < 1.1 ? 0.5 : 1;
}

/* The same with a tenth of all values infinite. */
static double infinite(const vf_grid *grid, const double r[3])
{
    return r[0] < -4.1 || r[1] < -4.1 ? -INFINITY : fmin(spike(grid, r), 1);
}

static double nothing(const vf_grid *grid, const double r[3])
{
    (void)grid;
    (void)r;
    return NAN;
}

/* ---- tests ---- */

static void test_size_and_paper(void **state)
{
    fixture *f = *state;
    panels all;
    draw(f, ramp, MAP_X_FASTEST, VF_F32, 1);
    find_panels(f, &all);
    const png_picture *p = &all.picture;
    assert_in_range(p->width, 1800, 2400);
    assert_in_range(p->height, 800, 1400);
    const int corners[4][2] = {{0, 0}, {p->width - 1, 0}, {0, p->height - 1}, {p->width - 1, p->height - 1}};
    for (int i = 0; i < 4; i++)
        assert_color(png_picture_at(p, corners[i][0], corners[i][1]), (vf_color){255, 255, 255, 255});
    for (int i = 0; i < 3; i++) { /* one scale: the grid is a cube */
        assert_int_equal(all.panel[i].width, all.panel[0].width);
        assert_int_equal(all.panel[i].height, all.panel[0].width);
        assert_true(all.panel[i].width > 500);
    }
    for (int y = 0; y < p->height; y++) /* the margins are empty */
        for (int x = 0; x < p->width; x++)
            if (x < 40 || y < 40 || x >= p->width - 40 || y >= p->height - 40)
                assert_color(png_picture_at(p, x, y), (vf_color){255, 255, 255, 255});
    assert_string_equal(png_picture_text(p, "Title"), f->info.quantity);
    assert_string_equal(png_picture_text(p, "Description"), f->info.input);
    assert_string_equal(png_picture_text(p, "Software"), f->info.program);
    assert_string_equal(png_picture_text(p, "Comment"), f->info.command);
    assert_string_equal(png_picture_text(p, "Creation Time"), f->info.created);
    png_picture_free(&all.picture);
}

/* Each panel shows the plane and the directions of its labels. 98 % of the values lie within 13/13, so the colours
 * span -1 to 1. */
static void test_planes_and_directions(void **state)
{
    fixture *f = *state;
    panels all;
    draw(f, steps, MAP_X_FASTEST, VF_F32, 1);
    find_panels(f, &all);
    for (int k = 0; k < 3; k++) {
        for (int a = -1; a <= 1; a++) {
            for (int b = -1; b <= 1; b++) {
                double r[3] = {0, 0, 0}; /* the plane's own coordinate is 0 */
                r[k == 0 ? 1 : 0] = 3.0 * a;
                r[k == 2 ? 1 : 2] = 3.0 * b;
                const vf_color expected = vf_colormap_at(&f->map, (steps(&f->grid, r) + 1) / 2);
                assert_color(color_at(f, &all, k, 3.0 * a, 3.0 * b), expected);
            }
        }
    }
    assert_color(color_at(f, &all, 2, 0, 0), (vf_color){255, 255, 255, 255}); /* zero is white */
    const vf_color positive = color_at(f, &all, 2, 3, 3), negative = color_at(f, &all, 2, -3, -3);
    assert_true(positive.b > positive.r && negative.r > negative.b);
    png_picture_free(&all.picture);
}

static unsigned char *read_all(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    unsigned char *bytes = malloc(1 << 22);
    *size = fread(bytes, 1, 1 << 22, file);
    assert_in_range(*size, 1000, (1 << 22) - 1);
    fclose(file);
    return bytes;
}

static void test_any_order_type_and_thickness_gives_the_same_picture(void **state)
{
    fixture *f = *state;
    size_t size, other_size;
    f->grid.counts[0] = 17; /* all different, so that a wrong stride shows */
    f->grid.counts[2] = 24;
    draw(f, ramp, MAP_X_FASTEST, VF_F32, 1);
    unsigned char *first = read_all(f->path, &size);
    const int64_t thickness[] = {1, 5, 24};
    for (int i = 0; i < 6; i++) { /* each order with each type, and each thickness with each order */
        draw(f, ramp, (map_order)(i % 2), (vf_dtype)(i / 2 % 2), thickness[i % 3]);
        unsigned char *other = read_all(f->path, &other_size);
        assert_int_equal(other_size, size);
        assert_memory_equal(other, first, size);
        free(other);
    }
    free(first);
}

static void test_outline_of_one_atom(void **state)
{
    fixture *f = *state;
    panels all;
    f->x[0] = 0.6; /* off the plane x = 0, where the circle is smaller */
    f->y[0] = f->z[0] = 0;
    f->radius[0] = 3;
    draw(f, zero, MAP_X_FASTEST, VF_F32, 3);
    find_panels(f, &all);
    for (int k = 0; k < 3; k++) {
        const double center = k == 0 ? 0 : 0.6, radius = k == 0 ? sqrt(9 - 0.36) : 3;
        for (int degrees = 0; degrees < 360; degrees += 10) {
            const double c = cos(degrees * acos(-1.0) / 180), s = sin(degrees * acos(-1.0) / 180);
            /* A map of 0 is white except for the line, 1.8 pixels wide, of grey 35. */
            assert_true(darkest_near(f, &all, k, center + radius * c, radius * s) < 80);
            assert_int_equal(darkest_near(f, &all, k, center + (radius - 0.3) * c, (radius - 0.3) * s), 255);
            assert_int_equal(darkest_near(f, &all, k, center + (radius + 0.3) * c, (radius + 0.3) * s), 255);
        }
    }
    png_picture_free(&all.picture);
}

static void test_outline_is_that_of_the_union(void **state)
{
    fixture *f = *state;
    panels all;
    f->mol.atoms = 3;
    f->x[0] = -1;
    f->x[1] = 1;
    f->z[2] = 3;
    f->radius[0] = f->radius[1] = f->radius[2] = 2;
    f->radius[2] = 1.5; /* touches the plane y = 0, but not z = 0 */
    draw(f, zero, MAP_X_FASTEST, VF_F32, 21);
    find_panels(f, &all);
    assert_true(darkest_near(f, &all, 2, -3, 0) < 80);
    assert_true(darkest_near(f, &all, 2, 3, 0) < 80);
    assert_int_equal(darkest_near(f, &all, 2, 1, 0), 255); /* the circle of one inside the other */
    assert_int_equal(darkest_near(f, &all, 2, -1, 0), 255);
    assert_true(darkest_near(f, &all, 1, 0, 4.5) < 80);      /* the third atom, cut by y = 0 */
    assert_int_equal(darkest_near(f, &all, 2, 1.5, 0), 255); /* and not by z = 0 */
    png_picture_free(&all.picture);
}

/* The peak at the atom must not set the range. Outside its radius of 2 angstrom |V| is at most 280, and more than
 * 200 for more than 2 % of the pixels, so the range is 300. */
static void test_range_ignores_the_peaks(void **state)
{
    fixture *f = *state;
    panels all;
    f->radius[0] = 2;
    draw(f, coulomb, MAP_Z_FASTEST, VF_F64, 2);
    find_panels(f, &all);
    assert_color(color_at(f, &all, 2, 0, 0), vf_colormap_at(&f->map, 1));
    for (double x = 2.5; x <= 5; x += 0.5) {
        /* At a grid point the pixel shows its value; half a pixel, 0.01 angstrom, changes it by up to 1 of 300. */
        const vf_color actual = color_at(f, &all, 2, x, 0.5);
        const vf_color expected = vf_colormap_at(&f->map, (coulomb(&f->grid, (double[3]){x, 0.5, 0}) / 300 + 1) / 2);
        assert_true(abs(actual.r - expected.r) <= 2 && abs(actual.g - expected.g) <= 2 &&
                    abs(actual.b - expected.b) <= 2);
    }
    png_picture_free(&all.picture);
}

/* If the whole picture is inside the molecule, all of it counts: 98 of 100 values stay within the range. */
static void test_range_where_there_is_no_outside(void **state)
{
    fixture *f = *state;
    panels all;
    f->radius[0] = 100;
    draw(f, coulomb, MAP_Z_FASTEST, VF_F64, 2);
    find_panels(f, &all);
    assert_color(color_at(f, &all, 2, 0, 0), vf_colormap_at(&f->map, 1));
    const vf_color middle = color_at(f, &all, 2, 4, 0.5), full = vf_colormap_at(&f->map, 1);
    assert_true(abs(middle.r - full.r) + abs(middle.g - full.g) > 20);
    png_picture_free(&all.picture);
}

/* A few large or infinite values elsewhere must not set the range either: here most values are 1. */
static void test_range_ignores_the_rare_and_the_infinite(void **state)
{
    fixture *f = *state;
    panels all;
    const field fields[] = {spike, infinite};
    for (int i = 0; i < 2; i++) {
        draw(f, fields[i], MAP_X_FASTEST, VF_F32, 2);
        find_panels(f, &all);
        assert_color(color_at(f, &all, 2, 0, 2), vf_colormap_at(&f->map, 1));
        assert_color(color_at(f, &all, 2, 0, 0), vf_colormap_at(&f->map, 0.75)); /* 0.5 */
        png_picture_free(&all.picture);
    }
}

static void test_what_is_no_number_is_grey(void **state)
{
    fixture *f = *state;
    panels all;
    draw(f, half_missing, MAP_X_FASTEST, VF_F32, 4);
    find_panels(f, &all);
    assert_color(color_at(f, &all, 2, 3, 0), f->map.missing);
    assert_color(color_at(f, &all, 2, -4.5, 0), vf_colormap_at(&f->map, 0)); /* -infinity is below the range */
    assert_color(color_at(f, &all, 2, -1, 0), vf_colormap_at(&f->map, 1));
    png_picture_free(&all.picture);
    draw(f, nothing, MAP_X_FASTEST, VF_F32, 4);
    find_panels(f, &all);
    for (int k = 0; k < 3; k++)
        assert_color(color_at(f, &all, k, 3, 3), f->map.missing);
    png_picture_free(&all.picture);
    draw(f, NULL, MAP_X_FASTEST, VF_F32, 4); /* missing layers */
    find_panels(f, &all);
    assert_color(color_at(f, &all, 0, 3, 3), f->map.missing);
    png_picture_free(&all.picture);
}

static void test_odd_grids(void **state)
{
    fixture *f = *state;
    const vf_grid grids[] = {
        {.origin = {0, 0, 0}, .spacing = {1, 1, 1}, .counts = {1, 1, 1}},
        {.origin = {0, 0, 0}, .spacing = {1, 1, 1}, .counts = {2, 2, 2}},
        {.origin = {0, 0, 0}, .spacing = {0.5, 0.5, 0.5}, .counts = {1, 40, 50}},
        {.origin = {0, 0, 0}, .spacing = {0.5, 0.5, 0.5}, .counts = {40, 1, 50}},
        {.origin = {0, 0, 0}, .spacing = {0.5, 0.5, 0.5}, .counts = {40, 50, 1}},
        {.origin = {0, 0, 0}, .spacing = {0.5, 0.5, 0.5}, .counts = {1, 1, 50}},
        {.origin = {0, 0, 0}, .spacing = {0.5, 0.5, 0.5}, .counts = {400, 20, 20}},
        {.origin = {0, 0, 0}, .spacing = {0.5, 0.5, 0.5}, .counts = {20, 400, 20}},
        {.origin = {0, 0, 0}, .spacing = {0.5, 0.5, 0.5}, .counts = {20, 20, 400}},
        {.origin = {0, 0, 0}, .spacing = {1, 1, 1}, .counts = {30000, 2, 3}},
        {.origin = {1e7, -1e7, 3}, .spacing = {1e-3, 1e-2, 10}, .counts = {20, 30, 10}},
        {.origin = {1e12, 1e15, -1e18}, .spacing = {0.1, 0.1, 0.1}, .counts = {9, 9, 9}},
        {.origin = {0, 0, 0}, .spacing = {1e-200, 1e-200, 1e-200}, .counts = {5, 6, 7}},
        {.origin = {0, 0, 0}, .spacing = {1e200, 1e200, 1e200}, .counts = {5, 6, 7}},
    };
    for (size_t i = 0; i < sizeof grids / sizeof *grids; i++) {
        png_picture picture;
        f->grid = grids[i];
        draw(f, ramp, MAP_X_FASTEST, VF_F32, 7);
        assert_true(png_picture_read(f->path, &picture));
        assert_in_range(picture.width, 1800, 2400);
        assert_in_range(picture.height, 500, 2000);
        png_picture_free(&picture);
    }
}

static void test_odd_texts(void **state)
{
    fixture *f = *state;
    static char name[4096], method[4096];
    png_picture picture;
    memset(name, 'n', sizeof name - 1);
    memset(method, 'm', sizeof method - 1);
    const char *inputs[] = {name, "", "/", "日本.pqr", "a\377\001b.pqr"};
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        f->info.input = inputs[i];
        f->info.method = i == 0 ? method : "";
        f->info.distance_dielectric = i == 1;
        f->mol.total_charge = i == 2 ? NAN : 1e300;
        draw(f, ramp, MAP_X_FASTEST, VF_F32, 7);
        assert_true(png_picture_read(f->path, &picture));
        for (int y = 0; y < picture.height; y++)
            assert_color(png_picture_at(&picture, picture.width - 45, y), (vf_color){255, 255, 255, 255});
        png_picture_free(&picture);
    }
}

static int files_in(const char *directory)
{
    DIR *dir = opendir(directory);
    int files = 0;
    for (struct dirent *entry; (entry = readdir(dir));)
        files += entry->d_name[0] != '.' || strlen(entry->d_name) > 2;
    closedir(dir);
    return files;
}

/* The potential is that of the selected atoms: their number and charge, not the molecule's. */
static void test_words_of_selections(void **state)
{
    (void)state;
    char text[PICTURE_WORDS];
    molecule m = {.atoms = 3129, .total_charge = 5};
    map_info info = {.molecule = &m};
    assert_string_equal(picture_atoms(&info, text), "3129 atoms, total charge +5 e");
    info.selection = "protein (1231 atoms, +4 e)";
    assert_string_equal(picture_atoms(&info, text), "selected: protein (1231 atoms, +4 e) of 3129");
    info.selection = "resname LIG or (protein and within 5 of resname LIG) (231 atoms, -0.51234 e)";
    assert_string_equal(picture_atoms(&info, text),
                        "selected: resname LIG or (protein and with... (231 atoms, -0.51234 e) of 3129");
    info.selection = "resname \"0123456789012345678901\u00e4\" or protein (2 atoms, +0 e)"; /* cut within a letter */
    assert_string_equal(picture_atoms(&info, text),
                        "selected: resname \"0123456789012345678901... (2 atoms, +0 e) of 3129");
}

static void test_failures_say_why_and_leave_nothing(void **state)
{
    fixture *f = *state;
    slices *planes = NULL;
    struct rlimit before, limit;
    char path[128];
    f->info.grid = f->grid;
    assert_int_equal(slices_create(f->ctx, &f->grid, &planes), VF_OK);
    hand_over(planes, &f->grid, ramp, MAP_X_FASTEST, VF_F32, 1);
    (void)snprintf(path, sizeof path, "%s/none/map.png", f->directory);
    assert_int_equal(slices_draw(planes, &f->info, path), VF_ERR_OUTPUT);
    assert_non_null(strstr(vf_context_message(f->ctx), path));
    vf_context_clear_error(f->ctx);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_IGN);
    limit = (struct rlimit){4096, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    const vf_status status = slices_draw(planes, &f->info, f->path);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_DFL);
    assert_int_equal(status, VF_ERR_OUTPUT);
    assert_non_null(strstr(vf_context_message(f->ctx), "File too large"));
    assert_int_equal(files_in(f->directory), 0);
    slices_destroy(planes);
}

static void test_planes_beyond_memory(void **state)
{
    fixture *f = *state;
    slices *planes = NULL;
    /* 2^62 values of 4 bytes: their size in bytes, 2^64, must not overflow to 0. */
    const vf_grid huge = {.origin = {0, 0, 0}, .spacing = {1, 1, 1}, .counts = {1, INT64_C(1) << 31, INT64_C(1) << 31}};
    assert_int_equal(slices_create(f->ctx, &huge, &planes), VF_ERR_MEMORY);
    assert_null(planes);
    assert_non_null(strstr(vf_context_message(f->ctx), "2147483648 x 2147483648"));
    slices_destroy(NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(test_size_and_paper),
                                       TEST(test_planes_and_directions),
                                       TEST(test_any_order_type_and_thickness_gives_the_same_picture),
                                       TEST(test_outline_of_one_atom),
                                       TEST(test_outline_is_that_of_the_union),
                                       TEST(test_range_ignores_the_peaks),
                                       TEST(test_range_where_there_is_no_outside),
                                       TEST(test_range_ignores_the_rare_and_the_infinite),
                                       TEST(test_what_is_no_number_is_grey),
                                       TEST(test_odd_grids),
                                       TEST(test_odd_texts),
                                       TEST(test_words_of_selections),
                                       TEST(test_failures_say_why_and_leave_nothing),
                                       TEST(test_planes_beyond_memory)};
    return cmocka_run_group_tests_name("draw_slices", tests, NULL, NULL);
}
