/* The table of energies: of the whole, of residues and of atoms; CSV, or JSON with a list for each column. */
#include "solvent_energies.h"

#include <stdlib.h>
#include <string.h>

#include "maps/map_common.h"
#include "molecule/label_csv.h"
#include "molecule/residues.h"
#include "voxfield/report.h"
#include "voxfield/version.h"

static const double g_calorie = 4.184; /* J */

/* Rows: residues, or atoms. */
typedef struct energy_rows {
    int64_t count;
    const int64_t *first;                      /* [count] an atom with the row's labels */
    const double *charge, *reaction, *coulomb; /* [count] */
} energy_rows;

vf_status energies_check_path(vf_context *ctx, const char *path)
{
    return vf_path_has_extension(path, ".json .csv")
               ? VF_OK
               : vf_fail(ctx, VF_ERR_ARGUMENT, "--energies '%s': unknown file extension; use .json or .csv", path);
}

/* ---- CSV ---- */

static vf_status csv_rows(vf_output *out, const char *kind, const molecule *m, const energy_rows *rows, bool atoms)
{
    vf_status status = VF_OK;
    for (int64_t n = 0; status == VF_OK && n < rows->count; n++) {
        status = vf_output_printf(out, "%s,%lld,%s", kind, (long long)n + 1, atoms ? "" : ",");
        VF_TRY(status, label_csv(out, &m->labels[rows->first[n]], atoms));
        VF_TRY(status, vf_output_printf(out, "%.9g,%.9g,%.9g,%.9g,%.9g\n", rows->charge[n], rows->reaction[n],
                                        rows->reaction[n] / g_calorie, rows->coulomb[n], rows->coulomb[n] / g_calorie));
    }
    return status;
}

static vf_status csv_head(vf_output *out, const map_info *info)
{
    char text[160];
    vf_status status = vf_output_printf(out, "# energies of a molecule in a solvent\n");
    for (int line = 1; status == VF_OK && line < 6 && map_provenance(info, line, text, sizeof text); line++)
        status = vf_output_printf(out, "# %s\n", text);
    VF_TRY(status, vf_output_printf(
                       out,
                       "# reaction: of the field of the solvent, next to a medium of dielectric %g everywhere; "
                       "coulomb: of the charges in that medium. An atom has half of what it shares with another.\n",
                       info->dielectric));
    VF_TRY(status, vf_output_printf(out, "of,index," LABEL_CSV_ATOM
                                         "charge,reaction_kJ/mol,reaction_kcal/mol,coulomb_kJ/mol,coulomb_kcal/mol\n"));
    return status;
}

static vf_status write_csv(vf_context *ctx, const char *path, const molecule *m, const map_info *info,
                           const solvent_energies *e, const energy_rows rows[2])
{
    vf_output *out;
    vf_status status = vf_output_open(ctx, path, &out);
    VF_TRY(status, csv_head(out, info));
    VF_TRY(status, vf_output_printf(out, "molecule,1,,,,,,%.9g,%.9g,%.9g,%.9g,%.9g\n", map_charge(info), e->sum,
                                    e->sum / g_calorie, e->sum_coulomb, e->sum_coulomb / g_calorie));
    VF_TRY(status, csv_rows(out, "residue", m, &rows[0], false));
    VF_TRY(status, csv_rows(out, "atom", m, &rows[1], true));
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

static void json_energies(vf_report *report, int64_t count, const double *reaction, const double *coulomb)
{
    const char *const kj[] = {"reaction_kJ/mol", "coulomb_kJ/mol"};
    const double *const values[] = {reaction, coulomb};
    for (int n = 0; n < 2; n++)
        vf_report_numbers(report, kj[n], values[n], (int)count);
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
    json_energies(report, rows->count, rows->reaction, rows->coulomb);
    vf_report_end(report);
    return status;
}

static vf_status write_json(vf_context *ctx, const char *path, const molecule *m, const map_info *info,
                            const solvent_energies *e, const energy_rows rows[2])
{
    vf_report *report;
    vf_status status = vf_report_create(ctx, path, &report);
    if (status != VF_OK)
        return status;
    vf_report_text(report, "program", info->program);
    vf_report_text(report, "command", info->command);
    vf_report_text(report, "input", info->input);
    vf_report_text(report, "sha256", m->digest);
    vf_report_text(report, "method", info->method);
    vf_report_number(report, "charge", map_charge(info));
    vf_report_number(report, "reaction_kJ/mol", e->sum);
    vf_report_number(report, "reaction_kcal/mol", e->sum / g_calorie);
    vf_report_number(report, "coulomb_kJ/mol", e->sum_coulomb);
    vf_report_number(report, "coulomb_kcal/mol", e->sum_coulomb / g_calorie);
    status = json_rows(ctx, report, "residues", m, &rows[0], false);
    VF_TRY(status, json_rows(ctx, report, "atoms", m, &rows[1], true));
    VF_TRY(status, vf_report_commit(&report));
    vf_report_discard(&report);
    return status;
}

/* ---- both ---- */

/* Sums of atoms by residue. `first` and `sums` have room for all atoms: [atoms], [3][atoms]. */
static int64_t sum_residues(const molecule *m, const int64_t *residue, const double *charge, const solvent_energies *e,
                            int64_t *first, double *sums)
{
    int64_t count = 0;
    for (int64_t i = 0; i < m->atoms; i++) {
        if (i == 0 || residue[i] != residue[i - 1]) {
            first[count] = i;
            for (int c = 0; c < 3; c++)
                sums[c * m->atoms + count] = 0;
            count++;
        }
        sums[count - 1] += charge[i];
        sums[m->atoms + count - 1] += e->reaction[i];
        sums[2 * m->atoms + count - 1] += e->coulomb[i];
    }
    return count;
}

vf_status energies_write(vf_context *ctx, const char *path, const molecule *m, const double *charge,
                         const solvent_energies *e, const map_info *info)
{
    const int64_t n = m->atoms;
    int64_t *numbers = malloc(3 * (size_t)n * sizeof *numbers), *residue = numbers, *first = numbers + n,
            *all = numbers + 2 * n, residues = 0;
    double *sums = malloc(3 * (size_t)n * sizeof *sums);
    vf_status status = numbers && sums
                           ? find_residues(ctx, m, residue, &residues)
                           : vf_fail(ctx, VF_ERR_MEMORY, "no memory for energies of %lld atoms", (long long)n);
    if (status == VF_OK) {
        const int64_t count = sum_residues(m, residue, charge, e, first, sums);
        for (int64_t i = 0; i < n; i++)
            all[i] = i;
        const energy_rows rows[2] = {{count, first, sums, sums + n, sums + 2 * n},
                                     {n, all, charge, e->reaction, e->coulomb}};
        status = vf_path_has_extension(path, ".csv") ? write_csv(ctx, path, m, info, e, rows)
                                                     : write_json(ctx, path, m, info, e, rows);
    }
    free(numbers);
    free(sums);
    return status;
}

void energies_free(solvent_energies *e)
{
    free(e->reaction);
    free(e->coulomb);
    *e = (solvent_energies){0};
}
