/* Voxfield - HDF5 files: datasets of real or complex numbers written and read in pieces, and attributes.
 *
 * Complex numbers are compounds {r, i}, as h5py writes them; {real, imag} and {re, im} are read too, in any order.
 * A name is a path: "scan/data" and "/scan/data" are the same dataset.
 *
 * These functions turn HDF5's own error printing off and put HDF5's text into the message. Calls are serialised inside,
 * because HDF5 is often built without thread safety.
 *
 * Files to read may come from strangers, and HDF5 is not safe with them. So where the system allows it, another process
 * without rights opens and reads them (sealed/sealed.h, docs/security.md), and this one only asks it questions. Links
 * to other files, data stored in other files, virtual datasets and filters of other programs are refused.
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
VF_MUST_CHECK vf_status vf_h5_commit(vf_h5 **file); /* *file becomes NULL either way */

/* Opens a file to read. Errors: VF_ERR_INPUT (missing, not HDF5, truncated), VF_ERR_MEMORY (also: no process). From
 * here on, every function that reads it fails with VF_ERR_INPUT if the file is damaged. */
VF_MUST_CHECK vf_status vf_h5_open(vf_context *ctx, const char *path, vf_h5 **out);

/* Makes a copy of the HDF5 file `source` at `path`, and calls `add` with it, to add datasets and attributes: in the
 * process that may be broken by the source, so what `add` changes in memory is lost, and it must not use several
 * threads. Errors: VF_ERR_INPUT, VF_ERR_OUTPUT, VF_ERR_MEMORY, those of `add`. */
typedef vf_status (*vf_h5_add)(vf_context *ctx, vf_h5 *file, void *user);
VF_MUST_CHECK vf_status vf_h5_extend(vf_context *ctx, const char *source, const char *path, vf_h5_add add, void *user);

/* Lets this process read files itself, as it does where there are no processes without rights. For tests. */
void vf_h5_read_here(bool here);

/* Closes an open file, or discards one that is being created. NULL is allowed; *file becomes NULL. */
void vf_h5_close(vf_h5 **file);

/* Whether the file has a group or dataset of that name; true for "/". */
bool vf_h5_exists(vf_h5 *file, const char *name);

/* Creates a dataset, and its groups, of `rank` dimensions (C order, last fastest), with the given chunks (each chunk
 * dimension at most the dataset's), compressed with shuffle + deflate at `level` 0-9 (0: not compressed). With `chunk`
 * NULL, which needs level 0, it lies in the file in one piece: vf_h5_read is fastest for such. Errors: VF_ERR_OUTPUT,
 * VF_ERR_ARGUMENT (invalid type). */
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
/* [n] texts; those that are NULL are left out. */
typedef struct vf_h5_text {
    const char *name, *text;
} vf_h5_text;
VF_MUST_CHECK vf_status vf_h5_attribute_texts(vf_h5 *file, const char *object, const vf_h5_text *texts, size_t n);
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

/* ---- everything else ---- */

/* Calls `use` with the identifier (hid_t) of a file that is being written, under the lock and with HDF5's printing off.
 * `use` returns NULL, or what failed ("write the images"), which becomes the message together with HDF5's text. Errors:
 * VF_ERR_OUTPUT; VF_ERR_INPUT for a file to read. */
typedef const char *(*vf_h5_use)(void *user, int64_t file);
VF_MUST_CHECK vf_status vf_h5_call(vf_h5 *file, vf_h5_use use, void *user);

/* For programs, before any use of HDF5: leaves out what HDF5 does at exit, where it crashes if another library ends the
 * program for lack of memory. Files must have been closed. */
void vf_h5_for_program(void);
/* Answers a question about an open file with HDF5's functions: puts bytes into `reply` (vf_h5_room and vf_h5_sent), or
 * fails with vf_h5_refuse. Runs in the process that reads the file: nothing that was written after vf_h5_open is there,
 * and pointers in the question mean nothing. */
typedef struct vf_reply vf_reply;
typedef vf_status (*vf_h5_answer)(void *file, const void *question, vf_reply *reply);

enum { VF_H5_QUESTION = 4096, VF_H5_PIECE = 2 << 20 }; /* bytes: of a question at most; of a reply's piece */

/* Asks `question` of `bytes`. The answer goes to `reply`, which has room for `most` bytes; *got is its size. With
 * `reply` NULL, it may have one piece, and *view points to it until the next call; copy from there before checking,
 * because a broken process could change it. Errors: VF_ERR_INPUT; those of the answer. */
VF_MUST_CHECK vf_status vf_h5_ask(vf_h5 *file, vf_h5_answer answer, const void *question, size_t bytes, void *reply,
                                  size_t most, size_t *got, const void **view);

/* Has the other process, if there is one, answer a question meanwhile that vf_h5_ask is likely to ask next, with the
 * same `most`, at most VF_H5_PIECE. A view from before stays valid until then. */
void vf_h5_ahead(vf_h5 *file, vf_h5_answer answer, const void *question, size_t bytes, size_t most);

/* For answers. Memory for the next `bytes` of the reply (at most VF_H5_PIECE; NULL: no room), and handing them over;
 * both for a copy of any size. */
void *vf_h5_room(vf_reply *reply, size_t bytes);
void vf_h5_sent(vf_reply *reply, size_t bytes);
bool vf_h5_put(vf_reply *reply, const void *data, size_t bytes);
/* The file's identifier (hid_t). */
int64_t vf_h5_id(void *file);
/* Records an error; the message continues with HDF5's reason. Returns VF_ERR_INPUT. */
vf_status vf_h5_refuse(void *file, const char *format, ...) VF_PRINTF(2, 3);
/* Opens the dataset `name` after checking its links, its storage and its filters. The caller closes *id. */
VF_MUST_CHECK vf_status vf_h5_dataset_open(void *file, const char *name, int64_t *id);
/* Checks that the links on the way to `name` stay within the file. */
VF_MUST_CHECK vf_status vf_h5_check_links(void *file, const char *name);
/* Where answers keep something from one question to the next; `release` frees it with the file. */
void **vf_h5_slot(void *file, void (*release)(void *kept));
/* Lets the process that reads use `bytes` more memory than files usually need, until this answer ends. */
bool vf_h5_more_memory(uint64_t bytes);

/* The size of an open file in bytes. */
int64_t vf_h5_bytes(const vf_h5 *file);

/* For --version: HDF5's version, how files are read, and whether this version is known to have holes. */
enum { VF_H5_ABOUT = 400 };
const char *vf_h5_about(char text[VF_H5_ABOUT]);

#ifdef __cplusplus
}
#endif
#endif
