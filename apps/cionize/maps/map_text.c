#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "map_common.h"
#include "voxfield/format_number.h"
#include "voxfield/gzip.h"
#include "voxfield/workpool.h"

enum { BLOCK = 3 << 13 }; /* values that a thread formats at a time */

/* A piece of text to write, already compressed if the file is. */
typedef struct piece {
    const char *plain; /* NULL: the text is compressed */
    size_t bytes;
    vf_gzip_block block;
} piece;

struct map_text {
    vf_context *ctx;
    vf_output *output;
    map_text_layout layout;
    int64_t written; /* values */
    int slots;
    size_t plain_size; /* buffer sizes for plain and compressed text */
    size_t packed_size;
    char *buffers; /* [slots][plain_size + packed_size] */
    piece *pieces; /* [slots] */
    /* [BLOCK] values of an incomplete block. So blocks, and the bytes of a compressed file, do not depend on how the
     * values are passed in. */
    void *wait;
    int64_t waiting;
    vf_gzip gzip;
    off_t reserved_at; /* where in the file; if it is compressed, also the block, and the text's length behind it */
    vf_gzip_block reserved;
    uint64_t reserved_end;
};

/* ---- pieces of text ---- */

/* `packed` has room for text->packed_size bytes. */
static piece make_piece(const map_text *text, const char *plain, size_t bytes, char *packed)
{
    if (text->layout.compression == 0)
        return (piece){.plain = plain, .bytes = bytes};
    return (piece){.block = vf_gzip_pack(text->layout.compression, plain, bytes, packed)};
}

static vf_status write_piece(map_text *text, const piece *from)
{
    if (from->plain)
        return vf_output_write(text->output, from->plain, from->bytes);
    return vf_gzip_append(&text->gzip, &from->block);
}

/* ---- values ---- */

/* Writes one value and returns its end. Right-justified values have two digits in the exponent, as in Fortran's E13.5.
 * Values too small for that become zero; values too large must not occur. */
static char *put_value(const map_text_layout *layout, double x, char *to)
{
    if (layout->width == 0)
        return to + vf_format_scientific(x, layout->digits, to);
    char token[VF_NUMBER_TEXT];
    int length = vf_format_scientific(fabs(x) < 1e-99 ? 0.0 : x, layout->digits, token);
    token[length - 4] = 'E';
    memset(to, ' ', (size_t)(layout->width - length));
    memcpy(to + layout->width - length, token, (size_t)length);
    return to + layout->width;
}

/* Formats values [begin, begin + count) of the file and returns the length. */
static size_t format_values(const map_text_layout *layout, const void *values, int64_t begin, int64_t count, char *to)
{
    const char *start = to;
    int64_t in_row = begin % layout->row;
    int in_line = (int)(in_row % layout->per_line);
    for (int64_t i = 0; i < count; i++) {
        to = put_value(layout,
                       layout->type == VF_F32 ? (double)((const float *)values)[i] : ((const double *)values)[i], to);
        in_row++;
        in_line++;
        bool row_ends = in_row == layout->row || begin + i + 1 == layout->total;
        if (row_ends || in_line == layout->per_line) {
            *to++ = '\n';
            in_line = 0;
        } else if (layout->width == 0) {
            *to++ = ' ';
        }
        if (row_ends)
            in_row = 0;
    }
    return (size_t)(to - start);
}

/* Writes values block by block: all threads format, the calling thread writes in order. */
typedef struct job {
    map_text *text;
    const char *values;
    int64_t count;
} job;

static vf_status format_block(void *user, int worker, int slot, int64_t block)
{
    const job *j = user;
    const map_text *text = j->text;
    (void)worker;
    char *plain = text->buffers + (size_t)slot * (text->plain_size + text->packed_size);
    int64_t first = block * BLOCK, n = j->count - first < BLOCK ? j->count - first : BLOCK;
    const char *from = j->values + (size_t)first * vf_dtype_bytes(text->layout.type);
    size_t bytes = format_values(&text->layout, from, text->written + first, n, plain);
    text->pieces[slot] = make_piece(text, plain, bytes, plain + text->plain_size);
    return VF_OK;
}

static vf_status write_block(void *user, int slot, int64_t block)
{
    const job *j = user;
    (void)block;
    return write_piece(j->text, &j->text->pieces[slot]);
}

/* Writes the next values of the file: whole blocks, or the last one. */
static vf_status write_blocks(map_text *text, const void *values, int64_t count)
{
    job work = {.text = text, .values = values, .count = count};
    const int64_t blocks = (count + BLOCK - 1) / BLOCK;
    vf_status status = VF_OK;
    if (blocks == 1) {
        status = format_block(&work, 0, 0, 0);
        VF_TRY(status, write_block(&work, 0, 0));
    } else {
        int workers = blocks < text->slots ? (int)blocks : text->slots - 1;
        const vf_workpool pool = {.items = blocks,
                                  .workers = workers,
                                  .slots = workers + 1,
                                  .user = &work,
                                  .produce = format_block,
                                  .consume = write_block};
        status = vf_workpool_run(text->ctx, &pool);
    }
    text->written += count;
    return status;
}

static vf_status write_waiting(map_text *text)
{
    int64_t count = text->waiting;
    text->waiting = 0;
    return count > 0 ? write_blocks(text, text->wait, count) : VF_OK;
}

vf_status map_text_values(map_text *text, const void *values, int64_t count)
{
    const size_t size = vf_dtype_bytes(text->layout.type);
    const char *from = values;
    vf_status status = VF_OK;
    if (text->waiting > 0) {
        int64_t n = count < BLOCK - text->waiting ? count : BLOCK - text->waiting;
        memcpy((char *)text->wait + (size_t)text->waiting * size, from, (size_t)n * size);
        text->waiting += n;
        from += (size_t)n * size;
        count -= n;
        if (text->waiting == BLOCK)
            status = write_waiting(text);
    }
    int64_t whole = count / BLOCK * BLOCK;
    if (status == VF_OK && whole > 0)
        status = write_blocks(text, from, whole);
    if (count > whole) { /* only then: the waiting values must not be overwritten */
        memcpy(text->wait, from + (size_t)whole * size, (size_t)(count - whole) * size);
        text->waiting = count - whole;
    }
    return status;
}

/* ---- other text ---- */

static vf_status fail_seek(const map_text *text)
{
    return vf_fail(text->ctx, VF_ERR_OUTPUT, "%s: cannot write: %s", vf_output_path(text->output), strerror(errno));
}

vf_status map_text_append(map_text *text, const char *string)
{
    vf_status status = write_waiting(text);
    size_t bytes = strlen(string);
    for (size_t n; bytes > 0 && status == VF_OK; bytes -= n, string += n) {
        n = bytes < text->plain_size ? bytes : text->plain_size;
        piece made = make_piece(text, string, n, text->buffers);
        status = write_piece(text, &made);
    }
    return status;
}

vf_status map_text_reserve(map_text *text, const char *string)
{
    vf_status status = write_waiting(text);
    text->reserved = (vf_gzip_block){0};
    if (status == VF_OK && text->layout.compression > 0) { /* not compressed: its length is that of any other text */
        text->reserved = vf_gzip_pack(0, string, strlen(string), text->buffers);
        text->reserved_at = ftello(vf_output_stream(text->output));
        status = vf_gzip_append(&text->gzip, &text->reserved);
        text->reserved_end = text->gzip.length;
        return status;
    }
    text->reserved_at = ftello(vf_output_stream(text->output));
    return status == VF_OK ? vf_output_write(text->output, string, strlen(string)) : status;
}

vf_status map_text_replace(map_text *text, const char *string)
{
    vf_status status = write_waiting(text);
    if (status != VF_OK || vf_output_direct(text->output))
        return status;
    FILE *stream = vf_output_stream(text->output);
    const void *bytes = string;
    size_t count = strlen(string);
    if (text->layout.compression > 0) {
        const vf_gzip_block block = vf_gzip_pack(0, string, count, text->buffers);
        status = vf_gzip_exchange(&text->gzip, &text->reserved, text->reserved_end, &block);
        bytes = block.packed;
        count = block.packed_bytes;
    }
    if (status == VF_OK && fseeko(stream, text->reserved_at, SEEK_SET) != 0)
        status = fail_seek(text);
    VF_TRY(status, vf_output_write(text->output, bytes, count));
    if (status == VF_OK && fseeko(stream, 0, SEEK_END) != 0)
        status = fail_seek(text);
    return status;
}

vf_status map_text_printf(map_text *text, const char *format, ...)
{
    char *string = NULL;
    va_list args;
    va_start(args, format);
    int length = vasprintf(&string, format, args);
    va_end(args);
    if (length < 0)
        return vf_fail(text->ctx, VF_ERR_MEMORY, "%s: no memory to write the map", vf_output_path(text->output));
    vf_status status = map_text_append(text, string);
    free(string);
    return status;
}

/* ---- the file ---- */

vf_status map_text_open(vf_context *ctx, const char *path, const map_text_layout *layout, map_text **out)
{
    vf_status status = VF_OK;
    *out = NULL;
    map_text *text = calloc(1, sizeof *text);
    if (!text)
        return vf_fail(ctx, VF_ERR_MEMORY, "%s: not enough memory to open the file", path);
    text->ctx = ctx;
    text->layout = *layout;
    text->slots = vf_context_threads(ctx) + 1; /* one is written while threads fill the others */
    text->plain_size = (size_t)BLOCK * (size_t)((layout->width ? layout->width : layout->digits + 7) + 1);
    text->packed_size = layout->compression > 0 ? vf_gzip_bound(text->plain_size) : 0;
    text->buffers = malloc((size_t)text->slots * (text->plain_size + text->packed_size));
    text->wait = malloc((size_t)BLOCK * vf_dtype_bytes(layout->type));
    text->pieces = calloc((size_t)text->slots, sizeof *text->pieces);
    if (!text->buffers || !text->wait || !text->pieces) {
        status = vf_fail(ctx, VF_ERR_MEMORY, "%s: no memory to format the map", path);
        goto done;
    }
    status = vf_output_open(ctx, path, &text->output);
    if (status == VF_OK && layout->compression > 0)
        status = vf_gzip_begin(&text->gzip, ctx, text->output);
    if (status != VF_OK)
        goto done;
    *out = text;
    text = NULL;
done:
    map_text_discard(&text);
    return status;
}

vf_status map_text_commit(map_text **text_pointer)
{
    map_text *text = *text_pointer;
    vf_status status = write_waiting(text);
    if (status == VF_OK && text->layout.compression > 0)
        status = vf_gzip_end(&text->gzip);
    VF_TRY(status, vf_output_commit(&text->output));
    map_text_discard(text_pointer);
    return status;
}

void map_text_discard(map_text **text)
{
    if (*text) {
        vf_output_discard(&(*text)->output);
        free((*text)->buffers);
        free((*text)->wait);
        free((*text)->pieces);
        free(*text);
    }
    *text = NULL;
}

/* ---- maps as text ---- */

void text_map_discard(void *state)
{
    text_map *t = state;
    if (!t)
        return;
    map_text_discard(&t->text);
    map_end(&t->map);
    free(t);
}

vf_status text_map_begin(vf_context *ctx, const map_format *format, const char *path, const map_info *info,
                         map_text_layout layout, double most, vf_status (*write_header)(text_map *), void **out)
{
    *out = NULL;
    text_map *t = calloc(1, sizeof *t);
    if (!t)
        return vf_fail(ctx, VF_ERR_MEMORY, "%s: not enough memory to write the map", path);
    vf_status status = map_begin(&t->map, ctx, format, path, info);
    if (status != VF_OK)
        goto done;
    t->map.most = most;
    layout.type = info->type;
    layout.total = vf_grid_points(&info->grid);
    status = map_text_open(ctx, path, &layout, &t->text);
    VF_TRY(status, write_header(t));
    if (status != VF_OK)
        goto done;
    *out = t;
    t = NULL;
done:
    text_map_discard(t);
    return status;
}

/* Cuts the line to t->error_width characters; what is in brackets is left out if it does not fit. */
static const char *cut_error_line(const text_map *t, char line[MAP_ERROR_SIZE])
{
    map_error_line(t->map.info, line);
    char *rest = t->error_width < MAP_ERROR_SIZE - 1 ? strchr(line, '(') : NULL;
    if (rest)
        memset(rest, ' ', strlen(rest));
    line[t->error_width] = '\0';
    return line;
}

vf_status text_map_error_line(text_map *t, const char *before, int width, const char *after)
{
    char line[MAP_ERROR_SIZE];
    if (!*map_error_line(t->map.info, line))
        return VF_OK;
    t->error_width = width;
    vf_status status = map_text_append(t->text, before);
    VF_TRY(status, map_text_reserve(t->text, cut_error_line(t, line)));
    return status == VF_OK ? map_text_append(t->text, after) : status;
}

vf_status text_map_write(void *state, int64_t first, int64_t count, const void *values)
{
    text_map *t = state;
    vf_status status = map_take(&t->map, first, count, values);
    if (status != VF_OK)
        return status;
    return map_text_values(t->text, values, count * map_layer_values(&t->map));
}

vf_status text_map_commit(void *state, const char *footer)
{
    text_map *t = state;
    char line[MAP_ERROR_SIZE];
    vf_status status = map_complete(&t->map);
    VF_TRY(status, map_text_append(t->text, footer));
    if (status == VF_OK && t->error_width > 0)
        status = map_text_replace(t->text, cut_error_line(t, line));
    VF_TRY(status, map_text_commit(&t->text));
    text_map_discard(t);
    return status;
}
