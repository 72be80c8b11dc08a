/* The CUDA backend. If the lengths allow, it transforms the doubled grid axis by axis: toeplitz_flow.cu, which pads them to a length
 * of two or three passes, or toeplitz_axes.cu, for longer ones. Otherwise cuFFT transforms the whole grid, and three kernels around
 * it do the rest. Small problems take several coils and segments at a time, for enough threads and few launches. */
#include <stdlib.h>
#include <string.h>

#include "backend/launch_blocks.h"
#include "toeplitz_cuda.cuh"
#include "voxfield/fft.h"

namespace vf_toeplitz_gpu
{
namespace
{

/* Threads in a block. A batch has at most MOST_BATCH arrays and at most BATCH_POINTS points of the doubled grid, but at
 * least one array. */
enum { THREADS = 256, BATCH_POINTS = 1 << 22, MOST_BATCH = 32 };

struct cuda_state {
    int batch;          /* arrays per batch */
    bool by_axes;       /* else by cuFFT */
    bool by_flow;       /* by_axes, with padded lengths */
    flow_plan flow;     /* by_flow */
    int64_t lengths[3]; /* of the transforms; plan->doubled unless by_flow */
    bool used[3];       /* axes that a circulant matrix depends on */
    axes axis;          /* by_axes */
    vf_fft *one, *many; /* else; `many` transforms a batch, and is NULL if a batch is one array */
    vf_array buffer;    /* [batch][doubled grid] complex, or as axes_buffer says */
    vf_array kernels;   /* [segments][doubled grid] real */
    vf_array time;      /* [segments] or no data */
};

/* The row of a thread. Rows are along x; in its row the thread takes element threadIdx.x and every blockDim.x-th one
 * after it. */
__device__ int64_t own_row()
{
    return (int64_t)blockIdx.x * blockDim.y + threadIdx.y;
}

/* buffer = x times map and e_l, padded with zeros. Each thread row takes a row of the batch's doubled grids. */
template <typename T>
__global__ void __launch_bounds__(THREADS) enter(work<T> w, const number<T> *__restrict__ x)
{
    const int64_t row = own_row();
    const int64_t j = row % w.doubled[1], k = row / w.doubled[1] % w.doubled[2];
    const int item = w.first + (int)(row / w.doubled[1] / w.doubled[2]);
    if (item >= w.first + w.count)
        return;
    const bool inside = j < w.matrix[1] && k < w.matrix[2];
    for (int64_t i = threadIdx.x; i < w.doubled[0]; i += blockDim.x) {
        number<T> v = {0, 0};
        if (inside && i < w.matrix[0]) {
            const int64_t n = (k * w.matrix[1] + j) * w.matrix[0] + i;
            v = product(seen_through(w, item, n), x[n]);
        }
        w.buffer[row * w.doubled[0] + i] = v;
    }
}

/* buffer *= the kernel of each array's segment. One thread per point of the doubled grid. */
template <typename T>
__global__ void __launch_bounds__(THREADS) multiply(work<T> w)
{
    const int64_t n = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (n >= w.points)
        return;
    for (int b = 0; b < w.count; b++) {
        const T p = w.kernels[(w.first + b) % w.segments * w.points + n];
        const number<T> v = w.buffer[b * w.points + n];
        w.buffer[b * w.points + n] = {p * v.re, p * v.im};
    }
}

/* y (+)= the sum over the batch of conj(map e_l) buffer, without the padding. Each thread row takes a row of voxels.
 * The batch's arrays are added in order, so the bits are always the same. */
template <typename T>
__global__ void __launch_bounds__(THREADS) leave(work<T> w, number<T> *__restrict__ y)
{
    const int64_t row = own_row();
    if (row >= w.matrix[1] * w.matrix[2])
        return;
    const int64_t from = (row / w.matrix[1] * w.doubled[1] + row % w.matrix[1]) * w.doubled[0];
    for (int64_t i = threadIdx.x; i < w.matrix[0]; i += blockDim.x) {
        const int64_t n = row * w.matrix[0] + i;
        number<T> sum = {0, 0};
        if (w.first > 0)
            sum = y[n];
        for (int b = 0; b < w.count; b++) {
            const number<T> v = product(conjugate(seen_through(w, w.first + b, n)), w.buffer[b * w.points + from + i]);
            sum = {sum.re + v.re, sum.im + v.im};
        }
        y[n] = sum;
    }
}

template <typename T>
__device__ bool unused(const work<T> &w, int64_t i, int64_t j, int64_t k)
{
    return (w.matrix[0] > 1 && i == 0) || (w.matrix[1] > 1 && j == 0) || (w.matrix[2] > 1 && k == 0);
}

/* Q = 0 where an index along a doubled axis is 0; see clear_unused in toeplitz_cpu_kernel.c. */
template <typename T>
__global__ void __launch_bounds__(THREADS) clear_unused(work<T> w, number<T> *q)
{
    const int64_t row = own_row();
    if (row >= w.doubled[1] * w.doubled[2])
        return;
    for (int64_t i = threadIdx.x; i < w.doubled[0]; i += blockDim.x)
        if (unused(w, i, row % w.doubled[1], row / w.doubled[1]))
            q[row * w.doubled[0] + i] = {0, 0};
}

/* The kernel: the real part of Q's transform; see toeplitz_cpu_set. Q begins at r = -1, N points before r = 0, which
 * gives a factor (-1)^k along each doubled axis. Along an axis that is not doubled, k is always 0. */
template <typename T>
__global__ void __launch_bounds__(THREADS) take_kernel(work<T> w, T scale, const number<T> *q, T *kernel)
{
    const int64_t row = own_row();
    if (row >= w.doubled[1] * w.doubled[2])
        return;
    for (int64_t i = threadIdx.x; i < w.doubled[0]; i += blockDim.x) {
        const bool odd = (i + row % w.doubled[1] + row / w.doubled[1]) % 2 != 0;
        const int64_t n = row * w.doubled[0] + i;
        kernel[n] = (odd ? -scale : scale) * q[n].re;
    }
}

/* ---- host side ---- */

struct launch_shape {
    dim3 blocks, threads;
};

/* Blocks for `rows` rows of `length` points. A block takes several short rows. */
launch_shape rows_shape(int64_t length, int64_t rows)
{
    unsigned along = 1;
    while (along < THREADS && along < length)
        along *= 2;
    const unsigned across = THREADS / along;
    return {dim3(vf_blocks_for(rows, (int)across)), dim3(along, across)};
}

template <typename T>
work<T> work_of(const vf_toeplitz *plan)
{
    const cuda_state *s = static_cast<const cuda_state *>(plan->state);
    work<T> w = {};
    memcpy(w.matrix, plan->matrix, sizeof w.matrix);
    memcpy(w.doubled, s->lengths, sizeof w.doubled);
    w.voxels = plan->voxels;
    w.points = w.doubled[0] * w.doubled[1] * w.doubled[2];
    w.segments = plan->segments;
    w.time = static_cast<const double *>(s->time.data);
    w.field = static_cast<const float *>(plan->field.data);
    w.kernels = static_cast<const T *>(s->kernels.data);
    w.buffer = static_cast<number<T> *>(s->buffer.data);
    return w;
}

template <typename T>
vf_status set_segment(vf_toeplitz *plan, vf_queue *queue, int segment, void *q)
{
    cuda_state *s = static_cast<cuda_state *>(plan->state);
    cudaStream_t stream = static_cast<cudaStream_t>(vf_queue_native(queue));
    const work<T> w = work_of<T>(plan);
    const launch_shape shape = rows_shape(w.doubled[0], w.doubled[1] * w.doubled[2]);
    T *kernel = static_cast<T *>(s->kernels.data) + segment * w.points;
    if (s->by_flow)
        return VF_CUDA(plan->device, flow_set(&s->flow, &s->axis, w, stream, static_cast<const number<T> *>(q),
                                              static_cast<T *>(s->kernels.data) + segment * flow_factors(&s->flow)));
    clear_unused<<<shape.blocks, shape.threads, 0, stream>>>(w, static_cast<number<T> *>(q));
    vf_status status = VF_CUDA(plan->device, cudaGetLastError());
    if (status == VF_OK)
        status = s->by_axes ? VF_CUDA(plan->device, axes_transform(&s->axis, w, stream, static_cast<number<T> *>(q)))
                            : vf_fft_execute(s->one, queue, VF_FFT_FORWARD, q);
    if (status != VF_OK)
        return status;
    take_kernel<<<shape.blocks, shape.threads, 0, stream>>>(w, (T)(1 / (double)w.points),
                                                            static_cast<const number<T> *>(q), kernel);
    return VF_CUDA(plan->device, cudaGetLastError());
}

/* A circulant matrix is given by its transform. */
template <typename T>
vf_status set_circulant(vf_toeplitz *plan, vf_queue *queue, const void *p)
{
    cuda_state *s = static_cast<cuda_state *>(plan->state);
    cudaStream_t stream = static_cast<cudaStream_t>(vf_queue_native(queue));
    const work<T> w = work_of<T>(plan);
    const T *from = static_cast<const T *>(p);
    T *kernel = static_cast<T *>(s->kernels.data);
    int found[3] = {1, 1, 1};
    double scale = 1;
    vf_status status = VF_OK;
    if (s->by_axes) { /* the buffer has room for the answer */
        int *answer = static_cast<int *>(s->buffer.data);
        status = VF_CUDA(plan->device, circulant_find(w, stream, from, answer));
        if (status == VF_OK)
            status = vf_queue_copy(queue, found, answer, sizeof found);
        if (status == VF_OK)
            status = vf_queue_sync(queue);
    }
    if (!found[1] && !found[2]) /* circulant_apply needs columns, if only of one voxel */
        found[plan->matrix[1] > 1 ? 1 : 2] = 1;
    for (int a = 0; a < 3; a++) {
        s->used[a] = found[a] != 0;
        scale *= s->used[a] ? 1 : (double)plan->matrix[a];
    }
    return status == VF_OK ? VF_CUDA(plan->device, circulant_set(w, stream, scale, from, kernel)) : status;
}

/* Applies one batch: w.count arrays from w.first on. cuFFT transforms whole batches, or a single array. The contents of
 * a batch's unused arrays do not matter. */
template <typename T>
vf_status apply_batch(const vf_toeplitz *plan, vf_queue *queue, const work<T> &w, const void *x, void *y)
{
    const cuda_state *s = static_cast<const cuda_state *>(plan->state);
    cudaStream_t stream = static_cast<cudaStream_t>(vf_queue_native(queue));
    if (s->by_axes && plan->circulant)
        return VF_CUDA(plan->device, circulant_apply(&s->axis, s->used, w, stream, static_cast<const number<T> *>(x),
                                                     static_cast<number<T> *>(y)));
    if (s->by_flow)
        return VF_CUDA(plan->device,
                       flow_apply(&s->flow, w, stream, static_cast<const number<T> *>(x), static_cast<number<T> *>(y)));
    if (s->by_axes)
        return VF_CUDA(plan->device,
                       axes_apply(&s->axis, w, stream, static_cast<const number<T> *>(x), static_cast<number<T> *>(y)));
    vf_fft *fft = w.count > 1 ? s->many : s->one;
    const launch_shape in = rows_shape(w.doubled[0], w.doubled[1] * w.doubled[2] * w.count);
    const launch_shape out = rows_shape(w.matrix[0], w.matrix[1] * w.matrix[2]);
    enter<<<in.blocks, in.threads, 0, stream>>>(w, static_cast<const number<T> *>(x));
    vf_status status = VF_CUDA(plan->device, cudaGetLastError());
    if (status == VF_OK)
        status = vf_fft_execute(fft, queue, VF_FFT_FORWARD, s->buffer.data);
    if (status != VF_OK)
        return status;
    multiply<<<vf_blocks_for(w.points, THREADS), THREADS, 0, stream>>>(w);
    status = VF_CUDA(plan->device, cudaGetLastError());
    if (status == VF_OK)
        status = vf_fft_execute(fft, queue, VF_FFT_BACKWARD, s->buffer.data);
    if (status != VF_OK)
        return status;
    leave<<<out.blocks, out.threads, 0, stream>>>(w, static_cast<number<T> *>(y));
    return VF_CUDA(plan->device, cudaGetLastError());
}

template <typename T>
vf_status apply_all(const vf_toeplitz *plan, vf_queue *queue, int coils, const void *maps, const void *x, void *y)
{
    const cuda_state *s = static_cast<const cuda_state *>(plan->state);
    const int64_t items = (int64_t)coils * plan->segments;
    work<T> w = work_of<T>(plan);
    vf_status status = VF_OK;
    w.maps = static_cast<const number<T> *>(maps);
    if (items > INT32_MAX - MOST_BATCH)
        return vf_fail(vf_device_context(plan->device), VF_ERR_ARGUMENT, "Toeplitz: %d coils are too many", coils);
    for (w.first = 0; status == VF_OK && w.first < items; w.first += w.count) {
        w.count = items - w.first < s->batch ? (int)(items - w.first) : s->batch;
        status = apply_batch(plan, queue, w, x, y);
    }
    return status;
}

vf_status set(vf_toeplitz *plan, vf_queue *queue, int segment, void *q)
{
    vf_status status = VF_CUDA(plan->device, cudaSetDevice(vf_device_ordinal(plan->device)));
    if (status != VF_OK)
        return status;
    if (plan->circulant)
        return plan->precision == VF_F64 ? set_circulant<double>(plan, queue, q) : set_circulant<float>(plan, queue, q);
    return plan->precision == VF_F64 ? set_segment<double>(plan, queue, segment, q)
                                     : set_segment<float>(plan, queue, segment, q);
}

vf_status apply(vf_toeplitz *plan, vf_queue *queue, int coils, const void *maps, const void *x, void *y)
{
    vf_status status = VF_CUDA(plan->device, cudaSetDevice(vf_device_ordinal(plan->device)));
    if (status != VF_OK)
        return status;
    return plan->precision == VF_F64 ? apply_all<double>(plan, queue, coils, maps, x, y)
                                     : apply_all<float>(plan, queue, coils, maps, x, y);
}

void destroy(vf_toeplitz *plan)
{
    cuda_state *s = static_cast<cuda_state *>(plan->state);
    vf_array_free(&s->axis.roots);
    vf_array_free(&s->flow.tables);
    vf_fft_destroy(s->one);
    vf_fft_destroy(s->many);
    vf_array_free(&s->buffer);
    vf_array_free(&s->kernels);
    vf_array_free(&s->time);
    free(s);
    plan->state = NULL;
}

vf_status make_arrays(vf_toeplitz *plan, cuda_state *s, int64_t points)
{
    /* Cleared: a batch that is not full is transformed whole, and its unused arrays should hold valid numbers. */
    const int64_t each = s->by_axes && !plan->circulant ? axes_buffer(plan->matrix, plan->doubled) : points;
    const int64_t numbers = s->by_flow ? flow_buffer(&s->flow) : s->batch * each,
                  kernel = s->by_flow ? flow_factors(&s->flow) : points;
    vf_status status = vf_create_cleared(plan->device, vf_dtype_complex(plan->precision), numbers, &s->buffer);
    if (status == VF_OK)
        status = vf_array_create(plan->device, VF_SPACE_DEVICE, plan->precision, plan->segments * kernel, &s->kernels);
    if (status == VF_OK && plan->time)
        status = vf_array_create(plan->device, VF_SPACE_DEVICE, VF_F64, plan->segments, &s->time);
    if (status == VF_OK && plan->time)
        status =
            VF_CUDA(plan->device, vf_cuda_upload(s->time.data, plan->time, (size_t)plan->segments * sizeof(double)));
    if (status == VF_OK)
        plan->bytes += s->buffer.count * (int64_t)vf_dtype_bytes(s->buffer.type) +
                       s->kernels.count * (int64_t)vf_dtype_bytes(s->kernels.type) +
                       s->axis.roots.count * (int64_t)vf_dtype_bytes(s->axis.roots.type) +
                       s->flow.tables.count * (int64_t)vf_dtype_bytes(s->flow.tables.type) +
                       s->time.count * (int64_t)sizeof(double) + (s->one ? vf_fft_bytes(s->one) : 0) +
                       (s->many ? vf_fft_bytes(s->many) : 0);
    return status;
}

/* Chooses the design, and plans it. */
vf_status plan_axes(vf_toeplitz *plan, cuda_state *s)
{
    int most_bytes = 0;
    vf_status status = VF_OK;
    if (!plan->circulant && flow_lengths(plan->precision, plan->matrix, s->lengths)) {
        status = axes_create(plan->device, plan->precision, s->lengths, &s->by_axes, &s->axis);
        if (status == VF_OK && s->by_axes)
            status = VF_CUDA(plan->device, cudaDeviceGetAttribute(&most_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin,
                                                                  vf_device_ordinal(plan->device)));
        s->by_flow = s->by_axes;
    }
    if (status == VF_OK && s->by_flow) {
        status = flow_create(plan->device, plan->precision, plan->matrix, &s->axis, most_bytes, &s->flow);
        s->batch = s->flow.shape.arrays;
    } else if (status == VF_OK) {
        memcpy(s->lengths, plan->doubled, sizeof s->lengths);
        status = axes_create(plan->device, plan->precision, s->lengths, &s->by_axes, &s->axis);
    }
    plan->design = s->by_flow ? "padded axes" : s->by_axes ? "axes" : "cuFFT";
    return status;
}

vf_status create(vf_toeplitz *plan)
{
    const int64_t dims[3] = {plan->doubled[2], plan->doubled[1], plan->doubled[0]},
                  points = dims[0] * dims[1] * dims[2];
    const vf_dtype type = vf_dtype_complex(plan->precision);
    cuda_state *s = static_cast<cuda_state *>(calloc(1, sizeof *s));
    if (!s)
        return vf_fail(vf_device_context(plan->device), VF_ERR_MEMORY, "Toeplitz: no memory for a plan");
    plan->state = s;
    const int64_t fit = BATCH_POINTS / points;
    s->batch = fit < 1 ? 1 : fit > MOST_BATCH ? (int)MOST_BATCH : (int)fit;
    vf_status status = VF_CUDA(plan->device, cudaSetDevice(vf_device_ordinal(plan->device)));
    if (status == VF_OK)
        status = plan_axes(plan, s);
    if (status == VF_OK && !s->by_axes)
        status = vf_fft_create(plan->device, type, 3, dims, 1, &s->one);
    if (status == VF_OK && !s->by_axes && s->batch > 1)
        status = vf_fft_create(plan->device, type, 3, dims, s->batch, &s->many);
    return status == VF_OK ? make_arrays(plan, s, points) : status;
}

} // namespace
} // namespace vf_toeplitz_gpu

extern "C" const vf_toeplitz_backend vf_toeplitz_cuda = {VF_DEVICE_CUDA,          "fft",
                                                         vf_toeplitz_gpu::create, vf_toeplitz_gpu::set,
                                                         vf_toeplitz_gpu::apply,  vf_toeplitz_gpu::destroy};
