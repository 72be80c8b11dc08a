#include "voxfield/gzip.h"

#include <zlib.h>

enum {
    MEMORY_LEVEL = 8,  /* zlib's default */
    RAW_DEFLATE = -15, /* zlib's largest window, without header and checksum */
    GZIP_HEADER = 10,
};

size_t vf_gzip_bound(size_t bytes)
{
    return compressBound((uLong)bytes) + GZIP_HEADER; /* the flush adds 5 bytes */
}

vf_gzip_block vf_gzip_pack(int level, const void *data, size_t bytes, void *packed)
{
    vf_gzip_block block = {.packed = packed, .bytes = (uint32_t)bytes};
    const size_t room = vf_gzip_bound(bytes);
    z_stream stream = {.next_in = (z_const Bytef *)data, .avail_in = (uInt)bytes, .next_out = (Bytef *)packed};
    stream.avail_out = (uInt)room;
    if (deflateInit2(&stream, level, Z_DEFLATED, RAW_DEFLATE, MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK)
        return block;
    int result = deflate(&stream, Z_SYNC_FLUSH);
    if (result == Z_OK && stream.avail_in == 0 && stream.avail_out > 0)
        block.packed_bytes = room - stream.avail_out;
    deflateEnd(&stream);
    block.checksum = (uint32_t)crc32(crc32(0, NULL, 0), (const Bytef *)data, (uInt)bytes);
    return block;
}

vf_status vf_gzip_begin(vf_gzip *file, vf_context *ctx, vf_output *output)
{
    /* No name and no time. System 3 is Unix. */
    static const unsigned char header[GZIP_HEADER] = {0x1f, 0x8b, Z_DEFLATED, 0, 0, 0, 0, 0, 0, 3};
    *file = (vf_gzip){.ctx = ctx, .output = output, .checksum = (uint32_t)crc32(0, NULL, 0)};
    return vf_output_write(output, header, sizeof header);
}

vf_status vf_gzip_append(vf_gzip *file, const vf_gzip_block *block)
{
    if (block->packed_bytes == 0)
        return vf_fail(file->ctx, VF_ERR_MEMORY, "%s: not enough memory to compress the data",
                       vf_output_path(file->output));
    file->checksum = (uint32_t)crc32_combine(file->checksum, block->checksum, (z_off_t)block->bytes);
    file->length += block->bytes;
    return vf_output_write(file->output, block->packed, block->packed_bytes);
}

/* Checksums are linear: a block's own, moved past all that follows, is one summand of the whole. */
vf_status vf_gzip_exchange(vf_gzip *file, const vf_gzip_block *was, uint64_t end, const vf_gzip_block *is)
{
    const z_off_t behind = (z_off_t)(file->length - end);
    if (was->bytes != is->bytes || was->packed_bytes != is->packed_bytes || is->packed_bytes == 0)
        return vf_fail(file->ctx, VF_ERR_INTERNAL, "%s: a block of another size", vf_output_path(file->output));
    file->checksum ^= (uint32_t)(crc32_combine(was->checksum, 0, behind) ^ crc32_combine(is->checksum, 0, behind));
    return VF_OK;
}

vf_status vf_gzip_end(vf_gzip *file)
{
    /* An empty last block, then checksum and length, low byte first. */
    unsigned char trailer[10] = {0x03, 0x00};
    for (int i = 0; i < 4; i++) {
        trailer[2 + i] = (unsigned char)(file->checksum >> 8 * i);
        trailer[6 + i] = (unsigned char)(file->length >> 8 * i);
    }
    return vf_output_write(file->output, trailer, sizeof trailer);
}
