/* Voxfield - opening files that may be named pipes.
 *
 * open() of a named pipe waits for the other end, for ever if none comes, and a signal that only cancels the context
 * does not end the wait. These functions wait as open() does, but return when the context is cancelled.
 */
#ifndef VOXFIELD_INPUT_H
#define VOXFIELD_INPUT_H

#include "voxfield/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Opens a file to read; of a pipe, waits for data, or for a writer that leaves without. close() *fd. Errors:
 * VF_ERR_INPUT ("PATH: cannot open: No such file or directory; ..."), VF_ERR_CANCELLED; *fd is -1 then. */
VF_MUST_CHECK vf_status vf_input_open(vf_context *ctx, const char *path, int *fd);

/* Opens an existing pipe or device to write; of a pipe, waits for a reader. Returns -1 with errno set if this fails;
 * ECANCELED: the context was cancelled. */
int vf_open_to_write(const vf_context *ctx, const char *path);

#ifdef __cplusplus
}
#endif
#endif
