/* The stage of points and field maps: what a run prints and reports of them. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cionize_state.h"
#include "job.h"

bool points_asked(const cionize_state *r)
{
    return r->settings.points.points || r->settings.points.field_map;
}

bool only_points(const cionize_state *r)
{
    const cionize_settings *s = &r->settings;
    return points_asked(r) && !s->map && !s->picture && !s->deviation && !analyses_asked(s) && !ions_asked(r);
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
    return read_points(r->ctx, &s->points, &r->molecule, &r->at_points.set);
}

static const char *method_text(const cionize_state *r, char text[64])
{
    const vf_point_options o = point_options(&r->settings, &r->settings.cell, false);
    if (o.tolerance == 0)
        return "exact";
    snprintf(text, 64, "to %g of the rms", o.tolerance);
    return text;
}

void say_points(const cionize_state *r)
{
    static const char *const excluded[] = {"", ", each without itself", ", each without its residue"};
    const point_settings *p = &r->settings.points;
    char text[64];
    if (p->points)
        printf("points     %lld %s%s%s; %s, %s\n", (long long)r->at_points.set.count,
               r->at_points.set.atoms ? "atoms" : "of ", r->at_points.set.atoms ? "" : p->points,
               r->at_points.set.atoms ? excluded[p->exclude] : "", p->field ? "potential and field" : "potential",
               method_text(r, text));
    if (p->field_map)
        printf("field map  %lld x %lld x %lld points, %s\n", (long long)r->grid.counts[0], (long long)r->grid.counts[1],
               (long long)r->grid.counts[2], method_text(r, text));
}

static void say_error(const char *what, const map_error *e)
{
    if (e->points > 0)
        printf("           %s: rms error %.2g of the rms at %lld points, %.2g at most\n", what, e->rms,
               (long long)e->points, e->largest);
}

static vf_status run_points(cionize_state *r)
{
    const point_settings *p = &r->settings.points;
    if (!p->points)
        return VF_OK;
    vf_stage_begin(&r->stages, "points");
    const vf_status status = points_write(r->ctx, &r->at_points, &r->info);
    vf_stage_end(&r->stages);
    if (status == VF_OK && !r->settings.quiet) {
        printf("values     %s: %lld point%s", p->out, (long long)r->at_points.set.count,
               vf_plural(r->at_points.set.count));
        if (r->trajectory)
            printf(" in %lld frame%s", (long long)r->at_points.done, vf_plural(r->at_points.done));
        printf("; potential %.6g to %.6g %s, rms %.6g\n", r->at_points.least, r->at_points.most, r->settings.unit,
               r->at_points.rms);
        say_error("potential", &r->at_points.error);
        say_error("field", &r->at_points.field_error);
    }
    return status;
}

static vf_status run_field_map(cionize_state *r)
{
    if (!r->settings.points.field_map)
        return VF_OK;
    vf_stage_begin(&r->stages, "field map");
    const vf_status status = field_map_write(r->ctx, &r->settings, r->sources, &r->info, &r->field_map_error);
    vf_stage_end(&r->stages);
    if (status == VF_OK && !r->settings.quiet) {
        printf("field map  ");
        for (int a = 0; a < r->field_files; a++)
            printf("%s%s", a ? ", " : "", r->field_names[a]);
        printf("\n");
        say_error("field", &r->field_map_error);
    }
    return status;
}

vf_status points_run(cionize_state *r)
{
    if (job_is_other(&r->settings.pieces)) /* rank 0 computes them */
        return VF_OK;
    const vf_status status = run_points(r);
    return status == VF_OK ? run_field_map(r) : status;
}

void report_points(vf_report *report, const cionize_state *r)
{
    static const char *const excluded[] = {"nothing", "atom", "residue"};
    const point_settings *p = &r->settings.points;
    if (p->points) {
        vf_report_begin(report, "points");
        vf_report_text(report, "from", p->points);
        vf_report_text(report, "values", p->out);
        vf_report_integer(report, "count", r->at_points.set.count);
        vf_report_text(report, "excluded", r->at_points.set.atoms ? excluded[p->exclude] : excluded[0]);
        vf_report_text(report, "unit", r->settings.unit);
        vf_report_text(report, "method", r->at_points.info.fast ? "fast" : "exact");
        vf_report_number(report, "minimum", r->at_points.least);
        vf_report_number(report, "maximum", r->at_points.most);
        vf_report_number(report, "rms", r->at_points.rms);
        report_error(report, "error", &r->at_points.error);
        report_error(report, "field_error", &r->at_points.field_error);
        vf_report_end(report);
    }
    if (p->field_map) {
        vf_report_begin(report, "field_map");
        vf_report_text(report, "file", p->field_map);
        report_error(report, "error", &r->field_map_error);
        vf_report_end(report);
    }
}
