/* What kind of line a line of a PQR or PDB file is, by its first word. */
#ifndef CIONIZE_PQR_LINES_H
#define CIONIZE_PQR_LINES_H

#include "text/text_words.h"

/* The length of ATOM or HETATM at the start of a record's first word; 0 if it is neither. What follows without a blank
 * must be a serial number: digits, hexadecimal, hybrid-36 (A0000), or the asterisks of an overflow. "ATOMS" is no
 * record. */
size_t pqr_record_name(text_piece word);

typedef enum pqr_kind {
    PQR_BLANK,     /* nothing, or a comment */
    PQR_ATOM,      /* ATOM or HETATM, perhaps with the serial number glued on */
    PQR_ATOM_CASE, /* the same, but not in capitals: an atom only if it can be read as one */
    PQR_REMARK,
    PQR_MODEL,
    PQR_ENDMDL,
    PQR_END,
    PQR_OTHER,    /* a known record without atoms */
    PQR_PDB_ONLY, /* the same, of a kind that programs write into PDB files but hardly into PQR files */
    PQR_MMCIF,
    PQR_UNKNOWN
} pqr_kind;
pqr_kind pqr_line_kind(text_piece line);

#endif
