/* The map files of cionize, all formats alike: their names, their errors, and the state after a failure.
 */
#include <signal.h>
#include <sys/resource.h>

#include "map_fixture.h"

static const char *const all_names[] = {"map.dx", "map.dx.gz", "map.mrc", "map.cube", "map.h5"};
enum { ALL = sizeof all_names / sizeof *all_names };

/* The bytes do not depend on the number of threads or on the pieces. The map has half a million values, so it takes
 * many blocks and chunks, which the threads must put in order. */
static void same_bytes_whatever_the_threads_and_pieces(void **state)
{
    (void)state;
    char path[PATH_SIZE];
    const vf_grid grid = {.origin = {0, 0, 0}, .spacing = {1, 1, 1}, .counts = {90, 80, 70}};
    map_info info = describe(grid, VF_F32);
    for (int f = 0; f < ALL; f++) {
        const map_format *format;
        size_t bytes[3];
        char *content[3];
        path_of(all_names[f], path);
        assert_int_equal(map_format_for(ctx, path, &format), VF_OK);
        int64_t layers = format->order == MAP_X_FASTEST ? 70 : 90;
        void *values = make_layers(&info, format->order, 0, layers);
        for (int run = 0; run < 3; run++) {
            void *map;
            assert_int_equal(vf_context_set_threads(ctx, run == 1 ? 1 : 5), VF_OK);
            assert_int_equal(format->begin(ctx, path, &info, &map), VF_OK);
            vf_status status = run == 0 ? write_layers(format, &info, map) : format->write(map, 0, layers, values);
            assert_int_equal(status, VF_OK);
            assert_int_equal(format->commit(map, -3.5, 4.25, 0.125, 1.5), VF_OK);
            content[run] = slurp(path, &bytes[run]);
        }
        for (int run = 1; run < 3; run++)
            if (bytes[run] != bytes[0] || memcmp(content[run], content[0], bytes[0]) != 0)
                fail_msg("%s: run %d is different (%zu and %zu bytes)", all_names[f], run, bytes[run], bytes[0]);
        for (int run = 0; run < 3; run++)
            free(content[run]);
        free(values);
        unlink(path);
    }
    assert_int_equal(vf_context_set_threads(ctx, 3), VF_OK);
}

/* Puts one value into an otherwise valid map, at (2, 1, 3); returns the status of writing it. */
static vf_status write_with(const char *path, vf_dtype type, double bad)
{
    const vf_grid grid = {.origin = {0, 0, 0}, .spacing = {1, 1, 1}, .counts = {4, 3, 5}};
    map_info info = describe(grid, type);
    const map_format *format;
    void *state;
    assert_int_equal(map_format_for(ctx, path, &format), VF_OK);
    assert_int_equal(format->begin(ctx, path, &info, &state), VF_OK);
    bool x_fastest = format->order == MAP_X_FASTEST;
    int64_t layers = x_fastest ? 5 : 4;
    void *values = calloc(60, sizeof(double));
    int64_t at = x_fastest ? (3 * 3 + 1) * 4 + 2 : (2 * 3 + 1) * 5 + 3;
    if (type == VF_F32)
        ((float *)values)[at] = (float)bad;
    else
        ((double *)values)[at] = bad;
    vf_status status = format->write(state, 0, 2, values);
    if (status == VF_OK)
        status = format->write(state, 2, layers - 2, (char *)values + 2 * (size_t)(60 / layers) * vf_dtype_bytes(type));
    free(values);
    if (status == VF_OK)
        return format->commit(state, 0, 0, 0, 0);
    format->discard(state);
    return status;
}

static void values_that_no_file_can_hold(void **state)
{
    (void)state;
    char path[PATH_SIZE];
    for (int f = 0; f < ALL; f++) {
        path_of(all_names[f], path);
        for (int type = VF_F32; type <= VF_F64; type++) {
            expect_file_error(write_with(path, (vf_dtype)type, NAN), VF_ERR_OUTPUT, path, "(2, 1, 3) is nan");
            expect_file_error(write_with(path, (vf_dtype)type, INFINITY), VF_ERR_OUTPUT, path, "(2, 1, 3) is inf");
            expect_file_error(write_with(path, (vf_dtype)type, -INFINITY), VF_ERR_OUTPUT, path, "(2, 1, 3) is -inf");
        }
        assert_int_equal(files_left(), 0);
    }
    path_of("map.mrc", path);
    expect_file_error(write_with(path, VF_F64, -1e39), VF_ERR_OUTPUT, path, "(2, 1, 3) is -1e+39"); /* not in a float */
    path_of("map.cube", path);
    expect_file_error(write_with(path, VF_F64, 1e120), VF_ERR_OUTPUT, path, "(2, 1, 3) is 1e+120"); /* not in E13.5 */
    assert_int_equal(files_left(), 0);
}

/* Values with three digits in the exponent: zero in a cube file, a token of 19 characters in a DX file. */
static void doubles_too_small_for_a_float(void **state)
{
    (void)state;
    char path[PATH_SIZE];
    size_t bytes;
    path_of("map.cube", path);
    assert_int_equal(write_with(path, VF_F64, -1.5e-120), VF_OK);
    char *text = slurp(path, &bytes);
    int zeros = 0;
    for (const char *at = text; (at = strstr(at, "  0.00000E+00")); at += 13)
        zeros++;
    assert_int_equal(zeros, 60); /* the whole token: also -1.5e-120 */
    free(text);
    unlink(path);
    path_of("map.dx", path);
    assert_int_equal(write_with(path, VF_F64, -1.5e-120), VF_OK);
    text = slurp(path, &bytes);
    assert_non_null(strstr(text, " -1.50000000000e-120"));
    free(text);
    unlink(path);
}

static void layers_out_of_order(void **state)
{
    (void)state;
    char path[PATH_SIZE];
    const vf_grid grid = {.origin = {0, 0, 0}, .spacing = {1, 1, 1}, .counts = {4, 3, 5}};
    const float values[60] = {0};
    for (int f = 0; f < ALL; f++) {
        map_info info = describe(grid, VF_F32);
        const map_format *format;
        void *map;
        path_of(all_names[f], path);
        assert_int_equal(map_format_for(ctx, path, &format), VF_OK);
        assert_int_equal(format->begin(ctx, path, &info, &map), VF_OK);
        assert_int_equal(format->write(map, 0, 2, values), VF_OK);
        expect_file_error(format->write(map, 0, 1, values), VF_ERR_INTERNAL, path, "instead of layer 2");
        expect_file_error(format->write(map, 3, 1, values), VF_ERR_INTERNAL, path, "instead of layer 2");
        expect_file_error(format->write(map, 2, 4, values), VF_ERR_INTERNAL, path, "instead of layer 2");
        expect_file_error(format->write(map, 2, 0, values), VF_ERR_INTERNAL, path, "instead of layer 2");
        expect_file_error(format->commit(map, 0, 0, 0, 0), VF_ERR_INTERNAL, path, "ended at layer 2");
        assert_int_equal(format->begin(ctx, path, &info, &map), VF_OK);
        assert_int_equal(format->write(map, 0, 2, values), VF_OK);
        format->discard(map);
        format->discard(NULL);
        assert_int_equal(files_left(), 0);
    }
}

static void too_many_points(void **state)
{
    (void)state;
    char path[PATH_SIZE];
    static const char *const names[] = {"map.dx", "map.dx.gz", "map.cub"};
    const vf_grid grid = {.origin = {0, 0, 0}, .spacing = {1, 1, 1}, .counts = {2048, 1024, 1024}}; /* 2^31 */
    for (int f = 0; f < 3; f++) {
        map_info info = describe(grid, VF_F32);
        const map_format *format;
        void *map;
        path_of(names[f], path);
        assert_int_equal(map_format_for(ctx, path, &format), VF_OK);
        expect_file_error(format->begin(ctx, path, &info, &map), VF_ERR_UNSUPPORTED, path, "write .h5 or .mrc");
        assert_null(map);
    }
    map_info bad = describe((vf_grid){.origin = {0, 0, 0}, .spacing = {1, NAN, 1}, .counts = {2, 2, 2}}, VF_F32);
    for (int f = 0; f < ALL; f++) {
        path_of(all_names[f], path);
        expect_file_error(write_map(&bad, path), VF_ERR_INTERNAL, path, "grid");
    }
    assert_int_equal(files_left(), 0);
}

/* A disk that fills up: the process's file size limit is smaller than the map. */
static void no_room(void **state)
{
    (void)state;
    static const rlim_t limits[] = {0, 700, 5000, 100000};
    char path[PATH_SIZE];
    struct rlimit before;
    map_info info = describe(grids[GRIDS - 1], VF_F32);
    getrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, SIG_IGN);
    for (size_t l = 0; l < sizeof limits / sizeof *limits; l++)
        for (int f = 0; f < ALL; f++) {
            struct rlimit small = {.rlim_cur = limits[l], .rlim_max = before.rlim_max};
            path_of(all_names[f], path);
            setrlimit(RLIMIT_FSIZE, &small);
            vf_status status = write_map(&info, path);
            setrlimit(RLIMIT_FSIZE, &before);
            expect_file_error(status, VF_ERR_OUTPUT, path, "File too large");
            assert_int_equal(files_left(), 0);
        }
    for (int f = 0; f < ALL; f++) { /* and afterwards everything works */
        path_of(all_names[f], path);
        must_write(&info, path);
        unlink(path);
    }
}

static void full_device(void **state)
{
    (void)state;
    char path[PATH_SIZE];
    map_info info = describe(grids[GRIDS - 1], VF_F32);
    for (int f = 0; f < ALL; f++) {
        path_of(all_names[f], path);
        assert_int_equal(symlink("/dev/full", path), 0);
        expect_file_error(write_map(&info, path), VF_ERR_OUTPUT, path, "cannot");
        unlink(path);
        snprintf(path, sizeof path, "%.200s/missing/%s", directory, all_names[f]);
        expect_file_error(write_map(&info, path), VF_ERR_OUTPUT, path, "No such file");
    }
}

static void names_and_formats(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        const map_format *format;
    } cases[] = {
        {"a.dx", &map_dx},
        {"A.B.DX", &map_dx},
        {"x/y.dx.gz", &map_dx_gz},
        {"a.Dx.GZ", &map_dx_gz},
        {"a.mrc", &map_mrc},
        {"a.CCP4", &map_mrc},
        {"a.map", &map_mrc},
        {"a.cube", &map_cube},
        {"a.cub", &map_cube},
        {"a.h5", &map_h5},
        {"a.hdf5", &map_h5},
        {"a.gz.dx", &map_dx},
        {"", NULL},
        {"dx", NULL},
        {".dx", NULL},
        {"a/.dx", NULL},
        {"a.gz", NULL},
        {"a.mrc.gz", NULL},
        {"a.dxx", NULL},
        {"a.dx/b", NULL},
        {"a.dx ", NULL},
        {"a.h", NULL},
        {"acub", NULL},
        {"a.xplor", NULL},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const map_format *format = &map_dx;
        vf_status status = map_format_for(ctx, cases[c].path, &format);
        assert_ptr_equal(format, cases[c].format);
        if (cases[c].format)
            assert_int_equal(status, VF_OK);
        else
            expect_file_error(status, VF_ERR_ARGUMENT, cases[c].path,
                              ".dx.gz .dx .mrc .ccp4 .map .cube .cub .h5 .hdf5");
    }
}

TEST_MAIN(set_up, close_folder, cmocka_unit_test(same_bytes_whatever_the_threads_and_pieces),
          cmocka_unit_test(values_that_no_file_can_hold), cmocka_unit_test(doubles_too_small_for_a_float),
          cmocka_unit_test(layers_out_of_order), cmocka_unit_test(too_many_points), cmocka_unit_test(no_room),
          cmocka_unit_test(full_device), cmocka_unit_test(names_and_formats))
