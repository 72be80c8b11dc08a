/* The search for ions' places in periodic cells, against brute force: all images, and Ewald's own sum for each ion and
 * point.
 *
 * usage: test_ion_images [cpu [TEST...]]
 *
 * The variant "images" takes an ion's potential from a table, which is accurate to 1e-9 of its rms over the grid, and
 * to 10 times that at any point. So energies may differ by 1e-8 of |z| C sum |q| times the largest potential of a
 * charge beyond the distance of ions: at most 1 / distance. */
#include <math.h>

#include "ewald_sum.h"
#include "free_all.h"
#include "ion_search.h"
#include "kernels/cloud_fixture.h"

enum { ATOMS = 6, IONS = 14 };

typedef struct problem {
    vf_grid grid;
    int64_t points;
    double atoms[5][ATOMS]; /* x, y, z, charge, distance */
    double ion_distance;
    double *map; /* exact */
    vf_pair_potential pair;
} problem;

static problem make_problem(vf_cell_kind kind)
{
    problem p = {.points = 1, .ion_distance = 1 + uniform(), .grid = {.cell = {.kind = kind}}};
    for (int a = 0; a < 3; a++) {
        p.grid.counts[a] = 7 + (int64_t)(5 * uniform());
        p.grid.spacing[a] = 0.4 + 0.3 * uniform();
        p.grid.origin[a] = 20 * uniform() - 10;
        p.grid.cell.vectors[a][a] = p.grid.spacing[a] * (double)p.grid.counts[a];
        for (int b = 0; kind == VF_CELL_TRICLINIC && b < a; b++)
            p.grid.cell.vectors[a][b] = 0.8 * (uniform() - 0.5) * p.grid.cell.vectors[b][b];
        p.points *= p.grid.counts[a];
    }
    for (int i = 0; i < ATOMS; i++)
        for (int a = 0; a < 5; a++)
            p.atoms[a][i] = a == 3   ? uniform() - 0.5
                            : a == 4 ? 0.5 + uniform()
                                     : p.grid.origin[a] + p.grid.cell.vectors[a][a] * (3 * uniform() - 1);
    p.map = malloc((size_t)p.points * sizeof *p.map);
    assert_non_null(p.map);
    for (int64_t i = 0; i < p.points; i++)
        p.map[i] = 20 * (uniform() - 0.5);
    p.pair = (vf_pair_potential){.law = VF_PAIR_PERIODIC, .scale = 14.4, .r_min = 0.1, .cell = p.grid.cell};
    return p;
}

/* The square of the distance of the nearest images; the cells here are hardly tilted, so three to either side do. */
static double nearest(const problem *p, const double r[3], const double s[3])
{
    double least = INFINITY;
    for (int n = 0; n < 7 * 7 * 7; n++) {
        const int turn[3] = {n % 7 - 3, n / 7 % 7 - 3, n / 49 - 3};
        double square = 0;
        for (int a = 0; a < 3; a++) {
            double d = r[a] - s[a];
            for (int v = 0; v < 3; v++)
                d += turn[v] * p->grid.cell.vectors[v][a];
            square += d * d;
        }
        least = fmin(least, square);
    }
    return least;
}

/* Marks points nearer than `distance`; those within rounding of it are not compared. */
static void mark(const problem *p, const double at[3], double distance, uint8_t value, uint8_t *mask, bool *unsure)
{
    for (int64_t i = 0; i < p->points; i++) {
        double r[3];
        position(&p->grid, i, r);
        const double square = nearest(p, r, at), limit = distance * distance;
        unsure[i] |= fabs(square - limit) <= 1e-9;
        if (mask[i] == VF_ION_FREE && square < limit)
            mask[i] = value;
    }
}

static vf_ion_search *make_search(const problem *p, const char *variant)
{
    vf_ion_search *search = NULL;
    const double(*a)[ATOMS] = p->atoms;
    const vf_coulomb_atoms atoms = {.count = ATOMS, .x = a[0], .y = a[1], .z = a[2], .charge = a[3]};
    const vf_ion_search_options options = {
        .pair = p->pair, .precision = VF_F64, .map_is_exact = true, .variant = variant};
    vf_status status = vf_ion_search_create(device, &p->grid, &atoms, p->map, &options, &search);
    if (status == VF_OK)
        status = vf_ion_search_exclude(search, a[4]);
    if (status != VF_OK)
        fail_msg("%s", vf_context_message(ctx));
    return search;
}

/* Places ions until none fits; each must have the lowest energy of all free points, and keep its distance from all
 * images. */
static void place_all(const problem *p, const char *variant)
{
    vf_ion_search *search = make_search(p, variant);
    double *potential = malloc((size_t)p->points * sizeof *potential), ions[IONS][3], charges = 0;
    uint8_t *mask = calloc((size_t)p->points, 1);
    bool *unsure = calloc((size_t)p->points, sizeof *unsure);
    assert_true(potential && mask && unsure);
    memcpy(potential, p->map, (size_t)p->points * sizeof *potential);
    for (int i = 0; i < ATOMS; i++)
        mark(p, (double[]){p->atoms[0][i], p->atoms[1][i], p->atoms[2][i]}, p->atoms[4][i], VF_ION_SOLUTE, mask,
             unsure);
    for (int n = 0; n < IONS; n++) {
        const double charge = n % 3 ? 1 : -2, slack = 1e-8 * 2 * p->pair.scale * charges / p->ion_distance;
        double least = INFINITY, energy;
        vf_ion_place place;
        const uint8_t *found = vf_ion_search_mask(search);
        for (int64_t i = 0; i < p->points; i++) {
            if (!unsure[i] && found[i] != mask[i])
                fail_msg("ion %d: point %lld is %d, not %d", n, (long long)i, found[i], mask[i]);
            if (found[i] == VF_ION_FREE)
                least = fmin(least, charge * potential[i]);
        }
        assert_int_equal(vf_ion_search_find(search, charge, &place), VF_OK);
        if (place.index < 0) {
            assert_true(isinf(least));
            break;
        }
        if (!(fabs(charge * potential[place.index] - least) <= 2 * slack + 1e-12))
            fail_msg("ion %d: energy %.12g, not %.12g", n, charge * potential[place.index], least);
        for (int m = 0; m < n; m++)
            assert_true(nearest(p, place.position, ions[m]) >= p->ion_distance * p->ion_distance * (1 - 1e-12));
        assert_int_equal(vf_ion_search_add(search, place.position, charge, p->ion_distance, &energy), VF_OK);
        if (!(fabs(energy - charge * potential[place.index]) <= slack + 1e-12))
            fail_msg("ion %d: energy %.12g instead of %.12g", n, energy, charge * potential[place.index]);
        memcpy(ions[n], place.position, sizeof ions[n]);
        charges += fabs(charge);
        mark(p, place.position, p->ion_distance, VF_ION_ION, mask, unsure);
        for (int64_t i = 0; i < p->points; i++) {
            double r[3];
            position(&p->grid, i, r);
            const double d[3] = {r[0] - ions[n][0], r[1] - ions[n][1], r[2] - ions[n][2]};
            potential[i] += charge * vf_pair_value(&p->pair, d);
        }
    }
    vf_ion_search_destroy(search);
    FREE_ALL(potential, mask, unsure);
}

static void test_places(void **state)
{
    (void)state;
    for (int kind = VF_CELL_ORTHORHOMBIC; kind <= VF_CELL_TRICLINIC; kind++) {
        problem p = make_problem((vf_cell_kind)kind);
        place_all(&p, NULL);
        place_all(&p, "ref");
        free(p.map);
    }
}

/* An ion beside the grid's points, or moved by vectors of the cell, adds the same periodic potential. */
static void test_off_the_grid(void **state)
{
    (void)state;
    for (int kind = VF_CELL_ORTHORHOMBIC; kind <= VF_CELL_TRICLINIC; kind++) {
        problem p = make_problem((vf_cell_kind)kind);
        vf_ion_search *search = make_search(&p, NULL);
        double at[3], r[3], energy;
        for (int a = 0; a < 3; a++)
            at[a] = p.grid.origin[a] + p.grid.cell.vectors[a][a] * (4 * uniform() - 2);
        assert_int_equal(vf_ion_search_add(search, at, 1.5, 0, NULL), VF_OK);
        for (int n = 0; n < 5; n++) {
            const int64_t i = (int64_t)(uniform() * (double)p.points);
            position(&p.grid, i, r);
            const double d[3] = {r[0] - at[0], r[1] - at[1], r[2] - at[2]};
            const double expected = p.map[i] + 1.5 * vf_pair_value(&p.pair, d);
            assert_int_equal(vf_ion_search_add(search, r, 0, 0, &energy), VF_OK);
            assert_true(energy == 0);
            assert_int_equal(vf_ion_search_add(search, r, 1e-9, 0, &energy), VF_OK);
            if (!(fabs(energy / 1e-9 - expected) <=
                  1e-8 * p.pair.scale / 0.1)) /* the small charge itself, and rounding */
                fail_msg("%.12g instead of %.12g", energy / 1e-9, expected);
        }
        vf_ion_search_destroy(search);
        free(p.map);
    }
}

/* The potential of atoms and ions by Ewald's own sum, in plain C. */
static double true_potential(const problem *p, int ions, const double (*ion)[4], const double r[3])
{
    double all[4][ATOMS + IONS], value;
    for (int a = 0; a < 4; a++) {
        memcpy(all[a], p->atoms[a], sizeof p->atoms[a]);
        for (int n = 0; n < ions; n++)
            all[a][ATOMS + n] = ion[n][a];
    }
    const vf_coulomb_atoms charges = {.count = ATOMS + ions, .x = all[0], .y = all[1], .z = all[2], .charge = all[3]};
    vf_ewald_reference(&p->grid.cell, &charges, p->pair.scale, p->pair.r_min, false, 1, r, &value);
    return value;
}

static bool far_enough(const problem *p, int ions, const double (*ion)[4], const double r[3])
{
    bool far = true;
    for (int i = 0; i < ATOMS; i++)
        far &= nearest(p, r, (double[]){p->atoms[0][i], p->atoms[1][i], p->atoms[2][i]}) >=
               p->atoms[4][i] * p->atoms[4][i] * (1 - 1e-12);
    for (int n = 0; n < ions; n++)
        far &= nearest(p, r, ion[n]) >= p->ion_distance * p->ion_distance * (1 - 1e-12);
    return far;
}

/* A refined ion keeps its distance from all images, stays within a spacing, and is where none of the 26 places at the
 * last step is both allowed and better. Energies are to 1e-12 of what a charge at the distance of the nearest atom has,
 * at least 0.5; the bound is a hundred times that, and far below the differences of energies. */
static void test_refined(void **state)
{
    (void)state;
    int moved = 0, outside = 0;
    for (int trial = 0; trial < 2; trial++) {
        problem p = make_problem(trial % 2 ? VF_CELL_TRICLINIC : VF_CELL_ORTHORHOMBIC);
        double ion[IONS][4], sum = 0, energy;
        for (int i = 0; i < ATOMS; i++)
            sum += fabs(p.atoms[3][i]);
        for (int64_t i = 0; i < p.points; i++) { /* the map is that of the atoms */
            double r[3];
            position(&p.grid, i, r);
            p.map[i] = true_potential(&p, 0, NULL, r);
        }
        vf_ion_search *search = make_search(&p, NULL);
        for (int n = 0; n < 4; n++) {
            const double charge = n % 2 ? 1 : -2, slack = 1e-10 * 2 * p.pair.scale * (sum += 2) / 0.5;
            vf_ion_place place;
            assert_int_equal(vf_ion_search_find(search, charge, &place), VF_OK);
            if (place.index < 0)
                break;
            const double start[3] = {place.position[0], place.position[1], place.position[2]}, *r = place.position;
            assert_int_equal(vf_ion_search_refine(search, charge, &place), VF_OK);
            const double found = charge * true_potential(&p, n, (const double(*)[4])ion, r);
            assert_true(far_enough(&p, n, (const double(*)[4])ion, r));
            assert_true(found <= charge * true_potential(&p, n, (const double(*)[4])ion, start) + slack);
            for (int m = 0; m < 27; m++) {
                const int way[3] = {m % 3 - 1, m / 3 % 3 - 1, m / 9 - 1};
                double beside[3];
                bool near = true;
                for (int a = 0; a < 3; a++) {
                    beside[a] = r[a] + way[a] * p.grid.spacing[a] / 64;
                    near &= fabs(beside[a] - start[a]) <= p.grid.spacing[a];
                }
                if (near && far_enough(&p, n, (const double(*)[4])ion, beside))
                    assert_true(charge * true_potential(&p, n, (const double(*)[4])ion, beside) >= found - slack);
            }
            for (int a = 0; a < 3; a++) {
                assert_true(fabs(r[a] - start[a]) <= p.grid.spacing[a]);
                ion[n][a] = r[a];
                outside += r[a] < p.grid.origin[a] ||
                           r[a] > p.grid.origin[a] + p.grid.spacing[a] * (double)(p.grid.counts[a] - 1);
            }
            ion[n][3] = charge;
            moved += memcmp(r, start, sizeof start) != 0;
            assert_int_equal(vf_ion_search_add(search, r, charge, p.ion_distance, &energy), VF_OK);
            if (!(fabs(energy - found) <= 1e-8 * 2 * p.pair.scale * sum / 0.5)) /* of one on the grid, by the table */
                fail_msg("energy %.14g, not %.14g", energy, found);
        }
        vf_ion_search_destroy(search);
        free(p.map);
    }
    print_message("%d ions moved, %d coordinates left the box\n", moved, outside);
    assert_true(moved > 3);
}

static void test_refusals(void **state)
{
    (void)state;
    problem p = make_problem(VF_CELL_ORTHORHOMBIC);
    vf_ion_search *search = NULL;
    const vf_coulomb_atoms none = {0};
    vf_ion_search_options options = {.pair = p.pair, .precision = VF_F64, .map_is_exact = true};
    vf_grid half = p.grid;
    half.counts[1] /= 2;
    assert_int_equal(vf_ion_search_create(device, &half, &none, p.map, &options, &search), VF_ERR_UNSUPPORTED);
    vf_context_clear_error(ctx);
    options.variant = "cells";
    assert_int_equal(vf_ion_search_create(device, &p.grid, &none, p.map, &options, &search), VF_ERR_UNSUPPORTED);
    vf_context_clear_error(ctx);
    options.variant = "images";
    options.map_is_exact = false;
    assert_int_equal(vf_ion_search_create(device, &p.grid, &none, p.map, &options, &search), VF_ERR_UNSUPPORTED);
    vf_context_clear_error(ctx);
    options.map_is_exact = true;
    options.pair.law = VF_PAIR_COULOMB;
    assert_int_equal(vf_ion_search_create(device, &p.grid, &none, p.map, &options, &search), VF_ERR_UNSUPPORTED);
    vf_context_clear_error(ctx);
    assert_null(search);
    free(p.map);
}

DEVICE_MAIN(NULL, NULL, cmocka_unit_test(test_places), cmocka_unit_test(test_off_the_grid),
            cmocka_unit_test(test_refined), cmocka_unit_test(test_refusals))
