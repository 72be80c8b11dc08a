/* The rows of fourier_sum_tuning.h as text: reads them, and replaces one. */
#ifndef TUNING_TABLE_H
#define TUNING_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "fourier_sum_backend.h"
#include "voxfield/context.h"

enum { TUNING_ROW_TEXT = 256 };

/* Reads a row as fourier_sum_tuning.h describes it, with anything after the comma. Returns false if the line is not a
 * row, or if its values cannot be launched. */
bool tuning_row_parse(const char *line, vf_fourier_tuning_row *row);

/* Writes a row and its line end. `device` becomes the comment after it, without characters that end a comment.
 * Returns false if it does not fit. */
bool tuning_row_format(const vf_fourier_tuning_row *row, const char *device, char text[TUNING_ROW_TEXT]);

/* Returns the text of a header in which this row replaces the one of the same compute capability, or, if there is
 * none, follows those of lesser ones. NULL: no row was found, or no memory. The caller frees it. */
char *tuning_table_replace(const char *header, const vf_fourier_tuning_row *row, const char *device);

/* The same for the file `path`, which is replaced completely or stays as it was. Errors: VF_ERR_INPUT (cannot be
 * read, has no table), VF_ERR_OUTPUT, VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status tuning_table_write(vf_context *ctx, const char *path, const vf_fourier_tuning_row *row,
                                           const char *device);

#endif
