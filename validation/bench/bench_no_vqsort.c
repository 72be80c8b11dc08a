/* In place of bench_vqsort.cpp, where Highway or a C++ compiler is missing. */
#include "bench_sort_peers.h"

bool bench_has_vqsort(void)
{
    return false;
}

void *bench_vqsort(bench_sort_type type, int threads, int64_t n, void *x, void *to)
{
    (void)type;
    (void)threads;
    (void)n;
    (void)to;
    return x;
}
