/* Text files, loaded into memory and read line by line. Private to the readers of molecules. */
#ifndef CIONIZE_INPUT_TEXT_H
#define CIONIZE_INPUT_TEXT_H

#include <stdint.h>

#include "text_words.h"
#include "voxfield/context.h"

/* The uncompressed text of a file. */
typedef struct input_text {
    char *data;
    size_t size, capacity;
} input_text;

/* Reads a file and uncompresses it if necessary. Free it with input_text_free, also after a failure. Errors:
 * VF_ERR_INPUT, VF_ERR_MEMORY, VF_ERR_CANCELLED. */
VF_MUST_CHECK vf_status input_text_read(vf_context *ctx, const char *path, input_text *out);
void input_text_free(input_text *text);

/* How files of another kind begin, and what they are: "is %s". */
typedef struct text_signature {
    const char *start;
    size_t size;
    const char *what;
} text_signature;

/* The first entry of a list that `text` begins with; NULL: none. A list ends with a NULL `start`. */
const text_signature *text_find_signature(text_piece text, const text_signature *list);

/* Fails if the file is not text. Moves `text` behind a byte order mark. */
VF_MUST_CHECK vf_status text_check(vf_context *ctx, const char *name, text_piece *text);

/* A text line by line. */
typedef struct text_lines {
    const char *next, *end; /* the unread text */
    const char *newline;    /* the first newline from `next` on; `end`: none; NULL: not searched yet */
    int64_t line;           /* the current line, from 1 */
} text_lines;

/* The next line without its end (LF, CR LF, or CR alone). False at the end of the text. */
bool text_next_line(text_lines *lines, text_piece *line);

/* Whether all lines after the current one are blank. */
bool text_rest_blank(text_lines lines);

/* Records an error in a line, as vf_fail: "NAME:LINE: ...". Always VF_ERR_INPUT. */
vf_status text_fail(vf_context *ctx, const char *name, int64_t line, const char *format, ...) VF_PRINTF(4, 5);

#endif
