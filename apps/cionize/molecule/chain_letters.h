/* Chains of two letters in PDB files. Private to the readers of molecules. */
#ifndef CIONIZE_CHAIN_LETTERS_H
#define CIONIZE_CHAIN_LETTERS_H

#include "molecule.h"
#include "text/text_words.h"

/* Columns 18 to 22 of an atom's record: the residue name, three columns wide, and the chain, or a name of four. */
typedef struct chain_columns {
    char text[5];
} chain_columns;
void chain_columns_take(text_piece text, chain_columns *out);

/* Column 21 has the fourth letter of a residue name (TIP3), or the first letter of a chain of two, as gemmi and other
 * programs write them for large structures. Moves it to the chain where it must be one: where a stretch of atoms has the same letter there,
 * whatever the residues, and at least one of these is an amino acid, a nucleotide or a water without the letter. A stretch
 * of one kind of residue is not enough (LYSH, ALAD), unless it is HOH. */
void split_chain_letters(atom_label *labels, const chain_columns *columns, int64_t atoms);

#endif
