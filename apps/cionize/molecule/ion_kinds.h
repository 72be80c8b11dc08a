/* cionize: kinds of ions, with their names in force fields. Charges in elementary charges, radii in angstrom. */
#ifndef CIONIZE_ION_KINDS_H
#define CIONIZE_ION_KINDS_H

#include <stdbool.h>
#include <stdint.h>

#include "voxfield/context.h"

enum { ION_MOST_CHARGE = 1000000000 }; /* e; as for the atoms of PQR files, so that energies fit single precision */

/* One kind of ion. */
typedef struct ion_kind {
    char name[5];    /* of the residue: "SOD" */
    char element[3]; /* "Na"; "" if unknown */
    double charge;   /* e; not 0, at most ION_MOST_CHARGE in magnitude */
    double radius;   /* angstrom, for PQR files; 0 if unknown */
    char atom[5];    /* of the atom, if it is another: "ZN" in CHARMM's ZN2 */
} ion_kind;

/* A number of ions of one kind. */
typedef struct ion_request {
    ion_kind kind;
    int64_t count; /* in [0, ION_MOST] */
} ion_request;
enum { ION_MOST = 10000000 };

/* What is wrong with an ion name, as the end of a sentence: "is too long ..."; NULL: nothing. */
const char *ion_name_trouble(const char *name);

/* Whether this is the name of an ion in a force field (docs/conventions.md), in any case. kind->name then has the
 * table's spelling. */
bool ion_is_known(const char *name, ion_kind *kind);

/* In the functions below, `where` begins the messages: "--salt", "script.cfg:12". */

/* Whose names ions have in output files. */
typedef enum ion_names {
    ION_NAMES_GIVEN, /* as the user wrote them */
    ION_NAMES_CHARMM,
    ION_NAMES_AMBER,
    ION_NAMES_GROMACS,
    ION_NAMES_PDB,
    ION_NAMES_COUNT
} ion_names;

/* Gives a known ion the name of a force field. An ion that the table does not have keeps its name, with a note; one that CHARMM does
 * not have gets the PDB's name, with a warning. */
void ion_rename(vf_context *ctx, ion_names names, ion_kind *kind);

/* A known ion by name. Errors: VF_ERR_ARGUMENT, listing the known names. */
VF_MUST_CHECK vf_status ion_kind_from_name(vf_context *ctx, const char *where, const char *name, ion_kind *kind);

/* An ion of this charge (e) with any name of 1 to 4 printable characters without blanks. A charge other than the
 * table's is used with a warning. Errors: VF_ERR_ARGUMENT (invalid name; the charge is 0, not finite, or too large). */
VF_MUST_CHECK vf_status ion_kind_with_charge(vf_context *ctx, const char *where, const char *name, double charge,
                                             ion_kind *kind);

/* Parses NAME:COUNT[:CHARGE]: "SOD:12", "XYZ:3:+2". Unknown names need a charge. `option` is the option's name:
 * "place". Errors: VF_ERR_ARGUMENT. */
VF_MUST_CHECK vf_status parse_placement(vf_context *ctx, const char *option, const char *text, ion_request *request);

#endif
