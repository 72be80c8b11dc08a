#include "classic_netcdf.h"

#include <stdlib.h>
#include <string.h>

#include "text/stored_number.h"

/* CDF-5 has 64-bit counts; CDF-2 and CDF-5 have 64-bit offsets. Names and values are filled up to multiples of 4 bytes. */
enum { VERSION_1 = 1, VERSION_2 = 2, VERSION_5 = 5 };
enum { TAG_NONE = 0, TAG_DIMENSIONS = 10, TAG_VARIABLES = 11, TAG_ATTRIBUTES = 12 };
enum { TYPE_CHAR = 2 };
enum { MOST_DIMENSIONS = 1024, MOST_VARIABLES = 8192, MOST_ATTRIBUTES = 8192 }; /* as in the NetCDF library */

typedef struct header_reader {
    const unsigned char *at, *end;
    int version;
    const char *why; /* set by the first error */
    int64_t *length; /* [dimensions] 0: the records */
    int64_t dimensions;
} header_reader;

static const char short_header[] = "has a header that is incomplete, or longer than 1 MiB";

static bool refuse(header_reader *r, const char *why)
{
    if (!r->why)
        r->why = why;
    return false;
}

/* The next bytes; NULL at the end of the header, or if the count is negative. */
static const unsigned char *take(header_reader *r, int64_t bytes)
{
    const unsigned char *from = r->at;
    if (r->why || bytes < 0 || bytes > r->end - r->at) {
        refuse(r, short_header);
        return NULL;
    }
    r->at += bytes;
    return from;
}

static int64_t filled_up(int64_t bytes)
{
    return (bytes + 3) / 4 * 4;
}

static int64_t take_integer(header_reader *r, int bytes)
{
    const unsigned char *from = take(r, bytes);
    return !from ? 0 : bytes == 4 ? stored_integer(from, true) : (int64_t)stored_unsigned(from, 8, true);
}

/* A count, a length or the number of a dimension. */
static int64_t take_count(header_reader *r)
{
    const int64_t count = take_integer(r, r->version == VERSION_5 ? 8 : 4);
    return count < 0 && !refuse(r, "has a negative count in its header") ? 0 : count;
}

/* The number of entries of a list; 0 if it is missing. */
static int64_t take_list(header_reader *r, int tag, int64_t most)
{
    const int64_t found = take_integer(r, 4), count = take_count(r);
    if ((found != tag && (found != TAG_NONE || count != 0)) || count > most)
        refuse(r, "has a header that is damaged, or lists more than the NetCDF library allows");
    return r->why ? 0 : count;
}

/* A name: not zero-terminated. */
static const char *take_name(header_reader *r, int64_t *length)
{
    *length = take_count(r);
    return (const char *)take(r, *length > r->end - r->at ? -1 : filled_up(*length));
}

static bool name_is(const char *name, int64_t length, const char *wanted)
{
    return name && length == (int64_t)strlen(wanted) && memcmp(name, wanted, (size_t)length) == 0;
}

static int type_bytes(int64_t type)
{
    static const int bytes[] = {0, 1, 1, 2, 4, 4, 8, 1, 2, 4, 8, 8};
    return type >= 0 && type < (int64_t)(sizeof bytes / sizeof *bytes) ? bytes[type] : 0;
}

void netcdf_printable(char text[NETCDF_TEXT])
{
    for (char *c = text; *c; c++)
        if (*c < ' ' || *c > '~')
            *c = '?';
}

static void copy_text(const unsigned char *from, int64_t length, char out[NETCDF_TEXT])
{
    const size_t some = length < NETCDF_TEXT - 1 ? (size_t)length : NETCDF_TEXT - 1;
    memcpy(out, from, some);
    out[some] = '\0';
    netcdf_printable(out);
}

static void take_attributes(header_reader *r, netcdf_header *global, netcdf_variable *variable)
{
    const int64_t count = take_list(r, TAG_ATTRIBUTES, MOST_ATTRIBUTES);
    for (int64_t i = 0; i < count && !r->why; i++) {
        int64_t length;
        const char *name = take_name(r, &length);
        const int64_t type = take_integer(r, 4), values = take_count(r);
        if (type_bytes(type) == 0) {
            refuse(r, "has an attribute of unknown type in its header");
            return;
        }
        const unsigned char *from =
            take(r, values > r->end - r->at ? -1 : filled_up(values * type_bytes(type))); /* at most 8 times 1 MiB */
        if (!from)
            return;
        if (global && type == TYPE_CHAR && name_is(name, length, "Conventions"))
            copy_text(from, values, global->conventions);
        if (variable && type == TYPE_CHAR && name_is(name, length, "units"))
            copy_text(from, values, variable->units);
        if (variable && values == 1 && name_is(name, length, "scale_factor"))
            variable->scale = type == NETCDF_FLOAT    ? (double)stored_float(from, true)
                              : type == NETCDF_DOUBLE ? stored_double(from, true)
                                                      : variable->scale;
    }
}

/* ---- dimensions and variables ---- */

static void take_dimensions(header_reader *r)
{
    const int64_t count = take_list(r, TAG_DIMENSIONS, MOST_DIMENSIONS);
    bool records = false;
    r->length = calloc((size_t)count + 1, sizeof *r->length);
    if (!r->length) {
        refuse(r, "needs more memory than there is");
        return;
    }
    r->dimensions = count;
    for (int64_t i = 0; i < count && !r->why; i++) {
        int64_t length;
        take_name(r, &length);
        r->length[i] = take_count(r);
        if (r->length[i] == 0 && records)
            refuse(r, "has two dimensions without a length in its header");
        records |= r->length[i] == 0;
    }
}

/* The dimensions of a variable, and the bytes of its values (in a record). */
static void take_shape(header_reader *r, netcdf_variable *v)
{
    int64_t values = 1;
    const int64_t rank = take_count(r);
    v->rank = rank < MOST_DIMENSIONS ? (int)rank : MOST_DIMENSIONS;
    for (int64_t d = 0; d < rank && !r->why; d++) {
        const int64_t number = take_count(r);
        if (r->why || number >= r->dimensions || (r->length[number] == 0 && d > 0)) {
            refuse(r, "has a variable with a dimension that does not exist, or with records that are not its first");
            return;
        }
        const int64_t length = r->length[number];
        if (d < NETCDF_MOST_RANK)
            v->dims[d] = length;
        v->record |= length == 0;
        if (length > 0 && values > INT64_MAX / 16 / length) {
            refuse(r, "has a variable of 2^59 values or more in its header");
            return;
        }
        values *= length > 0 ? length : 1;
    }
    v->bytes = values;
}

/* Reads the list of variables. */
static void take_variables(header_reader *r, netcdf_header *head, netcdf_variable *wanted, int count)
{
    const int64_t variables = take_list(r, TAG_VARIABLES, MOST_VARIABLES);
    for (int64_t i = 0; i < variables && !r->why; i++) {
        netcdf_variable v = {.found = true, .scale = 1};
        int64_t length;
        const char *name = take_name(r, &length);
        take_shape(r, &v);
        take_attributes(r, NULL, &v);
        v.type = (int)take_integer(r, 4);
        take_count(r); /* its size, which is not trusted: it is wrong for variables of 4 GiB and more */
        v.begin = take_integer(r, r->version == VERSION_1 ? 4 : 8);
        v.bytes *= type_bytes(v.type);
        if (!r->why && (v.begin < 0 || v.bytes == 0))
            refuse(r, "has a variable of unknown type, or at a negative offset, in its header");
        if (v.record && !r->why) {
            if (head->record_bytes > INT64_MAX / 2 - filled_up(v.bytes)) {
                refuse(r, "has records of 2^62 bytes or more in its header");
                return;
            }
            /* A single record variable is not filled up; one of floats or doubles need not be. */
            head->record_bytes += filled_up(v.bytes);
        }
        for (int w = 0; w < count && !r->why; w++)
            if (!wanted[w].found && name_is(name, length, wanted[w].name)) {
                v.name = wanted[w].name;
                wanted[w] = v;
            }
    }
}

bool is_classic_netcdf(const void *bytes, size_t size)
{
    const unsigned char *from = bytes;
    return size >= 4 && memcmp(from, "CDF", 3) == 0 &&
           (from[3] == VERSION_1 || from[3] == VERSION_2 || from[3] == VERSION_5);
}

bool netcdf_read_header(const unsigned char *bytes, size_t size, netcdf_header *out, netcdf_variable *wanted, int count,
                        const char **why)
{
    header_reader r = {.at = bytes + 4, .end = bytes + size};
    *out = (netcdf_header){0};
    if (!is_classic_netcdf(bytes, size)) {
        *why = "is no NetCDF file in the classic format";
        return false;
    }
    r.version = bytes[3];
    const int width = r.version == VERSION_5 ? 8 : 4;
    out->records = take_integer(&r, width); /* all bits set: unknown */
    if (out->records < -1)
        refuse(&r, "has a negative number of records");
    take_dimensions(&r);
    take_attributes(&r, out, NULL);
    take_variables(&r, out, wanted, count);
    free(r.length);
    *why = r.why;
    return !r.why;
}
