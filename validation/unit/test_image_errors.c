/* The images that mri_recon writes: what cannot be written is refused, and nothing is left of it; how images are
 * compared. */
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
    must(write_image(ctx, &image, path)); /* HDF5, but no scan */
    image.copy_of = path;
    expect_error(write_image(ctx, &image, target), VF_ERR_INPUT, path, "is no group of an ISMRMRD scan");
    must(symlink(path, target) == 0 ? VF_OK : VF_ERR_OUTPUT);
    expect_error(write_image(ctx, &image, target), VF_ERR_ARGUMENT, target, "the scan itself");
    unlink(target);
    FILE *text = fopen(path, "w");
    fputs("no HDF5", text);
    fclose(text);
    expect_error(write_image(ctx, &image, target), VF_ERR_INPUT, path, "not an HDF5 file");
    unlink(path);
    expect_error(write_image(ctx, &image, target), VF_ERR_INPUT, path, "No such file");
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
                expect_error(write_image(ctx, &image, path), VF_ERR_OUTPUT, path, "voxel (1, 3, 2) of frame 1");
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
        expect_error(write_image(ctx, &line, path), VF_ERR_UNSUPPORTED, path, f == 3 ? "65535" : "32767");
        expect_error(write_image(ctx, &frames, path), VF_ERR_UNSUPPORTED, path, "write .h5 instead");
    }
    assert_int_equal(files_left(), 0);
    recon_image_free(&line);
    recon_image_free(&frames);
}

/* A disk that fills up: the largest file that the process may write is smaller than the image. */
static void no_room(void **state)
{
    (void)state;
    static const rlim_t limits[] = {0, 300, 900, 5000, 100000};
    char path[PATH_SIZE], source[PATH_SIZE];
    struct rlimit before;
    recon_image image = plain_image(1, 64, 64, 32);
    must(write_image(ctx, &image, path_of("scan.mrd", source)));
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
            expect_error(status, VF_ERR_OUTPUT, path, "File too large");
            assert_int_equal(files_left(), 1);
        }
    unlink(source);
    image.copy_of = NULL;
    for (int f = 0; f < ALL; f++) {
        path_of(all_names[f], path);
        assert_int_equal(symlink("/dev/full", path), 0);
        expect_error(write_image(ctx, &image, path), VF_ERR_OUTPUT, path, "cannot");
        unlink(path);
        snprintf(path, sizeof path, "%.200s/missing/%s", directory, all_names[f]);
        expect_error(write_image(ctx, &image, path), VF_ERR_OUTPUT, path, "No such file");
        expect_error(image_check_path(ctx, path), VF_ERR_OUTPUT, path, "No such file");
        must(write_image(ctx, &image, path_of(all_names[f], path))); /* and all is well afterwards */
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
        must(image_check_path(ctx, path_of(good[i], path)));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        expect_error(image_check_path(ctx, path_of(bad[i], path)), VF_ERR_ARGUMENT, path,
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
    must(image_white(ctx, &image, 0, 2, &white));
    assert_true(white == 1);       /* nothing is there */
    for (int i = 0; i < 1000; i++) /* 1000 voxels of 1 to 10, one far off, and background of 0.1 */
        image.data[10000 + 7 * i] = complex_of(0, 1 + 0.009f * (float)i);
    for (int i = 0; i < 10000; i++)
        image.data[i] = 0.1f;
    image.data[19999] = 1000;
    must(image_white(ctx, &image, 0, 2, &white));
    assert_true(white > 9.9 && white < 10); /* the 99.5th percentile of those 1000: 9.95 */
    must(image_white(ctx, &image, 0, 1, &white));
    assert_true(fabs(white - 0.1) < 1e-7);
    recon_image_free(&image);
}

/* By hand: truth 3, 4, 0, 0 and image 3i, 3, 1, -1: squares of errors 0, 1, 1, 1; mean 3/4; rms of the truth 5/2. */
static void comparison(void **state)
{
    (void)state;
    const float complex image[4] = {complex_of(0, 3), 3, 1, -1};
    const float truth[4] = {3, 4, 0, 0}, zero[4] = {0}, negative[4] = {-1, -1, -1, -1};
    image_error e;
    must(compare_images(ctx, 4, image, truth, &e));
    assert_true(fabs(e.mse - 0.75) < 1e-15);
    assert_true(fabs(e.psnr - 20 * log10(4 / sqrt(0.75))) < 1e-12);
    assert_true(fabs(e.snr - 20 * log10(2.5 / sqrt(0.75))) < 1e-12);
    assert_true(fabs(e.percent - 100 * sqrt(0.75) / 2.5) < 1e-12);
    must(compare_images(ctx, 2, (const float complex[2]){complex_of(0, -3), 4}, truth, &e));
    assert_true(e.mse == 0 && e.percent == 0 && isinf(e.psnr) && e.psnr > 0 && isinf(e.snr) && e.snr > 0);
    expect_error(compare_images(ctx, 4, image, zero, &e), VF_ERR_INPUT, "truth", "nowhere above zero");
    expect_error(compare_images(ctx, 4, image, negative, &e), VF_ERR_INPUT, "truth", "nowhere above zero");
    expect_error(compare_images(ctx, 0, image, truth, &e), VF_ERR_ARGUMENT, "truth", "no voxels");
    expect_error(compare_images(ctx, 4, image, (const float[4]){1, NAN, 1, 1}, &e), VF_ERR_INPUT, "the truth has", "");
    expect_error(compare_images(ctx, 4, image, (const float[4]){1, 1, INFINITY, 1}, &e), VF_ERR_INPUT, "the truth has",
                 "");
    expect_error(compare_images(ctx, 2, (const float complex[2]){1, complex_of(0, NAN)}, truth, &e), VF_ERR_INPUT,
                 "the image has", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_that_cannot_be),
        cmocka_unit_test(values_that_are_none),
        cmocka_unit_test(too_many_voxels),
        cmocka_unit_test(no_room),
        cmocka_unit_test(names),
        cmocka_unit_test(window),
        cmocka_unit_test(comparison),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
