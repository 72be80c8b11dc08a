/* Two steps of the adjoint on a GPU beyond the published ones of fourier_sum_published.cu. They are ours:
 *
 * - bank: samples with their values (mu) are in constant memory, as an array of structures, with phases as in the tuned
 *   kernels (fourier_sum_cuda.cuh). Each chunk that fits has a launch; the last one may be smaller.
 * - bank-4: the same, but the threads of a block, the samples of a chunk and the unrolling of the loop are tuned
 *   together (fourier_sum_tuning.h). The caches of constant memory are small on today's GPUs. So in single precision
 *   a thread has four voxels for each load, and the warps of a block wait for each other every 128 samples. On a grid
 *   the four voxels are neighbours along x, whose phases are a step apart. This saves instructions, so that the sine
 *   and the cosine are the limit.
 *
 * Each has hardware trigonometry as an option. Sums have the precision of the vectors. Coils are summed one by one.
 */
#include <string.h>

#include "backend/constant_bank.cuh"
#include "backend/launch_blocks.h"
#include "fourier_sum_cuda.cuh"

namespace vf_fourier_gpu
{

namespace
{

enum { BANK, BANK_4, STEPS };
const char *const names[STEPS] = {"bank", "bank-4"};
enum { PLAIN_THREADS = 256, TOGETHER = 128 };

__constant__ __align__(16) unsigned char bank[VF_BANK_BYTES];
vf_constant_bank bank_users = {"Fourier sum"};

template <typename P>
struct __align__(16) sample
{
    typename P::wave wave;
    typename P::real re, im;
};

template <typename P>
constexpr int bank_samples()
{
    return VF_BANK_BYTES / (int)sizeof(sample<P>);
}

template <typename P>
__global__ void list_places(const point_source points, int64_t count, typename P::place *__restrict__ places)
{
    const int64_t n = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (n < count)
        places[n] = P::place_at(points, n);
}

template <typename P>
__global__ void pack_samples(const point_source points, int64_t first, int count,
                             const typename P::real *__restrict__ c, sample<P> *__restrict__ packed)
{
    const int m = blockIdx.x * blockDim.x + threadIdx.x;
    if (m < count)
        packed[m] = {P::wave_at(points, first + m), c[2 * (first + m)], c[2 * (first + m) + 1]};
}

/* A launch's voxels, [first, first + count) of the plan. */
struct voxel_range {
    int64_t first;
    int count, row; /* row: the grid's points along x */
};

/* The voxels of a thread, a block's width apart. */
template <typename P, int VOXELS>
struct own_voxels {
    typename P::place place[VOXELS];
    int at[VOXELS]; /* from the launch's first voxel; -1: none */

    static int64_t threads(const voxel_range &range)
    {
        return (range.count + VOXELS - 1) / VOXELS;
    }

    __device__ own_voxels(const voxel_range &range, const typename P::place *places)
    {
#pragma unroll
        for (int v = 0; v < VOXELS; v++) {
            const int n = (blockIdx.x * VOXELS + v) * blockDim.x + threadIdx.x;
            at[v] = n < range.count ? n : -1;
            place[v] = places[n < range.count ? n : 0];
        }
    }

    template <bool FIELD, bool HARDWARE>
    __device__ void phasors(const typename P::wave &w, typename P::real (&cosine)[VOXELS],
                            typename P::real (&sine)[VOXELS]) const
    {
#pragma unroll
        for (int v = 0; v < VOXELS; v++)
            phasor<HARDWARE>(P::template phase<FIELD, HARDWARE>(w, place[v]), cosine[v], sine[v]);
    }
};

/* A thread's voxels on a grid: a run along x. The last run of a row may be shorter. */
template <int VOXELS>
struct own_run {
    lattice_points::place start;
    float f[VOXELS];
    int at[VOXELS];

    static __host__ __device__ int runs(const voxel_range &range)
    {
        return (range.row + VOXELS - 1) / VOXELS;
    }

    static int64_t threads(const voxel_range &range)
    {
        const int64_t rows = (range.first + range.count - 1) / range.row - range.first / range.row + 1;
        return rows * runs(range);
    }

    __device__ own_run(const voxel_range &range, const lattice_points::place *places)
    {
        const int64_t run = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
        const int64_t row = range.first / range.row + run / runs(range);
        const int x = (int)(run % runs(range)) * VOXELS;
        start = places[0];
#pragma unroll
        for (int v = 0; v < VOXELS; v++) {
            const int64_t n = row * range.row + x + v - range.first;
            at[v] = x + v < range.row && n >= 0 && n < range.count ? (int)n : -1;
            f[v] = 0;
            if (at[v] < 0)
                continue;
            start = places[n];
            start.x -= v;
            f[v] = start.f;
        }
    }

    template <bool FIELD, bool HARDWARE>
    __device__ void phasors(const lattice_points::wave &w, float (&cosine)[VOXELS], float (&sine)[VOXELS]) const
    {
        uint32_t steps = lattice_points::steps(w, start);
#pragma unroll
        for (int v = 0; v < VOXELS; v++, steps += w.x) {
            if (HARDWARE && !FIELD) { /* subtracts 1.5 turns and converts to radians in one operation */
                const float round = 6.283185307f;
                __sincosf(fmaf(lattice_points::from_one(steps), round, -1.5f * round), &sine[v], &cosine[v]);
            } else {
                phasor<HARDWARE>(lattice_points::phase_at<FIELD, HARDWARE>(steps, w.t, f[v]), cosine[v], sine[v]);
            }
        }
    }
};
template <>
struct own_voxels<lattice_points, 4> : own_run<4> {
    using own_run<4>::own_run;
};

/* Blocks may have up to VF_FOURIER_MOST_THREADS threads, which limits the registers. */
template <typename P, bool FIELD, bool HARDWARE, int UNROLL, int VOXELS>
__global__ void __launch_bounds__(VF_FOURIER_MOST_THREADS)
    bank_kernel(int samples, const typename P::place *__restrict__ places, const voxel_range range,
                typename P::real *__restrict__ y)
{
    const sample<P> *in_bank = reinterpret_cast<const sample<P> *>(bank);
    const own_voxels<P, VOXELS> own(range, places);
    typename P::real re[VOXELS] = {}, im[VOXELS] = {}; /* of this chunk only: smaller sums round less */
    for (int from = 0; from < samples; from += TOGETHER) {
        if (VOXELS > 1)
            __syncthreads();
        const int to = min(from + TOGETHER, samples);
#pragma unroll(UNROLL)
        for (int m = from; m < to; m++) {
            const sample<P> s = in_bank[m];
            typename P::real cosine[VOXELS], sine[VOXELS];
            own.template phasors<FIELD, HARDWARE>(s.wave, cosine, sine);
#pragma unroll
            for (int v = 0; v < VOXELS; v++) {
                re[v] = fma(s.re, cosine[v], fma(-s.im, sine[v], re[v]));
                im[v] = fma(s.re, sine[v], fma(s.im, cosine[v], im[v]));
            }
        }
    }
#pragma unroll
    for (int v = 0; v < VOXELS; v++)
        if (own.at[v] >= 0) {
            y[2 * own.at[v]] += re[v];
            y[2 * own.at[v] + 1] += im[v];
        }
}

template <typename P>
using bank_kernel_of = void (*)(int, const typename P::place *, voxel_range, typename P::real *);

template <typename P>
constexpr int voxels_of_thread()
{
    return sizeof(typename P::real) == 4 ? 4 : 1;
}

template <typename P, bool FIELD, bool HARDWARE>
bank_kernel_of<P> choose_unrolling(int unroll)
{
    constexpr int voxels = voxels_of_thread<P>();
    switch (unroll) {
    case 1:
        return bank_kernel<P, FIELD, HARDWARE, 1, voxels>;
    case 2:
        return bank_kernel<P, FIELD, HARDWARE, 2, voxels>;
    case 4:
        return bank_kernel<P, FIELD, HARDWARE, 4, voxels>;
    case 8:
        return bank_kernel<P, FIELD, HARDWARE, 8, voxels>;
    default:
        return bank_kernel<P, FIELD, HARDWARE, 16, voxels>;
    }
}

/* Sums a chunk of samples, which is in the bank, for one launch's voxels and one coil. */
template <typename P, bool FIELD, bool HARDWARE>
cudaError_t step_launch(const vf_fourier *plan, cudaStream_t stream, int samples, int64_t first_voxel, int voxels,
                        typename P::real *y)
{
    const state *s = state_of(plan);
    const typename P::place *places = static_cast<const typename P::place *>(s->places) + first_voxel;
    const vf_fourier_tuning &shape = plan->tuning;
    const bool four = s->step == BANK_4;
    const bank_kernel_of<P> kernel =
        four ? choose_unrolling<P, FIELD, HARDWARE>(shape.unroll) : bank_kernel<P, FIELD, HARDWARE, 1, 1>;
    const voxel_range range = {first_voxel, voxels, (int)(s->lattice ? plan->grid.counts[0] : 1)};
    const int64_t threads = four ? own_voxels<P, voxels_of_thread<P>()>::threads(range) : voxels;
    kernel<<<vf_blocks_for(threads, shape.threads), shape.threads, 0, stream>>>(samples, places, range, y);
    return cudaGetLastError();
}

/* Copies a chunk of samples with their values to the bank. */
template <typename P>
cudaError_t fill_bank(const vf_fourier *plan, cudaStream_t stream, const typename P::real *c, int64_t first, int count)
{
    const state *s = state_of(plan);
    sample<P> *packed = static_cast<sample<P> *>(s->waves);
    pack_samples<P><<<vf_blocks_for(count, 256), 256, 0, stream>>>(s->points, first, count, c, packed);
    const cudaError_t error = cudaGetLastError();
    return error != cudaSuccess ? error
                                : cudaMemcpyToSymbolAsync(bank, packed, (size_t)count * sizeof *packed, 0,
                                                          cudaMemcpyDeviceToDevice, stream);
}

template <typename P, bool FIELD, bool HARDWARE>
cudaError_t step_coil(const vf_fourier *plan, cudaStream_t stream, const typename P::real *c, int64_t first,
                      int64_t count, typename P::real *y)
{
    const int chunk = plan->tuning.chunk;
    cudaError_t error = cudaSuccess;
    for (int64_t m = 0; error == cudaSuccess && m < plan->samples; m += chunk) {
        const int samples = (int)(plan->samples - m < chunk ? plan->samples - m : chunk);
        error = fill_bank<P>(plan, stream, c, m, samples);
        for (int64_t n = 0; error == cudaSuccess && n < count; n += MOST_LAUNCH_VOXELS) {
            const int voxels = (int)(count - n < MOST_LAUNCH_VOXELS ? count - n : MOST_LAUNCH_VOXELS);
            error = step_launch<P, FIELD, HARDWARE>(plan, stream, samples, first + n, voxels, y + 2 * n);
        }
    }
    return error;
}

template <typename P, bool FIELD, bool HARDWARE>
cudaError_t step_batch(const vf_fourier *plan, cudaStream_t stream, int batch, const void *c, int64_t first,
                       int64_t count, void *y)
{
    typedef typename P::real T;
    cudaError_t error = cudaMemsetAsync(y, 0, (size_t)(2 * batch * count) * sizeof(T), stream);
    for (int b = 0; error == cudaSuccess && b < batch; b++)
        error = step_coil<P, FIELD, HARDWARE>(plan, stream, (const T *)c + 2 * b * plan->samples, first, count,
                                              (T *)y + 2 * b * count);
    return error;
}

cudaError_t step_adjoint(const vf_fourier *plan, cudaStream_t stream, int batch, const void *c, int64_t first,
                         int64_t count, void *y)
{
    const bool hardware = plan->options.trig == VF_TRIG_HARDWARE, field = plan->has_field;
    if (plan->options.precision == VF_F64)
        return step_batch<list_points<double>, true, false>(plan, stream, batch, c, first, count, y);
    if (!state_of(plan)->lattice)
        return hardware ? step_batch<list_points<float>, true, true>(plan, stream, batch, c, first, count, y)
                        : step_batch<list_points<float>, true, false>(plan, stream, batch, c, first, count, y);
    if (field)
        return hardware ? step_batch<lattice_points, true, true>(plan, stream, batch, c, first, count, y)
                        : step_batch<lattice_points, true, false>(plan, stream, batch, c, first, count, y);
    return hardware ? step_batch<lattice_points, false, true>(plan, stream, batch, c, first, count, y)
                    : step_batch<lattice_points, false, false>(plan, stream, batch, c, first, count, y);
}

/* Sets the launch parameters. */
vf_status choose_tuning(vf_fourier *plan, const state *s)
{
    const int most = plan->options.precision == VF_F64 ? bank_samples<list_points<double>>()
                     : s->lattice                      ? bank_samples<lattice_points>()
                                                       : bank_samples<list_points<float>>();
    plan->tuning = {PLAIN_THREADS, most, 1};
    if (s->step == BANK)
        return VF_OK;
    plan->most_chunk = most;
    return look_up_tuning(plan, VF_FOURIER_BANK_4);
}

template <typename P>
cudaError_t list_points_of(const vf_fourier *plan, state *s)
{
    const size_t places = (size_t)plan->voxels * sizeof(typename P::place);
    cudaError_t error = cudaMalloc(&s->waves, VF_BANK_BYTES);
    if (error == cudaSuccess) /* the padding of samples is copied, too */
        error = cudaMemset(s->waves, 0, VF_BANK_BYTES);
    if (error == cudaSuccess)
        error = cudaMalloc(&s->places, places ? places : 1);
    if (error == cudaSuccess && plan->voxels > 0)
        list_places<P><<<vf_blocks_for(plan->voxels, 256), 256>>>(s->points, plan->voxels,
                                                                  static_cast<typename P::place *>(s->places));
    if (error == cudaSuccess)
        error = cudaGetLastError();
    return error == cudaSuccess ? cudaDeviceSynchronize() : error;
}

} // namespace

int bank_step(const char *variant)
{
    for (int step = 0; step < STEPS; step++)
        if (strcmp(names[step], variant) == 0)
            return step;
    return -1;
}

vf_status bank_open(vf_fourier *plan, state *s)
{
    vf_status status = vf_bank_open(&bank_users, plan->device);
    s->uses_bank = status == VF_OK;
    VF_TRY(status, choose_tuning(plan, s));
    if (status != VF_OK)
        return status;
    const cudaError_t error = plan->options.precision == VF_F64 ? list_points_of<list_points<double>>(plan, s)
                              : s->lattice                      ? list_points_of<lattice_points>(plan, s)
                                                                : list_points_of<list_points<float>>(plan, s);
    return vf_cuda_check(plan->device, error, "listing samples and voxels for the Fourier sum");
}

void bank_close(const vf_fourier *plan, state *s)
{
    (void)cudaFree(s->waves);
    (void)cudaFree(s->places);
    if (s->uses_bank)
        vf_bank_close(&bank_users, plan->device);
}

cudaError_t bank_adjoint(const vf_fourier *plan, cudaStream_t stream, int batch, const void *c, int64_t first,
                         int64_t count, void *y)
{
    return vf_bank_use(&bank_users, plan->device, stream,
                       [&] { return step_adjoint(plan, stream, batch, c, first, count, y); });
}

} // namespace vf_fourier_gpu
