/* Trajectories in ISMRMRD files: their components and units; acquisitions and headers that contradict each other;
 * coil maps beside them. */
#include <math.h>

#include "ismrmrd_fixture.h"

static const double PI = 3.14159265358979323846;

/* One acquisition of 9 samples on a line through the centre of k-space, from -1 to +1 times `end`. */
static ismrmrd_acquisition *line_to(int dims, double x, double y, double z)
{
    const double end[3] = {x, y, z};
    ismrmrd_acquisition *a = acquire(9, 1, dims);
    for (int m = 0; m < 9; m++)
        for (int d = 0; d < 3 && d < dims; d++)
            ((float *)a->traj.p)[m * dims + d] = (float)(end[d] * (m - 4) / 4);
    return a;
}

static void expect_line(double x, double y, double z)
{
    const double end[3] = {x, y, z};
    for (int m = 0; m < 9; m++)
        for (int d = 0; d < 3; d++) {
            double got = (double)s.trajectory[0].k[3 * m + d], wanted = end[d] * (m - 4) / 4;
            if (!(fabs(got - wanted) <= 2e-7 * fabs(end[d]))) /* two roundings of 2^-24, and one of the test's */
                fail_msg("component %d of sample %d is %.9g, not %.9g", d, m, got, wanted);
        }
}

static void write_line(int dims, int nx, int ny, int nz, double x, double y, double z)
{
    begin_acquisitions();
    line_to(dims, x, y, z);
    write_scan(plain_header(nx, ny, nz, "<trajectory>Radial</trajectory>"));
}

static void test_units_found(void **state)
{
    (void)state;
    write_line(2, 64, 32, 1, 0.5, -0.25, 0);
    read_it(NULL, K_AUTO);
    expect_line(32, -8, 0);
    assert_non_null(strstr(s.description, "radial"));
    assert_non_null(
        strstr(s.description, "cycles per voxel, because its extent of 0.5 is then 100 % of the edge of k-space"));
    /* Gradient delays move samples by up to 5 % of the extent. */
    write_line(2, 64, 32, 1, 0.52, -0.25, 0);
    read_it(NULL, K_AUTO);
    expect_line(0.52 * 64, -8, 0);
    assert_non_null(
        strstr(s.description, "cycles per voxel, because its extent of 0.52 is then 104 % of the edge of k-space"));
    expect_said("samples");
    said[0] = 0;
    write_line(2, 64, 32, 1, 0.53, -0.25, 0);
    expect_refusal(NULL, K_AUTO, VF_ERR_INPUT,
                   "it may be in radians (17 % of the edge), or in edge (parts of the edge of "
                   "k-space, 53 % of the edge)");
    write_line(3, 64, 32, 16, PI, -PI / 2, PI);
    read_it(NULL, K_AUTO);
    expect_line(32, -8, 8);
    assert_non_null(strstr(s.description, "radians per voxel, because its extent of 3.142 is then 100 % of the edge"));
    write_line(3, 64, 32, 16, 32, -8, 8);
    read_it(NULL, K_AUTO);
    expect_line(32, -8, 8);
    assert_non_null(
        strstr(s.description, "cycles per field of view, because its extent of 32 is then 100 % of the edge"));
    assert_string_equal(said, "");
    /* Less than two thirds of the edge, unless the units were asked for. */
    static const double extent[] = {20, 21.5, 9};
    for (int i = 0; i < 3; i++) {
        write_line(2, 64, 32, 1, extent[i], -extent[i] / 2, 0);
        read_it(NULL, K_FOV);
        assert_string_equal(said, "");
        read_it(NULL, K_AUTO);
        expect_line(extent[i], -extent[i] / 2, 0);
        if (i == 1)
            assert_string_equal(said, "");
        else
            expect_said(i == 0 ? "reaches only 62 % of the edge of k-space if it is in cycles per field of view"
                               : "reaches only 28 % of the edge");
        said[0] = 0;
    }
    write_line(2, 64, 1, 1, 32, 0, 0); /* one dimension */
    read_it(NULL, K_AUTO);
    expect_line(32, 0, 0);
    assert_string_equal(said, "");
}

/* Voxels of 2 mm, so that cycles per mm reach 0.25; the matrix is 64 x 32. The values are those of each unit's definition:
 * 0.25 cycles per mm is the edge of k-space. */
static void test_units_of_length(void **state)
{
    (void)state;
    static const struct {
        double edge;
        const char *text;
        k_units units;
    } cases[] = {
        {0.25, "cycles per mm", K_PER_MM},        {2.5, "cycles per cm", K_PER_CM},
        {250, "cycles per m", K_PER_M},           {0.5 * PI, "radians per mm", K_RAD_PER_MM},
        {500 * PI, "radians per m", K_RAD_PER_M}, {1, "parts of the edge of k-space", K_EDGE},
    };
    for (size_t t = 0; t < sizeof cases / sizeof *cases; t++) {
        write_line(2, 64, 32, 1, cases[t].edge, -0.5 * cases[t].edge, 0);
        read_it(NULL, K_AUTO);
        expect_line(32, -8, 0);
        assert_non_null(strstr(s.description, cases[t].text));
        write_line(2, 64, 32, 1, 0.5 * cases[t].edge, -0.5 * cases[t].edge, 0);
        read_it(NULL, cases[t].units);
        expect_line(16, -8, 0);
    }
    /* Stars in cycles per voxel, stacked by partitions. */
    write_line(3, 64, 32, 16, 0.5, -0.25, 8);
    read_it(NULL, K_AUTO);
    expect_line(32, -8, 8);
    assert_non_null(
        strstr(s.description, "in cycles per voxel along x and y, and in cycles per field of view along z"));
}

static void test_units_asked_for(void **state)
{
    (void)state;
    write_line(2, 64, 32, 1, 0.25, 0.5, 0);
    read_it(NULL, K_FOV);
    expect_line(0.25, 0.5, 0);
    read_it(NULL, K_RADIANS);
    expect_line(0.25 * 64 / 2 / PI, 0.5 * 32 / 2 / PI, 0);
    read_it(NULL, K_NORMALIZED);
    expect_line(16, 16, 0);
    assert_non_null(strstr(s.description, "as requested"));
    write_line(2, 64, 32, 1, 32, 16, 0);
    expect_refusal(NULL, K_NORMALIZED, VF_ERR_INPUT, "reaches |kx| = 2048 cycles per field of view");
}

static void test_units_that_fit_none_or_two(void **state)
{
    (void)state;
    write_line(2, 64, 32, 1, 40, 16, 0);
    expect_refusal(NULL, K_AUTO, VF_ERR_INPUT, "an extent of 40, 16, 0 along x, y, z fits no units");
    write_line(2, 64, 32, 1, 0, 0, 0);
    expect_refusal(NULL, K_AUTO, VF_ERR_INPUT, "k is 0 at all samples");
    write_line(2, 64, 32, 1, 32, 18, 0);
    expect_refusal(NULL, K_AUTO, VF_ERR_INPUT, "fits no units");
    write_line(2, 6, 6, 1, 3, 3, 0);
    expect_refusal(NULL, K_AUTO, VF_ERR_INPUT,
                   "fits several: radians (radians per voxel, 95 % of the edge), fov (cycles per field of view, 100 % "
                   "of the edge)");
    read_it(NULL, K_FOV);
    expect_line(3, 3, 0);
    write_line(2, 64, 32, 1, 33, 16, 0); /* a gradient delay: dropped, not an error */
    read_it(NULL, K_AUTO);
    static const float expected[9] = {0, 1, 1, 1, 1, 1, 1, 1, 0};
    assert_memory_equal(s.trajectory[0].weights, expected, sizeof expected);
}

static void test_third_component(void **state)
{
    (void)state;
    /* kz if the matrix has a third dimension */
    write_line(3, 32, 32, 32, 0.5, 0.25, 0.125);
    read_it(NULL, K_AUTO);
    expect_line(16, 8, 4);
    assert_null(s.trajectory[0].weights);
    /* 0 in two dimensions: no effect */
    write_line(3, 32, 32, 1, 0.5, 0.25, 0);
    read_it(NULL, K_AUTO);
    expect_line(16, 8, 0);
    assert_null(s.trajectory[0].weights);
    /* a weight in two dimensions, which does not affect the choice of units */
    begin_acquisitions();
    ismrmrd_acquisition *a = line_to(3, 0.5, 0.25, 0);
    float weights[9];
    for (int m = 0; m < 9; m++)
        ((float *)a->traj.p)[3 * m + 2] = weights[m] = 100.0f * (float)m;
    write_scan(plain_header(32, 32, 1, ""));
    read_it(NULL, K_AUTO);
    expect_line(16, 8, 0);
    assert_memory_equal(s.trajectory[0].weights, weights, sizeof weights);
    assert_non_null(strstr(s.description, "third component: weights"));
    /* neither */
    write_line(3, 32, 32, 1, 0.5, 0.25, 0.125);
    expect_refusal(NULL, K_AUTO, VF_ERR_INPUT, "neither kz (the matrix is 1 along z) nor a weight");
    /* what a sum of gradients leaves of kz */
    write_line(3, 32, 32, 1, 0.5, 0.25, 1e-6);
    read_it(NULL, K_AUTO);
    expect_line(16, 8, 0);
    assert_null(s.trajectory[0].weights);
    expect_said("third component is nearly 0");
}

static void test_time_is_the_fourth(void **state)
{
    (void)state;
    float times[9];
    begin_acquisitions();
    ismrmrd_acquisition *a = line_to(4, 0.5, 0.25, 0.5);
    for (int m = 0; m < 9; m++)
        ((float *)a->traj.p)[4 * m + 3] = times[m] = 1e-3f * (float)m;
    write_scan(plain_header(32, 32, 8, ""));
    read_it(NULL, K_AUTO);
    expect_line(16, 8, 4);
    assert_memory_equal(s.trajectory[0].time, times, sizeof times);
    assert_null(s.trajectory[0].weights);
}

/* A stack of stars or spirals: kx and ky are stored, kz follows from the encoding step. */
static void test_stacks(void **state)
{
    (void)state;
    for (int dims = 2; dims <= 3; dims++) {
        begin_acquisitions();
        for (int z = 0; z < 4; z++)
            line_to(dims, 0.5, 0.25, 0)->head.idx.kspace_encode_step_2 = (uint16_t)z;
        write_scan(plain_header(32, 32, 4, ""));
        read_it(NULL, K_AUTO);
        for (int i = 0; i < 4 * 9; i++) {
            const float *k = s.trajectory[0].k + 3 * i;
            int z = i / 9, m = i % 9;
            assert_true(k[0] == (float)(4 * (m - 4)) && k[1] == (float)(2 * (m - 4)) && k[2] == (float)(z - 2));
        }
        assert_null(strstr(said, "mixes"));
        write_scan(plain_header(32, 32, 1, ""));
        read_it(NULL, K_AUTO);
        expect_said("kspace_encode_step_2 is 0 to 3, but the header has 1 voxel along z: the image mixes all of them");
    }
}

static void test_discarded_samples_of_trajectories(void **state)
{
    (void)state;
    begin_acquisitions();
    ismrmrd_acquisition *a = line_to(2, 0.5, 0.25, 0);
    a->head.discard_pre = 2;
    a->head.discard_post = 3;
    a->head.flags = ISMRMRD_BIT(ISMRMRD_REVERSE); /* the trajectory belongs to the samples, so nothing is reversed */
    write_scan(plain_header(32, 32, 1, ""));
    read_it(NULL, K_NORMALIZED);
    assert_int_equal(s.trajectory[0].samples, 4);
    for (int m = 0; m < 4; m++) {
        assert_true(s.trajectory[0].k[3 * m] == 32 * 0.5f * (float)(m + 2 - 4) / 4);
        assert_true(s.frame[0].data[m] == value_of(0, 0, m + 2));
    }
}

/* ---- contradictions ---- */

static void refuse_acquisitions(const char *xml, const char *words)
{
    write_scan(xml);
    expect_refusal(NULL, K_AUTO, VF_ERR_INPUT, words);
}

static void test_acquisitions_that_disagree(void **state)
{
    (void)state;
    char xml[4096], radial[4096];
    snprintf(xml, sizeof xml, "%s", plain_header(8, 8, 1, "<trajectory>cartesian</trajectory>"));
    snprintf(radial, sizeof radial, "%s", plain_header(8, 8, 1, "<trajectory>goldenangle</trajectory>"));
    begin_acquisitions();
    acquire(8, 2, 0);
    acquire(8, 3, 0);
    refuse_acquisitions(xml, "acquisition 1 has 3 channels, but earlier ones have 2");
    acquired[1].head.active_channels = 2;
    refuse_acquisitions(xml, "acquisition 1 holds 48 numbers of data; by its header, 8 samples of 2 channels");
    acquired[1].data.len = 4000;
    refuse_acquisitions(xml, "cannot read acquisition 1, or it has more data than its header says");
    acquired[1].data.len = 30;
    refuse_acquisitions(xml, "acquisition 1 holds 30 numbers of data; by its header, 8 samples of 2 channels");
    acquired[1].data.len = 32;
    ((float *)acquired[1].data.p)[2 * (8 + 5) + 1] = NAN;
    refuse_acquisitions(xml, "acquisition 1: sample 5 of channel 1 is nan");
    acquired[1].head.discard_post = 3; /* discarded samples may have any value */
    write_scan(xml);
    read_it(NULL, K_AUTO);
    acquired[1].head.idx.kspace_encode_step_1 = 9;
    refuse_acquisitions(xml, "acquisition 1 has kspace_encode_step_1 = 9, which is +5 from the centre");
    acquired[1].head.idx.kspace_encode_step_1 = 0;
    acquired[1].head.center_sample = 7;
    refuse_acquisitions(xml, "acquisition 1: samples from -7 to -3 relative to center_sample");
    acquired[1].head.center_sample = 4;
    acquired[0].head.flags = ISMRMRD_BIT(ISMRMRD_COMPRESSION1 + 3);
    write_scan(xml);
    expect_refusal(NULL, K_AUTO, VF_ERR_UNSUPPORTED, "acquisition 0 is compressed");
    acquired[0].head.flags = 0;
    refuse_acquisitions(radial, "the header says 'goldenangle', but the acquisitions have no trajectory");
    acquired[0].head.active_channels = 0;
    refuse_acquisitions(xml, "acquisition 0 has no channels");
    begin_acquisitions();
    line_to(2, 0.5, 0.5, 0);
    line_to(3, 0.5, 0.5, 0);
    refuse_acquisitions(radial, "acquisition 1 has a trajectory of 3 components, but earlier ones have 2");
    acquired[1].head.trajectory_dimensions = 2;
    ((float *)acquired[1].traj.p)[9] = -INFINITY;
    acquired[1].traj.len = 18;
    refuse_acquisitions(radial, "acquisition 1: component 1 of the trajectory's sample 4 is infinite");
    acquired[1].traj.len = 17;
    refuse_acquisitions(radial, "acquisition 1 holds 17 numbers of trajectory");
    begin_acquisitions();
    acquire(4, 1, 5);
    refuse_acquisitions(radial, "a trajectory of 5 components; expected 2, 3 or 4");
    begin_acquisitions();
    acquire(40, 1, 0);
    refuse_acquisitions(xml, "samples from -20 to 19 relative to center_sample exceed the encoded matrix of 8");
}

static void test_datasets_that_are_none(void **state)
{
    (void)state;
    hsize_t two = 2, none = 0;
    hid_t lines = H5Screate_simple(1, &two, NULL), empty = H5Screate_simple(1, &none, NULL);
    hid_t stored = ismrmrd_acquisition_file_type(), head = ismrmrd_image_header_file_type();
    const struct {
        hid_t type, space;
        const char *words;
    } cases[] = {{H5T_NATIVE_FLOAT, lines, "is not a dataset of acquisitions with members head and data"},
                 {head, lines, "is not a dataset of acquisitions with members head and data"},
                 {stored, empty, "0 acquisitions"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hid_t file = create_file("/dataset", plain_header(8, 8, 1, ""));
        H5Dclose(
            H5Dcreate2(file, "/dataset/data", cases[i].type, cases[i].space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
        H5Fclose(file);
        expect_refusal(NULL, K_AUTO, VF_ERR_INPUT, cases[i].words);
    }
    H5Tclose(head);
    H5Tclose(stored);
    H5Sclose(empty);
    H5Sclose(lines);
}

/* ---- coil maps ---- */

/* `front`: the length of an axis before the coils; 0: none. */
static void write_maps(int coils, int z, int y, int x, int front)
{
    static float complex maps[4096];
    hsize_t dims[5] = {(hsize_t)front, (hsize_t)coils, (hsize_t)z, (hsize_t)y, (hsize_t)x};
    for (int i = 0; i < coils * z * y * x * (front > 1 ? front : 1); i++)
        maps[i] = (float)i - (float)(2 * i) * I;
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT), type = ismrmrd_complex_float_type();
    hid_t space = H5Screate_simple(front ? 5 : 4, front ? dims : dims + 1, NULL);
    hid_t set = H5Dcreate2(file, "/dataset/csm", type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, maps) >= 0);
    H5Dclose(set);
    H5Sclose(space);
    H5Tclose(type);
    H5Fclose(file);
}

static void expect_map(int64_t voxel, int i)
{
    if (s.sensitivity[voxel] != (float)i - (float)(2 * i) * I)
        fail_msg("voxel %d of the maps is %g, not %d", (int)voxel, (double)crealf(s.sensitivity[voxel]), i);
}

static void test_coil_maps(void **state)
{
    (void)state;
    const int encoded[3] = {8, 4, 2}, image[3] = {4, 4, 2};
    const double fov[3] = {16, 8, 4}, image_fov[3] = {8, 8, 4};
    begin_acquisitions();
    acquire(8, 2, 0);
    acquire_partition(8, 2);
    const char *xml = header(encoded, fov, image, image_fov, "<trajectory>cartesian</trajectory>");
    for (int front = 0; front < 2; front++) {
        write_scan(xml);
        write_maps(2, 2, 4, 8, front);
        read_it(NULL, K_AUTO);
        assert_non_null(s.sensitivity);
        for (int i = 0; i < 2 * 2 * 4 * 8; i++)
            expect_map(i, i);
    }
    write_scan(xml); /* maps of the image only: extrapolated beyond it */
    write_maps(2, 2, 4, 4, 1);
    read_it(NULL, K_AUTO);
    assert_non_null(s.sensitivity);
    for (int row = 0; row < 2 * 2 * 4; row++) {
        static const int nearest[8] = {0, 0, 0, 1, 2, 3, 3, 3};
        for (int x = 0; x < 8; x++)
            expect_map(8 * row + x, 4 * row + nearest[x]);
    }
    write_scan(xml);
    write_maps(3, 2, 4, 4, 1);
    read_it(NULL, K_AUTO);
    assert_null(s.sensitivity);
    expect_said("ignoring 'csm'");
    write_scan(xml);
    write_maps(2, 2, 4, 8, 2); /* more than one set */
    read_it(NULL, K_AUTO);
    assert_null(s.sensitivity);
    expect_said("ignoring 'csm'");
}

/* If reconSpace and the image differ, a note says so, and only then. */
static void test_other_matrix_than_kept(void **state)
{
    (void)state;
    static const struct {
        int encoded[3];
        double encoded_fov[3];
        int image[3];
        double image_fov[3];
        const char *words[2]; /* NULL: none */
    } cases[] = {
        {{8, 4, 1}, {16, 8, 5}, {4, 4, 1}, {8, 8, 5}, {NULL, NULL}},  /* oversampled twice */
        {{8, 6, 1}, {16, 8, 5}, {4, 6, 9}, {8, 8, 45}, {NULL, NULL}}, /* partial Fourier; slices counted along z */
        {{7, 4, 6}, {16, 8, 6}, {4, 4, 4}, {8.1, 8, 4}, {NULL, NULL}},
        {{8, 4, 1}, {16, 8, 5}, {4, 4, 1}, {8, 8.9, 5}, {NULL, NULL}}, /* by less than half a voxel */
        {{4, 4, 1},
         {16, 8, 5},
         {4, 4, 1},
         {8, 8, 5},
         {"reconSpace has 4 x 4 x 1 voxels over 8 x 8 x 5 mm, encodedSpace 4 x 4 x 1 over 16 x 8 x 5 mm; the image "
          "keeps 2 x 4 x 1 voxels, those within the field of view of reconSpace",
          "--keep-oversampling keeps all of the encoded 4 x 4 x 1"}},
        {{8, 4, 2},
         {16, 8, 5},
         {4, 4, 4},
         {8, 8, 5},
         {"keeps 4 x 4 x 2 voxels, because nothing is interpolated", "8 x 4 x 2"}},
        {{4, 4, 1}, {8, 8, 5}, {4, 8, 1}, {8, 8, 5}, {"keeps 4 x 4 x 1 voxels, because nothing is interpolated", ""}},
        {{4, 4, 1},
         {8, 8, 5},
         {4, 4, 1},
         {8, 9.1, 5},
         {"because nothing is known outside the encoded field of view", ""}},
    };
    for (size_t t = 0; t < sizeof cases / sizeof *cases; t++) {
        begin_acquisitions();
        acquire(cases[t].encoded[0], 2, 0);
        if (cases[t].encoded[2] > 1)
            acquire_partition(cases[t].encoded[0], 2);
        write_scan(header(cases[t].encoded, cases[t].encoded_fov, cases[t].image, cases[t].image_fov,
                          "<trajectory>cartesian</trajectory>"));
        read_it(NULL, K_AUTO);
        for (int i = 0; i < 2; i++)
            if (cases[t].words[i])
                expect_said(cases[t].words[i]);
        if (!cases[t].words[0] && strstr(said, "reconSpace"))
            fail_msg("case %d: '%s'", (int)t, said);
    }
}

/* The same limit for files and for --matrix. */
static void test_most_voxels(void **state)
{
    (void)state;
    static const int64_t beyond[3] = {16001, 4, 1}, most[3] = {16000, 4, 1};
    for (int n = 16000; n <= 16001; n++) {
        begin_acquisitions();
        acquire(4, 2, 0)->head.center_sample = 2;
        write_scan(plain_header(n, 4, 1, "<trajectory>cartesian</trajectory>"));
        if (n == most[0])
            read_it(NULL, K_AUTO);
        else
            expect_refusal(NULL, K_AUTO, VF_ERR_INPUT, "a matrix of 16001 along x; expected 1 to 16000");
    }
    write_scan(plain_header(4, 4, 1, "<trajectory>cartesian</trajectory>"));
    read_it(NULL, K_AUTO);
    need(change_matrix(ctx, most, &s));
    assert_int_equal(change_matrix(ctx, beyond, &s), VF_ERR_ARGUMENT);
    assert_non_null(strstr(vf_context_message(ctx), "at most 16000"));
}

/* Readouts are the kept samples of acquisitions, each frame's in the order of the file. */
static void test_readouts(void **state)
{
    (void)state;
    static const int length[5] = {9, 4, 7, 5, 6}, repetition[5] = {0, 1, 0, 1, 1};
    static const int64_t expected[2][4] = {{0, 8, 14}, {0, 3, 7, 12}}; /* one sample of each is discarded */
    for (int dims = 0; dims <= 2; dims += 2) {
        begin_acquisitions();
        for (int i = 0; i < 5; i++) {
            ismrmrd_acquisition *a = acquire(length[i], 1, dims);
            a->head.discard_pre = 1;
            a->head.idx.repetition = (uint16_t)repetition[i];
            a->head.idx.kspace_encode_step_1 = (uint16_t)i;
            for (int m = 0; m < dims * length[i]; m++)
                ((float *)a->traj.p)[m] = (float)(0.5 * m / dims / length[i]);
        }
        write_scan(
            plain_header(16, 16, 1, dims ? "<trajectory>radial</trajectory>" : "<trajectory>cartesian</trajectory>"));
        read_it(NULL, K_NORMALIZED);
        assert_int_equal(s.frames, 2);
        for (int f = 0; f < 2; f++) {
            const scan_trajectory *t = &s.trajectory[s.frame[f].trajectory];
            assert_int_equal(t->readouts, 2 + f);
            assert_memory_equal(t->readout, expected[f], (size_t)(3 + f) * sizeof(int64_t));
        }
    }
}

ISMRMRD_MAIN(TEST(test_other_matrix_than_kept), TEST(test_most_voxels), TEST(test_units_found),
             TEST(test_units_of_length), TEST(test_units_asked_for), TEST(test_units_that_fit_none_or_two),
             TEST(test_third_component), TEST(test_time_is_the_fourth), TEST(test_stacks),
             TEST(test_discarded_samples_of_trajectories), TEST(test_acquisitions_that_disagree),
             TEST(test_datasets_that_are_none), TEST(test_coil_maps), TEST(test_readouts))
