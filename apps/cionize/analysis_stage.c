/* Studies of the map: its difference to another map, its profile along an axis with the charges' own, and its values by distance from
 * the molecule's surface. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis_stage.h"
#include "cionize_facts.h"
#include "cionize_page.h"
#include "cionize_state.h"
#include "molecule/atom_radii.h"
#include "molecule/molecule_part.h"
#include "potential/periodic_frames.h"
#include "voxfield/output.h"

bool analyses_asked(const cionize_settings *s)
{
    return s->compare || s->has_profile || s->radial || s->page;
}

/* ---- the profile's check ---- */

/* Why the double integral of the charge density is not the profile; NULL: it is. */
static const char *no_check(const cionize_state *r)
{
    const vf_cell *cell = &r->grid.cell;
    if (cell->kind == VF_CELL_NONE)
        return "the map is not periodic";
    if (r->settings.vacuum || r->read.vacuum)
        return "the boundary is vacuum, not tin-foil";
    if (r->settings.solvent.on || r->read.in_solvent)
        return "the map is that in a solvent";
    if ((r->settings.read_map ? r->read.cutoff : r->settings.cutoff) > 0)
        return "the map is cut off";
    if (r->read.pmepot)
        return "the map is that of Gaussian charges of unknown width";
    if (!dielectric_is_known(r))
        return "the map's file does not state its dielectric; add --dielectric";
    if (!plane_is_lattice(cell, r->settings.profile_axis))
        return "the cell's vectors do not span planes across this axis; z has them in every cell";
    if (r->read.of_selection)
        return "the map is that of selected atoms";
    if (r->read.ions > 0)
        return "the map includes the potential of ions";
    if (r->settings.read_map && r->read.molecule[0] && strcmp(r->read.molecule, r->molecule.digest) != 0)
        return "the map was made from another molecule";
    return NULL;
}

static vf_status add_charges(cionize_state *r, const vf_grid *grid, double share, const double *at)
{
    map_profile *p = &r->analyses.profile;
    const molecule *m = r->sources;
    const double sigma = r->settings.read_map ? r->read.sigma : r->settings.sigma;
    profile_add_density(p, grid, share, m->atoms, at, m->charge);
    if (!p->has_check)
        return VF_OK;
    return profile_add_integral(r->ctx, p, grid, share, r->info.unit_constant / r->settings.dielectric, sigma, m->atoms,
                                at, m->charge);
}

static vf_status add_frames(cionize_state *r)
{
    const int64_t whole = molecule_whole_atoms(r->sources);
    double *xyz = malloc(3 * (size_t)whole * sizeof *xyz);
    vf_status status =
        xyz ? VF_OK : vf_fail(r->ctx, VF_ERR_MEMORY, "no memory for the coordinates of %lld atoms", (long long)whole);
    for (int64_t f = 0; status == VF_OK && f < r->frames.count; f++) {
        const int64_t frame = r->frames.first + f * r->frames.step;
        vf_grid grid = r->grid;
        status = trajectory_read(r->trajectory, frame, xyz, xyz + whole, xyz + 2 * whole);
        if (status == VF_OK && r->plan.follows_cells)
            status = frame_grid(r->ctx, r->trajectory, frame, &r->grid, &grid);
        if (status != VF_OK)
            break;
        molecule_gather(r->sources, xyz, xyz + whole, xyz + 2 * whole);
        status = add_charges(r, &grid, 1 / (double)r->frames.count, xyz + r->settings.profile_axis * whole);
        if (status == VF_OK && vf_cancelled(r->ctx))
            status = vf_fail(r->ctx, VF_ERR_CANCELLED, "interrupted");
    }
    free(xyz);
    return status;
}

static vf_status end_profile(cionize_state *r)
{
    const double *const at[3] = {r->sources->x, r->sources->y, r->sources->z};
    const vf_status status = r->trajectory ? add_frames(r) : add_charges(r, &r->grid, 1, at[r->settings.profile_axis]);
    profile_end(&r->analyses.profile);
    return status;
}

/* ---- the stage ---- */

vf_status analyses_begin(cionize_state *r)
{
    const cionize_settings *s = &r->settings;
    analyses *a = &r->analyses;
    vf_status status = VF_OK;
    if (s->compare)
        status = comparison_begin(r->ctx, s->compare, s->unit, &r->grid, &a->comparison);
    if (status == VF_OK && s->has_profile)
        status = profile_begin(r->ctx, &r->grid, s->profile_axis, &a->profile);
    if (status == VF_OK && s->has_profile) {
        a->profile.no_check = no_check(r);
        a->profile.has_check = !a->profile.no_check;
    }
    if (status == VF_OK && s->radial && !molecule_has_radii(&r->molecule))
        vf_note(r->ctx, "--radial: %s has no radii; distances are those from the centres of atoms",
                s->charges ? s->charges : s->input);
    if (status == VF_OK && s->radial)
        status = radial_begin(r->ctx, &r->molecule, &r->grid, s->radial_width, &a->radial);
    return status == VF_OK ? page_begin(r) : status;
}

vf_status analyses_take(cionize_state *r, const map_layers *layers)
{
    analyses *a = &r->analyses;
    if (a->comparison)
        comparison_take(a->comparison, layers);
    if (a->profile.mean)
        profile_take(&a->profile, layers);
    if (r->surface.values.mesh)
        surface_values_take(&r->surface.values, layers);
    page_take(r, layers);
    return a->radial.surface ? radial_take(r->ctx, &a->radial, layers) : VF_OK;
}

vf_status analyses_end(cionize_state *r)
{
    if (r->analyses.comparison)
        r->analyses.compared = comparison_result(r->analyses.comparison);
    return r->analyses.profile.mean ? end_profile(r) : VF_OK;
}

void analyses_free(cionize_state *r)
{
    comparison_free(r->analyses.comparison);
    profile_free(&r->analyses.profile);
    radial_free(&r->analyses.radial);
}

/* ---- files ---- */

static vf_status write_profile_rows(const cionize_state *r, vf_output *out)
{
    const map_profile *p = &r->analyses.profile;
    const int axis = p->axis;
    vf_status status =
        vf_output_printf(out, "%c (A),mean potential (%s),charge density (e/A^3)%s%s%s\n", "xyz"[axis],
                         r -> settings.unit, p->has_check ? ",double integral of the charge density (" : "",
                         p->has_check ? r->settings.unit : "", p->has_check ? ")" : "");
    for (int64_t k = 0; status == VF_OK && k < p->grid.counts[axis]; k++) {
        status = vf_output_printf(out, "%.9g,%.9g,%.9g", p->grid.origin[axis] + (double)k * p->grid.spacing[axis],
                                  p->mean[k], p->density[k]);
        if (status == VF_OK && p->has_check)
            status = vf_output_printf(out, ",%.9g", p->integral[k]);
        VF_TRY(status, vf_output_printf(out, "\n"));
    }
    return status;
}

static vf_status write_radial_rows(const cionize_state *r, vf_output *out)
{
    const radial_distribution *d = &r->analyses.radial;
    const char *unit = r->settings.unit;
    vf_status status = vf_output_printf(out,
                                        "from (A),to (A),points,mean potential (%s),standard deviation (%s),minimum "
                                        "(%s),maximum (%s)\n",
                                        unit, unit, unit, unit);
    for (int64_t n = 0; status == VF_OK && n < d->shells; n++) {
        const radial_shell *s = &d->shell[n];
        const double from = (double)(d->first + n) * d->width;
        if (s->points > 0)
            status = vf_output_printf(out, "%.9g,%.9g,%lld,%.9g,%.9g,%.9g,%.9g\n", from, from + d->width,
                                      (long long)s->points, s->mean, sqrt(s->squares / (double)s->points), s->least,
                                      s->most);
    }
    return status;
}

static vf_status write_table(const cionize_state *r, const char *path,
                             vf_status (*write_rows)(const cionize_state *, vf_output *))
{
    vf_output *out = NULL;
    vf_status status = vf_output_open(r->ctx, path, &out);
    VF_TRY(status, write_rows(r, out));
    if (status == VF_OK)
        return vf_output_commit(&out);
    vf_output_discard(&out);
    return status;
}

vf_status analyses_write(cionize_state *r)
{
    vf_status status = r->analyses.profile.mean ? write_table(r, r->settings.profile, write_profile_rows) : VF_OK;
    if (status == VF_OK && r->analyses.radial.surface)
        status = write_table(r, r->settings.radial, write_radial_rows);
    return status;
}

/* ---- what is told ---- */

static void list_comparison(facts *f, const cionize_state *r)
{
    const comparison_figures *of = &r->analyses.compared;
    const double relative = of->rms_other > 0 ? of->rms_difference / of->rms_other : NAN;
    double at[3];
    for (int a = 0; a < 3; a++)
        at[a] = r->grid.origin[a] + (double)of->at[a] * r->grid.spacing[a];
    fact_begin(f, "compare");
    fact_text(f, "path", r->settings.compare);
    fact_say(f, LINE_COMPARED, "compared   %s", r->settings.compare);
    fact_integer(f, "points", of->points);
    fact_number(f, "rms_difference", of->rms_difference);
    fact_say(f, LINE_COMPARED, ": rms difference %.4g %s", of->rms_difference, r->settings.unit);
    fact_number(f, "relative_rms_difference", relative);
    if (of->rms_other > 0)
        fact_say(f, LINE_COMPARED, ", %.3g of its rms", relative);
    fact_number(f, "mean_difference", of->mean_difference);
    fact_say(f, LINE_COMPARED, "; mean %.3g", of->mean_difference);
    fact_number(f, "correlation", of->correlation);
    if (isfinite(of->correlation))
        fact_say(f, LINE_COMPARED, "; correlation %.10g", of->correlation);
    else
        fact_say(f, LINE_COMPARED, "; no correlation, because a map is constant");
    fact_number(f, "largest_difference", of->largest);
    if (of->largest == 0)
        fact_say(f, LINE_COMPARED, "\n           all %lld values are equal", (long long)of->points);
    else
        fact_say(
            f, LINE_COMPARED,
            "\n           the largest is %+.4g at (%g, %g, %g) A, grid point %lld, %lld, %lld: %.9g instead of %.9g",
            of->largest, at[0], at[1], at[2], (long long)of->at[0], (long long)of->at[1], (long long)of->at[2],
            of->here, of->there);
    fact_integers(f, "largest_point", of->at, 3);
    fact_numbers(f, "largest_position", at, 3);
    fact_number(f, "value", of->here);
    fact_number(f, "other_value", of->there);
    fact_end(f);
}

static void list_profile(facts *f, const cionize_state *r)
{
    const map_profile *p = &r->analyses.profile;
    const char axis[2] = {"xyz"[p->axis], '\0'};
    fact_begin(f, "profile");
    fact_text(f, "path", r->settings.profile);
    fact_say(f, LINE_PROFILE, "profile    %s: %lld layers", r->settings.profile, (long long)p->grid.counts[p->axis]);
    fact_text(f, "axis", axis);
    fact_say(f, LINE_PROFILE, " along %s", axis);
    fact_number(f, "rms", p->rms);
    fact_say(f, LINE_PROFILE, ", rms %.4g %s; ", p->rms, r->settings.unit);
    if (p->has_check) {
        fact_number(f, "rms_difference_from_double_integral", p->rms_difference);
        fact_say(f, LINE_PROFILE, "rms difference from the double integral of the charge density %.3g",
                 p->rms_difference);
    } else {
        fact_text(f, "no_check", p->no_check);
        fact_say(f, LINE_PROFILE, "no check: %s", p->no_check);
    }
    fact_end(f);
}

void analysis_facts(facts *f, const cionize_state *r)
{
    if (r->analyses.comparison)
        list_comparison(f, r);
    if (r->analyses.profile.mean)
        list_profile(f, r);
    if (r->analyses.radial.surface)
        fact_line(f, LINE_RADIAL, "radial", "radial", r->settings.radial);
}
