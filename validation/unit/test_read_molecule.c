/* The PQR reader: every dialect read exactly, everything else refused with file, line and field.
 *
 * Numbers are compared for equality: a decimal number has one nearest double, and the reader has to find it. */
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

#include "molecule/molecule.h"
#include "text/text_number.h"

enum { PATH_SIZE = 256, LOG_SIZE = 8192, X = 0, Y, Z, CHARGE, RADIUS, VALUES };

static vf_context *ctx;
static char directory[PATH_SIZE];
static char warnings[LOG_SIZE];
static uint64_t seed;

/* ---- tools ---- */

static void keep_warning(void *user, vf_log_level level, const char *text)
{
    (void)user;
    size_t used = strlen(warnings);
    snprintf(warnings + used, sizeof warnings - used, "%s%s\n", level == VF_LOG_WARNING ? "" : "note: ", text);
}

static vf_status parse_bytes(const char *text, size_t bytes, molecule *out)
{
    warnings[0] = '\0';
    vf_context_clear_error(ctx);
    /* An allocation of its own, so that a sanitizer sees a byte too far. */
    char *copy = malloc(bytes ? bytes : 1);
    assert_non_null(copy);
    memcpy(copy, text, bytes);
    vf_status status = parse_pqr(ctx, "m.pqr", copy, bytes, out);
    free(copy);
    return status;
}

static vf_status parse(const char *text, molecule *out)
{
    return parse_bytes(text, strlen(text), out);
}

static void expect_read(const char *text, molecule *out)
{
    if (parse(text, out) != VF_OK)
        fail_msg("not read: %s\n%.400s", vf_context_message(ctx), text);
}

/* Reads `text` and expects these atoms, x y z charge radius each, and nothing else. */
static void expect_atoms(const char *text, int64_t atoms, const double (*values)[VALUES])
{
    molecule m;
    expect_read(text, &m);
    if (m.atoms != atoms)
        fail_msg("%lld atoms instead of %lld in\n%.400s", (long long)m.atoms, (long long)atoms, text);
    for (int64_t i = 0; i < atoms; i++) {
        const double got[VALUES] = {m.x[i], m.y[i], m.z[i], m.charge[i], m.radius[i]};
        for (int v = 0; v < VALUES; v++)
            if (!(got[v] == values[i][v]))
                fail_msg("atom %lld value %d is %.17g instead of %.17g in\n%.400s", (long long)i, v, got[v],
                         values[i][v], text);
    }
    molecule_free(&m);
}

static bool contains_all(const char *text, const char *words)
{
    char copy[512], *state = NULL;
    snprintf(copy, sizeof copy, "%s", words);
    for (char *word = strtok_r(copy, "|", &state); word; word = strtok_r(NULL, "|", &state))
        if (!strstr(text, word))
            return false;
    return true;
}

/* Expects a refusal whose message contains every one of `words`, which are separated by |. */
static void expect_refused_bytes(const char *text, size_t bytes, const char *words)
{
    molecule m;
    memset(&m, 0x5a, sizeof m);
    vf_status status = parse_bytes(text, bytes, &m);
    if (status != VF_ERR_INPUT)
        fail_msg("status %s instead of VF_ERR_INPUT for\n%.400s", vf_status_name(status), text);
    if (!contains_all(vf_context_message(ctx), words))
        fail_msg("'%s' lacks one of '%s' for\n%.400s", vf_context_message(ctx), words, text);
    assert_null(m.x);
    assert_int_equal(m.atoms, 0);
}

static void expect_refused(const char *text, const char *words)
{
    expect_refused_bytes(text, strlen(text), words);
}

static void expect_warning(const char *text, const char *words)
{
    molecule m;
    expect_read(text, &m);
    molecule_free(&m);
    if (!contains_all(warnings, words))
        fail_msg("warnings '%s' lack one of '%s' for\n%.400s", warnings, words, text);
}

static void expect_no_warning(const char *text)
{
    molecule m;
    expect_read(text, &m);
    molecule_free(&m);
    if (*warnings)
        fail_msg("unexpected '%s' for\n%.400s", warnings, text);
}

/* xorshift64*: the same on every machine for the same seed. */
static uint64_t random_bits(void)
{
    seed ^= seed >> 12;
    seed ^= seed << 25;
    seed ^= seed >> 27;
    return seed * UINT64_C(2685821657736338717);
}

static int64_t random_between(int64_t lo, int64_t hi)
{
    return lo + (int64_t)(random_bits() % (uint64_t)(hi - lo + 1));
}

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
#define FIRST "ATOM 1 N ALA A 52 1.500 2.500 3.500 0.25 1.5"
#define SECOND "ATOM 2 C ALA A 52 -1.500 2.500 3.500 -0.25 2.0"

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
    expect_refused("REMARK\nEND\n" FIRST "\n", "m.pqr:2:|ends here without an atom|1 atom follows|what comes before");
    expect_refused("MODEL 1\nENDMDL\nMODEL 2\n" FIRST "\nENDMDL\n", "m.pqr:2:|ends here without an atom");
}

/* ---- refusals ---- */

static const struct refusal {
    const char *text, *words; /* after two good lines, so that the line is 3 */
} refusals[] = {
    {"ATOM 1 N ALA 5 1.0 2.0 3.0 abc 1.5", "field 9 (charge)|'abc' is not a number"},
    {"ATOM 1 N ALA A 5 1.0 2.0 3.0 abc 1.5", "field 10 (charge)|'abc' is not a number"},
    {"ATOM 1 N ALA A 5 x 2.0 3.0 0.5 1.5", "field 7 (x)|'x'"},
    {"ATOM 1 N ALA A 5 1.0 2..0 3.0 0.5 1.5", "field 8 (y)|'2..0'"},
    {"ATOM 1 N ALA A 5 1.0 2.0 - 0.5 1.5", "field 9 (z)|'-'"},
    {"ATOM 1 N ALA A 5 1.0 2.0 3.0 0.5 xy", "field 11 (radius)|'xy'"},
    {"ATOM 1 N ALA A 5 1.0 2.0 3.0 0.5 1.5 xyz", "field 12 (radius)|'xyz'"},
    {"ATOM 1 N ALA A 5 1.0 2.0 3.0 0.5 -1.5", "field 11 (radius)|-1.5 is negative|DelPhi"},
    {"ATOM 1 N ALA A 5 1.0 2.0 3.0 1.5-0.5", "(radius)|-0.5 is negative"},
    {"ATOM 1 N ALA A 5 nan 2.0 3.0 0.5 1.5", "field 7 (x)|'nan' is not a finite number"},
    {"ATOM 1 N ALA A 5 1.0 2.0 3.0 -inf 1.5", "field 10 (charge)|'-inf' is not a finite number"},
    {"ATOM 1 N ALA A 5 1.0 2.0 3.0 0.5 NaN(5)", "field 11 (radius)|'NaN(5)' is not a finite number"},
    {"ATOM 1 N ALA A 5 1.0 2.0 3.0 0.5 1e999", "field 11 (radius)|'1e999' is out of range"},
    {"ATOM 1 N ALA A 5 1.0 2.0 3e12 0.5 1.5", "(z)|beyond 1e+09"},
    {"ATOM 1 N ALA A 5 0x1p3 2.0 3.0 0.5 1.5", "field 7 (x)|hexadecimal"},
    {"ATOM 1 N ALA A 5 1.0D0 2.0 3.0 0.5 1.5", "field 7 (x)|Fortran's D"},
    {"ATOM 1 N ALA A 5 1.0 2.0 3.0 -5.0d-01 1.5", "field 10 (charge)|Fortran's D"},
    {"ATOM 1 N ALA A 5 1,0 2.0 3.0 0.5 1.5", "field 7 (x)|decimal comma"},
    {"ATOM 1 N ALA A 5 ******** 2.0 3.0 0.5 1.5", "field 7 (x)|overflowed its column"},
    {"ATOM 1 N ALA A 5 1.0\xc2\xa0 2.0 3.0 0.5 1.5", "field 7 (x)|'1.0\?\?' is not a number"},
    {"ATOM 1 N ALA A 5 1.0 2.0 3.0 0.5e 1.5", "field 10 (charge)|'0.5e' is not a number"},
    {"ATOM", "only 1 field;|ATOM serial name"},
    {"ATOM      1", "only 2 fields"},
    {"ATOM 1 N ALA A 5 1.0 2.0 3.0 0.5", "field 5 (residue number)|'A'"},
    {"ATOM 1 N ALA 5 1.0 2.0 3.0 0.5", "field 4 (residue number)|'ALA'|missing"},
    {"ATOM 1 N ALA A 1.0 2.0 3.0 0.5 1.5", "field 5 (residue number)|'A'"},
    {"ATOM 1 N ALA A 5 1.0 2.0 3.0 0.5 1.5 7.5", "decimal point stands among the names"},
    {"ATOM 1 N ALA A 5 6 7 8 9 1.0 2.0 3.0 0.5 1.5 1 2 3", "more than 16 fields"},
    {"ATOM 1 H5T ALADC5 27.482 39.448 51.564 0.4422 0.6000", "9 fields|no consistent record"},
    {"ATOM 1 N ALA A B 5 6 1.0 2.0 3.0 0.5 1.5", "13 fields|no consistent record"},
    /* a missing field that shifts the residue number to x, as other readers do */
    {"ATOM 1 N ALA 1 5 1.0 2.0 3.0 0.5", "field 6 (x)|'5'|residue number"},
    {"ATOM 1 N ALA 1 5 1 2 3 0.5 1.5", "field 7 (x)|'1'|residue number"},
    {"ATOM 1 N 1 1.0 2.0 3.0 0.5 1.5", "no consistent record"},
    {"ATOM 1 H5T DC5 1 27.482 39.448 51.564 0.4422", "no consistent record"},
    /* run together where it cannot be told how, or in two ways */
    {"ATOM      1 N    ALA     1    1999.32322998.7700-900.4900 -0.202 1.824", "run together"},
    {"ATOM      1 N    ALA     1    12.345.678 1.000 -900.490 -0.202 1.824", "run together"},
    {"ATOM      1 N    ALA     1    1999.3230998.770 -900.490 -0.202 1.824", "run together"},
    {"ATOM      6  N   ALA C-123    12345.671900.490   5.000  0.5000 1.0000", "12345.671 900.49 5|12345.67 1900.49 5"},
    {"ATOM      6  N   ALA C   3    1234567812345678   5.000  0.5000 1.0000", "field 5 (residue number)|'C'"},
    {"ATOM      4  N   ALA    52      12.345 100.123   0.000-123.45612.5000 7", "field 8|run together"},
    {"ATOM      4  N   ALA            12.345 100.123   0.000-123.45612.5000", "field 7|run together"},
    {"ATOM      6  N   ALA C   3    12345678   4.000   5.000  0.5000 1.0000", "cut to the width"},
    /* PDB records: with element, with segment, with touching B-factor, with formal charge; PDBQT */
    {"ATOM      1  N   PRO A   1      13.120  39.003   5.159  1.00 20.00      PROT N",
     "PDB file|occupancy 1.00|20.00|pdb2pqr"},
    {"ATOM      1  N   PRO A   1      13.120  39.003   5.159  1.00100.00           N", "PDB file|B-factor 100.00"},
    {"ATOM      1  N   PRO A   1      13.120  39.003   5.159  1.00 20.00           N1+", "PDB file"},
    {"ATOM      1  N   PRO A   1      13.120  39.003   5.159  1.00 20.00    -0.346 N", "PDB file"},
    /* damaged record names */
    {"TOM 1 N ALA A 5 1.0 2.0 3.0 0.5 1.5", "field 1 (record)|'TOM'|five numbers"},
    {"ATOMS 1 N ALA A 5 1.0 2.0 3.0 0.5 1.5", "field 1 (record)|'ATOMS'"},
    {"1 N ALA A 5 1.0 2.0 3.0 0.5 1.5", "field 1 (record)|'1'"},
    {"atom 1 N ALA A 5 1.0 2.0 3.0 0.5 -1.5", "field 11 (radius)"},
    /* mmCIF */
    {"data_1ABC", "mmCIF"},
    {"loop_", "mmCIF"},
    {"_atom_site.group_PDB", "mmCIF"},
};

static void refuses_with_file_line_and_field(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        char text[512], words[256];
        snprintf(text, sizeof text, FIRST "\n" SECOND "\n%s\n" FIRST "\n", refusals[i].text);
        snprintf(words, sizeof words, "m.pqr:3: |%s", refusals[i].words);
        expect_refused(text, words);
        snprintf(text, sizeof text, FIRST "\r\r%s\r", refusals[i].text);
        expect_refused(text, words);
        snprintf(text, sizeof text, "\r\n\r\n%s\r\n", refusals[i].text);
        expect_refused(text, words);
    }
}

/* Lines behind these end in five numbers, as atoms of a PQR file do. */
static const char *const psf_heads[] = {"PSF", "PSF CMAP CHEQ", "PSF EXT CMAP CHEQ XPLOR", "PSF NAMD", "PSF\r"};
static const char *const gro_atoms[] = {"    1ALA      N    1   1.234   5.678   9.012",
                                        "    1ALA      N    1   1.234   5.678   9.012  0.1234  0.5678  0.9012",
                                        "    1ALA      N    1-100.234-205.678-309.012",
                                        "99999ALA   HB11    0  1.23456  5.67890  9.01234"};

static void refuses_what_is_no_pqr(void **state)
{
    (void)state;
    expect_refused("", "m.pqr: |empty");
    expect_refused("\n \n", "no atoms|2 lines");
    expect_refused("\xef\xbb\xbf", "no atoms");
    expect_refused("REMARK only remarks\n", "no atoms");
    expect_refused("PSF EXT CMAP\n\n  1 !NTITLE\n", "PSF");
    for (size_t i = 0; i < sizeof psf_heads / sizeof *psf_heads; i++) {
        char psf[256];
        snprintf(psf, sizeof psf,
                 "%s\n\n       1 !NATOM\n       1 4AKE 1    MET  N      56  -0.300000  14.0070  0  1.0\n",
                 psf_heads[i]);
        expect_refused(psf, "m.pqr: is a PSF file|--charges");
    }
    expect_refused("PSFGEN\n1 N ALA A 5 1.0 2.0 3.0 0.5 1.5\n", "m.pqr:2: |five numbers"); /* a word of its own */
    expect_refused("@<TRIPOS>MOLECULE\nx\n", "mol2");
    expect_refused("object 1 class gridpositions counts 1 1 1\n", "OpenDX");
    expect_refused("# a map\n\n# in kT/e\nobject 1 class gridpositions counts 2 2 2\n1 2 3 4 5 6\n",
                   "OpenDX|--read-map");
    expect_refused("\n%VERSION  VERSION_STAMP = V0001.000\n%FLAG TITLE\n%FORMAT(5E16.8)\n 1.0 2.0 3.0 4.0 5.0\n",
                   "m.pqr: is an AMBER prmtop|--charges");
    expect_refused("m\n     2\n   1.0000000   2.0000000   3.0000000   4.0000000   5.0000000   6.0000000\n",
                   "m.pqr: is an AMBER coordinate file|--charges");
    for (size_t i = 0; i < sizeof gro_atoms / sizeof *gro_atoms; i++) {
        char gro[256];
        snprintf(gro, sizeof gro, "MD of ALA, t= 0.0\n    1\n%s\n   1.0   1.0   1.0\n", gro_atoms[i]);
        expect_refused(gro, "m.pqr: is a GROMACS .gro file|editconf");
    }
    expect_refused("m\n    1\n1 N ALA A 5 1.0 2.0 3.0 0.5 1.5\n",
                   "m.pqr:3: |five numbers"); /* has only the head of one */
    expect_refused("<!DOCTYPE html><html>404</html>\n", "HTML");
    expect_refused("BZh91AY", "bzip2");
    expect_refused("\x1f\x8b\x08 x", "twice");
    expect_refused("\xfd"
                   "7zXZ",
                   "xz");
    expect_refused("PK\x03\x04", "zip");
    expect_refused("\x89HDF\r\n", "HDF5|--read-map");
    expect_refused("\xff\xfe"
                   "A",
                   "UTF-16");
    expect_refused_bytes("A\0T\0O\0M\0", 8, "binary|byte 1 is zero");
    expect_refused_bytes(FIRST "\n\0", sizeof FIRST + 1, "binary");
}

#define PDB_COORDINATES "ATOM      1  %-3s PRO A   1      13.120  39.00%d   5.159"

static void add_line(char *text, size_t size, const char *format, ...) VF_PRINTF(3, 4);
static void add_line(char *text, size_t size, const char *format, ...)
{
    va_list args;
    size_t used = strlen(text);
    va_start(args, format);
    vsnprintf(text + used, size - used, format, args);
    va_end(args);
}

/* Five atoms with these last columns; `names` differ or are all NA. */
static const char *five_atoms(const char *header, bool names, const char *last)
{
    static char text[2048];
    static const char *const name[] = {"N", "CA", "C", "O", "CB"};
    snprintf(text, sizeof text, "%s", header);
    for (int i = 0; i < 5; i++)
        add_line(text, sizeof text, PDB_COORDINATES "%s\n", names ? name[i] : "NA", i, last);
    return text;
}

static void refuses_pdb_files_that_parse(void **state)
{
    (void)state;
    molecule m;
    expect_refused(five_atoms("", true, "  1.00 20.00"),
                   "m.pqr:1: |PDB file|occupancy 1.00|20.00|pdb2pqr|three decimals");
    expect_refused(five_atoms("", true, "  1.00  0.00           N  "), "PDB file");
    expect_refused(five_atoms("", true, "  1.00  0.00"), "PDB file");
    expect_refused(five_atoms("", false, "  1.00 16.50"), "PDB file");
    expect_refused(five_atoms("SEQRES   1 A\n", false, "  1.00  0.00"), "m.pqr:2: |PDB file");
    expect_refused(five_atoms("", true, "  0.50  3.00           N"), "PDB file");
    expect_refused(five_atoms("", true, "  0.00 16.50"), "PDB file");
    /* What looks alike and is none: ions; three decimals; a charge no occupancy has; an element after real charges. */
    const char *const accepted[] = {"  1.00  1.02", " 1.000  1.02", "  1.00 1.020",
                                    "  2.00  1.02", " -1.00  1.02", "  0.25  1.02"};
    for (size_t i = 0; i < sizeof accepted / sizeof *accepted; i++) {
        expect_read(five_atoms("", false, accepted[i]), &m);
        molecule_free(&m);
    }
    expect_read(five_atoms("", true, " 1.000  1.02"), &m);
    molecule_free(&m);
    expect_read(five_atoms("", true, " -0.25  1.02 N"), &m);
    molecule_free(&m);
    expect_read(
        five_atoms("ATOM      1 MG    MG A   1      13.120  39.000   9.159  2.00  1.02\n", true, "  1.00  1.02"), &m);
    molecule_free(&m);
}

static void refuses_radii_before_charges(void **state)
{
    (void)state;
    molecule m;
    const char remark[] = "REMARK  atom radii in columns 55-62\nREMARK  atom charges in columns 63-70\n";
    expect_refused(five_atoms(remark, true, "   1.550   0.141"), "m.pqr:1: |radii come before");
    expect_refused(five_atoms(remark, true, "   1.550  -0.141"), "m.pqr:3: |(radius)|negative");
    expect_read(five_atoms(remark, true, "  -0.141   1.550"), &m);
    molecule_free(&m);
}

/* ---- warnings and sums ---- */

static void warns_of_what_looks_wrong(void **state)
{
    (void)state;
    expect_no_warning("# one\n%two\n" FIRST "\n" SECOND "\n");
    expect_warning(FIRST "\n" SECOND
                         "\nATOM 3 C ALA A 5 1.500 2.500 3.500 0.0 1.0\nATOM 4 C ALA A 5 -1.5 2.500 3.500 0.0 1.0\n",
                   "m.pqr:3: |that in line 1|2 such atoms");
    expect_warning("ATOM 1 N ALA A 5 0.000 0.0 0.0 0.0 1.0\nATOM 2 N ALA A 5 -0.000 -0.0 0.0 0.0 1.0\n",
                   "line 1|every charge is 0");
    expect_warning("MASTER 1\nFROBNICATE 3\nAtom 12 was added\nHETATMS follow\n" FIRST "\n" SECOND "\n",
                   "m.pqr:2: 'FROBNICATE'|3 such lines");
    expect_warning("ATOM 1 N ALA A 5 1.0 2.0 3.0 0.3333 1.5\n",
                   "m.pqr: the total charge, +0.3333 e, is 0.3333 e|missing");
    expect_warning("ATOM      5  N   ALA    -5    -2998.77 900.490   5.000  1.0000 1.0000\n",
                   "m.pqr:1: coordinates were cut|1 atom:");
    expect_warning("ATOM      5  N   ALA    -5    -2998.771900.490   5.000  0.500010.0000\n",
                   "m.pqr:1: coordinates were cut|1 atom:");
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

/* `count` atoms along x, with the charges written as given, in turn. */
static char *many_atoms(int count, int charges, const char *const *charge)
{
    char *text = malloc((size_t)count * 64 + 1), *p = text;
    assert_non_null(text);
    for (int i = 0; i < count; i++)
        p += sprintf(p, "ATOM %d OW SOL %d %d.000 0.000 0.000 %s 1.500\n", i + 1, i / 3, i, charge[i % charges]);
    return text;
}

static void sums_charges_exactly(void **state)
{
    (void)state;
    molecule m;
    /* 0.1 is not a binary number: adding it 100,000 times naively is 2e-8 off; half a unit in the last place of the
     * sum, plus the error of 0.1 itself times 100,000, 5.6e-13, is what a good sum leaves. */
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
    /* TIP3P water as gmx writes it, two decimals: -0.83 + 2 * 0.42 leaves 0.01 for each of 30,000 molecules. */
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
    /* 3,000 charges of four decimals: 4 sqrt(3000/12) 1e-4 = 0.0063 is usual, so 0.2 is not. */
    text = many_atoms(3001, 3001, (const char *const[3001]){[0 ... 2999] = "0.1001", [3000] = "-0.1000"});
    expect_read(text, &m);
    molecule_free(&m);
    assert_true(contains_all(warnings, "+300.2000 e, is 0.2000 e from|0.0063 e, at most 0.15 e"));
    free(text);
    /* With three decimals 4 sqrt(3000/12) 1e-3 = 0.063 is usual, so 0.02 is nothing to speak of. */
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
    molecule_free(&m); /* twice is allowed: it leaves nothing */
    assert_null(m.charge);
}

/* ---- random molecules in every dialect ---- */

typedef struct fields {
    char name[8], residue[8];
    char chain; /* ' ': none */
    int serial, number;
    char code;             /* ' ': none */
    int64_t value[VALUES]; /* x y z in 1/1000, charge and radius in units of the dialect's last decimal */
} fields;

/* value / 10^decimals as text, as printf would write a number that is exactly that. */
static const char *decimal(int64_t value, int decimals, char *out)
{
    int64_t unit = 1;
    for (int i = 0; i < decimals; i++)
        unit *= 10;
    int64_t size = value < 0 ? -value : value;
    sprintf(out, "%s%lld.%0*lld", value < 0 ? "-" : "", (long long)(size / unit), decimals, (long long)(size % unit));
    return out;
}

enum { NUMBER_SIZE = 48 };
typedef struct numbers {
    char x[NUMBER_SIZE], y[NUMBER_SIZE], z[NUMBER_SIZE], charge[NUMBER_SIZE], radius[NUMBER_SIZE];
} numbers;

static numbers write_numbers(const fields *f, int decimals)
{
    numbers n;
    decimal(f->value[X], 3, n.x);
    decimal(f->value[Y], 3, n.y);
    decimal(f->value[Z], 3, n.z);
    decimal(f->value[CHARGE], decimals, n.charge);
    decimal(f->value[RADIUS], decimals, n.radius);
    return n;
}

static int write_pdb2pqr(const fields *f, char *out)
{
    char serial[16], number[16], name[8];
    numbers n = write_numbers(f, 4);
    sprintf(serial, "%d", f->serial);
    sprintf(number, "%d", f->number);
    sprintf(name, strlen(f->name) == 4 ? "%.4s" : " %.3s", f->name);
    return sprintf(out, "%-6s%5.5s %-4s%4.4s %c%4.4s%c   %8.8s%8.8s%8.8s%8.8s%7.7s\n",
                   f->serial % 2 ? "ATOM" : "HETATM", serial, name, f->residue, f->chain, number, f->code, n.x, n.y,
                   n.z, n.charge, n.radius);
}

static int write_pdb2pqr_whitespace(const fields *f, char *out)
{
    char line[256];
    write_pdb2pqr(f, line);
    return sprintf(out, "%.6s %.10s %.22s %.8s %s", line, line + 6, line + 16, line + 38, line + 46);
}

static int write_gmx(const fields *f, char *out)
{
    numbers n = write_numbers(f, 2);
    return sprintf(out, "%-6s%5d %-4.4s%4.4s%c%4d %8s %8s %8s %6s %6s\n", "ATOM", f->serial % 100000, f->name,
                   f->residue, f->chain, f->number % 10000, n.x, n.y, n.z, n.charge, n.radius);
}

static int write_vmd(const fields *f, char *out)
{
    numbers n = write_numbers(f, 3);
    return sprintf(out, "ATOM  %5d %-4s %s %5d    %8s%8s%8s %s %s\n", f->serial, f->name, f->residue, f->number, n.x,
                   n.y, n.z, n.charge, n.radius);
}

static int write_parmed(const fields *f, char *out)
{
    numbers n = write_numbers(f, 4);
    return sprintf(out, "ATOM  %5d %-3s  %-3s %c %3d    %7s %7s %7s %8s %8s\n", f->serial, f->name, f->residue,
                   f->chain, f->number, n.x, n.y, n.z, n.charge, n.radius);
}

/* PDB columns, where a residue's name of four letters touches the chain, and that a residue number of four digits. */
static int write_amber(const fields *f, char *out)
{
    numbers n = write_numbers(f, 3);
    return sprintf(out, "ATOM  %5d %-4s %-4s%c%4d    %8s%8s%8s%8s%8s\n", f->serial % 100000, f->name, f->residue,
                   f->chain, f->number % 10000, n.x, n.y, n.z, n.charge, n.radius);
}

static int write_mdanalysis(const fields *f, char *out)
{
    numbers n = write_numbers(f, 4);
    return sprintf(out, "ATOM %6d %-4s  %-3s %c %4d   %8s %8s %8s %7s %6s\n", f->serial, f->name, f->residue, f->chain,
                   f->number, n.x, n.y, n.z, n.charge, n.radius);
}

static int write_openbabel(const fields *f, char *out)
{
    numbers n = write_numbers(f, 4);
    return sprintf(out, "%s%5d %-4s %-3.3s %c%4d    %8s%8s%8s %11s0000%8s %2s  \n", f->serial % 2 ? "ATOM  " : "HETATM",
                   f->serial, f->name, f->residue, f->chain, f->number, n.x, n.y, n.z, n.charge, n.radius,
                   f->serial % 3 ? "N" : "Cl");
}

static int write_tabs(const fields *f, char *out)
{
    numbers n = write_numbers(f, 4);
    return sprintf(out, "HETATM\t%d\t%s\t%s\t%d%c\t%s\t%s\t%s\t%s\t%s\r\n", f->serial, f->name, f->residue, f->number,
                   f->code, n.x, n.y, n.z, n.charge, n.radius);
}

/* Coordinates that fit eight columns, so that no writer cuts them: then none may be refused. */
static const struct writer {
    const char *name;
    int (*write)(const fields *, char *);
    int decimals;
    int64_t largest_radius; /* that the dialect keeps apart from the charge */
} writers[] = {
    {"pdb2pqr", write_pdb2pqr, 4, 129999},
    {"pdb2pqr --whitespace", write_pdb2pqr_whitespace, 4, 129999},
    {"gmx", write_gmx, 2, 999},
    {"vmd", write_vmd, 3, 9999},
    {"parmed", write_parmed, 4, 99999},
    {"amber", write_amber, 3, 9999},
    {"mdanalysis", write_mdanalysis, 4, 99999},
    {"openbabel", write_openbabel, 4, 99999},
    {"tabs", write_tabs, 4, 99999},
};

static fields random_fields(const struct writer *w, int serial)
{
    static const char *const names[] = {"N", "CA", "HD11", "1HB", "O5'", "H12A", "ZN", "H5''"};
    static const char *const residues[] = {"ALA", "NALA", "POPC", "DA", "U", "HOH", "2MG", "DC5", "CL-"};
    fields f = {.serial = serial, .number = (int)random_between(-99, 9999), .chain = ' ', .code = ' '};
    strcpy(f.name, names[random_between(0, 7)]);
    strcpy(f.residue, residues[random_between(0, 8)]);
    if (random_between(0, 3) > 0)
        f.chain = (char)random_between('A', 'Z');
    if (random_between(0, 9) == 0)
        f.code = (char)random_between('A', 'C');
    int64_t reach = random_between(0, 2) ? 99999 : 9999999; /* near the origin, or filling the columns */
    for (int v = X; v <= Z; v++)
        f.value[v] = random_between(reach > 999999 ? -999999 : -reach, reach);
    int64_t unit = w->decimals == 4 ? 10000 : w->decimals == 3 ? 1000 : 100;
    f.value[CHARGE] = random_between(-2 * unit, 2 * unit);
    f.value[RADIUS] = random_between(0, random_between(0, 3) ? 3 * unit : w->largest_radius);
    return f;
}

static void reads_random_molecules_in_every_dialect(void **state)
{
    (void)state;
    enum { ATOMS = 3000, LINE = 160 };
    double(*expected)[VALUES] = malloc(ATOMS * sizeof *expected);
    char *text = malloc((size_t)ATOMS * LINE);
    assert_non_null(expected);
    assert_non_null(text);
    for (size_t w = 0; w < sizeof writers / sizeof *writers; w++) {
        size_t used = 0;
        double unit = pow(10, writers[w].decimals);
        for (int i = 0; i < ATOMS; i++) {
            fields f = random_fields(&writers[w], i + 1 + (i > ATOMS / 2 ? 99990 - ATOMS / 2 : 0));
            for (int v = 0; v < VALUES; v++)
                expected[i][v] = (double)f.value[v] / (v < CHARGE ? 1000 : unit);
            used += (size_t)writers[w].write(&f, text + used);
            assert_true(used < (size_t)ATOMS * LINE);
        }
        expect_atoms(text, ATOMS, expected);
    }
    free(text);
    free(expected);
}

/* pdb2pqr cuts coordinates that need more than eight columns. What is left is read by its columns, or the line is
 * refused as ambiguous; never read as something else. */
static void never_misreads_cut_coordinates(void **state)
{
    (void)state;
    const struct writer *w = &writers[0];
    int refused = 0, read = 0;
    for (int i = 0; i < 20000; i++) {
        char line[256], column[9] = "";
        molecule m;
        fields f = random_fields(w, 1);
        f.value[random_between(X, Z)] = random_between(-99999999, 99999999);
        f.value[random_between(X, Z)] = random_between(-99999999, 99999999);
        f.value[CHARGE] = -1234;
        write_pdb2pqr(&f, line);
        if (parse(line, &m) != VF_OK) {
            refused++;
            if (!contains_all(vf_context_message(ctx), "by columns, as"))
                fail_msg("%s for\n%s", vf_context_message(ctx), line);
            continue;
        }
        read++;
        const double got[3] = {m.x[0], m.y[0], m.z[0]};
        for (int v = X; v <= Z; v++) {
            memcpy(column, line + 30 + 8 * v, 8);
            if (!(got[v] == strtod(column, NULL)))
                fail_msg("%.10g read from '%s' in\n%s", got[v], column, line);
        }
        molecule_free(&m);
    }
    assert_true(read > refused && refused > 0);
}

/* A record from which one of the last six fields is missing must be refused; one that lacks another field, or has one
 * too many, is refused or read with the same numbers. */
static void never_shifts_fields(void **state)
{
    (void)state;
    enum { FIELDS = 11 };
    for (int i = 0; i < 20000; i++) {
        char word[FIELDS][NUMBER_SIZE], line[512] = "";
        fields f = random_fields(&writers[6], 1);
        numbers n = write_numbers(&f, 4);
        const char *const from[FIELDS] = {"ATOM", "1", f.name, f.residue, NULL,    NULL,
                                          n.x,    n.y, n.z,    n.charge,  n.radius};
        for (int k = 0; k < FIELDS; k++)
            snprintf(word[k], NUMBER_SIZE, "%s", from[k] ? from[k] : "");
        bool digit_chain = random_between(0, 1);
        sprintf(word[4], "%c", (int)(digit_chain ? random_between('0', '9') : random_between('A', 'Z')));
        sprintf(word[5], "%d", f.number);
        bool chain = random_between(0, 1), insert = random_between(0, 1);
        int at = (int)random_between(1, FIELDS - 1);
        for (int k = 0; k < FIELDS; k++) {
            if ((k == 4 && !chain) || (k == at && !insert))
                continue;
            if (k == at)
                add_line(line, sizeof line, "%s ",
                         (const char *const[]){"7", "7.25", "X", "1001"}[random_between(0, 3)]);
            add_line(line, sizeof line, "%s ", word[k]);
        }
        molecule m;
        if (parse(line, &m) != VF_OK)
            continue;
        bool same = m.x[0] == (double)f.value[X] / 1000 && m.y[0] == (double)f.value[Y] / 1000 &&
                    m.z[0] == (double)f.value[Z] / 1000 && m.charge[0] == (double)f.value[CHARGE] / 1e4 &&
                    m.radius[0] == (double)f.value[RADIUS] / 1e4;
        if (!same || (!insert && at > 5))
            fail_msg("read as %g %g %g %g %g: %s", m.x[0], m.y[0], m.z[0], m.charge[0], m.radius[0], line);
        molecule_free(&m);
    }
}

static void reads_more_atoms_than_serials(void **state)
{
    (void)state;
    enum { ATOMS = 120000, LINE = 96 };
    char *text = malloc((size_t)ATOMS * LINE);
    double(*expected)[VALUES] = malloc(ATOMS * sizeof *expected);
    assert_non_null(text);
    assert_non_null(expected);
    /* cut to five columns (pdb2pqr), six columns, hexadecimal (VMD), hybrid-36's first block, asterisks, from 0 again
     * (gmx) */
    for (int style = 0; style < 6; style++) {
        size_t used = 0;
        for (int i = 0; i < ATOMS; i++) {
            char serial[16];
            int n = i + 1;
            if (n <= 99999)
                sprintf(serial, "%5d", n);
            else if (style == 0)
                sprintf(serial, "%d", n / 10);
            else if (style == 1)
                sprintf(serial, "%d", n);
            else if (style == 2)
                sprintf(serial, "%x", (unsigned)n);
            else if (style == 3)
                sprintf(serial, "A%04d", (n - 100000) % 10000);
            else
                sprintf(serial, style == 4 ? "*****" : "%5d", n % 100000);
            double x = (double)(i % 1000) - 500, y = (double)(i / 1000), z = -1;
            memcpy(expected[i], (double[VALUES]){x, y, z, i % 2 ? 0.417 : -0.417, 1.5}, sizeof *expected);
            used += (size_t)sprintf(text + used, "%s%s  OW  SOL A%4d    %8.3f%8.3f%8.3f %7.4f %6.4f\n",
                                    i % 2 ? "ATOM  " : "HETATM", serial, i / 30 % 10000, x, y, z,
                                    i % 2 ? 0.417 : -0.417, 1.5);
        }
        expect_atoms(text, ATOMS, expected);
        assert_string_equal(warnings, "");
    }
    free(text);
    free(expected);
}

/* ---- numbers ---- */

static bool number(const char *text, double *value)
{
    locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    text_number out = {.value = NAN};
    bool is = text_read_number((text_piece){text, strlen(text)}, c_locale, &out);
    freelocale(c_locale);
    *value = out.value;
    return is;
}

static void reads_numbers_correctly_rounded(void **state)
{
    (void)state;
    const char *const special[] = {"0.1",
                                   "-0.3",
                                   "9007199254740993",
                                   "9007199254740992.5",
                                   "0.1e-22",
                                   "123456789012345678901234567890",
                                   "1e22",
                                   "1e23",
                                   "1e308",
                                   "4.9e-324",
                                   "1e-400",
                                   "2.2250738585072011e-308",
                                   "8.41",
                                   "1.7e-05",
                                   "00000000000000000000000000000000001.5",
                                   "-.5",
                                   "7."};
    for (size_t i = 0; i < sizeof special / sizeof *special; i++) {
        double value;
        assert_true(number(special[i], &value));
        if (!(value == strtod(special[i], NULL)))
            fail_msg("%s read as %.17g", special[i], value);
    }
    for (int i = 0; i < 200000; i++) {
        char text[64];
        double value;
        uint64_t mantissa = random_bits() >> random_between(1, 60);
        int decimals = (int)random_between(0, 18);
        decimal(random_between(0, 1) ? (int64_t)mantissa : -(int64_t)mantissa, decimals, text);
        if (random_between(0, 3) == 0)
            sprintf(text + strlen(text), "e%+03d", (int)random_between(-40, 40));
        assert_true(number(text, &value));
        if (!(value == strtod(text, NULL)))
            fail_msg("%s read as %.17g, not %.17g", text, value, strtod(text, NULL));
    }
    const char *const none[] = {"",   "-",  "+",  ".",    "e5",  "1e",  "1e+",   "--1",  "1-",
                                "1 ", " 1", "1f", "0x10", "nan", "inf", "1e999", "1..2", "1,5"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        double value;
        if (number(none[i], &value))
            fail_msg("'%s' read as %g", none[i], value);
    }
}

/* ---- files ---- */

static const char *path_of(const char *name)
{
    static char path[PATH_SIZE + 64];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return path;
}

static const char *write_bytes(const char *name, const void *data, size_t bytes)
{
    const char *path = path_of(name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
    return path;
}

static const char *write_gzip(const char *name, const char *text, size_t bytes, int times)
{
    const char *path = path_of(name);
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
    expect_file_refused(path_of("missing.pqr"), "No such file");
    expect_file_refused(directory, "is a directory");
    expect_file_refused(write_bytes("empty.pqr", "", 0), "is empty");
    unlink(path_of("empty.pqr"));
    if (geteuid() != 0) { /* root may read everything */
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
    for (int cut = 1; cut < 12; cut++) { /* inside the data; at its end; inside the check sum */
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
    unlink(path_of("t.pqr.gz"));
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

/* ---- the run ---- */

static int set_up(void **state)
{
    (void)state;
    const char *given = getenv("VOXFIELD_TEST_SEED");
    seed = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL) * 1000003 + (uint64_t)getpid();
    print_message("seed %llu (VOXFIELD_TEST_SEED repeats it)\n", (unsigned long long)seed);
    seed = seed ? seed : 1;
    const char *base = getenv("TMPDIR");
    snprintf(directory, sizeof directory, "%s/test_read_molecule.XXXXXX", base ? base : "/tmp");
    if (!mkdtemp(directory) || vf_context_create(&ctx) != VF_OK)
        return -1;
    vf_context_set_log(ctx, keep_warning, NULL);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    vf_context_destroy(ctx);
    return rmdir(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_every_dialect),
        cmocka_unit_test(reads_records_of_several_kinds),
        cmocka_unit_test(reads_every_kind_of_line),
        cmocka_unit_test(stops_at_end_and_after_the_first_model),
        cmocka_unit_test(refuses_with_file_line_and_field),
        cmocka_unit_test(refuses_what_is_no_pqr),
        cmocka_unit_test(refuses_pdb_files_that_parse),
        cmocka_unit_test(refuses_radii_before_charges),
        cmocka_unit_test(warns_of_what_looks_wrong),
        cmocka_unit_test(counts_atoms_that_were_left_out),
        cmocka_unit_test(sums_charges_exactly),
        cmocka_unit_test(judges_the_total_charge),
        cmocka_unit_test(digests_the_text),
        cmocka_unit_test(reads_random_molecules_in_every_dialect),
        cmocka_unit_test(never_misreads_cut_coordinates),
        cmocka_unit_test(never_shifts_fields),
        cmocka_unit_test(reads_more_atoms_than_serials),
        cmocka_unit_test(reads_numbers_correctly_rounded),
        cmocka_unit_test(reads_files_plain_and_compressed),
        cmocka_unit_test(refuses_files_that_cannot_be_read),
        cmocka_unit_test(refuses_damaged_and_dangerous_gzip),
        cmocka_unit_test(stops_when_cancelled),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
