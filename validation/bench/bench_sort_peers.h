/* The peers of sorts: Highway's vqsort on the CPU, CUB on a GPU. */
#ifndef BENCH_SORT_PEERS_H
#define BENCH_SORT_PEERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum bench_sort_type {
    SORT_KEYS_U32,
    SORT_KEYS_U64,
    SORT_KEYS_F32,
    SORT_PAIRS_32,
    SORT_PAIRS_64
} bench_sort_type;

bool bench_has_vqsort(void);

/* Sorts x [n] in place by one thread. By two, each sorts a half, and each merges a half of the result into `to` [n].
 * Returns where the result is. Pairs are sorted as numbers of twice the bits: {value, key}. */
void *bench_vqsort(bench_sort_type type, int threads, int64_t n, void *x, void *to);

/* Queues CUB's sort of keys, and values, in the stream (a cudaStream_t of the current device); with `scratch` NULL, sets the
 * bytes that it needs. Returns false on failure. */
int bench_cub_sort(bench_sort_type type, void *stream, void *scratch, size_t *bytes, int64_t n, const void *const in[2],
                   void *const out[2]);

#ifdef __cplusplus
}
#endif
#endif
