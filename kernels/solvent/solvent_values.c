/* The potential where a solved plan has it. */
#include <math.h>

#include "solvent_places.h"
#include "voxfield/team_size.h"

static double value_of(vf_dtype type, const void *values, int64_t n)
{
    return type == VF_F64 ? ((const double *)values)[n] : (double)((const float *)values)[n];
}

vf_status vf_solvent_add(const vf_solvent *plan, const vf_box *box, bool z_fastest, vf_dtype type, double constant,
                         void *values)
{
    const double *u = plan->unknown.data;
    const int64_t *n = plan->grid.counts;
    if (!vf_box_inside(box, &plan->grid))
        return vf_fail(plan->ctx, VF_ERR_ARGUMENT, "a box of the potential in solvent is outside the grid");
    const int64_t nx = vf_box_extent(box, 0), ny = vf_box_extent(box, 1), nz = vf_box_extent(box, 2);
    const int64_t along[3] = {z_fastest ? ny * nz : 1, z_fastest ? nz : nx, z_fastest ? 1 : nx * ny};
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(plan->ctx, 4 * nx * ny * nz))
    for (int64_t row = 0; row < ny * nz; row++) {
        const int64_t j = row % ny, k = row / ny;
        const int64_t from = ((box->lo[2] + k) * n[1] + box->lo[1] + j) * n[0] + box->lo[0];
        for (int64_t i = 0; i < nx; i++) {
            const int64_t to = i * along[0] + j * along[1] + k * along[2];
            const double coulomb = plan->inside[from + i] ? value_of(type, values, to) : 0;
            const double sum = coulomb + constant * u[from + i];
            if (type == VF_F64)
                ((double *)values)[to] = sum;
            else
                ((float *)values)[to] = (float)sum;
        }
    }
    return VF_OK;
}

static float permittivity(const vf_solvent *plan, const int64_t index[3])
{
    double sum = 0;
    for (int a = 0; a < 3; a++)
        for (int side = 0; side < 2; side++)
            sum += (double)((const float *)plan->faces[a].data)[solvent_face(plan, index, a, side)];
    return (float)(sum / 6);
}

void vf_solvent_describe(const vf_solvent *plan, vf_solvent_part part, float *values)
{
    const int64_t *n = plan->grid.counts;
    const double salt = plan->options.solvent_dielectric * plan->options.kappa * plan->options.kappa;
    const float *reaction = plan->reaction.data;
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(plan->ctx, 10 * plan->points))
    for (int64_t row = 0; row < n[1] * n[2]; row++)
        for (int64_t i = 0; i < n[0]; i++) {
            const int64_t index[3] = {i, row % n[1], row / n[1]}, at = row * n[0] + i;
            values[at] = part == VF_SOLVENT_DIELECTRIC ? permittivity(plan, index)
                         : salt > 0                    ? (float)((double)reaction[at] / salt)
                                                       : 0;
        }
}

vf_status solvent_check_charges(const vf_solvent *plan, const vf_coulomb_atoms *charges)
{
    for (int64_t i = 0; i < charges->count; i++) {
        const double at[3] = {charges->x[i], charges->y[i], charges->z[i]};
        int64_t low[3], corner[3];
        double part[3];
        bool within = charges->charge[i] == 0;
        if (!solvent_find(plan, at, low, part))
            return vf_fail(plan->ctx, VF_ERR_ARGUMENT, "atom %lld at (%g, %g, %g) is outside the grid",
                           (long long)i + 1, at[0], at[1], at[2]);
        for (int c = 0; c < 8; c++) {
            solvent_corner(plan, low, c, corner);
            within |= plan->inside[solvent_number(plan, corner)];
        }
        if (!within)
            return vf_fail(plan->ctx, VF_ERR_ARGUMENT,
                           "atom %lld at (%g, %g, %g) has a charge but no grid point of the molecule beside it: its "
                           "radius is 0 or less than the spacing; give it a radius or use a smaller spacing",
                           (long long)i + 1, at[0], at[1], at[2]);
    }
    return VF_OK;
}
