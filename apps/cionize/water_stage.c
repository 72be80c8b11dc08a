/* Water in the molecule's file: which molecules are solvent, and which file that leaves. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis_stage.h"
#include "cionize_facts.h"
#include "cionize_state.h"
#include "ion_stage.h"
#include "molecule/molecule_arrays.h"
#include "molecule/near_places.h"
#include "molecule/select_atoms.h"
#include "point_stage.h"
#include "surface_stage.h"

/* ---- options ---- */

/* Options of water that have no effect, or ask for what there is not. */
static vf_status check_without_water(const cionize_state *r)
{
    const ion_settings *ions = &r->ions;
    const char *why = ions->water == ION_WATER_SOLUTE ? "--water solute counts water with the solute"
                      : ions->script                  ? "a script's ions are placed with water as part of the solute"
                                                      : "the molecule has no water molecules";
    const char *option = ions->keep_water                         ? "--keep-water"
                         : ions->concentration_by == ION_BY_WATER ? "--concentration-by water"
                         : ions->water == ION_WATER_SOLVENT       ? "--water solvent"
                                                                  : NULL;
    return option ? vf_fail(r->ctx, VF_ERR_ARGUMENT, "%s: %s: %s; leave out the option", option, r->settings.input, why)
                  : VF_OK;
}

static vf_status check_with_water(const cionize_state *r)
{
    const cionize_settings *s = &r->settings;
    const pieces_settings *pieces = &s->pieces;
    const bool in_pieces = pieces->parts > 0 || pieces->join || pieces->resume || pieces->ranks_planned > 0 ||
                           (pieces->ranks && vf_ranks_size(pieces->ranks) > 1);
    const struct {
        bool given;
        const char *option, *why;
    } cases[] = {
        {s->trajectory, "--trajectory", "water moves from frame to frame, so no molecule has one place"},
        {s->read_map, "--read-map", "a map does not tell whether its potential is that of the solute without water"},
        {s->selected || s->minus || s->solute, "--select, --minus or --solute",
         "--keep-water says which water is solute"},
        {points_asked(r), "--points or --field-map", "these are values of all atoms of the file"},
        {s->cutoff > 0, "--method cutoff", "ions replace water by the potential of all atoms"},
        {r->ions.refine, "--refine", "an ion is at the place of the oxygen that it replaces"},
        {r->ions.mask, "--mask", "ions take the places of water molecules, not of grid points"},
        {r->water.no_map && in_pieces, "--part, --join, --resume or a job of several ranks", "no map is computed"}};
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++)
        if (cases[n].given)
            return vf_fail(r->ctx, VF_ERR_ARGUMENT,
                           "%s: %s has %lld water molecules, which ions replace: %s; leave out the option, or add "
                           "--water solute, for ions on grid points between the water molecules",
                           cases[n].option, s->input, (long long)r->water.found.count, cases[n].why);
    return VF_OK;
}

/* ---- water that stays ---- */

/* Water whose oxygen is nearer than R to an atom of the rest. is_water: [atoms] */
static vf_status keep_within(const cionize_state *r, const bool *is_water, double within, bool *stays)
{
    const water_state *w = &r->water;
    molecule rest;
    bool *chosen = malloc((size_t)r->molecule.atoms * sizeof *chosen);
    near_places *near = NULL;
    vf_status status = chosen ? VF_OK : vf_fail(r->ctx, VF_ERR_MEMORY, "no memory");
    for (int64_t i = 0; status == VF_OK && i < r->molecule.atoms; i++)
        chosen[i] = !is_water[i];
    memset(&rest, 0, sizeof rest);
    if (status == VF_OK && !molecule_part(&r->molecule, chosen, &rest))
        status = vf_fail(r->ctx, VF_ERR_MEMORY, "no memory for a part of the molecule");
    free(chosen);
    double *distance = malloc((size_t)(rest.atoms + 1) * sizeof *distance);
    if (status == VF_OK && !distance)
        status = vf_fail(r->ctx, VF_ERR_MEMORY, "no memory for distances");
    for (int64_t i = 0; status == VF_OK && i < rest.atoms; i++)
        distance[i] = within;
    VF_TRY(status, near_places_create(r->ctx, &r->settings.cell, rest.atoms, rest.x, rest.y, rest.z, within, &near));
    for (int64_t n = 0; status == VF_OK && n < w->found.count; n++) {
        const int64_t i = w->found.at[n].oxygen;
        const double at[3] = {r->molecule.x[i], r->molecule.y[i], r->molecule.z[i]};
        stays[n] = near_places_any(near, at, distance);
    }
    near_places_destroy(near);
    free(distance);
    molecule_free(&rest);
    return status;
}

/* Water of which an atom is selected. */
static vf_status keep_selected(const cionize_state *r, const char *text, bool *stays)
{
    const water_state *w = &r->water;
    atom_selection *selection;
    int64_t kept = 0;
    vf_status status = selection_parse(r->ctx, "--keep-water", text, &selection);
    bool *chosen = status == VF_OK ? calloc((size_t)r->molecule.atoms, sizeof *chosen) : NULL;
    if (status == VF_OK && !chosen)
        status = vf_fail(r->ctx, VF_ERR_MEMORY, "no memory for a selection");
    VF_TRY(status, selection_apply(r->ctx, selection, &r->molecule, &r->settings.cell, chosen));
    for (int64_t n = 0; status == VF_OK && n < w->found.count; n++) {
        const water_molecule *one = &w->found.at[n];
        for (int64_t i = one->first; i < one->first + one->atoms; i++)
            stays[n] |= chosen[i];
        kept += stays[n];
    }
    if (status == VF_OK && kept == 0)
        vf_warn(r->ctx, "--keep-water '%s' selects no water molecule, so ions may replace any", text);
    selection_free(selection);
    free(chosen);
    return status;
}

static vf_status choose_kept(const cionize_state *r, const bool *is_water, bool *stays)
{
    const char *text = r->ions.keep_water;
    char *end;
    if (!text)
        return VF_OK;
    if (strncmp(text, "within:", 7) == 0) {
        const double within = strtod(text + 7, &end);
        if (end != text + 7 && *end == '\0' && within > 0 && within <= 1e4)
            return keep_within(r, is_water, within, stays);
        return vf_fail(r->ctx, VF_ERR_ARGUMENT,
                       "--keep-water '%s': expected within:R, with R in angstrom, above 0 and at most 1e4", text);
    }
    return keep_selected(r, text, stays);
}

/* ---- the split ---- */

/* The solute becomes r->molecule, and the file's molecule water.whole. */
static vf_status split(cionize_state *r, const bool *stays)
{
    water_state *w = &r->water;
    const molecule *m = &r->molecule;
    bool *in_solute = malloc((size_t)m->atoms * sizeof *in_solute);
    w->place = malloc((size_t)(w->found.count + 1) * sizeof *w->place);
    w->oxygen = malloc((size_t)(w->found.count + 1) * sizeof *w->oxygen);
    molecule solute;
    if (!in_solute || !w->place || !w->oxygen) {
        free(in_solute);
        return vf_fail(r->ctx, VF_ERR_MEMORY, "no memory for %lld water molecules", (long long)w->found.count);
    }
    for (int64_t i = 0; i < m->atoms; i++)
        in_solute[i] = true;
    for (int64_t n = 0; n < w->found.count; n++) {
        const water_molecule *one = &w->found.at[n];
        if (stays[n])
            continue;
        memset(in_solute + one->first, false, (size_t)one->atoms * sizeof *in_solute);
        w->place[w->count] = n;
        w->oxygen[w->count][0] = m->x[one->oxygen];
        w->oxygen[w->count][1] = m->y[one->oxygen];
        w->oxygen[w->count++][2] = m->z[one->oxygen];
    }
    const bool enough = molecule_part(m, in_solute, &solute);
    free(in_solute);
    if (!enough)
        return vf_fail(r->ctx, VF_ERR_MEMORY, "no memory for the molecule without water");
    w->whole = r->molecule;
    w->atoms = m->atoms;
    w->charge = m->total_charge;
    r->molecule = solute;
    return VF_OK;
}

static vf_status check_split(const cionize_state *r)
{
    const water_state *w = &r->water;
    const double charge = w->whole.total_charge - r->molecule.total_charge;
    if (w->count == 0)
        return vf_fail(r->ctx, VF_ERR_ARGUMENT,
                       "--keep-water keeps all %lld water molecules of %s, so ions cannot replace any; keep fewer",
                       (long long)w->found.count, r->settings.input);
    if (r->molecule.atoms == 0 && !w->no_map)
        return vf_fail(r->ctx, VF_ERR_ARGUMENT,
                       "%s is nothing but water, so there is no solute for a map; leave out the map, or use --water "
                       "solute",
                       r->settings.input);
    if (r->settings.cell.kind == VF_CELL_NONE && w->whole.cell.state == UNIT_CELL_NUMBERS)
        vf_warn(r->ctx,
                "%s has a periodic cell, but distances and energies of ions are those of free space; add --cell input",
                r->settings.input);
    /* Charges are rounded to some 1e-4 e in files. */
    if (fabs(charge) > fmax(0.01, 1e-4 * (double)w->count))
        vf_warn(r->ctx, "the %lld water molecules that are solvent have a total charge of %+g e, but count as neutral",
                (long long)w->count, charge);
    return VF_OK;
}

vf_status water_prepare(cionize_state *r)
{
    water_state *w = &r->water;
    if (r->settings.solvent.on) /* which stands for water */
        return VF_OK;
    if (!ions_asked(r) || r->ions.script || r->ions.water == ION_WATER_SOLUTE)
        return check_without_water(r);
    vf_status status = find_water(r->ctx, &r->molecule, true, &w->found);
    if (status != VF_OK || w->found.count == 0)
        return status == VF_OK ? check_without_water(r) : status;
    w->solvent = true;
    w->no_map = !r->map.path && !r->map.picture && !r->after.path && !r->after.picture &&
                !analyses_asked(&r->settings) && !surface_asked(&r->settings);
    status = check_with_water(r);
    if (status != VF_OK)
        return status;
    bool *is_water = calloc((size_t)r->molecule.atoms, sizeof *is_water),
         *stays = calloc((size_t)w->found.count, sizeof *stays);
    if (!is_water || !stays)
        status = vf_fail(r->ctx, VF_ERR_MEMORY, "no memory for %lld water molecules", (long long)w->found.count);
    for (int64_t n = 0; status == VF_OK && n < w->found.count; n++)
        memset(is_water + w->found.at[n].first, true, (size_t)w->found.at[n].atoms * sizeof *is_water);
    VF_TRY(status, choose_kept(r, is_water, stays));
    VF_TRY(status, split(r, stays));
    VF_TRY(status, check_split(r));
    free(is_water);
    free(stays);
    return status;
}

/* ---- the rest ---- */

const molecule *whole_molecule(const cionize_state *r)
{
    return r->water.solvent ? &r->water.whole : &r->molecule;
}

/* Molecules whose place an ion has leave the molecule; r->water.replaced keeps their labels. */
vf_status water_replace(cionize_state *r)
{
    water_state *w = &r->water;
    molecule *m = &w->whole;
    const ion_list *list = &r->placed;
    const int64_t *replaced = placement_replaced(r->placement);
    bool *stays = malloc((size_t)m->atoms * sizeof *stays);
    w->replaced = malloc((size_t)(list->count + 1) * sizeof *w->replaced);
    if (!stays || !w->replaced) {
        free(stays);
        return vf_fail(r->ctx, VF_ERR_MEMORY, "no memory for %lld ions", (long long)list->count);
    }
    for (int64_t i = 0; i < m->atoms; i++)
        stays[i] = true;
    int64_t left = m->atoms;
    for (int64_t n = 0; n < list->count; n++) {
        const water_molecule *one = &w->found.at[w->place[replaced[n]]];
        w->replaced[n] = m->labels[one->first];
        memset(stays + one->first, false, (size_t)one->atoms * sizeof *stays);
        left -= one->atoms;
    }
    vf_status status = VF_OK;
    if (left == 0) /* the files have the ions alone */
        m->atoms = 0, m->total_charge = 0;
    else if (!molecule_keep(m, stays))
        status = vf_fail(r->ctx, VF_ERR_MEMORY, "no memory for the molecule without the replaced water");
    free(stays);
    return status;
}

static void say_water(facts *f, const cionize_state *r)
{
    const water_state *w = &r->water;
    const molecule *m = &r->molecule;
    fact_only_say(f, LINE_WATER, "water      %lld molecule%s, solvent: neither in the map nor in distances",
                  (long long)w->count, vf_plural(w->count));
    if (w->found.count > w->count)
        fact_only_say(f, LINE_WATER, "; %lld more kept with the solute", (long long)(w->found.count - w->count));
    fact_only_say(f, LINE_WATER, "\n           %lld atom%s of solute, %+g e", (long long)m->atoms, vf_plural(m->atoms),
                  fabs(m->total_charge) < 5e-7 ? 0.0 : m->total_charge);
}

/* The molecules that ions have replaced, in the order of placement: index n is that of the ions' lists. `texts` and
 * `numbers` [placed] are for its use. */
static void list_replaced(facts *f, const cionize_state *r, const char **texts, char (*numbers)[16])
{
    const water_state *w = &r->water;
    const int count = (int)r->placed.count;
    fact_begin(f, "water");
    fact_integer(f, "molecules", w->found.count);
    fact_integer(f, "kept_with_solute", w->found.count - w->count);
    fact_integer(f, "replaced", count);
    fact_integer(f, "left", w->found.count - count);
    fact_number(f, "mol_per_litre", WATER_MOLARITY);
    for (int n = 0; n < count; n++)
        texts[n] = w->replaced[n].residue;
    fact_texts(f, "replaced_residue", texts, count);
    for (int n = 0; n < count; n++)
        texts[n] = *w->replaced[n].chain ? w->replaced[n].chain : w->replaced[n].segment;
    fact_texts(f, "replaced_chain", texts, count);
    for (int n = 0; n < count; n++) {
        (void)snprintf(numbers[n], sizeof numbers[n], "%d%.1s", (int)w->replaced[n].residue_number,
                       &w->replaced[n].insertion);
        texts[n] = *w->replaced[n].number_text ? w->replaced[n].number_text : numbers[n];
    }
    fact_texts(f, "replaced_number", texts, count);
    fact_end(f);
}

void water_facts(facts *f, const cionize_state *r)
{
    const size_t count = (size_t)r->placed.count + 1;
    const char **texts = malloc(count * sizeof *texts);
    char(*numbers)[16] = malloc(count * sizeof *numbers);
    f->failed |= !texts || !numbers;
    say_water(f, r);
    if (texts && numbers && r->water.replaced)
        list_replaced(f, r, texts, numbers);
    free(texts);
    free(numbers);
}

void water_free(water_state *w)
{
    water_list_free(&w->found);
    molecule_free(&w->whole);
    free(w->place);
    free(w->oxygen);
    free(w->replaced);
}
