/* Numbers with exact sums, and the expected results: bench_primitives and tune_primitives check results against
 * them, on the host. */
#ifndef BENCH_TRUTH_H
#define BENCH_TRUTH_H

#include <stdbool.h>
#include <stdint.h>

enum { TRUTH_BINS = 256 };

typedef struct bench_truth {
    int64_t n;
    int threads;
    float *x, *y;     /* [n] whole numbers from -8 to 8; sums of any range of x, and of x y, are exact in x's
                       * precision and in double */
    uint32_t *random; /* [n] in place of y, after truth_randomise */
    int64_t *sums;    /* sums of x before each chunk */
    double *products; /* of x y */
} bench_truth;

/* Returns false if there is no memory, or if sums are not exact. */
bool truth_make(bench_truth *t, int log, int threads);
void truth_free(bench_truth *t);

/* Replaces y by random bits. */
void truth_randomise(bench_truth *t);

/* Of the first n numbers. */
double truth_sum(const bench_truth *t, int64_t n);
double truth_dot(const bench_truth *t, int64_t n); /* before truth_randomise */

/* Whether each of n numbers is correct: x itself, one value, or the inclusive scan of x. */
bool truth_is_copy(const bench_truth *t, int64_t n, const float *got);
bool truth_is_filled(const bench_truth *t, int64_t n, const float *got, float value);
bool truth_is_scan(const bench_truth *t, int64_t n, const float *got);

/* Checks the histogram of the first n bytes of `random`, or its first n numbers sorted as keys, with values 0, 1,
 * ... */
bool truth_is_histogram(const bench_truth *t, int64_t n, const uint64_t got[TRUTH_BINS]);
bool truth_is_sorted(const bench_truth *t, int64_t n, const uint32_t *keys, const uint32_t *values);

#endif
