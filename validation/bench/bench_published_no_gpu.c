/* Replaces bench_published.cu in builds without CUDA. */
#include "bench_published.h"

double bench_peak(void)
{
    return 0;
}

size_t bench_baseline_scratch(bench_baseline kernel)
{
    (void)kernel;
    return 0;
}

int bench_baseline_run(bench_baseline kernel, void *stream, void *scratch, int64_t n, const float *x, void *out)
{
    (void)kernel;
    (void)stream;
    (void)scratch;
    (void)n;
    (void)x;
    (void)out;
    return 0;
}
