/* Potentials and fields at scattered points: against the reference, at every power of ten of the tolerance; exclusions.
 *
 * usage: test_point_sum cpu [TEST...]
 *
 * Bounds. Exact sums in free space: each of n terms is off by less than 4 u of itself, u = 2^-53, and each addition by u
 * of the sum so far: a point by (n + 8) u s, s = sum |q| g. A field's term has three factors of 1 / r and a difference of
 * coordinates that is off by u of the coordinates, 4 u |r| / d of itself: (n + 8) u s' + 8 u X s'', s' = sum |q| / d^2,
 * s'' = sum |q| / d^3, X the largest coordinate. Fast sums: the contract of point_sum.h, rms error over the points at
 * most the tolerance times the rms, 10 times that at a point. Where only some points are taken, their rms error may be
 * larger by chance, 1 + 4 / sqrt(n) times for n of them. */
#include "free_all.h"
#include "point_fixture.h"

/* ---- exact sums in free space ---- */

static void check_exact(int64_t charges, int64_t count, bool square, double sigma)
{
    const double edge[3] = {9, 14, 6}, lo[3] = {-3, -3, -3}, hi[3] = {12, 17, 9};
    cloud c = box_of(charges, edge);
    double *points = points_in(count, lo, hi);
    if (count > 2 && charges > 0) /* at a charge, and within r_min of it */
        for (int a = 0; a < 3; a++) {
            points[a] = c.data[a * charges];
            points[3 + a] = c.data[a * charges] + 0.05;
        }
    const vf_point_options o = {
        .scale = -3, .r_min = 0.2, .distance_dielectric = square, .sigma = sigma, .fields = true};
    const vf_point_list list = {.count = count, .points = points};
    result got = sum_at(&c, &o, &list, NULL), want = reference_at(&c, &o, &list);
    for (int64_t n = 0; n < count; n++) {
        double s = 0, steep = 0, steeper = 0;
        for (int64_t i = 0; i < charges; i++) {
            double d = 0;
            for (int a = 0; a < 3; a++)
                d += pow(points[3 * n + a] - c.data[a * charges + i], 2);
            d = fmax(sqrt(d), sigma > 0 ? sigma / 2 : o.r_min); /* a Gaussian's slope is less than that of a point */
            const double q = fabs(c.data[3 * charges + i]) * (square ? 2 / d : 1);
            s += q / d;
            steep += q / (d * d);
            steeper += q / (d * d * d);
        }
        const double slack = 3 * u * (double)(charges + 8) * (sigma > 0 ? 8 : 1);
        assert_true(fabs(got.values[n] - want.values[n]) <= slack * s);
        for (int a = 0; a < 3; a++)
            assert_true(fabs(got.fields[3 * n + a] - want.fields[3 * n + a]) <=
                        slack * steep + 3 * 8 * u * 17 * steeper);
    }
    free_result(&got);
    free_result(&want);
    free(points);
    free(c.data);
}

static void test_exact(void **state)
{
    (void)state;
    static const int64_t charges[] = {0, 1, 2, 7, 64, 2047, 2048, 2049}, counts[] = {0, 1, 3, 15, 16, 17, 50};
    for (size_t i = 0; i < sizeof charges / sizeof *charges; i++)
        for (size_t j = 0; j < sizeof counts / sizeof *counts; j++) {
            check_exact(charges[i], counts[j], false, 0);
            check_exact(charges[i], counts[j], true, 0);
            if (charges[i] < 100)
                check_exact(charges[i], counts[j], false, 0.7);
        }
}

/* ---- fast sums ---- */

/* rms errors of the potential, and of the field if there is one, and the largest, against the contract; `rounding`: of the reference, of its rms. */
static void assert_contract(const char *what, const vf_point_options *o, const result *got, const result *want,
                            double rounding)
{
    double error = 0, size = 0, field_error = 0, field_size = 0, most = 0, field_most = 0;
    const double n = (double)got->count, tolerance = o->tolerance * (1 + 4 / sqrt(n)) + rounding;
    for (int64_t i = 0; i < got->count; i++) {
        const double off = got->values[i] - want->values[i];
        double field_off = 0;
        for (int a = 0; o->fields && a < 3; a++) {
            field_off += pow(got->fields[3 * i + a] - want->fields[3 * i + a], 2);
            field_size += pow(want->fields[3 * i + a], 2) / n;
        }
        error += off * off / n;
        size += want->values[i] * want->values[i] / n;
        field_error += field_off / n;
        most = fmax(most, fabs(off));
        field_most = fmax(field_most, sqrt(field_off));
        assert_true(isfinite(off) && isfinite(field_off));
    }
    if (!(sqrt(error) <= tolerance * sqrt(size)) || !(most <= 10 * tolerance * sqrt(size)) ||
        !(sqrt(field_error) <= tolerance * sqrt(field_size)) || !(field_most <= 10 * tolerance * sqrt(field_size)))
        fail_msg("%s, tolerance %g, sigma %g: rms error %.3g, most %.3g; of the field %.3g, most %.3g", what,
                 o->tolerance, o->sigma, sqrt(error / size), most / sqrt(size), sqrt(field_error / field_size),
                 field_most / sqrt(field_size));
}

static void check_free(const cloud *c, const double *points, int64_t count, double tolerance, double sigma,
                       double r_min, bool fields)
{
    vf_point_options o = {.scale = 7, .r_min = r_min, .sigma = sigma, .tolerance = tolerance, .fields = fields};
    const vf_point_list list = {.count = count, .points = points};
    bool fast;
    result got = sum_at(c, &o, &list, &fast);
    assert_true(fast);
    o.tolerance = 0;
    result want = sum_at(c, &o, &list, &fast);
    assert_false(fast);
    o.tolerance = tolerance;
    assert_contract("free space", &o, &got, &want, 1e-12);
    free_result(&got);
    free_result(&want);
}

static void test_free_space(void **state)
{
    (void)state;
    enum { CHARGES = 6000, COUNT = 2000 };
    const double edge[3] = {45, 35, 40}, lo[3] = {-8, -8, -8}, hi[3] = {53, 43, 48};
    for (int digits = 2; digits <= 10; digits++) {
        cloud c = box_of(CHARGES, edge);
        double *points = points_in(COUNT, lo, hi);
        if (digits % 3 == 0)
            make_neutral(&c);
        check_free(&c, points, COUNT, pow(10, -digits), 0, 0.1, true);
        if (digits == 4)
            check_free(&c, points, COUNT, 1e-4, 1.1, 0.1, true);
        free(points);
        free(c.data);
    }
}

/* Charges so dense that the cheapest mesh has a cutoff of about r_min and less than sigma. For points, the cutoff may not be
 * less than r_min: nothing bounds 1 / r beyond it. For Gaussians, it may be: r_min does not matter to them. Without fields,
 * for a plan with fields takes a larger cutoff. */
static void test_wide_charges(void **state)
{
    (void)state;
    enum { CHARGES = 3000, COUNT = 10000 };
    const double edge[3] = {20, 20, 20}, lo[3] = {0, 0, 0};
    cloud c = box_of(CHARGES, edge);
    double *points = points_in(COUNT, lo, edge);
    check_free(&c, points, COUNT, 1e-3, 0, 2, false);
    check_free(&c, points, COUNT, 1e-3, 2, 2, false);
    free(points);
    free(c.data);
}

static void check_cell(vf_cell_kind kind, double tolerance, double sigma, bool vacuum)
{
    enum { COUNT = 60 };
    const vf_grid g = cell_grid(kind, 16, 0.5);
    cloud c = charges_in(&g, 60, -0.5, 1.5);
    double lo[3], hi[3];
    for (int a = 0; a < 3; a++) { /* also in other cells */
        lo[a] = g.origin[a] - 15;
        hi[a] = g.origin[a] + 15;
    }
    if (vacuum)
        make_neutral(&c);
    double *points = points_in(COUNT, lo, hi);
    vf_point_options o = {.cell = g.cell,
                          .scale = 2,
                          .r_min = 0.1,
                          .sigma = sigma,
                          .vacuum = vacuum,
                          .tolerance = tolerance,
                          .fields = true};
    const vf_point_list list = {.count = COUNT, .points = points};
    bool fast;
    result got = sum_at(&c, &o, &list, &fast);
    assert_true(fast);
    o.tolerance = 0;
    result exact = sum_at(&c, &o, &list, &fast);
    assert_false(fast);
    o.tolerance = tolerance;
    assert_contract("fast and exact in a cell", &o, &got, &exact, 2e-12);
    if (!(sigma > 0) && tolerance < 3e-8) { /* the exact sum is the same for all; the field: test_field_in_cells */
        const vf_point_list some = {.count = 2, .points = points};
        result want = reference_at(&c, &o, &some);
        for (int64_t n = 0; n < some.count; n++)
            assert_true(fabs(exact.values[n] - want.values[n]) <= 1e-10 * 60);
        free_result(&want);
    }
    free_result(&got);
    free_result(&exact);
    free(points);
    free(c.data);
}

static void test_cells(void **state)
{
    (void)state;
    for (int digits = 2; digits <= 10; digits++)
        for (int kind = VF_CELL_ORTHORHOMBIC; kind <= VF_CELL_TRICLINIC; kind++)
            check_cell((vf_cell_kind)kind, pow(10, -digits), 0, digits % 2);
    check_cell(VF_CELL_TRICLINIC, 1e-5, 0.8, false);
    check_cell(VF_CELL_ORTHORHOMBIC, 1e-6, 2.5, false);
}

/* What sums in a cell leave out for a given exactness, against those that leave out nothing but rounding errors: a hundredth. */
static void test_exactness(void **state)
{
    (void)state;
    enum { COUNT = 40 };
    for (int digits = 1; digits <= 7; digits += 3)
        for (int kind = VF_CELL_ORTHORHOMBIC; kind <= VF_CELL_TRICLINIC; kind++)
            for (int wide = 0; wide <= 1; wide++) {
                const vf_grid g = cell_grid((vf_cell_kind)kind, 14, 0.5);
                cloud c = charges_in(&g, 60, 0, 1), at = charges_in(&g, COUNT, 0, 1);
                make_neutral(&c);
                double *points = places(&at);
                const vf_point_list list = {.count = COUNT, .points = points};
                vf_point_options o = {
                    .cell = g.cell, .scale = 2, .r_min = 0.1, .sigma = wide ? 0.5 : 0, .fields = true};
                result want = sum_at(&c, &o, &list, NULL);
                o.exactness = pow(10, -digits);
                result got = sum_at(&c, &o, &list, NULL);
                o.tolerance = o.exactness / 100;
                assert_contract("exactness", &o, &got, &want, 2e-12);
                free_result(&got);
                free_result(&want);
                FREE_ALL(points, c.data, at.data);
            }
}

/* ---- exclusions ---- */

/* What the exclusions take away, against the reference, which gets no charges but those excluded ones. What is left of
 * the others does not matter. Values are of the size of 1 / r_min = 10, fields of 100, and a few terms are added. */
static void check_exclusions(const vf_cell *cell, const cloud *c, const vf_point_list *list)
{
    const vf_point_options o = {.cell = *cell, .scale = 1, .r_min = 0.1, .fields = true, .exactness = 1e-3};
    const vf_point_list all = {.count = list->count, .points = list->points};
    vf_coulomb_atoms none = charges_of(c);
    result got = sum_at(c, &o, list, NULL), before = sum_at(c, &o, &all, NULL), want = make_result(list->count);
    none.count = 0;
    vf_point_sum_reference(&none, &o, list, want.values, want.fields);
    for (int64_t n = 0; n < list->count; n++) {
        assert_true(fabs(got.values[n] - before.values[n] - want.values[n]) <= 1e-11);
        for (int64_t m = 3 * n; m < 3 * n + 3; m++)
            assert_true(fabs(got.fields[m] - before.fields[m] - want.fields[m]) <= 1e-10);
    }
    free_result(&got);
    free_result(&before);
    free_result(&want);
}

/* Several, none, and twice the same. In the skewed cell, the nearest image of many pairs is five cells away by the first
 * vector and one by the second, with none nearer in between: steps to neighbouring cells do not find it. */
static void test_exclusions(void **state)
{
    (void)state;
    enum { COUNT = 200, SKEWED = VF_CELL_TRICLINIC + 1 }; /* more than a block of points */
    for (int kind = VF_CELL_NONE; kind <= SKEWED; kind++) {
        vf_grid g = cell_grid(kind == VF_CELL_TRICLINIC ? VF_CELL_TRICLINIC : VF_CELL_ORTHORHOMBIC, 14, 0.5);
        if (kind == SKEWED)
            g.cell = (vf_cell){.kind = VF_CELL_TRICLINIC, .vectors = {{10, 0, 0}, {45, 10, 0}, {0, 0, 10}}};
        cloud c = charges_in(&g, 20, -0.5, 1.5), at = charges_in(&g, COUNT, -0.5, 1.5);
        double *points = places(&at);
        int64_t first[COUNT + 1], excluded[3 * COUNT];
        for (int64_t i = 0; i < 20; i++) /* at charges, which exclude themselves */
            for (int a = 0; a < 3; a++)
                points[3 * i + a] = c.data[a * 20 + i];
        first[0] = 0;
        for (int64_t i = 0; i < COUNT; i++) {
            first[i + 1] = first[i] + integer_below(4);
            for (int64_t e = first[i]; e < first[i + 1]; e++)
                excluded[e] = e == first[i] ? i % 20 : integer_below(20);
        }
        check_exclusions(kind == VF_CELL_NONE ? &(vf_cell){0} : &g.cell, &c,
                         &(vf_point_list){COUNT, points, first, excluded});
        FREE_ALL(points, c.data, at.data);
    }
}

/* ---- the contract ---- */

/* A point's bits depend neither on the list nor on the place in it. A plan without fields has another mesh, so its potentials
 * differ by the errors of both. Points outside of the plan's bounds are right, too: they are summed directly. All of this is said
 * of the fast sum; with so few points, it would not be taken unless many more were expected. */
static void test_lists(void **state)
{
    (void)state;
    enum { COUNT = 3000 };
    const double edge[3] = {40, 40, 40}, lo[3] = {0, 0, 0}, hi[3] = {40, 40, 40};
    cloud c = box_of(9000, edge);
    double *points = points_in(COUNT, lo, hi);
    const vf_coulomb_atoms charges = charges_of(&c);
    const vf_point_list list = {.count = COUNT, .points = points}, some = {.count = 5, .points = points + 3 * 1001};
    vf_point_options o = {.scale = 1, .r_min = 0.1, .tolerance = 1e-5, .fields = true};
    result all = make_result(COUNT), part = make_result(5), outside = make_result(1);
    vf_point_sum *plan = NULL;
    vf_point_info info;
    bool fast;
    need(vf_point_sum_create(ctx, &charges, &o, &list, 100 * COUNT, &plan));
    vf_point_sum_get_info(plan, &info);
    assert_true(info.fast);
    need(vf_point_sum_execute(plan, &list, all.values, all.fields));
    need(vf_point_sum_execute(plan, &some, part.values, part.fields));
    assert_memory_equal(part.values, all.values + 1001, 5 * sizeof(double));
    assert_memory_equal(part.fields, all.fields + 3 * 1001, 15 * sizeof(double));
    const double far[3] = {70, -30, 20};
    need(vf_point_sum_execute(plan, &(vf_point_list){.count = 1, .points = far}, outside.values, outside.fields));
    result want = reference_at(&c, &o, &(vf_point_list){.count = 1, .points = far});
    assert_true(fabs(outside.values[0] - want.values[0]) <= 1e-9);
    vf_point_sum_destroy(plan);
    o.fields = false;
    result alone = sum_at(&c, &o, &list, &fast);
    assert_true(fast);
    double off = 0, size = 0;
    for (int n = 0; n < COUNT; n++) {
        off += pow(alone.values[n] - all.values[n], 2);
        size += all.values[n] * all.values[n];
    }
    assert_true(sqrt(off / size) <= 2 * o.tolerance);
    free_result(&all);
    free_result(&part);
    free_result(&outside);
    free_result(&want);
    free_result(&alone);
    free(points);
    free(c.data);
}

/* The exact field in a cell against differences of the reference's potential. Points are 1.5 or more from all charges and
 * images, so the difference of fourth order over h = 1e-3 of the edge L is off by h^4 / 30 of the fifth derivative, at most
 * 120 sum |q| / 1.5^6 of the nearest few, and by 1.5 / h of 1e-13: below 1e-8 for L = 10. */
static void test_field_in_cells(void **state)
{
    (void)state;
    const double at[5][3] = {{5, 5, 5}, {2.5, 5, 5}, {5, 2.6, 5.2}, {4.7, 5.1, 7.3}, {12.4, 5.3, -4.9}};
    for (int kind = VF_CELL_ORTHORHOMBIC; kind <= VF_CELL_TRICLINIC; kind++)
        for (int vacuum = 0; vacuum <= 1; vacuum++) {
            cloud c = make_cloud(4);
            for (int i = 0; i < 4; i++) {
                for (int a = 0; a < 3; a++)
                    c.data[a * 4 + i] = 0.8 * uniform() - 0.4;
                c.data[12 + i] = i % 2 ? -0.7 : 0.7;
            }
            vf_point_options o = {.cell = {.kind = (vf_cell_kind)kind, .vectors = {{10}, {0, 10}, {0, 0, 10}}},
                                  .scale = 1,
                                  .r_min = 0.1,
                                  .vacuum = vacuum,
                                  .fields = true};
            o.cell.vectors[1][0] = kind == VF_CELL_TRICLINIC ? 2 : 0;
            const vf_point_list list = {.count = 5, .points = at[0]};
            result got = sum_at(&c, &o, &list, NULL), want = reference_at(&c, &o, &list);
            for (int n = 0; n < 15; n++)
                assert_true(fabs(got.fields[n] - want.fields[n]) <= 1e-8);
            free_result(&got);
            free_result(&want);
            free(c.data);
        }
}

static void test_refusals(void **state)
{
    (void)state;
    const double edge[3] = {4, 4, 4}, bad[3] = {0, NAN, 0}, good[3] = {0};
    cloud c = box_of(5, edge);
    const vf_coulomb_atoms charges = charges_of(&c);
    const vf_point_options fine = {.scale = 1, .r_min = 0.1};
    const vf_point_list list = {.count = 1, .points = good}, wrong = {.count = 1, .points = bad};
    vf_point_options o[8];
    vf_point_sum *plan = NULL;
    double value, field[3];
    for (int n = 0; n < 8; n++)
        o[n] = fine;
    o[0].scale = NAN;
    o[1].r_min = 0;
    o[2].tolerance = NAN;
    o[3].sigma = NAN;
    o[4].tolerance = 1e-12;
    o[5].vacuum = true;
    o[6].tolerance = 1e-4;
    o[6].distance_dielectric = true;
    o[7].cell = (vf_cell){.kind = VF_CELL_TRICLINIC, .vectors = {{0, 4}, {-4, 0, 0}, {0, 0, 4}}};
    for (int n = 0; n < 8; n++) {
        assert_int_equal(vf_point_sum_create(ctx, &charges, &o[n], &list, 1, &plan),
                         n < 6 ? VF_ERR_ARGUMENT : VF_ERR_UNSUPPORTED);
        assert_null(plan);
        vf_context_clear_error(ctx);
    }
    assert_int_equal(vf_point_sum_create(ctx, &charges, &fine, &wrong, 1, &plan), VF_ERR_ARGUMENT);
    vf_context_clear_error(ctx);
    c.data[1] = NAN;
    assert_int_equal(vf_point_sum_create(ctx, &charges, &fine, &list, 1, &plan), VF_ERR_ARGUMENT);
    vf_context_clear_error(ctx);
    c.data[1] = 0;
    need(vf_point_sum_create(ctx, &charges, &fine, &list, 1, &plan));
    assert_int_equal(vf_point_sum_execute(plan, &wrong, &value, NULL), VF_ERR_ARGUMENT);
    vf_context_clear_error(ctx);
    assert_int_equal(vf_point_sum_execute(plan, &list, &value, field), VF_ERR_ARGUMENT);
    vf_context_clear_error(ctx);
    vf_point_sum_destroy(plan);
    free(c.data);
}

/* Exact in free space, exact in a cell, and fast. In a context of its own, for it stays cancelled. */
static void test_cancel(void **state)
{
    (void)state;
    enum { COUNT = 100 };
    const double edge[3] = {20, 20, 20}, lo[3] = {0, 0, 0};
    cloud c = box_of(3000, edge);
    const vf_coulomb_atoms charges = charges_of(&c);
    double *points = points_in(COUNT, lo, edge);
    const vf_point_list list = {.count = COUNT, .points = points};
    vf_point_options o[3];
    vf_point_sum *plan[3] = {NULL};
    vf_context *own = NULL;
    result r = make_result(COUNT);
    need(vf_context_create(&own));
    for (int n = 0; n < 3; n++) {
        o[n] = (vf_point_options){.scale = 1, .r_min = 0.1, .tolerance = n == 2 ? 1e-3 : 0, .exactness = 1e-3};
        if (n > 0)
            o[n].cell = (vf_cell){.kind = VF_CELL_ORTHORHOMBIC, .vectors = {{20}, {0, 20}, {0, 0, 20}}};
        assert_int_equal(vf_point_sum_create(own, &charges, &o[n], &list, COUNT, &plan[n]), VF_OK);
    }
    vf_context_cancel(own);
    for (int n = 0; n < 3; n++) {
        assert_int_equal(vf_point_sum_execute(plan[n], &list, r.values, NULL), VF_ERR_CANCELLED);
        vf_context_clear_error(own);
        vf_point_sum_destroy(plan[n]);
        assert_int_equal(vf_point_sum_create(own, &charges, &o[n], &list, COUNT, &plan[n]),
                         n == 0 ? VF_OK : VF_ERR_CANCELLED);
        vf_context_clear_error(own);
        vf_point_sum_destroy(plan[n]);
    }
    vf_context_destroy(own);
    free_result(&r);
    free(points);
    free(c.data);
}

DEVICE_MAIN(NULL, NULL, cmocka_unit_test(test_exact), cmocka_unit_test(test_free_space),
            cmocka_unit_test(test_wide_charges), cmocka_unit_test(test_cells), cmocka_unit_test(test_exclusions),
            cmocka_unit_test(test_lists), cmocka_unit_test(test_refusals), cmocka_unit_test(test_field_in_cells),
            cmocka_unit_test(test_exactness), cmocka_unit_test(test_cancel))
