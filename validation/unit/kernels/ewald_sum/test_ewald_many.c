/* Ewald sums of so many charges that those of the coarse mesh are the fine mesh's, on CPUs as on GPUs.
 *
 * usage: test_ewald_many DEVICE [TEST...]     (cpu, cuda; exit 77 if there is no such device)
 *
 * Bounds: ewald_fixture.h. Of n points of the grid, the rms error may be larger than over all by chance: 1 + 4 / sqrt(n) times. */
#include "ewald_fixture.h"
#include "free_all.h"

enum { SOME = 100, FEW = 8 };

static const double kinds[5] = {0.62, -0.57, 0.31, -0.46, 0.1};

static vf_ewald_options options_for(int digits)
{
    return (vf_ewald_options){
        .scale = 14.4, .r_min = 0.1, .tolerance = pow(10, -digits), .precision = digits > 6 ? VF_F64 : VF_F32};
}

/* Some points of the map. */
static void choose_points(const vf_grid *g, const double *map, int count, double (*points)[3], double *some)
{
    for (int i = 0; i < count; i++) {
        const int64_t n = (int64_t)(uniform() * (double)vf_grid_points(g));
        position(g, n, points[i]);
        some[i] = map[n];
    }
}

/* Also the root of the squares of terms times (1 + h / r), h the spacing, as in test_ewald_sum.c. In a cell, spread is that of the
 * nearest images, and the sum means nothing. */
static void sum_directly(const vf_grid *g, const cloud *c, const vf_ewald_options *o, const double r[3], double *sum,
                         double *spread)
{
    double squares = 0;
    *sum = 0;
    for (int64_t i = 0; i < c->count; i++) {
        double d2 = 0;
        for (int a = 0; a < 3; a++) {
            const double period = g->cell.vectors[a][a], d = r[a] - c->data[a * c->count + i];
            d2 += pow(period > 0 ? d - period * round(d / period) : d, 2);
        }
        const double distance = fmax(sqrt(d2), o->r_min), term = o->scale * c->data[3 * c->count + i] / distance;
        *sum += term;
        squares += pow(term * (1 + g->spacing[0] / distance), 2);
    }
    *spread = sqrt(squares);
}

static void check_free(const char *name, const vf_grid *g, const cloud *c)
{
    const int digits[] = {4, 5, 6, 9};
    for (int d = 0; d < 4; d++) {
        const vf_ewald_options o = options_for(digits[d]);
        double points[SOME][3], some[SOME], expected[SOME], spread[SOME];
        double *map = compute_all(g, c, &o);
        choose_points(g, map, SOME, points, some);
        for (int i = 0; i < SOME; i++)
            sum_directly(g, c, &o, points[i], &expected[i], &spread[i]);
        assert_close(name, &o, some, expected, spread, SOME, 1 + 4 / sqrt(SOME));
        free(map);
    }
}

/* One element after the other: the mesh has much charge before it has little. */
static cloud by_element(const cloud *c)
{
    cloud sorted = make_cloud(c->count);
    int64_t n = 0;
    for (int heavy = 1; heavy >= 0; heavy--)
        for (int64_t i = 0; i < c->count; i++)
            if ((i % 3 == 0) == heavy) {
                for (int a = 0; a < 4; a++)
                    sorted.data[a * c->count + n] = c->data[a * c->count + i];
                n++;
            }
    return sorted;
}

/* Water, a thirtieth of a molecule in a cubic angstrom; as many charges of five kinds, neutral in all; and of one sign. In single
 * precision a mesh has not quite the charge that there is, which matters where the potential is small. */
static void test_free_space(void **state)
{
    const double spacing = 1.4;
    (void)state;
    vf_grid g = {.cell = {.kind = VF_CELL_NONE}, .counts = {46, 48, 50}, .spacing = {spacing, spacing, spacing}};
    cloud c = charges_in(&g, 30000, 0, 1);
    make_neutral(&c);
    cloud sorted = by_element(&c);
    check_free("water", &g, &sorted);
    for (int64_t i = 0; i < c.count; i++)
        sorted.data[3 * c.count + i] = kinds[i % 5];
    check_free("five kinds", &g, &sorted);
    for (int64_t i = 0; i < c.count; i++)
        sorted.data[3 * c.count + i] = 0.5 + 0.5 * uniform();
    check_free("one sign", &g, &sorted);
    free(c.data);
    free(sorted.data);
}

static void test_cells(void **state)
{
    (void)state;
    for (int kind = VF_CELL_ORTHORHOMBIC; kind <= VF_CELL_TRICLINIC; kind++)
        for (int digits = 5; digits <= 9; digits += 2) {
            const vf_grid g = cell_grid((vf_cell_kind)kind, 20, 0.5);
            const vf_ewald_options o = options_for(digits);
            double points[FEW][3], some[FEW], expected[FEW];
            cloud c = charges_in(&g, 1500, -0.5, 1.5);
            if (uniform() < 0.5)
                make_neutral(&c);
            const vf_coulomb_atoms charges = charges_of(&c);
            double *map = compute_all(&g, &c, &o);
            choose_points(&g, map, FEW, points, some);
            vf_ewald_reference(&g.cell, &charges, o.scale, o.r_min, o.vacuum, FEW, &points[0][0], expected);
            assert_close("cell", &o, some, expected, NULL, FEW, 1 + 4 / sqrt(FEW));
            free(map);
            free(c.data);
        }
}

/* Water in half of a cell: a little charge too much has a potential there, since it is not everywhere. Against double precision,
 * whose maps the other tests compare with Ewald's sum. */
static void test_half_a_cell(void **state)
{
    (void)state;
    vf_grid g = {.cell = {.kind = VF_CELL_ORTHORHOMBIC}, .counts = {136, 72, 72}, .spacing = {0.8, 0.8, 0.8}};
    for (int a = 0; a < 3; a++)
        g.cell.vectors[a][a] = g.spacing[a] * (double)g.counts[a];
    cloud all = charges_in(&g, 21000, 0, 1);
    for (int64_t i = 0; i < all.count; i++)
        all.data[i] *= 0.5;
    make_neutral(&all);
    cloud c = by_element(&all);
    const vf_ewald_options exact = options_for(9), o = options_for(6);
    double points[SOME][3], some[SOME], expected[SOME], spread[SOME], unused;
    double *truth = compute_all(&g, &c, &exact), *got = compute_all(&g, &c, &o);
    for (int i = 0; i < SOME; i++) {
        const int64_t n = (int64_t)(uniform() * (double)vf_grid_points(&g));
        position(&g, n, points[i]);
        some[i] = got[n];
        expected[i] = truth[n];
        sum_directly(&g, &c, &o, points[i], &unused, &spread[i]);
    }
    assert_close("half a cell", &o, some, expected, spread, SOME, 1 + 4 / sqrt(SOME));
    free(truth);
    free(got);
    free(all.data);
    free(c.data);
}

DEVICE_MAIN(NULL, NULL, cmocka_unit_test(test_free_space), cmocka_unit_test(test_cells),
            cmocka_unit_test(test_half_a_cell))
