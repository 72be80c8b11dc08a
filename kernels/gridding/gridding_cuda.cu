/* The CUDA backend of the NUFFT: a plan's device memory, and the order of its kernels (gridding_cuda.cuh,
 * gridding_spread.cuh, gridding_columns.cuh, gridding_tensor_spread.cuh, gridding_interpolate.cuh). */
#include <stdlib.h>
#include <string.h>

#include "backend/cuda_check.cuh"
#include "backend/stream_memory.cuh"
#include "gridding_interpolate.cuh"
#include "gridding_tensor_spread.cuh"
#include "voxfield/copy.h"
#include "voxfield/fft.h"

namespace
{

struct cuda_state {
    gridding_bins bins;
    gridding_tiles tiles;
    gridding_padded padded;
    gridding_runs runs;
    vf_array table, scale[3], field, factor, grid, scratch;
    int together;           /* vectors that are transformed together, each with a grid */
    vf_fft *fft, *fft_rest; /* for `together` vectors; and for one at a time, if that is not the same */
    int most_shared;        /* of shared memory that a block may have, in bytes */
    bool tensor_cores;      /* for double precision */
};

/* ---- the plan ---- */

/* Copies host memory to a new device array. All copies of a plan go into one queue, which the plan waits for at the
 * end: a copy from memory that is not pinned may return before its last bytes have arrived. */
vf_status upload(vf_queue *queue, const void *data, int64_t count, vf_dtype type, vf_array *out)
{
    vf_status status = vf_lasting_create(queue, type, count, out);
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
    vf_status status = vf_lasting_create(queue, plan->real, count, out);
    return status == VF_OK ? copy_reals(plan, queue, data, count, out->data) : status;
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

template <typename Sample, typename C>
__global__ void sort_factors(const Sample *samples, int64_t count, const C *factors, C *sorted)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        sorted[i] = factors[samples[i].index];
}

template <typename T>
vf_status sort_row(const vf_nufft *plan, vf_queue *queue, const cuda_state *state, const void *row, int segment)
{
    typedef typename precision<T>::complex C;
    if (plan->samples == 0)
        return VF_OK;
    sort_factors<<<vf_blocks_for(plan->samples, POINT_THREADS), POINT_THREADS, 0,
                   static_cast<cudaStream_t>(vf_queue_native(queue))>>>(
        static_cast<const typename precision<T>::sample *>(state->bins.samples.data), plan->samples,
        static_cast<const C *>(row), static_cast<C *>(state->factor.data) + segment * plan->samples);
    return vf_cuda_check(plan->device, cudaGetLastError(), "sorting segments' factors");
}

/* Uploads the segments' factors in the order of the sorted samples, one segment at a time through `row`. */
vf_status upload_factors(vf_nufft *plan, vf_queue *queue, cuda_state *state, vf_array *row)
{
    const int64_t segments = plan->segments.count, samples = plan->samples;
    vf_status status = vf_lasting_create(queue, plan->complex_type, segments * samples, &state->factor);
    if (status == VF_OK)
        status = vf_lasting_create(queue, plan->complex_type, samples, row);
    for (int l = 0; l < segments && status == VF_OK; l++) {
        status = copy_reals(plan, queue, plan->segments.coefficient + 2 * l * samples, 2 * samples, row->data);
        if (status == VF_OK)
            status = plan->real == VF_F64 ? sort_row<double>(plan, queue, state, row->data, l)
                                          : sort_row<float>(plan, queue, state, row->data, l);
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
        status = upload(queue, field, plan->voxels, VF_F32, &state->field);
    const vf_status waited = vf_queue_sync(queue);
    vf_lasting_free(queue, &row);
    free(plan->segments.coefficient); /* only the sorted copy is used */
    plan->segments.coefficient = NULL;
    return status == VF_OK ? waited : status;
}

int64_t grid_points(const vf_nufft *plan)
{
    return plan->axis[0].grid * plan->axis[1].grid * plan->axis[2].grid;
}

/* The padded tiles of a chunk take no more memory than the grid, or SCRATCH bytes if it is small. */
vf_status sort_samples(vf_nufft *plan, vf_queue *queue, cuda_state *state, const vf_nufft_samples *samples)
{
    const int64_t SCRATCH = 64 << 20, point = (int64_t)vf_dtype_bytes(plan->complex_type),
                  grid = grid_points(plan) * point, most = grid > SCRATCH ? grid : SCRATCH;
    vf_status status = gridding_bin_tiles(plan, &state->tiles);
    if (status != VF_OK)
        return status;
    gridding_pad_tile(plan, &state->tiles, &state->padded);
    const int64_t most_slots = most / (state->padded.points * point);
    status = gridding_bin_samples(plan, queue, samples, &state->tiles, &state->bins);
    if (status == VF_OK)
        status = gridding_cut_runs(plan, queue, &state->tiles, static_cast<const uint32_t *>(state->bins.first.data),
                                   most_slots > 0 ? most_slots : 1, &state->runs);
    vf_lasting_free(queue, &state->bins.first);
    if (status == VF_OK)
        status =
            vf_lasting_create(queue, plan->complex_type, state->runs.slots * state->padded.points, &state->scratch);
    return status;
}

/* All arrays of a plan. */
enum { ARRAYS = 12 };
void list_arrays(cuda_state *state, vf_array *arrays[ARRAYS])
{
    vf_array *all[ARRAYS] = {&state->bins.samples, &state->runs.runs, &state->runs.tile_run, &state->runs.splits,
                             &state->table,        &state->scale[0],  &state->scale[1],      &state->scale[2],
                             &state->field,        &state->factor,    &state->grid,          &state->scratch};
    memcpy(arrays, all, sizeof all);
}

void destroy(vf_nufft *plan)
{
    cuda_state *state = static_cast<cuda_state *>(plan->state);
    vf_array *arrays[ARRAYS];
    list_arrays(state, arrays);
    gridding_bins_free(&state->bins);
    gridding_runs_free(&state->runs);
    for (int i = 0; i < ARRAYS; i++)
        vf_lasting_free(NULL, arrays[i]);
    vf_fft_destroy(state->fft);
    vf_fft_destroy(state->fft_rest);
    free(state);
    plan->state = NULL;
}

/* Small grids are transformed together, as many as the GPU's cache holds: each alone does not keep a GPU busy. At most
 * as many as a launch may have blocks along z. */
vf_status make_transforms(vf_nufft *plan, vf_queue *queue, cuda_state *state)
{
    const int64_t TOGETHER = 32 << 20, MOST = 65535,
                  bytes = grid_points(plan) * (int64_t)vf_dtype_bytes(plan->complex_type), fit = TOGETHER / bytes,
                  most = fit < 1      ? 1
                         : fit < MOST ? fit
                                      : MOST,
                  calls = (plan->most_batch + most - 1) / most;
    const int64_t dims[3] = {plan->axis[2].grid, plan->axis[1].grid, plan->axis[0].grid};
    state->together = (int)((plan->most_batch + calls - 1) / calls);
    vf_status status = vf_lasting_create(queue, plan->complex_type, state->together * grid_points(plan), &state->grid);
    if (status == VF_OK)
        status = vf_fft_create(plan->device, plan->complex_type, 3, dims, state->together, &state->fft);
    if (status == VF_OK && state->together > 1)
        status = vf_fft_create(plan->device, plan->complex_type, 3, dims, 1, &state->fft_rest);
    return status;
}

vf_status note_device(const vf_nufft *plan, cuda_state *state)
{
    const int device = vf_device_ordinal(plan->device);
    const vf_status status = VF_CUDA(
        plan->device, cudaDeviceGetAttribute(&state->most_shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    return status == VF_OK ? VF_CUDA(plan->device, has_tensor_cores(device, &state->tensor_cores)) : status;
}

vf_status fill_plan(vf_nufft *plan, vf_queue *queue, cuda_state *state, const vf_nufft_samples *samples,
                    const float *field)
{
    vf_status status = note_device(plan, state);
    if (status == VF_OK)
        status = sort_samples(plan, queue, state, samples);
    if (status == VF_OK)
        status = upload_segments(plan, queue, state, field);
    if (status == VF_OK)
        status = upload_table(plan, queue, state);
    for (int a = 0; a < 3 && status == VF_OK; a++)
        status = upload_reals(plan, queue, plan->scale[a], plan->axis[a].voxels, &state->scale[a]);
    return status == VF_OK ? make_transforms(plan, queue, state) : status;
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
    plan->bytes = vf_fft_bytes(state->fft) + (state->fft_rest ? vf_fft_bytes(state->fft_rest) : 0);
    for (int i = 0; i < ARRAYS; i++)
        plan->bytes += arrays[i]->count * (int64_t)vf_dtype_bytes(arrays[i]->type);
    return VF_OK;
}

/* ---- launches ---- */

template <typename T>
kernel_table<T> table_of(const vf_nufft *plan)
{
    const cuda_state *state = static_cast<const cuda_state *>(plan->state);
    return {static_cast<const T *>(state->table.data), plan->kernel.degree, plan->kernel.width};
}

/* The segment's factors, in the order of the sorted samples, or NULL. */
template <typename T>
const typename precision<T>::complex *factors_of(const vf_nufft *plan, int segment)
{
    typedef typename precision<T>::complex C;
    const cuda_state *state = static_cast<const cuda_state *>(plan->state);
    return plan->segments.count > 0 ? static_cast<const C *>(state->factor.data) + segment * plan->samples : NULL;
}

template <typename T>
spread_task<T> make_spread(const vf_nufft *plan, int segment, int vector, const void *values)
{
    typedef typename precision<T>::complex C;
    const cuda_state *state = static_cast<const cuda_state *>(plan->state);
    const gridding_padded &padded = state->padded;
    spread_task<T> task = {};
    task.table = table_of<T>(plan);
    task.samples = static_cast<const typename precision<T>::sample *>(state->bins.samples.data);
    task.values = static_cast<const C *>(values) + vector * plan->samples;
    task.factor = factors_of<T>(plan, segment);
    task.scratch = static_cast<C *>(state->scratch.data);
    task.grid = static_cast<C *>(state->grid.data) + vector * grid_points(plan);
    task.tile_run = static_cast<const int32_t *>(state->runs.tile_run.data);
    task.padded = padded;
    task.tensor_cores = state->tensor_cores;
    const int64_t grid_step[3] = {1, plan->axis[0].grid, plan->axis[0].grid * plan->axis[1].grid},
                  *count = state->tiles.count, tile_step[3] = {1, count[0], count[0] * count[1]};
    for (int i = 0; i < 3; i++) {
        const int axis = padded.axis[i];
        task.grid_size[i] = (int)plan->axis[axis].grid;
        task.tiles[i] = (int)count[axis];
        task.grid_step[i] = grid_step[axis];
        task.tile_step[i] = (int)tile_step[axis];
    }
    return task;
}

/* Adds a chunk's padded tiles to the grid; if it is the only one, sets the grid. */
template <typename T>
cudaError_t gather(const spread_task<T> &task, const gridding_chunk &chunk, bool only, cudaStream_t stream)
{
    const int slow = task.tile_step[2], all = task.tiles[2], size = task.padded.size[2];
    const int first = (int)(chunk.first_tile / slow % all), last = (int)((chunk.end_tile - 1) / slow % all);
    /* Samples of the last layer reach that many behind it; one more where the grid's last tile is smaller. */
    const int behind = (task.padded.width[2] - 1 + size - 1) / size + 1, reached = last + 1 - first + behind;
    const int layers = only || reached > all ? all : reached;
    gather_tiles<T><<<vf_blocks_for((int64_t)task.tiles[0] * task.tiles[1] * layers, 1), GATHER_THREADS, 0, stream>>>(
        task, (int)chunk.first_run, (unsigned)(chunk.end_run - chunk.first_run), first, !only);
    return cudaGetLastError();
}

template <typename T>
cudaError_t spread_chunk(const spread_task<T> &task, const gridding_runs &runs, const gridding_chunk &chunk,
                         cudaStream_t stream)
{
    const int64_t count = chunk.end_run - chunk.first_run, splits = chunk.end_split - chunk.first_split;
    const int blocks = (int)vf_blocks_for(task.padded.points, POINT_THREADS);
    cudaError_t error = cudaSuccess;
    if (count > 0)
        error = launch_spread(task, count, static_cast<const gridding_run *>(runs.runs.data) + chunk.first_run, stream);
    if (error == cudaSuccess && splits > 0) {
        add_runs<T><<<vf_blocks_for(splits * blocks, 1), POINT_THREADS, 0, stream>>>(
            task, static_cast<const gridding_split *>(runs.splits.data) + chunk.first_split, blocks,
            (int)chunk.first_run);
        error = cudaGetLastError();
    }
    return error == cudaSuccess ? gather(task, chunk, runs.chunk_count == 1, stream) : error;
}

template <typename T>
vf_status spread(const vf_nufft *plan, cudaStream_t stream, int segment, int vector, const void *values)
{
    const cuda_state *state = static_cast<const cuda_state *>(plan->state);
    const spread_task<T> task = make_spread<T>(plan, segment, vector, values);
    cudaError_t error = cudaSuccess;
    if (state->runs.chunk_count > 1)
        error = cudaMemsetAsync(task.grid, 0, (size_t)grid_points(plan) * sizeof *task.grid, stream);
    for (int c = 0; c < state->runs.chunk_count && error == cudaSuccess; c++)
        error = spread_chunk(task, state->runs, state->runs.chunks[c], stream);
    return vf_cuda_check(plan->device, error, "spreading samples");
}

template <typename T>
interpolate_task<T> make_interpolate(const vf_nufft *plan, int segment, int vectors, void *values)
{
    typedef typename precision<T>::complex C;
    const cuda_state *state = static_cast<const cuda_state *>(plan->state);
    interpolate_task<T> task = {};
    task.table = table_of<T>(plan);
    task.samples = static_cast<const typename precision<T>::sample *>(state->bins.samples.data);
    task.factor = factors_of<T>(plan, segment);
    task.grid = static_cast<const C *>(state->grid.data);
    task.out = static_cast<C *>(values);
    task.count = plan->samples;
    task.grid_points = grid_points(plan);
    task.vectors = vectors;
    task.add = segment > 0;
    for (int a = 0; a < 3; a++) {
        task.grid_size[a] = (int)plan->axis[a].grid;
        task.width[a] = plan->axis[a].width;
        task.tiles[a] = (int)state->tiles.count[a];
    }
    return task;
}

template <typename T>
vf_status interpolate(const vf_nufft *plan, cudaStream_t stream, int segment, int vectors, void *values)
{
    const cuda_state *state = static_cast<const cuda_state *>(plan->state);
    const interpolate_runs_of of = {static_cast<const gridding_run *>(state->runs.runs.data),
                                    state->runs.chunks[state->runs.chunk_count - 1].end_run, state->most_shared};
    return vf_cuda_check(plan->device,
                         launch_interpolate(make_interpolate<T>(plan, segment, vectors, values), of, stream),
                         "interpolating samples");
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

/* Transforms the grids of `vectors` vectors, one or as many as go together. */
vf_status transform(const cuda_state *state, vf_queue *queue, int vectors, vf_fft_direction direction)
{
    return vf_fft_execute(vectors == state->together ? state->fft : state->fft_rest, queue, direction,
                          state->grid.data);
}

template <typename T>
vf_status adjoint_some(const vf_nufft *plan, vf_queue *queue, int segment, int vectors, const void *c, void *y)
{
    typedef typename precision<T>::complex C;
    const cuda_state *state = static_cast<const cuda_state *>(plan->state);
    const gridding_axis *axis = plan->axis;
    cudaStream_t stream = static_cast<cudaStream_t>(vf_queue_native(queue));
    vf_status status = VF_OK;
    for (int v = 0; v < vectors && status == VF_OK; v++)
        status = spread<T>(plan, stream, segment, v, c);
    if (status == VF_OK)
        status = transform(state, queue, vectors, VF_FFT_BACKWARD);
    if (status != VF_OK)
        return status;
    crop_grid<T>
        <<<row_blocks(axis[0].voxels, axis[1].voxels * axis[2].voxels, vectors), dim3(ROW_X, ROW_ROWS), 0, stream>>>(
            make_crop<T>(plan, segment, 1), static_cast<const C *>(state->grid.data), static_cast<C *>(y));
    return vf_cuda_check(plan->device, cudaGetLastError(), "cropping the grid");
}

template <typename T>
vf_status forward_some(const vf_nufft *plan, vf_queue *queue, int segment, int vectors, const void *x, void *c)
{
    typedef typename precision<T>::complex C;
    const cuda_state *state = static_cast<const cuda_state *>(plan->state);
    const gridding_axis *axis = plan->axis;
    cudaStream_t stream = static_cast<cudaStream_t>(vf_queue_native(queue));
    pad_image<T><<<row_blocks(axis[0].grid, axis[1].grid * axis[2].grid, vectors), dim3(ROW_X, ROW_ROWS), 0, stream>>>(
        make_crop<T>(plan, segment, -1), static_cast<const C *>(x), static_cast<C *>(state->grid.data));
    vf_status status = vf_cuda_check(plan->device, cudaGetLastError(), "padding the image");
    if (status == VF_OK)
        status = transform(state, queue, vectors, VF_FFT_FORWARD);
    return status == VF_OK ? interpolate<T>(plan, stream, segment, vectors, c) : status;
}

/* Calls `some` for the vectors of a batch, as many as go together, or one at a time for the rest, and each segment. */
vf_status for_all(vf_nufft *plan, vf_queue *queue, int batch, const void *in, int64_t in_count, void *out,
                  int64_t out_count, vf_status (*some)(const vf_nufft *, vf_queue *, int, int, const void *, void *))
{
    const size_t element = vf_dtype_bytes(plan->complex_type);
    const int segments = plan->segments.count > 0 ? plan->segments.count : 1,
              together = static_cast<const cuda_state *>(plan->state)->together;
    vf_status status = VF_CUDA(plan->device, cudaSetDevice(vf_device_ordinal(plan->device)));
    for (int b = 0, vectors = 0; b < batch; b += vectors) {
        vectors = batch - b >= together ? together : 1;
        for (int l = 0; l < segments && status == VF_OK; l++)
            status = some(plan, queue, l, vectors, static_cast<const char *>(in) + (size_t)(b * in_count) * element,
                          static_cast<char *>(out) + (size_t)(b * out_count) * element);
    }
    return status;
}

vf_status adjoint(vf_nufft *plan, vf_queue *queue, int batch, const void *c, void *y)
{
    return for_all(plan, queue, batch, c, plan->samples, y, plan->voxels,
                   plan->real == VF_F64 ? adjoint_some<double> : adjoint_some<float>);
}

vf_status forward(vf_nufft *plan, vf_queue *queue, int batch, const void *x, void *c)
{
    return for_all(plan, queue, batch, x, plan->voxels, c, plan->samples,
                   plan->real == VF_F64 ? forward_some<double> : forward_some<float>);
}

} // namespace

extern "C" const gridding_backend gridding_cuda = {create, adjoint, forward, destroy};
