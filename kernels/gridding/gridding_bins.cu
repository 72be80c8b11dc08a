/* Bins samples on a GPU and cuts the tiles' samples into runs. The kernels here do the work per sample, tile and run;
 * libcore's sort, scan and gather do the rest. */
#include "backend/bin_order.cuh"
#include "gridding_bins.h"
#include "gridding_locate.h"
#include "voxfield/copy.h"
#include "voxfield/scan.h"

namespace
{

using namespace vf_bin_order;

int64_t total_tiles(const gridding_tiles *tiles)
{
    return tiles->count[0] * tiles->count[1] * tiles->count[2];
}

/* ---- samples ---- */

struct bin_task {
    gridding_axis axis[3];
    gridding_tiles tiles;
    const float *k;      /* [samples][3] */
    const double *exact; /* the same in double precision, in place of k; or NULL */
    int64_t samples;
    int32_t *not_finite; /* set if a position is not finite */
};

/* The first planes that kernels can have in a tile, times the first x; in two dimensions samples are not sorted by them. */
__host__ __device__ inline int64_t starts_in_tile(const gridding_tiles &tiles)
{
    return tiles.size[2] > 1 ? tiles.size[2] * tiles.size[0] : 1;
}

__device__ inline int64_t start_in_tile(const gridding_tiles &tiles, const gridding_place &place)
{
    return tiles.size[2] > 1 ? place.start[2] % tiles.size[2] * tiles.size[0] + place.start[0] % tiles.size[0] : 0;
}

__device__ inline void load_position(const bin_task &task, int64_t m, double k[3])
{
    for (int a = 0; a < 3; a++)
        k[a] = task.exact ? task.exact[3 * m + a] : task.k[3 * m + a];
}

__global__ void find_tiles(const bin_task task, uint32_t *keys, uint32_t *numbers)
{
    const int64_t m = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (m >= task.samples)
        return;
    double k[3];
    load_position(task, m, k);
    bool finite = true;
    for (int a = 0; a < 3; a++)
        finite = finite && (task.axis[a].grid == 1 || isfinite(k[a]));
    keys[m] = 0;
    numbers[m] = (uint32_t)m;
    if (finite) {
        const gridding_place place = gridding_locate_exact(task.axis, k);
        keys[m] = (uint32_t)(gridding_tile_of(&task.tiles, &place) * starts_in_tile(task.tiles) +
                             start_in_tile(task.tiles, place));
    } else {
        *task.not_finite = 1;
    }
}

/* `Sample` has offsets of type `T`. */
template <typename T, typename Sample>
__global__ void write_records(const bin_task task, const uint32_t *index, Sample *sorted)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= task.samples)
        return;
    const int64_t m = index[i];
    double k[3];
    load_position(task, m, k);
    const gridding_place place = gridding_locate_exact(task.axis, k);
    Sample sample = {};
    for (int a = 0; a < 3; a++) {
        sample.offset[a] = (T)place.offset[a];
        sample.start[a] = (int16_t)place.start[a];
    }
    sample.index = (uint32_t)m;
    sorted[i] = sample;
}

/* Makes the sorted records and where tiles begin. */
vf_status sort_samples(const vf_nufft *plan, vf_stream_memory *memory, const bin_task &task, gridding_bins *out)
{
    vf_queue *queue = memory->queue;
    const bool is_double = plan->real == VF_F64;
    const int64_t bytes =
        task.samples * (int64_t)(is_double ? sizeof(gridding_sample_f64) : sizeof(gridding_sample_f32));
    const unsigned blocks = vf_blocks_for(task.samples, THREADS);
    const cudaStream_t stream = stream_of(queue);
    ordering order;
    vf_status status = take_ordering(memory, task.samples, &order);
    if (status == VF_OK)
        status = vf_lasting_create(queue, VF_U8, bytes, &out->samples);
    if (status == VF_OK)
        status = vf_lasting_create(queue, VF_I32, total_tiles(&task.tiles) + 1, &out->first);
    if (status == VF_OK && blocks > 0)
        find_tiles<<<blocks, THREADS, 0, stream>>>(task, data_of<uint32_t>(order.keys),
                                                   data_of<uint32_t>(order.numbers));
    if (status == VF_OK)
        status = sort_by_key(queue, total_tiles(&task.tiles) * starts_in_tile(task.tiles), &order);
    if (status == VF_OK)
        status = make_first(queue, &order, total_tiles(&task.tiles), &out->first, starts_in_tile(task.tiles));
    if (status != VF_OK || blocks == 0)
        return status;
    const uint32_t *index = data_of<uint32_t>(order.sorted_numbers);
    if (is_double)
        write_records<double><<<blocks, THREADS, 0, stream>>>(task, index, data_of<gridding_sample_f64>(out->samples));
    else
        write_records<float><<<blocks, THREADS, 0, stream>>>(task, index, data_of<gridding_sample_f32>(out->samples));
    return vf_cuda_check(plan->device, cudaGetLastError(), "writing sorted samples");
}

/* ---- runs ---- */

/* As many runs as keep a GPU busy. With more samples than this many pieces, runs have several pieces. */
enum { MANY_RUNS = 4096 };

struct run_task {
    const uint32_t *first;  /* [tiles + 1] samples before each tile's */
    int64_t tiles, in_run;  /* in_run: samples of a full run */
    int32_t *runs, *splits; /* [tiles + 1] runs of each tile, and 1 if there are several; then their exclusive sums */
};

__global__ void count_runs(const run_task task)
{
    const int64_t t = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (t > task.tiles)
        return;
    const int64_t samples = t < task.tiles ? task.first[t + 1] - task.first[t] : 0;
    task.runs[t] = (int32_t)((samples + task.in_run - 1) / task.in_run);
    task.splits[t] = task.runs[t] > 1;
}

__global__ void list_tiles(const run_task task, int32_t *tile_run, gridding_split *splits)
{
    const int64_t t = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= task.tiles)
        return;
    const int32_t first = task.runs[t], runs = task.runs[t + 1] - first;
    tile_run[t] = runs > 0 ? first : -1;
    if (runs > 1)
        splits[task.splits[t]] = {first, runs};
}

/* One thread per run of a chunk. The fuller a run, the smaller its key; chunks do not mix. */
__global__ void write_runs(const run_task task, const gridding_chunk chunk, int number, gridding_run *run,
                           uint32_t *keys, uint32_t *numbers)
{
    const int64_t i = chunk.first_run + (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= chunk.end_run)
        return;
    int64_t t = chunk.first_tile, high = chunk.end_tile - 1; /* find the last tile whose runs begin at i or before */
    while (t < high) {
        const int64_t middle = (t + high + 1) / 2;
        if (task.runs[middle] <= i)
            t = middle;
        else
            high = middle - 1;
    }
    const int64_t begin = task.first[t] + (i - task.runs[t]) * task.in_run,
                  end = min(begin + task.in_run, (int64_t)task.first[t + 1]);
    run[i].tile = (uint32_t)t;
    run[i].first = (uint32_t)begin;
    run[i].last = (uint32_t)end;
    run[i].slot = (int32_t)(i - chunk.first_run);
    keys[i] = (uint32_t)(number * (GRIDDING_PIECE + 1) + GRIDDING_PIECE * (task.in_run - (end - begin)) / task.in_run);
    numbers[i] = (uint32_t)i;
}

vf_status sum_runs(vf_queue *queue, const run_task &task)
{
    const vf_scan_options options = {VF_I32, true, false, NULL, VF_SCAN_SUM, false};
    vf_device *device = vf_queue_device(queue);
    vf_scan *scan = NULL;
    const int64_t count = task.tiles + 1;
    vf_status status = vf_scan_create(device, &options, count, &scan);
    if (status != VF_OK)
        return status;
    count_runs<<<vf_blocks_for(count, THREADS), THREADS, 0, stream_of(queue)>>>(task);
    status = vf_cuda_check(device, cudaGetLastError(), "counting tiles' runs");
    if (status == VF_OK)
        status = vf_scan_execute(scan, queue, count, task.runs, NULL, task.runs);
    if (status == VF_OK)
        status = vf_scan_execute(scan, queue, count, task.splits, NULL, task.splits);
    status = finish(queue, status);
    vf_scan_destroy(scan);
    return status;
}

/* Cuts the tiles into chunks of about as many runs each. `runs`, `splits`: the sums, in host memory. */
vf_status cut_chunks(const vf_nufft *plan, int64_t tiles, const int32_t *runs, const int32_t *splits,
                     int64_t most_slots, gridding_runs *out)
{
    /* At most `even` chunks end where they have their share. The others and their followers have more than most_slots runs
     * in pairs, but for the last chunk. */
    const int64_t all = runs[tiles], even = (all + most_slots - 1) / most_slots;
    const size_t most = (size_t)(even + 2 * (all / most_slots) + 2);
    out->chunks = static_cast<gridding_chunk *>(calloc(most, sizeof *out->chunks));
    if (!out->chunks)
        return vf_fail(plan->ctx, VF_ERR_MEMORY, "NUFFT: no memory for a plan");
    int64_t begin = 0;
    for (int64_t end = 1; end <= tiles; end++)
        if (end == tiles || runs[end + 1] - runs[begin] > most_slots ||
            (runs[end] > runs[begin] && runs[end] * even >= all * (out->chunk_count + 1))) {
            out->chunks[out->chunk_count++] = {begin, end, runs[begin], runs[end], splits[begin], splits[end]};
            if (runs[end] - runs[begin] > out->slots)
                out->slots = runs[end] - runs[begin];
            begin = end;
        }
    return VF_OK;
}

vf_status make_chunks(const vf_nufft *plan, vf_queue *queue, const run_task &task, int64_t most_slots,
                      gridding_runs *out)
{
    const size_t count = (size_t)task.tiles + 1, bytes = count * sizeof(int32_t);
    int32_t *sums = static_cast<int32_t *>(malloc(2 * bytes));
    if (!sums)
        return vf_fail(plan->ctx, VF_ERR_MEMORY, "NUFFT: no memory for a plan");
    vf_status status = vf_queue_copy(queue, sums, task.runs, bytes);
    if (status == VF_OK)
        status = vf_queue_copy(queue, sums + count, task.splits, bytes);
    status = finish(queue, status);
    if (status == VF_OK)
        status = cut_chunks(plan, task.tiles, sums, sums + count, most_slots, out);
    free(sums);
    return status;
}

/* Lists the tiles and the runs. */
vf_status list_runs(const vf_nufft *plan, vf_stream_memory *memory, const run_task &task, gridding_runs *out)
{
    static_assert(sizeof(gridding_run) == 16, "runs are moved as elements of VF_C128");
    vf_queue *queue = memory->queue;
    const gridding_chunk *last = out->chunks + out->chunk_count - 1;
    const int64_t runs = last->end_run, bytes = runs * (int64_t)sizeof(gridding_run),
                  split_bytes = last->end_split * (int64_t)sizeof(gridding_split);
    vf_array unsorted;
    ordering order;
    vf_status status = vf_lasting_create(queue, VF_I32, task.tiles, &out->tile_run);
    if (status == VF_OK)
        status = vf_lasting_create(queue, VF_U8, split_bytes, &out->splits);
    if (status == VF_OK)
        status = vf_lasting_create(queue, VF_U8, bytes, &out->runs);
    if (status == VF_OK)
        status = vf_stream_memory_take(memory, VF_U8, bytes, &unsorted);
    if (status == VF_OK)
        status = take_ordering(memory, runs, &order);
    if (status != VF_OK)
        return status;
    list_tiles<<<vf_blocks_for(task.tiles, THREADS), THREADS, 0, stream_of(queue)>>>(
        task, data_of<int32_t>(out->tile_run), data_of<gridding_split>(out->splits));
    for (int c = 0; c < out->chunk_count; c++) {
        const gridding_chunk &chunk = out->chunks[c];
        if (chunk.end_run > chunk.first_run)
            write_runs<<<vf_blocks_for(chunk.end_run - chunk.first_run, THREADS), THREADS, 0, stream_of(queue)>>>(
                task, chunk, c, data_of<gridding_run>(unsorted), data_of<uint32_t>(order.keys),
                data_of<uint32_t>(order.numbers));
    }
    status = vf_cuda_check(plan->device, cudaGetLastError(), "cutting samples into runs");
    if (status == VF_OK)
        status = sort_by_key(queue, (int64_t)out->chunk_count * (GRIDDING_PIECE + 1), &order);
    if (status == VF_OK && runs > 0)
        status =
            vf_gather(queue, VF_C128, runs, data_of<uint32_t>(order.sorted_numbers), unsorted.data, out->runs.data);
    return status;
}

} // namespace

extern "C" vf_status gridding_bin_tiles(const vf_nufft *plan, gridding_tiles *tiles)
{
    const int64_t size[3] = {GRIDDING_TILE_X, GRIDDING_TILE_Y, GRIDDING_TILE_Z};
    for (int a = 0; a < 3; a++) {
        tiles->size[a] = plan->axis[a].grid > 1 ? size[a] : 1;
        tiles->count[a] = (plan->axis[a].grid + tiles->size[a] - 1) / tiles->size[a];
    }
    return total_tiles(tiles) * starts_in_tile(*tiles) <= INT32_MAX / 2
               ? VF_OK
               : vf_fail(plan->ctx, VF_ERR_UNSUPPORTED, "NUFFT: the grid is too large for a GPU");
}

extern "C" void gridding_pad_tile(const vf_nufft *plan, const gridding_tiles *tiles, gridding_padded *out)
{
    const int banks = 16;        /* as many points are in different ones */
    const int shared = 56 << 10; /* for four blocks on a multiprocessor; less than any GPU's limit for a block */
    const bool flat = plan->axis[2].grid == 1;
    const int element = (int)vf_dtype_bytes(plan->complex_type);
    gridding_padded p = {};
    for (int i = 0; i < 3; i++) {
        p.axis[i] = flat && i > 0 ? 3 - i : i;
        p.size[i] = (int)tiles->size[p.axis[i]];
        p.width[i] = plan->axis[p.axis[i]].width;
    }
    p.pitch = p.size[0] + p.width[0] - 1;
    while (p.pitch % banks != p.width[0] % banks)
        p.pitch++;
    p.rows = p.size[1] + p.width[1] - 1;
    p.planes = p.size[2] + p.width[2] - 1;
    p.plane = p.rows * p.pitch;
    p.points = p.planes * p.plane;
    p.copies = flat ? GRIDDING_FLAT_COPIES : 1;
    p.copy_warps = GRIDDING_COPY_WARPS(p.width[2], flat);
    const int batch = (2 << 10) + GRIDDING_BATCH * (p.width[0] + p.width[1] + p.width[2]) * element / 2;
    do {
        p.parts++;
        p.part_planes = (p.planes + p.parts - 1) / p.parts;
    } while (p.part_planes > 1 && p.copies * p.part_planes * p.plane * element + batch > shared);
    p.parts = (p.planes + p.part_planes - 1) / p.part_planes;
    *out = p;
}

extern "C" vf_status gridding_bin_samples(const vf_nufft *plan, vf_queue *queue, const vf_nufft_samples *samples,
                                          const gridding_tiles *tiles, gridding_bins *out)
{
    const int64_t matrix[3] = {plan->axis[0].voxels, plan->axis[1].voxels, plan->axis[2].voxels};
    vf_stream_memory memory;
    const bool exact = samples->exact != NULL;
    vf_array k = {}, flag = {};
    int32_t not_finite = 0;
    *out = {};
    vf_status status = vf_stream_memory_begin(queue, &memory);
    if (status == VF_OK)
        status = vf_stream_memory_take(&memory, exact ? VF_F64 : VF_F32, 3 * samples->count, &k);
    if (status == VF_OK)
        status = vf_stream_memory_take(&memory, VF_I32, 1, &flag);
    if (status == VF_OK)
        status = vf_queue_copy(queue, flag.data, &not_finite, sizeof not_finite);
    if (status == VF_OK)
        status = vf_queue_copy(queue, k.data, exact ? (const void *)samples->exact : (const void *)samples->k,
                               (size_t)k.count * vf_dtype_bytes(k.type));
    const bin_task task = {{plan->axis[0], plan->axis[1], plan->axis[2]},
                           *tiles,
                           exact ? NULL : data_of<float>(k),
                           exact ? data_of<double>(k) : NULL,
                           samples->count,
                           data_of<int32_t>(flag)};
    if (status == VF_OK)
        status = sort_samples(plan, &memory, task, out);
    if (status == VF_OK)
        status = vf_queue_copy(queue, &not_finite, flag.data, sizeof not_finite);
    vf_stream_memory_free(&memory);
    status = finish(queue, status);
    return status == VF_OK && not_finite ? gridding_check_positions(plan->ctx, matrix, samples) : status;
}

extern "C" vf_status gridding_cut_runs(const vf_nufft *plan, vf_queue *queue, const gridding_tiles *tiles,
                                       const uint32_t *first, int64_t most_slots, gridding_runs *out)
{
    const int64_t pieces = plan->samples / ((int64_t)GRIDDING_PIECE * MANY_RUNS) + 1, count = total_tiles(tiles);
    vf_stream_memory memory;
    vf_array sums[2] = {};
    *out = {};
    vf_status status = vf_stream_memory_begin(queue, &memory);
    for (int i = 0; i < 2 && status == VF_OK; i++)
        status = vf_stream_memory_take(&memory, VF_I32, count + 1, &sums[i]);
    const run_task task = {first, count, pieces * GRIDDING_PIECE, data_of<int32_t>(sums[0]), data_of<int32_t>(sums[1])};
    if (status == VF_OK)
        status = sum_runs(queue, task);
    if (status == VF_OK)
        status = make_chunks(plan, queue, task, most_slots, out);
    if (status == VF_OK)
        status = list_runs(plan, &memory, task, out);
    vf_stream_memory_free(&memory);
    return finish(queue, status);
}

extern "C" void gridding_bins_free(gridding_bins *bins)
{
    vf_lasting_free(NULL, &bins->samples);
    vf_lasting_free(NULL, &bins->first);
}

extern "C" void gridding_runs_free(gridding_runs *runs)
{
    vf_lasting_free(NULL, &runs->runs);
    vf_lasting_free(NULL, &runs->tile_run);
    vf_lasting_free(NULL, &runs->splits);
    free(runs->chunks);
    runs->chunks = NULL;
}
