/* Water molecules of a file, and the residues' numbers. */
#include "molecule/molecule_arrays.h"
#include "molecule/water.h"
#include "molecule_fixture.h"

/* A molecule of atoms "RESIDUE:NUMBER:NAME" separated by blanks; CHAIN/RESIDUE... has a chain, a final / ends it. */
static molecule make(const char *text)
{
    molecule m = {0};
    char copy[2048], *state = NULL;
    snprintf(copy, sizeof copy, "%s", text);
    assert_true(molecule_resize(&m, 200));
    memset(m.labels, 0, 200 * sizeof *m.labels);
    for (char *word = strtok_r(copy, " ", &state); word; word = strtok_r(NULL, " ", &state)) {
        atom_label *label = &m.labels[m.atoms];
        char *slash = strchr(word, '/');
        if (slash && slash[1] == '\0') {
            label->ends_chain = true;
            *slash = '\0';
            slash = strchr(word, '/');
        }
        if (slash) {
            snprintf(label->chain, sizeof label->chain, "%.*s", (int)(slash - word), word);
            word = slash + 1;
        }
        char *first = strchr(word, ':'), *second = first ? strchr(first + 1, ':') : NULL;
        assert_non_null(second);
        snprintf(label->residue, sizeof label->residue, "%.*s", (int)(first - word), word);
        label->residue_number = (int32_t)strtol(first + 1, NULL, 10);
        snprintf(label->name, sizeof label->name, "%s", second + 1);
        const double xyz[3] = {(double)m.atoms, 0, 0};
        molecule_place(&m, m.atoms, xyz);
        m.charge[m.atoms] = m.radius[m.atoms] = 0;
        m.atoms++;
    }
    return m;
}

/* The molecules found, as "first+atoms@oxygen ". */
static const char *found(const char *text)
{
    static char out[1024];
    molecule m = make(text);
    water_list list;
    *out = '\0';
    *warnings = '\0';
    assert_int_equal(find_water(ctx, &m, true, &list), VF_OK);
    for (int64_t n = 0; n < list.count; n++)
        vf_append(out, sizeof out, "%d+%d@%d ", (int)list.at[n].first, (int)list.at[n].atoms, (int)list.at[n].oxygen);
    water_list_free(&list);
    molecule_free(&m);
    return out;
}

static void test_models(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        /* three, four and five points of CHARMM, AMBER, GROMACS, the PDB; crystal water; a Drude particle */
        {"TIP3:1:OH2 TIP3:1:H1 TIP3:1:H2 TIP3:2:OH2 TIP3:2:H1 TIP3:2:H2", "0+3@0 3+3@3 "},
        {"WAT:1:O WAT:1:H1 WAT:1:H2 WAT:1:EPW", "0+4@0 "},
        {"SOL:7:OW SOL:7:HW1 SOL:7:HW2 SOL:7:MW", "0+4@0 "},
        {"TP5:1:OW TP5:1:HW1 TP5:1:HW2 TP5:1:LP1 TP5:1:LP2", "0+5@0 "},
        {"T5P:1:O T5P:1:H1 T5P:1:H2 T5P:1:EP1 T5P:1:EP2", "0+5@0 "},
        {"HOH:1:O HOH:2:O ALA:3:CA", "0+1@0 1+1@1 "},
        {"DOD:1:O DOD:1:D1 DOD:1:D2", "0+3@0 "},
        {"SWM4:1:OH2 SWM4:1:DOH2 SWM4:1:OM SWM4:1:H1 SWM4:1:H2", "0+5@0 "},
        {"hoh:1:o hoh:1:h1 hoh:1:h2", "0+3@0 "},
        /* the oxygen in the middle */
        {"WAT:1:H1 WAT:1:O WAT:1:H2", "0+3@1 "},
        /* numbers that are all alike */
        {"SOL:1:OW SOL:1:HW1 SOL:1:HW2 SOL:1:OW SOL:1:HW1 SOL:1:HW2", "0+3@0 3+3@3 "},
        {"SOL:1:OW SOL:1:OW SOL:1:OW", "0+1@0 1+1@1 2+1@2 "},
        {"WAT:1:H1 WAT:1:O WAT:1:H2 WAT:1:H1 WAT:1:O WAT:1:H2", "0+3@1 3+3@4 "},
        /* a number that comes again after a TER */
        {"A/HOH:1:O/ B/HOH:1:O HOH:9999:O HOH:0:O", "0+1@0 1+1@1 2+1@2 3+1@3 "},
        {"HOH:1:O/ HOH:1:O", "0+1@0 1+1@1 "},
        /* next to other residues */
        {"ALA:1:CA SOL:2:OW SOL:2:HW1 SOL:2:HW2 NA:3:NA SOL:4:OW SOL:4:HW1 SOL:4:HW2", "1+3@1 5+3@5 "}};
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        assert_string_equal(found(cases[n][0]), cases[n][1]);
        assert_string_equal(warnings, "");
    }
}

/* A name of water with other atoms, and atoms of water with another name. */
static void test_what_is_no_water(void **state)
{
    (void)state;
    static const char *const unlike[] = {
        "SOL:1:C1 SOL:1:O1 SOL:1:O2 SOL:1:H1",                            /* a ligand */
        "SOL:1:O1 SOL:1:H1 SOL:1:H2 SOL:1:O2 SOL:1:H3 SOL:1:H4 SOL:1:C1", /* one that contains water's atoms */
        "HOH:1:O HOH:1:H1",                                               /* hydroxide */
        "HOH:1:O HOH:1:H1 HOH:1:H2 HOH:1:H3",                             /* hydronium */
        "HOH:1:O HOH:1:H1 HOH:1:H2 HOH:1:O HOH:1:H1",                     /* a hydrogen is missing */
        "WAT:1:H1 WAT:1:H2",
        "WAT:1:MG",
        "WAT:1:H1 WAT:1:O WAT:1:H2 WAT:1:H1 WAT:1:H2 WAT:1:O WAT:1:EPW"};
    for (size_t n = 0; n < sizeof unlike / sizeof *unlike; n++) {
        assert_string_equal(found(unlike[n]), "");
        if (!contains_all(warnings, "(note)|1 residue has a name of water, but not its atoms|atom 1|solute"))
            fail_msg("case %zu: '%s'", n, warnings);
    }
    assert_string_equal(found("A/GOL:5:O1 A/GOL:5:H1 A/GOL:5:H2 O:1:O MOH:1:O"), "");
    assert_string_equal(warnings, "");
    assert_string_equal(found("A/WAT:3:O A/WAT:3:C A/WAT:4:O A/WAT:5:C"), "2+1@2 ");
    assert_true(contains_all(warnings, "2 residues have|first: WAT A 3, atom 1"));
}

/* An element of the file that contradicts the name counts. */
static void test_elements(void **state)
{
    (void)state;
    molecule m = make("HOH:1:MW HOH:1:O1 HOH:1:H1 HOH:1:H2");
    water_list list;
    assert_int_equal(find_water(ctx, &m, true, &list), VF_OK);
    assert_int_equal(list.count, 1);
    water_list_free(&list);
    strcpy(m.labels[0].element, "Mg");
    assert_int_equal(find_water(ctx, &m, true, &list), VF_OK);
    assert_int_equal(list.count, 0);
    water_list_free(&list);
    molecule_free(&m);
}

static void test_numbers(void **state)
{
    (void)state;
    molecule m =
        make("A/ALA:7:N A/ALA:7:CA A/GLY:9:N A/GLY:9:CA B/ALA:-3:N B/HOH:1:O B/HOH:1:O B/HOH:1:O SOL:4:O SOL:9:O");
    static const int expected[] = {1, 1, 2, 2, 1, 2, 3, 4, 1, 2};
    m.labels[2].insertion = m.labels[3].insertion = 'A';
    strcpy(m.labels[4].number_text, "****");
    assert_int_equal(renumber_residues(ctx, &m), VF_OK);
    for (int64_t i = 0; i < m.atoms; i++) {
        assert_int_equal(m.labels[i].residue_number, expected[i]);
        assert_true(m.labels[i].insertion == '\0' && m.labels[i].number_text[0] == '\0');
    }
    molecule_free(&m);
}

/* Part of a molecule, none of it, and what becomes of bonds and of the whole. */
static void test_part(void **state)
{
    (void)state;
    molecule m = make("A/ALA:1:N A/ALA:1:CA A/HOH:2:O"), part;
    const bool last[] = {false, true, true}, none[] = {false, false, false};
    m.charge[0] = 1, m.charge[1] = 2, m.charge[2] = -4;
    m.total_charge = -1;
    m.records.lines = strdup("CRYST1\n");
    m.records.bonds = 2;
    m.records.bond = malloc(2 * sizeof *m.records.bond);
    m.records.bond[0][0] = 0, m.records.bond[0][1] = 1, m.records.bond[1][0] = 1, m.records.bond[1][1] = 2;
    assert_true(molecule_part(&m, last, &part));
    assert_true(part.atoms == 2 && part.total_charge == -2 && part.lo[0] == 1 && part.hi[0] == 2);
    assert_true(part.records.bonds == 1 && part.records.bond[0][0] == 0 && part.records.bond[0][1] == 1);
    assert_string_equal(part.labels[1].residue, "HOH");
    assert_string_equal(part.records.lines, "CRYST1\n");
    molecule_free(&part);
    assert_true(molecule_part(&m, none, &part));
    assert_true(part.atoms == 0 && part.total_charge == 0 && part.records.bonds == 0);
    molecule_free(&part);
    assert_true(m.atoms == 3 && m.total_charge == -1 && m.records.bonds == 2 && m.x[2] == 2);
    molecule_free(&m);
}

TEST_MAIN(set_up_context, close_context, cmocka_unit_test(test_models), cmocka_unit_test(test_what_is_no_water),
          cmocka_unit_test(test_elements), cmocka_unit_test(test_numbers), cmocka_unit_test(test_part))
