/* Properties of the Fourier sum for any values: adjointness, scaling, ranges and threads that change no bit, NaN,
 * and invalid arguments; every variant of a device, on fresh random input.
 *
 * usage: test_fourier_algebra DEVICE [TEST...]     (cpu, cuda; exit 77 if there is no such device)
 */
#include "fourier_fixture.h"
#include "free_all.h"

/* Ranges of voxels have the same bits as the whole, for any number of threads. */
static void test_ranges_and_threads(void **state)
{
    (void)state;
    const bool slow = vf_device_get_kind(device) == VF_DEVICE_OPENCL; /* a CPU that plays a device */
    int threads = vf_context_threads(ctx);
    vf_fourier_options o;
    for (int kind = 0; kind < 4; kind++) {
        problem p = random_problem(slow ? 150 : 700, slow ? 25 : 75, 13, 11, 2, 64, kind);
        for (int index = 0; next_options(&index, &o);) {
            if (strcmp(o.variant, "ref") == 0)
                continue; /* one voxel after the other, one thread */
            size_t bytes = 2 * vf_dtype_bytes(o.precision);
            char *all = calloc((size_t)p.voxels * 2, bytes), *piece = calloc((size_t)p.voxels * 2, bytes);
            char *forward = calloc((size_t)p.samples * 2, bytes), *again = calloc((size_t)p.samples * 2, bytes);
            assert_true(all && piece && forward && again);
            vf_fourier *plan = make_plan(device, &p, &o);
            execute(device, plan, &p, o.precision, false, p.c, 0, p.voxels, all);
            execute(device, plan, &p, o.precision, true, p.x, 0, 0, forward);
            for (int trial = 0; trial < 6; trial++) {
                int64_t first = (int64_t)(uniform() * (double)p.voxels);
                int64_t count = 1 + (int64_t)(uniform() * (double)(p.voxels - first));
                assert_int_equal(vf_context_set_threads(ctx, 1 + trial % 3), VF_OK);
                execute(device, plan, &p, o.precision, false, p.c, first, count, piece);
                for (int b = 0; b < 2; b++)
                    if (memcmp(piece + (size_t)(b * count) * bytes, all + (size_t)(b * p.voxels + first) * bytes,
                               (size_t)count * bytes) != 0)
                        fail_msg("%s, kind %d: voxels %lld + %lld differ", describe(&o), kind, (long long)first,
                                 (long long)count);
            }
            execute(device, plan, &p, o.precision, true, p.x, 0, 0, again);
            assert_memory_equal(forward, again, (size_t)p.samples * 2 * bytes);
            assert_int_equal(vf_context_set_threads(ctx, threads), VF_OK);
            vf_fourier_destroy(plan);
            FREE_ALL(all, piece, forward, again);
        }
        free_problem(&p);
    }
}

/* Grid points given as positions have the same sum. */
static void test_positions_of_grid(void **state)
{
    (void)state;
    problem p = random_problem(500, 40, 7, 5, 1, 64, OFF_RESONANCE), q = p;
    vf_fourier_options o;
    double *grid = calloc((size_t)p.voxels * 2, sizeof *grid), *list = calloc((size_t)p.voxels * 2, sizeof *list);
    q.on_grid = false;
    q.positions = calloc((size_t)p.voxels * 3, sizeof *q.positions);
    assert_true(grid && list && q.positions);
    for (int64_t n = 0; n < p.voxels; n++)
        for (int a = 0; a < 3; a++) {
            int64_t at = a == 0 ? n % 40 : a == 1 ? n / 40 % 7 : n / 280;
            q.positions[3 * n + a] = p.grid.origin[a] + p.grid.spacing[a] * (double)at;
        }
    for (int field = 0; field < 2; field++) {
        if (!field) { /* the field is ignored if either half is missing */
            float *time = p.time;
            p.time = q.time = NULL;
            free(time);
        }
        for (int index = 0; next_options(&index, &o);) {
            run(device, &p, &o, false, 0, p.voxels, grid);
            run(device, &q, &o, false, 0, p.voxels, list);
            for (int64_t n = 0; n < 2 * p.voxels; n++)
                if (!(fabs(value_at(o.precision, grid, n) - value_at(o.precision, list, n)) <=
                      2 * bound(&o, &p, p.samples, 1.4143 * (double)p.samples, false)))
                    fail_msg("%s: value %lld: %.9g on the grid, %.9g as positions", describe(&o), (long long)n,
                             value_at(o.precision, grid, n), value_at(o.precision, list, n));
        }
    }
    FREE_ALL(grid, list, q.positions);
    free_problem(&p);
}

static void dot(vf_dtype type, const void *a, const double *b, int64_t count, double out[2])
{
    out[0] = out[1] = 0;
    for (int64_t i = 0; i < count; i++) {
        double re = value_at(type, a, 2 * i), im = value_at(type, a, 2 * i + 1);
        out[0] += re * b[2 * i] + im * b[2 * i + 1];
        out[1] += re * b[2 * i + 1] - im * b[2 * i];
    }
}

static double norm(const double *a, int64_t count)
{
    double sum = 0;
    for (int64_t i = 0; i < 2 * count; i++)
        sum += a[i] * a[i];
    return sqrt(sum);
}

/* <F x, c> = <x, F^H c>. Both are sums of M N terms of random sign, of size sqrt(M N) rms = |x| |c|, each with a
 * mean relative error of at most 10 u (16 u), as in test_large_k, and of the published steps' phases; ten standard
 * deviations. */
static void test_adjointness(void **state)
{
    (void)state;
    vf_fourier_options o;
    for (int kind = 0; kind < 4; kind++) {
        problem p = random_problem(400, 35, 9, 10, 1, 20, kind);
        double *y = calloc((size_t)p.voxels * 2, sizeof *y), *c = calloc((size_t)p.samples * 2, sizeof *c);
        assert_true(y && c);
        for (int index = 0; next_options(&index, &o);) {
            double left[2], right[2],
                limit = (160 * unit(&o) + 10 * plain_phase_error(&o, &p, false)) * norm(p.x, p.voxels) *
                        norm(p.c, p.samples);
            run(device, &p, &o, true, 0, 0, c);
            run(device, &p, &o, false, 0, p.voxels, y);
            dot(o.precision, c, p.c, p.samples, left);
            dot(o.precision, y, p.x, p.voxels, right);
            if (!(fabs(left[0] - right[0]) <= limit) || !(fabs(left[1] + right[1]) <= limit))
                fail_msg("%s, kind %d: <F x, c> = (%.9g, %.9g), <x, F^H c> = (%.9g, %.9g), allowed %.3g", describe(&o),
                         kind, left[0], left[1], right[0], -right[1], limit);
        }
        free(y);
        free(c);
        free_problem(&p);
    }
}

/* Minus twice the input gives minus twice the bits: every rounding is symmetric, and powers of two need none. */
static void test_scaling(void **state)
{
    (void)state;
    vf_fourier_options o;
    for (int kind = 0; kind < 4; kind++) {
        problem p = random_problem(600, 37, 5, 3, 1, 40, kind);
        double *once = calloc((size_t)p.voxels * 2, sizeof *once), *twice = calloc((size_t)p.voxels * 2, sizeof *once);
        double *scaled = random_vector(2 * p.samples);
        assert_true(once && twice);
        for (int64_t i = 0; i < 2 * p.samples; i++)
            scaled[i] = -2 * p.c[i];
        for (int index = 0; next_options(&index, &o);) {
            vf_fourier *plan = make_plan(device, &p, &o);
            execute(device, plan, &p, o.precision, false, p.c, 0, p.voxels, once);
            execute(device, plan, &p, o.precision, false, scaled, 0, p.voxels, twice);
            for (int64_t n = 0; n < 2 * p.voxels; n++)
                if (!(value_at(o.precision, twice, n) == -2 * value_at(o.precision, once, n)))
                    fail_msg("%s: value %lld: %.9g, then %.9g", describe(&o), (long long)n,
                             value_at(o.precision, once, n), value_at(o.precision, twice, n));
            vf_fourier_destroy(plan);
        }
        FREE_ALL(once, twice, scaled);
        free_problem(&p);
    }
}

/* A NaN among the values of one coil makes all of that coil's sums NaN, and does not affect the other's. */
static void test_nan(void **state)
{
    (void)state;
    vf_fourier_options o;
    for (int kind = 0; kind < 4; kind++) {
        problem p = random_problem(300, 33, 3, 3, 2, 10, kind);
        double *values = calloc((size_t)p.voxels * 4, sizeof *values);
        double *clean = calloc((size_t)p.voxels * 4, sizeof *clean);
        assert_true(values && clean);
        for (int index = 0; next_options(&index, &o);) {
            double kept = p.c[2 * 123];
            run(device, &p, &o, false, 0, p.voxels, clean);
            p.c[2 * 123] = NAN;
            run(device, &p, &o, false, 0, p.voxels, values);
            p.c[2 * 123] = kept;
            for (int64_t n = 0; n < 2 * p.voxels; n++) {
                assert_true(isnan(value_at(o.precision, values, n)));
                assert_true(value_at(o.precision, values, 2 * p.voxels + n) ==
                            value_at(o.precision, clean, 2 * p.voxels + n));
            }
        }
        free(values);
        free(clean);
        free_problem(&p);
    }
}

static void expect_refusal(const problem *p, int batch, const vf_fourier_options *o, const char *says)
{
    vf_fourier *plan;
    vf_fourier_samples samples = {p->samples, p->k, p->time};
    vf_fourier_voxels voxels = {p->on_grid ? &p->grid : NULL, p->voxels, p->positions, p->field};
    assert_int_equal(vf_fourier_create(device, &samples, &voxels, batch, o, &plan), VF_ERR_ARGUMENT);
    assert_null(plan);
    if (!strstr(vf_context_message(ctx), says))
        fail_msg("'%s' does not say '%s'", vf_context_message(ctx), says);
    vf_context_clear_error(ctx);
}

static void test_refusals(void **state)
{
    (void)state;
    problem grid = random_problem(5, 4, 4, 4, 1, 1, OFF_RESONANCE),
            list = random_problem(5, 4, 4, 4, 1, 1, AT_POSITIONS);
    problem p = grid;
    vf_fourier_options o = {.precision = VF_F32}, bad = o;
    bad.variant = "nonsense";
    expect_refusal(&p, 1, &bad, "nonsense");
    expect_refusal(&p, 0, &o, "batches of 0");
    bad = o;
    bad.precision = VF_C64;
    expect_refusal(&p, 1, &bad, "precision");
    p.grid.spacing[1] = NAN;
    expect_refusal(&p, 1, &o, "spacing");
    p = grid;
    p.grid.origin[2] = 100;
    expect_refusal(&p, 1, &o, "fields of view");
    p = grid;
    p.samples = -1;
    expect_refusal(&p, 1, &o, "-1 samples");
    grid.k[4] = NAN;
    expect_refusal(&grid, 1, &o, "sample 2");
    grid.k[4] = 1e5f;
    expect_refusal(&grid, 1, &o, "sample 2");
    grid.k[4] = 0;
    grid.field[7] = INFINITY;
    expect_refusal(&grid, 1, &o, "field map");
    grid.field[7] = 0;
    grid.time[1] = NAN;
    expect_refusal(&grid, 1, &o, "times");
    grid.time[1] = 0;
    list.positions[5] = NAN;
    expect_refusal(&list, 1, &o, "voxel 2");
    list.positions[5] = 65;
    expect_refusal(&list, 1, &o, "voxel 2");

    vf_queue *queue;
    vf_fourier *plan = make_plan(device, &grid, &o);
    assert_int_equal(vf_queue_create(device, &queue), VF_OK);
    assert_int_equal(vf_fourier_adjoint(plan, queue, 1, NULL, 60, 5, NULL), VF_ERR_ARGUMENT);
    assert_non_null(strstr(vf_context_message(ctx), "voxels 60 to 65"));
    vf_context_clear_error(ctx);
    assert_int_equal(vf_fourier_adjoint(plan, queue, 2, NULL, 0, 64, NULL), VF_ERR_ARGUMENT);
    assert_non_null(strstr(vf_context_message(ctx), "batch of 2"));
    vf_context_clear_error(ctx);
    assert_int_equal(vf_fourier_forward(plan, queue, 0, NULL, NULL), VF_ERR_ARGUMENT);
    vf_context_clear_error(ctx);
    vf_queue_destroy(queue);
    vf_fourier_destroy(plan);
    free_problem(&grid);
    free_problem(&list);
}

DEVICE_MAIN(set_up, tear_down, cmocka_unit_test(test_ranges_and_threads), cmocka_unit_test(test_positions_of_grid),
            cmocka_unit_test(test_adjointness), cmocka_unit_test(test_scaling), cmocka_unit_test(test_nan),
            cmocka_unit_test(test_refusals))
