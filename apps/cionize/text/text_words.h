/* Words of a line, for all readers of text files. */
#ifndef CIONIZE_TEXT_WORDS_H
#define CIONIZE_TEXT_WORDS_H

#include "text_number.h"

static inline bool text_is_letter(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

bool text_all_blank(text_piece text);

/* Whether a word is this text. */
bool word_is(text_piece word, const char *text);

/* Whether `text` begins with `prefix`; removes it. */
bool text_take_prefix(text_piece *text, const char *prefix);

/* The next blank-separated word of [*p, end), empty if there is none. *p moves behind it. */
text_piece text_next_word(const char **p, const char *end);

/* The words of a line; `more`: there are more than TEXT_MAX_WORDS. */
enum { TEXT_MAX_WORDS = 16 };
typedef struct text_words {
    text_piece word[TEXT_MAX_WORDS];
    int count;
    bool more;
} text_words;
void text_split(text_piece line, text_words *out);

/* Copies a piece of the file for a message: shortened, without control characters. Returns `out`. */
enum { TEXT_QUOTE_SIZE = 40 };
const char *text_quote(text_piece text, char out[TEXT_QUOTE_SIZE]);

#endif
