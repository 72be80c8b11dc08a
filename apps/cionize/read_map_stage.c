/* A map from a file instead of a computed one: whether it fits the options, and the plan that goes with it. */
#include <math.h>
#include <string.h>

#include "cell_stage.h"
#include "cionize_state.h"
#include "ion_stage.h"
#include "potential/potential_common.h"

/* Whether numbers differ by more than the rounding to six digits in OpenDX files. */
static bool differ(double stated, double wanted)
{
    return fabs(stated - wanted) > 5e-6 * fabs(wanted); /* false for NaN: not stated */
}

bool dielectric_is_known(const cionize_state *r)
{
    const cionize_settings *s = &r->settings;
    return !s->read_map || !isnan(r->read.dielectric) || s->has_dielectric || s->distance_dielectric;
}

/* Whether ions can be placed by the map. */
static vf_status check_map_for_ions(const cionize_state *r)
{
    const loaded_map *m = &r->read;
    if (!dielectric_is_known(r))
        return vf_fail(r->ctx, VF_ERR_INPUT,
                       "%s: the file does not say for which dielectric the map was made, and ions act on each other "
                       "through it; add "
                       "--dielectric D: 1 for a map in vacuum, about 78.5 for one in water, as of APBS or DelPhi",
                       m->path);
    if (m->sigma > 0)
        return vf_fail(r->ctx, VF_ERR_INPUT,
                       "%s: the map shows Gaussian charges (--smooth %g); ions need a map of point charges", m->path,
                       m->sigma);
    if (m->cutoff > 0)
        return vf_fail(
            r->ctx, VF_ERR_INPUT,
            "%s: the map is cut off at %g A, and its file does not state how ions act through that; place them in "
            "the run that computes it, with --method cutoff, or use a map of all charges",
            m->path, m->cutoff);
    if (m->in_solvent)
        return vf_fail(
            r->ctx, VF_ERR_INPUT,
            "%s: the map is the potential in a solvent, and its file does not state how ions act through that; place "
            "them in the run that solves for it, with --solvent",
            m->path);
    if (m->vacuum)
        return vf_fail(
            r->ctx, VF_ERR_INPUT,
            "%s: the map has a vacuum boundary, which ions do not support; use a map with --boundary tinfoil", m->path);
    if (m->pmepot)
        vf_warn(r->ctx,
                "%s: PMEPot's maps are of charges spread as Gaussians (-ewaldfactor), so ions see less than the full "
                "potential of atoms close by; for that of points, let cionize compute the map",
                m->path);
    if (m->of_selection)
        vf_warn(r->ctx, "%s: the map has the potential of selected atoms alone, so the others do not act on the ions",
                m->path);
    if (m->ions > 0)
        vf_warn(r->ctx, "%s: the map includes the potential of %lld ion%s; new ions feel it, but may overlap them",
                m->path, (long long)m->ions, m->ions == 1 ? "" : "s");
    return VF_OK;
}

/* The map's file states how the map was made. The potential of the ions must use the same constants. */
static vf_status check_read_map(const cionize_state *r)
{
    const cionize_settings *s = &r->settings;
    const loaded_map *m = &r->read;
    if (m->distance_dielectric != s->distance_dielectric && !isnan(m->dielectric))
        return vf_fail(r->ctx, VF_ERR_ARGUMENT,
                       "%s: the map was made with a dielectric that %s on the distance; use %s %g", m->path,
                       m->distance_dielectric ? "depends" : "does not depend",
                       m->distance_dielectric ? "--distance-dielectric" : "--dielectric", m->dielectric);
    if (differ(m->dielectric, s->dielectric))
        return vf_fail(r->ctx, VF_ERR_ARGUMENT, "%s: the map was made with a dielectric of %g, not %g; use %s %g",
                       m->path, m->dielectric, s->dielectric,
                       m->distance_dielectric ? "--distance-dielectric" : "--dielectric", m->dielectric);
    if (strcmp(s->unit, "kT/e") == 0 && differ(m->temperature, s->temperature))
        return vf_fail(r->ctx, VF_ERR_ARGUMENT, "%s: the map was made for %g K, not %g; use --temperature %g", m->path,
                       m->temperature, s->temperature, m->temperature);
    if (differ(m->r_min, s->r_min))
        return vf_fail(r->ctx, VF_ERR_ARGUMENT, "%s: the map was made with --r-min %g, not %g; use --r-min %g", m->path,
                       m->r_min, s->r_min, m->r_min);
    if (s->has_precision && s->precision != m->type)
        return vf_fail(r->ctx, VF_ERR_ARGUMENT, "%s: the map is in %s precision; leave out --precision", m->path,
                       m->type == VF_F64 ? "double" : "single");
    if (m->molecule[0] != '\0' && strcmp(m->molecule, r->molecule.digest) != 0)
        vf_warn(r->ctx,
                "%s: the map was made from another file than %s (SHA-256 %.12s..., not %.12s...); check that it is the "
                "same molecule",
                m->path, s->input, m->molecule, r->molecule.digest);
    return ions_asked(r) ? check_map_for_ions(r) : VF_OK;
}

/* What the file states and no option does. */
static void take_map_constants(cionize_state *r)
{
    cionize_settings *s = &r->settings;
    const loaded_map *m = &r->read;
    if (!isnan(m->dielectric) && !s->has_dielectric && !s->distance_dielectric) {
        s->dielectric = m->dielectric;
        s->distance_dielectric = m->distance_dielectric;
    }
    if (!isnan(m->temperature) && !s->has_temperature)
        s->temperature = m->temperature;
    if (!isnan(m->r_min) && !s->has_r_min)
        s->r_min = m->r_min;
}

/* A cell that the options state, for a map that does not. */
static vf_status take_map_cell(cionize_state *r)
{
    const vf_cell *wanted = &r->settings.cell;
    vf_cell *cell = &r->read.grid.cell;
    if (cell->kind == VF_CELL_NONE)
        *cell = *wanted;
    for (int i = 0; i < 9; i++)
        if (!(fabs(cell->vectors[i / 3][i % 3] - wanted->vectors[i / 3][i % 3]) <= 1e-5 * cbrt(vf_cell_volume(cell))))
            return vf_fail(r->ctx, VF_ERR_INPUT, "%s: the map has another periodic cell; leave out --cell",
                           r->read.path);
    return VF_OK;
}

vf_status open_read_map(cionize_state *r)
{
    cionize_settings *s = &r->settings;
    vf_status status = read_map(r->ctx, s->read_map, s->unit, &r->read);
    if (status == VF_OK) {
        take_map_constants(r);
        status = check_read_map(r);
    }
    if (status != VF_OK)
        return status;
    if (s->cell.kind != VF_CELL_NONE)
        status = take_map_cell(r);
    if (status != VF_OK)
        return status;
    r->grid = r->read.grid;
    const bool asked = s->cell.kind != VF_CELL_NONE; /* then the symmetry has been taken */
    s->cell = r->grid.cell;
    if (!asked && s->cell.kind != VF_CELL_NONE)
        status = take_symmetry(r);
    return status;
}

/* A map that has few of the molecule's atoms is not this molecule's, or its origin is wrong. */
static void check_place_of_map(const cionize_state *r)
{
    const vf_grid *g = &r->grid;
    const molecule *m = &r->molecule;
    const double *const place[3] = {m->x, m->y, m->z};
    int64_t outside = 0;
    for (int64_t i = 0; i < m->atoms; i++) {
        bool within = true;
        for (int a = 0; a < 3; a++)
            within = within && place[a][i] >= g->origin[a] &&
                     place[a][i] <= g->origin[a] + (double)(g->counts[a] - 1) * g->spacing[a];
        outside += !within;
    }
    if (g->cell.kind == VF_CELL_NONE && 2 * outside > m->atoms)
        vf_warn(
            r->ctx,
            "%s: %lld of the %lld atoms of %s lie outside of the map, which begins at (%g, %g, %g) A; check that it is "
            "of the same molecule, and was not moved",
            r->read.path, (long long)outside, (long long)m->atoms, r->settings.input, g->origin[0], g->origin[1],
            g->origin[2]);
}

/* The grid is the map's. If options ask for a grid, it must be the same. */
vf_status take_read_map(cionize_state *r)
{
    cionize_settings *s = &r->settings;
    vf_status status = VF_OK;
    if (s->has_spacing || s->has_border || s->has_origin || s->has_size || s->has_counts || r->script.has_spacing ||
        r->script.has_border) {
        vf_grid wanted;
        status = plan_grid(r->ctx, s, &r->molecule, &wanted);
        VF_TRY(status, check_map_grid(r->ctx, &r->read, &wanted));
    }
    if (status == VF_OK)
        check_place_of_map(r);
    s->precision = r->read.type;
    r->stored = r->read.values;
    if (status == VF_OK && strcmp(s->device, "auto") != 0)
        status = vf_context_set_devices(r->ctx, s->device);
    VF_TRY(status, potential_choose_method(r->ctx, s, &r->molecule, &r->grid,
                                           vf_device_get_kind(vf_context_device(r->ctx, 0)), &r->plan));
    snprintf(r->plan.device, sizeof r->plan.device, "%s", vf_device_name(potential_first_device(r->ctx)));
    return status;
}
