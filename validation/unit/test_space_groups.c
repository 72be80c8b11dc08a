/* Space groups of crystals: the operators that files list and those of names, against the algebra of groups; and the atoms that
 * they make: an expanded crystal is the same after each of its operators. */
#include <math.h>

#include "molecule_fixture.h"

static const unit_cell monoclinic = {.state = UNIT_CELL_NUMBERS, .lengths = {31, 37, 43}, .angles = {90, 101.3, 90}},
                       orthorhombic = {.state = UNIT_CELL_NUMBERS, .lengths = {31, 37, 43}, .angles = {90, 90, 90}},
                       tetragonal = {.state = UNIT_CELL_NUMBERS, .lengths = {31, 31, 43}, .angles = {90, 90, 90}},
                       hexagonal = {.state = UNIT_CELL_NUMBERS, .lengths = {31, 31, 43}, .angles = {90, 90, 120}},
                       rhombohedral = {.state = UNIT_CELL_NUMBERS, .lengths = {31, 31, 31}, .angles = {77, 77, 77}},
                       cubic = {.state = UNIT_CELL_NUMBERS, .lengths = {31, 31, 31}, .angles = {90, 90, 90}};

/* The 65 groups without mirrors or inversions, which are those of chiral molecules (International Tables A), with the number of
 * general positions in the conventional cell. */
static const struct {
    const char *name;
    const unit_cell *cell;
    int order;
} chiral[] = {
    {"P 1", &monoclinic, 1},      {"P 1 2 1", &monoclinic, 2},    {"P 1 21 1", &monoclinic, 2},
    {"C 1 2 1", &monoclinic, 4},  {"P 2 2 2", &orthorhombic, 4},  {"P 2 2 21", &orthorhombic, 4},
    {"P 21 21 2", &orthorhombic, 4}, {"P 21 21 21", &orthorhombic, 4}, {"C 2 2 21", &orthorhombic, 8},
    {"C 2 2 2", &orthorhombic, 8}, {"F 2 2 2", &orthorhombic, 16}, {"I 2 2 2", &orthorhombic, 8},
    {"I 21 21 21", &orthorhombic, 8}, {"P 4", &tetragonal, 4},     {"P 41", &tetragonal, 4},
    {"P 42", &tetragonal, 4},     {"P 43", &tetragonal, 4},       {"I 4", &tetragonal, 8},
    {"I 41", &tetragonal, 8},     {"P 4 2 2", &tetragonal, 8},    {"P 4 21 2", &tetragonal, 8},
    {"P 41 2 2", &tetragonal, 8}, {"P 41 21 2", &tetragonal, 8},  {"P 42 2 2", &tetragonal, 8},
    {"P 42 21 2", &tetragonal, 8}, {"P 43 2 2", &tetragonal, 8},  {"P 43 21 2", &tetragonal, 8},
    {"I 4 2 2", &tetragonal, 16}, {"I 41 2 2", &tetragonal, 16},  {"P 3", &hexagonal, 3},
    {"P 31", &hexagonal, 3},      {"P 32", &hexagonal, 3},        {"H 3", &hexagonal, 9},
    {"P 3 1 2", &hexagonal, 6},   {"P 3 2 1", &hexagonal, 6},     {"P 31 1 2", &hexagonal, 6},
    {"P 31 2 1", &hexagonal, 6},  {"P 32 1 2", &hexagonal, 6},    {"P 32 2 1", &hexagonal, 6},
    {"H 3 2", &hexagonal, 18},    {"P 6", &hexagonal, 6},         {"P 61", &hexagonal, 6},
    {"P 65", &hexagonal, 6},      {"P 62", &hexagonal, 6},        {"P 64", &hexagonal, 6},
    {"P 63", &hexagonal, 6},      {"P 6 2 2", &hexagonal, 12},    {"P 61 2 2", &hexagonal, 12},
    {"P 65 2 2", &hexagonal, 12}, {"P 62 2 2", &hexagonal, 12},   {"P 64 2 2", &hexagonal, 12},
    {"P 63 2 2", &hexagonal, 12}, {"P 2 3", &cubic, 12},          {"F 2 3", &cubic, 48},
    {"I 2 3", &cubic, 24},        {"P 21 3", &cubic, 12},         {"I 21 3", &cubic, 24},
    {"P 4 3 2", &cubic, 24},      {"P 42 3 2", &cubic, 24},       {"F 4 3 2", &cubic, 96},
    {"F 41 3 2", &cubic, 96},     {"I 4 3 2", &cubic, 48},        {"P 43 3 2", &cubic, 24},
    {"P 41 3 2", &cubic, 24},     {"I 41 3 2", &cubic, 48}};
enum { CHIRAL = sizeof chiral / sizeof *chiral };

static void need_tables(void)
{
    symmetry_group group;
    if (space_group_named("P 21 21 21", &orthorhombic, &group) == SPACE_GROUP_NO_TABLES) {
        print_message("skipped: built without spglib\n");
        skip();
    }
}

static unit_cell named(const unit_cell *cell, const char *name)
{
    unit_cell out = *cell;
    cell_take_group(&out, (text_piece){name, strlen(name)});
    return out;
}

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
    listed_symmetry none = {0}, two = {.count = 2};
    (void)state;
    for (size_t n = 0; n < sizeof trivial / sizeof *trivial; n++)
        assert_true(symmetry_is_trivial(trivial[n], &none));
    for (size_t n = 0; n < sizeof others / sizeof *others; n++)
        assert_false(symmetry_is_trivial(others[n], &none));
    assert_true(symmetry_is_trivial("P 1", &two)); /* of an expanded file that kept REMARK 290 */
    assert_false(symmetry_is_trivial("", &two));
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

/* x = axes f: the columns are the cell's vectors. */
static void axes_of(const unit_cell *cell, double axes[3][3], double inverse[3][3])
{
    vf_cell vectors;
    assert_true(cell_of_shape(cell->lengths, cell->angles, &vectors));
    for (int i = 0; i < 9; i++)
        axes[i / 3][i % 3] = vectors.vectors[i % 3][i / 3];
    symmetry_invert(axes, inverse);
}

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
        vf_append(text, size, "REMARK 290   SMTRY%d %3d %9.6f %9.6f %9.6f     %10.5f\n", row + 1, number, out[0], out[1],
                  out[2], out[3]);
    }
}

static void read_listed(const char *text, listed_symmetry *out)
{
    locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    text_piece line = {text, 0};
    *out = (listed_symmetry){0};
    for (const char *p = text; *p; p += line.size + (p[line.size] != '\0')) {
        line = (text_piece){p, strcspn(p, "\n")};
        symmetry_read_remark(line, c_locale, out);
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

static void add_texts(const char *const *texts, int count, listed_symmetry *out)
{
    *out = (listed_symmetry){0};
    for (int n = 0; n < count; n++)
        symmetry_read_text((text_piece){texts[n], strlen(texts[n])}, out);
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

/* ---- atoms ---- */

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
            for (int64_t j = 0; j < i; j++) /* a chain of its own for each chain and copy */
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
    assert_string_equal(m.records.lines, "TITLE     A\nCRYST1   31.000   37.000   43.000  90.00  90.00  90.00 P 1         "
                                         "  1\nREMARK   1\n");
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
    assert_true(contains_all(warnings, "2 atoms are on special positions|4 copies of atoms coincide|all copies coincide"));
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_all_chiral_groups),  cmocka_unit_test(knows_names_as_files_write_them),
        cmocka_unit_test(knows_p1),                 cmocka_unit_test(reads_groups_of_cryst1),
        cmocka_unit_test(reads_remark_290),         cmocka_unit_test(reads_operators_as_text),
        cmocka_unit_test(refuses_damaged_lists),    cmocka_unit_test(expanded_crystals_are_symmetric),
        cmocka_unit_test(names_chains_of_copies),   cmocka_unit_test(keeps_special_positions_once)};
    return cmocka_run_group_tests(tests, set_up_context, tear_down_context);
}
