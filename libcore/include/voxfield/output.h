/* Voxfield - files that appear complete or not at all.
 *
 * An output is written to a file without a name in the directory of its final name, which it gets only after everything
 * is on disk. An interrupt, a full disk or a kill leaves the old file, or none, and nothing else. Where the file system
 * has no files without names (NFS, for example), it is a hidden file (".NAME.PID.part"), which a kill leaves. Special
 * files (/dev/null, a pipe) are written directly. /dev/stdout and /dev/fd/N append to the open file. Symbolic links are
 * followed: the link stays, and its target is replaced.
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

/* Opens the file. Fails here, before any work, if the directory is missing or not writable, or if the final
 * name is a directory. Errors: VF_ERR_OUTPUT, VF_ERR_MEMORY; *out is NULL then. */
VF_MUST_CHECK vf_status vf_output_open(vf_context *ctx, const char *path, vf_output **out);

/* The same, in place of a new file with one that others have made, `whole`, in the directory of the final name. Its bytes
 * stay unless they are written over. It gets the final name at the commit, and stays as it is if there is none. */
VF_MUST_CHECK vf_status vf_output_adopt(vf_context *ctx, const char *path, const char *whole, vf_output **out);

/* Where to write: a stream (owned by the output; do not close it). */
FILE *vf_output_stream(vf_output *output);
const char *vf_output_path(const vf_output *output); /* the final name, as given */

/* fwrite with errors reported: "PATH: cannot write: No space left on device". Errors: VF_ERR_OUTPUT. */
VF_MUST_CHECK vf_status vf_output_write(vf_output *output, const void *data, size_t bytes);
VF_MUST_CHECK vf_status vf_output_printf(vf_output *output, const char *format, ...) VF_PRINTF(2, 3);

/* Reports that a library has written `bytes` more bytes to the descriptor. From time to time this starts writing
 * them to disk while the program computes; otherwise vf_output_commit would wait for all of it. The functions above do
 * this themselves. */
void vf_output_written(vf_output *output, size_t bytes);

/* Whether the output is a pipe, a device or an open descriptor, which cannot be rewound. */
bool vf_output_direct(const vf_output *output);

/* Free bytes in the output's file system; UINT64_MAX if unknown. */
uint64_t vf_output_space(const vf_output *output);

/* Flushes, syncs, gives the file its name, and frees the output. On failure it leaves nothing, and the final name
 * alone. *output becomes NULL either way. Errors: VF_ERR_OUTPUT. */
VF_MUST_CHECK vf_status vf_output_commit(vf_output **output);

/* Whether the file name in `path` ends with one of the `extensions` (".dx.gz .dx", without regard to case) and is
 * longer than it. */
bool vf_path_has_extension(const char *path, const char *extensions);

/* Removes what was written and frees the output; *output becomes NULL. *output may be NULL: for `done:` labels. */
void vf_output_discard(vf_output **output);

#ifdef __cplusplus
}
#endif
#endif
