/* Copies on the CPU: threads take pieces of a fixed length. Large arrays are written with streaming stores, which
 * bypass the caches. Otherwise every line would be read before it is written, a third of the traffic. */
#include <string.h>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "copy_internal.h"
#include "voxfield/team_size.h"

/* Bytes. PIECE: a thread's unit of work; source and destination fit in its second-level cache. STREAM_FROM: the
 * smallest array written with streaming stores (last-level caches hold some tens of MiB). */
enum { PIECE = 64 << 10, STREAM_FROM = 32 << 20 };
/* Tiles of this many elements square fit in the first-level cache for any pitch. Rows that are a power of two apart
 * share only a few cache sets. So a tile is transposed in local memory, and both arrays are accessed along rows. */
enum { TILE = 32 };

/* Elements of 1, 4, 8 and 16 bytes of any type; complex numbers are only aligned to their parts. */
typedef uint8_t bytes1;
typedef uint32_t __attribute__((may_alias)) bytes4;
typedef uint64_t __attribute__((may_alias, aligned(4))) bytes8;
typedef struct __attribute__((may_alias)) bytes16 {
    uint64_t part[2];
} bytes16;

/* For `bytes` to move: 8 a nanosecond. */
static int threads_for_bytes(vf_queue *queue, int64_t bytes)
{
    return vf_threads_for(vf_device_context(vf_queue_device(queue)), bytes / 8);
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* ---- moving bytes ---- */

/* Writes whole 64-byte lines with streaming stores, to an aligned address; returns the number of bytes. */
typedef size_t stream_lines(char *y, const char *x, size_t bytes);

#if defined(__SSE2__)
static size_t stream_lines_sse2(char *y, const char *x, size_t bytes)
{
    size_t at = 0;
    for (; at + 64 <= bytes; at += 64) {
        const __m128i *from = (const __m128i *)(const void *)(x + at);
        const __m128i a = _mm_loadu_si128(from), b = _mm_loadu_si128(from + 1), c = _mm_loadu_si128(from + 2),
                      d = _mm_loadu_si128(from + 3);
        __m128i *to = (__m128i *)(void *)(y + at);
        _mm_stream_si128(to, a);
        _mm_stream_si128(to + 1, b);
        _mm_stream_si128(to + 2, c);
        _mm_stream_si128(to + 3, d);
    }
    return at;
}

__attribute__((target("avx512f"))) static size_t stream_lines_avx512(char *y, const char *x, size_t bytes)
{
    size_t at = 0;
    for (; at + 64 <= bytes; at += 64)
        _mm512_stream_si512((__m512i *)(void *)(y + at), _mm512_loadu_si512(x + at));
    return at;
}
#endif

/* The streaming function for a copy of `bytes` in all; NULL: use normal stores. */
static stream_lines *past_caches(int64_t bytes)
{
#if defined(__SSE2__)
    if (bytes >= STREAM_FROM)
        return vf_cpu_isa() >= VF_ISA_AVX512 ? stream_lines_avx512 : stream_lines_sse2;
#endif
    (void)bytes;
    return NULL;
}

/* Writes `bytes` from `x` to `y`. With streaming stores, the thread must call publish at the end. */
static void move(char *y, const char *x, size_t bytes, stream_lines *past)
{
    size_t done = 0;
    if (past && bytes >= 128) {
        done = (64 - ((uintptr_t)y & 63)) & 63;
        memcpy(y, x, done);
        done += past(y + done, x + done, bytes - done);
    }
    memcpy(y + done, x + done, bytes - done);
}

/* Orders streaming stores with others; a barrier of threads does not. */
static void publish(stream_lines *past)
{
#if defined(__SSE2__)
    if (past)
        _mm_sfence();
#else
    (void)past;
#endif
}

static vf_status copy(vf_queue *queue, size_t bytes, const void *x, void *y)
{
    const int64_t pieces = (int64_t)((bytes + PIECE - 1) / PIECE);
    stream_lines *past = past_caches((int64_t)bytes);
#pragma omp parallel num_threads(threads_for_bytes(queue, (int64_t)bytes))
    {
#pragma omp for schedule(static) nowait
        for (int64_t p = 0; p < pieces; p++) {
            const size_t at = (size_t)p * PIECE;
            move((char *)y + at, (const char *)x + at, bytes - at < PIECE ? bytes - at : PIECE, past);
        }
        publish(past);
    }
    return VF_OK;
}

static vf_status box(vf_queue *queue, const int64_t counts[3], const void *x, vf_pitch x_pitch, void *y,
                     vf_pitch y_pitch)
{
    const int64_t in_row = (counts[0] + PIECE - 1) / PIECE, pieces = in_row * counts[1] * counts[2];
    const int64_t bytes = counts[0] * counts[1] * counts[2];
    stream_lines *past = past_caches(bytes);
#pragma omp parallel num_threads(threads_for_bytes(queue, bytes))
    {
#pragma omp for schedule(static) nowait
        for (int64_t p = 0; p < pieces; p++) {
            const int64_t i = p % in_row * PIECE, j = p / in_row % counts[1], k = p / in_row / counts[1];
            move((char *)y + (i + j * y_pitch.row + k * y_pitch.plane),
                 (const char *)x + (i + j * x_pitch.row + k * x_pitch.plane), (size_t)least(PIECE, counts[0] - i),
                 past);
        }
        publish(past);
    }
    return VF_OK;
}

/* ---- elements ---- */

/* Runs `body` for ranges [at, end) of n elements, on several threads. */
#define FOR_PIECES(queue, size, n, body)                                                                               \
    do {                                                                                                               \
        const int64_t step_ = PIECE / (int64_t)(size), pieces_ = ((n) + step_ - 1) / step_;                            \
        const int threads_ = threads_for_bytes(queue, (n) * (int64_t)(size));                                          \
        _Pragma("omp parallel for schedule(static) num_threads(threads_)") for (int64_t piece_ = 0; piece_ < pieces_;  \
                                                                                piece_++)                              \
        {                                                                                                              \
            const int64_t at = piece_ * step_, end = least(at + step_, n);                                             \
            body;                                                                                                      \
        }                                                                                                              \
    } while (0)

#define DEFINE_ELEMENTS(type)                                                                                          \
    static void gather_##type(int64_t at, int64_t end, const uint32_t *restrict index, const type *restrict x,         \
                              type *restrict y)                                                                        \
    {                                                                                                                  \
        for (int64_t i = at; i < end; i++)                                                                             \
            y[i] = x[index[i]];                                                                                        \
    }                                                                                                                  \
    static void scatter_##type(int64_t at, int64_t end, const uint32_t *restrict index, const type *restrict x,        \
                               type *restrict y)                                                                       \
    {                                                                                                                  \
        for (int64_t i = at; i < end; i++)                                                                             \
            y[index[i]] = x[i];                                                                                        \
    }                                                                                                                  \
    static inline __attribute__((always_inline)) void turn_##type(int rows, int columns, const type *restrict x,       \
                                                                  int64_t x_row, type *restrict y, int64_t y_row)      \
    {                                                                                                                  \
        type tile[TILE][TILE];                                                                                         \
        for (int i = 0; i < rows; i++)                                                                                 \
            memcpy(tile[i], x + i * x_row, (size_t)columns * sizeof *x);                                               \
        for (int j = 0; j < columns; j++)                                                                              \
            for (int i = 0; i < rows; i++)                                                                             \
                y[j * y_row + i] = tile[i][j];                                                                         \
    }                                                                                                                  \
    static void transpose_##type(int64_t rows, int64_t columns, const type *restrict x, int64_t x_row,                 \
                                 type *restrict y, int64_t y_row)                                                      \
    {                                                                                                                  \
        if (rows == TILE && columns == TILE)                                                                           \
            turn_##type(TILE, TILE, x, x_row, y, y_row);                                                               \
        else                                                                                                           \
            turn_##type((int)rows, (int)columns, x, x_row, y, y_row);                                                  \
    }
DEFINE_ELEMENTS(bytes1)
DEFINE_ELEMENTS(bytes4)
DEFINE_ELEMENTS(bytes8)
DEFINE_ELEMENTS(bytes16)
#undef DEFINE_ELEMENTS

static vf_status gather(vf_queue *queue, size_t size, int64_t n, const uint32_t *index, const void *x, void *y)
{
    if (size == 1)
        FOR_PIECES(queue, size, n, gather_bytes1(at, end, index, x, y));
    else if (size == 4)
        FOR_PIECES(queue, size, n, gather_bytes4(at, end, index, x, y));
    else if (size == 8)
        FOR_PIECES(queue, size, n, gather_bytes8(at, end, index, x, y));
    else
        FOR_PIECES(queue, size, n, gather_bytes16(at, end, index, x, y));
    return VF_OK;
}

static vf_status scatter(vf_queue *queue, size_t size, int64_t n, const uint32_t *index, const void *x, void *y)
{
    if (size == 1)
        FOR_PIECES(queue, size, n, scatter_bytes1(at, end, index, x, y));
    else if (size == 4)
        FOR_PIECES(queue, size, n, scatter_bytes4(at, end, index, x, y));
    else if (size == 8)
        FOR_PIECES(queue, size, n, scatter_bytes8(at, end, index, x, y));
    else
        FOR_PIECES(queue, size, n, scatter_bytes16(at, end, index, x, y));
    return VF_OK;
}

/* Makes a piece filled with copies of one element, and copies it everywhere. */
static vf_status fill(vf_queue *queue, size_t size, int64_t n, const void *value, void *y)
{
    enum { COPIES = 4096 };
    _Alignas(64) char copies[COPIES];
    stream_lines *past = past_caches(n * (int64_t)size);
    memcpy(copies, value, size);
    for (size_t made = size; made < COPIES; made *= 2) /* both are powers of two */
        memcpy(copies + made, copies, made);
    FOR_PIECES(queue, size, n, {
        for (int64_t byte = at * (int64_t)size; byte < end * (int64_t)size; byte += COPIES)
            move((char *)y + byte, copies, (size_t)least(COPIES, end * (int64_t)size - byte), past);
        publish(past);
    });
    return VF_OK;
}

static vf_status transpose(vf_queue *queue, size_t size, int64_t batch, int64_t rows, int64_t columns, const void *x,
                           vf_pitch x_pitch, void *y, vf_pitch y_pitch)
{
    const int64_t down = (rows + TILE - 1) / TILE, across = (columns + TILE - 1) / TILE, tiles = down * across * batch;
    /* Down a matrix first, so that consecutive writes are neighbours. */
#pragma omp parallel for schedule(static) num_threads(threads_for_bytes(queue, batch *rows *columns *(int64_t)size))
    for (int64_t t = 0; t < tiles; t++) {
        const int64_t i = t % down * TILE, b = t / down % batch, j = t / down / batch * TILE;
        const int64_t here_rows = least(TILE, rows - i), here_columns = least(TILE, columns - j);
        const void *from = (const char *)x + (b * x_pitch.plane + i * x_pitch.row + j) * (int64_t)size;
        void *to = (char *)y + (b * y_pitch.plane + j * y_pitch.row + i) * (int64_t)size;
        if (size == 1)
            transpose_bytes1(here_rows, here_columns, from, x_pitch.row, to, y_pitch.row);
        else if (size == 4)
            transpose_bytes4(here_rows, here_columns, from, x_pitch.row, to, y_pitch.row);
        else if (size == 8)
            transpose_bytes8(here_rows, here_columns, from, x_pitch.row, to, y_pitch.row);
        else
            transpose_bytes16(here_rows, here_columns, from, x_pitch.row, to, y_pitch.row);
    }
    return VF_OK;
}

const vf_copy_ops vf_copy_cpu = {copy, fill, gather, scatter, box, transpose};
