/* CUDA kernels of the adjoint NUFFT on tensor cores, in double precision: samples to padded tiles; and the choice of
 * kernels for both precisions. Not installed.
 *
 * Take a padded tile (gridding_bins.h) as a matrix: a row for each x, a column for each (y, z) and real or imaginary part.
 * A sample adds a product to it: its kernel along x, times the kernels along the other axes and the sample's value. So
 * several samples add a product of two matrices, which tensor cores compute. Most of their elements are zeros, where
 * kernels do not reach, but the sums stay in registers: no point is loaded and stored for each sample, which takes longer.
 *
 * A team of warps takes a batch of samples at a time, in steps of eight. In three dimensions the team is the block. Samples
 * are sorted by planes, and a step leaves out planes that none of its samples reaches; each warp has four rows of every
 * second or third plane. While some warps add a batch, others compute the kernels of the next, and the samples after that
 * are on their way. In two dimensions, where tiles are small, a team is one warp; the teams' sums are added in the end. The
 * order of all sums is fixed.
 */
#ifndef VOXFIELD_GRIDDING_TENSOR_SPREAD_CUH
#define VOXFIELD_GRIDDING_TENSOR_SPREAD_CUH

#include <cuda_pipeline.h>

#include "backend/launch_blocks.h"
#include "gridding_columns.cuh"
#include "gridding_spread.cuh"
#include "gridding_tensor.cuh"

namespace
{

/* A team's part of shared memory. */
template <int W, bool FLAT>
struct alignas(16) tensor_memory {
    tensor_kernels<W, FLAT> kernels[FLAT ? 1 : 2];
    tensor_samples<W, FLAT> samples[3];
    gridding_sample_f64 record[3][tensor_shape<W, FLAT>::BATCH];
};

template <int W, bool FLAT>
struct tensor_block {
    tensor_polynomials<W> polynomials;
    tensor_memory<W, FLAT> memory[tensor_shape<W, FLAT>::TEAMS];
};

template <int W, bool FLAT>
struct tensor_team {
    typedef tensor_shape<W, FLAT> shape;
    const spread_task<double> &task;
    const tensor_polynomials<W> &polynomials;
    tensor_memory<W, FLAT> &memory;
    int warp, lane;
    int begin[shape::AXES]; /* of the padded tile, in the grid */
    int low, high;          /* the block's planes */
    uint32_t first, last;   /* samples: of the first batch, and of the run */
    double sum[shape::UNITS][2][4];

    __device__ tensor_team(const spread_task<double> &the_task, tensor_block<W, FLAT> &block, const gridding_run &run,
                           int part)
        : task(the_task), polynomials(block.polynomials), memory(block.memory[threadIdx.x / (WARP * shape::TEAM_WARPS)])
    {
        const int tile = (int)run.tile, team = threadIdx.x / (WARP * shape::TEAM_WARPS);
        warp = threadIdx.x / WARP % shape::TEAM_WARPS;
        lane = threadIdx.x % WARP;
        begin[0] = tile / task.tile_step[0] % task.tiles[0] * GRIDDING_TILE_X;
        for (int i = 1; i < shape::AXES; i++) /* in two dimensions, y is the last of the padded tile's axes */
            begin[i] = tile / task.tile_step[FLAT ? 2 : i] % task.tiles[FLAT ? 2 : i] * GRIDDING_TILE_Y;
        low = part * shape::PART_PLANES;
        high = min(low + shape::PART_PLANES, (int)shape::PLANES);
        first = run.first + team * shape::BATCH;
        last = run.last;
        reset();
    }

    __device__ void reset()
    {
#pragma unroll
        for (int i = 0; i < shape::UNITS; i++)
#pragma unroll
            for (int j = 0; j < 8; j++)
                sum[i][j / 4][j % 4] = 0;
    }

    static __device__ void wait()
    {
        if (FLAT)
            __syncwarp();
        else
            __syncthreads();
    }

    __device__ uint32_t batch_begin(int round) const
    {
        return first + round * shape::BATCH * shape::TEAMS;
    }
    __device__ int samples_in(int round) const
    {
        return max(0, min((int)(last - batch_begin(round)), (int)shape::BATCH));
    }

    /* Begins to copy the batch's records; a lane for each. */
    __device__ void fetch_records(int round)
    {
        typedef gridding_sample_f64 record;
        if (lane >= samples_in(round))
            return;
        const char *from = reinterpret_cast<const char *>(task.samples + batch_begin(round) + lane);
        char *to = reinterpret_cast<char *>(memory.record[round % 3] + lane);
#pragma unroll
        for (int i = 0; i < (int)sizeof(record); i += 8)
            __pipeline_memcpy_async(to + i, from + i, 8);
    }

    /* When the records are there: notes the samples and begins to copy their values. */
    __device__ void note_samples(int round)
    {
        tensor_samples<W, FLAT> &out = memory.samples[round % 3];
        const int samples = samples_in(round);
        const bool exists = lane < samples;
        gridding_sample_f64 record = {};
        if (exists)
            record = memory.record[round % 3][lane];
        if (lane >= shape::BATCH)
            return;
#pragma unroll
        for (int a = 0; a < shape::AXES; a++) {
            out.variable[a * shape::BATCH + lane] = exists ? 2 * record.offset[a] - 1 : 0.0;
            out.start[a * shape::BATCH + lane] = exists ? record.start[a] - begin[a] : 0;
        }
        if (exists) {
            __pipeline_memcpy_async(out.value + lane, task.values + record.index, sizeof(double2));
            if (task.factor)
                __pipeline_memcpy_async(out.factor + lane, task.factor + batch_begin(round) + lane, sizeof(double2));
        } else {
            out.value[lane].x = out.value[lane].y = 0;
            out.factor[lane].x = out.factor[lane].y = 0;
        }
    }

    /* Clears an array of a multiple of 16 bytes. */
    template <int COUNT>
    __device__ void clear(double *array) const
    {
        enum { PIECES = COUNT * sizeof(double) / 16 };
#pragma unroll
        for (int i = 0; i < PIECES; i += WARP)
            if (i + lane < PIECES)
                reinterpret_cast<uint4 *>(array)[i + lane] = make_uint4(0, 0, 0, 0);
        __syncwarp();
    }

    /* Computes the kernels of a batch; a warp takes a step's along one axis. */
    __device__ void evaluate(int round)
    {
        tensor_kernels<W, FLAT> &out = memory.kernels[FLAT ? 0 : round % 2];
        const tensor_samples<W, FLAT> &from = memory.samples[round % 3];
        const int last_sample = max(samples_in(round) - 1, 0);
#pragma unroll 1
        for (int i = warp; i < shape::AXES * shape::STEPS; i += shape::TEAM_WARPS) {
            const int axis = i / shape::STEPS, step = i % shape::STEPS, n = step * STEP;
            const int *start = from.start + axis * shape::BATCH + n;
            const double *variable = from.variable + axis * shape::BATCH + n;
            if (axis == 0) {
                double *x = out.x + n * shape::PITCH_X;
                clear<STEP * shape::PITCH_X>(x);
                polynomials.evaluate(variable, [=](int sample, int point, double value) {
                    x[sample * shape::PITCH_X + start[sample] + point] = value;
                });
            } else if (axis < shape::AXES - 1) {
                double *y = out.y + n * shape::PITCH_Y;
                clear<STEP * shape::PITCH_Y>(y);
                polynomials.evaluate(variable, [=](int sample, int point, double value) {
                    y[sample * shape::PITCH_Y + start[sample] + point] = value;
                });
            } else {
                double *z = out.z + 2 * n * shape::PITCH_Z;
                clear<STEP * 2 * shape::PITCH_Z>(z);
                if (!FLAT && lane == 0) {
                    out.begin[step] = start[min(n, last_sample) - n];
                    out.end[step] = start[min(n + STEP - 1, last_sample) - n] + W;
                }
                polynomials.evaluate(variable, [&](int sample, int point, double value) {
                    const double2 v =
                        task.factor ? times(from.value[n + sample], from.factor[n + sample]) : from.value[n + sample];
                    double *at = z + 2 * sample * shape::PITCH_Z + start[sample] + point;
                    at[0] = value * v.x;
                    at[shape::PITCH_Z] = value * v.y;
                });
            }
        }
    }

    /* The unit's plane and row. */
    __device__ int plane_of(int unit) const
    {
        return FLAT ? 0 : low + warp / shape::FOURS + shape::SHARERS * unit;
    }
    __device__ int row_of(int unit) const
    {
        return 4 * (FLAT ? unit : warp % shape::FOURS);
    }

    /* Adds a step of a batch to the sums. */
    __device__ void add_step(const tensor_kernels<W, FLAT> &kernels, int step)
    {
        const int g = lane / 4, t = lane % 4, row = g / 2, n = step * STEP + t;
        const int from = FLAT ? 0 : kernels.begin[step], to = FLAT ? 1 : min(kernels.end[step], high);
        const double *x = kernels.x + n * shape::PITCH_X + g, *y = kernels.y + n * shape::PITCH_Y + row_of(0) + row,
                     *z = kernels.z + (2 * n + g % 2) * shape::PITCH_Z + (FLAT ? row : plane_of(0));
        double a[2][4], along_y[2], next[2];
#pragma unroll
        for (int m = 0; m < 2; m++)
#pragma unroll
            for (int j = 0; j < 4; j++)
                a[m][j] = x[j / 2 * 4 * shape::PITCH_X + m * SUM_ROWS + j % 2 * 8];
#pragma unroll
        for (int j = 0; j < 2; j++) {
            along_y[j] = FLAT ? 1.0 : y[j * 4 * shape::PITCH_Y];
            next[j] = z[j * 8 * shape::PITCH_Z];
        }
#pragma unroll
        for (int i = 0; i < shape::UNITS; i++) {
            double b[2];
#pragma unroll
            for (int j = 0; j < 2; j++) {
                b[j] = FLAT ? next[j] : along_y[j] * next[j];
                if (i < shape::UNITS - 1)
                    next[j] = z[j * 8 * shape::PITCH_Z + (FLAT ? 4 : (int)shape::SHARERS) * (i + 1)];
            }
            if (FLAT || (plane_of(i) >= from && plane_of(i) < to)) {
                multiply_add(sum[i][0], a[0], b);
                multiply_add(sum[i][1], a[1], b);
            }
        }
    }

    __device__ void add_batch(int round)
    {
        const int samples = samples_in(round);
#pragma unroll 1
        for (int step = 0; step * STEP < samples; step++)
            add_step(memory.kernels[FLAT ? 0 : round % 2], step);
    }

    /* Sets `to` [planes][rows][pitch] to the sums, or adds them, and clears them. */
    __device__ void store(bool add, int plane_points, int pitch, double2 *to)
    {
        const int g = lane / 4, t = lane % 4;
#pragma unroll
        for (int i = 0; i < shape::UNITS; i++) {
            const int plane = plane_of(i), row = row_of(i) + t;
#pragma unroll
            for (int k = 0; k < 4; k++) {
                const int x = g + k * 8;
                double2 *point = to + plane * plane_points + row * pitch + x;
                if (plane >= high || row >= shape::ROWS || x >= pitch)
                    continue;
                double2 value;
                value.x = sum[i][k / 2][k % 2 * 2];
                value.y = sum[i][k / 2][k % 2 * 2 + 1];
                if (add) {
                    value.x += point->x;
                    value.y += point->y;
                }
                *point = value;
            }
        }
        reset();
    }

    /* Moves the teams' sums to the run's slot, or adds them to what is there. In two dimensions, `points` [rows][pitch]
     * in shared memory gathers them. */
    __device__ void flush(bool again, double2 *points, double2 *to)
    {
        const gridding_padded &padded = task.padded;
        if constexpr (!FLAT) {
            store(again, padded.plane, padded.pitch, to);
        } else {
            for (int k = 0; k < shape::TEAMS; k++) {
                __syncthreads();
                if ((int)threadIdx.x / WARP == k)
                    store(k > 0, 0, padded.pitch, points);
            }
            __syncthreads();
            for (int i = threadIdx.x; i < padded.points; i += shape::THREADS) {
                double2 all = points[i];
                if (again) {
                    all.x += to[i].x;
                    all.y += to[i].y;
                }
                to[i] = all;
            }
        }
    }
};

/* One block per run and part of its padded tile. In a round, a team adds a batch, computes the kernels of the next, and
 * notes the samples of the batch three rounds ahead. */
template <int W, bool FLAT>
__global__ void __launch_bounds__(tensor_shape<W, FLAT>::THREADS, tensor_shape<W, FLAT>::BLOCKS)
    spread_tensor(const spread_task<double> task, const gridding_run *runs)
{
    typedef tensor_shape<W, FLAT> shape;
    extern __shared__ uint4 dynamic[]; /* the block's memory; in two dimensions, the sum of the teams */
    tensor_block<W, FLAT> &block = *reinterpret_cast<tensor_block<W, FLAT> *>(dynamic);
    double2 *points = reinterpret_cast<double2 *>(&block + 1);
    const gridding_run run = runs[blockIdx.x];
    double2 *to = task.scratch + (int64_t)run.slot * task.padded.points;
    const int in_round = shape::BATCH * shape::TEAMS, rounds = (int)(run.last - run.first + in_round - 1) / in_round;
    tensor_team<W, FLAT> team(task, block, run, blockIdx.y);
    block.polynomials.load(task.table);
    if (team.warp == 0) {
        for (int round = 0; round < 3; round++)
            team.fetch_records(round);
        __pipeline_commit();
        __pipeline_wait_prior(0);
        for (int round = 0; round < 3; round++)
            team.note_samples(round);
        __pipeline_commit();
        __pipeline_wait_prior(0);
    }
    __syncthreads();
    team.evaluate(0);
    team.wait();
#pragma unroll 1
    for (int round = 0; round < rounds; round++) {
        if (team.warp == 0)
            team.fetch_records(round + 3);
        __pipeline_commit();
#pragma unroll 1
        for (int turn = 0; turn < 2; turn++) {
            if (FLAT ? turn == 0 : (team.warp / 4 + turn) % 2 == 0)
                team.add_batch(round);
            else
                team.evaluate(round + 1);
            if (FLAT)
                team.wait();
        }
        if (team.warp == 0) {
            __pipeline_wait_prior(0);
            team.note_samples(round + 3);
            __pipeline_commit();
        }
        team.wait();
        if ((round + 1) % shape::ROUNDS == 0 || round + 1 == rounds)
            team.flush(round >= shape::ROUNDS, points, to);
    }
}

/* ---- launches ---- */

template <int W, bool FLAT>
cudaError_t launch_tensor(const spread_task<double> &task, int64_t count, const gridding_run *runs, cudaStream_t stream)
{
    typedef tensor_shape<W, FLAT> shape;
    const size_t shared = sizeof(tensor_block<W, FLAT>) + (FLAT ? task.padded.points * sizeof(double2) : 0);
    const dim3 blocks(vf_blocks_for(count, 1), (unsigned)shape::PARTS);
    const cudaError_t error =
        cudaFuncSetAttribute(spread_tensor<W, FLAT>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared);
    if (error != cudaSuccess)
        return error;
    spread_tensor<W, FLAT><<<blocks, shape::THREADS, shared, stream>>>(task, runs);
    return cudaGetLastError();
}

/* Whether there is a kernel for the task's width, one from LEAST to MOST; if so, launches it. */
template <int LEAST, int MOST>
bool launch_any_tensor(const spread_task<double> &task, int64_t count, const gridding_run *runs, cudaStream_t stream,
                       cudaError_t *error)
{
    if constexpr (LEAST > MOST) {
        return false;
    } else {
        if (tensor_shape<LEAST, true>::fits(task.padded, task.table.degree))
            *error = launch_tensor<LEAST, true>(task, count, runs, stream);
        else if (tensor_shape<LEAST, false>::fits(task.padded, task.table.degree))
            *error = launch_tensor<LEAST, false>(task, count, runs, stream);
        else
            return launch_any_tensor<LEAST + 1, MOST>(task, count, runs, stream, error);
        return true;
    }
}

/* Whether the GPU has fast tensor cores for doubles. Those of games and desktops take doubles 64 times slower than floats,
 * and then a product with many zeros does not pay. */
inline cudaError_t has_tensor_cores(int device, bool *has)
{
    int major = 0, single_to_double = 0;
    cudaError_t error = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&single_to_double, cudaDevAttrSingleToDoublePrecisionPerfRatio, device);
    cudaFuncAttributes function = {};
    if (error == cudaSuccess) /* what was compiled for older GPUs has no products, wherever it runs */
        error = cudaFuncGetAttributes(&function, spread_tensor<8, false>);
    *has = major >= 8 && single_to_double <= 2 && function.ptxVersion >= 80;
    return error;
}

/* Without tensor cores. */
template <typename T, int W>
cudaError_t launch_runs(const spread_task<T> &task, int64_t count, const gridding_run *runs, cudaStream_t stream)
{
    const gridding_padded &padded = task.padded;
    const size_t points = (size_t)padded.copies * padded.part_planes * padded.plane,
                 numbers = (size_t)GRIDDING_BATCH * (padded.width[0] + padded.width[1] + padded.width[2]),
                 shared =
                     sizeof(spread_batch<T>) + points * sizeof(typename precision<T>::complex) + numbers * sizeof(T);
    const dim3 blocks(vf_blocks_for(count, 1), (unsigned)padded.parts);
    const cudaError_t error =
        cudaFuncSetAttribute(spread_runs<T, W>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared);
    if (error != cudaSuccess)
        return error;
    spread_runs<T, W><<<blocks, WARP * padded.copies * padded.copy_warps, shared, stream>>>(task, runs);
    return cudaGetLastError();
}

/* With a kernel made for the width, one from LEAST to MOST, or else with the one for all. */
template <int LEAST = precision<float>::LEAST_WIDTH, int MOST = precision<float>::MOST_WIDTH>
cudaError_t launch_spread(const spread_task<float> &task, int64_t count, const gridding_run *runs, cudaStream_t stream)
{
    if constexpr (LEAST > MOST) {
        return launch_runs<float, 0>(task, count, runs, stream);
    } else {
        if (spread_shape<LEAST>::fits(task.padded, task.table.degree))
            return launch_runs<float, LEAST>(task, count, runs, stream);
        if (columns_fit<LEAST>(task.padded, task.table.degree))
            return launch_columns<LEAST>(task, count, runs, stream);
        return launch_spread<LEAST + 1, MOST>(task, count, runs, stream);
    }
}

cudaError_t launch_spread(const spread_task<double> &task, int64_t count, const gridding_run *runs, cudaStream_t stream)
{
    enum { LEAST = precision<double>::LEAST_WIDTH, MOST = precision<double>::MOST_WIDTH };
    cudaError_t error = cudaSuccess;
    if (task.tensor_cores && launch_any_tensor<LEAST, MOST>(task, count, runs, stream, &error))
        return error;
    return launch_runs<double, 0>(task, count, runs, stream);
}

} // namespace

#endif
