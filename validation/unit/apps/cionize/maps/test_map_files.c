/* The map files of cionize: written in pieces, read back by small parsers that know the formats and share no code
 * with the writers. */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <zlib.h>

#include "map_fixture.h"
#include "voxfield/hdf5_io.h"

/* ---- OpenDX ---- */

static char *next_line(char **text)
{
    char *line = *text, *end = strchr(line, '\n');
    if (!end)
        fail_msg("the file ends in the middle of '%s'", line);
    *end = '\0';
    *text = end + 1;
    return line;
}

static void check_dx(const map_info *info, char *text)
{
    const vf_grid *grid = &info->grid;
    const long long points = vf_grid_points(grid);
    long long n[3], items;
    double x[3], delta[3];
    int comments = 0, end = 0;
    char *line;
    for (line = next_line(&text); line[0] == '#'; line = next_line(&text), comments++) {
        assert_true(strlen(line) < 256);
        for (const char *c = line; *c; c++)
            assert_in_range(*c, ' ', '~');
    }
    assert_in_range(comments, 5, 12);
    assert_int_equal(sscanf(line, "object 1 class gridpositions counts %lld %lld %lld%n", n, n + 1, n + 2, &end), 3);
    assert_int_equal(line[end], 0);
    for (int a = 0; a < 3; a++)
        assert_int_equal(n[a], grid->counts[a]);
    assert_int_equal(sscanf(next_line(&text), "origin %lf %lf %lf", x, x + 1, x + 2), 3);
    assert_int_equal(sscanf(next_line(&text), "delta %lf 0 0", delta), 1);
    assert_int_equal(sscanf(next_line(&text), "delta 0 %lf 0", delta + 1), 1);
    assert_int_equal(sscanf(next_line(&text), "delta 0 0 %lf", delta + 2), 1);
    for (int a = 0; a < 3; a++) { /* 12 digits: half a unit of the last is 5e-12 */
        assert_true(fabs(x[a] - grid->origin[a]) <= 5e-12 * fabs(grid->origin[a]));
        assert_true(fabs(delta[a] - grid->spacing[a]) <= 5e-12 * grid->spacing[a]);
    }
    line = next_line(&text);
    assert_int_equal(sscanf(line, "object 2 class gridconnections counts %lld %lld %lld%n", n, n + 1, n + 2, &end), 3);
    assert_int_equal(line[end], 0);
    for (int a = 0; a < 3; a++)
        assert_int_equal(n[a], grid->counts[a]);
    assert_int_equal(
        sscanf(next_line(&text), "object 3 class array type double rank 0 items %lld data follows", &items), 1);
    assert_int_equal(items, points);

    for (long long v = 0; v < points;) {
        char *rest = next_line(&text), *token;
        int on_line = 0;
        for (; (token = strsep(&rest, " ")); on_line++, v++) {
            assert_true(strlen(token) > 0 && strlen(token) < 20);
            char *stop;
            int64_t i = v / (n[1] * n[2]), j = v / n[2] % n[1], k = v % n[2];
            if (info->type == VF_F32) { /* 9 digits: every bit */
                float value = strtof(token, &stop), expected = sample(i, j, k);
                if (memcmp(&value, &expected, sizeof value) != 0)
                    fail_msg("(%d, %d, %d): %s, not %a", (int)i, (int)j, (int)k, token, (double)expected);
            } else { /* 12 digits */
                double value = strtod(token, &stop), expected = sample_double(i, j, k);
                if (!(fabs(value - expected) <= 5e-12 * fabs(expected)))
                    fail_msg("(%d, %d, %d): %s, not %.17g", (int)i, (int)j, (int)k, token, expected);
            }
            assert_int_equal(*stop, 0);
        }
        assert_int_equal(on_line, v < points || points % 3 == 0 ? 3 : points % 3);
    }
    assert_string_equal(text, "attribute \"dep\" string \"positions\"\n"
                              "object \"regular positions regular connections\" class field\n"
                              "component \"positions\" value 1\n"
                              "component \"connections\" value 2\n"
                              "component \"data\" value 3\n");
}

static void dx_holds_the_map(void **state)
{
    (void)state;
    char path[PATH_SIZE];
    size_t bytes;
    path_of("map.dx", path);
    for (int g = 0; g < GRIDS; g++)
        for (int type = VF_F32; type <= VF_F64; type++) {
            map_info info = describe(grids[g], (vf_dtype)type);
            must_write(&info, path);
            char *text = slurp(path, &bytes);
            assert_int_equal(strlen(text), bytes);
            check_dx(&info, text);
            free(text);
        }
    unlink(path);
}

/* Decompresses with zlib: a single member with the right checksum and length, and nothing after it. */
static char *gunzip_one_member(const char *path)
{
    size_t packed_bytes, room = 64 << 20;
    char *packed = slurp(path, &packed_bytes), *text = malloc(room);
    assert_non_null(text);
    z_stream stream = {.next_in = (Bytef *)packed, .avail_in = (uInt)packed_bytes, .next_out = (Bytef *)text};
    stream.avail_out = (uInt)room - 1;
    assert_int_equal(inflateInit2(&stream, 15 + 16), Z_OK);
    assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
    assert_int_equal(stream.avail_in, 0);
    text[stream.total_out] = '\0';
    inflateEnd(&stream);
    free(packed);
    return text;
}

static void dx_gz_holds_the_same_text(void **state)
{
    (void)state;
    char path[PATH_SIZE];
    path_of("Map.DX.Gz", path);
    for (int g = 0; g < GRIDS; g++) {
        map_info info = describe(grids[g], VF_F32);
        must_write(&info, path);
        char *text = gunzip_one_member(path);
        check_dx(&info, text);
        free(text);
    }
    unlink(path);
}

/* ---- MRC ---- */

static int32_t word(const char *file, int number) /* from 1, as in the format's description */
{
    int32_t value;
    memcpy(&value, file + 4 * (number - 1), 4);
    return value;
}

static float real(const char *file, int number)
{
    float value;
    memcpy(&value, file + 4 * (number - 1), 4);
    return value;
}

static void check_mrc(const map_info *info, const char *file, size_t bytes)
{
    const vf_grid *grid = &info->grid;
    assert_int_equal(bytes, 1024 + 4 * (size_t)vf_grid_points(grid));
    for (int a = 0; a < 3; a++) {
        assert_int_equal(word(file, 1 + a), grid->counts[a]);
        assert_int_equal(word(file, 8 + a), grid->counts[a]);
        assert_true(real(file, 11 + a) == (float)((double)grid->counts[a] * grid->spacing[a]));
        assert_true(real(file, 14 + a) == 90);
        assert_int_equal(word(file, 17 + a), a + 1);
    }
    assert_int_equal(word(file, 4), 2);  /* MODE */
    assert_int_equal(word(file, 23), 1); /* ISPG */
    assert_int_equal(word(file, 24), 0); /* NSYMBT */
    assert_int_equal(word(file, 25), 0); /* LSKFLG of CCP4 */
    assert_int_equal(word(file, 28), 20141);
    assert_memory_equal(file + 208, "MAP \x44\x44\0\0", 8); /* these tests run on little-endian machines */
    assert_true(real(file, 20) == -3.5f && real(file, 21) == 4.25f && real(file, 22) == 0.125f &&
                real(file, 55) == 1.5f);
    assert_in_range(word(file, 56), 5, 10);
    for (int c = 224; c < 1024; c++)
        assert_in_range(file[c], ' ', '~');
    assert_non_null(strstr(file + 224, "kT/e"));

    const int64_t *n = grid->counts;
    for (int64_t v = 0; v < vf_grid_points(grid); v++) {
        int64_t i = v % n[0], j = v / n[0] % n[1], k = v / n[0] / n[1];
        float value, expected = info->type == VF_F32 ? sample(i, j, k) : (float)sample_double(i, j, k);
        memcpy(&value, file + 1024 + 4 * v, 4);
        if (memcmp(&value, &expected, 4) != 0)
            fail_msg("(%d, %d, %d): %a, not %a", (int)i, (int)j, (int)k, (double)value, (double)expected);
    }
}

static void mrc_holds_the_map(void **state)
{
    (void)state;
    static const char *const names[] = {"map.mrc", "map.ccp4", "map.MAP"};
    char path[PATH_SIZE];
    size_t bytes;
    for (int g = 0; g < GRIDS; g++)
        for (int type = VF_F32; type <= VF_F64; type++)
            for (int name = 0; name < 3; name++) {
                map_info info = describe(grids[g], (vf_dtype)type);
                path_of(names[name], path);
                must_write(&info, path);
                char *file = slurp(path, &bytes);
                check_mrc(&info, file, bytes);
                for (int a = 0; a < 3; a++) { /* all origins here are whole steps */
                    assert_true(word(file, 5 + a) == lround(info.grid.origin[a] / info.grid.spacing[a]));
                    assert_true(real(file, 50 + a) == 0);
                }
                free(file);
                unlink(path);
            }
}

/* An origin that is not a whole number of steps goes to ORIGIN, and never to both; CCP4 files cannot store it. */
static void mrc_position_between_steps(void **state)
{
    (void)state;
    char path[PATH_SIZE];
    size_t bytes;
    const vf_grid cases[] = {
        {.origin = {-1, 2, 3.1}, .spacing = {0.5, 0.5, 0.5}, .counts = {3, 4, 5}},    /* between steps along one axis */
        {.origin = {-1, 2, 3.0001}, .spacing = {0.5, 0.5, 0.5}, .counts = {3, 4, 5}}, /* by 2e-4 steps */
        {.origin = {-1, 2, 30.5},
         .spacing = {0.5, 0.5, 0.5},
         .counts = {3, 4, 5}}, /* whole, but 61 steps away from a map of 5: ChimeraX would reject it */
        {.origin = {0, 0, 1e200}, .spacing = {1, 1, 1e190}, .counts = {3, 4, 5}}, /* whole, but too large for 32 bits */
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        map_info info = describe(cases[c], VF_F32);
        if (c < 3) {
            path_of("map.mrc", path);
            must_write(&info, path);
            char *file = slurp(path, &bytes);
            check_mrc(&info, file, bytes);
            for (int a = 0; a < 3; a++) {
                assert_int_equal(word(file, 5 + a), 0);
                assert_true(real(file, 50 + a) == (float)info.grid.origin[a]);
            }
            free(file);
            unlink(path);
        }
        path_of("map.ccp4", path);
        expect_file_error(write_map(&info, path), VF_ERR_UNSUPPORTED, path, "use .mrc");
    }
    const vf_grid nearly = {.origin = {-1, 2, 3.000001},
                            .spacing = {0.5, 0.5, 0.5},
                            .counts = {3, 4, 5}}; /* a whole step, up to rounding */
    map_info info = describe(nearly, VF_F32);
    path_of("map.map", path);
    must_write(&info, path);
    unlink(path);
    assert_int_equal(files_left(), 0);
}

/* The cell of a periodic map, if its edges are whole steps of the grid's axes; others are rejected. */
static void mrc_holds_the_cell(void **state)
{
    (void)state;
    char path[PATH_SIZE];
    size_t bytes;
    vf_grid grid = {.origin = {-1, 2, 0.5},
                    .spacing = {0.5, 0.5, 0.25},
                    .counts = {3, 4, 5},
                    .cell = {.kind = VF_CELL_ORTHORHOMBIC, .vectors = {{3, 0, 0}, {0, 2, 0}, {0, 0, 1.25}}}};
    map_info info = describe(grid, VF_F32);
    path_of("map.mrc", path);
    must_write(&info, path);
    char *file = slurp(path, &bytes);
    for (int a = 0; a < 3; a++) {
        assert_int_equal(word(file, 1 + a), grid.counts[a]);
        const int32_t steps[3] = {6, 4, 5};
        assert_int_equal(word(file, 8 + a), steps[a]);
        assert_true(real(file, 11 + a) == (float)grid.cell.vectors[a][a]);
        assert_true(real(file, 14 + a) == 90);
    }
    free(file);
    unlink(path);
    info.grid.cell.vectors[1][1] = 2.1;
    expect_file_error(write_map(&info, path), VF_ERR_UNSUPPORTED, path, "its steps divide them");
    info.grid.cell.vectors[1][1] = 2;
    info.grid.cell.vectors[1][0] = 0.5;
    info.grid.cell.kind = VF_CELL_TRICLINIC;
    expect_file_error(write_map(&info, path), VF_ERR_UNSUPPORTED, path, "write .h5");
    assert_int_equal(files_left(), 0);
}

/* Copies all data from a pipe into a file, in another process. */
static pid_t drain(const char *pipe, const char *copy)
{
    pid_t child = fork();
    if (child == 0) {
        char buffer[4096];
        int in = open(pipe, O_RDONLY), out = open(copy, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        ssize_t n;
        while ((n = read(in, buffer, sizeof buffer)) > 0)
            if (write(out, buffer, (size_t)n) != n)
                _exit(1);
        _exit(n != 0);
    }
    return child;
}

/* In a pipe, the header of an MRC file cannot be rewritten, so it says that the statistics are unknown. */
static void mrc_into_a_pipe(void **state)
{
    (void)state;
    char path[PATH_SIZE], copy[PATH_SIZE];
    size_t bytes;
    int result = -1;
    map_info info = describe(grids[4], VF_F32);
    path_of("pipe.mrc", path);
    path_of("copy", copy);
    assert_int_equal(mkfifo(path, 0600), 0);
    pid_t child = drain(path, copy);
    assert_true(child > 0);
    must_write(&info, path);
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_int_equal(result, 0);
    char *file = slurp(copy, &bytes);
    assert_int_equal(bytes, 1024 + 4 * (size_t)vf_grid_points(&info.grid));
    assert_true(real(file, 21) < real(file, 20) && real(file, 22) < real(file, 21) && real(file, 55) < 0);
    free(file);
    unlink(path);
    unlink(copy);
}

/* ---- cube ---- */

static const double bohr = 0.529177210544; /* CODATA 2022, angstrom */

/* A molecule without names has dummy atoms; else: an alpha carbon, and a sodium ion. */
static const int elements[] = {6, 11};
static atom_label names[] = {{.name = "CA", .residue = "ALA"}, {.name = "SOD", .residue = "SOD"}};

static void check_cube(const map_info *info, char *text)
{
    const vf_grid *grid = &info->grid;
    long long n[3], atoms;
    double x[3], v[9], number, charge;
    int end;
    assert_true(strlen(text) > 0 && strcspn(text, "\n") < 255); /* VMD's buffer */
    assert_non_null(strstr(next_line(&text), "kT/e"));
    assert_true(strcspn(text, "\n") < 255);
    next_line(&text);
    assert_int_equal(sscanf(next_line(&text), "%lld %lf %lf %lf", &atoms, x, x + 1, x + 2), 4);
    assert_int_equal(atoms, info->molecule->atoms);
    for (int a = 0; a < 3; a++) {
        const char *line = next_line(&text);
        assert_int_equal(sscanf(line, "%lld %lf %lf %lf%n", n + a, v + 3 * a, v + 3 * a + 1, v + 3 * a + 2, &end), 4);
        assert_int_equal(line[end], 0);
        assert_int_equal(n[a], grid->counts[a]);
        for (int b = 0; b < 3; b++) /* 12 digits */
            assert_true(fabs(v[3 * a + b] * bohr - (a == b ? grid->spacing[a] : 0)) <= 5e-12 * grid->spacing[a]);
        assert_true(fabs(x[a] * bohr - grid->origin[a]) <= 5e-12 * fabs(grid->origin[a]));
    }
    for (int atom = 0; atom < atoms; atom++) {
        assert_int_equal(sscanf(next_line(&text), "%lf %lf %lf %lf %lf", &number, &charge, x, x + 1, x + 2), 5);
        const int expected = info->molecule->labels ? elements[atom] : 0;
        assert_true(number == expected && charge == atom_charge[atom]);
        assert_true(fabs(x[0] * bohr - atom_x[atom]) < 1e-9 && fabs(x[1] * bohr - atom_y[atom]) < 1e-9 &&
                    fabs(x[2] * bohr - atom_z[atom]) < 1e-9);
    }
    for (int64_t i = 0; i < n[0]; i++)
        for (int64_t j = 0; j < n[1]; j++)
            for (int64_t k = 0; k < n[2];) { /* every row of z begins a line; 6 on a line, 13 characters each */
                char *line = next_line(&text);
                int64_t on_line = n[2] - k < 6 ? n[2] - k : 6;
                assert_int_equal(strlen(line), 13 * on_line);
                for (; on_line > 0; on_line--, k++, line += 13) {
                    char token[14] = "", *stop;
                    memcpy(token, line, 13);
                    assert_int_equal(token[0], ' ');
                    assert_non_null(strchr(token, 'E'));
                    double value = strtod(token, &stop);
                    double expected = info->type == VF_F32 ? (double)sample(i, j, k) : sample_double(i, j, k);
                    if (*stop || !(fabs(value - expected) <= 5e-6 * fabs(expected))) /* 6 digits */
                        fail_msg("(%d, %d, %d): %s, not %.9g", (int)i, (int)j, (int)k, token, expected);
                }
            }
    assert_int_equal(*text, 0);
}

static void cube_holds_the_map(void **state)
{
    (void)state;
    char path[PATH_SIZE];
    size_t bytes;
    for (int g = 0; g < GRIDS; g++)
        for (int type = VF_F32; type <= VF_F64; type++) {
            map_info info = describe(grids[g], (vf_dtype)type);
            molecule labelled = solute;
            labelled.labels = g % 2 ? names : NULL;
            info.molecule = &labelled;
            path_of(g % 2 ? "map.cube" : "map.CUB", path);
            must_write(&info, path);
            char *text = slurp(path, &bytes);
            assert_int_equal(strlen(text), bytes);
            check_cube(&info, text);
            free(text);
            unlink(path);
        }
}

/* ---- HDF5 ---- */

static void check_attribute(vf_h5 *file, const char *object, const char *name, double expected)
{
    double value = NAN;
    assert_int_equal(vf_h5_attribute_get_doubles(file, object, name, &value, 1), VF_OK);
    assert_true(value == expected);
}

static void h5_holds_the_map(void **state)
{
    (void)state;
    char path[PATH_SIZE];
    path_of("map.h5", path);
    for (int g = 0; g < GRIDS; g++)
        for (int type = VF_F32; type <= VF_F64; type++) {
            map_info info = describe(grids[g], (vf_dtype)type);
            const int64_t *n = info.grid.counts;
            vf_h5 *file;
            vf_dtype stored;
            int rank;
            int64_t dims[VF_H5_MAX_RANK], start[3] = {0, 0, 0};
            double three[3];
            must_write(&info, path);
            assert_int_equal(vf_h5_open(ctx, path, &file), VF_OK);
            assert_int_equal(vf_h5_dataset_shape(file, "potential", &stored, &rank, dims), VF_OK);
            assert_int_equal(stored, type);
            assert_int_equal(rank, 3);
            for (int d = 0; d < 3; d++)
                assert_int_equal(dims[d], n[2 - d]);
            void *values = malloc((size_t)vf_grid_points(&info.grid) * vf_dtype_bytes(stored));
            void *expected = make_layers(&info, MAP_X_FASTEST, 0, n[2]);
            assert_int_equal(vf_h5_read(file, "potential", stored, start, dims, values), VF_OK);
            assert_memory_equal(values, expected, (size_t)vf_grid_points(&info.grid) * vf_dtype_bytes(stored));
            free(values);
            free(expected);
            assert_int_equal(vf_h5_attribute_get_doubles(file, "potential", "origin", three, 3), VF_OK);
            assert_memory_equal(three, info.grid.origin, sizeof three);
            assert_int_equal(vf_h5_attribute_get_doubles(file, "potential", "spacing", three, 3), VF_OK);
            assert_memory_equal(three, info.grid.spacing, sizeof three);
            assert_int_equal(vf_h5_attribute_get_doubles(file, "potential", "counts", three, 3), VF_OK);
            assert_true(three[0] == (double)n[0] && three[1] == (double)n[1] && three[2] == (double)n[2]);
            check_attribute(file, "/", "format_version", 1);
            check_attribute(file, "/", "total_charge", -0.75);
            check_attribute(file, "potential", "unit_constant", 560.459343);
            check_attribute(file, "potential", "temperature", 298.15);
            check_attribute(file, "potential", "dielectric", 78.5);
            check_attribute(file, "potential", "r_min", 0.125);
            check_attribute(file, "potential", "minimum", -3.5);
            check_attribute(file, "potential", "maximum", 4.25);
            check_attribute(file, "potential", "mean", 0.125);
            check_attribute(file, "potential", "rms", 1.5);
            vf_h5_close(&file);
        }
    unlink(path);
}

TEST_MAIN(set_up, close_folder, cmocka_unit_test(dx_holds_the_map), cmocka_unit_test(dx_gz_holds_the_same_text),
          cmocka_unit_test(mrc_holds_the_map), cmocka_unit_test(mrc_position_between_steps),
          cmocka_unit_test(mrc_into_a_pipe), cmocka_unit_test(cube_holds_the_map), cmocka_unit_test(h5_holds_the_map),
          cmocka_unit_test(mrc_holds_the_cell))
