/* The ion search on a GPU. The device keeps the field, which is the potential of each point (ion_search_cuda.cuh), and
 * the bounds of each cell. A reduction over the bounds finds the lowest energy. This file has the device's data and the
 * search for a place. ion_search_exclude.cu marks the points that atoms exclude. ion_search_field.cu makes the field
 * and adds ions.
 *
 * The field begins as the map. ion_search.h bounds its errors. If more than a few points may have the least energy
 * within that error, their cells are summed again over atoms and ions, in double precision (ion_search_sums.cu). Each
 * cell is summed only once: then its bounds are exact. The host sums the energies of the few points that are left.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "ion_search_cuda.cuh"

namespace vf_ion_gpu
{

field field_of(const vf_ion_search *search)
{
    const cuda_state *s = state_of(search);
    field f = {};
    f.grid = search->grid;
    f.cells = s->cells.count;
    for (int a = 0; a < 3; a++)
        f.along[a] = s->cells.along[a];
    f.r_min = search->options.potential.r_min;
    f.value = static_cast<double *>(s->value.data);
    f.low = static_cast<double *>(s->low.data);
    f.high = static_cast<double *>(s->high.data);
    f.magnitude = static_cast<float *>(s->magnitude.data);
    f.error_factor = s->error_factor;
    return f;
}

static source source_of(const ion_sources *s, int64_t n)
{
    return {s->x[n], s->y[n], s->z[n], s->charge[n], s->distance[n]};
}

vf_status upload_sources(vf_ion_search *search, int kind)
{
    const ion_sources *s = &search->sources[kind];
    vf_array *to = &state_of(search)->sources[kind];
    int64_t *there = &state_of(search)->there[kind];
    if (s->count * (int64_t)sizeof(source) > to->count) {
        vf_array_free(to);
        *there = 0;
        vf_status status =
            vf_array_create(search->device, VF_SPACE_DEVICE, VF_U8, 2 * s->count * (int64_t)sizeof(source), to);
        if (status != VF_OK)
            return status;
    }
    const int64_t count = s->count - *there;
    if (count <= 0)
        return VF_OK;
    source *packed = static_cast<source *>(malloc((size_t)count * sizeof *packed));
    if (!packed)
        return vf_fail(search->ctx, VF_ERR_MEMORY, "no memory for %lld charges", (long long)count);
    for (int64_t n = 0; n < count; n++)
        packed[n] = source_of(s, *there + n);
    vf_status status = vf_queue_copy(state_of(search)->queue, static_cast<source *>(to->data) + *there, packed,
                                     (size_t)count * sizeof *packed);
    free(packed);
    if (status == VF_OK)
        *there = s->count;
    return status;
}

namespace
{

/* ---- a search ---- */

/* The results of a look at the cells. */
struct findings {
    vf_reduced extreme; /* the least `low` or the greatest `high` */
    int cells;          /* to be summed, unless there are few points */
    ion_candidates points;
};

void destroy(vf_ion_search *search)
{
    cuda_state *s = state_of(search);
    if (!s)
        return;
    vf_queue_destroy(s->queue); /* waits for its work */
    vf_array *arrays[] = {&s->value, &s->low,  &s->high, &s->magnitude, &s->sources[ION_ATOMS], &s->sources[ION_IONS],
                          &s->found, &s->host, &s->list, &s->partial};
    for (vf_array *array : arrays)
        vf_array_free(array);
    vf_reduce_destroy(s->least);
    vf_reduce_destroy(s->greatest);
    free(s);
    search->state = NULL;
}

vf_status create(vf_ion_search *search)
{
    vf_device *device = search->device;
    cuda_state *s = static_cast<cuda_state *>(calloc(1, sizeof *s));
    search->state = s;
    if (!s)
        return vf_fail(search->ctx, VF_ERR_MEMORY, "no memory for a search");
    s->cells = ion_cells_of(&search->grid);
    const int64_t cells = s->cells.count, atoms = search->sources[ION_ATOMS].count;
    const struct {
        vf_array *array;
        vf_space space;
        vf_dtype type;
        int64_t count;
    } arrays[] = {
        {&s->value, VF_SPACE_DEVICE, VF_F64, cells * CELL_POINTS},
        {&s->low, VF_SPACE_DEVICE, VF_F64, cells},
        {&s->high, VF_SPACE_DEVICE, VF_F64, cells},
        {&s->magnitude, VF_SPACE_DEVICE, VF_F32, cells},
        {&s->sources[ION_ATOMS], VF_SPACE_DEVICE, VF_U8, atoms * (int64_t)sizeof(source)},
        {&s->host, VF_SPACE_PINNED, VF_U8, (int64_t)sizeof(findings)},
        {&s->list, VF_SPACE_DEVICE, VF_I64, MOST_SUMS},
        {&s->partial, VF_SPACE_DEVICE, VF_F64, (int64_t)(SUM_BLOCKS + MOST_SUMS) * CELL_POINTS},
    };
    vf_status status = use_device(search);
    if (status == VF_OK)
        status = vf_queue_create(device, &s->queue);
    for (const auto &a : arrays)
        if (status == VF_OK)
            status = vf_array_create(device, a.space, a.type, a.count, a.array);
    if (status == VF_OK) /* fetch also copies elements that were never written */
        status = vf_create_cleared(device, VF_U8, (int64_t)sizeof(findings), &s->found);
    if (status == VF_OK)
        status = vf_reduce_create(device, VF_REDUCE_MIN, VF_F64, cells, &s->least);
    return status == VF_OK ? vf_reduce_create(device, VF_REDUCE_MAX, VF_F64, cells, &s->greatest) : status;
}

/* Makes the field at the first call. */
vf_status get_ready(vf_ion_search *search)
{
    return state_of(search)->begun ? use_device(search) : begin_field(search);
}

vf_status add(vf_ion_search *search)
{
    const ion_sources *ions = &search->sources[ION_IONS];
    vf_status status = get_ready(search);
    return status == VF_OK ? add_to_field(search, source_of(ions, ions->count - 1)) : status;
}

/* ---- the least energy ---- */

enum { MOST_DIRECT = 4 /* with at most so many candidates the host sums these, not the GPU cells */ };

/* Lists the points of a cell whose energy may be `limit` or less. A warp calls it. */
__device__ inline void list_points(const field &f, int64_t cell, double sign, double limit, ion_candidates &to)
{
#pragma unroll
    for (int n = 0; n < POINTS; n++) {
        const int element = n * LANES + (int)threadIdx.x % LANES;
        int64_t p[3];
        if (!(sign * f.value[cell * CELL_POINTS + element] <= limit) || !grid_point(f, cell, element, p))
            continue;
        const int64_t index = (p[2] * f.grid.counts[1] + p[1]) * f.grid.counts[0] + p[0];
        const unsigned long long at = atomicAdd((unsigned long long *)&to.count, 1ull);
        atomicMin((unsigned long long *)&to.first, (unsigned long long)index);
        if (at < MOST_CANDIDATES)
            to.index[at] = index;
    }
}

/* Lists the points that may have the least energy, within `window` and the errors of cells not yet summed. Also lists
 * some of these cells, with the least bounds: summing them narrows the search most. sign: of the charge. */
__global__ void __launch_bounds__(THREADS)
    look(field f, double sign, double window, findings *__restrict__ found, int64_t *__restrict__ list)
{
    const int64_t cell = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    const double least = sign * found->extreme.re; /* its cell has a point at most 2 errors above */
    const double error_there = f.error_factor * (double)f.magnitude[found->extreme.index];
    double bound = INFINITY, error = 0;
    if (cell < f.cells) {
        bound = sign > 0 ? f.low[cell] : -f.high[cell];
        error = f.error_factor * (double)f.magnitude[cell];
    }
    if (error > 0 && bound <= least + error_there / 4 + 2 * window) {
        const int at = atomicAdd(&found->cells, 1);
        if (at < MOST_SUMS)
            list[at] = cell;
    }
    unsigned lanes = __ballot_sync(0xffffffffu, bound <= least + 2 * error_there + 2 * window);
    for (; lanes; lanes &= lanes - 1) {
        const int lane = __ffs((int)lanes) - 1;
        list_points(f, cell - threadIdx.x % LANES + lane, sign,
                    least + 2 * error_there + 2 * window + __shfl_sync(0xffffffffu, error, lane), found->points);
    }
}

/* Copies the findings to the host, with the first few candidates; copies all candidates only if there are more. */
vf_status fetch(vf_ion_search *search)
{
    enum { FEW = 32 };
    cuda_state *s = state_of(search);
    findings *host = static_cast<findings *>(s->host.data);
    const size_t head = offsetof(findings, points.index), few = head + FEW * sizeof *host->points.index;
    vf_status status = vf_queue_copy(s->queue, host, s->found.data, few);
    if (status == VF_OK)
        status = vf_queue_sync(s->queue);
    if (status != VF_OK || host->points.count <= FEW)
        return status;
    status = vf_queue_copy(s->queue, host, s->found.data, sizeof *host);
    return status == VF_OK ? vf_queue_sync(s->queue) : status;
}

vf_status find(vf_ion_search *search, double charge, vf_ion_place *out)
{
    cuda_state *s = state_of(search);
    vf_status status = get_ready(search);
    ion_add_magnitudes(search, &s->magnitude_ions, &s->magnitude_sum);
    const double sign = charge > 0 ? 1 : -1, window = EXACT_ERROR * s->magnitude_sum;
    const vf_reduce *extreme = charge > 0 ? s->least : s->greatest;
    const double *bounds = static_cast<const double *>(charge > 0 ? s->low.data : s->high.data);
    findings *found = static_cast<findings *>(s->found.data), *host = static_cast<findings *>(s->host.data);
    bool settled = false;
    host->cells = 0;
    while (status == VF_OK && !settled) {
        if (host->cells > 0)
            status = sum_cells(search, host->cells < MOST_SUMS ? host->cells : MOST_SUMS);
        if (status == VF_OK && vf_cancelled(search->ctx))
            status = vf_fail(search->ctx, VF_ERR_CANCELLED, "interrupted");
        memset(host, 0, offsetof(findings, points.index));
        host->points.first = INT64_MAX;
        if (status == VF_OK)
            status = vf_queue_copy(s->queue, found, host, offsetof(findings, points.index));
        if (status == VF_OK)
            status = vf_reduce_execute(extreme, s->queue, s->cells.count, bounds, NULL, &found->extreme);
        if (status == VF_OK) {
            look<<<vf_blocks_for(s->cells.count, THREADS), THREADS, 0, stream_of(s)>>>(
                field_of(search), sign, window, found, static_cast<int64_t *>(s->list.data));
            status = VF_CUDA(search->device, cudaGetLastError());
        }
        if (status == VF_OK)
            status = fetch(search);
        settled = host->cells == 0 || host->points.count <= MOST_DIRECT;
    }
    if (status == VF_OK && host->points.count > 0)
        status = ion_choose(search, charge, &host->points, &out->index);
    return status;
}

const char *const variants[] = {"field", NULL};

} // namespace
} // namespace vf_ion_gpu

const vf_ion_search_backend vf_ion_search_cuda = {
    {VF_DEVICE_CUDA, vf_ion_gpu::variants},
    vf_ion_gpu::create,
    vf_ion_gpu::exclude_near_atoms,
    vf_ion_gpu::find,
    vf_ion_gpu::add,
    vf_ion_gpu::destroy,
};
