/* AMBER's NetCDF files: trajectories and restarts in all classic forms and as HDF5, read back exactly in any order; truncated and
 * damaged files, and files that are not AMBER's.
 *
 * usage: test_read_netcdf [cpu [TEST...]]
 */
#include "device_fixture.h"

#include "molecule/molecule.h"
#include "voxfield/append.h"
#include "voxfield/hdf5_io.h"
#include "xdr_fixture.h"

enum { FRAMES = 5, MOST_ATOMS = 40 };
enum { BYTE = 1, CHAR = 2, SHORT = 3, INT = 4, FLOAT = 5, DOUBLE = 6 };
static char log_text[4096];
static double expected[FRAMES][MOST_ATOMS][3], cells[FRAMES][6];

static void keep_log(void *user, vf_log_level level, const char *text)
{
    (void)user;
    (void)level;
    vf_append(log_text, sizeof log_text, "%s\n", text);
}

/* What a file in the classic format has. */
typedef struct nc_kind {
    int version;  /* 1, 2, 5 */
    int type;     /* of coordinates: FLOAT or DOUBLE */
    int cell;     /* type of cells; 0: none */
    bool restart; /* one frame, without a dimension of frames */
    bool fixed;   /* the dimension of frames has a length */
    bool alone;   /* coordinates are the only variable of records */
    int32_t atoms;
    int64_t records; /* in the header */
    const char *conventions, *units;
    double scale; /* scale_factor of coordinates; 0: no attribute */
} nc_kind;

static int width_of(int type)
{
    return type == FLOAT || type == INT ? 4 : type == DOUBLE ? 8 : type == SHORT ? 2 : 1;
}

static void put_count(xdr_bytes *b, const nc_kind *k, int64_t value)
{
    put_unsigned(b, (uint64_t)value, k->version == 5 ? 8 : 4);
}

static void put_padded(xdr_bytes *b, const char *text)
{
    for (; *text; text++)
        put_unsigned(b, (unsigned char)*text, 1);
    while (b->size % 4)
        put_unsigned(b, 0, 1);
}

static void put_name(xdr_bytes *b, const nc_kind *k, const char *name)
{
    put_count(b, k, (int64_t)strlen(name));
    put_padded(b, name);
}

static void put_text_attribute(xdr_bytes *b, const nc_kind *k, const char *name, const char *text)
{
    put_name(b, k, name);
    put_int(b, CHAR);
    put_name(b, k, text);
}

typedef struct nc_variable {
    const char *name;
    int type, rank, dims[3];
    int64_t bytes; /* in a record, filled up unless alone */
    size_t offset; /* where the header states its offset */
} nc_variable;

/* Dimensions: frame, spatial, atom, cell. A single record variable has no filling. Returns the offset of records (of the data). */
static size_t put_header(xdr_bytes *b, const nc_kind *k, nc_variable *v, int variables)
{
    put_padded(b, k->version == 1 ? "CDF\1" : k->version == 2 ? "CDF\2" : "CDF\5");
    put_unsigned(b, (uint64_t)k->records, k->version == 5 ? 8 : 4);
    put_int(b, 10);
    put_count(b, k, 4);
    static const char *const dims[4] = {"frame", "spatial", "atom", "cell_spatial"};
    const int64_t lengths[4] = {k->fixed ? FRAMES : 0, 3, k->atoms, 3};
    for (int i = 0; i < 4; i++) {
        put_name(b, k, dims[i]);
        put_count(b, k, lengths[i]);
    }
    put_int(b, 12);
    put_count(b, k, 2);
    put_text_attribute(b, k, "title", "a title");
    put_text_attribute(b, k, "Conventions", k->conventions ? k->conventions : "AMBER");
    put_int(b, 11);
    put_count(b, k, variables);
    for (int i = 0; i < variables; i++) {
        const bool coordinates = strcmp(v[i].name, "coordinates") == 0;
        put_name(b, k, v[i].name);
        put_count(b, k, v[i].rank);
        for (int d = 0; d < v[i].rank; d++)
            put_count(b, k, v[i].dims[d]);
        const int attributes = coordinates ? 1 + (k->scale != 0) : 0;
        put_int(b, attributes ? 12 : 0);
        put_count(b, k, attributes);
        if (coordinates)
            put_text_attribute(b, k, "units", k->units ? k->units : "angstrom");
        if (coordinates && k->scale != 0) {
            put_name(b, k, "scale_factor");
            put_int(b, DOUBLE);
            put_count(b, k, 1);
            put_real(b, k->scale, 8);
        }
        put_int(b, v[i].type);
        put_count(b, k, v[i].bytes);
        v[i].offset = b->size;
        put_unsigned(b, 0, k->version == 1 ? 4 : 8);
    }
    return b->size;
}

static void put_values(xdr_bytes *b, const nc_kind *k, const nc_variable *v, int frame)
{
    const size_t begin = b->size;
    const double scale = k->scale != 0 ? k->scale : 1;
    if (strcmp(v->name, "coordinates") == 0)
        for (int i = 0; i < 3 * k->atoms; i++) {
            const double value = uniform_between(-100, 100), stored = v->type == FLOAT ? (double)(float)value : value;
            put_real(b, value, width_of(v->type));
            expected[frame][i / 3][i % 3] = stored * scale;
        }
    else if (strncmp(v->name, "cell", 4) == 0)
        for (int i = 0; i < 3; i++) {
            const bool angles = strcmp(v->name, "cell_angles") == 0;
            const double value = (double)(float)uniform_between(60, 110);
            put_real(b, value, width_of(v->type));
            cells[frame][angles ? 3 + i : i] = value;
        }
    while ((int64_t)(b->size - begin) < v->bytes)
        put_unsigned(b, 0x5a, 1);
}

static xdr_bytes make_nc(const nc_kind *k)
{
    xdr_bytes b = {0};
    nc_variable v[6];
    int variables = 0;
    const int64_t of_atoms = 3 * (int64_t)k->atoms * width_of(k->type), of_cell = 3 * width_of(k->cell);
    v[variables++] = (nc_variable){.name = "spatial", .type = CHAR, .rank = 1, .dims = {1}, .bytes = 4};
    if (!k->restart && !k->alone)
        v[variables++] = (nc_variable){.name = "step", .type = SHORT, .rank = 1, .dims = {0}, .bytes = 4};
    if (k->cell)
        v[variables++] =
            k->restart
                ? (nc_variable){.name = "cell_lengths", .type = k->cell, .rank = 1, .dims = {3}, .bytes = of_cell}
                : (nc_variable){.name = "cell_lengths", .type = k->cell, .rank = 2, .dims = {0, 3}, .bytes = of_cell};
    v[variables++] =
        k->restart
            ? (nc_variable){.name = "coordinates", .type = k->type, .rank = 2, .dims = {2, 1}, .bytes = of_atoms}
            : (nc_variable){.name = "coordinates", .type = k->type, .rank = 3, .dims = {0, 2, 1}, .bytes = of_atoms};
    if (k->cell)
        v[variables++] =
            k->restart
                ? (nc_variable){.name = "cell_angles", .type = k->cell, .rank = 1, .dims = {3}, .bytes = of_cell}
                : (nc_variable){.name = "cell_angles", .type = k->cell, .rank = 2, .dims = {0, 3}, .bytes = of_cell};
    put_header(&b, k, v, variables);
    const int frames = k->restart ? 1 : FRAMES;
    int64_t at = (int64_t)b.size; /* variables without records come first, whole */
    for (int i = 0; i < variables; i++) {
        const bool whole = v[i].rank == 0 || v[i].dims[0] != 0;
        const int64_t bytes = whole ? v[i].bytes : k->fixed ? FRAMES * v[i].bytes : v[i].bytes;
        for (int byte = 0; byte < (k->version == 1 ? 4 : 8); byte++)
            b.at[v[i].offset + (size_t)byte] = (unsigned char)(at >> 8 * ((k->version == 1 ? 3 : 7) - byte));
        at += bytes;
    }
    for (int i = 0; i < variables; i++)
        if (v[i].dims[0] != 0)
            put_values(&b, k, &v[i], 0);
    if (k->fixed) /* the values of all frames, variable by variable */
        for (int i = 0; i < variables; i++)
            for (int f = 0; f < FRAMES && v[i].dims[0] == 0; f++)
                put_values(&b, k, &v[i], f);
    for (int f = 0; f < frames && !k->fixed && !k->restart; f++)
        for (int i = 0; i < variables; i++)
            if (v[i].dims[0] == 0)
                put_values(&b, k, &v[i], f);
    return b;
}

/* ---- checks ---- */

static trajectory *open_bytes(const xdr_bytes *b)
{
    trajectory *t;
    log_text[0] = '\0';
    if (trajectory_open(ctx, save_bytes(b->at, b->size), &t) != VF_OK)
        fail_msg("%s", vf_context_message(ctx));
    return t;
}

static void assert_no_open(const xdr_bytes *b, const char *why)
{
    trajectory *t = NULL;
    const char *path = save_bytes(b->at, b->size);
    const vf_status got = trajectory_open(ctx, path, &t);
    const char *message = vf_context_message(ctx);
    if (got != VF_ERR_INPUT || t || strncmp(message, path, strlen(path)) != 0 || !strstr(message, why))
        fail_msg("%s, not '%s': %s", vf_status_name(got), why, message);
    vf_context_clear_error(ctx);
}

/* Floats and doubles, times a scale: exact. */
static void check_frame(const trajectory *t, int64_t frame, bool cell)
{
    static double x[MOST_ATOMS], y[MOST_ATOMS], z[MOST_ATOMS];
    unit_cell found;
    for (int i = 0; i < MOST_ATOMS; i++)
        x[i] = y[i] = z[i] = (double)NAN;
    if (trajectory_read(t, frame, x, y, z) != VF_OK || trajectory_read_cell(t, frame, &found) != VF_OK)
        fail_msg("%s", vf_context_message(ctx));
    for (int64_t i = 0; i < trajectory_atoms(t); i++) {
        const double *want = expected[frame][i];
        if (!(x[i] == want[0] && y[i] == want[1] && z[i] == want[2]))
            fail_msg("frame %d, atom %d: %.17g %.17g %.17g", (int)frame, (int)i, x[i], y[i], z[i]);
    }
    assert_int_equal(found.state == UNIT_CELL_NONE, !cell);
    for (int i = 0; i < 6 && cell; i++)
        assert_true((i < 3 ? found.lengths[i] : found.angles[i - 3]) == cells[frame][i]);
}

static nc_kind random_nc(int number)
{
    static const int versions[] = {1, 2, 5};
    const bool restart = number % 4 == 1;
    return (nc_kind){.version = versions[number % 3],
                     .type = number & 1 ? DOUBLE : FLOAT,
                     .cell = number & 2 ? (number & 4 ? DOUBLE : FLOAT) : 0,
                     .restart = restart,
                     .fixed = number % 4 == 2,
                     .alone = number % 8 == 0 || number % 8 == 4, /* with number & 2 = 0: no cells */
                     .atoms = 1 + (int32_t)integer_below(MOST_ATOMS),
                     .records = restart || number % 4 == 2 ? 0
                                : number % 7 == 0          ? -1
                                                           : FRAMES,
                     .conventions = restart ? "AMBERRESTART" : NULL,
                     .scale = number % 5 == 0 ? 0.5 : 0};
}

static void reads_every_form(void **state)
{
    (void)state;
    for (int number = 0; number < 240; number++) {
        const nc_kind k = random_nc(number);
        xdr_bytes b = make_nc(&k);
        trajectory *t = open_bytes(&b);
        assert_string_equal(log_text, "");
        assert_int_equal(trajectory_frames(t), k.restart ? 1 : FRAMES);
        assert_int_equal(trajectory_atoms(t), k.atoms);
        for (int64_t f = trajectory_frames(t) - 1; f >= 0; f--)
            check_frame(t, f, k.cell != 0);
        trajectory_close(t);
        free(b.at);
    }
}

/* Ends the file after any byte. */
static void ignores_incomplete_frames(void **state)
{
    (void)state;
    const nc_kind k = {.version = 2, .type = FLOAT, .cell = DOUBLE, .atoms = 3, .records = FRAMES};
    xdr_bytes b = make_nc(&k);
    const size_t whole = b.size, record = 4 + 24 + 36 + 24, begin = whole - FRAMES * record;
    for (b.size = 8; b.size < whole; b.size++) {
        if (b.size < begin + record) {
            assert_no_open(&b, b.size < begin - 4 ? "header" : "no complete frame");
            continue;
        }
        trajectory *t = open_bytes(&b);
        const int64_t left = (int64_t)((b.size - begin) / record);
        assert_int_equal(trajectory_frames(t), left);
        assert_non_null(strstr(log_text, "the file ends within frame"));
        check_frame(t, left - 1, true);
        trajectory_close(t);
    }
    free(b.at);
}

static void rejects_other_files(void **state)
{
    (void)state;
    static const struct {
        nc_kind kind;
        const char *why;
    } files[] = {{{.version = 2, .type = FLOAT, .atoms = 3, .records = FRAMES, .conventions = "CF-1.6"}, "not AMBER's"},
                 {{.version = 2, .type = FLOAT, .atoms = 3, .records = FRAMES, .units = "nanometer"}, "other units"},
                 {{.version = 2, .type = INT, .atoms = 3, .records = FRAMES}, "of floats or doubles"},
                 {{.version = 2, .type = FLOAT, .atoms = 3, .records = 0}, "no frames"},
                 {{.version = 2, .type = FLOAT, .atoms = 3, .records = FRAMES, .scale = NAN}, "scale_factor"},
                 {{.version = 2, .type = FLOAT, .atoms = 3, .records = -2}, "negative number of records"}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        xdr_bytes b = make_nc(&files[i].kind);
        assert_no_open(&b, files[i].why);
        free(b.at);
    }
}

/* Any 4 bytes of the header replaced by numbers that lie: rejected, or read without harm. */
static void survives_damaged_headers(void **state)
{
    (void)state;
    static const int64_t lies[] = {-1, INT32_MIN, INT32_MAX, 0, 0x10000, 11};
    double x[MOST_ATOMS], y[MOST_ATOMS], z[MOST_ATOMS];
    int rejected = 0, tried = 0;
    for (int version = 1; version <= 5; version += version == 2 ? 3 : 1) {
        const nc_kind k = {.version = version, .type = FLOAT, .cell = FLOAT, .atoms = 3, .records = FRAMES};
        xdr_bytes b = make_nc(&k);
        const size_t header = b.size - FRAMES * (4 + 12 + 36 + 12);
        for (size_t at = 4; at < header; at += 4)
            for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
                xdr_bytes changed = {.at = malloc(b.size), .size = b.size};
                trajectory *t = NULL;
                assert_non_null(changed.at);
                memcpy(changed.at, b.at, b.size);
                set_int(&changed, at, lies[i]);
                vf_status status = trajectory_open(ctx, save_bytes(changed.at, changed.size), &t);
                assert_true(status == VF_OK || status == VF_ERR_INPUT);
                for (int64_t f = 0; status == VF_OK && f < trajectory_frames(t) && trajectory_atoms(t) <= MOST_ATOMS;
                     f++)
                    status = trajectory_read(t, f, x, y, z);
                assert_true(status == VF_OK || status == VF_ERR_INPUT);
                rejected += status != VF_OK;
                tried++;
                trajectory_close(t);
                vf_context_clear_error(ctx);
                free(changed.at);
            }
        free(b.at);
    }
    assert_true(2 * rejected > tried); /* names and texts may be anything, what remains is structure */
}

static void rejects_bad_numbers(void **state)
{
    (void)state;
    static const struct {
        int64_t bits;
        const char *why;
    } bad[] = {{0x7fc00000, "frame 2: y of atom 2 is NaN"},
               {0xff800000, "frame 2: y of atom 2 is infinite"},
               {0x7cf00000, "frame 2: y of atom 2 was never written"}}; /* NetCDF's value for that */
    double x[3], y[3], z[3];
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const nc_kind k = {.version = 1, .type = FLOAT, .alone = true, .atoms = 3, .records = FRAMES};
        xdr_bytes b = make_nc(&k);
        set_int(&b, b.size - 4 * 36 + 16, bad[i].bits);
        trajectory *t = open_bytes(&b);
        assert_int_equal(trajectory_read(t, 1, x, y, z), VF_ERR_INPUT);
        if (!strstr(vf_context_message(ctx), bad[i].why))
            fail_msg("%s", vf_context_message(ctx));
        vf_context_clear_error(ctx);
        check_frame(t, 2, false);
        trajectory_close(t);
        free(b.at);
    }
}

/* ---- HDF5 ---- */

static const char *make_hdf5(const char *conventions, vf_dtype type, bool cell, int64_t last)
{
    enum { ATOMS = 7 };
    static const char *path;
    static double values[FRAMES][ATOMS][3];
    vf_h5 *file;
    path = save_bytes("", 0);
    const int64_t dims[3] = {FRAMES, ATOMS, last}, chunk[3] = {1, ATOMS, last}, zero[3] = {0};
    const int64_t small[2] = {FRAMES, 3}, small_chunk[2] = {1, 3};
    for (int i = 0; i < FRAMES * ATOMS * 3; i++) {
        const double value = (double)(float)uniform_between(-100, 100);
        expected[i / 3 / ATOMS][i / 3 % ATOMS][i % 3] = value;
        values[i / 3 / ATOMS][i / 3 % ATOMS][i % 3] = value;
    }
    assert_int_equal(vf_h5_create(ctx, path, &file), VF_OK);
    assert_int_equal(vf_h5_dataset_create(file, "coordinates", type, 3, dims, chunk, 4), VF_OK);
    assert_int_equal(vf_h5_write(file, "coordinates", VF_F64, zero, dims, values), VF_OK);
    assert_int_equal(vf_h5_attribute_text(file, "coordinates", "units", "angstrom"), VF_OK);
    for (int part = 0; part < 2 && cell; part++) {
        const char *name = part ? "cell_angles" : "cell_lengths";
        double numbers[FRAMES][3];
        for (int i = 0; i < 3 * FRAMES; i++)
            cells[i / 3][3 * part + i % 3] = numbers[i / 3][i % 3] = uniform_between(60, 110);
        assert_int_equal(vf_h5_dataset_create(file, name, VF_F64, 2, small, small_chunk, 0), VF_OK);
        assert_int_equal(vf_h5_write(file, name, VF_F64, zero, small, numbers), VF_OK);
    }
    if (conventions)
        assert_int_equal(vf_h5_attribute_text(file, "/", "Conventions", conventions), VF_OK);
    assert_int_equal(vf_h5_commit(&file), VF_OK);
    return path;
}

static void reads_hdf5(void **state)
{
    (void)state;
    for (int number = 0; number < 4; number++) {
        trajectory *t;
        const char *path = make_hdf5("AMBER", number & 1 ? VF_F64 : VF_F32, number & 2, 3);
        if (trajectory_open(ctx, path, &t) != VF_OK)
            fail_msg("%s", vf_context_message(ctx));
        assert_int_equal(trajectory_frames(t), FRAMES);
        for (int f = FRAMES - 1; f >= 0; f--)
            check_frame(t, f, number & 2);
        trajectory_close(t);
    }
    static const struct {
        const char *conventions, *why;
        int64_t last;
    } bad[] = {{NULL, "not AMBER's", 3}, {"Pande\n", "'Pande?'", 3}, {"AMBER", "[frame][atom][3]", 2}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        trajectory *t;
        const char *path = make_hdf5(bad[i].conventions, VF_F32, false, bad[i].last);
        assert_int_equal(trajectory_open(ctx, path, &t), VF_ERR_INPUT);
        if (!strstr(vf_context_message(ctx), bad[i].why))
            fail_msg("%s", vf_context_message(ctx));
        vf_context_clear_error(ctx);
    }
}

/* A dataset that claims a thousand million atoms and stores none: libcore refuses it. */
static void rejects_an_empty_giant(void **state)
{
    (void)state;
    const int64_t dims[3] = {1, (int64_t)1 << 30, 3}, chunk[3] = {1, 1024, 3};
    const char *path = save_bytes("", 0);
    vf_h5 *file;
    trajectory *t;
    assert_int_equal(vf_h5_create(ctx, path, &file), VF_OK);
    assert_int_equal(vf_h5_dataset_create(file, "coordinates", VF_F32, 3, dims, chunk, 0), VF_OK);
    assert_int_equal(vf_h5_attribute_text(file, "/", "Conventions", "AMBER"), VF_OK);
    assert_int_equal(vf_h5_commit(&file), VF_OK);
    assert_int_equal(trajectory_open(ctx, path, &t), VF_ERR_INPUT);
    if (!strstr(vf_context_message(ctx), "only 0 bytes of it are stored"))
        fail_msg("%s", vf_context_message(ctx));
    vf_context_clear_error(ctx);
}

/* ---- as a molecule ---- */

static void reads_a_restart(void **state)
{
    (void)state;
    static const char psf[] =
        "PSF NAMD\n3 !NATOM\n1 S 1 ION A T -0.5 1 0\n2 S 1 ION B T 0.25 1 0\n3 S 1 ION C T 0.25 1 0\n";
    molecule none;
    assert_int_equal(parse_molecule_with_charges(ctx, &(named_text){"m.ncrst.gz", "\x89HDF\r\n\x1a\n", 8},
                                                 &(named_text){"m.psf", psf, sizeof psf - 1}, &none),
                     VF_ERR_INPUT);
    assert_non_null(strstr(vf_context_message(ctx), "m.ncrst.gz: is a compressed NetCDF-4 file"));
    vf_context_clear_error(ctx);
    for (int number = 0; number < 6; number++) {
        nc_kind k = random_nc(4 * number + 1);
        molecule m;
        unit_cell cell;
        k.atoms = number == 5 ? 4 : 3;
        xdr_bytes b = make_nc(&k);
        const named_text places = {"m.ncrst", (const char *)b.at, b.size}, charges = {"m.psf", psf, sizeof psf - 1};
        if (number == 5) {
            assert_int_equal(parse_molecule_with_charges(ctx, &places, &charges, &m), VF_ERR_INPUT);
            assert_non_null(strstr(vf_context_message(ctx), "m.ncrst has 4 atoms, but m.psf has 3"));
            vf_context_clear_error(ctx);
            free(b.at);
            continue;
        }
        if (parse_molecule_with_charges(ctx, &places, &charges, &m) != VF_OK)
            fail_msg("%s", vf_context_message(ctx));
        assert_int_equal(m.atoms, 3);
        for (int i = 0; i < 3; i++)
            assert_true(m.x[i] == expected[0][i][0] && m.y[i] == expected[0][i][1] && m.z[i] == expected[0][i][2]);
        assert_string_equal(m.labels[1].name, "B");
        assert_true(m.charge[0] == -0.5 && m.hi[0] >= m.x[0]);
        assert_int_equal(m.cell.state, k.cell ? UNIT_CELL_NUMBERS : UNIT_CELL_NONE);
        assert_int_equal(parse_cell(ctx, "m.ncrst", (const char *)b.at, b.size, &cell), VF_OK);
        assert_true(cell.state == m.cell.state && cell.lengths[1] == m.cell.lengths[1] &&
                    (!k.cell || cell.angles[2] == cells[0][5]));
        molecule_free(&m);
        free(b.at);
    }
}

static int set_up(void **state)
{
    (void)state;
    vf_context_set_log(ctx, keep_log, NULL);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    save_bytes(NULL, 0);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_every_form),       cmocka_unit_test(ignores_incomplete_frames),
        cmocka_unit_test(rejects_other_files),    cmocka_unit_test(survives_damaged_headers),
        cmocka_unit_test(rejects_bad_numbers),    cmocka_unit_test(reads_hdf5),
        cmocka_unit_test(rejects_an_empty_giant), cmocka_unit_test(reads_a_restart),
    };
    return run_on_device(argc, argv, tests, set_up, tear_down);
}
