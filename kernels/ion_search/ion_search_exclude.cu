/* Marks the points too near to atoms, on a GPU, in a mask of bytes, and copies the mask to the host. */
#include "ion_search_cuda.cuh"

namespace vf_ion_gpu
{
namespace
{

/* A block marks the points nearer to one atom than that atom's distance. */
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

} // namespace

vf_status exclude_near_atoms(vf_ion_search *search)
{
    cuda_state *s = state_of(search);
    const int64_t atoms = search->sources[ION_ATOMS].count, points = vf_grid_points(&search->grid);
    vf_array mask = {};
    vf_reduce *count = NULL;
    vf_reduced marked = {};
    if (atoms == 0)
        return VF_OK;
    vf_status status = use_device(search);
    s->there[ION_ATOMS] = 0; /* their distances have changed */
    if (status == VF_OK)
        status = upload_sources(search, ION_ATOMS);
    if (status == VF_OK)
        status = vf_create_cleared(search->device, VF_U8, points, &mask);
    if (status == VF_OK && search->free < points) /* keep what vf_ion_search_exclude_about excluded */
        status = vf_queue_copy(s->queue, mask.data, search->mask, (size_t)points);
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
        search->free = points - marked.integer;
    vf_reduce_destroy(count);
    vf_array_free(&mask);
    return status;
}

} // namespace vf_ion_gpu
