/* The non-linear Poisson-Boltzmann equation against a solution in one dimension, and against what it must do.
 *
 * usage: test_solvent_nonlinear cpu|cuda [TEST...]
 *
 * On the grid ions reach the points outside of the atoms' spheres grown by their radius. That surface is off by up to half a spacing
 * in one place, and by much less on average. So bounds say by how much it may seem to be moved: what the solution in one dimension
 * changes by then. The rest of the error is second order: that of Born's ion, which the energy without salt has, too. */
#include <math.h>

#include "sphere_fixture.h"

enum { STEPS = 64 };

/* ---- against one dimension ---- */

/* The largest error of the potential beyond the ions' surface. */
static double profile_error(const vf_solvent *plan, const radial *truth, const vf_grid *grid)
{
    const double *u = vf_solvent_unknown(plan);
    double most = 0;
    for (int64_t n = 0; n < vf_grid_points(grid); n++) {
        double r2 = 0;
        const int64_t index[3] = {n % grid->counts[0], n / grid->counts[0] % grid->counts[1],
                                  n / grid->counts[0] / grid->counts[1]};
        for (int a = 0; a < 3; a++) {
            const double x = grid->origin[a] + grid->spacing[a] * (double)index[a];
            r2 += x * x;
        }
        assert_true(isfinite(u[n]));
        if (r2 >= truth->contact * truth->contact)
            most = fmax(most, fabs(u[n] - radial_phi(truth, sqrt(r2))));
    }
    return most;
}

enum { TOTAL, FIXED, OSMOTIC, PARTS };

/* What salt adds to the parts of the energy. */
static void parts_of(const vf_solvent_energy *e, const vf_solvent_energy *without, double part[PARTS])
{
    part[TOTAL] = e->total - without->total;
    part[FIXED] = e->fixed - without->fixed;
    part[OSMOTIC] = e->osmotic - without->osmotic;
}

/* The same in one dimension, of ions that keep `more` away. */
static void exact_parts(double charge, double radius, const vf_solvent_options *o, double more, double part[PARTS])
{
    static radial s;
    const double born = charge * charge / radius * (1 / o->solvent_dielectric - 1 / o->molecule_dielectric);
    vf_solvent_options moved = *o;
    moved.stern += more;
    radial_solve(&s, charge, radius, &moved);
    const vf_solvent_energy e = radial_energy(&s), without = {.total = born / 2, .fixed = born};
    parts_of(&e, &without, part);
}

static void check_energies(const vf_solvent_energy *e, double charge, double radius, double half, int64_t n,
                           const vf_solvent_options *o)
{
    static const char *const name[PARTS] = {"total", "fixed", "osmotic"};
    const double h = 2 * half / (double)(n - 1);
    double part[PARTS], exact[PARTS], nearer[PARTS], farther[PARTS];
    vf_solvent_options none = *o;
    none.non_linear = false;
    none.kappa = 0;
    const vf_solvent_energy without = sphere_energy(charge, radius, half, n, &none);
    parts_of(e, &without, part);
    exact_parts(charge, radius, o, 0, exact);
    exact_parts(charge, radius, o, -h / 4, nearer);
    exact_parts(charge, radius, o, h / 4, farther);
    for (int i = 0; i < PARTS; i++) {
        print_message("    salt in %s: %+.2f %%, of %+.2f %%\n", name[i], 100 * (part[i] / exact[i] - 1),
                      50 * fabs((farther[i] - nearer[i]) / exact[i]));
        assert_true(fabs(part[i] - exact[i]) <= fabs(farther[i] - nearer[i]) / 2);
    }
}

/* The ions' surface may seem to be h / 4 off. The sum of ions is the charge of the sphere but
 * for those beyond the grid, a part of (1 + kappa r) / (1 + kappa a) exp(-kappa (r - a)) outside of r by the linear equation, and 1 %:
 * the charge itself is seen through finite differences of 1 / r on the sphere, (h / R)^2 / 12. */
static void check_sphere(double charge, double radius, const vf_solvent_ion ion[2])
{
    static radial truth;
    const double half = 24;
    const int64_t n = 65;
    const vf_grid grid = cube(half, n);
    const vf_solvent_options o = salted(ion, true);
    radial_solve(&truth, charge, radius, &o);
    vf_solvent *plan = sphere(charge, radius, half, n, &o);
    const vf_solvent_energy e = energy_of(plan, charge);
    const vf_solvent_result result = vf_solvent_outcome(plan);
    const double error = profile_error(plan, &truth, &grid), a = truth.contact;
    const double field = fabs(charge) / (o.solvent_dielectric * a * a);
    const double beyond = (1 + o.kappa * half) / (1 + o.kappa * a) * exp(-o.kappa * (half - a));
    print_message(
        "%+g e, ions of %g and %g: %.3f k T / e at the ions' surface, off by %.3f, of %.3f; %d steps, %d in all\n",
        charge, ion[0].charge, ion[1].charge, truth.phi[0] * o.bjerrum, error * o.bjerrum,
        field * grid.spacing[0] / 4 * o.bjerrum, result.steps, result.iterations);
    assert_true(error <= field * grid.spacing[0] / 4);
    assert_true(fabs(e.ions / charge + 1) <= beyond + 0.01);
    assert_true(fabs(e.fixed + e.stress + e.osmotic - e.total) <= 1e-12 * fabs(e.total));
    assert_true(result.steps > 0 && result.steps <= 10 && result.residual <= o.tolerance);
    check_energies(&e, charge, radius, half, n, &o);
    vf_solvent_destroy(plan);
}

static void test_sphere(void **state)
{
    (void)state;
    for (int sign = -1; sign < 2; sign += 2) {
        check_sphere(5 * sign, 2, one_one);
        check_sphere(5 * sign, 2, two_one);
        check_sphere(20 * sign, 4, one_one);
        check_sphere(20 * sign, 4, two_one);
    }
}

/* That one dimension is right: beside a plane of charge sigma = Q / (4 pi a^2), which a sphere of many Debye lengths is, Gouy and Chapman
 * have 2 asinh(2 pi l sigma / (eps_s kappa)) k T / e. Curvature adds terms of 1 / (kappa a), 2e-5 here; the points leave 1e-5. */
static void test_gouy_chapman(void **state)
{
    (void)state;
    static radial s;
    const double pi = 3.14159265358979323846;
    const vf_solvent_options o = salted(one_one, true);
    const double a = 5e4 / o.kappa, sigma = 0.02;
    radial_solve(&s, 4 * pi * a * a * sigma, a - o.stern, &o);
    const double exact = 2 * asinh(2 * pi * o.bjerrum * sigma / (o.solvent_dielectric * o.kappa));
    print_message("Gouy and Chapman: %.6f, one dimension: %.6f\n", exact, s.phi[0] * o.bjerrum);
    assert_true(fabs(s.phi[0] * o.bjerrum / exact - 1) <= 5e-5);
}

/* ---- what must be so ---- */

/* The same bits with the sign changed: sums of two are. */
static void test_odd(void **state)
{
    (void)state;
    const vf_solvent_options o = salted(one_one, true);
    vf_solvent *plus = sphere(12, 3, 15, 33, &o), *minus = sphere(-12, 3, 15, 33, &o);
    const double *u = vf_solvent_unknown(plus), *v = vf_solvent_unknown(minus);
    double largest = 0, difference = 0;
    for (int64_t i = 0; i < 33 * 33 * 33; i++) {
        largest = fmax(largest, fabs(u[i]));
        difference = fmax(difference, fabs(u[i] + v[i]));
    }
    print_message("odd: %.2g of %.2g\n", difference, largest);
    assert_true(largest > 0.1 && difference <= o.tolerance * largest);
    vf_solvent_destroy(plus);
    vf_solvent_destroy(minus);
}

/* u of a small charge, non-linear less linear, at the charge. */
static double beyond_linear(double charge, const vf_solvent_ion ion[2])
{
    double u[2];
    for (int i = 0; i < 2; i++) {
        vf_solvent_options o = salted(ion, i);
        o.tolerance = 1e-12;
        vf_solvent *plan = sphere(charge, 2, 12, 25, &o);
        const double zero = 0;
        need(vf_solvent_reaction(plan, 1, &zero, &zero, &zero, u + i));
        vf_solvent_destroy(plan);
    }
    return u[1] - u[0];
}

/* exp's next term is of the square of the charge, for a symmetric salt of the cube. The term after that is smaller by the square of
 * the potential (symmetric) or by the potential in k T / e, at most 0.1 for 0.1 e; the solver leaves 1e-12 of 0.05, and the
 * difference is 1e-7 or more. */
static void test_weak(void **state)
{
    (void)state;
    for (int salt = 0; salt < 2; salt++) {
        const vf_solvent_ion *ion = salt ? two_one : one_one;
        const double whole = beyond_linear(0.1, ion), half = beyond_linear(0.05, ion);
        print_message("weak charges: %.3g, of half the charge %.3g: a ratio of %.3f\n", whole, half, whole / half);
        assert_true(fabs(whole) >= 1e-9 && fabs(whole / half / (salt ? 4 : 8) - 1) <= (salt ? 0.1 : 0.01));
    }
}

/* The residuals that `tell` sees. */
typedef struct history {
    int steps, stop_at;
    double residual[STEPS];
} history;

static bool note(void *user, int step, double residual)
{
    history *h = user;
    assert_true(step == h->steps && step < STEPS);
    h->residual[h->steps++] = residual;
    return step == h->stop_at;
}

/* Newton's method: residuals fall from the first step on, and in the end with the order 2: each step's equation is solved to the residual
 * before it. The order is known to a tenth from three residuals while they are above what rounding leaves, 1e-13. */
static void test_quadratic(void **state)
{
    (void)state;
    double order = 0;
    history h = {.stop_at = -1};
    vf_solvent_options o = salted(two_one, true);
    o.tolerance = 1e-11;
    o.tell = note;
    o.user = &h;
    vf_solvent_destroy(sphere(-20, 4, 18, 49, &o));
    for (int i = 1; i < h.steps; i++) {
        const double *r = h.residual + i;
        assert_true(r[0] < r[-1]);
        if (i > 1 && r[-1] > 1e-7) /* the next is above 1e-13 then */
            order = log(r[0] / r[-1]) / log(r[-1] / r[-2]);
        print_message("step %d: residual %.2g\n", i, r[0]);
    }
    print_message("order %.2f\n", order);
    assert_true(order >= 1.6 && h.residual[h.steps - 1] <= o.tolerance);
}

/* The functional's derivative by the charges at the solution is phi at the charges: with charges f q, dG / df = sum q u(f). So the energy
 * is the integral of that over f, here by Gauss and Legendre with 8 points, which leave less than 1e-4 of what salt adds. Both are
 * of one grid, whose equation is the derivative of its sums, so the place of the ions' surface drops out. Only u at the charges is
 * interpolated, to 1e-3 of what salt adds to it: (h / R)^2 of its change within the molecule, a hundredth. */
static void test_charging(void **state)
{
    (void)state;
    static const double point[4] = {0.1834346424956498, 0.5255324099163290, 0.7966664774136267, 0.9602898564975363};
    static const double weight[4] = {0.3626837833783620, 0.3137066458778873, 0.2223810344533745, 0.1012285362903763};
    const double x[3] = {-4, 0.5, 4}, y[3] = {0.3, 2, -0.2}, z[3] = {1, 0, -1}, q[3] = {6, -2, 5},
                 radius[3] = {2, 2.5, 2};
    const vf_grid grid = cube(20, 49);
    double integral = 0, whole = 0, none = 0;
    for (int i = -2; i < 8; i++) { /* no salt, all charges, the points */
        const double factor = i < 0 ? 1 : (1 + (i % 2 ? point[i / 2] : -point[i / 2])) / 2;
        const double charge[3] = {factor * q[0], factor * q[1], factor * q[2]};
        const vf_coulomb_atoms atoms = {3, x, y, z, charge};
        vf_solvent_options o = salted(two_one, i > -2);
        vf_solvent *plan;
        vf_solvent_energy e;
        o.kappa *= i > -2;
        need(vf_solvent_create(device, &grid, &atoms, radius, &o, &plan));
        need(vf_solvent_energies(plan, &atoms, &e, NULL));
        if (i < 0)
            *(i == -2 ? &none : &whole) = e.total;
        else
            integral += weight[i / 2] / 2 * e.fixed / factor;
        vf_solvent_destroy(plan);
    }
    print_message("salt: %.6f, by charging: %.6f\n", whole - none, integral - none);
    assert_true(fabs(whole - none) > 0.01 && fabs((integral - whole) / (whole - none)) <= 0.002);
}

/* Charges that ions touch, where the linear equation has up to 180 k T / e. The charge of the ions is as in test_sphere, of coarser
 * spheres: (h / R)^2 is 1 / 16, and over half a cell at the surface the potential changes by 3 k T / e, so 10 %. */
static void test_strong(void **state)
{
    (void)state;
    static const vf_solvent_ion three_one[] = {{3, 0.1}, {-1, 0.3}};
    const vf_solvent_ion *const salts[] = {one_one, two_one, three_one};
    for (int salt = 0; salt < 3; salt++)
        for (int sign = -1; sign < 2; sign += 2) {
            vf_solvent_options o = salted(salts[salt], true);
            o.stern = 0;
            vf_solvent *plan = sphere(100 * sign, 4, 24, 49, &o);
            const vf_solvent_result result = vf_solvent_outcome(plan);
            const vf_solvent_energy e = energy_of(plan, 100 * sign);
            print_message("%+d e, salt %d: ions of %.2f e, %d steps, %d iterations in all\n", 100 * sign, salt, e.ions,
                          result.steps, result.iterations);
            assert_true(result.edge > 0 && result.edge < 1);
            assert_true(isfinite(e.total) && e.total < 0 && result.residual <= o.tolerance);
            assert_true(result.steps > 0 && result.steps <= 15);
            assert_true(fabs(e.ions + 100 * sign) <= 10);
            vf_solvent_destroy(plan);
        }
}

/* Little salt, of which divalent ions are repelled: from so low a start the first full steps go far beyond the solution, whence undamped
 * ones come back by 1 k T / e each, in 29. */
static void test_damping(void **state)
{
    (void)state;
    vf_solvent_options o = salted((vf_solvent_ion[]){{2, 1.45e-3}, {-1, 2.9e-3}}, true);
    o.stern = 0;
    o.molecule_dielectric = 20;
    vf_solvent *plan = sphere(16.64, 1.73, 24, 33, &o);
    print_message("damped: %d steps\n", vf_solvent_outcome(plan).steps);
    assert_true(vf_solvent_outcome(plan).steps <= 12);
    vf_solvent_destroy(plan);
}

enum { PAIRS = 20, PHOSPHATES = 2 * PAIRS, AXIS = 2 * PAIRS - 1, ROD = PHOSPHATES + AXIS };

/* The phosphates of B-DNA on their helices, 3.38 A and 36 degrees a pair, the strands 154 degrees apart, around an axis without charge. */
static void fill_rod(double x[ROD], double y[ROD], double z[ROD], double charge[ROD], double radius[ROD])
{
    for (int i = 0; i < PHOSPHATES; i++) {
        const double angle = (36.0 * (i / 2) + (i % 2 ? 154 : 0)) * 3.14159265358979323846 / 180;
        x[i] = 8.9 * cos(angle);
        y[i] = 8.9 * sin(angle);
        z[i] = 3.38 * (i / 2 - (PAIRS - 1) / 2.0);
        charge[i] = -1;
        radius[i] = 2.1;
    }
    for (int i = PHOSPHATES; i < ROD; i++) {
        x[i] = y[i] = charge[i] = 0;
        z[i] = 1.69 * (i - PHOSPHATES - (AXIS - 1) / 2.0);
        radius[i] = 8;
    }
}

typedef struct rod_outcome {
    vf_solvent_result result;
    vf_solvent_energy energy;
    double most; /* the largest potential in the solvent, k T / e */
} rod_outcome;

static rod_outcome solve_rod(const vf_solvent_options *o)
{
    double x[ROD], y[ROD], z[ROD], charge[ROD], radius[ROD];
    const vf_coulomb_atoms atoms = {ROD, x, y, z, charge};
    const vf_grid grid = cube(48, SANITIZED ? 49 : 97);
    rod_outcome outcome = {.most = 0};
    vf_solvent *plan;
    fill_rod(x, y, z, charge, radius);
    need(vf_solvent_create(device, &grid, &atoms, radius, o, &plan));
    need(vf_solvent_energies(plan, &atoms, &outcome.energy, NULL));
    outcome.result = vf_solvent_outcome(plan);
    for (int64_t i = 0; i < vf_grid_points(&grid); i++)
        if (!vf_solvent_inside(plan)[i])
            outcome.most = fmax(outcome.most, fabs(vf_solvent_unknown(plan)[i]) * o->bjerrum);
    vf_solvent_destroy(plan);
    return outcome;
}

/* A rod with 2 e every 3.38 A, four times what a line holds before ions condense on it (Manning), which costs less than two linear
 * solutions. The functional is at its maximum for a solution, and pi_o at least that of the linear equation where the ions attracted
 * have as much charge as the others or more: so the energy is lower, and the potential smaller. */
static void test_rod(void **state)
{
    (void)state;
    static const vf_solvent_ion salts[][2] = {{{1, 0.15}, {-1, 0.15}}, {{2, 0.05}, {-1, 0.1}}, {{1, 0.05}, {-1, 0.05}}};
    for (int salt = 0; salt < 3; salt++) {
        vf_solvent_options o = salted(salts[salt], false);
        const rod_outcome linear = solve_rod(&o);
        o.non_linear = true;
        const rod_outcome full = solve_rod(&o);
        print_message("rod of %d e, ions of %g e, %g mol/L: linear %d iterations, %.2f k T / e; non-linear %d steps, "
                      "%d iterations, "
                      "%.2f k T / e, edge %.2f; energy %.2f and %.2f k T, ions %.2f and %.2f e\n",
                      PHOSPHATES, salts[salt][0].charge, salts[salt][0].concentration, linear.result.iterations,
                      linear.most, full.result.steps, full.result.iterations, full.most, full.result.edge,
                      linear.energy.total * o.bjerrum, full.energy.total * o.bjerrum, linear.energy.ions,
                      full.energy.ions);
        assert_true(full.result.steps <= 6 && full.result.iterations <= 2 * linear.result.iterations);
        assert_true(full.most < linear.most && full.energy.total < linear.energy.total);
        assert_true(full.energy.ions > linear.energy.ions && full.energy.ions <= 1.01 * PHOSPHATES);
    }
}

static void test_threads(void **state)
{
    (void)state;
    const vf_solvent_options o = salted(two_one, true);
    const size_t points = 33 * 33 * 33;
    double *first = malloc(points * sizeof *first);
    vf_solvent_energy energy = {0};
    assert_non_null(first);
    for (int threads = 1; threads <= 3; threads++) {
        need(vf_context_set_threads(ctx, threads));
        vf_solvent *plan = sphere(-12, 3, 15, 33, &o);
        const vf_solvent_energy e = energy_of(plan, -12);
        if (threads == 1) {
            memcpy(first, vf_solvent_unknown(plan), points * sizeof *first);
            energy = e;
        }
        assert_true(memcmp(first, vf_solvent_unknown(plan), points * sizeof *first) == 0);
        assert_true(memcmp(&energy, &e, sizeof e) == 0);
        vf_solvent_destroy(plan);
    }
    free(first);
    need(vf_context_set_threads(ctx, 0));
}

/* No map without a solution. */
static void test_failures(void **state)
{
    (void)state;
    history h = {.stop_at = 2};
    vf_solvent *plan;
    vf_solvent_options o = salted(two_one, true);
    o.steps = 3;
    expect_error(try_sphere(-20, 4, 18, 33, &o, &plan), VF_ERR_INTERNAL, "did not converge in 3 steps");
    assert_null(plan);
    o.steps = 50;
    o.iterations = 1;
    expect_error(try_sphere(-20, 4, 18, 33, &o, &plan), VF_ERR_INTERNAL, "did not converge in 1 iterations");
    o.iterations = 100;
    o.tolerance = 1e-30; /* less than rounding leaves */
    expect_error(try_sphere(-5, 4, 18, 33, &o, &plan), VF_ERR_INTERNAL, "the non-linear equation of the solvent");
    assert_null(plan);
    o.tolerance = 1e-6;
    o.tell = note;
    o.user = &h;
    expect_error(try_sphere(-20, 4, 18, 33, &o, &plan), VF_ERR_CANCELLED, "interrupted");
    assert_int_equal(h.steps, 3);
    o = salted((vf_solvent_ion[]){{1, 1e-4}, {-1, 1e-4}},
               true); /* 100 * 7.14 A / 24 A at the edge, all but unscreened */
    expect_error(try_sphere(100, 4, 24, 33, &o, &plan), VF_ERR_ARGUMENT, "at the edge of the grid");
    assert_null(plan);
    o = salted((vf_solvent_ion[]){{1, 1e-22}, {-1, 1e-22}}, true); /* so few that they cannot screen 50 k T / e */
    o.stern = 0;
    expect_error(try_sphere(-8, 1.1, 16, 49, &o, &plan), VF_ERR_INTERNAL, "does not hold");
    assert_null(plan);
}

DEVICE_MAIN(NULL, NULL, cmocka_unit_test(test_sphere), cmocka_unit_test(test_gouy_chapman), cmocka_unit_test(test_odd),
            cmocka_unit_test(test_weak), cmocka_unit_test(test_quadratic), cmocka_unit_test(test_charging),
            cmocka_unit_test(test_strong), cmocka_unit_test(test_damping), cmocka_unit_test(test_rod),
            cmocka_unit_test(test_threads), cmocka_unit_test(test_failures))
