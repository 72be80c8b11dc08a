/* The search on a GPU: every point's potential is kept, in double precision, cell after cell of the grid; NaN where a
 * point is excluded, and beyond the grid. An ion costs one pass over it, which adds its potential, excludes the points
 * about it, and finds each cell's extremes: 16 bytes a point, read and written, and some 18 operations in double
 * precision; cells without a free point are passed over. Where the least is, is a reduction over the cells' extremes.
 *
 * The field begins as the map, whose errors are bounded by those of ion_search.h. If more than a few points may have
 * the least energy to that error, their cells are summed again, atoms and ions, in double precision: once; then their
 * extremes are exact. Of the few that are left the host sums the energies.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cuda_check.cuh"
#include "backend/launch_blocks.h"
#include "coulomb_sum_tiles.cuh"
#include "ion_search_internal.h"
#include "voxfield/copy.h"
#include "voxfield/reduce.h"

namespace
{

using namespace vf_coulomb_gpu;

enum {
    LANES = 32,
    POINTS = CELL_POINTS / LANES, /* of a lane: one above the other */
    THREADS = 256,                /* of a block whose warps take a cell each */
    MOST_SUMS = 4096,             /* cells that are summed at a time */
    SUM_CHUNK = CELL_POINTS,      /* sources: a thread stages one */
    SLICES = 8,
    MOST_DIRECT = 4 /* candidates that the host sums rather than the GPU their cells */
};
static_assert(CELL_X * CELL_Y == LANES, "a warp has a cell's layer");

/* A source of potential, C in its charge; `distance`: within which it excludes points. */
struct __align__(8) source
{
    double x, y, z, charge, distance;
};

/* What all kernels take. */
struct field {
    vf_grid grid;
    int64_t along[3], cells;
    double r_min;
    double *value;      /* [cells][CELL_Z][CELL_Y][CELL_X] */
    double *low, *high; /* [cells] below the least value, above the greatest; INFINITY, -INFINITY: nothing is free */
    float *magnitude;   /* [cells] times error_factor: how far the values may be off; 0: summed */
    double error_factor;
};

/* What the host learns from a look at the cells. */
struct findings {
    vf_reduced extreme; /* of `low` or `high` */
    int cells;          /* that are to be summed, unless there are few points */
    int unused;
    ion_candidates points;
};

struct cuda_state {
    bool begun;
    ion_cells cells;
    vf_queue *queue;
    vf_array value, low, high, magnitude;
    vf_array sources[ION_SOURCES]; /* of source */
    int64_t there[ION_SOURCES];    /* how many of them are on the device */
    vf_array found, host;          /* findings; the host's are pinned */
    vf_array list;                 /* [MOST_SUMS] cells to be summed */
    vf_array partial;              /* sums of parts of the sources */
    vf_reduce *least, *greatest;
    double error_factor;
    double magnitude_sum;   /* the most that atoms and ions add up to at a free point, C sum |q|/r */
    int64_t magnitude_ions; /* how many ions it has */
};

/* ---- kernels ---- */

__device__ inline int64_t cell_point(const field &f, int64_t cell, int axis)
{
    const int64_t n = axis == 0   ? cell % f.along[0]
                      : axis == 1 ? cell / f.along[0] % f.along[1]
                                  : cell / f.along[0] / f.along[1];
    return n * (axis == 0 ? CELL_X : axis == 1 ? CELL_Y : CELL_Z);
}

/* The grid point of a cell's element `at`; false: beyond the grid. */
__device__ inline bool grid_point(const field &f, int64_t cell, int at, int64_t p[3])
{
    p[0] = cell_point(f, cell, 0) + at % CELL_X;
    p[1] = cell_point(f, cell, 1) + at / CELL_X % CELL_Y;
    p[2] = cell_point(f, cell, 2) + at / (CELL_X * CELL_Y);
    return p[0] < f.grid.counts[0] && p[1] < f.grid.counts[1] && p[2] < f.grid.counts[2];
}

/* The extremes of a cell whose points a warp has; fmin and fmax pass NaN over. */
__device__ inline void set_bounds(const field &f, int64_t cell, const double (&v)[POINTS])
{
    double low = INFINITY, high = -INFINITY;
#pragma unroll
    for (int p = 0; p < POINTS; p++) {
        low = fmin(low, v[p]);
        high = fmax(high, v[p]);
    }
#pragma unroll
    for (int step = LANES / 2; step > 0; step /= 2) {
        low = fmin(low, __shfl_xor_sync(0xffffffffu, low, step));
        high = fmax(high, __shfl_xor_sync(0xffffffffu, high, step));
    }
    if (threadIdx.x % LANES != 0)
        return;
    const double error = f.error_factor * (double)f.magnitude[cell];
    f.low[cell] = low - error;
    f.high[cell] = high + error;
}

__device__ inline int64_t warp_cell()
{
    return (int64_t)blockIdx.x * (THREADS / LANES) + threadIdx.x / LANES;
}

/* The map into the field, but for what the mask excludes. */
template <typename T>
__global__ void __launch_bounds__(THREADS)
    fill_field(field f, const T *__restrict__ map, const uint8_t *__restrict__ mask)
{
    const int64_t cell = warp_cell();
    if (cell >= f.cells)
        return;
    double v[POINTS];
#pragma unroll
    for (int p = 0; p < POINTS; p++) {
        int64_t at[3];
        v[p] = NAN;
        if (grid_point(f, cell, p * LANES + (int)threadIdx.x % LANES, at)) {
            const int64_t index = (at[2] * f.grid.counts[1] + at[1]) * f.grid.counts[0] + at[0];
            if (mask[index] == VF_ION_FREE)
                v[p] = (double)map[index];
        }
        f.value[cell * CELL_POINTS + p * LANES + threadIdx.x % LANES] = v[p];
    }
    set_bounds(f, cell, v);
}

/* The least distances are the atoms' own: a block marks the points of one atom. */
__global__ void exclude_atoms(vf_grid grid, const source *__restrict__ atoms, uint8_t *__restrict__ mask)
{
    const source atom = atoms[blockIdx.x];
    const double at[3] = {atom.x, atom.y, atom.z};
    int64_t lo[3], n[3];
    for (int a = 0; a < 3; a++) {
        int64_t hi;
        ion_axis_range(&grid, a, at[a], atom.distance, &lo[a], &hi);
        n[a] = hi - lo[a];
    }
    if (n[0] <= 0)
        return;
    for (int64_t row = threadIdx.x / LANES; row < n[1] * n[2]; row += blockDim.x / LANES) {
        const int64_t j = lo[1] + row % n[1], k = lo[2] + row / n[1];
        const double dy = position(grid, 1, j) - atom.y, dz = position(grid, 2, k) - atom.z;
        uint8_t *to = mask + (k * grid.counts[1] + j) * grid.counts[0];
        for (int64_t i = lo[0] + threadIdx.x % LANES; i < lo[0] + n[0]; i += LANES)
            if (ion_too_near(ion_distance_squared(position(grid, 0, i) - atom.x, dy, dz), atom.distance))
                to[i] = VF_ION_SOLUTE;
    }
}

/* An ion's potential onto all free points but those too near to it, which are free no more, nor is the one it is on. */
template <bool SQUARE>
__global__ void __launch_bounds__(THREADS) add_ion(field f, source ion)
{
    const int64_t cell = warp_cell();
    if (cell >= f.cells || f.low[cell] == INFINITY)
        return;
    const int lane = (int)threadIdx.x % LANES;
    double *values = f.value + cell * CELL_POINTS + lane;
    double v[POINTS];
#pragma unroll
    for (int p = 0; p < POINTS; p++)
        v[p] = values[p * LANES];
    const double dx = position(f.grid, 0, cell_point(f, cell, 0) + lane % CELL_X) - ion.x;
    const double dy = position(f.grid, 1, cell_point(f, cell, 1) + lane / CELL_X) - ion.y;
    const double least = f.r_min * f.r_min;
#pragma unroll
    for (int p = 0; p < POINTS; p++) {
        const double dz = position(f.grid, 2, cell_point(f, cell, 2) + p) - ion.z;
        const double squared = ion_distance_squared(dx, dy, dz);
        v[p] = squared == 0 || ion_too_near(squared, ion.distance)
                   ? NAN
                   : fma(ion.charge, inverse<SQUARE>(larger(squared, least)), v[p]);
        values[p * LANES] = v[p];
    }
    set_bounds(f, cell, v);
}

/* Takes up the points of a cell, by a warp, whose energy may be below `limit`. */
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

/* Lists the points that may have the least energy, to `window` and the errors of cells that are not summed; and of
 * those cells some, with the least bounds, which say more of the least when they are summed. sign: of the charge. */
__global__ void __launch_bounds__(THREADS)
    look(field f, double sign, double window, findings *__restrict__ found, int64_t *__restrict__ list)
{
    const int64_t cell = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    const double least = sign * found->extreme.re; /* bound of a cell that has a point twice its error above, or less */
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

/* Part blockIdx.y of the sources, at the points of a listed cell: partial[part][listed][CELL_POINTS]. */
template <bool SQUARE>
__global__ void __launch_bounds__(CELL_POINTS)
    sum_parts(field f, const int64_t *__restrict__ list, const source *__restrict__ atoms, int64_t atom_count,
              const source *__restrict__ ions, int64_t ion_count, double *__restrict__ partial)
{
    __shared__ source chunk[SUM_CHUNK];
    const int64_t cell = list[blockIdx.x], count = atom_count + ion_count;
    const int64_t from = count * blockIdx.y / gridDim.y, to = count * (blockIdx.y + 1) / gridDim.y;
    const double least = f.r_min * f.r_min;
    int64_t p[3];
    grid_point(f, cell, (int)threadIdx.x, p);
    const double x = position(f.grid, 0, p[0]), y = position(f.grid, 1, p[1]), z = position(f.grid, 2, p[2]);
    double sum = 0;
    for (int64_t first = from; first < to; first += SUM_CHUNK) {
        const int here = (int)min((int64_t)SUM_CHUNK, to - first);
        const int64_t mine = first + threadIdx.x;
        __syncthreads();
        if ((int)threadIdx.x < here)
            chunk[threadIdx.x] = mine < atom_count ? atoms[mine] : ions[mine - atom_count];
        __syncthreads();
#pragma unroll 4
        for (int n = 0; n < here; n++) {
            const double dx = x - chunk[n].x, dy = y - chunk[n].y, dz = z - chunk[n].z;
            sum = fma(chunk[n].charge, inverse<SQUARE>(larger(fma(dx, dx, fma(dy, dy, dz * dz)), least)), sum);
        }
    }
    partial[((int64_t)blockIdx.y * gridDim.x + blockIdx.x) * CELL_POINTS + threadIdx.x] = sum;
}

/* The sums into the field: what is excluded stays so. A block takes a listed cell, each SLICES threads a point. */
__global__ void __launch_bounds__(CELL_POINTS *SLICES)
    take_sums(field f, const int64_t *__restrict__ list, const double *__restrict__ partial, int parts)
{
    __shared__ double slice_sums[SLICES][CELL_POINTS];
    const int64_t cell = list[blockIdx.x];
    const int point = (int)threadIdx.x % CELL_POINTS, slice = (int)threadIdx.x / CELL_POINTS;
    double sum = 0;
#pragma unroll 4
    for (int part = slice; part < parts; part += SLICES)
        sum += partial[((int64_t)part * gridDim.x + blockIdx.x) * CELL_POINTS + point];
    slice_sums[slice][point] = sum;
    if (threadIdx.x == 0)
        f.magnitude[cell] = 0;
    __syncthreads();
    if (threadIdx.x >= LANES)
        return;
    double *values = f.value + cell * CELL_POINTS + threadIdx.x;
    double v[POINTS];
#pragma unroll
    for (int p = 0; p < POINTS; p++) {
        sum = 0;
        for (int s = 0; s < SLICES; s++)
            sum += slice_sums[s][p * LANES + threadIdx.x];
        v[p] = isnan(values[p * LANES]) ? NAN : sum;
        values[p * LANES] = v[p];
    }
    set_bounds(f, cell, v);
}

/* ---- host side ---- */

cuda_state *state_of(const vf_ion_search *search)
{
    return static_cast<cuda_state *>(search->state);
}

cudaStream_t stream_of(const cuda_state *s)
{
    return static_cast<cudaStream_t>(vf_queue_native(s->queue));
}

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

unsigned warps_for(const field &f)
{
    return vf_blocks_for(f.cells, THREADS / LANES);
}

source source_of(const ion_sources *s, int64_t n)
{
    return {s->x[n], s->y[n], s->z[n], s->charge[n], s->distance[n]};
}

/* Copies the sources of a kind that the device lacks, into room for more where there is none. */
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

vf_status use_device(const vf_ion_search *search)
{
    return VF_CUDA(search->device, cudaSetDevice(vf_device_ordinal(search->device)));
}

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

/* Blocks that sum `cells` cells: enough to fill a GPU, but parts of a chunk at least. */
int parts_for(const vf_ion_search *search, int cells)
{
    enum { FILL = 2048 };
    const int64_t sources = search->sources[ION_ATOMS].count + search->sources[ION_IONS].count,
                  most = sources / SUM_CHUNK + 1, wanted = (FILL + cells - 1) / cells;
    return (int)(wanted < most ? wanted : most);
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
        /* parts_for(n) n is below 2048 + n */
        {&s->partial, VF_SPACE_DEVICE, VF_F64, (int64_t)2 * MOST_SUMS * CELL_POINTS},
    };
    vf_status status = use_device(search);
    if (status == VF_OK)
        status = vf_queue_create(device, &s->queue);
    for (const auto &a : arrays)
        if (status == VF_OK)
            status = vf_array_create(device, a.space, a.type, a.count, a.array);
    if (status == VF_OK) /* more of it is copied to the host than was written */
        status = vf_create_cleared(device, VF_U8, (int64_t)sizeof(findings), &s->found);
    if (status == VF_OK)
        status = vf_reduce_create(device, VF_REDUCE_MIN, VF_F64, cells, &s->least);
    return status == VF_OK ? vf_reduce_create(device, VF_REDUCE_MAX, VF_F64, cells, &s->greatest) : status;
}

vf_status exclude(vf_ion_search *search)
{
    cuda_state *s = state_of(search);
    const int64_t atoms = search->sources[ION_ATOMS].count, points = vf_grid_points(&search->grid);
    vf_array mask = {};
    vf_reduce *count = NULL;
    vf_reduced marked = {};
    if (atoms == 0)
        return VF_OK;
    vf_status status = use_device(search);
    s->there[ION_ATOMS] = 0; /* their distances are new */
    if (status == VF_OK)
        status = upload_sources(search, ION_ATOMS);
    if (status == VF_OK)
        status = vf_create_cleared(search->device, VF_U8, points, &mask);
    if (status == VF_OK)
        status = vf_reduce_create(search->device, VF_REDUCE_SUM, VF_U8, points, &count);
    if (status == VF_OK) {
        exclude_atoms<<<vf_blocks_for(atoms, 1), 4 * LANES, 0, stream_of(s)>>>(
            search->grid, static_cast<const source *>(s->sources[ION_ATOMS].data), static_cast<uint8_t *>(mask.data));
        status = VF_CUDA(search->device, cudaGetLastError());
    }
    static_assert(VF_ION_SOLUTE == 1, "the sum of the mask is a count");
    if (status == VF_OK)
        status = vf_reduce_now(count, s->queue, points, mask.data, NULL, &marked);
    if (status == VF_OK)
        status = vf_queue_copy(s->queue, search->mask, mask.data, (size_t)points);
    if (status == VF_OK)
        status = vf_queue_sync(s->queue);
    if (status == VF_OK)
        search->free -= marked.integer;
    vf_reduce_destroy(count);
    vf_array_free(&mask);
    return status;
}

/* The map and the mask to the device, and from there into the field. */
vf_status fill(vf_ion_search *search)
{
    cuda_state *s = state_of(search);
    const field f = field_of(search);
    const vf_dtype type = search->options.potential.precision;
    const int64_t points = vf_grid_points(&search->grid);
    vf_array map = {}, mask = {};
    vf_status status = vf_array_create(search->device, VF_SPACE_DEVICE, type, points, &map);
    if (status == VF_OK)
        status = vf_array_create(search->device, VF_SPACE_DEVICE, VF_U8, points, &mask);
    if (status == VF_OK)
        status = vf_queue_copy(s->queue, map.data, search->map, (size_t)points * vf_dtype_bytes(type));
    if (status == VF_OK)
        status = vf_queue_copy(s->queue, mask.data, search->mask, (size_t)points);
    if (status == VF_OK) {
        const uint8_t *excluded = static_cast<const uint8_t *>(mask.data);
        if (type == VF_F64)
            fill_field<<<warps_for(f), THREADS, 0, stream_of(s)>>>(f, static_cast<const double *>(map.data), excluded);
        else
            fill_field<<<warps_for(f), THREADS, 0, stream_of(s)>>>(f, static_cast<const float *>(map.data), excluded);
        status = VF_CUDA(search->device, cudaGetLastError());
    }
    if (status == VF_OK)
        status = vf_queue_sync(s->queue);
    vf_array_free(&map);
    vf_array_free(&mask);
    return status;
}

vf_status begin(vf_ion_search *search)
{
    cuda_state *s = state_of(search);
    float *magnitude = static_cast<float *>(s->magnitude.data);
    const float none = 0;
    const double error = ion_map_error(search);
    double factor = 0;
    vf_reduce *largest = NULL;
    vf_reduced most = {}, least = {};
    vf_status status = use_device(search);
    if (status == VF_OK)
        status = vf_reduce_create(search->device, VF_REDUCE_MAX, VF_F32, s->cells.count, &largest);
    if (status == VF_OK)
        status = upload_sources(search, ION_ATOMS);
    if (status == VF_OK && !search->options.map_is_exact)
        status = ion_bound_atoms(search, &s->cells, s->queue, magnitude, &factor);
    if (status == VF_OK && !search->options.map_is_exact)
        status = vf_reduce_now(largest, s->queue, s->cells.count, magnitude, NULL, &most);
    s->magnitude_sum = factor * most.re;
    s->magnitude_ions = 0;
    s->error_factor = factor * error;
    if (status == VF_OK && error <= EXACT_ERROR)
        status = vf_fill(s->queue, VF_F32, s->cells.count, &none, magnitude);
    if (status == VF_OK)
        status = fill(search);
    vf_reduce_destroy(largest);
    if (status == VF_OK && search->options.map_is_exact) {
        status = vf_reduce_now(s->least, s->queue, s->cells.count, s->low.data, NULL, &least);
        if (status == VF_OK)
            status = vf_reduce_now(s->greatest, s->queue, s->cells.count, s->high.data, NULL, &most);
        s->magnitude_sum = least.re <= most.re ? fmax(fabs(least.re), fabs(most.re)) : 0;
    }
    s->begun = status == VF_OK;
    return status;
}

/* What EXACT_ERROR is relative to, with the ions added since: none is nearer to a free point than its distance. */
double largest_magnitude(const vf_ion_search *search)
{
    cuda_state *s = state_of(search);
    const ion_sources *ions = &search->sources[ION_IONS];
    for (; s->magnitude_ions < ions->count; s->magnitude_ions++) {
        const double r = fmax(ions->distance[s->magnitude_ions], search->options.potential.r_min);
        s->magnitude_sum +=
            ions->magnitude[s->magnitude_ions] / (search->options.potential.distance_dielectric ? r * r : r);
    }
    return s->magnitude_sum;
}

vf_status add(vf_ion_search *search)
{
    cuda_state *s = state_of(search);
    vf_status status = s->begun ? use_device(search) : begin(search);
    if (status != VF_OK)
        return status;
    const field f = field_of(search);
    const source ion = source_of(&search->sources[ION_IONS], search->sources[ION_IONS].count - 1);
    if (search->options.potential.distance_dielectric)
        add_ion<true><<<warps_for(f), THREADS, 0, stream_of(s)>>>(f, ion);
    else
        add_ion<false><<<warps_for(f), THREADS, 0, stream_of(s)>>>(f, ion);
    return VF_CUDA(search->device, cudaGetLastError());
}

vf_status sum_cells(vf_ion_search *search, int cells)
{
    cuda_state *s = state_of(search);
    vf_status status = upload_sources(search, ION_IONS);
    if (status != VF_OK)
        return status;
    const field f = field_of(search);
    const int64_t *list = static_cast<const int64_t *>(s->list.data);
    const source *atoms = static_cast<const source *>(s->sources[ION_ATOMS].data),
                 *ions = static_cast<const source *>(s->sources[ION_IONS].data);
    const int64_t atom_count = search->sources[ION_ATOMS].count, ion_count = search->sources[ION_IONS].count;
    double *partial = static_cast<double *>(s->partial.data);
    const int parts = parts_for(search, cells);
    const dim3 blocks((unsigned)cells, (unsigned)parts);
    if (search->options.potential.distance_dielectric)
        sum_parts<true><<<blocks, CELL_POINTS, 0, stream_of(s)>>>(f, list, atoms, atom_count, ions, ion_count, partial);
    else
        sum_parts<false>
            <<<blocks, CELL_POINTS, 0, stream_of(s)>>>(f, list, atoms, atom_count, ions, ion_count, partial);
    take_sums<<<(unsigned)cells, CELL_POINTS * SLICES, 0, stream_of(s)>>>(f, list, partial, parts);
    return VF_CUDA(search->device, cudaGetLastError());
}

/* The numbers of a look to the host, and of its candidates the first few: seldom are there more. */
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
    vf_status status = s->begun ? use_device(search) : begin(search);
    const double sign = charge > 0 ? 1 : -1, window = EXACT_ERROR * largest_magnitude(search);
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

const vf_ion_search_backend vf_ion_search_cuda = {{VF_DEVICE_CUDA, variants}, create, exclude, find, add, destroy};
