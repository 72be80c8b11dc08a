/* Reads an atom record of a PQR file. Private to the PQR reader. */
#ifndef CIONIZE_PQR_FIELDS_H
#define CIONIZE_PQR_FIELDS_H

#include "molecule.h"
#include "text/text_words.h"

/* Whether a line ends in five numbers like an atom record. The start of the line does not matter. */
bool pqr_ends_like_atom(text_piece line, locale_t c_locale);

/* How a record was read, best first. */
typedef enum pqr_reading {
    PQR_SEPARATED,     /* blanks between all fields */
    PQR_GLUED_NAMES,   /* serial, names, chain or residue number run together; blanks between the numbers */
    PQR_GLUED_NUMBERS, /* numbers run together, split at their signs or after three decimals */
    PQR_COLUMNS,       /* pdb2pqr's fixed columns */
    PQR_READINGS
} pqr_reading;

enum { PQR_X, PQR_Y, PQR_Z, PQR_CHARGE, PQR_RADIUS, PQR_VALUES };
typedef struct pqr_atom {
    double value[PQR_VALUES];
    int decimals[PQR_VALUES]; /* digits after the decimal point in the file */
    pqr_reading reading;
    bool cut;        /* a coordinate lost decimals because it filled its column */
    bool element;    /* an element symbol followed the radius */
    text_piece name; /* the atom's name, or the word that contains it */
    text_piece serial;
    atom_label label;
} pqr_atom;

/* Reads one ATOM or HETATM record. `c_locale` is a locale with a decimal point. On failure returns false; `why`
 * names the wrong field and the remedy. */
enum { PQR_WHY_SIZE = 480 };
bool pqr_read_atom(text_piece line, locale_t c_locale, pqr_atom *out, char why[PQR_WHY_SIZE]);

#endif
