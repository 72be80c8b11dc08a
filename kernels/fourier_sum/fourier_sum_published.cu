/* The published steps of the adjoint on a GPU (fourier_sum.h names the sources). Each differs from the one before by
 * what is in its name and in nothing else, so that a measurement shows what that is worth:
 *
 * - naive: kx, ky, kz (three arrays), mu (the values c), x, y, z and the sums are all in global memory. The sums are
 *   updated for every sample: 14 accesses for a pair.
 * - registers: x, y, z and the sums are in registers. The sums are read and written once in a launch.
 * - constant-arrays: also, a chunk of the samples' k is in constant memory, as three arrays that are copied one by one.
 *   mu stays in global memory.
 * - constant-structs: the same with one array of {kx, ky, kz}, 12 bytes a sample, and one copy. The accesses of one
 *   iteration then share a line of the constant cache.
 * - tuned-structs: the same with another launch: threads of a block, samples of a chunk and unrolling were searched
 *   together (fourier_sum_tuning.h).
 *
 * Hardware trigonometry is an option of each. A thread has one voxel, a launch a chunk of the samples, which it adds to
 * the sums. The phase is 2 pi (kx x + ky y + kz z) in radians, a plain number that nothing reduces before the sine and
 * the cosine. Nothing else is added: the further steps in fourier_sum_bank.cu are ours.
 *
 * What differs from the publication: c is mu already, its caller having multiplied with conj(phi); chunks come from
 * global memory, not from the host; all steps have launches of one chunk, so that no launch takes long; coils, of which
 * the study had one, are summed one by one.
 */
#include <string.h>

#include "backend/constant_bank.cuh"
#include "backend/launch_blocks.h"
#include "fourier_sum_cuda.cuh"

namespace vf_fourier_gpu
{

namespace
{

enum { NAIVE, REGISTERS, ARRAYS, STRUCTS, TUNED_STRUCTS, STEPS };
const char *const names[STEPS] = {"naive", "registers", "constant-arrays", "constant-structs", "tuned-structs"};
enum { PLAIN_THREADS = 256, BANK_BYTES = 65536 }; /* all the constant memory of a file; these kernels need no other */

template <typename T>
struct point {
    T x, y, z;
};

/* Samples of a chunk at most: what fits into constant memory in either layout. */
template <typename T>
constexpr int bank_samples()
{
    return BANK_BYTES / (int)sizeof(point<T>);
}

__constant__ __align__(16) unsigned char bank[BANK_BYTES];
vf_constant_bank bank_users = {"Fourier sum"};

template <typename T>
struct bank_arrays {
    T kx[bank_samples<T>()], ky[bank_samples<T>()], kz[bank_samples<T>()];
};

/* One launch. k is used by "naive" and "registers" only. */
template <typename T>
struct chunk_launch {
    const T *kx, *ky, *kz, *mu;
    int samples;
    const T *x, *y, *z;
    int voxels;
    T *sums;
};

template <typename T>
__device__ T phase(T kx, T ky, T kz, T x, T y, T z)
{
    return (T)6.283185307179586476925 * (kx * x + ky * y + kz * z);
}

template <bool HARDWARE>
__device__ void sine_cosine(float radians, float &sine, float &cosine)
{
    if (HARDWARE) {
        sine = __sinf(radians);
        cosine = __cosf(radians);
    } else {
        sincosf(radians, &sine, &cosine);
    }
}

template <bool HARDWARE>
__device__ void sine_cosine(double radians, double &sine, double &cosine)
{
    sincos(radians, &sine, &cosine);
}

template <typename T, bool HARDWARE>
__global__ void naive_kernel(const chunk_launch<T> l)
{
    const int n = blockIdx.x * blockDim.x + threadIdx.x;
    if (n >= l.voxels)
        return;
    for (int m = 0; m < l.samples; m++) {
        T sine, cosine;
        sine_cosine<HARDWARE>(phase(l.kx[m], l.ky[m], l.kz[m], l.x[n], l.y[n], l.z[n]), sine, cosine);
        /* The store of one sum makes the compiler load mu again for the other. */
        l.sums[2 * n] += l.mu[2 * m] * cosine - l.mu[2 * m + 1] * sine;
        l.sums[2 * n + 1] += l.mu[2 * m + 1] * cosine + l.mu[2 * m] * sine;
        asm volatile("" ::: "memory"); /* stops the compiler from using registers, which is the next step */
    }
}

/* The place of k, which is all that differs between three of the steps. */
template <typename T, int STEP>
__device__ point<T> sample_k(const chunk_launch<T> &l, int m)
{
    if (STEP == ARRAYS) {
        const bank_arrays<T> &in_bank = *reinterpret_cast<const bank_arrays<T> *>(bank);
        return {in_bank.kx[m], in_bank.ky[m], in_bank.kz[m]};
    }
    if (STEP == STRUCTS)
        return reinterpret_cast<const point<T> *>(bank)[m];
    return {l.kx[m], l.ky[m], l.kz[m]};
}

/* Blocks may have up to VF_FOURIER_MOST_THREADS threads, which limits the registers. */
template <typename T, int STEP, bool HARDWARE, int UNROLL>
__global__ void __launch_bounds__(VF_FOURIER_MOST_THREADS) registers_kernel(const chunk_launch<T> l)
{
    const int n = blockIdx.x * blockDim.x + threadIdx.x;
    if (n >= l.voxels)
        return;
    const T x = l.x[n], y = l.y[n], z = l.z[n];
    T re = l.sums[2 * n], im = l.sums[2 * n + 1];
#pragma unroll(UNROLL)
    for (int m = 0; m < l.samples; m++) {
        const point<T> k = sample_k<T, STEP>(l, m);
        T sine, cosine;
        sine_cosine<HARDWARE>(phase(k.x, k.y, k.z, x, y, z), sine, cosine);
        re += l.mu[2 * m] * cosine - l.mu[2 * m + 1] * sine;
        im += l.mu[2 * m + 1] * cosine + l.mu[2 * m] * sine;
    }
    l.sums[2 * n] = re;
    l.sums[2 * n + 1] = im;
}

template <typename T>
using step_kernel = void (*)(chunk_launch<T>);

/* Double precision is not unrolled: it was no part of the study. */
template <typename T, int STEP, bool HARDWARE>
step_kernel<T> choose_unrolling(int unroll)
{
    constexpr int single = sizeof(T) == 4;
    switch (unroll) {
    case 1:
        return registers_kernel<T, STEP, HARDWARE, 1>;
    case 2:
        return registers_kernel < T, STEP, HARDWARE, single ? 2 : 1 > ;
    case 4:
        return registers_kernel < T, STEP, HARDWARE, single ? 4 : 1 > ;
    case 8:
        return registers_kernel < T, STEP, HARDWARE, single ? 8 : 1 > ;
    default:
        return registers_kernel < T, STEP, HARDWARE, single ? 16 : 1 > ;
    }
}

template <typename T, bool HARDWARE>
step_kernel<T> choose_kernel(int step, int unroll)
{
    switch (step) {
    case NAIVE:
        return naive_kernel<T, HARDWARE>;
    case REGISTERS:
        return choose_unrolling<T, REGISTERS, HARDWARE>(unroll);
    case ARRAYS:
        return choose_unrolling<T, ARRAYS, HARDWARE>(unroll);
    default:
        return choose_unrolling<T, STRUCTS, HARDWARE>(unroll);
    }
}

/* Samples: as three arrays, or as structures. */
template <typename T>
__global__ void list_samples(const point_source points, int64_t count, bool structs, T *__restrict__ k)
{
    const int64_t m = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    for (int a = 0; a < 3 && m < count; a++)
        k[structs ? 3 * m + a : a * count + m] = (T)points.k[a][m];
}

template <typename T>
__global__ void list_voxels(const point_source points, int64_t count, T *__restrict__ r)
{
    const int64_t n = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    int64_t at[3];
    grid_point(points, n, at);
    for (int a = 0; a < 3 && n < count; a++)
        r[a * count + n] = (T)coordinate(points, at, n, a);
}

/* ---- host side ---- */

/* Copies a chunk of k to constant memory: three arrays one by one, or all structures at once. */
template <typename T>
cudaError_t fill_bank(const vf_fourier *plan, cudaStream_t stream, int64_t first, int count)
{
    const state *s = state_of(plan);
    const T *k = static_cast<const T *>(s->waves);
    const cudaMemcpyKind kind = cudaMemcpyDeviceToDevice;
    if (s->step != ARRAYS)
        return cudaMemcpyToSymbolAsync(bank, k + 3 * first, (size_t)count * sizeof(point<T>), 0, kind, stream);
    cudaError_t error = cudaSuccess;
    for (int a = 0; a < 3 && error == cudaSuccess; a++)
        error = cudaMemcpyToSymbolAsync(bank, k + a * plan->samples + first, (size_t)count * sizeof(T),
                                        (size_t)(a * bank_samples<T>()) * sizeof(T), kind, stream);
    return error;
}

/* Adds a chunk of samples to the sums of voxels [first, first + count), for one coil. */
template <typename T, bool HARDWARE>
cudaError_t sum_chunk(const vf_fourier *plan, cudaStream_t stream, const T *mu, int64_t sample, int samples,
                      int64_t first, int64_t count, T *sums)
{
    const state *s = state_of(plan);
    const vf_fourier_tuning &shape = plan->tuning;
    const T *k = static_cast<const T *>(s->waves) + sample, *r = static_cast<const T *>(s->places) + first;
    const step_kernel<T> kernel = choose_kernel<T, HARDWARE>(s->step, shape.unroll);
    for (int64_t n = 0; n < count; n += MOST_LAUNCH_VOXELS) {
        const int voxels = (int)(count - n < MOST_LAUNCH_VOXELS ? count - n : MOST_LAUNCH_VOXELS);
        const chunk_launch<T> l = {
            k,     k + plan->samples,    k + 2 * plan->samples,    mu + 2 * sample, samples,
            r + n, r + plan->voxels + n, r + 2 * plan->voxels + n, voxels,          sums + 2 * n};
        kernel<<<vf_blocks_for(voxels, shape.threads), shape.threads, 0, stream>>>(l);
    }
    return cudaGetLastError();
}

template <typename T, bool HARDWARE>
cudaError_t sum_batch(const vf_fourier *plan, cudaStream_t stream, int batch, const void *c, int64_t first,
                      int64_t count, void *y)
{
    cudaError_t error = cudaMemsetAsync(y, 0, (size_t)(2 * batch * count) * sizeof(T), stream);
    for (int b = 0; b < batch; b++)
        for (int64_t m = 0; error == cudaSuccess && m < plan->samples; m += plan->tuning.chunk) {
            const int64_t left = plan->samples - m;
            const int samples = (int)(left < plan->tuning.chunk ? left : plan->tuning.chunk);
            if (state_of(plan)->uses_bank)
                error = fill_bank<T>(plan, stream, m, samples);
            if (error == cudaSuccess)
                error = sum_chunk<T, HARDWARE>(plan, stream, static_cast<const T *>(c) + 2 * b * plan->samples, m,
                                               samples, first, count, static_cast<T *>(y) + 2 * b * count);
        }
    return error;
}

template <typename T>
vf_status list_points_of(const vf_fourier *plan, state *s)
{
    const size_t k = 3 * (size_t)plan->samples * sizeof(T), r = 3 * (size_t)plan->voxels * sizeof(T);
    vf_status status = VF_CUDA(plan->device, cudaMalloc(&s->waves, k ? k : 1));
    VF_TRY(status, VF_CUDA(plan->device, cudaMalloc(&s->places, r ? r : 1)));
    if (status != VF_OK)
        return status;
    if (plan->samples > 0)
        list_samples<T><<<vf_blocks_for(plan->samples, 256), 256>>>(s->points, plan->samples, s->step >= STRUCTS,
                                                                    static_cast<T *>(s->waves));
    if (plan->voxels > 0)
        list_voxels<T><<<vf_blocks_for(plan->voxels, 256), 256>>>(s->points, plan->voxels, static_cast<T *>(s->places));
    status = VF_CUDA(plan->device, cudaGetLastError());
    VF_TRY(status, VF_CUDA(plan->device, cudaDeviceSynchronize()));
    return status;
}

} // namespace

int published_step(const char *variant)
{
    for (int step = 0; step < STEPS; step++)
        if (strcmp(names[step], variant) == 0)
            return step;
    return -1;
}

vf_status published_open(vf_fourier *plan, state *s)
{
    const bool f64 = plan->options.precision == VF_F64;
    const int most = f64 ? bank_samples<double>() : bank_samples<float>();
    vf_status status = VF_OK;
    if (s->step >= ARRAYS) {
        status = vf_bank_open(&bank_users, plan->device);
        s->uses_bank = status == VF_OK;
    }
    plan->most_chunk = s->step == NAIVE ? 0 : most;
    plan->tuning = {PLAIN_THREADS, most, 1};
    if (s->step == TUNED_STRUCTS)
        VF_TRY(status, look_up_tuning(plan, VF_FOURIER_STRUCTS));
    VF_TRY(status, f64 ? list_points_of<double>(plan, s) : list_points_of<float>(plan, s));
    return status;
}

void published_close(const vf_fourier *plan, state *s)
{
    (void)cudaFree(s->waves);
    (void)cudaFree(s->places);
    if (s->uses_bank)
        vf_bank_close(&bank_users, plan->device);
}

cudaError_t published_adjoint(const vf_fourier *plan, cudaStream_t stream, int batch, const void *c, int64_t first,
                              int64_t count, void *y)
{
    const auto work = [&] {
        if (plan->options.precision == VF_F64)
            return sum_batch<double, false>(plan, stream, batch, c, first, count, y);
        return plan->options.trig == VF_TRIG_HARDWARE
                   ? sum_batch<float, true>(plan, stream, batch, c, first, count, y)
                   : sum_batch<float, false>(plan, stream, batch, c, first, count, y);
    };
    return state_of(plan)->uses_bank ? vf_bank_use(&bank_users, plan->device, stream, work) : work();
}

} // namespace vf_fourier_gpu
