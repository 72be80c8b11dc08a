/* Random molecules in every form of the files for coordinates and charges. */
#include <math.h>

#include "molecule_fixture.h"

enum { MOST = 2500, LINE = 160 };

/* Random atoms, and the text of a file that contains them. */
typedef struct sample {
    int atoms;
    double xyz[MOST][3], charge[MOST], radius[MOST];
    char places[(MOST + 4) * LINE], charges[(MOST + 40) * LINE];
} sample;

static void write_places(sample *s, bool as_pdb)
{
    int64_t limit = as_pdb ? 999999 : 9999999999;
    char *to = s->places;
    if (!as_pdb)
        to += sprintf(to, "title\n%5d\n", s->atoms);
    for (int i = 0; i < s->atoms; i++) {
        double *xyz = s->xyz[i];
        for (int a = 0; a < 3; a++) /* the nearest double of a decimal number */
            xyz[a] = (double)integer_between(-limit, limit) / (as_pdb ? 1e3 : 1e7);
        if (as_pdb)
            to += sprintf(to, "ATOM  %5d C%-3d ALA A%4d    %8.3f%8.3f%8.3f\n", i, i % 999, i / 3 % 9999, xyz[0], xyz[1],
                          xyz[2]);
        else
            to += sprintf(to, "%12.7f%12.7f%12.7f%s", xyz[0], xyz[1], xyz[2], i % 2 || i + 1 == s->atoms ? "\n" : "");
    }
}

/* In the columns of the standard form, of the extended form, or between blanks. */
static void write_psf(sample *s, int form)
{
    static const char *const heads[] = {"PSF", "PSF EXT XPLOR", "PSF NAMD"};
    char *to = s->charges + sprintf(s->charges, "%s\n\n%8d !NATOM\n", heads[form], s->atoms);
    for (int i = 0; i < s->atoms; i++) {
        int residue = i / 3 % 9999, name = i % 999;
        const char *segment = i % 2 || form == 2 ? "SEG" : "", *names = i % 5 || form == 2 ? "ALA" : "";
        s->charge[i] = (double)integer_between(-999999, 999999) / 1e6;
        to += form == 0 ? sprintf(to, "%8d %-4s %-4d %-4s C%-3d %-4s %10.6f     %9.4f  %10d\n", i + 1, segment, residue,
                                  names, name, "CT1", s->charge[i], 12.011, 0)
              : form == 1 ? sprintf(to, "%10d %-8s %-8d %-8s C%-7d %-6s %10.6f     %9.4f  %10d\n", i + 1, segment,
                                    residue, names, name, "CT1", s->charge[i], 12.011, 0)
                          : sprintf(to, "%d %s %d %s C%d %s %.6f %.4f %d\n", i + 1, segment, residue, names, name,
                                    "CT1", s->charge[i], 12.011, 0);
    }
}

/* Of AMBER, or of CHARMM by chamber: each has its own constant of Coulomb's law. */
static void write_prmtop(sample *s, bool chamber)
{
    int last = s->atoms - 1;
    char *to = s->charges;
    to += sprintf(to, "%%VERSION\n%%FLAG %s\n%%FORMAT(a80)\n\n%%FLAG POINTERS\n%%FORMAT(12I6)\n%6d",
                  chamber ? "CTITLE" : "TITLE", s->atoms);
    for (int i = 1; i < 12; i++)
        to += sprintf(to, "%6d", i == 11);
    to += sprintf(to, "\n%%FLAG ATOM_NAME\n%%FORMAT(20a4)\n");
    for (int i = 0; i < s->atoms; i++)
        to += sprintf(to, "C%-3d%s", i % 999, i % 20 == 19 || i == last ? "\n" : "");
    to += sprintf(to,
                  "%%FLAG RESIDUE_LABEL\n%%FORMAT(20a4)\nALA\n%%FLAG RESIDUE_POINTER\n%%FORMAT(10I8)\n%8d\n"
                  "%%FLAG CHARGE\n%%FORMAT(3E24.16)\n",
                  1);
    for (int i = 0; i < s->atoms; i++) {
        double value = (double)integer_between(-999999, 999999) / 1e5;
        to += sprintf(to, "%24.16E%s", value, i % 3 == 2 || i == last ? "\n" : ""); /* 17 digits are exact */
        s->charge[i] = value / (chamber ? sqrt(332.0716) : 18.2223);
    }
}

/* Enough atoms to make the arrays grow, in a random form each time. */
static void reads_random_molecules(void **state)
{
    (void)state;
    sample *s = calloc(1, sizeof *s);
    assert_non_null(s);
    for (int round = 0; round < 60; round++) {
        int form = (int)integer_between(0, 3);
        s->atoms = (int)integer_between(1, round % 3 ? 40 : MOST);
        write_places(s, integer_between(0, 1) == 1);
        if (form == 3)
            write_prmtop(s, round % 2 == 1);
        else
            write_psf(s, form);
        expect_molecule(s->places, s->charges, (const double(*)[3])s->xyz, s->charge, s->radius, s->atoms);
    }
    free(s);
}

TEST_MAIN(set_up_context, close_context, cmocka_unit_test(reads_random_molecules))
