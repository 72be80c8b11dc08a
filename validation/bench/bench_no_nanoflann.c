/* In place of bench_nanoflann.cpp, where nanoflann or a C++ compiler is missing. */
#include <stddef.h>

#include "bench_nanoflann.h"

bool bench_has_nanoflann(void)
{
    return false;
}

bench_nanoflann *bench_nanoflann_create(int64_t n, const float *points)
{
    (void)n;
    (void)points;
    return NULL;
}

void bench_nanoflann_free(bench_nanoflann *tree)
{
    (void)tree;
}

void bench_nanoflann_search(const bench_nanoflann *tree, int64_t m, const float *queries, int k, int32_t *index,
                            float *squared)
{
    (void)tree;
    (void)m;
    (void)queries;
    (void)k;
    (void)index;
    (void)squared;
}
