/* The arrays of a molecule while it is read, and the texts of its labels. Private to the readers of molecules. */
#ifndef CIONIZE_MOLECULE_ARRAYS_H
#define CIONIZE_MOLECULE_ARRAYS_H

#include "molecule.h"
#include "text/text_words.h"

/* Gives every array room for `capacity` atoms, >= 1: more than before, or fewer. False if there is no memory; what the
 * arrays hold is kept. */
bool molecule_resize(molecule *m, int64_t capacity);

/* Puts atom `i` in its place and widens the bounds; atoms are placed in order from 0. */
void molecule_place(molecule *m, int64_t i, const double xyz[3]);

/* Neumaier's compensated sum: the total of many charges is as good as the charges. `rest` begins with 0 and is added to
 * the total in the end. */
void molecule_add_charge(molecule *m, double charge, double *rest);

/* The text without the blanks around it. */
text_piece label_trim(text_piece text);

/* Copies a name without the blanks around it into a label. Of names longer than eight characters, which no program
 * known writes, the first eight. What is not printable ASCII becomes '?'. */
enum { LABEL_SIZE = 9 };
void label_copy(text_piece text, char out[LABEL_SIZE]);

/* The symbol of an element: "NA" becomes "Na"; empty if the text is none. */
void label_element(text_piece text, char out[3]);

/* A residue's number: decimal, or of four columns in hybrid-36 (A000 is 10,000, a000 is 1,223,056). False for all
 * else. */
bool label_number(text_piece text, int32_t *out);

/* The same with an insertion code behind it, a letter. */
bool label_number_and_code(text_piece text, int32_t *number, char *code);

#endif
