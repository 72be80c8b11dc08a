/* The potential of Gaussian charges, in cells against a plain sum over wave numbers, in free space against the plain
 * sum of erf(r / (sqrt(2) sigma)) / r; wide ones, which a mesh resolves, and narrow ones, which are corrected at near
 * pairs.
 *
 * usage: test_ewald_gaussians DEVICE [TEST...] (cpu; exit 77 if there is no such device)
 *
 * Bounds: ewald_fixture.h. The plain sums are in double precision and go on until terms are below 1e-17 of the first.
 * In single precision, rounding errors are those of points: what is subtracted next to a narrow charge is as large. */
#include <complex.h>

#include "ewald_fixture.h"
#include "free_all.h"

static const double pi = 3.14159265358979323846;

enum { SOME = 12, MOST_WAVES = 160 };

/* exp(i 2 pi n u) for |n| <= MOST_WAVES, u a fractional coordinate. */
typedef struct waves {
    double complex power[3][2 * MOST_WAVES + 1];
} waves;

static waves *waves_at(const double reciprocal[3][3], int64_t count, const double *x, int64_t stride, int64_t step)
{
    waves *out = malloc((size_t)count * sizeof *out);
    assert_non_null(out);
    for (int64_t i = 0; i < count; i++)
        for (int v = 0; v < 3; v++) {
            double phase = 0;
            for (int a = 0; a < 3; a++)
                phase += reciprocal[v][a] * x[i * step + a * stride];
            for (int n = -MOST_WAVES; n <= MOST_WAVES; n++)
                out[i].power[v][n + MOST_WAVES] = cexp(I * n * phase);
        }
    return out;
}

/* sum_i q_i exp(sign i k . r_i) at one wave number; n: its indices, and MOST_WAVES. */
static double complex factor_at(const waves *w, const int n[3])
{
    return w->power[0][n[0]] * w->power[1][n[1]] * w->power[2][n[2]];
}

/* 4 pi C / V sum_(k != 0) exp(-sigma^2 k^2 / 2) / k^2 sum_i q_i cos(k . (r - r_i)) at points [SOME][3]. */
static void plain_waves(const vf_cell *cell, const cloud *c, const vf_ewald_options *o, double points[SOME][3],
                        double sums[SOME])
{
    const double volume = vf_cell_volume(cell), most = sqrt(2 * 40) / o->sigma;
    double b[3][3];
    int count[3];
    for (int i = 0; i < 3; i++) {
        const double *u = cell->vectors[(i + 1) % 3], *v = cell->vectors[(i + 2) % 3], *a = cell->vectors[i];
        for (int x = 0; x < 3; x++)
            b[i][x] = 2 * pi * (u[(x + 1) % 3] * v[(x + 2) % 3] - u[(x + 2) % 3] * v[(x + 1) % 3]) / volume;
        count[i] = (int)ceil(most * sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]) / (2 * pi));
        assert_true(count[i] <= MOST_WAVES);
    }
    waves *charge = waves_at(b, c->count, c->data, c->count, 1), *point = waves_at(b, SOME, points[0], 1, 3);
    for (int p = 0; p < SOME; p++)
        sums[p] = 0;
    for (int l = -count[0]; l <= count[0]; l++)
        for (int m = -count[1]; m <= count[1]; m++)
            for (int w = -count[2]; w <= count[2]; w++) {
                const int n[3] = {l + MOST_WAVES, m + MOST_WAVES, w + MOST_WAVES};
                double k2 = 0;
                double complex factor = 0;
                for (int x = 0; x < 3; x++)
                    k2 += pow(l * b[0][x] + m * b[1][x] + w * b[2][x], 2);
                if (!(k2 > 0) || k2 > most * most)
                    continue;
                for (int64_t i = 0; i < c->count; i++)
                    factor += c->data[3 * c->count + i] * conj(factor_at(&charge[i], n));
                factor *= o->scale * 4 * pi / volume * exp(-0.5 * o->sigma * o->sigma * k2) / k2;
                for (int p = 0; p < SOME; p++)
                    sums[p] += creal(factor * factor_at(&point[p], n));
            }
    free(charge);
    free(point);
}

/* C sum_i q_i erf(r / (sqrt(2) sigma)) / r; *spread: the root of the sum of (C q_i / max(r, r_min))^2. */
static double plain_points(const cloud *c, const vf_ewald_options *o, const double at[3], double *spread)
{
    const int64_t n = c->count;
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < n; i++) {
        const double dx = at[0] - c->data[i], dy = at[1] - c->data[n + i], dz = at[2] - c->data[2 * n + i];
        const double r = sqrt(dx * dx + dy * dy + dz * dz), q = o->scale * c->data[3 * n + i];
        sum += q * (r > 0 ? erf(r / (sqrt(2) * o->sigma)) / r : sqrt(2 / pi) / o->sigma);
        squares += pow(q / fmax(r, fmin(o->r_min, o->sigma)), 2);
    }
    *spread = sqrt(squares);
    return sum;
}

static double random_sigma(int which)
{
    return which == 0 ? 0.2 + 0.1 * uniform() : which == 1 ? 0.3 + 0.5 * uniform() : 1.5 + uniform();
}

static bool has_pairs(const vf_grid *g, const cloud *c, const vf_ewald_options *o)
{
    vf_ewald_info info;
    vf_ewald *plan = make_plan(g, c, o);
    vf_ewald_get_info(plan, &info);
    vf_ewald_destroy(plan);
    return info.pairs > 0;
}

static vf_ewald_options random_options(int digits, int which)
{
    return (vf_ewald_options){.scale = 14.4,
                              .r_min = 0.1,
                              .tolerance = pow(10, -digits),
                              .precision = digits > 6 || uniform() < 0.3 ? VF_F64 : VF_F32,
                              .sigma = random_sigma(which),
                              .coarseness = uniform() < 0.6 ? 0 : 1 + uniform()};
}

static void test_cells(void **state)
{
    (void)state;
    int ways[2] = {0};
    for (int digits = 3; digits <= 10; digits++)
        for (int kind = VF_CELL_ORTHORHOMBIC; kind <= VF_CELL_TRICLINIC; kind++)
            for (int which = 0; which < 3; which++) {
                const vf_grid g = cell_grid((vf_cell_kind)kind, 9, 0.5);
                cloud c = charges_in(&g, 24, -0.5, 1.5);
                const vf_ewald_options o = random_options(digits, which);
                double expected[SOME], some[SOME], spread[SOME], r[SOME][3];
                if (uniform() < 0.5)
                    make_neutral(&c);
                double *got = compute_all(&g, &c, &o);
                for (int i = 0; i < SOME; i++) {
                    const int64_t n = (int64_t)(uniform() * (double)vf_grid_points(&g));
                    position(&g, n, r[i]);
                    some[i] = got[n];
                    (void)plain_points(&c, &o, r[i], &spread[i]);
                }
                plain_waves(&g.cell, &c, &o, r, expected);
                ways[has_pairs(&g, &c, &o)]++;
                assert_close("in a cell", &o, some, expected, spread, SOME, 1 + 4 / sqrt(SOME));
                free(got);
                free(c.data);
            }
    assert_true(ways[0] > 0 && ways[1] > 0);
}

static void test_free_space(void **state)
{
    (void)state;
    int ways[2] = {0};
    for (int digits = 3; digits <= 10; digits++)
        for (int which = 0; which < 3; which++) {
            const vf_grid g = random_grid(14, 8);
            /* With many charges the plan that needs no pairs is the cheaper one, if wide charges allow it. */
            cloud c = charges_in(&g, which == 2 && digits % 2 == 0 ? 1500 : 40, -0.2, 1.1);
            const vf_ewald_options o = random_options(digits, which);
            const int64_t points = vf_grid_points(&g);
            double *got = compute_all(&g, &c, &o), r[3];
            double *expected = malloc((size_t)points * 2 * sizeof *expected), *spread = expected + points;
            assert_non_null(expected);
            for (int64_t i = 0; i < points; i++) {
                position(&g, i, r);
                expected[i] = plain_points(&c, &o, r, &spread[i]);
            }
            ways[has_pairs(&g, &c, &o)]++;
            assert_close("in free space", &o, got, expected, spread, points, 1);
            FREE_ALL(expected, got, c.data);
        }
    assert_true(ways[0] > 0 && ways[1] > 0);
}

/* The reference of points and the sum over wave numbers differ by erfc(r / (sqrt(2) sigma)) / r and its mean: the two
 * truths agree, and so do their conventions of the background. */
static void test_truths(void **state)
{
    (void)state;
    const vf_grid g = cell_grid(VF_CELL_TRICLINIC, 9, 0.4);
    cloud c = charges_in(&g, 5, 0, 1);
    const vf_coulomb_atoms charges = charges_of(&c);
    const vf_ewald_options o = {.scale = 1, .r_min = 1e-6, .sigma = 0.3};
    double charge = 0;
    for (int64_t i = 0; i < c.count; i++)
        charge += c.data[3 * c.count + i];
    double r[SOME][3], sums[SOME];
    for (int n = 0; n < SOME; n++)
        position(&g, (int64_t)(uniform() * (double)vf_grid_points(&g)), r[n]);
    plain_waves(&g.cell, &c, &o, r, sums);
    for (int n = 0; n < SOME; n++) {
        double points;
        vf_ewald_reference(&g.cell, &charges, 1, o.r_min, false, 1, r[n], &points);
        for (int64_t i = 0; i < c.count; i++)
            for (int m = 0; m < 343; m++) {
                const int turn[3] = {m % 7 - 3, m / 7 % 7 - 3, m / 49 - 3};
                double d2 = 0;
                for (int a = 0; a < 3; a++) {
                    double d = r[n][a] - c.data[a * c.count + i];
                    for (int v = 0; v < 3; v++)
                        d += turn[v] * g.cell.vectors[v][a];
                    d2 += d * d;
                }
                points -= c.data[3 * c.count + i] * erfc(sqrt(d2) / (sqrt(2) * o.sigma)) / sqrt(d2);
            }
        points += 2 * pi * o.sigma * o.sigma * charge / vf_cell_volume(&g.cell);
        if (!(fabs(points - sums[n]) <= 1e-11))
            fail_msg("%.15g and %.15g", points, sums[n]);
    }
    free(c.data);
}

static void test_refusals(void **state)
{
    (void)state;
    static const double wrong[] = {-1, 1e-4, NAN, INFINITY};
    const vf_grid g = random_grid(4, 2);
    const vf_coulomb_atoms none = {0};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const vf_ewald_options o = {
            .scale = 1, .r_min = 0.1, .tolerance = 1e-6, .precision = VF_F64, .sigma = wrong[i]};
        vf_ewald *plan = NULL;
        assert_int_equal(vf_ewald_create(device, &g, &none, &o, &plan), VF_ERR_ARGUMENT);
        assert_null(plan);
        vf_context_clear_error(ctx);
    }
}

/* Charges that follow a long wave make a potential that is much larger than that of the same charges in another order.
 * The tolerance is relative to it, so that the plan may be coarser. */
static void test_long_waves(void **state)
{
    (void)state;
    enum { CHARGES = 2000 };
    const vf_grid g = {.counts = {60, 60, 60},
                       .spacing = {0.5, 0.5, 0.5},
                       .cell = {.kind = VF_CELL_ORTHORHOMBIC, .vectors = {{30, 0, 0}, {0, 30, 0}, {0, 0, 30}}}};
    const vf_ewald_options o = {.scale = 1, .r_min = 0.1, .tolerance = 1e-8, .precision = VF_F64, .sigma = 1.5};
    for (int axis = 0; axis < 3; axis++) {
        cloud c = charges_in(&g, CHARGES, 0, 1);
        const vf_coulomb_atoms charges = charges_of(&c);
        vf_ewald_info info[2];
        double seconds[2], *q = c.data + 3 * CHARGES;
        for (int shuffled = 0; shuffled < 2; shuffled++) {
            for (int64_t i = 0; i < CHARGES; i++)
                q[i] = cos(2 * pi * c.data[axis * CHARGES + (i + shuffled * CHARGES / 2) % CHARGES] / 30);
            need(vf_ewald_plan_costs(device, &g, &charges, &o, &info[shuffled], &seconds[0], &seconds[1]));
        }
        if (!(info[0].bandwidth < info[1].bandwidth))
            fail_msg("axis %d: bandwidths %g and %g", axis, info[0].bandwidth, info[1].bandwidth);
        free(c.data);
    }
}

DEVICE_MAIN(NULL, NULL, cmocka_unit_test(test_cells), cmocka_unit_test(test_free_space), cmocka_unit_test(test_truths),
            cmocka_unit_test(test_long_waves), cmocka_unit_test(test_refusals))
