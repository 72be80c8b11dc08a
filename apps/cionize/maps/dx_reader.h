/* The words of an OpenDX file, and its header. Private to the reader of OpenDX maps. */
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
    size_t file_bytes; /* 0: not known */
    locale_t c_locale;
    char *buffer;           /* [DX_BUFFER_BYTES] */
    const char *next, *end; /* what is still to be read of it */
    bool last;              /* nothing of the file comes after it */
    int64_t line;           /* from 1 */
    bool positions, origin, array;
    int deltas;
    int64_t connections[3]; /* 0: not said */
    int64_t items;
} dx_reader;

/* Records an error of the line the last word is in, as vf_fail. Always VF_ERR_INPUT. */
vf_status dx_fail(const dx_reader *r, const char *format, ...) VF_PRINTF(2, 3);

/* The next word, which stays where it is until the next call; empty at the end of the file. */
VF_MUST_CHECK vf_status dx_next_word(dx_reader *r, text_piece *word);

/* The rest of the line, without its end. */
VF_MUST_CHECK vf_status dx_rest_of_line(dx_reader *r, text_piece *rest);

bool dx_is(text_piece word, const char *text);

/* Everything up to the first value: the map's grid, type and unit, and what does not agree among them. */
VF_MUST_CHECK vf_status dx_read_header(dx_reader *r);

#endif
