/* The map files of cionize: written in pieces, read back by small parsers that know the formats and nothing of the
 * writers. */
#include <errno.h>
#include <fcntl.h>
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

#include "cionize.h"
#include "voxfield/hdf5_io.h"
#include "voxfield/output.h"

enum { PATH_SIZE = 256, TEXT_SIZE = 512 };

/* ---- a directory for the files, a molecule, and a map whose every value is different ---- */

static char directory[PATH_SIZE];
static vf_context *ctx;

static double atom_x[] = {1.5, -2.25}, atom_y[] = {0.125, 3}, atom_z[] = {-7.75, 100.5};
static double atom_charge[] = {0.5, -1.25}, atom_radius[] = {1.5, 2};
static const molecule solute = {.atoms = 2,
                                .x = atom_x,
                                .y = atom_y,
                                .z = atom_z,
                                .charge = atom_charge,
                                .radius = atom_radius,
                                .total_charge = -0.75,
                                .digest = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"};

static map_info describe(vf_grid grid, vf_dtype type)
{
    return (map_info){.grid = grid,
                      .type = type,
                      .quantity = "electrostatic potential",
                      .unit = "kT/e",
                      .program = "cionize (Voxfield) 0.1.0",
                      .command = "cionize m\xc3\xb6lecule.pqr -o map.dx --tab\there",
                      .created = "2026-01-02T03:04:05Z",
                      .method = "direct:cpu, single precision",
                      .input = "m\xc3\xb6lecule.pqr",
                      .unit_constant = 560.459343,
                      .temperature = 298.15,
                      .dielectric = 78.5,
                      .r_min = 0.125,
                      .molecule = &solute};
}

/* A reproducible value without symmetry: mostly of usual size, now and then zero, minus zero, tiny or huge. */
static float sample(int64_t i, int64_t j, int64_t k)
{
    uint64_t h = (uint64_t)i * 0x9e3779b97f4a7c15 ^ (uint64_t)(j + 1) * 0xc2b2ae3d27d4eb4f ^
                 (uint64_t)(k + 7) * 0x165667b19e3779f9;
    h = (h ^ h >> 29) * 0xbf58476d1ce4e5b9;
    h ^= h >> 32;
    switch (h % 61) {
    case 0:
        return 0;
    case 1:
        return -0.0f;
    case 2:
        return FLT_TRUE_MIN * (float)(h >> 50);
    case 3:
        return (h & 64 ? -1.0f : 1.0f) * FLT_MAX / (float)(1 + (h >> 60));
    default:
        return (float)((double)(h >> 11) * 0x1p-53 - 0.4) * (h & 64 ? 1e-3f : 250.0f);
    }
}

/* In double precision the values have more digits than a float, and are of usual size. */
static double sample_double(int64_t i, int64_t j, int64_t k)
{
    return (double)(float)sin((double)(i + 2 * j + 5 * k)) * 12.3 + (double)i / 3 - (double)j / 7 + (double)k / 11;
}

static void path_of(const char *name, char *path)
{
    assert_true(snprintf(path, PATH_SIZE, "%s/%s", directory, name) < PATH_SIZE);
}

/* Layers [first, first + count) as a format wants them. */
static void *make_layers(const map_info *info, map_order order, int64_t first, int64_t count)
{
    const int64_t *n = info->grid.counts;
    int slow = order == MAP_X_FASTEST ? 2 : 0, fast = 2 - slow;
    void *values = malloc((size_t)(count * n[1] * n[fast]) * vf_dtype_bytes(info->type));
    assert_non_null(values);
    int64_t at[3], v = 0;
    for (at[slow] = first; at[slow] < first + count; at[slow]++)
        for (at[1] = 0; at[1] < n[1]; at[1]++)
            for (at[fast] = 0; at[fast] < n[fast]; at[fast]++, v++) {
                if (info->type == VF_F32)
                    ((float *)values)[v] = sample(at[0], at[1], at[2]);
                else
                    ((double *)values)[v] = sample_double(at[0], at[1], at[2]);
            }
    return values;
}

/* Writes layers 0, 1-2, 3-6, 7-9, ... : thicknesses of 1, 2, 4, 3, 21 in turn, so that a piece may hold less and more
 * than a chunk of an HDF5 file, and end anywhere in one. */
static vf_status write_layers(const map_format *format, const map_info *info, void *state)
{
    static const int64_t thickness[] = {1, 2, 4, 3, 21};
    const int64_t layers = info->grid.counts[format->order == MAP_X_FASTEST ? 2 : 0];
    vf_status status = VF_OK;
    int64_t count;
    for (int64_t first = 0, turn = 0; first < layers && status == VF_OK; first += count, turn++) {
        count = thickness[turn % 5] < layers - first ? thickness[turn % 5] : layers - first;
        void *values = make_layers(info, format->order, first, count);
        status = format->write(state, first, count, values);
        free(values);
    }
    return status;
}

/* Writes the whole map; returns the first error. */
static vf_status write_map(const map_info *info, const char *path)
{
    const map_format *format;
    void *state;
    vf_status status = map_format_for(ctx, path, &format);
    if (status == VF_OK)
        status = format->begin(ctx, path, info, &state);
    if (status != VF_OK)
        return status;
    status = write_layers(format, info, state);
    if (status == VF_OK)
        return format->commit(state, -3.5, 4.25, 0.125, 1.5);
    format->discard(state);
    return status;
}

static void must_write(const map_info *info, const char *path)
{
    vf_status status = write_map(info, path);
    if (status != VF_OK)
        fail_msg("%s: %s", vf_status_name(status), vf_context_message(ctx));
}

/* Checks and forgets an error: its status, and that its message begins with the path and has `part` in it. */
static void expect_error(vf_status status, vf_status expected, const char *path, const char *part)
{
    const char *message = vf_context_message(ctx);
    if (status != expected || strncmp(message, path, strlen(path)) != 0 || !strstr(message, part))
        fail_msg("%s: got %s, '%s'", path, vf_status_name(status), message);
    vf_context_clear_error(ctx);
}

/* How many files lie in the directory, hidden ones and half-written ones too. */
static int files_left(void)
{
    char command[PATH_SIZE + 32];
    snprintf(command, sizeof command, "ls -A '%s' | wc -l", directory);
    FILE *pipe = popen(command, "r");
    int n = -1;
    assert_int_equal(fscanf(pipe, "%d", &n), 1);
    pclose(pipe);
    return n;
}

static char *slurp(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    *bytes = (size_t)ftell(file);
    rewind(file);
    char *content = malloc(*bytes + 1);
    assert_non_null(content);
    assert_int_equal(fread(content, 1, *bytes, file), *bytes);
    content[*bytes] = '\0';
    fclose(file);
    return content;
}

static int set_up(void **state)
{
    (void)state;
    const char *parent = getenv("TMPDIR");
    snprintf(directory, sizeof directory, "%s/test_map_files.XXXXXX", parent ? parent : "/tmp");
    return !mkdtemp(directory) || vf_context_create(&ctx) != VF_OK || vf_context_set_threads(ctx, 3) != VF_OK;
}

static int tear_down(void **state)
{
    (void)state;
    vf_context_destroy(ctx);
    return rmdir(directory);
}

/* One point; axes of length one; more points than a chunk or a block of text; and steps of different lengths. */
static const vf_grid grids[] = {
    {{0, 0, 0}, {1, 1, 1}, {1, 1, 1}},
    {{-1.5, 2.5, -30}, {0.5, 0.25, 0.75}, {1, 7, 5}},
    {{-10, 0, 10}, {0.5, 0.5, 0.5}, {5, 1, 7}},
    {{3, -4, 6}, {1, 0.5, 2}, {7, 5, 1}},
    {{-12.5, -8.25, 100}, {0.5, 0.75, 1.25}, {13, 11, 6}},
    {{-7, 3.5, 0.5}, {0.5, 0.5, 0.5}, {2, 3, 70}},
    {{-27 * 0.123456789, 1003 * 0.0987654321, 0}, {0.123456789, 0.0987654321, 0.5}, {4, 120, 5}},
    {{-20, -20, -20}, {0.4, 0.4, 0.4}, {67, 41, 35}},
};
enum { GRIDS = sizeof grids / sizeof *grids };

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

/* Unpacks with zlib, which must find a single member with a right checksum and length, and nothing after it. */
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

static int32_t word(const char *file, int number) /* from 1, as the format's description counts them */
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

/* An origin that is no whole number of steps goes to ORIGIN, and never to both; CCP4 files cannot hold it. */
static void mrc_position_between_steps(void **state)
{
    (void)state;
    char path[PATH_SIZE];
    size_t bytes;
    const vf_grid cases[] = {
        {{-1, 2, 3.1}, {0.5, 0.5, 0.5}, {3, 4, 5}},    /* between steps along one axis */
        {{-1, 2, 3.0001}, {0.5, 0.5, 0.5}, {3, 4, 5}}, /* by 2e-4 steps */
        {{-1, 2, 30.5},
         {0.5, 0.5, 0.5},
         {3, 4, 5}}, /* whole, but 61 steps away from a map of 5: ChimeraX would not believe it */
        {{0, 0, 1e200}, {1, 1, 1e190}, {3, 4, 5}}, /* whole, but not in 32 bits */
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
        expect_error(write_map(&info, path), VF_ERR_UNSUPPORTED, path, "write .mrc");
    }
    const vf_grid nearly = {{-1, 2, 3.000001}, {0.5, 0.5, 0.5}, {3, 4, 5}}; /* a whole step but for rounding */
    map_info info = describe(nearly, VF_F32);
    path_of("map.map", path);
    must_write(&info, path);
    unlink(path);
    assert_int_equal(files_left(), 0);
}

/* ---- cube ---- */

static const double bohr = 0.529177210544; /* CODATA 2022, angstrom */

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
        assert_true(number == 0 && charge == atom_charge[atom]);
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

/* ---- all formats ---- */

static const char *const all_names[] = {"map.dx", "map.dx.gz", "map.mrc", "map.cube", "map.h5"};
enum { ALL = sizeof all_names / sizeof *all_names };

/* The bytes do not depend on the number of threads or on the pieces. The map has half a million values, so that it
 * takes many blocks and chunks, which the threads must put in order. */
static void same_bytes_whatever_the_threads_and_pieces(void **state)
{
    (void)state;
    char path[PATH_SIZE];
    const vf_grid grid = {{0, 0, 0}, {1, 1, 1}, {90, 80, 70}};
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

/* Puts one value into an otherwise good map, at (2, 1, 3); returns what writing it gave. */
static vf_status write_with(const char *path, vf_dtype type, double bad)
{
    const vf_grid grid = {{0, 0, 0}, {1, 1, 1}, {4, 3, 5}};
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
            expect_error(write_with(path, (vf_dtype)type, NAN), VF_ERR_OUTPUT, path, "(2, 1, 3) is nan");
            expect_error(write_with(path, (vf_dtype)type, INFINITY), VF_ERR_OUTPUT, path, "(2, 1, 3) is inf");
            expect_error(write_with(path, (vf_dtype)type, -INFINITY), VF_ERR_OUTPUT, path, "(2, 1, 3) is -inf");
        }
        assert_int_equal(files_left(), 0);
    }
    path_of("map.mrc", path);
    expect_error(write_with(path, VF_F64, -1e39), VF_ERR_OUTPUT, path, "(2, 1, 3) is -1e+39"); /* not in a float */
    path_of("map.cube", path);
    expect_error(write_with(path, VF_F64, 1e120), VF_ERR_OUTPUT, path, "(2, 1, 3) is 1e+120"); /* not in E13.5 */
    assert_int_equal(files_left(), 0);
}

/* What needs three digits in the exponent: zero in a cube file, a token of 19 characters in a DX file. */
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
    assert_int_equal(zeros, 60); /* all of it: -1.5e-120 too */
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
    const vf_grid grid = {{0, 0, 0}, {1, 1, 1}, {4, 3, 5}};
    const float values[60] = {0};
    for (int f = 0; f < ALL; f++) {
        map_info info = describe(grid, VF_F32);
        const map_format *format;
        void *map;
        path_of(all_names[f], path);
        assert_int_equal(map_format_for(ctx, path, &format), VF_OK);
        assert_int_equal(format->begin(ctx, path, &info, &map), VF_OK);
        assert_int_equal(format->write(map, 0, 2, values), VF_OK);
        expect_error(format->write(map, 0, 1, values), VF_ERR_INTERNAL, path, "instead of layer 2");
        expect_error(format->write(map, 3, 1, values), VF_ERR_INTERNAL, path, "instead of layer 2");
        expect_error(format->write(map, 2, 4, values), VF_ERR_INTERNAL, path, "instead of layer 2");
        expect_error(format->write(map, 2, 0, values), VF_ERR_INTERNAL, path, "instead of layer 2");
        expect_error(format->commit(map, 0, 0, 0, 0), VF_ERR_INTERNAL, path, "ended at layer 2");
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
    const vf_grid grid = {{0, 0, 0}, {1, 1, 1}, {2048, 1024, 1024}}; /* 2^31 */
    for (int f = 0; f < 3; f++) {
        map_info info = describe(grid, VF_F32);
        const map_format *format;
        void *map;
        path_of(names[f], path);
        assert_int_equal(map_format_for(ctx, path, &format), VF_OK);
        expect_error(format->begin(ctx, path, &info, &map), VF_ERR_UNSUPPORTED, path, "write .h5 or .mrc");
        assert_null(map);
    }
    map_info bad = describe((vf_grid){{0, 0, 0}, {1, NAN, 1}, {2, 2, 2}}, VF_F32);
    for (int f = 0; f < ALL; f++) {
        path_of(all_names[f], path);
        expect_error(write_map(&bad, path), VF_ERR_INTERNAL, path, "grid");
    }
    assert_int_equal(files_left(), 0);
}

/* A disk that fills up: the largest file the process may write is smaller than the map. */
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
            expect_error(status, VF_ERR_OUTPUT, path, "File too large");
            assert_int_equal(files_left(), 0);
        }
    for (int f = 0; f < ALL; f++) { /* and all is well afterwards */
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
        expect_error(write_map(&info, path), VF_ERR_OUTPUT, path, "cannot");
        unlink(path);
        snprintf(path, sizeof path, "%.200s/missing/%s", directory, all_names[f]);
        expect_error(write_map(&info, path), VF_ERR_OUTPUT, path, "No such file");
    }
}

/* Copies all of a pipe into a file, in another process. */
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

/* Into a pipe the header of an MRC file cannot be written again: it says that the statistics are not known. */
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
            expect_error(status, VF_ERR_ARGUMENT, cases[c].path, ".dx.gz .dx .mrc .ccp4 .map .cube .cub .h5 .hdf5");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dx_holds_the_map),
        cmocka_unit_test(dx_gz_holds_the_same_text),
        cmocka_unit_test(mrc_holds_the_map),
        cmocka_unit_test(mrc_position_between_steps),
        cmocka_unit_test(cube_holds_the_map),
        cmocka_unit_test(h5_holds_the_map),
        cmocka_unit_test(same_bytes_whatever_the_threads_and_pieces),
        cmocka_unit_test(values_that_no_file_can_hold),
        cmocka_unit_test(doubles_too_small_for_a_float),
        cmocka_unit_test(layers_out_of_order),
        cmocka_unit_test(too_many_points),
        cmocka_unit_test(no_room),
        cmocka_unit_test(full_device),
        cmocka_unit_test(mrc_into_a_pipe),
        cmocka_unit_test(names_and_formats),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
