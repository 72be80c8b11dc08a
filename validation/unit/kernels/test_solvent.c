/* Potentials in solvent against Born's ion and Kirkwood's sphere, with and without salt, and their order of convergence.
 *
 * usage: test_solvent cpu|cuda [TEST...]
 *
 * Energies are second order in the spacing h. Bounds: those that the kernel was written to, 0.5 % of Born's ion of 3 A at 0.75 A,
 * falling with h^2, and 1.2 % of Kirkwood's sphere of 10 A at 1.25 A. The solver leaves 1e-6 and G 1e-6, both less. */
#include <math.h>

#include "queue_fixture.h"
#include "solvent.h"
#include "solvent_truth.h"

enum { MOST = 8 };

typedef struct molecule_in {
    int64_t count;
    double x[MOST], y[MOST], z[MOST], charge[MOST], radius[MOST];
} molecule_in;

static vf_solvent *solved(const molecule_in *m, double half, int64_t n, const double shift[3],
                          const vf_solvent_options *o)
{
    const vf_coulomb_atoms charges = {m->count, m->x, m->y, m->z, m->charge};
    const double h = 2 * half / (double)(n - 1);
    vf_grid grid = {.spacing = {h, h, h}, .counts = {n, n, n}};
    for (int a = 0; a < 3; a++)
        grid.origin[a] = -half + shift[a] * h;
    vf_solvent *plan;
    need(vf_solvent_create(device, &grid, &charges, m->radius, o, &plan));
    return plan;
}

/* Sum q u / 2. */
static double energy(const molecule_in *m, double half, int64_t n, const double shift[3], const vf_solvent_options *o)
{
    double u[MOST], sum = 0;
    vf_solvent *plan = solved(m, half, n, shift, o);
    need(vf_solvent_reaction(plan, m->count, m->x, m->y, m->z, u));
    const vf_solvent_result result = vf_solvent_outcome(plan);
    assert_true(result.iterations <= 20 && result.residual <= o->tolerance && result.cut > 0);
    for (int i = 0; i < m->count; i++)
        sum += m->charge[i] * u[i] / 2;
    vf_solvent_destroy(plan);
    return sum;
}

static vf_solvent_options options(double molecule, double solvent, double kappa)
{
    vf_solvent_options o = vf_solvent_defaults();
    o.molecule_dielectric = molecule;
    o.solvent_dielectric = solvent;
    o.kappa = kappa;
    return o;
}

/* An ion of radius R: u = q / R (1 / eps_s - 1 / eps_m) - q kappa / (eps_s (1 + kappa a)), a = R + the ion's. */
static void test_born(void **state)
{
    (void)state;
    const molecule_in ion = {1, {0.1}, {-0.05}, {0.2}, {1}, {3}};
    static const double shifts[][3] = {{0, 0, 0}, {0.3, 0.1, -0.4}, {0.5, 0.5, 0.5}};
    for (int salt = 0; salt < 2; salt++) {
        const double kappa = salt ? 0.13 : 0, a = 3 + 2;
        const vf_solvent_options o = options(1, 78.54, kappa);
        const double truth = ((1 / 78.54 - 1) / 3 - kappa / (78.54 * (1 + kappa * a))) / 2;
        double rms[2] = {0};
        for (int s = 0; s < 3; s++)
            for (int fine = 0; fine < 2; fine++) {
                const double error = energy(&ion, 12, fine ? 65 : 33, shifts[s], &o) / truth - 1;
                print_message("Born, kappa %g, spacing %g: %+.3f %%\n", kappa, fine ? 0.375 : 0.75, 100 * error);
                assert_true(fabs(error) <= (fine ? 0.0015 : 0.006));
                rms[fine] += error * error;
            }
        assert_true(log2(sqrt(rms[0] / rms[1])) >= 1.8);
    }
}

static void test_kirkwood(void **state)
{
    (void)state;
    const truth_sphere s = {
        .radius = 10,
        .eps_m = 2,
        .eps_s = 78.54,
        .charges = 6,
        .at =
            {{6.2, 0.2, -0.3}, {-6.2, 0.1, 0.2}, {0.3, 6.1, 0.2}, {0.2, -6.2, 0.4}, {-0.1, 0.3, 6.2}, {0.4, 0.2, -6.1}},
        .charge = {1, 1, -1, 1, -1, 1}};
    molecule_in m = {.count = 7, .radius = {s.radius}}; /* the sphere, and its charges */
    for (int i = 0; i < s.charges; i++) {
        m.x[i + 1] = s.at[i][0];
        m.y[i + 1] = s.at[i][1];
        m.z[i + 1] = s.at[i][2];
        m.charge[i + 1] = s.charge[i];
        m.radius[i + 1] = 1;
    }
    const double none[3] = {0.25, 0.1, -0.2}, truth = truth_sphere_energy(&s);
    vf_solvent_options o = options(2, 78.54, 0);
    double errors[2];
    for (int fine = 0; fine < 2; fine++) {
        errors[fine] = energy(&m, 20, fine ? 65 : 33, none, &o) / truth - 1;
        print_message("Kirkwood, spacing %g: %+.3f %%\n", fine ? 0.625 : 1.25, 100 * errors[fine]);
    }
    assert_true(fabs(errors[0]) <= 0.015 && fabs(errors[1]) <= 0.004);
}

/* eps_m = eps_s without salt: the solvent does nothing, but for the boundary, where the Coulomb potential is exact. */
static void test_same_everywhere(void **state)
{
    (void)state;
    const molecule_in m = {2, {-1, 1}, {0, 0.3}, {0, 0}, {1, -0.7}, {1.5, 1.8}};
    const vf_solvent_options o = options(4, 4, 0);
    const double none[3] = {0};
    double u[MOST];
    vf_solvent *plan = solved(&m, 8, 33, none, &o);
    need(vf_solvent_reaction(plan, 2, m.x, m.y, m.z, u));
    for (int i = 0; i < 2;
         i++) /* the finite differences of 1 / r outside of the molecule: (h / r)^2 of q / (eps r) at 2 A */
        assert_true(fabs(u[i]) <= 0.0625 / 4);
    vf_solvent_destroy(plan);
}

/* 3.04 A / sqrt(mol/L), as textbooks round it. */
static void test_kappa(void **state)
{
    (void)state;
    assert_true(fabs(1 / vf_solvent_kappa(1, 78.54, 298.15) - 3.04) <= 0.01);
    assert_true(vf_solvent_kappa(0, 78.54, 298.15) == 0);
}

static void test_threads(void **state)
{
    (void)state;
    const molecule_in m = {2, {-1, 1}, {0, 0.3}, {0, 0}, {1, -0.7}, {1.5, 1.8}};
    const vf_solvent_options o = vf_solvent_defaults();
    const double none[3] = {0};
    double first[MOST], u[MOST];
    for (int threads = 1; threads <= 3; threads++) {
        need(vf_context_set_threads(ctx, threads));
        vf_solvent *plan = solved(&m, 9, 29, none, &o);
        need(vf_solvent_reaction(plan, 2, m.x, m.y, m.z, threads == 1 ? first : u));
        assert_true(threads == 1 || memcmp(first, u, 2 * sizeof *u) == 0);
        assert_int_equal(vf_solvent_inside(plan)[14 * 29 * 29 + 14 * 29 + 14], 1);
        assert_true(isfinite(vf_solvent_unknown(plan)[0]));
        vf_solvent_destroy(plan);
    }
    need(vf_context_set_threads(ctx, 0));
}

/* An ion on a grid point next to its surface, which is nearer than a spacing: the pole of G there is not resolved. Born's energy stays right to a
 * tenth (G of a thousandth of a spacing would make it wrong a hundredfold). */
static void test_coarse(void **state)
{
    (void)state;
    const molecule_in m = {1, {0}, {0}, {0}, {1}, {2}};
    const double none[3] = {0}, truth = (1 / 78.54 - 1 / 2.0) / 2;
    for (int n = 17; n <= 21; n += 4) {
        vf_solvent_options o = vf_solvent_defaults();
        double u;
        o.kappa = 0;
        vf_solvent *plan = solved(&m, 21, n, none, &o);
        need(vf_solvent_reaction(plan, 1, m.x, m.y, m.z, &u));
        print_message("spacing %g: %.3f of Born's energy\n", 42.0 / (n - 1), u / truth);
        assert_true(fabs(u / truth - 1) <= 0.1); /* NaN fails */
        vf_solvent_destroy(plan);
    }
}

static void test_refusals(void **state)
{
    (void)state;
    const molecule_in m = {1, {0}, {0}, {0}, {1}, {3}}, bad = {1, {0}, {0}, {0}, {NAN}, {3}};
    vf_coulomb_atoms charges = {1, m.x, m.y, m.z, m.charge};
    vf_grid grid = {.origin = {-3, -3, -3}, .spacing = {1, 1, 1}, .counts = {7, 7, 7}};
    vf_solvent_options o = vf_solvent_defaults();
    vf_solvent *plan;
    grid.origin[0] = -2.5;
    refused(vf_solvent_create(device, &grid, &charges, m.radius, &o, &plan), "touches the edge");
    o.molecule_dielectric = 0.5;
    refused(vf_solvent_create(device, &grid, &charges, m.radius, &o, &plan), "dielectric");
    o = vf_solvent_defaults();
    o.kappa = NAN;
    refused(vf_solvent_create(device, &grid, &charges, m.radius, &o, &plan), "kappa");
    o = vf_solvent_defaults();
    charges.charge = bad.charge;
    refused(vf_solvent_create(device, &grid, &charges, m.radius, &o, &plan), "not a number");
    charges.charge = m.charge;
    refused(vf_solvent_create(device, &grid, &charges, bad.x, &o, &plan), "no grid point of the molecule");
    const double negative[] = {-1};
    refused(vf_solvent_create(device, &grid, &charges, negative, &o, &plan), "radius of -1");
    assert_null(plan);
    vf_solvent_destroy(NULL);
}

DEVICE_MAIN(NULL, NULL, cmocka_unit_test(test_born), cmocka_unit_test(test_kirkwood),
            cmocka_unit_test(test_same_everywhere), cmocka_unit_test(test_kappa), cmocka_unit_test(test_threads),
            cmocka_unit_test(test_coarse), cmocka_unit_test(test_refusals))
