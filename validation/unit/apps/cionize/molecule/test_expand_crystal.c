/* The atoms of a crystal's whole cell: an expanded crystal is the same after each of its operators, and atoms on special
 * positions are there once. */
#include "crystal_fixture.h"

/* A molecule of `count` atoms; charges tell them apart. Bonds: a chain. */
static molecule make_molecule(const double (*xyz)[3], int count)
{
    molecule m = {.atoms = count, .cell = orthorhombic};
    const size_t n = (size_t)count;
    m.x = malloc(n * sizeof *m.x);
    m.y = malloc(n * sizeof *m.y);
    m.z = malloc(n * sizeof *m.z);
    m.charge = malloc(n * sizeof *m.charge);
    m.radius = malloc(n * sizeof *m.radius);
    m.labels = calloc(n, sizeof *m.labels);
    m.records.bond = malloc(n * sizeof *m.records.bond);
    for (int i = 0; i < count; i++) {
        m.x[i] = xyz[i][0];
        m.y[i] = xyz[i][1];
        m.z[i] = xyz[i][2];
        m.charge[i] = 0.25 * (i + 1);
        m.radius[i] = 1 + 0.5 * i;
        m.total_charge += m.charge[i];
        for (int a = 0; a < 3; a++) {
            m.lo[a] = i == 0 || xyz[i][a] < m.lo[a] ? xyz[i][a] : m.lo[a];
            m.hi[a] = i == 0 || xyz[i][a] > m.hi[a] ? xyz[i][a] : m.hi[a];
        }
        snprintf(m.labels[i].name, sizeof m.labels[i].name, "C%d", i % 100);
        strcpy(m.labels[i].chain, i == 0 ? "B" : "PROT");
        strcpy(m.labels[i].segment, i == 0 ? "" : "SEG");
        m.labels[i].ends_chain = i == 0 || i == count - 1;
        if (i > 0) {
            m.records.bond[m.records.bonds][0] = i - 1;
            m.records.bond[m.records.bonds++][1] = i;
        }
    }
    return m;
}

/* Whether an atom of this charge is at the fractional position f, up to lattice vectors. */
static bool is_there(const molecule *m, double charge, double inverse[3][3], const double f[3])
{
    /* Positions to 100 A in double, through a matrix and back, are within 1e-12 of an edge. */
    const double allowed = 1e-9;
    for (int64_t i = 0; i < m->atoms; i++) {
        bool same = m->charge[i] == charge;
        for (int a = 0; a < 3; a++) {
            const double own = inverse[a][0] * m->x[i] + inverse[a][1] * m->y[i] + inverse[a][2] * m->z[i];
            const double apart = own - f[a];
            same = same && fabs(apart - round(apart)) < allowed;
        }
        if (same)
            return true;
    }
    return false;
}

static void expect_invariant(const molecule *m, const unit_cell *cell, const symmetry_group *group, const char *name)
{
    double axes[3][3], inverse[3][3];
    axes_of(cell, axes, inverse);
    for (int64_t i = 0; i < m->atoms; i++)
        for (int k = 0; k < group->count; k++) {
            const symmetry_operator *op = &group->op[k];
            double f[3], image[3];
            for (int a = 0; a < 3; a++)
                f[a] = inverse[a][0] * m->x[i] + inverse[a][1] * m->y[i] + inverse[a][2] * m->z[i];
            for (int a = 0; a < 3; a++)
                image[a] = op->turn[a][0] * f[0] + op->turn[a][1] * f[1] + op->turn[a][2] * f[2] + op->shift[a];
            if (!is_there(m, m->charge[i], inverse, image))
                fail_msg("%s: atom %d is missing after operator %d", name, (int)i, k);
        }
}

static void expanded_crystals_are_symmetric(void **state)
{
    static const double general[3][3] = {{2.1, 5.3, 9.7}, {3.2, 6.1, 9.2}, {4.3, 6.4, 10.1}};
    (void)state;
    need_tables();
    for (int n = 0; n < CHIRAL; n++) {
        double xyz[3][3];
        symmetry_group group;
        for (int i = 0; i < 9; i++) /* general positions: copies in these groups are 1 A or more from other atoms */
            xyz[i / 3][i % 3] = general[i / 3][i % 3] + uniform_between(-0.05, 0.05);
        warnings[0] = '\0';
        molecule m = make_molecule(xyz, 3);
        const double charge = m.total_charge;
        assert_int_equal(space_group_named(chiral[n].name, chiral[n].cell, &group), SPACE_GROUP_FOUND);
        m.cell = named(chiral[n].cell, chiral[n].name);
        if (molecule_expand(ctx, "c.pdb", &m.cell, &group, &m) != VF_OK)
            fail_msg("%s: %s", chiral[n].name, vf_context_message(ctx));
        assert_int_equal(m.atoms, 3 * chiral[n].order);
        assert_string_equal(warnings, "");
        assert_true(m.total_charge == charge * chiral[n].order); /* quarters: exact */
        assert_string_equal(m.cell.group, "P 1");
        assert_int_equal(m.records.bonds, 2 * chiral[n].order);
        for (int64_t b = 0; b < m.records.bonds; b++)
            assert_int_equal(m.records.bond[b][1] - m.records.bond[b][0], 1);
        expect_invariant(&m, chiral[n].cell, &group, chiral[n].name);
        for (int64_t i = 0; i < m.atoms; i++) {
            assert_true(m.x[i] >= m.lo[0] && m.x[i] <= m.hi[0] && m.radius[i] == 1 + 0.5 * (double)(i % 3));
            assert_true(m.labels[i].ends_chain == (i % 3 != 1)); /* as in the file */
            for (int64_t j = 0; j < i; j++)                      /* a chain of its own for each chain and copy */
                assert_true((strcmp(m.labels[i].chain, m.labels[j].chain) == 0) ==
                            (i / 3 == j / 3 && (i % 3 > 0) == (j % 3 > 0)));
        }
        molecule_free(&m);
    }
}

static void names_chains_of_copies(void **state)
{
    static const double xyz[2][3] = {{3, 4, 5}, {6, 7, 8}};
    static const char *const chains[] = {"B", "PROT", "A", "PRO2", "C", "PRO3", "D", "PRO4"};
    static const char *const segments[] = {"", "SEG", "", "SEG2", "", "SEG3", "", "SEG4"};
    static const char *const texts[] = {"x,y,z", "-x,-y,z", "-x,y,-z", "x,-y,-z"};
    listed_symmetry listed;
    symmetry_group group;
    (void)state;
    molecule m = make_molecule(xyz, 2);
    m.records.lines = strdup("TITLE     A\nREMARK 290   SMTRY1   1  1.000000  0.000000  0.000000        0.00000\n"
                             "CRYST1   31.000   37.000   43.000  90.00  90.00  90.00 P 2 2 2       4\nREMARK   1\n");
    add_texts(texts, 4, &listed);
    assert_int_equal(symmetry_operators(ctx, "c.pdb", &orthorhombic, &listed, &group), VF_OK);
    assert_int_equal(molecule_expand(ctx, "c.pdb", &orthorhombic, &group, &m), VF_OK);
    assert_int_equal(m.atoms, 8);
    for (int i = 0; i < 8; i++) {
        assert_string_equal(m.labels[i].chain, chains[i]);
        assert_string_equal(m.labels[i].segment, segments[i]);
    }
    assert_string_equal(m.records.lines, "TITLE     A\nREMARK   1\n"); /* what is written adds the cell */
    symmetry_free(&listed);
    molecule_free(&m);
}

/* Atoms on and near the twofold axis along z, and hydrogens of which each is the other's copy. */
static void keeps_special_positions_once(void **state)
{
    static const double xyz[4][3] = {{0, 0, 5}, {0.03, -0.02, 12}, {0.8, 0.1, 5.6}, {-0.8, -0.1, 5.6}};
    static const char *const texts[] = {"x,y,z", "-x,-y,z"};
    listed_symmetry listed;
    symmetry_group group;
    (void)state;
    molecule m = make_molecule(xyz, 4);
    m.charge[3] = m.charge[2]; /* a water's hydrogens */
    m.radius[3] = m.radius[2];
    add_texts(texts, 2, &listed);
    assert_int_equal(symmetry_operators(ctx, "c.pdb", &orthorhombic, &listed, &group), VF_OK);
    warnings[0] = '\0';
    assert_int_equal(molecule_expand(ctx, "c.pdb", &orthorhombic, &group, &m), VF_OK);
    assert_int_equal(m.atoms, 4);
    assert_true(fabs(m.x[1]) < 1e-12 && fabs(m.y[1]) < 1e-12 && fabs(m.z[1] - 12) < 1e-12); /* on the axis */
    assert_true(
        contains_all(warnings, "2 atoms are on special positions|4 copies of atoms coincide|all copies coincide"));
    assert_int_equal(m.records.bonds, 3);
    molecule_free(&m);
    /* A copy on another atom: the file cannot be the asymmetric unit. */
    m = make_molecule(xyz, 4);
    vf_context_clear_error(ctx);
    assert_int_equal(molecule_expand(ctx, "c.pdb", &orthorhombic, &group, &m), VF_ERR_INPUT);
    assert_true(contains_all(vf_context_message(ctx), "c.pdb: copy 2 of atom 3 (C2|from atom 4|--symmetry none"));
    vf_context_clear_error(ctx);
    molecule_free(&m);
    /* Half an angstrom from its copy: neither. */
    static const double near[1][3] = {{0.2, 0, 5}};
    m = make_molecule(near, 1);
    warnings[0] = '\0';
    assert_int_equal(molecule_expand(ctx, "c.pdb", &orthorhombic, &group, &m), VF_OK);
    assert_int_equal(m.atoms, 2);
    assert_true(contains_all(warnings, "closer than 0.6 A"));
    molecule_free(&m);
    symmetry_free(&listed);
}

TEST_MAIN(set_up_context, close_context, cmocka_unit_test(expanded_crystals_are_symmetric),
          cmocka_unit_test(names_chains_of_copies), cmocka_unit_test(keeps_special_positions_once))
