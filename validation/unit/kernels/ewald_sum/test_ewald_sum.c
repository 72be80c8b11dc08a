/* Ewald sums in free space against the direct sum, at every power of ten; the same bits in boxes and for any number of
 * threads, in cells, too; costs; what is refused.
 *
 * usage: test_ewald_sum DEVICE [TEST...]     (cpu, cuda; exit 77 if there is no such device)
 *
 * Bounds: ewald_fixture.h. The direct sums here are in double precision; their errors of 1e-15 of sum |q| / r do not
 * matter. */
#include "ewald_common.h"
#include "ewald_fixture.h"
#include "free_all.h"
#include "prolate.h"

/* Also sets spread[n]: the root of the squares of terms times (1 + h / r), h the largest spacing. Distances round by up
 * to u (3.5 h + 4.5 r), so a term by u (3.5 h / r + 4.5 + 5.2), at worst (test_cutoff_sum.c); 4 u (1 + h / r) is that of
 * a term close by, and more than typical ones of those farther away. */
static double *direct_sum(const vf_grid *g, const cloud *c, double scale, double r_min, double *spread)
{
    const int64_t points = vf_grid_points(g), n = c->count;
    const double h = fmax(g->spacing[0], fmax(g->spacing[1], g->spacing[2]));
    double *out = calloc((size_t)points, sizeof *out);
    assert_non_null(out);
    for (int64_t p = 0; p < points; p++) {
        double r[3], squares = 0;
        position(g, p, r);
        for (int64_t i = 0; i < n; i++) {
            const double x = r[0] - c->data[i], y = r[1] - c->data[n + i], z = r[2] - c->data[2 * n + i];
            const double distance = fmax(sqrt(x * x + y * y + z * z), r_min),
                         term = scale * c->data[3 * n + i] / distance;
            out[p] += term;
            squares += pow(term * (1 + h / distance), 2);
        }
        spread[p] = sqrt(squares);
    }
    return out;
}

typedef struct subject {
    const char *name;
    int64_t count;
    double lo, hi;
    bool neutral, one_sign; /* charges of one sign add up, and so do errors that others average out */
} subject;

/* What a bound is multiplied by: 1, unless charges cancel to a 300th of `spread` or less. There it is the smallest error that
 * ewald_sum.h promises in double precision, 2e-11 of C sqrt(h sum q^2 / V), in units of tolerance * rms potential. */
static double slack_of(const vf_grid *g, const cloud *c, double scale, double tolerance, const double *expected,
                       const double *spread)
{
    const int64_t points = vf_grid_points(g);
    const double h = fmin(g->spacing[0], fmin(g->spacing[1], g->spacing[2]));
    const double volume = (double)points * g->spacing[0] * g->spacing[1] * g->spacing[2];
    double charges = 0, squares = 0, spreads = 0;
    for (int64_t i = 0; i < c->count; i++)
        charges += c->data[3 * c->count + i] * c->data[3 * c->count + i];
    for (int64_t p = 0; p < points; p++) {
        squares += expected[p] * expected[p];
        spreads += spread[p] * spread[p];
    }
    if (squares > spreads / (300.0 * 300.0))
        return 1;
    return fmax(1, 2e-11 * scale * sqrt(h * charges / volume) / (tolerance * sqrt(squares / (double)points)));
}

static void check_free(const char *name, const vf_grid *g, const cloud *c)
{
    const double scale = 14.4, r_min = 0.15;
    double *spread = calloc((size_t)vf_grid_points(g), sizeof *spread);
    assert_non_null(spread);
    double *expected = direct_sum(g, c, scale, r_min, spread);
    for (int digits = 3; digits <= 10; digits++)
        for (int precision = VF_F32; precision <= VF_F64; precision++) {
            vf_ewald_options o = {.scale = scale,
                                  .r_min = r_min,
                                  .tolerance = pow(10, -digits),
                                  .precision = (vf_dtype)precision,
                                  .coarseness = uniform() < 0.5   ? 0
                                                : uniform() < 0.4 ? 1
                                                                  : 1 + 2 * uniform()};
            if (precision == VF_F32 && digits > 6)
                continue;
            double *got = compute_all(g, c, &o);
            assert_close(name, &o, got, expected, spread, vf_grid_points(g),
                         slack_of(g, c, scale, o.tolerance, expected, spread));
            free(got);
        }
    free(expected);
    free(spread);
}

static void test_free_space(void **state)
{
    (void)state;
    static const subject subjects[] = {
        {"neutral", 240, 0.1, 0.9, true, false},    {"charged", 240, 0.1, 0.9, false, false},
        {"sparse", 3, 0.1, 0.9, false, false},      {"one", 1, 0, 1, false, false},
        {"dense", 250, 0.4, 0.6, false, false},     {"beyond the edges", 200, -0.3, 1.4, false, false},
        {"beside", 60, 1.1, 1.6, false, false},     {"farther away", 60, 1.5, 2, true, false},
        {"one sign", 1500, 0.05, 0.95, false, true}};
    for (size_t n = 0; n < sizeof subjects / sizeof *subjects; n++) {
        const subject *s = &subjects[n];
        const vf_grid g = random_grid(12, 20);
        cloud c = charges_in(&g, s->count, s->lo, s->hi);
        const cloud all = c;
        if (s->neutral)
            make_neutral(&c);
        for (int64_t i = 0; s->one_sign && i < c.count; i++)
            c.data[3 * c.count + i] = 1;
        check_free(s->name, &g, &c);
        free(all.data);
    }
}

/* Charges on grid points and close to them. */
static void test_near_points(void **state)
{
    (void)state;
    const vf_grid g = random_grid(14, 12);
    cloud c = charges_in(&g, 60, 0, 1);
    for (int64_t i = 0; i < c.count; i++)
        for (int a = 0; a < 3; a++) {
            double *x = &c.data[a * c.count + i];
            *x =
                g.origin[a] + g.spacing[a] * (floor((*x - g.origin[a]) / g.spacing[a]) + (i % 2 ? 0.1 * uniform() : 0));
        }
    check_free("near points", &g, &c);
    free(c.data);
}

/* Many close pairs of charges that cancel: near pairs must be summed in double precision, for rounding errors of single
 * precision, which grow with the charges, would be larger than the tolerance of what is left. So no spread is allowed,
 * only the tolerance and the result's own rounding; and near pairs are still a small part of all. */
static void test_cancelling(void **state)
{
    (void)state;
    const vf_grid g = random_grid(12, 12);
    cloud c = charges_in(&g, 20000, 0, 1);
    for (int64_t i = 0; i < c.count; i += 2) {
        for (int a = 0; a < 3; a++)
            c.data[a * c.count + i + 1] = c.data[a * c.count + i] + 0.02 * uniform();
        c.data[3 * c.count + i + 1] = -c.data[3 * c.count + i];
    }
    const vf_ewald_options o = {.scale = 14.4, .r_min = 0.15, .tolerance = 1e-6, .precision = VF_F32};
    double *spread = calloc((size_t)vf_grid_points(&g), sizeof *spread);
    assert_non_null(spread);
    double *expected = direct_sum(&g, &c, o.scale, o.r_min, spread), *got = compute_all(&g, &c, &o);
    memset(spread, 0, (size_t)vf_grid_points(&g) * sizeof *spread);
    assert_close("cancelling", &o, got, expected, spread, vf_grid_points(&g), 1);
    const vf_coulomb_atoms charges = charges_of(&c);
    vf_ewald_info info;
    double seconds[2];
    need(vf_ewald_plan_costs(device, &g, &charges, &o, &info, &seconds[0], &seconds[1]));
    printf("near pairs: %.3g of all\n", info.pairs / (double)c.count / (double)vf_grid_points(&g));
    assert_true(info.pairs < 0.5 * (double)c.count * (double)vf_grid_points(&g));
    FREE_ALL(got, expected, spread, c.data);
}

/* No charges: 0 everywhere. */
static void test_nothing(void **state)
{
    (void)state;
    const vf_grid g = random_grid(5, 9);
    const cloud none = make_cloud(0);
    const vf_ewald_options o = {.scale = 1, .r_min = 0.1, .tolerance = 1e-5, .precision = VF_F32};
    double *got = compute_all(&g, &none, &o);
    for (int64_t i = 0; i < vf_grid_points(&g); i++)
        assert_true(got[i] == 0);
    free(got);
    free(none.data);
}

/* The error model of the split (ewald_parameters.c): e = 2.96 exp(-c), within 6 %. */
static void test_split_model(void **state)
{
    (void)state;
    for (double c = 4; c < 30; c += 1 + 2 * uniform()) {
        vf_prolate psi;
        vf_prolate_make(c, &psi);
        double sum = 0;
        const double step = 0.01;
        for (double u = c + 0.5 * step; u < c + 300; u += step)
            sum += step * pow(vf_prolate_transform(&psi, u) / u, 2);
        const double ratio = sqrt(8 * c / 3.14159265358979323846 * sum) / (2.96 * exp(-c));
        if (!(fabs(ratio - 1) < 0.06))
            fail_msg("c = %g: the split's error is %g times the model's", c, ratio);
    }
}

/* A few samples, such as those of one dense group of charges, must not raise the potential that a tolerance is relative
 * to. The group `dense` has eight samples; with all of them, plans for it had errors of 13 to 17 tolerances. */
static void test_rms_of_samples(void **state)
{
    (void)state;
    double values[EWALD_SAMPLES * EWALD_SAMPLES * EWALD_SAMPLES];
    const size_t count = sizeof values / sizeof *values;
    for (size_t i = 0; i < count; i++)
        values[i] = i % 2 ? 2 : -2;
    for (int i = 0; i < 8; i++)
        values[(size_t)(uniform() * (double)count)] = 1000 * uniform() - 500;
    const double rms = ewald_rms_of_samples(values);
    if (!(rms <= 2 && rms > 1.9))
        fail_msg("rms %.17g", rms);
}

/* ---- bits, costs and errors ---- */

static void test_bits(void **state)
{
    (void)state;
    for (int trial = 0; trial < 8; trial++) {
        const vf_cell_kind kind = (vf_cell_kind)(trial % 3);
        const vf_grid g = kind == VF_CELL_NONE ? random_grid(20, 90) : cell_grid(kind, 40, 0.5);
        cloud c = charges_in(&g, 300, -0.1, 1.1);
        const vf_ewald_options o = {.scale = 1,
                                    .r_min = 0.1,
                                    .tolerance = 1e-6,
                                    .precision = trial % 2 ? VF_F64 : VF_F32,
                                    .coarseness = trial < 4 ? 0 : 1 + trial % 2};
        const int threads = vf_context_threads(ctx);
        double *whole = compute_all(&g, &c, &o);
        need(vf_context_set_threads(ctx, threads > 1 ? 1 : 3));
        const vf_box box = random_box(&g);
        double *part = compute(&g, &c, &o, &box);
        need(vf_context_set_threads(ctx, threads));
        const int64_t row = vf_box_extent(&box, 0);
        const double *at = part;
        for (int64_t k = box.lo[2]; k < box.hi[2]; k++)
            for (int64_t j = box.lo[1]; j < box.hi[1]; j++, at += row)
                assert_memory_equal(at, whole + (k * g.counts[1] + j) * g.counts[0] + box.lo[0],
                                    (size_t)row * sizeof *at);
        FREE_ALL(part, whole, c.data);
    }
}

/* What is planned is what is made, for any number of threads, each of which takes memory of its own. */
static void check_costs(vf_cell_kind kind, int threads)
{
    const vf_grid g = kind == VF_CELL_NONE ? random_grid(30, 30) : cell_grid(kind, 40, 0.5);
    cloud c = charges_in(&g, 500, 0, 1);
    const vf_coulomb_atoms charges = charges_of(&c);
    const vf_ewald_options o = {
        .scale = 1, .r_min = 0.1, .tolerance = 1e-6, .precision = uniform() < 0.5 ? VF_F32 : VF_F64};
    need(vf_context_set_threads(ctx, threads));
    vf_ewald *plan = make_plan(&g, &c, &o);
    vf_ewald_info planned, made;
    double making, using;
    vf_ewald_get_info(plan, &made);
    need(vf_ewald_plan_costs(device, &g, &charges, &o, &planned, &making, &using));
    assert_true(making > 0 && using > 0 && making < 60 && using < 60);
    assert_true(planned.cutoff == made.cutoff && planned.width == made.width && planned.mesh[2] == made.mesh[2]);
    assert_true(made.bytes > 0 && made.most_bytes >= made.bytes);
    if (!((double)planned.most_bytes > 0.8 * (double)made.most_bytes &&
          (double)planned.most_bytes < 4 * (double)made.most_bytes))
        fail_msg("%d threads: %llu bytes planned, %llu held", threads, (unsigned long long)planned.most_bytes,
                 (unsigned long long)made.most_bytes);
    vf_ewald_destroy(plan);
    free(c.data);
}

static void test_costs(void **state)
{
    (void)state;
    static const int threads[] = {1, 2, 16, 64};
    const int usual = vf_context_threads(ctx);
    for (int i = 0; i < 4; i++)
        for (int kind = VF_CELL_NONE; kind <= VF_CELL_TRICLINIC; kind++)
            check_costs((vf_cell_kind)kind, threads[i]);
    need(vf_context_set_threads(ctx, usual));
}

static void refuse(const vf_grid *g, const cloud *c, const vf_ewald_options *o, vf_status expected, const char *word)
{
    const vf_coulomb_atoms charges = charges_of(c);
    vf_ewald *plan = NULL;
    const vf_status status = vf_ewald_create(device, g, &charges, o, &plan);
    if (status != expected || plan || !strstr(vf_context_message(ctx), word))
        fail_msg("%s instead of %s with '%s': %s", vf_status_name(status), vf_status_name(expected), word,
                 vf_context_message(ctx));
    vf_context_clear_error(ctx);
}

static void test_refusals(void **state)
{
    (void)state;
    const vf_grid g = random_grid(6, 6);
    cloud c = charges_in(&g, 5, 0, 1);
    const vf_ewald_options good = {.scale = 1, .r_min = 0.1, .tolerance = 1e-4, .precision = VF_F32};
    vf_ewald_options bad[] = {good, good, good, good, good, good, good, good};
    bad[0].tolerance = 1e-8; /* in single precision */
    bad[1].tolerance = NAN;
    bad[2].scale = NAN;
    bad[3].r_min = NAN;
    bad[4].coarseness = NAN;
    bad[5].precision = VF_C64;
    bad[6].variant = "nonsense";
    bad[7].vacuum = true; /* without a cell */
    static const char *const words[] = {"tolerance",  "tolerance", "scale",    "distance",
                                        "coarseness", "precision", "nonsense", "cell"};
    for (int i = 0; i < 8; i++)
        refuse(&g, &c, &bad[i], VF_ERR_ARGUMENT, words[i]);
    vf_grid turned = cell_grid(VF_CELL_TRICLINIC, 6, 0.2);
    vf_ewald_options vacuum = good;
    vacuum.vacuum = true;
    c.data[3 * c.count] += 1;
    refuse(&turned, &c, &vacuum, VF_ERR_ARGUMENT, "neutral");
    turned.cell.vectors[0][1] = 1;
    refuse(&turned, &c, &good, VF_ERR_UNSUPPORTED, "along x");
    c.data[7] = NAN;
    refuse(&g, &c, &good, VF_ERR_ARGUMENT, "charge 3");
    free(c.data);
}

DEVICE_MAIN(NULL, NULL, cmocka_unit_test(test_free_space), cmocka_unit_test(test_near_points),
            cmocka_unit_test(test_cancelling), cmocka_unit_test(test_nothing), cmocka_unit_test(test_split_model),
            cmocka_unit_test(test_rms_of_samples), cmocka_unit_test(test_bits), cmocka_unit_test(test_costs),
            cmocka_unit_test(test_refusals))
