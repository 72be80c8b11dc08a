/* Cells of files: CRYST1 in PDB and PQR files, boxes of AMBER's coordinates, vectors from lengths and angles.
 *
 * usage: test_unit_cell [cpu [TEST...]]
 */
#include <math.h>

#include "device_fixture.h"
#include "molecule/molecule.h"

static locale_t c_locale;

static unit_cell cryst1(const char *line)
{
    unit_cell cell = {0};
    assert_true(read_cryst1((text_piece){line, strlen(line)}, c_locale, &cell));
    return cell;
}

static void same(const unit_cell *cell, const double expected[6])
{
    assert_int_equal(cell->state, UNIT_CELL_NUMBERS);
    for (int i = 0; i < 6; i++)
        assert_true((i < 3 ? cell->lengths[i] : cell->angles[i - 3]) == expected[i]);
}

static void test_cryst1(void **state)
{
    (void)state;
    unit_cell cell = cryst1("CRYST1   54.300   60.123   70.500  75.00  80.00 100.50 P 1           1");
    same(&cell, (double[]){54.3, 60.123, 70.5, 75, 80, 100.5});
    cell = cryst1("CRYST1 1054.300 1060.123 1070.500  90.00  90.00 120.00 P 1");
    same(&cell, (double[]){1054.3, 1060.123, 1070.5, 90, 90, 120});
    cell = cryst1("CRYST110054.30010060.12310070.500 90.00  90.00 120.00"); /* no blanks between columns */
    same(&cell, (double[]){10054.3, 10060.123, 10070.5, 90, 90, 120});
    cell = cryst1("CRYST1 54.3 60 70 90 90 120 P 1 1"); /* words, not columns */
    same(&cell, (double[]){54.3, 60, 70, 90, 90, 120});
    assert_int_equal(cryst1("CRYST1    1.000    1.000    1.000  90.00  90.00  90.00 P 1           1").state,
                     UNIT_CELL_DUMMY);
    static const char *const bad[] = {"CRYST1",
                                      "CRYST1 10 10 10",
                                      "CRYST1 10 10 10 90 90 x",
                                      "CRYST1   -4.300   60.123   70.500  75.00  80.00 100.50 P 1",
                                      "CRYST1   54.300   60.123   70.500  10.00  10.00  90.00 P 1",
                                      "CRYST1    0.000    0.000    0.000  90.00  90.00  90.00 P 1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(cryst1(bad[i]).state, UNIT_CELL_BAD);
    static const char *const radians[] = {"CRYST1   54.300   60.123   70.500   1.57   1.57   1.57 P 1           1",
                                          "CRYST1 54.3 60 70 1.5708 1.5708 2.0944 P 1",
                                          "CRYST1 54.3 60 70 1.911 1.911 1.911 P 1"};
    for (size_t i = 0; i < sizeof radians / sizeof *radians; i++)
        assert_int_equal(cryst1(radians[i]).state, UNIT_CELL_RADIANS);
    assert_int_equal(cryst1("CRYST1 54.3 60 70 4 4 4 P 1").state, UNIT_CELL_NUMBERS); /* possible, whatever it is */
    cell = cryst1("CRYST1 54.3 60 70 90 90 120 P 1 1");
    assert_true(read_cryst1((text_piece){bad[1], strlen(bad[1])}, c_locale, &cell)); /* only the first one counts */
    assert_int_equal(cell.state, UNIT_CELL_NUMBERS);
    assert_false(read_cryst1((text_piece){"CRYST", 5}, c_locale, &cell));
    assert_false(read_cryst1((text_piece){"ATOM      1", 11}, c_locale, &cell));
}

static void take_rows(const double rows[3][3], double shift, unit_cell *cell)
{
    for (int row = 0; row < 3; row++) {
        char line[81];
        snprintf(line, sizeof line, "SCALE%d    %10.6f%10.6f%10.6f     %10.5f", row + 1, rows[row][0], rows[row][1],
                 rows[row][2], row == 1 ? shift : 0);
        assert_false(read_cryst1((text_piece){line, strlen(line)}, c_locale, cell));
    }
}

/* A monoclinic cell whose coordinates have a along x, as they should, or c along z. */
static void test_scale(void **state)
{
    (void)state;
    static const char line[] = "CRYST1   20.000   25.000   30.000  90.00 100.00  90.00 P 1           1";
    const double cosine = -0.17364817766693036, sine = 0.984807753012208; /* of 100 degrees */
    const double along_x[3][3] = {{1 / 20., 0, -cosine / (20 * sine)}, {0, 1 / 25., 0}, {0, 0, 1 / (30 * sine)}};
    const double along_z[3][3] = {{1 / (20 * sine), 0, 0}, {0, 1 / 25., 0}, {-cosine / (30 * sine), 0, 1 / 30.}};
    const double identity[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    const double of_other[3][3] = {{1 / (22 * sine), 0, 0}, {0, 1 / 25., 0}, {-cosine / (30 * sine), 0, 1 / 30.}};
    const struct {
        const double (*rows)[3];
        double shift;
        unit_cell_state state;
    } cases[] = {{along_x, 0, UNIT_CELL_NUMBERS},
                 {along_x, 0.25, UNIT_CELL_NUMBERS},
                 {along_z, 0, UNIT_CELL_TURNED},
                 {identity, 0, UNIT_CELL_NUMBERS},
                 {of_other, 0, UNIT_CELL_NUMBERS}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        unit_cell cell = cryst1(line);
        take_rows(cases[i].rows, cases[i].shift, &cell);
        assert_int_equal(cell.state, cases[i].state);
        assert_int_equal(cell_is_shifted(&cell), cases[i].shift != 0);
    }
    unit_cell none = {0};
    take_rows(along_z, 0, &none); /* without CRYST1 */
    assert_int_equal(none.state, UNIT_CELL_NONE);
}

static void test_amber_box(void **state)
{
    (void)state;
    static const char *const good[] = {"  54.3000000  60.1230000  70.5000000 109.4712190 109.4712190 109.4712190",
                                       "  54.3000000  60.1230000  70.5000000"};
    static const char *const bad[] = {"", "  54.3000000", "  54.3000000  60.1230000  70.5000000 109.4712190",
                                      "  54.3000000  60.1230000  70.5x"};
    unit_cell cell = {0};
    assert_true(read_amber_box((text_piece){good[0], strlen(good[0])}, c_locale, &cell));
    same(&cell, (double[]){54.3, 60.123, 70.5, 109.471219, 109.471219, 109.471219});
    assert_true(read_amber_box((text_piece){good[1], strlen(good[1])}, c_locale, &cell));
    same(&cell, (double[]){54.3, 60.123, 70.5, 90, 90, 90});
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(read_amber_box((text_piece){bad[i], strlen(bad[i])}, c_locale, &cell));
}

/* vf_cell_shape gives the lengths and angles back, to rounding: some units in the last place of 180 degrees over the
 * sine of the smallest angle, 60 degrees, and products. */
static void test_vectors(void **state)
{
    (void)state;
    for (int trial = 0; trial < 200; trial++) {
        double lengths[3], angles[3], found[2][3];
        vf_cell cell;
        for (int a = 0; a < 3; a++) {
            lengths[a] = 5 + 50 * uniform();
            angles[a] = 60 + 55 * uniform();
        }
        assert_true(cell_of_shape(lengths, angles, &cell));
        assert_int_equal(cell.kind, VF_CELL_TRICLINIC);
        assert_true(cell.vectors[0][1] == 0 && cell.vectors[0][2] == 0 && cell.vectors[1][2] == 0);
        vf_cell_shape(&cell, found[0], found[1]);
        for (int a = 0; a < 3; a++)
            assert_true(fabs(found[0][a] - lengths[a]) <= 1e-12 && fabs(found[1][a] - angles[a]) <= 1e-10);
    }
    vf_cell cell;
    const double edges[3] = {3, 4, 5};
    assert_true(cell_of_shape(edges, (double[]){90, 90 + 1e-8, 90 - 1e-14}, &cell)); /* angles from cosines */
    assert_int_equal(cell.kind, VF_CELL_ORTHORHOMBIC);
    assert_true(cell_of_shape(edges, (double[]){90, 90, 90.001}, &cell));
    assert_int_equal(cell.kind, VF_CELL_TRICLINIC);
    assert_false(cell_of_shape(edges, (double[]){90, NAN, 90}, &cell));
    assert_false(cell_of_shape((double[]){3, INFINITY, 5}, (double[]){90, 90, 90}, &cell));
    assert_false(cell_of_shape(edges, (double[]){120, 120, 120}, &cell)); /* flat */
}

/* The readers find them. */
static void test_files(void **state)
{
    (void)state;
    static const char psf[] = "PSF\n\n       1 !NTITLE\n REMARKS\n\n       3 !NATOM\n"
                              "       1 A    1    ION  NA   NA     1.000000       22.9898           0\n"
                              "       2 A    2    ION  NA   NA     1.000000       22.9898           0\n"
                              "       3 A    3    ION  NA   NA    -1.000000       22.9898           0\n";
    static const char atoms[] = "ATOM      1  NA  ION A   1       1.000   2.000   3.000  1.00  0.00           N\n"
                                "ATOM      2  NA  ION A   2       1.000   2.000   6.000  1.00  0.00           N\n"
                                "ATOM      3  NA  ION A   3       1.000   2.000   7.000  1.00  0.00           N\nEND\n"
                                "CRYST1   99.000   99.000   99.000  90.00  90.00  90.00 P 1\n";
    static const char xyz[] = "title\n    3\n   1.0000000   2.0000000   3.0000000   1.0000000   2.0000000   6.0000000\n"
                              "   1.0000000   2.0000000   7.0000000\n";
    static const char velocities[] = "   0.1000000   0.1000000   0.1000000   0.1000000   0.1000000   0.1000000\n"
                                     "   0.1000000   0.1000000   0.1000000\n";
    static const char box[] = "  20.0000000  30.0000000  40.0000000  90.0000000  80.0000000  90.0000000\n";
    static const char cryst[] = "CRYST1   20.000   30.000   40.000  90.00  80.00  90.00 P 1           1\n";
    const double expected[6] = {20, 30, 40, 90, 80, 90};
    static const char *const parts[][3] = {{cryst, atoms, ""},     {"", atoms, ""},       {xyz, box, ""},
                                           {xyz, velocities, box}, {xyz, velocities, ""}, {xyz, "", ""}};
    static const bool has[] = {true, false, true, true, false, false};
    for (size_t i = 0; i < sizeof has / sizeof *has; i++) {
        char text[2000];
        molecule m;
        snprintf(text, sizeof text, "%s%s%s", parts[i][0], parts[i][1], parts[i][2]);
        if (parse_molecule_with_charges(ctx, &(named_text){"c", text, strlen(text)},
                                        &(named_text){"q", psf, strlen(psf)}, &m) != VF_OK)
            fail_msg("%zu: %s", i, vf_context_message(ctx));
        if (has[i])
            same(&m.cell, expected);
        else
            assert_int_equal(m.cell.state, UNIT_CELL_NONE);
        molecule_free(&m);
    }
    char pqr[400];
    molecule m;
    snprintf(pqr, sizeof pqr, "%sATOM 1 NA ION 1 1.0 2.0 3.0 1.0 1.0\nEND\n", cryst);
    if (parse_pqr(ctx, "p", pqr, strlen(pqr), &m) != VF_OK)
        fail_msg("%s", vf_context_message(ctx));
    same(&m.cell, expected);
    molecule_free(&m);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cryst1), cmocka_unit_test(test_scale),
                                       cmocka_unit_test(test_amber_box), cmocka_unit_test(test_vectors),
                                       cmocka_unit_test(test_files)};
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    const int status = run_on_device(argc, argv, tests, NULL, NULL);
    freelocale(c_locale);
    return status;
}
