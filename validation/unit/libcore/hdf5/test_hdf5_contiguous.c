/* Datasets that lie in an HDF5 file as in memory: this process reads them itself, after the other one said where they are.
 * Which of the two reads is seen by ending the other one: then only this process still can. */
#include <complex.h>
#include <fcntl.h>
#include <hdf5.h>
#include <signal.h>
#include <sys/wait.h>

#include "hdf5/hdf5_internal.h"
#include "hdf5_fixture.h"
#include "sealed/sealed_internal.h"

enum { ROWS = 5, COLUMNS = 7, VALUES = ROWS * COLUMNS };
static const int64_t zero[2] = {0, 0}, whole[2] = {ROWS, COLUMNS};
static const hsize_t extent[2] = {ROWS, COLUMNS};

/* Number `i` of all datasets here, exact in every type; imaginary parts are the negatives less one half. */
static double number(int64_t i)
{
    return 0.25 * (double)i + 1;
}

static double part(int64_t i, bool imaginary)
{
    return imaginary ? -number(i) - 0.5 : number(i);
}

static bool is_complex(vf_dtype type)
{
    return type == VF_C64 || type == VF_C128;
}

static void expect_number(vf_dtype type, const void *data, int64_t at, int64_t i)
{
    const int parts = is_complex(type) ? 2 : 1;
    const bool single = vf_dtype_real(type) == VF_F32;
    for (int p = 0; p < parts; p++) {
        const double found =
            single ? (double)((const float *)data)[parts * at + p] : ((const double *)data)[parts * at + p];
        if (!(found == part(i, p == 1)))
            fail_msg("number %lld, part %d: %g for %g", (long long)i, p, found, part(i, p == 1));
    }
}

/* ---- files ---- */

/* A compound of two parts that begin at `first` and `second`, in order. */
static hid_t compound(hid_t stored, const char *a, size_t first, const char *b, size_t second)
{
    const hid_t type = H5Tcreate(H5T_COMPOUND, 2 * H5Tget_size(stored));
    assert_true(H5Tinsert(type, a, first, stored) >= 0 && H5Tinsert(type, b, second, stored) >= 0);
    return type;
}

/* Adds a dataset with the numbers above; `properties` is closed. */
static void add_dataset(hid_t file, const char *name, hid_t stored, bool pair, hid_t properties)
{
    double values[2 * VALUES];
    for (int i = 0; i < VALUES; i++) {
        values[pair ? 2 * i : i] = part(i, false);
        if (pair)
            values[2 * i + 1] = part(i, true);
    }
    const hid_t memory = pair ? compound(H5T_NATIVE_DOUBLE, "r", 0, "i", sizeof(double)) : H5Tcopy(H5T_NATIVE_DOUBLE);
    const hid_t space = H5Screate_simple(2, extent, NULL);
    const hid_t set = H5Dcreate2(file, name, stored, space, H5P_DEFAULT, properties, H5P_DEFAULT);
    assert_true(set >= 0 && H5Dwrite(set, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    H5Dclose(set);
    H5Sclose(space);
    H5Tclose(memory);
    if (properties != H5P_DEFAULT)
        H5Pclose(properties);
}

/* A file with `block` bytes of another program before it. */
static hid_t create(hsize_t block)
{
    unlink(path);
    const hid_t list = H5Pcreate(H5P_FILE_CREATE);
    assert_true(H5Pset_userblock(list, block) >= 0);
    const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, list, H5P_DEFAULT);
    assert_true(file >= 0);
    H5Pclose(list);
    return file;
}

/* Puts `bytes` of zeros in front of the file. */
static void put_in_front(size_t bytes)
{
    static char content[1 << 16];
    int file = open(path, O_RDWR);
    const ssize_t length = pread(file, content, sizeof content, 0);
    char *zeros = calloc(bytes, 1);
    assert_true(zeros && length > 0 && length < (ssize_t)sizeof content);
    assert_true(pwrite(file, zeros, bytes, 0) == (ssize_t)bytes);
    assert_true(pwrite(file, content, (size_t)length, (off_t)bytes) == length);
    free(zeros);
    close(file);
}

static vf_h5 *open_file(void)
{
    vf_h5 *file;
    need(vf_h5_open(ctx, path, &file));
    return file;
}

/* What the other process said about a dataset. */
static vf_h5_shape *shape_of(vf_h5 *file, const char *name)
{
    vf_dtype type;
    int rank;
    int64_t dims[VF_H5_MAX_RANK];
    need(vf_h5_dataset_shape(file, name, &type, &rank, dims));
    for (vf_h5_shape *s = file->shapes; s; s = s->next)
        if (strcmp(s->name, name) == 0)
            return s;
    fail_msg("%s: no shape", name);
    return NULL;
}

/* Ends the process that has the file open. */
static void end_other(vf_h5 *file)
{
    if (!file->sealed) {
        skip(); /* this system has no such processes */
        return;
    }
    assert_int_equal(kill(file->sealed->process, SIGKILL), 0);
    siginfo_t about;
    assert_int_equal(waitid(P_PID, (id_t)file->sealed->process, &about, WEXITED | WNOWAIT), 0);
}

static void check(vf_h5 *file, const char *name, vf_dtype type, const int64_t *start, const int64_t *count)
{
    double complex found[VALUES];
    memset(found, 0xff, sizeof found); /* NaN */
    need(vf_h5_read(file, name, type, start, count, found));
    for (int64_t y = 0; y < count[0]; y++)
        for (int64_t x = 0; x < count[1]; x++)
            expect_number(type, found, y * count[1] + x, (start[0] + y) * COLUMNS + start[1] + x);
}

/* Reads the dataset with and without the other process. `direct`: whether the second must work. */
static void check_both(const char *name, vf_dtype type, const int64_t *start, const int64_t *count, bool direct)
{
    double complex found[VALUES];
    vf_h5 *file = open_file();
    check(file, name, type, start, count);
    end_other(file);
    if (direct)
        check(file, name, type, start, count);
    else
        expect_error(vf_h5_read(file, name, type, start, count, found), VF_ERR_INPUT, "the file is damaged");
    vf_h5_close(&file);
}

/* ---- what is read how ---- */

/* Only numbers of the very type asked for, in the order of this machine's bytes. */
static void types(void **state)
{
    (void)state;
    typedef enum kind { REAL, PAIR, SWAPPED } kind;
    const hid_t stored[2][2] = {{H5T_IEEE_F32LE, H5T_IEEE_F64LE}, {H5T_IEEE_F32BE, H5T_IEEE_F64BE}};
    const int other_order = H5Tequal(H5T_NATIVE_FLOAT, H5T_IEEE_F32LE) > 0; /* the index of the other machines' */
    for (int order = 0; order < 2; order++)
        for (int twice = 0; twice < 2; twice++)
            for (kind k = REAL; k <= SWAPPED; k++) {
                const size_t half = twice ? 8 : 4;
                const hid_t type = k == REAL ? H5Tcopy(stored[order][twice])
                                             : compound(stored[order][twice], "r", k == SWAPPED ? half : 0, "i",
                                                        k == SWAPPED ? 0 : half);
                const hid_t file = create(0);
                add_dataset(file, "a", type, k != REAL, H5P_DEFAULT);
                H5Tclose(type);
                H5Fclose(file);
                for (int wanted = 0; wanted < 2; wanted++)
                    check_both("a", k == REAL ? (wanted ? VF_F64 : VF_F32) : (wanted ? VF_C128 : VF_C64), zero, whole,
                               order != other_order && wanted == twice && k != SWAPPED);
            }
}

/* A range of rows, or of one row's columns; other pieces lie in several parts of the file. */
static void pieces(void **state)
{
    (void)state;
    static const struct {
        int64_t start[2], count[2];
        bool direct;
    } cases[] = {{{0, 0}, {ROWS, COLUMNS}, true}, {{2, 0}, {ROWS - 2, COLUMNS}, true},     {{1, 0}, {1, COLUMNS}, true},
                 {{3, 2}, {1, 4}, true},          {{ROWS - 1, COLUMNS - 1}, {1, 1}, true}, {{1, 2}, {2, 4}, false},
                 {{0, 3}, {ROWS, 1}, false}};
    const hid_t file = create(0);
    add_dataset(file, "a", H5T_NATIVE_FLOAT, false, H5P_DEFAULT);
    H5Fclose(file);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_both("a", VF_F32, cases[i].start, cases[i].count, cases[i].direct);
}

/* Chunks, compressed or not, and datasets that are part of their own description. */
static void layouts(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        static const hsize_t chunk[2] = {2, COLUMNS};
        const hid_t list = H5Pcreate(H5P_DATASET_CREATE), file = create(0);
        if (i < 2)
            H5Pset_chunk(list, 2, chunk);
        else
            H5Pset_layout(list, H5D_COMPACT);
        if (i == 1)
            H5Pset_deflate(list, 1);
        add_dataset(file, "a", H5T_NATIVE_DOUBLE, false, list);
        H5Fclose(file);
        check_both("a", VF_F64, zero, whole, false);
    }
}

/* Odd, with 24 bits: no byte of its mantissa can be cleared unseen. */
static float odd_number(int64_t i)
{
    return (float)((1 << 23) + 2 * (i % (1 << 22)) + 1);
}

/* So large that all threads touch the memory before the other process hands over what is in chunks. */
static void large_chunks(void **state)
{
    (void)state;
    enum { LONG = (1 << 24) + 5 }; /* 64 MiB and a little */
    static const int64_t start = 0, chunk = 1 << 20, count = LONG;
    float *values = malloc(sizeof *values * LONG);
    vf_h5 *file;
    for (int64_t i = 0; i < LONG; i++)
        values[i] = odd_number(i);
    need(vf_h5_create(ctx, path, &file));
    need(vf_h5_dataset_create(file, "a", VF_F32, 1, &count, &chunk, 0));
    need(vf_h5_write(file, "a", VF_F32, &start, &count, values));
    need(vf_h5_commit(&file));
    memset(values, 0xff, sizeof *values * LONG);
    file = open_file();
    need(vf_h5_read(file, "a", VF_F32, &start, &count, values));
    vf_h5_close(&file);
    for (int64_t i = 0; i < LONG; i++)
        if (!(values[i] == odd_number(i)))
            fail_msg("value %lld is %g", (long long)i, (double)values[i]);
    free(values);
}

/* What vf_h5_dataset_create makes without chunks, written in two pieces. */
static void own(void **state)
{
    (void)state;
    float values[VALUES];
    vf_h5 *file;
    static const int64_t second[2] = {2, 0}, two[2] = {2, COLUMNS}, rest[2] = {ROWS - 2, COLUMNS};
    for (int i = 0; i < VALUES; i++)
        values[i] = (float)number(i);
    need(vf_h5_create(ctx, path, &file));
    need(vf_h5_dataset_create(file, "a", VF_F32, 2, whole, NULL, 0));
    need(vf_h5_write(file, "a", VF_F32, second, rest, values + 2 * COLUMNS));
    need(vf_h5_write(file, "a", VF_F32, zero, two, values));
    need(vf_h5_commit(&file));
    check_both("a", VF_F32, zero, whole, true);
}

static void empty(void **state)
{
    (void)state;
    const hsize_t none[2] = {0, COLUMNS};
    float found[COLUMNS] = {0};
    const hid_t created = create(0), space = H5Screate_simple(2, none, NULL);
    H5Dclose(H5Dcreate2(created, "a", H5T_NATIVE_FLOAT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Sclose(space);
    H5Fclose(created);
    vf_h5 *file = open_file();
    const int64_t one[2] = {1, COLUMNS}, all[2] = {0, COLUMNS};
    assert_int_equal(shape_of(file, "a")->dims[0], 0);
    expect_error(vf_h5_read(file, "a", VF_F32, zero, one, found), VF_ERR_INPUT, "lies outside dimension 0");
    expect_error(vf_h5_read(file, "a", VF_F32, zero, all, found), VF_ERR_INPUT, "lies outside dimension 0");
    vf_h5_close(&file);
}

/* HDF5 counts from the end of the block; so do files to which a program has put bytes in front without telling HDF5. */
static void user_blocks(void **state)
{
    (void)state;
    static const hsize_t blocks[] = {512, 4096, 1 << 20};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        for (int told = 0; told < 2; told++) {
            const hid_t file = create(told ? blocks[i] : 0);
            add_dataset(file, "a", H5T_NATIVE_FLOAT, false, H5P_DEFAULT);
            add_dataset(file, "b", H5T_NATIVE_DOUBLE, false, H5P_DEFAULT);
            H5Fclose(file);
            if (!told)
                put_in_front((size_t)blocks[i]);
            check_both("a", VF_F32, zero, whole, true);
            check_both("b", VF_F64, zero, whole, true);
        }
}

/* Behind 5 GB that nobody wrote: most file systems give them no room. */
static void far_away(void **state)
{
    (void)state;
    const hsize_t many = (hsize_t)5 << 30;
    const hid_t created = create(512), list = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(1, &many, NULL);
    H5Pset_alloc_time(list, H5D_ALLOC_TIME_EARLY);
    H5Pset_fill_time(list, H5D_FILL_TIME_NEVER);
    const hid_t set = H5Dcreate2(created, "hole", H5T_STD_I8LE, space, H5P_DEFAULT, list, H5P_DEFAULT);
    H5Dclose(set);
    H5Sclose(space);
    H5Pclose(list);
    add_dataset(created, "a", H5T_NATIVE_FLOAT, false, H5P_DEFAULT);
    if (H5Fclose(created) < 0)
        skip(); /* a file system of small files */
    vf_h5 *file = open_file();
    if (file->sealed)
        assert_true(shape_of(file, "a")->at > (int64_t)many);
    vf_h5_close(&file);
    check_both("a", VF_F32, zero, whole, true);
}

/* ---- what is not believed ---- */

/* Places that end beyond the file, or overflow: the other process is asked for the numbers instead. */
static void lies(void **state)
{
    (void)state;
    static const int64_t last[2] = {ROWS - 1, 0}, row[2] = {1, COLUMNS};
    const hid_t created = create(0);
    add_dataset(created, "a", H5T_NATIVE_DOUBLE, false, H5P_DEFAULT);
    H5Fclose(created);
    vf_h5 *file = open_file();
    vf_h5_shape *shape = shape_of(file, "a");
    const int64_t bytes = vf_h5_bytes(file), size = (int64_t)sizeof(double) * VALUES;
    const int64_t places[] = {bytes - size + 1, bytes, bytes + 1, INT64_MAX, INT64_MAX - size,
                              INT64_MAX - 1,    -1,    -2,        INT64_MIN};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        shape->at = places[i];
        check(file, "a", VF_F64, zero, whole);
        check(file, "a", VF_F64, last, row);
    }
    vf_h5_close(&file);
}

/* Rows so many that the number of the first byte wanted overflows. */
static void large_shapes(void **state)
{
    (void)state;
    double found[COLUMNS];
    const hid_t created = create(0);
    add_dataset(created, "a", H5T_NATIVE_DOUBLE, false, H5P_DEFAULT);
    H5Fclose(created);
    vf_h5 *file = open_file();
    vf_h5_shape *shape = shape_of(file, "a");
    static const int64_t rows[] = {INT64_MAX, INT64_MAX / COLUMNS + 1, INT64_MAX / COLUMNS / 8 + 1, (int64_t)1 << 61};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const int64_t start[2] = {rows[i] - 1, 0}, one[2] = {1, COLUMNS};
        shape->dims[0] = rows[i];
        expect_error(vf_h5_read(file, "a", VF_F64, start, one, found), VF_ERR_INPUT, "lies outside dimension 0");
    }
    vf_h5_close(&file);
}

/* A file that another program shortens meanwhile. */
static void shortened(void **state)
{
    (void)state;
    enum { LONG = 3 << 20 }; /* several blocks for the threads */
    const hsize_t length = LONG;
    const int64_t start = 0, count = LONG;
    float *found = calloc(LONG, sizeof *found);
    const hid_t created = create(0), space = H5Screate_simple(1, &length, NULL);
    const hid_t set = H5Dcreate2(created, "a", H5T_NATIVE_FLOAT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(H5Dwrite(set, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, found) >= 0);
    H5Dclose(set);
    H5Sclose(space);
    H5Fclose(created);
    vf_h5 *file = open_file();
    need(vf_h5_read(file, "a", VF_F32, &start, &count, found));
    assert_int_equal(truncate(path, (off_t)vf_h5_bytes(file) - 3), 0);
    expect_error(vf_h5_read(file, "a", VF_F32, &start, &count, found), VF_ERR_INPUT, "cannot read the dataset 'a'");
    assert_int_equal(truncate(path, 4096), 0);
    expect_error(vf_h5_read(file, "a", VF_F32, &start, &count, found), VF_ERR_INPUT, "cannot read the dataset 'a'");
    vf_h5_close(&file);
    free(found);
}

/* A file without its end is refused when it is opened. */
static void truncated(void **state)
{
    (void)state;
    const hid_t created = create(0);
    add_dataset(created, "a", H5T_NATIVE_DOUBLE, false, H5P_DEFAULT);
    H5Fclose(created);
    vf_h5 *file = open_file();
    const int64_t bytes = vf_h5_bytes(file);
    vf_h5_close(&file);
    assert_int_equal(truncate(path, (off_t)bytes - 1), 0);
    expect_error(vf_h5_open(ctx, path, &file), VF_ERR_INPUT, "not all of it is there");
}

static void interrupted(void **state)
{
    (void)state;
    double found[VALUES];
    const hid_t created = create(0);
    add_dataset(created, "a", H5T_NATIVE_DOUBLE, false, H5P_DEFAULT);
    H5Fclose(created);
    vf_h5 *file = open_file();
    (void)shape_of(file, "a");
    if (!file->sealed)
        skip();
    vf_context_cancel(ctx);
    expect_error(vf_h5_read(file, "a", VF_F64, zero, whole, found), VF_ERR_CANCELLED, "interrupted");
    vf_context_resume(ctx);
    vf_h5_close(&file);
}

int main(void)
{
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types),        cmocka_unit_test(pieces),    cmocka_unit_test(layouts),
        cmocka_unit_test(large_chunks), cmocka_unit_test(own),       cmocka_unit_test(empty),
        cmocka_unit_test(user_blocks),  cmocka_unit_test(far_away),  cmocka_unit_test(lies),
        cmocka_unit_test(large_shapes), cmocka_unit_test(shortened), cmocka_unit_test(truncated),
        cmocka_unit_test(interrupted)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
