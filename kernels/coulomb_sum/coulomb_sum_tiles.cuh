/* The tuned kernel of the Coulomb sum on a GPU, for coulomb_sum_cuda.cu and for the search over its shapes; not
 * installed.
 *
 * A thread block computes a tile of points of one z layer, COLUMNS x 32 along x and 32 along y. The tiles lie on a
 * lattice fixed to the grid. A warp has 8 neighbouring rows. A thread has COLUMNS points of each row, 32 apart, so that
 * stores coalesce. Atoms go through shared memory in chunks. Their positions are relative to the tile's centre; the
 * difference is computed in double precision before it is rounded. The squared distance of an atom from a row, along y
 * and z, is the same for all points of the row, so it is computed once for a tile. Sums over FLUSH_ATOMS atoms are
 * added up in double precision in shared memory, which leaves the registers to the inner loop.
 *
 * Work and its limits: a pair of an atom and a point costs one reciprocal square root. The special function units of a
 * multiprocessor start 16 of them a clock (8 clocks for a warp on its quarter of a multiprocessor). A pair also costs 3
 * other instructions (r^2, its bound, the sum), or 3.5 with loads, and a quarter starts one of these a clock. So the
 * roots are the limit. Memory bandwidth is not: an atom is read once for 2,048 points.
 *
 * In single precision the kernel goes beyond that limit. Far from an atom, the roots of two neighbouring rows give the
 * root of the row between them. Let w = 1/r(y - h) + 1/r(y + h) = (1 + d) 2/r, where d <= (h/r)^2 (1 + (h/r)^2) (from
 * the second and fourth derivative of 1/r), and e = 1 - r^2 (w/2)^2. Then 1/r = (w/2)(1 + e/2 + 3/8 e^2), with an error
 * of 5/16 e^3 = 2.5 d^3: at most 2.5 / 256^3 = 2.5 roundings of single precision at r >= 16 h. This costs 6
 * instructions and no root. NEWTON has a bit for each of the 8 rows that is computed this way. With k such rows, a pair
 * takes (8 - k) clocks of the special function units and (28 + 5 k) / 8 instructions: 6 and 4.75 for k = 2, 5 and 5.4
 * for k = 3. Each chunk is sorted into far and near atoms, keeping their order; near atoms use the roots of all rows.
 */
#ifndef COULOMB_SUM_TILES_CUH
#define COULOMB_SUM_TILES_CUH

#include <type_traits>

#include "coulomb_sum_backend.h"

namespace vf_coulomb_gpu
{

/* An atom as the device stores it. */
struct __align__(16) device_atom
{
    double x, y, z, charge;
};

/* The grid and the box, as kernels take them. */
struct kernel_box {
    vf_grid grid;
    vf_box box;
};

__device__ inline double position(const vf_grid &grid, int axis, int64_t n)
{
    /* Each operation rounds, as on the host. A fused one would give a point that differs from other backends'. */
    return __dadd_rn(grid.origin[axis], __dmul_rn(grid.spacing[axis], (double)n));
}

__device__ inline int64_t extent(const vf_box &box, int axis)
{
    return box.hi[axis] - box.lo[axis];
}

/* 1 / sqrt(s), or 1 / s if SQUARE. Single precision: the hardware's approximation, relative error < 2^-22.9 (PTX ISA,
 * rsqrt.approx.ftz.f32) and 2^-23 (rcp.approx.ftz.f32). Because of r_min, s is never subnormal. */
template <bool SQUARE>
__device__ inline float inverse(float s)
{
    float y;
    if (SQUARE)
        asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(s));
    else
        asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(s));
    return y;
}

template <bool SQUARE>
__device__ inline double inverse(double s)
{
    return SQUARE ? 1.0 / s : rsqrt(s);
}

__device__ inline float larger(float a, float b)
{
    return fmaxf(a, b);
}

__device__ inline double larger(double a, double b)
{
    return fmax(a, b);
}

enum {
    TILE = 32,
    TILE_WARPS = 4,
    ROWS = TILE / TILE_WARPS, /* of a warp */
    TILE_THREADS = 32 * TILE_WARPS,
    CHUNK = TILE_THREADS, /* atoms: a thread stages one */
    FLUSH_ATOMS = 4 * CHUNK,
    FAR_SPACINGS = 16
};

template <int columns, int unroll, int blocks, unsigned newton>
struct tile_shape {
    static constexpr int COLUMNS = columns; /* a thread's points in a row */
    static constexpr int UNROLL = unroll;   /* atoms in one pass of the inner loop */
    static constexpr int BLOCKS = blocks;   /* on a multiprocessor: limits the registers of a thread */
    static constexpr unsigned NEWTON = newton;
};

/* The table of shapes that the search found (validation/bench/tune_coulomb_sum.cu), for the architecture being
 * compiled; the host does not need it. Multiprocessors of compute capability 7.5 and 8.0 start 64 multiply-adds a clock
 * and have none to spare for NEWTON. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ <= 800
constexpr bool has_spare = false;
#else
constexpr bool has_spare = true;
#endif
template <typename T, bool ROOTS, int COLUMNS>
struct table_shape { /* double precision, 1/r^2, or all roots by the special function units */
    typedef tile_shape<COLUMNS, sizeof(T) == 4 ? 8 : 4, sizeof(T) == 4 ? 8 / COLUMNS : 4, 0> here;
};
template <>
struct table_shape<float, false, 1> {
    typedef tile_shape<1, 4, 4, has_spare ? 0x24 : 0> here; /* NVIDIA H200 */
};
template <>
struct table_shape<float, false, 2> {
    typedef tile_shape<2, 4, 4, has_spare ? 0x22 : 0> here; /* NVIDIA H200 */
};

/* A shape given by the search. */
template <typename Shape>
struct given_shape {
    typedef Shape here;
};

/* Whether to use tiles of two columns for a grid with this many points along x. They are 1 % faster if they cover no
 * more points beyond the grid, and if a multiprocessor's shared memory holds several thread blocks. */
inline bool prefers_wide_tiles(int64_t points, int shared_bytes)
{
    return (points + TILE - 1) / TILE % 2 == 0 && shared_bytes >= 160 << 10;
}

/* An atom is far at this squared distance or more. */
inline double far_squared(const vf_grid &grid, double r_min)
{
    const double far = FAR_SPACINGS * grid.spacing[1], least = far > r_min ? far : r_min;
    return least * least;
}

template <int COLUMNS>
__host__ __device__ inline int64_t tiles_along(const vf_box &box, int axis)
{
    const int64_t size = axis == 0 ? COLUMNS * TILE : axis == 1 ? (int)TILE : 1;
    return (box.hi[axis] - 1) / size - box.lo[axis] / size + 1;
}

template <int COLUMNS>
inline int64_t count_tiles(const vf_box &box)
{
    return tiles_along<COLUMNS>(box, 0) * tiles_along<COLUMNS>(box, 1) * tiles_along<COLUMNS>(box, 2);
}

template <typename T>
struct __align__(2 * sizeof(T)) pair_of
{
    T a, b;
};

template <typename T>
struct staged_atoms {
    T rows[CHUNK][TILE]; /* squared distances from the rows, along y and z */
    pair_of<T> x_charge[CHUNK];
    pair_of<T> y_zz[CHUNK]; /* zz: the squared distance along z */
    int far[TILE_WARPS], near[TILE_WARPS];
};

/* Adds an atom to a thread's points of a column: q / r for the squared distances `rows` and x2. */
template <unsigned NEWTON, bool SQUARE, typename T>
__device__ inline void add_atom(const T (&rows)[ROWS], T x2, T charge, T least, T (&sum)[ROWS])
{
    T s[ROWS], y[ROWS];
#pragma unroll
    for (int p = 0; p < ROWS; p++) {
        s[p] = x2 + rows[p];
        if (!(NEWTON >> p & 1))
            y[p] = inverse<SQUARE>(NEWTON ? s[p] : larger(s[p], least));
    }
    if constexpr (NEWTON != 0) {
        static_assert(!(NEWTON & (NEWTON << 1)) && !(NEWTON & 1) && !(NEWTON >> (ROWS - 1)),
                      "both neighbours have roots");
#pragma unroll
        for (int p = 1; p < ROWS - 1; p++)
            if (NEWTON >> p & 1) {
                const T w = y[p - 1] + y[p + 1];
                const T e = __fmaf_rn(s[p] * w, w, T(-4)); /* -4 e of the formula */
                y[p] = w * __fmaf_rn(__fmaf_rn(e, T(3.0 / 256), T(-1.0 / 16)), e, T(0.5));
            }
    }
#pragma unroll
    for (int p = 0; p < ROWS; p++)
        sum[p] += charge * y[p];
}

/* Stages up to CHUNK atoms, far ones first, and returns the number of far atoms. All threads must call it. */
template <bool SORT, typename T>
__device__ inline int stage_atoms_of_tile(const device_atom *__restrict__ atoms, int here, const double centre[3],
                                          T half_x, T half_y, T far, staged_atoms<T> &to)
{
    const int thread = (int)threadIdx.x, lane = thread % 32, warp = thread / 32;
    const bool is_there = thread < here;
    device_atom atom = {};
    if (is_there)
        atom = atoms[thread];
    const T x = (T)(atom.x - centre[0]), y = (T)(atom.y - centre[1]), z = (T)(centre[2] - atom.z);
    int at = thread, far_atoms = 0;
    if constexpr (SORT) {
        const T dx = larger((x < 0 ? -x : x) - half_x, T(0)), dy = larger((y < 0 ? -y : y) - half_y, T(0));
        const bool is_far = dx * dx + dy * dy + z * z >= far;
        const unsigned far_lanes = __ballot_sync(0xffffffffu, is_there && is_far),
                       near_lanes = __ballot_sync(0xffffffffu, is_there && !is_far), before = (1u << lane) - 1;
        if (lane == 0) {
            to.far[warp] = __popc(far_lanes);
            to.near[warp] = __popc(near_lanes);
        }
        __syncthreads();
        at = __popc((is_far ? far_lanes : near_lanes) & before);
        for (int w = 0; w < TILE_WARPS; w++) {
            far_atoms += to.far[w];
            if (w < warp)
                at += is_far ? to.far[w] : to.near[w];
        }
        at += is_far ? 0 : far_atoms;
    }
    if (is_there) {
        to.x_charge[at] = {x, (T)atom.charge};
        to.y_zz[at] = {y, z * z};
    }
    __syncthreads();
    return far_atoms;
}

template <typename T, bool SQUARE, typename Shapes>
__global__ void __launch_bounds__(TILE_THREADS, Shapes::here::BLOCKS)
    tile_kernel(kernel_box at, const device_atom *__restrict__ atoms, int64_t count, T least, T far,
                T *__restrict__ out)
{
    typedef typename Shapes::here Shape;
    constexpr int COLUMNS = Shape::COLUMNS;
    constexpr unsigned NEWTON = Shape::NEWTON;
    __shared__ __align__(16) staged_atoms<T> chunk;
    __shared__ double total[COLUMNS * ROWS][TILE_THREADS]; /* a column for each thread */
    const int thread = (int)threadIdx.x, lane = thread % 32, row = thread / 32 * ROWS;
    const int64_t tiles_x = tiles_along<COLUMNS>(at.box, 0), tiles_y = tiles_along<COLUMNS>(at.box, 1);
    const int64_t tile_x = (at.box.lo[0] / (COLUMNS * TILE) + blockIdx.x % tiles_x) * (COLUMNS * TILE);
    const int64_t tile_y = (at.box.lo[1] / TILE + blockIdx.x / tiles_x % tiles_y) * TILE;
    const int64_t k = at.box.lo[2] + blockIdx.x / tiles_x / tiles_y;
    const double centre[3] = {position(at.grid, 0, tile_x + COLUMNS * TILE / 2),
                              position(at.grid, 1, tile_y + TILE / 2), position(at.grid, 2, k)};
    /* Distances from the centre to the farthest points. */
    const T half_x = (T)(COLUMNS * TILE / 2 * at.grid.spacing[0]), half_y = (T)(TILE / 2 * at.grid.spacing[1]);
    const T my_row = (T)(position(at.grid, 1, tile_y + lane) - centre[1]);
    T x[COLUMNS], sum[COLUMNS][ROWS] = {};
#pragma unroll
    for (int c = 0; c < COLUMNS; c++)
        x[c] = (T)(position(at.grid, 0, tile_x + c * TILE + lane) - centre[0]);
    for (int p = 0; p < COLUMNS * ROWS; p++)
        total[p][thread] = 0;
    for (int64_t first = 0; first < count; first += CHUNK) {
        const int here = (int)min((int64_t)CHUNK, count - first);
        __syncthreads();
        const int far_atoms =
            stage_atoms_of_tile<NEWTON != 0, T>(atoms + first, here, centre, half_x, half_y, far, chunk);
#pragma unroll 8
        for (int a = thread / TILE; a < CHUNK; a += TILE_THREADS / TILE)
            if (a < here) {
                const pair_of<T> atom = chunk.y_zz[a];
                const T dy = my_row - atom.a;
                chunk.rows[a][lane] = dy * dy + atom.b;
            }
        __syncthreads();
        const auto add = [&](int a, auto newton) {
            const pair_of<T> atom = chunk.x_charge[a];
            T rows[ROWS];
#pragma unroll
            for (int p = 0; p < ROWS; p += 16 / (int)sizeof(T))
                *reinterpret_cast<uint4 *>(rows + p) = *reinterpret_cast<const uint4 *>(&chunk.rows[a][row + p]);
#pragma unroll
            for (int c = 0; c < COLUMNS; c++) {
                const T dx = x[c] - atom.a;
                add_atom<newton.value, SQUARE>(rows, dx * dx, atom.b, least, sum[c]);
            }
        };
        if constexpr (NEWTON != 0) {
#pragma unroll(Shape::UNROLL)
            for (int a = 0; a < far_atoms; a++)
                add(a, std::integral_constant<unsigned, NEWTON>());
        }
#pragma unroll(NEWTON != 0 ? 1 : Shape::UNROLL)
        for (int a = far_atoms; a < here; a++)
            add(a, std::integral_constant<unsigned, 0>());
        if ((first / CHUNK + 1) % (FLUSH_ATOMS / CHUNK) != 0 && first + CHUNK < count)
            continue;
#pragma unroll
        for (int c = 0; c < COLUMNS; c++)
#pragma unroll
            for (int p = 0; p < ROWS; p++) {
                total[c * ROWS + p][thread] += (double)sum[c][p];
                sum[c][p] = 0;
            }
    }
    const int64_t nx = extent(at.box, 0), ny = extent(at.box, 1);
    for (int c = 0; c < COLUMNS; c++)
        for (int p = 0; p < ROWS; p++) {
            const int64_t i = tile_x + c * TILE + lane, j = tile_y + row + p;
            if (i >= at.box.lo[0] && i < at.box.hi[0] && j >= at.box.lo[1] && j < at.box.hi[1])
                out[((k - at.box.lo[2]) * ny + (j - at.box.lo[1])) * nx + (i - at.box.lo[0])] =
                    (T)total[c * ROWS + p][thread];
        }
}

} // namespace vf_coulomb_gpu

#endif
