/* What this machine can do with N threads, for time_threads.py: seconds for 1e12 multiply-adds in registers, and for a copy
 * of 1e11 bytes of memory by streaming stores; medians.
 *
 * usage: time_ceilings N */
#include <stdio.h>
#include <stdlib.h>

#include "bench_ceilings.h"
#include "bench_peers.h"
#include "voxfield/timer.h"

enum { ROUNDS = 9, FLOATS = 1 << 26 }; /* a quarter GiB, larger than caches */

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *seconds)
{
    qsort(seconds, ROUNDS, sizeof *seconds, ascending);
    return seconds[ROUNDS / 2];
}

int main(int argc, char **argv)
{
    const int threads = argc == 2 ? (int)strtol(argv[1], NULL, 10) : 0;
    const size_t bytes = FLOATS * sizeof(float);
    float *x = aligned_alloc(64, bytes), *y = aligned_alloc(64, bytes);
    double arithmetic[ROUNDS], copies[ROUNDS];
    if (threads < 1 || !x || !y) {
        fprintf(stderr, "usage: time_ceilings THREADS; it needs half a GiB of memory\n");
        free(x);
        free(y);
        return 1;
    }
    for (int64_t i = 0; i < FLOATS; i++)
        x[i] = (float)i;
    bench_stream_copy(threads, FLOATS, x, y);
    for (int r = 0; r < ROUNDS; r++) {
        arithmetic[r] = 1e12 / bench_ceiling_fma(threads);
        const double began = vf_now();
        bench_stream_copy(threads, FLOATS, x, y);
        copies[r] = (vf_now() - began) * (1e11 / (2.0 * (double)bytes));
    }
    const int wrong = y[FLOATS - 1] != x[FLOATS - 1];
    printf("%.6g %.6g\n", median(arithmetic), median(copies));
    free(x);
    free(y);
    return wrong;
}
