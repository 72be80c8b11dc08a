/* Random points of a map, their exact potentials, and the difference. measure_error.h explains how many. */
#include "measure_error.h"

#include <math.h>
#include <stdlib.h>

#include "molecule/molecule_part.h"
#include "point_sum.h"
#include "potential/periodic_frames.h"
#include "potential/potential_common.h"

enum { LEAST_POINTS = 16, MOST_POINTS = 256 };
static const double share = 0.015; /* of the expected time */
static const double pair_seconds = 0.7e-9,
                    cell_pair_seconds = 25e-9; /* of an exact sum, on one thread; also Gaussians */

struct error_points {
    const potential_plan *plan;
    int64_t count;
    int64_t at[MOST_POINTS][3]; /* grid points: x, y, z */
    double place[3 * MOST_POINTS];
    double exact[MOST_POINTS], seen[MOST_POINTS];
};

/* ---- drawing ---- */

/* SplitMix64 (Steele, Lea and Flood, OOPSLA 2014). */
static uint64_t draw(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

static void draw_points(error_points *p)
{
    const vf_grid *grid = &p->plan->problem.grid;
    uint64_t state = 18;
    for (int64_t n = 0; n < p->count; n++)
        for (int a = 0; a < 3; a++)
            p->at[n][a] = (int64_t)(draw(&state) % (uint64_t)grid->counts[a]);
}

static double seconds_of_pair(const vf_potential_problem *problem)
{
    return problem->grid.cell.kind == VF_CELL_NONE && !(problem->sigma > 0) ? pair_seconds : cell_pair_seconds;
}

static bool is_exact(const potential_plan *plan)
{
    return plan->method->tolerance[plan->problem.precision] == 0 && !plan->method->cuts_off;
}

/* By the usual speeds, not those that were measured: the file names the number of points, and the same run makes the
 * same file. A GPU has some cores beside it. */
static int64_t affordable(const vf_context *ctx, const potential_plan *plan, int64_t atoms)
{
    const vf_potential_problem *problem = &plan->problem;
    const vf_device_kind kind = vf_device_get_kind(vf_context_device(ctx, 0));
    const double cores = kind == VF_DEVICE_CPU ? 1 : 16, points = (double)vf_grid_points(&problem->grid);
    const double seconds = plan->method->expected_seconds(problem, kind, 1, (double)atoms, points) * cores;
    const double pairs = share * seconds / seconds_of_pair(problem);
    return (int64_t)fmin(fmax(pairs / (double)atoms, LEAST_POINTS), MOST_POINTS);
}

double error_points_seconds(const vf_context *ctx, const potential_plan *plan, int64_t atoms)
{
    return is_exact(plan) ? 0 : (double)affordable(ctx, plan, atoms) * (double)atoms * seconds_of_pair(&plan->problem);
}

/* ---- exact sums ---- */

/* `grid`: the map's, or that of a frame with a cell of its own. */
static vf_status sum_exactly(vf_context *ctx, error_points *p, const vf_grid *grid, const vf_coulomb_atoms *charges,
                             double *values)
{
    const vf_potential_problem *problem = &p->plan->problem;
    const vf_pair_potential *pair = &problem->pair;
    const vf_point_options truth = {.cell = grid->cell,
                                    .scale = pair->scale,
                                    .r_min = pair->r_min,
                                    .distance_dielectric = pair->law == VF_PAIR_DISTANCE_DIELECTRIC,
                                    .sigma = problem->sigma,
                                    .vacuum = problem->vacuum,
                                    .exactness = problem->tolerance};
    const vf_point_list list = {.count = p->count, .points = p->place};
    vf_point_sum *sum = NULL;
    for (int64_t n = 0; n < p->count; n++)
        for (int a = 0; a < 3; a++)
            p->place[3 * n + a] = grid->origin[a] + grid->spacing[a] * (double)p->at[n][a];
    vf_status status = vf_point_sum_create(ctx, charges, &truth, &list, (double)list.count, &sum);
    VF_TRY(status, vf_point_sum_execute(sum, &list, values, NULL));
    vf_point_sum_destroy(sum);
    return status;
}

static vf_status sum_frames(vf_context *ctx, error_points *p, const molecule *mol, const trajectory *t,
                            const frame_selection *selection)
{
    const int64_t n = molecule_whole_atoms(mol);
    double *xyz = malloc(3 * (size_t)n * sizeof *xyz), values[MOST_POINTS];
    vf_status status =
        xyz ? VF_OK : vf_fail(ctx, VF_ERR_MEMORY, "no memory for the coordinates of %lld atoms", (long long)n);
    const vf_coulomb_atoms charges = {
        .count = mol->atoms, .x = xyz, .y = xyz + n, .z = xyz + 2 * n, .charge = mol->charge};
    for (int64_t f = 0; status == VF_OK && f < selection->count; f++) {
        const int64_t frame = selection->first + f * selection->step;
        vf_grid grid = p->plan->problem.grid;
        status = trajectory_read(t, frame, xyz, xyz + n, xyz + 2 * n);
        molecule_gather(mol, xyz, xyz + n, xyz + 2 * n);
        if (status == VF_OK && p->plan->follows_cells)
            status = frame_grid(ctx, t, frame, &p->plan->problem.grid, &grid);
        VF_TRY(status, sum_exactly(ctx, p, &grid, &charges, values));
        for (int64_t i = 0; status == VF_OK && i < p->count; i++)
            p->exact[i] += values[i] / (double)selection->count;
    }
    free(xyz);
    return status;
}

vf_status error_points_make(vf_context *ctx, const potential_plan *plan, const molecule *mol, const trajectory *t,
                            const frame_selection *selection, error_points **out)
{
    const vf_potential_problem *problem = &plan->problem;
    *out = NULL;
    if (is_exact(plan))
        return VF_OK;
    error_points *p = calloc(1, sizeof *p);
    if (!p)
        return vf_fail(ctx, VF_ERR_MEMORY, "no memory");
    p->plan = plan;
    p->count = affordable(ctx, plan, mol->atoms);
    draw_points(p);
    const vf_coulomb_atoms charges = potential_charges(mol);
    const vf_status status =
        t ? sum_frames(ctx, p, mol, t, selection) : sum_exactly(ctx, p, &problem->grid, &charges, p->exact);
    if (status == VF_OK)
        *out = p;
    else
        free(p);
    return status;
}

void error_points_free(error_points *points)
{
    free(points);
}

/* ---- the map's values ---- */

void error_points_take(error_points *points, int64_t first, int64_t count, const void *values)
{
    if (!points)
        return;
    const potential_plan *plan = points->plan;
    const int64_t *counts = plan->problem.grid.counts;
    const int slow = potential_slab_axis(plan->order), fast = 2 - slow;
    for (int64_t n = 0; n < points->count; n++) {
        const int64_t *at = points->at[n], layer = at[slow] - first;
        if (layer < 0 || layer >= count)
            continue;
        const int64_t index = (layer * counts[1] + at[1]) * counts[fast] + at[fast];
        points->seen[n] = plan->problem.precision == VF_F64 ? ((const double *)values)[index]
                                                            : (double)((const float *)values)[index];
    }
}

map_error error_points_result(vf_context *ctx, const error_points *points, const map_figures *figures)
{
    const vf_potential_problem *problem = &points->plan->problem;
    const double rms = map_figures_rms(figures);
    const bool cut_off = points->plan->method->cuts_off;
    map_error error = {
        .asked = cut_off ? 0 : problem->tolerance, .cutoff = cut_off ? problem->cutoff : 0, .points = points->count};
    for (int64_t n = 0; n < points->count; n++) {
        const double off = fabs(points->seen[n] - points->exact[n]) / fmax(rms, 1e-300);
        error.rms += off * off / (double)points->count;
        error.largest = fmax(error.largest, off);
    }
    error.rms = sqrt(error.rms);
    const char *instead =
        problem->grid.cell.kind == VF_CELL_NONE ? "--method exact" : "a smaller --accuracy"; /* exact has no cells */
    if (!cut_off && (error.rms > error.asked || error.largest > 10 * error.asked))
        vf_warn(
            ctx,
            "the map is less accurate than asked: at %lld random points, its error is %.2g of the rms potential, and "
            "%.2g at most, but --accuracy %g allows %g and %g; use %s%s",
            (long long)error.points, error.rms, error.largest, error.asked, error.asked, 10 * error.asked,
            problem->precision == VF_F64 ? "" : "--precision double, or ", instead);
    return error;
}
