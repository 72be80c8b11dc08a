/* The CUDA backend: two meshes, one after the other, as on the CPU (ewald_cpu.c), with whole transforms of complex
 * numbers. */
#include <stdlib.h>

#include "ewald_cuda.cuh"
#include "voxfield/fft.h"

namespace
{

using namespace vf_bin_order;
using namespace vf_ewald_gpu;

struct cuda_state {
    ewald_level fine; /* its mesh has the whole smooth potential in the end */
    ewald_targets map;
    vf_fft *fft[2]; /* of the fine mesh, and of the coarse one; used while the plan is made */
};

vf_status unload(ewald_loaded *loaded)
{
    vf_status status = VF_OK;
    if (loaded->queue) {
        vf_lasting_free(loaded->queue, &loaded->data);
        status = vf_queue_sync(loaded->queue);
    }
    vf_queue_destroy(loaded->queue);
    *loaded = {};
    return status;
}

vf_status load(vf_device *device, const vf_coulomb_atoms *charges, ewald_loaded *loaded)
{
    const double *parts[4] = {charges->x, charges->y, charges->z, charges->charge};
    const int64_t n = charges->count;
    if (n > INT32_MAX)
        return vf_fail(vf_device_context(device), VF_ERR_UNSUPPORTED, "Ewald sum: too many charges for a GPU");
    vf_status status = vf_queue_create(device, &loaded->queue);
    if (status == VF_OK)
        status = vf_lasting_create(loaded->queue, VF_F64, 4 * n, &loaded->data);
    for (int a = 0; a < 4 && status == VF_OK && n > 0; a++)
        status =
            vf_queue_copy(loaded->queue, data_of<double>(loaded->data) + a * n, parts[a], (size_t)n * sizeof(double));
    if (status != VF_OK)
        (void)unload(loaded);
    return status;
}

/* mesh.level->mesh = the convolved charges. */
vf_status convolve(const spectrum &mesh, vf_stream_memory *memory, const ewald_kernel_job &job, bool truncated,
                   vf_fft **fft)
{
    vf_queue *queue = memory->queue;
    const int64_t *length = mesh.level->at.length, dims[3] = {length[2], length[1], length[0]};
    vf_array work = {};
    vf_status status = vf_fft_create_bare(vf_queue_device(queue), mesh.data.type, 3, dims, 1, fft);
    if (status == VF_OK)
        status = vf_stream_memory_take(memory, VF_U8, vf_fft_bytes(*fft), &work);
    if (status == VF_OK)
        status = vf_fft_lend(*fft, work.data);
    if (status == VF_OK)
        status = vf_fft_execute(*fft, queue, VF_FFT_FORWARD, mesh.data.data);
    if (status == VF_OK)
        status = multiply(mesh, memory, job, truncated);
    if (status == VF_OK)
        status = vf_fft_execute(*fft, queue, VF_FFT_BACKWARD, mesh.data.data);
    return status == VF_OK ? take_real(mesh, queue) : status;
}

/* fine.mesh += the coarse mesh's potential. */
vf_status add_coarse(const ewald_level &fine, const ewald_level &coarse, vf_queue *queue)
{
    const int64_t *n = fine.at.mesh;
    const output out = {fine.mesh.data, fine.precision, n[0], n[0] * n[1], true};
    const vf_box all = {{0, 0, 0}, {n[0], n[1], n[2]}};
    ewald_targets targets;
    ewald_targets_place(&coarse, n, fine.at.origin, fine.at.edge, &targets);
    return interpolate(coarse, targets, queue, all, out);
}

/* The coarse mesh's charges are those of the fine mesh's points: their window has to be divided out once more. memory:
 * of the fine mesh, and of the coarse one. */
vf_status make_meshes(vf_ewald *plan, const ewald_loaded *loaded, vf_stream_memory memory[2])
{
    cuda_state *s = static_cast<cuda_state *>(plan->state);
    ewald_level *fine = &s->fine, coarse;
    const ewald_shape &shape = plan->shape;
    const bool periodic = shape.fine.periodic;
    const double volume = periodic ? vf_cell_volume(&plan->grid.cell) : 0;
    spectrum fine_mesh = {}, coarse_mesh = {};
    vf_status status = VF_OK;
    ewald_level_make(plan->ctx, &shape.fine, shape.precision, shape.fine.mesh[0], fine);
    ewald_level_make(plan->ctx, &shape.coarse, VF_F64, shape.coarse.mesh[0], &coarse);
    for (int i = 0; i < 2 && status == VF_OK; i++)
        status = vf_stream_memory_begin(loaded->queue, &memory[i]);
    if (status == VF_OK)
        status = vf_lasting_create(loaded->queue, shape.precision, ewald_level_points(fine), &fine->mesh);
    if (status == VF_OK)
        status = vf_stream_memory_take(&memory[1], VF_F64, ewald_level_points(&coarse), &coarse.mesh);
    const ewald_kernel_job fine_job = {fine, &coarse, shape.interpolates ? 2 : 1, NULL, 0, volume, 0};
    const ewald_kernel_job coarse_job = {&coarse, NULL, 2, fine, shape.interpolates ? 2 : 1, volume, 0};
    if (status == VF_OK)
        status = make_spectrum(fine, &memory[0], &fine_mesh);
    if (status == VF_OK)
        status = make_spectrum(&coarse, &memory[1], &coarse_mesh);
    if (status == VF_OK)
        status = spread(fine_mesh, &memory[0], loaded->data, plan->options.scale);
    if (status == VF_OK)
        status = restrict_charges(fine_mesh, coarse_mesh, &memory[1]);
    if (status == VF_OK)
        status = convolve(fine_mesh, &memory[0], fine_job, false, &s->fft[0]);
    if (status == VF_OK)
        status = convolve(coarse_mesh, &memory[1], coarse_job, !periodic, &s->fft[1]);
    if (status == VF_OK)
        status = add_coarse(*fine, coarse, loaded->queue);
    plan->bytes = (uint64_t)fine->mesh.count * fine->element;
    plan->most_bytes = plan->bytes + vf_stream_memory_bytes(&memory[0]) + vf_stream_memory_bytes(&memory[1]) +
                       (uint64_t)loaded->data.count * sizeof(double);
    return status;
}

vf_status create(vf_ewald *plan, const vf_coulomb_atoms *charges, ewald_loaded *loaded)
{
    (void)charges;
    cuda_state *s = static_cast<cuda_state *>(calloc(1, sizeof *s));
    plan->state = s;
    if (!s)
        return vf_fail(plan->ctx, VF_ERR_MEMORY, "not enough memory for a plan");
    vf_stream_memory memory[2] = {};
    const vf_status status = make_meshes(plan, loaded, memory);
    for (int i = 0; i < 2; i++)
        vf_stream_memory_free(&memory[i]);
    const double *h = plan->grid.spacing, edge[3][3] = {{h[0], 0, 0}, {0, h[1], 0}, {0, 0, h[2]}};
    if (status == VF_OK && plan->shape.interpolates)
        ewald_targets_place(&s->fine, plan->grid.counts, plan->grid.origin, edge, &s->map);
    return status;
}

vf_status execute(const vf_ewald *plan, vf_queue *queue, const vf_box *box, void *out)
{
    const cuda_state *s = static_cast<const cuda_state *>(plan->state);
    const ewald_layout &fine = s->fine.at;
    const int64_t width = vf_box_extent(box, 0);
    const output to = {out, plan->shape.arithmetic, width, width * vf_box_extent(box, 1), false};
    vf_status status = VF_CUDA(plan->device, cudaSetDevice(vf_device_ordinal(plan->device)));
    if (status == VF_OK && plan->shape.interpolates) {
        status = interpolate(s->fine, s->map, queue, *box, to);
    } else if (status == VF_OK) { /* the mesh has the map's points */
        int64_t first[3];
        for (int a = 0; a < 3; a++)
            first[a] = llround((plan->grid.origin[a] - fine.origin[a]) / fine.step[a]) + box->lo[a];
        status = copy_box(s->fine, queue, first, *box, to);
    }
    if (status == VF_OK && plan->options.vacuum)
        status = add_slope(plan, queue, *box, to);
    return status;
}

vf_status execute_rounded(const vf_ewald *plan, vf_queue *queue, const vf_box *box, ewald_execute whole, float *out)
{
    const int64_t plane = vf_box_extent(box, 0) * vf_box_extent(box, 1), planes = ewald_planes(box), first[3] = {};
    vf_stream_memory memory;
    ewald_level slab = {}; /* read as a mesh of the box's points */
    vf_status status = vf_stream_memory_begin(queue, &memory);
    slab.precision = VF_F64;
    slab.at.mesh[0] = vf_box_extent(box, 0);
    slab.at.mesh[1] = vf_box_extent(box, 1);
    if (status == VF_OK)
        status = vf_stream_memory_take(&memory, VF_F64, planes * plane, &slab.mesh);
    for (int64_t z = box->lo[2]; z < box->hi[2] && status == VF_OK; z += planes) {
        vf_box part = *box;
        part.lo[2] = z;
        part.hi[2] = z + planes < box->hi[2] ? z + planes : box->hi[2];
        const output to = {out + (z - box->lo[2]) * plane, VF_F32, slab.at.mesh[0], plane, false};
        status = whole(plan, queue, &part, slab.mesh.data);
        if (status == VF_OK)
            status = copy_box(slab, queue, first, part, to);
    }
    vf_stream_memory_free(&memory);
    return status;
}

void destroy(vf_ewald *plan)
{
    cuda_state *s = static_cast<cuda_state *>(plan->state);
    vf_lasting_free(NULL, &s->fine.mesh);
    for (vf_fft *fft : s->fft)
        vf_fft_destroy(fft);
    free(s);
}

} // namespace

extern "C" const vf_ewald_backend vf_ewald_cuda = {
    create, execute, execute_rounded, destroy, load, vf_ewald_gpu::summarise, unload};
