/* The header of an OpenDX file. Private to the reader of OpenDX maps. */
#ifndef CIONIZE_DX_READER_H
#define CIONIZE_DX_READER_H

#include "map_words.h"

typedef struct dx_reader {
    map_words w;
    bool positions, origin, array;
    int deltas;
    int64_t connections[3]; /* 0: not stated */
} dx_reader;

/* Reads up to the first value: grid, type and unit. Checks that they are consistent. */
VF_MUST_CHECK vf_status dx_read_header(dx_reader *r);

#endif
