/* EPI: k under a trapezoidal gradient, the fit of a phase, and the phase with the fewest ghosts, against closed forms. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "random_fixture.h"
#include "scan/epi_readout.h"
#include "test_main.h"

static const double PI = 3.14159265358979323846;
/* Sums of a hundred terms in double precision are good to 1e-13; k reaches 64. */
static const double ROUNDING = 1e-11;

static void expect(double got, double wanted, double tolerance, const char *what)
{
    if (!(fabs(got - wanted) <= tolerance))
        fail_msg("%s is %.15g, not %.15g (%.3g allowed)", what, got, wanted, tolerance);
}

/* ---- the trapezoid ---- */

/* Ramps of 100 us, a flat top of 200 us, 128 samples of 3 us: the readout takes 384 of 400 us, so it begins at 8 us. */
static const ismrmrd_epi usual = {
    .ramp_up = 100, .flat_top = 200, .ramp_down = 100, .delay = 8, .dwell = 3, .samples = 128};

static epi_trapezoid find(const ismrmrd_epi *epi, int samples, double sample_us, int center, int64_t matrix)
{
    epi_trapezoid g;
    const char *why;
    if (!epi_trapezoid_find(epi, samples, sample_us, center, matrix, &g, &why))
        fail_msg("no trapezoid: '%s'", why);
    return g;
}

static void test_area(void **state)
{
    (void)state;
    const epi_trapezoid g = {.up = 100, .flat = 200, .down = 50};
    expect(epi_area(&g, -5), 0, 0, "the area before");
    expect(epi_area(&g, 40), 8, ROUNDING, "the area of t^2 / (2 up)"); /* 1600 / 200 */
    expect(epi_area(&g, 100), 50, ROUNDING, "the area of the ramp");
    expect(epi_area(&g, 220), 170, ROUNDING, "the area on the flat top");
    expect(epi_area(&g, 320), 50 + 200 + 25 - 9, ROUNDING, "the area on the second ramp"); /* 30^2 / 100 = 9 are left */
    expect(epi_area(&g, 1e6), 275, ROUNDING, "the whole area");
}

static void test_k(void **state)
{
    (void)state;
    const epi_trapezoid g = find(&usual, 128, 0, 64, 128);
    /* the readout leaves out 8^2 / 200 = 0.32 us of area on either side: 128 cycles over 300 - 0.64 */
    const double scale = 128 / (300 - 0.64);
    expect(g.first, 9.5, ROUNDING, "the middle of the first sample");
    expect(g.scale, scale, ROUNDING, "the scale");
    expect(epi_k(&g, 64, 64), 0, 0, "k of the echo");
    expect(epi_k(&g, 65, 64), 3 * scale, ROUNDING, "the step on the flat top");
    /* sample 64 is at 201.5 us: 50 + 101.5 of area. Sample 0 at 9.5 us, sample 127 at 390.5. */
    expect(epi_k(&g, 0, 64), scale * (9.5 * 9.5 / 200 - 151.5), ROUNDING, "k of the first sample");
    expect(epi_k(&g, 127, 64), scale * (300 - 9.5 * 9.5 / 200 - 151.5), ROUNDING, "k of the last sample");
    assert_true(epi_on_ramps(&g, 128));
}

static void test_even(void **state)
{
    (void)state;
    ismrmrd_epi flat = usual;
    flat.samples = 64;
    const epi_trapezoid g = find(&flat, 64, 0, 32, 64); /* 192 us of the 200 */
    assert_false(epi_on_ramps(&g, 64));
    for (int m = 0; m < 64; m++)
        expect(epi_k(&g, m, 32), m - 32, ROUNDING, "k on the flat top");
}

/* What the description may lack or say wrongly. */
static void test_choices(void **state)
{
    (void)state;
    ismrmrd_epi epi = usual;
    const epi_trapezoid g = find(&usual, 128, 0, 64, 128);
    epi.delay = 0;
    expect(find(&epi, 128, 0, 64, 128).first, g.first, ROUNDING, "the beginning without a delay");
    epi.delay = 30; /* the echo is in the middle, so this is wrong */
    expect(find(&epi, 128, 0, 64, 128).first, g.first, ROUNDING, "the beginning with a wrong delay");
    epi.samples = 96; /* 288 us that begin late: the echo is at (200 - 100) / 3 = sample 33 */
    epi.delay = 100;
    expect(find(&epi, 96, 0, 33, 128).first, 101.5, ROUNDING, "the beginning of a partial echo");
    expect(find(&epi, 96, 0, 48, 128).first, 57.5, ROUNDING, "the beginning of a whole echo");
    epi = usual;
    epi.dwell = 0;
    expect(find(&epi, 128, 3, 64, 128).dwell, 3, 0, "the readouts' own dwell");
    epi.dwell = 5; /* does not fit */
    expect(find(&epi, 128, 3, 64, 128).dwell, 3, 0, "the dwell that fits");
}

static void refuse(const ismrmrd_epi *epi, int samples, double sample_us, const char *words)
{
    epi_trapezoid g;
    const char *why;
    assert_false(epi_trapezoid_find(epi, samples, sample_us, samples / 2, 128, &g, &why));
    if (words[0] ? !strstr(why, words) : why[0])
        fail_msg("'%s' is not in '%s'", words, why);
}

static void test_refusals(void **state)
{
    (void)state;
    refuse(&(ismrmrd_epi){0}, 128, 3, "");
    ismrmrd_epi epi = usual;
    refuse(&epi, 100, 3, "number of samples");
    epi.ramp_down = 0;
    refuse(&epi, 128, 3, "not complete");
    epi = usual;
    epi.dwell = 4;
    refuse(&epi, 128, 4, "longer");
    epi.ramp_up = NAN;
    refuse(&epi, 128, 3, "not complete");
}

/* ---- the fit ---- */

enum { POSITIONS = 96 };

static double position(int i)
{
    return (double)(i - POSITIONS / 2) / POSITIONS;
}

/* A profile in the middle half, 0 elsewhere. */
static void make(double turn, double shift, double complex *p)
{
    for (int i = 0; i < POSITIONS; i++) {
        const double x = position(i), size = fabs(x) < 0.25 ? 1 + cos(20 * x) / 2 : 0;
        p[i] = size * cexp(I * (turn + 2 * PI * shift * x));
    }
}

static void test_fit_is_exact(void **state)
{
    (void)state;
    static const double turns[] = {0, 0.42, -1.3, 3.1}, shifts[] = {0, 0.31, -2.4, 12};
    double complex p[POSITIONS];
    epi_phase f;
    for (int a = 0; a < 4; a++)
        for (int b = 0; b < 4; b++) { /* phases beyond a half turn, too: the shift of 12 makes six turns */
            make(turns[a], shifts[b], p);
            epi_fit_phase(POSITIONS, p, &f);
            expect(f.turn, turns[a], 1e-8, "the turn"); /* the last step is below 1e-9 */
            expect(f.shift, shifts[b], 1e-8, "the shift");
            expect(f.coherence, 1, 1e-8, "the coherence");
        }
}

/* A tenth of the positions with any phase, as where vessels pulsate, and noise. The others outweigh them: an outlier r away
 * counts as if it were LIMIT = 0.2 rad away, so ten outliers in a hundred move the fit by at most 0.1 * 0.2 / 0.9 = 0.022 rad,
 * twice that at the ends for the slope. Noise of 0.05 rad rms (0.0866 at most) adds 0.05 / sqrt(48) = 0.007, of which five are allowed; the slope
 * over a quarter to either side has sqrt(12) / (2 pi * 0.5) times as much. */
static void test_fit_is_robust(void **state)
{
    (void)state;
    double complex p[POSITIONS];
    epi_phase f;
    make(0.42, 0.31, p);
    for (int i = 0; i < POSITIONS; i++) {
        p[i] *= cexp(I * uniform_between(-0.0866, 0.0866));
        if (i % 10 == 3)
            p[i] *= cexp(2.5 * I);
    }
    epi_fit_phase(POSITIONS, p, &f);
    expect(f.turn, 0.42, 2 * 0.022 + 5 * 0.007, "the turn with outliers");
    expect(f.shift, 0.31, (2 * 0.022 + 5 * 0.007) * 1.1, "the shift with outliers");
    assert_true(f.coherence > 0.7 && f.coherence < 1);
}

static void test_fit_of_nothing(void **state)
{
    (void)state;
    double complex p[POSITIONS] = {0};
    epi_phase f;
    epi_fit_phase(POSITIONS, p, &f);
    expect(f.coherence, 0, 0, "the coherence of zeros");
    p[7] = NAN;
    epi_fit_phase(POSITIONS, p, &f);
    assert_false(f.coherence >= 0.5);
}

/* ---- ghosts ---- */

enum { NX = 32, NY = 64 };

/* The halves of an image s(x, y) of a disc of this radius, in fields of view: lines of even number give (s(y) + s(y + NY /
 * 2)) / 2, those of odd number (s(y) - s(y + NY / 2)) / 2 times the phase. */
static void make_halves(double radius, double turn, double shift, float *power, float complex *cross)
{
    for (int i = 0; i < NX; i++)
        for (int j = 0; j < NY; j++) {
            double s[2];
            for (int half = 0; half < 2; half++) {
                const double x = (double)(i - NX / 2) / NX, y = (double)((j + half * NY / 2) % NY - NY / 2) / NY;
                s[half] = hypot(x, y) < radius ? 1 + 0.5 * cos(30 * x) * cos(20 * y) : 0;
            }
            const double complex phase = cexp(I * (turn + 2 * PI * shift * (double)(i - NX / 2) / NX));
            const double f = (s[0] + s[1]) / 2, r = (s[0] - s[1]) / 2;
            power[i * NY + j] = (float)(f * f + r * r);
            cross[i * NY + j] = (float complex)(f * r * phase);
        }
}

static epi_halves halves;
static float power[NX * NY];
static float complex cross[NX * NY];

static epi_verdict judge(double radius, double turn, double shift, epi_ghost *g)
{
    halves = (epi_halves){.nx = NX, .ny = NY, .end = NX, .power = power, .cross = cross};
    make_halves(radius, turn, shift, power, cross);
    epi_find_ghost(&halves, g);
    return epi_judge(&halves, g, true);
}

static void test_fewest_ghosts(void **state)
{
    (void)state;
    epi_ghost g;
    /* Without overlap the sum over the object is that of cos(t / 2) + |sin(t / 2)|, a corner at t = 0: found to the last
     * step, 1e-4 rad, and that step's share of the shift's. */
    assert_int_equal(judge(0.2, 0.5, 0.4, &g), EPI_CLEAR);
    expect(g.phase.turn, 0.5, 1e-3, "the turn");
    expect(g.phase.shift, 0.4, 4e-3, "the shift");
    expect(g.worst, sqrt(2), 1e-2,
           "the sum with most ghosts"); /* 24 trials in half a turn: within PI / 48 of the worst */
    assert_int_equal(judge(0.2, -1.2, -1.1, &g), EPI_CLEAR);
    expect(g.phase.turn, -1.2, 1e-3, "the turn");
    expect(g.phase.shift, -1.1, 4e-3, "the shift");
}

static void test_none_needed(void **state)
{
    (void)state;
    epi_ghost g;
    assert_int_equal(judge(0.2, 0, 0, &g), EPI_NONE_NEEDED);
    expect(g.before, 1, 1e-3, "the sum without a correction");
    /* Nothing but the forward lines: no phase is better than another, so nothing may be changed. */
    for (int i = 0; i < NX * NY; i++)
        cross[i] = 0;
    epi_find_ghost(&halves, &g);
    assert_int_not_equal(epi_judge(&halves, &g, true), EPI_CLEAR);
}

/* Edges of one voxel or of four: a factor on the values does not matter. */
static void test_sharpness(void **state)
{
    (void)state;
    double sharp[2];
    halves = (epi_halves){.nx = NX, .ny = NY, .end = NX, .power = power, .cross = cross};
    for (int wide = 0; wide < 2; wide++) {
        for (int i = 0; i < NX; i++)
            for (int j = 0; j < NY; j++) {
                const double edge = wide ? fmin(fmax((i - 10) / 4.0, 0), 1) : i >= 12;
                power[i * NY + j] = (float)((wide + 1) * edge * edge);
            }
        sharp[wide] = epi_sharpness(&halves);
    }
    expect(sharp[0], 1.0 / NY, 1e-6, "the sharpness of one step in each row"); /* NY / NY^2 */
    expect(sharp[1], 1.0 / (4 * NY), 1e-6, "that of four steps in each row");  /* 4 NY / (4 NY)^2, rounded as floats */
}

TEST_MAIN(NULL, NULL, cmocka_unit_test(test_area), cmocka_unit_test(test_k), cmocka_unit_test(test_even),
          cmocka_unit_test(test_choices), cmocka_unit_test(test_refusals), cmocka_unit_test(test_fit_is_exact),
          cmocka_unit_test(test_fit_is_robust), cmocka_unit_test(test_fit_of_nothing),
          cmocka_unit_test(test_fewest_ghosts), cmocka_unit_test(test_none_needed), cmocka_unit_test(test_sharpness))
