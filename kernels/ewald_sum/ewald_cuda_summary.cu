/* What the choice of the mesh needs to know of charges in a GPU's memory. A block summarises some charges, and the last
 * kernel adds up the blocks' parts in their order: the same bits in every run. */
#include "ewald_cuda.cuh"

namespace vf_ewald_gpu
{
namespace
{

using namespace vf_bin_order;

enum { CHUNK = 512, BLOCK = 256, POINTS = EWALD_SAMPLES * EWALD_SAMPLES * EWALD_SAMPLES };
static_assert(POINTS <= BLOCK, "a sample in each thread");

struct part {
    double squares, largest, lo[3], hi[3];
    long long wrong; /* the first, or beyond the last */
};

struct result {
    part all;
    double potential[POINTS]; /* at the samples */
    unsigned long long within[EWALD_DISTANCES];
};

struct summary_task {
    vf_grid grid;
    double first[3], step[3]; /* samples of the potential */
    double scale;
    float r_min_squared;
    const double *data; /* x, y, z, charge, each [count] */
    int64_t count;
    bool samples;
};

__device__ inline void join(part *a, const part &b)
{
    a->squares += b.squares;
    a->largest = fmax(a->largest, b.largest);
    for (int i = 0; i < 3; i++) {
        a->lo[i] = fmin(a->lo[i], b.lo[i]);
        a->hi[i] = fmax(a->hi[i], b.hi[i]);
    }
    a->wrong = a->wrong < b.wrong ? a->wrong : b.wrong;
}

__device__ inline part empty_part(const summary_task &task)
{
    part p = {};
    for (int a = 0; a < 3; a++) {
        p.lo[a] = task.grid.origin[a];
        p.hi[a] = ewald_far_end(&task.grid, a);
    }
    p.wrong = task.count;
    return p;
}

/* parts[0] = the join of all threads' parts. */
__device__ inline void join_block(part *parts)
{
    for (int half = BLOCK / 2; half > 0; half /= 2) {
        __syncthreads();
        if ((int)threadIdx.x < half)
            join(&parts[threadIdx.x], parts[threadIdx.x + half]);
    }
    __syncthreads();
}

__global__ void __launch_bounds__(BLOCK)
    summarise_chunks(const summary_task task, part *parts, float *potentials, result *out)
{
    __shared__ part shared[BLOCK];
    __shared__ float4 charges[CHUNK];
    __shared__ unsigned within[EWALD_DISTANCES];
    if (threadIdx.x < EWALD_DISTANCES)
        within[threadIdx.x] = 0;
    __syncthreads();
    part own = empty_part(task);
    for (int i = threadIdx.x; i < CHUNK; i += BLOCK) {
        const int64_t n = (int64_t)blockIdx.x * CHUNK + i;
        charges[i] = {0, 0, 0, 0};
        if (n >= task.count)
            continue;
        const double q = task.data[3 * task.count + n],
                     r[3] = {task.data[n], task.data[task.count + n], task.data[2 * task.count + n]};
        if (!ewald_in_range(r, q * task.scale)) {
            own.wrong = own.wrong < n ? own.wrong : n;
            continue;
        }
        const part one = {q * q, fabs(q), {r[0], r[1], r[2]}, {r[0], r[1], r[2]}, task.count};
        join(&own, one);
        atomicAdd(&within[ewald_distance_class(&task.grid, r)], 1u);
        charges[i] = {(float)(r[0] - task.first[0]), (float)(r[1] - task.first[1]), (float)(r[2] - task.first[2]),
                      (float)q};
    }
    shared[threadIdx.x] = own;
    join_block(shared);
    if (threadIdx.x == 0)
        parts[blockIdx.x] = shared[0];
    if (threadIdx.x < EWALD_DISTANCES && within[threadIdx.x] > 0)
        atomicAdd(&out->within[threadIdx.x], (unsigned long long)within[threadIdx.x]);
    if (!task.samples || threadIdx.x >= POINTS)
        return;
    const int n = threadIdx.x;
    const float x = (float)task.step[0] * (float)(n % EWALD_SAMPLES),
                y = (float)task.step[1] * (float)(n / EWALD_SAMPLES % EWALD_SAMPLES),
                z = (float)task.step[2] * (float)(n / EWALD_SAMPLES / EWALD_SAMPLES);
    float sum = 0;
#pragma unroll 8
    for (int i = 0; i < CHUNK; i++) {
        const float4 c = charges[i];
        const float dx = x - c.x, dy = y - c.y, dz = z - c.z;
        sum += c.w * rsqrtf(fmaxf(dx * dx + dy * dy + dz * dz, task.r_min_squared));
    }
    potentials[(int64_t)blockIdx.x * POINTS + n] = sum;
}

__global__ void __launch_bounds__(BLOCK)
    join_parts(const summary_task task, int64_t blocks, const part *parts, const float *potentials, result *out)
{
    __shared__ part shared[BLOCK];
    part own = empty_part(task);
    double sum = 0;
    for (int64_t b = threadIdx.x; b < blocks; b += BLOCK)
        join(&own, parts[b]);
    if (task.samples && threadIdx.x < POINTS)
#pragma unroll 8
        for (int64_t b = 0; b < blocks; b++)
            sum += potentials[b * POINTS + threadIdx.x];
    if (threadIdx.x < POINTS)
        out->potential[threadIdx.x] = sum;
    shared[threadIdx.x] = own;
    join_block(shared);
    if (threadIdx.x == 0)
        out->all = shared[0];
}

} // namespace

vf_status summarise(ewald_loaded *loaded, const vf_grid *grid, const vf_ewald_options *options, ewald_summary *out)
{
    vf_device *device = vf_queue_device(loaded->queue);
    const cudaStream_t stream = stream_of(loaded->queue);
    const int64_t count = loaded->data.count / 4, blocks = (count + CHUNK - 1) / CHUNK;
    summary_task task = {};
    task.grid = *grid;
    for (int a = 0; a < 3; a++) {
        task.first[a] = ewald_sample(grid, a, 0);
        task.step[a] = ewald_sample(grid, a, 1) - task.first[a];
    }
    task.scale = options->scale;
    task.r_min_squared = (float)(options->r_min * options->r_min);
    task.data = data_of<double>(loaded->data);
    task.count = count;
    task.samples = grid->cell.kind == VF_CELL_NONE;
    vf_stream_memory memory;
    vf_array parts = {}, potentials = {}, there = {};
    result r = {};
    vf_status status = vf_stream_memory_begin(loaded->queue, &memory);
    if (status == VF_OK)
        status = vf_stream_memory_take(&memory, VF_U8, blocks * (int64_t)sizeof(part), &parts);
    if (status == VF_OK)
        status = vf_stream_memory_take(&memory, VF_F32, blocks * POINTS, &potentials);
    if (status == VF_OK)
        status = vf_stream_memory_take(&memory, VF_U8, (int64_t)sizeof(result), &there);
    if (status == VF_OK)
        status = VF_CUDA(device, cudaMemsetAsync(there.data, 0, sizeof(result), stream));
    if (status == VF_OK && blocks > 0)
        summarise_chunks<<<(unsigned)blocks, BLOCK, 0, stream>>>(task, data_of<part>(parts), data_of<float>(potentials),
                                                                 data_of<result>(there));
    if (status == VF_OK) {
        join_parts<<<1, BLOCK, 0, stream>>>(task, blocks, data_of<part>(parts), data_of<float>(potentials),
                                            data_of<result>(there));
        status = vf_cuda_check(device, cudaGetLastError(), "summarising charges");
    }
    if (status == VF_OK)
        status = vf_queue_copy(loaded->queue, &r, there.data, sizeof r);
    vf_stream_memory_free(&memory);
    status = finish(loaded->queue, status);
    out->squares = r.all.squares;
    out->largest = r.all.largest;
    out->wrong = r.all.wrong < count ? r.all.wrong : -1;
    out->rms = ewald_rms_of_samples(r.potential);
    for (int a = 0; a < 3; a++) {
        out->lo[a] = r.all.lo[a];
        out->hi[a] = r.all.hi[a];
    }
    for (int n = 0; n < EWALD_DISTANCES; n++)
        out->within[n] = (int64_t)r.within[n];
    return status;
}

} // namespace vf_ewald_gpu
