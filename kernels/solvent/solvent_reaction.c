/* The reaction potential between the points of the grid: cubic along each axis.
 *
 * u belongs to points in the molecule. Where a line leaves it, the next point gets the value that the equation itself continues u
 * to: the flow through the cut face, eps_f (phi' - phi) / h, is that of eps_m, so phi goes on to phi + (eps_f / eps_m) (phi' - phi),
 * and G of the outer point is taken off. */
#include "solvent_places.h"

typedef struct cell {
    const vf_solvent *plan;
    int64_t low[3];
    double part[3];
    bool known[8]; /* corners, x first */
    double value[8];
    bool inside[8];
} cell;

static bool find_cell(const vf_solvent *plan, const double at[3], cell *c)
{
    *c = (cell){.plan = plan};
    return solvent_find(plan, at, c->low, c->part);
}

static int64_t point_of(const cell *c, int corner)
{
    int64_t index[3];
    solvent_corner(c->plan, c->low, corner, index);
    return solvent_number(c->plan, index);
}

/* u at the neighbour of a point in the molecule: along `axis`, upwards or downwards. The molecule keeps from the rim. */
static double next_of(const cell *c, int64_t point, int axis, bool up)
{
    const vf_solvent *plan = c->plan;
    const double *u = plan->unknown.data;
    const float *face = plan->faces[axis].data;
    int64_t index[3];
    solvent_index(plan, point, index);
    const int64_t next = solvent_beside(plan, index, axis, up);
    if (plan->inside[next])
        return u[next];
    const double flow =
        face[solvent_face(plan, index, axis, up)] * (u[next] - u[point] - solvent_end_value(plan, point));
    return u[point] + solvent_end_value(plan, point) + flow / plan->options.molecule_dielectric -
           solvent_end_value(plan, next);
}

/* The values of the corners: outer ones are continued from their neighbours in the molecule, or from two other corners and the one
 * between these. */
static void fill_corners(cell *c)
{
    for (int n = 0; n < 8; n++) {
        c->inside[n] = c->known[n] = c->plan->inside[point_of(c, n)];
        c->value[n] = c->inside[n] ? ((const double *)c->plan->unknown.data)[point_of(c, n)] : 0;
    }
    for (int n = 0; n < 8; n++) {
        int count = 0;
        for (int a = 0; a < 3; a++)
            if (!c->inside[n] && c->inside[n ^ 1 << a]) {
                c->value[n] += next_of(c, point_of(c, n ^ 1 << a), a, n >> a & 1);
                count++;
            }
        c->value[n] /= count ? count : 1;
        c->known[n] = c->known[n] || count;
    }
    for (int round = 0; round < 2; round++)
        for (int n = 0; n < 8; n++)
            for (int a = 0; a < 3 && !c->known[n]; a++) {
                const int one = n ^ 1 << a, two = n ^ 1 << (a + 1) % 3, both = one ^ two ^ n;
                if (c->known[one] && c->known[two] && c->known[both]) {
                    c->value[n] = c->value[one] + c->value[two] - c->value[both];
                    c->known[n] = true;
                }
            }
}

static double weight_of(const cell *c, int corner, int without)
{
    double weight = 1;
    for (int a = 0; a < 3; a++)
        weight *= a == without ? 1 : corner >> a & 1 ? c->part[a] : 1 - c->part[a];
    return weight;
}

/* What is added to linear interpolation along an axis: t (t - 1) / 6 ((2 - t) D0 + (1 + t) D1), D the second differences at both ends
 * of an edge of the cell, where they are known; the mean over the four edges. */
static double curvature(const cell *c, int axis)
{
    const double t = c->part[axis], *u = c->plan->unknown.data;
    double sum = 0, weights = 0;
    for (int n = 0; n < 8; n++) {
        if (!c->inside[n])
            continue;
        const int64_t point = point_of(c, n);
        const bool upper = n >> axis & 1, other = c->inside[n ^ 1 << axis];
        const double weight = weight_of(c, n, axis) * (!other ? 3 : upper ? 1 + t : 2 - t);
        sum += weight * (next_of(c, point, axis, true) - 2 * u[point] + next_of(c, point, axis, false));
        weights += weight;
    }
    return weights > 0 ? t * (t - 1) / 2 * sum / weights : 0;
}

static double value_in(cell *c)
{
    const double *u = c->plan->unknown.data;
    double sum = 0, weights = 0, plain = 0;
    fill_corners(c);
    for (int n = 0; n < 8; n++) {
        const double weight = weight_of(c, n, -1);
        sum += c->known[n] ? weight * c->value[n] : 0;
        weights += c->known[n] ? weight : 0;
        plain += weight * u[point_of(c, n)];
    }
    if (!(weights > 1e-9)) /* not in the molecule */
        return plain;
    return sum / weights + curvature(c, 0) + curvature(c, 1) + curvature(c, 2);
}

vf_status vf_solvent_reaction(const vf_solvent *plan, int64_t count, const double *x, const double *y, const double *z,
                              double *values)
{
    for (int64_t i = 0; i < count; i++) {
        cell c;
        if (!find_cell(plan, (double[3]){x[i], y[i], z[i]}, &c))
            return vf_fail(plan->ctx, VF_ERR_ARGUMENT, "atom %lld at (%g, %g, %g) is outside the grid",
                           (long long)i + 1, x[i], y[i], z[i]);
        values[i] = value_in(&c);
    }
    return VF_OK;
}
