/* The reader of scans: the plain layout, and invalid scans. */
#include <math.h>
#include <sys/stat.h>

#include "scan_fixture.h"

/* The initial scan of most tests: 2 coils, 5 samples, a matrix of 6 x 4 x 2. */
enum { NX = 6, NY = 4, NZ = 2, COILS = 2, SAMPLES = 5, VOXELS = NX * NY * NZ };

typedef struct content {
    const char *name; /* NULL: the end */
    vf_dtype type;
    int rank;
    int64_t dims[5];
    const void *values;
} content;

static const int64_t matrix[3] = {NX, NY, NZ};
static const double fov[3] = {240, 200, 30.5};
static const float k[SAMPLES][3] = {{0, 0, 0}, {-3, 2, 1}, {2.5f, -2, -1}, {1, 1, 0.25f}, {-0.125f, 0, 0}};
static float complex data[2 * COILS * SAMPLES], maps[COILS * VOXELS], phi[SAMPLES];
static float weights[SAMPLES], times[SAMPLES], field[VOXELS], images[3 * VOXELS];

static void fill_arrays(void)
{
    for (int i = 0; i < 2 * COILS * SAMPLES; i++)
        data[i] = (float)(i + 1) + (float)(-2 * i) * I;
    for (int i = 0; i < COILS * VOXELS; i++)
        maps[i] = (float)i - 0.5f * I;
    for (int i = 0; i < SAMPLES; i++) {
        phi[i] = 1.0f / (float)(i + 1) + (float)i * I;
        weights[i] = (float)i;
        times[i] = 1e-3f * (float)i;
    }
    for (int i = 0; i < 3 * VOXELS; i++)
        images[i] = (float)(3 * i);
    for (int i = 0; i < VOXELS; i++)
        field[i] = (float)(i - 20);
}

static void write_contents(vf_h5 *file, const content *contents)
{
    static const int64_t start[VF_H5_MAX_RANK] = {0};
    for (const content *c = contents; c->name; c++) {
        need(vf_h5_dataset_create(file, c->name, c->type, c->rank, c->dims, c->dims, 0));
        if (c->values)
            need(vf_h5_write(file, c->name, c->type, start, c->dims, c->values));
    }
}

static void write_file(const content *contents, const int64_t *n, const double *size)
{
    vf_h5 *file;
    need(vf_h5_create(ctx, path, &file));
    write_contents(file, contents);
    if (n)
        need(vf_h5_attribute_integers(file, "/scan", "matrix", n, 3));
    if (size)
        need(vf_h5_attribute_doubles(file, "/scan", "fov_mm", size, 3));
    need(vf_h5_commit(&file));
}

static const content DATA = {"/scan/data", VF_C64, 2, {COILS, SAMPLES}, data};
static const content K = {"/scan/trajectory", VF_F32, 2, {SAMPLES, 3}, k};

/* ---- valid scans ---- */

static void test_all_datasets(void **state)
{
    (void)state;
    const content all[] = {DATA,
                           K,
                           {"/scan/weights", VF_F32, 1, {SAMPLES}, weights},
                           {"/scan/time", VF_F32, 1, {SAMPLES}, times},
                           {"/scan/phi", VF_C64, 1, {SAMPLES}, phi},
                           {"/scan/sensitivity", VF_C64, 4, {COILS, NZ, NY, NX}, maps},
                           {"/scan/field_map", VF_F32, 3, {NZ, NY, NX}, field},
                           {"/scan/reference", VF_F32, 4, {3, NZ, NY, NX}, images},
                           {"/scan/truth", VF_F32, 3, {NZ, NY, NX}, images},
                           {NULL, VF_F32, 0, {0}, NULL}};
    write_file(all, matrix, fov);
    read_it(NULL, K_AUTO);
    assert_memory_equal(s.matrix, matrix, sizeof matrix);
    assert_memory_equal(s.crop, matrix, sizeof matrix);
    assert_memory_equal(s.fov, fov, sizeof fov);
    assert_int_equal(s.coils, COILS);
    assert_int_equal(s.frames * 100 + s.volumes * 10 + s.slices, 111);
    assert_int_equal(s.places * 10 + s.frame[0].place, 10);
    assert_string_equal(s.group, "");
    assert_int_equal(s.trajectories, 1);
    assert_int_equal(s.trajectory[0].samples, SAMPLES);
    assert_memory_equal(s.trajectory[0].k, k, sizeof k);
    assert_memory_equal(s.trajectory[0].weights, weights, sizeof weights);
    assert_memory_equal(s.trajectory[0].time, times, sizeof times);
    assert_memory_equal(s.trajectory[0].phi, phi, sizeof phi);
    assert_memory_equal(s.frame[0].data, data, COILS * SAMPLES * sizeof *data);
    assert_memory_equal(s.sensitivity, maps, sizeof maps);
    assert_memory_equal(s.field_map, field, sizeof field);
    assert_int_equal(s.references, 3);
    assert_memory_equal(s.reference, images, sizeof images);
    assert_int_equal(s.truths, 1);
    assert_memory_equal(s.truth, images, VOXELS * sizeof *images);
    assert_string_equal(s.layout, "plain");
    assert_false(s.geometry.known);
    assert_null(s.noise);
    assert_null(s.protocol);
    assert_int_equal(strlen(s.digest), VF_DIGEST_TEXT - 1);
    assert_string_equal(said, "");
}

static void test_frames(void **state)
{
    (void)state;
    static float both[2][SAMPLES][3];
    memcpy(both[0], k, sizeof k);
    both[1][3][0] = -2;
    const content shared[] = {{"/scan/data", VF_C64, 3, {2, COILS, SAMPLES}, data}, K, {NULL, VF_F32, 0, {0}, NULL}};
    write_file(shared, matrix, fov);
    read_it(NULL, K_AUTO);
    assert_int_equal(s.frames * 100 + s.volumes * 10 + s.trajectories, 221);
    assert_int_equal(s.frame[1].volume * 100 + s.frame[1].repetition * 10 + s.frame[1].trajectory, 110);
    assert_memory_equal(s.frame[1].data, data + COILS * SAMPLES, COILS * SAMPLES * sizeof *data);
    const content own[] = {{"/scan/data", VF_C64, 3, {2, COILS, SAMPLES}, data},
                           {"/scan/trajectory", VF_F32, 3, {2, SAMPLES, 3}, both},
                           {"/scan/weights", VF_F32, 1, {SAMPLES}, weights},
                           {"/scan/truth", VF_F32, 4, {2, NZ, NY, NX}, images},
                           {NULL, VF_F32, 0, {0}, NULL}};
    write_file(own, matrix, fov);
    read_it(NULL, K_AUTO);
    assert_int_equal(s.frames * 100 + s.trajectories * 10 + s.truths, 222);
    assert_int_equal(s.frame[1].trajectory, 1);
    assert_memory_equal(s.trajectory[1].k, both[1], sizeof both[1]);
    assert_memory_equal(s.trajectory[1].weights, weights, sizeof weights);
}

static void test_two_dimensions(void **state)
{
    (void)state;
    static const float flat[SAMPLES][2] = {{0, 1}, {2, -2}, {-3, 0}, {1, 1}, {0.5f, 0.25f}};
    static const int64_t plane[3] = {NX, NY, 1};
    const content all[] = {{"/scan/data", VF_C64, 1, {SAMPLES}, data},
                           {"/scan/trajectory", VF_F32, 2, {SAMPLES, 2}, flat},
                           {"/scan/sensitivity", VF_C64, 2, {NY, NX}, maps},
                           {"/scan/reference", VF_F32, 3, {2, NY, NX}, images},
                           {NULL, VF_F32, 0, {0}, NULL}};
    write_file(all, plane, fov);
    read_it(NULL, K_AUTO);
    assert_int_equal(s.coils * 10 + s.references, 12);
    for (int m = 0; m < SAMPLES; m++) {
        assert_memory_equal(s.trajectory[0].k + 3 * m, flat[m], sizeof flat[m]);
        assert_true(s.trajectory[0].k[3 * m + 2] == 0);
    }
    assert_memory_equal(s.sensitivity, maps, (size_t)NX * NY * sizeof *maps);
}

static void test_other_numbers(void **state)
{
    (void)state;
    static double complex wide[COILS * SAMPLES];
    static double wide_k[SAMPLES][3];
    for (int i = 0; i < COILS * SAMPLES; i++)
        wide[i] = (double complex)data[i];
    for (int i = 0; i < SAMPLES * 3; i++)
        wide_k[i / 3][i % 3] = (double)k[i / 3][i % 3];
    const content doubles[] = {{"/scan/data", VF_C128, 2, {COILS, SAMPLES}, wide},
                               {"/scan/trajectory", VF_F64, 2, {SAMPLES, 3}, wide_k},
                               {NULL, VF_F32, 0, {0}, NULL}};
    const content pairs[] = {{"/scan/data", VF_F32, 3, {COILS, SAMPLES, 2}, data}, K, {NULL, VF_F32, 0, {0}, NULL}};
    const content *const kinds[] = {doubles, pairs};
    for (int i = 0; i < 2; i++) {
        write_file(kinds[i], matrix, fov);
        read_it(NULL, K_AUTO);
        assert_int_equal(s.coils * 10 + s.frames, 21);
        assert_memory_equal(s.frame[0].data, data, COILS * SAMPLES * sizeof *data);
        assert_memory_equal(s.trajectory[0].k, k, sizeof k);
    }
}

static void test_units_of_plain_layout(void **state)
{
    (void)state;
    static float other[SAMPLES][3];
    const content all[] = {DATA, {"/scan/trajectory", VF_F32, 2, {SAMPLES, 3}, other}, {NULL, VF_F32, 0, {0}, NULL}};
    for (int units = K_NORMALIZED; units <= K_RADIANS; units++) {
        for (int i = 0; i < SAMPLES * 3; i++) {
            double n = (double)matrix[i % 3], value = (double)k[i / 3][i % 3];
            other[i / 3][i % 3] = (float)(units == K_NORMALIZED ? value / n
                                          : units == K_RADIANS  ? value * 2 * 3.14159265358979 / n
                                                                : value);
        }
        write_file(all, matrix, fov);
        read_it(NULL, (k_units)units);
        for (int i = 0; i < SAMPLES * 3; i++) /* three roundings of 2^-24 each, of values up to 3 */
            assert_true(fabs((double)(s.trajectory[0].k[i] - k[i / 3][i % 3])) <= 3 * 3 * 6e-8);
    }
    for (int i = 0; i < SAMPLES * 3; i++)
        other[i / 3][i % 3] = k[i / 3][i % 3] / (float)matrix[i % 3];
    write_file(all, matrix, fov);
    expect_refusal(NULL, K_AUTO, VF_ERR_INPUT, "multiply kx, ky, kz by the matrix (6, 4, 2)");
    expect_refusal(NULL, K_AUTO, VF_ERR_INPUT, "--trajectory-units normalized");
    read_it(NULL, K_FOV); /* an explicit unit is accepted */
    assert_memory_equal(s.trajectory[0].k, other, sizeof other);
}

static void test_samples_just_outside(void **state)
{
    (void)state;
    static const int64_t wide[3] = {100, NY, NZ};
    static float out[SAMPLES][3];
    memcpy(out, k, sizeof k);
    out[1][0] = -50.5f; /* half a cycle beyond: kept */
    const content all[] = {DATA, {"/scan/trajectory", VF_F32, 2, {SAMPLES, 3}, out}, {NULL, VF_F32, 0, {0}, NULL}};
    write_file(all, wide, fov);
    read_it(NULL, K_AUTO);
    assert_null(s.trajectory[0].weights);
    assert_string_equal(said, "");
    out[2][0] = 51; /* beyond, by at most a twentieth: weight 0 */
    write_file(all, wide, fov);
    read_it(NULL, K_AUTO);
    static const float expected[SAMPLES] = {1, 1, 0, 1, 1};
    assert_memory_equal(s.trajectory[0].weights, expected, sizeof expected);
    assert_memory_equal(s.trajectory[0].k, out, sizeof out);
    expect_said("warning: ");
    expect_said("1 of 5 samples");
    out[2][0] = 53;
    write_file(all, wide, fov);
    expect_refusal(NULL, K_AUTO, VF_ERR_INPUT, "|kx| = 53 cycles per field of view, but 100 voxels");
}

/* It changes if k, weights, time or phi change, and only then. */
static void test_digest(void **state)
{
    (void)state;
    enum { CASES = 8 };
    char digests[CASES][VF_DIGEST_TEXT];
    const struct {
        const char *name;
        vf_dtype type;
        const void *values;
    } more[CASES] = {
        {NULL, VF_F32, NULL},          {"/scan/weights", VF_F32, times},    {"/scan/weights", VF_F32, weights},
        {"/scan/time", VF_F32, times}, {"/scan/time", VF_F32, weights},     {"/scan/phi", VF_C64, phi},
        {"/scan/phi", VF_C64, data},   {"/scan/trajectory", VF_F32, images}};
    for (int i = 0; i < CASES; i++) {
        bool other_k = i == CASES - 1;
        content all[4] = {DATA, K, {more[i].name, more[i].type, 1, {SAMPLES}, more[i].values}};
        if (other_k) {
            all[1].values = field + 20; /* 0, 1, 2, ... */
            all[2].name = NULL;
        }
        write_file(all, other_k ? (const int64_t[3]){64, 64, 64} : matrix, fov);
        read_it(NULL, K_AUTO);
        memcpy(digests[i], s.digest, sizeof s.digest);
        for (int j = 0; j < i; j++)
            assert_string_not_equal(digests[i], digests[j]);
        all[0].values = data + 3;
        write_file(all, other_k ? (const int64_t[3]){64, 64, 64} : matrix, fov);
        read_it(NULL, K_AUTO);
        assert_string_equal(digests[i], s.digest);
    }
}

static void test_zero_data_is_said(void **state)
{
    (void)state;
    static const float complex zero[COILS * SAMPLES];
    const content all[] = {{"/scan/data", VF_C64, 2, {COILS, SAMPLES}, zero}, K, {NULL, VF_F32, 0, {0}, NULL}};
    write_file(all, matrix, fov);
    read_it(NULL, K_AUTO);
    expect_said("all samples are 0");
}

/* ---- invalid scans ---- */

typedef struct refusal {
    content contents[3]; /* those with a name replace or extend data and trajectory */
    const char *words;
} refusal;

static void test_shapes_that_disagree(void **state)
{
    (void)state;
    const refusal cases[] = {
        {{{"/scan/data", VF_C64, 2, {SAMPLES, COILS}, data}}, "2 samples against 5"},
        {{{"/scan/data", VF_F32, 2, {COILS, SAMPLES}, images}}, "/scan/data has the shape [2, 5]; expected complex"},
        {{{"/scan/data", VF_C64, 4, {1, 1, COILS, SAMPLES}, data}}, "[coil][sample] or [frame][coil][sample]"},
        {{{"/scan/trajectory", VF_F32, 2, {SAMPLES, 2}, k}}, "a last axis of 3"},
        {{{"/scan/trajectory", VF_F32, 2, {3, SAMPLES}, k}}, "a last axis of 3"},
        {{{"/scan/trajectory", VF_F32, 1, {SAMPLES}, k}}, "[sample][3]"},
        {{{"/scan/trajectory", VF_C64, 2, {SAMPLES, 3}, data}}, "/scan/trajectory has complex numbers"},
        {{{"/scan/trajectory", VF_F32, 3, {2, SAMPLES, 3}, images}}, "1 frame against 2"},
        {{{"/scan/sensitivity", VF_C64, 4, {1, NZ, NY, NX}, maps}}, "2 coils in /scan/data, but 1 map in"},
        {{{"/scan/sensitivity", VF_C64, 4, {COILS, NX, NY, NZ}, maps}}, "expected [coil][2][4][6]"},
        {{{"/scan/sensitivity", VF_F32, 4, {COILS, NZ, NY, NX}, images}}, "expected complex numbers"},
        {{{"/scan/weights", VF_F32, 1, {SAMPLES - 1}, weights}}, "/scan/weights has the shape [4]"},
        {{{"/scan/weights", VF_F32, 2, {COILS, SAMPLES}, images}}, "/scan/weights has the shape [2, 5]"},
        {{{"/scan/time", VF_F32, 1, {SAMPLES + 1}, images}}, "/scan/time has the shape [6]"},
        {{{"/scan/phi", VF_F32, 1, {SAMPLES}, images}}, "expected complex numbers"},
        {{{"/scan/field_map", VF_F32, 3, {NZ, NY, NX}, field}}, "/scan/time is missing; /scan/field_map needs it"},
        {{{"/scan/field_map", VF_F32, 4, {2, NZ, NY, NX}, images}}, "2 volumes in /scan/field_map"},
        {{{"/scan/field_map", VF_F32, 2, {NY, NX}, field}}, "expected [2][4][6], the matrix of the scan"},
        {{{"/scan/reference", VF_F32, 3, {NX, NY, NZ}, field}}, "expected [image][2][4][6]"},
        {{{"/scan/truth", VF_F32, 4, {2, NZ, NY, NX}, images}}, "2 volumes in /scan/truth, but 1 frame in"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        content all[6] = {DATA, K};
        int n = 2;
        for (const content *c = cases[i].contents; c->name; c++) {
            int at = strcmp(c->name, DATA.name) == 0 ? 0 : strcmp(c->name, K.name) == 0 ? 1 : n++;
            all[at] = *c;
        }
        write_file(all, matrix, fov);
        expect_refusal(NULL, K_AUTO, VF_ERR_INPUT, cases[i].words);
    }
}

static void test_values_that_are_wrong(void **state)
{
    (void)state;
    static float bad_k[SAMPLES][3];
    static float complex bad_data[2 * COILS * SAMPLES], bad_maps[COILS * VOXELS];
    static float negative[SAMPLES] = {1, 1, -0.5f, 1, 1}, zero[SAMPLES];
    memcpy(bad_k, k, sizeof k);
    bad_k[3][1] = INFINITY;
    memcpy(bad_data, data, sizeof data);
    bad_data[COILS * SAMPLES + SAMPLES + 2] = 1 + NAN * I;
    bad_maps[VOXELS + NX * NY + 2 * NX + 5] = NAN;
    const content three[] = {{"/scan/data", VF_C64, 3, {2, COILS, SAMPLES}, bad_data}, K, {NULL, VF_F32, 0, {0}, NULL}};
    write_file(three, matrix, fov);
    expect_refusal(NULL, K_AUTO, VF_ERR_INPUT, "/scan/data[1, 1, 2] is nan");
    const content trajectory[] = {
        DATA, {"/scan/trajectory", VF_F32, 2, {SAMPLES, 3}, bad_k}, {NULL, VF_F32, 0, {0}, NULL}};
    write_file(trajectory, matrix, fov);
    expect_refusal(NULL, K_AUTO, VF_ERR_INPUT, "/scan/trajectory[3, 1] is infinite");
    content more[] = {
        DATA, K, {"/scan/sensitivity", VF_C64, 4, {COILS, NZ, NY, NX}, bad_maps}, {NULL, VF_F32, 0, {0}, NULL}};
    write_file(more, matrix, fov);
    expect_refusal(NULL, K_AUTO, VF_ERR_INPUT, "/scan/sensitivity[1, 1, 2, 5] is nan");
    more[2] = (content){"/scan/weights", VF_F32, 1, {SAMPLES}, negative};
    write_file(more, matrix, fov);
    expect_refusal(NULL, K_AUTO, VF_ERR_INPUT, "the weight of sample 2 is -0.5");
    more[2].values = zero;
    write_file(more, matrix, fov);
    expect_refusal(NULL, K_AUTO, VF_ERR_INPUT, "all samples have weight 0");
}

static void test_attributes_that_are_wrong(void **state)
{
    (void)state;
    const content all[] = {DATA, K, {NULL, VF_F32, 0, {0}, NULL}};
    const struct {
        int64_t matrix[3];
        double fov[3];
        const char *words;
    } cases[] = {
        {{NX, 0, NZ}, {1, 1, 1}, "matrix is 0 along y"},       {{NX, NY, -1}, {1, 1, 1}, "matrix is -1 along z"},
        {{16001, NY, NZ}, {1, 1, 1}, "expected 1 to 16000"},   {{NX, NY, NZ}, {1, 1, 0}, "fov_mm is 0 along z"},
        {{NX, NY, NZ}, {-5, 1, 1}, "fov_mm is -5 along x"},    {{NX, NY, NZ}, {1, NAN, 1}, "along y; expected"},
        {{4, NY, NZ}, {1, 1, 1}, "|kx| = 3 cycles per field"}, {{NX, NY, NZ}, {1, INFINITY, 1}, "along y; expected"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_file(all, cases[i].matrix, cases[i].fov);
        expect_refusal(NULL, K_AUTO, VF_ERR_INPUT, cases[i].words);
    }
    write_file(all, NULL, fov);
    expect_refusal(NULL, K_AUTO, VF_ERR_INPUT, "'matrix'");
    write_file(all, matrix, NULL);
    expect_refusal(NULL, K_AUTO, VF_ERR_INPUT, "'fov_mm'");
}

static void test_datasets_that_are_missing(void **state)
{
    (void)state;
    const content only_k[] = {K, {NULL, VF_F32, 0, {0}, NULL}}, only_data[] = {DATA, {NULL, VF_F32, 0, {0}, NULL}};
    const content other[] = {{"/other/data", VF_F32, 1, {SAMPLES}, weights}, {NULL, VF_F32, 0, {0}, NULL}};
    write_file(only_k, matrix, fov);
    expect_refusal(NULL, K_AUTO, VF_ERR_INPUT, "dataset /scan/data is missing");
    write_file(only_data, matrix, fov);
    expect_refusal(NULL, K_AUTO, VF_ERR_INPUT, "dataset /scan/trajectory is missing");
    write_file(other, NULL, NULL);
    expect_refusal(NULL, K_AUTO, VF_ERR_INPUT, "neither a group /scan nor a group with 'xml' and 'data'");
    expect_refusal("other", K_AUTO, VF_ERR_INPUT, "no group 'other' with datasets 'xml' and 'data'");
}

/* A file may declare more samples than any memory holds: HDF5 does not store unwritten data. */
static void test_more_than_memory(void **state)
{
    (void)state;
    enum { MANY = 1 << 20 };
    static const int64_t huge[2] = {4096, INT64_C(1) << 38}, piece[2] = {1, MANY};
    static const int64_t huge_k[2] = {INT64_C(1) << 38, 3}, piece_k[2] = {MANY, 3};
    vf_h5 *file;
    need(vf_h5_create(ctx, path, &file));
    need(vf_h5_dataset_create(file, "/scan/data", VF_C64, 2, huge, piece, 1));
    need(vf_h5_dataset_create(file, "/scan/trajectory", VF_F32, 2, huge_k, piece_k, 1));
    need(vf_h5_attribute_integers(file, "/scan", "matrix", matrix, 3));
    need(vf_h5_attribute_doubles(file, "/scan", "fov_mm", fov, 3));
    need(vf_h5_commit(&file));
    expect_refusal(NULL, K_AUTO, VF_ERR_INPUT, "'/scan/data' declares 9.01e+06 GB, but only 0 bytes of it are stored");
}

/* Unknown names may be typos. */
static void test_names_that_are_not_known(void **state)
{
    (void)state;
    static const float complex zeros[COILS * VOXELS];
    const content odd[] = {DATA, K, {"/scan/Weights", VF_F32, 1, {SAMPLES}, weights}, {NULL, VF_F32, 0, {0}, NULL}};
    write_file(odd, matrix, fov);
    read_it(NULL, K_AUTO);
    expect_said("/scan/Weights is unknown and ignored; known names: trajectory, data, weights, time, phi, sensitivity, "
                "field_map, "
                "reference, truth, noise\n");
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    hid_t set = H5Gcreate2(file, "/scan/truht", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    hid_t scan_group = H5Gopen2(file, "/scan", H5P_DEFAULT), space = H5Screate(H5S_SCALAR);
    H5Aclose(H5Acreate2(scan_group, "fov", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT));
    H5Sclose(space);
    H5Gclose(set);
    H5Gclose(scan_group);
    assert_true(H5Fclose(file) >= 0);
    read_it(NULL, K_AUTO);
    expect_said("/scan/Weights, /scan/truht are unknown and ignored; known names: trajectory");
    expect_said("ignored unknown attributes of /scan: fov; known names: matrix, fov_mm");
    const content dark[] = {
        DATA, K, {"/scan/sensitivity", VF_C64, 4, {COILS, NZ, NY, NX}, zeros}, {NULL, VF_F32, 0, {0}, NULL}};
    write_file(dark, matrix, fov);
    expect_refusal(NULL, K_AUTO, VF_ERR_INPUT, "the coil maps in /scan/sensitivity are 0 everywhere");
}

/* voxfield's own writer cannot make empty datasets. */
static void test_zero_samples(void **state)
{
    (void)state;
    static const content only_k[] = {{"/scan/trajectory", VF_F32, 2, {SAMPLES, 3}, k}, {NULL, VF_F32, 0, {0}, NULL}};
    hsize_t none[2] = {COILS, 0};
    write_file(only_k, matrix, fov);
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT), space = H5Screate_simple(2, none, NULL);
    hid_t set = H5Dcreate2(file, "/scan/data", H5T_NATIVE_FLOAT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Dclose(set);
    H5Sclose(space);
    assert_true(H5Fclose(file) >= 0);
    expect_refusal(NULL, K_AUTO, VF_ERR_INPUT,
                   "/scan/data has the shape [2, 0]; expected at least one element along each axis");
}

static void write_bytes(const char *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static void test_files_that_are_none(void **state)
{
    (void)state;
    const content all[] = {DATA, K, {NULL, VF_F32, 0, {0}, NULL}};
    struct stat about;
    unlink(path);
    expect_refusal(NULL, K_AUTO, VF_ERR_INPUT, "cannot open");
    write_bytes("", 0);
    expect_refusal(NULL, K_AUTO, VF_ERR_INPUT, "not an HDF5 file");
    write_bytes("matrix 6 4 2\n", 13);
    expect_refusal(NULL, K_AUTO, VF_ERR_INPUT, "not an HDF5 file");
    write_file(all, matrix, fov);
    assert_int_equal(stat(path, &about), 0);
    for (int part = 1; part < 8; part++) {
        write_file(all, matrix, fov);
        assert_int_equal(truncate(path, about.st_size * part / 8), 0);
        expect_refusal(NULL, K_AUTO, VF_ERR_INPUT, "");
    }
    unlink(path);
    assert_int_equal(mkdir(path, 0700), 0);
    expect_refusal(NULL, K_AUTO, VF_ERR_INPUT, "a directory");
    rmdir(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(test_all_datasets),
                                       TEST(test_frames),
                                       TEST(test_two_dimensions),
                                       TEST(test_other_numbers),
                                       TEST(test_units_of_plain_layout),
                                       TEST(test_samples_just_outside),
                                       TEST(test_digest),
                                       TEST(test_zero_data_is_said),
                                       TEST(test_shapes_that_disagree),
                                       TEST(test_values_that_are_wrong),
                                       TEST(test_attributes_that_are_wrong),
                                       TEST(test_datasets_that_are_missing),
                                       TEST(test_zero_samples),
                                       TEST(test_names_that_are_not_known),
                                       TEST(test_more_than_memory),
                                       TEST(test_files_that_are_none)};
    fill_arrays();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
