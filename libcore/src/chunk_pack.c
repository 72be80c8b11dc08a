#include "chunk_pack.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static size_t chunk_bytes(const vf_chunked_piece *piece)
{
    size_t bytes = piece->element;
    for (int d = 0; d < piece->rank; d++)
        bytes *= (size_t)piece->chunk[d];
    return bytes;
}

/* The number of chunks; and the corner of chunk number `c`, in C order. */
static int64_t chunk_count(const vf_chunked_piece *piece)
{
    int64_t chunks = 1;
    for (int d = 0; d < piece->rank; d++)
        chunks *= (piece->count[d] + piece->chunk[d] - 1) / piece->chunk[d];
    return chunks;
}

static void chunk_corner(const vf_chunked_piece *piece, int64_t c, int64_t *corner)
{
    for (int d = piece->rank - 1; d >= 0; d--) {
        int64_t along = (piece->count[d] + piece->chunk[d] - 1) / piece->chunk[d];
        corner[d] = c % along * piece->chunk[d];
        c /= along;
    }
}

/* Copies one chunk row by row; what lies outside the piece becomes zero. */
static void gather(const vf_chunked_piece *piece, const int64_t *corner, unsigned char *raw, size_t bytes)
{
    const int last = piece->rank - 1;
    const size_t row = (size_t)piece->chunk[last] * piece->element;
    const size_t used = (size_t)smaller(piece->count[last] - corner[last], piece->chunk[last]) * piece->element;
    int64_t at[VF_CHUNK_MAX_RANK] = {0};
    for (unsigned char *to = raw; to < raw + bytes; to += row) {
        int64_t from = 0;
        bool inside = true;
        for (int d = 0; d <= last; d++) {
            inside = inside && corner[d] + at[d] < piece->count[d];
            from = from * piece->count[d] + corner[d] + at[d];
        }
        size_t copied = inside ? used : 0;
        if (inside)
            memcpy(to, (const unsigned char *)piece->data + (size_t)from * piece->element, copied);
        memset(to + copied, 0, row - copied);
        for (int d = last - 1; d >= 0 && ++at[d] == piece->chunk[d]; d--)
            at[d] = 0;
    }
}

/* The first byte of every element, then the second bytes, and so on. */
static void shuffle(const unsigned char *raw, size_t bytes, size_t element, unsigned char *out)
{
    size_t n = bytes / element;
    for (size_t b = 0; b < element; b++)
        for (size_t i = 0; i < n; i++)
            out[b * n + i] = raw[i * element + b];
}

vf_status vf_pack_chunks(vf_context *ctx, const char *name, const vf_chunked_piece *piece, int level,
                         vf_store_chunk store, void *user)
{
    const size_t bytes = chunk_bytes(piece);
    const uLong most = compressBound((uLong)bytes);
    const int64_t chunks = chunk_count(piece);
    vf_status status = VF_OK; /* read and written in the ordered region only */
#pragma omp parallel num_threads((int)smaller(vf_context_threads(ctx), chunks))
    {
        unsigned char *raw = malloc(2 * bytes + most);
#pragma omp for ordered schedule(dynamic, 1)
        for (int64_t c = 0; c < chunks; c++) {
            int64_t corner[VF_CHUNK_MAX_RANK];
            uLongf packed = most;
            int result = Z_MEM_ERROR;
            chunk_corner(piece, c, corner);
            if (raw) {
                gather(piece, corner, raw, bytes);
                shuffle(raw, bytes, piece->element, raw + bytes);
                result = compress2(raw + 2 * bytes, &packed, raw + bytes, (uLong)bytes, level);
            }
#pragma omp ordered
            {
                if (status == VF_OK && result != Z_OK)
                    status = vf_fail(ctx, VF_ERR_MEMORY, "%s: no memory to compress the data", name);
                if (status == VF_OK)
                    status = store(user, corner, raw + 2 * bytes, packed);
            }
        }
        free(raw);
    }
    return status;
}
