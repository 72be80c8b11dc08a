#include "chunk_pack.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "voxfield/workpool.h"

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

/* Copies one chunk row by row; elements outside the piece become zero. */
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

/* Stores the first bytes of all elements, then the second bytes, and so on. */
static void shuffle(const unsigned char *raw, size_t bytes, size_t element, unsigned char *out)
{
    size_t n = bytes / element;
    for (size_t b = 0; b < element; b++)
        for (size_t i = 0; i < n; i++)
            out[b * n + i] = raw[i * element + b];
}

/* Slots of a work pool, each with room for a chunk: plain, shuffled, and packed. */
typedef struct packing {
    vf_context *ctx;
    const char *name;
    const vf_chunked_piece *piece;
    int level;
    vf_store_chunk store;
    void *user;
    size_t bytes; /* of a chunk */
    uLong most;   /* of a packed chunk */
    unsigned char *buffers;
    uLongf *packed; /* [slots] bytes */
} packing;

static unsigned char *slot_buffer(const packing *p, int slot)
{
    return p->buffers + (size_t)slot * (2 * p->bytes + p->most);
}

static vf_status pack(void *user, int worker, int slot, int64_t chunk)
{
    const packing *p = user;
    unsigned char *raw = slot_buffer(p, slot), *shuffled = raw + p->bytes;
    int64_t corner[VF_CHUNK_MAX_RANK];
    (void)worker;
    chunk_corner(p->piece, chunk, corner);
    gather(p->piece, corner, raw, p->bytes);
    shuffle(raw, p->bytes, p->piece->element, shuffled);
    p->packed[slot] = p->most;
    if (compress2(shuffled + p->bytes, &p->packed[slot], shuffled, (uLong)p->bytes, p->level) != Z_OK)
        return vf_fail(p->ctx, VF_ERR_MEMORY, "%s: not enough memory to compress the data", p->name);
    return VF_OK;
}

static vf_status hand_over(void *user, int slot, int64_t chunk)
{
    const packing *p = user;
    int64_t corner[VF_CHUNK_MAX_RANK];
    chunk_corner(p->piece, chunk, corner);
    return p->store(p->user, corner, slot_buffer(p, slot) + 2 * p->bytes, p->packed[slot]);
}

vf_status vf_pack_chunks(vf_context *ctx, const char *name, const vf_chunked_piece *piece, int level,
                         vf_store_chunk store, void *user)
{
    packing p = {.ctx = ctx, .name = name, .piece = piece, .level = level, .store = store, .user = user};
    vf_workpool pool = {.items = chunk_count(piece), .user = &p, .produce = pack, .consume = hand_over};
    vf_status status = VF_OK;
    pool.workers = (int)smaller(vf_context_threads(ctx), pool.items);
    pool.slots = pool.workers + 1;
    p.bytes = chunk_bytes(piece);
    p.most = compressBound((uLong)p.bytes);
    p.buffers = malloc((size_t)pool.slots * (2 * p.bytes + p.most));
    p.packed = calloc((size_t)pool.slots, sizeof *p.packed);
    if (!p.buffers || !p.packed)
        status = vf_fail(ctx, VF_ERR_MEMORY, "%s: not enough memory to compress the data", name);
    else
        status = vf_workpool_run(ctx, &pool);
    free(p.buffers);
    free(p.packed);
    return status;
}
