/* Copies on a GPU, with the Block skeleton (access.cuh): each thread block moves one data block. */
#include "backend/cuda_check.cuh"
#include "copy.cuh"
#include "copy_internal.h"
#include "copy_tuning.cuh"

namespace
{

cudaStream_t stream_of(vf_queue *queue)
{
    return static_cast<cudaStream_t>(vf_queue_native(queue));
}

vf_status begin(vf_queue *queue)
{
    vf_device *device = vf_queue_device(queue);
    return VF_CUDA(device, cudaSetDevice(vf_device_ordinal(device)));
}

/* ---- copy and fill ---- */

vf_status copy(vf_queue *queue, size_t bytes, const void *x, void *y)
{
    vf_status status = begin(queue);
    if (status != VF_OK)
        return status;
    const vf_move_ends ends = {static_cast<const vf_byte *>(x), static_cast<vf_byte *>(y), (int64_t)bytes, 0, 0, {}};
    const uintptr_t apart = (uintptr_t)x - (uintptr_t)y;
    cudaStream_t stream = stream_of(queue);
    const cudaError_t error = apart % 16 == 0  ? vf_copy_words<vf_copy_tuning<16>, uint4>(stream, ends)
                              : apart % 8 == 0 ? vf_copy_words<vf_copy_tuning<8>, uint2>(stream, ends)
                              : apart % 4 == 0 ? vf_copy_words<vf_copy_tuning<4>, uint32_t>(stream, ends)
                                               : vf_copy_between_words<vf_shifted_tuning>(stream, ends);
    return vf_cuda_check(vf_queue_device(queue), error, "a copy");
}

vf_status fill(vf_queue *queue, size_t size, int64_t n, const void *value, void *y)
{
    vf_status status = begin(queue);
    if (status != VF_OK)
        return status;
    vf_move_ends ends = {NULL, static_cast<vf_byte *>(y), n * (int64_t)size, 0, 0, {}};
    vf_byte *pattern = reinterpret_cast<vf_byte *>(&ends.pattern);
    for (uintptr_t i = 0; i < 16; i++) /* the byte for addresses equal to i modulo 16 */
        pattern[i] = static_cast<const vf_byte *>(value)[(i - (uintptr_t)y) % size];
    const int64_t words = vf_cut_words<uint4>(&ends, 0);
    const vf_one_word<uint4> source = {ends.pattern};
    const cudaError_t error =
        vf_launch_move<vf_fill_tuning, vf_one_word<uint4>, uint4>(stream_of(queue), source, words, ends);
    return vf_cuda_check(vf_queue_device(queue), error, "a fill");
}

/* ---- elements ---- */

/* Launches `kernel`, tuned by Tuning, for the body's range. */
template <typename Tuning, typename Body>
cudaError_t launch_for(cudaStream_t stream, void (*kernel)(Body), const Body &body)
{
    vf_tuning shape;
    const cudaError_t error = vf_find_shape<Tuning>(kernel, &shape);
    if (error != cudaSuccess)
        return error;
    kernel<<<vf_blocks_of(shape, body.range), 32 * shape.warps, 0, stream>>>(body);
    return cudaGetLastError();
}

/* Calls `launch` with an element of `size` bytes, in the largest parts that the addresses allow. `addresses`: their
 * bits, or-ed. */
template <typename Launch>
void with_element(size_t size, uintptr_t addresses, const Launch &launch)
{
    if (size == 16 && addresses % 16 == 0)
        launch(vf_pack<uint4, 1>());
    else if (size == 16 && addresses % 8 == 0)
        launch(vf_pack<uint2, 2>());
    else if (size == 16)
        launch(vf_pack<uint32_t, 4>());
    else if (size == 8 && addresses % 8 == 0)
        launch(vf_pack<uint2, 1>());
    else if (size == 8)
        launch(vf_pack<uint32_t, 2>());
    else if (size == 4)
        launch(vf_pack<uint32_t, 1>());
    else
        launch(vf_pack<vf_byte, 1>());
}

/* A gather, or a scatter. */
template <typename T, bool scatters>
struct move_indexed {
    vf_range range;
    const uint32_t *__restrict__ index;
    const T *__restrict__ x;
    T *__restrict__ y;

    __device__ void middle(int64_t first) const
    {
        typedef vf_shape_of<vf_element_tuning<sizeof(T)>> Shape;
        uint32_t at[Shape::work];
        T element[Shape::work];
#pragma unroll
        for (int k = 0; k < Shape::work; k++)
            at[k] = index[Shape::at(first, k, 1)];
#pragma unroll
        for (int k = 0; k < Shape::work; k++)
            element[k] = x[scatters ? Shape::at(first, k, 1) : (int64_t)at[k]];
#pragma unroll
        for (int k = 0; k < Shape::work; k++)
            y[scatters ? (int64_t)at[k] : Shape::at(first, k, 1)] = element[k];
    }

    __device__ void edge(int64_t first) const
    {
        typedef vf_shape_of<vf_element_tuning<sizeof(T)>> Shape;
#pragma unroll
        for (int k = 0; k < Shape::work; k++) {
            const int64_t i = Shape::at(first, k, 1);
            if (range.has(i))
                y[scatters ? (int64_t)index[i] : i] = x[scatters ? i : (int64_t)index[i]];
        }
    }
};

template <typename T, bool scatters>
__global__ void __launch_bounds__(VF_TUNED_THREADS(vf_element_tuning<sizeof(T)>))
    indexed_kernel(const move_indexed<T, scatters> body)
{
    vf_skeleton_block<vf_shape_of<vf_element_tuning<sizeof(T)>>>(body.range, body);
}

/* Data blocks are aligned in the array that is accessed in order. */
template <bool scatters>
vf_status indexed(vf_queue *queue, size_t size, int64_t n, const uint32_t *index, const void *x, void *y)
{
    cudaError_t error = cudaSuccess;
    vf_status status = begin(queue);
    if (status != VF_OK)
        return status;
    with_element(size, (uintptr_t)x | (uintptr_t)y, [&](auto element) {
        typedef decltype(element) T;
        const vf_range range = vf_range_at(static_cast<const T *>(scatters ? x : y), n);
        const move_indexed<T, scatters> body = {range, index, static_cast<const T *>(x), static_cast<T *>(y)};
        error = launch_for<vf_element_tuning<sizeof(T)>>(stream_of(queue), indexed_kernel<T, scatters>, body);
    });
    return vf_cuda_check(vf_queue_device(queue), error, scatters ? "a scatter" : "a gather");
}

/* ---- boxes ---- */

/* Divides numbers below 2^31 by one below 2^31: Granlund and Montgomery, Proc. PLDI (1994) 61. */
struct divider {
    uint32_t magic, shift;

    __device__ uint32_t divide(uint32_t n) const
    {
        return (__umulhi(n, magic) + n) >> shift;
    }
};

divider divider_by(uint32_t d)
{
    uint32_t shift = 0;
    while ((1u << shift) < d)
        shift++;
    return {(uint32_t)((((uint64_t)1 << 32) * (((uint64_t)1 << shift) - d)) / d + 1), shift};
}

/* Rows are shorter than this, so that dividends are below 2^31. Longer rows are copied one by one. */
const int64_t LONG = (int64_t)1 << 30;

/* The box, row after row, as one range of words. Its 64-bit index is divided once per data block; offsets within the
 * data block are divided in 32 bits. */
template <typename Word>
struct move_box {
    vf_range range;
    int64_t columns, rows; /* words in a row, rows in a plane */
    divider by_columns, by_rows;
    const Word *__restrict__ x;
    vf_pitch x_pitch; /* in words, like y_pitch */
    Word *__restrict__ y;
    vf_pitch y_pitch;

    struct place {
        uint32_t column;
        int64_t row, plane;
    };

    __device__ place begin_of(int64_t first) const
    {
        const bool small = range.n < INT32_MAX;
        const int64_t row = small ? (int64_t)by_columns.divide((uint32_t)first) : first / columns;
        const int64_t plane = small && rows < LONG ? (int64_t)by_rows.divide((uint32_t)row) : row / rows;
        return {(uint32_t)(first - row * columns), row - plane * rows, plane};
    }

    __device__ place after(const place &begin, uint32_t offset) const
    {
        const uint32_t column = begin.column + offset, further = by_columns.divide(column);
        const int64_t row = begin.row + further;
        const int64_t planes = rows < LONG ? (int64_t)by_rows.divide((uint32_t)row) : (int64_t)(row >= rows);
        return {column - further * (uint32_t)columns, row - planes * rows, begin.plane + planes};
    }

    __device__ int64_t in(const vf_pitch &pitch, const place &at) const
    {
        return at.plane * pitch.plane + at.row * pitch.row + at.column;
    }

    __device__ void middle(int64_t first) const
    {
        typedef vf_shape_of<vf_element_tuning<sizeof(Word)>> Shape;
        const place begin = begin_of(first);
        Word word[Shape::work];
#pragma unroll
        for (int k = 0; k < Shape::work; k++)
            word[k] = x[in(x_pitch, after(begin, (uint32_t)Shape::at(0, k, 1)))];
#pragma unroll
        for (int k = 0; k < Shape::work; k++)
            y[in(y_pitch, after(begin, (uint32_t)Shape::at(0, k, 1)))] = word[k];
    }

    __device__ void edge(int64_t first) const
    {
        typedef vf_shape_of<vf_element_tuning<sizeof(Word)>> Shape;
        const place begin = begin_of(first);
        for (int k = 0; k < Shape::work; k++) {
            const int64_t offset = Shape::at(0, k, 1);
            if (!range.has(first + offset))
                continue;
            const place at = after(begin, (uint32_t)offset);
            y[in(y_pitch, at)] = x[in(x_pitch, at)];
        }
    }
};

template <typename Word>
__global__ void __launch_bounds__(VF_TUNED_THREADS(vf_element_tuning<sizeof(Word)>))
    box_kernel(const move_box<Word> body)
{
    vf_skeleton_block<vf_shape_of<vf_element_tuning<sizeof(Word)>>>(body.range, body);
}

template <typename Word>
cudaError_t launch_box(cudaStream_t stream, const int64_t counts[3], const void *x, vf_pitch x_pitch, void *y,
                       vf_pitch y_pitch)
{
    const int64_t size = sizeof(Word), columns = counts[0] / size, rows = counts[1];
    const move_box<Word> body = {vf_range_from_0(columns * rows * counts[2]),
                                 columns,
                                 rows,
                                 divider_by((uint32_t)columns),
                                 divider_by(rows < LONG ? (uint32_t)rows : 1),
                                 static_cast<const Word *>(x),
                                 {x_pitch.row / size, x_pitch.plane / size},
                                 static_cast<Word *>(y),
                                 {y_pitch.row / size, y_pitch.plane / size}};
    return launch_for<vf_element_tuning<sizeof(Word)>>(stream, box_kernel<Word>, body);
}

vf_status copy_rows(vf_queue *queue, const int64_t counts[3], const void *x, vf_pitch x_pitch, void *y,
                    vf_pitch y_pitch)
{
    vf_status status = VF_OK;
    for (int64_t k = 0; k < counts[2]; k++)
        for (int64_t j = 0; j < counts[1] && status == VF_OK; j++)
            status =
                copy(queue, (size_t)counts[0], static_cast<const vf_byte *>(x) + k * x_pitch.plane + j * x_pitch.row,
                     static_cast<vf_byte *>(y) + k * y_pitch.plane + j * y_pitch.row);
    return status;
}

vf_status box(vf_queue *queue, const int64_t counts[3], const void *x, vf_pitch x_pitch, void *y, vf_pitch y_pitch)
{
    if (counts[0] >= LONG)
        return copy_rows(queue, counts, x, x_pitch, y, y_pitch);
    vf_status status = begin(queue);
    if (status != VF_OK)
        return status;
    uintptr_t bits = (uintptr_t)x | (uintptr_t)y | (uintptr_t)(counts[0] | x_pitch.row | y_pitch.row);
    if (counts[2] > 1)
        bits |= (uintptr_t)(x_pitch.plane | y_pitch.plane);
    cudaStream_t stream = stream_of(queue);
    const cudaError_t error = bits % 16 == 0  ? launch_box<uint4>(stream, counts, x, x_pitch, y, y_pitch)
                              : bits % 8 == 0 ? launch_box<uint2>(stream, counts, x, x_pitch, y, y_pitch)
                              : bits % 4 == 0 ? launch_box<uint32_t>(stream, counts, x, x_pitch, y, y_pitch)
                                              : launch_box<vf_byte>(stream, counts, x, x_pitch, y, y_pitch);
    return vf_cuda_check(vf_queue_device(queue), error, "the copy of a box");
}

/* ---- transposes ----
 *
 * A thread block reads a tile row by row into shared memory and writes it column by column. A row in shared memory is
 * one element longer than the tile's, so that the elements of a column lie in different banks.
 */
enum { TILE = 32, TILE_ROWS = 8 };

template <typename T>
struct matrices {
    int64_t rows, columns, down, across; /* `down` and `across` in tiles */
    const T *x;
    vf_pitch x_pitch;
    T *y;
    vf_pitch y_pitch;
};

template <typename T, bool CHECKED>
__device__ void move_tile(const matrices<T> &m, const T *x, T *y, int64_t rows, int64_t columns)
{
    __shared__ T tile[TILE][TILE + 1];
    const int a = threadIdx.x, b = threadIdx.y;
#pragma unroll
    for (int k = 0; k < TILE; k += TILE_ROWS)
        if (!CHECKED || (b + k < rows && a < columns))
            tile[b + k][a] = x[(b + k) * m.x_pitch.row + a];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < TILE; k += TILE_ROWS)
        if (!CHECKED || (b + k < columns && a < rows))
            y[(b + k) * m.y_pitch.row + a] = tile[a][b + k];
}

template <typename T>
__global__ void __launch_bounds__(TILE *TILE_ROWS) transpose_kernel(const matrices<T> m)
{
    const int64_t t = blockIdx.x, row_of_tiles = t / m.across, batch = row_of_tiles / m.down;
    const int64_t i = (row_of_tiles - batch * m.down) * TILE, j = (t - row_of_tiles * m.across) * TILE;
    const int64_t rows = m.rows - i, columns = m.columns - j;
    const T *x = m.x + batch * m.x_pitch.plane + i * m.x_pitch.row + j;
    T *y = m.y + batch * m.y_pitch.plane + j * m.y_pitch.row + i;
    if (rows >= TILE && columns >= TILE)
        move_tile<T, false>(m, x, y, rows, columns);
    else
        move_tile<T, true>(m, x, y, rows, columns);
}

vf_status transpose(vf_queue *queue, size_t size, int64_t batch, int64_t rows, int64_t columns, const void *x,
                    vf_pitch x_pitch, void *y, vf_pitch y_pitch)
{
    vf_status status = begin(queue);
    if (status != VF_OK)
        return status;
    const int64_t down = (rows + TILE - 1) / TILE, across = (columns + TILE - 1) / TILE;
    const unsigned blocks = vf_blocks_for(down * across * batch, 1); /* one tile per thread block */
    with_element(size, (uintptr_t)x | (uintptr_t)y, [&](auto element) {
        typedef decltype(element) T;
        transpose_kernel<T><<<blocks, dim3(TILE, TILE_ROWS), 0, stream_of(queue)>>>(
            {rows, columns, down, across, static_cast<const T *>(x), x_pitch, static_cast<T *>(y), y_pitch});
    });
    return VF_CUDA(vf_queue_device(queue), cudaGetLastError());
}

} // namespace

extern "C" const vf_copy_ops vf_copy_cuda = {copy, fill, indexed<false>, indexed<true>, box, transpose};
