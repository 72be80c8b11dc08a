/* The CPU's peers: a copy with streaming stores, so no line is read before it is overwritten, and a read. Compiled
 * for this machine, like the other plain programs. */
#include "bench_peers.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
enum { WIDTH = 16 };
#define STREAM(to, from) _mm512_stream_ps(to, _mm512_loadu_ps(from))
#elif defined(__AVX__)
enum { WIDTH = 8 };
#define STREAM(to, from) _mm256_stream_ps(to, _mm256_loadu_ps(from))
#elif defined(__SSE2__)
enum { WIDTH = 4 };
#define STREAM(to, from) _mm_stream_ps(to, _mm_loadu_ps(from))
#else
enum { WIDTH = 1 };
#define STREAM(to, from) (void)(*(to) = *(from))
#endif

void bench_stream_copy(int threads, int64_t n, const float *x, float *y)
{
    const int64_t whole = n / WIDTH; /* y is aligned to 64 bytes, like all arrays */
#pragma omp parallel num_threads(threads)
    {
#pragma omp for schedule(static) nowait
        for (int64_t i = 0; i < whole; i++)
            STREAM(y + i * WIDTH, x + i * WIDTH);
#if defined(__SSE2__)
        _mm_sfence();
#endif
    }
    for (int64_t i = whole * WIDTH; i < n; i++)
        y[i] = x[i];
}

/* Each thread reads at four places, so that more lines are in flight. */
uint32_t bench_plain_read(int threads, int64_t n, const float *x)
{
    enum { WORDS = 16 };
    typedef uint32_t __attribute__((may_alias)) bits;
    typedef uint32_t line __attribute__((vector_size(4 * WORDS), may_alias, aligned(4)));
    const int64_t part = n / 4 / threads / WORDS * WORDS;
    uint32_t all = 0;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(| : all)
    for (int t = 0; t < threads; t++) {
        const float *from = x + 4 * t * part;
        line a = {0}, b = a, c = a, d = a;
        for (int64_t i = 0; i < part; i += WORDS) {
            a |= *(const line *)(const void *)(from + i);
            b |= *(const line *)(const void *)(from + part + i);
            c |= *(const line *)(const void *)(from + 2 * part + i);
            d |= *(const line *)(const void *)(from + 3 * part + i);
        }
        a |= b | c | d;
        for (int w = 0; w < WORDS; w++)
            all |= a[w];
    }
    for (int64_t i = 4 * threads * part; i < n; i++)
        all |= ((const bits *)(const void *)x)[i];
    return all;
}
