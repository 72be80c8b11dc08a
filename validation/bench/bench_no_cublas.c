/* Replaces bench_cublas.cu where cuBLAS is missing. */
#include <stddef.h>

#include "bench_ladders.h"

void *bench_cublas_create(void *stream)
{
    (void)stream;
    return NULL;
}

bool bench_cublas_product(void *handle, bool in_double, int64_t rows, int64_t columns, int64_t inner, const void *a,
                          const void *b, void *c)
{
    (void)handle;
    (void)in_double;
    (void)rows;
    (void)columns;
    (void)inner;
    (void)a;
    (void)b;
    (void)c;
    return false;
}

void bench_cublas_free(void *handle)
{
    (void)handle;
}
