/* What a thread block of each kernel of toeplitz_flow.h does. Not installed. */
#ifndef VOXFIELD_TOEPLITZ_ITEMS_CUH
#define VOXFIELD_TOEPLITZ_ITEMS_CUH

#include "toeplitz_flow.h"
#include "toeplitz_tiles.cuh"

namespace vf_toeplitz_gpu
{

template <typename T>
struct flow_limits {
    enum { THREADS = sizeof(T) == 4 ? 256 : 128 };
};

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

/* s_c(n) e_l(n) along a row of voxels. Maps are read without a branch, so that reads do not wait for each other: if there are none,
 * `one` takes their place. */
template <typename T>
struct row_view {
    const number<T> *map;
    const float *field;
    double time;
    int step; /* of map */

    __device__ row_view(const work<T> &w, int array, int64_t voxel, const number<T> *one)
    {
        const int item = w.first + array, coil = w.segments > 1 ? item / w.segments : item;
        map = w.maps ? w.maps + coil * w.voxels + voxel : one;
        step = w.maps ? 1 : 0;
        time = w.time ? w.time[item - coil * w.segments] : 0;
        field = w.time ? w.field + voxel : NULL;
    }
    /* s_c */
    __device__ number<T> at(int i) const
    {
        return map[i * step];
    }
    /* e_l; only if there are times */
    __device__ number<T> in_time(int i) const
    {
        const double turns = -time * (double)field[i];
        number<T> e;
        sine_cosine_pi((T)(2 * (turns - rint(turns))), &e.im, &e.re);
        return e;
    }
};

/* Kernels along columns have code for any axis, and FAST code: for the widest tiles, so that distances between a thread's numbers
 * are constants, and for axes that are padded to twice their length, so that the half that is read is all there is. Kernels along
 * rows have code for any axis, with TIMES or without, and FULL code without, for axes that are padded to twice their length. */
enum row_mode { ANY, TIMES, FULL };

/* The width of tiles is 1 << widest_shift if no axis needs more threads for a column than this one. */
template <typename T, int LENGTH>
__host__ __device__ constexpr int widest_shift()
{
    return (sizeof(T) == 4 ? 8 : 7) - (factors_of<LENGTH>::THREADS == 16   ? 4
                                       : factors_of<LENGTH>::THREADS == 32 ? 5
                                                                           : 6);
}

template <int LENGTH, bool FAST, typename T>
__device__ inline int shift_of(const flow<T> &f)
{
    return FAST ? widest_shift<T, LENGTH>() : f.shape.shift;
}

/* Where number i of a row is, among tiles that are `apart` from each other. */
__device__ __forceinline__ uint64_t in_tiles(int i, int shift, unsigned apart)
{
    return (uint64_t)((unsigned)i >> shift) * apart + ((unsigned)i & ((1u << shift) - 1));
}

/* For the compiler, v is another number each time: what follows from it is not kept in registers from one turn of a loop to the
 * next. */
__device__ __forceinline__ int computed_here(int v)
{
#ifdef __CUDA_ARCH__
    asm volatile("" : "+r"(v));
#endif
    return v;
}

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
__device__ inline tile_line<T, LENGTH, true> row_line(const flow<T> &f, int rows, int thread, int *row)
{
    const int threads = factors_of<LENGTH>::ROW_THREADS, own = thread / threads;
    *row = min(own, rows - 1);
    return {shared_memory<T>() + *row * factors_of<LENGTH>::ROW_PITCH, own < rows ? thread % threads : LENGTH, threads,
            0, f.roots[0]};
}

template <typename T, int LENGTH, bool FAST>
__device__ inline tile_line<T, LENGTH, false> column_line(const flow<T> &f, const number<T> *roots, int *column)
{
    const int shift = shift_of<LENGTH, FAST>(f), width = 1 << shift, threads = flow_limits<T>::THREADS >> shift;
    *column = (int)threadIdx.x & (width - 1);
    return {shared_memory<T>() + *column, (int)threadIdx.x >> shift, threads, width, roots};
}

template <typename T, int LENGTH, int MODE>
__device__ __forceinline__ void enter_item(const flow<T> &f, int array, int plane, int part)
{
    const vf_flow_shape &s = f.shape;
    int line;
    const tile_line<T, LENGTH, true> row = row_line<T, LENGTH>(f, s.row_lines, (int)threadIdx.x, &line);
    const int own = part * s.row_lines + line, j = min(own, s.voxels[1] - 1), count = s.voxels[0];
    const int shift = s.shift;
    const int64_t voxel = ((int64_t)plane * s.voxels[1] + j) * count;
    const unsigned apart = (unsigned)(s.planes * s.voxels[1]) << shift;
    const row_view<T> seen(f.w, array, voxel, f.roots[0]);
    const number<T> *x = f.x + voxel;
    number<T> *to = rows_of(f, array, 0, plane) + ((int64_t)j << shift);
    const bool is_there = own < s.voxels[1];
    typedef tile_line<T, LENGTH, true> line_type;
    typedef factors_of<LENGTH> F;
    row.there(
        [&](int i, int after) {
            const int n = MODE == FULL ? i + after : min(i + after, count - 1);
            const number<T> v = product(seen.at(n), x[n]);
            return MODE == FULL || i + after < count ? v : number<T>{0, 0};
        },
        [&](auto &held) {
            if (MODE == TIMES)
                row.template each<F::FIRST>([&](int share, int i) {
                    VF_UNROLL
                    for (int t = 0; t < F::FIRST / 2; t++)
                        held.v[share][t] =
                            product(held.v[share][t],
                                    seen.in_time(min(i + t * line_type::template held<F::FIRST>::APART, count - 1)));
                });
        },
        [&](int i, int after, number<T> v) {
            if (is_there)
                to[in_tiles(i + after, shift, apart)] = v;
        });
}

template <typename T, int LENGTH, bool FAST>
__device__ __forceinline__ void there_item(const flow<T> &f, int array, int tile, int plane)
{
    int c;
    const tile_line<T, LENGTH, false> line = column_line<T, LENGTH, FAST>(f, f.roots[1], &c);
    const int shift = shift_of<LENGTH, FAST>(f), count = f.shape.voxels[1];
    const number<T> *from = rows_of(f, array, tile, plane) + c;
    number<T> *to = planes_of(f, array, tile, plane) + c;
    line.there(
        [&](int i, int after) {
            const number<T> v =
                load_once(FAST ? from + (i << shift) + (after << shift) : from + (min(i + after, count - 1) << shift));
            return FAST || i + after < count ? v : number<T>{0, 0};
        },
        [](auto &) {}, [&](int i, int after, number<T> v) { (to + (i << shift))[after << shift] = v; });
}

/* The part of the kernel that an item of `turn` needs, [length][width]. */
template <typename T, int LENGTH>
__device__ inline const T *factors_for(const flow<T> &f, int array, int tile, int part)
{
    const int segment = f.w.segments > 1 ? (f.w.first + array) % f.w.segments : 0;
    return f.factors + (((((int64_t)segment * f.shape.tiles + tile) * f.shape.turns + part) * LENGTH) << f.shape.shift);
}

/* A backward transform is a forward one between two conjugations; there_and_back has the first. */
template <typename T, int LENGTH, bool FAST>
__device__ __forceinline__ void turn_item(const flow<T> &f, int array, int tile, int part)
{
    const vf_flow_shape &s = f.shape;
    int c;
    const tile_line<T, LENGTH, false> line = column_line<T, LENGTH, FAST>(f, f.roots[2], &c);
    const int count = s.last, shift = shift_of<LENGTH, FAST>(f);
    const unsigned apart = (unsigned)(s.turns << shift);
    number<T> *data = (s.planes > 1 ? planes_of(f, array, tile, 0) : rows_of(f, array, tile, 0)) + (part << shift) + c;
    const T *factors = factors_for<T, LENGTH>(f, array, tile, part) + c;
    line.there_and_back(
        [&](int i, int after) {
            const number<T> v =
                load_once(FAST ? data + (uint64_t)(unsigned)i * apart + (uint64_t)(unsigned)after * apart
                               : data + (uint64_t)(unsigned)min(i + after, count - 1) * apart);
            return FAST || i + after < count ? v : number<T>{0, 0};
        },
        [&](int i, int after) { return (factors + (i << shift))[after << shift]; },
        [&](int i, int after, number<T> v) {
            if (FAST || i + after < count)
                (data + (uint64_t)(unsigned)i * apart)[(uint64_t)(unsigned)after * apart] = conjugate(v);
        });
}

template <typename T, int LENGTH, bool FAST>
__device__ __forceinline__ void back_item(const flow<T> &f, int array, int tile, int plane)
{
    int c;
    const tile_line<T, LENGTH, false> line = column_line<T, LENGTH, FAST>(f, f.roots[1], &c);
    const int shift = shift_of<LENGTH, FAST>(f), count = f.shape.voxels[1];
    const number<T> *from = planes_of(f, array, tile, plane) + c;
    number<T> *to = rows_of(f, array, tile, plane) + c;
    line.back([&](int i, int after) { return conjugate(load_once(from + (i << shift) + (after << shift))); }, [] {},
              [&](auto &held) {
                  line.template store<factors_of<LENGTH>::FIRST, true>(held, [&](int i, int after, number<T> v) {
                      if (FAST || i + after < count)
                          (to + (i << shift))[after << shift] = conjugate(v);
                  });
              });
}

/* Arrays are added in order, so the bits are always the same. Lines are [lane][row]: a lane has every leave_lanes-th array.
 * Behind the lines, shared memory has their results, [lane][row][x], and their sum over the arrays so far. With one lane, a thread
 * adds up its own numbers. */
template <typename T, int LENGTH, int MODE>
__device__ __forceinline__ void leave_item(const flow<T> &f, int plane, int part)
{
    typedef tile_line<T, LENGTH, true> line_type;
    typedef factors_of<LENGTH> F;
    enum { APART = line_type::template held<F::FIRST>::APART, SHARES = line_type::template held<F::FIRST>::SHARES };
    const vf_flow_shape &s = f.shape;
    const bool alone = s.leave_lanes == 1;
    const int count = s.voxels[0], first = part * s.leave_rows;
    number<T> *results = shared_memory<T>() + s.row_lines * F::ROW_PITCH, *sums = results + s.row_lines * count;
    const int here = min(s.leave_rows, s.voxels[1] - first) * count; /* voxels of the item */
    number<T> *y = f.y + ((int64_t)plane * s.voxels[1] + first) * count;
    for (int begin = 0; begin < s.arrays; begin += s.leave_lanes) {
        int line;
        const line_type row =
            row_line<T, LENGTH>(f, s.leave_rows * s.leave_lanes, computed_here((int)threadIdx.x), &line);
        const int shift = computed_here(s.shift), lane = alone ? 0 : line / s.leave_rows,
                  own = first + line - lane * s.leave_rows, j = min(own, s.voxels[1] - 1),
                  array = min(begin + lane, s.arrays - 1);
        const int64_t voxel = ((int64_t)plane * s.voxels[1] + j) * count;
        const unsigned apart = (unsigned)(s.planes * s.voxels[1]) << shift;
        const row_view<T> seen(f.w, array, voxel, f.roots[0]);
        const number<T> *from = rows_of(f, array, 0, plane) + ((int64_t)j << shift);
        number<T> *to = results + line * count;
        const bool last = begin + s.leave_lanes >= s.arrays;
        number<T> map[SHARES][F::FIRST / 2];
        row.back([&](int i, int after) { return conjugate(load_once(from + in_tiles(i + after, shift, apart))); },
                 [&] {
                     row.template each<F::FIRST>([&](int share, int i) {
                         VF_UNROLL
                         for (int t = 0; t < F::FIRST / 2; t++)
                             map[share][t] = seen.at(MODE == FULL ? i + t * APART : min(i + t * APART, count - 1));
                     });
                     if (MODE == TIMES)
                         row.template each<F::FIRST>([&](int share, int i) {
                             VF_UNROLL
                             for (int t = 0; t < F::FIRST / 2; t++)
                                 map[share][t] = product(map[share][t], seen.in_time(min(i + t * APART, count - 1)));
                         });
                 },
                 [&](auto &held) {
                     row.template each<F::FIRST>([&](int share, int i) {
                         number<T> *all = f.y + voxel;
                         const auto at = [&](int t) {
                             return MODE == FULL ? i + t * APART : min(i + t * APART, count - 1);
                         };
                         const auto is_there = [&](int t) { return MODE == FULL || i + t * APART < count; };
                         VF_UNROLL
                         for (int t = 0; t < F::FIRST / 2; t++)
                             held.v[share][t] = product(conjugate(map[share][t]), conjugate(held.v[share][t]));
                         if (alone && begin > 0) {
                             VF_UNROLL
                             for (int t = 0; t < F::FIRST / 2; t++)
                                 held.v[share][t] = to[at(t)] + held.v[share][t];
                         } else if (alone && f.w.first > 0) {
                             VF_UNROLL
                             for (int t = 0; t < F::FIRST / 2; t++)
                                 held.v[share][t] = all[at(t)] + held.v[share][t];
                         }
                         if (!alone || !last) {
                             VF_UNROLL
                             for (int t = 0; t < F::FIRST / 2; t++)
                                 if (is_there(t))
                                     to[i + t * APART] = held.v[share][t];
                         } else if (own < s.voxels[1]) {
                             VF_UNROLL
                             for (int t = 0; t < F::FIRST / 2; t++)
                                 if (is_there(t))
                                     all[i + t * APART] = held.v[share][t];
                         }
                     });
                 });
        __syncthreads();
        if (alone)
            continue;
        const int lanes = min(s.leave_lanes, s.arrays - begin);
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
