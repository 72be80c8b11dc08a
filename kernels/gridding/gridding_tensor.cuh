/* Tensor cores for the adjoint NUFFT in double precision (gridding_tensor_spread.cuh): products of small matrices, and the
 * kernels of a batch of samples. Not installed. */
#ifndef VOXFIELD_GRIDDING_TENSOR_CUH
#define VOXFIELD_GRIDDING_TENSOR_CUH

#include "gridding_cuda.cuh"

namespace
{

/* ---- products of small matrices: sum [16][8] += a [16][8] b [8][8] ----
 *
 * Lane 4 g + t of a warp has a (g, t), (g + 8, t), (g, t + 4), (g + 8, t + 4); b (t, g), (t + 4, g); and of the sum
 * (g, 2 t), (g, 2 t + 1), (g + 8, 2 t), (g + 8, 2 t + 1). From NVIDIA's "PTX ISA", mma.m16n8k8. */

enum { STEP = 8, SUM_ROWS = 16 };

__device__ inline void multiply_add(double sum[4], const double a[4], const double b[2])
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
    __trap(); /* no tensor cores for doubles */
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+d"(sum[0]), "+d"(sum[1]), "+d"(sum[2]), "+d"(sum[3])
        : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
#else
#pragma unroll
    for (int k = 0; k < 2; k++)
#pragma unroll
        for (int m = 0; m < 2; m++)
            asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                : "+d"(sum[2 * m]), "+d"(sum[2 * m + 1])
                : "d"(a[2 * k + m]), "d"(b[k]));
#endif
}

/* ---- shapes ---- */

/* The least number from `least` that is `of` times an odd one. */
constexpr int odd_times(int least, int of)
{
    return (least + of - 1) / of % 2 == 1 ? (least + of - 1) / of * of : odd_times(least + of, of);
}

/* Sizes for a kernel of W points. A unit is what two products add to: all x of four rows, real and imaginary. In two
 * dimensions the rows are what is elsewhere called planes. Pitches are such that lanes that read together read from
 * different banks. */
template <int W, bool FLAT>
struct tensor_shape {
    enum {
        AXES = FLAT ? 2 : 3,
        POINTS_X = 2 * SUM_ROWS,
        ROWS = GRIDDING_TILE_Y + W - 1,
        PLANES = FLAT ? 1 : GRIDDING_TILE_Z + W - 1,
        FOURS = (ROWS + 3) / 4,
        SHARERS = FLAT ? 1 : (FOURS == 5 ? 3 : 2), /* warps that share the planes */
        /* For these there are registers: planes of a block, and blocks of a multiprocessor, at least. */
        MOST_PLANES = FOURS == 4 ? 8 : 12,
        BLOCKS = FLAT ? 3 : (FOURS == 4 ? 2 : 1),
        PARTS = (PLANES + MOST_PLANES - 1) / MOST_PLANES,
        PART_PLANES = (PLANES + PARTS - 1) / PARTS,
        UNITS = FLAT ? (int)FOURS : (PART_PLANES + SHARERS - 1) / SHARERS, /* of a warp */
        /* A team has a batch of samples; there are several in a block. */
        TEAM_WARPS = FLAT ? 1 : SHARERS * FOURS,
        TEAMS = FLAT ? GRIDDING_FLAT_COPIES : 1,
        THREADS = WARP * TEAM_WARPS * TEAMS,
        BATCH = FLAT ? 16 : WARP,
        STEPS = BATCH / STEP,
        ROUNDS = GRIDDING_PIECE / (BATCH * TEAMS), /* batches of a team in a piece; no rest */
        PITCH_X = POINTS_X + 4,
        PITCH_Y = odd_times(4 * FOURS, 4),
        /* Points are read for planes that a unit has beyond the last one, too. */
        PITCH_Z = odd_times(FLAT ? 4 * FOURS : PLANES + SHARERS - 1, 2)
    };
    static_assert((int)GRIDDING_PIECE % (BATCH * TEAMS) == 0, "a piece is whole rounds");
    static_assert((int)GRIDDING_TILE_X + W <= (int)POINTS_X, "a padded tile's rows with their pitch");
    static_assert((int)GRIDDING_TILE_Y == (int)GRIDDING_TILE_Z, "ROWS are also those in two dimensions");

    static bool fits(const gridding_padded &padded, int degree)
    {
        return (padded.axis[2] == 1) == FLAT && padded.width[0] == W && padded.width[1] == (FLAT ? 1 : W) &&
               padded.width[2] == W && degree <= kernel_points<W>::DEGREE && padded.pitch <= POINTS_X;
    }
};

/* The kernels of a batch, with zeros where they do not reach: along x, y and z, or x and y. Those along the last axis are
 * multiplied by the samples' values: [sample][real, imaginary][point]. */
template <int W, bool FLAT>
struct alignas(16) tensor_kernels {
    typedef tensor_shape<W, FLAT> shape;
    double x[shape::BATCH * shape::PITCH_X], y[FLAT ? 4 : shape::BATCH * shape::PITCH_Y];
    double z[shape::BATCH * 2 * shape::PITCH_Z];
    int begin[shape::STEPS], end[shape::STEPS]; /* planes that a step reaches */
};

/* The samples of a batch. */
template <int W, bool FLAT>
struct alignas(16) tensor_samples {
    typedef tensor_shape<W, FLAT> shape;
    double2 value[shape::BATCH], factor[shape::BATCH];
    double variable[shape::AXES * shape::BATCH]; /* of the kernel's polynomials */
    int start[shape::AXES * shape::BATCH];       /* the kernel's first point in the padded tile */
};

/* ---- kernels ----
 *
 * A warp computes the kernel along one axis for a step's samples: the product of its polynomials' coefficients
 * [point][power] and the powers of the samples' variables [power][sample]. */

template <int W>
struct tensor_polynomials {
    enum { BLOCKS = (kernel_points<W>::DEGREE + STEP) / STEP }; /* of eight powers */
    double coefficient[BLOCKS][4][WARP];                        /* as lanes take them */

    __device__ void load(const kernel_table<double> &table)
    {
        for (int i = threadIdx.x; i < BLOCKS * 4 * WARP; i += blockDim.x) {
            const int lane = i % WARP, j = i / WARP % 4, block = i / WARP / 4, point = lane / 4 + j % 2 * 8,
                      power = block * STEP + j / 2 * 4 + lane % 4;
            coefficient[block][j][lane] =
                point < W && power <= table.degree ? table.polynomials[(table.degree - power) * W + point] : 0;
        }
    }

    /* Calls put(sample, point, value) for each sample of a step and each point. */
    template <typename Put>
    __device__ void evaluate(const double *variable, Put put) const
    {
        const int lane = threadIdx.x % WARP, g = lane / 4, t = lane % 4;
        const double z = variable[g], square = z * z, fourth = square * square;
        double power = (t < 2 ? 1 : square) * (t % 2 == 0 ? 1 : z), value[4] = {};
#pragma unroll
        for (int k = 0; k < BLOCKS; k++) {
            double a[4], b[2];
#pragma unroll
            for (int j = 0; j < 4; j++)
                a[j] = coefficient[k][j][lane];
#pragma unroll
            for (int j = 0; j < 2; j++, power *= fourth)
                b[j] = power;
            multiply_add(value, a, b);
        }
#pragma unroll
        for (int j = 0; j < 4; j++)
            if (g + j / 2 * 8 < W)
                put(2 * t + j % 2, g + j / 2 * 8, value[j]);
    }
};

} // namespace

#endif
