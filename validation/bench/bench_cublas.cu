/* cuBLAS is column-major, so it computes C^T = B^T A^T. Single precision without TF32, its default. */
#include <cublas_v2.h>

#include "bench_ladders.h"

extern "C" void *bench_cublas_create(void *stream)
{
    cublasHandle_t handle = nullptr;
    if (cublasCreate(&handle) != CUBLAS_STATUS_SUCCESS)
        return nullptr;
    if (cublasSetStream(handle, (cudaStream_t)stream) == CUBLAS_STATUS_SUCCESS)
        return handle;
    cublasDestroy(handle);
    return nullptr;
}

extern "C" bool bench_cublas_product(void *handle, bool in_double, int64_t rows, int64_t columns, int64_t inner,
                                     const void *a, const void *b, void *c)
{
    const int m = (int)rows, n = (int)columns, k = (int)inner;
    const float one_f = 1, zero_f = 0;
    const double one = 1, zero = 0;
    const cublasStatus_t status = in_double
                                      ? cublasDgemm((cublasHandle_t)handle, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one,
                                                    (const double *)b, n, (const double *)a, k, &zero, (double *)c, n)
                                      : cublasSgemm((cublasHandle_t)handle, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one_f,
                                                    (const float *)b, n, (const float *)a, k, &zero_f, (float *)c, n);
    return status == CUBLAS_STATUS_SUCCESS;
}

extern "C" void bench_cublas_free(void *handle)
{
    if (handle)
        cublasDestroy((cublasHandle_t)handle);
}
