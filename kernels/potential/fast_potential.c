/* Ewald sums on a mesh as a method: to a tolerance, in free space and in cells, for any box of the grid.
 * kernels/ewald_sum computes them. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ewald_sum.h"
#include "potential_methods.h"
#include "voxfield/machine_speed.h"
#include "voxfield/timer.h"

static vf_ewald_options options_of(const vf_potential_problem *problem)
{
    return (vf_ewald_options){.scale = problem->pair.scale,
                              .r_min = problem->pair.r_min,
                              .tolerance = fmin(problem->tolerance, 0.1),
                              .precision = problem->precision,
                              .sigma = problem->sigma,
                              .vacuum = problem->vacuum,
                              .variant = problem->variant};
}

/* ---- costs ---- */

/* For a molecule of usual density, and a grid of about half an angstrom: pairs within the cutoff, and the mesh. */
static double expected_seconds(const vf_potential_problem *problem, vf_device_kind kind, int threads, double charges,
                               double points)
{
    if (kind == VF_DEVICE_CUDA)
        return 0.003 + (charges * 1e-8 + points * 1e-10) * (problem->precision == VF_F64 ? 4 : 1);
    const double bandwidth = log(1 / fmax(problem->tolerance, 1e-16)) + 2, pairs = 0.5 * pow(bandwidth, 3);
    const double single = 0.01 + charges * (1e-6 + 1.3e-9 * pairs) + points * 2.5e-8;
    return single * (problem->precision == VF_F64 ? 2 : 1) / vf_team_gain(threads);
}

vf_status vf_potential_near_variant(vf_device *device, const vf_potential_problem *problem, char *name, size_t size)
{
    const vf_grid grid = {.spacing = {1, 1, 1}, .counts = {1, 1, 1}};
    const vf_cutoff_options options = {.scale = 1,
                                       .r_min = 0.1,
                                       .cutoff = 1,
                                       .bandwidth = 8,
                                       .precision = problem->precision,
                                       .variant = problem->variant};
    vf_cutoff *plan = NULL;
    const vf_status status = vf_cutoff_create(device, &grid, &(vf_coulomb_atoms){0}, &options, &plan);
    if (status == VF_OK)
        snprintf(name, size, "%s", vf_cutoff_variant(plan));
    vf_cutoff_destroy(plan);
    return status;
}

/* How many times as fast as one thread all are. */
static double gain_of(const vf_device *device)
{
    return vf_device_is_host(device) ? vf_team_gain(vf_context_threads(vf_device_context(device))) : 1;
}

/* How much longer than expected one layer of the map takes on this machine, with all else that it needs; 1 for little
 * work, which is not worth measuring. */
static vf_status measure(vf_device *device, const vf_potential_problem *problem, const vf_coulomb_atoms *charges,
                         double *factor)
{
    vf_potential_problem part = *problem;
    vf_coulomb_atoms some = *charges;
    const int64_t most_charges = 4000, most_points = 40;
    double making, using, began;
    vf_ewald_info info;
    vf_array values = {0};
    vf_queue *queue = NULL;
    vf_ewald *plan = NULL;
    some.count = some.count < most_charges ? some.count : most_charges;
    part.vacuum = false; /* they need not be neutral */
    for (int a = 0; a < 3; a++)
        part.grid.counts[a] = part.grid.counts[a] < most_points ? part.grid.counts[a] : most_points;
    const vf_ewald_options options = options_of(&part);
    const vf_box all = vf_grid_box(&part.grid);
    vf_status status = vf_ewald_plan_costs(device, &part.grid, &some, &options, &info, &making, &using);
    VF_TRY(status, vf_array_create(device, VF_SPACE_DEVICE, part.precision, vf_box_points(&all), &values));
    VF_TRY(status, vf_queue_create(device, &queue));
    began = vf_now();
    VF_TRY(status, vf_ewald_create(device, &part.grid, &some, &options, &plan));
    VF_TRY(status, vf_ewald_execute(plan, queue, &all, values.data));
    VF_TRY(status, vf_queue_sync(queue));
    *factor = (vf_now() - began) * gain_of(device) / fmax(making + using, 1e-3);
    vf_ewald_destroy(plan);
    vf_queue_destroy(queue);
    vf_array_free(&values);
    return status;
}

static vf_status estimate(vf_device *device, const vf_potential_problem *problem, const vf_coulomb_atoms *charges,
                          double maps, vf_potential_estimate *out)
{
    /* Seconds. A CPU measures in some ms, a GPU has to load libraries first. */
    const double worth_measuring = vf_device_is_host(device) ? 0.05 : 2;
    const vf_ewald_options options = options_of(problem);
    const double gain = gain_of(device);
    double making = 0, using = 0, factor = 1;
    vf_ewald_info info;
    *out = (vf_potential_estimate){0};
    vf_status status = vf_potential_near_variant(device, problem, out->variant, sizeof out->variant);
    VF_TRY(status, vf_ewald_plan_costs(device, &problem->grid, charges, &options, &info, &making, &using));
    if (status == VF_OK && (making + using) / gain * maps > worth_measuring)
        status = measure(device, problem, charges, &factor);
    if (status != VF_OK)
        return status;
    out->evaluations =
        info.pairs > 0 ? info.pairs : (double)vf_grid_points(&problem->grid); /* the map's, if all is there */
    out->seconds = fmax(factor, 0.25) * (making + using) / gain + 1e-4;
    out->preparing = making / fmax(making + using, 1e-300);
    if (vf_device_is_host(device))
        out->host_bytes = info.most_bytes;
    else
        out->device_bytes = info.most_bytes;
    if (!vf_device_is_host(device)) /* of a cell's charges and images */
        out->host_bytes = 64 * ((uint64_t)charges->count + 1);
    return VF_OK;
}

/* ---- plans: the state is just a vf_ewald ---- */

static vf_status create(vf_device *device, const vf_potential_problem *problem, const vf_coulomb_atoms *charges,
                        void **state)
{
    const vf_ewald_options options = options_of(problem);
    vf_ewald *sum = NULL;
    const vf_status status = vf_ewald_create(device, &problem->grid, charges, &options, &sum);
    *state = sum;
    return status;
}

static vf_status compute(const void *state, vf_queue *queue, const vf_box *box, void *out)
{
    return vf_ewald_execute(state, queue, box, out);
}

static void destroy(void *state)
{
    vf_ewald_destroy(state);
}

/* ---- the potential of one charge ---- */

static void pair(const vf_potential_problem *problem, vf_pair_potential *out)
{
    *out = problem->pair;
    if (problem->grid.cell.kind == VF_CELL_NONE)
        return;
    out->law = VF_PAIR_PERIODIC;
    out->cell = problem->grid.cell;
}

const vf_potential_method vf_potential_fast = {
    .name = "fast",
    .title = "fast sum",
    .devices = 1u << VF_DEVICE_CPU | 1u << VF_DEVICE_CUDA | 1u << VF_DEVICE_OPENCL,
    .cells = 1u << VF_CELL_NONE | 1u << VF_CELL_ORTHORHOMBIC | 1u << VF_CELL_TRICLINIC,
    .laws = 1u << VF_PAIR_COULOMB,
    .costly_plans = true,
    .gaussians = true,
    .extent = VF_POTENTIAL_BOXES,
    .tolerance = {VF_EWALD_FINEST_F32, VF_EWALD_FINEST_F64},
    .variant_name = vf_ewald_variant_name,
    .expected_seconds = expected_seconds,
    .estimate = estimate,
    .create = create,
    .compute = compute,
    .destroy = destroy,
    .pair = pair};
