/* The words of CIF files (Hall, Allen and Brown, Acta Cryst. A47 (1991) 655; CIF 1.1), of which mmCIF and the CIF of small
 * molecules are kinds. */
#ifndef CIONIZE_CIF_WORDS_H
#define CIONIZE_CIF_WORDS_H

#include <stdint.h>

#include "text_words.h"

typedef enum cif_kind {
    CIF_END,   /* of the text */
    CIF_VALUE, /* a word, a quoted text, or a text field between lines that begin with ; */
    CIF_TAG,   /* _category.item */
    CIF_LOOP,
    CIF_DATA, /* data_NAME: a block begins */
    CIF_SAVE, /* save_NAME, and save_ at its end */
    CIF_OTHER /* global_ or stop_, which no such file has */
} cif_kind;

typedef struct cif_word {
    text_piece text;     /* without quotes; of a text field the lines between the semicolons */
    int64_t line;        /* from 1 */
    const char *trouble; /* NULL, or why the word is damaged: "begins with a quote that is not closed" */
    cif_kind kind;
    bool quoted;     /* or a text field: then ? and . are texts */
    bool ends_early; /* a text field whose end is a semicolon at the end of a line (pdb2pqr) */
} cif_word;

/* Where a reader is. */
typedef struct cif_words {
    const char *begin, *next, *end;
    int64_t line; /* of `next`, from 1 */
} cif_words;

cif_words cif_begin(text_piece text);

/* The next word; comments and blanks are skipped. */
cif_word cif_next(cif_words *from);

/* Whether a value is stated: neither ? nor a point, nor empty. */
static inline bool cif_is_stated(const cif_word *word)
{
    return word->text.size > 0 &&
           (word->quoted || word->text.size > 1 || (*word->text.at != '?' && *word->text.at != '.'));
}

/* Whether two texts are equal but for the case of ASCII letters. */
bool cif_same_text(text_piece text, const char *other);

/* Whether the text is a CIF: its first word is data_NAME, loop_ or a tag. */
bool is_cif(text_piece text);

#endif
