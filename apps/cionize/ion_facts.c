/* What is told of ions, before and after they are placed. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cionize_facts.h"
#include "cionize_state.h"
#include "ion_search.h"
#include "ion_stage.h"

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

static void say_ion_files(facts *f, const cionize_state *r)
{
    const int line = r->settings.dry_run ? LINE_ION_FILES_PLANNED : LINE_ION_FILES;
    const char *const files[][2] = {{"ionized", r->ions.ionized}, {"ions", r->ions.ions}, {"mask", r->ions.mask}};
    const char *begin = "";
    for (size_t n = 0; n < sizeof files / sizeof *files; n++)
        if (files[n][1]) {
            fact_only_say(f, line, "%s%-10s %s", begin, files[n][0], files[n][1]);
            begin = "\n";
        }
    for (int64_t n = 0; n < r->script.commands; n++)
        if (r->script.command[n].path) {
            fact_only_say(f, line, "%s%-10s %s", begin, r->script.command[n].verb == SCRIPT_SAVEION ? "ions" : "map",
                          r->script.command[n].path);
            begin = "\n";
        }
}

/* Before they are placed. */
static void say_request(facts *f, const cionize_state *r)
{
    static const char *const orders[] = {"one kind after another", "kinds in turn", "largest charges first"};
    int kinds = 0;
    fact_only_say(f, LINE_IONS, "ions      %s", r->wanted == 0 ? " none" : "");
    for (int n = 0; n < r->requests; n++)
        if (r->request[n].count > 0)
            fact_only_say(f, LINE_IONS, "%s %lld %s (%+g)", kinds++ ? "," : "", (long long)r->request[n].count,
                          r->request[n].kind.name, r->request[n].kind.charge);
    if (kinds > 1 && !r->ions.script)
        fact_only_say(f, LINE_IONS, ", %s", orders[r->ions.order]);
    if (r->ions.demand.has_concentration && r->water.solvent && r->solvent == 0)
        fact_only_say(
            f, LINE_IONS_SOLVENT,
            "           each in the place of a water molecule; %g mol/L of the %lld left, %.5g mol in a litre",
            r->ions.demand.concentration, (long long)(r->water.count - r->wanted), WATER_MOLARITY);
    else if (r->water.solvent)
        fact_only_say(f, LINE_IONS_SOLVENT, "           each in the place of a water molecule");
    else if (r->settings.solvent.on)
        fact_only_say(
            f, LINE_IONS_SOLVENT,
            "           each by the potential in solvent; on the others it acts as q exp(-k (r - a)) / (eps (1 "
            "+ k a) r), a = %g A%s",
            r->settings.solvent.stern, r->settings.cell.kind == VF_CELL_NONE ? "" : ", and so do its images");
}

/* "ALA A 12B" */
static void say_residue(facts *f, const char *begin, const atom_label *label)
{
    char number[24];
    if (*label->number_text)
        (void)snprintf(number, sizeof number, "%s", label->number_text);
    else
        (void)snprintf(number, sizeof number, "%d%.1s", (int)label->residue_number, &label->insertion);
    fact_only_say(f, LINE_REPLACED, "%s %s%s%s %s", begin, label->residue, *label->chain ? " " : "", label->chain,
                  number);
}

static void say_replaced(facts *f, const cionize_state *r)
{
    enum { SHOWN = 4 };
    const int64_t count = r->placed.count, left = r->water.found.count - count;
    if (!r->water.replaced || count == 0)
        return;
    fact_only_say(f, LINE_REPLACED, "           in the place of");
    for (int64_t n = 0; n < count && n < SHOWN; n++)
        say_residue(f, n ? "," : "", &r->water.replaced[n]);
    if (count > SHOWN)
        fact_only_say(f, LINE_REPLACED, " and %lld more", (long long)(count - SHOWN));
    fact_only_say(f, LINE_REPLACED, "; %lld water molecule%s left", (long long)left, left == 1 ? " is" : "s are");
}

static void say_placed(facts *f, const cionize_state *r)
{
    const ion_list *list = &r->placed;
    const double points = r->water.solvent ? (double)r->water.count : (double)vf_grid_points(&r->grid);
    double least = INFINITY, most = -INFINITY;
    for (int64_t n = 0; n < list->count; n++) {
        least = fmin(least, list->sites[n].energy);
        most = fmax(most, list->sites[n].energy);
    }
    if (list->count > 0)
        fact_only_say(f, LINE_PLACED, "; energies %.6g to %.6g %s", least, most, energy_unit(r));
    fact_only_say(f, LINE_PLACED, "\n           the solute excludes %.3g %% of the %s",
                  100 * (double)r->points[VF_ION_SOLUTE] / points, r->water.solvent ? "water" : "grid");
    say_replaced(f, r);
}

/* Of charges in a file with few decimals, those of water add up to something; ions are counted as if they did not. */
static void say_total(facts *f, const cionize_state *r)
{
    const double water = r->water.solvent ? whole_molecule(r)->total_charge - r->molecule.total_charge : 0;
    const bool neutral = fabs(water) > 0.005;
    char text[64];
    fact_say(f, LINE_TOTAL, "           with the ions%s the total charge is %s",
             neutral ? ", and water as neutral," : ",",
             charge_text(text, sizeof text, charge_with_ions(r) - (neutral ? water : 0)));
}

/* One component of all ions, in the order of placement. */
static void list_sites(facts *f, const cionize_state *r, const char *key, int what, double *values)
{
    for (int64_t n = 0; n < r->placed.count; n++)
        values[n] = what < 3 ? r->placed.sites[n].position[what] : r->placed.sites[n].energy;
    fact_numbers(f, key, values, (int)r->placed.count);
}

/* `names` and `values` [placed] are for its use. */
static void list_placed(facts *f, const cionize_state *r, double seconds, const char **names, double *values)
{
    static const char *const keys[] = {"x", "y", "z", "energy"};
    const int count = (int)r->placed.count;
    char text[32];
    fact_begin(f, "ions");
    fact_number(f, "ion_solute", r->ions.ion_solute);
    fact_say(f, LINE_IONS_DISTANCE, "           %g A or more from atoms' %s", r->ions.ion_solute,
             r->ions.from_surface ? "surfaces" : "centres");
    fact_number(f, "ion_ion", r->ions.ion_ion);
    fact_say(f, LINE_IONS_DISTANCE, ", %g A from each other", r->ions.ion_ion);
    fact_bool(f, "from_surface", r->ions.from_surface);
    fact_bool(f, "refined", r->ions.refine);
    if (r->ions.refine)
        fact_say(f, LINE_IONS_DISTANCE, ", refined off the grid");
    fact_integers(f, r->water.solvent ? "waters_free_solute_ions" : "points_free_solute_ions", r->points, 3);
    if (r->solvent > 0) {
        fact_number(f, "solvent_volume", r->solvent);
        fact_say(f, LINE_SOLVENT, "           %.4g A^3 of solvent%s", r->solvent,
                 r->trajectory ? ", mean over frames" : "");
    }
    fact_integer(f, "asked", count + r->missing);
    fact_integer(f, "placed", count);
    fact_say(f, LINE_PLACED, "placed     %d of %lld ion%s, %s", count, (long long)r->wanted, vf_plural(r->wanted),
             vf_format_seconds(seconds, text, sizeof text));
    say_placed(f, r);
    fact_number(f, "total_charge", charge_with_ions(r));
    say_total(f, r);
    fact_text(f, "energy_unit", energy_unit(r));
    for (int n = 0; n < count; n++)
        names[n] = r->placed.kinds[r->placed.sites[n].kind].name;
    fact_texts(f, "name", names, count);
    for (int what = 0; what < 4; what++)
        list_sites(f, r, keys[what], what, values);
    fact_end(f);
}

void ion_facts(facts *f, const cionize_state *r, double seconds)
{
    double *values = malloc((size_t)(r->placed.count + 1) * sizeof *values);
    const char **names = malloc((size_t)(r->placed.count + 1) * sizeof *names);
    f->failed |= !values || !names;
    if (values && names)
        list_placed(f, r, seconds, names, values);
    free(values);
    free(names);
    say_request(f, r);
    say_ion_files(f, r);
}
