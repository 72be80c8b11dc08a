/* The CUDA backend of the NUFFT: a plan's device memory, and the order of its kernels (gridding_cuda.cuh). */
#include <stdlib.h>
#include <string.h>

#include "backend/cuda_check.cuh"
#include "backend/launch_blocks.h"
#include "gridding_cuda.cuh"
#include "voxfield/copy.h"
#include "voxfield/fft.h"

namespace
{

struct cuda_state {
    gridding_bins bins;
    gridding_pieces pieces;
    vf_array table, scale[3], field, factor, grid, scratch;
    int tiles[3];
    vf_fft *fft;
};

/* ---- the plan ---- */

/* Copies host memory to a new device array. All copies of a plan go into one queue, which the plan waits for at the
 * end: a copy from memory that is not pinned may return before its last bytes have arrived. */
vf_status upload(vf_nufft *plan, vf_queue *queue, const void *data, int64_t count, vf_dtype type, vf_array *out)
{
    vf_status status = vf_array_create(plan->device, VF_SPACE_DEVICE, type, count, out);
    return status == VF_OK ? vf_queue_copy(queue, out->data, data, (size_t)count * vf_dtype_bytes(type)) : status;
}

/* Copies numbers to the device in the plan's precision. */
vf_status copy_reals(vf_nufft *plan, vf_queue *queue, const double *data, int64_t count, void *to)
{
    if (plan->real == VF_F64)
        return vf_queue_copy(queue, to, data, (size_t)count * sizeof *data);
    float *rounded = static_cast<float *>(malloc(((size_t)count + 1) * sizeof *rounded));
    if (!rounded)
        return vf_fail(plan->ctx, VF_ERR_MEMORY, "NUFFT: no memory for a plan");
    for (int64_t i = 0; i < count; i++)
        rounded[i] = (float)data[i];
    const vf_status status = vf_queue_copy(queue, to, rounded, (size_t)count * sizeof *rounded);
    free(rounded);
    return status;
}

vf_status upload_reals(vf_nufft *plan, vf_queue *queue, const double *data, int64_t count, vf_array *out)
{
    vf_status status = vf_array_create(plan->device, VF_SPACE_DEVICE, plan->real, count, out);
    return status == VF_OK ? copy_reals(plan, queue, data, count, out->data) : status;
}

void grid_sizes(const vf_nufft *plan, int grid[3], int width[3])
{
    for (int a = 0; a < 3; a++) {
        grid[a] = (int)plan->axis[a].grid;
        width[a] = plan->axis[a].width;
    }
}

/* Uploads the kernel's polynomials. An axis of width 1 gets the constant polynomial 1. */
vf_status upload_table(vf_nufft *plan, vf_queue *queue, cuda_state *state)
{
    const gridding_kernel *kernel = &plan->kernel;
    const int rows = kernel->degree + 1, width = kernel->width;
    double table[3 * (GRIDDING_MAX_DEGREE + 1) * GRIDDING_MAX_WIDTH];
    for (int a = 0; a < 3; a++)
        for (int p = 0; p < rows; p++)
            for (int j = 0; j < width; j++)
                table[(a * rows + p) * width + j] =
                    plan->axis[a].width > 1 ? kernel->coefficient[p][j] : (double)(j == 0 && p == kernel->degree);
    return upload_reals(plan, queue, table, 3 * rows * width, &state->table);
}

/* Uploads the segments' factors in the order of the sorted samples, one segment at a time through `row`. */
vf_status upload_factors(vf_nufft *plan, vf_queue *queue, cuda_state *state, vf_array *row)
{
    const int64_t segments = plan->segments.count, samples = plan->samples;
    vf_status status =
        vf_array_create(plan->device, VF_SPACE_DEVICE, plan->complex_type, segments * samples, &state->factor);
    if (status == VF_OK)
        status = vf_array_create(plan->device, VF_SPACE_DEVICE, plan->complex_type, samples, row);
    for (int64_t l = 0; l < segments && status == VF_OK; l++) {
        void *to = static_cast<char *>(state->factor.data) + (size_t)(l * samples) * vf_dtype_bytes(row->type);
        status = copy_reals(plan, queue, plan->segments.coefficient + 2 * l * samples, 2 * samples, row->data);
        if (status == VF_OK)
            status = vf_gather(queue, row->type, samples, static_cast<const uint32_t *>(state->bins.index.data),
                               row->data, to);
    }
    return status;
}

vf_status upload_segments(vf_nufft *plan, vf_queue *queue, cuda_state *state, const float *field)
{
    vf_array row = {};
    if (plan->segments.count == 0)
        return VF_OK;
    vf_status status = upload_factors(plan, queue, state, &row);
    if (status == VF_OK)
        status = upload(plan, queue, field, plan->voxels, VF_F32, &state->field);
    const vf_status waited = vf_queue_sync(queue);
    vf_array_free(&row);
    free(plan->segments.coefficient); /* only the sorted copy is used */
    plan->segments.coefficient = NULL;
    return status == VF_OK ? waited : status;
}

vf_status sort_samples(vf_nufft *plan, vf_queue *queue, cuda_state *state, const vf_nufft_samples *samples)
{
    gridding_tiles tiles;
    vf_status status = gridding_bin_tiles(plan, &tiles);
    for (int a = 0; a < 3; a++)
        state->tiles[a] = (int)tiles.count[a];
    if (status == VF_OK)
        status = gridding_bin_samples(plan, queue, samples, &tiles, &state->bins);
    if (status == VF_OK)
        status = gridding_cut_walks(plan, queue, &tiles, static_cast<const uint32_t *>(state->bins.first.data),
                                    &state->pieces);
    if (status == VF_OK)
        status = vf_array_create(plan->device, VF_SPACE_DEVICE, plan->complex_type, state->pieces.slots * TILE_POINTS,
                                 &state->scratch);
    return status;
}

int64_t grid_points(const vf_nufft *plan)
{
    return plan->axis[0].grid * plan->axis[1].grid * plan->axis[2].grid;
}

/* All arrays of a plan. */
enum { ARRAYS = 13 };
void list_arrays(cuda_state *state, vf_array *arrays[ARRAYS])
{
    vf_array *all[ARRAYS] = {&state->bins.samples,  &state->bins.first, &state->bins.index, &state->pieces.pieces,
                             &state->pieces.splits, &state->table,      &state->scale[0],   &state->scale[1],
                             &state->scale[2],      &state->field,      &state->factor,     &state->grid,
                             &state->scratch};
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

vf_status fill_plan(vf_nufft *plan, vf_queue *queue, cuda_state *state, const vf_nufft_samples *samples,
                    const float *field)
{
    vf_status status = sort_samples(plan, queue, state, samples);
    if (status == VF_OK)
        status = upload_segments(plan, queue, state, field);
    vf_array_free(&state->bins.index);
    if (status == VF_OK)
        status = upload_table(plan, queue, state);
    for (int a = 0; a < 3 && status == VF_OK; a++)
        status = upload_reals(plan, queue, plan->scale[a], plan->axis[a].voxels, &state->scale[a]);
    if (status == VF_OK)
        status = vf_array_create(plan->device, VF_SPACE_DEVICE, plan->complex_type, grid_points(plan), &state->grid);
    const int64_t dims[3] = {plan->axis[2].grid, plan->axis[1].grid, plan->axis[0].grid};
    if (status == VF_OK)
        status = vf_fft_create(plan->device, plan->complex_type, 3, dims, 1, &state->fft);
    return status;
}

vf_status create(vf_nufft *plan, const vf_nufft_samples *samples, const float *field)
{
    cuda_state *state = static_cast<cuda_state *>(calloc(1, sizeof *state));
    if (!state)
        return vf_fail(plan->ctx, VF_ERR_MEMORY, "NUFFT: no memory for a plan");
    plan->state = state;
    vf_queue *queue = NULL;
    vf_status status = vf_queue_create(plan->device, &queue);
    if (status != VF_OK)
        return status;
    status = fill_plan(plan, queue, state, samples, field);
    const vf_status waited = vf_queue_sync(queue);
    vf_queue_destroy(queue);
    status = status == VF_OK ? waited : status;
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
    task.samples = static_cast<const typename precision<T>::sample *>(state->bins.samples.data);
    task.first = static_cast<const uint32_t *>(state->bins.first.data);
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
    task.kernel_pitch = kernel_pitch_of<T>(plan->kernel.width);
    return task;
}

template <typename T>
vf_status spread(const vf_nufft *plan, cudaStream_t stream, int segment, const void *values)
{
    const cuda_state *state = static_cast<const cuda_state *>(plan->state);
    const spread_task<T> task = make_task<T>(plan, segment, values);
    const size_t kernels = (size_t)(precision<T>::VISITS * task.kernel_pitch) * sizeof(T);
    const size_t tile = (size_t)(TILE_ROWS * TILE_PITCH) * sizeof(typename precision<T>::complex);
    const size_t shared = kernels > tile ? kernels : tile;
    spread_tiles<T><<<vf_blocks_for(state->pieces.piece_count, 1), TILE_ROWS, shared, stream>>>(
        task, static_cast<const gridding_piece *>(state->pieces.pieces.data));
    cudaError_t error = cudaGetLastError();
    if (error == cudaSuccess && state->pieces.split_count > 0) {
        add_pieces<T><<<vf_blocks_for(state->pieces.split_count, 1), POINT_THREADS, 0, stream>>>(
            task, static_cast<const gridding_split *>(state->pieces.splits.data));
        error = cudaGetLastError();
    }
    return vf_cuda_check(plan->device, error, "spreading samples");
}

template <typename T, int LANES>
void interpolate_with(const vf_nufft *plan, cudaStream_t stream, int segment, void *values)
{
    typedef typename precision<T>::complex C;
    const int threads = WARP * SAMPLE_WARPS;
    interpolate_samples<T, LANES><<<vf_blocks_for(plan->samples, threads / LANES), threads, 0, stream>>>(
        make_task<T>(plan, segment, NULL), static_cast<C *>(values), plan->samples, segment > 0);
}

template <typename T>
vf_status interpolate(const vf_nufft *plan, cudaStream_t stream, int segment, void *values)
{
    const int width = plan->kernel.width;
    if (plan->samples == 0)
        return VF_OK;
    if (width <= 4)
        interpolate_with<T, 4>(plan, stream, segment, values);
    else if (width <= 8)
        interpolate_with<T, 8>(plan, stream, segment, values);
    else if (width <= 16)
        interpolate_with<T, 16>(plan, stream, segment, values);
    else
        interpolate_with<T, 32>(plan, stream, segment, values);
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

/* Calls `one` for each vector of a batch and each segment. */
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
