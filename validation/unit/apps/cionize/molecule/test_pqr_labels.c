/* The parts of an atom's names that the PQR reader keeps, in every dialect. */
#include "molecule_fixture.h"
#include "voxfield/append.h"

static const struct dialect {
    const char *line;
    atom_label label;
} dialects[] = {
    /* pdb2pqr's columns */
    {"ATOM      1  N   PRO A   1      13.120  39.003   5.159 -0.2020 1.8240",
     {.name = "N", .residue = "PRO", .chain = "A", .residue_number = 1}},
    {"ATOM   2231  N   PRO    -1      13.120  39.003   5.159 -0.2020 1.8240",
     {.name = "N", .residue = "PRO", .residue_number = -1}},
    {"HETATM10570  O   HOH A1001       1.500  -2.250   3.125 -0.8340 1.7683",
     {.name = "O", .residue = "HOH", .chain = "A", .residue_number = 1001, .hetero = true}},
    {"ATOM      3  N  NALA    52A     12.345 100.123   0.000  0.1000 1.4870",
     {.name = "N", .residue = "NALA", .residue_number = 52, .insertion = 'A'}},
    {"ATOM      7  N   ALA C-123       1.000 900.490   5.000  0.5000 1.0000",
     {.name = "N", .residue = "ALA", .chain = "C", .residue_number = -123}},
    {"ATOM      2 HD11NLEU B  10A    -12.345-100.123-999.999 -0.1000 1.4870",
     {.name = "HD11", .residue = "NLEU", .chain = "B", .residue_number = 10, .insertion = 'A'}},
    {"ATOM      2  HB1NLEU B  10      12.345 100.123 999.999 -0.1000 1.4870",
     {.name = "HB1", .residue = "NLEU", .chain = "B", .residue_number = 10}},
    {"ATOM      5  N   ALA    -5    -2998.771900.490   5.000  0.500010.0000",
     {.name = "N", .residue = "ALA", .residue_number = -5}},
    {"ATOM      4  N   ALA X  52B     12.345 100.123   0.000-123.45612.5000",
     {.name = "N", .residue = "ALA", .chain = "X", .residue_number = 52, .insertion = 'B'}},
    {"ATOM      1  N   PRO AA000      13.120  39.003   5.159 -0.2020 1.8240",
     {.name = "N", .residue = "PRO", .chain = "A", .residue_number = 10000}},
    {"ATOM      1  N   PRO A****      13.120  39.003   5.159 -0.2020 1.8240",
     {.name = "N", .residue = "PRO", .chain = "A", .residue_number = 0}},
    {"ATOM       5  N    ALA    -5    -999.999 1900.490    5.000  0.500010.0000", /* --whitespace */
     {.name = "N", .residue = "ALA", .residue_number = -5}},
    {"HETATM 10570  O    HOH A1001       1.500   -2.250    3.125 -0.8340 1.7683",
     {.name = "O", .residue = "HOH", .chain = "A", .residue_number = 1001, .hetero = true}},
    /* gmx editconf -mead: the chain in column 21, the number in 22-25 */
    {"ATOM      1 H12APOPCC   1   12.340   45.600   78.900   0.09   1.34",
     {.name = "H12A", .residue = "POPC", .chain = "C", .residue_number = 1}},
    {"ATOM      1    N ALAA   1   12.340   45.600   78.900  -0.47   1.85",
     {.name = "N", .residue = "ALA", .chain = "A", .residue_number = 1}},
    {"ATOM      1 HD11 LEUA1000   12.340   45.600   78.900  -0.47   1.85",
     {.name = "HD11", .residue = "LEU", .chain = "A", .residue_number = 1000}},
    {"HETATM12345 H12APOPCA1000   12.340   45.600   78.900  -0.47   1.85",
     {.name = "H12A", .residue = "POPC", .chain = "A", .residue_number = 1000, .hetero = true}},
    /* VMD: a residue name of four letters in columns 18-21 is not a residue with a chain */
    {"ATOM      1 OH2  TIP3    1      13.120  39.003   5.159 -0.834 1.768",
     {.name = "OH2", .residue = "TIP3", .residue_number = 1}},
    {"ATOM  100000 N    TIP3 12345    -999.323-998.770-900.490 -0.202 1.824",
     {.name = "N", .residue = "TIP3", .residue_number = 12345}},
    /* by hand, and Open Babel */
    {"HETATM    1  C   UNL     1       0.752   0.001  -0.141  0.12345678   1.700  CL  ",
     {.name = "C", .residue = "UNL", .residue_number = 1, .hetero = true, .element = "Cl"}},
    {"ATOM 1 N ALA A 52 B 1.5 2.5 3.5 0.25 1.5",
     {.name = "N", .residue = "ALA", .chain = "A", .residue_number = 52, .insertion = 'B'}},
    {"ATOM 1 LONGNAME RESIDUE8 SEGMENT9 52 1.5 2.5 3.5 0.25 1.5",
     {.name = "LONGNAME", .residue = "RESIDUE8", .chain = "SEGMENT9", .residue_number = 52}},
    {"ATOM 1 LONGNAME99 ALA A 99999999999 1.5 2.5 3.5 0.25 1.5",
     {.name = "LONGNAME", .residue = "ALA", .chain = "A", .residue_number = 0}},
    {"atom 1 I ION zz00 1.500 2.500 3.500 1 3", {.name = "I", .residue = "ION", .residue_number = 2434816}},
};

static void read_line(const char *line, molecule *m)
{
    char *copy = copy_exactly(line, strlen(line));
    vf_context_clear_error(ctx);
    if (parse_pqr(ctx, "m.pqr", copy, strlen(line), m) != VF_OK)
        fail_msg("not read: %s\n%s", vf_context_message(ctx), line);
    free(copy);
}

static void keeps_names_of_every_dialect(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof dialects / sizeof *dialects; i++) {
        molecule m;
        read_line(dialects[i].line, &m);
        expect_label(&m.labels[0], &dialects[i].label, dialects[i].line);
        molecule_free(&m);
    }
}

/* Random names in pdb2pqr's columns, which touch if they fill them. */
static void keeps_random_names_in_columns(void **state)
{
    (void)state;
    for (int i = 0; i < 20000; i++) {
        atom_label label = {.hetero = integer_between(0, 1) == 1};
        char name[6], line[96];
        molecule m;
        int letters = (int)integer_between(1, 4), residue = (int)integer_between(3, 4);
        label.name[0] = (char)integer_between('A', 'Z');
        for (int n = 1; n < letters; n++)
            label.name[n] = (char)(n == 1 ? integer_between('A', 'Z') : integer_between('1', '9'));
        for (int n = 0; n < residue; n++)
            label.residue[n] = (char)integer_between('A', 'Z');
        if (integer_between(0, 3) > 0)
            label.chain[0] = (char)integer_between('A', 'Z');
        label.residue_number = (int32_t)integer_between(-999, 9999);
        if (integer_between(0, 3) == 0)
            label.insertion = (char)integer_between('A', 'Z');
        snprintf(name, sizeof name, letters < 4 ? " %-3s" : "%s", label.name);
        snprintf(line, sizeof line, "%-6s%5d %s%4s %c%4d%c   %8.3f%8.3f%8.3f %7.4f %6.4f",
                 label.hetero ? "HETATM" : "ATOM", (int)integer_between(1, 99999), name, label.residue,
                 *label.chain ? *label.chain : ' ', (int)label.residue_number, label.insertion ? label.insertion : ' ',
                 (double)integer_between(-999999, 999999) / 1000, (double)integer_between(-999999, 999999) / 1000,
                 (double)integer_between(-999999, 999999) / 1000, -0.25, 1.5);
        read_line(line, &m);
        expect_label(&m.labels[0], &label, line);
        molecule_free(&m);
    }
}

static void keeps_a_label_for_every_atom(void **state)
{
    (void)state;
    enum { ATOMS = 3000, LINE = 80 }; /* more than the arrays' initial size */
    char *text = calloc(ATOMS, LINE);
    size_t used = 0;
    molecule m;
    assert_non_null(text);
    for (int i = 0; i < ATOMS; i++)
        used += vf_append(text + used, LINE, "ATOM %d N%d ALA A %d %d.125 0.250 0.375 -0.125 1.5\n", i, i, i, i);
    char *copy = copy_exactly(text, used);
    assert_int_equal(parse_pqr(ctx, "m.pqr", copy, used, &m), VF_OK);
    free(copy);
    free(text);
    assert_int_equal(m.atoms, ATOMS);
    for (int i = 0; i < ATOMS; i++) {
        atom_label label = {.residue = "ALA", .chain = "A", .residue_number = i};
        snprintf(label.name, sizeof label.name, "N%d", i);
        expect_label(&m.labels[i], &label, "many atoms");
    }
    molecule_free(&m);
    assert_null(m.labels);
}

TEST_MAIN(set_up_context, close_context, cmocka_unit_test(keeps_names_of_every_dialect),
          cmocka_unit_test(keeps_random_names_in_columns), cmocka_unit_test(keeps_a_label_for_every_atom))
