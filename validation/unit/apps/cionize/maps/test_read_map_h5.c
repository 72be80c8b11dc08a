/* Incomplete or contradictory HDF5 maps read back. Maps written by cionize: test_read_map.c. */
#include <sys/stat.h>
#include <unistd.h>

#include "map_fixture.h"
#include "maps/read_map.h"
#include "voxfield/hdf5_io.h"

/* What to leave out, or to write differently, in a small file. */
typedef struct h5_flaw {
    const char *without;
    const char *format, *model;
    int64_t version, counts[3];
    vf_dtype type;
    int rank;
    double bad; /* the value at (1, 0, 2) if it is not finite */
    const char *part;
} h5_flaw;

static void put_h5(const char *path, const h5_flaw *flaw)
{
    static const double three[3] = {1, 2, 3}, one = 1;
    static const char *const numbers[] = {"unit_constant", "temperature", "dielectric", "r_min"};
    const int64_t dims[4] = {4, 3, 2, 1}, start[4] = {0};
    double values[48] = {0};
    vf_h5 *file;
    if (flaw->bad != 0)
        values[2 * 6 + 1] = flaw->bad;
    assert_int_equal(vf_h5_create(ctx, path, &file), VF_OK);
    assert_int_equal(vf_h5_dataset_create(file, "potential", flaw->type, flaw->rank, dims, dims, 1), VF_OK);
    assert_int_equal(vf_h5_write(file, "potential", flaw->type == VF_C128 ? VF_C128 : VF_F64, start, dims, values),
                     VF_OK);
#define WANTED(name) (strcmp(flaw->without, name) != 0)
    if (WANTED("format"))
        assert_int_equal(vf_h5_attribute_text(file, "/", "format", flaw->format), VF_OK);
    if (WANTED("format_version"))
        assert_int_equal(vf_h5_attribute_integers(file, "/", "format_version", &flaw->version, 1), VF_OK);
    if (WANTED("origin"))
        assert_int_equal(vf_h5_attribute_doubles(file, "potential", "origin", three, 3), VF_OK);
    if (WANTED("spacing"))
        assert_int_equal(vf_h5_attribute_doubles(file, "potential", "spacing", three, 3), VF_OK);
    if (WANTED("counts"))
        assert_int_equal(vf_h5_attribute_integers(file, "potential", "counts", flaw->counts, 3), VF_OK);
    if (WANTED("unit"))
        assert_int_equal(vf_h5_attribute_text(file, "potential", "unit", "V"), VF_OK);
    if (WANTED("dielectric_model"))
        assert_int_equal(vf_h5_attribute_text(file, "potential", "dielectric_model", flaw->model), VF_OK);
    for (int i = 0; i < 4; i++)
        if (WANTED(numbers[i]))
            assert_int_equal(vf_h5_attribute_doubles(file, "potential", numbers[i], &one, 1), VF_OK);
    assert_int_equal(vf_h5_commit(&file), VF_OK);
}

static void damaged_h5(void **state)
{
    (void)state;
#define GOOD                                                                                                           \
    .without = "", .format = "voxfield map", .model = "eps = dielectric", .version = 1, .counts = {2, 3, 4},           \
    .type = VF_F64, .rank = 3
    h5_flaw flaws[] = {
        {GOOD},
        {GOOD, .part = "format 'other'"},
        {GOOD, .part = "version 2"},
        {GOOD, .part = "model 'eps = 7'"},
        {GOOD, .part = "2 points along z, but /potential has 4"},
        {GOOD, .part = "VF_C128"},
        {GOOD, .part = "4 dimensions"},
        {GOOD, .bad = NAN, .part = "(1, 0, 2) is nan"},
        {GOOD, .bad = -INFINITY, .part = "(1, 0, 2) is inf"},
    };
    flaws[1].format = "other";
    flaws[1].part = "'other'";
    flaws[2].version = 2;
    flaws[3].model = "eps = 7";
    flaws[4].counts[2] = 2;
    flaws[5].type = VF_C128;
    flaws[6].rank = 4;
    char path[PATH_SIZE];
    loaded_map map;
    path_of("map.hdf5", path);
    put_h5(path, &flaws[0]);
    assert_int_equal(read_map(ctx, path, "V", &map), VF_OK);
    map_free(&map);
    for (size_t f = 1; f < sizeof flaws / sizeof *flaws; f++) {
        put_h5(path, &flaws[f]);
        expect_file_error(read_map(ctx, path, NULL, &map), VF_ERR_INPUT, path, flaws[f].part);
        assert_null(map.values);
    }
    static const char *const names[] = {"format",     "format_version", "origin",          "spacing",
                                        "counts",     "unit",           "unit_constant",   "temperature",
                                        "dielectric", "r_min",          "dielectric_model"};
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        flaws[0].without = names[n];
        put_h5(path, &flaws[0]);
        expect_file_error(read_map(ctx, path, NULL, &map), VF_ERR_INPUT, path, names[n]);
    }
    struct stat whole;
    assert_int_equal(stat(path, &whole), 0);
    assert_int_equal(truncate(path, whole.st_size / 2), 0);
    expect_file_error(read_map(ctx, path, NULL, &map), VF_ERR_INPUT, path, "");
    unlink(path);
}

TEST_MAIN(set_up, close_folder, cmocka_unit_test(damaged_h5))
