/* Vectors on a GPU. Each element is read and written once, so all is bound by memory bandwidth; a thread takes every
 * (blocks x threads)th element, with a number of blocks that depends on the length alone. Sums are the reductions of
 * reduce.cuh, with scratch memory that the queue keeps. */
#include <stdlib.h>

#include "backend/cuda_check.cuh"
#include "backend/launch_blocks.h"
#include "device/context_internal.h"
#include "reduce/reduce_tuning.cuh"
#include "reduce/reduce_works.cuh"
#include "vector_internal.h"

namespace
{

enum { THREADS = 256, MOST_BLOCKS = 1024 };

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

/* A step of conjugate gradients as a reduction of what it makes. */
template <typename E>
struct step_work : vf_of_arrays<E, false>, vf_summing<1> {
    typedef vf_sums<1> State;
    typedef typename E::Real Real;
    static constexpr int bytes = 4 * sizeof(E);
    Real a;
    const E *p, *q;
    E *to_x, *to_r;
    double *squares;

    template <int V>
    struct Items {
        vf_pack<E, V> p, q, x, r;
    };

    template <int V, bool ALIGNED>
    __device__ Items<V> fetch(int64_t i) const
    {
        return {vf_load<V, ALIGNED>(p + i), vf_load<V, ALIGNED>(q + i), vf_load<V, ALIGNED>((const E *)to_x + i),
                vf_load<V, ALIGNED>((const E *)to_r + i)};
    }
    template <int V>
    __device__ void take(State &s, Items<V> items, int64_t i) const
    {
#pragma unroll
        for (int j = 0; j < V; j++)
            for (int part = 0; part < 2; part++) {
                Real &x = items.x.of[j].part[part], &r = items.r.of[j].part[part];
                x = fma(a, items.p.of[j].part[part], x);
                r = fma(-a, items.q.of[j].part[part], r);
                s.of[0] = fma((double)r, (double)r, s.of[0]);
            }
        if (this->aligned) {
            vf_store<V, true>(to_x + i, items.x);
            vf_store<V, true>(to_r + i, items.r);
        } else {
            vf_store<V, false>(to_x + i, items.x);
            vf_store<V, false>(to_r + i, items.r);
        }
    }
    __device__ void finish(const State &s) const
    {
        *squares = s.of[0];
    }
};

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

/* ---- sums: plans and scratch memory of a queue ---- */

struct queue_sums {
    vf_reduce *dot[2]; /* of VF_C64, VF_C128 */
    vf_launch step[2];
    vf_array scratch, result; /* a step's partial results; its sum, in pinned memory */
};

typedef vf_element<float, 2> c64;
typedef vf_element<double, 2> c128;
template <typename E>
using step_tuning = vf_reduce_tuning<step_work<E>::bytes>;

template <typename E>
cudaError_t find_step(vf_launch *launch)
{
    return vf_find_columns<step_tuning<E>, step_work<E>>(launch);
}

void release_sums(void *data)
{
    queue_sums *sums = static_cast<queue_sums *>(data);
    vf_reduce_destroy(sums->dot[0]);
    vf_reduce_destroy(sums->dot[1]);
    vf_array_free(&sums->scratch);
    vf_array_free(&sums->result);
    free(sums);
}

/* The queue's sums, made if they are not there. Its lock is held by the caller. */
vf_status find_sums(vf_queue *queue, queue_sums **out)
{
    vf_device *device = queue->device;
    *out = static_cast<queue_sums *>(queue->sums.data);
    if (*out)
        return VF_OK;
    queue_sums *sums = static_cast<queue_sums *>(calloc(1, sizeof *sums));
    if (!sums)
        return vf_fail(vf_device_context(device), VF_ERR_MEMORY, "no memory for the sums of a queue");
    size_t bytes = 0;
    vf_status status = begin(queue);
    for (int i = 0; i < 2 && status == VF_OK; i++)
        status = vf_reduce_create(device, VF_REDUCE_DOT, i ? VF_C128 : VF_C64, INT64_MAX, &sums->dot[i]);
    for (int i = 0; i < 2 && status == VF_OK; i++) {
        status = VF_CUDA(device, i ? find_step<c128>(&sums->step[i]) : find_step<c64>(&sums->step[i]));
        if (vf_partials_bytes<vf_sums<1>>(sums->step[i]) > bytes)
            bytes = vf_partials_bytes<vf_sums<1>>(sums->step[i]);
    }
    if (status == VF_OK)
        status = vf_array_create(device, VF_SPACE_DEVICE, VF_U8, (int64_t)bytes, &sums->scratch);
    if (status == VF_OK)
        status = vf_array_create(device, VF_SPACE_PINNED, VF_F64, 1, &sums->result);
    if (status == VF_OK)
        status = VF_CUDA(device, cudaMemsetAsync(sums->scratch.data, 0, bytes, stream_of(queue)));
    if (status != VF_OK) {
        release_sums(sums);
        return status;
    }
    queue->sums.data = *out = sums;
    queue->sums.release = release_sums;
    return VF_OK;
}

vf_status dot(vf_queue *queue, vf_dtype type, int64_t n, const void *x, const void *y, double result[2])
{
    queue_sums *sums;
    vf_reduced sum = {0, 0, 0, 0};
    pthread_mutex_lock(&queue->sums.lock);
    vf_status status = find_sums(queue, &sums);
    if (status == VF_OK)
        status = vf_reduce_now(sums->dot[type == VF_C128], queue, n, x, y, &sum);
    pthread_mutex_unlock(&queue->sums.lock);
    result[0] = sum.re;
    result[1] = sum.im;
    return status;
}

template <typename E>
cudaError_t launch_step(const vf_launch &launch, const queue_sums *sums, cudaStream_t stream, int64_t n, double a,
                        const void *p, const void *q, void *x, void *r)
{
    step_work<E> work;
    const vf_range range = vf_range_from_0(n);
    const int V = work.vector(launch.work);
    work.a = (typename E::Real)a;
    work.p = static_cast<const E *>(p);
    work.q = static_cast<const E *>(q);
    work.to_x = static_cast<E *>(x);
    work.to_r = static_cast<E *>(r);
    work.squares = static_cast<double *>(sums->result.data);
    work.x = work.y = NULL;
    work.result = NULL;
    work.aligned = vf_is_aligned(work.p, range, V) && vf_is_aligned(work.q, range, V) &&
                   vf_is_aligned(work.to_x, range, V) && vf_is_aligned(work.to_r, range, V);
    vf_reduce_columns<step_tuning<E>, step_work<E>>
        <<<vf_count_thread_blocks(launch, range), launch.threads, 0, stream>>>(
            work, range, vf_partials_in<vf_sums<1>>(sums->scratch.data, launch));
    return cudaGetLastError();
}

vf_status cg_step(vf_queue *queue, vf_dtype type, int64_t n, double a, const void *p, const void *q, void *x, void *r,
                  double *squares)
{
    queue_sums *sums = NULL;
    vf_device *device = queue->device;
    pthread_mutex_lock(&queue->sums.lock);
    vf_status status = begin(queue);
    if (status == VF_OK)
        status = find_sums(queue, &sums);
    if (status == VF_OK)
        status = VF_CUDA(device, type == VF_C128
                                     ? launch_step<c128>(sums->step[1], sums, stream_of(queue), n, a, p, q, x, r)
                                     : launch_step<c64>(sums->step[0], sums, stream_of(queue), n, a, p, q, x, r));
    if (status == VF_OK)
        status = vf_queue_sync(queue);
    *squares = status == VF_OK ? *static_cast<const double *>(sums->result.data) : 0;
    pthread_mutex_unlock(&queue->sums.lock);
    return status;
}

} // namespace

extern "C" const vf_vector_ops vf_vector_cuda = {axpby, multiply_add, scale_by, dot, cg_step};
