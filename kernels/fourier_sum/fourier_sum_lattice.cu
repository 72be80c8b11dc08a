/* The tuned CUDA kernels for a grid without off-resonance.
 *
 * A thread has a run of 8 neighbours along x. Their distances from the run's middle are +-h, h = 1/2, 3/2, 5/2, 7/2
 * steps. Let w = c exp(i 2 pi k.r) at the middle, which takes one sine and cosine, and E_h = exp(i 2 pi k_x h). E_h is
 * the same for every run, so it comes from a table. The sums
 *     A = sum Re w Re E    B = sum Im w Im E    C = sum Re w Im E    D = sum Im w Re E
 * give both y(+h) = (A - B, C + D) and y(-h) = (A + B, D - C): two multiply-adds a pair.
 * The forward sum is the same, transposed: p = x(+h) + x(-h), q = x(+h) - x(-h), S = sum p Re E - i q Im E, times
 * conj(w).
 *
 * Work and its limits: 8 pairs take 16 multiply-adds, 4 for w, 2 operations of the special function units (accurate
 * trigonometry: some 30 others), 5 operations for the phase, and 4 loads of 16 bytes from shared memory, which all
 * threads of a warp share. That is 30 to 60 instructions, each for 32 threads; a multiprocessor starts instructions for
 * 128 threads a clock. With a sine and a cosine for each pair, its special function units (16 threads a clock) would
 * take as long as 128 instructions.
 */
#include "backend/launch_blocks.h"
#include "fourier_sum_cuda.cuh"

namespace vf_fourier_gpu
{
namespace
{

enum { PAIRS_OF_RUN = LATTICE_RUN / 2, SUMS_OF_RUN = 4 * PAIRS_OF_RUN, STAGE = 128, STAGE_RUNS = 32 };

/* Integer phases: 32 bits wide for single precision, 64 for double. */
template <typename T>
struct phase_type;
template <>
struct phase_type<float> {
    typedef uint32_t type;
    static __device__ uint32_t of(uint64_t p)
    {
        return (uint32_t)((p + ((uint64_t)1 << 31)) >> 32);
    }
    static __device__ float turns(uint32_t p)
    {
        return (float)(int32_t)p * 0x1p-32f;
    }
};
template <>
struct phase_type<double> {
    typedef uint64_t type;
    static __device__ uint64_t of(uint64_t p)
    {
        return p;
    }
    static __device__ double turns(uint64_t p)
    {
        return (double)(int64_t)p * 0x1p-64;
    }
};

/* The arguments of the kernels. Tiles of the adjoint lie on a lattice fixed to the grid. A tile has 8 runs x rows_y
 * x rows_z points, and runs x rows_y x rows_z = THREADS. */
struct lattice_task {
    const lattice_wave *waves;
    const void *table; /* [samples][PAIRS_OF_RUN] Re E, Im E */
    double *partial;
    int64_t samples, counts[3], segment_terms, first_group;
    int runs, rows_y, rows_z;
    int64_t tile_first[3], tiles[3]; /* of the requested range */
    int64_t first, end;              /* voxels requested, [first, end) */
};

/* The first voxel of a tile, and the thread's run in the tile. */
__device__ void run_corner(const lattice_task &task, int64_t group, int64_t tile[3], int in_tile[3])
{
    tile[0] = (task.tile_first[0] + group % task.tiles[0]) * (LATTICE_RUN * task.runs);
    tile[1] = (task.tile_first[1] + group / task.tiles[0] % task.tiles[1]) * task.rows_y;
    tile[2] = (task.tile_first[2] + group / task.tiles[0] / task.tiles[1]) * task.rows_z;
    in_tile[0] = threadIdx.x % task.runs;
    in_tile[1] = threadIdx.x / task.runs % task.rows_y;
    in_tile[2] = threadIdx.x / task.runs / task.rows_y;
}

/* The phase at the middle of the run that begins at voxel (x, y, z). */
__device__ uint64_t middle_phase(const lattice_wave &w, int64_t x, int64_t y, int64_t z)
{
    return w.origin + (uint64_t)(2 * x + LATTICE_RUN - 1) * w.half[0] + (uint64_t)(2 * y) * w.half[1] +
           (uint64_t)(2 * z) * w.half[2];
}

template <typename T, int B>
struct __align__(16) staged_sample
{
    T e[2 * PAIRS_OF_RUN];
    typename phase_type<T>::type run, y, z, origin;
    T c[2 * B];
};

template <typename T>
__global__ void fill_table(const lattice_wave *__restrict__ waves, int64_t samples, T *__restrict__ table)
{
    const int64_t m = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    for (int h = 0; m < samples && h < PAIRS_OF_RUN; h++) {
        double sine, cosine;
        sincospi((double)(int64_t)((2 * h + 1) * waves[m].half[0]) * 0x1p-63, &sine, &cosine);
        table[(m * PAIRS_OF_RUN + h) * 2] = (T)cosine;
        table[(m * PAIRS_OF_RUN + h) * 2 + 1] = (T)sine;
    }
}

template <typename T, int B>
__device__ void stage_sample(const lattice_task &task, const int64_t tile[3], int64_t m, const T *__restrict__ c,
                             int coils, staged_sample<T, B> &to)
{
    const lattice_wave w = task.waves[m];
    const T *table = static_cast<const T *>(task.table) + m * 2 * PAIRS_OF_RUN;
#pragma unroll
    for (int h = 0; h < 2 * PAIRS_OF_RUN; h++)
        to.e[h] = table[h];
    to.run = phase_type<T>::of(2 * LATTICE_RUN * w.half[0]);
    to.y = phase_type<T>::of(2 * w.half[1]);
    to.z = phase_type<T>::of(2 * w.half[2]);
    to.origin = phase_type<T>::of(middle_phase(w, tile[0], tile[1], tile[2]));
#pragma unroll
    for (int b = 0; b < B; b++) {
        to.c[2 * b] = b < coils ? c[2 * (b * task.samples + m)] : (T)0;
        to.c[2 * b + 1] = b < coils ? c[2 * (b * task.samples + m) + 1] : (T)0;
    }
}

template <typename T, bool HARDWARE, int B>
__global__ void __launch_bounds__(THREADS) adjoint_kernel(const lattice_task task, const T *__restrict__ c, int coils)
{
    typedef typename phase_type<T>::type phase;
    __shared__ staged_sample<T, B> chunk[STAGE];
    int64_t tile[3];
    int at[3];
    run_corner(task, task.first_group + blockIdx.x, tile, at);
    const int64_t begin = blockIdx.y * task.segment_terms, end = min(begin + task.segment_terms, task.samples);
    double *partial = task.partial + (int64_t)(blockIdx.x * gridDim.y + blockIdx.y) * B * SUMS_OF_RUN * THREADS;
    for (int64_t first = begin; first == begin || first < end; first += FLUSH) {
        T sum[B][SUMS_OF_RUN] = {};
        for (int64_t m = first; m < min(first + FLUSH, end); m += STAGE) {
            const int here = (int)min((int64_t)STAGE, end - m);
            __syncthreads();
            if (threadIdx.x < here)
                stage_sample<T, B>(task, tile, m + threadIdx.x, c, coils, chunk[threadIdx.x]);
            __syncthreads();
#pragma unroll 4
            for (int i = 0; i < here; i++) {
                const staged_sample<T, B> s = chunk[i];
                T cosine, sine;
                const phase p = s.origin + (phase)at[0] * s.run + (phase)at[1] * s.y + (phase)at[2] * s.z;
                phasor<HARDWARE>(phase_type<T>::turns(p), cosine, sine);
#pragma unroll
                for (int b = 0; b < B; b++) {
                    const T re = s.c[2 * b] * cosine - s.c[2 * b + 1] * sine;
                    const T im = s.c[2 * b] * sine + s.c[2 * b + 1] * cosine;
#pragma unroll
                    for (int h = 0; h < PAIRS_OF_RUN; h++) {
                        sum[b][4 * h] += re * s.e[2 * h];
                        sum[b][4 * h + 1] += im * s.e[2 * h + 1];
                        sum[b][4 * h + 2] += re * s.e[2 * h + 1];
                        sum[b][4 * h + 3] += im * s.e[2 * h];
                    }
                }
            }
        }
#pragma unroll
        for (int b = 0; b < B; b++)
#pragma unroll
            for (int q = 0; q < SUMS_OF_RUN; q++) {
                double *to = partial + (b * SUMS_OF_RUN + q) * THREADS + threadIdx.x;
                *to = (first == begin ? 0 : *to) + (double)sum[b][q];
            }
    }
}

/* Adds up the segments and writes the requested voxels. */
template <typename T, int B>
__global__ void __launch_bounds__(THREADS)
    adjoint_finish(const lattice_task task, int segments, int coils, T *__restrict__ y)
{
    int64_t tile[3];
    int at[3];
    run_corner(task, task.first_group + blockIdx.x, tile, at);
    const int64_t j = tile[1] + at[1], k = tile[2] + at[2], i = tile[0] + LATTICE_RUN * at[0];
    if (j >= task.counts[1] || k >= task.counts[2])
        return;
    const int64_t row = (k * task.counts[1] + j) * task.counts[0], stride = task.end - task.first;
    for (int b = 0; b < coils; b++)
        for (int h = 0; h < PAIRS_OF_RUN; h++) {
            double sum[4] = {0, 0, 0, 0};
            for (int s = 0; s < segments; s++)
                for (int q = 0; q < 4; q++)
                    sum[q] += task.partial[(((int64_t)blockIdx.x * segments + s) * B + b) * SUMS_OF_RUN * THREADS +
                                           (4 * h + q) * THREADS + threadIdx.x];
            for (int side = 0; side < 2; side++) {
                const int64_t x = side ? i + PAIRS_OF_RUN + h : i + PAIRS_OF_RUN - 1 - h, n = row + x;
                if (x >= task.counts[0] || n < task.first || n >= task.end)
                    continue;
                T *to = y + 2 * (b * stride + n - task.first);
                to[0] = (T)(side ? sum[0] - sum[1] : sum[0] + sum[1]);
                to[1] = (T)(side ? sum[2] + sum[3] : sum[3] - sum[2]);
            }
        }
}

/* p and q of two voxels */
template <typename T>
struct __align__(16) voxel_pair
{
    T p_re, q_im, p_im, q_re;
};

/* Pair h of run `run` of the grid. Voxels beyond the row are 0. */
template <typename T>
__device__ voxel_pair<T> stage_pair(const lattice_task &task, int64_t runs_of_row, int64_t run, int h,
                                    const T *__restrict__ x)
{
    const int64_t begin = run / runs_of_row * task.counts[0], in_row = run % runs_of_row * LATTICE_RUN + PAIRS_OF_RUN;
    T value[2][2] = {};
    for (int side = 0; side < 2; side++) {
        const int64_t i = side ? in_row + h : in_row - 1 - h;
        if (i < task.counts[0]) {
            value[side][0] = x[2 * (begin + i)];
            value[side][1] = x[2 * (begin + i) + 1];
        }
    }
    return {value[1][0] + value[0][0], value[1][1] - value[0][1], value[1][1] + value[0][1], value[1][0] - value[0][0]};
}

/* Each thread has a sample. The terms are runs. */
template <typename T, bool HARDWARE, int B>
__global__ void __launch_bounds__(THREADS) forward_kernel(const lattice_task task, const T *__restrict__ x, int coils)
{
    static_assert(THREADS == STAGE_RUNS * PAIRS_OF_RUN, "a thread stages one pair of each coil");
    __shared__ voxel_pair<T> chunk[B][STAGE_RUNS][PAIRS_OF_RUN];
    const int64_t runs_of_row = (task.counts[0] + LATTICE_RUN - 1) / LATTICE_RUN;
    const int64_t runs = runs_of_row * task.counts[1] * task.counts[2];
    const int64_t voxels = task.counts[0] * task.counts[1] * task.counts[2];
    const int64_t begin = blockIdx.y * task.segment_terms, end = min(begin + task.segment_terms, runs);
    const int64_t m = min((task.first_group + blockIdx.x) * RUN_POINTS + threadIdx.x, task.samples - 1);
    const lattice_wave w = task.waves[m];
    const T *table = static_cast<const T *>(task.table) + m * 2 * PAIRS_OF_RUN;
    T e[2 * PAIRS_OF_RUN];
    double total[B][2] = {};
#pragma unroll
    for (int h = 0; h < 2 * PAIRS_OF_RUN; h++)
        e[h] = table[h];
    int64_t in_row = begin % runs_of_row, row_y = begin / runs_of_row % task.counts[1];
    int64_t row_z = begin / runs_of_row / task.counts[1];
    uint64_t p = middle_phase(w, in_row * LATTICE_RUN, row_y, row_z);
    for (int64_t first = begin; first < end; first += STAGE_RUNS) {
        const int here = (int)min((int64_t)STAGE_RUNS, end - first), staged = threadIdx.x / PAIRS_OF_RUN;
        const int h = threadIdx.x % PAIRS_OF_RUN;
        T re[B] = {}, im[B] = {};
        __syncthreads();
        for (int b = 0; b < B; b++)
            chunk[b][staged][h] = staged < here && b < coils
                                      ? stage_pair(task, runs_of_row, first + staged, h, x + 2 * b * voxels)
                                      : voxel_pair<T>{0, 0, 0, 0};
        __syncthreads();
#pragma unroll 2
        for (int i = 0; i < here; i++) {
            T cosine, sine;
            phasor<HARDWARE>(phase_type<T>::turns(phase_type<T>::of(p)), cosine, sine);
#pragma unroll
            for (int b = 0; b < B; b++) {
                T sum_re = 0, sum_im = 0;
#pragma unroll
                for (int q = 0; q < PAIRS_OF_RUN; q++) {
                    const voxel_pair<T> v = chunk[b][i][q];
                    sum_re += v.p_re * e[2 * q] + v.q_im * e[2 * q + 1];
                    sum_im += v.p_im * e[2 * q] - v.q_re * e[2 * q + 1];
                }
                re[b] += sum_re * cosine + sum_im * sine;
                im[b] += sum_im * cosine - sum_re * sine;
            }
            p += 2 * LATTICE_RUN * w.half[0];
            if (++in_row == runs_of_row) {
                in_row = 0;
                if (++row_y == task.counts[1]) {
                    row_y = 0;
                    row_z++;
                }
                p = middle_phase(w, 0, row_y, row_z);
            }
        }
#pragma unroll
        for (int b = 0; b < B; b++) {
            total[b][0] += (double)re[b];
            total[b][1] += (double)im[b];
        }
    }
    double *partial = task.partial + (int64_t)(blockIdx.x * gridDim.y + blockIdx.y) * B * 2 * RUN_POINTS;
#pragma unroll
    for (int b = 0; b < B; b++)
        for (int part = 0; part < 2; part++)
            partial[(2 * b + part) * RUN_POINTS + threadIdx.x] = total[b][part];
}

lattice_task task_of(const vf_fourier *plan)
{
    const state *s = state_of(plan);
    lattice_task task = {};
    task.waves = s->points.lattice;
    task.table = s->table;
    task.partial = s->partial;
    task.samples = plan->samples;
    for (int a = 0; a < 3; a++)
        task.counts[a] = plan->grid.counts[a];
    return task;
}

int power_of_two(int64_t at_least, int at_most)
{
    int power = 1;
    while (power < at_most && power < at_least)
        power *= 2;
    return power;
}

/* Makes tiles flat and narrow if the grid is, so that no thread is far outside the grid. */
void shape_tiles(lattice_task *task)
{
    task->runs = power_of_two((task->counts[0] + LATTICE_RUN - 1) / LATTICE_RUN, 4);
    task->rows_z = power_of_two(task->counts[2], 4);
    task->rows_y = THREADS / task->runs / task->rows_z;
}

/* Chooses the tiles that hold the voxels [first, end). */
void choose_tiles(lattice_task *task, int64_t first, int64_t end)
{
    const int64_t size[3] = {LATTICE_RUN * task->runs, task->rows_y, task->rows_z};
    int64_t from = first, to = end - 1, lo[3], hi[3];
    for (int a = 0; a < 3; a++) {
        lo[a] = from % task->counts[a];
        hi[a] = to % task->counts[a];
        from /= task->counts[a];
        to /= task->counts[a];
    }
    for (int a = 2; a >= 0; a--) {
        const bool one = a == 2 || (lo[a + 1] == hi[a + 1] && (a == 1 || lo[2] == hi[2])); /* all in one plane or row */
        task->tile_first[a] = (one ? lo[a] : 0) / size[a];
        task->tiles[a] = (one ? hi[a] : task->counts[a] - 1) / size[a] - task->tile_first[a] + 1;
    }
    task->first = first;
    task->end = end;
}

int64_t tile_count(const int64_t tiles[3])
{
    return tiles[0] * tiles[1] * tiles[2];
}

template <typename T, bool HARDWARE, int B>
cudaError_t adjoint_coils(const vf_fourier *plan, lattice_task task, cudaStream_t stream, int coils, const T *c, T *y)
{
    lattice_task whole = task;
    choose_tiles(&whole, 0, plan->voxels);
    const partition cut =
        make_partition(plan, tile_count(whole.tiles), tile_count(task.tiles), LATTICE_POINTS, plan->samples);
    task.segment_terms = cut.segment_terms;
    for (task.first_group = 0; task.first_group < cut.groups; task.first_group += cut.launch_groups) {
        const int64_t left = cut.groups - task.first_group;
        const unsigned blocks = (unsigned)(left < cut.launch_groups ? left : cut.launch_groups);
        adjoint_kernel<T, HARDWARE, B><<<dim3(blocks, cut.segments), THREADS, 0, stream>>>(task, c, coils);
        adjoint_finish<T, B><<<blocks, THREADS, 0, stream>>>(task, cut.segments, coils, y);
    }
    return cudaGetLastError();
}

template <typename T, bool HARDWARE, int B>
cudaError_t forward_coils(const vf_fourier *plan, lattice_task task, cudaStream_t stream, int coils, const T *x, T *c)
{
    const int64_t groups = (plan->samples + RUN_POINTS - 1) / RUN_POINTS;
    const int64_t runs = (task.counts[0] + LATTICE_RUN - 1) / LATTICE_RUN * task.counts[1] * task.counts[2];
    const partition cut = make_partition(plan, groups, groups, RUN_POINTS, runs);
    task.segment_terms = cut.segment_terms;
    cudaError_t error = cudaSuccess;
    for (task.first_group = 0; error == cudaSuccess && task.first_group < groups;
         task.first_group += cut.launch_groups) {
        const int64_t left = groups - task.first_group;
        const unsigned blocks = (unsigned)(left < cut.launch_groups ? left : cut.launch_groups);
        forward_kernel<T, HARDWARE, B><<<dim3(blocks, cut.segments), THREADS, 0, stream>>>(task, x, coils);
        const segment_points points = {RUN_POINTS,   task.first_group * RUN_POINTS, plan->samples, NULL, 0,
                                       plan->samples};
        error = add_segments(plan, stream, sizeof(T) == 8, blocks, cut.segments, B, coils, points, c);
    }
    return error;
}

template <typename T, bool HARDWARE>
cudaError_t adjoint_batch(const vf_fourier *plan, cudaStream_t stream, int batch, const T *c, int64_t first,
                          int64_t count, T *y)
{
    lattice_task task = task_of(plan);
    shape_tiles(&task);
    choose_tiles(&task, first, first + count);
    return sum_all_coils(batch, c, plan->samples, y, count, [&](auto width, int coils, const T *from, T *to) {
        return adjoint_coils<T, HARDWARE, width.value>(plan, task, stream, coils, from, to);
    });
}

template <typename T, bool HARDWARE>
cudaError_t forward_batch(const vf_fourier *plan, cudaStream_t stream, int batch, const T *x, T *c)
{
    const lattice_task task = task_of(plan);
    return sum_all_coils(batch, x, plan->voxels, c, plan->samples, [&](auto width, int coils, const T *from, T *to) {
        return forward_coils<T, HARDWARE, width.value>(plan, task, stream, coils, from, to);
    });
}

} // namespace

cudaError_t lattice_prepare(const vf_fourier *plan, state *s)
{
    const size_t bytes = (size_t)plan->samples * 2 * PAIRS_OF_RUN * vf_dtype_bytes(plan->options.precision);
    const unsigned blocks = vf_blocks_for(plan->samples, 256);
    cudaError_t error = cudaMalloc(&s->table, bytes ? bytes : 1);
    if (error != cudaSuccess || plan->samples == 0)
        return error;
    if (plan->options.precision == VF_F64)
        fill_table<<<blocks, 256>>>(s->points.lattice, plan->samples, (double *)s->table);
    else
        fill_table<<<blocks, 256>>>(s->points.lattice, plan->samples, (float *)s->table);
    error = cudaGetLastError();
    return error == cudaSuccess ? cudaDeviceSynchronize() : error;
}

cudaError_t lattice_adjoint(const vf_fourier *plan, cudaStream_t stream, int batch, const void *c, int64_t first,
                            int64_t count, void *y)
{
    if (plan->options.precision == VF_F64)
        return adjoint_batch<double, false>(plan, stream, batch, (const double *)c, first, count, (double *)y);
    if (plan->options.trig == VF_TRIG_HARDWARE)
        return adjoint_batch<float, true>(plan, stream, batch, (const float *)c, first, count, (float *)y);
    return adjoint_batch<float, false>(plan, stream, batch, (const float *)c, first, count, (float *)y);
}

cudaError_t lattice_forward(const vf_fourier *plan, cudaStream_t stream, int batch, const void *x, void *c)
{
    if (plan->options.precision == VF_F64)
        return forward_batch<double, false>(plan, stream, batch, (const double *)x, (double *)c);
    if (plan->options.trig == VF_TRIG_HARDWARE)
        return forward_batch<float, true>(plan, stream, batch, (const float *)x, (float *)c);
    return forward_batch<float, false>(plan, stream, batch, (const float *)x, (float *)c);
}

} // namespace vf_fourier_gpu
