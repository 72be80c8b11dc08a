/* Isosurfaces: closed manifolds of the right shape, place and size, of any field; values at their vertices. */
#include "mesh_fixture.h"
#include "voxfield/team_size.h"

static double sphere(double x, double y, double z)
{
    return sqrt(x * x + y * y + z * z) - 0.7;
}

static double torus(double x, double y, double z)
{
    const double ring = sqrt(x * x + y * y) - 0.6;
    return sqrt(ring * ring + z * z) - 0.25;
}

/* Two tori side by side that overlap: genus 2. */
static double double_torus(double x, double y, double z)
{
    return fmin(torus(1.8 * x - 0.75, 1.8 * y, 1.8 * z), torus(1.8 * x + 0.75, 1.8 * y, 1.8 * z));
}

static double two_spheres(double x, double y, double z)
{
    return fmin(sqrt((x - 0.4) * (x - 0.4) + y * y + z * z), sqrt((x + 0.4) * (x + 0.4) + y * y + z * z)) - 0.3;
}

static double linear(double x, double y, double z)
{
    return 3 + x - 2 * y + 0.5 * z;
}

static vf_mesh mesh_of(int64_t n, field_function f, field_function values)
{
    const vf_grid grid = cube_grid(n);
    float *field = sample(&grid, f), *second = values ? sample(&grid, values) : NULL;
    vf_mesh mesh = surface_of(&grid, field, second, 0, 3);
    free(field);
    free(second);
    return mesh;
}

/* ---- shape ---- */

static void test_topology_of_known_bodies(void **state)
{
    (void)state;
    const struct {
        field_function f;
        int64_t characteristic, components;
    } bodies[] = {{sphere, 2, 1}, {two_spheres, 4, 2}, {torus, 0, 1}, {double_torus, -2, 1}};
    for (int b = 0; b < 4; b++) {
        vf_mesh mesh = mesh_of(33, bodies[b].f, NULL);
        assert_closed(&mesh, true);
        assert_fans(&mesh);
        assert_int_equal(euler_characteristic(&mesh), bodies[b].characteristic);
        assert_int_equal(components(&mesh), bodies[b].components);
        vf_mesh_free(&mesh);
    }
}

/* Noise has all 256 cases of cubes, all pairs of neighbours, and many values that are the level. Each component of a closed
 * orientable surface has an even characteristic of at most 2. */
static void test_noise_gives_closed_manifolds(void **state)
{
    (void)state;
    const vf_grid grid = {.spacing = {1, 1, 1}, .counts = {23, 21, 22}};
    float *field = room(vf_grid_points(&grid), sizeof *field);
    for (int round = 0; round < 4; round++) {
        bool seen[256] = {false};
        int cases = 0;
        for (int64_t n = 0; n < vf_grid_points(&grid); n++) {
            const int64_t p[3] = {n % 23, n / 23 % 21, n / 23 / 21};
            bool border = false;
            for (int a = 0; a < 3; a++)
                border |= p[a] == 0 || p[a] == grid.counts[a] - 1;
            field[n] = border ? 1 : round % 2 ? (float)integer_between(-1, 1) : (float)uniform_between(-1, 1);
        }
        for (int64_t n = 0; n + 23 * 21 + 23 + 1 < vf_grid_points(&grid); n++) {
            int below = 0;
            for (int c = 0; c < 8; c++)
                below |= (field[n + (c & 1) + (c >> 1 & 1) * 23 + (c >> 2) * 23 * 21] < 0) << c;
            cases += !seen[below];
            seen[below] = true;
        }
        assert_true(cases == 256 || (round % 2 && cases > 240)); /* fewer integers are below */
        vf_mesh mesh = surface_of(&grid, field, NULL, 0, 1);
        assert_closed(&mesh, true);
        assert_fans(&mesh);
        assert_int_equal(euler_characteristic(&mesh) % 2, 0);
        assert_true(euler_characteristic(&mesh) <= 2 * components(&mesh));
        vf_mesh_free(&mesh);
    }
    free(field);
}

/* A level set that leaves the grid ends at its border: edges there have one triangle. */
static void test_open_at_the_border(void **state)
{
    (void)state;
    const vf_grid grid = cube_grid(9);
    float *field = sample(&grid, linear);
    vf_mesh mesh = surface_of(&grid, field, NULL, -1, 9);
    assert_int_equal(mesh.triangles, 0); /* linear >= -0.5 */
    vf_mesh_free(&mesh);
    mesh = surface_of(&grid, field, NULL, 3.1, 9);
    assert_int_equal(components(&mesh), 1);
    /* The area of a plane within the cube is that of its projection along x, by a fine sum, times |gradient| / 1. */
    double area = 0;
    enum { FINE = 2000 };
    for (int j = 0; j < FINE; j++)
        for (int k = 0; k < FINE; k++) {
            const double y = -1 + (2 * j + 1.0) / FINE, z = -1 + (2 * k + 1.0) / FINE, x = 0.1 + 2 * y - 0.5 * z;
            area += (fabs(x) < 1) * sqrt(1 + 4 + 0.25) * 4 / FINE / FINE;
        }
    assert_true(fabs(vf_mesh_area(&mesh) - area) <
                0.002 * area); /* of FINE^2 squares, some 2 FINE are cut by |x| = 1 */
    vf_mesh_free(&mesh);
    free(field);
}

/* ---- size ---- */

/* Chords lie within the sphere by h^2 / 8R at most, so area and volume are too small by a part of the order h^2: a quarter with h / 2.
 * The next order, and where the grid cuts, change the quotient of neighbouring sizes by some per cent. */
static void test_area_and_volume_of_spheres(void **state)
{
    (void)state;
    const double pi = 3.14159265358979323846, area = 4 * pi * 0.49, volume = 4 * pi / 3 * 0.343;
    double before[2] = {0, 0};
    for (int64_t n = 17; n <= 65; n = 2 * n - 1) {
        vf_mesh mesh = mesh_of(n, sphere, NULL);
        const double h = 2.0 / (double)(n - 1);
        const double off[2] = {1 - vf_mesh_area(&mesh) / area, 1 - vf_mesh_volume(&mesh) / volume};
        for (int q = 0; q < 2; q++) {
            assert_true(off[q] > 0 && off[q] < h * h / 0.49);
            if (n > 17)
                assert_true(before[q] / off[q] > 3.4 && before[q] / off[q] < 4.6);
            before[q] = off[q];
        }
        vf_mesh_free(&mesh);
    }
}

/* Vertices lie on edges within the sphere's curvature: the field along an edge of length h is bent by at most h^2 / 8 / R, and
 * normals by central differences are off by h^2 / 6 times third derivatives, below 3 / R^2. */
static void test_vertices_and_normals(void **state)
{
    (void)state;
    vf_mesh mesh = mesh_of(41, sphere, NULL);
    const double h = 0.05, R = 0.7;
    for (int64_t v = 0; v < mesh.vertices; v++) {
        double r = 0, along = 0, length = 0;
        for (int a = 0; a < 3; a++) {
            r += (double)mesh.vertex[v][a] * (double)mesh.vertex[v][a];
            along += (double)mesh.vertex[v][a] * (double)mesh.normal[v][a];
            length += (double)mesh.normal[v][a] * (double)mesh.normal[v][a];
        }
        r = sqrt(r);
        assert_true(fabs(r - R) <= h * h / 8 / (R - h) + 1e-6);
        assert_true(fabs(length - 1) < 1e-6);
        assert_true(along / r > 1 - 0.5 * (h * h / R / R) * (h * h / R / R) - 1e-6);
    }
    vf_mesh_free(&mesh);
}

/* ---- values ---- */

/* Interpolation of a linear field is exact but for rounding: of the samples, the position and the value, each within 2^-24 of at most 7.
 * Along an edge the value changes by at most 4 / h times an error of position in units of the edge. */
static void test_values_of_a_linear_field(void **state)
{
    (void)state;
    vf_mesh mesh = mesh_of(24, torus, linear);
    assert_true(mesh.vertices > 100);
    for (int64_t v = 0; v < mesh.vertices; v++) {
        const double at = linear(mesh.vertex[v][0], mesh.vertex[v][1], mesh.vertex[v][2]);
        assert_true(fabs((double)mesh.value[v] - at) < 4 * 7 * 0x1p-24);
    }
    vf_mesh_free(&mesh);
}

/* ---- any number of threads, any pieces ---- */

static void assert_same(const vf_mesh *a, const vf_mesh *b)
{
    assert_int_equal(a->vertices, b->vertices);
    assert_int_equal(a->triangles, b->triangles);
    assert_memory_equal(a->vertex, b->vertex, (size_t)a->vertices * sizeof *a->vertex);
    assert_memory_equal(a->normal, b->normal, (size_t)a->vertices * sizeof *a->normal);
    assert_memory_equal(a->value, b->value, (size_t)a->vertices * sizeof *a->value);
    assert_memory_equal(a->triangle, b->triangle, (size_t)a->triangles * sizeof *a->triangle);
}

static void test_threads_and_pieces(void **state)
{
    (void)state;
    const vf_grid grid = cube_grid(20);
    float *field = sample(&grid, double_torus), *values = sample(&grid, linear);
    vf_context_set_team_work(ctx, 0);
    need(vf_context_set_threads(ctx, 1));
    vf_mesh one = surface_of(&grid, field, values, 0, 20);
    for (int threads = 2; threads <= 5; threads += 3) {
        need(vf_context_set_threads(ctx, threads));
        vf_mesh more = surface_of(&grid, field, values, 0, threads);
        assert_same(&one, &more);
        vf_mesh_free(&more);
    }
    vf_mesh_free(&one);
    free(field);
    free(values);
}

/* ---- refusals ---- */

static void test_refusals(void **state)
{
    (void)state;
    vf_grid grid = cube_grid(4);
    vf_isosurface *plan = NULL;
    vf_mesh mesh;
    refused(vf_isosurface_create(ctx, &grid, (double)NAN, false, &plan), "level");
    assert_null(plan);
    grid.counts[1] = 0;
    refused(vf_isosurface_create(ctx, &grid, 0, false, &plan), "grid");
    grid.counts[1] = 4;
    float *field = sample(&grid, sphere);
    need(vf_isosurface_create(ctx, &grid, 0, false, &plan));
    refused(vf_isosurface_layers(plan, 5, field, NULL), "5 layers after 0");
    need(vf_isosurface_layers(plan, 3, field, NULL));
    refused(vf_isosurface_finish(plan, &mesh), "3 of 4");
    field[2 * 4 + 1] = NAN;
    refused(vf_isosurface_layers(plan, 1, field, NULL), "(1, 2, 3)");
    vf_isosurface_destroy(plan);
    free(field);
}

/* Grids without cubes. */
static void test_thin_grids(void **state)
{
    (void)state;
    for (int axis = 0; axis < 3; axis++) {
        vf_grid grid = cube_grid(8);
        grid.counts[axis] = 1;
        grid.origin[axis] = 0;
        float *field = sample(&grid, sphere);
        vf_mesh mesh = surface_of(&grid, field, NULL, 0, 1);
        assert_int_equal(mesh.triangles, 0);
        vf_mesh_free(&mesh);
        free(field);
    }
}

/* ---- reduction ---- */

/* Means of vertices in a cube of side s lie within s^2 / 2R below the sphere, for the cube's diagonal is sqrt(3) s. */
static void test_reduction(void **state)
{
    (void)state;
    const double area = 4 * 3.14159265358979323846 * 0.49;
    for (int64_t most = 6000; most >= 60; most /= 10) {
        vf_mesh mesh = mesh_of(60, sphere, linear);
        double side = -1;
        assert_true(mesh.triangles > 6000);
        need(vf_mesh_reduce(ctx, &mesh, most, &side));
        assert_true(mesh.triangles <= most && mesh.triangles > most / 2);
        assert_true(side > 0);
        assert_closed(&mesh, false);
        for (int64_t v = 0; v < mesh.vertices; v++) {
            const float *p = mesh.vertex[v];
            const double r = sqrt((double)(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]));
            assert_true(r < 0.7 + 1e-3 && r > 0.7 - 3 * side * side / 2 / 0.7 - 1e-3);
            assert_true(fabs((double)mesh.value[v] - linear(p[0], p[1], p[2])) < 1e-5);
        }
        if (most > 60)
            assert_true(fabs(vf_mesh_area(&mesh) / area - 1) < 0.1);
        const int64_t kept = mesh.triangles;
        need(vf_mesh_reduce(ctx, &mesh, most, &side));
        assert_int_equal(mesh.triangles, kept);
        assert_true(side == 0);
        refused(vf_mesh_reduce(ctx, &mesh, 0, &side), "at most 0");
        vf_mesh_free(&mesh);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_topology_of_known_bodies),
                                       cmocka_unit_test(test_noise_gives_closed_manifolds),
                                       cmocka_unit_test(test_open_at_the_border),
                                       cmocka_unit_test(test_area_and_volume_of_spheres),
                                       cmocka_unit_test(test_vertices_and_normals),
                                       cmocka_unit_test(test_values_of_a_linear_field),
                                       cmocka_unit_test(test_threads_and_pieces),
                                       cmocka_unit_test(test_refusals),
                                       cmocka_unit_test(test_thin_grids),
                                       cmocka_unit_test(test_reduction)};
    return cmocka_run_group_tests(tests, open_context, close_context);
}
