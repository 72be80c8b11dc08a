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
};

/* x, y, z and charge, one after another. */
vf_status upload(vf_queue *queue, const vf_coulomb_atoms *charges, vf_array *out)
{
    const double *parts[4] = {charges->x, charges->y, charges->z, charges->charge};
    const int64_t n = charges->count;
    vf_status status = vf_array_create(vf_queue_device(queue), VF_SPACE_DEVICE, VF_F64, 4 * n, out);
    for (int a = 0; a < 4 && status == VF_OK && n > 0; a++)
        status = vf_queue_copy(queue, data_of<double>(*out) + a * n, parts[a], (size_t)n * sizeof(double));
    return status;
}

/* mesh->data convolved. */
vf_status convolve(const spectrum &mesh, vf_queue *queue, const ewald_kernel_job &job, bool truncated, uint64_t *bytes)
{
    const int64_t *length = mesh.level->at.length, dims[3] = {length[2], length[1], length[0]};
    vf_fft *fft = NULL;
    scratch work = {};
    vf_status status = vf_fft_create(vf_queue_device(queue), mesh.data.type, 3, dims, 1, &fft);
    if (status == VF_OK)
        status = vf_fft_execute(fft, queue, VF_FFT_FORWARD, mesh.data.data);
    if (status == VF_OK)
        status = multiply(mesh, queue, job, truncated, &work);
    if (status == VF_OK)
        status = vf_fft_execute(fft, queue, VF_FFT_BACKWARD, mesh.data.data);
    status = finish(queue, status);
    *bytes = fft ? (uint64_t)vf_fft_bytes(fft) : 0;
    for (int i = 0; i < work.used; i++)
        *bytes += (uint64_t)work.arrays[i].count * vf_dtype_bytes(work.arrays[i].type);
    free_scratch(&work);
    vf_fft_destroy(fft);
    return status;
}

/* level->mesh = the potential of its part of the law on the mesh. *bytes: the most memory used meanwhile. */
vf_status solve(const ewald_level &level, vf_queue *queue, const vf_array &charges, double scale,
                const ewald_kernel_job &job, bool truncated, uint64_t *bytes)
{
    spectrum mesh = {&level, {}};
    vf_status status = vf_array_create(vf_queue_device(queue), VF_SPACE_DEVICE, vf_dtype_complex(level.precision),
                                       spectrum_numbers(level.at), &mesh.data);
    *bytes = 0;
    if (status == VF_OK)
        status = spread(mesh, queue, charges, scale);
    if (status == VF_OK)
        status = convolve(mesh, queue, job, truncated, bytes);
    if (status == VF_OK)
        status = take_real(mesh, queue);
    status = finish(queue, status);
    *bytes += (uint64_t)mesh.data.count * 2 * level.element;
    vf_array_free(&mesh.data);
    return status;
}

/* fine.mesh += the coarse mesh's potential. */
vf_status add_coarse(const ewald_level &fine, const ewald_level &coarse, vf_queue *queue)
{
    const int64_t *n = fine.at.mesh;
    const output out = {fine.mesh.data, fine.precision, n[0], n[0] * n[1], true};
    const vf_box all = {{0, 0, 0}, {n[0], n[1], n[2]}};
    ewald_targets targets;
    ewald_targets_place(&coarse, n, fine.at.origin, fine.at.edge, &targets);
    return finish(queue, interpolate(coarse, targets, queue, all, out));
}

vf_status make_meshes(vf_ewald *plan, vf_queue *queue, const vf_array &charges)
{
    ewald_level *fine = &static_cast<cuda_state *>(plan->state)->fine, coarse = {};
    const ewald_shape &shape = plan->shape;
    const bool periodic = shape.fine.periodic;
    const double volume = periodic ? vf_cell_volume(&plan->grid.cell) : 0;
    uint64_t fine_bytes = 0, coarse_bytes = 0;
    vf_status status = ewald_level_make(plan->device, &shape.fine, shape.precision, shape.fine.mesh[0], fine);
    if (status == VF_OK)
        status = ewald_level_make(plan->device, &shape.coarse, VF_F64, shape.coarse.mesh[0], &coarse);
    const ewald_kernel_job fine_job = {fine, &coarse, shape.interpolates ? 2 : 1, NULL, volume, 0};
    const ewald_kernel_job coarse_job = {&coarse, NULL, 2, shape.interpolates ? fine : NULL, volume, 0};
    const double scale = plan->options.scale;
    if (status == VF_OK)
        status = solve(*fine, queue, charges, scale, fine_job, false, &fine_bytes);
    if (status == VF_OK)
        status = solve(coarse, queue, charges, scale, coarse_job, !periodic, &coarse_bytes);
    if (status == VF_OK)
        status = add_coarse(*fine, coarse, queue);
    plan->bytes = (uint64_t)fine->mesh.count * fine->element;
    plan->most_bytes = plan->bytes + (uint64_t)coarse.mesh.count * coarse.element +
                       (fine_bytes > coarse_bytes ? fine_bytes : coarse_bytes) + (uint64_t)charges.count * 8;
    ewald_level_free(&coarse);
    return status;
}

vf_status create(vf_ewald *plan, const vf_coulomb_atoms *charges)
{
    cuda_state *s = static_cast<cuda_state *>(calloc(1, sizeof *s));
    plan->state = s;
    if (!s)
        return vf_fail(plan->ctx, VF_ERR_MEMORY, "not enough memory for a plan");
    if (charges->count > INT32_MAX)
        return vf_fail(plan->ctx, VF_ERR_UNSUPPORTED, "Ewald sum: too many charges for a GPU");
    vf_queue *queue = NULL;
    vf_array data = {};
    vf_status status = VF_CUDA(plan->device, cudaSetDevice(vf_device_ordinal(plan->device)));
    if (status == VF_OK)
        status = vf_queue_create(plan->device, &queue);
    if (status == VF_OK)
        status = upload(queue, charges, &data);
    if (status == VF_OK)
        status = make_meshes(plan, queue, data);
    vf_queue_destroy(queue);
    vf_array_free(&data);
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
    const output to = {out, plan->options.precision, width, width * vf_box_extent(box, 1), false};
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

void destroy(vf_ewald *plan)
{
    cuda_state *s = static_cast<cuda_state *>(plan->state);
    ewald_level_free(&s->fine);
    free(s);
}

} // namespace

extern "C" const vf_ewald_backend vf_ewald_cuda = {create, execute, destroy};
