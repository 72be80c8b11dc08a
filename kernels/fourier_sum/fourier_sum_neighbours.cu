/* Groups of neighbouring voxels for fourier_sum_groups.cu.
 *
 * They come from sorting (sort-tile-recursive: Leutenegger, Lopez and Edgington, Proc. ICDE 1997, 497): voxels are
 * sorted by z into slabs, slabs by y into columns, and columns by x into groups. The numbers of slabs and columns are
 * chosen so that groups are equally wide along all axes, measured in turns. The order depends only on the plan, so
 * results do not depend on the requested range.
 */
#include <cmath>
#include <cstring>

#include "backend/launch_blocks.h"
#include "fourier_sum_groups.cuh"
#include "voxfield/sort.h"

namespace vf_fourier_gpu
{
namespace
{

enum { KEY_BITS = 12 };        /* of a coordinate: 4096 layers; fewer if the part's number needs the bits */
const double MOST_SPREAD = 8;  /* turns from a group's centre */
const size_t VOXEL_BYTES = 64; /* the most device memory that sorting takes for a voxel */

/* Keys of the voxels in their present order: the number of the part (of `part` voxels), then the place on the axis. */
__global__ void make_keys(point_source points, int64_t voxels, const unsigned *__restrict__ order, int axis,
                          int64_t part, int bits, double lowest, double scale, unsigned *__restrict__ keys,
                          unsigned *__restrict__ values)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= voxels)
        return;
    const unsigned voxel = order ? order[i] : (unsigned)i, most = (1u << bits) - 1;
    const double along = (voxel_coordinate(points, voxel, axis) - lowest) * scale;
    keys[i] = (unsigned)(i / part) << bits | (unsigned)fmin(fmax(along, 0.0), (double)most);
    values[i] = voxel;
}

/* The largest |k| of the samples along each axis, and |t|: they give the turns that MOST_SPREAD limits. */
struct reach {
    double k[4];
};

__global__ void __launch_bounds__(GROUP)
    measure_groups(point_source points, int64_t voxels, const unsigned *__restrict__ order, reach most,
                   voxel_group *__restrict__ groups, unsigned *__restrict__ spread)
{
    __shared__ double low[4][GROUP], high[4][GROUP];
    __shared__ unsigned first[GROUP], last[GROUP];
    const int t = (int)threadIdx.x;
    const int64_t i = min((int64_t)blockIdx.x * GROUP + t, voxels - 1);
    const unsigned voxel = order[i];
    for (int a = 0; a < 4; a++)
        low[a][t] = high[a][t] = voxel_coordinate(points, voxel, a);
    first[t] = last[t] = voxel;
    for (int by = GROUP / 2; by > 0; by /= 2) {
        __syncthreads();
        if (t >= by)
            continue;
        for (int a = 0; a < 4; a++) {
            low[a][t] = fmin(low[a][t], low[a][t + by]);
            high[a][t] = fmax(high[a][t], high[a][t + by]);
        }
        first[t] = min(first[t], first[t + by]);
        last[t] = max(last[t], last[t + by]);
    }
    if (t > 0)
        return;
    double at[4], turns = 0;
    for (int a = 0; a < 4; a++) {
        at[a] = 0.5 * (low[a][0] + high[a][0]);
        turns += most.k[a] * fmax(high[a][0] - at[a], at[a] - low[a][0]);
    }
    const float x = (float)at[0], y = (float)at[1], z = (float)at[2];
    voxel_group group = {};
    group.centre = {x, y, z, (float)at[3], (float)(at[0] - x), (float)(at[1] - y), (float)(at[2] - z), 0};
    group.first = first[0];
    group.last = last[0];
    groups[blockIdx.x] = group;
    atomicMax(spread, __float_as_uint(__double2float_ru(turns))); /* positive numbers sort like their bits */
}

/* ---- host side ---- */

struct extent {
    double low[3], size[3], turns[3]; /* turns: the size times the largest |k| */
};

reach most_of_samples(const vf_fourier *plan)
{
    reach most = {};
    const double *k[4] = {plan->k.x, plan->k.y, plan->k.z, plan->k.w};
    for (int a = 0; a < 4; a++)
        for (int64_t m = 0; k[a] && m < plan->samples; m++)
            most.k[a] = fmax(most.k[a], fabs(k[a][m]));
    return most;
}

extent extent_of(const vf_fourier *plan, const reach &most)
{
    extent e = {};
    const double *r[3] = {plan->r.x, plan->r.y, plan->r.z};
    for (int a = 0; a < 3; a++) {
        double low = INFINITY, high = -INFINITY;
        if (plan->has_grid) {
            low = plan->grid.origin[a];
            high = low + plan->grid.spacing[a] * (double)(plan->grid.counts[a] - 1);
        }
        for (int64_t n = 0; !plan->has_grid && n < plan->voxels; n++) {
            low = fmin(low, r[a][n]);
            high = fmax(high, r[a][n]);
        }
        e.low[a] = low;
        e.size[a] = high - low;
        e.turns[a] = e.size[a] * most.k[a];
    }
    return e;
}

int64_t divide_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* Chooses the number of parts along each axis: repeatedly halves groups along the axis where they are widest. In a tie,
 * x is last, since neighbours along x of a grid are adjacent in memory. */
void choose_parts(const extent &e, int64_t groups, int64_t parts[3])
{
    parts[0] = parts[1] = parts[2] = 1;
    while (parts[0] * parts[1] * parts[2] < groups) {
        int widest = 2;
        for (int a = 1; a >= 0; a--)
            if (e.turns[a] / (double)parts[a] > e.turns[widest] / (double)parts[widest])
                widest = a;
        parts[widest] *= 2;
    }
}

/* Sorts the voxels along an axis, within each part of `part` voxels in s->order. One part of all voxels ignores it. */
vf_status sort_along(const vf_fourier *plan, state *s, vf_queue *queue, const extent &e, int axis, int64_t part,
                     unsigned *scratch)
{
    const int64_t voxels = plan->voxels, parts = divide_up(voxels, part);
    int part_bits = 0;
    while ((int64_t)1 << part_bits < parts)
        part_bits++;
    const int bits = 32 - part_bits < KEY_BITS ? 32 - part_bits : (int)KEY_BITS;
    unsigned *keys = scratch, *before = scratch + voxels, *keys_out = scratch + 2 * voxels;
    const vf_sort_options options = {VF_SORT_U32, sizeof *keys, 0, bits + part_bits, NULL};
    vf_sort *sort = NULL;
    vf_status status = vf_sort_create(plan->device, &options, voxels, &sort);
    if (status != VF_OK)
        return status;
    make_keys<<<vf_blocks_for(voxels, 256), 256, 0, static_cast<cudaStream_t>(vf_queue_native(queue))>>>(
        s->points, voxels, part < voxels ? s->order : NULL, axis, part, bits, e.low[axis],
        e.size[axis] > 0 ? ldexp(1.0, bits) / e.size[axis] : 0, keys, before);
    status = VF_CUDA(plan->device, cudaGetLastError());
    if (status == VF_OK)
        status = vf_sort_execute(sort, queue, voxels, keys, before, keys_out, s->order);
    if (status == VF_OK)
        status = vf_queue_sync(queue);
    vf_sort_destroy(sort);
    return status;
}

/* Fills in order and groups. *spread: the most turns from a group's centre. */
vf_status make_groups(const vf_fourier *plan, state *s, vf_queue *queue, const reach &most, float *spread)
{
    const int64_t groups = divide_up(plan->voxels, GROUP);
    const extent e = extent_of(plan, most);
    int64_t parts[3];
    choose_parts(e, groups, parts);
    const int64_t column = divide_up(groups, parts[2] * parts[1]), slab = column * parts[1];
    const int64_t sizes[3] = {column * GROUP, slab * GROUP, groups * GROUP}; /* voxels sorted together along x, y, z */
    const cudaStream_t stream = static_cast<cudaStream_t>(vf_queue_native(queue));
    vf_array scratch = {}, widest = {};
    unsigned bits = 0;
    vf_status status = vf_array_create(plan->device, VF_SPACE_DEVICE, VF_I32, 3 * plan->voxels, &scratch);
    if (status == VF_OK)
        status = vf_create_cleared(plan->device, VF_I32, 1, &widest);
    for (int a = 2; status == VF_OK && a >= 0; a--)
        status = sort_along(plan, s, queue, e, a, sizes[a], static_cast<unsigned *>(scratch.data));
    if (status == VF_OK) {
        measure_groups<<<(unsigned)groups, GROUP, 0, stream>>>(s->points, plan->voxels, s->order, most, s->groups,
                                                               static_cast<unsigned *>(widest.data));
        status = VF_CUDA(plan->device, cudaGetLastError());
    }
    if (status == VF_OK)
        status = vf_queue_copy(queue, &bits, widest.data, sizeof bits);
    if (status == VF_OK)
        status = vf_queue_sync(queue);
    memcpy(spread, &bits, sizeof bits);
    vf_array_free(&scratch);
    vf_array_free(&widest);
    return status;
}

/* Groups need at least two groups of voxels, and no more voxels than 32-bit indices and the device memory allow. */
bool groups_possible(const vf_fourier *plan)
{
    size_t room = 0, all = 0;
    return plan->options.precision == VF_F32 && (plan->has_field || !plan->has_grid) && plan->samples > 0 &&
           plan->voxels >= 2 * GROUP && plan->voxels <= INT32_MAX && cudaMemGetInfo(&room, &all) == cudaSuccess &&
           room / VOXEL_BYTES >= (size_t)plan->voxels;
}

} // namespace

vf_status groups_prepare(const vf_fourier *plan, state *s)
{
    vf_queue *queue = NULL;
    float spread = INFINITY;
    if (!groups_possible(plan))
        return VF_OK;
    const reach most = most_of_samples(plan);
    const size_t groups = (size_t)divide_up(plan->voxels, GROUP);
    vf_status status = vf_queue_create(plan->device, &queue);
    if (status == VF_OK)
        status = VF_CUDA(plan->device, cudaMalloc(&s->order, (size_t)plan->voxels * sizeof *s->order));
    if (status == VF_OK)
        status = VF_CUDA(plan->device, cudaMalloc(&s->groups, groups * sizeof *s->groups));
    if (status == VF_OK)
        status = make_groups(plan, s, queue, most, &spread);
    vf_queue_destroy(queue);
    if (status == VF_OK && !(spread <= (float)MOST_SPREAD))
        groups_free(s);
    return status;
}

void groups_free(state *s)
{
    (void)cudaFree(s->order);
    (void)cudaFree(s->groups);
    s->order = NULL;
    s->groups = NULL;
}

} // namespace vf_fourier_gpu
