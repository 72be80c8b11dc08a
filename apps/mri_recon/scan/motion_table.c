/* Reads a table of motion. */
#include "motion_table.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "voxfield/input.h"
#include "voxfield/parse.h"

enum { COLUMNS = 6, MOST_LINE = 1024, MOST_BYTES = 1 << 30 };
static const double MOST_SHIFT = 1e4, MOST_DEGREES = 360;

/* Replaces separators by single commas, without blanks at the ends, and cuts off comments. Returns the length; all of
 * the room if the line is too long. */
static size_t normalise(const char *text, size_t size, char out[MOST_LINE])
{
    size_t used = 0;
    bool comma = false, between = false; /* what has been seen since the last number */
    for (size_t i = 0; i < size && text[i] != '#' && used + 2 < MOST_LINE; i++) {
        if (strchr(" \t\r\v\f", text[i]) && text[i]) {
            between = used > 0;
        } else if (text[i] == ',' && !comma && used > 0) {
            comma = true;
        } else {
            if (comma || between)
                out[used++] = ',';
            comma = between = false;
            out[used++] = text[i];
        }
    }
    if (used + 2 >= MOST_LINE)
        return MOST_LINE;
    if (comma) /* nothing follows the last comma: keep it as a mistake */
        out[used++] = ',';
    out[used] = 0;
    return used;
}

static vf_status parse_line(vf_context *ctx, const char *name, const char *text, size_t size, motion_table *table)
{
    char line[MOST_LINE];
    double values[COLUMNS];
    const size_t used = normalise(text, size, line);
    if (used == 0)
        return VF_OK;
    if (used == MOST_LINE || memchr(text, 0, size) || vf_parse_doubles(line, COLUMNS, COLUMNS, values) != COLUMNS)
        return vf_fail(ctx, VF_ERR_INPUT,
                       "%s:%" PRId64
                       ": expected six numbers: shifts in mm along x, y, z and rotations in degrees about "
                       "x, y, z",
                       name, table->lines);
    motion_row row = {.line = table->lines};
    for (int a = 0; a < 3; a++) {
        row.shift[a] = values[a];
        row.degrees[a] = values[3 + a];
        if (fabs(row.shift[a]) > MOST_SHIFT || fabs(row.degrees[a]) > MOST_DEGREES)
            return vf_fail(ctx, VF_ERR_INPUT, "%s:%" PRId64 ": shifts are up to %g mm, rotations up to %g degrees",
                           name, table->lines, MOST_SHIFT, MOST_DEGREES);
    }
    if ((table->rows & (table->rows - 1)) == 0) { /* full: a power of two, or empty */
        const size_t room = table->rows ? 2 * (size_t)table->rows : 1;
        motion_row *more = realloc(table->row, room * sizeof *more);
        if (!more)
            return vf_fail(ctx, VF_ERR_MEMORY, "%s: no memory for %zu rows", name, room);
        table->row = more;
    }
    table->row[table->rows++] = row;
    return VF_OK;
}

vf_status motion_table_parse(vf_context *ctx, const char *name, const char *text, int64_t size, motion_table *out)
{
    vf_status status = VF_OK;
    *out = (motion_table){0};
    for (int64_t at = 0; status == VF_OK && at < size;) {
        const char *end = memchr(text + at, '\n', (size_t)(size - at));
        const int64_t next = end ? end - text : size;
        out->lines++;
        status = parse_line(ctx, name, text + at, (size_t)(next - at), out);
        at = next + 1;
    }
    if (status != VF_OK)
        motion_table_free(out);
    return status;
}

vf_status motion_table_read(vf_context *ctx, const char *path, motion_table *out)
{
    enum { BLOCK = 1 << 16 };
    *out = (motion_table){0};
    int fd;
    vf_status status = vf_input_open(ctx, path, &fd);
    if (status != VF_OK)
        return status;
    FILE *file = fdopen(fd, "rb");
    if (!file) {
        close(fd);
        return vf_fail(ctx, VF_ERR_MEMORY, "%s: no memory to read it", path);
    }
    char *text = NULL;
    int64_t size = 0, got = 0;
    do {
        char *more = size <= MOST_BYTES ? realloc(text, (size_t)size + BLOCK) : NULL;
        if (!more) {
            status = vf_fail(ctx, size > MOST_BYTES ? VF_ERR_INPUT : VF_ERR_MEMORY, "%s: larger than 1 GiB", path);
            break;
        }
        text = more;
        got = (int64_t)fread(text + size, 1, BLOCK, file);
        size += got;
    } while (got > 0);
    if (status == VF_OK && ferror(file))
        status = vf_fail(ctx, VF_ERR_INPUT, "%s: cannot read: %s", path, strerror(errno));
    (void)fclose(file);
    VF_TRY(status, motion_table_parse(ctx, path, text, size, out));
    free(text);
    return status;
}

void motion_table_free(motion_table *table)
{
    free(table->row);
    *table = (motion_table){0};
}
