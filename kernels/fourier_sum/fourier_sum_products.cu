/* The adjoint on a grid as a matrix product on tensor cores, in single precision, without off-resonance.
 *
 * On a grid exp(i 2 pi k.r) separates. In a run of voxels along x, those at -+h from its middle, h = 1/2, 3/2, ...,
 * make pairs (as in fourier_sum_lattice.cu). With w = c exp(i 2 pi k.r) at the middle of a run and
 * E_h = exp(i 2 pi k_x h), the sums over samples
 *     A = sum Re w Re E    B = sum Im w Im E    C = sum Re w Im E    D = sum Im w Re E
 * are a product of real matrices, (2 runs) x samples times samples x (voxels of a run), and
 *     y(+h) = (A - B, C + D)    y(-h) = (A + B, D - C).
 *
 * Tensor cores multiply numbers of 11 bits, so each factor is the sum of two such numbers. A power of two scales w to
 * use their range. hi hi + hi lo + lo hi is accurate to 2^-22, as good as single precision. Tensor cores truncate sums
 * instead of rounding, so they sum over CHUNK samples only. These sums are added up in single precision and, after
 * FLUSH_PRODUCTS samples, in double. After Ootomo and Yokota, Int. J. High Perform. Comput. Appl. 36 (2022) 475.
 *
 * Work and its limits: a pair takes 6 multiply-adds of tensor cores (2 of real numbers, three products each). For a
 * chunk a warp starts 192 matrix instructions (16 x 8 x 16, 16 n-tiles), 128 additions to its sums, 36 loads of 16
 * bytes a lane from shared memory and some 200 others for w. A multiprocessor can start twice as many meanwhile.
 */
#include <cuda_fp16.h>
#include <cuda_pipeline.h>

#include "backend/launch_blocks.h"
#include "fourier_sum_cuda.cuh"

namespace vf_fourier_gpu
{
namespace
{

/* A thread block has BLOCK_TILES tiles of ROWS neighbouring runs along y; a warp has WARP_TILES of them. */
enum {
    ROWS = 8,
    WARPS = 8,
    WARP_TILES = 2,
    BLOCK_TILES = WARPS * WARP_TILES,
    BLOCK_THREADS = 32 * WARPS,
    STEP = 16, /* samples of a matrix instruction */
    CHUNK = 32,
    STEPS = CHUNK / STEP,
    QUADS = CHUNK / 4,
    TOGETHER = 2, /* n-tiles whose products alternate, so that none waits for its last result */
    FLUSH_PRODUCTS = 8192,
    SEGMENT = 65536, /* samples of a launch */
    SPLIT_SAMPLES = 128,
    MOST_SPLITS = 64
};

struct products_task {
    const lattice_wave *waves;
    const uint4 *factors;  /* of the segment: [chunks][STEPS][n-tiles][lanes] */
    const unsigned *peaks; /* [coils] */
    const float *c;        /* [coils][samples] */
    float *y;              /* [coils][end - first] */
    double *partial;
    int64_t samples, begin, end, split; /* samples: the segment is [begin, end), a part has `split` */
    int64_t counts[3], tiles_y, x_tiles, row_blocks;
    int64_t first_x_tile, first_tile, last_tile, first_group;
    int64_t first, last; /* voxels requested, [first, last) */
};

/* The work of a thread block. */
struct products_place {
    int64_t coil, x_tile, first_tile;
};

__device__ products_place place_of(const products_task &task, int64_t group)
{
    return {group / task.row_blocks / task.x_tiles, task.first_x_tile + group / task.row_blocks % task.x_tiles,
            task.first_tile + group % task.row_blocks * BLOCK_TILES};
}

/* The exponent of the power of two that scales c, so that the largest part is about 2^13. */
__device__ int scale_exponent(unsigned peak)
{
    const int exponent = (int)(peak >> 23);
    return exponent == 255 || peak == 0 ? 0 : min(13 - (exponent - 127), 126);
}

__global__ void find_peaks(const float *__restrict__ c, int64_t samples, unsigned *peaks)
{
    unsigned most = 0; /* absolute values sort like their bits */
    const float *of_coil = c + 2 * blockIdx.y * samples;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < 2 * samples;
         i += (int64_t)gridDim.x * blockDim.x)
        most = max(most, __float_as_uint(of_coil[i]) & 0x7fffffffu);
    for (int by = 16; by > 0; by /= 2)
        most = max(most, __shfl_xor_sync(0xffffffffu, most, by));
    if (threadIdx.x % 32 == 0)
        atomicMax(peaks + blockIdx.y, most);
}

__device__ float turns_of(uint64_t phase)
{
    return (float)(int32_t)(uint32_t)((phase + ((uint64_t)1 << 31)) >> 32) * 0x1p-32f;
}

/* Two numbers as hi + lo. */
struct split_pair {
    unsigned hi, lo;
};

__device__ split_pair split_two(float a, float b)
{
    const __half2 hi = __floats2half2_rn(a, b);
    const float2 back = __half22float2(hi);
    const __half2 lo = __floats2half2_rn(a - back.x, b - back.y);
    split_pair s;
    memcpy(&s.hi, &hi, sizeof hi);
    memcpy(&s.lo, &lo, sizeof lo);
    return s;
}

/* E_h of a segment, in the layout of a warp's lanes. Lane 4 g + t has samples 4 t to 4 t + 3 of a step, for column g of
 * an n-tile. This is Re E (g even) or Im E (g odd) for h = floor(g / 2) + 4 n-tile + 1/2. */
__global__ void fill_factors(const lattice_wave *__restrict__ waves, int64_t begin, int64_t end, int n_tiles,
                             uint4 *__restrict__ factors)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    const int lane = (int)(i % 32), n_tile = (int)(i / 32 % n_tiles);
    const int64_t first = begin + i / 32 / n_tiles * STEP + lane % 4 * 4;
    const int column = lane / 4, h = 4 * n_tile + column / 2;
    if (first - lane % 4 * 4 >= end + CHUNK) /* steps past the end fill up the last chunk with 0 */
        return;
    float e[4];
#pragma unroll
    for (int s = 0; s < 4; s++) {
        float sine = 0, cosine = 0;
        if (first + s < end)
            sincospif(2 * turns_of((uint64_t)(2 * h + 1) * waves[first + s].half[0]), &sine, &cosine);
        e[s] = column % 2 ? sine : cosine;
    }
    const split_pair a = split_two(e[0], e[1]), b = split_two(e[2], e[3]);
    factors[i] = {a.hi, b.hi, a.lo, b.lo};
}

/* A thread block's data of a chunk in shared memory: E_h; exp(i 2 pi k_y row); c exp(i 2 pi k.r) at the first run of
 * each tile. The padding of a tile's row avoids bank conflicts. */
template <int N>
struct __align__(16) product_stage
{
    uint4 factors[STEPS][N][32];
    float4 row_re[QUADS][ROWS], row_im[QUADS][ROWS];
    float4 tile_re[BLOCK_TILES][QUADS + 1], tile_im[BLOCK_TILES][QUADS + 1];
};

/* Samples of a chunk, as loaded from global memory. */
struct __align__(16) raw_samples
{
    lattice_wave waves[CHUNK];
    float2 c[CHUNK];
};

template <int N>
struct products_shared {
    product_stage<N> stages[2];
    raw_samples raw[2];
    uint64_t tile_y[BLOCK_TILES], tile_z[BLOCK_TILES];
};

/* sum += a b for a 16 x 16 (row), b 16 x 8 (column). */
__device__ void multiply(float (&sum)[4], const unsigned (&a)[4], unsigned b0, unsigned b1)
{
#if __CUDA_ARCH__ >= 800
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#endif
}

template <int N>
struct products_block {
    enum { SUMS = WARP_TILES * N * 4 }; /* of a thread */
    const products_task &task;
    const products_place &place;
    products_shared<N> &shared;
    int64_t begin, end; /* samples */
    int scale;

    /* Samples beyond the end are 0. */
    __device__ void send_for_samples(int64_t chunk) const
    {
        raw_samples &to = shared.raw[chunk % 2];
        const int s = (int)threadIdx.x % CHUNK, part = (int)threadIdx.x / CHUNK;
        const int64_t m = begin + chunk * CHUNK + s;
        const bool is_there = m < end;
        if (part < 2)
            __pipeline_memcpy_async(reinterpret_cast<uint4 *>(&to.waves[s]) + part,
                                    reinterpret_cast<const uint4 *>(task.waves + (is_there ? m : begin)) + part, 16,
                                    is_there ? 0 : 16);
        else if (part == 2)
            __pipeline_memcpy_async(&to.c[s], task.c + 2 * (place.coil * task.samples + (is_there ? m : begin)), 8,
                                    is_there ? 0 : 8);
    }

    /* A thread computes one of the ROWS phasors of a sample, and its values at two tiles. */
    __device__ void stage_phasors(int64_t chunk) const
    {
        product_stage<N> &to = shared.stages[chunk % 2];
        const int s = (int)threadIdx.x / ROWS, part = (int)threadIdx.x % ROWS, quad = s / 4, in_quad = s % 4;
        const lattice_wave w = shared.raw[chunk % 2].waves[s];
        const float2 c = shared.raw[chunk % 2].c[s];
        const float re = ldexpf(c.x, scale), im = ldexpf(c.y, scale);
        const uint64_t middle = w.origin + (uint64_t)((2 * place.x_tile + 1) * 8 * N - 1) * w.half[0];
        float sine, cosine;
        sincospif(2 * turns_of((uint64_t)(2 * part) * w.half[1]), &sine, &cosine);
        reinterpret_cast<float *>(&to.row_re[quad][part])[in_quad] = cosine;
        reinterpret_cast<float *>(&to.row_im[quad][part])[in_quad] = sine;
#pragma unroll
        for (int tile = part; tile < BLOCK_TILES; tile += ROWS) {
            const uint64_t p = middle + 2 * (shared.tile_y[tile] * w.half[1] + shared.tile_z[tile] * w.half[2]);
            sincospif(2 * turns_of(p), &sine, &cosine);
            reinterpret_cast<float *>(&to.tile_re[tile][quad])[in_quad] = re * cosine - im * sine;
            reinterpret_cast<float *>(&to.tile_im[tile][quad])[in_quad] = re * sine + im * cosine;
        }
    }

    __device__ void send_for_factors(int64_t chunk) const
    {
        const uint4 *from = task.factors + ((begin - task.begin) / CHUNK + chunk) * STEPS * N * 32;
        uint4 *at = &shared.stages[chunk % 2].factors[0][0][0];
#pragma unroll
        for (int i = 0; i < STEPS * N * 32; i += BLOCK_THREADS)
            if (STEPS * N * 32 % BLOCK_THREADS == 0 || i + (int)threadIdx.x < STEPS * N * 32)
                __pipeline_memcpy_async(at + i + threadIdx.x, from + i + threadIdx.x, sizeof(uint4));
    }

    /* Adds a chunk's products to the sums. */
    __device__ void add_chunk(const product_stage<N> &from, float (&sum)[WARP_TILES][N][4]) const
    {
        const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32, g = lane / 4, t = lane % 4;
        unsigned hi[WARP_TILES][STEPS][4], lo[WARP_TILES][STEPS][4];
#pragma unroll
        for (int k = 0; k < STEPS; k++) {
            const int quad = 4 * k + t;
            const float4 r = from.row_re[quad][g], i = from.row_im[quad][g];
#pragma unroll
            for (int tile = 0; tile < WARP_TILES; tile++) {
                const float4 p = from.tile_re[WARP_TILES * warp + tile][quad],
                             q = from.tile_im[WARP_TILES * warp + tile][quad];
                const split_pair parts[4] = {split_two(p.x * r.x - q.x * i.x, p.y * r.y - q.y * i.y),
                                             split_two(p.x * i.x + q.x * r.x, p.y * i.y + q.y * r.y),
                                             split_two(p.z * r.z - q.z * i.z, p.w * r.w - q.w * i.w),
                                             split_two(p.z * i.z + q.z * r.z, p.w * i.w + q.w * r.w)};
#pragma unroll
                for (int a = 0; a < 4; a++) {
                    hi[tile][k][a] = parts[a].hi;
                    lo[tile][k][a] = parts[a].lo;
                }
            }
        }
        float part[2][TOGETHER][WARP_TILES][4]; /* added to the sums during the next products */
#pragma unroll
        for (int n = 0; n < N; n += TOGETHER) {
            float(&now)[TOGETHER][WARP_TILES][4] = part[n / TOGETHER % 2];
            uint4 e[STEPS][TOGETHER];
#pragma unroll
            for (int k = 0; k < STEPS; k++)
#pragma unroll
                for (int i = 0; i < TOGETHER; i++)
                    e[k][i] = from.factors[k][n + i][lane];
#pragma unroll
            for (int i = 0; i < TOGETHER * WARP_TILES * 4; i++)
                (&now[0][0][0])[i] = 0;
                /* small products first */
#pragma unroll
            for (int product = 0; product < 3; product++)
#pragma unroll
                for (int k = 0; k < STEPS; k++)
#pragma unroll
                    for (int i = 0; i < TOGETHER; i++)
#pragma unroll
                        for (int tile = 0; tile < WARP_TILES; tile++)
                            multiply(now[i][tile], product == 0 ? lo[tile][k] : hi[tile][k],
                                     product == 1 ? e[k][i].z : e[k][i].x, product == 1 ? e[k][i].w : e[k][i].y);
            if (n > 0)
                add(sum, n - TOGETHER, part[(n / TOGETHER + 1) % 2]);
        }
        add(sum, N - TOGETHER, part[(N / TOGETHER + 1) % 2]);
    }

  private:
    __device__ static void add(float (&sum)[WARP_TILES][N][4], int n, const float (&part)[TOGETHER][WARP_TILES][4])
    {
#pragma unroll
        for (int i = 0; i < TOGETHER; i++)
#pragma unroll
            for (int tile = 0; tile < WARP_TILES; tile++)
#pragma unroll
                for (int q = 0; q < 4; q++)
                    sum[tile][n + i][q] += part[i][tile][q];
    }
};

template <int N>
__global__ void __launch_bounds__(BLOCK_THREADS, 1) products_kernel(const products_task task)
{
    __shared__ products_shared<N> shared;
    const products_place place = place_of(task, task.first_group + blockIdx.x);
    const int64_t begin = min(task.begin + blockIdx.y * task.split, task.end), end = min(begin + task.split, task.end);
    const products_block<N> block = {task, place, shared, begin, end, scale_exponent(task.peaks[place.coil])};
    const int64_t chunks = (end - begin + CHUNK - 1) / CHUNK;
    double *partial = task.partial +
                      (int64_t)(blockIdx.x * gridDim.y + blockIdx.y) * products_block<N>::SUMS * BLOCK_THREADS +
                      threadIdx.x;
    float sum[WARP_TILES][N][4] = {};
    bool fresh = task.begin == 0, pending = fresh;
    if (threadIdx.x < BLOCK_TILES) {
        const int64_t tile = place.first_tile + threadIdx.x;
        shared.tile_y[threadIdx.x] = (uint64_t)(tile % task.tiles_y * ROWS);
        shared.tile_z[threadIdx.x] = (uint64_t)(tile / task.tiles_y);
    }
    /* Samples are loaded two chunks ahead of their products, factors and phasors one chunk ahead. */
    for (int64_t chunk = -2; chunk <= chunks; chunk++) {
        __pipeline_wait_prior(0);
        __syncthreads(); /* staged data is complete, and no thread reads the chunk before */
        if (chunk + 2 < chunks)
            block.send_for_samples(chunk + 2);
        if (chunk >= -1 && chunk + 1 < chunks) {
            block.send_for_factors(chunk + 1);
            block.stage_phasors(chunk + 1);
        }
        __pipeline_commit();
        if (chunk < 0)
            continue;
        if (chunk < chunks) {
            block.add_chunk(shared.stages[chunk % 2], sum);
            pending = true;
        }
        if (pending && (chunk >= chunks - 1 || (chunk + 1) % (FLUSH_PRODUCTS / CHUNK) == 0)) {
#pragma unroll
            for (int a = 0; a < products_block<N>::SUMS; a++) {
                float &mine = sum[a / 4 / N][a / 4 % N][a % 4];
                double *to = partial + a * BLOCK_THREADS;
                *to = (fresh ? 0 : *to) + (double)mine;
                mine = 0;
            }
            pending = fresh = false;
        }
    }
}

/* Adds up the splits and writes the requested voxels. Each tile of a warp and each n-tile has a thread block. */
template <int N>
__global__ void __launch_bounds__(BLOCK_THREADS) products_finish(const products_task task, int splits)
{
    const products_place place = place_of(task, task.first_group + blockIdx.x);
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32, tile = (int)blockIdx.y / N,
              n = (int)blockIdx.y % N;
    const int64_t number = place.first_tile + WARP_TILES * warp + tile;
    const int64_t y = number % task.tiles_y * ROWS + lane / 4, z = number / task.tiles_y;
    if (number > task.last_tile || y >= task.counts[1])
        return;
    const double unscale = ldexp(1.0, -scale_exponent(task.peaks[place.coil]));
    const double *partial = task.partial +
                            ((int64_t)blockIdx.x * splits * products_block<N>::SUMS + 4 * blockIdx.y) * BLOCK_THREADS +
                            threadIdx.x;
    double sum[4] = {};
    for (int s = 0; s < splits; s++)
        for (int q = 0; q < 4; q++)
            sum[q] += partial[((int64_t)s * products_block<N>::SUMS + q) * BLOCK_THREADS];
    const int h = 4 * n + lane % 4;
    for (int side = 0; side < 2; side++) {
        const int64_t x = place.x_tile * 8 * N + (side ? 4 * N + h : 4 * N - 1 - h);
        const int64_t at = (z * task.counts[1] + y) * task.counts[0] + x;
        if (x >= task.counts[0] || at < task.first || at >= task.last)
            continue;
        float *to = task.y + 2 * (place.coil * (task.last - task.first) + at - task.first);
        to[0] = (float)(unscale * (side ? sum[0] - sum[3] : sum[0] + sum[3]));
        to[1] = (float)(unscale * (side ? sum[1] + sum[2] : sum[2] - sum[1]));
    }
}

/* ---- host side ---- */

int64_t divide_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

size_t slot_bytes(int n_tiles)
{
    return (size_t)(WARP_TILES * n_tiles * 4 * BLOCK_THREADS) * sizeof(double);
}

int64_t segment_samples(const vf_fourier *plan)
{
    const int64_t samples = divide_up(plan->samples, CHUNK) * CHUNK;
    return samples < SEGMENT ? samples : (int64_t)SEGMENT;
}

/* The width of tiles along x, in n-tiles, with the fewest voxels beyond the grid. */
int choose_width(int64_t count)
{
    int best = 16;
    for (int n = 12; n >= 4; n -= 4)
        if (divide_up(count, 8 * n) * n < divide_up(count, 8 * best) * best)
            best = n;
    return best;
}

/* The number of parts of a segment that keeps all multiprocessors busy to the end. Each part costs the time of its
 * samples and of SPLIT_SAMPLES more. Depends only on the plan and the GPU. */
int choose_splits(const vf_fourier *plan, int64_t groups)
{
    const int64_t multiprocessors = state_of(plan)->wave_blocks / 8, segment = segment_samples(plan);
    int best = 1;
    int64_t least = INT64_MAX;
    for (int splits = 1; splits <= MOST_SPLITS; splits++) {
        const int64_t rounds = divide_up(groups * splits, multiprocessors);
        const int64_t cost = rounds * (divide_up(segment, splits) + SPLIT_SAMPLES);
        if (cost < least) {
            best = splits;
            least = cost;
        }
    }
    return best;
}

template <int N>
cudaError_t products_batch(const vf_fourier *plan, cudaStream_t stream, int batch, products_task task)
{
    const state *s = state_of(plan);
    const int64_t whole_tiles = task.tiles_y * task.counts[2];
    const int splits = choose_splits(plan, divide_up(whole_tiles, BLOCK_TILES) * divide_up(task.counts[0], 8 * N));
    const int64_t groups = task.row_blocks * task.x_tiles * batch, slots = (int64_t)(s->partial_bytes / slot_bytes(N));
    const int64_t at_once = slots / splits > 0 ? slots / splits : 1, segment = segment_samples(plan);
    const int64_t entries = segment / STEP * N * 32;
    task.split = divide_up(divide_up(segment, splits), CHUNK) * CHUNK;
    for (task.first_group = 0; task.first_group < groups; task.first_group += at_once) {
        const unsigned blocks = (unsigned)(groups - task.first_group < at_once ? groups - task.first_group : at_once);
        for (task.begin = 0; task.begin == 0 || task.begin < plan->samples; task.begin += segment) {
            task.end = task.begin + segment < plan->samples ? task.begin + segment : plan->samples;
            fill_factors<<<vf_blocks_for(entries, 256), 256, 0, stream>>>(task.waves, task.begin, task.end, N,
                                                                          s->factors);
            products_kernel<N><<<dim3(blocks, splits), BLOCK_THREADS, 0, stream>>>(task);
            if (segment == 0)
                break;
        }
        products_finish<N><<<dim3(blocks, WARP_TILES * N), BLOCK_THREADS, 0, stream>>>(task, splits);
    }
    return cudaGetLastError();
}

} // namespace

bool products_possible(const vf_fourier *plan)
{
    int major = 0;
    return plan->has_grid && !plan->has_field && plan->options.precision == VF_F32 && plan->samples > 0 &&
           cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, vf_device_ordinal(plan->device)) ==
               cudaSuccess &&
           major >= 8;
}

bool products_pay(const vf_fourier *plan)
{
    const double width = 8 * choose_width(plan->grid.counts[0]);
    const double tiles = (double)divide_up(plan->grid.counts[1], ROWS) * (double)plan->grid.counts[2];
    const double rows = ceil(tiles / BLOCK_TILES) * (BLOCK_TILES * ROWS);
    return ceil((double)plan->grid.counts[0] / width) * width * rows <= 4 * (double)plan->voxels;
}

cudaError_t products_prepare(const vf_fourier *plan, state *s)
{
    const int n_tiles = choose_width(plan->grid.counts[0]);
    cudaError_t error = cudaMalloc(&s->factors, (size_t)(segment_samples(plan) / STEP * n_tiles * 32) * sizeof(uint4));
    return error == cudaSuccess ? cudaMalloc(&s->peaks, (size_t)plan->most_batch * sizeof *s->peaks) : error;
}

cudaError_t products_adjoint(const vf_fourier *plan, cudaStream_t stream, int batch, const float *c, int64_t first,
                             int64_t count, float *y)
{
    const state *s = state_of(plan);
    const int n_tiles = choose_width(plan->grid.counts[0]);
    products_task task = {};
    task.waves = s->points.lattice;
    task.factors = s->factors;
    task.peaks = s->peaks;
    task.c = c;
    task.y = y;
    task.partial = s->partial;
    task.samples = plan->samples;
    for (int a = 0; a < 3; a++)
        task.counts[a] = plan->grid.counts[a];
    task.tiles_y = divide_up(task.counts[1], ROWS);
    task.x_tiles = divide_up(task.counts[0], 8 * n_tiles);
    task.first = first;
    task.last = first + count;
    const int64_t row = first / task.counts[0], last_row = (first + count - 1) / task.counts[0];
    task.first_tile = row / task.counts[1] * task.tiles_y + row % task.counts[1] / ROWS;
    task.last_tile = last_row / task.counts[1] * task.tiles_y + last_row % task.counts[1] / ROWS;
    task.row_blocks = divide_up(task.last_tile - task.first_tile + 1, BLOCK_TILES);
    if (row == last_row) {
        task.first_x_tile = first % task.counts[0] / (8 * n_tiles);
        task.x_tiles = (first + count - 1) % task.counts[0] / (8 * n_tiles) - task.first_x_tile + 1;
    }
    const cudaError_t error = cudaMemsetAsync(s->peaks, 0, (size_t)batch * sizeof *s->peaks, stream);
    if (error != cudaSuccess)
        return error;
    const int64_t blocks = divide_up(2 * plan->samples, 1024);
    find_peaks<<<dim3((unsigned)(blocks < 256 ? blocks : 256), (unsigned)batch), 256, 0, stream>>>(c, plan->samples,
                                                                                                   s->peaks);
    switch (n_tiles) {
    case 4:
        return products_batch<4>(plan, stream, batch, task);
    case 8:
        return products_batch<8>(plan, stream, batch, task);
    case 12:
        return products_batch<12>(plan, stream, batch, task);
    default:
        return products_batch<16>(plan, stream, batch, task);
    }
}

} // namespace vf_fourier_gpu
