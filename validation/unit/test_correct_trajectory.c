/* The corrections of a trajectory, on scans of points in memory. */
#include <complex.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "random_fixture.h"
#include "scan/correct_internal.h"
#include "scan/correct_trajectory.h"
#include "scan/girf_file.h"
#include "voxfield/hdf5_io.h"

enum { COILS = 2, POINTS = 4, LENGTH = 24, READOUTS = 7, SAMPLES = LENGTH * READOUTS, FREQUENCIES = 4001 };
static const double ROUNDING = 0x1p-24; /* of single precision, relative */

static vf_context *ctx;
static char directory[200], path[256];
static mri_scan raw;
static recon_settings settings;

static double between(double least, double most)
{
    return least + (most - least) * uniform();
}

static int set_up(void **state)
{
    (void)state;
    const char *parent = getenv("TMPDIR");
    snprintf(directory, sizeof directory, "%.150s/test_correct.XXXXXX", parent ? parent : "/tmp");
    if (!mkdtemp(directory) || vf_context_create(&ctx) != VF_OK)
        return 1;
    snprintf(path, sizeof path, "%s/file", directory);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    scan_free(&raw);
    vf_context_destroy(ctx);
    unlink(path);
    return rmdir(directory);
}

static void *room(int64_t count, size_t size)
{
    void *p = calloc((size_t)count, size);
    assert_non_null(p);
    return p;
}

/* A curved trajectory with sample times that restart. */
static void curve(float *k, float *seconds, int dimensions)
{
    for (int i = 0; i < READOUTS; i++) {
        const double turn = between(0, 6), speed = between(0.1, 0.3), rise = between(-0.2, 0.2);
        for (int j = 0; j < LENGTH; j++) {
            float *at = k + 3 * (i * LENGTH + j);
            at[0] = (float)(0.25 * j * cos(turn + speed * j));
            at[1] = (float)(0.25 * j * sin(turn + speed * j));
            at[2] = dimensions == 3 ? (float)(rise * j) : 0;
            seconds[i * LENGTH + j] = 1e-5F * (float)j;
        }
    }
}

/* A scan of `frames` frames that share a trajectory. */
static void make_scan(int dimensions, int frames)
{
    scan_free(&raw);
    raw = (mri_scan){.matrix = {16, 16, dimensions == 3 ? 16 : 1},
                     .fov = {between(150, 300), between(150, 300), between(150, 300)},
                     .coils = COILS,
                     .volumes = frames,
                     .slices = 1,
                     .places = 1,
                     .trajectories = 1,
                     .frames = frames};
    snprintf(raw.layout, sizeof raw.layout, "plain");
    raw.trajectory = room(1, sizeof *raw.trajectory);
    raw.frame = room(frames, sizeof *raw.frame);
    scan_trajectory *t = raw.trajectory;
    t->samples = SAMPLES;
    t->k = room(3 * SAMPLES, sizeof *t->k);
    t->time = room(SAMPLES, sizeof *t->time);
    curve(t->k, t->time, dimensions);
    for (int f = 0; f < frames; f++) {
        raw.frame[f].volume = f;
        raw.frame[f].data = room(COILS * SAMPLES, sizeof *raw.frame[f].data);
        for (int m = 0; m < COILS * SAMPLES; m++)
            raw.frame[f].data[m] = 1;
    }
    settings = (recon_settings){.input = "scan.h5"};
}

/* Straight spokes through the centre with a step of half a cycle. */
static void make_radial(bool with_time)
{
    make_scan(3, 1);
    for (int i = 0; i < READOUTS; i++) {
        const double turn = between(0, 6), height = between(-1, 1), flat = sqrt(1 - height * height);
        for (int j = 0; j < LENGTH; j++) {
            float *at = raw.trajectory->k + 3 * (i * LENGTH + j);
            at[0] = (float)((j - LENGTH / 2) * 0.5 * flat * cos(turn));
            at[1] = (float)((j - LENGTH / 2) * 0.5 * flat * sin(turn));
            at[2] = (float)((j - LENGTH / 2) * 0.5 * height);
        }
    }
    if (!with_time) {
        free(raw.trajectory->time);
        raw.trajectory->time = NULL;
    }
}

static float *copy_k(void)
{
    float *k = room(3 * SAMPLES, sizeof *k);
    memcpy(k, raw.trajectory->k, 3 * SAMPLES * sizeof *k);
    return k;
}

static void correct(void)
{
    if (correct_trajectory(ctx, &settings, &raw) != VF_OK)
        fail_msg("%s", vf_context_message(ctx));
}

static void expect_refusal(const char *words)
{
    const vf_status status = correct_trajectory(ctx, &settings, &raw);
    const char *text = vf_context_message(ctx);
    if (status != VF_ERR_INPUT || !strstr(text, words))
        fail_msg("got %s, '%s', not '%s'", vf_status_name(status), text, words);
    vf_context_clear_error(ctx);
}

static void expect_k(int trajectory, int64_t m, int axis, double expected, double tolerance)
{
    const double got = raw.trajectory[trajectory].k[3 * m + axis];
    if (!(fabs(got - expected) <= tolerance))
        fail_msg("k of sample %lld along %c is %.9g instead of %.9g, allowed %.3g", (long long)m, "xyz"[axis], got,
                 expected, tolerance);
}

static void write_text(const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void write_array(vf_h5 *file, const char *name, vf_dtype type, int rank, const int64_t *dims, const void *data)
{
    const int64_t start[4] = {0};
    assert_int_equal(vf_h5_dataset_create(file, name, type, rank, dims, dims, 0), VF_OK);
    assert_int_equal(vf_h5_write(file, name, type, start, dims, data), VF_OK);
}

static void write_file(const char *name, vf_dtype type, int rank, const int64_t *dims, const void *data)
{
    vf_h5 *file;
    assert_int_equal(vf_h5_create(ctx, path, &file), VF_OK);
    write_array(file, name, type, rank, dims, data);
    assert_int_equal(vf_h5_commit(&file), VF_OK);
}

/* ---- readouts ---- */

static void test_readouts(void **state)
{
    (void)state;
    make_scan(3, 1);
    scan_trajectory *t = raw.trajectory;
    assert_int_equal(find_readout(t), LENGTH);
    float *seconds = t->time;
    t->time = NULL; /* curves without times */
    assert_int_equal(find_readout(t), 0);
    settings.motion = path;
    expect_refusal("/scan/time");
    t->time = seconds;
    seconds[LENGTH + 3] = 0; /* readouts of two lengths */
    assert_int_equal(find_readout(t), 0);
    t->readout = LENGTH; /* the file knows better */
    assert_int_equal(find_readout(t), LENGTH);
    make_radial(false);
    assert_int_equal(find_readout(raw.trajectory), LENGTH);
    raw.trajectory->samples -= LENGTH / 2; /* half a readout is missing */
    assert_int_equal(find_readout(raw.trajectory), 0);
    raw.trajectory->samples = 2;
    assert_int_equal(find_readout(raw.trajectory), 0);
}

/* ---- motion ---- */

typedef struct points {
    double r[POINTS][3]; /* mm */
    double complex value[COILS][POINTS];
} points;

static points make_points(void)
{
    points p;
    for (int n = 0; n < POINTS; n++) {
        for (int a = 0; a < 3; a++)
            p.r[n][a] = between(-0.3, 0.3) * raw.fov[a];
        for (int c = 0; c < COILS; c++)
            p.value[c][n] = between(-1, 1) + between(-1, 1) * I;
    }
    return p;
}

/* Turns v about one axis: the next axis moves towards the one after it. */
static void turn(double v[3], int axis, double degrees)
{
    const double c = cos(degrees * M_PI / 180), s = sin(degrees * M_PI / 180);
    double *a = &v[(axis + 1) % 3], *b = &v[(axis + 2) % 3];
    const double before = *a;
    *a = c * before - s * *b;
    *b = s * before + c * *b;
}

static double complex signal(const points *p, int coil, const float *k, const double move[6])
{
    double complex sum = 0;
    for (int n = 0; n < POINTS; n++) {
        double r[3] = {p->r[n][0], p->r[n][1], p->r[n][2]}, turns = 0;
        for (int a = 0; a < 3; a++)
            turn(r, a, move[3 + a]);
        for (int a = 0; a < 3; a++)
            turns += k[a] * (r[a] + move[a]) / raw.fov[a];
        sum += p->value[coil][n] * cexp(-2 * M_PI * turns * I);
    }
    return sum;
}

/* After the correction, the data are those of the points at rest, at the new k. k is rounded by ROUNDING of up to 8 x
 * 1.5 x 2 cycles (fields of view differ by up to 2), which turns values at 0.3 fields of view; the data are rounded
 * twice, and the factor once. */
static void check_motion(int dimensions)
{
    const double still[6] = {0};
    static double move[2 * READOUTS][6];
    char text[200 * 2 * READOUTS] = "# x y z, about x y z\n\n";
    make_scan(dimensions, 2);
    const points p = make_points();
    for (int row = 0; row < 2 * READOUTS; row++) {
        for (int a = 0; a < 6; a++)
            move[row][a] = dimensions == 3 || a < 2 || a == 5 ? between(-30, 30) : 0;
        snprintf(text + strlen(text), 200,
                 row % 2 ? "%.17g %.17g\t%.17g %.17g %.17g %.17g # row\r\n"
                         : " %.17g, %.17g,%.17g ,%.17g,%.17g, %.17g\n",
                 move[row][0], move[row][1], move[row][2], move[row][3], move[row][4], move[row][5]);
        for (int c = 0; c < COILS; c++)
            for (int m = row % READOUTS * LENGTH; m < (row % READOUTS + 1) * LENGTH; m++)
                raw.frame[row / READOUTS].data[c * SAMPLES + m] =
                    (float complex)signal(&p, c, raw.trajectory->k + 3 * m, move[row]);
    }
    write_text(text);
    settings.motion = path;
    correct();
    assert_int_equal(raw.trajectories, 2);
    assert_non_null(strstr(raw.corrections, "motion of 14 readouts"));
    const double tolerance = POINTS * sqrt(2) * ROUNDING * (2 * M_PI * 3 * 0.3 * 24 + 4);
    for (int f = 0; f < 2; f++)
        for (int c = 0; c < COILS; c++)
            for (int m = 0; m < SAMPLES; m++) {
                const scan_trajectory *t = &raw.trajectory[raw.frame[f].trajectory];
                const double complex expected = signal(&p, c, t->k + 3 * m, still);
                const double error = cabs(raw.frame[f].data[c * SAMPLES + m] - expected);
                if (!(error <= tolerance))
                    fail_msg("frame %d, sample %d: off by %g, allowed %g", f, m, error, tolerance);
            }
}

static void test_motion(void **state)
{
    (void)state;
    check_motion(2);
    check_motion(3);
}

static void test_motion_refusals(void **state)
{
    (void)state;
    make_scan(2, 1);
    settings.motion = path;
    unlink(path);
    expect_refusal("cannot open");
    write_text("0 0 0 0 0 0\n0 0 0 0 0\n");
    expect_refusal("file:2: expected six numbers");
    write_text("0 0 0 0 0 0 0\n");
    expect_refusal("file:1: expected six numbers");
    write_text("\n0 0 0,,0 0 0\n");
    expect_refusal("file:2: expected six numbers");
    write_text("0 0 0 0 0 0,\n");
    expect_refusal("file:1: expected six numbers");
    write_text("0 0 nan 0 0 0\n");
    expect_refusal("file:1: expected six numbers");
    write_text("0 0 0 0 0 361\n");
    expect_refusal("file:1: shifts are up to");
    write_text("0 0 0 0 0 0\n\n");
    expect_refusal("file:2: the table ends after 1 row, but the scan has 7 readouts in 1 frame");
    char text[400] = "";
    for (int i = 0; i < READOUTS; i++)
        snprintf(text + strlen(text), 40, i == 4 ? "0 0 1 0 0 0\n" : "1 2 0 0 0 3\n");
    write_text(text);
    expect_refusal("file:5: motion out of the plane");
    char *longer = room(3000, 1);
    memset(longer, '0', 2500);
    write_text(longer);
    expect_refusal("file:1: expected six numbers");
    free(longer);
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

/* From -50 kHz, or 0, to 50 kHz: Nyquist's frequency of 10 us. */
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

/* Sums of LENGTH steps: k is up to 6, rounded once to single; transforms round in double. Interpolation of a phase over
 * 25 Hz is off by (2 pi 25 3e-5)^2 / 8 = 3e-6 of the steps, which are up to 2. */
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
        k[i] = (float)between(-8, 8);
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
        k[i] = (float)between(-0.4, 0.4);
    write_file("/scan/trajectory", VF_F32, 2, one, k);
    expect_refusal("--trajectory-units");
    settings.units = K_NORMALIZED;
    make_scan(3, 2);
    settings.trajectory = path;
    settings.units = K_NORMALIZED;
    correct();
    expect_k(0, 5, 1, 16 * (double)k[3 * 5 + 1], 0);
    free(k);
}

/* ---- delays that are given ---- */

/* Each sample moves by the delay times the step: half a cycle times the direction. Steps come from the ends of a
 * spoke, k is rounded once. */
static void test_given_delays(void **state)
{
    (void)state;
    for (int with_time = 0; with_time < 2; with_time++) {
        make_radial(with_time);
        float *k = copy_k();
        settings.delays = RECON_DELAYS_GIVEN;
        for (int a = 0; a < 3; a++)
            settings.delay[a] = between(-2, 2);
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

int main(void)
{
    const char *given = getenv("VOXFIELD_TEST_SEED");
    random_state = given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
    print_message("seed %llu (VOXFIELD_TEST_SEED repeats it)\n", (unsigned long long)random_state);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_readouts),        cmocka_unit_test(test_motion),
                                       cmocka_unit_test(test_motion_refusals), cmocka_unit_test(test_girf),
                                       cmocka_unit_test(test_girf_refusals),   cmocka_unit_test(test_measured),
                                       cmocka_unit_test(test_given_delays),    cmocka_unit_test(test_not_radial)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
