/* The stage of a molecule in a solvent (--solvent): the equation is solved before the map, whose layers, the Coulomb potential of the
 * charges in a medium of the molecule's dielectric, then become those of the solution. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cionize_facts.h"
#include "cionize_state.h"
#include "job.h"
#include "molecule/atom_radii.h"
#include "molecule/molecule_part.h"
#include "molecule/select_atoms.h"
#include "potential/plan_grid.h"
#include "potential/potential_common.h"
#include "solvent/solvent_maps.h"
#include "solvent_stage.h"
#include "voxfield/append.h"
#include "voxfield/multigrid.h"

/* Spacings from here on leave holes in atoms' spheres, angstrom. */
static const double g_coarse = 1;

/* What a file rounds of a cell anyway, angstrom. */
static const double g_rounding = 1e-3;

/* What a picture in kT/e shows, as people do: -5 to 5. */
static const double g_picture_range = 5;

static const char *surface_name(int kind)
{
    static const char *const names[] = {[VF_SURFACE_VAN_DER_WAALS] = "vdw",
                                        [VF_SURFACE_ACCESSIBLE] = "sas",
                                        [VF_SURFACE_EXCLUDED] = "ses",
                                        [VF_SURFACE_SMOOTH] = "smooth"};
    return names[kind];
}

/* "0.15", or "2:0.1, -1:0.2" */
static const char *salt_text(const solvent_settings *s, char *text, size_t size)
{
    (void)snprintf(text, size, "%s", "");
    if (s->ions == 0)
        (void)vf_append(text, size, "%g", s->strength);
    for (int i = 0; i < s->ions; i++)
        (void)vf_append(text, size, "%s%g:%g", i ? ", " : "", s->ion[i].charge, s->ion[i].concentration);
    return text;
}

/* ---- the molecule ---- */

/* The atoms that the option names, or all that are not water: the solvent stands for water. */
static vf_status choose_solute(cionize_state *r, bool *chosen, int64_t *water)
{
    water_list found = {0};
    atom_selection *s = NULL;
    vf_status status = VF_OK;
    *water = 0;
    if (r->settings.solute) {
        status = selection_parse(r->ctx, "--solute", r->settings.solute, &s);
        VF_TRY(status, selection_apply(r->ctx, s, &r->molecule, &r->settings.cell, chosen));
        selection_free(s);
        return status;
    }
    for (int64_t i = 0; i < r->molecule.atoms; i++)
        chosen[i] = true;
    status = find_water(r->ctx, &r->molecule, false, &found);
    for (int64_t n = 0; status == VF_OK && n < found.count; n++)
        for (int64_t i = 0; i < found.at[n].atoms; i++)
            chosen[found.at[n].first + i] = false;
    *water = found.count;
    water_list_free(&found);
    return status;
}

vf_status solvent_take_molecule(cionize_state *r)
{
    if (!r->settings.solvent.on)
        return VF_OK;
    const int64_t before = r->molecule.atoms;
    int64_t left = 0;
    bool *chosen = malloc((size_t)before * sizeof *chosen);
    vf_status status = chosen ? VF_OK : vf_fail(r->ctx, VF_ERR_MEMORY, "no memory to select atoms");
    VF_TRY(status, choose_solute(r, chosen, &r->dissolved.water));
    for (int64_t i = 0; status == VF_OK && i < before; i++)
        left += chosen[i];
    if (status == VF_OK && left == 0)
        status = vf_fail(r->ctx, VF_ERR_INPUT,
                         "%s: all atoms are water, so there is nothing to dissolve; add --solute all to keep them",
                         r->settings.input);
    if (status == VF_OK && left < before)
        status = molecule_reduce(r->ctx, &r->molecule, chosen);
    free(chosen);
    r->dissolved.left_out = before - left;
    r->settings.solute = NULL; /* it is done, and the others do not act */
    return status;
}

/* The grid's number of points along each axis of a cell of right angles must be one that can be halved. */
static vf_status check_counts(const cionize_state *r)
{
    for (int a = 0; r->grid.cell.kind == VF_CELL_ORTHORHOMBIC && a < 3; a++) {
        const int64_t n = r->grid.counts[a], good = vf_multigrid_periodic_count((double)n);
        if (n != good)
            return vf_fail(r->ctx, VF_ERR_ARGUMENT,
                           "--counts: %lld points along %c cannot be halved often enough for --solvent in a cell; use "
                           "%lld, or another number of at most 15 times a power of 2",
                           (long long)n, "xyz"[a], (long long)good);
    }
    return VF_OK;
}

vf_status solvent_prepare(cionize_state *r)
{
    const solvent_settings *s = &r->settings.solvent;
    if (!s->on)
        return VF_OK;
    vf_status status = molecule_check_radii(r->ctx, r->settings.input, &r->molecule);
    VF_TRY(status, dissolve_options(&r->settings, r->ctx, &r->dissolved.options));
    if (status == VF_OK && s->energies)
        status = is_in_memory(s->energies) ? VF_OK : energies_check_path(r->ctx, s->energies);
    return status;
}

/* The spacing with which a solution takes half of the memory, rounded up. */
static double fitting_spacing(const cionize_state *r, double bytes, double available)
{
    const double *h = r->grid.spacing;
    return ceil(100 * cbrt(h[0] * h[1] * h[2] * bytes / (0.5 * available))) / 100;
}

/* The cell that the grid covers, whose oblique vectors end at points. Frames have cells of their own, rounded one by one. */
static void round_cell(cionize_state *r)
{
    for (int n = 0; r->grid.cell.kind == VF_CELL_TRICLINIC && n < 9; n++)
        r->dissolved.rounded = fmax(r->dissolved.rounded,
                                    fabs(r->grid.cell.vectors[n / 3][n % 3] - r->settings.cell.vectors[n / 3][n % 3]));
    if (r->grid.cell.kind == VF_CELL_TRICLINIC && !r->trajectory)
        r->settings.cell = r->grid.cell;
}

vf_status solvent_check_grid(cionize_state *r)
{
    const double *h = r->grid.spacing, widest = fmax(h[0], fmax(h[1], h[2]));
    char need[32], have[32];
    uint64_t available = 0, total = 0;
    if (!r->settings.solvent.on)
        return VF_OK;
    const vf_status status = check_counts(r);
    if (status != VF_OK)
        return status;
    round_cell(r);
    r->dissolved.memory = (double)vf_solvent_bytes(&r->grid, r->molecule.atoms, &r->dissolved.options);
    vf_host_memory(&available, &total);
    if (r->dissolved.memory > (double)available)
        return vf_fail(
            r->ctx, VF_ERR_MEMORY,
            "--solvent: %lld x %lld x %lld points take %s of memory, and %s is available; a --spacing of %g would take "
            "half of it",
            (long long)r->grid.counts[0], (long long)r->grid.counts[1], (long long)r->grid.counts[2],
            vf_format_bytes(r->dissolved.memory, need, sizeof need),
            vf_format_bytes((double)available, have, sizeof have),
            fitting_spacing(r, r->dissolved.memory, (double)available));
    if (widest > g_coarse)
        vf_warn(r->ctx,
                "--solvent: a spacing of %g A is too coarse for the surface of a molecule: energies and potentials may "
                "be wrong by tens "
                "of per cent; use at most %g A, or --accuracy-energy",
                widest, g_coarse);
    return VF_OK;
}

void solvent_describe(cionize_state *r)
{
    const cionize_settings *c = &r->settings;
    const solvent_settings *s = &c->solvent;
    char salt[120];
    if (!s->on)
        return;
    vf_append(r->method, sizeof r->method, "; in solvent of eps %g with salt of %s mol/L%s, surface %s",
              s->solvent_dielectric, salt_text(s, salt, sizeof salt), s->non_linear ? ", non-linear" : "",
              surface_name(s->surface));
    /* A picture needs no more than its pixels. */
    r->dissolved.surface = (vf_surface_options){(vf_surface_kind)s->surface,
                                                s->surface == VF_SURFACE_VAN_DER_WAALS ? 0 : s->probe, 1, 0.3};
    r->info.surface = &r->dissolved.surface;
    r->info.salted = r->dissolved.options.kappa > 0;
    r->info.range = g_picture_range * r->info.unit_constant / potential_constant("kT/e", c->temperature);
}

/* ---- the solution ---- */

bool solvent_on_grid(const cionize_state *r)
{
    return r->settings.solvent.on && !r->settings.trajectory;
}

vf_status solvent_solve(cionize_state *r)
{
    const solvent_settings *s = &r->settings.solvent;
    const vf_coulomb_atoms atoms = acting_atoms(r);
    if (!s->on || r->dissolved.plan)
        return VF_OK;
    vf_stage_begin(&r->stages, "solve");
    const vf_status status =
        dissolve(r->ctx, &r->grid, &atoms, r->molecule.radius, &r->dissolved.options, &r->dissolved.plan);
    r->dissolved.solved = status == VF_OK;
    if (r->dissolved.solved)
        r->dissolved.outcome = vf_solvent_outcome(r->dissolved.plan);
    const double edge = r->dissolved.outcome.edge;
    if (edge > 1)
        vf_warn(r->ctx,
                "the potential is up to %.2g kT/e at the edge of the grid, where the linear equation is taken to hold; "
                "use a "
                "larger --border",
                edge);
    return status;
}

vf_status solvent_layers(cionize_state *r, int64_t first, int64_t count, const void **values)
{
    const int axis = potential_slab_axis(r->map.order);
    vf_box box = vf_grid_box(&r->grid);
    if (!r->dissolved.plan)
        return VF_OK;
    box.lo[axis] = first;
    box.hi[axis] = first + count;
    const size_t bytes = (size_t)vf_box_points(&box) * vf_dtype_bytes(r->settings.precision);
    if (bytes > r->dissolved.bytes) {
        char *larger = realloc(r->dissolved.layers, bytes);
        if (!larger)
            return vf_fail(r->ctx, VF_ERR_MEMORY, "no memory for %lld layers of the map", (long long)count);
        r->dissolved.layers = larger;
        r->dissolved.bytes = bytes;
    }
    memcpy(r->dissolved.layers, *values, bytes);
    *values = r->dissolved.layers;
    return vf_solvent_add(r->dissolved.plan, &box, r->map.order == MAP_Z_FASTEST, r->settings.precision,
                          r->info.unit_constant, r->dissolved.layers);
}

/* How ions in a cell act: with their images; without salt, with a background that neutralises them, as the molecule. */
static vf_status act_in_cell(cionize_state *r, vf_pair_potential *pair)
{
    const double kappa = pair->kappa;
    pair->law = VF_PAIR_PERIODIC;
    pair->cell = r->grid.cell;
    pair->kappa = 0;
    if (kappa == 0)
        return VF_OK;
    pair->value = vf_screened_images_value;
    const vf_status status =
        vf_screened_images_create(r->ctx, &r->grid.cell, kappa, r->settings.r_min, &r->dissolved.images);
    pair->state = r->dissolved.images;
    return status;
}

vf_status solvent_for_ions(cionize_state *r)
{
    const vf_solvent_options *o = &r->dissolved.options;
    if (!r->settings.solvent.on)
        return VF_OK;
    const double contact = o->kappa * o->stern;
    /* The sphere of the ion lies in the solvent: a probe around its centre touches no atom, or one whose centre is on the surface. */
    const double gap = o->surface == VF_SURFACE_VAN_DER_WAALS ? o->stern
                       : o->surface == VF_SURFACE_ACCESSIBLE  ? o->stern + o->probe
                                                              : fmax(o->stern, o->probe);
    r->dissolved.of_ions =
        (ion_solvent){.pair = {.law = VF_PAIR_SCREENED,
                               .scale = potential_constant(r->settings.unit, r->settings.temperature) * exp(contact) /
                                        ((1 + contact) * o->solvent_dielectric),
                               .r_min = r->settings.r_min,
                               .kappa = o->kappa},
                      .gap = gap};
    vf_solvent_destroy(r->dissolved.plan);
    r->dissolved.plan = NULL;
    return r->grid.cell.kind == VF_CELL_NONE ? VF_OK : act_in_cell(r, &r->dissolved.of_ions.pair);
}

/* ---- maps of what it is made of ---- */

static vf_status write_map(cionize_state *r, const solvent_map *map, float *values)
{
    const vf_coulomb_atoms atoms = acting_atoms(r);
    const potential_plan plan = {.problem = {.grid = r->grid, .precision = VF_F32}};
    map_info info = r->info;
    map_output out = {.ctx = r->ctx, .path = map->path, .info = &info};
    info.type = VF_F32;
    info.quantity = solvent_map_kinds[map->kind].quantity;
    info.unit = "";
    info.placed = NULL;
    vf_status status = map_format_for(r->ctx, map->path, &out.format);
    VF_TRY(status, solvent_map_values(r->ctx, map->kind, r->dissolved.plan, &r->grid, &atoms, r->molecule.radius,
                                      &r->dissolved.options, values));
    VF_TRY(status, write_stored_map(r->ctx, &plan, values, NULL, &out));
    map_output_discard(&out);
    return status;
}

vf_status solvent_write_maps(cionize_state *r)
{
    const solvent_settings *s = &r->settings.solvent;
    if (s->maps == 0 || kept_is_part(&r->kept.pieces) || job_is_other(&r->settings.pieces))
        return VF_OK;
    const int64_t points = vf_grid_points(&r->grid);
    float *values = malloc((size_t)points * sizeof *values);
    vf_status status = values ? solvent_solve(r)
                              : vf_fail(r->ctx, VF_ERR_MEMORY, "no memory for a map of %lld points", (long long)points);
    vf_stage_begin(&r->stages, "write");
    for (int n = 0; status == VF_OK && n < s->maps; n++)
        status = write_map(r, &s->map[n], values);
    vf_stage_end(&r->stages);
    free(values);
    return status == VF_OK ? cionize_tell(r, TELL_SOLVENT_MAPS, 0, NULL) : status;
}

/* ---- what is told ---- */

void solvent_facts(facts *f, const cionize_state *r)
{
    const solvent_settings *s = &r->settings.solvent;
    const double kappa = r->dissolved.options.kappa;
    char salt[160];
    if (!s->on)
        return;
    fact_begin(f, "solvent");
    fact_text(f, "equation", s->non_linear ? "non-linear" : "linear");
    fact_number(f, "solute_dielectric", s->molecule_dielectric);
    fact_number(f, "solvent_dielectric", s->solvent_dielectric);
    fact_say(f, LINE_SOLVENT_PLAN, "solvent    dielectric %g, %g in the molecule", s->solvent_dielectric,
             s->molecule_dielectric);
    fact_text(f, "salt", salt_text(s, salt, sizeof salt));
    if (kappa > 0) {
        fact_number(f, "debye_length", 1 / kappa);
        fact_only_say(f, LINE_SOLVENT_PLAN, "; salt of %s mol/L (Debye length %.3g A)%s", salt, 1 / kappa,
                      s->non_linear ? ", non-linear equation" : "");
    }
    fact_number(f, "stern", s->stern);
    fact_number(f, "probe", s->probe);
    fact_text(f, "surface", surface_name(s->surface));
    fact_say(f, LINE_SOLVENT_PLAN, "; surface %s", surface_name(s->surface));
    if (s->surface != VF_SURFACE_VAN_DER_WAALS)
        fact_only_say(f, LINE_SOLVENT_PLAN, ", probe %g A", s->probe);
    spacing_facts(f, r);
    if (r->dissolved.rounded > 0)
        fact_number(f, "cell_rounding", r->dissolved.rounded);
    if (r->dissolved.rounded > g_rounding)
        fact_only_say(f, LINE_SOLVENT_PLAN,
                      "\n           the cell's oblique vectors are rounded by at most %.2g A, to end at grid points",
                      r->dissolved.rounded);
    fact_number(f, "memory", r->dissolved.memory);
    char memory[32], time[32];
    if (!r->trajectory && r->dissolved.memory > 0)
        fact_only_say(f, LINE_SOLVENT_PLAN, "\n           about %s, %s of memory",
                      vf_format_seconds(forecast_solution(r), time, sizeof time),
                      vf_format_bytes(r->dissolved.memory, memory, sizeof memory));
    fact_integer(f, "left_out", r->dissolved.left_out);
    if (r->dissolved.water > 0)
        fact_only_say(f, LINE_SOLVENT_PLAN,
                      "\n           %lld water molecule%s of the file left out, for which the solvent stands",
                      (long long)r->dissolved.water, vf_plural(r->dissolved.water));
    for (int n = 0; n < s->maps; n++) {
        fact_text(f, solvent_map_kinds[s->map[n].kind].name, s->map[n].path);
        fact_say(f, LINE_SOLVENT_MAPS, "%s%-10s %s", n ? "\n" : "", solvent_map_kinds[s->map[n].kind].name,
                 s->map[n].path);
    }
    if (r->dissolved.solved) {
        const vf_solvent_result result = r->dissolved.outcome;
        if (s->non_linear)
            fact_integer(f, "steps", result.steps);
        fact_integer(f, "iterations", result.iterations);
        fact_number(f, "residual", result.residual);
    }
    fact_end(f);
}

void solvent_free(cionize_state *r)
{
    vf_solvent_destroy(r->dissolved.plan);
    vf_screened_images_destroy(r->dissolved.images);
    free(r->dissolved.layers);
    free(r->dissolved.atoms.reaction);
    free(r->dissolved.of);
    for (int n = 0; n < 2; n++)
        bound_part_free(&r->dissolved.part[n]);
}
