/* Tables of energies: of the whole, of residues and of atoms, or of frames; CSV, or JSON with a list for each column. */
#include "solvent_energies.h"

#include <stdlib.h>
#include <string.h>

#include "maps/map_common.h"
#include "molecule/label_csv.h"
#include "molecule/residues.h"
#include "voxfield/report.h"

/* Rows of residues, or of atoms. */
typedef struct energy_rows {
    int64_t count;
    const int64_t *first;                      /* [count] an atom with the row's labels */
    const double *charge, *reaction, *coulomb; /* [count] */
} energy_rows;

solvent_energy binding_energy(const solvent_energy of[OF_ALL])
{
    const solvent_energy *c = &of[OF_COMPLEX], *a = &of[OF_FIRST], *b = &of[OF_SECOND];
    return (solvent_energy){.reaction = c->reaction - a->reaction - b->reaction,
                            .coulomb = c->coulomb - a->coulomb - b->coulomb,
                            .fixed = c->fixed - a->fixed - b->fixed,
                            .stress = c->stress - a->stress - b->stress,
                            .osmotic = c->osmotic - a->osmotic - b->osmotic};
}

vf_status energies_check_path(vf_context *ctx, const char *path)
{
    return vf_path_has_extension(path, ".json .csv")
               ? VF_OK
               : vf_fail(ctx, VF_ERR_ARGUMENT, "--energies '%s': unknown file extension; use .json or .csv", path);
}

/* ---- CSV ---- */

#define ENERGY_COLUMNS "reaction_kJ/mol,reaction_kcal/mol,coulomb_kJ/mol,coulomb_kcal/mol"

static vf_status csv_energy(vf_output *out, double reaction, double coulomb)
{
    return vf_output_printf(out, "%.9g,%.9g,%.9g,%.9g\n", reaction, reaction / DISSOLVE_CALORIE, coulomb,
                            coulomb / DISSOLVE_CALORIE);
}

static vf_status csv_rows(vf_output *out, const char *kind, const molecule *m, const energy_rows *rows, bool atoms)
{
    vf_status status = VF_OK;
    for (int64_t n = 0; status == VF_OK && n < rows->count; n++) {
        status = vf_output_printf(out, "%s,%lld,%s", kind, (long long)n + 1, atoms ? "" : ",");
        VF_TRY(status, label_csv(out, &m->labels[rows->first[n]], atoms));
        VF_TRY(status, vf_output_printf(out, "%.9g,", rows->charge[n]));
        VF_TRY(status, csv_energy(out, rows->reaction[n], rows->coulomb[n]));
    }
    return status;
}

static vf_status csv_total(vf_output *out, const char *of, const char *charge, const solvent_energy *e)
{
    vf_status status = vf_output_printf(out, "%s,1,,,,,,%s,", of, charge);
    VF_TRY(status, csv_energy(out, e->reaction, e->coulomb));
    return status;
}

static vf_status csv_one(vf_output *out, const energy_table *t, const map_info *info, const energy_rows rows[2])
{
    char charge[32];
    const solvent_energy *of = t->of[0], bound = binding_energy(of);
    (void)snprintf(charge, sizeof charge, "%.9g", map_charge(info));
    vf_status status = vf_output_printf(out, "of,index," LABEL_CSV_ATOM "charge," ENERGY_COLUMNS "\n");
    VF_TRY(status, csv_total(out, t->binds ? "complex" : "molecule", charge, &of[OF_COMPLEX]));
    if (status == VF_OK && t->binds) {
        status = csv_total(out, "first partner", "", &of[OF_FIRST]);
        VF_TRY(status, csv_total(out, "second partner", "", &of[OF_SECOND]));
        VF_TRY(status, csv_total(out, "binding", "", &bound));
    }
    VF_TRY(status, csv_rows(out, "residue", t->mol, &rows[0], false));
    VF_TRY(status, csv_rows(out, "atom", t->mol, &rows[1], true));
    return status;
}

static vf_status csv_frames(vf_output *out, const energy_table *t)
{
    vf_status status =
        vf_output_printf(out, "frame,%s" ENERGY_COLUMNS "\n", t->binds ? "binding_kJ/mol,binding_kcal/mol," : "");
    for (int64_t f = 0; status == VF_OK && f < t->frames; f++) {
        const solvent_energy bound = binding_energy(t->of[f]), *e = &t->of[f][OF_COMPLEX];
        const double total = bound.reaction + bound.coulomb;
        status = vf_output_printf(out, "%lld,", (long long)(t->first_frame + f * t->step + 1));
        if (status == VF_OK && t->binds)
            status = vf_output_printf(out, "%.9g,%.9g,", total, total / DISSOLVE_CALORIE);
        VF_TRY(status, csv_energy(out, e->reaction, e->coulomb));
    }
    return status;
}

static vf_status write_csv(vf_context *ctx, const char *path, const energy_table *t, const map_info *info,
                           const energy_rows rows[2])
{
    vf_output *out;
    char text[160];
    vf_status status = vf_output_open(ctx, path, &out);
    VF_TRY(status, vf_output_printf(out, "# energies of a molecule in a solvent\n"));
    for (int line = 1; status == VF_OK && line < 6 && map_provenance(info, line, text, sizeof text); line++)
        status = vf_output_printf(out, "# %s\n", text);
    VF_TRY(status,
           vf_output_printf(
               out,
               "# reaction: of the field of the solvent, next to a medium of dielectric %g everywhere; coulomb: of "
               "the charges in that medium. An atom has half of what it shares with another.\n",
               info->dielectric));
    if (status == VF_OK)
        status = t->frames > 0 ? csv_frames(out, t) : csv_one(out, t, info, rows);
    VF_TRY(status, vf_output_commit(&out));
    vf_output_discard(&out);
    return status;
}

/* ---- JSON ---- */

typedef const char *row_text(const atom_label *label, char number[32]);

static const char *name_of(const atom_label *label, char number[32])
{
    (void)number;
    return label->name;
}

static const char *residue_of(const atom_label *label, char number[32])
{
    (void)number;
    return label->residue;
}

static const char *number_of(const atom_label *label, char number[32])
{
    label_residue_text(label, number);
    return number;
}

static const char *chain_of(const atom_label *label, char number[32])
{
    (void)number;
    return label->chain;
}

static vf_status json_texts(vf_context *ctx, vf_report *report, const char *key, const molecule *m,
                            const energy_rows *rows, row_text *text)
{
    enum { SIZE = 32 };
    const char **texts = malloc(((size_t)rows->count + 1) * sizeof *texts);
    char(*room)[SIZE] = malloc(((size_t)rows->count + 1) * sizeof *room);
    if (!texts || !room) {
        free(texts);
        free(room);
        return vf_fail(ctx, VF_ERR_MEMORY, "no memory for %lld names", (long long)rows->count);
    }
    for (int64_t n = 0; n < rows->count; n++)
        texts[n] = text(&m->labels[rows->first[n]], room[n]);
    vf_report_texts(report, key, texts, (int)rows->count);
    free(texts);
    free(room);
    return VF_OK;
}

static vf_status json_rows(vf_context *ctx, vf_report *report, const char *key, const molecule *m,
                           const energy_rows *rows, bool atoms)
{
    vf_report_begin(report, key);
    vf_status status = atoms ? json_texts(ctx, report, "name", m, rows, name_of) : VF_OK;
    VF_TRY(status, json_texts(ctx, report, "residue", m, rows, residue_of));
    VF_TRY(status, json_texts(ctx, report, "residue_number", m, rows, number_of));
    VF_TRY(status, json_texts(ctx, report, "chain", m, rows, chain_of));
    vf_report_numbers(report, "charge", rows->charge, (int)rows->count);
    vf_report_numbers(report, "reaction_kJ/mol", rows->reaction, (int)rows->count);
    vf_report_numbers(report, "coulomb_kJ/mol", rows->coulomb, (int)rows->count);
    vf_report_end(report);
    return status;
}

static void json_energy(vf_report *report, const solvent_energy *e)
{
    vf_report_number(report, "reaction_kJ/mol", e->reaction);
    vf_report_number(report, "reaction_kcal/mol", e->reaction / DISSOLVE_CALORIE);
    vf_report_number(report, "coulomb_kJ/mol", e->coulomb);
    vf_report_number(report, "coulomb_kcal/mol", e->coulomb / DISSOLVE_CALORIE);
    vf_report_begin(report, "reaction_parts_kJ/mol");
    vf_report_number(report, "fixed_charges", e->fixed);
    vf_report_number(report, "dielectric_stress", e->stress);
    vf_report_number(report, "osmotic", e->osmotic);
    vf_report_end(report);
}

static void json_binding(vf_report *report, const solvent_energy of[OF_ALL])
{
    static const char *const names[] = {"complex", "first_partner", "second_partner"};
    const solvent_energy bound = binding_energy(of);
    vf_report_begin(report, "binding");
    for (int n = 0; n < OF_ALL; n++) {
        vf_report_begin(report, names[n]);
        json_energy(report, &of[n]);
        vf_report_end(report);
    }
    json_energy(report, &bound);
    vf_report_number(report, "total_kJ/mol", bound.reaction + bound.coulomb);
    vf_report_end(report);
}

static vf_status json_frames(vf_context *ctx, vf_report *report, const energy_table *t)
{
    static const char *const keys[] = {"reaction_kJ/mol", "coulomb_kJ/mol", "binding_kJ/mol"};
    double *values = malloc((size_t)t->frames * sizeof *values);
    int64_t *numbers = malloc((size_t)t->frames * sizeof *numbers);
    const bool room = values && numbers;
    for (int64_t f = 0; room && f < t->frames; f++)
        numbers[f] = t->first_frame + f * t->step + 1;
    vf_report_begin(report, "frames");
    if (room)
        vf_report_integers(report, "number", numbers, (int)t->frames);
    for (int k = 0; room && k < (t->binds ? 3 : 2); k++) {
        for (int64_t f = 0; f < t->frames; f++) {
            const solvent_energy bound = binding_energy(t->of[f]), *e = &t->of[f][OF_COMPLEX];
            values[f] = k == 0 ? e->reaction : k == 1 ? e->coulomb : bound.reaction + bound.coulomb;
        }
        vf_report_numbers(report, keys[k], values, (int)t->frames);
    }
    vf_report_end(report);
    free(values);
    free(numbers);
    return room ? VF_OK : vf_fail(ctx, VF_ERR_MEMORY, "no memory for energies of %lld frames", (long long)t->frames);
}

static vf_status write_json(vf_context *ctx, const char *path, const energy_table *t, const map_info *info,
                            const energy_rows rows[2])
{
    vf_report *report;
    vf_status status = vf_report_create(ctx, path, &report);
    if (status != VF_OK)
        return status;
    vf_report_text(report, "program", info->program);
    vf_report_text(report, "command", info->command);
    vf_report_text(report, "input", info->input);
    vf_report_text(report, "sha256", t->mol->digest);
    vf_report_text(report, "method", info->method);
    vf_report_number(report, "charge", map_charge(info));
    if (t->frames > 0)
        status = json_frames(ctx, report, t);
    else {
        json_energy(report, &t->of[0][OF_COMPLEX]);
        if (t->binds)
            json_binding(report, t->of[0]);
        status = json_rows(ctx, report, "residues", t->mol, &rows[0], false);
        VF_TRY(status, json_rows(ctx, report, "atoms", t->mol, &rows[1], true));
    }
    VF_TRY(status, vf_report_commit(&report));
    vf_report_discard(&report);
    return status;
}

/* ---- both ---- */

/* Sums of atoms by residue. `first` and `sums` have room for all atoms: [atoms], [3][atoms]. */
static int64_t sum_residues(const energy_table *t, const int64_t *residue, int64_t *first, double *sums)
{
    const int64_t atoms = t->mol->atoms;
    int64_t count = 0;
    for (int64_t i = 0; i < atoms; i++) {
        if (i == 0 || residue[i] != residue[i - 1]) {
            first[count] = i;
            for (int c = 0; c < 3; c++)
                sums[c * atoms + count] = 0;
            count++;
        }
        sums[count - 1] += t->charge[i];
        sums[atoms + count - 1] += t->atoms.reaction[i];
        sums[2 * atoms + count - 1] += t->atoms.coulomb[i];
    }
    return count;
}

vf_status energies_write(vf_context *ctx, const char *path, const energy_table *t, const map_info *info)
{
    const int64_t n = t->mol->atoms;
    int64_t *numbers = calloc(3 * (size_t)n, sizeof *numbers), residues = 0;
    double *sums = calloc(3 * (size_t)n, sizeof *sums);
    energy_rows rows[2] = {{0}, {0}};
    vf_status status =
        numbers && sums ? VF_OK : vf_fail(ctx, VF_ERR_MEMORY, "no memory for energies of %lld atoms", (long long)n);
    if (status == VF_OK && t->atoms.reaction) {
        int64_t *const residue = numbers, *const first = numbers + n, *const all = numbers + 2 * n;
        status = find_residues(ctx, t->mol, residue, &residues);
        const int64_t count = sum_residues(t, residue, first, sums);
        for (int64_t i = 0; i < n; i++)
            all[i] = i;
        rows[0] = (energy_rows){count, first, sums, sums + n, sums + 2 * n};
        rows[1] = (energy_rows){n, all, t->charge, t->atoms.reaction, t->atoms.coulomb};
    }
    if (status == VF_OK)
        status = vf_path_has_extension(path, ".csv") ? write_csv(ctx, path, t, info, rows)
                                                     : write_json(ctx, path, t, info, rows);
    free(numbers);
    free(sums);
    return status;
}
