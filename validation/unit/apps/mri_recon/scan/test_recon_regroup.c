/* Cutting readouts into other frames, and selecting frames (apps/mri_recon/scan/regroup.c): random scans of several
 * slices or slabs, contrasts, phases and repetitions, against lists of their samples. Regrouping only moves samples,
 * so all comparisons are exact. */
#include "coils/calibrate.h"
#include "coils/coil_stages.h"
#include "scan/regroup.h"
#include "series_fixture.h"

enum { COILS = 3, MOST_SAMPLES = 4096, MOST_WINDOWS = 512, TRIALS = 60 };

/* One sample, with everything that belongs to it. */
typedef struct sample {
    float k[3], weight, time;
    float complex phi, data[COILS];
} sample;

/* The samples of a place and kind in the order of acquisition. */
typedef struct series {
    int place, contrast, phase, set;
    int samples, readouts;
    sample sample[MOST_SAMPLES];
    int first[MOST_SAMPLES];  /* [readouts + 1] */
    int volume[MOST_SAMPLES]; /* of each readout, in the scan */
} series;

static series known[12];
static int known_count;
static sample lines[3]; /* the calibration line of each place, one sample long */

static void make_trajectory(scan_trajectory *t, bool time, bool phi)
{
    const int readouts = 1 + below(4);
    t->readouts = readouts;
    t->readout = room((size_t)readouts + 1, sizeof *t->readout);
    for (int n = 0; n < readouts; n++)
        t->readout[n + 1] = t->readout[n] + 1 + below(4);
    t->samples = t->readout[readouts];
    t->k = room(3 * (size_t)t->samples, sizeof *t->k);
    t->weights = uniform() < 0.5 ? room((size_t)t->samples, sizeof *t->weights) : NULL;
    t->time = time ? room((size_t)t->samples, sizeof *t->time) : NULL;
    t->phi = phi ? room((size_t)t->samples, sizeof *t->phi) : NULL;
    for (int64_t m = 0; m < t->samples; m++) {
        for (int a = 0; a < 3; a++)
            t->k[3 * m + a] = number();
        if (t->weights)
            t->weights[m] = 0.5F + (float)uniform();
        if (time)
            t->time[m] = number();
        if (phi)
            t->phi[m] = number() + number() * I;
    }
}

static void make_data(scan_frame *frame)
{
    const int64_t count = COILS * s.trajectory[frame->trajectory].samples;
    frame->data = room((size_t)count, sizeof *frame->data);
    for (int64_t m = 0; m < count; m++)
        frame->data[m] = number() + number() * I;
}

static void take_sample(const scan_frame *frame, int64_t m, sample *out)
{
    const scan_trajectory *t = &s.trajectory[frame->trajectory];
    *out = (sample){.weight = 1};
    memcpy(out->k, t->k + 3 * m, sizeof out->k);
    if (t->weights)
        out->weight = t->weights[m];
    if (t->time)
        out->time = t->time[m];
    if (t->phi)
        out->phi = t->phi[m];
    for (int c = 0; c < COILS; c++)
        out->data[c] = scan_coil(&s, frame, c)[m];
}

static series *series_of(const scan_frame *frame)
{
    for (int i = 0; i < known_count; i++)
        if (known[i].place == frame->place && known[i].contrast == frame->contrast && known[i].phase == frame->phase &&
            known[i].set == frame->set)
            return &known[i];
    assert_in_range(known_count, 0, 11);
    series *it = &known[known_count++];
    *it = (series){.place = frame->place, .contrast = frame->contrast, .phase = frame->phase, .set = frame->set};
    return it;
}

/* Adds a frame's samples to its series. Frames come in the order of repetition. */
static void note_frame(const scan_frame *frame)
{
    const scan_trajectory *t = &s.trajectory[frame->trajectory];
    series *of = series_of(frame);
    for (int64_t n = 0; n < t->readouts; n++) {
        of->volume[of->readouts] = frame->volume;
        of->first[of->readouts++] = of->samples;
        for (int64_t m = t->readout[n]; m < t->readout[n + 1]; m++)
            take_sample(frame, m, &of->sample[of->samples++]);
    }
    of->first[of->readouts] = of->samples;
}

/* A scan with every combination of place, contrast, phase and repetition; some frames share trajectories. */
static void make_scan(void)
{
    const int places = 1 + below(3), contrasts = 1 + below(2), phases = 1 + below(2), repetitions = 1 + below(4);
    const bool slabs = places > 1 && uniform() < 0.5, time = uniform() < 0.5, phi = uniform() < 0.5;
    const bool has_lines = uniform() < 0.3;
    scan_free(&s);
    known_count = 0;
    s = (mri_scan){.matrix = {16, 16, slabs ? 8 : 1}, .fov = {16, 16, 8}, .crop = {2, 1, 1}, .coils = COILS};
    (void)snprintf(s.layout, sizeof s.layout, "ISMRMRD");
    s.places = places;
    s.slices = slabs ? 1 : places;
    s.frames = places * contrasts * phases * repetitions;
    s.volumes = s.frames / s.slices;
    s.calibrations = has_lines ? places : 0;
    s.trajectories = 1 + below(s.frames);
    s.trajectory = room((size_t)(s.trajectories + s.calibrations), sizeof *s.trajectory);
    s.frame = room((size_t)(s.frames + s.calibrations), sizeof *s.frame);
    for (int t = 0; t < s.trajectories; t++)
        make_trajectory(&s.trajectory[t], time, phi);
    for (int f = 0; f < s.frames; f++) {
        const int volume = f / places, place = f % places;
        s.frame[f] = (scan_frame){.trajectory = f < s.trajectories ? f : below(s.trajectories),
                                  .volume = slabs ? f : volume,
                                  .slice = slabs ? 0 : place,
                                  .place = place,
                                  .contrast = volume % contrasts,
                                  .phase = volume / contrasts % phases,
                                  .repetition = volume / contrasts / phases};
        make_data(&s.frame[f]);
        note_frame(&s.frame[f]);
    }
    for (int p = 0; p < s.calibrations; p++) {
        scan_trajectory *t = &s.trajectory[s.trajectories + p];
        t->samples = 1;
        t->k = room(3, sizeof *t->k);
        s.frame[s.frames + p] = (scan_frame){.trajectory = s.trajectories + p, .place = p};
        make_data(&s.frame[s.frames + p]);
        take_sample(&s.frame[s.frames + p], 0, &lines[p]);
    }
    s.truths = places == 1 ? s.volumes : 0;
    s.truth = s.truths ? room(2 * (size_t)s.truths, sizeof *s.truth) : NULL;
    for (int v = 0; v < s.truths; v++)
        s.truth[2 * v] = (float)v;
}

static void expect_sample(const sample *got, const sample *expected, const char *what)
{
    bool same = memcmp(got->k, expected->k, sizeof got->k) == 0 && got->weight == expected->weight &&
                got->time == expected->time && got->phi == expected->phi;
    for (int c = 0; c < COILS; c++)
        same = same && got->data[c] == expected->data[c];
    if (!same)
        fail_msg("%s: k (%g, %g, %g), expected (%g, %g, %g)", what, (double)got->k[0], (double)got->k[1],
                 (double)got->k[2], (double)expected->k[0], (double)expected->k[1], (double)expected->k[2]);
}

/* ---- the expected result ---- */

typedef struct window {
    const series *of;
    int number, volume; /* in the series; of all */
} window;

static window expected[MOST_WINDOWS];
static int windows, volumes;

static int windows_in(const series *of, int length, int step)
{
    int count = 0;
    for (int first = 0; first + length <= of->readouts; first += step)
        count++;
    return count;
}

/* Lists the windows in the order of number, phase, contrast and place. */
static void expect_windows(int length, int step)
{
    windows = volumes = 0;
    for (int i = 0, some = 1; some; i++) {
        some = 0;
        for (int kind = 0; kind < 4; kind++) {
            int in_volume = 0;
            for (int place = 0; place < s.places; place++)
                for (int k = 0; k < known_count; k++) {
                    const series *of = &known[k];
                    if (of->place != place || of->phase != kind / 2 || of->contrast != kind % 2 ||
                        i >= windows_in(of, length, step))
                        continue;
                    assert_in_range(windows, 0, MOST_WINDOWS - 1);
                    expected[windows++] = (window){of, i, volumes};
                    in_volume++;
                }
            volumes += in_volume > 0;
            some += in_volume;
        }
    }
}

static int fewest_readouts(void)
{
    int fewest = known[0].readouts;
    for (int i = 1; i < known_count; i++)
        fewest = known[i].readouts < fewest ? known[i].readouts : fewest;
    return fewest;
}

static bool same_trajectory(const window *a, const window *b, int length, int step)
{
    const int p = a->of->first[a->number * step], q = b->of->first[b->number * step];
    const int count = a->of->first[a->number * step + length] - p;
    if (count != b->of->first[b->number * step + length] - q)
        return false;
    for (int m = 0; m < count; m++) {
        const sample *x = &a->of->sample[p + m], *y = &b->of->sample[q + m];
        if (memcmp(x->k, y->k, sizeof x->k) != 0 || x->weight != y->weight || x->time != y->time || x->phi != y->phi)
            return false;
    }
    return true;
}

static void expect_frame(int f, const window *w, int volume, int length, int step)
{
    const scan_frame *frame = &s.frame[f];
    const scan_trajectory *t = &s.trajectory[frame->trajectory];
    const int first = w->of->first[w->number * step], count = w->of->first[w->number * step + length] - first;
    const bool slabs = s.places > s.slices;
    assert_int_equal(t->samples, count);
    for (int m = 0; m < count; m++) {
        sample got;
        take_sample(frame, m, &got);
        expect_sample(&got, &w->of->sample[first + m], "a sample of a frame");
    }
    assert_int_equal(frame->repetition, w->number);
    assert_int_equal(frame->place, w->of->place);
    assert_int_equal(frame->contrast, w->of->contrast);
    assert_int_equal(frame->phase, w->of->phase);
    assert_int_equal(frame->volume, slabs ? volume * s.places + frame->place : volume);
    assert_int_equal(frame->slice, slabs ? 0 : frame->place);
    if (s.truth)
        assert_true(s.truth[2 * frame->volume] == (float)w->of->volume[w->number * step + length / 2]);
}

static int64_t calibrated_samples(calibration *c, int place)
{
    need(calibrate_gather(c, place, false));
    free(c->centre.k);
    c->centre.k = NULL;
    return c->centre.samples;
}

/* Coil maps use the calibration lines, and once each sample of the place and of the first frame's kind. */
static void expect_calibration(int place, const series *of)
{
    calibration c = {.ctx = ctx, .scan = &s, .small = {16, 16, 8}};
    const int more = s.calibrations > known_count ? 1 : 0; /* the others are spare frames */
    need(calibrate_gather(&c, place, true));
    const int64_t count = c.centre.samples;
    assert_int_equal(count, of->samples + more);
    float *k = c.centre.k;
    float complex *data = c.data;
    for (int64_t m = 0; m < count; m++) { /* the lines come first */
        const sample *from = m < more ? &lines[place] : &of->sample[m - more];
        assert_memory_equal(k + 3 * m, from->k, sizeof from->k);
        for (int coil = 0; coil < COILS; coil++)
            assert_true(data[coil * count + m] == from->data[coil]);
    }
    free(k);
    free(data);
}

/* ---- tests ---- */

static bool has_weights(int f)
{
    return s.trajectory[s.frame[f].trajectory].weights;
}

static void test_windows(void **state)
{
    (void)state;
    for (int trial = 0; trial < TRIALS; trial++) {
        char text[64];
        make_scan();
        const int length = 1 + below(fewest_readouts()), step = uniform() < 0.3 ? 0 : 1 + below(length + 2);
        const int every = step ? step : length;
        expect_windows(length, every);
        const int first = below(volumes), last = first + below(volumes - first), stride = 1 + below(3);
        const bool selects = uniform() < 0.5;
        scan_settings settings = {.input = "scan", .spokes_per_frame = length, .frame_step = step};
        (void)snprintf(text, sizeof text, "%d:%d:%d", first + 1, last + 1, stride);
        settings.frames = selects ? text : NULL;
        need(regroup_frames(ctx, &settings, true, &s));
        int f = 0;
        const int at[2] = {selects ? first : 0, selects ? stride : 1};
        const window *chosen[MOST_WINDOWS];
        for (int w = 0; w < windows; w++) {
            const int volume = expected[w].volume - at[0];
            if (selects && (volume < 0 || volume % at[1] != 0 || expected[w].volume > last))
                continue;
            assert_true(f < s.frames);
            expect_frame(f, &expected[w], volume / at[1], length, every);
            for (int g = 0; g < f; g++) /* no weights and weights of 1 count as different */
                assert_int_equal(s.frame[g].trajectory == s.frame[f].trajectory,
                                 same_trajectory(chosen[g], &expected[w], length, every) &&
                                     has_weights(g) == has_weights(f));
            chosen[f++] = &expected[w];
        }
        assert_int_equal(s.frames, f);
        assert_int_equal(s.volumes,
                         (selects ? (last - first) / stride + 1 : volumes) * (s.places > s.slices ? s.places : 1));
        assert_int_equal(strlen(s.digest), VF_DIGEST_TEXT - 1);
        for (int p = 0; p < s.places; p++)
            for (int g = 0; g < f; g++)
                if (s.frame[g].place == p) {
                    expect_calibration(p, chosen[g]->of);
                    break;
                }
    }
}

/* Frames share samples, but these are whitened only once. A covariance of 4 halves them, which is exact. */
static void test_whitened_once(void **state)
{
    (void)state;
    for (int trial = 0; trial < 10; trial++) {
        make_scan();
        const int length = 1 + below(fewest_readouts());
        const scan_settings settings = {.input = "scan", .spokes_per_frame = length, .frame_step = 1};
        expect_windows(length, 1);
        need(regroup_frames(ctx, &settings, false, &s));
        s.noise = room(COILS * COILS, sizeof *s.noise);
        for (int c = 0; c < COILS; c++)
            s.noise[c * COILS + c] = 4;
        need(prewhiten(ctx, &s));
        for (int f = 0; f < s.frames; f++)
            for (int64_t m = 0; m < s.trajectory[s.frame[f].trajectory].samples; m++) {
                const sample *from = &expected[f].of->sample[expected[f].of->first[expected[f].number] + m];
                for (int c = 0; c < COILS; c++)
                    assert_true(scan_coil(&s, &s.frame[f], c)[m] == 0.5F * from->data[c]);
            }
        coil_choice choice;
        need(compress_coils(ctx, &s, 2, COMPRESS_BEST, &choice));
        assert_true(choice.kept > 0.3 && choice.kept <= 1 && choice.to == 2);
    }
}

/* Without regrouping, selected frames stay unchanged, and the others are still used for coil maps. */
static void test_selection(void **state)
{
    (void)state;
    for (int trial = 0; trial < TRIALS; trial++) {
        char text[64];
        make_scan();
        const int slabs = s.places > s.slices ? s.places : 1, count = s.volumes / slabs;
        const int first = below(count), last = first + below(count - first), stride = 1 + below(3);
        const scan_settings settings = {.input = "scan", .frames = text};
        calibration c = {.ctx = ctx, .scan = &s, .small = {16, 16, 8}};
        const int frames = s.frames, calibrations = s.calibrations, in_volume = s.places;
        sample samples[MOST_SAMPLES];
        int f = 0, of[MOST_WINDOWS], from[MOST_WINDOWS + 1] = {0};
        const bool one_kind = known_count == s.places; /* otherwise the first frame may be of another kind */
        int64_t before[3];
        for (int p = 0; p < s.places; p++)
            before[p] = calibrated_samples(&c, p);
        for (int g = 0; g < frames; g++) {
            const int volume = g / in_volume - first;
            if (volume < 0 || volume % stride != 0 || volume > last - first)
                continue;
            from[f + 1] = from[f];
            for (int64_t m = 0; m < s.trajectory[s.frame[g].trajectory].samples; m++)
                take_sample(&s.frame[g], m, &samples[from[f + 1]++]);
            of[f++] = s.frame[g].repetition;
        }
        (void)snprintf(text, sizeof text, "%d:%d:%d", first + 1, last + 1, stride);
        need(regroup_frames(ctx, &settings, true, &s));
        assert_int_equal(s.frames, f);
        assert_int_equal(s.frames + s.calibrations, frames + calibrations);
        assert_int_equal(s.volumes, ((last - first) / stride + 1) * slabs);
        for (int g = 0; g < f; g++) {
            assert_int_equal(s.frame[g].repetition, of[g]);
            assert_int_equal(s.frame[g].volume, slabs > 1 ? g : g / in_volume);
            assert_in_range(s.frame[g].trajectory, 0, s.trajectories - 1);
            assert_int_equal(s.trajectory[s.frame[g].trajectory].samples, from[g + 1] - from[g]);
            for (int m = 0; m < from[g + 1] - from[g]; m++) {
                sample got;
                take_sample(&s.frame[g], m, &got);
                expect_sample(&got, &samples[from[g] + m], "a sample of a selected frame");
            }
            if (s.truth)
                assert_true(s.truth[2 * s.frame[g].volume] == (float)(first + g * stride));
        }
        for (int p = 0; p < s.places && one_kind; p++)
            assert_int_equal(calibrated_samples(&c, p), before[p]);
    }
}

TEST_MAIN(NULL, NULL, TEST(test_windows), TEST(test_whitened_once), TEST(test_selection))
