/* HDF5 files that would lead elsewhere, load code, or declare what they do not have: all refused_both_ways by name, both in a
 * process without rights and without one. */
#include <hdf5.h>
#include <sys/stat.h>

#include "hdf5_fixture.h"

enum { COUNT = 6 };
static const float values[COUNT] = {1, 2, 3, 4, 5, 6};
static const hsize_t shape[1] = {COUNT};

/* A file of HDF5's own, with a dataset "own" of six numbers. */
static hid_t make(const char *name)
{
    const hid_t file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t space = H5Screate_simple(1, shape, NULL);
    const hid_t set = H5Dcreate2(file, "own", H5T_IEEE_F32LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(H5Dwrite(set, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    H5Dclose(set);
    H5Sclose(space);
    return file;
}

static void add_dataset(hid_t file, const char *name, hid_t creation, int rank, const hsize_t *dims)
{
    const hid_t space = H5Screate_simple(rank, dims, NULL);
    const hid_t set = H5Dcreate2(file, name, H5T_IEEE_F32LE, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    assert_true(set >= 0);
    H5Dclose(set);
    H5Sclose(space);
    H5Pclose(creation);
}

/* Opens the file both ways; the dataset must be refused with these words, when it is looked at and when it is read. */
static void refused_both_ways(const char *name, const char *words)
{
    const int64_t zero[3] = {0, 0, 0}, one[3] = {1, 1, 1};
    int64_t dims[VF_H5_MAX_RANK];
    float value;
    int rank;
    vf_dtype type;
    vf_h5 *file;
    for (int here = 0; here < 2; here++) {
        vf_h5_read_here(here);
        need(vf_h5_open(ctx, path, &file));
        assert_true(vf_h5_exists(file, name));
        expect_error(vf_h5_dataset_shape(file, name, &type, &rank, dims), VF_ERR_INPUT, words);
        expect_error(vf_h5_read(file, name, VF_F32, zero, one, &value), VF_ERR_INPUT, words);
        vf_h5_close(&file);
    }
    vf_h5_read_here(false);
}

static void links(void **state)
{
    (void)state;
    char other[PATH_SIZE], pipe[PATH_SIZE];
    const int64_t zero = 0, all = COUNT;
    float found[COUNT];
    vf_h5 *opened;
    snprintf(other, sizeof other, "%.200s/other.h5", directory);
    snprintf(pipe, sizeof pipe, "%.200s/pipe", directory);
    H5Fclose(make(other));
    assert_int_equal(mkfifo(pipe, 0600), 0);
    const hid_t file = make(path);
    H5Gclose(H5Gcreate2(file, "group", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    assert_true(H5Lcreate_external(other, "/own", file, "elsewhere", H5P_DEFAULT, H5P_DEFAULT) >= 0);
    assert_true(H5Lcreate_external(other, "/", file, "top", H5P_DEFAULT, H5P_DEFAULT) >= 0);
    assert_true(H5Lcreate_external(pipe, "/own", file, "waits", H5P_DEFAULT, H5P_DEFAULT) >= 0);
    H5Lcreate_soft("/elsewhere", file, "soft", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_soft("../x/../top/own", file, "group/odd", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_soft("top", file, "to_top", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_soft("/own", file, "group/good", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_soft("good", file, "group/better", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_soft("/group", file, "folder", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_soft("/loop", file, "loop", H5P_DEFAULT, H5P_DEFAULT);
    H5Fclose(file);
    refused_both_ways("elsewhere", "'elsewhere' is an external link; links to other files are not followed");
    refused_both_ways("waits", "'waits' is an external link");
    refused_both_ways("top/own", "'top' is an external link");
    for (int here = 0; here < 2; here++) { /* a soft link to one leads nowhere; within the file, they are followed */
        vf_h5_read_here(here);
        need(vf_h5_open(ctx, path, &opened));
        expect_error(vf_h5_read(opened, "soft", VF_F32, &zero, &all, found), VF_ERR_INPUT,
                     "'/elsewhere' is an external link");
        expect_error(vf_h5_read(opened, "to_top/own", VF_F32, &zero, &all, found), VF_ERR_INPUT,
                     "'/top' is an external link");
        expect_error(vf_h5_read(opened, "loop", VF_F32, &zero, &all, found), VF_ERR_INPUT, "more than 16 soft links");
        expect_error(vf_h5_read(opened, "group/odd", VF_F32, &zero, &all, found), VF_ERR_INPUT, "group/odd");
        static const char *const good[] = {"own", "group/good", "group/better", "folder/better"};
        for (int i = 0; i < 4; i++) {
            memset(found, 0, sizeof found);
            need(vf_h5_read(opened, good[i], VF_F32, &zero, &all, found));
            assert_memory_equal(found, values, sizeof found);
        }
        vf_h5_close(&opened);
    }
    vf_h5_read_here(false);
    unlink(other);
    unlink(pipe);
}

static void other_files(void **state)
{
    (void)state;
    char raw[PATH_SIZE];
    snprintf(raw, sizeof raw, "%.200s/raw", directory);
    const hid_t file = make(path), list = H5Pcreate(H5P_DATASET_CREATE);
    FILE *stream = fopen(raw, "wb");
    assert_int_equal(fwrite(values, sizeof *values, COUNT, stream), COUNT);
    fclose(stream);
    assert_true(H5Pset_external(list, raw, 0, sizeof values) >= 0);
    add_dataset(file, "raw", list, 1, shape);
    H5Fclose(file);
    refused_both_ways("raw", "the dataset 'raw' has its data in other files, which are not read");
    unlink(raw);
}

/* A virtual dataset that names itself overflowed the stack of HDF5 1.10. */
static void virtual_datasets(void **state)
{
    (void)state;
    const hid_t file = make(path), space = H5Screate_simple(1, shape, NULL);
    static const char *const sources[][3] = {{"itself", ".", "itself"}, {"other", "other.h5", "own"}};
    for (int i = 0; i < 2; i++) {
        const hid_t list = H5Pcreate(H5P_DATASET_CREATE);
        assert_true(H5Pset_virtual(list, space, sources[i][1], sources[i][2], space) >= 0);
        add_dataset(file, sources[i][0], list, 1, shape);
    }
    /* Without end: HDF5 looks at the sources to find its size. */
    const hsize_t block[1] = {COUNT}, start[1] = {0}, count[1] = {H5S_UNLIMITED}, most[1] = {H5S_UNLIMITED};
    const hid_t endless = H5Screate_simple(1, shape, most), list = H5Pcreate(H5P_DATASET_CREATE);
    H5Sselect_hyperslab(endless, H5S_SELECT_SET, start, block, count, block);
    assert_true(H5Pset_virtual(list, endless, ".", "endless", endless) >= 0);
    const hid_t set = H5Dcreate2(file, "endless", H5T_IEEE_F32LE, endless, H5P_DEFAULT, list, H5P_DEFAULT);
    assert_true(set >= 0);
    H5Dclose(set);
    H5Pclose(list);
    H5Sclose(endless);
    H5Sclose(space);
    H5Fclose(file);
    refused_both_ways("itself", "the dataset 'itself' is virtual: its data are in other datasets or files");
    refused_both_ways("other", "the dataset 'other' is virtual");
    refused_both_ways("endless", "the dataset 'endless' is virtual");
}

static size_t unchanged(unsigned flags, size_t n, const unsigned *parameters, size_t bytes, size_t *size, void **buffer)
{
    (void)flags, (void)n, (void)parameters, (void)size, (void)buffer;
    return bytes;
}

static void filters(void **state)
{
    (void)state;
    enum { NUMBER = 300, LZF = 32000 };
    static const H5Z_class2_t filter = {H5Z_CLASS_T_VERS, NUMBER, 1, 1, "of a test", NULL, NULL, unchanged};
    static const H5Z_class2_t lzf = {H5Z_CLASS_T_VERS, LZF, 1, 1, "lzf", NULL, NULL, unchanged};
    const int64_t zero = 0, all = COUNT;
    float found[COUNT] = {0};
    unsigned loading = 1;
    vf_h5 *opened;
    assert_true(H5Zregister(&filter) >= 0 && H5Zregister(&lzf) >= 0);
    const hid_t file = make(path), list = H5Pcreate(H5P_DATASET_CREATE), other = H5Pcreate(H5P_DATASET_CREATE);
    const hid_t good = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(list, 1, shape);
    assert_true(H5Pset_filter(list, NUMBER, H5Z_FLAG_OPTIONAL, 0, NULL) >= 0);
    add_dataset(file, "filtered", list, 1, shape);
    H5Pset_chunk(other, 1, shape);
    assert_true(H5Pset_filter(other, LZF, H5Z_FLAG_OPTIONAL, 0, NULL) >= 0);
    add_dataset(file, "of h5py", other, 1, shape);
    H5Pset_chunk(good, 1, shape);
    H5Pset_shuffle(good);
    H5Pset_deflate(good, 6);
    H5Pset_fletcher32(good);
    add_dataset(file, "good", good, 1, shape);
    const hid_t set = H5Dopen2(file, "good", H5P_DEFAULT);
    assert_true(H5Dwrite(set, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    H5Dclose(set);
    H5Fclose(file);
    refused_both_ways("filtered",
                      "the dataset 'filtered' needs the filter 300 (of a test); only HDF5's own filters are used");
    refused_both_ways("of h5py",
                      "needs the filter 32000 (lzf); only HDF5's own filters are used; write it again with gzip, for "
                      "example with h5py");
    need(vf_h5_open(ctx, path, &opened));
    need(vf_h5_read(opened, "good", VF_F32, &zero, &all, found));
    assert_memory_equal(found, values, sizeof found);
    vf_h5_close(&opened);
    H5PLget_loading_state(&loading); /* whatever HDF5_PLUGIN_PATH says */
    assert_int_equal(loading, 0);
    H5Zunregister(NUMBER);
    H5Zunregister(LZF);
}

/* Gigabytes that were never written, in a few kilobytes. */
static void never_written(void **state)
{
    (void)state;
    const hsize_t large[2] = {40000, 40000}, chunk[2] = {500, 500}, small[2] = {100, 100};
    const int64_t zero[2] = {0, 0}, all[2] = {100, 100};
    static float found[100 * 100];
    vf_h5 *opened;
    struct stat about;
    const hid_t file = make(path), chunked = H5Pcreate(H5P_DATASET_CREATE), packed = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(chunked, 2, chunk);
    H5Pset_chunk(packed, 2, chunk);
    H5Pset_deflate(packed, 6);
    add_dataset(file, "chunked", chunked, 2, large);
    add_dataset(file, "packed", packed, 2, large);
    add_dataset(file, "plain", H5Pcreate(H5P_DATASET_CREATE), 2, large);
    add_dataset(file, "small", H5Pcreate(H5P_DATASET_CREATE), 2, small); /* fits anywhere: zeros */
    H5Fclose(file);
    assert_int_equal(stat(path, &about), 0);
    assert_true(about.st_size < 20000);
    refused_both_ways("chunked", "the dataset 'chunked' declares 6.4 GB, but only 0 bytes of it are stored");
    refused_both_ways("packed", "the dataset 'packed' declares 6.4 GB, but only 0 bytes of it are stored");
    refused_both_ways("plain", "the dataset 'plain' declares 6.4 GB, but only 0 bytes of it are stored");
    need(vf_h5_open(ctx, path, &opened));
    need(vf_h5_read(opened, "small", VF_F32, zero, all, found));
    for (int i = 0; i < 100 * 100; i++)
        assert_true(found[i] == 0);
    vf_h5_close(&opened);
}

/* A pipe without a writer is refused_both_ways at once. */
static void pipes(void **state)
{
    (void)state;
    vf_h5 *opened;
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    expect_error(vf_h5_open(ctx, path, &opened), VF_ERR_INPUT, "a pipe or device, not an HDF5 file");
    expect_error(vf_h5_open(ctx, "/dev/zero", &opened), VF_ERR_INPUT, "a pipe or device");
    unlink(path);
}

/* One process a file, and none is left; large pieces arrive whole. */
static void large_pieces(void **state)
{
    (void)state;
    enum { ROWS = 37, COLUMNS = 40000 }; /* 11.8 MB: several pieces, cut within rows of chunks */
    const int64_t dims[2] = {ROWS, COLUMNS}, chunk[2] = {10, 7001}, zero[2] = {0, 0}, start[2] = {3, 17},
                  count[2] = {31, 39001};
    double *numbers = malloc(sizeof *numbers * ROWS * COLUMNS), *found = malloc(sizeof *found * ROWS * COLUMNS);
    vf_h5 *opened;
    for (int i = 0; i < ROWS * COLUMNS; i++)
        numbers[i] = i * 0.5 - 3;
    need(vf_h5_create(ctx, path, &opened));
    need(vf_h5_dataset_create(opened, "packed", VF_F64, 2, dims, chunk, 1));
    need(vf_h5_write(opened, "packed", VF_F64, zero, dims, numbers));
    need(vf_h5_commit(&opened));
    const hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    const hsize_t extent[2] = {ROWS, COLUMNS};
    const hid_t space = H5Screate_simple(2, extent, NULL);
    const hid_t set = H5Dcreate2(file, "plain", H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers) >= 0);
    H5Dclose(set);
    H5Sclose(space);
    H5Fclose(file);
    for (int here = 0; here < 2; here++)
        for (int plain = 0; plain < 2; plain++) {
            vf_h5_read_here(here);
            need(vf_h5_open(ctx, path, &opened));
            const char *name = plain ? "plain" : "packed";
            memset(found, 0xff, sizeof *found * ROWS * COLUMNS);
            need(vf_h5_read(opened, name, VF_F64, zero, dims, found));
            assert_memory_equal(found, numbers, sizeof *found * ROWS * COLUMNS);
            need(vf_h5_read(opened, name, VF_F64, start, count, found));
            for (int64_t i = 0; i < count[0]; i++)
                assert_memory_equal(found + i * count[1], numbers + (i + start[0]) * COLUMNS + start[1],
                                    sizeof *found * (size_t)count[1]);
            vf_h5_close(&opened);
        }
    vf_h5_read_here(false);
    free(numbers);
    free(found);
}

int main(void)
{
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(links),       cmocka_unit_test(other_files), cmocka_unit_test(virtual_datasets),
        cmocka_unit_test(filters),     cmocka_unit_test(pipes),       cmocka_unit_test(never_written),
        cmocka_unit_test(large_pieces)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
