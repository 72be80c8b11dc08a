/* AMBER's NetCDF files: trajectories and restarts in all classic forms and as HDF5, read back exactly in any order; truncated and
 * damaged files, and files that are not AMBER's.
 *
 * usage: test_read_netcdf [cpu [TEST...]]
 */

#include "molecule/molecule.h"
#include "netcdf_fixture.h"
#include "voxfield/hdf5_io.h"

/* ---- checks ---- */

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
                     .units = number % 3 == 0 ? "Angstrom" : NULL, /* as LAMMPS writes it */
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
            assert_refused_bytes(&b, b.size < begin - 4 ? "header" : "no complete frame");
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

/* A header that states fewer frames than the file has. */
static void warns_of_further_frames(void **state)
{
    (void)state;
    for (int missing = 0; missing < 3; missing++) {
        const nc_kind k = {.version = 2, .type = FLOAT, .cell = DOUBLE, .atoms = 3, .records = FRAMES - missing};
        xdr_bytes b = make_nc(&k);
        log_text[0] = '\0';
        trajectory *t = open_bytes(&b);
        assert_int_equal(trajectory_frames(t), FRAMES - missing);
        assert_int_equal(strstr(log_text, "has room for 5 frames") != NULL, missing > 0);
        trajectory_close(t);
        free(b.at);
    }
}

static void rejects_other_files(void **state)
{
    (void)state;
    static const struct {
        nc_kind kind;
        const char *why;
    } files[] = {{{.version = 2, .type = FLOAT, .atoms = 3, .records = FRAMES, .conventions = "CF-1.6"}, "not AMBER's"},
                 {{.version = 2, .type = FLOAT, .atoms = 3, .records = FRAMES, .units = "nanometer"},
                  "coordinates has the unit 'nanometer'"},
                 {{.version = 2, .type = INT, .atoms = 3, .records = FRAMES}, "of floats or doubles"},
                 {{.version = 2, .type = FLOAT, .atoms = 3, .records = 0}, "no frames"},
                 {{.version = 2, .type = FLOAT, .atoms = 3, .records = FRAMES, .scale = NAN}, "scale_factor"},
                 {{.version = 2, .type = FLOAT, .atoms = 3, .records = -2}, "negative number of records"}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        xdr_bytes b = make_nc(&files[i].kind);
        assert_refused_bytes(&b, files[i].why);
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
        assert_int_equal(parse_cell(ctx, "m.ncrst", (const char *)b.at, b.size, &cell, NULL), VF_OK);
        assert_true(cell.state == m.cell.state && cell.lengths[1] == m.cell.lengths[1] &&
                    (!k.cell || cell.angles[2] == cells[0][5]));
        molecule_free(&m);
        free(b.at);
    }
}

DEVICE_MAIN(set_up, tear_down, cmocka_unit_test(reads_every_form), cmocka_unit_test(ignores_incomplete_frames),
            cmocka_unit_test(warns_of_further_frames), cmocka_unit_test(rejects_other_files),
            cmocka_unit_test(survives_damaged_headers), cmocka_unit_test(rejects_bad_numbers),
            cmocka_unit_test(reads_hdf5), cmocka_unit_test(rejects_an_empty_giant), cmocka_unit_test(reads_a_restart))
