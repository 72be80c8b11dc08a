/* The words of a PQR file's lines, and what kind of line each is. Private to the PQR reader. */
#ifndef CIONIZE_PQR_WORDS_H
#define CIONIZE_PQR_WORDS_H

#include "pqr_number.h"

static inline bool pqr_is_letter(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

bool pqr_all_blank(pqr_text text);

/* The next blank-separated word of [*p, end), empty if there is none; *p moves behind it. */
pqr_text pqr_next_word(const char **p, const char *end);

/* The words of a line; `more` if there are more than PQR_MAX_WORDS. */
enum { PQR_MAX_WORDS = 16 };
typedef struct pqr_words {
    pqr_text word[PQR_MAX_WORDS];
    int count;
    bool more;
} pqr_words;
void pqr_split(pqr_text line, pqr_words *out);

/* Copies a piece of the file for a message: shortened, and without bytes that a terminal would act on. Returns `out`.
 */
enum { PQR_QUOTE_SIZE = 40 };
const char *pqr_quote(pqr_text text, char out[PQR_QUOTE_SIZE]);

/* The length of ATOM or HETATM at the start of a record's first word; 0 if it is neither. What follows without a blank
 * must be a serial number: digits, hexadecimal, hybrid-36 (A0000), or the asterisks of an overflow. "ATOMS" is no
 * record. */
size_t pqr_record_name(pqr_text word);

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
pqr_kind pqr_line_kind(pqr_text line);

#endif
