/* The search for ions' places: against an independent search by brute force, between its variants, and with known
 * answers.
 *
 * usage: test_ion_search DEVICE [TEST...]
 *
 * The test's own search sums every point in long double. Both take the first of the points whose energies differ by
 * at most 2^-40 of |z| C sum |q|/r. Sums in double precision are accurate to about 2^-50 of that, so only points
 * that near the limit could be decided otherwise: with about 10^4 points per test, in about one of 10^8 tests.
 */
#include "ion_search_fixture.h"

/* Adds ions anywhere, on either side, that exclude nothing: for searches in which each point lacks many of them. */
static void strew(vf_ion_search *search, brute *b, int count)
{
    const vf_grid *g = &b->problem->grid;
    for (int n = 0; n < count; n++) {
        double at[3];
        for (int a = 0; a < 3; a++)
            at[a] = g->origin[a] + g->spacing[a] * (double)g->counts[a] * (2 * uniform() - 0.5);
        assert_int_equal(vf_ion_search_add(search, at, n % 2 ? 0.01 : -0.01, 0, NULL), VF_OK);
        brute_add(b, at, n % 2 ? 0.01 : -0.01, 0);
    }
}

/* Places ions until none fits, and compares with brute force; before that, adds `strewn` others. */
static void place_all(const problem *p, const char *variant, double distance, int most, int strewn)
{
    vf_ion_search *search = make_search(p, variant);
    brute b = make_brute(p);
    const bool any = b.free > 0;
    int placed = 0;
    strew(search, &b, strewn);
    for (; placed < most; placed++) {
        const double charge = (double[]){1, -1, 2, -1, 1.5}[(int)(5 * uniform())];
        vf_ion_place place;
        assert_int_equal(vf_ion_search_free(search), b.free);
        assert_memory_equal(vf_ion_search_mask(search), b.mask, (size_t)p->points);
        if (vf_ion_search_find(search, charge, &place) != VF_OK)
            fail_msg("%s", vf_context_message(ctx));
        const int64_t expected = brute_find(&b, charge);
        if (place.index != expected)
            fail_msg("%s, ion %d of charge %g: point %lld, not %lld", variant ? variant : "the default", placed, charge,
                     (long long)place.index, (long long)expected);
        if (expected < 0)
            break;
        double energy = NAN;
        assert_int_equal(vf_ion_search_add(search, place.position, charge, distance, &energy), VF_OK);
        const double right = charge * (double)b.potential[expected];
        const double bound = 0x1p-48 * fabs(charge) * (double)b.magnitude[expected];
        if (!(fabs(energy - right) <= bound)) /* NaN fails */
            fail_msg("%s, ion %d: energy %.17g, not %.17g", variant ? variant : "the default", placed, energy, right);
        brute_add(&b, place.position, charge, distance);
    }
    assert_true(placed > 0 || !any);
    free_brute(&b);
    vf_ion_search_destroy(search);
}

static const char *const variants[] = {NULL, "ref"};

static bool has_variant(const char *name)
{
    return !name || vf_device_get_kind(device) == VF_DEVICE_CPU;
}

/* Makes the map as inaccurate as allowed: by up to 16 u C sum |q|/r, of which rounding takes half a u. */
static void spoil_map(const problem *p)
{
    brute b = make_brute(p);
    float *map = p->map;
    for (int64_t i = 0; i < p->points; i++)
        map[i] = (float)((double)b.potential[i] + (uniform() < 0.5 ? -1 : 1) * 15 * 0x1p-24 * (double)b.magnitude[i]);
    free_brute(&b);
}

static void test_random(void **state)
{
    (void)state;
    static const int64_t counts[][3] = {{1, 1, 1}, {7, 1, 3}, {33, 17, 9}, {32, 16, 8}, {40, 35, 20}, {65, 9, 30}};
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
        for (int v = 0; v < 2; v++) {
            if (!has_variant(variants[v]))
                continue;
            const bool square = uniform() < 0.3;
            problem p = make_problem(1 + (int64_t)(60 * uniform()), counts[c], c == 0 ? 0 : 1.5,
                                     uniform() < 0.5 ? VF_F32 : VF_F64, square);
            if (p.options.precision == VF_F32)
                spoil_map(&p);
            p.about = uniform() < 0.3;
            place_all(&p, variants[v], 1 + 2 * uniform(), 60, 0);
            free_problem(&p);
        }
}

/* So many ions that threads share the sums over those that cells lack. */
static void test_many_ions(void **state)
{
    (void)state;
    problem p = make_problem(30, (int64_t[3]){33, 17, 9}, 1.5, VF_F32, false);
    spoil_map(&p);
    place_all(&p, NULL, 2, 10, 3000);
    free_problem(&p);
}

/* Mirrored points have equal energies. All variants take the first of them, for any errors of the map. Two charges
 * have up to 8 such points, one charge up to 48. */
static void test_ties(void **state)
{
    (void)state;
    for (int charges = 1; charges <= 2; charges++) {
        problem p = make_problem(2, (int64_t[3]){41, 41, 41}, 1, VF_F32, false);
        for (int a = 0; a < 3; a++) {
            p.grid.spacing[a] = 0.5;
            p.grid.origin[a] = -10;
            p.data[2 * a] = p.data[2 * a + 1] = 0;
        }
        p.data[4] = charges == 1 ? 0 : 1.3;
        p.data[5] = -p.data[4];
        p.data[6] = p.data[7] = 1;
        p.data[8] = p.data[9] = 3;
        spoil_map(&p);
        for (int about = 0; about < 2; about++)
            for (int v = 0; v < 2; v++) {
                p.about = about;
                if (has_variant(variants[v]))
                    place_all(&p, variants[v], 4, 30, 0);
            }
        free_problem(&p);
    }
}

/* Without charges all points are equal: the first free one. */
static void test_no_charge(void **state)
{
    (void)state;
    problem p = make_problem(3, (int64_t[3]){30, 20, 10}, 2, VF_F32, false);
    for (int64_t i = 0; i < p.atoms; i++)
        p.data[3 * p.atoms + i] = 0;
    memset(p.map, 0, (size_t)p.points * sizeof(float));
    for (int v = 0; v < 2; v++)
        if (has_variant(variants[v]))
            place_all(&p, variants[v], 3, 10, 0);
    free_problem(&p);
}

/* An exact map is used unchanged, with atoms that only exclude. */
static void test_exact_map(void **state)
{
    (void)state;
    problem p = make_problem(9, (int64_t[3]){40, 30, 20}, 1.5, VF_F32, false);
    p.options.map_is_exact = true;
    float *map = p.map;
    for (int64_t i = 0; i < p.points; i++)
        map[i] = (float)(uniform() - 0.5);
    for (int v = 0; v < 2; v++) {
        if (!has_variant(variants[v]))
            continue;
        vf_ion_search *search = make_search(&p, variants[v]);
        int64_t least = -1;
        for (int64_t i = 0; i < p.points; i++)
            if (vf_ion_search_mask(search)[i] == VF_ION_FREE && (least < 0 || map[i] < map[least]))
                least = i;
        vf_ion_place place;
        assert_int_equal(vf_ion_search_find(search, 1, &place), VF_OK);
        assert_int_equal(place.index, least);
        assert_int_equal(vf_ion_search_refine(search, 1, &place), VF_ERR_ARGUMENT);
        vf_context_clear_error(ctx);
        double energy = NAN;
        assert_int_equal(vf_ion_search_add(search, place.position, 1, 2, &energy), VF_OK);
        assert_true(energy == (double)map[least]);
        vf_ion_search_destroy(search);
    }
    free_problem(&p);
}

/* One charge in the middle: the counter-ion goes to the sphere around it. Off the grid, it goes to an allowed
 * distance nearer than the grid point; its energy there is -C/r, up to rounding. */
static void test_refine(void **state)
{
    (void)state;
    const double radius = 3.3;
    problem p = make_problem(1, (int64_t[3]){41, 41, 41}, 1, VF_F32, false);
    for (int a = 0; a < 3; a++) {
        p.grid.spacing[a] = 0.5;
        p.grid.origin[a] = -10;
        p.data[a] = 0.01 * uniform();
    }
    p.data[3] = 1;
    p.data[4] = radius;
    free(p.map);
    p.map = compute_map(&p);
    vf_ion_search *search = make_search(&p, NULL);
    vf_ion_place place;
    assert_int_equal(vf_ion_search_find(search, -1, &place), VF_OK);
    const vf_ion_place before = place;
    assert_int_equal(vf_ion_search_refine(search, -1, &place), VF_OK);
    double energy = NAN, energy_before = NAN;
    assert_int_equal(vf_ion_search_add(search, place.position, -1, 0, &energy), VF_OK);
    vf_ion_search_destroy(search);
    search = make_search(&p, NULL);
    assert_int_equal(vf_ion_search_add(search, before.position, -1, 0, &energy_before), VF_OK);
    const double dx = place.position[0] - p.data[0], dy = place.position[1] - p.data[1],
                 dz = place.position[2] - p.data[2], r = sqrt(dx * dx + dy * dy + dz * dz);
    assert_true(energy <= energy_before);
    assert_true(dx * dx + (dy * dy + dz * dz) >= radius * radius);
    /* The last steps are 1/64 of the spacing along an axis or diagonal; to stay outside the sphere, the search may
     * stop up to one step short of it. */
    assert_true(r <= radius + sqrt(3) * 0.5 / 64 + 1e-9);
    assert_true(fabs(energy + 560.459322 / r) <= 0x1p-48 * 560.459322 / r);
    vf_ion_search_destroy(search);
    free_problem(&p);
}

/* Atoms elsewhere and atoms exclude together in any order, and no point is counted twice. */
static void test_exclude_order(void **state)
{
    (void)state;
    problem p = make_problem(20, (int64_t[3]){40, 30, 20}, 1.5, VF_F32, false), moved = p;
    moved.data = calloc((size_t)p.atoms * 5, sizeof(double));
    assert_non_null(moved.data);
    for (int64_t i = 0; i < 5 * p.atoms; i++)
        moved.data[i] = p.data[i] + (i < p.atoms ? 1 : 0); /* along x */
    const vf_coulomb_atoms atoms = atoms_of(&p);
    vf_ion_search *before = NULL, *after = make_search(&p, NULL);
    const int64_t alone = vf_ion_search_free(after);
    assert_int_equal(exclude_about(after, &moved, 0, p.atoms), VF_OK);
    assert_int_equal(vf_ion_search_create(device, &p.grid, &atoms, p.map, &p.options, &before), VF_OK);
    assert_int_equal(exclude_about(before, &moved, 0, p.atoms), VF_OK);
    assert_int_equal(vf_ion_search_exclude(before, distances(&p)), VF_OK);
    assert_memory_equal(vf_ion_search_mask(before), vf_ion_search_mask(after), (size_t)p.points);
    assert_int_equal(vf_ion_search_free(before), vf_ion_search_free(after));
    assert_true(vf_ion_search_free(after) < alone);
    int64_t free_points = 0;
    for (int64_t i = 0; i < p.points; i++)
        free_points += vf_ion_search_mask(before)[i] == VF_ION_FREE;
    assert_int_equal(vf_ion_search_free(before), free_points);
    vf_ion_search_destroy(before);
    vf_ion_search_destroy(after);
    free(moved.data);
    free_problem(&p);
}

/* Atoms elsewhere exclude like atoms: half of them each time, or all at once. */
static void test_exclude_about(void **state)
{
    (void)state;
    problem p = make_problem(9, (int64_t[3]){40, 30, 20}, 1.5, VF_F32, false);
    p.options.map_is_exact = true;
    const vf_coulomb_atoms atoms = atoms_of(&p);
    const int64_t n = p.atoms, half = n / 2;
    vf_ion_search *all = make_search(&p, NULL), *parts = NULL;
    assert_int_equal(vf_ion_search_create(device, &p.grid, &atoms, p.map, &p.options, &parts), VF_OK);
    assert_int_equal(exclude_about(parts, &p, 0, half), VF_OK);
    assert_int_equal(exclude_about(parts, &p, half, n - half), VF_OK);
    assert_memory_equal(vf_ion_search_mask(parts), vf_ion_search_mask(all), (size_t)p.points);
    assert_int_equal(vf_ion_search_free(parts), vf_ion_search_free(all));
    vf_ion_place place, other;
    assert_int_equal(vf_ion_search_find(parts, -1, &place), VF_OK);
    assert_int_equal(vf_ion_search_find(all, -1, &other), VF_OK);
    assert_int_equal(place.index, other.index);
    p.data[4 * n] = NAN;
    assert_int_equal(exclude_about(parts, &p, 0, half), VF_ERR_ARGUMENT);
    vf_context_clear_error(ctx);
    assert_int_equal(vf_ion_search_add(parts, place.position, 1, 1, NULL), VF_OK);
    assert_int_equal(exclude_about(parts, &p, half, n - half), VF_ERR_ARGUMENT);
    vf_context_clear_error(ctx);
    vf_ion_search_destroy(all);
    vf_ion_search_destroy(parts);
    free_problem(&p);
}

/* A pair potential given as a function: the variant for it places ions by it, with and without an exact map. The
 * others bound energies by Coulomb's law, so they report that they cannot. */
static void test_function(void **state)
{
    (void)state;
    problem p = make_problem(20, (int64_t[3]){33, 17, 9}, 1.5, VF_F64, false);
    const vf_coulomb_atoms atoms = atoms_of(&p);
    vf_ion_search *search = NULL;
    p.options.pair = (vf_pair_potential){
        .law = VF_PAIR_FUNCTION, .scale = 560.459322, .r_min = 0.1, .value = uneven, .state = weights};
    if (vf_device_get_kind(device) == VF_DEVICE_CPU) {
        place_all(&p, "ref", 2, 12, 0);
        place_all(&p, "totals", 2, 12, 0);
        place_all(&p, NULL, 2, 12, 5);
        brute b = make_brute(&p);
        for (int64_t i = 0; i < p.points; i++)
            ((double *)p.map)[i] = (double)b.potential[i];
        free_brute(&b);
        p.options.map_is_exact = true;
        place_all(&p, NULL, 2, 12, 0);
        p.options.variant = "cells";
    }
    assert_int_equal(vf_ion_search_create(device, &p.grid, &atoms, p.map, &p.options, &search), VF_ERR_UNSUPPORTED);
    assert_null(search);
    vf_context_clear_error(ctx);
    p.options.pair.value = NULL;
    assert_int_equal(vf_ion_search_create(device, &p.grid, &atoms, p.map, &p.options, &search), VF_ERR_ARGUMENT);
    vf_context_clear_error(ctx);
    free_problem(&p);
}

/* The screened law: both variants place ions by it, and "totals" keeps the potential of all. */
static void test_screened(void **state)
{
    (void)state;
    problem p = make_problem(20, (int64_t[3]){33, 17, 9}, 1.5, VF_F64, false);
    const vf_coulomb_atoms atoms = atoms_of(&p);
    vf_ion_search *search = NULL;
    p.options.pair = (vf_pair_potential){.law = VF_PAIR_SCREENED, .scale = 7.1, .r_min = 0.1, .kappa = 0.13};
    if (vf_device_get_kind(device) == VF_DEVICE_CPU) {
        place_all(&p, "ref", 2, 12, 0);
        place_all(&p, "totals", 2, 12, 0);
        brute b = make_brute(&p);
        for (int64_t i = 0; i < p.points; i++)
            ((double *)p.map)[i] = (double)b.potential[i];
        p.options.map_is_exact = true;
        place_all(&p, "ref", 2, 12, 0);
        place_all(&p, NULL, 2, 12, 5);
        search = make_search(&p, NULL);
        const double at[3] = {p.grid.origin[0] + 0.1, p.grid.origin[1], p.grid.origin[2]};
        assert_int_equal(vf_ion_search_add(search, at, -2, 1, NULL), VF_OK);
        for (int64_t i = 0; i < p.points; i++) {
            double r[3];
            point(&p.grid, i, r);
            const double wanted = (double)(b.potential[i] - 2 * inverse(&p, r, at));
            /* some 20 roundings of values up to the sum of magnitudes */
            const double most = 0x1p-48 * (double)(b.magnitude[i] + 2 * inverse(&p, r, at));
            assert_true(fabs(vf_ion_search_totals(search)[i] - wanted) <= most);
        }
        free_brute(&b);
        vf_ion_search_destroy(search);
        search = NULL;
        p.options.pair.kappa = NAN;
        assert_int_equal(vf_ion_search_create(device, &p.grid, &atoms, p.map, &p.options, &search), VF_ERR_ARGUMENT);
        vf_context_clear_error(ctx);
        p.options.pair.kappa = 0.13;
        p.options.variant = "cells";
    }
    assert_int_equal(vf_ion_search_create(device, &p.grid, &atoms, p.map, &p.options, &search), VF_ERR_UNSUPPORTED);
    vf_context_clear_error(ctx);
    p.options.pair = (vf_pair_potential){.law = VF_PAIR_COULOMB, .scale = 1, .r_min = 0.1};
    p.options.variant = "totals";
    assert_int_equal(vf_ion_search_create(device, &p.grid, &atoms, p.map, &p.options, &search), VF_ERR_UNSUPPORTED);
    vf_context_clear_error(ctx);
    assert_null(search);
    free_problem(&p);
}

static void test_errors(void **state)
{
    (void)state;
    problem p = make_problem(3, (int64_t[3]){10, 10, 10}, 2, VF_F32, false);
    vf_ion_search *search = make_search(&p, NULL);
    vf_ion_place place;
    const double nowhere[3] = {NAN, 0, 0}, somewhere[3] = {0, 0, 0};
    assert_int_equal(vf_ion_search_find(search, NAN, &place), VF_ERR_ARGUMENT);
    vf_context_clear_error(ctx);
    const int64_t free_points = vf_ion_search_free(search);
    const double negative[3] = {9, 9, -1};
    assert_int_equal(vf_ion_search_exclude(search, negative), VF_ERR_ARGUMENT);
    assert_int_equal(vf_ion_search_free(search), free_points);
    vf_context_clear_error(ctx);
    assert_int_equal(vf_ion_search_add(search, nowhere, 1, 1, NULL), VF_ERR_ARGUMENT);
    vf_context_clear_error(ctx);
    assert_int_equal(vf_ion_search_add(search, somewhere, 1, NAN, NULL), VF_ERR_ARGUMENT);
    vf_context_clear_error(ctx);
    vf_ion_search_destroy(search);
    ((float *)p.map)[77] = NAN;
    const vf_coulomb_atoms atoms = atoms_of(&p);
    assert_int_equal(vf_ion_search_create(device, &p.grid, &atoms, p.map, &p.options, &search), VF_ERR_ARGUMENT);
    assert_null(search);
    vf_context_clear_error(ctx);
    free_problem(&p);
}

DEVICE_MAIN(NULL, NULL, cmocka_unit_test(test_random), cmocka_unit_test(test_many_ions), cmocka_unit_test(test_ties),
            cmocka_unit_test(test_no_charge), cmocka_unit_test(test_exact_map), cmocka_unit_test(test_refine),
            cmocka_unit_test(test_exclude_about), cmocka_unit_test(test_exclude_order), cmocka_unit_test(test_function),
            cmocka_unit_test(test_screened), cmocka_unit_test(test_errors))
