/* Exact sums of the field's cells. If the map is not accurate enough to tell which of many points has the least energy,
 * their cells are summed again over atoms and ions, in double precision. There may be few cells, so the sources are
 * divided into parts, each with its own blocks. A second kernel adds the parts up in a fixed order.
 */
#include "ion_search_cuda.cuh"

namespace vf_ion_gpu
{
namespace
{

enum {
    SUM_CHUNK = CELL_POINTS, /* sources: a thread stages one */
    SLICES = 8
};

/* Sums part blockIdx.y of the sources at the points of a listed cell: partial[part][listed][CELL_POINTS]. */
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

/* Writes the sums to the field; excluded points stay NaN. A block takes a listed cell, with SLICES threads a point. */
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

/* The number of parts of the sources for `cells` cells: enough to fill a GPU, but at most one more than there are full
 * chunks. The parts of all cells are fewer than SUM_BLOCKS + cells. */
int parts_for(const vf_ion_search *search, int cells)
{
    const int64_t sources = search->sources[ION_ATOMS].count + search->sources[ION_IONS].count,
                  most = sources / SUM_CHUNK + 1, wanted = (SUM_BLOCKS + cells - 1) / cells;
    return (int)(wanted < most ? wanted : most);
}

} // namespace

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

} // namespace vf_ion_gpu
