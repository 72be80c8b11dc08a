/* The backend-independent part: checks, the copy of the atoms, and the choice of the backend. */
#include "coulomb_sum.h"

#include <math.h>
#include <stdlib.h>

#include "backend/registry.h"
#include "coulomb_sum_backend.h"

static const vf_backend backends[] = {
    {&vf_coulomb_cpu.variants, &vf_coulomb_cpu},       {&vf_coulomb_ref.variants, &vf_coulomb_ref},
    {&vf_coulomb_cuda.variants, &vf_coulomb_cuda},     {&vf_coulomb_dcs.variants, &vf_coulomb_dcs},
    {&vf_coulomb_opencl.variants, &vf_coulomb_opencl}, {0},
};

const char *vf_coulomb_variant_name(vf_device_kind kind, int index)
{
    return vf_backend_variant(backends, kind, index);
}

/* Rejects input that would make the sums meaningless; the limits are in the header. */
static vf_status check(vf_context *ctx, const vf_grid *grid, const vf_coulomb_atoms *atoms,
                       const vf_coulomb_options *options)
{
    if (!vf_grid_valid(grid))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "Coulomb sum: the grid's counts or spacing are not positive and finite");
    if (grid->cell.kind != VF_CELL_NONE)
        return vf_fail(ctx, VF_ERR_UNSUPPORTED,
                       "Coulomb sum: the grid has a periodic cell; this sum is for free space");
    for (int a = 0; a < 3; a++)
        if (!(fabs(grid->origin[a]) <= VF_COULOMB_MAX_COORDINATE) ||
            !(fabs(vf_coulomb_position(grid, a, grid->counts[a])) <= VF_COULOMB_MAX_COORDINATE))
            return vf_fail(ctx, VF_ERR_ARGUMENT, "Coulomb sum: the grid reaches beyond +-%g",
                           VF_COULOMB_MAX_COORDINATE);
    if (atoms->count < 0 || !isfinite(options->scale) || !(options->r_min >= VF_COULOMB_MIN_R_MIN) ||
        !(options->r_min <= VF_COULOMB_MAX_COORDINATE))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "Coulomb sum: scale %g or minimal distance %g is out of range",
                       options->scale, options->r_min);
    if (options->precision != VF_F32 && options->precision != VF_F64)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "Coulomb sum: the precision must be VF_F32 or VF_F64");
    for (int64_t i = 0; i < atoms->count; i++)
        if (!(fabs(atoms->x[i]) <= VF_COULOMB_MAX_COORDINATE) || !(fabs(atoms->y[i]) <= VF_COULOMB_MAX_COORDINATE) ||
            !(fabs(atoms->z[i]) <= VF_COULOMB_MAX_COORDINATE) || !isfinite((float)(atoms->charge[i] * options->scale)))
            return vf_fail(ctx, VF_ERR_ARGUMENT,
                           "Coulomb sum: atom %lld at (%g, %g, %g) with charge %g is out of range", (long long)i + 1,
                           atoms->x[i], atoms->y[i], atoms->z[i], atoms->charge[i]);
    return VF_OK;
}

static vf_status copy_atoms(vf_coulomb *plan, const vf_coulomb_atoms *atoms)
{
    size_t n = (size_t)atoms->count;
    double *block = n <= SIZE_MAX / (4 * sizeof *block) ? malloc(4 * (n ? n : 1) * sizeof *block) : NULL;
    if (!block)
        return vf_fail(vf_device_context(plan->device), VF_ERR_MEMORY, "not enough memory for %zu atoms", n);
    plan->atoms = atoms->count;
    plan->x = block;
    plan->y = block + n;
    plan->z = block + 2 * n;
    plan->charge = block + 3 * n;
    for (size_t i = 0; i < n; i++) {
        plan->x[i] = atoms->x[i];
        plan->y[i] = atoms->y[i];
        plan->z[i] = atoms->z[i];
        plan->charge[i] = atoms->charge[i] * plan->options.scale;
    }
    return VF_OK;
}

vf_status vf_coulomb_create(vf_device *device, const vf_grid *grid, const vf_coulomb_atoms *atoms,
                            const vf_coulomb_options *options, vf_coulomb **out)
{
    vf_context *ctx = vf_device_context(device);
    *out = NULL;
    vf_status status = check(ctx, grid, atoms, options);
    if (status != VF_OK)
        return status;
    vf_coulomb *plan = calloc(1, sizeof *plan);
    if (!plan)
        return vf_fail(ctx, VF_ERR_MEMORY, "not enough memory for a plan");
    plan->device = device;
    plan->grid = *grid;
    plan->options = *options;
    const void *backend;
    status = vf_backend_choose(backends, "the direct Coulomb sum", device, options->variant, &backend, &plan->variant);
    plan->backend = backend;
    plan->options.variant = NULL; /* the caller's string may not outlive this call */
    VF_TRY(status, copy_atoms(plan, atoms));
    VF_TRY(status, plan->backend->create(plan));
    if (status == VF_OK)
        *out = plan;
    else
        vf_coulomb_destroy(plan);
    return status;
}

vf_status vf_coulomb_execute(const vf_coulomb *plan, vf_queue *queue, const vf_box *box, void *out)
{
    if (!vf_box_inside(box, &plan->grid) || vf_queue_device(queue) != plan->device)
        return vf_fail(vf_device_context(plan->device), VF_ERR_ARGUMENT,
                       "Coulomb sum: the box is empty or not inside the grid, or the queue belongs to another device");
    return plan->backend->execute(plan, queue, box, out);
}

void vf_coulomb_destroy(vf_coulomb *plan)
{
    if (!plan)
        return;
    if (plan->state)
        plan->backend->destroy(plan);
    free(plan->x);
    free(plan);
}

const char *vf_coulomb_variant(const vf_coulomb *plan)
{
    return plan->variant;
}
