/* Pictures of meshes: views, what is covered, light and shadow. */
#include "mesh_fixture.h"
#include "voxfield/mesh_picture.h"
#include "voxfield/team_size.h"

static const double pi = 3.14159265358979323846;

static double x_of(double x, double y, double z)
{
    (void)y;
    (void)z;
    return x;
}

static double ellipsoid(double x, double y, double z)
{
    return sqrt(x * x / 0.25 + y * y / 0.81 + z * z / 0.09) - 1;
}

static double sphere(double x, double y, double z)
{
    return sqrt(x * x + y * y + z * z) - 0.8;
}

/* A ball, and a small one above it, apart. */
static double balls(double x, double y, double z)
{
    const double above = y - 0.65;
    return fmin(sqrt(x * x + y * y + z * z) - 0.35, sqrt(x * x + above * above + z * z) - 0.2);
}

static vf_mesh mesh_of(field_function f)
{
    const vf_grid grid = cube_grid(49);
    float *field = sample(&grid, f), *values = sample(&grid, x_of);
    vf_mesh mesh = surface_of(&grid, field, values, 0, 49);
    free(field);
    free(values);
    return mesh;
}

static const vf_mesh_view along_z = {.axis = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, .low = {-1, -1, -1}, .high = {1, 1, 1}};

static vf_canvas *draw(const vf_mesh *mesh, const vf_mesh_view *view, int side, double scale)
{
    const vf_color paper = {1, 2, 3, 255};
    vf_canvas *canvas = NULL;
    vf_colormap map;
    vf_colormap_make(VF_COLORMAP_DIVERGING, &map);
    const vf_mesh_paint paint = {&map, -0.8, 0.8};
    float *sky = room(mesh->vertices, sizeof *sky);
    need(vf_canvas_create(ctx, side + 20, side + 20, paper, &canvas));
    need(vf_mesh_find_sky(ctx, mesh, view->axis[1], sky));
    need(vf_canvas_mesh(ctx, canvas, 10, 10, side, side, mesh, sky, view, scale, &paint));
    free(sky);
    return canvas;
}

static bool is_paper(vf_color c)
{
    return c.r == 1 && c.g == 2 && c.b == 3;
}

/* ---- views ---- */

/* The axes of an ellipsoid whose longest axis is y, then x. Its mesh is not quite symmetric: by 1e-3, say. */
static void test_principal_view(void **state)
{
    (void)state;
    vf_mesh mesh = mesh_of(ellipsoid);
    vf_mesh_view view;
    vf_mesh_principal_view(&mesh, &view);
    assert_true(fabs(fabs(view.axis[0][1]) - 1) < 1e-3 && fabs(fabs(view.axis[1][0]) - 1) < 1e-3);
    double volume = 0;
    for (int a = 0; a < 3; a++) {
        const int b = (a + 1) % 3, c = (a + 2) % 3;
        volume += view.axis[0][a] * (view.axis[1][b] * view.axis[2][c] - view.axis[1][c] * view.axis[2][b]);
    }
    assert_true(fabs(volume - 1) < 1e-12); /* right-handed unit vectors */
    const double half[3] = {0.9, 0.5, 0.3};
    for (int a = 0; a < 3; a++) {
        assert_true(fabs(view.high[a] - half[a]) < 0.01 && view.low[a] == -view.high[a]);
        assert_true(fabs(view.center[a]) < 0.01);
    }
    const vf_mesh_view behind = vf_mesh_view_behind(&view);
    for (int a = 0; a < 3; a++)
        assert_true(behind.axis[0][a] == -view.axis[0][a] && behind.axis[1][a] == view.axis[1][a]);
    const vf_mesh none = {0};
    vf_mesh_principal_view(&none, &view);
    assert_true(view.axis[2][2] == 1 && view.high[0] == 0);
    vf_mesh_free(&mesh);
}

static double balls_below(double x, double y, double z)
{
    return balls(x, -y, z);
}

/* The long axis points to where the surface reaches farther in sparse parts: to the small ball. */
static void test_direction_of_axes(void **state)
{
    (void)state;
    for (int below = 0; below < 2; below++) {
        vf_mesh mesh = mesh_of(below ? balls_below : balls);
        vf_mesh_view view;
        vf_mesh_principal_view(&mesh, &view);
        assert_true((below ? -1 : 1) * view.axis[0][1] > 0.99);
        vf_mesh_free(&mesh);
    }
}

/* ---- what is covered ---- */

static void test_a_sphere_covers_a_disc(void **state)
{
    (void)state;
    enum { SIDE = 120 };
    vf_mesh mesh = mesh_of(sphere);
    vf_canvas *canvas = draw(&mesh, &along_z, SIDE, 60);
    int covered = 0;
    for (int y = 0; y < SIDE + 20; y++)
        for (int x = 0; x < SIDE + 20; x++) {
            const double dx = x + 0.5 - 70, dy = y + 0.5 - 70, r = sqrt(dx * dx + dy * dy);
            const bool paper = is_paper(vf_canvas_pixel(canvas, x, y));
            covered += !paper;
            if (r > 48 + 1) /* half a pixel's diagonal, and rounding */
                assert_true(paper);
            if (r < 48 - 1.2) /* the mesh lies up to h^2 / 8 R below the sphere: 0.02 pixels */
                assert_false(paper);
        }
    assert_true(covered > pi * 47 * 47 && covered < pi * 49 * 49);
    vf_canvas_destroy(canvas);
    vf_mesh_free(&mesh);
}

/* The value is x: red on the left, blue on the right; and the lamp is at the upper left. */
static void test_colours_and_lamp(void **state)
{
    (void)state;
    vf_mesh mesh = mesh_of(sphere);
    vf_canvas *canvas = draw(&mesh, &along_z, 120, 60);
    const vf_color left = vf_canvas_pixel(canvas, 30, 70), right = vf_canvas_pixel(canvas, 110, 70);
    assert_true(left.r > left.b + 60 && right.b > right.r + 60);
    const vf_color lit = vf_canvas_pixel(canvas, 66, 45), dark = vf_canvas_pixel(canvas, 70, 112);
    assert_true(lit.g > dark.g + 40);
    vf_canvas_destroy(canvas);
    for (int64_t n = 0; n < mesh.vertices; n++) /* without a value */
        mesh.value[n] = NAN;
    canvas = draw(&mesh, &along_z, 120, 60);
    const vf_color grey = vf_canvas_pixel(canvas, 40, 70);
    assert_true(abs(grey.r - grey.b) < 25 && grey.r < 180);
    vf_canvas_destroy(canvas);
    vf_mesh_free(&mesh);
}

/* ---- light ---- */

/* A convex body hides no sky from itself: what a vertex gets is that of the sky's brightness, 1 + 0.3 (2 / 3 n_y - 1 / 2), where 2/3 is the mean of cosines
 * weighted by cosines. The sum over 144 directions is off by a few per cent, and grazing light by the samples' size. */
static void test_sky_of_a_sphere(void **state)
{
    (void)state;
    const double up[3] = {0, 1, 0};
    vf_mesh mesh = mesh_of(sphere);
    float *sky = room(mesh.vertices, sizeof *sky);
    need(vf_mesh_find_sky(ctx, &mesh, up, sky));
    for (int64_t n = 0; n < mesh.vertices; n++)
        assert_true(fabs((double)sky[n] - (0.85 + 0.2 * (double)mesh.normal[n][1])) < 0.05);
    free(sky);
    vf_mesh_free(&mesh);
}

/* The top of the lower ball has the upper one above it, which hides a cone with a half-angle whose sine is 0.2 / 0.3: 0.444 of all light
 * that comes by the cosine. */
static void test_one_ball_shades_another(void **state)
{
    (void)state;
    const double up[3] = {0, 1, 0};
    vf_mesh mesh = mesh_of(balls);
    float *sky = room(mesh.vertices, sizeof *sky);
    int found = 0;
    need(vf_mesh_find_sky(ctx, &mesh, up, sky));
    for (int64_t n = 0; n < mesh.vertices; n++) {
        const float *p = mesh.vertex[n];
        if (p[1] < 0.36F && p[1] > 0.3F && hypot((double)p[0], (double)p[2]) < 0.03) {
            assert_true((double)sky[n] < 1.05 * 0.62 && (double)sky[n] > 1.05 * 0.4);
            found++;
        }
        if (p[1] > 0.84F) /* on top of all */
            assert_true((double)sky[n] > 0.97);
    }
    assert_true(found > 0);
    free(sky);
    vf_mesh_free(&mesh);
}

static void test_any_number_of_threads(void **state)
{
    (void)state;
    vf_mesh mesh = mesh_of(balls);
    vf_canvas *picture[2];
    vf_context_set_team_work(ctx, 0);
    for (int n = 0; n < 2; n++) {
        need(vf_context_set_threads(ctx, n ? 3 : 1));
        picture[n] = draw(&mesh, &along_z, 77, 38);
    }
    for (int y = 0; y < 97; y++)
        for (int x = 0; x < 97; x++) {
            const vf_color a = vf_canvas_pixel(picture[0], x, y), b = vf_canvas_pixel(picture[1], x, y);
            assert_true(a.r == b.r && a.g == b.g && a.b == b.b);
        }
    vf_canvas_destroy(picture[0]);
    vf_canvas_destroy(picture[1]);
    vf_mesh_free(&mesh);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_principal_view),         cmocka_unit_test(test_direction_of_axes),
        cmocka_unit_test(test_a_sphere_covers_a_disc), cmocka_unit_test(test_colours_and_lamp),
        cmocka_unit_test(test_sky_of_a_sphere),        cmocka_unit_test(test_one_ball_shades_another),
        cmocka_unit_test(test_any_number_of_threads)};
    return cmocka_run_group_tests(tests, open_context, close_context);
}
