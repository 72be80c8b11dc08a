/* Text files: loaded into memory, uncompressed if necessary, and read line by line. */
#include "input_text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gzip_input.h"

/* ---- lines ---- */

bool text_next_line(text_lines *lines, text_piece *line)
{
    if (lines->next == lines->end)
        return false;
    if (!lines->newline || lines->newline < lines->next) {
        lines->newline = memchr(lines->next, '\n', (size_t)(lines->end - lines->next));
        if (!lines->newline)
            lines->newline = lines->end;
    }
    const char *stop = lines->newline;
    const char *carriage = memchr(lines->next, '\r', (size_t)(stop - lines->next));
    if (carriage)
        stop = carriage;
    *line = (text_piece){lines->next, (size_t)(stop - lines->next)};
    lines->next = stop + (stop < lines->end);
    if (carriage && lines->next < lines->end && *lines->next == '\n')
        lines->next++;
    lines->line++;
    return true;
}

bool text_rest_blank(text_lines lines)
{
    text_piece line = {lines.next, 0};
    while (text_all_blank(line))
        if (!text_next_line(&lines, &line))
            return true;
    return false;
}

vf_status text_fail(vf_context *ctx, const char *name, int64_t line, const char *format, ...)
{
    char text[560];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return vf_fail(ctx, VF_ERR_INPUT, "%s:%" PRId64 ": %s", name, line, text);
}

/* ---- files that are not text ---- */

const text_signature *text_find_signature(text_piece text, const text_signature *list)
{
    for (; list->start; list++)
        if (text.size >= list->size && memcmp(text.at, list->start, list->size) == 0)
            return list;
    return NULL;
}

#define NETCDF "a NetCDF file, not text; give AMBER's prmtop after --charges to use an AMBER restart as the molecule"

/* The name of a format that packs an mmCIF's tables with MessagePack: a map whose first keys tell. NULL: none. */
static const char *packed_molecule(text_piece text)
{
    enum { LOOKED_AT = 400 };
    const unsigned char first = (unsigned char)(text.size > 0 ? *text.at : 0);
    const size_t size = text.size < LOOKED_AT ? text.size : LOOKED_AT;
    if ((first & 0xf0) != 0x80 && first != 0xde && first != 0xdf)
        return NULL;
    if (memmem(text.at, size, "mmtfVersion", 11))
        return "MMTF";
    return memmem(text.at, size, "dataBlocks", 10) || memmem(text.at, size, "encoder", 7) ? "BinaryCIF" : NULL;
}

/* A .top or .itp file of GROMACS: comments, preprocessor lines and sections. */
static bool is_topology(text_piece text)
{
    static const char *const sections[] = {"moleculetype", "molecules", "system", "defaults"};
    const char *at = text.at, *const end = text.at + text.size;
    while (at < end && (*at == '\n' || *at == ' ' || *at == '\r'))
        at++;
    if (at == end || !memchr(";#[", *at, 3))
        return false;
    while ((at = memchr(at, '[', (size_t)(end - at))) != NULL) { /* "[ system ]", "[system]" */
        do
            at++;
        while (at < end && *at == ' ');
        for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
            const size_t size = strlen(sections[i]);
            if ((size_t)(end - at) > size && memcmp(at, sections[i], size) == 0 && (at[size] == ' ' || at[size] == ']'))
                return true;
        }
    }
    return false;
}

vf_status text_check(vf_context *ctx, const char *name, text_piece *text)
{
    static const text_signature binary[] = {
        {"\x1f\x8b", 2, "compressed twice with gzip; uncompress it once"},
        {"BZh", 3, "compressed with bzip2; uncompress it (bunzip2)"},
        {"\xfd\x37zXZ", 5, "compressed with xz; uncompress it (unxz)"},
        {"\x28\xb5\x2f\xfd", 4, "compressed with zstd; uncompress it (unzstd)"},
        {"PK\x03\x04", 4, "a zip archive; unpack it (unzip)"},
        {"\x89HDF", 4,
         "an HDF5 file (or NetCDF 4), not text; give a map after --read-map; give AMBER's prmtop after --charges to "
         "use an AMBER restart as the molecule"},
        {"CDF\x01", 4, NETCDF},
        {"CDF\x02", 4, NETCDF},
        {"CDF\x05", 4, NETCDF},
        {"\xff\xfe", 2, "UTF-16 text; save it as plain text (iconv -f UTF-16 -t ASCII)"},
        {"\xfe\xff", 2, "UTF-16 text; save it as plain text (iconv -f UTF-16 -t ASCII)"},
        {NULL, 0, NULL}};
    if (text->size == 0)
        return vf_fail(ctx, VF_ERR_INPUT, "%s: is empty; the program that wrote it may have failed", name);
    const text_signature *found = text_find_signature(*text, binary);
    if (found)
        return vf_fail(ctx, VF_ERR_INPUT, "%s: is %s", name, found->what);
    const char *packed = packed_molecule(*text);
    if (packed)
        return vf_fail(ctx, VF_ERR_INPUT, "%s: is a %s file, not text; write an mmCIF file from it (%s)", name, packed,
                       "gemmi or Mol* can, or download the .cif");
    if (text->size > 16 && memcmp(text->at + 8, "VERSION ", 8) == 0)
        return vf_fail(ctx, VF_ERR_INPUT,
                       "%s: is a .tpr file of GROMACS; write a PQR file from it (gmx editconf -f %s -mead out.pqr)",
                       name, name);
    if (is_topology(*text))
        return vf_fail(ctx, VF_ERR_INPUT,
                       "%s: is a topology of GROMACS; write a PQR file, which has its charges, from the run input "
                       "(gmx editconf -f run.tpr -mead out.pqr), and give that as the molecule",
                       name);
    const char *zero = memchr(text->at, '\0', text->size);
    if (zero && text->size >= 212 && memcmp(text->at + 208, "MAP ", 4) == 0)
        return vf_fail(ctx, VF_ERR_INPUT, "%s: is an MRC or CCP4 map, not a molecule; give a map after --read-map",
                       name);
    if (zero)
        return vf_fail(ctx, VF_ERR_INPUT, "%s: this is a binary file, not a text file of a molecule (byte %td is zero)",
                       name, zero - text->at);
    if (text->size >= 3 && memcmp(text->at, "\xef\xbb\xbf", 3) == 0) {
        text->at += 3;
        text->size -= 3;
    }
    return VF_OK;
}

/* ---- files ---- */

/* No molecule that fits in memory has a larger file, and only an attack compresses so well. */
enum { MAX_GIB = 8, MAX_RATIO = 200, RATIO_FROM_MIB = 64 };
static const size_t max_text = (size_t)MAX_GIB << 30;

static vf_status make_room(vf_context *ctx, const char *path, input_text *to)
{
    if (to->size < to->capacity)
        return VF_OK;
    if (to->capacity >= max_text)
        return vf_fail(ctx, VF_ERR_INPUT, "%s: not a molecule: more than %d GiB of text", path, MAX_GIB);
    size_t capacity = to->capacity * 2 < max_text ? to->capacity * 2 : max_text;
    char *larger = realloc(to->data, capacity);
    if (!larger)
        return vf_fail(ctx, VF_ERR_MEMORY, "%s: no memory for %zu MiB of text", path, capacity >> 20);
    to->data = larger;
    to->capacity = capacity;
    return VF_OK;
}

/* Reads to the end and uncompresses if necessary. */
static vf_status read_all(vf_context *ctx, const char *path, gzFile file, input_text *to)
{
    for (;;) {
        size_t got;
        vf_status status = make_room(ctx, path, to);
        VF_TRY(status, gzip_input_read(ctx, path, file, to->data + to->size, to->capacity - to->size, &got));
        if (status != VF_OK || got == 0)
            return status;
        to->size += got;
        z_off_t packed = gzoffset(file);
        if (!gzdirect(file) && packed > 0 && to->size >> 20 >= RATIO_FROM_MIB && to->size / (size_t)packed > MAX_RATIO)
            return vf_fail(ctx, VF_ERR_INPUT,
                           "%s: probably not a molecule: the file uncompresses to more than %d times its size; "
                           "if it is one, uncompress it first (gunzip)",
                           path, MAX_RATIO);
    }
}

vf_status input_text_read(vf_context *ctx, const char *path, input_text *out)
{
    gzFile file = NULL;
    size_t expected = 0;
    *out = (input_text){0};
    vf_status status = gzip_input_open(ctx, path, &file, &expected);
    if (status != VF_OK)
        return status;
    if (expected >= max_text)
        expected = 0;
    out->capacity = expected + (1 << 16); /* one more byte than the file has, to detect its end */
    out->data = malloc(out->capacity);
    if (!out->data) {
        gzclose_r(file);
        return vf_fail(ctx, VF_ERR_MEMORY, "%s: no memory for %zu MiB of text", path, out->capacity >> 20);
    }
    status = read_all(ctx, path, file, out);
    int closed = gzclose_r(file);
    if (status == VF_OK && closed == Z_BUF_ERROR)
        status = vf_fail(ctx, VF_ERR_INPUT, "%s: the gzip file is incomplete; copy it again", path);
    return status;
}

void input_text_free(input_text *text)
{
    free(text->data);
    *text = (input_text){0};
}
