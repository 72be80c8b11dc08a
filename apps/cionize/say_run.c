/* The messages of a run on stdout, and the report. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cionize_state.h"
#include "ion_search.h"
#include "job.h"
#include "molecule/molecule_part.h"

static void say_charge(const char *what, double charge)
{
    const double off = charge - round(charge);
    if (fabs(off) < 5e-7)
        printf("           %s %+.0f e\n", what, round(charge) + 0.0);
    else
        printf("           %s %+.6f e, %.2g away from an integer\n", what, charge, fabs(off));
}

void say_molecule(const cionize_state *r)
{
    const molecule *m = &r->molecule;
    printf("molecule   %s: %lld atom%s, %s\n", r->settings.input, (long long)m->atoms, m->atoms == 1 ? "" : "s",
           m->dialect);
    say_charge("total charge", m->total_charge);
    printf("           x %.3f to %.3f, y %.3f to %.3f, z %.3f to %.3f A\n", m->lo[0], m->hi[0], m->lo[1], m->hi[1],
           m->lo[2], m->hi[2]);
}

static void say_cell(const cionize_state *r)
{
    const vf_cell *cell = &r->settings.cell;
    if (cell->kind == VF_CELL_NONE)
        return;
    double lengths[3], angles[3];
    vf_cell_shape(cell, lengths, angles);
    printf("cell       %g x %g x %g A, %g, %g, %g degrees%s\n", lengths[0], lengths[1], lengths[2], angles[0],
           angles[1], angles[2], r->plan.follows_cells ? "; mean of the frames' cells" : "");
    if (map_has_background(&r->info))
        printf("           the net charge of %+g e is neutralised by a uniform background\n", map_charge(&r->info));
}

static void say_grid(const cionize_state *r)
{
    const vf_grid *g = &r->grid;
    printf("grid       %lld x %lld x %lld = %lld point%s, spacing ", (long long)g->counts[0], (long long)g->counts[1],
           (long long)g->counts[2], (long long)vf_grid_points(g), vf_plural(vf_grid_points(g)));
    if (g->spacing[0] == g->spacing[1] && g->spacing[0] == g->spacing[2])
        printf("%g A", g->spacing[0]);
    else
        printf("%g x %g x %g A", g->spacing[0], g->spacing[1], g->spacing[2]);
    printf(", origin (%g, %g, %g)\n", g->origin[0], g->origin[1], g->origin[2]);
}

static void say_potential(const cionize_state *r)
{
    const cionize_settings *s = &r->settings;
    if (s->sigma > 0)
        printf("potential  V = C sum q erf(r / (sqrt(2) %g A)) / (eps r), C = %.9g %s A/e", s->sigma,
               r->info.unit_constant, s->unit);
    else if (s->read_map)
        printf("potential  read from %s, in %s; ions: C = %.9g %s A/e", s->read_map, s->unit, r->info.unit_constant,
               s->unit);
    else
        printf("potential  V = C sum q / (eps max(r, %g A)), C = %.9g %s A/e", s->r_min, r->info.unit_constant,
               s->unit);
    if (strcmp(s->unit, "kT/e") == 0)
        printf(" at %g K", s->temperature);
    printf(", eps = %g%s\n", s->dielectric, s->distance_dielectric ? " r/A" : "");
}

static void say_map(const char *what, const map_format *format, const char *path, const map_info *info)
{
    char text[32];
    printf("%-10s %s: %s, about %s\n", what, path, format->name,
           vf_format_bytes(map_output_bytes(format, info), text, sizeof text));
}

static void say_frames(const cionize_state *r)
{
    const frame_selection *f = &r->frames;
    printf("frames     %lld of the %lld of %s, ", (long long)f->count, (long long)trajectory_frames(r->trajectory),
           trajectory_path(r->trajectory));
    if (f->count == 1)
        printf("number %lld\n", (long long)f->first + 1);
    else
        printf("from %lld in steps of %lld\n", (long long)f->first + 1, (long long)f->step);
}

static const char *boundary(const cionize_state *r)
{
    return r->grid.cell.kind == VF_CELL_NONE ? "free space" : r->settings.vacuum ? "vacuum" : "tinfoil";
}

/* The accuracy of the method: "exact", or "tolerance 1e-06". */
static const char *accuracy(const cionize_state *r, char *text, size_t size)
{
    if (r->plan.method->tolerance[r->plan.problem.precision] > 0)
        snprintf(text, size, "tolerance %g", r->plan.problem.tolerance);
    else
        snprintf(text, size, "exact");
    return text;
}

/* What is told of ranks and pieces. */
enum { LINE_JOB = 1, LINE_PIECES, LINE_LAST = LINE_PIECES + 2 };
static void list_pieces(facts *f, const cionize_state *r)
{
    kept_facts(f, LINE_PIECES, &r->kept.pieces);
    job_facts(f, LINE_JOB, &r->settings.pieces);
}

vf_status say_plan(const cionize_state *r)
{
    facts pieces = {0};
    char text[32];
    say_selections(r);
    if (!r->water.no_map && (!only_points(r) || r->settings.points.field_map))
        say_grid(r);
    say_cell(r);
    say_potential(r);
    if (r->trajectory)
        say_frames(r);
    say_water(r);
    say_points(r);
    if (r->water.no_map || only_points(r)) {
        fflush(stdout);
        return VF_OK;
    }
    const bool computes = r->plan.slabs > 0 && !kept_is_joined(&r->kept.pieces);
    const double share = r->evaluations / fmax(r->plan.evaluations * (double)r->plan.maps, 1);
    printf("device     %s\n", r->plan.device);
    if (computes) {
        printf("method     %s%s: %s, %s%s\n", r->plan.method->name, r->settings.method ? "" : " (auto)",
               accuracy(r, text, sizeof text), r->grid.cell.kind == VF_CELL_NONE ? "" : "periodic, boundary ",
               boundary(r));
        printf("work       %.3g G evaluations, %s, about %s", 1e-9 * r->evaluations, r->method,
               vf_format_seconds(share * r->plan.seconds * (double)r->plan.maps, text, sizeof text));
        printf("%s, %s of memory in %lld slab%s\n", r->map.format ? " without writing" : "",
               vf_format_bytes(fmax(r->memory, (double)r->plan.host_bytes), text, sizeof text),
               (long long)r->plan.slabs, r->plan.slabs == 1 ? "" : "s");
    }
    list_pieces(&pieces, r);
    const vf_status status = facts_print(r->ctx, &pieces, LINE_JOB, LINE_LAST);
    facts_free(&pieces);
    if (r->map.format)
        say_map("map", r->map.format, r->map.path, &r->info);
    if (r->after.format)
        say_map("map", r->after.format, r->after.path, &r->info);
    if (r->deviation.format)
        say_map("deviation", r->deviation.format, r->deviation.path, &r->deviation_info);
    fflush(stdout);
    return status;
}

/* ---- ions ---- */

/* The unit of charge times potential. */
static const char *energy_unit(const cionize_state *r)
{
    static const char *const units[][2] = {{"kT/e", "kT"}, {"V", "eV"}, {"kcal/mol/e", "kcal/mol"}, {"e/A", "e^2/A"}};
    for (size_t n = 0; n < sizeof units / sizeof *units; n++)
        if (strcmp(r->settings.unit, units[n][0]) == 0)
            return units[n][1];
    return "?";
}

static double charge_with_ions(const cionize_state *r)
{
    double charge = whole_molecule(r)->total_charge;
    for (int64_t n = 0; n < r->placed.count; n++)
        charge += r->placed.kinds[r->placed.sites[n].kind].charge;
    return charge;
}

static void say_ion_files(const cionize_state *r)
{
    const char *const files[][2] = {{"ionized", r->ions.ionized}, {"ions", r->ions.ions}, {"mask", r->ions.mask}};
    for (size_t n = 0; n < sizeof files / sizeof *files; n++)
        if (files[n][1])
            printf("%-10s %s\n", files[n][0], files[n][1]);
    for (int64_t n = 0; n < r->script.commands; n++)
        if (r->script.command[n].path)
            printf("%-10s %s\n", r->script.command[n].verb == SCRIPT_SAVEION ? "ions" : "map",
                   r->script.command[n].path);
}

void say_ions(const cionize_state *r)
{
    static const char *const orders[] = {"one kind after another", "kinds in turn", "largest charges first"};
    int kinds = 0;
    printf("ions      %s", r->wanted == 0 ? " none" : "");
    for (int n = 0; n < r->requests; n++)
        if (r->request[n].count > 0)
            printf("%s %lld %s (%+g)", kinds++ ? "," : "", (long long)r->request[n].count, r->request[n].kind.name,
                   r->request[n].kind.charge);
    printf("%s%s\n", kinds > 1 && !r->ions.script ? ", " : "",
           kinds > 1 && !r->ions.script ? orders[r->ions.order] : "");
    printf("           %g A or more from atoms' %s, %g A from each other%s\n", r->ions.ion_solute,
           r->ions.from_surface ? "surfaces" : "centres", r->ions.ion_ion,
           r->ions.refine ? ", refined off the grid" : "");
    if (r->ions.demand.has_concentration && r->water.solvent && r->solvent == 0)
        printf("           each in the place of a water molecule; %g mol/L of the %lld left, %.5g mol in a litre\n",
               r->ions.demand.concentration, (long long)(r->water.count - r->wanted), WATER_MOLARITY);
    else if (r->water.solvent)
        printf("           each in the place of a water molecule\n");
    if (r->solvent > 0)
        printf("           %.4g A^3 of solvent%s\n", r->solvent, r->trajectory ? ", mean over frames" : "");
    if (r->settings.dry_run)
        say_ion_files(r);
    fflush(stdout);
}

/* "ALA A 12B" */
static void say_residue(const atom_label *label)
{
    printf(" %s%s%s ", label->residue, *label->chain ? " " : "", label->chain);
    if (*label->number_text)
        printf("%s", label->number_text);
    else
        printf("%d%.1s", (int)label->residue_number, &label->insertion);
}

static void say_replaced(const cionize_state *r)
{
    enum { SHOWN = 4 };
    const int64_t count = r->placed.count;
    if (!r->water.replaced || count == 0)
        return;
    printf("           in the place of");
    for (int64_t n = 0; n < count && n < SHOWN; n++) {
        printf("%s", n ? "," : "");
        say_residue(&r->water.replaced[n]);
    }
    if (count > SHOWN)
        printf(" and %lld more", (long long)(count - SHOWN));
    printf("; %lld water molecule%s left\n", (long long)(r->water.found.count - count),
           r->water.found.count - count == 1 ? " is" : "s are");
}

void say_placed(const cionize_state *r, double seconds)
{
    const ion_list *list = &r->placed;
    const double points = r->water.solvent ? (double)r->water.count : (double)vf_grid_points(&r->grid);
    char text[32];
    double least = INFINITY, most = -INFINITY;
    for (int64_t n = 0; n < list->count; n++) {
        least = fmin(least, list->sites[n].energy);
        most = fmax(most, list->sites[n].energy);
    }
    printf("placed     %lld of %lld ion%s, %s", (long long)list->count, (long long)r->wanted, vf_plural(r->wanted),
           vf_format_seconds(seconds, text, sizeof text));
    if (list->count > 0)
        printf("; energies %.6g to %.6g %s", least, most, energy_unit(r));
    printf("\n           the solute excludes %.3g %% of the %s\n", 100 * (double)r->points[VF_ION_SOLUTE] / points,
           r->water.solvent ? "water" : "grid");
    say_replaced(r);
    /* Of charges in a file with few decimals, those of water add up to something; ions are counted as if they did not. */
    const double water = r->water.solvent ? whole_molecule(r)->total_charge - r->molecule.total_charge : 0;
    if (fabs(water) > 0.005)
        say_charge("with the ions, and water as neutral, the total charge is", charge_with_ions(r) - water);
    else
        say_charge("with the ions, the total charge is", charge_with_ions(r));
    say_ion_files(r);
}

static void say_error(const map_error *e)
{
    if (e->asked == 0)
        return;
    if (e->points > 0)
        printf("error      %.2g of the rms potential, %.2g at most, at %lld random points; %g was asked\n", e->rms,
               e->largest, (long long)e->points, e->asked);
    else
        printf(
            "error      not measured, because exact sums would take too long here; its parameters are those for %g\n",
            e->asked);
}

vf_status say_done(const cionize_state *r, double seconds)
{
    char text[32];
    const map_figures *f = &r->map.figures;
    const kept_pieces *pieces = &r->kept.pieces;
    if (kept_is_part(pieces)) {
        facts end = {0};
        kept_fact_of_end(&end, 1, vf_format_seconds(seconds, text, sizeof text));
        const vf_status status = facts_print(r->ctx, &end, 1, 1);
        facts_free(&end);
        return status;
    }
    printf("%-10s %s", ions_asked(r) ? "computed" : "done", vf_format_seconds(seconds, text, sizeof text));
    if (r->plan.slabs > 0 && r->evaluations > 0)
        printf(", %.3g G evaluations/s", 1e-9 * r->evaluations / seconds);
    printf("; %.6g to %.6g %s, mean %.6g\n", f->minimum, f->maximum, r->settings.unit, map_figures_mean(f));
    say_error(&r->info.error);
    if (r->settings.picture)
        printf("picture    %s\n", r->settings.picture);
    say_analyses(r);
    return VF_OK;
}

/* ---- the report ---- */

static void report_devices(vf_report *report, const cionize_state *r)
{
    if (!r->slabs_done)
        return;
    vf_report_begin(report, "devices");
    for (int d = 0; d < vf_context_device_count(r->ctx); d++) {
        const vf_device *device = vf_context_device(r->ctx, d);
        vf_report_begin(report, vf_device_spec(device));
        vf_report_text(report, "name", vf_device_name(device));
        vf_report_integer(report, "slabs", r->slabs_done[d]);
        if (vf_device_failure(device))
            vf_report_text(report, "failure", vf_device_failure(device));
        vf_report_end(report);
    }
    vf_report_end(report);
}

void report_input(vf_report *report, const cionize_state *r)
{
    const cionize_settings *s = &r->settings;
    vf_report_begin(report, "input");
    vf_report_text(report, "path", s->input);
    if (s->charges)
        vf_report_text(report, "charges", s->charges);
    vf_report_text(report, "sha256", r->molecule.digest);
    vf_report_integer(report, "atoms", r->water.solvent ? r->water.atoms : molecule_whole_atoms(&r->molecule));
    vf_report_number(report, "total_charge", r->water.solvent ? r->water.charge : molecule_whole_charge(&r->molecule));
    vf_report_integer(report, "missing_atoms", r->molecule.missing_atoms);
    vf_report_end(report);
    report_selections(report, r);
    if (!r->trajectory)
        return;
    vf_report_begin(report, "frames");
    vf_report_text(report, "path", s->trajectory);
    vf_report_integer(report, "first", r->frames.first + 1);
    vf_report_integer(report, "step", r->frames.step);
    vf_report_integer(report, "count", r->frames.count);
    vf_report_end(report);
}

void report_error(vf_report *report, const char *key, const map_error *e)
{
    if (e->asked == 0)
        return;
    vf_report_begin(report, key);
    vf_report_number(report, "asked", e->asked);
    vf_report_integer(report, "points", e->points);
    if (e->points > 0) {
        vf_report_number(report, "rms", e->rms);
        vf_report_number(report, "largest", e->largest);
    }
    vf_report_end(report);
}

static void report_potential(vf_report *report, const cionize_state *r)
{
    const cionize_settings *s = &r->settings;
    const map_figures *f = &r->map.figures;
    char text[32];
    vf_report_begin(report, "potential");
    if (s->read_map) {
        vf_report_text(report, "read", s->read_map);
    } else if (r->plan.method) {
        vf_report_text(report, "method", r->plan.method->name);
        vf_report_text(report, "variant", r->plan.variant);
        vf_report_text(report, "accuracy", accuracy(r, text, sizeof text));
        vf_report_text(report, "boundary", boundary(r));
        report_error(report, "error", &r->info.error);
    }
    vf_report_text(report, "unit", s->unit);
    vf_report_number(report, "constant", r->info.unit_constant);
    vf_report_number(report, "temperature", s->temperature);
    vf_report_number(report, "dielectric", s->dielectric);
    vf_report_bool(report, "distance_dielectric", s->distance_dielectric);
    vf_report_number(report, "r_min", s->r_min);
    if (s->sigma > 0)
        vf_report_number(report, "sigma", s->sigma);
    if (map_has_background(&r->info))
        vf_report_number(report, "background_charge", -map_charge(&r->info));
    if (!r->water.no_map && !only_points(r)) {
        vf_report_number(report, "minimum", f->minimum);
        vf_report_number(report, "maximum", f->maximum);
        vf_report_number(report, "mean", map_figures_mean(f));
        vf_report_number(report, "rms_deviation", map_figures_deviation(f));
    }
    vf_report_end(report);
}

/* One component of all ions, in the order of placement. */
static void report_sites(vf_report *report, const cionize_state *r, const char *key, int what, double *values)
{
    for (int64_t n = 0; n < r->placed.count; n++)
        values[n] = what < 3 ? r->placed.sites[n].position[what] : r->placed.sites[n].energy;
    vf_report_numbers(report, key, values, (int)r->placed.count);
}

static void report_ions(vf_report *report, const cionize_state *r)
{
    static const char *const keys[] = {"x", "y", "z", "energy"};
    double *values = malloc((size_t)(r->placed.count + 1) * sizeof *values);
    const char **names = malloc((size_t)(r->placed.count + 1) * sizeof *names);
    if (values && names) {
        vf_report_begin(report, "ions");
        vf_report_number(report, "ion_solute", r->ions.ion_solute);
        vf_report_number(report, "ion_ion", r->ions.ion_ion);
        vf_report_bool(report, "from_surface", r->ions.from_surface);
        vf_report_bool(report, "refined", r->ions.refine);
        vf_report_integers(report, r->water.solvent ? "waters_free_solute_ions" : "points_free_solute_ions", r->points,
                           3);
        if (r->solvent > 0)
            vf_report_number(report, "solvent_volume", r->solvent);
        vf_report_integer(report, "asked", r->placed.count + r->missing);
        vf_report_integer(report, "placed", r->placed.count);
        vf_report_number(report, "total_charge", charge_with_ions(r));
        vf_report_text(report, "energy_unit", energy_unit(r));
        for (int64_t n = 0; n < r->placed.count; n++)
            names[n] = r->placed.kinds[r->placed.sites[n].kind].name;
        vf_report_texts(report, "name", names, (int)r->placed.count);
        for (int what = 0; what < 4; what++)
            report_sites(report, r, keys[what], what, values);
        vf_report_end(report);
    }
    free(values);
    free(names);
}

static void report_grid(vf_report *report, const cionize_state *r)
{
    const vf_cell *cell = &r->settings.cell;
    vf_report_begin(report, "grid");
    if (!r->water.no_map && (!only_points(r) || r->settings.points.field_map)) {
        vf_report_numbers(report, "origin", r->grid.origin, 3);
        vf_report_numbers(report, "spacing", r->grid.spacing, 3);
        vf_report_integers(report, "counts", r->grid.counts, 3);
    }
    if (cell->kind != VF_CELL_NONE)
        vf_report_numbers(report, "cell", cell->vectors[0], 9);
    if (r->copies > 1)
        vf_report_integer(report, "symmetry_copies", r->copies);
    vf_report_end(report);
}

static vf_status report_division(vf_report *report, const cionize_state *r)
{
    facts f = {0};
    list_pieces(&f, r);
    const vf_status status = facts_report(r->ctx, &f, report);
    facts_free(&f);
    return status;
}

static vf_status report_warm_up(vf_report *report, const cionize_state *r)
{
    facts f = {0};
    program_facts_of_warm_up(r->ctx, &f);
    const vf_status status = facts_report(r->ctx, &f, report);
    facts_free(&f);
    return status;
}

vf_status report_run(vf_report *report, const cionize_state *r, double seconds)
{
    const cionize_settings *s = &r->settings;
    if (!report)
        return VF_OK;
    vf_report_run(report, "cionize", s->program->argc, s->program->argv);
    report_input(report, r);
    report_points(report, r);
    report_grid(report, r);
    if (only_points(r)) {
        report_potential(report, r);
        vf_report_stages(report, &r->stages);
        return VF_OK;
    }
    if (!kept_is_part(&r->kept.pieces))
        report_potential(report, r);
    if (!kept_is_part(&r->kept.pieces))
        report_analyses(report, r);
    vf_status status = report_division(report, r);
    if (r->placement)
        report_ions(report, r);
    if (r->water.solvent)
        report_water(report, r);
    if (r->water.no_map) {
        vf_report_text(report, "method", r->method);
        vf_report_stages(report, &r->stages);
        return status;
    }
    vf_report_text(report, "device", r->plan.device);
    VF_TRY(status, report_warm_up(report, r));
    report_devices(report, r);
    vf_report_text(report, "method", r->method);
    if (r->map.path || r->after.path)
        vf_report_text(report, "map", r->map.path ? r->map.path : r->after.path);
    vf_report_number(report, "evaluations", r->evaluations);
    vf_report_number(report, "evaluations_per_second", r->evaluations / seconds);
    vf_report_number(report, "estimated_seconds", r->plan.seconds * (double)r->plan.maps);
    vf_report_stages(report, &r->stages);
    return status;
}
