/* What the CUDA files of the Fourier sum share: how phases are held, and what a plan keeps on the GPU; not installed.
 *
 * A phase is in turns. On a grid in single precision it is a whole number of 2^-32 turns, which wraps by itself where
 * whole turns drop out, so k.r may be thousands of turns and nothing is lost: lattice_points. For points anywhere each
 * product k x is reduced by itself, exactly, with a fused multiply-add, and positions have a second single-precision
 * number for what the first leaves over: list_points<float>. In double precision phases are plain numbers.
 */
#ifndef VOXFIELD_FOURIER_SUM_CUDA_CUH
#define VOXFIELD_FOURIER_SUM_CUDA_CUH

#include <type_traits>

#include "backend/cuda_check.cuh"
#include "fourier_sum_backend.h"

namespace vf_fourier_gpu
{

enum { LONGEST_LATTICE = 4096 }; /* points along an axis: up to here 2^-33 turns a step are within 2^-22 */

/* A sample's phases on a grid, in 2^-64 turns: half a step along x, y, z, and at the grid's first point. */
struct lattice_wave {
    uint64_t half[3], origin;
};

/* Where samples and voxels are, for kernels that take points anywhere. */
struct point_source {
    const double *k[4]; /* [samples] kx, ky, kz, t */
    const double *r[4]; /* [voxels] x, y, z, f; x, y, z NULL: a grid; f NULL: none */
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

/* Position of voxel n along an axis, with one rounding an operation, as on the host. */
__device__ inline double coordinate(const point_source &s, const int64_t at[3], int64_t n, int axis)
{
    return s.r[axis] ? s.r[axis][n] : __dadd_rn(s.origin[axis], __dmul_rn(s.spacing[axis], (double)at[axis]));
}

/* a b less the whole number nearest to it, |a b| <= 2^22: of the exact product, rounded once. */
__device__ inline float product_fraction(float a, float b)
{
    const float big = 0x1.8p23f, whole = __fsub_rn(__fmaf_rn(a, b, big), big);
    return __fmaf_rn(a, b, -whole);
}

/* p less a whole number, |p| <= 1/2 then; |p| < 2^22. */
__device__ inline float fraction(float p)
{
    const float big = 0x1.8p23f;
    return p - __fsub_rn(__fadd_rn(p, big), big);
}

/* Each kind of points has: real, wave (a sample), place (a voxel), and their phase within 1/2 turn. */
struct lattice_points {
    typedef float real;
    static constexpr uint32_t SHIFT = 0x80000100u; /* half a turn, and half a rounding: see phase */
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

    /* The grid's part of a phase, and SHIFT. */
    static __device__ uint32_t steps(const wave &w, const place &at)
    {
        return w.origin + w.x * (uint32_t)at.x + w.y * (uint32_t)at.y + w.z * (uint32_t)at.z;
    }

    /* HARDWARE: for sines and cosines that are worth no more, rounded to 2^-23 turns, without a conversion, which would
     * take its turn on the units that make them: the phase and half a turn are the fraction of a number from 1 to 2. */
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

/* Threads in a block of the tuned kernels, voxels or samples that a block of each sums, and the terms after which its
 * sums go from the precision of terms to double. */
enum { THREADS = 128, FLUSH = 512 };
enum { LATTICE_RUN = 8, LATTICE_POINTS = THREADS * LATTICE_RUN, PAIR_POINTS = THREADS * 4, RUN_POINTS = THREADS };

/* How a sum is cut: into `groups` of outer points (voxels or samples) and `segments` of the terms, a thread block for
 * each pair of them; a launch takes `launch_groups` groups with all segments. */
struct partition {
    int64_t groups, launch_groups, segment_terms;
    int segments;
};

struct voxel_group;

struct state {
    bool tuned, lattice; /* lattice: single-precision phases on a grid, see above */
    point_source points;
    void *device_points; /* owns what `points` points to */
    void *table;         /* the lattice kernels' factors along x; NULL if not used */
    bool phasors;        /* the sums are those of the lattice kernels */
    bool dense;          /* to see whether there are groups: */
    unsigned *order;     /* [voxels] the kernels' for groups of voxels, which have all sums if there are any */
    voxel_group *groups;
    bool products;   /* the adjoint is a matrix product; it alone uses what follows */
    uint4 *factors;  /* along x, of a segment of the samples */
    unsigned *peaks; /* [most_batch] the largest |Re c|, |Im c|, as bits */
    double *partial; /* sums of thread blocks, the tuned kernels' */
    size_t partial_bytes;
    int wave_blocks; /* thread blocks that the GPU holds at a time, roughly */
    int step;        /* which of the published steps; they alone use what follows */
    void *waves;     /* samples, or a chunk of them with their values on its way to constant memory */
    void *places;    /* voxels */
    bool uses_bank;
};

static inline const state *state_of(const vf_fourier *plan)
{
    return static_cast<const state *>(plan->state);
}

/* Coils that the tuned kernels sum with the same exponentials; a remainder of one has a kernel of its own. */
template <typename T>
constexpr int wide_batch()
{
    return sizeof(T) == 4 ? 4 : 2;
}

/* Sums `batch` vectors of `ins` numbers into as many of `outs`, as many at once as share exponentials: calls
 * sum(how many a kernel is for, a constant; coils; from; to). */
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

/* Fills in a partition for `groups` of `points` outer points and `terms` in all. Depends on the plan alone, so that
 * neither do results depend on the range asked for. `all_groups`: those of the whole plan. */
partition make_partition(const vf_fourier *plan, int64_t all_groups, int64_t groups, int points, int64_t terms);

/* Which outer points the segments of a launch are for: its blocks have `each`, of `all` there are, from `first` on. Of
 * those, or with an order of what it names for them, [from, from + count) are written. */
struct segment_points {
    int each;
    int64_t first, all;
    const unsigned *order;
    int64_t from, count;
};

/* Adds up the segments of a launch's blocks, [block][segment][width][2][each], and writes `coils` <= width vectors of
 * points.count. */
cudaError_t add_segments(const vf_fourier *plan, cudaStream_t stream, bool f64, unsigned blocks, int segments,
                         int width, int coils, const segment_points &points, void *out);

/* Tuned kernels: a grid without off-resonance, and points anywhere. Into the stream. */
cudaError_t lattice_adjoint(const vf_fourier *plan, cudaStream_t stream, int batch, const void *c, int64_t first,
                            int64_t count, void *y);
cudaError_t lattice_forward(const vf_fourier *plan, cudaStream_t stream, int batch, const void *x, void *c);
cudaError_t lattice_prepare(const vf_fourier *plan, state *s);
/* The adjoint as a matrix product: whether this GPU can, and whether so many voxels of whole tiles are the plan's that
 * it is faster than the lattice kernels. */
bool products_possible(const vf_fourier *plan);
bool products_pay(const vf_fourier *plan);
cudaError_t products_prepare(const vf_fourier *plan, state *s);
cudaError_t products_adjoint(const vf_fourier *plan, cudaStream_t stream, int batch, const float *c, int64_t first,
                             int64_t count, float *y);

/* Groups of neighbouring voxels: s->groups if they are narrow enough. Frees nothing when it fails. */
vf_status groups_prepare(const vf_fourier *plan, state *s);
void groups_free(state *s);
cudaError_t groups_sum(const vf_fourier *plan, cudaStream_t stream, bool forward, int batch, const float *values,
                       int64_t first, int64_t count, float *out);

cudaError_t pairs_sum(const vf_fourier *plan, cudaStream_t stream, bool forward, int batch, const void *values,
                      int64_t first, int64_t count, void *out);

/* The published steps. */
vf_status published_open(vf_fourier *plan, state *s);
void published_close(const vf_fourier *plan, state *s);
cudaError_t published_adjoint(const vf_fourier *plan, cudaStream_t stream, int batch, const void *c, int64_t first,
                              int64_t count, void *y);

} // namespace vf_fourier_gpu

#endif
