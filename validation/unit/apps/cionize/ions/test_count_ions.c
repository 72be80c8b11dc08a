/* Numbers of ions: for neutralisation, and in equilibrium with a salt reservoir. */
#include "ion_fixture.h"
#include "test_main.h"

static const double PER_ANGSTROM3 = 6.02214076e-4; /* for 1 mol/L: Avogadro's number x 1e-27 L */

static ion_kind kind(const char *name, double charge)
{
    ion_kind k = {.charge = charge};
    snprintf(k.name, sizeof k.name, "%s", name);
    return k;
}

static ion_demand salt(double concentration, double cation, double anion)
{
    return (ion_demand){
        .has_concentration = true, .concentration = concentration, .salt = {kind("C", cation), kind("A", anion)}};
}

static ion_demand counter(double first, double second)
{
    return (ion_demand){.counter_kinds = second == 0 ? 1 : 2, .counter = {kind("P", first), kind("N", second)}};
}

/* The numbers of ions with positive and with negative charge; every kind must have one or the other. */
static void count(const ion_demand *demand, double charge, double volume, int64_t number[2])
{
    ion_request out[2];
    int kinds;
    number[0] = number[1] = 0;
    memset(out, 0x5a, sizeof out);
    assert_ok(count_ions(fresh(), demand, charge, volume, out, &kinds));
    assert_in_range(kinds, 0, 2);
    for (int i = 0; i < kinds; i++) {
        const int sign = out[i].kind.charge < 0;
        assert_true(out[i].count > 0 && number[sign] == 0);
        number[sign] = out[i].count;
    }
}

static void test_neutralise(void **state)
{
    (void)state;
    /* Charge of the solute, charge of the ions, their number, and the rest. If two numbers are equally near, the
     * lower one. */
    static const double cases[][5] = {
        {-5, 1, 0, 5, 0},    {5, 1, -1, 5, 0},      {-5, 2, 0, 2, -1},    {-6, 2, -1, 3, 0},   {7, -3, 0, 2, 1},
        {8, -3, 0, 3, -1},   {0, 1, 0, 0, 0},       {-1, 2, 0, 0, -1},    {-3, .75, 0, 4, 0},  {-1, .75, 0, 1, -.25},
        {-1, 4, 0, 0, -1},   {1e7, -1, 0, 1e7, 0},  {-3.4, 2, 0, 2, .6},  {-1.4, 2, 0, 1, .6}, {-1.375, 1, 0, 1, -.375},
        {1.5, -1, 0, 1, .5}, {-.25, 1, 0, 0, -.25}, {-3.009, 2, 0, 1, -1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const double *c = cases[i];
        const ion_demand demand = counter(c[1], c[2]);
        int64_t number[2];
        count(&demand, c[0], NAN, number);
        assert_true((double)number[c[0] > 0] == c[3] && number[!(c[0] > 0)] == 0);
        assert_int_equal(*fixture.log != '\0', c[4] != 0);
        if (c[4] != 0) {
            char rest[64];
            snprintf(rest, sizeof rest, "leave%s a total charge of %+g e", c[3] == 1 ? "s" : "", c[4]);
            assert_says(fixture.log, rest);
            assert_null(strstr(fixture.log, "-0 ion"));
        }
    }
}

static void test_charges_that_are_no_integers(void **state)
{
    (void)state;
    const ion_demand demand = counter(1, -1);
    int64_t number[2];
    count(&demand, -3.009, 0, number);
    assert_true(number[0] == 3 && !*fixture.log);
    count(&demand, -3.4, 0, number);
    assert_int_equal(number[0], 3);
    assert_says(fixture.log,
                "warning: 3 ions P of +1 e leave a total charge of -0.4 e: the charge to neutralise, -3.4 e");
    count(&demand, 0.004, 0, number);
    assert_true(number[0] == 0 && number[1] == 0 && !*fixture.log);
}

static void test_refused(void **state)
{
    (void)state;
    ion_request out[2];
    int kinds;
    ion_demand demand = counter(1, 0), both = salt(0.15, 1, -1), none = {0};
    both.counter_kinds = 1;
    both.counter[0] = kind("P", 1);
    assert_fails(count_ions(fresh(), &demand, 5, 0, out, &kinds), VF_ERR_ARGUMENT, "+5 e|P|an anion such as CLA");
    demand = counter(-1, 0);
    assert_fails(count_ions(fresh(), &demand, -5, 0, out, &kinds), VF_ERR_ARGUMENT, "-5 e|a cation such as SOD");
    assert_fails(count_ions(fresh(), &both, 5, 0, out, &kinds), VF_ERR_ARGUMENT, "cannot be combined");
    assert_fails(count_ions(fresh(), &none, 5, 0, out, &kinds), VF_ERR_ARGUMENT, "--neutralize or --concentration");
    const double charges[] = {NAN, INFINITY, -INFINITY, 1.1e7};
    for (int i = 0; i < 4; i++)
        assert_fails(count_ions(fresh(), &demand, charges[i], 0, out, &kinds), VF_ERR_ARGUMENT, "charge");
    const double wrong[][2] = {{-0.1, 1e5}, {NAN, 1e5}, {20.1, 1e5}, {0.1, -1}, {0.1, NAN}, {0.1, INFINITY}};
    for (int i = 0; i < 6; i++) {
        demand = salt(wrong[i][0], 1, -1);
        assert_fails(count_ions(fresh(), &demand, 0, wrong[i][1], out, &kinds), VF_ERR_ARGUMENT, "mol/L");
    }
    demand = salt(20, 1, -1);
    assert_fails(count_ions(fresh(), &demand, 0, 1e10, out, &kinds), VF_ERR_ARGUMENT, "limit is 10000000|smaller grid");
    demand = salt(0.1, 1, 1);
    assert_fails(count_ions(fresh(), &demand, 0, 1e5, out, &kinds), VF_ERR_ARGUMENT, "a cation and an anion");
    demand = salt(0.1, 1, -0.7071);
    assert_fails(count_ions(fresh(), &demand, 0, 1e5, out, &kinds), VF_ERR_ARGUMENT, "cannot form a salt");
}

/* Against the closed form for a salt of two ions with equal charges: N = V c (sqrt(1 + (Q/2Vc)^2) -+ Q/2Vc). Whole
 * numbers differ from it by the rounding of the cations, 1/2; that of the anions follows. */
static void test_one_to_one(void **state)
{
    (void)state;
    for (int round = 0; round < 2000; round++) {
        const double z = (double)integer_between(1, 3), charge = z * (double)integer_between(-60, 60);
        const double concentration = pow(10, -4 + 4 * uniform()), volume = pow(10, 4 + 3 * uniform());
        const ion_demand demand = salt(concentration, z, -z);
        const double half = charge / z / 2, pairs = concentration * PER_ANGSTROM3 * volume;
        const double mean[2] = {sqrt(pairs * pairs + half * half) - half, sqrt(pairs * pairs + half * half) + half};
        int64_t number[2];
        count(&demand, charge, volume, number);
        for (int i = 0; i < 2; i++)
            if (!(fabs((double)number[i] - mean[i]) <= 0.5 + 1e-6))
                fail_msg("%lld instead of %g for charge %g, %g mol/L, %g A^3", (long long)number[i], mean[i], charge,
                         concentration, volume);
        assert_true(z * (double)(number[0] - number[1]) + charge == 0);
        assert_string_equal(fixture.log, "");
    }
}

/* For salts of any valences: exactly neutral if possible; and the mean numbers, within half a formula unit, obey the
 * law of mass action, N+^nu+ N-^nu- = that of the reservoir. It grows with both along the neutral line, so it must
 * lie between its values half a formula unit below and above the numbers. */
static void test_mass_action(void **state)
{
    (void)state;
    static const int valences[][4] = {{2, -1, 1, 2}, {1, -2, 2, 1}, {3, -1, 1, 3},
                                      {3, -2, 2, 3}, {2, -2, 1, 1}, {2, -3, 3, 2}};
    for (int round = 0; round < 3000; round++) {
        const int *v = valences[round % 6];
        const double charge = (double)integer_between(-80, 80) * (v[0] == 2 && v[1] == -2 ? 2 : 1);
        const double concentration = pow(10, -3 + 3 * uniform()), volume = pow(10, 4.5 + 2 * uniform());
        const ion_demand demand = salt(concentration, v[0], v[1]);
        const double units = concentration * PER_ANGSTROM3 * volume;
        const double reservoir = v[2] * log(v[2] * units) + v[3] * log(v[3] * units);
        int64_t number[2];
        count(&demand, charge, volume, number);
        assert_true(v[0] * number[0] + v[1] * number[1] + charge == 0);
        assert_string_equal(fixture.log, "");
        double product[2];
        for (int i = 0; i < 2; i++) {
            const double cations = (double)number[0] + (i - 0.5) * v[2], anions = (double)number[1] + (i - 0.5) * v[3];
            product[i] = cations > 0 && anions > 0 ? v[2] * log(cations) + v[3] * log(anions) : -INFINITY;
        }
        const bool fewest = number[0] < v[2] || number[1] < v[3]; /* there is no neutral pair below */
        if (!(product[0] <= reservoir + 1e-9 || fewest) || !(product[1] >= reservoir - 1e-9))
            fail_msg("%lld and %lld of %+d and %+d for charge %g, %g mol/L, %g A^3", (long long)number[0],
                     (long long)number[1], v[0], v[1], charge, concentration, volume);
    }
}

static void test_salt_limits(void **state)
{
    (void)state;
    int64_t number[2];
    ion_demand demand = salt(0, 1, -1);
    count(&demand, -7, 1e5, number); /* no salt: counter-ions */
    assert_true(number[0] == 7 && number[1] == 0);
    demand = salt(0.15, 2, -1);
    count(&demand, 8, 0, number); /* no solvent */
    assert_true(number[0] == 0 && number[1] == 8);
    demand = salt(0.15, 2, -2);
    count(&demand, 5, 1e5, number); /* no ions can compensate an odd charge */
    assert_says(fixture.log, "warning: C (+2 e) and A (-2 e) cannot neutralise|+5 e|1 e");
    assert_int_equal(abs((int)(2 * number[0] - 2 * number[1]) + 5), 1);
    count(&demand, -1.375, 1e5, number); /* and the least of what other numbers leave */
    assert_int_equal(number[0] - number[1], 1);
    assert_says(fixture.log, "neutralise -1.375 e|leave +0.625 e");
    demand = salt(0.15, 0.75, -0.75);
    count(&demand, -3, 1e5, number);
    assert_int_equal(number[0] - number[1], 4);
    assert_string_equal(fixture.log, "");
    demand = salt(1e-5, 1, -1);
    count(&demand, -10000000, 1e3, number); /* far from any reservoir */
    assert_true(number[0] == 10000000 && number[1] == 0);
}

/* The example of docs/conventions.md: charge -20 in 300,000 A^3 at 0.15 mol/L. */
static void test_example_of_the_conventions(void **state)
{
    (void)state;
    const ion_demand demand = salt(0.15, 1, -1);
    const double volume = 300000, pairs = 0.15 * PER_ANGSTROM3 * volume;
    int64_t number[2];
    count(&demand, -20, volume, number);
    assert_true(number[0] == 39 && number[1] == 19);
    /* Adding salt, then neutralising: 27 pairs and 20 cations. The salt in equilibrium with that is sqrt(N+ N-) / V.
     */
    assert_true(lround(pairs) == 27);
    assert_true(fabs(sqrt(47.0 * 27.0) / volume / PER_ANGSTROM3 - 0.197) < 0.0005);
    assert_true(fabs(sqrt(39.0 * 19.0) / volume / PER_ANGSTROM3 - 0.151) < 0.0005);
}

/* In water, N formula units belong to waters left, W - N+ - N-, of 55.34 mol in a litre: the law of mass action of
 * test_mass_action, with the reservoir's units c / 55.34 of the waters left. With the numbers half a formula unit below and above, as
 * there, the product must lie on either side; the waters left change with them. */
static void test_in_water(void **state)
{
    (void)state;
    static const int valences[][4] = {{1, -1, 1, 1}, {2, -1, 1, 2}, {1, -2, 2, 1}, {3, -1, 1, 3}, {3, -2, 2, 3}};
    for (int round = 0; round < 3000; round++) {
        const int *v = valences[round % 5];
        const double charge = (double)integer_between(-80, 80), concentration = pow(10, -3 + 4 * uniform());
        const int64_t waters = integer_between(3000, 100000);
        const ion_demand demand = salt(concentration, v[0], v[1]);
        ion_request out[2];
        int kinds;
        double number[2] = {0, 0}, excess[2];
        assert_ok(count_ions_in_water(fresh(), &demand, charge, waters, out, &kinds));
        for (int i = 0; i < kinds; i++)
            number[out[i].kind.charge < 0] = (double)out[i].count;
        assert_true(v[0] * number[0] + v[1] * number[1] + charge == 0);
        assert_string_equal(fixture.log, "");
        for (int i = 0; i < 2; i++) {
            const double cations = number[0] + (i - 0.5) * v[2], anions = number[1] + (i - 0.5) * v[3];
            const double units = concentration / (997.047 / 18.01528) * fmax((double)waters - cations - anions, 1e-9);
            const double reservoir = v[2] * log(v[2] * units) + v[3] * log(v[3] * units);
            excess[i] = cations > 0 && anions > 0 ? v[2] * log(cations) + v[3] * log(anions) - reservoir : -INFINITY;
        }
        const bool fewest = number[0] < v[2] || number[1] < v[3];
        if (!(excess[0] <= 1e-9 || fewest) || !(excess[1] >= -1e-9))
            fail_msg("%g and %g of %+d and %+d for charge %g, %g mol/L, %lld waters", number[0], number[1], v[0], v[1],
                     charge, concentration, (long long)waters);
    }
    /* 0.15 x 1718 / 55.34 = 4.66 pairs; no water, no salt */
    const ion_demand demand = salt(0.15, 1, -1);
    ion_request out[2];
    int kinds;
    assert_ok(count_ions_in_water(fresh(), &demand, 0, 1728, out, &kinds));
    assert_true(kinds == 2 && out[0].count == 5 && out[1].count == 5);
    assert_ok(count_ions_in_water(fresh(), &demand, -3, 0, out, &kinds));
    assert_true(kinds == 1 && out[0].count == 3);
}

static void test_options(void **state)
{
    (void)state;
    ion_demand demand = {0};
    assert_ok(parse_counter_ions(fresh(), "neutralize", "SOD", &demand));
    assert_int_equal(demand.counter_kinds, 1);
    assert_ok(parse_counter_ions(fresh(), "neutralize", "Cl-,MG", &demand));
    assert_true(demand.counter_kinds == 2 && demand.counter[1].charge == 2);
    for (int i = 0; i < 2; i++) { /* in any order */
        assert_ok(parse_salt(fresh(), "salt", i ? "CLA,CAL" : "CAL,CLA", &demand));
        assert_string_equal(demand.salt[0].name, "CAL");
        assert_string_equal(demand.salt[1].name, "CLA");
    }
    static const char *const wrong[][2] = {
        {"", "name"},          {"SOD,", "name"},        {",SOD", "name"},
        {"SOD,CLA,MG", "two"}, {"SOD,POT", "positive"}, {"CLA,F", "negative"},
        {"SOD CLA", "blanks"}, {"XYZ", "known ions:"},  {"SODIUM,CLA", "4 characters"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char *text = strdup(wrong[i][0]); /* exactly as long as the text */
        assert_fails(parse_counter_ions(fresh(), "neutralize", text, &demand), VF_ERR_ARGUMENT, "--neutralize '");
        assert_says(vf_context_message(fixture.ctx), wrong[i][1]);
        assert_fails(parse_salt(fresh(), "salt", text, &demand), VF_ERR_ARGUMENT, "--salt '");
        free(text);
    }
    assert_fails(parse_salt(fresh(), "salt", "SOD", &demand), VF_ERR_ARGUMENT, "--salt 'SOD'|a cation and an anion");
}

TEST_MAIN(ion_setup, ion_teardown, cmocka_unit_test(test_neutralise),
          cmocka_unit_test(test_charges_that_are_no_integers), cmocka_unit_test(test_refused),
          cmocka_unit_test(test_one_to_one), cmocka_unit_test(test_mass_action), cmocka_unit_test(test_salt_limits),
          cmocka_unit_test(test_options), cmocka_unit_test(test_in_water),
          cmocka_unit_test(test_example_of_the_conventions))
