/* Ewald sums in periodic cells against Ewald's own sum, at every power of ten; Madelung constants; translations.
 *
 * usage: test_ewald_cells DEVICE [TEST...] (cpu, cuda; exit 77 if there is no such device)
 *
 * Bounds: ewald_fixture.h. Where only some points are compared, their rms error may be larger by chance: with n of
 * them, 1 + 4 / sqrt(n) times. */
#include "ewald_fixture.h"
#include "free_all.h"

/* Compares some random points with Ewald's sum. */
static void check_cell(const char *name, const vf_grid *g, const cloud *c, const vf_ewald_options *o)
{
    enum { SOME = 60 };
    const vf_coulomb_atoms charges = charges_of(c);
    double points[SOME][3], expected[SOME], some[SOME];
    double *got = compute_all(g, c, o);
    for (int i = 0; i < SOME; i++) {
        const int64_t n = (int64_t)(uniform() * (double)vf_grid_points(g));
        position(g, n, points[i]);
        some[i] = got[n];
    }
    vf_ewald_reference(&g->cell, &charges, o->scale, o->r_min, o->vacuum, SOME, &points[0][0], expected);
    assert_close(name, o, some, expected, NULL, SOME, 1 + 4 / sqrt(SOME));
    free(got);
}

static void test_cells(void **state)
{
    (void)state;
    for (int digits = 3; digits <= 10; digits++)
        for (int kind = VF_CELL_ORTHORHOMBIC; kind <= VF_CELL_TRICLINIC; kind++) {
            const vf_grid g = cell_grid((vf_cell_kind)kind, 9, 0.5);
            cloud c = charges_in(&g, 24, -0.5, 1.5);
            vf_ewald_options o = {.scale = 14.4,
                                  .r_min = 0.1,
                                  .tolerance = pow(10, -digits),
                                  .precision = digits > 6 || uniform() < 0.3 ? VF_F64 : VF_F32,
                                  .coarseness = uniform() < 0.6 ? 0 : 1 + uniform()};
            check_cell("charged", &g, &c, &o);
            make_neutral(&c);
            o.vacuum = true;
            check_cell("neutral, vacuum", &g, &c, &o);
            free(c.data);
        }
}

/* The reference against itself: its sum does not depend on how it is divided. A cell twice as long with twice the
 * charges has another division, and the same potential. */
static void test_reference(void **state)
{
    (void)state;
    const vf_grid g = cell_grid(VF_CELL_TRICLINIC, 9, 0.4);
    vf_cell twice = g.cell;
    cloud c = charges_in(&g, 6, 0, 1), two = make_cloud(12);
    double points[5][3], once[5], other[5];
    for (int a = 0; a < 3; a++) {
        twice.vectors[1][a] *= 2;
        for (int i = 0; i < 12; i++)
            two.data[a * 12 + i] = c.data[a * 6 + i % 6] + (i < 6 ? 0 : g.cell.vectors[1][a]);
    }
    memcpy(two.data + 36, c.data + 18, 6 * sizeof(double));
    memcpy(two.data + 42, c.data + 18, 6 * sizeof(double));
    for (int i = 0; i < 5; i++)
        position(&g, (int64_t)(uniform() * (double)vf_grid_points(&g)), points[i]);
    const vf_coulomb_atoms one_cell = charges_of(&c), two_cells = charges_of(&two);
    vf_ewald_reference(&g.cell, &one_cell, 1, 0.1, false, 5, &points[0][0], once);
    vf_ewald_reference(&twice, &two_cells, 1, 0.1, false, 5, &points[0][0], other);
    for (int i = 0; i < 5; i++)
        if (!(fabs(once[i] - other[i]) <= 1e-12))
            fail_msg("%.17g and %.17g", once[i], other[i]);
    free(c.data);
    free(two.data);
}

/* The field of charges at all points at once. */
static void sum_field(const vf_grid *g, const vf_coulomb_atoms *charges, const vf_ewald_options *o, int64_t count,
                      const double *points, double *values)
{
    vf_ewald_field *field = NULL;
    need(vf_ewald_field_create(ctx, &g->cell, charges, o, count, &field));
    need(vf_ewald_field_values(field, count, points, values));
    vf_ewald_field_destroy(field);
}

/* vf_ewald_field against the reference. Bound: ewald_sum.h; "a hundredth" holds for the rms error of independent charges,
 * and the largest of 20 points may be 5 times that. Some points are on charges, where r_min counts. */
static void test_points(void **state)
{
    enum { SOME = 20 };
    (void)state;
    for (int digits = 1; digits <= 10; digits += 3)
        for (int kind = VF_CELL_ORTHORHOMBIC; kind <= VF_CELL_TRICLINIC; kind++) {
            const vf_grid g = cell_grid((vf_cell_kind)kind, 9, 0.5);
            const int64_t count = digits == 4 ? 700 : 1 + (int64_t)(40 * uniform()); /* more than a block, and fewer */
            cloud c = charges_in(&g, count, -0.5, 1.5);
            vf_ewald_options o = {.scale = 14.4, .r_min = 0.01 + uniform(), .tolerance = pow(10, -digits)};
            double points[SOME][3], expected[SOME], got[SOME], other[SOME], size = 0;
            for (int n = 0; n < SOME; n++) {
                position(&g, (int64_t)(uniform() * (double)vf_grid_points(&g)), points[n]);
                for (int a = 0; n % 5 == 0 && a < 3; a++)
                    points[n][a] = c.data[a * count + n % count] + (n % 2 ? 0 : 0.1 * uniform());
            }
            for (int round = 0; round < 2; round++) {
                const vf_coulomb_atoms charges = charges_of(&c);
                const int threads = vf_context_threads(ctx);
                memset(got, 0xff, sizeof got);
                sum_field(&g, &charges, &o, SOME, &points[0][0], got);
                need(vf_context_set_threads(ctx, 1));
                sum_field(&g, &charges, &o, SOME, &points[0][0], other);
                need(vf_context_set_threads(ctx, threads));
                assert_memory_equal(got, other, sizeof got);
                vf_ewald_reference(&g.cell, &charges, o.scale, o.r_min, o.vacuum, SOME, &points[0][0], expected);
                size = 0;
                for (int n = 0; n < SOME; n++)
                    size += expected[n] * expected[n] / SOME;
                for (int n = 0; n < SOME; n++)
                    if (!(fabs(got[n] - expected[n]) <=
                          0.05 * o.tolerance * sqrt(size) + 1e-12 * o.scale * (double)count))
                        fail_msg("tolerance %g, %lld charges, point %d: %.12g instead of %.12g, off by %.3g of %.3g",
                                 o.tolerance, (long long)c.count, n, got[n], expected[n], fabs(got[n] - expected[n]),
                                 sqrt(size));
                make_neutral(&c);
                o.vacuum = true;
            }
            free(c.data);
        }
}

/* One charge: vf_ewald_pair against the reference, at points near it, far from it and beyond the cell, in cells up to flat and
 * skewed ones. Bound: its contract, and rounding as in test_points. Added to what is there, whatever the threads. */
static void test_pair(void **state)
{
    enum { SOME = 300 };
    static const double shapes[][3][3] = {
        {{9, 0, 0}, {0, 9, 0}, {0, 0, 9}}, {{30, 0, 0}, {0, 8, 0}, {0, 0, 5}}, {{9, 0, 0}, {4, 8, 0}, {-4, 3, 7}}};
    (void)state;
    for (int shape = 0; shape < 3; shape++)
        for (int digits = 2; digits <= 10; digits += 4) {
            vf_cell cell = {.kind = shape < 2 ? VF_CELL_ORTHORHOMBIC : VF_CELL_TRICLINIC};
            memcpy(cell.vectors, shapes[shape], sizeof cell.vectors);
            const double place[3] = {20 * uniform() - 10, 20 * uniform() - 10, 20 * uniform() - 10}, one = 1;
            const double tolerance = pow(10, -digits), edge = cbrt(vf_cell_volume(&cell)), r_min = 0.01 + uniform();
            const vf_coulomb_atoms unit = {1, &place[0], &place[1], &place[2], &one};
            double points[SOME][3], expected[SOME], got[SOME], other[SOME];
            for (int n = 0; n < SOME; n++) {
                const double reach = n % 3 == 0 ? 2 * r_min : 20;
                for (int a = 0; a < 3; a++)
                    points[n][a] = place[a] + (n == 0 ? 0 : reach * (2 * uniform() - 1));
                got[n] = other[n] = 7;
            }
            vf_ewald_pair *pair;
            need(vf_ewald_pair_create(ctx, &cell, r_min, tolerance, &pair));
            const int threads = vf_context_threads(ctx);
            need(vf_ewald_pair_add(ctx, pair, place, -2.5, SOME, &points[0][0], got));
            need(vf_context_set_threads(ctx, 1));
            need(vf_ewald_pair_add(ctx, pair, place, -2.5, SOME, &points[0][0], other));
            need(vf_context_set_threads(ctx, threads));
            assert_memory_equal(got, other, sizeof got);
            vf_ewald_pair_destroy(pair);
            vf_ewald_reference(&cell, &unit, -2.5, r_min, false, SOME, &points[0][0], expected);
            for (int n = 0; n < SOME; n++)
                if (!(fabs(got[n] - 7 - expected[n]) <= 2.5 * tolerance / edge + 1e-12))
                    fail_msg("shape %d, tolerance %g, point %d: %.12g instead of %.12g", shape, tolerance, n,
                             got[n] - 7, expected[n]);
        }
}

typedef struct crystal {
    const char *name;
    double madelung; /* of the nearest distance */
    double nearest;  /* of the edge 1 */
    int count;       /* of each kind */
    double place[8][3];
} crystal;

/* The constants: Crandall and Buhler, J. Phys. A 20 (1987) 5497 (NaCl, CsCl); Sakamoto, J. Chem. Phys. 28 (1958) 164
 * (zincblende). */
static void test_madelung(void **state)
{
    (void)state;
    static const crystal crystals[] = {
        {"NaCl",
         1.747564594633182,
         0.5,
         4,
         {{0, 0, 0}, {0, .5, .5}, {.5, 0, .5}, {.5, .5, 0}, {.5, 0, 0}, {0, .5, 0}, {0, 0, .5}, {.5, .5, .5}}},
        {"CsCl", 1.762674773070988, 0.8660254037844386, 1, {{0, 0, 0}, {.5, .5, .5}}},
        {"ZnS",
         1.638055053388789,
         0.4330127018922193,
         4,
         {{0, 0, 0},
          {0, .5, .5},
          {.5, 0, .5},
          {.5, .5, 0},
          {.25, .25, .25},
          {.25, .75, .75},
          {.75, .25, .75},
          {.75, .75, .25}}}};
    for (int n = 0; n < 3; n++) {
        const crystal *k = &crystals[n];
        const int count = 2 * k->count;
        const double edge = 4 + 3 * uniform(), r_min = 0.1;
        vf_grid g = {.origin = {uniform(), uniform(), uniform()},
                     .spacing = {edge / 16, edge / 16, edge / 16},
                     .counts = {16, 16, 16},
                     .cell = {.kind = VF_CELL_ORTHORHOMBIC, .vectors = {{edge, 0, 0}, {0, edge, 0}, {0, 0, edge}}}};
        cloud c = make_cloud(count);
        for (int i = 0; i < count; i++) {
            for (int a = 0; a < 3; a++)
                c.data[a * count + i] = g.origin[a] + edge * k->place[i][a];
            c.data[3 * count + i] = i < k->count ? 1 : -1;
        }
        const vf_ewald_options o = {.scale = 1, .r_min = r_min, .tolerance = 1e-10, .precision = VF_F64};
        double *got = compute_all(&g, &c, &o);
        for (int i = 0; i < count; i++) {
            const int64_t at = (int64_t)(16 * k->place[i][0]) + 16 * (int64_t)(16 * k->place[i][1]) +
                               256 * (int64_t)(16 * k->place[i][2]);
            const double q = c.data[3 * count + i], constant = (1 / r_min - q * got[at]) * k->nearest * edge;
            if (!(fabs(constant - k->madelung) <= 1e-9))
                fail_msg("%s: Madelung constant %.15g instead of %.15g", k->name, constant, k->madelung);
        }
        free(got);
        free(c.data);
    }
}

/* Moving charges by vectors of the cell, and everything by half a mesh point, changes nothing beyond the tolerance. */
static void test_translations(void **state)
{
    (void)state;
    for (int kind = VF_CELL_ORTHORHOMBIC; kind <= VF_CELL_TRICLINIC; kind++) {
        vf_grid g = cell_grid((vf_cell_kind)kind, 10, 0.4);
        cloud c = charges_in(&g, 30, 0, 1);
        const int64_t points = vf_grid_points(&g);
        const vf_ewald_options o = {.scale = 1, .r_min = 0.1, .tolerance = 1e-9, .precision = VF_F64};
        double *once = compute_all(&g, &c, &o);
        for (int64_t i = 0; i < c.count; i++)
            for (int v = 0; v < 3; v++) {
                const double turns = floor(5 * uniform()) - 2;
                for (int a = 0; a < 3; a++)
                    c.data[a * c.count + i] += turns * g.cell.vectors[v][a];
            }
        double *moved = compute_all(&g, &c, &o);
        assert_close("by the cell", &o, moved, once, NULL, points, 2);
        vf_ewald *plan = make_plan(&g, &c, &o);
        vf_ewald_info info;
        vf_ewald_get_info(plan, &info);
        vf_ewald_destroy(plan);
        for (int a = 0; a < 3; a++)
            for (int64_t i = 0; i < c.count; i++)
                c.data[a * c.count + i] += 0.5 * info.spacing[a];
        for (int a = 0; a < 3; a++)
            g.origin[a] += 0.5 * info.spacing[a];
        double *shifted = compute_all(&g, &c, &o);
        assert_close("by half a mesh point", &o, shifted, once, NULL, points, 2);
        FREE_ALL(once, moved, shifted, c.data);
    }
}

DEVICE_MAIN(NULL, NULL, cmocka_unit_test(test_cells), cmocka_unit_test(test_points), cmocka_unit_test(test_pair),
            cmocka_unit_test(test_reference), cmocka_unit_test(test_madelung), cmocka_unit_test(test_translations))
