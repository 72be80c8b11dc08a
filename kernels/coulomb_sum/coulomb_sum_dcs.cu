/* Direct Coulomb summation as it was published, versions 1 to 3: Kirk and Hwu, Programming Massively Parallel Processors,
 * 2010, figures 9.5, 9.7 and 9.9 ("Unroll8clx"), after Stone et al., J. Comput. Chem. 28 (2007) 2618. A slice of the map at a
 * time; for each chunk of atoms, the host computes {x, y, (z - slice)^2, charge} and copies them to constant memory, and a
 * launch adds their terms to the slice. A point's position is its index times the spacing. Slices are padded to whole
 * blocks of threads, so no thread checks its range.
 * - dcs1: a point a thread; the old value of the map is loaded at the start.
 * - dcs2: four neighbours along x, which share dy^2 + dz^2; old values at the start.
 * - dcs3: eight, a block's width apart; each dx is the last one plus 16 spacings; old values at the end.
 *
 * The contract adds what the publication has not: r is at least r_min, one instruction a term; the distance-dependent
 * dielectric and double precision; and blocks begin at multiples of their width from the grid's origin, so that a point's bits
 * do not depend on its box. const1, const4 and const8 (coulomb_sum_cuda.cu) are ours after these: positions from the grid's
 * middle, atoms staged by the GPU. */
#include <stdlib.h>
#include <string.h>

#include "backend/constant_bank.cuh"
#include "backend/launch_blocks.h"
#include "coulomb_sum_tiles.cuh"

namespace
{

using namespace vf_coulomb_gpu;

enum { SIDE = 16, MOST_WIDTH = 8 * SIDE };

template <typename T>
struct __align__(16) quad
{
    T x, y, zz, charge;
};

__constant__ __align__(16) unsigned char bank[VF_BANK_BYTES];
vf_constant_bank bank_users = {"published Coulomb sum"}; /* also guards a plan's slice, which its queues share */

struct dcs_state {
    int points;    /* of a thread */
    void *slice;   /* padded, of the whole grid */
    int64_t pitch; /* its elements in a row */
    bool uses_bank;
};

template <typename T, bool SQUARE>
__device__ inline T term(const quad<T> &atom, T dx, T yz, T least)
{
    return atom.charge * inverse<SQUARE>(larger(dx * dx + yz, least));
}

template <typename T, bool SQUARE, int POINTS>
__global__ void __launch_bounds__(SIDE *SIDE)
    dcs(int64_t first_i, int64_t first_j, T spacing_x, T spacing_y, int count, T least, T *slice, int64_t pitch)
{
    const quad<T> *atoms = reinterpret_cast<const quad<T> *>(bank);
    const int64_t column = (int64_t)blockIdx.x * SIDE * POINTS + threadIdx.x * (POINTS == 4 ? 4 : 1);
    const int64_t row = (int64_t)blockIdx.y * SIDE + threadIdx.y;
    const int step = POINTS == 4 ? 1 : SIDE;
    const T x = (T)(first_i + column) * spacing_x, y = (T)(first_j + row) * spacing_y, apart = (T)step * spacing_x;
    T *map = slice + row * pitch + column, sum[POINTS], old[POINTS];
#pragma unroll
    for (int p = 0; p < POINTS; p++) {
        sum[p] = 0;
        old[p] = POINTS < 8 ? map[p * step] : 0;
    }
    for (int a = 0; a < count; a++) {
        const T dy = y - atoms[a].y, yz = dy * dy + atoms[a].zz;
        T dx = x - atoms[a].x;
#pragma unroll
        for (int p = 0; p < POINTS; p++) {
            sum[p] += term<T, SQUARE>(atoms[a], dx, yz, least);
            dx += apart;
        }
    }
#pragma unroll
    for (int p = 0; p < POINTS; p++)
        map[p * step] = (POINTS < 8 ? old[p] : map[p * step]) + sum[p];
}

/* The part of a slice that is computed: whole blocks, on a lattice that begins at the grid's origin. */
struct padded {
    int64_t first_i, first_j, columns, rows; /* in blocks */
};

padded pad(const vf_box *box, int points)
{
    const int64_t width = SIDE * points;
    const padded p = {box->lo[0] / width, box->lo[1] / SIDE, (box->hi[0] - 1) / width + 1 - box->lo[0] / width,
                      (box->hi[1] - 1) / SIDE + 1 - box->lo[1] / SIDE};
    return {p.first_i * width, p.first_j * SIDE, p.columns, p.rows};
}

template <typename T, bool SQUARE, int POINTS>
cudaError_t launch(const vf_coulomb *plan, const padded &p, int count, cudaStream_t stream)
{
    const dcs_state *s = static_cast<const dcs_state *>(plan->state);
    const dim3 blocks((unsigned)p.columns, (unsigned)p.rows), threads(SIDE, SIDE);
    dcs<T, SQUARE, POINTS><<<blocks, threads, 0, stream>>>(
        p.first_i, p.first_j, (T)plan->grid.spacing[0], (T)plan->grid.spacing[1], count,
        (T)(plan->options.r_min * plan->options.r_min), static_cast<T *>(s->slice), s->pitch);
    return cudaGetLastError();
}

template <typename T, bool SQUARE>
cudaError_t launch_version(const vf_coulomb *plan, const padded &p, int count, cudaStream_t stream)
{
    const int points = static_cast<const dcs_state *>(plan->state)->points;
    return points == 1   ? launch<T, SQUARE, 1>(plan, p, count, stream)
           : points == 4 ? launch<T, SQUARE, 4>(plan, p, count, stream)
                         : launch<T, SQUARE, 8>(plan, p, count, stream);
}

/* Slice k: all chunks of atoms, then the points of the box to `out`. */
template <typename T>
cudaError_t compute_slice(const vf_coulomb *plan, const vf_box *box, int64_t k, quad<T> *chunk, cudaStream_t stream,
                          T *out)
{
    enum { MOST = VF_BANK_BYTES / (int)sizeof(quad<T>) };
    const dcs_state *s = static_cast<const dcs_state *>(plan->state);
    const padded p = pad(box, s->points);
    const double *origin = plan->grid.origin, z = vf_coulomb_position(&plan->grid, 2, k);
    const size_t row = (size_t)vf_box_extent(box, 0) * sizeof(T), pitch = (size_t)s->pitch * sizeof(T);
    cudaError_t error = cudaMemsetAsync(s->slice, 0, pitch * (size_t)(p.rows * SIDE), stream);
    for (int64_t first = 0; error == cudaSuccess && first < plan->atoms; first += MOST) {
        const int count = plan->atoms - first < MOST ? (int)(plan->atoms - first) : (int)MOST;
        for (int a = 0; a < count; a++) {
            const double dz = plan->z[first + a] - z;
            chunk[a] = {(T)(plan->x[first + a] - origin[0]), (T)(plan->y[first + a] - origin[1]), (T)(dz * dz),
                        (T)plan->charge[first + a]};
        }
        /* Pageable memory: the copy has been taken when this returns. */
        error = cudaMemcpyToSymbolAsync(bank, chunk, (size_t)count * sizeof *chunk, 0, cudaMemcpyHostToDevice, stream);
        if (error == cudaSuccess)
            error = plan->options.distance_dielectric ? launch_version<T, true>(plan, p, count, stream)
                                                      : launch_version<T, false>(plan, p, count, stream);
    }
    const T *from = static_cast<const T *>(s->slice) + (box->lo[1] - p.first_j) * s->pitch + box->lo[0] - p.first_i;
    return error == cudaSuccess ? cudaMemcpy2DAsync(out, row, from, pitch, row, (size_t)vf_box_extent(box, 1),
                                                    cudaMemcpyDeviceToDevice, stream)
                                : error;
}

template <typename T>
vf_status execute_in(const vf_coulomb *plan, cudaStream_t stream, const vf_box *box, T *out)
{
    quad<T> *chunk = static_cast<quad<T> *>(malloc(VF_BANK_BYTES));
    if (!chunk)
        return vf_fail(vf_device_context(plan->device), VF_ERR_MEMORY, "no memory for a chunk of atoms");
    const int64_t points = vf_box_extent(box, 0) * vf_box_extent(box, 1);
    const cudaError_t error = vf_bank_use(&bank_users, plan->device, stream, [&] {
        cudaError_t failed = cudaSuccess;
        for (int64_t k = box->lo[2]; failed == cudaSuccess && k < box->hi[2]; k++)
            failed = compute_slice<T>(plan, box, k, chunk, stream, out + (k - box->lo[2]) * points);
        return failed;
    });
    free(chunk);
    return vf_cuda_check(plan->device, error, "the published Coulomb sum");
}

vf_status execute(const vf_coulomb *plan, vf_queue *queue, const vf_box *box, void *out)
{
    const cudaStream_t stream = static_cast<cudaStream_t>(vf_queue_native(queue));
    const vf_status status = VF_CUDA(plan->device, cudaSetDevice(vf_device_ordinal(plan->device)));
    if (status != VF_OK)
        return status;
    return plan->options.precision == VF_F64 ? execute_in(plan, stream, box, static_cast<double *>(out))
                                             : execute_in(plan, stream, box, static_cast<float *>(out));
}

void destroy(vf_coulomb *plan)
{
    dcs_state *s = static_cast<dcs_state *>(plan->state);
    (void)cudaSetDevice(vf_device_ordinal(plan->device));
    if (s->uses_bank)
        vf_bank_close(&bank_users, plan->device);
    (void)cudaFree(s->slice);
    free(s);
    plan->state = NULL;
}

vf_status create(vf_coulomb *plan)
{
    dcs_state *s = static_cast<dcs_state *>(calloc(1, sizeof *s));
    if (!s)
        return vf_fail(vf_device_context(plan->device), VF_ERR_MEMORY, "no memory for a plan");
    plan->state = s;
    s->points = strcmp(plan->variant, "dcs1") == 0 ? 1 : strcmp(plan->variant, "dcs2") == 0 ? 4 : 8;
    if (plan->grid.counts[1] > 65535 * SIDE) /* the most thread blocks of a launch along y */
        return vf_fail(vf_device_context(plan->device), VF_ERR_UNSUPPORTED,
                       "Coulomb sum: %s is for at most %d points along y; use tuned", plan->variant, 65535 * SIDE);
    const int64_t rows = (plan->grid.counts[1] + SIDE - 1) / SIDE * SIDE;
    s->pitch = (plan->grid.counts[0] + MOST_WIDTH - 1) / MOST_WIDTH * MOST_WIDTH;
    vf_status status = VF_CUDA(plan->device, cudaSetDevice(vf_device_ordinal(plan->device)));
    if (status == VF_OK)
        status = vf_bank_open(&bank_users, plan->device);
    s->uses_bank = status == VF_OK;
    if (status == VF_OK)
        status = VF_CUDA(plan->device,
                         cudaMalloc(&s->slice, (size_t)(s->pitch * rows) * vf_dtype_bytes(plan->options.precision)));
    return status;
}

const char *const variants[] = {"dcs1", "dcs2", "dcs3", NULL};

} // namespace

extern "C" const vf_coulomb_backend vf_coulomb_dcs = {{VF_DEVICE_CUDA, variants}, create, execute, destroy};
