/* The multiplication of a mesh's spectrum. In closed form, multipliers are computed where they are used. The truncated
 * one is even along each axis, and what leads from its samples on the longer mesh to it (ewald_cpu_truncated.c) is
 * linear: a matrix for each axis, applied to one octant. */
#include "ewald_cuda.cuh"

namespace vf_ewald_gpu
{
namespace
{

using namespace vf_bin_order;

enum { ACROSS = 64, DOWN = 4 }; /* threads of a block, along x and y of the spectrum */

dim3 blocks_over(const int64_t length[3])
{
    return dim3(vf_blocks_for(length[0], ACROSS), vf_blocks_for(length[1], DOWN), (unsigned)length[2]);
}

/* The index of the wave number with the opposite sign, if that is smaller. */
__device__ inline int64_t folded(int64_t j, int64_t n)
{
    return 2 * j > n ? n - j : j;
}

template <typename T>
__global__ void multiply_closed(const ewald_closed_form form, pair<T> *data)
{
    const int64_t *n = form.length;
    const int64_t j[3] = {(int64_t)blockIdx.x * ACROSS + threadIdx.x, (int64_t)blockIdx.y * DOWN + threadIdx.y,
                          blockIdx.z};
    if (j[0] >= n[0] || j[1] >= n[1])
        return;
    double value = ewald_closed_form_value(&form, j);
    for (int a = 0; a < 3; a++)
        value *= form.correction[a][folded(j[a], n[a])];
    pair<T> *at = data + (j[2] * n[1] + j[1]) * n[0] + j[0];
    *at = {at->re * (T)value, at->im * (T)value};
}

struct sizes_of {
    int64_t n[3];
};

/* table [z][y][x], each up to length / 2. */
__global__ void multiply_table(const sizes_of length, const double *table, pair<double> *data)
{
    const int64_t *n = length.n;
    const int64_t x = (int64_t)blockIdx.x * ACROSS + threadIdx.x, y = (int64_t)blockIdx.y * DOWN + threadIdx.y,
                  z = blockIdx.z;
    if (x >= n[0] || y >= n[1])
        return;
    const double value = table[(folded(z, n[2]) * (n[1] / 2 + 1) + folded(y, n[1])) * (n[0] / 2 + 1) + folded(x, n[0])];
    pair<double> *at = data + (z * n[1] + y) * n[0] + x;
    *at = {at->re * value, at->im * value};
}

template <typename T>
__global__ void take_real_part(const sizes_of mesh, int64_t row, int64_t plane, const pair<T> *data, T *out)
{
    const int64_t *n = mesh.n;
    const int64_t x = (int64_t)blockIdx.x * ACROSS + threadIdx.x, y = (int64_t)blockIdx.y * DOWN + threadIdx.y,
                  z = blockIdx.z;
    if (x < n[0] && y < n[1])
        out[(z * n[1] + y) * n[0] + x] = data[z * plane + y * row + x].re;
}

/* ---- the truncated multiplier ---- */

/* samples [z][y][x] of one octant. */
__global__ void sample_truncated(const ewald_truncated t, double *samples)
{
    const int64_t x = (int64_t)blockIdx.x * ACROSS + threadIdx.x, y = (int64_t)blockIdx.y * DOWN + threadIdx.y,
                  z = blockIdx.z;
    if (x >= t.count[0] || y >= t.count[1])
        return;
    const double kx = t.unit[0] * (double)x, ky = t.unit[1] * (double)y, kz = t.unit[2] * (double)z;
    const double value = ewald_truncated_value(&t, kx * kx + ky * ky + kz * kz);
    samples[(z * t.count[1] + y) * t.count[0] + x] =
        value * t.correction[0][x] * t.correction[1][y] * t.correction[2][z];
}

/* matrix [to / 2 + 1][count]: an even spectrum of period `from`, transformed, cut to period `to`, transformed again. */
__global__ void make_matrix(int64_t from, int64_t to, int64_t count, double *matrix)
{
    const int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y;
    if (k >= count)
        return;
    double sum = 0;
    for (int64_t n = 0; n <= to / 2; n++) {
        const double both =
            cospi(2 * (double)(n * j % to) / (double)to) * cospi(2 * (double)(n * k % from) / (double)from);
        sum += n == 0 || 2 * n == to ? both : 2 * both;
    }
    matrix[j * count + k] = k == 0 || 2 * k == from ? sum : 2 * sum;
}

/* ---- host side ---- */

/* Puts arrays of the host into device memory, and sets `there` to where they are. */
vf_status upload(vf_stream_memory *memory, double *const host[3], const int64_t count[3], double *there[3])
{
    vf_status status = VF_OK;
    for (int a = 0; a < 3 && status == VF_OK; a++) {
        vf_array data;
        status = vf_stream_memory_take(memory, VF_F64, count[a], &data);
        if (status == VF_OK)
            status = vf_queue_copy(memory->queue, data.data, host[a], (size_t)count[a] * sizeof(double));
        there[a] = data_of<double>(data);
    }
    return status;
}

vf_status multiply_in_closed_form(const spectrum &mesh, vf_stream_memory *memory, const ewald_kernel_job &job)
{
    const cudaStream_t stream = stream_of(memory->queue);
    ewald_closed_form form;
    vf_status status = ewald_closed_form_make(&job, &form);
    if (status == VF_OK) {
        ewald_closed_form there = form;
        const int64_t count[3] = {form.length[0] / 2 + 1, form.length[1] / 2 + 1, form.length[2] / 2 + 1};
        const dim3 blocks = blocks_over(form.length), threads(ACROSS, DOWN);
        status = upload(memory, form.correction, count, there.correction);
        if (status == VF_OK && mesh.level->precision == VF_F64)
            multiply_closed<<<blocks, threads, 0, stream>>>(there, data_of<pair<double>>(mesh.data));
        else if (status == VF_OK)
            multiply_closed<<<blocks, threads, 0, stream>>>(there, data_of<pair<float>>(mesh.data));
        if (status == VF_OK)
            status = vf_cuda_check(vf_queue_device(memory->queue), cudaGetLastError(), "multiplying a spectrum");
    }
    ewald_closed_form_free(&form);
    return status;
}

/* `samples`: those of one octant; replaced by the multiplier. */
vf_status transform_samples(const ewald_truncated &t, const int64_t length[3], vf_stream_memory *memory,
                            vf_array *samples)
{
    vf_queue *queue = memory->queue;
    int64_t sizes[3] = {t.count[0], t.count[1], t.count[2]};
    vf_status status = VF_OK;
    for (int a = 0; a < 3 && status == VF_OK; a++) {
        const int64_t to = length[a] / 2 + 1, k = sizes[a], rows = sizes[(a + 1) % 3] * sizes[(a + 2) % 3];
        vf_array matrix, out;
        status = vf_stream_memory_take(memory, VF_F64, to * k, &matrix);
        if (status == VF_OK)
            status = vf_stream_memory_take(memory, VF_F64, to * rows, &out);
        if (status != VF_OK)
            return status;
        make_matrix<<<dim3(vf_blocks_for(k, 128), (unsigned)to), 128, 0, stream_of(queue)>>>(t.samples[a], length[a], k,
                                                                                             data_of<double>(matrix));
        status = vf_cuda_check(vf_queue_device(queue), cudaGetLastError(), "transforming a kernel");
        if (status == VF_OK)
            status = apply_matrix(queue, rows, to, k, data_of<double>(*samples), data_of<double>(matrix),
                                  data_of<double>(out));
        *samples = out;
        sizes[a] = to;
    }
    return status;
}

vf_status multiply_truncated(const spectrum &mesh, vf_stream_memory *memory, const ewald_kernel_job &job)
{
    vf_device *device = vf_queue_device(memory->queue);
    const cudaStream_t stream = stream_of(memory->queue);
    const ewald_layout &s = mesh.level->at;
    ewald_truncated t;
    vf_array samples = {};
    vf_status status = ewald_truncated_make(&job, &t);
    ewald_truncated there = t;
    if (status == VF_OK)
        status = upload(memory, t.correction, t.count, there.correction);
    if (status == VF_OK)
        status = vf_stream_memory_take(memory, VF_F64, t.count[0] * t.count[1] * t.count[2], &samples);
    if (status == VF_OK) {
        sample_truncated<<<blocks_over(t.count), dim3(ACROSS, DOWN), 0, stream>>>(there, data_of<double>(samples));
        status = vf_cuda_check(device, cudaGetLastError(), "sampling a kernel");
    }
    if (status == VF_OK)
        status = transform_samples(t, s.length, memory, &samples);
    if (status == VF_OK) {
        multiply_table<<<blocks_over(s.length), dim3(ACROSS, DOWN), 0, stream>>>(
            {{s.length[0], s.length[1], s.length[2]}}, data_of<double>(samples), data_of<pair<double>>(mesh.data));
        status = vf_cuda_check(device, cudaGetLastError(), "multiplying a spectrum");
    }
    ewald_truncated_free(&t);
    return status;
}

} // namespace

vf_status multiply(const spectrum &mesh, vf_stream_memory *memory, const ewald_kernel_job &job, bool truncated)
{
    return truncated ? multiply_truncated(mesh, memory, job) : multiply_in_closed_form(mesh, memory, job);
}

vf_status make_spectrum(const ewald_level *level, vf_stream_memory *memory, spectrum *out)
{
    const int64_t *n = level->at.length;
    *out = {level, {}};
    const vf_status status =
        vf_stream_memory_take(memory, vf_dtype_complex(level->precision), n[0] * n[1] * n[2], &out->data);
    return status == VF_OK
               ? VF_CUDA(vf_queue_device(memory->queue),
                         cudaMemsetAsync(out->data.data, 0, (size_t)out->data.count * vf_dtype_bytes(out->data.type),
                                         stream_of(memory->queue)))
               : status;
}

vf_status take_real(const spectrum &mesh, vf_queue *queue)
{
    const ewald_level &level = *mesh.level;
    const ewald_layout &s = level.at;
    const dim3 blocks = blocks_over(s.mesh), threads(ACROSS, DOWN);
    const sizes_of sizes = {{s.mesh[0], s.mesh[1], s.mesh[2]}};
    const int64_t row = s.length[0], plane = s.length[0] * s.length[1];
    if (level.precision == VF_F64)
        take_real_part<<<blocks, threads, 0, stream_of(queue)>>>(sizes, row, plane, data_of<pair<double>>(mesh.data),
                                                                 data_of<double>(level.mesh));
    else
        take_real_part<<<blocks, threads, 0, stream_of(queue)>>>(sizes, row, plane, data_of<pair<float>>(mesh.data),
                                                                 data_of<float>(level.mesh));
    return vf_cuda_check(vf_queue_device(queue), cudaGetLastError(), "reading a mesh");
}

} // namespace vf_ewald_gpu
