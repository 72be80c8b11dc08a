/* The volume of solvent around spheres, against volumes in closed form.
 *
 * Errors, for a spacing h, a sphere of radius r and R = r + 1.4, the radius of the probe's centre:
 *
 * - Counting points. A ball of radius r at a random position contains a number of grid points with a standard
 *   deviation of at most (r/h) sqrt(8.27 / pi^2). By Parseval it is the sum of |F(k)|^2 over the reciprocal points k
 *   except 0, where F(k) = r/(pi k^2) cos(...) is a ball's transform. 1/k^4 sums to 16.53, and cos^2 is at most 1:
 *   1.29 r h^2 in volume. Six of these are allowed.
 * - The probe's positions are where grid lines meet the sphere of radius R. Lines along the axis nearest to
 *   the normal are at most h/sqrt(2) from any point, which is s = sqrt(3/2) h on the sphere. From a position at
 *   distance s the probe falls short of the surface by r s^2 / (2 1.4 R) = 0.54 (r/R) h^2, times the area 4 pi r^2:
 *   the solute may be too large by that, never too small.
 * - Where spheres meet, the probe rests on both: positions are at most s away. By the triangle inequality it falls
 *   short by at most s, on the area that it rolls over. */
#include "ion_fixture.h"
#include "test_main.h"

static const double PROBE = 1.4;

enum { MOST = 64 };
typedef struct balls {
    double x[MOST], y[MOST], z[MOST], charge[MOST], radius[MOST];
    molecule mol;
} balls;

static void add(balls *b, double x, double y, double z, double radius)
{
    const int64_t i = b->mol.atoms++;
    b->x[i] = x;
    b->y[i] = y;
    b->z[i] = z;
    b->radius[i] = radius;
    b->mol.x = b->x;
    b->mol.y = b->y;
    b->mol.z = b->z;
    b->mol.charge = b->charge;
    b->mol.radius = b->radius;
}

static double cell(const vf_grid *g)
{
    return g->spacing[0] * g->spacing[1] * g->spacing[2];
}

/* From the first points to the last; an axis of one point counts as one spacing. */
static double extent(const vf_grid *g)
{
    double volume = cell(g);
    for (int a = 0; a < 3; a++)
        volume *= (double)(g->counts[a] > 1 ? g->counts[a] - 1 : 1);
    return volume;
}

static double solvent(const balls *b, const vf_grid *grid)
{
    double volume = NAN;
    assert_ok(solvent_volume(fresh(), &b->mol, NULL, grid, &volume));
    assert_true(volume >= 0 && volume <= extent(grid) * (1 + 1e-12));
    return volume;
}

static double solute(const balls *b, const vf_grid *grid)
{
    return extent(grid) - solvent(b, grid);
}

/* A grid about the origin that reaches `half` far, at a random offset within a step. */
static vf_grid around(double half, double h)
{
    vf_grid grid = {.cell = {.kind = VF_CELL_NONE}};
    for (int a = 0; a < 3; a++) {
        grid.origin[a] = -half - h * uniform();
        grid.spacing[a] = h;
        grid.counts[a] = (int64_t)ceil(2 * half / h) + 2;
    }
    return grid;
}

static double ball_volume(double r)
{
    return 4 * acos(-1.0) / 3 * r * r * r;
}

static double counting_error(double r, double h)
{
    return 6 * 1.29 * r * h * h;
}

static double shortfall(double r, double h)
{
    return 0.54 * r / (r + PROBE) * h * h * 4 * acos(-1.0) * r * r;
}

static void assert_volume(double got, double expected, double less, double more)
{
    if (!(got >= expected - less && got <= expected + more))
        fail_msg("%.4f instead of %.4f (-%.4f, +%.4f)", got, expected, less, more);
}

static void test_one_sphere(void **state)
{
    (void)state;
    for (int round = 0; round < 12; round++) {
        const double r = 0.8 + 2 * uniform(), h = 0.1 + 0.3 * uniform();
        const vf_grid grid = around(r + 2, h);
        balls b = {0};
        add(&b, uniform() - 0.5, uniform() - 0.5, uniform() - 0.5, r);
        assert_volume(solute(&b, &grid), ball_volume(r), counting_error(r, h), counting_error(r, h) + shortfall(r, h));
        assert_string_equal(fixture.log, "");
    }
}

/* In grids finer than half of 0.1 angstrom, the probe is tried on every second line or fewer. */
static void test_fine_grid(void **state)
{
    (void)state;
    const double r = 0.9, h = 0.045;
    const vf_grid grid = around(r + 0.1, h);
    balls b = {0};
    add(&b, 0, 0, 0, r);
    assert_volume(solute(&b, &grid), ball_volume(r), counting_error(r, h), counting_error(r, h) + shortfall(r, 2 * h));
}

/* No axis is special: lines along all three are tried, so swapping axes swaps everything. */
static void test_axes_are_alike(void **state)
{
    (void)state;
    const vf_grid grid = {.origin = {-5, -6, -4.5}, .spacing = {0.31, 0.4, 0.23}, .counts = {33, 29, 41}};
    balls b = {0};
    for (int i = 0; i < 40; i++)
        add(&b, 9 * uniform() - 4.5, 9 * uniform() - 4.5, 9 * uniform() - 4.5, 1 + uniform());
    const double volume = solvent(&b, &grid);
    for (int turn = 1; turn < 3; turn++) {
        balls turned = {0};
        vf_grid other = grid;
        for (int i = 0; i < 40; i++) {
            const double place[3] = {b.x[i], b.y[i], b.z[i]};
            add(&turned, place[turn], place[(turn + 1) % 3], place[(turn + 2) % 3], b.radius[i]);
        }
        for (int a = 0; a < 3; a++) {
            other.origin[a] = grid.origin[(a + turn) % 3];
            other.spacing[a] = grid.spacing[(a + turn) % 3];
            other.counts[a] = grid.counts[(a + turn) % 3];
        }
        /* Sums of squares in another order: a point or two within rounding of a surface may differ. */
        assert_true(fabs(solvent(&turned, &other) - volume) < 3 * cell(&grid));
    }
}

/* A sphere whose centre is in a face, an edge or a corner of the box: half, a quarter or an eighth of it is inside.
 * Points in the face are half a cell each; as whole ones they would add h/2 times the disc's area, more than twice what
 * is allowed. Mirrored in the faces, the points are those of a whole sphere, and so counting's error is shared, too.
 * But the position is not random, and the terms of its sum have the same sign: twice as much is allowed. */
static void test_sphere_in_faces(void **state)
{
    (void)state;
    for (int faces = 1; faces <= 3; faces++)
        for (int turn = 0; turn < 6; turn++) {
            const double r = 2 + 0.3 * uniform(), h = 0.14, share = ldexp(1, -faces);
            const vf_grid grid = around(r + 2, h);
            double centre[3];
            for (int n = 0; n < 3; n++) {
                const int a = (n + turn) % 3;
                centre[a] =
                    n >= faces ? uniform() - 0.5 : grid.origin[a] + (turn < 3 ? 0 : (double)(grid.counts[a] - 1) * h);
            }
            balls b = {0};
            add(&b, centre[0], centre[1], centre[2], r);
            const double error = 2 * counting_error(r, h) * share;
            assert_true(acos(-1.0) * r * r * share * h / 2 > 1.2 * error);
            assert_volume(solute(&b, &grid), ball_volume(r) * share, error, error + shortfall(r, h) * share);
        }
}

static void test_two_far_spheres(void **state)
{
    (void)state;
    const double r[2] = {1.2, 2.1}, h = 0.15;
    const vf_grid grid = around(8, h);
    balls b = {0};
    add(&b, -4, 1, 0.3, r[0]);
    add(&b, 3, -2, 1, r[1]);
    assert_volume(solute(&b, &grid), ball_volume(r[0]) + ball_volume(r[1]), counting_error(3.3, h),
                  counting_error(3.3, h) + shortfall(r[0], h) + shortfall(r[1], h));
}

/* Two spheres of radius r at a distance d < 2 R: the probe rolls about the axis on a ring of radius w = sqrt(R^2 -
 * d^2/4). Between the planes +-t, t = (d/2) 1.4/R, the solute's radius is w - sqrt(1.4^2 - x^2). *rolled becomes the
 * area of that part. */
static double two_spheres(double r, double d, double *rolled)
{
    const double pi = acos(-1.0), R = r + PROBE, w = sqrt(R * R - d * d / 4), t = d / 2 * PROBE / R;
    const double angle = asin(t / PROBE), segment = (t * sqrt(PROBE * PROBE - t * t) + PROBE * PROBE * angle) / 2;
    const double saddle = pi * ((w * w + PROBE * PROBE) * t - t * t * t / 3 - 2 * w * segment);
    const double u = t - d / 2; /* where the sphere at d/2 begins */
    const double cap = pi * (2 * r * r * r / 3 - r * r * u + u * u * u / 3);
    assert_true(w > PROBE); /* the ring does not meet itself */
    *rolled = 2 * pi * PROBE * (2 * w * angle - 2 * t);
    return 2 * (saddle + cap);
}

static void test_two_spheres_that_meet(void **state)
{
    (void)state;
    const double h = 0.08;
    for (int round = 0; round < 2; round++) {
        const double r = 1.5 + 0.3 * uniform(), d = 3.6 + 0.6 * uniform(), s = sqrt(1.5) * h;
        double rolled, direction[3], length = 0;
        for (int a = 0; a < 3; a++) {
            direction[a] = uniform() - 0.5;
            length += direction[a] * direction[a];
        }
        length = sqrt(length);
        for (int a = 0; a < 3; a++)
            direction[a] *= d / 2 / length;
        balls b = {0};
        add(&b, direction[0], direction[1], direction[2], r);
        add(&b, -direction[0], -direction[1], -direction[2], r);
        const vf_grid grid = around(d / 2 + r + 0.3, h);
        const double expected = two_spheres(r, d, &rolled), counting = 2 * counting_error(r, h);
        const double more = counting + 2 * shortfall(r, h) + rolled * s;
        /* The part that no sphere covers must exceed the bounds, or the test would detect nothing. */
        const double overlap = d < 2 * r ? acos(-1.0) / 12 * (4 * r + d) * (2 * r - d) * (2 * r - d) : 0;
        assert_true(expected - (2 * ball_volume(r) - overlap) > 1.4 * more);
        assert_volume(solute(&b, &grid), expected, counting, more);
    }
}

/* The probe and atoms may be outside the grid. So the contents of a grid's middle do not depend on its border, and
 * the volume of a grid is exactly the sum of those of two halves that share a plane of points. */
static void test_halves_make_the_whole(void **state)
{
    (void)state;
    balls b = {0};
    for (int i = 0; i < 40; i++)
        add(&b, 9 * uniform() - 4.5, 9 * uniform() - 4.5, 9 * uniform() - 4.5, 1 + uniform());
    for (int axis = 0; axis < 3; axis++) {
        const vf_grid whole = {.origin = {-5, -6, -4.5}, .spacing = {0.31, 0.4, 0.23}, .counts = {33, 29, 41}};
        vf_grid half[2] = {whole, whole};
        const int64_t cut = integer_between(1, whole.counts[axis] - 2);
        half[0].counts[axis] = cut + 1;
        half[1].counts[axis] -= cut;
        half[1].origin[axis] += (double)cut * whole.spacing[axis];
        const double all = solvent(&b, &whole) / cell(&whole);
        const double sum = (solvent(&b, &half[0]) + solvent(&b, &half[1])) / cell(&whole);
        assert_true(all > 1000 && all < (double)vf_grid_points(&whole) - 1000);
        /* Other origins round differently: a point or two within rounding of a surface may differ. */
        assert_true(fabs(all - sum) < 3);
    }
}

/* A cavity is solvent if the probe fits into it. Eight spheres at a cube's corners leave 0.06 more room in the middle
 * than the probe needs, or 0.05 less. The room for the probe's centre contains |x| + |y| + |z| <= 0.06 sqrt(3) =
 * 0.104. The probe is tried along lines h = 0.1 apart, so the nearest line is at most 0.05 away along each of two
 * axes, and always passes through the room. (With a room of 0.05 it may miss it; 1 seed in some hundred did.) */
static void test_cavities(void **state)
{
    (void)state;
    const double h = 0.1, half = 2.6;
    double volume[2];
    for (int fits = 0; fits < 2; fits++) {
        balls b = {0};
        const double r = half * sqrt(3) - PROBE + (fits ? -0.06 : 0.05);
        for (int corner = 0; corner < 8; corner++)
            add(&b, corner & 1 ? half : -half, corner & 2 ? half : -half, corner & 4 ? half : -half, r);
        const vf_grid grid = around(1.5, h);
        volume[fits] = solvent(&b, &grid);
    }
    assert_true(volume[0] == 0);
    /* At least one probe, less the error of counting. */
    assert_true(volume[1] >= ball_volume(PROBE) - counting_error(PROBE, h) - shortfall(PROBE, h));
}

static void test_missing_radii(void **state)
{
    (void)state;
    const vf_grid grid = around(4, 0.2);
    balls none = {0}, given = {0};
    add(&none, 0.1, 0, 0, 0);
    add(&given, 0.1, 0, 0, 1.5);
    const double volume = solvent(&none, &grid);
    assert_says(fixture.log, "note: |1 of 1 atom has|it counts as 1.5 A");
    assert_true(volume == solvent(&given, &grid));
    assert_string_equal(fixture.log, "");
}

static void test_far_away(void **state)
{
    (void)state;
    const vf_grid grid = around(2, 0.5), point = {.origin = {0, 0, 0}, .spacing = {0.5, 0.5, 0.5}, .counts = {1, 1, 1}};
    balls b = {0};
    add(&b, 900000, -1e9, 3, 2);
    assert_true(fabs(solute(&b, &grid)) <= 1e-12 * extent(&grid));
    add(&b, 0.1, 0.1, 0.1, 1);
    assert_true(solute(&b, &point) == cell(&point));
}

/* The same bits for any number of threads. */
static void test_threads(void **state)
{
    (void)state;
    const vf_grid grid = around(12, 0.3);
    balls b = {0};
    double volume[3];
    for (int i = 0; i < MOST; i++)
        add(&b, 20 * uniform() - 10, 20 * uniform() - 10, 20 * uniform() - 10, 1 + uniform());
    for (int t = 0; t < 3; t++) {
        assert_ok(vf_context_set_threads(fixture.ctx, 1 + 2 * t));
        volume[t] = solvent(&b, &grid);
    }
    assert_ok(vf_context_set_threads(fixture.ctx, 0));
    assert_true(volume[0] == volume[1] && volume[0] == volume[2]);
}

/* Last, because it cannot be undone. */
static void test_cancelled(void **state)
{
    (void)state;
    const vf_grid grid = around(4, 0.2);
    balls b = {0};
    double volume;
    add(&b, 0, 0, 0, 1);
    vf_context_cancel(fixture.ctx);
    assert_fails(solvent_volume(fresh(), &b.mol, NULL, &grid, &volume), VF_ERR_CANCELLED, "interrupted");
}

TEST_MAIN(ion_setup, ion_teardown, cmocka_unit_test(test_one_sphere), cmocka_unit_test(test_fine_grid),
          cmocka_unit_test(test_sphere_in_faces), cmocka_unit_test(test_axes_are_alike),
          cmocka_unit_test(test_two_far_spheres), cmocka_unit_test(test_two_spheres_that_meet),
          cmocka_unit_test(test_halves_make_the_whole), cmocka_unit_test(test_cavities),
          cmocka_unit_test(test_missing_radii), cmocka_unit_test(test_far_away), cmocka_unit_test(test_threads),
          cmocka_unit_test(test_cancelled))
