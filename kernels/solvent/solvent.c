#include "solvent.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "solvent_places.h"
#include "voxfield/context.h"

vf_solvent_options vf_solvent_defaults(void)
{
    return (vf_solvent_options){.molecule_dielectric = 2,
                                .solvent_dielectric = 78.54,
                                .kappa = vf_solvent_kappa(0.15, 78.54, 298.15),
                                .stern = 2,
                                .surface = VF_SURFACE_EXCLUDED,
                                .probe = 1.4,
                                .tolerance = 1e-6,
                                .iterations = 100,
                                .ions = 2,
                                .ion = {{1, 0.15}, {-1, 0.15}},
                                .bjerrum = vf_solvent_bjerrum(298.15),
                                .steps = 50};
}

static vf_status check(vf_device *device, const vf_grid *grid, const vf_coulomb_atoms *charges,
                       const vf_solvent_options *o)
{
    vf_context *ctx = vf_device_context(device);
    int64_t shear[3];
    if (!vf_grid_valid(grid))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "a molecule in a solvent needs a grid that is valid");
    for (int a = 0; grid->cell.kind != VF_CELL_NONE && a < 3; a++) {
        const double edge = grid->cell.vectors[a][a], covered = grid->spacing[a] * (double)grid->counts[a];
        if (!(fabs(covered - edge) <= 1e-9 * edge))
            return vf_fail(ctx, VF_ERR_ARGUMENT, "a solvent's grid of %g along %c does not cover its cell of %g once",
                           covered, "xyz"[a], edge);
    }
    if (grid->cell.kind != VF_CELL_NONE && !vf_grid_shear(grid, shear))
        return vf_fail(ctx, VF_ERR_ARGUMENT,
                       "a solvent's grid does not cover its cell once: the vectors beyond x, (%g, %g, %g) and (%g, %g, "
                       "%g), must end at its points",
                       grid->cell.vectors[1][0], grid->cell.vectors[1][1], grid->cell.vectors[1][2],
                       grid->cell.vectors[2][0], grid->cell.vectors[2][1], grid->cell.vectors[2][2]);
    if (!(o->molecule_dielectric >= 1 && o->solvent_dielectric >= 1 && o->solvent_dielectric <= 1e6 &&
          o->molecule_dielectric <= 1e6))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "dielectric constants of %g and %g: they are from 1 to 1e6",
                       o->molecule_dielectric, o->solvent_dielectric);
    if (!(o->kappa >= 0 && o->kappa <= 1e6 && o->stern >= 0 && o->stern <= 1e6 && o->tolerance > 0 &&
          o->tolerance < 1) ||
        o->iterations < 1)
        return vf_fail(ctx, VF_ERR_ARGUMENT,
                       "a solvent with kappa %g, ions of %g, a tolerance of %g and %d iterations is not supported",
                       o->kappa, o->stern, o->tolerance, o->iterations);
    for (int64_t i = 0; i < charges->count; i++)
        if (!isfinite(charges->charge[i]))
            return vf_fail(ctx, VF_ERR_ARGUMENT, "charge %lld is not a number", (long long)i);
    return o->non_linear ? solvent_check_salt(ctx, o) : VF_OK;
}

static vf_status solve_linear(vf_solvent *plan, double *b)
{
    vf_cg_result result;
    const vf_solvent_options *o = &plan->options;
    const vf_status status =
        solvent_solve_system(plan, NULL, o->tolerance, o->iterations, b, plan->unknown.data, &result);
    plan->outcome.iterations = result.iterations;
    plan->outcome.residual = result.residual;
    return status;
}

/* The bytes of a point: `inside`; three faces and reaction; u and b; of the solver four vectors, and of the coarse levels, a seventh of
 * the points, faces, reaction, b and x; in a sheared cell three vectors in double precision and the transform. The non-linear equation has four
 * vectors more. The surface takes some points of a layer of each side's size. Arrays begin on huge pages. */
int64_t vf_solvent_bytes(const vf_grid *grid, int64_t atoms, const vf_solvent_options *options)
{
    const int64_t *n = grid->counts, points = n[0] * n[1] * n[2], layers = n[0] * n[1] + n[1] * n[2] + n[2] * n[0];
    const bool sheared = grid->cell.kind == VF_CELL_TRICLINIC;
    const int64_t a_point =
        1 + 4 * (3 + 1) + 2 * 8 + (sheared ? 3 * 8 + 8 : 4 * 4) + (options->non_linear ? 3 * 8 + 4 : 0);
    return points * a_point + (sheared ? 0 : points * 4 * (3 + 1 + 2) / 7) + 200 * layers + 400 * atoms + (16 << 20);
}

vf_status vf_solvent_create(vf_device *device, const vf_grid *grid, const vf_coulomb_atoms *charges,
                            const double *radius, const vf_solvent_options *options, vf_solvent **out)
{
    *out = NULL;
    vf_status status = check(device, grid, charges, options);
    vf_solvent *plan = status == VF_OK ? calloc(1, sizeof *plan) : NULL;
    if (status == VF_OK && !plan)
        status = vf_fail(vf_device_context(device), VF_ERR_MEMORY, "not enough memory for a solvent");
    if (status != VF_OK)
        return status;
    const vf_spheres spheres = {charges->count, charges->x, charges->y, charges->z, radius};
    vf_array right = {0};
    plan->ctx = vf_device_context(device);
    plan->device = vf_device_is_host(device) ? device : vf_context_host(plan->ctx);
    plan->solver = device;
    plan->grid = *grid;
    plan->options = *options;
    if (grid->cell.kind != VF_CELL_NONE)
        (void)vf_grid_shear(grid, plan->shear);
    plan->points = vf_grid_points(grid);
    status = solvent_matrix(plan, &spheres);
    VF_TRY(status, solvent_check_charges(plan, charges));
    if (status == VF_OK && options->surface == VF_SURFACE_SMOOTH)
        solvent_keep_charges(plan, charges);
    VF_TRY(status, vf_array_create(plan->device, VF_SPACE_DEVICE, VF_F64, plan->points, &right));
    VF_TRY(status, vf_array_create(plan->device, VF_SPACE_DEVICE, VF_F64, plan->points, &plan->unknown));
    VF_TRY(status, solvent_right_side(plan, charges, radius, right.data));
    const bool alone = solvent_is_periodic(plan) && !plan->salted; /* without ions the equations are the same */
    VF_TRY(status,
           plan->options.non_linear && !alone ? solvent_nonlinear(plan, right.data) : solve_linear(plan, right.data));
    vf_array_free(&right);
    if (alone)
        VF_TRY(status, solvent_remove_mean(plan, charges));
    if (status != VF_OK) {
        vf_solvent_destroy(plan);
        return status;
    }
    *out = plan;
    return VF_OK;
}

void vf_solvent_destroy(vf_solvent *plan)
{
    if (!plan)
        return;
    for (int a = 0; a < 3; a++)
        vf_array_free(&plan->faces[a]);
    vf_array_free(&plan->reaction);
    vf_array_free(&plan->unknown);
    free(plan->inside);
    free(plan->ends.point);
    free(plan->ends.value);
    free(plan->shell.point);
    free(plan->shell.level);
    free(plan);
}

vf_solvent_result vf_solvent_outcome(const vf_solvent *plan)
{
    return plan->outcome;
}

const double *vf_solvent_unknown(const vf_solvent *plan)
{
    return plan->unknown.data;
}

const uint8_t *vf_solvent_inside(const vf_solvent *plan)
{
    return plan->inside;
}
