/* The spacing for an energy to a given accuracy (--accuracy-energy), and the error of an energy from two spacings
 * (--energy-error).
 *
 * The error is second order: E(h) = E + C h^2. Surfaces that fall differently on the grid scatter about that. So with a coarser grid,
 * of spacings larger by the root of two, C h^2 = E(sqrt(2) h) - E(h). In a cell, whose edges a spacing divides, it is not quite the root of
 * two, which counts. */
#include <math.h>
#include <stdio.h>

#include "cionize_facts.h"
#include "cionize_state.h"
#include "potential/plan_grid.h"
#include "solvent_stage.h"

static const double g_trial =
    0.7; /* angstrom: the finer of two trials, of which the coarser takes a third of the time */
static const double g_safety = 1.5;                 /* for the scatter */
static const double g_finest = 0.1, g_coarsest = 1; /* spacings that are chosen, angstrom */

static vf_status energy_at(cionize_state *r, double spacing, double *energy, vf_grid *grid)
{
    cionize_settings s = r->settings;
    const vf_coulomb_atoms charges = acting_atoms(r);
    solvent_energy e = {0};
    for (int a = 0; a < 3; a++)
        s.spacing[a] = spacing;
    s.has_counts = s.has_origin = s.has_size = false;
    vf_status status = plan_grid(r->ctx, &s, &r->molecule, grid);
    VF_TRY(status, dissolve_once(&s, r->ctx, grid, &charges, r->molecule.radius, &e));
    *energy = e.reaction;
    return status;
}

/* h^2 */
static double square_of(const vf_grid *grid)
{
    return pow(cbrt(grid->spacing[0] * grid->spacing[1] * grid->spacing[2]), 2);
}

vf_status spacing_choose(cionize_state *r)
{
    const double asked = r->settings.solvent.accuracy;
    double coarse = 0, fine = 0;
    vf_grid grid[2];
    if (!(asked > 0))
        return VF_OK;
    vf_status status = energy_at(r, sqrt(2) * g_trial, &coarse, &grid[0]);
    VF_TRY(status, energy_at(r, g_trial, &fine, &grid[1]));
    if (status != VF_OK)
        return status;
    /* Where trials agree by chance, their difference is no less than the scatter: a tenth of a per cent. */
    const double second =
        fmax(fabs(coarse - fine), 1e-3 * fabs(fine)) / fmax(square_of(&grid[0]) - square_of(&grid[1]), 1e-3);
    const double wanted = sqrt(asked * fabs(fine) / (g_safety * fmax(second, 1e-300)));
    const double spacing = fmin(fmax(wanted, g_finest), g_coarsest);
    for (int a = 0; a < 3; a++)
        r->settings.spacing[a] = floor(spacing * 1000) / 1000;
    r->dissolved.trial[0] = coarse;
    r->dissolved.trial[1] = fine;
    if (wanted < g_finest)
        vf_warn(r->ctx,
                "--accuracy-energy %g would take a spacing of %.2g A; %g A is the finest that is chosen, and the error "
                "may be "
                "%.2g",
                asked, wanted, g_finest, asked * pow(g_finest / wanted, 2));
    return VF_OK;
}

vf_status spacing_estimate_error(cionize_state *r)
{
    double coarse = 0;
    vf_grid grid;
    if (!r->settings.solvent.error || r->trajectory)
        return VF_OK;
    const double *h = r->grid.spacing;
    const vf_status status = energy_at(r, sqrt(2) * cbrt(h[0] * h[1] * h[2]), &coarse, &grid);
    r->dissolved.has_difference = status == VF_OK;
    if (status == VF_OK)
        r->dissolved.difference =
            (coarse - r->dissolved.of[0][OF_COMPLEX].reaction) / fmax(square_of(&grid) / square_of(&r->grid) - 1, 1e-3);
    return status;
}

void spacing_facts(facts *f, const cionize_state *r)
{
    const solvent_state *d = &r->dissolved;
    if (d->trial[1] != 0) {
        fact_number(f, "accuracy_asked", r->settings.solvent.accuracy);
        fact_numbers(f, "trial_energies_kJ/mol", d->trial, 2);
        fact_only_say(f, LINE_SOLVENT_PLAN,
                      "\n           spacing %g A for an energy to %g, from %.6g and %.6g kJ/mol at %.3g and %.3g A",
                      r->settings.spacing[0], r->settings.solvent.accuracy, d->trial[0], d->trial[1], sqrt(2) * g_trial,
                      g_trial);
    }
}

void spacing_error_facts(facts *f, const cionize_state *r)
{
    const solvent_state *d = &r->dissolved;
    if (!d->has_difference)
        return;
    const double energy = d->of[0][OF_COMPLEX].reaction;
    fact_number(f, "reaction_error_kJ/mol", fabs(d->difference));
    fact_number(f, "reaction_extrapolated_kJ/mol", energy - d->difference);
    fact_only_say(f, LINE_ENERGY,
                  "           error about %.2g kJ/mol, %.2g of it, by a grid of 1.41 times the spacing; extrapolated "
                  "%.7g kJ/mol\n",
                  fabs(d->difference), fabs(d->difference / energy), energy - d->difference);
}
