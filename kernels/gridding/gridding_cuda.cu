/* The CUDA backend of the NUFFT: what a plan holds on the device, and the order of its kernels (gridding_cuda.cuh). */
#include <stdlib.h>
#include <string.h>

#include "cuda_check.cuh"
#include "gridding_cuda.cuh"
#include "launch_blocks.h"
#include "voxfield/fft.h"

namespace
{

struct cuda_state {
    /* Bytes as VF_F32: records. Else elements of their type. */
    vf_array samples, first, items, splits, table, scale[3], field, factor, grid, scratch;
    int64_t item_count, split_count, slots;
    int tiles[3];
    vf_fft *fft;
};

/* ---- the plan ---- */

/* Copies `bytes` of host memory to a new array on the device; blocking. */
vf_status upload(vf_nufft *plan, const void *data, size_t bytes, vf_array *out)
{
    vf_status status =
        vf_array_create(plan->device, VF_SPACE_DEVICE, VF_F32, (int64_t)((bytes + 3) / sizeof(float)), out);
    if (status == VF_OK && bytes > 0)
        status = VF_CUDA(plan->device, cudaMemcpy(out->data, data, bytes, cudaMemcpyHostToDevice));
    return status;
}

size_t sample_bytes(const vf_nufft *plan)
{
    return plan->real == VF_F64 ? sizeof(gridding_sample_f64) : sizeof(gridding_sample_f32);
}

void grid_sizes(const vf_nufft *plan, int grid[3], int width[3])
{
    for (int a = 0; a < 3; a++) {
        grid[a] = (int)plan->axis[a].grid;
        width[a] = plan->axis[a].width;
    }
}

/* How the tiles' walks are cut into pieces: every tile is written by one, be it empty, since the grid is not zeroed. */
struct piece_list {
    work_item *items;
    split_tile *splits;
    int64_t items_held, item_count, split_count, slots;
};

vf_status add_tile(vf_nufft *plan, piece_list *list, uint32_t tile, uint64_t visits)
{
    const int64_t pieces = visits > PIECE ? (int64_t)((visits + PIECE - 1) / PIECE) : 1;
    if (visits > UINT32_MAX || list->slots + pieces > INT32_MAX)
        return vf_fail(plan->ctx, VF_ERR_UNSUPPORTED, "NUFFT: too many samples at one place for a GPU");
    if (list->item_count + pieces > list->items_held) {
        const int64_t held = 2 * (list->item_count + pieces);
        work_item *grown = static_cast<work_item *>(realloc(list->items, (size_t)held * sizeof *grown));
        if (!grown)
            return vf_fail(plan->ctx, VF_ERR_MEMORY, "NUFFT: no memory for a plan");
        list->items = grown;
        list->items_held = held;
    }
    if (pieces > 1)
        list->splits[list->split_count++] = {tile, (int32_t)list->slots, (int32_t)pieces};
    for (int64_t p = 0; p < pieces; p++) {
        const uint64_t end = (uint64_t)(p + 1) * PIECE;
        list->items[list->item_count++] = {tile, (uint32_t)(p * PIECE), (uint32_t)(end < visits ? end : visits),
                                           pieces > 1 ? (int32_t)list->slots++ : -1};
    }
    return VF_OK;
}

/* The fullest first would leave no block alone at the end; whole pieces come first, which is near enough. */
int by_visits(const void *a, const void *b)
{
    const work_item *p = static_cast<const work_item *>(a), *q = static_cast<const work_item *>(b);
    const uint32_t m = p->last_visit - p->first_visit, n = q->last_visit - q->first_visit;
    if (m != n)
        return m < n ? 1 : -1;
    if (p->tile != q->tile)
        return p->tile < q->tile ? -1 : 1;
    return p->first_visit < q->first_visit ? -1 : p->first_visit > q->first_visit;
}

vf_status list_pieces(vf_nufft *plan, const cuda_state *state, const uint32_t *first, int64_t tiles, piece_list *list)
{
    int grid[3], width[3];
    grid_sizes(plan, grid, width);
    list->splits = static_cast<split_tile *>(calloc((size_t)tiles, sizeof *list->splits));
    vf_status status = list->splits ? VF_OK : vf_fail(plan->ctx, VF_ERR_MEMORY, "NUFFT: no memory for a plan");
    for (int64_t t = 0; t < tiles && status == VF_OK; t++) {
        const tile_walk walk = walk_of(grid, state->tiles, width, (int)t);
        const int ranges = walk_ranges(walk);
        uint64_t visits = 0;
        for (int n = 0; n < ranges; n++)
            visits += walk_range(walk, grid, state->tiles, first, n).end;
        if (ranges > MOST_RANGES)
            status = vf_fail(plan->ctx, VF_ERR_INTERNAL, "NUFFT: a kernel reaches %d rows of tiles", ranges);
        else
            status = add_tile(plan, list, (uint32_t)t, visits);
    }
    if (status == VF_OK)
        qsort(list->items, (size_t)list->item_count, sizeof *list->items, by_visits);
    return status;
}

vf_status make_pieces(vf_nufft *plan, cuda_state *state, const int64_t *first, int64_t tiles)
{
    piece_list list = {};
    uint32_t *short_first = static_cast<uint32_t *>(malloc(((size_t)tiles + 1) * sizeof *short_first));
    vf_status status = short_first ? VF_OK : vf_fail(plan->ctx, VF_ERR_MEMORY, "NUFFT: no memory for a plan");
    for (int64_t t = 0; status == VF_OK && t <= tiles; t++)
        short_first[t] = (uint32_t)first[t];
    if (status == VF_OK)
        status = list_pieces(plan, state, short_first, tiles, &list);
    if (status == VF_OK)
        status = upload(plan, short_first, ((size_t)tiles + 1) * sizeof *short_first, &state->first);
    if (status == VF_OK)
        status = upload(plan, list.items, (size_t)list.item_count * sizeof *list.items, &state->items);
    if (status == VF_OK)
        status = upload(plan, list.splits, (size_t)list.split_count * sizeof *list.splits, &state->splits);
    if (status == VF_OK)
        status = vf_array_create(plan->device, VF_SPACE_DEVICE, plan->complex_type, list.slots * TILE_POINTS,
                                 &state->scratch);
    state->item_count = list.item_count;
    state->split_count = list.split_count;
    free(short_first);
    free(list.items);
    free(list.splits);
    return status;
}

vf_status upload_reals(vf_nufft *plan, const double *data, int64_t count, vf_array *out)
{
    if (plan->real == VF_F64)
        return upload(plan, data, (size_t)count * sizeof *data, out);
    float *rounded = static_cast<float *>(malloc(((size_t)count + 1) * sizeof *rounded));
    if (!rounded)
        return vf_fail(plan->ctx, VF_ERR_MEMORY, "NUFFT: no memory for a plan");
    for (int64_t i = 0; i < count; i++)
        rounded[i] = (float)data[i];
    const vf_status status = upload(plan, rounded, (size_t)count * sizeof *rounded, out);
    free(rounded);
    return status;
}

/* The kernel's polynomials, of an axis left out the polynomial 1. */
vf_status upload_table(vf_nufft *plan, cuda_state *state)
{
    const gridding_kernel *kernel = &plan->kernel;
    const int rows = kernel->degree + 1, width = kernel->width;
    double table[3 * (GRIDDING_MAX_DEGREE + 1) * GRIDDING_MAX_WIDTH];
    for (int a = 0; a < 3; a++)
        for (int p = 0; p < rows; p++)
            for (int j = 0; j < width; j++)
                table[(a * rows + p) * width + j] =
                    plan->axis[a].width > 1 ? kernel->coefficient[p][j] : (double)(j == 0 && p == kernel->degree);
    return upload_reals(plan, table, 3 * rows * width, &state->table);
}

/* The segments' factors in the order of the sorted samples, and the field. */
vf_status upload_segments(vf_nufft *plan, cuda_state *state, const void *sorted, const float *field)
{
    const int64_t segments = plan->segments.count, samples = plan->samples;
    if (segments == 0)
        return VF_OK;
    double *factor = static_cast<double *>(malloc(((size_t)(segments * samples) + 1) * 2 * sizeof *factor));
    if (!factor)
        return vf_fail(plan->ctx, VF_ERR_MEMORY, "NUFFT: no memory for time segments");
    for (int64_t i = 0; i < samples; i++) {
        const int64_t index = plan->real == VF_F64 ? static_cast<const gridding_sample_f64 *>(sorted)[i].index
                                                   : static_cast<const gridding_sample_f32 *>(sorted)[i].index;
        for (int64_t l = 0; l < segments; l++)
            memcpy(factor + 2 * (l * samples + i), plan->segments.coefficient + 2 * (l * samples + index),
                   2 * sizeof *factor);
    }
    vf_status status = upload_reals(plan, factor, 2 * segments * samples, &state->factor);
    free(factor);
    free(plan->segments.coefficient); /* the sorted copy is what is used */
    plan->segments.coefficient = NULL;
    if (status == VF_OK)
        status = upload(plan, field, (size_t)plan->voxels * sizeof *field, &state->field);
    return status;
}

vf_status sort_and_upload(vf_nufft *plan, cuda_state *state, const vf_nufft_samples *samples, const float *field)
{
    gridding_tiles tiles = {{0, 0, 0}, {TILE_X, TILE_Y, TILE_Z}};
    int64_t total = 1;
    for (int a = 0; a < 3; a++) {
        tiles.count[a] = (plan->axis[a].grid + tiles.size[a] - 1) / tiles.size[a];
        state->tiles[a] = (int)tiles.count[a];
        total *= tiles.count[a];
    }
    if (total > INT32_MAX / 2)
        return vf_fail(plan->ctx, VF_ERR_UNSUPPORTED, "NUFFT: the grid is too large for a GPU");
    void *sorted = malloc(((size_t)plan->samples + 1) * sample_bytes(plan));
    int64_t *first = static_cast<int64_t *>(malloc(((size_t)total + 1) * sizeof *first));
    vf_status status = sorted && first ? gridding_sort(plan, samples, &tiles, sorted, first)
                                       : vf_fail(plan->ctx, VF_ERR_MEMORY, "NUFFT: no memory for a plan");
    if (status == VF_OK)
        status = upload(plan, sorted, (size_t)plan->samples * sample_bytes(plan), &state->samples);
    if (status == VF_OK)
        status = make_pieces(plan, state, first, total);
    if (status == VF_OK)
        status = upload_segments(plan, state, sorted, field);
    free(sorted);
    free(first);
    return status;
}

int64_t grid_points(const vf_nufft *plan)
{
    return plan->axis[0].grid * plan->axis[1].grid * plan->axis[2].grid;
}

/* All arrays of a plan. */
enum { ARRAYS = 12 };
void list_arrays(cuda_state *state, vf_array *arrays[ARRAYS])
{
    vf_array *all[ARRAYS] = {&state->samples, &state->first,    &state->items,    &state->splits,
                             &state->table,   &state->scale[0], &state->scale[1], &state->scale[2],
                             &state->field,   &state->factor,   &state->grid,     &state->scratch};
    memcpy(arrays, all, sizeof all);
}

void destroy(vf_nufft *plan)
{
    cuda_state *state = static_cast<cuda_state *>(plan->state);
    vf_array *arrays[ARRAYS];
    list_arrays(state, arrays);
    for (int i = 0; i < ARRAYS; i++)
        vf_array_free(arrays[i]);
    vf_fft_destroy(state->fft);
    free(state);
    plan->state = NULL;
}

vf_status create(vf_nufft *plan, const vf_nufft_samples *samples, const float *field)
{
    cuda_state *state = static_cast<cuda_state *>(calloc(1, sizeof *state));
    if (!state)
        return vf_fail(plan->ctx, VF_ERR_MEMORY, "NUFFT: no memory for a plan");
    plan->state = state;
    vf_status status = VF_CUDA(plan->device, cudaSetDevice(vf_device_ordinal(plan->device)));
    if (status == VF_OK)
        status = sort_and_upload(plan, state, samples, field);
    if (status == VF_OK)
        status = upload_table(plan, state);
    for (int a = 0; a < 3 && status == VF_OK; a++)
        status = upload_reals(plan, plan->scale[a], plan->axis[a].voxels, &state->scale[a]);
    if (status == VF_OK)
        status = vf_array_create(plan->device, VF_SPACE_DEVICE, plan->complex_type, grid_points(plan), &state->grid);
    const int64_t dims[3] = {plan->axis[2].grid, plan->axis[1].grid, plan->axis[0].grid};
    if (status == VF_OK)
        status = vf_fft_create(plan->device, plan->complex_type, 3, dims, 1, &state->fft);
    if (status != VF_OK)
        return status;
    vf_array *arrays[ARRAYS];
    list_arrays(state, arrays);
    plan->bytes = vf_fft_bytes(state->fft);
    for (int i = 0; i < ARRAYS; i++)
        plan->bytes += arrays[i]->count * (int64_t)vf_dtype_bytes(arrays[i]->type);
    return VF_OK;
}

/* ---- launches ---- */

template <typename T>
spread_task<T> make_task(const vf_nufft *plan, int segment, const void *values)
{
    typedef typename precision<T>::complex C;
    const cuda_state *state = static_cast<const cuda_state *>(plan->state);
    spread_task<T> task = {};
    task.samples = static_cast<const typename precision<T>::sample *>(state->samples.data);
    task.first = static_cast<const uint32_t *>(state->first.data);
    task.table = static_cast<const T *>(state->table.data);
    task.values = static_cast<const C *>(values);
    if (plan->segments.count > 0)
        task.factor = static_cast<const C *>(state->factor.data) + segment * plan->samples;
    task.grid = static_cast<C *>(state->grid.data);
    task.scratch = static_cast<C *>(state->scratch.data);
    grid_sizes(plan, task.grid_size, task.width);
    memcpy(task.tiles, state->tiles, sizeof task.tiles);
    task.kernel_width = plan->kernel.width;
    task.degree = plan->kernel.degree;
    task.kernel_pitch = 3 * plan->kernel.width | 1;
    return task;
}

template <typename T>
vf_status spread(const vf_nufft *plan, cudaStream_t stream, int segment, const void *values)
{
    const cuda_state *state = static_cast<const cuda_state *>(plan->state);
    const spread_task<T> task = make_task<T>(plan, segment, values);
    const size_t shared = (size_t)(precision<T>::VISITS * task.kernel_pitch) * sizeof(T);
    spread_tiles<T><<<vf_blocks_for(state->item_count, 1), TILE_ROWS, shared, stream>>>(
        task, static_cast<const work_item *>(state->items.data));
    cudaError_t error = cudaGetLastError();
    if (error == cudaSuccess && state->split_count > 0) {
        add_pieces<T><<<vf_blocks_for(state->split_count, 1), POINT_THREADS, 0, stream>>>(
            task, static_cast<const split_tile *>(state->splits.data));
        error = cudaGetLastError();
    }
    return vf_cuda_check(plan->device, error, "spreading samples");
}

template <typename T>
vf_status interpolate(const vf_nufft *plan, cudaStream_t stream, int segment, void *values)
{
    typedef typename precision<T>::complex C;
    const spread_task<T> task = make_task<T>(plan, segment, NULL);
    const unsigned blocks = vf_blocks_for(plan->samples, SAMPLE_WARPS);
    C *out = static_cast<C *>(values);
    if (blocks == 0)
        return VF_OK;
    if (plan->kernel.width <= 8)
        interpolate_samples<T, 8><<<blocks, WARP * SAMPLE_WARPS, 0, stream>>>(task, out, plan->samples, segment > 0);
    else if (plan->kernel.width <= 16)
        interpolate_samples<T, 16><<<blocks, WARP * SAMPLE_WARPS, 0, stream>>>(task, out, plan->samples, segment > 0);
    else
        interpolate_samples<T, 32><<<blocks, WARP * SAMPLE_WARPS, 0, stream>>>(task, out, plan->samples, segment > 0);
    return vf_cuda_check(plan->device, cudaGetLastError(), "interpolating samples");
}

template <typename T>
crop_task<T> make_crop(const vf_nufft *plan, int segment, int sign)
{
    const cuda_state *state = static_cast<const cuda_state *>(plan->state);
    crop_task<T> task = {};
    for (int a = 0; a < 3; a++) {
        task.voxels[a] = plan->axis[a].voxels;
        task.grid[a] = plan->axis[a].grid;
        task.scale[a] = static_cast<const T *>(state->scale[a].data);
    }
    if (plan->segments.count > 0) {
        task.field = static_cast<const float *>(state->field.data);
        task.time = sign * plan->segments.time[segment];
    }
    task.add = sign > 0 && segment > 0;
    return task;
}

template <typename T>
vf_status adjoint_one(const vf_nufft *plan, vf_queue *queue, int segment, const void *c, void *y)
{
    typedef typename precision<T>::complex C;
    const cuda_state *state = static_cast<const cuda_state *>(plan->state);
    cudaStream_t stream = static_cast<cudaStream_t>(vf_queue_native(queue));
    vf_status status = spread<T>(plan, stream, segment, c);
    if (status == VF_OK)
        status = vf_fft_execute(state->fft, queue, VF_FFT_BACKWARD, state->grid.data);
    if (status != VF_OK)
        return status;
    crop_grid<T><<<vf_blocks_for(plan->voxels, POINT_THREADS), POINT_THREADS, 0, stream>>>(
        make_crop<T>(plan, segment, 1), static_cast<const C *>(state->grid.data), static_cast<C *>(y));
    return vf_cuda_check(plan->device, cudaGetLastError(), "cropping the grid");
}

template <typename T>
vf_status forward_one(const vf_nufft *plan, vf_queue *queue, int segment, const void *x, void *c)
{
    typedef typename precision<T>::complex C;
    const cuda_state *state = static_cast<const cuda_state *>(plan->state);
    cudaStream_t stream = static_cast<cudaStream_t>(vf_queue_native(queue));
    pad_image<T><<<vf_blocks_for(grid_points(plan), POINT_THREADS), POINT_THREADS, 0, stream>>>(
        make_crop<T>(plan, segment, -1), static_cast<const C *>(x), static_cast<C *>(state->grid.data));
    vf_status status = vf_cuda_check(plan->device, cudaGetLastError(), "padding the image");
    if (status == VF_OK)
        status = vf_fft_execute(state->fft, queue, VF_FFT_FORWARD, state->grid.data);
    return status == VF_OK ? interpolate<T>(plan, stream, segment, c) : status;
}

/* `one` for each vector of a batch and each segment. */
vf_status for_all(vf_nufft *plan, vf_queue *queue, int batch, const void *in, int64_t in_count, void *out,
                  int64_t out_count, vf_status (*one)(const vf_nufft *, vf_queue *, int, const void *, void *))
{
    const size_t element = vf_dtype_bytes(plan->complex_type);
    const int segments = plan->segments.count > 0 ? plan->segments.count : 1;
    vf_status status = VF_CUDA(plan->device, cudaSetDevice(vf_device_ordinal(plan->device)));
    for (int b = 0; b < batch; b++)
        for (int l = 0; l < segments && status == VF_OK; l++)
            status = one(plan, queue, l, static_cast<const char *>(in) + (size_t)(b * in_count) * element,
                         static_cast<char *>(out) + (size_t)(b * out_count) * element);
    return status;
}

vf_status adjoint(vf_nufft *plan, vf_queue *queue, int batch, const void *c, void *y)
{
    return for_all(plan, queue, batch, c, plan->samples, y, plan->voxels,
                   plan->real == VF_F64 ? adjoint_one<double> : adjoint_one<float>);
}

vf_status forward(vf_nufft *plan, vf_queue *queue, int batch, const void *x, void *c)
{
    return for_all(plan, queue, batch, x, plan->voxels, c, plan->samples,
                   plan->real == VF_F64 ? forward_one<double> : forward_one<float>);
}

} // namespace

extern "C" const gridding_backend gridding_cuda = {create, adjoint, forward, destroy};
