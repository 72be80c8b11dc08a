#include "sort_pieces.h"

#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>

/* Both are aligned to 16 bytes, unless it is fewer bytes. */
static inline void stream(void *to, const void *from, size_t bytes)
{
    if (bytes < 16) {
        memcpy(to, from, bytes);
        return;
    }
    for (size_t i = 0; i < bytes; i += 16)
        _mm_stream_si128((void *)((char *)to + i), _mm_load_si128((const void *)((const char *)from + i)));
}

/* Orders streaming stores with others, which a barrier of threads does not. */
static inline void end_streaming(void)
{
    _mm_sfence();
}

bool sort_is_long(int64_t bytes)
{
    return bytes >= 16 << 20; /* they do not fit in the caches */
}
#else
static inline void stream(void *to, const void *from, size_t bytes)
{
    memcpy(to, from, bytes);
}

static inline void end_streaming(void)
{
}

/* Without streaming stores, lines only cost time. */
bool sort_is_long(int64_t bytes)
{
    (void)bytes;
    return false;
}
#endif

#define JOIN(f, k, v) sort_##f##_k##k##_v##v
#define JOINED(f, k, v) JOIN(f, k, v)
#define NAME(f) JOINED(f, KEY_BITS, VALUE_BITS)
#define KEY_OF(bits) uint##bits##_t
#define TYPE_OF(bits) KEY_OF(bits)
#define ORDERED_OF(bits) vf_ordered_u##bits
#define ORDER_OF(bits) ORDERED_OF(bits)
#define KEY TYPE_OF(KEY_BITS)
#define VALUE TYPE_OF(VALUE_BITS)
#define ORDERED ORDER_OF(KEY_BITS)
#define DISORDERED_OF(bits) vf_disordered_u##bits
#define DISORDER_OF(bits) DISORDERED_OF(bits)
#define DISORDERED DISORDER_OF(KEY_BITS)

#define KEY_BITS 8
#include "sort_pieces_values.inc"
#undef KEY_BITS
#define KEY_BITS 16
#include "sort_pieces_values.inc"
#undef KEY_BITS
#define KEY_BITS 32
#include "sort_pieces_values.inc"
#undef KEY_BITS
#define KEY_BITS 64
#include "sort_pieces_values.inc"
#undef KEY_BITS

const sort_pieces *sort_pieces_for(const vf_sort *plan)
{
#define ROW(k)                                                                                                         \
    {                                                                                                                  \
        &sort_pieces_k##k##_v0, &sort_pieces_k##k##_v32, &sort_pieces_k##k##_v64                                       \
    }
    static const sort_pieces *const all[4][3] = {ROW(8), ROW(16), ROW(32), ROW(64)};
    int key = 0;
    while (1 << key < plan->key_bytes)
        key++;
    return all[key][plan->value_bytes / 4];
}
