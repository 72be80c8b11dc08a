/* The CUDA kernel for points anywhere and for off-resonance, in both directions. It is for plans that
 * fourier_sum_groups.cu does not support: double precision, and voxels too sparse for the samples' k. Each pair takes a
 * sine and a cosine.
 *
 * A thread has 4 outer points (voxels in the adjoint, samples in the forward sum). Inner points go through shared
 * memory, with absolute positions: phases are reduced for each pair.
 *
 * Work and its limits: a pair takes 2 operations of the special function units. A multiprocessor starts 16 of these a
 * clock, but 128 others. The others are 4 multiply-adds for the sum, and about 20 operations (positions) or 15 (a grid
 * with off-resonance) for the phase. They take about as long.
 */
#include "fourier_sum_cuda.cuh"

namespace vf_fourier_gpu
{
namespace
{

enum { EACH = PAIR_POINTS / THREADS, STAGE = 128 };

/* Which points are outer and which are inner: voxels and samples swap roles in the forward sum. */
template <typename P, bool FORWARD>
struct roles;
template <typename P>
struct roles<P, false> {
    typedef typename P::place outer;
    typedef typename P::wave inner;
    static __device__ outer outer_at(const point_source &s, int64_t n)
    {
        return P::place_at(s, n);
    }
    static __device__ inner inner_at(const point_source &s, int64_t m)
    {
        return P::wave_at(s, m);
    }
    template <bool HARDWARE>
    static __device__ typename P::real phase(const outer &o, const inner &i)
    {
        return P::template phase<true, HARDWARE>(i, o);
    }
};
template <typename P>
struct roles<P, true> {
    typedef typename P::wave outer;
    typedef typename P::place inner;
    static __device__ outer outer_at(const point_source &s, int64_t m)
    {
        return P::wave_at(s, m);
    }
    static __device__ inner inner_at(const point_source &s, int64_t n)
    {
        return P::place_at(s, n);
    }
    template <bool HARDWARE>
    static __device__ typename P::real phase(const outer &o, const inner &i)
    {
        return -P::template phase<true, HARDWARE>(o, i);
    }
};

struct pairs_task {
    point_source points;
    double *partial;
    int64_t inner, segment_terms;
    int64_t first, last; /* outer points: the launch's first, and the last one requested */
};

template <typename P, bool FORWARD, bool HARDWARE, int B>
__global__ void __launch_bounds__(THREADS)
    pairs_kernel(const pairs_task task, const typename P::real *__restrict__ values, int coils)
{
    typedef typename P::real T;
    typedef roles<P, FORWARD> role;
    __shared__ typename role::inner point[STAGE];
    __shared__ T value[STAGE][2 * B];
    typename role::outer outer[EACH];
    const int64_t begin = blockIdx.y * task.segment_terms, end = min(begin + task.segment_terms, task.inner);
    double *partial = task.partial + (int64_t)(blockIdx.x * gridDim.y + blockIdx.y) * B * 2 * PAIR_POINTS;
#pragma unroll
    for (int e = 0; e < EACH; e++)
        outer[e] = role::outer_at(
            task.points, min(task.first + (int64_t)blockIdx.x * PAIR_POINTS + e * THREADS + threadIdx.x, task.last));
    for (int64_t first = begin; first == begin || first < end; first += FLUSH) {
        T sum[EACH][B][2] = {};
        for (int64_t at = first; at < min(first + FLUSH, end); at += STAGE) {
            const int here = (int)min((int64_t)STAGE, end - at);
            __syncthreads();
            if (threadIdx.x < here) {
                point[threadIdx.x] = role::inner_at(task.points, at + threadIdx.x);
                for (int b = 0; b < B; b++)
                    for (int part = 0; part < 2; part++)
                        value[threadIdx.x][2 * b + part] =
                            b < coils ? values[2 * (b * task.inner + at + threadIdx.x) + part] : (T)0;
            }
            __syncthreads();
#pragma unroll 2
            for (int i = 0; i < here; i++) {
                const typename role::inner p = point[i];
#pragma unroll
                for (int e = 0; e < EACH; e++) {
                    T cosine, sine;
                    phasor<HARDWARE>(role::template phase<HARDWARE>(outer[e], p), cosine, sine);
#pragma unroll
                    for (int b = 0; b < B; b++) {
                        const T re = value[i][2 * b], im = value[i][2 * b + 1];
                        sum[e][b][0] += re * cosine;
                        sum[e][b][0] -= im * sine;
                        sum[e][b][1] += re * sine;
                        sum[e][b][1] += im * cosine;
                    }
                }
            }
        }
#pragma unroll
        for (int e = 0; e < EACH; e++)
#pragma unroll
            for (int b = 0; b < B; b++)
#pragma unroll
                for (int part = 0; part < 2; part++) {
                    double *to = partial + (2 * b + part) * PAIR_POINTS + e * THREADS + threadIdx.x;
                    *to = (first == begin ? 0 : *to) + (double)sum[e][b][part];
                }
    }
}

template <typename T>
__global__ void __launch_bounds__(THREADS)
    add_segments_kernel(const double *__restrict__ partial, int segments, int width, int coils, segment_points points,
                        T *__restrict__ out)
{
    for (int p = threadIdx.x; p < points.each; p += THREADS) {
        int64_t at = points.first + (int64_t)blockIdx.x * points.each + p;
        if (at >= points.all)
            return;
        at = (points.order ? (int64_t)points.order[at] : at) - points.from;
        if (at < 0 || at >= points.count)
            continue;
        for (int b = 0; b < coils; b++)
            for (int part = 0; part < 2; part++) {
                double sum = 0;
                for (int s = 0; s < segments; s++)
                    sum += partial[((((int64_t)blockIdx.x * segments + s) * width + b) * 2 + part) * points.each + p];
                out[2 * (b * points.count + at) + part] = (T)sum;
            }
    }
}

template <typename P, bool FORWARD, bool HARDWARE, int B>
cudaError_t sum_coils(const vf_fourier *plan, cudaStream_t stream, int coils, const typename P::real *values,
                      int64_t first, int64_t count, typename P::real *out)
{
    const int64_t outer = FORWARD ? plan->samples : plan->voxels;
    const state *s = state_of(plan);
    pairs_task task = {};
    task.points = s->points;
    task.partial = s->partial;
    task.inner = FORWARD ? plan->voxels : plan->samples;
    task.last = first + count - 1;
    const partition cut = make_partition(plan, (outer + PAIR_POINTS - 1) / PAIR_POINTS,
                                         (count + PAIR_POINTS - 1) / PAIR_POINTS, PAIR_POINTS, task.inner);
    task.segment_terms = cut.segment_terms;
    cudaError_t error = cudaSuccess;
    for (int64_t group = 0; error == cudaSuccess && group < cut.groups; group += cut.launch_groups) {
        const int64_t left = cut.groups - group;
        const unsigned blocks = (unsigned)(left < cut.launch_groups ? left : cut.launch_groups);
        task.first = first + group * PAIR_POINTS;
        pairs_kernel<P, FORWARD, HARDWARE, B><<<dim3(blocks, cut.segments), THREADS, 0, stream>>>(task, values, coils);
        const segment_points points = {PAIR_POINTS, group * PAIR_POINTS, count, NULL, 0, count};
        error = add_segments(plan, stream, sizeof(typename P::real) == 8, blocks, cut.segments, B, coils, points, out);
    }
    return error;
}

template <typename P, bool FORWARD, bool HARDWARE>
cudaError_t sum_batch(const vf_fourier *plan, cudaStream_t stream, int batch, const void *values, int64_t first,
                      int64_t count, void *out)
{
    typedef typename P::real T;
    return sum_all_coils(batch, (const T *)values, FORWARD ? plan->voxels : plan->samples, (T *)out, count,
                         [&](auto width, int coils, const T *from, T *to) {
                             return sum_coils<P, FORWARD, HARDWARE, width.value>(plan, stream, coils, from, first,
                                                                                 count, to);
                         });
}

template <bool FORWARD>
cudaError_t sum_points(const vf_fourier *plan, cudaStream_t stream, int batch, const void *values, int64_t first,
                       int64_t count, void *out)
{
    const bool hardware = plan->options.trig == VF_TRIG_HARDWARE;
    if (plan->options.precision == VF_F64)
        return sum_batch<list_points<double>, FORWARD, false>(plan, stream, batch, values, first, count, out);
    if (state_of(plan)->lattice)
        return hardware ? sum_batch<lattice_points, FORWARD, true>(plan, stream, batch, values, first, count, out)
                        : sum_batch<lattice_points, FORWARD, false>(plan, stream, batch, values, first, count, out);
    return hardware ? sum_batch<list_points<float>, FORWARD, true>(plan, stream, batch, values, first, count, out)
                    : sum_batch<list_points<float>, FORWARD, false>(plan, stream, batch, values, first, count, out);
}

} // namespace

cudaError_t add_segments(const vf_fourier *plan, cudaStream_t stream, bool f64, unsigned blocks, int segments,
                         int width, int coils, const segment_points &points, void *out)
{
    const double *partial = state_of(plan)->partial;
    if (f64)
        add_segments_kernel<<<blocks, THREADS, 0, stream>>>(partial, segments, width, coils, points, (double *)out);
    else
        add_segments_kernel<<<blocks, THREADS, 0, stream>>>(partial, segments, width, coils, points, (float *)out);
    return cudaGetLastError();
}

cudaError_t pairs_sum(const vf_fourier *plan, cudaStream_t stream, bool forward, int batch, const void *values,
                      int64_t first, int64_t count, void *out)
{
    return forward ? sum_points<true>(plan, stream, batch, values, first, count, out)
                   : sum_points<false>(plan, stream, batch, values, first, count, out);
}

} // namespace vf_fourier_gpu
