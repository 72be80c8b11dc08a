/* CHARMM's .crd, NAMD's binary .coor and .xsc: coordinates and names are read exactly, cells from the last line; damaged files are
 * rejected with the place.
 *
 * usage: test_coordinate_files
 */
#include <math.h>

#include "molecule_fixture.h"

static const char psf[] =
    "PSF EXT\n\n       1 !NTITLE\n REMARKS\n\n       3 !NATOM\n"
    "         1 PROT     1        ALA      N        NH3     -0.300000       14.0070           0\n"
    "         2 PROT     1        ALA      HT1      HC       0.330000        1.0080           0\n"
    "         3 WAT      12A      TIP3     OH2      OT      -0.834000       15.9994           0\n";
static const double xyz[3][3] = {{-13.87325, 2.5, -0.00001}, {1234.56789, -999.99999, 0}, {1, 2, 3}};
enum { TEXT = 4000 };

/* ---- CHARMM ---- */

static const char crd[] = "* A TITLE\n*    7 EXT\n*\n"
                          "    3\n"
                          "    1    1 ALA  N    -13.87325   2.50000  -0.00001 PROT 1      0.00000\n"
                          "    2    1 ALA  HT1 1234.56789-999.99999   0.00000 PROT 1      0.00000\n"
                          "    3    2 TIP3 OH2    1.00000   2.00000   3.00000 WAT  12A    0.00000\n";

static const char *wide(void)
{
    static char text[TEXT];
    static const char *const names[3][4] = {
        {"ALA", "N", "PROT", "1"}, {"ALA", "HT1", "PROT", "1"}, {"TIP3", "OH2", "WAT", "12A"}};
    snprintf(text, TEXT, "* A TITLE\n* IN TWO LINES\n         3  EXT\n");
    for (int i = 0; i < 3; i++)
        vf_append(text, TEXT, "%10d%10d  %-8s  %-8s%20.10f%20.10f%20.10f  %-8s  %-8s%20.10f\n", i + 1, i / 2 + 1,
                  names[i][0], names[i][1], xyz[i][0], xyz[i][1], xyz[i][2], names[i][2], names[i][3], 0.0);
    return text;
}

static const char *with(const char *text, const char *from, const char *to)
{
    static char result[TEXT];
    const char *at = strstr(text, from);
    assert_non_null(at);
    snprintf(result, TEXT, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    return result;
}

static void expect_crd(const char *text, const char *dialect)
{
    const atom_label third = {.name = "OH2", .residue = "TIP3", .chain = "WAT", .insertion = 'A', .residue_number = 12};
    molecule m;
    expect_read(text, psf, &m);
    assert_int_equal(m.atoms, 3);
    for (int i = 0; i < 3; i++)
        if (!(m.x[i] == xyz[i][0] && m.y[i] == xyz[i][1] && m.z[i] == xyz[i][2]))
            fail_msg("atom %d: %.17g %.17g %.17g of\n%s", i, m.x[i], m.y[i], m.z[i], text);
    expect_label(&m.labels[2], &third, "the third atom");
    assert_true(m.charge[2] == -0.834);
    assert_non_null(strstr(m.dialect, dialect));
    molecule_free(&m);
}

static void reads_crd(void **state)
{
    (void)state;
    expect_crd(crd, "CHARMM coordinates with");
    expect_crd(wide(), "CHARMM coordinates (EXT)");
    expect_crd(with(crd, "* A TITLE\n*    7 EXT\n*\n", ""), "CHARMM"); /* no title */
    expect_crd(with(crd, "*    7 EXT\n*\n", ""), "CHARMM");
    expect_crd(with(crd, "WAT  12A    0.00000\n", "WAT  12A"), "CHARMM"); /* no weight, no end of the last line */
    molecule m;
    static const char *const others[] = {"WAT  **** ", "WAT  7    ", "         "}; /* the PSF's chain and number win */
    for (int i = 0; i < 3; i++) {
        const atom_label third = {
            .name = "OH2", .residue = "TIP3", .chain = "WAT", .insertion = 'A', .residue_number = 12};
        expect_read(with(crd, "WAT  12A ", others[i]), psf, &m);
        expect_label(&m.labels[2], &third, others[i]);
        assert_string_equal(m.labels[2].number_text, "");
        molecule_free(&m);
    }
}

static void rejects_crd(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to, *why;
    } damage[] = {{"    3\n", "    4\n", "m.xyz: the file ends after 3 of the 4 atoms"},
                  {"    3\n", "    2\n", "m.xyz:7: |goes on after the 2 atoms"},
                  {"    3\n", "    0\n", "m.xyz"},
                  {"    3\n", "3000000000\n", "m.xyz"},
                  {"1234.56789", "123456.789", "m.xyz:6: |columns 21-30 (x)"},
                  {"-999.99999", " -999.9999", "m.xyz:6: |columns 31-40 (y)"},
                  {"   3.00000", "       nan", "m.xyz:7: |columns 41-50 (z)"},
                  {"   3.00000", "**********", "m.xyz:7: |columns 41-50 (z)"},
                  {" OH2 ", "     ", "m.xyz:7: |(atom name) are blank"},
                  {" OH2 ", " OH3 ", "'OH3'|'OH2'"}};
    for (size_t i = 0; i < sizeof damage / sizeof *damage; i++) {
        molecule m;
        const char *text = with(crd, damage[i].from, damage[i].to);
        assert_int_equal(parse_two(text, psf, &m), VF_ERR_INPUT);
        if (!contains_all(vf_context_message(ctx), damage[i].why))
            fail_msg("%s, not '%s', of\n%s", vf_context_message(ctx), damage[i].why, text);
        assert_null(m.x);
    }
    molecule m;
    vf_context_clear_error(ctx);
    assert_int_equal(parse_pqr(ctx, "m.crd", crd, sizeof crd - 1, &m), VF_ERR_INPUT); /* without charges */
    assert_non_null(strstr(vf_context_message(ctx), "CHARMM coordinate file"));
}

/* ---- NAMD ---- */

static void put_swapped(unsigned char *to, const void *from, size_t bytes, bool swap)
{
    for (size_t i = 0; i < bytes; i++)
        to[i] = ((const unsigned char *)from)[swap ? bytes - 1 - i : i];
}

/* This machine's byte order, or the other one. */
static size_t make_coor(unsigned char *to, int32_t atoms, bool swap)
{
    put_swapped(to, &atoms, sizeof atoms, swap);
    for (int i = 0; i < 9; i++)
        put_swapped(to + 4 + 8 * i, &xyz[i / 3][i % 3], 8, swap);
    return 4 + 72;
}

static vf_status parse_coor(const char *name, const unsigned char *bytes, size_t size, molecule *m)
{
    char *copy = copy_exactly((const char *)bytes, size);
    vf_context_clear_error(ctx);
    const vf_status status = parse_molecule_with_charges(ctx, &(named_text){name, copy, size},
                                                         &(named_text){"m.psf", psf, sizeof psf - 1}, m);
    free(copy);
    return status;
}

static void reads_coor(void **state)
{
    (void)state;
    unsigned char bytes[80];
    molecule m;
    for (int swap = 0; swap < 2; swap++) {
        const size_t size = make_coor(bytes, 3, swap);
        assert_int_equal(parse_coor(swap ? "m" : "m.coor", bytes, size, &m), VF_OK);
        for (int i = 0; i < 3; i++)
            assert_true(m.x[i] == xyz[i][0] && m.y[i] == xyz[i][1] && m.z[i] == xyz[i][2]);
        assert_string_equal(m.labels[2].name, "OH2");
        assert_true(m.hi[0] == 1234.56789 && m.lo[1] == -999.99999);
        assert_string_equal(m.dialect, "NAMD coordinates with charges of PSF EXT");
        molecule_free(&m);
    }
}

static void rejects_coor(void **state)
{
    (void)state;
    static const double bad[] = {NAN, INFINITY, -1.5e9};
    static const char *const why[] = {"m.coor: y of atom 2 is NaN", "y of atom 2 is beyond", "y of atom 2 is beyond"};
    static const int32_t counts[] = {4, 2, 0, -3, INT32_MAX, INT32_MIN};
    unsigned char bytes[80];
    molecule m;
    for (int i = 0; i < 3; i++) {
        const size_t size = make_coor(bytes, 3, false);
        memcpy(bytes + 4 + 8 * 4, &bad[i], 8);
        assert_int_equal(parse_coor("m.coor", bytes, size, &m), VF_ERR_INPUT);
        if (!strstr(vf_context_message(ctx), why[i]))
            fail_msg("%s", vf_context_message(ctx));
        assert_null(m.x);
    }
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        const size_t size = make_coor(bytes, counts[i], false);
        assert_int_equal(parse_coor("m.coor", bytes, size, &m), VF_ERR_INPUT);
        assert_non_null(strstr(vf_context_message(ctx), "76 bytes do not fit"));
    }
    for (size_t size = 1; size < 76; size++) { /* truncated anywhere */
        make_coor(bytes, 3, false);
        assert_int_equal(parse_coor("m.coor", bytes, size, &m), VF_ERR_INPUT);
        assert_non_null(strstr(vf_context_message(ctx), "m.coor"));
    }
}

/* ---- cells of NAMD ---- */

static const char xsc[] = "# NAMD extended system configuration output file\n"
                          "#$LABELS step a_x a_y a_z b_x b_y b_z c_x c_y c_z o_x o_y o_z s_x s_y s_z s_u s_v s_w\n"
                          "1000 60 0 0 0 50 0 0 0 40 1 2 3 0 0 0 0 0 0\n"
                          "2000 30 0 0 3 40 0 0 -4 50.5 1 2 3 0 0 0 0 0 0\n";

static vf_status cell_of(const char *text, unit_cell *out)
{
    char *copy = copy_exactly(text, strlen(text));
    vf_context_clear_error(ctx);
    const vf_status status = parse_cell(ctx, "m.xsc", copy, strlen(text), out, NULL);
    free(copy);
    return status;
}

static void reads_xsc(void **state)
{
    (void)state;
    const double degrees = 180 / 3.14159265358979323846, b = sqrt(1609), c = sqrt(16 + 50.5 * 50.5);
    const double want[6] = {30, b, c, degrees * acos(-160 / (b * c)), 90, degrees * acos(3 / b)};
    unit_cell cell;
    assert_int_equal(cell_of(xsc, &cell), VF_OK);
    assert_int_equal(cell.state, UNIT_CELL_NUMBERS);
    for (int i = 0; i < 6; i++) /* a few roundings of numbers below 180 */
        if (!(fabs((i < 3 ? cell.lengths[i] : cell.angles[i - 3]) - want[i]) < 1e-12))
            fail_msg("%d: %.17g", i, i < 3 ? cell.lengths[i] : cell.angles[i - 3]);
    assert_int_equal(cell_of(with(xsc, "30 0 0", "30 1 0"), &cell), VF_OK);
    assert_int_equal(cell.state, UNIT_CELL_TURNED);
    assert_int_equal(cell_of(with(xsc, "50.5", "0"), &cell), VF_OK);
    assert_int_equal(cell.state, UNIT_CELL_BAD);
}

static void rejects_xsc(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to, *why;
    } damage[] = {
        {" c_x c_y c_z", "", "m.xsc:2: |periodic in three directions"},
        {"2000 30 0 0 3 40 0 0 -4 50.5 1 2 3 0 0 0 0 0 0\n", "2000 30 0 0 3 40 0 0 -4\n", "m.xsc:4: |9 words|c_z"},
        {"50.5", "5x", "m.xsc:4: c_z: '5x'"},
        {"50.5", "nan", "m.xsc:4: c_z: 'nan'"},
        {"50.5", "1e999", "m.xsc:4: c_z"},
        {"1000 60 0 0 0 50 0 0 0 40 1 2 3 0 0 0 0 0 0\n2000 30 0 0 3 40 0 0 -4 50.5 1 2 3 0 0 0 0 0 0\n", "",
         "no line with a cell"}};
    unit_cell cell;
    for (size_t i = 0; i < sizeof damage / sizeof *damage; i++) {
        assert_int_equal(cell_of(with(xsc, damage[i].from, damage[i].to), &cell), VF_ERR_INPUT);
        if (!contains_all(vf_context_message(ctx), damage[i].why))
            fail_msg("%s, not '%s'", vf_context_message(ctx), damage[i].why);
    }
    vf_context_clear_error(ctx);
}

TEST_MAIN(set_up_context, close_context, cmocka_unit_test(reads_crd), cmocka_unit_test(rejects_crd),
          cmocka_unit_test(reads_coor), cmocka_unit_test(rejects_coor), cmocka_unit_test(reads_xsc),
          cmocka_unit_test(rejects_xsc))
