/* Files of ions keep what surrounds the atoms, and come back byte by byte when they are read and written again. */
#include <math.h>
#include <unistd.h>

#include "apps/cionize/molecule/molecule_fixture.h"
#include "ions/ions.h"
#include "molecule/molecule_arrays.h"
#include "molecule/molecule_records.h"

enum { TEXT = 16000, MANY = 100010 };

static char folder[64];

static char *slurp_and_remove(const char *path)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    const long bytes = ftell(file);
    char *text = malloc((size_t)bytes + 1);
    assert_non_null(text);
    rewind(file);
    assert_int_equal(fread(text, 1, (size_t)bytes, file), bytes);
    text[bytes] = '\0';
    (void)fclose(file);
    unlink(path);
    return text;
}

static const ion_list no_ions = {0, NULL, 0, NULL};

/* Writes without a comment, and returns the text. Messages are in `warnings`. */
static char *written(const molecule *m, const ion_list *ions, const char *extension)
{
    char path[100];
    snprintf(path, sizeof path, "%s/a%s", folder, extension);
    warnings[0] = '\0';
    if (write_ions(ctx, path, ions, m, NULL, NULL) != VF_OK)
        fail_msg("%s", vf_context_message(ctx));
    return slurp_and_remove(path);
}

/* Reads coordinates; all residue numbers are those of the file, since a prmtop file only counts residues. */
static void read_places(const char *places, const char *const *names, int count, molecule *m)
{
    static char prmtop[TEXT];
    snprintf(prmtop, sizeof prmtop,
             "%%VERSION\n%%FLAG POINTERS\n%%FORMAT(10I8)\n%8d%8d%8d%8d%8d%8d%8d%8d%8d%8d\n%8d%8d\n", count, 0, 0, 0, 0,
             0, 0, 0, 0, 0, 0, 1);
    vf_append(prmtop, sizeof prmtop, "%%FLAG ATOM_NAME\n%%FORMAT(1a8)\n");
    for (int i = 0; i < count; i++)
        vf_append(prmtop, sizeof prmtop, "%-8s\n", names[i]);
    vf_append(prmtop, sizeof prmtop, "%%FLAG CHARGE\n%%FORMAT(1E16.8)\n");
    for (int i = 0; i < count; i++)
        vf_append(prmtop, sizeof prmtop, "%16.8E\n", 18.2223);
    vf_append(prmtop, sizeof prmtop,
              "%%FLAG RESIDUE_LABEL\n%%FORMAT(1a4)\nRES \n%%FLAG RESIDUE_POINTER\n%%FORMAT(1I8)\n%8d\n", 1);
    expect_read(places, prmtop, m);
}

static void expect_same(const char *got, const char *expected)
{
    if (strcmp(got, expected) != 0) {
        size_t at = 0;
        while (got[at] && got[at] == expected[at])
            at++;
        fail_msg("they differ after %zu bytes:\n%s\ninstead of\n%s", at, got, expected);
    }
}

/* ---- byte by byte ---- */

/* As this program writes it: every column has something somewhere, and numbers at both ends of their ranges. */
static const char pdb[] = "HEADER    HYDROLASE                               01-JAN-00   1ABC              \n"
                          "TITLE     A TITLE                                                               \n"
                          "REMARK   3   ALL ATOM REFINEMENT                                                \n"
                          "SEQRES   1 A    2  CYS ALA                                                      \n"
                          "HELIX    1   1 CYS A    1  ALA A    2  1                                   2    \n"
                          "SSBOND   1 CYS A -999    CYS A  ZZZZ                          1555   1555  2.03 \n"
                          "LINK         N   CYS A   1                 CA  ALA A   2     1555   1555  1.30  \n"
                          "CRYST1   40.000   50.000   60.000  90.00 100.00  90.00 P 1 21 1      4          \n"
                          "ORIGX1      1.000000  0.000000  0.000000        0.00000                         \n"
                          "SCALE1      0.025000  0.000000  0.004408        0.00000                         \n"
                          "MODEL     9999                                                                  \n"
                          "ATOM      1  N  ACYS A-999Z   -999.9999999.999   0.000999.99-99.99      PROT N1+\n"
                          "ATOM      2 HH11 CYS A9999       1.000   2.000   3.000-99.99999.99      PROT H  \n"
                          "TER       3      CYS A9999                                                      \n"
                          "HETATM    4  CA  TIP3BA000       4.000   5.000   6.000  0.00  0.00           C  \n"
                          "TER       5      TIP3BA000                                                      \n"
                          "HETATM    6 CA    CA *ZZZZ       4.000   5.000   7.000  1.00  0.00          CA2+\n"
                          "ATOM      7  OH2 HOH A****       7.000   8.000   9.000  1.00  0.00      WT12 O  \n"
                          "ENDMDL                                                                          \n"
                          "CONECT    1    2    6    6    7                                                 \n"
                          "CONECT    1    4                                                                \n"
                          "CONECT    7    1                                                                \n"
                          "END                                                                             \n";

static void pdb_comes_back(void **state)
{
    (void)state;
    molecule m;
    static const char psf[] =
        "PSF NAMD\n\n5 !NATOM\n1 PROT -999Z CYS N T 0.5 12.0 0\n2 PROT 9999 CYS HH11 T 0.5 12.0 0\n"
        "3 B A000 TIP3 CA T 0.5 12.0 0\n4 * ZZZZ CA CA T 0.5 12.0 0\n5 WT12 **** HOH OH2 T 0.5 12.0 0\n";
    expect_read(pdb, psf, &m);
    char *text = written(&m, &no_ions, ".pdb");
    expect_same(text, pdb);
    assert_non_null(strstr(warnings, "a.pdb: the format has no place for: partial charges and radii\n"));
    molecule_free(&m);
    free(text);
}

static const char pqr[] = "HEADER    HYDROLASE                               01-JAN-00   1ABC              \n"
                          "REMARK   3 #  ALL ATOM REFINEMENT\n"
                          "SSBOND   1 CYS A    1    CYS A    2                          1555   1555  2.03 \n"
                          "CRYST1   40.000   50.000   60.000  90.00 100.00  90.00 P 1 21 1      4\n"
                          "MODEL        2\n"
                          "ATOM      1  N   CYS A -999Z   -9999.9999 99999.9999  0.0000  0.5000 1.5000\n"
                          "ATOM      2 HH11 CYS A 9999     1.0000  2.0000  3.0000 -0.500001 1.5000\n"
                          "TER\n"
                          "HETATM    3  CA  TIP3 B 10000    4.0000  5.0000  6.0000  0.5000 0.0000\n"
                          "HETATM    4  CA  CA  A **** 4.0000  5.0000  7.0000  2.0000 1.3700\n"
                          "ENDMDL\n"
                          "CONECT    1    2    4    4    3\n"
                          "CONECT    4    1\n"
                          "END\n";

/* The first writing may move a field to its column; from then on nothing changes. */
static void pqr_comes_back(void **state)
{
    (void)state;
    molecule m;
    char *text[3];
    const char *from = pqr;
    for (int turn = 0; turn < 3; turn++) {
        if (parse_pqr(ctx, "m.pqr", from, strlen(from), &m) != VF_OK)
            fail_msg("%s in\n%s", vf_context_message(ctx), from);
        from = text[turn] = written(&m, &no_ions, ".pqr");
        assert_null(strstr(warnings, "no place"));
        assert_int_equal(m.records.bonds, 5);
        assert_int_equal(m.records.model_number, 2);
        assert_true(m.labels[1].ends_chain && !m.labels[0].ends_chain);
        assert_string_equal(m.labels[3].number_text, "****");
        assert_true(m.labels[0].residue_number == -999 && m.labels[0].insertion == 'Z');
        assert_true(m.cell.state == UNIT_CELL_NUMBERS && m.cell.angles[1] == 100);
        molecule_free(&m);
    }
    expect_same(text[1], text[0]);
    expect_same(text[2], text[0]);
    static const char *const lines[] = {"REMARK   3 #  ALL ATOM", "SSBOND",
                                        "CRYST1   40.000   50.000   60.000  90.00 100.00", "\nTER\n",
                                        "\nENDMDL\nCONECT    1    2    4    4    3\nCONECT    4    1\nEND\n"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        assert_non_null(strstr(text[0], lines[i]));
    for (int turn = 0; turn < 3; turn++)
        free(text[turn]);
}

/* Molecules of random labels and numbers: PDB and PQR texts come back from the second writing on. */
static void random_molecules_come_back(void **state)
{
    (void)state;
    enum { ATOMS = 40 };
    static const char letters[] = "ABCDXYZ019'*";
    for (int turn = 0; turn < 60; turn++) {
        molecule m = {0};
        char *text[2], psf[TEXT];
        assert_true(molecule_resize(&m, ATOMS));
        m.records.bond = calloc(ATOMS, sizeof *m.records.bond);
        assert_non_null(m.records.bond);
        m.atoms = m.records.bonds = ATOMS;
        m.records.model_number = (int32_t)integer_between(0, 9999);
        if (turn % 2)
            m.cell =
                (unit_cell){.state = UNIT_CELL_NUMBERS,
                            .lengths = {uniform_between(1, 99999), uniform_between(1, 100), uniform_between(1, 100)},
                            .angles = {90, uniform_between(60, 120), 90}};
        int32_t number = 1;
        for (int i = 0; i < ATOMS; i++) {
            const double xyz[3] = {uniform_between(-999, 9999), uniform_between(-99, 99), i};
            atom_label *l = &m.labels[i];
            number += (int32_t)integer_between(0, 2);
            *l = (atom_label){.residue_number = number,
                              .insertion = (char)(integer_between(0, 5) ? 0 : 'B'),
                              .hetero = integer_between(0, 1),
                              .ends_chain = integer_between(0, 9) == 0,
                              .occupancy = (float)round(uniform_between(-99, 999) * 100) / 100,
                              .b_factor = (float)round(uniform_between(-99, 999) * 100) / 100};
            snprintf(l->name, sizeof l->name, "C%c%d", letters[integer_between(0, 11)], i);
            snprintf(l->residue, sizeof l->residue, "%s", integer_between(0, 1) ? "ALA" : "TIP3");
            snprintf(l->chain, sizeof l->chain, "%c", letters[i / 10]);
            snprintf(l->segment, sizeof l->segment, "%s", turn % 3 ? "" : i < 20 ? "PROA" : "PROB");
            snprintf(l->element, sizeof l->element, "%s", "C");
            snprintf(l->formal_charge, sizeof l->formal_charge, "%s", integer_between(0, 3) ? "" : "2-");
            m.charge[i] = uniform_between(-1, 1);
            m.radius[i] = uniform_between(0, 3);
            molecule_place(&m, i, xyz);
            m.records.bond[i][0] = integer_between(0, ATOMS - 1);
            m.records.bond[i][1] = integer_between(0, ATOMS - 1);
        }
        text[0] = written(&m, &no_ions, ".pdb");
        snprintf(psf, sizeof psf, "PSF NAMD\n\n%d !NATOM\n", ATOMS);
        for (int i = 0; i < ATOMS; i++)
            vf_append(psf, sizeof psf, "%d %s %d%s RES %s T 0.5 12.0 0\n", i + 1,
                      *m.labels[i].segment ? m.labels[i].segment : m.labels[i].chain, m.labels[i].residue_number,
                      m.labels[i].insertion ? "B" : "", m.labels[i].name);
        molecule again;
        expect_read(text[0], psf, &again);
        for (int i = 0; i < ATOMS; i++)
            if (again.labels[i].occupancy != m.labels[i].occupancy ||
                again.labels[i].b_factor != m.labels[i].b_factor ||
                strcmp(again.labels[i].segment, m.labels[i].segment) != 0 ||
                strcmp(again.labels[i].formal_charge, m.labels[i].formal_charge) != 0 ||
                memcmp(again.records.bond[i], m.records.bond[i], sizeof *m.records.bond) != 0)
                fail_msg("atom %d of\n%s", i, text[0]);
        text[1] = written(&again, &no_ions, ".pdb");
        expect_same(text[1], text[0]);
        molecule_free(&again);
        free(text[0]);
        free(text[1]);
        text[0] = written(&m, &no_ions, ".pqr");
        if (parse_pqr(ctx, "m.pqr", text[0], strlen(text[0]), &again) != VF_OK)
            fail_msg("%s\n%s", vf_context_message(ctx), text[0]);
        text[1] = written(&again, &no_ions, ".pqr");
        expect_same(text[1], text[0]);
        molecule_free(&again);
        free(text[0]);
        free(text[1]);
        molecule_free(&m);
    }
}

/* ---- the cell, chains and bonds ---- */

static void another_cell_replaces_the_files(void **state)
{
    (void)state;
    static const char psf[] = "PSF NAMD\n\n5 !NATOM\n1 - 1 A N T 0.5 12.0 0\n2 - 1 A HH11 T 0.5 12.0 0\n"
                              "3 - 1 A CA T 0.5 12.0 0\n4 - 1 A CA T 0.5 12.0 0\n5 - 1 A OH2 T 0.5 12.0 0\n";
    molecule m;
    expect_read(pdb, psf, &m);
    m.cell = (unit_cell){.state = UNIT_CELL_NUMBERS, .lengths = {41, 50, 60}, .angles = {90, 90, 90}};
    char *text = written(&m, &no_ions, ".pdb");
    assert_non_null(
        strstr(text, "\nCRYST1   41.000   50.000   60.000  90.00  90.00  90.00 P 1           1          \n"));
    assert_null(strstr(text, "SCALE"));
    assert_non_null(strstr(text, "\nORIGX1"));
    free(text);
    records_drop(&m.records, "CRYST1"); /* it then comes before ORIGX */
    records_drop(&m.records, "REMARK");
    m.cell.lengths[0] = 41.00049;
    text = written(&m, &no_ions, ".pqr");
    assert_non_null(strstr(text, "\nCRYST1   41.000   50.000   60.000  90.00  90.00  90.00 P 1           1\nORIGX1"));
    assert_null(strstr(text, "REMARK"));
    assert_non_null(strstr(warnings, "further decimals of the cell"));
    free(text);
    m.cell.lengths[0] = 100000;
    text = written(&m, &no_ions, ".pdb");
    assert_null(strstr(text, "CRYST1"));
    assert_non_null(strstr(warnings, "the cell"));
    free(text);
    molecule_free(&m);
}

static void segments_without_letters_stay_apart(void **state)
{
    (void)state;
    static ion_kind sodium[] = {{"SOD", "Na", 1, 1.41, ""}};
    ion_site site = {0, {1, 2, 3}, -1};
    const ion_list ions = {1, sodium, 1, &site};
    atom_label labels[] = {
        {.name = "N", .residue = "GLY", .chain = "PROA", .segment = "PROA", .residue_number = 1, .occupancy = 1},
        {.name = "N", .residue = "GLY", .chain = "PROB", .segment = "PROB", .residue_number = 1, .occupancy = 1},
        {.name = "N", .residue = "GLY", .chain = "P", .segment = "PROC", .residue_number = 1, .occupancy = 1},
        {.name = "N", .residue = "GLY", .chain = "P", .segment = "PROD", .residue_number = 1, .occupancy = 1},
        {.name = "N", .residue = "GLY", .chain = "Q", .segment = "PROD", .residue_number = 1, .occupancy = 1},
        {.name = "N", .residue = "GLY", .chain = "AB", .residue_number = 1, .occupancy = 1}};
    double x[] = {1, 2, 3, 4, 5, 6}, q[] = {0, 0, 0, 0, 0, 0};
    const molecule m = {.atoms = 6, .x = x, .y = x, .z = x, .charge = q, .radius = q, .labels = labels};
    char *text = written(&m, &ions, ".pdb");
    expect_same(text,
                "ATOM      1  N   GLY     1       1.000   1.000   1.000  1.00  0.00      PROA N  \n"
                "TER       2      GLY     1                                                      \n"
                "ATOM      3  N   GLY     1       2.000   2.000   2.000  1.00  0.00      PROB N  \n"
                "TER       4      GLY     1                                                      \n"
                "ATOM      5  N   GLY P   1       3.000   3.000   3.000  1.00  0.00      PROC N  \n"
                "TER       6      GLY P   1                                                      \n"
                "ATOM      7  N   GLY P   1       4.000   4.000   4.000  1.00  0.00      PROD N  \n"
                "ATOM      8  N   GLY Q   1       5.000   5.000   5.000  1.00  0.00      PROD N  \n" /* letters tell */
                "TER       9      GLY Q   1                                                      \n"
                "ATOM     10  N   GLYAB   1       6.000   6.000   6.000  1.00  0.00           N  \n"
                "TER      11      GLYAB   1                                                      \n"
                "HETATM   12  SOD SOD I   1       1.000   2.000   3.000  1.00  0.00          NA1+\n"
                "END                                                                             \n");
    free(text);
    text = written(&m, &ions, ".xyz");
    assert_non_null(strstr(warnings, "the names of atoms and residues, chains, segments"));
    free(text);
    text = written(&m, &ions, ".pqr");
    assert_non_null(strstr(warnings, "a.pqr: the format has no place for: segments\n"));
    assert_non_null(strstr(text, "  3.0000  3.0000  3.0000  0.0000 0.0000\nTER\n"));
    free(text);
}

/* Serial numbers beyond 99,999: hybrid-36 in PDB, words in PQR. */
static void bonds_of_many_atoms_come_back(void **state)
{
    (void)state;
    static const int64_t bonds[][2] = {{0, 1}, {0, MANY - 1}, {MANY - 2, MANY - 1}, {MANY - 1, 0}, {99998, 99999}};
    molecule m = {0}, again;
    assert_true(molecule_resize(&m, MANY));
    m.records.bond = calloc(5, sizeof *m.records.bond);
    assert_non_null(m.records.bond);
    memcpy(m.records.bond, bonds, sizeof bonds);
    m.records.bonds = 5;
    m.atoms = MANY;
    for (int64_t i = 0; i < MANY; i++) {
        const double xyz[3] = {(double)(i % 1000), (double)(i / 1000), 1};
        m.labels[i] =
            (atom_label){.name = "OW", .residue = "SOL", .chain = "A", .residue_number = (int32_t)i, .occupancy = 1};
        m.charge[i] = m.radius[i] = 0.125;
        molecule_place(&m, i, xyz);
    }
    m.labels[9].ends_chain = true;
    char *text = written(&m, &no_ions, ".pdb");
    assert_non_null(strstr(text, "CONECT    1    2A000B"));
    size_t size = (size_t)MANY * 40 + 100;
    char *psf = malloc(size), *to = psf;
    assert_non_null(psf);
    to += sprintf(to, "PSF NAMD\n\n%d !NATOM\n", MANY);
    for (int64_t i = 0; i < MANY; i++)
        to += sprintf(to, "%d A %d SOL OW T 0.125 16.0 0\n", (int)i + 1, (int)i);
    expect_read(text, psf, &again);
    assert_int_equal(again.records.bonds, 5);
    assert_memory_equal(again.records.bond, bonds, sizeof bonds);
    assert_int_equal(again.labels[MANY - 1].residue_number, MANY - 1);
    molecule_free(&again);
    free(text);
    text = written(&m, &no_ions, ".pqr");
    assert_non_null(strstr(text, "\nCONECT 1 2 100010\n"));
    assert_int_equal(parse_pqr(ctx, "m.pqr", text, strlen(text), &again), VF_OK);
    assert_int_equal(again.records.bonds, 5);
    assert_memory_equal(again.records.bond, bonds, sizeof bonds);
    molecule_free(&again);
    free(text);
    text = written(&m, &no_ions, ".gro");
    expect_read(text, psf, &again);
    assert_true(again.x[MANY - 1] == 10 * 0.9 && again.labels[MANY - 1].residue_number == MANY - 1);
    molecule_free(&again);
    free(text);
    free(psf);
    molecule_free(&m);
}

/* ---- .gro ---- */

static void gro_columns(void **state)
{
    (void)state;
    static ion_kind sodium[] = {{"SOD", "Na", 1, 1.41, ""}};
    ion_site site = {0, {-9999.99, 99999.99, 0.004}, -1};
    const ion_list ions = {1, sodium, 1, &site};
    atom_label labels[] = {
        {.name = "N", .residue = "GLY", .chain = "A", .residue_number = -1, .occupancy = 1},
        {.name = "HH11X", .residue = "TIP3P", .chain = "A", .number_text = "****", .occupancy = 1},
        {.name = "LONGEST", .residue = "LIGAND", .chain = "A", .residue_number = 199999, .occupancy = 1}};
    double x[] = {1, -2.346, 3}, q[] = {1, 0, 0};
    molecule m = {.atoms = 3, .x = x, .y = x, .z = x, .charge = q, .radius = q, .labels = labels};
    char *text = written(&m, &ions, ".gro");
    expect_same(text, "cionize\n"
                      "    4\n"
                      "99999GLY      N    1   0.100   0.100   0.100\n"
                      " ****TIP3PHH11X    2  -0.235  -0.235  -0.235\n"
                      "99999LIGANLONGE    3   0.300   0.300   0.300\n"
                      "    0SOD    SOD    4-999.9999999.999   0.000\n"
                      "   0.00000   0.00000   0.00000\n");
    free(text);
}

static void gro_boxes_come_back(void **state)
{
    (void)state;
    static const char *const names[] = {"N"};
    static const char *const boxes[] = {
        "   4.00000   5.00000   6.12345",
        "   5.00000   4.71405   4.08248   0.00000   0.00000   1.66667   0.00000  -1.66667   2.35702",
        "   0.00000   0.00000   0.00000"};
    for (size_t i = 0; i < sizeof boxes / sizeof *boxes; i++) {
        char expected[TEXT];
        molecule m;
        snprintf(expected, sizeof expected, "cionize\n    1\n   12GLY      N    1   0.100   0.200  -0.300\n%s\n",
                 boxes[i]);
        read_places(expected, names, 1, &m);
        char *text = written(&m, &no_ions, ".gro");
        expect_same(text, expected);
        free(text);
        text = written(&m, &no_ions, ".pdb");
        assert_true((strstr(text, "CRYST1") != NULL) == (i < 2));
        free(text);
        molecule_free(&m);
    }
}

static int remove_folder(void **state)
{
    assert_int_equal(rmdir(folder), 0); /* nothing is left there */
    return close_context(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(pdb_comes_back),
                                       cmocka_unit_test(pqr_comes_back),
                                       cmocka_unit_test(random_molecules_come_back),
                                       cmocka_unit_test(another_cell_replaces_the_files),
                                       cmocka_unit_test(segments_without_letters_stay_apart),
                                       cmocka_unit_test(bonds_of_many_atoms_come_back),
                                       cmocka_unit_test(gro_columns),
                                       cmocka_unit_test(gro_boxes_come_back)};
    const char *base = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%.40s/ions_XXXXXX", base ? base : "/tmp");
    if (!mkdtemp(folder))
        return 1;
    return cmocka_run_group_tests(tests, set_up_context, remove_folder);
}
