/* Reads the XML header of ISMRMRD as text, in all the types that programs write it in: strings of fixed or variable
 * length, arrays of characters, bytes or UTF-16, and opaque data. */
#include "scan_ismrmrd_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "ismrmrd/ismrmrd_types.h"
#include "ismrmrd/ismrmrd_xml.h"

enum { NAME_SIZE = 300 };

/* ---- UTF-16 ---- */

/* Appends a code point as UTF-8; returns the place behind it. */
static char *put_utf8(char *to, uint32_t code)
{
    static const unsigned char lead[] = {0, 0xc0, 0xe0, 0xf0};
    const int more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3; /* bytes of 6 bits each */
    *to++ = (char)(lead[more] | code >> 6 * more);
    for (int i = more - 1; i >= 0; i--)
        *to++ = (char)(0x80 | (code >> 6 * i & 0x3f));
    return to;
}

/* A copy of `count` units of UTF-16 as UTF-8; ends at a 0. Lone surrogates become '?'. NULL: no memory. */
static char *from_utf16(const unsigned char *units, size_t count, bool big_endian)
{
    char *text = malloc(3 * count + 1), *to = text;
    for (size_t i = 0; text && i < count; i++) {
        uint32_t code = (uint32_t)units[2 * i + big_endian] | (uint32_t)units[2 * i + !big_endian] << 8;
        if (code == 0)
            break;
        if (code >= 0xd800 && code < 0xdc00 && i + 1 < count) {
            const uint32_t low = (uint32_t)units[2 * i + 2 + big_endian] | (uint32_t)units[2 * i + 2 + !big_endian]
                                                                               << 8;
            const bool pair = low >= 0xdc00 && low < 0xe000;
            code = pair ? 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00) : '?';
            i += pair;
        } else if (code >= 0xd800 && code < 0xe000) {
            code = '?';
        }
        to = put_utf8(to, code);
    }
    if (text)
        *to = '\0';
    return text;
}

/* Whether bytes are UTF-16: they have its byte-order mark, or every other byte of the first characters is 0. */
static bool is_utf16(const char *text, size_t size, bool *big_endian)
{
    const unsigned char *b = (const unsigned char *)text;
    if (size < 4 || size % 2 != 0)
        return false;
    *big_endian = (b[0] == 0xfe && b[1] == 0xff) || (b[0] == 0 && b[1] == '<');
    return *big_endian || (b[0] == 0xff && b[1] == 0xfe) || (b[0] == '<' && b[1] == 0);
}

/* Takes `text`, `size` bytes and a 0 behind them. */
static char *decode(char *text, size_t size)
{
    bool big_endian = false;
    if (!text || !is_utf16(text, size, &big_endian))
        return text;
    char *decoded = from_utf16((const unsigned char *)text, size / 2, big_endian);
    free(text);
    return decoded;
}

/* ---- in the process that reads the file ---- */

/* All elements as they are, one after another, and a 0. */
static char *read_bytes(hid_t dataset, hid_t type, size_t count, size_t *bytes)
{
    const size_t size = H5Tget_size(type);
    *bytes = size * count;
    if (size == 0 || count > ISMRMRD_XML_MOST / size)
        return NULL;
    char *text = calloc(*bytes + 1, 1);
    if (text && H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, text) < 0) {
        free(text);
        text = NULL;
    }
    return text;
}

/* Numbers of 16 bits are characters of MATLAB. */
static char *read_units(hid_t dataset, size_t count)
{
    size_t bytes;
    char *text = count <= ISMRMRD_XML_MOST / 3 ? read_bytes(dataset, H5T_STD_U16LE, count, &bytes) : NULL;
    char *decoded = text ? from_utf16((const unsigned char *)text, count, false) : NULL;
    free(text);
    return decoded;
}

/* Strings of variable length: the first one. */
static char *read_variable(hid_t dataset, hid_t type, hid_t space)
{
    hsize_t start[H5S_MAX_RANK] = {0}, count[H5S_MAX_RANK], one = 1;
    hid_t memory = ismrmrd_text_type(), element = H5Screate_simple(1, &one, NULL);
    const int rank = H5Sget_simple_extent_ndims(space);
    char *given = NULL, *text = NULL;
    for (int d = 0; d < H5S_MAX_RANK; d++)
        count[d] = 1;
    H5Tset_cset(memory, H5Tget_cset(type));
    if ((rank == 0 || H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL) >= 0) &&
        H5Dread(dataset, memory, element, space, H5P_DEFAULT, &given) >= 0 && given) {
        text = strdup(given);
        H5free_memory(given);
    }
    H5Sclose(element);
    H5Tclose(memory);
    return text;
}

/* The first of several strings of fixed length; single characters belong together. */
static char *read_fixed(hid_t dataset, hid_t type, size_t count)
{
    size_t bytes = 0;
    const size_t size = H5Tget_size(type);
    char *text = read_bytes(dataset, type, count, &bytes);
    if (text && size > 1)
        text[size] = '\0';
    return decode(text, size > 1 ? size : bytes);
}

static char *read_text(hid_t dataset)
{
    hid_t type = H5Dget_type(dataset), space = H5Dget_space(dataset);
    const hssize_t count = space >= 0 ? H5Sget_simple_extent_npoints(space) : 0;
    const H5T_class_t class = type >= 0 ? H5Tget_class(type) : H5T_NO_CLASS;
    const size_t size = type >= 0 ? H5Tget_size(type) : 0;
    char *text = NULL;
    if (count < 1) {
        text = NULL;
    } else if (class == H5T_STRING && H5Tis_variable_str(type) > 0) {
        text = read_variable(dataset, type, space);
    } else if (class == H5T_STRING) {
        text = read_fixed(dataset, type, (size_t)count);
    } else if (class == H5T_OPAQUE || (class == H5T_INTEGER && size == 1)) {
        size_t bytes = 0;
        text = read_bytes(dataset, type, (size_t)count, &bytes);
        text = decode(text, bytes);
    } else if (class == H5T_INTEGER && size == 2) {
        text = read_units(dataset, (size_t)count);
    }
    H5Sclose(space);
    H5Tclose(type);
    return text;
}

/* `question`: the dataset. */
static vf_status answer_text(void *file, const void *question, vf_reply *reply)
{
    const char *name = question, *slash = strrchr(name, '/'), *last = slash ? slash + 1 : name;
    int64_t dataset;
    vf_status status = vf_h5_dataset_open(file, name, &dataset);
    if (status != VF_OK)
        return status;
    char *text = read_text((hid_t)dataset);
    if (!text)
        status = vf_h5_refuse(
            file, "cannot read '%s' as text; store it as a string, or as an array of characters or bytes", last);
    else if (!vf_h5_put(reply, text, strlen(text)))
        status = vf_h5_refuse(file, "'%s' has more than %d bytes of text", last, ISMRMRD_XML_MOST);
    free(text);
    H5Dclose((hid_t)dataset);
    return status;
}

/* ---- in this process ---- */

/* Blanks the declared encoding if it is one of two bytes a character: the text has one byte each. */
static void forget_wide_encoding(char *text)
{
    static const char *const wide[] = {"utf-16", "utf16", "ucs-2", "iso-10646-ucs-2"};
    char *end = strncmp(text, "<?xml", 5) == 0 ? strstr(text, "?>") : NULL;
    char *at = end ? strstr(text, "encoding") : NULL;
    if (!at || at >= end)
        return;
    char *open = at + strcspn(at, "\"'?");
    char *close = open < end ? strchr(open + 1, *open) : NULL;
    if (!close || close >= end)
        return;
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++)
        if (strncasecmp(open + 1, wide[i], strlen(wide[i])) == 0) {
            memset(at, ' ', (size_t)(close - at) + 1);
            return;
        }
}

void ismrmrd_tidy_xml(char *text)
{
    char *from = text;
    if (strncmp(from, "\xef\xbb\xbf", 3) == 0)
        from += 3;
    from += strspn(from, " \t\r\n");
    size_t length = strlen(from);
    while (length > 0 && strchr(" \t\r\n", from[length - 1]))
        length--;
    memmove(text, from, length);
    text[length] = '\0';
    forget_wide_encoding(text);
}

vf_status ismrmrd_read_text(vf_context *ctx, const char *place, vf_h5 *file, const char *name, char **out)
{
    char question[NAME_SIZE];
    size_t bytes = 0;
    *out = malloc(ISMRMRD_XML_MOST + 1);
    if (!*out)
        return vf_fail(ctx, VF_ERR_MEMORY, "%s: not enough memory to read '%s'", place, name);
    snprintf(question, sizeof question, "%s", name);
    vf_status status =
        vf_h5_ask(file, answer_text, question, strlen(question) + 1, *out, ISMRMRD_XML_MOST, &bytes, NULL);
    (*out)[status == VF_OK && bytes <= ISMRMRD_XML_MOST ? bytes : 0] = '\0';
    char *less = strdup(*out); /* most headers have a few kilobytes */
    free(*out);
    *out = less;
    if (!less && status == VF_OK)
        status = vf_fail(ctx, VF_ERR_MEMORY, "%s: not enough memory to read '%s'", place, name);
    if (status == VF_OK)
        ismrmrd_tidy_xml(less);
    return status;
}
