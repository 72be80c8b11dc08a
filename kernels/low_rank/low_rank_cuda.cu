/* The CUDA backend. A batch of blocks goes through four kernels: partial Gram matrices of the segments, their sums, the
 * eigenproblems (a block of threads each; on the host if they are large), and the products. */
#include <new>
#include <stdint.h>

#include "backend/cuda_check.cuh"
#include "backend/launch_blocks.h"
#include "low_rank_backend.h"
#include "low_rank_cuda.cuh"

namespace
{

enum {
    THREADS = 256,
    TILE = 32,      /* rows and columns of a Gram matrix that a block of threads makes */
    CHUNK = 16,     /* elements of the longer side that it reads at a time */
    HOST_SIDE = 64, /* larger matrices are solved on the host */
    SHARED = 46500, /* bytes of shared memory for the kernels that size it themselves */
    MOST_ROWS = 32, /* of the longer side, that a block of threads multiplies */
    ROWS_TOGETHER = 4,
};

using low_rank_device::number;

struct cuda_state {
    vf_array partial, gram, vectors, sums; /* [batch][segments][side][side], [batch][side][side] twice, [batch] */
    vf_array host;                         /* of `gram`, or of `sums` */
    double *dense;                         /* for the host's eigenproblems: a matrix, and values */
    int rows;                              /* of a block of threads of the product */
};

/* ---- Gram matrices ---- */

template <typename T>
__device__ number<double> load(const number<T> *v, int64_t at)
{
    const number<T> x = v[at];
    return {(double)x.re, (double)x.im};
}

/* Rows row0 to row0 + TILE - 1 and columns from col0 on of a segment's Gram matrix conj(a) b; each thread has four
 * elements. blockIdx.x: block and segment; blockIdx.y: the tile in the lower triangle. */
template <typename T>
__global__ void __launch_bounds__(THREADS)
    make_grams(const low_rank_grid grid, int64_t base, int segments, int64_t segment, int side,
               const number<T> *__restrict__ v, number<double> *__restrict__ partial)
{
    __shared__ number<double> tile[2][CHUNK][TILE];
    __shared__ int64_t at_row[CHUNK], at_column[2][TILE];
    const low_rank_block b = low_rank_block_at(&grid, base + blockIdx.x / segments);
    const int64_t first = blockIdx.x % segments * segment;
    const int64_t rest = b.longer - first, count = rest < segment ? rest : segment;
    int tile_row = 0;
    for (int before = (int)blockIdx.y; before > tile_row; tile_row++)
        before -= tile_row + 1;
    const int tile_column = (int)blockIdx.y - tile_row * (tile_row + 1) / 2;
    const int row0 = tile_row * TILE, col0 = tile_column * TILE;
    if (row0 >= b.shorter || count <= 0)
        return; /* the same for all threads */
    const int t = (int)threadIdx.x, x = t % (TILE / 2), y = t / (TILE / 2);
    if (t < 2 * TILE) {
        const int j = (t < TILE ? row0 : col0) + t % TILE;
        at_column[t / TILE][t % TILE] = j < b.shorter ? low_rank_shorter(&grid, &b, j) : -1;
    }
    number<double> sum[2][2] = {};
    for (int64_t l0 = 0; l0 < count; l0 += CHUNK) {
        __syncthreads();
        if (t < CHUNK)
            at_row[t] = l0 + t < count ? low_rank_longer(&grid, &b, first + l0 + t) : -1;
        __syncthreads();
        for (int e = t; e < 2 * CHUNK * TILE; e += THREADS) { /* neighbours along x for neighbouring threads */
            const int which = e / (CHUNK * TILE), in = e % (CHUNK * TILE);
            const int l = b.turned ? in / TILE : in % CHUNK, j = b.turned ? in % TILE : in / CHUNK;
            const bool inside = at_row[l] >= 0 && at_column[which][j] >= 0;
            tile[which][l][j] = inside ? load(v, at_row[l] + at_column[which][j]) : number<double>{0, 0};
        }
        __syncthreads();
        for (int l = 0; l < CHUNK; l++)
            for (int i = 0; i < 2; i++)
                for (int j = 0; j < 2; j++) {
                    const number<double> p = tile[0][l][y + i * TILE / 2], q = tile[1][l][x + j * TILE / 2];
                    sum[i][j].re += p.re * q.re + p.im * q.im;
                    sum[i][j].im += p.re * q.im - p.im * q.re;
                }
    }
    number<double> *out = partial + (int64_t)blockIdx.x * side * side;
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) {
            const int row = row0 + y + i * TILE / 2, column = col0 + x + j * TILE / 2;
            if (row < b.shorter && column < b.shorter)
                out[(int64_t)row * side + column] = sum[i][j];
        }
}

/* gram[k][k] = the sum of the segments' lower triangles, mirrored. blockIdx.x: block. */
__global__ void __launch_bounds__(THREADS)
    add_segments(const low_rank_grid grid, int64_t base, int segments, int64_t segment, int side,
                 const number<double> *__restrict__ partial, number<double> *__restrict__ gram)
{
    const low_rank_block b = low_rank_block_at(&grid, base + blockIdx.x);
    const int e = (int)blockIdx.y * THREADS + (int)threadIdx.x, k = b.shorter;
    if (e >= k * k)
        return;
    const int row = e / k, column = e % k;
    const int64_t low = row >= column ? (int64_t)row * side + column : (int64_t)column * side + row;
    const int used = (int)((b.longer + segment - 1) / segment);
    number<double> sum = {0, 0};
    for (int s = 0; s < used; s++) {
        const number<double> x = partial[((int64_t)blockIdx.x * segments + s) * side * side + low];
        sum.re += x.re;
        sum.im += x.im;
    }
    if (row <= column)
        sum.im = row == column ? 0 : -sum.im;
    gram[(int64_t)blockIdx.x * side * side + e] = sum;
}

/* ---- eigenproblems ---- */

/* From a Gram matrix to P in place, or to the sum of the singular values in sums[blockIdx.x]. */
__global__ void __launch_bounds__(THREADS)
    weigh(const low_rank_grid grid, int64_t base, int side, bool in_shared, double threshold,
          number<double> *__restrict__ gram, number<double> *__restrict__ vectors, double *__restrict__ sums)
{
    extern __shared__ double2 memory[];
    __shared__ double factor[HOST_SIDE];
    const int k = low_rank_block_at(&grid, base + blockIdx.x).shorter, t = (int)threadIdx.x;
    number<double> *p = gram + (int64_t)blockIdx.x * side * side;
    number<double> *a = p, *rows = vectors + (int64_t)blockIdx.x * side * side;
    double power = 0;
    for (int i = 0; i < k; i++)
        power += p[i * k + i].re;
    const bool finite = isfinite(power);
    if (!finite || (!sums && power <= threshold * threshold)) { /* the largest singular value is at most sqrt(power) */
        __syncthreads();                                        /* all have read the diagonal */
        for (int e = t; !sums && e < k * k; e += THREADS)
            p[e].re = p[e].im = finite ? 0 : (double)NAN;
        if (sums && t == 0)
            sums[blockIdx.x] = (double)NAN;
        return; /* the same for all threads */
    }
    if (in_shared) {
        a = reinterpret_cast<number<double> *>(memory);
        rows = a + k * k;
    }
    for (int e = t; e < k * k; e += THREADS) {
        a[e] = p[e];
        rows[e] = {e / k == e % k ? 1.0 : 0.0, 0};
    }
    __syncthreads();
    low_rank_device::diagonalise(k, a, rows);
    if (t < k) {
        const double eigenvalue = a[t * k + t].re, s = eigenvalue > 0 ? sqrt(eigenvalue) : 0;
        factor[t] = sums ? s : s > threshold ? 1 - threshold / s : 0;
    }
    __syncthreads();
    for (int e = t; !sums && e < k * k; e += THREADS) { /* conj(row_i)(r) row_i(c) */
        number<double> sum = {0, 0};
        for (int i = 0; i < k; i++) {
            const number<double> x = rows[i * k + e / k], y = rows[i * k + e % k];
            sum.re += factor[i] * (x.re * y.re + x.im * y.im);
            sum.im += factor[i] * (x.re * y.im - x.im * y.re);
        }
        p[e] = sum; /* `a`, which may be the same, is no longer read */
    }
    if (sums && t == 0) {
        double sum = 0;
        for (int i = 0; i < k; i++)
            sum += factor[i];
        sums[blockIdx.x] = sum;
    }
}

/* ---- products ---- */

/* z = v P for `most` rows of the longer side of a block. blockIdx.x: block and part of the longer side. z may be v. */
template <typename T>
__global__ void __launch_bounds__(THREADS)
    multiply(const low_rank_grid grid, int64_t base, int64_t parts, int most, int side, const number<T> *v,
             const number<double> *__restrict__ gram, number<T> *z)
{
    extern __shared__ double2 memory[];
    __shared__ int64_t at_row[MOST_ROWS];
    const int64_t number_of = blockIdx.x / parts, first = blockIdx.x % parts * most;
    const low_rank_block b = low_rank_block_at(&grid, base + number_of);
    const int64_t rest = b.longer - first;
    const int rows = rest < most ? (int)rest : most, k = b.shorter, t = (int)threadIdx.x;
    if (rows <= 0)
        return; /* the same for all threads */
    const number<double> *p = gram + number_of * side * side;
    int64_t *at_column = reinterpret_cast<int64_t *>(memory);
    number<T> *in = reinterpret_cast<number<T> *>(at_column + side + side % 2), *out = in + most * side;
    for (int j = t; j < k; j += THREADS)
        at_column[j] = low_rank_shorter(&grid, &b, j);
    if (t < rows)
        at_row[t] = low_rank_longer(&grid, &b, first + t);
    __syncthreads();
    for (int e = t; e < most * k; e += THREADS) {
        const int l = b.turned ? e / k : e % most, j = b.turned ? e % k : e / most;
        in[l * k + j] = l < rows ? v[at_row[l] + at_column[j]] : number<T>{0, 0};
    }
    __syncthreads();
    const int groups = (most + ROWS_TOGETHER - 1) / ROWS_TOGETHER;
    for (int e = t; e < groups * k; e += THREADS) {
        const int column = e % k, l0 = e / k * ROWS_TOGETHER;
        number<double> sum[ROWS_TOGETHER] = {};
        for (int j = 0; j < k; j++) {
            const number<double> q = p[(int64_t)j * k + column];
#pragma unroll
            for (int i = 0; i < ROWS_TOGETHER; i++) {
                if (l0 + i >= most)
                    break;
                const number<T> x = in[(l0 + i) * k + j];
                sum[i].re += (double)x.re * q.re - (double)x.im * q.im;
                sum[i].im += (double)x.re * q.im + (double)x.im * q.re;
            }
        }
#pragma unroll
        for (int i = 0; i < ROWS_TOGETHER; i++)
            if (l0 + i < most)
                out[(l0 + i) * k + column] = {(T)sum[i].re, (T)sum[i].im};
    }
    __syncthreads();
    for (int e = t; e < most * k; e += THREADS) {
        const int l = b.turned ? e / k : e % most, j = b.turned ? e % k : e / most;
        if (l < rows)
            z[at_row[l] + at_column[j]] = out[l * k + j];
    }
}

/* ---- the plan ---- */

void destroy(vf_low_rank *plan)
{
    cuda_state *s = static_cast<cuda_state *>(plan->state);
    vf_array_free(&s->partial);
    vf_array_free(&s->gram);
    vf_array_free(&s->vectors);
    vf_array_free(&s->sums);
    vf_array_free(&s->host);
    delete[] s->dense;
    delete s;
    plan->state = nullptr;
}

size_t product_bytes(const vf_low_rank *plan, int rows)
{
    return (size_t)(plan->side + plan->side % 2) * sizeof(int64_t) +
           2 * (size_t)rows * (size_t)plan->side * vf_dtype_bytes(plan->type);
}

vf_status create(vf_low_rank *plan)
{
    vf_device *device = plan->device;
    const int64_t square = (int64_t)plan->side * plan->side, all = square * plan->batch;
    const bool on_host = plan->side > HOST_SIDE;
    cuda_state *s = new (std::nothrow) cuda_state();
    if (!s)
        return vf_fail(vf_device_context(device), VF_ERR_MEMORY, "low rank: not enough memory for a plan");
    plan->state = s;
    s->rows = MOST_ROWS;
    while (s->rows > 1 && product_bytes(plan, s->rows) > SHARED)
        s->rows--;
    vf_status status = vf_array_create(device, VF_SPACE_DEVICE, VF_C128, all * plan->segments, &s->partial);
    if (status == VF_OK)
        status = vf_array_create(device, VF_SPACE_DEVICE, VF_C128, all, &s->gram);
    if (status == VF_OK)
        status = vf_array_create(device, VF_SPACE_DEVICE, VF_C128, on_host ? 0 : all, &s->vectors);
    if (status == VF_OK)
        status = vf_array_create(device, VF_SPACE_DEVICE, VF_F64, plan->batch, &s->sums);
    if (status == VF_OK)
        status =
            vf_array_create(device, VF_SPACE_PINNED, on_host ? VF_C128 : VF_F64, on_host ? all : plan->batch, &s->host);
    plan->bytes = 16 * (all * (plan->segments + 1) + s->vectors.count) + 8 * plan->batch;
    if (status == VF_OK && on_host) {
        s->dense = new (std::nothrow) double[2 * (size_t)square + (size_t)plan->side];
        if (!s->dense)
            status = vf_fail(vf_device_context(device), VF_ERR_MEMORY,
                             "low rank: not enough memory for matrices of %d rows", plan->side);
    }
    return status;
}

/* ---- a batch ---- */

struct batch {
    vf_low_rank *plan;
    vf_queue *queue;
    cudaStream_t stream;
    const low_rank_task *task;
    int64_t base;
    int blocks;
};

number<double> *numbers(const vf_array &array)
{
    return static_cast<number<double> *>(array.data);
}

template <typename T>
vf_status launch_grams(const batch &b)
{
    const vf_low_rank *plan = b.plan;
    const cuda_state *s = static_cast<const cuda_state *>(plan->state);
    const unsigned tiles = (unsigned)((plan->side + TILE - 1) / TILE);
    const dim3 grid((unsigned)b.blocks * (unsigned)plan->segments, tiles * (tiles + 1) / 2);
    make_grams<T><<<grid, THREADS, 0, b.stream>>>(b.task->grid, b.base, plan->segments, plan->segment, plan->side,
                                                  static_cast<const number<T> *>(b.task->v), numbers(s->partial));
    const dim3 sums((unsigned)b.blocks, vf_blocks_for((int64_t)plan->side * plan->side, THREADS));
    add_segments<<<sums, THREADS, 0, b.stream>>>(b.task->grid, b.base, plan->segments, plan->segment, plan->side,
                                                 numbers(s->partial), numbers(s->gram));
    return VF_CUDA(plan->device, cudaGetLastError());
}

template <typename T>
vf_status launch_products(const batch &b)
{
    const vf_low_rank *plan = b.plan;
    const cuda_state *s = static_cast<const cuda_state *>(plan->state);
    const low_rank_grid &g = b.task->grid;
    const int64_t voxels = g.block[0] * g.block[1] * g.block[2], longer = voxels > g.frames ? voxels : g.frames;
    const int64_t parts = (longer + s->rows - 1) / s->rows;
    multiply<T><<<vf_blocks_for(b.blocks * parts, 1), THREADS, product_bytes(plan, s->rows), b.stream>>>(
        g, b.base, parts, s->rows, plan->side, static_cast<const number<T> *>(b.task->v), numbers(s->gram),
        static_cast<number<T> *>(b.task->z));
    return VF_CUDA(plan->device, cudaGetLastError());
}

/* The eigenproblems on the host; waits. */
vf_status solve_on_host(const batch &b)
{
    const cuda_state *s = static_cast<const cuda_state *>(b.plan->state);
    const int64_t square = (int64_t)b.plan->side * b.plan->side, all = square * b.blocks;
    vf_array host = s->host, gram = s->gram;
    vf_status status = vf_array_copy(b.queue, &host, &gram, all);
    if (status == VF_OK)
        status = vf_queue_sync(b.queue);
    for (int i = 0; status == VF_OK && i < b.blocks; i++) {
        const int k = low_rank_block_at(&b.task->grid, b.base + i).shorter;
        number<double> *matrix = numbers(host) + i * square;
        double *values = s->dense + 2 * square;
        if (vf_cancelled(vf_device_context(b.plan->device)))
            return vf_fail(vf_device_context(b.plan->device), VF_ERR_CANCELLED, "interrupted");
        if (b.task->z)
            low_rank_weigh(k, b.task->threshold, matrix, s->dense, values);
        else
            *b.task->sum += low_rank_sum(k, matrix, s->dense, values);
    }
    return status == VF_OK && b.task->z ? vf_array_copy(b.queue, &gram, &host, all) : status;
}

vf_status solve(const batch &b)
{
    const vf_low_rank *plan = b.plan;
    const cuda_state *s = static_cast<const cuda_state *>(plan->state);
    if (plan->side > HOST_SIDE)
        return solve_on_host(b);
    const size_t both = 2 * (size_t)plan->side * (size_t)plan->side * sizeof(number<double>);
    const bool in_shared = both <= SHARED;
    double *sums = b.task->z ? nullptr : static_cast<double *>(s->sums.data);
    weigh<<<(unsigned)b.blocks, THREADS, in_shared ? both : 0, b.stream>>>(
        b.task->grid, b.base, plan->side, in_shared, b.task->threshold, numbers(s->gram), numbers(s->vectors), sums);
    vf_status status = VF_CUDA(plan->device, cudaGetLastError());
    if (status != VF_OK || b.task->z)
        return status;
    vf_array host = s->host, of_block = s->sums;
    status = vf_array_copy(b.queue, &host, &of_block, b.blocks);
    if (status == VF_OK)
        status = vf_queue_sync(b.queue);
    for (int i = 0; status == VF_OK && i < b.blocks; i++)
        *b.task->sum += static_cast<const double *>(host.data)[i];
    return status;
}

vf_status execute(vf_low_rank *plan, vf_queue *queue, const low_rank_task *task)
{
    const bool wide = plan->type == VF_C128;
    batch b = {plan, queue, static_cast<cudaStream_t>(vf_queue_native(queue)), task, 0, 0};
    vf_status status = VF_CUDA(plan->device, cudaSetDevice(vf_device_ordinal(plan->device)));
    for (; status == VF_OK && b.base < task->grid.all_blocks; b.base += plan->batch) {
        const int64_t rest = task->grid.all_blocks - b.base;
        b.blocks = rest < plan->batch ? (int)rest : plan->batch;
        status = wide ? launch_grams<double>(b) : launch_grams<float>(b);
        if (status == VF_OK)
            status = solve(b);
        if (status == VF_OK && task->z)
            status = wide ? launch_products<double>(b) : launch_products<float>(b);
    }
    return status;
}

} // namespace

const vf_low_rank_backend vf_low_rank_cuda = {VF_DEVICE_CUDA, create, execute, destroy};
