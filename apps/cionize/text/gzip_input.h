/* Input files, plain or compressed with gzip, read with zlib's gzread. */
#ifndef CIONIZE_GZIP_INPUT_H
#define CIONIZE_GZIP_INPUT_H

#include <zlib.h>

#include "voxfield/context.h"

/* Opens a file. *bytes: its size on disk; 0 if it is not a regular file. Errors: VF_ERR_INPUT, VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status gzip_input_open(vf_context *ctx, const char *path, gzFile *out, size_t *bytes);

/* Reports why gzread failed. VF_ERR_INPUT, VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status gzip_input_fail(vf_context *ctx, const char *path, gzFile file);

/* Reads up to `room` bytes; 0 at the end. Checks all errors of gzread. Errors: those of gzip_input_fail;
 * VF_ERR_CANCELLED. */
VF_MUST_CHECK vf_status gzip_input_read(vf_context *ctx, const char *path, gzFile file, void *to, size_t room,
                                        size_t *got);

#endif
