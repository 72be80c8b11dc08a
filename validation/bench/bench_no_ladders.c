/* Replaces bench_ladders.cu in builds without CUDA. */
#include "bench_ladders.h"

bool bench_ladder_transpose(ladder_transpose which, void *stream, int64_t rows, int64_t columns, const float *x,
                            float *y)
{
    (void)which;
    (void)stream;
    (void)rows;
    (void)columns;
    (void)x;
    (void)y;
    return false;
}

bool bench_ladder_sums(bool halves_first, void *stream, int64_t blocks, const float *x, float *y)
{
    (void)halves_first;
    (void)stream;
    (void)blocks;
    (void)x;
    (void)y;
    return false;
}
