/* Every method of the table (potential.h), on fresh random charges: agreement with the sum of its own pair
 * potential, linearity, the same bits in boxes as whole, and errors for what its table row does not claim. A new
 * method is tested as soon as it is in the table. Tests of its variants and hard cases belong to its kernel.
 *
 * usage: test_potential_methods DEVICE [TEST...]     (cpu, cuda; exit 77 if there is no such device)
 *
 * Bounds. A method with a tolerance must keep it as rms over the grid, relative to the rms potential, and at most 10
 * times that at any point. An exact method (tolerance 0) must keep at each point the bound derived at the head of
 * test_coulomb_sum.c,
 *
 *     1.01 ((n + 13.2) u S1 + 2 P u S2 + 2^-50 S1),     S1 = sum |q g|, S2 = sum |q dg/dr|,
 *
 * with n = min(charges, 512) and u the unit roundoff. There P is half the diagonal of a block of points; here it is
 * that of the whole grid, so it does not depend on how a method splits the grid. A combination of maps adds the
 * bounds of each.
 *
 * A method that cuts off has its own arithmetic (test_cutoff_sum.c): at most 60 u more of the terms of the plain law, whose sum
 * takes the place of S1; and 2 P u S2, which is what a term changes by if a charge moves by 2 P u, is found by moving it along
 * each axis, by sqrt(3) of that: so a jump at the cutoff that is nearer than 2 P u is found, too.
 */
#include <math.h>

#include "cloud_fixture.h"
#include "free_all.h"
#include "potential.h"

/* ---- problems ---- */

/* Charges inside the grid, and so inside its cell, if it has one; their sum is not 0. */
static cloud random_cloud(int64_t count, const vf_grid *grid)
{
    const cloud c = make_cloud(count);
    for (int64_t i = 0; i < 3 * count; i++) {
        const int a = (int)(i / count);
        c.data[i] = grid->origin[a] + grid->spacing[a] * (double)grid->counts[a] * uniform();
    }
    for (int64_t i = 3 * count; i < 4 * count; i++)
        c.data[i] = 2 * uniform() - 0.9;
    return c;
}

/* A problem on a small random grid. The cell is of a given kind; its edges are the grid's, and the last two are
 * tilted. */
static vf_potential_problem random_problem(vf_pair_law law, vf_cell_kind cell, vf_dtype precision)
{
    vf_potential_problem p = {.grid = {.counts = {20 + (int64_t)(30 * uniform()), 9 + (int64_t)(20 * uniform()),
                                                  10 + (int64_t)(9 * uniform())},
                                       .cell = {.kind = cell}},
                              .pair = {.law = law, .scale = 332.0637, .r_min = 0.2},
                              .precision = precision};
    for (int a = 0; a < 3; a++) {
        if (cell != VF_CELL_NONE)
            p.grid.counts[a] = 7 + (int64_t)(6 * uniform());
        p.grid.spacing[a] = 0.3 + 0.5 * uniform();
        p.grid.origin[a] = 60 * uniform() - 30;
        if (cell != VF_CELL_NONE)
            p.grid.cell.vectors[a][a] = p.grid.spacing[a] * (double)p.grid.counts[a];
        if (cell == VF_CELL_TRICLINIC && a > 0)
            p.grid.cell.vectors[a][0] = uniform();
    }
    return p;
}

/* The potential over a box, as doubles, which represent single precision exactly. */
static double *compute(const vf_potential_method *m, const vf_potential_problem *p, const cloud *c, const vf_box *box)
{
    const int64_t points = vf_box_points(box);
    const vf_coulomb_atoms charges = charges_of(c);
    vf_potential *plan = NULL;
    vf_queue *queue = NULL;
    vf_array values = {0}, host = {0};
    double *out = malloc((size_t)points * sizeof *out);
    assert_non_null(out);
    need(vf_potential_create(device, m, p, &charges, &plan));
    need(vf_queue_create(device, &queue));
    need(vf_array_create(device, VF_SPACE_DEVICE, p->precision, points, &values));
    need(vf_array_create(device, VF_SPACE_PINNED, p->precision, points, &host));
    memset(host.data, 0xff, (size_t)points * vf_dtype_bytes(p->precision)); /* NaN shows unwritten values */
    need(vf_array_copy(queue, &values, &host, points));
    need(vf_potential_compute(plan, queue, box, values.data));
    need(vf_array_copy(queue, &host, &values, points));
    need(vf_queue_sync(queue));
    for (int64_t i = 0; i < points; i++)
        out[i] = p->precision == VF_F64 ? ((const double *)host.data)[i] : (double)((const float *)host.data)[i];
    vf_array_free(&values);
    vf_array_free(&host);
    vf_queue_destroy(queue);
    vf_potential_destroy(plan);
    return out;
}

static double *compute_all(const vf_potential_method *m, const vf_potential_problem *p, const cloud *c)
{
    const vf_box all = vf_grid_box(&p->grid);
    return compute(m, p, c, &all);
}

/* ---- the true values, and the allowed errors ---- */

typedef struct truth {
    int64_t points;
    double *value, *bound; /* [points]; the bound is that of an exact method */
} truth;

/* |dg/dr| of a pair potential between d and 1.0001 d: exact for the laws, otherwise a difference, enlarged. */
UNWATCHED static double slope(const vf_pair_potential *pair, const double d[3])
{
    const double r = fmax(sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]), pair->r_min);
    const double further[3] = {1.0001 * d[0], 1.0001 * d[1], 1.0001 * d[2]};
    if (pair->law == VF_PAIR_FUNCTION)
        return 2 * fabs(vf_pair_value(pair, further) - vf_pair_value(pair, d)) / (1e-4 * r);
    return fabs(vf_pair_value(pair, d)) * (pair->law == VF_PAIR_DISTANCE_DIELECTRIC ? 2 : 1) / r;
}

/* How much a pair potential changes if a charge moves by `distance`, at most. */
UNWATCHED static double change(const vf_pair_potential *pair, const double d[3], double distance)
{
    const double here = vf_pair_value(pair, d);
    double sum = 0;
    for (int a = 0; a < 3; a++) {
        double moved[2][3];
        memcpy(moved[0], d, sizeof moved[0]);
        memcpy(moved[1], d, sizeof moved[1]);
        moved[0][a] -= 1.7320508075688772 * distance;
        moved[1][a] += 1.7320508075688772 * distance;
        sum += fmax(fabs(vf_pair_value(pair, moved[0]) - here), fabs(vf_pair_value(pair, moved[1]) - here));
    }
    return sum;
}

enum { SETS = 3 };

/* Of several sets of charges, at most SETS, at the places of the first: the pair potential of a place is the same for all. */
UNWATCHED static void find_truths(const vf_potential_method *m, const vf_potential_problem *p, int sets, const cloud *c,
                                  truth *t)
{
    const vf_grid *g = &p->grid;
    const bool exact = !(m->tolerance[p->precision] > 0);
    vf_pair_potential pair, whole;
    vf_potential_problem plain = *p;
    plain.cutoff_law = VF_CUTOFF_PLAIN;
    m->pair(p, &pair);
    m->pair(&plain, &whole);
    for (int s = 0; s < sets; s++) {
        t[s].points = vf_grid_points(g);
        t[s].value = calloc((size_t)t[s].points, sizeof(double));
        t[s].bound = calloc((size_t)t[s].points, sizeof(double));
        assert_true(t[s].value && t[s].bound);
    }
    const double u = p->precision == VF_F64 ? 0x1p-53 : 0x1p-24, n = fmin((double)c->count, 512);
    double half = 0;
    for (int a = 0; a < 3; a++)
        half += pow(g->spacing[a] * ((double)g->counts[a] + 64) / 2, 2); /* blocks may reach beyond the grid */
    half = sqrt(half);
    for (int64_t i = 0; i < vf_grid_points(g); i++) {
        const int64_t at[3] = {i % g->counts[0], i / g->counts[0] % g->counts[1], i / g->counts[0] / g->counts[1]};
        double s1[SETS] = {0}, s2[SETS] = {0};
        for (int64_t k = 0; k < c->count; k++) {
            double d[3];
            for (int a = 0; a < 3; a++)
                d[a] = g->origin[a] + g->spacing[a] * (double)at[a] - c->data[a * c->count + k];
            const double value = vf_pair_value(&pair, d), term = m->cuts_off ? vf_pair_value(&whole, d) : value,
                         steep = !exact        ? 0
                                 : m->cuts_off ? change(&pair, d, 2 * half * u) / (2 * half * u)
                                               : slope(&pair, d);
            for (int s = 0; s < sets; s++) {
                const double charge = c[s].data[3 * c->count + k];
                t[s].value[i] += charge * value;
                s1[s] += fabs(charge * term);
                s2[s] += fabs(charge) * steep;
            }
        }
        for (int s = 0; s < sets; s++)
            t[s].bound[i] =
                1.01 * ((n + 13.2 + (m->cuts_off ? 60 : 0)) * u * s1[s] + 2 * half * u * s2[s] + 0x1p-50 * s1[s]);
    }
}

static truth find_truth(const vf_potential_method *m, const vf_potential_problem *p, const cloud *c)
{
    truth t;
    find_truths(m, p, 1, c, &t);
    return t;
}

static void free_truth(truth *t)
{
    free(t->value);
    free(t->bound);
}

static double rms(const double *x, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += x[i] * x[i];
    return sqrt(sum / (double)n);
}

/* Whether `got` is true, within the bounds of the method and the problem. */
static void assert_true_map(const vf_potential_method *m, const vf_potential_problem *p, const truth *t,
                            const double *got)
{
    const bool exact = !(m->tolerance[p->precision] > 0);
    const double size = rms(t->value, t->points);
    double squares = 0;
    for (int64_t i = 0; i < t->points; i++) {
        const double error = fabs(got[i] - t->value[i]), most = exact ? t->bound[i] : 10 * p->tolerance * size;
        if (!(error <= most)) /* NaN, too */
            fail_msg("%s, %s: point %lld: %.9g instead of %.9g, off by %.3g, allowed %.3g", m->name,
                     vf_dtype_name(p->precision), (long long)i, got[i], t->value[i], error, most);
        squares += error * error;
    }
    if (!exact && !(sqrt(squares / (double)t->points) <= p->tolerance * size))
        fail_msg("%s: rms error %.3g of %.3g", m->name, sqrt(squares / (double)t->points), size);
}

/* ---- every method, every law, boundary and precision it claims ---- */

/* A cutoff within or beyond the grid, for methods that need one. */
static void cut_off(const vf_potential_method *m, vf_potential_problem *p, vf_cutoff_law law)
{
    if (!m->cuts_off)
        return;
    p->cutoff = 1 + 6 * uniform();
    p->cutoff_law = law;
    p->switch_from = 0.5 * p->cutoff;
}

typedef void (*check_method)(const vf_potential_method *m, vf_potential_problem p);

static void for_all(check_method check)
{
    const vf_potential_method *m;
    int checked = 0;
    for (int i = 0; (m = vf_potential_method_at(i)); i++)
        for (int law = 0; law < VF_PAIR_FUNCTION; law++)
            for (int cell = VF_CELL_NONE; cell <= VF_CELL_TRICLINIC; cell++)
                for (int precision = VF_F32; precision <= VF_F64; precision++) {
                    if (!(m->devices >> vf_device_get_kind(device) & 1) || !(m->laws >> law & 1) ||
                        !(m->cells >> cell & 1))
                        continue;
                    vf_potential_problem p = random_problem(law, cell, precision);
                    p.tolerance = m->tolerance[precision];
                    cut_off(m, &p, (vf_cutoff_law)(VF_CUTOFF_PLAIN + checked % (VF_CUTOFF_LAWS - VF_CUTOFF_PLAIN)));
                    check(m, p);
                    p.tolerance = fmin(100 * m->tolerance[precision], 1e-2);
                    if (p.tolerance > 0)
                        check(m, p);
                    checked++;
                }
    assert_true(checked > 0);
}

static void check_sum(const vf_potential_method *m, vf_potential_problem p)
{
    static const int64_t counts[] = {1, 2, 37, 600};
    const int cases = p.grid.cell.kind == VF_CELL_NONE ? 4 : 3; /* sums over images are slow */
    for (int n = 0; n < cases; n++) {
        cloud c = random_cloud(counts[n], &p.grid);
        truth t = find_truth(m, &p, &c);
        double *got = compute_all(m, &p, &c);
        assert_true_map(m, &p, &t, got);
        free(got);
        free_truth(&t);
        free(c.data);
    }
}

static void test_sum(void **state)
{
    (void)state;
    for_all(check_sum);
}

/* V(a q + b q') = a V(q) + b V(q'). */
static void check_linear(const vf_potential_method *m, vf_potential_problem p)
{
    const int count = p.grid.cell.kind == VF_CELL_NONE ? 90 : 20;
    cloud c[SETS];
    truth t[SETS];
    double *v[SETS];
    const double a = 1 + uniform(), b = -2 * uniform();
    const bool exact = !(m->tolerance[p.precision] > 0);
    for (int n = 0; n < SETS; n++) {
        c[n] = random_cloud(count, &p.grid);
        memcpy(c[n].data, c[0].data, (size_t)(3 * count) * sizeof(double)); /* the same places */
    }
    for (int i = 0; i < count; i++)
        c[2].data[3 * count + i] = a * c[0].data[3 * count + i] + b * c[1].data[3 * count + i];
    double largest = 0;
    find_truths(m, &p, SETS, c, t);
    for (int n = 0; n < SETS; n++) {
        v[n] = compute_all(m, &p, &c[n]);
        largest += rms(t[n].value, t[n].points) * (n == 0 ? a : n == 1 ? fabs(b) : 1);
    }
    for (int64_t i = 0; i < t[0].points; i++) {
        const double off = fabs(v[2][i] - (a * v[0][i] + b * v[1][i]));
        const double most =
            exact ? t[2].bound[i] + a * t[0].bound[i] + fabs(b) * t[1].bound[i] : 10 * p.tolerance * largest;
        if (!(off <= most))
            fail_msg("%s is not linear: off by %.3g, allowed %.3g", m->name, off, most);
    }
    for (int n = 0; n < SETS; n++) {
        free(v[n]);
        free_truth(&t[n]);
        free(c[n].data);
    }
}

static void test_linear(void **state)
{
    (void)state;
    for_all(check_linear);
}

/* The positions of a box's points in the whole grid. */
static void assert_part(const vf_potential_method *m, const vf_grid *g, const vf_box *box, const double *part,
                        const double *whole)
{
    int64_t n = 0;
    for (int64_t k = box->lo[2]; k < box->hi[2]; k++)
        for (int64_t j = box->lo[1]; j < box->hi[1]; j++)
            for (int64_t i = box->lo[0]; i < box->hi[0]; i++, n++)
                if (memcmp(&part[n], &whole[(k * g->counts[1] + j) * g->counts[0] + i], sizeof *part) != 0)
                    fail_msg("%s: point (%lld, %lld, %lld) has other bits in a box than in the whole", m->name,
                             (long long)i, (long long)j, (long long)k);
}

static void check_boxes(const vf_potential_method *m, vf_potential_problem p)
{
    cloud c = random_cloud(123, &p.grid);
    double *whole = compute_all(m, &p, &c);
    for (int n = 0; n < 4; n++) {
        vf_box box = vf_grid_box(&p.grid);
        for (int a = 0; a < 3; a++) { /* slabs along z and x, and any boxes */
            if ((n == 0 && a != 2) || (n == 1 && a != 0))
                continue;
            box.lo[a] = (int64_t)(uniform() * (double)p.grid.counts[a]);
            box.hi[a] = box.lo[a] + 1 + (int64_t)(uniform() * (double)(p.grid.counts[a] - box.lo[a]));
            box.hi[a] = box.hi[a] < p.grid.counts[a] ? box.hi[a] : p.grid.counts[a];
        }
        if (m->extent == VF_POTENTIAL_WHOLE)
            break;
        double *part = compute(m, &p, &c, &box);
        assert_part(m, &p.grid, &box, part, whole);
        free(part);
    }
    const int threads = vf_context_threads(ctx);
    need(vf_context_set_threads(ctx, threads > 1 ? 1 : 3));
    double *again = compute_all(m, &p, &c);
    need(vf_context_set_threads(ctx, threads));
    assert_memory_equal(again, whole, (size_t)vf_grid_points(&p.grid) * sizeof *whole);
    FREE_ALL(again, whole, c.data);
}

static void test_boxes(void **state)
{
    (void)state;
    for_all(check_boxes);
}

/* A plan's estimate is usable, and more work is expected to take longer. */
static void check_cost(const vf_potential_method *m, vf_potential_problem p)
{
    cloud c = random_cloud(50, &p.grid);
    const vf_coulomb_atoms charges = charges_of(&c);
    const vf_device_kind kind = vf_device_get_kind(device);
    vf_potential_estimate e = {0};
    need(m->estimate(device, &p, &charges, 1, &e));
    assert_true(e.seconds > 0 && isfinite(e.seconds));
    assert_true(e.evaluations > 0 && isfinite(e.evaluations));
    assert_true(e.host_bytes > 0 && e.host_bytes < 1u << 30);
    assert_true(*e.variant != '\0');
    assert_true(m->expected_seconds(&p, kind, 2, 1e4, 1e6) > 0);
    assert_true(m->expected_seconds(&p, kind, 2, 1e5, 1e6) > m->expected_seconds(&p, kind, 2, 1e4, 1e6));
    assert_true(m->expected_seconds(&p, kind, 2, 1e4, 1e7) > m->expected_seconds(&p, kind, 2, 1e4, 1e6));
    free(c.data);
}

static void test_cost(void **state)
{
    (void)state;
    for_all(check_cost);
}

/* ---- choosing, and what is refused ---- */

static void check_refusals(const vf_potential_method *m, vf_potential_problem p)
{
    const vf_device_kind kind = vf_device_get_kind(device);
    vf_potential_problem bad = p;
    need(vf_potential_check(ctx, m, &p, kind));
    for (int cell = VF_CELL_NONE; cell <= VF_CELL_TRICLINIC; cell++) {
        bad = random_problem(p.pair.law, cell, p.precision);
        bad.tolerance = p.tolerance;
        bad.cutoff = p.cutoff;
        bad.cutoff_law = p.cutoff_law;
        if (!(m->cells >> cell & 1))
            expect_error(vf_potential_check(ctx, m, &bad, kind), VF_ERR_UNSUPPORTED,
                         cell == VF_CELL_NONE ? "free" : "cell");
    }
    bad = p;
    bad.tolerance = m->tolerance[p.precision] / 2;
    if (bad.tolerance > 0)
        expect_error(vf_potential_check(ctx, m, &bad, kind), VF_ERR_UNSUPPORTED, "tolerance");
    bad.tolerance = NAN;
    expect_error(vf_potential_check(ctx, m, &bad, kind), VF_ERR_ARGUMENT, "tolerance");
    bad = p;
    bad.pair.scale = NAN;
    expect_error(vf_potential_check(ctx, m, &bad, kind), VF_ERR_ARGUMENT, "scale");
    bad = p;
    bad.pair.r_min = NAN;
    expect_error(vf_potential_check(ctx, m, &bad, kind), VF_ERR_ARGUMENT, "distance");
    bad = p;
    bad.pair.law = VF_PAIR_LAWS;
    expect_error(vf_potential_check(ctx, m, &bad, kind), VF_ERR_ARGUMENT, "law");
    bad = p;
    bad.pair.law = VF_PAIR_FUNCTION; /* and no function */
    expect_error(vf_potential_check(ctx, m, &bad, kind), VF_ERR_ARGUMENT, "law");
    bad = p;
    bad.cutoff = m->cuts_off ? 0 : 5;
    bad.cutoff_law = VF_CUTOFF_PLAIN;
    expect_error(vf_potential_check(ctx, m, &bad, kind), VF_ERR_UNSUPPORTED, "cutoff");
    bad.cutoff = NAN;
    expect_error(vf_potential_check(ctx, m, &bad, kind), VF_ERR_ARGUMENT, "cutoff");
    bad.cutoff = 0.1; /* below r_min */
    expect_error(vf_potential_check(ctx, m, &bad, kind), VF_ERR_ARGUMENT, "cutoff");
    bad = p;
    bad.grid.spacing[1] = NAN;
    expect_error(vf_potential_check(ctx, m, &bad, kind), VF_ERR_ARGUMENT, "grid");

    cloud c = random_cloud(3, &p.grid);
    vf_coulomb_atoms charges = charges_of(&c);
    vf_potential *plan = NULL;
    bad = p;
    bad.variant = "nonsense";
    expect_error(vf_potential_create(device, m, &bad, &charges, &plan), VF_ERR_ARGUMENT, m->variant_name(kind, 0));
    assert_null(plan);
    c.data[4] = NAN; /* a y */
    assert_int_equal(vf_potential_create(device, m, &p, &charges, &plan), VF_ERR_ARGUMENT);
    assert_null(plan);
    vf_context_clear_error(ctx);
    free(c.data);
}

static void test_refusals(void **state)
{
    (void)state;
    for_all(check_refusals);
    const vf_potential_method *m = NULL;
    expect_error(vf_potential_method_named(ctx, "--method", "nonsense", &m), VF_ERR_ARGUMENT, "--method");
    expect_error(vf_potential_method_named(ctx, "--method", "", &m), VF_ERR_ARGUMENT, vf_potential_method_at(0)->name);
    need(vf_potential_method_named(ctx, "--method", "auto", &m));
    assert_null(m);
    for (int i = 0; vf_potential_method_at(i); i++) {
        need(vf_potential_method_named(ctx, "--method", vf_potential_method_at(i)->name, &m));
        assert_ptr_equal(m, vf_potential_method_at(i));
    }
    assert_null(vf_potential_method_at(-1));
}

/* The chosen method supports the problem; if none does, the reason is reported. */
static void test_choose(void **state)
{
    (void)state;
    const vf_device_kind kind = vf_device_get_kind(device);
    vf_potential_problem p = random_problem(VF_PAIR_COULOMB, VF_CELL_NONE, VF_F32);
    const vf_potential_method *m = NULL;
    need(vf_potential_choose(ctx, &p, kind, 1000, &m));
    assert_non_null(m);
    assert_false(m->cuts_off); /* only for users who name it */
    need(vf_potential_check(ctx, m, &p, kind));
    p.tolerance = NAN;
    expect_error(vf_potential_choose(ctx, &p, kind, 1000, &m), VF_ERR_ARGUMENT, "tolerance");
    assert_null(m);
}

DEVICE_MAIN(NULL, NULL, cmocka_unit_test(test_sum), cmocka_unit_test(test_linear), cmocka_unit_test(test_boxes),
            cmocka_unit_test(test_cost), cmocka_unit_test(test_refusals), cmocka_unit_test(test_choose))
