/* Reads OpenDX maps of cionize and of other programs (docs/formats.md). */
#include <math.h>
#include <stdlib.h>

#include "dx_reader.h"
#include "text/text_words.h"
#include "voxfield/timer.h"

enum {
    SLAB_BYTES = 32 << 20, /* layers wait here to be reordered together */
    SLAB_LAYERS = 16       /* enough to write whole cache lines */
};

/* ---- values ---- */

static bool in_footer(text_piece word)
{
    return dx_is(word, "attribute") || dx_is(word, "object") || dx_is(word, "component") || dx_is(word, "end");
}

/* Fails because value `v`, in the file's order, is missing or invalid. */
static vf_status refuse_value(const dx_reader *r, int64_t v, text_piece word, const char *trouble)
{
    const int64_t *n = r->map->grid.counts;
    char text[TEXT_QUOTE_SIZE];
    if (word.size == 0 || in_footer(word))
        return dx_fail(
            r, "the data end after %lld value%s instead of %lld; the file is incomplete: copy or write it again",
            (long long)v, vf_plural(v), (long long)r->items);
    return dx_fail(r, "the value at grid point (%lld, %lld, %lld): '%s' %s", (long long)(v / (n[1] * n[2])),
                   (long long)(v / n[2] % n[1]), (long long)(v % n[2]), text_quote(word, text), trouble);
}

/* Reads the next `count` values, from value `first` of the file. */
static vf_status read_slab(dx_reader *r, int64_t first, int64_t count, void *slab)
{
    for (int64_t v = 0; v < count; v++) {
        text_piece word;
        text_number number;
        vf_status status = dx_next_word(r, &word);
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
static void turn_slab(const dx_reader *r, int64_t first, int64_t layers, const void *slab)
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

static vf_status read_values(dx_reader *r)
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

/* ---- the footer ---- */

static vf_status refuse_more_values(dx_reader *r, text_piece word)
{
    int64_t more = 0;
    text_number number;
    vf_status status = VF_OK;
    while (status == VF_OK && text_read_number(word, r->c_locale, &number)) {
        more++;
        status = dx_next_word(r, &word);
    }
    if (status != VF_OK)
        return status;
    return dx_fail(r, "there are %lld values, but only %lld %s expected; copy or write the file again",
                   (long long)(r->items + more), (long long)r->items, r->items == 1 ? "is" : "are");
}

/* Reads to the end of the file, which also checks the checksum of a compressed file. */
static vf_status read_footer(dx_reader *r)
{
    char text[TEXT_QUOTE_SIZE];
    bool found = false, class_follows = false;
    text_number number;
    text_piece word;
    if (r->next == r->end)
        return dx_fail(
            r, "the file ends right after its last value, which may be cut; copy or write the file again, or end "
               "the line");
    for (;;) {
        vf_status status = dx_next_word(r, &word);
        if (status == VF_OK && word.size == 0)
            break;
        if (status == VF_OK && *word.at == '#') {
            status = dx_rest_of_line(r, &word);
        } else if (status == VF_OK) {
            if (!found && text_read_number(word, r->c_locale, &number))
                status = refuse_more_values(r, word);
            else if (!found && !in_footer(word))
                status = dx_fail(r, "unexpected '%s' after the last value", text_quote(word, text));
            else if (class_follows && dx_is(word, "array"))
                status = dx_fail(r, "the file has a second array; a map has only one");
            found = true;
            class_follows = dx_is(word, "class");
        }
        if (status != VF_OK)
            return status;
    }
    if (!found)
        vf_warn(r->ctx,
                "%s: the lines that usually follow the values are missing; all values are "
                "there",
                r->map->path);
    return VF_OK;
}

vf_status read_map_dx(vf_context *ctx, loaded_map *map)
{
    dx_reader r = {.ctx = ctx, .map = map, .line = 1};
    vf_status status = gzip_input_open(ctx, map->path, &r.file, &r.file_bytes);
    if (status != VF_OK)
        return status;
    r.buffer = malloc(DX_BUFFER_BYTES);
    r.c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    r.next = r.end = r.buffer;
    if (!r.buffer || !r.c_locale)
        status = vf_fail(ctx, VF_ERR_MEMORY, "%s: no memory to read the map", map->path);
    if (status == VF_OK)
        status = dx_read_header(&r);
    if (status == VF_OK)
        status = read_values(&r);
    if (status == VF_OK)
        status = read_footer(&r);
    int closed = gzclose_r(r.file);
    if (status == VF_OK && closed != Z_OK)
        status = vf_fail(ctx, VF_ERR_INPUT, "%s: the gzip file is incomplete; copy it again", map->path);
    if (r.c_locale)
        freelocale(r.c_locale);
    free(r.buffer);
    return status;
}
