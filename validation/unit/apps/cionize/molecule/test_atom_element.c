/* Elements of atoms in files of ions if the molecule's own file has none: derived from the atoms' names. */
#include "apps/cionize/maps/map_fixture.h"
#include "ions/ions.h"
#include "molecule/atom_element.h"

/* The text of a file with one atom of a name in a residue; `known`: the element in its own file. */
static char *with_atom(const char *file, const char *name, const char *residue, const char *known)
{
    const ion_list none = {0, NULL, 0, NULL};
    atom_label label[2] = {{.residue_number = 1}, {.residue_number = 1}};
    molecule labelled = solute;
    char path[PATH_SIZE];
    size_t bytes;
    labelled.atoms = 1;
    snprintf(label->name, sizeof label->name, "%s", name);
    snprintf(label->residue, sizeof label->residue, "%s", residue);
    snprintf(label->element, sizeof label->element, "%s", known);
    labelled.labels = label;
    path_of(file, path);
    if (write_ions(ctx, path, &none, &labelled, NULL, NULL) != VF_OK)
        fail_msg("%s", vf_context_message(ctx));
    char *text = slurp(path, &bytes);
    unlink(path);
    return text;
}

/* An .xyz file has an element for every atom; a PDB file has it in capitals, and only if it is `sure`. */
static void expect_element(const char *name, const char *residue, const char *known, const char *expected, bool sure)
{
    char *text = with_atom("a.xyz", name, residue, known), found[16];
    assert_int_equal(sscanf(text, "%*d %15s", found), 1);
    if (strcmp(found, expected) != 0)
        fail_msg("%s of %s becomes %s, not %s", name, residue, found, expected);
    free(text);
    text = with_atom("a.pdb", name, residue, known);
    snprintf(found, sizeof found, "%.2s", text + 76);
    const int blank = found[0] == ' ';
    if (sure ? strcasecmp(found + blank, expected) != 0 || strlen(found + blank) != strlen(expected)
             : strcmp(found, "  ") != 0)
        fail_msg("%s of %s: a PDB has '%s'", name, residue, found);
    /* The symbol of a known element ends in column 14. */
    const size_t column = strspn(text + 12, " ") + 13;
    if (sure && strlen(name) < 4 && (*name < '0' || *name > '9'))
        assert_int_equal(column, strlen(expected) == 2 && strncasecmp(name, expected, 2) == 0 ? 13 : 14);
    free(text);
}

static void elements(void **state)
{
    (void)state;
    static const struct {
        const char *name, *residue, *known, *element;
    } sure[] = {
        {"CA", "ALA", "", "C"},     {"CD1", "LEU", "", "C"},   {"HG23", "ILE", "", "H"}, {"HG", "SER", "", "H"},
        {"1HB", "ALA", "", "H"},    {"NE2", "HIS", "", "N"},   {"OXT", "GLY", "", "O"},  {"SD", "MET", "", "S"},
        {"C5'", "DA", "", "C"},     {"HO5*", "DG5", "", "H"},  {"O1P", "DA", "", "O"},   {"P", "DT", "", "P"},
        {"OW", "SOL", "", "O"},     {"NA", "HEM", "", "N"},    {"FE", "HEM", "", "Fe"},  {"MG", "CLA", "", "Mg"},
        {"CHA", "CLA", "", "C"},    {"SE", "MSE", "", "Se"},   {"CL1", "LIG", "", "Cl"}, {"Br12", "LIG", "", "Br"},
        {"F1", "LIG", "", "F"},     {"I", "LIG", "", "I"},     {"B1", "LIG", "", "B"},   {"CA", "CA", "", "Ca"},
        {"CA", "CAL", "", "Ca"},    {"CLA", "CLA", "", "Cl"},  {"SOD", "SOD", "", "Na"}, {"NA", "Na+", "", "Na"},
        {"POT", "POT", "", "K"},    {"K+", "K+", "", "K"},     {"ZN", "ZN2", "", "Zn"},  {"FE", "FE2", "", "Fe"},
        {"CD", "CD", "", "Cd"},     {"CO", "CO", "", "Co"},    {"CU1", "CUA", "", "Cu"}, {"HG", "HG", "", "Hg"},
        {"CA", "ALA", "Ca", "Ca"},  {"HG23", "ILE", "D", "D"}, {"CA", "CA", "C", "C"},   {"CA", "NALA", "", "C"},
        {"CD", "CGLN", "", "C"},    {"HG", "CYX", "", "H"},    {"CE", "lyn", "", "C"},   {"C1", "LIG", "", "C"},
        {"CAB", "LIG", "", "C"},    {"HO3'", "ATP", "", "H"},  {"H1", "TIP3", "", "H"},  {"CO", "LIG", "Co", "Co"},
        {"CLA", "LIG", "Cl", "Cl"},
    };
    static const struct {
        const char *name, *residue, *element;
    } doubtful[] = {
        {"CO", "LIG", "C"},  {"CO", "B12", "C"}, {"CLA", "LIG", "C"}, {"BRA", "LIG", "B"}, {"CA", "LIG", "C"},
        {"NA", "XYZ", "N"},  {"HG", "MMC", "H"}, {"CD2", "LIG", "C"}, {"EP", "WAT", "X"},  {"MW", "SOL", "X"},
        {"'12", "LIG", "X"}, {"CA", "", "C"},    {"", "", "X"},       {"CA", "NLIG", "C"}, {"CA", "LAALAN", "C"},
    };
    for (size_t i = 0; i < sizeof sure / sizeof *sure; i++)
        expect_element(sure[i].name, sure[i].residue, sure[i].known, sure[i].element, true);
    for (size_t i = 0; i < sizeof doubtful / sizeof *doubtful; i++)
        expect_element(doubtful[i].name, doubtful[i].residue, "", doubtful[i].element, false);
}

/* Numbers of the periodic table's corners, its gaps (La to Lu, Ac to Lr), and of what is no element. */
static void numbers(void **state)
{
    (void)state;
    static const struct {
        const char *symbol;
        int number;
    } cases[] = {{"H", 1},   {"D", 1},    {"He", 2},   {"C", 6},   {"N", 7},   {"O", 8},   {"Na", 11}, {"S", 16},
                 {"CL", 17}, {"Ar", 18},  {"K", 19},   {"Ca", 20}, {"FE", 26}, {"zn", 30}, {"Br", 35}, {"Rb", 37},
                 {"I", 53},  {"Xe", 54},  {"Cs", 55},  {"La", 57}, {"Lu", 71}, {"Hf", 72}, {"Au", 79}, {"Rn", 86},
                 {"U", 92},  {"Lr", 103}, {"Og", 118}, {"X", 0},   {"", 0},    {"Q", 0},   {"Na ", 0}, {"Ax", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (atomic_number(cases[i].symbol) != cases[i].number)
            fail_msg("%s: %d, not %d", cases[i].symbol, atomic_number(cases[i].symbol), cases[i].number);
}

TEST_MAIN(set_up, close_folder, cmocka_unit_test(elements), cmocka_unit_test(numbers))
