/* The peers that the primitives are compared with: CUB and cudaMemcpyAsync on a GPU, a copy with streaming stores on
 * the CPU.
 */
#ifndef BENCH_PEERS_H
#define BENCH_PEERS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Operations on n floats (PEER_SET sets their bytes to 0) from `in` to `out`; the sum is one float. Histograms, of n floats
 * by edges or of 4 n bytes, have 64-bit counts.
 * Sorts are of pairs of 32 bits; keys come first in `out`. */
typedef enum bench_peer {
    PEER_COPY,
    PEER_SET,
    PEER_SUM,
    PEER_SCAN,
    PEER_BYTES,
    PEER_EDGES,
    PEER_SORT,
    PEERS
} bench_peer;

/* What a peer reads, the edges [bins + 1] of PEER_EDGES, the values of PEER_SORT. All are in device memory. */
typedef struct bench_peer_input {
    const void *data;
    int bins;
    const float *edges;
    const void *values;
} bench_peer_input;

/* The name of the function, for display. */
const char *bench_peer_name(bench_peer peer);

/* Bytes of device memory that the peer needs for n, by edges with up to 1,024 bins; SIZE_MAX on failure. */
size_t bench_peer_scratch(bench_peer peer, int64_t n);

/* Queues it in the stream (a cudaStream_t of the current device); returns false on failure. */
int bench_peer_run(bench_peer peer, void *stream, void *scratch, size_t scratch_bytes, int64_t n, bench_peer_input in,
                   void *out);

/* Seconds between events around the work that `put` queues in the stream; negative on failure. */
double bench_gpu_seconds(void *stream, void (*put)(void *user), void *user);

/* y = x by all threads, bypassing the caches (STREAM's copy: McCalpin, IEEE TCCA Newsletter, December 1995). */
void bench_stream_copy(int threads, int64_t n, const float *x, float *y);

/* The bitwise or of all of x, by all threads. */
uint32_t bench_plain_read(int threads, int64_t n, const float *x);

#ifdef __cplusplus
}
#endif
#endif
