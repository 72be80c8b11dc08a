/* What a thread block of each kernel of toeplitz_flow.h does. Not installed. */
#ifndef VOXFIELD_TOEPLITZ_ITEMS_CUH
#define VOXFIELD_TOEPLITZ_ITEMS_CUH

#include "toeplitz_flow.h"
#include "toeplitz_tiles.cuh"

namespace vf_toeplitz_gpu
{

template <typename T>
struct flow {
    vf_flow_shape shape;
    work<T> w;
    const number<T> *x;
    number<T> *y;
    number<T> *rows;   /* [array][tile][z][y][width] */
    number<T> *planes; /* [array][tile][z][frequency y][width] */
    const T *factors;  /* [segment][tile][frequency y][frequency of the last axis][width] */
    const number<T> *roots[3];
};

__device__ inline number<float> load_once(const number<float> *p)
{
    const float2 v = __ldcg(reinterpret_cast<const float2 *>(p));
    return {v.x, v.y};
}

__device__ inline number<double> load_once(const number<double> *p)
{
    const double2 v = __ldcg(reinterpret_cast<const double2 *>(p));
    return {v.x, v.y};
}

/* s_c(n) e_l(n) along a row of voxels. */
template <typename T>
struct row_view {
    const number<T> *map; /* or NULL */
    const float *field;
    double time;
    bool has_time;

    __device__ row_view(const work<T> &w, int array, int64_t voxel)
    {
        const int item = w.first + array;
        map = w.maps ? w.maps + item / w.segments * w.voxels + voxel : NULL;
        has_time = w.time != NULL;
        time = has_time ? w.time[item % w.segments] : 0;
        field = has_time ? w.field + voxel : NULL;
    }
    __device__ number<T> at(int i) const
    {
        number<T> s = {1, 0};
        if (map)
            s = map[i];
        if (has_time) {
            const double turns = -time * (double)field[i];
            number<T> e;
            sine_cosine_pi((T)(2 * (turns - rint(turns))), &e.im, &e.re);
            s = product(s, e);
        }
        return s;
    }
};

template <typename T>
__device__ inline number<T> *rows_of(const flow<T> &f, int array, int tile, int plane)
{
    const vf_flow_shape &s = f.shape;
    return f.rows + (((int64_t)(array * s.tiles + tile) * s.planes + plane) * s.voxels[1] << s.shift);
}

template <typename T>
__device__ inline number<T> *planes_of(const flow<T> &f, int array, int tile, int plane)
{
    const vf_flow_shape &s = f.shape;
    return f.planes + (((int64_t)(array * s.tiles + tile) * s.planes + plane) * s.turns << s.shift);
}

/* *row: which of the block's `rows` rows it is; threads for which there is none are idle. */
template <typename T, int LENGTH>
__device__ inline tile_line<T, LENGTH, true> row_line(const flow<T> &f, int rows, int *row)
{
    const int threads = factors_of<LENGTH>::ROW_THREADS, own = (int)threadIdx.x / threads;
    *row = min(own, rows - 1);
    return {shared_memory<T>() + *row * factors_of<LENGTH>::ROW_PITCH, own < rows ? (int)threadIdx.x % threads : LENGTH,
            threads, 0, f.roots[0]};
}

template <typename T, int LENGTH>
__device__ inline tile_line<T, LENGTH, false> column_line(const flow<T> &f, const number<T> *roots, int *column)
{
    const int width = f.shape.width;
    *column = (int)threadIdx.x & (width - 1);
    return {shared_memory<T>() + *column, (int)threadIdx.x >> f.shape.shift, (int)blockDim.x >> f.shape.shift, width,
            roots};
}

template <typename T, int LENGTH>
__device__ __forceinline__ void enter_item(const flow<T> &f, int array, int plane, int part)
{
    const vf_flow_shape &s = f.shape;
    int line;
    const tile_line<T, LENGTH, true> row = row_line<T, LENGTH>(f, s.row_lines, &line);
    const int own = part * s.row_lines + line, j = min(own, s.voxels[1] - 1), count = s.voxels[0];
    const int64_t voxel = ((int64_t)plane * s.voxels[1] + j) * count,
                  apart = (int64_t)s.planes * s.voxels[1] << s.shift;
    const row_view<T> seen(f.w, array, voxel);
    const number<T> *x = f.x + voxel;
    number<T> *to = rows_of(f, array, 0, plane) + ((int64_t)j << s.shift);
    const int shift = s.shift, mask = s.width - 1;
    const bool is_there = own < s.voxels[1];
    row.there(
        [&](int i) {
            return i < count ? product(seen.at(i), x[i]) : number<T>{0, 0};
        },
        [&](int i, number<T> v) {
            if (is_there)
                to[(i >> shift) * apart + (i & mask)] = v;
        });
}

template <typename T, int LENGTH>
__device__ __forceinline__ void there_item(const flow<T> &f, int array, int tile, int plane)
{
    int c;
    const tile_line<T, LENGTH, false> line = column_line<T, LENGTH>(f, f.roots[1], &c);
    const int shift = f.shape.shift, count = f.shape.voxels[1];
    const number<T> *from = rows_of(f, array, tile, plane) + c;
    number<T> *to = planes_of(f, array, tile, plane) + c;
    line.there(
        [&](int i) {
            return i < count ? load_once(from + (i << shift)) : number<T>{0, 0};
        },
        [&](int i, number<T> v) { to[i << shift] = v; });
}

/* A backward transform is a forward one between two conjugations; there_and_back has the first. */
template <typename T, int LENGTH>
__device__ __forceinline__ void turn_item(const flow<T> &f, int array, int tile, int part)
{
    const vf_flow_shape &s = f.shape;
    int c;
    const tile_line<T, LENGTH, false> line = column_line<T, LENGTH>(f, f.roots[2], &c);
    const int count = s.last, shift = s.shift;
    const unsigned apart = (unsigned)(s.turns << shift);
    number<T> *data = (s.planes > 1 ? planes_of(f, array, tile, 0) : rows_of(f, array, tile, 0)) + (part << shift) + c;
    const int segment = (f.w.first + array) % f.w.segments;
    const T *factors = f.factors + (((((int64_t)segment * s.tiles + tile) * s.turns + part) * LENGTH) << shift) + c;
    line.there_and_back(
        [&](int i) {
            return i < count ? load_once(data + (unsigned)i * apart) : number<T>{0, 0};
        },
        [&](int i) { return factors[i << shift]; },
        [&](int i, number<T> v) {
            if (i < count)
                data[(unsigned)i * apart] = conjugate(v);
        });
}

template <typename T, int LENGTH>
__device__ __forceinline__ void back_item(const flow<T> &f, int array, int tile, int plane)
{
    int c;
    const tile_line<T, LENGTH, false> line = column_line<T, LENGTH>(f, f.roots[1], &c);
    const int shift = f.shape.shift, count = f.shape.voxels[1];
    const number<T> *from = planes_of(f, array, tile, plane) + c;
    number<T> *to = rows_of(f, array, tile, plane) + c;
    line.back([&](int i) { return conjugate(load_once(from + (i << shift))); },
              [&](int i, number<T> v) {
                  if (i < count)
                      to[i << shift] = conjugate(v);
              });
}

/* Arrays are added in order, so the bits are always the same. Lines are [lane][row]: a lane has every leave_lanes-th array.
 * Behind the lines, shared memory has their results, [lane][row][x], and their sum over the arrays so far. */
template <typename T, int LENGTH>
__device__ __forceinline__ void leave_item(const flow<T> &f, int plane, int part)
{
    const vf_flow_shape &s = f.shape;
    int line;
    const tile_line<T, LENGTH, true> row = row_line<T, LENGTH>(f, s.leave_rows * s.leave_lanes, &line);
    const int own = part * s.leave_rows + line % s.leave_rows, j = min(own, s.voxels[1] - 1),
              lane = line / s.leave_rows;
    const int count = s.voxels[0], shift = s.shift, mask = s.width - 1, first = part * s.leave_rows;
    const int64_t voxel = ((int64_t)plane * s.voxels[1] + j) * count, apart = (int64_t)s.planes * s.voxels[1] << shift;
    number<T> *results = shared_memory<T>() + s.row_lines * factors_of<LENGTH>::ROW_PITCH,
              *sums = results + s.row_lines * count;
    const int here = min(s.leave_rows, s.voxels[1] - first) * count; /* voxels of the item */
    number<T> *y = f.y + ((int64_t)plane * s.voxels[1] + first) * count;
    for (int begin = 0; begin < s.arrays; begin += s.leave_lanes) {
        const int array = min(begin + lane, s.arrays - 1);
        const row_view<T> seen(f.w, array, voxel);
        const number<T> *from = rows_of(f, array, 0, plane) + ((int64_t)j << shift);
        number<T> *to = results + line * count;
        row.back([&](int i) { return conjugate(load_once(from + (i >> shift) * apart + (i & mask))); },
                 [&](int i, number<T> v) {
                     if (i < count)
                         to[i] = product(conjugate(seen.at(i)), conjugate(v));
                 });
        __syncthreads();
        const int lanes = min(s.leave_lanes, s.arrays - begin);
        const bool last = begin + s.leave_lanes >= s.arrays;
        for (int i = (int)threadIdx.x; i < here; i += (int)blockDim.x) {
            number<T> sum = {0, 0};
            if (begin > 0)
                sum = sums[i];
            else if (f.w.first > 0)
                sum = y[i];
            for (int l = 0; l < lanes; l++)
                sum = sum + results[l * s.leave_rows * count + i];
            (last ? y : sums)[i] = sum;
        }
        __syncthreads();
    }
}

} // namespace vf_toeplitz_gpu

#endif
