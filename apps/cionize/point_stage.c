/* The stage of points and field maps: what a run prints and reports of them. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis_stage.h"
#include "cionize_facts.h"
#include "cionize_state.h"
#include "ion_stage.h"
#include "job.h"
#include "point_stage.h"
#include "solvent_stage.h"
#include "surface_stage.h"

bool points_asked(const cionize_state *r)
{
    return r->settings.points.points || r->settings.points.field_map;
}

bool only_points(const cionize_state *r)
{
    const cionize_settings *s = &r->settings;
    return (points_asked(r) || energies_asked(r) || s->solvent.maps > 0) && !s->map && !s->picture && !s->deviation &&
           !analyses_asked(s) && !surface_asked(s) && !ions_asked(r);
}

vf_status points_prepare(cionize_state *r)
{
    const cionize_settings *s = &r->settings;
    if (!s->points.points)
        return VF_OK;
    r->at_points = (point_run){.settings = s,
                               .mol = &r->molecule,
                               .charge = r->acting_charge ? r->acting_charge : r->molecule.charge,
                               .trajectory = r->trajectory,
                               .frames = &r->frames,
                               .cell = s->cell,
                               .follows = r->plan.follows_cells};
    const vf_status status = read_points(r->ctx, &s->points, &r->molecule, &r->at_points.set);
    return status == VF_OK && solvent_on_grid(r) ? points_check_grid(r->ctx, &r->at_points, &r->grid) : status;
}

static const char *method_text(const cionize_state *r, char text[64])
{
    const vf_point_options o = point_options(&r->settings, &r->settings.cell, false);
    if (o.tolerance == 0)
        return "exact";
    snprintf(text, 64, "to %g of the rms", o.tolerance);
    return text;
}

static vf_status run_points(cionize_state *r)
{
    const point_settings *p = &r->settings.points;
    if (!p->points)
        return VF_OK;
    vf_status status = r->dissolved.plan ? VF_OK : solvent_solve(r);
    r->at_points.solvent = r->dissolved.plan;
    vf_stage_begin(&r->stages, "points");
    VF_TRY(status, points_write(r->ctx, &r->at_points, &r->info));
    vf_stage_end(&r->stages);
    return status == VF_OK ? cionize_tell(r, TELL_POINTS, 0, NULL) : status;
}

static vf_status run_field_map(cionize_state *r)
{
    if (!r->settings.points.field_map)
        return VF_OK;
    vf_status status = solvent_solve(r);
    vf_stage_begin(&r->stages, "field map");
    VF_TRY(status, field_map_write(r->ctx, &r->settings, r->sources, &r->info, r->dissolved.plan, &r->field_map_error));
    vf_stage_end(&r->stages);
    return status == VF_OK ? cionize_tell(r, TELL_FIELD_MAP, 0, NULL) : status;
}

vf_status points_run(cionize_state *r)
{
    if (job_is_other(&r->settings.pieces)) /* rank 0 computes them */
        return VF_OK;
    const vf_status status = run_points(r);
    return status == VF_OK ? run_field_map(r) : status;
}

/* ---- what is told ---- */

static void say_error(facts *f, int line, const char *what, const map_error *e)
{
    if (e->points > 0)
        fact_only_say(f, line, "\n           %s: rms error %.2g of the rms at %lld points, %.2g at most", what, e->rms,
                      (long long)e->points, e->largest);
}

/* The plan. */
static void say_points(facts *f, const cionize_state *r)
{
    static const char *const excluded[] = {"", ", each without itself", ", each without its residue"};
    const point_settings *p = &r->settings.points;
    const bool atoms = r->at_points.set.atoms;
    char text[64];
    fact_only_say(f, LINE_POINTS, "points     %lld %s%s%s; %s%s, %s", (long long)r->at_points.set.count,
                  atoms ? "atoms" : "of ", atoms ? "" : p->points, atoms ? excluded[p->exclude] : "",
                  p->field ? "potential and field" : "potential", solvent_on_grid(r) ? " in solvent" : "",
                  method_text(r, text));
}

static void list_points(facts *f, const cionize_state *r)
{
    static const char *const excluded[] = {"nothing", "atom", "residue"};
    const point_settings *p = &r->settings.points;
    fact_begin(f, "points");
    fact_text(f, "from", p->points);
    say_points(f, r);
    fact_text(f, "values", p->out);
    fact_say(f, LINE_VALUES, "values     %s", p->out);
    fact_integer(f, "count", r->at_points.set.count);
    fact_say(f, LINE_VALUES, ": %lld point%s", (long long)r->at_points.set.count, vf_plural(r->at_points.set.count));
    if (r->trajectory)
        fact_only_say(f, LINE_VALUES, " in %lld frame%s", (long long)r->at_points.done, vf_plural(r->at_points.done));
    fact_text(f, "excluded", r->at_points.set.atoms ? excluded[p->exclude] : excluded[0]);
    fact_text(f, "unit", r->settings.unit);
    fact_text(f, "method", r->at_points.info.fast ? "fast" : "exact");
    fact_number(f, "minimum", r->at_points.least);
    fact_say(f, LINE_VALUES, "; potential %.6g to ", r->at_points.least);
    fact_number(f, "maximum", r->at_points.most);
    fact_say(f, LINE_VALUES, "%.6g %s", r->at_points.most, r->settings.unit);
    fact_number(f, "rms", r->at_points.rms);
    fact_say(f, LINE_VALUES, ", rms %.6g", r->at_points.rms);
    error_facts(f, "error", &r->at_points.error);
    say_error(f, LINE_VALUES, "potential", &r->at_points.error);
    error_facts(f, "field_error", &r->at_points.field_error);
    say_error(f, LINE_VALUES, "field", &r->at_points.field_error);
    fact_end(f);
}

static void list_field_map(facts *f, const cionize_state *r)
{
    char text[64];
    fact_begin(f, "field_map");
    fact_text(f, "file", r->settings.points.field_map);
    fact_only_say(f, LINE_FIELD_MAP, "field map  %lld x %lld x %lld points%s, %s", (long long)r->grid.counts[0],
                  (long long)r->grid.counts[1], (long long)r->grid.counts[2], solvent_on_grid(r) ? " in solvent" : "",
                  method_text(r, text));
    for (int a = 0; a < r->field_files; a++)
        fact_only_say(f, LINE_FIELD_FILES, "%s%s", a ? ", " : "field map  ", r->field_names[a]);
    error_facts(f, "error", &r->field_map_error);
    say_error(f, LINE_FIELD_FILES, "field", &r->field_map_error);
    fact_end(f);
}

void point_facts(facts *f, const cionize_state *r)
{
    if (r->settings.points.points)
        list_points(f, r);
    if (r->settings.points.field_map)
        list_field_map(f, r);
}
