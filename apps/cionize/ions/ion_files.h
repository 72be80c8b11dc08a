/* What the formats of write_ions.c share: the atom record, and text in columns (ion_columns.c). */
#ifndef CIONIZE_ION_FILES_H
#define CIONIZE_ION_FILES_H

#include "atom_element.h"
#include "ions.h"
#include "voxfield/output.h"

/* An atom to write. Only chain and element may be empty. */
typedef struct filed_atom {
    const char *name, *residue;
    const char *chain;   /* chain or segment; "" if unknown */
    const char *element; /* "" if unknown */
    int64_t residue_number;
    char insertion; /* insertion code; 0: none */
    bool hetero, ion;
    double position[3], charge, radius;
} filed_atom;

typedef struct ion_file {
    vf_context *ctx;
    const char *path;
    vf_output *output;
    const char *comment; /* NULL: none */
    int64_t atoms;       /* in the whole file */
    int64_t written;
    int64_t records;   /* numbered records in PDB files: atoms, and the TER after the solute */
    int64_t shortened; /* names cut to fit their columns */
    int64_t odd;       /* names with a replaced character, such as a blank, which would break the columns */
    int64_t uncharged; /* ions whose charge does not fit */
} ion_file;

/* One format. Functions are called in this order and may be NULL. */
typedef struct ion_format {
    const char *extension;
    bool words; /* fields are words between blanks: readers expect as many in each record */
    vf_status (*begin)(ion_file *file);
    vf_status (*atom)(ion_file *file, const filed_atom *atom);
    vf_status (*part)(ion_file *file, const filed_atom *last); /* between the solute and the ions */
    vf_status (*end)(ion_file *file);
} ion_format;

extern const ion_format ions_as_pdb; /* ions_pdb.c */

/* The column, from 1, in which a name begins in PDB and PQR files. Names of four characters, and those of two that are
 * the element's symbol, begin in column 13, others in 14. So the element's symbol ends in column 14. */
int name_column(const filed_atom *atom);

/* Copies at most `room` characters of a name and counts cut and replaced ones. Returns the end. */
char *put_name(ion_file *file, const char *name, int room, char *to);

/* Rounds value * 10^decimals (0 to 6) to the nearest integer. False if |value| is above 1e9 or NaN. */
bool scale_number(double value, int decimals, int64_t *out);

/* Writes scaled / 10^decimals without a terminating zero. Returns the end, at most PUT_NUMBER_TEXT characters
 * further. */
enum { PUT_NUMBER_TEXT = 24 };
char *put_scaled(int64_t scaled, int decimals, char *to);

/* Fails for a number of an atom that does not fit; `what` names it: "its x". VF_ERR_UNSUPPORTED. */
VF_MUST_CHECK vf_status refuse_number(const ion_file *file, const filed_atom *atom, const char *what, double value,
                                      const char *why);

#endif
