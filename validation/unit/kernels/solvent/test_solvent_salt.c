/* Salts of any kinds of ions in the linear equation, and energies by their functional.
 *
 * usage: test_solvent_salt cpu [TEST...] */
#include <math.h>

#include "sphere_fixture.h"

/* kappa^2 goes with the sum of c z^2: 2 for a mole of 1:1 salt, 6 for 2:1 and 12 for 3:1. */
static void test_kappa(void **state)
{
    (void)state;
    static const vf_solvent_ion salts[][3] = {
        {{1, 0.1}, {-1, 0.1}}, {{2, 0.1}, {-1, 0.2}}, {{-1, 0.3}, {3, 0.1}}, {{1, 0.05}, {-1, 0.15}, {2, 0.05}}};
    static const int kinds[] = {2, 2, 2, 3};
    static const double strength[] = {0.1, 0.3, 0.6, 0.2};
    for (int i = 0; i < 4; i++) {
        vf_solvent_options o = vf_solvent_defaults();
        o.solvent_dielectric = 70;
        need(vf_solvent_set_salt(ctx, kinds[i], salts[i], 310, &o));
        assert_true(fabs(o.kappa / vf_solvent_kappa(strength[i], 70, 310) - 1) <= 1e-14);
        assert_true(o.bjerrum == vf_solvent_bjerrum(310));
        assert_true(o.ions == kinds[i] && memcmp(o.ion, salts[i], (size_t)kinds[i] * sizeof *o.ion) == 0);
    }
    /* docs/conventions.md: 560.459322 by CODATA 2022, whose eps_0 is 7e-11 larger */
    assert_true(fabs(vf_solvent_bjerrum(298.15) - 560.459322) <= 1e-6);
}

static void refused_salt(int ions, const vf_solvent_ion *ion, double temperature, const char *words)
{
    vf_solvent_options o = vf_solvent_defaults(), before = o;
    refused(vf_solvent_set_salt(ctx, ions, ion, temperature, &o), words);
    assert_true(o.kappa == before.kappa && o.ions == before.ions);
    /* and by the non-linear equation, which takes ratios */
    o.non_linear = true;
    o.ions = ions;
    for (int i = 0; i < ions && i < VF_SOLVENT_MOST_IONS; i++)
        o.ion[i] = ion[i];
    o.bjerrum = temperature > 0 ? o.bjerrum : NAN;
    vf_solvent *plan;
    refused(try_sphere(1, 2, 8, 9, &o, &plan), temperature > 0 ? words : "Bjerrum");
    assert_null(plan);
}

static void test_refusals(void **state)
{
    (void)state;
    const vf_solvent_ion many[VF_SOLVENT_MOST_IONS + 1] = {{0}};
    refused_salt(0, one_one, 298, "0 kinds of ions");
    refused_salt(VF_SOLVENT_MOST_IONS + 1, many, 298, "11 kinds of ions");
    refused_salt(2, (vf_solvent_ion[]){{0, 0.1}, {-1, 0.1}}, 298, "charge 0");
    refused_salt(2, (vf_solvent_ion[]){{1, -0.1}, {-1, -0.1}}, 298, "concentration -0.1");
    refused_salt(2, (vf_solvent_ion[]){{1, NAN}, {-1, 0.1}}, 298, "concentration nan");
    refused_salt(2, (vf_solvent_ion[]){{1, 0}, {-1, 0}}, 298, "all 0");
    refused_salt(2, (vf_solvent_ion[]){{2, 0.1}, {-1, 0.1}}, 298, "neutral");
    refused_salt(2, (vf_solvent_ion[]){{1, 0.1}, {-1, 0.10001}}, 298, "neutral");
    refused_salt(1, one_one, 298, "neutral");
    refused_salt(2, one_one, NAN, "temperature");
    /* thirds are not exact */
    vf_solvent_options o = vf_solvent_defaults();
    need(vf_solvent_set_salt(ctx, 2, (vf_solvent_ion[]){{3, 0.1 / 3}, {-1, 0.1}}, 298, &o));
}

/* Born's ion with Debye and Hueckel's cloud in any salt: as in test_solvent, with kappa of the salt. 0.7 % at 0.75 A is what the
 * dielectric's surface leaves of Born's part there; the salt's own part is within a cloud that may seem to be h / 4 off. */
static void test_born(void **state)
{
    (void)state;
    const double charge = -2, radius = 3, half = 24, h = 0.75;
    vf_solvent_options o = salted(two_one, false), none = o;
    none.kappa = 0;
    const double a = radius + o.stern, born = charge * charge / radius * (1 / 78.54 - 1 / o.molecule_dielectric);
    const double cloud = -charge * charge * o.kappa / (78.54 * (1 + o.kappa * a));
    const double slope = charge * charge * o.kappa * o.kappa / (78.54 * (1 + o.kappa * a) * (1 + o.kappa * a));
    vf_solvent *plan = sphere(charge, radius, half, 65, &o);
    const vf_solvent_energy e = energy_of(plan, charge), without = sphere_energy(charge, radius, half, 65, &none);
    print_message("Born %+.3f %%, cloud %+.3f %%\n", 100 * (without.total * 2 / born - 1),
                  100 * ((e.fixed - without.fixed) / cloud - 1));
    assert_true(fabs(without.total * 2 / born - 1) <= 0.007);
    assert_true(fabs(e.fixed - without.fixed - cloud) <= slope * h / 4);
    /* the parts: the ions' own cancel to rounding */
    assert_true(fabs(e.total - e.fixed / 2) <= 1e-13 * fabs(e.fixed));
    assert_true(fabs(without.stress + without.fixed / 2) <= 1e-13 * fabs(e.fixed) && without.osmotic == 0);
    /* a moved cloud: 2 kappa / (1 + kappa a) h / 4 = 4 % of the pressure; ions beyond the grid: 2.5 %, as in test_solvent_nonlinear.
     * int phi^2 of the cloud: eps_s kappa^2 / 2 int_a q^2 exp(-2 kappa (r - a)) / (eps_s (1 + kappa a))^2 dr */
    const double osmotic = -charge * charge * o.kappa / (4 * 78.54 * (1 + o.kappa * a) * (1 + o.kappa * a));
    print_message("osmotic %+.3f %%, ions %+.3f %%\n", 100 * (e.osmotic / osmotic - 1), 100 * (-e.ions / charge - 1));
    assert_true(fabs(e.osmotic / osmotic - 1) <= 0.05);
    assert_true(fabs(e.ions / charge + 1) <= 0.03);
    vf_solvent_destroy(plan);
}

/* Contributions of atoms are q u / 2 at each, and sum to the total. */
static void test_atoms(void **state)
{
    (void)state;
    const double x[3] = {-2, 1, 2}, y[3] = {0.5, 1, -1}, z[3] = {0, 1, 0.5}, q[3] = {1, -0.5, 0},
                 radius[3] = {1.5, 2, 1.8};
    const vf_coulomb_atoms atoms = {3, x, y, z, q};
    const vf_grid grid = cube(10, 33);
    const vf_solvent_options o = salted(two_one, false);
    double part[3], u[3];
    vf_solvent *plan;
    vf_solvent_energy e;
    need(vf_solvent_create(device, &grid, &atoms, radius, &o, &plan));
    need(vf_solvent_energies(plan, &atoms, &e, part));
    need(vf_solvent_reaction(plan, 3, x, y, z, u));
    for (int i = 0; i < 3; i++)
        assert_true(part[i] == q[i] * u[i] / 2);
    assert_true(e.total < 0 && fabs(part[0] + part[1] + part[2] - e.total) <= 1e-12 * fabs(e.total));
    const double far[3] = {100, 0, 0};
    const vf_coulomb_atoms outside = {3, far, y, z, q};
    refused(vf_solvent_energies(plan, &outside, &e, NULL), "outside the grid");
    vf_solvent_destroy(plan);
}

DEVICE_MAIN(NULL, NULL, cmocka_unit_test(test_kappa), cmocka_unit_test(test_refusals), cmocka_unit_test(test_born),
            cmocka_unit_test(test_atoms))
