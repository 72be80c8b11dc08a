/* The PQR reader: every dialect and every kind of line read exactly, warnings and sums, plain and compressed files.
 *
 * Numbers are compared for equality: a decimal number has one nearest double, which the reader must find. */
#include <sys/stat.h>
#include <zlib.h>

#include "folder_fixture.h"
#include "pqr_fixture.h"

/* ---- the dialects ---- */

static const struct dialect {
    const char *text, *reading;
    double value[VALUES];
} dialects[] = {
    /* pdb2pqr's columns: plain, chain and residue number, record and serial, 4-letter residue, insertion code,
       truncated serial */
    {"ATOM      1  N   PRO A   1      13.120  39.003   5.159 -0.2020 1.8240",
     "separate fields",
     {13.12, 39.003, 5.159, -0.202, 1.824}},
    {"ATOM   2231  N   PRO     1      13.120  39.003   5.159 -0.2020 1.8240",
     "separate fields",
     {13.12, 39.003, 5.159, -0.202, 1.824}},
    {"HETATM10570  O   HOH A1001       1.500  -2.250   3.125 -0.8340 1.7683",
     "glued names",
     {1.5, -2.25, 3.125, -0.834, 1.7683}},
    {"ATOM      3  N  NALA    52A     12.345 100.123   0.000  0.1000 1.4870",
     "separate fields",
     {12.345, 100.123, 0, 0.1, 1.487}},
    {"ATOM      7  N   ALA C1234       1.000 900.490   5.000  0.5000 1.0000", "glued names", {1, 900.49, 5, 0.5, 1}},
    {"ATOM      7  N   ALA C-123       1.000 900.490   5.000  0.5000 1.0000", "glued names", {1, 900.49, 5, 0.5, 1}},
    {"ATOM  12011  CA  ALA A   5    1999.3232998.770-900.490  0.0337 1.9080",
     "glued numbers",
     {1999.323, 2998.77, -900.49, 0.0337, 1.908}},
    {"ATOM      2 HD11NLEU B  10A    -12.345-100.123-999.999 -0.1000 1.4870",
     "glued numbers",
     {-12.345, -100.123, -999.999, -0.1, 1.487}},
    {"ATOM      4  N   ALA    52      12.345 100.123   0.000-123.45612.5000",
     "fixed columns",
     {12.345, 100.123, 0, -123.456, 12.5}},
    {"ATOM      5  N   ALA    -5    -2998.771900.490   5.000  0.500010.0000",
     "fixed columns",
     {-2998.77, 1900.49, 5, 0.5, 10}},
    {"ATOM      8  C A ALA A   1      13.120  39.003   5.159 -0.2020 1.8240",
     "fixed columns",
     {13.12, 39.003, 5.159, -0.202, 1.824}},
    /* the same with --whitespace */
    {"ATOM       1  N    PRO A   1      13.120   39.003    5.159 -0.2020 1.8240",
     "separate fields",
     {13.12, 39.003, 5.159, -0.202, 1.824}},
    {"HETATM 10570  O    HOH A1001       1.500   -2.250    3.125 -0.8340 1.7683",
     "glued names",
     {1.5, -2.25, 3.125, -0.834, 1.7683}},
    {"ATOM   12011  CA   ALA A   5    1999.323 2998.770 -900.490  0.0337 1.9080",
     "separate fields",
     {1999.323, 2998.77, -900.49, 0.0337, 1.908}},
    {"ATOM       5  N    ALA    -5    -999.999 1900.490    5.000  0.500010.0000",
     "fixed columns",
     {-999.999, 1900.49, 5, 0.5, 10}},
    /* older pdb2pqr --whitespace */
    {"HETATM10570 O HOH A1001 1.500 -2.250 3.125 -0.8340 1.7683", "glued names", {1.5, -2.25, 3.125, -0.834, 1.7683}},
    /* gmx editconf -mead: two decimals; name, residue, chain and number without a blank */
    {"ATOM      1 H12APOPCC   1   12.340   45.600   78.900   0.09   1.34",
     "glued names",
     {12.34, 45.6, 78.9, 0.09, 1.34}},
    {"ATOM      1    N ALAA   1   12.340   45.600   78.900  -0.47   1.85",
     "separate fields",
     {12.34, 45.6, 78.9, -0.47, 1.85}},
    {"ATOM      1 HD11 LEUA1000   12.340   45.600   78.900  -0.47   1.85",
     "glued names",
     {12.34, 45.6, 78.9, -0.47, 1.85}},
    {"ATOM      1 H12APOPCA1000   12.340   45.600   78.900  -0.47   1.85",
     "glued names",
     {12.34, 45.6, 78.9, -0.47, 1.85}},
    {"HETATM12345 H12APOPCA1000   12.340   45.600   78.900  -0.47   1.85",
     "glued names",
     {12.34, 45.6, 78.9, -0.47, 1.85}},
    /* VMD: no chain, three decimals; columns shift with the residue's name */
    {"ATOM      1 N    ALA     1      13.120  39.003   5.159 -0.202 1.824",
     "separate fields",
     {13.12, 39.003, 5.159, -0.202, 1.824}},
    {"ATOM      1 N    ALA     1    1999.3232998.770-900.490 -0.202 1.824",
     "glued numbers",
     {1999.323, 2998.77, -900.49, -0.202, 1.824}},
    {"ATOM  100000 N    TIP3 12345    -999.323-998.770-900.490 -0.202 1.824",
     "glued numbers",
     {-999.323, -998.77, -900.49, -0.202, 1.824}},
    /* AMBER, ParmEd, MDAnalysis, Open Babel (with element), MEAD, APBS's examples */
    {"ATOM      1  N   NALA A   1     13.120  39.003   5.159  -0.2020   1.8240",
     "separate fields",
     {13.12, 39.003, 5.159, -0.202, 1.824}},
    {"ATOM      1  N    NALA   192     -51.730-160.850  81.990   0.141   1.550",
     "glued numbers",
     {-51.73, -160.85, 81.99, 0.141, 1.55}},
    {"ATOM      36  NH1  ARG     2     -6.545   25.499    3.854 -0.8000 1.8500",
     "separate fields",
     {-6.545, 25.499, 3.854, -0.8, 1.85}},
    {"HETATM    1  C   UNL     1       0.752   0.001  -0.141  0.12345678   1.700  C  ",
     "separate fields",
     {0.752, 0.001, -0.141, 0.12345678, 1.7}},
    {"ATOM  5 N      LEU    1    3.28800   4.39400  -0.20100 -0.30000 1.85000",
     "separate fields",
     {3.288, 4.394, -0.201, -0.3, 1.85}},
    {"ATOM     34  C   CHG A1           8.257  13.181  10.022 -0.1550  1.8700",
     "glued names",
     {8.257, 13.181, 10.022, -0.155, 1.87}},
    {"ATOM 1   C   IMI 1  0.000   0.000   0.000      -0.257 1.87", "separate fields", {0, 0, 0, -0.257, 1.87}},
    /* by hand */
    {"ATOM 1 I ION 1 0 0 0 1 3", "separate fields", {0, 0, 0, 1, 3}},
    {"ATOM 1 I ION A 1 5 0.5 -.5 +1 2e0", "separate fields", {5, 0.5, -0.5, 1, 2}},
    {"ATOM\t1\tI\tION\t1\t1.5\t2.5\t3.5\t-1e-05\t1.", "separate fields", {1.5, 2.5, 3.5, -1e-5, 1}},
    {"  ATOM 1 N ALA A 52 B 1.5 2.5 3.5 0.25 1.5", "separate fields", {1.5, 2.5, 3.5, 0.25, 1.5}},
    {"ATOM 1 N ALA # 52 1.5 2.5 3.5 0.25 1.5", "separate fields", {1.5, 2.5, 3.5, 0.25, 1.5}},
    {"ATOM 1 N ALA A 52 1.5 2.5 3.5 0.25 1.5 # 7 8 9", "separate fields", {1.5, 2.5, 3.5, 0.25, 1.5}},
    {"atom 1 N ALA A 52 1.5 2.5 3.5 0.25 1.5", "separate fields", {1.5, 2.5, 3.5, 0.25, 1.5}},
    {"HetAtm 1 N ALA A 52 1.5 2.5 3.5 0.25 1.5", "separate fields", {1.5, 2.5, 3.5, 0.25, 1.5}},
    /* serial numbers past 99,999: hybrid-36, hexadecimal, asterisks; residue numbers past 9,999 */
    {"ATOM  A0000  N   PRO A   1      13.120  39.003   5.159 -0.2020 1.8240",
     "separate fields",
     {13.12, 39.003, 5.159, -0.202, 1.824}},
    {"ATOM 1 N PRO A A000 13.120 39.003 5.159 -0.2020 1.8240",
     "separate fields",
     {13.12, 39.003, 5.159, -0.202, 1.824}},
    {"HETATMA000F  N   PRO A   1      13.120  39.003   5.159 -0.2020 1.8240",
     "glued names",
     {13.12, 39.003, 5.159, -0.202, 1.824}},
    {"ATOM  186a0  N   PRO A   1      13.120  39.003   5.159 -0.2020 1.8240",
     "separate fields",
     {13.12, 39.003, 5.159, -0.202, 1.824}},
    {"ATOM  *****  N   PRO A   1      13.120  39.003   5.159 -0.2020 1.8240",
     "separate fields",
     {13.12, 39.003, 5.159, -0.202, 1.824}},
    {"HETATM*****  N   PRO A   1      13.120  39.003   5.159 -0.2020 1.8240",
     "glued names",
     {13.12, 39.003, 5.159, -0.202, 1.824}},
    {"ATOM100000 N PRO A 1 13.120 39.003 5.159 -0.2020 1.8240", "glued names", {13.12, 39.003, 5.159, -0.202, 1.824}},
    {"ATOM      1  N   PRO AA000      13.120  39.003   5.159 -0.2020 1.8240",
     "fixed columns",
     {13.12, 39.003, 5.159, -0.202, 1.824}},
    {"ATOM      1  N   PRO A****      13.120  39.003   5.159 -0.2020 1.8240",
     "fixed columns",
     {13.12, 39.003, 5.159, -0.202, 1.824}},
};

static void reads_every_dialect(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof dialects / sizeof *dialects; i++) {
        molecule m;
        expect_atoms(dialects[i].text, 1, &dialects[i].value);
        expect_read(dialects[i].text, &m);
        if (strcmp(m.dialect, dialects[i].reading) != 0)
            fail_msg("read as '%s', not '%s': %s", m.dialect, dialects[i].reading, dialects[i].text);
        molecule_free(&m);
    }
}

static void reads_records_of_several_kinds(void **state)
{
    (void)state;
    molecule m;
    expect_read("ATOM      1  N   PRO A   1      13.120  39.003   5.159 -0.2020 1.8240\n"
                "ATOM      2  N   PRO A1001      14.120  39.003   5.159 -0.2020 1.8240\n"
                "ATOM      3  N   PRO A   1     -15.120-139.003   5.159  0.4040 1.8240\n",
                &m);
    assert_string_equal(m.dialect, "separate fields (1), glued names (1), glued numbers (1)");
    assert_true(m.lo[0] == -15.12 && m.hi[0] == 14.12);
    assert_true(m.lo[1] == -139.003 && m.hi[1] == 39.003);
    assert_true(m.lo[2] == 5.159 && m.hi[2] == 5.159);
    molecule_free(&m);
}

static const double two[2][VALUES] = {{1.5, 2.5, 3.5, 0.25, 1.5}, {-1.5, 2.5, 3.5, -0.25, 2}};

static void reads_every_kind_of_line(void **state)
{
    (void)state;
    expect_atoms(FIRST "\n" SECOND "\n", 2, two);
    expect_atoms(FIRST "\n" SECOND, 2, two);
    expect_atoms(FIRST "\r\n" SECOND "\r\n", 2, two);
    expect_atoms(FIRST "\r" SECOND "\r", 2, two);
    expect_atoms("\r\r\n\n" FIRST "\r\n\r" SECOND, 2, two);
    expect_atoms("\xef\xbb\xbf" FIRST "\n \t \n" SECOND " \t\n\n", 2, two);
    expect_atoms(
        "REMARK atom radii\nREMARK ATOM 1 N ALA A 52 1.5 2.5 3.5 0.25 1.5\n# ATOM 1 N\n%ATOM\n" FIRST
        "\nTER    2 ALA A  52\nCONECT12345\nCRYST1 1 1 1 90.00 90.00 90.00 P 1\nTITLE x 1.0 2.0 3.0 4.0 5.0\n" SECOND
        "\nTER\nEND\n",
        2, two);
    expect_no_warning("REMARK x\nMODEL        1\n" FIRST "\nTER\n" SECOND "\nTER\nENDMDL\n");
    expect_no_warning("HYDBND       N   ALA A   52\nSLTBRG       N   ALA A   52\n" FIRST "\n" SECOND
                      "\n"); /* before 2007 */

    /* A line longer than any buffer, before and inside a record. */
    char *text;
    assert_true(asprintf(&text, "REMARK %100000d\n%s%60000s\n%s\n", 1, FIRST, "", SECOND) > 0);
    expect_atoms(text, 2, two);
    free(text);
}

static void stops_at_end_and_after_the_first_model(void **state)
{
    (void)state;
    expect_atoms(FIRST "\n" SECOND "\nEND\nATOM this is not read\ndata_neither\n", 2, two);
    expect_atoms("MODEL 1\n" FIRST "\n" SECOND "\nENDMDL\nMODEL 2\n" FIRST "\nENDMDL\n", 2, two);
    expect_atoms("MODEL 1\n" FIRST "\n" SECOND "\nMODEL 2\n" FIRST "\nMODEL 3\n", 2, two);
    assert_true(contains_all(warnings, "only the first of 3 models"));
    expect_warning(FIRST "\n" SECOND "\nEND\n" FIRST "\nHETATM12345\nTER\n", "m.pqr:3:|2 later atoms");
    expect_refused("REMARK\nEND\n" FIRST "\n", "m.pqr:2:|ends here without atoms|1 atom follows|the lines before");
    expect_refused("MODEL 1\nENDMDL\nMODEL 2\n" FIRST "\nENDMDL\n", "m.pqr:2:|ends here without atoms");
}

/* ---- warnings and sums ---- */

static void warns_of_what_looks_wrong(void **state)
{
    (void)state;
    expect_no_warning("# one\n%two\n" FIRST "\n" SECOND "\n");
    expect_warning(FIRST "\n" SECOND
                         "\nATOM 3 C ALA A 5 1.500 2.500 3.500 0.0 1.0\nATOM 4 C ALA A 5 -1.5 2.500 3.500 0.0 1.0\n",
                   "m.pqr:3: |that in line 1|2 such atoms");
    expect_warning("ATOM 1 N ALA A 5 0.000 1.0 0.0 0.0 1.0\nATOM 2 N ALA A 5 -0.000 1.0 -0.0 0.0 1.0\n",
                   "line 1|all charges are 0");
    expect_warning("MASTER 1\nFROBNICATE 3\nAtom 12 was added\nHETATMS follow\n" FIRST "\n" SECOND "\n",
                   "m.pqr:2: 'FROBNICATE'|3 such lines");
    expect_warning("ATOM 1 N ALA A 5 1.0 2.0 3.0 0.3333 1.5\n",
                   "m.pqr: the total charge, +0.3333 e, is 0.3333 e|missing");
    expect_warning("ATOM      5  N   ALA    -5    -2998.77 900.490   5.000  1.0000 1.0000\n",
                   "m.pqr:1: the program that wrote the file cut coordinates|1 atom:");
    expect_warning("ATOM      5  N   ALA    -5    -2998.771900.490   5.000  0.500010.0000\n",
                   "m.pqr:1: the program that wrote the file cut coordinates|1 atom:");
    expect_no_warning("ATOM 5 N ALA 5 -298.77 900.490 5.000 1.0000 1.0000\n");
}

static void counts_atoms_that_were_left_out(void **state)
{
    (void)state;
    molecule m;
    expect_read(
        "REMARK   5 WARNING: PDB2PQR was unable to assign charges\nREMARK   5 to the following atoms (omitted below):\n"
        "REMARK   5    1517 N1 in MK1 902\nREMARK   5    1518 C1 in MK1 902\nREMARK   5    1519 C2 in MK1 902\n"
        "REMARK   5    1520 ZN in ZN 903\nREMARK   5 This is usually due to the fact that this residue is not\n"
        "REMARK   5 an amino acid or nucleic acid; or, there are no parameters\n"
        "REMARK   6 Total charge on this biomolecule: 4.0000 e\nREMARK   6    1520 ZN in ZN 903\n" FIRST "\n" SECOND
        "\n",
        &m);
    assert_int_equal(m.missing_atoms, 4);
    assert_int_equal(m.missing_residues, 2);
    molecule_free(&m);
    assert_true(
        contains_all(warnings, "m.pqr:3: |4 atoms of 2 residues|N1 in MK1 902, C1 in MK1 902, C2 in MK1 902, ..."));
}

static void sums_charges_exactly(void **state)
{
    (void)state;
    molecule m;
    /* 0.1 is not exact in binary: adding it 100,000 times naively is off by 2e-8. A good sum is off by half a unit
     * in the last place of the sum, plus 100,000 times the error of 0.1 itself, 5.6e-13. */
    char *text = many_atoms(100000, 1, (const char *const[]){"0.1000"});
    expect_read(text, &m);
    free(text);
    assert_true(fabs(m.total_charge - 10000) <= 2e-12);
    molecule_free(&m);
    /* Large charges that cancel must leave the small one. */
    expect_read(
        "ATOM 1 N A 1 1.0 2.0 3.0 1e8 1.0\nATOM 2 N A 1 1.0 2.0 3.1 1e-9 1.0\nATOM 3 N A 1 1.0 2.0 3.2 -1e8 1.0\n", &m);
    assert_true(m.total_charge == 1e-9);
    molecule_free(&m);
}

static void judges_the_total_charge(void **state)
{
    (void)state;
    molecule m;
    /* TIP3P water as gmx writes it, with two decimals: -0.83 + 2 * 0.42 leaves 0.01 for each of 30,000 molecules. */
    char *text = many_atoms(90000, 3, (const char *const[]){"-0.83", "0.42", "0.42"});
    expect_read(text, &m);
    assert_true(fabs(m.total_charge - 300) <= 1e-9);
    molecule_free(&m);
    assert_true(contains_all(warnings, "two decimals or fewer|+300.0000 e|450 e"));
    free(text);
    text = many_atoms(90000, 3, (const char *const[]){"-0.834", "0.417", "0.417"});
    expect_no_warning(text);
    free(text);
    /* 300 ions of charge 1.00 are exact. */
    text = many_atoms(300, 1, (const char *const[]){"-1.00"});
    expect_no_warning(text);
    free(text);
    /* 3,000 charges of four decimals: 4 sqrt(3000/12) 1e-4 = 0.0063 is normal, so 0.2 is not. */
    text = many_atoms(3001, 3001, (const char *const[3001]){[0 ... 2999] = "0.1001", [3000] = "-0.1000"});
    expect_read(text, &m);
    molecule_free(&m);
    assert_true(contains_all(warnings, "+300.2000 e, is 0.2000 e from|0.0063 e, at most 0.15 e"));
    free(text);
    /* With three decimals 4 sqrt(3000/12) 1e-3 = 0.063 is normal, so 0.02 needs no warning. */
    text = many_atoms(3001, 3001, (const char *const[3001]){[0 ... 2999] = "0.101", [3000] = "0.020"});
    expect_no_warning(text);
    free(text);
}

static void digests_the_text(void **state)
{
    (void)state;
    molecule m;
    char expected[VF_DIGEST_TEXT];
    vf_digest(FIRST "\n", sizeof FIRST, expected);
    expect_read(FIRST "\n", &m);
    assert_string_equal(m.digest, expected);
    molecule_free(&m);
    molecule_free(&m); /* a second call is allowed: the first left nothing */
    assert_null(m.charge);
}

/* ---- files ---- */

static const char *path_to(const char *name)
{
    static char path[PATH_SIZE];
    path_of(name, path);
    return path;
}

static const char *write_bytes(const char *name, const void *data, size_t bytes)
{
    const char *path = path_to(name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
    return path;
}

static const char *write_gzip(const char *name, const char *text, size_t bytes, int times)
{
    const char *path = path_to(name);
    gzFile file = gzopen(path, "wb9");
    assert_non_null(file);
    for (int i = 0; i < times; i++)
        assert_int_equal(gzwrite(file, text, (unsigned)bytes), (int)bytes);
    assert_int_equal(gzclose(file), Z_OK);
    return path;
}

static void expect_file_refused(const char *path, const char *words)
{
    molecule m;
    memset(&m, 0x5a, sizeof m);
    vf_context_clear_error(ctx);
    assert_int_equal(read_molecule(ctx, path, &m), VF_ERR_INPUT);
    if (!contains_all(vf_context_message(ctx), words) || !strstr(vf_context_message(ctx), path))
        fail_msg("'%s' lacks '%s' or '%s'", vf_context_message(ctx), words, path);
    assert_null(m.x);
}

static void reads_files_plain_and_compressed(void **state)
{
    (void)state;
    const char text[] = FIRST "\n" SECOND "\n";
    char expected[VF_DIGEST_TEXT];
    vf_digest(text, sizeof text - 1, expected);
    for (int packed = 0; packed < 2; packed++) {
        molecule m;
        const char *path =
            packed ? write_gzip("m.pqr.gz", text, sizeof text - 1, 1) : write_bytes("m.pqr", text, sizeof text - 1);
        vf_context_clear_error(ctx);
        assert_int_equal(read_molecule(ctx, path, &m), VF_OK);
        assert_int_equal(m.atoms, 2);
        assert_true(m.x[1] == -1.5);
        assert_string_equal(m.digest, expected);
        molecule_free(&m);
        unlink(path);
    }
}

static void refuses_files_that_cannot_be_read(void **state)
{
    (void)state;
    expect_file_refused(path_to("missing.pqr"), "No such file");
    expect_file_refused(directory, "is a directory");
    expect_file_refused(write_bytes("empty.pqr", "", 0), "is empty");
    unlink(path_to("empty.pqr"));
    if (geteuid() != 0) { /* root can read everything */
        const char *path = write_bytes("locked.pqr", FIRST, sizeof FIRST);
        chmod(path, 0);
        expect_file_refused(path, "Permission denied");
        unlink(path);
    }
}

static void refuses_damaged_and_dangerous_gzip(void **state)
{
    (void)state;
    char *text = many_atoms(2000, 2, (const char *const[]){"0.5123", "-0.5123"});
    const char *path = write_gzip("t.pqr.gz", text, strlen(text), 1);
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    for (int cut = 1; cut < 12; cut++) { /* inside the data; at its end; inside the checksum */
        assert_int_equal(truncate(path, info.st_size - (cut < 9 ? cut : 40 * cut)), 0);
        expect_file_refused(path, "gzip");
        path = write_gzip("t.pqr.gz", text, strlen(text), 1);
    }
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    fseek(file, (long)info.st_size / 2, SEEK_SET);
    fputs("damaged!", file);
    fclose(file);
    expect_file_refused(path, "gzip");
    free(text);

    char *line = malloc(1 << 20);
    assert_non_null(line);
    memset(line, ' ', 1 << 20);
    path = write_gzip("bomb.pqr.gz", line, 1 << 20, 80);
    free(line);
    expect_file_refused(path, "more than 200 times");
    unlink(path);
    unlink(path_to("t.pqr.gz"));
}

static void stops_when_cancelled(void **state)
{
    (void)state;
    vf_context *other;
    molecule m;
    assert_int_equal(vf_context_create(&other), VF_OK);
    vf_context_cancel(other);
    const char *path = write_bytes("m.pqr", FIRST, sizeof FIRST - 1);
    assert_int_equal(read_molecule(other, path, &m), VF_ERR_CANCELLED);
    assert_null(m.x);
    unlink(path);
    vf_context_destroy(other);
}

static int set_up(void **state)
{
    (void)state;
    if (open_folder("test_pqr") != 0)
        return 1;
    vf_context_set_log(ctx, keep_warning, NULL);
    return 0;
}

TEST_MAIN(set_up, close_folder, cmocka_unit_test(reads_every_dialect), cmocka_unit_test(reads_records_of_several_kinds),
          cmocka_unit_test(reads_every_kind_of_line), cmocka_unit_test(stops_at_end_and_after_the_first_model),
          cmocka_unit_test(warns_of_what_looks_wrong), cmocka_unit_test(counts_atoms_that_were_left_out),
          cmocka_unit_test(sums_charges_exactly), cmocka_unit_test(judges_the_total_charge),
          cmocka_unit_test(digests_the_text), cmocka_unit_test(reads_files_plain_and_compressed),
          cmocka_unit_test(refuses_files_that_cannot_be_read), cmocka_unit_test(refuses_damaged_and_dangerous_gzip),
          cmocka_unit_test(stops_when_cancelled))
