/* Products of matrices along the axes of arrays, in double precision: for the truncated multiplier, and for the charges
 * of the coarse mesh, which are those of the fine mesh's points. */
#include "ewald_cuda.cuh"

namespace vf_ewald_gpu
{
namespace
{

using namespace vf_bin_order;

/* Which k matter to a row j of a window's matrix: those whose coordinate, first + step k, is within `half` of j. */
struct band {
    double first, step, half; /* step 0: all */
};

struct real_rows {
    const double *data;
    int64_t count;
    __device__ double operator()(int64_t row, int64_t k) const
    {
        return data[row * count + k];
    }
};

/* The real parts of a mesh's rows along x. */
template <typename T>
struct mesh_rows {
    const pair<T> *data;
    int64_t height, pitch, plane; /* rows in a plane of the mesh; numbers between rows and planes */
    __device__ double operator()(int64_t row, int64_t k) const
    {
        return (double)data[row / height * plane + row % height * pitch + k].re;
    }
};

enum { SIDE_ROWS = 128, SIDE_J = 32, DEPTH = 16, ACROSS = 16, EACH_ROW = SIDE_ROWS / ACROSS, EACH_J = SIDE_J / ACROSS };

template <typename Source>
__global__ void __launch_bounds__(ACROSS *ACROSS)
    multiply_rows(int64_t rows, int64_t j_count, int64_t k_count, const Source in, const double *__restrict__ matrix,
                  const band limits, double *__restrict__ out)
{
    __shared__ double a[DEPTH][SIDE_ROWS + 1], b[DEPTH][SIDE_J + 1];
    const int64_t row0 = (int64_t)blockIdx.x * SIDE_ROWS, j0 = (int64_t)blockIdx.y * SIDE_J;
    const int tr = threadIdx.x % ACROSS, tj = threadIdx.x / ACROSS;
    double sums[EACH_J][EACH_ROW] = {};
    int64_t begin = 0, end = k_count;
    if (limits.step > 0) {
        const double low = ((double)j0 - limits.half - limits.first) / limits.step,
                     high = ((double)(j0 + SIDE_J) + limits.half - limits.first) / limits.step;
        begin = low > 0 ? (int64_t)low : 0;
        end = high + 1 < (double)k_count ? (int64_t)(high + 1) : k_count;
    }
    for (int64_t k0 = begin; k0 < end; k0 += DEPTH) {
        for (int i = threadIdx.x; i < SIDE_ROWS * DEPTH; i += ACROSS * ACROSS) {
            const int k = i % DEPTH, n = i / DEPTH;
            a[k][n] = k0 + k < end && row0 + n < rows ? in(row0 + n, k0 + k) : 0;
        }
        for (int i = threadIdx.x; i < SIDE_J * DEPTH; i += ACROSS * ACROSS) {
            const int k = i % DEPTH, n = i / DEPTH;
            b[k][n] = k0 + k < end && j0 + n < j_count ? matrix[(j0 + n) * k_count + k0 + k] : 0;
        }
        __syncthreads();
        for (int k = 0; k < DEPTH; k++)
#pragma unroll
            for (int m = 0; m < EACH_J; m++)
#pragma unroll
                for (int n = 0; n < EACH_ROW; n++)
                    sums[m][n] += b[k][tj + m * ACROSS] * a[k][tr + n * ACROSS];
        __syncthreads();
    }
    for (int m = 0; m < EACH_J; m++)
        for (int n = 0; n < EACH_ROW; n++) {
            const int64_t j = j0 + tj + m * ACROSS, row = row0 + tr + n * ACROSS;
            if (j < j_count && row < rows)
                out[j * rows + row] = sums[m][n];
        }
}

template <typename Source>
vf_status apply(vf_queue *queue, int64_t rows, int64_t j_count, int64_t k_count, const Source &in, const double *matrix,
                const band &limits, double *out)
{
    multiply_rows<<<dim3(vf_blocks_for(rows, SIDE_ROWS), vf_blocks_for(j_count, SIDE_J)), ACROSS * ACROSS, 0,
                    stream_of(queue)>>>(rows, j_count, k_count, in, matrix, limits, out);
    return vf_cuda_check(vf_queue_device(queue), cudaGetLastError(), "multiplying by a matrix");
}

struct window_task {
    vf_prolate_powers window;
    int width;
    double first, step;
    int64_t points, mesh; /* of the fine mesh and of the coarse one */
    bool periodic;
};

/* matrix [mesh][points], 0 beforehand: the window of each fine point at coarse points. */
__global__ void make_window_matrix(const window_task task, double *matrix)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= task.points)
        return;
    double offset;
    const int64_t start = ewald_start(task.width, task.first + task.step * (double)i, &offset);
    for (int p = 0; p < task.width; p++) {
        const int64_t j = task.periodic ? ewald_wrapped(start + p, task.mesh) : start + p;
        if (j >= 0 && j < task.mesh)
            matrix[j * task.points + i] = ewald_window_value(&task.window, task.width, p, offset);
    }
}

__global__ void put_real_part(const double *values, int64_t width, int64_t height, int64_t points, int64_t row,
                              int64_t plane, pair<double> *out)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < points)
        out[i / width / height * plane + i / width % height * row + i % width].re = values[i];
}

vf_status take_window_matrix(const ewald_layout &fine, const ewald_level &coarse, const ewald_targets &targets,
                             int axis, vf_stream_memory *memory, vf_array *matrix, band *limits)
{
    vf_device *device = vf_queue_device(memory->queue);
    const cudaStream_t stream = stream_of(memory->queue);
    const window_task task = {coarse.window_powers, coarse.at.width,      targets.first[axis], targets.step[axis][axis],
                              fine.mesh[axis],      coarse.at.mesh[axis], coarse.at.periodic};
    *limits = {task.first, task.periodic ? 0 : task.step, 0.5 * task.width + 1};
    vf_status status = vf_stream_memory_take(memory, VF_F64, task.mesh * task.points, matrix);
    if (status == VF_OK)
        status = VF_CUDA(device, cudaMemsetAsync(matrix->data, 0, (size_t)matrix->count * sizeof(double), stream));
    if (status != VF_OK)
        return status;
    make_window_matrix<<<vf_blocks_for(task.points, 64), 64, 0, stream>>>(task, data_of<double>(*matrix));
    return vf_cuda_check(device, cudaGetLastError(), "making a window's matrix");
}

} // namespace

vf_status apply_matrix(vf_queue *queue, int64_t rows, int64_t j_count, int64_t k_count, const double *in,
                       const double *matrix, double *out)
{
    return apply(queue, rows, j_count, k_count, real_rows{in, k_count}, matrix, {}, out);
}

vf_status restrict_charges(const spectrum &fine, const spectrum &coarse, vf_stream_memory *memory)
{
    vf_queue *queue = memory->queue;
    const ewald_layout &from = fine.level->at, &to = coarse.level->at;
    const int64_t pitch = from.length[0], plane = from.length[0] * from.length[1];
    int64_t sizes[3] = {from.mesh[0], from.mesh[1], from.mesh[2]};
    ewald_targets targets;
    vf_array values = {};
    vf_status status = VF_OK;
    ewald_targets_place(coarse.level, from.mesh, from.origin, from.edge, &targets);
    for (int a = 0; a < 3 && status == VF_OK; a++) {
        const int64_t k = sizes[a], rows = sizes[(a + 1) % 3] * sizes[(a + 2) % 3], j = to.mesh[a];
        vf_array matrix, out;
        band limits;
        status = take_window_matrix(from, *coarse.level, targets, a, memory, &matrix, &limits);
        if (status == VF_OK)
            status = vf_stream_memory_take(memory, VF_F64, j * rows, &out);
        if (status != VF_OK)
            return status;
        const double *window = data_of<double>(matrix);
        double *there = data_of<double>(out);
        if (a > 0)
            status = apply(queue, rows, j, k, real_rows{data_of<double>(values), k}, window, limits, there);
        else if (fine.level->precision == VF_F64)
            status =
                apply(queue, rows, j, k, mesh_rows<double>{data_of<pair<double>>(fine.data), sizes[1], pitch, plane},
                      window, limits, there);
        else
            status = apply(queue, rows, j, k, mesh_rows<float>{data_of<pair<float>>(fine.data), sizes[1], pitch, plane},
                           window, limits, there);
        values = out;
        sizes[a] = j;
    }
    if (status != VF_OK)
        return status;
    put_real_part<<<vf_blocks_for(values.count, THREADS), THREADS, 0, stream_of(queue)>>>(
        data_of<double>(values), to.mesh[0], to.mesh[1], values.count, to.length[0], to.length[0] * to.length[1],
        data_of<pair<double>>(coarse.data));
    return vf_cuda_check(vf_queue_device(queue), cudaGetLastError(), "filling the coarse mesh");
}

} // namespace vf_ewald_gpu
