/* The CPU's peer: a copy that is written past the caches, so that no line is read before it is overwritten. Compiled
 * for the machine at hand, like the other plain programs. */
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
    const int64_t whole = n / WIDTH; /* y is aligned to 64 bytes, as all arrays are */
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
