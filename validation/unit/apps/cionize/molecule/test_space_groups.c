/* Space groups of crystals: the operators that files list, and those of names, against the algebra of groups. */
#include "crystal_fixture.h"

static int determinant(const symmetry_operator *op)
{
    const int(*w)[3] = op->turn;
    int sum = 0;
    for (int i = 0; i < 3; i++)
        sum += w[0][i] * (w[1][(i + 1) % 3] * w[2][(i + 2) % 3] - w[1][(i + 2) % 3] * w[2][(i + 1) % 3]);
    return sum;
}

static bool same_groups(const symmetry_group *a, const symmetry_group *b)
{
    bool same = a->count == b->count;
    for (int k = 0; same && k < a->count; k++) /* the operators have padding */
        same = memcmp(a->op[k].turn, b->op[k].turn, sizeof a->op[k].turn) == 0 &&
               memcmp(a->op[k].shift, b->op[k].shift, sizeof a->op[k].shift) == 0;
    return same;
}

/* ---- operators ---- */

static void knows_all_chiral_groups(void **state)
{
    (void)state;
    need_tables();
    assert_int_equal(CHIRAL, 65);
    for (int n = 0; n < CHIRAL; n++) {
        const listed_symmetry none = {0};
        const unit_cell cell = named(chiral[n].cell, chiral[n].name);
        symmetry_group group;
        if (symmetry_operators(ctx, "c.pdb", &cell, &none, &group) != VF_OK) /* it checks that this is a group */
            fail_msg("%s", vf_context_message(ctx));
        if (group.count != chiral[n].order)
            fail_msg("%s has %d operators, not %d", chiral[n].name, group.count, chiral[n].order);
        assert_int_equal(symmetry_order(&cell, &none), chiral[n].order);
        assert_true(symmetry_is_trivial(cell.group, &none) == (n == 0));
        for (int k = 0; k < group.count; k++)
            assert_int_equal(determinant(&group.op[k]), 1);
        for (int other = 0; other < n; other++) { /* no two are the same */
            symmetry_group with;
            const unit_cell one = named(chiral[other].cell, chiral[other].name);
            if (chiral[other].order != group.count || chiral[other].cell != chiral[n].cell)
                continue;
            assert_int_equal(symmetry_operators(ctx, "c.pdb", &one, &none, &with), VF_OK);
            assert_false(same_groups(&with, &group));
        }
    }
}

static void knows_names_as_files_write_them(void **state)
{
    static const struct {
        const char *name, *same;
        const unit_cell *cell;
        int order;
        space_group_search search;
    } names[] = {
        {"P 21", "P 1 21 1", &monoclinic, 2, SPACE_GROUP_FOUND},
        {"p 1 21 1", "P 1 21 1", &monoclinic, 2, SPACE_GROUP_FOUND},
        {"P121", "P 1 2 1", &monoclinic, 2, SPACE_GROUP_FOUND},
        {"C 2", "C 1 2 1", &monoclinic, 4, SPACE_GROUP_FOUND},
        {"A 2", "A 1 2 1", &monoclinic, 4, SPACE_GROUP_FOUND},
        {"I 2", "I 1 2 1", &monoclinic, 4, SPACE_GROUP_FOUND},
        {"I 1 2 1", NULL, &monoclinic, 4, SPACE_GROUP_FOUND},
        {"P 21/c", "P 1 21/c 1", &monoclinic, 4, SPACE_GROUP_FOUND},
        {"P 21/n", "P 1 21/n 1", &monoclinic, 4, SPACE_GROUP_FOUND},
        {"P 1 1 21", NULL, &orthorhombic, 2, SPACE_GROUP_FOUND},
        {"P 1 1 21", NULL, &monoclinic, 0, SPACE_GROUP_NO_FIT}, /* the other axis is not at right angles */
        {"P 2 21 21", NULL, &orthorhombic, 4, SPACE_GROUP_FOUND},
        {"P212121", "P 21 21 21", &orthorhombic, 4, SPACE_GROUP_FOUND},
        {"P 2_1 2_1 2_1", "P 21 21 21", &orthorhombic, 4, SPACE_GROUP_FOUND},
        {"R 3", "H 3", &hexagonal, 9, SPACE_GROUP_FOUND},
        {"R 3 :H", "H 3", &hexagonal, 9, SPACE_GROUP_FOUND},
        {"R 3:R", NULL, &rhombohedral, 3, SPACE_GROUP_FOUND},
        {"R 3", "R 3:R", &rhombohedral, 3, SPACE_GROUP_FOUND},
        {"R 3 2", "R 3 2 :R", &rhombohedral, 6, SPACE_GROUP_FOUND},
        {"R 3 :H", NULL, &rhombohedral, 0, SPACE_GROUP_NO_FIT},
        {"P m m n", NULL, &orthorhombic, 0, SPACE_GROUP_TWO},
        {"P m m n :2", NULL, &orthorhombic, 8, SPACE_GROUP_FOUND},
        {"F m -3 m", "F 4/m -3 2/m", &cubic, 192, SPACE_GROUP_FOUND},
        {"P 43 21 2", NULL, &orthorhombic, 0, SPACE_GROUP_NO_FIT},
        {"P 6", NULL, &tetragonal, 0, SPACE_GROUP_NO_FIT},
        {"P 7", NULL, &cubic, 0, SPACE_GROUP_UNKNOWN},
        {"nonsense", NULL, &cubic, 0, SPACE_GROUP_UNKNOWN},
    };
    (void)state;
    need_tables();
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        symmetry_group group, same;
        const space_group_search search = space_group_named(names[n].name, names[n].cell, &group);
        if (search != names[n].search || (search == SPACE_GROUP_FOUND && group.count != names[n].order))
            fail_msg("'%s': %d, %d operators", names[n].name, search, group.count);
        if (!names[n].same)
            continue;
        assert_int_equal(space_group_named(names[n].same, names[n].cell, &same), SPACE_GROUP_FOUND);
        assert_true(same_groups(&same, &group));
    }
}

static void knows_p1(void **state)
{
    static const char *const trivial[] = {"", "P 1", "P1", "p 1", "P 1 1 1", "P"};
    static const char *const others[] = {"P -1", "P 2", "P 1 21 1", "P 11 2", "C 1", "X"};
    listed_symmetry none = {0}, two = {.count = 2, .cartesian = true}, texts = {.count = 2}, broken = {.broken = true};
    (void)state;
    for (size_t n = 0; n < sizeof trivial / sizeof *trivial; n++)
        assert_true(symmetry_is_trivial(trivial[n], &none));
    for (size_t n = 0; n < sizeof others / sizeof *others; n++)
        assert_false(symmetry_is_trivial(others[n], &none));
    assert_true(symmetry_is_trivial("P 1", &two)); /* of an expanded file that kept REMARK 290 */
    assert_false(symmetry_is_trivial("", &two));
    assert_false(symmetry_is_trivial("P 1", &texts)); /* one of the two is wrong */
    assert_false(symmetry_is_trivial("", &broken));
}

/* CRYST1 by columns and by words. */
static void reads_groups_of_cryst1(void **state)
{
    static const struct {
        const char *line, *group;
    } lines[] = {
        {"CRYST1   18.000   20.000   22.000  90.00  90.00  90.00 P 21 21 21    4", "P 21 21 21"},
        {"CRYST1   18.000   20.000   22.000  90.00  90.00  90.00 P 1           1", "P 1"},
        {"CRYST1   18.000   20.000   22.000  90.00  90.00  90.00               1", ""},
        {"CRYST1   18.000   20.000   22.000  90.00  90.00  90.00", ""},
        {"CRYST1   18.000   20.000   22.000  90.00  90.00  90.00 R 3 2 :H     18", "R 3 2 :H"},
        {"CRYST1 18.0 20.0 22.0 90 90 90 P 21 21 21 4", "P 21 21 21"},
        {"CRYST1 18.0 20.0 22.0 90 90 90 P 1 1", "P 1"},
        {"CRYST1 18.0 20.0 22.0 90 90 90 P 1", "P 1"},
        {"CRYST1 18.0 20.0 22.0 90 90 90 P 21", "P 21"},
        {"CRYST1 18.0 20.0 22.0 90 90 90 P 21 2", "P 21"},
        {"CRYST1 18.0 20.0 22.0 90 90 90 R 3 2", "R 3 2"},
        {"CRYST1 18.0 20.0 22.0 90 90 90 P 21 3", "P 21 3"},
        {"CRYST1 18.0 20.0 22.0 90 90 90 P212121 4", "P212121"},
        {"CRYST1 18.0 20.0 22.0 90 90 90", ""},
    };
    (void)state;
    locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    for (size_t n = 0; n < sizeof lines / sizeof *lines; n++) {
        unit_cell cell = {0};
        assert_true(read_cryst1((text_piece){lines[n].line, strlen(lines[n].line)}, c_locale, &cell));
        assert_int_equal(cell.state, UNIT_CELL_NUMBERS);
        if (strcmp(cell.group, lines[n].group) != 0)
            fail_msg("'%s' in %s", cell.group, lines[n].line);
    }
    freelocale(c_locale);
}

/* ---- operators that files list ---- */

/* An operator as REMARK 290 has it, with its decimals: A W A^-1 and A w. */
static void write_remark(const unit_cell *cell, const symmetry_operator *op, int number, char *text, size_t size)
{
    double axes[3][3], inverse[3][3], half[3][3];
    axes_of(cell, axes, inverse);
    for (int row = 0; row < 3; row++) {
        double out[4] = {0};
        for (int j = 0; j < 3; j++) {
            half[row][j] = 0;
            for (int k = 0; k < 3; k++)
                half[row][j] += axes[row][k] * op->turn[k][j];
            out[3] += axes[row][j] * op->shift[j];
        }
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 3; k++)
                out[j] += half[row][k] * inverse[k][j];
        vf_append(text, size, "REMARK 290   SMTRY%d %3d %9.6f %9.6f %9.6f     %10.5f\n", row + 1, number, out[0],
                  out[1], out[2], out[3]);
    }
}

static void read_listed(const char *text, listed_symmetry *out)
{
    locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    text_piece line = {text, 0};
    *out = (listed_symmetry){0};
    for (const char *p = text; *p; p += line.size + (p[line.size] != '\0')) {
        line = (text_piece){p, strcspn(p, "\n")};
        symmetry_read_record(line, c_locale, out);
    }
    freelocale(c_locale);
}

static void reads_remark_290(void **state)
{
    static char text[96 * 3 * 80];
    (void)state;
    need_tables();
    for (int n = 1; n < CHIRAL; n++) {
        listed_symmetry listed;
        symmetry_group group, again;
        const unit_cell *cell = chiral[n].cell; /* without a name */
        assert_int_equal(space_group_named(chiral[n].name, cell, &group), SPACE_GROUP_FOUND);
        text[0] = '\0';
        for (int k = 0; k < group.count; k++)
            write_remark(cell, &group.op[k], k + 1, text, sizeof text);
        read_listed(text, &listed);
        assert_int_equal(listed.count, group.count);
        if (symmetry_operators(ctx, "c.pdb", cell, &listed, &again) != VF_OK)
            fail_msg("%s: %s", chiral[n].name, vf_context_message(ctx));
        assert_true(same_groups(&again, &group));
        symmetry_free(&listed);
    }
}

static void reads_operators_as_text(void **state)
{
    static const char *const texts[] = {"1/2+X, -Y+0.5 , - z", "-x,y+1/2,-z+1/2", "x,y,z", "-x+1/2,-y,z+1/2"};
    static const double shifts[4][3] = {{0, 0, 0}, {0, 0.5, 0.5}, {0.5, 0.5, 0}, {0.5, 0, 0.5}};
    listed_symmetry listed;
    symmetry_group group;
    (void)state;
    add_texts(texts, 4, &listed);
    assert_int_equal(symmetry_operators(ctx, "c.cif", &orthorhombic, &listed, &group), VF_OK);
    assert_int_equal(group.count, 4);
    for (int n = 0; n < 4; n++) /* the identity has moved to the front */
        assert_memory_equal(group.op[n].shift, shifts[n], sizeof shifts[n]);
    assert_int_equal(group.op[2].turn[0][0], 1);
    assert_int_equal(group.op[2].turn[1][1], -1);
    symmetry_free(&listed);
    static const char *const hexagons[] = {"x,y,z", "-y,x-y,z+1/3", "-x+y,-x,z+0.66667"};
    add_texts(hexagons, 3, &listed);
    assert_int_equal(symmetry_operators(ctx, "c.cif", &hexagonal, &listed, &group), VF_OK);
    assert_true(group.op[2].turn[0][1] == 1 && group.op[2].shift[2] == 16.0 / 24);
    symmetry_free(&listed);
}

static void refuses_damaged_lists(void **state)
{
    static const struct {
        const char *const texts[4];
        int count;
        const unit_cell *cell;
        const char *words;
    } damages[] = {
        {{"x,y,z", "-x,-y"}, 2, &orthorhombic, "c.cif|2 symmetry operators|cannot be read"},
        {{"x,y,z", "-x,-y,w"}, 2, &orthorhombic, "cannot be read"},
        {{"x,y,z", "-x,-y,z,"}, 2, &orthorhombic, "cannot be read"},
        {{"x,y,z", "-x,-y,z+1/0"}, 2, &orthorhombic, "cannot be read"},
        {{"-x,-y,z", "x,-y,-z"}, 2, &orthorhombic, "lack the identity"},
        {{"x,y,z", "x,y,z"}, 2, &orthorhombic, "not all different"},
        {{"x,y,z", "-x,-y,z", "x,-y,-z"}, 3, &orthorhombic, "not a group"},
        {{"x,y,z", "-x,-y,z+1/4"}, 2, &orthorhombic, "not a group"},
        {{"x,y,z", "-y,x,z"}, 2, &orthorhombic, "do not fit the cell"},
        {{"x,y,z", "x,y,0"}, 2, &orthorhombic, "do not map the lattice"},
        {{"x,y,z", "-x,-y,z+0.31"}, 2, &orthorhombic, "do not map the lattice|complete"},
    };
    (void)state;
    for (size_t n = 0; n < sizeof damages / sizeof *damages; n++) {
        listed_symmetry listed;
        symmetry_group group;
        add_texts(damages[n].texts, damages[n].count, &listed);
        vf_context_clear_error(ctx);
        assert_int_equal(symmetry_operators(ctx, "c.cif", damages[n].cell, &listed, &group), VF_ERR_INPUT);
        if (!contains_all(vf_context_message(ctx), damages[n].words))
            fail_msg("'%s' lacks one of '%s'", vf_context_message(ctx), damages[n].words);
        symmetry_free(&listed);
    }
    listed_symmetry listed;
    symmetry_group group;
    read_listed("REMARK 290   SMTRY1   1  1.000000  0.000000  0.000000        0.00000\n"
                "REMARK 290   SMTRY2   1  0.000000  1.000000  0.000000        0.00000\n"
                "REMARK 290   SMTRY3   1  0.000000  0.000000  1.000000        0.00000\n"
                "REMARK 290   SMTRY1   2 -1.000000  0.000000  0.000000        0.00000\n",
                &listed);
    assert_int_equal(listed.count, 2);
    vf_context_clear_error(ctx);
    assert_int_equal(symmetry_operators(ctx, "c.pdb", &orthorhombic, &listed, &group), VF_ERR_INPUT);
    assert_true(contains_all(vf_context_message(ctx), "not complete"));
    symmetry_free(&listed);
    read_listed("REMARK 290   SMTRY1   x -1.000000  0.000000  0.000000        0.00000\n", &listed);
    assert_true(listed.broken);
    symmetry_free(&listed);
    /* Copies by other symmetry that the file leaves out; the first operator is the identity, and the second is applied. */
    read_listed("MTRIX1   1  1.000000  0.000000  0.000000        0.00000    1\n"
                "MTRIX1   2 -1.000000  0.000000  0.000000        0.00000    1\n",
                &listed);
    assert_false(listed.leaves_out);
    read_listed("MTRIX1   2 -1.000000  0.000000  0.000000        0.00000\n", &listed);
    vf_context_clear_error(ctx);
    assert_int_equal(symmetry_check_copies(ctx, "c.pdb", &listed), VF_ERR_INPUT);
    assert_true(contains_all(vf_context_message(ctx), "c.pdb|leaves out|MTRIX|expand-ncs|--symmetry none"));
    symmetry_free(&listed);
    /* A list that contradicts the name. */
    static const char *const two[] = {"x,y,z", "-x,-y,z"};
    const unit_cell other = named(&orthorhombic, "P 21 21 21");
    need_tables();
    add_texts(two, 2, &listed);
    vf_context_clear_error(ctx);
    assert_int_equal(symmetry_operators(ctx, "c.cif", &other, &listed, &group), VF_ERR_INPUT);
    assert_true(contains_all(vf_context_message(ctx), "lists 2|P 21 21 21 has 4"));
    symmetry_free(&listed);
}

TEST_MAIN(set_up_context, close_context, cmocka_unit_test(knows_all_chiral_groups),
          cmocka_unit_test(knows_names_as_files_write_them), cmocka_unit_test(knows_p1),
          cmocka_unit_test(reads_groups_of_cryst1), cmocka_unit_test(reads_remark_290),
          cmocka_unit_test(reads_operators_as_text), cmocka_unit_test(refuses_damaged_lists))
