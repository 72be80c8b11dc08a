/* Voxfield - results that are made in pieces and outlive the run that makes them.
 *
 * A result is a row of `items` of equal size: layers of a map, images of a scan. A pieces file keeps the items that are
 * done, in any order, with what the result depends on (its key). It only grows: a header, then records of consecutive
 * items, each with checksums. A run that is killed while it writes a record leaves a torn one, which the next run cuts
 * off. Records are synced to disk at most every VF_PIECES_SYNC_SECONDS, and when the file is closed; only a machine
 * that fails loses records that were not.
 *
 * The items themselves may go to another file, each to its final place, such as the map that they make. Several pieces
 * files, of several processes, may then have the same other file. Their records hold only the checksums.
 *
 * Numbers in the file are as in memory; another byte order is refused. One thread at a time. Texts of messages begin
 * with the file's path.
 */
#ifndef VOXFIELD_PIECES_H
#define VOXFIELD_PIECES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "voxfield/context.h"

#ifdef __cplusplus
extern "C" {
#endif

#define VF_PIECES_SYNC_SECONDS 5

typedef struct vf_pieces vf_pieces;

/* What a file holds. The strings are lines that end with '\n'; vf_pieces copies them. */
typedef struct vf_pieces_result {
    const char *key;   /* what the result depends on, "NAME VALUE" a line: the same key, the same bytes */
    const char *maker; /* how it is made, if several ways have equal keys but other rounding errors; "": one way */
    int64_t items;     /* >= 1 */
    size_t item_bytes; /* >= 1 */
    const char *data; /* the file that the items go to, item n at data_begin + n item_bytes; NULL: to the pieces file */
    int64_t data_begin; /* >= 1, of `data` */
    bool makes_data;    /* makes `data` if it is not there */
} vf_pieces_result;

/* Makes a new file, and locks it. Errors: VF_ERR_OUTPUT (also if it exists), VF_ERR_MEMORY. *out is NULL then. */
VF_MUST_CHECK vf_status vf_pieces_create(vf_context *ctx, const char *path, const vf_pieces_result *result,
                                         vf_pieces **out);

/* Opens an existing file to add to it, and locks it. Cuts off a torn record, and forgets records that do not match
 * their checksums, with a warning. A file that ends in its header is begun anew. Errors: VF_ERR_INPUT (another key or
 * maker: the message has the first line that differs; not such a file; damaged), VF_ERR_OUTPUT (in use, not
 * writable), VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status vf_pieces_resume(vf_context *ctx, const char *path, const vf_pieces_result *result,
                                         vf_pieces **out);

/* Opens `count` files to read, as one. All must have the key, and the same maker: result->maker is not compared. Errors: as
 * above; VF_ERR_INPUT if one is still being written. */
VF_MUST_CHECK vf_status vf_pieces_gather(vf_context *ctx, int count, const char *const *paths,
                                         const vf_pieces_result *result, vf_pieces **out);

/* The maker of the files. */
const char *vf_pieces_maker(const vf_pieces *pieces);

/* How many of the items [first, behind) are there. */
int64_t vf_pieces_count(const vf_pieces *pieces, int64_t first, int64_t behind);

/* The first run of items at or after `from` that are there (or are not), within [from, behind). False: none. */
bool vf_pieces_next(const vf_pieces *pieces, bool there, int64_t from, int64_t behind, int64_t *first, int64_t *end);

/* Adds items [first, first + count): `data` has them one after the other, in host memory. Items that are there are not
 * replaced. If this fails, the file keeps what it had. Errors: VF_ERR_OUTPUT. */
VF_MUST_CHECK vf_status vf_pieces_add(vf_pieces *pieces, int64_t first, int64_t count, const void *data);

/* Reads an item that is there (VF_ERR_INTERNAL otherwise) into host memory. Errors: VF_ERR_INPUT. */
VF_MUST_CHECK vf_status vf_pieces_get(vf_pieces *pieces, int64_t item, void *data);

/* Writes what was added to the disk. Errors: VF_ERR_OUTPUT. */
VF_MUST_CHECK vf_status vf_pieces_sync(vf_pieces *pieces);

/* Syncs and closes the file, which stays; *pieces becomes NULL. *pieces may be NULL. Errors: VF_ERR_OUTPUT. */
VF_MUST_CHECK vf_status vf_pieces_close(vf_pieces **pieces);

/* The same, and removes the files, but not that of the items. */
void vf_pieces_remove(vf_pieces **pieces);

#ifdef __cplusplus
}
#endif
#endif
