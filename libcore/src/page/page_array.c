/* Arrays of a page: rounded to integers, compressed by zlib. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "page_internal.h"

/* ---- compression ---- */

vf_status page_pack_begin(vf_context *ctx, size_t limit, page_pack *pack)
{
    *pack = (page_pack){.limit = limit};
    z_stream *stream = calloc(1, sizeof *stream);
    if (!stream || deflateInit(stream, 6) != Z_OK) {
        free(stream);
        return vf_fail(ctx, VF_ERR_MEMORY, "not enough memory to compress the page");
    }
    pack->stream = stream;
    return VF_OK;
}

static bool make_room(page_pack *pack)
{
    enum { LEAST = 1 << 16 };
    const size_t room = pack->room < LEAST ? LEAST : 2 * pack->room;
    unsigned char *data = realloc(pack->data, room);
    if (data) {
        pack->data = data;
        pack->room = room;
    }
    return data != NULL;
}

vf_status page_pack_add(vf_context *ctx, page_pack *pack, const void *data, size_t bytes, bool last)
{
    enum { PIECE = 1 << 20 };
    z_stream *stream = pack->stream;
    const unsigned char *from = data;
    for (size_t at = 0; !pack->full; at += PIECE) {
        const size_t count = bytes - at < PIECE ? bytes - at : PIECE;
        const bool ends = at + count == bytes;
        int found = Z_OK;
        stream->next_in = (Bytef *)(from + at);
        stream->avail_in = (uInt)count;
        do {
            if (pack->bytes == pack->room && !make_room(pack))
                return vf_fail(ctx, VF_ERR_MEMORY, "not enough memory to compress the page");
            const size_t room = pack->room - pack->bytes;
            stream->next_out = pack->data + pack->bytes;
            stream->avail_out = (uInt)room;
            found = deflate(stream, last && ends ? Z_FINISH : Z_NO_FLUSH);
            pack->bytes += room - stream->avail_out;
            pack->full = pack->bytes > pack->limit;
        } while (!pack->full && (stream->avail_out == 0 || (last && ends && found != Z_STREAM_END)));
        if (ends)
            break;
    }
    return VF_OK;
}

void page_pack_free(page_pack *pack)
{
    if (pack->stream)
        (void)deflateEnd(pack->stream);
    free(pack->stream);
    free(pack->data);
    *pack = (page_pack){0};
}

/* ---- differences ---- */

void page_differences8(uint8_t *values, int64_t count)
{
    uint8_t before = 0;
    for (int64_t n = 0; n < count; n++) {
        const uint8_t value = values[n];
        values[n] = (uint8_t)(value - before);
        before = value;
    }
}

void page_differences16(const uint16_t *values, int64_t count, uint8_t *bytes)
{
    uint16_t before = 0;
    for (int64_t n = 0; n < count; n++) {
        const uint16_t difference = (uint16_t)(values[n] - before);
        bytes[n] = (uint8_t)(difference & 255);
        bytes[count + n] = (uint8_t)(difference >> 8);
        before = values[n];
    }
}

/* ---- arrays of rows ---- */

/* The range of each column. False: some value is not finite. */
static bool find_ranges(page_array *of, int64_t rows, const float *data, double levels)
{
    bool finite = true;
    for (int c = 0; c < of->columns; c++) {
        double least = INFINITY, most = -INFINITY;
        for (int64_t n = 0; n < rows; n++) {
            const double value = data[n * of->columns + c];
            finite &= isfinite(value) != 0;
            least = fmin(least, value);
            most = fmax(most, value);
        }
        of->offset[c] = rows > 0 && finite ? least : 0;
        of->step[c] = rows > 0 && finite && most > least ? (most - least) / levels : 1;
    }
    return finite;
}

/* Rounded floats, as little-endian integers. */
static void round_floats(const page_array *of, int64_t rows, int bytes, const float *data, uint8_t *out)
{
    for (int64_t n = 0; n < rows * of->columns; n++) {
        const int c = (int)(n % of->columns);
        const unsigned level = (unsigned)lround((data[n] - of->offset[c]) / of->step[c]);
        out[n * bytes] = (uint8_t)(level & 255);
        if (bytes == 2)
            out[2 * n + 1] = (uint8_t)(level >> 8);
    }
}

vf_status vf_page_array(vf_page *page, const char *name, vf_page_type type, int64_t rows, int columns, const void *data)
{
    static const char *const types[VF_PAGE_TYPES] = {"u8", "u16", "f32", "u32", "u8"};
    static const int sizes[VF_PAGE_TYPES] = {1, 2, 4, 4, 1};
    const bool rounds = type == VF_PAGE_U8 || type == VF_PAGE_U16;
    page_array of = {.type = types[type], .shape = {rows, columns}, .dimensions = 2, .columns = rounds ? columns : 0};
    const size_t bytes = (size_t)rows * (size_t)columns * (size_t)sizes[type];
    page_pack pack = {0};
    uint8_t *made = NULL;
    (void)snprintf(of.name, sizeof of.name, "%s", name);
    if (columns < 1 || columns > PAGE_COLUMNS || page->json)
        return vf_fail(page->ctx, VF_ERR_ARGUMENT, "page array %s: %d columns, or the page's object has begun", name,
                       columns);
    if (rounds && !find_ranges(&of, rows, data, type == VF_PAGE_U8 ? 255 : 65535))
        return vf_fail(page->ctx, VF_ERR_ARGUMENT, "page array %s: a value is NaN or infinite", name);
    vf_status status = page_pack_begin(page->ctx, SIZE_MAX, &pack);
    if (status == VF_OK && rounds) {
        made = malloc(bytes + 1);
        if (made)
            round_floats(&of, rows, sizes[type], data, made);
        else
            status = vf_fail(page->ctx, VF_ERR_MEMORY, "not enough memory for the page's %s", name);
    }
    VF_TRY(status, page_pack_add(page->ctx, &pack, rounds ? made : data, bytes, true));
    VF_TRY(status, page_put_array(page, &of, &pack));
    free(made);
    page_pack_free(&pack);
    return status;
}
