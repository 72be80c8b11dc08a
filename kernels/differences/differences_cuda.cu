/* The CUDA backend. Gradients: each thread has a voxel and reads its neighbours through the caches. Memory bandwidth is
 * the limit of all kernels here. */
#include <stdint.h>

#include "backend/cuda_check.cuh"
#include "backend/launch_blocks.h"
#include "differences_backend.h"

namespace
{

enum { THREADS = 256, MOST_SUMS = 1024 };

template <typename T>
struct __align__(2 * sizeof(T)) number
{
    T re, im;
};

template <typename T>
__global__ void __launch_bounds__(THREADS)
    apply_stencil(const stencil s, const number<T> *__restrict__ in, number<T> *__restrict__ out)
{
    const int64_t n = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (n >= s.voxels)
        return;
    int64_t at[4], step[4], rest = n, voxels = 1;
#pragma unroll
    for (int a = 0; a < 4; a++) {
        at[a] = rest % s.counts[a];
        rest /= s.counts[a];
        step[a] = voxels;
        voxels *= s.counts[a];
    }
    for (int o = 0; o < s.outputs; o++) {
        number<T> sum = {0, 0};
        for (int t = 0; t < s.terms[o]; t++) {
            const stencil_term term = s.term[o][t];
            int64_t place = 0, extent = 0, stride = 0;
#pragma unroll
            for (int a = 0; a < 4; a++) /* keeps the arrays in registers */
                if (a == term.axis) {
                    place = at[a] + term.inside;
                    extent = s.counts[a];
                    stride = step[a];
                }
            if (place < 0 || place >= extent)
                continue;
            const number<T> x = in[term.input * s.voxels + n + term.shift * stride];
            sum.re += (T)term.scale * x.re;
            sum.im += (T)term.scale * x.im;
        }
        out[o * s.voxels + n] = sum;
    }
}

vf_status begin(vf_queue *queue, int64_t elements)
{
    vf_device *device = vf_queue_device(queue);
    if (elements > (int64_t)INT32_MAX * THREADS)
        return vf_fail(vf_device_context(device), VF_ERR_ARGUMENT, "gradient: %lld numbers are too many for one launch",
                       (long long)elements);
    return VF_CUDA(device, cudaSetDevice(vf_device_ordinal(device)));
}

cudaStream_t stream_of(vf_queue *queue)
{
    return static_cast<cudaStream_t>(vf_queue_native(queue));
}

template <typename T>
void launch_stencil(vf_queue *queue, const stencil &s, const void *in, void *out)
{
    apply_stencil<T><<<vf_blocks_for(s.voxels, THREADS), THREADS, 0, stream_of(queue)>>>(
        s, static_cast<const number<T> *>(in), static_cast<number<T> *>(out));
}

vf_status apply(vf_queue *queue, vf_dtype type, const stencil *s, const void *in, void *out)
{
    const vf_status status = begin(queue, s->voxels);
    if (status != VF_OK)
        return status;
    if (type == VF_C128)
        launch_stencil<double>(queue, *s, in, out);
    else
        launch_stencil<float>(queue, *s, in, out);
    return VF_CUDA(vf_queue_device(queue), cudaGetLastError());
}

/* r(i) */
template <typename T>
__device__ double length(const group_field &f, const number<T> *v, int64_t i)
{
    double sum = 0;
    for (int g = 0; g < f.groups; g++) {
        const number<T> x = v[g * f.n + i];
        const double re = x.re, im = x.im;
        sum += f.weights[g] * (re * re + im * im);
    }
    return sqrt(sum);
}

/* v and z may be the same: a thread reads all that it overwrites. */
template <typename T>
__global__ void __launch_bounds__(THREADS)
    soften(const group_field f, double threshold, const number<T> *v, number<T> *z)
{
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i >= f.n)
        return;
    const double r = length(f, v, i), factor = r <= threshold ? 0 : 1 - threshold / r; /* a NaN stays */
    for (int g = 0; g < f.groups; g++) {
        const number<T> x = v[g * f.n + i];
        z[g * f.n + i] = {(T)(factor * (double)x.re), (T)(factor * (double)x.im)};
    }
}

/* sums[block]: each thread adds its lengths in order, and the block adds its threads' sums as a tree. */
template <typename T>
__global__ void __launch_bounds__(THREADS)
    sum_lengths(const group_field f, const number<T> *__restrict__ v, double *__restrict__ sums)
{
    __shared__ double of_thread[THREADS];
    double sum = 0;
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < f.n; i += (int64_t)gridDim.x * THREADS)
        sum += length(f, v, i);
    of_thread[threadIdx.x] = sum;
    for (int half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if ((int)threadIdx.x < half)
            of_thread[threadIdx.x] += of_thread[threadIdx.x + half];
    }
    if (threadIdx.x == 0)
        sums[blockIdx.x] = of_thread[0];
}

template <typename T>
void launch_soften(vf_queue *queue, const group_field &f, double threshold, const void *v, void *z)
{
    soften<T><<<vf_blocks_for(f.n, THREADS), THREADS, 0, stream_of(queue)>>>(
        f, threshold, static_cast<const number<T> *>(v), static_cast<number<T> *>(z));
}

vf_status soft(vf_queue *queue, vf_dtype type, const group_field *f, double threshold, const void *v, void *z)
{
    const vf_status status = begin(queue, f->n);
    if (status != VF_OK)
        return status;
    if (type == VF_C128)
        launch_soften<double>(queue, *f, threshold, v, z);
    else
        launch_soften<float>(queue, *f, threshold, v, z);
    return VF_CUDA(vf_queue_device(queue), cudaGetLastError());
}

template <typename T>
void launch_sums(vf_queue *queue, const group_field &f, unsigned blocks, const void *v, const vf_array &sums)
{
    sum_lengths<T><<<blocks, THREADS, 0, stream_of(queue)>>>(f, static_cast<const number<T> *>(v),
                                                             static_cast<double *>(sums.data));
}

/* The number of blocks depends on n alone, and the host adds their sums in order. */
vf_status norm(vf_queue *queue, vf_dtype type, const group_field *f, const void *v, double *sum)
{
    vf_device *device = vf_queue_device(queue);
    vf_array sums = {}, host = {};
    vf_status status = begin(queue, f->n);
    const unsigned needed = status == VF_OK ? vf_blocks_for(f->n, THREADS) : 0;
    const unsigned blocks = needed < MOST_SUMS ? needed : (unsigned)MOST_SUMS;
    if (status == VF_OK)
        status = vf_array_create(device, VF_SPACE_DEVICE, VF_F64, blocks, &sums);
    if (status == VF_OK)
        status = vf_array_create(device, VF_SPACE_PINNED, VF_F64, blocks, &host);
    if (status == VF_OK) {
        if (type == VF_C128)
            launch_sums<double>(queue, *f, blocks, v, sums);
        else
            launch_sums<float>(queue, *f, blocks, v, sums);
        status = VF_CUDA(device, cudaGetLastError());
    }
    if (status == VF_OK)
        status = vf_array_copy(queue, &host, &sums, blocks);
    if (status == VF_OK)
        status = vf_queue_sync(queue);
    for (unsigned b = 0; status == VF_OK && b < blocks; b++)
        *sum += static_cast<const double *>(host.data)[b];
    vf_array_free(&sums);
    vf_array_free(&host);
    return status;
}

} // namespace

const vf_gradient_backend vf_gradient_cuda = {VF_DEVICE_CUDA, apply, soft, norm};
