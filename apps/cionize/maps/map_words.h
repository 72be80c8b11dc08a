/* The words and values of text files with maps. Private to the readers of maps. */
#ifndef CIONIZE_MAP_WORDS_H
#define CIONIZE_MAP_WORDS_H

#include "map_reader.h"
#include "text/gzip_input.h"
#include "text/text_words.h"

enum { WORDS_BUFFER_BYTES = 4 << 20 };

typedef struct map_words {
    vf_context *ctx;
    loaded_map *map;
    gzFile file;
    size_t file_bytes; /* 0: unknown */
    locale_t c_locale;
    char *buffer;           /* [WORDS_BUFFER_BYTES] */
    const char *next, *end; /* the unread part of the buffer */
    bool last;              /* the buffer has the end of the file */
    int64_t line;           /* from 1 */
    int64_t items;          /* values that the file should have */
} map_words;

/* Opens map->path. Close it with words_close, also after a failure. Errors: VF_ERR_INPUT, VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status words_open(vf_context *ctx, loaded_map *map, map_words *out);

/* Closes the file, which checks that all of a compressed one was there. Returns `status` if that is a failure. */
VF_MUST_CHECK vf_status words_close(map_words *r, vf_status status);

/* Records an error in the line of the last word, as vf_fail. Always VF_ERR_INPUT. */
vf_status words_fail(const map_words *r, const char *format, ...) VF_PRINTF(2, 3);

/* The next word, valid until the next call; empty at the end of the file. */
VF_MUST_CHECK vf_status words_next(map_words *r, text_piece *word);

/* The rest of the line without its end. */
VF_MUST_CHECK vf_status words_rest_of_line(map_words *r, text_piece *rest);

static inline bool words_is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Whether a word follows the values of an OpenDX file. */
bool words_end_values(text_piece word);

/* Checks that the file can hold `items` values. VF_ERR_INPUT. */
VF_MUST_CHECK vf_status words_check_room(const map_words *r);

/* Reads map->grid's values, z fastest, x slowest, into map->values, which it allocates. Errors: VF_ERR_INPUT (a value is missing,
 * no number, or not finite; names line and grid point), VF_ERR_MEMORY, VF_ERR_CANCELLED. */
VF_MUST_CHECK vf_status words_read_values(map_words *r);

#endif
