/* Finding the beginnings of readouts in scans that do not state them (apps/mri_recon/scan/find_readouts.c), and scans
 * that regrouping rejects. */
#include <math.h>

#include "scan/find_readouts.h"
#include "scan/regroup.h"
#include "series_fixture.h"

enum { COILS = 2, TRIALS = 60 };

/* A plain scan of golden-angle spokes with one trajectory. */
static void make_spokes(int spokes, int length, bool time)
{
    scan_free(&s);
    s = (mri_scan){.matrix = {16, 16, 1}, .fov = {16, 16, 8}, .crop = {16, 16, 1}, .coils = COILS};
    (void)snprintf(s.layout, sizeof s.layout, "plain");
    s.places = s.slices = s.volumes = s.frames = s.trajectories = 1;
    s.trajectory = room(1, sizeof *s.trajectory);
    s.frame = room(1, sizeof *s.frame);
    scan_trajectory *t = s.trajectory;
    t->samples = spokes * length;
    t->k = room(3 * (size_t)t->samples, sizeof *t->k);
    t->time = time ? room((size_t)t->samples, sizeof *t->time) : NULL;
    for (int64_t m = 0; m < t->samples; m++) {
        const double angle = (double)(m / length) * 1.9416, radius = 16.0 * (double)(m % length) / length - 8;
        t->k[3 * m] = (float)(radius * cos(angle));
        t->k[3 * m + 1] = (float)(radius * sin(angle));
        if (time)
            t->time[m] = (float)(m % length);
    }
    s.frame->data = room(COILS * (size_t)t->samples, sizeof *s.frame->data);
}

static void expect_failure(vf_status status, vf_status wanted, const char *words)
{
    const char *text = vf_context_message(ctx);
    if (status != wanted || !strstr(text, words))
        fail_msg("%s: '%s', expected '%s'", vf_status_name(status), text, words);
    vf_context_clear_error(ctx);
}

static void expect_readouts(int count, int length)
{
    const scan_settings settings = {.input = "scan"};
    need(find_readouts(ctx, &settings, "--motion", &s));
    assert_int_equal(s.trajectory->readouts, count);
    for (int n = 0; n <= count; n++)
        assert_int_equal(s.trajectory->readout[n], n * length);
}

/* Spokes in alternating directions, without jumps in between: only bends show where they begin. */
static void turn_every_other(int length)
{
    float *k = s.trajectory->k;
    for (int64_t m = 0; m < s.trajectory->samples; m++) {
        const int64_t spoke = m / length, along = spoke % 2 ? length - 1 - m % length : m % length;
        const double angle = 0.02 * (double)spoke, radius = 16.0 * (double)along / length - 8;
        k[3 * m] = (float)(radius * cos(angle));
        k[3 * m + 1] = (float)(radius * sin(angle));
    }
}

static void test_finds_readouts(void **state)
{
    (void)state;
    for (int trial = 0; trial < TRIALS; trial++) {
        const int spokes = 2 + below(40), length = 8 + below(40);
        make_spokes(spokes, length, false);
        expect_readouts(spokes, length);
        make_spokes(spokes, length, true);
        for (int64_t i = 0; i < 3 * s.trajectory->samples; i++) /* only times show them */
            s.trajectory->k[i] = number();
        expect_readouts(spokes, length);
    }
    for (int trial = 0; trial < TRIALS; trial++) {
        const int spokes = 2 + below(40), length = 8 + below(40);
        make_spokes(spokes, length, false);
        turn_every_other(length);
        expect_readouts(spokes, length);
        make_spokes(spokes, length, false);
        s.trajectory->samples -= length / 2; /* the last spoke is incomplete */
        const scan_settings settings = {.input = "scan"};
        expect_failure(find_readouts(ctx, &settings, "--girf", &s), VF_ERR_INPUT, "--girf: cannot tell");
    }
    /* Readouts of different lengths: only times show where they begin. */
    const float times[9] = {0, 1, 2, 0, 1, 1, 2, 1, 3};
    make_spokes(1, 9, true);
    memcpy(s.trajectory->time, times, sizeof times);
    need(find_readouts(ctx, &(scan_settings){.input = "scan"}, "--motion", &s));
    assert_int_equal(s.trajectory->readouts, 3);
    assert_true(s.trajectory->readout[1] == 3 && s.trajectory->readout[2] == 7 && s.trajectory->readout[3] == 9);
}

static void test_refusals(void **state)
{
    (void)state;
    scan_settings settings = {.input = "scan", .spokes_per_frame = 11};
    make_spokes(10, 16, false);
    expect_failure(regroup_frames(ctx, &settings, false, &s), VF_ERR_ARGUMENT, "has only 10 readouts");
    make_spokes(10, 16, false);
    settings.readout_samples = 17;
    expect_failure(regroup_frames(ctx, &settings, false, &s), VF_ERR_ARGUMENT, "--readout-samples 17");
    settings = (scan_settings){.input = "scan", .spokes_per_frame = 5};
    make_spokes(1, 160, false); /* one line without a jump */
    expect_failure(regroup_frames(ctx, &settings, false, &s), VF_ERR_INPUT, "give --readout-samples");
    for (int trial = 0; trial < TRIALS; trial++) { /* jumps at unequal distances */
        make_spokes(10, 16, false);
        for (int i = 0; i < 480; i++)
            s.trajectory->k[i] = number();
        expect_failure(regroup_frames(ctx, &settings, false, &s), VF_ERR_INPUT, "give --readout-samples");
    }
    make_spokes(1, 160, false);
    settings.readout_samples = 16;
    need(regroup_frames(ctx, &settings, false, &s));
    assert_int_equal(s.frames, 2);
    make_spokes(10, 16, false);
    (void)snprintf(s.layout, sizeof s.layout, "BART");
    expect_failure(regroup_frames(ctx, &settings, false, &s), VF_ERR_INPUT, "in what order");
    make_spokes(10, 16, false);
    need(scan_even_readouts(ctx, "scan", 16, s.trajectory));
    expect_failure(regroup_frames(ctx, &settings, false, &s), VF_ERR_ARGUMENT, "says itself how long");
    settings = (scan_settings){.input = "scan", .frames = "100"};
    make_spokes(10, 16, false);
    expect_failure(regroup_frames(ctx, &settings, false, &s), VF_ERR_ARGUMENT, "the scan has 1");
    settings = (scan_settings){.input = "scan", .spokes_per_frame = 5};
    make_spokes(10, 16, false);
    s.trajectory->weights = room(160, sizeof(float));
    s.trajectory->weights[3] = 1;
    expect_failure(regroup_frames(ctx, &settings, false, &s), VF_ERR_INPUT, "frame 2 have weight 0");
}

TEST_MAIN(NULL, NULL, cmocka_unit_test_setup_teardown(test_finds_readouts, set_up, tear_down),
          cmocka_unit_test_setup_teardown(test_refusals, set_up, tear_down))
