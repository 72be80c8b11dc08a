#include "solvent.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "point_sum.h"
#include "solvent_internal.h"
#include "voxfield/multigrid.h"
#include "voxfield/solver.h"
#include "voxfield/team_size.h"

#define PI 3.14159265358979323846

vf_solvent_options vf_solvent_defaults(void)
{
    return (vf_solvent_options){.molecule_dielectric = 2,
                                .solvent_dielectric = 78.54,
                                .kappa = vf_solvent_kappa(0.15, 78.54, 298.15),
                                .stern = 2,
                                .surface = VF_SURFACE_EXCLUDED,
                                .probe = 1.4,
                                .tolerance = 1e-6,
                                .iterations = 100};
}

/* CODATA 2018: e, eps_0, k and N_A. */
double vf_solvent_kappa(double strength, double solvent_dielectric, double temperature)
{
    const double e = 1.602176634e-19, eps_0 = 8.8541878128e-12, k = 1.380649e-23, avogadro = 6.02214076e23;
    const double bjerrum = e * e / (4 * PI * eps_0 * solvent_dielectric * k * temperature);
    return 1e-10 * sqrt(8 * PI * bjerrum * avogadro * 1000 * strength);
}

static vf_status check(vf_device *device, const vf_grid *grid, const vf_coulomb_atoms *charges,
                       const vf_solvent_options *o)
{
    vf_context *ctx = vf_device_context(device);
    if (!vf_grid_valid(grid) || grid->cell.kind != VF_CELL_NONE)
        return vf_fail(ctx, VF_ERR_UNSUPPORTED, "a molecule in a solvent needs a grid without a periodic cell");
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
    return VF_OK;
}

/* ---- surfaces ---- */

/* Levels of one surface at the grid's points. Seeds are a third of a spacing apart: their error is then below that of the cut. */
static vf_status take_levels(vf_solvent *plan, const vf_spheres *spheres, vf_surface_kind kind, double probe,
                             float *level)
{
    const double *h = plan->grid.spacing, widest = fmax(h[0], fmax(h[1], h[2])), reach = 1.5 * widest;
    const vf_surface_options o = {kind, probe, kind == VF_SURFACE_EXCLUDED ? fmin(reach, 0.9 * probe) : reach,
                                  fmin(0.3, fmin(h[0], fmin(h[1], h[2])) / 3)};
    const vf_box all = vf_grid_box(&plan->grid);
    vf_surface *surface;
    vf_status status = vf_surface_create(plan->ctx, spheres, &o, &surface);
    VF_TRY(status, vf_surface_levels(surface, &plan->grid, &all, level));
    vf_surface_destroy(surface);
    return status;
}

static vf_status refuse_rim(const vf_solvent *plan)
{
    const int64_t *n = plan->grid.counts;
    for (int64_t k = 0, at = 0; k < n[2]; k++)
        for (int64_t j = 0; j < n[1]; j++)
            for (int64_t i = 0; i < n[0]; i++, at++) {
                const bool rim = i == 0 || j == 0 || k == 0 || i == n[0] - 1 || j == n[1] - 1 || k == n[2] - 1;
                if (rim && plan->inside[at])
                    return vf_fail(
                        plan->ctx, VF_ERR_ARGUMENT,
                        "the molecule touches the edge of the grid, where there must be solvent; use a larger border");
            }
    return VF_OK;
}

/* The coefficient of a face between levels a and b. */
static double coefficient(const vf_solvent_options *o, float a, float b)
{
    const bool in_a = a < 0, in_b = b < 0;
    if (in_a == in_b)
        return in_a ? o->molecule_dielectric : o->solvent_dielectric;
    const double part = fabs((double)(in_a ? a : b)) / (fabs((double)a) + fabs((double)b));
    return 1 / (part / o->molecule_dielectric + (1 - part) / o->solvent_dielectric);
}

static void fill_faces(vf_solvent *plan, const float *level)
{
    const int64_t *n = plan->grid.counts;
    for (int a = 0; a < 3; a++) {
        const int64_t m[3] = {n[0] + (a == 0), n[1] + (a == 1), n[2] + (a == 2)}, stride = a == 0   ? 1
                                                                                           : a == 1 ? n[0]
                                                                                                    : n[0] * n[1];
        double *face = plan->faces[a].data;
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(plan->ctx, 5 * m[0] * m[1] * m[2]))
        for (int64_t row = 0; row < m[1] * m[2]; row++)
            for (int64_t i = 0; i < m[0]; i++) {
                const int64_t index[3] = {i, row % m[1], row / m[1]},
                              here = (index[2] * n[1] + index[1]) * n[0] + index[0];
                const bool low = index[a] > 0, high = index[a] < n[a];
                face[row * m[0] + i] = low && high ? coefficient(&plan->options, level[here - stride], level[here])
                                                   : plan->options.solvent_dielectric;
            }
    }
}

/* eps_s kappa^2 where ions can be: beyond the atoms' spheres, made larger by the ions' radius. */
static vf_status fill_reaction(vf_solvent *plan, const vf_spheres *spheres, float *level)
{
    const bool wide = plan->options.stern > 0;
    vf_status status = take_levels(plan, spheres, wide ? VF_SURFACE_ACCESSIBLE : VF_SURFACE_VAN_DER_WAALS,
                                   wide ? plan->options.stern : 0, level);
    const double value = plan->options.solvent_dielectric * plan->options.kappa * plan->options.kappa;
    double *reaction = plan->reaction.data;
    for (int64_t i = 0; status == VF_OK && i < plan->points; i++)
        reaction[i] = level[i] > 0 && !plan->inside[i] ? value : 0;
    return status;
}

static vf_status make_matrix(vf_solvent *plan, const vf_spheres *spheres)
{
    float *level = malloc((size_t)plan->points * sizeof *level);
    plan->inside = malloc((size_t)plan->points);
    vf_status status = level && plan->inside ? VF_OK
                                             : vf_fail(plan->ctx, VF_ERR_MEMORY,
                                                       "not enough memory for a molecule's surface at %lld points",
                                                       (long long)plan->points);
    VF_TRY(status, take_levels(plan, spheres, plan->options.surface,
                               plan->options.surface == VF_SURFACE_VAN_DER_WAALS ? 0 : plan->options.probe, level));
    for (int64_t i = 0; status == VF_OK && i < plan->points; i++)
        plan->inside[i] = level[i] < 0;
    VF_TRY(status, refuse_rim(plan));
    for (int a = 0; a < 3; a++) {
        const int64_t *n = plan->grid.counts, faces = plan->points / n[a] * (n[a] + 1);
        VF_TRY(status, vf_array_create(plan->device, VF_SPACE_DEVICE, VF_F64, faces, &plan->faces[a]));
    }
    VF_TRY(status, vf_array_create(plan->device, VF_SPACE_DEVICE, VF_F64, plan->points, &plan->reaction));
    if (status == VF_OK)
        fill_faces(plan, level);
    VF_TRY(status, fill_reaction(plan, spheres, level));
    free(level);
    return status;
}

/* ---- solution ---- */

static vf_status solve(vf_solvent *plan, double *b)
{
    vf_stencil_options s = {.type = VF_F64, .reaction = plan->reaction.data};
    vf_multigrid *multigrid = NULL;
    vf_stencil *stencil = NULL;
    vf_operator *a = NULL, *m = NULL;
    vf_queue *queue = NULL;
    vf_cg_result result = {0};
    for (int d = 0; d < 3; d++) {
        s.counts[d] = plan->grid.counts[d];
        s.spacing[d] = plan->grid.spacing[d];
        s.faces[d] = plan->faces[d].data;
    }
    vf_status status = vf_queue_create(plan->device, &queue);
    VF_TRY(status, vf_stencil_create(plan->device, &s, &stencil));
    VF_TRY(status, vf_stencil_operator_create(stencil, &a));
    VF_TRY(status, vf_multigrid_create(plan->device, &s, 1, &multigrid));
    VF_TRY(status, vf_multigrid_operator_create(multigrid, &m));
    const vf_cg_options options = {
        .iterations = plan->options.iterations, .tolerance = plan->options.tolerance, .preconditioner = m};
    VF_TRY(status, vf_cg(a, queue, &options, b, plan->unknown.data, &result));
    VF_TRY(status, vf_queue_sync(queue));
    vf_operator_free(m);
    vf_operator_free(a);
    vf_multigrid_destroy(multigrid);
    vf_stencil_destroy(stencil);
    vf_queue_destroy(queue);
    plan->outcome.iterations = result.iterations;
    plan->outcome.residual = result.residual;
    if (status == VF_OK && result.end != VF_SOLVER_CONVERGED)
        status = vf_fail(plan->ctx, VF_ERR_INTERNAL,
                         "the potential in solvent did not converge in %d iterations: a residual of %.2g",
                         result.iterations, result.residual);
    return status;
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
    plan->device = device;
    plan->ctx = vf_device_context(device);
    plan->grid = *grid;
    plan->options = *options;
    plan->points = vf_grid_points(grid);
    status = make_matrix(plan, &spheres);
    VF_TRY(status, vf_array_create(device, VF_SPACE_DEVICE, VF_F64, plan->points, &right));
    VF_TRY(status, vf_array_create(device, VF_SPACE_DEVICE, VF_F64, plan->points, &plan->unknown));
    VF_TRY(status, solvent_right_side(plan, charges, radius, right.data));
    VF_TRY(status, solve(plan, right.data));
    vf_array_free(&right);
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

vf_status vf_solvent_reaction(const vf_solvent *plan, int64_t count, const double *x, const double *y, const double *z,
                              double *values)
{
    const double *u = plan->unknown.data;
    const int64_t *n = plan->grid.counts;
    for (int64_t i = 0; i < count; i++) {
        const double at[3] = {x[i], y[i], z[i]};
        int64_t low[3];
        double part[3];
        for (int a = 0; a < 3; a++) {
            const double place = (at[a] - plan->grid.origin[a]) / plan->grid.spacing[a];
            if (!(place >= 0 && place <= (double)(n[a] - 1)))
                return vf_fail(plan->ctx, VF_ERR_ARGUMENT, "atom %lld at (%g, %g, %g) is outside the grid",
                               (long long)i, x[i], y[i], z[i]);
            low[a] = (int64_t)place < n[a] - 1 ? (int64_t)place : n[a] - 2;
            part[a] = place - (double)low[a];
        }
        values[i] = 0;
        for (int corner = 0; corner < 8; corner++) {
            const int64_t c[3] = {corner & 1, corner >> 1 & 1, corner >> 2};
            double weight = 1;
            for (int a = 0; a < 3; a++)
                weight *= c[a] ? part[a] : 1 - part[a];
            values[i] += weight * u[((low[2] + c[2]) * n[1] + low[1] + c[1]) * n[0] + low[0] + c[0]];
        }
    }
    return VF_OK;
}
