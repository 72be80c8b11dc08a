/* What the formats of write_ions.c share: the atom record, text in columns (ion_columns.c), and records beside the atoms
 * (ion_records.c). */
#ifndef CIONIZE_ION_FILES_H
#define CIONIZE_ION_FILES_H

#include "ions.h"
#include "molecule/atom_element.h"
#include "voxfield/output.h"

/* An atom to write. Only chain and element may be empty. */
typedef struct filed_atom {
    const char *name, *residue;
    const char *chain;         /* chain or segment; "" if unknown */
    const char *segment;       /* "" if unknown */
    const char *element;       /* "" if unknown */
    const char *formal_charge; /* "2+"; "" if unknown, and of ions */
    int64_t residue_number;
    const char *number_text; /* in its place; "": none */
    char insertion;          /* insertion code; 0: none */
    char alternate;          /* alternate location; 0: none */
    bool hetero, ion;
    double position[3], charge, radius, occupancy, b_factor;
} filed_atom;

/* What a molecule says, and a format may have a place for, as bits. Positions have one everywhere. */
enum {
    HELD_POSITIONS = 0,
    HELD_NAMES = 1,
    HELD_CHAINS = 1 << 1,
    HELD_SEGMENTS = 1 << 2,
    HELD_INSERTIONS = 1 << 3,
    HELD_ALTERNATES = 1 << 4,
    HELD_OCCUPANCIES = 1 << 5,
    HELD_FORMAL_CHARGES = 1 << 6,
    HELD_CHARGES = 1 << 7,
    HELD_CELL = 1 << 8,
    HELD_CELL_DECIMALS = 1 << 9,
    HELD_RECORDS = 1 << 10,
    HELD_BONDS = 1 << 11,
    HELD_MODEL = 1 << 12
};

typedef struct ion_file {
    vf_context *ctx;
    const char *path;
    vf_output *output;
    const struct ion_format *format;
    const molecule *solute; /* NULL: none */
    const unit_cell *cell;  /* NULL: none */
    locale_t c_locale;      /* a locale with a decimal point */
    const char *comment;    /* NULL: none */
    int64_t atoms;          /* in the whole file */
    int64_t written;
    int64_t records;   /* numbered records in PDB files: atoms, and each TER */
    int64_t *serial;   /* [atoms of the solute] their numbers; NULL: there are no bonds to write */
    unsigned lost;     /* HELD_ bits of what has no place in this file */
    int64_t shortened; /* names cut to fit their columns */
    int64_t odd;       /* names with a replaced character, such as a blank, which would break the columns */
    int64_t uncharged; /* ions whose charge does not fit */
} ion_file;

/* One format. Functions are called in this order and may be NULL. */
typedef struct ion_format {
    const char *extension;
    bool words;     /* fields are words between blanks: readers expect as many in each record */
    bool chainless; /* there are no chains: the numbers of ions follow those of the solute */
    bool grouped;   /* ions of a kind stand together, because topologies count them so */
    unsigned holds; /* HELD_ bits of what has a place */
    vf_status (*begin)(ion_file *file);
    vf_status (*atom)(ion_file *file, const filed_atom *atom);
    vf_status (*part)(ion_file *file, const filed_atom *last); /* after each chain, and before the ions */
    vf_status (*end)(ion_file *file);
} ion_format;

enum { PDB_RESIDUE_WIDTH = 4, PDB_LEAST_RESIDUE = -999 }; /* the columns of residue numbers */

extern const ion_format ions_as_pdb; /* ions_pdb.c */
extern const ion_format ions_as_pqr; /* ions_pqr.c */
extern const ion_format ions_as_gro; /* ions_gro.c */

/* ---- ion_records.c ---- */

/* Before the atoms of PDB and PQR files: the comment among the molecule's records, CRYST1 of its cell, and MODEL. A CRYST1 of
 * the file is kept as it stands, unless the molecule has another cell since; the SCALE that belong to it then go. */
VF_MUST_CHECK vf_status write_head(ion_file *file);

/* After them: ENDMDL, CONECT, END. */
VF_MUST_CHECK vf_status write_tail(ion_file *file);

/* Names, in one note, what the molecule's file says and the format has no place for. */
void note_lost(ion_file *file);

/* ---- ion_columns.c ---- */

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

/* Fields of lines whose columns may be exceeded; they return the end. `line` is the line's begin.
 * Appends a field that starts in `column` (from 1), or after a blank if that column is taken. */
char *put_field(const char *line, char *to, int column, const char *text, size_t length);

/* The same for a name of up to FILED_NAME characters, and for a number, which ends in column `last`. */
char *put_name_field(ion_file *file, const char *line, char *to, int column, const char *name);
char *put_number_field(const char *line, char *to, int last, int64_t scaled, int decimals);
enum {
    FILED_LINE = 256, /* the longest names and numbers of a record, and the columns between them */
    FILED_NAME = 8    /* of an atom_label */
};

/* Fails for a number of an atom that does not fit; `what` names it: "its x". VF_ERR_UNSUPPORTED. */
VF_MUST_CHECK vf_status refuse_number(const ion_file *file, const filed_atom *atom, const char *what, double value,
                                      const char *why);
extern const char filed_out_of_range[]; /* such a reason: of files without columns */

#endif
