/* The atoms that act, those that are subtracted, and those that count: --select, --minus, --solute. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cionize_facts.h"
#include "cionize_state.h"
#include "molecule/molecule_part.h"
#include "molecule/select_atoms.h"
#include "voxfield/append.h"

static vf_status choose(cionize_state *r, const char *option, const char *text, bool *chosen)
{
    atom_selection *s = NULL;
    vf_status status = selection_parse(r->ctx, option, text, &s);
    VF_TRY(status, selection_apply(r->ctx, s, &r->molecule, &r->settings.cell, chosen));
    selection_free(s);
    return status;
}

/* "protein minus resname LIG (1231 atoms, +4 e)" */
static vf_status describe(cionize_state *r)
{
    const cionize_settings *s = &r->settings;
    const char *plus = s->selected ? s->selected : "all", *minus = s->minus ? s->minus : "";
    const double charge = r->acting.total_charge;
    const size_t size = strlen(plus) + strlen(minus) + 120;
    r->selection = malloc(size);
    if (!r->selection)
        return vf_fail(r->ctx, VF_ERR_MEMORY, "no memory");
    snprintf(r->selection, size, "%s%s%s (%lld atom%s, %+.6g e)", plus, s->minus ? ", minus " : "", minus,
             (long long)r->acting.atoms, vf_plural(r->acting.atoms), fabs(charge) < 1e-9 ? 0.0 : charge);
    for (char *c = r->selection; *c; c++)
        *c = *c == '\n' || *c == '\r' || *c == '\t' ? ' ' : *c;
    return VF_OK;
}

static vf_status check_charges(const cionize_state *r)
{
    for (int64_t i = 0; i < r->acting.atoms; i++)
        if (r->acting.charge[i] != 0)
            return VF_OK;
    vf_warn(r->ctx, "all selected atoms have no charge, so the potential is 0 everywhere: %s", r->selection);
    return VF_OK;
}

/* The potential is linear in the charges: those of the one selection count once, those of the other minus once. */
static vf_status choose_acting(cionize_state *r, bool *chosen)
{
    const cionize_settings *s = &r->settings;
    const int64_t atoms = r->molecule.atoms;
    double *weight = malloc((size_t)atoms * sizeof *weight);
    vf_status status = weight ? VF_OK : vf_fail(r->ctx, VF_ERR_MEMORY, "no memory for %lld atoms", (long long)atoms);
    bool any = false;
    VF_TRY(status, choose(r, "--select", s->selected ? s->selected : "all", chosen));
    for (int64_t i = 0; status == VF_OK && i < atoms; i++)
        weight[i] = chosen[i];
    if (status == VF_OK && s->minus)
        status = choose(r, "--minus", s->minus, chosen);
    for (int64_t i = 0; status == VF_OK && i < atoms; i++) {
        weight[i] -= s->minus && chosen[i];
        any = any || weight[i] != 0;
    }
    if (status == VF_OK && !any)
        status = vf_fail(r->ctx, VF_ERR_ARGUMENT,
                         "--minus '%.200s' selects the same atoms as %s, so the difference is 0 everywhere", s->minus,
                         s->selected ? "--select" : "all");
    VF_TRY(status, molecule_weigh(r->ctx, &r->molecule, weight, &r->acting));
    for (int64_t i = 0; status == VF_OK && i < atoms; i++)
        weight[i] *= r->molecule.charge[i];
    r->acting_charge = weight;
    if (status != VF_OK)
        return status;
    r->sources = &r->acting;
    status = describe(r);
    return status == VF_OK ? check_charges(r) : status;
}

vf_status take_selections(cionize_state *r)
{
    const cionize_settings *s = &r->settings;
    if (!s->selected && !s->minus && !s->solute)
        return VF_OK;
    bool *chosen = malloc((size_t)r->molecule.atoms * sizeof *chosen);
    vf_status status = chosen ? VF_OK : vf_fail(r->ctx, VF_ERR_MEMORY, "no memory to select atoms");
    if (status == VF_OK) /* with --solute alone, the others still act */
        status = choose_acting(r, chosen);
    if (status == VF_OK && s->solute)
        status = choose(r, "--solute", s->solute, chosen);
    if (status == VF_OK && s->solute)
        status = molecule_reduce(r->ctx, &r->molecule, chosen);
    free(chosen);
    return status;
}

void selection_facts(facts *f, const cionize_state *r)
{
    const cionize_settings *s = &r->settings;
    const bool selected = r->sources != &r->molecule;
    if (!selected && !s->solute)
        return;
    fact_begin(f, "selection");
    fact_text(f, "select", s->selected ? s->selected : "all");
    if (selected)
        fact_say(f, LINE_SELECTED, "selected   %s", r->selection);
    if (s->minus)
        fact_text(f, "minus", s->minus);
    fact_integer(f, "atoms", r->acting.atoms);
    fact_number(f, "charge", r->acting.total_charge);
    if (s->solute) {
        fact_text(f, "solute", s->solute);
        fact_say(f, LINE_SOLUTE, "solute     %s (%lld atom%s of %lld, %+.6g e): for the grid, ions and output files",
                 s->solute, (long long)r->molecule.atoms, vf_plural(r->molecule.atoms),
                 (long long)molecule_whole_atoms(&r->molecule), r->molecule.total_charge);
        fact_integer(f, "solute_atoms", r->molecule.atoms);
        fact_number(f, "solute_charge", r->molecule.total_charge);
    }
    fact_end(f);
}
