/* libcore's HDF5 files: complex numbers, also as other programs store them; names; attributes of other programs. */
#include <complex.h>
#include <hdf5.h>
#include <math.h>

#include "hdf5_fixture.h"

enum { NX = 11, NY = 7, NZ = 5, VALUES = NX * NY * NZ };
static const int64_t dims[3] = {NZ, NY, NX}, zero[3] = {0, 0, 0};

/* Exact in single precision; real and imaginary parts are never equal. */
static double complex value_of(int i)
{
    return i * 0.25 - 31 + (-1000.5 - i) * I;
}

static void *fill(vf_dtype type, void *data)
{
    for (int i = 0; i < VALUES; i++)
        if (type == VF_C64)
            ((float complex *)data)[i] = (float complex)value_of(i);
        else
            ((double complex *)data)[i] = value_of(i);
    return data;
}

static void check(vf_h5 *file, const char *name, vf_dtype type)
{
    double complex data[VALUES];
    memset(data, 0xff, sizeof data); /* nan */
    need(vf_h5_read(file, name, type, zero, dims, data));
    for (int i = 0; i < VALUES; i++) {
        double complex value = type == VF_C64 ? (double complex)((float complex *)data)[i] : data[i];
        if (!(value == value_of(i)))
            fail_msg("%s: element %d is %g%+gi", name, i, creal(value), cimag(value));
    }
}

/* Compressed whole chunks, HDF5's own path (pieces that split chunks), and uncompressed; both precisions each. */
static void complex_datasets(void **state)
{
    (void)state;
    static const int64_t chunk[3] = {2, 3, 4}, start[3] = {1, 2, 3}, one[3] = {1, 1, 1};
    double complex data[VALUES];
    for (int type = VF_C64; type <= VF_C128; type++)
        for (int memory = VF_C64; memory <= VF_C128; memory++)
            for (int level = 0; level < 2; level++) {
                vf_h5 *file;
                vf_dtype stored;
                int rank;
                int64_t back[VF_H5_MAX_RANK];
                need(vf_h5_create(ctx, path, &file));
                need(vf_h5_dataset_create(file, "/scan/data", (vf_dtype)type, 3, dims, chunk, level));
                need(vf_h5_write(file, "scan/data", (vf_dtype)memory, zero, dims, fill((vf_dtype)memory, data)));
                need(vf_h5_commit(&file));
                need(vf_h5_open(ctx, path, &file));
                need(vf_h5_dataset_shape(file, "scan/data", &stored, &rank, back));
                assert_int_equal(stored, type);
                assert_int_equal(rank, 3);
                assert_memory_equal(back, dims, sizeof dims);
                check(file, "/scan/data", VF_C64);
                check(file, "scan/data", VF_C128);
                need(vf_h5_read(file, "scan/data", VF_C128, start, one, data));
                assert_true(data[0] == value_of((1 * NY + 2) * NX + 3));
                vf_h5_close(&file);
            }
}

/* Kinds of numbers are never converted into each other. */
static void kinds(void **state)
{
    (void)state;
    double complex data[VALUES];
    vf_h5 *file;
    fill(VF_C128, data);
    need(vf_h5_create(ctx, path, &file));
    need(vf_h5_dataset_create(file, "real", VF_F32, 3, dims, dims, 1));
    need(vf_h5_dataset_create(file, "complex", VF_C64, 3, dims, dims, 1));
    expect_error(vf_h5_write(file, "real", VF_C64, zero, dims, data), VF_ERR_OUTPUT,
                 "'real' holds real numbers, not complex ones");
    expect_error(vf_h5_write(file, "complex", VF_F64, zero, dims, data), VF_ERR_OUTPUT,
                 "'complex' holds complex numbers, not real ones");
    need(vf_h5_commit(&file));
    need(vf_h5_open(ctx, path, &file));
    expect_error(vf_h5_read(file, "real", VF_C128, zero, dims, data), VF_ERR_INPUT, "not complex ones");
    expect_error(vf_h5_read(file, "complex", VF_F32, zero, dims, data), VF_ERR_INPUT, "not real ones");
    vf_h5_close(&file);
}

/* ---- files of other programs ---- */

/* A dataset of compounds with the numbers of value_of at `real_at` and `imag_at`. */
static void write_foreign(hid_t file, const char *name, const char *real, hid_t real_type, size_t real_at,
                          const char *imag, hid_t imag_type, size_t imag_at, size_t bytes)
{
    hsize_t extent[3] = {NZ, NY, NX};
    double complex data[VALUES];
    hid_t space = H5Screate_simple(3, extent, NULL);
    hid_t stored = H5Tcreate(H5T_COMPOUND, bytes), memory = H5Tcreate(H5T_COMPOUND, sizeof *data);
    H5Tinsert(stored, real_at < imag_at ? real : imag, real_at < imag_at ? real_at : imag_at,
              real_at < imag_at ? real_type : imag_type);
    H5Tinsert(stored, real_at < imag_at ? imag : real, real_at < imag_at ? imag_at : real_at,
              real_at < imag_at ? imag_type : real_type);
    H5Tinsert(memory, real, 0, H5T_NATIVE_DOUBLE);
    H5Tinsert(memory, imag, sizeof(double), H5T_NATIVE_DOUBLE);
    hid_t id = H5Dcreate2(file, name, stored, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(H5Dwrite(id, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, fill(VF_C128, data)) >= 0);
    H5Dclose(id);
    H5Tclose(memory);
    H5Tclose(stored);
    H5Sclose(space);
}

static void write_attribute(hid_t object, const char *name, hid_t stored, hid_t memory, hsize_t n, const void *value)
{
    hid_t space = n == 0 ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &n, NULL);
    hid_t id = H5Acreate2(object, name, stored, space, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(H5Awrite(id, memory, value) >= 0);
    H5Aclose(id);
    H5Sclose(space);
}

static void write_fixed_text(hid_t object, const char *name, H5T_str_t padding, const char *text, size_t bytes)
{
    hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, bytes);
    H5Tset_strpad(type, padding);
    write_attribute(object, name, type, type, 0, text);
    H5Tclose(type);
}

static hid_t create_foreign(void)
{
    unlink(path);
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(file >= 0);
    return file;
}

static void foreign_complex(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        vf_dtype type;
    } expected[] = {{"ri", VF_C64}, {"names", VF_C64}, {"swapped", VF_C128}, {"padded", VF_C128}, {"re_big", VF_C128}};
    hid_t id = create_foreign();
    write_foreign(id, "ri", "r", H5T_IEEE_F32LE, 0, "i", H5T_IEEE_F32LE, 4, 8);
    write_foreign(id, "names", "real", H5T_IEEE_F32BE, 0, "imag", H5T_IEEE_F32BE, 4, 8);
    write_foreign(id, "swapped", "real", H5T_IEEE_F64LE, 8, "imag", H5T_IEEE_F64LE, 0, 16);
    write_foreign(id, "padded", "r", H5T_IEEE_F64LE, 4, "i", H5T_IEEE_F32LE, 20, 40);
    write_foreign(id, "re_big", "re", H5T_IEEE_F64BE, 0, "im", H5T_IEEE_F64BE, 8, 16);
    write_foreign(id, "other", "x", H5T_IEEE_F32LE, 0, "y", H5T_IEEE_F32LE, 4, 8);
    H5Fclose(id);
    vf_h5 *file;
    vf_dtype type;
    int rank;
    int64_t back[VF_H5_MAX_RANK];
    need(vf_h5_open(ctx, path, &file));
    for (size_t e = 0; e < sizeof expected / sizeof *expected; e++) {
        need(vf_h5_dataset_shape(file, expected[e].name, &type, &rank, back));
        assert_int_equal(type, expected[e].type);
        check(file, expected[e].name, VF_C64);
        check(file, expected[e].name, VF_C128);
    }
    expect_error(vf_h5_dataset_shape(file, "other", &type, &rank, back), VF_ERR_INPUT, "does not hold numbers");
    vf_h5_close(&file);
}

/* ---- names ---- */

static void names(void **state)
{
    (void)state;
    static const char *const there[] = {"/", "a", "/a", "a/b", "/a/b", "a/b/c", "//a//b/", "soft"};
    static const char *const missing[] = {"b", "a/c", "a/b/c/d", "x/y/z", "c", "dangling", "a b"};
    const int64_t one = 1;
    vf_h5 *file;
    need(vf_h5_create(ctx, path, &file));
    need(vf_h5_dataset_create(file, "a/b/c", VF_C64, 1, &one, &one, 0));
    need(vf_h5_attribute_doubles(file, "/a", "number", &(double){2}, 1)); /* of a group */
    assert_true(vf_h5_exists(file, "a/b"));                               /* before the file is complete */
    assert_true(vf_h5_attribute_exists(file, "a", "number"));
    need(vf_h5_commit(&file));
    hid_t id = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    H5Lcreate_soft("/a/b", id, "soft", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_soft("/nowhere", id, "dangling", H5P_DEFAULT, H5P_DEFAULT);
    H5Fclose(id);
    need(vf_h5_open(ctx, path, &file));
    for (size_t n = 0; n < sizeof there / sizeof *there; n++)
        if (!vf_h5_exists(file, there[n]))
            fail_msg("'%s' is there", there[n]);
    for (size_t n = 0; n < sizeof missing / sizeof *missing; n++)
        if (vf_h5_exists(file, missing[n]))
            fail_msg("'%s' is not there", missing[n]);
    assert_true(vf_h5_attribute_exists(file, "a", "number"));
    assert_false(vf_h5_attribute_exists(file, "a/b", "number"));
    assert_false(vf_h5_attribute_exists(file, "x/y", "number"));
    vf_h5_close(&file);
}

/* ---- attributes ---- */

static void foreign_attributes(void **state)
{
    (void)state;
    const int matrix[3] = {128, 64, -1};
    const double whole[2] = {64, 1e15}, odd[2] = {64, 0.5}, nan_value = NAN, huge = 1e300;
    int64_t integers[3];
    double doubles[3];
    char text[8];
    hid_t id = create_foreign();
    hid_t group = H5Gcreate2(id, "scan", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    write_attribute(group, "matrix", H5T_STD_I16BE, H5T_NATIVE_INT, 3, matrix);
    write_attribute(group, "scalar", H5T_STD_U8LE, H5T_NATIVE_INT, 0, matrix);
    write_attribute(group, "whole", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, 2, whole);
    write_attribute(group, "odd", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, 2, odd);
    write_attribute(group, "nan", H5T_IEEE_F32LE, H5T_NATIVE_DOUBLE, 0, &nan_value);
    write_attribute(group, "huge", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, 0, &huge);
    write_fixed_text(group, "ended", H5T_STR_NULLTERM, "fov", 4);
    write_fixed_text(group, "padded", H5T_STR_SPACEPAD, "fov     ", 8);
    write_fixed_text(group, "full", H5T_STR_NULLPAD, "radians", 7);
    H5Gclose(group);
    H5Fclose(id);
    vf_h5 *file;
    need(vf_h5_open(ctx, path, &file));
    need(vf_h5_attribute_get_integers(file, "scan", "matrix", integers, 3));
    need(vf_h5_attribute_get_doubles(file, "/scan", "matrix", doubles, 3));
    for (int a = 0; a < 3; a++) {
        assert_int_equal(integers[a], matrix[a]);
        assert_true(doubles[a] == matrix[a]);
    }
    need(vf_h5_attribute_get_integers(file, "scan", "scalar", integers, 1));
    assert_int_equal(integers[0], 128);
    need(vf_h5_attribute_get_integers(file, "scan", "whole", integers, 2));
    assert_int_equal(integers[1], 1000000000000000);
    expect_error(vf_h5_attribute_get_integers(file, "scan", "odd", integers, 2), VF_ERR_INPUT, "is not 2 integers");
    expect_error(vf_h5_attribute_get_integers(file, "scan", "nan", integers, 1), VF_ERR_INPUT, "is not 1 integer");
    expect_error(vf_h5_attribute_get_integers(file, "scan", "huge", integers, 1), VF_ERR_INPUT, "is not 1 integer");
    expect_error(vf_h5_attribute_get_integers(file, "scan", "matrix", integers, 2), VF_ERR_INPUT, "is not 2 integers");
    expect_error(vf_h5_attribute_get_integers(file, "scan", "ended", integers, 1), VF_ERR_INPUT, "is not 1 integer");
    expect_error(vf_h5_attribute_get_integers(file, "nothing", "x", integers, 1), VF_ERR_INPUT, "no attribute 'x'");
    need(vf_h5_attribute_get_text(file, "scan", "ended", text, 4));
    assert_string_equal(text, "fov");
    need(vf_h5_attribute_get_text(file, "scan", "padded", text, 4));
    assert_string_equal(text, "fov");
    need(vf_h5_attribute_get_text(file, "scan", "full", text, 8));
    assert_string_equal(text, "radians");
    expect_error(vf_h5_attribute_get_text(file, "scan", "full", text, 7), VF_ERR_INPUT, "7 bytes of text, more than 6");
    expect_error(vf_h5_attribute_get_text(file, "scan", "matrix", text, 8), VF_ERR_INPUT, "is not text");
    expect_error(vf_h5_attribute_get_text(file, "scan", "none", text, 8), VF_ERR_INPUT, "no attribute 'none'");
    vf_h5_close(&file);
}

/* As this library writes them: text of variable length. */
static void own_text(void **state)
{
    (void)state;
    char text[16];
    vf_h5 *file;
    need(vf_h5_create(ctx, path, &file));
    need(vf_h5_attribute_text(file, "/", "long",
                              "gr\xc3\xb6\xc3\x9f"
                              "er"));
    need(vf_h5_attribute_text(file, "/", "empty", ""));
    need(vf_h5_commit(&file));
    need(vf_h5_open(ctx, path, &file));
    need(vf_h5_attribute_get_text(file, "/", "long", text, sizeof text));
    assert_string_equal(text, "gr\xc3\xb6\xc3\x9f"
                              "er");
    need(vf_h5_attribute_get_text(file, "/", "empty", text, 1));
    assert_string_equal(text, "");
    expect_error(vf_h5_attribute_get_text(file, "/", "long", text, 3), VF_ERR_INPUT, "more than 2");
    vf_h5_close(&file);
}

/* ---- copies, and objects that libcore has no function for ---- */

static const char *add_group(void *user, int64_t file)
{
    hid_t group = H5Gcreate2((hid_t)file, user, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    if (group < 0)
        return "add the group";
    H5Gclose(group);
    return NULL;
}

/* Called with the copy. */
static vf_status add(vf_context *own, vf_h5 *file, void *user)
{
    double complex data[VALUES];
    (void)own;
    vf_status status = vf_h5_exists(file, "scan/data") ? VF_OK : vf_fail(own, VF_ERR_INPUT, "it is no copy");
    if (status == VF_OK)
        status = vf_h5_dataset_create(file, "scan/more", VF_C128, 3, dims, dims, 1);
    if (status == VF_OK)
        status = vf_h5_write(file, "scan/more", VF_C128, zero, dims, fill(VF_C128, data));
    if (status == VF_OK)
        status = vf_h5_attribute_text(file, "scan", "note", user);
    return status == VF_OK ? vf_h5_call(file, add_group, "group") : status;
}

static void copies(void **state)
{
    (void)state;
    char copy[320], again[320], note[8] = "added", found[8];
    double complex data[VALUES];
    vf_h5 *file;
    snprintf(copy, sizeof copy, "%.200s/copy.h5", directory);
    snprintf(again, sizeof again, "%.200s/again.h5", directory);
    for (int plain = 0; plain < 2; plain++) {
        vf_h5_read_here(plain);
        need(vf_h5_create(ctx, path, &file));
        need(vf_h5_dataset_create(file, "scan/data", VF_C64, 3, dims, dims, 1));
        need(vf_h5_write(file, "scan/data", VF_C128, zero, dims, fill(VF_C128, data)));
        need(vf_h5_commit(&file));
        need(vf_h5_extend(ctx, path, copy, add, note));
        need(vf_h5_open(ctx, copy, &file));
        check(file, "scan/data", VF_C64);
        check(file, "scan/more", VF_C128);
        assert_true(vf_h5_exists(file, "group"));
        need(vf_h5_attribute_get_text(file, "scan", "note", found, sizeof found));
        assert_string_equal(found, note);
        expect_error(vf_h5_call(file, add_group, "other"), VF_ERR_INPUT, "open for reading only");
        vf_h5_close(&file);
        need(vf_h5_open(ctx, path, &file)); /* is unchanged */
        assert_false(vf_h5_exists(file, "scan/more") || vf_h5_attribute_exists(file, "scan", "note"));
        vf_h5_close(&file);
        expect_error(vf_h5_extend(ctx, copy, again, add, note), VF_ERR_OUTPUT, "name already exists");
        assert_int_not_equal(access(again, F_OK), 0); /* nothing half-written */
        unlink(copy);
        expect_error(vf_h5_extend(ctx, copy, again, add, note), VF_ERR_INPUT, "No such file");
        assert_int_not_equal(access(again, F_OK), 0);
    }
    vf_h5_read_here(false);
}

TEST_MAIN(set_up, tear_down, cmocka_unit_test(complex_datasets), cmocka_unit_test(kinds),
          cmocka_unit_test(foreign_complex), cmocka_unit_test(names), cmocka_unit_test(own_text),
          cmocka_unit_test(foreign_attributes), cmocka_unit_test(copies))
