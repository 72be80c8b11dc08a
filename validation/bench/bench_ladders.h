/* Kernels of a GPU that are only steps of a published ladder, and cuBLAS, for bench_ladders. */
#ifndef BENCH_LADDERS_H
#define BENCH_LADDERS_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The functions queue work in a stream (a cudaStream_t of the current device), and return false on failure. */

/* y[columns][rows] = x[rows][columns] transposed, of 4 bytes; sides are multiples of 32. LADDER_NAIVE: a thread an
 * element, writes `rows` apart. LADDER_TILED: a tile in shared memory, whose columns lie in one bank. */
typedef enum ladder_transpose { LADDER_NAIVE, LADDER_TILED, LADDER_TRANSPOSES } ladder_transpose;
bool bench_ladder_transpose(ladder_transpose which, void *stream, int64_t rows, int64_t columns, const float *x,
                            float *y);

/* y[b] = the sum of the 512 numbers from x[512 b] on, in shared memory, by a block of 512 threads: neighbours first, with
 * idle threads in every warp, or halves first (Kirk and Hwu, Programming Massively Parallel Processors (2010), figures
 * 6.2 and 6.4). */
enum { LADDER_SUMMED = 512 };
bool bench_ladder_sums(bool halves_first, void *stream, int64_t blocks, const float *x, float *y);

/* C = A B, row-major, by cuBLAS; without it, `bench_cublas_create` returns NULL. */
void *bench_cublas_create(void *stream);
bool bench_cublas_product(void *handle, bool in_double, int64_t rows, int64_t columns, int64_t inner, const void *a,
                          const void *b, void *c);
void bench_cublas_free(void *handle);

#ifdef __cplusplus
}
#endif
#endif
