/* Voxfield - gzip files made of blocks that threads compress independently.
 *
 * The file is one member, as old readers require: a header, raw deflate data, its checksum and length. Blocks end on a
 * byte boundary (Z_SYNC_FLUSH), so they can be concatenated; see RFC 1952 and pigz. The file has no name and no time:
 * the same blocks at the same level give the same bytes.
 */
#ifndef VOXFIELD_GZIP_H
#define VOXFIELD_GZIP_H

#include <stddef.h>
#include <stdint.h>

#include "voxfield/output.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A block, compressed. */
typedef struct vf_gzip_block {
    const void *packed;
    size_t packed_bytes; /* 0: not enough memory to compress it */
    uint32_t bytes;      /* uncompressed */
    uint32_t checksum;   /* CRC-32 of the uncompressed bytes */
} vf_gzip_block;

/* The most bytes that `bytes` bytes may take when compressed. */
size_t vf_gzip_bound(size_t bytes);

/* Compresses at level 0 (not at all) to 9 into `packed`, which has room for vf_gzip_bound(bytes) bytes; bytes < 2^31.
 * On any thread.
 * */
vf_gzip_block vf_gzip_pack(int level, const void *data, size_t bytes, void *packed);

/* The file: begin, blocks in their order, end. Errors: VF_ERR_OUTPUT; VF_ERR_MEMORY for a block without memory. */
typedef struct vf_gzip {
    vf_context *ctx;
    vf_output *output;
    uint32_t checksum;
    uint64_t length; /* of what was appended, uncompressed */
} vf_gzip;
VF_MUST_CHECK vf_status vf_gzip_begin(vf_gzip *file, vf_context *ctx, vf_output *output);
VF_MUST_CHECK vf_status vf_gzip_append(vf_gzip *file, const vf_gzip_block *block);
/* Accounts for a block that the caller writes over another one in the file, which has as many bytes, packed and not
 * (level 0 keeps their number). `end`: file->length when the old one had been appended. Errors: VF_ERR_INTERNAL. */
VF_MUST_CHECK vf_status vf_gzip_exchange(vf_gzip *file, const vf_gzip_block *was, uint64_t end,
                                         const vf_gzip_block *is);
VF_MUST_CHECK vf_status vf_gzip_end(vf_gzip *file); /* then commit the output */

#ifdef __cplusplus
}
#endif
#endif
