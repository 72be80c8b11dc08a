/* CUDA kernels of the NUFFT: what spreading (gridding_spread.cuh) and interpolation (gridding_interpolate.cuh) share,
 * and the steps between grid and voxels. Not installed. */
#ifndef VOXFIELD_GRIDDING_CUDA_CUH
#define VOXFIELD_GRIDDING_CUDA_CUH

#include <cuda_runtime.h>
#include <string.h>

#include "gridding_bins.h"

namespace
{

enum { WARP = 32, POINT_THREADS = 256 };

/* There are kernels for these widths, of tolerances from 1e-2 to 1e-6, and to 1e-12; and others for all widths. */
template <typename T>
struct precision;
template <>
struct precision<float> {
    typedef float2 complex;
    typedef gridding_sample_f32 sample;
    enum { LEAST_WIDTH = 3, MOST_WIDTH = 9 };
};
template <>
struct precision<double> {
    typedef double2 complex;
    typedef gridding_sample_f64 sample;
    enum { LEAST_WIDTH = 7, MOST_WIDTH = 16 };
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

/* A kernel of W points, or of any number (0): at least the degree of its polynomials, and the lanes for its points. */
template <int W>
struct kernel_points {
    enum { DEGREE = W == 0 ? GRIDDING_MAX_DEGREE : W == 3 ? 4 : W < 12 ? W : 12 };
    enum { LANES = W <= 4 ? 4 : W <= 8 ? 8 : W <= 16 ? 16 : 32 };
};

/* The polynomial of one of W points in registers; it is the same along all axes. */
template <typename T, int W>
struct point_polynomial {
    enum { DEGREE = kernel_points<W>::DEGREE };
    T coefficient[DEGREE + 1]; /* highest power first; zeros are before */

    __device__ void load(const kernel_table<T> &table, int point)
    {
#pragma unroll
        for (int p = 0; p <= DEGREE; p++) {
            const int from = p - (DEGREE - table.degree);
            coefficient[p] = from >= 0 ? table.polynomials[from * table.width + point] : T(0);
        }
    }

    __device__ T value(T z) const
    {
        T sum = coefficient[0];
#pragma unroll
        for (int p = 1; p <= DEGREE; p++)
            sum = fma(sum, z, coefficient[p]);
        return sum;
    }
};

template <typename Sample>
__device__ Sample load_sample(const Sample *from)
{
    enum { WORDS = sizeof(Sample) / sizeof(uint2) };
    static_assert(sizeof(Sample) == WORDS * sizeof(uint2), "samples are read in words of 8 bytes");
    uint2 word[WORDS];
    Sample sample;
#pragma unroll
    for (int i = 0; i < WORDS; i++)
        word[i] = __ldg(reinterpret_cast<const uint2 *>(from) + i);
    memcpy(&sample, word, sizeof sample);
    return sample;
}

template <typename C>
__device__ C times(C a, C b)
{
    C p;
    p.x = a.x * b.x - a.y * b.y;
    p.y = a.x * b.y + a.y * b.x;
    return p;
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

/* Blocks for rows of `x` points: ROW_X threads along x and ROW_ROWS rows; blocks lie along rows, x and vectors. */
enum { ROW_X = 64, ROW_ROWS = POINT_THREADS / ROW_X };

inline dim3 row_blocks(int64_t x, int64_t rows, int vectors)
{
    return dim3((unsigned)((rows + ROW_ROWS - 1) / ROW_ROWS), (unsigned)((x + ROW_X - 1) / ROW_X), (unsigned)vectors);
}

/* The thread's point (x, y, z) of an array of that size; false if it has none. */
__device__ inline bool row_point(const int64_t size[3], int64_t at[3])
{
    const unsigned rows = (unsigned)(size[1] * size[2]), row = blockIdx.x * ROW_ROWS + threadIdx.y;
    at[0] = (int64_t)blockIdx.y * ROW_X + threadIdx.x;
    at[1] = row % (unsigned)size[1];
    at[2] = row / (unsigned)size[1];
    return row < rows && at[0] < size[0];
}

template <typename T>
__global__ void crop_grid(const crop_task<T> task, const typename precision<T>::complex *grid,
                          typename precision<T>::complex *image)
{
    int64_t at[3];
    if (!row_point(task.voxels, at))
        return;
    const int64_t in_image = (at[2] * task.voxels[1] + at[1]) * task.voxels[0] + at[0],
                  n = blockIdx.z * task.voxels[0] * task.voxels[1] * task.voxels[2] + in_image;
    const int64_t from =
        ((blockIdx.z * task.grid[2] + frequency_index(at[2], task.voxels[2], task.grid[2])) * task.grid[1] +
         frequency_index(at[1], task.voxels[1], task.grid[1])) *
            task.grid[0] +
        frequency_index(at[0], task.voxels[0], task.grid[0]);
    typename precision<T>::complex value = grid[from];
    const T scale = task.scale[0][at[0]] * task.scale[1][at[1]] * task.scale[2][at[2]];
    value.x *= scale;
    value.y *= scale;
    if (task.field)
        value = times(value, phase_of(task.time * (double)task.field[in_image], T(0)));
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
    int64_t at[3];
    if (!row_point(task.grid, at))
        return;
    const int64_t x = voxel_index(at[0], task.voxels[0], task.grid[0]),
                  y = voxel_index(at[1], task.voxels[1], task.grid[1]),
                  z = voxel_index(at[2], task.voxels[2], task.grid[2]);
    typename precision<T>::complex value;
    value.x = value.y = 0;
    if (x >= 0 && y >= 0 && z >= 0) {
        const int64_t n = (z * task.voxels[1] + y) * task.voxels[0] + x;
        const T scale = task.scale[0][x] * task.scale[1][y] * task.scale[2][z];
        value = image[blockIdx.z * task.voxels[0] * task.voxels[1] * task.voxels[2] + n];
        value.x *= scale;
        value.y *= scale;
        if (task.field)
            value = times(value, phase_of(task.time * (double)task.field[n], T(0)));
    }
    grid[((blockIdx.z * task.grid[2] + at[2]) * task.grid[1] + at[1]) * task.grid[0] + at[0]] = value;
}

} // namespace

#endif
