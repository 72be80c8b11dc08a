/* The surface of a molecule against its definition, and against shapes that are known: one sphere, the torus between two, the hollow
 * between three.
 *
 * Tolerance: seeds make d too large by at most s^2 / (32 d) + s / 40 (molecular_surface.h), d the distance from the accessible surface, and
 * positions are in single precision relative to the middle of four points: 64 roundings of their size cover the sums and the root. */
#include <math.h>

#include "context_fixture.h"
#include "molecular_surface.h"
#include "random_fixture.h"
#include "voxfield/team_size.h"

enum { MOST = 64 };

typedef struct molecule_of_spheres {
    double x[MOST], y[MOST], z[MOST], radius[MOST];
    vf_spheres s;
} molecule_of_spheres;

/* Zeroed memory, until the test's end. */
static void *made[MOST];
static int made_count;

static void *make(int64_t count, size_t size)
{
    assert_true(made_count < MOST);
    return made[made_count++] = room(count, size);
}

static void free_made(void)
{
    while (made_count > 0)
        free(made[--made_count]);
}

static molecule_of_spheres *spheres(int64_t count)
{
    molecule_of_spheres *m = make(1, sizeof *m);
    m->s = (vf_spheres){count, m->x, m->y, m->z, m->radius};
    return m;
}

static void set(molecule_of_spheres *m, int i, double x, double y, double z, double radius)
{
    m->x[i] = x;
    m->y[i] = y;
    m->z[i] = z;
    m->radius[i] = radius;
}

/* Atoms in a ball, so that they overlap and leave hollows. */
static molecule_of_spheres *random_spheres(int64_t count, double size)
{
    molecule_of_spheres *m = spheres(count);
    for (int i = 0; i < count; i++)
        set(m, i, size * (2 * uniform() - 1), size * (2 * uniform() - 1), size * (2 * uniform() - 1), 1 + uniform());
    return m;
}

static const vf_surface_options excluded = {VF_SURFACE_EXCLUDED, 1.4, 1, 0.1};

static double allowed(const vf_surface_options *o, double level)
{
    const double d = o->probe - level;
    return 64 * 0x1p-24 * 10 +
           (o->kind == VF_SURFACE_EXCLUDED && level < o->probe ? o->spacing * (o->spacing / (32 * d) + 1 / 40.0) : 0);
}

static void position(const vf_grid *g, int64_t i, int64_t j, int64_t k, double r[3])
{
    const int64_t at[3] = {i, j, k};
    for (int a = 0; a < 3; a++)
        r[a] = g->origin[a] + g->spacing[a] * (double)at[a];
}

static float *levels(const vf_spheres *s, const vf_surface_options *o, const vf_grid *g)
{
    vf_surface *plan;
    const vf_box all = vf_grid_box(g);
    float *level = make(vf_grid_points(g), sizeof *level);
    need(vf_surface_create(ctx, s, o, &plan));
    need(vf_surface_levels(plan, g, &all, level));
    vf_surface_destroy(plan);
    return level;
}

/* Compares every point of a grid with a function of the position. */
typedef double truth(const void *user, const double r[3]);
static void compare(const vf_spheres *s, const vf_surface_options *o, const vf_grid *g, truth *f, const void *user)
{
    const float *level = levels(s, o, g);
    for (int64_t k = 0, n = 0; k < g->counts[2]; k++)
        for (int64_t j = 0; j < g->counts[1]; j++)
            for (int64_t i = 0; i < g->counts[0]; i++, n++) {
                double r[3];
                position(g, i, j, k, r);
                const double expected = f(user, r), error = fabs((double)level[n] - expected);
                if (!(error <= allowed(o, expected)))
                    fail_msg("(%g, %g, %g): %.7g, expected %.7g", r[0], r[1], r[2], (double)level[n], expected);
            }
}

typedef struct definition {
    const vf_spheres *s;
    const vf_surface_options *o;
} definition;

static double by_definition(const void *user, const double r[3])
{
    const definition *d = user;
    return vf_surface_level_ref(d->s, d->o, r);
}

static void test_definition(void **state)
{
    (void)state;
    static const vf_surface_options all[] = {{VF_SURFACE_EXCLUDED, 1.4, 1, 0.1},
                                             {VF_SURFACE_ACCESSIBLE, 1.4, 2, 0.1},
                                             {VF_SURFACE_VAN_DER_WAALS, 0, 2, 0.1},
                                             {VF_SURFACE_EXCLUDED, 0.8, 0.5, 0.05}};
    for (int m = 0; m < 6; m++) {
        const molecule_of_spheres *molecule = random_spheres(2 + 4 * m, 1 + m);
        const vf_grid grid = {.origin = {-7.3, -6.9, -7.1}, .spacing = {0.83, 0.77, 0.91}, .counts = {18, 18, 16}};
        for (size_t o = 0; o < sizeof all / sizeof *all; o++)
            compare(&molecule->s, &all[o], &grid, by_definition, &(definition){&molecule->s, &all[o]});
        free_made();
    }
}

static double of_one(const void *user, const double r[3])
{
    const double *radius = user, level = sqrt(r[0] * r[0] + r[1] * r[1] + r[2] * r[2]) - *radius;
    return fmax(-1, fmin(level, 1));
}

/* The closing of a ball is the ball. */
static void test_one_sphere(void **state)
{
    (void)state;
    const double radius = 2.5;
    molecule_of_spheres *m = spheres(1);
    set(m, 0, 0, 0, 0, radius);
    const vf_grid grid = {.origin = {-4, -4, -4}, .spacing = {0.37, 0.37, 0.37}, .counts = {22, 22, 22}};
    compare(&m->s, &excluded, &grid, of_one, &radius);
    free_made();
}

/* Two spheres of radius 1.5 at x = +-2: the probe rolls around on a circle of radius a = sqrt(2.9^2 - 2^2). Within the cone that its
 * contacts make, the distance from the surface is p - |r - the nearest point of the circle|. */
static double of_two(const void *user, const double r[3])
{
    (void)user;
    const double contact = 2.9, a = sqrt(contact * contact - 4), across = hypot(r[1], r[2]), x = fabs(r[0]);
    const double to_ball = hypot(x - 2, across) - 1.5;
    double level = to_ball;
    /* between the lines from the circle (0, a) to the centres (+-2, 0), and nearer than the circle */
    if (across < a && x <= 2 * (a - across) / a)
        level = fmin(1.4 - hypot(x, across - a), 1);
    if (level < 0 && to_ball < 0) /* deep inside a ball both are bounds */
        level = fmin(level, 1);
    return fmax(-1, fmin(level, 1));
}

static void test_torus(void **state)
{
    (void)state;
    molecule_of_spheres *m = spheres(2);
    set(m, 0, -2, 0, 0, 1.5);
    set(m, 1, 2, 0, 0, 1.5);
    const vf_grid grid = {.origin = {-1.1, -3, -3}, .spacing = {0.11, 0.21, 0.21}, .counts = {21, 29, 29}};
    compare(&m->s, &excluded, &grid, of_two, NULL);
    free_made();
}

/* A probe that rests on three spheres: on the axis through its centre the surface is p below it. */
static void test_corner(void **state)
{
    (void)state;
    const double side = 2, radius = 1.7, high = sqrt((radius + 1.4) * (radius + 1.4) - side * side);
    molecule_of_spheres *m = spheres(3);
    for (int i = 0; i < 3; i++)
        set(m, i, side * cos(i * 2.0943951023931953), side * sin(i * 2.0943951023931953), 0, radius);
    const vf_grid grid = {.origin = {0, 0, high - 1.4 - 0.9}, .spacing = {1, 1, 0.1}, .counts = {1, 1, 19}};
    const float *level = levels(&m->s, &excluded, &grid);
    for (int k = 0; k < 19; k++) { /* corners are exact */
        const double z = grid.origin[2] + 0.1 * k, expected = fmin(1.4 - (high - z), 1);
        assert_true(fabs((double)level[k] - expected) <= 64 * 0x1p-24 * 10);
    }
    free_made();
}

/* A hollow that the probe fits into is solvent; one that it does not is filled. */
static void test_hollow(void **state)
{
    (void)state;
    molecule_of_spheres *m = spheres(6);
    for (int fits = 0; fits < 2; fits++) {
        const double far = fits ? 3.0 : 2.8; /* of centres with radius 1.5: the probe needs 2.9 */
        for (int i = 0; i < 6; i++)
            set(m, i, i / 2 == 0 ? (i % 2 ? far : -far) : 0, i / 2 == 1 ? (i % 2 ? far : -far) : 0,
                i / 2 == 2 ? (i % 2 ? far : -far) : 0, 1.5);
        const vf_grid middle = {.spacing = {1, 1, 1}, .counts = {1, 1, 1}};
        const float level = *levels(&m->s, &excluded, &middle);
        assert_true(fits ? level > 0 : level < 0);
    }
    free_made();
}

/* Closing: between the spheres and the accessible surface, and no smaller with more spheres. */
static void test_order(void **state)
{
    (void)state;
    const molecule_of_spheres *m = random_spheres(MOST, 6);
    vf_spheres fewer = m->s;
    fewer.count = MOST / 2;
    const vf_grid grid = {.origin = {-9, -9, -9}, .spacing = {0.6, 0.6, 0.6}, .counts = {31, 31, 31}};
    const vf_surface_options bare = {VF_SURFACE_VAN_DER_WAALS, 0, 1, 0.1}, wide = {VF_SURFACE_ACCESSIBLE, 1.4, 1, 0.1};
    const float *inner = levels(&m->s, &bare, &grid), *middle = levels(&m->s, &excluded, &grid),
                *outer = levels(&m->s, &wide, &grid);
    const float *of_fewer = levels(&fewer, &excluded, &grid);
    for (int64_t n = 0; n < vf_grid_points(&grid); n++) {
        const double margin = allowed(&excluded, (double)middle[n]);
        assert_true(middle[n] <= inner[n] + margin && middle[n] <= of_fewer[n] + 2 * margin);
        assert_true(outer[n] <= 0 || middle[n] >= outer[n]); /* inside, the accessible one's is no distance */
    }
    free_made();
}

static void test_boxes_and_threads(void **state)
{
    (void)state;
    const molecule_of_spheres *m = random_spheres(40, 5);
    const vf_grid grid = {.origin = {-8, -8, -8}, .spacing = {0.7, 0.7, 0.7}, .counts = {23, 22, 21}};
    const vf_box part = {{3, 5, 2}, {20, 11, 19}};
    const float *whole = levels(&m->s, &excluded, &grid);
    float *piece = make(vf_box_points(&part), sizeof *piece);
    for (int threads = 1; threads <= 3; threads++) {
        vf_surface *plan;
        need(vf_context_set_threads(ctx, threads));
        need(vf_surface_create(ctx, &m->s, &excluded, &plan));
        need(vf_surface_levels(plan, &grid, &part, piece));
        assert_true(vf_surface_seeds(plan) > 1000 && vf_surface_bytes(plan) > 24 * vf_surface_seeds(plan));
        vf_surface_destroy(plan);
        for (int64_t k = part.lo[2], n = 0; k < part.hi[2]; k++)
            for (int64_t j = part.lo[1]; j < part.hi[1]; j++)
                for (int64_t i = part.lo[0]; i < part.hi[0]; i++)
                    assert_memory_equal(&piece[n++], &whole[(k * 22 + j) * 23 + i], sizeof *piece);
    }
    free_made();
}

/* Levels where the surface cuts edges are 0: to what seeds and roundings leave, and to 1e-5 of an edge. Other elements are not
 * written, and all numbers of threads give the same bits. */
static void check_cuts(const vf_spheres *s, const vf_surface_options *o, const vf_grid *g, float *const cut[3])
{
    const float *level = levels(s, o, g);
    const int64_t *n = g->counts, strides[3] = {1, n[0], n[0] * n[1]};
    int64_t found = 0;
    for (int a = 0; a < 3; a++)
        for (int64_t f = 0; f < vf_grid_points(g) / n[a] * (n[a] + 1); f++) {
            const int64_t m[2] = {n[0] + (a == 0), n[1] + (a == 1)},
                          at[3] = {f % m[0], f / m[0] % m[1], f / m[0] / m[1]},
                          here = (at[2] * n[1] + at[1]) * n[0] + at[0];
            double r[3];
            if (at[a] == 0 || at[a] == n[a] || (level[here] < 0) == (level[here - strides[a]] < 0)) {
                assert_true(cut[a][f] == 7);
                continue;
            }
            assert_true(cut[a][f] >= 0 && cut[a][f] <= 1);
            position(g, at[0], at[1], at[2], r);
            r[a] += ((double)cut[a][f] - 1) * g->spacing[a];
            const double there = vf_surface_level_ref(s, o, r);
            if (!(fabs(there) <= 1e-5 * g->spacing[a] + allowed(o, 0)))
                fail_msg("axis %d (%g, %g, %g): a level of %g", a, r[0], r[1], r[2], there);
            found++;
        }
    assert_true(found > 100);
}

/* Of one molecule, for all numbers of threads. */
static void compare_cuts(const vf_spheres *s, const vf_surface_options *o, const vf_grid *grid)
{
    enum { MOST_THREADS = 3 };
    const float *level = levels(s, o, grid);
    float *cut[3], *first[3];
    vf_surface *plan;
    need(vf_surface_create(ctx, s, o, &plan));
    for (int threads = 1; threads <= MOST_THREADS; threads++) {
        need(vf_context_set_threads(ctx, threads));
        for (int a = 0; a < 3; a++) {
            const int64_t faces = vf_grid_points(grid) / grid->counts[a] * (grid->counts[a] + 1);
            cut[a] = make(faces, sizeof *cut[a]);
            for (int64_t f = 0; f < faces; f++)
                cut[a][f] = 7;
        }
        need(vf_surface_cuts(plan, grid, level, cut));
        for (int a = 0; a < 3; a++) {
            const int64_t faces = vf_grid_points(grid) / grid->counts[a] * (grid->counts[a] + 1);
            first[a] = threads == 1 ? cut[a] : first[a];
            assert_memory_equal(first[a], cut[a], (size_t)faces * sizeof *cut[a]);
        }
    }
    need(vf_context_set_threads(ctx, 0));
    check_cuts(s, o, grid, cut);
    vf_surface_destroy(plan);
}

/* Many molecules: where spheres meet, levels have kinks, and a few edges of a molecule in 20 need more steps than others. */
static void test_cuts(void **state)
{
    (void)state;
    enum { DRAWS = 40 };
    static const vf_surface_options all[] = {{VF_SURFACE_EXCLUDED, 1.4, 1, 0.1}, {VF_SURFACE_VAN_DER_WAALS, 0, 2, 0.1}};
    const vf_grid grid = {.origin = {-7.3, -6.9, -7.1}, .spacing = {0.83, 0.77, 0.91}, .counts = {18, 18, 16}};
    for (int draw = 0; draw < DRAWS; draw++) {
        const molecule_of_spheres *m = random_spheres(12, 3);
        for (size_t o = 0; o < sizeof all / sizeof *all; o++)
            compare_cuts(&m->s, &all[o], &grid);
        free_made();
    }
}

/* In a cell, levels and cuts are those of the spheres and all images around; their bits differ, since the order of seeds does. */
static void test_cell(void **state)
{
    (void)state;
    static const vf_surface_options all[] = {{VF_SURFACE_EXCLUDED, 1.4, 1, 0.1}, {VF_SURFACE_VAN_DER_WAALS, 0, 2, 0.1}};
    enum { FEW = 2, IMAGES = 27 };
    molecule_of_spheres *m = random_spheres(FEW, 3);
    molecule_of_spheres *many = spheres(FEW * IMAGES);
    vf_grid grid = {.origin = {-3.3, -4.1, -4.6}, .spacing = {0.5, 0.45, 0.55}, .counts = {16, 18, 17}}, free = grid;
    grid.cell.kind = VF_CELL_ORTHORHOMBIC;
    for (int a = 0; a < 3; a++) {
        grid.cell.vectors[a][a] = grid.spacing[a] * (double)grid.counts[a];
        free.counts[a]++;
    }
    set(m, 0, m->s.x[0], m->s.y[0], m->s.z[0], 2); /* large enough to have 100 points and faces, whatever the draw */
    for (int i = 0; i < FEW * IMAGES; i++) {
        const int n = i / FEW;
        set(many, i, m->s.x[i % FEW] + (n % 3 - 1) * grid.cell.vectors[0][0],
            m->s.y[i % FEW] + (n / 3 % 3 - 1) * grid.cell.vectors[1][1],
            m->s.z[i % FEW] + (n / 9 - 1) * grid.cell.vectors[2][2], m->s.radius[i % FEW]);
    }
    for (size_t o = 0; o < sizeof all / sizeof *all; o++) {
        vf_surface *plan;
        const vf_box box = vf_grid_box(&grid);
        const int64_t *n = grid.counts, points = vf_grid_points(&grid);
        float *level = make(points, sizeof *level), *cut[3], *expected[3];
        const float *known = levels(&many->s, &all[o], &free);
        int found = 0, inside = 0;
        for (int a = 0; a < 3; a++) {
            cut[a] = make(points, sizeof *cut[a]);
            expected[a] = make(vf_grid_points(&free) * 2, sizeof *expected[a]);
        }
        need(vf_surface_create_on(ctx, &grid, &m->s, &all[o], &plan));
        need(vf_surface_levels(plan, &grid, &box, level));
        need(vf_surface_cuts(plan, &grid, level, cut));
        vf_surface_destroy(plan);
        need(vf_surface_create(ctx, &many->s, &all[o], &plan));
        need(vf_surface_cuts(plan, &free, known, expected));
        vf_surface_destroy(plan);
        for (int64_t p = 0; p < points; p++) {
            const int64_t at[3] = {p % n[0], p / n[0] % n[1], p / n[0] / n[1]};
            const int64_t there = (at[2] * (n[1] + 1) + at[1]) * (n[0] + 1) + at[0];
            const double d = all[o].probe - (double)known[there];
            assert_true(fabs((double)level[p] - (double)known[there]) <=
                        (d > 0 ? allowed(&all[o], (double)known[there]) : 1e-5));
            inside += level[p] < 0;
            for (int a = 0; a < 3; a++) {
                int64_t up[3] = {at[0], at[1], at[2]}, next[3] = {at[0], at[1], at[2]},
                        m1[3] = {n[0] + 1, n[1] + 1, n[2] + 1};
                up[a] = (at[a] + 1) % n[a];
                next[a]++;
                m1[a]++; /* faces of the grid of one point more */
                const int64_t upper = (up[2] * n[1] + up[1]) * n[0] + up[0];
                const float here = cut[a][upper], free_one = expected[a][(next[2] * m1[1] + next[1]) * m1[0] + next[0]];
                if ((level[p] < 0) == (level[upper] < 0))
                    continue;
                found++;
                assert_true(here > 0 && here < 1 && fabs((double)here - (double)free_one) <= 0.02);
            }
        }
        assert_true(found > 100 && inside > 100 && inside < points - 100);
    }
    free_made();
}

static void test_no_spheres(void **state)
{
    (void)state;
    const vf_grid grid = {.spacing = {1, 1, 1}, .counts = {3, 3, 3}};
    const vf_spheres none = {0};
    const float *level = levels(&none, &excluded, &grid);
    for (int n = 0; n < 27; n++)
        assert_true(level[n] == 1);
    free_made();
}

/* An atom of radius 0 has no sphere: levels are those without it, to the bit. */
static void test_no_radius(void **state)
{
    (void)state;
    enum { N = 12, POINTS = N * N * N };
    const vf_grid grid = {.origin = {-3, -3, -3}, .spacing = {0.5, 0.5, 0.5}, .counts = {N, N, N}};
    const vf_box all = vf_grid_box(&grid);
    float with[POINTS], without[POINTS];
    molecule_of_spheres *m = spheres(3);
    set(m, 0, 0, 0, 0, 1.5);
    set(m, 1, 1.5, 0, 0.5, 1.2);
    set(m, 2, 2.5, 1, 0, 0);
    for (int n = 0; n < 2; n++) {
        vf_surface *plan;
        m->s.count = 3 - n;
        need(vf_surface_create(ctx, &m->s, &excluded, &plan));
        need(vf_surface_levels(plan, &grid, &all, n ? without : with));
        vf_surface_destroy(plan);
    }
    assert_memory_equal(with, without, sizeof with);
}

static void refuse(const vf_spheres *s, vf_surface_options o)
{
    vf_surface *plan;
    refused(vf_surface_create(ctx, s, &o, &plan), "surface: ");
    assert_null(plan);
}

static void test_refusals(void **state)
{
    (void)state;
    molecule_of_spheres *m = spheres(2);
    set(m, 0, 0, 0, 0, 1);
    const double bad[][4] = {{NAN, 0, 0, 1}, {0, INFINITY, 0, 1}, {0, 0, 2e6, 1},
                             {0, 0, 0, -1},  {0, 0, 0, NAN},      {0, 0, 0, 2e6}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        set(m, 1, bad[i][0], bad[i][1], bad[i][2], bad[i][3]);
        refuse(&m->s, excluded);
    }
    set(m, 1, 1, 0, 0, 1);
    refuse(&m->s, (vf_surface_options){VF_SURFACE_EXCLUDED, 1.4, 1.4, 0.1});
    refuse(&m->s, (vf_surface_options){VF_SURFACE_EXCLUDED, 0, 1, 0.1});
    refuse(&m->s, (vf_surface_options){VF_SURFACE_EXCLUDED, NAN, 1, 0.1});
    refuse(&m->s, (vf_surface_options){VF_SURFACE_EXCLUDED, 1.4, 1, 0});
    refuse(&m->s, (vf_surface_options){VF_SURFACE_ACCESSIBLE, 1.4, -1, 0.1});
    refuse(&m->s, (vf_surface_options){VF_SURFACE_VAN_DER_WAALS, 1.4, 1, 0.1});
    refuse(&m->s, (vf_surface_options){VF_SURFACE_SMOOTH, 1.4, 1, 0.1});
    vf_surface *plan;
    float level[1];
    need(vf_surface_create(ctx, &m->s, &excluded, &plan));
    const vf_grid grid = {.spacing = {1, 1, 1}, .counts = {2, 2, 2}};
    const vf_box outside = {{0, 0, 0}, {3, 1, 1}};
    refused(vf_surface_levels(plan, &grid, &outside, level), "box");
    refused(vf_surface_cuts(plan, &grid, level, (float *const[3]){NULL}), "grid");
    vf_surface_destroy(plan);
    vf_surface_destroy(NULL);
    free_made();
}

static int set_up(void **state)
{
    const int failed = open_context(state);
    if (!failed)
        vf_context_set_team_work(ctx, 1000); /* small grids have teams, too */
    return failed;
}

TEST_MAIN(set_up, close_context, cmocka_unit_test(test_definition), cmocka_unit_test(test_one_sphere),
          cmocka_unit_test(test_torus), cmocka_unit_test(test_corner), cmocka_unit_test(test_hollow),
          cmocka_unit_test(test_order), cmocka_unit_test(test_boxes_and_threads), cmocka_unit_test(test_cuts),
          cmocka_unit_test(test_cell), cmocka_unit_test(test_no_spheres), cmocka_unit_test(test_refusals),
          cmocka_unit_test(test_no_radius))
