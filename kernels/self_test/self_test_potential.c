/* Checks of the sums of potentials: charges beside and on a small grid. */
#include "cutoff_sum.h"
#include "ewald_sum.h"
#include "self_test_checks.h"

static const double x[] = {0.1, 2.3, 4.9, 1.7, 3.3}, y[] = {0.4, 3.1, 1.2, 2.2, 0.6}, z[] = {0.3, 1.9, 0.8, 3.4, 2.6},
                    charge[] = {1, -0.8, 0.5, 0.7, -1.2};
static const vf_coulomb_atoms charges = {.count = 5, .x = x, .y = y, .z = z, .charge = charge};
static const vf_grid grid = {.origin = {-0.5, 0, 0.25}, .spacing = {0.5, 0.6, 0.55}, .counts = {12, 9, 8}};
enum { POINTS = 12 * 9 * 8 };

/* What the sums have in common: a queue, memory for the results, and reading them. */
typedef vf_status execution(const void *plan, vf_queue *queue, const vf_box *box, void *out);

static vf_status run(vf_device *device, vf_dtype precision, const void *plan, execution *execute, double *values,
                     int *count)
{
    const vf_box box = vf_grid_box(&grid);
    vf_array out = {0};
    vf_queue *queue = NULL;
    *count = POINTS;
    vf_status status = vf_queue_create(device, &queue);
    VF_TRY(status, vf_array_create(device, VF_SPACE_DEVICE, precision, POINTS, &out));
    VF_TRY(status, execute(plan, queue, &box, out.data));
    VF_TRY(status, self_test_read(queue, &out, POINTS, values));
    vf_queue_destroy(queue);
    vf_array_free(&out);
    return status;
}

static vf_status execute_coulomb(const void *plan, vf_queue *queue, const vf_box *box, void *out)
{
    return vf_coulomb_execute(plan, queue, box, out);
}

vf_status self_test_coulomb(vf_device *device, bool reference, vf_dtype precision, double *values, int *count)
{
    const vf_coulomb_options options = {
        .scale = 1, .r_min = 0.2, .precision = precision, .variant = reference ? "ref" : NULL};
    vf_coulomb *plan = NULL;
    vf_status status = vf_coulomb_create(device, &grid, &charges, &options, &plan);
    VF_TRY(status, run(device, precision, plan, execute_coulomb, values, count));
    vf_coulomb_destroy(plan);
    return status;
}

static vf_status execute_cutoff(const void *plan, vf_queue *queue, const vf_box *box, void *out)
{
    return vf_cutoff_execute(plan, queue, box, false, out);
}

vf_status self_test_cutoff(vf_device *device, bool reference, vf_dtype precision, double *values, int *count)
{
    const vf_cutoff_options options = {.scale = 1,
                                       .r_min = 0.2,
                                       .cutoff = 2.5,
                                       .bandwidth = 10,
                                       .precision = precision,
                                       .variant = reference ? "ref" : NULL};
    vf_cutoff *plan = NULL;
    vf_status status = vf_cutoff_create(device, &grid, &charges, &options, &plan);
    VF_TRY(status, run(device, precision, plan, execute_cutoff, values, count));
    vf_cutoff_destroy(plan);
    return status;
}

static vf_status execute_ewald(const void *plan, vf_queue *queue, const vf_box *box, void *out)
{
    return vf_ewald_execute(plan, queue, box, out);
}

/* The reference is the direct sum, for a tolerance. */
vf_status self_test_ewald(vf_device *device, bool reference, vf_dtype precision, double *values, int *count)
{
    const vf_ewald_options options = {
        .scale = 1, .r_min = 0.2, .tolerance = precision == VF_F64 ? 1e-8 : 1e-4, .precision = precision};
    vf_ewald *plan = NULL;
    if (reference)
        return self_test_coulomb(device, true, precision, values, count);
    vf_status status = vf_ewald_create(device, &grid, &charges, &options, &plan);
    VF_TRY(status, run(device, precision, plan, execute_ewald, values, count));
    vf_ewald_destroy(plan);
    return status;
}
