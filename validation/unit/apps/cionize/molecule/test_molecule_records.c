/* What PDB, PQR and other files say beside positions: records, bonds, chains and segments, conformers, and positions that
 * are none. */
#include <math.h>

#include "molecule/choose_conformer.h"
#include "molecule/molecule_arrays.h"
#include "molecule_fixture.h"

enum { TEXT = 8000 };

/* A PSF of the atoms of a PDB or PQR text, without charges: names alone are compared. */
static const char *psf_of(const char *const *names, int count)
{
    static char text[TEXT];
    snprintf(text, sizeof text, "PSF NAMD\n\n%d !NATOM\n", count);
    for (int i = 0; i < count; i++)
        vf_append(text, sizeof text, "%d S %d RES %s T %s 12.0 0\n", i + 1, i + 1, names[i], i ? "0.0" : "1.0");
    return text;
}

static const char head[] = "HEADER    HYDROLASE                               01-JAN-00   1ABC\n"
                           "TITLE     A TITLE\n"
                           "REMARK   6\n"
                           "REMARK   6 cionize (Voxfield) 0.1.0: 3 ions\n"
                           "REMARK   6 of others\n"
                           "SSBOND   1 CYS A    1    CYS A    2\n"
                           "CRYST1   40.000   50.000   60.000  90.00 100.00  90.00 P 1 21 1      4\n"
                           "MODEL        3\n";

static void keeps_records(void **state)
{
    (void)state;
    static const char *const names[] = {"N", "CA", "OH2"};
    char text[TEXT];
    molecule m;
    snprintf(text, sizeof text,
             "%sATOM      7  N   CYS A   1       1.000   2.000   3.000  0.50 12.34      PROT N1+\n"
             "ANISOU    7  N   CYS A   1        1      2      3      4      5      6       N\n"
             "TER       8      CYS A   1\n"
             "ATOM      9  CA  CYS A   2       4.000   5.000   6.000                          \n"
             "TER\n"
             "HETATM   12  OH2 WAT     3       7.000   8.000   9.000  1.00  0.00      WTR  O  \n"
             "ENDMDL\n"
             "CONECT    7    9   12\n"
             "CONECT   12    7    7\n"
             "MASTER        0\n"
             "END\n"
             "CONECT    9    7\n",
             head);
    expect_read(text, psf_of(names, 3), &m);
    assert_string_equal(m.records.lines, "HEADER    HYDROLASE                               01-JAN-00   1ABC\n"
                                         "TITLE     A TITLE\n"
                                         "REMARK   6 of others\n"
                                         "SSBOND   1 CYS A    1    CYS A    2\n"
                                         "CRYST1   40.000   50.000   60.000  90.00 100.00  90.00 P 1 21 1      4\n");
    assert_int_equal(m.records.model_number, 3);
    static const int64_t bonds[][2] = {{0, 1}, {0, 2}, {2, 0}, {2, 0}}; /* the one after END is not of this model */
    assert_int_equal(m.records.bonds, 4);
    assert_memory_equal(m.records.bond, bonds, sizeof bonds);
    const atom_label *l = m.labels;
    assert_true(l[0].occupancy == 0.5F && l[0].b_factor == 12.34F && l[1].occupancy == 1 && l[1].b_factor == 0);
    assert_string_equal(l[0].segment, "PROT");
    assert_string_equal(l[0].formal_charge, "1+");
    assert_string_equal(l[1].segment, "S"); /* of the PSF, since the PDB has none */
    assert_string_equal(l[1].chain, "A");
    assert_string_equal(l[2].chain, "WTR"); /* the segment in the chain's place */
    assert_string_equal(l[2].formal_charge, "");
    assert_true(l[0].ends_chain && l[1].ends_chain && !l[2].ends_chain && l[2].hetero);
    molecule_free(&m);
}

static void ignores_what_looks_like_segments(void **state)
{
    (void)state;
    static const char *const names[] = {"N"};
    molecule m;
    /* Before version 2, columns 73-80 had the file's code and the line's number. */
    expect_read("ATOM      1  N   CYS     1       1.000   2.000   3.000  1.00  0.00      1ABC 123\n", psf_of(names, 1),
                &m);
    assert_string_equal(m.labels[0].segment, "S");
    assert_string_equal(m.labels[0].chain, "S");
    assert_string_equal(m.labels[0].element, "");
    molecule_free(&m);
}

/* Serial numbers beyond 99,999 in four ways, and how CONECT repeats them. */
static void finds_atoms_of_bonds(void **state)
{
    (void)state;
    static const char *const names[] = {"N", "CA", "C"};
    static const struct {
        const char *serials[3]; /* columns 7-11, or more */
        const char *conect, *warning;
        int bonds;
    } cases[] = {
        {{"99999", "A0000", "A0001"}, "CONECTA000099999A0001\n", "", 2},
        {{"99999", "186a0", "186a1"}, "CONECT186a099999186a1\n", "", 2},
        {{"99999", "100000", "100001"}, "CONECT100000 99999100001\n", "", 2}, /* columns of six */
        {{"99999", "100000", "100001"}, "CONECT 100000 99999 100001\n", "", 2},
        {{"    1", "    2", "    3"},
         "CONECT    2    1    9    3\n",
         "m.xyz:4: CONECT: no atom has|'9'; 1 such number",
         2},
        {{"    1", "*****", "*****"}, "CONECT    1*****\n", "several atoms have the serial number '*****'", 0},
        {{"    1", "00002", "    3"}, "CONECT    2    1\nCONECT    3    2\n", "", 2},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        char text[TEXT] = "";
        molecule m;
        for (int i = 0; i < 3; i++)
            vf_append(text, sizeof text, "ATOM  %s%s %-3s ALA A   1    %8.3f   2.000   3.000\n", cases[c].serials[i],
                      strlen(cases[c].serials[i]) > 5 ? " " : " ", i ? (i == 1 ? " CA" : " C") : " N", i + 1.0);
        vf_append(text, sizeof text, "%s", cases[c].conect);
        expect_read(text, psf_of(names, 3), &m);
        assert_int_equal(m.records.bonds, cases[c].bonds);
        for (int64_t b = 0; b < m.records.bonds; b++)
            assert_true(m.records.bond[b][0] != m.records.bond[b][1] && m.records.bond[b][0] >= 0);
        if (!(*cases[c].warning ? contains_all(warnings, cases[c].warning) : !strstr(warnings, "CONECT")))
            fail_msg("%s", warnings);
        assert_string_equal(m.labels[1].name, "CA");
        assert_true(m.x[1] == 2);
        molecule_free(&m);
    }
}

/* ---- chains of two letters ---- */

static void expect_chain(const char *text, int atoms, const char *residue, const char *chain)
{
    static const char *const names[] = {"N", "N", "N", "N"};
    molecule m;
    expect_read(text, psf_of(names, atoms), &m);
    if (strcmp(m.labels[0].residue, residue) != 0 || strcmp(m.labels[0].chain, chain) != 0)
        fail_msg("'%s' '%s', not '%s' '%s'", m.labels[0].residue, m.labels[0].chain, residue, chain);
    molecule_free(&m);
}

#define LINE(residue, number) "ATOM      1  N   " residue " " number "     " number ".000   2.000   3.000\n"

static void tells_chains_of_two_letters(void **state)
{
    (void)state;
    expect_chain(LINE("ALAAB", "  1") LINE("GLYAB", "  2"), 2, "ALA", "AB");
    expect_chain(LINE(" DAAB", "  1") LINE(" DCAB", "  2"), 2, "DA", "AB");
    expect_chain(LINE("HOHAB", "  1") LINE("HOHAB", "  2"), 2, "HOH", "AB");
    expect_chain(LINE("NAGAB", "  1") "TER\n" LINE("ALAAB", "  1") LINE("GLYAB", "  2"), 3, "NAG", "AB");
    /* Names of four letters: */
    expect_chain(LINE("TIP3W", "  1") LINE("TIP3W", "  2"), 2, "TIP3", "W");
    expect_chain(LINE("ALADA", "  1"), 1, "ALAD", "A");
    expect_chain(LINE("LYSHA", "  1") LINE("HISHA", "  2") LINE("ALA A", "  3"), 3, "LYSH", "A");
    expect_chain(LINE("DPPCL", "  1") LINE("POPCL", "  2"), 2, "DPPC", "L");
    expect_chain(LINE(" ALAB", "  1") LINE(" GLYB", "  2"), 2, "ALA", "B"); /* right-aligned */
}

static void reads_names_of_five_letters(void **state)
{
    (void)state;
    static const char *const five[] = {"C1134", "C1135"}, *const four[] = {"C113", "C113"};
    static const char text[] = "ATOM      1 C1134LIG A   1       1.000   2.000   3.000\n"
                               "ATOM      2 C1135LIG A   1       2.000   2.000   3.000\n";
    molecule m;
    expect_read(text, psf_of(five, 2), &m);
    assert_int_equal(m.atoms, 2);
    assert_string_equal(m.labels[1].name, "C1135");
    assert_true(m.labels[1].alternate == '\0');
    assert_null(strstr(warnings, "alternate"));
    molecule_free(&m);
    expect_read(text, psf_of(four, 1), &m); /* alternate locations 4 and 5 */
    assert_int_equal(m.atoms, 1);
    assert_string_equal(m.labels[0].name, "C113");
    molecule_free(&m);
    expect_read("ATOM      1 C113 LIG A   1       1.000   2.000   3.000\n", psf_of(five, 1), &m); /* cut */
    assert_string_equal(m.labels[0].name, "C1134");
    molecule_free(&m);
}

/* ---- conformers ---- */

typedef struct place {
    const char *name, *residue;
    char letter; /* ' ': none */
    double occupancy;
} place;

enum { MOST = 12 };

/* The atoms that are kept of one residue, by index, as a text. */
static const char *kept(const place *places, conformer_choice choice)
{
    static char result[64];
    molecule m = {0};
    int count = 0;
    while (count < MOST && places[count].name)
        count++;
    assert_true(molecule_resize(&m, count));
    m.records.bond = calloc(MOST, sizeof *m.records.bond);
    assert_non_null(m.records.bond);
    for (int i = 0; i < count; i++) {
        const double xyz[3] = {i, 1, 2};
        m.labels[i] = (atom_label){.occupancy = (float)places[i].occupancy, .residue_number = 7};
        snprintf(m.labels[i].name, sizeof m.labels[i].name, "%s", places[i].name);
        snprintf(m.labels[i].residue, sizeof m.labels[i].residue, "%s", places[i].residue);
        m.labels[i].alternate = (char)(places[i].letter == ' ' ? '\0' : places[i].letter);
        m.charge[i] = m.radius[i] = i;
        molecule_place(&m, i, xyz);
        m.records.bond[i][0] = m.records.bond[i][1] = i;
    }
    m.atoms = m.records.bonds = count;
    warnings[0] = result[0] = '\0';
    assert_int_equal(choose_conformers(ctx, "m.pdb", choice, &m), VF_OK);
    for (int64_t i = 0; i < m.atoms; i++) {
        vf_append(result, sizeof result, "%s%d", i ? " " : "", (int)m.x[i]);
        assert_true(m.charge[i] == m.x[i]);
        assert_true(m.atoms == count || m.labels[i].alternate == '\0');
        assert_true(m.records.bond[i][0] == i && m.records.bond[i][1] == i);
    }
    assert_int_equal(m.records.bonds, m.atoms);
    assert_true((m.atoms < count) == (*warnings != '\0'));
    molecule_free(&m);
    return result;
}

#define BY_OCCUPANCY                                                                                                   \
    {                                                                                                                  \
        CONFORMER_BY_OCCUPANCY, 0                                                                                      \
    }

static void keeps_one_conformer(void **state)
{
    (void)state;
    static const struct {
        conformer_choice choice;
        place places[MOST];
        const char *kept;
    } cases[] = {
        /* by occupancy, also where the letters come in another order */
        {BY_OCCUPANCY,
         {{"N", "SER", ' ', 1},
          {"CB", "SER", 'A', .3},
          {"CB", "SER", 'B', .7},
          {"OG", "SER", 'B', .7},
          {"OG", "SER", 'A', .3}},
         "0 2 3"},
        /* equal: the first letter of the alphabet, or the first in the file */
        {BY_OCCUPANCY, {{"N", "SER", ' ', 1}, {"CB", "SER", 'B', .5}, {"CB", "SER", 'A', .5}}, "0 2"},
        {{CONFORMER_FIRST, 0}, {{"N", "SER", ' ', 1}, {"CB", "SER", 'B', .1}, {"CB", "SER", 'A', .9}}, "0 1"},
        /* a letter, or by occupancy where it is not */
        {{CONFORMER_LETTER, 'A'}, {{"N", "SER", ' ', 1}, {"CB", "SER", 'A', .1}, {"CB", "SER", 'B', .9}}, "0 1"},
        {{CONFORMER_LETTER, 'C'}, {{"N", "SER", ' ', 1}, {"CB", "SER", 'A', .1}, {"CB", "SER", 'B', .9}}, "0 2"},
        /* the mean counts, not the sum: three atoms of 0.3 lose against one of 0.4, but the oxygen is needed */
        {BY_OCCUPANCY,
         {{"CB", "SER", 'A', .3}, {"OG", "SER", 'A', .3}, {"HG", "SER", 'A', .3}, {"CB", "SER", 'B', .4}},
         "1 3"},
        /* two residues at one number */
        {BY_OCCUPANCY,
         {{"CA", "SER", 'A', .4}, {"OG", "SER", 'A', .4}, {"CA", "THR", 'B', .6}, {"CG2", "THR", 'B', .6}},
         "2 3"},
        /* one without a letter, of the same name, is a conformer */
        {BY_OCCUPANCY, {{"CB", "SER", ' ', .6}, {"CB", "SER", 'B', .4}, {"N", "SER", ' ', 1}}, "0 2"},
        {BY_OCCUPANCY, {{"CB", "SER", 'B', .6}, {"CB", "SER", ' ', .4}, {"N", "SER", ' ', 1}}, "0 2"},
        /* no choice: a letter alone, or letters of different atoms */
        {BY_OCCUPANCY, {{"CB", "SER", 'A', .4}, {"OG", "SER", 'A', .4}}, "0 1"},
        {BY_OCCUPANCY, {{"CB", "SER", 'A', .4}, {"OG", "SER", 'B', .4}}, "0 1"},
        /* hydrogens of two tautomers are not mixed; a heavy atom that the conformer lacks is filled in */
        {BY_OCCUPANCY,
         {{"ND1", "HIS", 'A', .4},
          {"HD1", "HIS", 'A', .4},
          {"ND1", "HIS", 'B', .6},
          {"HE2", "HIS", 'B', .6},
          {"CE1", "HIS", 'A', .4}},
         "2 3 4"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (strcmp(kept(cases[i].places, cases[i].choice), cases[i].kept) != 0)
            fail_msg("case %zu: kept %s, not %s", i, kept(cases[i].places, cases[i].choice), cases[i].kept);
}

/* In PQR files, the letter touches the residue name. */
static void tells_conformers_from_names_in_pqr(void **state)
{
    (void)state;
    static const char two[] = "ATOM      1  CB ASER A   1       1.000   2.000   3.000  0.5000 1.5000\n"
                              "ATOM      2  CB BSER A   1       1.500   2.000   3.000  0.5000 1.5000\n"
                              "ATOM      3  N   SER A   1       2.000   2.000   3.000  0.5000 1.5000\n";
    static const char one[] = "ATOM      1  N  NALA A   1       1.000   2.000   3.000  0.5000 1.5000\n"
                              "ATOM      2  CA NALA A   1       1.500   2.000   3.000  0.5000 1.5000\n";
    molecule m;
    warnings[0] = '\0';
    assert_int_equal(parse_pqr(ctx, "m.pqr", two, strlen(two), &m), VF_OK);
    assert_int_equal(m.atoms, 2);
    assert_true(m.x[0] == 1 && m.total_charge == 1);
    assert_string_equal(m.labels[0].residue, "SER");
    assert_true(contains_all(warnings, "m.pqr: 1 residue has alternate locations|SER 1 of A letter A"));
    molecule_free(&m);
    assert_int_equal(parse_pqr(ctx, "m.pqr", one, strlen(one), &m), VF_OK);
    assert_int_equal(m.atoms, 2);
    assert_string_equal(m.labels[0].residue, "NALA");
    assert_true(m.labels[0].alternate == '\0');
    molecule_free(&m);
}

/* ---- positions ---- */

static void expect_positions(const char *text, const char *words)
{
    static const char *const names[] = {"N", "N", "N"};
    molecule m;
    const vf_status status = parse_two(text, psf_of(names, 3), &m);
    if (!*words && status != VF_OK)
        fail_msg("%s", vf_context_message(ctx));
    if (*words && (status != VF_ERR_INPUT || !contains_all(vf_context_message(ctx), words)))
        fail_msg("%s: '%s', not '%s'", vf_status_name(status), vf_context_message(ctx), words);
    if (status == VF_OK)
        molecule_free(&m);
}

#define AT(xyz, occupancy) "ATOM      1  N   ALA A   1    " xyz occupancy "  0.00\n"
#define SOMEWHERE AT("   1.000   2.000   3.000", "  1.00")

static void refuses_what_is_no_position(void **state)
{
    (void)state;
    expect_positions(SOMEWHERE SOMEWHERE AT("   0.000   0.000   0.000", " -1.00"),
                     "m.xyz: 1 atom has no position|N (ALA 3)|psfgen");
    expect_positions(AT("   0.000   0.000   0.000", "  1.00") SOMEWHERE AT("   0.000  -0.000   0.000", "  1.00"),
                     "m.xyz: 2 atoms have no position|N (ALA 1), N (ALA 3)|all 0 0 0");
    expect_positions(SOMEWHERE SOMEWHERE AT("9999.0009999.0009999.000", "  1.00"),
                     "1 atom has no position|9999|CHARMM");
    expect_positions(SOMEWHERE SOMEWHERE AT("9999.9999999.9999999.999", "  1.00"), "1 atom has no position|9999");
    /* These are positions: one atom at the origin, one with occupancy -1 elsewhere, one at the end of a long axis. */
    expect_positions(SOMEWHERE SOMEWHERE AT("   0.000   0.000   0.000", "  1.00"), "");
    assert_true(contains_all(warnings, "m.xyz: atom 2 (N) is at the same position as atom 1"));
    expect_positions(SOMEWHERE SOMEWHERE AT("   0.000   0.000   0.100", " -1.00"), "");
    expect_positions(SOMEWHERE SOMEWHERE AT("9999.000   0.000   0.000", "  1.00"), "");
    expect_positions("t\n    3\n    1ALA      N    1   0.000   0.000   0.000\n"
                     "    1ALA      N    2   0.000   0.000   0.000\n"
                     "    1ALA      N    3   1.000   0.000   0.000\n   0.0 0.0 0.0\n",
                     "2 atoms have no position");
    expect_positions("t\n    3\n    1ALA      N    1 999.900 999.900 999.900\n"
                     "    1ALA      N    2   0.000   0.000   0.000\n"
                     "    1ALA      N    3   1.000   0.000   0.000\n   0.0 0.0 0.0\n",
                     "1 atom has no position|9999");
}

/* ---- .gro boxes, and asterisks ---- */

static void reads_boxes_that_touch(void **state)
{
    (void)state;
    static const struct {
        const char *box;
        double lengths[3]; /* 0: no such box */
    } cases[] = {{"   4.00000   5.00000   6.00000", {40, 50, 60}},
                 {"1234.567891234.567891234.56789", {12345.6789, 12345.6789, 12345.6789}},
                 {"  10.00000-100.00000 100.00000", {0}},
                 {"4.000005.000006.000000.000000.000000.000000.000000.000000.00000", {40, 50, 60}},
                 {"4 5 6", {40, 50, 60}},
                 {"4.0 5.00 6.000", {40, 50, 60}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[TEXT];
        unit_cell cell;
        snprintf(text, sizeof text, "t\n    1\n    1ALA      N    1   0.000   0.000   0.000\n%s\n", cases[i].box);
        assert_int_equal(parse_cell(ctx, "b.gro", text, strlen(text), &cell, NULL), VF_OK);
        assert_int_equal(cell.state, cases[i].lengths[0] > 0 ? UNIT_CELL_NUMBERS : UNIT_CELL_BAD);
        for (int a = 0; a < 3 && cases[i].lengths[0] > 0; a++) /* nm times 10: two roundings, each of 2^-53 */
            if (!(fabs(cell.lengths[a] - cases[i].lengths[a]) <= 4e-16 * cases[i].lengths[a]))
                fail_msg("%s: %.17g", cases[i].box, cell.lengths[a]);
    }
}

static void names_asterisks(void **state)
{
    (void)state;
    static const char *const texts[] = {"title\n*****\n    1ALA      N    1   0.000   0.000   0.000\n", "**********\n",
                                        "title\n*****  0.1\n   1.0000000   1.0000000   1.0000000\n",
                                        "title\n    1\n    1ALA      N    1************************\n"};
    static const char *const names[] = {"N"};
    molecule m;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_int_equal(parse_two(texts[i], psf_of(names, 1), &m), VF_ERR_INPUT);
        if (!contains_all(vf_context_message(ctx), "m.xyz:|asterisks|too large"))
            fail_msg("%s", vf_context_message(ctx));
        vf_context_clear_error(ctx);
        assert_int_equal(parse_pqr(ctx, "m.pqr", texts[i], strlen(texts[i]), &m), VF_ERR_INPUT);
        if (!contains_all(vf_context_message(ctx), "m.pqr:|asterisks|too large"))
            fail_msg("%s", vf_context_message(ctx));
    }
    assert_int_equal(parse_two("REMARK *** a frame ***\n", psf_of(names, 1), &m), VF_ERR_INPUT);
    assert_non_null(strstr(vf_context_message(ctx), "no atoms"));
    /* Those of labels mean nothing. */
    expect_read("t\n    1\n*****ALA      N*****   0.100   0.000   0.000\n   0.0 0.0 0.0\n", psf_of(names, 1), &m);
    assert_int_equal(m.labels[0].residue_number, 1);
    molecule_free(&m);
}

TEST_MAIN(set_up_context, close_context, cmocka_unit_test(keeps_records),
          cmocka_unit_test(ignores_what_looks_like_segments), cmocka_unit_test(finds_atoms_of_bonds),
          cmocka_unit_test(tells_chains_of_two_letters), cmocka_unit_test(reads_names_of_five_letters),
          cmocka_unit_test(keeps_one_conformer), cmocka_unit_test(tells_conformers_from_names_in_pqr),
          cmocka_unit_test(refuses_what_is_no_position), cmocka_unit_test(reads_boxes_that_touch),
          cmocka_unit_test(names_asterisks))
