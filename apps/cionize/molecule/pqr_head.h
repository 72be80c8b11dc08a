/* The words before the numbers of a PQR record. Private to the PQR reader. */
#ifndef CIONIZE_PQR_HEAD_H
#define CIONIZE_PQR_HEAD_H

#include "pqr_fields.h"

bool pqr_is_integer(text_piece text);

/* A residue number: an integer, perhaps with an insertion code. */
bool pqr_is_residue_number(text_piece text);

/* Four columns of hybrid-36 or hexadecimal ("A000"), or of asterisks. */
bool pqr_is_overflowed_number(text_piece text);

typedef enum pqr_head {
    PQR_HEAD_OK,
    PQR_HEAD_COUNT,   /* too few words, or too many */
    PQR_HEAD_RESIDUE, /* the last word is no residue number */
    PQR_HEAD_NUMBER,  /* a word is a number with a decimal point */
    PQR_HEAD_SHIFTED, /* consistent, but so it would be with the residue number as x */
    PQR_HEAD_CUT      /* a coordinate lost its decimal point to its column */
} pqr_head;

/* Whether `count` words can be what stands before x: record, serial, name, resName, [chain], resSeq, [iCode], some of
 * them perhaps glued together. `xyz` are the numbers that follow. Sets the name and the reading of `out`. */
pqr_head pqr_check_head(const text_piece *word, int count, const text_number *xyz, locale_t c_locale, pqr_atom *out);

/* What such words call the atom, after pqr_check_head. Where glued names do not show how they divide, the columns of
 * PDB files say it: four for the name, four for the residue, one for the chain, four for the residue's number. A
 * residue number that is none, or is too large, is 0. */
void pqr_label_words(text_piece line, const text_piece *word, int count, atom_label *out);

/* The same out of the columns of a record: where the name begins, where the residue's number does, and where its
 * insertion code is, from 0. */
void pqr_label_columns(text_piece line, size_t name, size_t number, size_t code, atom_label *out);

#endif
