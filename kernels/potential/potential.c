/* The list of methods, the choice of a method, and the checks for all methods. */
#include "potential.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ewald_sum.h"
#include "potential_methods.h"
#include "voxfield/append.h"

static const vf_potential_method *const methods[] = {&vf_potential_direct, &vf_potential_fast, &vf_potential_cutoff};
enum { METHODS = sizeof methods / sizeof *methods };

struct vf_potential {
    const vf_potential_method *method;
    vf_device *device;
    vf_grid grid;
    void *state; /* the method's */
};

/* Ewald's own sum. */
static double value_in_cell(const vf_pair_potential *pair, const double d[3])
{
    const double zero = 0, one = 1;
    const vf_coulomb_atoms unit = {.count = 1, .x = &zero, .y = &zero, .z = &zero, .charge = &one};
    double value;
    vf_ewald_reference(&pair->cell, &unit, pair->scale, pair->r_min, false, 1, d, &value);
    return value;
}

double vf_pair_value(const vf_pair_potential *pair, const double d[3])
{
    if (pair->value)
        return pair->scale * pair->value(pair->state, d);
    if (pair->law == VF_PAIR_PERIODIC)
        return value_in_cell(pair, d);
    const double r = fmax(sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]), pair->r_min);
    if (pair->law == VF_PAIR_SCREENED)
        return pair->scale * exp(-pair->kappa * r) / r;
    return pair->scale / (pair->law == VF_PAIR_DISTANCE_DIELECTRIC ? r * r : r);
}

/* ---- choosing ---- */

const vf_potential_method *vf_potential_method_at(int index)
{
    return index >= 0 && index < METHODS ? methods[index] : NULL;
}

vf_status vf_potential_method_named(vf_context *ctx, const char *where, const char *name,
                                    const vf_potential_method **out)
{
    char known[256] = "auto";
    *out = NULL;
    if (strcmp(name, "auto") == 0)
        return VF_OK;
    for (int m = 0; m < METHODS; m++) {
        vf_append(known, sizeof known, ", %s", methods[m]->name);
        if (strcmp(name, methods[m]->name) == 0)
            *out = methods[m];
    }
    return *out ? VF_OK
                : vf_fail(ctx, VF_ERR_ARGUMENT, "%s: unknown method '%s'; the methods are %s", where, name, known);
}

static vf_status check_numbers(vf_context *ctx, const vf_potential_problem *p)
{
    const vf_pair_potential *pair = &p->pair;
    if (!vf_grid_valid(&p->grid))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "potential: the grid's counts, spacing or cell are invalid");
    if ((unsigned)pair->law >= VF_PAIR_LAWS || (pair->law == VF_PAIR_FUNCTION) != (pair->value != NULL) ||
        !isfinite(pair->scale))
        return vf_fail(ctx, VF_ERR_ARGUMENT,
                       "potential: the scale, %g, is not finite, or the pair potential's law, %d, is unknown or has no "
                       "function of its own",
                       pair->scale, (int)pair->law);
    if (!(pair->r_min >= VF_COULOMB_MIN_R_MIN) || !(pair->r_min <= VF_COULOMB_MAX_COORDINATE))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "potential: the smallest distance r_min, %g, is not between %g and %g",
                       pair->r_min, VF_COULOMB_MIN_R_MIN, VF_COULOMB_MAX_COORDINATE);
    if (p->precision != VF_F32 && p->precision != VF_F64)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "potential: the precision must be VF_F32 or VF_F64");
    if (!(p->tolerance >= 0) || !(p->tolerance <= 1))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "potential: tolerance %g is not between 0 and 1", p->tolerance);
    if (p->vacuum && p->grid.cell.kind == VF_CELL_NONE)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "potential: a vacuum boundary needs a periodic cell");
    if (!(p->sigma >= 0) || !(p->sigma <= VF_COULOMB_MAX_COORDINATE))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "potential: sigma, %g, is not between 0 and %g", p->sigma,
                       VF_COULOMB_MAX_COORDINATE);
    if (!(p->cutoff >= 0) || !(p->cutoff <= VF_COULOMB_MAX_COORDINATE) ||
        (p->cutoff > 0 && (!(p->cutoff >= pair->r_min) || p->cutoff_law == VF_CUTOFF_SPLIT)))
        return vf_fail(ctx, VF_ERR_ARGUMENT,
                       "potential: cutoff %g is out of range: at least the minimal distance %g, at most %g", p->cutoff,
                       pair->r_min, VF_COULOMB_MAX_COORDINATE);
    return VF_OK;
}

vf_status vf_potential_check(vf_context *ctx, const vf_potential_method *method, const vf_potential_problem *problem,
                             vf_device_kind kind)
{
    vf_status status = check_numbers(ctx, problem);
    if (status != VF_OK)
        return status;
    const double finest = method->tolerance[problem->precision];
    if (!(method->devices >> kind & 1))
        return vf_fail(ctx, VF_ERR_UNSUPPORTED, "the %s does not run on this kind of device", method->title);
    if (!(method->cells >> problem->grid.cell.kind & 1))
        return vf_fail(ctx, VF_ERR_UNSUPPORTED, "the %s does not support %s", method->title,
                       problem->grid.cell.kind == VF_CELL_NONE ? "free space; it needs a periodic cell"
                                                               : "periodic cells; use the method fast, or cutoff");
    if (!(method->laws >> problem->pair.law & 1))
        return vf_fail(ctx, VF_ERR_UNSUPPORTED, "the %s does not support this pair potential%s", method->title,
                       problem->pair.law == VF_PAIR_DISTANCE_DIELECTRIC ? " (distance-dependent dielectric)" : "");
    if (problem->sigma > 0 && !method->gaussians)
        return vf_fail(ctx, VF_ERR_UNSUPPORTED, "the %s does not support Gaussian charges; use the method fast",
                       method->title);
    if (problem->vacuum && method->cuts_off)
        return vf_fail(ctx, VF_ERR_UNSUPPORTED, "the %s has no boundary at infinity, so none in vacuum", method->title);
    if ((problem->cutoff > 0) != method->cuts_off)
        return vf_fail(ctx, VF_ERR_UNSUPPORTED, "the %s %s", method->title,
                       method->cuts_off ? "needs a cutoff, such as 12 angstrom"
                                        : "has no cutoff; use the method cutoff");
    if (finest > 0 && problem->tolerance < finest)
        return vf_fail(ctx, VF_ERR_UNSUPPORTED, "the %s keeps a tolerance of %g at best%s, not %g%s", method->title,
                       finest, problem->precision == VF_F32 ? " in single precision" : "", problem->tolerance,
                       problem->precision == VF_F32 && method->tolerance[VF_F64] < finest ? "; use double precision"
                                                                                          : "");
    return VF_OK;
}

/* Says why no method is chosen: what the method lacks that has the problem's kind of cell. */
static vf_status refuse(vf_context *ctx, const vf_potential_problem *problem, vf_device_kind kind)
{
    for (int m = 0; m < METHODS; m++)
        if (methods[m]->cells >> problem->grid.cell.kind & 1 && !methods[m]->cuts_off)
            return vf_potential_check(ctx, methods[m], problem, kind);
    return vf_potential_check(ctx, methods[0], problem, kind);
}

vf_status vf_potential_choose(vf_context *ctx, const vf_potential_problem *problem, vf_device_kind kind,
                              int64_t charges, const vf_potential_method **out)
{
    double least = INFINITY;
    const vf_potential_method *best = NULL;
    *out = NULL;
    for (int m = 0; m < METHODS; m++) {
        const vf_status status = vf_potential_check(ctx, methods[m], problem, kind);
        if (status == VF_ERR_UNSUPPORTED) {
            vf_context_clear_error(ctx);
            continue;
        }
        if (status != VF_OK)
            return status;
        const double seconds = methods[m]->expected_seconds(problem, kind, vf_context_threads(ctx), (double)charges,
                                                            (double)vf_grid_points(&problem->grid));
        if (!best || seconds < least) {
            least = seconds;
            best = methods[m];
        }
    }
    *out = best;
    return best ? VF_OK : refuse(ctx, problem, kind);
}

/* ---- plans ---- */

vf_status vf_potential_create(vf_device *device, const vf_potential_method *method, const vf_potential_problem *problem,
                              const vf_coulomb_atoms *charges, vf_potential **out)
{
    vf_context *ctx = vf_device_context(device);
    *out = NULL;
    vf_status status = vf_potential_check(ctx, method, problem, vf_device_get_kind(device));
    if (status != VF_OK)
        return status;
    vf_potential *plan = calloc(1, sizeof *plan);
    if (!plan)
        return vf_fail(ctx, VF_ERR_MEMORY, "not enough memory for a plan");
    plan->method = method;
    plan->device = device;
    plan->grid = problem->grid;
    status = method->create(device, problem, charges, &plan->state);
    if (status == VF_OK)
        *out = plan;
    else
        vf_potential_destroy(plan);
    return status;
}

static bool is_whole(const vf_box *box, const vf_grid *grid)
{
    for (int a = 0; a < 3; a++)
        if (box->lo[a] != 0 || box->hi[a] != grid->counts[a])
            return false;
    return true;
}

vf_status vf_potential_compute(const vf_potential *plan, vf_queue *queue, const vf_box *box, void *out)
{
    vf_context *ctx = vf_device_context(plan->device);
    if (!vf_box_inside(box, &plan->grid) || vf_queue_device(queue) != plan->device)
        return vf_fail(ctx, VF_ERR_ARGUMENT,
                       "potential: the box is empty or not inside the grid, or the queue belongs to another device");
    if (plan->method->extent == VF_POTENTIAL_WHOLE && !is_whole(box, &plan->grid))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "potential: the %s computes only the whole grid at once",
                       plan->method->title);
    return plan->method->compute(plan->state, queue, box, out);
}

void vf_potential_destroy(vf_potential *plan)
{
    if (plan && plan->state)
        plan->method->destroy(plan->state);
    free(plan);
}
