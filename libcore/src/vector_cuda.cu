/* Vectors on a GPU. Each element is read and written once, so all is bound by memory bandwidth; a thread takes every
 * (blocks x threads)th element, with a number of blocks that depends on the length alone. Sums: each thread's in double
 * precision, each block's by a tree, the blocks' by one more block. */
#include <pthread.h>

#include "cuda_check.cuh"
#include "launch_blocks.h"
#include "vector_internal.h"

namespace
{

enum { THREADS = 256, MOST_BLOCKS = 1024, MAX_GPUS = 64 };

template <typename T>
struct complex_type;
template <>
struct complex_type<float> {
    typedef float2 type;
};
template <>
struct complex_type<double> {
    typedef double2 type;
};

__device__ double2 partial[MOST_BLOCKS];
__device__ double2 total;
/* Guards `partial` and `total` of each GPU while a sum is on its way: blocking calls, so they are held that long. */
pthread_mutex_t sum_lock[MAX_GPUS];
pthread_once_t sum_lock_once = PTHREAD_ONCE_INIT;

void make_locks()
{
    for (int i = 0; i < MAX_GPUS; i++)
        pthread_mutex_init(&sum_lock[i], NULL);
}

unsigned blocks_for(int64_t n)
{
    const unsigned blocks = vf_blocks_for(n, THREADS), most = MOST_BLOCKS;
    return blocks < 1 ? 1 : blocks < most ? blocks : most;
}

__device__ int64_t first_element()
{
    return (int64_t)blockIdx.x * THREADS + threadIdx.x;
}

__device__ int64_t stride()
{
    return (int64_t)gridDim.x * THREADS;
}

template <typename T, typename C>
__global__ void __launch_bounds__(THREADS) axpby_kernel(int64_t n, T a, const C *x, T b, C *y)
{
    for (int64_t i = first_element(); i < n; i += stride()) {
        const C u = x[i];
        C v = b == 0 ? C{0, 0} : y[i];
        v.x = a * u.x + b * v.x;
        v.y = a * u.y + b * v.y;
        y[i] = v;
    }
}

template <typename T, typename C>
__global__ void __launch_bounds__(THREADS)
    multiply_add_kernel(int64_t n, const C *__restrict__ x, const C *__restrict__ y, C *__restrict__ z)
{
    for (int64_t i = first_element(); i < n; i += stride()) {
        const C u = x[i], v = y[i];
        C w = z[i];
        w.x += u.x * v.x + u.y * v.y;
        w.y += u.x * v.y - u.y * v.x;
        z[i] = w;
    }
}

template <typename T, typename C>
__global__ void __launch_bounds__(THREADS) scale_by_kernel(int64_t n, const T *w, const C *x, C *y)
{
    for (int64_t i = first_element(); i < n; i += stride()) {
        const C u = x[i];
        y[i] = C{w[i] * u.x, w[i] * u.y};
    }
}

/* The block's sum of one pair a thread; valid in thread 0. */
__device__ double2 block_sum(double2 mine)
{
    __shared__ double2 sums[THREADS];
    sums[threadIdx.x] = mine;
    for (int half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) {
            sums[threadIdx.x].x += sums[threadIdx.x + half].x;
            sums[threadIdx.x].y += sums[threadIdx.x + half].y;
        }
    }
    return sums[0];
}

template <typename C>
__global__ void __launch_bounds__(THREADS) dot_kernel(int64_t n, const C *x, const C *y)
{
    double2 sum = {0, 0};
    for (int64_t i = first_element(); i < n; i += stride()) {
        const C u = x[i], v = y[i];
        sum.x += (double)u.x * v.x + (double)u.y * v.y;
        sum.y += (double)u.x * v.y - (double)u.y * v.x;
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0)
        partial[blockIdx.x] = sum;
}

template <typename T, typename C>
__global__ void __launch_bounds__(THREADS) cg_step_kernel(int64_t n, T a, const C *__restrict__ p,
                                                          const C *__restrict__ q, C *__restrict__ x, C *__restrict__ r)
{
    double2 sum = {0, 0};
    for (int64_t i = first_element(); i < n; i += stride()) {
        const C pi = p[i], qi = q[i];
        C xi = x[i], ri = r[i];
        xi.x += a * pi.x;
        xi.y += a * pi.y;
        ri.x -= a * qi.x;
        ri.y -= a * qi.y;
        x[i] = xi;
        r[i] = ri;
        sum.x += (double)ri.x * ri.x + (double)ri.y * ri.y;
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0)
        partial[blockIdx.x] = sum;
}

__global__ void __launch_bounds__(THREADS) total_kernel(unsigned blocks)
{
    double2 sum = {0, 0};
    for (unsigned i = threadIdx.x; i < blocks; i += THREADS) {
        sum.x += partial[i].x;
        sum.y += partial[i].y;
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0)
        total = sum;
}

cudaStream_t stream_of(vf_queue *queue)
{
    return static_cast<cudaStream_t>(vf_queue_native(queue));
}

vf_status begin(vf_queue *queue)
{
    vf_device *device = vf_queue_device(queue);
    return VF_CUDA(device, cudaSetDevice(vf_device_ordinal(device)));
}

/* Launches `kernel` in the precision of `type`. Inside: T the real type, C the complex one, `blocks`, `stream`. */
#define LAUNCH(queue, type, n, ...)                                                                                    \
    do {                                                                                                               \
        vf_status status_ = begin(queue);                                                                              \
        if (status_ != VF_OK)                                                                                          \
            return status_;                                                                                            \
        const unsigned blocks = blocks_for(n);                                                                         \
        cudaStream_t stream = stream_of(queue);                                                                        \
        if ((type) == VF_C128) {                                                                                       \
            typedef double T;                                                                                          \
            typedef complex_type<T>::type C;                                                                           \
            __VA_ARGS__;                                                                                               \
        } else {                                                                                                       \
            typedef float T;                                                                                           \
            typedef complex_type<T>::type C;                                                                           \
            __VA_ARGS__;                                                                                               \
        }                                                                                                              \
        status_ = VF_CUDA(vf_queue_device(queue), cudaGetLastError());                                                 \
        if (status_ != VF_OK)                                                                                          \
            return status_;                                                                                            \
    } while (0)

vf_status zero(vf_queue *queue, vf_dtype type, int64_t n, void *x)
{
    vf_status status = begin(queue);
    if (status == VF_OK && n > 0)
        status =
            VF_CUDA(vf_queue_device(queue), cudaMemsetAsync(x, 0, (size_t)n * vf_dtype_bytes(type), stream_of(queue)));
    return status;
}

vf_status axpby(vf_queue *queue, vf_dtype type, int64_t n, double a, const void *x, double b, void *y)
{
    LAUNCH(queue, type, n, (axpby_kernel<T, C><<<blocks, THREADS, 0, stream>>>(n, (T)a, (const C *)x, (T)b, (C *)y)));
    return VF_OK;
}

vf_status multiply_add(vf_queue *queue, vf_dtype type, int64_t n, const void *x, const void *y, void *z)
{
    LAUNCH(queue, type, n,
           (multiply_add_kernel<T, C><<<blocks, THREADS, 0, stream>>>(n, (const C *)x, (const C *)y, (C *)z)));
    return VF_OK;
}

vf_status scale_by(vf_queue *queue, vf_dtype type, int64_t n, const void *w, const void *x, void *y)
{
    LAUNCH(queue, type, n,
           (scale_by_kernel<T, C><<<blocks, THREADS, 0, stream>>>(n, (const T *)w, (const C *)x, (C *)y)));
    return VF_OK;
}

vf_status place(vf_queue *queue, vf_dtype type, const int64_t counts[3], const void *x, const int64_t whole[3],
                const int64_t at[3], void *y)
{
    const size_t size = vf_dtype_bytes(type);
    vf_status status = begin(queue);
    if (status != VF_OK)
        return status;
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(const_cast<void *>(x), (size_t)counts[0] * size, (size_t)counts[0] * size,
                                      (size_t)counts[1]);
    copy.dstPtr = make_cudaPitchedPtr(y, (size_t)whole[0] * size, (size_t)whole[0] * size, (size_t)whole[1]);
    copy.dstPos = make_cudaPos((size_t)at[0] * size, (size_t)at[1], (size_t)at[2]);
    copy.extent = make_cudaExtent((size_t)counts[0] * size, (size_t)counts[1], (size_t)counts[2]);
    copy.kind = cudaMemcpyDeviceToDevice;
    return VF_CUDA(vf_queue_device(queue), cudaMemcpy3DAsync(&copy, stream_of(queue)));
}

/* Adds the blocks' sums and waits for the result. The device's lock is held by the caller. */
vf_status fetch_total(vf_queue *queue, unsigned blocks, double2 *result)
{
    vf_device *device = vf_queue_device(queue);
    total_kernel<<<1, THREADS, 0, stream_of(queue)>>>(blocks);
    vf_status status = VF_CUDA(device, cudaGetLastError());
    if (status == VF_OK)
        status = VF_CUDA(device, cudaMemcpyFromSymbolAsync(result, total, sizeof *result, 0, cudaMemcpyDeviceToHost,
                                                           stream_of(queue)));
    if (status == VF_OK)
        status = VF_CUDA(device, cudaStreamSynchronize(stream_of(queue)));
    return status;
}

pthread_mutex_t *lock_of(vf_queue *queue)
{
    pthread_once(&sum_lock_once, make_locks);
    return &sum_lock[vf_device_ordinal(vf_queue_device(queue)) % MAX_GPUS];
}

vf_status launch_dot(vf_queue *queue, vf_dtype type, int64_t n, const void *x, const void *y)
{
    LAUNCH(queue, type, n, (dot_kernel<C><<<blocks, THREADS, 0, stream>>>(n, (const C *)x, (const C *)y)));
    return VF_OK;
}

vf_status dot(vf_queue *queue, vf_dtype type, int64_t n, const void *x, const void *y, double result[2])
{
    double2 sum = {0, 0};
    pthread_mutex_lock(lock_of(queue));
    vf_status status = launch_dot(queue, type, n, x, y);
    if (status == VF_OK)
        status = fetch_total(queue, blocks_for(n), &sum);
    pthread_mutex_unlock(lock_of(queue));
    result[0] = sum.x;
    result[1] = sum.y;
    return status;
}

vf_status launch_cg_step(vf_queue *queue, vf_dtype type, int64_t n, double a, const void *p, const void *q, void *x,
                         void *r)
{
    LAUNCH(queue, type, n,
           (cg_step_kernel<T, C><<<blocks, THREADS, 0, stream>>>(n, (T)a, (const C *)p, (const C *)q, (C *)x, (C *)r)));
    return VF_OK;
}

vf_status cg_step(vf_queue *queue, vf_dtype type, int64_t n, double a, const void *p, const void *q, void *x, void *r,
                  double *squares)
{
    double2 sum = {0, 0};
    pthread_mutex_lock(lock_of(queue));
    vf_status status = launch_cg_step(queue, type, n, a, p, q, x, r);
    if (status == VF_OK)
        status = fetch_total(queue, blocks_for(n), &sum);
    pthread_mutex_unlock(lock_of(queue));
    *squares = sum.x;
    return status;
}

} // namespace

extern "C" const vf_vector_ops vf_vector_cuda = {zero, axpby, multiply_add, scale_by, dot, place, cg_step};
