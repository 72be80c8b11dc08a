#include "cif_words.h"

#include <string.h>
#include <strings.h>

cif_words cif_begin(text_piece text)
{
    return (cif_words){.begin = text.at, .next = text.at, .end = text.at + text.size, .line = 1};
}

static bool is_line_end(char c)
{
    return c == '\n' || c == '\r';
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\v' || c == '\f' || is_line_end(c);
}

/* Moves over one character; LF, CR LF and CR alone end a line. */
static void step(cif_words *from)
{
    const char c = *from->next++;
    if (c == '\n' || (c == '\r' && (from->next == from->end || *from->next != '\n')))
        from->line++;
}

static bool at_line_begin(const cif_words *from)
{
    return from->next == from->begin || is_line_end(from->next[-1]);
}

static void skip_blanks(cif_words *from)
{
    for (; from->next < from->end; step(from))
        if (*from->next == '#')
            while (from->next + 1 < from->end && !is_line_end(from->next[1]))
                from->next++;
        else if (!is_space(*from->next))
            return;
}

/* Where the text field that begins at `from` ends: at the first semicolon that begins a line. */
static const char *field_end(const char *from, const char *end)
{
    for (const char *p = from; (p = memchr(p, ';', (size_t)(end - p))) != NULL; p++)
        if (is_line_end(p[-1]))
            return p;
    return NULL;
}

/* The same by the first semicolon that ends a line, for want of a right end: pdb2pqr writes that of its last remark so. */
static const char *late_field_end(const char *from, const char *end)
{
    for (const char *p = from; (p = memchr(p, ';', (size_t)(end - p))) != NULL; p++)
        if (p + 1 < end && is_line_end(p[1]))
            return p;
    return NULL;
}

static void read_field(cif_words *from, cif_word *out)
{
    const char *text = ++from->next;
    const char *stop = field_end(text, from->end);
    out->quoted = true;
    if (!stop) {
        stop = late_field_end(text + (text < from->end && is_line_end(*text)), from->end);
        out->ends_early = stop != NULL;
    }
    if (!stop) {
        out->trouble = "begins a text field that has no end: a line that begins with ;";
        stop = from->end;
    }
    out->text = (text_piece){text, (size_t)(stop - text)};
    while (out->text.size > 0 && is_line_end(out->text.at[out->text.size - 1]))
        out->text.size--;
    while (from->next < stop)
        step(from);
    from->next += stop < from->end;
}

/* A quote ends a text only before a blank: 'a dog's life' is one. */
static void read_quoted(cif_words *from, cif_word *out)
{
    const char quote = *from->next, *text = from->next + 1, *p = text;
    while (p < from->end && !is_line_end(*p) && !(*p == quote && (p + 1 == from->end || is_space(p[1]))))
        p++;
    const bool closed = p < from->end && *p == quote;
    out->text = (text_piece){text, (size_t)(p - text)};
    out->quoted = true;
    if (!closed)
        out->trouble = "begins with a quote that is not closed on its line";
    from->next = p + closed;
}

static bool begins(text_piece text, const char *start)
{
    return text.size >= strlen(start) && strncasecmp(text.at, start, strlen(start)) == 0;
}

static cif_kind kind_of(text_piece text)
{
    if (*text.at == '_')
        return CIF_TAG;
    if (begins(text, "data_"))
        return CIF_DATA;
    if (begins(text, "save_"))
        return CIF_SAVE;
    if (cif_same_text(text, "loop_"))
        return CIF_LOOP;
    return cif_same_text(text, "global_") || cif_same_text(text, "stop_") ? CIF_OTHER : CIF_VALUE;
}

cif_word cif_next(cif_words *from)
{
    skip_blanks(from);
    cif_word word = {.kind = CIF_VALUE, .line = from->line, .text = {from->next, 0}};
    if (from->next == from->end)
        word.kind = CIF_END;
    else if (*from->next == ';' && at_line_begin(from))
        read_field(from, &word);
    else if (*from->next == '\'' || *from->next == '"')
        read_quoted(from, &word);
    else {
        const char *p = from->next;
        while (p < from->end && !is_space(*p))
            p++;
        word.text.size = (size_t)(p - from->next);
        word.kind = kind_of(word.text);
        from->next = p;
    }
    return word;
}

bool cif_same_text(text_piece text, const char *other)
{
    return text.size == strlen(other) && strncasecmp(text.at, other, text.size) == 0;
}

bool is_cif(text_piece text)
{
    cif_words words = cif_begin(text);
    const cif_word first = cif_next(&words);
    if (first.kind == CIF_TAG) /* a tag with a value after it: "_cell.length_a 10" */
        return memchr(first.text.at, '.', first.text.size) != NULL || begins(first.text, "_atom_site_") ||
               begins(first.text, "_cell_");
    return first.kind == CIF_DATA || first.kind == CIF_LOOP;
}
