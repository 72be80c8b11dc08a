/* Voxfield - HDF5 files: datasets of float or double written and read in pieces, and attributes.
 *
 * HDF5's own error printing is off while these functions run; what HDF5 said is part of the message.
 * Calls are serialised inside, since HDF5 is often built without thread safety.
 */
#ifndef VOXFIELD_HDF5_IO_H
#define VOXFIELD_HDF5_IO_H

#include <stdint.h>

#include "voxfield/device.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vf_h5 vf_h5;
enum { VF_H5_MAX_RANK = 8 };

/* Creates a file that appears under its final name when it is committed (see output.h). Errors: VF_ERR_OUTPUT. */
VF_MUST_CHECK vf_status vf_h5_create(vf_context *ctx, const char *path, vf_h5 **out);
VF_MUST_CHECK vf_status vf_h5_commit(vf_h5 **file); /* *file becomes NULL either way */

/* Opens a file to read. Errors: VF_ERR_INPUT (missing, not HDF5, truncated). */
VF_MUST_CHECK vf_status vf_h5_open(vf_context *ctx, const char *path, vf_h5 **out);

/* Closes a file that was opened, or gives up one that was being created. NULL is allowed; *file becomes NULL. */
void vf_h5_close(vf_h5 **file);

/* Creates a dataset of `rank` dimensions (C order, last fastest), chunked as given (each chunk dimension at most the
 * dataset's) and compressed with shuffle + deflate at `level` 0-9 (0: not compressed). Errors: VF_ERR_OUTPUT. */
VF_MUST_CHECK vf_status vf_h5_dataset_create(vf_h5 *file, const char *name, vf_dtype type, int rank,
                                             const int64_t *dims, const int64_t *chunk, int level);

/* Type and dimensions of a dataset. `rank` gets at most VF_H5_MAX_RANK, else VF_ERR_INPUT. */
VF_MUST_CHECK vf_status vf_h5_dataset_shape(vf_h5 *file, const char *name, vf_dtype *type, int *rank, int64_t *dims);

/* Writes or reads the piece [start, start + count) of a dataset, in C order, from or to host memory of type `type`
 * (converted if the file's differs). Errors: VF_ERR_OUTPUT, VF_ERR_INPUT. */
VF_MUST_CHECK vf_status vf_h5_write(vf_h5 *file, const char *name, vf_dtype type, const int64_t *start,
                                    const int64_t *count, const void *data);
VF_MUST_CHECK vf_status vf_h5_read(vf_h5 *file, const char *name, vf_dtype type, const int64_t *start,
                                   const int64_t *count, void *data);

/* Attributes of an object ("/" or a dataset's name): UTF-8 text, or a vector of `n` doubles or integers (a scalar for
 * n=1). */
VF_MUST_CHECK vf_status vf_h5_attribute_text(vf_h5 *file, const char *object, const char *name, const char *text);
VF_MUST_CHECK vf_status vf_h5_attribute_doubles(vf_h5 *file, const char *object, const char *name, const double *values,
                                                int n);
VF_MUST_CHECK vf_status vf_h5_attribute_integers(vf_h5 *file, const char *object, const char *name,
                                                 const int64_t *values, int n);

/* Reads a vector attribute of exactly `n` doubles. Errors: VF_ERR_INPUT if it is missing or of another length. */
VF_MUST_CHECK vf_status vf_h5_attribute_get_doubles(vf_h5 *file, const char *object, const char *name, double *values,
                                                    int n);

#ifdef __cplusplus
}
#endif
#endif
