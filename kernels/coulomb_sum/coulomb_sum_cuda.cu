/* The CUDA backend of the Coulomb sum: the published constant-memory kernels and the tuned default.
 *
 * Work and its limits: each pair of an atom and a point costs one reciprocal square root on the special function units,
 * of which a multiprocessor starts 16 a clock, against 128 fused multiply-adds. The pair's other instructions (position
 * difference, square, bound, sum) are 4 on units that are 4 to 8 times as fast, so the reciprocal square root is the
 * limit; bytes are none, since an atom is read once for 1,024 points.
 */
#include <stdlib.h>
#include <string.h>

#include "constant_bank.cuh"
#include "coulomb_sum_backend.h"
#include "launch_blocks.h"

namespace
{

/* An atom as the device stores it. */
struct __align__(16) device_atom
{
    double x, y, z, charge;
};

/* Everything a kernel needs to know of the grid and the box. */
struct kernel_box {
    vf_grid grid;
    vf_box box;
};

__device__ double position(const vf_grid &grid, int axis, int64_t n)
{
    /* One rounding each, as on the host: no fused operation, so that all backends see the same point. */
    return __dadd_rn(grid.origin[axis], __dmul_rn(grid.spacing[axis], (double)n));
}

__device__ int64_t extent(const vf_box &box, int axis)
{
    return box.hi[axis] - box.lo[axis];
}

/* 1 / sqrt(s), or 1 / s if SQUARE. Single precision: the hardware's approximation, relative error < 2^-22.9 (PTX ISA,
 * rsqrt.approx.ftz.f32) and 2^-23 (rcp.approx.ftz.f32); s is never subnormal, r_min sees to that. */
template <bool SQUARE>
__device__ float inverse(float s)
{
    float y;
    if (SQUARE)
        asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(s));
    else
        asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(s));
    return y;
}

template <bool SQUARE>
__device__ double inverse(double s)
{
    return SQUARE ? 1.0 / s : rsqrt(s);
}

__device__ float larger(float a, float b)
{
    return fmaxf(a, b);
}

__device__ double larger(double a, double b)
{
    return fmax(a, b);
}

/* Four numbers in one 16- or 32-byte access. */
template <typename T>
struct __align__(16) quad
{
    T x, y, zz, charge; /* zz: the squared distance along z */
};

/* ---- the tuned kernel ----
 *
 * A thread block computes a tile of 32 x 32 points of one z layer; the tiles lie on a lattice fixed to the grid. Atoms
 * go through shared memory in chunks, their positions made relative to the tile's centre in double precision before
 * they are rounded. A warp is a row of 32 points, which makes stores coalesce; a thread has TUNED_POINTS points along
 * y, which share dx^2 + dz^2 and each load of an atom. A chunk's sums are added in double precision, in shared memory,
 * which leaves the registers to the inner loop. Points, warps, chunk and unrolling were searched together on an H200.
 */
enum { TILE = 32, WARPS = 4, TUNED_POINTS = TILE / WARPS, TUNED_CHUNK = 512 };

/* Atoms the inner loop takes at a time, and thread blocks on a multiprocessor, which sets how many registers it may
 * use. */
template <typename T>
__host__ __device__ constexpr int tuned_unroll()
{
    return sizeof(T) == 4 ? 16 : 4;
}

template <typename T>
__host__ __device__ constexpr int tuned_blocks()
{
    return sizeof(T) == 4 ? 8 : 6;
}

template <typename T, bool SQUARE>
__global__ void __launch_bounds__(TILE *WARPS, tuned_blocks<T>())
    tuned_kernel(kernel_box at, const device_atom *__restrict__ atoms, int64_t count, T r_min_squared,
                 T *__restrict__ out)
{
    __shared__ quad<T> chunk[TUNED_CHUNK];
    __shared__ double total[TUNED_POINTS][TILE * WARPS]; /* each thread its own column */
    const int thread = threadIdx.y * TILE + threadIdx.x;
    const int64_t tiles_x = (at.box.hi[0] - 1) / TILE - at.box.lo[0] / TILE + 1;
    const int64_t tiles_y = (at.box.hi[1] - 1) / TILE - at.box.lo[1] / TILE + 1;
    const int64_t tile_x = (at.box.lo[0] / TILE + blockIdx.x % tiles_x) * TILE;
    const int64_t tile_y = (at.box.lo[1] / TILE + blockIdx.x / tiles_x % tiles_y) * TILE;
    const int64_t k = at.box.lo[2] + blockIdx.x / tiles_x / tiles_y;
    const double centre_x = position(at.grid, 0, tile_x + TILE / 2), centre_y = position(at.grid, 1, tile_y + TILE / 2);
    const double z = position(at.grid, 2, k);
    const int64_t i = tile_x + threadIdx.x;
    const T x = (T)(position(at.grid, 0, i) - centre_x);
    T y[TUNED_POINTS];
#pragma unroll
    for (int p = 0; p < TUNED_POINTS; p++) {
        y[p] = (T)(position(at.grid, 1, tile_y + threadIdx.y + p * WARPS) - centre_y);
        total[p][thread] = 0;
    }
    for (int64_t first = 0; first < count; first += TUNED_CHUNK) {
        const int here = (int)min((int64_t)TUNED_CHUNK, count - first);
        __syncthreads();
        for (int a = thread; a < here; a += TILE * WARPS) {
            const device_atom atom = atoms[first + a];
            const T dz = (T)(z - atom.z);
            chunk[a] = {(T)(atom.x - centre_x), (T)(atom.y - centre_y), dz * dz, (T)atom.charge};
        }
        __syncthreads();
        T sum[TUNED_POINTS] = {};
#pragma unroll(tuned_unroll <T>())
        for (int a = 0; a < here; a++) {
            const quad<T> atom = chunk[a];
            const T dx = x - atom.x, xz = dx * dx + atom.zz;
#pragma unroll
            for (int p = 0; p < TUNED_POINTS; p++) {
                const T dy = y[p] - atom.y;
                sum[p] += atom.charge * inverse<SQUARE>(larger(dy * dy + xz, r_min_squared));
            }
        }
#pragma unroll
        for (int p = 0; p < TUNED_POINTS; p++)
            total[p][thread] += (double)sum[p];
    }
    if (i < at.box.lo[0] || i >= at.box.hi[0])
        return;
    const int64_t nx = extent(at.box, 0), ny = extent(at.box, 1);
#pragma unroll
    for (int p = 0; p < TUNED_POINTS; p++) {
        const int64_t j = tile_y + threadIdx.y + p * WARPS;
        if (j >= at.box.lo[1] && j < at.box.hi[1])
            out[((k - at.box.lo[2]) * ny + (j - at.box.lo[1])) * nx + (i - at.box.lo[0])] = (T)total[p][thread];
    }
}

/* ---- the published kernels ----
 *
 * One z layer at a time, one launch for each chunk of atoms that fits constant memory, with the squared distance along
 * z computed beforehand. The layer is padded to whole thread blocks, so that no thread checks its range; launches add
 * to it. const1: a point a thread. const4: four neighbours along x, which share dy^2 + dz^2. const8: eight points a
 * block's width apart, so that the stores of a half warp coalesce.
 */
enum { SIDE = 16, MOST_POINTS = 8 };
__constant__ __align__(16) unsigned char bank[VF_BANK_BYTES];
vf_constant_bank bank_users = {"Coulomb sum"}; /* a plan's padded layer, too, is one for all its queues */

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

const char *const variants[] = {"tuned", "const1", "const4", "const8", NULL};
const int variant_points[] = {0, 1, 4, 8}; /* points a thread of the constant-memory kernels; 0: the tuned kernel */

struct cuda_state {
    device_atom *atoms;
    void *staged;  /* a chunk of atoms on its way to the bank */
    void *layer;   /* a padded z layer of the whole grid */
    int64_t pitch; /* elements in a row of it */
    int points;    /* see variant_points */
    bool uses_bank;
};

template <typename T>
vf_status execute_tuned(const vf_coulomb *plan, cudaStream_t stream, const vf_box *box, void *out)
{
    const cuda_state *state = static_cast<const cuda_state *>(plan->state);
    const int64_t tiles = ((box->hi[0] - 1) / TILE - box->lo[0] / TILE + 1) *
                          ((box->hi[1] - 1) / TILE - box->lo[1] / TILE + 1) * vf_box_extent(box, 2);
    if (tiles > INT32_MAX)
        return vf_fail(vf_device_context(plan->device), VF_ERR_ARGUMENT,
                       "Coulomb sum: a box of %lld points is too large for one launch; use smaller boxes",
                       (long long)vf_box_points(box));
    const kernel_box at = {plan->grid, *box};
    const T least = (T)(plan->options.r_min * plan->options.r_min);
    const dim3 threads(TILE, WARPS);
    if (plan->options.distance_dielectric)
        tuned_kernel<T, true><<<(unsigned)tiles, threads, 0, stream>>>(at, state->atoms, plan->atoms, least, (T *)out);
    else
        tuned_kernel<T, false><<<(unsigned)tiles, threads, 0, stream>>>(at, state->atoms, plan->atoms, least, (T *)out);
    return VF_CUDA(plan->device, cudaGetLastError());
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

/* One z layer of the box: all chunks of atoms, then the layer without its padding to `out`. */
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
    return f64 ? execute_tuned<double>(plan, stream, box, out) : execute_tuned<float>(plan, stream, box, out);
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
        error = cudaMemcpy(state->atoms, packed, bytes, cudaMemcpyHostToDevice);
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
    if (status == VF_OK)
        status = upload_atoms(plan, state);
    int v = 0;
    while (variants[v] && strcmp(variants[v], plan->variant) != 0)
        v++;
    state->points = variants[v] ? variant_points[v] : 0;
    if (status != VF_OK || state->points == 0)
        return status;
    if (plan->grid.counts[1] > 65535 * SIDE) /* thread blocks of a launch along y */
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
