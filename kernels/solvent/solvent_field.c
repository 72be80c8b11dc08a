/* The field at points of the grid: differences of u among points of one side of the surface (solvent.h). */
#include "solvent_places.h"
#include "voxfield/team_size.h"

/* The point some steps along an axis, if it is in the grid and on this side; otherwise -1. */
static int64_t along(const vf_solvent *plan, const int64_t index[3], int axis, int steps, bool inside)
{
    int64_t next[3] = {index[0], index[1], index[2]};
    next[axis] += steps;
    const int64_t n = solvent_wrap(plan, next) ? solvent_number(plan, next) : -1;
    return n >= 0 && (plan->inside[n] != 0) == inside ? n : -1;
}

/* Between two points of the other side, or the rim: from the flow through the faces, which is that of this side's dielectric. */
static double slope_of_flow(const vf_solvent *plan, const int64_t index[3], int axis)
{
    const double *u = plan->unknown.data;
    const int64_t n = solvent_number(plan, index);
    const bool inside = plan->inside[n];
    const double own = inside ? plan->options.molecule_dielectric : plan->options.solvent_dielectric;
    const double g = inside ? solvent_end_value(plan, n) : 0;
    double sum = 0;
    int found = 0;
    for (int up = 0; up < 2; up++) {
        const int64_t other = solvent_beside(plan, index, axis, up);
        if (other < 0)
            continue;
        const double face = ((const float *)plan->faces[axis].data)[solvent_face(plan, index, axis, up)];
        const double there = solvent_end_value(plan, other), phi = u[other] + (plan->inside[other] ? there : 0);
        sum += (up ? 1 : -1) * (face / own * (phi - u[n] - g) - (inside ? there - g : 0));
        found++;
    }
    return sum / (found ? found : 1);
}

/* The difference of u a step, along an axis. */
static double slope(const vf_solvent *plan, const int64_t index[3], int axis)
{
    const double *u = plan->unknown.data;
    const int64_t n = solvent_number(plan, index);
    const bool inside = plan->inside[n];
    const int64_t below = along(plan, index, axis, -1, inside), above = along(plan, index, axis, 1, inside);
    if (below >= 0 && above >= 0)
        return (u[above] - u[below]) / 2;
    if (below < 0 && above < 0)
        return slope_of_flow(plan, index, axis);
    const int way = above >= 0 ? 1 : -1;
    const int64_t one = above >= 0 ? above : below, two = along(plan, index, axis, 2 * way, inside);
    return way * (two < 0 ? u[one] - u[n] : (4 * u[one] - 3 * u[n] - u[two]) / 2);
}

vf_status vf_solvent_add_field(const vf_solvent *plan, const vf_box *box, double constant, double *field)
{
    if (!vf_box_inside(box, &plan->grid))
        return vf_fail(plan->ctx, VF_ERR_ARGUMENT, "a box of the field in solvent is outside the grid");
    const int64_t nx = vf_box_extent(box, 0), ny = vf_box_extent(box, 1), nz = vf_box_extent(box, 2);
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(plan->ctx, 40 * nx * ny * nz))
    for (int64_t row = 0; row < ny * nz; row++)
        for (int64_t i = 0; i < nx; i++) {
            const int64_t index[3] = {box->lo[0] + i, box->lo[1] + row % ny, box->lo[2] + row / ny};
            const bool inside = plan->inside[solvent_number(plan, index)];
            double *to = field + 3 * (row * nx + i);
            for (int a = 0; a < 3; a++)
                to[a] = (inside ? to[a] : 0) - constant * slope(plan, index, a) / plan->grid.spacing[a];
        }
    return VF_OK;
}
