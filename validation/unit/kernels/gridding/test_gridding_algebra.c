/* Properties of the NUFFT that do not need the direct sum: adjointness, linearity, batches, the same bits every
 * time, invalid arguments; and the plain gridding.
 *
 * usage: test_gridding_algebra DEVICE [TEST...]     (cpu, cuda; exit 77 if there is no such device)
 */
#include "free_all.h"
#include "gridding_fixture.h"

static const vf_nufft_options SINGLE = {.tolerance = 1e-4, .precision = VF_F32},
                              DOUBLE = {.tolerance = 1e-4, .precision = VF_F64};

static double complex inner(const double complex *a, const double complex *b, int64_t n)
{
    double complex sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += conj(a[i]) * b[i];
    return sum;
}

/* <F x, c> = <x, F^H c>. Both directions use the same kernel values. So they are adjoint up to rounding, not only up
 * to the tolerance. The rounding is that of test_gridding.c, below 200 u relative to the norms for these sizes and
 * sigma 1.5. */
static void check_adjoint(const problem *p, const vf_nufft_options *o)
{
    vf_nufft *plan = make_plan(p, o, 1);
    double complex *y = allocate((size_t)p->voxels, sizeof *y), *d = allocate((size_t)p->samples, sizeof *d);
    apply(plan, o->precision, true, 1, p->c, p->samples, y, p->voxels);
    apply(plan, o->precision, false, 1, p->x, p->voxels, d, p->samples);
    double complex left = inner(d, p->c, p->samples), right = inner(p->x, y, p->voxels);
    double bound = 200 * (o->precision == VF_F64 ? 0x1p-53 : 0x1p-24) * norm(d, p->samples) * norm(p->c, p->samples);
    if (!(cabs(left - right) <= bound))
        fail_msg("<Fx, c> = %.9g%+.9gi, <x, F^H c> = %.9g%+.9gi, allowed %.3g", creal(left), cimag(left), creal(right),
                 cimag(right), bound);
    assert_true(cabs(left) > 0);
    vf_nufft_destroy(plan);
    free(y);
    free(d);
}

static void test_adjoint(void **state)
{
    (void)state;
    int64_t shapes[][3] = {{24, 20, 18}, {48, 31, 1}, {100, 1, 1}};
    for (int i = 0; i < 6; i++) {
        problem p = random_problem(shapes[i / 2][0], shapes[i / 2][1], shapes[i / 2][2], 600, i % 2 == 1);
        vf_nufft_options o = i % 4 < 2 ? DOUBLE : SINGLE;
        o.oversampling = 1.5;
        check_adjoint(&p, &o);
        problem_free(&p);
    }
}

/* The same bits for any number of threads, and in a second run: the adjoint and the forward sum of the first run. */
static void check_same_bits(const problem *p, double complex *image)
{
    double complex *y = allocate((size_t)p->voxels, sizeof *y), *d[2];
    const int threads = vf_context_threads(ctx), numbers[] = {1, 2, 3, 16, 1};
    for (int i = 0; i < 2; i++)
        d[i] = allocate((size_t)p->samples, sizeof **d);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(vf_context_set_threads(ctx, numbers[i]), VF_OK);
        vf_nufft *plan = make_plan(p, &SINGLE, 1);
        apply(plan, VF_F32, true, 1, p->c, p->samples, i ? y : image, p->voxels);
        apply(plan, VF_F32, false, 1, p->x, p->voxels, d[i > 0], p->samples);
        vf_nufft_destroy(plan);
        assert_int_equal(vf_context_set_threads(ctx, threads), VF_OK);
        if (i > 0) {
            assert_memory_equal(y, image, (size_t)p->voxels * sizeof *y);
            assert_memory_equal(d[1], d[0], (size_t)p->samples * sizeof **d);
        }
    }
    FREE_ALL(y, d[0], d[1]);
}

/* Problems large enough for several threads: samples all over k-space, and dense at the centre as on spokes, where a
 * GPU splits the work of one place into pieces. Their sum is compared with the direct one. */
static void test_same_bits(void **state)
{
    (void)state;
    problem p = random_problem(72, 64, 60, 150000, false);
    double complex *image = allocate((size_t)p.voxels, sizeof *image);
    check_same_bits(&p, image);
    free(image);
    problem_free(&p);
    /* Dense everywhere: adjacent tiles in pieces, whose sums must not reach where another thread works. */
    p = random_problem(160, 40, 1, 300000, false);
    image = allocate((size_t)p.voxels, sizeof *image);
    check_same_bits(&p, image);
    free(image);
    problem_free(&p);
    /* A tile as long as the axis: the ends of its pieces overlap, some of which 16 threads sum at the same time. */
    const int64_t small[][3] = {{12, 12, 12}, {60, 12, 9}, {12, 48, 1}};
    for (int i = 0; i < 3; i++) {
        p = random_problem(small[i][0], small[i][1], small[i][2], 4000, false);
        image = allocate((size_t)p.voxels, sizeof *image);
        check_same_bits(&p, image);
        free(image);
        problem_free(&p);
    }
    p = random_problem(20, 18, 16, 40000, false);
    for (int64_t m = 0; m < p.samples; m++) {
        float r = (float)pow(uniform(), 3);
        for (int a = 0; a < 3; a++)
            p.k[3 * m + a] *= 0.25f * r;
    }
    image = allocate((size_t)p.voxels, sizeof *image);
    double complex *exact = allocate((size_t)p.voxels, sizeof *exact);
    check_same_bits(&p, image);
    direct_sum(&p, exact, NULL);
    assert_true(difference(image, exact, p.voxels, 0) <= SINGLE.tolerance);
    free(exact);
    free(image);
    problem_free(&p);
}

/* Terms of one sign, thousands on the same grid points, as in the centre of a radial scan: three quarters at k = 0,
 * the rest close by. The bound, u = 2^-24:
 *   aliasing   the tolerance is the root mean square over random positions. Here almost all have the same position,
 *              where the two nearest aliases of an axis may add (sqrt 2), and also the errors of three axes (sqrt
 *              3).
 *   sums       equal terms are rounded alike as long as their sum keeps its exponent. At worst, each of n roundings
 *              is off by u times the sum so far, n / 2 u in all. The truncated part differs evenly from grid point
 *              to grid point: n / (2 sqrt 3) u in the root mean square, and no more in voxels (A of test_gridding.c
 *              is near 1 for sigma 2). n: 512 terms of a piece, plus the number of pieces, 40.
 *   the rest   as in test_gridding.c with A = 1: 6 + 6 + 3 * 40 = 132 u.
 * If all 20000 were summed in one go, 5800 u would be allowed, and about 1100 u are found. */
static void test_dense_centre(void **state)
{
    (void)state;
    enum { SAMPLES = 20000, PIECE = 512 };
    problem p = random_problem(24, 24, 24, SAMPLES, false);
    const vf_nufft_options o = {.tolerance = 1e-6, .precision = VF_F32, .oversampling = 2};
    for (int64_t m = 0; m < SAMPLES; m++) {
        for (int a = 0; a < 3; a++)
            p.k[3 * m + a] = m % 4 ? 0 : (float)(uniform() - 0.5);
        p.c[m] = 1;
    }
    double complex *y = allocate((size_t)p.voxels, sizeof *y), *exact = allocate((size_t)p.voxels, sizeof *exact);
    direct_sum(&p, exact, NULL);
    vf_nufft *plan = make_plan(&p, &o, 1);
    apply(plan, o.precision, true, 1, p.c, p.samples, y, p.voxels);
    double error = difference(y, exact, p.voxels, 0), sums = (PIECE + SAMPLES / PIECE + 1) / (2 * sqrt(3));
    double bound = sqrt(6) * o.tolerance + (sums + 132) * 0x1p-24;
    if (!(error <= bound))
        fail_msg("relative error %.3g, allowed %.3g", error, bound);
    vf_nufft_destroy(plan);
    free(y);
    free(exact);
    problem_free(&p);
}

/* Each vector of a batch has the same bits as alone. */
static void test_batch(void **state)
{
    (void)state;
    enum { BATCH = 3 };
    problem p = random_problem(18, 14, 10, 300, true);
    vf_nufft *plan = make_plan(&p, &SINGLE, BATCH);
    size_t samples = (size_t)p.samples, voxels = (size_t)p.voxels;
    double complex *c = allocate(BATCH * samples, sizeof *c), *x = allocate(BATCH * voxels, sizeof *x);
    double complex *y = allocate(BATCH * voxels, sizeof *y), *d = allocate(BATCH * samples, sizeof *d);
    double complex *one = allocate(voxels + samples, sizeof *one);
    for (size_t i = 0; i < BATCH * samples; i++)
        c[i] = uniform() - 0.5;
    for (size_t i = 0; i < BATCH * voxels; i++)
        x[i] = uniform() - 0.5 + I * uniform();
    apply(plan, VF_F32, true, BATCH, c, p.samples, y, p.voxels);
    apply(plan, VF_F32, false, BATCH, x, p.voxels, d, p.samples);
    for (size_t b = 0; b < BATCH; b++) {
        apply(plan, VF_F32, true, 1, c + b * samples, p.samples, one, p.voxels);
        assert_memory_equal(one, y + b * voxels, voxels * sizeof *one);
        apply(plan, VF_F32, false, 1, x + b * voxels, p.voxels, one, p.samples);
        assert_memory_equal(one, d + b * samples, samples * sizeof *one);
    }
    vf_nufft_destroy(plan);
    FREE_ALL(c, x, y, d, one);
    problem_free(&p);
}

/* F^H (a c + b d) = a F^H c + b F^H d, up to rounding, as for adjointness. */
static void test_linear(void **state)
{
    (void)state;
    problem p = random_problem(30, 22, 1, 500, false);
    vf_nufft_options o = DOUBLE;
    o.oversampling = 2;
    vf_nufft *plan = make_plan(&p, &o, 1);
    double complex a = 0.7 - 2 * I, b = -1.3 + 0.1 * I;
    double complex *d = allocate((size_t)p.samples, sizeof *d), *sum = allocate((size_t)p.samples, sizeof *sum);
    double complex *y[3];
    for (int64_t m = 0; m < p.samples; m++) {
        d[m] = uniform() + I * uniform();
        sum[m] = a * p.c[m] + b * d[m];
    }
    const double complex *in[3] = {p.c, d, sum};
    for (int i = 0; i < 3; i++) {
        y[i] = allocate((size_t)p.voxels, sizeof **y);
        apply(plan, VF_F64, true, 1, in[i], p.samples, y[i], p.voxels);
    }
    for (int64_t n = 0; n < p.voxels; n++)
        y[0][n] = a * y[0][n] + b * y[1][n];
    assert_true(difference(y[0], y[2], p.voxels, 0) <= 200 * 0x1p-53);
    for (int i = 0; i < 3; i++)
        free(y[i]);
    free(d);
    free(sum);
    vf_nufft_destroy(plan);
    problem_free(&p);
}

/* ---- plain bilinear gridding ---- */

static void test_bilinear(void **state)
{
    (void)state;
    enum { NX = 12, NY = 9, SAMPLES = NX * NY };
    problem p = random_problem(NX, NY, 1, SAMPLES, false);
    vf_nufft_samples samples = {.count = SAMPLES, .k = p.k};
    double complex y[SAMPLES], c[SAMPLES] = {0};
    /* Samples on the grid: the inverse transform of the image's transform is the image. */
    for (int m = 0; m < SAMPLES; m++) {
        p.k[3 * m] = (float)(m % NX - NX / 2);
        p.k[3 * m + 1] = (float)(m / NX - NY / 2);
    }
    p.vectors = 1;
    direct_sum(&p, NULL, c);
    if (vf_bilinear_gridding(ctx, p.matrix, &samples, VF_C128, c, y) != VF_OK)
        fail_msg("%s", vf_context_message(ctx));
    assert_true(difference(y, p.x, SAMPLES, 0) <= 1e-13);
    /* One sample between points: all four get its value, with any weights. */
    samples.count = 1;
    p.k[0] = 2.25f;
    p.k[1] = -4.6f;
    c[0] = 3 - I;
    memset(y, 0xff, sizeof y);
    assert_int_equal(vf_bilinear_gridding(ctx, p.matrix, &samples, VF_C128, c, y), VF_OK);
    double complex exact[SAMPLES] = {0};
    float corners[4 * 3] = {2, -5, 0, 3, -5, 0, 2, -4, 0, 3, -4, 0};
    problem four = p;
    four.samples = 4;
    four.k = corners;
    for (int i = 0; i < 4; i++)
        four.c[i] = c[0] / SAMPLES;
    direct_sum(&four, exact, NULL);
    assert_true(difference(y, exact, SAMPLES, 0) <= 1e-13);
    problem_free(&p);
}

/* ---- new samples for a plan ---- */

static vf_nufft_samples samples_of(const problem *p)
{
    return (vf_nufft_samples){.count = p->samples, .k = p->k, .time = p->time, .exact = p->exact};
}

/* Checks that two plans give the same bits. */
static void check_same(vf_nufft *plan, vf_nufft *other, const problem *p, const vf_nufft_options *o)
{
    double complex *y[2], *d[2];
    for (int i = 0; i < 2; i++) {
        y[i] = allocate((size_t)p->voxels, sizeof **y);
        d[i] = allocate((size_t)p->samples, sizeof **d);
        apply(i ? other : plan, o->precision, true, 1, p->c, p->samples, y[i], p->voxels);
        apply(i ? other : plan, o->precision, false, 1, p->x, p->voxels, d[i], p->samples);
    }
    assert_memory_equal(y[0], y[1], (size_t)p->voxels * sizeof **y);
    assert_memory_equal(d[0], d[1], (size_t)p->samples * sizeof **d);
    assert_true(p->samples == 0 || norm(y[0], p->voxels) > 0); /* false for NaN */
    for (int i = 0; i < 2; i++) {
        free(y[i]);
        free(d[i]);
    }
}

/* Checks that `plan`, whose samples are those of p, gives the same bits as a new plan. */
static void check_as_new(vf_nufft *plan, const problem *p, const vf_nufft_options *o)
{
    vf_nufft *fresh = make_plan(p, o, 1);
    vf_nufft_info info[2];
    check_same(plan, fresh, p, o);
    vf_nufft_get_info(plan, &info[0]);
    vf_nufft_get_info(fresh, &info[1]);
    assert_int_equal(info[0].segments, info[1].segments);
    assert_int_equal(info[0].bytes, info[1].bytes);
    vf_nufft_destroy(fresh);
}

/* The same number of samples, fewer, more, none, a dense centre (tiles in pieces, which need their own memory), and
 * the first ones again. */
static void test_other_samples(void **state)
{
    (void)state;
    enum { SETS = 6 };
    static const int64_t counts[SETS] = {700, 700, 90, 30000, 0, 700};
    for (int way = 0; way < 4; way++) {
        vf_nufft_options o = way & 1 ? DOUBLE : SINGLE;
        o.oversampling = 1.5; /* otherwise a new plan might choose another grid */
        vf_nufft *plan = NULL;
        problem first = {0};
        for (int i = 0; i < SETS; i++) {
            problem p = random_problem(30, 24, 20, counts[i], way & 2);
            for (int64_t m = 0; counts[i] > 1000 && m < 3 * p.samples; m++)
                p.k[m] *= 0.05f;
            if (first.field)
                memcpy(p.field, first.field, (size_t)p.voxels * sizeof *p.field);
            const vf_nufft_samples samples = samples_of(&p);
            if (i == 0)
                plan = make_plan(&p, &o, 1);
            else if (vf_nufft_set_samples(plan, &samples, p.field) != VF_OK)
                fail_msg("%s", vf_context_message(ctx));
            check_as_new(plan, &p, &o);
            if (i == 0)
                first = p;
            else
                problem_free(&p);
        }
        vf_nufft_destroy(plan);
        problem_free(&first);
    }
}

/* The numbers of single precision in double precision give the same bits; a plan takes either in turn. */
static void test_double_positions(void **state)
{
    (void)state;
    for (int way = 0; way < 6; way++) {
        const vf_nufft_options o = way & 1 ? DOUBLE : SINGLE;
        const bool dense = way > 3;
        problem p = random_problem(30, 24, dense ? 20 : 1, dense ? 30000 : 700, way & 2);
        for (int64_t m = 0; dense && m < 3 * p.samples; m++)
            p.k[m] *= 0.05f;
        vf_nufft *plan = make_plan(&p, &o, 1);
        double *exact = allocate((size_t)p.samples * 3, sizeof *exact);
        for (int64_t m = 0; m < 3 * p.samples; m++)
            exact[m] = p.k[m];
        const vf_nufft_samples samples = {.count = p.samples, .exact = exact, .time = p.time};
        if (vf_nufft_set_samples(plan, &samples, p.field) != VF_OK)
            fail_msg("%s", vf_context_message(ctx));
        p.exact = exact;
        check_as_new(plan, &p, &o); /* both in double precision */
        p.exact = NULL;
        vf_nufft *single = make_plan(&p, &o, 1);
        check_same(plan, single, &p, &o);
        vf_nufft_destroy(single);
        exact[3 * (p.samples / 2) + way % 2] = way < 3 ? NAN : -INFINITY;
        assert_int_equal(vf_nufft_set_samples(plan, &samples, p.field), VF_ERR_ARGUMENT);
        assert_non_null(strstr(vf_context_message(ctx), "must be finite"));
        vf_context_clear_error(ctx);
        vf_nufft_destroy(plan);
        free(exact);
        problem_free(&p);
    }
}

/* Invalid samples leave the plan unchanged. */
static void test_other_samples_refused(void **state)
{
    (void)state;
    for (int off_resonance = 0; off_resonance < 2; off_resonance++) {
        problem p = random_problem(16, 12, 1, 200, off_resonance);
        float k[3] = {NAN, 0, 0}, fine[3] = {0}, time_of[1] = {NAN}, field[192] = {0};
        const vf_nufft_samples wrong = {.count = 1, .k = k, .time = p.time}, negative = {.count = -1, .k = k};
        const vf_nufft_samples good = {.count = 1, .k = fine}, late = {.count = 1, .k = fine, .time = time_of};
        vf_nufft *plan = make_plan(&p, &SINGLE, 1);
        const float *other = off_resonance ? NULL : field;
        assert_int_equal(vf_nufft_set_samples(plan, &wrong, p.field), VF_ERR_ARGUMENT);
        assert_int_equal(vf_nufft_set_samples(plan, &negative, p.field), VF_ERR_ARGUMENT);
        assert_int_equal(vf_nufft_set_samples(plan, &good, other), VF_ERR_ARGUMENT);
        if (off_resonance) {
            assert_int_equal(vf_nufft_set_samples(plan, &good, p.field), VF_ERR_ARGUMENT); /* no times */
            assert_int_equal(vf_nufft_set_samples(plan, &late, p.field), VF_ERR_ARGUMENT);
        }
        vf_context_clear_error(ctx);
        check_as_new(plan, &p, &SINGLE);
        vf_nufft_destroy(plan);
        problem_free(&p);
    }
}

/* ---- invalid arguments ---- */

static void refuse(const int64_t matrix[3], const vf_nufft_samples *samples, int batch, vf_nufft_options o,
                   const char *word)
{
    vf_nufft *plan = (vf_nufft *)&o;
    assert_int_equal(vf_nufft_create(device, matrix, samples, batch, &o, &plan), VF_ERR_ARGUMENT);
    assert_null(plan);
    if (!strstr(vf_context_message(ctx), word))
        fail_msg("'%s' does not say '%s'", vf_context_message(ctx), word);
    vf_context_clear_error(ctx);
}

static void test_refusals(void **state)
{
    (void)state;
    float k[6] = {1, 2, 3, 4, NAN, 6}, field[64] = {0}, time_of[2] = {0, 1};
    int64_t cube[3] = {4, 4, 4}, flat[3] = {4, 1, 4}, empty[3] = {4, 0, 4}, huge[3] = {4, 4, 1 << 20};
    vf_nufft_samples one = {.count = 1, .k = k}, two = {.count = 2, .k = k}, negative = {.count = -1, .k = k};
    vf_nufft *plan = NULL;
    refuse(cube, &two, 1, SINGLE, "sample 2");
    assert_int_equal(vf_nufft_create(device, flat, &two, 1, &SINGLE, &plan), VF_OK); /* ky is ignored there */
    vf_nufft_destroy(plan);
    refuse(empty, &one, 1, SINGLE, "matrix");
    refuse(huge, &one, 1, SINGLE, "matrix");
    refuse(cube, &negative, 1, SINGLE, "-1 samples");
    refuse(cube, &one, 0, SINGLE, "batches");
    refuse(cube, &one, 1, (vf_nufft_options){.tolerance = 1e-8, .precision = VF_F32}, "tolerance");
    refuse(cube, &one, 1, (vf_nufft_options){.tolerance = NAN, .precision = VF_F64}, "tolerance");
    refuse(cube, &one, 1, (vf_nufft_options){.tolerance = 1e-13, .precision = VF_F64}, "tolerance");
    refuse(cube, &one, 1, (vf_nufft_options){.tolerance = 1e-3, .precision = VF_C64}, "precision");
    refuse(cube, &one, 1, (vf_nufft_options){.tolerance = 1e-3, .oversampling = 1.1}, "oversampling");
    refuse(cube, &one, 1, (vf_nufft_options){.tolerance = 1e-3, .oversampling = NAN}, "oversampling");
    refuse(cube, &one, 1, (vf_nufft_options){.tolerance = 1e-3, .field = field}, "times");
    one.time = time_of;
    field[5] = INFINITY;
    refuse(cube, &one, 1, (vf_nufft_options){.tolerance = 1e-3, .field = field}, "voxel 6");
    field[5] = 0;
    time_of[0] = NAN;
    refuse(cube, &one, 1, (vf_nufft_options){.tolerance = 1e-3, .field = field}, "time of sample 1");
}

/* Threads share the check: one position that is not finite is found wherever it is, by a new plan and by an old one. */
static void test_one_wrong_among_many(void **state)
{
    (void)state;
    enum { COUNT = 3000000 }; /* enough for several threads */
    const int64_t matrix[3] = {16, 1, 16}, at[] = {0, COUNT - 1, (int64_t)(uniform() * COUNT)};
    float *k = allocate(3 * COUNT, sizeof *k);
    const vf_nufft_samples few = {.count = 1, .k = k}, many = {.count = COUNT, .k = k};
    vf_nufft *plan = NULL;
    assert_int_equal(vf_nufft_create(device, matrix, &few, 1, &SINGLE, &plan), VF_OK);
    for (int i = 0; i < 3; i++) {
        char word[40];
        snprintf(word, sizeof word, "sample %lld is", (long long)at[i] + 1);
        k[3 * at[i] + 2 * (i % 2)] = i < 2 ? NAN : INFINITY;
        refuse(matrix, &many, 1, SINGLE, word);
        assert_int_equal(vf_nufft_set_samples(plan, &many, NULL), VF_ERR_ARGUMENT);
        assert_non_null(strstr(vf_context_message(ctx), word));
        vf_context_clear_error(ctx);
        k[3 * at[i] + 2 * (i % 2)] = 0;
    }
    vf_nufft_destroy(plan);
    free(k);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_adjoint),
    cmocka_unit_test(test_same_bits),
    cmocka_unit_test(test_batch),
    cmocka_unit_test(test_dense_centre),
    cmocka_unit_test(test_linear),
    cmocka_unit_test(test_bilinear),
    cmocka_unit_test(test_refusals),
    cmocka_unit_test(test_one_wrong_among_many),
    cmocka_unit_test(test_other_samples),
    cmocka_unit_test(test_double_positions),
    cmocka_unit_test(test_other_samples_refused),
};

int main(int argc, char **argv)
{
    return run_on_device(argc, argv, tests, NULL, NULL);
}
