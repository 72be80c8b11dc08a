/* Maps read back: files of our writers, files of other programs, and invalid files. */
#include <zlib.h>

#include "map_fixture.h"
#include "maps/read_map.h"
#include "random_fixture.h"
#include "voxfield/hdf5_io.h"

static char warnings[1024];

static void keep_warning(void *user, vf_log_level level, const char *text)
{
    (void)user;
    (void)level;
    strncat(warnings, text, sizeof warnings - strlen(warnings) - 1);
}

static vf_status read_quietly(const char *path, const char *unit, loaded_map *map)
{
    warnings[0] = '\0';
    vf_context_set_log(ctx, keep_warning, NULL);
    vf_status status = read_map(ctx, path, unit, map);
    vf_context_set_log(ctx, NULL, NULL);
    return status;
}

static loaded_map must_read(const char *path, const char *unit)
{
    loaded_map map;
    if (read_quietly(path, unit, &map) != VF_OK)
        fail_msg("%s", vf_context_message(ctx));
    return map;
}

static double value_of(const loaded_map *map, int64_t i, int64_t j, int64_t k)
{
    const int64_t *n = map->grid.counts, v = (k * n[1] + j) * n[0] + i;
    return map->type == VF_F32 ? (double)((float *)map->values)[v] : ((double *)map->values)[v];
}

/* ---- files of write_map ---- */

/* DX: 12 digits of doubles are off by half a unit, 5e-12. 9 digits of a float are off by 5e-9, but the nearest float
 * is the original. */
static void check_values(const loaded_map *map, const map_info *info, bool exact)
{
    const int64_t *n = info->grid.counts;
    for (int64_t k = 0; k < n[2]; k++)
        for (int64_t j = 0; j < n[1]; j++)
            for (int64_t i = 0; i < n[0]; i++) {
                const double found = value_of(map, i, j, k);
                const double wanted = info->type == VF_F32 ? (double)sample(i, j, k) : sample_double(i, j, k);
                const float f = (float)found, w = (float)wanted;
                bool same = info->type == VF_F32 ? memcmp(&f, &w, sizeof f) == 0
                                                 : fabs(found - wanted) <= (exact ? 0 : 5e-12 * fabs(wanted));
                if (!same)
                    fail_msg("(%d, %d, %d): %.17g, not %.17g", (int)i, (int)j, (int)k, found, wanted);
            }
}

static void written_maps_read_back(void **state)
{
    (void)state;
    static const char *const names[] = {"map.dx", "map.dx.gz", "map.h5"};
    char path[PATH_SIZE];
    for (int name = 0; name < 3; name++)
        for (int g = 0; g < GRIDS; g++)
            for (int type = VF_F32; type <= VF_F64; type++) {
                map_info info = describe(grids[g], (vf_dtype)type);
                path_of(names[name], path);
                must_write(&info, path);
                loaded_map map = must_read(path, "kT/e");
                assert_string_equal(warnings, "");
                assert_string_equal(map.unit, "kT/e");
                assert_int_equal(map.type, name < 2 ? VF_F64 : type);
                assert_memory_equal(map.grid.counts, info.grid.counts, sizeof info.grid.counts);
                for (int a = 0; a < 3; a++) {
                    const double slack = name < 2 ? 5e-12 : 0; /* 12 digits */
                    assert_true(fabs(map.grid.origin[a] - info.grid.origin[a]) <= slack * fabs(info.grid.origin[a]));
                    assert_true(fabs(map.grid.spacing[a] - info.grid.spacing[a]) <= slack * info.grid.spacing[a]);
                }
                check_values(&map, &info, name == 2);
                assert_int_equal(check_map_grid(ctx, &map, &info.grid), VF_OK);
                assert_true(map.unit_constant == 560.459343 && map.temperature == 298.15 && map.dielectric == 78.5 &&
                            map.r_min == 0.125 && !map.distance_dielectric);
                assert_string_equal(map.molecule, info.molecule->digest);
                map_free(&map);
                expect_file_error(read_map(ctx, path, "V", &map), VF_ERR_INPUT, path, "is in kT/e, not in V");
                assert_null(map.values);
                unlink(path);
            }
    for (int name = 0; name < 3; name++) {
        map_info info = describe(grids[1], VF_F32);
        info.distance_dielectric = true;
        path_of(names[name], path);
        must_write(&info, path);
        loaded_map map = must_read(path, NULL);
        assert_true(map.distance_dielectric && map.dielectric == 78.5 && map.r_min == 0.125);
        map_free(&map);
        unlink(path);
    }
}

/* The cell of a periodic map, in the format that stores any cell; an invalid one is rejected. */
static void cells_read_back(void **state)
{
    (void)state;
    const vf_cell cells[] = {
        {.kind = VF_CELL_NONE},
        {.kind = VF_CELL_ORTHORHOMBIC, .vectors = {{3.1, 0, 0}, {0, 4.2, 0}, {0, 0, 5.3}}},
        {.kind = VF_CELL_TRICLINIC, .vectors = {{3.1, 0, 0}, {0.5, 4.2, 0}, {-0.7, 1, 5.3}}},
    };
    char path[PATH_SIZE];
    path_of("map.h5", path);
    for (int c = 0; c < 3; c++) {
        map_info info = describe(grids[1], VF_F32);
        info.grid.cell = cells[c];
        must_write(&info, path);
        loaded_map map = must_read(path, NULL);
        assert_int_equal(map.grid.cell.kind, cells[c].kind);
        assert_memory_equal(map.grid.cell.vectors, cells[c].vectors, sizeof cells[c].vectors);
        map_free(&map);
    }
    loaded_map map;
    vf_h5 *file;
    const double flat[9] = {1, 0, 0, 1, 0, 0, 0, 0, 1};
    const int64_t dims[3] = {1, 1, 1};
    assert_int_equal(vf_h5_create(ctx, path, &file), VF_OK);
    assert_int_equal(vf_h5_dataset_create(file, "potential", VF_F32, 3, dims, dims, 0), VF_OK);
    assert_int_equal(vf_h5_attribute_text(file, "/", "format", "voxfield map"), VF_OK);
    assert_int_equal(vf_h5_attribute_integers(file, "/", "format_version", (int64_t[]){1}, 1), VF_OK);
    assert_int_equal(vf_h5_attribute_doubles(file, "potential", "origin", flat, 3), VF_OK);
    assert_int_equal(vf_h5_attribute_doubles(file, "potential", "spacing", (double[]){1, 1, 1}, 3), VF_OK);
    assert_int_equal(vf_h5_attribute_integers(file, "potential", "counts", dims, 3), VF_OK);
    assert_int_equal(vf_h5_attribute_doubles(file, "potential", "cell", flat, 9), VF_OK);
    assert_int_equal(vf_h5_commit(&file), VF_OK);
    expect_file_error(read_map(ctx, path, NULL, &map), VF_ERR_INPUT, path, "right-handed cell");
    unlink(path);
}

/* The contents that a map declares: a potential with a number of ions; or something that cannot be used to place
 * ions, with neither a unit nor constants in its header. */
static void quantities(void **state)
{
    (void)state;
    static const char *const names[] = {"map.dx", "map.dx.gz", "map.h5"};
    static const struct {
        const char *quantity, *unit, *refusals;
        int64_t ions;
    } cases[] = {
        {"electrostatic potential", "kT/e", NULL, 0},
        {"electrostatic potential with 1 ion", "V", NULL, 1},
        {"electrostatic potential with 1234567 ions", "kcal/mol/e", NULL, 1234567},
        {"what excludes ions: 0 nothing, 1 the solute, 2 an ion", "", "this is a mask (what excludes ions)", 0},
        {"standard deviation over frames of the electrostatic potential", "V", "a standard deviation", 0},
    };
    char path[PATH_SIZE];
    for (int name = 0; name < 3; name++)
        for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
            map_info info = describe(grids[1], VF_F32);
            info.quantity = cases[c].quantity;
            info.unit = cases[c].unit;
            path_of(names[name], path);
            must_write(&info, path);
            loaded_map map = {0};
            vf_status status = read_quietly(path, *info.unit ? info.unit : NULL, &map);
            if (cases[c].refusals) {
                expect_file_error(status, VF_ERR_INPUT, path, cases[c].refusals);
            } else {
                assert_int_equal(status, VF_OK);
                assert_string_equal(map.unit, info.unit);
                assert_string_equal(warnings, "");
                assert_int_equal(map.ions, cases[c].ions);
            }
            map_free(&map);
            unlink(path);
        }
}

/* ---- files of other programs ---- */

static void put_file(const char *path, const char *text, size_t bytes)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
}

static void put_gzip(const char *path, const char *text)
{
    gzFile file = gzopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(gzwrite(file, text, (unsigned)strlen(text)), strlen(text));
    assert_int_equal(gzclose(file), Z_OK);
}

#define HEAD                                                                                                           \
    "object 1 class gridpositions counts 1 2 3\norigin -1.5 2 0.25\ndelta 0.5 0 0\ndelta 0 0.5 0\ndelta 0 0 0.25\n"    \
    "object 2 class gridconnections counts 1 2 3\n"
#define ARRAY "object 3 class array type double rank 0 items 6 data follows\n"
#define FOOT                                                                                                           \
    "attribute \"dep\" string \"positions\"\nobject \"regular positions regular connections\" class field\n"           \
    "component \"positions\" value 1\ncomponent \"connections\" value 2\ncomponent \"data\" value 3\n"

/* Each holds the same map. `warning`: a part of the messages besides that on the unknown unit; NULL: none. */
static const struct {
    const char *text, *warning;
    vf_dtype type;
    const char *unit;
} accepted[] = {
    {HEAD ARRAY "1 2 3\n4 5 6\n" FOOT, NULL, VF_F64, ""},
    {HEAD ARRAY "1 2 3\n4 5 6\n", "the lines that usually follow", VF_F64, ""},
    {HEAD ARRAY "1 2 3\n4 5 6\n# the end\n", "the lines that usually follow", VF_F64, ""},
    {HEAD ARRAY "1\n2 3 4 5\n\n\t6e0 # no more\n" FOOT, NULL, VF_F64, ""},
    {"# electrostatic potential in V, really\n" HEAD "# and\n" ARRAY "1 2 3 4 5 6\n" FOOT, NULL, VF_F64, "V,"},
    {"#electrostatic potential in kT/e\r\n" HEAD ARRAY "1.0 +2 3.\r\n.4e1 50E-1 6\r\n" FOOT, NULL, VF_F64, "kT/e"},
    {"# electrostatic potential in V\n# electrostatic potential in kT/e\n" HEAD ARRAY "1 2 3 4 5 6\n" FOOT, NULL,
     VF_F64, "V"},
    {"\n" HEAD "object 3 class array type float rank 0 items 6 data follows\n1 2 3 4 5 6\n" FOOT, NULL, VF_F32, ""},
    {HEAD "object 3 class array type \"double\" rank 0 items 6 data follows\n1 2 3 4 5 6\n" FOOT, NULL, VF_F64, ""},
    {HEAD "attribute \"element type\" string \"cubes\"\nobject \"the data\" class array rank 0 type float items 6\n"
          "data follows\n1 2 3 4 5 6\nend\n",
     NULL, VF_F32, ""},
    {"object 1 class gridpositions counts 1 2 3 # here\n#\norigin -1.5 2 0.25\ndelta 0.5 0 -0\ndelta 0 0.5 0.0\n"
     "delta 0 0e5 0.25\n" ARRAY "1 2 3 4 5 6\n" FOOT,
     NULL, VF_F64, ""}, /* no connections */
};

/* The recorded settings of a map, if present; invalid numbers or digests are ignored. */
static void stated_constants(void **state)
{
    (void)state;
#define DIGEST "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
    static const struct {
        const char *comments, *molecule;
        double constant, temperature, dielectric, r_min;
        bool of_distance;
    } cases[] = {
        {"# SHA-256: " DIGEST "\r\n# V = C sum q/(eps r), C = 14.4 V Angstrom/e, T = 300 K\r\n"
         "# eps = 4 r/Angstrom, r at least 0.5 Angstrom\r\n",
         DIGEST, 14.4, 300, 4, 0.5, true},
        {"# SHA-256: \033[31m3456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\n"
         "# V = C sum q/(eps r), C = \n# eps = x, r at least\n",
         "", NAN, NAN, NAN, NAN, false},
        {"# SHA-256: " DIGEST "0\n# V = C sum q/(eps r), C = 1\n# eps = 2\n", "", 1, NAN, 2, NAN, false},
        {"# SHA-256:\n# V = C sum q/(eps r), C = 1e999 V Angstrom/e, T = K\n# eps = 80, r at least -\n", "", NAN, NAN,
         80, NAN, false},
    };
    char path[PATH_SIZE], text[2048];
    path_of("said.dx", path);
    for (size_t c = 0; c < 2 * (sizeof cases / sizeof *cases); c++) {
        const size_t which = c / 2;
        const bool ours = c % 2; /* comments of files that do not begin like cionize's are ignored */
        snprintf(text, sizeof text, "# %s in V\n%s" HEAD ARRAY "1 2 3 4 5 6\n" FOOT,
                 ours ? "electrostatic potential" : "something", cases[which].comments);
        put_file(path, text, strlen(text));
        loaded_map map = must_read(path, "V");
        const double found[] = {map.unit_constant, map.temperature, map.dielectric, map.r_min};
        const double wanted[] = {cases[which].constant, cases[which].temperature, cases[which].dielectric,
                                 cases[which].r_min};
        for (int i = 0; i < 4; i++)
            if (ours && !isnan(wanted[i]))
                assert_true(found[i] == wanted[i]);
            else
                assert_true(isnan(found[i]));
        assert_string_equal(map.molecule, ours ? cases[which].molecule : "");
        assert_int_equal(map.distance_dielectric, ours && cases[which].of_distance);
        map_free(&map);
    }
    unlink(path);
}

static void other_programs_maps(void **state)
{
    (void)state;
    static const vf_grid grid = {.origin = {-1.5, 2, 0.25}, .spacing = {0.5, 0.5, 0.25}, .counts = {1, 2, 3}};
    char path[PATH_SIZE];
    for (size_t c = 0; c < 2 * (sizeof accepted / sizeof *accepted); c++) {
        const size_t which = c / 2;
        path_of(c % 2 ? "other.dx.gz" : "other.DX", path);
        if (c % 2)
            put_gzip(path, accepted[which].text);
        else
            put_file(path, accepted[which].text, strlen(accepted[which].text));
        loaded_map map = must_read(path, NULL);
        assert_int_equal(map.type, accepted[which].type);
        assert_string_equal(map.unit, accepted[which].unit);
        assert_memory_equal(&map.grid, &grid, sizeof grid);
        for (int j = 0; j < 2; j++)
            for (int k = 0; k < 3; k++)
                assert_true(value_of(&map, 0, j, k) == 1 + 3 * j + k);
        if (accepted[which].warning ? !strstr(warnings, accepted[which].warning) : *warnings != '\0')
            fail_msg("%zu: '%s'", which, warnings);
        map_free(&map);
        if (!*accepted[which].unit) { /* an unknown unit is accepted, with a warning */
            map = must_read(path, "e/A");
            assert_string_equal(map.unit, "e/A");
            assert_non_null(strstr(warnings, "assuming e/A"));
            map_free(&map);
        }
        unlink(path);
    }
}

#define SIX "1 2 3 4 5 6\n"

static const struct {
    const char *text, *part;
} refusals[] = {
    {"", "ends before the data"},
    {"# electrostatic potential in V", "ends before the data"},
    {HEAD, "ends before the data"},
    {HEAD "object 3 class array type double rank 0 items 6", ":7: the file ends before data follows"},
    {"ATOM 1 2 3\n", "other.dx:1: unexpected 'ATOM'"},
    {"# today\n# what excludes ions: 0 nothing, 1 the solute, 2 an ion in 1\n" HEAD ARRAY SIX, ":2: this is a mask"},
    {"# electrostatic potential in a_unit_that_is_as_long_as_the_room\n" HEAD ARRAY SIX,
     "unit in the comment is too long (34"},
    {"# electrostatic potential in kT\033[31m/e\n" HEAD ARRAY SIX, "unit in the comment has characters that are not"},
    {HEAD ARRAY "1 2 3 4 5\n" FOOT, ":9: the data end after 5 values instead of 6"},
    {HEAD ARRAY "1 2 3 4 5\n", "the data end after 5 values instead of 6"},
    {HEAD ARRAY SIX "7 8\n" FOOT, "there are 8 values, but only 6 are expected"},
    {HEAD ARRAY SIX "7", "there are 7 values, but only 6 are expected"},
    {HEAD ARRAY "1 2 3 4 5 6", ":8: the file ends right after its last value"}, /* 6, or a truncated 6.5 */
    {HEAD ARRAY "1 2 3\n4 nan 6\n" FOOT, ":9: the value at grid point (0, 1, 1): 'nan' is not a finite number"},
    {HEAD ARRAY "1 2 -inf\n4 5 6\n" FOOT, ":8: the value at grid point (0, 0, 2): '-inf' is not a finite number"},
    {HEAD ARRAY "1 2 1e999\n4 5 6\n" FOOT, "grid point (0, 0, 2): '1e999'"},
    {HEAD ARRAY "1,5 2 3 4 5 6\n" FOOT, "(0, 0, 0): '1,5' has a decimal comma"},
    {HEAD ARRAY "1 2 3\n# now\n4 5 6\n" FOOT, "(0, 1, 0): '#'"},
    {HEAD ARRAY "1 2 3 4 5 0x6\n" FOOT, "(0, 1, 2): '0x6'"},
    {HEAD ARRAY SIX "junk\n", "unexpected 'junk' after the last value"},
    {HEAD ARRAY SIX "nan\n", "unexpected 'nan' after the last value"},
    {HEAD ARRAY SIX FOOT "object 4 class array type double rank 0 items 6 data follows\n" SIX, "second array"},
    {HEAD "object 3 class array type float rank 0 items 6 data follows\n1 2 3 4 5 1e39\n" FOOT,
     "range for the file's type, float"},
    {HEAD "object 3 class array type int rank 0 items 6 data follows\n" SIX, "of values 'int'"},
    {HEAD "object 3 class array type double rank 1 shape 3 items 6 data follows\n" SIX, "'shape'"},
    {HEAD "object 3 class array type double rank 1 items 6 data follows\n" SIX, "rank 1"},
    {HEAD "object 3 class array type float rank 0 items 6 lsb ieee data follows\n" SIX, "binary (lsb)"},
    {HEAD "object 3 class array type double rank 0 items 6 data file x.bin\n", "found 'file' instead of 'follows'"},
    {HEAD "object 3 class array type double rank 0 items 7 data follows\n" SIX "7\n",
     "7 items, but the grid has 1 x 2 x 3 = 6 points"},
    {HEAD "object 3 class array type double rank 0 data follows\n" SIX, "0 items"},
    {HEAD "object 3 class array type double rank 0 items 6.5 data follows\n" SIX, "6.5 is not an integer"},
    {HEAD "object 3 class constantarray type double\n", "class 'constantarray'"},
    {ARRAY SIX, "'class gridpositions counts' is missing before"},
    {"object 1 class gridpositions counts 1 2 3\ndelta 1 0 0\ndelta 0 1 0\ndelta 0 0 1\n" ARRAY SIX,
     "'origin' is missing before"},
    {"object 1 class gridpositions counts 1 2 3\norigin 0 0 0\ndelta 1 0 0\ndelta 0 1 0\n" ARRAY SIX,
     "'delta' lines are missing before"},
    {"object 1 class gridpositions counts 1 2 3\norigin 0 0 0\ndelta 1 0 0\ndelta 0.1 1 0\n",
     "delta 2 has a component along x"},
    {"object 1 class gridpositions counts 1 2 3\norigin 0 0 0\ndelta 0 0 1\n", "delta 1 has a component along z"},
    {"object 1 class gridpositions counts 1 2 3\norigin 0 0 0\ndelta -1 0 0\n", "delta 1 is -1"},
    {"object 1 class gridpositions counts 1 2 3\norigin 0 0 0\ndelta 0 0 0\n", "delta 1 is 0"},
    {HEAD "delta 0 0 1\n", "fourth delta"},
    {"object 1 class gridpositions counts 1 2 3\norigin 0 nan 0\n", "origin: 'nan' is not a finite number"},
    {"object 1 class gridpositions counts 0 2 3\n", "counts: 0 is not an integer"},
    {"object 1 class gridpositions counts -1 2 3\n", "counts: -1 is not an integer"},
    {"object 1 class gridpositions counts 1 2\norigin 0 0 0\n", ":2: counts: 'origin' is not a number"},
    {"object 1 class gridpositions 1 2 3\n", "found '1' instead of 'counts'"},
    {HEAD "object 2 class gridconnections counts 3 2 1\n" ARRAY SIX, "gridconnections has 3 x 2 x 1 points"},
    {"object 1 class gridpositions counts 4000000 4000000 4000000\norigin 0 0 0\ndelta 1 0 0\ndelta 0 1 0\ndelta 0 0 "
     "1\n"
     "object 3 class array type double rank 0 items 4000000 data follows\n",
     "too large"},
    {"object 1 class gridpositions counts 40000 40000 40000\norigin 0 0 0\ndelta 1 0 0\ndelta 0 1 0\ndelta 0 0 1\n"
     "object 3 class array type double rank 0 items 64000000000000 data follows\n" SIX,
     "too small"},
    {"object 1 class gridpositions counts 1 2 3\norigin 0 0 0\ndelta 1 0 0\ndelta 0 1e-300 0\ndelta 0 0 1\n" ARRAY SIX,
     "the map's step along y is 1e-300 angstrom; expected 1e-06 to 1e+06"},
    {"object 1 class gridpositions counts 1 2 3\norigin 0 0 1e300\ndelta 1 0 0\ndelta 0 1 0\ndelta 0 0 1\n" ARRAY SIX,
     "the map's origin along z is 1e+300 angstrom"},
};

static void damaged_dx(void **state)
{
    (void)state;
    char path[PATH_SIZE];
    loaded_map map;
    for (size_t c = 0; c < sizeof refusals / sizeof *refusals; c++) {
        path_of("other.dx", path);
        put_file(path, refusals[c].text, strlen(refusals[c].text));
        expect_file_error(read_quietly(path, NULL, &map), VF_ERR_INPUT, path, refusals[c].part);
        assert_null(map.values);
        unlink(path);
    }
    path_of("none.dx", path);
    expect_file_error(read_map(ctx, path, NULL, &map), VF_ERR_INPUT, path, "cannot open");
    path_of("map.png", path);
    expect_file_error(read_map(ctx, path, NULL, &map), VF_ERR_ARGUMENT, path, ".dx, .mrc, .ccp4, .map or .cube");
    expect_file_error(read_map(ctx, directory, NULL, &map), VF_ERR_ARGUMENT, directory, ".dx");
}

/* A map truncated anywhere is rejected; if only its footer is truncated, there is a warning. A truncated compressed
 * map is always rejected.
 */
static void cut_maps(void **state)
{
    (void)state;
    char path[PATH_SIZE];
    size_t bytes;
    loaded_map map;
    map_info info = describe(grids[1], VF_F32);
    path_of("map.dx", path);
    must_write(&info, path);
    char *text = slurp(path, &bytes);
    const size_t data_end = (size_t)(strstr(text, "attribute") - text) - 1;
    for (size_t cut = 0; cut < bytes; cut++) {
        char *part = malloc(cut + 1);
        memcpy(part, text, cut);
        put_file(path, part, cut);
        vf_status status = read_quietly(path, NULL, &map);
        free(part);
        /* "attr" is not part of a footer, "attribute" is. */
        const bool whole = cut == data_end + 1 || cut >= data_end + 1 + strlen("attribute");
        if (status != (whole ? VF_OK : VF_ERR_INPUT))
            fail_msg("cut at %zu of %zu: %s", cut, bytes, vf_context_message(ctx));
        map_free(&map);
        vf_context_clear_error(ctx);
    }
    free(text);
    unlink(path);

    path_of("map.dx.gz", path);
    must_write(&info, path);
    text = slurp(path, &bytes);
    for (size_t cut = 1; cut < bytes; cut++) {
        put_file(path, text, cut);
        expect_file_error(read_quietly(path, NULL, &map), VF_ERR_INPUT, path, "");
    }
    for (size_t at = 20; at < bytes; at += 7) { /* and one with a flipped bit */
        text[at] ^= 16;
        put_file(path, text, bytes);
        expect_file_error(read_quietly(path, NULL, &map), VF_ERR_INPUT, path, "");
        text[at] ^= 16;
    }
    free(text);
    unlink(path);
}

/* Numbers and comments across the ends of the reader's buffer, of 4 MiB: every number is found, with any widths. */
static void long_files(void **state)
{
    (void)state;
    enum { NX = 37, NY = 120, NZ = 150, POINTS = NX * NY * NZ, WIDTH = 24 };
    char path[PATH_SIZE];
    char *text = malloc(1024 + (size_t)POINTS * WIDTH);
    assert_non_null(text);
    size_t used = (size_t)sprintf(text,
                                  "object 1 class gridpositions counts %d %d %d\norigin 0 0 0\ndelta 1 0 0\n"
                                  "delta 0 1 0\ndelta 0 0 1\nobject 3 class array type double rank 0 items %d data "
                                  "follows\n",
                                  NX, NY, NZ, POINTS);
    for (int v = 0; v < POINTS; v++)
        used += (size_t)sprintf(text + used, "%d.%0*d%c", v, (int)integer_between(1, 9), 0, " \n"[integer_below(2)]);
    path_of("long.dx", path);
    put_file(path, text, used);
    loaded_map map = must_read(path, NULL);
    for (int i = 0; i < NX; i++)
        for (int j = 0; j < NY; j++)
            for (int k = 0; k < NZ; k++)
                if (value_of(&map, i, j, k) != (i * NY + j) * NZ + k)
                    fail_msg("(%d, %d, %d): %.17g", i, j, k, value_of(&map, i, j, k));
    map_free(&map);

    memset(text, 'x', used); /* not a word at all */
    memcpy(text, "origin ", 7);
    put_file(path, text, used);
    expect_file_error(read_map(ctx, path, NULL, &map), VF_ERR_INPUT, path, "line is too long");
    free(text);
    unlink(path);
}

TEST_MAIN(set_up, close_folder, cmocka_unit_test(written_maps_read_back), cmocka_unit_test(cells_read_back),
          cmocka_unit_test(quantities), cmocka_unit_test(other_programs_maps), cmocka_unit_test(stated_constants),
          cmocka_unit_test(damaged_dx), cmocka_unit_test(cut_maps), cmocka_unit_test(long_files))
