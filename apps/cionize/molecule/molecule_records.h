/* What PDB and PQR files say beside their atoms, during reading. Private to the readers of molecules, but for
 * records_drop. */
#ifndef CIONIZE_MOLECULE_RECORDS_H
#define CIONIZE_MOLECULE_RECORDS_H

#include "molecule.h"
#include "text/text_words.h"

/* Collects pieces of the text, which must stay in memory. All zero: nothing. */
typedef struct record_pieces {
    text_piece *line; /* [lines] */
    int64_t lines, line_room;
    text_piece *bond; /* [bonds] lines of CONECT */
    int64_t *bond_line;
    int64_t bonds, bond_room;
    uint64_t *serial; /* [serials] of each atom, its text */
    int64_t serials, serial_room;
    bool wide; /* a serial number has more than five characters */
    bool full; /* memory was not enough */
    /* Where the molecule ends, and what is not read. */
    bool stopped, ended; /* after END or the first model; after END, which CONECT does not follow */
    int64_t models, atoms_after_end, end_line;
    int64_t unknown, first_unknown; /* lines of unknown kind */
    char unknown_word[TEXT_QUOTE_SIZE];
} record_pieces;
void record_pieces_free(record_pieces *pieces);

/* Keeps a line if it is a record about the structure; CONECT is one, MODEL, TER and comments of cionize are not. */
void records_take_line(record_pieces *pieces, text_piece line, int64_t number);

/* Only CONECT, which may follow the model that is read. */
void records_take_bond(record_pieces *pieces, text_piece line, int64_t number);

/* A record MODEL: the first gives the molecule its number, the second ends it. */
void records_take_model(record_pieces *pieces, text_piece line, int64_t number, molecule *out);
/* A record END, or ENDMDL. Later atoms are only counted. */
void records_take_end(record_pieces *pieces, int64_t number, bool end);
/* A line of unknown kind. */
void records_take_unknown(record_pieces *pieces, text_piece line, int64_t number);
/* Warns of what was not read of a file of this format, "PDB". */
void records_warn(vf_context *ctx, const char *name, const char *format, const record_pieces *pieces);

/* Keeps the serial number of the next atom. */
void records_take_serial(record_pieces *pieces, text_piece serial);

/* Fills out->records.lines and the bonds, when all atoms are there. Serial numbers of CONECT are compared as texts, so
 * any way of counting beyond 99,999 will do. Warns, once, of those that no atom has, or several. Errors:
 * VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status records_finish(vf_context *ctx, const char *name, const record_pieces *pieces, molecule *out);

/* Whether a line is the record `name`, such as "CRYST1" or, with any number after it, "SCALE". */
bool record_is(text_piece line, const char *name);

/* Removes the records of this name from the lines: for one who changes what they say. */
void records_drop(molecule_records *records, const char *name);

#endif
