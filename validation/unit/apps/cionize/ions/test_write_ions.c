/* Files of ions: columns character by character, what a reader finds in them, and errors. */

#include "apps/cionize/maps/map_fixture.h"
#include "ions/hybrid36.h"
#include "ions/ions.h"
#include "random_fixture.h"

static ion_kind kinds[] = {{"SOD", "Na", 1, 1.41, ""},
                           {"CLA", "Cl", -1, 2.27, ""},
                           {"CAL", "Ca", 2, 1.37, ""},
                           {"QX", "", 0.25, 0, ""},
                           {"K", "K", 1, 1.76, ""}};
enum { KINDS = sizeof kinds / sizeof *kinds, MANY = 100001 };

static char warnings[1024], notes[1024];

static void keep_warning(void *user, vf_log_level level, const char *text)
{
    (void)user;
    snprintf(level == VF_LOG_WARNING ? warnings : notes, sizeof warnings, "%s", text);
}

/* Writes, expects success, and returns the text. */
static char *written(const char *name, const ion_list *ions, const molecule *mol, const char *comment)
{
    char path[PATH_SIZE];
    size_t bytes;
    path_of(name, path);
    warnings[0] = notes[0] = '\0';
    vf_context_set_log(ctx, keep_warning, NULL);
    if (write_ions(ctx, path, ions, mol, NULL, comment) != VF_OK)
        fail_msg("%s", vf_context_message(ctx));
    vf_context_set_log(ctx, NULL, NULL);
    char *text = slurp(path, &bytes);
    assert_int_equal(strlen(text), bytes);
    unlink(path);
    assert_int_equal(files_left(), 0);
    return text;
}

static void expect_text(const char *name, const ion_list *ions, const molecule *mol, const char *comment,
                        const char *expected)
{
    char *text = written(name, ions, mol, comment);
    assert_string_equal(text, expected);
    free(text);
}

/* ---- hybrid-36 ---- */

/* An independent decoder, from the same description: digits of the base, where the first letter replaces 10 leading
 * digits. */
static int64_t decoded(const char *text, int width)
{
    static const char capital[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ",
                      small[] = "0123456789abcdefghijklmnopqrstuvwxyz";
    int64_t value = 0, place = 1, tens = 1;
    if (!(*text >= 'A' && *text <= 'Z') && !(*text >= 'a' && *text <= 'z'))
        return strtoll(text, NULL, 10);
    const char *digits = *text >= 'a' ? small : capital;
    for (int i = width - 1; i >= 0; i--, place *= 36, tens *= 10) {
        const char *digit = strchr(digits, text[i]);
        assert_non_null(digit);
        value += (digit - digits) * place;
    }
    return value - 10 * place / 36 + tens + (*text >= 'a' ? 26 * place / 36 : 0);
}

static void hybrid36_is_the_published(void **state)
{
    (void)state;
    static const struct {
        int width;
        int64_t value;
        const char *text;
    } known[] = {
        {5, 0, "    0"},        {5, 1, "    1"},        {5, 99999, "99999"},  {5, 100000, "A0000"},
        {5, 100010, "A000A"},   {5, 100035, "A000Z"},   {5, 100036, "A0010"}, {5, 43770015, "ZZZZZ"},
        {5, 43770016, "a0000"}, {5, 87440031, "zzzzz"}, {4, 9999, "9999"},    {4, 10000, "A000"},
        {4, 1223055, "ZZZZ"},   {4, 1223056, "a000"},   {4, 2436111, "zzzz"}, {4, -1, "  -1"},
        {4, -999, "-999"},      {5, -9999, "-9999"},
    };
    char text[8];
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        memset(text, '#', sizeof text);
        assert_true(hybrid36_put(known[i].value, known[i].width, text));
        if (memcmp(text, known[i].text, (size_t)known[i].width) != 0 || text[known[i].width] != '#')
            fail_msg("%lld: '%.5s', not '%s'", (long long)known[i].value, text, known[i].text);
    }
    assert_false(hybrid36_put(87440032, 5, text));
    assert_false(hybrid36_put(2436112, 4, text));
    assert_false(hybrid36_put(-1000, 4, text));
    assert_false(hybrid36_put(INT64_MIN, 4, text));
    assert_false(hybrid36_put(INT64_MAX, 5, text));
    for (int width = 4; width <= 5; width++)
        for (int64_t value = -99; value <= hybrid36_greatest(width); value += width == 4 ? 1 : 17) {
            text[width] = '\0';
            assert_true(hybrid36_put(value, width, text));
            if (decoded(text, width) != value)
                fail_msg("%lld becomes '%s'", (long long)value, text);
        }
}

/* ---- PDB ---- */

static atom_label labels[] = {
    {.name = "CA", .residue = "ALA", .chain = "A", .element = "C", .residue_number = 12, .occupancy = 1},
    {.name = "CA",
     .residue = "CA",
     .chain = "A",
     .element = "Ca",
     .insertion = 'B',
     .hetero = true,
     .residue_number = -5,
     .occupancy = 1}};

static void pdb_columns(void **state)
{
    (void)state;
    ion_site sites[] = {
        {0, {-999.999, 9999.999, -0.0004}, -1}, {1, {0.0006, 12.3456, -7}, -2}, {2, {1, 2, 3}, -3}, {4, {1, 2, 3}, -3}};
    const ion_list ions = {KINDS, kinds, 4, sites};
    molecule labelled = solute;
    labelled.labels = labels;
    expect_text("a.PDB", &ions, &labelled, "three kinds of ions", /* 80 columns */
                "REMARK   6                                                                      \n"
                "REMARK   6 three kinds of ions                                                  \n"
                "ATOM      1  CA  ALA A  12       1.500   0.125  -7.750  1.00  0.00           C  \n"
                "HETATM    2 CA    CA A  -5B     -2.250   3.000 100.500  1.00  0.00          CA  \n"
                "TER       3       CA A  -5B                                                     \n"
                "HETATM    4  SOD SOD I   1    -999.9999999.999   0.000  1.00  0.00          NA1+\n"
                "HETATM    5 CLA  CLA I   2       0.001  12.346  -7.000  1.00  0.00          CL1-\n"
                "HETATM    6 CAL  CAL I   3       1.000   2.000   3.000  1.00  0.00          CA2+\n"
                "HETATM    7  K     K I   4       1.000   2.000   3.000  1.00  0.00           K1+\n"
                "END                                                                             \n");
    assert_string_equal(warnings, "");
    expect_text("a.pdb", &ions, NULL, NULL,
                "HETATM    1  SOD SOD I   1    -999.9999999.999   0.000  1.00  0.00          NA1+\n"
                "HETATM    2 CLA  CLA I   2       0.001  12.346  -7.000  1.00  0.00          CL1-\n"
                "HETATM    3 CAL  CAL I   3       1.000   2.000   3.000  1.00  0.00          CA2+\n"
                "HETATM    4  K     K I   4       1.000   2.000   3.000  1.00  0.00           K1+\n"
                "END                                                                             \n");
}

static void pdb_without_labels(void **state)
{
    (void)state;
    ion_site site = {3, {1, 2, 3}, -1};
    const ion_list ions = {KINDS, kinds, 1, &site};
    const ion_list none = {0, NULL, 0, NULL};
    expect_text("a.pdb", &ions, &solute, NULL,
                "ATOM      1  X   MOL     1       1.500   0.125  -7.750  1.00  0.00              \n"
                "ATOM      2  X   MOL     1      -2.250   3.000 100.500  1.00  0.00              \n"
                "TER       3      MOL     1                                                      \n"
                "HETATM    4  QX   QX I   1       1.000   2.000   3.000  1.00  0.00              \n"
                "END                                                                             \n");
    assert_non_null(strstr(warnings, "the charge of 1 ion is left out")); /* 0.25 e */
    expect_text("a.pdb", &none, &solute, NULL,
                "ATOM      1  X   MOL     1       1.500   0.125  -7.750  1.00  0.00              \n"
                "ATOM      2  X   MOL     1      -2.250   3.000 100.500  1.00  0.00              \n"
                "END                                                                             \n");
    expect_text("a.pdb", &none, NULL, NULL,
                "END                                                                             \n");
}

static void pdb_names(void **state)
{
    (void)state;
    atom_label odd[] = {
        {.name = "HH11", .residue = "TIP3", .chain = "PROTX", .element = "H", .residue_number = 12345, .occupancy = 1},
        {.name = "1HB", .residue = "A", .chain = "I", .element = "H", .residue_number = 2436111, .occupancy = 1}};
    ion_site site = {0, {1, 2, 3}, -1};
    const ion_list ions = {KINDS, kinds, 1, &site};
    molecule labelled = solute;
    labelled.labels = odd;
    expect_text("a.pdb", &ions, &labelled, NULL, /* chain I is taken, so the ions' is Z; PROTX has no letter */
                "ATOM      1 HH11 TIP3 A1T5       1.500   0.125  -7.750  1.00  0.00      PROT H  \n"
                "TER       2      TIP3 A1T5                                                      \n"
                "ATOM      3 1HB    A Izzzz      -2.250   3.000 100.500  1.00  0.00           H  \n"
                "TER       4        A Izzzz                                                      \n"
                "HETATM    5  SOD SOD Z   1       1.000   2.000   3.000  1.00  0.00          NA1+\n"
                "END                                                                             \n");
    assert_non_null(strstr(warnings, "1 name is too long"));
    memcpy(odd[0].name, "C\tA\xe9X", 6);
    expect_text("a.pqr", &ions, &labelled, NULL,
                "ATOM      1 C_A_X TIP3 PROTX 12345 1.5000 0.1250 -7.7500 0.5000 1.5000\n"
                "ATOM      2 1HB    A I 2436111 -2.2500  3.0000 100.500 -1.2500 2.0000\n"
                "TER\n"
                "HETATM    3  SOD SOD Z   1      1.0000  2.0000  3.0000  1.0000 1.4100\n"
                "END\n");
    assert_non_null(strstr(warnings, "1 name has blanks or non-ASCII characters"));
    odd[1].residue_number = 2436112;
    char path[PATH_SIZE];
    path_of("a.pdb", path);
    expect_file_error(write_ions(ctx, path, &ions, &labelled, NULL, NULL), VF_ERR_UNSUPPORTED, path, "2436112");
    assert_int_equal(files_left(), 0);
}

/* A number that rounds to a column's last value is written; one that rounds beyond it is an error. */
static void pdb_edges(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *text;
    } cases[] = {{9999.9994, "9999.999"}, {-999.9994, "-999.999"}, {-0.00049, "   0.000"}, {0.00051, "   0.001"},
                 {-0.00051, "  -0.001"},  {0.9996, "   1.000"},    {-9.9996, " -10.000"},  {9999.9996, NULL},
                 {-999.9996, NULL},       {1e300, NULL},           {-INFINITY, NULL},      {NAN, NULL}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int a = 0; a < 3; a++) {
            ion_site site = {0, {1, 1, 1}, -1};
            const ion_list ions = {KINDS, kinds, 1, &site};
            char path[PATH_SIZE], axis[32];
            site.position[a] = cases[c].value;
            path_of("a.pdb", path);
            if (cases[c].text) {
                char *text = written("a.pdb", &ions, NULL, NULL);
                if (memcmp(text + 30 + 8 * a, cases[c].text, 8) != 0)
                    fail_msg("%g: %s", cases[c].value, text);
                free(text);
            } else {
                snprintf(axis, sizeof axis, "atom 1 (SOD): its %c", "xyz"[a]);
                expect_file_error(write_ions(ctx, path, &ions, NULL, NULL, NULL), VF_ERR_UNSUPPORTED, path, axis);
                expect_file_error(write_ions(ctx, path, &ions, NULL, NULL, NULL), VF_ERR_UNSUPPORTED, path, ".xyz");
                assert_int_equal(files_left(), 0);
            }
        }
}

/* Serial and residue numbers continue beyond the decimals. */
static void many_ions(void **state)
{
    (void)state;
    ion_site *sites = calloc(MANY, sizeof *sites);
    assert_non_null(sites);
    for (int i = 0; i < MANY; i++)
        sites[i].position[0] = i / 100.0;
    const ion_list ions = {KINDS, kinds, MANY, sites};
    char *text = written("a.pdb", &ions, NULL, NULL), expected[8];
    assert_int_equal(strlen(text), 81 * (MANY + 1));
    for (int i = 0; i < MANY; i++) {
        const char *line = text + 81 * (size_t)i;
        assert_true(hybrid36_put(i + 1, 5, expected));
        assert_memory_equal(line, "HETATM", 6);
        assert_memory_equal(line + 6, expected, 5);
        assert_true(hybrid36_put(i + 1, 4, expected));
        assert_memory_equal(line + 22, expected, 4);
    }
    assert_memory_equal(text + 81 * 99999 + 6, "A0000", 5);
    assert_memory_equal(text + 81 * 9999 + 22, "A000", 4);
    free(text);

    text = written("a.pqr", &ions, NULL, NULL);
    assert_non_null(strstr(text, "\nHETATM 10000 SOD SOD I 10000   99.9900 "));
    assert_non_null(strstr(text, "\nHETATM 100001 SOD SOD I 100001 1000.0000 "));
    molecule read;
    assert_int_equal(parse_pqr(ctx, "a.pqr", text, strlen(text), &read), VF_OK);
    assert_int_equal(read.atoms, MANY);
    for (int i = 0; i < MANY; i++)
        assert_true(fabs(read.x[i] - i / 100.0) < 1e-9);
    assert_true(read.total_charge == MANY);
    molecule_free(&read);
    free(text);
    free(sites);
}

/* ---- PQR and XYZ ---- */

static void pqr_columns(void **state)
{
    (void)state;
    ion_site sites[] = {{0, {-999.99996, 123456.7, -0.00004}, -1}, {3, {0.00006, 12.34564, -7}, -2}};
    const ion_list ions = {KINDS, kinds, 2, sites};
    molecule labelled = solute;
    labelled.labels = labels;
    double charges[] = {-0.123456, 0.8340000000001};
    labelled.charge = charges;
    expect_text("a.pqr", &ions, &labelled, "an ATOM of sodium",
                "REMARK   1 # an ATOM of sodium\n"
                "ATOM      1  CA  ALA A  12      1.5000  0.1250 -7.7500 -0.123456 1.5000\n"
                "HETATM    2 CA    CA A  -5B    -2.2500  3.0000 100.500  0.8340 2.0000\n"
                "TER\n"
                "HETATM    3  SOD SOD I   1  -1000.0000 123456.7000 0.0000 1.0000 1.4100\n"
                "HETATM    4  QX   QX I   2      0.0001 12.3456 -7.0000  0.2500 0.0000\n"
                "END\n");
}

/* A solute without chains: neither have its ions, so all records have ten words, and their numbers follow. One atom with a
 * chain is enough for ions to have one. */
static void pqr_without_chains(void **state)
{
    (void)state;
    ion_site sites[] = {{0, {1, 2, 3}, -1}, {3, {4, 5, 6}, -2}};
    const ion_list ions = {KINDS, kinds, 2, sites};
    atom_label bare[] = {{.name = "CA", .residue = "ALA", .residue_number = 12},
                         {.name = "CB", .residue = "ALA", .residue_number = -3}};
    molecule labelled = solute;
    labelled.labels = bare;
    expect_text("a.pqr", &ions, &labelled, NULL,
                "ATOM      1  CA  ALA    12      1.5000  0.1250 -7.7500  0.5000 1.5000\n"
                "ATOM      2  CB  ALA    -3     -2.2500  3.0000 100.500 -1.2500 2.0000\n"
                "TER\n"
                "HETATM    3  SOD SOD    13      1.0000  2.0000  3.0000  1.0000 1.4100\n"
                "HETATM    4  QX   QX    14      4.0000  5.0000  6.0000  0.2500 0.0000\n"
                "END\n");
    expect_text("a.pqr", &ions, &solute, NULL, /* no labels at all */
                "ATOM      1  X   MOL     1      1.5000  0.1250 -7.7500  0.5000 1.5000\n"
                "ATOM      2  X   MOL     1     -2.2500  3.0000 100.500 -1.2500 2.0000\n"
                "TER\n"
                "HETATM    3  SOD SOD     2      1.0000  2.0000  3.0000  1.0000 1.4100\n"
                "HETATM    4  QX   QX     3      4.0000  5.0000  6.0000  0.2500 0.0000\n"
                "END\n");
    strcpy(bare[1].chain, "I");
    char *text = written("a.pqr", &ions, &labelled, NULL);
    assert_non_null(strstr(text, "HETATM    3  SOD SOD Z   1 "));
    free(text);
}

static void xyz_columns(void **state)
{
    (void)state;
    ion_site sites[] = {{0, {-999.9999996, 123456.7, -0.0000004}, -1}, {3, {0.0000006, 12.3456785, -7}, -2}};
    const ion_list ions = {KINDS, kinds, 2, sites};
    molecule labelled = solute;
    labelled.labels = labels;
    expect_text("a.xyz", &ions, &labelled, "two of each",
                "4\ntwo of each\n"
                "C         1.500000        0.125000       -7.750000\n"
                "Ca       -2.250000        3.000000      100.500000\n"
                "Na    -1000.000000   123456.700000        0.000000\n"
                "X         0.000001       12.345678       -7.000000\n");
    expect_text("a.xyz", &ions, &solute, NULL,
                "4\n\n"
                "X         1.500000        0.125000       -7.750000\n"
                "X        -2.250000        3.000000      100.500000\n"
                "Na    -1000.000000   123456.700000        0.000000\n"
                "X         0.000001       12.345678       -7.000000\n");
}

static void random_word(char *to, int most)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ'*+abcz";
    int n = 1 + (int)uniform_between(0, most);
    for (int i = 0; i < n; i++)
        to[i] = letters[(int)uniform_between(0, sizeof letters - 1)];
    to[n] = '\0';
}

/* Half a unit of a position's decimals: three if four do not fit the columns. Positions nearly too long for four may
 * have either. */
static double place_slack(double value)
{
    const bool four = value > -9.9998 && value<99.9998, three = value> - 100 && value < 1000;
    return (three && !four ? 0.5e-3 : 0.5e-4) + 1e-15 * fabs(value);
}

/* Random names, numbers and charges. Values are read back up to rounding: half a unit of the last decimal of a
 * position, and of the sixth of a charge (each with the few 1e-16 of its size by which decimal numbers are off in
 * double precision). */
static void random_molecules_read_back(void **state)
{
    (void)state;
    enum { ATOMS = 300 };
    static double x[5][ATOMS];
    static atom_label names[ATOMS];
    for (int turn = 0; turn < 50; turn++) {
        const double size = pow(10, uniform_between(0, 6));
        double total = 0;
        ion_site sites[ATOMS];
        for (int i = 0; i < ATOMS; i++) {
            for (int a = 0; a < 3; a++)
                x[a][i] = uniform_between(-size, size);
            x[3][i] = turn % 2 ? uniform_between(-2, 2) : round(uniform_between(-20000, 20000)) / 1e4;
            x[4][i] = uniform_between(0, 3);
            total += x[3][i];
            names[i] = (atom_label){.hetero = uniform_between(0, 1) < 0.5,
                                    .insertion = (char)(uniform_between(0, 1) < 0.1 ? 'A' : 0),
                                    .residue_number = (int32_t)uniform_between(-100, size)};
            random_word(names[i].name, 8);
            random_word(names[i].residue, 8);
            if (uniform_between(0, 1) < 0.7)
                random_word(names[i].chain, 8);
            sites[i] = (ion_site){(int)uniform_between(0, KINDS), {x[0][i], -x[1][i], x[2][i]}, 0};
            total += kinds[sites[i].kind].charge;
        }
        const molecule mol = {.atoms = ATOMS,
                              .x = x[0],
                              .y = x[1],
                              .z = x[2],
                              .charge = x[3],
                              .radius = x[4],
                              .labels = turn % 3 ? names : NULL};
        const ion_list ions = {KINDS, kinds, ATOMS, sites};
        char *text = written("a.pqr", &ions, &mol, "REMARK 5 ATOM # 1");
        molecule read;
        if (parse_pqr(ctx, "a.pqr", text, strlen(text), &read) != VF_OK)
            fail_msg("%s", vf_context_message(ctx));
        assert_int_equal(read.atoms, 2 * ATOMS);
        for (int i = 0; i < 2 * ATOMS; i++) {
            const double sign = i < ATOMS ? 1 : -1;
            const int j = i % ATOMS;
            if (!(fabs(read.x[i] - x[0][j]) <= place_slack(x[0][j]) &&
                  fabs(read.y[i] - sign * x[1][j]) <= place_slack(sign * x[1][j]) &&
                  fabs(read.z[i] - x[2][j]) <= place_slack(x[2][j])))
                fail_msg("atom %d: (%g, %g, %g)", i, read.x[i], read.y[i], read.z[i]);
            const double charge = i < ATOMS ? x[3][j] : kinds[sites[j].kind].charge;
            const double radius = i < ATOMS ? x[4][j] : kinds[sites[j].kind].radius;
            assert_true(fabs(read.charge[i] - charge) <= 0.5e-6 + 1e-15);
            assert_true(fabs(read.radius[i] - radius) <= 0.5e-6 + 1e-15);
        }
        assert_true(fabs(read.total_charge - total) <= ATOMS * 0.5e-6 + 1e-12);
        if (turn % 2 == 0) /* four decimals represent all of these */
            assert_true(fabs(read.total_charge - total) <= 1e-11);
        molecule_free(&read);
        free(text);
    }
}

/* ---- errors ---- */

static void refusals(void **state)
{
    (void)state;
    static const double bad[] = {NAN, INFINITY, -1e10};
    char path[PATH_SIZE];
    ion_site site = {0, {1, 2, 3}, -1};
    const ion_list ions = {KINDS, kinds, 1, &site};
    for (int b = 0; b < 3; b++) {
        double charge[] = {0.5, bad[b]};
        molecule charged = solute;
        charged.charge = charge;
        path_of("a.pqr", path);
        expect_file_error(write_ions(ctx, path, &ions, &charged, NULL, NULL), VF_ERR_UNSUPPORTED, path,
                          "atom 2 (X): its charge");
        site.position[2] = bad[b];
        expect_file_error(write_ions(ctx, path, &ions, NULL, NULL, NULL), VF_ERR_UNSUPPORTED, path,
                          "atom 1 (SOD): its z");
        path_of("a.xyz", path);
        expect_file_error(write_ions(ctx, path, &ions, NULL, NULL, NULL), VF_ERR_UNSUPPORTED, path,
                          "atom 1 (SOD): its z");
        site.position[2] = 3;
        assert_int_equal(files_left(), 0);
    }
    path_of("a.xyz", path);
    expect_file_error(write_ions(ctx, path, &ions, NULL, NULL, "two\nlines"), VF_ERR_INTERNAL, path, "comment");
    path_of("a.dat", path);
    expect_file_error(write_ions(ctx, path, &ions, NULL, NULL, NULL), VF_ERR_ARGUMENT, path,
                      ".pdb, .pqr, .gro or .xyz");
    expect_file_error(check_ions_path(ctx, path), VF_ERR_ARGUMENT, path, ".pdb, .pqr, .gro or .xyz");
    path_of("none/a.pdb", path);
    expect_file_error(write_ions(ctx, path, &ions, NULL, NULL, NULL), VF_ERR_OUTPUT, "", "none");
    assert_int_equal(check_ions_path(ctx, "x.Pqr"), VF_OK);
    assert_int_equal(files_left(), 0);
}

static void long_comments(void **state)
{
    (void)state;
    const ion_list none = {0, NULL, 0, NULL};
    char comment[138];
    memset(comment, 'c', sizeof comment);
    comment[137] = '\0'; /* 68 + 68 + 1 */
    char *text = written("a.pdb", &none, NULL, comment);
    assert_int_equal(strlen(text), 81 * 5);
    assert_memory_equal(text + 81 * 2, "REMARK   6 cccc", 15);
    assert_int_equal(text[81 * 2 - 3], 'c');
    assert_memory_equal(text + 81 * 3, "REMARK   6 c   ", 15);
    free(text);
}

TEST_MAIN(set_up, close_folder, cmocka_unit_test(hybrid36_is_the_published), cmocka_unit_test(pdb_columns),
          cmocka_unit_test(pdb_without_labels), cmocka_unit_test(pdb_names), cmocka_unit_test(pdb_edges),
          cmocka_unit_test(many_ions), cmocka_unit_test(pqr_columns), cmocka_unit_test(pqr_without_chains),
          cmocka_unit_test(xyz_columns), cmocka_unit_test(random_molecules_read_back), cmocka_unit_test(refusals),
          cmocka_unit_test(long_comments))
