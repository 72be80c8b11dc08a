/* Shared by the CUDA files of the Fourier sum: how phases are stored, and what a plan keeps on the GPU; not installed.
 *
 * Phases are in turns.
 * - A grid in single precision (lattice_points): a phase is an integer, in units of 2^-32 turns. Its overflow drops
 *   whole turns, so k.r may be thousands of turns without loss.
 * - Points anywhere in single precision (list_points<float>): each product k x is reduced separately and exactly, with
 *   a fused multiply-add. A second single-precision number holds the rest of each position.
 * - Double precision (list_points<double>): phases are plain numbers. fourier_sum_lattice.cu uses integers instead,
 *   in units of 2^-64 turns.
 */
#ifndef VOXFIELD_FOURIER_SUM_CUDA_CUH
#define VOXFIELD_FOURIER_SUM_CUDA_CUH

#include <type_traits>

#include "backend/cuda_check.cuh"
#include "fourier_sum_backend.h"

namespace vf_fourier_gpu
{

enum { LONGEST_LATTICE = 4096 }; /* points along an axis: errors of 2^-33 turns a step add up to at most 2^-22 */

/* A sample's phases on a grid, in units of 2^-64 turns: of half a step along x, y, z, and at the grid's first point. */
struct lattice_wave {
    uint64_t half[3], origin;
};

/* Positions of the samples and voxels. */
struct point_source {
    const double *k[4]; /* [samples] kx, ky, kz, t */
    const double *r[4]; /* [voxels] x, y, z, f; NULL x, y, z: a grid; NULL f: no off-resonance */
    const lattice_wave *lattice;
    double origin[3], spacing[3];
    int64_t counts[3];
};

__device__ inline void grid_point(const point_source &s, int64_t n, int64_t at[3])
{
    at[0] = n % s.counts[0];
    at[1] = n / s.counts[0] % s.counts[1];
    at[2] = n / s.counts[0] / s.counts[1];
}

/* Position of voxel n along an axis. Each operation rounds, as on the host. */
__device__ inline double coordinate(const point_source &s, const int64_t at[3], int64_t n, int axis)
{
    return s.r[axis] ? s.r[axis][n] : __dadd_rn(s.origin[axis], __dmul_rn(s.spacing[axis], (double)at[axis]));
}

/* a b minus the nearest integer, for |a b| <= 2^22. Computed from the exact product and rounded once. */
__device__ inline float product_fraction(float a, float b)
{
    const float big = 0x1.8p23f, whole = __fsub_rn(__fmaf_rn(a, b, big), big);
    return __fmaf_rn(a, b, -whole);
}

/* p minus the nearest integer, for |p| < 2^22; the result is within 1/2. */
__device__ inline float fraction(float p)
{
    const float big = 0x1.8p23f;
    return p - __fsub_rn(__fadd_rn(p, big), big);
}

/* Each kind of points defines real, wave (a sample), place (a voxel), and phase, which is within 1/2 turn. */
struct lattice_points {
    typedef float real;
    static constexpr uint32_t SHIFT = 0x80000100u; /* half a turn, plus 2^-24 turns so that from_one rounds */
    struct wave {
        uint32_t x, y, z, origin;
        float t;
    };
    struct __align__(16) place
    {
        int x, y, z; /* from the grid's middle */
        float f;
    };

    static __device__ wave wave_at(const point_source &s, int64_t m)
    {
        const lattice_wave w = s.lattice[m];
        uint64_t origin = w.origin;
        for (int a = 0; a < 3; a++)
            origin += 2 * (uint64_t)(s.counts[a] / 2) * w.half[a];
        const uint64_t round = (uint64_t)1 << 31;
        return {(uint32_t)((2 * w.half[0] + round) >> 32), (uint32_t)((2 * w.half[1] + round) >> 32),
                (uint32_t)((2 * w.half[2] + round) >> 32), (uint32_t)((origin + round) >> 32) + SHIFT,
                s.k[3] ? (float)s.k[3][m] : 0};
    }

    static __device__ place place_at(const point_source &s, int64_t n)
    {
        int64_t at[3];
        grid_point(s, n, at);
        return {(int)(at[0] - s.counts[0] / 2), (int)(at[1] - s.counts[1] / 2), (int)(at[2] - s.counts[2] / 2),
                s.r[3] ? (float)s.r[3][n] : 0};
    }

    /* The phase without off-resonance, plus SHIFT. */
    static __device__ uint32_t steps(const wave &w, const place &at)
    {
        return w.origin + w.x * (uint32_t)at.x + w.y * (uint32_t)at.y + w.z * (uint32_t)at.z;
    }

    /* For HARDWARE: a number from 1 to 2 whose fraction is the phase plus half a turn, rounded to 2^-23 turns. Hardware
     * sines and cosines are no more accurate. It takes no conversion, which would occupy the special function units. */
    static __device__ float from_one(uint32_t steps)
    {
        return __uint_as_float(__funnelshift_r(steps, 127u, 9));
    }

    template <bool FIELD, bool HARDWARE>
    static __device__ float phase_at(uint32_t steps, float t, float f)
    {
        const float turns = HARDWARE ? from_one(steps) - 1.5f : (float)(int32_t)(steps - SHIFT) * 0x1p-32f;
        return FIELD ? fraction(turns + product_fraction(t, f)) : turns;
    }

    template <bool FIELD, bool HARDWARE>
    static __device__ float phase(const wave &w, const place &at)
    {
        return phase_at<FIELD, HARDWARE>(steps(w, at), w.t, at.f);
    }
};

template <typename T>
struct list_points;

template <>
struct list_points<float> {
    typedef float real;
    struct __align__(16) wave
    {
        float x, y, z, t;
    };
    struct __align__(16) place
    {
        float x, y, z, f, x_rest, y_rest, z_rest, unused;
    };

    static __device__ wave wave_at(const point_source &s, int64_t m)
    {
        return {(float)s.k[0][m], (float)s.k[1][m], (float)s.k[2][m], s.k[3] ? (float)s.k[3][m] : 0};
    }

    static __device__ place place_at(const point_source &s, int64_t n)
    {
        int64_t at[3];
        grid_point(s, n, at);
        const double x = coordinate(s, at, n, 0), y = coordinate(s, at, n, 1), z = coordinate(s, at, n, 2);
        const float x1 = (float)x, y1 = (float)y, z1 = (float)z;
        return {x1, y1, z1, s.r[3] ? (float)s.r[3][n] : 0, (float)(x - x1), (float)(y - y1), (float)(z - z1), 0};
    }

    template <bool FIELD, bool HARDWARE>
    static __device__ float phase(const wave &w, const place &at)
    {
        const float x = product_fraction(w.x, at.x), y = product_fraction(w.y, at.y), z = product_fraction(w.z, at.z);
        float p = __fmaf_rn(w.x, at.x_rest, __fmaf_rn(w.y, at.y_rest, __fmaf_rn(w.z, at.z_rest, x + y))) + z;
        if (FIELD)
            p = fraction(p) + product_fraction(w.t, at.f);
        return fraction(p);
    }
};

template <>
struct list_points<double> {
    typedef double real;
    struct __align__(16) wave
    {
        double x, y, z, t;
    };
    struct __align__(16) place
    {
        double x, y, z, f;
    };

    static __device__ wave wave_at(const point_source &s, int64_t m)
    {
        return {s.k[0][m], s.k[1][m], s.k[2][m], s.k[3] ? s.k[3][m] : 0};
    }

    static __device__ place place_at(const point_source &s, int64_t n)
    {
        int64_t at[3];
        grid_point(s, n, at);
        return {coordinate(s, at, n, 0), coordinate(s, at, n, 1), coordinate(s, at, n, 2), s.r[3] ? s.r[3][n] : 0};
    }

    template <bool FIELD, bool HARDWARE>
    static __device__ double phase(const wave &w, const place &at)
    {
        double p = __fma_rn(w.x, at.x, __fma_rn(w.y, at.y, __dmul_rn(w.z, at.z)));
        if (FIELD)
            p = __fma_rn(w.t, at.f, p);
        return p - rint(p);
    }
};

/* Cosine and sine of p turns, |p| <= 1/2. */
template <bool HARDWARE>
__device__ inline void phasor(float p, float &cosine, float &sine)
{
    if (HARDWARE)
        __sincosf(p * 6.283185307f, &sine, &cosine);
    else
        sincospif(2 * p, &sine, &cosine);
}

template <bool HARDWARE>
__device__ inline void phasor(double p, double &cosine, double &sine)
{
    sincospi(2 * p, &sine, &cosine);
}

/* ---- host side ---- */

/* Of the tuned kernels: threads in a block, terms after which sums are added up in double precision, and the voxels or
 * samples of a block in each kernel. */
enum { THREADS = 128, FLUSH = 512 };
enum { LATTICE_RUN = 8, LATTICE_POINTS = THREADS * LATTICE_RUN, PAIR_POINTS = THREADS * 4, RUN_POINTS = THREADS };

/* How a sum is divided: the outer points (voxels or samples) into `groups`, the terms into `segments`. Each pair of a
 * group and a segment has a thread block. A launch takes `launch_groups` groups with all segments. */
struct partition {
    int64_t groups, launch_groups, segment_terms;
    int segments;
};

/* Voxels of a step's launch at most. With a chunk of samples it ends soon: meanwhile a GPU cannot draw on its display. */
const int64_t MOST_LAUNCH_VOXELS = 1 << 22;

struct voxel_group;

struct state {
    bool tuned, lattice; /* lattice: phases are lattice_points */
    point_source points;
    void *device_points; /* the memory that `points` points into */
    void *table;         /* the lattice kernels' factors along x; NULL if unused */
    bool phasors;        /* use the lattice kernels, or products for the adjoint */
    bool dense;          /* try groups of voxels; if they are possible, their kernels compute all sums */
    unsigned *order;     /* [voxels] in the order of their groups; NULL without groups */
    voxel_group *groups;
    bool products;   /* the adjoint is a matrix product; only that uses factors and peaks */
    uint4 *factors;  /* along x, of a segment of the samples */
    unsigned *peaks; /* [most_batch] the largest |Re c| or |Im c|, as bits */
    double *partial; /* sums of thread blocks, for the tuned kernels */
    size_t partial_bytes;
    int wave_blocks; /* about how many thread blocks the GPU holds at a time */
    bool published;  /* a published step; else, if not tuned, one of fourier_sum_bank.cu */
    int step;        /* its number among those of its file; only steps use the rest */
    void *waves;     /* samples, or a chunk of samples and values to be copied to constant memory */
    void *places;    /* voxels */
    bool uses_bank;
};

static inline const state *state_of(const vf_fourier *plan)
{
    return static_cast<const state *>(plan->state);
}

/* Coils that the tuned kernels sum with the same exponentials. A single remaining coil has its own kernel. */
template <typename T>
constexpr int wide_batch()
{
    return sizeof(T) == 4 ? 4 : 2;
}

/* Sums `batch` vectors of `ins` numbers into `batch` vectors of `outs` numbers, up to wide_batch coils at a time. Calls
 * sum(the kernel's width as a constant, coils, from, to). */
template <typename T, typename Sum>
cudaError_t sum_all_coils(int batch, const T *from, int64_t ins, T *to, int64_t outs, Sum sum)
{
    constexpr int wide = wide_batch<T>();
    cudaError_t error = cudaSuccess;
    for (int b = 0; error == cudaSuccess && b < batch;) {
        const int coils = batch - b < wide ? batch - b : wide;
        error = coils == 1 ? sum(std::integral_constant<int, 1>(), 1, from + 2 * b * ins, to + 2 * b * outs)
                           : sum(std::integral_constant<int, wide>(), coils, from + 2 * b * ins, to + 2 * b * outs);
        b += coils;
    }
    return error;
}

/* The partition for `groups` groups of `points` outer points, with `terms` terms in each sum. `all_groups`: those of
 * the whole plan. The segments depend on them, not on `groups`, so results do not depend on the requested range. */
partition make_partition(const vf_fourier *plan, int64_t all_groups, int64_t groups, int points, int64_t terms);

/* The outer points of a launch. Each block has `each` of them, from `first` on, up to `all`. With an order, point n is
 * voxel order[n]. Only [from, from + count) is written. */
struct segment_points {
    int each;
    int64_t first, all;
    const unsigned *order;
    int64_t from, count;
};

/* Adds up the segments of a launch's blocks, [block][segment][width][2][each], and writes `coils` <= width vectors of
 * points.count numbers. */
cudaError_t add_segments(const vf_fourier *plan, cudaStream_t stream, bool f64, unsigned blocks, int segments,
                         int width, int coils, const segment_points &points, void *out);

/* Tuned kernels for a grid without off-resonance. All sums below are asynchronous, in the stream. */
cudaError_t lattice_adjoint(const vf_fourier *plan, cudaStream_t stream, int batch, const void *c, int64_t first,
                            int64_t count, void *y);
cudaError_t lattice_forward(const vf_fourier *plan, cudaStream_t stream, int batch, const void *x, void *c);
cudaError_t lattice_prepare(const vf_fourier *plan, state *s);
/* The adjoint as a matrix product. products_possible: the plan and the GPU support it. products_pay: it is faster than
 * the lattice kernels, since at least a quarter of the voxels in whole tiles are the plan's. */
bool products_possible(const vf_fourier *plan);
bool products_pay(const vf_fourier *plan);
cudaError_t products_prepare(const vf_fourier *plan, state *s);
cudaError_t products_adjoint(const vf_fourier *plan, cudaStream_t stream, int batch, const float *c, int64_t first,
                             int64_t count, float *y);

/* Groups of neighbouring voxels: sets s->groups if they are narrow enough. Frees nothing on failure. */
vf_status groups_prepare(const vf_fourier *plan, state *s);
void groups_free(state *s);
cudaError_t groups_sum(const vf_fourier *plan, cudaStream_t stream, bool forward, int batch, const float *values,
                       int64_t first, int64_t count, float *out);

/* Tuned kernels for points anywhere and off-resonance, without groups. */
cudaError_t pairs_sum(const vf_fourier *plan, cudaStream_t stream, bool forward, int batch, const void *values,
                      int64_t first, int64_t count, void *out);

/* The steps: those published, and ours beyond them. *_step: the number of a variant in its file, or -1. */
int published_step(const char *variant);
vf_status published_open(vf_fourier *plan, state *s);
void published_close(const vf_fourier *plan, state *s);
cudaError_t published_adjoint(const vf_fourier *plan, cudaStream_t stream, int batch, const void *c, int64_t first,
                              int64_t count, void *y);
int bank_step(const char *variant);
vf_status bank_open(vf_fourier *plan, state *s);
void bank_close(const vf_fourier *plan, state *s);
cudaError_t bank_adjoint(const vf_fourier *plan, cudaStream_t stream, int batch, const void *c, int64_t first,
                         int64_t count, void *y);

/* Sets plan->tuning from the table, for a step of it and the plan's GPU, within plan->most_chunk. */
vf_status look_up_tuning(vf_fourier *plan, vf_fourier_tuned_step step);

} // namespace vf_fourier_gpu

#endif
