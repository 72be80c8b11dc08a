/* What the readers of sections share. Private to this folder. */
#ifndef CIONIZE_APBS_READER_H
#define CIONIZE_APBS_READER_H

#include "apbs_input.h"
#include "text/text_words.h"

enum { APBS_MOST_SAID = 64 };

typedef struct apbs_reader {
    vf_context *ctx;
    const char *name;
    const char *next, *end; /* the unread text */
    int64_t next_line;      /* of `next`, from 1 */
    text_piece word;        /* the current word; at the end of the text, empty */
    bool at_end, open_quote;
    int64_t line; /* of the word */
    apbs_input *out;
    const char *said[APBS_MOST_SAID]; /* reasons that notes have given */
    int said_count;
} apbs_reader;

/* Takes the next word. Words are parted by blanks, line ends and the signs = , ; a comment begins with # or % anywhere; a word in
 * double quotes may have them all, except line ends. A quote without its end: open_quote. */
void apbs_next(apbs_reader *r);

/* Whether the current word is this one, in any case; quoted words, too. */
bool apbs_at(const apbs_reader *r, const char *word);

/* Records an error at the line of the current word, and returns `status`. */
vf_status apbs_fail(const apbs_reader *r, vf_status status, const char *format, ...) VF_PRINTF(3, 4);

/* Takes the next word as an argument of `keyword`: a number in [least, most]; an integer; a copy of the text, which must not be empty
 * nor have control characters. */
VF_MUST_CHECK vf_status apbs_number(apbs_reader *r, const char *keyword, double least, double most, double *value);
VF_MUST_CHECK vf_status apbs_integer(apbs_reader *r, const char *keyword, int64_t least, int64_t most, int64_t *value);
VF_MUST_CHECK vf_status apbs_text(apbs_reader *r, const char *keyword, char **text);

/* A note that `what` at the current line is ignored or taken otherwise: once for each reason. */
void apbs_say_once(apbs_reader *r, const char *what, const char *reason);

/* Makes room for one more element of an array of `count`. NULL: no memory, which is recorded as an error; the array is as before. */
void *apbs_grow(apbs_reader *r, void *array, int64_t count, size_t size);

/* ---- apbs_elec.c ---- */

/* Reads an ELEC section, behind its first word, to its END. Errors: as read_apbs_input. */
VF_MUST_CHECK vf_status apbs_read_elec(apbs_reader *r);

/* Checks the numbers of molecules, when all are known. */
VF_MUST_CHECK vf_status apbs_check_elec(apbs_reader *r, const apbs_elec *elec);

#endif
