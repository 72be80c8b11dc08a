/* A table of rigid motion, one row for each readout (docs/reconstruction.md). */
#ifndef MOTION_TABLE_H
#define MOTION_TABLE_H

#include <stdint.h>

#include "voxfield/context.h"

typedef struct motion_row {
    double shift[3];   /* mm along x, y, z */
    double degrees[3]; /* about x, y, z */
    int64_t line;      /* of the file, from 1 */
} motion_row;

typedef struct motion_table {
    int64_t rows, lines;
    motion_row *row;
} motion_table;

/* Reads six numbers a line, separated by blanks, tabs or commas; empty lines and text after '#' are ignored. `out` is
 * overwritten; free it with motion_table_free. Errors, with file and line: VF_ERR_INPUT; VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status motion_table_read(vf_context *ctx, const char *path, motion_table *out);
/* The same from text in memory; `name` is for messages. */
VF_MUST_CHECK vf_status motion_table_parse(vf_context *ctx, const char *name, const char *text, int64_t size,
                                           motion_table *out);
void motion_table_free(motion_table *table);

#endif
