/* Vectors on a GPU. Each element is read and written once, so memory bandwidth is the limit. A thread takes every
 * (blocks x threads)-th element; the number of blocks depends on the length alone. Sums are the reductions of
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

typedef vf_element<float, 1> f32;
typedef vf_element<double, 1> f64;
typedef vf_element<float, 2> c64;
typedef vf_element<double, 2> c128;

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

template <typename E>
__global__ void __launch_bounds__(THREADS)
    axpby_kernel(int64_t n, typename E::Real a, const E *x, typename E::Real b, E *y)
{
    for (int64_t i = first_element(); i < n; i += stride()) {
        const E u = x[i];
        E v = b == 0 ? E{} : y[i];
#pragma unroll
        for (int p = 0; p < E::parts; p++)
            v.part[p] = a * u.part[p] + b * v.part[p];
        y[i] = v;
    }
}

template <typename E>
__global__ void __launch_bounds__(THREADS)
    multiply_add_kernel(int64_t n, const E *__restrict__ x, const E *__restrict__ y, E *__restrict__ z)
{
    for (int64_t i = first_element(); i < n; i += stride()) {
        const E u = x[i], v = y[i];
        E w = z[i];
        if constexpr (E::parts == 2) {
            w.part[0] += u.part[0] * v.part[0] + u.part[1] * v.part[1];
            w.part[1] += u.part[0] * v.part[1] - u.part[1] * v.part[0];
        } else {
            w.part[0] += u.part[0] * v.part[0];
        }
        z[i] = w;
    }
}

template <typename E>
__global__ void __launch_bounds__(THREADS) scale_by_kernel(int64_t n, const typename E::Real *w, const E *x, E *y)
{
    for (int64_t i = first_element(); i < n; i += stride()) {
        E u = x[i];
#pragma unroll
        for (int p = 0; p < E::parts; p++)
            u.part[p] = w[i] * u.part[p];
        y[i] = u;
    }
}

/* A step of conjugate gradients: updates x and r, and reduces the new r to its sum of squares. */
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
            for (int part = 0; part < E::parts; part++) {
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

/* Runs the code that follows, with E as the element type that `type` names. */
#define FOR_TYPE(type, ...)                                                                                            \
    do {                                                                                                               \
        if ((type) == VF_F32) {                                                                                        \
            typedef f32 E;                                                                                             \
            __VA_ARGS__;                                                                                               \
        } else if ((type) == VF_F64) {                                                                                 \
            typedef f64 E;                                                                                             \
            __VA_ARGS__;                                                                                               \
        } else if ((type) == VF_C64) {                                                                                 \
            typedef c64 E;                                                                                             \
            __VA_ARGS__;                                                                                               \
        } else {                                                                                                       \
            typedef c128 E;                                                                                            \
            __VA_ARGS__;                                                                                               \
        }                                                                                                              \
    } while (0)

/* Launches a kernel. The launch can use E (the element type), `blocks` and `stream`. */
#define LAUNCH(queue, type, n, ...)                                                                                    \
    do {                                                                                                               \
        vf_status status_ = begin(queue);                                                                              \
        if (status_ != VF_OK)                                                                                          \
            return status_;                                                                                            \
        const unsigned blocks = blocks_for(n);                                                                         \
        cudaStream_t stream = stream_of(queue);                                                                        \
        FOR_TYPE(type, __VA_ARGS__);                                                                                   \
        status_ = VF_CUDA(vf_queue_device(queue), cudaGetLastError());                                                 \
        if (status_ != VF_OK)                                                                                          \
            return status_;                                                                                            \
    } while (0)

vf_status axpby(vf_queue *queue, vf_dtype type, int64_t n, double a, const void *x, double b, void *y)
{
    LAUNCH(queue, type, n,
           (axpby_kernel<E><<<blocks, THREADS, 0, stream>>>(n, (E::Real)a, (const E *)x, (E::Real)b, (E *)y)));
    return VF_OK;
}

vf_status multiply_add(vf_queue *queue, vf_dtype type, int64_t n, const void *x, const void *y, void *z)
{
    LAUNCH(queue, type, n,
           (multiply_add_kernel<E><<<blocks, THREADS, 0, stream>>>(n, (const E *)x, (const E *)y, (E *)z)));
    return VF_OK;
}

vf_status scale_by(vf_queue *queue, vf_dtype type, int64_t n, const void *w, const void *x, void *y)
{
    LAUNCH(queue, type, n,
           (scale_by_kernel<E><<<blocks, THREADS, 0, stream>>>(n, (const E::Real *)w, (const E *)x, (E *)y)));
    return VF_OK;
}

/* ---- sums: plans and scratch memory of a queue ---- */

/* The plans and scratch memory of one element type, made by its first sum. */
struct type_sums {
    vf_reduce *dot;
    vf_launch step;
    vf_array scratch; /* a step's partial results */
};

struct queue_sums {
    type_sums of[VF_C128 + 1]; /* by element type */
    vf_array result;           /* a step's sum, in pinned memory */
};

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
    for (type_sums &of : sums->of) {
        vf_reduce_destroy(of.dot);
        vf_array_free(&of.scratch);
    }
    vf_array_free(&sums->result);
    free(sums);
}

/* The queue's sums, including those of the type; makes them if they are missing. The caller holds their lock. */
vf_status find_sums(vf_queue *queue, vf_dtype type, queue_sums **out)
{
    vf_device *device = queue->device;
    *out = static_cast<queue_sums *>(queue->sums.data);
    if (!*out) {
        *out = static_cast<queue_sums *>(calloc(1, sizeof **out));
        if (!*out)
            return vf_fail(vf_device_context(device), VF_ERR_MEMORY, "no memory for the sums of a queue");
        queue->sums.data = *out;
        queue->sums.release = release_sums;
    }
    type_sums *of = &(*out)->of[type];
    if (of->dot)
        return VF_OK;
    size_t bytes = 0;
    vf_status status = begin(queue);
    if (status == VF_OK && !(*out)->result.data)
        status = vf_array_create(device, VF_SPACE_PINNED, VF_F64, 1, &(*out)->result);
    if (status == VF_OK) {
        FOR_TYPE(type, status = VF_CUDA(device, find_step<E>(&of->step)));
        bytes = vf_partials_bytes<vf_sums<1>>(of->step);
    }
    if (status == VF_OK && !of->scratch.data)
        status = vf_array_create(device, VF_SPACE_DEVICE, VF_U8, (int64_t)bytes, &of->scratch);
    if (status == VF_OK)
        status = VF_CUDA(device, cudaMemsetAsync(of->scratch.data, 0, bytes, stream_of(queue)));
    /* Made last: if it is there, everything is. */
    return status == VF_OK ? vf_reduce_create(device, VF_REDUCE_DOT, type, INT64_MAX, &of->dot) : status;
}

vf_status dot(vf_queue *queue, vf_dtype type, int64_t n, const void *x, const void *y, double result[2])
{
    queue_sums *sums;
    vf_reduced sum = {0, 0, 0, 0};
    pthread_mutex_lock(&queue->sums.lock);
    vf_status status = find_sums(queue, type, &sums);
    if (status == VF_OK)
        status = vf_reduce_now(sums->of[type].dot, queue, n, x, y, &sum);
    pthread_mutex_unlock(&queue->sums.lock);
    result[0] = sum.re;
    result[1] = sum.im;
    return status;
}

template <typename E>
cudaError_t launch_step(const type_sums *sums, double *squares, cudaStream_t stream, int64_t n, double a, const void *p,
                        const void *q, void *x, void *r)
{
    step_work<E> work;
    const vf_launch &launch = sums->step;
    const vf_range range = vf_range_from_0(n);
    const int V = work.vector(launch.work);
    work.a = (typename E::Real)a;
    work.p = static_cast<const E *>(p);
    work.q = static_cast<const E *>(q);
    work.to_x = static_cast<E *>(x);
    work.to_r = static_cast<E *>(r);
    work.squares = squares;
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
        status = find_sums(queue, type, &sums);
    double *sum = status == VF_OK ? static_cast<double *>(sums->result.data) : NULL;
    if (status == VF_OK)
        FOR_TYPE(type,
                 status = VF_CUDA(device, launch_step<E>(&sums->of[type], sum, stream_of(queue), n, a, p, q, x, r)));
    if (status == VF_OK)
        status = vf_queue_sync(queue);
    *squares = status == VF_OK ? *sum : 0;
    pthread_mutex_unlock(&queue->sums.lock);
    return status;
}

} // namespace

extern "C" const vf_vector_ops vf_vector_cuda = {axpby, multiply_add, scale_by, dot, cg_step};
