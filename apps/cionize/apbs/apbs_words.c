/* Words and numbers of APBS's input files. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "apbs_reader.h"
#include "voxfield/parse.h"

static bool is_blank(char c)
{
    return c != '\0' && strchr(" \t\v\f\r\n=,;", c);
}

static void skip_blanks(apbs_reader *r)
{
    for (; r->next < r->end; r->next++) {
        if (*r->next == '#' || *r->next == '%')
            while (r->next < r->end && *r->next != '\n' && *r->next != '\r')
                r->next++;
        if (r->next == r->end || !is_blank(*r->next))
            return;
        /* CR LF is one line end */
        r->next_line += *r->next == '\n' || (*r->next == '\r' && !(r->next + 1 < r->end && r->next[1] == '\n')) ? 1 : 0;
    }
}

static void take_quoted(apbs_reader *r)
{
    const char *begin = ++r->next;
    while (r->next < r->end && *r->next != '"' && *r->next != '\n' && *r->next != '\r')
        r->next++;
    r->word = (text_piece){begin, (size_t)(r->next - begin)};
    r->open_quote = r->next == r->end || *r->next != '"';
    r->next += !r->open_quote;
}

void apbs_next(apbs_reader *r)
{
    skip_blanks(r);
    const char *begin = r->next;
    r->line = r->next_line;
    r->open_quote = false;
    r->at_end = begin == r->end;
    if (!r->at_end && *begin == '"') {
        take_quoted(r);
        return;
    }
    while (r->next < r->end && !is_blank(*r->next) && *r->next != '#' && *r->next != '%')
        r->next++;
    r->word = (text_piece){begin, (size_t)(r->next - begin)};
}

bool apbs_at(const apbs_reader *r, const char *word)
{
    return !r->at_end && r->word.size == strlen(word) && strncasecmp(r->word.at, word, r->word.size) == 0;
}

vf_status apbs_fail(const apbs_reader *r, vf_status status, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return vf_fail(r->ctx, status, "%s:%" PRId64 ": %s", r->name, r->line, text);
}

static vf_status take_argument(apbs_reader *r, const char *keyword, const char *expected)
{
    apbs_next(r);
    if (r->at_end)
        return apbs_fail(r, VF_ERR_INPUT, "%s: the file ends where %s is expected; it may be cut off", keyword,
                         expected);
    if (r->open_quote)
        return apbs_fail(r, VF_ERR_INPUT, "%s: a quote is not closed in this line; add one (\")", keyword);
    return VF_OK;
}

enum { NUMBER_SIZE = 64 };

/* The text of a number; "" if it is longer than any. */
static vf_status take_number(apbs_reader *r, const char *keyword, const char *expected, char text[NUMBER_SIZE])
{
    const vf_status status = take_argument(r, keyword, expected);
    memset(text, 0, NUMBER_SIZE);
    if (status == VF_OK && r->word.size < NUMBER_SIZE)
        memcpy(text, r->word.at, r->word.size);
    return status;
}

vf_status apbs_number(apbs_reader *r, const char *keyword, double least, double most, double *value)
{
    char text[NUMBER_SIZE], quoted[TEXT_QUOTE_SIZE];
    const vf_status status = take_number(r, keyword, "a number", text);
    if (status != VF_OK)
        return status;
    if (!vf_parse_doubles(text, 1, 1, value))
        return apbs_fail(r, VF_ERR_INPUT, "%s: '%s' is not a number", keyword, text_quote(r->word, quoted));
    if (!(*value >= least && *value <= most))
        return apbs_fail(r, VF_ERR_INPUT, "%s: %s is out of range; expected %g to %g", keyword,
                         text_quote(r->word, quoted), least, most);
    return VF_OK;
}

vf_status apbs_integer(apbs_reader *r, const char *keyword, int64_t least, int64_t most, int64_t *value)
{
    char text[NUMBER_SIZE], quoted[TEXT_QUOTE_SIZE];
    const vf_status status = take_number(r, keyword, "an integer", text);
    if (status != VF_OK)
        return status;
    if (!vf_parse_integers(text, 1, 1, value) || *value < least || *value > most)
        return apbs_fail(r, VF_ERR_INPUT, "%s: '%s' is not an integer from %" PRId64 " to %" PRId64, keyword,
                         text_quote(r->word, quoted), least, most);
    return VF_OK;
}

vf_status apbs_text(apbs_reader *r, const char *keyword, char **text)
{
    const vf_status status = take_argument(r, keyword, "a name");
    if (status != VF_OK)
        return status;
    if (r->word.size == 0)
        return apbs_fail(r, VF_ERR_INPUT, "%s: the name is empty; put one between the quotes", keyword);
    for (size_t i = 0; i < r->word.size; i++)
        if ((unsigned char)r->word.at[i] < ' ' || r->word.at[i] == 0x7f)
            return apbs_fail(r, VF_ERR_INPUT, "%s: the name contains a control character", keyword);
    *text = malloc(r->word.size + 1);
    if (!*text)
        return vf_fail(r->ctx, VF_ERR_MEMORY, "%s: no memory for a name", r->name);
    memcpy(*text, r->word.at, r->word.size);
    (*text)[r->word.size] = '\0';
    return VF_OK;
}

void apbs_say_once(apbs_reader *r, const char *what, const char *reason)
{
    for (int n = 0; n < r->said_count; n++)
        if (r->said[n] == reason)
            return;
    if (r->said_count < APBS_MOST_SAID)
        r->said[r->said_count++] = reason;
    vf_note(r->ctx, "%s:%" PRId64 ": note: %s %s", r->name, r->line, what, reason);
}

void *apbs_grow(apbs_reader *r, void *array, int64_t count, size_t size)
{
    if (count > 0 && (count & (count - 1)) != 0) /* the room is the next power of two */
        return array;
    void *larger = realloc(array, (count > 0 ? 2 * (size_t)count : 1) * size);
    if (!larger)
        (void)!vf_fail(r->ctx, VF_ERR_MEMORY, "%s: no memory for %" PRId64 " entries", r->name, count + 1);
    return larger;
}
