/* The OpenCL backend of the Ewald sum. The fine mesh is on the device, made by its steps (ewald_opencl_steps.c). The coarse one,
 * which needs double precision and has a 64th of the points, is made on the host as for the CPU, and interpolated on the device. */
#include <math.h>
#include <stdlib.h>

#include "ewald_cpu.h"
#include "ewald_opencl.h"
#include "voxfield/copy.h"
#include "voxfield/fft.h"

typedef struct opencl_state {
    ewald_level fine; /* its mesh has the whole smooth potential in the end */
    opencl_targets map;
    vf_array slope; /* terms of the vacuum boundary along each axis */
} opencl_state;

/* level->mesh = the potential of its part of the law. *bytes: memory of the device used meanwhile. */
static vf_status solve_fine(vf_ewald *plan, const vf_coulomb_atoms *charges, ewald_kernel_job *job, uint64_t *bytes)
{
    ewald_level *level = &((opencl_state *)plan->state)->fine;
    const int64_t *n = level->at.length, points = n[0] * n[1] * n[2];
    const vf_dtype type = vf_dtype_complex(level->precision);
    const double zero[2] = {0};
    vf_queue *queue = NULL;
    vf_fft *fft = NULL;
    vf_array table = {0}, there = {0}, spectrum = {0};
    vf_status status = ewald_make_kernel(job, &table);
    VF_TRY(status, vf_opencl_array_of(plan->device, level->precision, table.count, table.data, &there));
    VF_TRY(status, vf_array_create(plan->device, VF_SPACE_DEVICE, type, points, &spectrum));
    VF_TRY(status, vf_queue_create(plan->device, &queue));
    VF_TRY(status, vf_fill(queue, type, points, zero, spectrum.data));
    VF_TRY(status, opencl_spread(level, plan->device, queue, charges, plan->options.scale, &spectrum));
    VF_TRY(status, vf_fft_create(plan->device, type, 3, (const int64_t[]){n[2], n[1], n[0]}, 1, &fft));
    VF_TRY(status, vf_fft_execute(fft, queue, VF_FFT_FORWARD, spectrum.data));
    VF_TRY(status, opencl_multiply(level, queue, &there, &spectrum));
    VF_TRY(status, vf_fft_execute(fft, queue, VF_FFT_BACKWARD, spectrum.data));
    VF_TRY(status, opencl_take_real(level, queue, &spectrum));
    VF_TRY(status, vf_queue_sync(queue));
    *bytes = ((uint64_t)there.count + 2 * (uint64_t)points) * level->element + (fft ? (uint64_t)vf_fft_bytes(fft) : 0);
    vf_fft_destroy(fft);
    vf_queue_destroy(queue);
    vf_array_free(&spectrum);
    vf_array_free(&there);
    vf_array_free(&table);
    return status;
}

/* The fine mesh += the coarse mesh's potential. */
static vf_status add_coarse(vf_ewald *plan, const ewald_level *coarse)
{
    const ewald_level *fine = &((const opencl_state *)plan->state)->fine;
    const int64_t *n = fine->at.mesh;
    const vf_box all = {.hi = {n[0], n[1], n[2]}};
    ewald_level there = *coarse;
    opencl_targets targets = {0};
    vf_queue *queue = NULL;
    there.precision = fine->precision;
    vf_status status =
        vf_opencl_reals_of(plan->device, fine->precision, coarse->mesh.count, coarse->mesh.data, &there.mesh);
    VF_TRY(status, opencl_targets_make(&there, plan->device, n, fine->at.origin, fine->at.edge, &targets));
    VF_TRY(status, vf_queue_create(plan->device, &queue));
    VF_TRY(status, opencl_interpolate(&there, &targets, queue, &all, fine->precision, true, fine->mesh.data));
    VF_TRY(status, vf_queue_sync(queue));
    vf_queue_destroy(queue);
    opencl_targets_free(&targets);
    vf_array_free(&there.mesh);
    return status;
}

static vf_status make_meshes(vf_ewald *plan, const vf_coulomb_atoms *charges)
{
    const ewald_shape *shape = &plan->shape;
    ewald_level *fine = &((opencl_state *)plan->state)->fine, coarse = {0};
    const bool periodic = shape->fine.periodic;
    const double volume = periodic ? vf_cell_volume(&plan->grid.cell) : 0;
    uint64_t fine_bytes = 0, coarse_bytes = 0;
    ewald_level_make(plan->ctx, &shape->fine, shape->precision, shape->fine.mesh[0], fine);
    vf_status status =
        vf_array_create(plan->device, VF_SPACE_DEVICE, shape->precision, ewald_level_points(fine), &fine->mesh);
    VF_TRY(status, ewald_level_create(vf_context_host(plan->ctx), &shape->coarse, VF_F64, &coarse));
    ewald_kernel_job fine_job = {
        .level = fine, .less = &coarse, .divisions = shape->interpolates ? 2 : 1, .volume = volume};
    ewald_kernel_job coarse_job = {
        .level = &coarse, .divisions = 2, .more = shape->interpolates ? fine : NULL, .times = 1, .volume = volume};
    VF_TRY(status, solve_fine(plan, charges, &fine_job, &fine_bytes));
    VF_TRY(status, ewald_solve(&coarse, charges, plan->options.scale, &coarse_job, !periodic, &coarse_bytes));
    VF_TRY(status, add_coarse(plan, &coarse));
    plan->bytes = (uint64_t)fine->mesh.count * fine->element;
    plan->most_bytes = plan->bytes + fine_bytes;
    vf_array_free(&coarse.mesh);
    return status;
}

static vf_status prepare_slope(vf_ewald *plan)
{
    opencl_state *s = plan->state;
    const int64_t *n = plan->grid.counts;
    double *terms = malloc((size_t)(n[0] + n[1] + n[2]) * sizeof *terms);
    int64_t count = 0;
    if (!terms)
        return vf_fail(plan->ctx, VF_ERR_MEMORY, "not enough memory for a plan");
    for (int a = 0; a < 3; a++)
        for (int64_t i = 0; i < n[a]; i++)
            terms[count++] = plan->slope[a] * (plan->grid.origin[a] + plan->grid.spacing[a] * (double)i);
    const vf_status status = vf_opencl_reals_of(plan->device, plan->shape.arithmetic, count, terms, &s->slope);
    free(terms);
    return status;
}

static vf_status create(vf_ewald *plan, const vf_coulomb_atoms *charges, ewald_loaded *loaded)
{
    (void)loaded;
    const double *h = plan->grid.spacing, edge[3][3] = {{h[0], 0, 0}, {0, h[1], 0}, {0, 0, h[2]}};
    if ((plan->shape.precision == VF_F64 || plan->shape.arithmetic == VF_F64) &&
        !vf_opencl_facts_of(plan->device).has_double)
        return vf_fail(
            plan->ctx, VF_ERR_UNSUPPORTED,
            "%s (%s) has no double precision, which the Ewald sum of these charges needs for a tolerance of %g; "
            "use a larger --accuracy, --method exact or another device",
            vf_device_spec(plan->device), vf_device_name(plan->device), plan->options.tolerance);
    opencl_state *s = calloc(1, sizeof *s);
    plan->state = s;
    if (!s)
        return vf_fail(plan->ctx, VF_ERR_MEMORY, "not enough memory for a plan");
    vf_status status = make_meshes(plan, charges);
    if (plan->shape.interpolates)
        VF_TRY(status,
               opencl_targets_make(&s->fine, plan->device, plan->grid.counts, plan->grid.origin, edge, &s->map));
    if (plan->options.vacuum)
        VF_TRY(status, prepare_slope(plan));
    return status;
}

static vf_status execute(const vf_ewald *plan, vf_queue *queue, const vf_box *box, void *out)
{
    const opencl_state *s = plan->state;
    const vf_dtype type = plan->shape.arithmetic;
    vf_status status;
    int64_t first[3];
    for (int a = 0; a < 3; a++) /* if the mesh has the map's points */
        first[a] = llround((plan->grid.origin[a] - s->fine.at.origin[a]) / s->fine.at.step[a]) + box->lo[a];
    if (plan->shape.interpolates)
        status = opencl_interpolate(&s->fine, &s->map, queue, box, type, false, out);
    else
        status = opencl_copy_box(&s->fine, queue, first, box, type, out);
    if (plan->options.vacuum)
        VF_TRY(status, opencl_add_slope(&s->fine, queue, plan->grid.counts, box, type, &s->slope, out));
    return status;
}

static vf_status execute_rounded(const vf_ewald *plan, vf_queue *queue, const vf_box *box, ewald_execute whole,
                                 float *out)
{
    const int64_t plane = vf_box_extent(box, 0) * vf_box_extent(box, 1), planes = ewald_planes(box), first[3] = {0};
    ewald_level slab = {.precision = VF_F64, .pitch = vf_box_extent(box, 0)}; /* read as a mesh of the box's points */
    vf_status status = vf_array_create(plan->device, VF_SPACE_DEVICE, VF_F64, planes * plane, &slab.mesh);
    slab.at.width = EWALD_LEAST_WIDTH;
    slab.at.mesh[1] = vf_box_extent(box, 1);
    for (int64_t z = box->lo[2]; z < box->hi[2] && status == VF_OK; z += planes) {
        vf_box part = *box;
        part.lo[2] = z;
        part.hi[2] = z + planes < box->hi[2] ? z + planes : box->hi[2];
        status = whole(plan, queue, &part, slab.mesh.data);
        VF_TRY(status, opencl_copy_box(&slab, queue, first, &part, VF_F32,
                                       vf_offset(plan->device, out, VF_F32, (z - box->lo[2]) * plane)));
    }
    vf_array_free(&slab.mesh); /* OpenCL keeps it until its work is done */
    return status;
}

static void destroy(vf_ewald *plan)
{
    opencl_state *s = plan->state;
    opencl_targets_free(&s->map);
    vf_array_free(&s->slope);
    vf_array_free(&s->fine.mesh);
    free(s);
}

const vf_ewald_backend vf_ewald_opencl = {
    .create = create, .execute = execute, .round = execute_rounded, .destroy = destroy};
