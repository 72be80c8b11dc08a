/* The arrays of a molecule during reading, and the texts of labels. Private to the readers of molecules. */
#ifndef CIONIZE_MOLECULE_ARRAYS_H
#define CIONIZE_MOLECULE_ARRAYS_H

#include "molecule.h"
#include "text/text_words.h"

/* Resizes all arrays to `capacity` >= 1 atoms and keeps their contents. False if memory is not enough. */
bool molecule_resize(molecule *m, int64_t capacity);

/* Stores the position of atom `i` and updates the bounds. Atoms come in order from 0. */
void molecule_place(molecule *m, int64_t i, const double xyz[3]);

/* Keeps the atoms whose keep[i] is set, in their order, and sets the bounds, the total charge and the bonds anew. If a TER follows
 * an atom that goes, it follows the last kept atom of the same chain. At least one atom must be kept. False if memory is not
 * enough; the molecule is then unchanged. */
bool molecule_keep(molecule *m, const bool *keep);

/* A molecule of its own with the atoms whose keep[i] is set, in their order; there may be none. The texts and records are those of
 * `from`. False if memory is not enough; *out is then empty. */
bool molecule_part(const molecule *from, const bool *keep, molecule *out);

/* Neumaier's compensated sum: the total of many charges is as accurate as the charges. `rest` starts at 0 and is
 * added to the total at the end. */
void molecule_add_charge(molecule *m, double charge, double *rest);

/* The text without surrounding blanks. */
text_piece label_trim(text_piece text);

/* Copies a name without surrounding blanks into a label. Longer names are cut to eight characters; no known program
 * writes any. Characters that are not printable ASCII become '?'. Returns whether the name was cut. */
enum { LABEL_SIZE = 9 };
bool label_copy(text_piece text, char out[LABEL_SIZE]);

/* Warns, once, if names were cut (atom_label.cut). `name`: of the file. */
void warn_of_cut_names(vf_context *ctx, const char *name, const molecule *m);

/* Formats an element symbol: "NA" becomes "Na"; empty if the text is not a symbol. */
void label_element(text_piece text, char out[3]);

/* A residue number: decimal, or hybrid-36 in four columns (A000 is 10,000, a000 is 1,223,056). False for anything
 * else. */
bool label_number(text_piece text, int32_t *out);

/* The same, followed by an insertion code (a letter) if there is one. */
bool label_number_and_code(text_piece text, int32_t *number, char *code);

#endif
