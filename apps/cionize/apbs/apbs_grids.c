/* Grids of APBS's ELEC sections. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "apbs_job.h"
#include "voxfield/device.h"

/* What the solver takes a point, and how many times the points a better boundary may cost. */
static const double g_point_bytes = 60, g_most_growth = 2;

/* From the atoms' spheres to the rim, angstrom: at least, and as is wished for a solvent that is less polarisable than the
 * molecule, and for the non-linear equation, whose potential must be small at the rim. At the rim the potential is that of
 * screened charges without the molecule's cavity: validation/tables/solvent_study.py --borders measures what that costs in
 * water and in vacuum. */
static const double g_least_rim = 5, g_wished_rim = 12;

static bool wants_more(const apbs_elec *e)
{
    return e->non_linear || e->solvent_dielectric < e->molecule_dielectric;
}

static void find_centre(const apbs_centre *c, const molecule *molecules, double to[3])
{
    for (int a = 0; a < 3; a++)
        to[a] = c->on_molecule ? (molecules[c->molecule].lo[a] + molecules[c->molecule].hi[a]) / 2 : c->at[a];
}

/* Whole spacings that the grid lacks below and above a range, of this part of the way. */
static void find_steps(const vf_grid *g, int axis, double lo, double hi, double part, double steps[2])
{
    const double h = g->spacing[axis], last = g->origin[axis] + h * (double)(g->counts[axis] - 1);
    steps[0] = fmax(0, ceil(part * (g->origin[axis] - lo) / h - 1e-6));
    steps[1] = fmax(0, ceil(part * (hi - last) / h - 1e-6));
}

/* The number of points of the grid with these steps. */
static double points_with(const vf_grid *g, double steps[3][2])
{
    double points = 1;
    for (int a = 0; a < 3; a++)
        points *= (double)g->counts[a] + steps[a][0] + steps[a][1];
    return points;
}

/* The box of the atoms' spheres and a rim. */
static void find_box(const molecule *m, double rim, double lo[3], double hi[3])
{
    const double *const at[] = {m->x, m->y, m->z};
    for (int a = 0; a < 3; a++) {
        lo[a] = INFINITY;
        hi[a] = -INFINITY;
        for (int64_t i = 0; i < m->atoms; i++) {
            lo[a] = fmin(lo[a], at[a][i] - m->radius[i] - rim);
            hi[a] = fmax(hi[a], at[a][i] + m->radius[i] + rim);
        }
    }
}

/* The box in which the solution would be best: for mg-auto that of the coarse grid. */
static void find_wish(const apbs_elec *e, const molecule *molecules, double lo[3], double hi[3])
{
    double centre[3];
    find_box(&molecules[e->molecule], wants_more(e) ? g_wished_rim : g_least_rim, lo, hi);
    if (!e->automatic)
        return;
    find_centre(&e->coarse_centre, molecules, centre);
    for (int a = 0; a < 3; a++) {
        lo[a] = fmin(lo[a], centre[a] - e->coarse_lengths[a] / 2);
        hi[a] = fmax(hi[a], centre[a] + e->coarse_lengths[a] / 2);
    }
}

/* Goes as far towards a box as the most points allow. */
static bool grow_towards(const vf_grid *g, const double lo[3], const double hi[3], double most, double steps[3][2])
{
    enum { PARTS = 64 };
    double wider[3][2];
    for (int part = PARTS; part > 0; part--) {
        bool grows = false;
        for (int a = 0; a < 3; a++) {
            find_steps(g, a, lo[a], hi[a], (double)part / PARTS, wider[a]);
            for (int side = 0; side < 2; side++) {
                grows |= wider[a][side] > steps[a][side];
                wider[a][side] = fmax(wider[a][side], steps[a][side]);
            }
        }
        if (points_with(g, wider) > most)
            continue;
        memcpy(steps, wider, sizeof wider);
        return grows;
    }
    return false;
}

static vf_status check_memory(vf_context *ctx, const char *name, const apbs_elec *e, double points)
{
    uint64_t available, total;
    vf_host_memory(&available, &total);
    const double needed = points * g_point_bytes, part = cbrt((double)available / needed);
    if (needed <= (double)available)
        return VF_OK;
    return vf_fail(ctx, VF_ERR_MEMORY,
                   "%s:%" PRId64
                   ": the molecule and the grid of this ELEC section take %.3g points of %.3g A, which need about %.3g "
                   "GiB of memory, but %.3g GiB are free; use a grid of about %.2g A",
                   name, e->line, points, e->lengths[0] / (double)(e->counts[0] - 1), needed / 0x1p30,
                   (double)available / 0x1p30, e->lengths[0] / (double)(e->counts[0] - 1) / part);
}

vf_status apbs_place_grids(vf_context *ctx, const char *name, const apbs_elec *e, const molecule *molecules,
                           apbs_grids *out)
{
    uint64_t available, total;
    double centre[3], lo[3], hi[3], steps[3][2] = {{0}};
    vf_grid *g = &out->asked;
    *out = (apbs_grids){0};
    find_centre(&e->centre, molecules, centre);
    for (int a = 0; a < 3; a++) {
        g->counts[a] = e->counts[a];
        g->spacing[a] = e->lengths[a] / (double)(e->counts[a] - 1);
        g->origin[a] = centre[a] - e->lengths[a] / 2;
    }
    out->solved = *g;
    if (!apbs_is_uniform(e)) {
        find_box(&molecules[e->molecule], g_least_rim, lo, hi);
        for (int a = 0; a < 3; a++)
            find_steps(g, a, lo[a], hi[a], 1, steps[a]);
        const double asked = (double)e->counts[0] * (double)e->counts[1] * (double)e->counts[2];
        const double least = points_with(g, steps);
        const bool needs_more = wants_more(e);
        vf_host_memory(&available, &total);
        find_wish(e, molecules, lo, hi);
        out->around_atoms = least > asked;
        out->further = grow_towards(
            g, lo, hi, fmin(g_most_growth * (needs_more ? least : asked), (double)available / g_point_bytes), steps);
    }
    const vf_status status = check_memory(ctx, name, e, points_with(g, steps));
    for (int a = 0; status == VF_OK && a < 3; a++) {
        out->offset[a] = (int64_t)steps[a][0];
        out->solved.counts[a] += out->offset[a] + (int64_t)steps[a][1];
        out->solved.origin[a] -= g->spacing[a] * steps[a][0];
    }
    return status;
}
