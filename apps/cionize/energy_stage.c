/* The stage of energies in a solvent (--energies, --ligand, --complex): of the molecule, of the partners of a complex, of frames. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cionize_facts.h"
#include "cionize_state.h"
#include "job.h"
#include "molecule/atom_radii.h"
#include "molecule/molecule_part.h"
#include "molecule/select_atoms.h"
#include "potential/periodic_frames.h"
#include "potential/plan_grid.h"
#include "solvent_stage.h"

/* Neighbours in the file, of one chain, that have moved apart by this: a molecule that a periodic cell has cut, angstrom. */
static const double g_torn = 15;

bool energies_asked(const cionize_state *r)
{
    return r->settings.solvent.energies;
}

vf_coulomb_atoms acting_atoms(const cionize_state *r)
{
    const molecule *m = &r->molecule;
    return (vf_coulomb_atoms){m->atoms, m->x, m->y, m->z, r->acting_charge ? r->acting_charge : m->charge};
}

/* ---- the partners ---- */

static vf_status part_from_selection(cionize_state *r, const char *text)
{
    const vf_coulomb_atoms all = acting_atoms(r);
    atom_selection *s = NULL;
    int64_t ligand = 0;
    bool *chosen = malloc((size_t)all.count * sizeof *chosen);
    vf_status status = chosen ? VF_OK : vf_fail(r->ctx, VF_ERR_MEMORY, "no memory to select atoms");
    VF_TRY(status, selection_parse(r->ctx, "--ligand", text, &s));
    VF_TRY(status, selection_apply(r->ctx, s, &r->molecule, &r->settings.cell, chosen));
    for (int64_t i = 0; status == VF_OK && i < all.count; i++)
        ligand += chosen[i];
    if (status == VF_OK && ligand == all.count)
        status = vf_fail(r->ctx, VF_ERR_ARGUMENT,
                         "--ligand '%s' selects all atoms, so nothing is left for it to bind to", text);
    for (int n = 0; status == VF_OK && n < 2; n++)
        status = bound_part_make(r->ctx, &all, r->molecule.radius, chosen, n == 1, &r->dissolved.part[n]);
    selection_free(s);
    free(chosen);
    return status;
}

/* A molecule of its own. The grid must hold it, too. */
static vf_status part_from_file(cionize_state *r, const char *path, bound_part *out)
{
    molecule m = {0};
    int64_t given, without = 0;
    const program_file files[] = {{"a partner of --complex", path},
                                  {"the output with ions", r->ions.ionized},
                                  {"the ions", r->ions.ions}}; /* the others have extensions of their own */
    vf_status status = program_check_names(r->ctx, files, sizeof files / sizeof *files);
    VF_TRY(status, read_molecule_choosing(r->ctx, path, NULL, r->settings.altloc, &m));
    if (status == VF_OK && r->settings.bondi)
        status = molecule_give_radii(r->ctx, path, &m, &given);
    for (int64_t i = 0; status == VF_OK && i < m.atoms; i++)
        without += m.radius[i] == 0;
    if (status == VF_OK && without == m.atoms)
        status = vf_fail(r->ctx, VF_ERR_INPUT, "%s: no atom has a radius; use a PQR file with radii, or --radii bondi",
                         path);
    if (status == VF_OK)
        molecule_warn_of_small_radii(r->ctx, path, &m);
    bool *all = status == VF_OK ? malloc((size_t)m.atoms * sizeof *all) : NULL;
    if (status == VF_OK && !all)
        status = vf_fail(r->ctx, VF_ERR_MEMORY, "no memory to select atoms");
    for (int64_t i = 0; status == VF_OK && i < m.atoms; i++)
        all[i] = true;
    const vf_coulomb_atoms charges = {m.atoms, m.x, m.y, m.z, m.charge};
    VF_TRY(status, bound_part_make(r->ctx, &charges, m.radius, all, true, out));
    for (int a = 0; status == VF_OK && a < 3; a++) {
        r->molecule.lo[a] = fmin(r->molecule.lo[a], m.lo[a]);
        r->molecule.hi[a] = fmax(r->molecule.hi[a], m.hi[a]);
    }
    free(all);
    molecule_free(&m);
    return status;
}

/* Whether the partners are what the complex is made of: the same number of atoms and the same charge. If not, a warning. */
static void compare_partners(const cionize_state *r)
{
    const bound_part *part = r->dissolved.part;
    double charge = 0;
    for (int n = 0; n < 2; n++)
        for (int64_t i = 0; i < part[n].atoms; i++)
            charge += part[n].charge[i];
    if (part[0].atoms + part[1].atoms != r->molecule.atoms)
        vf_warn(r->ctx,
                "--complex: the partners have %lld and %lld atoms, the complex has %lld; the energy of binding holds "
                "what the others contribute, too",
                (long long)part[0].atoms, (long long)part[1].atoms, (long long)r->molecule.atoms);
    else if (fabs(charge - r->molecule.total_charge) > 1e-3)
        vf_warn(r->ctx,
                "--complex: the partners have %+g e together, the complex has %+g e; their protonation may differ",
                charge, r->molecule.total_charge);
}

static vf_status parts_from_files(cionize_state *r, const char *text)
{
    const char *comma = strchr(text, ',');
    char *first = comma ? strndup(text, (size_t)(comma - text)) : NULL;
    vf_status status = VF_OK;
    if (!comma)
        status = vf_fail(r->ctx, VF_ERR_ARGUMENT,
                         "--complex '%s': expected the files of both partners with a comma between them, such as "
                         "receptor.pqr,ligand.pqr",
                         text);
    else if (!first)
        status = vf_fail(r->ctx, VF_ERR_MEMORY, "no memory");
    VF_TRY(status, part_from_file(r, first, &r->dissolved.part[0]));
    VF_TRY(status, part_from_file(r, comma + 1, &r->dissolved.part[1]));
    if (status == VF_OK)
        compare_partners(r);
    free(first);
    return status;
}

vf_status energies_prepare(cionize_state *r)
{
    const solvent_settings *s = &r->settings.solvent;
    if (!s->energies)
        return VF_OK;
    r->dissolved.binds = s->ligand || s->partners;
    return s->ligand ? part_from_selection(r, s->ligand) : s->partners ? parts_from_files(r, s->partners) : VF_OK;
}

/* ---- sums ---- */

static vf_status sum_partners(cionize_state *r, const vf_grid *grid, solvent_energy of[OF_ALL])
{
    vf_status status = VF_OK;
    for (int n = 0; status == VF_OK && r->dissolved.binds && n < 2; n++) {
        const vf_coulomb_atoms charges = bound_part_charges(&r->dissolved.part[n]);
        status = dissolve_once(&r->settings, r->ctx, grid, &charges, r->dissolved.part[n].radius, &of[OF_FIRST + n]);
    }
    return status;
}

static vf_status sum_molecule(cionize_state *r)
{
    solvent_state *d = &r->dissolved;
    const vf_coulomb_atoms charges = acting_atoms(r);
    d->atoms.reaction = calloc(2 * (size_t)charges.count, sizeof *d->atoms.reaction);
    if (!d->atoms.reaction)
        return vf_fail(r->ctx, VF_ERR_MEMORY, "no memory for energies of %lld atoms", (long long)charges.count);
    d->atoms.coulomb = d->atoms.reaction + charges.count;
    vf_status status = d->plan ? VF_OK : solvent_solve(r);
    vf_stage_begin(&r->stages, "energies");
    VF_TRY(status, dissolve_energies(&r->settings, r->ctx, d->plan, &charges, &d->atoms, &d->of[0][OF_COMPLEX]));
    VF_TRY(status, sum_partners(r, &r->grid, d->of[0]));
    return status;
}

/* A molecule that a periodic cell has cut would be solved for in two parts. */
static vf_status check_whole(const cionize_state *r, int64_t frame, const double *x, const double *y, const double *z)
{
    const molecule *m = &r->molecule;
    for (int64_t i = 1; i < m->atoms; i++) {
        const double before = hypot(hypot(m->x[i] - m->x[i - 1], m->y[i] - m->y[i - 1]), m->z[i] - m->z[i - 1]);
        const double now = hypot(hypot(x[i] - x[i - 1], y[i] - y[i - 1]), z[i] - z[i - 1]);
        if (strcmp(m->labels[i].chain, m->labels[i - 1].chain) == 0 && now > before + g_torn)
            return vf_fail(
                r->ctx, VF_ERR_INPUT,
                "%s, frame %lld: atoms %lld and %lld are %.0f A apart, but %.0f A in %s: a periodic cell has cut "
                "the molecule; make it whole first, for example with gmx trjconv -pbc mol or cpptraj's autoimage, or "
                "give the cell with --cell",
                trajectory_path(r->trajectory), (long long)frame + 1, (long long)i, (long long)i + 1, now, before,
                r->settings.input);
    }
    return VF_OK;
}

/* A grid around the atoms, or that of the run's cell or of the frame's own one. */
static vf_status grid_of_frame(const cionize_state *r, int64_t frame, const vf_coulomb_atoms *atoms, vf_grid *grid)
{
    molecule box = {0};
    *grid = r->grid;
    if (r->plan.follows_cells) {
        vf_grid of_run = r->grid;
        of_run.cell = r->settings.cell; /* not rounded */
        const vf_status status = frame_grid(r->ctx, r->trajectory, frame, &of_run, grid);
        if (status == VF_OK && grid->cell.kind == VF_CELL_TRICLINIC)
            (void)cell_to_points(grid);
        return status;
    }
    if (r->settings.cell.kind != VF_CELL_NONE)
        return VF_OK;
    for (int a = 0; a < 3; a++) {
        const double *v = a == 0 ? atoms->x : a == 1 ? atoms->y : atoms->z;
        box.lo[a] = box.hi[a] = v[0];
        for (int64_t i = 1; i < atoms->count; i++) {
            box.lo[a] = fmin(box.lo[a], v[i]);
            box.hi[a] = fmax(box.hi[a], v[i]);
        }
    }
    return plan_grid(r->ctx, &r->settings, &box, grid);
}

/* xyz: [3][atoms of the trajectory] */
static vf_status sum_frame(cionize_state *r, int64_t number, double *xyz, solvent_energy of[OF_ALL])
{
    const int64_t whole = trajectory_atoms(r->trajectory), frame = r->frames.first + number * r->frames.step;
    double *const x = xyz, *const y = xyz + whole, *const z = xyz + 2 * whole;
    vf_grid grid;
    vf_coulomb_atoms charges = acting_atoms(r);
    vf_status status = trajectory_read(r->trajectory, frame, x, y, z);
    VF_TRY(status, trajectory_check_places(r->trajectory, frame, x, y, z));
    charges.x = x;
    charges.y = y;
    charges.z = z;
    if (status == VF_OK)
        molecule_gather(&r->molecule, x, y, z);
    if (r->settings.cell.kind == VF_CELL_NONE) /* in a cell, images make molecules whole */
        VF_TRY(status, check_whole(r, frame, x, y, z));
    VF_TRY(status, grid_of_frame(r, frame, &charges, &grid));
    if (status != VF_OK)
        return status;
    for (int n = 0; r->dissolved.binds && n < 2; n++)
        bound_part_move(&r->dissolved.part[n], x, y, z);
    status = dissolve_once(&r->settings, r->ctx, &grid, &charges, r->molecule.radius, &of[OF_COMPLEX]);
    VF_TRY(status, sum_partners(r, &grid, of));
    return status;
}

static vf_status sum_frames(cionize_state *r)
{
    double *xyz = malloc((size_t)trajectory_atoms(r->trajectory) * 3 * sizeof *xyz);
    vf_status status = xyz ? VF_OK : vf_fail(r->ctx, VF_ERR_MEMORY, "no memory for a frame");
    vf_stage_begin(&r->stages, "energies");
    vf_progress_begin(&r->progress, stderr, r->settings.quiet ? VF_PROGRESS_OFF : r->settings.progress, "solving",
                      (double)r->frames.count, 1, "frames");
    vf_progress_also(&r->progress, call_context(r));
    for (int64_t f = 0; status == VF_OK && f < r->frames.count; f++) {
        status = sum_frame(r, f, xyz, r->dissolved.of[f]);
        vf_progress_update(&r->progress, (double)f + 1);
    }
    vf_progress_end(&r->progress);
    free(xyz);
    return status;
}

vf_status energies_run(cionize_state *r)
{
    solvent_state *d = &r->dissolved;
    const int64_t frames = r->trajectory ? r->frames.count : 1;
    if (!energies_asked(r) || job_is_other(&r->settings.pieces) || kept_is_part(&r->kept.pieces))
        return VF_OK;
    d->of = calloc((size_t)frames, sizeof *d->of);
    vf_status status = d->of ? VF_OK : vf_fail(r->ctx, VF_ERR_MEMORY, "no memory for energies");
    if (status == VF_OK)
        status = r->trajectory ? sum_frames(r) : sum_molecule(r);
    VF_TRY(status, spacing_estimate_error(r));
    if (status == VF_OK) {
        const energy_table table = {.mol = &r->molecule,
                                    .charge = acting_atoms(r).charge,
                                    .atoms = d->atoms,
                                    .binds = d->binds,
                                    .frames = r->trajectory ? frames : 0,
                                    .first_frame = r->frames.first,
                                    .step = r->frames.step,
                                    .of = (const solvent_energy(*)[OF_ALL])d->of};
        status = is_in_memory(r->settings.solvent.energies)
                     ? keep_energies(r->settings.result, &table)
                     : energies_write(r->ctx, r->settings.solvent.energies, &table, &r->info);
    }
    vf_stage_end(&r->stages);
    return status == VF_OK ? cionize_tell(r, TELL_ENERGIES, 0, NULL) : status;
}

/* ---- what is told ---- */

/* Mean and standard error over the frames of reaction, coulomb, or both. */
static double mean_of(const cionize_state *r, bool binding, bool reaction, bool coulomb, double *error)
{
    const int64_t frames = r->trajectory ? r->frames.count : 1;
    double mean = 0, squares = 0;
    for (int64_t f = 0; f < frames; f++) {
        const solvent_energy *of = r->dissolved.of[f], e = binding ? binding_energy(of) : of[OF_COMPLEX];
        const double value = (reaction ? e.reaction : 0) + (coulomb ? e.coulomb : 0), off = value - mean;
        mean += off / (double)(f + 1);
        squares += off * (value - mean);
    }
    *error = frames > 1 ? sqrt(squares / (double)(frames - 1) / (double)frames) : 0;
    return mean;
}

static void say_energy(facts *f, const char *head, double mean, double error, const char *what)
{
    fact_say(f, LINE_ENERGY, "%-10s %.7g", head, mean);
    if (error > 0)
        fact_only_say(f, LINE_ENERGY, " +- %.2g", error);
    fact_only_say(f, LINE_ENERGY, " kJ/mol (%.7g kcal/mol) %s\n", mean / DISSOLVE_CALORIE, what);
}

void energy_facts(facts *f, const cionize_state *r)
{
    char text[120];
    double error;
    if (!r->dissolved.of)
        return;
    fact_begin(f, "energies");
    fact_text(f, "file", r->settings.solvent.energies);
    (void)snprintf(text, sizeof text, "of the reaction field, next to a dielectric of %g everywhere",
                   r->settings.solvent.molecule_dielectric);
    const double reaction = mean_of(r, false, true, false, &error);
    fact_number(f, "reaction_kJ/mol", reaction);
    say_energy(f, "energy", reaction, error, text);
    spacing_error_facts(f, r);
    fact_number(f, "coulomb_kJ/mol", mean_of(r, false, false, true, &error));
    if (r->dissolved.binds) {
        const double bound = mean_of(r, true, true, true, &error);
        fact_number(f, "binding_kJ/mol", bound);
        say_energy(f, "binding", bound, error, "of the charges in the solvent, next to the partners alone");
    }
    fact_only_say(f, LINE_ENERGY, "energies   %s", r->settings.solvent.energies);
    fact_end(f);
}
