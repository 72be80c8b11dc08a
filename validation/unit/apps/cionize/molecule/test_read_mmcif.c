/* Molecules in mmCIF: coordinates with charges of another file, charges and radii of the file itself, names, models, cells,
 * and the CIF of small molecules. Numbers are compared for equality: a decimal number has one nearest double. */
#include <math.h>

#include "molecule_fixture.h"

static const char head[] = "data_TEST\n#\n_entry.id TEST\nloop_\n"
                           "_atom_site.group_PDB\n_atom_site.id\n_atom_site.type_symbol\n_atom_site.label_atom_id\n"
                           "_atom_site.label_alt_id\n_atom_site.label_comp_id\n_atom_site.label_asym_id\n"
                           "_atom_site.label_seq_id\n_atom_site.pdbx_PDB_ins_code\n_atom_site.Cartn_x\n"
                           "_atom_site.Cartn_y\n_atom_site.Cartn_z\n_atom_site.occupancy\n"
                           "_atom_site.pdbx_formal_charge\n_atom_site.auth_seq_id\n_atom_site.auth_asym_id\n"
                           "_atom_site.auth_atom_id\n_atom_site.pdbx_PDB_model_num\n";
static const char rows[] = "ATOM 1 N N . ALA A 1 ? 13.120 39.003 5.159 1.00 ? 101 X N 1\n"
                           "ATOM 2 H HB1 . ALA A 1 ? 14.120 -39.003 5.2590000 0.50 ? 101 X HB1 1\n"
                           "HETATM 7 O \"O5'\" . HOH B . C -999.999 9999.999 -1e-3 1.00 ? -3 . ? 1\n";
static const char psf[] = "PSF NAMD\n3 !NATOM\n1 P 101 ALA N NH3 -0.3 14.007 0\n2 P 101 ALA HB1 HA 0.09 1.008 0\n"
                          "3 P -3 HOH O5' O 0.5 15.999 0\n";
static const double xyz[3][3] = {{13.120, 39.003, 5.159}, {14.120, -39.003, 5.259}, {-999.999, 9999.999, -1e-3}};

enum { TEXT = 1 << 13 };

static const char *join(const char *a, const char *b, const char *c)
{
    static char text[4][TEXT];
    static int turn;
    turn = (turn + 1) % 4;
    text[turn][0] = '\0';
    vf_append(text[turn], TEXT, "%s%s%s", a, b, c); /* not snprintf: compilers think that a may be the same text */
    return text[turn];
}

static vf_status parse_one(const char *text, molecule *out)
{
    char *copy = copy_exactly(text, strlen(text));
    warnings[0] = '\0';
    vf_context_clear_error(ctx);
    vf_status status = parse_pqr(ctx, "m.cif", copy, strlen(text), out);
    free(copy);
    return status;
}

static void expect_one(const char *text, molecule *out)
{
    if (parse_one(text, out) != VF_OK)
        fail_msg("not read: %s\n%s", vf_context_message(ctx), text);
}

static void expect_refused(const char *text, const char *words)
{
    molecule m;
    const vf_status status = parse_one(text, &m);
    if (status != VF_ERR_INPUT || !contains_all(vf_context_message(ctx), words))
        fail_msg("%s: '%s' lacks one of '%s'", vf_status_name(status), vf_context_message(ctx), words);
    assert_null(m.x);
    assert_int_equal(m.atoms, 0);
}

/* ---- coordinates, with charges of another file ---- */

static void reads_coordinates_and_labels(void **state)
{
    static const double charge[3] = {-0.3, 0.09, 0.5}, radius[3] = {0};
    static const atom_label labels[3] = {
        {.name = "N", .residue = "ALA", .chain = "X", .element = "N", .residue_number = 101},
        {.name = "HB1", .residue = "ALA", .chain = "X", .element = "H", .residue_number = 101},
        /* label_ where auth_ is not stated */
        {.name = "O5'",
         .residue = "HOH",
         .chain = "B",
         .element = "O",
         .residue_number = -3,
         .insertion = 'C',
         .hetero = true}};
    molecule m;
    (void)state;
    expect_molecule(join(head, rows, ""), psf, xyz, charge, radius, 3);
    expect_read(join(head, rows, "#\n"), psf, &m);
    for (int i = 0; i < 3; i++)
        expect_label(&m.labels[i], &labels[i], "mmCIF");
    assert_true(m.labels[0].occupancy == 1 && m.labels[1].occupancy == 0.5F);
    assert_true(!m.labels[0].ends_chain && m.labels[1].ends_chain &&
                !m.labels[2].ends_chain); /* a polymer ends at its last */
    assert_string_equal(m.dialect, "mmCIF with charges of PSF NAMD");
    molecule_free(&m);
}

static void reads_the_first_model(void **state)
{
    molecule m;
    (void)state;
    expect_read(join(head, rows, "ATOM 8 N N . ALA A 1 ? 1 2 3 1.00 ? 101 X N 2\n"), psf, &m);
    assert_int_equal(m.atoms, 3);
    assert_int_equal(m.records.model_number, 1);
    assert_true(contains_all(warnings, "only the first model|1 atom"));
    molecule_free(&m);
    expect_read(join(head, rows, "data_second _cell.length_a 1\n"), psf, &m);
    assert_true(contains_all(warnings, "only the first data block"));
    molecule_free(&m);
}

static void reads_one_atom_without_a_loop(void **state)
{
    molecule m;
    (void)state;
    expect_one("data_x _atom_site.label_atom_id CA _atom_site.Cartn_x 1.5 _atom_site.Cartn_y 2(1) _atom_site.Cartn_z "
               "3.25(12)\n"
               "_atom_site.pqr_partial_charge -1 _atom_site.pqr_radius 1.75",
               &m);
    assert_int_equal(m.atoms, 1);
    assert_true(m.x[0] == 1.5 && m.y[0] == 2 && m.z[0] == 3.25 && m.charge[0] == -1 && m.radius[0] == 1.75);
    molecule_free(&m);
}

/* ---- cells and groups ---- */

static void reads_cell_and_symmetry(void **state)
{
    static const char cell[] = "_cell.length_a 18.0(2)\n_cell.length_b 20\n_cell.length_c 22\n_cell.angle_alpha 90\n"
                               "_cell.angle_beta 95\n_cell.angle_gamma 90\n_symmetry.space_group_name_H-M 'P 1 21 1'\n"
                               "loop_\n_space_group_symop.id\n_space_group_symop.operation_xyz\n"
                               "1 x,y,z\n2 '-x, y+1/2, -z'\n";
    molecule m;
    unit_cell alone;
    listed_symmetry symmetry = {0};
    (void)state;
    expect_read(join(head, rows, cell), psf, &m);
    assert_int_equal(m.cell.state, UNIT_CELL_NUMBERS);
    assert_true(m.cell.lengths[0] == 18 && m.cell.lengths[2] == 22 && m.cell.angles[1] == 95);
    assert_string_equal(m.cell.group, "P 1 21 1");
    assert_int_equal(m.symmetry.count, 2);
    assert_true(m.symmetry.matrix[1][1][3] == 0.5 && m.symmetry.matrix[1][0][0] == -1 &&
                m.symmetry.matrix[1][1][1] == 1);
    molecule_free(&m);
    const char *file = join("data_only\n", cell, "");
    assert_int_equal(parse_cell(ctx, "c.cif", file, strlen(file), &alone, &symmetry), VF_OK);
    assert_true(alone.lengths[1] == 20 && symmetry.count == 2);
    symmetry_free(&symmetry);
    static const char ncs[] = "loop_\n_struct_ncs_oper.id\n_struct_ncs_oper.code\n_struct_ncs_oper.matrix[1][1]\n"
                              "_struct_ncs_oper.matrix[2][2]\n_struct_ncs_oper.matrix[3][3]\n1 generate 1.0 1.0 1.0\n";
    expect_read(join(head, rows, ncs), psf, &m);
    assert_false(m.symmetry.leaves_out);
    molecule_free(&m);
    expect_read(join(head, rows, join(ncs, "2 generate -1.0 -1.0 1.0\n", "")), psf, &m);
    assert_true(m.symmetry.leaves_out);
    molecule_free(&m);
    /* no crystal */
    expect_read(join(head, rows, "_cell.length_a ?\n_cell.length_b ?\n"), psf, &m);
    assert_int_equal(m.cell.state, UNIT_CELL_NONE);
    molecule_free(&m);
    expect_read(join(head, rows,
                     "_cell.length_a 1 _cell.length_b 1 _cell.length_c 1 _cell.angle_alpha 90 _cell.angle_beta 90 "
                     "_cell.angle_gamma 90 _symmetry.space_group_name_H-M ?"),
                psf, &m);
    assert_int_equal(m.cell.state, UNIT_CELL_DUMMY);
    assert_string_equal(m.cell.group, "");
    molecule_free(&m);
}

/* ---- charges of the file itself ---- */

static void reads_charges_of_pdb2pqr(void **state)
{
    static const char text[] =
        "#\nloop_\n_pdbx_database_remark.id\n_pdbx_database_remark.text\n1\n;\nPQR file\n\n;\n2\n;\n;\n3\n;\n"
        "Total charge on this biomolecule: 0.2000 e;\n#\nloop_\n_atom_site.group_PDB\n_atom_site.id\n"
        "_atom_site.label_atom_id\n_atom_site.label_comp_id\n_atom_site.label_seq_id\n"
        "_atom_site.Cartn_x\n_atom_site.Cartn_y\n_atom_site.Cartn_z\n"
        "_atom_site.pqr_partial_charge\n_atom_site.pqr_radius\n"
        "ATOM      1  N    MET     1      24.497   8.318  10.000 -0.300 1.8500\n"
        "ATOM      2  CA   MET     1      25.497   8.318  10.000  0.300 2.0000\n#\n";
    molecule m;
    (void)state;
    expect_one(text, &m); /* as pdb2pqr writes it: the last remark has no end */
    assert_int_equal(m.atoms, 2);
    assert_true(m.charge[0] == -0.3 && m.charge[1] == 0.3 && m.radius[0] == 1.85 && m.total_charge == 0);
    assert_int_equal(m.labels[1].residue_number, 1);
    assert_true(contains_all(warnings, "m.cif:14: |begins with ;|pdb2pqr"));
    molecule_free(&m);
}

static const char meta[] =
    "loop_\n_sb_ncbr_partial_atomic_charges_meta.id\n_sb_ncbr_partial_atomic_charges_meta.type\n"
    "_sb_ncbr_partial_atomic_charges_meta.method\n1 empirical 'SQE+qp/Schindler 2021'\n2 empirical EEM\n";
static const char charges_head[] = "loop_\n_sb_ncbr_partial_atomic_charges.type_id\n"
                                   "_sb_ncbr_partial_atomic_charges.atom_id\n_sb_ncbr_partial_atomic_charges.charge\n";

static void reads_tables_of_charges(void **state)
{
    molecule m;
    (void)state;
    const char *file =
        join(head, rows, join(meta, charges_head, "1 7 0.5\n1 2 0.25\n1 1 -0.75\n2 1 9\n2 2 9\n2 7 9\n1 99 3\n"));
    expect_one(file, &m);
    assert_true(m.charge[0] == -0.75 && m.charge[1] == 0.25 && m.charge[2] == 0.5 && m.radius[0] == 0);
    assert_true(m.total_charge == 0);
    assert_true(
        contains_all(warnings, "several sets|1 (SQE+qp/Schindler 2021)|2 (EEM)|the first, 1, is used|no radii"));
    molecule_free(&m);
    expect_refused(join(head, rows, join(charges_head, "1 7 0.5\n1 2 0.25\n", "")),
                   "atom 1 (N, ALA 101) has no charge");
    expect_refused(join(head, rows, join(charges_head, "1 7 0.5\n1 7 0.25\n", "")), "atom 7 has two charges");
    expect_refused(join(head, rows, join(charges_head, "1 x 0.5\n", "")), "atom_id: 'x'");
    expect_refused(join(head, rows, join(charges_head, "1 1 zero\n", "")), "charge: 'zero'");
    expect_refused(join(head, rows, join(charges_head, "1 1 ?\n", "")), "charge is missing");
}

/* ---- the CIF of small molecules ---- */

static void reads_fractional_coordinates(void **state)
{
    static const char text[] =
        "data_salt\n_cell_length_a 10\n_cell_length_b 20\n_cell_length_c 30\n_cell_angle_alpha 90\n"
        "_cell_angle_beta 90\n_cell_angle_gamma 90\n_symmetry_space_group_name_H-M 'P -1'\n"
        "loop_\n_symmetry_equiv_pos_as_xyz\nx,y,z\n-x,-y,-z\n"
        "loop_\n_atom_site_label\n_atom_site_type_symbol\n_atom_site_fract_x\n_atom_site_fract_y\n"
        "_atom_site_fract_z\n_atom_site_charge\nNa1 Na+ 0.25 0.5(1) 0.125 0.75\n"
        "Cl1 Cl1- 0.5 -0.25 1.5 -0.75\n";
    molecule m;
    (void)state;
    expect_one(text, &m);
    /* Products of numbers that are exact in binary: so are the coordinates. */
    assert_true(m.x[0] == 2.5 && m.y[0] == 10 && m.z[0] == 3.75 && m.x[1] == 5 && m.y[1] == -5 && m.z[1] == 45);
    assert_true(m.charge[0] == 0.75 && m.total_charge == 0);
    assert_string_equal(m.labels[0].element, "Na");
    assert_string_equal(m.labels[1].element, "Cl");
    assert_string_equal(m.cell.group, "P -1");
    assert_int_equal(m.symmetry.count, 2);
    molecule_free(&m);
    expect_refused("data_x loop_ _atom_site_label _atom_site_fract_x _atom_site_fract_y _atom_site_fract_z C1 0 0 0",
                   "fractional|no cell");
}

/* ---- refusals ---- */

static void refuses_damaged_files(void **state)
{
    molecule m;
    (void)state;
    expect_refused(join(head, rows, ""), "m.cif: |without partial charges|--charges|pdb2pqr");
    expect_refused("data_x\n_cell.length_a 1\n", "without atoms|_atom_site");
    expect_refused("data_x loop_ _atom_site.id _atom_site.Cartn_x _atom_site.Cartn_y 1 2 3\n",
                   "lacks the coordinates|Cartn_z");
    assert_int_equal(parse_two(join(head, "ATOM 1 N N . ALA A 1 ? ? 39.003 5.159 1.00 ? 101 X N 1\n", ""), psf, &m),
                     VF_ERR_INPUT);
    assert_true(contains_all(vf_context_message(ctx), "m.xyz:23: Cartn_x is missing"));
    assert_int_equal(parse_two(join(head, "ATOM 1 N N . ALA A 1 ? 1 nan 5.159 1.00 ? 101 X N 1\n", ""), psf, &m),
                     VF_ERR_INPUT);
    assert_true(contains_all(vf_context_message(ctx), "m.xyz:23: Cartn_y: 'nan' is not a finite number"));
    assert_int_equal(parse_two(join(head, "ATOM 1 N ? . ALA A 1 ? 1 2 3 1.00 ? 101 X ? 1\n", ""), psf, &m),
                     VF_ERR_INPUT);
    assert_true(contains_all(vf_context_message(ctx), "m.xyz:23: |no name"));
    assert_int_equal(parse_two(psf, psf, &m), VF_ERR_INPUT);
    assert_true(contains_all(vf_context_message(ctx), "mmCIF"));
    expect_refused("data_x _atom_site.label_atom_id A _atom_site.Cartn_x 1 _atom_site.Cartn_y 1 _atom_site.Cartn_z 1\n"
                   "_atom_site.pqr_partial_charge 1 _atom_site.pqr_radius -1\n",
                   "m.cif:2: pqr_radius: |negative");
    expect_refused("\x83\xa7version\xa5"
                   "0.3.0\xa7"
                   "encoder\xa3gem\xaa"
                   "dataBlocks\x91",
                   "BinaryCIF|mmCIF");
    expect_refused("\xde\x1f\xabmmtfVersion\xa5"
                   "1.0.0",
                   "MMTF|mmCIF");
}

TEST_MAIN(set_up_context, close_context, cmocka_unit_test(reads_coordinates_and_labels),
          cmocka_unit_test(reads_the_first_model), cmocka_unit_test(reads_one_atom_without_a_loop),
          cmocka_unit_test(reads_cell_and_symmetry), cmocka_unit_test(reads_charges_of_pdb2pqr),
          cmocka_unit_test(reads_tables_of_charges), cmocka_unit_test(reads_fractional_coordinates),
          cmocka_unit_test(refuses_damaged_files))
