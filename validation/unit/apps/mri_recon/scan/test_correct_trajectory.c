/* The corrections of a trajectory, except motion: readouts, the gradients' response, measured trajectories,
 * delays. */
#include "correct_fixture.h"

#include "scan/girf_file.h"

enum { FREQUENCIES = 4001 };

/* ---- readouts ---- */

static void test_readouts(void **state)
{
    (void)state;
    make_scan(3, 1);
    write_text("");
    settings.motion = path;
    free(raw.trajectory->time);
    raw.trajectory->time = NULL;
    for (int i = 0; i < 3 * SAMPLES; i++)
        raw.trajectory->k[i] = (float)uniform_between(-8, 8);
    expect_refusal("--motion: cannot tell where readouts begin: sample times (/scan/time)");
    settings.readout_samples = LENGTH;
    expect_refusal("but the scan has 7 readouts");
    make_scan(3, 1);
    settings.motion = path;
    cut_readout();
    expect_refusal("but the scan has 8 readouts");
    make_radial(true);
    settings.delays = RECON_DELAYS_AUTO;
    cut_readout();
    expect_refusal("readout 1 of trajectory 0 is not as long as the first");
}

/* ---- gradient response ---- */

typedef double complex (*response)(int to, int from, double hertz);

static double complex identity(int to, int from, double hertz)
{
    (void)hertz;
    return to == from;
}

static double complex late(int to, int from, double hertz) /* by 3 samples */
{
    return to == from ? cexp(-2 * M_PI * hertz * 3e-5 * I) : 0;
}

static double complex leaking(int to, int from, double hertz)
{
    (void)hertz;
    return to == from ? 1 : to == 0 && from == 1 ? 0.1 : 0;
}

/* From -50 kHz, or 0, to 50 kHz, the Nyquist frequency of samples 10 us apart. */
static void write_response(response f, bool crossed, bool one_sided)
{
    vf_h5 *file;
    double *hertz = room(FREQUENCIES, sizeof *hertz);
    double complex *value = room(9 * FREQUENCIES, sizeof *value);
    for (int i = 0; i < FREQUENCIES; i++) {
        hertz[i] = one_sided ? 5e4 * i / (FREQUENCIES - 1) : 1e5 * i / (FREQUENCIES - 1) - 5e4;
        for (int to = 0; to < 3; to++)
            for (int from = 0; from < 3; from++)
                if (crossed || to == from)
                    value[(crossed ? 3 * to + from : to) * FREQUENCIES + i] = f(to, from, hertz[i]);
    }
    const int64_t count = FREQUENCIES, plain[2] = {3, FREQUENCIES}, cross[3] = {3, 3, FREQUENCIES};
    assert_int_equal(vf_h5_create(ctx, path, &file), VF_OK);
    write_array(file, "/girf/frequency", VF_F64, 1, &count, hertz);
    write_array(file, "/girf/transfer", VF_C128, crossed ? 3 : 2, crossed ? cross : plain, value);
    assert_int_equal(vf_h5_commit(&file), VF_OK);
    free(hertz);
    free(value);
    settings.girf = path;
}

/* Sums of LENGTH steps. k is at most 6 and is rounded to single precision once; the transforms are in double
 * precision. Interpolating a phase over 25 Hz has an error of (2 pi 25 3e-5)^2 / 8 = 3e-6 of the steps, which are at
 * most 2. */
static void test_girf(void **state)
{
    (void)state;
    const double tolerance = 8 * ROUNDING + 1e-9, interpolated = tolerance + LENGTH * 2 * 3e-6;
    for (int crossed = 0; crossed < 2; crossed++) {
        make_scan(3, 1);
        float *k = copy_k();
        write_response(identity, crossed, !crossed);
        correct();
        for (int64_t m = 0; m < SAMPLES; m++)
            for (int a = 0; a < 3; a++)
                expect_k(0, m, a, k[3 * m + a], tolerance);
        write_response(late, crossed, crossed);
        correct();
        for (int64_t m = 0; m < SAMPLES; m++)
            for (int a = 0; a < 3; a++)
                expect_k(0, m, a, k[3 * (m % LENGTH < 3 ? m - m % LENGTH : m - 3) + a], interpolated);
        free(k);
    }
    make_scan(3, 1);
    float *k = copy_k();
    cut_readout(); /* readouts of two lengths */
    write_response(late, true, false);
    correct();
    assert_int_equal(raw.trajectory->readouts, READOUTS + 1);
    for (int64_t i = 0; i <= READOUTS; i++)
        for (int64_t first = raw.trajectory->readout[i], m = first; m < raw.trajectory->readout[i + 1]; m++)
            for (int a = 0; a < 3; a++)
                expect_k(0, m, a, k[3 * (m - first < 3 ? first : m - 3) + a], interpolated);
    free(k);
    make_scan(3, 1);
    k = copy_k();
    write_response(leaking, true, false);
    correct();
    for (int64_t m = 0; m < SAMPLES; m++) {
        const int64_t first = m - m % LENGTH;
        const double leaked = 0.1 * (k[3 * m + 1] - k[3 * first + 1]) * raw.fov[0] / raw.fov[1];
        expect_k(0, m, 0, k[3 * m] + leaked, 2 * tolerance);
        expect_k(0, m, 1, k[3 * m + 1], tolerance);
        expect_k(0, m, 2, k[3 * m + 2], tolerance);
    }
    free(k);
}

static void test_girf_refusals(void **state)
{
    (void)state;
    const double rising[2] = {0, 1}, falling[2] = {1, 0};
    const int64_t two = 2, wrong[2] = {3, 5}, right[2] = {3, 2};
    const double complex values[15] = {NAN};
    make_radial(false);
    write_response(identity, false, false);
    expect_refusal("time between samples");
    make_scan(3, 1);
    settings.girf = path;
    raw.trajectory->time[5] += 3e-6F;
    expect_refusal("sample 5");
    make_scan(3, 1);
    settings.girf = path;
    write_file("/girf/frequency", VF_F64, 1, &two, rising);
    expect_refusal("/girf/transfer is missing");
    for (int i = 0; i < 3; i++) {
        vf_h5 *file;
        assert_int_equal(vf_h5_create(ctx, path, &file), VF_OK);
        write_array(file, "/girf/frequency", VF_F64, 1, &two, i == 0 ? falling : rising);
        write_array(file, "/girf/transfer", VF_C128, 2, i == 2 ? wrong : right, values);
        assert_int_equal(vf_h5_commit(&file), VF_OK);
        expect_refusal(i == 0 ? "must rise" : i == 1 ? "not finite" : "of the shape [3][2]");
    }
}

/* ---- measured trajectories ---- */

static void test_measured(void **state)
{
    (void)state;
    float *k = room(2 * 3 * SAMPLES, sizeof *k);
    for (int i = 0; i < 2 * 3 * SAMPLES; i++)
        k[i] = (float)uniform_between(-8, 8);
    const int64_t one[2] = {SAMPLES, 3}, each[3] = {2, SAMPLES, 3}, flat[2] = {SAMPLES, 2}, three[3] = {3, SAMPLES, 1};
    for (int n = 0; n < 3; n++) {
        make_scan(n == 2 ? 2 : 3, 2);
        settings.trajectory = path;
        write_file("/scan/trajectory", VF_F32, n == 1 ? 3 : 2, n == 0 ? one : n == 1 ? each : flat, k);
        correct();
        assert_int_equal(raw.trajectories, n == 1 ? 2 : 1);
        for (int64_t m = 0; m < SAMPLES; m++)
            for (int f = 0; f < raw.trajectories; f++)
                for (int a = 0; a < 3; a++)
                    expect_k(f, m, a, n == 2 ? (a < 2 ? k[2 * m + a] : 0) : k[3 * (f * SAMPLES + m) + a], 0);
    }
    make_scan(3, 2);
    settings.trajectory = path;
    expect_refusal("2 components");
    write_file("/scan/trajectory", VF_F32, 3, three, k);
    expect_refusal("components");
    write_file("/scan/k", VF_F32, 2, one, k);
    expect_refusal("/scan/trajectory is missing");
    const int64_t less[2] = {SAMPLES - 1, 3};
    write_file("/scan/trajectory", VF_F32, 2, less, k);
    expect_refusal("has 167 samples, but frame 0 of the scan has 168");
    k[3 * 11 + 2] = NAN;
    write_file("/scan/trajectory", VF_F32, 2, one, k);
    expect_refusal("k of sample 11 is nan");
    for (int i = 0; i < 3 * SAMPLES; i++)
        k[i] = (float)uniform_between(-0.4, 0.4);
    write_file("/scan/trajectory", VF_F32, 2, one, k);
    expect_refusal("--trajectory-units");
    settings.read.units = K_NORMALIZED;
    make_scan(3, 2);
    settings.trajectory = path;
    settings.read.units = K_NORMALIZED;
    correct();
    expect_k(0, 5, 1, 16 * (double)k[3 * 5 + 1], 0);
    free(k);
}

/* ---- given delays ---- */

/* Each sample moves by the delay times the step, which is half a cycle along the direction. The steps follow from the
 * ends of a spoke, and k is rounded once. */
static void test_given_delays(void **state)
{
    (void)state;
    for (int with_time = 0; with_time < 2; with_time++) {
        make_radial(with_time);
        float *k = copy_k();
        settings.delays = RECON_DELAYS_GIVEN;
        for (int a = 0; a < 3; a++)
            settings.delay[a] = uniform_between(-2, 2);
        correct();
        for (int64_t m = 0; m < SAMPLES; m++)
            for (int a = 0; a < 3; a++) {
                const int64_t next = m % LENGTH + 1 < LENGTH ? m + 1 : m;
                const double step = (double)k[3 * next + a] - k[3 * (next - 1) + a];
                expect_k(0, m, a, k[3 * m + a] - settings.delay[a] * step, 8 * ROUNDING * 8);
            }
        free(k);
    }
}

static void test_not_radial(void **state)
{
    (void)state;
    make_scan(3, 1);
    settings.delays = RECON_DELAYS_AUTO;
    expect_refusal("--delays needs a radial trajectory; readout 0 of trajectory 0 is not a straight line");
    make_radial(true);
    settings.delays = RECON_DELAYS_AUTO;
    for (int j = 0; j < LENGTH; j++)
        for (int a = 0; a < 3; a++)
            raw.trajectory->k[3 * (2 * LENGTH + j) + a] += a == 2 ? 0 : 2;
    for (int j = 0; j < LENGTH; j++) { /* vertical, off the centre */
        raw.trajectory->k[3 * (2 * LENGTH + j)] = raw.trajectory->k[3 * (2 * LENGTH + j) + 1] = 2;
        raw.trajectory->k[3 * (2 * LENGTH + j) + 2] = 0.5F * (float)(j - LENGTH / 2);
    }
    expect_refusal("readout 2 of trajectory 0 does not pass through the centre");
    make_radial(true);
    settings.delays = RECON_DELAYS_GIVEN;
    raw.trajectory->phi = room(SAMPLES, sizeof *raw.trajectory->phi);
    expect_refusal("/scan/phi");
}

TEST_MAIN(set_up, tear_down, cmocka_unit_test(test_readouts), cmocka_unit_test(test_girf),
          cmocka_unit_test(test_girf_refusals), cmocka_unit_test(test_measured), cmocka_unit_test(test_given_delays),
          cmocka_unit_test(test_not_radial))
