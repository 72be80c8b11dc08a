/* Molecules in two files, coordinates (PDB, inpcrd) and charges (PSF, prmtop): values are read exactly, and files
 * that do not match are rejected, with file, line and columns.
 */
#include <float.h>
#include <math.h>
#include <sys/stat.h>
#include <zlib.h>

#include "molecule_fixture.h"
#include "voxfield/append.h"

enum { TEXT = 1 << 13 };

static const char pdb[] = "REMARK   1 three atoms\n"
                          "ATOM      1  N   ALA A   1      13.120  39.003   5.159  1.00 20.00           N\n"
                          "ATOM      2 1HB  ALA A   1      14.120 -39.003   5.259  1.00 20.00           H\n"
                          "TER       3      ALA A   1\n"
                          "HETATM    4 OH2  TIP3WA00Z    -999.9999999.999  -0.001  1.00 20.00      WAT  O\n"
                          "END\n";
static const char psf[] = "PSF CMAP\n\n"
                          "       2 !NTITLE\n REMARKS a title\n    5 !NATOM in a title\n\n"
                          "       3 !NATOM\n"
                          "       1 PROT 1    ALA  N    NH3   -0.300000       14.0070           0\n"
                          "       2 PROT 1    ALA  HB1  HA     0.090000        1.0080           0\n"
                          "       3 WAT  1    TIP3 OH2  OT    -0.790000       15.9994           0\n\n"
                          "       0 !NBOND: bonds\n";
static const char rst7[] = "any title\n    3  0.1000000E+02\n"
                           "  13.1200000  39.0030000   5.1590000  14.1200000 -39.0030000   5.2590000\n"
                           "-999.99900009999.9990000  -0.0010000\n";
static const char box[] = "  10.0000000  10.0000000  10.0000000  90.0000000  90.0000000  90.0000000\n";
static const char prmtop[] =
    "%VERSION  VERSION_STAMP = V0001.000  DATE = 05/22/06  12:10:21\n"
    "%FLAG TITLE\n%FORMAT(20a4)\ntitle\n"
    "%FLAG POINTERS\n%FORMAT(10I8)\n"
    "       3       1       0       0       0       0       0       0       0       0\n"
    "       0       2       0       0       0       0       0       0       0       0\n"
    "%FLAG ATOM_NAME\n%FORMAT(20a4)\nN   HB1 OH2 \n"
    "%FLAG CHARGE\n%COMMENT of the charges\n%FORMAT(2E16.8)\n -5.46669000E+00  1.64000700E+00\n -1.43956170E+01\n"
    "%FLAG RESIDUE_LABEL\n%FORMAT(20a4)\nALA WAT\n"
    "%FLAG RESIDUE_POINTER\n%FORMAT(10I8)\n       1       3\n"
    "%FLAG RADII\n%FORMAT(5E16.8)\n  1.55000000E+00  1.20000000E+00  1.50000000E+00\n";

/* ---- tools ---- */

static void expect_refused(const char *places, const char *charges, const char *words)
{
    molecule m;
    vf_status status = parse_two(places, charges, &m);
    if (status != VF_ERR_INPUT)
        fail_msg("%s instead of an error with '%s'\n%.600s\n%.600s", vf_status_name(status), words, places, charges);
    if (!contains_all(vf_context_message(ctx), words))
        fail_msg("'%s' lacks one of '%s'", vf_context_message(ctx), words);
    assert_null(m.x);
    assert_null(m.labels);
    assert_int_equal(m.atoms, 0);
}

/* `text` with the first `from` replaced, which must exist. Three results are valid at a time. */
static const char *with(const char *text, const char *from, const char *to)
{
    static char results[3][TEXT];
    static int turn;
    const char *at = strstr(text, from);
    char *result = results[turn = (turn + 1) % 3];
    assert_non_null(at);
    const size_t before = (size_t)(at - text), after = strlen(at + strlen(from)) + 1;
    assert_true(before + strlen(to) + after <= TEXT);
    memcpy(result, text, before);
    memcpy(result + before, to, strlen(to));
    memcpy(result + before + strlen(to), at + strlen(from), after);
    return result;
}

static const double three_places[3][3] = {
    {13.12, 39.003, 5.159}, {14.12, -39.003, 5.259}, {-999.999, 9999.999, -0.001}};
static const double psf_charges[3] = {-0.3, 0.09, -0.79}, no_radii[3] = {0, 0, 0};
static const double prmtop_charges[3] = {-5.46669 / 18.2223, 1.640007 / 18.2223, -14.395617 / 18.2223};
static const double prmtop_radii[3] = {1.55, 1.2, 1.5};

/* ---- valid files ---- */

/* What chamber writes for 0.1, -0.3 and 0.33 e: it multiplies by sqrt(332.0716), wherever the file has its title. Its 17 digits are
 * exact; its product and the quotient are rounded, each by at most half of DBL_EPSILON of the charge. */
static void reads_charges_of_chamber(void **state)
{
    (void)state;
    static const double charges[3] = {0.1, -0.3, 0.33};
    static const char title[] = "%FLAG TITLE\n%FORMAT(20a4)\ntitle\n", ctitle[] = "%FLAG CTITLE\n%FORMAT(a80)\n\n";
    const char *const stored = with(prmtop, "%FORMAT(2E16.8)\n -5.46669000E+00  1.64000700E+00\n -1.43956170E+01\n",
                                    "%FORMAT(3E24.16)\n  1.8222831832621407E+00 -5.4668495497864216E+00"
                                    "  6.0135345047650643E+00\n");
    for (int last = 0; last < 2; last++) {
        char text[2 * TEXT];
        molecule m;
        snprintf(text, sizeof text, "%s%s", with(stored, title, last ? "" : ctitle), last ? ctitle : "");
        expect_read(rst7, text, &m);
        for (int i = 0; i < 3; i++)
            assert_true(fabs(m.charge[i] - charges[i]) <= DBL_EPSILON * fabs(charges[i]));
        molecule_free(&m);
    }
}

/* Old AMBER coordinates have three lengths; the angle is in the prmtop file, and of an octahedron it is all three. */
static void takes_angles_of_the_prmtop(void **state)
{
    (void)state;
    static const struct {
        const char *beta;
        double angles[3];
    } boxes[] = {{"  1.09471219E+02", {109.471219, 109.471219, 109.471219}},
                 {"  6.00000000E+01", {60, 90, 60}},
                 {"  1.00500000E+02", {90, 100.5, 90}},
                 {"  0.00000000E+00", {90, 90, 90}},
                 {NULL, {90, 90, 90}}};
    for (size_t i = 0; i < sizeof boxes / sizeof *boxes; i++)
        for (int whole = 0; whole < 2; whole++) {
            char places[TEXT], charges[TEXT];
            molecule m;
            snprintf(places, sizeof places, "%s%s", rst7, whole ? box : "  40.0000000  41.0000000  42.0000000\n");
            snprintf(charges, sizeof charges, "%s%s%s%s", prmtop,
                     boxes[i].beta ? "%FLAG BOX_DIMENSIONS\n%FORMAT(5E16.8)\n" : "", boxes[i].beta ? boxes[i].beta : "",
                     boxes[i].beta ? "  4.48903851E+01  4.48903851E+01  4.48903851E+01\n" : "");
            expect_read(places, charges, &m);
            assert_int_equal(m.cell.state, UNIT_CELL_NUMBERS);
            for (int a = 0; a < 3; a++) {
                assert_true(m.cell.lengths[a] == (whole ? 10 : 40 + a));
                assert_true(m.cell.angles[a] == (whole ? 90 : boxes[i].angles[a]));
            }
            molecule_free(&m);
        }
}

static void reads_every_pair_of_files(void **state)
{
    (void)state;
    expect_molecule(pdb, psf, three_places, psf_charges, no_radii, 3);
    assert_string_equal(warnings,
                        "(note) note: m.xyz: the residue numbers of 1 atom are taken from m.chg, which has others; "
                        "the records of the structure still have the old ones\n"
                        "(note) note: m.chg has no radii; using 0\n");
    expect_molecule(rst7, psf, three_places, psf_charges, no_radii, 3);
    expect_molecule(rst7, prmtop, three_places, prmtop_charges, prmtop_radii, 3);
    assert_string_equal(warnings, "");
    expect_molecule(pdb, prmtop, three_places, prmtop_charges, prmtop_radii, 3);

    molecule m;
    expect_read(pdb, psf, &m);
    assert_string_equal(m.dialect, "PDB with charges of PSF");
    assert_true(m.lo[0] == -999.999 && m.hi[0] == 14.12 && m.lo[1] == -39.003 && m.hi[1] == 9999.999);
    assert_true(m.lo[2] == -0.001 && m.hi[2] == 5.259);
    assert_true(fabs(m.total_charge + 1) <= 3e-16); /* -0.3 + 0.09 - 0.79: three roundings to half a unit in 2^-53 */
    molecule_free(&m);
}

static void keeps_labels_of_both_files(void **state)
{
    (void)state;
    molecule m;
    expect_read(pdb, psf, &m);
    expect_label(&m.labels[1],
                 &(atom_label){.name = "1HB", .residue = "ALA", .chain = "A", .element = "H", .residue_number = 1},
                 "PDB");
    expect_label(
        &m.labels[2],
        &(atom_label){
            .name = "OH2", .residue = "TIP3", .chain = "W", .element = "O", .hetero = true, .residue_number = 1},
        "PDB, with the number of the PSF");
    molecule_free(&m);
    expect_read(pdb, prmtop, &m); /* which only counts residues: its numbers replace those that are not plain */
    assert_int_equal(m.labels[2].residue_number, 2);
    molecule_free(&m);
    expect_read(with(pdb, "WA00Z", "W  77"), prmtop, &m);
    assert_int_equal(m.labels[2].residue_number, 77);
    molecule_free(&m);
    expect_read(with(pdb, "ALA A   1 ", "ALA   -12B"), with(psf, "PROT 1   ", "PROT -12B"),
                &m); /* the segment if the PDB file has no chain */
    expect_label(
        &m.labels[0],
        &(atom_label){
            .name = "N", .residue = "ALA", .chain = "PROT", .element = "N", .residue_number = -12, .insertion = 'B'},
        "PDB without a chain");
    molecule_free(&m);
    expect_read(rst7, with(psf, "PROT 1   ", "PROT 7A  "), &m);
    expect_label(&m.labels[0],
                 &(atom_label){.name = "N", .residue = "ALA", .chain = "PROT", .residue_number = 7, .insertion = 'A'},
                 "PSF");
    molecule_free(&m);
    expect_read(pdb, with(psf, "PROT 1   ", "PROT x   "), &m); /* a label never stops a run */
    assert_int_equal(m.labels[0].residue_number, 1);
    molecule_free(&m);
    expect_read(rst7, with(psf, "PROT 1   ", "PROT x   "), &m);
    assert_string_equal(m.labels[0].number_text, "x");
    molecule_free(&m);
    expect_read(rst7, prmtop, &m);
    expect_label(&m.labels[1], &(atom_label){.name = "HB1", .residue = "ALA", .residue_number = 1}, "prmtop");
    expect_label(&m.labels[2], &(atom_label){.name = "OH2", .residue = "WAT", .residue_number = 2}, "prmtop");
    molecule_free(&m);
}

static void reads_every_form_of_psf(void **state)
{
    (void)state;
    static const char *const forms[] = {
        /* blank segments; numbers for types; CHEQ; a lone pair */
        "PSF CHEQ\n\n       1 !NTITLE\n* TITLE\n\n       3 !NATOM: atoms\n"
        "       1      1    ALA  N      54 -0.300000       14.0070           0   0.00000     -0.301140E-02\n"
        "       2      1    ALA  HB1     6 0.900000E-01   1.00800           0   0.00000     -0.301140E-02\n"
        "       3      1         OH2    75 -0.790000       0.00000          -1   0.00000     -0.301140E-02\n",
        "PSF EXT CMAP XPLOR\n\n         3 !NATOM\n" /* types of six columns */
        "         1 PROT     1        ALA      N        NH3    -0.300000       14.0070           0\n"
        "         2          1        ALA      HB1      HA      0.900000E-01   1.00800           0\n"
        "         3 W        1        TIP3     OH2      OT     -0.790000       15.9994           0\n",
        "PSF EXT CMAP CHEQ XPLOR\n\n         3 !NATOM\n" /* of four */
        "         1          1        ALA      N        NH3  -0.300000       14.0070           0   0.000000      0.0\n"
        "         2          1        ALA      HB1      HA    0.900000E-01   1.00800           0   0.000000      0.0\n"
        "         3          1        TIP3     OH2      OT   -0.790000       15.9994           0   0.000000      0.0\n",
        "PSF NAMD\n\n 3 !NATOM\n1 P 1 ALA N LONGTYPE7 -0.3 14.007 0\n2 SEGMENT8 1A ALA HB1 HA 9e-2 1.008 0\n"
        "3 W A000 TIP3 OH2 LP -0.79 0.0 -1\n",
        "PSF EXT CMAP DRUDE XPLOR\n\n         3 !NATOM\n"
        "         1 P        1        ALA      N        ND2A1   -0.300000       14.0070           0  -1.69230  1.0 F\n"
        "         2 P        1        ALA      HB1      HDA1    0.900000E-01   1.00800          -1   0.00000  0.0 F\n"
        "         3 W        1        SWM4     OH2      ODW    -0.790000       15.9994           0   0.00000  0.0 F\n",
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        expect_molecule(rst7, forms[i], three_places, psf_charges, no_radii, 3);
}

static void reads_ends_of_lines_and_models(void **state)
{
    (void)state;
    char text[TEXT], model[TEXT];
    size_t n = 0;
    for (const char *p = pdb; *p; p++) {
        if (*p == '\n')
            text[n++] = '\r';
        text[n++] = *p;
    }
    text[n] = '\0';
    expect_molecule(text, psf, three_places, psf_charges, no_radii, 3);
    snprintf(model, sizeof model, "MODEL        1\n%sMODEL        2\n%s", with(pdb, "END\n", "ENDMDL\n"), pdb);
    expect_molecule(model, psf, three_places, psf_charges, no_radii, 3);
    assert_true(contains_all(warnings, "only the first of 2 models"));
    snprintf(model, sizeof model, "MODEL        1\n%sMODEL        2\n%s", with(pdb, "END\n", ""), pdb); /* no ENDMDL */
    expect_molecule(model, psf, three_places, psf_charges, no_radii, 3);
    snprintf(text, sizeof text, "%s%s", pdb, pdb);
    expect_molecule(text, psf, three_places, psf_charges, no_radii, 3);
    assert_true(contains_all(warnings, "m.xyz:6:|3 later atoms"));
    expect_molecule(with(pdb, "REMARK", "WHATIS"), psf, three_places, psf_charges, no_radii, 3);
    assert_true(contains_all(warnings, "m.xyz:1:|'WHATIS' is not a record"));
    snprintf(text, sizeof text, "%s%s", rst7, box);
    expect_molecule(text, psf, three_places, psf_charges, no_radii, 3);
    snprintf(text, sizeof text, "%s%s%s%s", rst7, box, box, box); /* velocities of three atoms take two lines */
    expect_molecule(text, psf, three_places, psf_charges, no_radii, 3);
}

static void keeps_one_conformer(void **state)
{
    (void)state;
    static const char first[] = "ATOM      2 1HB AALA A   1      14.120 -39.003   5.259  0.60 20.00           H\n";
    static const char others[] = "ATOM      2 1HB AALA A   1      14.120 -39.003   5.259  0.60 20.00           H\n"
                                 "ATOM      3 1HB BALA A   1      14.220 -39.003 999.259  0.30 20.00           H\n"
                                 "ATOM      3 1HB CSER A   1      14.220 -39.003-999.259  0.10 20.00           H\n"
                                 "ATOM      3  OG CSER A   1      14.220 -39.003-999.259  0.10 20.00           O\n";
    static const char plain[] = "ATOM      2 1HB  ALA A   1      14.120 -39.003   5.259  1.00 20.00           H\n";
    molecule m;
    expect_molecule(with(pdb, plain, first), psf, three_places, psf_charges, no_radii, 3);
    assert_null(strstr(warnings, "alternate"));
    expect_molecule(with(pdb, plain, others), psf, three_places, psf_charges, no_radii, 3);
    assert_true(contains_all(warnings, "m.xyz: |1 residue has alternate locations|of ALA 1 of A letter A, occupancy "
                                       "0.60|3 atoms are left out|--altloc"));
    expect_read(with(pdb, plain, others), psf, &m);
    assert_true(m.hi[2] == 5.259 && m.lo[2] == -0.001); /* bounds of the atoms that are kept */
    assert_string_equal(m.labels[2].name, "OH2");
    molecule_free(&m);
    /* The same names in another residue, or with another insertion code, are other atoms. */
    expect_refused(with(with(pdb, plain, others), "BALA A   1 ", "BALA A   1X"), psf, "has 4 atoms|3;");
}

static void reads_names_with_rotated_digits(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {{" N  ", "N"},   {"1HB ", "HB1"}, {"HB1 ", "1HB"}, {"1HG1", "HG11"},
                                           {" HB1", "HB1"}, {"12H ", "H12"}, {"2H5*", "H5*2"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        char charges[TEXT], line[80];
        molecule m;
        snprintf(line, sizeof line, "ATOM      1 %s ALA A   1      13.120  39.003   5.159\n", pairs[i][0]);
        snprintf(charges, sizeof charges, "PSF NAMD\n1 !NATOM\n1 P 1 ALA %s T 1.0 1.0 0\n", pairs[i][1]);
        expect_read(line, charges, &m);
        molecule_free(&m);
    }
    expect_refused(with(pdb, "1HB ", "1HG "), psf, "m.xyz: atom 2|'1HG' (ALA 1)|m.chg|'HB1' (ALA 1)|same order");
    expect_refused(with(pdb, "1HB ", "B1H "), psf, "'B1H'");
    expect_refused(with(pdb, "1HB ", "2HB "), psf, "'2HB'");
    expect_refused(with(pdb, " N  ", " n  "), psf, "atom 1");
}

static void digests_both_texts(void **state)
{
    (void)state;
    char both[2 * TEXT], expected[VF_DIGEST_TEXT];
    molecule m;
    snprintf(both, sizeof both, "%s%s", pdb, psf);
    vf_digest(both, strlen(both), expected);
    expect_read(pdb, psf, &m);
    assert_string_equal(m.digest, expected);
    molecule_free(&m);
}

static void warns_of_charges(void **state)
{
    (void)state;
    molecule m;
    expect_read(pdb, with(psf, "-0.300000", "-0.200000"), &m);
    molecule_free(&m);
    assert_true(contains_all(warnings, "m.chg: |-0.9000 e|0.1000 e from an integer"));
    expect_read("one\n    1\n  13.1200000  39.0030000   5.1590000\n", "PSF\n1 !NATOM\n1 P 1 ALA N N 0.0 14.0 0\n", &m);
    molecule_free(&m);
    assert_true(contains_all(warnings, "m.chg: |all charges are 0"));
}

/* ---- invalid files ---- */

static void refuses_damaged_pdb_files(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to, *words;
    } damages[] = {
        {"  13.120", "13.120  ", "m.xyz:2: columns 31-38 (x): '13.120  '|3 decimals"},
        {"  39.003", "    39.0", "m.xyz:2: columns 39-46 (y)|'    39.0'|cut, or the line is shifted"},
        {"   5.159", "     nan", "m.xyz:2: columns 47-54 (z)|not a finite number"},
        {"   5.159", "        ", "columns 47-54 (z)|is missing"},
        {"   5.159", "********", "columns 47-54 (z)|overflowed"},
        {"   5.159", "   5,159", "decimal comma"},
        {"   5.159", "  1.e-03", "columns 47-54 (z)"},
        {"   5.159", "    1e-3", "columns 47-54 (z)"},
        {"  39.003", "39.00 03", "columns 39-46 (y)|not a number"},
        {"9999.999", "99999.99", "m.xyz:5: columns 39-46 (y)|cut"},
        {"ATOM      1", " ATOM     1", "m.xyz:2: |column 1"},
        {" N  ", "    ", "columns 13-16 (atom name)"},
        {"   5.159  1.00 20.00           N", "   5.1", "columns 47-54 (z): '   5.1'"},
        {"REMARK   1 three atoms", "END", "m.xyz:1: |ends here without atoms|3 atoms follow"},
        {"REMARK   1 three atoms", "data_x", "mmCIF"},
    };
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++)
        expect_refused(with(pdb, damages[i].from, damages[i].to), psf, damages[i].words);
    expect_refused("REMARK nothing\n", psf, "m.xyz: no atoms|ATOM or HETATM|inpcrd");
    expect_refused("", psf, "m.xyz: is empty");
}

static void refuses_damaged_inpcrd_files(void **state)
{
    (void)state;
    char text[TEXT];
    expect_refused(with(rst7, "  39.0030000", "************"), psf, "m.xyz:3: columns 13-24 (y)|overflowed|7 decimals");
    expect_refused(with(rst7, "  39.0030000", "   39.003000"), psf, "m.xyz:3: columns 13-24 (y)|shifted");
    expect_refused(with(rst7, "  39.0030000", " 39.0030000 "), psf, "m.xyz:3: columns 13-24 (y)");
    expect_refused(with(rst7, "  -0.0010000\n", "\n"), psf, "m.xyz:4: columns 25-36 (z)|missing");
    expect_refused(with(rst7, "    3 ", "    5 "), psf, "m.xyz:4: columns 37-48");
    expect_refused(with(rst7, "    3 ", "   99 "), psf, "m.xyz:4: ");
    expect_refused(with(rst7, "-999.99900009999.9990000  -0.0010000\n", ""), psf, "ends after 2 of the 3 atoms");
    snprintf(text, sizeof text, "%s%s%s%s%s", rst7, box, box, box, box);
    expect_refused(text, psf, "m.xyz:5: 4 lines follow the 3 atoms|velocities take 2");
    expect_refused("CDF\x01 and so on\n", psf, "m.xyz: |header");
    expect_refused("CDF\x02 and so on\n", psf, "m.xyz: |header");
}

/* Where a line is lost, the next one stands in its place, at last the box; and two lines may be joined. */
static void refuses_lost_lines_of_inpcrd_files(void **state)
{
    static const char two[] = "   1.0000000   2.0000000   3.0000000   4.0000000   5.0000000   6.0000000",
                      one[] = "   7.0000000   8.0000000   9.0000000",
                      slow[] = "   0.1000000   0.2000000   0.3000000   0.4000000   0.5000000   0.6000000",
                      right[] = "  40.0000000  41.0000000  42.0000000  90.0000000  90.0000000  90.0000000",
                      octahedron[] = "  40.0000000  40.0000000  40.0000000 109.4712190 109.4712190 109.4712190";
    const struct {
        int atoms;
        const char *lines[4], *words;
    } cases[] = {{3, {two, right}, "m.xyz:4: expected 3 numbers|a line is missing"},
                 {3, {two, slow, slow, right}, "m.xyz:4: expected 3 numbers"},
                 {3, {two, one, slow, right}, "m.xyz:6: |the box|place of velocities"},
                 {4, {two, right}, "m.xyz:4: |the box|place of coordinates"},
                 {4, {two, octahedron}, "m.xyz:4: |the box|place of coordinates"},
                 {4, {two, slow, slow, right}, "m.xyz:6: |the box|place of velocities"}};
    char text[TEXT];
    (void)state;
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        snprintf(text, sizeof text, "title\n%5d\n", cases[n].atoms);
        for (int i = 0; i < 4 && cases[n].lines[i]; i++)
            vf_append(text, sizeof text, "%s\n", cases[n].lines[i]);
        expect_refused(text, psf, cases[n].words);
    }
    snprintf(text, sizeof text, "title\n    3\n%s%s\n", two, one);
    expect_refused(text, psf, "m.xyz:3: expected 6 numbers|two are joined");
}

static void refuses_damaged_psf_files(void **state)
{
    (void)state;
    expect_refused(pdb, with(psf, "3 !NATOM", "2 !NATOM"), "has 3 atoms|has 2|same atoms");
    expect_refused(with(pdb, "HETATM", "REMARK"), psf, "has 2 atoms|has 3|same atoms");
    expect_refused(pdb, with(with(psf, "PROT", "    "), "PSF CMAP", "PSF NAMD"), "m.chg:8: |not an atom line");
    expect_refused(pdb, with(psf, "3 !NATOM", "4 !NATOM"), "m.chg:11: |not an atom line");
    expect_refused(pdb, with(psf, "3 !NATOM", "0 !NATOM"), "m.chg:7: |no atoms");
    expect_refused(pdb, with(psf, "2 !NTITLE", "8 !NTITLE"), "m.chg:12: '0 !NBOND: bonds'|!NATOM");
    expect_refused(pdb, with(psf, "2 !NTITLE", "1 !NTITLE"), "m.chg:6: |not an atom line");
    expect_refused(pdb, with(psf, "-0.300000", "-0,300000"), "m.chg:8: columns 35-48 (charge)|'-0,300000'|comma");
    expect_refused(pdb, with(psf, "-0.300000", "-0.3x0000"), "m.chg:8: columns 35-48 (charge)|not a number");
    expect_refused(pdb, with(psf, " N    NH3", "      NH3"), "m.chg:8: |no name");
    expect_refused(pdb, "PSF NAMD\n\n3 !NATOM\n1 1 ALA N NH3 -0.3 14.007 0\n", "m.chg:4: |not an atom line");
    expect_refused(pdb, "PSF\n\n3 !NATOM\n1 P 1 ALA N NH3 -0.3 14.007 0\n", "ends after 1 of the 3 atoms");
    expect_refused(pdb, with(psf, "3 !NATOM", "11111111111111111111 !NATOM"), "m.chg:7: |!NATOM");
    expect_refused(pdb, "PSF\n\n", "ends before|!NATOM");
    expect_refused(pdb, "PSF\n1 !NATOM\n1 P 1 ALA N NH3 1e10 14.0 0\n", "m.chg:3: columns 17-20 (charge)|beyond");
    expect_refused(pdb, pdb, "m.chg: neither a PSF|prmtop");
    expect_refused(psf, pdb, "m.xyz: this file has charges but no coordinates|--charges");
}

static void refuses_damaged_prmtop_files(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to, *words;
    } damages[] = {
        {"FLAG CHARGE\n", "FLAG CHARGES\n", "m.chg: section %FLAG CHARGE is missing"},
        {"TITLE\n%FORMAT(20a4)", "CHARGE\n%FORMAT(5E16.8)", "duplicate section CHARGE"},
        {"(2E16.8)", "(2X16.8)", "m.chg:14: |%FORMAT of section CHARGE"},
        {"%FORMAT(2E16.8)\n", "", "m.chg:14: |%FORMAT of section CHARGE"},
        {"(10I8)", "(10I8", "%FORMAT of section POINTERS"},
        {"(10I8)", "(10I8x)", "%FORMAT of section POINTERS"},
        {"(10I8)", "(0I8)", "%FORMAT of section POINTERS"},
        {"(10I8)", "(10I99999999999999999999999)", "%FORMAT of section POINTERS"},
        {"-5.46669000E+00", "-5.46669000D+00", "m.chg:15: columns 1-16 (CHARGE)|Fortran"},
        {" -5.46669000E+00", "                ", "m.chg:15: columns 1-16 (CHARGE)|missing"},
        {" -1.43956170E+01\n", "", "section CHARGE ends here after 2 of 3 values"},
        {" -1.43956170E+01", " -1.43956170E+01  1.00000000E+00", "section CHARGE has more than the 3 values"},
        {"N   HB1 OH2 \n", "", "section ATOM_NAME ends here after 0 of 3 values"},
        {"N   HB1 OH2 ", "N   HB1 OH2 C   ", "section ATOM_NAME has more"},
        {"       1       3\n", "       1       1\n", "RESIDUE_POINTER: residue 2 cannot begin with atom 1"},
        {"       1       3\n", "       1       4\n", "RESIDUE_POINTER: residue 2 cannot begin with atom 4"},
        {"       1       3\n", "       2       3\n", "RESIDUE_POINTER: residue 1 cannot begin with atom 2"},
        {"       1       3\n", "     1.5       3\n", "1.5 is not an integer"},
        {"       0       2 ", "       0       4 ", "3 atoms in 4 residues"},
        {"       3       1", "       0       1", "0 atoms in 2 residues"},
        {"       3       1", "       2       1", "has more than the 2 values"},
        {"  1.55000000E+00", " -1.55000000E+00", "RADII: -1.55 is negative"},
        {"%FLAG TITLE", "%FLAG AMOEBA_FORCEFIELD", "m.chg:2: |AMOEBA"},
    };
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++)
        expect_refused(pdb, with(prmtop, damages[i].from, damages[i].to), damages[i].words);
}

/* ---- files ---- */

static void reads_files_plain_and_compressed(void **state)
{
    (void)state;
    char folder[128], first[160], second[160];
    const char *base = getenv("TMPDIR");
    molecule m;
    snprintf(folder, sizeof folder, "%.80s/test_molecule.XXXXXX", base ? base : "/tmp");
    assert_non_null(mkdtemp(folder));
    snprintf(first, sizeof first, "%s/m.pdb.gz", folder);
    snprintf(second, sizeof second, "%s/m.psf", folder);
    gzFile packed = gzopen(first, "wb");
    assert_non_null(packed);
    assert_int_equal(gzwrite(packed, pdb, sizeof pdb - 1), (int)sizeof pdb - 1);
    assert_int_equal(gzclose(packed), Z_OK);
    FILE *file = fopen(second, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(psf, 1, sizeof psf - 1, file), sizeof psf - 1);
    assert_int_equal(fclose(file), 0);
    vf_context_clear_error(ctx);
    assert_int_equal(read_molecule_with_charges(ctx, first, second, &m), VF_OK);
    assert_int_equal(m.atoms, 3);
    molecule_free(&m);
    assert_int_equal(unlink(second), 0);
    assert_int_equal(read_molecule_with_charges(ctx, first, second, &m), VF_ERR_INPUT);
    assert_true(contains_all(vf_context_message(ctx), "m.psf|No such file"));
    assert_null(m.x);
    unlink(first);
    rmdir(folder);
}

TEST_MAIN(set_up_context, close_context, cmocka_unit_test(reads_every_pair_of_files),
          cmocka_unit_test(reads_charges_of_chamber), cmocka_unit_test(takes_angles_of_the_prmtop),
          cmocka_unit_test(keeps_labels_of_both_files), cmocka_unit_test(reads_every_form_of_psf),
          cmocka_unit_test(reads_ends_of_lines_and_models), cmocka_unit_test(keeps_one_conformer),
          cmocka_unit_test(reads_names_with_rotated_digits), cmocka_unit_test(digests_both_texts),
          cmocka_unit_test(warns_of_charges), cmocka_unit_test(refuses_damaged_pdb_files),
          cmocka_unit_test(refuses_damaged_inpcrd_files), cmocka_unit_test(refuses_lost_lines_of_inpcrd_files),
          cmocka_unit_test(refuses_damaged_psf_files), cmocka_unit_test(refuses_damaged_prmtop_files),
          cmocka_unit_test(reads_files_plain_and_compressed))
