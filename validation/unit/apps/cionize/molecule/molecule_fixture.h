/* Molecules in one file or two (coordinates and charges), and the atoms and labels that must come of them. */
#ifndef MOLECULE_FIXTURE_H
#define MOLECULE_FIXTURE_H

#include "reader_fixture.h"

static inline void expect_label(const atom_label *got, const atom_label *expected, const char *what)
{
    if (strcmp(got->name, expected->name) != 0 || strcmp(got->residue, expected->residue) != 0 ||
        strcmp(got->chain, expected->chain) != 0 || strcmp(got->element, expected->element) != 0 ||
        got->insertion != expected->insertion || got->hetero != expected->hetero ||
        got->residue_number != expected->residue_number)
        fail_msg("%s: '%s' '%s' '%s' '%s' %d%c %d instead of '%s' '%s' '%s' '%s' %d%c %d", what, got->name,
                 got->residue, got->chain, got->element, got->residue_number, got->insertion ? got->insertion : '-',
                 got->hetero, expected->name, expected->residue, expected->chain, expected->element,
                 expected->residue_number, expected->insertion ? expected->insertion : '-', expected->hetero);
}

/* ---- molecules in two files ---- */

static inline vf_status parse_two(const char *places, const char *charges, molecule *out)
{
    size_t a = strlen(places), b = strlen(charges);
    char *first = copy_exactly(places, a), *second = copy_exactly(charges, b);
    warnings[0] = '\0';
    vf_context_clear_error(ctx);
    memset(out, 0x5a, sizeof *out);
    vf_status status =
        parse_molecule_with_charges(ctx, &(named_text){"m.xyz", first, a}, &(named_text){"m.chg", second, b}, out);
    free(first);
    free(second);
    return status;
}

static inline void expect_read(const char *places, const char *charges, molecule *out)
{
    if (parse_two(places, charges, out) != VF_OK)
        fail_msg("not read: %s\n%.600s\n%.600s", vf_context_message(ctx), places, charges);
}

/* Numbers are compared for equality: a decimal number has one nearest double, which the reader must find. A prmtop's
 * charge is that double divided by 18.2223, one operation. */
static inline void expect_molecule(const char *places, const char *charges, const double (*xyz)[3],
                                   const double *charge, const double *radius, int64_t atoms)
{
    molecule m;
    expect_read(places, charges, &m);
    assert_int_equal(m.atoms, atoms);
    for (int64_t i = 0; i < atoms; i++) {
        bool same = m.x[i] == xyz[i][0] && m.y[i] == xyz[i][1] && m.z[i] == xyz[i][2] && m.charge[i] == charge[i] &&
                    m.radius[i] == radius[i];
        if (!same) /* of NaN, too */
            fail_msg("atom %d: %.17g %.17g %.17g %.17g %.17g in\n%.600s\n%.600s", (int)i, m.x[i], m.y[i], m.z[i],
                     m.charge[i], m.radius[i], places, charges);
    }
    molecule_free(&m);
}

#endif
