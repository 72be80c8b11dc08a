/* The CUDA backend: a kernel for each axis of each level. A thread computes a pair of numbers from 2 moments numbers,
 * which it reads through the caches. Memory bandwidth is the limit: each kernel reads and writes its box once. The last
 * kernel of a level also applies the threshold, and moves the coarse part to where the next level reads it.
 */
#include <stdint.h>
#include <stdlib.h>

#include "backend/cuda_check.cuh"
#include "backend/launch_blocks.h"
#include "wavelet_backend.h"

namespace
{

enum { THREADS = 256, ROW_THREADS = 128 };

struct cuda_state {
    vf_array between; /* [numbers]: between the axes of a level */
};

template <typename T>
struct __align__(2 * sizeof(T)) number
{
    T re, im;
};

struct extents {
    int64_t counts[3];
};

template <typename T>
struct filter {
    T low[WAVELET_MOST_TAPS], high[WAVELET_MOST_TAPS];
};

/* Where the numbers of a box lie. N: number<T>, or const. With `coarse`, those below `limits` lie there. */
template <typename N>
struct field {
    N *data, *coarse;
    int64_t row, plane, coarse_row, coarse_plane;
    int64_t shift[3], limits[3];
};

template <typename T>
struct soft_threshold {
    T scale, level;
    bool on;
};

template <typename N>
__device__ bool is_coarse(const field<N> &f, const int64_t q[3])
{
    return f.coarse && q[0] < f.limits[0] && q[1] < f.limits[1] && q[2] < f.limits[2];
}

template <typename N>
__device__ N *place(const field<N> &f, const extents &e, const int64_t q[3])
{
    if (is_coarse(f, q))
        return f.coarse + q[2] * f.coarse_plane + q[1] * f.coarse_row + q[0];
    int64_t at[3];
#pragma unroll
    for (int a = 0; a < 3; a++)
        at[a] = q[a] < f.shift[a] ? q[a] - f.shift[a] + e.counts[a] : q[a] - f.shift[a];
    return f.data + at[2] * f.plane + at[1] * f.row + at[0];
}

__device__ inline float root(float x)
{
    return sqrtf(x);
}

__device__ inline double root(double x)
{
    return sqrt(x);
}

template <typename T>
__device__ number<T> shrunk(const soft_threshold<T> &soft, number<T> c)
{
    const T re = soft.scale * c.re, im = soft.scale * c.im, magnitude = root(re * re + im * im),
            factor = magnitude <= soft.level ? (T)0 : 1 - soft.level / magnitude;
    return {c.re * factor, c.im * factor};
}

template <typename T>
__device__ void add(number<T> *sum, T factor, number<T> x)
{
    sum->re += factor * x.re;
    sum->im += factor * x.im;
}

template <typename T>
__device__ void store(const field<number<T>> &to, const extents &e, const soft_threshold<T> &soft, const int64_t q[3],
                      number<T> value)
{
    *place(to, e, q) = soft.on && !is_coarse(to, q) ? shrunk(soft, value) : value;
}

/* One level along one axis of a box. A thread for each pair: the two numbers of the fine side, 2i and 2i + 1, or of the
 * bands, i and half + i. */
template <typename T, int MOMENTS, int AXIS, bool INVERSE>
__global__ void __launch_bounds__(THREADS)
    transform(extents e, filter<T> f, field<const number<T>> from, field<number<T>> to, soft_threshold<T> soft)
{
    const int64_t half = e.counts[AXIS] / 2, nx = AXIS == 0 ? half : e.counts[0], ny = AXIS == 1 ? half : e.counts[1],
                  nz = AXIS == 2 ? half : e.counts[2], n = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (n >= nx * ny * nz)
        return;
    int64_t q[3] = {n % nx, n / nx % ny, n / nx / ny};
    const int64_t i = q[AXIS];
    number<T> first = {0, 0}, second = {0, 0};
#pragma unroll
    for (int m = 0; m < MOMENTS; m++) {
        const int64_t ahead = i + m < half ? i + m : i + m - half, back = i < m ? i - m + half : i - m;
#pragma unroll
        for (int b = 0; b < 2; b++) {
            q[AXIS] = INVERSE ? back + b * half : 2 * ahead + b;
            const number<T> x = *place(from, e, q);
            if (INVERSE) {
                add(&first, b == 0 ? f.low[2 * m] : f.high[2 * m], x);
                add(&second, b == 0 ? f.low[2 * m + 1] : f.high[2 * m + 1], x);
            } else {
                add(&first, f.low[2 * m + b], x);
                add(&second, f.high[2 * m + b], x);
            }
        }
    }
    q[AXIS] = INVERSE ? 2 * i : i;
    store(to, e, soft, q, first);
    q[AXIS] = INVERSE ? 2 * i + 1 : half + i;
    store(to, e, soft, q, second);
}

/* For plans without levels: to = from. */
template <typename T>
__global__ void __launch_bounds__(THREADS) move(extents e, field<const number<T>> from, field<number<T>> to)
{
    const int64_t n = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (n >= e.counts[0] * e.counts[1] * e.counts[2])
        return;
    const int64_t q[3] = {n % e.counts[0], n / e.counts[0] % e.counts[1], n / e.counts[0] / e.counts[1]};
    *place(to, e, q) = *place(from, e, q);
}

/* ---- a plan ---- */

void destroy(vf_wavelet *plan)
{
    cuda_state *s = static_cast<cuda_state *>(plan->state);
    vf_array_free(&s->between);
    free(s);
    plan->state = nullptr;
}

vf_status create(vf_wavelet *plan, const char *)
{
    cuda_state *s = static_cast<cuda_state *>(calloc(1, sizeof *s));
    if (!s)
        return vf_fail(vf_device_context(plan->device), VF_ERR_MEMORY, "wavelet: not enough memory for a plan");
    plan->state = s;
    return vf_array_create(plan->device, VF_SPACE_DEVICE, plan->type, plan->numbers, &s->between);
}

/* ---- levels ---- */

/* A box without gaps, or with the pitch of `counts`. */
template <typename N>
field<N> plain(void *data, const int64_t counts[3])
{
    field<N> f = {};
    f.data = static_cast<N *>(data);
    f.row = counts[0];
    f.plane = counts[0] * counts[1];
    return f;
}

/* The padded array, shifted, with level 1; before level l > 1, the coarse part after level l - 1. */
template <typename N>
field<N> image(const vf_wavelet *plan, const vf_wavelet_box &box, int level, const void *v, const int64_t shift[3])
{
    void *data = level > 1 ? vf_wavelet_band(plan, level - 1) : const_cast<void *>(v);
    field<N> f = plain<N>(data, box.counts);
    for (int a = 0; a < 3 && level <= 1; a++)
        f.shift[a] = shift[a];
    return f;
}

/* The bands in c. The coarse part lies there after the last level, in the plan before. */
template <typename N>
field<N> bands(const vf_wavelet *plan, const vf_wavelet_box &box, int level, int levels, const void *c)
{
    const vf_wavelet_box next = vf_wavelet_box_of(plan, level + 1);
    field<N> f = plain<N>(const_cast<void *>(c), plan->padded);
    f.coarse = level < levels ? static_cast<N *>(vf_wavelet_band(plan, level)) : f.data;
    f.coarse_row = level < levels ? next.counts[0] : f.row;
    f.coarse_plane = level < levels ? next.counts[0] * next.counts[1] : f.plane;
    for (int a = 0; a < 3; a++)
        f.limits[a] = box.counts[a] / (box.split[a] ? 2 : 1);
    return f;
}

/* The same memory, to be read or without bands and shift. */
template <typename T>
field<const number<T>> as_input(const field<number<T>> &f)
{
    field<const number<T>> in = {};
    in.data = f.data;
    in.row = f.row;
    in.plane = f.plane;
    return in;
}

template <typename T>
field<number<T>> as_scratch(const field<number<T>> &f)
{
    field<number<T>> out = {};
    out.data = f.data;
    out.row = f.row;
    out.plane = f.plane;
    return out;
}

template <typename T>
using kernel_of = void (*)(extents, filter<T>, field<const number<T>>, field<number<T>>, soft_threshold<T>);

template <typename T, int MOMENTS, bool INVERSE>
kernel_of<T> kernel_along(int axis)
{
    return axis == 0   ? transform<T, MOMENTS, 0, INVERSE>
           : axis == 1 ? transform<T, MOMENTS, 1, INVERSE>
                       : transform<T, MOMENTS, 2, INVERSE>;
}

template <typename T, bool INVERSE>
kernel_of<T> kernel_for(int moments, int axis)
{
    return moments == 1   ? kernel_along<T, 1, INVERSE>(axis)
           : moments == 2 ? kernel_along<T, 2, INVERSE>(axis)
           : moments == 3 ? kernel_along<T, 3, INVERSE>(axis)
                          : kernel_along<T, 4, INVERSE>(axis);
}

/* One level, from `from` to `to`, axis after axis. The target itself holds the result of the first of three axes. */
template <typename T, bool INVERSE>
vf_status do_level(const vf_wavelet *plan, vf_queue *queue, const vf_wavelet_box &box, field<const number<T>> from,
                   const field<number<T>> &to, const soft_threshold<T> &soft)
{
    cudaStream_t stream = static_cast<cudaStream_t>(vf_queue_native(queue));
    const cuda_state *s = static_cast<const cuda_state *>(plan->state);
    const extents e = {{box.counts[0], box.counts[1], box.counts[2]}};
    const int64_t numbers = box.counts[0] * box.counts[1] * box.counts[2];
    int left = box.split[0] + box.split[1] + box.split[2];
    filter<T> f = {};
    for (int k = 0; k < 2 * plan->moments; k++) {
        f.low[k] = (T)plan->low[k];
        f.high[k] = (T)plan->high[k];
    }
    if (left == 0)
        move<T><<<vf_blocks_for(numbers, THREADS), THREADS, 0, stream>>>(e, from, to);
    for (int i = 0; i < 3; i++) {
        const int axis = INVERSE ? 2 - i : i;
        if (!box.split[axis])
            continue;
        left--;
        const field<number<T>> target = left == 0   ? to
                                        : left == 1 ? plain<number<T>>(s->between.data, box.counts)
                                                    : as_scratch(to);
        const soft_threshold<T> here = {soft.scale, soft.level, soft.on && left == 0};
        kernel_for<T, INVERSE>(plan->moments, axis)<<<vf_blocks_for(numbers / 2, THREADS), THREADS, 0, stream>>>(
            e, f, from, target, here);
        from = as_input(target);
    }
    return VF_CUDA(plan->device, cudaGetLastError());
}

vf_status set_device(const vf_wavelet *plan)
{
    return VF_CUDA(plan->device, cudaSetDevice(vf_device_ordinal(plan->device)));
}

template <typename T>
vf_status forward_as(vf_wavelet *plan, vf_queue *queue, const int64_t shift[3], int levels, const vf_wavelet_soft *soft,
                     const void *v, void *c)
{
    soft_threshold<T> by = {};
    if (soft)
        by = {(T)soft->scale, (T)soft->level, true};
    vf_status status = set_device(plan);
    for (int l = levels > 0; status == VF_OK && l <= levels; l++) {
        const vf_wavelet_box box = vf_wavelet_box_of(plan, l);
        status = do_level<T, false>(plan, queue, box, image<const number<T>>(plan, box, l, v, shift),
                                    bands<number<T>>(plan, box, l, levels, c), by);
    }
    return status;
}

template <typename T>
vf_status adjoint_as(vf_wavelet *plan, vf_queue *queue, const int64_t shift[3], const void *c, void *v)
{
    vf_status status = set_device(plan);
    for (int l = plan->levels; status == VF_OK && l >= (plan->levels > 0); l--) {
        const vf_wavelet_box box = vf_wavelet_box_of(plan, l);
        status = do_level<T, true>(plan, queue, box, bands<const number<T>>(plan, box, l, plan->levels, c),
                                   image<number<T>>(plan, box, l, v, shift), soft_threshold<T>{});
    }
    return status;
}

vf_status forward(vf_wavelet *plan, vf_queue *queue, const int64_t shift[3], int levels, const vf_wavelet_soft *soft,
                  const void *v, void *c)
{
    return plan->precision == VF_F64 ? forward_as<double>(plan, queue, shift, levels, soft, v, c)
                                     : forward_as<float>(plan, queue, shift, levels, soft, v, c);
}

vf_status adjoint(vf_wavelet *plan, vf_queue *queue, const int64_t shift[3], const void *c, void *v)
{
    return plan->precision == VF_F64 ? adjoint_as<double>(plan, queue, shift, c, v)
                                     : adjoint_as<float>(plan, queue, shift, c, v);
}

/* ---- sums: a block has a row ---- */

/* The sum over a block's threads, in a fixed order; valid in thread 0. `room` may be used again after the call. */
__device__ double sum_of_block(double value, double *room)
{
    room[threadIdx.x] = value;
    __syncthreads();
    for (int step = ROW_THREADS / 2; step > 0; step /= 2) {
        if ((int)threadIdx.x < step)
            room[threadIdx.x] += room[threadIdx.x + step];
        __syncthreads();
    }
    const double sum = room[0];
    __syncthreads();
    return sum;
}

template <typename T>
__device__ double square(number<T> c)
{
    const double re = c.re, im = c.im;
    return re * re + im * im;
}

template <typename T>
__global__ void __launch_bounds__(ROW_THREADS)
    add_magnitudes(extents padded, extents coarse, const number<T> *c, double *sums)
{
    __shared__ double room[ROW_THREADS];
    const int64_t row = blockIdx.x;
    const bool skips = row % padded.counts[1] < coarse.counts[1] && row / padded.counts[1] < coarse.counts[2];
    double sum = 0;
    for (int64_t x = (skips ? coarse.counts[0] : 0) + threadIdx.x; x < padded.counts[0]; x += ROW_THREADS)
        sum += sqrt(square(c[row * padded.counts[0] + x]));
    sum = sum_of_block(sum, room);
    if (threadIdx.x == 0)
        sums[row] = sum;
}

template <typename T>
__global__ void __launch_bounds__(ROW_THREADS)
    add_finest(vf_wavelet_support support, vf_dtype precision, const void *weights, const number<T> *c, double *sums,
               double *numbers)
{
    __shared__ double room[ROW_THREADS];
    const int64_t row = blockIdx.x, nx = support.padded[0], ny = support.padded[1];
    double sum = 0, count = 0;
    for (int64_t x = threadIdx.x; x < nx; x += ROW_THREADS)
        if (vf_wavelet_counts(&support, precision, weights, x, row % ny, row / ny)) {
            sum += square(c[row * nx + x]);
            count += 1;
        }
    sum = sum_of_block(sum, room);
    count = sum_of_block(count, room);
    if (threadIdx.x == 0) {
        sums[row] = sum;
        numbers[row] = count;
    }
}

vf_status magnitudes(vf_wavelet *plan, vf_queue *queue, const void *c)
{
    cudaStream_t stream = static_cast<cudaStream_t>(vf_queue_native(queue));
    const extents padded = {{plan->padded[0], plan->padded[1], plan->padded[2]}},
                  coarse = {{plan->coarse[0], plan->coarse[1], plan->coarse[2]}};
    const unsigned blocks = vf_blocks_for(plan->rows, 1);
    double *sums = static_cast<double *>(plan->sums.data);
    const vf_status status = set_device(plan);
    if (status != VF_OK)
        return status;
    if (plan->precision == VF_F64)
        add_magnitudes<<<blocks, ROW_THREADS, 0, stream>>>(padded, coarse, static_cast<const number<double> *>(c),
                                                           sums);
    else
        add_magnitudes<<<blocks, ROW_THREADS, 0, stream>>>(padded, coarse, static_cast<const number<float> *>(c), sums);
    return VF_CUDA(plan->device, cudaGetLastError());
}

vf_status finest(vf_wavelet *plan, vf_queue *queue, const int64_t shift[3], const void *c, const void *weights)
{
    cudaStream_t stream = static_cast<cudaStream_t>(vf_queue_native(queue));
    const vf_wavelet_support support = vf_wavelet_support_of(plan, shift);
    const unsigned blocks = vf_blocks_for(plan->rows, 1);
    double *sums = static_cast<double *>(plan->sums.data), *numbers = sums + plan->rows;
    const vf_status status = set_device(plan);
    if (status != VF_OK)
        return status;
    if (plan->precision == VF_F64)
        add_finest<<<blocks, ROW_THREADS, 0, stream>>>(support, plan->precision, weights,
                                                       static_cast<const number<double> *>(c), sums, numbers);
    else
        add_finest<<<blocks, ROW_THREADS, 0, stream>>>(support, plan->precision, weights,
                                                       static_cast<const number<float> *>(c), sums, numbers);
    return VF_CUDA(plan->device, cudaGetLastError());
}

} // namespace

const vf_wavelet_backend vf_wavelet_cuda = {VF_DEVICE_CUDA, create, forward, adjoint,
                                            magnitudes,     finest, destroy, nullptr};
