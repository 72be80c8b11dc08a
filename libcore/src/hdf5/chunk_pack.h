/* Packs an array into compressed chunks with all threads; HDF5's shuffle and deflate filters use one thread. Not
 * installed. */
#ifndef VOXFIELD_CHUNK_PACK_H
#define VOXFIELD_CHUNK_PACK_H

#include <stddef.h>
#include <stdint.h>

#include "voxfield/context.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { VF_CHUNK_MAX_RANK = 8 };

typedef struct vf_chunked_piece {
    const void *data; /* [count[0]] ... [count[rank-1]], elements of `element` bytes */
    size_t element;
    int rank; /* 1 to VF_CHUNK_MAX_RANK */
    int64_t count[VF_CHUNK_MAX_RANK];
    int64_t chunk[VF_CHUNK_MAX_RANK]; /* chunks that extend beyond the end are padded with zeros */
} vf_chunked_piece;

/* Takes the packed chunk whose first element is at `corner` of the piece. Called on the calling thread. */
typedef vf_status (*vf_store_chunk)(void *user, const int64_t *corner, const void *packed, size_t bytes);

/* Packs every chunk at deflate level 1 to 9 and passes them to `store`, in C order for any number of threads. `name` is
 * for messages. Errors: VF_ERR_MEMORY, and those of `store`; after the first error no chunk is stored. */
VF_MUST_CHECK vf_status vf_pack_chunks(vf_context *ctx, const char *name, const vf_chunked_piece *piece, int level,
                                       vf_store_chunk store, void *user);

#ifdef __cplusplus
}
#endif
#endif
