/* The stages of mri_recon that mix coils, by their algebra: prewhitening and coil compression. */
#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "coil_fixture.h"
#include "coils/calibrate.h"
#include "coils/channel_noise.h"
#include "coils/coil_stages.h"
#include "free_all.h"
#include "test_main.h"
#include "voxfield/dense.h"

/* ---- a scan of random data, of frames on two trajectories ---- */

enum { COILS = 6, SHORT = 700, LONG = 1200, VOXELS = 5 * 4 * 3 };

static mri_scan random_scan(void)
{
    mri_scan s = {.matrix = {5, 4, 3}, .coils = COILS, .trajectories = 2, .frames = 3};
    s.trajectory = allocate(2 * sizeof *s.trajectory);
    for (int t = 0; t < 2; t++) { /* all samples in one cell of k-space, so that they count alike */
        s.trajectory[t] = (scan_trajectory){.samples = t ? LONG : SHORT};
        s.trajectory[t].k = allocate(3 * LONG * sizeof *s.trajectory[t].k);
        memset(s.trajectory[t].k, 0, 3 * LONG * sizeof *s.trajectory[t].k);
    }
    s.frame = allocate(3 * sizeof *s.frame);
    for (int f = 0; f < 3; f++) {
        s.frame[f] = (scan_frame){.trajectory = f == 1};
        s.frame[f].data = random_images(COILS, f == 1 ? LONG : SHORT);
    }
    s.sensitivity = random_images(COILS, VOXELS);
    return s;
}

static int64_t samples_of(const mri_scan *s, int frame)
{
    return s->trajectory[s->frame[frame].trajectory].samples;
}

static void free_scan(mri_scan *s)
{
    for (int f = 0; f < s->frames; f++)
        free(s->frame[f].data);
    for (int t = 0; t < s->trajectories; t++)
        free(s->trajectory[t].k);
    FREE_ALL(s->frame, s->trajectory, s->sensitivity, s->noise, s->density);
}

/* Makes the first voxels of the maps and the first samples of every frame satisfy d = s x, with known x. */
static void make_consistent(mri_scan *s, float complex x[VOXELS])
{
    for (int n = 0; n < VOXELS; n++)
        x[n] = (float complex)random_complex();
    for (int f = 0; f < s->frames; f++)
        for (int c = 0; c < s->coils; c++)
            for (int n = 0; n < VOXELS; n++)
                s->frame[f].data[c * samples_of(s, f) + n] = s->sensitivity[c * VOXELS + n] * x[n];
}

static void assert_consistent(const mri_scan *s, const float complex x[VOXELS], double tolerance)
{
    for (int f = 0; f < s->frames; f++)
        for (int c = 0; c < s->coils; c++)
            for (int n = 0; n < VOXELS; n++)
                assert_near(cabsf(s->frame[f].data[c * samples_of(s, f) + n] - s->sensitivity[c * VOXELS + n] * x[n]),
                            0, tolerance);
}

static double complex gram(const mri_scan *s, int frame, int i, int j)
{
    int64_t samples = samples_of(s, frame);
    const float complex *data = s->frame[frame].data;
    double complex sum = 0;
    for (int64_t m = 0; m < samples; m++)
        sum += (double complex)data[i * samples + m] * conj((double complex)data[j * samples + m]);
    return sum;
}

/* ---- prewhitening ---- */

/* The covariance of a frame's own data: after whitening by it the covariance is 1, for any data. Rounding of single
 * precision (6e-8 COILS) times the condition of the mixing, some 100: 4e-5. */
static void test_whitened_noise_is_white(void **state)
{
    mri_scan s = random_scan();
    double complex mixing[COILS * COILS];
    for (int i = 0; i < COILS; i++) /* correlated, with unequal gains */
        for (int j = 0; j < COILS; j++)
            mixing[i * COILS + j] = (i == j ? 1 : 0.3 * random_complex()) * (1 << i);
    assert_int_equal(vf_mix_rows(*state, COILS, COILS, mixing, LONG, s.frame[1].data), VF_OK);
    s.noise = allocate(COILS * COILS * sizeof *s.noise);
    double correlated = 0;
    for (int i = 0; i < COILS; i++)
        for (int j = 0; j < COILS; j++) {
            s.noise[i * COILS + j] = gram(&s, 1, i, j) / LONG;
            correlated = fmax(correlated, i == j ? 0 : cabs(s.noise[i * COILS + j]));
        }
    assert_true(correlated > 0.05); /* the data need whitening; not each of the 15 pairs can have a small number */
    assert_int_equal(prewhiten(*state, &s), VF_OK);
    assert_null(s.noise);
    for (int i = 0; i < COILS; i++)
        for (int j = 0; j < COILS; j++)
            assert_near(cabs(gram(&s, 1, i, j) / LONG - (i == j)), 0, 4e-5);
    free_scan(&s);
}

static void set_noise(mri_scan *s, double off_diagonal)
{
    s->noise = allocate(COILS * COILS * sizeof *s->noise);
    for (int i = 0; i < COILS; i++)
        for (int j = 0; j < COILS; j++)
            s->noise[i * COILS + j] = i == j ? 4 + i : off_diagonal * (i < j ? 1 + I : 1 - I);
}

static void test_whitening_keeps_maps_and_data_together(void **state)
{
    mri_scan s = random_scan();
    float complex x[VOXELS], before = s.frame[2].data[SHORT - 1];
    make_consistent(&s, x);
    set_noise(&s, 0.5);
    assert_int_equal(prewhiten(*state, &s), VF_OK);
    assert_consistent(&s, x, 1e-5); /* rounding: sums of 6 terms of size about 2 */
    assert_near(cabsf(s.frame[2].data[SHORT - 1] - before / 2), 0,
                1e-6); /* only the scale of coil 0 changes, by 1 / sqrt 4 */
    free_scan(&s);
}

static void test_no_covariance_nothing_to_do(void **state)
{
    mri_scan s = random_scan();
    float complex *before = copy_of(s.frame[0].data, COILS * SHORT);
    assert_int_equal(prewhiten(*state, &s), VF_OK);
    assert_memory_equal(s.frame[0].data, before, COILS * SHORT * sizeof *before);
    free(before);
    free_scan(&s);
}

static void refuse_noise(vf_context *ctx, mri_scan *s, const char *coil)
{
    float complex *before = copy_of(s->frame[0].data, COILS * SHORT);
    vf_context_clear_error(ctx);
    assert_int_equal(prewhiten(ctx, s), VF_ERR_INPUT);
    if (!strstr(vf_context_message(ctx), coil))
        fail_msg("'%s' does not name %s", vf_context_message(ctx), coil);
    assert_memory_equal(s->frame[0].data, before, COILS * SHORT * sizeof *before); /* not half done */
    vf_context_clear_error(ctx);
    free(before);
    free_scan(s);
}

static void test_singular_noise_is_refused(void **state)
{
    mri_scan s = random_scan();
    set_noise(&s, 0.5);
    for (int j = 0; j < COILS; j++) /* a dead coil */
        s.noise[3 * COILS + j] = s.noise[j * COILS + 3] = 0;
    refuse_noise(*state, &s, "coil 3 of 6");

    s = random_scan();
    set_noise(&s, 0);
    s.noise[2 * COILS + 2] = 1e-13; /* uncorrelated, with a ten millionth of the others' amplitude: unplugged */
    refuse_noise(*state, &s, "coil 2 of 6 (counted from 0) has no noise");

    s = random_scan();
    set_noise(&s, 0.5);
    for (int j = 0; j < COILS; j++) /* coil 4 is twice coil 1 */
        s.noise[4 * COILS + j] = s.noise[j * COILS + 4] = 2 * s.noise[1 * COILS + j];
    for (int j = 0; j < COILS; j++)
        s.noise[j * COILS + 4] = conj(s.noise[4 * COILS + j]);
    s.noise[4 * COILS + 1] = 2 * s.noise[1 * COILS + 1];
    s.noise[1 * COILS + 4] = conj(s.noise[4 * COILS + 1]);
    s.noise[4 * COILS + 4] = 4 * s.noise[1 * COILS + 1];
    refuse_noise(*state, &s, "coil 4 of 6");

    s = random_scan();
    set_noise(&s, 0.5);
    s.noise[2 * COILS + 2] = NAN;
    refuse_noise(*state, &s, "coil 2 of 6");

    s = random_scan();
    set_noise(&s, 0.5);
    s.noise[5 * COILS + 2] = NAN;
    refuse_noise(*state, &s, "coil 5 of 6");

    s = random_scan(); /* covariance of 4 noise samples of 6 coils */
    s.noise = allocate(COILS * COILS * sizeof *s.noise);
    s.trajectory[0].samples = 4;
    for (int i = 0; i < COILS; i++)
        for (int j = 0; j < COILS; j++)
            s.noise[i * COILS + j] = gram(&s, 0, i, j) / 4;
    s.trajectory[0].samples = SHORT;
    refuse_noise(*state, &s, "coil 4 of 6");
}

/* ---- channels that are left out ---- */

/* A scan with a bright sample in each channel but those in `silent`, which have only noise: the real and imaginary parts
 * of its numbers are sums of 12 uniform ones, nearly Gaussian. Numbers in `dead` are 0. */
static mri_scan scan_of_channels(const bool *silent, const bool *dead)
{
    mri_scan s = random_scan();
    for (int f = 0; f < s.frames; f++)
        for (int c = 0; c < COILS; c++)
            for (int64_t m = 0; m < samples_of(&s, f); m++) {
                float complex *to = &s.frame[f].data[c * samples_of(&s, f) + m];
                *to = 0;
                for (int i = 0; i < 12 && !dead[c]; i++)
                    *to += (float complex)random_complex();
                if (m == 300 && !silent[c] && !dead[c])
                    *to = 100;
            }
    return s;
}

/* Each criterion alone: a million samples of variance 1, of which the largest is ln n = 14 by chance. */
static void test_what_noise_looks_like(void **state)
{
    const channel_statistics noise = {.count = 1000000, .sum = 1e6, .squares = 2e6, .largest = 14};
    const channel_statistics bright = {.count = 1000000, .sum = 1e6, .squares = 2e6, .largest = 24};
    const channel_statistics even = {.count = 1000000, .sum = 1e6, .squares = 1.7e6, .largest = 14};
    const channel_statistics peaked = {.count = 1000000, .sum = 1e6, .squares = 2.3e6, .largest = 14};
    const channel_statistics smooth = {.count = 1000000, .sum = 1e6, .squares = 2e6, .largest = 14, .lag = {{0, 2e5}}};
    const channel_statistics wave = {.count = 1000000, .sum = 1e6, .squares = 2e6, .largest = 14, .lag = {{0}, {-2e5}}};
    const channel_statistics few = {.count = 255, .sum = 255, .squares = 510, .largest = 6};
    const channel_statistics *const others[] = {&bright, &even, &peaked, &smooth, &wave, &few};
    (void)state;
    assert_true(channel_looks_like_noise(&noise, 3));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(channel_looks_like_noise(others[i], 3));
}

/* Channel 1 is named, 2 has only noise, 4 is dead, 5 has no noise: 0 and 3 are left, with their samples, maps and
 * covariance. */
static void test_channels_are_left_out(void **state)
{
    static const bool silent[COILS] = {[2] = true}, dead[COILS] = {[4] = true};
    mri_scan s = scan_of_channels(silent, dead);
    set_noise(&s, 0.5);
    for (int j = 0; j < COILS; j++)
        s.noise[5 * COILS + j] = s.noise[j * COILS + 5] = 0;
    float complex *data = copy_of(s.frame[1].data, COILS * LONG), *maps = copy_of(s.sensitivity, COILS * VOXELS);
    const double complex across = s.noise[3];
    assert_int_equal(drop_coils(*state, "1", &s), VF_OK);
    assert_int_equal(s.coils, 2);
    assert_int_equal(s.coils_before, COILS);
    for (int c = 0; c < COILS; c++)
        assert_int_equal(s.left_out[c], c != 0 && c != 3);
    assert_memory_equal(s.frame[1].data, data, LONG * sizeof *data);
    assert_memory_equal(s.frame[1].data + LONG, data + 3 * LONG, LONG * sizeof *data);
    assert_memory_equal(s.sensitivity + VOXELS, maps + 3 * VOXELS, VOXELS * sizeof *maps);
    assert_true(creal(s.noise[0]) == 4 && creal(s.noise[3]) == 7 && s.noise[1] == across);
    FREE_ALL(s.left_out, data, maps);
    free_scan(&s);
}

/* Nothing is left out without a reason, with "none", or if nothing else would be left. */
static void test_channels_that_stay(void **state)
{
    static const bool no[COILS] = {false}, all[COILS] = {true, true, true, true, true, true}, one[COILS] = {true};
    const bool *const silent[3] = {no, all, one};
    for (int i = 0; i < 3; i++) {
        mri_scan s = scan_of_channels(silent[i], no);
        assert_int_equal(drop_coils(*state, i == 2 ? "none" : NULL, &s), VF_OK);
        assert_int_equal(s.coils, COILS);
        assert_null(s.left_out);
        free_scan(&s);
    }
}

static void test_lists_of_channels(void **state)
{
    static const char *const bad[] = {"", "a", "1,", "1:", ":2", "6", "-1", "3:2", "0:6", "0:5", "1:2:3", "0x1"};
    static const bool no[COILS] = {false};
    mri_scan s = scan_of_channels(no, no);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(drop_coils(*state, bad[i], &s), VF_ERR_ARGUMENT);
        vf_context_clear_error(*state);
        assert_int_equal(s.coils, COILS);
    }
    assert_int_equal(drop_coils(*state, "5,0:2", &s), VF_OK);
    assert_int_equal(s.coils, 2);
    assert_true(s.left_out[0] && s.left_out[1] && s.left_out[2] && !s.left_out[3] && !s.left_out[4] && s.left_out[5]);
    free(s.left_out);
    free_scan(&s);
}

/* ---- coil compression ---- */

/* Data with known principal components: coil i at sample m is sum_k size[k] u_ki f_km, with u unitary and the f
 * orthogonal in every frame (harmonics, |f| = 1). So component k has the energy size[k]^2 times the number of
 * samples. */
static mri_scan scan_of_components(const double complex *u, const double *size)
{
    mri_scan s = random_scan();
    for (int f = 0; f < s.frames; f++) {
        int64_t samples = samples_of(&s, f);
        for (int i = 0; i < COILS; i++)
            for (int64_t m = 0; m < samples; m++) {
                double complex sum = 0;
                for (int k = 0; k < COILS; k++)
                    sum += size[k] * u[k * COILS + i] *
                           cexp(2 * M_PI * I * (double)((k + 1 + f) * m % samples) / (double)samples);
                s.frame[f].data[i * samples + m] = (float complex)sum;
            }
    }
    return s;
}

/* Every assertion allows for single precision: sums of 6 terms, relative to the largest component, 1e-6. */
static void test_compression_keeps_the_largest_components(void **state)
{
    static const double size[COILS] = {0.1, 3, 0.3, 1, 0.03, 2}, sorted[COILS] = {3, 2, 1, 0.3, 0.1, 0.03};
    double complex *u = random_unitary(COILS);
    for (int keep = 1; keep < COILS; keep++) {
        mri_scan s = scan_of_components(u, size);
        coil_choice kept;
        double first = 0, total = 0;
        for (int k = 0; k < COILS; k++) {
            total += sorted[k] * sorted[k];
            first += k < keep ? sorted[k] * sorted[k] : 0;
        }
        assert_int_equal(compress_coils(*state, &s, keep, COMPRESS_BEST, &kept), VF_OK);
        assert_int_equal(s.coils, keep);
        assert_near(kept.kept, first / total, 1e-6);
        for (int f = 0; f < s.frames; f++)
            for (int i = 0; i < keep; i++)
                for (int j = 0; j < keep; j++) /* uncorrelated, with known energies */
                    assert_near(
                        cabs(gram(&s, f, i, j) / (double)samples_of(&s, f) - (i == j ? sorted[i] * sorted[i] : 0)), 0,
                        1e-5);
        free_scan(&s);
    }
    free(u);
}

/* The components are those of all frames together. */
static void test_compression_regards_every_frame(void **state)
{
    static const double size[COILS] = {0, 3, 0, 1, 0, 2};
    double complex *u = random_unitary(COILS);
    for (int only = 0; only < 3; only++) {
        mri_scan s = scan_of_components(u, size);
        coil_choice kept;
        for (int f = 0; f < 3; f++)
            if (f != only)
                memset(s.frame[f].data, 0, (size_t)(COILS * samples_of(&s, f)) * sizeof *s.frame[f].data);
        assert_int_equal(compress_coils(*state, &s, 2, COMPRESS_BEST, &kept), VF_OK);
        assert_near(kept.kept, 13.0 / 14, 1e-6);
        assert_near(creal(gram(&s, only, 0, 0)) / (double)samples_of(&s, only), 9, 1e-5);
        free_scan(&s);
    }
    free(u);
}

static double rss(const mri_scan *s, int frame, int64_t m)
{
    double sum = 0;
    for (int c = 0; c < s->coils; c++)
        sum += square(s->frame[frame].data[c * samples_of(s, frame) + m]);
    return sqrt(sum);
}

/* Data with only three components lose nothing if three coils are kept: the mixing is unitary, so the root of the
 * sum of squares stays the same at every sample. */
static void test_compression_without_loss(void **state)
{
    static const double size[COILS] = {0, 3, 0, 1, 0, 2};
    double complex *u = random_unitary(COILS);
    mri_scan s = scan_of_components(u, size), before = scan_of_components(u, size);
    coil_choice kept;
    assert_int_equal(compress_coils(*state, &s, 3, COMPRESS_BEST, &kept), VF_OK);
    assert_near(kept.kept, 1, 1e-9);
    for (int f = 0; f < s.frames; f++)
        for (int64_t m = 0; m < samples_of(&s, f); m++)
            assert_near(rss(&s, f, m), rss(&before, f, m), 1e-5);
    free_scan(&before);
    free_scan(&s);
    free(u);
}

static void test_compression_keeps_maps_and_data_together(void **state)
{
    for (int keep = 1; keep < COILS; keep += 2) {
        mri_scan s = random_scan();
        float complex x[VOXELS];
        coil_choice kept;
        make_consistent(&s, x);
        assert_int_equal(compress_coils(*state, &s, keep, COMPRESS_BEST, &kept), VF_OK);
        assert_true(kept.kept > 0 && kept.kept < 1);
        assert_consistent(&s, x, 1e-5);
        free_scan(&s);
    }
}

static void test_compression_bits_do_not_depend_on_threads(void **state)
{
    vf_context *ctx = *state;
    mri_scan s = random_scan(), t = random_scan();
    coil_choice kept, same;
    for (int f = 0; f < s.frames; f++)
        memcpy(t.frame[f].data, s.frame[f].data, (size_t)(COILS * samples_of(&s, f)) * sizeof *s.frame[f].data);
    set_threads(ctx, 1);
    assert_int_equal(compress_coils(ctx, &s, 4, COMPRESS_BEST, &kept), VF_OK);
    set_threads(ctx, 5);
    assert_int_equal(compress_coils(ctx, &t, 4, COMPRESS_BEST, &same), VF_OK);
    assert_true(kept.kept == same.kept);
    assert_memory_equal(s.frame[1].data, t.frame[1].data, 4 * LONG * sizeof *s.frame[1].data);
    free_scan(&t);
    free_scan(&s);
}

static void test_compression_of_nothing_and_to_nothing(void **state)
{
    vf_context *ctx = *state;
    mri_scan s = random_scan();
    coil_choice kept;
    float complex *before = copy_of(s.frame[0].data, COILS * SHORT);
    for (int keep = COILS; keep <= COILS + 3; keep++) { /* all coils: left unchanged */
        assert_int_equal(compress_coils(ctx, &s, keep, COMPRESS_BEST, &kept), VF_OK);
        assert_true(kept.kept == 1 && s.coils == COILS);
        assert_memory_equal(s.frame[0].data, before, COILS * SHORT * sizeof *before);
    }
    for (int keep = -2; keep <= 0; keep += 2) { /* -1 is COMPRESS_AUTO */
        assert_int_equal(compress_coils(ctx, &s, keep, COMPRESS_BEST, &kept), VF_ERR_ARGUMENT);
        vf_context_clear_error(ctx);
    }
    set_noise(&s, 0); /* the order of the stages matters */
    assert_int_equal(compress_coils(ctx, &s, 2, COMPRESS_BEST, &kept), VF_ERR_INTERNAL);
    vf_context_clear_error(ctx);
    free(s.noise);
    s.noise = NULL;
    for (int f = 0; f < s.frames; f++)
        memset(s.frame[f].data, 0, (size_t)(COILS * samples_of(&s, f)) * sizeof *s.frame[f].data);
    assert_int_equal(compress_coils(ctx, &s, 2, COMPRESS_BEST, &kept), VF_OK);
    assert_true(kept.kept == 1 && s.coils == 2);
    for (int64_t m = 0; m < 2 * SHORT; m++)
        assert_true(s.frame[0].data[m] == 0);
    free(before);
    free_scan(&s);
}

/* ---- samples of the centre ---- */

/* As the C library, on both sides of each half. */
static void test_nearest_point(void **state)
{
    (void)state;
    for (float half = -40.5F; half < 41; half += 1)
        for (int side = -1; side <= 1; side++) {
            const float k = side == 0 ? half : nextafterf(half, side < 0 ? -INFINITY : INFINITY);
            assert_int_equal(calibrate_nearest(k), llroundf(k));
        }
    assert_true(calibrate_nearest(-0.0F) == 0 && calibrate_nearest(4e6F) == 4000000);
}

/* Only the exponents change, also of numbers whose scale is no number of single precision. */
static void test_normalised_data(void **state)
{
    const vf_context *ctx = *state;
    static const int powers[] = {-149, -130, -1, 0, 1, 127};
    for (size_t p = 0; p < sizeof powers / sizeof *powers; p++) {
        float complex *data = random_images(1, 70000), *before = allocate(70000 * sizeof *before);
        for (int i = 0; i < 70000; i++)
            data[i] *= ldexpf(0.01F, powers[p]);
        data[69999] = ldexpf(1, powers[p]); /* the largest */
        memcpy(before, data, 70000 * sizeof *before);
        calibrate_normalise(ctx, data, 70000);
        for (int i = 0; i < 70000; i++)
            assert_true(crealf(data[i]) == ldexpf(crealf(before[i]), -powers[p]) &&
                        cimagf(data[i]) == ldexpf(cimagf(before[i]), -powers[p]));
        FREE_ALL(data, before);
    }
}

TEST_MAIN(make_context, free_context, cmocka_unit_test(test_whitened_noise_is_white),
          cmocka_unit_test(test_whitening_keeps_maps_and_data_together),
          cmocka_unit_test(test_no_covariance_nothing_to_do), cmocka_unit_test(test_singular_noise_is_refused),
          cmocka_unit_test(test_what_noise_looks_like), cmocka_unit_test(test_channels_are_left_out),
          cmocka_unit_test(test_channels_that_stay), cmocka_unit_test(test_lists_of_channels),
          cmocka_unit_test(test_compression_keeps_the_largest_components),
          cmocka_unit_test(test_compression_regards_every_frame), cmocka_unit_test(test_compression_without_loss),
          cmocka_unit_test(test_compression_keeps_maps_and_data_together),
          cmocka_unit_test(test_compression_bits_do_not_depend_on_threads),
          cmocka_unit_test(test_compression_of_nothing_and_to_nothing), cmocka_unit_test(test_nearest_point),
          cmocka_unit_test(test_normalised_data))
