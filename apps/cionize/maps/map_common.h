/* What the map formats share: checks of the values to write, texts about the map's origin, and text files of many
 * numbers. */
#ifndef CIONIZE_MAP_COMMON_H
#define CIONIZE_MAP_COMMON_H

#include "map_format.h"
#include "voxfield/output.h"

/* ---- map_common.c ---- */

/* The common part of every format's state. */
typedef struct map_progress {
    vf_context *ctx;
    const map_info *info;
    const map_format *format;
    char *path;   /* a copy for messages */
    int64_t next; /* the first layer not yet written */
    double most;  /* largest |value| that the format can store */
} map_progress;

/* Starts a map, with `most` = DBL_MAX. Fails if the grid is invalid or has more points than the format can store
 * (VF_ERR_UNSUPPORTED). */
VF_MUST_CHECK vf_status map_begin(map_progress *map, vf_context *ctx, const map_format *format, const char *path,
                                  const map_info *info);

/* Values in one layer of the file; number of layers. */
int64_t map_layer_values(const map_progress *map);
int64_t map_layers(const map_progress *map);

/* Checks layers [first, first + count). They must follow the previous ones (VF_ERR_INTERNAL). Values must be finite,
 * with |value| at most map->most, because most readers fail on others, some silently (VF_ERR_OUTPUT, naming the
 * point). */
VF_MUST_CHECK vf_status map_take(map_progress *map, int64_t first, int64_t count, const void *values);

/* VF_ERR_INTERNAL if layers are missing. */
VF_MUST_CHECK vf_status map_complete(const map_progress *map);

/* Frees what map_begin allocated. */
void map_end(map_progress *map);

/* Line `line` (from 0) about the map's origin, as ASCII without control characters, cut to `size` - 1 characters. False
 * after the last line. */
bool map_provenance(const map_info *info, int line, char *text, size_t size);

/* The line about the map's error; empty if the method is exact. As long before the error is measured as afterwards. */
enum { MAP_ERROR_SIZE = 81 };
const char *map_error_line(const map_info *info, char text[MAP_ERROR_SIZE]);

/* ---- map_text.c: values as text, formatted (and compressed) by all threads ---- */

typedef struct map_text_layout {
    vf_dtype type;   /* of the values passed in */
    int digits;      /* significant digits: 9 keep a float exactly; with 12, numbers have fewer than 20 characters */
    int per_line;    /* values per line */
    int64_t row;     /* a line also ends after every `row` values, and after the last value */
    int64_t total;   /* values in the whole file */
    int width;       /* 0: a space between values; else each value right-justified in this width, with E for e */
    int compression; /* 0: plain; 1 to 9: gzip */
} map_text_layout;

typedef struct map_text map_text;

/* Opens the file. */
VF_MUST_CHECK vf_status map_text_open(vf_context *ctx, const char *path, const map_text_layout *layout, map_text **out);

/* Appends text as it is. */
VF_MUST_CHECK vf_status map_text_append(map_text *text, const char *string);
VF_MUST_CHECK vf_status map_text_printf(map_text *text, const char *format, ...) VF_PRINTF(2, 3);

/* Appends text, once a file, that map_text_replace replaces by another of the same length, before the commit. A pipe
 * keeps the first. */
VF_MUST_CHECK vf_status map_text_reserve(map_text *text, const char *string);
VF_MUST_CHECK vf_status map_text_replace(map_text *text, const char *string);

/* Appends `count` values. */
VF_MUST_CHECK vf_status map_text_values(map_text *text, const void *values, int64_t count);

/* Commit or discard the file and set *text to NULL. */
VF_MUST_CHECK vf_status map_text_commit(map_text **text);
void map_text_discard(map_text **text);

/* The state of a text format, and what text formats share (see map_format): a header, the values, a footer.
 * `layout`: type and total are filled in. `most`: the largest |value| that the format can store. text_map_error_line
 * appends the first `width` characters of the line about the error, if there is one, to the header; the commit fills in
 * what was measured. */
typedef struct text_map {
    map_progress map;
    map_text *text;
    int error_width; /* 0: no such line */
} text_map;
VF_MUST_CHECK vf_status text_map_error_line(text_map *state, const char *before, int width, const char *after);
VF_MUST_CHECK vf_status text_map_begin(vf_context *ctx, const map_format *format, const char *path,
                                       const map_info *info, map_text_layout layout, double most,
                                       vf_status (*write_header)(text_map *), void **out);
VF_MUST_CHECK vf_status text_map_write(void *state, int64_t first, int64_t count, const void *values);
VF_MUST_CHECK vf_status text_map_commit(void *state, const char *footer);
void text_map_discard(void *state);

#endif
