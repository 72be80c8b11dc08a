/* Circulant matrices: no axis is doubled. Axes on which P does not depend are not transformed, because there the
 * transform and its inverse cancel. The first axis reads x through the maps and the last one returns through them, so
 * the transformed data is read and written once per axis:
 *
 *     y or z alone    there and back, from x to y, in one kernel
 *     y and z         there from x, there and back, back to y
 *     x and others    rows there from x, columns there and back, rows back to y (toeplitz_axes.cu has rows)
 *
 * Bytes for 128^3 voxels in single precision and one coil, for a scan with its readout along x: a 16 MiB map is read
 * twice, and the coil's array (16 MiB) is written, read, written and read. Total: 96 MiB.
 */
#include "toeplitz_lines.cuh"

namespace vf_toeplitz_gpu
{
namespace
{

enum { SUM_THREADS = 256, ENOUGH_BLOCKS = 512 };
/* What a kernel does with its lines. With none of these it transforms them in place. */
enum line_work { ENTERS = 1, TURNS = 2, LEAVES = 4, RETURNS = 8 /* transforms them back in place */ };

/* Lines along one axis of [item][outer][axis][inner]: `inner` x `outer` per item. A thread block takes `share`
 * items. */
struct line_grid {
    int64_t inner, outer, tiles;
    int share;
};

template <typename T, int WORK>
struct line_port {
    enum { HALF_IN = 0, HALF_OUT = 0 };
    const work<T> &w;
    const number<T> *x;
    number<T> *array; /* the item's: read without ENTERS, written without LEAVES */
    number<T> *y;
    int64_t first; /* the line's first voxel */
    unsigned apart;
    int item;
    bool is_there, adds; /* whether to store the line; whether to add it to what is stored */

    __device__ number<T> load(unsigned i) const
    {
        const int64_t n = first + (int64_t)i * apart;
        if (WORK & ENTERS)
            return product(seen_through(w, item, n), x[n]);
        return WORK == LEAVES || WORK == RETURNS ? conjugate(array[n]) : array[n];
    }
    /* A backward transform is a forward one between two conjugations. */
    __device__ number<T> between(unsigned i, number<T> v) const
    {
        const T p = WORK & TURNS ? w.kernels[first + (int64_t)i * apart] : 0;
        return {p * v.re, -p * v.im};
    }
    __device__ number<T> finished(unsigned i, number<T> v) const
    {
        const int64_t n = first + (int64_t)i * apart;
        if (!(WORK & LEAVES))
            return WORK & (TURNS | RETURNS) ? conjugate(v) : v;
        const number<T> seen = product(conjugate(seen_through(w, item, n)), conjugate(v));
        return adds ? y[n] + seen : seen;
    }
    __device__ void store(unsigned i, number<T> v) const
    {
        if (is_there)
            (WORK & LEAVES ? y : array)[first + (int64_t)i * apart] = v;
    }
};

/* A thread block adds its items in order, so the bits are always the same. */
template <typename T, int WORK, int LENGTH>
__global__ void __launch_bounds__((block_limits<T, LENGTH>::THREADS), (block_limits<T, LENGTH>::BLOCKS))
    lines(const work<T> w, const axis_shape shape, const line_grid grid, const number<T> *x, number<T> *y)
{
    const int line = (int)threadIdx.x % shape.lines, length = shape.plan.length;
    const int64_t own = blockIdx.x % grid.tiles * shape.lines + line, outer = blockIdx.x / grid.tiles % grid.outer,
                  group = blockIdx.x / grid.tiles / grid.outer;
    const line_place<T, false> place = {shared_memory<T>() + line, (int)threadIdx.x / shape.lines, shape.threads,
                                        shape.lines, length * shape.lines};
    const number<T> *roots = static_cast<const number<T> *>(shape.roots);
    const int begin = (int)group * grid.share, end = min(begin + grid.share, w.count);
    for (int b = begin; b < end; b++) {
        const line_port<T, WORK> port = {w,
                                         x,
                                         w.buffer + b * w.voxels,
                                         y ? y : w.buffer + group * w.voxels,
                                         outer * length * grid.inner + min(own, grid.inner - 1),
                                         (unsigned)grid.inner,
                                         w.first + b,
                                         own<grid.inner, b> begin || (y && w.first > 0)};
        if (b > begin)
            __syncthreads(); /* all threads have read the previous item */
        const int half = transform_line<LENGTH>(place, shape.plan, roots, 0, true, !(WORK & TURNS), port);
        if (WORK & TURNS)
            transform_line<LENGTH>(place, shape.plan, roots, half, false, true, port);
    }
}

/* y (+)= the sum of the batch's arrays, in order. */
template <typename T>
__global__ void __launch_bounds__(SUM_THREADS) sum_items(const work<T> w, number<T> *y)
{
    const int64_t n = (int64_t)blockIdx.x * SUM_THREADS + threadIdx.x;
    if (n >= w.voxels)
        return;
    number<T> sum = w.buffer[n];
    for (int b = 1; b < w.count; b++)
        sum = sum + w.buffer[b * w.voxels + n];
    y[n] = w.first > 0 ? y[n] + sum : sum;
}

/* used[a] = 1 if P depends on axis a. */
template <typename T>
__global__ void __launch_bounds__(SUM_THREADS) find_used(const work<T> w, const T *p, int *used)
{
    const int64_t n = (int64_t)blockIdx.x * SUM_THREADS + threadIdx.x;
    if (n >= w.voxels)
        return;
    int64_t step = 1;
    for (int a = 0; a < 3; a++) {
        const int64_t at = n / step % w.matrix[a];
        if (at > 0 && p[n] != p[n - step])
            used[a] = 1;
        step *= w.matrix[a];
    }
}

template <typename T>
__global__ void __launch_bounds__(SUM_THREADS) scale_kernel(int64_t points, T scale, const T *p, T *kernel)
{
    const int64_t n = (int64_t)blockIdx.x * SUM_THREADS + threadIdx.x;
    if (n < points)
        kernel[n] = scale * p[n];
}

/* Calls launch with the length as a constant if this file has code of its own for it, else with 0. */
template <typename T, int WORK, typename Launch>
void with_common_length(int length, Launch launch)
{
    bool found = false;
    if constexpr (sizeof(T) == 4 && WORK != 0 && WORK != RETURNS)
        found = if_length<64>(length, launch) || if_length<96>(length, launch) || if_length<128>(length, launch) ||
                if_length<160>(length, launch) || if_length<192>(length, launch) || if_length<256>(length, launch) ||
                if_length<320>(length, launch) || if_length<384>(length, launch) || if_length<512>(length, launch);
    if (!found)
        launch(std::integral_constant<int, 0>());
}

/* Runs lines along axis 1 or 2. With LEAVES, a thread block takes all items and writes to y directly, if that gives
 * enough blocks; otherwise each block takes one item, and sum_items follows. */
template <typename T, int WORK>
cudaError_t run_lines(const axes *a, const work<T> &w, int axis, cudaStream_t stream, const number<T> *x, number<T> *y)
{
    const axis_shape &shape = a->axis[axis];
    line_grid grid = {w.matrix[0], w.matrix[2], 0, 1};
    if (axis == 2)
        grid.inner *= w.matrix[1], grid.outer = 1;
    grid.tiles = (grid.inner + shape.lines - 1) / shape.lines;
    const bool whole = WORK & LEAVES && (w.count == 1 || grid.tiles * grid.outer >= ENOUGH_BLOCKS);
    grid.share = whole ? w.count : 1;
    const int64_t blocks = grid.tiles * grid.outer * (whole ? 1 : w.count);
    cudaError_t error = cudaSuccess;
    with_common_length<T, WORK>(shape.plan.length, [&](auto length) {
        error = launch(lines<T, WORK, length.value>, blocks, shape, (WORK & TURNS) != 0, stream, w, shape, grid, x,
                       whole ? y : static_cast<number<T> *>(NULL));
    });
    if (error != cudaSuccess || !(WORK & LEAVES) || whole)
        return error;
    sum_items<<<vf_blocks_for(w.voxels, SUM_THREADS), SUM_THREADS, 0, stream>>>(w, y);
    return cudaGetLastError();
}

} // namespace

template <typename T>
cudaError_t circulant_apply(const axes *a, const bool used[3], const work<T> &w, cudaStream_t stream,
                            const number<T> *x, number<T> *y)
{
    const int last = used[2] ? 2 : 1;
    const bool middle = used[1] && used[2];
    const number<T> *none = NULL;
    number<T> *nowhere = NULL;
    cudaError_t error;
    if (!used[0] && !middle)
        return run_lines<T, ENTERS | TURNS | LEAVES>(a, w, last, stream, x, y);
    if (!used[0]) {
        error = run_lines<T, ENTERS>(a, w, 1, stream, x, nowhere);
        if (error == cudaSuccess)
            error = run_lines<T, TURNS>(a, w, 2, stream, none, nowhere);
        return error == cudaSuccess ? run_lines<T, LEAVES>(a, w, 1, stream, none, y) : error;
    }
    error = rows_enter<T, 0>(a, w, stream, x);
    if (error == cudaSuccess && middle)
        error = run_lines<T, 0>(a, w, 1, stream, none, nowhere);
    if (error == cudaSuccess)
        error = run_lines<T, TURNS>(a, w, last, stream, none, nowhere);
    if (error == cudaSuccess && middle)
        error = run_lines<T, RETURNS>(a, w, 1, stream, none, nowhere);
    return error == cudaSuccess ? rows_leave<T, 0>(a, w, stream, y) : error;
}

template <typename T>
cudaError_t circulant_find(const work<T> &w, cudaStream_t stream, const T *p, int *found)
{
    cudaError_t error = cudaMemsetAsync(found, 0, 3 * sizeof *found, stream);
    if (error != cudaSuccess)
        return error;
    find_used<<<vf_blocks_for(w.voxels, SUM_THREADS), SUM_THREADS, 0, stream>>>(w, p, found);
    return cudaGetLastError();
}

template <typename T>
cudaError_t circulant_set(const work<T> &w, cudaStream_t stream, double scale, const T *p, T *kernel)
{
    scale_kernel<<<vf_blocks_for(w.voxels, SUM_THREADS), SUM_THREADS, 0, stream>>>(w.voxels, (T)scale, p, kernel);
    return cudaGetLastError();
}

template cudaError_t circulant_apply(const axes *, const bool[3], const work<float> &, cudaStream_t,
                                     const number<float> *, number<float> *);
template cudaError_t circulant_apply(const axes *, const bool[3], const work<double> &, cudaStream_t,
                                     const number<double> *, number<double> *);
template cudaError_t circulant_find(const work<float> &, cudaStream_t, const float *, int *);
template cudaError_t circulant_find(const work<double> &, cudaStream_t, const double *, int *);
template cudaError_t circulant_set(const work<float> &, cudaStream_t, double, const float *, float *);
template cudaError_t circulant_set(const work<double> &, cudaStream_t, double, const double *, double *);

} // namespace vf_toeplitz_gpu
