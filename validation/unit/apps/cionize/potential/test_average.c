/* The mean of the potential over a trajectory and its deviation, on fresh random molecules and trajectories: against
 * a plain double-precision reference, against maps of single frames, and for bits that are always the same.
 *
 * usage: test_average DEVICE [TEST...]     (cpu, cpu:0,1, cuda, ...; exit 77 if there is no such device)
 */
#include "device_fixture.h"

#include "apps/cionize/trajectory/dcd_fixture.h"
#include "potential/average.h"

static const char *devices; /* the command line's */

enum { ATOMS = 23, FRAMES = 11 };

/* A molecule, its trajectory, and a grid around it. */
typedef struct problem {
    dcd_sample sample;
    trajectory *t;
    double charge[ATOMS], xyz[3][ATOMS];
    molecule mol;
    vf_grid grid;
    int64_t points;
    cionize_settings settings;
} problem;

static void free_problem(problem *p)
{
    trajectory_close(p->t);
    free_dcd(&p->sample);
    free(p);
}

static void reopen(problem *p)
{
    trajectory_close(p->t);
    save(p->sample.path, p->sample.bytes, p->sample.size);
    if (trajectory_open(ctx, p->sample.path, &p->t) != VF_OK)
        fail_msg("%s", vf_context_message(ctx));
}

static problem *random_problem(vf_dtype precision)
{
    problem *p = calloc(1, sizeof *p);
    assert_non_null(p);
    const dcd_kind kind = {.marker = 4, .version = 24, .cell = uniform() < 0.5, .fixed = (int32_t)(uniform() * 9)};
    p->sample = make_dcd(kind, ATOMS, FRAMES, 30);
    p->mol = (molecule){.atoms = ATOMS, .x = p->xyz[0], .y = p->xyz[1], .z = p->xyz[2], .charge = p->charge};
    for (int i = 0; i < ATOMS; i++) {
        p->charge[i] = 2 * uniform() - 1;
        for (int a = 0; a < 3; a++) /* from the molecule's file: not used for the average */
            p->xyz[a][i] = 30 * uniform();
    }
    p->grid = (vf_grid){.counts = {66 + (int64_t)(uniform() * 10), 5 + (int64_t)(uniform() * 9), 17}};
    for (int a = 0; a < 3; a++) {
        p->grid.spacing[a] = 0.4 + 0.1 * uniform();
        p->grid.origin[a] = -0.5 * p->grid.spacing[a] * (double)p->grid.counts[a] + uniform();
    }
    p->points = vf_grid_points(&p->grid);
    p->settings = (cionize_settings){.unit = "kT/e",
                                     .temperature = 298.15,
                                     .dielectric = 1,
                                     .r_min = 0.5,
                                     .precision = precision,
                                     .device = devices,
                                     .quiet = true};
    reopen(p);
    return p;
}

static potential_plan make_plan(const problem *p, map_order order)
{
    potential_plan plan;
    if (potential_prepare(ctx, &p->settings, &p->mol, &p->grid, order, 1, &plan) != VF_OK)
        fail_msg("%s", vf_context_message(ctx));
    return plan;
}

/* ---- maps, as a sink receives them ---- */

typedef struct maps {
    const problem *p;
    map_order order;
    int64_t layers; /* so far */
    int64_t fail_at;
    void *mean, *deviation;
    double part; /* of the work that was said to be done */
} maps;

static maps new_maps(const problem *p, map_order order)
{
    const size_t bytes = (size_t)p->points * vf_dtype_bytes(p->settings.precision);
    maps m = {.p = p, .order = order, .fail_at = -1, .mean = malloc(bytes), .deviation = malloc(bytes)};
    assert_true(m.mean && m.deviation);
    memset(m.mean, 0xff, bytes); /* NaN */
    memset(m.deviation, 0xff, bytes);
    return m;
}

static void free_maps(maps *m)
{
    free(m->mean);
    free(m->deviation);
}

static vf_status take(void *user, int64_t first, int64_t count, const void *mean, const void *deviation)
{
    maps *m = user;
    const int axis = m->order == MAP_Z_FASTEST ? 0 : 2;
    const int64_t layer = m->p->points / m->p->grid.counts[axis];
    const size_t bytes = vf_dtype_bytes(m->p->settings.precision), at = (size_t)(first * layer) * bytes;
    if (first != m->layers || count < 1 || first + count > m->p->grid.counts[axis])
        return vf_fail(ctx, VF_ERR_INTERNAL, "layers %lld + %lld after %lld", (long long)first, (long long)count,
                       (long long)m->layers);
    if (m->fail_at >= 0 && first + count > m->fail_at)
        return vf_fail(ctx, VF_ERR_OUTPUT, "the disk is full");
    memcpy((char *)m->mean + at, mean, (size_t)(count * layer) * bytes);
    if (deviation)
        memcpy((char *)m->deviation + at, deviation, (size_t)(count * layer) * bytes);
    m->layers += count;
    return VF_OK;
}

/* It grows from call to call. */
static void show(void *user, double part)
{
    maps *m = user;
    assert_true(part > m->part && part <= 1);
    m->part = part;
}

static vf_status take_potential(void *user, int64_t first, int64_t count, const void *values)
{
    return take(user, first, count, values, NULL);
}

static vf_status run_average(const problem *p, const frame_selection *f, const potential_plan *plan, maps *m)
{
    return average_compute(ctx, &p->mol, p->t, f, plan, take, show, m);
}

static maps average(const problem *p, const frame_selection *f, const potential_plan *plan)
{
    maps m = new_maps(p, plan->order);
    if (run_average(p, f, plan, &m) != VF_OK)
        fail_msg("%s", vf_context_message(ctx));
    assert_true(m.part == 1);
    assert_int_equal(m.layers, plan->cut.layers);
    return m;
}

static double value(const problem *p, const void *map, int64_t i)
{
    return p->settings.precision == VF_F64 ? ((const double *)map)[i] : (double)((const float *)map)[i];
}

/* Plans that split the work differently: 0 default (small work: one slab); 1 long work, many slabs; 2 single layers.
 */
static potential_plan cut_plan(const problem *p, map_order order, int cut)
{
    potential_plan plan = make_plan(p, order);
    if (cut > 0)
        plan.seconds = 1e6;
    if (cut > 1)
        plan.cut.unit = 1;
    return plan;
}

static frame_selection random_selection(void)
{
    frame_selection f = {.first = (int64_t)(uniform() * FRAMES), .step = 1 + (int64_t)(uniform() * 3)};
    f.count = 1 + (int64_t)(uniform() * (double)((FRAMES - 1 - f.first) / f.step + 1));
    return f;
}

/* ---- against a plain reference ---- */

/* The potential of a frame at a grid point, in kT/e, and the sum of the terms' magnitudes. */
static double reference(const problem *p, int64_t frame, const double r[3], double *size)
{
    const double scale = potential_constant("kT/e", 298.15);
    double sum = 0;
    *size = 0;
    for (int i = 0; i < ATOMS; i++) {
        double d = 0;
        for (int a = 0; a < 3; a++) {
            const double step = r[a] - (double)p->sample.xyz[a][frame * ATOMS + i];
            d += step * step;
        }
        const double term = scale * p->charge[i] / fmax(sqrt(d), p->settings.r_min);
        sum += term;
        *size += fabs(term);
    }
    return sum;
}

/* A value has an error of at most e = eps (ATOMS + 8 + 8 D / r_min) of the sum of its terms' magnitudes: the sums of
 * ATOMS terms, some units in the last place for the root, and positions relative to a block's centre, at most D = 60
 * angstrom away, with errors of eps D in three coordinates, relative to r >= r_min. The mean of values with errors
 * of at most e has such an error, too. So has the deviation: it is a norm of the distances from the mean, a
 * projection. */
static void check_against_reference(vf_dtype precision, map_order order, int cut)
{
    problem *p = random_problem(precision);
    const potential_plan plan = cut_plan(p, order, cut);
    const frame_selection f = random_selection();
    maps m = average(p, &f, &plan);
    const double eps = precision == VF_F64 ? 0x1p-52 : 0x1p-23, error = eps * (ATOMS + 8 + 8 * 60 / p->settings.r_min);
    const int64_t nx = p->grid.counts[0], ny = p->grid.counts[1], nz = p->grid.counts[2];
    for (int64_t n = 0; n < p->points; n++) {
        const int64_t at[3] = {order == MAP_Z_FASTEST ? n / (ny * nz) : n % nx,
                               order == MAP_Z_FASTEST ? n / nz % ny : n / nx % ny,
                               order == MAP_Z_FASTEST ? n % nz : n / (nx * ny)};
        double r[3], v[FRAMES], mean = 0, squares = 0, most = 0;
        for (int a = 0; a < 3; a++)
            r[a] = p->grid.origin[a] + p->grid.spacing[a] * (double)at[a];
        for (int64_t k = 0; k < f.count; k++) {
            double size;
            v[k] = reference(p, f.first + k * f.step, r, &size);
            mean += v[k] / (double)f.count;
            most = fmax(most, size);
        }
        for (int64_t k = 0; k < f.count; k++)
            squares += (v[k] - mean) * (v[k] - mean) / (double)f.count;
        if (!(fabs(value(p, m.mean, n) - mean) <= error * most) ||
            !(fabs(value(p, m.deviation, n) - sqrt(squares)) <= error * most))
            fail_msg("point %lld: %.9g +- %.9g for %.9g +- %.9g, limit %g", (long long)n, value(p, m.mean, n),
                     value(p, m.deviation, n), mean, sqrt(squares), error * most);
    }
    free_maps(&m);
    free_problem(p);
}

static void test_reference(void **state)
{
    (void)state;
    for (int kind = 0; kind < 12; kind++)
        check_against_reference(kind & 1 ? VF_F64 : VF_F32, kind & 2 ? MAP_Z_FASTEST : MAP_X_FASTEST, kind / 4);
}

/* ---- against maps of single frames ---- */

static maps map_of_frame(problem *p, int64_t frame, const potential_plan *plan)
{
    int64_t done[8];
    maps m = new_maps(p, plan->order);
    assert_int_equal(trajectory_read(p->t, frame, p->mol.x, p->mol.y, p->mol.z), VF_OK);
    assert_true(vf_context_device_count(ctx) <= 8);
    if (potential_compute(ctx, &p->mol, plan, take_potential, &m, done) != VF_OK)
        fail_msg("%s", vf_context_message(ctx));
    return m;
}

/* The accumulators alone: with the same values of each frame, mean and deviation in long double. In double, each
 * frame adds an error of 3 u: for the mean, of the largest value; for the sum of squares, relative and times kappa
 * (average.h). For its root, the deviation, the error is at most n 3 u / 2 sqrt(mean^2 + deviation^2). Then the
 * result is rounded to the map's type. */
static void check_against_frames(vf_dtype precision, map_order order)
{
    problem *p = random_problem(precision);
    const potential_plan plan = cut_plan(p, order, 1);
    const frame_selection f = {.first = 0, .step = 1, .count = FRAMES};
    maps m = average(p, &f, &plan), one[FRAMES];
    for (int64_t k = 0; k < FRAMES; k++)
        one[k] = map_of_frame(p, k, &plan);
    const double sums = 3 * FRAMES * 0x1p-53, type = precision == VF_F64 ? 0x1p-53 : 0x1p-24;
    for (int64_t n = 0; n < p->points; n++) {
        long double mean = 0, squares = 0, most = 0;
        for (int k = 0; k < FRAMES; k++) {
            const long double v = (long double)value(p, one[k].mean, n);
            mean += v / FRAMES;
            most = fabsl(v) > most ? fabsl(v) : most;
        }
        for (int k = 0; k < FRAMES; k++) {
            const long double d = (long double)value(p, one[k].mean, n) - mean;
            squares += d * d / FRAMES;
        }
        const double expected = (double)mean, deviation = (double)sqrtl(squares);
        const double limit = (sums + 0x1p-53) * (double)most;
        if (!(fabs(value(p, m.mean, n) - expected) <= limit + type * fabs(expected)) ||
            !(fabs(value(p, m.deviation, n) - deviation) <= 2 * limit + type * deviation))
            fail_msg("point %lld: %.17g +- %.17g for %.17g +- %.17g", (long long)n, value(p, m.mean, n),
                     value(p, m.deviation, n), expected, deviation);
    }
    for (int k = 0; k < FRAMES; k++)
        free_maps(&one[k]);
    free_maps(&m);
    free_problem(p);
}

static void test_frames(void **state)
{
    (void)state;
    for (int kind = 0; kind < 4; kind++)
        check_against_frames(kind & 1 ? VF_F64 : VF_F32, kind & 2 ? MAP_Z_FASTEST : MAP_X_FASTEST);
}

/* The mean of equal values is that value, and their deviation is 0, to the bit: for one frame, and for equal frames.
 */
static void test_equal_frames(void **state)
{
    (void)state;
    for (int equal = 0; equal < 2; equal++) {
        problem *p = random_problem(VF_F32);
        if (equal) {
            p->sample.size = p->sample.begin;
            for (int64_t k = 0; k < FRAMES; k++) {
                for (int a = 0; a < 3; a++)
                    memmove(p->sample.xyz[a] + k * ATOMS, p->sample.xyz[a], ATOMS * sizeof(float));
                put_frame(&p->sample, k);
            }
            reopen(p);
        }
        const potential_plan plan = cut_plan(p, MAP_X_FASTEST, 1);
        const frame_selection f = {
            .first = equal ? 0 : (int64_t)(uniform() * FRAMES), .step = 1, .count = equal ? FRAMES : 1};
        maps m = average(p, &f, &plan), one = map_of_frame(p, f.first, &plan);
        assert_memory_equal(m.mean, one.mean, (size_t)p->points * sizeof(float));
        for (int64_t n = 0; n < p->points; n++)
            assert_true(value(p, m.deviation, n) == 0);
        free_maps(&m);
        free_maps(&one);
        free_problem(p);
    }
}

/* ---- bits ---- */

static void assert_same(const problem *p, const maps *a, const maps *b)
{
    const size_t bytes = (size_t)p->points * vf_dtype_bytes(p->settings.precision);
    assert_memory_equal(a->mean, b->mean, bytes);
    assert_memory_equal(a->deviation, b->deviation, bytes);
}

/* Any number of threads, any split; on the CPU also one device or two, of which one may fail. */
static void test_bits(void **state)
{
    (void)state;
    const bool host = vf_device_is_host(vf_context_device(ctx, 0)); /* `device` no longer exists: plans choose again */
    const int threads = vf_context_threads(ctx);
    for (int kind = 0; kind < 4; kind++) {
        problem *p = random_problem(kind & 1 ? VF_F64 : VF_F32);
        const map_order order = kind & 2 ? MAP_Z_FASTEST : MAP_X_FASTEST;
        const frame_selection f = {.first = 1, .step = 1, .count = FRAMES - 1};
        potential_plan plan = cut_plan(p, order, 0);
        maps first = average(p, &f, &plan);
        for (int trial = 0; trial < 6; trial++) {
            const bool fails = host && trial == 5;
            bool failed = false;
            assert_int_equal(vf_context_set_threads(ctx, 1 + trial % 3), VF_OK);
            p->settings.device = !host ? devices : trial % 2 ? "cpu:0,1" : "cpu";
            plan = cut_plan(p, order, trial / 2);
            if (fails)
                setenv("VOXFIELD_SIMULATE_FAILURE", "cpu:1@1", 1);
            /* On a busy machine the second device may find no work left and never fail. */
            for (int attempt = 0; attempt < (fails ? 20 : 1) && !failed; attempt++) {
                maps again = average(p, &f, &plan);
                failed = fails && vf_device_failure(vf_context_device(ctx, 1));
                assert_same(p, &first, &again);
                free_maps(&again);
            }
            unsetenv("VOXFIELD_SIMULATE_FAILURE");
            assert_int_equal(failed, fails);
        }
        assert_int_equal(vf_context_set_threads(ctx, threads), VF_OK);
        free_maps(&first);
        free_problem(p);
    }
    assert_int_equal(vf_context_set_devices(ctx, devices), VF_OK);
}

/* ---- invalid input ---- */

static void assert_fails(problem *p, const frame_selection *f, int64_t fail_at, vf_status status, const char *why)
{
    const potential_plan plan = cut_plan(p, MAP_X_FASTEST, 1);
    maps m = new_maps(p, MAP_X_FASTEST);
    m.fail_at = fail_at;
    const vf_status got = run_average(p, f, &plan, &m);
    if (got != status || !strstr(vf_context_message(ctx), why))
        fail_msg("%s, not %s with '%s': %s", vf_status_name(got), vf_status_name(status), why, vf_context_message(ctx));
    vf_context_clear_error(ctx);
    free_maps(&m);
}

static void test_errors(void **state)
{
    (void)state;
    const frame_selection all = {.first = 0, .step = 1, .count = FRAMES};
    static const frame_selection absent[] = {{0, 1, FRAMES + 1}, {FRAMES, 1, 1}, {-1, 1, 1},       {0, 1, 0},
                                             {0, 0, 1},          {1, 2, 6},      {0, INT64_MAX, 2}};
    problem *p = random_problem(VF_F32);
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
        assert_fails(p, &absent[i], -1, VF_ERR_ARGUMENT, "do not exist; the file has 11");
    p->mol.atoms--;
    assert_fails(p, &all, -1, VF_ERR_INPUT, "frames have 23 atoms, but the molecule has 22");
    p->mol.atoms++;
    assert_fails(p, &all, 9, VF_ERR_OUTPUT, "the disk is full");
    /* y of the first atom that frame 7 has */
    dcd_sample *s = &p->sample;
    const size_t axis = 8 + 4 * (size_t)(ATOMS - s->kind.fixed);
    const size_t at = s->begin + s->first + 5 * s->each + (s->kind.cell ? 56 : 0) + axis + 4, size = s->size;
    static const float bad[] = {NAN, -1.5e6f};
    for (int i = 0; i < 2; i++) {
        char says[64];
        snprintf(says, sizeof says, i == 0 ? "frame 7: y of atom %d is NaN" : "frame 7: y of atom %d is -1.5e+06",
                 s->index[0]);
        s->size = at;
        put_float(s, bad[i]);
        s->size = size;
        reopen(p);
        assert_fails(p, &all, -1, VF_ERR_INPUT, says);
        const frame_selection before = {.first = 0, .step = 1, .count = 6}; /* must stay unchanged */
        const potential_plan plan = make_plan(p, MAP_X_FASTEST);
        maps m = average(p, &before, &plan);
        free_maps(&m);
    }
    free_problem(p);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_reference), cmocka_unit_test(test_frames),
                                       cmocka_unit_test(test_equal_frames), cmocka_unit_test(test_bits),
                                       cmocka_unit_test(test_errors)};
    devices = argc > 1 ? argv[1] : "cpu";
    return run_on_device(argc, argv, tests, NULL, NULL);
}
