/* The kind of a line of a PQR or PDB file, from its first word. */
#ifndef CIONIZE_PQR_LINES_H
#define CIONIZE_PQR_LINES_H

#include "text/text_words.h"

/* The length of ATOM or HETATM at the start of a record's first word; 0: neither. Without a blank after it, a serial
 * number must follow: digits, hexadecimal, hybrid-36 (A0000), or the asterisks of an overflow. "ATOMS" is not a
 * record. */
size_t pqr_record_name(text_piece word);

typedef enum pqr_kind {
    PQR_BLANK,     /* empty, or a comment */
    PQR_ATOM,      /* ATOM or HETATM, with or without a glued serial number */
    PQR_ATOM_CASE, /* the same, not in capitals: an atom only if the record is valid */
    PQR_REMARK,
    PQR_MODEL,
    PQR_ENDMDL,
    PQR_END,
    PQR_OTHER,    /* a known record without atoms */
    PQR_PDB_ONLY, /* the same; programs write it into PDB files but rarely into PQR files */
    PQR_MMCIF,
    PQR_UNKNOWN
} pqr_kind;
pqr_kind pqr_line_kind(text_piece line);

#endif
