/* Matrix products on a GPU: the steps of Kirk and Hwu (figure 6.16), and a kernel of our own. All of them sum an element
 * by fused multiply-adds in the order of the inner index. Beyond the matrices tiles are filled with zeros, which change
 * no sum. */
#include <string.h>

#include "backend/cuda_check.cuh"
#include "backend/launch_blocks.h"
#include "matrix_product_plan.h"

namespace
{

template <typename T>
struct matrices {
    int64_t rows, columns, inner;
    const T *__restrict__ a, *__restrict__ b;
    T *__restrict__ c;
    int64_t across; /* blocks along a row of C */
};

/* Where the block's part of C begins, for parts of `high` x `wide` elements. */
template <typename T>
__device__ inline void place_of_block(const matrices<T> &m, int high, int wide, int64_t *i, int64_t *j)
{
    const int64_t row = blockIdx.x / m.across;
    *i = row * high;
    *j = (blockIdx.x - row * m.across) * wide;
}

template <typename T>
__device__ inline T element_of_a(const matrices<T> &m, int64_t i, int64_t l)
{
    return i < m.rows && l < m.inner ? m.a[i * m.inner + l] : T(0);
}

template <typename T>
__device__ inline T element_of_b(const matrices<T> &m, int64_t l, int64_t j)
{
    return l < m.inner && j < m.columns ? m.b[l * m.columns + j] : T(0);
}

/* ---- the published steps ---- */

enum { NAIVE_SIDE = 16 };

template <typename T>
__global__ void __launch_bounds__(NAIVE_SIDE *NAIVE_SIDE) naive_kernel(const matrices<T> m)
{
    int64_t i, j;
    place_of_block(m, NAIVE_SIDE, NAIVE_SIDE, &i, &j);
    i += threadIdx.y;
    j += threadIdx.x;
    if (i >= m.rows || j >= m.columns)
        return;
    T sum = 0;
#pragma unroll 1
    for (int64_t l = 0; l < m.inner; l++)
        sum = fma(m.a[i * m.inner + l], m.b[l * m.columns + j], sum);
    m.c[i * m.columns + j] = sum;
}

/* The products of a tile of A and MERGE tiles of B in shared memory. */
template <typename T, int TILE, int MERGE>
__device__ inline void add_products(const T (*a)[TILE], const T (*b)[TILE][TILE], int l, T sum[MERGE])
{
    const T factor = a[threadIdx.y][l];
#pragma unroll
    for (int q = 0; q < MERGE; q++)
        sum[q] = fma(factor, b[q][l][threadIdx.x], sum[q]);
}

/* TILE x TILE threads compute MERGE tiles of C beside each other. */
template <typename T, int TILE, int MERGE, bool UNROLLED, bool PREFETCH>
__global__ void __launch_bounds__(TILE *TILE) tile_kernel(const matrices<T> m)
{
    __shared__ T a[TILE][TILE], b[MERGE][TILE][TILE];
    const int tx = threadIdx.x, ty = threadIdx.y;
    int64_t i, j;
    place_of_block(m, TILE, TILE * MERGE, &i, &j);
    i += ty;
    j += tx;
    T sum[MERGE] = {}, next_a, next_b[MERGE];
    const auto load = [&](int64_t from) {
        next_a = element_of_a(m, i, from + tx);
#pragma unroll
        for (int q = 0; q < MERGE; q++)
            next_b[q] = element_of_b(m, from + ty, j + q * TILE);
    };
    if (PREFETCH)
        load(0);
#pragma unroll 1
    for (int64_t from = 0; from < m.inner; from += TILE) {
        if (!PREFETCH)
            load(from);
        a[ty][tx] = next_a;
#pragma unroll
        for (int q = 0; q < MERGE; q++)
            b[q][ty][tx] = next_b[q];
        __syncthreads();
        if (PREFETCH)
            load(from + TILE);
        if (UNROLLED) {
#pragma unroll
            for (int l = 0; l < TILE; l++)
                add_products<T, TILE, MERGE>(a, b, l, sum);
        } else {
#pragma unroll 1
            for (int l = 0; l < TILE; l++)
                add_products<T, TILE, MERGE>(a, b, l, sum);
        }
        __syncthreads();
    }
#pragma unroll
    for (int q = 0; q < MERGE; q++)
        if (i < m.rows && j + q * TILE < m.columns)
            m.c[i * m.columns + j + q * TILE] = sum[q];
}

/* ---- tuned ----
 *
 * A block computes HIGH x WIDE elements of C, a thread UP x ALONG of them, in groups of one vector of 16 bytes that are
 * spread over the block, so that threads beside each other read vectors beside each other. DEPTH columns of A and rows of
 * B are in shared memory; A transposed, so that a thread's elements of a column are vectors, too. A thread loads FOUR
 * elements of each to come, while it computes with those of the other buffer. */

enum { DEPTH = 8, FOUR = 4 };

template <typename T>
struct vector_of;
template <>
struct vector_of<float> {
    typedef float4 type;
};
template <>
struct vector_of<double> {
    typedef double2 type;
};

template <typename T, int HIGH_, int WIDE_, int UP_, int ALONG_>
struct tuned_shape {
    typedef typename vector_of<T>::type vector;
    static constexpr int HIGH = HIGH_, WIDE = WIDE_, UP = UP_, ALONG = ALONG_, LANES = 16 / sizeof(T);
    static constexpr int ACROSS = WIDE / ALONG, THREADS = HIGH / UP * ACROSS;
    static constexpr int PITCH = HIGH + LANES; /* so that the transposed elements fall into different banks */
    static_assert(HIGH * DEPTH == FOUR * THREADS && WIDE * DEPTH == FOUR * THREADS, "four elements of each a thread");
};

/* Copies vectors of 16 bytes. */
template <typename T, int COUNT>
__device__ inline void copy_vectors(const T *from, T *to)
{
    typedef typename vector_of<T>::type vector;
#pragma unroll
    for (int v = 0; v < COUNT * (int)sizeof(T) / 16; v++)
        reinterpret_cast<vector *>(to)[v] = reinterpret_cast<const vector *>(from)[v];
}

/* The first `count` of FOUR elements of a row, then zeros. ALIGNED: they begin at a multiple of 16 bytes, and there are
 * none or FOUR. */
template <typename T, bool ALIGNED>
__device__ inline void load_four(const T *from, int64_t count, T out[FOUR])
{
    if (ALIGNED && count > 0) {
        copy_vectors<T, FOUR>(from, out);
        return;
    }
#pragma unroll
    for (int e = 0; e < FOUR; e++)
        out[e] = !ALIGNED && e < count ? from[e] : T(0);
}

template <typename T, typename Shape, bool ALIGNED>
__global__ void __launch_bounds__(Shape::THREADS, 2) tuned_kernel(const matrices<T> m)
{
    constexpr int LANES = Shape::LANES, UP = Shape::UP, ALONG = Shape::ALONG;
    __shared__ __align__(16) T a[2][DEPTH][Shape::PITCH], b[2][DEPTH][Shape::WIDE];
    const int t = threadIdx.x, tx = t % Shape::ACROSS, ty = t / Shape::ACROSS;
    const int a_row = t / (DEPTH / FOUR), a_at = t % (DEPTH / FOUR) * FOUR;
    const int b_row = t / (Shape::WIDE / FOUR), b_at = t % (Shape::WIDE / FOUR) * FOUR;
    int64_t i, j;
    place_of_block(m, Shape::HIGH, Shape::WIDE, &i, &j);
    __align__(16) T next_a[FOUR], next_b[FOUR], sum[UP][ALONG] = {};
    /* Where the thread loads next, and how much of the row of A and of the rows of B is left. */
    const T *from_a = m.a + (i + a_row) * m.inner + a_at, *from_b = m.b + b_row * m.columns + j + b_at;
    const int64_t a_count = i + a_row < m.rows ? m.inner - a_at : 0, b_count = m.columns - j - b_at;
    const auto load = [&](int64_t from) {
        load_four<T, ALIGNED>(from_a, a_count - from, next_a);
        load_four<T, ALIGNED>(from_b, from + b_row < m.inner ? b_count : 0, next_b);
        from_a += DEPTH;
        from_b += DEPTH * m.columns;
    };
    const auto store = [&](int buffer) {
#pragma unroll
        for (int e = 0; e < FOUR; e++)
            a[buffer][a_at + e][a_row] = next_a[e];
        copy_vectors<T, FOUR>(next_b, &b[buffer][b_row][b_at]);
    };
    load(0);
    store(0);
    __syncthreads();
    int buffer = 0;
#pragma unroll 1
    for (int64_t from = 0; from < m.inner; from += DEPTH, buffer ^= 1) {
        const bool more = from + DEPTH < m.inner;
        if (more)
            load(from + DEPTH);
#pragma unroll
        for (int l = 0; l < DEPTH; l++) {
            __align__(16) T left[UP], right[ALONG];
#pragma unroll
            for (int g = 0; g < UP / LANES; g++)
                copy_vectors<T, LANES>(&a[buffer][l][g * (Shape::HIGH / (UP / LANES)) + ty * LANES], left + g * LANES);
#pragma unroll
            for (int g = 0; g < ALONG / LANES; g++)
                copy_vectors<T, LANES>(&b[buffer][l][g * (Shape::WIDE / (ALONG / LANES)) + tx * LANES],
                                       right + g * LANES);
#pragma unroll
            for (int u = 0; u < UP; u++)
#pragma unroll
                for (int v = 0; v < ALONG; v++)
                    sum[u][v] = fma(left[u], right[v], sum[u][v]);
        }
        if (more)
            store(buffer ^ 1); /* nobody reads it since the last barrier */
        __syncthreads();
    }
#pragma unroll
    for (int u = 0; u < UP; u++) {
        const int64_t row = i + u / LANES * (Shape::HIGH / (UP / LANES)) + ty * LANES + u % LANES;
#pragma unroll
        for (int v = 0; v < ALONG; v++) {
            const int64_t column = j + v / LANES * (Shape::WIDE / (ALONG / LANES)) + tx * LANES + v % LANES;
            if (row < m.rows && column < m.columns)
                m.c[row * m.columns + column] = sum[u][v];
        }
    }
}

template <typename T>
struct tuned_of;
template <>
struct tuned_of<float> {
    typedef tuned_shape<float, 128, 128, 8, 8> Shape;
};
template <>
struct tuned_of<double> {
    typedef tuned_shape<double, 64, 64, 8, 4> Shape;
};

/* ---- launches ---- */

/* X(tile, merged, unrolled, prefetch, name) */
#define TILES(X, tile, merged, name)                                                                                   \
    X(tile, merged, false, false, name)                                                                                \
    X(tile, merged, false, true, name "-prefetch")                                                                     \
    X(tile, merged, true, false, name "-unrolled")                                                                     \
    X(tile, merged, true, true, name "-unrolled-prefetch")
#define ALL_TILES(X)                                                                                                   \
    TILES(X, 8, 1, "tile8")                                                                                            \
    TILES(X, 8, 2, "tile8-merge2")                                                                                     \
    TILES(X, 8, 4, "tile8-merge4")                                                                                     \
    TILES(X, 16, 1, "tile16")                                                                                          \
    TILES(X, 16, 2, "tile16-merge2")                                                                                   \
    TILES(X, 16, 4, "tile16-merge4")

#define NAME_OF(tile, merged, unrolled, prefetch, name) name,
const char *const names[] = {"tuned", "naive", ALL_TILES(NAME_OF) NULL};
enum { TUNED, NAIVE, FIRST_TILE };

template <typename T>
struct tile_variant {
    void (*kernel)(matrices<T>);
    int tile, merged;
};

/* Kernels of `threads`, whose blocks compute parts of `high` x `wide` elements. */
template <typename T>
cudaError_t launch(void (*kernel)(matrices<T>), dim3 threads, int high, int wide, matrices<T> m, cudaStream_t stream)
{
    m.across = (m.columns + wide - 1) / wide;
    kernel<<<vf_blocks_for(m.across * ((m.rows + high - 1) / high), 1), threads, 0, stream>>>(m);
    return cudaGetLastError();
}

template <typename T>
cudaError_t execute_typed(int chosen, const vf_matrices *given, cudaStream_t stream)
{
#define VARIANT_OF(tile, merged, unrolled, prefetch, name)                                                             \
    {tile_kernel<T, tile, merged, unrolled, prefetch>, tile, merged},
    static const tile_variant<T> tiles[] = {ALL_TILES(VARIANT_OF)};
    typedef typename tuned_of<T>::Shape Shape;
    const matrices<T> m = {given->rows,
                           given->columns,
                           given->inner,
                           static_cast<const T *>(given->a),
                           static_cast<const T *>(given->b),
                           static_cast<T *>(given->c),
                           0};
    if (chosen == NAIVE)
        return launch<T>(naive_kernel<T>, dim3(NAIVE_SIDE, NAIVE_SIDE), NAIVE_SIDE, NAIVE_SIDE, m, stream);
    if (chosen >= FIRST_TILE) {
        const tile_variant<T> &v = tiles[chosen - FIRST_TILE];
        return launch<T>(v.kernel, dim3(v.tile, v.tile), v.tile, v.tile * v.merged, m, stream);
    }
    const bool aligned =
        ((uintptr_t)given->a | (uintptr_t)given->b) % 16 == 0 && m.inner % FOUR == 0 && m.columns % FOUR == 0;
    return launch<T>(aligned ? tuned_kernel<T, Shape, true> : tuned_kernel<T, Shape, false>, dim3(Shape::THREADS),
                     Shape::HIGH, Shape::WIDE, m, stream);
}

/* The state is the variant's name in `names`. */
vf_status create(vf_matrix_product *plan, const char *variant)
{
    for (int v = 0; names[v]; v++)
        if (strcmp(names[v], variant) == 0)
            plan->state = const_cast<const char **>(&names[v]);
    return VF_OK;
}

void destroy(vf_matrix_product *)
{
}

vf_status execute(const vf_matrix_product *plan, vf_queue *queue, const vf_matrices *m)
{
    const cudaStream_t stream = static_cast<cudaStream_t>(vf_queue_native(queue));
    const int chosen = (int)(static_cast<const char *const *>(plan->state) - names);
    vf_status status = VF_CUDA(plan->device, cudaSetDevice(vf_device_ordinal(plan->device)));
    VF_TRY(status, vf_cuda_check(plan->device,
                                 plan->type == VF_F32 ? execute_typed<float>(chosen, m, stream)
                                                      : execute_typed<double>(chosen, m, stream),
                                 "a matrix product"));
    return status;
}

} // namespace

extern "C" const vf_matrix_product_ops vf_matrix_product_ops_cuda = {{VF_DEVICE_CUDA, names}, create, destroy, execute};
