/* nanoflann, a k-d tree in C++ (package libnanoflann-dev), beside which nearest neighbours are measured. */
#ifndef BENCH_NANOFLANN_H
#define BENCH_NANOFLANN_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bench_nanoflann bench_nanoflann;

/* Whether this program was built with nanoflann. */
bool bench_has_nanoflann(void);

/* A tree of points [n][3], which must outlive it; NULL: no memory. Buckets of 10 points, nanoflann's default. */
bench_nanoflann *bench_nanoflann_create(int64_t n, const float *points);
void bench_nanoflann_free(bench_nanoflann *tree);

/* The k nearest points of each query, one after another; index and squared [m][k]. */
void bench_nanoflann_search(const bench_nanoflann *tree, int64_t m, const float *queries, int k, int32_t *index,
                            float *squared);

#ifdef __cplusplus
}
#endif
#endif
