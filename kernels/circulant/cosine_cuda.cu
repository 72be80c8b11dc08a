/* A block has a row. Each kernel reads and writes a vector once: memory bandwidth is the limit. */
#include <stdint.h>

#include "backend/cuda_check.cuh"
#include "backend/launch_blocks.h"
#include "cosine_backend.h"

namespace
{

enum { WARP = 32, MOST_THREADS = 256 };

template <typename T>
struct __align__(2 * sizeof(T)) number
{
    T re, im;
};

struct extents {
    int64_t counts[3];
    double share; /* 1 over the number of voxels */
};

/* Where number n of v comes from. */
__device__ inline int64_t source(int64_t n, int64_t count)
{
    return 2 * n < count ? 2 * n : 2 * (count - 1 - n) + 1;
}

/* Where number n of x lies in v. */
__device__ inline int64_t target(int64_t n, int64_t count)
{
    return n % 2 == 0 ? n / 2 : count - 1 - n / 2;
}

template <typename T, bool BACK>
__global__ void __launch_bounds__(MOST_THREADS) order_rows(extents e, const number<T> *x, number<T> *y)
{
    const int64_t *n = e.counts, row = blockIdx.x, iy = row % n[1], iz = row / n[1];
    const int64_t from_y = BACK ? target(iy, n[1]) : source(iy, n[1]),
                  from_z = BACK ? target(iz, n[2]) : source(iz, n[2]);
    const number<T> *from = x + (from_z * n[1] + from_y) * n[0];
    for (int64_t ix = threadIdx.x; ix < n[0]; ix += blockDim.x)
        y[row * n[0] + ix] = from[BACK ? target(ix, n[0]) : source(ix, n[0])];
}

template <typename T>
__device__ inline number<T> product(number<T> a, number<T> b)
{
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

/* V_k and V_(N-k) to X_k and X_(N-k). */
template <typename T>
__device__ inline void to_cosine(number<T> w, number<T> *low, number<T> *high)
{
    const number<T> a = product(w, *low), b = product(number<T>{w.re, -w.im}, *high);
    *low = {(a.re + b.re) / 2, (a.im + b.im) / 2};
    *high = {(b.im - a.im) / 2, (a.re - b.re) / 2};
}

template <typename T>
__device__ inline void to_fourier(number<T> w, number<T> *low, number<T> *high)
{
    const number<T> a = {low->re + high->im, low->im - high->re}, b = {low->re - high->im, low->im + high->re};
    *low = product(number<T>{w.re, -w.im}, a);
    *high = product(w, b);
}

/* The eight numbers at +-k along each axis; at k = 0 and N / 2 these are fewer, and written more than once with what is the same
 * but for rounding. */
template <typename T>
__device__ inline void mix_numbers(const extents &e, const number<T> *turns, const T *eigenvalues, const int64_t k[3],
                                   number<T> *v)
{
    const int64_t *n = e.counts;
    const number<T> w[3] = {turns[k[0]], turns[n[0] / 2 + 1 + k[1]], turns[n[0] / 2 + 1 + n[1] / 2 + 1 + k[2]]};
    number<T> f[8];
    int64_t at[8];
#pragma unroll
    for (int i = 0; i < 8; i++) {
        int64_t q[3];
#pragma unroll
        for (int a = 0; a < 3; a++)
            q[a] = (i >> a & 1) && k[a] > 0 ? n[a] - k[a] : k[a];
        at[i] = (q[2] * n[1] + q[1]) * n[0] + q[0];
        f[i] = v[at[i]];
    }
#pragma unroll
    for (int a = 0; a < 3; a++)
#pragma unroll
        for (int i = 0; i < 8; i++)
            if (!(i >> a & 1))
                to_cosine(w[a], &f[i], &f[i | 1 << a]);
#pragma unroll
    for (int i = 0; i < 8; i++) {
        const T by = (T)e.share * eigenvalues[at[i]];
        f[i] = {by * f[i].re, by * f[i].im};
    }
#pragma unroll
    for (int a = 0; a < 3; a++)
#pragma unroll
        for (int i = 0; i < 8; i++)
            if (!(i >> a & 1))
                to_fourier(w[a], &f[i], &f[i | 1 << a]);
#pragma unroll
    for (int i = 0; i < 8; i++)
        v[at[i]] = f[i];
}

template <typename T>
__global__ void __launch_bounds__(MOST_THREADS)
    mix_rows(extents e, const number<T> *turns, const T *eigenvalues, number<T> *v)
{
    const int64_t rows_y = e.counts[1] / 2 + 1;
    for (int64_t x = threadIdx.x; x <= e.counts[0] / 2; x += blockDim.x) {
        const int64_t k[3] = {x, blockIdx.x % rows_y, blockIdx.x / rows_y};
        mix_numbers(e, turns, eigenvalues, k, v);
    }
}

/* Threads of a block for a row of that many numbers. */
int threads_for(int64_t count)
{
    return count >= MOST_THREADS ? (int)MOST_THREADS : (int)(count + WARP - 1) / WARP * WARP;
}

template <typename T, bool BACK>
void launch_order(cudaStream_t stream, const extents &e, const void *x, void *y)
{
    order_rows<T, BACK><<<vf_blocks_for(e.counts[1] * e.counts[2], 1), threads_for(e.counts[0]), 0, stream>>>(
        e, static_cast<const number<T> *>(x), static_cast<number<T> *>(y));
}

extents extents_of(const int64_t counts[3])
{
    return {{counts[0], counts[1], counts[2]}, 1 / (double)(counts[0] * counts[1] * counts[2])};
}

vf_status order(vf_queue *queue, vf_dtype type, const int64_t counts[3], bool back, const void *x, void *y)
{
    vf_device *device = vf_queue_device(queue);
    cudaStream_t stream = vf_stream_of(queue);
    const extents e = extents_of(counts);
    const vf_status status = vf_cuda_use(device);
    if (status != VF_OK)
        return status;
    if (type == VF_C128)
        back ? launch_order<double, true>(stream, e, x, y) : launch_order<double, false>(stream, e, x, y);
    else
        back ? launch_order<float, true>(stream, e, x, y) : launch_order<float, false>(stream, e, x, y);
    return VF_CUDA(device, cudaGetLastError());
}

template <typename T>
void launch_mix(cudaStream_t stream, const extents &e, const void *turns, const void *eigenvalues, void *v)
{
    const unsigned blocks = vf_blocks_for((e.counts[1] / 2 + 1) * (e.counts[2] / 2 + 1), 1);
    mix_rows<T><<<blocks, threads_for(e.counts[0] / 2 + 1), 0, stream>>>(
        e, static_cast<const number<T> *>(turns), static_cast<const T *>(eigenvalues), static_cast<number<T> *>(v));
}

vf_status mix(vf_queue *queue, vf_dtype type, const int64_t counts[3], const void *turns, const void *eigenvalues,
              void *v)
{
    vf_device *device = vf_queue_device(queue);
    const extents e = extents_of(counts);
    const vf_status status = vf_cuda_use(device);
    if (status != VF_OK)
        return status;
    if (type == VF_C128)
        launch_mix<double>(vf_stream_of(queue), e, turns, eigenvalues, v);
    else
        launch_mix<float>(vf_stream_of(queue), e, turns, eigenvalues, v);
    return VF_CUDA(device, cudaGetLastError());
}

} // namespace

const vf_cosine_backend vf_cosine_cuda = {order, mix};
