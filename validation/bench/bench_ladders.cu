#include "bench_ladders.h"

#include <cuda_runtime.h>

enum { TILE = 32, ROWS = 8 };

static __global__ void transpose_naive(int64_t rows, int64_t columns, const float *x, float *y)
{
    const int64_t across = columns / TILE, j = blockIdx.x % across * TILE + threadIdx.x;
    const int64_t i = blockIdx.x / across * TILE + threadIdx.y;
    for (int k = 0; k < TILE; k += ROWS)
        y[j * rows + i + k] = x[(i + k) * columns + j];
}

static __global__ void transpose_tiled(int64_t rows, int64_t columns, const float *x, float *y)
{
    __shared__ float tile[TILE][TILE];
    const int64_t across = columns / TILE, j = blockIdx.x % across * TILE, i = blockIdx.x / across * TILE;
    for (int k = 0; k < TILE; k += ROWS)
        tile[threadIdx.y + k][threadIdx.x] = x[(i + threadIdx.y + k) * columns + j + threadIdx.x];
    __syncthreads();
    for (int k = 0; k < TILE; k += ROWS)
        y[(j + threadIdx.y + k) * rows + i + threadIdx.x] = tile[threadIdx.x][threadIdx.y + k];
}

extern "C" bool bench_ladder_transpose(ladder_transpose which, void *stream, int64_t rows, int64_t columns,
                                       const float *x, float *y)
{
    const unsigned blocks = (unsigned)(rows / TILE * (columns / TILE));
    if (which == LADDER_NAIVE)
        transpose_naive<<<blocks, dim3(TILE, ROWS), 0, (cudaStream_t)stream>>>(rows, columns, x, y);
    else
        transpose_tiled<<<blocks, dim3(TILE, ROWS), 0, (cudaStream_t)stream>>>(rows, columns, x, y);
    return cudaGetLastError() == cudaSuccess;
}

static __global__ void sum_neighbours_first(const float *x, float *y)
{
    __shared__ float partial[LADDER_SUMMED];
    const unsigned t = threadIdx.x;
    partial[t] = x[(int64_t)blockIdx.x * LADDER_SUMMED + t];
    for (unsigned stride = 1; stride < LADDER_SUMMED; stride *= 2) {
        __syncthreads();
        if (t % (2 * stride) == 0)
            partial[t] += partial[t + stride];
    }
    if (t == 0)
        y[blockIdx.x] = partial[0];
}

static __global__ void sum_halves_first(const float *x, float *y)
{
    __shared__ float partial[LADDER_SUMMED];
    const unsigned t = threadIdx.x;
    partial[t] = x[(int64_t)blockIdx.x * LADDER_SUMMED + t];
    for (unsigned stride = LADDER_SUMMED / 2; stride > 0; stride /= 2) {
        __syncthreads();
        if (t < stride)
            partial[t] += partial[t + stride];
    }
    if (t == 0)
        y[blockIdx.x] = partial[0];
}

extern "C" bool bench_ladder_sums(bool halves_first, void *stream, int64_t blocks, const float *x, float *y)
{
    if (halves_first)
        sum_halves_first<<<(unsigned)blocks, LADDER_SUMMED, 0, (cudaStream_t)stream>>>(x, y);
    else
        sum_neighbours_first<<<(unsigned)blocks, LADDER_SUMMED, 0, (cudaStream_t)stream>>>(x, y);
    return cudaGetLastError() == cudaSuccess;
}
