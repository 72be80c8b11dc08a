/* The field begins as the map. An ion costs one pass over it, which adds the ion's potential, excludes the points near
 * it, and updates the bounds of each cell. The pass takes 16 bytes a point, read and written, and some 18 operations
 * in double precision. Cells without a free point are skipped.
 */
#include "ion_search_cuda.cuh"

namespace vf_ion_gpu
{
namespace
{

/* Copies the map to the field, except for the points that the mask excludes. */
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

/* Adds an ion's potential to the free points. Excludes the points too near to the ion, and always the ion's own. */
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

unsigned warps_for(const field &f)
{
    return vf_blocks_for(f.cells, THREADS / LANES);
}

/* Copies the map and the mask to the device, and from there to the field. */
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

} // namespace

vf_status begin_field(vf_ion_search *search)
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

vf_status add_to_field(vf_ion_search *search, const source &ion)
{
    const field f = field_of(search);
    if (search->options.potential.distance_dielectric)
        add_ion<true><<<warps_for(f), THREADS, 0, stream_of(state_of(search))>>>(f, ion);
    else
        add_ion<false><<<warps_for(f), THREADS, 0, stream_of(state_of(search))>>>(f, ion);
    return VF_CUDA(search->device, cudaGetLastError());
}

} // namespace vf_ion_gpu
