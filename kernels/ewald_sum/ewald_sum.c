/* The front end: the choice of the shape, the near sum, and the backends of the rest. */
#include "ewald_sum.h"

#include <math.h>
#include <stdlib.h>

#include "backend/registry.h"
#include "cutoff_sum_backend.h"
#include "ewald_backend.h"

static const vf_backend backends[] = {
    {&vf_cpu_only, &vf_ewald_cpu},
    {&vf_cuda_only, &vf_ewald_cuda},
    {&vf_opencl_only, &vf_ewald_opencl},
    {0},
};

/* The dipole's term of a sphere in vacuum. */
static void set_slope(vf_ewald *plan, const vf_coulomb_atoms *charges)
{
    double dipole[3] = {0};
    if (!plan->options.vacuum)
        return;
    for (int64_t i = 0; i < charges->count; i++) {
        const double r[3] = {charges->x[i], charges->y[i], charges->z[i]};
        for (int a = 0; a < 3; a++)
            dipole[a] += charges->charge[i] * r[a];
    }
    const double pi = 3.14159265358979323846;
    for (int a = 0; a < 3; a++)
        plan->slope[a] = plan->options.scale * 4 * pi / 3 * dipole[a] / vf_cell_volume(&plan->grid.cell);
}

/* From the charges that a backend has loaded, unless there are images, which are found on the host. */
static vf_status make_sum(const vf_ewald *plan, const vf_coulomb_atoms *charges, const ewald_loaded *loaded,
                          const vf_cutoff_options *options, vf_cutoff **out)
{
    return plan->backend->load && plan->grid.cell.kind == VF_CELL_NONE
               ? vf_cutoff_create_loaded(loaded->queue, &plan->grid, charges->count, loaded->data.data, options, out)
               : vf_cutoff_create(plan->device, &plan->grid, charges, options, out);
}

static vf_status make_near(vf_ewald *plan, const vf_coulomb_atoms *charges, const ewald_loaded *loaded)
{
    const bool all_on_mesh = plan->shape.fine.sigma > 0;
    vf_cutoff_options options = {.scale = plan->options.scale,
                                 .r_min = ewald_r_min(&plan->options),
                                 .cutoff = plan->shape.fine.cutoff,
                                 .bandwidth = plan->shape.fine.bandwidth,
                                 .precision = plan->shape.arithmetic,
                                 .variant = plan->options.variant};
    const vf_coulomb_atoms none = {0};
    const vf_status status = make_sum(plan, all_on_mesh ? &none : charges, loaded, &options, &plan->near);
    if (status != VF_OK || !(plan->shape.correction > 0))
        return status;
    options.scale = -plan->options.scale;
    options.cutoff = plan->shape.correction;
    options.sigma = plan->options.sigma;
    return make_sum(plan, charges, loaded, &options, &plan->correction);
}

/* Waits for the work on loaded charges, also after an error; keeps the first error. */
static vf_status unload(const vf_ewald_backend *backend, ewald_loaded *loaded, vf_status status)
{
    const vf_status waited = backend->unload ? backend->unload(loaded) : VF_OK;
    return status == VF_OK ? waited : status;
}

/* Finds the backend, loads the charges and chooses the shape; `loaded` is to be unloaded after success. */
static vf_status prepare(vf_device *device, const vf_grid *grid, const vf_coulomb_atoms *charges,
                         const vf_ewald_options *options, const vf_ewald_backend **backend, ewald_loaded *loaded,
                         ewald_shape *shape)
{
    vf_context *ctx = vf_device_context(device);
    vf_status status = VF_OK;
    *loaded = (ewald_loaded){0};
    *backend = vf_backend_table(backends, device);
    if (!*backend)
        return vf_fail(ctx, VF_ERR_UNSUPPORTED, "Ewald sum: it does not run on %s", vf_device_name(device));
    if (charges->count < 0)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "Ewald sum: the number of charges is negative");
    if ((*backend)->load)
        status = (*backend)->load(device, charges, loaded);
    VF_TRY(status, ewald_choose(device, *backend, grid, charges, loaded, options, shape));
    return status == VF_OK ? VF_OK : unload(*backend, loaded, status);
}

vf_status vf_ewald_create(vf_device *device, const vf_grid *grid, const vf_coulomb_atoms *charges,
                          const vf_ewald_options *options, vf_ewald **out)
{
    vf_context *ctx = vf_device_context(device);
    const vf_ewald_backend *backend;
    ewald_loaded loaded;
    ewald_shape shape;
    *out = NULL;
    vf_status status = prepare(device, grid, charges, options, &backend, &loaded, &shape);
    if (status != VF_OK)
        return status;
    vf_ewald *plan = calloc(1, sizeof *plan);
    if (plan) {
        *plan = (vf_ewald){
            .backend = backend, .device = device, .ctx = ctx, .grid = *grid, .options = *options, .shape = shape};
        set_slope(plan, charges);
        status = backend->create(plan, charges, &loaded); /* first: it needs the most memory for a while */
        VF_TRY(status, make_near(plan, charges, &loaded));
        plan->options.variant = NULL; /* the caller's string may not outlive this call */
    } else {
        status = vf_fail(ctx, VF_ERR_MEMORY, "not enough memory for a plan");
    }
    status = unload(backend, &loaded, status);
    if (status == VF_OK)
        *out = plan;
    else
        vf_ewald_destroy(plan);
    return status;
}

/* out, of plan->shape.arithmetic. */
static vf_status execute(const vf_ewald *plan, vf_queue *queue, const vf_box *box, void *out)
{
    vf_status status = plan->backend->execute(plan, queue, box, out);
    if (status == VF_OK && !(plan->shape.fine.sigma > 0))
        status = vf_cutoff_execute(plan->near, queue, box, true, out);
    if (status == VF_OK && plan->correction)
        status = vf_cutoff_execute(plan->correction, queue, box, true, out);
    return status;
}

vf_status vf_ewald_execute(const vf_ewald *plan, vf_queue *queue, const vf_box *box, void *out)
{
    if (!vf_box_inside(box, &plan->grid) || vf_queue_device(queue) != plan->device)
        return vf_fail(plan->ctx, VF_ERR_ARGUMENT,
                       "Ewald sum: the box is empty or not inside the grid, or the queue belongs to another device");
    return plan->shape.arithmetic == plan->options.precision ? execute(plan, queue, box, out)
                                                             : plan->backend->round(plan, queue, box, execute, out);
}

void vf_ewald_destroy(vf_ewald *plan)
{
    if (!plan)
        return;
    if (plan->state)
        plan->backend->destroy(plan);
    vf_cutoff_destroy(plan->near);
    vf_cutoff_destroy(plan->correction);
    free(plan);
}

const char *vf_ewald_variant_name(vf_device_kind kind, int index)
{
    return vf_cutoff_variant_name(kind, index);
}

static vf_ewald_info info_of(const ewald_shape *s)
{
    vf_ewald_info info = {.bandwidth = s->fine.bandwidth,
                          .cutoff = s->fine.cutoff,
                          .width = s->fine.width,
                          .interpolates = s->interpolates,
                          .pairs = s->pairs};
    for (int a = 0; a < 3; a++) {
        info.mesh[a] = s->fine.mesh[a];
        info.spacing[a] = s->fine.step[a];
    }
    return info;
}

void vf_ewald_get_info(const vf_ewald *plan, vf_ewald_info *info)
{
    *info = info_of(&plan->shape);
    const uint64_t near = vf_cutoff_bytes(plan->near) + (plan->correction ? vf_cutoff_bytes(plan->correction) : 0);
    info->bytes = plan->bytes + near;
    info->most_bytes = plan->most_bytes + near;
}

/* Two spectra with working memory of transforms, what leads from one mesh to the other, and the truncated kernel. */
static uint64_t gpu_work_bytes(const ewald_shape *s)
{
    const int64_t *fine = s->fine.length, *coarse = s->coarse.length;
    const uint64_t element = vf_dtype_bytes(s->precision), twice = vf_dtype_bytes(VF_F64);
    return 4 * element * (uint64_t)(fine[0] * fine[1] * fine[2]) +
           6 * twice * (uint64_t)(coarse[0] * coarse[1] * coarse[2]) +
           twice * (uint64_t)(s->coarse.mesh[0] * s->fine.mesh[1] * s->fine.mesh[2]);
}

vf_status vf_ewald_plan_costs(vf_device *device, const vf_grid *grid, const vf_coulomb_atoms *charges,
                              const vf_ewald_options *options, vf_ewald_info *info, double *create_seconds,
                              double *execute_seconds)
{
    const vf_ewald_backend *backend;
    ewald_loaded loaded;
    ewald_shape s;
    vf_status status = prepare(device, grid, charges, options, &backend, &loaded, &s);
    if (status != VF_OK)
        return status;
    status = unload(backend, &loaded, VF_OK);
    *info = info_of(&s);
    *create_seconds = s.making;
    *execute_seconds = s.executing;
    /* A charge in bins takes up to 48 bytes, and at most as many while charges are spread; a bin of 256 points, 8. */
    const uint64_t sorted = (uint64_t)charges->count * 48;
    info->bytes = ewald_mesh_bytes(&s.fine, s.precision) + sorted + (uint64_t)vf_grid_points(grid) / 32;
    info->most_bytes = 2 * sorted + (uint64_t)vf_grid_points(grid) / 32 +
                       ewald_cpu_making_bytes(&s, vf_context_threads(vf_device_context(device)));
    if (!vf_device_is_host(device)) {
        info->bytes = (uint64_t)(s.fine.mesh[0] * s.fine.mesh[1] * s.fine.mesh[2]) * vf_dtype_bytes(s.precision) +
                      sorted + (uint64_t)vf_grid_points(grid) / 128;
        info->most_bytes = info->bytes + 3 * sorted + gpu_work_bytes(&s);
    }
    return status;
}
