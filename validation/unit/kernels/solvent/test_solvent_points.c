/* The potential and the field in solvent between the points of the grid, against Kirkwood's sphere: charges in a sphere of another
 * dielectric.
 *
 * usage: test_solvent_points cpu [TEST...]
 *
 * What the solver's values are off at the grid's points of a zone, e, is measured here, so the bounds are of the interpolation alone, of
 * spacing h. D is the sum over axes of second derivatives, which the zone's points give. Between values of one side, linear
 * interpolation is off by h^2 D / 8, its gradient by h D / 2; a cubic by less. A value continued beyond the surface is off by h^2 D and by
 * 3 e, and the gradient of such values by 1 / h of that. So potentials: 2 e + h^2 D / 8 in a zone of one side, 3 e + 9/8 h^2 D next to the
 * surface; fields: 2 e / h + h D / 2, or 6 e / h + 5/2 h D, and half
 * of the field. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "queue_fixture.h"
#include "random_fixture.h"
#include "solvent_internal.h"

enum { CHARGES = 4, POINTS = 2000, TERMS = 60, ZONES = 4 };
enum { COULOMB, OUTSIDE, INSIDE };
static const double radius = 6, eps_m = 2, eps_s = 78.54, half = 24;
/* Without a dipole, of which the boundary knows nothing. */
static const double source[CHARGES][3] = {{3.7, 0.2, -0.3}, {-3.7, -0.2, 0.3}, {0.3, -2, -3}, {-0.3, 2, 3}},
                    charge[CHARGES] = {1, 1, -0.6, -0.6};
/* Deep in the sphere, below its surface, above it, far from it. */
static const double nearest[ZONES] = {1, 5.3, 6.001, 8}, farthest[ZONES] = {4, 5.999, 6.7, 12};

static double dot(const double *a, const double *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static double coulomb(const double r[3])
{
    double sum = 0;
    for (int k = 0; k < CHARGES; k++) {
        const double d[3] = {r[0] - source[k][0], r[1] - source[k][1], r[2] - source[k][2]};
        sum += charge[k] / (eps_m * sqrt(dot(d, d)));
    }
    return sum;
}

/* Kirkwood, J. Chem. Phys. 2 (1934) 351, without salt: in the sphere what the solvent adds to the Coulomb potential; outside the
 * potential. Or the Coulomb potential of the charges over eps_m. */
static double part_of(const double r[3], int part)
{
    const double d = sqrt(dot(r, r));
    double sum = 0;
    if (part == COULOMB)
        return coulomb(r);
    for (int k = 0; k < CHARGES; k++) {
        const double a = sqrt(dot(source[k], source[k])), x = dot(source[k], r) / (a * d);
        double before = 0, here = 1, power = 1;
        for (int l = 0; l < TERMS; l++) {
            const double factor = part == INSIDE ? (l + 1) * (eps_m - eps_s) / (eps_m * radius) : (2 * l + 1) / d;
            sum += charge[k] * factor * power * here / (l * eps_m + (l + 1) * eps_s);
            power *= part == INSIDE ? a * d / (radius * radius) : a / d;
            const double next = ((2 * l + 1) * x * here - l * before) / (l + 1);
            before = here;
            here = next;
        }
    }
    return sum;
}

/* Minus the gradient, by differences; returns the sum of the second derivatives' sizes. */
static double field_of(const double r[3], int part, double out[3])
{
    const double step = 1e-3, here = part_of(r, part);
    double bend = 0;
    for (int a = 0; a < 3; a++) {
        double up[3] = {r[0], r[1], r[2]}, down[3] = {r[0], r[1], r[2]};
        up[a] += step;
        down[a] -= step;
        const double high = part_of(up, part), low = part_of(down, part);
        out[a] = (low - high) / (2 * step);
        bend += fabs(high - 2 * here + low) / (step * step);
    }
    return bend;
}

static vf_solvent *solved(const vf_grid *grid)
{
    double x[CHARGES + 1] = {0}, y[CHARGES + 1] = {0}, z[CHARGES + 1] = {0}, q[CHARGES + 1] = {0}, r[CHARGES + 1];
    r[0] = radius; /* and the charges in it */
    for (int k = 0; k < CHARGES; k++) {
        x[k + 1] = source[k][0];
        y[k + 1] = source[k][1];
        z[k + 1] = source[k][2];
        q[k + 1] = charge[k];
        r[k + 1] = 1;
    }
    const vf_coulomb_atoms atoms = {CHARGES + 1, x, y, z, q};
    vf_solvent_options o = vf_solvent_defaults();
    o.molecule_dielectric = eps_m;
    o.solvent_dielectric = eps_s;
    o.kappa = 0;
    vf_solvent *plan;
    need(vf_solvent_create(device, grid, &atoms, r, &o, &plan));
    return plan;
}

static vf_grid cube(int64_t n)
{
    const double h = 2 * half / (double)(n - 1);
    return (vf_grid){
        .origin = {-half + 0.3 * h, -half - 0.2 * h, -half + 0.1 * h}, .spacing = {h, h, h}, .counts = {n, n, n}};
}

/* The rms error of u at the grid's points of a zone. */
static double grid_error(const vf_solvent *plan, const vf_grid *grid, int zone)
{
    const double *u = vf_solvent_unknown(plan);
    const int64_t n = grid->counts[0];
    double squares = 0;
    int64_t found = 0;
    for (int64_t i = 0; i < n * n * n; i++) {
        const double r[3] = {grid->origin[0] + grid->spacing[0] * (double)(i % n),
                             grid->origin[1] + grid->spacing[1] * (double)(i / n % n),
                             grid->origin[2] + grid->spacing[2] * (double)(i / n / n)};
        const double d = sqrt(dot(r, r)), wider = zone == 1 || zone == 2 ? 2 * grid->spacing[0] : 0;
        if (d < nearest[zone] - (zone == 1 ? wider : 0) || d > farthest[zone] + (zone == 2 ? wider : 0))
            continue;
        squares += pow(u[i] - part_of(r, zone < 2 ? INSIDE : OUTSIDE), 2);
        found++;
    }
    assert_true(found > 100);
    return sqrt(squares / (double)found);
}

static void random_points(int zone, double (*at)[3])
{
    for (int p = 0; p < POINTS; p++) {
        const double d = uniform_between(nearest[zone], farthest[zone]);
        double way[3], size;
        do {
            for (int a = 0; a < 3; a++)
                way[a] = uniform_between(-1, 1);
            size = sqrt(dot(way, way));
        } while (size > 1 || size < 0.1);
        for (int a = 0; a < 3; a++)
            at[p][a] = way[a] * d / size;
    }
}

static void check_zone(const vf_solvent *plan, const vf_grid *grid, int zone)
{
    static double at[POINTS][3], potential[POINTS], field[POINTS][3];
    const double h = grid->spacing[0], e = grid_error(plan, grid, zone), steep = zone == 1 || zone == 2;
    double off = 0, off_field = 0, bend = 0, size = 0;
    random_points(zone, at);
    for (int p = 0; p < POINTS; p++) {
        potential[p] = coulomb(at[p]);
        field_of(at[p], COULOMB, field[p]);
    }
    need(vf_solvent_add_at(plan, POINTS, at[0], false, 1, potential, field[0]));
    for (int p = 0; p < POINTS; p++) {
        double truth[3], own[3] = {0};
        const double g = zone < 2 ? coulomb(at[p]) : 0;
        bend += pow(field_of(at[p], zone < 2 ? INSIDE : OUTSIDE, truth), 2) / POINTS;
        if (zone < 2)
            field_of(at[p], COULOMB, own);
        off += pow(potential[p] - g - part_of(at[p], zone < 2 ? INSIDE : OUTSIDE), 2) / POINTS;
        for (int a = 0; a < 3; a++) {
            off_field += pow(field[p][a] - truth[a] - own[a], 2) / POINTS;
            size += pow(truth[a], 2) / POINTS;
        }
    }
    off = sqrt(off);
    off_field = sqrt(off_field);
    bend = sqrt(bend);
    const double most = steep ? 3 * e + 9. / 8 * h * h * bend : 2 * e + h * h * bend / 8;
    const double most_field = fmin(steep ? 6 * e / h + 2.5 * h * bend : 2 * e / h + h * bend / 2, sqrt(size) / 2);
    print_message("spacing %g, zone %d: potential off by %.2g, at most %.2g; field by %.2g of %.2g, at most %.2g\n", h,
                  zone, off, most, off_field, sqrt(size), most_field);
    assert_true(off <= most && off_field <= most_field); /* NaN fails */
}

static void test_kirkwood(void **state)
{
    (void)state;
    for (int n = 49; n <= 97; n += 48) {
        const vf_grid grid = cube(n);
        vf_solvent *plan = solved(&grid);
        for (int zone = 0; zone < ZONES; zone++)
            check_zone(plan, &grid, zone);
        vf_solvent_destroy(plan);
    }
}

/* At the grid's points the values are those of the map; at the charges those of vf_solvent_reaction, whatever was there before. */
static void test_grid_points(void **state)
{
    (void)state;
    const vf_grid grid = cube(41);
    vf_solvent *plan = solved(&grid);
    const double *u = vf_solvent_unknown(plan);
    const uint8_t *inside = vf_solvent_inside(plan);
    double reaction[CHARGES], x[CHARGES], y[CHARGES], z[CHARGES];
    double at_charges[CHARGES] = {5, 5, 5, 5};
    for (int64_t i = 0; i < 41 * 41 * 41; i += 7) {
        const int64_t index[3] = {i % 41, i / 41 % 41, i / 41 / 41};
        double r[3], value = 5;
        for (int a = 0; a < 3; a++)
            r[a] = grid.origin[a] + grid.spacing[a] * (double)index[a];
        need(vf_solvent_add_at(plan, 1, r, false, 3, &value, NULL));
        const double wanted = (inside[i] ? 5 : 0) + 3 * u[i];
        assert_true(fabs(value - wanted) <= 1e-9); /* the place in the cell is rounded, 1e-13 of a spacing */
    }
    for (int k = 0; k < CHARGES; k++) {
        x[k] = source[k][0];
        y[k] = source[k][1];
        z[k] = source[k][2];
    }
    need(vf_solvent_reaction(plan, CHARGES, x, y, z, reaction));
    need(vf_solvent_add_at(plan, CHARGES, source[0], true, 1, at_charges, NULL));
    for (int k = 0; k < CHARGES; k++)
        assert_true(at_charges[k] == 5 + reaction[k]);
    vf_solvent_destroy(plan);
}

/* ---- the field at the grid's points ---- */

static int64_t number(const vf_grid *g, const int64_t at[3])
{
    return (at[2] * g->counts[1] + at[1]) * g->counts[0] + at[0];
}

static void place_of(const vf_grid *g, const int64_t at[3], double r[3])
{
    for (int a = 0; a < 3; a++)
        r[a] = g->origin[a] + g->spacing[a] * (double)at[a];
}

/* How many points in a row along an axis, this one among them, are of its side. */
static int64_t run_of(const vf_solvent *plan, const vf_grid *g, const int64_t at[3], int axis)
{
    const uint8_t *inside = vf_solvent_inside(plan);
    int64_t run = 1;
    for (int way = -1; way <= 1; way += 2) {
        int64_t next[3] = {at[0], at[1], at[2]};
        for (next[axis] += way; next[axis] >= 0 && next[axis] < g->counts[axis]; next[axis] += way, run++)
            if (inside[number(g, next)] != inside[number(g, at)])
                break;
    }
    return run;
}

/* Two polynomials of second degree, one a side; returns minus the slope along an axis. */
static double polynomial(bool inside, const double r[3], int axis, double *slope)
{
    static const double line[2][3] = {{0.02, -0.03, 0.05}, {-0.4, 0.7, 0.1}},
                        bend[2][3] = {{0.001, 0.002, -0.003}, {0.03, -0.05, 0.02}};
    double value = inside;
    for (int a = 0; a < 3; a++)
        value += line[inside][a] * r[a] + bend[inside][a] * r[a] * r[a] + 1e-3 * r[a] * r[(a + 1) % 3];
    *slope = -(line[inside][axis] + 2 * bend[inside][axis] * r[axis] + 1e-3 * (r[(axis + 1) % 3] + r[(axis + 2) % 3]));
    return value;
}

/* Of second degree the differences are exact, up to the surface and the rim, if three points in a row are of a side: values of 100, rounded,
 * over a spacing of 1. Of two in a row they are off by half of the second derivative, 0.05 at most. */
static void test_field_is_of_second_order(void **state)
{
    (void)state;
    const vf_grid grid = cube(49);
    const vf_box all = vf_grid_box(&grid);
    vf_solvent *plan = solved(&grid);
    const uint8_t *inside = vf_solvent_inside(plan);
    double(*field)[3] = calloc((size_t)vf_grid_points(&grid), sizeof *field), *u = plan->unknown.data, slope;
    assert_non_null(field);
    for (int64_t n = 0; n < vf_grid_points(&grid); n++) {
        double r[3];
        place_of(&grid, (int64_t[3]){n % 49, n / 49 % 49, n / 49 / 49}, r);
        u[n] = polynomial(inside[n], r, 0, &slope);
        for (int a = 0; a < 3; a++)
            field[n][a] = inside[n] ? 7 : NAN; /* what is outside does not count */
    }
    need(vf_solvent_add_field(plan, &all, 2, field[0]));
    int64_t thin = 0, edge = 0;
    for (int64_t n = 0; n < vf_grid_points(&grid); n++) {
        const int64_t at[3] = {n % 49, n / 49 % 49, n / 49 / 49};
        double r[3];
        place_of(&grid, at, r);
        for (int a = 0; a < 3; a++) {
            const int64_t run = run_of(plan, &grid, at, a);
            (void)polynomial(inside[n], r, a, &slope);
            const double off = fabs(field[n][a] - (inside[n] ? 7 : 0) - 2 * slope);
            thin += run < 3;
            edge += at[a] == 0;
            assert_true(off <= (run >= 3 ? 1e-11 : 2 * 0.0501) || run == 1);
        }
    }
    assert_true(thin < 100 && edge == 3 * 49 * 49);
    free(field);
    vf_solvent_destroy(plan);
}

/* The solver's solution, at the points of a zone. Differences of values that are off by e each are off by 4 e / h at most, and by
 * h^2 / 3 of the third derivative, which over the second is at most 5 / (radius - d) or 5 / d of these charges' series: less than 2 here. */
static void check_field(const vf_solvent *plan, const vf_grid *grid, int zone)
{
    const double h = grid->spacing[0], e = grid_error(plan, grid, zone);
    const vf_box all = vf_grid_box(grid);
    double(*field)[3] = calloc((size_t)vf_grid_points(grid), sizeof *field), off = 0, size = 0, bend = 0;
    int64_t found = 0;
    assert_non_null(field);
    need(vf_solvent_add_field(plan, &all, 1, field[0]));
    for (int64_t n = 0; n < vf_grid_points(grid); n++) {
        const int64_t *c = grid->counts, at[3] = {n % c[0], n / c[0] % c[1], n / c[0] / c[1]};
        double r[3], truth[3];
        place_of(grid, at, r);
        const double d = sqrt(dot(r, r));
        if (d < nearest[zone] || d > farthest[zone])
            continue;
        bend += pow(field_of(r, zone < 2 ? INSIDE : OUTSIDE, truth), 2);
        for (int a = 0; a < 3; a++) {
            off += pow(field[n][a] - truth[a], 2);
            size += pow(truth[a], 2);
        }
        found++;
    }
    assert_true(found > 100);
    off = sqrt(off / (double)found);
    size = sqrt(size / (double)found);
    const double most = fmin(4 * sqrt(3) * e / h + h * h / 3 * 2 * sqrt(bend / (double)found), size / 2);
    print_message("spacing %g, zone %d: field of the grid off by %.2g of %.2g, at most %.2g\n", h, zone, off, size,
                  most);
    assert_true(off <= most); /* NaN fails */
    free(field);
}

static void test_field_of_kirkwood(void **state)
{
    (void)state;
    for (int n = 49; n <= 97; n += 48) {
        const vf_grid grid = cube(n);
        vf_solvent *plan = solved(&grid);
        for (int zone = 0; zone < ZONES; zone++)
            check_field(plan, &grid, zone);
        vf_solvent_destroy(plan);
    }
}

static void test_threads_and_refusals(void **state)
{
    (void)state;
    static double at[POINTS][3], first[POINTS], second[POINTS], field[2][POINTS][3], grid_field[POINTS][3];
    const vf_grid grid = cube(33);
    const vf_box some = {{10, 9, 8}, {20, 29, 18}}, beyond = {{0, 0, 0}, {33, 33, 34}}; /* of POINTS points */
    vf_solvent *plan = solved(&grid);
    random_points(1, at);
    for (int threads = 1; threads <= 3; threads++) {
        need(vf_context_set_threads(ctx, threads));
        memset(second, 0, sizeof second);
        memset(field[1], 0, sizeof field[1]);
        need(vf_solvent_add_at(plan, POINTS, at[0], false, 1, second, field[1][0]));
        assert_true(threads == 1 ||
                    (!memcmp(first, second, sizeof first) && !memcmp(field[0], field[1], sizeof field[0])));
        memcpy(first, second, sizeof first);
        memcpy(field[0], field[1], sizeof field[0]);
        memset(field[1], 0, sizeof field[1]);
        need(vf_solvent_add_field(plan, &some, 1, field[1][0]));
        assert_true(threads == 1 || !memcmp(grid_field, field[1], sizeof grid_field));
        memcpy(grid_field, field[1], sizeof grid_field);
    }
    need(vf_context_set_threads(ctx, 0));
    at[2][1] = -30;
    refused(vf_solvent_add_at(plan, POINTS, at[0], false, 1, first, NULL), "point 3 at");
    at[2][1] = NAN;
    refused(vf_solvent_add_at(plan, POINTS, at[0], false, 1, first, NULL), "point 3 at");
    assert_true(memcmp(first, second, sizeof first) == 0); /* refused before any work */
    refused(vf_solvent_reaction(plan, 2, (double[]){0, 99}, (double[]){0, 0}, (double[]){0, 0}, second), "atom 2 at");
    refused(vf_solvent_add_field(plan, &beyond, 1, field[0][0]), "box of the field");
    vf_solvent_destroy(plan);
}

DEVICE_MAIN(NULL, NULL, cmocka_unit_test(test_kirkwood), cmocka_unit_test(test_grid_points),
            cmocka_unit_test(test_field_is_of_second_order), cmocka_unit_test(test_field_of_kirkwood),

            cmocka_unit_test(test_threads_and_refusals))
