/* The reader of ISMRMRD files: which acquisitions become which samples of which frame, and at which k. */
#include <math.h>

#include "ismrmrd_fixture.h"

#define CARTESIAN "<trajectory>cartesian</trajectory>"
#define LIMITS(c1, c2)                                                                                                 \
    "<encodingLimits><kspace_encoding_step_1><minimum>0</minimum><maximum>99</maximum><center>" #c1                    \
    "</center></kspace_encoding_step_1><kspace_encoding_step_2><minimum>0</minimum><maximum>99</maximum><center>" #c2  \
    "</center></kspace_encoding_step_2></encodingLimits>"

static void expect_k(int64_t sample, double x, double y, double z)
{
    const float *k = s.trajectory[0].k + 3 * sample;
    if ((double)k[0] != x || (double)k[1] != y || (double)k[2] != z)
        fail_msg("k of sample %d is %g %g %g, not %g %g %g", (int)sample, (double)k[0], (double)k[1], (double)k[2], x,
                 y, z);
}

/* Checks that sample `at` of a frame comes from sample m of acquisition a, in all channels. */
static void expect_sample(int frame, int64_t at, int a, int m)
{
    int64_t samples = s.trajectory[s.frame[frame].trajectory].samples;
    for (int c = 0; c < s.coils; c++) {
        float complex got = s.frame[frame].data[c * samples + at], wanted = value_of(a, c, m);
        if (got != wanted)
            fail_msg("sample %d of channel %d of frame %d is %g, not %g", (int)at, c, frame, (double)crealf(got),
                     (double)crealf(wanted));
    }
}

/* ---- Cartesian ---- */

static void test_cartesian(void **state)
{
    (void)state;
    const int encoded[3] = {16, 8, 4}, image[3] = {8, 8, 3};
    const double fov[3] = {400, 200, 40}, image_fov[3] = {200, 200, 30};
    begin_acquisitions();
    ismrmrd_acquisition *a = acquire(16, 2, 0);
    a->head.idx.kspace_encode_step_1 = 7;
    a->head.idx.kspace_encode_step_2 = 0;
    a = acquire(12, 2, 0); /* a partial echo: k = 0 is at sample 4 */
    a->head.center_sample = 4;
    a->head.discard_pre = 1;
    a->head.discard_post = 2;
    a = acquire(16, 2, 0);
    a->head.idx.kspace_encode_step_1 = 3;
    a->head.idx.kspace_encode_step_2 = 3;
    a->head.idx.average = 1;
    a->head.idx.segment = 2;
    a->head.flags = ISMRMRD_BIT(ISMRMRD_REVERSE) | ISMRMRD_BIT(ISMRMRD_LAST_IN_MEASUREMENT);
    a->head.discard_pre = 1;
    write_scan(header(encoded, fov, image, image_fov, LIMITS(3, 2) CARTESIAN));
    read_it(NULL, K_AUTO);
    assert_string_equal(s.layout, "ISMRMRD");
    assert_int_equal(s.coils, 2);
    assert_int_equal(s.frames * 100 + s.volumes * 10 + s.slices, 111);
    for (int axis = 0; axis < 3; axis++) {
        assert_int_equal(s.matrix[axis], encoded[axis]);
        assert_int_equal(s.crop[axis], image[axis]);
        assert_true(s.fov[axis] == fov[axis]);
    }
    assert_int_equal(s.trajectories, 1);
    assert_int_equal(s.trajectory[0].samples, 16 + 9 + 15);
    for (int m = 0; m < 16; m++) {
        expect_k(m, m - 8, 4, -2);
        expect_sample(0, m, 0, m);
    }
    for (int m = 0; m < 9; m++) {
        expect_k(16 + m, m + 1 - 4, -3, -2);
        expect_sample(0, 16 + m, 1, m + 1);
    }
    for (int m = 0; m < 15; m++) { /* the first acquired sample, which is discarded, lies at the highest k */
        expect_k(25 + m, 6 - m, 0, 1);
        expect_sample(0, 25 + m, 2, m + 1);
    }
    assert_null(s.trajectory[0].weights);
    assert_null(s.trajectory[0].time);
    assert_null(s.noise);
    assert_non_null(strstr(s.protocol, "<ismrmrdHeader"));
    assert_string_equal(said, "");
}

static void test_center_sample_left_out(void **state)
{
    (void)state;
    begin_acquisitions();
    acquire(8, 1, 0)->head.center_sample = 0;
    acquire(4, 1, 0)->head.center_sample = 0; /* half an echo is valid */
    write_scan(plain_header(8, 8, 1, CARTESIAN LIMITS(0, 0)));
    read_it(NULL, K_AUTO);
    expect_said("center_sample is 0 in 1 readout as");
    for (int m = 0; m < 8; m++)
        expect_k(m, m - 4, 0, 0);
    for (int m = 0; m < 4; m++)
        expect_k(8 + m, m, 0, 0);
}

static void test_what_is_no_image(void **state)
{
    (void)state;
    static const int left_out[] = {ISMRMRD_NAVIGATION,
                                   ISMRMRD_PHASE_CORRECTION,
                                   ISMRMRD_HP_FEEDBACK,
                                   ISMRMRD_RT_FEEDBACK,
                                   ISMRMRD_DUMMY_SCAN,
                                   ISMRMRD_SURFACE_COIL_CORRECTION,
                                   ISMRMRD_PHASE_STABILIZATION_REFERENCE,
                                   ISMRMRD_PHASE_STABILIZATION,
                                   ISMRMRD_CALIBRATION};
    enum { KINDS = sizeof left_out / sizeof *left_out };
    begin_acquisitions();
    for (int i = 0; i < KINDS; i++) /* navigators may have other channels and lengths */
        acquire(4 + i, 1 + i % 3, i % 2)->head.flags = ISMRMRD_BIT(left_out[i]);
    acquire(4, 2, 0)->head.encoding_space_ref = 1;
    acquire(4, 2, 0)->head.discard_post = 4;
    write_scan(plain_header(8, 8, 1, CARTESIAN LIMITS(4, 0)));
    expect_refusal(NULL, K_AUTO, VF_ERR_INPUT,
                   "no image data in its 11 acquisitions: 1 navigation, 1 phase correction");
    acquire(8, 2, 0)->head.flags = ISMRMRD_BIT(ISMRMRD_CALIBRATION) | ISMRMRD_BIT(ISMRMRD_CALIBRATION_AND_IMAGING);
    acquire(8, 2, 0)->head.flags = ISMRMRD_BIT(ISMRMRD_CALIBRATION_AND_IMAGING);
    write_scan(plain_header(8, 8, 1, CARTESIAN LIMITS(4, 0)));
    read_it(NULL, K_AUTO);
    assert_int_equal(s.trajectory[0].samples, 16);
    expect_sample(0, 0, KINDS + 2, 0);
    expect_said("2 of 13 acquisitions are image data");
    expect_said("1 parallel calibration, 1 of another encoding, 1 without samples");
}

/* Calibration lines outside the image data: a separate frame after the images, from the first volume that has any.
 */
static void test_calibration_lines(void **state)
{
    (void)state;
    static const uint64_t only = ISMRMRD_BIT(ISMRMRD_CALIBRATION);
    static const uint64_t both = ISMRMRD_BIT(ISMRMRD_CALIBRATION) | ISMRMRD_BIT(ISMRMRD_CALIBRATION_AND_IMAGING);
    begin_acquisitions();
    for (int repetition = 1; repetition >= 0; repetition--)
        for (int slice = 0; slice < 2; slice++)
            for (int step = 0; step < 4; step++) {
                ismrmrd_acquisition *a = acquire(4, 2, 0);
                a->head.idx.kspace_encode_step_1 = (uint16_t)step;
                a->head.idx.repetition = (uint16_t)repetition;
                a->head.idx.slice = (uint16_t)slice;
                a->head.position[2] = (float)slice;
                a->head.flags = slice == 0 ? 0 : step % 2 ? only : both;
            }
    acquire(4, 3, 0)->head.flags = only; /* other channels, another slice, beyond the matrix: not used */
    acquire(4, 2, 0)->head.flags = only;
    acquired[17].head.idx.slice = 5;
    acquire(4, 2, 0)->head.flags = only;
    acquired[18].head.idx.kspace_encode_step_1 = 40;
    write_scan(plain_header(4, 4, 1, CARTESIAN LIMITS(2, 0)));
    read_it(NULL, K_AUTO);
    expect_said("12 of 19 acquisitions are image data; others: 7 parallel calibration");
    assert_int_equal(s.frames * 100 + s.calibrations * 10 + s.trajectories, 412);
    assert_int_equal(s.frame[4].slice * 10 + s.frame[4].trajectory, 12);
    assert_int_equal(s.trajectory[2].samples, 8);
    for (int m = 0; m < 8; m++) {
        int step = 1 + m / 4 * 2;
        assert_true(s.trajectory[2].k[3 * m] == (float)(m % 4 - 2));
        assert_true(s.trajectory[2].k[3 * m + 1] == (float)(step - 2));
        expect_sample(4, m, 8 + 4 + step, m % 4); /* of repetition 0 */
    }
    assert_int_equal(s.trajectory[s.frame[1].trajectory].samples, 8);
    expect_sample(1, 4, 8 + 4 + 2, 0);
}

/* Two channels, whose noise samples give a known covariance. */
static void test_noise(void **state)
{
    (void)state;
    begin_acquisitions();
    for (int i = 0; i < 2; i++) {
        ismrmrd_acquisition *a = acquire(4, 2, 0);
        float complex *x = a->data.p;
        a->head.flags = ISMRMRD_BIT(ISMRMRD_NOISE);
        a->head.sample_time_us = 10;
        for (int m = 0; m < 4; m++) {
            x[m] = m % 2 ? 2 : -2;
            x[4 + m] = x[m] * (0.5f + 0.5f * I);
        }
    }
    acquire(3, 1, 0)->head.flags = ISMRMRD_BIT(ISMRMRD_NOISE); /* with one channel: not used */
    acquire(8, 2, 0)->head.sample_time_us = 5;
    const char *xml = plain_header(8, 8, 1, CARTESIAN LIMITS(0, 0));
    char with_bandwidth[4096];
    snprintf(with_bandwidth, sizeof with_bandwidth,
             "%.*s<acquisitionSystemInformation>"
             "<relativeReceiverNoiseBandwidth>0.75</relativeReceiverNoiseBandwidth></acquisitionSystemInformation>%s",
             (int)(strstr(xml, "<encoding>") - xml), xml, strstr(xml, "<encoding>"));
    write_scan(with_bandwidth);
    read_it(NULL, K_AUTO);
    assert_int_equal(s.trajectory[0].samples, 8);
    assert_non_null(s.noise);
    expect_said("1 noise acquisition is not used, because of another number of channels");
    /* x1 = (1 + i)/2 x0: covariance 4, 2 - 2i; 2 + 2i, 2. The noise was read at half the bandwidth of the data
     * (twice the time per sample), of which the filter left 3/4. With 8 samples, variances have a variance of 4^2 /
     * 8 and 2^2 / 8, as large as their difference, so both become their mean, 3. The correlation is 1, and stays.
     * Ten roundings. */
    const double complex expected[4] = {3, 3 * sqrt(0.5) * (1 - I), 3 * sqrt(0.5) * (1 + I), 3};
    for (int i = 0; i < 4; i++) {
        double complex wanted = expected[i] * 2 / 0.75;
        if (!(cabs(s.noise[i] - wanted) <= 2e-15 * cabs(wanted)))
            fail_msg("covariance %d is %g%+gi, not %g%+gi", i, creal(s.noise[i]), cimag(s.noise[i]), creal(wanted),
                     cimag(wanted));
    }
    begin_acquisitions();
    acquire(3, 2, 0)->head.flags = ISMRMRD_BIT(ISMRMRD_NOISE);
    acquire(8, 2, 0);
    write_scan(xml);
    read_it(NULL, K_AUTO);
    assert_null(s.noise);
    expect_said("3 noise samples are too few for 2 coils");
}

/* ---- frames ---- */

static void test_frames(void **state)
{
    (void)state;
    begin_acquisitions();
    for (int repetition = 2; repetition >= 0; repetition--) /* the order in the file differs from that of the frames */
        for (int line = 0; line < 2; line++) {
            ismrmrd_acquisition *a = acquire(4, 1, 0);
            a->head.idx.repetition = (uint16_t)(7 * repetition);
            a->head.idx.contrast = repetition == 1 && line ? 3 : 0;
            a->head.idx.kspace_encode_step_1 = (uint16_t)(repetition == 2 ? 1 - line : line);
        }
    write_scan(plain_header(4, 2, 1, CARTESIAN LIMITS(1, 0)));
    read_it(NULL, K_AUTO);
    assert_int_equal(s.frames * 100 + s.volumes * 10 + s.slices, 441);
    static const int expected[4][5] = {/* repetition, contrast, trajectory, samples, acquisition */
                                       {0, 0, 0, 8, 4},
                                       {7, 0, 1, 4, 2},
                                       {7, 3, 2, 4, 3},
                                       {14, 0, 3, 8, 0}};
    assert_int_equal(s.trajectories, 4);
    for (int f = 0; f < 4; f++) {
        assert_int_equal(s.frame[f].volume, f);
        assert_int_equal(s.frame[f].repetition, expected[f][0]);
        assert_int_equal(s.frame[f].contrast, expected[f][1]);
        assert_int_equal(s.frame[f].trajectory, expected[f][2]);
        assert_int_equal(s.trajectory[s.frame[f].trajectory].samples, expected[f][3]);
        expect_sample(f, 0, expected[f][4], 0);
    }
}

/* Repetition, phase, set, contrast, with the last one fastest, for any order in the file. */
static void test_order_of_volumes(void **state)
{
    (void)state;
    begin_acquisitions();
    for (int i = 15; i >= 0; i--) {
        ismrmrd_acquisition *a = acquire(4, 1, 0);
        a->head.idx.repetition = (uint16_t)(i / 8);
        a->head.idx.phase = (uint16_t)(i / 4 % 2);
        a->head.idx.set = (uint16_t)(i / 2 % 2);
        a->head.idx.contrast = (uint16_t)(300 * (i % 2));
    }
    write_scan(plain_header(4, 2, 1, CARTESIAN LIMITS(0, 0)));
    read_it(NULL, K_AUTO);
    assert_int_equal(s.frames * 100 + s.volumes, 1616);
    for (int f = 0; f < 16; f++) {
        const scan_frame *frame = &s.frame[f];
        assert_int_equal(frame->volume, f);
        assert_int_equal(frame->repetition * 8 + frame->phase * 4 + frame->set * 2 + frame->contrast / 300, f);
        expect_sample(f, 0, 15 - f, 0);
    }
}

static void test_equal_trajectories_are_shared(void **state)
{
    (void)state;
    for (int dims = 0; dims <= 3; dims += 3) {
        begin_acquisitions();
        for (int f = 0; f < 4; f++) {
            ismrmrd_acquisition *a = acquire(8, 1, dims);
            a->head.idx.set = (uint16_t)f;
            a->head.idx.kspace_encode_step_1 = f == 2;
            for (int m = 0; m < 8 * dims; m++)
                ((float *)a->traj.p)[m] = 0.4f * (float)(m % 2) - (f == 2 ? 0.125f : 0);
        }
        write_scan(plain_header(8, 8, 4, CARTESIAN LIMITS(0, 0)));
        read_it(NULL, K_AUTO);
        assert_int_equal(s.frames * 10 + s.trajectories, 42);
        for (int f = 0; f < 4; f++)
            assert_int_equal(s.frame[f].trajectory, f == 2);
        for (int f = 0; f < 4; f++)
            expect_sample(f, 7, f, 7);
    }
}

/* Slices in the order 0, 2, 1 along their tilted normal. */
static void test_slices(void **state)
{
    (void)state;
    static const int place_of[3] = {0, 2, 1};
    begin_acquisitions();
    for (int i = 2; i >= 0; i--) {
        ismrmrd_acquisition *a = acquire(4, 1, 0);
        const float normal[3] = {0, 0.6f, 0.8f}, phase[3] = {0, 0.8f, -0.6f};
        memcpy(a->head.slice_dir, normal, sizeof normal);
        memcpy(a->head.phase_dir, phase, sizeof phase);
        a->head.idx.slice = (uint16_t)(10 * i);
        for (int axis = 0; axis < 3; axis++)
            a->head.position[axis] = 7.5f * (float)place_of[i] * normal[axis] + (float)(axis + 1);
    }
    write_scan(plain_header(4, 4, 1, CARTESIAN LIMITS(0, 0)));
    read_it(NULL, K_AUTO);
    assert_int_equal(s.frames * 100 + s.volumes * 10 + s.slices, 313);
    assert_int_equal(s.trajectories, 1);
    for (int f = 0; f < 3; f++) {
        static const int acquisition_at[3] = {2, 0, 1}; /* in the order of their positions */
        assert_int_equal(s.frame[f].slice, f);
        expect_sample(f, 0, acquisition_at[f], 0);
    }
    assert_true(s.geometry.known);
    assert_true(fabs(s.geometry.slice_step - 7.5) < 1e-5); /* positions are floats of up to 16 */
    for (int axis = 0; axis < 3; axis++)
        assert_true(s.geometry.centre[axis] == axis + 1);
    assert_true(fabs(s.geometry.direction[2][1] - 0.6) < 1e-6 && fabs(s.geometry.direction[1][2] + 0.6) < 1e-6);
    assert_string_equal(said, "");
    for (int i = 0; i < 3; i++)
        memset(acquired[i].head.position, 0, sizeof acquired[i].head.position);
    write_scan(plain_header(4, 4, 1, CARTESIAN LIMITS(0, 0)));
    read_it(NULL, K_AUTO);
    expect_said("slices share a position");
    assert_true(s.geometry.slice_step == 2); /* their thickness */
    expect_sample(0, 0, 2, 0);
    memset(acquired[0].head.slice_dir, 0, sizeof acquired[0].head.slice_dir);
    write_scan(plain_header(4, 4, 1, CARTESIAN LIMITS(0, 0)));
    read_it(NULL, K_AUTO);
    assert_true(fabs(s.geometry.direction[2][1] - 0.6) < 1e-6 && fabs(s.geometry.direction[2][2] - 0.8) < 1e-6);
    expect_said("slice_dir is 0 in 1 acquisitions");
    memcpy(acquired[0].head.slice_dir, acquired[0].head.phase_dir, sizeof acquired[0].head.slice_dir);
    write_scan(plain_header(4, 4, 1, CARTESIAN LIMITS(0, 0)));
    read_it(NULL, K_AUTO);
    assert_false(s.geometry.known);
    expect_said("1 acquisitions are not orthogonal");
    assert_true(s.geometry.direction[0][0] == 1 && s.geometry.direction[2][2] == 1 && s.geometry.centre[0] == 0);
    expect_said("differ in orientation");
    for (int i = 0; i < 3; i++)
        for (int axis = 0; axis < 3; axis++) {
            acquired[i].head.phase_dir[axis] = axis == 1;
            acquired[i].head.slice_dir[axis] = axis == 2 ? 2 : 0; /* no unit vector */
        }
    write_scan(plain_header(4, 4, 1, CARTESIAN LIMITS(0, 0)));
    read_it(NULL, K_AUTO);
    assert_true(s.geometry.known && s.geometry.direction[2][2] == 1);
    expect_said("3 acquisitions are no unit vectors");
}

static void test_slabs_and_missing_slices(void **state)
{
    (void)state;
    begin_acquisitions();
    for (int i = 0; i < 3; i++) {
        ismrmrd_acquisition *a = acquire(4, 1, 0);
        a->head.idx.slice = (uint16_t)(i % 2);
        a->head.idx.repetition = (uint16_t)(i / 2);
        a->head.idx.kspace_encode_step_2 = i == 2;
        a->head.position[2] = (float)i;
    }
    write_scan(plain_header(4, 4, 2, CARTESIAN LIMITS(0, 0)));
    read_it(NULL, K_AUTO);
    assert_int_equal(s.frames * 100 + s.volumes * 10 + s.slices, 341);
    assert_int_equal(s.frame[1].volume * 10 + s.frame[1].slice, 10);
    expect_said("2 slabs of 3D data");
    expect_said("1 of 4 slices has no samples");
    acquired[2].head.idx.kspace_encode_step_2 = 0;
    write_scan(plain_header(4, 4, 1, CARTESIAN LIMITS(0, 0)));
    read_it(NULL, K_AUTO);
    assert_int_equal(s.frames * 100 + s.volumes * 10 + s.slices, 322);
    assert_int_equal(s.frame[1].volume * 10 + s.frame[1].slice, 1);
}

/* ---- the file ---- */

static void test_groups(void **state)
{
    (void)state;
    begin_acquisitions();
    acquire(4, 1, 0);
    const char *xml = plain_header(4, 4, 1, CARTESIAN LIMITS(0, 0));
    write_scan_in("/measured", xml);
    read_it(NULL, K_AUTO);
    read_it("measured", K_AUTO);
    read_it("/measured", K_AUTO);
    expect_refusal("dataset", K_AUTO, VF_ERR_INPUT, "no group 'dataset' with datasets 'xml' and 'data'");
    hid_t file = create_file("/one", xml), stored = ismrmrd_acquisition_file_type();
    write_data(file, "/one", stored);
    H5Gclose(H5Gcreate2(file, "/two", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    assert_true(H5Lcreate_hard(file, "/one", file, "/two/deep", H5P_DEFAULT, H5P_DEFAULT) >= 0);
    hid_t third = H5Gcreate2(file, "/three", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(H5Lcreate_hard(file, "/one/xml", third, "xml", H5P_DEFAULT, H5P_DEFAULT) >= 0);
    assert_true(H5Lcreate_hard(file, "/one/data", third, "data", H5P_DEFAULT, H5P_DEFAULT) >= 0);
    H5Gclose(third);
    H5Tclose(stored);
    H5Fclose(file);
    expect_refusal(NULL, K_AUTO, VF_ERR_INPUT, "groups contain scans (/one, /three); choose one with --group");
    read_it("three", K_AUTO);
}

/* Members in another order, at other offsets, with other widths, and some missing. */
static void test_members_by_name(void **state)
{
    (void)state;
    begin_acquisitions();
    acquire(4, 2, 0)->head.idx.kspace_encode_step_1 = 3;
    hid_t counters = H5Tcreate(H5T_COMPOUND, 12), head = H5Tcreate(H5T_COMPOUND, 64), floats_type, stored;
    H5Tinsert(counters, "repetition", 0, H5T_STD_I32BE);
    H5Tinsert(counters, "kspace_encode_step_1", 4, H5T_STD_U64LE);
    H5Tinsert(head, "idx", 0, counters);
    H5Tinsert(head, "center_sample", 16, H5T_STD_I32LE);
    H5Tinsert(head, "active_channels", 24, H5T_STD_U16BE);
    H5Tinsert(head, "number_of_samples", 32, H5T_STD_U64BE);
    H5Tinsert(head, "flags", 40, H5T_STD_U64LE);
    floats_type = H5Tvlen_create(H5T_IEEE_F64BE);
    stored = H5Tcreate(H5T_COMPOUND, 200);
    H5Tinsert(stored, "data", 8, floats_type);
    H5Tinsert(stored, "head", 100, head);
    hid_t file = create_file("/dataset", plain_header(4, 4, 1, CARTESIAN LIMITS(2, 0)));
    write_data(file, "/dataset", stored);
    H5Tclose(stored);
    H5Tclose(floats_type);
    H5Tclose(head);
    H5Tclose(counters);
    H5Fclose(file);
    read_it(NULL, K_AUTO);
    for (int m = 0; m < 4; m++) {
        expect_k(m, m - 2, 1, 0);
        expect_sample(0, m, 0, m);
    }
}

/* More acquisitions than one batch holds, one of them damaged; more than 32 MB would be slow here. */
static void test_many_acquisitions(void **state)
{
    (void)state;
    enum { COPIES = 50 };
    begin_acquisitions();
    for (int i = 0; i < FIXTURE_ACQUISITIONS; i++)
        acquire(4, 2, 0)->head.idx.kspace_encode_step_1 = (uint16_t)i;
    hid_t file = create_file("/dataset", plain_header(4, 64, 1, CARTESIAN LIMITS(32, 0)));
    hid_t stored = ismrmrd_acquisition_file_type(), type = ismrmrd_acquisition_memory_type();
    hsize_t all = (hsize_t)COPIES * FIXTURE_ACQUISITIONS, one = FIXTURE_ACQUISITIONS;
    hid_t space = H5Screate_simple(1, &all, NULL), memory = H5Screate_simple(1, &one, NULL);
    hid_t set = H5Dcreate2(file, "/dataset/data", stored, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    for (int copy = 0; copy < COPIES; copy++) {
        hsize_t start = (hsize_t)copy * one;
        for (int i = 0; i < FIXTURE_ACQUISITIONS; i++)
            acquired[i].head.idx.repetition = (uint16_t)copy;
        acquired[17].head.flags = copy == 40 ? ISMRMRD_BIT(ISMRMRD_NAVIGATION) : 0;
        acquired[17].data.len = copy == 40 ? 16000 : 16; /* more than the header says, but not needed */
        H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, NULL, &one, NULL);
        assert_true(H5Dwrite(set, type, memory, space, H5P_DEFAULT, acquired) >= 0);
    }
    H5Dclose(set);
    H5Sclose(memory);
    H5Sclose(space);
    H5Tclose(type);
    H5Tclose(stored);
    H5Fclose(file);
    read_it(NULL, K_AUTO);
    assert_int_equal(s.frames, COPIES);
    assert_int_equal(s.trajectories, 2);
    for (int f = 0; f < COPIES; f++)
        for (int i = 0, at = 0; i < FIXTURE_ACQUISITIONS; i++)
            if (f != 40 || i != 17)
                expect_sample(f, 4 * at++ + 3, i, 3);
}

ISMRMRD_MAIN(TEST(test_cartesian), TEST(test_center_sample_left_out), TEST(test_what_is_no_image),
             TEST(test_calibration_lines), TEST(test_noise), TEST(test_frames), TEST(test_order_of_volumes),
             TEST(test_equal_trajectories_are_shared), TEST(test_slices), TEST(test_slabs_and_missing_slices),
             TEST(test_groups), TEST(test_members_by_name), TEST(test_many_acquisitions))
