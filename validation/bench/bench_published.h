/* What bench_published.c needs of a GPU: its peak, and the kernels of the baseline shape, one warp and one item. */
#ifndef BENCH_PUBLISHED_H
#define BENCH_PUBLISHED_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes per second between the current GPU and its memory in theory: the memory's clock, two transfers a clock, the width
 * of the bus. 0: unknown. */
double bench_peak(void);

/* The kernels of libcore with thread blocks of one warp, whose threads have one element of 4 bytes each. */
typedef enum bench_baseline { BASELINE_COPY, BASELINE_SUM, BASELINE_SCAN, BASELINES } bench_baseline;

/* Bytes of scratch memory, which must be 0 at first; 0 on failure. Call it before the first run. */
size_t bench_baseline_scratch(bench_baseline kernel);

/* Queues it in the stream: of n floats of x, a copy or a scan with three kernels into `out`, or the sum, a vf_reduced.
 * Returns false on failure. */
int bench_baseline_run(bench_baseline kernel, void *stream, void *scratch, int64_t n, const float *x, void *out);

#ifdef __cplusplus
}
#endif
#endif
