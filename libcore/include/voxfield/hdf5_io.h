/* Voxfield - HDF5 files: datasets of real or complex numbers written and read in pieces, and attributes.
 *
 * Complex numbers are compounds {r, i}, as h5py writes them; {real, imag} and {re, im} are read too, in any order.
 * A name is a path: "scan/data" and "/scan/data" are the same dataset.
 *
 * These functions turn HDF5's own error printing off and put HDF5's text into the message. Calls are serialised inside,
 * because HDF5 is often built without thread safety.
 */
#ifndef VOXFIELD_HDF5_IO_H
#define VOXFIELD_HDF5_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "voxfield/device.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vf_h5 vf_h5;
enum { VF_H5_MAX_RANK = 8 };

/* Creates a file that appears under its final name when it is committed (see output.h). Errors: VF_ERR_OUTPUT. */
VF_MUST_CHECK vf_status vf_h5_create(vf_context *ctx, const char *path, vf_h5 **out);
/* Like vf_h5_create, but the new file starts as a copy of the HDF5 file `source`; datasets and attributes can be added.
 * Additional errors: VF_ERR_INPUT, VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status vf_h5_create_copy(vf_context *ctx, const char *source, const char *path, vf_h5 **out);
VF_MUST_CHECK vf_status vf_h5_commit(vf_h5 **file); /* *file becomes NULL either way */

/* Opens a file to read. Errors: VF_ERR_INPUT (missing, not HDF5, truncated). */
VF_MUST_CHECK vf_status vf_h5_open(vf_context *ctx, const char *path, vf_h5 **out);

/* Closes an open file, or discards one that is being created. NULL is allowed; *file becomes NULL. */
void vf_h5_close(vf_h5 **file);

/* Whether the file has a group or dataset of that name; true for "/". */
bool vf_h5_exists(vf_h5 *file, const char *name);

/* Creates a dataset, and its groups, of `rank` dimensions (C order, last fastest), with the given chunks (each chunk
 * dimension at most the dataset's), compressed with shuffle + deflate at `level` 0-9 (0: not compressed). Errors:
 * VF_ERR_OUTPUT, VF_ERR_ARGUMENT (invalid type). */
VF_MUST_CHECK vf_status vf_h5_dataset_create(vf_h5 *file, const char *name, vf_dtype type, int rank,
                                             const int64_t *dims, const int64_t *chunk, int level);

/* The dimensions of a dataset, and the smallest type that holds its numbers without loss, if there is one. Errors:
 * VF_ERR_INPUT (no dataset, not numbers, or more than VF_H5_MAX_RANK dimensions). */
VF_MUST_CHECK vf_status vf_h5_dataset_shape(vf_h5 *file, const char *name, vf_dtype *type, int *rank, int64_t *dims);

/* Writes or reads the piece [start, start + count) of a dataset, in C order, from or to host memory of type `type`
 * (converted if the file's type differs, but not between real and complex). Errors: VF_ERR_OUTPUT, VF_ERR_INPUT,
 * VF_ERR_ARGUMENT (invalid type). */
VF_MUST_CHECK vf_status vf_h5_write(vf_h5 *file, const char *name, vf_dtype type, const int64_t *start,
                                    const int64_t *count, const void *data);
VF_MUST_CHECK vf_status vf_h5_read(vf_h5 *file, const char *name, vf_dtype type, const int64_t *start,
                                   const int64_t *count, void *data);

/* Attributes of an object ("/", or the name of a group or dataset): UTF-8 text, or a vector of `n` doubles or integers
 * (a scalar for n=1). */
VF_MUST_CHECK vf_status vf_h5_attribute_text(vf_h5 *file, const char *object, const char *name, const char *text);
VF_MUST_CHECK vf_status vf_h5_attribute_doubles(vf_h5 *file, const char *object, const char *name, const double *values,
                                                int n);
VF_MUST_CHECK vf_status vf_h5_attribute_integers(vf_h5 *file, const char *object, const char *name,
                                                 const int64_t *values, int n);

/* Whether the object exists and has the attribute. */
bool vf_h5_attribute_exists(vf_h5 *file, const char *object, const char *name);

/* Reads a vector attribute of exactly `n` numbers. Integers may be stored as floating point. Errors: VF_ERR_INPUT if it
 * is missing, of another length, or of another kind. */
VF_MUST_CHECK vf_status vf_h5_attribute_get_doubles(vf_h5 *file, const char *object, const char *name, double *values,
                                                    int n);
VF_MUST_CHECK vf_status vf_h5_attribute_get_integers(vf_h5 *file, const char *object, const char *name, int64_t *values,
                                                     int n);

/* Reads one text of less than `size` bytes, ended by 0. Errors: VF_ERR_INPUT if it is missing, not text, or longer;
 * VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status vf_h5_attribute_get_text(vf_h5 *file, const char *object, const char *name, char *text,
                                                 size_t size);

/* For everything else: calls `use` with the file's HDF5 identifier (hid_t), under the lock and with HDF5's printing
 * off. `use` returns NULL, or what failed ("write the images"), which becomes the message together with HDF5's text.
 * Errors: VF_ERR_OUTPUT, VF_ERR_INPUT. */
typedef const char *(*vf_h5_use)(void *user, int64_t file);
VF_MUST_CHECK vf_status vf_h5_call(vf_h5 *file, vf_h5_use use, void *user);

/* For programs, before any use of HDF5: leaves out what HDF5 does at exit, where it crashes if another library ends the
 * program for lack of memory. Files must have been closed. */
void vf_h5_for_program(void);

#ifdef __cplusplus
}
#endif
#endif
