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

/* out [j][row] = sum_k matrix [j][k] in [row][k]: so three products bring the axes back in order. */
enum { SIDE = 64, DEPTH = 16, EACH = 4, PRODUCT_THREADS = (SIDE / EACH) * (SIDE / EACH) };
__global__ void __launch_bounds__(PRODUCT_THREADS)
    apply_matrix(int64_t rows, int64_t j_count, int64_t k_count, const double *__restrict__ in,
                 const double *__restrict__ matrix, double *__restrict__ out)
{
    __shared__ double a[DEPTH][SIDE + 1], b[DEPTH][SIDE + 1];
    const int64_t row0 = (int64_t)blockIdx.x * SIDE, j0 = (int64_t)blockIdx.y * SIDE;
    const int tr = threadIdx.x % (SIDE / EACH), tj = threadIdx.x / (SIDE / EACH);
    double sums[EACH][EACH] = {};
    for (int64_t k0 = 0; k0 < k_count; k0 += DEPTH) {
        for (int i = threadIdx.x; i < SIDE * DEPTH; i += PRODUCT_THREADS) {
            const int k = i % DEPTH, n = i / DEPTH;
            const bool inside = k0 + k < k_count;
            a[k][n] = inside && row0 + n < rows ? in[(row0 + n) * k_count + k0 + k] : 0;
            b[k][n] = inside && j0 + n < j_count ? matrix[(j0 + n) * k_count + k0 + k] : 0;
        }
        __syncthreads();
        for (int k = 0; k < DEPTH; k++)
#pragma unroll
            for (int m = 0; m < EACH; m++)
#pragma unroll
                for (int n = 0; n < EACH; n++)
                    sums[m][n] += b[k][tj + m * (SIDE / EACH)] * a[k][tr + n * (SIDE / EACH)];
        __syncthreads();
    }
    for (int m = 0; m < EACH; m++)
        for (int n = 0; n < EACH; n++) {
            const int64_t j = j0 + tj + m * (SIDE / EACH), row = row0 + tr + n * (SIDE / EACH);
            if (j < j_count && row < rows)
                out[j * rows + row] = sums[m][n];
        }
}

/* ---- host side ---- */

/* Puts arrays of the host one after another into device memory, and sets `there` to where they are. */
vf_status upload(vf_queue *queue, scratch *work, double *const host[3], const int64_t count[3], double *there[3])
{
    vf_status status = VF_OK;
    for (int a = 0; a < 3 && status == VF_OK; a++) {
        void *data = NULL;
        status = take(work, vf_queue_device(queue), VF_F64, count[a], &data);
        if (status == VF_OK)
            status = vf_queue_copy(queue, data, host[a], (size_t)count[a] * sizeof(double));
        there[a] = static_cast<double *>(data);
    }
    return status;
}

vf_status multiply_in_closed_form(const spectrum &mesh, vf_queue *queue, const ewald_kernel_job &job, scratch *work)
{
    ewald_closed_form form;
    vf_status status = ewald_closed_form_make(&job, &form);
    if (status == VF_OK) {
        ewald_closed_form there = form;
        const int64_t count[3] = {form.length[0] / 2 + 1, form.length[1] / 2 + 1, form.length[2] / 2 + 1};
        const dim3 blocks = blocks_over(form.length), threads(ACROSS, DOWN);
        status = upload(queue, work, form.correction, count, there.correction);
        if (status == VF_OK && mesh.level->precision == VF_F64)
            multiply_closed<<<blocks, threads, 0, stream_of(queue)>>>(there, data_of<pair<double>>(mesh.data));
        else if (status == VF_OK)
            multiply_closed<<<blocks, threads, 0, stream_of(queue)>>>(there, data_of<pair<float>>(mesh.data));
        if (status == VF_OK)
            status = vf_cuda_check(vf_queue_device(queue), cudaGetLastError(), "multiplying a spectrum");
    }
    ewald_closed_form_free(&form);
    return status;
}

/* `samples`: those of one octant; replaced by the multiplier, in a part of `work`. */
vf_status transform_samples(const ewald_truncated &t, const int64_t length[3], vf_queue *queue, scratch *work,
                            double **samples)
{
    vf_device *device = vf_queue_device(queue);
    const cudaStream_t stream = stream_of(queue);
    int64_t sizes[3] = {t.count[0], t.count[1], t.count[2]};
    vf_status status = VF_OK;
    for (int a = 0; a < 3 && status == VF_OK; a++) {
        const int64_t to = length[a] / 2 + 1, k = sizes[a], rows = sizes[(a + 1) % 3] * sizes[(a + 2) % 3];
        void *matrix = NULL, *out = NULL;
        status = take(work, device, VF_F64, to * k, &matrix);
        if (status == VF_OK)
            status = take(work, device, VF_F64, to * rows, &out);
        if (status != VF_OK)
            return status;
        make_matrix<<<dim3(vf_blocks_for(k, 128), (unsigned)to), 128, 0, stream>>>(t.samples[a], length[a], k,
                                                                                   static_cast<double *>(matrix));
        apply_matrix<<<dim3(vf_blocks_for(rows, SIDE), vf_blocks_for(to, SIDE)), PRODUCT_THREADS, 0, stream>>>(
            rows, to, k, *samples, static_cast<double *>(matrix), static_cast<double *>(out));
        status = vf_cuda_check(device, cudaGetLastError(), "transforming a kernel");
        *samples = static_cast<double *>(out);
        sizes[a] = to;
    }
    return status;
}

vf_status multiply_truncated(const spectrum &mesh, vf_queue *queue, const ewald_kernel_job &job, scratch *work)
{
    vf_device *device = vf_queue_device(queue);
    const ewald_layout &s = mesh.level->at;
    ewald_truncated t;
    scratch tables = {};
    void *samples = NULL;
    vf_status status = ewald_truncated_make(&job, &t);
    ewald_truncated there = t;
    if (status == VF_OK)
        status = upload(queue, &tables, t.correction, t.count, there.correction);
    if (status == VF_OK)
        status = take(work, device, VF_F64, t.count[0] * t.count[1] * t.count[2], &samples);
    if (status == VF_OK) {
        double *values = static_cast<double *>(samples);
        sample_truncated<<<blocks_over(t.count), dim3(ACROSS, DOWN), 0, stream_of(queue)>>>(there, values);
        status = vf_cuda_check(device, cudaGetLastError(), "sampling a kernel");
        if (status == VF_OK)
            status = transform_samples(t, s.length, queue, work, &values);
        if (status == VF_OK) {
            multiply_table<<<blocks_over(s.length), dim3(ACROSS, DOWN), 0, stream_of(queue)>>>(
                {{s.length[0], s.length[1], s.length[2]}}, values, data_of<pair<double>>(mesh.data));
            status = vf_cuda_check(device, cudaGetLastError(), "multiplying a spectrum");
        }
    }
    status = finish(queue, status);
    free_scratch(&tables);
    ewald_truncated_free(&t);
    return status;
}

} // namespace

vf_status take(scratch *s, vf_device *device, vf_dtype type, int64_t count, void **data)
{
    const vf_status status = vf_array_create(device, VF_SPACE_DEVICE, type, count, &s->arrays[s->used]);
    *data = s->arrays[s->used].data;
    s->used += status == VF_OK;
    return status;
}

void free_scratch(scratch *s)
{
    while (s->used > 0)
        vf_array_free(&s->arrays[--s->used]);
}

vf_status multiply(const spectrum &mesh, vf_queue *queue, const ewald_kernel_job &job, bool truncated, scratch *work)
{
    return truncated ? multiply_truncated(mesh, queue, job, work) : multiply_in_closed_form(mesh, queue, job, work);
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
