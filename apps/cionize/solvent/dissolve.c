#include "dissolve.h"

#include <stdlib.h>

#include "point_sum.h"
#include "potential/plan_grid.h"
#include "potential/potential_common.h"

/* Energies of so many atoms are summed over all pairs, in a second; those of more to a tolerance. In a cell, a pair takes longer. */
enum { EXACT_ATOMS = 30000, EXACT_IN_CELL = 1000 };
static const double g_tolerance = 1e-8;

vf_status dissolve_options(const cionize_settings *settings, vf_context *ctx, vf_solvent_options *out)
{
    const solvent_settings *s = &settings->solvent;
    const vf_solvent_ion simple[] = {{1, s->strength}, {-1, s->strength}};
    *out = vf_solvent_defaults();
    out->molecule_dielectric = s->molecule_dielectric;
    out->solvent_dielectric = s->solvent_dielectric;
    out->stern = s->stern;
    out->probe = s->probe;
    out->surface = (vf_surface_kind)s->surface;
    out->kappa = 0;
    out->non_linear = s->non_linear && (s->ions > 0 || s->strength > 0); /* without salt it is the linear equation */
    if (s->ions == 0 && s->strength == 0)
        return VF_OK;
    return vf_solvent_set_salt(ctx, s->ions > 0 ? s->ions : 2, s->ions > 0 ? s->ion : simple, settings->temperature,
                               out);
}

/* The first CUDA device, if the equation fits into the memory that it has left; else the host. */
static vf_device *solving_device(vf_context *ctx, const vf_grid *grid)
{
    vf_device *device = potential_first_device(ctx), *host = vf_context_host(ctx);
    uint64_t available, total;
    if (vf_device_get_kind(device) != VF_DEVICE_CUDA || vf_device_failure(device))
        return host;
    const uint64_t need = (uint64_t)vf_grid_points(grid) * VF_SOLVENT_DEVICE_BYTES;
    if (vf_device_memory(device, &available, &total) != VF_OK) {
        vf_context_clear_error(ctx);
        return host;
    }
    return need < available ? device : host;
}

vf_status dissolve(vf_context *ctx, const vf_grid *grid, const vf_coulomb_atoms *charges, const double *radius,
                   const vf_solvent_options *options, vf_solvent **out)
{
    vf_device *device = solving_device(ctx, grid), *host = vf_context_host(ctx);
    vf_status status = vf_solvent_create(device, grid, charges, radius, options, out);
    if (!vf_is_device_error(status) || device == host)
        return status;
    vf_device_give_up(device, vf_context_message(ctx));
    vf_context_clear_error(ctx);
    return vf_solvent_create(host, grid, charges, radius, options, out);
}

/* The potential of the other charges at each atom, over the molecule's dielectric. */
static vf_status sum_coulomb(const cionize_settings *settings, vf_context *ctx, const vf_coulomb_atoms *atoms,
                             double *values)
{
    const int64_t n = atoms->count;
    const bool periodic = settings->cell.kind != VF_CELL_NONE;
    const vf_point_options o = {.cell = settings->cell,
                                .scale = 1 / settings->solvent.molecule_dielectric,
                                .r_min = settings->r_min,
                                .tolerance = n > (periodic ? EXACT_IN_CELL : EXACT_ATOMS) ? g_tolerance : 0};
    double *places = malloc(3 * (size_t)(n + 1) * sizeof *places);
    int64_t *numbers = malloc((size_t)(n + 1) * sizeof *numbers);
    vf_point_sum *sum = NULL;
    vf_status status = VF_OK;
    if (!places || !numbers)
        status = vf_fail(ctx, VF_ERR_MEMORY, "no memory for energies of %lld atoms", (long long)n);
    for (int64_t i = 0; status == VF_OK && i < n; i++) {
        places[3 * i] = atoms->x[i];
        places[3 * i + 1] = atoms->y[i];
        places[3 * i + 2] = atoms->z[i];
    }
    for (int64_t i = 0; status == VF_OK && i <= n; i++) /* each excludes itself */
        numbers[i] = i;
    const vf_point_list list = {n, places, numbers, numbers};
    VF_TRY(status, vf_point_sum_create(ctx, atoms, &o, &list, (double)n, &sum));
    VF_TRY(status, vf_point_sum_execute(sum, &list, values, NULL));
    vf_point_sum_destroy(sum);
    free(places);
    free(numbers);
    return status;
}

vf_status dissolve_energies(const cionize_settings *settings, vf_context *ctx, const vf_solvent *plan,
                            const vf_coulomb_atoms *charges, const atom_energies *atoms, solvent_energy *out)
{
    const double unit = potential_constant("kcal/mol/e", 0) * DISSOLVE_CALORIE; /* kJ/mol of e^2/angstrom */
    double *room = atoms ? NULL : calloc((size_t)charges->count + 1, sizeof *room);
    double *const coulomb = atoms ? atoms->coulomb : room;
    vf_solvent_energy e = {0};
    if (!coulomb)
        return vf_fail(ctx, VF_ERR_MEMORY, "no memory for energies of %lld atoms", (long long)charges->count);
    vf_status status = plan ? vf_solvent_energies(plan, charges, &e, atoms ? atoms->reaction : NULL) : VF_OK;
    VF_TRY(status, sum_coulomb(settings, ctx, charges, coulomb));
    *out = (solvent_energy){
        .reaction = unit * e.total, .fixed = unit * e.fixed, .stress = unit * e.stress, .osmotic = unit * e.osmotic};
    for (int64_t i = 0; status == VF_OK && i < charges->count; i++) {
        coulomb[i] *= unit * charges->charge[i] / 2;
        out->coulomb += coulomb[i];
        if (atoms)
            atoms->reaction[i] = plan ? unit * atoms->reaction[i] : 0;
    }
    free(room);
    return status;
}

vf_status dissolve_once(const cionize_settings *settings, vf_context *ctx, const vf_grid *grid,
                        const vf_coulomb_atoms *charges, const double *radius, solvent_energy *out)
{
    vf_solvent_options o;
    vf_solvent *plan = NULL;
    cionize_settings of_grid = *settings;
    of_grid.cell = grid->cell; /* a frame may have its own */
    vf_status status = dissolve_options(settings, ctx, &o);
    VF_TRY(status, dissolve(ctx, grid, charges, radius, &o, &plan));
    VF_TRY(status, dissolve_energies(&of_grid, ctx, plan, charges, NULL, out));
    vf_solvent_destroy(plan);
    return status;
}

vf_status bound_part_make(vf_context *ctx, const vf_coulomb_atoms *all, const double *radius, const bool *chosen,
                          bool which, bound_part *out)
{
    int64_t count = 0;
    for (int64_t i = 0; i < all->count; i++)
        count += chosen[i] == which;
    *out = (bound_part){.of = malloc(((size_t)count + 1) * sizeof *out->of),
                        .x = malloc(((size_t)count * 5 + 1) * sizeof *out->x)};
    if (!out->of || !out->x)
        return vf_fail(ctx, VF_ERR_MEMORY, "no memory for a part of %lld atoms", (long long)count);
    out->y = out->x + count;
    out->z = out->y + count;
    out->charge = out->z + count;
    out->radius = out->charge + count;
    for (int64_t i = 0; i < all->count; i++)
        if (chosen[i] == which) {
            out->of[out->atoms] = i;
            out->charge[out->atoms] = all->charge[i];
            out->radius[out->atoms++] = radius[i];
        }
    bound_part_move(out, all->x, all->y, all->z);
    return VF_OK;
}

void bound_part_move(bound_part *part, const double *x, const double *y, const double *z)
{
    for (int64_t i = 0; i < part->atoms; i++) {
        part->x[i] = x[part->of[i]];
        part->y[i] = y[part->of[i]];
        part->z[i] = z[part->of[i]];
    }
}

void bound_part_free(bound_part *part)
{
    free(part->of);
    free(part->x);
    *part = (bound_part){0};
}

vf_coulomb_atoms bound_part_charges(const bound_part *part)
{
    return (vf_coulomb_atoms){part->atoms, part->x, part->y, part->z, part->charge};
}
