/* The PQR reader: invalid input, reported with file, line and field. */
#include "pqr_fixture.h"

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
    {"ATOM 1 N ALA A 5 1.0 2.0 3e12 0.5 1.5", "(z)|beyond +-1e+09"},
    {"ATOM 1 N ALA A 5 0x1p3 2.0 3.0 0.5 1.5", "field 7 (x)|hexadecimal"},
    {"ATOM 1 N ALA A 5 1.0D0 2.0 3.0 0.5 1.5", "field 7 (x)|Fortran exponent (D)"},
    {"ATOM 1 N ALA A 5 1.0 2.0 3.0 -5.0d-01 1.5", "field 10 (charge)|Fortran exponent (D)"},
    {"ATOM 1 N ALA A 5 1,0 2.0 3.0 0.5 1.5", "field 7 (x)|decimal comma"},
    {"ATOM 1 N ALA A 5 ******** 2.0 3.0 0.5 1.5", "field 7 (x)|overflowed its column"},
    {"ATOM 1 N ALA A 5 1.0\xc2\xa0 2.0 3.0 0.5 1.5", "field 7 (x)|'1.0\?\?' is not a number"},
    {"ATOM 1 N ALA A 5 1.0 2.0 3.0 0.5e 1.5", "field 10 (charge)|'0.5e' is not a number"},
    {"ATOM", "only 1 field;|ATOM serial name"},
    {"ATOM      1", "only 2 fields"},
    {"ATOM 1 N ALA A 5 1.0 2.0 3.0 0.5", "field 5 (residue number)|'A'"},
    {"ATOM 1 N ALA 5 1.0 2.0 3.0 0.5", "field 4 (residue number)|'ALA'|missing"},
    {"ATOM 1 N ALA A 1.0 2.0 3.0 0.5 1.5", "field 5 (residue number)|'A'"},
    {"ATOM 1 N ALA A 5 1.0 2.0 3.0 0.5 1.5 7.5", "decimal point is among the names"},
    {"ATOM 1 N ALA A 5 6 7 8 9 1.0 2.0 3.0 0.5 1.5 1 2 3", "more than 16 fields"},
    {"ATOM 1 H5T ALADC5 27.482 39.448 51.564 0.4422 0.6000", "9 fields|not form a consistent record"},
    {"ATOM 1 N ALA A B 5 6 1.0 2.0 3.0 0.5 1.5", "13 fields|not form a consistent record"},
    /* a missing field that shifts the residue number to x, as other readers do */
    {"ATOM 1 N ALA 1 5 1.0 2.0 3.0 0.5", "field 6 (x)|'5'|residue number"},
    {"ATOM 1 N ALA 1 5 1 2 3 0.5 1.5", "field 7 (x)|'1'|residue number"},
    {"ATOM 1 N 1 1.0 2.0 3.0 0.5 1.5", "not form a consistent record"},
    {"ATOM 1 H5T DC5 1 27.482 39.448 51.564 0.4422", "not form a consistent record"},
    /* touching fields that cannot be separated, or in two ways */
    {"ATOM      1 N    ALA     1    1999.32322998.7700-900.4900 -0.202 1.824", "run together"},
    {"ATOM      1 N    ALA     1    12.345.678 1.000 -900.490 -0.202 1.824", "run together"},
    {"ATOM 1 N ALA A 5 1.000 2.000 3.0000.500 1.5000",
     "field 9|run together"}, /* only coordinates have three decimals */
    {"ATOM 1 N ALA A 5 1.000 2.000 3.0000.5001.5000", "field 9|run together"},
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

/* Lines after these end in five numbers, like atoms of a PQR file. */
static const char *const psf_heads[] = {"PSF", "PSF CMAP CHEQ", "PSF EXT CMAP CHEQ XPLOR", "PSF NAMD", "PSF\r"};
static const char *const gro_atoms[] = {"    1ALA      N    1   1.234   5.678   9.012",
                                        "    1ALA      N    1   1.234   5.678   9.012  0.1234  0.5678  0.9012",
                                        "    1ALA      N    1-100.234-205.678-309.012",
                                        "99999ALA   HB11    0  1.23456  5.67890  9.01234"};

static void refuses_lines_of_mmcif(void **state)
{
    static const char *const lines[] = {"data_1ABC", "loop_", "_atom_site.group_PDB"};
    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char text[512];
        snprintf(text, sizeof text, FIRST "\n" SECOND "\n%s\n" FIRST "\n", lines[i]);
        expect_refused(text, "m.pqr:3: |mmCIF|does not begin like one");
        snprintf(text, sizeof text, "\n%s\n" FIRST "\n", lines[i]); /* it does */
        expect_refused(text, "m.pqr");
    }
}

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
    expect_refused("; of pdb2gmx\n#include \"ff.itp\"\n[ system ]\nwater\n[ molecules ]\nSOL 3\n", "topology|editconf");
    expect_refused("[ moleculetype ]\nSOL 2\n[ atoms ]\n1 OW 1 SOL OW 1 -0.8 16.0\n", "topology|editconf");
    expect_refused("#include \"ff.itp\"\n[system]\nwater\n[molecules]\nSOL 3\n", "topology|editconf");
    expect_refused("; no topology [systems]\n", "no atoms");
    expect_refused("; no topology\n", "no atoms");
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
                   "m.pqr:3: |five numbers"); /* has only the beginning of a record */
    /* A cube map, and LAMMPS's dump of charges and positions. */
    expect_refused("map\nin e\n 0 0.0 0.0 0.0\n 1 0.5 0 0\n 1 0 0.5 0\n 6 0 0 0.5\n 0.1 0.2 0.3 0.4 0.5 0.6\n",
                   "m.pqr:7: |no PQR file|--read-map");
    expect_refused("ITEM: TIMESTEP\n0\nITEM: ATOMS id type q x y z\n1 1 0.5 0.1 0.2 0.3\n",
                   "m.pqr:4: |no PQR file|convert");
    expect_refused(FIRST "\n1 1 0.5 0.1 0.2 0.3\n", "m.pqr:2: |five numbers|make it a REMARK");
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
    char map[1024] = {0}, coor[4 + 2 * 24] = {2};
    memcpy(map + 208, "MAP ", 4);
    expect_refused_bytes(map, sizeof map, "m.pqr: is an MRC or CCP4 map|--read-map");
    expect_refused_bytes(coor, sizeof coor, "m.pqr: is a coordinate file of NAMD|--charges");
    expect_refused_bytes("A\0T\0O\0M\0", 8, "binary|byte 1 is zero");
    expect_refused_bytes(FIRST "\n\0", sizeof FIRST + 1, "binary");
}

#define PDB_COORDINATES "ATOM      1  %-3s PRO A   1      13.120  39.00%d   5.159"

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
    /* Similar files that are PQR: ions; three decimals; a charge that no occupancy has; an element after real
     * charges. */
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

TEST_MAIN(set_up_context, close_context, cmocka_unit_test(refuses_with_file_line_and_field),
          cmocka_unit_test(refuses_lines_of_mmcif), cmocka_unit_test(refuses_what_is_no_pqr),
          cmocka_unit_test(refuses_pdb_files_that_parse), cmocka_unit_test(refuses_radii_before_charges))
