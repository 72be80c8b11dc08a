/* Readers of files with part of a molecule: coordinates or charges, and the atoms' names. Private to the readers of
 * molecules. */
#ifndef CIONIZE_MOLECULE_READERS_H
#define CIONIZE_MOLECULE_READERS_H

#include "molecule_arrays.h"
#include "text/input_text.h"

/* The state of a reader. */
typedef struct molecule_reader {
    vf_context *ctx;
    const char *name; /* of the file, for messages */
    text_lines lines;
    locale_t c_locale;                   /* a locale with a decimal point */
    molecule *out;                       /* empty at first; the caller frees it, also after a failure */
    int64_t capacity;                    /* the allocated length of out's arrays */
    int64_t no_numbers, first_no_number; /* of reader_number_or: how many, and the line of the first */
    char no_number[TEXT_QUOTE_SIZE];     /* its text */
    bool plain_numbers; /* set by readers: residue numbers are plain decimals and do not fall within a chain */
    bool own_numbers;   /* set by readers of charges: residue numbers are the system's own, and no mere index */
} molecule_reader;

/* Each reads the whole text. Readers of coordinates set x, y, z, bounds and labels; readers of charges set charge,
 * radius and labels. Other values are 0. All set `dialect`. Errors: VF_ERR_INPUT, VF_ERR_MEMORY, VF_ERR_CANCELLED. */
VF_MUST_CHECK vf_status read_pdb(molecule_reader *r);
VF_MUST_CHECK vf_status read_gro(molecule_reader *r);
VF_MUST_CHECK vf_status read_inpcrd(molecule_reader *r);
VF_MUST_CHECK vf_status read_crd(molecule_reader *r);
VF_MUST_CHECK vf_status read_psf(molecule_reader *r);
VF_MUST_CHECK vf_status read_prmtop(molecule_reader *r);

/* mmCIF: read_mmcif reads coordinates, read_mmcif_with_charges a file that has charges, and perhaps radii, too;
 * read_mmcif_cell reads the cell and its symmetry alone. */
VF_MUST_CHECK vf_status read_mmcif(molecule_reader *r);
VF_MUST_CHECK vf_status read_mmcif_with_charges(molecule_reader *r);
VF_MUST_CHECK vf_status read_mmcif_cell(molecule_reader *r, text_piece text);

/* Warns if all charges are 0 or their sum is no integer; a note says that there are no radii. `name`: of their file. */
void say_of_charges(vf_context *ctx, const char *name, const molecule *m);
/* As read_molecule. */
VF_MUST_CHECK vf_status read_pqr_choosing(vf_context *ctx, const char *path, conformer_choice choice, molecule *out);

/* Whether the text is an AMBER coordinate file: a title, a line with the number of atoms, then coordinates. */
bool is_inpcrd(text_piece text, locale_t c_locale);

/* The next line. *more is false at the end of the text. Errors: VF_ERR_CANCELLED. */
VF_MUST_CHECK vf_status reader_next(molecule_reader *r, text_piece *line, bool *more);

/* Makes room for one more atom at out->atoms and sets it to 0. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status reader_add_atom(molecule_reader *r);

/* Fails if the text has asterisks in place of a number that was too large for its columns. */
VF_MUST_CHECK vf_status refuse_overflow(vf_context *ctx, const char *name, text_piece text);

/* An occupancy or a temperature factor: the number of a text that may be blank, or `otherwise`. Texts that are no numbers are
 * counted. */
float reader_number_or(molecule_reader *r, text_piece text, int64_t line, float otherwise);

/* Warns, once, of such texts. */
void reader_warn_of_numbers(const molecule_reader *r);

/* Columns [begin, end) of a line, from 0. Shorter or empty if the line is short. */
text_piece text_columns(text_piece line, size_t begin, size_t end);

/* A count: one to twelve digits and nothing else. */
bool text_count(text_piece word, int64_t *out);

/* A number in columns [begin, end), with blanks around it. `decimals` >= 0: the number must end in the last column and
 * have this many decimals and no exponent, which shows that it is neither shifted nor cut; -1: any number. Errors:
 * VF_ERR_INPUT, naming line, columns and `what`. */
VF_MUST_CHECK vf_status reader_number(const molecule_reader *r, text_piece line, size_t begin, size_t end, int decimals,
                                      const char *what, double *out);

#endif
