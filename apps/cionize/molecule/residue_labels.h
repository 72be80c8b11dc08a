/* Residue numbers from the labels that files have in their place. Private to the readers of molecules. */
#ifndef CIONIZE_RESIDUE_LABELS_H
#define CIONIZE_RESIDUE_LABELS_H

#include "molecule.h"
#include "text/text_words.h"

/* Keeps the text of a residue number, and of the insertion code after it (' ' or 0: none), in a label. A number
 * that is longer than number_text and fits 32 bits is stored as such. */
void label_keep_number(text_piece number, char code, atom_label *label);

/* Whether a word can be a residue's label: a number with or without an insertion code, hexadecimal, hybrid-36, or
 * asterisks. */
bool label_is_plausible(text_piece word);

/* Turns the texts that label_keep_number kept into numbers. A label in four columns or in a word can be read in up to
 * three ways: decimal (also five digits of which the last is in the column of the insertion code), hexadecimal (VMD and
 * psfgen above 9,999: 2710 is 10,000), or hybrid-36 (A000 is 10,000). The labels before and after it decide
 * (residue_labels.c). A text that is none of these stays in number_text. `words`: the insertion code may be part of
 * the text.
 *
 * Returns whether all labels were plain decimal numbers that never fall within a chain. */
bool label_resolve_numbers(atom_label *labels, int64_t atoms, bool words);

#endif
