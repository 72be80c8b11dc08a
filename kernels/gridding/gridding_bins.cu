/* Bins samples on a GPU and cuts the tiles' walks into pieces. The kernels here do the work per sample, tile and piece;
 * libcore's sort, scan and gather do the rest. */
#include "backend/bin_order.cuh"
#include "gridding_bins.h"
#include "gridding_locate.h"
#include "gridding_walk.cuh"
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
    const float *k; /* [samples][3] */
    int64_t samples;
};

__global__ void find_tiles(const bin_task task, uint32_t *keys, uint32_t *numbers)
{
    const int64_t m = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (m >= task.samples)
        return;
    const gridding_place place = gridding_locate(task.axis, task.k + 3 * m);
    keys[m] = (uint32_t)gridding_tile_of(&task.tiles, &place);
    numbers[m] = (uint32_t)m;
}

/* `Sample` has offsets of type `T`. */
template <typename T, typename Sample>
__global__ void write_records(const bin_task task, const uint32_t *index, Sample *sorted)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= task.samples)
        return;
    const int64_t m = index[i];
    const gridding_place place = gridding_locate(task.axis, task.k + 3 * m);
    for (int a = 0; a < 3; a++) {
        sorted[i].offset[a] = (T)place.offset[a];
        sorted[i].start[a] = (int16_t)place.start[a];
    }
    sorted[i].index = (uint32_t)m;
}

/* Sorts the samples by tile. The sort's input is freed before the records are made. */
vf_status sort_samples(vf_queue *queue, const bin_task &task, ordering *order)
{
    vf_device *device = vf_queue_device(queue);
    vf_status status = create_ordering(device, task.samples, order);
    if (status == VF_OK && task.samples > 0) {
        find_tiles<<<vf_blocks_for(task.samples, THREADS), THREADS, 0, stream_of(queue)>>>(
            task, data_of<uint32_t>(order->keys), data_of<uint32_t>(order->numbers));
        status = vf_cuda_check(device, cudaGetLastError(), "finding samples' tiles");
    }
    return status == VF_OK ? sort_by_key(queue, total_tiles(&task.tiles), order) : status;
}

vf_status make_records(const vf_nufft *plan, vf_queue *queue, const bin_task &task, const ordering *order,
                       gridding_bins *out)
{
    const bool is_double = plan->real == VF_F64;
    const size_t bytes = is_double ? sizeof(gridding_sample_f64) : sizeof(gridding_sample_f32);
    const uint32_t *index = data_of<uint32_t>(order->sorted_numbers);
    const unsigned blocks = vf_blocks_for(task.samples, THREADS);
    vf_status status =
        vf_array_create(plan->device, VF_SPACE_DEVICE, VF_U8, task.samples * (int64_t)bytes, &out->samples);
    if (status != VF_OK || blocks == 0)
        return status;
    if (is_double)
        write_records<double>
            <<<blocks, THREADS, 0, stream_of(queue)>>>(task, index, data_of<gridding_sample_f64>(out->samples));
    else
        write_records<float>
            <<<blocks, THREADS, 0, stream_of(queue)>>>(task, index, data_of<gridding_sample_f32>(out->samples));
    return vf_cuda_check(plan->device, cudaGetLastError(), "writing sorted samples");
}

/* ---- walks ---- */

struct walk_task {
    const uint32_t *first;
    int64_t total;
    int grid[3], tiles[3], width[3];
};

__device__ uint64_t visits_of(const walk_task &task, int tile)
{
    const tile_walk walk = walk_of(task.grid, task.tiles, task.width, tile);
    const int ranges = walk_ranges(walk);
    uint64_t visits = 0;
    for (int n = 0; n < ranges; n++)
        visits += walk_range(walk, task.grid, task.tiles, task.first, n).end;
    return visits;
}

/* pieces[t]: the number of pieces of tile t; splits[t]: 1 if there are several. Both are 0 at the end, t = total, which
 * is not a tile. A walk with more visits than 32 bits can count gets a number of pieces that no plan may have. */
__global__ void count_pieces(const walk_task task, int64_t *pieces, int64_t *splits)
{
    const int64_t t = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (t > task.total)
        return;
    int64_t count = 0;
    if (t < task.total) {
        const uint64_t visits = visits_of(task, (int)t);
        count = visits > UINT32_MAX       ? (int64_t)INT32_MAX + 1
                : visits > GRIDDING_PIECE ? (int64_t)((visits + GRIDDING_PIECE - 1) / GRIDDING_PIECE)
                                          : 1;
    }
    pieces[t] = count;
    splits[t] = count > 1;
}

/* The exclusive sums of what count_pieces counts. */
struct piece_sums {
    vf_array pieces, splits; /* int64 [tiles + 1] */
};

/* One thread per piece. The thread of a split tile's first piece also writes the tile's split. The fuller a piece, the
 * smaller its key. */
__global__ void write_pieces(const walk_task task, const int64_t *first_piece, const int64_t *first_split,
                             int64_t pieces, gridding_piece *piece, gridding_split *split, uint32_t *keys,
                             uint32_t *numbers)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= pieces)
        return;
    int64_t t = 0, high = task.total - 1; /* find the last tile whose pieces begin at i or before */
    while (t < high) {
        const int64_t middle = (t + high + 1) / 2;
        if (first_piece[middle] <= i)
            t = middle;
        else
            high = middle - 1;
    }
    const uint32_t visits = (uint32_t)visits_of(task, (int)t);
    const int64_t of_tile = first_piece[t + 1] - first_piece[t], number = i - first_piece[t];
    /* Each tile before it that is not split has one piece and no slot. */
    const int64_t slot = first_piece[t] - (t - first_split[t]);
    const int64_t begin = number * GRIDDING_PIECE, end = number + 1 < of_tile ? begin + GRIDDING_PIECE : visits;
    piece[i].tile = (uint32_t)t;
    piece[i].first_visit = (uint32_t)begin;
    piece[i].last_visit = (uint32_t)end;
    piece[i].slot = of_tile > 1 ? (int32_t)(slot + number) : -1;
    keys[i] = (uint32_t)(GRIDDING_PIECE - (end - begin));
    numbers[i] = (uint32_t)i;
    if (of_tile > 1 && number == 0) {
        gridding_split *to = split + first_split[t];
        to->tile = (uint32_t)t;
        to->slot = (int32_t)slot;
        to->pieces = (int32_t)of_tile;
    }
}

/* Checks that the ranges of the longest walk fit into shared memory. */
vf_status check_ranges(const vf_nufft *plan, const walk_task &task)
{
    static const int sizes[3] = {TILE_X, TILE_Y, TILE_Z};
    int most[3] = {1, 1, 1};
    for (int a = 0; a < 3; a++)
        for (int t = 0; t < task.tiles[a]; t++) {
            const reach r = tiles_that_reach(t, sizes[a], task.width[a], task.grid[a], task.tiles[a]);
            const int ranges = a > 0 ? r.count : r.wrapped > 0 ? 2 : 1;
            most[a] = ranges > most[a] ? ranges : most[a];
        }
    const int ranges = most[0] * most[1] * most[2];
    return ranges <= MOST_RANGES
               ? VF_OK
               : vf_fail(plan->ctx, VF_ERR_INTERNAL, "NUFFT: a kernel reaches %d rows of tiles", ranges);
}

/* Computes the sums, and the numbers in `out` from their last elements. */
vf_status sum_pieces(const vf_nufft *plan, vf_queue *queue, const walk_task &task, piece_sums *sums,
                     gridding_pieces *out)
{
    const vf_scan_options options = {VF_I64, true, false, NULL};
    const int64_t count = task.total + 1;
    vf_scan *scan = NULL;
    vf_status status = vf_array_create(plan->device, VF_SPACE_DEVICE, VF_I64, count, &sums->pieces);
    if (status == VF_OK)
        status = vf_array_create(plan->device, VF_SPACE_DEVICE, VF_I64, count, &sums->splits);
    if (status == VF_OK)
        status = vf_scan_create(plan->device, &options, count, &scan);
    if (status != VF_OK)
        return status;
    int64_t *pieces = data_of<int64_t>(sums->pieces), *splits = data_of<int64_t>(sums->splits);
    count_pieces<<<vf_blocks_for(count, THREADS), THREADS, 0, stream_of(queue)>>>(task, pieces, splits);
    status = vf_cuda_check(plan->device, cudaGetLastError(), "counting visits of tiles");
    if (status == VF_OK)
        status = vf_scan_execute(scan, queue, count, pieces, NULL, pieces);
    if (status == VF_OK)
        status = vf_scan_execute(scan, queue, count, splits, NULL, splits);
    if (status == VF_OK)
        status = vf_queue_copy(queue, &out->piece_count, pieces + task.total, sizeof *pieces);
    if (status == VF_OK)
        status = vf_queue_copy(queue, &out->split_count, splits + task.total, sizeof *splits);
    status = finish(queue, status);
    vf_scan_destroy(scan);
    out->slots = out->piece_count - (task.total - out->split_count);
    if (status == VF_OK && out->slots > INT32_MAX)
        status = vf_fail(plan->ctx, VF_ERR_UNSUPPORTED, "NUFFT: too many samples at one place for a GPU");
    return status;
}

/* Lists the pieces from the sums, the fullest first. The caller frees `unsorted` and `order`. */
vf_status list_pieces(const vf_nufft *plan, vf_queue *queue, const walk_task &task, const piece_sums *sums,
                      vf_array *unsorted, ordering *order, gridding_pieces *out)
{
    static_assert(sizeof(gridding_piece) == 16, "pieces are moved as elements of VF_C128");
    const int64_t count = out->piece_count, bytes = count * (int64_t)sizeof(gridding_piece),
                  split_bytes = out->split_count * (int64_t)sizeof(gridding_split);
    vf_status status = vf_array_create(plan->device, VF_SPACE_DEVICE, VF_U8, split_bytes, &out->splits);
    if (status == VF_OK)
        status = vf_array_create(plan->device, VF_SPACE_DEVICE, VF_U8, bytes, &out->pieces);
    if (status == VF_OK)
        status = vf_array_create(plan->device, VF_SPACE_DEVICE, VF_U8, bytes, unsorted);
    if (status == VF_OK)
        status = create_ordering(plan->device, count, order);
    if (status != VF_OK)
        return status;
    write_pieces<<<vf_blocks_for(count, THREADS), THREADS, 0, stream_of(queue)>>>(
        task, data_of<int64_t>(sums->pieces), data_of<int64_t>(sums->splits), count, data_of<gridding_piece>(*unsorted),
        data_of<gridding_split>(out->splits), data_of<uint32_t>(order->keys), data_of<uint32_t>(order->numbers));
    status = vf_cuda_check(plan->device, cudaGetLastError(), "cutting walks into pieces");
    if (status == VF_OK)
        status = sort_by_key(queue, GRIDDING_PIECE + 1, order);
    if (status == VF_OK)
        status = vf_gather(queue, VF_C128, count, data_of<uint32_t>(order->sorted_numbers), unsorted->data,
                           out->pieces.data);
    return status;
}

} // namespace

extern "C" vf_status gridding_bin_tiles(const vf_nufft *plan, gridding_tiles *tiles)
{
    *tiles = {{1, 1, 1}, {TILE_X, TILE_Y, TILE_Z}};
    for (int a = 0; a < 3; a++)
        tiles->count[a] = (plan->axis[a].grid + tiles->size[a] - 1) / tiles->size[a];
    return total_tiles(tiles) <= INT32_MAX / 2
               ? VF_OK
               : vf_fail(plan->ctx, VF_ERR_UNSUPPORTED, "NUFFT: the grid is too large for a GPU");
}

extern "C" vf_status gridding_bin_samples(const vf_nufft *plan, vf_queue *queue, const vf_nufft_samples *samples,
                                          const gridding_tiles *tiles, gridding_bins *out)
{
    ordering order = {};
    vf_array k = {};
    *out = {};
    bin_task task = {{plan->axis[0], plan->axis[1], plan->axis[2]}, *tiles, NULL, samples->count};
    vf_status status = VF_CUDA(plan->device, cudaSetDevice(vf_device_ordinal(plan->device)));
    if (status == VF_OK)
        status = vf_array_create(plan->device, VF_SPACE_DEVICE, VF_F32, 3 * samples->count, &k);
    task.k = data_of<float>(k);
    if (status == VF_OK)
        status = vf_queue_copy(queue, k.data, samples->k, (size_t)k.count * sizeof *samples->k);
    if (status == VF_OK)
        status = sort_samples(queue, task, &order);
    if (status == VF_OK)
        status = make_records(plan, queue, task, &order, out);
    if (status == VF_OK)
        status = make_first(queue, &order, total_tiles(tiles), &out->first);
    status = finish(queue, status);
    if (status == VF_OK) {
        out->index = order.sorted_numbers;
        order.sorted_numbers = {};
    }
    free_ordering(&order);
    vf_array_free(&k);
    return status;
}

extern "C" vf_status gridding_cut_walks(const vf_nufft *plan, vf_queue *queue, const gridding_tiles *tiles,
                                        const uint32_t *first, gridding_pieces *out)
{
    walk_task task = {first, total_tiles(tiles), {}, {}, {}};
    piece_sums sums = {};
    ordering order = {};
    vf_array unsorted = {};
    *out = {};
    for (int a = 0; a < 3; a++) {
        task.grid[a] = (int)plan->axis[a].grid;
        task.tiles[a] = (int)tiles->count[a];
        task.width[a] = plan->axis[a].width;
    }
    vf_status status = VF_CUDA(plan->device, cudaSetDevice(vf_device_ordinal(plan->device)));
    if (status == VF_OK)
        status = check_ranges(plan, task);
    if (status == VF_OK)
        status = sum_pieces(plan, queue, task, &sums, out);
    if (status == VF_OK)
        status = list_pieces(plan, queue, task, &sums, &unsorted, &order, out);
    status = finish(queue, status);
    vf_array_free(&sums.pieces);
    vf_array_free(&sums.splits);
    vf_array_free(&unsorted);
    free_ordering(&order);
    return status;
}
