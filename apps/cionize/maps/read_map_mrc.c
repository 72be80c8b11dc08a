/* Reads MRC and CCP4 maps (MRC2014; docs/formats.md), plain or compressed: a header of 256 words, an extended header, which is skipped,
 * and values of mode 0 (8 bits), 1 (16 bits), 2 (float) or 6 (16 bits without sign), columns fastest. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "map_reader.h"
#include "mrc_format.h"
#include "text/gzip_input.h"
#include "voxfield/output.h"

enum { VOLUME_STACK = 401, MOST_SYMBT = 1 << 30 };

typedef struct mrc_reader {
    vf_context *ctx;
    loaded_map *map;
    gzFile file;
    uint32_t header[WORDS];
    bool swapped;
    int mode, bytes;  /* of a value */
    int axis[3];      /* x, y, z: of columns, rows and sections */
    int64_t count[3]; /* of columns, rows and sections */
} mrc_reader;

static vf_status fail(const mrc_reader *r, const char *text)
{
    return vf_fail(r->ctx, VF_ERR_INPUT, "%s: %s", r->map->path, text);
}

static int32_t integer(const mrc_reader *r, int word)
{
    int32_t value;
    memcpy(&value, &r->header[word], sizeof value);
    return value;
}

static double number(const mrc_reader *r, int word)
{
    float value;
    memcpy(&value, &r->header[word], sizeof value);
    return value;
}

/* Fills `to`. VF_ERR_INPUT if the file ends before. */
static vf_status take(mrc_reader *r, void *to, size_t bytes, const char *what)
{
    size_t done = 0, got = 1;
    vf_status status = VF_OK;
    while (status == VF_OK && done < bytes && got > 0) {
        status = gzip_input_read(r->ctx, r->map->path, r->file, (char *)to + done, bytes - done, &got);
        done += got;
    }
    if (status == VF_OK && done < bytes)
        return vf_fail(r->ctx, VF_ERR_INPUT, "%s: the file ends in its %s; copy or write it again", r->map->path, what);
    return status;
}

/* ---- the header ---- */

/* Whether three words name the axes 1, 2 and 3 once each. */
static bool names_axes(const uint32_t words[3])
{
    unsigned seen = 0;
    for (int i = 0; i < 3; i++)
        if (words[i] >= 1 && words[i] <= 3)
            seen |= 1U << words[i];
    return seen == 14;
}

/* The order of bytes is that in which the axes have their numbers: machine stamps are often wrong. */
static vf_status find_order(mrc_reader *r)
{
    if (memcmp(&r->header[MAP], "MAP ", 4) != 0)
        return fail(r, "this is not an MRC or CCP4 map: bytes 209 to 212 are not 'MAP '");
    if (names_axes(&r->header[MAPC]))
        return VF_OK;
    r->swapped = true;
    for (int w = 0; w < LABELS; w++)
        if (w != MAP)
            r->header[w] = __builtin_bswap32(r->header[w]);
    if (!names_axes(&r->header[MAPC]))
        return fail(r,
                    "the header's words 17 to 19 (MAPC, MAPR, MAPS) do not name the three axes; the file is damaged");
    return VF_OK;
}

static vf_status check_kind(mrc_reader *r)
{
    static const struct {
        int mode, bytes;
    } modes[] = {{0, 1}, {1, 2}, {2, 4}, {6, 2}};
    r->mode = integer(r, MODE);
    for (size_t n = 0; n < sizeof modes / sizeof *modes; n++)
        if (modes[n].mode == r->mode)
            r->bytes = modes[n].bytes;
    if (r->bytes == 0)
        return vf_fail(r->ctx, VF_ERR_INPUT, "%s: values of mode %d are not supported; write the map in mode 2 (float)",
                       r->map->path, r->mode);
    if (integer(r, ISPG) >= VOLUME_STACK)
        return fail(r, "the file is a stack of volumes; a map is one");
    if (integer(r, NSYMBT) < 0 || integer(r, NSYMBT) > MOST_SYMBT)
        return fail(
            r, "the header's word 24 (NSYMBT), the bytes of the extended header, is out of range; the file is damaged");
    for (int i = 0; i < 3; i++) {
        if (integer(r, NX + i) < 1)
            return vf_fail(r->ctx, VF_ERR_INPUT, "%s: the map has %d x %d x %d points", r->map->path, integer(r, NX),
                           integer(r, NX + 1), integer(r, NX + 2));
        r->axis[i] = integer(r, MAPC + i) - 1;
        r->count[i] = integer(r, NX + i);
    }
    return VF_OK;
}

/* Steps are the cell's lengths over its intervals. Both are floats: their rounding is the slack. */
static vf_status set_grid(mrc_reader *r)
{
    const double rounding = 0x1p-23;
    vf_grid *grid = &r->map->grid;
    for (int a = 0; a < 3; a++) {
        const double angle = number(r, CELL_ANGLES + a);
        if (angle != 0 && !(fabs(angle - 90) <= 1e-3)) /* 0: not stated */
            return vf_fail(
                r->ctx, VF_ERR_INPUT,
                "%s: the cell's angles are %g, %g and %g degrees; only maps with axes along x, y and z are supported",
                r->map->path, number(r, CELL_ANGLES), number(r, CELL_ANGLES + 1), number(r, CELL_ANGLES + 2));
        if (integer(r, MX + a) < 1 || !(number(r, CELL_LENGTHS + a) > 0))
            return vf_fail(r->ctx, VF_ERR_INPUT,
                           "%s: the header does not state the step along %c: a cell of %g angstrom in %d intervals",
                           r->map->path, "xyz"[a], number(r, CELL_LENGTHS + a), integer(r, MX + a));
        grid->spacing[a] = number(r, CELL_LENGTHS + a) / integer(r, MX + a);
        r->map->spacing_slack[a] = grid->spacing[a] * rounding;
    }
    for (int i = 0; i < 3; i++)
        grid->counts[r->axis[i]] = r->count[i];
    return VF_OK;
}

/* Two fields state the position: N*START in steps, of columns, rows and sections, and ORIGIN in angstrom, of x, y and z. If they
 * disagree, ORIGIN counts in .mrc files, and N*START in .ccp4 and .map files, as in ChimeraX. */
static void set_position(mrc_reader *r)
{
    vf_grid *grid = &r->map->grid;
    const bool ccp4 = vf_path_has_extension(r->map->path, ".ccp4 .map .ccp4.gz .map.gz");
    double steps[3], origin[3];
    bool has_steps = false, has_origin = false, differ = false;
    for (int i = 0; i < 3; i++) {
        const int a = r->axis[i];
        steps[a] = integer(r, NXSTART + i) * grid->spacing[a];
        has_steps |= integer(r, NXSTART + i) != 0;
    }
    for (int a = 0; a < 3; a++) {
        origin[a] = number(r, ORIGIN + a);
        has_origin |= origin[a] != 0;
        differ |= !(fabs(origin[a] - steps[a]) <= 1e-3 * grid->spacing[a]);
    }
    const double *const from = has_origin && !(has_steps && ccp4) ? origin : steps;
    for (int a = 0; a < 3; a++) {
        grid->origin[a] = from[a];
        r->map->origin_slack[a] = fabs(from[a]) * 0x1p-23;
    }
    if (has_origin && has_steps && differ)
        vf_warn(r->ctx,
                "%s: the file states two positions: ORIGIN (%g, %g, %g) and N*START (%g, %g, %g) angstrom; using %s, "
                "as for other %s "
                "files",
                r->map->path, origin[0], origin[1], origin[2], steps[0], steps[1], steps[2],
                from == origin ? "ORIGIN" : "N*START", ccp4 ? "CCP4" : "MRC");
}

static vf_status read_labels(mrc_reader *r)
{
    const char *labels = (const char *)&r->header[LABELS];
    const int stated = integer(r, LABELS_USED), used = stated < LABELS_MOST ? stated : LABELS_MOST;
    char trouble[MAP_TROUBLE_SIZE];
    vf_status status = VF_OK;
    locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!c_locale)
        return fail(r, "no memory to read numbers");
    for (int n = 0; status == VF_OK && n < used; n++) {
        text_piece line = {labels + (size_t)n * LABEL_SIZE, LABEL_SIZE};
        while (line.size > 0 && (line.at[line.size - 1] == ' ' || line.at[line.size - 1] == '\0'))
            line.size--;
        if (!map_header_text(line, c_locale, r->map, trouble))
            status = fail(r, trouble);
    }
    freelocale(c_locale);
    return status;
}

/* ---- values ---- */

static double value_at(const mrc_reader *r, const unsigned char *from)
{
    uint32_t word;
    uint16_t half;
    float value;
    switch (r->mode) {
    case 0:
        return (signed char)*from;
    case 1:
    case 6:
        memcpy(&half, from, sizeof half);
        half = r->swapped ? __builtin_bswap16(half) : half;
        return r->mode == 1 ? (double)(int16_t)half : (double)half;
    default:
        memcpy(&word, from, sizeof word);
        word = r->swapped ? __builtin_bswap32(word) : word;
        memcpy(&value, &word, sizeof value);
        return value;
    }
}

/* Values come by columns, rows and sections; the map is [z][y][x]. */
static vf_status read_values(mrc_reader *r, unsigned char *row)
{
    const vf_grid *grid = &r->map->grid;
    const int64_t strides[3] = {1, grid->counts[0], grid->counts[0] * grid->counts[1]};
    float *const values = r->map->values;
    for (int64_t s = 0; s < r->count[2]; s++)
        for (int64_t t = 0; t < r->count[1]; t++) {
            vf_status status = take(r, row, (size_t)r->count[0] * (size_t)r->bytes, "values");
            if (status != VF_OK)
                return status;
            float *to = values + s * strides[r->axis[2]] + t * strides[r->axis[1]];
            for (int64_t c = 0; c < r->count[0]; c++) {
                const double value = value_at(r, row + c * r->bytes);
                if (!isfinite(value))
                    return vf_fail(
                        r->ctx, VF_ERR_INPUT,
                        "%s: the value at column %lld, row %lld, section %lld is not finite; write the map again",
                        r->map->path, (long long)c + 1, (long long)t + 1, (long long)s + 1);
                to[c * strides[r->axis[0]]] = (float)value;
            }
        }
    return VF_OK;
}

static vf_status skip(mrc_reader *r, int64_t bytes)
{
    char block[4096];
    vf_status status = VF_OK;
    for (int64_t done = 0, n; status == VF_OK && done < bytes; done += n) {
        n = bytes - done < (int64_t)sizeof block ? bytes - done : (int64_t)sizeof block;
        status = take(r, block, (size_t)n, "extended header");
    }
    return status;
}

/* Bytes behind the values do not harm, but something may be wrong. */
static vf_status check_end(mrc_reader *r)
{
    char byte;
    size_t got;
    vf_status status = gzip_input_read(r->ctx, r->map->path, r->file, &byte, 1, &got);
    if (status == VF_OK && got > 0)
        vf_warn(r->ctx, "%s: the file goes on behind the map's last value; what follows is ignored", r->map->path);
    return status;
}

static vf_status read_file(mrc_reader *r, size_t file_bytes)
{
    enum { MOST_DEFLATE = 1032 }; /* maximum bytes of text in a byte of gzip */
    vf_status status = take(r, r->header, sizeof r->header, "header");
    VF_TRY(status, find_order(r));
    VF_TRY(status, check_kind(r));
    VF_TRY(status, set_grid(r));
    VF_TRY(status, read_labels(r));
    if (status != VF_OK)
        return status;
    set_position(r);
    /* Stops a wrong header from allocating memory. */
    const double bytes = sizeof r->header + integer(r, NSYMBT) +
                         (double)r->count[0] * (double)r->count[1] * (double)r->count[2] * r->bytes;
    if (file_bytes > 0 && bytes > (double)file_bytes * (gzdirect(r->file) ? 1 : MOST_DEFLATE))
        return vf_fail(r->ctx, VF_ERR_INPUT,
                       "%s: a file of %zu bytes is too small for %d x %d x %d values; copy or write it again",
                       r->map->path, file_bytes, integer(r, NX), integer(r, NX + 1), integer(r, NX + 2));
    status = skip(r, integer(r, NSYMBT));
    VF_TRY(status, map_allocate(r->ctx, r->map));
    if (status != VF_OK)
        return status;
    unsigned char *row = malloc((size_t)r->count[0] * (size_t)r->bytes);
    status = row ? read_values(r, row) : vf_fail(r->ctx, VF_ERR_MEMORY, "%s: no memory to read the map", r->map->path);
    free(row);
    return status == VF_OK ? check_end(r) : status;
}

vf_status read_map_mrc(vf_context *ctx, loaded_map *map)
{
    mrc_reader r = {.ctx = ctx, .map = map};
    size_t file_bytes;
    map->type = VF_F32;
    vf_status status = gzip_input_open(ctx, map->path, &r.file, &file_bytes);
    if (status != VF_OK)
        return status;
    status = read_file(&r, file_bytes);
    const int closed = gzclose_r(r.file);
    if (status == VF_OK && closed != Z_OK)
        status = vf_fail(ctx, VF_ERR_INPUT, "%s: the gzip file is incomplete; copy it again", map->path);
    return status;
}
