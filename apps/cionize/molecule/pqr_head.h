/* The words before the numbers of a PQR record. Private to the PQR reader. */
#ifndef CIONIZE_PQR_HEAD_H
#define CIONIZE_PQR_HEAD_H

#include "pqr_fields.h"

bool pqr_is_integer(text_piece text);

/* An integer, optionally with an insertion code. */
bool pqr_is_residue_number(text_piece text);

/* Four columns of hybrid-36 or hexadecimal digits ("A000"), or of asterisks. */
bool pqr_is_overflowed_number(text_piece text);

typedef enum pqr_head {
    PQR_HEAD_OK,
    PQR_HEAD_COUNT,   /* too few or too many words */
    PQR_HEAD_RESIDUE, /* the last word is not a residue number */
    PQR_HEAD_NUMBER,  /* a word is a number with a decimal point */
    PQR_HEAD_SHIFTED, /* consistent, but also with the residue number as x */
    PQR_HEAD_CUT      /* a coordinate was cut and lost its decimal point */
} pqr_head;

/* Checks that `count` words can come before x: record, serial, name, resName, [chain], resSeq, [iCode], with some
 * possibly glued together. `xyz` are the numbers that follow. Sets the name and the reading of `out`. */
pqr_head pqr_check_head(const text_piece *word, int count, const text_number *xyz, locale_t c_locale, pqr_atom *out);

/* Labels the atom from these words, after pqr_check_head. Glued names are split by the columns of PDB files: four
 * for the name, four for the residue, one for the chain, four for the residue number, whose text is
 * kept (label_keep_number). */
void pqr_label_words(text_piece line, const text_piece *word, int count, atom_label *out);

/* The same from the columns of a record. Arguments: where the name, the residue number and its insertion code begin,
 * from 0. */
void pqr_label_columns(text_piece line, size_t name, size_t number, size_t code, atom_label *out);

/* Decides whether the letters that pqr_label_words took for alternate locations are such (pqr_alternates.c), and removes
 * them from the residue names. */
void pqr_settle_alternates(atom_label *labels, int64_t atoms);

#endif
