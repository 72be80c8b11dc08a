/* Numbers whose sums are exact, and what is to become of them: what bench_primitives and tune_primitives check results
 * against, on the host. */
#ifndef BENCH_TRUTH_H
#define BENCH_TRUTH_H

#include <stdbool.h>
#include <stdint.h>

enum { TRUTH_BINS = 256 };

typedef struct bench_truth {
    int64_t n;
    int threads;
    float *x, *y;     /* [n] whole numbers from -8 to 8; sums of any range of x, and of x y, are exact in x's precision,
                       * and in double */
    uint32_t *random; /* [n] where y was, once truth_randomise was called */
    int64_t *sums;    /* of x before each chunk */
    double *products; /* of x y */
} bench_truth;

/* false: no memory, or sums are not exact. */
bool truth_make(bench_truth *t, int log, int threads);
void truth_free(bench_truth *t);

/* Puts random bits in y's place. */
void truth_randomise(bench_truth *t);

/* Of the first n numbers. */
double truth_sum(const bench_truth *t, int64_t n);
double truth_dot(const bench_truth *t, int64_t n); /* before truth_randomise */

/* Whether each of n numbers is right: x itself, one value, the inclusive scan of x. */
bool truth_is_copy(const bench_truth *t, int64_t n, const float *got);
bool truth_is_filled(const bench_truth *t, int64_t n, const float *got, float value);
bool truth_is_scan(const bench_truth *t, int64_t n, const float *got);

/* The histogram of the first n bytes of `random`; and its first n numbers sorted as keys, with values 0, 1, ... */
bool truth_is_histogram(const bench_truth *t, int64_t n, const uint64_t got[TRUTH_BINS]);
bool truth_is_sorted(const bench_truth *t, int64_t n, const uint32_t *keys, const uint32_t *values);

#endif
