/* The CUDA backend of the Coulomb sum: constant-memory kernels after the published ones, and the choice of the kernel.
 * The tuned kernel is in coulomb_sum_tiles.cuh. */
#include <stdlib.h>
#include <string.h>

#include "backend/constant_bank.cuh"
#include "backend/launch_blocks.h"
#include "coulomb_sum_tiles.cuh"

namespace
{

using namespace vf_coulomb_gpu;

/* Four numbers in one 16- or 32-byte access. */
template <typename T>
struct __align__(16) quad
{
    T x, y, zz, charge; /* zz: the squared distance along z */
};

/* ---- after versions 1 to 3 of the published kernels, which coulomb_sum_dcs.cu has as described ----
 *
 * They compute one z layer at a time, with one launch for each chunk of atoms that fits constant memory. The squared
 * distance along z is computed beforehand. The layer is padded to whole thread blocks, so no thread checks its range.
 * Each launch adds to the layer. Points of a thread:
 * - const1: one.
 * - const4: four neighbours along x, which share dy^2 + dz^2.
 * - const8: eight, a block's width apart, so that the stores of a half warp coalesce.
 */
enum { SIDE = 16, MOST_POINTS = 8 };
__constant__ __align__(16) unsigned char bank[VF_BANK_BYTES];
vf_constant_bank bank_users = {"Coulomb sum"}; /* also guards a plan's padded layer, which its queues share */

template <typename T>
constexpr int bank_atoms()
{
    return VF_BANK_BYTES / (int)sizeof(quad<T>);
}

template <typename T>
__global__ void stage_atoms(const device_atom *__restrict__ atoms, int count, double centre_x, double centre_y,
                            double z, quad<T> *__restrict__ staged)
{
    const int a = blockIdx.x * blockDim.x + threadIdx.x;
    if (a >= count)
        return;
    const device_atom atom = atoms[a];
    const double dz = z - atom.z;
    staged[a] = {(T)(atom.x - centre_x), (T)(atom.y - centre_y), (T)(dz * dz), (T)atom.charge};
}

template <typename T, bool SQUARE, int POINTS, bool SPACED>
__global__ void __launch_bounds__(SIDE *SIDE)
    constant_kernel(vf_grid grid, int64_t first_i, int64_t first_j, double centre_x, double centre_y, int count,
                    T r_min_squared, T *__restrict__ layer, int64_t pitch)
{
    const quad<T> *atoms = reinterpret_cast<const quad<T> *>(bank);
    const int step = SPACED ? SIDE : 1;
    const int64_t column = (int64_t)blockIdx.x * SIDE * POINTS + threadIdx.x * (SPACED ? 1 : POINTS);
    const int64_t row = (int64_t)blockIdx.y * SIDE + threadIdx.y;
    const T y = (T)(position(grid, 1, first_j + row) - centre_y);
    T x[POINTS], sum[POINTS] = {};
#pragma unroll
    for (int p = 0; p < POINTS; p++)
        x[p] = (T)(position(grid, 0, first_i + column + p * step) - centre_x);
    for (int a = 0; a < count; a++) {
        const T dy = y - atoms[a].y, yz = dy * dy + atoms[a].zz;
#pragma unroll
        for (int p = 0; p < POINTS; p++) {
            const T dx = x[p] - atoms[a].x;
            sum[p] += atoms[a].charge * inverse<SQUARE>(larger(dx * dx + yz, r_min_squared));
        }
    }
#pragma unroll
    for (int p = 0; p < POINTS; p++)
        layer[row * pitch + column + p * step] += sum[p];
}

/* ---- host side ---- */

const char *const variants[] = {"tuned", "roots", "const1", "const4", "const8", NULL};
const int variant_points[] = {0, 0, 1, 4, 8}; /* of a thread, constant-memory kernels; 0: tuned kernel */

struct cuda_state {
    device_atom *atoms;
    void *staged;  /* a chunk of atoms, before it is copied to the bank */
    void *layer;   /* a padded z layer of the whole grid */
    int64_t pitch; /* elements in a row of the layer */
    int points;    /* see variant_points */
    bool uses_bank;
    bool wide; /* tiles of two columns */
};

template <typename T, bool SQUARE, bool ROOTS, int COLUMNS>
vf_status execute_tiles(const vf_coulomb *plan, cudaStream_t stream, const vf_box *box, void *out)
{
    const cuda_state *state = static_cast<const cuda_state *>(plan->state);
    const int64_t tiles = count_tiles<COLUMNS>(*box);
    if (tiles > INT32_MAX)
        return vf_fail(vf_device_context(plan->device), VF_ERR_ARGUMENT,
                       "Coulomb sum: a box of %lld points is too large for one launch; use smaller boxes",
                       (long long)vf_box_points(box));
    tile_kernel<T, SQUARE, table_shape<T, ROOTS, COLUMNS>><<<(unsigned)tiles, TILE_THREADS, 0, stream>>>(
        {plan->grid, *box}, state->atoms, plan->atoms, (T)(plan->options.r_min * plan->options.r_min),
        (T)far_squared(plan->grid, plan->options.r_min), (T *)out);
    return VF_CUDA(plan->device, cudaGetLastError());
}

template <bool SQUARE, bool ROOTS>
vf_status execute_single(const vf_coulomb *plan, cudaStream_t stream, const vf_box *box, void *out)
{
    return static_cast<const cuda_state *>(plan->state)->wide
               ? execute_tiles<float, SQUARE, ROOTS, 2>(plan, stream, box, out)
               : execute_tiles<float, SQUARE, ROOTS, 1>(plan, stream, box, out);
}

vf_status execute_tuned(const vf_coulomb *plan, cudaStream_t stream, const vf_box *box, void *out)
{
    const bool square = plan->options.distance_dielectric;
    if (plan->options.precision == VF_F64)
        return square ? execute_tiles<double, true, true, 1>(plan, stream, box, out)
                      : execute_tiles<double, false, true, 1>(plan, stream, box, out);
    if (square)
        return execute_single<true, true>(plan, stream, box, out);
    return strcmp(plan->variant, "roots") == 0 ? execute_single<false, true>(plan, stream, box, out)
                                               : execute_single<false, false>(plan, stream, box, out);
}

template <typename T, bool SQUARE>
void launch_constant(const vf_coulomb *plan, cudaStream_t stream, const vf_box *box, double centre_x, double centre_y,
                     int count)
{
    const cuda_state *state = static_cast<const cuda_state *>(plan->state);
    const int points = state->points;
    const unsigned rows = vf_blocks_for(vf_box_extent(box, 1), SIDE);
    const unsigned columns = vf_blocks_for(vf_box_extent(box, 0), SIDE * points);
    const dim3 blocks(columns, rows), threads(SIDE, SIDE);
    const T least = (T)(plan->options.r_min * plan->options.r_min);
    T *layer = static_cast<T *>(state->layer);
    if (points == 1)
        constant_kernel<T, SQUARE, 1, false><<<blocks, threads, 0, stream>>>(
            plan->grid, box->lo[0], box->lo[1], centre_x, centre_y, count, least, layer, state->pitch);
    else if (points == 4)
        constant_kernel<T, SQUARE, 4, false><<<blocks, threads, 0, stream>>>(
            plan->grid, box->lo[0], box->lo[1], centre_x, centre_y, count, least, layer, state->pitch);
    else
        constant_kernel<T, SQUARE, 8, true><<<blocks, threads, 0, stream>>>(
            plan->grid, box->lo[0], box->lo[1], centre_x, centre_y, count, least, layer, state->pitch);
}

/* Computes one z layer of the box: adds all chunks of atoms, then copies the layer without its padding to `out`. */
template <typename T>
cudaError_t constant_layer(const vf_coulomb *plan, cudaStream_t stream, const vf_box *box, int64_t k, T *out)
{
    const cuda_state *state = static_cast<const cuda_state *>(plan->state);
    const vf_grid *grid = &plan->grid;
    const double centre_x = vf_coulomb_position(grid, 0, grid->counts[0] / 2);
    const double centre_y = vf_coulomb_position(grid, 1, grid->counts[1] / 2);
    const size_t row_bytes = (size_t)vf_box_extent(box, 0) * sizeof(T), pitch_bytes = (size_t)state->pitch * sizeof(T);
    const int64_t padded_rows = (vf_box_extent(box, 1) + SIDE - 1) / SIDE * SIDE;
    quad<T> *staged = static_cast<quad<T> *>(state->staged);
    cudaError_t error = cudaMemsetAsync(state->layer, 0, pitch_bytes * (size_t)padded_rows, stream);
    for (int64_t first = 0; error == cudaSuccess && first < plan->atoms; first += bank_atoms<T>()) {
        const int64_t left = plan->atoms - first;
        const int count = left < bank_atoms<T>() ? (int)left : bank_atoms<T>();
        stage_atoms<T><<<vf_blocks_for(count, 256), 256, 0, stream>>>(state->atoms + first, count, centre_x, centre_y,
                                                                      vf_coulomb_position(grid, 2, k), staged);
        error =
            cudaMemcpyToSymbolAsync(bank, staged, (size_t)count * sizeof(quad<T>), 0, cudaMemcpyDeviceToDevice, stream);
        if (error != cudaSuccess)
            break;
        if (plan->options.distance_dielectric)
            launch_constant<T, true>(plan, stream, box, centre_x, centre_y, count);
        else
            launch_constant<T, false>(plan, stream, box, centre_x, centre_y, count);
        error = cudaGetLastError();
    }
    if (error == cudaSuccess)
        error = cudaMemcpy2DAsync(out, row_bytes, state->layer, pitch_bytes, row_bytes, (size_t)vf_box_extent(box, 1),
                                  cudaMemcpyDeviceToDevice, stream);
    return error;
}

template <typename T>
vf_status execute_constant(const vf_coulomb *plan, cudaStream_t stream, const vf_box *box, void *out)
{
    const int64_t layer_points = vf_box_extent(box, 0) * vf_box_extent(box, 1);
    const cudaError_t error = vf_bank_use(&bank_users, plan->device, stream, [&] {
        cudaError_t layer_error = cudaSuccess;
        for (int64_t k = box->lo[2]; layer_error == cudaSuccess && k < box->hi[2]; k++)
            layer_error = constant_layer<T>(plan, stream, box, k, (T *)out + (k - box->lo[2]) * layer_points);
        return layer_error;
    });
    return vf_cuda_check(plan->device, error, "the constant-memory Coulomb sum");
}

vf_status execute(const vf_coulomb *plan, vf_queue *queue, const vf_box *box, void *out)
{
    const cuda_state *state = static_cast<const cuda_state *>(plan->state);
    cudaStream_t stream = static_cast<cudaStream_t>(vf_queue_native(queue));
    vf_status status = VF_CUDA(plan->device, cudaSetDevice(vf_device_ordinal(plan->device)));
    if (status != VF_OK)
        return status;
    const bool f64 = plan->options.precision == VF_F64;
    if (state->uses_bank)
        return f64 ? execute_constant<double>(plan, stream, box, out) : execute_constant<float>(plan, stream, box, out);
    return execute_tuned(plan, stream, box, out);
}

void destroy(vf_coulomb *plan)
{
    cuda_state *state = static_cast<cuda_state *>(plan->state);
    (void)cudaSetDevice(vf_device_ordinal(plan->device));
    if (state->uses_bank)
        vf_bank_close(&bank_users, plan->device);
    (void)cudaFree(state->atoms);
    (void)cudaFree(state->staged);
    (void)cudaFree(state->layer);
    free(state);
    plan->state = NULL;
}

vf_status upload_atoms(vf_coulomb *plan, cuda_state *state)
{
    if (plan->atoms == 0)
        return VF_OK;
    device_atom *packed = static_cast<device_atom *>(calloc((size_t)plan->atoms, sizeof *packed));
    if (!packed)
        return vf_fail(vf_device_context(plan->device), VF_ERR_MEMORY, "no memory for %lld atoms",
                       (long long)plan->atoms);
    for (int64_t a = 0; a < plan->atoms; a++)
        packed[a] = {plan->x[a], plan->y[a], plan->z[a], plan->charge[a]};
    const size_t bytes = (size_t)plan->atoms * sizeof *packed;
    cudaError_t error = cudaMalloc(&state->atoms, bytes);
    if (error == cudaSuccess)
        error = vf_cuda_upload(state->atoms, packed, bytes);
    free(packed);
    return vf_cuda_check(plan->device, error, "copying the atoms to the GPU");
}

vf_status create(vf_coulomb *plan)
{
    cuda_state *state = static_cast<cuda_state *>(calloc(1, sizeof *state));
    if (!state)
        return vf_fail(vf_device_context(plan->device), VF_ERR_MEMORY, "no memory for a plan");
    plan->state = state;
    vf_status status = VF_CUDA(plan->device, cudaSetDevice(vf_device_ordinal(plan->device)));
    int shared_bytes = 0;
    if (status == VF_OK)
        status =
            VF_CUDA(plan->device, cudaDeviceGetAttribute(&shared_bytes, cudaDevAttrMaxSharedMemoryPerMultiprocessor,
                                                         vf_device_ordinal(plan->device)));
    state->wide = prefers_wide_tiles(plan->grid.counts[0], shared_bytes);
    if (status == VF_OK)
        status = upload_atoms(plan, state);
    int v = 0;
    while (variants[v] && strcmp(variants[v], plan->variant) != 0)
        v++;
    state->points = variants[v] ? variant_points[v] : 0;
    if (status != VF_OK || state->points == 0)
        return status;
    if (plan->grid.counts[1] > 65535 * SIDE) /* the most thread blocks of a launch along y */
        return vf_fail(vf_device_context(plan->device), VF_ERR_UNSUPPORTED,
                       "Coulomb sum: %s is for at most %d points along y; use tuned", plan->variant, 65535 * SIDE);
    const int64_t rows = (plan->grid.counts[1] + SIDE - 1) / SIDE * SIDE, width = SIDE * MOST_POINTS;
    state->pitch = (plan->grid.counts[0] + width - 1) / width * width;
    status = vf_bank_open(&bank_users, plan->device);
    state->uses_bank = status == VF_OK;
    if (status == VF_OK)
        status = VF_CUDA(plan->device, cudaMalloc(&state->staged, VF_BANK_BYTES));
    if (status == VF_OK)
        status = VF_CUDA(plan->device, cudaMalloc(&state->layer, (size_t)(state->pitch * rows) *
                                                                     vf_dtype_bytes(plan->options.precision)));
    return status;
}

} // namespace

extern "C" const vf_coulomb_backend vf_coulomb_cuda = {VF_DEVICE_CUDA, variants, create, execute, destroy};
