/* CUDA kernels of the adjoint NUFFT in single precision and three dimensions: samples to padded tiles. Not installed.
 *
 * A block takes a run of a tile's samples, and each thread has a column of the padded tile (gridding_bins.h) in registers:
 * all points of one x and y. A warp has all y of two or three x. It adds a sample to all of its columns, with zeros where
 * the kernel does not reach. That is more multiplications than needed, but no point is loaded and stored for each sample,
 * which takes longer. Samples are sorted by the first plane of their kernels, so the points of a column that they reach are
 * known when this is compiled; and then by the first x, so that a warp knows which of them reach it. The order of all sums
 * is fixed.
 */
#ifndef VOXFIELD_GRIDDING_COLUMNS_CUH
#define VOXFIELD_GRIDDING_COLUMNS_CUH

#include "backend/launch_blocks.h"
#include "gridding_spread.cuh"

namespace
{

/* Sizes for a kernel of W points and batches of BATCH_SAMPLES. */
template <int W, int BATCH_SAMPLES>
struct column_shape {
    enum {
        POINTS_X = GRIDDING_TILE_X + W - 1,
        ROWS = GRIDDING_TILE_Y + W - 1,
        PLANES = GRIDDING_TILE_Z + W - 1,
        COLUMNS = POINTS_X * ROWS,
        THREADS = (COLUMNS + WARP - 1) / WARP * WARP,
        BLOCKS = W <= 4 ? 4 : (W <= 6 ? 3 : 2), /* at least, on a multiprocessor */
        BATCH = BATCH_SAMPLES,
        PITCH_X = (POINTS_X + 3) / 4 * 4,
        PITCH_Z = (W + 3) / 4 * 4,
        STARTS = GRIDDING_TILE_X * GRIDDING_TILE_Z /* of kernels, along x and z */
    };

    static_assert((int)GRIDDING_PIECE % (int)BATCH == 0, "a piece is whole batches");
    static_assert((int)THREADS > (int)STARTS && (int)THREADS > (int)BATCH, "a thread for each start, for each sample");
};

/* What a batch's kernels are made of. */
template <int W, int BATCH>
struct alignas(16) column_notes {
    typedef column_shape<W, BATCH> shape;
    /* x, y, z: the variables of the kernel's polynomials; w: the bits of start_x and start_y. */
    float4 place[shape::BATCH];
    float2 value[shape::BATCH];
    int start[shape::BATCH]; /* start_z, start_x in one number; STARTS if there is no sample */
};

/* Kernels: along x and y with zeros where they do not reach, along z from their first plane. */
template <int W, int BATCH>
struct alignas(16) column_kernels {
    typedef column_shape<W, BATCH> shape;
    float x[shape::BATCH * shape::PITCH_X];
    float2 y[shape::BATCH * shape::ROWS]; /* times the value */
    float z[shape::BATCH * shape::PITCH_Z];
    int first[shape::STARTS + 1]; /* samples before those that start there */
};

/* Of the batches at hand, each in the place of its number, modulo 2. */
template <int W, int BATCH>
struct column_memory {
    column_kernels<W, BATCH> kernels[2];
    column_notes<W, BATCH> notes[2];
    int claimed[2]; /* samples whose kernels a warp has computed or is about to */
    float coefficients[kernel_points<W>::DEGREE + 1][kernel_points<W>::LANES]; /* of the polynomials */
};

__device__ inline float2 plus(float2 a, float2 b)
{
    return make_float2(a.x + b.x, a.y + b.y);
}

/* The sample that a thread notes next. Its value is loaded later than its record, which says where it is. */
struct column_sample {
    gridding_sample_f32 record;
    float2 value, factor;

    __device__ void load_record(const spread_task<float> &task, uint32_t n)
    {
        record = load_sample(task.samples + n);
        if (task.factor)
            factor = task.factor[n];
    }

    __device__ void load_value(const spread_task<float> &task)
    {
        value = task.values[record.index];
    }
};

template <int W, int BATCH>
struct column_block {
    typedef column_shape<W, BATCH> shape;
    enum { LANES = kernel_points<W>::LANES, DEGREE = kernel_points<W>::DEGREE };
    const spread_task<float> &task;
    column_memory<W, BATCH> &memory;
    const gridding_run run;
    int begin[3];  /* of the padded tile, in the grid */
    int x, row;    /* the thread's column */
    int sample;    /* of each batch, that the thread notes; none from BATCH on */
    int low, high; /* the warp takes samples whose kernels' first x is in [low, high) */
    float2 sum[shape::PLANES];
    column_sample next;

    __device__ column_block(const spread_task<float> &the_task, column_memory<W, BATCH> &the_memory,
                            const gridding_run &the_run)
        : task(the_task), memory(the_memory), run(the_run)
    {
        const int size[3] = {GRIDDING_TILE_X, GRIDDING_TILE_Y, GRIDDING_TILE_Z};
        for (int a = 0; a < 3; a++)
            begin[a] = (int)run.tile / task.tile_step[a] % task.tiles[a] * size[a];
        const int column = min((int)threadIdx.x, shape::COLUMNS - 1), warp = threadIdx.x / WARP * WARP;
        /* The first and the last warps, which have fewer samples to add, note them. */
        const int from_end = shape::THREADS - WARP - warp;
        sample = min(2 * warp, 2 * from_end + WARP) + threadIdx.x % WARP;
        x = column / shape::ROWS;
        row = column % shape::ROWS;
        low = max(warp / shape::ROWS - (W - 1), 0);
        high = min((warp + WARP - 1) / shape::ROWS + 1, (int)GRIDDING_TILE_X);
        reset();
        if ((int)threadIdx.x < LANES) {
            point_polynomial<float, W> polynomial;
            polynomial.load(task.table, min((int)threadIdx.x, W - 1));
            for (int p = 0; p <= DEGREE; p++)
                memory.coefficients[p][threadIdx.x] = (int)threadIdx.x < W ? polynomial.coefficient[p] : 0;
        }
    }

    __device__ int batches() const
    {
        return (int)(run.last - run.first + shape::BATCH - 1) / shape::BATCH;
    }

    __device__ int samples_in(int n) const
    {
        return min((int)(run.last - run.first) - n * shape::BATCH, (int)shape::BATCH);
    }

    __device__ void reset()
    {
#pragma unroll
        for (int p = 0; p < shape::PLANES; p++)
            sum[p] = make_float2(0, 0);
    }

    /* Loads the thread's sample of a batch; the run's last one where there is none. */
    __device__ void load_record(int n)
    {
        if (sample < shape::BATCH)
            next.load_record(task, min(run.first + n * shape::BATCH + sample, run.last - 1));
    }

    __device__ void load_value()
    {
        if (sample < shape::BATCH)
            next.load_value(task);
    }

    /* Notes what was loaded. */
    __device__ void note(int n)
    {
        column_notes<W, BATCH> &out = memory.notes[n % 2];
        const int i = sample;
        if (i == 0)
            memory.claimed[n % 2] = 0;
        if (i >= shape::BATCH)
            return;
        const gridding_sample_f32 &s = next.record;
        const int start_x = s.start[0] - begin[0], start_y = s.start[1] - begin[1], start_z = s.start[2] - begin[2];
        out.place[i] = make_float4(2 * s.offset[0] - 1, 2 * s.offset[1] - 1, 2 * s.offset[2] - 1,
                                   __int_as_float(start_x | start_y << 8));
        out.value[i] = task.factor ? times(next.value, next.factor) : next.value;
        out.start[i] = i < samples_in(n) ? start_z * GRIDDING_TILE_X + start_x : (int)shape::STARTS;
    }

    /* Stores what a group of lanes has of a kernel, from element `start` of `to`, and zeros to its other elements. */
    template <int ELEMENTS, typename E>
    __device__ static void store(E value, int point, int start, E *to)
    {
#pragma unroll
        for (int k = 0; k < (ELEMENTS + LANES - 1) / LANES; k++) {
            const int ahead = point + k * LANES, at = start + ahead;
            if (ahead < ELEMENTS)
                to[at < ELEMENTS ? at : at - ELEMENTS] = k == 0 ? value : E();
        }
    }

    /* Finds where samples of each start begin. */
    __device__ void find_starts(const column_notes<W, BATCH> &from, int *first) const
    {
        const int start = threadIdx.x;
        if (start > shape::STARTS)
            return;
        int below = 0;
#pragma unroll
        for (int step = shape::BATCH / 2; step > 0; step /= 2)
            if (from.start[below + step - 1] < start)
                below += step;
        first[start] = below + (from.start[below] < start);
    }

    /* Computes the kernels of a sample with a group of lanes. */
    __device__ void evaluate_sample(const column_notes<W, BATCH> &from, const float coefficient[DEGREE + 1], int i,
                                    column_kernels<W, BATCH> &out) const
    {
        const int point = threadIdx.x % LANES;
        const float4 place = from.place[i];
        const float2 value = from.value[i];
        const int start = __float_as_int(place.w);
        float x = coefficient[0], y = x, z = x;
#pragma unroll
        for (int p = 1; p <= DEGREE; p++) {
            x = fmaf(x, place.x, coefficient[p]);
            y = fmaf(y, place.y, coefficient[p]);
            z = fmaf(z, place.z, coefficient[p]);
        }
        store<shape::PITCH_X>(x, point, start & 0xff, out.x + i * shape::PITCH_X);
        store<shape::ROWS>(make_float2(y * value.x, y * value.y), point, start >> 8, out.y + i * shape::ROWS);
        if (point < W)
            out.z[i * shape::PITCH_Z + point] = z;
    }

    /* Computes a batch's kernels. A warp takes samples as it gets there: some have more to add than others. */
    __device__ void evaluate(int n)
    {
        enum { GROUPS = WARP / LANES, TAKES = 2 * GROUPS };
        const column_notes<W, BATCH> &from = memory.notes[n % 2];
        column_kernels<W, BATCH> &out = memory.kernels[n % 2];
        const int samples = samples_in(n), lane = threadIdx.x % WARP;
        if (samples <= 0)
            return;
        find_starts(from, out.first);
        float coefficient[DEGREE + 1];
#pragma unroll
        for (int p = 0; p <= DEGREE; p++)
            coefficient[p] = memory.coefficients[p][lane % LANES];
        for (;;) {
            int first = 0;
            if (lane == 0)
                first = atomicAdd(&memory.claimed[n % 2], (int)TAKES);
            first = __shfl_sync(0xffffffffu, first, 0);
            if (first >= samples)
                break;
#pragma unroll 1
            for (int i = first + lane / LANES; i < min(first + TAKES, samples); i += GROUPS)
                evaluate_sample(from, coefficient, i, out);
        }
    }

    /* Adds the samples whose first plane is Z. */
    template <int Z>
    __device__ void add_plane(const column_kernels<W, BATCH> &batch)
    {
        const int first = batch.first[Z * GRIDDING_TILE_X + low];
        int samples = batch.first[Z * GRIDDING_TILE_X + high] - first;
        const float *x_of = batch.x + first * shape::PITCH_X + x;
        const float2 *y_of = batch.y + first * shape::ROWS + row;
        const float4 *z_of = reinterpret_cast<const float4 *>(batch.z + first * shape::PITCH_Z);
#pragma unroll 2
        for (; samples > 0; samples--) {
            const float2 y = *y_of, xy = make_float2(*x_of * y.x, *x_of * y.y);
#pragma unroll
            for (int k = 0; k < shape::PITCH_Z / 4; k++) {
                const float4 four = z_of[k];
                const float weight[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
                for (int j = 0; j < 4 && 4 * k + j < W; j++) {
                    sum[Z + 4 * k + j].x = fmaf(weight[j], xy.x, sum[Z + 4 * k + j].x);
                    sum[Z + 4 * k + j].y = fmaf(weight[j], xy.y, sum[Z + 4 * k + j].y);
                }
            }
            x_of += shape::PITCH_X;
            y_of += shape::ROWS;
            z_of += shape::PITCH_Z / 4;
        }
    }

    template <int Z = 0>
    __device__ void add(const column_kernels<W, BATCH> &batch)
    {
        if constexpr (Z < GRIDDING_TILE_Z) {
            add_plane<Z>(batch);
            add<Z + 1>(batch);
        }
    }

    /* Calls move(p, point) for each of the thread's points, plane p's at `point` of the padded tile, and zero(point) for
     * those between a row's end and its pitch. */
    template <typename Move, typename Zero>
    __device__ void each_point(Move move, Zero zero) const
    {
        const gridding_padded &padded = task.padded;
        const int points = x == shape::POINTS_X - 1 ? padded.pitch - x : 1;
        if (threadIdx.x >= shape::COLUMNS)
            return;
#pragma unroll
        for (int p = 0; p < shape::PLANES; p++) {
            const int point = p * padded.plane + row * padded.pitch + x;
            move(p, point);
            for (int i = 1; i < points; i++)
                zero(point + i);
        }
    }

    /* Sets the run's slot to the sums, or adds them, and clears them. */
    __device__ void flush(bool again, float2 *to)
    {
        each_point([&](int p, int point) { to[point] = again ? plus(to[point], sum[p]) : sum[p]; },
                   [&](int point) { to[point] = make_float2(0, 0); });
        reset();
    }

    /* The same for the last time: by way of shared memory, so that neighbours are stored together. */
    __device__ void finish(bool again, float2 *to)
    {
        float2 *points = reinterpret_cast<float2 *>(&memory);
        __syncthreads();
        each_point([&](int p, int point) { points[point] = sum[p]; },
                   [&](int point) { points[point] = make_float2(0, 0); });
        __syncthreads();
        for (int i = threadIdx.x; i < task.padded.points; i += shape::THREADS)
            to[i] = again ? plus(to[i], points[i]) : points[i];
    }
};

template <int W, int BATCH>
__global__ void __launch_bounds__(column_shape<W, BATCH>::THREADS, column_shape<W, BATCH>::BLOCKS)
    spread_columns(const spread_task<float> task, const gridding_run *runs)
{
    typedef column_shape<W, BATCH> shape;
    enum { PIECE = GRIDDING_PIECE / shape::BATCH };
    extern __shared__ uint4 dynamic[]; /* the block's memory, or the padded tile */
    column_memory<W, BATCH> &memory = *reinterpret_cast<column_memory<W, BATCH> *>(dynamic);
    column_block<W, BATCH> block(task, memory, runs[blockIdx.x]);
    float2 *to = task.scratch + (int64_t)block.run.slot * task.padded.points;
    const int batches = block.batches();
    for (int n = 0; n < 2; n++) {
        block.load_record(n);
        block.load_value();
        block.note(n);
    }
    block.load_record(2);
    __syncthreads();
    block.evaluate(0);
    block.load_value();
    for (int n = 0; n < batches; n++) {
        __syncthreads();
        block.note(n + 2);
        block.load_record(n + 3);
        block.add(memory.kernels[n % 2]);
        block.load_value();
        block.evaluate(n + 1);
        if ((n + 1) % PIECE == 0 && n + 1 < batches)
            block.flush(n >= PIECE, to);
    }
    block.finish(batches > PIECE, to);
}

template <int W, int BATCH>
size_t column_bytes(const gridding_padded &padded) /* of shared memory */
{
    const size_t points = padded.points * sizeof(float2), memory = sizeof(column_memory<W, BATCH>);
    return memory > points ? memory : points;
}

template <int W, int BATCH>
cudaError_t launch_columns(const spread_task<float> &task, int64_t count, const gridding_run *runs, cudaStream_t stream)
{
    const size_t bytes = column_bytes<W, BATCH>(task.padded);
    const cudaError_t error =
        cudaFuncSetAttribute(spread_columns<W, BATCH>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
    if (error != cudaSuccess)
        return error;
    spread_columns<W, BATCH><<<vf_blocks_for(count, 1), column_shape<W, BATCH>::THREADS, bytes, stream>>>(task, runs);
    return cudaGetLastError();
}

template <int W>
bool columns_fit(const gridding_padded &padded, int degree)
{
    return padded.axis[2] == 2 && padded.width[0] == W && padded.width[1] == W && padded.width[2] == W &&
           degree <= kernel_points<W>::DEGREE;
}

/* With large batches if a multiprocessor has the memory. The sums are the same. */
template <int W>
cudaError_t launch_columns(const spread_task<float> &task, int64_t count, const gridding_run *runs, cudaStream_t stream)
{
    enum { LARGE = 128, SMALL = 64, BLOCKS = column_shape<W, LARGE>::BLOCKS, OF_SYSTEM = 1 << 10 };
    int device = 0, bytes = 0;
    cudaError_t error = cudaGetDevice(&device);
    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerMultiprocessor, device);
    if (error != cudaSuccess)
        return error;
    return (size_t)bytes >= BLOCKS * (column_bytes<W, LARGE>(task.padded) + OF_SYSTEM)
               ? launch_columns<W, LARGE>(task, count, runs, stream)
               : launch_columns<W, SMALL>(task, count, runs, stream);
}

} // namespace

#endif
