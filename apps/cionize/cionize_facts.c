/* What a run of cionize tells, in the order of the report. The terminal's lines have an order of their own. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis_stage.h"
#include "cionize_facts.h"
#include "cionize_state.h"
#include "ion_stage.h"
#include "job.h"
#include "molecule/molecule_part.h"
#include "point_stage.h"
#include "solvent_stage.h"
#include "surface_stage.h"

const char *charge_text(char *text, size_t size, double charge)
{
    const double off = charge - round(charge);
    if (fabs(off) < 5e-7)
        (void)snprintf(text, size, "%+.0f e", round(charge) + 0.0);
    else
        (void)snprintf(text, size, "%+.6f e, %.2g away from an integer", charge, fabs(off));
    return text;
}

/* ---- input ---- */

static void say_molecule(facts *f, const molecule *m, const char *path)
{
    char charge[64];
    fact_only_say(f, LINE_MOLECULE, "molecule   %s: %lld atom%s, %s\n", path, (long long)m->atoms, vf_plural(m->atoms),
                  m->dialect);
    fact_only_say(f, LINE_MOLECULE, "           total charge %s\n",
                  charge_text(charge, sizeof charge, m->total_charge));
    fact_only_say(f, LINE_MOLECULE, "           x %.3f to %.3f, y %.3f to %.3f, z %.3f to %.3f A", m->lo[0], m->hi[0],
                  m->lo[1], m->hi[1], m->lo[2], m->hi[2]);
}

static void list_frames(facts *f, const cionize_state *r)
{
    const frame_selection *of = &r->frames;
    const char *path = r->settings.trajectory;
    fact_begin(f, "frames");
    fact_text(f, "path", path);
    fact_integer(f, "first", of->first + 1);
    fact_integer(f, "step", of->step);
    fact_integer(f, "count", of->count);
    fact_say(f, LINE_FRAMES, "frames     %lld of the %lld of %s, ", (long long)of->count,
             (long long)trajectory_frames(r->trajectory), trajectory_path(r->trajectory));
    if (of->count == 1)
        fact_only_say(f, LINE_FRAMES, "number %lld", (long long)of->first + 1);
    else
        fact_only_say(f, LINE_FRAMES, "from %lld in steps of %lld", (long long)of->first + 1, (long long)of->step);
    fact_end(f);
}

static void list_input(facts *f, const cionize_state *r)
{
    const cionize_settings *s = &r->settings;
    const bool split = r->water.solvent; /* water has been taken out of the molecule */
    say_molecule(f, &r->molecule, s->input);
    fact_begin(f, "input");
    fact_text(f, "path", s->input);
    if (s->charges)
        fact_text(f, "charges", s->charges);
    fact_text(f, "sha256", r->molecule.digest);
    fact_integer(f, "atoms", split ? r->water.atoms : molecule_whole_atoms(&r->molecule));
    fact_number(f, "total_charge", split ? r->water.charge : molecule_whole_charge(&r->molecule));
    fact_integer(f, "missing_atoms", r->molecule.missing_atoms);
    if (r->settings.bondi) {
        fact_integer(f, "radii_given", r->radii_given);
        fact_only_say(f, LINE_MOLECULE, "\n           %lld atom%s without a radius: Bondi's, by element",
                      (long long)r->radii_given, vf_plural(r->radii_given));
    }
    fact_end(f);
}

/* ---- grid and potential ---- */

static void say_cell(facts *f, const cionize_state *r)
{
    double lengths[3], angles[3];
    vf_cell_shape(&r->settings.cell, lengths, angles);
    fact_say(f, LINE_CELL, "cell       %g x %g x %g A, %g, %g, %g degrees%s", lengths[0], lengths[1], lengths[2],
             angles[0], angles[1], angles[2], r->plan.follows_cells ? "; mean of the frames' cells" : "");
}

static void list_grid(facts *f, const cionize_state *r)
{
    const vf_grid *g = &r->grid;
    const double *spacing = g->spacing;
    fact_begin(f, "grid");
    if (!r->water.no_map && (!only_points(r) || r->settings.points.field_map || solvent_on_grid(r))) {
        fact_only_say(f, LINE_GRID, "grid       %lld x %lld x %lld = %lld point%s, spacing ", (long long)g->counts[0],
                      (long long)g->counts[1], (long long)g->counts[2], (long long)vf_grid_points(g),
                      vf_plural(vf_grid_points(g)));
        if (spacing[0] == spacing[1] && spacing[0] == spacing[2])
            fact_only_say(f, LINE_GRID, "%g A", spacing[0]);
        else
            fact_only_say(f, LINE_GRID, "%g x %g x %g A", spacing[0], spacing[1], spacing[2]);
        fact_numbers(f, "origin", g->origin, 3);
        fact_say(f, LINE_GRID, ", origin (%g, %g, %g)", g->origin[0], g->origin[1], g->origin[2]);
        fact_numbers(f, "spacing", spacing, 3);
        fact_integers(f, "counts", g->counts, 3);
    }
    if (r->settings.cell.kind != VF_CELL_NONE) {
        fact_numbers(f, "cell", r->settings.cell.vectors[0], 9);
        say_cell(f, r);
    }
    if (r->copies > 1)
        fact_integer(f, "symmetry_copies", r->copies);
    fact_end(f);
}

static const char *boundary(const cionize_state *r)
{
    if (r->grid.cell.kind != VF_CELL_NONE && r->settings.cutoff > 0)
        return "images within the cutoff";
    return r->grid.cell.kind == VF_CELL_NONE ? "free space" : r->settings.vacuum ? "vacuum" : "tinfoil";
}

const char *cutoff_text(const cionize_settings *s, char *text, size_t size)
{
    if (s->cutoff_law == VF_CUTOFF_SWITCHED)
        snprintf(text, size, "cut off at %g A (switched from %g A)", s->cutoff, s->switch_from);
    else
        snprintf(text, size, "cut off at %g A (%s)", s->cutoff, vf_cutoff_law_name(s->cutoff_law));
    return text;
}

/* The accuracy of the method: "exact", "tolerance 1e-06" or "cut off at 12 A (plain)". */
static const char *accuracy(const cionize_state *r, char *text, size_t size)
{
    if (r->plan.method->cuts_off)
        return cutoff_text(&r->settings, text, size);
    if (r->plan.method->tolerance[r->plan.problem.precision] > 0)
        snprintf(text, size, "tolerance %g", r->plan.problem.tolerance);
    else
        snprintf(text, size, "exact");
    return text;
}

void error_facts(facts *f, const char *key, const map_error *e)
{
    if (e->asked == 0 && !(e->cutoff > 0))
        return;
    fact_begin(f, e->cutoff > 0 ? "difference" : key);
    if (e->asked > 0)
        fact_number(f, "asked", e->asked);
    fact_integer(f, "points", e->points);
    if (e->points > 0) {
        fact_number(f, "rms", e->rms);
        fact_number(f, "largest", e->largest);
    }
    fact_end(f);
}

static void say_error(facts *f, const map_error *e)
{
    if (e->points > 0 && e->cutoff > 0)
        fact_only_say(
            f, LINE_ERROR,
            "difference from the sum over all atoms: %.2g of the rms potential, %.2g at most, at %lld random points",
            e->rms, e->largest, (long long)e->points);
    else if (e->points > 0)
        fact_only_say(f, LINE_ERROR,
                      "error      %.2g of the rms potential, %.2g at most, at %lld random points; %g was asked", e->rms,
                      e->largest, (long long)e->points, e->asked);
    else if (e->asked != 0)
        fact_only_say(
            f, LINE_ERROR,
            "error      not measured, because exact sums would take too long here; its parameters are those for %g",
            e->asked);
}

/* The formula of the potential. */
static void say_potential(facts *f, const cionize_state *r)
{
    const cionize_settings *s = &r->settings;
    if (s->sigma > 0)
        fact_only_say(f, LINE_POTENTIAL, "potential  V = C sum q erf(r / (sqrt(2) %g A)) / (eps r), ", s->sigma);
    else if (s->read_map)
        fact_only_say(f, LINE_POTENTIAL, "potential  read from %s, in %s%s", s->read_map, s->unit,
                      ions_asked(r) ? "; ions: " : "");
    else
        fact_only_say(f, LINE_POTENTIAL, "potential  V = C sum q / (eps max(r, %g A)), ", s->r_min);
    if (s->read_map && !ions_asked(r))
        return;
    fact_only_say(f, LINE_POTENTIAL, "C = %.9g %s A/e", r->info.unit_constant, s->unit);
    if (strcmp(s->unit, "kT/e") == 0)
        fact_only_say(f, LINE_POTENTIAL, " at %g K", s->temperature);
    fact_only_say(f, LINE_POTENTIAL, ", eps = %g%s", s->dielectric, s->distance_dielectric ? " r/A" : "");
}

static void list_method(facts *f, const cionize_state *r)
{
    const char *method = r->plan.method->name, *periodic = r->grid.cell.kind == VF_CELL_NONE ? ""
                                                           : r->plan.method->cuts_off        ? "periodic, "
                                                                                             : "periodic, boundary ";
    char text[64];
    fact_text(f, "method", method);
    fact_text(f, "variant", r->plan.variant);
    fact_text(f, "accuracy", accuracy(r, text, sizeof text));
    if (r->plan.method->cuts_off) {
        fact_number(f, "cutoff", r->settings.cutoff);
        fact_text(f, "cutoff_law", vf_cutoff_law_name(r->settings.cutoff_law));
        if (r->settings.cutoff_law == VF_CUTOFF_SWITCHED)
            fact_number(f, "switch_from", r->settings.switch_from);
    }
    fact_text(f, "boundary", boundary(r));
    if (r->plan.slabs > 0 && !kept_is_joined(&r->kept.pieces))
        fact_say(f, LINE_METHOD, "method     %s%s: %s, %s%s", method, r->settings.method ? "" : " (auto)",
                 accuracy(r, text, sizeof text), periodic, boundary(r));
    error_facts(f, "error", &r->info.error);
}

static void list_figures(facts *f, const map_figures *of)
{
    fact_number(f, "minimum", of->minimum);
    fact_number(f, "maximum", of->maximum);
    fact_number(f, "mean", map_figures_mean(of));
    fact_number(f, "rms_deviation", map_figures_deviation(of));
}

/* Figures of a map other than that of the molecule, if it was made. The picture of one may be all that was written. */
static void list_other_map(facts *f, const cionize_state *r, const char *key, int line, const char *what,
                           const map_output *map)
{
    const map_figures *of = &map->figures;
    if (of->count == 0)
        return;
    fact_begin(f, key);
    list_figures(f, of);
    fact_end(f);
    fact_say(f, line, "%-10s %s: %.6g to %.6g %s, mean %.6g", what, map->path ? map->path : map->picture, of->minimum,
             of->maximum, r->settings.unit, map_figures_mean(of));
}

static void list_potential(facts *f, const cionize_state *r)
{
    const cionize_settings *s = &r->settings;
    const map_figures *of = &r->map.figures;
    fact_begin(f, "potential");
    say_potential(f, r);
    if (s->read_map)
        fact_text(f, "read", s->read_map);
    else if (r->plan.method)
        list_method(f, r);
    fact_text(f, "unit", s->unit);
    fact_number(f, "constant", r->info.unit_constant);
    fact_number(f, "temperature", s->temperature);
    if (dielectric_is_known(r)) {
        fact_number(f, "dielectric", s->dielectric);
        fact_bool(f, "distance_dielectric", s->distance_dielectric);
    }
    fact_number(f, "r_min", s->r_min);
    if (s->sigma > 0)
        fact_number(f, "sigma", s->sigma);
    if (map_has_background(&r->info)) {
        fact_number(f, "background_charge", -map_charge(&r->info));
        fact_say(f, LINE_BACKGROUND, "           the net charge of %+g e is neutralised by a uniform background",
                 map_charge(&r->info));
    }
    if (!r->water.no_map && !only_points(r)) {
        list_figures(f, of);
        fact_say(f, LINE_DONE, "; %.6g to %.6g %s, mean %.6g", of->minimum, of->maximum, s->unit, map_figures_mean(of));
    }
    list_other_map(f, r, "deviation", LINE_DEVIATION_DONE, "deviation", &r->deviation);
    list_other_map(f, r, "with_ions", LINE_MAP_WITH_IONS, "with ions", &r->after);
    fact_end(f);
}

/* ---- the run ---- */

static void list_devices(facts *f, const cionize_state *r)
{
    if (!r->slabs_done)
        return;
    fact_begin(f, "devices");
    for (int d = 0; d < vf_context_device_count(r->ctx); d++) {
        const vf_device *device = vf_context_device(r->ctx, d);
        fact_begin(f, vf_device_spec(device));
        fact_text(f, "name", vf_device_name(device));
        fact_integer(f, "slabs", r->slabs_done[d]);
        if (vf_device_failure(device))
            fact_text(f, "failure", vf_device_failure(device));
        fact_end(f);
    }
    fact_end(f);
}

static void say_map(facts *f, int line, const char *what, const map_output *output, const map_info *info)
{
    char text[32];
    if (output->format)
        fact_only_say(f, line, "%-10s %s: %s, about %s", what, output->path, output->format->name,
                      vf_format_bytes(map_output_bytes(output->format, info), text, sizeof text));
}

static void say_work(facts *f, const cionize_state *r)
{
    const double share = r->evaluations / fmax(r->plan.evaluations * (double)r->plan.maps, 1);
    char time[32], bytes[32];
    if (r->plan.slabs > 0 && !kept_is_joined(&r->kept.pieces))
        fact_say(f, LINE_WORK, "work       %.3g G evaluations, %s, about %s%s, %s of memory in %lld slab%s",
                 1e-9 * r->evaluations, r->method,
                 vf_format_seconds(share * r->plan.seconds * (double)r->plan.maps, time, sizeof time),
                 r->map.format ? " without writing" : "",
                 vf_format_bytes(fmax(r->memory, (double)r->plan.host_bytes), bytes, sizeof bytes),
                 (long long)r->plan.slabs, vf_plural(r->plan.slabs));
}

/* What is told of the sum itself. */
static void list_sum(facts *f, const cionize_state *r, double seconds)
{
    fact_text(f, "device", r->plan.device);
    fact_say(f, LINE_DEVICE, "device     %s", r->plan.device);
    program_facts_of_warm_up(r->ctx, f);
    list_devices(f, r);
    fact_text(f, "method", r->method);
    if (r->map.path || r->after.path)
        fact_text(f, "map", r->map.path ? r->map.path : r->after.path);
    say_map(f, LINE_MAP, "map", &r->map, &r->info);
    say_map(f, LINE_MAP_AFTER, "map", &r->after, &r->info);
    say_map(f, LINE_DEVIATION, "deviation", &r->deviation, &r->deviation_info);
    fact_number(f, "evaluations", r->evaluations);
    say_work(f, r);
    fact_number(f, "evaluations_per_second", r->evaluations / seconds);
    fact_number(f, "estimated_seconds", r->plan.seconds * (double)r->plan.maps);
}

/* The beginning of the line on the map that was made, and what follows it. */
static void say_end(facts *f, const cionize_state *r, double seconds)
{
    char text[32];
    fact_only_say(f, LINE_DONE, "%-10s %s", ions_asked(r) ? "computed" : "done",
                  vf_format_seconds(seconds, text, sizeof text));
    if (r->plan.slabs > 0 && r->evaluations > 0)
        fact_only_say(f, LINE_DONE, ", %.3g G evaluations/s", 1e-9 * r->evaluations / seconds);
    say_error(f, &r->info.error);
    fact_line(f, LINE_PICTURE, "picture", NULL, r->settings.picture ? r->settings.picture : "");
    fact_line(f, LINE_PAGE, "page", NULL, r->page.sums ? r->settings.page : "");
}

static void list_run(facts *f, const cionize_state *r, cionize_moment moment, double seconds)
{
    const bool part = kept_is_part(&r->kept.pieces);
    char text[32];
    selection_facts(f, r);
    if (r->trajectory)
        list_frames(f, r);
    point_facts(f, r);
    list_grid(f, r);
    if (part)
        kept_fact_of_end(f, LINE_DONE, vf_format_seconds(seconds, text, sizeof text));
    else
        say_end(f, r, seconds);
    if (!part || moment == TELL_PLAN)
        list_potential(f, r);
    solvent_facts(f, r);
    energy_facts(f, r);
    if (only_points(r))
        return;
    if (!part)
        analysis_facts(f, r);
    if (!part)
        surface_facts(f, r);
    kept_facts(f, LINE_PIECES, &r->kept.pieces);
    job_facts(f, LINE_JOB, &r->settings.pieces);
    if (r->placement || moment == TELL_IONS)
        ion_facts(f, r, seconds);
    if (r->water.solvent)
        water_facts(f, r);
    if (r->water.no_map)
        fact_text(f, "method", r->method);
    else
        list_sum(f, r, seconds);
}

vf_status cionize_tell(const cionize_state *r, cionize_moment moment, double seconds, vf_report *report)
{
    static const int first[] = {LINE_MOLECULE,    LINE_SELECTED, LINE_IONS,         LINE_DONE,   LINE_VALUES,
                                LINE_FIELD_FILES, LINE_ENERGY,   LINE_SOLVENT_MAPS, LINE_PLACED, LINE_PAGE};
    static const int last[] = {LINE_MOLECULE,    LINE_FORECAST, LINE_ION_FILES_PLANNED, LINE_RADIAL,        LINE_VALUES,
                               LINE_FIELD_FILES, LINE_ENERGY,   LINE_SOLVENT_MAPS,      LINE_MAP_WITH_IONS, LINE_PAGE};
    const program *p = r->settings.program;
    facts f = {0};
    list_input(&f, r);
    if (moment != TELL_MOLECULE) {
        list_run(&f, r, moment, seconds);
        forecast_facts(&f, r);
    }
    fact_stages(&f, &r->stages);
    vf_status status = VF_OK;
    if (!r->settings.quiet)
        status = facts_print(r->ctx, &f, first[moment], last[moment]);
    vf_report_run(report, "cionize", p->argc, p->argv);
    VF_TRY(status, facts_report(r->ctx, &f, report));
    facts_free(&f);
    return status;
}

vf_status cionize_facts_of_run(const cionize_state *r, double seconds, vf_report *json)
{
    facts f = {0};
    list_input(&f, r);
    list_run(&f, r, TELL_REPORT, seconds);
    forecast_facts(&f, r);
    fact_stages(&f, &r->stages);
    vf_report_run(json, "cionize", r->settings.program->argc, r->settings.program->argv);
    const vf_status status = facts_report(r->ctx, &f, json);
    facts_free(&f);
    return status;
}
