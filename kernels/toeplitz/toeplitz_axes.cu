/* Transforms the doubled grid axis by axis. Zeros are neither stored nor read, and unneeded results are not written:
 *
 *     rows x:     x times map and e_l  -> [z][y][2x]        columns y: -> [z][2y][2x]
 *     columns z:  forward, times the kernel, and back, in place
 *     columns y:  back -> [z][y][2x]                        rows x:    back, times conj(map e_l), added to y
 *
 * In 2D, columns y take the place of columns z. A thread block takes several neighbouring lines, so that it reads and
 * writes contiguous memory, and transforms them in shared memory (toeplitz_passes.cuh).
 *
 * MiB for 128^3 voxels in single precision, one coil: x 16 and a map 16 (both read), the first array 4 x 32 and the
 * second 4 x 64 (each written and read twice), the kernel 64 (read), a map 16 (read), y 16 (written). Total: 512 MiB;
 * transforms of the whole grid move 2 GiB.
 */
#include "toeplitz_lines.cuh"

namespace vf_toeplitz_gpu
{
namespace
{

enum axis_mode { WHOLE, FORWARD, BACK, THERE_AND_BACK }; /* all but WHOLE: a half is zero or not needed */

/* ---- columns ---- */

/* `inner` x `outer` columns: element i of column (c, o) is in[o * in_outer + i * in_apart + c]; likewise for `out`. */
template <typename T>
struct columns_task {
    const number<T> *in;
    number<T> *out;
    int64_t inner, outer, in_outer, out_outer;
    unsigned in_apart, out_apart;
    /* THERE_AND_BACK: the segments' kernels, [length][inner] each; each array of the batch is one `outer`. */
    const T *kernels;
    int64_t points;
    int first, segments;
};

template <typename T, int MODE>
struct column_port {
    enum { HALF_IN = MODE == FORWARD || MODE == THERE_AND_BACK, HALF_OUT = MODE == BACK || MODE == THERE_AND_BACK };
    const number<T> *in;
    number<T> *out;
    const T *kernel;
    unsigned in_apart, out_apart, inner;
    bool is_there; /* if not, the line is loaded like the others but not stored */

    __device__ number<T> load(unsigned i) const
    {
        const number<T> v = in[i * in_apart];
        return MODE == BACK ? conjugate(v) : v;
    }
    __device__ number<T> finished(unsigned, number<T> v) const
    {
        return HALF_OUT ? conjugate(v) : v;
    }
    __device__ void store(unsigned i, number<T> v) const
    {
        if (is_there)
            out[i * out_apart] = v;
    }
    /* A backward transform is a forward one between two conjugations. */
    __device__ number<T> between(unsigned i, number<T> v) const
    {
        const T p = MODE == THERE_AND_BACK ? kernel[i * inner] : 0;
        return {p * v.re, -p * v.im};
    }
};

template <typename T, int MODE>
__global__ void __launch_bounds__(MOST_THREADS) columns(const columns_task<T> task, const axis_shape shape)
{
    const int line = (int)threadIdx.x % shape.lines;
    const int64_t tiles = (task.inner + shape.lines - 1) / shape.lines, outer = blockIdx.x / tiles;
    const int64_t own = blockIdx.x % tiles * shape.lines + line, column = min(own, task.inner - 1);
    column_port<T, MODE> port;
    port.in = task.in + outer * task.in_outer + column;
    port.out = task.out + outer * task.out_outer + column;
    port.kernel =
        MODE == THERE_AND_BACK ? task.kernels + (task.first + outer) % task.segments * task.points + column : NULL;
    port.in_apart = task.in_apart;
    port.out_apart = task.out_apart;
    port.inner = (unsigned)task.inner;
    port.is_there = own < task.inner;
    const line_place<T, false> place = {shared_memory<T>() + line, (int)threadIdx.x / shape.lines, shape.threads,
                                        shape.lines, shape.plan.length * shape.lines};
    const number<T> *roots = static_cast<const number<T> *>(shape.roots);
    const int half = transform_line<0>(place, shape.plan, roots, 0, true, MODE != THERE_AND_BACK, port);
    if (MODE == THERE_AND_BACK)
        transform_line<0>(place, shape.plan, roots, half, false, true, port);
}

/* ---- rows ---- */

/* A thread's place in its row; *row: which of the block's rows that is. */
template <typename T>
__device__ line_place<T, true> place_in_row(const axis_shape &shape, int *row)
{
    const int pitch = row_pitch(shape.plan.length);
    *row = (int)threadIdx.x / shape.threads;
    return {shared_memory<T>() + *row * pitch, (int)threadIdx.x % shape.threads, shape.threads, 0, shape.lines * pitch};
}

template <typename T, int HALF>
struct enter_port {
    enum { HALF_IN = HALF, HALF_OUT = 0 };
    const work<T> &w;
    const number<T> *x;
    number<T> *out;
    int64_t first; /* the row's first voxel */
    int item;
    bool is_there;

    __device__ number<T> load(int i) const
    {
        return product(seen_through(w, item, first + i), x[first + i]);
    }
    __device__ number<T> finished(int, number<T> v) const
    {
        return v;
    }
    __device__ void store(int i, number<T> v) const
    {
        if (is_there)
            out[i] = v;
    }
    __device__ number<T> between(int, number<T> v) const
    {
        return v;
    }
};

template <typename T, int HALF, int LENGTH>
__global__ void __launch_bounds__((block_limits<T, LENGTH>::THREADS), (block_limits<T, LENGTH>::BLOCKS))
    enter(const work<T> w, const axis_shape shape, const number<T> *__restrict__ x)
{
    int line;
    const line_place<T, true> place = place_in_row<T>(shape, &line);
    const int64_t rows = w.matrix[1] * w.matrix[2], own = (int64_t)blockIdx.x * shape.lines + line,
                  row = min(own, rows * w.count - 1);
    const enter_port<T, HALF> port = {w,
                                      x,
                                      w.buffer + row * w.doubled[0],
                                      row % rows * w.matrix[0],
                                      w.first + (int)(row / rows),
                                      own < rows * w.count};
    transform_line<LENGTH>(place, shape.plan, static_cast<const number<T> *>(shape.roots), 0, true, true, port);
}

template <typename T, int HALF>
struct leave_port {
    enum { HALF_IN = 0, HALF_OUT = HALF };
    const work<T> &w;
    const number<T> *in;
    number<T> *y;
    int64_t first;
    int item;
    bool is_there;

    __device__ number<T> load(int i) const
    {
        return conjugate(in[i]);
    }
    __device__ number<T> finished(int i, number<T> v) const
    {
        const number<T> seen = product(conjugate(seen_through(w, item, first + i)), conjugate(v));
        return item > 0 ? y[first + i] + seen : seen;
    }
    __device__ void store(int i, number<T> v) const
    {
        if (is_there)
            y[first + i] = v;
    }
    __device__ number<T> between(int, number<T> v) const
    {
        return v;
    }
};

/* The batch's arrays are added in order, so the bits are always the same. */
template <typename T, int HALF, int LENGTH>
__global__ void __launch_bounds__((block_limits<T, LENGTH>::THREADS), (block_limits<T, LENGTH>::BLOCKS))
    leave(const work<T> w, const axis_shape shape, number<T> *y)
{
    int line;
    const line_place<T, true> place = place_in_row<T>(shape, &line);
    const int64_t rows = w.matrix[1] * w.matrix[2], own = (int64_t)blockIdx.x * shape.lines + line,
                  row = min(own, rows - 1);
    for (int b = 0; b < w.count; b++) {
        const leave_port<T, HALF> port = {
            w, w.buffer + (b * rows + row) * w.doubled[0], y, row * w.matrix[0], w.first + b, own < rows};
        if (b > 0)
            __syncthreads(); /* all threads have read the previous array */
        transform_line<LENGTH>(place, shape.plan, static_cast<const number<T> *>(shape.roots), 0, true, true, port);
    }
}

template <typename T>
struct plain_port {
    enum { HALF_IN = 0, HALF_OUT = 0 };
    number<T> *row;
    bool is_there;

    __device__ number<T> load(int i) const
    {
        return row[i];
    }
    __device__ number<T> finished(int, number<T> v) const
    {
        return v;
    }
    __device__ void store(int i, number<T> v) const
    {
        if (is_there)
            row[i] = v;
    }
    __device__ number<T> between(int, number<T> v) const
    {
        return v;
    }
};

/* Surplus rows of the last block repeat a row that other threads are storing. What they compute is not stored. */
template <typename T>
__global__ void __launch_bounds__(MOST_THREADS) whole_rows(number<T> *q, int64_t rows, const axis_shape shape)
{
    int line;
    const line_place<T, true> place = place_in_row<T>(shape, &line);
    const int64_t own = (int64_t)blockIdx.x * shape.lines + line;
    const plain_port<T> port = {q + min(own, rows - 1) * shape.plan.length, own < rows};
    transform_line<0>(place, shape.plan, static_cast<const number<T> *>(shape.roots), 0, true, true, port);
}

/* ---- host side ---- */

template <typename T, int MODE>
cudaError_t launch_columns(const columns_task<T> &task, const axis_shape &shape, cudaStream_t stream)
{
    const int64_t blocks = (task.inner + shape.lines - 1) / shape.lines * task.outer;
    return launch(columns<T, MODE>, blocks, shape, MODE == THERE_AND_BACK, stream, task, shape);
}

int64_t row_blocks(const axis_shape &shape, int64_t rows)
{
    return (rows + shape.lines - 1) / shape.lines;
}

/* Columns y, from the first array to the second; 3D only. */
template <typename T>
columns_task<T> columns_y(const work<T> &w, number<T> *first, number<T> *second)
{
    columns_task<T> task = {};
    task.in = first;
    task.out = second;
    task.inner = w.doubled[0];
    task.outer = w.matrix[2] * w.count;
    task.in_apart = task.out_apart = (unsigned)w.doubled[0];
    task.in_outer = w.matrix[1] * w.doubled[0];
    task.out_outer = w.doubled[1] * w.doubled[0];
    return task;
}

/* There and back along the last axis, in place: `inner` neighbouring columns of `count` numbers per array. */
template <typename T>
columns_task<T> columns_last(const work<T> &w, number<T> *in, int64_t inner, int64_t count)
{
    columns_task<T> task = {};
    task.in = in;
    task.out = in;
    task.inner = inner;
    task.in_apart = task.out_apart = (unsigned)inner;
    task.outer = w.count;
    task.in_outer = task.out_outer = inner * count;
    task.kernels = w.kernels;
    task.points = w.points;
    task.first = w.first;
    task.segments = w.segments;
    return task;
}

} // namespace

int64_t axes_buffer(const int64_t matrix[3], const int64_t doubled[3])
{
    const int64_t first = doubled[0] * matrix[1] * matrix[2];
    return matrix[2] > 1 ? first + doubled[0] * doubled[1] * matrix[2] : first;
}

template <typename T>
cudaError_t axes_transform(const axes *a, const work<T> &w, cudaStream_t stream, number<T> *q)
{
    const int64_t *n = w.doubled;
    const axis_shape &x = a->axis[0];
    cudaError_t error = launch(whole_rows<T>, row_blocks(x, n[1] * n[2]), x, false, stream, q, n[1] * n[2], x);
    columns_task<T> task = {};
    task.in = q;
    task.out = q;
    task.inner = n[0];
    task.in_apart = task.out_apart = (unsigned)n[0];
    task.outer = n[2];
    task.in_outer = task.out_outer = n[0] * n[1];
    if (error == cudaSuccess && n[1] > 1)
        error = launch_columns<T, WHOLE>(task, a->axis[1], stream);
    task.inner = n[0] * n[1];
    task.in_apart = task.out_apart = (unsigned)task.inner;
    task.outer = 1;
    if (error == cudaSuccess && n[2] > 1)
        error = launch_columns<T, WHOLE>(task, a->axis[2], stream);
    return error;
}

template <typename T, int HALF>
cudaError_t rows_enter(const axes *a, const work<T> &w, cudaStream_t stream, const number<T> *x)
{
    const axis_shape &row = a->axis[0];
    const int64_t rows = w.matrix[1] * w.matrix[2];
    cudaError_t error = cudaSuccess;
    with_length<T, (HALF != 0)>(row.plan.length, [&](auto length) {
        error = launch(enter<T, HALF, length.value>, row_blocks(row, rows * w.count), row, false, stream, w, row, x);
    });
    return error;
}

template <typename T, int HALF>
cudaError_t rows_leave(const axes *a, const work<T> &w, cudaStream_t stream, number<T> *y)
{
    const axis_shape &row = a->axis[0];
    cudaError_t error = cudaSuccess;
    with_length<T, (HALF != 0)>(row.plan.length, [&](auto length) {
        error = launch(leave<T, HALF, length.value>, row_blocks(row, w.matrix[1] * w.matrix[2]), row, false, stream, w,
                       row, y);
    });
    return error;
}

template <typename T>
cudaError_t axes_apply(const axes *a, const work<T> &w, cudaStream_t stream, const number<T> *x, number<T> *y)
{
    const int64_t *n = w.matrix, *whole = w.doubled, rows = n[1] * n[2];
    number<T> *first = w.buffer, *second = w.buffer + whole[0] * rows * w.count;
    cudaError_t error = rows_enter<T, 1>(a, w, stream, x);
    if (error == cudaSuccess && n[2] == 1) {
        error = launch_columns<T, THERE_AND_BACK>(columns_last(w, first, whole[0], n[1]), a->axis[1], stream);
    } else if (error == cudaSuccess) {
        const columns_task<T> there = columns_y(w, first, second);
        columns_task<T> back = there;
        back.in = second;
        back.out = first;
        back.in_outer = there.out_outer;
        back.out_outer = there.in_outer;
        error = launch_columns<T, FORWARD>(there, a->axis[1], stream);
        if (error == cudaSuccess)
            error = launch_columns<T, THERE_AND_BACK>(columns_last(w, second, whole[0] * whole[1], n[2]), a->axis[2],
                                                      stream);
        if (error == cudaSuccess)
            error = launch_columns<T, BACK>(back, a->axis[1], stream);
    }
    return error == cudaSuccess ? rows_leave<T, 1>(a, w, stream, y) : error;
}

template cudaError_t axes_transform(const axes *, const work<float> &, cudaStream_t, number<float> *);
template cudaError_t axes_transform(const axes *, const work<double> &, cudaStream_t, number<double> *);
template cudaError_t axes_apply(const axes *, const work<float> &, cudaStream_t, const number<float> *,
                                number<float> *);
template cudaError_t axes_apply(const axes *, const work<double> &, cudaStream_t, const number<double> *,
                                number<double> *);

template cudaError_t rows_enter<float, 0>(const axes *, const work<float> &, cudaStream_t, const number<float> *);
template cudaError_t rows_enter<double, 0>(const axes *, const work<double> &, cudaStream_t, const number<double> *);
template cudaError_t rows_leave<float, 0>(const axes *, const work<float> &, cudaStream_t, number<float> *);
template cudaError_t rows_leave<double, 0>(const axes *, const work<double> &, cudaStream_t, number<double> *);

} // namespace vf_toeplitz_gpu
