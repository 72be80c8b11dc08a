/* The header of NetCDF files in the classic format and its two forms for large files (CDF-1, CDF-2, CDF-5), as Unidata
 * specifies it. NetCDF-4 files are HDF5. Private to amber_netcdf.c. */
#ifndef CIONIZE_CLASSIC_NETCDF_H
#define CIONIZE_CLASSIC_NETCDF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NETCDF_FLOAT = 5, NETCDF_DOUBLE = 6, NETCDF_MOST_RANK = 3, NETCDF_TEXT = 80 };

/* A variable that is looked for. */
typedef struct netcdf_variable {
    const char *name; /* set by the caller */
    bool found;
    int type;                       /* NETCDF_FLOAT, ... */
    int rank;                       /* may be larger than NETCDF_MOST_RANK: then dims are only the first */
    int64_t dims[NETCDF_MOST_RANK]; /* of a record variable, dims[0] is 0 */
    bool record;                    /* whether it has a part in each record */
    int64_t begin;                  /* offset of its first value */
    int64_t bytes;                  /* of its values; of those in one record */
    char units[NETCDF_TEXT];        /* attribute, or "" */
    double scale;                   /* attribute scale_factor, or 1 */
} netcdf_variable;

typedef struct netcdf_header {
    int64_t records;      /* -1: unknown, by the file's size */
    int64_t record_bytes; /* from one record to the next */
    char conventions[NETCDF_TEXT];
} netcdf_header;

bool is_classic_netcdf(const void *bytes, size_t size);

/* Replaces what is not printable, for messages. */
void netcdf_printable(char text[NETCDF_TEXT]);

/* Reads a header from `bytes`, the first `size` bytes of a file, and finds `count` variables. If it is damaged or longer, *why is
 * the end of a sentence. */
bool netcdf_read_header(const unsigned char *bytes, size_t size, netcdf_header *out, netcdf_variable *wanted, int count,
                        const char **why);

#endif
