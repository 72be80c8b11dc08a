/* The images that mri_recon writes: invalid ones are rejected and leave no file; how images are compared. */
#include "image_test.h"

#include <signal.h>
#include <sys/resource.h>

static void copies_that_cannot_be(void **state)
{
    (void)state;
    char path[PATH_SIZE], target[PATH_SIZE];
    path_of("scan.h5", path);
    path_of("image.mrd", target);
    recon_image image = plain_image(1, 4, 4, 4);
    need(write_image(ctx, &image, path)); /* HDF5, but not a scan */
    image.copy_of = path;
    expect_file_error(write_image(ctx, &image, target), VF_ERR_INPUT, path, "is not a group of an ISMRMRD scan");
    need(symlink(path, target) == 0 ? VF_OK : VF_ERR_OUTPUT);
    expect_file_error(write_image(ctx, &image, target), VF_ERR_ARGUMENT, target, "the scan itself");
    unlink(target);
    FILE *text = fopen(path, "w");
    fputs("no HDF5", text);
    fclose(text);
    expect_file_error(write_image(ctx, &image, target), VF_ERR_INPUT, path, "not an HDF5 file");
    unlink(path);
    expect_file_error(write_image(ctx, &image, target), VF_ERR_INPUT, path, "No such file");
    assert_int_equal(files_left(), 0);
    recon_image_free(&image);
}

static void values_that_are_none(void **state)
{
    (void)state;
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    char path[PATH_SIZE];
    for (int f = 0; f < ALL; f++)
        for (int b = 0; b < 3; b++)
            for (int part = 0; part < 2; part++) {
                recon_image image = plain_image(2, 5, 4, 3);
                image.data[60 + (2 * 4 + 3) * 5 + 1] = part ? complex_of(0, bad[b]) : complex_of(bad[b], 0);
                path_of(all_names[f], path);
                expect_file_error(write_image(ctx, &image, path), VF_ERR_OUTPUT, path, "voxel (1, 3, 2) of frame 1");
                recon_image_free(&image);
            }
    assert_int_equal(files_left(), 0);
}

static void too_many_voxels(void **state)
{
    (void)state;
    char path[PATH_SIZE];
    recon_image line = plain_image(1, 70000, 1, 1), frames = plain_image(70000, 1, 1, 1);
    for (int f = 1; f < ALL; f++) {
        path_of(all_names[f], path);
        expect_file_error(write_image(ctx, &line, path), VF_ERR_UNSUPPORTED, path, f == 3 ? "65535" : "32767");
        expect_file_error(write_image(ctx, &frames, path), VF_ERR_UNSUPPORTED, path, "write .h5 instead");
    }
    assert_int_equal(files_left(), 0);
    recon_image_free(&line);
    recon_image_free(&frames);
}

/* A disk that fills up: the process's file size limit is smaller than the image. */
static void no_room(void **state)
{
    (void)state;
    static const rlim_t limits[] = {0, 300, 900, 5000, 100000};
    char path[PATH_SIZE], source[PATH_SIZE];
    struct rlimit before;
    recon_image image = plain_image(1, 64, 64, 32);
    need(write_image(ctx, &image, path_of("scan.mrd", source)));
    getrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, SIG_IGN);
    for (size_t l = 0; l < sizeof limits / sizeof *limits; l++)
        for (int f = 0; f <= ALL; f++) { /* the last: a copy */
            struct rlimit small = {.rlim_cur = limits[l], .rlim_max = before.rlim_max};
            image.copy_of = f == ALL ? source : NULL;
            path_of(f == ALL ? "copy.mrd" : all_names[f], path);
            setrlimit(RLIMIT_FSIZE, &small);
            vf_status status = write_image(ctx, &image, path);
            setrlimit(RLIMIT_FSIZE, &before);
            expect_file_error(status, VF_ERR_OUTPUT, path, "File too large");
            assert_int_equal(files_left(), 1);
        }
    unlink(source);
    image.copy_of = NULL;
    for (int f = 0; f < ALL; f++) {
        path_of(all_names[f], path);
        assert_int_equal(symlink("/dev/full", path), 0);
        expect_file_error(write_image(ctx, &image, path), VF_ERR_OUTPUT, path, "cannot");
        unlink(path);
        snprintf(path, sizeof path, "%.200s/missing/%s", directory, all_names[f]);
        expect_file_error(write_image(ctx, &image, path), VF_ERR_OUTPUT, path, "No such file");
        expect_file_error(image_check_path(ctx, path), VF_ERR_OUTPUT, path, "No such file");
        need(write_image(ctx, &image, path_of(all_names[f], path))); /* and afterwards everything works */
        unlink(path);
    }
    recon_image_free(&image);
}

static void names(void **state)
{
    (void)state;
    static const char *const good[] = {"a.h5", "A.B.HDF5", "a.nii", "a.Nii.Gz", "a.mrd"};
    static const char *const bad[] = {"", "nii", ".nii", "a.gz", "a.nii.", "a.dcm", "a.h5/b", "a.mrd.gz"};
    char path[PATH_SIZE];
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        need(image_check_path(ctx, path_of(good[i], path)));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        expect_file_error(image_check_path(ctx, path_of(bad[i], path)), VF_ERR_ARGUMENT, path,
                          ".h5 .hdf5 .nii.gz .nii .mrd");
    assert_int_equal(files_left(), 0);
}

/* ---- window, comparison ---- */

static void window(void **state)
{
    (void)state;
    double white;
    recon_image image = plain_image(2, 100, 100, 1);
    memset(image.data, 0, 20000 * sizeof *image.data);
    need(image_white(ctx, &image, 0, 2, &white));
    assert_true(white == 1);       /* nothing is there */
    for (int i = 0; i < 1000; i++) /* 1000 voxels of 1 to 10, one far off, and background of 0.1 */
        image.data[10000 + 7 * i] = complex_of(0, 1 + 0.009f * (float)i);
    for (int i = 0; i < 10000; i++)
        image.data[i] = 0.1f;
    image.data[19999] = 1000;
    need(image_white(ctx, &image, 0, 2, &white));
    assert_true(white > 9.9 && white < 10); /* the 99.5th percentile of those 1000: 9.95 */
    need(image_white(ctx, &image, 0, 1, &white));
    assert_true(fabs(white - 0.1) < 1e-7);
    recon_image_free(&image);
    /* One nonzero voxel among rounding errors, in an image of which only a part is sampled: its magnitude is white. */
    image = plain_image(1, 90, 90, 90);
    for (int64_t i = 0; i < image_volume(&image); i++)
        image.data[i] *= 1e-7f;
    for (int at = 1; at < 9; at++) {
        image.data[at] = complex_of(-3, 4);
        need(image_white(ctx, &image, 0, 1, &white));
        assert_true(white == 5);
        image.data[at] = 0;
    }
    recon_image_free(&image);
    /* A million numbers from 500000 on, shuffled: all are used, so the percentile is exact. The largest becomes a
     * hot voxel, a hundred times brighter; it is still the largest, and white does not change. */
    image = plain_image(1, 100, 100, 100);
    for (int64_t i = 0; i < 1000000; i++)
        image.data[i] = complex_of(0, (float)(500000 + i * 7919 % 1000000));
    need(image_white(ctx, &image, 0, 1, &white));
    assert_true(white == 500000 + 994999); /* floor(0.995 * 999999) */
    for (int64_t i = 0; i < 1000000; i++)
        if (cimagf(image.data[i]) == 1499999)
            image.data[i] = 1.5e8f;
    need(image_white(ctx, &image, 0, 1, &white));
    assert_true(white == 500000 + 994999);
    recon_image_free(&image);
    /* Of 4.1 million, every third is used: the rank has an uncertainty of sqrt(0.005 / 1.37e6) of a million, 60; six
     * times that. */
    image = plain_image(1, 160, 160, 160);
    for (int64_t i = 0; i < image_volume(&image); i++)
        image.data[i] = (float)(500000 + i * 7919 % 1000000);
    need(image_white(ctx, &image, 0, 1, &white));
    assert_true(fabs(white - 1494999) < 360);
    recon_image_free(&image);
}

/* By hand: truth 3, 4, 0, 0 and image 3i, 3, 1, -1: squares of errors 0, 1, 1, 1; mean 3/4; rms of the truth 5/2.
 * The scale: sum I I0 / sum I^2 = 21/20, with which sum (s I - I0)^2 = 25 - 21^2/20 = 2.95. */
static void comparison(void **state)
{
    (void)state;
    const float complex image[4] = {complex_of(0, 3), 3, 1, -1};
    const float truth[4] = {3, 4, 0, 0};
    image_comparison c;
    need(compare_images(ctx, "it", 4, image, truth, &c));
    assert_true(fabs(c.error.mse - 0.75) < 1e-15);
    assert_true(fabs(c.error.psnr - 20 * log10(4 / sqrt(0.75))) < 1e-12);
    assert_true(fabs(c.error.snr - 20 * log10(2.5 / sqrt(0.75))) < 1e-12);
    assert_true(fabs(c.error.percent - 100 * sqrt(0.75) / 2.5) < 1e-12);
    assert_true(fabs(c.scale - 1.05) < 1e-14);
    assert_true(fabs(c.scaled.mse - 2.95 / 4) < 1e-14);
    assert_true(fabs(c.scaled.psnr - 20 * log10(4 / sqrt(2.95 / 4))) < 1e-12);
    assert_true(fabs(c.scaled.percent - 100 * sqrt(2.95 / 25)) < 1e-12);
    need(compare_images(ctx, "it", 2, (const float complex[2]){complex_of(0, -3), 4}, truth, &c));
    assert_true(c.error.mse == 0 && c.error.percent == 0 && isinf(c.error.psnr) && c.error.psnr > 0 &&
                isinf(c.error.snr) && c.error.snr > 0 && c.scale == 1 && c.scaled.mse == 0);
    need(compare_images(ctx, "it", 2, (const float complex[2]){0, 0}, truth, &c));
    assert_true(c.scale == 1 && c.error.percent == 100 && c.scaled.percent == 100);
    /* Other units: 2^-20, and the most different ones that single precision allows. */
    need(compare_images(ctx, "it", 2, (const float complex[2]){complex_of(0, 0x3p-20f), 0x4p-20f}, truth, &c));
    assert_true(c.scale == 0x1p20 && c.scaled.mse == 0 && fabs(c.error.percent - 100) < 1e-3);
    need(compare_images(ctx, "it", 2, (const float complex[2]){0x3p-149f, 0x4p-149f},
                        (const float[2]){0x3p125f, 0x4p125f}, &c));
    assert_true(fabs(c.scale / 0x1p274 - 1) < 1e-15 && c.scaled.percent < 1e-13);
}

/* More voxels than one thread adds up. The image is half the truth, with a phase, so the errors are half the truth. */
static void comparison_of_many(void **state)
{
    (void)state;
    enum { VOXELS = 100003, BRIGHT = 70001 };
    float complex *image = malloc(VOXELS * sizeof *image);
    float *truth = malloc(VOXELS * sizeof *truth);
    image_comparison c;
    assert_true(image && truth);
    for (int i = 0; i < VOXELS; i++) {
        truth[i] = i == BRIGHT ? 6 : 2;
        image[i] = complex_of(0, -truth[i] / 2);
    }
    const double energy = 4.0 * (VOXELS - 1) + 36, mse = energy / 4 / VOXELS;
    for (int threads = 1; threads <= 3; threads++) {
        need(vf_context_set_threads(ctx, threads));
        need(compare_images(ctx, "it", VOXELS, image, truth, &c));
        assert_true(c.error.mse == mse && c.scale == 2 && c.scaled.mse == 0); /* sums of small integers: exact */
        assert_true(fabs(c.error.psnr - 20 * log10(6 / sqrt(mse))) < 1e-12);
        assert_true(fabs(c.error.percent - 50) < 1e-12);
    }
    need(vf_context_set_threads(ctx, 0));
    free(image);
    free(truth);
}

static void what_cannot_be_compared(void **state)
{
    (void)state;
    const float complex image[4] = {complex_of(0, 3), 3, 1, -1};
    const float truth[4] = {3, 4, 0, 0}, zero[4] = {0}, negative[4] = {-1, -1, -1, -1};
    image_comparison c;
    expect_file_error(compare_images(ctx, "it", 4, image, zero, &c), VF_ERR_INPUT, "it: the truth",
                      "no positive values");
    expect_file_error(compare_images(ctx, "it", 4, image, negative, &c), VF_ERR_INPUT, "it: ", "no positive values");
    expect_file_error(compare_images(ctx, "it", 0, image, truth, &c), VF_ERR_ARGUMENT, "it: ", "no voxels");
    expect_file_error(compare_images(ctx, "it", 4, image, (const float[4]){1, NAN, 1, 1}, &c), VF_ERR_INPUT,
                      "it: ", "the truth has");
    expect_file_error(compare_images(ctx, "it", 4, image, (const float[4]){1, 1, INFINITY, 1}, &c), VF_ERR_INPUT,
                      "it: ", "the truth has");
    expect_file_error(compare_images(ctx, "it", 2, (const float complex[2]){1, complex_of(0, NAN)}, truth, &c),
                      VF_ERR_INPUT, "it: ", "the image has");
}

static void several_comparisons(void **state)
{
    (void)state;
    const image_comparison all[3] = {{{1, 30, 20, 10}, {1, 31, 21, 9}, 1.04},
                                     {{4, 27, 17, 40}, {2, 28, 18, 6}, 1.06},
                                     {{1, 24, 14, 10}, {3, 25, 15, 3}, 0.9}};
    assert_int_equal(comparison_worst(all, 3), 1);
    const image_comparison mean = comparison_mean(all, 3);
    assert_true(fabs(mean.error.mse - 2) < 1e-12 && fabs(mean.error.psnr - 27) < 1e-12 &&
                fabs(mean.error.snr - 17) < 1e-12 && fabs(mean.error.percent - 20) < 1e-12);
    assert_true(fabs(mean.scaled.psnr - 28) < 1e-12 && fabs(mean.scaled.percent - 6) < 1e-12 &&
                fabs(mean.scale - 1) < 1e-12);
    assert_true(!comparison_scale_matters(&all[0]) && comparison_scale_matters(&all[1]) &&
                comparison_scale_matters(&all[2]));
}

TEST_MAIN(set_up, close_folder, cmocka_unit_test(copies_that_cannot_be), cmocka_unit_test(values_that_are_none),
          cmocka_unit_test(too_many_voxels), cmocka_unit_test(no_room), cmocka_unit_test(names),
          cmocka_unit_test(window), cmocka_unit_test(comparison), cmocka_unit_test(comparison_of_many),
          cmocka_unit_test(what_cannot_be_compared), cmocka_unit_test(several_comparisons))
