/* The words of text files with maps, with gunzip if compressed, and their values. The file is never in memory as a whole. */
#include "map_words.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "voxfield/timer.h"

enum {
    MOST_DEFLATE = 1032,   /* maximum bytes of text in a byte of gzip */
    SLAB_BYTES = 32 << 20, /* layers wait here to be reordered together */
    SLAB_LAYERS = 16       /* enough to write whole cache lines */
};

vf_status words_fail(const map_words *r, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return vf_fail(r->ctx, VF_ERR_INPUT, "%s:%lld: %s", r->map->path, (long long)r->line, text);
}

/* ---- words ---- */

/* Moves the unread bytes to the front and fills the buffer. */
static vf_status refill(map_words *r)
{
    const size_t kept = (size_t)(r->end - r->next);
    size_t got;
    if (kept == WORDS_BUFFER_BYTES)
        return words_fail(r, "the line is too long; is this a binary file?");
    memmove(r->buffer, r->next, kept);
    r->next = r->buffer;
    r->end = r->buffer + kept;
    vf_status status =
        gzip_input_read(r->ctx, r->map->path, r->file, r->buffer + kept, WORDS_BUFFER_BYTES - kept, &got);
    r->end += got;
    r->last = got == 0;
    return status;
}

vf_status words_next(map_words *r, text_piece *word)
{
    for (;;) {
        const char *p = r->next, *end = r->end;
        for (; p < end && words_is_space(*p); p++)
            r->line += *p == '\n';
        r->next = p;
        while (p < end && !words_is_space(*p))
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

vf_status words_rest_of_line(map_words *r, text_piece *rest)
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

bool words_end_values(text_piece word)
{
    return word_is(word, "attribute") || word_is(word, "object") || word_is(word, "component") || word_is(word, "end");
}

/* ---- values ---- */

/* Fails because value `v`, in the file's order, is missing or invalid. */
static vf_status refuse_value(const map_words *r, int64_t v, text_piece word, const char *trouble)
{
    const int64_t *n = r->map->grid.counts;
    char text[TEXT_QUOTE_SIZE];
    if (word.size == 0 || words_end_values(word))
        return words_fail(
            r, "the data end after %lld value%s instead of %lld; the file is incomplete: copy or write it again",
            (long long)v, vf_plural(v), (long long)r->items);
    return words_fail(r, "the value at grid point (%lld, %lld, %lld): '%s' %s", (long long)(v / (n[1] * n[2])),
                      (long long)(v / n[2] % n[1]), (long long)(v % n[2]), text_quote(word, text), trouble);
}

/* Reads the next `count` values, from value `first` of the file. */
static vf_status read_slab(map_words *r, int64_t first, int64_t count, void *slab)
{
    for (int64_t v = 0; v < count; v++) {
        text_piece word;
        text_number number;
        vf_status status = words_next(r, &word);
        if (status != VF_OK)
            return status;
        if (!text_read_number(word, r->c_locale, &number))
            return refuse_value(r, first + v, word, text_number_trouble(word));
        if (r->map->type == VF_F64)
            ((double *)slab)[v] = number.value;
        else
            ((float *)slab)[v] = (float)number.value;
        if (r->map->type == VF_F32 && !isfinite(((float *)slab)[v]))
            return refuse_value(r, first + v, word, "is out of range for the file's type, float");
    }
    return VF_OK;
}

/* Reorders [x][y][z] to [z][y][x]: `layers` layers along x, from layer `first`. */
static void turn_slab(const map_words *r, int64_t first, int64_t layers, const void *slab)
{
    const int64_t *n = r->map->grid.counts;
    for (int64_t j = 0; j < n[1]; j++)
        for (int64_t k = 0; k < n[2]; k++) {
            const int64_t to = (k * n[1] + j) * n[0] + first, from = j * n[2] + k;
            if (r->map->type == VF_F64)
                for (int64_t i = 0; i < layers; i++)
                    ((double *)r->map->values)[to + i] = ((const double *)slab)[from + i * n[1] * n[2]];
            else
                for (int64_t i = 0; i < layers; i++)
                    ((float *)r->map->values)[to + i] = ((const float *)slab)[from + i * n[1] * n[2]];
        }
}

vf_status words_read_values(map_words *r)
{
    const int64_t *n = r->map->grid.counts;
    const int64_t layer = n[1] * n[2], layer_bytes = layer * (int64_t)vf_dtype_bytes(r->map->type);
    int64_t thickness = SLAB_LAYERS < n[0] ? SLAB_LAYERS : n[0];
    while (thickness > 1 && thickness > SLAB_BYTES / layer_bytes)
        thickness /= 2;
    vf_status status = map_allocate(r->ctx, r->map);
    if (status != VF_OK)
        return status;
    void *slab = malloc((size_t)(thickness * layer_bytes));
    if (!slab)
        return vf_fail(r->ctx, VF_ERR_MEMORY, "%s: no memory for %lld bytes of the map", r->map->path,
                       (long long)(thickness * layer_bytes));
    for (int64_t first = 0; first < n[0] && status == VF_OK; first += thickness) {
        const int64_t layers = n[0] - first < thickness ? n[0] - first : thickness;
        status = read_slab(r, first * layer, layers * layer, slab);
        if (status == VF_OK)
            turn_slab(r, first, layers, slab);
    }
    free(slab);
    return status;
}

vf_status words_check_room(const map_words *r)
{
    /* Every value takes at least two bytes of text. This check stops a wrong header from allocating memory. */
    const double text = (double)r->file_bytes * (gzdirect(r->file) ? 1 : MOST_DEFLATE);
    if (r->file_bytes > 0 && (double)r->items > text / 2)
        return words_fail(
            r, "there should be %lld value%s, but a file of %zu bytes is too small for that; copy or write it again",
            (long long)r->items, vf_plural(r->items), r->file_bytes);
    return VF_OK;
}

vf_status words_open(vf_context *ctx, loaded_map *map, map_words *r)
{
    *r = (map_words){.ctx = ctx, .map = map, .line = 1};
    vf_status status = gzip_input_open(ctx, map->path, &r->file, &r->file_bytes);
    if (status != VF_OK)
        return status;
    r->buffer = malloc(WORDS_BUFFER_BYTES);
    r->c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    r->next = r->end = r->buffer;
    if (!r->buffer || !r->c_locale)
        return vf_fail(ctx, VF_ERR_MEMORY, "%s: no memory to read the map", map->path);
    status = refill(r);
    if (r->end - r->next >= 3 && memcmp(r->next, "\xef\xbb\xbf", 3) == 0) /* a byte order mark */
        r->next += 3;
    return status;
}

vf_status words_close(map_words *r, vf_status status)
{
    const int closed = r->file ? gzclose_r(r->file) : Z_OK;
    if (status == VF_OK && closed != Z_OK)
        status = vf_fail(r->ctx, VF_ERR_INPUT, "%s: the gzip file is incomplete; copy it again", r->map->path);
    if (r->c_locale)
        freelocale(r->c_locale);
    free(r->buffer);
    return status;
}
