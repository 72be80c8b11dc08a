/* Files of ISMRMRD's own tools (ismrmrd_generate_cartesian_shepp_logan): read, and transformed to the phantom stored
 * beside the acquisitions. Skipped if the tools are not installed. */
#include <math.h>

#include "ismrmrd_fixture.h"

enum { N = 24, WIDE = 2 * N, COILS = 3 };

/* Makes a file by the generator with further options; returns false if there is no such program. */
static bool generate(const char *options)
{
    char command[2 * PATH_SIZE];
    snprintf(command, sizeof command, "ismrmrd_generate_cartesian_shepp_logan -m %d -c %d %s -o %s >/dev/null 2>&1", N,
             COILS, options, path);
    unlink(path);
    return system(command) == 0;
}

static double complex turn(double turns)
{
    return cos(2 * 3.14159265358979323846 * turns) + sin(2 * 3.14159265358979323846 * turns) * I;
}

/* The image of a coil at a voxel, by the sum over all samples. */
static double complex coil_image(int coil, int x, int y)
{
    const scan_trajectory *t = &s.trajectory[0];
    double rx = (x - WIDE / 2) / (double)WIDE, ry = (y - N / 2) / (double)N;
    double complex sum = 0;
    for (int64_t m = 0; m < t->samples; m++)
        sum += s.frame[0].data[coil * t->samples + m] * turn((double)t->k[3 * m] * rx + (double)t->k[3 * m + 1] * ry);
    return sum;
}

static void read_phantom(float complex *phantom)
{
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT), set = H5Dopen2(file, "/dataset/phantom", H5P_DEFAULT);
    hid_t type = ismrmrd_complex_float_type();
    assert_true(H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, phantom) >= 0);
    H5Tclose(type);
    H5Dclose(set);
    H5Fclose(file);
}

/* Fully sampled and without noise, the image is the phantom times one factor. Both are floats: 48 * 24 of them are
 * summed, each rounded by at most 6e-8 of the whole signal, far below 1e-4. */
static void test_image_is_the_phantom(void **state)
{
    (void)state;
    static float complex phantom[N * N];
    static double complex image[N * N];
    double complex cross = 0;
    double power = 0, error = 0, whole = 0;
    if (!generate("-n 0"))
        skip();
    read_it(NULL, K_AUTO);
    assert_int_equal(s.coils, COILS);
    assert_int_equal(s.matrix[0] * 10000 + s.crop[0] * 100 + s.matrix[1], WIDE * 10000 + N * 100 + N);
    assert_int_equal(s.trajectory[0].samples, WIDE * N);
    assert_non_null(s.sensitivity);
    read_phantom(phantom);
    for (int i = 0; i < N * N; i++) {
        int x = i % N + WIDE / 2 - N / 2, y = i / N;
        double weight = 0;
        for (int c = 0; c < COILS; c++) {
            double complex map = s.sensitivity[(c * N + y) * WIDE + x];
            image[i] += conj(map) * coil_image(c, x, y);
            weight += creal(map * conj(map));
        }
        image[i] /= weight;
        cross += conj(phantom[i]) * image[i];
        power += (double)crealf(phantom[i] * conjf(phantom[i]));
    }
    double complex factor = cross / power;
    for (int i = 0; i < N * N; i++) {
        error += pow(cabs(image[i] - factor * phantom[i]), 2);
        whole += pow(cabs(factor * phantom[i]), 2);
    }
    if (!(sqrt(error / whole) < 1e-4))
        fail_msg("the image differs from the phantom by %g", sqrt(error / whole));
}

/* The generator's trajectories are in cycles per voxel, and agree with its encoding steps. */
static void test_stored_trajectory(void **state)
{
    (void)state;
    if (!generate("-k -n 0"))
        skip();
    read_it(NULL, K_AUTO);
    mri_scan stored = s;
    memset(&s, 0, sizeof s);
    assert_true(generate("-n 0"));
    read_it(NULL, K_AUTO);
    assert_int_equal(stored.trajectory[0].samples, s.trajectory[0].samples);
    assert_memory_equal(stored.trajectory[0].k, s.trajectory[0].k, (size_t)WIDE * N * 3 * sizeof(float));
    assert_memory_equal(stored.frame[0].data, s.frame[0].data, (size_t)WIDE * N * COILS * sizeof(float complex));
    assert_non_null(strstr(stored.description, "cycles per voxel"));
    scan_free(&stored);
}

static void test_repetitions_and_noise(void **state)
{
    (void)state;
    if (!generate("-r 3 -a 2 -w 6 -C -n 0.125"))
        skip();
    read_it(NULL, K_AUTO);
    assert_int_equal(s.frames * 10 + s.volumes, 66); /* the generator interleaves: 2 for each repetition */
    assert_int_equal(s.trajectories, 2);
    expect_said("1 noise");
    /* Every second line, and the other three of the middle six: the header's calibrationMode is interleaved. */
    assert_int_equal(s.calibrations, 0);
    assert_int_equal(s.trajectory[0].samples, (N / 2 + 3) * WIDE);
    assert_non_null(s.noise);
    for (int c = 0; c < COILS; c++) {
        /* 48 samples of variance 2 * 0.125^2: the mean is off by a sixth or so; by more than 3/4 once in 1e6 */
        double variance = creal(s.noise[c * COILS + c]) / (2 * 0.125 * 0.125);
        assert_true(variance > 0.25 && variance < 1.75);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(test_image_is_the_phantom), TEST(test_stored_trajectory),
                                       TEST(test_repetitions_and_noise)};
    if (built_without_expat())
        return 77;
    if (system("command -v ismrmrd_generate_cartesian_shepp_logan >/dev/null 2>&1") != 0) {
        printf("SKIP: no ismrmrd_generate_cartesian_shepp_logan (package ismrmrd-tools)\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
