#include "text_words.h"

#include <string.h>

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\v' || c == '\f';
}

bool text_all_blank(text_piece text)
{
    for (size_t i = 0; i < text.size; i++)
        if (!is_blank(text.at[i]))
            return false;
    return true;
}

bool word_is(text_piece word, const char *text)
{
    return word.size == strlen(text) && memcmp(word.at, text, word.size) == 0;
}

bool text_take_prefix(text_piece *text, const char *prefix)
{
    const size_t size = strlen(prefix);
    if (text->size < size || memcmp(text->at, prefix, size) != 0)
        return false;
    *text = (text_piece){text->at + size, text->size - size};
    return true;
}

text_piece text_next_word(const char **p, const char *end)
{
    while (*p < end && is_blank(**p))
        ++*p;
    text_piece word = {*p, 0};
    while (*p < end && !is_blank(**p))
        ++*p;
    word.size = (size_t)(*p - word.at);
    return word;
}

void text_split(text_piece line, text_words *out)
{
    const char *p = line.at, *end = line.at + line.size;
    out->count = 0;
    out->more = false;
    for (text_piece word = text_next_word(&p, end); word.size > 0; word = text_next_word(&p, end)) {
        if (out->count == TEXT_MAX_WORDS) {
            out->more = true;
            return;
        }
        out->word[out->count++] = word;
    }
}

const char *text_quote(text_piece text, char out[TEXT_QUOTE_SIZE])
{
    size_t n = text.size < TEXT_QUOTE_SIZE - 4 ? text.size : TEXT_QUOTE_SIZE - 4;
    for (size_t i = 0; i < n; i++)
        out[i] = text.at[i] >= ' ' && text.at[i] <= '~' ? text.at[i] : '?';
    strcpy(out + n, n < text.size ? "..." : "");
    return out;
}
