/* How many virtual coils --compress auto keeps: the rule, and what it makes of data whose components are known. */
#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "coil_fixture.h"
#include "coils/channel_noise.h"
#include "coils/coil_stages.h"
#include "coils/virtual_coils.h"
#include "free_all.h"
#include "test_main.h"

enum { MANY = 16, RANK = 3, LOTS = 20000 };

/* MANY coils of white noise of variance 1, whitened as with a noise scan, and `rank` components of signal of the energies
 * `size`^2; all samples lie in cells of their own, which are not all of k-space, unless `cell` > 1 share one. */
static mri_scan scan_of_many(int coils, int rank, const double *size, double sigma, int cell)
{
    mri_scan s = {
        .matrix = {2 * LOTS, 1, 1}, .fov = {1, 1, 1}, .coils = coils, .trajectories = 1, .frames = 1, .whitened = true};
    double complex *u = random_unitary(coils);
    s.trajectory = allocate(sizeof *s.trajectory);
    s.trajectory[0] = (scan_trajectory){.samples = LOTS};
    s.trajectory[0].k = allocate(3 * LOTS * sizeof *s.trajectory[0].k);
    s.frame = allocate(sizeof *s.frame);
    s.frame[0] = (scan_frame){.data = random_images(coils, LOTS)};
    for (int64_t m = 0; m < LOTS; m++) {
        s.trajectory[0].k[3 * m] = (float)((cell > 1 ? 1 : 2) * (m / cell) - LOTS);
        s.trajectory[0].k[3 * m + 1] = s.trajectory[0].k[3 * m + 2] = 0;
        double complex f[MANY];
        for (int k = 0; k < rank; k++)
            f[k] = size[k] * cexp(2 * M_PI * I * (double)(k + 1) * (double)m / LOTS);
        for (int c = 0; c < coils; c++) {
            double complex sum = 0; /* the random numbers have the variance 2/3 */
            for (int i = 0; i < 12; i++)
                sum += sqrt(1.5 / 12) * random_complex();
            sum *= sigma;
            for (int k = 0; k < rank; k++)
                sum += f[k] * u[k * coils + c];
            s.frame[0].data[c * LOTS + m] = (float complex)sum;
        }
    }
    free(u);
    return s;
}

static void free_many(mri_scan *s)
{
    free(s->frame[0].data);
    free(s->trajectory[0].k);
    FREE_ALL(s->frame, s->trajectory, s->sensitivity, s->density);
}

static coil_choice choose_auto(vf_context *ctx, int coils, int rank, const double *size, double sigma, int cell)
{
    mri_scan s = scan_of_many(coils, rank, size, sigma, cell);
    coil_choice made;
    assert_int_equal(compress_coils(ctx, &s, COMPRESS_AUTO, COMPRESS_BEST, &made), VF_OK);
    assert_int_equal(s.coils, made.to);
    assert_int_equal(s.compressed_from, made.to < coils ? coils : 0);
    free_many(&s);
    return made;
}

/* Data of a rank r keep r coils. A component of the energy e over sigma^2 is left out if e <= 0.01 C = 0.16: those of 4
 * and 0.3 stay, that of 0.0225 goes. Noise of 14 components scatters by sqrt(14 / 20000) = 0.026, and five times that
 * changes none of this. */
static void test_rank_gives_the_coils(void **state)
{
    static const double size[RANK] = {30, 2, 0.55}, weak[RANK] = {30, 2, 0.15};
    coil_choice made = choose_auto(*state, MANY, RANK, size, 1, 1);
    assert_int_equal(made.to, 3);
    assert_true(made.loss >= 0 && made.loss <= 0.1);
    made = choose_auto(*state, MANY, RANK, weak, 1, 1);
    assert_int_equal(made.to, 2);
    assert_true(made.loss >= 0 && made.loss <= 0.1);
    assert_true(made.kept > 0.9 && made.kept < 1 && strstr(made.text, "16 combined into 2"));
}

/* 100 cells, each of four samples, so that noise of variance 1 adds 100 to each eigenvalue, and leaves 25 in a coil: the
 * bound is 0.01 x 12 x 25 = 3. Of energies 900, 20, 3.5, 2.9 and then 0, the last two go; with one sample in each cell the
 * bound is 12, and 3.5 goes, too. Energies below 0 hide none above the bound. */
static void test_rule(void **state)
{
    (void)state;
    double values[12] = {1000, 120, 103.5, 102.9, 100, 100, 100, 100, 100, 100, 100, 100};
    coil_covariance r = {.coils = 12, .cells = 100, .noise = 100, .left = 25};
    assert_int_equal(choose_virtual_coils(&r, values, 1), 3);
    assert_near(loss_of_coils(&r, values, 1, 3), sqrt(2.9 / (12 * 25)), 1e-12);
    assert_near(loss_of_coils(&r, values, 1, 12), 0, 0);
    r.left = 100;
    assert_int_equal(choose_virtual_coils(&r, values, 1), 2);
    assert_near(loss_of_coils(&r, values, 1, 2), sqrt(6.4 / (12 * 100)), 1e-12);
    for (int j = 4; j < 12; j++)
        values[j] = 90;
    assert_int_equal(choose_virtual_coils(&r, values, 1), 2);
    assert_int_equal(choose_virtual_coils(&r, values, 0), 12);
    values[5] = NAN;
    assert_int_equal(choose_virtual_coils(&r, values, 1), 12);
}

/* Four samples of each cell share it: a quarter each. The density is smoothed over four cells, of 5000, so a thousandth
 * differs at the ends. Weights of 2 are as good as two samples, and noise of half the variance. Samples of weight 0, or
 * 0 in all coils, do not count. */
static void test_cells_count_once(void **state)
{
    mri_scan s = scan_of_many(MANY, 0, NULL, 1, 4);
    coil_covariance r;
    assert_int_equal(coil_covariance_make(*state, &s, &r), VF_OK);
    assert_near(r.cells / (LOTS / 4.0), 1, 2e-3);
    assert_near(r.noise / r.cells, 1, 1e-9);
    assert_near(r.left / r.cells, 0.25, 2e-3);
    coil_covariance_free(&r);
    s.trajectory[0].weights = allocate(LOTS * sizeof *s.trajectory[0].weights);
    for (int64_t m = 0; m < LOTS; m++)
        s.trajectory[0].weights[m] = m % 4 == 3 ? 0 : 2;
    for (int c = 0; c < MANY; c++)
        s.frame[0].data[c * LOTS] = 0;
    assert_int_equal(coil_covariance_make(*state, &s, &r), VF_OK);
    assert_near(r.cells / (LOTS / 4.0), 1, 3e-3);
    assert_near(r.noise / r.cells, 0.5, 1e-9);
    assert_near(r.left / r.cells, 0.5 / 3, 2e-3);
    coil_covariance_free(&r);
    const int64_t voxels = s.matrix[0] * s.matrix[1] * s.matrix[2]; /* the density is kept, that of the last weights */
    const vf_wiener_space space = wiener_space_of(&s);
    double *density = allocate((size_t)voxels * sizeof *density), *weights = allocate(LOTS * sizeof *weights);
    for (int64_t m = 0; m < LOTS; m++)
        weights[m] = (double)s.trajectory[0].weights[m];
    assert_int_equal(vf_sampling_density(*state, &space, LOTS, s.trajectory[0].k, weights, density), VF_OK);
    assert_memory_equal(s.density, density, (size_t)voxels * sizeof *density);
    FREE_ALL(density, weights, s.trajectory[0].weights);
    free_many(&s);
}

static void test_pure_noise_keeps_one(void **state)
{
    assert_int_equal(choose_auto(*state, MANY, 0, NULL, 1, 1).to, 1);
}

/* Without noise, a noise scan that promises some leaves the noise to the weaker half, which is rounding: a millionth of
 * the largest. The components stay. */
static void test_noise_scan_that_is_wrong(void **state)
{
    static const double size[RANK] = {3, 1, 0.1};
    assert_true(choose_auto(*state, MANY, RANK, size, 1e-3, 1).to >= RANK);
}

static void test_from_twelve_coils_on(void **state)
{
    static const double size[RANK] = {30, 2, 0.6};
    const coil_choice eleven = choose_auto(*state, COMPRESS_FROM - 1, RANK, size, 1, 1);
    assert_int_equal(eleven.to, COMPRESS_FROM - 1);
    assert_true(eleven.kept == 1 && eleven.text[0] == '\0');
    assert_int_equal(choose_auto(*state, COMPRESS_FROM, RANK, size, 1, 1).to, RANK);
}

/* One coil is dead: its samples are 0, which only lowers the energies. */
static void test_dead_coil(void **state)
{
    static const double size[RANK] = {30, 2, 0.7};
    mri_scan s = scan_of_many(MANY, RANK, size, 1, 1);
    coil_choice made;
    memset(s.frame[0].data + 5 * LOTS, 0, LOTS * sizeof *s.frame[0].data);
    assert_int_equal(compress_coils(*state, &s, COMPRESS_AUTO, COMPRESS_BEST, &made), VF_OK);
    assert_int_equal(made.to, RANK);
    for (int64_t i = 0; i < made.to * LOTS; i++)
        assert_true(isfinite(crealf(s.frame[0].data[i])) && isfinite(cimagf(s.frame[0].data[i])));
    free_many(&s);
}

static void test_nan_is_refused(void **state)
{
    static const double size[RANK] = {30, 2, 0.7};
    for (int i = 0; i < 2; i++) {
        mri_scan s = scan_of_many(MANY, RANK, size, 1, 1);
        coil_choice made;
        s.frame[0].data[7 * LOTS + 3] = i ? INFINITY : NAN;
        assert_int_equal(compress_coils(*state, &s, COMPRESS_AUTO, COMPRESS_BEST, &made), VF_ERR_INPUT);
        assert_int_equal(s.coils, MANY);
        vf_context_clear_error(*state);
        free_many(&s);
    }
}

/* Without a noise scan, outermost samples that have signal say nothing of the noise, and all coils stay. Noise there is
 * found: it is the same as with a noise scan. */
static void test_noise_that_is_not_known(void **state)
{
    static const double size[RANK] = {30, 2, 0.7};
    for (int even = 0; even < 2; even++) {
        mri_scan s = scan_of_many(MANY, RANK, size, 1, 1);
        coil_choice made;
        s.whitened = false;
        if (even) { /* only noise beyond half of k-space */
            mri_scan noise = scan_of_many(MANY, 0, NULL, 1, 1);
            for (int64_t m = 0; m < LOTS; m++)
                for (int c = 0; c < MANY && llabs(m - LOTS / 2) > LOTS / 4; c++)
                    s.frame[0].data[c * LOTS + m] = noise.frame[0].data[c * LOTS + m];
            free_many(&noise);
        }
        assert_int_equal(compress_coils(*state, &s, COMPRESS_AUTO, COMPRESS_BEST, &made), VF_OK);
        if (even)
            assert_true(made.to >= 2 && made.to <= MANY / 2);
        else
            assert_int_equal(made.to, MANY);
        assert_true(strstr(made.text, even ? "outermost samples" : "no noise scan") != NULL);
        free_many(&s);
    }
}

/* The rows of the mixture are orthonormal: noise of the covariance 1 keeps it. It is applied here to the unit vectors, as
 * maps. Single precision: 16 products of 6e-8, 1e-6. */
static void test_compressed_noise_is_white(void **state)
{
    static const double size[RANK] = {30, 9, 5};
    mri_scan s = scan_of_many(MANY, RANK, size, 1, 1);
    coil_choice made;
    s.map_sets = 1;
    s.sensitivity = allocate(sizeof *s.sensitivity * MANY * 2 * LOTS);
    memset(s.sensitivity, 0, sizeof *s.sensitivity * MANY * 2 * LOTS);
    for (int c = 0; c < MANY; c++)
        s.sensitivity[c * 2 * LOTS + c] = 1;
    s.places = 1;
    assert_int_equal(compress_coils(*state, &s, COMPRESS_AUTO, COMPRESS_BEST, &made), VF_OK);
    assert_int_equal(made.to, RANK);
    for (int i = 0; i < made.to; i++)
        for (int j = 0; j < made.to; j++) {
            double complex sum = 0;
            for (int c = 0; c < MANY; c++)
                sum += (double complex)s.sensitivity[i * 2 * LOTS + c] *
                       conj((double complex)s.sensitivity[j * 2 * LOTS + c]);
            assert_near(cabs(sum - (i == j)), 0, 1e-6);
        }
    free_many(&s);
}

TEST_MAIN(make_context, free_context, cmocka_unit_test(test_rank_gives_the_coils), cmocka_unit_test(test_rule),
          cmocka_unit_test(test_cells_count_once), cmocka_unit_test(test_pure_noise_keeps_one),
          cmocka_unit_test(test_noise_scan_that_is_wrong), cmocka_unit_test(test_from_twelve_coils_on),
          cmocka_unit_test(test_dead_coil), cmocka_unit_test(test_nan_is_refused),
          cmocka_unit_test(test_noise_that_is_not_known), cmocka_unit_test(test_compressed_noise_is_white))
