/* The Fourier sum, every variant of a device against the reference, both directions, on fresh random input, and
 * against known phases.
 *
 * usage: test_fourier_sum DEVICE [TEST...]     (cpu, cuda; exit 77 if there is no such device)
 */
#include "fourier_fixture.h"
#include "fourier_sum_backend.h"
#include "free_all.h"

/* Compares a variant's values with the reference. */
static void compare_values(const vf_fourier_options *o, const problem *p, bool forward, const double *values,
                           const double *expected)
{
    int64_t points = forward ? p->samples : p->voxels, terms = forward ? p->voxels : p->samples;
    const double *in = forward ? p->x : p->c;
    for (int b = 0; b < p->batch; b++) {
        double size = 0;
        for (int64_t i = b * terms; i < (b + 1) * terms; i++)
            size += hypot(in[2 * i], in[2 * i + 1]);
        double limit = bound(o, p, terms, size, forward);
        for (int64_t n = 2 * b * points; n < 2 * (b + 1) * points; n++)
            if (!(fabs(value_at(o->precision, values, n) - expected[n]) <= limit))
                fail_msg("%s, %s, %s%s: value %lld of %lld, coil %d of %d, %lld terms: %.9g instead of %.9g, "
                         "allowed %.3g",
                         describe(o), forward ? "forward" : "adjoint", p->on_grid ? "grid" : "positions",
                         p->field ? ", off-resonance" : "", (long long)n, (long long)(2 * points), b, p->batch,
                         (long long)terms, value_at(o->precision, values, n), expected[n], limit);
    }
}

/* Memory for the result of a direction in any precision. */
static double *room_for(const problem *p, bool forward)
{
    double *values = calloc((size_t)(2 * p->batch * (forward ? p->samples : p->voxels)) + 1, sizeof *values);
    assert_non_null(values);
    return values;
}

/* Compares all variants with the reference in one direction. */
static void compare(const problem *p, bool forward)
{
    double *expected = reference(p, forward), *values = room_for(p, forward);
    vf_fourier_options o;
    for (int index = 0; next_options(&index, &o);) {
        run(device, p, &o, forward, 0, p->voxels, values);
        compare_values(&o, p, forward, values, expected);
    }
    free(expected);
    free(values);
}

static void test_sizes(void **state)
{
    (void)state;
    static const int64_t sizes[][3] = {{1, 1, 1},  {2, 1, 1},  {1, 37, 1}, {1, 1, 41},  {65, 1, 1}, {15, 16, 17},
                                       {31, 9, 9}, {33, 5, 8}, {8, 33, 2}, {64, 31, 1}, {47, 3, 5}};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int kind = 0; kind < 4; kind++) {
            problem p = random_problem((int64_t)(uniform() * 200), sizes[s][0], sizes[s][1], sizes[s][2],
                                       1 + (int)(s % 3), 32, kind);
            compare(&p, false);
            compare(&p, true);
            free_problem(&p);
        }
}

/* Near the chunks of every backend, and near the capacity of constant memory: with values 1333 in double precision, 2000
 * in single; without them 2730, 5461. */
static void test_sample_counts(void **state)
{
    (void)state;
    static const int64_t counts[] = {0,    1,    2,    3,    127,  128,  129,  255,  256,  257,  511,  512,  513,
                                     1332, 1333, 1334, 1999, 2000, 2001, 2730, 2731, 4001, 5460, 5461, 5462, 10923};
    for (size_t n = 0; n < sizeof counts / sizeof *counts; n++)
        for (int kind = 0; kind < 4; kind++) {
            problem p = random_problem(counts[n], 11, 3, 2, 1, 64, kind);
            compare(&p, false);
            if (n % 3 == 0)
                compare(&p, true);
            free_problem(&p);
        }
}

static void test_batches(void **state)
{
    (void)state;
    for (int batch = 1; batch <= 11; batch += batch < 6 ? 1 : 5)
        for (int kind = 0; kind < 4; kind++) {
            problem p = random_problem(75, 33, 3, 2, batch, 16, kind);
            compare(&p, false);
            compare(&p, true);
            free_problem(&p);
        }
}

/* Launch shapes (of at most the least capacity of constant memory), with every unrolling: the smallest and the largest
 * of each, also together; chunks that do not divide the samples, and chunks larger than the samples. One plan runs them
 * all. */
static const vf_fourier_tuning shapes[] = {{32, 16, 1},   {1024, 1333, 16}, {1024, 16, 16}, {32, 1333, 1},
                                           {96, 17, 2},   {256, 64, 4},     {320, 100, 8},  {1024, 333, 8},
                                           {512, 48, 16}, {992, 1000, 4}};

/* The published steps add all terms of a voxel in order, whatever the chunks: the bits are those of the first shape. */
static void compare_shapes(const problem *p)
{
    double *expected = reference(p, false), *values = room_for(p, false), *before = room_for(p, false);
    vf_fourier_options o;
    for (int index = 0; next_options(&index, &o);) {
        vf_fourier *plan = make_plan(device, p, &o);
        for (size_t s = 0; plan->most_chunk > 0 && s < sizeof shapes / sizeof *shapes; s++) {
            assert_int_equal(vf_fourier_set_tuning(plan, &shapes[s]), VF_OK);
            execute(device, plan, p, o.precision, false, p->c, 0, p->voxels, values);
            compare_values(&o, p, false, values, expected);
            const size_t bytes = (size_t)(2 * p->batch * p->voxels) * vf_dtype_bytes(o.precision);
            if (s > 0 && is_published(&o) && memcmp(values, before, bytes) != 0)
                fail_msg("%s: shape %zu changes bits", describe(&o), s);
            memcpy(before, values, bytes);
        }
        vf_fourier_destroy(plan);
    }
    FREE_ALL(expected, values, before);
}

/* More voxels than the threads of a block, and not a multiple of them. */
static void test_tunings(void **state)
{
    (void)state;
    static const int64_t counts[] = {0, 1, 15, 16, 17, 200, 1334};
    if (vf_device_get_kind(device) != VF_DEVICE_CUDA)
        return; /* the CPU has no such steps */
    for (size_t n = 0; n < sizeof counts / sizeof *counts; n++)
        for (int kind = 0; kind < 4; kind++) {
            problem p = random_problem(counts[n], 33, 5, 8, 1 + (int)(n % 2), 64, kind);
            compare_shapes(&p);
            free_problem(&p);
        }
}

/* The contents of the table, and invalid settings, which change nothing. */
static void test_tuning_limits(void **state)
{
    (void)state;
    problem p = random_problem(100, 8, 8, 8, 1, 64, ON_GRID);
    vf_fourier_options o;
    for (int index = 0; next_options(&index, &o);) {
        vf_fourier *plan = make_plan(device, &p, &o);
        bool ours = strcmp(o.variant, "bank-4") == 0,
             tunable = ours || (is_published(&o) && strcmp(o.variant, "naive"));
        int most = o.precision == VF_F64 ? (ours ? 1333 : 2730) : ours ? 2000 : 5461;
        assert_int_equal(plan->most_chunk, tunable ? most : 0);
        vf_fourier_tuning before = plan->tuning, good = {128, most, 2}, bad = {128, most + 1, 2}, none = {0, 0, 0};
        if (tunable)
            assert_true(vf_fourier_tuning_valid(&before, most));
        assert_int_equal(vf_fourier_set_tuning(plan, &bad), tunable ? VF_ERR_ARGUMENT : VF_ERR_UNSUPPORTED);
        assert_int_equal(vf_fourier_set_tuning(plan, &none), tunable ? VF_ERR_ARGUMENT : VF_ERR_UNSUPPORTED);
        assert_memory_equal(&plan->tuning, &before, sizeof before);
        vf_context_clear_error(ctx);
        assert_int_equal(vf_fourier_set_tuning(plan, &good), tunable ? VF_OK : VF_ERR_UNSUPPORTED);
        vf_context_clear_error(ctx);
        vf_fourier_destroy(plan);
    }
    free_problem(&p);
}

/* A launch can be part of the options: steps that have one take it, with a chunk that fits; others ignore it. */
static void test_tuning_option(void **state)
{
    (void)state;
    problem p = random_problem(100, 8, 8, 8, 1, 64, ON_GRID);
    vf_fourier_options o;
    for (int index = 0; next_options(&index, &o);) {
        o.tuning = (vf_fourier_tuning){96, 48, 2};
        vf_fourier *plan = make_plan(device, &p, &o);
        if (plan->most_chunk > 0)
            assert_memory_equal(&plan->tuning, &o.tuning, sizeof o.tuning);
        vf_fourier_destroy(plan);
        o.tuning.chunk = 1 << 20;
        plan = make_plan(device, &p, &o);
        if (plan->most_chunk > 0)
            assert_int_equal(plan->tuning.chunk, plan->most_chunk);
        const bool tunable = plan->most_chunk > 0;
        vf_fourier_destroy(plan);
        o.tuning = (vf_fourier_tuning){97, 48, 2};
        const vf_fourier_samples samples = {p.samples, p.k, NULL};
        const vf_fourier_voxels voxels = {.grid = &p.grid};
        assert_int_equal(vf_fourier_create(device, &samples, &voxels, 1, &o, &plan), tunable ? VF_ERR_ARGUMENT : VF_OK);
        vf_context_clear_error(ctx);
        vf_fourier_destroy(plan);
    }
    free_problem(&p);
}

/* A search in little time finds a launch that is valid and no slower than the usual one; there is nothing to search on a
 * CPU, or for other variants. */
static void test_search(void **state)
{
    (void)state;
    const bool gpu = vf_device_get_kind(device) == VF_DEVICE_CUDA;
    vf_fourier_found found;
    assert_int_equal(vf_fourier_search(device, gpu ? "naive" : NULL, VF_TRIG_ACCURATE, 0.1, &found),
                     VF_ERR_UNSUPPORTED);
    assert_non_null(strstr(vf_context_message(ctx), "nothing to tune"));
    vf_context_clear_error(ctx);
    if (!gpu)
        return;
    assert_int_equal(vf_fourier_search(device, "tuned-structs", VF_TRIG_HARDWARE, 0.5, &found), VF_OK);
    assert_true(found.tried >= 2 && found.usual_rate > 0 && found.best_rate >= found.usual_rate);
    assert_true(vf_fourier_tuning_valid(&found.best, 5461) && vf_fourier_tuning_valid(&found.usual, 5461));
}

/* |k| of 64 to 128 cycles, where k.r in single precision would be off by 4e-6 turns. If random terms have random
 * relative errors of root mean square e, their sum has the relative error e (l2 over the voxels). Errors add up as
 * squares. Factors and products, spread evenly up to their bounds: (5.2^2 * 4 + 2.3^2 * 4) / 3 = 43 u^2. Rounded
 * partial sums, of root mean square sqrt(m / 2) after m of n additions: n / 6 u^2. Hardware trigonometry, 2^-21.2 in
 * both parts: 2 * 7^2 / 3 = 33 u^2; and phases rounded to 2^-24 turns: 6.3^2 / 3 = 13 u^2. The measure uses hundreds
 * of values: 10 %. */
static void test_large_k(void **state)
{
    (void)state;
    for (int kind = 0; kind < 4; kind++) {
        problem p = random_problem(1500, 128, 3, 2, 1, 128, kind);
        for (int64_t i = 0; i < 3 * p.samples; i++)
            p.k[i] = copysignf(64 + fabsf(p.k[i]) / 2, p.k[i]);
        for (int forward = 0; forward < 2; forward++) {
            int64_t count = 2 * (forward ? p.samples : p.voxels);
            double *expected = reference(&p, forward), *values = calloc((size_t)count, sizeof *values);
            vf_fourier_options o;
            assert_non_null(values);
            for (int index = 0; next_options(&index, &o);) {
                double error = 0, size = 0;
                run(device, &p, &o, forward, 0, p.voxels, values);
                for (int64_t n = 0; n < count; n++) {
                    double off = value_at(o.precision, values, n) - expected[n];
                    error += off * off;
                    size += expected[n] * expected[n];
                }
                double relative = sqrt(error / size), n = additions(&o, forward ? p.voxels : p.samples, forward);
                double limit = 1.1 * sqrt(43 + n / 6 + (o.trig == VF_TRIG_HARDWARE ? 46 : 0));
                double phase = 2 * (double)PI * 0x1p-52 * p.turns /* error of double precision itself */
                               + plain_phase_error(&o, &p, forward);
                if (!(relative <= limit * unit(&o) + phase))
                    fail_msg("%s, %s, kind %d: relative error %.3g = %.1f u, allowed %.3g", describe(&o),
                             forward ? "forward" : "adjoint", kind, relative, relative / unit(&o),
                             limit * unit(&o) + phase);
            }
            free(expected);
            free(values);
        }
        free_problem(&p);
    }
}

/* Voxels so dense, and a field so smooth, that a GPU processes them in groups, whose phases are within 4 turns of
 * the phase at their centre. So a rounding is 2^-23 turns, 12.5 u, at each of four sums and of the distances;
 * hardware trigonometry truncates 2^-21 turns, 50 u. The rest is as in test_large_k, which only has wider groups.
 * Ranges of voxels must have the same bits as all of them. A CPU has no groups, and gets a quarter of the voxels. */
static void test_dense_voxels(void **state)
{
    (void)state;
    static const struct {
        int64_t counts[3];
        double k;
        int kind;
    } cases[] = {{{33, 16, 16}, 4, OFF_RESONANCE},
                 {{70, 60, 1}, 9, OFF_RESONANCE},
                 {{16, 16, 17}, 1.5, AT_POSITIONS},
                 {{16, 16, 17}, 1.5, AT_POSITIONS | OFF_RESONANCE}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const int64_t *all = cases[c].counts, less = vf_device_is_host(device) ? 4 : 1,
                      n[3] = {all[0], all[2] > 1 ? all[1] : all[1] / less, all[2] > 1 ? all[2] / less : 1};
        problem p = random_problem(520, n[0], n[1], n[2], 1 + (int)(c % 2), cases[c].k, cases[c].kind);
        for (int64_t v = 0; p.field && v < p.voxels; v++) {
            const double x = p.positions ? p.positions[3 * v] : (double)(v % n[0]) / (double)n[0],
                         y = p.positions ? p.positions[3 * v + 1] : (double)(v / n[0] % n[1]) / (double)n[1];
            p.field[v] = (float)(25 * sin(2 * x) * cos(y) - 200);
        }
        for (int forward = 0; forward < 2; forward++) {
            const int64_t count = 2 * p.batch * (forward ? p.samples : p.voxels);
            double *expected = reference(&p, forward), *values = room_for(&p, forward), *part = room_for(&p, forward);
            vf_fourier_options o;
            for (int index = 0; next_options(&index, &o);) {
                double error = 0, size = 0, hardware = o.trig == VF_TRIG_HARDWARE ? 46 + 50 * 50 / 3.0 : 0;
                vf_fourier *plan = make_plan(device, &p, &o);
                if (may_have_groups(&o, &p))
                    assert_string_equal(vf_fourier_variant(plan), "groups");
                execute(device, plan, &p, o.precision, forward, forward ? p.x : p.c, 0, p.voxels, values);
                compare_values(&o, &p, forward, values, expected);
                for (int64_t i = 0; i < count; i++) {
                    const double off = value_at(o.precision, values, i) - expected[i];
                    error += off * off;
                    size += expected[i] * expected[i];
                }
                const double relative = sqrt(error / size),
                             adds = additions(&o, forward ? p.voxels : p.samples, forward),
                             phase = may_have_groups(&o, &p) ? 5 * 12.5 * 12.5 / 3 : 0,
                             limit = 1.1 * sqrt(43 + adds / 6 + phase + hardware) * unit(&o) +
                                     2 * (double)PI * 0x1p-52 * p.turns + plain_phase_error(&o, &p, forward);
                if (!(relative <= limit))
                    fail_msg("%s, %s, case %zu: relative error %.3g = %.1f u, allowed %.3g", describe(&o),
                             forward ? "forward" : "adjoint", c, relative, relative / unit(&o), limit);
                const int64_t first = (int64_t)(uniform() * (double)p.voxels / 2), some = p.voxels / 3;
                if (!forward) {
                    execute(device, plan, &p, o.precision, false, p.c, first, some, part);
                    for (int64_t b = 0; b < p.batch; b++)
                        for (int64_t i = 0; i < 2 * some; i++)
                            if (value_at(o.precision, part, 2 * b * some + i) !=
                                value_at(o.precision, values, 2 * (b * p.voxels + first) + i))
                                fail_msg("%s, case %zu: value %lld of voxels from %lld on depends on the range",
                                         describe(&o), c, (long long)i, (long long)first);
                }
                vf_fourier_destroy(plan);
            }
            FREE_ALL(expected, values, part);
        }
        free_problem(&p);
    }
}

/* All phases are 0, so a sum is that of its terms: one of 1, and so many small ones that a block of a grid, the longest
 * run of additions in single precision, has at most 0.4 u of them; 80 u together. Sums in single precision over blocks
 * or chunks would drop them all; the bound for many terms, of some hundred u, would hide that. Here additions cost
 * little: small terms are lost only in the block of the large one. The rest of the bound is that of one term. On the CPU:
 * tensor cores take halves, which have no room for such terms, and the steps add all in single precision. */
static void test_small_terms(void **state)
{
    (void)state;
    enum { MOST = 32 * 32 * 8, BLOCKS = 200 }; /* MOST: terms in a block of the CPU's forward sum */
    enum { FEW = 2, ROW = 16 };                /* results of the forward sum, and of the adjoint: voxels of a row */
    const double u = 0x1p-24, small = 0.4 * u / MOST, sum = 1 + small * ((double)MOST * BLOCKS - 1);
    double *values = calloc(2 * ROW, sizeof *values);
    assert_non_null(values);
    for (int kind = 0; kind < (vf_device_get_kind(device) == VF_DEVICE_CPU ? 4 : 0); kind++) {
        const bool forward = kind & 1;
        problem p = forward ? random_problem(FEW, 128, 128, 100, 1, 0, kind / 2)
                            : random_problem((int64_t)MOST * BLOCKS, ROW, 1, 1, 1, 0, kind / 2);
        double *terms = forward ? p.x : p.c;
        for (int64_t i = 0; i < (forward ? p.voxels : p.samples); i++) {
            terms[2 * i] = i == 0 ? 1 : small;
            terms[2 * i + 1] = 0;
        }
        vf_fourier_options o;
        for (int index = 0; next_options(&index, &o);) {
            if (o.precision == VF_F64)
                continue;
            run(device, &p, &o, forward, 0, p.voxels, values);
            const double limit =
                bound(&o, &p, 1, 1, forward) + 0.8 * unit(&o) + 80 * u * 0x1p-23; /* small, in single */
            for (int64_t n = 0; n < (forward ? FEW : ROW); n++)
                if (!(fabs(value_at(o.precision, values, 2 * n) - sum) <= limit) ||
                    !(fabs(value_at(o.precision, values, 2 * n + 1)) <= limit))
                    fail_msg("%s, %s, %s: value %lld is 1 + %.3g u, not 1 + %.3g u, allowed %.3g u", describe(&o),
                             forward ? "forward" : "adjoint", p.on_grid ? "grid" : "positions", (long long)n,
                             (value_at(o.precision, values, 2 * n) - 1) / u, (sum - 1) / u, limit / u);
        }
        free_problem(&p);
    }
    free(values);
}

/* One sample of weight 1: y = exp(i 2 pi k.r), with phases of many whole turns that are exact in binary, also in the
 * reference. Bound: the terms of the head of the file for n = 1. */
static void test_single_sample(void **state)
{
    (void)state;
    float k[3] = {4097.25f, -1024.5f, 333.0f};
    problem p = {.grid = {{-0.5, -0.5, -0.5}, {0x1p-6, 0x1p-3, 0x1p-2}, {64, 8, 4}, {0}},
                 .samples = 1,
                 .batch = 1,
                 .k = k,
                 .turns = 2728};
    double one[2] = {1, 0}, values[2 * 2048];
    p.on_grid = true;
    p.voxels = 2048;
    p.c = one;
    vf_fourier_options o;
    for (int index = 0; next_options(&index, &o);) {
        run(device, &p, &o, false, 0, p.voxels, values);
        for (int64_t n = 0; n < p.voxels; n++) {
            double at[3] = {(double)(n % 64) / 64 - 0.5, (double)(n / 64 % 8) / 8 - 0.5, (double)(n / 512) / 4 - 0.5};
            double turns = (double)k[0] * at[0] + (double)k[1] * at[1] + (double)k[2] * at[2];
            long double angle = 2 * PI * (long double)(turns - rint(turns));
            double limit = bound(&o, &p, 1, 1, false);
            if (!(fabs(value_at(o.precision, values, 2 * n) - (double)cosl(angle)) <= limit) ||
                !(fabs(value_at(o.precision, values, 2 * n + 1) - (double)sinl(angle)) <= limit))
                fail_msg("%s: voxel %lld: (%.9g, %.9g) instead of (%.9Lg, %.9Lg)", describe(&o), (long long)n,
                         value_at(o.precision, values, 2 * n), value_at(o.precision, values, 2 * n + 1), cosl(angle),
                         sinl(angle));
        }
    }
}

/* The phases of the published steps, which nothing reduces: one sample of weight 1, |k| up to 512, every voxel held to
 * the bound for its own A (head of fourier_fixture.h), and 14 u for sine, cosine and products. Hardware sines have no
 * bound beyond 50 turns. The largest error must also be a twentieth of the bound at least: a reduced phase would be no
 * published step. (Six random roundings make about a sixth at the worst of a thousand voxels.) */
static void test_plain_phases(void **state)
{
    (void)state;
    for (int kind = 0; kind <= AT_POSITIONS; kind++) {
        problem p = random_problem(1, 16, 9, 8, 1, 512, kind);
        double values[2 * 16 * 9 * 8];
        vf_fourier_options o;
        p.c[0] = 1;
        p.c[1] = 0;
        for (int index = 0; next_options(&index, &o);) {
            double largest = 0, of_bound = 0, most = o.trig == VF_TRIG_HARDWARE ? 50 : HUGE_VAL;
            if (!is_published(&o))
                continue;
            run(device, &p, &o, false, 0, p.voxels, values);
            for (int64_t n = 0; n < p.voxels; n++) {
                const int64_t at[3] = {n % 16, n / 16 % 9, n / 16 / 9};
                long double turns = 0;
                double size = 0;
                for (int a = 0; a < 3; a++) {
                    const double r =
                        p.positions ? p.positions[3 * n + a] : p.grid.origin[a] + p.grid.spacing[a] * (double)at[a];
                    turns += (long double)p.k[a] * (long double)r;
                    size += fabs((double)p.k[a] * r);
                }
                if (size > most)
                    continue;
                const long double angle = 2 * PI * (turns - rintl(turns));
                const double limit = phase_error(&o, size) + (14 + (o.trig == VF_TRIG_HARDWARE ? 16 : 0)) * unit(&o),
                             error = hypot(value_at(o.precision, values, 2 * n) - (double)cosl(angle),
                                           value_at(o.precision, values, 2 * n + 1) - (double)sinl(angle));
                if (!(error <= limit))
                    fail_msg("%s, kind %d: voxel %lld, %g turns: error %.3g, allowed %.3g", describe(&o), kind,
                             (long long)n, size, error, limit);
                largest = fmax(largest, error);
                of_bound = fmax(of_bound, limit);
            }
            if (!(largest >= 0.05 * of_bound))
                fail_msg("%s, kind %d: the largest error is %.3g of a bound of %.3g", describe(&o), kind, largest,
                         of_bound);
        }
        free_problem(&p);
    }
}

/* Indices and sizes beyond 2^31: single voxels at the far end of grids too large for any memory, and an axis of that
 * length. */
static void test_far_voxels(void **state)
{
    (void)state;
    static const int64_t counts[][3] = {{4096, 4096, 4096}, {(int64_t)3 << 31, 1, 1}, {1, (int64_t)3 << 31, 1}};
    vf_fourier_options o;
    for (size_t g = 0; g < sizeof counts / sizeof *counts; g++) {
        if (g > 0 && vf_device_get_kind(device) == VF_DEVICE_OPENCL)
            continue; /* it has a table for each axis */
        problem p = random_problem(200, 1, 1, 1, 1, 64, ON_GRID);
        p.voxels = 1;
        for (int a = 0; a < 3; a++) {
            p.grid.counts[a] = counts[g][a];
            p.grid.spacing[a] = 1.0 / (double)counts[g][a];
            p.grid.origin[a] = -0.5;
            p.voxels *= counts[g][a];
        }
        for (int index = 0; next_options(&index, &o);) {
            if (strcmp(o.variant, "ref") == 0 || is_step(&o))
                continue; /* steps store a list of all voxels */
            enum { COUNT = 77 };
            int64_t first = p.voxels - 100;
            double values[2 * COUNT], expected[2 * COUNT];
            vf_fourier_options r = {.precision = VF_F64, .variant = "ref"};
            run(device, &p, &o, false, first, COUNT, values);
            run(vf_context_device(reference_ctx, 0), &p, &r, false, first, COUNT, expected);
            double size = 1.4143 * (double)p.samples, limit = bound(&o, &p, p.samples, size, false);
            /* A GPU counts phases in rounded half steps of 2^-63 turns: up to N steps from the first point. */
            if (vf_device_get_kind(device) == VF_DEVICE_CUDA)
                limit += 2 * (double)PI * size * (double)p.voxels * 0x1p-63;
            for (int n = 0; n < 2 * COUNT; n++)
                if (!(fabs(value_at(o.precision, values, n) - expected[n]) <= limit))
                    fail_msg("%s, grid %zu, value %d: %.9g instead of %.9g", describe(&o), g, n,
                             value_at(o.precision, values, n), expected[n]);
        }
        free_problem(&p);
    }
}

DEVICE_MAIN(set_up, tear_down, cmocka_unit_test(test_single_sample), cmocka_unit_test(test_sizes),
            cmocka_unit_test(test_sample_counts), cmocka_unit_test(test_batches), cmocka_unit_test(test_tunings),
            cmocka_unit_test(test_tuning_limits), cmocka_unit_test(test_tuning_option), cmocka_unit_test(test_search),
            cmocka_unit_test(test_large_k), cmocka_unit_test(test_plain_phases), cmocka_unit_test(test_small_terms),
            cmocka_unit_test(test_far_voxels), cmocka_unit_test(test_dense_voxels))
