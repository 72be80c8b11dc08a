/* The matrix: what is inside the molecule, the coefficients of faces, and the salt's part. */
#include <math.h>
#include <stdlib.h>

#include "solvent_places.h"
#include "voxfield/team_size.h"

/* Levels of one surface at the grid's points, and if `cut` is not NULL where it cuts edges. Seeds are a third of a spacing apart: their
 * error is then below that of the cut. */
static vf_status take_levels(vf_solvent *plan, const vf_spheres *spheres, vf_surface_kind kind, double probe,
                             float *level, float *const *cut)
{
    const double *h = plan->grid.spacing, widest = fmax(h[0], fmax(h[1], h[2])), reach = 1.5 * widest;
    const vf_surface_options o = {kind, probe, kind == VF_SURFACE_EXCLUDED ? fmin(reach, 0.9 * probe) : reach,
                                  fmin(0.3, fmin(h[0], fmin(h[1], h[2])) / 3)};
    const vf_box all = vf_grid_box(&plan->grid);
    vf_surface *surface;
    vf_status status = vf_surface_create_on(plan->ctx, &plan->grid, spheres, &o, &surface);
    VF_TRY(status, vf_surface_levels(surface, &plan->grid, &all, level));
    if (cut)
        VF_TRY(status, vf_surface_cuts(surface, &plan->grid, level, cut));
    vf_surface_destroy(surface);
    return status;
}

static vf_status refuse_rim(const vf_solvent *plan)
{
    const int64_t *n = plan->grid.counts;
    for (int64_t row = 0; row < (solvent_is_periodic(plan) ? 0 : n[1] * n[2]); row++) {
        const int64_t j = row % n[1], k = row / n[1];
        const bool rim = j == 0 || k == 0 || j == n[1] - 1 || k == n[2] - 1;
        for (int64_t i = 0; i < n[0]; i += rim || n[0] == 1 ? 1 : n[0] - 1)
            if (plan->inside[row * n[0] + i])
                return vf_fail(
                    plan->ctx, VF_ERR_ARGUMENT,
                    "the molecule touches the edge of the grid, where there must be solvent; use a larger border");
    }
    return VF_OK;
}

/* The coefficient of a face between a point and the next, where `part` is that of the edge before the surface if it is cut. */
static float coefficient(const vf_solvent_options *o, bool low, bool high, float part)
{
    if (low == high)
        return (float)(low ? o->molecule_dielectric : o->solvent_dielectric);
    const double in = low ? (double)part : 1 - (double)part;
    return (float)(1 / (in / o->molecule_dielectric + (1 - in) / o->solvent_dielectric));
}

/* The faces hold the cuts before. */
static void fill_faces(vf_solvent *plan)
{
    const int64_t *n = plan->grid.counts;
    for (int a = 0; a < 3; a++) {
        int64_t m[3] = {n[0], n[1], n[2]};
        m[a] = solvent_faces(plan, a);
        float *face = plan->faces[a].data;
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(plan->ctx, 5 * m[0] * m[1] * m[2]))
        for (int64_t row = 0; row < m[1] * m[2]; row++)
            for (int64_t i = 0; i < m[0]; i++) {
                int64_t low[3] = {i, row % m[1], row / m[1]}, high[3] = {low[0], low[1], low[2]};
                low[a]--;
                float *to = &face[row * m[0] + i];
                *to = solvent_wrap(plan, low) && solvent_wrap(plan, high)
                          ? coefficient(&plan->options, plan->inside[solvent_number(plan, low)],
                                        plan->inside[solvent_number(plan, high)], *to)
                          : (float)plan->options.solvent_dielectric;
            }
    }
}

/* eps_s kappa^2 where ions can be: beyond the atoms' spheres, made larger by the ions' radius. Where that surface crosses the voxel of
 * a point, the part of it outside, by the level. */
static vf_status fill_reaction(vf_solvent *plan, const vf_spheres *spheres)
{
    float *const reaction = plan->reaction.data; /* levels before */
    const bool wide = plan->options.stern > 0;
    vf_status status = take_levels(plan, spheres, wide ? VF_SURFACE_ACCESSIBLE : VF_SURFACE_VAN_DER_WAALS,
                                   wide ? plan->options.stern : 0, reaction, NULL);
    const float value = (float)(plan->options.solvent_dielectric * plan->options.kappa * plan->options.kappa);
    const float h = (float)cbrt(plan->grid.spacing[0] * plan->grid.spacing[1] * plan->grid.spacing[2]);
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(plan->ctx, plan->points))
    for (int64_t i = 0; i < (status == VF_OK ? plan->points : 0); i++)
        reaction[i] = plan->inside[i] ? 0 : value * fmaxf(0, fminf(0.5F + reaction[i] / h, 1));
    for (int64_t i = 0; status == VF_OK && !plan->salted && i < plan->points; i++)
        plan->salted = reaction[i] > 0;
    return status;
}

vf_status solvent_matrix(vf_solvent *plan, const vf_spheres *spheres)
{
    plan->inside = malloc((size_t)plan->points);
    const bool smooth = plan->options.surface == VF_SURFACE_SMOOTH;
    const vf_surface_kind kind = !smooth                   ? plan->options.surface
                                 : plan->options.probe > 0 ? VF_SURFACE_EXCLUDED
                                                           : VF_SURFACE_VAN_DER_WAALS;
    vf_status status =
        plan->inside ? VF_OK
                     : vf_fail(plan->ctx, VF_ERR_MEMORY, "not enough memory for a molecule's surface at %lld points",
                               (long long)plan->points);
    for (int a = 0; a < 3; a++) {
        const int64_t faces = plan->points / plan->grid.counts[a] * solvent_faces(plan, a);
        VF_TRY(status, vf_array_create(plan->device, VF_SPACE_DEVICE, VF_F32, faces, &plan->faces[a]));
    }
    VF_TRY(status, vf_array_create(plan->device, VF_SPACE_DEVICE, VF_F32, plan->points, &plan->reaction));
    float *const level = plan->reaction.data; /* until it is known where ions can be */
    float *const cut[3] = {plan->faces[0].data, plan->faces[1].data, plan->faces[2].data};
    VF_TRY(status,
           take_levels(plan, spheres, kind, kind == VF_SURFACE_VAN_DER_WAALS ? 0 : plan->options.probe, level, cut));
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(plan->ctx, plan->points))
    for (int64_t i = 0; i < (status == VF_OK ? plan->points : 0); i++)
        plan->inside[i] = level[i] < 0;
    VF_TRY(status, solvent_keep_levels(plan, level));
    VF_TRY(status, refuse_rim(plan));
    if (smooth)
        VF_TRY(status, solvent_smooth(plan));
    else if (status == VF_OK)
        fill_faces(plan);
    VF_TRY(status, fill_reaction(plan, spheres));
    return status;
}
