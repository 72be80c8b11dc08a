/* The language of --select: which atoms each selection chooses, against lists written by hand, algebra (De Morgan), and distances
 * to all atoms and images; and what is wrong in a text, and where. */
#include <math.h>

#include "molecule/select_atoms.h"
#include "molecule_fixture.h"

enum { MOST = 2000 };
static struct {
    double x[MOST], y[MOST], z[MOST], charge[MOST], radius[MOST];
    atom_label labels[MOST];
    molecule m;
} made;
static const vf_cell no_cell = {.kind = VF_CELL_NONE};

static void clear(void)
{
    memset(&made, 0, sizeof made);
    made.m = (molecule){.x = made.x, .y = made.y, .z = made.z, .charge = made.charge, .radius = made.radius};
    made.m.labels = made.labels;
}

static atom_label *add(const char *chain, const char *residue, int number, const char *name, double x, double charge)
{
    const int64_t i = made.m.atoms++;
    atom_label *label = &made.labels[i];
    snprintf(label->chain, sizeof label->chain, "%s", chain);
    snprintf(label->residue, sizeof label->residue, "%s", residue);
    snprintf(label->name, sizeof label->name, "%s", name);
    label->residue_number = number;
    label->occupancy = 1;
    made.x[i] = x;
    made.charge[i] = charge;
    made.radius[i] = 1.5;
    return label;
}

/* 24 atoms: two residues of protein, one that only its atoms tell, a base, a ligand, an ion, one that has its name but two
 * atoms, and two waters with one number. */
static void make_sample(void)
{
    clear();
    add("A", "NALA", 1, "N", 0, -0.5);                               /* 0 */
    add("A", "NALA", 1, "CA", 1, 0.1);                               /* 1 */
    add("A", "NALA", 1, "HA", 2, 0.1);                               /* 2 */
    add("A", "NALA", 1, "CB", 3, -0.2);                              /* 3 */
    add("A", "HSD", 2, "CA", 4, 0.25);                               /* 4 */
    add("A", "HSD", 2, "NE2", 5, -0.75)->insertion = 'B';            /* 5 */
    add("a", "XYZ", -3, "N", 6, 0);                                  /* 6 */
    add("a", "XYZ", -3, "CA", 7, 0);                                 /* 7 */
    add("a", "XYZ", -3, "C", 8, 0);                                  /* 8 */
    add("a", "XYZ", -3, "O", 9, 0);                                  /* 9 */
    add("B", "DA5", 10, "O5'", 10, -1);                              /* 10 */
    add("B", "DA5", 10, "N9", 11, 0.5);                              /* 11 */
    strcpy(add("C", "LIG", 0, "O1", 12, 0)->number_text, "****");    /* 12 */
    add("C", "CAD", 21, "AS", 13, 0);                                /* 13 */
    add("C", "CAD", 21, "O1", 14, 0);                                /* 14 */
    add("D", "Na+", 30, "Na+", 15, 1)->hetero = true;                /* 15 */
    add("D", "CAD", 31, "CAD", 16, 2)->hetero = true;                /* 16 */
    strcpy(add("W", "TIP3", 40, "OH2", 17, -0.834)->segment, "WT1"); /* 17 */
    strcpy(add("W", "TIP3", 40, "H1", 18, 0.417)->segment, "WT1");   /* 18 */
    strcpy(add("W", "TIP3", 40, "H2", 19, 0.417)->segment, "WT1");   /* 19 */
    strcpy(add("W", "TIP3", 40, "OH2", 20, -0.834)->segment, "WT1"); /* 20 */
    strcpy(add("W", "TIP3", 40, "H1", 21, 0.417)->segment, "WT1");   /* 21 */
    strcpy(add("W", "TIP3", 40, "H2", 22, 0.417)->segment, "WT1");   /* 22 */
    add("W", "SOL", 50, "OW", 23, -0.8);                             /* 23 */
}

static vf_status select_in(const char *text, const vf_cell *cell, bool *chosen)
{
    atom_selection *s = NULL;
    vf_context_clear_error(ctx);
    warnings[0] = '\0';
    vf_status status = selection_parse(ctx, "--select", text, &s);
    if (status == VF_OK) {
        status = selection_apply(ctx, s, &made.m, cell, chosen);
    }
    selection_free(s);
    return status;
}

/* `expected`: numbers of atoms, "0 1 5-7". */
static void expect(const char *text, const char *expected)
{
    bool chosen[MOST] = {false}, wanted[MOST] = {false};
    for (const char *at = expected; *at;) {
        char *end;
        const long first = strtol(at, &end, 10), last = *end == '-' ? strtol(end + 1, &end, 10) : first;
        for (long i = first; i <= last; i++)
            wanted[i] = true;
        at = *end ? end + 1 : end;
    }
    if (select_in(text, &no_cell, chosen) != VF_OK)
        fail_msg("'%s': %s", text, vf_context_message(ctx));
    for (int64_t i = 0; i < made.m.atoms; i++)
        if (chosen[i] != wanted[i])
            fail_msg("'%s': atom %lld (%s %s) is%s selected", text, (long long)i, made.labels[i].residue,
                     made.labels[i].name, chosen[i] ? "" : " not");
}

static void test_words_and_fields(void **state)
{
    (void)state;
    make_sample();
    expect("all", "0-23");
    expect("protein", "0-9");
    expect("nucleic", "10 11");
    expect("water", "17-23");
    expect("solvent", "17-23");
    expect("ions", "15 16");
    expect("hydrogen", "2 18 19 21 22");
    expect("heavy", "0 1 3-17 20 23");
    expect("backbone", "0 1 4 6-10");
    expect("sidechain", "2 3 5 11");
    expect("hetero", "15 16");
    expect("name CA", "1 4 7");
    expect("name ca cb", "1 3 4 7");
    expect("name CA+CB", "1 3 4 7");
    expect("name CA,CB", "1 3 4 7");
    expect("name C*", "1 3 4 7 8 16");
    expect("name *2", "5 17 19 20 22");
    expect("name ?A", "1 2 4 7");
    expect("name H*1 O?2", "17 18 20 21");
    expect("name 'CA'", "1 4 7");
    expect("name O5'", "10");
    expect("name \"O5'\"", "10");
    expect("name\tAS\n", "13");
    expect("name = CA", "1 4 7");
    expect("name != CA and protein", "0 2 3 5 6 8 9");
    expect("resname Na+", "15");
    expect("resn LIG+XYZ", "6-9 12");
    expect("chain A", "0-5");
    expect("chain a", "6-9");
    expect("segment WT1", "17-22");
    expect("segname A", "0-5");
    expect("element Na", "15");
    expect("element 'as'", "13");
    expect("resid 1", "0-3");
    expect("resid 2", "4 5");
    expect("resid 2B", "5");
    expect("resid -3", "6-9");
    expect("resid -5 to 1", "0-3 6-9");
    expect("resid -5:1", "0-3 6-9");
    expect("resid -5-1", "0-3 6-9");
    expect("resid -5--1", "6-9");
    expect("resi 1-2+10", "0-5 10 11");
    expect("resid 1 to 2 10", "0-5 10 11");
    expect("resid < 0", "6-9");
    expect("resid >= 30 and resid <= 31", "15 16");
    expect("resid '****'", "12");
    expect("index 0 5-6", "0 5 6");
    expect("serial 1", "0");
    expect("charge < -0.5", "5 10 17 20 23");
    expect("charge <= -0.5", "0 5 10 17 20 23");
    expect("charge 0.1 to 0.25", "1 2 4");
    expect("charge != 0 and chain a A", "0-5");
    expect("charge>0.5", "15 16");
    expect("x 2.5 to 4", "3 4");
    expect("radius 1.5 and index<2", "0 1");
}

static void test_combinations(void **state)
{
    (void)state;
    make_sample();
    expect("protein and not resname XYZ", "0-5");
    expect("not protein and not water", "10-16");
    expect("name CA or water and hydrogen", "1 4 7 18 19 21 22"); /* and binds more tightly */
    expect("(name CA or water) and hydrogen", "18 19 21 22");
    expect("not (protein or water)", "10-16");
    expect("!protein & !water", "10-16");
    expect("protein&&name CA||ions", "1 4 7 15 16");
    expect("within 1 of index 5", "4-6");
    expect("exwithin 1 of index 5", "4 6");
    expect("within 0 of index 5", "5");
    expect("within 1 of ions", "14-17");
    expect("water within 2 of ions", "17 18");
    expect("within 1 of ions and water", "17"); /* within takes what follows it */
    expect("within 1 of (ions and resname CAD)", "15-17");
    expect("not within 15 of index 0", "16-23");
    expect("same residue as name CB", "0-3");
    expect("same residue as index 17", "17-19");
    expect("same residue as index 22", "20-22");
    expect("same residue as within 1 of ions", "13-19");
    expect("same chain as index 7", "6-9");
    expect("same resname as index 13", "13 14 16");
    expect("same segment as index 20", "17-22");
    expect("same name as index 0", "0 6");
    made.labels[1].ends_chain = true; /* TER */
    expect("same residue as name CB", "2 3");
}

static void expect_refused(const char *text, const char *words)
{
    bool chosen[MOST];
    const vf_status status = select_in(text, &no_cell, chosen);
    if (status != VF_ERR_ARGUMENT)
        fail_msg("'%s': %s instead of an error with '%s'", text, vf_status_name(status), words);
    if (!contains_all(vf_context_message(ctx), words))
        fail_msg("'%s': '%s' lacks one of '%s'", text, vf_context_message(ctx), words);
}

static void test_refusals(void **state)
{
    (void)state;
    make_sample();
    expect_refused("", "--select|empty");
    expect_refused("   ", "empty");
    expect_refused("protien", "at 'protien'|character 1|expected a word such as protein");
    expect_refused("PROTEIN", "lower case");
    expect_refused("protein name CA", "at 'name'|character 9|expected 'and' or 'or'");
    expect_refused("name CA resname ALA", "at 'resname'|character 9|'and' or 'or'|quotes");
    expect_refused("name CA protein", "at 'protein'|quotes");
    expect_refused("name", "at the end|expected a name");
    expect_refused("name and CA", "at 'and'|expected a name");
    expect_refused("name resname", "expected a name");
    expect_refused("name CA,", "at 'CA,'");
    expect_refused("name 'CA", "the quote has no end");
    expect_refused("name 'C'A", "expected a blank after the quote");
    expect_refused("name \"C.*\"", "regular expressions");
    expect_refused("name < CA", "names can only be compared with = and !=");
    expect_refused("(protein and water", "at '('|character 1|'(' has no ')'");
    expect_refused("protein)", "at ')'|character 8|')' has no '('");
    expect_refused("protein and", "at the end|character 12");
    expect_refused("resid A", "at 'A'|10 to 20");
    expect_refused("resid 20 to 10", "the range is empty");
    expect_refused("resid 20:10", "the range is empty");
    expect_refused("resid 1 to", "expected a number after 'to'");
    expect_refused("resid to 5", "at 'to'");
    expect_refused("resid 1 to 2 to 3", "at 'to'");
    expect_refused("resid 1x5", "at '1x5'");
    expect_refused("charge < ", "at the end|expected a number");
    expect_refused("charge < 1 2", "at '2'|'and' or 'or'");
    expect_refused("charge 1e999", "at '1e999'");
    expect_refused("within of protein", "at 'of'|distance");
    expect_refused("within -1 of protein", "at '-1'|0 or more");
    expect_refused("within 5 protein", "at 'protein'|'of'");
    expect_refused("within 5 of", "at the end");
    expect_refused("same atom as all", "at 'atom'|residue, chain");
    expect_refused("same residue of all", "at 'of'|'as'");
    expect_refused("byres protein", "same residue as (S)");
    expect_refused("residue 5", "resid");
    expect_refused("resname NON", "selects none of the molecule's 24 atoms");
    expect_refused("protein and water", "'protein and water' selects none");
    expect_refused("within 5 of none", "selects none");
    expect_refused("name C\001", "character 7|ASCII");
    expect_refused("name \xc3\xa9", "character 6|ASCII");
    char deep[1000];
    memset(deep, '(', sizeof deep);
    deep[999] = '\0';
    expect_refused(deep, "nested too deeply");
    for (size_t n = 0; n + 4 < sizeof deep; n += 4)
        memcpy(deep + n, "not ", 4);
    expect_refused(deep, "nested too deeply");
}

static void test_warnings(void **state)
{
    (void)state;
    bool chosen[MOST];
    make_sample();
    assert_int_equal(select_in("protein and not resname LGI", &no_cell, chosen), VF_OK);
    assert_true(contains_all(warnings, "--select: no atom has 'resname LGI'\n"));
    assert_int_equal(select_in("protein and not resname LIG", &no_cell, chosen), VF_OK);
    assert_string_equal(warnings, "");
    assert_int_equal(select_in("name CA XX", &no_cell, chosen), VF_OK); /* one of them is there */
    assert_string_equal(warnings, "");
}

/* ---- distances ---- */

static void make_cloud(int64_t atoms, double extent)
{
    clear();
    for (int64_t i = 0; i < atoms; i++) {
        add("A", i % 7 == 0 ? "LIG" : "TIP3", (int)i, "O", 0, 0);
        const double most = i % 7 == 0 ? 0.2 * extent : extent; /* so that large distances do not reach all */
        made.x[i] = uniform_between(-most, most);
        made.y[i] = uniform_between(-most, most);
        made.z[i] = uniform_between(-most, most);
    }
}

/* To the nearest image, by many shifts of the pair: atoms lie up to two cells away from the first one, so pairs four. */
static double nearest(const vf_cell *cell, int64_t i, int64_t j)
{
    const int most = cell->kind == VF_CELL_NONE ? 0 : 7;
    double least = INFINITY;
    for (int a = -most; a <= most; a++)
        for (int b = -most; b <= most; b++)
            for (int c = -most; c <= most; c++) {
                double d[3] = {made.x[i] - made.x[j], made.y[i] - made.y[j], made.z[i] - made.z[j]}, square = 0;
                for (int k = 0; k < 3; k++) {
                    if (most > 0)
                        d[k] += a * cell->vectors[0][k] + b * cell->vectors[1][k] + c * cell->vectors[2][k];
                    square += d[k] * d[k];
                }
                least = fmin(least, sqrt(square));
            }
    return least;
}

static void check_within(const vf_cell *cell, double distance)
{
    static bool chosen[MOST];
    char text[80];
    int64_t near = 0;
    snprintf(text, sizeof text, "within %.17g of resname LIG", distance);
    assert_int_equal(select_in(text, cell, chosen), VF_OK);
    for (int64_t i = 0; i < made.m.atoms; i++) {
        double least = INFINITY;
        for (int64_t j = 0; j < made.m.atoms; j += 7)
            least = fmin(least, nearest(cell, i, j));
        /* Sums of a few numbers below 100 are right to 1e-13; random distances are not as close to the bound. */
        assert_true(fabs(least - distance) > 1e-9);
        if (chosen[i] != (least <= distance))
            fail_msg("%s: atom %lld at %.12g is%s selected", text, (long long)i, least, chosen[i] ? "" : " not");
        near += chosen[i];
    }
    print_message("%s: %lld of %lld\n", text, (long long)near, (long long)made.m.atoms);
}

static void test_within(void **state)
{
    (void)state;
    static const double distances[] = {0.37, 1.9, 4.3, 11.7, 30.1};
    const vf_cell box = {.kind = VF_CELL_ORTHORHOMBIC, .vectors = {{9, 0, 0}, {0, 14, 0}, {0, 0, 11}}};
    const vf_cell skew = {.kind = VF_CELL_TRICLINIC, .vectors = {{9, 0, 0}, {-4, 12, 0}, {4, 5, 10}}};
    make_cloud(1500, 20);
    for (int n = 0; n < 5; n++)
        check_within(&no_cell, distances[n]);
    make_cloud(70, 20);
    for (int n = 0; n < 3; n++) {
        check_within(&box, distances[n]);
        check_within(&skew, distances[n]);
    }
    /* Exactly as far as asked: 3, 4, 5. */
    clear();
    add("A", "LIG", 1, "C", 0.1, 0);
    add("A", "XYZ", 2, "C", 3.1, 0);
    made.y[1] = 4;
    expect("within 5 of resname LIG", "0 1");
    expect("within 4.999999 of resname LIG", "0");
}

/* not (A and B) = not A or not B, for random A and B. */
static void test_algebra(void **state)
{
    (void)state;
    static const char *const parts[] = {"protein",    "name C*",          "resid 1 to 12",
                                        "charge < 0", "within 3 of ions", "same residue as name CA OH2",
                                        "hydrogen",   "not chain A"};
    make_sample();
    for (int n = 0; n < 50; n++) {
        const char *a = parts[integer_below(8)], *b = parts[integer_below(8)];
        bool left[MOST] = {false}, right[MOST] = {false};
        char text[200];
        snprintf(text, sizeof text, "not (%s and %s) or none", a, b);
        assert_int_equal(select_in(text, &no_cell, left), VF_OK);
        snprintf(text, sizeof text, "not (%s) or not (%s)", a, b);
        assert_int_equal(select_in(text, &no_cell, right), VF_OK);
        for (int64_t i = 0; i < made.m.atoms; i++)
            assert_int_equal(left[i], right[i]);
    }
}

TEST_MAIN(set_up_context, close_context, cmocka_unit_test(test_words_and_fields), cmocka_unit_test(test_combinations),
          cmocka_unit_test(test_refusals), cmocka_unit_test(test_warnings), cmocka_unit_test(test_within),
          cmocka_unit_test(test_algebra))
