/* What the formats of write_ions.c share: an atom as they take it, and text in columns (ion_columns.c). */
#ifndef CIONIZE_ION_FILES_H
#define CIONIZE_ION_FILES_H

#include "ions.h"
#include "voxfield/output.h"

/* An atom on its way into a file. No text is empty but for chain and element. */
typedef struct filed_atom {
    const char *name, *residue;
    const char *chain;   /* or segment; "" if the file that it comes from does not say */
    const char *element; /* "" if not known */
    int64_t residue_number;
    char insertion; /* 0: none */
    bool hetero, ion;
    double position[3], charge, radius;
} filed_atom;

typedef struct ion_file {
    vf_context *ctx;
    const char *path;
    vf_output *output;
    const char *comment; /* or NULL */
    int64_t atoms;       /* that the file is to hold */
    int64_t written;
    int64_t records;   /* that have a number, in PDB files: atoms, and what ends the solute */
    int64_t shortened; /* names cut to their columns */
    int64_t odd;       /* names with a character replaced: blanks would break the columns */
    int64_t uncharged; /* ions whose charge could not be written */
} ion_file;

/* One format; functions may be NULL. They are called in this order. */
typedef struct ion_format {
    const char *extension;
    vf_status (*begin)(ion_file *file);
    vf_status (*atom)(ion_file *file, const filed_atom *atom);
    vf_status (*part)(ion_file *file, const filed_atom *last); /* between the solute and the ions */
    vf_status (*end)(ion_file *file);
} ion_format;

extern const ion_format ions_as_pdb; /* ions_pdb.c */

/* The column, from 1, where a name begins in PDB and PQR files: those of two letters that are the element's symbol, and
 * those of four, in 13; others in 14, so that the symbol of an element ends in 14. */
int name_column(const filed_atom *atom);

/* The symbol of the atom's element: what its file said, else what its name says; "X" where that does not. False: it is
 * "X", or may be another (docs/formats.md, XYZ and PDB). */
bool atom_element(const filed_atom *atom, char symbol[3]);

/* Copies at most `room` characters of a name, and takes note of those that it cuts or replaces. Returns the end. */
char *put_name(ion_file *file, const char *name, int room, char *to);

/* Rounds value * 10^decimals (0 to 6) to the nearest whole number. False if |value| is above 1e9, or not a number. */
bool scale_number(double value, int decimals, int64_t *out);

/* Writes scaled / 10^decimals, without a terminating zero; returns the end, at most PUT_NUMBER_TEXT characters on. */
enum { PUT_NUMBER_TEXT = 24 };
char *put_scaled(int64_t scaled, int decimals, char *to);

/* Refuses an atom's number, which `what` names: "its x". VF_ERR_UNSUPPORTED. */
VF_MUST_CHECK vf_status refuse_number(const ion_file *file, const filed_atom *atom, const char *what, double value,
                                      const char *why);

#endif
