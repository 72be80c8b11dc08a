/* Readers of files that hold a part of a molecule: coordinates or charges, and what the atoms are called. Private to
 * the readers of molecules. */
#ifndef CIONIZE_MOLECULE_READERS_H
#define CIONIZE_MOLECULE_READERS_H

#include "molecule_arrays.h"
#include "text/input_text.h"

/* A file that is being read. */
typedef struct molecule_reader {
    vf_context *ctx;
    const char *name; /* of the file, for messages */
    text_lines lines;
    locale_t c_locale; /* whose numbers have a decimal point */
    molecule *out;     /* empty at the beginning; freed by the caller, also after a failure */
    int64_t capacity;  /* atoms that out's arrays have room for */
} molecule_reader;

/* Each reads from the first line to the end. Coordinates: x, y, z, bounds and labels; charges: charge, radius and
 * labels. Other values are 0. All set `dialect`. Errors: VF_ERR_INPUT, VF_ERR_MEMORY, VF_ERR_CANCELLED. */
VF_MUST_CHECK vf_status read_pdb(molecule_reader *r);
VF_MUST_CHECK vf_status read_inpcrd(molecule_reader *r);
VF_MUST_CHECK vf_status read_psf(molecule_reader *r);
VF_MUST_CHECK vf_status read_prmtop(molecule_reader *r);

/* Whether the text is an AMBER coordinate file: a title, a line with the number of atoms, and a coordinate. */
bool is_inpcrd(text_piece text, locale_t c_locale);

/* The next line; *more is false at the end of the text. Errors: VF_ERR_CANCELLED. */
VF_MUST_CHECK vf_status reader_next(molecule_reader *r, text_piece *line, bool *more);

/* Makes room for one more atom behind out->atoms, and sets it to 0. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status reader_add_atom(molecule_reader *r);

/* Columns [begin, end) of a line, counted from 0; fewer, or none, where the line is shorter. */
text_piece text_columns(text_piece line, size_t begin, size_t end);

/* A number of things: at most twelve digits and nothing else. */
bool text_count(text_piece word, int64_t *out);

/* A number in columns [begin, end), with blanks around it. `decimals`: it ends where its columns end and has so many
 * decimals, without an exponent, which shows that it is not shifted or cut; -1: any number. Errors: VF_ERR_INPUT,
 * naming line, columns and `what`. */
VF_MUST_CHECK vf_status reader_number(const molecule_reader *r, text_piece line, size_t begin, size_t end, int decimals,
                                      const char *what, double *out);

#endif
