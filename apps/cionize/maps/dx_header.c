/* Reads OpenDX files word by word, with gunzip if compressed. The file is never in memory as a whole. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "dx_reader.h"
#include "text/text_words.h"
#include "voxfield/timer.h"

enum {
    MOST_DEFLATE = 1032, /* maximum bytes of text in a byte of gzip */
    MOST_ID_WORDS = 16
};

vf_status dx_fail(const dx_reader *r, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return vf_fail(r->ctx, VF_ERR_INPUT, "%s:%lld: %s", r->map->path, (long long)r->line, text);
}

/* ---- words ---- */

static inline bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Moves the unread bytes to the front and fills the buffer. */
static vf_status refill(dx_reader *r)
{
    const size_t kept = (size_t)(r->end - r->next);
    size_t got;
    if (kept == DX_BUFFER_BYTES)
        return dx_fail(r, "the line is too long; is this a binary file?");
    memmove(r->buffer, r->next, kept);
    r->next = r->buffer;
    r->end = r->buffer + kept;
    vf_status status = gzip_input_read(r->ctx, r->map->path, r->file, r->buffer + kept, DX_BUFFER_BYTES - kept, &got);
    r->end += got;
    r->last = got == 0;
    return status;
}

vf_status dx_next_word(dx_reader *r, text_piece *word)
{
    for (;;) {
        const char *p = r->next, *end = r->end;
        for (; p < end && is_space(*p); p++)
            r->line += *p == '\n';
        r->next = p;
        while (p < end && !is_space(*p))
            p++;
        if (p < end || r->last) {
            *word = (text_piece){r->next, (size_t)(p - r->next)};
            r->next = p;
            return VF_OK;
        }
        vf_status status = refill(r);
        if (status != VF_OK)
            return status;
    }
}

vf_status dx_rest_of_line(dx_reader *r, text_piece *rest)
{
    const char *stop;
    while (!(stop = memchr(r->next, '\n', (size_t)(r->end - r->next))) && !r->last) {
        vf_status status = refill(r);
        if (status != VF_OK)
            return status;
    }
    stop = stop ? stop : r->end;
    *rest = (text_piece){r->next, (size_t)(stop - r->next)};
    r->next = stop;
    return VF_OK;
}

bool dx_is(text_piece word, const char *text)
{
    return word.size == strlen(text) && memcmp(word.at, text, word.size) == 0;
}

/* GridDataFormats puts the type in quotation marks. */
static text_piece unquoted(text_piece word)
{
    if (word.size >= 2 && *word.at == '"' && word.at[word.size - 1] == '"')
        return (text_piece){word.at + 1, word.size - 2};
    return word;
}

/* ---- the header ---- */

/* Reads comments of cionize: "# electrostatic potential in kT/e" in the first line, and the map's constants in
 * others. */
static vf_status read_comment(dx_reader *r, text_piece word)
{
    text_piece rest, named;
    int64_t ions;
    r->next = word.at + 1; /* "#electrostatic" is also a comment */
    vf_status status = dx_rest_of_line(r, &rest);
    if (status != VF_OK)
        return status;
    while (rest.size > 0 && is_space(*rest.at))
        rest.at++, rest.size--;
    while (rest.size > 0 && is_space(rest.at[rest.size - 1])) /* CR */
        rest.size--;
    const char *other = map_no_potential(rest);
    if (other)
        return dx_fail(r, "this is %s; use a map of the potential", other);
    if (*r->map->unit)
        map_constants(rest, r->c_locale, r->map);
    if (*r->map->unit || !map_potential(rest, &ions, &named) || named.size <= 4 || memcmp(named.at, " in ", 4) != 0)
        return VF_OK;
    const char *p = named.at + 4;
    const text_piece unit = text_next_word(&p, named.at + named.size);
    if (unit.size >= sizeof r->map->unit)
        return dx_fail(r, "the unit in the comment is too long (%zu characters)", unit.size);
    if (!map_is_printable(unit))
        return dx_fail(r, "the unit in the comment has characters that are not printable ASCII");
    memcpy(r->map->unit, unit.at, unit.size);
    r->map->ions = ions;
    return VF_OK;
}

/* The next word outside comments; `what`: what is missing if the file ends here. */
static vf_status header_word(dx_reader *r, const char *what, text_piece *word)
{
    for (;;) {
        vf_status status = dx_next_word(r, word);
        if (status != VF_OK)
            return status;
        if (word->size == 0)
            return dx_fail(r, "the file ends before %s; it is incomplete: copy or write it again", what);
        if (*word->at != '#')
            return VF_OK;
        status = read_comment(r, *word);
        if (status != VF_OK)
            return status;
    }
}

static vf_status expect_word(dx_reader *r, const char *expected)
{
    text_piece word;
    char text[TEXT_QUOTE_SIZE];
    vf_status status = header_word(r, expected, &word);
    if (status == VF_OK && !dx_is(word, expected))
        return dx_fail(r, "found '%s' instead of '%s'; this form of OpenDX is not supported", text_quote(word, text),
                       expected);
    return status;
}

static vf_status read_number(dx_reader *r, const char *what, text_number *number)
{
    text_piece word;
    char text[TEXT_QUOTE_SIZE];
    vf_status status = header_word(r, what, &word);
    if (status == VF_OK && !text_read_number(word, r->c_locale, number))
        return dx_fail(r, "%s: '%s' %s", what, text_quote(word, text), text_number_trouble(word));
    return status;
}

/* An integer of at least `least`, which is 0 or 1. */
static vf_status read_whole(dx_reader *r, const char *what, int64_t least, int64_t *value)
{
    text_number number;
    vf_status status = read_number(r, what, &number);
    if (status != VF_OK)
        return status;
    if (!(number.value >= (double)least && number.value <= 0x1p53) || number.value != floor(number.value))
        return dx_fail(r, "%s: %.17g is not an integer of %lld or more", what, number.value, (long long)least);
    *value = (int64_t)number.value;
    return VF_OK;
}

static vf_status read_counts(dx_reader *r, int64_t counts[3])
{
    vf_status status = expect_word(r, "counts");
    for (int a = 0; a < 3 && status == VF_OK; a++)
        status = read_whole(r, "counts", 1, &counts[a]);
    return status;
}

static double half_a_unit(const text_number *number)
{
    return 0.5 * pow(10, -number->decimals);
}

static vf_status read_origin(dx_reader *r)
{
    vf_status status = VF_OK;
    for (int a = 0; a < 3 && status == VF_OK; a++) {
        text_number number = {0};
        status = read_number(r, "origin", &number);
        r->map->grid.origin[a] = number.value;
        r->map->origin_slack[a] = half_a_unit(&number);
    }
    r->origin = true;
    return status;
}

static vf_status read_delta(dx_reader *r)
{
    const int axis = r->deltas++;
    if (axis == 3)
        return dx_fail(r, "there is a fourth delta; a map has three");
    for (int a = 0; a < 3; a++) {
        text_number number = {0};
        vf_status status = read_number(r, "delta", &number);
        if (status != VF_OK)
            return status;
        if (a == axis) {
            r->map->grid.spacing[a] = number.value;
            r->map->spacing_slack[a] = half_a_unit(&number);
        } else if (number.value != 0) {
            return dx_fail(
                r, "delta %d has a component along %c; only maps with axes along x, y, z, in this order, are supported",
                axis + 1, "xyz"[a]);
        }
    }
    if (!(r->map->grid.spacing[axis] > 0))
        return dx_fail(r, "delta %d is %g; steps must be positive", axis + 1, r->map->grid.spacing[axis]);
    return VF_OK;
}

static vf_status read_type(dx_reader *r)
{
    text_piece word;
    char text[TEXT_QUOTE_SIZE];
    vf_status status = header_word(r, "type", &word);
    if (status != VF_OK)
        return status;
    word = unquoted(word);
    if (!dx_is(word, "float") && !dx_is(word, "double"))
        return dx_fail(r, "unsupported type of values '%s'; expected float or double", text_quote(word, text));
    r->map->type = dx_is(word, "float") ? VF_F32 : VF_F64;
    return VF_OK;
}

/* "type double rank 0 items N data follows", after "class array". */
static vf_status read_array(dx_reader *r)
{
    char text[TEXT_QUOTE_SIZE];
    text_piece word;
    int64_t rank = 0;
    vf_status status = VF_OK;
    r->map->type = VF_F32; /* the default of OpenDX */
    while ((status = header_word(r, "data follows", &word)) == VF_OK) {
        if (dx_is(word, "data"))
            break;
        if (dx_is(word, "type"))
            status = read_type(r);
        else if (dx_is(word, "rank"))
            status = read_whole(r, "rank", 0, &rank);
        else if (dx_is(word, "items"))
            status = read_whole(r, "items", 1, &r->items);
        else if (dx_is(word, "lsb") || dx_is(word, "msb") || dx_is(word, "binary") || dx_is(word, "ieee") ||
                 dx_is(word, "xdr"))
            return dx_fail(r, "the values are binary (%s); write them as text", text_quote(word, text));
        else if (!dx_is(word, "text") && !dx_is(word, "ascii"))
            return dx_fail(r, "unexpected '%s' in an array; expected type, rank, items or 'data follows'",
                           text_quote(word, text));
        if (status != VF_OK)
            return status;
    }
    if (status == VF_OK)
        status = expect_word(r, "follows"); /* data in another file is not supported */
    if (status == VF_OK && rank != 0)
        return dx_fail(r, "the array has rank %lld; a potential has rank 0", (long long)rank);
    r->array = true;
    return status;
}

/* "1 class gridpositions ...", after "object". */
static vf_status read_object(dx_reader *r)
{
    char text[TEXT_QUOTE_SIZE];
    text_piece word;
    vf_status status = VF_OK;
    for (int n = 0; n < MOST_ID_WORDS; n++) {
        status = header_word(r, "class", &word);
        if (status != VF_OK || dx_is(word, "class"))
            break;
    }
    if (status == VF_OK)
        status = header_word(r, "the object's class", &word);
    if (status != VF_OK)
        return status;
    if (dx_is(word, "gridpositions")) {
        r->positions = true;
        return read_counts(r, r->map->grid.counts);
    }
    if (dx_is(word, "gridconnections"))
        return read_counts(r, r->connections);
    if (dx_is(word, "array"))
        return read_array(r);
    return dx_fail(r, "unsupported object class '%s'; expected gridpositions, gridconnections or array",
                   text_quote(word, text));
}

static vf_status check_header(dx_reader *r)
{
    const int64_t *n = r->map->grid.counts;
    if (!r->positions || !r->origin || r->deltas != 3)
        return dx_fail(r, "%s missing before the data",
                       !r->positions ? "'class gridpositions counts' is"
                       : !r->origin  ? "'origin' is"
                                     : "one or more of the three 'delta' lines are");
    if (r->connections[0] > 0 && memcmp(r->connections, n, sizeof r->connections) != 0)
        return dx_fail(r, "gridconnections has %lld x %lld x %lld points, and gridpositions %lld x %lld x %lld",
                       (long long)r->connections[0], (long long)r->connections[1], (long long)r->connections[2],
                       (long long)n[0], (long long)n[1], (long long)n[2]);
    if (!vf_grid_valid(&r->map->grid))
        return dx_fail(r, "invalid or too large grid of %lld x %lld x %lld points", (long long)n[0], (long long)n[1],
                       (long long)n[2]);
    if (r->items != vf_grid_points(&r->map->grid))
        return dx_fail(r, "the array has %lld item%s, but the grid has %lld x %lld x %lld = %lld points",
                       (long long)r->items, vf_plural(r->items), (long long)n[0], (long long)n[1], (long long)n[2],
                       (long long)vf_grid_points(&r->map->grid));
    /* Every value takes at least two bytes of text. This check stops a wrong header from allocating memory. */
    const double text = (double)r->file_bytes * (gzdirect(r->file) ? 1 : MOST_DEFLATE);
    if (r->file_bytes > 0 && (double)r->items > text / 2)
        return dx_fail(
            r,
            "the array should have %lld item%s, but a file of %zu bytes is too small for that; copy or write it again",
            (long long)r->items, vf_plural(r->items), r->file_bytes);
    return VF_OK;
}

vf_status dx_read_header(dx_reader *r)
{
    char text[TEXT_QUOTE_SIZE];
    text_piece word;
    while (!r->array) {
        vf_status status = header_word(r, "the data", &word);
        if (status != VF_OK)
            return status;
        if (dx_is(word, "object"))
            status = read_object(r);
        else if (dx_is(word, "origin"))
            status = read_origin(r);
        else if (dx_is(word, "delta"))
            status = read_delta(r);
        else if (dx_is(word, "attribute")) /* for example: "ref" string "positions" */
            status = dx_rest_of_line(r, &word);
        else
            status = dx_fail(r, "unexpected '%s' in an OpenDX header; is this another kind of file?",
                             text_quote(word, text));
        if (status != VF_OK)
            return status;
    }
    return check_header(r);
}
