/* Files to read, plain or compressed with gzip, by zlib's gzread. */
#ifndef CIONIZE_GZIP_INPUT_H
#define CIONIZE_GZIP_INPUT_H

#include <zlib.h>

#include "voxfield/context.h"

/* Opens a file; *bytes: its size as it lies there, 0 if it is no regular file. Errors: VF_ERR_INPUT,
 * VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status gzip_input_open(vf_context *ctx, const char *path, gzFile *out, size_t *bytes);

/* Says why gzread failed. VF_ERR_INPUT, VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status gzip_input_fail(vf_context *ctx, const char *path, gzFile file);

/* gzread of up to `room` bytes, 0 at the end, looking at everything that can be wrong. Errors: those of
 * gzip_input_fail; VF_ERR_CANCELLED. */
VF_MUST_CHECK vf_status gzip_input_read(vf_context *ctx, const char *path, gzFile file, void *to, size_t room,
                                        size_t *got);

#endif
