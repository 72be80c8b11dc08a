/* The rows of fourier_sum_tuning.h as text: to read them, and to put a new one in their place. */
#ifndef TUNING_TABLE_H
#define TUNING_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "fourier_sum_backend.h"
#include "voxfield/context.h"

enum { TUNING_ROW_TEXT = 256 };

/* Reads a row: "    {{9, 0}, {256, 64, 8}, {128, 32, 4}}, ...", whatever follows the comma. false: the line is none, or
 * says what no launch could be. */
bool tuning_row_parse(const char *line, vf_fourier_tuning_row *row);

/* Writes a row and its line's end; `device` becomes the comment behind it, without what a comment could not hold.
 * false: it does not fit. */
bool tuning_row_format(const vf_fourier_tuning_row *row, const char *device, char text[TUNING_ROW_TEXT]);

/* The text of a header with this row in place of the one of the same compute capability, or, if there is none, behind
 * those of lesser ones. NULL: no row was found at all, or no memory. To be freed. */
char *tuning_table_replace(const char *header, const vf_fourier_tuning_row *row, const char *device);

/* The same in the file `path`, which is replaced whole or left as it was. Errors: VF_ERR_INPUT (cannot be read, has no
 * table), VF_ERR_OUTPUT, VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status tuning_table_write(vf_context *ctx, const char *path, const vf_fourier_tuning_row *row,
                                           const char *device);

#endif
