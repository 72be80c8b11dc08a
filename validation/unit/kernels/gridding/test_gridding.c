/* The NUFFT against the direct sum, for every supported tolerance, on fresh random input.
 *
 * usage: test_gridding DEVICE [TEST...]     (cpu, cuda; exit 77 if there is no such device)
 *
 * The bound on the relative error in the l2 norm is the tolerance (for the plan, the root mean square over random
 * positions) plus rounding. u is the unit roundoff (2^-24, 2^-53):
 *   of the grid's values: this is noise over all frequencies. Dividing by the kernel's transform amplifies it where
 *     the transform is small. For an axis: A = (kernel's l2 norm) (rms over the image of 1 / transform), near 1 for
 *     sigma 2 and beyond 30 for 1.25; axes multiply. Products, sums and log2(points) stages of the transform are
 *     about 30 roundings, whose errors add as squares: 6 u prod A.
 *   of the kernel's values: a polynomial of degree 3 to 16 by Horner's scheme, about 15 u of the largest value, and
 *     its transform by quadrature with about 100 terms, 25 u. An axis's errors meet exact kernels along the others:
 *     40 u sum A.
 *   everything else (scaling, rounding of the input): 6 u.
 */
#include "gridding_fixture.h"
#include "gridding_locate.h"
#include "gridding_simd.h"

static double kernel_value(const vf_nufft_info *info, double x)
{
    double t = 2 * x / info->width;
    return exp(info->beta * (sqrt(fmax(0, 1 - t * t)) - 1));
}

/* A of the head of the file, by sums over midpoints, which are accurate enough for a bound. */
static double amplification(const vf_nufft_info *info, int64_t voxels, int64_t grid)
{
    enum { STEPS = 500, FREQUENCIES = 32 };
    double values[STEPS], squares = 0, inverse = 0;
    const double step = info->width / (double)STEPS;
    for (int i = 0; i < STEPS; i++) {
        values[i] = kernel_value(info, (i + 0.5) * step - 0.5 * info->width);
        squares += values[i] * values[i] * step;
    }
    for (int f = 0; f < FREQUENCIES; f++) {
        const double xi = 0.5 * (f + 0.5) / FREQUENCIES * (double)voxels / (double)grid;
        double sum = 0;
        for (int i = 0; i < STEPS / 2; i++) /* both halves are alike */
            sum += 2 * values[i] * cos(2 * M_PI * xi * ((i + 0.5) * step - 0.5 * info->width)) * step;
        inverse += 1 / (sum * sum) / FREQUENCIES;
    }
    return sqrt(squares * inverse);
}

static double rounding(const vf_nufft_options *o, const vf_nufft *plan, const problem *p)
{
    vf_nufft_info info;
    vf_nufft_get_info(plan, &info);
    double product = 1, sum = 0;
    for (int a = 0; a < 3; a++)
        if (p->matrix[a] > 1) {
            double amplified = amplification(&info, p->matrix[a], info.grid[a]);
            product *= amplified;
            sum += amplified;
        }
    return (o->precision == VF_F64 ? 0x1p-53 : 0x1p-24) * (6 + 6 * product + 40 * sum);
}

/* The tolerance is for the root mean square of the errors, with a factor of sqrt(2) to spare for samples at the worst
 * positions. With random values, the error of one sum is as if normally distributed, complex, and its square is
 * exponentially distributed. The mean of `sums` such squares exceeds `t` times the expected one with a probability of
 * at most (t exp(1 - t))^sums (Chernoff's bound). Returns sqrt(t / 2) for a probability of 1e-7, or 1 if that is less,
 * as it is from about 40 sums. */
static double fluctuation(int64_t sums)
{
    double t = 1;
    while (sums > 0 && t - 1 - log(t) < 7 * log(10) / (double)sums)
        t += 0.01;
    return fmax(1, sqrt(0.5 * t));
}

static double worst_share; /* of the bound */

/* Checks both directions against the sums `y` and `c`. */
static void check(const problem *p, const vf_nufft_options *o, const double complex *y, const double complex *c)
{
    vf_nufft *plan = make_plan(p, o, p->vectors);
    int64_t voxels = p->vectors * p->voxels, samples = p->vectors * p->samples;
    double complex *image = allocate((size_t)voxels, sizeof *image), *data = allocate((size_t)samples, sizeof *data);
    apply(plan, o->precision, true, p->vectors, p->c, p->samples, image, p->voxels);
    apply(plan, o->precision, false, p->vectors, p->x, p->voxels, data, p->samples);
    /* A few sums may be small by chance, so errors are relative to the expected size if that is larger. */
    double back = difference(image, y, voxels, sqrt((double)p->voxels) * norm(p->c, samples));
    double forth = difference(data, c, samples, sqrt((double)p->samples) * norm(p->x, voxels));
    double round = rounding(o, plan, p), bound_back = o->tolerance * fluctuation(p->vectors * p->voxels) + round,
           bound_forth = o->tolerance * fluctuation(p->vectors * p->samples) + round;
    worst_share = fmax(worst_share, fmax(back / bound_back, forth / bound_forth));
    if (!(back <= bound_back) || !(forth <= bound_forth)) {
        vf_nufft_info info;
        vf_nufft_get_info(plan, &info);
        fail_msg("%lld x %lld x %lld, %lld samples, tolerance %g, sigma %g, %s, grid %lld %lld %lld, width %d, %d "
                 "segments: adjoint %.3g, allowed %.3g, forward %.3g, allowed %.3g",
                 (long long)p->matrix[0], (long long)p->matrix[1], (long long)p->matrix[2], (long long)p->samples,
                 o->tolerance, o->oversampling, o->precision == VF_F64 ? "double" : "single", (long long)info.grid[0],
                 (long long)info.grid[1], (long long)info.grid[2], info.width, info.segments, back, bound_back, forth,
                 bound_forth);
    }
    if (p->samples == 0)
        for (int64_t n = 0; n < voxels; n++)
            assert_true(image[n] == 0);
    free(image);
    free(data);
    vf_nufft_destroy(plan);
}

static void check_tolerances(const problem *p)
{
    static const double oversampling[] = {0, 1.25, 1.5, 2};
    double complex *y = allocate((size_t)(p->vectors * p->voxels), sizeof *y),
                   *c = allocate((size_t)(p->vectors * p->samples), sizeof *c);
    const int step = vf_device_get_kind(device) == VF_DEVICE_OPENCL ? 3 : 1; /* a CPU that plays the device is slow */
    direct_sum(p, y, c);
    for (int precision = 0; precision < 1 + has_precision(VF_F64); precision++)
        for (int digits = 1; digits <= (precision ? 12 : 7); digits += step)
            for (size_t s = 0; s < sizeof oversampling / sizeof *oversampling; s += (size_t)step) {
                vf_nufft_options o = {.tolerance = pow(10, -digits),
                                      .precision = precision ? VF_F64 : VF_F32,
                                      .oversampling = oversampling[s]};
                check(p, &o, y, c);
            }
    free(y);
    free(c);
}

static void test_three_dimensions(void **state)
{
    (void)state;
    problem p = random_problem(20, 17, 26, 700, false);
    check_tolerances(&p);
    problem_free(&p);
}

static void test_two_dimensions(void **state)
{
    (void)state;
    problem p = random_problem(63, 48, 1, 900, false);
    check_tolerances(&p);
    problem_free(&p);
    p = random_problem(1, 40, 33, 500, false);
    check_tolerances(&p);
    problem_free(&p);
}

static void test_one_dimension(void **state)
{
    (void)state;
    int64_t shapes[][3] = {{129, 1, 1}, {1, 96, 1}, {1, 1, 200}};
    for (int i = 0; i < 3; i++) {
        problem p = random_problem(shapes[i][0], shapes[i][1], shapes[i][2], 400, false);
        check_tolerances(&p);
        problem_free(&p);
    }
}

/* Positions between those of single precision, which would be off by 1e-6. `k` is not read. */
static void test_double_positions(void **state)
{
    (void)state;
    int64_t shapes[][3] = {{20, 17, 14}, {63, 48, 1}, {1, 1, 200}, {12, 11, 10}};
    for (int i = 0; i < 4; i++) {
        problem p = random_problem(shapes[i][0], shapes[i][1], shapes[i][2], 599, i == 3);
        p.exact = allocate((size_t)p.samples * 3, sizeof *p.exact);
        for (int64_t m = 0; m < 3 * p.samples; m++) {
            p.exact[m] = p.k[m] + (m % 4 ? 1e-7 * (uniform() - 0.5) * (double)p.matrix[m % 3] : 0);
            p.k[m] = NAN;
        }
        check_tolerances(&p);
        problem_free(&p);
    }
}

/* Many samples for each point of a small grid, and several vectors: GPUs take these from tiles in shared memory. */
static void test_dense(void **state)
{
    (void)state;
    int64_t shapes[][3] = {{12, 11, 10}, {12, 13, 1}};
    for (int i = 0; i < 4; i++) {
        problem p = random_problem(shapes[i % 2][0], shapes[i % 2][1], shapes[i % 2][2], 599, i >= 2);
        check_tolerances(&p);
        problem_free(&p);
    }
}

/* Shapes and numbers of samples at the ends of their ranges. */
static void test_edges(void **state)
{
    (void)state;
    int64_t cases[][4] = {{16, 16, 16, 0}, {16, 16, 16, 1}, {1, 1, 1, 5},    {2, 2, 2, 30}, {3, 1, 2, 40},
                          {7, 64, 1, 2},   {40, 1, 5, 300}, {2, 3, 70, 200}, {1, 1, 1, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        problem p = random_problem(cases[i][0], cases[i][1], cases[i][2], cases[i][3], false);
        double complex *y = allocate((size_t)(p.vectors * p.voxels), sizeof *y),
                       *c = allocate((size_t)(p.vectors * p.samples), sizeof *c);
        direct_sum(&p, y, c);
        for (int digits = 2; digits <= (has_precision(VF_F64) ? 11 : 5); digits += 3) {
            vf_nufft_options o = {.tolerance = pow(10, -digits), .precision = digits > 6 ? VF_F64 : VF_F32};
            check(&p, &o, y, c);
        }
        free(y);
        free(c);
        problem_free(&p);
    }
}

static void test_off_resonance(void **state)
{
    (void)state;
    problem p = random_problem(18, 15, 1, 300, true), q = random_problem(10, 9, 12, 200, true);
    check_tolerances(&p);
    check_tolerances(&q);
    problem_free(&p);
    problem_free(&q);
}

/* The places of a block of samples, in each instruction set of this CPU, have the bits of gridding_locate, and the buckets
 * are those of these places: random positions, those on and beside grid points, far away, and almost at zero. */
static void test_places(void **state)
{
    (void)state;
    static const gridding_simd *const sets[VF_ISA_COUNT] = {
        &gridding_simd_baseline,
#if defined(__x86_64__)
        &gridding_simd_avx2,
        &gridding_simd_avx512,
#endif
    };
    static const float special[] = {0, -0.0F, 1e-38F, -1e-38F, 1e30F, -1e30F, 48, -48, 125, -125, 12345678, -0.5F};
    static gridding_places places;
    static float all[3 * GRIDDING_BLOCK];
    static unsigned char starts[120], marks[120]; /* [grid z][one] */
    static uint32_t bucket[GRIDDING_BLOCK], part[3][375];
    const gridding_buckets buckets = {.part = {part[0], part[1], part[2]}};
    part[1][0] = 7;
    for (int i = 0; i < 375; i++) {
        part[0][i] = (uint32_t)(1000 * uniform());
        part[2][i] = 1000 * (uint32_t)i;
    }
    for (int isa = 0; isa <= (int)vf_cpu_isa() && sets[isa]; isa++)
        for (int round = 0; round < 200; round++) {
            const gridding_axis axis[3] = {{.voxels = 250, .grid = 375, .width = 1 + round % GRIDDING_MAX_WIDTH},
                                           {.voxels = 1, .grid = 1, .width = 1},
                                           {.voxels = 96, .grid = 120, .width = 1 + round / 2 % GRIDDING_MAX_WIDTH}};
            const int count = 1 + (int)(uniform() * GRIDDING_BLOCK);
            for (int i = 0; i < count; i++)
                for (int a = 0; a < 3; a++) {
                    const double whole = floor(800 * uniform() - 400) * (double)axis[a].voxels / (double)axis[a].grid;
                    places.k[a][i] = i % 3 == 0   ? special[(int)(uniform() * 12)]
                                     : i % 3 == 1 ? nextafterf((float)whole, (float)(uniform() - 0.5) * 1e6F)
                                                  : (float)(800 * uniform() - 400);
                }
            memset(places.start, 0x55, sizeof places.start);
            memset(places.offset, 0x55, sizeof places.offset);
            sets[isa]->locate(axis, count, &places);
            for (int i = 0; i < 3 * count; i++)
                all[i] = places.k[i % 3][i / 3];
            memset(bucket, 0x55, sizeof bucket);
            memset(starts, 0, sizeof starts);
            memset(marks, 0, sizeof marks);
            assert_true(sets[isa]->find_buckets(axis, &buckets, count, all, bucket, starts));
            for (int i = 0; i < count; i++) {
                const float *k = all + 3 * (int64_t)i;
                const gridding_place one = gridding_locate(axis, k);
                marks[one.start[2]] = 1;
                assert_int_equal(bucket[i], part[0][one.start[0]] + 7 + part[2][one.start[2]]);
                for (int a = 0; a < 3; a++)
                    if (places.start[a][i] != one.start[a] || places.offset[a][i] != one.offset[a])
                        fail_msg("set %d, k %.9g: start %d, offset %.17g instead of %d, %.17g", isa, k[a],
                                 (int)places.start[a][i], places.offset[a][i], (int)one.start[a], one.offset[a]);
            }
            assert_memory_equal(starts, marks, sizeof marks);
            all[3 * (int)(uniform() * count) + 1] = NAN; /* where there is one point, it is ignored */
            assert_true(sets[isa]->find_buckets(axis, &buckets, count, all, bucket, NULL));
            all[3 * (int)(uniform() * count) + (round % 2 ? 0 : 2)] = round % 3 ? NAN : -INFINITY;
            assert_false(sets[isa]->find_buckets(axis, &buckets, count, all, bucket, NULL));
        }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_places),
    cmocka_unit_test(test_three_dimensions),
    cmocka_unit_test(test_two_dimensions),
    cmocka_unit_test(test_one_dimension),
    cmocka_unit_test(test_double_positions),
    cmocka_unit_test(test_dense),
    cmocka_unit_test(test_edges),
    cmocka_unit_test(test_off_resonance),
};

/* One thread: with hundreds of small plans, threads on a busy machine would wait for each other at every step, for
 * minutes. test_gridding_algebra finds the same bits with any number of threads. */
static int set_up(void **state)
{
    (void)state;
    return vf_context_set_threads(ctx, 1) != VF_OK;
}

static int tear_down(void **state)
{
    (void)state;
    printf("largest share of a bound: %.2f\n", worst_share);
    return 0;
}

int main(int argc, char **argv)
{
    return run_on_device(argc, argv, tests, set_up, tear_down);
}
