/* The correction of motion, on scans of moving points; and the table that it reads. */
#include "correct_fixture.h"

enum { POINTS = 4 };

typedef struct points {
    double r[POINTS][3]; /* mm */
    double complex value[COILS][POINTS];
} points;

static points make_points(void)
{
    points p;
    for (int n = 0; n < POINTS; n++) {
        for (int a = 0; a < 3; a++)
            p.r[n][a] = uniform_between(-0.3, 0.3) * raw.fov[a];
        for (int c = 0; c < COILS; c++)
            p.value[c][n] = uniform_between(-1, 1) + uniform_between(-1, 1) * I;
    }
    return p;
}

/* Rotates v about an axis, from the next axis towards the one after it. */
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

/* After the correction, the data are those of the points at rest, at the new k. Rounding moves k by ROUNDING times up
 * to 8 x 1.5 x 2 cycles (fields of view differ by a factor of up to 2). That turns the phase of points at up to 0.3
 * fields of view. The data are rounded twice, and the factor once. */
static void check_motion(int dimensions, bool cut)
{
    enum { MOST_ROWS = 2 * (READOUTS + 1) };
    const double still[6] = {0};
    static double move[MOST_ROWS][6];
    char text[200 * MOST_ROWS] = "# x y z, about x y z\n\n";
    make_scan(dimensions, 2);
    for (int a = 0; a < dimensions; a++) /* turned, samples reach up to 2 (the ratio of the sides) times as far */
        raw.matrix[a] = 32;
    const points p = make_points();
    int begin[READOUTS + 2] = {0}, count = 0;
    for (int m = LENGTH; m <= SAMPLES; m += LENGTH) {
        if (cut && m == 2 * LENGTH)
            begin[++count] = LENGTH + CUT;
        begin[++count] = m;
    }
    if (cut)
        cut_readout();
    for (int row = 0; row < 2 * count; row++) {
        for (int a = 0; a < 6; a++)
            move[row][a] = dimensions == 3 || a < 2 || a == 5 ? uniform_between(-30, 30) : 0;
        snprintf(text + strlen(text), 200,
                 row % 2 ? "%.17g %.17g\t%.17g %.17g %.17g %.17g # row\r\n"
                         : " %.17g, %.17g,%.17g ,%.17g,%.17g, %.17g\n",
                 move[row][0], move[row][1], move[row][2], move[row][3], move[row][4], move[row][5]);
        for (int c = 0; c < COILS; c++)
            for (int m = begin[row % count]; m < begin[row % count + 1]; m++)
                raw.frame[row / count].data[c * SAMPLES + m] =
                    (float complex)signal(&p, c, raw.trajectory->k + 3 * m, move[row]);
    }
    write_text(text);
    settings.motion = path;
    correct();
    assert_int_equal(raw.trajectories, 2);
    assert_non_null(strstr(raw.corrections, cut ? "motion of 16 readouts" : "motion of 14 readouts"));
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
    for (int cut = 0; cut < 2; cut++) {
        check_motion(2, cut);
        check_motion(3, cut);
    }
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

TEST_MAIN(set_up, tear_down, cmocka_unit_test(test_motion), cmocka_unit_test(test_motion_refusals))
