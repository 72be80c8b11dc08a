/* Words and header of an OpenDX file. Private to the reader of OpenDX maps. */
#ifndef CIONIZE_DX_READER_H
#define CIONIZE_DX_READER_H

#include "map_reader.h"
#include "text/gzip_input.h"
#include "text/text_number.h"

enum { DX_BUFFER_BYTES = 4 << 20 };

typedef struct dx_reader {
    vf_context *ctx;
    loaded_map *map;
    gzFile file;
    size_t file_bytes; /* 0: unknown */
    locale_t c_locale;
    char *buffer;           /* [DX_BUFFER_BYTES] */
    const char *next, *end; /* the unread part of the buffer */
    bool last;              /* the buffer has the end of the file */
    int64_t line;           /* from 1 */
    bool positions, origin, array;
    int deltas;
    int64_t connections[3]; /* 0: not stated */
    int64_t items;
} dx_reader;

/* Records an error in the line of the last word, as vf_fail. Always VF_ERR_INPUT. */
vf_status dx_fail(const dx_reader *r, const char *format, ...) VF_PRINTF(2, 3);

/* The next word, valid until the next call; empty at the end of the file. */
VF_MUST_CHECK vf_status dx_next_word(dx_reader *r, text_piece *word);

/* The rest of the line without its end. */
VF_MUST_CHECK vf_status dx_rest_of_line(dx_reader *r, text_piece *rest);

bool dx_is(text_piece word, const char *text);

/* Reads up to the first value: grid, type and unit. Checks that they are consistent. */
VF_MUST_CHECK vf_status dx_read_header(dx_reader *r);

#endif
