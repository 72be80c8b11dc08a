/* The cutoff sum: every variant of a device and every law against its formula, on fresh random charges, in free space and
 * in cells; the same bits in boxes and for any number of threads; what is refused.
 *
 * usage: test_cutoff_sum DEVICE [TEST...] (cpu, cuda; exit 77 if there is no such device)
 *
 * The bound, from the arithmetic. u is the unit roundoff (2^-24 or 2^-53), h the largest spacing, g = Phi(0) / rc the
 * smooth part at 0, where it is largest, D = 1 / r^2 + g c / rc at least the slope of S (without the first from r_min
 * down). For each pair of a charge and a point within rc:
 *   distance    n h - f along each axis, n h and f rounded: u (|n h| 2 + |f| 2 + |d|) <= u (3 |d| + 2 h); as vectors
 *               u (3 r + 3.5 h). r^2: 3 more roundings, as much as 1.5 u r. This moves a term by D u (4.5 r + 3.5 h).
 *   position    f is found from absolute positions, always in double (v = 2^-53): of a grid point, o + n h, to
 *               v (|p - o| + |p| + 2 h) along each axis, p the charge; of an image, p = x + shifts, to
 *               v (3 |x| + 4 |shifts|). The length of that vector, w, moves a term by D w. It counts in double.
 *   1 / r       5.2 u / max(r, r_min), as coulomb_sum_simd_ops.h has it
 *   smooth      t = scale r^2 - 1: 3 u, times its slope, at most g c / 4. Horner's rule: coefficients and two roundings
 *               for each of at most 40 powers, sum |coefficient| = g: 120 u g. The polynomial: 4 2^-25 g or 2^-51 g.
 *   charge      2 u; the difference and the product: 2 u of (1 / r + g)
 *   sum         n u of the term, n the number of charges within reach, and u of the result and what it is added to.
 * Second-order terms: 2 %. At the cutoff S is continuous, so it matters little on which side a point falls; pairs up to
 * 1.0001 rc count.
 *
 * Laws other than splits: g is 1 / rc (shifted) or 0, and c = 0. Smoothed and switched ones have a factor W of 1 / r; with
 * o = (r_on / rc)^2 (0: smoothed), v = (r / rc)^2 and m = 1 - o:
 *   slope       |dW/dv| <= 2, or 1.5 / m: with dv/dr = 2 r / rc^2, at most 4 / (m rc^2) of |dW/dr| / r
 *   rounding    v: 2 u; 1 - v: 3 u, squared 6 u m + u m^2; times a + b v <= 3 / m^2: 21 u / m; a + b v: 5 u (|a| + |b|) with
 *               |a| + |b| <= 4 / m^3, times (1 - v)^2 <= m^2: 20 u / m; three products: 44 u / m of 1 / r in all
 * The plain law jumps by 1 / rc at the cutoff: a pair counts or not if r is within its error of rc, which is that of the
 * distance and the position, as above, u rc of the cutoff, and 6 u rc of the ends of rows, where points are found from it.
 *
 * The published kernels count positions from the grid's origin, in single precision, too: a point n h to 2 u |n h|, a charge
 * p to u |p - o|, p - o at most |n h| + |d|. So (3 |n h| + |d|) u along each axis comes to the error of r. */
#include <math.h>

#include "cloud_fixture.h"
#include "cutoff_sum.h"
#include "free_all.h"
#include "prolate.h"

/* Charges all over the grid and beyond it, some exactly on grid points. */
static cloud random_cloud(int64_t count, const vf_grid *grid)
{
    const cloud c = make_cloud(count);
    for (int64_t i = 0; i < count; i++)
        for (int a = 0; a < 3; a++) {
            const double at = (1.6 * uniform() - 0.3) * (double)grid->counts[a];
            c.data[a * count + i] = grid->origin[a] + grid->spacing[a] * (i % 7 == 3 ? floor(at) : at);
        }
    for (int64_t i = 0; i < count; i++)
        c.data[3 * count + i] = 2 * uniform() - 1;
    return c;
}

static vf_grid random_grid(vf_cell_kind cell, int64_t most)
{
    vf_grid g = {.cell = {.kind = cell}};
    for (int a = 0; a < 3; a++) {
        g.counts[a] = 1 + (int64_t)(uniform() * (double)(a == 0 ? 4 * most : most));
        g.spacing[a] = 0.2 + 0.8 * uniform();
        g.origin[a] = 100 * uniform() - 50;
        if (cell != VF_CELL_NONE)
            g.cell.vectors[a][a] = 2 + 8 * uniform();
        for (int b = 0; cell == VF_CELL_TRICLINIC && b < a; b++)
            g.cell.vectors[a][b] = 3 * uniform() - 1.5;
    }
    return g;
}

static vf_cutoff_options random_options(vf_cutoff_law law, vf_dtype precision)
{
    const double cutoff = 0.3 + 5 * uniform() * uniform();
    return (vf_cutoff_options){.scale = 332.0637,
                               .law = law,
                               .switch_from = 0.95 * cutoff * uniform(),
                               .r_min = uniform() < 0.3 ? cutoff * uniform() + 1e-5 : 0.05 + 0.1 * uniform(),
                               .cutoff = cutoff,
                               .bandwidth = 4 + 26 * uniform(),
                               .precision = precision};
}

static double value_at(const void *values, vf_dtype type, int64_t n)
{
    return type == VF_F64 ? ((const double *)values)[n] : (double)((const float *)values)[n];
}

/* out = the sum over a box; added to 1 if `add`, and NaN beforehand if not, which shows points that are not written. */
static void run(const vf_grid *grid, const cloud *c, const vf_cutoff_options *options, const vf_box *box, bool add,
                void *out)
{
    const int64_t points = vf_box_points(box);
    const size_t bytes = (size_t)points * vf_dtype_bytes(options->precision);
    const vf_coulomb_atoms charges = charges_of(c);
    vf_cutoff *plan = NULL;
    vf_queue *queue = NULL;
    vf_array values = {0}, host = {0};
    need(vf_cutoff_create(device, grid, &charges, options, &plan));
    need(vf_queue_create(device, &queue));
    need(vf_array_create(device, VF_SPACE_DEVICE, options->precision, points, &values));
    need(vf_array_create(device, VF_SPACE_PINNED, options->precision, points, &host));
    memset(host.data, 0xff, bytes);
    for (int64_t i = 0; add && i < points; i++)
        if (options->precision == VF_F64)
            ((double *)host.data)[i] = 1;
        else
            ((float *)host.data)[i] = 1;
    need(vf_array_copy(queue, &values, &host, points));
    need(vf_cutoff_execute(plan, queue, box, add, values.data));
    need(vf_array_copy(queue, &host, &values, points));
    need(vf_queue_sync(queue));
    memcpy(out, host.data, bytes);
    vf_array_free(&values);
    vf_array_free(&host);
    vf_queue_destroy(queue);
    vf_cutoff_destroy(plan);
}

typedef struct truth {
    double *value, *bound; /* the bound without the charges' number; of both precisions, in units of u */
    double *far;           /* what comes to the bound if positions are counted from the origin */
    double *size;          /* sum |q| (1 / r + g) */
    int64_t *near;
} truth;

/* A pair of a point and a charge or image: the vector between them; w, in units of 2^-53; and the error of positions that are
 * counted from the origin, in units of u. */
typedef struct pair {
    double d[3], charge, w, far;
} pair;

/* The formulas of cutoff_sum.h, written once more. */
UNWATCHED static double law_value(const vf_cutoff_options *o, const vf_prolate *psi, double r)
{
    const double rc = o->cutoff, s = fmax(r, o->r_min), on = o->switch_from, rest = rc * rc - s * s;
    switch (o->law) {
    case VF_CUTOFF_PLAIN:
        return 1 / s;
    case VF_CUTOFF_SHIFTED:
        return 1 / s - 1 / rc;
    case VF_CUTOFF_SMOOTHED:
        return pow(1 - s * s / (rc * rc), 2) / s;
    case VF_CUTOFF_SWITCHED:
        return (s <= on ? 1 : rest * rest * (rc * rc + 2 * s * s - 3 * on * on) / pow(rc * rc - on * on, 3)) / s;
    default:
        return 1 / s - vf_prolate_slope(psi, r / rc) / rc;
    }
}

UNWATCHED static void add_pair(const vf_cutoff_options *o, const vf_prolate *psi, double h, const pair *p, truth *t,
                               int64_t n)
{
    const double r = sqrt(p->d[0] * p->d[0] + p->d[1] * p->d[1] + p->d[2] * p->d[2]), rc = o->cutoff, q = p->charge;
    if (!(r < 1.0001 * rc))
        return;
    const bool split = o->law == VF_CUTOFF_SPLIT, window = o->law == VF_CUTOFF_SMOOTHED || o->law == VF_CUTOFF_SWITCHED;
    const double root = 1 / fmax(r, o->r_min), c = split ? o->bandwidth : 0,
                 g = split                         ? 1 / (psi->area * rc)
                     : o->law == VF_CUTOFF_SHIFTED ? 1 / rc
                                                   : 0,
                 m = o->law == VF_CUTOFF_SWITCHED ? 1 - pow(o->switch_from / rc, 2) : 1;
    const double slope = (r > 0.999 * o->r_min ? root * root : 0) + g * c / rc + (window ? 4 / (m * rc * rc) : 0);
    const double fit = o->precision == VF_F64 ? 4 : 2, w = o->precision == VF_F64 ? p->w : p->w * 0x1p-29;
    const double u = o->precision == VF_F64 ? 0x1p-53 : 0x1p-24, moved = 4.5 * r + 3.5 * h + w;
    if (r < rc)
        t->value[n] += q * law_value(o, psi, r);
    t->bound[n] += fabs(q) * (slope * moved + 5.2 * root + (0.75 * c + 120 + fit) * g + 4 * (root + g) +
                              (window ? 44 / m * root : 0));
    t->far[n] += fabs(q) * slope * p->far;
    if (o->law == VF_CUTOFF_PLAIN) {
        const double jump = fabs(q) * root / u, off = fabs(r - rc) / u;
        if (off <= moved + 7 * rc)
            t->bound[n] += jump;
        else if (off <= moved + 7 * rc + p->far)
            t->far[n] += jump;
    }
    t->size[n] += fabs(q) * (root + g);
    t->near[n]++;
}

/* The image of charge m that is shifted by these multiples of the cell's vectors, and grid point `at`. In long double:
 * in double, the difference of two positions would be as uncertain as what is tested. */
UNWATCHED static pair find_pair(const vf_grid *g, const cloud *c, double scale, const int64_t at[3], int64_t m,
                                const int64_t shift[3])
{
    pair p = {.charge = scale * c->data[3 * c->count + m]};
    for (int a = 0; a < 3; a++) {
        const double x = c->data[a * c->count + m], o = g->origin[a], h = g->spacing[a];
        long double moved = 0, size = 0;
        for (int b = 0; b < 3; b++) {
            const long double by = shift[b] ? (long double)shift[b] * (long double)g->cell.vectors[b][a] : 0;
            moved += by;
            size += fabsl(by);
        }
        const double image = (double)(x + moved);
        const double v =
            fabs(image - o) + fabs(image) + 2 * h + (g->cell.kind == VF_CELL_NONE ? 0 : 3 * fabs(x) + 4 * (double)size);
        p.d[a] = (double)((long double)o + (long double)h * (long double)at[a] - x - moved);
        p.w += v * v;
        p.far += pow(3 * h * (double)at[a] + fabs(p.d[a]), 2);
    }
    p.w = sqrt(p.w);
    p.far = sqrt(p.far);
    return p;
}

/* All images that can be near: cells are at least 2 wide and tilted by at most 1.5, rc is at most 5.3. */
UNWATCHED static void add_images(const vf_grid *g, const cloud *c, const vf_cutoff_options *o, const vf_prolate *psi,
                                 const int64_t at[3], int64_t m, truth *t, int64_t n)
{
    const double h = fmax(g->spacing[0], fmax(g->spacing[1], g->spacing[2])), reach = 1.001 * o->cutoff;
    const double(*v)[3] = g->cell.vectors;
    const pair home = find_pair(g, c, o->scale, at, m, (int64_t[3]){0});
    if (g->cell.kind == VF_CELL_NONE) {
        add_pair(o, psi, h, &home, t, n);
        return;
    }
    /* shifts move the charge, and so the vector from it the other way */
    for (int64_t k = (int64_t)ceil((home.d[2] - reach) / v[2][2]); (double)k * v[2][2] <= home.d[2] + reach; k++) {
        const double y = home.d[1] - (double)k * v[2][1];
        for (int64_t j = (int64_t)ceil((y - reach) / v[1][1]); (double)j * v[1][1] <= y + reach; j++) {
            const double x = home.d[0] - (double)k * v[2][0] - (double)j * v[1][0];
            for (int64_t i = (int64_t)ceil((x - reach) / v[0][0]); (double)i * v[0][0] <= x + reach; i++) {
                const pair image = find_pair(g, c, o->scale, at, m, (int64_t[3]){i, j, k});
                add_pair(o, psi, h, &image, t, n);
            }
        }
    }
}

UNWATCHED static truth find_truth(const vf_grid *g, const cloud *c, const vf_cutoff_options *o, const vf_box *box)
{
    const int64_t points = vf_box_points(box);
    truth t = {.value = calloc((size_t)points, sizeof(double)),
               .bound = calloc((size_t)points, sizeof(double)),
               .far = calloc((size_t)points, sizeof(double)),
               .size = calloc((size_t)points, sizeof(double)),
               .near = calloc((size_t)points, sizeof(int64_t))};
    vf_prolate psi;
    vf_prolate_make(o->bandwidth, &psi);
    int64_t n = 0;
    for (int64_t k = box->lo[2]; k < box->hi[2]; k++)
        for (int64_t j = box->lo[1]; j < box->hi[1]; j++)
            for (int64_t i = box->lo[0]; i < box->hi[0]; i++, n++)
                for (int64_t m = 0; m < c->count; m++)
                    add_images(g, c, o, &psi, (int64_t[3]){i, j, k}, m, &t, n);
    return t;
}

static void free_truth(truth *t)
{
    FREE_ALL(t->value, t->bound, t->far, t->size, t->near);
}

static void compare(const vf_grid *g, const cloud *c, vf_cutoff_options o)
{
    const vf_box box = random_box(g);
    const int64_t points = vf_box_points(&box);
    const bool add = uniform() < 0.5;
    truth t = find_truth(g, c, &o, &box);
    void *values = malloc((size_t)points * sizeof(double));
    assert_non_null(values);
    for (int v = 0; (o.variant = vf_cutoff_variant_name(vf_device_get_kind(device), v)); v++) {
        const double u = o.precision == VF_F64 ? 0x1p-53 : 0x1p-24;
        if (!can_run(o.variant))
            continue;
        const bool far = strstr(o.variant, "-bin") != NULL;
        run(g, c, &o, &box, add, values);
        for (int64_t n = 0; n < points; n++) {
            const double expected = t.value[n] + add, error = fabs(value_at(values, o.precision, n) - expected);
            const double most = 1.02 * u *
                                (t.bound[n] + (far ? t.far[n] : 0) + (double)(t.near[n] + 1) * t.size[n] +
                                 2 * fabs(expected) + 2 * add);
            if (!(error <= most)) /* NaN, too */
                fail_msg(
                    "%s %s %s: rc %.17g, c %g, r_on %g, r_min %g: point %lld of %lld: %.9g instead of %.9g, off by "
                    "%.3g, allowed %.3g",
                    vf_cutoff_law_name(o.law), o.variant, vf_dtype_name(o.precision), o.cutoff, o.bandwidth,
                    o.switch_from, o.r_min, (long long)n, (long long)points, value_at(values, o.precision, n), expected,
                    error, most);
        }
    }
    free(values);
    free_truth(&t);
}

static void test_sum(void **state)
{
    (void)state;
    for (int trial = 0; trial < 18 * VF_CUTOFF_LAWS; trial++) {
        const vf_grid g = random_grid((vf_cell_kind)(trial % 3), trial % 9 ? 11 : 16);
        cloud c = random_cloud(trial % 5 == 0 ? trial % 10 / 5 : 1 + (int64_t)(150 * uniform()), &g);
        compare(&g, &c, random_options((vf_cutoff_law)(trial / 18), trial % 2 ? VF_F64 : VF_F32));
        free(c.data);
    }
}

/* Thousands of charges in one place fill one bin. */
static void test_crowd(void **state)
{
    (void)state;
    const vf_grid g = random_grid(VF_CELL_NONE, 6);
    cloud c = random_cloud(5000, &g);
    for (int a = 0; a < 3; a++)
        for (int64_t i = 0; i < c.count; i++)
            c.data[a * c.count + i] = g.origin[a] + g.spacing[a] * (0.3 + 0.1 * uniform());
    for (int law = 0; law < VF_CUTOFF_LAWS; law++)
        compare(&g, &c, random_options((vf_cutoff_law)law, VF_F32));
    free(c.data);
}

/* Within and far beyond one subvolume and one bank of constant memory: more charges than it holds. */
static void test_long_cutoff(void **state)
{
    (void)state;
    for (int precision = VF_F32; precision <= VF_F64; precision++) {
        vf_grid g = random_grid(VF_CELL_NONE, 5);
        cloud c = random_cloud(9000, &g);
        vf_cutoff_options o = random_options(VF_CUTOFF_PLAIN, (vf_dtype)precision);
        o.cutoff = 40 * fmax(g.spacing[0], fmax(g.spacing[1], g.spacing[2]));
        compare(&g, &c, o);
        free(c.data);
    }
}

/* What is added is at charges and points that have no error: the values of S. */
static void test_values(void **state)
{
    (void)state;
    const double rc = 12, on = 10, half = 0.5 / 12;
    assert_true(vf_cutoff_value(VF_CUTOFF_PLAIN, rc, 0, 0.1, 6) == 1.0 / 6);
    assert_true(fabs(vf_cutoff_value(VF_CUTOFF_SHIFTED, rc, 0, 0.1, 6) - 2 * half) < 1e-16);
    assert_true(fabs(vf_cutoff_value(VF_CUTOFF_SMOOTHED, rc, 0, 0.1, 6) - 0.5625 / 6) < 1e-16);
    assert_true(fabs(vf_cutoff_value(VF_CUTOFF_SWITCHED, rc, on, 0.1, 10) - 0.1) < 1e-15);
    /* (144 - 121)^2 (144 + 242 - 300) / 44^3 / 11 = 529 * 86 / 85184 / 11 */
    assert_true(fabs(vf_cutoff_value(VF_CUTOFF_SWITCHED, rc, on, 0.1, 11) - 45494.0 / 85184 / 11) < 1e-16);
    for (int law = VF_CUTOFF_PLAIN; law < VF_CUTOFF_LAWS; law++) {
        assert_true(vf_cutoff_value((vf_cutoff_law)law, rc, on, 0.1, rc) == 0);
        assert_true(vf_cutoff_value((vf_cutoff_law)law, rc, on, 2, 0) ==
                    vf_cutoff_value((vf_cutoff_law)law, rc, on, 2, 2));
        if (law != VF_CUTOFF_PLAIN)
            assert_true(fabs(vf_cutoff_value((vf_cutoff_law)law, rc, on, 0.1, rc * (1 - 1e-9))) < 1e-9);
    }
    assert_null(vf_cutoff_law_name(VF_CUTOFF_LAWS));
}

static void test_bits(void **state)
{
    (void)state;
    for (int trial = 0; trial < 8; trial++) {
        const vf_grid g = random_grid((vf_cell_kind)(trial % 3), 30);
        const vf_box all = vf_grid_box(&g);
        const int64_t points = vf_grid_points(&g);
        vf_cutoff_options o = random_options((vf_cutoff_law)(trial % VF_CUTOFF_LAWS), trial % 2 ? VF_F64 : VF_F32);
        const size_t element = vf_dtype_bytes(o.precision);
        cloud c = random_cloud(200, &g);
        char *whole = malloc((size_t)points * element), *part = malloc((size_t)points * element);
        assert_true(whole && part);
        for (int v = 0; (o.variant = vf_cutoff_variant_name(vf_device_get_kind(device), v)); v++) {
            if (!can_run(o.variant))
                continue;
            run(&g, &c, &o, &all, false, whole);
            const int threads = vf_context_threads(ctx);
            need(vf_context_set_threads(ctx, threads > 1 ? 1 : 3));
            const vf_box box = random_box(&g);
            run(&g, &c, &o, &box, false, part);
            need(vf_context_set_threads(ctx, threads));
            const size_t row = (size_t)vf_box_extent(&box, 0) * element;
            const char *at = part;
            for (int64_t k = box.lo[2]; k < box.hi[2]; k++)
                for (int64_t j = box.lo[1]; j < box.hi[1]; j++, at += row)
                    assert_memory_equal(at, whole + (size_t)((k * g.counts[1] + j) * g.counts[0] + box.lo[0]) * element,
                                        row);
        }
        FREE_ALL(whole, part, c.data);
    }
}

static void refuse(const vf_grid *g, const cloud *c, const vf_cutoff_options *o, const char *word)
{
    const vf_coulomb_atoms charges = charges_of(c);
    vf_cutoff *plan = NULL;
    const vf_status status = vf_cutoff_create(device, g, &charges, o, &plan);
    if (status != VF_ERR_ARGUMENT || plan || !strstr(vf_context_message(ctx), word))
        fail_msg("%s instead of an error with '%s': %s", vf_status_name(status), word, vf_context_message(ctx));
    vf_context_clear_error(ctx);
}

static void test_refusals(void **state)
{
    (void)state;
    const vf_grid g = random_grid(VF_CELL_NONE, 9);
    vf_grid bad_grid = g;
    const vf_cutoff_options good = random_options(VF_CUTOFF_SPLIT, VF_F32);
    cloud c = random_cloud(3, &g);
    vf_cutoff_options bad[] = {good, good, good, good, good, good, good, good, good, good, good};
    bad[0].scale = NAN;
    bad[1].r_min = NAN;
    bad[2].cutoff = 0.5 * good.r_min;
    bad[3].cutoff = NAN;
    bad[4].bandwidth = NAN;
    bad[5].bandwidth = 61;
    bad[6].precision = VF_I32;
    bad[7].variant = "nonsense";
    bad[8].law = VF_CUTOFF_LAWS;
    bad[9].law = bad[10].law = VF_CUTOFF_SWITCHED;
    bad[9].switch_from = NAN;
    bad[10].switch_from = good.cutoff;
    static const char *const words[] = {"scale",     "distance", "cutoff", "cutoff", "bandwidth", "bandwidth",
                                        "precision", "nonsense", "law",    "switch", "switch"};
    for (int i = 0; i < 11; i++)
        refuse(&g, &c, &bad[i], words[i]);
    bad_grid.spacing[1] = NAN;
    refuse(&bad_grid, &c, &good, "grid");
    bad_grid = g;
    bad_grid.origin[2] = 2e6;
    refuse(&bad_grid, &c, &good, "grid");
    c.data[5] = NAN;
    refuse(&g, &c, &good, "charge 3");
    free(c.data);
}

DEVICE_MAIN(NULL, NULL, cmocka_unit_test(test_sum), cmocka_unit_test(test_crowd), cmocka_unit_test(test_long_cutoff),
            cmocka_unit_test(test_values), cmocka_unit_test(test_bits), cmocka_unit_test(test_refusals))
