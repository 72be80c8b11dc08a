/* The NUFFT where a GPU's plan works in parts: padded tiles that do not fit into its scratch memory at once, and more
 * samples than its runs can have pieces. Against the direct sum, at some outputs. And what loses most by rounding.
 *
 * usage: test_gridding_large DEVICE [TEST...]     (cpu, cuda; exit 77 if there is no such device)
 *
 * Values and positions are random, so an output's error is a sum of many aliases with random phases. Of PROBES complex
 * outputs, the mean square is chi-square distributed with 2 PROBES degrees of freedom. It exceeds four times its
 * expectation, the square of the tolerance, once in 10^8 times. Rounding is below a tenth of the tolerances.
 */
#include "gridding_fixture.h"

enum { PROBES = 12 };

static double complex term(const problem *p, int64_t sample, const int64_t at[3])
{
    double turns = 0;
    for (int a = 0; a < 3; a++)
        if (p->matrix[a] > 1)
            turns += (double)p->k[3 * sample + a] * (double)(at[a] - p->matrix[a] / 2) / (double)p->matrix[a];
    return cexp(2 * M_PI * I * (turns - floor(turns)));
}

static void check(const char *what, double squares, double expected, double tolerance)
{
    if (!(squares <= 4 * tolerance * tolerance * PROBES * expected))
        fail_msg("%s: error %.3g, tolerance %g", what, sqrt(squares / (PROBES * expected)), tolerance);
}

static void check_adjoint(const problem *p, const double complex *image, double tolerance)
{
    const double size = norm(p->c, p->samples);
    double squares = 0;
    for (int i = 0; i < PROBES; i++) {
        /* The first are at the edges, where a kernel's transform is least. */
        const int64_t n = i < 2 ? i * (p->voxels - 1) : (int64_t)(uniform() * (double)p->voxels);
        const int64_t at[3] = {n % p->matrix[0], n / p->matrix[0] % p->matrix[1], n / p->matrix[0] / p->matrix[1]};
        double complex sum = 0;
        for (int64_t m = 0; m < p->samples; m++)
            sum += p->c[m] * term(p, m, at);
        squares += pow(cabs(image[n] - sum), 2);
    }
    check("adjoint", squares, size * size, tolerance);
}

static void check_forward(const problem *p, const double complex *data, double tolerance)
{
    const double size = norm(p->x, p->voxels);
    double complex *e[3];
    double squares = 0;
    for (int a = 0; a < 3; a++)
        e[a] = allocate((size_t)p->matrix[a], sizeof **e);
    for (int i = 0; i < PROBES; i++) {
        const int64_t m = (int64_t)(uniform() * (double)p->samples);
        double complex sum = 0;
        for (int a = 0; a < 3; a++)
            phases(p->matrix[a], p->k[3 * m + a], e[a]);
        for (int64_t row = 0; row < p->matrix[1] * p->matrix[2]; row++) {
            const double complex *x = p->x + row * p->matrix[0];
            double re = 0, im = 0;
            for (int64_t n = 0; n < p->matrix[0]; n++) { /* x conj(e) */
                re += creal(x[n]) * creal(e[0][n]) + cimag(x[n]) * cimag(e[0][n]);
                im += cimag(x[n]) * creal(e[0][n]) - creal(x[n]) * cimag(e[0][n]);
            }
            sum += (re + I * im) * conj(e[1][row % p->matrix[1]] * e[2][row / p->matrix[1]]);
        }
        squares += pow(cabs(data[m] - sum), 2);
    }
    for (int a = 0; a < 3; a++)
        free(e[a]);
    check("forward", squares, size * size, tolerance);
}

static void check_problem(int64_t nx, int64_t ny, int64_t nz, int64_t samples, const vf_nufft_options *options)
{
    problem p = random_problem(nx, ny, nz, samples, false);
    vf_nufft *plan = make_plan(&p, options, 1);
    double complex *image = allocate((size_t)p.voxels, sizeof *image), *data = allocate((size_t)samples, sizeof *data);
    apply(plan, options->precision, true, 1, p.c, p.samples, image, p.voxels);
    check_adjoint(&p, image, options->tolerance);
    apply(plan, options->precision, false, 1, p.x, p.voxels, data, p.samples);
    check_forward(&p, data, options->tolerance);
    free(image);
    free(data);
    vf_nufft_destroy(plan);
    problem_free(&p);
}

/* 80,000 tiles in two dimensions, whose padded tiles are twice as large as the grid's memory, 84 MB. */
static void test_many_tiles(void **state)
{
    (void)state;
    const vf_nufft_options o = {.tolerance = 1e-3, .precision = VF_F32, .oversampling = 2};
    check_problem(1930, 1350, 1, 400000, &o);
}

/* In three dimensions, 7,000 tiles: five times the grid's memory, 110 MB. */
static void test_many_tiles_in_space(void **state)
{
    (void)state;
    const vf_nufft_options o = {.tolerance = 1e-6, .precision = VF_F64, .oversampling = 2};
    check_problem(96, 100, 90, 60000, &o);
}

/* 4.3 million samples in a dozen tiles: runs of three pieces. A CPU has no such pieces, and gets a tenth of them. */
static void test_crowd(void **state)
{
    (void)state;
    const vf_nufft_options o = {.tolerance = 1e-3, .precision = VF_F32, .oversampling = 2};
    check_problem(18, 20, 1, vf_device_is_host(device) ? 430000 : 4300000, &o);
}

/* Golden-angle spokes, in two or three dimensions. */
static void set_spokes(problem *p, int64_t a_spoke)
{
    const double n = (double)p->matrix[0], spokes = (double)(p->samples / a_spoke);
    for (int64_t m = 0; m < p->samples; m++) {
        const double i = (double)(m / a_spoke), r = n * ((double)(m % a_spoke) / (double)a_spoke - 0.5);
        const double z = p->matrix[2] > 1 ? 1 - (2 * i + 1) / spokes : 0, angle = 2.399963229728653 * i;
        p->k[3 * m] = (float)(r * sqrt(1 - z * z) * cos(angle));
        p->k[3 * m + 1] = (float)(r * sqrt(1 - z * z) * sin(angle));
        p->k[3 * m + 2] = (float)(r * z);
        p->c[m] = 1;
    }
}

/* All spokes add their equal values at the grid's centre. What is lost there goes to all voxels, and grows at the
 * corners, where the image is small. The plan must choose its grid so that the tolerance holds even so. At 1e-6, which is
 * 17 units of rounding, the choice has an end: there that many units are allowed besides. The reference is a plan in double
 * precision, whose own tolerance is 1e-3 of the least here. */
static void check_point_spread(int64_t n, int64_t nz, int64_t spokes)
{
    problem p = random_problem(n, n, nz, spokes * n, false);
    set_spokes(&p, n);
    double complex *exact = allocate((size_t)p.voxels, sizeof *exact),
                   *image = allocate((size_t)p.voxels, sizeof *image);
    vf_nufft_options o = {.tolerance = 1e-12, .precision = VF_F64};
    for (int power = 0; power <= 14; power++) { /* single precision to 1e-6, double to 1e-9 */
        if (power > 0)
            o = (vf_nufft_options){.tolerance = pow(10, power > 6 ? 5 - power : -power),
                                   .precision = power > 6 ? VF_F64 : VF_F32};
        vf_nufft *plan = make_plan(&p, &o, 1);
        apply(plan, o.precision, true, 1, p.c, p.samples, power > 0 ? image : exact, p.voxels);
        vf_nufft_destroy(plan);
        double error = power > 0 ? difference(image, exact, p.voxels, 0) : 0;
        if (!(error <= o.tolerance * (power == 6 ? 2 : 1)))
            fail_msg("%lld x %lld x %lld, %s, tolerance %g: error %.3g", (long long)n, (long long)n, (long long)nz,
                     o.precision == VF_F64 ? "double" : "single", o.tolerance, error);
    }
    free(exact);
    free(image);
    problem_free(&p);
}

static void test_point_spread(void **state)
{
    (void)state;
    check_point_spread(256, 1, 390);
    check_point_spread(64, 64, 1200);
}

/* The least oversampling saves memory, but rounding would be 2.6e5 times the tolerance: a grid of 1.3 GB is needed. */
static void test_large_grid(void **state)
{
    (void)state;
    const vf_nufft_options o = {.tolerance = 1e-12, .precision = VF_F64};
    if (!SANITIZED)
        check_problem(240, 240, 240, 3000, &o);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_large_grid),          cmocka_unit_test(test_point_spread), cmocka_unit_test(test_many_tiles),
    cmocka_unit_test(test_many_tiles_in_space), cmocka_unit_test(test_crowd),
};

int main(int argc, char **argv)
{
    return run_on_device(argc, argv, tests, NULL, NULL);
}
