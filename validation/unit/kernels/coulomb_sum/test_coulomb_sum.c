/* The Coulomb sum, every variant of a device against the reference, on fresh random molecules.
 *
 * usage: test_coulomb_sum DEVICE [TEST...]
 *        (cpu, cuda, opencl; exit 77 if there is no such device, or no memory for `large`)
 *
 * The bound, from the arithmetic. u is the unit roundoff (2^-24 or 2^-53), S1 = sum |q|/r, S2 = sum |q|/r^2 over the
 * atoms, with r bounded below by r_min (or S1 = sum |q|/r^2, S2 = 2 sum |q|/r^3 for the distance-dependent dielectric).
 *   positions   point and atom are rounded relative to a centre: per axis u (|p| + |a| + |p - a|) <= u (2 P + 2 |d|),
 *               where P is the largest distance of a point from the centre; as vectors u (2 |P| + 2 r). This moves a
 *               term by that times its derivative: u (2 |P| S2 + 2 S1).
 *   r^2         dx^2 + (dy^2 + dz^2): 3 roundings of positive terms, <= 3 u. The inverse root sees half of that, the
 *               square all of it.
 *   1/sqrt      relative error E u: 5.2 for the vector code (coulomb_sum_simd_ops.h), 2.2 for a GPU in single precision
 *               (PTX ISA: 2^-22.9), 5 where it follows from its neighbours (coulomb_sum_tiles.cuh: 2.5; the rounding
 *               of e, half of which counts; and that of the last two products), 1 for a GPU in double (CUDA C++
 *               Programming Guide, rsqrt: 1 ulp = 2 u), 4 for OpenCL (rsqrt: 2 ulp) and 5 for its 1/s (2.5 ulp). The
 *               largest, 5.2, is used for all; native_rsqrt of dcs3 on OpenCL has no bound, but drivers keep this one.
 *   charge      rounded once, multiplied once: 2 u.
 *   sum         a term passes through at most as many additions as a chunk has atoms (256, 512, or the capacity of
 *               constant memory), plus one per chunk where chunks are added in the same precision (const variants): n
 *               u S1. The result: u |V|.
 *   dcs         positions are counted from the grid's origin: P is twice as large as from its middle. dx by up to 7 additions:
 *               7 u (|dx| + 128 h), which is 7 u S1 and, beside 2 |P| u, 896 h u of S2.
 * Together  (n + 3 + 5.2 + 2 + 2 + 1) u S1 + 2 |P| u S2 + 2^-50 S1, the last for the reference's own error.
 * Second-order terms: 1 %.
 */
#include <math.h>

#include "coulomb_sum.h"
#include "device_fixture.h"
#include "free_all.h"

typedef struct cloud {
    int64_t count;
    double *data; /* x, y, z, charge */
} cloud;

static vf_coulomb_atoms atoms_of(const cloud *c)
{
    int64_t n = c->count;
    return (vf_coulomb_atoms){
        .count = n, .x = c->data, .y = c->data + n, .z = c->data + 2 * n, .charge = c->data + 3 * n};
}

/* Atoms all over the grid and 10 % beyond it, some of them exactly on grid points. */
static cloud random_cloud(int64_t count, const vf_grid *grid)
{
    cloud c = {.count = count, .data = calloc((size_t)count * 4 + 1, sizeof(double))};
    assert_non_null(c.data);
    for (int64_t i = 0; i < count; i++)
        for (int a = 0; a < 3; a++) {
            double at = (1.2 * uniform() - 0.1) * (double)grid->counts[a];
            c.data[a * count + i] = grid->origin[a] + grid->spacing[a] * (i % 7 == 3 ? floor(at) : at);
        }
    for (int64_t i = 0; i < count; i++)
        c.data[3 * count + i] = 2 * uniform() - 1;
    return c;
}

static void run(vf_device *on, const vf_grid *grid, const cloud *c, const vf_coulomb_options *options,
                const vf_box *box, void *out)
{
    vf_coulomb *plan = NULL;
    vf_queue *queue = NULL;
    vf_array values = {0}, host = {0};
    vf_coulomb_atoms atoms = atoms_of(c);
    int64_t points = vf_box_points(box);
    if (vf_coulomb_create(on, grid, &atoms, options, &plan) != VF_OK || vf_queue_create(on, &queue) != VF_OK ||
        vf_array_create(on, VF_SPACE_DEVICE, options->precision, points, &values) != VF_OK ||
        vf_array_create(on, VF_SPACE_PINNED, options->precision, points, &host) != VF_OK)
        fail_msg("%s", vf_context_message(ctx));
    /* NaN in the output shows points that are not written. */
    memset(host.data, 0xff, (size_t)points * vf_dtype_bytes(options->precision));
    if (vf_array_copy(queue, &values, &host, points) != VF_OK ||
        vf_coulomb_execute(plan, queue, box, values.data) != VF_OK ||
        vf_array_copy(queue, &host, &values, points) != VF_OK || vf_queue_sync(queue) != VF_OK)
        fail_msg("%s", vf_context_message(ctx));
    memcpy(out, host.data, (size_t)points * vf_dtype_bytes(options->precision));
    vf_array_free(&values);
    vf_array_free(&host);
    vf_queue_destroy(queue);
    vf_coulomb_destroy(plan);
}

static double value_at(const void *values, vf_dtype type, int64_t n)
{
    return type == VF_F64 ? ((const double *)values)[n] : (double)((const float *)values)[n];
}

/* See the head of the file. `half`: |P|. */
static double bound(const vf_coulomb_options *o, const char *variant, int64_t atoms, double s1, double s2, double half)
{
    const bool dcs = strncmp(variant, "dcs", 3) == 0, constant = dcs || strncmp(variant, "const", 5) == 0;
    double u = o->precision == VF_F64 ? 0x1p-53 : 0x1p-24;
    double chunk = constant ? (o->precision == VF_F64 ? 2000 : 4000) : 512;
    double n = fmin((double)atoms, chunk) + (constant ? ceil((double)atoms / chunk) : 0);
    return 1.01 * ((n + 13.2 + (dcs ? 7 : 0)) * u * s1 + 2 * half * u * s2 + 0x1p-50 * s1);
}

/* Compares all variants of the device with the formula at every point of the box. */
static void compare(const vf_grid *grid, const cloud *c, const vf_box *box, double r_min, bool square,
                    vf_dtype precision)
{
    if (!has_precision(precision))
        return;
    int64_t points = vf_box_points(box);
    size_t bytes = (size_t)points * sizeof(double);
    double *reference = malloc(bytes), *s1 = malloc(bytes), *s2 = malloc(bytes);
    void *values = malloc(bytes);
    assert_true(reference && s1 && s2 && values);
    const double scale = 332.0637;
    int64_t n = 0, atoms = c->count;
    for (int64_t k = box->lo[2]; k < box->hi[2]; k++)
        for (int64_t j = box->lo[1]; j < box->hi[1]; j++)
            for (int64_t i = box->lo[0]; i < box->hi[0]; i++, n++) {
                double p[3] = {grid->origin[0] + grid->spacing[0] * (double)i,
                               grid->origin[1] + grid->spacing[1] * (double)j,
                               grid->origin[2] + grid->spacing[2] * (double)k};
                reference[n] = s1[n] = s2[n] = 0;
                for (int64_t a = 0; a < atoms; a++) {
                    double dx = p[0] - c->data[a], dy = p[1] - c->data[atoms + a], dz = p[2] - c->data[2 * atoms + a];
                    double r = fmax(sqrt(dx * dx + dy * dy + dz * dz), r_min), q = scale * c->data[3 * atoms + a];
                    reference[n] += q / (square ? r * r : r);
                    s1[n] += fabs(q) / (square ? r * r : r);
                    s2[n] += square ? 2 * fabs(q) / (r * r * r) : fabs(q) / (r * r);
                }
            }
    const char *variant;
    for (int v = 0; (variant = vf_coulomb_variant_name(vf_device_get_kind(device), v)); v++) {
        vf_coulomb_options o = {
            .scale = scale, .r_min = r_min, .distance_dielectric = square, .precision = precision, .variant = variant};
        if (!can_run(variant))
            continue;
        /* Half of the largest block around a centre: 64 x 32 points (GPU tile), 32 x 16 x 8 (CPU block). The const
         * variants are centred on the grid's middle, and their z distance is exact. */
        const bool dcs = strncmp(variant, "dcs", 3) == 0, constant = dcs || strncmp(variant, "const", 5) == 0;
        double half = 0;
        for (int a = 0; a < 3; a++) {
            double extent = grid->spacing[a] * (constant ? (double)grid->counts[a] + 1 : a == 0 ? 65 : 33) / 2;
            half += extent * extent;
        }
        half = dcs ? 2 * sqrt(half) + 448 * grid->spacing[0] : sqrt(half);
        run(device, grid, c, &o, box, values);
        for (int64_t m = 0; m < points; m++) {
            double error = fabs(value_at(values, precision, m) - reference[m]);
            double limit = bound(&o, variant, atoms, s1[m], s2[m], half);
            if (!(error <= limit))
                fail_msg("%s %s%s: point %lld of %lld, %lld atoms: %.9g instead of %.9g, off by %.3g, allowed %.3g",
                         variant, precision == VF_F64 ? "double" : "single", square ? " 1/r^2" : "", (long long)m,
                         (long long)points, (long long)atoms, value_at(values, precision, m), reference[m], error,
                         limit);
        }
    }
    FREE_ALL(reference, s1, s2, values);
}

static vf_grid random_grid(int64_t nx, int64_t ny, int64_t nz)
{
    return (vf_grid){.origin = {100 * uniform() - 50, 100 * uniform() - 50, 100 * uniform() - 50},
                     .spacing = {0.3 + uniform(), 0.3 + uniform(), 0.3 + uniform()},
                     .counts = {nx, ny, nz}};
}

static void test_sizes(void **state)
{
    (void)state;
    static const int64_t sizes[][3] = {{1, 1, 1},   {2, 1, 1},  {1, 37, 1},  {1, 1, 41},  {129, 1, 1}, {15, 16, 17},
                                       {31, 17, 9}, {33, 5, 8}, {16, 33, 2}, {64, 31, 1}, {47, 3, 5}};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int kind = 0; kind < 4; kind++) {
            vf_grid grid = random_grid(sizes[s][0], sizes[s][1], sizes[s][2]);
            vf_box box = vf_grid_box(&grid);
            cloud c = random_cloud((int64_t)(uniform() * 300), &grid);
            compare(&grid, &c, &box, 0.1, kind & 1, kind & 2 ? VF_F64 : VF_F32);
            free(c.data);
        }
}

/* Near the chunks of every backend: 256 (CPU), 512 (tuned), 2000 and 4000 (constant memory in double and single). */
static void test_atom_counts(void **state)
{
    (void)state;
    static const int64_t counts[] = {0, 1, 2, 255, 256, 257, 511, 512, 513, 1999, 2000, 2001, 3999, 4000, 4001, 8001};
    for (size_t n = 0; n < sizeof counts / sizeof *counts; n++)
        for (int kind = 0; kind < 4; kind++) {
            vf_grid grid = random_grid(21, 5, 3);
            vf_box box = vf_grid_box(&grid);
            cloud c = random_cloud(counts[n], &grid);
            compare(&grid, &c, &box, 0.05, kind & 1, kind & 2 ? VF_F64 : VF_F32);
            free(c.data);
        }
}

/* Atoms at 0.9 to 1.1 r_min from a grid point, in any direction. At 0.9 r_min a term is 11 % too large where r is not
 * raised to r_min: the bound is far below that. Few of them, so that in most rows and chunks no atom is near (the CPU
 * skips the maximum there), and on faces as often as inside. */
static void test_atoms_at_r_min(void **state)
{
    (void)state;
    for (int kind = 0; kind < 32; kind++) {
        vf_grid grid = random_grid(1 + (int64_t)(uniform() * 70), 19, 10);
        vf_box box = vf_grid_box(&grid);
        double r_min = 0.02 + 0.2 * uniform();
        cloud c = random_cloud(300, &grid);
        for (int64_t i = 0; i < c.count; i += 1 + (int64_t)(uniform() * 40)) {
            double d[3] = {uniform() - 0.5, uniform() - 0.5, uniform() - 0.5};
            double length = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]), r = r_min * (0.9 + 0.2 * uniform());
            for (int a = 0; a < 3 && length > 0; a++) {
                double last = (double)(grid.counts[a] - 1), at = floor((1.4 * uniform() - 0.2) * (last + 1));
                c.data[a * c.count + i] =
                    grid.origin[a] + grid.spacing[a] * fmin(fmax(at, 0), last) + r * d[a] / length;
            }
        }
        compare(&grid, &c, &box, r_min, kind & 1, kind & 2 ? VF_F64 : VF_F32);
        free(c.data);
    }
}

/* Single precision far from the origin, on a large grid: the reason for local centres. */
static void test_far_box(void **state)
{
    (void)state;
    vf_grid grid = {.origin = {-700, 300, 900}, .spacing = {0.5, 0.5, 0.5}, .counts = {3000, 3000, 3000}};
    vf_box box = {.lo = {2950, 2977, 2991}, .hi = {2999, 2999, 3000}};
    vf_grid near = {.origin = {770, 1785, 2390}, .spacing = {0.5, 0.5, 0.5}, .counts = {60, 30, 20}};
    cloud c = random_cloud(700, &near);
    for (int kind = 0; kind < 4; kind++)
        compare(&grid, &c, &box, 0.1, kind & 1, kind & 2 ? VF_F64 : VF_F32);
    free(c.data);
}

/* Indices beyond 2^31 in the grid: a small box at its far end, along each axis in turn. */
static void test_far_index(void **state)
{
    (void)state;
    for (int axis = 0; axis < 3; axis++) {
        vf_grid grid = {.origin = {-20, -20, -20}, .spacing = {1, 1, 1}, .counts = {7, 7, 7}};
        grid.counts[axis] = (int64_t)3 << 31;
        grid.spacing[axis] = 0x1p-16;
        vf_box box = {.hi = {7, 7, 7}};
        box.hi[axis] = grid.counts[axis] - 5;
        box.lo[axis] = box.hi[axis] - 37;
        vf_grid near = grid;
        near.counts[axis] = 41;
        near.origin[axis] = grid.origin[axis] + grid.spacing[axis] * (double)box.lo[axis];
        cloud c = random_cloud(100, &near);
        const char *variant;
        /* The const variants keep a padded layer of the whole grid: impossible for this one. */
        for (int v = 0; (variant = vf_coulomb_variant_name(vf_device_get_kind(device), v)) && v < 1; v++) {
            vf_coulomb_options o = {.scale = 1, .r_min = 1e-3, .precision = VF_F64, .variant = variant}, r = o;
            if (!has_precision(o.precision))
                continue;
            int64_t points = vf_box_points(&box);
            double *got = calloc((size_t)points, sizeof *got), *expected = calloc((size_t)points, sizeof *expected);
            assert_true(got && expected);
            vf_context *reference_context;
            assert_int_equal(vf_context_create(&reference_context), VF_OK);
            r.variant = "ref";
            run(device, &grid, &c, &o, &box, got);
            run(vf_context_device(reference_context, 0), &grid, &c, &r, &box, expected);
            vf_context_destroy(reference_context);
            for (int64_t n = 0; n < points; n++)
                if (!(fabs(got[n] - expected[n]) <= 1e-9 * fabs(expected[n]) + 1e-9))
                    fail_msg("%s, axis %d, point %lld: %.17g instead of %.17g", variant, axis, (long long)n, got[n],
                             expected[n]);
            free(got);
            free(expected);
        }
        free(c.data);
    }
}

/* One variant: random boxes, by 1 to 3 threads, against the whole grid by all threads. */
static void compare_boxes(const vf_coulomb_options *options, const vf_grid *grid, const cloud *c)
{
    if (!has_precision(options->precision))
        return;
    vf_box whole = vf_grid_box(grid);
    size_t bytes = vf_dtype_bytes(options->precision), points = (size_t)vf_grid_points(grid);
    char *all = malloc(points * bytes), *piece = malloc(points * bytes);
    int threads = vf_context_threads(ctx);
    assert_true(all && piece);
    run(device, grid, c, options, &whole, all);
    for (int trial = 0; trial < 12; trial++) {
        vf_box box;
        for (int a = 0; a < 3; a++) {
            box.lo[a] = (int64_t)(uniform() * (double)grid->counts[a]);
            box.hi[a] = box.lo[a] + 1 + (int64_t)(uniform() * (double)(grid->counts[a] - box.lo[a]));
        }
        assert_int_equal(vf_context_set_threads(ctx, 1 + trial % 3), VF_OK);
        run(device, grid, c, options, &box, piece);
        assert_int_equal(vf_context_set_threads(ctx, threads), VF_OK);
        size_t row = (size_t)vf_box_extent(&box, 0) * bytes, n = 0;
        for (int64_t k = box.lo[2]; k < box.hi[2]; k++)
            for (int64_t j = box.lo[1]; j < box.hi[1]; j++, n++) {
                size_t at = (size_t)((k * grid->counts[1] + j) * grid->counts[0] + box.lo[0]);
                if (memcmp(piece + n * row, all + at * bytes, row) != 0)
                    fail_msg("%s: row (%lld, %lld) differs in a box", options->variant, (long long)j, (long long)k);
            }
    }
    free(all);
    free(piece);
}

/* For every variant, a map made of boxes has the same bits as the whole; so has one made by another number of
 * threads. */
static void test_boxes_and_threads(void **state)
{
    (void)state;
    vf_grid grid = random_grid(75, 41, 19);
    cloud c = random_cloud(600, &grid);
    const char *variant;
    for (int v = 0; (variant = vf_coulomb_variant_name(vf_device_get_kind(device), v)); v++)
        for (int kind = 0; kind < 4; kind++) {
            vf_coulomb_options o = {.scale = 560,
                                    .r_min = 0.1,
                                    .distance_dielectric = kind & 1,
                                    .precision = kind & 2 ? VF_F64 : VF_F32,
                                    .variant = variant};
            if (can_run(variant))
                compare_boxes(&o, &grid, &c);
        }
    free(c.data);
}

/* Two plans in two queues at the same time, without waiting in between, give the same bits as one after the other.
 * The constant-memory variants share one bank of a GPU, which must not be refilled while another queue still reads
 * it. */
static void test_queues_and_plans(void **state)
{
    (void)state;
    enum { PLANS = 2, QUEUES = 2, ROUNDS = 2 };
    vf_grid grid = random_grid(66, 35, 3);
    vf_box box = vf_grid_box(&grid);
    int64_t points = vf_grid_points(&grid);
    cloud c[PLANS] = {random_cloud(4100, &grid), random_cloud(4200, &grid)};
    vf_queue *queue[QUEUES];
    vf_array alone = {0}, together = {0};
    const char *variant;
    assert_int_equal(vf_array_create(device, VF_SPACE_PINNED, VF_F32, points, &alone), VF_OK);
    assert_int_equal(vf_array_create(device, VF_SPACE_PINNED, VF_F32, points, &together), VF_OK);
    for (int q = 0; q < QUEUES; q++)
        assert_int_equal(vf_queue_create(device, &queue[q]), VF_OK);
    for (int v = 0; (variant = vf_coulomb_variant_name(vf_device_get_kind(device), v)); v++) {
        if (!can_run(variant) || strcmp(variant, "ref") == 0)
            continue;
        vf_coulomb_options o = {.scale = 560, .r_min = 0.1, .precision = VF_F32, .variant = variant};
        vf_coulomb *plan[PLANS];
        vf_array out[PLANS][QUEUES];
        for (int p = 0; p < PLANS; p++) {
            vf_coulomb_atoms atoms = atoms_of(&c[p]);
            assert_int_equal(vf_coulomb_create(device, &grid, &atoms, &o, &plan[p]), VF_OK);
            for (int q = 0; q < QUEUES; q++)
                assert_int_equal(vf_array_create(device, VF_SPACE_DEVICE, VF_F32, points, &out[p][q]), VF_OK);
        }
        for (int n = 0; n < ROUNDS * PLANS * QUEUES; n++) {
            int p = n % PLANS, q = n / PLANS % QUEUES;
            assert_int_equal(vf_coulomb_execute(plan[p], queue[q], &box, out[p][q].data), VF_OK);
        }
        for (int q = 0; q < QUEUES; q++)
            assert_int_equal(vf_queue_sync(queue[q]), VF_OK);
        for (int p = 0; p < PLANS; p++) {
            run(device, &grid, &c[p], &o, &box, alone.data);
            for (int q = 0; q < QUEUES; q++) {
                assert_int_equal(vf_array_copy(queue[q], &together, &out[p][q], points), VF_OK);
                assert_int_equal(vf_queue_sync(queue[q]), VF_OK);
                if (memcmp(alone.data, together.data, (size_t)points * sizeof(float)) != 0)
                    fail_msg("%s: plan %d in queue %d differs from alone", variant, p, q);
                vf_array_free(&out[p][q]);
            }
            vf_coulomb_destroy(plan[p]);
        }
    }
    for (int q = 0; q < QUEUES; q++)
        vf_queue_destroy(queue[q]);
    for (int p = 0; p < PLANS; p++)
        free(c[p].data);
    vf_array_free(&alone);
    vf_array_free(&together);
}

/* Reversed charges give the negated bits, because every rounding is symmetric about zero. */
static void test_charge_reversal(void **state)
{
    (void)state;
    vf_grid grid = random_grid(37, 11, 9);
    vf_box box = vf_grid_box(&grid);
    cloud c = random_cloud(800, &grid);
    int64_t points = vf_grid_points(&grid);
    float *plus = malloc((size_t)points * sizeof *plus), *minus = malloc((size_t)points * sizeof *minus);
    assert_true(plus && minus);
    vf_coulomb_options o = {.scale = 560, .r_min = 0.1, .precision = VF_F32};
    run(device, &grid, &c, &o, &box, plus);
    for (int64_t i = 0; i < c.count; i++)
        c.data[3 * c.count + i] *= -1;
    run(device, &grid, &c, &o, &box, minus);
    for (int64_t n = 0; n < points; n++)
        if (!(plus[n] == -minus[n]))
            fail_msg("point %lld: %.9g and %.9g", (long long)n, (double)plus[n], (double)minus[n]);
    FREE_ALL(plus, minus, c.data);
}

static void test_refusals(void **state)
{
    (void)state;
    vf_grid grid = random_grid(4, 4, 4), bad_grid = grid;
    double one[4] = {0, 0, 0, 1}, bad[4] = {0, NAN, 0, 1};
    vf_coulomb_atoms good = {.count = 1, .x = one, .y = one + 1, .z = one + 2, .charge = one + 3};
    vf_coulomb_atoms nan_atom = {.count = 1, .x = bad, .y = bad + 1, .z = bad + 2, .charge = bad + 3};
    vf_coulomb_options o = {.scale = 1, .r_min = 0.1}, variant = o, r_min = o, scale = o, precision = o;
    vf_coulomb *plan;
    variant.variant = "nonsense";
    r_min.r_min = 0;
    scale.scale = NAN;
    precision.precision = VF_C64;
    bad_grid.spacing[1] = NAN;
    struct {
        const vf_grid *grid;
        const vf_coulomb_atoms *atoms;
        const vf_coulomb_options *options;
        const char *says;
    } cases[] = {{&grid, &nan_atom, &o, "atom 1"},       {&grid, &good, &variant, "nonsense"},
                 {&grid, &good, &r_min, "out of range"}, {&grid, &good, &scale, "out of range"},
                 {&grid, &good, &precision, "VF_F32"},   {&bad_grid, &good, &o, "spacing"}};
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        assert_int_equal(vf_coulomb_create(device, cases[n].grid, cases[n].atoms, cases[n].options, &plan),
                         VF_ERR_ARGUMENT);
        assert_null(plan);
        assert_non_null(strstr(vf_context_message(ctx), cases[n].says));
        vf_context_clear_error(ctx);
    }
    vf_queue *queue;
    vf_box outside = {.lo = {0, 0, 0}, .hi = {4, 5, 4}};
    assert_int_equal(vf_coulomb_create(device, &grid, &good, &o, &plan), VF_OK);
    assert_int_equal(vf_queue_create(device, &queue), VF_OK);
    assert_int_equal(vf_coulomb_execute(plan, queue, &outside, NULL), VF_ERR_ARGUMENT);
    vf_context_clear_error(ctx);
    vf_queue_destroy(queue);
    vf_coulomb_destroy(plan);
}

/* Plans a variant for an empty sum; returns the status, and in `chosen` the variant that runs. */
static vf_status choose(const char *variant, const char **chosen)
{
    vf_grid grid = random_grid(4, 4, 4);
    vf_coulomb_atoms none = {0};
    vf_coulomb_options o = {.scale = 1, .r_min = 0.1, .variant = variant};
    vf_coulomb *plan;
    vf_status status = vf_coulomb_create(device, &grid, &none, &o, &plan);
    *chosen = plan ? vf_coulomb_variant(plan) : NULL;
    vf_coulomb_destroy(plan);
    return status;
}

/* The names that a device knows are all in the message for an unknown one; also the meaning of "simd". */
static void test_variant_names(void **state)
{
    (void)state;
    static const char *const lists[] = {[VF_DEVICE_CPU] = "the variants are simd, baseline, avx2, avx512, ref",
                                        [VF_DEVICE_CUDA] =
                                            "the variants are tuned, roots, const1, const4, const8, dcs1, dcs2, dcs3",
                                        [VF_DEVICE_OPENCL] = "the variants are tuned, dcs3"};
    const bool cpu = vf_device_is_host(device);
    const char *name, *chosen, *list = lists[vf_device_get_kind(device)];
    assert_int_equal(choose("nonsense", &chosen), VF_ERR_ARGUMENT);
    assert_null(chosen);
    name = strstr(vf_context_message(ctx), list);
    assert_non_null(name);
    assert_string_equal(name, list); /* and nothing after it */
    vf_context_clear_error(ctx);
    for (int v = 0; (name = vf_coulomb_variant_name(vf_device_get_kind(device), v)); v++)
        if (can_run(name)) {
            assert_int_equal(choose(name, &chosen), VF_OK);
            assert_string_equal(chosen, strcmp(name, "simd") == 0 ? vf_isa_name(vf_cpu_isa()) : name);
        }
    assert_int_equal(choose(NULL, &chosen), VF_OK);
    assert_string_equal(chosen, cpu ? vf_isa_name(vf_cpu_isa()) : "tuned");
    if (!cpu)
        return;
    assert_int_equal(setenv("VOXFIELD_ISA", "baseline", 1), 0);
    vf_status status = choose("avx2", &name), plain = choose("simd", &chosen);
    assert_int_equal(unsetenv("VOXFIELD_ISA"), 0);
    assert_int_equal(status, VF_ERR_UNSUPPORTED);
    assert_non_null(strstr(vf_context_message(ctx), "no avx2, only baseline"));
    vf_context_clear_error(ctx);
    assert_int_equal(plain, VF_OK);
    assert_string_equal(chosen, "baseline");
}

DEVICE_MAIN(NULL, NULL, cmocka_unit_test(test_sizes), cmocka_unit_test(test_atom_counts),
            cmocka_unit_test(test_atoms_at_r_min), cmocka_unit_test(test_far_box), cmocka_unit_test(test_far_index),
            cmocka_unit_test(test_boxes_and_threads), cmocka_unit_test(test_queues_and_plans),
            cmocka_unit_test(test_charge_reversal), cmocka_unit_test(test_refusals),
            cmocka_unit_test(test_variant_names))
