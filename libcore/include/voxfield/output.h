/* Voxfield - files that appear whole or not at all.
 *
 * An output is written to a temporary file in the directory of its final name (".NAME.PID.part") and renamed over the
 * final name only after everything is on disk. An interrupt, a full disk or a kill leaves the old file, or none.
 * Special files (/dev/null, a pipe) are written directly, and what /dev/stdout or /dev/fd/N stand for is written to as
 * it is open, behind what is there. A symbolic link is followed, so that the link stays and its target is replaced.
 */
#ifndef VOXFIELD_OUTPUT_H
#define VOXFIELD_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "voxfield/context.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vf_output vf_output;

/* Opens the temporary file. Fails at once, before any work is done, if the directory is missing or not writable, or if
 * the final name is a directory. Errors: VF_ERR_OUTPUT, VF_ERR_MEMORY; *out is NULL then. */
VF_MUST_CHECK vf_status vf_output_open(vf_context *ctx, const char *path, vf_output **out);

/* Where to write: a stream (owned by the output; do not close it), or the temporary file's name for libraries that open
 * files themselves. Use one of the two. */
FILE *vf_output_stream(vf_output *output);
const char *vf_output_temporary(const vf_output *output);
const char *vf_output_path(const vf_output *output); /* the final name, as it was given */

/* fwrite with errors reported: "PATH: cannot write: No space left on device". Errors: VF_ERR_OUTPUT. */
VF_MUST_CHECK vf_status vf_output_write(vf_output *output, const void *data, size_t bytes);
VF_MUST_CHECK vf_status vf_output_printf(vf_output *output, const char *format, ...) VF_PRINTF(2, 3);

/* Tells that a library has written so many bytes more to the temporary file: from time to time what is there then
 * begins its way to the disk, while the program computes, or all of it would wait for vf_output_commit. The functions
 * above do it themselves. */
void vf_output_written(vf_output *output, size_t bytes);

/* Whether what is written goes straight to a pipe, a device or an open descriptor, where nothing can be gone back to.
 */
bool vf_output_direct(const vf_output *output);

/* Bytes free in the file system that the output lies in; UINT64_MAX if that cannot be said. */
uint64_t vf_output_space(const vf_output *output);

/* Flushes, syncs, renames, and frees the output. On failure the temporary file is removed and the final name untouched.
 * *output becomes NULL either way. Errors: VF_ERR_OUTPUT. */
VF_MUST_CHECK vf_status vf_output_commit(vf_output **output);

/* Whether the file name in `path` ends with one of the `extensions` (".dx.gz .dx", without regard to case) and is
 * longer than it. */
bool vf_path_has_extension(const char *path, const char *extensions);

/* Removes the temporary file and frees the output; *output becomes NULL. A NULL *output is allowed: for `done:` labels.
 */
void vf_output_discard(vf_output **output);

#ifdef __cplusplus
}
#endif
#endif
