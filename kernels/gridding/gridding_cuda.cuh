/* CUDA kernels of the NUFFT: what spreading and interpolation share, the forward's interpolation, and the steps between
 * grid and voxels. gridding_spread.cuh has the adjoint's. Not installed.
 *
 * Forward. A group of lanes computes one sample; they run along x, and take one row after the other. Grid points come
 * through the L2 cache, because neighbouring groups have neighbouring samples.
 */
#ifndef VOXFIELD_GRIDDING_CUDA_CUH
#define VOXFIELD_GRIDDING_CUDA_CUH

#include <cuda_runtime.h>

#include "gridding_bins.h"

namespace
{

enum { WARP = 32, SAMPLE_WARPS = 8, POINT_THREADS = 256 };

template <typename T>
struct precision;
template <>
struct precision<float> {
    typedef float2 complex;
    typedef gridding_sample_f32 sample;
};
template <>
struct precision<double> {
    typedef double2 complex;
    typedef gridding_sample_f64 sample;
};

/* The kernel's polynomials: [axis][degree + 1][width], highest power first. */
template <typename T>
struct kernel_table {
    const T *polynomials;
    int degree, width;
};

/* `polynomial`: the kernel's of a point along an axis, in the table. */
template <typename T>
__device__ T horner(const kernel_table<T> &table, const T *polynomial, T z)
{
    T sum = polynomial[0];
    for (int p = 1; p <= table.degree; p++)
        sum = fma(sum, z, polynomial[p * table.width]);
    return sum;
}

template <typename T>
__device__ const T *polynomials_of(const kernel_table<T> &table, int axis)
{
    return table.polynomials + axis * (table.degree + 1) * table.width;
}

template <typename C>
__device__ C times(C a, C b)
{
    C p;
    p.x = a.x * b.x - a.y * b.y;
    p.y = a.x * b.y + a.y * b.x;
    return p;
}

/* ---- forward ---- */

template <typename T>
struct interpolate_task {
    kernel_table<T> table;
    const typename precision<T>::sample *samples;
    const typename precision<T>::complex *factor, *grid; /* factor: sorted, or NULL */
    int grid_size[3], width[3];
};

/* LANES: lanes of a group, along x; a power of two and at least the kernel's width. */
template <typename T, int LANES>
__global__ void __launch_bounds__(WARP *SAMPLE_WARPS)
    interpolate_samples(const interpolate_task<T> task, typename precision<T>::complex *out, int64_t samples, bool add)
{
    typedef typename precision<T>::complex C;
    const unsigned all = 0xffffffffu;
    const int along = threadIdx.x % LANES;
    const int64_t wanted = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / LANES;
    const int64_t n = wanted < samples ? wanted : samples - 1; /* all lanes take part in the exchanges */
    const typename precision<T>::sample s = task.samples[n];
    const int j = min(along, task.table.width - 1);
    const T kx =
        along < task.width[0] ? horner(task.table, polynomials_of(task.table, 0) + j, 2 * s.offset[0] - 1) : T(0);
    const T ky = horner(task.table, polynomials_of(task.table, 1) + j, 2 * s.offset[1] - 1);
    const T kz = horner(task.table, polynomials_of(task.table, 2) + j, 2 * s.offset[2] - 1);
    int x = s.start[0] + (along < task.width[0] ? along : 0);
    x = x >= task.grid_size[0] ? x - task.grid_size[0] : x;
    T re = 0, im = 0;
    for (int dz = 0; dz < task.width[2]; dz++) {
        const T wz = __shfl_sync(all, kz, dz, LANES);
        int z = s.start[2] + dz;
        z = z >= task.grid_size[2] ? z - task.grid_size[2] : z;
        const C *plane = task.grid + (int64_t)z * task.grid_size[1] * task.grid_size[0] + x;
#pragma unroll 4
        for (int dy = 0; dy < task.width[1]; dy++) {
            const T weight = wz * __shfl_sync(all, ky, dy, LANES);
            int y = s.start[1] + dy;
            y = y >= task.grid_size[1] ? y - task.grid_size[1] : y;
            const C value = plane[(int64_t)y * task.grid_size[0]];
            re = fma(weight, value.x, re);
            im = fma(weight, value.y, im);
        }
    }
    re *= kx;
    im *= kx;
    for (int distance = LANES / 2; distance > 0; distance /= 2) {
        re += __shfl_xor_sync(all, re, distance);
        im += __shfl_xor_sync(all, im, distance);
    }
    if (along != 0 || wanted >= samples)
        return;
    C value;
    value.x = re;
    value.y = im;
    if (task.factor) {
        C factor = task.factor[n];
        factor.y = -factor.y;
        value = times(value, factor);
    }
    if (add) {
        value.x += out[s.index].x;
        value.y += out[s.index].y;
    }
    out[s.index] = value;
}

/* ---- between grid and voxels ---- */

template <typename T>
struct crop_task {
    int64_t voxels[3], grid[3];
    const T *scale[3];
    const float *field; /* or NULL */
    double time;        /* s, with the sign of the phase */
    bool add;
};

/* exp(i 2 pi turns), turns being time x field. Whole turns are removed in double precision, so that many turns cost no
 * digits. */
__device__ inline float2 phase_of(double turns, float)
{
    float2 e;
    sincospif(2 * (float)(turns - rint(turns)), &e.y, &e.x);
    return e;
}

__device__ inline double2 phase_of(double turns, double)
{
    double2 e;
    sincospi(2 * (turns - rint(turns)), &e.y, &e.x);
    return e;
}

/* The grid index of voxel n's frequency, n - N / 2, along one axis. */
__device__ inline int64_t frequency_index(int64_t n, int64_t voxels, int64_t grid)
{
    const int64_t frequency = n - voxels / 2;
    return frequency < 0 ? frequency + grid : frequency;
}

template <typename T>
__global__ void crop_grid(const crop_task<T> task, const typename precision<T>::complex *grid,
                          typename precision<T>::complex *image)
{
    const int64_t n = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (n >= task.voxels[0] * task.voxels[1] * task.voxels[2])
        return;
    const int64_t x = n % task.voxels[0], y = n / task.voxels[0] % task.voxels[1],
                  z = n / task.voxels[0] / task.voxels[1];
    const int64_t at = (frequency_index(z, task.voxels[2], task.grid[2]) * task.grid[1] +
                        frequency_index(y, task.voxels[1], task.grid[1])) *
                           task.grid[0] +
                       frequency_index(x, task.voxels[0], task.grid[0]);
    typename precision<T>::complex value = grid[at];
    const T scale = task.scale[0][x] * task.scale[1][y] * task.scale[2][z];
    value.x *= scale;
    value.y *= scale;
    if (task.field)
        value = times(value, phase_of(task.time * (double)task.field[n], T(0)));
    if (task.add) {
        value.x += image[n].x;
        value.y += image[n].y;
    }
    image[n] = value;
}

/* The voxel whose frequency is at grid index i, or -1 if there is none. */
__device__ inline int64_t voxel_index(int64_t i, int64_t voxels, int64_t grid)
{
    const int64_t frequency = i < voxels - voxels / 2 ? i : i - grid;
    return frequency >= -(voxels / 2) ? frequency + voxels / 2 : -1;
}

template <typename T>
__global__ void pad_image(const crop_task<T> task, const typename precision<T>::complex *image,
                          typename precision<T>::complex *grid)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= task.grid[0] * task.grid[1] * task.grid[2])
        return;
    const int64_t x = voxel_index(i % task.grid[0], task.voxels[0], task.grid[0]),
                  y = voxel_index(i / task.grid[0] % task.grid[1], task.voxels[1], task.grid[1]),
                  z = voxel_index(i / task.grid[0] / task.grid[1], task.voxels[2], task.grid[2]);
    typename precision<T>::complex value;
    value.x = value.y = 0;
    if (x >= 0 && y >= 0 && z >= 0) {
        const int64_t n = (z * task.voxels[1] + y) * task.voxels[0] + x;
        const T scale = task.scale[0][x] * task.scale[1][y] * task.scale[2][z];
        value = image[n];
        value.x *= scale;
        value.y *= scale;
        if (task.field)
            value = times(value, phase_of(task.time * (double)task.field[n], T(0)));
    }
    grid[i] = value;
}

} // namespace

#endif
